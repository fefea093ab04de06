// SPDX-License-Identifier: Apache-2.0
//
// Pooling.

#include "vulkan/ops/image.h"
#include "vulkan/ops/reduce.h"

static struct groups images_of(const struct node *node)
{
    const WNNPool2dOptions *options = node->attrs;
    uint32_t first = options->layout == WNNInputOperandLayout_NHWC ? 1 : 2;
    return wnn_groups_along(&node->in[0]->type.shape, 3u << first);
}

static size_t scratch_bytes(const struct node *node)
{
    struct groups groups = images_of(node);
    return wnn_node_pooling(node).global ? wnn_reduction_scratch(&groups) : 0;
}

static void lower_global_pool(struct lowering *lowering)
{
    struct groups groups = images_of(lowering->node);
    enum op op = (enum op)lowering->node->op;
    struct reduction reduction = wnn_reduction_of(op == WNN_OP_averagePool2d ? WNN_OP_reduceMean
                                                  : op == WNN_OP_l2Pool2d    ? WNN_OP_reduceL2
                                                                             : WNN_OP_reduceMax,
                                                  lowering->in[0].type);
    wnn_lower_reduction(lowering, &groups, &reduction);
}

// Windows that do not overlap much.
static bool fuses_prologue(const struct node *node, unsigned input)
{
    const struct pooling p = wnn_node_pooling(node);
    return input == 0 && (uint64_t)p.window[0] * p.window[1] <= 4 * (uint64_t)p.strides[0] * p.strides[1];
}

static void lower_pool2d(struct lowering *lowering)
{
    const struct node *node = lowering->node;
    const struct pooling p = wnn_node_pooling(node);
    const struct tensor *in = &lowering->in[0], *out = &lowering->out[0];
    const char *type = wnn_shader_type(in->type);
    bool greatest = node->op == WNN_OP_maxPool2d, average = node->op == WNN_OP_averagePool2d;
    bool is_float = wnn_dtype_is_float(in->type), wide = wnn_dtype_bits(in->type) == 64;
    uint64_t window = (uint64_t)p.window[0] * p.window[1];
    struct shader shader;
    if (p.global) {
        lower_global_pool(lowering);
        return;
    }
    // Large windows are waited for longest: all of a line is to be on its way at once.
    wnn_shader_begin(&shader, lowering, "pool", window >= 16 ? SIZE_MAX : out->count);
    // A window as high or wide as the image may change with it.
    bool fixed = p.window[0] != p.from.height && p.window[1] != p.from.width;
    bool unroll = shader.large && p.window[1] <= 16 && (fixed || !shader.late);
    wnn_shader_define(&shader, "UNROLL", "%s", unroll ? "[[unroll]]" : "");
    wnn_shader_images(&shader, &p.from, &p.to);
    wnn_shader_windows(&shader, p.padding, p.strides, p.dilations);
    wnn_shader_number(&shader, "CHANNELS", p.to.channels);
    wnn_shader_number_if(&shader, "WINDOW_Y", p.window[0], fixed);
    wnn_shader_number_if(&shader, "WINDOW_X", p.window[1], fixed);
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

const struct gpu_operator wnn_gpu_pooling = {.lower = lower_pool2d,
                                             .scratch = scratch_bytes,
                                             .fuses_epilogue = true,
                                             .fuses_prologue = fuses_prologue};
