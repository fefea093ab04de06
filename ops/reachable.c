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
};

static void need(struct wanted *wanted, uint32_t size)
{
    if (wnn_size_is_symbolic(wanted->sizes, size))
        wanted->needed[size & ~WNN_SYMBOLIC] = true;
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

// What sizes are computed of: all that comes before them in the table.
static void need_parts(struct wanted *wanted)
{
    for (size_t i = wanted->sizes->count; i-- > 0;) {
        const struct size *size = &wanted->sizes->items[i];
        if (!wanted->needed[i] || size->kind == SIZE_NAME || size->kind == SIZE_UNKNOWN)
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
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        for (unsigned d = 0; operand->link && d < operand->type.shape.rank; d++)
            need(wanted, operand->type.shape.dim[d]);
        if (operand->link && operand->input)
            tell(wanted, &operand->type.shape);
    }
    for (size_t i = 0; i < graph->node_count; i++)
        if (is_reached(graph->nodes[i]))
            need_attrs(wanted, graph->nodes[i]);
    need_parts(wanted);
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

bool wnn_mark_reachable(struct graph *graph, size_t count, const WNNNamedOperand *outputs)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        graph->operands[i]->link = NULL;
    for (size_t i = 0; i < count; i++)
        wnn_operand(outputs[i].operand)->link = wnn_operand(outputs[i].operand);
    for (size_t i = graph->node_count; i-- > 0;) { // nodes stand in order, so that one walk suffices
        const struct node *node = graph->nodes[i];
        bool needed = is_reached(node);
        for (unsigned j = 0; needed && j < node->in_count; j++)
            if (node->in[j])
                node->in[j]->link = node->in[j];
    }
    if (graph->sizes.count == 0)
        return true;
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    bool *needed = wnn_arena_allocate(&graph->arena, 2 * graph->sizes.count);
    if (needed) {
        memset(needed, 0, 2 * graph->sizes.count);
        mark_inputs(graph, &(struct wanted){&graph->sizes, needed, needed + graph->sizes.count});
    }
    wnn_arena_rewind(&graph->arena, mark);
    return needed != NULL;
}
