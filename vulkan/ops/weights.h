// SPDX-License-Identifier: Apache-2.0
//
// Constant second operands of products, floats or quantized, that lie with the terms of a column side by
// side: kernels make floats of integers in registers, so that nothing but the integers is ever in memory.

#ifndef VULKAN_OPS_WEIGHTS_H_
#define VULKAN_OPS_WEIGHTS_H_

#include "compiler/plan.h"
#include "vulkan/ops/product.h"

// How those of a node lie (node->choice of a matmul or gemm; NULL: as its operands say).
struct weights {
    bool few_rows; // for the kernels for these; else they are quantized, or
    bool plain;    // floats of which only the order is another, for any kernel
    bool on_units; // of these for that on matrix units
    bool turned;   // the bytes are those of the transpose, of scales and zero points too
    bool exact;    // they are rounded as dequantizeLinear alone would round them
    // Of quantized ones: how many columns and terms share a scale, and the elements from one scale or zero
    // point to the next along the columns and the terms.
    uint32_t block_columns, block_terms, scale_column, scale_term, zero_column, zero_term;
};

// The product of a node, by shapes and attributes, with its tensors left out. matmul.c
struct product wnn_product_of(const struct node *node);

// Whether a product of float16, of few rows, is soonest done on matrix units (gemm_cooperative.h); also of a
// node that has no tensors yet.
bool wnn_is_for_units(const struct capabilities *can, const struct product *product, bool quantized);

// Whether the node would be computed with the integers that are fused at its second operand.
bool wnn_takes_quantized(const struct gpu *gpu, const struct node *node);

// Decides for the nodes of a plan, and lets constants lie as is best; uses are counted. False: no memory,
// nobody has the bytes of scales, or a node reads a constant as its type says that lies otherwise, which only
// graphs can have that were loaded.
bool wnn_arrange_weights(const struct gpu *gpu, struct plan *plan, struct error *error);

// Weights of so many bits that are loaded together: each column has whole units.
uint32_t wnn_weight_unit(unsigned bits);

// Whether all weights of units of so many terms have one scale; floats do.
bool wnn_has_single_scales(const struct weights *weights, unsigned bits, uint32_t unit);

// Whether the weights of two products that have some lie alike, whatever they are.
bool wnn_weights_are_alike(const struct node *a, const struct node *b);

// Those of a product in packs of so many, by shaders/weights.comp, behind INNER; `dense`: b_quad(i) and
// b_at(i) too, by elements.
void wnn_shader_weights(struct shader *shader, const struct product *product, uint32_t unit, bool dense);

// Behind them, others that lie alike: partner_pack, partner_scale_at and partner_zero_at.
void wnn_shader_partner_weights(struct shader *shader, const struct tensor *b, uint32_t unit);

#endif
