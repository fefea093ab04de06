// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: every node has an output that something uses, and every constant has
// a user.

#include "compiler/passes.h"

// Whether nothing uses an operand, nor computes it any more.
static bool is_unused(const struct operand *operand)
{
    return !operand->input && operand->uses == 0 &&
           (!operand->producer || operand->producer->index == UINT32_MAX);
}

static void drop_operands(struct graph *graph)
{
    size_t kept = 0;
    graph->constant_bytes = 0;
    for (size_t i = 0; i < graph->operand_count; i++) {
        struct operand *operand = graph->operands[i];
        if (is_unused(operand)) {
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

// Whether all operands are where they belong, and are used or computed: most passes leave most graphs as they
// are.
static bool are_kept(struct graph *graph)
{
    uint64_t constant_bytes = 0;
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (operand->link || operand->index != i || is_unused(operand))
            return false;
        constant_bytes += operand->constant ? operand->constant->bytes : 0;
    }
    graph->constant_bytes = constant_bytes;
    return true;
}

bool wnn_prune(struct pass_context *context, struct graph *graph)
{
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    unsigned char *drop = wnn_arena_allocate(&graph->arena, graph->node_count);
    if (!drop)
        return wnn_fail_memory(context->error);
    wnn_graph_count_uses(graph);
    bool kept = true;
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
        kept = kept && !drop[i] && node->index == i;
    }
    if (kept && are_kept(graph)) {
        wnn_arena_rewind(&graph->arena, mark);
        return true;
    }
    for (size_t i = 0; i < graph->node_count; i++)
        if (drop[i])
            graph->nodes[i]->index = UINT32_MAX;
    drop_operands(graph);
    wnn_graph_rewire(graph, drop);
    wnn_arena_rewind(&graph->arena, mark);
    return true;
}
