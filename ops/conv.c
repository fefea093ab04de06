// SPDX-License-Identifier: Apache-2.0
//
// Inference of convolution.

#include "ops/window.h"

static bool check_window_size(struct op_call *call, uint32_t height, uint32_t width)
{
    uint32_t most = call->limits->maxWindowSize;
    if (height == 0 || width == 0)
        return wnn_op_fail(call, "the window is %u by %u; expected at least 1 each", height, width);
    if (most && (height > most || width > most))
        return wnn_op_fail(call, "the window is %u by %u; expected at most %u each", height, width, most);
    return true;
}

static bool check_bias(struct op_call *call, uint32_t channels)
{
    const struct operand *bias = call->in[2];
    if (bias && bias->type.shape.dim[0] != channels)
        return wnn_op_fail(call, "bias has shape %s; expected [%u], the output channels",
                           SHAPE_TEXT(&bias->type.shape), channels);
    return true;
}

// One output size of a convolution.
static bool conv_size(struct op_call *call, const char *what, uint32_t input, uint32_t window,
                      uint32_t stride, uint32_t dilation, const uint32_t padding[2], uint32_t *size)
{
    int64_t rest = wnn_window_slack(input, window, dilation, padding[0], padding[1]);
    if (rest < 0)
        return wnn_op_fail(
            call, "filter %s %u with dilation %u does not fit into input %s %u with padding %u and %u", what,
            window, dilation, what, input, padding[0], padding[1]);
    // wnn_check_padded bounds the sum that this comes from.
    *size = (uint32_t)(rest / stride + 1);
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
    if (c.from.channels % options->groups || c.inputs != filter->inputs)
        return wnn_op_fail(call, "filter %s has %u input channels; expected %u / %u (input %s, groups %u)",
                           SHAPE_TEXT(shape), filter->inputs, c.from.channels, options->groups,
                           SHAPE_TEXT(input), options->groups);
    if (filter->outputs % options->groups)
        return wnn_op_fail(call, "filter %s has %u output channels; expected a multiple of groups %u",
                           SHAPE_TEXT(shape), filter->outputs, options->groups);
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
    int64_t whole = wnn_window_reach(input - 1, stride) + wnn_window_reach(window - 1, dilation) + 1;
    int64_t computed = whole - padding[0] - padding[1];
    if (wanted) {
        if (*wanted < computed || *wanted - computed >= stride)
            return wnn_op_fail(call, "output %s is %u; expected %lld to %lld", what, *wanted,
                               (long long)computed, (long long)computed + stride - 1);
        computed = *wanted;
    } else {
        computed += extra;
    }
    if (computed < 1 || computed > WNN_MAX_DIMENSION)
        return wnn_op_fail(call, "the output %s would be %lld; expected 1 to 2147483647", what,
                           (long long)computed);
    if (whole > WNN_MAX_DIMENSION)
        return wnn_op_fail(call, "the output %s without padding would be %lld; expected at most 2147483647",
                           what, (long long)whole);
    *size = (uint32_t)computed;
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
        return wnn_op_fail(call, "input %s has no pixels", SHAPE_TEXT(input));
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
    if (c.from.channels != filter->inputs)
        return wnn_op_fail(call, "filter %s has %u input channels; expected %u (input %s)", SHAPE_TEXT(shape),
                           filter->inputs, c.from.channels, SHAPE_TEXT(input));
    if (c.from.channels % options->groups)
        return wnn_op_fail(call, "input %s has %u channels; expected a multiple of groups %u",
                           SHAPE_TEXT(input), c.from.channels, options->groups);
    // At most the elements of the filter, since it has a multiple of groups as input channels.
    uint32_t channels = filter->outputs * options->groups;
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
