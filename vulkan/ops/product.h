// SPDX-License-Identifier: Apache-2.0
//
// A product of matrices, and what shaders of all its kernels are told.

#ifndef VULKAN_OPS_PRODUCT_H_
#define VULKAN_OPS_PRODUCT_H_

#include "vulkan/program/shader.h"

// How the rows of a product's first operand are gathered from an image whose channels come last: a row for
// each pixel of the output, in it the channels of a group at one tap of the filter after another.
struct gather {
    bool fixed;      // the filter's shape is the same for all sizes of a late graph
    bool transposed; // strides and padding are the output's, as of convTranspose2d
    uint32_t in_height, in_width, out_height, out_width;
    uint32_t filter_width, channels;
    uint32_t image, line, pixel;                   // steps of elements in the input
    uint32_t padding[2], strides[2], dilations[2]; // vertical, horizontal
};

// out[m, n] = finish(alpha * sum of a[m, k] * b[k, n] + beta * c[m, n]), for each matrix of the output.
struct product {
    const struct tensor *a, *b, *out;
    const struct tensor *c;        // NULL: none
    const struct gather *gather;   // NULL: the rows of a are as they are in memory
    const struct weights *weights; // how b lies; NULL: as its steps say
    bool fixed_b;                  // its shape is the same for all sizes of a late graph
    uint32_t rows, columns, inner, matrices;
    // Steps of elements; a row of the output is as its elements are.
    uint32_t a_row, a_inner, b_column, out_row;
    // Row k of b begins at (k / b_run) * b_jump + (k % b_run) * b_inner; b_run is `inner` if they are evenly
    // apart.
    uint32_t b_run, b_jump, b_inner;
    double alpha, beta;
    // Where the operands' matrices begin, by dimensions that count the output's.
    unsigned rank;
    uint32_t dims[WNN_MAX_RANK];
    int64_t a_steps[WNN_MAX_RANK], b_steps[WNN_MAX_RANK], out_steps[WNN_MAX_RANK];
    // The elements of c, by two dimensions that count the output's.
    uint32_t c_dims[2];
    int64_t c_steps[2];
};

// Whether the steps between elements of a are the same for all sizes of a late graph.
bool wnn_has_fixed_rows(const struct product *product);

// Whether words of an output of that type hold elements of two rows, and so would have two writers: sums then
// go to scratch memory first.
bool wnn_product_is_odd(const struct product *product, WNNDataType type);

// Whether an invocation for each element, which waits for one term after the other, is as fast as what reads
// many terms at once: there are few terms, or the device is a processor, which waits little.
bool wnn_product_is_small(const struct capabilities *can, const struct product *product);

// How many columns and terms there are, and the steps between them.
void wnn_product_steps(struct shader *shader, const struct product *product);

// The numbers that say where the pixels of a convolution's rows lie.
void wnn_product_gather(struct shader *shader, const struct gather *from);

// scaled(sum, i): with alpha, beta and c, for element i of the output. With `quads`, scaled_quad(sums, i)
// too, for the four elements from i on, which is a multiple of 4, as is the number of columns.
void wnn_product_scale(struct shader *shader, const struct product *product, bool quads);

// Both, for sums that are not all of their elements'.
void wnn_product_sums(struct shader *shader);

// The deferred product that what is fused with this one reads, or NULL.
const struct deferred *wnn_product_partner(const struct lowering *lowering);

// `partner`: an element of that product, where what is fused reads it; partner_of(sum, i): what becomes of
// its sum.
void wnn_product_partner_results(struct shader *shader, const struct deferred *partner, WNNDataType type);

// Adds up what splits have left, one after the other with elements as in the output, and finishes the
// results.
void wnn_product_sum(struct lowering *lowering, const struct product *product, const struct tensor *partials,
                     uint32_t splits);

#endif
