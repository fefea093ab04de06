// SPDX-License-Identifier: Apache-2.0
//
// resample2d: nearest and linear, along any two axes. Pixel centres are at halves; the scale of an axis is
// the quotient of its sizes.

#include "cpu/kernel.h"
#include "cpu/variants.h"

#include <math.h>

#define CHUNK     256 // elements side by side
#define POSITIONS 128 // of the last axis, whose neighbours are found once for many lines

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
    double weight;
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
    return (struct neighbours){(size_t)low, (size_t)low + 1, (double)(twice % unit) / (double)unit};
}

// The smallest integer not below the coordinate minus a half: of two equally near elements the lower.
static size_t find_nearest(const struct resample *resample, unsigned axis, size_t position)
{
    int64_t in = (int64_t)resample->in[axis], out = (int64_t)resample->out[axis];
    int64_t twice = (2 * (int64_t)position + 1) * in - 2 * out, unit = 2 * out;
    int64_t nearest = twice <= 0 ? 0 : (twice + unit - 1) / unit;
    return (size_t)(nearest < in ? nearest : in - 1);
}

#define COPY_POSITIONS(bytes)                                                                                \
    for (size_t i = 0; i < positions; i++)                                                                   \
    memcpy(to + i * (bytes), line + offsets[i], bytes)

// Items are positions of everything before axis 1: outer, axis 0, middle. The first input element of a line.
static size_t line_start(const struct resample *resample, size_t item)
{
    size_t middle = item % resample->middle, outer = item / resample->middle / resample->out[0];
    return outer * resample->in_outer + middle * resample->in[1] * resample->run;
}

static size_t line_position(const struct resample *resample, size_t item)
{
    return item / resample->middle % resample->out[0];
}

static void nearest_lines(void *argument, size_t begin, size_t end)
{
    const struct resample *resample = argument;
    size_t run = resample->run * resample->size, offsets[POSITIONS];

    for (size_t x = 0; x < resample->out[1]; x += POSITIONS) {
        size_t positions = resample->out[1] - x < POSITIONS ? resample->out[1] - x : POSITIONS;
        for (size_t i = 0; i < positions; i++)
            offsets[i] = find_nearest(resample, 1, x + i) * run;
        for (size_t item = begin; item < end; item++) {
            size_t y = find_nearest(resample, 0, line_position(resample, item));
            const char *line =
                resample->input + (line_start(resample, item) + y * resample->in_stride[0]) * resample->size;
            char *to = resample->output + (item * resample->out[1] + x) * run;
            switch (run) {
            case 1:
                COPY_POSITIONS(1);
                break;
            case 2:
                COPY_POSITIONS(2);
                break;
            case 4:
                COPY_POSITIONS(4);
                break;
            case 8:
                COPY_POSITIONS(8);
                break;
            case 16:
                COPY_POSITIONS(16);
                break;
            default:
                COPY_POSITIONS(run);
                break;
            }
        }
    }
}

// sums[i] += weight * the element. An element that does not count is not read: its weight of 0 would make of
// Inf a NaN.
static void add(const struct resample *resample, size_t offset, double weight, size_t count, double *sums)
{
    if (weight == 0)
        return;
    if (resample->type == WNNDataType_Float32) {
        const float *from = (const float *)(const void *)resample->input + offset;
        for (size_t i = 0; i < count; i++)
            sums[i] += weight * from[i];
    } else if (resample->type == WNNDataType_Float16) {
        float values[CHUNK];
        wnn_half_to_float_array((const uint16_t *)(const void *)resample->input + offset, values, count);
        for (size_t i = 0; i < count; i++)
            sums[i] += weight * values[i];
    } else if (resample->type == WNNDataType_Int8) {
        const int8_t *from = (const int8_t *)resample->input + offset;
        for (size_t i = 0; i < count; i++)
            sums[i] += weight * from[i];
    } else {
        const uint8_t *from = (const uint8_t *)resample->input + offset;
        for (size_t i = 0; i < count; i++)
            sums[i] += weight * from[i];
    }
}

// 8-bit results are means of values in range.
static void store(const struct resample *resample, size_t offset, size_t count, const double *sums)
{
    char *to = resample->output + offset * resample->size;
    float values[CHUNK];
    switch (resample->type) {
    case WNNDataType_Float32:
        for (size_t i = 0; i < count; i++)
            ((float *)(void *)to)[i] = (float)sums[i];
        break;
    case WNNDataType_Float16:
        for (size_t i = 0; i < count; i++)
            values[i] = (float)sums[i];
        wnn_half_from_float_array(values, (uint16_t *)(void *)to, count);
        break;
    case WNNDataType_Int8:
        for (size_t i = 0; i < count; i++) {
            float value = rintf((float)sums[i]);
            ((int8_t *)to)[i] = (int8_t)(value < INT8_MIN ? INT8_MIN : value > INT8_MAX ? INT8_MAX : value);
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            float value = rintf((float)sums[i]);
            ((uint8_t *)to)[i] = (uint8_t)(value < 0 ? 0 : value > UINT8_MAX ? UINT8_MAX : value);
        }
        break;
    }
}

// Elements that stand alone: the columns that are needed of both lines become one line, and then neighbours
// in it become elements.
static void blend_elements(const struct resample *resample, size_t low, size_t high, double weight,
                           const struct neighbours *x, size_t positions, size_t to)
{
    double line[CHUNK], sums[POSITIONS];
    for (size_t i = 0, next; i < positions; i = next) {
        size_t first = x[i].low;
        for (next = i + 1; next < positions && x[next].high - first < CHUNK; next++)
            ;
        size_t count = x[next - 1].high - first + 1;
        for (size_t j = 0; j < count; j++)
            line[j] = 0;
        add(resample, low + first, 1 - weight, count, line);
        add(resample, high + first, weight, count, line);
        for (size_t j = i; j < next; j++) {
            double left = line[x[j].low - first], right = line[x[j].high - first];
            sums[j] = x[j].weight == 0 ? left : left * (1 - x[j].weight) + right * x[j].weight;
        }
    }
    store(resample, to, positions, sums);
}

// Elements of the dimensions behind the last axis.
static void blend_runs(const struct resample *resample, size_t low, size_t high, double weight,
                       const struct neighbours *x, size_t to)
{
    double sums[CHUNK];
    for (size_t first = 0; first < resample->run; first += CHUNK) {
        size_t count = resample->run - first < CHUNK ? resample->run - first : CHUNK;
        size_t left = x->low * resample->run + first, right = x->high * resample->run + first;
        for (size_t i = 0; i < count; i++)
            sums[i] = 0;
        add(resample, low + left, (1 - x->weight) * (1 - weight), count, sums);
        add(resample, low + right, x->weight * (1 - weight), count, sums);
        add(resample, high + left, (1 - x->weight) * weight, count, sums);
        add(resample, high + right, x->weight * weight, count, sums);
        store(resample, to + first, count, sums);
    }
}

static void linear_lines(void *argument, size_t begin, size_t end)
{
    const struct resample *resample = argument;
    struct neighbours neighbours[POSITIONS];

    for (size_t x = 0; x < resample->out[1]; x += POSITIONS) {
        size_t positions = resample->out[1] - x < POSITIONS ? resample->out[1] - x : POSITIONS;
        for (size_t i = 0; i < positions; i++)
            neighbours[i] = find_neighbours(resample, 1, x + i);
        for (size_t item = begin; item < end; item++) {
            struct neighbours y = find_neighbours(resample, 0, line_position(resample, item));
            size_t line = line_start(resample, item), to = (item * resample->out[1] + x) * resample->run;
            size_t low = line + y.low * resample->in_stride[0], high = line + y.high * resample->in_stride[0];
            if (resample->run == 1) {
                blend_elements(resample, low, high, y.weight, neighbours, positions, to);
                continue;
            }
            for (size_t i = 0; i < positions; i++)
                blend_runs(resample, low, high, y.weight, &neighbours[i], to + i * resample->run);
        }
    }
}
WNN_VARIANTS(linear_lines)

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
                     options->mode == WNNInterpolationMode_Linear ? WNN_BEST(linear_lines) : nearest_lines,
                     &resample);
}
