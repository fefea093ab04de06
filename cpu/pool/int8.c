// SPDX-License-Identifier: Apache-2.0
//
// averagePool2d of quantized numbers: exact sums of the integers in each window, one multiplication by the
// scales and the reciprocal of their number, one rounding.

#include "cpu/elementwise/elementwise.h"
#include "cpu/simd/isa.h"

#define SPAN 128 // channels that are summed at a time

struct pool {
    const uint8_t *input;
    uint8_t *output;
    bool in_signed;
    size_t channels, out_size[2];
    size_t in_image, in_y, in_x, in_channel; // strides
    size_t out_image, out_y, out_x, out_channel;
    int64_t size[2], window[2], stride[2], dilation[2], padding[2];
    int32_t in_zero, out_zero;
    float scale, low, high; // low, high: of what is rounded
};

static float scale_of(const struct node *node, unsigned at)
{
    const struct operand *scale = node->in[at];
    return (float)wnn_number_double(wnn_number_load(scale->type.type, scale->constant->data, 0));
}

static int32_t zero_of(const struct node *node, unsigned at)
{
    const struct operand *zero = node->in[at + 1];
    return (int32_t)wnn_number_double(wnn_number_load(zero->type.type, zero->constant->data, 0));
}

static bool is_fine(const struct node *node, const struct operand *operand, unsigned at)
{
    return (operand->type.type == WNNDataType_Int8 || operand->type.type == WNNDataType_Uint8) && at &&
           wnn_shape_elements(&node->in[at]->type.shape) == 1;
}

static bool accepts(const struct node *node)
{
    const struct epilogue epilogue = wnn_epilogue(node);
    unsigned from = wnn_prologue_scale(node, 0), to = epilogue.scale;
    if (epilogue.activation.attrs || node->in[0]->constant || !is_fine(node, node->in[0], from) ||
        !is_fine(node, node->out[0], to))
        return false;
    const WNNPool2dOptions *options = node->attrs;
    uint64_t taps = (uint64_t)options->windowDimensions.data[0] * options->windowDimensions.data[1];
    float ratio = scale_of(node, from) / scale_of(node, to);
    return taps < INT32_MAX / 256 && ratio > 0x1p-90f && ratio < 0x1p90f;
}

// The taps [*begin, *end) of a window along one axis that lie inside of the input; returns the coordinate of
// tap 0.
static int64_t clip(const struct pool *pool, unsigned axis, size_t position, int64_t *begin, int64_t *end)
{
    int64_t first = (int64_t)position * pool->stride[axis] - pool->padding[axis], step = pool->dilation[axis];
    *begin = first < 0 ? (step - 1 - first) / step : 0;
    *end = first < pool->size[axis] ? (pool->size[axis] - 1 - first) / step + 1 : 0;
    *end = *end > pool->window[axis] ? pool->window[axis] : *end;
    *begin = *begin > *end ? *end : *begin;
    return first;
}

WNN_INLINE void add_line(const struct pool *pool, const uint8_t *from, size_t count, int32_t *sums)
{
    size_t step = pool->in_channel;
    if (pool->in_signed && step == 1) {
        for (size_t i = 0; i < count; i++)
            sums[i] += (int8_t)from[i];
    } else if (step == 1) {
        for (size_t i = 0; i < count; i++)
            sums[i] += from[i];
    } else {
        for (size_t i = 0; i < count; i++)
            sums[i] += pool->in_signed ? (int8_t)from[i * step] : from[i * step];
    }
}

WNN_INLINE void finish_line(const struct pool *pool, const int32_t *sums, size_t count, int32_t taps,
                            uint8_t *to)
{
    float scale = taps > 0 ? pool->scale / (float)taps : 0, low = pool->low, high = pool->high;
    int32_t excess = taps * pool->in_zero, rounded[SPAN];
    for (size_t i = 0; i < count; i++) {
        float value = (float)(sums[i] - excess) * scale;
        value = value < low ? low : value;
        value = value > high ? high : value;
        rounded[i] = (int32_t)wnn_cpu_round_even(value) + pool->out_zero;
    }
    for (size_t i = 0; i < count; i++)
        to[i * pool->out_channel] = (uint8_t)rounded[i];
}

// Items are rows of the output.
static void pool_rows(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    int32_t sums[SPAN];
    for (size_t row = begin; row < end; row++) {
        size_t image = row / pool->out_size[0], y = row % pool->out_size[0];
        int64_t y_begin, y_end, x_begin, x_end, first_y = clip(pool, 0, y, &y_begin, &y_end);
        for (size_t x = 0; x < pool->out_size[1]; x++) {
            int64_t first_x = clip(pool, 1, x, &x_begin, &x_end);
            for (size_t channel = 0, count; channel < pool->channels; channel += count) {
                count = pool->channels - channel < SPAN ? pool->channels - channel : SPAN;
                memset(sums, 0, count * sizeof sums[0]);
                for (int64_t ky = y_begin; ky < y_end; ky++)
                    for (int64_t kx = x_begin; kx < x_end; kx++)
                        add_line(pool,
                                 pool->input + image * pool->in_image + channel * pool->in_channel +
                                     (size_t)(first_y + ky * pool->dilation[0]) * pool->in_y +
                                     (size_t)(first_x + kx * pool->dilation[1]) * pool->in_x,
                                 count, sums);
                finish_line(pool, sums, count, (int32_t)((y_end - y_begin) * (x_end - x_begin)),
                            pool->output + image * pool->out_image + channel * pool->out_channel +
                                y * pool->out_y + x * pool->out_x);
            }
        }
    }
}
WNN_VARIANTS_256(pool_rows)

static void run_pool2d(const struct kernel_call *call)
{
    const struct node *node = call->node;
    const WNNPool2dOptions *options = node->attrs;
    const struct shape *in = &call->in[0].shape, *out = &call->out[0].shape;
    unsigned c = options->layout == WNNInputOperandLayout_NHWC ? 3 : 1, h = c == 3 ? 1 : 2;
    size_t from[WNN_MAX_RANK], to[WNN_MAX_RANK];
    if (call->out[0].count == 0)
        return;
    wnn_shape_strides(in, from);
    wnn_shape_strides(out, to);
    bool is_signed = call->out[0].type == WNNDataType_Int8;
    unsigned in_scale = wnn_prologue_scale(node, 0), out_scale = wnn_epilogue(node).scale;
    struct pool pool = {.input = call->in[0].data,
                        .output = call->out[0].data,
                        .in_signed = call->in[0].type == WNNDataType_Int8,
                        .channels = in->dim[c],
                        .in_image = from[0],
                        .in_y = from[h],
                        .in_x = from[h + 1],
                        .in_channel = from[c],
                        .out_image = to[0],
                        .out_y = to[h],
                        .out_x = to[h + 1],
                        .out_channel = to[c],
                        .in_zero = zero_of(node, in_scale),
                        .out_zero = zero_of(node, out_scale),
                        .scale = scale_of(node, in_scale) / scale_of(node, out_scale)};
    pool.low = (float)((is_signed ? INT8_MIN : 0) - pool.out_zero);
    pool.high = pool.low + 255;
    for (unsigned i = 0; i < 2; i++) {
        pool.size[i] = in->dim[h + i];
        pool.out_size[i] = out->dim[h + i];
        pool.window[i] = options->windowDimensions.data[i];
        pool.stride[i] = options->strides.data[i];
        pool.dilation[i] = options->dilations.data[i];
        pool.padding[i] = options->padding.data[2 * i];
    }
    size_t work = out->dim[h + 1] * pool.channels * (size_t)(pool.window[0] * pool.window[1]);
    wnn_parallel_for(call->parallel, in->dim[0] * pool.out_size[0], 1 + 65536 / (work + 1),
                     WNN_BEST_ISA_256(pool_rows), &pool);
}

const struct kernel wnn_cpu_pool_int8 = {.run = run_pool2d, .accepts = accepts};
