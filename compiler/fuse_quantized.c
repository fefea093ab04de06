// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, activations fused. Guarantees: where the backend can, a node reads the integers
// that dequantizeLinear would turn into its inputs, and writes those that the only quantizeLinear behind it
// would make of its result; else only the quantised weights of a product are left as they are.
//
// What a backend computes then is the same in real numbers, and rounded less often: of a number that is
// quantised it may be one step off where the result of the separate operators lies within their tolerances of
// the middle between two.

#include "compiler/rewrite.h"

#include <string.h>

// What is known of scales, by operand, so that those of many nodes are looked at once.
struct fusion {
    struct pass_context *context;
    struct graph *graph;
    struct node **quantizer; // by operand: the node that quantises it and is its only use
    unsigned char *known;    // by operand: 1 a scale, 2 none
};

static bool is_scale(struct fusion *fusion, const struct operand *scale, const struct operand *zero_point)
{
    unsigned char *known = &fusion->known[scale->index];
    if (!*known)
        *known = wnn_rewrite_is_scale(scale, zero_point) ? 1 : 2;
    return *known == 1 && zero_point->constant && wnn_dtype_bits(zero_point->type.type) <= 8;
}

static struct node *dequantize_before(const struct node *node, unsigned i)
{
    struct node *before = node->in[i] ? node->in[i]->producer : NULL;
    return before && before->op == WNN_OP_dequantizeLinear ? before : NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Transposed weights: matmul(x, transpose(dequantizeLinear(w))) is gemm(x, dequantizeLinear(w), bTranspose)
// ---------------------------------------------------------------------------------------------------------------

static bool exchanges_two(const struct node *transpose)
{
    const uint32_t *permutation = ((const WNNTransposeOptions *)transpose->attrs)->permutation.data;
    return transpose->in[0]->type.shape.rank == 2 && permutation[0] == 1;
}

static struct node *add_reshape(struct graph *graph, struct operand *in, const struct descriptor *out,
                                size_t before)
{
    struct expand_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_reshape);
    if (!attrs || !wnn_rewrite_list(graph, &attrs->newShape, out->shape.dim, out->shape.rank))
        return NULL;
    return wnn_rewrite_add(graph, WNN_OP_reshape, in, out, attrs, before);
}

// The rows of all matrices of x, one below the other, and back.
static bool flatten(struct graph *graph, struct node *matmul)
{
    struct operand *x = matmul->in[0], *result = matmul->out[0];
    uint32_t inner = x->type.shape.dim[x->type.shape.rank - 1];
    uint32_t rows = (uint32_t)(wnn_shape_elements(&x->type.shape) / inner);
    struct descriptor flat = {x->type.type, {2, {rows, inner}}};
    struct node *before = add_reshape(graph, x, &flat, matmul->index);
    flat.shape.dim[1] = result->type.shape.dim[result->type.shape.rank - 1];
    struct operand *product = wnn_graph_add_operand(graph, &flat);
    struct node *after = product ? add_reshape(graph, product, &result->type, matmul->index + 1u) : NULL;
    if (!before || !after)
        return false;
    struct operand *unused = after->out[0]; // what is made with the node; the node writes what was asked for
    matmul->in[0] = before->out[0];
    matmul->out[0] = product;
    product->producer = matmul;
    after->out[0] = result;
    result->producer = after;
    unused->producer = NULL;
    return true;
}

static bool use_transposed_weights(struct pass_context *context, struct graph *graph, struct node *node)
{
    struct node *transpose =
        node->op == WNN_OP_gemm || node->op == WNN_OP_matmul ? node->in[1]->producer : NULL;
    if (!transpose || transpose->op != WNN_OP_transpose || transpose->activation || !exchanges_two(transpose))
        return true;
    struct node *weights = dequantize_before(transpose, 0);
    if (!weights || !weights->in[0]->constant || node->in[0]->constant)
        return true;
    WNNGemmOptions *attrs = node->attrs;
    if (node->op == WNN_OP_matmul) {
        struct operand **in = wnn_arena_allocate(&graph->arena, 3 * sizeof in[0]);
        attrs = wnn_rewrite_attrs(graph, WNN_OP_gemm);
        if (!in || !attrs || (node->in[0]->type.shape.rank > 2 && !flatten(graph, node)))
            return wnn_fail_memory(context->error);
        in[0] = node->in[0];
        node->op = WNN_OP_gemm;
        node->attrs = attrs;
        node->in = in;
        node->in_count = 3;
    }
    node->in[1] = weights->out[0];
    attrs->bTranspose = !attrs->bTranspose;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Fusing
// ---------------------------------------------------------------------------------------------------------------

// `node` with the inputs of `quantized` read as integers, and, with a `quantize`, its output written as such.
// NULL when memory runs out.
static struct node *quantized_form(struct graph *graph, const struct node *node, uint32_t quantized,
                                   const struct node *quantize)
{
    struct node *made = wnn_arena_copy(&graph->arena, node, sizeof *node);
    unsigned count = node->in_count;
    if (quantize)
        quantized |= 1u << WNN_QUANTIZED_OUTPUT;
    struct operand **in = wnn_arena_allocate(
        &graph->arena, (count + 2 * (unsigned)__builtin_popcount(quantized)) * sizeof in[0]);
    struct operand **out = wnn_arena_copy(&graph->arena, node->out, sizeof out[0]);
    if (!made || !in || !out)
        return NULL;
    memcpy(in, node->in, count * sizeof in[0]);
    for (unsigned i = 0; i < WNN_QUANTIZED_OUTPUT; i++) {
        if (!(quantized >> i & 1))
            continue;
        const struct node *before = node->in[i]->producer;
        in[i] = before->in[0];
        in[count++] = before->in[1];
        in[count++] = before->in[2];
    }
    if (quantize) {
        out[0] = quantize->out[0];
        in[count++] = quantize->in[1];
        in[count++] = quantize->in[2];
    }
    made->quantized = quantized;
    made->in = in;
    made->in_count = count;
    made->out = out;
    return made;
}

static bool try(struct pass_context *context, struct graph *graph, struct node *node, uint32_t quantized,
                struct node *quantize, bool *done)
{
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    struct node *made = quantized_form(graph, node, quantized, quantize);
    if (!made)
        return wnn_fail_memory(context->error);
    *done = context->backend->quantized(context->state, made);
    if (!*done) {
        wnn_arena_rewind(&graph->arena, mark);
        return true;
    }
    node->quantized = made->quantized;
    node->in = made->in;
    node->in_count = made->in_count;
    if (quantize)
        wnn_rewrite_take_over(node, quantize);
    return true;
}

static bool fuse(struct fusion *fusion, struct node *node)
{
    struct node *quantize = fusion->quantizer[node->out[0]->index];
    uint32_t quantized = 0;
    bool done = false;
    for (unsigned i = 0; i < node->in_count && i < WNN_QUANTIZED_OUTPUT; i++) {
        const struct node *before = dequantize_before(node, i);
        if (before && is_scale(fusion, before->in[1], before->in[2]))
            quantized |= 1u << i;
    }
    if (!quantized || node->out_count != 1 || node->quantized || node->addend)
        return true;
    if (quantize && !try(fusion->context, fusion->graph, node, quantized, quantize, &done))
        return false;
    if (!done && !try(fusion->context, fusion->graph, node, quantized, NULL, &done))
        return false;
    return done || quantized == 2 || !(quantized & 2) ||
           try(fusion->context, fusion->graph, node, 2, NULL, &done);
}

static bool fuse_all(struct fusion *fusion)
{
    struct graph *graph = fusion->graph;
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        if (node->op == WNN_OP_quantizeLinear && node->in[0]->uses == 1 &&
            is_scale(fusion, node->in[1], node->in[2]))
            fusion->quantizer[node->in[0]->index] = node;
    }
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i]->in_count > 0 && !fuse(fusion, graph->nodes[i]))
            return false;
    return true;
}

bool wnn_fuse_quantized(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->quantized)
        return true;
    size_t count = graph->node_count;
    for (size_t i = 0; i < count; i++)
        if (!use_transposed_weights(context, graph, graph->nodes[i]))
            return false;
    if (!wnn_rewrite_order(context, graph, count))
        return false;
    wnn_graph_rewire(graph, NULL);
    if (!wnn_prune(context, graph))
        return false;

    wnn_graph_count_uses(graph);
    struct fusion fusion = {
        context, graph,
        wnn_allocate_zero(context->allocator, graph->operand_count * sizeof fusion.quantizer[0]),
        wnn_allocate_zero(context->allocator, graph->operand_count)};
    bool done = (fusion.quantizer && fusion.known) || wnn_fail_memory(context->error);
    done = done && fuse_all(&fusion);
    wnn_release(context->allocator, fusion.known);
    wnn_release(context->allocator, fusion.quantizer);
    return done && wnn_prune(context, graph);
}
