// SPDX-License-Identifier: Apache-2.0
#include "ops/reachable.h"

#include "ops/builder.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Sizes
// ---------------------------------------------------------------------------------------------------------------

// By the index of a size.
struct wanted {
    const struct size_table *sizes;
    bool *needed;
    bool *told; // by an input that is marked
    // Sizes that are needed, and whose parts have not been looked at.
    uint32_t *left;
    size_t left_count;
    // The first node that has a size in the shape of a result: of those that only inference tells, the one
    // that does.
    uint32_t *makers;
};

static void need(struct wanted *wanted, uint32_t size)
{
    uint32_t index = size & ~WNN_SYMBOLIC;
    if (!wnn_size_is_symbolic(wanted->sizes, size) || wanted->needed[index])
        return;
    wanted->needed[index] = true;
    wanted->left[wanted->left_count++] = index;
}

static void need_attrs(struct wanted *wanted, const struct node *node)
{
    for (const struct op_row *row = wnn_ops[node->op].rows; row->name; row++) {
        const char *at = (const char *)node->attrs + row->offset;
        uint32_t size;
        WNNUint32List list;
        if (!wnn_op_row_is_size(row))
            continue;
        if (row->attr == ATTR_u32) {
            memcpy(&size, at, sizeof size);
            need(wanted, size);
            continue;
        }
        memcpy(&list, at, sizeof list);
        for (size_t i = 0; list.count != WNN_LIST_ABSENT && i < list.count; i++)
            need(wanted, list.data[i]);
    }
}

static void need_shape(struct wanted *wanted, const struct shape *shape)
{
    for (unsigned i = 0; i < shape->rank; i++)
        need(wanted, shape->dim[i]);
}

// What sizes are computed of.
static void need_parts(struct wanted *wanted)
{
    while (wanted->left_count > 0) {
        const struct size *size = &wanted->sizes->items[wanted->left[--wanted->left_count]];
        if (size->kind == SIZE_NAME || size->kind == SIZE_UNKNOWN)
            continue;
        if (size->kind == SIZE_LINEAR) {
            for (unsigned k = 0; k < size->amount->count; k++)
                need(wanted, size->amount->terms[k].size);
            continue;
        }
        need(wanted, size->a);
        if (size->kind != SIZE_SCALED)
            need(wanted, size->b);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes that tell sizes
// ---------------------------------------------------------------------------------------------------------------

// A dimension is such a size, or a sum of which it is a term (wnn_size_learn).
static unsigned list_unknown(const struct size_table *sizes, uint32_t dimension,
                             uint32_t list[WNN_AMOUNT_TERMS])
{
    unsigned count = 0;
    if (!wnn_size_is_symbolic(sizes, dimension))
        return 0;
    const struct size *size = &sizes->items[dimension & ~WNN_SYMBOLIC];
    if (size->kind == SIZE_UNKNOWN)
        list[count++] = dimension & ~WNN_SYMBOLIC;
    for (unsigned k = 0; size->kind == SIZE_LINEAR && k < size->amount->count; k++) {
        uint32_t term = size->amount->terms[k].size & ~WNN_SYMBOLIC;
        if (sizes->items[term].kind == SIZE_UNKNOWN)
            list[count++] = term;
    }
    return count;
}

static void find_makers(const struct graph *graph, struct wanted *wanted)
{
    uint32_t list[WNN_AMOUNT_TERMS];
    for (size_t i = graph->node_count; i-- > 0;) {
        const struct node *node = graph->nodes[i];
        for (unsigned j = 0; j < node->out_count; j++)
            for (unsigned d = 0; d < node->out[j]->type.shape.rank; d++)
                for (unsigned k = list_unknown(wanted->sizes, node->out[j]->type.shape.dim[d], list);
                     k-- > 0;)
                    wanted->makers[list[k]] = (uint32_t)i;
    }
}

static bool makes_needed(const struct graph *graph, const struct wanted *wanted, size_t index)
{
    const struct node *node = graph->nodes[index];
    uint32_t list[WNN_AMOUNT_TERMS];
    for (unsigned j = 0; j < node->out_count; j++)
        for (unsigned d = 0; d < node->out[j]->type.shape.rank; d++)
            for (unsigned k = list_unknown(wanted->sizes, node->out[j]->type.shape.dim[d], list); k-- > 0;)
                if (wanted->needed[list[k]] && wanted->makers[list[k]] == index)
                    return true;
    return false;
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs
// ---------------------------------------------------------------------------------------------------------------

static void tell(struct wanted *wanted, const struct shape *shape)
{
    for (unsigned i = 0; i < shape->rank; i++)
        if (wnn_size_is_symbolic(wanted->sizes, shape->dim[i]))
            wanted->told[shape->dim[i] & ~WNN_SYMBOLIC] = true;
}

static bool tells_more(const struct wanted *wanted, const struct shape *shape)
{
    for (unsigned i = 0; i < shape->rank; i++) {
        uint32_t size = shape->dim[i], index = size & ~WNN_SYMBOLIC;
        if (wnn_size_is_symbolic(wanted->sizes, size) && wanted->needed[index] && !wanted->told[index])
            return true;
    }
    return false;
}

static bool is_reached(const struct node *node)
{
    for (unsigned j = 0; j < node->out_count; j++)
        if (node->out[j]->link)
            return true;
    return false;
}

static void mark_inputs(struct graph *graph, struct wanted *wanted)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->link && graph->operands[i]->input)
            tell(wanted, &graph->operands[i]->type.shape);
    for (size_t i = 0; i < graph->operand_count; i++) {
        struct operand *operand = graph->operands[i];
        if (!operand->input || operand->link || !tells_more(wanted, &operand->type.shape))
            continue;
        operand->link = operand;
        tell(wanted, &operand->type.shape);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

static void mark(struct wanted *wanted, struct operand *operand)
{
    if (!operand)
        return;
    operand->link = operand;
    if (wanted)
        need_shape(wanted, &operand->type.shape);
}

// Nodes stand in order, and what they need is made before them, so that one walk suffices. Without sizes that
// may not be known `wanted` is NULL.
static void mark_nodes(struct graph *graph, struct wanted *wanted)
{
    for (size_t i = graph->node_count; i-- > 0;) {
        const struct node *node = graph->nodes[i];
        bool made = wanted && !is_reached(node) && makes_needed(graph, wanted, i);
        if (!made && !is_reached(node))
            continue;
        for (unsigned j = 0; j < node->out_count; j++)
            if (made || node->out[j]->link)
                mark(wanted, node->out[j]);
        for (unsigned j = 0; j < node->in_count; j++)
            mark(wanted, node->in[j]);
        if (wanted) {
            need_attrs(wanted, node);
            need_parts(wanted);
        }
    }
}

bool wnn_mark_reachable(struct graph *graph, size_t count, const WNNNamedOperand *outputs)
{
    size_t sizes = graph->sizes.count;
    for (size_t i = 0; i < graph->operand_count; i++)
        graph->operands[i]->link = NULL;
    for (size_t i = 0; i < count; i++)
        wnn_operand(outputs[i].operand)->link = wnn_operand(outputs[i].operand);
    if (sizes == 0) {
        mark_nodes(graph, NULL);
        return true;
    }
    struct arena_mark start = wnn_arena_mark(&graph->arena);
    bool *flags = wnn_arena_allocate(&graph->arena, 2 * sizes);
    uint32_t *numbers = wnn_arena_allocate(&graph->arena, 2 * sizes * sizeof numbers[0]);
    if (flags && numbers) {
        struct wanted wanted = {.sizes = &graph->sizes,
                                .needed = flags,
                                .told = flags + sizes,
                                .left = numbers,
                                .makers = numbers + sizes};
        memset(flags, 0, 2 * sizes);
        memset(wanted.makers, 0xFF, sizes * sizeof numbers[0]);
        find_makers(graph, &wanted);
        mark_nodes(graph, &wanted);
        mark_inputs(graph, &wanted);
    }
    wnn_arena_rewind(&graph->arena, start);
    return flags && numbers;
}
