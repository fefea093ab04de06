// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order with nothing fused, no dead nodes. Guarantees: where a backend wants it, a product
// with constant weights that is used in parts only, as queries, keys and values, or the two halves of a gated
// unit, are made at once, is a product for each part, with the columns of the weights that it is made of; or,
// of parts with as many columns, one product with matrices of these columns, behind each other. So none of
// them has to be moved out of the whole. Between the product and its parts there may be reshapes, transposes,
// and constants that are added or multiplied. No column is computed twice.

#include "compiler/stack_products.h"

#include <string.h>

enum {
    MAX_DISTANCE = 256, // nodes from the first part to the last
    MIN_COLUMNS = 64    // of a part
};

struct part {
    struct operand *result;
    struct cut cut;
};

static struct shape cut_shape(const struct operand *operand, const struct cut *cut)
{
    struct shape shape = operand->type.shape;
    shape.dim[cut->axis] = wnn_cut_size(cut);
    return shape;
}

// ---------------------------------------------------------------------------------------------------------------
// What can be cut
// ---------------------------------------------------------------------------------------------------------------

// The cut of the input of a transpose or reshape that makes the cut of its output.
static bool cut_before(const struct node *node, const struct cut *cut, struct cut *before)
{
    *before = *cut;
    if (node->op == WNN_OP_transpose) {
        before->axis = wnn_rewrite_order_of(node).data[cut->axis];
        return true;
    }
    if (node->op != WNN_OP_reshape)
        return false;
    const struct shape *from = &node->in[0]->type.shape, *to = &node->out[0]->type.shape;
    size_t blocks = 1, blocks_before = 1;
    for (unsigned d = 0; d < cut->axis; d++)
        blocks *= to->dim[d];
    for (unsigned d = 0; d < from->rank; d++) {
        size_t repeats = blocks / blocks_before, part = repeats * to->dim[cut->axis];
        if (blocks % blocks_before != 0)
            return false;
        if (from->dim[d] % part == 0 && from->dim[d] > 1) {
            before->axis = d;
            before->outer *= (uint32_t)repeats;
            before->inner *= (uint32_t)(from->dim[d] / part);
            return true;
        }
        blocks_before *= from->dim[d];
    }
    return false;
}

// The cut of an operand that broadcasts to what is cut; `size` 0: nothing is cut from it.
static struct cut cut_of_broadcast(const struct operand *operand, const struct shape *shape,
                                   const struct cut *cut)
{
    struct cut result = *cut;
    unsigned missing = shape->rank - operand->type.shape.rank;
    if (cut->axis < missing || operand->type.shape.dim[cut->axis - missing] == 1)
        return (struct cut){0};
    result.axis -= missing;
    return result;
}

// The cut of scales or zero points that belongs to a cut of what they are of. False: a block has parts on
// both sides of it.
static bool cut_of_scales(const struct node *dequantize, unsigned input, const struct cut *cut,
                          struct cut *result)
{
    const struct shape *all = &dequantize->in[0]->type.shape, *scales = &dequantize->in[input]->type.shape;
    *result = cut_of_broadcast(dequantize->in[input], all, cut);
    if (result->size == 0)
        return true;
    uint32_t block = all->dim[cut->axis] / scales->dim[result->axis];
    if (cut->inner % block == 0) {
        result->inner /= block;
        return true;
    }
    uint32_t units = block / cut->inner; // of the cut in a block
    if (block % cut->inner != 0 || cut->whole % units != 0 || cut->at % units != 0 || cut->size % units != 0)
        return false;
    *result =
        (struct cut){result->axis, cut->outer, cut->whole / units, 1, cut->at / units, cut->size / units};
    return true;
}

// Constants, and what is made of them.
static bool can_cut_weights(const struct operand *operand, const struct cut *cut)
{
    const struct node *node = operand->producer;
    struct cut before;
    if (operand->uses != 1)
        return false;
    if (!node)
        return operand->constant != NULL;
    if (node->op != WNN_OP_dequantizeLinear)
        return cut_before(node, cut, &before) && can_cut_weights(node->in[0], &before);
    for (unsigned i = 1; i < node->in_count; i++)
        if (node->in[i] && (!node->in[i]->constant || !cut_of_scales(node, i, cut, &before)))
            return false;
    return can_cut_weights(node->in[0], cut);
}

// The cut of the weights of a product, which may have leading dimensions of 1.
static struct cut cut_of_weights(const struct node *node, const struct cut *cut)
{
    struct cut result = *cut;
    result.axis = node->in[1]->type.shape.rank - (wnn_turns_weights(node) ? 2 : 1);
    return result;
}

static bool can_cut_product(const struct node *node, const struct cut *cut)
{
    const struct shape *weights = &node->in[1]->type.shape;
    struct cut columns = cut_of_weights(node, cut);
    for (unsigned d = 0; d + 2 < weights->rank; d++)
        if (weights->dim[d] != 1)
            return false;
    return cut->axis + 1 == node->out[0]->type.shape.rank && wnn_cut_size(cut) >= MIN_COLUMNS &&
           can_cut_weights(node->in[1], &columns) &&
           (node->in_count < 3 || !node->in[2] || node->in[2]->constant);
}

// Which input of an addition or multiplication is cut along with it, where the other one is a constant.
static int varying_input(const struct node *node)
{
    for (unsigned i = 0; i < 2 && (node->op == WNN_OP_add || node->op == WNN_OP_mul); i++)
        if (node->in[1 - i]->constant && !node->in[i]->constant &&
            wnn_shape_equal(&node->in[i]->type.shape, &node->out[0]->type.shape))
            return (int)i;
    return -1;
}

// Whether the operand is a product, or made of one that nothing else uses.
static bool can_cut(const struct operand *operand, const struct cut *cut)
{
    const struct node *node = operand->producer;
    struct cut before = *cut;
    if (!node)
        return false;
    if (wnn_is_product(node))
        return can_cut_product(node, cut);
    int input = varying_input(node);
    if (input < 0 && !cut_before(node, cut, &before))
        return false;
    const struct operand *in = node->in[input < 0 ? 0 : input];
    return in->uses == 1 && can_cut(in, &before);
}

// ---------------------------------------------------------------------------------------------------------------
// Parts
// ---------------------------------------------------------------------------------------------------------------

static bool add_part(struct part *parts, unsigned *count, struct operand *result, unsigned axis, uint32_t at)
{
    const struct shape *whole = &result->producer->in[0]->type.shape;
    uint32_t size = result->type.shape.dim[axis];
    if (*count == WNN_MAX_STACKED)
        return false;
    for (unsigned i = 0; i < *count; i++) {
        const struct cut *other = &parts[i].cut;
        if (other->axis != axis || (at < other->at + other->size && other->at < at + size))
            return false;
    }
    parts[(*count)++] = (struct part){result, {axis, 1, whole->dim[axis], 1, at, size}};
    return true;
}

// False: the node takes more than a part along one axis, or a part that another takes.
static bool add_parts(struct part *parts, unsigned *count, const struct node *node)
{
    if (node->op == WNN_OP_split) {
        unsigned axis = ((const struct split_attrs *)node->attrs)->options.axis;
        uint32_t at = 0;
        for (unsigned i = 0; i < node->out_count; i++) {
            if (!add_part(parts, count, node->out[i], axis, at))
                return false;
            at += node->out[i]->type.shape.dim[axis];
        }
        return true;
    }
    if (node->op != WNN_OP_slice)
        return false;
    const struct slice_attrs *attrs = node->attrs;
    const struct shape *from = &node->in[0]->type.shape, *to = &node->out[0]->type.shape;
    unsigned axis = 0;
    while (axis < from->rank && from->dim[axis] == to->dim[axis])
        axis++;
    for (unsigned d = 0; d < from->rank; d++)
        if (attrs->options.strides.data[d] != 1 || (d != axis && from->dim[d] != to->dim[d]))
            return false;
    return axis < from->rank && add_part(parts, count, node->out[0], axis, attrs->starts.data[axis]);
}

// The parts of which an operand is used, from node i on; 0: it is used otherwise.
static unsigned find_parts(const struct graph *graph, size_t i, struct part *parts)
{
    const struct operand *whole = graph->nodes[i]->in[0];
    uint32_t uses = 0;
    unsigned count = 0;
    for (size_t end = i + MAX_DISTANCE; uses < whole->uses && i < end && i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        bool takes = (node->op == WNN_OP_slice || node->op == WNN_OP_split) && node->in[0] == whole;
        if (takes && !add_parts(parts, &count, node))
            return 0;
        uses += takes;
    }
    return uses == whole->uses && count > 1 ? count : 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Cutting
// ---------------------------------------------------------------------------------------------------------------

// A node like this one, with other inputs and what is cut as its output; NULL when memory has run out.
static struct operand *cut_node(struct graph *graph, const struct node *node, struct operand *const *in,
                                const struct cut *cut, size_t place)
{
    const struct descriptor type = {node->out[0]->type.type, cut_shape(node->out[0], cut)};
    struct node *copy = wnn_graph_add_node(graph, node->op, node->in_count, 1, &type);
    void *attrs = wnn_op_copy_attrs(&graph->arena, (enum op)node->op, node->attrs);
    if (!copy || !attrs)
        return NULL;
    for (unsigned i = 0; i < node->in_count; i++) {
        copy->in[i] = in[i];
        if (node->in[i] && !in[i])
            return NULL;
    }
    copy->attrs = attrs;
    copy->label = node->label;
    copy->index = (uint32_t)place;
    return copy->out[0];
}

// A part of what is made of a product; `base` is the product, or its sum with a row, of which `stacked` is
// the part, unless it is NULL.
static struct operand *cut_operand(struct graph *graph, struct operand *operand, const struct cut *cut,
                                   const struct operand *base, struct operand *stacked, size_t place)
{
    const struct node *node = operand->producer;
    const struct shape shape = cut_shape(operand, cut);
    struct operand *in[3];
    struct cut before;
    if (cut->size == 0)
        return operand;
    if (stacked && operand == base)
        return wnn_rewrite_reshape(graph, stacked, &shape, place);
    if (!node)
        return wnn_cut_slice(graph, operand, cut, place);
    if (cut_before(node, cut, &before)) {
        struct operand *source = cut_operand(graph, node->in[0], &before, base, stacked, place);
        if (!source)
            return NULL;
        return node->op == WNN_OP_reshape
                   ? wnn_rewrite_reshape(graph, source, &shape, place)
                   : wnn_rewrite_transpose(graph, source, wnn_rewrite_order_of(node).data, place);
    }
    memcpy(in, node->in, node->in_count * sizeof in[0]);
    for (unsigned i = wnn_is_product(node) ? 1 : 0; i < node->in_count; i++) {
        if (!in[i])
            continue;
        if (node->op == WNN_OP_dequantizeLinear)
            cut_of_scales(node, i, cut, &before);
        else if (wnn_is_product(node) && i == 1)
            before = cut_of_weights(node, cut);
        else
            before = cut_of_broadcast(in[i], &operand->type.shape, cut);
        in[i] = cut_operand(graph, in[i], &before, base, stacked, place);
    }
    return cut_node(graph, node, in, cut, place);
}

// ---------------------------------------------------------------------------------------------------------------
// Products
// ---------------------------------------------------------------------------------------------------------------

// What the parts are of a product, given that each can be cut; returns the product, or its sum with a row.
static const struct operand *find_base(const struct operand *operand, const struct part *parts,
                                       unsigned count, struct stacked_part *stacked)
{
    for (unsigned p = 0; p < count; p++)
        stacked[p].cut = parts[p].cut;
    for (;;) {
        const struct node *node = operand->producer;
        struct stacked_part base;
        wnn_stack_find(operand, &base);
        int input = varying_input(node);
        for (unsigned p = 0; p < count; p++) {
            struct cut cut = stacked[p].cut;
            if (base.product) {
                stacked[p] = base;
                stacked[p].cut = cut;
            } else if (input < 0) {
                cut_before(node, &cut, &stacked[p].cut);
            }
        }
        if (base.product)
            return operand;
        operand = node->in[input < 0 ? 0 : input];
    }
}

// ---------------------------------------------------------------------------------------------------------------

// Whether what is made of an operand has its elements in another order.
static bool is_moved(const struct operand *operand, const struct operand *base)
{
    while (operand != base) {
        const struct node *node = operand->producer;
        int input = varying_input(node);
        operand = node->in[input < 0 ? 0 : input];
        if (node->op == WNN_OP_transpose &&
            !wnn_rewrite_moves_nothing(wnn_rewrite_order_of(node).data, &node->out[0]->type.shape))
            return true;
    }
    return false;
}

// Computes the parts instead of the whole. False: out of memory.
static bool split(struct pass_context *context, struct graph *graph, struct operand *whole,
                  struct part *parts, unsigned count, size_t place)
{
    struct stacked_part stacked[WNN_MAX_STACKED];
    struct operand *results[WNN_MAX_STACKED] = {NULL};
    const struct operand *base = find_base(whole, parts, count, stacked);
    const struct node *product = stacked[0].product;
    bool attended = false;
    for (unsigned p = 0; p < count && !attended; p++)
        attended = wnn_stack_is_attended(graph, parts[p].result, place);
    // Other parts than those that attention reads where they lie would have to be moved one by one.
    if (!attended && is_moved(whole, base))
        return true;
    if ((attended || count > 2) && wnn_stack_can(stacked, count) &&
        context->backend->stacks_products(product, wnn_cut_size(&stacked[0].cut))) {
        if (!wnn_stack(context, graph, stacked, count, place, results))
            return false;
    } else if (!context->backend->splits_product(product, count)) {
        return true;
    }
    for (unsigned p = 0; p < count; p++) {
        parts[p].result->link = cut_operand(graph, whole, &parts[p].cut, base, results[p], place);
        if (!parts[p].result->link)
            return false;
    }
    return true;
}

bool wnn_split_products(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->splits_product)
        return true;
    size_t count = graph->node_count;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < count; i++) {
        const struct node *node = graph->nodes[i];
        struct part parts[WNN_MAX_STACKED];
        if ((node->op != WNN_OP_slice && node->op != WNN_OP_split) || node->out[0]->link)
            continue;
        struct operand *whole = node->in[0];
        unsigned found = find_parts(graph, i, parts), able = 0;
        while (able < found && can_cut(whole, &parts[able].cut))
            able++;
        if (found > 0 && able == found && !split(context, graph, whole, parts, found, i))
            return wnn_fail_memory(context->error);
    }
    return graph->node_count == count || wnn_rewrite_finish(context, graph, count);
}
