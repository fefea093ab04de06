// SPDX-License-Identifier: Apache-2.0
//
// Kernels for products of few rows with constants, floats or quantized: such products take as long as it
// takes to read the constants.

#ifndef VULKAN_OPS_FEW_ROWS_H_
#define VULKAN_OPS_FEW_ROWS_H_

#include "vulkan/ops/weights.h"

// Whether the product of a node, with weights of so many bits, is better done on matrix units: of float16, by
// devices of which it is known which invocation has what of a matrix. Weights of which not all of a unit have
// one scale (wnn_has_single_scales) are not for them.
bool wnn_few_rows_suit_units(const struct capabilities *can, const struct node *node,
                             const struct product *product, unsigned bits);

// Whether there is shared memory for the rows of a product, which are normalized there (tensor.deferred).
bool wnn_few_rows_have_room(const struct capabilities *can, const struct product *product);

// Whether the kernel computes a product along with another whose weights lie alike (wnn_weights_are_alike).
bool wnn_few_rows_pair(const struct node *node);

// The product's weights say that they are for it.
void wnn_lower_few_rows(struct lowering *lowering, const struct product *product);

#endif
