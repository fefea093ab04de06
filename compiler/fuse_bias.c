// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order with nothing fused, no dead nodes. Guarantees: where a row is added to the product
// of matrices by one matrix, and the product is used by nothing else, one gemm does both, between reshapes
// unless everything has two dimensions. (There fold_batch_normalization has joined other sums, too.)

#include "compiler/rewrite.h"

static size_t last(const struct operand *operand)
{
    const struct shape *shape = &operand->type.shape;
    return shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
}

// The product of all rows of input 0 and one matrix, whose only use is an addition.
static struct node *only_product(const struct operand *operand)
{
    struct node *node = operand->producer;
    if (!node || node->op != WNN_OP_matmul || operand->uses != 1 || !wnn_dtype_is_float(operand->type.type))
        return NULL;
    const struct shape *b = &node->in[1]->type.shape;
    size_t matrix = (size_t)b->dim[b->rank - 2] * b->dim[b->rank - 1];
    return wnn_shape_elements(b) == matrix ? node : NULL;
}

static bool is_row(const struct operand *operand, size_t columns)
{
    return wnn_shape_elements(&operand->type.shape) == columns && last(operand) == columns;
}

// The operand in the shape [rows, columns], or [columns] for 0 rows.
static struct operand *flatten(struct graph *graph, struct operand *operand, size_t rows, size_t columns,
                               size_t before)
{
    const struct shape shape = rows ? (struct shape){.rank = 2, .dim = {(uint32_t)rows, (uint32_t)columns}}
                                    : (struct shape){.rank = 1, .dim = {(uint32_t)columns}};
    return wnn_rewrite_reshape(graph, operand, &shape, before);
}

// `add` becomes the reshape of a gemm, or the gemm.
static bool fuse(struct graph *graph, struct node *add, const struct node *product, struct operand *row,
                 size_t before)
{
    size_t terms = last(product->in[0]), columns = last(product->in[1]);
    struct descriptor type = product->out[0]->type;
    size_t rows = wnn_shape_elements(&type.shape) / columns;
    type.shape = (struct shape){.rank = 2, .dim = {(uint32_t)rows, (uint32_t)columns}};
    struct operand *a = flatten(graph, product->in[0], rows, terms, before);
    struct operand *b = a ? flatten(graph, product->in[1], terms, columns, before) : NULL;
    struct operand *c = b ? flatten(graph, row, 0, columns, before) : NULL;
    struct node *gemm = c ? wnn_graph_add_node(graph, WNN_OP_gemm, 3, 1, &type) : NULL;
    if (!gemm)
        return false;
    gemm->in[0] = a;
    gemm->in[1] = b;
    gemm->in[2] = c;
    gemm->attrs = wnn_rewrite_attrs(graph, WNN_OP_gemm);
    gemm->label = product->label;
    gemm->index = (uint32_t)before;
    if (!gemm->attrs)
        return false;
    if (wnn_shape_equal(&type.shape, &add->out[0]->type.shape)) {
        wnn_rewrite_take_over(gemm, add);
        return true;
    }
    return wnn_rewrite_become_reshape(graph, add, gemm->out[0]);
}

bool wnn_fuse_bias(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    bool changed = false;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < count; i++) {
        struct node *add = graph->nodes[i];
        if (add->op != WNN_OP_add)
            continue;
        for (unsigned j = 0; j < 2; j++) {
            struct node *product = only_product(add->in[j]);
            if (!product || !is_row(add->in[1 - j], last(product->out[0])))
                continue;
            if (!fuse(graph, add, product, add->in[1 - j], i))
                return wnn_fail_memory(context->error);
            changed = true;
            break;
        }
    }
    return !changed || (wnn_rewrite_order(context, graph, count) && wnn_prune(context, graph));
}
