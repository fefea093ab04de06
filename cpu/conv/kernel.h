// SPDX-License-Identifier: Apache-2.0
//
// The vector loops of the convolutions with the channels last, once for each instruction set. Internal.

#ifndef CPU_CONV_KERNEL_H_
#define CPU_CONV_KERNEL_H_

#include "lib/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WNN_CONV_MAX_ROWS = 7,   // pixels of a tile
    WNN_CONV_MAX_PANEL = 64, // output channels of a tile
};

// Tiles of the output: pixel r of the first has, in each of its channels, the sum over segment s and i <
// length of rows[s * kernels->rows + r][i] times row s * length + i of the filter, plus `start` of the
// channel, plus the addend.
struct conv_tile {
    const float *const *rows;
    size_t segments, length;
    const float *filter; // a row has as many floats as the tile has channels
    const float *start;  // by channel, with zeros up to whole vectors, or NULL
    const float *addend; // may be `out`, or NULL
    const float *range;  // (optional) the least and the greatest value; NaN stays
    float *out;
    size_t addend_stride, out_stride; // from pixel to pixel
    // (optional) Where results of float16 go instead of `out`, and what they are added to once they are
    // rounded: the range is that of the sums, which are rounded again. Both have halves_stride.
    uint16_t *halves;
    const uint16_t *addend_halves;
    size_t halves_stride;
    unsigned tail; // lanes of the last vector that are channels, at least 1
    // So many tiles that follow each other in the output, the rows of each so many floats behind the last
    // one's.
    size_t count, in_step;
    // What will be read next: a line at `ahead`, and so on in steps of so many bytes, is fetched with every
    // row of the filter. Not followed.
    uintptr_t ahead;
    size_t ahead_step;
};

// Neighbouring pixels of a depthwise convolution: pixel p has in channel c the sum over t < taps of
// in[t][p * in_step + c] * weights[t][c], plus `start` of the channel. `in` and `out` are of float32 or of
// float16.
struct conv_pixels {
    const void *const *in;
    const float *const *weights;
    size_t taps, channels;
    size_t count;       // of pixels, a multiple of those that the kernel computes at a time
    const float *start; // by channel, may be `out` if there is one pixel, or NULL
    const float *range; // as above
    void *out;
    size_t in_step, out_step;
};

// Neighbouring pixels of a convolution in groups of a few channels: output o of a group has in pixel p the
// sum over t < taps and i < inputs of in[t][p * in_step + group * inputs + i] times the weight of o in
// weights[t], group * filter_group + i * filter_in floats behind, plus `start` of the channel.
struct conv_groups {
    const float *const *in;
    const float *const *weights;
    size_t taps, groups, inputs, outputs; // the outputs of a group are a multiple of four
    size_t filter_group, filter_in;
    size_t count;       // of pixels
    const float *start; // by channel, or NULL
    float *out;
    size_t in_step, out_step;
};

struct conv_kernels {
    unsigned rows, lanes, vectors; // a tile has up to `vectors` vectors of channels
    // By vectors - 1 and pixels. NULL: the next larger number of pixels will do.
    void (*tile[WNN_CONV_MAX_PANEL / 16][WNN_CONV_MAX_ROWS + 1])(const struct conv_tile *tile);
    // By pixels, up to `rows`: of float32, and of float16.
    void (*pixels[WNN_CONV_MAX_ROWS + 1])(const struct conv_pixels *pixels);
    void (*pixels_halves[WNN_CONV_MAX_ROWS + 1])(const struct conv_pixels *pixels);
    void (*groups)(const struct conv_groups *groups);
};

// The best for this processor, and those of an ISA.
const struct conv_kernels *wnn_conv_kernels(void);
const struct conv_kernels *wnn_conv_kernels_of(enum isa isa);

#endif
