// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order with nothing fused. Guarantees: where a transpose that nothing else reads, a
// reshape and another transpose follow one another, one transpose between reshapes does what both did, if
// there is one that can: elements move once.

#include "compiler/rewrite.h"

static struct node *only_producer(const struct node *node, enum op op)
{
    struct node *before = node->in[0]->uses == 1 ? node->in[0]->producer : NULL;
    return before && before->op == op ? before : NULL;
}

// The node becomes a reshape of the one transpose. False: out of memory.
static bool join(struct graph *graph, struct node *node, struct operand *in, const struct rewrite_move *move,
                 size_t place)
{
    struct operand *split = wnn_rewrite_reshape(graph, in, &move->split, place);
    struct operand *moved = wnn_rewrite_transpose(graph, split, move->permutation, place);
    return moved && wnn_rewrite_become_reshape(graph, node, moved);
}

bool wnn_join_transposes(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < count; i++) {
        struct node *node = graph->nodes[i];
        struct node *reshape = node->op == WNN_OP_transpose ? only_producer(node, WNN_OP_reshape) : NULL;
        struct node *before = reshape ? only_producer(reshape, WNN_OP_transpose) : NULL;
        struct rewrite_move move;
        if (!before || !wnn_rewrite_join(wnn_rewrite_order_of(before), &before->out[0]->type.shape,
                                         &reshape->out[0]->type.shape, wnn_rewrite_order_of(node), &move))
            continue;
        if (!join(graph, node, before->in[0], &move, i))
            return wnn_fail_memory(context->error);
    }
    return graph->node_count == count ||
           (wnn_rewrite_order(context, graph, count) && wnn_prune(context, graph));
}
