// SPDX-License-Identifier: Apache-2.0
//
// Inference of batch, instance and layer normalization.

#include "ops/lists.h"

// That an operand of rank 1, if there is one, has `size` elements.
static bool check_size(struct op_call *call, unsigned index, uint32_t size)
{
    const struct operand *operand = call->in[index];
    if (operand && wnn_sizes_differ(call->sizes, operand->type.shape.dim[0], size))
        return wnn_op_fail(call, "%s has shape %s; expected [%s] (input %s)", call->info->rows[index].name,
                           SHAPE_OF(call, &operand->type.shape), SIZE_OF(call, size),
                           SHAPE_OF(call, &call->in[0]->type.shape));
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-batchnorm
bool wnn_infer_batchNormalization(struct op_call *call)
{
    WNNBatchNormalizationOptions *options = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    if (!wnn_check_axis(call, options->axis, "input", &input->shape))
        return false;
    for (unsigned i = 1; i <= 4; i++)
        if (!check_size(call, i, input->shape.dim[options->axis]))
            return false;
    options->epsilon = wnn_round_to_dtype(options->epsilon, input->type);
    call->out[0] = *input;
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-instancenorm
bool wnn_infer_instanceNormalization(struct op_call *call)
{
    WNNInstanceNormalizationOptions *options = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    uint32_t channels = input->shape.dim[options->layout == WNNInputOperandLayout_NCHW ? 1 : 3];
    options->epsilon = wnn_round_to_dtype(options->epsilon, input->type);
    call->out[0] = *input;
    return check_size(call, 1, channels) && check_size(call, 2, channels);
}

static bool check_axes_sizes(struct op_call *call, unsigned index, WNNUint32List axes)
{
    const struct operand *operand = call->in[index];
    const struct shape *input = &call->in[0]->type.shape;
    if (!operand)
        return true;
    const struct shape *shape = &operand->type.shape;
    if (shape->rank != axes.count)
        return wnn_op_fail(call, "%s %s has rank %u; expected %zu, the number of axes",
                           call->info->rows[index].name, SHAPE_OF(call, shape), shape->rank, axes.count);
    for (unsigned i = 0; i < shape->rank; i++)
        if (wnn_sizes_differ(call->sizes, shape->dim[i], input->dim[axes.data[i]]))
            return wnn_op_fail(
                call, "%s %s has size %s in dimension %u; expected %s, dimension %u of input %s",
                call->info->rows[index].name, SHAPE_OF(call, shape), SIZE_OF(call, shape->dim[i]), i,
                SIZE_OF(call, input->dim[axes.data[i]]), axes.data[i], SHAPE_OF(call, input));
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-layernorm
bool wnn_infer_layerNormalization(struct op_call *call)
{
    WNNLayerNormalizationOptions *options = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    if (!wnn_axes_complete(call, &options->axes, &input->shape, 1))
        return false;
    options->epsilon = wnn_round_to_dtype(options->epsilon, input->type);
    call->out[0] = *input;
    return check_axes_sizes(call, 1, options->axes) && check_axes_sizes(call, 2, options->axes);
}

bool wnn_infer_rmsNormalization(struct op_call *call)
{
    struct rms_normalization_attrs *attrs = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    if (call->in_count != 2 || attrs->axes.count == 0)
        return wnn_op_fail(call, "expected input and scale, and axes");
    if (!wnn_axes_complete(call, &attrs->axes, &input->shape, 1))
        return false;
    call->out[0] = *input;
    return check_axes_sizes(call, 1, attrs->axes);
}
