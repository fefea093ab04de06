// SPDX-License-Identifier: Apache-2.0
//
// Products of float16 images with the channels last: some rows of the output at a time, with a copy in
// float32 of the rows of the input below them, or some small images, are a convolution of their own. The copy
// and the sums stay in the second-level cache.

#include "cpu/conv/conv.h"

#define STRIP_FLOATS (1u << 18) // for each thread
#define LINE_FLOATS  2048       // that are converted at a time

// Along rows, or along pixels where all rows are one.
struct strip_axis {
    const struct conv_axis *axis;
    bool pixels;
    size_t in_line, out_line; // elements
    size_t lines, in_lines;   // of a strip, at most
    size_t images;            // of a strip that has all of their lines
};

static struct strip_axis cut(const struct conv *conv, unsigned threads)
{
    bool pixels = conv->y.taps == 1 && conv->y.count == 1 && conv->y.in == 1;
    struct strip_axis cut = {.axis = pixels ? &conv->x : &conv->y, .pixels = pixels};
    const struct conv_axis *axis = cut.axis;
    cut.in_line = pixels ? conv->in_x : conv->in_y;
    cut.out_line = pixels ? conv->out_x : conv->out_y;
    size_t limit = (size_t)STRIP_FLOATS * threads, span = (axis->taps - 1) * (size_t)axis->offset_step + 1;
    size_t step = wnn_min((size_t)axis->step, span), first = span * cut.in_line;
    size_t most = first < limit ? (limit - first) / (step * cut.in_line + cut.out_line) : 0;
    size_t strips = (axis->count + most) / (most + 1);
    cut.lines = (axis->count + strips - 1) / strips;
    size_t image = conv->in_image + conv->out_image;
    cut.images = image < limit && strips == 1 ? wnn_min(limit / image, conv->batch) : 1;
    size_t reach = (cut.lines - 1) * (size_t)axis->step + span;
    cut.in_lines = strips == 1 ? (size_t)axis->in : wnn_min(reach, (size_t)axis->in);
    return cut;
}

static size_t in_floats(const struct strip_axis *cut)
{
    return wnn_aligned(cut->images * cut->in_lines * cut->in_line * sizeof(float)) / sizeof(float);
}

size_t wnn_conv_strips_scratch(const struct conv *conv, unsigned threads)
{
    struct strip_axis axis = cut(conv, threads);
    return wnn_aligned((in_floats(&axis) + axis.images * axis.lines * axis.out_line) * sizeof(float));
}

struct lines {
    const uint16_t *halves;
    float *floats;
    size_t count;
};

static void widen(void *argument, size_t begin, size_t end)
{
    const struct lines *lines = argument;
    size_t first = begin * LINE_FLOATS;
    wnn_half_to_float_array(lines->halves + first, lines->floats + first,
                            wnn_min(end * LINE_FLOATS, lines->count) - first);
}

// A strip's sums, side by side as their places are, to float16.
struct sums {
    const struct conv *strip;
    const float *range;
    size_t count;
};

static void narrow(void *argument, size_t begin, size_t end)
{
    const struct sums *sums = argument;
    const struct conv *strip = sums->strip;
    for (size_t line = begin; line < end; line++) {
        size_t first = line * LINE_FLOATS, count = wnn_min(sums->count - first, LINE_FLOATS);
        float *values = strip->output + first, addend[LINE_FLOATS];
        uint16_t *to = strip->output_halves + first;
        if (strip->addend_halves != NULL) {
            uint16_t rounded[LINE_FLOATS];
            wnn_half_from_float_array(values, rounded, count);
            wnn_half_to_float_array(rounded, values, count);
            wnn_half_to_float_array(strip->addend_halves + first, addend, count);
            for (size_t i = 0; i < count; i++)
                values[i] += addend[i];
        }
        for (size_t i = 0; sums->range != NULL && i < count; i++) {
            values[i] = values[i] < sums->range[0] ? sums->range[0] : values[i];
            values[i] = values[i] > sums->range[1] ? sums->range[1] : values[i];
        }
        wnn_half_from_float_array(values, to, count);
    }
}

void wnn_conv_strips(const struct conv *conv, void (*run)(const struct conv *strip, const void *argument),
                     const void *argument, const struct parallel *parallel, float *scratch)
{
    const struct strip_axis all = cut(conv, parallel->threads);
    size_t count = all.axis->count, strips = (count + all.lines - 1) / all.lines, images;
    for (size_t i = 0; i < conv->batch * strips; i += images) {
        size_t image = i / strips, first = i % strips * all.lines, lines = wnn_min(all.lines, count - first);
        images = wnn_min(all.images, conv->batch - image);
        // Input lines [low, high).
        int64_t low = all.axis->offset + (int64_t)first * all.axis->step, size = all.axis->in;
        int64_t high = low + ((int64_t)lines - 1) * all.axis->step +
                       ((int64_t)all.axis->taps - 1) * all.axis->offset_step + 1;
        low = strips == 1 || low < 0 ? 0 : low > size ? size : low;
        high = strips == 1 || high > size ? size : high < low ? low : high;

        struct conv strip = *conv;
        struct conv_axis *axis = all.pixels ? &strip.x : &strip.y;
        axis->offset += (int64_t)first * all.axis->step - low;
        axis->count = lines;
        axis->in = high - low;
        strip.batch = images;
        strip.input = scratch;
        strip.output = scratch + in_floats(&all);
        size_t to = image * conv->out_image + first * all.out_line;
        strip.output_halves = conv->output_halves + to;
        if (conv->addend_halves != NULL)
            strip.addend_halves = conv->addend_halves + to;
        struct lines in = {conv->input_halves + image * conv->in_image + (size_t)low * all.in_line, scratch,
                           images * (size_t)(high - low) * all.in_line};
        wnn_parallel_for(parallel, (in.count + LINE_FLOATS - 1) / LINE_FLOATS, 8, widen, &in);
        if (conv->method == CONV_WINOGRAD) // which leaves that to others
            strip.range = NULL;
        run(&strip, argument);
        struct sums sums = {&strip, conv->range, images * lines * all.out_line};
        if (conv->method == CONV_WINOGRAD)
            wnn_parallel_for(parallel, (sums.count + LINE_FLOATS - 1) / LINE_FLOATS, 8, narrow, &sums);
    }
}
