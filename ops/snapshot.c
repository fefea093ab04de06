// SPDX-License-Identifier: Apache-2.0
//
// The part of build() that happens on the caller's thread:
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-build

#include "ops/bind.h"
#include "ops/builder.h"
#include "ops/reachable.h"
#include "ops/shaping.h"

#include <stdlib.h>
#include <string.h>

#define NAME_TEXT 128

static bool fail_named(struct error *error, const char *before, struct string name, const char *after)
{
    char buffer[NAME_TEXT * 5];
    struct text text = TEXT(buffer);
    wnn_text_add(&text, "%s\"", before);
    wnn_text_add_quoted(&text, name, NAME_TEXT);
    wnn_text_add(&text, "\"%s", after);
    return wnn_fail(error, WNNStatus_TypeError, "%s", buffer);
}

static int compare_ports(const void *a, const void *b)
{
    const struct string *x = &((const struct graph_port *)a)->name,
                        *y = &((const struct graph_port *)b)->name;
    size_t shorter = x->length < y->length ? x->length : y->length;
    int order = shorter ? memcmp(x->data, y->data, shorter) : 0;
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

bool wnn_check_port_names(struct arena *arena, const struct graph_port *ports, size_t count, const char *what,
                          struct error *error)
{
    struct arena_mark mark = wnn_arena_mark(arena);
    struct graph_port *sorted = wnn_arena_copy(arena, ports, count * sizeof ports[0]);
    if (!sorted)
        return wnn_fail_memory(error);
    if (count)
        qsort(sorted, count, sizeof sorted[0], compare_ports);
    bool differ = true;
    for (size_t i = 1; differ && i < count; i++)
        if (compare_ports(&sorted[i - 1], &sorted[i]) == 0)
            differ = fail_named(error, what, sorted[i].name, " twice");
    wnn_arena_rewind(arena, mark);
    return differ;
}

static bool check_outputs(struct WNNGraphBuilderImpl *builder, size_t count, const WNNNamedOperand *outputs,
                          struct error *error)
{
    if (count == 0 || !outputs)
        return wnn_fail(error, WNNStatus_TypeError, "build: there are no outputs");
    uint32_t most = builder->limits.maxInputsAndOutputs;
    if (most && count > most)
        return wnn_fail(error, WNNStatus_TypeError, "build: %zu outputs; expected at most %u", count, most);
    uint64_t room = builder->limits.maxTotalStringBytes;
    for (size_t i = 0; i < count; i++) {
        struct operand *operand = wnn_operand(outputs[i].operand);
        if (!wnn_check_string(&builder->limits, "build: the name of an output", outputs[i].name, error))
            return false;
        struct string name = wnn_string(outputs[i].name);
        if (name.length == 0)
            return wnn_fail(error, WNNStatus_TypeError, "build: the name of output %zu is empty", i);
        if (builder->limits.maxTotalStringBytes && name.length >= room)
            return wnn_fail(error, WNNStatus_OutOfMemory,
                            "build: the names of outputs have more than the limit of %llu bytes in all",
                            (unsigned long long)builder->limits.maxTotalStringBytes);
        room -= builder->limits.maxTotalStringBytes ? name.length + 1 : 0;
        if (!operand)
            return fail_named(error, "build: output ", name, " is NULL");
        if (operand->graph != &builder->graph)
            return fail_named(error, "build: output ", name, " is an operand of another builder");
        if (operand->constant)
            return fail_named(error, "build: output ", name,
                              " is a constant; identity() makes an output of it");
        if (operand->input)
            return fail_named(error, "build: output ", name,
                              " is an input; identity() makes an output of it");
    }
    return true;
}

static bool copy_operand(struct operand *from, struct graph *graph)
{
    struct operand *to = from->constant
                             ? wnn_graph_add_constant(graph, &from->type, wnn_constant_ref(from->constant))
                             : wnn_graph_add_operand(graph, &from->type);
    if (!to)
        return false;
    to->input = from->input;
    const struct operand_details *details = wnn_details(from);
    struct operand_details *copy = from->input ? wnn_graph_detail(to) : NULL;
    if (copy)
        copy->name = details->name;
    if (from->input &&
        (!copy ||
         (details->named && !(copy->named = wnn_arena_copy(&graph->arena, details->named,
                                                           from->type.shape.rank * sizeof *details->named)))))
        return false;
    from->link = to;
    return true;
}

static bool is_needed(const struct node *node)
{
    for (unsigned j = 0; j < node->out_count; j++)
        if (node->out[j]->link)
            return true;
    return false;
}

static bool copy_node(const struct node *from, struct graph *graph)
{
    struct arena *arena = &graph->arena;
    struct descriptor *types = wnn_arena_allocate(arena, from->out_count * sizeof types[0]);
    if (!types)
        return false;
    for (unsigned i = 0; i < from->out_count; i++)
        types[i] = from->out[i]->type;
    struct node *to = wnn_graph_add_node(graph, from->op, from->in_count, from->out_count, types);
    if (!to || !(to->attrs = wnn_op_copy_attrs(arena, (enum op)from->op, from->attrs)))
        return false;
    to->label = wnn_string(((const WNNOperatorOptions *)to->attrs)->label);
    for (unsigned i = 0; i < from->in_count; i++)
        to->in[i] = from->in[i] ? from->in[i]->link : NULL;
    for (unsigned i = 0; i < from->out_count; i++) {
        to->out[i]->unranked = from->out[i]->unranked;
        from->out[i]->link = to->out[i];
    }
    return true;
}

// Inputs and constants first, in the order in which they were recorded, then the nodes.
static bool copy_reachable(const struct graph *from, bool (*tensor_alive)(const void *origin),
                           struct graph *graph, struct error *error)
{
    for (size_t i = 0; i < from->operand_count; i++) {
        struct operand *operand = from->operands[i];
        if (!operand->link || operand->producer)
            continue;
        const void *origin = wnn_details(operand)->origin;
        if (origin && !tensor_alive(origin))
            return wnn_fail(error, WNNStatus_TypeError, "build: a constant's tensor has been destroyed");
        if (!copy_operand(operand, graph))
            return wnn_fail_memory(error);
        graph->input_count += operand->input;
    }
    for (size_t i = 0; i < from->node_count; i++)
        if (is_needed(from->nodes[i]) && !copy_node(from->nodes[i], graph))
            return wnn_fail_memory(error);
    return true;
}

static bool add_ports(struct graph *graph, size_t count, const WNNNamedOperand *outputs, struct error *error)
{
    struct arena *arena = &graph->arena;
    graph->inputs = wnn_arena_allocate(arena, graph->input_count * sizeof graph->inputs[0]);
    graph->outputs = wnn_arena_allocate(arena, count * sizeof graph->outputs[0]);
    if (!graph->inputs || !graph->outputs)
        return wnn_fail_memory(error);
    size_t input = 0;
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->input)
            graph->inputs[input++] =
                (struct graph_port){wnn_operand_name(graph->operands[i]), graph->operands[i]};
    for (size_t i = 0; i < count; i++) {
        struct string name = wnn_string_copy(arena, wnn_string(outputs[i].name));
        if (!name.data)
            return wnn_fail_memory(error);
        graph->outputs[graph->output_count++] =
            (struct graph_port){name, wnn_operand(outputs[i].operand)->link};
    }
    return true;
}

bool wnn_check_graph_work(const WNNLimits *limits, struct graph *graph, struct error *error)
{
    uint64_t most = limits->maxGraphWork;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        struct descriptor out[3];
        for (unsigned j = 0; j < node->out_count && j < 3; j++)
            out[j] = node->out[j]->type;
        uint64_t work = wnn_op_work((enum op)node->op, node->in, out,
                                    node->out_count < 3 ? node->out_count : 3, node->attrs);
        if (!wnn_add(graph->work, work, &graph->work))
            graph->work = UINT64_MAX;
    }
    return most == 0 || graph->work <= most ||
           wnn_fail(error, WNNStatus_OperationError, "build: the graph takes more than %llu multiply-adds",
                    (unsigned long long)most);
}

bool wnn_builder_snapshot(struct WNNGraphBuilderImpl *builder, size_t output_count,
                          const WNNNamedOperand *outputs, bool (*tensor_alive)(const void *origin),
                          struct graph *graph, struct error *error)
{
    if (builder->error.status != WNNStatus_Success) {
        *error = builder->error;
        return false;
    }
    if (!check_outputs(builder, output_count, outputs, error))
        return false;
    if (!wnn_mark_reachable(&builder->graph, output_count, outputs))
        return wnn_fail_memory(error);
    graph->strings = wnn_string_pool_ref(builder->graph.strings);
    if (!wnn_sizes_copy(&builder->graph.sizes, &graph->sizes))
        return wnn_fail_memory(error);
    if (!copy_reachable(&builder->graph, tensor_alive, graph, error) ||
        !add_ports(graph, output_count, outputs, error) ||
        !wnn_check_port_names(&graph->arena, graph->inputs, graph->input_count, "build: there is an input ",
                              error) ||
        !wnn_check_port_names(&graph->arena, graph->outputs, graph->output_count,
                              "build: there is an output ", error))
        return false;
    uint32_t most = builder->limits.maxInputsAndOutputs;
    if (most && graph->input_count + graph->output_count > most)
        return wnn_fail(error, WNNStatus_TypeError, "build: %zu inputs and outputs; expected at most %u",
                        graph->input_count + graph->output_count, most);
    if (wnn_graph_is_symbolic(graph))
        return true;
    return wnn_graph_has_shaping(graph) ? wnn_settle_graph(graph, &builder->limits, &builder->graph, error)
                                        : wnn_check_graph_work(&builder->limits, graph, error);
}
