// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolutions with the channels last: each channel has a filter of its own. Neighbouring pixels of
// a row of the output are computed together, vector by vector of channels; those near the left and right
// border, which lack taps, one by one.

#include "cpu/conv/conv.h"

#include "cpu/conv/kernel.h"

#define TAPS       WNN_CONV_TAPS // that are summed at a time
#define RUN_PIXELS 1024          // that are computed between two looks at whether to go on

struct row {
    const struct conv *conv;
    size_t size; // of an element
    const char *image;
    char *out;
    int64_t y; // input coordinate of the first tap
    size_t low, high;
};

// Pixels from x on; one, unless all taps are inside.
static void run_pixels(const struct row *row, size_t x, size_t count, bool inside,
                       void (*kernel)(const struct conv_pixels *pixels))
{
    const struct conv *conv = row->conv;
    const void *in[TAPS];
    const float *weights[TAPS];
    int64_t first = conv->x.offset + (int64_t)x * conv->x.step;
    struct conv_pixels pixels = {
        .in = in,
        .weights = weights,
        .channels = conv->groups,
        .count = count,
        .start = conv->bias,
        .out = row->out + (conv->x.out + x * conv->x.out_step) * conv->out_x * row->size,
        .in_step = (size_t)conv->x.step * conv->in_x,
        .out_step = conv->x.out_step * conv->out_x,
    };
    for (size_t ky = 0; ky < conv->y.taps; ky++) {
        int64_t iy = row->y + (int64_t)ky * conv->y.offset_step;
        if (iy < 0 || iy >= conv->y.in)
            continue;
        const char *line = row->image + (size_t)iy * conv->in_y * row->size;
        const float *filter = conv->filter + (conv->y.tap + ky * conv->y.tap_step) * conv->filter_y +
                              conv->x.tap * conv->filter_x;
        for (size_t kx = 0; kx < conv->x.taps; kx++) {
            int64_t ix = first + (int64_t)kx * conv->x.offset_step;
            if (!inside && (ix < 0 || ix >= conv->x.in))
                continue;
            if (pixels.taps == TAPS) {
                if (wnn_interrupted(conv->interrupt))
                    return;
                kernel(&pixels);
                pixels.start = pixels.out;
                pixels.taps = 0;
            }
            in[pixels.taps] = line + (size_t)ix * conv->in_x * row->size;
            weights[pixels.taps++] = filter + kx * conv->x.tap_step * conv->filter_x;
        }
    }
    pixels.range = conv->range;
    kernel(&pixels);
}

static void run_row(const struct row *row)
{
    const struct conv_kernels *kernels = wnn_conv_kernels();
    size_t count = row->conv->x.count;
    bool halves = row->conv->output_halves != NULL;
    bool many =
        row->conv->y.taps * row->conv->x.taps > TAPS; // the kernel goes on with sums of one pixel only
    for (size_t x = 0, run; x < count && !wnn_interrupted(row->conv->interrupt); x += run) {
        bool inside = x >= row->low && x < row->high;
        size_t most = inside && !many ? wnn_min(row->high - x, RUN_PIXELS) : 1,
               pixels = wnn_min(kernels->rows, most);
        run = most - most % pixels;
        run_pixels(row, x, run, inside, halves ? kernels->pixels_halves[pixels] : kernels->pixels[pixels]);
    }
}

// Items are rows of pixels.
static void run_rows(void *argument, size_t begin, size_t end)
{
    const struct conv *conv = argument;
    bool halves = conv->output_halves != NULL;
    struct row row = {.conv = conv, .size = halves ? sizeof(uint16_t) : sizeof(float)};
    const char *input = halves ? (const char *)conv->input_halves : (const char *)conv->input;
    char *output = halves ? (char *)conv->output_halves : (char *)conv->output;
    wnn_conv_inside(&conv->x, &row.low, &row.high);
    for (size_t item = begin; item < end; item++) {
        size_t image = item / conv->y.count, y = item % conv->y.count;
        row.image = input + image * conv->in_image * row.size;
        row.out = output +
                  (image * conv->out_image + (conv->y.out + y * conv->y.out_step) * conv->out_y) * row.size;
        row.y = conv->y.offset + (int64_t)y * conv->y.step;
        run_row(&row);
    }
}

void wnn_conv_depthwise(const struct conv *conv, const struct parallel *parallel)
{
    size_t work = conv->x.count * conv->groups * (conv->y.taps * conv->x.taps + 4);
    wnn_parallel_for(parallel, conv->batch * conv->y.count, 1 + 65536 / (work + 1), run_rows, (void *)conv);
}
