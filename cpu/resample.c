// SPDX-License-Identifier: Apache-2.0
//
// resample2d: nearest and linear, along any two axes. Pixel centres are at halves; the scale of an axis is
// the quotient of its sizes.

#include "cpu/elementwise.h"
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

// Up to four elements that are blended to one. Those that do not count are not among them: their weight of 0
// would make a NaN of Inf.
struct taps {
    size_t offset[4];
    float weight[4];
    unsigned count;
};

static void add_tap(struct taps *taps, size_t offset, double weight)
{
    if (weight == 0)
        return;
    taps->offset[taps->count] = offset;
    taps->weight[taps->count++] = (float)weight;
}

// out[i] = the sum of weight * the element i behind each offset; there are one, two or four.
#define BLEND(Type)                                                                                          \
    do {                                                                                                     \
        const Type *x = (const Type *)(const void *)resample->input;                                         \
        const Type *a = x + taps->offset[0], *b = x + taps->offset[taps->count > 1];                         \
        const Type *c = x + taps->offset[last - 1], *d = x + taps->offset[last];                             \
        if (taps->count == 1) {                                                                              \
            for (size_t i = 0; i < count; i++)                                                               \
                out[i] = (float)a[i];                                                                        \
        } else if (taps->count == 2) {                                                                       \
            for (size_t i = 0; i < count; i++)                                                               \
                out[i] = (float)a[i] * w[0] + (float)b[i] * w[1];                                            \
        } else {                                                                                             \
            for (size_t i = 0; i < count; i++)                                                               \
                out[i] =                                                                                     \
                    ((float)a[i] * w[0] + (float)b[i] * w[1]) + ((float)c[i] * w[2] + (float)d[i] * w[3]);   \
        }                                                                                                    \
    } while (0)

WNN_INLINE void blend(const struct resample *resample, const struct taps *taps, size_t count,
                      float *restrict out)
{
    const float *w = taps->weight;
    size_t last = taps->count < 4 ? 1 : 3;
    float floats[4][CHUNK];
    switch (resample->type) {
    case WNNDataType_Float32:
        BLEND(float);
        break;
    case WNNDataType_Int8:
        BLEND(int8_t);
        break;
    case WNNDataType_Uint8:
        BLEND(uint8_t);
        break;
    default:
        for (unsigned t = 0; t < taps->count; t++)
            wnn_half_to_float_array((const uint16_t *)(const void *)resample->input + taps->offset[t],
                                    floats[t], count);
        if (taps->count == 1)
            memcpy(out, floats[0], count * sizeof *out);
        for (size_t i = 0; taps->count == 2 && i < count; i++)
            out[i] = floats[0][i] * w[0] + floats[1][i] * w[1];
        for (size_t i = 0; taps->count == 4 && i < count; i++)
            out[i] =
                (floats[0][i] * w[0] + floats[1][i] * w[1]) + (floats[2][i] * w[2] + floats[3][i] * w[3]);
        break;
    }
}

// 8-bit results are means of values in range.
WNN_INLINE void store(const struct resample *resample, size_t offset, size_t count, const float *values)
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
        for (size_t i = 0; i < count; i++)
            ((int8_t *)to)[i] = (int8_t)(int32_t)wnn_cpu_round_even(values[i]);
        break;
    default:
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)to)[i] = (uint8_t)(int32_t)wnn_cpu_round_even(values[i]);
        break;
    }
}

// Neighbours of POSITIONS output elements along the last axis.
struct columns {
    struct neighbours of[POSITIONS];
    int32_t low[POSITIONS], high[POSITIONS];
    float weight[POSITIONS];
};

// `count` elements from `offset` on, as float32: where they are, or in `buffer`.
WNN_INLINE const float *load(const struct resample *resample, size_t offset, size_t count, float *buffer)
{
    const char *from = resample->input + offset * resample->size;
    switch (resample->type) {
    case WNNDataType_Float32:
        return (const float *)(const void *)from;
    case WNNDataType_Float16:
        wnn_half_to_float_array((const uint16_t *)(const void *)from, buffer, count);
        return buffer;
    case WNNDataType_Int8:
        for (size_t i = 0; i < count; i++)
            buffer[i] = (float)((const int8_t *)from)[i];
        return buffer;
    default:
        for (size_t i = 0; i < count; i++)
            buffer[i] = (float)((const uint8_t *)from)[i];
        return buffer;
    }
}

// Elements one by one, by places that compilers cannot see into: vectors would gather them, which is slower.
WNN_INLINE void blend_neighbours(const float *line, size_t first, const struct columns *x, size_t begin,
                                 size_t end, float *to)
{
    for (size_t j = begin; j < end; j++) {
        size_t low = (size_t)x->low[j] - first, high = (size_t)x->high[j] - first;
        __asm__("" : "+r"(low), "+r"(high));
        float left = line[low], right = line[high], part = x->weight[j];
        float mean = left * (1 - part) + right * part;
        to[j] = part == 0 ? left : mean;
    }
}

// One line of the input at the positions of the output.
struct stretched {
    size_t line;
    float values[POSITIONS];
};

// From a span of the line to the next.
WNN_INLINE void stretch(const struct resample *resample, size_t line, const struct columns *x,
                        size_t positions, struct stretched *to)
{
    float buffer[CHUNK];
    to->line = line;
    for (size_t i = 0, next; i < positions; i = next) {
        size_t first = x->of[i].low;
        next = x->of[positions - 1].high - first < CHUNK ? positions : i + 1;
        for (; next < positions && x->of[next].high - first < CHUNK; next++)
            ;
        const float *from = load(resample, line + first, x->of[next - 1].high - first + 1, buffer);
        blend_neighbours(from, first, x, i, next, to->values);
    }
}

// Elements that stand alone: two lines at the positions of the output, which neighbouring lines of it share,
// become one.
WNN_INLINE void blend_elements(const struct resample *resample, size_t low, size_t high, double weight,
                               const struct columns *x, size_t positions, struct stretched lines[2],
                               size_t to)
{
    float values[POSITIONS], part = (float)weight, rest = (float)(1 - weight);
    if (lines[0].line != low) {
        if (lines[1].line == low)
            lines[0] = lines[1];
        else
            stretch(resample, low, x, positions, &lines[0]);
    }
    if (weight == 0) {
        store(resample, to, positions, lines[0].values);
        return;
    }
    if (lines[1].line != high)
        stretch(resample, high, x, positions, &lines[1]);
    for (size_t i = 0; i < positions; i++)
        values[i] = lines[0].values[i] * rest + lines[1].values[i] * part;
    store(resample, to, positions, values);
}

// Elements of the dimensions behind the last axis.
WNN_INLINE void blend_runs(const struct resample *resample, size_t low, size_t high, double weight,
                           const struct neighbours *x, size_t to)
{
    float values[CHUNK];
    struct taps taps = {.count = 0};
    size_t left = x->low * resample->run, right = x->high * resample->run;
    add_tap(&taps, low + left, (1 - x->weight) * (1 - weight));
    add_tap(&taps, low + right, x->weight * (1 - weight));
    add_tap(&taps, high + left, (1 - x->weight) * weight);
    add_tap(&taps, high + right, x->weight * weight);
    for (size_t first = 0; first < resample->run; first += CHUNK) {
        size_t count = resample->run - first < CHUNK ? resample->run - first : CHUNK;
        blend(resample, &taps, count, values);
        store(resample, to + first, count, values);
        for (unsigned t = 0; t < taps.count; t++)
            taps.offset[t] += CHUNK;
    }
}

static void linear_lines(void *argument, size_t begin, size_t end)
{
    const struct resample *resample = argument;
    struct columns columns;
    struct stretched lines[2];

    for (size_t x = 0; x < resample->out[1]; x += POSITIONS) {
        size_t positions = resample->out[1] - x < POSITIONS ? resample->out[1] - x : POSITIONS;
        for (size_t i = 0; i < positions; i++) {
            columns.of[i] = find_neighbours(resample, 1, x + i);
            columns.low[i] = (int32_t)columns.of[i].low;
            columns.high[i] = (int32_t)columns.of[i].high;
            columns.weight[i] = (float)columns.of[i].weight;
        }
        lines[0].line = lines[1].line = SIZE_MAX;
        for (size_t item = begin; item < end; item++) {
            struct neighbours y = find_neighbours(resample, 0, line_position(resample, item));
            size_t line = line_start(resample, item), to = (item * resample->out[1] + x) * resample->run;
            size_t low = line + y.low * resample->in_stride[0], high = line + y.high * resample->in_stride[0];
            if (resample->run == 1) {
                blend_elements(resample, low, high, y.weight, &columns, positions, lines, to);
                continue;
            }
            for (size_t i = 0; i < positions; i++)
                blend_runs(resample, low, high, y.weight, &columns.of[i], to + i * resample->run);
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
