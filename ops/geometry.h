// SPDX-License-Identifier: Apache-2.0
//
// What the shapes and attributes of operators say, whatever the layouts: read here once, for inference,
// estimates of work, the compiler and the backends.

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

// matmul and gemm: alpha * A * B + beta * C of matrices with m rows, k terms and n columns.
struct matrix_product {
    size_t m, n, k;
    size_t a_row, a_term, b_term, b_column; // elements from one to the next
    double alpha, beta;
    size_t c_row, c_column; // likewise, of C; 0: it is broadcast
    // The matrices of the output, by its leading dimensions. Rank 0: one; where all share the only B, those
    // of A lie below one another, and are one.
    struct shape batch;
    size_t count, b_count;                               // of the output's matrices and of B's
    size_t a_steps[WNN_MAX_RANK], b_steps[WNN_MAX_RANK]; // elements from one to the next, by those dimensions
};

struct matrix_product wnn_matrix_product_of(enum op op, const void *attrs, const struct shape *a,
                                            const struct shape *b, const struct shape *c,
                                            const struct shape *output);

static inline struct matrix_product wnn_node_matrix_product(const struct node *node)
{
    const struct operand *c = node->op == WNN_OP_gemm && node->in_count > 2 ? node->in[2] : NULL;
    return wnn_matrix_product_of((enum op)node->op, node->attrs, &node->in[0]->type.shape,
                                 &node->in[1]->type.shape, c ? &c->type.shape : NULL,
                                 &node->out[0]->type.shape);
}

// resample2d: [outer, in[0], middle, in[1], inner] becomes [outer, out[0], middle, out[1], inner].
struct resampling {
    bool linear;
    unsigned first, second; // the dimensions that are resampled
    uint32_t in[2], out[2];
    size_t outer, middle, inner;
};

struct resampling wnn_node_resampling(const struct node *node);

// Operators that look at all elements along some dimensions: reductions, argMin and argMax, softmax,
// cumulativeSum and the normalizations of groups.
struct reduction_axes {
    uint32_t mask; // bit d: along dimension d
    // Of the normalizations: elements of scale and bias from one to the next along each dimension.
    size_t parameter[WNN_MAX_RANK];
    double epsilon;
};

struct reduction_axes wnn_node_reduction_axes(const struct node *node);

// rotaryEmbedding: elements of the input's halves, which are `dim`. Of the input, the cosines and the sines:
// elements from one to the next along each dimension, and from the first half to the second.
struct rotation {
    unsigned rank;
    uint32_t dim[WNN_MAX_RANK];
    size_t steps[3][WNN_MAX_RANK], far[3];
};

struct rotation wnn_node_rotation(const struct node *node);

// A list of dimensions by bit.
uint32_t wnn_axes_mask(WNNUint32List axes);

#endif
