// SPDX-License-Identifier: Apache-2.0
//
// Which kernel computes which operator on quantised operands, and whether it does so for a node as it stands.

#include "cpu/kernel.h"

struct quantized_kernel {
    struct kernel kernel;
    bool (*accepts)(const struct node *node);
};

enum {
    FIRST = 1,
    BOTH = 3
};

static const struct quantized_kernel conv2d = {{wnn_cpu_conv2d_int8, wnn_cpu_conv2d_int8_scratch, 0,
                                                wnn_cpu_conv2d_int8_packed_bytes, wnn_cpu_conv2d_int8_pack,
                                                wnn_int8_activates},
                                               wnn_cpu_conv2d_int8_accepts};

static const struct quantized_kernel product = {{wnn_cpu_gemm_int8, wnn_cpu_gemm_int8_scratch, 0,
                                                 wnn_cpu_gemm_int8_packed_bytes, wnn_cpu_gemm_int8_pack,
                                                 wnn_int8_activates},
                                                wnn_cpu_gemm_int8_accepts};

static const struct quantized_kernel weights = {
    {wnn_cpu_weights, wnn_cpu_weights_scratch, 0, NULL, NULL, NULL}, wnn_cpu_weights_accepts};

static const struct quantized_kernel pool = {{wnn_cpu_pool_int8, NULL, 0, NULL, NULL, NULL},
                                             wnn_cpu_pool_int8_accepts};

static const struct quantized_kernel elementwise = {
    {wnn_cpu_elementwise_int8, NULL, BOTH, wnn_cpu_elementwise_int8_packed_bytes,
     wnn_cpu_elementwise_int8_pack, wnn_cpu_elementwise_int8_activates},
    wnn_cpu_elementwise_int8_accepts};

static const struct quantized_kernel *find(const struct node *node)
{
    if (!wnn_is_quantized(node, 0) && wnn_is_quantized(node, 1))
        return node->op == WNN_OP_gemm || node->op == WNN_OP_matmul ? &weights : &elementwise;
    switch (node->op) {
    case WNN_OP_conv2d:
        return &conv2d;
    case WNN_OP_gemm:
    case WNN_OP_matmul:
        return &product;
    case WNN_OP_averagePool2d:
        return &pool;
    default:
        return &elementwise;
    }
}

const struct kernel *wnn_cpu_kernel(const struct node *node)
{
    return node->quantized ? &find(node)->kernel : &wnn_cpu_kernels[node->op];
}

bool wnn_cpu_accepts_quantized(const struct node *node)
{
    return find(node)->accepts(node);
}
