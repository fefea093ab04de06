// SPDX-License-Identifier: Apache-2.0
//
// argMin and argMax. A minimum is looked for as the maximum of the negated values, and types are widened to
// one of three, so that there are three searches.
#include "cpu/walk.h"

enum {
    LANES = 32,
    BLOCK = 4096, // elements that are searched at a time
    AHEAD = 6     // rows
};

struct search {
    const struct tensor *in, *out;
    bool min, last; // last: of equal ones
    struct walk walk;
};

// A piece of a unit: rows of `width` values, of which the first is at `position` among the reduced elements.
struct block {
    size_t rows, width, stride, position;
};

// The best of each column so far, and where it is among the reduced elements; -1: nowhere, all are NaN or
// LOWEST.
#define DEFINE_SEARCH(name, type, LOWEST)                                                                    \
    /* One column, in lanes. Conditions are masks, as compilers make branches of others. */                  \
    WNN_INLINE void name##_run(const type *restrict values, const struct block *block, type *best,           \
                               int32_t *where, const bool last)                                              \
    {                                                                                                        \
        type lanes[LANES], most[LANES], greatest = *best;                                                    \
        int32_t rows[LANES], found[LANES], at = *where, count = (int32_t)block->rows, row = 0;               \
        for (size_t j = 0; j < LANES; j++) {                                                                 \
            lanes[j] = LOWEST;                                                                               \
            rows[j] = -1;                                                                                    \
        }                                                                                                    \
        for (; (row + 1) * LANES <= count; row++, values += LANES) {                                         \
            for (size_t j = 0; j < LANES; j++) {                                                             \
                type x = values[j], b = lanes[j];                                                            \
                int32_t better = -(int32_t)(last ? x >= b : x > b);                                          \
                lanes[j] = x > b ? x : b;                                                                    \
                rows[j] ^= (rows[j] ^ row) & better;                                                         \
            }                                                                                                \
        }                                                                                                    \
        memcpy(most, lanes, sizeof lanes); /* so that lanes stay in registers */                             \
        memcpy(found, rows, sizeof rows);                                                                    \
        for (size_t half = LANES / 2; half > 0; half /= 2) {                                                 \
            for (size_t j = 0; j < half; j++)                                                                \
                most[j] = most[j + half] > most[j] ? most[j + half] : most[j];                               \
        }                                                                                                    \
        int32_t place = last ? -1 : INT32_MAX;                                                               \
        for (int32_t j = 0; j < LANES; j++) {                                                                \
            int32_t there = -(int32_t)((lanes[j] == most[0]) & (found[j] >= 0));                             \
            int32_t index = ((found[j] * LANES + j) & there) | ((last ? -1 : INT32_MAX) & ~there);           \
            place = (last ? index > place : index < place) ? index : place;                                  \
        }                                                                                                    \
        if ((last ? most[0] >= greatest : most[0] > greatest) && place >= 0 && place < count) {              \
            greatest = most[0];                                                                              \
            at = (int32_t)block->position + place;                                                           \
        }                                                                                                    \
        for (int32_t i = row * LANES; i < count; i++, values++) {                                            \
            if (last ? *values >= greatest : *values > greatest) {                                           \
                greatest = *values;                                                                          \
                at = (int32_t)block->position + i;                                                           \
            }                                                                                                \
        }                                                                                                    \
        *best = greatest;                                                                                    \
        *where = at;                                                                                         \
    }                                                                                                        \
    WNN_INLINE void name##_rows(const type *restrict values, const struct block *block, type *restrict best, \
                                int32_t *restrict where, const bool last)                                    \
    {                                                                                                        \
        int32_t position = (int32_t)block->position;                                                         \
        size_t width = block->width;                                                                         \
        for (size_t r = 0; r < block->rows; r++, values += block->stride, position++) {                      \
            for (size_t j = 0; r + AHEAD < block->rows && j < width; j += 64 / sizeof(type))                 \
                __builtin_prefetch(values + AHEAD * block->stride + j);                                      \
            for (size_t j = 0; j < width; j++) {                                                             \
                type x = values[j], b = best[j];                                                             \
                bool better = last ? x >= b : x > b;                                                         \
                best[j] = better ? x : b;                                                                    \
                where[j] = better ? position : where[j];                                                     \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    /* Columns of which nothing is above LOWEST. */                                                          \
    WNN_INLINE void name##_lowest(const type *values, const struct block *block, int32_t *where)             \
    {                                                                                                        \
        for (size_t r = 0; r < block->rows; r++) {                                                           \
            for (size_t j = 0; j < block->width; j++) {                                                      \
                if (where[j] < 0 && values[r * block->stride + j] == LOWEST)                                 \
                    where[j] = (int32_t)(block->position + r);                                               \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    WNN_INLINE void name(const struct search *search, size_t unit, size_t *width, int32_t *where)            \
    {                                                                                                        \
        _Alignas(64) type buffer[BLOCK], best[WNN_WALK_WIDTH];                                               \
        struct piece piece;                                                                                  \
        bool nowhere = false;                                                                                \
        for (int pass = 0; pass < 1 + nowhere; pass++) {                                                     \
            wnn_walk_start_rows(&piece, &search->walk, unit, 0, search->walk.reduced);                       \
            *width = piece.width;                                                                            \
            for (size_t j = 0; pass == 0 && j < piece.width; j++) {                                          \
                best[j] = LOWEST;                                                                            \
                where[j] = -1;                                                                               \
            }                                                                                                \
            while (wnn_walk_next(&piece)) {                                                                  \
                for (size_t row = 0, n; row < piece.rows; row += n) {                                        \
                    n = piece.rows - row < BLOCK / piece.width ? piece.rows - row : BLOCK / piece.width;     \
                    struct block block = {n, piece.width, search->walk.columns, piece.position + row};       \
                    const type *values =                                                                     \
                        name##_load(search, piece.offset + row * search->walk.columns, &block, buffer);      \
                    if (pass == 1)                                                                           \
                        name##_lowest(values, &block, where);                                                \
                    else if (piece.width == 1 && search->last)                                               \
                        name##_run(values, &block, best, where, true);                                       \
                    else if (piece.width == 1)                                                               \
                        name##_run(values, &block, best, where, false);                                      \
                    else if (search->last)                                                                   \
                        name##_rows(values, &block, best, where, true);                                      \
                    else                                                                                     \
                        name##_rows(values, &block, best, where, false);                                     \
                }                                                                                            \
            }                                                                                                \
            for (size_t j = 0; j < piece.width; j++)                                                         \
                nowhere |= where[j] < 0;                                                                     \
        }                                                                                                    \
    }

// Rows from `offset` on, in the tensor itself or in `buffer`.
WNN_INLINE const float *search_floats_load(const struct search *search, size_t offset, struct block *block,
                                           float *buffer)
{
    const float *floats = (const float *)search->in->data + offset;
    bool half = search->in->type == WNNDataType_Float16;
    size_t width = block->width;
    if (!half && !search->min)
        return floats;
    for (size_t r = 0; r < block->rows; r++) {
        const float *from = floats + r * block->stride;
        float *to = buffer + r * width;
        if (half) {
            const uint16_t *halves = (const uint16_t *)search->in->data + offset + r * block->stride;
            size_t count = block->stride == width ? block->rows * width : width;
            for (size_t i = 0; i < count; i += 32)
                __builtin_prefetch(halves + AHEAD * block->stride + i);
            wnn_half_to_float_array(halves, to, count);
            from = to;
        }
        if (half && block->stride == width)
            break;
        for (size_t j = 0; search->min && j < width; j++)
            to[j] = -from[j];
    }
    for (size_t i = 0; half && block->stride == width && search->min && i < block->rows * width; i++)
        buffer[i] = -buffer[i];
    block->stride = width;
    return buffer;
}

#define LOAD(Type, Wide)                                                                                     \
    for (size_t r = 0; r < block->rows; r++) {                                                               \
        const Type *from = (const Type *)search->in->data + offset + r * block->stride;                      \
        for (size_t j = 0; j < width; j++)                                                                   \
            buffer[r * width + j] = (Wide)from[j] ^ change;                                                  \
    }

// ~ turns the order around without overflow; without their highest bits flipped, unsigned numbers are not in
// order.
WNN_INLINE const int32_t *search_int32_load(const struct search *search, size_t offset, struct block *block,
                                            int32_t *buffer)
{
    WNNDataType type = search->in->type;
    size_t width = block->width;
    int32_t change = (search->min ? -1 : 0) ^ (type == WNNDataType_Uint32 ? INT32_MIN : 0);
    if (type == WNNDataType_Int32 && !search->min)
        return (const int32_t *)search->in->data + offset;
    switch (type) {
    case WNNDataType_Int8:
        LOAD(int8_t, int32_t)
        break;
    case WNNDataType_Uint8:
        LOAD(uint8_t, int32_t)
        break;
    default:
        LOAD(int32_t, int32_t)
        break;
    }
    block->stride = width;
    return buffer;
}

WNN_INLINE const int64_t *search_int64_load(const struct search *search, size_t offset, struct block *block,
                                            int64_t *buffer)
{
    bool is_unsigned = search->in->type == WNNDataType_Uint64;
    size_t width = block->width;
    int64_t change = (search->min ? -1 : 0) ^ (is_unsigned ? INT64_MIN : 0);
    if (!is_unsigned && !search->min)
        return (const int64_t *)search->in->data + offset;
    LOAD(int64_t, int64_t)
    block->stride = width;
    return buffer;
}

DEFINE_SEARCH(search_floats, float, -INFINITY)
DEFINE_SEARCH(search_int32, int32_t, INT32_MIN)
DEFINE_SEARCH(search_int64, int64_t, INT64_MIN)

static void store(const struct search *search, size_t offset, size_t width, const int32_t *where)
{
    for (size_t j = 0; j < width; j++) {
        int32_t index = where[j] < 0 ? 0 : where[j];
        if (search->out->type == WNNDataType_Int64)
            ((int64_t *)search->out->data)[offset + j] = index;
        else
            ((int32_t *)search->out->data)[offset + j] = index;
    }
}

#define DEFINE_UNITS(name)                                                                                   \
    static void name##_units(void *argument, size_t begin, size_t end)                                       \
    {                                                                                                        \
        const struct search *search = argument;                                                              \
        const struct walk *walk = &search->walk;                                                             \
        for (size_t unit = begin; unit < end; unit++) {                                                      \
            int32_t where[WNN_WALK_WIDTH];                                                                   \
            size_t width, column = unit % walk->blocks * WNN_WALK_WIDTH;                                     \
            name(search, unit, &width, where);                                                               \
            store(search, unit / walk->blocks * walk->columns + column, width, where);                       \
        }                                                                                                    \
    }                                                                                                        \
    WNN_VARIANTS_512(name##_units)

DEFINE_UNITS(search_floats)
DEFINE_UNITS(search_int32)
DEFINE_UNITS(search_int64)

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-argminmax
void wnn_cpu_arg_min_max(const struct kernel_call *call)
{
    const struct arg_min_max_attrs *attrs = call->node->attrs;
    WNNDataType type = call->in[0].type;
    struct search search = {
        &call->in[0], &call->out[0], call->node->op == WNN_OP_argMin, attrs->selectLastIndex, {0}};
    uint32_t mask = 0;
    for (size_t i = 0; i < attrs->axes.count; i++)
        mask |= 1u << attrs->axes.data[i];
    wnn_walk_init(&search.walk, &call->in[0].shape, mask, NULL);
    wnn_loop_body body = wnn_dtype_is_float(type)     ? WNN_BEST_512(search_floats_units)
                         : wnn_dtype_bits(type) == 64 ? WNN_BEST_512(search_int64_units)
                                                      : WNN_BEST_512(search_int32_units);
    wnn_parallel_for(call->parallel, search.walk.units, wnn_walk_grain(&search.walk), body, &search);
}
