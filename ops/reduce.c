// SPDX-License-Identifier: Apache-2.0
//
// Inference of operators along axes: reductions, argMin and argMax, cumulativeSum, softmax.

#include "ops/geometry.h"
#include "ops/lists.h"

// The shape without the axes, or with 1 in their place. `axes` has no repetitions.
static void reduce_shape(const struct shape *input, WNNUint32List axes, bool keep, struct shape *output)
{
    uint32_t reduced = wnn_axes_mask(axes), one = 1;
    output->rank = 0;
    for (unsigned i = 0; i < input->rank; i++) {
        if (!(reduced & 1u << i))
            wnn_shape_append(output, &input->dim[i], 1);
        else if (keep)
            wnn_shape_append(output, &one, 1);
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reduce
bool wnn_infer_reduce(struct op_call *call)
{
    WNNReduceOptions *options = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    if (!wnn_axes_complete(call, &options->axes, &input->shape, 0))
        return false;
    wnn_list_sort(&options->axes);
    call->out[0].type = input->type;
    reduce_shape(&input->shape, options->axes, options->keepDimensions, &call->out[0].shape);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-argminmax
bool wnn_infer_argMinMax(struct op_call *call)
{
    struct arg_min_max_attrs *attrs = call->attrs;
    const struct shape *input = &call->in[0]->type.shape;
    WNNDataType type = attrs->options.outputDataType;
    // Axes that are there are those of the form of 2024, or of inference before, when the rank was another.
    bool one = !attrs->axes.data || (attrs->axes.count == 1 && attrs->axes.data[0] == attrs->axis);
    if (one && !wnn_check_axis(call, attrs->axis, "input", input))
        return false;
    if (type != WNNDataType_Int32 && type != WNNDataType_Int64)
        return wnn_op_fail(call, "outputDataType is %s; expected int32 or int64", wnn_dtype_name(type));
    // A dimension is at most 2^31-1, so that int32 holds every index.
    if (!attrs->axes.data && !wnn_list_set(call, &attrs->axes, &attrs->axis, 1))
        return false;
    call->out[0].type = type;
    reduce_shape(input, attrs->axes, attrs->options.keepDimensions, &call->out[0].shape);
    return true;
}

// The form of 2024: https://www.w3.org/TR/2024/CRD-webnn-20240415/#api-mlgraphbuilder-argminmax
bool wnn_infer_argMinMaxAxes(struct op_call *call)
{
    WNNArgMinMaxAxesOptions *options = call->attrs;
    const struct shape *input = &call->in[0]->type.shape;
    if (!wnn_axes_complete(call, &options->axes, input, 0))
        return false;
    wnn_list_sort(&options->axes);
    struct arg_min_max_attrs *attrs = wnn_arena_allocate(call->arena, sizeof *attrs);
    if (!attrs)
        return wnn_fail_memory(call->error);
    *attrs = (struct arg_min_max_attrs){
        .options = {NULL, options->label, options->keepDimensions, WNNDataType_Int64},
        .axis = options->axes.count ? options->axes.data[0] : 0,
        .axes = options->axes,
        .selectLastIndex = options->selectLastIndex,
    };
    call->attrs = attrs;
    call->op = call->op == WNN_OP_argMinAxes ? WNN_OP_argMin : WNN_OP_argMax;
    call->out[0].type = WNNDataType_Int64;
    reduce_shape(input, attrs->axes, options->keepDimensions, &call->out[0].shape);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-cumulativesum
bool wnn_infer_cumulativeSum(struct op_call *call)
{
    const struct cumulative_sum_attrs *attrs = call->attrs;
    call->out[0] = call->in[0]->type;
    return wnn_check_axis(call, attrs->axis, "input", &call->in[0]->type.shape);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-softmax-method
bool wnn_infer_softmax(struct op_call *call)
{
    const struct softmax_attrs *attrs = call->attrs;
    call->out[0] = call->in[0]->type;
    return wnn_check_axis(call, attrs->axis, "input", &call->in[0]->type.shape);
}

// The form of 2024: rank 2, along axis 1.
bool wnn_infer_softmax2d(struct op_call *call)
{
    struct softmax_attrs *attrs = wnn_arena_allocate(call->arena, sizeof *attrs);
    if (!attrs)
        return wnn_fail_memory(call->error);
    attrs->options = *(const WNNOperatorOptions *)call->attrs;
    attrs->axis = 1;
    call->attrs = attrs;
    call->op = WNN_OP_softmax;
    return wnn_infer_softmax(call);
}
