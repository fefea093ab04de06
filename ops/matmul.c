// SPDX-License-Identifier: Apache-2.0
//
// Inference of gemm and matmul.

#include "ops/op.h"

#include <inttypes.h>

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gemm
bool wnn_infer_gemm(struct op_call *call)
{
    WNNGemmOptions *options = call->attrs;
    const struct descriptor *a = &call->in[0]->type, *b = &call->in[1]->type;
    uint32_t m = a->shape.dim[options->aTranspose], inner_a = a->shape.dim[!options->aTranspose];
    uint32_t inner_b = b->shape.dim[options->bTranspose], n = b->shape.dim[!options->bTranspose];
    if (wnn_sizes_differ(call->sizes, inner_a, inner_b))
        return wnn_op_fail(call, "a %s%s has %s columns; expected %s, the rows of b %s%s",
                           SHAPE_OF(call, &a->shape), options->aTranspose ? " transposed" : "",
                           SIZE_OF(call, inner_a), SIZE_OF(call, inner_b), SHAPE_OF(call, &b->shape),
                           options->bTranspose ? " transposed" : "");
    call->out[0] = (struct descriptor){a->type, {2, {m, n}}};
    const struct operand *c = call->in[2];
    if (c && !wnn_sizes_broadcast_to(call->sizes, &c->type.shape, &call->out[0].shape))
        return wnn_op_fail(call, "c %s cannot be broadcast to %s", SHAPE_OF(call, &c->type.shape),
                           SHAPE_OF(call, &call->out[0].shape));
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
    if (wnn_sizes_differ(call->sizes, inner_a, inner_b))
        return wnn_op_fail(call, "a %s has %s columns; expected %s, the rows of b %s", SHAPE_OF(call, &a),
                           SIZE_OF(call, inner_a), SIZE_OF(call, inner_b), SHAPE_OF(call, &b));
    struct shape batch, *out = &call->out[0].shape;
    a.rank -= 2;
    b.rank -= 2;
    if (!wnn_sizes_broadcast(call->sizes, &a, &b, &batch))
        return wnn_op_fail(call, "the batch dimensions %s of a and %s of b cannot be broadcast together",
                           SHAPE_OF(call, &a), SHAPE_OF(call, &b));
    *out = batch;
    wnn_shape_append(out, (uint32_t[]){rows, columns}, 2);
    call->out[0].type = call->in[0]->type.type;
    return true;
}

// Whether the permutation is one, and the operand's shape in its order.
static bool permute(struct op_call *call, const char *name, WNNUint32List permutation,
                    const struct shape *shape, struct shape *permuted)
{
    uint32_t seen = 0;
    if (permutation.count != shape->rank)
        return wnn_op_fail(call, "%s has %zu items; expected %u", name, permutation.count, shape->rank);
    permuted->rank = shape->rank;
    for (unsigned i = 0; i < shape->rank; i++) {
        uint32_t from = permutation.data[i];
        if (from >= shape->rank || seen & 1u << from)
            return wnn_op_fail(call, "%s[%u] is %u; expected another dimension below %u", name, i, from,
                               shape->rank);
        seen |= 1u << from;
        permuted->dim[i] = shape->dim[from];
    }
    return true;
}

// Whether attended keys are those of a mask of so many keys.
static bool fits_mask(const struct shape *attended, const struct operand *mask, uint32_t keys)
{
    if (!mask || mask->type.shape.rank == 0)
        return false;
    struct shape shape = mask->type.shape;
    uint32_t *last = &shape.dim[shape.rank - 1];
    bool whole = *last == keys;
    *last = WNN_ATTENDED_NUMBERS;
    return whole && wnn_shape_equal(attended, &shape);
}

bool wnn_infer_attendedKeys(struct op_call *call)
{
    const struct attended_keys_attrs *attrs = call->attrs;
    if (attrs->distance < 0)
        return wnn_op_fail(call, "distance is %g; expected 0 or more", attrs->distance);
    call->out[0] = (struct descriptor){WNNDataType_Uint32, call->in[0]->type.shape};
    call->out[0].shape.dim[call->out[0].shape.rank - 1] = WNN_ATTENDED_NUMBERS;
    return true;
}

bool wnn_infer_attention(struct op_call *call)
{
    const struct attention_attrs *attrs = call->attrs;
    struct shape query, key, value, scores;
    if (call->in_count != 5 || call->in[0]->type.shape.rank < 2)
        return wnn_op_fail(call, "expected query, key, value, mask and attended keys, of rank 2 or more");
    if (!permute(call, "queryPermutation", attrs->queryPermutation, &call->in[0]->type.shape, &query) ||
        !permute(call, "keyPermutation", attrs->keyPermutation, &call->in[1]->type.shape, &key) ||
        !permute(call, "valuePermutation", attrs->valuePermutation, &call->in[2]->type.shape, &value))
        return false;
    unsigned rank = query.rank;
    bool fits = key.rank == rank && value.rank == rank && query.dim[rank - 1] == key.dim[rank - 2] &&
                key.dim[rank - 1] == value.dim[rank - 2];
    for (unsigned d = 0; fits && d + 2 < rank; d++)
        fits = (key.dim[d] == query.dim[d] || key.dim[d] == 1) &&
               (value.dim[d] == query.dim[d] || value.dim[d] == 1);
    if (!fits)
        return wnn_op_fail(call, "query %s, key %s and value %s do not fit", SHAPE_OF(call, &query),
                           SHAPE_OF(call, &key), SHAPE_OF(call, &value));
    scores = query;
    scores.dim[rank - 1] = key.dim[rank - 1];
    if (call->in[3] && !wnn_shape_broadcast_to(&call->in[3]->type.shape, &scores))
        return wnn_op_fail(call, "mask %s cannot be broadcast to %s",
                           SHAPE_OF(call, &call->in[3]->type.shape), SHAPE_OF(call, &scores));
    if (call->in[4] && !fits_mask(&call->in[4]->type.shape, call->in[3], key.dim[rank - 1]))
        return wnn_op_fail(call, "attended keys %s are not those of the mask",
                           SHAPE_OF(call, &call->in[4]->type.shape));
    uint64_t rows = query.dim[rank - 2], keys = key.dim[rank - 1], window = attrs->window,
             end = attrs->windowEnd;
    if (window > 0 && (!call->in[3] || end == 0 || end > keys || rows - 1 + end >= keys + window))
        return wnn_op_fail(
            call, "window is %" PRIu64 " and windowEnd %" PRIu64 "; expected a mask, and keys for each row",
            window, end);
    struct shape mixed = query;
    mixed.dim[rank - 1] = value.dim[rank - 1];
    call->out[0].type = call->in[0]->type.type;
    return permute(call, "outputPermutation", attrs->outputPermutation, &mixed, &call->out[0].shape);
}
