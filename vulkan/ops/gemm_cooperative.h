// SPDX-License-Identifier: Apache-2.0
//
// Products on matrix units. Of float16 with one rounding at the end; of float32 by pieces, at least as exact
// as sums of float32. False for any other product, which then gets another kernel.

#ifndef VULKAN_OPS_GEMM_COOPERATIVE_H_
#define VULKAN_OPS_GEMM_COOPERATIVE_H_

#include "vulkan/ops/product.h"

// Whether a product can be computed along with another, whose operands are of the same shapes and which reads
// the same first one: of a node that has no tensors yet.
bool wnn_units_pair(const struct gpu *gpu, const struct node *node);

// Appends the dispatches; false: nothing has been appended.
bool wnn_lower_cooperative(struct lowering *lowering, const struct product *product);

#endif
