// SPDX-License-Identifier: Apache-2.0
#include "cpu/walk.h"

#include <math.h>

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

void wnn_walk_start(struct piece *piece, const struct walk *walk, size_t unit)
{
    size_t column = unit % walk->blocks * WNN_WALK_WIDTH, place = unit / walk->blocks;
    *piece = (struct piece){.walk = walk};
    piece->output = place * walk->columns + column;
    piece->width = walk->columns - column < WNN_WALK_WIDTH ? walk->columns - column : WNN_WALK_WIDTH;
    piece->at = column;
    piece->parameter_at = column * walk->column_parameter;
    for (unsigned d = 0; d < walk->kept.rank; d++) {
        size_t index = place % walk->kept.dim[d];
        place /= walk->kept.dim[d];
        piece->at += index * walk->kept.stride[d];
        piece->parameter_at += index * walk->kept.parameter[d];
    }
    piece->left = walk->reduced;
}

bool wnn_walk_next(struct piece *piece)
{
    const struct walk *walk = piece->walk;
    if (piece->left == 0)
        return false;
    // Rows follow one another in memory only if the unit has all columns.
    size_t most = piece->width == walk->columns ? WNN_PIECE / piece->width : 1;
    size_t rows = walk->rows - piece->row;
    piece->rows = rows < most ? rows : most;
    piece->offset = piece->at + piece->row * walk->columns;
    piece->parameter = piece->parameter_at + piece->row * walk->row_parameter;
    piece->position = walk->reduced - piece->left;
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

void wnn_load_doubles(const struct tensor *tensor, size_t offset, size_t count, double *values)
{
    if (tensor->type == WNNDataType_Float32) {
        const float *data = (const float *)tensor->data + offset;
        for (size_t i = 0; i < count; i++)
            values[i] = (double)data[i];
    } else {
        float floats[WNN_PIECE];
        wnn_half_to_float_array((const uint16_t *)tensor->data + offset, floats, count);
        for (size_t i = 0; i < count; i++)
            values[i] = (double)floats[i];
    }
}

// The float32 that float16 rounding cannot tell from the value: rounded to odd, so that rounding again is
// harmless.
static float narrow(double value)
{
    float near = (float)value;
    if ((double)near == value || isnan(value))
        return near;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    if (fabs((double)near) > fabs(value))
        bits--;
    bits |= 1u;
    memcpy(&near, &bits, sizeof near);
    return near;
}

void wnn_store_doubles(const double *values, const struct tensor *tensor, size_t offset, size_t count)
{
    if (tensor->type == WNNDataType_Float32) {
        float *data = (float *)tensor->data + offset;
        for (size_t i = 0; i < count; i++)
            data[i] = (float)values[i];
    } else {
        float floats[WNN_PIECE];
        for (size_t i = 0; i < count; i++)
            floats[i] = narrow(values[i]);
        wnn_half_from_float_array(floats, (uint16_t *)tensor->data + offset, count);
    }
}

#define INTEGER_TYPES(X)                                                                                     \
    X(Int8, int8_t)                                                                                          \
    X(Uint8, uint8_t)                                                                                        \
    X(Int32, int32_t)                                                                                        \
    X(Uint32, uint32_t)                                                                                      \
    X(Int64, int64_t)                                                                                        \
    X(Uint64, uint64_t)

void wnn_load_integers(const struct tensor *tensor, size_t offset, size_t count, int64_t *values)
{
    switch (tensor->type) {
#define LOAD(name, type)                                                                                     \
    case WNNDataType_##name: {                                                                               \
        const type *data = (const type *)tensor->data + offset;                                              \
        for (size_t i = 0; i < count; i++)                                                                   \
            values[i] = (int64_t)data[i];                                                                    \
        break;                                                                                               \
    }
        INTEGER_TYPES(LOAD)
    default:
        break;
    }
}

void wnn_store_integers(const int64_t *values, const struct tensor *tensor, size_t offset, size_t count)
{
    switch (tensor->type) {
#define STORE(name, type)                                                                                    \
    case WNNDataType_##name: {                                                                               \
        type *data = (type *)tensor->data + offset;                                                          \
        for (size_t i = 0; i < count; i++)                                                                   \
            data[i] = (type)values[i];                                                                       \
        break;                                                                                               \
    }
        INTEGER_TYPES(STORE)
    default:
        break;
    }
}
