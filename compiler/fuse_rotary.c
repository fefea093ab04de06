// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order, no dead nodes, common subexpressions computed once. Guarantees: where nothing
// else uses what lies between, and the backend has it, one rotaryEmbedding computes
//   concat(a * c - b * s, b * c + a * s)   a and b being the halves of x along the axis of concat;
//   x * c + concat(-b, a) * s              the same, with c and s for all of x;
//   x * c + concat(b, a) * s * d           d being constant, -1 at the first half and 1 at the second.
// Instead of its halves a and b may be every other element of x's last dimension, if they are put together
// so: pairs of neighbors, [..., 2], are reshaped to one dimension again. The operands of add and mul may
// stand the other way round.

#include "compiler/rewrite.h"

#include <string.h>

struct match {
    struct operand *x, *cosines, *sines;
    unsigned axis;
    bool paired; // a and b are every other element, and x is to be reshaped to pairs
};

// What concat puts together of two: halves along its axis, or pairs.
struct joined {
    struct operand *part[2];
    unsigned axis;
    bool paired;
};

static const struct node *only_producer(const struct operand *operand, enum op op)
{
    const struct node *node = operand->producer;
    return node && node->op == op && !node->fused && operand->uses == 1 ? node : NULL;
}

// Whether `pairs` has the dimensions of `shape`, and a last one of size 1.
static bool has_one_more(const struct shape *pairs, const struct shape *shape)
{
    return pairs->rank == shape->rank + 1 && pairs->dim[shape->rank] == 1 &&
           memcmp(pairs->dim, shape->dim, shape->rank * sizeof shape->dim[0]) == 0;
}

static bool find_joined(const struct node *concat, struct joined *found)
{
    if (concat->op != WNN_OP_concat || concat->fused || concat->in_count != 2 ||
        !wnn_descriptor_equal(&concat->in[0]->type, &concat->in[1]->type))
        return false;
    found->axis = ((const struct concat_attrs *)concat->attrs)->axis;
    found->paired = found->axis + 1 == concat->out[0]->type.shape.rank;
    for (unsigned i = 0; i < 2; i++) {
        const struct node *reshape = only_producer(concat->in[i], WNN_OP_reshape);
        found->paired =
            found->paired && reshape && has_one_more(&concat->in[i]->type.shape, &reshape->in[0]->type.shape);
    }
    for (unsigned i = 0; i < 2; i++)
        found->part[i] = found->paired ? concat->in[i]->producer->in[0] : concat->in[i];
    return true;
}

// The tensor of which this is the first or the second half, or every other element from there on; or NULL.
static struct operand *half_of(const struct operand *operand, const struct joined *joined, unsigned which)
{
    const struct shape *half = &operand->type.shape;
    unsigned axis = joined->paired ? half->rank - 1 : joined->axis;
    struct operand *x;
    if (half->rank == 0)
        return NULL;
    if (joined->paired) {
        const struct node *slice = operand->producer;
        if (!slice || slice->op != WNN_OP_slice || slice->fused)
            return NULL;
        const struct slice_attrs *attrs = slice->attrs;
        for (unsigned d = 0; d < half->rank; d++)
            if (attrs->starts.data[d] != (d == axis ? which : 0) ||
                attrs->options.strides.data[d] != (d == axis ? 2 : 1))
                return NULL;
        x = slice->in[0];
    } else {
        x = wnn_rewrite_part_of(operand, axis, which ? half->dim[axis] : 0);
    }
    struct shape whole = *half;
    whole.dim[axis] *= 2;
    return x && wnn_shape_equal(&x->type.shape, &whole) ? x : NULL;
}

// Whether the operand is the product of a half of x and a factor, which is found if it is not given.
static bool is_turned(const struct operand *operand, const struct joined *joined, unsigned which,
                      struct operand **x, struct operand **factor)
{
    const struct node *mul = only_producer(operand, WNN_OP_mul);
    for (unsigned i = 0; mul && i < 2; i++) {
        struct operand *whole = half_of(mul->in[i], joined, which), *other = mul->in[1 - i];
        if (!whole || (*x && whole != *x) || (*factor && other != *factor))
            continue;
        *x = whole;
        *factor = other;
        return true;
    }
    return false;
}

// concat(a * c - b * s, b * c + a * s)
static bool match_halves(const struct node *concat, struct match *match)
{
    struct joined joined;
    if (!find_joined(concat, &joined))
        return false;
    const struct node *sub = only_producer(joined.part[0], WNN_OP_sub),
                      *add = only_producer(joined.part[1], WNN_OP_add);
    *match = (struct match){.axis = joined.axis, .paired = joined.paired};
    if (!sub || !add || !is_turned(sub->in[0], &joined, 0, &match->x, &match->cosines) ||
        !is_turned(sub->in[1], &joined, 1, &match->x, &match->sines))
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (is_turned(add->in[i], &joined, 1, &match->x, &match->cosines) &&
            is_turned(add->in[1 - i], &joined, 0, &match->x, &match->sines))
            return true;
    return false;
}

// Whether the constant is -1 at the first half of the axis and 1 at the second.
static bool is_sign(const struct operand *operand, const struct shape *of, unsigned axis)
{
    const struct shape *shape = &operand->type.shape;
    if (!wnn_rewrite_is_floats(operand) || shape->rank > of->rank)
        return false;
    unsigned missing = of->rank - shape->rank;
    if (axis < missing || shape->dim[axis - missing] != of->dim[axis])
        return false;
    size_t count = wnn_shape_elements(shape),
           inner = wnn_shape_product(shape, axis - missing + 1, shape->rank) * (of->dim[axis] / 2);
    for (size_t i = 0; i < count; i++)
        if (wnn_rewrite_value(operand, i) != (i / inner % 2 ? 1 : -1))
            return false;
    return true;
}

// concat(-b, a), or if `signed_later` concat(b, a), behind a reshape if they are pairs.
static bool is_crossed(const struct operand *operand, bool signed_later, struct joined *joined,
                       struct operand *x)
{
    const struct node *reshape = only_producer(operand, WNN_OP_reshape), *concat;
    concat = only_producer(reshape ? reshape->in[0] : operand, WNN_OP_concat);
    if (!concat || !find_joined(concat, joined) || joined->paired != (reshape != NULL) ||
        !wnn_shape_equal(&operand->type.shape, &x->type.shape))
        return false;
    const struct operand *b = joined->part[0];
    const struct node *neg = signed_later ? NULL : only_producer(b, WNN_OP_neg);
    if (!signed_later && !neg)
        return false;
    return half_of(neg ? neg->in[0] : b, joined, 1) == x && half_of(joined->part[1], joined, 0) == x;
}

// The product of what is_crossed and the sines, and perhaps of the sign.
static bool match_crossed(const struct node *mul, bool signed_later, struct match *match)
{
    struct joined joined;
    for (unsigned i = 0; mul && i < 2; i++) {
        if (!is_crossed(mul->in[i], signed_later, &joined, match->x))
            continue;
        match->sines = mul->in[1 - i];
        match->axis = joined.axis;
        match->paired = joined.paired;
        return true;
    }
    return false;
}

// x * c + concat(-b, a) * s; x * c + concat(b, a) * s * d
static bool match_whole(const struct node *add, struct match *match)
{
    const struct shape *shape = &add->out[0]->type.shape;
    for (unsigned i = 0; i < 4; i++) {
        const struct node *straight = only_producer(add->in[i / 2], WNN_OP_mul),
                          *turned = only_producer(add->in[1 - i / 2], WNN_OP_mul);
        if (!straight || !turned)
            return false;
        *match = (struct match){.x = straight->in[i % 2], .cosines = straight->in[1 - i % 2]};
        if (!wnn_shape_equal(&match->x->type.shape, shape) ||
            !wnn_shape_equal(&straight->out[0]->type.shape, shape))
            continue;
        if (match_crossed(turned, false, match))
            return true;
        for (unsigned j = 0; j < 2; j++) {
            const struct node *mul = only_producer(turned->in[j], WNN_OP_mul);
            if (match_crossed(mul, true, match) && !match->paired &&
                is_sign(turned->in[1 - j], shape, match->axis))
                return true;
        }
    }
    return false;
}

// The operand with its last dimension, or a new one, in pairs of which it has `size` elements; NULL: out of
// memory.
static struct operand *paired(struct graph *graph, struct operand *operand, uint32_t size, size_t before)
{
    struct shape shape = operand->type.shape;
    if (size == 2)
        shape.dim[shape.rank - 1] /= 2;
    shape.dim[shape.rank++] = size;
    return wnn_rewrite_reshape(graph, operand, &shape, before);
}

// 2 if cosines or sines have an element for each of x, 1 if one for each pair, 0 if pairs can't be made of
// them.
static uint32_t pair_size(const struct operand *angles, const struct operand *x)
{
    unsigned rank = angles->type.shape.rank;
    uint32_t size = rank > 0 ? angles->type.shape.dim[rank - 1] : 0,
             whole = x->type.shape.dim[x->type.shape.rank - 1];
    return rank == 0 || x->type.shape.rank == WNN_MAX_RANK ? 0
           : size == whole                                 ? 2
           : size == whole / 2                             ? 1
                                                           : 0;
}

// `root`, whose result is x turned, or pairs of it, becomes the operator.
static bool replace(struct graph *graph, struct node *root, struct match *match)
{
    struct rotary_embedding_attrs *attrs = wnn_rewrite_attrs(graph, WNN_OP_rotaryEmbedding);
    struct operand **in = wnn_arena_allocate(&graph->arena, 3 * sizeof in[0]);
    if (!attrs || !in)
        return false;
    struct operand *operands[3] = {match->x, match->cosines, match->sines};
    struct node *node = root;
    if (match->paired) {
        uint32_t sizes[3] = {2, pair_size(match->cosines, match->x), pair_size(match->sines, match->x)};
        for (unsigned i = 0; i < 3; i++)
            if (!(operands[i] = paired(graph, operands[i], sizes[i], root->index)))
                return false;
    }
    memcpy(in, operands, sizeof operands);
    attrs->axis = match->axis;
    // The sum of pairs in one dimension is a reshape of the pairs.
    if (match->paired && root->op == WNN_OP_add) {
        node = wnn_rewrite_add(graph, WNN_OP_rotaryEmbedding, in[0], &in[0]->type, attrs, root->index);
        struct expand_attrs *reshape = wnn_rewrite_attrs(graph, WNN_OP_reshape);
        if (!node || !reshape ||
            !wnn_rewrite_list(graph, &reshape->newShape, root->out[0]->type.shape.dim,
                              root->out[0]->type.shape.rank))
            return false;
        root->op = WNN_OP_reshape;
        root->attrs = reshape;
        root->in_count = 1;
        root->in[0] = node->out[0];
    }
    node->op = WNN_OP_rotaryEmbedding;
    node->attrs = attrs;
    node->in = in;
    node->in_count = 3;
    return true;
}

bool wnn_fuse_rotary(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    if (!context->backend->computes || !context->backend->computes(WNN_OP_rotaryEmbedding))
        return true;
    bool changed = false;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < count; i++) {
        struct node *root = graph->nodes[i];
        struct match match;
        root->index = (uint32_t)i;
        if (root->fused || !(root->op == WNN_OP_concat ? match_halves(root, &match)
                             : root->op == WNN_OP_add  ? match_whole(root, &match)
                                                       : false))
            continue;
        if (!wnn_dtype_is_float(match.x->type.type) ||
            (match.paired && (!pair_size(match.cosines, match.x) || !pair_size(match.sines, match.x))))
            continue;
        if (!replace(graph, root, &match))
            return wnn_fail_memory(context->error);
        changed = true;
        wnn_explain(context->explainer, "fuse_rotary", "rotaryEmbedding", root->out[0], NULL);
    }
    return !changed || (wnn_rewrite_order(context, graph, count) && wnn_prune(context, graph));
}
