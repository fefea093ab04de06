// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, complete attributes, nothing fused; what has powers in its definition has been
// recognized. Guarantees: the second and the third power of floats, where one constant is the exponent of
// all, are products: pow of any number is tens of times as much code, and in what becomes of a matrix product
// that drives its sums out of registers. A square is the same bits; a cube is rounded once more.

#include "compiler/rewrite.h"

// 2 or 3, or 0: another power, or one that changes the shape.
static unsigned exponent_of(const struct node *node)
{
    if (node->op != WNN_OP_pow || node->in[0]->constant || !wnn_rewrite_is_number(node->in[1]) ||
        !wnn_shape_equal(&node->in[0]->type.shape, &node->out[0]->type.shape))
        return 0;
    double exponent = wnn_rewrite_value(node->in[1], 0);
    return exponent == 2 ? 2 : exponent == 3 ? 3 : 0;
}

// x * x, before the node.
static struct operand *square_before(struct graph *graph, struct operand *x, size_t before)
{
    struct node *square = wnn_rewrite_combine(graph, WNN_OP_mul, x, x, &x->type, before);
    return square ? square->out[0] : NULL;
}

bool wnn_expand_powers(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    for (size_t i = 0; i < count; i++) {
        struct node *node = graph->nodes[i];
        unsigned exponent = exponent_of(node);
        if (exponent == 0)
            continue;
        struct operand *x = node->in[0], *first = exponent == 2 ? x : square_before(graph, x, i);
        void *attrs = wnn_rewrite_attrs(graph, WNN_OP_mul);
        if (!first || !attrs)
            return wnn_fail_memory(context->error);
        node->op = WNN_OP_mul;
        node->attrs = attrs;
        node->in[0] = first;
        node->in[1] = x;
    }
    return wnn_rewrite_order(context, graph, count);
}
