// SPDX-License-Identifier: Apache-2.0
//
// How much an operator has to do.

#include "ops/geometry.h"

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

static uint64_t max(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

// How often an output and an element of the filter meet along one axis of a transposed convolution, inside of
// the input or outside. Outputs that no tap reaches are not counted. The number of phases is multiplied by
// those of the axis: outputs of one phase meet the same taps.
static uint64_t meetings(uint64_t size, uint64_t taps, uint64_t stride, uint64_t dilation, uint64_t *phases)
{
    uint64_t divisor = stride, rest = dilation;
    while (rest != 0) {
        uint64_t next = divisor % rest;
        divisor = rest;
        rest = next;
    }
    uint64_t period = stride / divisor, reached = min(min(taps, period), size);
    *phases = times(*phases, reached);
    return times(min(size, times(reached, (size - 1) / stride + 1)), (taps - 1) / period + 1);
}

static uint64_t convolution_work(enum op op, struct operand *const *in, const struct descriptor *out,
                                 const void *attrs)
{
    enum {
        PHASE_WORK = 256 // about what it takes to begin with a phase
    };
    const struct convolution c =
        wnn_convolution_of(op, attrs, &in[0]->type.shape, &in[1]->type.shape, &out[0].shape);
    const struct filter *filter = &c.filter;
    // Every output element meets the filter of its channel.
    if (!c.transposed)
        return times(elements(&out[0]), times((uint64_t)filter->inputs * filter->height, filter->width));
    uint64_t phases = 1, work = times((uint64_t)filter->inputs * c.to.batches, filter->outputs);
    work = times(work, meetings(c.to.height, filter->height, c.strides[0], c.dilations[0], &phases));
    work = times(work, meetings(c.to.width, filter->width, c.strides[1], c.dilations[1], &phases));
    return max(work, times(phases, PHASE_WORK));
}

// Every element of the query meets all keys, and every element of the result all values.
static uint64_t attention_work(struct operand *const *in, const struct descriptor *out,
                               const struct attention_attrs *attention)
{
    const struct shape *key = &in[1]->type.shape;
    uint32_t columns = key->dim[attention->keyPermutation.data[key->rank - 1]];
    return times(elements(&in[0]->type) + elements(&out[0]), columns);
}

// Multiply-adds, or where there are none, elements of inputs that may be larger than the first and the
// output.
static uint64_t products(enum op op, struct operand *const *in, const struct descriptor *out,
                         const void *attrs)
{
    switch (wnn_ops[op].class) {
    case CLASS_CONVOLUTION:
        return convolution_work(op, in, out, attrs);
    case CLASS_POOLING: {
        const uint32_t *window = ((const WNNPool2dOptions *)attrs)->windowDimensions.data;
        return times(elements(&out[0]), times(window[0], window[1]));
    }
    case CLASS_PRODUCT: {
        const struct matrix_product p =
            wnn_matrix_product_of(op, attrs, &in[0]->type.shape, &in[1]->type.shape, NULL, &out[0].shape);
        return times(elements(&out[0]), p.k);
    }
    case CLASS_ATTENTION:
        return attention_work(in, out, attrs);
    case CLASS_RECURRENT: {
        const struct shape *input = &in[0]->type.shape; // a cell's has one dimension less
        return times(times(input->dim[0], input->rank == 3 ? input->dim[1] : 1),
                     elements(&in[1]->type) + elements(&in[2]->type));
    }
    case CLASS_FUSED:
        return times(elements(&out[0]), ((const struct elementwise_attrs *)attrs)->count);
    case CLASS_GATHER: {
        uint64_t indices = elements(&in[1]->type);
        return wnn_op_input_rows(&wnn_ops[op]) < 3 ? indices : max(indices, elements(&in[2]->type));
    }
    case CLASS_UNARY:
    case CLASS_ACTIVATION:
    case CLASS_BINARY:
    case CLASS_ELEMENTWISE:
    case CLASS_REDUCTION:
    case CLASS_COPY:
    case CLASS_OTHER:
    case CLASS_SHAPING:
    case CLASS_FORM:
        break;
    }
    return 0;
}

// No less than the elements of any operand: each may have to be read or written.
uint64_t wnn_op_work(enum op op, struct operand *const *in, const struct descriptor *out, unsigned out_count,
                     const void *attrs)
{
    uint64_t work = products(op, in, out, attrs), written = 0;
    for (unsigned i = 0; i < out_count; i++)
        written += elements(&out[i]);
    return max(max(work, in[0] ? elements(&in[0]->type) : 0), written);
}
