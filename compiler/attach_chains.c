// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, operators of single elements joined. Guarantees: where the backend takes it, such
// an operator or chain of them is computed by the node whose result it works on, if that has no other use, or
// else by the only node that reads what it makes; so that what lies between the two is never written to
// memory.
//
// The backend decides what it can attach; only forms are checked here: a result keeps its type, an input its
// shape, and each place has one chain at most. A reshape between a result and the chain goes behind it.

#include "compiler/rewrite.h"

#include <string.h>

// Nodes with more inputs take no chains at them: their inputs would be copied for each.
#define MAX_INPUTS 32

struct chain {
    struct operand *in[WNN_ELEMENTWISE_INPUTS];
    unsigned in_count;
    const struct elementwise_attrs *attrs;
};

static bool is_single(const struct node *node)
{
    return wnn_op_is_elementwise((enum op)node->op) && !node->activation &&
           node->in_count == wnn_op_input_rows(&wnn_ops[node->op]);
}

static bool is_chain(const struct node *node)
{
    return node->out_count == 1 && !node->attached && (node->op == WNN_OP_elementwise || is_single(node));
}

// A single operator as a chain of one step.
static bool describe_single(struct arena *arena, const struct node *node, struct chain *chain)
{
    struct elementwise_attrs *attrs =
        wnn_op_copy_attrs(arena, WNN_OP_elementwise, wnn_ops[WNN_OP_elementwise].defaults);
    struct elementwise_step *step = wnn_arena_allocate(arena, sizeof *step);
    if (!attrs || !step)
        return false;
    *step = (struct elementwise_step){.op = node->op,
                                      .in_count = (uint8_t)node->in_count,
                                      .attrs = node->attrs,
                                      .type = node->out[0]->type};
    for (unsigned i = 0; i < node->in_count; i++) {
        unsigned value = 0;
        while (value < chain->in_count && chain->in[value] != node->in[i])
            value++;
        if (value == chain->in_count)
            chain->in[chain->in_count++] = node->in[i];
        step->in[i] = (uint8_t)value;
    }
    attrs->steps = step;
    attrs->count = 1;
    chain->attrs = attrs;
    return true;
}

static bool describe(struct arena *arena, const struct node *node, struct chain *chain)
{
    *chain = (struct chain){0};
    if (node->op != WNN_OP_elementwise)
        return describe_single(arena, node, chain);
    chain->in_count = node->in_count;
    memcpy(chain->in, node->in, node->in_count * sizeof chain->in[0]);
    chain->attrs = node->attrs;
    return true;
}

// The same with value `first` as number 0.
static const struct elementwise_attrs *renumbered(struct arena *arena, const struct chain *chain,
                                                  unsigned first)
{
    struct elementwise_attrs *attrs = wnn_arena_copy(arena, chain->attrs, sizeof *attrs);
    struct elementwise_step *steps =
        wnn_arena_copy(arena, chain->attrs->steps, chain->attrs->count * sizeof steps[0]);
    if (!attrs || !steps)
        return NULL;
    for (unsigned i = 0; i < attrs->count; i++)
        for (unsigned j = 0; j < steps[i].in_count; j++) {
            uint8_t *value = &steps[i].in[j];
            *value = *value == first ? 0 : *value < first ? (uint8_t)(*value + 1) : *value;
        }
    attrs->steps = steps;
    return attrs;
}

// The node with the chain attached, input `first` of which is value 0. Out of memory: false.
static bool extend(struct arena *arena, const struct node *node, unsigned at, const struct chain *chain,
                   unsigned first, struct node *made)
{
    unsigned rows = wnn_op_input_rows(&wnn_ops[node->op]),
             begin = node->in_count > rows ? node->in_count : rows;
    struct attached *attached = wnn_arena_allocate(arena, sizeof *attached);
    struct operand **in = wnn_arena_allocate(arena, (begin + chain->in_count) * sizeof in[0]);
    const struct elementwise_attrs *attrs = renumbered(arena, chain, first);
    if (!attached || !in || !attrs)
        return false;
    for (unsigned i = 0; i < begin; i++)
        in[i] = i < node->in_count ? node->in[i] : NULL;
    unsigned count = begin;
    for (unsigned i = 0; i < chain->in_count; i++)
        if (i != first)
            in[count++] = chain->in[i];
    if (at != WNN_AT_OUTPUT)
        in[at] = chain->in[first];
    *attached = (struct attached){node->attached, at, begin, chain->in_count - 1, attrs};
    *made = *node;
    made->attached = attached;
    made->in = in;
    made->in_count = count;
    return true;
}

static unsigned count_of(const struct node *node, const struct operand *operand)
{
    unsigned count = 0;
    for (unsigned i = 0; i < node->in_count; i++)
        count += node->in[i] == operand;
    return count;
}

// What computes an input of the chain that nothing else reads, or what that is a reshape of, and can take an
// addition to its result.
static struct node *producer_of(const struct node *node, const struct operand *in)
{
    if (in->uses != count_of(node, in) || !wnn_descriptor_equal(&in->type, &node->out[0]->type))
        return NULL;
    struct node *producer = in->producer;
    while (producer && producer->op == WNN_OP_reshape && !producer->activation && producer->in[0]->uses == 1)
        producer = producer->in[0]->producer;
    return producer && producer->out_count == 1 && !producer->quantized && !producer->addend &&
                   producer->op != WNN_OP_elementwise && !wnn_op_is_elementwise((enum op)producer->op) &&
                   !wnn_attached(producer, WNN_AT_OUTPUT)
               ? producer
               : NULL;
}

// Lets the node make an operand of a type of as many elements, and a reshape what it made before.
static bool reshape_result(struct graph *graph, struct node *node, const struct descriptor *type)
{
    struct operand *result = node->out[0];
    struct expand_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_reshape);
    const struct shape *shape = &result->type.shape;
    if (!attrs || !wnn_rewrite_list(graph, &attrs->newShape, shape->dim, shape->rank))
        return false;
    struct node *reshape = wnn_rewrite_add(graph, WNN_OP_reshape, NULL, type, attrs, node->index + 1);
    if (!reshape)
        return false;
    node->out[0] = reshape->in[0] = reshape->out[0];
    node->out[0]->producer = node;
    node->out[0]->uses = 1;
    reshape->out[0] = result;
    result->producer = reshape;
    return true;
}

// To the last of the producers that can take it; the whole is computed where the chain was, since its other
// inputs are there then.
static bool attach_to_producer(struct pass_context *context, struct graph *graph, struct node *node)
{
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    struct chain chain;
    if (!describe(&graph->arena, node, &chain))
        return false;
    for (size_t before = node->index;;) {
        struct node *producer = NULL, made;
        unsigned first = 0;
        for (unsigned i = 0; i < chain.in_count; i++) {
            struct node *other = producer_of(node, chain.in[i]);
            if (!other || other->index >= before || (producer && other->index < producer->index))
                continue;
            producer = other;
            first = i;
        }
        if (!producer)
            break;
        before = producer->index;
        if (!extend(&graph->arena, producer, WNN_AT_OUTPUT, &chain, first, &made))
            return false;
        made.index = node->index;
        if (!context->backend->attaches(context->state, &made))
            continue;
        made.out = node->out;
        *node = made;
        producer->in_count = 0;
        producer->attached = NULL;
        chain.in[first]->uses = 0;
        const struct descriptor *type = &producer->out[0]->type;
        return wnn_descriptor_equal(type, &node->out[0]->type) || reshape_result(graph, node, type);
    }
    wnn_arena_rewind(&graph->arena, mark);
    return true;
}

// Where a value that is used once is read.
struct reader {
    struct node *node;
    unsigned input;
};

static bool attach_to_reader(struct pass_context *context, struct graph *graph, struct node *node,
                             const struct reader *reader)
{
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    struct node *to = reader->node, made;
    struct chain chain;
    if (node->out[0]->uses != 1 || !to || to->quantized || to->in_count > MAX_INPUTS ||
        to->op == WNN_OP_elementwise || reader->input >= wnn_own_inputs(to) ||
        wnn_attached(to, reader->input))
        return true;
    if (!describe(&graph->arena, node, &chain))
        return false;
    for (unsigned i = 0; i < chain.in_count; i++) {
        if (!wnn_shape_equal(&chain.in[i]->type.shape, &node->out[0]->type.shape))
            continue;
        if (!extend(&graph->arena, to, reader->input, &chain, i, &made))
            return false;
        if (!context->backend->attaches(context->state, &made))
            continue;
        *to = made;
        node->in_count = 0;
        node->out[0]->uses = 0;
        return true;
    }
    wnn_arena_rewind(&graph->arena, mark);
    return true;
}

bool wnn_attach_chains(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->attaches)
        return true;
    size_t count = graph->node_count;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < count; i++)
        if (is_chain(graph->nodes[i]) && !attach_to_producer(context, graph, graph->nodes[i]))
            return wnn_fail_memory(context->error);
    if (!wnn_rewrite_order(context, graph, count) || !wnn_prune(context, graph))
        return false;
    struct reader *readers =
        wnn_allocate_zero(context->allocator, (graph->operand_count + 1) * sizeof readers[0]);
    if (!readers)
        return wnn_fail_memory(context->error);
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned j = 0; j < graph->nodes[i]->in_count; j++)
            if (graph->nodes[i]->in[j])
                readers[graph->nodes[i]->in[j]->index] = (struct reader){graph->nodes[i], j};
    bool enough = true;
    for (size_t i = 0; enough && i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        enough = !is_chain(node) || attach_to_reader(context, graph, node, &readers[node->out[0]->index]);
    }
    wnn_release(context->allocator, readers);
    return enough ? wnn_prune(context, graph) : wnn_fail_memory(context->error);
}
