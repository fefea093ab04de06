// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, operators of single elements joined. Guarantees: where the backend takes it, such
// an operator or chain of them is computed by the node whose result it works on, if that has no other use, or
// else by the only node that reads what it makes; so that what lies between the two is never written to
// memory.
//
// The backend decides what it can fuse; only forms are checked here: a result keeps its type, an input its
// shape. A reshape between a result and the chain goes behind it.

#include "compiler/fuse.h"

#include <string.h>

// Nodes with more inputs take no chains at them: their inputs would be copied for each.
#define MAX_INPUTS 32

static bool is_chain(const struct node *node)
{
    return node->out_count == 1 && !node->fused &&
           (node->op == WNN_OP_elementwise || wnn_op_is_elementwise((enum op)node->op));
}

static unsigned count_of(const struct node *node, const struct operand *operand)
{
    unsigned count = 0;
    for (unsigned i = 0; i < node->in_count; i++)
        count += node->in[i] == operand;
    return count;
}

// What computes an input of the chain that nothing else reads, or what that is a reshape of.
static struct node *producer_of(const struct node *node, const struct operand *in)
{
    if (in->uses != count_of(node, in) || !wnn_descriptor_equal(&in->type, &node->out[0]->type))
        return NULL;
    struct node *producer = in->producer;
    while (producer && producer->op == WNN_OP_reshape && !producer->fused && producer->in[0]->uses == 1)
        producer = producer->in[0]->producer;
    return producer && producer->out_count == 1 && producer->op != WNN_OP_elementwise &&
                   !wnn_op_is_elementwise((enum op)producer->op)
               ? producer
               : NULL;
}

// Lets the node make an operand of a type of as many elements, and a reshape what it made before.
static bool reshape_result(struct graph *graph, struct node *node, const struct descriptor *type)
{
    struct operand *result = node->out[0];
    struct node *reshape = wnn_rewrite_add_reshape(graph, NULL, &result->type, node->index + 1);
    if (!reshape)
        return false;
    node->out[0] = reshape->in[0] = reshape->out[0];
    node->out[0]->type = *type;
    node->out[0]->producer = node;
    node->out[0]->uses = 1;
    reshape->out[0] = result;
    result->producer = reshape;
    return true;
}

// What made input `first` of a node, with the node fused: computed where the node was, since its other inputs
// are there then.
static bool replace(struct graph *graph, struct node *node, unsigned first, struct node *producer)
{
    const struct descriptor *type = &producer->out[0]->type;
    struct node made = *producer;
    made.index = node->index;
    made.out = node->out;
    node->in[first]->uses = 0;
    *node = made;
    producer->in_count = 0;
    producer->fused = NULL;
    return wnn_descriptor_equal(type, &node->out[0]->type) || reshape_result(graph, node, type);
}

// To the last of the producers that can take it.
static bool attach_to_producer(struct pass_context *context, struct graph *graph, struct node *node)
{
    for (size_t before = node->index;;) {
        struct node *producer = NULL;
        unsigned first = 0;
        bool done;
        for (unsigned i = 0; i < node->in_count; i++) {
            struct node *other = producer_of(node, node->in[i]);
            if (!other || other->index >= before || (producer && other->index < producer->index))
                continue;
            producer = other;
            first = i;
        }
        if (!producer)
            return true;
        before = producer->index;
        const struct fusion fusion = {WNN_AT_OUTPUT, node, node->in[first]};
        if (!wnn_fuse(context, graph, producer, 1, &fusion, &done))
            return false;
        if (done)
            return replace(graph, node, first, producer) || wnn_fail_memory(context->error);
    }
}

// Where a value that is used once is read.
struct reader {
    struct node *node;
    unsigned input;
};

static bool attach_to_reader(struct pass_context *context, struct graph *graph, struct node *node,
                             const struct reader *reader)
{
    struct node *to = reader->node;
    bool done = false;
    if (node->out[0]->uses != 1 || !to || wnn_operand_count(to) > MAX_INPUTS ||
        to->op == WNN_OP_elementwise || reader->input >= to->in_count)
        return true;
    for (unsigned i = 0; !done && i < node->in_count; i++) {
        const struct fusion fusion = {reader->input, node, node->in[i]};
        if (wnn_shape_equal(&node->in[i]->type.shape, &node->out[0]->type.shape) &&
            !wnn_fuse(context, graph, to, 1, &fusion, &done))
            return false;
    }
    if (done) {
        node->in_count = 0;
        node->out[0]->uses = 0;
    }
    return true;
}

bool wnn_attach_chains(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->fuses_chains)
        return true;
    size_t count = graph->node_count;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < count; i++)
        if (is_chain(graph->nodes[i]) && !attach_to_producer(context, graph, graph->nodes[i]))
            return false;
    if (!wnn_rewrite_order(context, graph, count) || !wnn_prune(context, graph))
        return false;
    struct reader *readers =
        wnn_allocate_zero(context->allocator, (graph->operand_count + 1) * sizeof readers[0]);
    if (!readers)
        return wnn_fail_memory(context->error);
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned j = 0; j < wnn_operand_count(graph->nodes[i]); j++)
            if (graph->nodes[i]->in[j])
                readers[graph->nodes[i]->in[j]->index] = (struct reader){graph->nodes[i], j};
    bool done = true;
    for (size_t i = 0; done && i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        done = !is_chain(node) || attach_to_reader(context, graph, node, &readers[node->out[0]->index]);
    }
    wnn_release(context->allocator, readers);
    return done && wnn_prune(context, graph);
}
