// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, no dead nodes. Guarantees: where
//   matmul(softmax(matmul(q, k) * scale + mask), v)
// computes a float32 or float16 operand and what it computes on the way is used by nothing else, one
// attention does, if the backend has it. The scale (a constant factor or divisor) and the mask may be absent;
// there may be several masks, which become one, also such as choose between scores and a number that is so
// low that it leaves them no weight, where(seen, scores, -10000 or less); and q and k may be scaled as well,
// or instead, before they are transposed or behind that. What softmax makes NaN may be taken for zeros,
// where(isNaN(weights), 0, weights), as PyTorch writes it. Transposes of q, k and v, and of the result,
// become the attention's: it reads and writes heads where they lie, also where q and k are turned
// (rotaryEmbedding) behind such a transpose. Where expand repeats k and v for the heads of a group, these are
// a dimension of their own, of which k and v have one.

#include "compiler/rewrite.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    MAX_MASKS = 4
};
#define LOW (-10000.0)

struct match {
    const struct node *scores, *mixed;
    struct operand *key, *value;
    const struct node *masks[MAX_MASKS]; // add, or where; from the last to the first
    unsigned inputs[MAX_MASKS];          // which of theirs the scores are
    unsigned mask_count;
    double scale;
    bool zero_nan;
    struct rewrite_repeated keys, values;
    uint32_t times; // that heads of a group are in a dimension of their own; 0: not so
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
        if ((divided && i == 1) || !wnn_rewrite_is_number(number))
            continue;
        double value = wnn_rewrite_value(number, 0);
        *scale = divided ? 1 / value : value;
        bool same = wnn_descriptor_equal(&node->in[i]->type, &node->out[0]->type);
        return same && isfinite(*scale) ? node->in[i] : NULL;
    }
    return NULL;
}

// What is scaled on the way to an operand, with the factors multiplied into *scale.
static struct operand *before_scales(struct operand *operand, double *scale)
{
    double factor;
    for (struct operand *before; (before = scaled(operand, &factor)) != NULL; operand = before)
        *scale *= factor;
    return operand;
}

static const struct node *scores_of(struct operand *operand, struct match *match)
{
    match->scale = 1;
    struct operand *product = scaled(operand, &match->scale);
    return only_producer(product ? product : operand, WNN_OP_matmul);
}

// What a mask does to input i, if it is one of so many scores.
static bool masks(const struct node *node, unsigned i, const struct shape *scores)
{
    const struct operand *other = node->op == WNN_OP_where ? node->in[3 - i] : NULL;
    return wnn_shape_equal(&node->in[i]->type.shape, scores) &&
           (node->op == WNN_OP_add || (wnn_rewrite_is_number(other) && wnn_rewrite_value(other, 0) <= LOW));
}

// The product that scores are made of by masks, behind those that the match has already. Or NULL; *larger:
// because a mask makes more scores of them.
static const struct node *find_scores(struct operand *operand, struct match *match, bool *larger)
{
    const struct shape *shape = &match->mixed->in[0]->type.shape;
    const struct node *scores = scores_of(operand, match), *node = operand->producer;
    bool where = node && node->op == WNN_OP_where;
    if (scores || !node || operand->uses != 1 || (!where && node->op != WNN_OP_add) ||
        match->mask_count == MAX_MASKS)
        return scores;
    unsigned place = match->mask_count++;
    for (unsigned i = where; i < 2u + where && !scores; i++) {
        match->masks[place] = node;
        match->inputs[place] = i;
        match->mask_count = place + 1;
        scores = find_scores(node->in[i], match, larger);
        if (scores && !masks(node, i, shape)) {
            *larger |= !wnn_shape_equal(&node->in[i]->type.shape, shape);
            scores = NULL;
        }
    }
    if (!scores)
        match->mask_count = place;
    return scores;
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

// Keys and values that are repeated are taken as they were.
static void take_groups(struct match *match)
{
    struct rewrite_repeated *k = &match->keys, *v = &match->values;
    unsigned rank = match->key->type.shape.rank;
    const char *reason;
    if (!wnn_rewrite_find_repeated(match->key, k, &reason) ||
        !wnn_rewrite_find_repeated(match->value, v, &reason) || k->times != v->times ||
        k->joined != v->joined || k->shape.rank != rank || v->shape.rank != rank)
        return;
    bool fits = rank < WNN_MAX_RANK;
    for (unsigned d = 0; d + 2 < rank; d++) {
        uint32_t heads = match->key->type.shape.dim[d];
        fits = fits && k->shape.dim[d] == v->shape.dim[d] && match->value->type.shape.dim[d] == heads;
    }
    if (fits)
        match->times = k->times;
}

// False: *reason says why not, unless nothing is near.
static bool no(const char **reason, const char *text)
{
    *reason = text;
    return false;
}

// What is left of softmax when NaN has become zeros, if that is so; or the operand itself.
static const struct operand *before_zeros(const struct operand *operand, bool *zero_nan)
{
    const struct node *where = only_producer(operand, WNN_OP_where);
    const struct node *is_nan = where ? only_producer(where->in[0], WNN_OP_isNaN) : NULL;
    const struct operand *zero = where ? where->in[1] : NULL;
    *zero_nan = is_nan && is_nan->in[0] == where->in[2] && is_nan->in[0]->uses == 2 &&
                wnn_rewrite_is_number(zero) && wnn_rewrite_value(zero, 0) == 0 &&
                wnn_shape_equal(&operand->type.shape, &where->in[2]->type.shape);
    return *zero_nan ? where->in[2] : operand;
}

static bool matches(const struct node *mixed, struct match *match, const char **reason)
{
    *match = (struct match){.mixed = mixed, .value = mixed->in[1]};
    const struct operand *weights = before_zeros(mixed->in[0], &match->zero_nan);
    const struct node *softmax = weights->producer;
    if (!softmax || softmax->op != WNN_OP_softmax)
        return no(reason, NULL);
    if (weights->uses != (match->zero_nan ? 2 : 1))
        return no(reason, "the result of softmax has other uses");
    if (mixed->in[1]->type.type != mixed->out[0]->type.type)
        return no(reason, "the values have another type than the result");
    const struct shape *shape = &softmax->out[0]->type.shape;
    if (((const struct softmax_attrs *)softmax->attrs)->axis + 1 != shape->rank)
        return no(reason, "softmax is not of the last dimension");
    bool larger = false;
    match->scores = find_scores(softmax->in[0], match, &larger);
    if (larger && !match->scores)
        return no(reason, "the mask makes the scores larger");
    if (!match->scores)
        return no(reason,
                  "what softmax reads is no product, times a constant number, with masks, or has other uses");
    match->key = before_scales(match->scores->in[1], &match->scale);
    if (match->key->type.type != match->scores->in[0]->type.type)
        return no(reason, "the keys have another type than the queries");
    // Every head of the result has rows of q of its own.
    const struct shape *query = &match->scores->in[0]->type.shape, *result = &mixed->out[0]->type.shape;
    bool own = query->rank == shape->rank && result->rank == shape->rank;
    for (unsigned d = 0; own && d + 2 < shape->rank; d++)
        own = query->dim[d] == shape->dim[d] && result->dim[d] == shape->dim[d];
    if (!own)
        return no(reason, "not every head has queries of its own");
    if (!heads_fit(match->key, shape) || !heads_fit(match->value, shape))
        return no(reason, "keys or values have another rank or another number of heads");
    take_groups(match);
    return true;
}

// Whether nothing else uses what `from` is made of, nodes of one input after another, back to `to`.
static bool leads_alone(const struct operand *from, const struct operand *to)
{
    while (from != to && from->uses == 1 && from->producer)
        from = from->producer->in[0];
    return from == to && to->uses == 1;
}

// The shape that broadcasts to a tensor before a transpose as `shape` does behind it. False: its elements
// would lie in another order.
static bool shape_before(const struct shape *shape, const uint32_t *order, unsigned rank,
                         struct shape *before)
{
    struct shape behind = {.rank = rank};
    unsigned missing = rank - shape->rank;
    before->rank = rank;
    for (unsigned d = 0; d < rank; d++) {
        behind.dim[d] = d < missing ? 1 : shape->dim[d - missing];
        before->dim[order[d]] = behind.dim[d];
    }
    return wnn_rewrite_moves_nothing(order, &behind);
}

// Turns what is transposed, instead of its transpose, which is left to those who read the result: `*order`.
// Sets `*failed` when memory runs out.
static bool turn_before(struct graph *graph, struct node *rotary, const uint32_t **order, bool *failed)
{
    const struct node *transpose = only_producer(rotary->in[0], WNN_OP_transpose);
    struct shape before[2];
    if (!transpose)
        return false;
    *order = wnn_rewrite_order_of(transpose).data;
    struct operand *x = transpose->in[0], *angles[2];
    for (unsigned i = 0; i < 2; i++)
        if (!shape_before(&rotary->in[1 + i]->type.shape, *order, x->type.shape.rank, &before[i]))
            return false;
    struct rotary_embedding_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_rotaryEmbedding);
    for (unsigned i = 0; i < 2; i++)
        angles[i] = wnn_rewrite_reshape(graph, rotary->in[1 + i], &before[i], rotary->index);
    *failed = !attrs || !angles[0] || !angles[1];
    if (*failed)
        return false;
    attrs->axis = (*order)[((const struct rotary_embedding_attrs *)rotary->attrs)->axis];
    rotary->attrs = attrs;
    rotary->in[0] = x;
    rotary->in[1] = angles[0];
    rotary->in[2] = angles[1];
    rotary->out[0]->type = x->type;
    return true;
}

// Goes back over a transpose, and a reshape behind it that only leaves out dimensions of 1 or adds such.
static bool before_transpose(struct graph *graph, const struct node *attention, struct operand **operand,
                             uint32_t *order)
{
    const struct node *transpose = (*operand)->producer;
    const struct shape *to = &(*operand)->type.shape;
    uint32_t from[WNN_MAX_RANK], place[WNN_MAX_RANK];
    struct shape source = {.rank = to->rank};
    unsigned last = 0, ones = 0;
    if (transpose && transpose->op == WNN_OP_transpose) {
        for (unsigned d = 0; d < to->rank; d++)
            order[d] = wnn_rewrite_order_of(transpose).data[order[d]];
        *operand = transpose->in[0];
        return true;
    }
    if (!transpose || transpose->op != WNN_OP_reshape || !(transpose = transpose->in[0]->producer) ||
        transpose->op != WNN_OP_transpose)
        return true;
    const struct shape *turned = &transpose->out[0]->type.shape;
    for (unsigned d = 0; d < to->rank; d++) {
        place[d] = ones;
        from[d] = WNN_MAX_RANK; // of a dimension of 1
        if (to->dim[d] == 1) {
            source.dim[ones++] = 1;
            continue;
        }
        while (last < turned->rank && turned->dim[last] == 1)
            last++;
        if (last == turned->rank || turned->dim[last] != to->dim[d])
            return true;
        from[d] = wnn_rewrite_order_of(transpose).data[last++];
    }
    for (unsigned d = 0; d < to->rank; d++) {
        if (from[d] == WNN_MAX_RANK)
            continue;
        place[d] = ones;
        for (unsigned other = 0; other < to->rank; other++)
            place[d] += from[other] < from[d];
        source.dim[place[d]] = to->dim[d];
    }
    for (unsigned d = 0; d < to->rank; d++)
        order[d] = place[order[d]];
    *operand = wnn_rewrite_reshape(graph, transpose->in[0], &source, attention->index);
    return *operand != NULL;
}

// What an input, made of the operand by nodes of one input, is a transpose of, and in which order it has its
// dimensions.
static bool take_input(struct graph *graph, struct node *attention, unsigned input,
                       const struct operand *whole, struct operand *operand, WNNUint32List *permutation)
{
    double *scale = &((struct attention_attrs *)attention->attrs)->scale;
    bool scales = input < 2; // not the values
    operand = scales ? before_scales(operand, scale) : operand;
    unsigned rank = operand->type.shape.rank;
    const uint32_t *before;
    uint32_t order[WNN_MAX_RANK];
    bool failed = false;
    for (unsigned d = 0; d < rank; d++)
        order[d] = d;
    for (const struct operand *behind = NULL; behind != operand;) {
        behind = operand;
        if (!before_transpose(graph, attention, &operand, order))
            return false;
        if (scales && behind != operand && behind->uses == 1)
            operand = before_scales(operand, scale);
    }
    struct node *rotary = operand->producer;
    if (rotary && rotary->op == WNN_OP_rotaryEmbedding && leads_alone(whole, operand) &&
        turn_before(graph, rotary, &before, &failed))
        for (unsigned d = 0; d < rank; d++)
            order[d] = before[order[d]];
    attention->in[input] = operand;
    return !failed && wnn_rewrite_list(graph, permutation, order, rank);
}

// Makes two dimensions of dimension d, the inner one of `times`.
static void split(struct shape *shape, unsigned d, uint32_t times)
{
    memmove(shape->dim + d + 1, shape->dim + d, (shape->rank - d) * sizeof shape->dim[0]);
    shape->rank++;
    shape->dim[d] /= times;
    shape->dim[d + 1] = times;
}

// The same in a permutation.
static void split_order(uint32_t *order, unsigned rank, unsigned from)
{
    uint32_t old[WNN_MAX_RANK];
    unsigned count = 0;
    memcpy(old, order, rank * sizeof old[0]);
    for (unsigned d = 0; d < rank; d++) {
        order[count++] = old[d] > from ? old[d] + 1 : old[d];
        if (old[d] == from)
            order[count++] = from + 1;
    }
}

// Takes q with its heads in two dimensions.
static bool split_query(struct graph *graph, struct node *attention, uint32_t times,
                        WNNUint32List *permutation)
{
    struct operand *operand = attention->in[0];
    struct shape shape = operand->type.shape;
    uint32_t order[WNN_MAX_RANK];
    unsigned rank = shape.rank, from = permutation->data[rank - 3];
    memcpy(order, permutation->data, rank * sizeof order[0]);
    split(&shape, from, times);
    split_order(order, rank, from);
    attention->in[0] = wnn_rewrite_reshape(graph, operand, &shape, attention->index);
    return attention->in[0] && wnn_rewrite_list(graph, permutation, order, rank + 1);
}

// Takes k or v from in front of expand, and of the transpose before it; a dimension of one may lie anywhere.
static bool take_repeated(struct graph *graph, struct node *attention, unsigned input,
                          const struct operand *whole, const struct rewrite_repeated *found,
                          WNNUint32List *permutation)
{
    struct operand *source = found->source;
    const struct node *apart = source->producer;
    uint32_t order[WNN_MAX_RANK];
    unsigned rank = found->shape.rank, all = rank + found->joined;
    bool once = found->joined && apart && apart->op == WNN_OP_reshape &&
                wnn_shape_equal(&apart->in[0]->type.shape, &found->shape);
    if (!take_input(graph, attention, input, whole, once ? apart->in[0] : source, permutation))
        return false;
    memcpy(order, permutation->data, permutation->count * sizeof order[0]);
    if (once) {
        struct shape shape = attention->in[input]->type.shape;
        shape.dim[shape.rank++] = 1;
        memmove(order + rank - 1, order + rank - 2, 2 * sizeof order[0]);
        order[rank - 2] = rank;
        attention->in[input] = wnn_rewrite_reshape(graph, attention->in[input], &shape, attention->index);
    }
    if (found->transpose) {
        uint32_t last = order[all - 1];
        order[all - 1] = order[all - 2];
        order[all - 2] = last;
    }
    return attention->in[input] && wnn_rewrite_list(graph, permutation, order, all);
}

// where(condition, yes, no)
static struct operand *select_mask(struct graph *graph, struct operand *condition, struct operand *yes,
                                   struct operand *no, size_t before)
{
    struct descriptor type = {0};
    struct shape both;
    void *attrs = wnn_rewrite_attrs(graph, WNN_OP_where);
    if (!attrs || !yes || !no)
        return NULL;
    type.type = yes->type.type;
    if (!wnn_shape_broadcast(&yes->type.shape, &no->type.shape, &both) ||
        !wnn_shape_broadcast(&condition->type.shape, &both, &type.shape))
        return NULL; // they broadcast to the scores
    struct node *node = wnn_graph_add_node(graph, WNN_OP_where, 3, 1, &type);
    if (!node)
        return NULL;
    node->in[0] = condition;
    node->in[1] = yes;
    node->in[2] = no;
    node->attrs = attrs;
    node->index = (uint32_t)before;
    return node->out[0];
}

// A number of float32 or float16.
static struct operand *number_of(struct pass_context *context, struct graph *graph, WNNDataType type,
                                 double value)
{
    const struct descriptor descriptor = {type, {0}};
    return wnn_rewrite_constant(context, graph, &descriptor, &value);
}

// What all masks add. Where one chooses a finite number, whatever the score is: so that scores are lost
// beside it, as they are in rows that see nothing, it is the lowest of float32 instead.
static bool join_masks(struct pass_context *context, struct graph *graph, const struct match *match,
                       struct node *attention)
{
    struct operand *mask = NULL;
    WNNDataType type = match->scores->out[0]->type.type;
    size_t before = attention->index;
    for (unsigned m = 0; m < match->mask_count; m++) {
        const struct node *node = match->masks[m];
        if (node->op == WNN_OP_where && wnn_rewrite_value(node->in[3 - match->inputs[m]], 0) != -INFINITY)
            type = WNNDataType_Float32;
    }
    for (unsigned m = match->mask_count; m-- > 0;) {
        const struct node *node = match->masks[m];
        unsigned i = match->inputs[m];
        if (node->op == WNN_OP_add) {
            struct operand *other = wnn_rewrite_cast(graph, node->in[1 - i], type, before);
            struct descriptor sum = {.type = type};
            if (!other || (mask && !wnn_shape_broadcast(&mask->type.shape, &other->type.shape, &sum.shape)))
                return false;
            struct node *add =
                mask ? wnn_rewrite_combine(graph, WNN_OP_add, mask, other, &sum, before) : NULL;
            if (mask && !add)
                return false;
            mask = mask ? add->out[0] : other;
            continue;
        }
        double low = wnn_rewrite_value(node->in[3 - i], 0);
        struct operand *out = number_of(context, graph, type, low == -INFINITY ? low : -FLT_MAX);
        if (!mask)
            mask = number_of(context, graph, type, 0);
        mask = select_mask(graph, node->in[0], i == 1 ? mask : out, i == 1 ? out : mask, before);
        if (!mask)
            return false;
    }
    attention->in[3] = mask;
    return true;
}

static bool split_mask(struct graph *graph, struct node *attention, uint32_t times)
{
    struct operand *mask = attention->in[3];
    if (!mask || mask->type.shape.rank < 3)
        return true;
    struct shape shape = mask->type.shape;
    unsigned d = shape.rank - 3;
    split(&shape, d, shape.dim[d] == 1 ? 1 : times);
    attention->in[3] = wnn_rewrite_reshape(graph, mask, &shape, attention->index);
    return attention->in[3] != NULL;
}

// The attention computes what a reshape makes the result of.
static bool split_result(struct graph *graph, struct node *attention, uint32_t times,
                         WNNUint32List *permutation)
{
    struct operand *result = attention->out[0];
    struct shape shape = result->type.shape;
    uint32_t order[WNN_MAX_RANK];
    unsigned rank = shape.rank, heads = 0;
    memcpy(order, permutation->data, rank * sizeof order[0]);
    while (order[heads] != rank - 3)
        heads++;
    split(&shape, heads, times);
    split_order(order, rank, rank - 3);
    const struct descriptor type = {result->type.type, shape};
    struct operand *product = wnn_graph_add_operand(graph, &type);
    struct node *after =
        product ? wnn_rewrite_add_reshape(graph, product, &result->type, attention->index + 1u) : NULL;
    if (!after)
        return false;
    struct operand *unused = after->out[0]; // what is made with the node, which writes what was asked for
    attention->out[0] = product;
    product->producer = attention;
    after->out[0] = result;
    result->producer = after;
    unused->producer = NULL;
    return wnn_rewrite_list(graph, permutation, order, rank + 1);
}

// `root` computes the result, or its transpose.
static bool replace(struct pass_context *context, struct graph *graph, const struct match *match,
                    struct node *root)
{
    struct attention_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_attention);
    struct operand **in = wnn_arena_allocate(&graph->arena, 5 * sizeof in[0]);
    uint32_t order[WNN_MAX_RANK];
    unsigned rank = root->out[0]->type.shape.rank;
    if (!attrs || !in)
        return false;
    for (unsigned d = 0; d < rank; d++)
        order[d] = root == match->mixed ? d : wnn_rewrite_order_of(root).data[d];
    attrs->scale = match->scale;
    attrs->zeroNan = match->zero_nan;
    *root = (struct node){.index = root->index,
                          .op = WNN_OP_attention,
                          .label = match->mixed->label,
                          .attrs = attrs,
                          .in = in,
                          .out = root->out,
                          .in_count = 5,
                          .out_count = 1};
    if (!join_masks(context, graph, match, root) ||
        !wnn_rewrite_list(graph, &attrs->outputPermutation, order, rank) ||
        !take_input(graph, root, 0, match->scores->in[0], match->scores->in[0], &attrs->queryPermutation))
        return false;
    if (match->times == 0)
        return take_input(graph, root, 1, match->key, match->key, &attrs->keyPermutation) &&
               take_input(graph, root, 2, match->value, match->value, &attrs->valuePermutation);
    if (!take_repeated(graph, root, 1, match->key, &match->keys, &attrs->keyPermutation) ||
        !take_repeated(graph, root, 2, match->value, &match->values, &attrs->valuePermutation))
        return false;
    return !match->keys.joined || (split_query(graph, root, match->times, &attrs->queryPermutation) &&
                                   split_mask(graph, root, match->times) &&
                                   split_result(graph, root, match->times, &attrs->outputPermutation));
}

bool wnn_fuse_attention(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->computes || !context->backend->computes(WNN_OP_attention))
        return true;
    size_t count = graph->node_count;
    bool changed = false;
    wnn_graph_count_uses(graph);
    // From the end: a transpose of the result comes before the result.
    for (size_t i = count; i-- > 0;) {
        struct node *root = graph->nodes[i];
        const struct node *mixed =
            root->op == WNN_OP_transpose ? only_producer(root->in[0], WNN_OP_matmul) : root;
        struct match match;
        const char *reason = NULL;
        if (!mixed || mixed->op != WNN_OP_matmul || root->out[0]->uses == 0)
            continue;
        if (!matches(mixed, &match, &reason)) {
            if (reason && mixed == root)
                wnn_explain(context->explainer, "fuse_attention", "attention", root->out[0], reason);
            continue;
        }
        wnn_explain(context->explainer, "fuse_attention", "attention", root->out[0], NULL);
        if (!replace(context, graph, &match, root))
            return wnn_fail_memory(context->error);
        changed = true;
        if (mixed != root)
            mixed->out[0]->uses = 0; // what was transposed is not computed any more
    }
    return !changed || wnn_rewrite_finish(context, graph, count);
}
