// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/operators.h"

const struct gpu_operator *const wnn_gpu_operators[WNN_OP_END] = {
#define KERNEL(id, name) [WNN_OP_##id] = &wnn_gpu_##name,
#include "ops/kernels.def"
};
