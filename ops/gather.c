// SPDX-License-Identifier: Apache-2.0
//
// Inference of the gather and scatter families.

#include "ops/lists.h"

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gather
bool wnn_infer_gather(struct op_call *call)
{
    const WNNGatherOptions *options = call->attrs;
    const struct shape *input = &call->in[0]->type.shape, *indices = &call->in[1]->type.shape;
    struct shape *out = &call->out[0].shape;
    if (!wnn_check_axis(call, options->axis, "input", input))
        return false;
    call->out[0].type = call->in[0]->type.type;
    wnn_shape_append(out, input->dim, options->axis);
    wnn_shape_append(out, indices->dim, indices->rank);
    wnn_shape_append(out, input->dim + options->axis + 1, input->rank - options->axis - 1);
    if (out->rank > WNN_MAX_RANK)
        return wnn_op_fail(call, "input %s and indices %s give an output of rank %u; expected at most %d",
                           SHAPE_TEXT(input), SHAPE_TEXT(indices), input->rank + indices->rank - 1,
                           WNN_MAX_RANK);
    return true;
}

// That indices have the shape of input but for the axis: gatherElements and scatterElements.
static bool check_elements(struct op_call *call, uint32_t axis)
{
    const struct shape *input = &call->in[0]->type.shape, *indices = &call->in[1]->type.shape;
    if (indices->rank != input->rank)
        return wnn_op_fail(call, "indices %s has rank %u; expected %u, the rank of input %s",
                           SHAPE_TEXT(indices), indices->rank, input->rank, SHAPE_TEXT(input));
    if (!wnn_check_axis(call, axis, "input", input))
        return false;
    for (unsigned i = 0; i < input->rank; i++)
        if (i != axis && indices->dim[i] != input->dim[i])
            return wnn_op_fail(call, "indices %s has size %u in dimension %u; expected %u, that of input %s",
                               SHAPE_TEXT(indices), indices->dim[i], i, input->dim[i], SHAPE_TEXT(input));
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gatherelements
bool wnn_infer_gatherElements(struct op_call *call)
{
    const WNNGatherOptions *options = call->attrs;
    call->out[0] = (struct descriptor){call->in[0]->type.type, call->in[1]->type.shape};
    return check_elements(call, options->axis);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-scatterelements
bool wnn_infer_scatterElements(struct op_call *call)
{
    const WNNScatterElementsOptions *options = call->attrs;
    const struct shape *indices = &call->in[1]->type.shape, *updates = &call->in[2]->type.shape;
    if (!check_elements(call, options->axis))
        return false;
    if (!wnn_shape_equal(indices, updates))
        return wnn_op_fail(call, "updates has shape %s; expected %s, the shape of indices",
                           SHAPE_TEXT(updates), SHAPE_TEXT(indices));
    call->out[0] = call->in[0]->type;
    return true;
}

// The shape that coordinates in the last dimension of indices select: indices.shape[:-1] + input.shape[k:].
static bool select_nd(struct op_call *call, struct shape *selected)
{
    const struct shape *input = &call->in[0]->type.shape, *indices = &call->in[1]->type.shape;
    uint32_t coordinates = indices->dim[indices->rank - 1];
    if (coordinates > input->rank)
        return wnn_op_fail(
            call, "indices %s has coordinates of %u items; expected at most %u, the rank of input %s",
            SHAPE_TEXT(indices), coordinates, input->rank, SHAPE_TEXT(input));
    selected->rank = 0;
    wnn_shape_append(selected, indices->dim, indices->rank - 1);
    wnn_shape_append(selected, input->dim + coordinates, input->rank - coordinates);
    if (selected->rank > WNN_MAX_RANK)
        return wnn_op_fail(call, "input %s and indices %s select a shape of rank %u; expected at most %d",
                           SHAPE_TEXT(input), SHAPE_TEXT(indices),
                           indices->rank - 1 + input->rank - coordinates, WNN_MAX_RANK);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gathernd
bool wnn_infer_gatherND(struct op_call *call)
{
    call->out[0].type = call->in[0]->type.type;
    return select_nd(call, &call->out[0].shape);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-scatternd
bool wnn_infer_scatterND(struct op_call *call)
{
    struct shape selected;
    const struct shape *updates = &call->in[2]->type.shape;
    if (!select_nd(call, &selected))
        return false;
    if (!wnn_shape_equal(&selected, updates))
        return wnn_op_fail(call, "updates has shape %s; expected %s (input %s, indices %s)",
                           SHAPE_TEXT(updates), SHAPE_TEXT(&selected), SHAPE_TEXT(&call->in[0]->type.shape),
                           SHAPE_TEXT(&call->in[1]->type.shape));
    call->out[0] = call->in[0]->type;
    return true;
}
