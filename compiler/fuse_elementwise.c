// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: operators of single elements that make something of one another, with
// results of as many elements, are one node (WNN_OP_elementwise), if the backend computes it; so that what
// lies between them is never written to memory.
//
// A chain grows from its last node towards the beginning. A node joins the chain of its readers. If something
// outside of the chain reads its result too, the result becomes an output of the chain: it is still written,
// but not read again. That takes a place only if all those readers stand behind the chain's last node, where
// the chain is computed: then nothing that the chain needs can depend on the chain.

#include "compiler/passes.h"

#include <string.h>

struct chain {
    size_t last;                                    // node
    struct operand *inputs[WNN_ELEMENTWISE_INPUTS]; // in no order
    unsigned input_count, output_count, step_count;
    size_t elements;
    size_t first; // node; the others follow in next[]
};

// By operand: who reads it, of the nodes that have been looked at, which are those behind some node.
struct readers {
    struct chain *chain; // of the first reader; NULL: no chain
    size_t outside;      // the first reader that is in another chain or none, or SIZE_MAX
    size_t first;        // reader, or SIZE_MAX
};

struct fusion {
    struct graph *graph;
    struct chain *chains;
    size_t chain_count;
    struct chain **chain_of; // by node, or NULL
    size_t *next;            // by node: the next of its chain, or SIZE_MAX
    struct readers *readers;
    uint8_t *number;     // by operand: of the value in the chain that is being built
    unsigned char *drop; // by node
};

// A node that has an activation fused is two steps.
static unsigned steps_of(const struct node *node)
{
    return node->fused ? 1 + node->fused->count : 1;
}

static bool is_fusable(const struct node *node)
{
    const struct expression *fused = node->fused;
    return wnn_op_is_elementwise((enum op)node->op) &&
           (!fused || (fused->at == WNN_AT_OUTPUT && !fused->next && fused->operand_count == 0));
}

// Whether the chain has room for the inputs of the node, when the node's result is none any more; adds them
// if so.
static bool add_inputs(struct chain *chain, const struct node *node)
{
    struct operand *inputs[WNN_ELEMENTWISE_INPUTS + 3];
    unsigned count = 0;
    for (unsigned i = 0; i < chain->input_count; i++)
        if (chain->inputs[i] != node->out[0])
            inputs[count++] = chain->inputs[i];
    for (unsigned i = 0; i < node->in_count; i++) {
        unsigned j = 0;
        while (j < count && inputs[j] != node->in[i])
            j++;
        if (j == count)
            inputs[count++] = node->in[i];
    }
    if (count > WNN_ELEMENTWISE_INPUTS)
        return false;
    memcpy(chain->inputs, inputs, count * sizeof inputs[0]);
    chain->input_count = count;
    return true;
}

// The chain of the readers of node `i`, if it can join that.
static struct chain *join(struct fusion *fusion, size_t i)
{
    const struct node *node = fusion->graph->nodes[i];
    const struct readers *readers = &fusion->readers[node->out[0]->index];
    struct chain *chain = readers->chain;
    if (!chain || chain->elements != wnn_shape_elements(&node->out[0]->type.shape) ||
        chain->step_count + steps_of(node) > WNN_ELEMENTWISE_STEPS)
        return NULL;
    bool output = readers->outside != SIZE_MAX;
    if (output && (readers->outside <= chain->last || chain->output_count == WNN_ELEMENTWISE_OUTPUTS))
        return NULL;
    if (!add_inputs(chain, node))
        return NULL;
    chain->output_count += output;
    chain->step_count += steps_of(node);
    return chain;
}

static struct chain *begin(struct fusion *fusion, size_t i)
{
    const struct node *node = fusion->graph->nodes[i];
    struct chain *chain = &fusion->chains[fusion->chain_count++];
    *chain = (struct chain){.last = i,
                            .first = SIZE_MAX,
                            .output_count = 1,
                            .step_count = steps_of(node),
                            .elements = wnn_shape_elements(&node->out[0]->type.shape)};
    add_inputs(chain, node);
    return chain;
}

static void note_reader(struct readers *readers, size_t i, struct chain *chain)
{
    // If the chain is another one, or none, those behind are all outside of it.
    if (readers->first != SIZE_MAX && readers->chain != chain)
        readers->outside = readers->first;
    readers->chain = chain;
    readers->first = i;
}

static void find_chains(struct fusion *fusion)
{
    struct graph *graph = fusion->graph;
    for (size_t i = 0; i < graph->operand_count; i++)
        fusion->readers[i] = (struct readers){NULL, SIZE_MAX, SIZE_MAX};
    for (size_t i = 0; i < graph->output_count; i++) // behind all nodes
        note_reader(&fusion->readers[graph->outputs[i].operand->index], graph->node_count, NULL);
    for (size_t i = graph->node_count; i-- > 0;) {
        const struct node *node = graph->nodes[i];
        struct chain *chain = NULL;
        if (is_fusable(node)) {
            chain = join(fusion, i);
            chain = chain ? chain : begin(fusion, i);
            fusion->next[i] = chain->first;
            chain->first = i;
        }
        for (unsigned j = 0; j < wnn_operand_count(node); j++)
            if (node->in[j])
                note_reader(&fusion->readers[node->in[j]->index], i, chain);
    }
}

// Writes the steps of a node, whose inputs have numbers; its own result gets one, `first` for that of the
// first step.
static void make_steps(const struct fusion *fusion, const struct node *node, unsigned first,
                       struct elementwise_step *steps)
{
    const struct operand *result = node->out[0];
    steps[0] = (struct elementwise_step){.op = node->op,
                                         .in_count = (uint8_t)node->in_count,
                                         .output = WNN_NO_OUTPUT,
                                         .attrs = node->attrs,
                                         .type = result->type};
    for (unsigned i = 0; i < node->in_count; i++)
        steps[0].in[i] = fusion->number[node->in[i]->index];
    for (unsigned i = 1; i < steps_of(node); i++) {
        steps[i] = node->fused->steps[i - 1];
        steps[i].output = WNN_NO_OUTPUT;
        for (unsigned j = 0; j < steps[i].in_count; j++)
            steps[i].in[j] = (uint8_t)(steps[i].in[j] + first);
    }
    fusion->number[result->index] = (uint8_t)(first + steps_of(node) - 1);
}

static bool is_inside(const struct chain *chain, const struct fusion *fusion, const struct operand *operand)
{
    return operand->producer && fusion->chain_of[operand->producer->index] == chain;
}

// Makes the last node of the chain all of it.
static bool build(struct fusion *fusion, struct chain *chain)
{
    struct arena *arena = &fusion->graph->arena;
    struct node **nodes = fusion->graph->nodes, *last = nodes[chain->last];
    struct elementwise_attrs *attrs =
        wnn_op_copy_attrs(arena, WNN_OP_elementwise, wnn_ops[WNN_OP_elementwise].defaults);
    struct elementwise_step *steps = wnn_arena_allocate(arena, chain->step_count * sizeof steps[0]);
    struct operand **in = wnn_arena_allocate(arena, chain->input_count * sizeof in[0]);
    struct operand **out = wnn_arena_allocate(arena, chain->output_count * sizeof out[0]);
    if (!attrs || !steps || !in || !out)
        return false;
    unsigned in_count = 0, step_count = 0, out_count = 1;
    for (size_t i = chain->first; i != SIZE_MAX; i = fusion->next[i])
        for (unsigned j = 0; j < nodes[i]->in_count; j++) {
            struct operand *operand = nodes[i]->in[j];
            unsigned k = 0;
            while (k < in_count && in[k] != operand)
                k++;
            if (k < in_count || is_inside(chain, fusion, operand))
                continue;
            fusion->number[operand->index] = (uint8_t)in_count;
            in[in_count++] = operand;
        }
    for (size_t i = chain->first; i != SIZE_MAX; i = fusion->next[i]) {
        struct operand *result = nodes[i]->out[0];
        make_steps(fusion, nodes[i], in_count + step_count, steps + step_count);
        step_count += steps_of(nodes[i]);
        const struct readers *readers = &fusion->readers[result->index];
        fusion->drop[i] = i != chain->last;
        if (i == chain->last) {
            out[0] = result;
            steps[step_count - 1].output = 0;
        } else if (readers->outside != SIZE_MAX) {
            result->producer = last;
            result->output = out_count;
            steps[step_count - 1].output = (uint8_t)out_count;
            out[out_count++] = result;
        }
    }
    attrs->steps = steps;
    attrs->count = step_count;
    last->op = WNN_OP_elementwise;
    last->attrs = attrs;
    last->fused = NULL;
    last->in = in;
    last->in_count = in_count;
    last->out = out;
    last->out_count = out_count;
    return true;
}

static bool build_chains(struct fusion *fusion)
{
    for (size_t i = 0; i < fusion->chain_count; i++)
        for (size_t j = fusion->chains[i].first; j != SIZE_MAX; j = fusion->next[j])
            fusion->chain_of[j] = &fusion->chains[i];
    for (size_t i = 0; i < fusion->chain_count; i++)
        if (fusion->chains[i].step_count > 1 && !build(fusion, &fusion->chains[i]))
            return false;
    for (size_t i = 0; i < fusion->graph->node_count; i++)
        if (fusion->drop[i])
            fusion->graph->nodes[i]->index = UINT32_MAX;
    wnn_graph_rewire(fusion->graph, fusion->drop);
    return true;
}

bool wnn_fuse_elementwise(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->computes || !context->backend->computes(WNN_OP_elementwise))
        return true;
    struct arena arena;
    wnn_arena_init(&arena, context->allocator);
    size_t nodes = graph->node_count, operands = graph->operand_count;
    struct fusion fusion = {.graph = graph,
                            .chains = wnn_arena_allocate(&arena, nodes * sizeof fusion.chains[0]),
                            .chain_of = wnn_arena_allocate(&arena, nodes * sizeof fusion.chain_of[0]),
                            .next = wnn_arena_allocate(&arena, nodes * sizeof fusion.next[0]),
                            .readers = wnn_arena_allocate(&arena, operands * sizeof fusion.readers[0]),
                            .number = wnn_arena_allocate(&arena, operands),
                            .drop = wnn_arena_allocate(&arena, nodes)};
    bool enough =
        fusion.chains && fusion.chain_of && fusion.next && fusion.readers && fusion.number && fusion.drop;
    if (enough) {
        find_chains(&fusion);
        enough = build_chains(&fusion);
    }
    wnn_arena_free(&arena);
    return enough ? wnn_prune(context, graph) : wnn_fail_memory(context->error);
}
