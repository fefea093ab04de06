// SPDX-License-Identifier: Apache-2.0
//
// Inference of convolution.

#include "ops/window.h"

static bool check_window_size(struct op_call *call, uint32_t height, uint32_t width)
{
    uint32_t most = call->limits->maxWindowSize;
    struct bounds rows = wnn_size_range(call->sizes, height), columns = wnn_size_range(call->sizes, width);
    if (rows.max == 0 || columns.max == 0)
        return wnn_op_fail(call, "the window is %s by %s; expected at least 1 each", SIZE_OF(call, height),
                           SIZE_OF(call, width));
    if (most && (rows.min > most || columns.min > most))
        return wnn_op_fail(call, "the window is %s by %s; expected at most %u each", SIZE_OF(call, height),
                           SIZE_OF(call, width), most);
    return true;
}

static bool check_bias(struct op_call *call, uint32_t channels)
{
    const struct operand *bias = call->in[2];
    if (bias && wnn_sizes_differ(call->sizes, bias->type.shape.dim[0], channels))
        return wnn_op_fail(call, "bias has shape %s; expected [%s], the output channels",
                           SHAPE_OF(call, &bias->type.shape), SIZE_OF(call, channels));
    return true;
}

// One output size of a convolution.
static bool conv_size(struct op_call *call, const char *what, uint32_t input, uint32_t window,
                      uint32_t stride, uint32_t dilation, const uint32_t padding[2], uint32_t *size)
{
    struct amount rest = wnn_window_slack(call, input, window, dilation, padding);
    if (wnn_amount_range(call->sizes, &rest).max < 0)
        return wnn_op_fail(
            call, "filter %s %s with dilation %u does not fit into input %s %s with padding %u and %u", what,
            SIZE_OF(call, window), dilation, what, SIZE_OF(call, input), padding[0], padding[1]);
    // wnn_check_padded bounds the sum that this comes from.
    rest = wnn_amount_divide(call->sizes, rest, stride);
    rest.constant++;
    *size = wnn_amount_size(call->sizes, &rest);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-conv2d
bool wnn_infer_conv2d(struct op_call *call)
{
    WNNConv2dOptions *options = call->attrs;
    const struct shape *input = &call->in[0]->type.shape, *shape = &call->in[1]->type.shape;
    if (!wnn_complete_window(call, &options->padding, &options->strides, &options->dilations))
        return false;
    const struct convolution c = wnn_convolution_of(call->op, options, input, shape, NULL);
    const struct filter *filter = &c.filter;
    if (!check_window_size(call, filter->height, filter->width))
        return false;
    if (options->groups == 0)
        return wnn_op_fail(call, "groups is 0; expected at least 1");
    struct amount channels = wnn_amount(call->sizes, c.from.channels),
                  outputs = wnn_amount(call->sizes, filter->outputs),
                  inputs = wnn_amount_times(wnn_amount(call->sizes, filter->inputs), options->groups);
    if (wnn_amounts_differ(call->sizes, &channels, &inputs))
        return wnn_op_fail(call, "filter %s has %s input channels; expected %s / %u (input %s, groups %u)",
                           SHAPE_OF(call, shape), SIZE_OF(call, filter->inputs),
                           SIZE_OF(call, c.from.channels), options->groups, SHAPE_OF(call, input),
                           options->groups);
    if (wnn_amount_indivisible(&outputs, options->groups))
        return wnn_op_fail(call, "filter %s has %s output channels; expected a multiple of groups %u",
                           SHAPE_OF(call, shape), SIZE_OF(call, filter->outputs), options->groups);
    uint32_t height = 0, width = 0;
    if (!check_bias(call, filter->outputs) || !wnn_check_padded(call, &c.from, c.padding) ||
        !conv_size(call, "height", c.from.height, filter->height, c.strides[0], c.dilations[0], c.padding,
                   &height) ||
        !conv_size(call, "width", c.from.width, filter->width, c.strides[1], c.dilations[1], c.padding + 2,
                   &width))
        return false;
    wnn_infer_image(call, options->inputLayout, &c.from, filter->outputs, height, width);
    return true;
}

// One output size of a transposed convolution; `wanted` NULL: computed.
static bool transpose_size(struct op_call *call, const char *what, uint32_t input, uint32_t window,
                           uint32_t stride, uint32_t dilation, const uint32_t padding[2], uint32_t extra,
                           const uint32_t *wanted, uint32_t *size)
{
    struct amount whole = wnn_amount_add(call->sizes, wnn_window_reach(call, input, stride),
                                         wnn_window_reach(call, window, dilation));
    whole.constant++;
    struct amount computed = whole;
    computed.constant -= (int64_t)padding[0] + padding[1];
    if (wanted) {
        struct amount most = computed, given = wnn_amount(call->sizes, *wanted),
                      over = wnn_amount_add(call->sizes, given, wnn_amount_times(computed, -1));
        struct bounds range = wnn_amount_range(call->sizes, &over);
        most.constant += stride - 1;
        if (range.max < 0 || range.min >= stride)
            return wnn_op_fail(call, "output %s is %s; expected %s to %s", what, SIZE_OF(call, *wanted),
                               AMOUNT_OF(call, &computed), AMOUNT_OF(call, &most));
        computed = given;
    } else {
        computed.constant += extra;
    }
    struct bounds range = wnn_amount_range(call->sizes, &computed);
    if (range.max < 1 || range.min > WNN_MAX_DIMENSION)
        return wnn_op_fail(call, "the output %s would be %s; expected 1 to 2147483647", what,
                           AMOUNT_OF(call, &computed));
    if (wnn_amount_range(call->sizes, &whole).min > WNN_MAX_DIMENSION)
        return wnn_op_fail(call, "the output %s without padding would be %s; expected at most 2147483647",
                           what, AMOUNT_OF(call, &whole));
    *size = wnn_amount_size(call->sizes, &computed);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-convtranspose2d
bool wnn_infer_convTranspose2d(struct op_call *call)
{
    WNNConvTranspose2dOptions *options = call->attrs;
    const struct shape *input = &call->in[0]->type.shape, *shape = &call->in[1]->type.shape;
    if (!wnn_complete_window(call, &options->padding, &options->strides, &options->dilations))
        return false;
    const struct convolution c = wnn_convolution_of(call->op, options, input, shape, NULL);
    const struct filter *filter = &c.filter;
    if (c.from.height == 0 || c.from.width == 0)
        return wnn_op_fail(call, "input %s has no pixels", SHAPE_OF(call, input));
    if (!check_window_size(call, filter->height, filter->width) ||
        !wnn_list_complete(call, "outputPadding", &options->outputPadding, 2, 0))
        return false;
    bool sized = options->outputSizes.count != WNN_LIST_ABSENT;
    if (sized && !wnn_list_complete(call, "outputSizes", &options->outputSizes, 2, 0))
        return false;
    const uint32_t *extra = options->outputPadding.data;
    for (unsigned i = 0; !sized && i < 2; i++)
        if (extra[i] >= c.strides[i])
            return wnn_op_fail(call, "outputPadding[%u] is %u; expected less than the stride %u", i, extra[i],
                               c.strides[i]);
    if (options->groups == 0)
        return wnn_op_fail(call, "groups is 0; expected at least 1");
    struct amount inputs = wnn_amount(call->sizes, c.from.channels),
                  outputs = wnn_amount_times(wnn_amount(call->sizes, filter->outputs), options->groups);
    if (wnn_sizes_differ(call->sizes, c.from.channels, filter->inputs))
        return wnn_op_fail(call, "filter %s has %s input channels; expected %s (input %s)",
                           SHAPE_OF(call, shape), SIZE_OF(call, filter->inputs),
                           SIZE_OF(call, c.from.channels), SHAPE_OF(call, input));
    if (wnn_amount_indivisible(&inputs, options->groups))
        return wnn_op_fail(call, "input %s has %s channels; expected a multiple of groups %u",
                           SHAPE_OF(call, input), SIZE_OF(call, c.from.channels), options->groups);
    // At most the elements of the filter, since it has a multiple of groups as input channels.
    uint32_t channels = wnn_amount_size(call->sizes, &outputs);
    uint32_t height = 0, width = 0;
    const uint32_t *sizes = sized ? options->outputSizes.data : NULL;
    if (!check_bias(call, channels) ||
        !transpose_size(call, "height", c.from.height, filter->height, c.strides[0], c.dilations[0],
                        c.padding, extra[0], sizes, &height) ||
        !transpose_size(call, "width", c.from.width, filter->width, c.strides[1], c.dilations[1],
                        c.padding + 2, extra[1], sizes ? sizes + 1 : NULL, &width))
        return false;
    if (!sized && !wnn_list_set(call, &options->outputSizes, (uint32_t[]){height, width}, 2))
        return false;
    wnn_infer_image(call, options->inputLayout, &c.from, channels, height, width);
    return true;
}
