// SPDX-License-Identifier: Apache-2.0
//
// The ten reductions: a function of each element, sum, product, maximum or minimum of these, and a function
// of the result. Sums and products of floats are accumulated in double; integers in their own type, modulo
// its range.
#include "cpu/vmath.h"
#include "cpu/walk.h"

#include <math.h>

enum map {
    MAP_NONE,
    MAP_ABS,
    MAP_SQUARE,
    MAP_EXP
};
enum fold {
    FOLD_SUM,
    FOLD_PRODUCT,
    FOLD_MAX,
    FOLD_MIN
};
enum finish {
    FINISH_NONE,
    FINISH_SQRT,
    FINISH_LOG,
    FINISH_MEAN,
    FINISH_LOG_SUM_EXP
};

struct reduction {
    enum map map;
    enum fold fold;
    enum finish finish;
};

static const struct reduction *find_reduction(uint16_t op)
{
    static const struct reduction reductions[WNN_OP_COUNT] = {
        [WNN_OP_reduceL1] = {MAP_ABS, FOLD_SUM, FINISH_NONE},
        [WNN_OP_reduceL2] = {MAP_SQUARE, FOLD_SUM, FINISH_SQRT},
        [WNN_OP_reduceLogSum] = {MAP_NONE, FOLD_SUM, FINISH_LOG},
        [WNN_OP_reduceLogSumExp] = {MAP_EXP, FOLD_SUM, FINISH_LOG_SUM_EXP},
        [WNN_OP_reduceMax] = {MAP_NONE, FOLD_MAX, FINISH_NONE},
        [WNN_OP_reduceMean] = {MAP_NONE, FOLD_SUM, FINISH_MEAN},
        [WNN_OP_reduceMin] = {MAP_NONE, FOLD_MIN, FINISH_NONE},
        [WNN_OP_reduceProduct] = {MAP_NONE, FOLD_PRODUCT, FINISH_NONE},
        [WNN_OP_reduceSum] = {MAP_NONE, FOLD_SUM, FINISH_NONE},
        [WNN_OP_reduceSumSquare] = {MAP_SQUARE, FOLD_SUM, FINISH_NONE},
    };
    return &reductions[op];
}

enum {
    ROW_LANES = 64, // into which a unit of few columns is accumulated, at most
    SLOTS = 16      // partial results of units that threads share
};

// What a unit is accumulated in: one item a column, of a type that depends on the fold.
union sums {
    double doubles[WNN_WALK_WIDTH];
    float floats[WNN_WALK_WIDTH];
    uint64_t integers[WNN_WALK_WIDTH];
};

struct reduce {
    const struct tensor *in, *out;
    const struct reduction *reduction;
    size_t parts;        // of a unit, the number of which depends on the shape alone
    union sums *partial; // [units, parts], if there is more than one part
    struct walk walk;
};

// The number of sums that a unit of few columns is accumulated in: lane j has elements j, j + lanes, ...
WNN_INLINE size_t count_lanes(const struct walk *walk, size_t width, size_t rows)
{
    size_t lanes = width;
    while (width == walk->columns && lanes * 2 <= ROW_LANES && lanes * 8 <= rows * width)
        lanes *= 2;
    return lanes;
}

// sums[j] becomes the fold of itself and values[r * stride + j] for all rows r. Several rows at a time keep
// the sums in registers.
#define DEFINE_ROWS(name, Sum, Type, step, GROUP)                                                            \
    WNN_INLINE void name(Sum *restrict sums, size_t width, const Type *restrict values, size_t rows,         \
                         size_t stride)                                                                      \
    {                                                                                                        \
        for (; GROUP == 4 && rows >= 4; rows -= 4, values += 4 * stride) {                                   \
            const Type *v1 = values + stride, *v2 = v1 + stride, *v3 = v2 + stride;                          \
            for (size_t j = 0; j < width; j++)                                                               \
                sums[j] = step(step(step(step(sums[j], values[j]), v1[j]), v2[j]), v3[j]);                   \
        }                                                                                                    \
        for (; GROUP == 2 && rows >= 2; rows -= 2, values += 2 * stride) {                                   \
            const Type *v1 = values + stride;                                                                \
            for (size_t j = 0; j < width; j++)                                                               \
                sums[j] = step(step(sums[j], values[j]), v1[j]);                                             \
        }                                                                                                    \
        for (; rows > 0; rows--, values += stride) {                                                         \
            for (size_t j = 0; j < width; j++)                                                               \
                sums[j] = step(sums[j], values[j]);                                                          \
        }                                                                                                    \
    }

// `name` accumulates rows [first, first + count) of a unit, name_join adds the sums of another part. MAPPED
// is of an element x, FOLDED of a sum a and a mapped element or another sum x.
#define DEFINE_FOLD(name, Sum, Type, NEUTRAL, MAPPED, FOLDED)                                                \
    DEFINE_FOLD_IN(4, name, Sum, Type, NEUTRAL, MAPPED, FOLDED)
#define DEFINE_FOLD_IN(GROUP, name, Sum, Type, NEUTRAL, MAPPED, FOLDED)                                      \
    WNN_INLINE Sum name##_both(Sum a, Sum x)                                                                 \
    {                                                                                                        \
        return (Sum)(FOLDED);                                                                                \
    }                                                                                                        \
    WNN_INLINE Sum name##_step(Sum a, Type element)                                                          \
    {                                                                                                        \
        Sum x = (Sum)element;                                                                                \
        return name##_both(a, (Sum)(MAPPED));                                                                \
    }                                                                                                        \
    DEFINE_ROWS(name##_rows, Sum, Type, name##_step, GROUP)                                                  \
    DEFINE_ROWS(name##_sums, Sum, Sum, name##_both, GROUP)                                                   \
    WNN_INLINE void name(const struct reduce *reduce, size_t unit, size_t first, size_t count,               \
                         union sums *result)                                                                 \
    {                                                                                                        \
        const struct walk *walk = &reduce->walk;                                                             \
        Sum *sums = (Sum *)(void *)result;                                                                   \
        bool half = reduce->in->type == WNNDataType_Float16;                                                 \
        struct piece piece;                                                                                  \
        wnn_walk_start_rows(&piece, walk, unit, first, count);                                               \
        piece.in_place = !half;                                                                              \
        size_t width = piece.width, lanes = count_lanes(walk, width, walk->rows);                            \
        for (size_t j = 0; j < lanes; j++)                                                                   \
            sums[j] = NEUTRAL;                                                                               \
        while (wnn_walk_next(&piece)) {                                                                      \
            float floats[WNN_PIECE];                                                                         \
            const Type *values = (const Type *)reduce->in->data + piece.offset;                              \
            size_t stride = walk->columns, rows = piece.rows, elements = rows * width;                       \
            if (half) {                                                                                      \
                wnn_half_to_float_array((const uint16_t *)reduce->in->data + piece.offset, floats,           \
                                        elements);                                                           \
                values = (const Type *)(const void *)floats;                                                 \
                stride = width;                                                                              \
            }                                                                                                \
            if (lanes == width) {                                                                            \
                name##_rows(sums, width, values, rows, stride);                                              \
                continue;                                                                                    \
            }                                                                                                \
            size_t whole = elements / lanes, rest = elements - whole * lanes;                                \
            if (lanes == ROW_LANES)                                                                          \
                name##_rows(sums, ROW_LANES, values, whole, ROW_LANES);                                      \
            else                                                                                             \
                name##_rows(sums, lanes, values, whole, lanes);                                              \
            name##_rows(sums, rest, values + whole * lanes, 1, 0);                                           \
        }                                                                                                    \
        for (; lanes > width; lanes /= 2)                                                                    \
            name##_sums(sums, lanes / 2, sums + lanes / 2, 1, 0);                                            \
    }                                                                                                        \
    static void name##_join(union sums *sums, const union sums *more, size_t width)                          \
    {                                                                                                        \
        name##_sums((Sum *)(void *)sums, width, (const Sum *)(const void *)more, 1, 0);                      \
    }

// -0 + x is x, -0 too.
DEFINE_FOLD(sum_float, double, float, -0.0, x, a + x)
DEFINE_FOLD(sum_abs_float, double, float, -0.0, fabs(x), a + x)
DEFINE_FOLD(sum_square_float, double, float, -0.0, x *x, a + x)
DEFINE_FOLD(product_float, double, float, 1.0, x, a *x)
// A NaN stays. Of more conditions in a row gcc makes branches.
DEFINE_FOLD_IN(2, max_float, float, float, -INFINITY, x, ((x > a) | (x != x)) ? x : a)
DEFINE_FOLD_IN(2, min_float, float, float, INFINITY, x, ((x < a) | (x != x)) ? x : a)

DEFINE_FOLD(sum_32, uint32_t, uint32_t, 0, x, a + x)
DEFINE_FOLD(sum_abs_32, uint32_t, uint32_t, 0, x >> 31 ? 0 - x : x, a + x)
DEFINE_FOLD(sum_square_32, uint32_t, uint32_t, 0, x *x, a + x)
DEFINE_FOLD(product_32, uint32_t, uint32_t, 1, x, a *x)
DEFINE_FOLD(sum_64, uint64_t, uint64_t, 0, x, a + x)
DEFINE_FOLD(sum_abs_64, uint64_t, uint64_t, 0, x >> 63 ? 0 - x : x, a + x)
DEFINE_FOLD(sum_square_64, uint64_t, uint64_t, 0, x *x, a + x)
DEFINE_FOLD(product_64, uint64_t, uint64_t, 1, x, a *x)

#define DEFINE_EXTREMES(type, Type, LEAST, GREATEST)                                                         \
    DEFINE_FOLD(max_##type, Type, Type, LEAST, x, x > a ? x : a)                                             \
    DEFINE_FOLD(min_##type, Type, Type, GREATEST, x, x < a ? x : a)

DEFINE_EXTREMES(i8, int8_t, INT8_MIN, INT8_MAX)
DEFINE_EXTREMES(u8, uint8_t, 0, UINT8_MAX)
DEFINE_EXTREMES(i32, int32_t, INT32_MIN, INT32_MAX)
DEFINE_EXTREMES(u32, uint32_t, 0, UINT32_MAX)
DEFINE_EXTREMES(i64, int64_t, INT64_MIN, INT64_MAX)
DEFINE_EXTREMES(u64, uint64_t, 0, UINT64_MAX)

// Every combination of map and fold with a data type.
#define EXTREMES(X, name, lower)                                                                             \
    X(FOLD_MAX, MAP_NONE, name, max_##lower)                                                                 \
    X(FOLD_MIN, MAP_NONE, name, min_##lower)
#define SUMS(X, name, bits)                                                                                  \
    X(FOLD_SUM, MAP_NONE, name, sum_##bits)                                                                  \
    X(FOLD_SUM, MAP_SQUARE, name, sum_square_##bits)                                                         \
    X(FOLD_PRODUCT, MAP_NONE, name, product_##bits)
#define ALL_FOLDS(X)                                                                                         \
    SUMS(X, Float32, float)                                                                                  \
    X(FOLD_SUM, MAP_ABS, Float32, sum_abs_float)                                                             \
    EXTREMES(X, Float32, float)                                                                              \
    SUMS(X, Int32, 32)                                                                                       \
    X(FOLD_SUM, MAP_ABS, Int32, sum_abs_32)                                                                  \
    EXTREMES(X, Int32, i32)                                                                                  \
    SUMS(X, Int64, 64)                                                                                       \
    X(FOLD_SUM, MAP_ABS, Int64, sum_abs_64)                                                                  \
    EXTREMES(X, Int64, i64)                                                                                  \
    EXTREMES(X, Uint32, u32)                                                                                 \
    EXTREMES(X, Uint64, u64)                                                                                 \
    EXTREMES(X, Int8, i8)                                                                                    \
    EXTREMES(X, Uint8, u8)

#define KEY(fold, map, type) ((((unsigned)(fold)*8u) + (unsigned)(map)) * 16u + (unsigned)(type))
_Static_assert(WNN_DATA_TYPE_COUNT <= 16 && MAP_EXP < 8, "the parts of a key");

// float16 is folded as float32, and unsigned integers as signed ones where it makes no difference.
WNN_INLINE unsigned fold_key(const struct reduce *reduce)
{
    enum fold fold = reduce->reduction->fold;
    enum map map = reduce->reduction->map;
    WNNDataType type = reduce->in->type;
    if (type == WNNDataType_Float16)
        type = WNNDataType_Float32;
    if (fold == FOLD_SUM || fold == FOLD_PRODUCT) {
        if (map == MAP_ABS && !wnn_dtype_is_signed(type) && !wnn_dtype_is_float(type))
            map = MAP_NONE;
        if (type == WNNDataType_Uint32)
            type = WNNDataType_Int32;
        if (type == WNNDataType_Uint64)
            type = WNNDataType_Int64;
    }
    return KEY(fold, map, type);
}

WNN_INLINE void accumulate(const struct reduce *reduce, unsigned key, size_t unit, size_t first, size_t count,
                           union sums *sums)
{
    switch (key) {
#define CASE(fold, map, type, name)                                                                          \
    case KEY(fold, map, WNNDataType_##type):                                                                 \
        name(reduce, unit, first, count, sums);                                                              \
        break;
        ALL_FOLDS(CASE)
#undef CASE
    default:
        break;
    }
}

static void join(unsigned key, union sums *sums, const union sums *more, size_t width)
{
    switch (key) {
#define CASE(fold, map, type, name)                                                                          \
    case KEY(fold, map, WNNDataType_##type):                                                                 \
        name##_join(sums, more, width);                                                                      \
        break;
        ALL_FOLDS(CASE)
#undef CASE
    default:
        break;
    }
}

// The sum of exp(x - maximum) of each column.
static void accumulate_exp(const struct reduce *reduce, size_t unit, const float *maxima, double *sums)
{
    double values[WNN_PIECE];
    struct piece piece;
    wnn_walk_start(&piece, &reduce->walk, unit);
    for (size_t j = 0; j < piece.width; j++)
        sums[j] = -0.0;
    while (wnn_walk_next(&piece)) {
        size_t count = piece.rows * piece.width, width = piece.width;
        wnn_load_doubles(reduce->in, piece.offset, count, values);
        for (size_t i = 0; i < count; i += width) {
            for (size_t j = 0; j < width; j++)
                values[i + j] -= (double)maxima[j];
        }
        wnn_vmath_doubles(VMATH_EXP, values, count);
        for (size_t i = 0; i < count; i += width) {
            for (size_t j = 0; j < width; j++)
                sums[j] += values[i + j];
        }
    }
}

// Takes and stores what has been accumulated for a whole unit.
static void finish_unit(const struct reduce *reduce, size_t unit, union sums *sums)
{
    const struct tensor *out = reduce->out;
    size_t columns = reduce->walk.columns, column = unit % reduce->walk.blocks * WNN_WALK_WIDTH;
    size_t offset = unit / reduce->walk.blocks * columns + column;
    size_t width = columns - column < WNN_WALK_WIDTH ? columns - column : WNN_WALK_WIDTH;
    enum fold fold = reduce->reduction->fold;
    if (!wnn_dtype_is_float(out->type)) {
        size_t size = wnn_dtype_bits(out->type) / 8;
        memcpy((char *)out->data + offset * size, sums, width * size);
        return;
    }
    if (fold == FOLD_MAX || fold == FOLD_MIN) {
        if (out->type == WNNDataType_Float32)
            memcpy((float *)out->data + offset, sums->floats, width * sizeof(float));
        else
            wnn_half_from_float_array(sums->floats, (uint16_t *)out->data + offset, width);
        return;
    }
    double *values = sums->doubles;
    for (size_t j = 0; j < width; j++) {
        double value = values[j];
        switch (reduce->reduction->finish) {
        case FINISH_NONE:
        case FINISH_LOG_SUM_EXP:
            break;
        case FINISH_SQRT:
            value = sqrt(value);
            break;
        case FINISH_LOG:
            value = log(value);
            break;
        case FINISH_MEAN:
            value /= (double)reduce->walk.reduced;
            break;
        }
        values[j] = value;
    }
    wnn_store_doubles(values, out, offset, width);
}

static void reduce_units(void *argument, size_t begin, size_t end)
{
    const struct reduce *reduce = argument;
    unsigned key = fold_key(reduce);
    for (size_t unit = begin; unit < end; unit++) {
        union sums sums;
        accumulate(reduce, key, unit, 0, reduce->walk.reduced, &sums);
        finish_unit(reduce, unit, &sums);
    }
}
WNN_VARIANTS(reduce_units)

static void reduce_parts(void *argument, size_t begin, size_t end)
{
    const struct reduce *reduce = argument;
    unsigned key = fold_key(reduce);
    for (size_t slot = begin; slot < end; slot++) {
        size_t part = slot % reduce->parts, length = reduce->walk.reduced / reduce->parts;
        size_t first = part * length;
        size_t count = part + 1 < reduce->parts ? length : reduce->walk.reduced - first;
        accumulate(reduce, key, slot / reduce->parts, first, count, &reduce->partial[slot]);
    }
}
WNN_VARIANTS(reduce_parts)

static void reduce_log_sum_exp(void *argument, size_t begin, size_t end)
{
    const struct reduce *reduce = argument;
    for (size_t unit = begin; unit < end; unit++) {
        union sums maxima, sums;
        max_float(reduce, unit, 0, reduce->walk.reduced, &maxima);
        size_t width = reduce->walk.columns - unit % reduce->walk.blocks * WNN_WALK_WIDTH;
        width = width < WNN_WALK_WIDTH ? width : WNN_WALK_WIDTH;
        for (size_t j = 0; j < width; j++) {
            if (isinf(maxima.floats[j])) // would give a NaN; exp and log do without
                maxima.floats[j] = 0;
        }
        accumulate_exp(reduce, unit, maxima.floats, sums.doubles);
        for (size_t j = 0; j < width; j++)
            sums.doubles[j] = (double)maxima.floats[j] + log(sums.doubles[j]);
        finish_unit(reduce, unit, &sums);
    }
}
WNN_VARIANTS(reduce_log_sum_exp)

// Units that are too few for many threads are cut into parts.
static void reduce_in_parts(struct reduce *reduce, const struct parallel *parallel)
{
    union sums partial[SLOTS];
    size_t units = reduce->walk.units;
    unsigned key = fold_key(reduce);
    reduce->partial = partial;
    wnn_parallel_for(parallel, units * reduce->parts, 1, WNN_BEST(reduce_parts), reduce);
    for (size_t unit = 0; unit < units; unit++) {
        size_t column = unit % reduce->walk.blocks * WNN_WALK_WIDTH, width = reduce->walk.columns - column;
        union sums *first = &partial[unit * reduce->parts];
        for (size_t part = 1; part < reduce->parts; part++)
            join(key, first, &first[part], width < WNN_WALK_WIDTH ? width : WNN_WALK_WIDTH);
        finish_unit(reduce, unit, first);
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reduce
void wnn_cpu_reduce(const struct kernel_call *call)
{
    const WNNReduceOptions *options = call->node->attrs;
    struct reduce reduce = {
        .in = &call->in[0], .out = &call->out[0], .reduction = find_reduction(call->node->op), .parts = 1};
    uint32_t mask = 0;
    for (size_t i = 0; i < options->axes.count; i++)
        mask |= 1u << options->axes.data[i];
    wnn_walk_init(&reduce.walk, &call->in[0].shape, mask, NULL);
    size_t units = reduce.walk.units, most = reduce.in->count / 16384;
    if (reduce.reduction->map == MAP_EXP) {
        wnn_parallel_for(call->parallel, units, wnn_walk_grain(&reduce.walk), WNN_BEST(reduce_log_sum_exp),
                         &reduce);
        return;
    }
    if (units > 0 && units <= SLOTS / 2) {
        reduce.parts = SLOTS / units < reduce.walk.reduced ? SLOTS / units : reduce.walk.reduced;
        reduce.parts = reduce.parts < most / units ? reduce.parts : most / units;
    }
    if (reduce.parts > 1)
        reduce_in_parts(&reduce, call->parallel);
    else
        wnn_parallel_for(call->parallel, units, wnn_walk_grain(&reduce.walk), WNN_BEST(reduce_units),
                         &reduce);
}
