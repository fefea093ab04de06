// SPDX-License-Identifier: Apache-2.0
//
// The ten reductions: a function of each element, sum, product, maximum or minimum of these, and a function
// of the result. Sums and products of floats are accumulated in double; integers in their own type, modulo
// its range.
#include "cpu/simd/lanes.h"
#include "cpu/simd/vmath.h"
#include "cpu/reduce/iterator.h"
#include "ops/geometry.h"

#include <math.h>

// What becomes of elements before the result is finished; EXPONENTIALS are sums of them.
enum kind {
    SUM,
    SUM_ABS,
    SUM_SQUARE,
    PRODUCT,
    MAXIMUM,
    MINIMUM,
    KINDS,
    EXPONENTIALS
};
enum finish {
    FINISH_NONE,
    FINISH_SQRT,
    FINISH_LOG,
    FINISH_MEAN
};

struct reduction {
    enum kind kind;
    enum finish finish;
};

static const struct reduction reduceL1_row = {SUM_ABS, FINISH_NONE};
static const struct reduction reduceL2_row = {SUM_SQUARE, FINISH_SQRT};
static const struct reduction reduceLogSum_row = {SUM, FINISH_LOG};
static const struct reduction reduceLogSumExp_row = {EXPONENTIALS, FINISH_NONE};
static const struct reduction reduceMax_row = {MAXIMUM, FINISH_NONE};
static const struct reduction reduceMean_row = {SUM, FINISH_MEAN};
static const struct reduction reduceMin_row = {MINIMUM, FINISH_NONE};
static const struct reduction reduceProduct_row = {PRODUCT, FINISH_NONE};
static const struct reduction reduceSum_row = {SUM, FINISH_NONE};
static const struct reduction reduceSumSquare_row = {SUM_SQUARE, FINISH_NONE};

static const struct reduction *const reductions[WNN_OP_COUNT] = {
#define OP(...)
#define OP_REDUCTION(id, ...) [WNN_OP_##id] = &id##_row,
#include "ops/ops.def"
};

// ---------------------------------------------------------------------------------------------------------------
// The loops
// ---------------------------------------------------------------------------------------------------------------

enum {
    LANES = 64,         // into which a unit of few columns is accumulated, at most
    STRIPS = 2048,      // elements that sums in registers go over at a time
    AHEAD = 8,          // rows that are fetched before they are read
    AHEAD_BYTES = 2048, // likewise where they are side by side
    FETCHED = 1024,     // bytes of a part of a row that processors fetch ahead by themselves
    RECENT = 64,        // elements of float16 that are added up in float32
};

// How many elements before it is read a row is fetched: some rows, of short ones more.
static inline size_t rows_ahead(size_t stride, size_t size)
{
    return AHEAD * stride * size < AHEAD_BYTES ? AHEAD_BYTES / size : AHEAD * stride;
}

#define LOOPS "cpu/reduce/reduce.inc"
#include "cpu/simd/each_isa.inc"

// Sums are of a type that depends on the kind and the type of the elements.
struct reducer {
    size_t size; // bytes of a sum
    void (*clear)(void *sums, size_t count);

    // sums[j] becomes the reduction of itself and values[r * stride + j] for all rows r.
    void (*rows)(void *sums, size_t width, const void *values, size_t rows, size_t stride);

    // sums[j] becomes the reduction of itself and more[j].
    void (*join)(void *sums, const void *more, size_t width);

    // Folds `lanes` sums, width times a power of two, to `width`.
    void (*halve)(void *sums, size_t lanes, size_t width);

    // sums[i] becomes the reduction of values[i * length] to values[i * length + length - 1].
    void (*runs)(void *sums, const void *values, size_t runs, size_t length);
};

#define RUN_LANES(Sum) (sizeof(Sum) < 4 ? 64 / sizeof(Sum) : 8)

// REDUCED is of a sum a and a mapped element or another sum x, MAPPED of an element x.
#define DEFINE_BOTH(name, Sum, REDUCED)                                                                      \
    WNN_INLINE Sum name##_both(Sum a, Sum x)                                                                 \
    {                                                                                                        \
        return (Sum)(REDUCED);                                                                               \
    }
#define DEFINE_STEPS(name, Sum, Type, MAPPED, REDUCED)                                                       \
    DEFINE_BOTH(name, Sum, REDUCED)                                                                          \
    WNN_INLINE Sum name##_step(Sum a, Type element)                                                          \
    {                                                                                                        \
        Sum x = (Sum)element;                                                                                \
        return name##_both(a, (Sum)(MAPPED));                                                                \
    }

// Several rows at a time keep what is summed up in registers.
#define DEFINE_ROWS(set, TARGET, name, Sum, Type)                                                            \
    TARGET static void name##_rows_##set(void *all, size_t width, const void *elements, size_t rows,         \
                                         size_t stride)                                                      \
    {                                                                                                        \
        Sum *restrict sums = all;                                                                            \
        const Type *restrict values = elements;                                                              \
        size_t close = (AHEAD_BYTES / sizeof(Type) / width + 1) * width;                                     \
        bool fetches = stride == width || width * sizeof(Type) < FETCHED;                                    \
        for (; rows >= 4; rows -= 4, values += 4 * stride) {                                                 \
            const Type *v1 = values + stride, *v2 = v1 + stride, *v3 = v2 + stride;                          \
            const Type *ahead = values + (stride == width ? close : AHEAD * stride);                         \
            for (size_t j = 0; fetches && j < width; j += 64 / sizeof(Type)) {                               \
                __builtin_prefetch(ahead + j);                                                               \
                __builtin_prefetch(ahead + stride + j);                                                      \
                __builtin_prefetch(ahead + 2 * stride + j);                                                  \
                __builtin_prefetch(ahead + 3 * stride + j);                                                  \
            }                                                                                                \
            for (size_t j = 0; j < width; j++) {                                                             \
                Sum a = name##_step(sums[j], values[j]), b = name##_step(a, v1[j]);                          \
                a = name##_step(b, v2[j]);                                                                   \
                sums[j] = name##_step(a, v3[j]);                                                             \
            }                                                                                                \
        }                                                                                                    \
        for (; rows > 0; rows--, values += stride) {                                                         \
            for (size_t j = 0; j < width; j++)                                                               \
                sums[j] = name##_step(sums[j], values[j]);                                                   \
        }                                                                                                    \
    }

#define DEFINE_LOOPS(set, TARGET, name, Sum, Type, NEUTRAL, ROWS, RUNS)                                      \
    TARGET static void name##_clear_##set(void *sums, size_t count)                                          \
    {                                                                                                        \
        for (size_t j = 0; j < count; j++)                                                                   \
            ((Sum *)sums)[j] = NEUTRAL;                                                                      \
    }                                                                                                        \
    TARGET static void name##_join_##set(void *all, const void *more, size_t width)                          \
    {                                                                                                        \
        Sum *restrict sums = all;                                                                            \
        const Sum *restrict others = more;                                                                   \
        for (size_t j = 0; j < width; j++)                                                                   \
            sums[j] = name##_both(sums[j], others[j]);                                                       \
    }                                                                                                        \
    TARGET static void name##_halve_##set(void *all, size_t lanes, size_t width)                             \
    {                                                                                                        \
        Sum *restrict sums = all;                                                                            \
        for (; lanes > width; lanes /= 2)                                                                    \
            name##_join_##set(sums, sums + lanes / 2, lanes / 2);                                            \
    }                                                                                                        \
    static const struct reducer name##_##set = {sizeof(Sum),       name##_clear_##set, ROWS,                 \
                                                name##_join_##set, name##_halve_##set, RUNS};

#define DEFINE_RUNS(set, TARGET, name, Sum, Type, NEUTRAL)                                                   \
    TARGET static void name##_runs_##set(void *sums, const void *elements, size_t runs, size_t length)       \
    {                                                                                                        \
        const Type *values = elements;                                                                       \
        for (size_t i = 0; i < runs; i++, values += length) {                                                \
            Sum lanes[RUN_LANES(Sum)];                                                                       \
            size_t at = 0;                                                                                   \
            for (size_t j = 0; j < RUN_LANES(Sum); j++)                                                      \
                lanes[j] = NEUTRAL;                                                                          \
            for (; at + RUN_LANES(Sum) <= length; at += RUN_LANES(Sum)) {                                    \
                __builtin_prefetch((const char *)(values + at) + AHEAD_BYTES);                               \
                for (size_t j = 0; j < RUN_LANES(Sum); j++)                                                  \
                    lanes[j] = name##_step(lanes[j], values[at + j]);                                        \
            }                                                                                                \
            for (size_t j = 0; at < length; j++, at++)                                                       \
                lanes[j] = name##_step(lanes[j], values[at]);                                                \
            for (size_t half = RUN_LANES(Sum) / 2; half > 0; half /= 2) {                                    \
                for (size_t j = 0; j < half; j++)                                                            \
                    lanes[j] = name##_both(lanes[j], lanes[j + half]);                                       \
            }                                                                                                \
            ((Sum *)sums)[i] = lanes[0];                                                                     \
        }                                                                                                    \
    }

#define DEFINE_ALL_LOOPS(set, TARGET, name, Sum, Type, NEUTRAL)                                              \
    DEFINE_ROWS(set, TARGET, name, Sum, Type)                                                                \
    DEFINE_RUNS(set, TARGET, name, Sum, Type, NEUTRAL)                                                       \
    DEFINE_LOOPS(set, TARGET, name, Sum, Type, NEUTRAL, name##_rows_##set, name##_runs_##set)
// Those whose rows and runs are in reduce.inc.
#define DEFINE_SUM_LOOPS(set, TARGET, name, Sum, Type, NEUTRAL)                                              \
    DEFINE_LOOPS(set, TARGET, name, Sum, Type, NEUTRAL, name##_rows_##set, name##_runs_##set)

#define DEFINE_FLOAT_REDUCER(name, Sum, NEUTRAL, MAPPED, REDUCED)                                            \
    DEFINE_STEPS(name, Sum, float, MAPPED, REDUCED)                                                          \
    WNN_FOR_EACH_ISA(DEFINE_ALL_LOOPS, name, Sum, float, NEUTRAL)
#define DEFINE_SUM_REDUCER(name, NEUTRAL, REDUCED)                                                           \
    DEFINE_BOTH(name, double, REDUCED)                                                                       \
    WNN_FOR_EACH_ISA(DEFINE_SUM_LOOPS, name, double, float, NEUTRAL)

// float16 is converted in registers, but for short runs.
#define DEFINE_HALF_LOOPS(set, TARGET, name, like)                                                           \
    static const struct reducer name##_##set = {sizeof(double),    like##_clear_##set, name##_rows_##set,    \
                                                like##_join_##set, like##_halve_##set, like##_runs_##set};
#define DEFINE_HALF_REDUCER(name, like) WNN_FOR_EACH_ISA(DEFINE_HALF_LOOPS, name, like)

#define DEFINE_REDUCER(name, Int, NEUTRAL, MAPPED, REDUCED)                                                  \
    DEFINE_STEPS(name, Int, Int, MAPPED, REDUCED)                                                            \
    WNN_FOR_EACH_ISA_256(DEFINE_ALL_LOOPS, name, Int, Int, NEUTRAL)

// -0 + x is x, -0 too.
DEFINE_SUM_REDUCER(sum_float, -0.0, a + x)
DEFINE_SUM_REDUCER(sum_abs_float, -0.0, a + x)
DEFINE_SUM_REDUCER(sum_square_float, -0.0, a + x)
DEFINE_SUM_REDUCER(product_float, 1.0, a *x)
DEFINE_HALF_REDUCER(sum_half, sum_float)
DEFINE_HALF_REDUCER(sum_abs_half, sum_abs_float)
DEFINE_HALF_REDUCER(sum_square_half, sum_square_float)
// A NaN stays. Of more conditions in a row gcc makes branches.
DEFINE_FLOAT_REDUCER(max_float, float, -INFINITY, x, ((x > a) | (x != x)) ? x : a)
DEFINE_FLOAT_REDUCER(min_float, float, INFINITY, x, ((x < a) | (x != x)) ? x : a)

DEFINE_REDUCER(sum_32, uint32_t, 0, x, a + x)
DEFINE_REDUCER(sum_abs_32, uint32_t, 0, x >> 31 ? 0 - x : x, a + x)
DEFINE_REDUCER(sum_square_32, uint32_t, 0, x *x, a + x)
DEFINE_REDUCER(product_32, uint32_t, 1, x, a *x)
DEFINE_REDUCER(sum_64, uint64_t, 0, x, a + x)
DEFINE_REDUCER(sum_abs_64, uint64_t, 0, x >> 63 ? 0 - x : x, a + x)
DEFINE_REDUCER(sum_square_64, uint64_t, 0, x *x, a + x)
DEFINE_REDUCER(product_64, uint64_t, 1, x, a *x)

#define DEFINE_EXTREMES(type, Int, LEAST, GREATEST)                                                          \
    DEFINE_STEPS(max_##type, Int, Int, x, x > a ? x : a)                                                     \
    DEFINE_STEPS(min_##type, Int, Int, x, x < a ? x : a)                                                     \
    WNN_FOR_EACH_ISA_256(DEFINE_ALL_LOOPS, max_##type, Int, Int, LEAST)                                      \
    WNN_FOR_EACH_ISA_256(DEFINE_ALL_LOOPS, min_##type, Int, Int, GREATEST)

// float16 as keys, of which infinities are the least and the greatest that are no NaN.
DEFINE_STEPS(max_half, uint16_t, uint16_t, wnn_half_key(x, WNN_HALF_NAN_LAST), x > a ? x : a)
DEFINE_STEPS(min_half, uint16_t, uint16_t, wnn_half_key(x, WNN_HALF_NAN_FIRST), x < a ? x : a)
WNN_FOR_EACH_ISA_256(DEFINE_ALL_LOOPS, max_half, uint16_t, uint16_t, 0)
WNN_FOR_EACH_ISA_256(DEFINE_ALL_LOOPS, min_half, uint16_t, uint16_t, UINT16_MAX)

DEFINE_EXTREMES(i8, int8_t, INT8_MIN, INT8_MAX)
DEFINE_EXTREMES(u8, uint8_t, 0, UINT8_MAX)
DEFINE_EXTREMES(i32, int32_t, INT32_MIN, INT32_MAX)
DEFINE_EXTREMES(u32, uint32_t, 0, UINT32_MAX)
DEFINE_EXTREMES(i64, int64_t, INT64_MIN, INT64_MAX)
DEFINE_EXTREMES(u64, uint64_t, 0, UINT64_MAX)

// float16 is reduced as float32, but for its extremes, and unsigned integers as signed ones where it makes no
// difference.
#define EXTREMES(set, type) [MAXIMUM] = &max_##type##_##set, [MINIMUM] = &min_##type##_##set
#define SUMS(set, bits, abs)                                                                                 \
    [SUM] = &sum_##bits##_##set, [SUM_ABS] = &abs##_##bits##_##set,                                          \
    [SUM_SQUARE] = &sum_square_##bits##_##set, [PRODUCT] = &product_##bits##_##set
#define FLOAT_REDUCERS(set)                                                                                  \
    {                                                                                                        \
        SUMS(set, float, sum_abs), EXTREMES(set, float)                                                      \
    }
#define HALF_REDUCERS(set, float_set)                                                                        \
    {                                                                                                        \
        [SUM] = &sum_half_##float_set, [SUM_ABS] = &sum_abs_half_##float_set,                                \
        [SUM_SQUARE] = &sum_square_half_##float_set, [PRODUCT] = &product_float_##float_set,                 \
        EXTREMES(set, half)                                                                                  \
    }
#define REDUCERS(set, float_set)                                                                             \
    {                                                                                                        \
        [WNNDataType_Float32] = FLOAT_REDUCERS(float_set),                                                   \
        [WNNDataType_Float16] = HALF_REDUCERS(set, float_set),                                               \
        [WNNDataType_Int32] = {SUMS(set, 32, sum_abs), EXTREMES(set, i32)},                                  \
        [WNNDataType_Uint32] = {SUMS(set, 32, sum), EXTREMES(set, u32)},                                     \
        [WNNDataType_Int64] = {SUMS(set, 64, sum_abs), EXTREMES(set, i64)},                                  \
        [WNNDataType_Uint64] = {SUMS(set, 64, sum), EXTREMES(set, u64)},                                     \
        [WNNDataType_Int8] = {EXTREMES(set, i8)}, [WNNDataType_Uint8] = {EXTREMES(set, u8)},                 \
    }

static const struct reducer *find_reducer(WNNDataType type, enum kind kind)
{
    typedef const struct reducer *table[WNN_DATA_TYPE_COUNT][KINDS];
    static const table reducers_any = REDUCERS(any, any);
#if WNN_X86_64
    static const table reducers_avx2 = REDUCERS(avx2, avx2), reducers_avx512 = REDUCERS(avx2, avx512);
#endif
    return WNN_BEST_ISA(reducers)[type][kind];
}

// ---------------------------------------------------------------------------------------------------------------
// Units
// ---------------------------------------------------------------------------------------------------------------

enum {
    LONG_RUN = 1024, // bytes of a run that is accumulated in so many lanes
    BLOCK = 2048,    // elements that are converted at a time
    SLOTS = 16       // partial results of units that threads share
};

// What a unit is accumulated in: one item a column.
union sums {
    double doubles[WNN_ITERATOR_WIDTH];
    float floats[WNN_ITERATOR_WIDTH];
    uint16_t keys[WNN_ITERATOR_WIDTH];
    uint64_t integers[WNN_ITERATOR_WIDTH];
};

struct reduce {
    const struct tensor *in, *out;
    const struct reducer *reducer;
    const struct reduction *reduction;
    size_t size;         // bytes of an element of the input
    bool half;           // float16 that is converted to float32 before it is reduced: no sums
    bool half_runs;      // likewise in runs: sums too
    size_t parts;        // of a unit, the number of which depends on the shape alone
    union sums *partial; // [units, parts], if there is more than one part
    struct reduction_iterator iterator;
};

// The number of sums that a unit of few columns is accumulated in: lane j has elements j, j + lanes, ...
static size_t count_lanes(const struct reduction_iterator *iterator, size_t width, size_t rows)
{
    size_t lanes = width;
    while (width == iterator->columns && lanes * 2 <= LANES && lanes * 8 <= rows * width)
        lanes *= 2;
    return lanes;
}

// Rows of `width` elements; `lanes` of them, if that is more, are summed up at a time, and rows are side by
// side.
static void add_rows(const struct reduce *reduce, void *sums, size_t lanes, size_t width, size_t offset,
                     size_t rows, size_t stride)
{
    const struct reducer *reducer = reduce->reducer;
    size_t rest = 0;
    if (lanes > width) {
        rest = rows * width % lanes;
        rows = rows * width / lanes;
        width = stride = lanes;
    }
    if (!reduce->half) {
        const char *values = (const char *)reduce->in->data + offset * reduce->size;
        reducer->rows(sums, width, values, rows, stride);
        if (rest > 0)
            reducer->rows(sums, rest, values + rows * stride * reduce->size, 1, 0);
        return;
    }
    const uint16_t *halves = (const uint16_t *)reduce->in->data + offset;
    float floats[BLOCK];
    for (size_t most = BLOCK / width, n; rows > 0; rows -= n, halves += n * stride) {
        n = rows < most ? rows : most;
        if (stride == width)
            wnn_half_to_float_array(halves, floats, n * width);
        else
            for (size_t r = 0; r < n; r++)
                wnn_half_to_float_array(halves + r * stride, floats + r * width, width);
        reducer->rows(sums, width, floats, n, width);
    }
    if (rest > 0) {
        wnn_half_to_float_array(halves, floats, rest);
        reducer->rows(sums, rest, floats, 1, 0);
    }
}

// Rows [first, first + count) of a unit.
static void accumulate(const struct reduce *reduce, size_t unit, size_t first, size_t count, union sums *sums)
{
    const struct reduction_iterator *iterator = &reduce->iterator;
    struct piece piece;
    wnn_iterator_start_rows(&piece, iterator, unit, first, count);
    size_t lanes = count_lanes(iterator, piece.width, iterator->rows);
    reduce->reducer->clear(sums, lanes);
    while (wnn_iterator_next(&piece))
        add_rows(reduce, sums, lanes, piece.width, piece.offset, piece.rows, iterator->columns);
    reduce->reducer->halve(sums, lanes, piece.width);
}

// Takes and stores results from `offset` on.
static void finish(const struct reduce *reduce, size_t offset, size_t width, union sums *sums)
{
    const struct tensor *out = reduce->out;
    if (!wnn_dtype_is_float(out->type)) {
        memcpy((char *)out->data + offset * reduce->size, sums, width * reduce->size);
        return;
    }
    if (reduce->reduction->kind == MAXIMUM || reduce->reduction->kind == MINIMUM) {
        uint16_t order = reduce->reduction->kind == MAXIMUM ? WNN_HALF_NAN_LAST : WNN_HALF_NAN_FIRST;
        if (out->type == WNNDataType_Float32)
            memcpy((float *)out->data + offset, sums->floats, width * sizeof(float));
        else
            for (size_t j = 0; j < width; j++)
                ((uint16_t *)out->data)[offset + j] = wnn_half_of_key(sums->keys[j], order);
        return;
    }
    double *values = sums->doubles;
    switch (reduce->reduction->finish) {
    case FINISH_NONE:
        break;
    case FINISH_SQRT:
        for (size_t j = 0; j < width; j++)
            values[j] = sqrt(values[j]);
        break;
    case FINISH_LOG:
        for (size_t j = 0; j < width; j++)
            values[j] = log(values[j]);
        break;
    case FINISH_MEAN:
        for (size_t j = 0; j < width; j++)
            values[j] /= (double)reduce->iterator.reduced;
        break;
    }
    wnn_store_doubles(values, out, offset, width);
}

static size_t unit_width(const struct reduction_iterator *iterator, size_t unit)
{
    size_t column = unit % iterator->blocks * WNN_ITERATOR_WIDTH;
    return iterator->columns - column < WNN_ITERATOR_WIDTH ? iterator->columns - column : WNN_ITERATOR_WIDTH;
}

static size_t unit_offset(const struct reduction_iterator *iterator, size_t unit)
{
    return unit / iterator->blocks * iterator->columns + unit % iterator->blocks * WNN_ITERATOR_WIDTH;
}

static void reduce_units(void *argument, size_t begin, size_t end)
{
    const struct reduce *reduce = argument;
    for (size_t unit = begin; unit < end; unit++) {
        union sums sums;
        accumulate(reduce, unit, 0, reduce->iterator.reduced, &sums);
        finish(reduce, unit_offset(&reduce->iterator, unit), unit_width(&reduce->iterator, unit), &sums);
    }
}

// Units that are runs of elements, one behind the other: WNN_ITERATOR_WIDTH results at a time.
static void reduce_runs(void *argument, size_t begin, size_t end)
{
    const struct reduce *reduce = argument;
    const struct reducer *reducer = reduce->reducer;
    size_t length = reduce->iterator.rows, lanes = count_lanes(&reduce->iterator, 1, length);
    for (size_t unit = begin, n; unit < end; unit += n) {
        union sums results, sums;
        n = end - unit < WNN_ITERATOR_WIDTH ? end - unit : WNN_ITERATOR_WIDTH;
        if (length * reduce->size >= LONG_RUN) {
            for (size_t i = 0; i < n; i++) {
                reducer->clear(&sums, lanes);
                add_rows(reduce, &sums, lanes, 1, (unit + i) * length, length, 1);
                reducer->halve(&sums, lanes, 1);
                memcpy((char *)&results + i * reducer->size, &sums, reducer->size);
            }
        } else if (reduce->half_runs) {
            float floats[BLOCK];
            n = n < BLOCK / length ? n : BLOCK / length;
            wnn_half_to_float_array((const uint16_t *)reduce->in->data + unit * length, floats, n * length);
            reducer->runs(&results, floats, n, length);
        } else {
            reducer->runs(&results, (const char *)reduce->in->data + unit * length * reduce->size, n, length);
        }
        finish(reduce, unit, n, &results);
    }
}

static void reduce_parts(void *argument, size_t begin, size_t end)
{
    const struct reduce *reduce = argument;
    for (size_t slot = begin; slot < end; slot++) {
        size_t part = slot % reduce->parts, length = reduce->iterator.reduced / reduce->parts;
        size_t first = part * length;
        size_t count = part + 1 < reduce->parts ? length : reduce->iterator.reduced - first;
        accumulate(reduce, slot / reduce->parts, first, count, &reduce->partial[slot]);
    }
}

// Units that are too few for many threads are cut into parts.
static void reduce_in_parts(struct reduce *reduce, const struct parallel *parallel)
{
    union sums partial[SLOTS];
    const struct reduction_iterator *iterator = &reduce->iterator;
    reduce->partial = partial;
    wnn_parallel_for(parallel, iterator->units * reduce->parts, 1, reduce_parts, reduce);
    for (size_t unit = 0; unit < iterator->units; unit++) {
        union sums *first = &partial[unit * reduce->parts];
        for (size_t part = 1; part < reduce->parts; part++)
            reduce->reducer->join(first, &first[part], unit_width(iterator, unit));
        finish(reduce, unit_offset(iterator, unit), unit_width(iterator, unit), first);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// reduceLogSumExp
// ---------------------------------------------------------------------------------------------------------------

// The sum of exp(x - maximum) of each column.
static void accumulate_exp(const struct reduce *reduce, size_t unit, const float *maxima, double *sums)
{
    float floats[WNN_PIECE], most[WNN_PIECE];
    size_t filled = 0;
    struct piece piece;
    wnn_iterator_start(&piece, &reduce->iterator, unit);
    for (size_t j = 0; j < piece.width; j++)
        sums[j] = -0.0;
    while (wnn_iterator_next(&piece)) {
        size_t count = piece.rows * piece.width, width = piece.width;
        const float *x = (const float *)reduce->in->data + piece.offset;
        if (reduce->in->type == WNNDataType_Float16) {
            wnn_half_to_float_array((const uint16_t *)reduce->in->data + piece.offset, floats, count);
            x = floats;
        }
        for (; filled < count; filled += width)
            memcpy(most + filled, maxima, width * sizeof *most);
        wnn_vmath_pair(VMATH_EXP_BELOW, x, most, floats, count);
        for (size_t i = 0; i < count; i += width) {
            for (size_t j = 0; j < width; j++)
                sums[j] += (double)floats[i + j];
        }
    }
}

static void reduce_log_sum_exp(void *argument, size_t begin, size_t end)
{
    const struct reduce *reduce = argument;
    for (size_t unit = begin; unit < end; unit++) {
        union sums maxima, sums;
        accumulate(reduce, unit, 0, reduce->iterator.reduced, &maxima);
        size_t width = unit_width(&reduce->iterator, unit);
        accumulate_exp(reduce, unit, maxima.floats, sums.doubles);
        for (size_t j = 0; j < width; j++) { // of an infinite maximum the sum is NaN
            double maximum = (double)maxima.floats[j];
            sums.doubles[j] = isinf(maximum) ? maximum : maximum + log(sums.doubles[j]);
        }
        finish(reduce, unit_offset(&reduce->iterator, unit), width, &sums);
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reduce
static void run_reduce(const struct kernel_call *call)
{
    struct reduce reduce = {
        .in = &call->in[0],
        .out = &call->out[0],
        .reduction = reductions[call->node->op],
        .size = wnn_dtype_bits(call->in[0].type) / 8,
        .parts = 1,
    };
    const struct reduction_iterator *iterator = &reduce.iterator;
    bool exponentials = reduce.reduction->kind == EXPONENTIALS;
    wnn_iterator_init(&reduce.iterator, &call->in[0].shape, wnn_node_reduction_axes(call->node).mask, NULL);
    reduce.iterator.interrupt = call->parallel->interrupt;
    bool extreme = reduce.reduction->kind == MAXIMUM || reduce.reduction->kind == MINIMUM;
    reduce.half_runs = reduce.in->type == WNNDataType_Float16 && !extreme;
    reduce.half = reduce.half_runs && (reduce.reduction->kind == PRODUCT || exponentials);
    reduce.reducer = exponentials ? find_reducer(WNNDataType_Float32, MAXIMUM)
                                  : find_reducer(reduce.in->type, reduce.reduction->kind);
    size_t units = iterator->units, most = reduce.in->count / 16384;
    bool runs = iterator->columns == 1 && iterator->kept.rank <= 1 && iterator->outer.rank == 0;
    if (!exponentials && units > 0 && units <= SLOTS / 2) {
        reduce.parts = SLOTS / units < iterator->reduced ? SLOTS / units : iterator->reduced;
        reduce.parts = reduce.parts < most / units ? reduce.parts : most / units;
    }
    if (reduce.parts > 1)
        reduce_in_parts(&reduce, call->parallel);
    else
        wnn_parallel_for(call->parallel, units, wnn_iterator_grain(iterator),
                         exponentials ? reduce_log_sum_exp
                         : runs       ? reduce_runs
                                      : reduce_units,
                         &reduce);
}

const struct kernel wnn_cpu_reduction = {.run = run_reduce, .in_place = 1};
