// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order with nothing fused, no dead nodes. Guarantees: where a backend wants it,
// convolutions whose windows are side by side, and share no element, are products of matrices with transposes
// around them: conv2d of images of few channels (the patches of a vision transformer), and convTranspose2d,
// where every pixel becomes a block of the result. Strides are as long as the filter then, and nothing is
// padded.

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
    struct expand_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_expand);
    struct node *node = attrs && wnn_rewrite_list(graph, &attrs->newShape, shape.dim, shape.rank)
                            ? wnn_rewrite_add(graph, WNN_OP_expand, in,
                                              &(struct descriptor){in->type.type, shape}, attrs, place)
                            : NULL;
    return node ? node->out[0] : NULL;
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
    struct operand *pixels = multiply(graph, node, patches, rows, true, node->in[2], place);
    return finish(graph, node, to, pixels, place);
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
    if (bias) {
        bias = expand(graph, bias, (struct shape){2, {y * x, to->channels}}, place);
        bias = reshape(graph, bias, (struct shape){1, {block}}, place);
        if (!bias)
            return false;
    }
    struct operand *blocks = multiply(graph, node, pixels, rows, false, bias, place);
    blocks = reshape(graph, blocks, (struct shape){6, {n, h, w, y, x, to->channels}}, place);
    blocks = wnn_rewrite_transpose(graph, blocks, apart, place);
    return finish(graph, node, to, blocks, place);
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
    for (size_t i = 0; i < count; i++) {
        struct node *node = graph->nodes[i];
        if (node->op != WNN_OP_conv2d && node->op != WNN_OP_convTranspose2d)
            continue;
        struct convolution c = wnn_node_convolution(node);
        if (!is_paved(node, &c))
            continue;
        if (!(c.transposed ? unfold_transposed : unfold)(graph, node, &c, i))
            return wnn_fail_memory(context->error);
    }
    return graph->node_count == count ||
           (wnn_rewrite_order(context, graph, count) && wnn_prune(context, graph));
}
