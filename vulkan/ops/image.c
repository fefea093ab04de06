// SPDX-License-Identifier: Apache-2.0
//
// Operators on images: pooling, resampling.

#include "vulkan/ops/image.h"

#include "vulkan/ops/operators.h"

struct image wnn_image_of(const struct shape *shape, WNNInputOperandLayout layout)
{
    const uint32_t *dim = shape->dim;
    if (layout == WNNInputOperandLayout_NHWC)
        return (struct image){true, dim[0],          dim[3], dim[1], dim[2], dim[1] * dim[2] * dim[3],
                              1,    dim[2] * dim[3], dim[3]};
    return (struct image){false,           dim[0], dim[1], dim[2], dim[3], dim[1] * dim[2] * dim[3],
                          dim[2] * dim[3], dim[3], 1};
}

void wnn_shader_images(struct shader *shader, const struct image *in, const struct image *out)
{
    wnn_shader_define(shader, "NHWC", "%d", in->nhwc);
    wnn_shader_number(shader, "IN_HEIGHT", in->height);
    wnn_shader_number(shader, "IN_WIDTH", in->width);
    wnn_shader_number(shader, "IN_N", in->n);
    wnn_shader_number(shader, "IN_C", in->c);
    wnn_shader_number(shader, "IN_Y", in->y);
    wnn_shader_number(shader, "IN_X", in->x);
    wnn_shader_number(shader, "OUT_HEIGHT", out->height);
    wnn_shader_number(shader, "OUT_WIDTH", out->width);
}

void wnn_shader_windows(struct shader *shader, const uint32_t *padding, const uint32_t *strides,
                        const uint32_t *dilations)
{
    // Images are smaller with their padding: a step that leads so far leads beyond them.
    const uint32_t most = INT32_MAX;
    wnn_shader_number(shader, "PAD_Y", padding[0]);
    wnn_shader_number(shader, "PAD_X", padding[2]);
    wnn_shader_number(shader, "STRIDE_Y", strides[0] < most ? strides[0] : most);
    wnn_shader_number(shader, "STRIDE_X", strides[1] < most ? strides[1] : most);
    wnn_shader_number(shader, "DILATION_Y", dilations[0]);
    wnn_shader_number(shader, "DILATION_X", dilations[1]);
}

// ---------------------------------------------------------------------------------------------------------------
// Pooling
// ---------------------------------------------------------------------------------------------------------------

// Windows that do not overlap much.
bool wnn_pool_prepares(const struct node *node, unsigned input)
{
    const WNNPool2dOptions *options = node->attrs;
    const uint32_t *window = options->windowDimensions.data, *strides = options->strides.data;
    return input == 0 && (uint64_t)window[0] * window[1] <= 4 * (uint64_t)strides[0] * strides[1];
}

void wnn_lower_pool2d(struct lowering *lowering)
{
    const struct node *node = lowering->node;
    const WNNPool2dOptions *options = node->attrs;
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    struct image from = wnn_image_of(&in->shape, options->layout),
                 to = wnn_image_of(&out->shape, options->layout);
    const char *type = wnn_shader_type(in->type);
    bool greatest = node->op == WNN_OP_maxPool2d, average = node->op == WNN_OP_averagePool2d;
    bool is_float = wnn_dtype_is_float(in->type), wide = wnn_dtype_bits(in->type) == 64;
    uint64_t window = (uint64_t)options->windowDimensions.data[0] * options->windowDimensions.data[1];
    struct shader shader;
    if (wnn_is_global_pool(node)) {
        wnn_lower_global_pool(lowering);
        return;
    }
    // Large windows are waited for longest: all of a line is to be on its way at once.
    wnn_shader_begin(&shader, lowering, "pool", window >= 16 ? SIZE_MAX : out->count);
    bool unroll = shader.literal && options->windowDimensions.data[1] <= 16;
    wnn_shader_define(&shader, "UNROLL", "%s", unroll ? "[[unroll]]" : "");
    wnn_shader_images(&shader, &from, &to);
    wnn_shader_windows(&shader, options->padding.data, options->strides.data, options->dilations.data);
    wnn_shader_number(&shader, "CHANNELS", to.channels);
    wnn_shader_number(&shader, "WINDOW_Y", options->windowDimensions.data[0]);
    wnn_shader_number(&shader, "WINDOW_X", options->windowDimensions.data[1]);
    wnn_shader_input(&shader, "a", in, FORM_VALUE);
    wnn_shader_output(&shader, out, FORM_VALUE, lowering->fused);
    wnn_shader_define(&shader, "SUM", "%s", greatest ? type : "vec2");
    // A window without elements has the least number of the type.
    uint32_t bits = wnn_dtype_bits(in->type);
    bool is_signed = wnn_dtype_is_signed(in->type);
    if (!greatest)
        wnn_shader_define(&shader, "NEUTRAL", "vec2(0.0)");
    else if (is_float)
        wnn_shader_define(&shader, "NEUTRAL", "-INF");
    else if (wide)
        wnn_shader_define(&shader, "NEUTRAL", "%s(0u, %s)", type, is_signed ? "0x80000000u" : "0u");
    else
        wnn_shader_define(&shader, "NEUTRAL", "%s(%s0x%xu)", type, is_signed ? "-" : "",
                          is_signed ? 1u << (bits - 1) : 0);
    wnn_shader_text(&shader, "SUM join(SUM a, SUM b) { return %s; }\n",
                    greatest ? "greatest(a, b)" : "sum2(a, b)");
    wnn_shader_text(&shader, "SUM mapped(%s x) { return %s; }\n", type,
                    greatest  ? "x"
                    : average ? "vec2(x, 0.0)"
                              : "product2(x, x)");
    wnn_shader_text(&shader, "OUT result_of(SUM s, uint count) { return %s; }\n",
                    greatest  ? "s"
                    : average ? "count == 0u ? 0.0 : mean2(s, float(count)).x"
                              : "sqrt_of(s.x + s.y)");
    wnn_shader_end(&shader);
}

// ---------------------------------------------------------------------------------------------------------------
// Resampling
// ---------------------------------------------------------------------------------------------------------------

void wnn_lower_resample2d(struct lowering *lowering)
{
    const WNNResample2dOptions *options = lowering->node->attrs;
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    bool linear = options->mode == WNNInterpolationMode_Linear;
    unsigned first = options->axes.data[0], second = options->axes.data[1];
    if (first > second) {
        unsigned third = first;
        first = second;
        second = third;
    }
    uint32_t middle = 1, inner = 1;
    for (unsigned d = first + 1; d < in->shape.rank; d++)
        *(d < second ? &middle : &inner) *= d == second ? 1 : in->shape.dim[d];
    struct shader shader;
    enum form form = linear ? FORM_VALUE : FORM_BITS;
    // The frame rounds and activates floats: nearest elements of a node with an activation are values.
    if (lowering->fused)
        form = FORM_VALUE;
    wnn_shader_begin(&shader, lowering, "resample", out->count);
    wnn_shader_define(&shader, "LINEAR", "%d", linear);
    wnn_shader_number(&shader, "MIDDLE", middle);
    wnn_shader_number(&shader, "INNER", inner);
    wnn_shader_numbers(&shader, "IN_SIZE", (const uint32_t[2]){in->shape.dim[first], in->shape.dim[second]},
                       2);
    wnn_shader_numbers(&shader, "OUT_SIZE",
                       (const uint32_t[2]){out->shape.dim[first], out->shape.dim[second]}, 2);
    wnn_shader_input(&shader, "a", in, form);
    wnn_shader_output(&shader, out, form, lowering->fused);
    wnn_shader_define(&shader, "RESULT(x)", "%s",
                      wnn_dtype_is_float(out->type)   ? "(x)"
                      : out->type == WNNDataType_Int8 ? "int_of(roundEven(x), -128.0, 127.0)"
                                                      : "uint_of(roundEven(x), 255.0)");
    wnn_shader_end(&shader);
}
