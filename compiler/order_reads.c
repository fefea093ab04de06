// SPDX-License-Identifier: Apache-2.0
//
// Requires: the graph as the backend will run it. Guarantees: where a node makes an output of the graph that
// can take the place of an input which the node reads (a cache that it updates), all other readers of that
// input that do not depend on the node come before it, and node->overwrites is the input. The caller may then
// give the same memory for both. All else stays in its order.

#include "compiler/passes.h"

#include <string.h>

// How often the nodes are ordered anew because one waits for what needs it.
#define MAX_ATTEMPTS 4

struct reads {
    struct graph *graph;
    struct node **recorded;
    uint32_t *missing;         // by node: results of other nodes that are still to come
    size_t *first, *consumers; // the nodes that read the outputs of node i: consumers[first[i] ..]
    size_t *unread;            // by operand: reads that are still to come
    const struct node **holds; // by operand: the node that is to come after its other readers, while it waits
    size_t *ready;             // a heap of node numbers, the lowest first
    size_t ready_count;
};

// ---------------------------------------------------------------------------------------------------------------
// Who overwrites what
// ---------------------------------------------------------------------------------------------------------------

// The input of the graph that a node can write its output over, or NULL. What only hands one on would keep
// others waiting for nothing.
static struct operand *overwritten_input(const struct pass_context *context, const struct node *node)
{
    if (!context->backend->in_place || node->out_count != 1 || node->op == WNN_OP_identity ||
        node->op == WNN_OP_reshape)
        return NULL;
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        struct operand *input = node->in[i];
        if (!input || !input->input || !wnn_descriptor_equal(&input->type, &node->out[0]->type))
            continue;
        if (wnn_may_overwrite(context, node, input))
            return input;
    }
    return NULL;
}

// Of several nodes that could overwrite an input, the first may. Returns how many have to wait for others.
// `taken`: one byte an operand.
static size_t choose_overwrites(const struct pass_context *context, struct graph *graph, unsigned char *taken)
{
    size_t count = 0;
    wnn_graph_count_uses(graph);
    memset(taken, 0, graph->operand_count);
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i]->overwrites = NULL;
    for (size_t i = 0; i < graph->output_count; i++) {
        struct node *node = graph->outputs[i].operand->producer;
        struct operand *input = node ? overwritten_input(context, node) : NULL;
        if (!input || taken[input->index])
            continue;
        taken[input->index] = 1;
        node->overwrites = input;
        count += input->uses > wnn_node_reads(node, input);
    }
    return count;
}

// ---------------------------------------------------------------------------------------------------------------
// The order
// ---------------------------------------------------------------------------------------------------------------

static void add_ready(struct reads *reads, size_t number)
{
    size_t i = reads->ready_count++;
    for (; i > 0 && reads->ready[(i - 1) / 2] > number; i = (i - 1) / 2)
        reads->ready[i] = reads->ready[(i - 1) / 2];
    reads->ready[i] = number;
}

static size_t take_ready(struct reads *reads)
{
    size_t lowest = reads->ready[0], last = reads->ready[--reads->ready_count], i = 0;
    for (size_t child; (child = 2 * i + 1) < reads->ready_count; i = child) {
        if (child + 1 < reads->ready_count && reads->ready[child + 1] < reads->ready[child])
            child++;
        if (reads->ready[child] >= last)
            break;
        reads->ready[i] = reads->ready[child];
    }
    reads->ready[i] = last;
    return lowest;
}

static void list_consumers(struct reads *reads)
{
    const struct graph *graph = reads->graph;
    memset(reads->first, 0, (graph->node_count + 2) * sizeof reads->first[0]);
    for (int counting = 1; counting >= 0; counting--) {
        for (size_t i = 0; i < graph->node_count; i++)
            for (unsigned k = 0; k < wnn_operand_count(reads->recorded[i]); k++) {
                const struct operand *in = reads->recorded[i]->in[k];
                if (!in || !in->producer)
                    continue;
                if (counting)
                    reads->first[in->producer->index + 2]++;
                else
                    reads->consumers[reads->first[in->producer->index + 1]++] = i;
            }
        for (size_t i = 2; counting && i < graph->node_count + 2; i++)
            reads->first[i] += reads->first[i - 1];
    }
}

static void note_reads(struct reads *reads, const struct node *node)
{
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        const struct operand *in = node->in[i];
        if (!in)
            continue;
        const struct node *held = reads->holds[in->index];
        if (--reads->unread[in->index] == (held ? wnn_node_reads(held, in) : 0) && held) {
            reads->holds[in->index] = NULL;
            add_ready(reads, held->index);
        }
    }
}

// Orders the nodes; node->index stays the recorded number meanwhile. False: some wait for ever, and overwrite
// nothing any more.
static bool arrange(struct reads *reads)
{
    struct graph *graph = reads->graph;
    size_t count = 0;
    reads->ready_count = 0;
    for (size_t i = 0; i < graph->operand_count; i++) {
        reads->holds[i] = NULL;
        reads->unread[i] = graph->operands[i]->uses;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        reads->missing[i] = 0;
        for (unsigned k = 0; k < wnn_operand_count(reads->recorded[i]); k++)
            reads->missing[i] += reads->recorded[i]->in[k] && reads->recorded[i]->in[k]->producer;
        if (reads->missing[i] == 0)
            add_ready(reads, i);
    }
    while (reads->ready_count > 0) {
        struct node *node = reads->recorded[take_ready(reads)];
        const struct operand *over = node->overwrites;
        if (over && reads->unread[over->index] > wnn_node_reads(node, over)) {
            reads->holds[over->index] = node;
            continue;
        }
        graph->nodes[count++] = node;
        note_reads(reads, node);
        for (size_t i = reads->first[node->index]; i < reads->first[node->index + 1]; i++)
            if (--reads->missing[reads->consumers[i]] == 0)
                add_ready(reads, reads->consumers[i]);
    }
    for (size_t i = 0; count < graph->node_count && i < graph->operand_count; i++)
        if (reads->holds[i])
            reads->recorded[reads->holds[i]->index]->overwrites = NULL;
    return count == graph->node_count;
}

static void order_nodes(struct reads *reads)
{
    struct graph *graph = reads->graph;
    for (size_t i = 0; i < graph->node_count; i++) {
        reads->recorded[i] = graph->nodes[i];
        reads->recorded[i]->index = (uint32_t)i;
    }
    list_consumers(reads);
    bool done = false;
    for (int i = 0; !done && i < MAX_ATTEMPTS; i++)
        done = arrange(reads);
    for (size_t i = 0; !done && i < graph->node_count; i++) {
        graph->nodes[i] = reads->recorded[i];
        graph->nodes[i]->overwrites = NULL;
    }
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i]->index = (uint32_t)i;
}

bool wnn_order_reads(struct pass_context *context, struct graph *graph)
{
    struct arena arena;
    size_t nodes = graph->node_count, operands = graph->operand_count, ends = 0;
    for (size_t i = 0; i < nodes; i++)
        ends += wnn_operand_count(graph->nodes[i]);
    wnn_arena_init(&arena, context->allocator);
    unsigned char *taken = wnn_arena_allocate(&arena, operands);
    bool enough = taken != NULL;
    if (enough && choose_overwrites(context, graph, taken) > 0) {
        struct reads reads = {.graph = graph,
                              .recorded = wnn_arena_allocate(&arena, nodes * sizeof reads.recorded[0]),
                              .missing = wnn_arena_allocate(&arena, nodes * sizeof reads.missing[0]),
                              .first = wnn_arena_allocate(&arena, (nodes + 2) * sizeof reads.first[0]),
                              .consumers = wnn_arena_allocate(&arena, ends * sizeof reads.consumers[0]),
                              .unread = wnn_arena_allocate(&arena, operands * sizeof reads.unread[0]),
                              .holds = wnn_arena_allocate(&arena, operands * sizeof reads.holds[0]),
                              .ready = wnn_arena_allocate(&arena, nodes * sizeof reads.ready[0])};
        enough = reads.recorded && reads.missing && reads.first && reads.consumers && reads.unread &&
                 reads.holds && reads.ready;
        if (enough)
            order_nodes(&reads);
    }
    wnn_arena_free(&arena);
    return enough || wnn_fail_memory(context->error);
}
