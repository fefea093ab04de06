// SPDX-License-Identifier: Apache-2.0
//
// Requires: nothing. Guarantees: no output of the graph is an input of it. What hands on an input is computed
// by a node, an identity, so that the plan knows when that is read and where it goes.

#include "compiler/rewrite.h"

static struct operand *add_identity(struct graph *graph, struct operand *input)
{
    const struct node *node = wnn_rewrite_add(graph, WNN_OP_identity, input, &input->type,
                                              wnn_rewrite_attrs(graph, WNN_OP_identity), graph->node_count);
    return node ? node->out[0] : NULL;
}

bool wnn_copy_inputs(struct pass_context *context, struct graph *graph)
{
    bool enough = true;
    for (size_t i = 0; i < graph->input_count; i++)
        graph->inputs[i].operand->link = NULL;
    for (size_t i = 0; enough && i < graph->output_count; i++) {
        struct operand *operand = graph->outputs[i].operand;
        if (!operand->input)
            continue;
        if (!operand->link)
            operand->link = add_identity(graph, operand);
        enough = operand->link != NULL;
        graph->outputs[i].operand = enough ? operand->link : operand;
    }
    for (size_t i = 0; i < graph->input_count; i++)
        graph->inputs[i].operand->link = NULL;
    return enough || wnn_fail_memory(context->error);
}
