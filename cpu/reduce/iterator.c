// SPDX-License-Identifier: Apache-2.0
#include "cpu/reduce/iterator.h"

struct group {
    size_t dim, stride, parameter;
    bool reduced;
};

static void add_loop(struct iterator_loop *loop, const struct group *group)
{
    loop->dim[loop->rank] = group->dim;
    loop->stride[loop->rank] = group->stride;
    loop->parameter[loop->rank] = group->parameter;
    loop->rank++;
}

void wnn_iterator_init(struct reduction_iterator *iterator, const struct shape *shape, uint32_t reduced,
                       const size_t parameter[WNN_MAX_RANK])
{
    // From the last dimension to the first.
    struct group groups[WNN_MAX_RANK];
    unsigned count = 0;
    size_t stride = 1;
    for (unsigned d = shape->rank; d-- > 0; stride *= shape->dim[d]) {
        struct group group = {shape->dim[d], stride, parameter ? parameter[d] : 0, reduced >> d & 1u};
        struct group *inner = count ? &groups[count - 1] : NULL;
        if (group.dim == 1)
            continue;
        if (inner && inner->reduced == group.reduced && inner->parameter * inner->dim == group.parameter)
            inner->dim *= group.dim;
        else
            groups[count++] = group;
    }

    *iterator = (struct reduction_iterator){.columns = 1, .rows = 1, .reduced = 1, .units = 1};
    unsigned next = 0;
    if (next < count && !groups[next].reduced) {
        iterator->columns = groups[next].dim;
        iterator->column_parameter = groups[next].parameter;
        next++;
    }
    if (next < count && groups[next].reduced) {
        iterator->rows = iterator->reduced = groups[next].dim;
        iterator->row_parameter = groups[next].parameter;
        next++;
    }
    for (; next < count; next++) {
        add_loop(groups[next].reduced ? &iterator->outer : &iterator->kept, &groups[next]);
        *(groups[next].reduced ? &iterator->reduced : &iterator->units) *= groups[next].dim;
    }
    iterator->blocks = (iterator->columns + WNN_ITERATOR_WIDTH - 1) / WNN_ITERATOR_WIDTH;
    iterator->units *= iterator->blocks;
}

static void start(struct piece *piece, const struct reduction_iterator *iterator, size_t unit)
{
    size_t column = 0, place = unit;
    if (iterator->blocks > 1) {
        column = unit % iterator->blocks * WNN_ITERATOR_WIDTH;
        place = unit / iterator->blocks;
    }
    piece->iterator = iterator;
    piece->output = place * iterator->columns + column;
    piece->width =
        iterator->columns - column < WNN_ITERATOR_WIDTH ? iterator->columns - column : WNN_ITERATOR_WIDTH;
    piece->at = column;
    piece->parameter_at = column * iterator->column_parameter;
    for (unsigned d = 0; d < iterator->kept.rank; d++) {
        bool outermost = d + 1 == iterator->kept.rank;
        size_t index = outermost ? place : place % iterator->kept.dim[d];
        place = outermost ? 0 : place / iterator->kept.dim[d];
        piece->at += index * iterator->kept.stride[d];
        piece->parameter_at += index * iterator->kept.parameter[d];
    }
    for (unsigned d = 0; d < iterator->outer.rank; d++)
        piece->index[d] = 0;
    piece->row = piece->position = piece->rows = piece->pieces = 0;
    piece->left = iterator->reduced;
    piece->in_place = false;
}

void wnn_iterator_start(struct piece *piece, const struct reduction_iterator *iterator, size_t unit)
{
    start(piece, iterator, unit);
}

void wnn_iterator_start_rows(struct piece *piece, const struct reduction_iterator *iterator, size_t unit,
                             size_t first, size_t count)
{
    start(piece, iterator, unit);
    piece->in_place = true;
    piece->left = count;
    if (first == 0)
        return;
    size_t rest = first / iterator->rows;
    piece->position = first;
    piece->row = first % iterator->rows;
    for (unsigned d = 0; d < iterator->outer.rank; d++) {
        piece->index[d] = rest % iterator->outer.dim[d];
        rest /= iterator->outer.dim[d];
        piece->at += piece->index[d] * iterator->outer.stride[d];
        piece->parameter_at += piece->index[d] * iterator->outer.parameter[d];
    }
}

// Of a piece that is read in place. It has a multiple of 2^14 rows, so that as many lanes as there may be
// come out even.
#define IN_PLACE_ELEMENTS ((size_t)1 << 20)

bool wnn_iterator_next(struct piece *piece)
{
    const struct reduction_iterator *iterator = piece->iterator;
    piece->position += piece->rows;
    piece->rows = 0;
    // Small pieces are not worth asking each time.
    if ((piece->in_place || piece->pieces++ % 32 == 0) && wnn_interrupted(iterator->interrupt))
        piece->left = 0;
    if (piece->left == 0)
        return false;
    // Rows follow one another in memory only if the unit has all columns.
    size_t most = piece->in_place
                      ? IN_PLACE_ELEMENTS / WNN_ITERATOR_WIDTH * (WNN_ITERATOR_WIDTH / piece->width)
                  : piece->width == iterator->columns ? WNN_PIECE / piece->width
                                                      : 1;
    size_t rows = iterator->rows - piece->row;
    rows = rows < piece->left ? rows : piece->left;
    piece->rows = rows < most ? rows : most;
    piece->offset = piece->at + piece->row * iterator->columns;
    piece->parameter = piece->parameter_at + piece->row * iterator->row_parameter;
    piece->left -= piece->rows;
    piece->row += piece->rows;
    if (piece->row < iterator->rows)
        return true;
    piece->row = 0;
    const struct iterator_loop *loop = &iterator->outer;
    for (unsigned d = 0; d < loop->rank; d++) {
        piece->at += loop->stride[d];
        piece->parameter_at += loop->parameter[d];
        if (++piece->index[d] < loop->dim[d])
            break;
        piece->at -= loop->stride[d] * loop->dim[d];
        piece->parameter_at -= loop->parameter[d] * loop->dim[d];
        piece->index[d] = 0;
    }
    return true;
}

size_t wnn_iterator_grain(const struct reduction_iterator *iterator)
{
    size_t width = iterator->columns < WNN_ITERATOR_WIDTH ? iterator->columns : WNN_ITERATOR_WIDTH;
    return 16384 / (iterator->reduced * width + 1) + 1;
}
