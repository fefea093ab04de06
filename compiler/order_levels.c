// SPDX-License-Identifier: Apache-2.0
//
// Requires: the graph as the backend will run it, with node->scratch_bytes and node->overwrites set.
// Guarantees: for a backend that runs nodes beside each other, nodes that do not wait for one another are
// neighbours, on one level, unless that would need much more memory than the order in which they were
// recorded; for a backend that computes some nodes along with others, these are, and what only hands on
// operands to them comes as early as it can, so that they need not wait for it. For any other each node is a
// level. What reads an input of the graph is on an earlier level than the node that overwrites it
// (order_reads.c).

#include "compiler/passes.h"

#include <string.h>

// How far nodes come forward at most: what is computed early is kept for long.
#define WINDOW 64

// What levels may need beyond the memory of the recorded order, and a quarter of that.
#define MORE_BYTES ((size_t)1 << 20)

#define UNPLACED UINT32_MAX

struct ordering {
    const struct pass_context *context;
    struct graph *graph;
    struct node **recorded;
    unsigned *ready; // by recorded node: inputs, from the first on, that it need not wait for any more
    size_t *made;    // by recorded node: bytes that are in use once it runs
    size_t *unread;  // by operand: reads that are still to come
    bool *early;     // by recorded node: it only hands on what nodes that can be joined read
    bool joins;      // there are such nodes
    size_t live;     // bytes in use
};

static size_t bytes_of(const struct operand *operand)
{
    return wnn_descriptor_bytes(&operand->type);
}

static size_t bytes_made(const struct node *node)
{
    size_t bytes = node->scratch_bytes;
    for (unsigned i = 0; i < node->out_count; i++)
        bytes += bytes_of(node->out[i]);
    return bytes;
}

// Whether it has to wait for others that read what it overwrites.
static bool waits_for_readers(const struct ordering *ordering, const struct node *node)
{
    const struct operand *over = node->overwrites;
    return over && ordering->unread[over->index] > wnn_node_reads(node, over);
}

// What only hands on an operand is mostly a view of it, and need not wait.
static bool is_ready(const struct node *node, uint32_t level, unsigned *ready)
{
    for (; *ready < wnn_operand_count(node); ++*ready) {
        const struct node *producer = node->in[*ready] ? node->in[*ready]->producer : NULL;
        if (producer && (producer->level == UNPLACED ||
                         (producer->level == level && !wnn_op_hands_on((enum op)node->op))))
            return false;
    }
    return true;
}

static void count_reads(struct ordering *ordering)
{
    const struct graph *graph = ordering->graph;
    for (size_t i = 0; i < graph->operand_count; i++)
        ordering->unread[i] = 0;
    for (size_t i = 0; i < graph->output_count; i++)
        ordering->unread[graph->outputs[i].operand->index]++; // that never comes
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned j = 0; j < wnn_operand_count(graph->nodes[i]); j++)
            if (graph->nodes[i]->in[j])
                ordering->unread[graph->nodes[i]->in[j]->index]++;
}

static void end_node(struct ordering *ordering, const struct node *node)
{
    ordering->live -= node->scratch_bytes;
    for (unsigned i = 0; i < node->out_count; i++)
        if (ordering->unread[node->out[i]->index] == 0)
            ordering->live -= bytes_of(node->out[i]);
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i] && --ordering->unread[node->in[i]->index] == 0 && node->in[i]->producer)
            ordering->live -= bytes_of(node->in[i]);
}

// What a level is made of: recorded nodes from one on, as long as no more than `limit` bytes are in use; but
// at least the first that is ready.
struct choice {
    uint32_t level;
    size_t first, end;
    size_t limit;
    bool early; // only what is to come early
};

// Whether a node that is ready may be on the level that another one has begun.
static bool fits_level(const struct ordering *ordering, const struct choice *choice, const struct node *first,
                       const struct node *node)
{
    const struct backend *backend = ordering->context->backend;
    return backend->levels || choice->early || backend->joins(ordering->context->state, first, node);
}

// Puts nodes on the level that begins with node `begin` in the new order; returns where it ends.
static size_t fill_level(struct ordering *ordering, const struct choice *choice, size_t begin)
{
    struct graph *graph = ordering->graph;
    size_t count = begin;
    for (size_t i = choice->first; i < choice->end; i++) {
        struct node *node = ordering->recorded[i];
        size_t bytes = ordering->made[i];
        if (node->level != UNPLACED || (choice->early && !ordering->early[i]) ||
            (count > begin && !fits_level(ordering, choice, graph->nodes[begin], node)) ||
            !is_ready(node, choice->level, &ordering->ready[i]) || waits_for_readers(ordering, node) ||
            (count > begin && ordering->live + bytes > choice->limit))
            continue;
        ordering->live += bytes;
        node->level = choice->level;
        node->index = (uint32_t)count;
        graph->nodes[count++] = node;
    }
    return count;
}

// Orders the nodes: on each level is whatever can be, of the first `window` nodes that are left, as long as
// no more than `limit` bytes are in use; but at least the very first. Returns the most bytes in use. (With a
// window of one that is the recorded order.)
static size_t arrange(struct ordering *ordering, size_t window, size_t limit)
{
    struct graph *graph = ordering->graph;
    size_t nodes = graph->node_count, first = 0, count = 0, peak = 0;
    bool joins = window > 1 && ordering->joins;
    count_reads(ordering);
    ordering->live = 0;
    for (size_t i = 0; i < nodes; i++) {
        ordering->recorded[i]->level = UNPLACED;
        ordering->ready[i] = 0;
    }
    for (uint32_t level = 0; count < nodes; level++) {
        struct choice choice = {level, first, nodes - first < window ? nodes : first + window, limit, joins};
        size_t begin = count;
        count = joins ? fill_level(ordering, &choice, begin) : begin;
        choice.early = false;
        count = count > begin ? count : fill_level(ordering, &choice, begin);
        peak = ordering->live > peak ? ordering->live : peak;
        for (size_t i = begin; i < count; i++)
            end_node(ordering, graph->nodes[i]);
        while (first < nodes && ordering->recorded[first]->level != UNPLACED)
            first++;
    }
    return peak;
}

// Finds the nodes that can be joined, and what they would wait for.
static void find_joined(struct ordering *ordering)
{
    const struct pass_context *context = ordering->context;
    const struct graph *graph = ordering->graph;
    memset(ordering->early, 0, graph->node_count * sizeof ordering->early[0]);
    for (size_t i = 0; i < graph->node_count && context->backend->joins; i++) {
        const struct node *node = graph->nodes[i];
        if (node->in_count == 0 || !node->in[0] || !context->backend->joins(context->state, node, node))
            continue;
        ordering->joins = true;
        for (const struct node *before = node->in[0]->producer;
             before && wnn_op_hands_on((enum op)before->op) && !ordering->early[before->index];
             before = before->in[0]->producer)
            ordering->early[before->index] = true;
    }
}

// Says which nodes are computed along with others.
static void explain(const struct pass_context *context, const struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count && context->backend->joins; i++) {
        const struct node *node = graph->nodes[i];
        bool before = i > 0 && graph->nodes[i - 1]->level == node->level;
        bool behind = i + 1 < graph->node_count && graph->nodes[i + 1]->level == node->level;
        if ((before || behind) && !wnn_op_hands_on((enum op)node->op))
            wnn_explain(context->explainer, "order_levels", "computed along with others", node->out[0], NULL);
    }
}

bool wnn_order_levels(struct pass_context *context, struct graph *graph)
{
    struct arena arena;
    wnn_arena_init(&arena, context->allocator);
    const struct backend *backend = context->backend;
    struct ordering ordering = {.context = context,
                                .graph = graph,
                                .recorded =
                                    wnn_arena_allocate(&arena, graph->node_count * sizeof(struct node *)),
                                .ready = wnn_arena_allocate(&arena, graph->node_count * sizeof(unsigned)),
                                .made = wnn_arena_allocate(&arena, graph->node_count * sizeof(size_t)),
                                .unread = wnn_arena_allocate(&arena, graph->operand_count * sizeof(size_t)),
                                .early = wnn_arena_allocate(&arena, graph->node_count * sizeof(bool))};
    bool enough = ordering.recorded && ordering.ready && ordering.made && ordering.unread && ordering.early;
    if (enough) {
        for (size_t i = 0; i < graph->node_count; i++) {
            ordering.recorded[i] = graph->nodes[i];
            ordering.made[i] = bytes_made(graph->nodes[i]);
            graph->nodes[i]->index = (uint32_t)i;
        }
        find_joined(&ordering);
        size_t peak = arrange(&ordering, 1, SIZE_MAX), limit = peak + peak / 4 + MORE_BYTES;
        if ((backend->levels || ordering.joins) && arrange(&ordering, WINDOW, limit) > limit)
            arrange(&ordering, 1, SIZE_MAX);
    }
    wnn_arena_free(&arena);
    if (enough)
        explain(context, graph);
    return enough || wnn_fail_memory(context->error);
}
