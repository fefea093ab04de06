// SPDX-License-Identifier: Apache-2.0
//
// What conv2d and convTranspose2d have in common, which is nearly everything. A transposed convolution of
// stride s computes each of its s * s output phases (output elements whose coordinates leave the same rest)
// as a convolution of stride 1 with some of the filter's elements, so that one description of an axis serves
// both. Internal.

#ifndef CPU_CONV_H_
#define CPU_CONV_H_

#include "cpu/matmul/gemm.h"

// One spatial axis. Output coordinate out + t * out_step takes, from tap number k < taps, which is element
// tap + k * tap_step of the filter, input coordinate offset + t * step + k * offset_step, or 0 outside of the
// input.
struct conv_axis {
    size_t taps, tap, tap_step;
    int64_t offset, offset_step, step;
    size_t out, out_step, count;
    int64_t in;
};

// The outputs [*low, *high) have all taps inside of the input.
static inline void wnn_conv_inside(const struct conv_axis *axis, size_t *low, size_t *high)
{
    int64_t reach = ((int64_t)axis->taps - 1) * axis->offset_step;
    int64_t first = axis->offset + (reach < 0 ? reach : 0), last = axis->offset + (reach > 0 ? reach : 0);
    int64_t begin = first < 0 ? (-first + axis->step - 1) / axis->step : 0;
    int64_t end = last < axis->in ? (axis->in - 1 - last) / axis->step + 1 : 0;
    *high = end < (int64_t)axis->count ? (size_t)end : axis->count;
    *low = begin < (int64_t)*high ? (size_t)begin : *high;
}

// How a node is computed: what it reads its filter as, needs scratch memory for and runs goes by this.
enum conv_method {
    CONV_DIRECT,       // groups that are too small for anything else: wnn_conv_planes, or wnn_conv_direct
    CONV_DEPTHWISE,    // one channel a group, with channels_last
    CONV_PRODUCT,      // with channels_last
    CONV_WINOGRAD,     // the same
    CONV_PRODUCT_NCHW, // with the channels first
    CONV_REACH,        // convTranspose2d of many phases with next to nothing to multiply: element by element
};

struct conv_kernels;

struct conv {
    const struct conv_kernels *kernels; // whose tiles the filter of a product is packed for
    const float *input, *filter, *bias;
    const uint16_t *filter_halves; // a filter to be packed, instead of `filter`
    const float *packed;           // (optional) the filter's groups, packed for a product
    const float *range;            // (optional) of the output of a product, or a depthwise convolution
    const float *addend; // (optional) what a product with channels_last is added to, may be the output
    float *output;
    // Of float16, instead of `input` of a depthwise convolution and `output` and `addend` of one or of a
    // product with channels_last, whose `output` is then memory for sums. Or NULL.
    const uint16_t *input_halves, *addend_halves;
    uint16_t *output_halves;
    size_t batch, groups, inputs, outputs; // inputs and outputs: channels of a group
    // The outputs are those of so many output pixels side by side, of which each has one tap of its own, and
    // the same input pixel; 1 but for products of one group with channels_last.
    size_t joined;
    bool channels_last;
    enum conv_method method;
    size_t in_image, in_y, in_x, in_channel; // strides
    size_t out_image, out_y, out_x, out_channel;
    size_t filter_group, filter_out, filter_in, filter_y, filter_x;
    struct conv_axis y, x;
    const struct interrupt *interrupt; // of the execution, or NULL
};

// Which coordinates of an output axis of a transposed convolution some tap reaches: `coordinate` does if
// coordinate + padding is a multiple of `divisor`, and that multiple times `inverse`, modulo `period`, which
// is the first of these taps, is less than `taps`.
struct conv_reach {
    uint64_t divisor; // of stride and dilation, the largest
    uint64_t period;  // taps that reach the same coordinates are so far apart
    uint64_t inverse; // of dilation / divisor, modulo period
    uint64_t taps, padding, stride, dilation;
};

// Writes the output elements that none reaches; the axes of `conv` are the whole output's.
void wnn_conv_unreached(const struct conv *conv, const struct conv_reach *y, const struct conv_reach *x,
                        const struct parallel *parallel);

// Writes all output elements, from a filter and an input with any strides.
void wnn_conv_reach(const struct conv *conv, const struct conv_reach *y, const struct conv_reach *x,
                    const struct parallel *parallel);

// All that follows is for at least one output element, one tap and one input channel.

// Terms of an output.
static inline size_t wnn_conv_terms(const struct conv *conv)
{
    return conv->y.taps * conv->x.taps * conv->inputs;
}

// The product of all pixels with one group of the filter, with channels_last. `packed` has as many floats for
// each group, which wnn_conv_product_pack writes.
void wnn_conv_product(const struct conv *conv, size_t group, const struct parallel *parallel);
size_t wnn_conv_product_floats(const struct conv *conv);
void wnn_conv_product_pack(const struct conv *conv, size_t group, const struct parallel *parallel,
                           float *packed);

// The same for 3 x 3 taps with fewer multiplications, if it suits: channels_last, one group.
bool wnn_conv_winograd_suits(const struct conv *conv);
void wnn_conv_winograd(const struct conv *conv, const struct parallel *parallel, float *scratch);
size_t wnn_conv_winograd_scratch(const struct conv *conv, unsigned threads);
size_t wnn_conv_winograd_floats(const struct conv *conv);
void wnn_conv_winograd_pack(const struct conv *conv, const struct parallel *parallel, float *packed);

// The product of one image and one group with the channels first. `packed` has as many floats for each group,
// which wnn_conv_product_nchw_pack writes for all; it may be NULL. Scratch memory is in bytes.
void wnn_conv_product_nchw(const struct conv *conv, size_t image, size_t group,
                           const struct parallel *parallel, float *scratch);
size_t wnn_conv_product_nchw_scratch(const struct conv *conv);
size_t wnn_conv_product_nchw_floats(const struct conv *conv);
void wnn_conv_product_nchw_pack(const struct conv *conv, const struct parallel *parallel, float *packed);

// Whether the terms of an output channel lie side by side in the filter, so that nothing is gained by
// packing.
bool wnn_conv_product_nchw_reads(const struct conv *conv);

// With channels_last, where groups have one input and one output channel; filter_group is 1. Of float16 with
// at most WNN_CONV_TAPS taps.
#define WNN_CONV_TAPS 64 // whose inputs are listed
void wnn_conv_depthwise(const struct conv *conv, const struct parallel *parallel);

// Whether the outputs of a group are whole vectors, so that wnn_conv_direct is fast and no copies are made of
// the input.
static inline bool wnn_conv_has_quads(const struct conv *conv)
{
    return conv->channels_last && conv->outputs % 4 == 0 && conv->y.taps * conv->x.taps <= WNN_CONV_TAPS;
}

// Loops without a matrix product, for groups that are too small for one. With channels_last, filter_out is 1.
void wnn_conv_direct(const struct conv *conv, const struct parallel *parallel);

// The same with copies of the input's planes, wherever channels are few but not the vectors: false, and
// nothing done, if there would be too much to copy.
bool wnn_conv_planes(const struct conv *conv, const struct parallel *parallel, float *scratch);
size_t wnn_conv_planes_scratch(const struct conv *conv, unsigned threads);

// The same convolution from input_halves, by strips whose `input` is a copy in float32 and whose `output` is
// memory for sums.
void wnn_conv_strips(const struct conv *conv, void (*run)(const struct conv *strip, const void *argument),
                     const void *argument, const struct parallel *parallel, float *scratch);
size_t wnn_conv_strips_scratch(const struct conv *conv, unsigned threads);

#endif
