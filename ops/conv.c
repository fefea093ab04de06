// SPDX-License-Identifier: Apache-2.0
//
// Inference of convolution, pooling and resampling: everything with windows on two spatial dimensions.

#include "ops/lists.h"

#include <math.h>

// The sizes of a filter, whatever its layout.
struct filter {
    uint32_t in, out, height, width;
};

// The spatial sizes and channels of an input in either layout.
struct image {
    uint32_t batch, channels, height, width;
};

static struct image image_of(const struct shape *shape, WNNInputOperandLayout layout)
{
    const uint32_t *d = shape->dim;
    if (layout == WNNInputOperandLayout_NHWC)
        return (struct image){d[0], d[3], d[1], d[2]};
    return (struct image){d[0], d[1], d[2], d[3]};
}

static void set_image(struct op_call *call, WNNInputOperandLayout layout, struct image image)
{
    struct shape *shape = &call->out[0].shape;
    call->out[0].type = call->in[0]->type.type;
    if (layout == WNNInputOperandLayout_NHWC)
        *shape = (struct shape){4, {image.batch, image.height, image.width, image.channels}};
    else
        *shape = (struct shape){4, {image.batch, image.channels, image.height, image.width}};
}

static bool check_items(struct op_call *call, const char *name, WNNUint32List list, uint32_t most)
{
    for (size_t i = 0; i < list.count; i++) {
        if (list.data[i] == 0)
            return wnn_op_fail(call, "%s[%zu] is 0; expected at least 1", name, i);
        if (most && list.data[i] > most)
            return wnn_op_fail(call, "%s[%zu] is %u; expected at most %u", name, i, list.data[i], most);
    }
    return true;
}

// The attributes of every window: four paddings, two strides and dilations of at least 1.
static bool complete_window(struct op_call *call, WNNUint32List *padding, WNNUint32List *strides,
                            WNNUint32List *dilations)
{
    return wnn_list_complete(call, "padding", padding, 4, 0) &&
           wnn_list_complete(call, "strides", strides, 2, 1) &&
           check_items(call, "strides", *strides, call->limits->maxStride) &&
           wnn_list_complete(call, "dilations", dilations, 2, 1) &&
           check_items(call, "dilations", *dilations, call->limits->maxDilation);
}

static bool check_window_size(struct op_call *call, uint32_t height, uint32_t width)
{
    uint32_t most = call->limits->maxWindowSize;
    if (most && (height > most || width > most))
        return wnn_op_fail(call, "the window is %u by %u; expected at most %u each", height, width, most);
    return true;
}

// The product of two 32-bit sizes, cut off where nothing legal is any more, so that sums of a few of them
// stay far from the end of 64 bits.
static int64_t reach(uint32_t a, uint32_t b)
{
    uint64_t product = (uint64_t)a * b;
    return product > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)product;
}

// What is left of the input, padding included, beside one window: negative if the window does not fit.
static int64_t slack(uint32_t input, uint32_t window, uint32_t dilation, uint32_t begin, uint32_t end)
{
    return (int64_t)input + begin + end - (reach(window - 1, dilation) + 1);
}

// Kernels may lay a padded input out: it has to be a legal tensor too.
static bool check_padded(struct op_call *call, struct image image, const uint32_t *padding)
{
    uint64_t height = (uint64_t)image.height + padding[0] + padding[1];
    uint64_t width = (uint64_t)image.width + padding[2] + padding[3], elements;
    if (height > WNN_MAX_DIMENSION || width > WNN_MAX_DIMENSION || !wnn_multiply(height, width, &elements) ||
        !wnn_multiply(elements, image.channels, &elements) ||
        !wnn_multiply(elements, image.batch, &elements) || elements > WNN_MAX_DIMENSION)
        return wnn_op_fail(call, "input %s with padding [%u, %u, %u, %u] is larger than a tensor may be",
                           SHAPE_TEXT(&call->in[0]->type.shape), padding[0], padding[1], padding[2],
                           padding[3]);
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

static struct filter conv_filter(const struct shape *shape, WNNConv2dFilterOperandLayout layout)
{
    const uint32_t *d = shape->dim;
    switch (layout) {
    case WNNConv2dFilterOperandLayout_HWIO:
        return (struct filter){d[2], d[3], d[0], d[1]};
    case WNNConv2dFilterOperandLayout_OHWI:
        return (struct filter){d[3], d[0], d[1], d[2]};
    case WNNConv2dFilterOperandLayout_IHWO:
        return (struct filter){d[0], d[3], d[1], d[2]};
    default:
        return (struct filter){d[1], d[0], d[2], d[3]};
    }
}

// One output size of a convolution.
static bool conv_size(struct op_call *call, const char *what, uint32_t input, uint32_t window,
                      uint32_t stride, uint32_t dilation, const uint32_t padding[2], uint32_t *size)
{
    int64_t rest = slack(input, window, dilation, padding[0], padding[1]);
    if (rest < 0)
        return wnn_op_fail(
            call, "filter %s %u with dilation %u does not fit into input %s %u with padding %u and %u", what,
            window, dilation, what, input, padding[0], padding[1]);
    // check_padded bounds the sum that this comes from.
    *size = (uint32_t)(rest / stride + 1);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-conv2d
bool wnn_infer_conv2d(struct op_call *call)
{
    WNNConv2dOptions *options = call->attrs;
    const struct shape *input = &call->in[0]->type.shape, *shape = &call->in[1]->type.shape;
    struct image image = image_of(input, options->inputLayout);
    struct filter filter = conv_filter(shape, options->filterLayout);
    if (!complete_window(call, &options->padding, &options->strides, &options->dilations) ||
        !check_window_size(call, filter.height, filter.width))
        return false;
    if (options->groups == 0)
        return wnn_op_fail(call, "groups is 0; expected at least 1");
    if (image.channels % options->groups || image.channels / options->groups != filter.in)
        return wnn_op_fail(call, "filter %s has %u input channels; expected %u / %u (input %s, groups %u)",
                           SHAPE_TEXT(shape), filter.in, image.channels, options->groups, SHAPE_TEXT(input),
                           options->groups);
    if (filter.out % options->groups)
        return wnn_op_fail(call, "filter %s has %u output channels; expected a multiple of groups %u",
                           SHAPE_TEXT(shape), filter.out, options->groups);
    const uint32_t *padding = options->padding.data, *strides = options->strides.data,
                   *dilations = options->dilations.data;
    uint32_t height = 0, width = 0;
    if (!check_bias(call, filter.out) || !check_padded(call, image, padding) ||
        !conv_size(call, "height", image.height, filter.height, strides[0], dilations[0], padding, &height) ||
        !conv_size(call, "width", image.width, filter.width, strides[1], dilations[1], padding + 2, &width))
        return false;
    set_image(call, options->inputLayout, (struct image){image.batch, filter.out, height, width});
    return true;
}

static struct filter transpose_filter(const struct shape *shape, WNNConvTranspose2dFilterOperandLayout layout)
{
    const uint32_t *d = shape->dim;
    switch (layout) {
    case WNNConvTranspose2dFilterOperandLayout_HWOI:
        return (struct filter){d[3], d[2], d[0], d[1]};
    case WNNConvTranspose2dFilterOperandLayout_OHWI:
        return (struct filter){d[3], d[0], d[1], d[2]};
    default:
        return (struct filter){d[0], d[1], d[2], d[3]};
    }
}

// One output size of a transposed convolution; `wanted` NULL: computed.
static bool transpose_size(struct op_call *call, const char *what, uint32_t input, uint32_t window,
                           uint32_t stride, uint32_t dilation, const uint32_t padding[2], uint32_t extra,
                           const uint32_t *wanted, uint32_t *size)
{
    int64_t whole = reach(input - 1, stride) + reach(window - 1, dilation) + 1;
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
    struct image image = image_of(input, options->inputLayout);
    struct filter filter = transpose_filter(shape, options->filterLayout);
    if (!complete_window(call, &options->padding, &options->strides, &options->dilations) ||
        !check_window_size(call, filter.height, filter.width) ||
        !wnn_list_complete(call, "outputPadding", &options->outputPadding, 2, 0))
        return false;
    bool sized = options->outputSizes.count != WNN_LIST_ABSENT;
    if (sized && !wnn_list_complete(call, "outputSizes", &options->outputSizes, 2, 0))
        return false;
    const uint32_t *padding = options->padding.data, *strides = options->strides.data,
                   *dilations = options->dilations.data, *extra = options->outputPadding.data;
    for (unsigned i = 0; !sized && i < 2; i++)
        if (extra[i] >= strides[i])
            return wnn_op_fail(call, "outputPadding[%u] is %u; expected less than the stride %u", i, extra[i],
                               strides[i]);
    if (options->groups == 0)
        return wnn_op_fail(call, "groups is 0; expected at least 1");
    if (image.channels != filter.in)
        return wnn_op_fail(call, "filter %s has %u input channels; expected %u (input %s)", SHAPE_TEXT(shape),
                           filter.in, image.channels, SHAPE_TEXT(input));
    if (image.channels % options->groups)
        return wnn_op_fail(call, "input %s has %u channels; expected a multiple of groups %u",
                           SHAPE_TEXT(input), image.channels, options->groups);
    // At most the elements of the filter, since it has a multiple of groups as input channels.
    uint32_t channels = filter.out * options->groups;
    uint32_t height = 0, width = 0;
    const uint32_t *sizes = sized ? options->outputSizes.data : NULL;
    if (!check_bias(call, channels) ||
        !transpose_size(call, "height", image.height, filter.height, strides[0], dilations[0], padding,
                        extra[0], sizes, &height) ||
        !transpose_size(call, "width", image.width, filter.width, strides[1], dilations[1], padding + 2,
                        extra[1], sizes ? sizes + 1 : NULL, &width))
        return false;
    if (!sized && !wnn_list_set(call, &options->outputSizes, (uint32_t[]){height, width}, 2))
        return false;
    set_image(call, options->inputLayout, (struct image){image.batch, channels, height, width});
    return true;
}

// One output size of a pooling, rounded down and up. Rounding up makes a window that is a little too large
// legal.
static bool pool_sizes(struct op_call *call, const char *what, uint32_t input, uint32_t window,
                       uint32_t stride, uint32_t dilation, const uint32_t padding[2], int64_t *down,
                       int64_t *up)
{
    int64_t rest = slack(input, window, dilation, padding[0], padding[1]);
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
    struct image image = image_of(&call->in[0]->type.shape, options->layout);
    if (options->windowDimensions.count == WNN_LIST_ABSENT &&
        !wnn_list_set(call, &options->windowDimensions, (uint32_t[]){image.height, image.width}, 2))
        return false;
    if (!wnn_list_complete(call, "windowDimensions", &options->windowDimensions, 2, 1) ||
        !check_items(call, "windowDimensions", options->windowDimensions, call->limits->maxWindowSize) ||
        !complete_window(call, &options->padding, &options->strides, &options->dilations))
        return false;
    bool sized = options->outputSizes.count != WNN_LIST_ABSENT;
    if (sized && !wnn_list_complete(call, "outputSizes", &options->outputSizes, 2, 0))
        return false;
    const uint32_t *window = options->windowDimensions.data, *padding = options->padding.data,
                   *strides = options->strides.data, *dilations = options->dilations.data;
    int64_t down[2], up[2];
    if (!check_padded(call, image, padding) ||
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
    set_image(call, options->layout, (struct image){image.batch, image.channels, height, width});
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-resample2d-method
bool wnn_infer_resample2d(struct op_call *call)
{
    WNNResample2dOptions *options = call->attrs;
    const struct descriptor *input = &call->in[0]->type;
    bool scaled = options->scales.count != WNN_LIST_ABSENT, sized = options->sizes.count != WNN_LIST_ABSENT;
    if (scaled && options->scales.count != 2)
        return wnn_op_fail(call, "scales has %zu items; expected 2", options->scales.count);
    for (unsigned i = 0; scaled && i < 2; i++)
        if (!(options->scales.data[i] > 0))
            return wnn_op_fail(call, "scales[%u] is %g; expected more than 0", i,
                               (double)options->scales.data[i]);
    if (sized && (!wnn_list_complete(call, "sizes", &options->sizes, 2, 1) ||
                  !check_items(call, "sizes", options->sizes, 0)))
        return false;
    if (options->axes.count == WNN_LIST_ABSENT && !wnn_list_set(call, &options->axes, (uint32_t[]){2, 3}, 2))
        return false;
    if (!wnn_list_complete(call, "axes", &options->axes, 2, 0) ||
        !wnn_axes_complete(call, &options->axes, &input->shape, 0))
        return false;
    call->out[0] = *input;
    uint32_t result[2];
    for (unsigned i = 0; i < 2; i++) {
        uint32_t axis = options->axes.data[i], size = input->shape.dim[axis];
        double scale = scaled ? (double)options->scales.data[i] : 1, exact = floor((double)size * scale);
        if (!sized && !(exact >= 1 && exact <= WNN_MAX_DIMENSION))
            return wnn_op_fail(call, "dimension %u of %u scaled by %g would be %g; expected 1 to 2147483647",
                               axis, size, scale, exact);
        result[i] = sized ? options->sizes.data[i] : (uint32_t)exact;
        call->out[0].shape.dim[axis] = result[i];
    }
    return wnn_list_set(call, &options->sizes, result, 2);
}
