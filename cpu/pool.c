// SPDX-License-Identifier: Apache-2.0
//
// averagePool2d, l2Pool2d and maxPool2d. Windows are intersected with the input; a window outside of it gives
// 0, or for the maximum the lowest value of the type.

#include "cpu/kernel.h"

#include <math.h>

#define CHUNK 256 // elements side by side

struct pool {
    enum op op;
    WNNDataType type;
    const void *input;
    void *output;
    int64_t size[2], window[2], stride[2], dilation[2], padding[2]; // height, width
    size_t out[2];
    // One line is a run of `run` elements that are pooled in the same way: the channels of a pixel, or one
    // element.
    size_t lines, run;
    size_t in_line, in_y, in_x;
    size_t out_line, out_y, out_x;
};

// The taps of a window along one axis that lie inside of the input: [*begin, *end), and the coordinate of tap
// 0.
static int64_t clip(const struct pool *pool, unsigned axis, size_t position, int64_t *begin, int64_t *end)
{
    int64_t first = (int64_t)position * pool->stride[axis] - pool->padding[axis], step = pool->dilation[axis];
    *begin = first < 0 ? (step - 1 - first) / step : 0;
    *end = first < pool->size[axis] ? (pool->size[axis] - 1 - first) / step + 1 : 0;
    if (*end > pool->window[axis])
        *end = pool->window[axis];
    if (*begin > *end)
        *begin = *end;
    return first;
}

// The clipped window of an output element.
struct window {
    size_t offset; // of its first element
    size_t height, width, step_y, step_x;
};

static struct window find_window(const struct pool *pool, size_t line, size_t y, size_t x)
{
    int64_t top, bottom, left, right;
    int64_t first_y = clip(pool, 0, y, &top, &bottom), first_x = clip(pool, 1, x, &left, &right);
    struct window window = {
        .height = (size_t)(bottom - top),
        .width = (size_t)(right - left),
        .step_y = (size_t)pool->dilation[0] * pool->in_y,
        .step_x = (size_t)pool->dilation[1] * pool->in_x,
    };
    if (window.height == 0 || window.width == 0)
        window.height = window.width = 0;
    else
        window.offset = line * pool->in_line + (size_t)(first_y + top * pool->dilation[0]) * pool->in_y +
                        (size_t)(first_x + left * pool->dilation[1]) * pool->in_x;
    return window;
}

// Sums are kept in float64: squares neither overflow nor vanish there.
static void sum_values(const struct pool *pool, const struct window *window, size_t first, size_t count,
                       double *sums)
{
    bool square = pool->op == WNN_OP_l2Pool2d;
    float values[CHUNK];

    for (size_t i = 0; i < count; i++)
        sums[i] = 0;
    for (size_t y = 0; y < window->height; y++) {
        for (size_t x = 0; x < window->width; x++) {
            size_t offset = window->offset + first + y * window->step_y + x * window->step_x;
            const float *from = (const float *)pool->input + offset;
            if (pool->type == WNNDataType_Float16) {
                const uint16_t *halves = (const uint16_t *)pool->input + offset;
                if (count == 1)
                    values[0] = wnn_half_to_float(*halves);
                else
                    wnn_half_to_float_array(halves, values, count);
                from = values;
            }
            if (square) {
                for (size_t i = 0; i < count; i++)
                    sums[i] += (double)from[i] * from[i];
            } else {
                for (size_t i = 0; i < count; i++)
                    sums[i] += from[i];
            }
        }
    }
    if (square) {
        for (size_t i = 0; i < count; i++)
            sums[i] = sqrt(sums[i]);
    } else if (window->height > 0) {
        double number = (double)(window->height * window->width);
        for (size_t i = 0; i < count; i++)
            sums[i] /= number;
    }
}

static void pool_sums(const struct pool *pool, const struct window *window, size_t to)
{
    double sums[CHUNK];
    float results[CHUNK];
    for (size_t first = 0; first < pool->run; first += CHUNK) {
        size_t count = pool->run - first < CHUNK ? pool->run - first : CHUNK;
        sum_values(pool, window, first, count, sums);
        for (size_t i = 0; i < count; i++)
            results[i] = (float)sums[i];
        if (pool->type == WNNDataType_Float32)
            memcpy((float *)pool->output + to + first, results, count * sizeof *results);
        else
            wnn_half_from_float_array(results, (uint16_t *)pool->output + to + first, count);
    }
}

// A maximum that a NaN never leaves again.
#define KEEPS_FLOAT(value, best)   ((value) > (best) || (value) != (value))
#define KEEPS_INTEGER(value, best) ((value) > (best))

#define DEFINE_MAXIMUM(name, type, lowest, KEEPS)                                                            \
    static void maximum_##name(const struct pool *pool, const struct window *window, size_t to)              \
    {                                                                                                        \
        type *best = (type *)pool->output + to;                                                              \
        const type *input = (const type *)pool->input + window->offset;                                      \
        for (size_t i = 0; i < pool->run; i++)                                                               \
            best[i] = lowest;                                                                                \
        for (size_t y = 0; y < window->height; y++) {                                                        \
            for (size_t x = 0; x < window->width; x++) {                                                     \
                const type *from = input + y * window->step_y + x * window->step_x;                          \
                for (size_t i = 0; i < pool->run; i++)                                                       \
                    best[i] = KEEPS(from[i], best[i]) ? from[i] : best[i];                                   \
            }                                                                                                \
        }                                                                                                    \
    }

DEFINE_MAXIMUM(float32, float, -INFINITY, KEEPS_FLOAT)
DEFINE_MAXIMUM(int32, int32_t, INT32_MIN, KEEPS_INTEGER)
DEFINE_MAXIMUM(uint32, uint32_t, 0, KEEPS_INTEGER)
DEFINE_MAXIMUM(int64, int64_t, INT64_MIN, KEEPS_INTEGER)
DEFINE_MAXIMUM(uint64, uint64_t, 0, KEEPS_INTEGER)
DEFINE_MAXIMUM(int8, int8_t, INT8_MIN, KEEPS_INTEGER)
DEFINE_MAXIMUM(uint8, uint8_t, 0, KEEPS_INTEGER)

// Halves are compared as integers in the order of their values; NaNs of either sign come last.
static int half_order(uint16_t half)
{
    int magnitude = half & 0x7FFF;
    if (magnitude > 0x7C00)
        return 0x8000;
    return half & 0x8000 ? -magnitude : magnitude;
}

static void maximum_float16(const struct pool *pool, const struct window *window, size_t to)
{
    uint16_t *best = (uint16_t *)pool->output + to;
    const uint16_t *input = (const uint16_t *)pool->input + window->offset;
    for (size_t i = 0; i < pool->run; i++)
        best[i] = 0xFC00;
    for (size_t y = 0; y < window->height; y++) {
        for (size_t x = 0; x < window->width; x++) {
            const uint16_t *from = input + y * window->step_y + x * window->step_x;
            for (size_t i = 0; i < pool->run; i++)
                best[i] = half_order(from[i]) > half_order(best[i]) ? from[i] : best[i];
        }
    }
}

static void pool_maximum(const struct pool *pool, const struct window *window, size_t to)
{
    switch (pool->type) {
    case WNNDataType_Float32:
        maximum_float32(pool, window, to);
        break;
    case WNNDataType_Float16:
        maximum_float16(pool, window, to);
        break;
    case WNNDataType_Int32:
        maximum_int32(pool, window, to);
        break;
    case WNNDataType_Uint32:
        maximum_uint32(pool, window, to);
        break;
    case WNNDataType_Int64:
        maximum_int64(pool, window, to);
        break;
    case WNNDataType_Uint64:
        maximum_uint64(pool, window, to);
        break;
    case WNNDataType_Int8:
        maximum_int8(pool, window, to);
        break;
    default:
        maximum_uint8(pool, window, to);
        break;
    }
}

// Items are rows of the output of one line.
static void pool_rows(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    for (size_t row = begin; row < end; row++) {
        size_t line = row / pool->out[0], y = row % pool->out[0];
        for (size_t x = 0; x < pool->out[1]; x++) {
            struct window window = find_window(pool, line, y, x);
            size_t to = line * pool->out_line + y * pool->out_y + x * pool->out_x;
            if (pool->op == WNN_OP_maxPool2d)
                pool_maximum(pool, &window, to);
            else
                pool_sums(pool, &window, to);
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
        .op = (enum op)call->node->op,
        .type = call->in[0].type,
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
    pool.in_x = pool.out_x = pool.run;
    pool.in_y = in[x] * pool.in_x;
    pool.out_y = out[x] * pool.out_x;
    pool.in_line = in[y] * pool.in_y;
    pool.out_line = out[y] * pool.out_y;

    size_t taps = (size_t)pool.window[0] * (size_t)pool.window[1];
    size_t work = pool.out_y * (taps < 16384 ? taps : 16384);
    wnn_parallel_for(call->parallel, pool.lines * pool.out[0], 1 + 8192 / (work + 1), pool_rows, &pool);
}
