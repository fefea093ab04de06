// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: an activation whose input is computed by one of the producers below,
// or is a reshape of what is, and used by nothing else, is done by that node, if the backend can fuse it.

#include "compiler/fuse.h"

// Operators whose float results an activation may be applied to while they are still at hand.
static const enum op producers[] = {
    WNN_OP_add,
    WNN_OP_averagePool2d,
    WNN_OP_batchNormalization,
    WNN_OP_conv2d,
    WNN_OP_convTranspose2d,
    WNN_OP_div,
    WNN_OP_gemm,
    WNN_OP_instanceNormalization,
    WNN_OP_layerNormalization,
    WNN_OP_matmul,
    WNN_OP_maxPool2d,
    WNN_OP_mul,
    WNN_OP_resample2d,
    WNN_OP_sub,
};

bool wnn_may_activate(enum op op, WNNDataType type)
{
    for (unsigned i = 0; i < sizeof producers / sizeof producers[0]; i++)
        if (op == producers[i])
            return wnn_dtype_is_float(type);
    return false;
}

// softmax looks at whole rows, which a producer may not have at hand.
static bool is_fusable(const struct node *node)
{
    return wnn_op_is_activation((enum op)node->op) && node->op != WNN_OP_softmax;
}

// What computes the elements of an operand that is used once, behind reshapes of operands that are.
static struct node *producer_of(const struct operand *operand)
{
    while (operand->uses == 1 && operand->producer && operand->producer->op == WNN_OP_reshape)
        operand = operand->producer->in[0];
    return operand->uses == 1 ? operand->producer : NULL;
}

bool wnn_fuse_activations(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->can_fuse)
        return true;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i], *producer = is_fusable(node) ? producer_of(node->in[0]) : NULL;
        const struct fusion fusion = {WNN_AT_OUTPUT, node, node->in[0]};
        bool done;
        if (!producer || !wnn_may_activate((enum op)producer->op, producer->out[0]->type.type) ||
            wnn_epilogue(producer).activation.attrs)
            continue;
        if (!wnn_fuse(context, graph, producer, 1, &fusion, &done))
            return false;
        if (done) // a reshape of the result is one of what the activation made
            wnn_rewrite_take_over(node->in[0]->producer, node);
    }
    return wnn_prune(context, graph);
}
