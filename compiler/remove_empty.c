// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, complete attributes, and what ops/check.c lets pass. Guarantees: no node takes or
// makes an operand without elements. What has none is a constant of no bytes; what is computed of nothing is
// what the sum or the product of nothing is. Backends never meet an empty operand, but for inputs and outputs
// of the graph.

#include "compiler/rewrite.h"

#include <math.h>

struct rewriter {
    struct pass_context *context;
    struct graph *graph;
    size_t before; // the node at hand; what is added comes before it
};

static bool is_empty(const struct operand *operand)
{
    return operand && wnn_shape_is_empty(&operand->type.shape);
}

static struct operand *make_scalar(const struct rewriter *r, WNNDataType type, WNNNumber value)
{
    const struct descriptor scalar = {type, {0, {0}}};
    struct constant *constant = wnn_constant_create(r->context->allocator, wnn_descriptor_bytes(&scalar));
    if (!constant)
        return NULL;
    wnn_number_store(wnn_number_convert(value, type), type, (void *)(uintptr_t)constant->data, 0);
    return wnn_graph_add_constant(r->graph, &scalar, constant);
}

// `in` broadcast to a type; NULL: no memory.
static struct operand *expand(const struct rewriter *r, struct operand *in, const struct descriptor *type)
{
    struct expand_attrs *attrs = in ? wnn_rewrite_attrs(r->graph, WNN_OP_expand) : NULL;
    if (!attrs || !wnn_rewrite_list(r->graph, &attrs->newShape, type->shape.dim, type->shape.rank))
        return NULL;
    struct node *node = wnn_rewrite_add(r->graph, WNN_OP_expand, in, type, attrs, r->before);
    return node ? node->out[0] : NULL;
}

// An operand whose elements are all the same.
static struct operand *fill(const struct rewriter *r, const struct descriptor *type, WNNNumber value)
{
    struct operand *scalar = make_scalar(r, type->type, value);
    return type->shape.rank == 0 ? scalar : expand(r, scalar, type);
}

static struct operand *zeros(const struct rewriter *r, const struct descriptor *type)
{
    return fill(r, type, wnnNumberInt64(0));
}

static struct operand *make_empty(const struct rewriter *r, const struct descriptor *type)
{
    struct constant *constant = wnn_constant_create(r->context->allocator, 0);
    return constant ? wnn_graph_add_constant(r->graph, type, constant) : NULL;
}

// The output becomes `value`.
static bool replace(const struct rewriter *r, struct node *node, struct operand *value)
{
    if (!value)
        return wnn_fail_memory(r->context->error);
    node->out[0]->link = value;
    return true;
}

// Convolutions of no input channels or pixels: the bias.
static struct operand *convolve_nothing(const struct rewriter *r, const struct node *node)
{
    const struct descriptor *type = &node->out[0]->type;
    bool transposed = node->op == WNN_OP_convTranspose2d;
    WNNInputOperandLayout layout = transposed ? ((const WNNConvTranspose2dOptions *)node->attrs)->inputLayout
                                              : ((const WNNConv2dOptions *)node->attrs)->inputLayout;
    struct operand *bias = node->in[2];
    if (!bias)
        return zeros(r, type);
    unsigned channel = layout == WNNInputOperandLayout_NHWC ? 3 : 1;
    struct descriptor image = {type->type, {4, {1, 1, 1, 1}}};
    image.shape.dim[channel] = bias->type.shape.dim[0];
    struct node *reshaped = wnn_rewrite_add_reshape(r->graph, bias, &image, r->before);
    return reshaped ? expand(r, reshaped->out[0], type) : NULL;
}

// Sums of no products are sums of one product of zeros: the last dimension of these inputs, from 0 to 1.
static bool contract_zeros(const struct rewriter *r, struct node *node, unsigned a, unsigned a_dim,
                           unsigned b, unsigned b_dim)
{
    struct descriptor first = node->in[a]->type, second = node->in[b]->type;
    first.shape.dim[a_dim] = second.shape.dim[b_dim] = 1;
    node->in[a] = zeros(r, &first);
    node->in[b] = zeros(r, &second);
    return (node->in[a] && node->in[b]) || wnn_fail_memory(r->context->error);
}

static bool contract_gemm(const struct rewriter *r, struct node *node)
{
    const WNNGemmOptions *options = node->attrs;
    return contract_zeros(r, node, 0, !options->aTranspose, 1, options->bTranspose);
}

static void drop_empty_inputs(struct node *node)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < node->in_count; i++)
        if (!is_empty(node->in[i]))
            node->in[kept++] = node->in[i];
    node->in_count = kept;
}

// The empty outputs of split become constants, and it has the others.
static bool drop_empty_outputs(const struct rewriter *r, struct node *node)
{
    struct split_attrs *attrs = node->attrs;
    uint32_t *sizes =
        wnn_arena_copy(&r->graph->arena, attrs->sizes.data, attrs->sizes.count * sizeof attrs->sizes.data[0]);
    if (!sizes)
        return wnn_fail_memory(r->context->error);
    unsigned kept = 0;
    for (unsigned i = 0; i < node->out_count; i++) {
        struct operand *out = node->out[i];
        if (is_empty(out)) {
            out->link = make_empty(r, &out->type);
            if (!out->link)
                return wnn_fail_memory(r->context->error);
            out->producer = NULL;
            continue;
        }
        sizes[kept] = sizes[i];
        out->output = kept;
        node->out[kept++] = out;
    }
    node->out_count = kept;
    attrs->sizes = (WNNUint32List){sizes, kept};
    return true;
}

// What there is to compute of operands without elements.
static bool compute_of_nothing(const struct rewriter *r, struct node *node)
{
    const struct descriptor *type = &node->out[0]->type;
    switch (node->op) {
    case WNN_OP_concat:
        drop_empty_inputs(node);
        return true;
    case WNN_OP_scatterElements:
    case WNN_OP_scatterND: // no updates
        return replace(r, node, node->in[0]);
    case WNN_OP_pad:
        return replace(r, node, fill(r, type, ((const struct pad_attrs *)node->attrs)->options.value));
    case WNN_OP_reduceSum:
    case WNN_OP_reduceSumSquare:
    case WNN_OP_reduceL1:
    case WNN_OP_reduceL2:
    case WNN_OP_matmul:
        return replace(r, node, zeros(r, type));
    case WNN_OP_reduceProduct:
        return replace(r, node, fill(r, type, wnnNumberInt64(1)));
    case WNN_OP_reduceLogSum:
    case WNN_OP_reduceLogSumExp:
        return replace(r, node, fill(r, type, wnnNumberFloat64(-(double)INFINITY)));
    case WNN_OP_gemm:
        return contract_gemm(r, node);
    case WNN_OP_conv2d:
    case WNN_OP_convTranspose2d:
        return replace(r, node, convolve_nothing(r, node));
    case WNN_OP_gru:
    case WNN_OP_lstm:
        return contract_zeros(r, node, 0, 2, 1, 2);
    case WNN_OP_gruCell:
    case WNN_OP_lstmCell:
        return contract_zeros(r, node, 0, 1, 1, 1);
    default:
        return wnn_fail(r->context->error, WNNStatus_UnknownError, "%s of an operand without elements",
                        wnn_ops[node->op].name);
    }
}

static bool rewrite(const struct rewriter *r, struct node *node)
{
    unsigned empty_in = 0, empty_out = 0;
    for (unsigned i = 0; i < node->out_count; i++)
        empty_out += is_empty(node->out[i]);
    if (empty_out == node->out_count) {
        for (unsigned i = 0; i < node->out_count; i++) {
            node->out[i]->link = make_empty(r, &node->out[i]->type);
            if (!node->out[i]->link)
                return wnn_fail_memory(r->context->error);
        }
        return true;
    }
    if (empty_out)
        return drop_empty_outputs(r, node);
    for (unsigned i = 0; i < node->in_count; i++)
        empty_in += is_empty(node->in[i]);
    return !empty_in || compute_of_nothing(r, node);
}

bool wnn_remove_empty(struct pass_context *context, struct graph *graph)
{
    size_t old_count = graph->node_count, first = 0;
    while (first < graph->operand_count && !is_empty(graph->operands[first]))
        first++;
    if (first == graph->operand_count)
        return true;
    bool done = true;
    for (size_t i = 0; done && i < old_count; i++) {
        struct rewriter rewriter = {context, graph, i};
        done = rewrite(&rewriter, graph->nodes[i]);
    }
    if (!done || !wnn_rewrite_order(context, graph, old_count))
        return false;
    wnn_graph_rewire(graph, NULL);
    return wnn_prune(context, graph);
}
