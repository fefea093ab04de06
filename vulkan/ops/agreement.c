// SPDX-License-Identifier: Apache-2.0
//
// Constants that several nodes read, as networks have them whose layers share weights, and exporters make
// them of equal ones: they can lie in another order if all of these nodes want them so.

#include "vulkan/ops/operators.h"

struct agreement {
    unsigned char wish;
    uint32_t count; // of uses that have it
};

const unsigned char *wnn_agree(struct graph *graph, wish_fn *wish, const void *state)
{
    struct agreement *of = wnn_arena_allocate(&graph->arena, (graph->operand_count + 1) * sizeof of[0]);
    unsigned char *agreed = wnn_arena_allocate(&graph->arena, graph->operand_count + 1);
    if (!of || !agreed)
        return NULL;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        for (unsigned j = 0; j < wnn_operand_count(node); j++) {
            if (!node->in[j] || !node->in[j]->constant)
                continue;
            struct agreement *agreement = &of[node->in[j]->index];
            unsigned char wished = wish(state, node, j);
            if (agreement->count == 0)
                agreement->wish = wished;
            agreement->count += wished != 0 && wished == agreement->wish;
        }
    }
    for (size_t i = 0; i < graph->operand_count; i++)
        agreed[i] = of[i].count == graph->operands[i]->uses ? of[i].wish : 0;
    return agreed;
}
