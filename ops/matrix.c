// SPDX-License-Identifier: Apache-2.0
//
// Inference of gemm and matmul.

#include "ops/op.h"

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gemm
bool wnn_infer_gemm(struct op_call *call)
{
    WNNGemmOptions *options = call->attrs;
    const struct descriptor *a = &call->in[0]->type, *b = &call->in[1]->type;
    uint32_t m = a->shape.dim[options->aTranspose], inner_a = a->shape.dim[!options->aTranspose];
    uint32_t inner_b = b->shape.dim[options->bTranspose], n = b->shape.dim[!options->bTranspose];
    if (inner_a != inner_b)
        return wnn_op_fail(call, "a %s%s has %u columns; expected %u, the rows of b %s%s",
                           SHAPE_TEXT(&a->shape), options->aTranspose ? " transposed" : "", inner_a, inner_b,
                           SHAPE_TEXT(&b->shape), options->bTranspose ? " transposed" : "");
    call->out[0] = (struct descriptor){a->type, {2, {m, n}}};
    const struct operand *c = call->in[2];
    if (c && !wnn_shape_broadcast_to(&c->type.shape, &call->out[0].shape))
        return wnn_op_fail(call, "c %s cannot be broadcast to %s", SHAPE_TEXT(&c->type.shape),
                           SHAPE_TEXT(&call->out[0].shape));
    options->alpha = wnn_round_to_dtype(options->alpha, a->type);
    options->beta = wnn_round_to_dtype(options->beta, a->type);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-matmul
bool wnn_infer_matmul(struct op_call *call)
{
    struct shape a = call->in[0]->type.shape, b = call->in[1]->type.shape;
    uint32_t rows = a.dim[a.rank - 2], inner_a = a.dim[a.rank - 1];
    uint32_t inner_b = b.dim[b.rank - 2], columns = b.dim[b.rank - 1];
    if (inner_a != inner_b)
        return wnn_op_fail(call, "a %s has %u columns; expected %u, the rows of b %s", SHAPE_TEXT(&a),
                           inner_a, inner_b, SHAPE_TEXT(&b));
    struct shape batch, *out = &call->out[0].shape;
    a.rank -= 2;
    b.rank -= 2;
    if (!wnn_shape_broadcast(&a, &b, &batch))
        return wnn_op_fail(call, "the batch dimensions %s of a and %s of b cannot be broadcast together",
                           SHAPE_TEXT(&a), SHAPE_TEXT(&b));
    *out = batch;
    wnn_shape_append(out, (uint32_t[]){rows, columns}, 2);
    call->out[0].type = call->in[0]->type.type;
    return true;
}
