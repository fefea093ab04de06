// SPDX-License-Identifier: Apache-2.0
//
// An operand keeps its identity through the compiler: the operands of the builder link to those that the
// compiler began with, and where a pass has put another in the place of one, it says so. So each result of a
// compiled node is the result of some recorded operators, and what the node computes is everything between
// those and the results of other nodes.

#include "tools/sources.h"

#include "runtime/context.h"
#include "tools/memory.h"

#include <stdlib.h>
#include <string.h>

struct search {
    const struct graph *recorded, *compiled;
    // By operand of the recorded graph: what holds its value in the compiled one, or NULL; whether it is
    // known when the graph is built; 1 + the next one that is held by the same operand.
    const struct operand **held;
    bool *known;
    size_t *next;
    size_t *first;    // by operand of the compiled graph: 1 + the first that it holds
    uint32_t *source; // by node of the recorded graph
    // By node and source: 1 + the compiled node that it was last found for.
    size_t *node_found, *source_found;
    size_t *stack; // of operands of the recorded graph
    size_t stack_count, stack_capacity;
    uint32_t *list; // of sources
    size_t list_count, list_capacity;
};

static struct string copy_text(struct sources *sources, struct string text)
{
    struct string copy = wnn_string_copy(&sources->arena, text);
    must((void *)(uintptr_t)copy.data);
    return copy;
}

// ---------------------------------------------------------------------------------------------------------------
// What became of the operands
// ---------------------------------------------------------------------------------------------------------------

static bool belongs(const struct graph *graph, const struct operand *operand)
{
    return operand && operand->index < graph->operand_count && graph->operands[operand->index] == operand;
}

static void find_held(struct search *search)
{
    const struct graph *recorded = search->recorded;
    for (size_t i = recorded->operand_count; i-- > 0;) {
        const struct operand *at = recorded->operands[i]->link;
        search->known[i] = recorded->operands[i]->constant != NULL;
        while (at && at->replacement)
            at = at->replacement;
        if (!belongs(search->compiled, at))
            continue;
        search->held[i] = at;
        search->next[i] = search->first[at->index];
        search->first[at->index] = i + 1;
    }
}

// Nodes stand in order.
static void find_known(struct search *search)
{
    for (size_t i = 0; i < search->recorded->node_count; i++) {
        const struct node *node = search->recorded->nodes[i];
        bool known = true;
        for (unsigned j = 0; j < node->in_count; j++)
            known &= !node->in[j] || search->known[node->in[j]->index];
        for (unsigned j = 0; j < node->out_count; j++)
            search->known[node->out[j]->index] = known;
    }
}

static void begin_search(struct search *search, const struct model *model, WNNGraph graph)
{
    *search = (struct search){.recorded = model_graph(model), .compiled = &wnn_graph_plan(graph)->graph};
    size_t operands = search->recorded->operand_count, nodes = search->recorded->node_count;
    search->held = must_allocate(operands * sizeof *search->held);
    search->known = must_allocate(operands * sizeof *search->known);
    search->next = must_allocate(operands * sizeof *search->next);
    search->first = must_allocate(search->compiled->operand_count * sizeof *search->first);
    search->source = must_allocate(nodes * sizeof *search->source);
    search->node_found = must_allocate(nodes * sizeof *search->node_found);
    search->source_found = must_allocate(nodes * sizeof *search->source_found);
    find_held(search);
    find_known(search);
}

static void end_search(struct search *search)
{
    free(search->held);
    free(search->known);
    free(search->next);
    free(search->first);
    free(search->source);
    free(search->node_found);
    free(search->source_found);
    free(search->stack);
    free(search->list);
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

static struct string label_of(const struct node *node)
{
    return wnn_string(((const WNNOperatorOptions *)node->attrs)->label);
}

// The type that the model's format gives to the operator that makes an operand; of length 0: none.
static struct string *find_types(const struct model *model)
{
    struct string *types = must_allocate(model_graph(model)->operand_count * sizeof *types);
    for (size_t i = 0; i < model->name_count; i++)
        if (model->names[i].type.length)
            types[wnn_operand(model->names[i].operand)->index] = model->names[i].type;
    return types;
}

// Where the nodes end that have the label of the one at `begin`. They are one operator of the model's format
// if one of them makes an output of it: then its type is in *type, which is of length 0 otherwise.
static size_t find_end(const struct graph *recorded, const struct string *types, size_t begin,
                       struct string *type)
{
    struct string label = label_of(recorded->nodes[begin]);
    size_t end = begin;
    *type = STRING("");
    for (; end < recorded->node_count && wnn_string_equal(label_of(recorded->nodes[end]), label); end++)
        for (unsigned j = 0; label.length && j < recorded->nodes[end]->out_count; j++)
            if (types[recorded->nodes[end]->out[j]->index].length)
                *type = types[recorded->nodes[end]->out[j]->index];
    return end;
}

static void add_operator(struct sources *sources, const struct node *node, struct string type)
{
    const char *name = wnn_ops[node->op].name;
    sources->items[sources->count++] =
        (struct source){copy_text(sources, label_of(node)),
                        type.length ? copy_text(sources, type) : (struct string){name, strlen(name)}};
}

static void make_sources(struct sources *sources, const struct model *model, struct search *search)
{
    const struct graph *recorded = search->recorded;
    struct string *types = find_types(model), type;
    sources->items = must(wnn_arena_allocate(&sources->arena, recorded->node_count * sizeof *sources->items));
    for (size_t i = 0, end; i < recorded->node_count; i = end) {
        end = find_end(recorded, types, i, &type);
        for (size_t k = i; k < end; k++) {
            if (k == i || type.length == 0)
                add_operator(sources, recorded->nodes[k], type);
            search->source[k] = (uint32_t)sources->count - 1;
        }
    }
    free(types);
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes
// ---------------------------------------------------------------------------------------------------------------

static void push(struct search *search, size_t operand)
{
    search->stack =
        must_grow(search->stack, search->stack_count, &search->stack_capacity, sizeof *search->stack);
    search->stack[search->stack_count++] = operand;
}

static void add_source(struct search *search, uint32_t source, size_t mark)
{
    if (search->source_found[source] == mark)
        return;
    search->source_found[source] = mark;
    search->list = must_grow(search->list, search->list_count, &search->list_capacity, sizeof *search->list);
    search->list[search->list_count++] = source;
}

// The node that makes an operand, and from where else its value comes.
static void visit(struct search *search, const struct operand *operand, const struct node *made_by,
                  size_t mark)
{
    const struct node *node = operand->producer;
    const struct operand *result = search->held[operand->index];
    if (!node || search->node_found[node->index] == mark)
        return;
    if (search->known[operand->index] && !(result && result->producer == made_by))
        return; // computed when the graph was built
    search->node_found[node->index] = mark;
    add_source(search, search->source[node->index], mark);
    for (unsigned j = 0; j < node->in_count; j++) {
        const struct operand *held = node->in[j] ? search->held[node->in[j]->index] : NULL;
        if (node->in[j] && (!held || held->producer == made_by))
            push(search, node->in[j]->index);
    }
}

static int compare_numbers(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static void find_node(struct sources *sources, struct search *search, size_t index)
{
    const struct node *node = search->compiled->nodes[index];
    search->list_count = 0;
    for (unsigned j = 0; j < node->out_count; j++)
        for (size_t at = search->first[node->out[j]->index]; at; at = search->next[at - 1])
            push(search, at - 1);
    while (search->stack_count)
        visit(search, search->recorded->operands[search->stack[--search->stack_count]], node, index + 1);
    if (!search->list_count)
        return;
    qsort(search->list, search->list_count, sizeof *search->list, compare_numbers);
    sources->nodes[index].items =
        must(wnn_arena_copy(&sources->arena, search->list, search->list_count * sizeof *search->list));
    sources->nodes[index].count = search->list_count;
}

// A node that was added is one of whoever reads its result first. Readers come later, so that the last one is
// asked first.
static void find_added(struct sources *sources, const struct graph *compiled)
{
    size_t *reader = must_allocate(compiled->operand_count * sizeof *reader); // 1 + its index
    for (size_t i = compiled->node_count; i-- > 0;) {
        const struct node *node = compiled->nodes[i];
        struct node_sources *to = &sources->nodes[i];
        to->added = to->count == 0;
        for (unsigned j = 0; to->count == 0 && j < node->out_count; j++) {
            size_t first = reader[node->out[j]->index];
            if (first) {
                to->items = sources->nodes[first - 1].items;
                to->count = sources->nodes[first - 1].count;
            }
        }
        for (unsigned j = 0; j < wnn_operand_count(node); j++)
            if (node->in[j])
                reader[node->in[j]->index] = i + 1;
    }
    free(reader);
}

void sources_find(struct sources *sources, const struct model *model, WNNGraph graph)
{
    struct search search;
    *sources = (struct sources){0};
    wnn_allocator_init(&sources->allocator, NULL, 0);
    wnn_arena_init(&sources->arena, &sources->allocator);
    begin_search(&search, model, graph);
    make_sources(sources, model, &search);
    sources->node_count = search.compiled->node_count;
    sources->nodes = must(wnn_arena_allocate(&sources->arena, sources->node_count * sizeof *sources->nodes));
    for (size_t i = 0; i < sources->node_count; i++)
        find_node(sources, &search, i);
    find_added(sources, search.compiled);
    end_search(&search);
}

void sources_free(struct sources *sources)
{
    if (sources->arena.allocator)
        wnn_arena_free(&sources->arena);
    *sources = (struct sources){0};
}

// ---------------------------------------------------------------------------------------------------------------
// Text
// ---------------------------------------------------------------------------------------------------------------

bool sources_equal(const struct node_sources *a, const struct node_sources *b)
{
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->items, b->items, a->count * sizeof a->items[0]) == 0);
}

static const char *list_sources(const struct sources *sources, const struct node_sources *node, bool labels,
                                char buffer[SOURCES_TEXT])
{
    enum {
        MAX_SHOWN = 8,
        MAX_LABEL = 100, // bytes
    };
    struct text text = {buffer, SOURCES_TEXT, 0};
    buffer[0] = '\0';
    for (size_t i = 0; i < node->count && i < MAX_SHOWN; i++) {
        const struct source *source = &sources->items[node->items[i]];
        wnn_text_add(&text, i ? " + " : "");
        wnn_text_add_quoted(&text, source->operation, MAX_LABEL);
        if (labels && source->label.length) {
            wnn_text_add(&text, " ");
            wnn_text_add_quoted(&text, source->label, MAX_LABEL);
        } else if (labels) {
            wnn_text_add(&text, " #%u", (unsigned)node->items[i]);
        }
    }
    if (node->count > MAX_SHOWN)
        wnn_text_add(&text, " and %zu others", node->count - MAX_SHOWN);
    if (node->count == 0)
        wnn_text_add(&text, "of the compiler");
    return buffer;
}

const char *sources_text(const struct sources *sources, const struct node_sources *node,
                         char buffer[SOURCES_TEXT])
{
    return list_sources(sources, node, true, buffer);
}

const char *sources_types(const struct sources *sources, const struct node_sources *node,
                          char buffer[SOURCES_TEXT])
{
    return list_sources(sources, node, false, buffer);
}
