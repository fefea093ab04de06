// SPDX-License-Identifier: Apache-2.0
#include "compiler/aliases.h"

#include <string.h>

static bool is_input_of(const struct operand *operand, unsigned slot)
{
    return operand && operand->placement.place == PLACE_INPUT && operand->placement.slot == slot &&
           !operand->placement.staged;
}

// Whether a node may write output 0 over all that it reads of an input: each operand that lies there, which
// may be a view of it.
static bool is_in_place(const struct backend *backend, void *state, const struct node *node, unsigned slot)
{
    size_t bytes = wnn_descriptor_bytes(&node->out[0]->type);
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (is_input_of(node->in[i], slot) && (wnn_descriptor_bytes(&node->in[i]->type) != bytes ||
                                               !backend->in_place || !backend->in_place(state, node, i)))
            return false;
    return true;
}

static bool find_in_place(const struct backend *backend, void *state, const struct node *node,
                          struct arena *arena, struct in_place_inputs *found)
{
    unsigned operands = wnn_operand_count(node);
    found->slots = wnn_arena_allocate(arena, operands * sizeof found->slots[0]);
    if (!found->slots)
        return false;
    for (unsigned i = 0; i < operands; i++) {
        const struct operand *in = node->in[i];
        if (in && is_input_of(in, in->placement.slot) &&
            is_in_place(backend, state, node, in->placement.slot))
            found->slots[found->count++] = in->placement.slot;
    }
    return true;
}

// Whether output 0 of a node is all of that output of the graph, and not a part that others are joined to.
static bool writes_all(const struct node *node, unsigned slot, size_t bytes)
{
    const struct placement *placement = &node->out[0]->placement;
    return placement->place == PLACE_OUTPUT && placement->slot == slot &&
           wnn_descriptor_bytes(&node->out[0]->type) == bytes;
}

static void note_node(struct aliases *aliases, const struct node *node, uint32_t step)
{
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i] && is_input_of(node->in[i], node->in[i]->placement.slot))
            aliases->last_read[node->in[i]->placement.slot] = step;
    for (unsigned i = 0; i < node->out_count; i++) {
        const struct placement *placement = &node->out[i]->placement;
        if (placement->place == PLACE_OUTPUT && step < aliases->first_write[placement->slot])
            aliases->first_write[placement->slot] = step;
    }
}

bool wnn_find_aliases(const struct backend *backend, void *state, const struct plan *plan,
                      struct arena *arena, struct aliases *aliases)
{
    const struct graph *graph = &plan->graph;
    *aliases = (struct aliases){
        .last_read = wnn_arena_allocate(arena, graph->input_count * sizeof aliases->last_read[0]),
        .first_write = wnn_arena_allocate(arena, graph->output_count * sizeof aliases->first_write[0]),
        .in_place = wnn_arena_allocate(arena, graph->output_count * sizeof aliases->in_place[0])};
    if (!aliases->last_read || !aliases->first_write || !aliases->in_place)
        return false;
    memset(aliases->last_read, 0, graph->input_count * sizeof aliases->last_read[0]);
    memset(aliases->in_place, 0, graph->output_count * sizeof aliases->in_place[0]);
    for (size_t i = 0; i < graph->output_count; i++)
        aliases->first_write[i] = UINT32_MAX;
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i]->lowering != WNN_LOWER_VIEW)
            note_node(aliases, graph->nodes[i], (uint32_t)i + 1);
    for (size_t i = 0; i < graph->output_count; i++) {
        if (aliases->first_write[i] == UINT32_MAX)
            continue;
        const struct node *node = graph->nodes[aliases->first_write[i] - 1];
        if (writes_all(node, (unsigned)i, wnn_descriptor_bytes(&graph->outputs[i].operand->type)) &&
            !find_in_place(backend, state, node, arena, &aliases->in_place[i]))
            return false;
    }
    return true;
}

bool wnn_may_alias(const struct aliases *aliases, size_t input, size_t output)
{
    if (aliases->last_read[input] != aliases->first_write[output])
        return aliases->last_read[input] < aliases->first_write[output];
    const struct in_place_inputs *in_place = &aliases->in_place[output];
    for (size_t i = 0; i < in_place->count; i++)
        if (in_place->slots[i] == input)
            return true;
    return false;
}
