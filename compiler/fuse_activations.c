// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: an activation whose input is computed by one of the producers below,
// or is a reshape of what is, and used by nothing else, is done by that node.

#include "compiler/passes.h"

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

static bool is_producer(const struct node *node)
{
    for (unsigned i = 0; i < sizeof producers / sizeof producers[0]; i++)
        if (node->op == producers[i])
            return wnn_dtype_is_float(node->out[0]->type.type);
    return false;
}

// softmax looks at whole rows, which a producer may not have at hand.
static bool is_fusable(const struct node *node)
{
    return wnn_op_is_activation((enum op)node->op) && node->op != WNN_OP_softmax && !node->activation;
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
    unsigned char *drop = wnn_allocate_zero(context->allocator, graph->node_count);
    if (!drop)
        return wnn_fail_memory(context->error);
    wnn_graph_count_uses(graph);
    bool done = true;
    for (size_t i = 0; done && i < graph->node_count; i++) {
        struct node *node = graph->nodes[i], *producer = is_fusable(node) ? producer_of(node->in[0]) : NULL;
        if (!producer || producer->activation || !is_producer(producer))
            continue;
        struct activation *activation = wnn_arena_allocate(&graph->arena, sizeof *activation);
        if (!activation) {
            done = wnn_fail_memory(context->error);
            break;
        }
        *activation = (struct activation){NULL, node->op, node->attrs};
        producer->activation = activation;
        // The producer computes what the activation did; the value between is no more.
        struct operand *between = node->in[0];
        struct node *before = between->producer;
        between->producer = node;
        between->uses = 0;
        before->out[0] = node->out[0];
        before->out[0]->producer = before;
        node->out[0] = between;
        drop[i] = 1;
    }
    if (done) {
        for (size_t i = 0; i < graph->node_count; i++)
            if (drop[i])
                graph->nodes[i]->index = UINT32_MAX;
        wnn_graph_rewire(graph, drop);
        size_t kept = 0;
        for (size_t i = 0; i < graph->operand_count; i++) {
            struct operand *operand = graph->operands[i];
            if (operand->producer && operand->producer->index == UINT32_MAX)
                continue;
            operand->index = (uint32_t)kept;
            graph->operands[kept++] = operand;
        }
        graph->operand_count = kept;
    }
    wnn_release(context->allocator, drop);
    return done;
}
