// SPDX-License-Identifier: Apache-2.0
//
// averagePool2d, l2Pool2d and maxPool2d. Windows are intersected with the input; a window outside of it gives
// 0, or for the maximum the lowest value of the type.

#include "cpu/kernel.h"
#include "cpu/variants.h"

#include <math.h>

#define WNN_POOL_SPAN  1024 // elements of a line that are worked on at a time
#define WNN_POOL_SLACK 64   // and those behind them that do not count

struct pool {
    const struct loops *loops;
    const char *input;
    char *output;
    size_t element;                                                 // bytes
    bool half;                                                      // float16 that is folded as float32
    int64_t size[2], window[2], stride[2], dilation[2], padding[2]; // height, width
    size_t out[2];
    // One line is a run of `run` elements that are pooled in the same way: the channels of a pixel, or one
    // element.
    size_t lines, run;
    size_t in_line, in_y, in_x;
    size_t out_line, out_y, out_x;
    // How many elements of a run, and how many windows beside one another, are pooled together.
    size_t block, positions;
    int64_t span; // of a window along the width
};

// The taps of a window along one axis that lie inside of the input: [*begin, *end), and the coordinate of tap
// 0.
WNN_INLINE int64_t clip(const struct pool *pool, unsigned axis, size_t position, int64_t *begin, int64_t *end)
{
    int64_t first = (int64_t)position * pool->stride[axis] - pool->padding[axis], step = pool->dilation[axis];
    *begin = first < 0 ? -first : 0;
    *end = first < pool->size[axis] ? pool->size[axis] - first : 0;
    if (step > 1) {
        *begin = (*begin + step - 1) / step;
        *end = (*end + step - 1) / step;
    }
    if (*end > pool->window[axis])
        *end = pool->window[axis];
    if (*begin > *end)
        *begin = *end;
    return first;
}

// ---------------------------------------------------------------------------------------------------------------
// The loops over elements
// ---------------------------------------------------------------------------------------------------------------

// Inputs become sums, and these sums of more, and results. float16 is float32 here, but for maxima.
struct loops {
    size_t input, sum, result; // bytes

    // out[i] = the fold over t < taps of in[t * step + i], where `in` are inputs or sums, and of out[i] if
    // `more`.
    void (*inputs)(void *out, const void *in, size_t step, size_t taps, size_t count, bool more);
    void (*sums)(void *out, const void *in, size_t step, size_t taps, size_t count, bool more);

    // out[i] = the fold over t < taps of in[i * stride + t * step]: windows along a row of single elements.
    void (*windows)(void *out, const void *in, size_t step, size_t taps, size_t stride, size_t count);

    // Folds a run of sums and what is in `sum`.
    void (*run)(void *sum, const void *sums, size_t count);

    // (optional: sums are results) factors[i * step] is 1 / the number of elements of sum i; step is 0 or 1.
    void (*finish)(void *results, const void *sums, const double *factors, size_t step, size_t count);
};

// A maximum that a NaN never leaves again.
#define MAXIMUM_FLOAT(a, b)   ((((b) > (a)) | ((b) != (b))) ? (b) : (a))
#define MAXIMUM_INTEGER(a, b) ((b) > (a) ? (b) : (a))
#define AS_IT_IS(x)           (x)

// Sums are kept in float64: squares neither overflow nor vanish there.
#define ADD(a, b)   ((a) + (b))
#define WIDEN(x)    (double)(x)
#define SQUARE(x)   ((double)(x) * (double)(x))
#define TIMES(a, f) (float)((a) * (f))
#define ROOT(a, f)  (float)sqrt(a)

// Those of float16 in float32, where the squares fit, if there are not too many. factors are rounded.
#define HALF_TAPS        4096
#define SQUARE_HALF(x)   ((x) * (x))
#define TIMES_HALF(a, f) ((a) * (float)(f))
#define ROOT_HALF(a, f)  sqrtf(a)

#define KEY_OF_HALF(x) wnn_half_key(x, WNN_HALF_NAN_LAST)

#define RUN_LANES 32

#define SET(x) x
#define TARGET
#define INTEGERS 1
#include "cpu/pool_kernel.inc"

#if defined(__x86_64__)
#define SET(x)   x##_avx2
#define TARGET   WNN_AVX2
#define INTEGERS 1
#include "cpu/pool_kernel.inc"

#define SET(x)   x##_avx512
#define TARGET   WNN_AVX512
#define INTEGERS 0
#include "cpu/pool_kernel.inc"

#define BEST(x)       (__builtin_cpu_supports("avx2") ? &x##_avx2 : &x)
#define BEST_FLOAT(x) (wnn_has_avx512() ? &x##_avx512 : BEST(x))
#else
#define BEST(x)       (&x)
#define BEST_FLOAT(x) (&x)
#endif

static const struct loops *find_loops(enum op op, WNNDataType type, bool few)
{
    if (type == WNNDataType_Float16 && op == WNN_OP_maxPool2d)
        return BEST_FLOAT(max_half);
    if (type == WNNDataType_Float16 && few)
        return op == WNN_OP_averagePool2d ? BEST_FLOAT(average_half) : BEST_FLOAT(l2_half);
    if (op == WNN_OP_averagePool2d)
        return BEST_FLOAT(average);
    if (op == WNN_OP_l2Pool2d)
        return BEST_FLOAT(l2);
    switch (type) {
    case WNNDataType_Int32:
        return BEST(max_i32);
    case WNNDataType_Uint32:
        return BEST(max_u32);
    case WNNDataType_Int64:
        return BEST(max_i64);
    case WNNDataType_Uint64:
        return BEST(max_u64);
    case WNNDataType_Int8:
        return BEST(max_i8);
    case WNNDataType_Uint8:
        return BEST(max_u8);
    default:
        return BEST_FLOAT(max_float);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Windows
// ---------------------------------------------------------------------------------------------------------------

// Room for a line, of sums or, in float32, of inputs and results.
union line {
    double doubles[WNN_POOL_SPAN + WNN_POOL_SLACK];
    int64_t integers[WNN_POOL_SPAN + WNN_POOL_SLACK];
    float floats[WNN_POOL_SPAN + WNN_POOL_SLACK];
    char bytes[1];
};

// The fold of a column of windows: `taps` rows of the input, `step_y` elements apart, from `offset` on.
static void fold_rows(const struct pool *pool, size_t offset, size_t step_y, size_t taps, size_t count,
                      char *sums)
{
    const struct loops *loops = pool->loops;
    if (!pool->half || taps == 0) {
        loops->inputs(sums, pool->input + offset * pool->element, step_y, taps, count, false);
        return;
    }
    float floats[3 * WNN_POOL_SPAN];
    const uint16_t *halves = (const uint16_t *)(const void *)pool->input + offset;
    for (size_t t = 0, n; t < taps; t += n) {
        n = taps - t < 3 ? taps - t : 3;
        for (size_t i = 0; i < n; i++)
            wnn_half_to_float_array(halves + (t + i) * step_y, floats + i * WNN_POOL_SPAN, count);
        loops->inputs(sums, floats, WNN_POOL_SPAN, n, count, t > 0);
    }
}

// Results from element `to` of the output on. Sums that are results may have been put there already.
static void store(const struct pool *pool, const void *sums, const double *factors, size_t step, size_t to,
                  size_t count)
{
    const struct loops *loops = pool->loops;
    char *out = pool->output + to * pool->element;
    union line line;
    void *results = pool->half ? line.floats : (void *)out;
    if (loops->finish)
        loops->finish(results, sums, factors, step, count);
    if (pool->half)
        wnn_half_from_float_array(results, (uint16_t *)(void *)out, count);
    else if (!loops->finish && sums != out)
        memcpy(out, sums, count * pool->element);
}

// Where sums of results go: to the output itself, or to `line`.
static char *sums_of(const struct pool *pool, size_t to, union line *line)
{
    return pool->half || pool->loops->finish ? line->bytes : pool->output + to * pool->element;
}

// Windows that overlap or lie close to one another: rows are folded into one, with the padding around it, and
// this along itself.
static void pool_dense(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    const struct loops *loops = pool->loops;
    union line sums, results;
    double factors[WNN_POOL_SPAN];
    int64_t size = pool->size[1];
    loops->sums(sums.bytes, NULL, 0, 0, WNN_POOL_SPAN + WNN_POOL_SLACK, false);
    for (size_t channel = 0, block; channel < pool->run; channel += block) {
        block = pool->run - channel < pool->block ? pool->run - channel : pool->block;
        for (size_t x = 0, positions; x < pool->out[1]; x += positions) {
            positions = pool->out[1] - x < pool->positions ? pool->out[1] - x : pool->positions;
            // Input columns [first, first + length), of which [low, high) are inside.
            int64_t first = (int64_t)x * pool->stride[1] - pool->padding[1];
            int64_t length = (int64_t)(positions - 1) * pool->stride[1] + pool->span;
            int64_t low = first < 0 ? -first : 0, high = size - first < length ? size - first : length;
            low = low < length ? low : length;
            high = high > low ? high : low;
            size_t head = (size_t)low * block, inside = (size_t)(high - low), tail = (size_t)high * block;
            loops->sums(sums.bytes, NULL, 0, 0, head, false);
            loops->sums(sums.bytes + tail * loops->sum, NULL, 0, 0, (size_t)length * block - tail, false);
            int64_t height = -1;
            size_t line = begin / pool->out[0], y = begin % pool->out[0];
            for (size_t row = begin; row < end; row++) {
                int64_t top, bottom, left, right;
                int64_t first_y = clip(pool, 0, y, &top, &bottom);
                size_t step_y = (size_t)pool->dilation[0] * pool->in_y, taps = (size_t)(bottom - top);
                size_t offset = line * pool->in_line + channel;
                char *middle = sums.bytes + head * loops->sum;
                if (taps > 0)
                    offset += (size_t)(first_y + top * pool->dilation[0]) * pool->in_y;
                if (inside > 0)
                    offset += (size_t)(first + low) * pool->in_x;
                if (block == pool->run) {
                    fold_rows(pool, offset, step_y, taps, inside * block, middle);
                } else {
                    for (size_t i = 0; i < inside; i++)
                        fold_rows(pool, offset + i * pool->in_x, step_y, taps, block,
                                  middle + i * block * loops->sum);
                }
                if (bottom - top != height && loops->finish) {
                    height = bottom - top;
                    for (size_t i = 0; i < positions; i++) {
                        clip(pool, 1, x + i, &left, &right);
                        factors[i] = height * (right - left) > 0 ? 1 / (double)(height * (right - left)) : 0;
                    }
                }
                size_t to = line * pool->out_line + y * pool->out_y + x * pool->out_x + channel;
                size_t width = (size_t)pool->window[1], stride = (size_t)pool->stride[1] * block,
                       step = (size_t)pool->dilation[1] * block;
                if (pool->run == 1) {
                    // Whole vectors.
                    size_t count = stride <= WNN_POOL_SLACK / 16 ? (positions + 15) / 16 * 16 : positions;
                    loops->windows(results.bytes, sums.bytes, step, width, stride, count);
                    store(pool, results.bytes, factors, 1, to, positions);
                }
                for (size_t i = 0; pool->run > 1 && i < positions; i++) {
                    char *folded = sums_of(pool, to + i * pool->out_x, &results);
                    loops->sums(folded, sums.bytes + i * stride * loops->sum, step, width, block, false);
                    store(pool, folded, &factors[i], 0, to + i * pool->out_x, block);
                }
                if (++y == pool->out[0]) {
                    y = 0;
                    line++;
                }
            }
        }
    }
}

// Windows of any size, one after another.
static void pool_sparse(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    const struct loops *loops = pool->loops;
    union line sums, results;
    for (size_t row = begin; row < end; row++) {
        size_t line = row / pool->out[0], y = row % pool->out[0];
        int64_t top, bottom, left, right;
        int64_t first_y = clip(pool, 0, y, &top, &bottom);
        size_t step_y = (size_t)pool->dilation[0] * pool->in_y, height = (size_t)(bottom - top);
        for (size_t x = 0; x < pool->out[1]; x++) {
            int64_t first_x = clip(pool, 1, x, &left, &right);
            size_t step_x = (size_t)pool->dilation[1] * pool->in_x, width = (size_t)(right - left);
            size_t number = height * width;
            double factor = number > 0 ? 1 / (double)number : 0;
            for (size_t channel = 0, block; channel < pool->run; channel += block) {
                block = pool->run - channel < pool->block ? pool->run - channel : pool->block;
                size_t most = WNN_POOL_SPAN / block;
                size_t to = line * pool->out_line + y * pool->out_y + x * pool->out_x + channel;
                char *folded = sums_of(pool, to, &results);
                loops->sums(folded, NULL, 0, 0, block, false);
                for (size_t tap = 0, taps; number > 0 && tap < width; tap += taps) {
                    taps = width - tap < most ? width - tap : most;
                    size_t offset = line * pool->in_line + channel +
                                    (size_t)(first_y + top * pool->dilation[0]) * pool->in_y +
                                    (size_t)(first_x + left * pool->dilation[1]) * pool->in_x + tap * step_x;
                    if (step_x == block) {
                        fold_rows(pool, offset, step_y, height, taps * block, sums.bytes);
                    } else {
                        for (size_t t = 0; t < taps; t++)
                            fold_rows(pool, offset + t * step_x, step_y, height, block,
                                      sums.bytes + t * block * loops->sum);
                    }
                    if (block == 1)
                        loops->run(folded, sums.bytes, taps);
                    else
                        loops->sums(folded, sums.bytes, block, taps, block, true);
                }
                store(pool, folded, &factor, 0, to, block);
            }
        }
    }
}

void wnn_cpu_pool2d(const struct kernel_call *call)
{
    const WNNPool2dOptions *options = call->node->attrs;
    const uint32_t *in = call->in[0].shape.dim, *out = call->out[0].shape.dim;
    bool last = options->layout == WNNInputOperandLayout_NHWC;
    unsigned y = last ? 1 : 2, x = last ? 2 : 3;
    size_t channels = in[last ? 3 : 1];
    if (call->out[0].count == 0)
        return;

    struct pool pool = {
        .element = wnn_dtype_bits(call->in[0].type) / 8,
        .half = call->in[0].type == WNNDataType_Float16 && call->node->op != WNN_OP_maxPool2d,
        .input = call->in[0].data,
        .output = call->out[0].data,
        .lines = last ? in[0] : in[0] * channels,
        .run = last ? channels : 1,
    };
    for (unsigned axis = 0; axis < 2; axis++) {
        pool.size[axis] = in[y + axis];
        pool.out[axis] = out[y + axis];
        pool.window[axis] = options->windowDimensions.data[axis];
        pool.stride[axis] = options->strides.data[axis];
        pool.dilation[axis] = options->dilations.data[axis];
        pool.padding[axis] = options->padding.data[2 * axis];
    }
    pool.loops = find_loops((enum op)call->node->op, call->in[0].type,
                            pool.window[0] <= HALF_TAPS && pool.window[0] * pool.window[1] <= HALF_TAPS);
    pool.in_x = pool.out_x = pool.run;
    pool.in_y = in[x] * pool.in_x;
    pool.out_y = out[x] * pool.out_x;
    pool.in_line = in[y] * pool.in_y;
    pool.out_line = out[y] * pool.out_y;

    bool dense = pool.window[1] <= WNN_POOL_SPAN && pool.dilation[1] <= WNN_POOL_SPAN && pool.out[1] > 1;
    pool.span = dense ? (pool.window[1] - 1) * pool.dilation[1] + 1 : 0;
    dense &= pool.span <= WNN_POOL_SPAN / 4;
    if (dense) {
        // Long enough runs for vectors, and few columns that are folded for two blocks of windows.
        size_t whole =
            (size_t)pool.span + 3 * (size_t)(pool.stride[1] < pool.span ? pool.stride[1] : pool.span);
        pool.block = pool.run < 16 ? pool.run : WNN_POOL_SPAN / whole;
        pool.block = pool.block < pool.run ? pool.block : pool.run;
        if (pool.block > 16)
            pool.block -= pool.block < pool.run ? pool.block % 16 : 0;
        dense = pool.block >= (pool.run < 16 ? pool.run : 16);
    }
    if (dense) {
        size_t columns = WNN_POOL_SPAN / pool.block - (size_t)pool.span;
        pool.positions = 1 + columns / (size_t)pool.stride[1];
    } else {
        pool.block = pool.run < WNN_POOL_SPAN / 4 ? pool.run : WNN_POOL_SPAN / 4;
        // All of a plane that is contiguous is one row.
        if (pool.run == 1 && pool.out[0] == 1 && pool.out[1] == 1 && pool.padding[0] == 0 &&
            pool.padding[1] == 0 && pool.window[0] == pool.size[0] && pool.window[1] == pool.size[1] &&
            pool.dilation[0] == 1 && pool.dilation[1] == 1) {
            pool.size[1] = pool.window[1] = pool.size[0] * pool.size[1];
            pool.size[0] = pool.window[0] = 1;
            pool.in_y = in[y] * pool.in_y;
        }
    }

    size_t taps = (size_t)pool.window[0] * (size_t)pool.window[1];
    size_t work = pool.out_y * (taps < 16384 ? taps : 16384);
    wnn_parallel_for(call->parallel, pool.lines * pool.out[0], 1 + 8192 / (work + 1),
                     dense ? pool_dense : pool_sparse, &pool);
}
