// SPDX-License-Identifier: Apache-2.0
//
// conv2d and convTranspose2d: products of what the filter sees and the filter where channels come last and
// groups are not too small; filters of a channel each, four of them at a time; other small groups in blocks;
// anything else an element at a time.

#include "vulkan/ops/image.h"
#include "vulkan/ops/operators.h"
#include "vulkan/ops/gemm.h"

// ---------------------------------------------------------------------------------------------------------------
// As a product
// ---------------------------------------------------------------------------------------------------------------

// Whether the filter has one shape for all sizes of a late graph, as constants do.
static bool is_fixed(const struct node *node)
{
    return node->in[1]->constant;
}

// The product's `gather` is to outlive it. False: tiles would be mostly empty, or channels do not come last.
static bool product_of(const struct convolution *c, bool fixed, struct product *p, struct gather *gather)
{
    const struct image *from = &c->from, *to = &c->to;
    const struct filter *filter = &c->filter;
    uint32_t inputs = c->inputs, outputs = c->outputs;
    if (!from->nhwc || (c->groups > 1 && (outputs < GPU_MIN_GROUP || inputs < GPU_MIN_GROUP)))
        return false;
    *p = (struct product){.fixed_b = fixed,
                          .rows = to->batches * to->height * to->width,
                          .columns = outputs,
                          .inner = filter->height * filter->width * inputs,
                          .matrices = c->groups,
                          .a_row = from->x,
                          .a_inner = 1,
                          .b_column = filter->o,
                          .out_row = to->x,
                          .b_run = inputs,
                          .b_jump = filter->x,
                          .b_inner = filter->i,
                          .alpha = 1,
                          .beta = 1,
                          .rank = 1,
                          .dims = {c->groups},
                          .a_steps = {inputs},
                          .b_steps = {c->filter_group},
                          .out_steps = {outputs},
                          .c_dims = {to->batches * to->height * to->width, to->channels},
                          .c_steps = {0, 1}};
    if (p->b_jump == p->b_run * p->b_inner)
        p->b_run = p->inner;
    bool plain = filter->height == 1 && filter->width == 1 && c->strides[0] == 1 && c->strides[1] == 1 &&
                 c->padding[0] == 0 && c->padding[2] == 0 && from->height == to->height &&
                 from->width == to->width;
    // The filter takes in a whole image, whose elements are the terms as they lie.
    bool whole = !c->transposed && c->groups == 1 && to->height == 1 && to->width == 1 &&
                 from->height == filter->height && from->width == filter->width && c->padding[0] == 0 &&
                 c->padding[1] == 0 && c->padding[2] == 0 && c->padding[3] == 0;
    if (whole)
        p->a_row = from->n;
    if (plain || whole)
        return true;
    *gather = (struct gather){.fixed = fixed,
                              .transposed = c->transposed,
                              .in_height = from->height,
                              .in_width = from->width,
                              .out_height = to->height,
                              .out_width = to->width,
                              .filter_width = filter->width,
                              .channels = inputs,
                              .image = from->n,
                              .line = from->y,
                              .pixel = from->x,
                              .padding = {c->padding[0], c->padding[2]},
                              .strides = {c->strides[0], c->strides[1]},
                              .dilations = {c->dilations[0], c->dilations[1]}};
    p->gather = gather;
    return true;
}

static size_t scratch_bytes(const struct node *node)
{
    struct convolution convolution = wnn_node_convolution(node);
    struct product product;
    struct gather gather;
    if (!product_of(&convolution, is_fixed(node), &product, &gather))
        return 0;
    return wnn_scratch_of_product(&product, node->out[0]->type.type);
}

// ---------------------------------------------------------------------------------------------------------------
// Directly
// ---------------------------------------------------------------------------------------------------------------

static void define_convolution(struct shader *shader, const struct convolution *c, bool fixed)
{
    wnn_shader_images(shader, &c->from, &c->to);
    wnn_shader_windows(shader, c->padding, c->strides, c->dilations);
    wnn_shader_number_if(shader, "OUT_CHANNELS", c->to.channels, fixed);
    wnn_shader_number_if(shader, "F_HEIGHT", c->filter.height, fixed);
    wnn_shader_number_if(shader, "F_WIDTH", c->filter.width, fixed);
    wnn_shader_number_if(shader, "F_O", c->filter.o, fixed);
    wnn_shader_number_if(shader, "F_I", c->filter.i, fixed);
    wnn_shader_number_if(shader, "F_Y", c->filter.y, fixed);
    wnn_shader_number_if(shader, "F_X", c->filter.x, fixed);
}

static void lower_elements(struct lowering *lowering, const struct convolution *c, uint64_t work)
{
    struct shader shader;
    bool fixed = is_fixed(lowering->node);
    lowering->reason = c->from.nhwc ? "too little work, or groups of too few channels, for tiles"
                                    : "its channels come second";
    wnn_shader_begin(&shader, lowering, "conv", work > SIZE_MAX ? SIZE_MAX : (size_t)work);
    wnn_shader_define(&shader, "TRANSPOSED", "%d", c->transposed);
    define_convolution(&shader, c, fixed);
    wnn_shader_number_if(&shader, "GROUP_INPUTS", c->inputs, fixed);
    wnn_shader_number_if(&shader, "GROUP_OUTPUTS", c->outputs, fixed);
    wnn_shader_input(&shader, "a", &lowering->in[0], FORM_VALUE);
    wnn_shader_input(&shader, "b", &lowering->in[1], FORM_VALUE);
    if (lowering->in[2].region.buffer) {
        wnn_shader_define(&shader, "BIAS", "1");
        wnn_shader_input(&shader, "c", &lowering->in[2], FORM_VALUE);
    }
    wnn_shader_output(&shader, &lowering->out[0], FORM_VALUE, lowering->fused);
    wnn_shader_end(&shader);
}

enum {
    MAX_SPAN = 16,    // pixels of a line that an invocation looks at
    MAX_STRIP = 4,    // pixels of a line that it computes
    ENOUGH = 1 << 17, // invocations that keep a device busy
};

// Whether it is a filter for each channel, of a size that can be unrolled, and loads can be of four channels.
static bool is_depthwise(const struct lowering *lowering, const struct convolution *c)
{
    const struct image *from = &c->from;
    return from->nhwc && !c->transposed && c->groups == from->channels && c->to.channels == from->channels &&
           from->channels % 4 == 0 && (c->filter.width - 1) * c->dilations[1] < MAX_SPAN &&
           c->filter.height <= 16 && wnn_shader_has_quads(lowering, &lowering->in[0]) &&
           wnn_shader_has_quads(lowering, &lowering->out[0]);
}

static void lower_depthwise(struct lowering *lowering, const struct convolution *c)
{
    const struct image *to = &c->to;
    const struct tensor *filter = &lowering->in[1];
    uint64_t quads = lowering->out[0].count / 4;
    uint32_t strip = 1, span = (c->filter.width - 1) * c->dilations[1] + 1;
    while (strip < MAX_STRIP && span + (2 * strip - 1) * (uint64_t)c->strides[1] <= MAX_SPAN &&
           (quads / (2 * strip) >= ENOUGH || lowering->gpu->can.minimal))
        strip *= 2;
    uint32_t strips = (to->width + strip - 1) / strip;
    uint64_t units = (uint64_t)to->batches * to->height * strips * (to->channels / 4);
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "depthwise", SIZE_MAX);
    define_convolution(&shader, c, true);
    wnn_shader_number(&shader, "UNITS", (uint32_t)units);
    wnn_shader_fixed(&shader, "STRIP", strip);
    wnn_shader_number(&shader, "STRIPS", strips);
    wnn_shader_fixed(&shader, "SPAN", span + (strip - 1) * c->strides[1]);
    wnn_shader_input(&shader, "a", &lowering->in[0], FORM_VALUE);
    wnn_shader_quads(&shader, "a", &lowering->in[0]);
    wnn_shader_input(&shader, "b", filter, FORM_VALUE);
    bool quads_b = c->filter.o == 1 && wnn_shader_has_quads(lowering, filter);
    wnn_shader_define(&shader, "QUADS_B", "%d", quads_b);
    if (quads_b)
        wnn_shader_quads(&shader, "b", filter);
    if (lowering->in[2].region.buffer) {
        wnn_shader_define(&shader, "BIAS", "1");
        wnn_shader_input(&shader, "c", &lowering->in[2], FORM_VALUE);
    }
    wnn_shader_output_quads(&shader, &lowering->out[0]);
    wnn_shader_output(&shader, &lowering->out[0], FORM_VALUE, lowering->fused);
    wnn_shader_end_groups(&shader, units, shader.local_size);
}

// How many neighbouring channels of a group are computed together; 0: words have those of two pixels.
static uint32_t outputs_together(const struct convolution *c, WNNDataType type)
{
    uint32_t outputs = c->outputs, most = outputs % 4 == 0 ? 4 : outputs % 2 == 0 ? 2 : 1;
    return type == WNNDataType_Float16 && most == 1 ? 0 : most;
}

static void lower_grouped(struct lowering *lowering, const struct convolution *c, uint32_t outs)
{
    const struct image *to = &c->to;
    const struct tensor *in = &lowering->in[0], *filter = &lowering->in[1], *out = &lowering->out[0];
    uint64_t blocks = out->count / outs;
    uint32_t strip = 1, inputs = c->inputs;
    while (strip < MAX_STRIP && (blocks / (2 * strip) >= ENOUGH || lowering->gpu->can.minimal))
        strip *= 2;
    uint32_t strips = (to->width + strip - 1) / strip;
    uint64_t units = (uint64_t)to->batches * to->height * strips * (to->channels / outs);
    bool quads_a = inputs % 4 == 0 && wnn_shader_has_quads(lowering, in),
         quads_b = outs == 4 && c->filter.o == 1 && wnn_shader_has_quads(lowering, filter),
         quads_out = outs == 4 && wnn_shader_has_quads(lowering, out);
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "grouped", SIZE_MAX);
    define_convolution(&shader, c, true);
    wnn_shader_fixed(&shader, "GROUP_INPUTS", inputs);
    wnn_shader_fixed(&shader, "GROUP_OUTPUTS", c->outputs);
    wnn_shader_number(&shader, "UNITS", (uint32_t)units);
    wnn_shader_fixed(&shader, "STRIP", strip);
    wnn_shader_number(&shader, "STRIPS", strips);
    wnn_shader_define(&shader, "OUTS", "%uu", outs);
    wnn_shader_define(&shader, "INS", "%d", quads_a ? 4 : 1);
    wnn_shader_define(&shader, "QUADS_B", "%d", quads_b);
    wnn_shader_define(&shader, "QUADS_OUT", "%d", quads_out);
    wnn_shader_define(&shader, "UNROLL", "%s", c->filter.width * inputs <= 32 ? "[[unroll]]" : "");
    wnn_shader_input(&shader, "a", in, FORM_VALUE);
    if (quads_a)
        wnn_shader_quads(&shader, "a", in);
    wnn_shader_input(&shader, "b", filter, FORM_VALUE);
    if (quads_b)
        wnn_shader_quads(&shader, "b", filter);
    if (lowering->in[2].region.buffer) {
        wnn_shader_define(&shader, "BIAS", "1");
        wnn_shader_input(&shader, "c", &lowering->in[2], FORM_VALUE);
    }
    if (quads_out)
        wnn_shader_output_quads(&shader, out);
    wnn_shader_output(&shader, out, FORM_VALUE, lowering->fused);
    wnn_shader_end_groups(&shader, units, shader.local_size);
}

static void lower_conv2d(struct lowering *lowering)
{
    struct convolution convolution = wnn_node_convolution(lowering->node);
    const struct filter *filter = &convolution.filter;
    bool fixed = is_fixed(lowering->node);
    uint64_t work = (uint64_t)lowering->out[0].count * filter->height * filter->width;
    struct product product;
    struct gather gather;
    if (product_of(&convolution, fixed, &product, &gather)) {
        product.a = &lowering->in[0];
        product.b = &lowering->in[1];
        product.c = lowering->in[2].region.buffer ? &lowering->in[2] : NULL;
        product.out = &lowering->out[0];
        if (wnn_is_large_product(lowering, &product)) {
            wnn_lower_product(lowering, &product);
            return;
        }
    }
    // What is unrolled is written for one filter.
    bool large = (work >= 1 << 14 || lowering->gpu->can.minimal) && (fixed || !lowering->late);
    uint32_t outs = outputs_together(&convolution, lowering->out[0].type);
    if (large && is_depthwise(lowering, &convolution))
        lower_depthwise(lowering, &convolution);
    else if (large && convolution.from.nhwc && !convolution.transposed && convolution.groups > 1 && outs > 0)
        lower_grouped(lowering, &convolution, outs);
    else
        lower_elements(lowering, &convolution, work);
}

const struct gpu_operator wnn_gpu_conv2d = {
    .lower = lower_conv2d, .scratch = scratch_bytes, .fuses_epilogue = true};
const struct gpu_operator wnn_gpu_convTranspose2d = {
    .lower = lower_conv2d, .scratch = scratch_bytes, .fuses_epilogue = true};
