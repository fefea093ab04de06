// SPDX-License-Identifier: Apache-2.0
//
// A kernel for products of few rows with constants, floats or quantized: such products take as long as it
// takes to read the constants.

#ifndef VULKAN_OPS_FEW_ROWS_H_
#define VULKAN_OPS_FEW_ROWS_H_

#include "vulkan/ops/weights.h"

// The product's weights say that they are for it.
void wnn_lower_few_rows(struct lowering *lowering, const struct product *product);

#endif
