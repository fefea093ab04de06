// SPDX-License-Identifier: Apache-2.0
//
// Kernels for products of matrices, which convolutions are too.

#ifndef VULKAN_OPS_GEMM_H_
#define VULKAN_OPS_GEMM_H_

#include "vulkan/ops/product.h"

// An invocation for each element, whatever the steps of a and b; without a gather, the output dense.
void wnn_lower_each_product(struct lowering *lowering, const struct product *product);

// Whether each element of the second operand is read once: all rows fit into one tile, whichever.
bool wnn_reads_second_once(const struct product *product);

// Whether tiles are worth it; if not, an invocation for each element does as well.
bool wnn_is_large_product(const struct lowering *lowering, const struct product *product);

// Appends the dispatches; the lowering's scratch memory is as much as wnn_scratch_of_product says, which the
// tensors of a product do not matter to, but for the type of `out`.
void wnn_lower_product(struct lowering *lowering, const struct product *product);
size_t wnn_scratch_of_product(const struct product *product, WNNDataType type);

#endif
