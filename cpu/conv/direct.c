// SPDX-License-Identifier: Apache-2.0
//
// Convolutions in small groups: sums of vectors of channels, or of pieces of rows.

#include "cpu/conv/conv.h"
#include "cpu/conv/kernel.h"

#define CHUNK 256 // sums at a time
#define TERMS 32  // vectors that are added at a time

static void start(float *sums, const float *bias, size_t count)
{
    if (bias != NULL)
        memcpy(sums, bias, count * sizeof *sums);
    else
        memset(sums, 0, count * sizeof *sums);
}

// ---------------------------------------------------------------------------------------------------------------
// Channels last
// ---------------------------------------------------------------------------------------------------------------

// The input element below tap (ky, kx) of an output element, or NULL.
static const float *tap_input(const struct conv *conv, size_t image, size_t y, size_t x, size_t ky, size_t kx)
{
    int64_t iy = conv->y.offset + (int64_t)y * conv->y.step + (int64_t)ky * conv->y.offset_step;
    int64_t ix = conv->x.offset + (int64_t)x * conv->x.step + (int64_t)kx * conv->x.offset_step;
    if (iy < 0 || iy >= conv->y.in || ix < 0 || ix >= conv->x.in)
        return NULL;
    return conv->input + image * conv->in_image + (size_t)iy * conv->in_y + (size_t)ix * conv->in_x;
}

static const float *tap_filter(const struct conv *conv, size_t ky, size_t kx)
{
    return conv->filter + (conv->y.tap + ky * conv->y.tap_step) * conv->filter_y +
           (conv->x.tap + kx * conv->x.tap_step) * conv->filter_x;
}

// out[o] += sum of values[t][i] * weights[t][i, o] in each group.
static void add_groups(const struct conv *conv, float *out, const float *const *values,
                       const float *const *weights, size_t terms)
{
    size_t stride = conv->filter_in, count = conv->outputs;
    for (size_t group = 0; group < conv->groups; group++, out += count) {
        size_t first = group * conv->inputs, offset = group * conv->filter_group, o = 0;
        for (; o + 4 <= count; o += 4) {
            wnn_quad sum = wnn_quad_load(out + o);
            for (size_t t = 0; t < terms; t++) {
                const float *value = values[t] + first, *weight = weights[t] + offset + o;
                for (size_t i = 0; i < conv->inputs; i++)
                    sum += value[i] * wnn_quad_load(weight + i * stride);
            }
            wnn_quad_store(out + o, sum);
        }
        for (; o < count; o++) {
            float sum = out[o];
            for (size_t t = 0; t < terms; t++) {
                const float *value = values[t] + first, *weight = weights[t] + offset + o;
                for (size_t i = 0; i < conv->inputs; i++)
                    sum += value[i] * weight[i * stride];
            }
            out[o] = sum;
        }
    }
}

// The pixels [low, high), which have the same taps inside of the input, of a convolution that has quads:
// several at a time.
static void alike_pixels(const struct conv *conv, size_t image, size_t y, float *out, size_t low, size_t high)
{
    const float *values[WNN_CONV_TAPS], *weights[WNN_CONV_TAPS];
    struct conv_groups groups = {.in = values,
                                 .weights = weights,
                                 .groups = conv->groups,
                                 .inputs = conv->inputs,
                                 .outputs = conv->outputs,
                                 .filter_group = conv->filter_group,
                                 .filter_in = conv->filter_in,
                                 .start = conv->bias,
                                 .in_step = (size_t)conv->x.step * conv->in_x,
                                 .out_step = conv->x.out_step * conv->out_x};
    for (size_t ky = 0; ky < conv->y.taps; ky++)
        for (size_t kx = 0; kx < conv->x.taps; kx++) {
            const float *from = tap_input(conv, image, y, low, ky, kx);
            if (from == NULL)
                continue;
            values[groups.taps] = from;
            weights[groups.taps++] = tap_filter(conv, ky, kx);
        }
    for (size_t x = low; x < high && !wnn_interrupted(conv->interrupt); x += groups.count) {
        for (size_t t = 0; x > low && t < groups.taps; t++)
            values[t] += groups.count * groups.in_step;
        groups.count = wnn_min(CHUNK, high - x);
        groups.out = out + (conv->x.out + x * conv->x.out_step) * conv->out_x;
        conv->kernels->groups(&groups);
    }
}

// Neighbouring pixels far from the border have the same taps.
static void pixel_row(const struct conv *conv, size_t image, size_t y, float *out)
{
    const float *values[TERMS], *weights[TERMS];
    size_t terms = 0, stride = (size_t)conv->x.step * conv->in_x, low, high;
    bool known = false;

    wnn_conv_inside(&conv->x, &low, &high);
    if (wnn_conv_has_quads(conv)) {
        for (size_t x = 0; x < conv->x.count && !wnn_interrupted(conv->interrupt);) {
            size_t end = x == low && low < high ? high : x + 1;
            alike_pixels(conv, image, y, out, x, end);
            x = end;
        }
        return;
    }
    for (size_t x = 0; x < conv->x.count && !wnn_interrupted(conv->interrupt); x++) {
        bool inside = x >= low && x < high;
        float *pixel = out + (conv->x.out + x * conv->x.out_step) * conv->out_x;
        start(pixel, conv->bias, conv->groups * conv->outputs);
        if (known && inside) {
            for (size_t t = 0; t < terms; t++)
                values[t] += stride;
        } else {
            terms = 0;
            known = inside;
            for (size_t ky = 0; ky < conv->y.taps; ky++) {
                for (size_t kx = 0; kx < conv->x.taps; kx++) {
                    const float *from = tap_input(conv, image, y, x, ky, kx);
                    if (from == NULL)
                        continue;
                    if (terms == TERMS) {
                        if (wnn_interrupted(conv->interrupt))
                            return;
                        add_groups(conv, pixel, values, weights, terms);
                        terms = 0;
                        known = false;
                    }
                    values[terms] = from;
                    weights[terms++] = tap_filter(conv, ky, kx);
                }
            }
        }
        add_groups(conv, pixel, values, weights, terms);
    }
}

// Items are rows of pixels.
static void channels_last_rows(void *argument, size_t begin, size_t end)
{
    const struct conv *conv = argument;
    for (size_t row = begin; row < end; row++) {
        size_t image = row / conv->y.count, y = row % conv->y.count;
        pixel_row(conv, image, y,
                  conv->output + image * conv->out_image +
                      (conv->y.out + y * conv->y.out_step) * conv->out_y);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Channels first
// ---------------------------------------------------------------------------------------------------------------

// The part [*low, *high) of `count` output elements from element x on for which tap kx is inside of the
// input.
static void inside(const struct conv_axis *axis, size_t x, size_t count, size_t kx, size_t *low, size_t *high)
{
    int64_t first = axis->offset + (int64_t)x * axis->step + (int64_t)kx * axis->offset_step;
    int64_t begin = first < 0 ? -first : 0, end = first < axis->in ? axis->in - first : 0;
    if (axis->step > 1) {
        begin = (begin + axis->step - 1) / axis->step;
        end = (end + axis->step - 1) / axis->step;
    }
    *high = end < (int64_t)count ? (size_t)end : count;
    *low = begin < (int64_t)*high ? (size_t)begin : *high;
}

struct row {
    const struct conv *conv;
    const float *input;  // of the image and group
    const float *filter; // of the output channel
    int64_t y;           // input coordinate of the first tap
    size_t x, count;     // output elements
    size_t low, high;    // of these, those that have all taps of an input row inside of the input
    float *sums;
};

// The elements of [begin, end) in turn.
static void add_edge(const struct row *row, size_t begin, size_t end, size_t channel, size_t ky,
                     const float *input)
{
    const struct conv *conv = row->conv;
    if (begin == end)
        return;
    const float *filter = row->filter + channel * conv->filter_in +
                          (conv->y.tap + ky * conv->y.tap_step) * conv->filter_y +
                          conv->x.tap * conv->filter_x;
    for (size_t kx = 0; kx < conv->x.taps; kx++) {
        float weight = filter[kx * conv->x.tap_step * conv->filter_x];
        size_t low, high;
        inside(&conv->x, row->x + begin, end - begin, kx, &low, &high);
        int64_t first = conv->x.offset + (int64_t)(row->x + begin + low) * conv->x.step +
                        (int64_t)kx * conv->x.offset_step;
        float *sums = row->sums + begin;
        for (size_t j = low; j < high; j++, first += conv->x.step)
            sums[j] += weight * input[first];
    }
}

static void sum_row(const struct row *row)
{
    const struct conv *conv = row->conv;
    const struct float_kernels *kernels = wnn_float_kernels();
    const float *values[TERMS];
    float weights[TERMS];
    size_t terms = 0;
    bool middle = row->low < row->high;

    for (size_t channel = 0; channel < conv->inputs; channel++) {
        for (size_t ky = 0; ky < conv->y.taps; ky++) {
            if (wnn_interrupted(conv->interrupt))
                return;
            int64_t iy = row->y + (int64_t)ky * conv->y.offset_step;
            if (iy < 0 || iy >= conv->y.in)
                continue;
            const float *input = row->input + channel * conv->in_channel + (size_t)iy * conv->in_y;
            if (!middle) {
                add_edge(row, 0, row->count, channel, ky, input);
                continue;
            }
            add_edge(row, 0, row->low, channel, ky, input);
            add_edge(row, row->high, row->count, channel, ky, input);
            const float *filter = row->filter + channel * conv->filter_in +
                                  (conv->y.tap + ky * conv->y.tap_step) * conv->filter_y +
                                  conv->x.tap * conv->filter_x;
            for (size_t kx = 0; kx < conv->x.taps; kx++) {
                values[terms] = input + (conv->x.offset + (int64_t)(row->x + row->low) +
                                         (int64_t)kx * conv->x.offset_step);
                weights[terms++] = filter[kx * conv->x.tap_step * conv->filter_x];
                if (terms == TERMS) {
                    kernels->combine(row->sums + row->low, row->high - row->low, values, weights, terms);
                    terms = 0;
                }
            }
        }
    }
    if (terms > 0)
        kernels->combine(row->sums + row->low, row->high - row->low, values, weights, terms);
}

// Items are rows of the output planes.
static void channels_first_rows(void *argument, size_t begin, size_t end)
{
    const struct conv *conv = argument;
    float sums[CHUNK];

    for (size_t item = begin; item < end; item++) {
        size_t y = item % conv->y.count, channel = item / conv->y.count % (conv->groups * conv->outputs);
        size_t image = item / conv->y.count / (conv->groups * conv->outputs), group = channel / conv->outputs;
        float *out = conv->output + image * conv->out_image + channel * conv->out_channel +
                     (conv->y.out + y * conv->y.out_step) * conv->out_y;
        struct row row = {
            .conv = conv,
            .input = conv->input + image * conv->in_image + group * conv->inputs * conv->in_channel,
            .filter = conv->filter + group * conv->filter_group + channel % conv->outputs * conv->filter_out,
            .y = conv->y.offset + (int64_t)y * conv->y.step,
            .sums = sums,
        };
        for (row.x = 0; row.x < conv->x.count; row.x += CHUNK) {
            row.count = wnn_min(CHUNK, conv->x.count - row.x);
            row.low = 0;
            row.high = conv->x.step == 1 ? row.count : 0;
            for (size_t kx = 0; kx < conv->x.taps && row.low < row.high; kx++) {
                size_t low, high;
                inside(&conv->x, row.x, row.count, kx, &low, &high);
                row.low = low > row.low ? low : row.low;
                row.high = wnn_min(row.high, high);
            }
            for (size_t j = 0; j < row.count; j++)
                sums[j] = conv->bias == NULL ? 0 : conv->bias[channel];
            sum_row(&row);
            for (size_t j = 0; j < row.count; j++)
                out[conv->x.out + (row.x + j) * conv->x.out_step] = sums[j];
        }
    }
}

void wnn_conv_direct(const struct conv *conv, const struct parallel *parallel)
{
    size_t taps = conv->y.taps * conv->x.taps + 1;
    if (conv->channels_last) {
        size_t work = conv->x.count * conv->groups * conv->outputs * conv->inputs * taps;
        wnn_parallel_for(parallel, conv->batch * conv->y.count, 1 + 16384 / (work + 1), channels_last_rows,
                         (void *)conv);
    } else {
        size_t work = conv->x.count * conv->inputs * taps;
        wnn_parallel_for(parallel, conv->batch * conv->groups * conv->outputs * conv->y.count,
                         1 + 16384 / (work + 1), channels_first_rows, (void *)conv);
    }
}
