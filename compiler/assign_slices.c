// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: a concat that puts a tensor together again but for one part, as
// models write the new rows of a cache, is a scatterND of that part at constant indices: it can take the
// cache's place, where only the part is written. Only where the tensor is an input of the graph or such a
// result itself, and the part is small and of long blocks.

#include "compiler/rewrite.h"

enum {
    MIN_BLOCK = 64, // bytes of the part that lie in one piece
    MAX_PART = 2    // of so many parts of the tensor
};

// What a concat puts together: the tensor that all of its inputs are parts of, at the places from which they
// come, but for one.
struct assignment {
    struct operand *base, *part; // NULL: not found yet
    unsigned axis;
    size_t at; // along the axis, of the part
};

static bool is_state(const struct operand *operand)
{
    return operand->input || (operand->producer && operand->producer->op == WNN_OP_scatterND);
}

static bool find_assignment(const struct node *concat, struct assignment *found)
{
    const struct operand *whole = concat->out[0];
    *found = (struct assignment){.axis = ((const struct concat_attrs *)concat->attrs)->axis};
    size_t at = 0;
    for (unsigned i = 0; i < concat->in_count; i++) {
        struct operand *in = concat->in[i], *base = wnn_rewrite_part_of(in, found->axis, at);
        if (base && is_state(base) && wnn_descriptor_equal(&base->type, &whole->type)) {
            if (found->base && found->base != base)
                return false;
            found->base = base;
        } else {
            if (found->part)
                return false;
            found->part = in;
            found->at = at;
        }
        at += in->type.shape.dim[found->axis];
    }
    return found->base && found->part;
}

static size_t block_of(const struct assignment *assignment)
{
    const struct shape *shape = &assignment->part->type.shape;
    size_t elements = 1;
    for (unsigned i = assignment->axis + 1; i < shape->rank; i++)
        elements *= shape->dim[i];
    return elements;
}

static bool is_worth_it(const struct pass_context *context, const struct assignment *assignment)
{
    const struct descriptor *part = &assignment->part->type;
    const struct backend *backend = context->backend;
    unsigned bits = wnn_dtype_bits(part->type);
    return backend->in_place && bits >= 8 && block_of(assignment) * bits / 8 >= MIN_BLOCK &&
           wnn_shape_elements(&part->shape) <= wnn_shape_elements(&assignment->base->type.shape) / MAX_PART &&
           (!backend->types ||
            backend->types(WNN_OP_scatterND, &wnn_ops[WNN_OP_scatterND].rows[0]) >> part->type & 1);
}

// For each block of the part the position of what it replaces: [..., axis + 1].
static struct operand *add_indices(struct pass_context *context, struct graph *graph,
                                   const struct assignment *assignment)
{
    const struct shape *shape = &assignment->part->type.shape;
    unsigned given = assignment->axis + 1;
    struct descriptor type = {.type = WNNDataType_Int32, .shape = {.rank = given + 1}};
    for (unsigned i = 0; i < given; i++)
        type.shape.dim[i] = shape->dim[i];
    type.shape.dim[given] = given;
    struct constant *constant = wnn_constant_create(context->allocator, wnn_descriptor_bytes(&type));
    if (!constant)
        return NULL;
    int32_t *indices = (int32_t *)(uintptr_t)constant->data;
    size_t rows = wnn_shape_elements(&type.shape) / given;
    for (size_t row = 0; row < rows; row++) {
        size_t rest = row;
        for (unsigned i = given; i-- > 0; rest /= shape->dim[i])
            indices[row * given + i] =
                (int32_t)(rest % shape->dim[i] + (i == assignment->axis ? assignment->at : 0));
    }
    return wnn_graph_add_constant(graph, &type, constant);
}

bool wnn_assign_slices(struct pass_context *context, struct graph *graph)
{
    size_t count = graph->node_count;
    bool changed = false;
    for (size_t i = 0; i < count; i++) {
        struct node *concat = graph->nodes[i];
        struct assignment assignment;
        if (concat->op != WNN_OP_concat || concat->fused || concat->in_count < 2 ||
            concat->out[0]->type.shape.rank == WNN_MAX_RANK || !find_assignment(concat, &assignment) ||
            !is_worth_it(context, &assignment))
            continue;
        struct operand *indices = add_indices(context, graph, &assignment);
        struct operand **in = wnn_arena_allocate(&graph->arena, 3 * sizeof in[0]);
        void *attrs = wnn_rewrite_attrs(graph, WNN_OP_scatterND);
        if (!indices || !in || !attrs)
            return wnn_fail_memory(context->error);
        in[0] = assignment.base;
        in[1] = indices;
        in[2] = assignment.part;
        concat->op = WNN_OP_scatterND;
        concat->attrs = attrs;
        concat->in = in;
        concat->in_count = 3;
        changed = true;
    }
    return !changed || wnn_prune(context, graph);
}
