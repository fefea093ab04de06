// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order; bands have been found. Guarantees: where the mask of an attention is computed or
// comes from outside, and the backend wants it (backend.wants_attended), the attention has the range of keys
// that each row of the mask attends to (attendedKeys). All attentions of one mask share it
// (eliminate_common.c).

#include "compiler/rewrite.h"

static bool is_candidate(const struct pass_context *context, const struct node *node)
{
    if (node->op != WNN_OP_attention || !node->in[3] || node->in[4] || node->in[3]->constant ||
        node->in[3]->type.shape.rank == 0)
        return false;
    const struct attention_attrs *attrs = node->attrs;
    const struct shape *mask = &node->in[3]->type.shape, *key = &node->in[1]->type.shape;
    return attrs->window == 0 &&
           mask->dim[mask->rank - 1] == key->dim[attrs->keyPermutation.data[key->rank - 1]] &&
           context->backend->wants_attended(context->state, node, node->in[3]->uses);
}

bool wnn_find_attended(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    if (!context->backend->wants_attended)
        return true;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < count; i++) {
        struct node *node = graph->nodes[i];
        if (!is_candidate(context, node))
            continue;
        struct attended_keys_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_attendedKeys);
        if (!attrs)
            return wnn_fail_memory(context->error);
        attrs->distance = WNN_EXCLUDED_DISTANCE;
        struct descriptor type = {WNNDataType_Uint32, node->in[3]->type.shape};
        type.shape.dim[type.shape.rank - 1] = WNN_ATTENDED_NUMBERS;
        struct node *keys = wnn_rewrite_add(graph, WNN_OP_attendedKeys, node->in[3], &type, attrs, i);
        if (!keys)
            return wnn_fail_memory(context->error);
        node->in[4] = keys->out[0];
        wnn_explain(context->explainer, "find_attended", "ranges of keys", node->out[0], NULL);
    }
    return wnn_rewrite_order(context, graph, count);
}
