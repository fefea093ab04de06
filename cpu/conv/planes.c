// SPDX-License-Identifier: Apache-2.0
//
// Convolutions in small groups, one group at a time: the planes of its input channels are copied with their
// padding, and cut by the stride into planes of every step-th row and element, so that a tap is a plane that
// is shifted by some elements. Sums are then taken over several rows at once, with what lies between the rows
// for nothing.

#include "cpu/conv/conv.h"

#define TERMS        64
#define PLANE_FLOATS 8192            // that a strip's planes had better not exceed,
#define MAX_FLOATS   (1u << 17)      // and must not
#define SLACK_FLOATS WNN_GEMM_MAX_NR // behind planes and sums, for whole vectors

// One axis: tap k of output element t is element t + shift(k) of the plane phase(k).
struct cut {
    int64_t first;          // input coordinate of element 0 of plane 0
    int64_t offset;         // of the lowest tap, from tap 0
    size_t planes, longest; // longest: the largest shift
};

struct strips {
    const struct conv *conv;
    struct cut y, x;
    size_t rows, count;                 // output rows of a strip, strips of an image
    size_t pitch, plane, channel, sums; // floats
    size_t chunks;
    float *scratch;
};

static struct cut cut_axis(const struct conv_axis *axis)
{
    int64_t last = axis->taps > 0 ? ((int64_t)axis->taps - 1) * axis->offset_step : 0;
    struct cut cut = {.offset = last < 0 ? last : 0};
    size_t span = (size_t)(last < 0 ? -last : last);
    cut.first = axis->offset + cut.offset;
    cut.planes = wnn_min((size_t)axis->step, span + 1);
    cut.longest = span / (size_t)axis->step;
    return cut;
}

// False if the planes are too large for any strip.
static bool describe_strips(const struct conv *conv, struct strips *strips)
{
    *strips = (struct strips){.conv = conv, .y = cut_axis(&conv->y), .x = cut_axis(&conv->x)};
    size_t planes = strips->y.planes * strips->x.planes * conv->inputs, height = strips->y.longest;
    strips->pitch = conv->x.count + strips->x.longest;
    if (conv->inputs > MAX_FLOATS || strips->y.planes > MAX_FLOATS || strips->x.planes > MAX_FLOATS ||
        planes > MAX_FLOATS || strips->pitch > MAX_FLOATS || height > MAX_FLOATS ||
        (planes * (height + 1) + 1) * strips->pitch > MAX_FLOATS)
        return false;
    size_t fitting = PLANE_FLOATS / (planes * strips->pitch);
    strips->rows = wnn_min(conv->y.count, fitting > height ? fitting - height : 1);
    strips->count = (conv->y.count + strips->rows - 1) / strips->rows;
    strips->rows = (conv->y.count + strips->count - 1) / strips->count;
    strips->count = (conv->y.count + strips->rows - 1) / strips->rows;
    strips->plane = (strips->rows + height) * strips->pitch;
    strips->channel = strips->y.planes * strips->x.planes * strips->plane;
    strips->sums = strips->rows * strips->pitch + SLACK_FLOATS;
    return true;
}

static size_t chunk_floats(const struct strips *strips)
{
    size_t unit = WNN_ALIGNMENT / sizeof(float);
    return (strips->conv->inputs * strips->channel + SLACK_FLOATS + strips->sums + unit - 1) / unit * unit;
}

static size_t item_count(const struct strips *strips)
{
    return strips->conv->batch * strips->conv->groups * strips->count;
}

// Elements first, first + step, ... of a row, where they are inside of it.
static void copy_row(const float *line, int64_t first, int64_t step, int64_t size, size_t stride,
                     size_t count, float *to)
{
    int64_t begin = first < 0 ? (step - 1 - first) / step : 0;
    int64_t end = first < size ? (size - 1 - first) / step + 1 : 0;
    size_t high = end < (int64_t)count ? (size_t)end : count;
    size_t low = begin < (int64_t)high ? (size_t)begin : high;
    const float *from = line + (low < high ? (size_t)(first + (int64_t)low * step) * stride : 0);
    stride *= (size_t)step;
    if (stride == 1) {
        memcpy(to + low, from, (high - low) * sizeof *to);
    } else if (stride == 2) {
        for (size_t j = low; j < high; j++)
            to[j] = from[2 * (j - low)];
    } else {
        for (size_t j = low; j < high; j++)
            to[j] = from[stride * (j - low)];
    }
}

static void copy_planes(const struct strips *strips, const float *channel, size_t row, float *to)
{
    const struct conv *conv = strips->conv;
    for (size_t py = 0; py < strips->y.planes; py++) {
        for (size_t px = 0; px < strips->x.planes; px++) {
            for (size_t r = 0; r < strips->rows + strips->y.longest; r++, to += strips->pitch) {
                int64_t y = strips->y.first + (int64_t)(row + r) * conv->y.step + (int64_t)py;
                if (y >= 0 && y < conv->y.in)
                    copy_row(channel + (size_t)y * conv->in_y, strips->x.first + (int64_t)px, conv->x.step,
                             conv->x.in, conv->in_x, strips->pitch, to);
            }
        }
    }
}

// Where the taps of an output element begin in the planes of a channel.
static size_t tap_place(const struct strips *strips, size_t ky, size_t kx)
{
    const struct conv *conv = strips->conv;
    size_t y = (size_t)((int64_t)ky * conv->y.offset_step - strips->y.offset);
    size_t x = (size_t)((int64_t)kx * conv->x.offset_step - strips->x.offset);
    size_t step_y = (size_t)conv->y.step, step_x = (size_t)conv->x.step;
    return (y % step_y * strips->x.planes + x % step_x) * strips->plane + y / step_y * strips->pitch +
           x / step_x;
}

static void sum_output(const struct strips *strips, const float *planes, const float *filter, float bias,
                       size_t count, float *sums)
{
    const struct conv *conv = strips->conv;
    const struct float_kernels *kernels = wnn_float_kernels();
    const float *values[TERMS];
    float weights[TERMS];
    size_t terms = 0;
    bool first = true;
    for (size_t i = 0; i < conv->inputs; i++) {
        for (size_t ky = 0; ky < conv->y.taps; ky++) {
            for (size_t kx = 0; kx < conv->x.taps; kx++) {
                if (terms == TERMS) {
                    if (wnn_interrupted(conv->interrupt))
                        return;
                    kernels->weigh(sums, count, bias, values, weights, terms, !first);
                    first = false;
                    terms = 0;
                }
                values[terms] = planes + i * strips->channel + tap_place(strips, ky, kx);
                weights[terms++] =
                    filter[i * conv->filter_in + (conv->y.tap + ky * conv->y.tap_step) * conv->filter_y +
                           (conv->x.tap + kx * conv->x.tap_step) * conv->filter_x];
            }
        }
    }
    if (terms > 0 || first)
        kernels->weigh(sums, count, bias, values, weights, terms, !first);
}

static void store_rows(const struct strips *strips, const float *sums, size_t row, size_t rows,
                       float *channel)
{
    const struct conv *conv = strips->conv;
    for (size_t r = 0; r < rows; r++, sums += strips->pitch) {
        float *to =
            channel + (conv->y.out + (row + r) * conv->y.out_step) * conv->out_y + conv->x.out * conv->out_x;
        size_t step = conv->x.out_step * conv->out_x;
        if (step == 1) {
            memcpy(to, sums, conv->x.count * sizeof *to);
        } else {
            for (size_t j = 0; j < conv->x.count; j++)
                to[j * step] = sums[j];
        }
    }
}

// Items are the strips of a group of an image, then the groups, then the images.
static void run_item(const struct strips *strips, size_t item, float *scratch)
{
    const struct conv *conv = strips->conv;
    size_t strip = item % strips->count, group = item / strips->count % conv->groups;
    size_t image = item / strips->count / conv->groups, row = strip * strips->rows;
    size_t rows = wnn_min(strips->rows, conv->y.count - row);
    size_t unit = strips->sums, count = ((rows - 1) * strips->pitch + conv->x.count + 15) / 16 * 16;
    float *sums = scratch, *planes = scratch + unit;
    const float *input = conv->input + image * conv->in_image + group * conv->inputs * conv->in_channel;

    memset(planes, 0, (conv->inputs * strips->channel + SLACK_FLOATS) * sizeof *planes);
    for (size_t i = 0; i < conv->inputs; i++)
        copy_planes(strips, input + i * conv->in_channel, row, planes + i * strips->channel);
    for (size_t o = 0; o < conv->outputs && !wnn_interrupted(conv->interrupt); o++) {
        size_t channel = group * conv->outputs + o;
        sum_output(strips, planes, conv->filter + group * conv->filter_group + o * conv->filter_out,
                   conv->bias == NULL ? 0 : conv->bias[channel], count, sums);
        store_rows(strips, sums, row, rows,
                   conv->output + image * conv->out_image + channel * conv->out_channel);
    }
}

static void run_chunks(void *argument, size_t begin, size_t end)
{
    const struct strips *strips = argument;
    size_t items = item_count(strips);
    for (size_t chunk = begin; chunk < end; chunk++) {
        for (size_t i = items * chunk / strips->chunks;
             i < items * (chunk + 1) / strips->chunks && !wnn_interrupted(strips->conv->interrupt); i++)
            run_item(strips, i, strips->scratch + chunk * chunk_floats(strips));
    }
}

static size_t chunk_count(const struct strips *strips, unsigned threads)
{
    return wnn_min(item_count(strips), threads == 1 ? 1 : 4 * (size_t)threads);
}

bool wnn_conv_planes(const struct conv *conv, const struct parallel *parallel, float *scratch)
{
    struct strips strips;
    if (!describe_strips(conv, &strips))
        return false;
    strips.scratch = scratch;
    strips.chunks = chunk_count(&strips, parallel->threads);
    size_t work =
        strips.rows * strips.pitch * conv->inputs * (conv->outputs * conv->y.taps * conv->x.taps + 4);
    size_t items = item_count(&strips) / strips.chunks;
    wnn_parallel_for(parallel, strips.chunks, 1 + 65536 / (work * items + 1), run_chunks, &strips);
    return true;
}

size_t wnn_conv_planes_scratch(const struct conv *conv, unsigned threads)
{
    struct strips strips;
    if (!describe_strips(conv, &strips))
        return 0;
    return wnn_aligned(chunk_count(&strips, threads) * chunk_floats(&strips) * sizeof(float));
}
