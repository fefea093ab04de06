// SPDX-License-Identifier: Apache-2.0
#include "lib/graph.h"

#include <stddef.h>
#include <string.h>

void wnn_graph_init(struct graph *graph, struct allocator *allocator)
{
    *graph = (struct graph){0};
    wnn_arena_init(&graph->arena, allocator);
    wnn_sizes_init(&graph->sizes, allocator);
}

void wnn_graph_free(struct graph *graph)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        wnn_constant_unref(graph->operands[i]->constant);
    wnn_constant_unref(graph->source);
    wnn_release_record(graph->arena.allocator, graph->operands,
                       graph->operand_capacity * sizeof graph->operands[0]);
    wnn_release_record(graph->arena.allocator, graph->nodes, graph->node_capacity * sizeof graph->nodes[0]);
    wnn_arena_free(&graph->arena);
    wnn_sizes_free(&graph->sizes);
    wnn_string_pool_unref(graph->strings);
    *graph = (struct graph){0};
}

// Makes room for one more pointer. These arrays move as they grow, so that they are not in the arena.
static void *grow(struct graph *graph, void *items, size_t count, size_t *capacity)
{
    enum {
        FIRST = 8
    };
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? *capacity * 2 : FIRST;
    void *grown = wnn_allocate_record(graph->arena.allocator, wanted * sizeof(void *));
    if (!grown)
        return NULL;
    if (count)
        memcpy(grown, items, count * sizeof(void *));
    wnn_release_record(graph->arena.allocator, items, *capacity * sizeof(void *));
    *capacity = wanted;
    return grown;
}

// The bytes of an operand of a graph.
static size_t operand_size(const struct graph *graph)
{
    return graph->in_builder ? offsetof(struct operand, uses) : sizeof(struct operand);
}

struct operand *wnn_graph_add_operand(struct graph *graph, const struct descriptor *type)
{
    struct operand **operands = grow(graph, graph->operands, graph->operand_count, &graph->operand_capacity);
    if (!operands)
        return NULL;
    graph->operands = operands;
    struct operand *operand = wnn_arena_allocate_packed(&graph->arena, operand_size(graph));
    if (!operand)
        return NULL;
    operand->graph = graph;
    operand->index = (uint32_t)graph->operand_count;
    operand->type = *type;
    operands[graph->operand_count++] = operand;
    return operand;
}

struct operand *wnn_graph_copy_operand(const struct operand *operand, struct arena *arena)
{
    return wnn_arena_copy_packed(arena, operand, operand_size(operand->graph));
}

struct operand_details *wnn_graph_detail(struct operand *operand)
{
    if (!operand->details &&
        (operand->details = wnn_arena_allocate_packed(&operand->graph->arena, sizeof *operand->details)))
        operand->details->name = STRING("");
    return operand->details;
}

struct operand *wnn_graph_add_constant(struct graph *graph, const struct descriptor *type,
                                       struct constant *constant)
{
    struct operand *operand = wnn_graph_add_operand(graph, type);
    if (!operand) {
        wnn_constant_unref(constant);
        return NULL;
    }
    operand->constant = constant;
    graph->constant_bytes += constant->bytes;
    return operand;
}

struct node *wnn_graph_add_node(struct graph *graph, uint16_t op, unsigned in_count, unsigned out_count,
                                const struct descriptor *types)
{
    struct node **nodes = grow(graph, graph->nodes, graph->node_count, &graph->node_capacity);
    if (!nodes)
        return NULL;
    graph->nodes = nodes;
    size_t size = graph->in_builder ? offsetof(struct node, level) : sizeof(struct node);
    struct node *node =
        wnn_arena_allocate_packed(&graph->arena, size + ((size_t)in_count + out_count) * sizeof node->in[0]);
    if (!node)
        return NULL;
    node->index = (uint32_t)graph->node_count;
    node->op = op;
    node->label = STRING("");
    node->in = (struct operand **)(void *)((char *)node + size);
    node->out = node->in + in_count;
    node->in_count = in_count;
    node->out_count = out_count;
    if (!graph->in_builder)
        node->target = graph->target;
    size_t operand_count = graph->operand_count;
    for (unsigned i = 0; i < out_count; i++) {
        node->out[i] = wnn_graph_add_operand(graph, &types[i]);
        if (!node->out[i]) {
            graph->operand_count = operand_count;
            return NULL;
        }
        node->out[i]->producer = node;
        node->out[i]->output = (uint16_t)i;
    }
    nodes[graph->node_count++] = node;
    return node;
}

void wnn_graph_set_target(struct graph *graph, const void *target)
{
    graph->target = target;
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i]->target = target;
}

void wnn_graph_count_uses(struct graph *graph)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        graph->operands[i]->uses = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned j = 0; j < wnn_operand_count(graph->nodes[i]); j++)
            if (graph->nodes[i]->in[j])
                graph->nodes[i]->in[j]->uses++;
    for (size_t i = 0; i < graph->output_count; i++)
        graph->outputs[i].operand->uses++;
}

static struct operand *follow(struct operand *operand)
{
    while (operand && operand->link)
        operand = operand->link;
    return operand;
}

// Whether nothing has been dropped, replaced or moved.
static bool is_wired(const struct graph *graph, const unsigned char *drop)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if ((drop && drop[i]) || graph->nodes[i]->index != i)
            return false;
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->link)
            return false;
    return true;
}

void wnn_graph_rewire(struct graph *graph, const unsigned char *drop)
{
    if (is_wired(graph, drop))
        return;
    // A chain of links is followed once: what it passes is made to point at its end.
    for (size_t i = 0; i < graph->operand_count; i++) {
        struct operand *end = follow(graph->operands[i]);
        for (struct operand *at = graph->operands[i]; at->link && at->link != end;) {
            struct operand *next = at->link;
            at->link = end;
            at = next;
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        if (drop && drop[i])
            continue;
        struct node *node = graph->nodes[i];
        for (unsigned j = 0; j < wnn_operand_count(node); j++)
            node->in[j] = follow(node->in[j]);
        node->index = (uint32_t)kept;
        graph->nodes[kept++] = node;
    }
    graph->node_count = kept;
    for (size_t i = 0; i < graph->output_count; i++)
        graph->outputs[i].operand = follow(graph->outputs[i].operand);
    for (size_t i = 0; i < graph->operand_count; i++) {
        struct operand *operand = graph->operands[i];
        if (operand->link)
            operand->replacement = operand->link;
        operand->link = NULL;
    }
}
