// SPDX-License-Identifier: Apache-2.0
//
// The invariants of a graph, as one rule a thing. Every operator's rule is its own inference: what it infers from the
// node's inputs and attributes has to be what the outputs are.

#include "compiler/compile.h"

#include <string.h>

static bool broken(const char *pass, struct error *error, const char *what, size_t index)
{
    return wnn_fail(error, WNNStatus_UnknownError, "after %s: %s (%zu)", pass, what, index);
}

static bool verify_operand(const struct graph *graph, size_t i, const char *pass, struct error *error)
{
    const struct operand *operand = graph->operands[i];
    if (operand->index != i)
        return broken(pass, error, "an operand has the wrong index", i);
    if (operand->link)
        return broken(pass, error, "an operand has a link left", i);
    if (operand->input + (operand->constant != NULL) + (operand->producer != NULL) != 1)
        return broken(pass, error, "an operand is not exactly one of input, constant and result", i);
    if (operand->constant && operand->constant->bytes != wnn_descriptor_bytes(&operand->type))
        return broken(pass, error, "a constant has the wrong number of bytes", i);
    return true;
}

static bool belongs(const struct graph *graph, const struct operand *operand)
{
    return operand->index < graph->operand_count && graph->operands[operand->index] == operand;
}

static bool verify_ends(const struct graph *graph, size_t i, const char *pass, struct error *error)
{
    const struct node *node = graph->nodes[i];
    if (node->index != i)
        return broken(pass, error, "a node has the wrong index", i);
    for (unsigned j = 0; j < node->in_count; j++) {
        const struct operand *in = node->in[j];
        if (!in)
            continue;
        if (!belongs(graph, in))
            return broken(pass, error, "a node has an input of no graph", i);
        if (in->producer && in->producer->index >= i)
            return broken(pass, error, "a node stands before the producer of its input", i);
    }
    if (node->addend && (node->addend + 1 != node->in_count || !node->in[node->addend] ||
                         !wnn_descriptor_equal(&node->in[node->addend]->type, &node->out[0]->type)))
        return broken(pass, error, "a node's addend is not its last input, or of another type than its output", i);
    for (unsigned j = 0; j < node->out_count; j++)
        if (!belongs(graph, node->out[j]) || node->out[j]->producer != node || node->out[j]->output != j)
            return broken(pass, error, "a node's output does not know it", i);
    return true;
}

static bool verify_inference(const struct node *node, struct arena *arena, const char *pass, struct error *error)
{
    struct error inner = {0};
    WNNLimits none = {0};
    struct descriptor out[3] = {{0}};
    struct op_call call = {.op = (enum op)node->op,
                           .info = &wnn_ops[node->op],
                           .in = node->in,
                           .in_count = node->addend ? node->addend : node->in_count,
                           .attrs = wnn_op_copy_attrs(arena, (enum op)node->op, node->attrs),
                           .out = out,
                           .out_count = 1,
                           .out_capacity = 3,
                           .arena = arena,
                           .limits = &none,
                           .error = &inner};
    if (!call.attrs)
        return wnn_fail_memory(error);
    if (!call.info->infer(&call))
        return wnn_fail(error, WNNStatus_UnknownError, "after %s: %s", pass, inner.message);
    if (call.out_count != node->out_count)
        return broken(pass, error, "a node has the wrong number of outputs", node->index);
    for (unsigned i = 0; i < node->out_count; i++)
        if (!wnn_descriptor_equal(&call.out[i], &node->out[i]->type))
            return broken(pass, error, "a node's output is not what its operator infers", node->index);
    return true;
}

bool wnn_verify(const struct graph *graph, const char *pass, struct error *error)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        if (!verify_operand(graph, i, pass, error))
            return false;
    struct arena arena;
    wnn_arena_init(&arena, graph->arena.allocator);
    bool sound = true;
    for (size_t i = 0; sound && i < graph->node_count; i++) {
        sound = verify_ends(graph, i, pass, error) && verify_inference(graph->nodes[i], &arena, pass, error);
        wnn_arena_rewind(&arena, (struct arena_mark){NULL, 0});
    }
    wnn_arena_free(&arena);
    for (size_t i = 0; sound && i < graph->input_count; i++)
        if (!belongs(graph, graph->inputs[i].operand) || !graph->inputs[i].operand->input)
            sound = broken(pass, error, "an input port has no input", i);
    for (size_t i = 0; sound && i < graph->output_count; i++)
        if (!belongs(graph, graph->outputs[i].operand))
            sound = broken(pass, error, "an output port has an operand of no graph", i);
    return sound;
}
