// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: where the result of a node is used by nothing but an add, with an
// operand of the same type that is there before that node runs, and the backend lets the node take an addend,
// the node adds that operand by itself. Additions then need no run over memory, and in a chain of residual
// blocks the sum lies where the addend did. (Backends that take whole chains get the sum with one.)

#include "compiler/fuse.h"

static bool can_take(const struct node *node, const struct operand *sum, const struct operand *addend)
{
    return node && node->out_count == 1 && node->out[0]->uses == 1 &&
           wnn_descriptor_equal(&addend->type, &sum->type) &&
           wnn_descriptor_equal(&node->out[0]->type, &sum->type) &&
           (!addend->producer || addend->producer->index < node->index);
}

bool wnn_fuse_residual(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->can_fuse || context->backend->fuses_chains)
        return true;
    bool changed = false;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *add = graph->nodes[i];
        bool done = false;
        if (add->op != WNN_OP_add || add->in[0] == add->in[1])
            continue;
        for (unsigned j = 0; j < 2 && !done; j++) {
            struct node *node = add->in[j]->producer;
            const struct fusion fusion = {WNN_AT_OUTPUT, add, add->in[j]};
            if (!can_take(node, add->out[0], add->in[1 - j]))
                continue;
            if (!wnn_fuse(context, graph, node, 1, &fusion, &done))
                return false;
            if (done)
                wnn_rewrite_take_over(node, add);
            changed |= done;
        }
    }
    return !changed || wnn_prune(context, graph);
}
