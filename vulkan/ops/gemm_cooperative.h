// SPDX-License-Identifier: Apache-2.0
//
// Products on matrix units. Of float16 with one rounding at the end; of float32 by pieces, at least as exact
// as sums of float32. False for any other product, which then gets another kernel.

#ifndef VULKAN_OPS_GEMM_COOPERATIVE_H_
#define VULKAN_OPS_GEMM_COOPERATIVE_H_

#include "vulkan/ops/product.h"

// How many tiles there are for a type, at most.
#define COOPERATIVE_TILES 9

// Whether a product can be computed along with another, whose operands are of the same shapes and which reads
// the same first one: of a node that has no tensors yet.
bool wnn_units_pair(const struct gpu *gpu, const struct node *node);

// How many work groups may share a tile of a product of float16, if the device has matrix units: what scratch
// memory is planned for, whatever the device.
uint32_t wnn_splits_for_units(const struct product *product);

// Appends the dispatches; false: nothing has been appended.
bool wnn_lower_cooperative(struct lowering *lowering, const struct product *product);

#endif
