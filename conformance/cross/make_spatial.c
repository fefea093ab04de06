// SPDX-License-Identifier: Apache-2.0
//
// Random graphs: operators on images.

#include "conformance/cross/generator.h"

#include <string.h>

static struct shape random_image(struct random_graph *graph)
{
    struct shape shape = {4, {some(graph, 2), some(graph, 8), some(graph, 9), some(graph, 9)}};
    if (graph->edges)
        shape.dim[1 + below(graph, 3)] = wnn_random_edge(graph, 1060);
    return shape;
}

static struct value *pick_image(struct random_graph *graph, uint32_t types, double most)
{
    for (size_t i = graph->value_count; i-- > 0;) {
        struct wish wish = {types, 4, 4, false, -most, most};
        if (wnn_random_suits(&graph->values[i], &wish) && chance(graph, 50))
            return &graph->values[i];
    }
    return wnn_random_new(graph, wnn_random_type(graph, types), random_image(graph));
}

// The padding, strides and dilations that convolutions and pools have in common.
struct window {
    uint32_t padding[4], strides[2], dilations[2], size[2];
};

static struct window random_window(struct random_graph *graph)
{
    struct window window;
    for (unsigned i = 0; i < 2; i++) {
        window.size[i] = 1 + below(graph, 3);
        window.strides[i] = chance(graph, 60) ? 1 : 1 + below(graph, 3);
        window.dilations[i] = chance(graph, 70) ? 1 : 1 + below(graph, 2);
        window.padding[2 * i] = chance(graph, 50) ? 0 : below(graph, 3);
        window.padding[2 * i + 1] = chance(graph, 50) ? 0 : below(graph, 3);
    }
    return window;
}

// Now and then, numbers that are much larger than images.
static void stretch(struct random_graph *graph, struct window *window)
{
    for (unsigned i = 0; i < 2; i++) {
        if (chance(graph, 3))
            window->strides[i] = UINT32_MAX - below(graph, 3);
        if (chance(graph, 3)) {
            window->dilations[i] =
                window->size[i] == 1 ? UINT32_MAX : 1 + below(graph, 1u << below(graph, 29));
            uint32_t reach = (window->size[i] - 1) * window->dilations[i];
            window->padding[2 * i] = below(graph, reach + 1);
            window->padding[2 * i + 1] = reach - window->padding[2 * i];
        }
    }
}

// Also whether the image with its padding is no larger than a tensor may be.
static bool window_fits(const struct window *window, const struct shape *shape, unsigned first)
{
    double elements = (double)wnn_shape_elements(shape);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t size = shape->dim[first + i],
                 padded = size + window->padding[2 * i] + window->padding[2 * i + 1];
        if (padded < (uint64_t)(window->size[i] - 1) * window->dilations[i] + 1)
            return false;
        elements *= size ? (double)padded / (double)size : 1;
    }
    return elements < INT32_MAX;
}

static struct shape permuted(const char *from, const uint32_t *sizes, const char *to)
{
    struct shape shape = {.rank = 4};
    for (unsigned d = 0; d < 4; d++)
        shape.dim[d] = sizes[strchr(from, to[d]) - from];
    return shape;
}

void wnn_make_convolution(struct random_graph *graph, enum op op)
{
    static const char *const layouts[] = {"oihw", "hwio", "ohwi", "ihwo"};
    static const char *const transposed_layouts[] = {"iohw", "hwoi", "ohwi"};
    struct value *operands[2] = {pick_image(graph, FLOATS, 8)};
    struct value *x = operands[0];
    if (x == NULL)
        return;
    bool nhwc = chance(graph, 50), transposed = op == WNN_OP_convTranspose2d;
    const uint32_t *dim = x->type.shape.dim;
    uint32_t channels = dim[nhwc ? 3 : 1], groups = 1;
    struct window window = random_window(graph);
    if (!transposed)
        stretch(graph, &window);
    if (chance(graph, 40))
        groups = chance(graph, 50) && channels > 0 ? channels : channels % 2 == 0 ? 2 : 1;
    uint32_t per_group = some(graph, 4);
    if (channels > 33 || !window_fits(&window, &x->type.shape, nhwc ? 1 : 2))
        return;
    uint32_t outputs = per_group * groups;
    WNNUint32List padding = {window.padding, 4}, strides = {window.strides, 2},
                  dilations = {window.dilations, 2};
    struct value *bias = chance(graph, 50) ? wnn_random_new(graph, x->type.type, vector_of(outputs)) : NULL;
    double most = magnitude(x) * 2 * 9 * channels + 2;
    WNNInputOperandLayout layout = nhwc ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
    if (transposed) {
        WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
        options.filterLayout = (WNNConvTranspose2dFilterOperandLayout)(1 + below(graph, 3));
        const uint32_t sizes[] = {channels, per_group, window.size[0], window.size[1]};
        operands[1] = wnn_random_new(graph, x->type.type,
                                     permuted("iohw", sizes, transposed_layouts[options.filterLayout - 1]));
        for (unsigned i = 0; i < 2; i++) {
            uint32_t full = (dim[(nhwc ? 1 : 2) + i] - 1) * window.strides[i] +
                            (window.size[i] - 1) * window.dilations[i] + 1;
            if (full <= window.padding[2 * i] + window.padding[2 * i + 1])
                window.padding[2 * i] = window.padding[2 * i + 1] = 0;
        }
        uint32_t extra[2] = {below(graph, window.strides[0]), below(graph, window.strides[1])};
        options.outputPadding = (WNNUint32List){extra, 2};
        options.padding = padding;
        options.strides = strides;
        options.dilations = dilations;
        options.groups = groups;
        options.inputLayout = layout;
        options.bias = operand_of(bias);
        options.activation = wnn_random_activation(graph, 30);
        wnn_random_emit(graph, op, 2, operands, &options, -most, most);
        return;
    }
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.filterLayout = (WNNConv2dFilterOperandLayout)(1 + below(graph, 4));
    const uint32_t sizes[] = {outputs, channels / groups, window.size[0], window.size[1]};
    operands[1] =
        wnn_random_new(graph, x->type.type, permuted("oihw", sizes, layouts[options.filterLayout - 1]));
    options.padding = padding;
    options.strides = strides;
    options.dilations = dilations;
    options.groups = groups;
    options.inputLayout = layout;
    options.bias = operand_of(bias);
    options.activation = wnn_random_activation(graph, 30);
    wnn_random_emit(graph, op, 2, operands, &options, -most, most);
}

void wnn_make_pool(struct random_graph *graph, enum op op)
{
    struct value *x = pick_image(graph, first_types(op), MOST);
    struct window window = random_window(graph);
    stretch(graph, &window);
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    if (x == NULL)
        return;
    options.layout = (WNNInputOperandLayout)(1 + below(graph, 2));
    if (!window_fits(&window, &x->type.shape, options.layout == WNNInputOperandLayout_NHWC ? 1 : 2))
        return;
    bool global = chance(graph, 20);
    if (!global) {
        options.windowDimensions = (WNNUint32List){window.size, 2};
        options.padding = (WNNUint32List){window.padding, 4};
        options.strides = (WNNUint32List){window.strides, 2};
        options.dilations = (WNNUint32List){window.dilations, 2};
        options.roundingType = (WNNRoundingType)(1 + below(graph, 2));
    }
    double most = op == WNN_OP_l2Pool2d ? magnitude(x) * sqrt((double)wnn_shape_elements(&x->type.shape))
                                        : magnitude(x);
    // The maximum of a window without elements is infinite.
    if (op == WNN_OP_maxPool2d && !global)
        most = NO_LIMIT;
    wnn_random_emit(graph, op, 1, &x, &options, -most, most);
}

void wnn_make_resample(struct random_graph *graph)
{
    struct value *x = pick_image(graph, FLOATS | U8 | I8, MOST);
    WNNResample2dOptions options = WNN_RESAMPLE2D_OPTIONS_INIT;
    uint32_t axes[2], sizes[2];
    float scales[2];
    if (x == NULL)
        return;
    size_t elements = wnn_shape_elements(&x->type.shape);
    axes[0] = below(graph, 4);
    axes[1] = (axes[0] + 1 + below(graph, 3)) % 4;
    if (chance(graph, 60)) { // the usual ones
        axes[0] = chance(graph, 50) ? 2 : 1;
        axes[1] = axes[0] + 1;
    }
    for (unsigned i = 0; i < 2; i++) {
        sizes[i] = some(graph, 9);
        scales[i] = (float)(1 + below(graph, 3));
        uint32_t size = x->type.shape.dim[axes[i]];
        elements = elements / (size ? size : 1) * (sizes[i] > 27 ? sizes[i] : 27);
    }
    if (elements > 60 * graph->most_elements)
        return;
    options.mode = (WNNInterpolationMode)(1 + below(graph, 2));
    options.axes = (WNNUint32List){axes, 2};
    if (chance(graph, 50))
        options.sizes = (WNNUint32List){sizes, 2};
    else
        options.scales = (WNNFloat32List){scales, 2};
    wnn_random_emit(graph, WNN_OP_resample2d, 1, &x, &options, x->low, x->high);
}
