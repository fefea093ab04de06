// SPDX-License-Identifier: Apache-2.0
//
// Which kernel computes which operator, and which computes it on quantized operands.

#include "cpu/kernel.h"

const struct kernel *const wnn_cpu_kernels[WNN_OP_END] = {
#define KERNEL(id, name) [WNN_OP_##id] = &wnn_cpu_##name,
#include "ops/kernels.def"
};

static const struct kernel *find_quantized(const struct node *node)
{
    bool is_product = wnn_ops[node->op].class == CLASS_PRODUCT;
    if (!wnn_prologue_scale(node, 0) && wnn_prologue_scale(node, 1))
        return is_product ? &wnn_cpu_gemm_nbit : &wnn_cpu_elementwise_int8;
    return is_product                         ? &wnn_cpu_gemm_int8
           : node->op == WNN_OP_conv2d        ? &wnn_cpu_conv2d_int8
           : node->op == WNN_OP_averagePool2d ? &wnn_cpu_pool_int8
                                              : &wnn_cpu_elementwise_int8;
}

const struct kernel *wnn_cpu_kernel(const struct node *node)
{
    return wnn_is_quantized(node) ? find_quantized(node) : wnn_cpu_kernels[node->op];
}

bool wnn_cpu_accepts_quantized(const struct node *node)
{
    return find_quantized(node)->accepts(node);
}
