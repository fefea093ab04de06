// SPDX-License-Identifier: Apache-2.0
#include "tools/find_nan.h"

#include "lib/half.h"
#include "tools/memory.h"
#include "tools/sources.h"
#include "tools/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[NAN_KINDS] = {"NaN", "infinity"};

// ---------------------------------------------------------------------------------------------------------------
// Elements
// ---------------------------------------------------------------------------------------------------------------

static double element_of(const void *data, WNNDataType type, size_t index)
{
    if (type == WNNDataType_Float16) {
        uint16_t bits;
        memcpy(&bits, (const char *)data + index * sizeof bits, sizeof bits);
        return (double)wnn_half_to_float(bits);
    }
    float value;
    memcpy(&value, (const char *)data + index * sizeof value, sizeof value);
    return (double)value;
}

static struct nan_scan scan(const struct operand *operand, const void *data)
{
    struct nan_scan result = {{0}, {0}};
    WNNDataType type = operand->type.type;
    size_t count = wnn_shape_elements(&operand->type.shape);
    if (!data || !wnn_dtype_is_float(type))
        return result;
    for (size_t i = 0; i < count; i++) {
        double value = element_of(data, type, i);
        if (isfinite(value))
            continue;
        enum nan_kind kind = isnan(value) ? NOT_A_NUMBER : INFINITE;
        if (result.count[kind]++ == 0)
            result.first[kind] = i;
    }
    return result;
}

static bool has_any(const struct nan_scan *found)
{
    return found->count[NOT_A_NUMBER] || found->count[INFINITE];
}

// ---------------------------------------------------------------------------------------------------------------
// Watching
// ---------------------------------------------------------------------------------------------------------------

static void note_input(struct nan_finder *finder, const struct operand *input, const struct nan_scan *found)
{
    for (int kind = 0; kind < NAN_KINDS; kind++)
        if (found->count[kind] && !finder->input[kind]) {
            finder->input[kind] = input;
            finder->input_scan[kind] = *found;
        }
}

static void before(const struct observer *observer, const struct node *node,
                   const struct operand_resolver *resolver)
{
    struct nan_finder *finder = (struct nan_finder *)(uintptr_t)observer;
    finder->watched = true;
    finder->given = finder->given_constant = false;
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        const struct operand *operand = node->in[i];
        if (operand && operand->constant) {
            finder->given_constant |=
                operand->index < finder->constant_count && finder->constants[operand->index];
        } else if (operand) {
            struct nan_scan found = scan(operand, resolver->locate(resolver, operand));
            finder->given |= has_any(&found);
            if (operand->input)
                note_input(finder, operand, &found);
        }
    }
}

static void after(const struct observer *observer, const struct node *node,
                  const struct operand_resolver *resolver)
{
    struct nan_finder *finder = (struct nan_finder *)(uintptr_t)observer;
    struct nan_sighting *to = finder->given_constant ? finder->entry : finder->made;
    for (unsigned i = 0; !finder->given && i < node->out_count; i++) {
        const void *data = resolver->locate(resolver, node->out[i]);
        struct nan_scan found = scan(node->out[i], data);
        for (int kind = 0; kind < NAN_KINDS; kind++) {
            size_t first = found.first[kind];
            if (found.count[kind] && !to[kind].found)
                to[kind] = (struct nan_sighting){true, node, i, first,
                                                 element_of(data, node->out[i]->type.type, first)};
        }
    }
}

static void look_at_constants(struct nan_finder *finder, const struct graph *graph)
{
    free(finder->constants);
    finder->constant_count = graph->operand_count;
    finder->constants = must_allocate(graph->operand_count);
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        struct nan_scan found = scan(operand, operand->constant ? operand->constant->data : NULL);
        finder->constants[i] = has_any(&found);
    }
}

// Runs on the context's worker after each pass; the last one leaves the operands as they are executed.
static void look_after_passes(void *argument, const char *pass, const struct graph *graph)
{
    size_t last = 0;
    while (wnn_pass_names[last + 1])
        last++;
    if (strcmp(pass, wnn_pass_names[last]) == 0)
        look_at_constants(argument, graph);
}

// ---------------------------------------------------------------------------------------------------------------
// Without a backend that shows operands
// ---------------------------------------------------------------------------------------------------------------

static bool is_exposed(const struct node_value *value)
{
    return wnn_dtype_is_float(value->operand->type.type);
}

static void expose(struct nan_finder *finder, struct model *model)
{
    node_values_collect(&finder->values, model);
    const struct operand **operands = must_allocate((finder->values.count + 1) * sizeof *operands);
    size_t count = 0;
    for (size_t i = 0; i < finder->values.count; i++)
        if (is_exposed(&finder->values.items[i]))
            operands[count++] = finder->values.items[i].operand;
    finder->first_output = model_add_values(model, count, operands);
    free(operands);
    look_at_constants(finder, model_graph(model));
}

static void find_places(struct nan_finder *finder, const struct graph *graph, const struct subject *subject)
{
    size_t output = finder->first_output;
    finder->place_count = graph->operand_count;
    finder->places = must_allocate(graph->operand_count * sizeof *finder->places);
    for (size_t i = 0; i < finder->values.count; i++)
        if (is_exposed(&finder->values.items[i]))
            finder->places[finder->values.items[i].operand->index] = subject->outputs[output++].data;
    for (size_t i = 0; i < graph->operand_count; i++)
        for (size_t k = 0; graph->operands[i]->input && k < subject->input_count; k++)
            if (wnn_string_equal(wnn_operand_name(graph->operands[i]), subject->inputs[k].name))
                finder->places[i] = subject->inputs[k].data;
}

struct place_resolver {
    struct operand_resolver resolver; // first
    const struct nan_finder *finder;
};

static const void *locate(const struct operand_resolver *resolver, const struct operand *operand)
{
    const struct nan_finder *finder = ((const struct place_resolver *)resolver)->finder;
    return operand->index < finder->place_count ? finder->places[operand->index] : NULL;
}

void nan_finder_look(struct nan_finder *finder)
{
    const struct place_resolver resolver = {{locate}, finder};
    const struct node *last = NULL;
    for (size_t i = 0; i < finder->values.count; i++) {
        const struct node *node = finder->values.items[i].node;
        if (node == last)
            continue; // a further output of it
        before(&finder->observer, node, &resolver.resolver);
        after(&finder->observer, node, &resolver.resolver);
        last = node;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// From the beginning to the end
// ---------------------------------------------------------------------------------------------------------------

void nan_finder_prepare(struct nan_finder *finder, struct session *session, struct model *model)
{
    memset(finder, 0, sizeof *finder);
    finder->exposes = !session->backend->shows_operands;
    uint32_t skip = wnn_pass_bit("fuse_elementwise") | wnn_pass_bit("fold_constants");
    if (finder->exposes)
        expose(finder, model);
    else
        wnn_context_set_compile_options(session->context, skip, false, look_after_passes, finder);
}

void nan_finder_begin(struct nan_finder *finder, const struct model *model, const struct subject *subject)
{
    finder->observer = (struct observer){before, after};
    finder->graph = subject->graph;
    if (finder->exposes)
        find_places(finder, model_graph(model), subject);
    else
        wnn_graph_watch(finder->graph, &finder->observer);
}

void nan_finder_free(struct nan_finder *finder)
{
    free(finder->constants);
    free(finder->places);
    node_values_free(&finder->values);
    finder->constants = NULL;
    finder->places = NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// What was found
// ---------------------------------------------------------------------------------------------------------------

// "[3, 4]": where an element is.
#define PLACE_TEXT 128
static const char *place_text(const struct shape *shape, size_t element, char buffer[PLACE_TEXT])
{
    uint32_t index[WNN_MAX_RANK];
    struct text text = {buffer, PLACE_TEXT, 0};
    for (unsigned i = shape->rank; i-- > 0; element /= shape->dim[i])
        index[i] = (uint32_t)(element % shape->dim[i]);
    wnn_text_add(&text, "[");
    for (unsigned i = 0; i < shape->rank; i++)
        wnn_text_add(&text, i ? ", %u" : "%u", (unsigned)index[i]);
    wnn_text_add(&text, "]");
    return buffer;
}
#define PLACE(shape, element) place_text((shape), (element), (char[PLACE_TEXT]){0})

// `what` is the source, "constant w".
static void print_source(const char *what, const struct shape *shape, enum nan_kind kind,
                         const struct nan_scan *found)
{
    printf("The %s holds a%s %s (element %zu) at %s; %zu of its %zu elements %s.\n", what,
           kind == INFINITE ? "n" : "", kind_names[kind], found->first[kind],
           PLACE(shape, found->first[kind]), found->count[kind], wnn_shape_elements(shape),
           kind == INFINITE ? "are infinite" : "are NaN");
}

// A node of the model that reads a constant, for one that has no name.
static const struct node *find_reader(const struct graph *graph, const struct operand *constant)
{
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned j = 0; j < graph->nodes[i]->in_count; j++)
            if (graph->nodes[i]->in[j] == constant)
                return graph->nodes[i];
    return NULL;
}

static void print_constant(const struct graph *graph, const struct operand *constant, struct string name,
                           enum nan_kind kind, const struct nan_scan *found)
{
    char what[2 * TERMINAL_TEXT];
    const struct node *reader = name.length ? NULL : find_reader(graph, constant);
    struct text text = TEXT(what);
    wnn_text_add(&text, "constant %s", SHOWN(name));
    if (name.length == 0)
        wnn_text_add(&text, "of %s%s", wnn_dtype_name(constant->type.type),
                     SHAPE_TEXT(&constant->type.shape));
    if (reader) {
        struct string label = wnn_string(((const WNNOperatorOptions *)reader->attrs)->label);
        wnn_text_add(&text, " that %s%s%s reads", wnn_ops[reader->op].name, label.length ? " " : "",
                     SHOWN(label));
    }
    print_source(what, &constant->type.shape, kind, found);
}

// Of the model as it was recorded, where constants have names, as far as the outputs depend on them.
static void print_constants(const struct model *model)
{
    enum {
        MAX_LINES = 8
    };
    const struct graph *graph = model_graph(model);
    struct string *names = must_allocate(graph->operand_count * sizeof *names);
    size_t lines = 0;
    for (size_t i = model->name_count; i-- > 0;)
        names[wnn_operand(model->names[i].operand)->index] = model->names[i].name;
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (!operand->constant || !operand->link)
            continue;
        struct nan_scan found = scan(operand, operand->constant->data);
        for (int kind = 0; kind < NAN_KINDS; kind++)
            if (found.count[kind] && lines++ < MAX_LINES)
                print_constant(graph, operand, names[i].data ? names[i] : (struct string){"", 0},
                               (enum nan_kind)kind, &found);
    }
    if (lines > MAX_LINES)
        printf("So do %zu others.\n", lines - MAX_LINES);
    free(names);
}

static void print_inputs(const struct nan_finder *finder)
{
    for (int kind = 0; kind < NAN_KINDS; kind++) {
        const struct operand *input = finder->input[kind];
        char what[TERMINAL_TEXT + 16];
        if (!input)
            continue;
        snprintf(what, sizeof what, "input %s", SHOWN(wnn_operand_name(input)));
        print_source(what, &input->type.shape, (enum nan_kind)kind, &finder->input_scan[kind]);
    }
}

// NULL sources: the node is one of the model.
static void print_sighting(const struct sources *sources, const char *what, enum nan_kind kind,
                           const struct nan_sighting *seen)
{
    const struct node *node = seen->node;
    const struct descriptor *type = &node->out[seen->output]->type;
    printf("%s: %g, made by %s%s%s%s", what, kind == NOT_A_NUMBER ? (double)NAN : seen->value,
           wnn_ops[node->op].name, node->label.length ? " \"" : "", SHOWN(node->label),
           node->label.length ? "\"" : "");
    if (sources)
        printf(" (node %u: %s)", (unsigned)node->index,
               sources_text(sources, &sources->nodes[node->index], (char[SOURCES_TEXT]){0}));
    printf(", element %zu of output %u, at %s of %s%s.\n", seen->element, seen->output,
           PLACE(&type->shape, seen->element), wnn_dtype_name(type->type), SHAPE_TEXT(&type->shape));
}

static void print_sightings(const struct nan_finder *finder, const struct sources *sources)
{
    char what[64];
    for (int kind = 0; kind < NAN_KINDS; kind++) {
        snprintf(what, sizeof what, "The first %s that comes of a constant", kind_names[kind]);
        if (finder->entry[kind].found)
            print_sighting(sources, what, (enum nan_kind)kind, &finder->entry[kind]);
    }
    for (int kind = 0; kind < NAN_KINDS; kind++) {
        snprintf(what, sizeof what, "The first %s that its operands do not explain", kind_names[kind]);
        if (finder->made[kind].found)
            print_sighting(sources, what, (enum nan_kind)kind, &finder->made[kind]);
    }
}

bool nan_finder_end(struct nan_finder *finder, const struct model *model, struct error *error)
{
    if (!finder->exposes)
        wnn_graph_watch(finder->graph, NULL);
    if (!finder->watched)
        return wnn_fail(error, WNNStatus_OperationError, "no node was seen: nothing is left to compute");
    struct sources sources = {.items = NULL};
    if (!finder->exposes)
        sources_find(&sources, model, finder->graph);
    print_constants(model);
    print_inputs(finder);
    print_sightings(finder, finder->exposes ? NULL : &sources);
    if (!finder->made[NOT_A_NUMBER].found && !finder->made[INFINITE].found)
        puts("No node makes a NaN or an infinity of finite operands.");
    sources_free(&sources);
    return true;
}
