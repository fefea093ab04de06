// SPDX-License-Identifier: Apache-2.0
//
// softmax: exp(x - max), over their sum. The tensor is [outer, rows, columns]; each column of `rows` elements
// is one distribution. float32 exponentials wait in the output for their sum; so do those of float16 in a
// buffer, or, if they are too many, they are computed again, so that they are rounded once.
#include "cpu/kernel.h"
#include "cpu/variants.h"
#include "cpu/vmath.h"

#include <math.h>

enum {
    WIDTH = 256, // columns of a unit
    PIECE = 512, // elements loaded at a time
    LANES = 16,  // sums of a single column, of which there are GROUPS
    GROUPS = 4,
    SHORT = 15,    // rows of a column that are taken together with others
    KEPT = 4096,   // exponentials of float16
    TOGETHER = 16, // distributions, at most
};

struct softmax {
    const struct tensor *in, *out;
    size_t rows, columns, blocks;
};

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

// A NaN is passed over: it makes one of the sum, and so of everything.
WNN_INLINE float larger(float a, float x)
{
    return x > a ? x : a;
}

// `count` elements from `offset` on: the tensor's memory, or `buffer` (PIECE long).
WNN_INLINE const float *load(const struct tensor *tensor, size_t offset, size_t count, float *buffer)
{
    if (tensor->type == WNNDataType_Float32)
        return (const float *)tensor->data + offset;
    wnn_half_to_float_array((const uint16_t *)tensor->data + offset, buffer, count);
    return buffer;
}

// Folds `lanes`, of which there may be but LANES, to one in pairs.
#define FOLD_LANES(lanes, all, FOLD)                                                                         \
    do {                                                                                                     \
        for (size_t g = 1; (all) && g < GROUPS; g++)                                                         \
            for (size_t j = 0; j < LANES; j++)                                                               \
                lanes[j] = FOLD(lanes[j], lanes[g * LANES + j]);                                             \
        for (size_t j = 0; j < 8; j++)                                                                       \
            lanes[j] = FOLD(lanes[j], lanes[j + 8]);                                                         \
        for (size_t j = 0; j < 4; j++)                                                                       \
            lanes[j] = FOLD(lanes[j], lanes[j + 4]);                                                         \
        lanes[0] = FOLD(FOLD(lanes[0], lanes[1]), FOLD(lanes[2], lanes[3]));                                 \
    } while (0)

WNN_INLINE float max_of(const float *x, size_t count, float max)
{
    float lanes[LANES * GROUPS];
    size_t i = 0;
    for (size_t j = 0; j < LANES * GROUPS; j++)
        lanes[j] = max;
    for (; i + LANES * GROUPS <= count; i += LANES * GROUPS)
        for (size_t j = 0; j < LANES * GROUPS; j++)
            lanes[j] = larger(lanes[j], x[i + j]);
    for (; i + LANES <= count; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lanes[j] = larger(lanes[j], x[i + j]);
    for (; i < count; i++)
        lanes[i % LANES] = larger(lanes[i % LANES], x[i]);
    FOLD_LANES(lanes, count >= LANES * GROUPS, larger);
    return lanes[0];
}

#define SUM(a, b) ((a) + (b))

// Of at most PIECE elements.
WNN_INLINE float sum_of(const float *x, size_t count)
{
    float lanes[LANES * GROUPS] = {0};
    size_t i = 0;
    for (; i + LANES * GROUPS <= count; i += LANES * GROUPS)
        for (size_t j = 0; j < LANES * GROUPS; j++)
            lanes[j] += x[i + j];
    for (; i + LANES <= count; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            lanes[j] += x[i + j];
    for (; i < count; i++)
        lanes[i % LANES] += x[i];
    FOLD_LANES(lanes, count >= LANES * GROUPS, SUM);
    return lanes[0];
}

// `count` distributions side by side, in steps that one need not wait for in the other. Those of float16 are
// of at most KEPT elements together.
WNN_INLINE void softmax_together(const struct softmax *softmax, size_t first, size_t count)
{
    bool wide = softmax->out->type == WNNDataType_Float32;
    float values[KEPT], max[TOGETHER], scale[TOGETHER];
    float *y = wide ? (float *)softmax->out->data + first : values;
    const float *x = wide ? (const float *)softmax->in->data + first : values;
    size_t rows = softmax->rows;
    if (!wide)
        wnn_half_to_float_array((const uint16_t *)softmax->in->data + first, values, count * rows);
    for (size_t i = 0; i < count; i++)
        max[i] = max_of(x + i * rows, rows, -INFINITY);
    for (size_t i = 0; i < count; i++)
        wnn_vmath_exp_below(x + i * rows, y + i * rows, rows, max[i]);
    for (size_t i = 0; i < count; i++) {
        double sum = 0;
        for (size_t row = 0; row < rows; row += PIECE)
            sum += (double)sum_of(y + i * rows + row, min_size(rows - row, PIECE));
        scale[i] = (float)(1 / sum);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t row = 0; row < rows; row++)
            y[i * rows + row] *= scale[i];
    if (!wide)
        wnn_half_from_float_array(values, (uint16_t *)softmax->out->data + first, count * rows);
}

// One of float16 of any length.
WNN_INLINE void softmax_long(const struct softmax *softmax, size_t first)
{
    const uint16_t *in = (const uint16_t *)softmax->in->data + first;
    uint16_t *out = (uint16_t *)softmax->out->data + first;
    float values[PIECE], max = -INFINITY;
    double sum = 0;
    for (size_t row = 0, count; row < softmax->rows; row += count) {
        count = min_size(softmax->rows - row, PIECE);
        wnn_half_to_float_array(in + row, values, count);
        max = max_of(values, count, max);
    }
    for (size_t row = 0, count; row < softmax->rows; row += count) {
        count = min_size(softmax->rows - row, PIECE);
        wnn_half_to_float_array(in + row, values, count);
        wnn_vmath_exp_below(values, values, count, max);
        sum += (double)sum_of(values, count);
    }
    float scale = (float)(1 / sum);
    for (size_t row = 0, count; row < softmax->rows; row += count) {
        count = min_size(softmax->rows - row, PIECE);
        wnn_half_to_float_array(in + row, values, count);
        wnn_vmath_exp_below(values, values, count, max);
        for (size_t i = 0; i < count; i++)
            values[i] *= scale;
        wnn_half_from_float_array(values, out + row, count);
    }
}

// Several rows of a few elements each, one unit a row.
WNN_INLINE void softmax_short(const struct softmax *softmax, size_t begin, size_t end)
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
                max = larger(max, x[i]);
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

WNN_INLINE void softmax_columns(const struct softmax *softmax, size_t first, size_t width)
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
            max[j] = larger(max[j], x[j]);
    }
    for (size_t at = first; at < end; at += softmax->columns) {
        const float *x = load(in, at, width, buffer);
        float *y = wide ? (float *)out->data + at : values;
        wnn_vmath_pair(VMATH_EXP_BELOW, x, max, y, width);
        for (size_t j = 0; j < width; j++)
            sum[j] += (double)y[j];
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
    bool wide = softmax->out->type == WNNDataType_Float32;
    if (softmax->columns == 1 && softmax->rows <= SHORT) {
        softmax_short(softmax, begin, end);
        return;
    }
    size_t most = min_size(softmax->rows > KEPT ? 1 : KEPT / softmax->rows, TOGETHER), count;
    for (size_t unit = begin; unit < end; unit += count) {
        size_t column = unit % softmax->blocks * WIDTH;
        size_t first = unit / softmax->blocks * softmax->rows * softmax->columns + column;
        count = softmax->columns == 1 ? min_size(end - unit, most) : 1;
        if (softmax->columns > 1)
            softmax_columns(softmax, first, min_size(softmax->columns - column, WIDTH));
        else if (wide || softmax->rows <= KEPT)
            softmax_together(softmax, first, count);
        else
            softmax_long(softmax, first);
    }
}

WNN_VARIANTS_512(softmax_units)

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
    wnn_parallel_for(call->parallel, units, grain, WNN_BEST_512(softmax_units), &softmax);
}
