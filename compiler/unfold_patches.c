// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order with nothing fused, no dead nodes. Guarantees: where a backend wants it,
// convolutions whose windows are side by side, and share no element, are products of matrices with transposes
// around them: conv2d of images of few channels (the patches of a vision transformer), and convTranspose2d,
// where every pixel becomes a block of the result. Strides are as long as the filter then, and nothing is
// padded.
//
// Other convTranspose2d with strides are conv2d: of the elements of a block of strides, each phase, meets its
// own taps of the filter, and is a channel of its own until the blocks are laid out.

#include "compiler/layout_rules.h"
#include "ops/geometry.h"

enum {
    FEW_CHANNELS = 8,   // of which kernels cannot load enough at once
    MIN_WORK = 1 << 18, // multiplications
};

static struct operand *reshape(struct graph *graph, struct operand *in, struct shape shape, size_t place)
{
    return wnn_rewrite_reshape(graph, in, &shape, place);
}

static struct operand *expand(struct graph *graph, struct operand *in, struct shape shape, size_t place)
{
    return wnn_rewrite_expand(graph, in, &shape, place);
}

// a * b + row, or * the transpose of b.
static struct operand *multiply(struct graph *graph, const struct node *node, struct operand *a,
                                struct operand *b, bool turned, struct operand *row, size_t place)
{
    if (!a || !b)
        return NULL;
    struct descriptor type = node->out[0]->type;
    type.shape = (struct shape){2, {a->type.shape.dim[0], b->type.shape.dim[turned ? 0 : 1]}};
    struct node *gemm = wnn_graph_add_node(graph, WNN_OP_gemm, 3, 1, &type);
    WNNGemmOptions *attrs = wnn_rewrite_attrs(graph, WNN_OP_gemm);
    if (!gemm || !attrs)
        return NULL;
    attrs->bTranspose = turned;
    gemm->in[0] = a;
    gemm->in[1] = b;
    gemm->in[2] = row;
    gemm->attrs = attrs;
    gemm->label = node->label;
    gemm->index = (uint32_t)place;
    return gemm->out[0];
}

// The node that computes each element of the result anew, if nothing else reads it; otherwise the node
// itself.
static struct node *last_of(const struct graph *graph, struct node *node, size_t place)
{
    const struct operand *result = node->out[0];
    for (size_t i = place + 1; result->uses == 1 && i < graph->node_count; i++) {
        struct node *next = graph->nodes[i];
        for (unsigned j = 0; j < next->in_count; j++)
            if (next->in[j] == result) {
                bool fits = next->in_count == 1 && wnn_op_is_elementwise((enum op)next->op) &&
                            next->out[0]->type.type == result->type.type;
                return fits ? next : node;
            }
    }
    return node;
}

// What `last`, if it is another node, computes of the results, before they are moved: a product does it along
// the way.
static struct operand *compute_last(struct graph *graph, const struct node *node, const struct node *last,
                                    struct operand *results, size_t place)
{
    if (last == node || !results)
        return results;
    struct node *same =
        wnn_rewrite_add(graph, (enum op)last->op, results, &results->type, last->attrs, place);
    if (!same)
        return NULL;
    same->label = last->label;
    return same->out[0];
}

// The node becomes what gives its result the layout and shape that it had, from pixels with their channels
// last.
static bool finish(struct graph *graph, struct node *node, const struct image *to, struct operand *pixels,
                   size_t place)
{
    if (pixels && to->nhwc)
        return wnn_rewrite_become_reshape(graph, node, pixels);
    struct operand *image =
        reshape(graph, pixels, (struct shape){4, {to->batches, to->height, to->width, to->channels}}, place);
    return image && wnn_rewrite_become_transpose(graph, node, image, wnn_layout_axis);
}

// ---------------------------------------------------------------------------------------------------------------
// Convolutions
// ---------------------------------------------------------------------------------------------------------------

static bool unfold(struct graph *graph, struct node *node, const struct convolution *c, size_t place)
{
    static const uint32_t first[6] = {0, 2, 4, 1, 3, 5}, last[6] = {0, 1, 3, 2, 4, 5};
    const struct image *from = &c->from, *to = &c->to;
    const struct filter *filter = &c->filter;
    const uint8_t *axes = wnn_filter_axes(WNN_OP_conv2d, node->attrs);
    uint32_t n = to->batches, h = to->height, w = to->width, y = filter->height, x = filter->width,
             channels = from->channels, terms = y * x * channels;
    struct shape split = from->nhwc ? (struct shape){6, {n, h, y, w, x, channels}}
                                    : (struct shape){6, {n, channels, h, y, w, x}};
    struct operand *patches = reshape(graph, node->in[0], split, place);
    patches = wnn_rewrite_transpose(graph, patches, from->nhwc ? last : first, place);
    patches = reshape(graph, patches, (struct shape){2, {n * h * w, terms}}, place);
    // A row of the filter has its terms in the order in which a patch has them.
    uint32_t order[4] = {axes[0], axes[1], axes[2], axes[3]};
    if (from->nhwc) {
        order[1] = axes[2];
        order[2] = axes[3];
        order[3] = axes[1];
    }
    struct operand *rows = wnn_rewrite_transpose(graph, node->in[1], order, place);
    rows = reshape(graph, rows, (struct shape){2, {filter->outputs, terms}}, place);
    struct node *final = last_of(graph, node, place);
    struct operand *pixels = multiply(graph, node, patches, rows, true, node->in[2], place);
    pixels = compute_last(graph, node, final, pixels, place);
    return finish(graph, final, to, pixels, place);
}

// ---------------------------------------------------------------------------------------------------------------
// Transposed convolutions
// ---------------------------------------------------------------------------------------------------------------

// The bias of all elements of a block.
static struct operand *repeat(struct graph *graph, struct operand *bias, uint32_t times, size_t place)
{
    uint32_t channels = bias->type.shape.dim[0];
    bias = expand(graph, bias, (struct shape){2, {times, channels}}, place);
    return reshape(graph, bias, (struct shape){1, {times * channels}}, place);
}

static bool unfold_transposed(struct graph *graph, struct node *node, const struct convolution *c,
                              size_t place)
{
    static const uint32_t apart[6] = {0, 1, 3, 2, 4, 5};
    const struct image *from = &c->from, *to = &c->to;
    const struct filter *filter = &c->filter;
    const uint8_t *axes = wnn_filter_axes(WNN_OP_convTranspose2d, node->attrs);
    uint32_t n = from->batches, h = from->height, w = from->width, y = filter->height, x = filter->width,
             block = y * x * to->channels;
    struct operand *pixels =
        from->nhwc ? node->in[0] : wnn_rewrite_transpose(graph, node->in[0], wnn_layout_permutation, place);
    pixels = reshape(graph, pixels, (struct shape){2, {n * h * w, from->channels}}, place);
    const uint32_t order[4] = {axes[1], axes[2], axes[3], axes[0]};
    struct operand *rows = wnn_rewrite_transpose(graph, node->in[1], order, place), *bias = node->in[2];
    rows = reshape(graph, rows, (struct shape){2, {from->channels, block}}, place);
    if (bias && !(bias = repeat(graph, bias, y * x, place)))
        return false;
    struct node *final = last_of(graph, node, place);
    struct operand *blocks = multiply(graph, node, pixels, rows, false, bias, place);
    blocks = compute_last(graph, node, final, blocks, place);
    blocks = reshape(graph, blocks, (struct shape){6, {n, h, w, y, x, to->channels}}, place);
    blocks = wnn_rewrite_transpose(graph, blocks, apart, place);
    return finish(graph, final, to, blocks, place);
}

// ---------------------------------------------------------------------------------------------------------------
// Phases
// ---------------------------------------------------------------------------------------------------------------

// Of height or width: element stride * b + r of the result, counted from its padding on, is phase r of block
// b, and meets the taps stride * t + r of the filter at the input's element b - t.
struct phases {
    uint32_t stride, taps; // of a phase
    uint32_t before;       // zeros in front of the filter, so that blocks begin where the result does
    uint32_t blocks;
    uint32_t padding[2]; // of the conv2d
    uint32_t start;      // of the result, in the blocks
};

// False: phases would be of no use, or the padding cuts off more than a conv2d can leave out.
static bool find_phases(const struct convolution *c, unsigned axis, struct phases *p)
{
    uint32_t in = axis == 0 ? c->from.height : c->from.width, out = axis == 0 ? c->to.height : c->to.width,
             size = axis == 0 ? c->filter.height : c->filter.width;
    uint64_t cut = c->padding[2 * axis], stride = c->strides[axis], taps = (size + stride - 1) / stride;
    if (size < stride || (size > 1 && c->dilations[axis] > 1))
        return false; // much of the filter would be zeros
    uint64_t before = (stride - cut % stride) % stride, skipped = (cut + before) / stride;
    bool even = (size + before + stride - 1) / stride == taps && skipped < taps;
    if (!even)
        before = skipped = 0;
    uint64_t start = even ? 0 : cut, blocks = (start + out + stride - 1) / stride, first = taps - 1 - skipped;
    if (blocks + taps - 1 < in + first || blocks * stride > 2 * (uint64_t)out)
        return false;
    *p = (struct phases){(uint32_t)stride,
                         (uint32_t)taps,
                         (uint32_t)before,
                         (uint32_t)blocks,
                         {(uint32_t)first, (uint32_t)(blocks + taps - 1 - in - first)},
                         (uint32_t)start};
    return true;
}

// The filter of a conv2d: [phases of height * phases of width * outputs, taps, taps, inputs].
static struct operand *split_filter(struct graph *graph, struct operand *filter, const uint8_t *axes,
                                    const struct convolution *c, const struct phases p[2], size_t place)
{
    static const uint32_t taps_axes[2] = {1, 3}, apart[6] = {2, 4, 0, 1, 3, 5};
    const uint32_t order[4] = {axes[0], axes[2], axes[3], axes[1]};
    uint32_t outputs = c->filter.outputs, inputs = c->filter.inputs,
             before[4] = {0, p[0].before, p[1].before, 0}, after[4] = {0};
    filter = wnn_rewrite_transpose(graph, filter, order, place);
    struct shape whole = {4, {outputs, p[0].taps * p[0].stride, p[1].taps * p[1].stride, inputs}};
    if (filter && !wnn_shape_equal(&filter->type.shape, &whole)) {
        struct pad_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_pad);
        for (unsigned d = 0; d < 4; d++)
            after[d] = whole.dim[d] - filter->type.shape.dim[d] - before[d];
        if (!attrs || !wnn_rewrite_list(graph, &attrs->beginningPadding, before, 4) ||
            !wnn_rewrite_list(graph, &attrs->endingPadding, after, 4))
            return NULL;
        const struct descriptor type = {filter->type.type, whole};
        struct node *pad = wnn_rewrite_add(graph, WNN_OP_pad, filter, &type, attrs, place);
        filter = pad ? pad->out[0] : NULL;
    }
    filter =
        reshape(graph, filter,
                (struct shape){6, {outputs, p[0].taps, p[0].stride, p[1].taps, p[1].stride, inputs}}, place);
    WNNReverseOptions *reverse = wnn_rewrite_attrs(graph, WNN_OP_reverse);
    if (!filter || !reverse || !wnn_rewrite_list(graph, &reverse->axes, taps_axes, 2))
        return NULL;
    struct node *turned = wnn_rewrite_add(graph, WNN_OP_reverse, filter, &filter->type, reverse, place);
    filter = wnn_rewrite_transpose(graph, turned ? turned->out[0] : NULL, apart, place);
    return reshape(graph, filter,
                   (struct shape){4, {p[0].stride * p[1].stride * outputs, p[0].taps, p[1].taps, inputs}},
                   place);
}

static bool split_phases(struct graph *graph, struct node *node, const struct convolution *c,
                         const struct phases p[2], size_t place)
{
    static const uint32_t apart[6] = {0, 1, 3, 2, 4, 5}, ones[2] = {1, 1};
    const struct image *from = &c->from, *to = &c->to;
    uint32_t n = from->batches, channels = to->channels, phases = p[0].stride * p[1].stride,
             padding[4] = {p[0].padding[0], p[0].padding[1], p[1].padding[0], p[1].padding[1]};
    struct operand *image =
        from->nhwc ? node->in[0] : wnn_rewrite_transpose(graph, node->in[0], wnn_layout_permutation, place);
    struct operand *filter =
        split_filter(graph, node->in[1], wnn_filter_axes(WNN_OP_convTranspose2d, node->attrs), c, p, place);
    struct operand *bias = node->in[2] ? repeat(graph, node->in[2], phases, place) : NULL;
    WNNConv2dOptions *attrs = wnn_rewrite_attrs(graph, WNN_OP_conv2d);
    if (!image || !filter || (node->in[2] && !bias) || !attrs ||
        !wnn_rewrite_list(graph, &attrs->padding, padding, 4) ||
        !wnn_rewrite_list(graph, &attrs->strides, ones, 2) ||
        !wnn_rewrite_list(graph, &attrs->dilations, ones, 2))
        return false;
    attrs->inputLayout = WNNInputOperandLayout_NHWC;
    attrs->filterLayout = WNNConv2dFilterOperandLayout_OHWI;
    const struct descriptor type = {node->out[0]->type.type,
                                    {4, {n, p[0].blocks, p[1].blocks, phases * channels}}};
    struct node *conv = wnn_graph_add_node(graph, WNN_OP_conv2d, 3, 1, &type);
    if (!conv)
        return false;
    conv->in[0] = image;
    conv->in[1] = filter;
    conv->in[2] = bias;
    conv->attrs = attrs;
    conv->label = node->label;
    conv->index = (uint32_t)place;
    struct node *final = last_of(graph, node, place);
    struct operand *blocks = compute_last(graph, node, final, conv->out[0], place);
    blocks =
        reshape(graph, blocks,
                (struct shape){6, {n, p[0].blocks, p[1].blocks, p[0].stride, p[1].stride, channels}}, place);
    blocks = wnn_rewrite_transpose(graph, blocks, apart, place);
    blocks = reshape(graph, blocks,
                     (struct shape){4, {n, p[0].blocks * p[0].stride, p[1].blocks * p[1].stride, channels}},
                     place);
    const uint32_t starts[4] = {0, p[0].start, p[1].start, 0};
    blocks = wnn_rewrite_slice(graph, blocks, starts,
                               &(struct shape){4, {n, to->height, to->width, channels}}, place);
    return finish(graph, final, to, blocks, place);
}

// Whether a convTranspose2d is better computed by phases. Zeros are added to filters and images, which is not
// the same where the others are infinite.
static bool has_phases(const struct pass_context *context, const struct node *node,
                       const struct convolution *c, struct phases p[2])
{
    return c->transposed && !context->strict && c->groups == 1 && node->in[1]->constant &&
           (c->strides[0] > 1 || c->strides[1] > 1) &&
           wnn_op_work((enum op)node->op, node->in, &node->out[0]->type, 1, node->attrs) >= MIN_WORK &&
           find_phases(c, 0, &p[0]) && find_phases(c, 1, &p[1]) &&
           (uint64_t)p[0].stride * p[1].stride <= UINT32_MAX / c->to.channels;
}

// ---------------------------------------------------------------------------------------------------------------

// Whether windows lie side by side, and cover everything.
static bool is_paved(const struct node *node, const struct convolution *c)
{
    const struct filter *filter = &c->filter;
    const struct image *small = c->transposed ? &c->from : &c->to, *large = c->transposed ? &c->to : &c->from;
    uint64_t work = wnn_op_work((enum op)node->op, node->in, &node->out[0]->type, 1, node->attrs);
    for (unsigned i = 0; i < 4; i++)
        if (c->padding[i] != 0)
            return false;
    return c->groups == 1 && node->in[1]->constant && work >= MIN_WORK &&
           filter->height * filter->width > 1 && c->strides[0] == filter->height &&
           c->strides[1] == filter->width && (c->dilations[0] == 1 || filter->height == 1) &&
           (c->dilations[1] == 1 || filter->width == 1) && large->height == small->height * filter->height &&
           large->width == small->width * filter->width && (c->transposed || c->from.channels < FEW_CHANNELS);
}

bool wnn_unfold_patches(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->unfolds_patches)
        return true;
    size_t count = graph->node_count;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < count; i++) {
        struct node *node = graph->nodes[i];
        if (node->op != WNN_OP_conv2d && node->op != WNN_OP_convTranspose2d)
            continue;
        struct convolution c = wnn_node_convolution(node);
        struct phases phases[2];
        bool done = true;
        if (is_paved(node, &c))
            done = (c.transposed ? unfold_transposed : unfold)(graph, node, &c, i);
        else if (has_phases(context, node, &c, phases))
            done = split_phases(graph, node, &c, phases, i);
        if (!done)
            return wnn_fail_memory(context->error);
    }
    return graph->node_count == count ||
           (wnn_rewrite_order(context, graph, count) && wnn_prune(context, graph));
}
