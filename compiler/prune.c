// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: every node has an output that something uses, and every constant has
// a user.

#include "compiler/passes.h"

static void drop_operands(struct graph *graph)
{
    size_t kept = 0;
    graph->constant_bytes = 0;
    for (size_t i = 0; i < graph->operand_count; i++) {
        struct operand *operand = graph->operands[i];
        if (!operand->input && operand->uses == 0 &&
            (!operand->producer || operand->producer->index == UINT32_MAX)) {
            wnn_constant_unref(operand->constant);
            operand->constant = NULL;
            continue;
        }
        if (operand->constant)
            graph->constant_bytes += operand->constant->bytes;
        operand->index = (uint32_t)kept;
        graph->operands[kept++] = operand;
    }
    graph->operand_count = kept;
}

bool wnn_prune(struct pass_context *context, struct graph *graph)
{
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    unsigned char *drop = wnn_arena_allocate(&graph->arena, graph->node_count);
    if (!drop)
        return wnn_fail_memory(context->error);
    wnn_graph_count_uses(graph);
    // From the end: a node that is dropped no longer uses its inputs.
    for (size_t i = graph->node_count; i-- > 0;) {
        struct node *node = graph->nodes[i];
        drop[i] = 1;
        for (unsigned j = 0; j < node->out_count; j++)
            if (node->out[j]->uses)
                drop[i] = 0;
        for (unsigned j = 0; drop[i] && j < wnn_operand_count(node); j++)
            if (node->in[j])
                node->in[j]->uses--;
    }
    for (size_t i = 0; i < graph->node_count; i++)
        if (drop[i])
            graph->nodes[i]->index = UINT32_MAX;
    drop_operands(graph);
    wnn_graph_rewire(graph, drop);
    wnn_arena_rewind(&graph->arena, mark);
    return true;
}
