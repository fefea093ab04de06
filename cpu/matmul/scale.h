// SPDX-License-Identifier: Apache-2.0
//
// What gemm makes of a product: alpha * A * B + beta * C.

#ifndef CPU_MATMUL_SCALE_H_
#define CPU_MATMUL_SCALE_H_

#include "cpu/matmul/gemm.h"
#include "ops/geometry.h"

struct gemm_scale {
    float alpha, beta;
    const float *addend;              // C, or NULL
    size_t addend_row, addend_column; // elements from one to the next; 0: one for all
};

// Without C, which wnn_gemm_read_addend reads.
static inline struct gemm_scale wnn_gemm_scale_of(const struct matrix_product *product)
{
    return (struct gemm_scale){.alpha = (float)product->alpha,
                               .beta = (float)product->beta,
                               .addend_row = product->c_row,
                               .addend_column = product->c_column};
}

static inline void wnn_gemm_read_addend(struct gemm_scale *scale, const struct kernel_call *call,
                                        struct scratch *scratch)
{
    if (call->node->op == WNN_OP_gemm && call->node->in_count > 2 && call->in[2].data)
        scale->addend = wnn_floats_in(call, 2, scratch);
}

// Results of A * B that lie in one row, from a column on.
static inline void wnn_gemm_scale_values(const struct gemm_scale *scale, float *values, size_t row,
                                         size_t column, size_t count)
{
    for (size_t j = 0; j < count && scale->alpha != 1; j++)
        values[j] *= scale->alpha;
    if (!scale->addend)
        return;
    const float *addend = scale->addend + row * scale->addend_row + column * scale->addend_column;
    if (scale->addend_column == 0) {
        float value = scale->beta * *addend;
        for (size_t j = 0; j < count; j++)
            values[j] += value;
    } else {
        for (size_t j = 0; j < count; j++)
            values[j] += scale->beta * addend[j];
    }
}

#endif
