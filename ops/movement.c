// SPDX-License-Identifier: Apache-2.0
//
// Inference of operators that move elements.

#include "ops/lists.h"

#define MAX_TENSORS 8192

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-concat
bool wnn_infer_concat(struct op_call *call)
{
    const struct concat_attrs *attrs = call->attrs;
    const struct descriptor *first = &call->in[0]->type;
    uint64_t sum = 0;
    if (!wnn_check_axis(call, attrs->axis, "inputs[0]", &first->shape))
        return false;
    for (unsigned i = 0; i < call->in_count; i++) {
        const struct descriptor *input = &call->in[i]->type;
        if (input->type != first->type)
            return wnn_op_fail(call, "inputs[%u] has data type %s; expected %s, the type of inputs[0]", i,
                               wnn_dtype_name(input->type), wnn_dtype_name(first->type));
        if (input->shape.rank != first->shape.rank)
            return wnn_op_fail(call, "inputs[%u] %s has rank %u; expected %u, the rank of inputs[0] %s", i,
                               SHAPE_TEXT(&input->shape), input->shape.rank, first->shape.rank,
                               SHAPE_TEXT(&first->shape));
        for (unsigned d = 0; d < input->shape.rank; d++)
            if (d != attrs->axis && input->shape.dim[d] != first->shape.dim[d])
                return wnn_op_fail(
                    call, "inputs[%u] %s has size %u in dimension %u; expected %u, that of inputs[0] %s", i,
                    SHAPE_TEXT(&input->shape), input->shape.dim[d], d, first->shape.dim[d],
                    SHAPE_TEXT(&first->shape));
        sum += input->shape.dim[attrs->axis];
    }
    if (sum > WNN_MAX_DIMENSION)
        return wnn_op_fail(call, "the sizes along axis %u add up to %llu; expected at most 2147483647",
                           attrs->axis, (unsigned long long)sum);
    call->out[0] = *first;
    call->out[0].shape.dim[attrs->axis] = (uint32_t)sum;
    return true;
}

// The shape that a list gives; its sizes are checked with those of all outputs.
static bool shape_of_list(struct op_call *call, const char *name, WNNUint32List list, struct shape *shape)
{
    if (list.count == WNN_LIST_ABSENT)
        return wnn_op_fail(call, "%s is absent", name);
    if (list.count > WNN_MAX_RANK)
        return wnn_op_fail(call, "%s has %zu items; expected at most %d", name, list.count, WNN_MAX_RANK);
    shape->rank = 0;
    wnn_shape_append(shape, list.data, (unsigned)list.count);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-expand
bool wnn_infer_expand(struct op_call *call)
{
    const struct expand_attrs *attrs = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    call->out[0].type = input->type;
    if (!shape_of_list(call, "newShape", attrs->newShape, &call->out[0].shape))
        return false;
    if (!wnn_shape_broadcast_to(&input->shape, &call->out[0].shape))
        return wnn_op_fail(call, "input %s cannot be broadcast to newShape %s", SHAPE_TEXT(&input->shape),
                           SHAPE_TEXT(&call->out[0].shape));
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reshape-method
bool wnn_infer_reshape(struct op_call *call)
{
    const struct expand_attrs *attrs = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    size_t elements;
    call->out[0].type = input->type;
    if (!shape_of_list(call, "newShape", attrs->newShape, &call->out[0].shape))
        return false;
    if (!wnn_shape_count(&call->out[0].shape, &elements) || elements != wnn_shape_elements(&input->shape))
        return wnn_op_fail(call, "newShape %s does not have the %zu elements of input %s",
                           SHAPE_TEXT(&call->out[0].shape), wnn_shape_elements(&input->shape),
                           SHAPE_TEXT(&input->shape));
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-pad; symmetric is of 2024
bool wnn_infer_pad(struct op_call *call)
{
    struct pad_attrs *attrs = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    unsigned rank = input->shape.rank;
    WNNPaddingMode mode = attrs->options.mode;
    if (!wnn_list_check(call, "beginningPadding", attrs->beginningPadding, rank) ||
        !wnn_list_check(call, "endingPadding", attrs->endingPadding, rank))
        return false;
    call->out[0] = *input;
    for (unsigned i = 0; i < rank; i++) {
        uint32_t size = input->shape.dim[i], begin = attrs->beginningPadding.data[i],
                 end = attrs->endingPadding.data[i], most = begin > end ? begin : end;
        if (mode == WNNPaddingMode_Reflection && most >= size)
            return wnn_op_fail(call, "padding %u of dimension %u; reflection needs less than its size %u",
                               most, i, size);
        if (mode == WNNPaddingMode_Symmetric && most > size)
            return wnn_op_fail(call,
                               "padding %u of dimension %u; symmetric padding needs at most its size %u",
                               most, i, size);
        uint64_t padded = (uint64_t)begin + size + end;
        if (padded > WNN_MAX_DIMENSION)
            return wnn_op_fail(call, "dimension %u of %u with padding %u and %u is larger than 2147483647", i,
                               size, begin, end);
        call->out[0].shape.dim[i] = (uint32_t)padded;
    }
    WNNNumber value = attrs->options.value;
    attrs->options.value =
        wnn_number_convert(value.type == WNNNumberType_Undefined ? wnnNumberInt64(0) : value, input->type);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reverse-method
bool wnn_infer_reverse(struct op_call *call)
{
    WNNReverseOptions *options = call->attrs;
    call->out[0] = call->in[0]->type;
    if (!wnn_axes_complete(call, &options->axes, &call->in[0]->type.shape, 0))
        return false;
    wnn_list_sort(&options->axes);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-slice
bool wnn_infer_slice(struct op_call *call)
{
    struct slice_attrs *attrs = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    unsigned rank = input->shape.rank;
    if (!wnn_list_check(call, "starts", attrs->starts, rank) ||
        !wnn_list_check(call, "sizes", attrs->sizes, rank) ||
        !wnn_list_complete(call, "strides", &attrs->options.strides, rank, 1))
        return false;
    call->out[0] = *input;
    for (unsigned i = 0; i < rank; i++) {
        uint32_t start = attrs->starts.data[i], size = attrs->sizes.data[i],
                 stride = attrs->options.strides.data[i];
        if (size == 0 && !call->limits->acceptEmptyTensors)
            return wnn_op_fail(call, "sizes[%u] is 0; expected at least 1", i);
        if (stride == 0)
            return wnn_op_fail(call, "strides[%u] is 0; expected at least 1", i);
        if ((uint64_t)start + size > input->shape.dim[i])
            return wnn_op_fail(call, "starts[%u] + sizes[%u] is %llu; dimension %u of input %s has size %u",
                               i, i, (unsigned long long)start + size, i, SHAPE_TEXT(&input->shape),
                               input->shape.dim[i]);
        call->out[0].shape.dim[i] = size / stride + (size % stride != 0);
    }
    return true;
}

static bool allocate_outputs(struct op_call *call, size_t count)
{
    call->out = wnn_arena_allocate(call->arena, count * sizeof call->out[0]);
    call->out_count = (unsigned)count;
    return call->out != NULL || wnn_fail_memory(call->error);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-split
bool wnn_infer_split(struct op_call *call)
{
    struct split_attrs *attrs = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    uint32_t axis = attrs->options.axis;
    if (!wnn_check_axis(call, axis, "input", &input->shape))
        return false;
    uint32_t size = input->shape.dim[axis];
    if (attrs->sizes.count == 0 || attrs->sizes.count == WNN_LIST_ABSENT) {
        if (attrs->count == 0 || attrs->count > MAX_TENSORS)
            return wnn_op_fail(call, "splits is %u; expected 1 to %d parts", attrs->count, MAX_TENSORS);
        if (size % attrs->count)
            return wnn_op_fail(call,
                               "splits is %u, which does not divide size %u of dimension %u of input %s",
                               attrs->count, size, axis, SHAPE_TEXT(&input->shape));
        uint32_t *items = wnn_arena_allocate(call->arena, attrs->count * sizeof items[0]);
        if (!items)
            return wnn_fail_memory(call->error);
        for (uint32_t i = 0; i < attrs->count; i++)
            items[i] = size / attrs->count;
        attrs->sizes = (WNNUint32List){items, attrs->count};
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < attrs->sizes.count; i++) {
        if (attrs->sizes.data[i] == 0 && !call->limits->acceptEmptyTensors)
            return wnn_op_fail(call, "splits[%zu] is 0; expected at least 1", i);
        sum += attrs->sizes.data[i];
    }
    if (sum != size)
        return wnn_op_fail(call, "splits add up to %llu; expected %u, dimension %u of input %s",
                           (unsigned long long)sum, size, axis, SHAPE_TEXT(&input->shape));
    if (!allocate_outputs(call, attrs->sizes.count))
        return false;
    for (unsigned i = 0; i < call->out_count; i++) {
        call->out[i] = *input;
        call->out[i].shape.dim[axis] = attrs->sizes.data[i];
    }
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-tile
bool wnn_infer_tile(struct op_call *call)
{
    struct tile_attrs *attrs = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    if (!wnn_list_check(call, "repetitions", attrs->repetitions, input->shape.rank))
        return false;
    call->out[0] = *input;
    for (unsigned i = 0; i < input->shape.rank; i++) {
        uint32_t times = attrs->repetitions.data[i];
        if (times == 0 && !call->limits->acceptEmptyTensors)
            return wnn_op_fail(call, "repetitions[%u] is 0; expected at least 1", i);
        uint64_t size = (uint64_t)input->shape.dim[i] * times;
        if (size > WNN_MAX_DIMENSION)
            return wnn_op_fail(call, "dimension %u of %u repeated %u times is larger than 2147483647", i,
                               input->shape.dim[i], times);
        call->out[0].shape.dim[i] = (uint32_t)size;
    }
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-transpose
bool wnn_infer_transpose(struct op_call *call)
{
    WNNTransposeOptions *options = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    unsigned rank = input->shape.rank;
    if (options->permutation.count == WNN_LIST_ABSENT) {
        uint32_t reversed[WNN_MAX_RANK];
        for (unsigned i = 0; i < rank; i++)
            reversed[i] = rank - 1 - i;
        if (!wnn_list_set(call, &options->permutation, reversed, rank))
            return false;
    }
    if (!wnn_list_complete(call, "permutation", &options->permutation, rank, 0))
        return false;
    uint32_t seen = 0;
    call->out[0] = *input;
    for (unsigned i = 0; i < rank; i++) {
        uint32_t from = options->permutation.data[i];
        if (from >= rank)
            return wnn_op_fail(call, "permutation[%u] is %u; input %s has rank %u", i, from,
                               SHAPE_TEXT(&input->shape), rank);
        if (seen & 1u << from)
            return wnn_op_fail(call, "permutation[%u] repeats dimension %u", i, from);
        seen |= 1u << from;
        call->out[0].shape.dim[i] = input->shape.dim[from];
    }
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-triangular
bool wnn_infer_triangular(struct op_call *call)
{
    call->out[0] = call->in[0]->type;
    return true;
}
