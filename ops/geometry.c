// SPDX-License-Identifier: Apache-2.0
#include "ops/geometry.h"

struct image wnn_image_of(const struct shape *shape, WNNInputOperandLayout layout)
{
    const uint32_t *d = shape->dim;
    if (layout == WNNInputOperandLayout_NHWC)
        return (struct image){true, d[0], d[3], d[1], d[2], d[1] * d[2] * d[3], 1, d[2] * d[3], d[3]};
    return (struct image){false, d[0], d[1], d[2], d[3], d[1] * d[2] * d[3], d[2] * d[3], d[3], 1};
}

const uint8_t *wnn_filter_axes(enum op op, const void *attrs)
{
    static const uint8_t conv2d[][4] = {
        [WNNConv2dFilterOperandLayout_OIHW] = {0, 1, 2, 3},
        [WNNConv2dFilterOperandLayout_HWIO] = {3, 2, 0, 1},
        [WNNConv2dFilterOperandLayout_OHWI] = {0, 3, 1, 2},
        [WNNConv2dFilterOperandLayout_IHWO] = {3, 0, 1, 2},
    };
    static const uint8_t transposed[][4] = {
        [WNNConvTranspose2dFilterOperandLayout_IOHW] = {1, 0, 2, 3},
        [WNNConvTranspose2dFilterOperandLayout_HWOI] = {2, 3, 0, 1},
        [WNNConvTranspose2dFilterOperandLayout_OHWI] = {0, 3, 1, 2},
    };
    if (op == WNN_OP_conv2d) {
        unsigned layout = (unsigned)((const WNNConv2dOptions *)attrs)->filterLayout;
        return layout > 0 && layout < sizeof conv2d / sizeof conv2d[0] ? conv2d[layout] : NULL;
    }
    unsigned layout = (unsigned)((const WNNConvTranspose2dOptions *)attrs)->filterLayout;
    return layout > 0 && layout < sizeof transposed / sizeof transposed[0] ? transposed[layout] : NULL;
}

static struct filter filter_of(const struct shape *shape, const uint8_t axes[4])
{
    const uint32_t *d = shape->dim;
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(shape, strides);
    return (struct filter){.outputs = d[axes[0]],
                           .inputs = d[axes[1]],
                           .height = d[axes[2]],
                           .width = d[axes[3]],
                           .o = (uint32_t)strides[axes[0]],
                           .i = (uint32_t)strides[axes[1]],
                           .y = (uint32_t)strides[axes[2]],
                           .x = (uint32_t)strides[axes[3]]};
}

struct convolution wnn_convolution_of(enum op op, const void *attrs, const struct shape *input,
                                      const struct shape *filter, const struct shape *output)
{
    struct convolution c = {.transposed = op == WNN_OP_convTranspose2d,
                            .filter = filter_of(filter, wnn_filter_axes(op, attrs))};
    WNNInputOperandLayout layout;
    if (c.transposed) {
        const WNNConvTranspose2dOptions *options = attrs;
        layout = options->inputLayout;
        c.groups = options->groups;
        c.padding = options->padding.data;
        c.strides = options->strides.data;
        c.dilations = options->dilations.data;
    } else {
        const WNNConv2dOptions *options = attrs;
        layout = options->inputLayout;
        c.groups = options->groups;
        c.padding = options->padding.data;
        c.strides = options->strides.data;
        c.dilations = options->dilations.data;
    }
    c.from = wnn_image_of(input, layout);
    c.to = output ? wnn_image_of(output, layout) : c.from;
    if (c.groups == 0) // which inference refuses
        return c;
    c.inputs = c.from.channels / c.groups;
    c.outputs = c.transposed ? c.filter.outputs : c.filter.outputs / c.groups;
    c.filter_group = c.transposed ? c.inputs * c.filter.i : c.outputs * c.filter.o;
    return c;
}

struct pooling wnn_node_pooling(const struct node *node)
{
    const WNNPool2dOptions *options = node->attrs;
    struct pooling p = {.from = wnn_image_of(&node->in[0]->type.shape, options->layout),
                        .to = wnn_image_of(&node->out[0]->type.shape, options->layout),
                        .window = options->windowDimensions.data,
                        .padding = options->padding.data,
                        .strides = options->strides.data,
                        .dilations = options->dilations.data};
    p.global = p.window[0] == p.from.height && p.window[1] == p.from.width && p.dilations[0] == 1 &&
               p.dilations[1] == 1 && (p.padding[0] | p.padding[1] | p.padding[2] | p.padding[3]) == 0;
    return p;
}
