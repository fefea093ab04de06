// SPDX-License-Identifier: Apache-2.0
//
// The ten reductions: a function of each element, sum, product or maximum of these, and a function of the
// result. Floats are accumulated in double, integers modulo 2^64.
#include "cpu/vmath.h"
#include "cpu/walk.h"

#include <math.h>

enum map {
    MAP_NONE,
    MAP_ABS,
    MAP_SQUARE,
    MAP_NEGATE,
    MAP_EXP
};
enum fold {
    FOLD_SUM,
    FOLD_PRODUCT,
    FOLD_MAX
};
enum finish {
    FINISH_NONE,
    FINISH_SQRT,
    FINISH_LOG,
    FINISH_MEAN,
    FINISH_NEGATE,
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
        [WNN_OP_reduceMin] = {MAP_NEGATE, FOLD_MAX, FINISH_NEGATE},
        [WNN_OP_reduceProduct] = {MAP_NONE, FOLD_PRODUCT, FINISH_NONE},
        [WNN_OP_reduceSum] = {MAP_NONE, FOLD_SUM, FINISH_NONE},
        [WNN_OP_reduceSumSquare] = {MAP_SQUARE, FOLD_SUM, FINISH_NONE},
    };
    return &reductions[op];
}

// A unit of one column is accumulated in as many lanes, which are put together in the end.
enum {
    LANES = 32 // more than gcc unrolls to scalar code
};

// Lane j accumulates values j, j + lanes, j + 2 lanes, ... EXPRESSION is of an accumulator `a` and a value
// `x`.
#define DEFINE_FOLD(name, type, EXPRESSION)                                                                  \
    static inline __attribute__((always_inline)) void name##_lanes(type *sums, size_t lanes,                 \
                                                                   const type *values, size_t count)         \
    {                                                                                                        \
        size_t i = 0;                                                                                        \
        for (; i + lanes <= count; i += lanes) {                                                             \
            for (size_t j = 0; j < lanes; j++) {                                                             \
                type a = sums[j], x = values[i + j];                                                         \
                sums[j] = (type)(EXPRESSION);                                                                \
            }                                                                                                \
        }                                                                                                    \
        for (size_t j = 0; i + j < count; j++) {                                                             \
            type a = sums[j], x = values[i + j];                                                             \
            sums[j] = (type)(EXPRESSION);                                                                    \
        }                                                                                                    \
    }                                                                                                        \
    static void name(type *sums, size_t lanes, const type *values, size_t count)                             \
    {                                                                                                        \
        if (lanes == LANES)                                                                                  \
            name##_lanes(sums, LANES, values, count);                                                        \
        else if (lanes == 1)                                                                                 \
            name##_lanes(sums, 1, values, count);                                                            \
        else                                                                                                 \
            name##_lanes(sums, lanes, values, count);                                                        \
    }

DEFINE_FOLD(sum_doubles, double, a + x)
DEFINE_FOLD(multiply_doubles, double, a *x)
DEFINE_FOLD(max_doubles, double, a >= x ? a : a != a ? a : x) // the first NaN stays
DEFINE_FOLD(sum_integers, int64_t, (uint64_t)a + (uint64_t)x)
DEFINE_FOLD(multiply_integers, int64_t, (uint64_t)a *(uint64_t)x)
DEFINE_FOLD(max_integers, int64_t, x > a ? x : a)

static void fold_doubles(enum fold fold, double *sums, size_t lanes, const double *values, size_t count)
{
    switch (fold) {
    case FOLD_SUM:
        sum_doubles(sums, lanes, values, count);
        break;
    case FOLD_PRODUCT:
        multiply_doubles(sums, lanes, values, count);
        break;
    case FOLD_MAX:
        max_doubles(sums, lanes, values, count);
        break;
    }
}

static void fold_integers(enum fold fold, int64_t *sums, size_t lanes, const int64_t *values, size_t count)
{
    switch (fold) {
    case FOLD_SUM:
        sum_integers(sums, lanes, values, count);
        break;
    case FOLD_PRODUCT:
        multiply_integers(sums, lanes, values, count);
        break;
    case FOLD_MAX:
        max_integers(sums, lanes, values, count);
        break;
    }
}

// `maxima` has one item a column and is read by MAP_EXP only.
static void map_doubles(enum map map, double *values, size_t count, const double *maxima, size_t width)
{
    switch (map) {
    case MAP_NONE:
        break;
    case MAP_ABS:
        for (size_t i = 0; i < count; i++)
            values[i] = fabs(values[i]);
        break;
    case MAP_SQUARE:
        for (size_t i = 0; i < count; i++)
            values[i] *= values[i];
        break;
    case MAP_NEGATE:
        for (size_t i = 0; i < count; i++)
            values[i] = -values[i];
        break;
    case MAP_EXP:
        for (size_t i = 0; i < count; i += width) {
            for (size_t j = 0; j < width; j++)
                values[i + j] -= maxima[j];
        }
        wnn_vmath_doubles(VMATH_EXP, values, count);
        break;
    }
}

// What comes before the values of uint64_t in the order of int64_t, and back.
static int64_t flip(int64_t value)
{
    return (int64_t)((uint64_t)value ^ 1ull << 63);
}

static void map_integers(enum map map, enum fold fold, WNNDataType type, int64_t *values, size_t count)
{
    if (fold == FOLD_MAX && type == WNNDataType_Uint64) {
        for (size_t i = 0; i < count; i++)
            values[i] = flip(values[i]);
    }
    if (map == MAP_ABS && wnn_dtype_is_signed(type)) {
        for (size_t i = 0; i < count; i++)
            values[i] = values[i] < 0 ? (int64_t)(0 - (uint64_t)values[i]) : values[i];
    } else if (map == MAP_SQUARE) {
        for (size_t i = 0; i < count; i++)
            values[i] = (int64_t)((uint64_t)values[i] * (uint64_t)values[i]);
    } else if (map == MAP_NEGATE) { // turns the order around without overflow
        for (size_t i = 0; i < count; i++)
            values[i] = ~values[i];
    }
}

// Accumulates a whole unit: one value a column in sums, which has room for WNN_WALK_WIDTH.
static void accumulate_doubles(const struct tensor *in, const struct walk *walk, size_t unit, enum map map,
                               enum fold fold, const double *maxima, double *sums)
{
    // -0 + x is x, -0 too.
    double neutral = fold == FOLD_SUM ? -0.0 : fold == FOLD_PRODUCT ? 1.0 : -INFINITY, values[WNN_PIECE];
    struct piece piece;
    wnn_walk_start(&piece, walk, unit);
    size_t lanes = piece.width == 1 ? LANES : piece.width;
    for (size_t j = 0; j < lanes; j++)
        sums[j] = neutral;
    while (wnn_walk_next(&piece)) {
        size_t count = piece.rows * piece.width;
        wnn_load_doubles(in, piece.offset, count, values);
        map_doubles(map, values, count, maxima, piece.width);
        fold_doubles(fold, sums, lanes, values, count);
    }
    for (lanes /= 2; piece.width == 1 && lanes > 0; lanes /= 2)
        fold_doubles(fold, sums, lanes, sums + lanes, lanes);
}

static void reduce_floats(const struct tensor *in, const struct tensor *out, const struct walk *walk,
                          size_t unit, const struct reduction *reduction)
{
    double sums[WNN_WALK_WIDTH], maxima[WNN_WALK_WIDTH];
    struct piece piece;
    wnn_walk_start(&piece, walk, unit);
    if (reduction->finish == FINISH_LOG_SUM_EXP) {
        accumulate_doubles(in, walk, unit, MAP_NONE, FOLD_MAX, NULL, maxima);
        for (size_t j = 0; j < piece.width; j++) {
            if (isinf(maxima[j])) // would give a NaN; exp and log do without
                maxima[j] = 0;
        }
    }
    accumulate_doubles(in, walk, unit, reduction->map, reduction->fold, maxima, sums);
    for (size_t j = 0; j < piece.width; j++) {
        double value = sums[j];
        switch (reduction->finish) {
        case FINISH_NONE:
            break;
        case FINISH_SQRT:
            value = sqrt(value);
            break;
        case FINISH_LOG:
            value = log(value);
            break;
        case FINISH_MEAN:
            value /= (double)walk->reduced;
            break;
        case FINISH_NEGATE:
            value = -value;
            break;
        case FINISH_LOG_SUM_EXP:
            value = maxima[j] + log(value);
            break;
        }
        sums[j] = value;
    }
    wnn_store_doubles(sums, out, piece.output, piece.width);
}

static void reduce_integers(const struct tensor *in, const struct tensor *out, const struct walk *walk,
                            size_t unit, const struct reduction *reduction)
{
    enum fold fold = reduction->fold;
    int64_t neutral = fold == FOLD_SUM ? 0 : fold == FOLD_PRODUCT ? 1 : INT64_MIN;
    int64_t sums[WNN_WALK_WIDTH], values[WNN_PIECE];
    struct piece piece;
    wnn_walk_start(&piece, walk, unit);
    size_t lanes = piece.width == 1 ? LANES : piece.width;
    for (size_t j = 0; j < lanes; j++)
        sums[j] = neutral;
    while (wnn_walk_next(&piece)) {
        size_t count = piece.rows * piece.width;
        wnn_load_integers(in, piece.offset, count, values);
        map_integers(reduction->map, fold, in->type, values, count);
        fold_integers(fold, sums, lanes, values, count);
    }
    for (lanes /= 2; piece.width == 1 && lanes > 0; lanes /= 2)
        fold_integers(fold, sums, lanes, sums + lanes, lanes);
    for (size_t j = 0; j < piece.width; j++) {
        if (reduction->finish == FINISH_NEGATE)
            sums[j] = ~sums[j];
        if (fold == FOLD_MAX && in->type == WNNDataType_Uint64)
            sums[j] = flip(sums[j]);
    }
    wnn_store_integers(sums, out, piece.output, piece.width);
}

struct reduce {
    const struct tensor *in, *out;
    const struct reduction *reduction;
    struct walk walk;
};

static void reduce_units(void *argument, size_t begin, size_t end)
{
    const struct reduce *reduce = argument;
    bool floats = wnn_dtype_is_float(reduce->in->type);
    for (size_t unit = begin; unit < end; unit++)
        (floats ? reduce_floats : reduce_integers)(reduce->in, reduce->out, &reduce->walk, unit,
                                                   reduce->reduction);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reduce
void wnn_cpu_reduce(const struct kernel_call *call)
{
    const WNNReduceOptions *options = call->node->attrs;
    struct reduce reduce = {&call->in[0], &call->out[0], find_reduction(call->node->op), {0}};
    uint32_t mask = 0;
    for (size_t i = 0; i < options->axes.count; i++)
        mask |= 1u << options->axes.data[i];
    wnn_walk_init(&reduce.walk, &call->in[0].shape, mask, NULL);
    wnn_parallel_for(call->parallel, reduce.walk.units, wnn_walk_grain(&reduce.walk), reduce_units, &reduce);
}
