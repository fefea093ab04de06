// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, complete attributes, nothing fused. Guarantees: no node is left whose output is
// its input in the same shape, a reshape reads no reshape, and a transpose no transpose; a transpose that
// moves nothing but dimensions of size 1 is a reshape, and so are two that undo each other around a reshape;
// the last two dimensions change places without others being joined for that.

#include "compiler/rewrite.h"

#include <math.h>
#include <string.h>

static bool is_identity_permutation(WNNUint32List permutation)
{
    for (size_t i = 0; i < permutation.count; i++)
        if (permutation.data[i] != i)
            return false;
    return true;
}

// Whether output 0 holds the very elements of input 0, in order, in the same shape and type.
static bool is_nothing(const struct node *node)
{
    if (node->in_count == 0 || !node->in[0] || !wnn_descriptor_equal(&node->in[0]->type, &node->out[0]->type))
        return false;
    switch (node->op) {
    case WNN_OP_identity:
    case WNN_OP_cast:    // to its own type
    case WNN_OP_reshape: // to its own shape, as for the others below
    case WNN_OP_expand:
    case WNN_OP_tile:
        return true;
    case WNN_OP_concat:
        return node->in_count == 1;
    case WNN_OP_split:
        return node->out_count == 1;
    case WNN_OP_transpose:
        return is_identity_permutation(wnn_rewrite_order_of(node));
    case WNN_OP_reverse:
        return ((const WNNReverseOptions *)node->attrs)->axes.count == 0;
    case WNN_OP_slice: // all of it: no stride leaves the shape alone unless it skips nothing
    case WNN_OP_pad:
        return true;
    case WNN_OP_clamp: {
        const WNNClampOptions *options = node->attrs;
        return options->minValue.type == WNNNumberType_Float64 && isinf(options->minValue.value.f64) &&
               isinf(options->maxValue.value.f64) && options->minValue.value.f64 < 0 &&
               options->maxValue.value.f64 > 0;
    }
    default:
        return false;
    }
}

static struct operand *source(struct operand *operand)
{
    while (operand->link)
        operand = operand->link;
    return operand;
}

// The first input's producer, through links, if it is of the operator.
static struct node *producer_of(const struct node *node, enum op op)
{
    struct node *before = source(node->in[0])->producer;
    return before && before->op == op ? before : NULL;
}

static struct node *same_before(const struct node *node)
{
    return producer_of(node, (enum op)node->op);
}

// transpose(transpose(x, p), q) is transpose(x, p[q]).
static bool join_transposes(struct pass_context *context, struct graph *graph, struct node *node)
{
    struct node *before = same_before(node);
    if (!before)
        return true;
    WNNTransposeOptions *options = node->attrs;
    WNNUint32List inner = wnn_rewrite_order_of(before);
    uint32_t *joined = wnn_arena_allocate(&graph->arena, inner.count * sizeof joined[0]);
    if (!joined)
        return wnn_fail_memory(context->error);
    for (size_t i = 0; i < inner.count; i++)
        joined[i] = inner.data[options->permutation.data[i]];
    options->permutation.data = joined;
    node->in[0] = before->in[0];
    return true;
}

static bool become_reshape(struct pass_context *context, struct graph *graph, struct node *node)
{
    return wnn_rewrite_become_reshape(graph, node, node->in[0]) || wnn_fail_memory(context->error);
}

// Whether a transpose undoes another from which a reshape divides it: it reads what that one does then.
static bool skip_undone(struct node *node)
{
    const struct node *reshape = producer_of(node, WNN_OP_reshape);
    const struct node *before = reshape ? producer_of(reshape, WNN_OP_transpose) : NULL;
    if (!before || !wnn_rewrite_restores(wnn_rewrite_order_of(before), &before->out[0]->type.shape,
                                         &reshape->out[0]->type.shape, wnn_rewrite_order_of(node)))
        return false;
    node->in[0] = before->in[0];
    return true;
}

// What a reshape makes a transpose of the last two dimensions of, `turned`, since it gives back the
// dimensions that another before a transpose has joined; or NULL.
static struct operand *turned_by(const struct node *node, uint32_t turned[WNN_MAX_RANK])
{
    const struct node *transpose = producer_of(node, WNN_OP_transpose);
    const struct node *before = transpose ? producer_of(transpose, WNN_OP_reshape) : NULL;
    struct operand *in = before ? source(before->in[0]) : NULL;
    const struct shape *from = in ? &in->type.shape : NULL, *to = &node->out[0]->type.shape;
    uint32_t same[WNN_MAX_RANK];
    if (!in || from->rank != to->rank || from->rank < 2)
        return NULL;
    unsigned rank = from->rank;
    for (unsigned d = 0; d < rank; d++) {
        same[d] = d;
        turned[d] = d + 2 < rank ? d : 2 * rank - 3 - d;
        if (to->dim[d] != from->dim[turned[d]])
            return NULL;
    }
    struct rewrite_move all, last;
    WNNUint32List order = {same, rank};
    bool alike =
        wnn_rewrite_join(order, from, &before->out[0]->type.shape, wnn_rewrite_order_of(transpose), &all) &&
        wnn_rewrite_join(order, from, from, (WNNUint32List){turned, rank}, &last) &&
        wnn_shape_equal(&all.split, &last.split) &&
        memcmp(all.permutation, last.permutation, all.split.rank * sizeof all.permutation[0]) == 0;
    return alike ? in : NULL;
}

bool wnn_canonicalize(struct pass_context *context, struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        uint32_t turned[WNN_MAX_RANK];
        struct operand *in = node->op == WNN_OP_reshape ? turned_by(node, turned) : NULL;
        if (in && !wnn_rewrite_become_transpose(graph, node, in, turned))
            return wnn_fail_memory(context->error);
        if (node->op == WNN_OP_transpose && !join_transposes(context, graph, node))
            return false;
        if (node->op == WNN_OP_transpose && skip_undone(node) && !become_reshape(context, graph, node))
            return false;
        if (node->op == WNN_OP_transpose &&
            wnn_rewrite_moves_nothing(wnn_rewrite_order_of(node).data, &node->out[0]->type.shape) &&
            !become_reshape(context, graph, node))
            return false;
        if (node->op == WNN_OP_reshape) {
            struct node *before = same_before(node);
            if (before)
                node->in[0] = before->in[0];
        } else if (node->op == WNN_OP_neg) {
            struct node *before = same_before(node);
            if (before)
                node->out[0]->link = source(before->in[0]);
        }
        if (is_nothing(node))
            node->out[0]->link = source(node->in[0]); // so that no chain of links grows long
    }
    wnn_graph_rewire(graph, NULL);
    return true;
}
