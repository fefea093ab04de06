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
    FEW_CHANNELS = 8,             // of which kernels cannot load enough at once
    MIN_WORK = 1 << 18,           // multiplications
    MIN_WORK_OF_PHASES = 1 << 23, // of convolutions that need one dispatch otherwise
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

// What is done with each element of images behind their node: by operators that read nothing else but
// numbers, or one for each channel. It is computed before the elements are moved, since products do it along
// the way.
enum {
    MAX_CHAIN = 8
};
struct chain {
    size_t count;
    struct node *nodes[MAX_CHAIN];
};

static bool reads(const struct node *node, const struct operand *operand)
{
    for (unsigned i = 0; i < node->in_count; i++)
        if (node->in[i] == operand)
            return true;
    return false;
}

// Whether a constant is a number, or one for each channel.
static bool is_by_channel(const struct operand *operand, const struct image *image)
{
    if (!operand || !operand->constant || wnn_dtype_bits(operand->type.type) < 8)
        return false;
    const struct shape *shape = &operand->type.shape;
    for (unsigned d = 0; d < shape->rank; d++)
        if (shape->dim[d] != 1 &&
            (shape->rank - 1 - d != (image->nhwc ? 0 : 2) || shape->dim[d] != image->channels))
            return false;
    return true;
}

static bool can_follow(const struct node *node, const struct operand *result, const struct image *image)
{
    if (!wnn_op_is_elementwise((enum op)node->op) || node->out_count != 1 || node->in_count > 2 ||
        !wnn_shape_equal(&node->out[0]->type.shape, &result->type.shape))
        return false;
    for (unsigned i = 0; i < node->in_count; i++)
        if (node->in[i] != result && !is_by_channel(node->in[i], image))
            return false;
    return true;
}

// As far as elements do not become larger.
static struct chain find_chain(const struct graph *graph, const struct node *node, const struct image *image,
                               size_t place)
{
    struct chain chain = {.count = 0};
    const struct operand *result = node->out[0];
    unsigned bits = wnn_dtype_bits(result->type.type);
    size_t count = 0;
    for (size_t i = place + 1; i < graph->node_count && result->uses == 1 && count < MAX_CHAIN; i++) {
        struct node *next = graph->nodes[i];
        if (!reads(next, result))
            continue;
        if (!can_follow(next, result, image))
            break;
        chain.nodes[count++] = next;
        result = next->out[0];
        if (wnn_dtype_bits(result->type.type) <= bits)
            chain.count = count;
    }
    return chain;
}

// The bias of all elements of a block.
static struct operand *repeat(struct graph *graph, struct operand *bias, uint32_t times, size_t place)
{
    uint32_t channels = bias->type.shape.dim[0];
    if (times > 1)
        bias = expand(graph, bias, (struct shape){2, {times, channels}}, place);
    return reshape(graph, bias, (struct shape){1, {times * channels}}, place);
}

// Of results whose last dimension has the channels, so many times.
static struct operand *compute_chain(struct graph *graph, const struct chain *chain, struct operand *results,
                                     uint32_t times, size_t place)
{
    for (size_t i = 0; results && i < chain->count; i++) {
        const struct node *node = chain->nodes[i];
        struct operand *in[2];
        for (unsigned j = 0; j < node->in_count; j++) {
            const size_t count = wnn_shape_elements(&node->in[j]->type.shape);
            in[j] = node->in[j];
            if (!in[j]->constant)
                in[j] = results;
            else if (count > 1)
                in[j] = reshape(graph, in[j], (struct shape){1, {(uint32_t)count}}, place);
            if (in[j] && in[j] != results && count > 1)
                in[j] = repeat(graph, in[j], times, place);
            if (!in[j])
                return NULL;
        }
        const struct descriptor type = {node->out[0]->type.type, results->type.shape};
        struct node *same = wnn_graph_add_node(graph, (enum op)node->op, node->in_count, 1, &type);
        if (!same)
            return NULL;
        for (unsigned j = 0; j < node->in_count; j++)
            same->in[j] = in[j];
        same->attrs = node->attrs;
        same->label = node->label;
        same->index = (uint32_t)place;
        results = same->out[0];
    }
    return results;
}

static struct node *last_of(const struct chain *chain, struct node *node)
{
    return chain->count > 0 ? chain->nodes[chain->count - 1] : node;
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
    const struct chain chain = find_chain(graph, node, to, place);
    struct operand *pixels = multiply(graph, node, patches, rows, true, node->in[2], place);
    pixels = compute_chain(graph, &chain, pixels, 1, place);
    return finish(graph, last_of(&chain, node), to, pixels, place);
}

// ---------------------------------------------------------------------------------------------------------------
// Transposed convolutions
// ---------------------------------------------------------------------------------------------------------------

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
    const struct chain chain = find_chain(graph, node, to, place);
    struct operand *blocks = multiply(graph, node, pixels, rows, false, bias, place);
    blocks = compute_chain(graph, &chain, blocks, y * x, place);
    blocks = reshape(graph, blocks, (struct shape){6, {n, h, w, y, x, to->channels}}, place);
    blocks = wnn_rewrite_transpose(graph, blocks, apart, place);
    return finish(graph, last_of(&chain, node), to, blocks, place);
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
    const struct chain chain = find_chain(graph, node, to, place);
    struct operand *blocks = compute_chain(graph, &chain, conv->out[0], phases, place);
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
    return finish(graph, last_of(&chain, node), to, blocks, place);
}

// Whether a convTranspose2d is better computed by phases. Zeros are added to filters and images, which is not
// the same where the others are infinite.
static bool has_phases(const struct pass_context *context, const struct node *node,
                       const struct convolution *c, struct phases p[2])
{
    return c->transposed && !context->strict && c->groups == 1 && node->in[1]->constant &&
           (c->strides[0] > 1 || c->strides[1] > 1) &&
           wnn_op_work((enum op)node->op, node->in, &node->out[0]->type, 1, node->attrs) >=
               MIN_WORK_OF_PHASES &&
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
