// SPDX-License-Identifier: Apache-2.0
#include "compiler/stack_products.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// What can be stacked
// ---------------------------------------------------------------------------------------------------------------

static struct operand *row_of(const struct node *product)
{
    return product->in_count > 2 ? product->in[2] : NULL;
}

void wnn_stack_find(const struct operand *operand, struct stacked_part *part)
{
    const struct node *node = operand->producer;
    *part = (struct stacked_part){0};
    if (wnn_is_product(node)) {
        part->product = node;
        part->row = row_of(node);
    }
    for (unsigned i = 0; node && node->op == WNN_OP_add && i < 2; i++) {
        const struct operand *product = node->in[i];
        if (!wnn_is_product(product->producer) || row_of(product->producer) || product->uses != 1 ||
            !node->in[1 - i]->constant || !wnn_shape_equal(&product->type.shape, &operand->type.shape))
            continue;
        part->product = product->producer;
        part->row = node->in[1 - i];
    }
}

static uint32_t last(const struct operand *operand)
{
    const struct shape *shape = &operand->type.shape;
    return shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
}

bool wnn_stack_can(const struct stacked_part *parts, unsigned count)
{
    for (unsigned p = 0; p < count; p++) {
        const struct node *product = parts[p].product;
        const WNNGemmOptions *gemm = product->op == WNN_OP_gemm ? product->attrs : NULL;
        const struct operand *weights = product->in[1], *row = parts[p].row;
        const struct shape *shape = &weights->type.shape;
        uint32_t columns = last(product->out[0]);
        if (shape->rank < 2 || !weights->constant || !wnn_dtype_is_float(weights->type.type) ||
            wnn_shape_elements(shape) != (size_t)shape->dim[shape->rank - 2] * shape->dim[shape->rank - 1])
            return false;
        if (gemm && (gemm->alpha != 1 || gemm->beta != 1 || gemm->aTranspose))
            return false;
        if (row &&
            (!row->constant || wnn_shape_elements(&row->type.shape) != columns || last(row) != columns))
            return false;
        if (wnn_cut_size(&parts[p].cut) != wnn_cut_size(&parts[0].cut))
            return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Stacking
// ---------------------------------------------------------------------------------------------------------------

struct operand *wnn_cut_slice(struct graph *graph, struct operand *operand, const struct cut *cut,
                              size_t place)
{
    struct shape result = operand->type.shape, split = result;
    uint32_t starts[WNN_MAX_RANK] = {0};
    unsigned axis = cut->axis;
    uint32_t step = cut->inner;
    result.dim[axis] = wnn_cut_size(cut);
    if (cut->outer > 1) {
        split = (struct shape){5, {1, cut->outer, cut->whole, cut->inner, 1}};
        for (unsigned d = 0; d < result.rank; d++)
            split.dim[d < cut->axis ? 0 : 4] *= d == cut->axis ? 1 : result.dim[d];
        axis = 2;
        step = 1;
    }
    operand = wnn_rewrite_reshape(graph, operand, &split, place);
    starts[axis] = cut->at * step;
    split.dim[axis] = cut->size * step;
    operand = wnn_rewrite_slice(graph, operand, starts, &split, place);
    return wnn_rewrite_reshape(graph, operand, &result, place);
}

// A part of a constant in the shape [1, rows, columns].
static struct operand *part_of(struct graph *graph, struct operand *constant, struct cut cut, bool turned,
                               uint32_t rows, size_t place)
{
    uint32_t columns = wnn_cut_size(&cut);
    const struct shape shape = {3, {1, turned ? columns : rows, turned ? rows : columns}};
    cut.axis = constant->type.shape.rank - (turned ? 2 : 1);
    struct operand *part = cut.size < cut.whole ? wnn_cut_slice(graph, constant, &cut, place) : constant;
    part = part ? wnn_rewrite_reshape(graph, part, &shape, place) : NULL;
    return part && turned ? wnn_rewrite_transpose(graph, part, (const uint32_t[3]){0, 2, 1}, place) : part;
}

// A row for a part that has none.
static struct operand *zeros(struct pass_context *context, struct graph *graph, const struct descriptor *all)
{
    const struct descriptor type = {all->type, {3, {1, 1, all->shape.dim[2]}}};
    size_t bytes = type.shape.dim[2] * sizeof(double);
    double *values = wnn_arena_allocate(&graph->arena, bytes);
    return values ? wnn_rewrite_constant(context, graph, &type, memset(values, 0, bytes)) : NULL;
}

// The weights, or the rows, of all parts: [parts, rows, columns].
static struct operand *stack(struct pass_context *context, struct graph *graph,
                             const struct stacked_part *parts, unsigned count, bool weights, uint32_t rows,
                             size_t place)
{
    const struct descriptor type = {parts[0].product->out[0]->type.type,
                                    {3, {count, rows, wnn_cut_size(&parts[0].cut)}}};
    struct operand *in[WNN_MAX_STACKED];
    for (unsigned p = 0; p < count; p++) {
        struct operand *constant = weights ? parts[p].product->in[1] : parts[p].row;
        in[p] = constant ? part_of(graph, constant, parts[p].cut,
                                   weights && wnn_turns_weights(parts[p].product), rows, place)
                         : zeros(context, graph, &type);
        if (!in[p])
            return NULL;
    }
    struct node *concat = wnn_graph_add_node(graph, WNN_OP_concat, count, 1, &type);
    void *attrs = wnn_rewrite_attrs(graph, WNN_OP_concat);
    if (!concat || !attrs)
        return NULL;
    memcpy(concat->in, in, count * sizeof in[0]);
    concat->attrs = attrs;
    concat->index = (uint32_t)place;
    return concat->out[0];
}

// An operator of two operands; NULL when memory runs out, or has run out for one of them.
static struct operand *combine(struct graph *graph, enum op op, struct operand *a, struct operand *b,
                               const struct node *like, const struct descriptor *type, size_t place)
{
    struct node *node = wnn_rewrite_combine(graph, op, a, b, type, place);
    if (!node)
        return NULL;
    node->label = like->label;
    return node->out[0];
}

bool wnn_stack(struct pass_context *context, struct graph *graph, const struct stacked_part *parts,
               unsigned count, size_t place, struct operand **results)
{
    const struct node *like = parts[0].product;
    struct operand *a = like->in[0];
    uint32_t terms = last(a), columns = wnn_cut_size(&parts[0].cut),
             rows = (uint32_t)(wnn_shape_elements(&a->type.shape) / terms);
    const struct descriptor type = {like->out[0]->type.type, {3, {count, rows, columns}}};
    bool adds = false;
    for (unsigned p = 0; p < count; p++)
        adds |= parts[p].row != NULL;
    a = wnn_rewrite_reshape(graph, a, &(struct shape){2, {rows, terms}}, place);
    struct operand *weights = a ? stack(context, graph, parts, count, true, terms, place) : NULL;
    struct operand *all = combine(graph, WNN_OP_matmul, a, weights, like, &type, place);
    if (all && adds)
        all = combine(graph, WNN_OP_add, all, stack(context, graph, parts, count, false, 1, place), like,
                      &type, place);
    for (unsigned p = 0; p < count; p++) {
        results[p] = all ? wnn_cut_slice(graph, all, &(struct cut){0, 1, count, 1, p, 1}, place) : NULL;
        if (!results[p])
            return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Attention
// ---------------------------------------------------------------------------------------------------------------

enum {
    MAX_FOLLOWED = 16,
    MAX_DISTANCE = 256 // nodes
};

// What is made of an operand on the way to a product, as of queries and keys, or behind it to softmax.
struct followed {
    const struct operand *operand;
    bool multiplied;
};

// How a node goes on from what has been followed. False: not at all.
static bool follow(const struct node *node, const struct followed *from, struct followed *to)
{
    *to = (struct followed){node->out[0], from->multiplied};
    switch (node->op) {
    case WNN_OP_matmul:
        to->multiplied = true;
        return !from->multiplied;
    case WNN_OP_mul:
    case WNN_OP_div:
        return true;
    case WNN_OP_add:
    case WNN_OP_where:
        return from->multiplied; // a mask
    case WNN_OP_expand:
    case WNN_OP_layerNormalization:
    case WNN_OP_reshape:
    case WNN_OP_rmsNormalization:
    case WNN_OP_rotaryEmbedding:
    case WNN_OP_transpose:
        return !from->multiplied;
    default:
        return false;
    }
}

// Whether a node multiplies what softmax has made by the operand, as by values.
static bool weighs(const struct node *node, const struct operand *operand)
{
    const struct node *weights = node->op == WNN_OP_matmul ? node->in[0]->producer : NULL;
    return weights && node->in[1] == operand &&
           (weights->op == WNN_OP_softmax || weights->op == WNN_OP_where);
}

bool wnn_stack_is_attended(const struct graph *graph, const struct operand *operand, size_t from)
{
    struct followed followed[MAX_FOLLOWED] = {{operand, false}};
    unsigned count = 1;
    for (size_t i = from; i < graph->node_count && i < from + MAX_DISTANCE && count < MAX_FOLLOWED; i++) {
        const struct node *node = graph->nodes[i];
        for (unsigned f = 0; f < count; f++) {
            bool reads = false;
            for (unsigned k = 0; k < node->in_count; k++)
                reads |= node->in[k] == followed[f].operand;
            if (reads && followed[f].multiplied ? node->op == WNN_OP_softmax
                                                : weighs(node, followed[f].operand))
                return true;
            if (reads && follow(node, &followed[f], &followed[count])) {
                count++;
                break;
            }
        }
    }
    return false;
}
