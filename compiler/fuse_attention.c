// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, no dead nodes. Guarantees: where
//   matmul(softmax(matmul(q, k) * scale + mask), v)
// computes a float32 or float16 operand and what it computes on the way is used by nothing else, one
// attention does, if the backend has it. The scale (a constant factor or divisor) and the mask may be absent.
// Transposes of q, k and v, and of the result, become the attention's: it reads and writes heads where they
// lie.

#include "compiler/rewrite.h"

#include <math.h>
#include <string.h>

// Below so many rows of q, products that pack nothing are faster.
#define FEWEST_ROWS 8

struct match {
    const struct node *scores, *mixed;
    struct operand *value, *mask;
    double scale;
};

static struct node *only_producer(const struct operand *operand, enum op op)
{
    struct node *node = operand->producer;
    return node && node->op == op && operand->uses == 1 ? node : NULL;
}

// x of mul(x, number) and div(x, number), or NULL.
static struct operand *scaled(const struct operand *operand, double *scale)
{
    const struct node *node = only_producer(operand, WNN_OP_mul);
    bool divided = !node && (node = only_producer(operand, WNN_OP_div)) != NULL;
    for (unsigned i = 0; node && i < 2; i++) {
        const struct operand *number = node->in[1 - i];
        if ((divided && i == 1) || !wnn_rewrite_is_floats(number) ||
            wnn_shape_elements(&number->type.shape) != 1)
            continue;
        double value = wnn_rewrite_value(number, 0);
        *scale = divided ? 1 / value : value;
        bool same = wnn_descriptor_equal(&node->in[i]->type, &node->out[0]->type);
        return same && isfinite(*scale) ? node->in[i] : NULL;
    }
    return NULL;
}

static const struct node *scores_of(struct operand *operand, struct match *match)
{
    match->scale = 1;
    struct operand *product = scaled(operand, &match->scale);
    return only_producer(product ? product : operand, WNN_OP_matmul);
}

// The leading dimensions broadcast to those of the scores, and there are as many.
static bool heads_fit(const struct operand *operand, const struct shape *scores)
{
    const struct shape *shape = &operand->type.shape;
    bool fit = shape->rank == scores->rank;
    for (unsigned d = 0; fit && d + 2 < scores->rank; d++)
        fit = shape->dim[d] == scores->dim[d] || shape->dim[d] == 1;
    return fit;
}

static bool matches(const struct node *mixed, struct match *match)
{
    *match = (struct match){.mixed = mixed, .value = mixed->in[1]};
    const struct node *softmax = only_producer(mixed->in[0], WNN_OP_softmax);
    if (!softmax || mixed->in[1]->type.type != mixed->out[0]->type.type)
        return false;
    const struct shape *shape = &softmax->out[0]->type.shape;
    if (((const struct softmax_attrs *)softmax->attrs)->axis + 1 != shape->rank)
        return false;
    match->scores = scores_of(softmax->in[0], match);
    const struct node *add = match->scores ? NULL : only_producer(softmax->in[0], WNN_OP_add);
    for (unsigned i = 0; add && !match->scores && i < 2; i++) {
        match->scores = scores_of(add->in[i], match);
        match->mask = add->in[1 - i];
        if (match->scores && !wnn_shape_equal(&add->in[i]->type.shape, shape))
            return false;
    }
    if (!match->scores || shape->dim[shape->rank - 2] < FEWEST_ROWS)
        return false;
    // Every head of the result has rows of q of its own.
    const struct shape *query = &match->scores->in[0]->type.shape, *result = &mixed->out[0]->type.shape;
    bool own = query->rank == shape->rank && result->rank == shape->rank;
    for (unsigned d = 0; own && d + 2 < shape->rank; d++)
        own = query->dim[d] == shape->dim[d] && result->dim[d] == shape->dim[d];
    return own && heads_fit(match->scores->in[1], shape) && heads_fit(mixed->in[1], shape);
}

// What an input is a transpose of, and in which order it has its dimensions.
static bool take_input(struct graph *graph, struct node *attention, unsigned input, struct operand *operand,
                       WNNUint32List *permutation)
{
    const struct node *transpose = operand->producer;
    uint32_t order[WNN_MAX_RANK];
    for (unsigned d = 0; d < operand->type.shape.rank; d++)
        order[d] = d;
    if (transpose && transpose->op == WNN_OP_transpose) {
        memcpy(order, ((const WNNTransposeOptions *)transpose->attrs)->permutation.data,
               operand->type.shape.rank * sizeof order[0]);
        operand = transpose->in[0];
    }
    attention->in[input] = operand;
    return wnn_rewrite_list(graph, permutation, order, operand->type.shape.rank);
}

// `root` computes the result, or its transpose.
static bool replace(struct graph *graph, const struct match *match, struct node *root)
{
    struct attention_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_attention);
    struct operand **in = wnn_arena_allocate(&graph->arena, 4 * sizeof in[0]);
    uint32_t order[WNN_MAX_RANK];
    unsigned rank = root->out[0]->type.shape.rank;
    if (!attrs || !in)
        return false;
    for (unsigned d = 0; d < rank; d++)
        order[d] = root == match->mixed ? d : ((const WNNTransposeOptions *)root->attrs)->permutation.data[d];
    attrs->scale = match->scale;
    *root = (struct node){.index = root->index,
                          .op = WNN_OP_attention,
                          .label = match->mixed->label,
                          .attrs = attrs,
                          .in = in,
                          .out = root->out,
                          .in_count = 4,
                          .out_count = 1};
    in[3] = match->mask;
    return wnn_rewrite_list(graph, &attrs->outputPermutation, order, rank) &&
           take_input(graph, root, 0, match->scores->in[0], &attrs->queryPermutation) &&
           take_input(graph, root, 1, match->scores->in[1], &attrs->keyPermutation) &&
           take_input(graph, root, 2, match->value, &attrs->valuePermutation);
}

bool wnn_fuse_attention(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->computes || !context->backend->computes(WNN_OP_attention))
        return true;
    wnn_graph_count_uses(graph);
    // From the end: a transpose of the result comes before the result.
    for (size_t i = graph->node_count; i-- > 0;) {
        struct node *root = graph->nodes[i];
        const struct node *mixed =
            root->op == WNN_OP_transpose ? only_producer(root->in[0], WNN_OP_matmul) : root;
        struct match match;
        if (!mixed || mixed->op != WNN_OP_matmul || !matches(mixed, &match))
            continue;
        if (!replace(graph, &match, root))
            return wnn_fail_memory(context->error);
    }
    return wnn_prune(context, graph);
}
