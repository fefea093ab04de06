// SPDX-License-Identifier: Apache-2.0
//
// The invariants of a graph, as one rule a thing. Every operator's rule is its own inference: what it infers
// from the node's inputs and attributes has to be what the outputs are.

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
    for (unsigned j = 0; j < wnn_operand_count(node); j++) {
        const struct operand *in = node->in[j];
        if (!in)
            continue;
        if (!belongs(graph, in))
            return broken(pass, error, "a node has an input of no graph", i);
        if (in->producer && in->producer->index >= i)
            return broken(pass, error, "a node stands before the producer of its input", i);
    }
    for (unsigned j = 0; j < node->out_count; j++)
        if (!belongs(graph, node->out[j]) || node->out[j]->producer != node || node->out[j]->output != j)
            return broken(pass, error, "a node's output does not know it", i);
    return true;
}

// What is fused, as the elementwise operator that it is: value 0 is of the type `from`, the result of *type.
static bool infer_fused(const struct node *node, const struct expression *fused, struct arena *arena,
                        const struct descriptor *from, struct descriptor *type, struct error *error)
{
    struct error inner = {0};
    const WNNLimits none = {.acceptEmptyTensors = true};
    struct operand value = {.type = *from};
    struct elementwise_attrs attrs = {.steps = fused->steps, .count = fused->count};
    struct operand **in = wnn_arena_allocate(arena, (fused->operand_count + 1) * sizeof in[0]);
    if (!in)
        return wnn_fail_memory(error);
    if (fused->first < node->in_count || fused->first + fused->operand_count > wnn_operand_count(node))
        return false;
    in[0] = &value;
    for (unsigned i = 0; i < fused->operand_count; i++) {
        in[i + 1] = node->in[fused->first + i];
        if (!in[i + 1])
            return false;
    }
    struct op_call call = {.op = WNN_OP_elementwise,
                           .info = &wnn_ops[WNN_OP_elementwise],
                           .in = in,
                           .in_count = fused->operand_count + 1,
                           .attrs = &attrs,
                           .arena = arena,
                           .limits = &none,
                           .error = &inner};
    if (!call.info->infer(&call) || call.out_count != 1)
        return inner.status == WNNStatus_OutOfMemory && wnn_fail_memory(error);
    *type = call.out[0];
    return true;
}

// The types of the inputs become those that the operator takes, *out the one that it makes. False: it does
// not fit, or an error.
static bool take_fused(const struct node *node, struct arena *arena, struct operand **in,
                       struct descriptor *out, struct error *error)
{
    for (const struct expression *f = node->fused; f; f = f->next) {
        bool output = f->at == WNN_AT_OUTPUT;
        if (wnn_fused(node, f->at) != f || f->count == 0 ||
            (!output && (f->at >= node->in_count || !in[f->at])))
            return false;
        // Steps may see a result in another shape of as many elements.
        const struct shape *shape = &f->steps[f->count - 1].type.shape;
        struct descriptor from = {f->from, output ? *shape : in[f->at]->type.shape}, type;
        if (!infer_fused(node, f, arena, &from, &type, error) || !wnn_shape_equal(&type.shape, &from.shape) ||
            (output ? type.type != out->type || wnn_shape_elements(shape) != wnn_shape_elements(&out->shape)
                    : f->from != in[f->at]->type.type))
            return false;
        if (output) {
            out->type = f->from;
            continue;
        }
        in[f->at] = wnn_arena_copy(arena, in[f->at], sizeof **in);
        if (!in[f->at])
            return wnn_fail_memory(error);
        in[f->at]->type.type = type.type;
    }
    return true;
}

// Constant weights and biases of float16 nodes may be float32 (backend.wide_weights).
static bool take_wide(const struct node *node, struct arena *arena, struct operand **in)
{
    if ((node->op != WNN_OP_conv2d && node->op != WNN_OP_convTranspose2d && node->op != WNN_OP_gemm &&
         node->op != WNN_OP_matmul) ||
        in[0]->type.type != WNNDataType_Float16)
        return true;
    for (unsigned i = 1; i < node->in_count && i < 3; i++) {
        if (!in[i] || !in[i]->constant || in[i]->type.type != WNNDataType_Float32)
            continue;
        in[i] = wnn_arena_copy(arena, in[i], sizeof *in[i]);
        if (!in[i])
            return false;
        in[i]->type.type = WNNDataType_Float16;
    }
    return true;
}

static bool verify_inference(const struct node *node, struct arena *arena, const char *pass,
                             struct error *error)
{
    struct operand **in = wnn_arena_copy(arena, node->in, node->in_count * sizeof in[0]);
    struct descriptor first = node->out_count ? node->out[0]->type : (struct descriptor){0};
    if (!in)
        return wnn_fail_memory(error);
    if (!take_fused(node, arena, in, &first, error))
        return broken(pass, error, "a node has something fused that does not fit", node->index);
    if (!take_wide(node, arena, in))
        return wnn_fail_memory(error);
    struct error inner = {0};
    const WNNLimits none = {.acceptEmptyTensors = true};
    struct descriptor out[3] = {{0}};
    struct op_call call = {.op = (enum op)node->op,
                           .info = &wnn_ops[node->op],
                           .in = in,
                           .in_count = node->in_count,
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
        return inner.status == WNNStatus_OutOfMemory
                   ? wnn_fail_memory(error)
                   : wnn_fail(error, WNNStatus_UnknownError, "after %s: %s", pass, inner.message);
    if (call.out_count != node->out_count)
        return broken(pass, error, "a node has the wrong number of outputs", node->index);
    for (unsigned i = 0; i < node->out_count; i++)
        if (!wnn_descriptor_equal(&call.out[i], i ? &node->out[i]->type : &first))
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
