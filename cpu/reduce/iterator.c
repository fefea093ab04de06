// SPDX-License-Identifier: Apache-2.0
#include "cpu/reduce/iterator.h"

struct group {
    size_t dim, stride, parameter;
    bool reduced;
};

static void add_loop(struct walk_loop *loop, const struct group *group)
{
    loop->dim[loop->rank] = group->dim;
    loop->stride[loop->rank] = group->stride;
    loop->parameter[loop->rank] = group->parameter;
    loop->rank++;
}

void wnn_walk_init(struct walk *walk, const struct shape *shape, uint32_t reduced,
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

    *walk = (struct walk){.columns = 1, .rows = 1, .reduced = 1, .units = 1};
    unsigned next = 0;
    if (next < count && !groups[next].reduced) {
        walk->columns = groups[next].dim;
        walk->column_parameter = groups[next].parameter;
        next++;
    }
    if (next < count && groups[next].reduced) {
        walk->rows = walk->reduced = groups[next].dim;
        walk->row_parameter = groups[next].parameter;
        next++;
    }
    for (; next < count; next++) {
        add_loop(groups[next].reduced ? &walk->outer : &walk->kept, &groups[next]);
        *(groups[next].reduced ? &walk->reduced : &walk->units) *= groups[next].dim;
    }
    walk->blocks = (walk->columns + WNN_WALK_WIDTH - 1) / WNN_WALK_WIDTH;
    walk->units *= walk->blocks;
}

static void start(struct piece *piece, const struct walk *walk, size_t unit)
{
    size_t column = 0, place = unit;
    if (walk->blocks > 1) {
        column = unit % walk->blocks * WNN_WALK_WIDTH;
        place = unit / walk->blocks;
    }
    piece->walk = walk;
    piece->output = place * walk->columns + column;
    piece->width = walk->columns - column < WNN_WALK_WIDTH ? walk->columns - column : WNN_WALK_WIDTH;
    piece->at = column;
    piece->parameter_at = column * walk->column_parameter;
    for (unsigned d = 0; d < walk->kept.rank; d++) {
        bool outermost = d + 1 == walk->kept.rank;
        size_t index = outermost ? place : place % walk->kept.dim[d];
        place = outermost ? 0 : place / walk->kept.dim[d];
        piece->at += index * walk->kept.stride[d];
        piece->parameter_at += index * walk->kept.parameter[d];
    }
    for (unsigned d = 0; d < walk->outer.rank; d++)
        piece->index[d] = 0;
    piece->row = piece->position = piece->rows = piece->pieces = 0;
    piece->left = walk->reduced;
    piece->in_place = false;
}

void wnn_walk_start(struct piece *piece, const struct walk *walk, size_t unit)
{
    start(piece, walk, unit);
}

void wnn_walk_start_rows(struct piece *piece, const struct walk *walk, size_t unit, size_t first,
                         size_t count)
{
    start(piece, walk, unit);
    piece->in_place = true;
    piece->left = count;
    if (first == 0)
        return;
    size_t rest = first / walk->rows;
    piece->position = first;
    piece->row = first % walk->rows;
    for (unsigned d = 0; d < walk->outer.rank; d++) {
        piece->index[d] = rest % walk->outer.dim[d];
        rest /= walk->outer.dim[d];
        piece->at += piece->index[d] * walk->outer.stride[d];
        piece->parameter_at += piece->index[d] * walk->outer.parameter[d];
    }
}

// Of a piece that is read in place. It has a multiple of 2^14 rows, so that as many lanes as there may be
// come out even.
#define IN_PLACE_ELEMENTS ((size_t)1 << 20)

bool wnn_walk_next(struct piece *piece)
{
    const struct walk *walk = piece->walk;
    piece->position += piece->rows;
    piece->rows = 0;
    // Small pieces are not worth asking each time.
    if ((piece->in_place || piece->pieces++ % 32 == 0) && wnn_interrupted(walk->interrupt))
        piece->left = 0;
    if (piece->left == 0)
        return false;
    // Rows follow one another in memory only if the unit has all columns.
    size_t most = piece->in_place ? IN_PLACE_ELEMENTS / WNN_WALK_WIDTH * (WNN_WALK_WIDTH / piece->width)
                  : piece->width == walk->columns ? WNN_PIECE / piece->width
                                                  : 1;
    size_t rows = walk->rows - piece->row;
    rows = rows < piece->left ? rows : piece->left;
    piece->rows = rows < most ? rows : most;
    piece->offset = piece->at + piece->row * walk->columns;
    piece->parameter = piece->parameter_at + piece->row * walk->row_parameter;
    piece->left -= piece->rows;
    piece->row += piece->rows;
    if (piece->row < walk->rows)
        return true;
    piece->row = 0;
    const struct walk_loop *loop = &walk->outer;
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

size_t wnn_walk_grain(const struct walk *walk)
{
    size_t width = walk->columns < WNN_WALK_WIDTH ? walk->columns : WNN_WALK_WIDTH;
    return 16384 / (walk->reduced * width + 1) + 1;
}
