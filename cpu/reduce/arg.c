// SPDX-License-Identifier: Apache-2.0
//
// argMin and argMax. Elements are searched as keys, signed numbers of their size of which the greatest is
// looked for: a minimum turns their order around.
#include "cpu/reduce/iterator.h"
#include "ops/geometry.h"

enum {
    BLOCK = 4096,      // elements of a run that are searched at a time
    AHEAD = 6,         // rows that are fetched before they are read
    AHEAD_BYTES = 2048 // likewise of a run
};

struct search {
    const struct tensor *in, *out;
    bool min, last; // last: of equal ones
    struct reduction_iterator iterator;
};

// Rows of `width` elements, of which the first is at `position` among those that are reduced.
struct block {
    size_t rows, width, stride, position;
};

WNN_INLINE float float_key(float x, float sign)
{
    return x * sign;
}

// Of both zeros the same, of a NaN less than of all numbers.
WNN_INLINE int16_t half_key(uint16_t x, uint16_t change)
{
    uint16_t half = x ^ change, sign = (uint16_t)((int16_t)half >> 15);
    return (int16_t)(uint16_t)(((half & 0x7FFF) ^ sign) - sign + 0x3FF);
}

// ~ turns the order around without overflow; without their highest bits flipped, unsigned numbers are not in
// order.
#define DEFINE_INTEGER_KEY(Int)                                                                              \
    WNN_INLINE Int Int##_key(Int x, Int change)                                                              \
    {                                                                                                        \
        return (Int)(x ^ change);                                                                            \
    }
DEFINE_INTEGER_KEY(int8_t)
DEFINE_INTEGER_KEY(int32_t)
DEFINE_INTEGER_KEY(int64_t)

#define LANES(Key) (128 / sizeof(Key))

// KEY is of an element and of `change`. Nothing that counts has a key below LEAST. Place is an integer of the
// key's size, and PLACES rows are searched at a time. `best` is the best of each column so far, and `where`
// it is among the reduced elements; -1: nowhere yet.
#define DEFINE_SEARCH(name, Type, Key, Place, PLACES, KEY, LEAST)                                            \
    /* One column, in lanes. Conditions are masks, as compilers make branches of others. */                  \
    WNN_INLINE void name##_run(const Type *restrict values, const struct block *block, Type change,          \
                               Key *best, int32_t *where, const bool last)                                   \
    {                                                                                                        \
        Key lanes[LANES(Key)], most[LANES(Key)], greatest = *best;                                           \
        Place rows[LANES(Key)], found[LANES(Key)];                                                           \
        int32_t at = *where, many = LANES(Key), count = (int32_t)block->rows, row = 0;                       \
        for (size_t j = 0; j < LANES(Key); j++) {                                                            \
            lanes[j] = LEAST;                                                                                \
            rows[j] = -1;                                                                                    \
        }                                                                                                    \
        for (; (row + 1) * many <= count; row++, values += many) {                                           \
            __builtin_prefetch((const char *)values + AHEAD_BYTES);                                          \
            __builtin_prefetch((const char *)values + AHEAD_BYTES + 64);                                     \
            for (size_t j = 0; j < LANES(Key); j++) {                                                        \
                Key x = KEY(values[j], change), b = lanes[j];                                                \
                Place better = (Place) - (Place)(last ? x >= b : x > b);                                     \
                lanes[j] = x > b ? x : b;                                                                    \
                rows[j] = (Place)(rows[j] ^ ((rows[j] ^ (Place)row) & better));                              \
            }                                                                                                \
        }                                                                                                    \
        memcpy(most, lanes, sizeof lanes); /* so that lanes stay in registers */                             \
        memcpy(found, rows, sizeof rows);                                                                    \
        for (size_t half = LANES(Key) / 2; half > 0; half /= 2) {                                            \
            for (size_t j = 0; j < half; j++)                                                                \
                most[j] = most[j + half] > most[j] ? most[j + half] : most[j];                               \
        }                                                                                                    \
        int32_t place = last ? -1 : INT32_MAX;                                                               \
        for (int32_t j = 0; j < many; j++) {                                                                 \
            int32_t there = -(int32_t)((lanes[j] == most[0]) & (found[j] >= 0));                             \
            int32_t index = ((found[j] * many + j) & there) | ((last ? -1 : INT32_MAX) & ~there);            \
            place = (last ? index > place : index < place) ? index : place;                                  \
        }                                                                                                    \
        if ((last ? most[0] >= greatest : most[0] > greatest) && place >= 0 && place < count) {              \
            greatest = most[0];                                                                              \
            at = (int32_t)block->position + place;                                                           \
        }                                                                                                    \
        for (int32_t i = row * many; i < count; i++, values++) {                                             \
            Key x = KEY(*values, change);                                                                    \
            if (last ? x >= greatest : x > greatest) {                                                       \
                greatest = x;                                                                                \
                at = (int32_t)block->position + i;                                                           \
            }                                                                                                \
        }                                                                                                    \
        *best = greatest;                                                                                    \
        *where = at;                                                                                         \
    }                                                                                                        \
    WNN_INLINE void name##_rows(const Type *restrict values, const struct block *block, Type change,         \
                                Key *restrict best, int32_t *restrict where, const bool last)                \
    {                                                                                                        \
        Place places[WNN_ITERATOR_WIDTH];                                                                    \
        size_t width = block->width;                                                                         \
        for (size_t j = 0; j < width; j++)                                                                   \
            places[j] = -1;                                                                                  \
        for (size_t r = 0; r < block->rows; r++, values += block->stride) {                                  \
            for (size_t j = 0; r + AHEAD < block->rows && j < width; j += 64 / sizeof(Type))                 \
                __builtin_prefetch(values + AHEAD * block->stride + j);                                      \
            for (size_t j = 0; j < width; j++) {                                                             \
                Key key = KEY(values[j], change), b = best[j];                                               \
                Place better = (Place) - (Place)(last ? key >= b : key > b), place = places[j];              \
                best[j] = key > b ? key : b;                                                                 \
                places[j] = (Place)(place ^ ((place ^ (Place)r) & better));                                  \
            }                                                                                                \
        }                                                                                                    \
        for (size_t j = 0; j < width; j++)                                                                   \
            where[j] = places[j] < 0 ? where[j] : (int32_t)block->position + (int32_t)places[j];             \
    }                                                                                                        \
    /* Columns of which nothing is above LEAST. */                                                           \
    WNN_INLINE void name##_least(const Type *values, const struct block *block, Type change, int32_t *where) \
    {                                                                                                        \
        for (size_t r = 0; r < block->rows; r++) {                                                           \
            for (size_t j = 0; j < block->width; j++) {                                                      \
                if (where[j] < 0 && KEY(values[r * block->stride + j], change) == LEAST)                     \
                    where[j] = (int32_t)(block->position + r);                                               \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    WNN_INLINE void name(const struct search *search, size_t unit, Type change, int32_t *where)              \
    {                                                                                                        \
        Key best[WNN_ITERATOR_WIDTH];                                                                        \
        struct piece piece;                                                                                  \
        bool nowhere = false;                                                                                \
        for (int pass = 0; pass < 1 + nowhere; pass++) {                                                     \
            wnn_iterator_start_rows(&piece, &search->iterator, unit, 0, search->iterator.reduced);           \
            bool run = search->iterator.columns == 1;                                                        \
            size_t most = run ? BLOCK : PLACES;                                                              \
            for (size_t j = 0; pass == 0 && j < piece.width; j++) {                                          \
                best[j] = LEAST;                                                                             \
                where[j] = -1;                                                                               \
            }                                                                                                \
            while (wnn_iterator_next(&piece)) {                                                              \
                for (size_t row = 0, n; row < piece.rows; row += n) {                                        \
                    n = piece.rows - row < most ? piece.rows - row : most;                                   \
                    struct block block = {n, piece.width, search->iterator.columns, piece.position + row};   \
                    const Type *values =                                                                     \
                        (const Type *)search->in->data + piece.offset + row * search->iterator.columns;      \
                    if (pass == 1)                                                                           \
                        name##_least(values, &block, change, where);                                         \
                    else if (run && search->last)                                                            \
                        name##_run(values, &block, change, best, where, true);                               \
                    else if (run)                                                                            \
                        name##_run(values, &block, change, best, where, false);                              \
                    else if (search->last)                                                                   \
                        name##_rows(values, &block, change, best, where, true);                              \
                    else                                                                                     \
                        name##_rows(values, &block, change, best, where, false);                             \
                }                                                                                            \
            }                                                                                                \
            for (size_t j = 0; j < piece.width; j++)                                                         \
                nowhere |= where[j] < 0;                                                                     \
        }                                                                                                    \
    }

DEFINE_SEARCH(search_floats, float, float, int32_t, BLOCK, float_key, -INFINITY)
DEFINE_SEARCH(search_halves, uint16_t, int16_t, int16_t, BLOCK, half_key, -0x7801)
DEFINE_SEARCH(search_int8, int8_t, int8_t, int8_t, INT8_MAX, int8_t_key, INT8_MIN)
DEFINE_SEARCH(search_int32, int32_t, int32_t, int32_t, BLOCK, int32_t_key, INT32_MIN)
DEFINE_SEARCH(search_int64, int64_t, int64_t, int64_t, BLOCK, int64_t_key, INT64_MIN)

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

#define DEFINE_UNITS(name, CHANGE)                                                                           \
    static void name##_units(void *argument, size_t begin, size_t end)                                       \
    {                                                                                                        \
        const struct search *search = argument;                                                              \
        const struct reduction_iterator *iterator = &search->iterator;                                       \
        for (size_t unit = begin; unit < end; unit++) {                                                      \
            int32_t where[WNN_ITERATOR_WIDTH];                                                               \
            size_t column = unit % iterator->blocks * WNN_ITERATOR_WIDTH, left = iterator->columns - column; \
            name(search, unit, CHANGE, where);                                                               \
            store(search, unit / iterator->blocks * iterator->columns + column,                              \
                  left < WNN_ITERATOR_WIDTH ? left : WNN_ITERATOR_WIDTH, where);                             \
        }                                                                                                    \
    }                                                                                                        \
    WNN_VARIANTS(name##_units)
#define INTEGER_CHANGE(Unsigned, Int, LEAST)                                                                 \
    (Int)((search->min ? -1 : 0) ^ (search->in->type == WNNDataType_##Unsigned ? LEAST : 0))

DEFINE_UNITS(search_floats, search->min ? -1.0f : 1.0f)
DEFINE_UNITS(search_halves, search->min ? 0x8000 : 0)
DEFINE_UNITS(search_int8, INTEGER_CHANGE(Uint8, int8_t, INT8_MIN))
DEFINE_UNITS(search_int32, INTEGER_CHANGE(Uint32, int32_t, INT32_MIN))
DEFINE_UNITS(search_int64, INTEGER_CHANGE(Uint64, int64_t, INT64_MIN))

static wnn_loop_body find_body(WNNDataType type)
{
    if (type == WNNDataType_Float32)
        return WNN_BEST_ISA(search_floats_units);
    if (type == WNNDataType_Float16)
        return WNN_BEST_ISA(search_halves_units);
    return wnn_dtype_bits(type) == 64   ? WNN_BEST_ISA(search_int64_units)
           : wnn_dtype_bits(type) == 32 ? WNN_BEST_ISA(search_int32_units)
                                        : WNN_BEST_ISA(search_int8_units);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-argminmax
static void run_arg_min_max(const struct kernel_call *call)
{
    const struct arg_min_max_attrs *attrs = call->node->attrs;
    struct search search = {
        &call->in[0], &call->out[0], call->node->op == WNN_OP_argMin, attrs->selectLastIndex, {0}};
    wnn_iterator_init(&search.iterator, &call->in[0].shape, wnn_node_reduction_axes(call->node).mask, NULL);
    search.iterator.interrupt = call->parallel->interrupt;
    wnn_parallel_for(call->parallel, search.iterator.units, wnn_iterator_grain(&search.iterator),
                     find_body(call->in[0].type), &search);
}

const struct kernel wnn_cpu_argMin = {.run = run_arg_min_max};
const struct kernel wnn_cpu_argMax = {.run = run_arg_min_max};
