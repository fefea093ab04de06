// SPDX-License-Identifier: Apache-2.0
#include "ops/geometry.h"

#include <string.h>

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

static struct matrix_product product_of_gemm(const WNNGemmOptions *options, const struct shape *a,
                                             const struct shape *b, const struct shape *c,
                                             const struct shape *output)
{
    struct matrix_product p = {.m = a->dim[options->aTranspose],
                               .n = b->dim[!options->bTranspose],
                               .k = a->dim[!options->aTranspose],
                               .a_row = options->aTranspose ? 1 : a->dim[1],
                               .a_term = options->aTranspose ? a->dim[1] : 1,
                               .b_term = options->bTranspose ? 1 : b->dim[1],
                               .b_column = options->bTranspose ? b->dim[1] : 1,
                               .alpha = options->alpha,
                               .beta = options->beta,
                               .count = 1,
                               .b_count = 1};
    if (c) {
        size_t steps[WNN_MAX_RANK];
        wnn_shape_broadcast_strides(c, output, steps);
        p.c_row = steps[0];
        p.c_column = steps[1];
    }
    return p;
}

// The matrices of an operand: how many, and the steps between them along the batch.
static size_t matrices_of(const struct shape *operand, const struct shape *batch, size_t steps[WNN_MAX_RANK])
{
    struct shape leading = *operand;
    leading.rank -= 2;
    size_t matrix = (size_t)operand->dim[leading.rank] * operand->dim[leading.rank + 1];
    wnn_shape_broadcast_strides(&leading, batch, steps);
    for (unsigned d = 0; d < batch->rank; d++)
        steps[d] *= matrix;
    return wnn_shape_elements(&leading);
}

static struct matrix_product product_of_matmul(const struct shape *a, const struct shape *b,
                                               const struct shape *output)
{
    struct matrix_product p = {.m = a->dim[a->rank - 2],
                               .n = b->dim[b->rank - 1],
                               .k = a->dim[a->rank - 1],
                               .a_row = a->dim[a->rank - 1],
                               .a_term = 1,
                               .b_term = b->dim[b->rank - 1],
                               .b_column = 1,
                               .alpha = 1,
                               .batch = *output};
    p.batch.rank -= 2;
    p.count = wnn_shape_elements(&p.batch);
    size_t a_count = matrices_of(a, &p.batch, p.a_steps);
    p.b_count = matrices_of(b, &p.batch, p.b_steps);
    if (p.b_count == 1 && a_count == p.count) {
        p.m *= p.count;
        p.batch.rank = 0;
        p.count = 1;
    }
    return p;
}

struct matrix_product wnn_matrix_product_of(enum op op, const void *attrs, const struct shape *a,
                                            const struct shape *b, const struct shape *c,
                                            const struct shape *output)
{
    return op == WNN_OP_gemm ? product_of_gemm(attrs, a, b, c, output) : product_of_matmul(a, b, output);
}

struct resampling wnn_node_resampling(const struct node *node)
{
    const WNNResample2dOptions *options = node->attrs;
    const struct shape *in = &node->in[0]->type.shape, *out = &node->out[0]->type.shape;
    uint32_t a = options->axes.data[0], b = options->axes.data[1];
    struct resampling r = {.linear = options->mode == WNNInterpolationMode_Linear,
                           .first = a < b ? a : b,
                           .second = a < b ? b : a};
    for (unsigned i = 0; i < 2; i++) {
        r.in[i] = in->dim[i ? r.second : r.first];
        r.out[i] = out->dim[i ? r.second : r.first];
    }
    r.outer = wnn_shape_product(in, 0, r.first);
    r.middle = wnn_shape_product(in, r.first + 1, r.second);
    r.inner = wnn_shape_product(in, r.second + 1, in->rank);
    return r;
}

struct rotation wnn_node_rotation(const struct node *node)
{
    uint32_t axis = ((const struct rotary_embedding_attrs *)node->attrs)->axis;
    const struct shape *input = &node->in[0]->type.shape;
    struct rotation r = {.rank = input->rank};
    memcpy(r.dim, input->dim, input->rank * sizeof r.dim[0]);
    r.dim[axis] /= 2;
    for (unsigned i = 0; i < 3; i++) {
        const struct shape *shape = &node->in[i]->type.shape;
        unsigned missing = input->rank - shape->rank;
        size_t step = 1;
        for (unsigned d = input->rank; d-- > missing; step *= shape->dim[d - missing]) {
            uint32_t size = shape->dim[d - missing];
            r.steps[i][d] = size == 1 ? 0 : step;
            if (d == axis && size > r.dim[axis])
                r.far[i] = step * r.dim[axis];
        }
    }
    return r;
}

uint32_t wnn_axes_mask(WNNUint32List axes)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < axes.count; i++)
        mask |= 1u << axes.data[i];
    return mask;
}

static struct reduction_axes axes_of_images(const WNNInstanceNormalizationOptions *options)
{
    bool last = options->layout == WNNInputOperandLayout_NHWC;
    struct reduction_axes r = {.mask = last ? 0x6 : 0xC, .epsilon = options->epsilon};
    r.parameter[last ? 3 : 1] = 1;
    return r;
}

// Scale and bias have the axes in the order in which they are listed.
static struct reduction_axes axes_of_layer(WNNUint32List axes, double epsilon, const struct shape *input)
{
    struct reduction_axes r = {.mask = wnn_axes_mask(axes), .epsilon = epsilon};
    size_t step = 1;
    for (size_t i = axes.count; i-- > 0;) {
        r.parameter[axes.data[i]] = step;
        step *= input->dim[axes.data[i]];
    }
    return r;
}

struct reduction_axes wnn_node_reduction_axes(const struct node *node)
{
    const void *attrs = node->attrs;
    const WNNLayerNormalizationOptions *layer = attrs;
    const struct rms_normalization_attrs *rms = attrs;
    switch (node->op) {
    case WNN_OP_instanceNormalization:
        return axes_of_images(attrs);
    case WNN_OP_layerNormalization:
        return axes_of_layer(layer->axes, layer->epsilon, &node->in[0]->type.shape);
    case WNN_OP_rmsNormalization:
        return axes_of_layer(rms->axes, rms->epsilon, &node->in[0]->type.shape);
    case WNN_OP_softmax:
        return (struct reduction_axes){1u << ((const struct softmax_attrs *)attrs)->axis, {0}, 0};
    case WNN_OP_cumulativeSum:
        return (struct reduction_axes){1u << ((const struct cumulative_sum_attrs *)attrs)->axis, {0}, 0};
    case WNN_OP_argMin:
    case WNN_OP_argMax:
        return (struct reduction_axes){
            wnn_axes_mask(((const struct arg_min_max_attrs *)attrs)->axes), {0}, 0};
    default:
        return (struct reduction_axes){wnn_axes_mask(((const WNNReduceOptions *)attrs)->axes), {0}, 0};
    }
}
