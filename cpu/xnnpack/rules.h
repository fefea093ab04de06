// SPDX-License-Identifier: Apache-2.0
//
// Which nodes XNNPACK may be given, and as what. The packaged library of 2022 checks little: it aborts,
// corrupts memory or computes something else when it meets a case that it was not made for. These rules keep
// it to the cases that it is known to compute.

#ifndef CPU_XNNPACK_RULES_H_
#define CPU_XNNPACK_RULES_H_

#include "ops/expression.h"
#include "ops/geometry.h"

struct xnnpack_image {
    size_t height, width, channels;
};

// A node in XNNPACK's terms: images with the channels last, filters [output, height, width, input].
struct xnnpack_op {
    enum {
        XNNPACK_CONVOLUTION,
        XNNPACK_DECONVOLUTION,
        XNNPACK_AVERAGE_POOL,
        XNNPACK_MAX_POOL,
        XNNPACK_RESIZE,
    } kind;
    bool channels_first; // how the node's input and output lie
    size_t batch;
    struct xnnpack_image in, out;

    // Height and width.
    uint32_t kernel[2], stride[2], dilation[2], before[2], after[2], adjustment[2];

    // The filter: element [group][output][height][width][input] lies at the sum of these strides (in
    // elements).
    uint32_t groups;
    size_t group_in, group_out;
    size_t group_step, out_step, in_step, step[2];

    bool slow_matrices; // on the processor that it is for: see rules.c

    float min, max;
    bool activate;       // the activation is not (only) the range: it has to be applied to the output
    uint64_t memory;     // bytes that XNNPACK will allocate for itself, at most
    const char *refusal; // why not, where it must not compute the node: static text
};

// The operators that XNNPACK may be used for, and the rule of each.
#define XNNPACK_OPERATORS(F)                                                                                 \
    F(averagePool2d, describe_pool2d)                                                                        \
    F(conv2d, describe_conv2d)                                                                               \
    F(convTranspose2d, describe_conv_transpose2d)                                                            \
    F(gemm, describe_product)                                                                                \
    F(matmul, describe_product)                                                                              \
    F(maxPool2d, describe_pool2d)                                                                            \
    F(resample2d, describe_resample2d)

// False if XNNPACK must not compute the node.
bool wnn_xnnpack_describe(const struct node *node, struct xnnpack_op *op);

static inline size_t wnn_image_elements(const struct xnnpack_image *image, size_t batch)
{
    return batch * image->height * image->width * image->channels;
}

// Whether channels first and channels last differ.
static inline bool wnn_image_reordered(const struct xnnpack_op *op, const struct xnnpack_image *image)
{
    return op->channels_first && image->channels > 1 && image->height * image->width > 1;
}

#endif
