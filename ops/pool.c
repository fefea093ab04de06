// SPDX-License-Identifier: Apache-2.0
//
// Inference of pooling.

#include "ops/window.h"

// One output size of a pooling, rounded down and up. Rounding up makes a window that is a little too large
// legal.
static bool pool_sizes(struct op_call *call, const char *what, uint32_t input, uint32_t window,
                       uint32_t stride, uint32_t dilation, const uint32_t padding[2], struct amount *down,
                       struct amount *up)
{
    struct amount rest = wnn_window_slack(call, input, window, dilation, padding);
    if (wnn_amount_range(call->sizes, &rest).max <= -(int64_t)stride)
        return wnn_op_fail(
            call, "window %s %s with dilation %u does not fit into input %s %s with padding %u and %u", what,
            SIZE_OF(call, window), dilation, what, SIZE_OF(call, input), padding[0], padding[1]);
    *down = wnn_amount_divide(call->sizes, rest, stride);
    down->constant++;
    rest.constant += stride - 1;
    *up = wnn_amount_divide(call->sizes, rest, stride);
    up->constant++;
    return true;
}

// Whether these can be the sizes of an output.
static bool are_sizes(struct op_call *call, WNNUint32List sizes, const struct amount amounts[2])
{
    for (unsigned i = 0; i < 2; i++) {
        struct amount size = wnn_amount(call->sizes, sizes.data[i]);
        if (wnn_amounts_differ(call->sizes, &size, &amounts[i]))
            return false;
    }
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-pool2d
bool wnn_infer_pool2d(struct op_call *call)
{
    WNNPool2dOptions *options = call->attrs;
    struct image image = wnn_image_of(&call->in[0]->type.shape, options->layout);
    if (options->windowDimensions.count == WNN_LIST_ABSENT &&
        !wnn_list_set(call, &options->windowDimensions, (uint32_t[]){image.height, image.width}, 2))
        return false;
    if (!wnn_list_complete(call, "windowDimensions", &options->windowDimensions, 2, 1) ||
        !wnn_check_sizes(call, "windowDimensions", options->windowDimensions, 1,
                         call->limits->maxWindowSize) ||
        !wnn_complete_window(call, &options->padding, &options->strides, &options->dilations))
        return false;
    bool sized = options->outputSizes.count != WNN_LIST_ABSENT;
    if (sized && !wnn_list_complete(call, "outputSizes", &options->outputSizes, 2, 0))
        return false;
    const uint32_t *window = options->windowDimensions.data, *padding = options->padding.data,
                   *strides = options->strides.data, *dilations = options->dilations.data;
    struct amount down[2], up[2];
    if (!wnn_check_padded(call, &image, padding) ||
        !pool_sizes(call, "height", image.height, window[0], strides[0], dilations[0], padding, &down[0],
                    &up[0]) ||
        !pool_sizes(call, "width", image.width, window[1], strides[1], dilations[1], padding + 2, &down[1],
                    &up[1]))
        return false;
    const struct amount *size = options->roundingType == WNNRoundingType_Ceil ? up : down;
    if (sized) {
        const uint32_t *sizes = options->outputSizes.data;
        bool is_down = are_sizes(call, options->outputSizes, down);
        if (!is_down && !are_sizes(call, options->outputSizes, up))
            return wnn_op_fail(call, "outputSizes is [%s, %s]; expected [%s, %s] or [%s, %s]",
                               SIZE_OF(call, sizes[0]), SIZE_OF(call, sizes[1]), AMOUNT_OF(call, &down[0]),
                               AMOUNT_OF(call, &down[1]), AMOUNT_OF(call, &up[0]), AMOUNT_OF(call, &up[1]));
        size = is_down ? down : up;
    }
    if (wnn_amount_range(call->sizes, &size[0]).max < 1 || wnn_amount_range(call->sizes, &size[1]).max < 1)
        return wnn_op_fail(call,
                           "window [%s, %s] with dilations [%u, %u] does not fit into the padded input %s",
                           SIZE_OF(call, window[0]), SIZE_OF(call, window[1]), dilations[0], dilations[1],
                           SHAPE_OF(call, &call->in[0]->type.shape));
    if (!sized) {
        uint32_t computed[] = {wnn_amount_size(call->sizes, &size[0]),
                               wnn_amount_size(call->sizes, &size[1])};
        if (!wnn_list_set(call, &options->outputSizes, computed, 2))
            return false;
    }
    const uint32_t *sizes = options->outputSizes.data;
    wnn_infer_image(call, options->layout, &image, image.channels, sizes[0], sizes[1]);
    return true;
}
