// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, reshapes joined. Guarantees: where matmul reads matrices that expand repeats, as
// queries of several heads share keys and values, the rows that meet the same matrix meet it at once, in
// matmul of the matrices as they were:
//   matmul(x [b, g * r, t, d], reshape(expand(y [b, g, 1, d, n], [b, g, r, d, n]), [b, g * r, d, n]))
//   is reshape(matmul(reshape(x, [b, g, r * t, d]), reshape(y, [b, g, d, n])), [b, g * r, t, n]).
// The matrices may be transposed in between, and expanded from [b, 1, d, n] if g is 1.

#include "compiler/rewrite.h"

#include <string.h>

// Whether each matrix of x meets one of y, with nothing repeated by matmul itself.
static bool fits(const struct node *matmul, const struct rewrite_repeated *found)
{
    const struct shape *x = &matmul->in[0]->type.shape, *y = &matmul->in[1]->type.shape;
    if (x->rank != y->rank || found->shape.rank != x->rank)
        return false;
    for (unsigned d = 0; d + 2 < x->rank; d++)
        if (x->dim[d] != y->dim[d])
            return false;
    return true;
}

// The shape of x or the result with the rows of matrices that meet the same one below each other.
static struct shape grouped(const struct shape *shape, uint32_t times)
{
    struct shape result = *shape;
    result.dim[shape->rank - 3] /= times;
    result.dim[shape->rank - 2] *= times;
    return result;
}

static bool group(struct graph *graph, struct node *matmul, const struct rewrite_repeated *found)
{
    struct operand *result = matmul->out[0];
    struct descriptor type = {result->type.type, grouped(&result->type.shape, found->times)};
    struct shape rows = grouped(&matmul->in[0]->type.shape, found->times);
    struct operand **in = wnn_arena_allocate(&graph->arena, 2 * sizeof in[0]);
    struct operand *y = wnn_rewrite_reshape(graph, found->source, &found->shape, matmul->index);
    if (y && found->transpose)
        y = wnn_rewrite_transpose(graph, y, wnn_rewrite_order_of(found->transpose).data, matmul->index);
    struct operand *x = wnn_rewrite_reshape(graph, matmul->in[0], &rows, matmul->index);
    struct operand *product = wnn_graph_add_operand(graph, &type);
    struct node *after =
        product ? wnn_rewrite_add_reshape(graph, product, &result->type, matmul->index + 1u) : NULL;
    if (!in || !x || !y || !after)
        return false;
    struct operand *unused = after->out[0]; // what is made with the node, which writes what was asked for
    in[0] = x;
    in[1] = y;
    matmul->in = in;
    matmul->out[0] = product;
    product->producer = matmul;
    after->out[0] = result;
    result->producer = after;
    unused->producer = NULL;
    return true;
}

bool wnn_group_rows(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    bool changed = false;
    for (size_t i = 0; i < count; i++) {
        struct node *node = graph->nodes[i];
        struct rewrite_repeated found;
        const char *reason;
        if (node->op != WNN_OP_matmul)
            continue;
        bool repeats = wnn_rewrite_find_repeated(node->in[1], &found, &reason),
             good = repeats && fits(node, &found);
        if (repeats && !good)
            reason = "other dimensions are repeated by the product";
        if (good || reason)
            wnn_explain(context->explainer, "group_rows", "rows of one matrix", node->out[0],
                        good ? NULL : reason);
        if (good && !group(graph, node, &found))
            return wnn_fail_memory(context->error);
        changed |= good;
    }
    return !changed || wnn_rewrite_finish(context, graph, count);
}
