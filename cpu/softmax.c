// SPDX-License-Identifier: Apache-2.0
//
// softmax: exp(x - max), over their sum. The tensor is [outer, rows, columns]; each column of `rows` elements
// is one distribution. float32 exponentials wait in the output for their sum; those of float16 are computed
// again, so that they are rounded once.
#include "cpu/kernel.h"
#include "cpu/variants.h"
#include "cpu/vmath.h"

#include <math.h>

enum {
    WIDTH = 64,  // columns of a unit
    PIECE = 512, // elements loaded at a time
    LANES = 32,  // sums of a single column
    SHORT = 64,  // rows of a column that are taken together with others
};

struct softmax {
    const struct tensor *in, *out;
    size_t rows, columns, blocks;
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

// A NaN stays: nothing is above it, and of more conditions in a row compilers make branches.
WNN_INLINE float max_nan(float a, float x)
{
    return ((x > a) | (x != x)) ? x : a;
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
    float buffer[PIECE], values[PIECE], maxima[PIECE], lanes[LANES];
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
    for (size_t i = 0; i < min_size(softmax->rows, PIECE); i++)
        maxima[i] = max;

    double sum = 0;
    for (size_t row = 0, count; row < softmax->rows; row += count) {
        count = min_size(softmax->rows - row, PIECE);
        const float *x = load(in, first + row, count, buffer);
        wnn_vmath_pair(VMATH_EXP_BELOW, x, maxima, values, count);
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
            wnn_vmath_pair(VMATH_EXP_BELOW, x, maxima, values, count);
            for (size_t i = 0; i < count; i++)
                values[i] *= scale;
            wnn_half_from_float_array(values, (uint16_t *)out->data + first + row, count);
        }
    }
}

// Several rows of a few elements each, one unit a row.
static void softmax_short(const struct softmax *softmax, size_t begin, size_t end)
{
    const struct tensor *in = softmax->in, *out = softmax->out;
    size_t length = softmax->rows;
    float buffer[PIECE], maxima[PIECE], values[PIECE];
    for (size_t n; begin < end; begin += n) {
        n = min_size(end - begin, PIECE / length);
        const float *x = load(in, begin * length, n * length, buffer);
        for (size_t at = 0; at < n * length; at += length) {
            float max = -INFINITY;
            for (size_t i = at; i < at + length; i++)
                max = max_nan(max, x[i]);
            for (size_t i = at; i < at + length; i++)
                maxima[i] = max;
        }
        wnn_vmath_pair(VMATH_EXP_BELOW, x, maxima, values, n * length);
        for (size_t at = 0; at < n * length; at += length) {
            double sum = 0;
            for (size_t i = at; i < at + length; i++)
                sum += (double)values[i];
            float scale = (float)(1 / sum);
            for (size_t i = at; i < at + length; i++)
                values[i] *= scale;
        }
        if (out->type == WNNDataType_Float32)
            memcpy((float *)out->data + begin * length, values, n * length * sizeof *values);
        else
            wnn_half_from_float_array(values, (uint16_t *)out->data + begin * length, n * length);
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
        wnn_vmath_pair(VMATH_EXP_BELOW, x, max, values, width);
        for (size_t j = 0; j < width; j++)
            sum[j] += (double)values[j];
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
            wnn_vmath_pair(VMATH_EXP_BELOW, x, max, values, width);
            for (size_t j = 0; j < width; j++)
                values[j] *= scale[j];
            wnn_half_from_float_array(values, (uint16_t *)out->data + at, width);
        }
    }
}

static void softmax_units(void *argument, size_t begin, size_t end)
{
    const struct softmax *softmax = argument;
    if (softmax->columns == 1 && softmax->rows <= SHORT) {
        softmax_short(softmax, begin, end);
        return;
    }
    for (size_t unit = begin; unit < end; unit++) {
        size_t column = unit % softmax->blocks * WIDTH;
        size_t first = unit / softmax->blocks * softmax->rows * softmax->columns + column;
        if (softmax->columns == 1)
            softmax_column(softmax, first);
        else
            softmax_columns(softmax, first, min_size(softmax->columns - column, WIDTH));
    }
}

WNN_VARIANTS(softmax_units)

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
    wnn_parallel_for(call->parallel, units, grain, WNN_BEST(softmax_units), &softmax);
}
