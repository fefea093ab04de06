// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/deferred.h"

#include "ops/geometry.h"
#include "vulkan/ops/few_rows.h"
#include "vulkan/ops/gemm_cooperative.h"
#include "vulkan/ops/operators.h"

enum {
    MAX_TERMS = 2048 // of a row: each work group of a product normalizes all of it
};

static bool hands_on(const struct node *node)
{
    return wnn_op_hands_on((enum op)node->op) && !node->fused;
}

// What is behind those that hand an operand on: behind views, once it is known what these are.
static const struct operand *root_of(const struct operand *operand, bool planned)
{
    while (operand->producer && hands_on(operand->producer) &&
           (!planned || operand->producer->lowering == WNN_LOWER_VIEW))
        operand = operand->producer->in[0];
    return operand;
}

const struct node *wnn_deferred_node(const struct operand *operand)
{
    const struct node *node = root_of(operand, true)->producer;
    return node && node->deferred ? node : NULL;
}

// Of inputs of the graph others may take the place sooner than a reader knows.
static bool has_kept_inputs(const struct node *node)
{
    for (unsigned i = 0; i < node->in_count; i++)
        if (node->in[i] && !node->in[i]->constant && !root_of(node->in[i], false)->producer)
            return false;
    return true;
}

static bool is_product(const struct node *node)
{
    return node->op == WNN_OP_matmul || node->op == WNN_OP_gemm;
}

static bool has_few_rows(const struct node *node)
{
    const struct weights *weights = node->choice;
    return is_product(node) && weights && weights->few_rows && !wnn_fused(node, 0);
}

// ---------------------------------------------------------------------------------------------------------------
// Normalizations
// ---------------------------------------------------------------------------------------------------------------

// Whether a node makes of each row one that is normalized, without more.
static bool normalizes_rows(const struct node *node)
{
    if ((node->op != WNN_OP_rmsNormalization && node->op != WNN_OP_layerNormalization) || node->fused ||
        node->in[0]->constant)
        return false;
    const struct shape *shape = &node->in[0]->type.shape;
    return shape->rank > 0 && wnn_node_reduction_axes(node).mask == UINT32_C(1) << (shape->rank - 1);
}

static bool takes_rows(const struct gpu *gpu, const struct node *node, unsigned input,
                       const struct node *rows)
{
    const struct weights *weights = node->choice;
    if (!has_few_rows(node) || weights->on_units || input != 0 ||
        node->in[0]->type.type != rows->out[0]->type.type)
        return false;
    const struct shape *shape = &rows->out[0]->type.shape;
    struct product p = wnn_product_of(node);
    unsigned bindings = 4 + wnn_operand_count(node); // parameters, the output, scale and bias
    return p.matrices == 1 && p.inner == shape->dim[shape->rank - 1] && p.a_inner == 1 &&
           (p.rows == 1 || p.a_row == p.inner) && p.inner <= MAX_TERMS && bindings <= gpu->can.buffers &&
           wnn_few_rows_have_room(&gpu->can, &p);
}

// ---------------------------------------------------------------------------------------------------------------
// Rotary embeddings
// ---------------------------------------------------------------------------------------------------------------

static bool takes_rotated(const struct gpu *gpu, const struct node *node, unsigned input)
{
    return node->op == WNN_OP_scatterND && input == 2 && gpu->can.buffers >= 6 &&
           wnn_scatter_computes_updates(node);
}

// ---------------------------------------------------------------------------------------------------------------
// Products
// ---------------------------------------------------------------------------------------------------------------

// Whether it is a product without more than what is fused with it, and that reads nothing else.
static bool is_plain_product(const struct gpu *gpu, const struct node *node)
{
    if (!has_few_rows(node) && !(is_product(node) && wnn_units_pair(gpu, node)))
        return false;
    struct product p = wnn_product_of(node);
    const struct expression *results = wnn_fused(node, WNN_AT_OUTPUT);
    return p.alpha == 1 && (node->in_count < 3 || !node->in[2]) && (!results || results->operand_count == 0);
}

static unsigned count_operands(const struct node *node)
{
    unsigned count = 0;
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        count += node->in[i] != NULL;
    return count;
}

// Whether a kernel computes both, if their operands lie alike.
static bool have_kernel(const struct gpu *gpu, const struct node *node, const struct node *from)
{
    if (has_few_rows(node) || has_few_rows(from))
        return has_few_rows(node) && has_few_rows(from) && wnn_weights_are_alike(node, from) &&
               wnn_few_rows_pair(node);
    return is_product(node) && wnn_units_pair(gpu, node) && wnn_units_pair(gpu, from);
}

static bool takes_product(const struct gpu *gpu, const struct node *node, unsigned input,
                          const struct node *from)
{
    if (input < node->in_count || !have_kernel(gpu, node, from) ||
        root_of(node->in[0], false) != root_of(from->in[0], false))
        return false;
    for (unsigned i = node->in_count; i < wnn_operand_count(node); i++) {
        const struct node *other = node->in[i] && i != input ? root_of(node->in[i], false)->producer : NULL;
        if (other && other->deferred)
            return false;
    }
    struct product a = wnn_product_of(node), b = wnn_product_of(from);
    // Less the first's result and the rows, and with parameters, the output, and what rows are normalized by.
    unsigned bindings = count_operands(node) + count_operands(from) - 2 + 4;
    return wnn_fused(node, WNN_AT_OUTPUT) && input >= wnn_fused(node, WNN_AT_OUTPUT)->first &&
           a.rows == b.rows && a.columns == b.columns && a.inner == b.inner && a.matrices == 1 &&
           b.matrices == 1 && a.a_row == b.a_row && a.a_inner == b.a_inner && a.b_column == b.b_column &&
           a.b_inner == b.b_inner && bindings <= gpu->can.buffers;
}

// ---------------------------------------------------------------------------------------------------------------
// All nodes
// ---------------------------------------------------------------------------------------------------------------

static bool may_defer(const struct gpu *gpu, const struct node *node)
{
    bool may = node->op == WNN_OP_rotaryEmbedding ? !node->fused
                                                  : normalizes_rows(node) || is_plain_product(gpu, node);
    return may && has_kept_inputs(node);
}

static bool takes(const struct gpu *gpu, const struct node *node, unsigned input, const struct node *from)
{
    return from->op == WNN_OP_rotaryEmbedding ? takes_rotated(gpu, node, input)
           : is_product(from)                 ? takes_product(gpu, node, input, from)
                                              : takes_rows(gpu, node, input, from);
}

static void settle(const struct gpu *gpu, struct graph *graph, bool planned)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        if (planned ? node->lowering == WNN_LOWER_VIEW : hands_on(node))
            continue;
        for (unsigned k = 0; k < wnn_operand_count(node); k++) {
            struct node *from = node->in[k] ? root_of(node->in[k], planned)->producer : NULL;
            if (from && from->deferred)
                from->deferred = takes(gpu, node, k, from);
        }
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        struct node *from = root_of(graph->outputs[i].operand, planned)->producer;
        if (from)
            from->deferred = false;
    }
}

void wnn_defer_nodes(const struct gpu *gpu, struct graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i]->deferred = may_defer(gpu, graph->nodes[i]);
    settle(gpu, graph, false);
}

void wnn_settle_deferred(const struct gpu *gpu, struct graph *graph)
{
    settle(gpu, graph, true);
}
