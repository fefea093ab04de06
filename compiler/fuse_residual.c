// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: where the result of a node that the backend lets take an addend is
// used by nothing but an add, with an operand of the same type that is there before that node runs, the node
// adds that operand by itself, as its last input. Additions then need no run over memory, and in a chain of
// residual blocks the sum lies where the addend did.

#include "compiler/rewrite.h"

static bool can_take(const struct pass_context *context, const struct node *node, const struct operand *sum,
                     const struct operand *addend)
{
    if (!node || node->addend || node->activation || node->out_count != 1 || node->out[0]->uses != 1 ||
        !wnn_descriptor_equal(&addend->type, &sum->type) ||
        !wnn_descriptor_equal(&node->out[0]->type, &sum->type))
        return false;
    if (addend->producer && addend->producer->index >= node->index)
        return false;
    return context->backend->adds(context->state, node);
}

static bool give(struct graph *graph, struct node *node, struct operand *addend)
{
    unsigned count = wnn_op_input_rows(&wnn_ops[node->op]);
    struct operand **in = wnn_arena_allocate(&graph->arena, (count + 1) * sizeof in[0]);
    if (!in)
        return false;
    for (unsigned i = 0; i < count; i++)
        in[i] = i < node->in_count ? node->in[i] : NULL;
    in[count] = addend;
    node->in = in;
    node->in_count = count + 1;
    node->addend = count;
    return true;
}

bool wnn_fuse_residual(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->adds)
        return true;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *add = graph->nodes[i];
        if (add->op != WNN_OP_add || add->activation || add->in[0] == add->in[1])
            continue;
        for (unsigned j = 0; j < 2; j++) {
            struct node *node = add->in[j]->producer;
            if (!can_take(context, node, add->out[0], add->in[1 - j]))
                continue;
            if (!give(graph, node, add->in[1 - j]))
                return wnn_fail_memory(context->error);
            wnn_rewrite_take_over(node, add);
            break;
        }
    }
    return wnn_prune(context, graph);
}
