// SPDX-License-Identifier: Apache-2.0
#include "compiler/fuse.h"

#include <string.h>

// The operands and steps of a chain.
struct chain {
    struct operand *in[WNN_ELEMENTWISE_INPUTS];
    unsigned in_count, count;
    const struct elementwise_step *steps;
    struct elementwise_step single; // of a node that is one operator
};

static void describe_chain(const struct node *node, struct chain *chain)
{
    *chain = (struct chain){0};
    if (node->op == WNN_OP_elementwise) {
        const struct elementwise_attrs *attrs = node->attrs;
        chain->in_count = node->in_count;
        memcpy(chain->in, node->in, node->in_count * sizeof chain->in[0]);
        chain->count = attrs->count;
        chain->steps = attrs->steps;
        return;
    }
    chain->single = (struct elementwise_step){.op = node->op,
                                              .in_count = (uint8_t)node->in_count,
                                              .attrs = node->attrs,
                                              .type = node->out[0]->type};
    for (unsigned i = 0; i < node->in_count; i++) {
        unsigned value = 0;
        while (value < chain->in_count && chain->in[value] != node->in[i])
            value++;
        if (value == chain->in_count)
            chain->in[chain->in_count++] = node->in[i];
        chain->single.in[i] = (uint8_t)value;
    }
    chain->count = 1;
    chain->steps = &chain->single;
}

static const struct shape *shape_of(const struct elementwise_step *steps, unsigned count)
{
    return &steps[count - 1].type.shape;
}

// Steps without operands can have any shape; those with operands see them in theirs.
static bool fits_behind(const struct expression *old, const struct chain *chain)
{
    return old->operand_count + chain->in_count <= WNN_ELEMENTWISE_INPUTS &&
           old->count + chain->count <= WNN_ELEMENTWISE_STEPS &&
           (old->operand_count == 0 || chain->in_count == 1 ||
            wnn_shape_equal(shape_of(old->steps, old->count), shape_of(chain->steps, chain->count)));
}

// The number of value `v` of the chain behind `old`.
static uint8_t renumbered(const struct expression *old, const struct chain *chain, unsigned first, unsigned v)
{
    unsigned results = old->operand_count + chain->in_count + old->count; // of the chain begin there
    if (v == first)
        return (uint8_t)(old->count ? results - 1 : 0);
    return (uint8_t)(v >= chain->in_count ? results + v - chain->in_count
                                          : old->operand_count + (v < first ? v + 1 : v));
}

// A sum takes the value before first, which is how wnn_epilogue and readers expect it.
static void put_first(struct elementwise_step *step, unsigned before)
{
    if (step->op == WNN_OP_add && step->in[1] == before) {
        step->in[1] = step->in[0];
        step->in[0] = (uint8_t)before;
    }
}

// The steps of `old`, which may have none, and those of the chain behind them. NULL: out of memory.
static struct elementwise_step *join(struct arena *arena, const struct expression *old,
                                     const struct chain *chain, unsigned first)
{
    unsigned count = old->count + chain->count;
    struct elementwise_step *steps = wnn_arena_allocate(arena, count * sizeof steps[0]);
    for (unsigned i = 0; steps && i < count; i++) {
        bool is_old = i < old->count;
        steps[i] = is_old ? old->steps[i] : chain->steps[i - old->count];
        steps[i].output = i + 1 == count ? 0 : WNN_NO_OUTPUT;
        for (unsigned j = 0; j < steps[i].in_count; j++) {
            uint8_t *v = &steps[i].in[j];
            *v = !is_old                   ? renumbered(old, chain, first, *v)
                 : *v > old->operand_count ? (uint8_t)(*v + chain->in_count - 1)
                                           : *v;
        }
        put_first(&steps[i], i ? old->operand_count + chain->in_count + i - 1 : 0);
    }
    return steps;
}

// Gives steps without operands a shape of as many elements.
static void reshape(struct elementwise_step *steps, unsigned count, const struct shape *shape)
{
    for (unsigned i = 0; i < count; i++)
        steps[i].type.shape = *shape;
}

// The node with the chain fused, in arrays of its own. False: out of memory.
static bool extend(struct arena *arena, struct node *node, const struct fusion *fusion,
                   const struct chain *chain)
{
    bool output = fusion->at == WNN_AT_OUTPUT;
    unsigned rows = wnn_op_input_rows(&wnn_ops[node->op]), end = wnn_operand_count(node);
    // The operator's own inputs are complete, so that kernels find what follows behind them.
    unsigned begin = end > rows ? end : rows;
    const struct expression *old = wnn_fused(node, fusion->at);
    struct expression *fused = wnn_arena_allocate(arena, sizeof *fused);
    struct operand **in = wnn_arena_allocate(arena, (begin + chain->in_count) * sizeof in[0]);
    if (!fused || !in)
        return false;
    *fused = old ? *old
                 : (struct expression){.next = node->fused,
                                       .at = fusion->at,
                                       .from = output ? node->out[0]->type.type : fusion->element->type.type,
                                       .first = begin};
    unsigned first = 0;
    while (chain->in[first] != fusion->element)
        first++;
    struct elementwise_step *steps = join(arena, fused, chain, first);
    if (!steps)
        return false;
    struct shape shape = chain->in_count > 1    ? *shape_of(chain->steps, chain->count)
                         : fused->operand_count ? *shape_of(fused->steps, fused->count)
                                                : node->out[0]->type.shape;
    if (output && fused->operand_count == 0)
        reshape(steps, fused->count, &shape);
    if (output && chain->in_count == 1)
        reshape(steps + fused->count, chain->count, &shape);
    fused->operand_count += chain->in_count - 1;
    fused->count += chain->count;
    fused->steps = steps;
    memcpy(in, node->in, end * sizeof in[0]);
    for (unsigned i = 0; i < chain->in_count; i++)
        if (i != first)
            in[begin++] = chain->in[i];
    if (!output)
        in[fusion->at] = chain->in[first];
    node->in_count = node->in_count > rows ? node->in_count : rows;
    node->in = in;
    node->fused = fused;
    return true;
}

bool wnn_fuse(struct pass_context *context, struct graph *graph, struct node *node, unsigned count,
              const struct fusion *fusions, bool *done)
{
    const struct node before = *node;
    struct operand *result = node->out[0];
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    bool fits = true, enough = true;
    for (unsigned i = 0; fits && enough && i < count; i++) {
        struct chain chain;
        describe_chain(fusions[i].chain, &chain);
        const struct expression *old = wnn_fused(node, fusions[i].at);
        // Operands are added behind the last ones.
        fits = !old || (old == node->fused && fusions[i].at == WNN_AT_OUTPUT && fits_behind(old, &chain));
        enough = !fits || extend(&graph->arena, node, &fusions[i], &chain);
        struct operand *made = fusions[i].chain->out[0];
        if (fusions[i].at == WNN_AT_OUTPUT && made->type.type != result->type.type)
            node->out[0] = made;
    }
    *done = fits && enough && context->backend->can_fuse(context->state, node);
    node->out[0] = result;
    if (*done)
        return true;
    *node = before;
    wnn_arena_rewind(&graph->arena, mark);
    return enough || wnn_fail_memory(context->error);
}

bool wnn_fuse_widen(struct graph *graph, struct node *node, unsigned in_count)
{
    unsigned own = node->in_count, end = wnn_operand_count(node), more = in_count - own;
    struct operand **in = wnn_arena_allocate(&graph->arena, (end + more) * sizeof in[0]);
    if (!in)
        return false;
    memcpy(in, node->in, own * sizeof in[0]);
    memcpy(in + in_count, node->in + own, (end - own) * sizeof in[0]);
    const struct expression **link = &node->fused;
    for (const struct expression *f = node->fused; f; f = f->next) {
        struct expression *moved = wnn_arena_copy(&graph->arena, f, sizeof *f);
        if (!moved)
            return false;
        moved->first += more;
        *link = moved;
        link = &moved->next;
    }
    node->in = in;
    node->in_count = in_count;
    return true;
}
