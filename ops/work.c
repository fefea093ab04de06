// SPDX-License-Identifier: Apache-2.0
//
// How much an operator has to do.

#include "ops/op.h"

// Saturating.
static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    return wnn_multiply(a, b, &product) ? product : UINT64_MAX;
}

static uint64_t elements(const struct descriptor *type)
{
    return wnn_shape_elements(&type->shape);
}

uint64_t wnn_op_work(enum op op, struct operand *const *in, const struct descriptor *out, unsigned out_count,
                     const void *attrs)
{
    switch (op) {
    case WNN_OP_conv2d: {
        // Every output element meets the filter of its channel.
        const WNNConv2dOptions *options = attrs;
        const struct shape *filter = &in[1]->type.shape;
        bool last = options->filterLayout == WNNConv2dFilterOperandLayout_HWIO ||
                    options->filterLayout == WNNConv2dFilterOperandLayout_IHWO;
        return times(elements(&out[0]), elements(&in[1]->type) / filter->dim[last ? 3 : 0]);
    }
    case WNN_OP_convTranspose2d: {
        // Every input element meets the filter of its channel.
        const WNNConvTranspose2dOptions *options = attrs;
        bool first = options->filterLayout == WNNConvTranspose2dFilterOperandLayout_IOHW;
        return times(elements(&in[0]->type), elements(&in[1]->type) / in[1]->type.shape.dim[first ? 0 : 3]);
    }
    case WNN_OP_averagePool2d:
    case WNN_OP_l2Pool2d:
    case WNN_OP_maxPool2d: {
        const WNNPool2dOptions *options = attrs;
        return times(elements(&out[0]),
                     times(options->windowDimensions.data[0], options->windowDimensions.data[1]));
    }
    case WNN_OP_matmul:
        return times(elements(&out[0]), in[0]->type.shape.dim[in[0]->type.shape.rank - 1]);
    case WNN_OP_attention: {
        // Every element of the query meets all keys, and every element of the result all values.
        const struct attention_attrs *attention = attrs;
        const struct shape *key = &in[1]->type.shape;
        uint32_t columns = key->dim[attention->keyPermutation.data[key->rank - 1]];
        return times(elements(&in[0]->type) + elements(&out[0]), columns);
    }
    case WNN_OP_gemm:
        return times(elements(&out[0]), in[0]->type.shape.dim[!((const WNNGemmOptions *)attrs)->aTranspose]);
    case WNN_OP_gru:
    case WNN_OP_lstm:
        return times(times(in[0]->type.shape.dim[0], in[0]->type.shape.dim[1]),
                     elements(&in[1]->type) + elements(&in[2]->type));
    case WNN_OP_gruCell:
    case WNN_OP_lstmCell:
        return times(in[0]->type.shape.dim[0], elements(&in[1]->type) + elements(&in[2]->type));
    case WNN_OP_elementwise:
        return times(elements(&out[0]), ((const struct elementwise_attrs *)attrs)->count);
    default: {
        uint64_t read = in[0] ? elements(&in[0]->type) : 0, written = 0;
        for (unsigned i = 0; i < out_count; i++)
            written += elements(&out[i]);
        return read > written ? read : written;
    }
    }
}
