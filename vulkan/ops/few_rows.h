// SPDX-License-Identifier: Apache-2.0
//
// Kernels for products of few rows with constants, floats or quantized: such products take as long as it
// takes to read the constants.

#ifndef VULKAN_OPS_FEW_ROWS_H_
#define VULKAN_OPS_FEW_ROWS_H_

#include "vulkan/ops/weights.h"

// Whether there is shared memory for the rows of a product, which are normalized there (tensor.deferred).
bool wnn_few_rows_have_room(const struct capabilities *can, const struct product *product);

// Whether the kernel computes a product along with another whose weights lie alike (wnn_weights_are_alike).
bool wnn_few_rows_pair(const struct node *node);

// The product's weights say that they are for it.
void wnn_lower_few_rows(struct lowering *lowering, const struct product *product);

#endif
