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
    struct amount sum = {0};
    struct shape *out = &call->out[0].shape;
    if (!wnn_check_axis(call, attrs->axis, "inputs[0]", &first->shape))
        return false;
    call->out[0] = *first;
    for (unsigned i = 0; i < call->in_count; i++) {
        const struct descriptor *input = &call->in[i]->type;
        if (input->type != first->type)
            return wnn_op_fail(call, "inputs[%u] has data type %s; expected %s, the type of inputs[0]", i,
                               wnn_dtype_name(input->type), wnn_dtype_name(first->type));
        if (input->shape.rank != first->shape.rank)
            return wnn_op_fail(call, "inputs[%u] %s has rank %u; expected %u, the rank of inputs[0] %s", i,
                               SHAPE_OF(call, &input->shape), input->shape.rank, first->shape.rank,
                               SHAPE_OF(call, &first->shape));
        for (unsigned d = 0; d < input->shape.rank; d++) {
            if (d != attrs->axis && wnn_sizes_differ(call->sizes, input->shape.dim[d], out->dim[d]))
                return wnn_op_fail(
                    call, "inputs[%u] %s has size %s in dimension %u; expected %s, that of inputs[0] %s", i,
                    SHAPE_OF(call, &input->shape), SIZE_OF(call, input->shape.dim[d]), d,
                    SIZE_OF(call, out->dim[d]), SHAPE_OF(call, &first->shape));
            out->dim[d] = wnn_size_meet(call->sizes, out->dim[d], input->shape.dim[d]);
        }
        sum = wnn_amount_add(call->sizes, sum, wnn_amount(call->sizes, input->shape.dim[attrs->axis]));
    }
    if (wnn_amount_range(call->sizes, &sum).min > WNN_MAX_DIMENSION)
        return wnn_op_fail(call, "the sizes along axis %u add up to %s; expected at most 2147483647",
                           attrs->axis, AMOUNT_OF(call, &sum));
    out->dim[attrs->axis] = wnn_amount_size(call->sizes, &sum);
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
    if (!wnn_sizes_broadcast_to(call->sizes, &input->shape, &call->out[0].shape))
        return wnn_op_fail(call, "input %s cannot be broadcast to newShape %s", SHAPE_OF(call, &input->shape),
                           SHAPE_OF(call, &call->out[0].shape));
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reshape-method
bool wnn_infer_reshape(struct op_call *call)
{
    const struct expand_attrs *attrs = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    call->out[0].type = input->type;
    if (!shape_of_list(call, "newShape", attrs->newShape, &call->out[0].shape))
        return false;
    struct amount elements = wnn_amount_elements(call->sizes, &input->shape),
                  wanted = wnn_amount_elements(call->sizes, &call->out[0].shape);
    if (wnn_amounts_differ(call->sizes, &elements, &wanted))
        return wnn_op_fail(call, "newShape %s does not have the %s elements of input %s",
                           SHAPE_OF(call, &call->out[0].shape), AMOUNT_OF(call, &elements),
                           SHAPE_OF(call, &input->shape));
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
                 end = attrs->endingPadding.data[i];
        int64_t before = wnn_size_range(call->sizes, begin).min, after = wnn_size_range(call->sizes, end).min,
                most = before > after ? before : after, room = wnn_size_range(call->sizes, size).max;
        if (mode == WNNPaddingMode_Edge && most > 0 && room == 0)
            return wnn_op_fail(call, "padding %lld of dimension %u; edge padding needs a size of at least 1",
                               (long long)most, i);
        if (mode == WNNPaddingMode_Reflection && most > 0 && most >= room)
            return wnn_op_fail(call, "padding %lld of dimension %u; reflection needs less than its size %s",
                               (long long)most, i, SIZE_OF(call, size));
        if (mode == WNNPaddingMode_Symmetric && most > room)
            return wnn_op_fail(call,
                               "padding %lld of dimension %u; symmetric padding needs at most its size %s",
                               (long long)most, i, SIZE_OF(call, size));
        struct amount padded = wnn_amount_add(
            call->sizes, wnn_amount(call->sizes, size),
            wnn_amount_add(call->sizes, wnn_amount(call->sizes, begin), wnn_amount(call->sizes, end)));
        if (wnn_amount_range(call->sizes, &padded).min > WNN_MAX_DIMENSION)
            return wnn_op_fail(call, "dimension %u of %s with padding %s and %s is larger than 2147483647", i,
                               SIZE_OF(call, size), SIZE_OF(call, begin), SIZE_OF(call, end));
        call->out[0].shape.dim[i] = wnn_amount_size(call->sizes, &padded);
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
        if (size < wnn_min_dimension(call->limits))
            return wnn_op_fail(call, "sizes[%u] is 0; expected at least 1", i);
        if (stride == 0)
            return wnn_op_fail(call, "strides[%u] is 0; expected at least 1", i);
        struct amount whole = wnn_amount(call->sizes, size),
                      end = wnn_amount_add(call->sizes, wnn_amount(call->sizes, start), whole),
                      over =
                          wnn_amount_add(call->sizes, end,
                                         wnn_amount_times(wnn_amount(call->sizes, input->shape.dim[i]), -1));
        if (wnn_amount_range(call->sizes, &over).min > 0)
            return wnn_op_fail(call, "starts[%u] + sizes[%u] is %s; dimension %u of input %s has size %s", i,
                               i, AMOUNT_OF(call, &end), i, SHAPE_OF(call, &input->shape),
                               SIZE_OF(call, input->shape.dim[i]));
        whole.constant += stride - 1;
        whole = wnn_amount_divide(call->sizes, whole, stride);
        call->out[0].shape.dim[i] = wnn_amount_size(call->sizes, &whole);
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
    struct amount size = wnn_amount(call->sizes, input->shape.dim[axis]);
    if (attrs->sizes.count == 0 || attrs->sizes.count == WNN_LIST_ABSENT) {
        if (attrs->count == 0 || attrs->count > MAX_TENSORS)
            return wnn_op_fail(call, "splits is %u; expected 1 to %d parts", attrs->count, MAX_TENSORS);
        if (wnn_amount_indivisible(&size, attrs->count))
            return wnn_op_fail(call,
                               "splits is %u, which does not divide size %s of dimension %u of input %s",
                               attrs->count, AMOUNT_OF(call, &size), axis, SHAPE_OF(call, &input->shape));
        struct amount part = wnn_amount_divide(call->sizes, size, attrs->count);
        uint32_t *items = wnn_arena_allocate(call->arena, attrs->count * sizeof items[0]);
        if (!items)
            return wnn_fail_memory(call->error);
        for (uint32_t i = 0; i < attrs->count; i++)
            items[i] = wnn_amount_size(call->sizes, &part);
        attrs->sizes = (WNNUint32List){items, attrs->count};
    }
    attrs->count = 0; // whichever way it was said, it is the same operator
    struct amount sum = {0};
    for (size_t i = 0; i < attrs->sizes.count; i++) {
        if (attrs->sizes.data[i] < wnn_min_dimension(call->limits))
            return wnn_op_fail(call, "splits[%zu] is 0; expected at least 1", i);
        sum = wnn_amount_add(call->sizes, sum, wnn_amount(call->sizes, attrs->sizes.data[i]));
    }
    if (wnn_amounts_differ(call->sizes, &sum, &size))
        return wnn_op_fail(call, "splits add up to %s; expected %s, dimension %u of input %s",
                           AMOUNT_OF(call, &sum), AMOUNT_OF(call, &size), axis,
                           SHAPE_OF(call, &input->shape));
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
        if (times < wnn_min_dimension(call->limits))
            return wnn_op_fail(call, "repetitions[%u] is 0; expected at least 1", i);
        struct amount size = wnn_amount_product(call->sizes, wnn_amount(call->sizes, input->shape.dim[i]),
                                                wnn_amount(call->sizes, times));
        if (wnn_amount_range(call->sizes, &size).min > WNN_MAX_DIMENSION)
            return wnn_op_fail(call, "dimension %u of %s repeated %s times is larger than 2147483647", i,
                               SIZE_OF(call, input->shape.dim[i]), SIZE_OF(call, times));
        call->out[0].shape.dim[i] = wnn_amount_size(call->sizes, &size);
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
                               SHAPE_OF(call, &input->shape), rank);
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
