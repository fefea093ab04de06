// SPDX-License-Identifier: Apache-2.0
//
// softmax: exp(x - max), over their sum. The tensor is [outer, rows, columns]; each column of `rows` elements
// is one distribution. float32 exponentials wait in the output for their sum; those of float16 are computed
// again, so that they are rounded once.
#include "cpu/kernel.h"

#include <math.h>

enum {
    WIDTH = 64,  // columns of a unit
    PIECE = 256, // elements loaded at a time
    LANES = 32,  // sums of a single column
};

struct softmax {
    const struct tensor *in, *out;
    size_t rows, columns, blocks;
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

// exp(x - max) for x <= max or NaN, with an error below 2 ULP, results that are denormal included. No
// branches: the loops around it become vector code. The polynomial interpolates (exp(r) - 1 - r) / r^2 at
// Chebyshev's nodes.
static inline __attribute__((always_inline)) float exp_of_difference(float x, float max)
{
    // What rounding takes from the difference, since the exponential would make many ULP of it.
    float difference = x - max, up = difference - x;
    float lost = (x - (difference - up)) - (max + up);
    lost = difference < -104.0f ? 0 : lost;
    difference = difference < -104.0f ? -104.0f : difference;
    const float shifter = 0x1.8p23f; // adding it rounds to an integer, which is then in the low bits
    float shifted = difference * 0x1.715476p0f + shifter, n = shifted - shifter;
    float r = (difference - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f + lost; // the first product is exact
    float p = ((0x1.6d113cp-10f * r + 0x1.120ba2p-7f) * r + 0x1.55551ap-5f) * r + 0x1.5554dcp-3f;
    p = (p * r + 0.5f) * r * r + r + 1.0f;
    // 2^n in two factors, neither of which is denormal. For a NaN they are anything finite, or another NaN.
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    int32_t power = (int32_t)(bits & 0x1FFu) - (int32_t)(bits & 0x100u) * 2; // the low 9 bits, signed
    int32_t half = power >> 1;
    uint32_t low = (uint32_t)(half + 127) << 23, high = (uint32_t)(power - half + 127) << 23;
    float a, b;
    memcpy(&a, &low, sizeof a);
    memcpy(&b, &high, sizeof b);
    return p * a * b;
}

// A NaN stays: nothing is above it.
static inline float max_nan(float a, float x)
{
    return a >= x ? a : a != a ? a : x;
}

// `count` elements from `offset` on: the tensor's memory, or `buffer` (PIECE long).
static const float *load(const struct tensor *tensor, size_t offset, size_t count, float *buffer)
{
    if (tensor->type == WNNDataType_Float32)
        return (const float *)tensor->data + offset;
    wnn_half_to_float_array((const uint16_t *)tensor->data + offset, buffer, count);
    return buffer;
}

static void softmax_column(const struct softmax *softmax, size_t first)
{
    const struct tensor *in = softmax->in, *out = softmax->out;
    bool wide = out->type == WNNDataType_Float32;
    float buffer[PIECE], values[PIECE], lanes[LANES];
    for (size_t j = 0; j < LANES; j++)
        lanes[j] = -INFINITY;
    for (size_t row = 0, count; row < softmax->rows; row += count) {
        count = min_size(softmax->rows - row, PIECE);
        const float *x = load(in, first + row, count, buffer);
        size_t i = 0;
        for (; i + LANES <= count; i += LANES) {
            for (size_t j = 0; j < LANES; j++)
                lanes[j] = max_nan(lanes[j], x[i + j]);
        }
        for (; i < count; i++)
            lanes[0] = max_nan(lanes[0], x[i]);
    }
    float max = lanes[0];
    for (size_t j = 1; j < LANES; j++)
        max = max_nan(max, lanes[j]);

    double sum = 0;
    for (size_t row = 0, count; row < softmax->rows; row += count) {
        count = min_size(softmax->rows - row, PIECE);
        const float *x = load(in, first + row, count, buffer);
        for (size_t i = 0; i < count; i++)
            values[i] = exp_of_difference(x[i], max);
        if (wide)
            memcpy((float *)out->data + first + row, values, count * sizeof *values);
        memset(lanes, 0, sizeof lanes);
        size_t i = 0;
        for (; i + LANES <= count; i += LANES) {
            for (size_t j = 0; j < LANES; j++)
                lanes[j] += values[i + j];
        }
        for (; i < count; i++)
            lanes[0] += values[i];
        for (size_t j = 0; j < LANES; j++)
            sum += (double)lanes[j];
    }

    float scale = (float)(1 / sum);
    for (size_t row = 0, count; row < softmax->rows; row += count) {
        count = min_size(softmax->rows - row, PIECE);
        if (wide) {
            float *y = (float *)out->data + first + row;
            for (size_t i = 0; i < count; i++)
                y[i] *= scale;
        } else {
            const float *x = load(in, first + row, count, buffer);
            for (size_t i = 0; i < count; i++)
                values[i] = exp_of_difference(x[i], max) * scale;
            wnn_half_from_float_array(values, (uint16_t *)out->data + first + row, count);
        }
    }
}

static void softmax_columns(const struct softmax *softmax, size_t first, size_t width)
{
    const struct tensor *in = softmax->in, *out = softmax->out;
    bool wide = out->type == WNNDataType_Float32;
    float buffer[PIECE], values[WIDTH], max[WIDTH], scale[WIDTH];
    double sum[WIDTH];
    for (size_t j = 0; j < width; j++) {
        max[j] = -INFINITY;
        sum[j] = 0;
    }
    size_t end = first + softmax->rows * softmax->columns;
    for (size_t at = first; at < end; at += softmax->columns) {
        const float *x = load(in, at, width, buffer);
        for (size_t j = 0; j < width; j++)
            max[j] = max_nan(max[j], x[j]);
    }
    for (size_t at = first; at < end; at += softmax->columns) {
        const float *x = load(in, at, width, buffer);
        for (size_t j = 0; j < width; j++) {
            values[j] = exp_of_difference(x[j], max[j]);
            sum[j] += (double)values[j];
        }
        if (wide)
            memcpy((float *)out->data + at, values, width * sizeof *values);
    }
    for (size_t j = 0; j < width; j++)
        scale[j] = (float)(1 / sum[j]);
    for (size_t at = first; at < end; at += softmax->columns) {
        if (wide) {
            float *y = (float *)out->data + at;
            for (size_t j = 0; j < width; j++)
                y[j] *= scale[j];
        } else {
            const float *x = load(in, at, width, buffer);
            for (size_t j = 0; j < width; j++)
                values[j] = exp_of_difference(x[j], max[j]) * scale[j];
            wnn_half_from_float_array(values, (uint16_t *)out->data + at, width);
        }
    }
}

static void softmax_units(void *argument, size_t begin, size_t end)
{
    const struct softmax *softmax = argument;
    for (size_t unit = begin; unit < end; unit++) {
        size_t column = unit % softmax->blocks * WIDTH;
        size_t first = unit / softmax->blocks * softmax->rows * softmax->columns + column;
        if (softmax->columns == 1)
            softmax_column(softmax, first);
        else
            softmax_columns(softmax, first, min_size(softmax->columns - column, WIDTH));
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-softmax-method
void wnn_cpu_softmax(const struct kernel_call *call)
{
    const struct softmax_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->in[0].shape;
    struct softmax softmax = {
        .in = &call->in[0], .out = &call->out[0], .rows = shape->dim[attrs->axis], .columns = 1};
    if (softmax.in->count == 0)
        return;
    for (unsigned d = attrs->axis + 1; d < shape->rank; d++)
        softmax.columns *= shape->dim[d];
    softmax.blocks = (softmax.columns + WIDTH - 1) / WIDTH;
    size_t units = softmax.in->count / softmax.rows / softmax.columns * softmax.blocks;
    size_t grain = 4096 / (softmax.rows * min_size(softmax.columns, WIDTH)) + 1;
    wnn_parallel_for(call->parallel, units, grain, softmax_units, &softmax);
}
