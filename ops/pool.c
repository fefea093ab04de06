// SPDX-License-Identifier: Apache-2.0
//
// Inference of pooling.

#include "ops/window.h"

// One output size of a pooling, rounded down and up. Rounding up makes a window that is a little too large
// legal.
static bool pool_sizes(struct op_call *call, const char *what, uint32_t input, uint32_t window,
                       uint32_t stride, uint32_t dilation, const uint32_t padding[2], int64_t *down,
                       int64_t *up)
{
    int64_t rest = wnn_window_slack(input, window, dilation, padding[0], padding[1]);
    if (rest <= -(int64_t)stride)
        return wnn_op_fail(
            call, "window %s %u with dilation %u does not fit into input %s %u with padding %u and %u", what,
            window, dilation, what, input, padding[0], padding[1]);
    *down = rest < 0 ? 0 : rest / stride + 1;
    *up = rest < 0 ? 1 : (rest + stride - 1) / stride + 1;
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
        !wnn_check_items(call, "windowDimensions", options->windowDimensions, call->limits->maxWindowSize) ||
        !wnn_complete_window(call, &options->padding, &options->strides, &options->dilations))
        return false;
    bool sized = options->outputSizes.count != WNN_LIST_ABSENT;
    if (sized && !wnn_list_complete(call, "outputSizes", &options->outputSizes, 2, 0))
        return false;
    const uint32_t *window = options->windowDimensions.data, *padding = options->padding.data,
                   *strides = options->strides.data, *dilations = options->dilations.data;
    int64_t down[2], up[2];
    if (!wnn_check_padded(call, &image, padding) ||
        !pool_sizes(call, "height", image.height, window[0], strides[0], dilations[0], padding, &down[0],
                    &up[0]) ||
        !pool_sizes(call, "width", image.width, window[1], strides[1], dilations[1], padding + 2, &down[1],
                    &up[1]))
        return false;
    const int64_t *size = options->roundingType == WNNRoundingType_Ceil ? up : down;
    if (sized) {
        const uint32_t *sizes = options->outputSizes.data;
        bool is_down = sizes[0] == down[0] && sizes[1] == down[1],
             is_up = sizes[0] == up[0] && sizes[1] == up[1];
        if (!is_down && !is_up)
            return wnn_op_fail(call, "outputSizes is [%u, %u]; expected [%lld, %lld] or [%lld, %lld]",
                               sizes[0], sizes[1], (long long)down[0], (long long)down[1], (long long)up[0],
                               (long long)up[1]);
        size = is_down ? down : up;
    }
    if (size[0] < 1 || size[1] < 1)
        return wnn_op_fail(
            call, "window [%u, %u] with dilations [%u, %u] does not fit into the padded input %s", window[0],
            window[1], dilations[0], dilations[1], SHAPE_TEXT(&call->in[0]->type.shape));
    uint32_t height = (uint32_t)size[0], width = (uint32_t)size[1];
    if (!wnn_list_set(call, &options->outputSizes, (uint32_t[]){height, width}, 2))
        return false;
    wnn_infer_image(call, options->layout, &image, image.channels, height, width);
    return true;
}
