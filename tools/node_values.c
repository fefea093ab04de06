// SPDX-License-Identifier: Apache-2.0
#include "tools/node_values.h"

#include "tools/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Whether the model's outputs depend on each node.
static bool *find_needed(const struct model *model)
{
    const struct graph *graph = model_graph(model);
    bool *wanted = must_allocate(graph->operand_count), *needed = must_allocate(graph->node_count);
    for (size_t i = 0; i < model->output_count; i++)
        wanted[wnn_operand(model->outputs[i].operand)->index] = true;
    for (size_t i = graph->node_count; i-- > 0;) {
        const struct node *node = graph->nodes[i];
        for (unsigned k = 0; k < node->out_count; k++)
            needed[i] |= wanted[node->out[k]->index];
        for (unsigned k = 0; needed[i] && k < node->in_count; k++)
            if (node->in[k])
                wanted[node->in[k]->index] = true;
    }
    free(wanted);
    return needed;
}

// The name that the model gives each operand, or what its output is called; empty: none. They differ.
static struct string *find_names(const struct model *model)
{
    struct string *names = must_allocate(model_graph(model)->operand_count * sizeof *names);
    for (size_t i = model->output_count; i-- > 0;) {
        struct string name = wnn_string(model->outputs[i].name);
        if (!model_find(model, name))
            names[wnn_operand(model->outputs[i].operand)->index] = name;
    }
    for (size_t i = model->name_count; i-- > 0;)
        names[wnn_operand(model->names[i].operand)->index] = model->names[i].name;
    return names;
}

// A name, cut off if it is very long, and a number behind it.
static struct string extend(struct node_values *values, struct string name, char sign, size_t number)
{
    enum {
        MAX_BEGIN = 512
    };
    size_t length = wnn_min(name.length, MAX_BEGIN), capacity = length + 32;
    char *text = must(wnn_arena_allocate(&values->arena, capacity));
    memcpy(text, name.data, length);
    snprintf(text + length, capacity - length, "%c%zu", sign, number);
    return (struct string){text, strlen(text)};
}

static struct string find_label(struct node_values *values, const struct node *node, unsigned output)
{
    struct string label = node->label.length
                              ? node->label
                              : (struct string){wnn_ops[node->op].name, strlen(wnn_ops[node->op].name)};
    return output ? extend(values, label, '.', output) : label;
}

static void add(struct node_values *values, const struct node *node, unsigned output, struct string name)
{
    values->items = must_grow(values->items, values->count, &values->capacity, sizeof *values->items);
    values->items[values->count++] = (struct node_value){.name = name,
                                                         .label = find_label(values, node, output),
                                                         .node = node,
                                                         .operand = node->out[output],
                                                         .is_model_name = name.length > 0,
                                                         .has_label = node->label.length > 0};
}

// Finds out which values have the same label.
static void collect_labels(struct node_values *values)
{
    size_t *total = must_allocate((values->count + 1) * sizeof *total);
    values->last = must_allocate((values->count + 1) * sizeof *values->last);
    for (size_t i = 0; i < values->count; i++) {
        size_t at = name_table_add(&values->labels, values->items[i].label);
        values->last[at] = &values->items[i];
        total[at]++;
    }
    for (size_t i = 0; i < values->count; i++)
        values->items[i].same = total[name_table_find(&values->labels, values->items[i].label)];
    free(total);
}

// Makes names of labels, which tell values apart: all of one label but the last get numbers.
static void make_names(struct node_values *values)
{
    struct name_table taken = {.names = NULL};
    size_t *done = must_allocate((values->count + 1) * sizeof *done), next = values->count;
    for (size_t i = 0; i < values->count; i++)
        if (values->items[i].is_model_name)
            name_table_add(&taken, values->items[i].name);
    for (size_t i = 0; i < values->count; i++) {
        struct node_value *value = &values->items[i];
        size_t number = ++done[name_table_find(&values->labels, value->label)];
        if (value->is_model_name)
            continue;
        struct string name = number < value->same ? extend(values, value->label, '~', number) : value->label;
        while (name_table_find(&taken, name) != NO_NAME)
            name = extend(values, value->label, '~', ++next);
        value->name = name;
        name_table_add(&taken, name);
    }
    name_table_free(&taken);
    free(done);
}

void node_values_collect(struct node_values *values, struct model *model)
{
    const struct graph *graph = model_graph(model);
    bool *needed = find_needed(model);
    struct string *names = find_names(model);
    *values = (struct node_values){.items = NULL};
    wnn_arena_init(&values->arena, &model->allocator);
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned k = 0; needed[i] && k < graph->nodes[i]->out_count; k++)
            add(values, graph->nodes[i], k, names[graph->nodes[i]->out[k]->index]);
    collect_labels(values);
    make_names(values);
    for (size_t i = 0; i < values->count; i++)
        name_table_add(&values->names, values->items[i].name);
    free(names);
    free(needed);
}

void node_values_free(struct node_values *values)
{
    name_table_free(&values->names);
    name_table_free(&values->labels);
    free(values->last);
    free(values->items);
    if (values->arena.allocator)
        wnn_arena_free(&values->arena);
    *values = (struct node_values){.items = NULL};
}

const struct node_value *node_values_find(const struct node_values *values, struct string name)
{
    size_t at = name_table_find(&values->names, name);
    return at == NO_NAME ? NULL : &values->items[at];
}

const struct node_value *node_values_labelled(const struct node_values *values, struct string label)
{
    size_t at = name_table_find(&values->labels, label);
    return at == NO_NAME || !values->last[at]->has_label ? NULL : values->last[at];
}

const struct node_value *node_values_of(const struct node_values *values, const struct operand *operand)
{
    for (size_t i = 0; i < values->count; i++)
        if (values->items[i].operand == operand)
            return &values->items[i];
    return NULL;
}
