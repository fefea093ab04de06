// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order with nothing fused, complete attributes. Guarantees: of nodes with one operator,
// equal attributes and the same inputs only the first is left, and of constants with the same bytes (one
// object, or small) too; but for a few that collide in the table of what has been seen, in which a search
// looks at no more than PROBES entries.

#include "compiler/rewrite.h"
#include "ops/attrs.h"

#include <string.h>

#define PROBES      32
#define SMALL_BYTES 1024 // constants up to this size are compared byte by byte

static struct operand *follow(struct operand *operand)
{
    while (operand && operand->link)
        operand = operand->link;
    return operand;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const void *data, size_t size)
{
    const char *bytes = data;
    uint64_t word = 0;
    size_t i = 0;
    for (; i + sizeof word <= size; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        hash = mix(hash, word);
    }
    word = 0;
    if (i < size)
        memcpy(&word, bytes + i, size - i);
    return mix(mix(hash, word), size);
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes and constants
// ---------------------------------------------------------------------------------------------------------------

static uint64_t hash_attrs(uint64_t hash, enum op op, const void *attrs)
{
    for (const struct op_row *row = wnn_ops[op].rows; row->name; row++) {
        if (row->kind != ROW_ATTRIBUTE)
            continue;
        const char *at = (const char *)attrs + row->offset;
        if (row->attr == ATTR_number) {
            WNNNumber number;
            memcpy(&number, at, sizeof number);
            hash = mix(hash, (uint64_t)number.type);
            hash = number.type == WNNNumberType_Undefined ? hash : mix(hash, number.value.u64);
        } else if (row->attr == ATTR_u32s || row->attr == ATTR_f32s) {
            WNNUint32List list; // the lists have one layout
            memcpy(&list, at, sizeof list);
            hash = mix(hash, list.count);
            if (list.count != WNN_LIST_ABSENT)
                hash = mix_bytes(hash, list.data, list.count * sizeof list.data[0]);
        } else {
            hash = mix_bytes(hash, at, wnn_attr_flat_size(row->attr));
        }
    }
    return hash;
}

static uint64_t hash_node(const struct node *node)
{
    uint64_t hash = mix(node->op, node->in_count);
    for (unsigned i = 0; i < node->in_count; i++) {
        const struct operand *in = follow(node->in[i]);
        hash = mix(hash, in ? in->index + 1u : 0);
    }
    return hash_attrs(hash, (enum op)node->op, node->attrs);
}

static bool nodes_equal(const void *first, const void *second)
{
    const struct node *a = first, *b = second;
    if (a->op != b->op || a->in_count != b->in_count || a->out_count != b->out_count)
        return false;
    for (unsigned i = 0; i < a->in_count; i++)
        if (follow(a->in[i]) != follow(b->in[i]))
            return false;
    for (unsigned i = 0; i < a->out_count; i++)
        if (!wnn_descriptor_equal(&a->out[i]->type, &b->out[i]->type))
            return false;
    return wnn_op_attrs_equal((enum op)a->op, a->attrs, b->attrs, true);
}

static uint64_t hash_constant(const struct operand *operand)
{
    const struct constant *constant = operand->constant;
    uint64_t hash = mix(operand->type.type, constant->bytes);
    return constant->bytes <= SMALL_BYTES && constant->data ? mix_bytes(hash, constant->data, constant->bytes)
                                                            : mix(hash, (uintptr_t)constant);
}

static bool constants_equal(const void *first, const void *second)
{
    const struct operand *a = first, *b = second;
    const struct constant *x = a->constant, *y = b->constant;
    return wnn_descriptor_equal(&a->type, &b->type) &&
           (x == y || (x->bytes == y->bytes && x->bytes <= SMALL_BYTES && x->data && y->data &&
                       memcmp(x->data, y->data, x->bytes) == 0));
}

// ---------------------------------------------------------------------------------------------------------------
// The table
// ---------------------------------------------------------------------------------------------------------------

struct table {
    const void **entries;
    size_t mask;
};

// What is equal to the item among what was seen before, or NULL; the item has been seen then.
static const void *find(const struct table *table, uint64_t hash, const void *item,
                        bool (*equal)(const void *a, const void *b))
{
    for (size_t i = 0; i < PROBES; i++) {
        const void **entry = &table->entries[(hash + i) & table->mask];
        if (!*entry) {
            *entry = item;
            return NULL;
        }
        if (equal(*entry, item))
            return *entry;
    }
    return NULL;
}

bool wnn_eliminate_common(struct pass_context *context, struct graph *graph)
{
    size_t size = 64;
    while (size < 2 * (graph->operand_count + graph->node_count))
        size *= 2;
    struct table table = {wnn_allocate_zero(context->allocator, size * sizeof table.entries[0]), size - 1};
    if (!table.entries)
        return wnn_fail_memory(context->error);
    bool changed = false;
    for (size_t i = 0; i < graph->operand_count; i++) {
        struct operand *operand = graph->operands[i];
        if (operand->constant)
            operand->link =
                (struct operand *)(uintptr_t)find(&table, hash_constant(operand), operand, constants_equal);
        changed |= operand->link != NULL;
    }
    memset(table.entries, 0, size * sizeof table.entries[0]);
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        const struct node *same = find(&table, hash_node(node), node, nodes_equal);
        for (unsigned j = 0; same && j < node->out_count; j++)
            node->out[j]->link = same->out[j];
        changed |= same != NULL;
    }
    wnn_release(context->allocator, table.entries);
    if (!changed)
        return true;
    wnn_graph_rewire(graph, NULL);
    return wnn_prune(context, graph);
}
