// SPDX-License-Identifier: Apache-2.0
//
// Operators of elements, reductions and normalizations, and those that take indices.
#include "conformance/fuzz/operands.h"

static void take_affine(struct recorder *r, WNNDataType type, struct shape shape, WNNOperand *scale,
                        WNNOperand *bias, double *epsilon)
{
    *scale = fuzz_maybe_like(r, 128, type, shape);
    *bias = fuzz_maybe_like(r, 128, type, shape);
    *epsilon = CHANCE(r, 60) ? fuzz_take_real(r) : *epsilon;
}

void fuzz_prepare_normalization(struct recorder *r, struct call *call)
{
    struct descriptor type;
    if (call->op == WNN_OP_batchNormalization) {
        WNNBatchNormalizationOptions *options = (void *)call->attrs;
        put(call, fuzz_pick(r, FLOATS, 1, WNN_MAX_RANK, &type));
        options->axis = type.shape.rank > 1 && !CHANCE(r, 80) ? 1 : BELOW(r, type.shape.rank);
        struct shape channels = vector(type.shape.dim[options->axis]);
        put(call, fuzz_like(r, type.type, channels));
        put(call, fuzz_like(r, type.type, channels));
        take_affine(r, type.type, channels, &options->scale, &options->bias, &options->epsilon);
        options->activation = CHANCE(r, 60) ? fuzz_take_activation(r) : NULL;
    } else if (call->op == WNN_OP_instanceNormalization) {
        WNNInstanceNormalizationOptions *options = (void *)call->attrs;
        put(call, fuzz_pick(r, FLOATS, 4, 4, &type));
        options->layout = (WNNInputOperandLayout)(1 + BELOW(r, 2));
        struct shape channels = vector(type.shape.dim[options->layout == WNNInputOperandLayout_NHWC ? 3 : 1]);
        take_affine(r, type.type, channels, &options->scale, &options->bias, &options->epsilon);
    } else {
        WNNLayerNormalizationOptions *options = (void *)call->attrs;
        put(call, fuzz_pick(r, FLOATS, 0, WNN_MAX_RANK, &type));
        struct shape over = {.rank = type.shape.rank ? type.shape.rank - 1 : 0};
        if (CHANCE(r, 180)) {
            over.rank = BELOW(r, type.shape.rank + 1);
            uint32_t *axes = fuzz_new_list(r, over.rank, &options->axes);
            uint32_t first = CHANCE(r, 100) ? BELOW(r, type.shape.rank) : type.shape.rank - over.rank;
            for (unsigned i = 0; i < over.rank; i++) {
                axes[i] = (first + i) % type.shape.rank;
                over.dim[i] = type.shape.dim[axes[i]];
            }
        } else {
            memcpy(over.dim, type.shape.dim + 1, over.rank * sizeof over.dim[0]);
        }
        take_affine(r, type.type, over, &options->scale, &options->bias, &options->epsilon);
    }
}

void fuzz_prepare_binary(struct recorder *r, struct call *call)
{
    const struct op_row *rows = wnn_ops[call->op].rows;
    struct descriptor a;
    WNNOperand first = fuzz_pick(r, rows[0].types, 0, WNN_MAX_RANK, &a), second = first;
    uint8_t byte = take(r->bytes);
    if (byte >= 32)
        second = fuzz_like(r, a.type, fuzz_narrowed(r, a.shape));
    bool swap = byte % 4 == 3 && call->op != WNN_OP_prelu;
    put(call, swap ? second : first);
    put(call, swap ? first : second);
}

void fuzz_prepare_where(struct recorder *r, struct call *call)
{
    struct descriptor a;
    WNNOperand first = fuzz_pick(r, ALL, 0, WNN_MAX_RANK, &a);
    put(call, fuzz_like(r, WNNDataType_Uint8, fuzz_narrowed(r, a.shape)));
    put(call, first);
    put(call, fuzz_like(r, a.type, fuzz_narrowed(r, a.shape)));
}

void fuzz_prepare_quantize(struct recorder *r, struct call *call)
{
    const struct op_row *rows = wnn_ops[call->op].rows;
    bool dequantize = call->op == WNN_OP_dequantizeLinear;
    struct descriptor type;
    put(call, fuzz_pick(r, rows[0].types, 0, WNN_MAX_RANK, &type));
    struct shape scale = type.shape;
    uint8_t byte = take(r->bytes);
    for (unsigned d = 0; d < scale.rank; d++)
        if (byte % 4 == 0) // one of all, of each, of some dimensions, or of blocks
            scale.dim[d] = 1;
        else if (byte % 4 == 2)
            scale.dim[d] = CHANCE(r, 128) ? 1 : scale.dim[d];
        else if (byte % 4 == 3)
            scale.dim[d] = scale.dim[d] % 4 == 0 ? scale.dim[d] / 4 : scale.dim[d] % 3 ? 1 : scale.dim[d] / 3;
    put(call, fuzz_like(r, dequantize ? fuzz_take_type(r, FLOATS) : type.type, scale));
    put(call, fuzz_like(r, dequantize ? type.type : fuzz_take_type(r, rows[2].types), scale));
}

static void take_axes(struct recorder *r, WNNUint32List *list, unsigned rank)
{
    uint8_t byte = take(r->bytes);
    if (byte < 64)
        return; // absent
    unsigned count = byte < 140 && rank > 0 ? 1 : BELOW(r, rank + 1);
    uint32_t *axes = fuzz_new_list(r, count, list);
    uint32_t first = BELOW(r, rank);
    for (unsigned i = 0; i < count; i++)
        axes[i] = (first + (byte & 1 ? i : rank - i)) % rank;
}

void fuzz_prepare_reduction(struct recorder *r, struct call *call)
{
    const struct op_row *rows = wnn_ops[call->op].rows;
    struct descriptor type;
    put(call, fuzz_pick(r, rows[0].types, rows[0].min_rank, WNN_MAX_RANK, &type));
    unsigned rank = type.shape.rank;
    if (call->op == WNN_OP_argMin || call->op == WNN_OP_argMax) {
        struct arg_min_max_attrs *attrs = (void *)call->attrs;
        attrs->axis = BELOW(r, rank);
        attrs->options.keepDimensions = CHANCE(r, 128);
        attrs->options.outputDataType = CHANCE(r, 128) ? WNNDataType_Int64 : WNNDataType_Int32;
    } else if (call->op == WNN_OP_argMinAxes || call->op == WNN_OP_argMaxAxes) {
        WNNArgMinMaxAxesOptions *options = (void *)call->attrs;
        take_axes(r, &options->axes, rank);
        options->keepDimensions = CHANCE(r, 128);
        options->selectLastIndex = CHANCE(r, 128);
    } else if (call->op == WNN_OP_reverse) {
        take_axes(r, &((WNNReverseOptions *)(void *)call->attrs)->axes, rank);
    } else if (call->op == WNN_OP_softmax) {
        ((struct softmax_attrs *)(void *)call->attrs)->axis = BELOW(r, rank);
    } else if (call->op == WNN_OP_cumulativeSum) {
        struct cumulative_sum_attrs *attrs = (void *)call->attrs;
        attrs->axis = BELOW(r, rank);
        attrs->options.exclusive = CHANCE(r, 128);
        attrs->options.reversed = CHANCE(r, 128);
    } else {
        WNNReduceOptions *options = (void *)call->attrs;
        take_axes(r, &options->axes, rank);
        options->keepDimensions = CHANCE(r, 128);
    }
}

void fuzz_prepare_gather(struct recorder *r, struct call *call)
{
    struct descriptor type;
    put(call, fuzz_pick(r, ALL, 1, WNN_MAX_RANK, &type));
    struct shape *shape = &type.shape, indices = *shape, updates;
    WNNDataType index_type = fuzz_take_type(r, INDICES);
    uint32_t axis = BELOW(r, shape->rank);
    switch ((int)call->op) {
    case WNN_OP_gather:
        ((WNNGatherOptions *)(void *)call->attrs)->axis = axis;
        put(call, fuzz_like(r, index_type, fuzz_take_shape(r, 0, WNN_MAX_RANK + 1 - shape->rank)));
        return;
    case WNN_OP_gatherElements:
        ((WNNGatherOptions *)(void *)call->attrs)->axis = axis;
        indices.dim[axis] = fuzz_take_size(r);
        put(call, fuzz_like(r, index_type, indices));
        return;
    case WNN_OP_scatterElements:
        ((WNNScatterElementsOptions *)(void *)call->attrs)->axis = axis;
        indices.dim[axis] = fuzz_take_size(r);
        put(call, fuzz_like(r, index_type, indices));
        put(call, fuzz_like(r, type.type, indices));
        return;
    default:
        break;
    }
    uint32_t coordinates = fuzz_is_empty(r) ? 0 : 1 + BELOW(r, shape->rank),
             room = WNN_MAX_RANK - (shape->rank - coordinates);
    indices = updates = fuzz_take_shape(r, 0, room < 3 ? room : 3);
    indices.rank = updates.rank = indices.rank < WNN_MAX_RANK ? indices.rank : WNN_MAX_RANK - 1;
    wnn_shape_append(&indices, &coordinates, 1);
    wnn_shape_append(&updates, shape->dim + coordinates, shape->rank - coordinates);
    put(call, fuzz_like(r, index_type, indices));
    if (call->op == WNN_OP_scatterND)
        put(call, fuzz_like(r, type.type, updates));
}
