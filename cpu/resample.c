// SPDX-License-Identifier: Apache-2.0
//
// resample2d: nearest and linear, along any two axes. Pixel centres are at halves; the scale of an axis is
// the quotient of its sizes.

#include "cpu/kernel.h"

#include <math.h>

#define CHUNK 256 // elements side by side

struct resample {
    WNNDataType type;
    size_t size; // bytes of an element
    const char *input;
    char *output;
    // [outer, axis 0, middle, axis 1, run]: the two axes, in the order of the dimensions.
    size_t outer, middle, run;
    size_t in[2], out[2];
    size_t in_stride[2], in_outer; // elements
};

// The neighbours of an output element along an axis, and the part of the second one. They do not change along
// with the order in which elements are computed.
struct neighbours {
    size_t low, high;
    float weight;
};

// (position + 0.5) * in / out - 0.5 is (a / b) with integers a and b, of at most 64 bits; so are floor and
// remainder.
static struct neighbours find_neighbours(const struct resample *resample, unsigned axis, size_t position)
{
    int64_t in = (int64_t)resample->in[axis], out = (int64_t)resample->out[axis];
    int64_t twice = (2 * (int64_t)position + 1) * in - out, unit = 2 * out;
    if (twice <= 0)
        return (struct neighbours){0, 0, 0};
    int64_t low = twice / unit;
    if (low >= in - 1)
        return (struct neighbours){(size_t)in - 1, (size_t)in - 1, 0};
    return (struct neighbours){(size_t)low, (size_t)low + 1, (float)((double)(twice % unit) / (double)unit)};
}

// The smallest integer not below the coordinate minus a half: of two equally near elements the lower.
static size_t find_nearest(const struct resample *resample, unsigned axis, size_t position)
{
    int64_t in = (int64_t)resample->in[axis], out = (int64_t)resample->out[axis];
    int64_t twice = (2 * (int64_t)position + 1) * in - 2 * out, unit = 2 * out;
    int64_t nearest = twice <= 0 ? 0 : (twice + unit - 1) / unit;
    return (size_t)(nearest < in ? nearest : in - 1);
}

static void copy_element(char *to, const char *from, size_t size)
{
    switch (size) {
    case 4:
        memcpy(to, from, 4);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    default:
        *to = *from;
        break;
    }
}

// Items are positions of everything before axis 1: outer, axis 0, middle.
static void nearest_lines(void *argument, size_t begin, size_t end)
{
    const struct resample *resample = argument;
    size_t run = resample->run * resample->size;
    for (size_t item = begin; item < end; item++) {
        size_t middle = item % resample->middle, y = item / resample->middle % resample->out[0];
        size_t outer = item / resample->middle / resample->out[0];
        const char *line = resample->input + (outer * resample->in_outer +
                                              find_nearest(resample, 0, y) * resample->in_stride[0] +
                                              middle * resample->in[1] * resample->run) *
                                                 resample->size;
        char *to = resample->output + item * resample->out[1] * run;
        for (size_t x = 0; x < resample->out[1]; x++, to += run) {
            const char *from = line + find_nearest(resample, 1, x) * run;
            if (resample->run == 1)
                copy_element(to, from, resample->size);
            else
                memcpy(to, from, run);
        }
    }
}

static void load(const struct resample *resample, size_t offset, size_t count, float *values)
{
    const char *from = resample->input + offset * resample->size;
    switch (resample->type) {
    case WNNDataType_Float32:
        memcpy(values, from, count * sizeof *values);
        break;
    case WNNDataType_Float16:
        if (count == 1)
            *values = wnn_half_to_float(*(const uint16_t *)(const void *)from);
        else
            wnn_half_to_float_array((const uint16_t *)(const void *)from, values, count);
        break;
    case WNNDataType_Int8:
        for (size_t i = 0; i < count; i++)
            values[i] = ((const int8_t *)from)[i];
        break;
    default:
        for (size_t i = 0; i < count; i++)
            values[i] = ((const uint8_t *)from)[i];
        break;
    }
}

// 8-bit results are means of values in range.
static void store(const struct resample *resample, size_t offset, size_t count, const float *values)
{
    char *to = resample->output + offset * resample->size;
    switch (resample->type) {
    case WNNDataType_Float32:
        memcpy(to, values, count * sizeof *values);
        break;
    case WNNDataType_Float16:
        wnn_half_from_float_array(values, (uint16_t *)(void *)to, count);
        break;
    case WNNDataType_Int8:
        for (size_t i = 0; i < count; i++) {
            float rounded = rintf(values[i]);
            ((int8_t *)to)[i] = (int8_t)(rounded < INT8_MIN   ? INT8_MIN
                                         : rounded > INT8_MAX ? INT8_MAX
                                                              : rounded);
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            float rounded = rintf(values[i]);
            ((uint8_t *)to)[i] = (uint8_t)(rounded < 0 ? 0 : rounded > UINT8_MAX ? UINT8_MAX : rounded);
        }
        break;
    }
}

// a, or between a and b. Neither is an element that does not count read, nor does a weight of 0 make Inf a
// NaN.
static void blend(float *a, const float *b, float weight, size_t count)
{
    for (size_t i = 0; i < count; i++)
        a[i] = (float)((double)a[i] * (1 - (double)weight) + (double)b[i] * (double)weight);
}

static void load_line(const struct resample *resample, size_t offset, const struct neighbours *x,
                      size_t count, float *values)
{
    float others[CHUNK];
    load(resample, offset + x->low * resample->run, count, values);
    if (x->weight > 0) {
        load(resample, offset + x->high * resample->run, count, others);
        blend(values, others, x->weight, count);
    }
}

static void linear_lines(void *argument, size_t begin, size_t end)
{
    const struct resample *resample = argument;
    float values[CHUNK], others[CHUNK];

    for (size_t item = begin; item < end; item++) {
        size_t middle = item % resample->middle, position = item / resample->middle % resample->out[0];
        size_t outer = item / resample->middle / resample->out[0];
        struct neighbours y = find_neighbours(resample, 0, position);
        size_t line = outer * resample->in_outer + middle * resample->in[1] * resample->run;
        size_t low = line + y.low * resample->in_stride[0], high = line + y.high * resample->in_stride[0];
        for (size_t i = 0; i < resample->out[1]; i++) {
            struct neighbours x = find_neighbours(resample, 1, i);
            for (size_t first = 0; first < resample->run; first += CHUNK) {
                size_t count = resample->run - first < CHUNK ? resample->run - first : CHUNK;
                load_line(resample, low + first, &x, count, values);
                if (y.weight > 0) {
                    load_line(resample, high + first, &x, count, others);
                    blend(values, others, y.weight, count);
                }
                store(resample, (item * resample->out[1] + i) * resample->run + first, count, values);
            }
        }
    }
}

void wnn_cpu_resample2d(const struct kernel_call *call)
{
    const WNNResample2dOptions *options = call->node->attrs;
    const uint32_t *in = call->in[0].shape.dim, *out = call->out[0].shape.dim;
    unsigned first = options->axes.data[0], second = options->axes.data[1];
    if (call->out[0].count == 0)
        return;
    if (first > second) {
        unsigned third = first;
        first = second;
        second = third;
    }

    struct resample resample = {
        .type = call->in[0].type,
        .size = wnn_dtype_bits(call->in[0].type) / 8,
        .input = call->in[0].data,
        .output = call->out[0].data,
        .outer = 1,
        .middle = 1,
        .run = 1,
        .in = {in[first], in[second]},
        .out = {out[first], out[second]},
    };
    for (unsigned d = 0; d < call->in[0].shape.rank; d++) {
        if (d < first)
            resample.outer *= in[d];
        else if (d > first && d < second)
            resample.middle *= in[d];
        else if (d > second)
            resample.run *= in[d];
    }
    resample.in_stride[1] = resample.run;
    resample.in_stride[0] = resample.middle * resample.in[1] * resample.run;
    resample.in_outer = resample.in[0] * resample.in_stride[0];

    size_t work = resample.out[1] * resample.run;
    wnn_parallel_for(call->parallel, resample.outer * resample.out[0] * resample.middle, 1 + 8192 / work,
                     options->mode == WNNInterpolationMode_Linear ? linear_lines : nearest_lines, &resample);
}
