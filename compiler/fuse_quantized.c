// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, activations fused. Guarantees: products read quantized weights as they lie, not
// transposed. Where the backend can, a node reads the integers that dequantizeLinear would turn into its
// inputs, and writes those that the only quantizeLinear behind it would make of its result; else only the
// quantized weights of a product are left as they are.
//
// What a backend computes then is the same in real numbers, and rounded less often: of a number that is
// quantized it may be one step off where the result of the separate operators lies within their tolerances of
// the middle between two.

#include "compiler/fuse.h"

#include <string.h>

// What is known of scales, by operand, so that those of many nodes are looked at once.
struct scales {
    struct pass_context *context;
    struct graph *graph;
    struct node **quantizer; // by operand: the node that quantizes it and is its only use
    unsigned char *known;    // by operand: 1 + its use with a zero point that is constant, 0: not looked at
    bool all;                // not only weights can be integers
};

static bool is_scale(struct scales *scales, const struct operand *scale, const struct operand *zero_point,
                     enum scale_use least)
{
    unsigned char *known = &scales->known[scale->index];
    if (!*known)
        *known = (unsigned char)(1 + wnn_rewrite_scale_use(scale, zero_point));
    return *known > least && zero_point->constant && wnn_dtype_bits(zero_point->type.type) <= 8;
}

// The scale of the dequantizeLinear in front of an input.
static bool is_input_scale(struct scales *scales, const struct node *node, unsigned input,
                           const struct node *before, enum scale_use least)
{
    const struct operand *scale = before->in[1], *zero_point = before->in[2];
    return zero_point->constant ? is_scale(scales, scale, zero_point, least)
                                : wnn_rewrite_input_scale_use(node, input, scale, zero_point) >= least;
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
    const uint32_t *permutation = wnn_rewrite_order_of(transpose).data;
    return transpose->in[0]->type.shape.rank == 2 && permutation[0] == 1;
}

// The rows of all matrices of x, one below the other, and back.
static bool flatten(struct graph *graph, struct node *matmul)
{
    struct operand *x = matmul->in[0], *result = matmul->out[0];
    uint32_t inner = x->type.shape.dim[x->type.shape.rank - 1];
    uint32_t rows = (uint32_t)(wnn_shape_elements(&x->type.shape) / inner);
    struct descriptor flat = {x->type.type, {2, {rows, inner}}};
    struct node *before = wnn_rewrite_add_reshape(graph, x, &flat, matmul->index);
    flat.shape.dim[1] = result->type.shape.dim[result->type.shape.rank - 1];
    struct operand *product = wnn_graph_add_operand(graph, &flat);
    struct node *after =
        product ? wnn_rewrite_add_reshape(graph, product, &result->type, matmul->index + 1u) : NULL;
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
    if (!transpose || transpose->op != WNN_OP_transpose || !exchanges_two(transpose))
        return true;
    struct node *weights = dequantize_before(transpose, 0);
    if (!weights || !weights->in[0]->constant || node->in[0]->constant)
        return true;
    WNNGemmOptions *attrs = node->attrs;
    if (node->op == WNN_OP_matmul) {
        attrs = wnn_rewrite_attrs(graph, WNN_OP_gemm);
        if (!attrs || !wnn_fuse_widen(graph, node, 3) ||
            (node->in[0]->type.shape.rank > 2 && !flatten(graph, node)))
            return wnn_fail_memory(context->error);
        node->op = WNN_OP_gemm;
        node->attrs = attrs;
    }
    node->in[1] = weights->out[0];
    attrs->bTranspose = !attrs->bTranspose;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Fusing
// ---------------------------------------------------------------------------------------------------------------

// The most inputs that are looked at.
#define MAX_INPUTS 31

// Fuses a node with the dequantizeLinear in front of the inputs of `inputs`, by bit, and the quantizeLinear
// behind its output, if there is one.
static bool try(struct scales *scales, struct node *node, uint32_t inputs, struct node *quantize, bool *done)
{
    struct fusion fusions[MAX_INPUTS + 1];
    unsigned count = 0;
    if (quantize)
        fusions[count++] = (struct fusion){WNN_AT_OUTPUT, quantize, quantize->in[0]};
    for (unsigned i = 0; i < MAX_INPUTS; i++)
        if (inputs >> i & 1)
            fusions[count++] = (struct fusion){i, node->in[i]->producer, node->in[i]->producer->in[0]};
    if (!wnn_fuse(scales->context, scales->graph, node, count, fusions, done))
        return false;
    if (*done && quantize)
        wnn_rewrite_take_over(node, quantize);
    return true;
}

static bool is_product(const struct node *node)
{
    return node->op == WNN_OP_gemm || node->op == WNN_OP_matmul || node->op == WNN_OP_conv2d ||
           node->op == WNN_OP_convTranspose2d;
}

// Says what became of a product whose weights dequantizeLinear makes.
static void explain(struct scales *scales, const struct node *node, bool done)
{
    const struct node *before = is_product(node) ? dequantize_before(node, 1) : NULL;
    if (!scales->context->explainer || (!before && !done) || !is_product(node))
        return;
    const char *reason = "the backend has no kernel for it as it stands";
    if (before && !before->in[0]->constant && !scales->all)
        reason = "its second operand is not constant";
    else if (before && !is_scale(scales, before->in[1], before->in[2], SCALE_OF_WEIGHTS))
        reason = "scales or zero points are not constant, or have more than 8 bits";
    wnn_explain(scales->context->explainer, "fuse_quantized", "product of integers", node->out[0],
                done ? NULL : reason);
}

static bool fuse(struct scales *scales, struct node *node, bool *done)
{
    struct node *quantize = scales->quantizer[node->out[0]->index];
    uint32_t inputs = 0,
             weights = 0; // that can be integers; the weights of a product are whatever their scales are
    for (unsigned i = 0; i < node->in_count && i < MAX_INPUTS; i++) {
        const struct node *before = dequantize_before(node, i);
        if (scales->all && before && is_input_scale(scales, node, i, before, SCALE_BOTH_WAYS))
            inputs |= 1u << i;
        else if (before && i == 1 && (node->op == WNN_OP_gemm || node->op == WNN_OP_matmul) &&
                 before->in[0]->constant && is_scale(scales, before->in[1], before->in[2], SCALE_OF_WEIGHTS))
            weights = 2;
    }
    if (node->out_count != 1)
        return true;
    if (weights)
        return try(scales, node, weights, NULL, done);
    if (!inputs)
        return true;
    if (quantize && !try(scales, node, inputs, quantize, done))
        return false;
    if (!*done && !try(scales, node, inputs, NULL, done))
        return false;
    return *done || inputs == 2 || !(inputs & 2) || try(scales, node, 2, NULL, done);
}

static bool fuse_all(struct scales *scales)
{
    struct graph *graph = scales->graph;
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        if (node->op == WNN_OP_quantizeLinear && node->in[0]->uses == 1 &&
            is_scale(scales, node->in[1], node->in[2], SCALE_BOTH_WAYS))
            scales->quantizer[node->in[0]->index] = node;
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        bool done = false;
        if (graph->nodes[i]->in_count == 0)
            continue;
        if (!fuse(scales, graph->nodes[i], &done))
            return false;
        explain(scales, graph->nodes[i], done);
    }
    return true;
}

bool wnn_fuse_quantized(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    if (!wnn_rewrite_has(graph, WNN_OP_dequantizeLinear))
        return true;
    for (size_t i = 0; i < count; i++)
        if (!use_transposed_weights(context, graph, graph->nodes[i]))
            return false;
    if (!wnn_rewrite_order(context, graph, count))
        return false;
    wnn_graph_rewire(graph, NULL);
    if (!wnn_prune(context, graph))
        return false;

    if (!context->backend->supports_quantized && !context->backend->quantized_weights)
        return true;
    wnn_graph_count_uses(graph);
    struct scales scales = {
        context, graph,
        wnn_allocate_zero(context->allocator, graph->operand_count * sizeof scales.quantizer[0]),
        wnn_allocate_zero(context->allocator, graph->operand_count), context->backend->supports_quantized};
    bool done = (scales.quantizer && scales.known) || wnn_fail_memory(context->error);
    done = done && fuse_all(&scales);
    wnn_release(context->allocator, scales.known);
    wnn_release(context->allocator, scales.quantizer);
    return done && wnn_prune(context, graph);
}
