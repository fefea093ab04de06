// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: what only moves elements, or takes the greatest of some, does that to
// the integers, and dequantizeLinear comes after it, where one scale and zero point is that of all elements;
// a reshape of quantized constants is none; and quantizeLinear of what has just been dequantized in the same
// way is gone. Whoever reads the integers next can do so without a float in between. For backends that want
// no quantized operands but weights, only the reshapes of constants go.

#include "compiler/rewrite.h"

#include <string.h>

static struct operand *source(struct operand *operand)
{
    while (operand && operand->link)
        operand = operand->link;
    return operand;
}

// The dequantizeLinear of integers of at most 8 bits that computes an operand, or NULL.
static struct node *dequantized(const struct operand *operand)
{
    struct node *node = operand->producer;
    return node && node->op == WNN_OP_dequantizeLinear && wnn_dtype_bits(node->in[0]->type.type) <= 8 ? node
                                                                                                      : NULL;
}

// Single elements are compared whatever their ranks are, others are not.
static bool same_scale(const struct node *a, const struct node *b)
{
    return wnn_shape_elements(&a->in[1]->type.shape) == 1 && wnn_shape_elements(&b->in[1]->type.shape) == 1 &&
           a->in[1]->type.type == b->in[1]->type.type && a->in[2]->type.type == b->in[2]->type.type &&
           wnn_rewrite_scale_use(a->in[1], a->in[2]) == SCALE_BOTH_WAYS &&
           wnn_rewrite_scale_use(b->in[1], b->in[2]) == SCALE_BOTH_WAYS &&
           wnn_rewrite_value(a->in[1], 0) == wnn_rewrite_value(b->in[1], 0) &&
           wnn_rewrite_value(a->in[2], 0) == wnn_rewrite_value(b->in[2], 0);
}

// Whether every window has an element: the maximum of none is not that of the integers.
static bool windows_hold_something(const struct node *pool)
{
    const WNNPool2dOptions *options = pool->attrs;
    unsigned first = options->layout == WNNInputOperandLayout_NCHW ? 2 : 1;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t last = (uint64_t)(pool->out[0]->type.shape.dim[first + i] - 1) * options->strides.data[i];
        uint64_t end = (uint64_t)pool->in[0]->type.shape.dim[first + i] + options->padding.data[2 * i];
        if (options->padding.data[2 * i] >= options->windowDimensions.data[i] ||
            options->dilations.data[i] != 1 || last >= end)
            return false;
    }
    return true;
}

// Whether the node does the same to integers as to the floats that stand for them.
static bool is_movement(const struct node *node)
{
    switch (node->op) {
    case WNN_OP_concat:
    case WNN_OP_reshape:
    case WNN_OP_reverse:
    case WNN_OP_slice:
    case WNN_OP_transpose:
        return true;
    case WNN_OP_maxPool2d:
        return windows_hold_something(node);
    default:
        return false;
    }
}

// Whether all inputs are quantized by one and the same scale and zero point, of one element.
static bool inputs_agree(const struct node *node)
{
    const struct node *first = dequantized(node->in[0]);
    for (unsigned i = 0; i < node->in_count; i++) {
        const struct node *dequantize = dequantized(node->in[i]);
        if (!dequantize || wnn_dtype_bits(dequantize->in[0]->type.type) < 8 || !same_scale(first, dequantize))
            return false;
    }
    return true;
}

// `from` without copying, where it has to have another rank.
static struct operand *with_rank(struct graph *graph, struct operand *from, unsigned rank)
{
    struct shape shape = {.rank = rank};
    for (unsigned i = 0; i < rank; i++)
        shape.dim[i] = 1;
    return from->type.shape.rank == rank ? from : wnn_rewrite_reshaped(graph, from, &shape);
}

static struct node *add_dequantize(struct graph *graph, const struct descriptor *out,
                                   struct operand *const in[3], size_t before)
{
    struct node *node = wnn_graph_add_node(graph, WNN_OP_dequantizeLinear, 3, 1, out);
    if (!node || !(node->attrs = wnn_rewrite_attrs(graph, WNN_OP_dequantizeLinear)))
        return NULL;
    memcpy(node->in, in, 3 * sizeof in[0]);
    node->index = (uint32_t)before;
    return node;
}

// node(dequantizeLinear(x, s, z)) becomes dequantizeLinear(node(x), s, z).
static bool sink(struct pass_context *context, struct graph *graph, struct node *node)
{
    const struct node *before = dequantized(node->in[0]);
    struct operand *result = node->out[0];
    unsigned rank = result->type.shape.rank;
    struct descriptor type = {before->in[0]->type.type, result->type.shape};
    struct operand *in[3] = {NULL, with_rank(graph, before->in[1], rank),
                             with_rank(graph, before->in[2], rank)};
    struct operand **moved = wnn_arena_allocate(&graph->arena, node->in_count * sizeof moved[0]);
    // The new node is made with the integers as its result, and changes places with the old one.
    struct node *after = in[1] && in[2] && moved ? add_dequantize(graph, &type, in, node->index + 1u) : NULL;
    if (!after)
        return wnn_fail_memory(context->error);
    for (unsigned i = 0; i < node->in_count; i++)
        moved[i] = dequantized(node->in[i])->in[0];
    node->in = moved;
    node->out[0] = after->out[0];
    node->out[0]->producer = node;
    after->in[0] = node->out[0];
    after->out[0] = result;
    result->producer = after;
    return true;
}

// The shape of a scale [..., a, b, ...] when the dimensions of what it scales, `from`, are merged to those of
// `to`. False: blocks would not be blocks any more.
static bool merge_blocks(const struct shape *from, const struct shape *scale, const struct shape *to,
                         struct shape *merged)
{
    unsigned i = 0;
    *merged = (struct shape){.rank = to->rank};
    for (unsigned j = 0; j < to->rank; j++) {
        uint64_t size = 1, blocks = 1;
        bool whole = true; // so far every index has a scale of its own
        for (; i < from->rank && size * from->dim[i] <= to->dim[j]; i++) {
            if (!whole && scale->dim[i] != 1)
                return false;
            whole = whole && scale->dim[i] == from->dim[i];
            size *= from->dim[i];
            blocks *= scale->dim[i];
        }
        if (size != to->dim[j])
            return false;
        merged->dim[j] = (uint32_t)blocks;
    }
    return i == from->rank;
}

// reshape(dequantizeLinear(constant, s, z)), with blocks.
static bool reshape_constants(struct pass_context *context, struct graph *graph, struct node *node)
{
    struct node *before = dequantized(node->in[0]);
    const struct shape *shape = &node->out[0]->type.shape;
    struct shape blocks;
    if (!before || !before->in[0]->constant || !before->in[1]->constant || !before->in[2]->constant ||
        !merge_blocks(&before->in[0]->type.shape, &before->in[1]->type.shape, shape, &blocks))
        return true;
    struct operand *in[3] = {wnn_rewrite_reshaped(graph, before->in[0], shape),
                             wnn_rewrite_reshaped(graph, before->in[1], &blocks),
                             wnn_rewrite_reshaped(graph, before->in[2], &blocks)};
    struct node *made =
        in[0] && in[1] && in[2] ? add_dequantize(graph, &node->out[0]->type, in, node->index) : NULL;
    if (!made)
        return wnn_fail_memory(context->error);
    node->out[0]->link = made->out[0];
    return true;
}

bool wnn_sink_dequantize(struct pass_context *context, struct graph *graph)
{
    bool all = context->keep_quantized;
    if ((!all && !context->backend->quantized_weights) || !wnn_rewrite_has(graph, WNN_OP_dequantizeLinear))
        return true;
    size_t count = graph->node_count;
    for (size_t i = 0; i < count; i++) {
        struct node *node = graph->nodes[i];
        for (unsigned j = 0; j < node->in_count; j++)
            node->in[j] = source(node->in[j]);
        if (node->in_count == 0)
            continue;
        if (all && node->op == WNN_OP_quantizeLinear) {
            struct node *before = dequantized(node->in[0]);
            if (before && same_scale(before, node))
                node->out[0]->link = before->in[0];
        } else if (all && is_movement(node) && inputs_agree(node)) {
            if (!sink(context, graph, node))
                return false;
        } else if (node->op == WNN_OP_reshape && !reshape_constants(context, graph, node)) {
            return false;
        }
    }
    if (!wnn_rewrite_order(context, graph, count))
        return false;
    wnn_graph_rewire(graph, NULL);
    return wnn_prune(context, graph);
}
