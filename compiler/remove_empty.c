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
    return wnn_rewrite_expand(r->graph, in, &type->shape, r->before);
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

// The output of that index becomes `value`; NULL: no memory.
static bool replace(const struct rewriter *r, struct node *node, unsigned output, struct operand *value)
{
    if (!value)
        return wnn_fail_memory(r->context->error);
    node->out[output]->link = value;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// What operators make of operands without elements. One function an operator that takes them (IN0 in
// ops/ops.def) or has some outputs without elements, which have become constants. False: out of memory.
// ---------------------------------------------------------------------------------------------------------------

static bool make_zeros(const struct rewriter *r, struct node *node)
{
    return replace(r, node, 0, zeros(r, &node->out[0]->type));
}

static bool make_ones(const struct rewriter *r, struct node *node)
{
    return replace(r, node, 0, fill(r, &node->out[0]->type, wnnNumberInt64(1)));
}

static bool make_logarithm_of_zero(const struct rewriter *r, struct node *node)
{
    return replace(r, node, 0, fill(r, &node->out[0]->type, wnnNumberFloat64(-(double)INFINITY)));
}

static bool make_padding(const struct rewriter *r, struct node *node)
{
    const struct pad_attrs *attrs = node->attrs;
    return replace(r, node, 0, fill(r, &node->out[0]->type, attrs->options.value));
}

// Of no input channels or pixels: the bias.
static bool convolve_nothing(const struct rewriter *r, struct node *node)
{
    const struct descriptor *type = &node->out[0]->type;
    bool transposed = node->op == WNN_OP_convTranspose2d;
    WNNInputOperandLayout layout = transposed ? ((const WNNConvTranspose2dOptions *)node->attrs)->inputLayout
                                              : ((const WNNConv2dOptions *)node->attrs)->inputLayout;
    struct operand *bias = node->in[2];
    if (!bias)
        return make_zeros(r, node);
    unsigned channel = layout == WNNInputOperandLayout_NHWC ? 3 : 1;
    struct descriptor image = {type->type, {4, {1, 1, 1, 1}}};
    image.shape.dim[channel] = bias->type.shape.dim[0];
    struct node *reshaped = wnn_rewrite_add_reshape(r->graph, bias, &image, r->before);
    return replace(r, node, 0, reshaped ? expand(r, reshaped->out[0], type) : NULL);
}

// Sums of no products are sums of one product of zeros: these dimensions of inputs 0 and 1, from 0 to 1.
static bool contract_zeros(const struct rewriter *r, struct node *node, unsigned a_dim, unsigned b_dim)
{
    struct descriptor first = node->in[0]->type, second = node->in[1]->type;
    first.shape.dim[a_dim] = second.shape.dim[b_dim] = 1;
    node->in[0] = zeros(r, &first);
    node->in[1] = zeros(r, &second);
    return (node->in[0] && node->in[1]) || wnn_fail_memory(r->context->error);
}

static bool contract_gemm(const struct rewriter *r, struct node *node)
{
    const WNNGemmOptions *options = node->attrs;
    return contract_zeros(r, node, !options->aTranspose, options->bTranspose);
}

static bool contract_cell(const struct rewriter *r, struct node *node)
{
    return contract_zeros(r, node, 1, 1);
}

// After no steps the states are as they were at first: inputs `state` and those that follow it, or zeros.
static bool run_network(const struct rewriter *r, struct node *node, unsigned state, unsigned states)
{
    if (node->in[0]->type.shape.dim[0] > 0)
        return contract_zeros(r, node, 2, 2);
    for (unsigned i = 0; i < states; i++) {
        struct operand *first = node->in[state + i];
        if (!replace(r, node, i, first ? first : zeros(r, &node->out[i]->type)))
            return false;
    }
    return true;
}

static bool run_gru(const struct rewriter *r, struct node *node)
{
    return run_network(r, node, 5, 1);
}

static bool run_lstm(const struct rewriter *r, struct node *node)
{
    return run_network(r, node, 6, 2);
}

static bool drop_empty_inputs(const struct rewriter *r, struct node *node)
{
    (void)r;
    unsigned kept = 0;
    for (unsigned i = 0; i < node->in_count; i++)
        if (!is_empty(node->in[i]))
            node->in[kept++] = node->in[i];
    node->in_count = kept;
    return true;
}

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

static bool keep_input(const struct rewriter *r, struct node *node)
{
    return replace(r, node, 0, node->in[0]);
}

// Coordinates of no items name all of the input.
static bool gather_all(const struct rewriter *r, struct node *node)
{
    return replace(r, node, 0, expand(r, node->in[0], &node->out[0]->type));
}

// Coordinates of no items name all of the input: it becomes the last of the updates, if there are any.
static bool scatter_all(const struct rewriter *r, struct node *node)
{
    const struct descriptor *type = &node->out[0]->type;
    const struct shape *indices = &node->in[1]->type.shape;
    struct operand *updates = node->in[2];
    if (is_empty(updates))
        return keep_input(r, node);
    struct shape last = updates->type.shape;
    uint32_t starts[WNN_MAX_RANK] = {0};
    for (unsigned i = 0; i + 1 < indices->rank; i++) {
        starts[i] = last.dim[i] - 1;
        last.dim[i] = 1;
    }
    updates = wnn_rewrite_slice(r->graph, updates, starts, &last, r->before);
    return replace(r, node, 0, wnn_rewrite_reshape(r->graph, updates, &type->shape, r->before));
}

static bool (*const rules[WNN_OP_END])(const struct rewriter *, struct node *) = {
    [WNN_OP_concat] = drop_empty_inputs,
    [WNN_OP_conv2d] = convolve_nothing,
    [WNN_OP_convTranspose2d] = convolve_nothing,
    [WNN_OP_gatherND] = gather_all,
    [WNN_OP_gemm] = contract_gemm,
    [WNN_OP_gru] = run_gru,
    [WNN_OP_gruCell] = contract_cell,
    [WNN_OP_l2Pool2d] = make_zeros,
    [WNN_OP_lstm] = run_lstm,
    [WNN_OP_lstmCell] = contract_cell,
    [WNN_OP_matmul] = make_zeros,
    [WNN_OP_pad] = make_padding,
    [WNN_OP_reduceL1] = make_zeros,
    [WNN_OP_reduceL2] = make_zeros,
    [WNN_OP_reduceLogSum] = make_logarithm_of_zero,
    [WNN_OP_reduceLogSumExp] = make_logarithm_of_zero,
    [WNN_OP_reduceProduct] = make_ones,
    [WNN_OP_reduceSum] = make_zeros,
    [WNN_OP_reduceSumSquare] = make_zeros,
    [WNN_OP_scatterElements] = keep_input,
    [WNN_OP_scatterND] = scatter_all,
    [WNN_OP_split] = drop_empty_outputs,
};

static bool rewrite(const struct rewriter *r, struct node *node)
{
    unsigned empty_in = 0, empty_out = 0;
    for (unsigned i = 0; i < node->out_count; i++)
        if (is_empty(node->out[i])) {
            empty_out++;
            if (!replace(r, node, i, make_empty(r, &node->out[i]->type)))
                return false;
        }
    if (empty_out == node->out_count)
        return true;
    for (unsigned i = 0; i < node->in_count; i++)
        empty_in += is_empty(node->in[i]);
    if (empty_in + empty_out == 0)
        return true;
    if (!rules[node->op])
        return wnn_fail(r->context->error, WNNStatus_UnknownError, "%s of an operand without elements",
                        wnn_ops[node->op].name);
    return rules[node->op](r, node);
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
