// SPDX-License-Identifier: Apache-2.0
#include "tools/find_nan.h"

#include "lib/half.h"
#include "tools/memory.h"
#include "tools/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOT_A_NUMBER,
    INFINITE
};

static const char *const kind_names[] = {"NaN", "infinity"};

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

// The first element of either kind; `count` if there is none.
static void scan(const struct operand *operand, const void *data, size_t at[2], size_t *count)
{
    *count = wnn_shape_elements(&operand->type.shape);
    at[NOT_A_NUMBER] = at[INFINITE] = *count;
    if (!data || (operand->type.type != WNNDataType_Float32 && operand->type.type != WNNDataType_Float16))
        return;
    for (size_t i = 0; i < *count; i++) {
        double value = element_of(data, operand->type.type, i);
        if (isfinite(value))
            continue;
        int kind = isnan(value) ? NOT_A_NUMBER : INFINITE;
        if (at[kind] == *count)
            at[kind] = i;
    }
}

static void before(const struct observer *observer, const struct node *node,
                   const struct operand_resolver *resolver)
{
    struct nan_finder *finder = (struct nan_finder *)(uintptr_t)observer;
    finder->watched = true;
    finder->given = false;
    for (unsigned i = 0; i < node->in_count; i++) {
        const struct operand *operand = node->in[i];
        if (!operand)
            continue;
        size_t at[2], count;
        if (operand->constant) {
            finder->given |= operand->index < finder->constant_count && finder->constants[operand->index];
            continue;
        }
        scan(operand, resolver->locate(resolver, operand), at, &count);
        for (int kind = 0; kind < 2; kind++) {
            finder->given |= at[kind] < count;
            if (at[kind] == count || !operand->input || finder->input[kind].found)
                continue;
            finder->input[kind] = (struct sighting){.found = true, .element = at[kind]};
            finder->input_of[kind] = operand;
        }
    }
}

static void after(const struct observer *observer, const struct node *node,
                  const struct operand_resolver *resolver)
{
    struct nan_finder *finder = (struct nan_finder *)(uintptr_t)observer;
    for (unsigned i = 0; i < node->out_count; i++) {
        const void *data = resolver->locate(resolver, node->out[i]);
        size_t at[2], count;
        scan(node->out[i], data, at, &count);
        for (int kind = 0; kind < 2; kind++)
            if (at[kind] < count && !finder->given && !finder->first[kind].found)
                finder->first[kind] = (struct sighting){true, node, i, at[kind],
                                                        element_of(data, node->out[i]->type.type, at[kind])};
    }
}

// Runs on the context's worker after each pass; the last one leaves the operands as they are executed.
static void look_at_constants(void *argument, const char *pass, const struct graph *graph)
{
    struct nan_finder *finder = argument;
    size_t last = 0;
    while (wnn_pass_names[last + 1])
        last++;
    if (strcmp(pass, wnn_pass_names[last]) != 0)
        return;
    free(finder->constants);
    finder->constant_count = graph->operand_count;
    finder->constants = must_allocate(graph->operand_count);
    for (size_t i = 0; i < graph->operand_count; i++) {
        size_t at[2], count;
        if (!graph->operands[i]->constant)
            continue;
        scan(graph->operands[i], graph->operands[i]->constant->data, at, &count);
        finder->constants[i] = at[NOT_A_NUMBER] < count || at[INFINITE] < count;
    }
}

void nan_finder_prepare(struct nan_finder *finder, WNNContext context)
{
    memset(finder, 0, sizeof *finder);
    wnn_context_set_compile_options(context, wnn_pass_bit("fuse_elementwise"), false, look_at_constants,
                                    finder);
}

void nan_finder_free(struct nan_finder *finder)
{
    free(finder->constants);
    finder->constants = NULL;
}

static void print_source(const char *what, struct string name, int kind, size_t element)
{
    printf("The %s %s holds a%s %s (element %zu).\n", what, SHOWN(name), kind == INFINITE ? "n" : "",
           kind_names[kind], element);
}

// Of the model as it was recorded, where constants have names.
static void print_constants(const struct model *model)
{
    enum {
        MAX_LINES = 8
    };
    size_t lines = 0;
    for (size_t i = 0; i < model->name_count; i++) {
        const struct operand *operand = wnn_operand(model->names[i].operand);
        size_t at[2], count;
        if (!operand->constant)
            continue;
        scan(operand, operand->constant->data, at, &count);
        for (int kind = 0; kind < 2; kind++)
            if (at[kind] < count && lines++ < MAX_LINES)
                print_source("constant", model->names[i].name, kind, at[kind]);
    }
    if (lines > MAX_LINES)
        printf("So do %zu others.\n", lines - MAX_LINES);
}

void nan_finder_begin(struct nan_finder *finder, WNNGraph graph)
{
    finder->observer = (struct observer){before, after};
    finder->graph = graph;
    wnn_graph_watch(graph, &finder->observer);
}

bool nan_finder_end(struct nan_finder *finder, const struct model *model, struct error *error)
{
    wnn_graph_watch(finder->graph, NULL);
    if (!finder->watched)
        return wnn_fail(error, WNNStatus_OperationError,
                        "no node was seen: the backend cannot be watched, or nothing is left to compute");
    print_constants(model);
    for (int kind = 0; kind < 2; kind++) {
        const struct sighting *first = &finder->first[kind];
        if (finder->input[kind].found)
            print_source("input", finder->input_of[kind]->name, kind, finder->input[kind].element);
        if (!first->found)
            continue;
        const struct node *node = first->node;
        const struct descriptor *type = &node->out[first->output]->type;
        printf("The first %s that its operands do not explain: %g, made by %s%s%s%s (node %u), "
               "element %zu of output %u, %s%s.\n",
               kind_names[kind], kind == NOT_A_NUMBER ? (double)NAN : first->value, wnn_ops[node->op].name,
               node->label.length ? " \"" : "", SHOWN(node->label), node->label.length ? "\"" : "",
               (unsigned)node->index, first->element, first->output, wnn_dtype_name(type->type),
               SHAPE_TEXT(&type->shape));
    }
    if (!finder->first[NOT_A_NUMBER].found && !finder->first[INFINITE].found)
        puts("No node makes a NaN or an infinity of finite operands.");
    return true;
}
