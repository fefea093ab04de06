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
                           SHAPE_OF(call, input), SHAPE_OF(call, indices), input->rank + indices->rank - 1,
                           WNN_MAX_RANK);
    return true;
}

// That indices have the shape of input but for the axis: gatherElements and scatterElements.
static bool check_elements(struct op_call *call, uint32_t axis)
{
    const struct shape *input = &call->in[0]->type.shape, *indices = &call->in[1]->type.shape;
    if (indices->rank != input->rank)
        return wnn_op_fail(call, "indices %s has rank %u; expected %u, the rank of input %s",
                           SHAPE_OF(call, indices), indices->rank, input->rank, SHAPE_OF(call, input));
    if (!wnn_check_axis(call, axis, "input", input))
        return false;
    for (unsigned i = 0; i < input->rank; i++)
        if (i != axis && wnn_sizes_differ(call->sizes, indices->dim[i], input->dim[i]))
            return wnn_op_fail(call, "indices %s has size %s in dimension %u; expected %s, that of input %s",
                               SHAPE_OF(call, indices), SIZE_OF(call, indices->dim[i]), i,
                               SIZE_OF(call, input->dim[i]), SHAPE_OF(call, input));
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
    if (wnn_shapes_differ(call->sizes, indices, updates))
        return wnn_op_fail(call, "updates has shape %s; expected %s, the shape of indices",
                           SHAPE_OF(call, updates), SHAPE_OF(call, indices));
    call->out[0] = call->in[0]->type;
    return true;
}

// The shape that coordinates in the last dimension of indices select: indices.shape[:-1] + input.shape[k:].
static bool select_nd(struct op_call *call, struct shape *selected)
{
    const struct shape *input = &call->in[0]->type.shape, *indices = &call->in[1]->type.shape;
    uint32_t coordinates = indices->dim[indices->rank - 1];
    selected->rank = 0;
    if (wnn_size_is_symbolic(call->sizes, coordinates)) {
        call->unranked = 1;
        return true;
    }
    if (coordinates > input->rank)
        return wnn_op_fail(
            call, "indices %s has coordinates of %u items; expected at most %u, the rank of input %s",
            SHAPE_OF(call, indices), coordinates, input->rank, SHAPE_OF(call, input));
    wnn_shape_append(selected, indices->dim, indices->rank - 1);
    wnn_shape_append(selected, input->dim + coordinates, input->rank - coordinates);
    if (selected->rank > WNN_MAX_RANK)
        return wnn_op_fail(call, "input %s and indices %s select a shape of rank %u; expected at most %d",
                           SHAPE_OF(call, input), SHAPE_OF(call, indices),
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
    struct shape selected = {0};
    const struct shape *updates = &call->in[2]->type.shape;
    if (!select_nd(call, &selected))
        return false;
    if (!call->unranked && wnn_shapes_differ(call->sizes, &selected, updates))
        return wnn_op_fail(call, "updates has shape %s; expected %s (input %s, indices %s)",
                           SHAPE_OF(call, updates), SHAPE_OF(call, &selected),
                           SHAPE_OF(call, &call->in[0]->type.shape),
                           SHAPE_OF(call, &call->in[1]->type.shape));
    call->unranked = 0; // of the selection
    call->out[0] = call->in[0]->type;
    return true;
}
