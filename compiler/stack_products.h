// SPDX-License-Identifier: Apache-2.0
//
// One product of parts that have one input and as many columns each: [parts, rows, columns], each of which is
// a matrix of its own behind the one before. What split_products.c and join_products.c share.

#ifndef COMPILER_STACK_PRODUCTS_H_
#define COMPILER_STACK_PRODUCTS_H_

#include "compiler/rewrite.h"

enum {
    WNN_MAX_STACKED = 8
};

// What is left of a dimension: of outer * whole * inner elements, outer * size * inner.
struct cut {
    unsigned axis;
    uint32_t outer, whole, inner, at, size;
};

static inline uint32_t wnn_cut_size(const struct cut *cut)
{
    return cut->outer * cut->size * cut->inner;
}

static inline bool wnn_is_product(const struct node *node)
{
    return node && (node->op == WNN_OP_gemm || node->op == WNN_OP_matmul);
}

static inline bool wnn_turns_weights(const struct node *product)
{
    return product->op == WNN_OP_gemm && ((const WNNGemmOptions *)product->attrs)->bTranspose;
}

// A slice of an operand; of a constant it is folded later. NULL when memory runs out.
struct operand *wnn_cut_slice(struct graph *graph, struct operand *operand, const struct cut *cut,
                              size_t place);

// Columns of a product of all rows of its input and one constant matrix, and what a row adds to them.
struct stacked_part {
    const struct node *product;
    struct operand *row; // a constant, or NULL
    struct cut cut;      // of the columns; the axis does not matter
};

// The product of which an operand is the result, or the sum with a constant row: part->product, NULL if there
// is none, and part->row.
void wnn_stack_find(const struct operand *operand, struct stacked_part *part);

// Whether parts can be stacked, given that the weights are constants or made of such, and that they are
// parts of products of one input.
bool wnn_stack_can(const struct stacked_part *parts, unsigned count);

// Makes the product, and results[i] of part i, [1, rows, columns], in front of the node of that index. False:
// out of memory.
bool wnn_stack(struct pass_context *context, struct graph *graph, const struct stacked_part *parts,
               unsigned count, size_t place, struct operand **results);

// Whether an operand is the queries, keys or values of what fuse_attention takes, with nothing between them
// that it does not know: it reads parts where they lie. Looks at nodes from number `from` on.
bool wnn_stack_is_attended(const struct graph *graph, const struct operand *operand, size_t from);

#endif
