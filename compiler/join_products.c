// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order with nothing fused, no dead nodes. Guarantees: where a backend wants it, queries,
// keys and values that are products of one input and of constant matrices with as many columns each are one
// product with these matrices behind each other (stack_products.h): it keeps more processors busy at once.

#include "compiler/stack_products.h"

enum {
    LEAST = 3,        // keys and values alone do not keep a device busier than beside queries of more columns
    MAX_DISTANCE = 64 // nodes from the first product to the last
};

// Products from node i on with the same input as that, which is the first of them, that attention reads. What
// adds a row to a product stands for it.
static unsigned find_products(const struct graph *graph, size_t i, struct stacked_part *parts,
                              struct operand **results)
{
    unsigned count = 0;
    for (size_t end = i + MAX_DISTANCE; i < end && i < graph->node_count && count < WNN_MAX_STACKED; i++) {
        struct operand *result = graph->nodes[i]->out[0];
        struct stacked_part *part = &parts[count];
        wnn_stack_find(result, part);
        bool fits = part->product && !result->link && part->product->in[0] == parts[0].product->in[0];
        if (fits) {
            part->cut = (struct cut){0, 1, 1, result->type.shape.dim[result->type.shape.rank - 1], 0, 1};
            fits = wnn_stack_can(parts, count + 1) && wnn_stack_is_attended(graph, result, i + 1);
        }
        if (fits)
            results[count++] = result;
        else if (count == 0)
            return 0;
    }
    return count;
}

// Computes all at once. False: out of memory.
static bool join(struct pass_context *context, struct graph *graph, const struct stacked_part *parts,
                 struct operand *const *results, unsigned count, size_t place)
{
    struct operand *stacked[WNN_MAX_STACKED];
    if (!wnn_stack(context, graph, parts, count, place, stacked))
        return false;
    for (unsigned p = 0; p < count; p++) {
        results[p]->link = wnn_rewrite_reshape(graph, stacked[p], &results[p]->type.shape, place);
        if (!results[p]->link)
            return false;
    }
    return true;
}

bool wnn_join_products(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->stacks_products)
        return true;
    size_t count = graph->node_count;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < count; i++) {
        struct stacked_part parts[WNN_MAX_STACKED];
        struct operand *results[WNN_MAX_STACKED];
        unsigned found = find_products(graph, i, parts, results);
        if (found < LEAST ||
            !context->backend->stacks_products(parts[0].product, wnn_cut_size(&parts[0].cut)))
            continue;
        if (!join(context, graph, parts, results, found, i))
            return wnn_fail_memory(context->error);
    }
    return graph->node_count == count || wnn_rewrite_finish(context, graph, count);
}
