// SPDX-License-Identifier: Apache-2.0
#include "tools/compare_nodes.h"

#include "tools/difference_show.h"
#include "tools/memory.h"
#include "tools/terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_VALUES = 512 // that one graph computes beside each other
};
#define MAX_BYTES ((size_t)256 << 20) // that they have, unless one alone has more

// ---------------------------------------------------------------------------------------------------------------
// Who is compared with whom
// ---------------------------------------------------------------------------------------------------------------

static bool same_kind(const struct operand *a, const struct operand *b)
{
    return wnn_shape_equal(&a->type.shape, &b->type.shape) &&
           wnn_dtype_is_float(a->type.type) == wnn_dtype_is_float(b->type.type);
}

// The value of another model that has the name, or the label. Operators alone do not tell, nor do labels of
// nodes that became different numbers of operators, but for the last of them.
static const struct node_value *find_counterpart(const struct node_comparison *comparison,
                                                 const struct node_value *value)
{
    const struct node_value *named = node_values_find(&comparison->other_values, value->name),
                            *last = node_values_labelled(&comparison->other_values, value->label);
    if (named && named->is_model_name && value->is_model_name)
        return named;
    if (value->has_label && value == node_values_labelled(&comparison->values, value->label))
        return last;
    return named && named->has_label && value->has_label && !named->is_model_name && !value->is_model_name &&
                   named->same == value->same
               ? named
               : NULL;
}

static void pair_with_model(struct node_comparison *comparison)
{
    bool same_model = strcmp(comparison->side->graph, comparison->other->graph) == 0;
    node_values_collect(&comparison->other_values, &comparison->other->model);
    for (size_t i = 0; i < comparison->values.count; i++) {
        const struct node_value *value = &comparison->values.items[i], *other;
        other = same_model ? node_values_find(&comparison->other_values, value->name)
                           : find_counterpart(comparison, value);
        if (other && same_kind(value->operand, other->operand))
            comparison->pairs[comparison->count++] = (struct node_pair){.value = value, .other = other};
    }
}

static void pair_with_arrays(struct node_comparison *comparison, const struct array_set *expected)
{
    size_t count = comparison->values.count;
    const struct named_array **found = must_allocate(count * sizeof *found);
    array_set_match(expected, ROLE_OUTPUT, false, count, comparison->values.names.names, found);
    for (size_t i = 0; i < count; i++)
        if (found[i])
            comparison->pairs[comparison->count++] =
                (struct node_pair){.value = &comparison->values.items[i], .expected = found[i]};
    free(found);
}

// ---------------------------------------------------------------------------------------------------------------
// Computing
// ---------------------------------------------------------------------------------------------------------------

// Where the pairs end that are computed together from `begin` on.
static size_t find_end(const struct node_comparison *comparison, size_t begin)
{
    size_t bytes = 0, end = begin;
    while (end < comparison->count && end - begin < MAX_VALUES) {
        size_t more = wnn_descriptor_bytes(&comparison->pairs[end].value->operand->type);
        if (end > begin && more > MAX_BYTES - wnn_min(bytes, MAX_BYTES))
            break;
        bytes += more;
        end++;
    }
    return end;
}

// Builds and computes a graph of the pairs' values of one side.
static bool compute(struct probe *probe, struct side *side, const struct node_pair *pairs, size_t count,
                    bool other, struct error *error)
{
    enum {
        NAME = 24
    };
    WNNNamedOperand *outputs = must_allocate(count * sizeof *outputs);
    char *names = must_allocate(count * NAME);
    for (size_t i = 0; i < count; i++) {
        const struct node_value *value = other ? pairs[i].other : pairs[i].value;
        snprintf(names + i * NAME, NAME, "%zu", i);
        outputs[i] = (WNNNamedOperand){{names + i * NAME, WNN_STRLEN}, (WNNOperand)(uintptr_t)value->operand};
    }
    bool good = probe_open(probe, side, count, outputs, error) && subject_run(&probe->subject, error);
    free(outputs);
    free(names);
    return good;
}

static void compare(struct node_pair *pair, const struct array *is, const struct array *reference,
                    size_t reference_begin, const struct tolerances *tolerances)
{
    pair->compared = true;
    if (difference_begin(&pair->difference, is, &is->shape, reference, &is->shape, tolerances))
        difference_add(&pair->difference, tolerances, 0, is, 0, reference, reference_begin);
}

// An expected array of another shape says nothing about a node: it may have its name by chance.
static bool compare_with_array(struct node_pair *pair, const struct array *is, size_t item,
                               const struct tolerances *tolerances, struct error *error)
{
    struct array array;
    if (!named_array_read(pair->expected, &array, error))
        return false;
    if (count_values(&array.shape, &is->shape) > item)
        compare(pair, is, &array, item * is->elements, tolerances);
    array_close(&array);
    return true;
}

static bool compare_chunk(struct node_comparison *comparison, size_t begin, size_t end, size_t item,
                          const struct tolerances *tolerances, struct error *error)
{
    struct node_pair *pairs = &comparison->pairs[begin];
    struct probe probe = {.graph = NULL}, other = {.graph = NULL};
    bool good = compute(&probe, comparison->side, pairs, end - begin, false, error) &&
                (!comparison->other || compute(&other, comparison->other, pairs, end - begin, true, error));
    for (size_t i = 0; good && i < end - begin; i++) {
        const struct run_port *port = &probe.subject.outputs[i];
        struct array is = array_of(&port->type, port->data), reference;
        if (comparison->other) {
            reference = array_of(&other.subject.outputs[i].type, other.subject.outputs[i].data);
            compare(&pairs[i], &is, &reference, 0, tolerances);
        } else {
            good = compare_with_array(&pairs[i], &is, item, tolerances, error);
        }
        comparison->compared += pairs[i].compared;
        if (pairs[i].compared && !comparison->first && !difference_within(&pairs[i].difference))
            comparison->first = &pairs[i];
    }
    probe_close(&probe);
    probe_close(&other);
    return good;
}

bool compare_nodes(struct node_comparison *comparison, struct side *side, struct side *other,
                   const struct array_set *expected, size_t item, const struct tolerances *tolerances,
                   bool all, struct error *error)
{
    *comparison = (struct node_comparison){.side = side, .other = other, .done = true};
    node_values_collect(&comparison->values, &side->model);
    comparison->pairs = must_allocate(comparison->values.count * sizeof *comparison->pairs);
    if (other)
        pair_with_model(comparison);
    else
        pair_with_arrays(comparison, expected);
    struct progress progress;
    progress_begin(&progress, "comparing values");
    bool good = true;
    for (size_t begin = 0, end; good && begin < comparison->count && (all || !comparison->first);
         begin = end) {
        end = find_end(comparison, begin);
        good = compare_chunk(comparison, begin, end, item, tolerances, error);
        progress_show(&progress, end, comparison->count);
    }
    progress_end(&progress);
    return good;
}

void compare_nodes_end(struct node_comparison *comparison)
{
    free(comparison->pairs);
    node_values_free(&comparison->values);
    node_values_free(&comparison->other_values);
    *comparison = (struct node_comparison){.side = NULL};
}

// ---------------------------------------------------------------------------------------------------------------
// Telling
// ---------------------------------------------------------------------------------------------------------------

static const struct node_pair *find_pair(const struct node_comparison *comparison,
                                         const struct operand *operand)
{
    for (size_t i = 0; i < comparison->count; i++)
        if (comparison->pairs[i].value->operand == operand)
            return &comparison->pairs[i];
    return NULL;
}

// What a constant is on both sides; false: there is none on the other.
static bool compare_constants(const struct operand *operand, const struct operand *other,
                              struct difference *difference)
{
    if (!other || !other->constant || !same_kind(operand, other))
        return false;
    struct array is = array_of(&operand->type, operand->constant->data),
                 reference = array_of(&other->type, other->constant->data);
    if (!difference_begin(difference, &is, &is.shape, &reference, &reference.shape, &default_tolerances))
        return false;
    difference_add(difference, &default_tolerances, 0, &is, 0, &reference, 0);
    return true;
}

// An operand of the node that parts.
struct cause {
    const char *what; // "input"
    struct string name;
    const struct operand *operand;
    struct difference difference;
    bool compared;
};

static struct string name_of(const struct node_comparison *comparison, const struct operand *operand)
{
    const struct model *model = &comparison->side->model;
    const struct node_value *value = node_values_of(&comparison->values, operand);
    if (operand->input || value)
        return operand->input ? wnn_operand_name(operand) : value->name;
    for (size_t i = 0; i < model->name_count; i++)
        if (wnn_operand(model->names[i].operand) == operand)
            return model->names[i].name;
    return STRING("");
}

static struct cause find_cause(const struct node_comparison *comparison, const struct node_pair *first,
                               unsigned input)
{
    const struct operand *operand = first->value->node->in[input];
    const struct node *other = first->other ? first->other->node : NULL;
    struct cause cause = {.operand = operand, .name = name_of(comparison, operand)};
    cause.what = operand->input ? "input" : operand->constant ? "constant" : "value";
    const struct node_pair *pair = operand->producer ? find_pair(comparison, operand) : NULL;
    if (pair && pair->compared) {
        cause.difference = pair->difference;
        cause.compared = true;
    } else if (operand->constant && other && other->op == first->value->node->op && input < other->in_count) {
        cause.compared = compare_constants(operand, other->in[input], &cause.difference);
    }
    return cause;
}

static void show_cause(const struct cause *cause)
{
    struct array array = array_of(&cause->operand->type, NULL);
    printf("    of the %s%s%s, %s", cause->what, cause->name.length ? " " : "", SHOWN(cause->name),
           type_text(array.element, &array.shape, (char[TYPE_TEXT]){0}));
    if (cause->compared)
        printf(": %s%s", difference_text(&cause->difference, (char[DIFFERENCE_TEXT]){0}),
               difference_within(&cause->difference) ? "" : ", which is beyond");
    else if (cause->operand->producer)
        printf(": not compared");
    printf("\n");
}

static void show_first(const struct node_comparison *comparison)
{
    const struct node_pair *first = comparison->first;
    const struct node *node = first->value->node;
    printf("They part first at the node %u, %s%s%s%s, with the value\n", (unsigned)node->index,
           wnn_ops[node->op].name, node->label.length ? " \"" : "", SHOWN(node->label),
           node->label.length ? "\"" : "");
    difference_show(first->value->name, &first->difference, 1);
    for (unsigned i = 0; i < node->in_count; i++) {
        if (!node->in[i])
            continue;
        struct cause cause = find_cause(comparison, first, i);
        show_cause(&cause);
    }
}

void compare_nodes_show(const struct node_comparison *comparison, bool all, bool outputs_part)
{
    for (size_t i = 0; all && i < comparison->count; i++) {
        const struct node_pair *pair = &comparison->pairs[i];
        if (pair->compared)
            printf("  %-6s %s, %s: %s\n", difference_within(&pair->difference) ? "within" : "beyond",
                   SHOWN(pair->value->name), wnn_ops[pair->value->node->op].name,
                   difference_text(&pair->difference, (char[DIFFERENCE_TEXT]){0}));
    }
    printf("%zu of %zu values were compared.\n", comparison->compared, comparison->values.count);
    if (comparison->first)
        show_first(comparison);
    else if (outputs_part && comparison->compared == comparison->values.count)
        puts("None of them parts, computed apart: what the compiler makes of several nodes together does.\n"
             "--without-pass=NAME tells which of its passes (webnn graph --passes).");
    else
        puts("None of them parts.");
}

static cJSON *cause_json(const struct cause *cause)
{
    cJSON *object;
    struct array array = array_of(&cause->operand->type, NULL);
    if (cause->compared) {
        object = difference_json(cause->name, &cause->difference);
    } else {
        object = must(cJSON_CreateObject());
        json_add_string(object, "name", cause->name);
        must(cJSON_AddStringToObject(object, "type", array.element->name));
        json_add_shape(object, "shape", &array.shape);
    }
    must(cJSON_AddStringToObject(object, "kind", cause->what));
    return object;
}

static cJSON *pair_json(const struct node_pair *pair)
{
    const struct node *node = pair->value->node;
    cJSON *object = difference_json(pair->value->name, &pair->difference);
    must(cJSON_AddNumberToObject(object, "node", node->index));
    must(cJSON_AddStringToObject(object, "operator", wnn_ops[node->op].name));
    json_add_string(object, "label", node->label);
    return object;
}

cJSON *compare_nodes_json(const struct node_comparison *comparison, bool all)
{
    cJSON *object = must(cJSON_CreateObject());
    must(cJSON_AddNumberToObject(object, "values", (double)comparison->values.count));
    must(cJSON_AddNumberToObject(object, "compared", (double)comparison->compared));
    if (comparison->first) {
        cJSON *first = pair_json(comparison->first),
              *operands = must(cJSON_AddArrayToObject(first, "operands"));
        const struct node *node = comparison->first->value->node;
        cJSON_AddItemToObject(object, "first", first);
        for (unsigned i = 0; i < node->in_count; i++) {
            if (!node->in[i])
                continue;
            struct cause cause = find_cause(comparison, comparison->first, i);
            cJSON_AddItemToArray(operands, cause_json(&cause));
        }
    }
    cJSON *list = all ? must(cJSON_AddArrayToObject(object, "all")) : NULL;
    for (size_t i = 0; all && i < comparison->count; i++)
        if (comparison->pairs[i].compared)
            cJSON_AddItemToArray(list, pair_json(&comparison->pairs[i]));
    return object;
}
