// SPDX-License-Identifier: Apache-2.0
//
// What the shapes and attributes of operators on images say, whatever the layouts: read here once, for
// inference, estimates of work, the compiler and the backends.

#ifndef OPS_GEOMETRY_H_
#define OPS_GEOMETRY_H_

#include "ops/op.h"

// A tensor of rank 4, whose elements are n, c, y and x apart.
struct image {
    bool nhwc;
    uint32_t batches, channels, height, width;
    uint32_t n, c, y, x;
};

struct image wnn_image_of(const struct shape *shape, WNNInputOperandLayout layout);

// A filter, whose elements are o, i, y and x apart. The channels of one side are those of one group: of the
// inputs in conv2d, of the outputs in convTranspose2d.
struct filter {
    uint32_t outputs, inputs, height, width;
    uint32_t o, i, y, x;
};

// Which dimensions of a filter are the output channels, input channels, height and width. NULL: no such
// layout.
const uint8_t *wnn_filter_axes(enum op op, const void *attrs);

// conv2d and convTranspose2d.
struct convolution {
    bool transposed;
    struct image from, to;
    struct filter filter;
    uint32_t groups, inputs, outputs; // channels of a group
    uint32_t filter_group;            // elements of the filter from one group to the next
    // Of height and width: padding before and after each.
    const uint32_t *padding, *strides, *dilations;
};

// `output` may be NULL: there is none yet.
struct convolution wnn_convolution_of(enum op op, const void *attrs, const struct shape *input,
                                      const struct shape *filter, const struct shape *output);

static inline struct convolution wnn_node_convolution(const struct node *node)
{
    return wnn_convolution_of((enum op)node->op, node->attrs, &node->in[0]->type.shape,
                              &node->in[1]->type.shape, &node->out[0]->type.shape);
}

// The three pools.
struct pooling {
    struct image from, to;
    const uint32_t *window, *padding, *strides, *dilations;
    bool global; // the window is all of an image
};

struct pooling wnn_node_pooling(const struct node *node);

#endif
