// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph_info.h"

#include "runtime/internal.h"
#include "runtime/spin.h"
#include "runtime/trace.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// What a node is
// ---------------------------------------------------------------------------------------------------------------

// `reader`: by operand, 1 + the number of the last node by which it was counted.
static uint64_t node_bytes(const struct node *node, uint32_t *reader)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        const struct operand *in = node->in[i];
        if (!in || reader[in->index] == node->index + 1)
            continue;
        reader[in->index] = node->index + 1;
        bytes += wnn_descriptor_bytes(&in->type);
    }
    for (unsigned i = 0; i < node->out_count; i++)
        bytes += wnn_descriptor_bytes(&node->out[i]->type);
    return bytes;
}

// `types` has room for the outputs of the node.
static uint64_t node_operations(const struct node *node, struct descriptor *types)
{
    for (unsigned i = 0; i < node->out_count; i++)
        types[i] = node->out[i]->type;
    uint64_t work = wnn_op_work((enum op)node->op, node->in, types, node->out_count, node->attrs);
    if (wnn_op_multiplies((enum op)node->op))
        work = work <= UINT64_MAX / 2 ? 2 * work : UINT64_MAX;
    for (const struct expression *fused = node->fused; fused; fused = fused->next) {
        uint64_t elements = wnn_shape_elements(&fused->steps[fused->count - 1].type.shape);
        if (__builtin_add_overflow(work, fused->count * elements, &work))
            return UINT64_MAX;
    }
    return work;
}

// ---------------------------------------------------------------------------------------------------------------
// While it is built
// ---------------------------------------------------------------------------------------------------------------

// In a trace: ends the part of the build before, and begins another, if it is not NULL.
static void begin_part(WNNGraph graph, const char *part)
{
    if (graph->info.part)
        wnn_trace_end(graph->context, graph->info.part);
    if (part)
        wnn_trace_begin(graph->context, part, NULL);
    graph->info.part = part;
}

void wnn_graph_info_begin(WNNGraph graph, const struct graph *recorded, uint64_t id)
{
    const char *backend = graph->context->backend->name;
    WNNGraphInfo *info = &graph->info.info;
    *info = (WNNGraphInfo){
        .backend = {backend, strlen(backend)}, .id = id, .recordedOperators = recorded->node_count};
    for (size_t i = 0; i < recorded->operand_count; i++)
        if (recorded->operands[i]->constant)
            info->constantBytes += recorded->operands[i]->constant->bytes;
    graph->info.begin = wnn_nanoseconds();
    begin_part(graph, "compile");
}

bool wnn_graph_info_compiled(WNNGraph graph, const struct plan *plan, struct error *error)
{
    struct graph_info *info = &graph->info;
    size_t count = plan->graph.node_count, outputs = 1;
    info->compiled = wnn_nanoseconds();
    begin_part(graph, "lower");
    for (size_t i = 0; i < count; i++)
        outputs = plan->graph.nodes[i]->out_count > outputs ? plan->graph.nodes[i]->out_count : outputs;
    struct descriptor *types = wnn_allocate(&graph->context->allocator, outputs * sizeof *types);
    uint32_t *reader =
        wnn_allocate_zero(&graph->context->allocator, plan->graph.operand_count * sizeof *reader);
    info->nodes = wnn_arena_allocate(&graph->arena, count * sizeof info->nodes[0]);
    bool enough = types && reader && info->nodes;
    for (size_t i = 0; enough && i < count; i++) {
        const struct node *node = plan->graph.nodes[i];
        info->nodes[i] = (struct node_record){.op = node->op,
                                              .label = node->label,
                                              .bytes = node_bytes(node, reader),
                                              .operations = node_operations(node, types)};
    }
    info->strings = wnn_string_pool_ref(plan->graph.strings);
    info->info.nodeCount = count;
    wnn_release(&graph->context->allocator, reader);
    wnn_release(&graph->context->allocator, types);
    return enough || wnn_fail_memory(error);
}

void wnn_graph_info_failed(WNNGraph graph)
{
    begin_part(graph, NULL);
    wnn_graph_info_free(graph);
}

static void log_graph(WNNGraph graph)
{
    const WNNLog *log = &graph->context->log;
    const WNNGraphInfo *info = &graph->info.info;
    if (!wnn_logs(log, WNNLogLevel_Info))
        return;
    wnn_log(log, Info, "graph of %llu operators: %llu nodes, built in %.1f ms",
            (unsigned long long)info->recordedOperators, (unsigned long long)info->nodeCount,
            (double)info->buildNanoseconds * 1e-6);
    for (size_t i = 0; i < info->nodeCount; i++) {
        const struct node_record *node = &graph->info.nodes[i];
        const char *name = wnn_ops[node->op].name;
        if (node->reason && node->reason[0])
            wnn_log(log, Info, "%s \"%.*s\" is computed by %s: %s", name, (int)node->label.length,
                    node->label.data, node->kernel ? node->kernel : graph->context->backend->name,
                    node->reason);
    }
}

void wnn_graph_info_lowered(WNNGraph graph)
{
    begin_part(graph, NULL);
    const struct backend *backend = graph->context->backend;
    struct graph_info *info = &graph->info;
    struct executable_size size = {.execution = graph->plan->arena_bytes};
    if (backend->measure && graph->executable)
        backend->measure(graph->context->state, graph->executable, &size);
    info->info.weightBytes = size.weights;
    info->info.executionBytes = size.execution;
    info->info.deviceBytes = size.device;
    for (size_t i = 0; i < info->info.nodeCount; i++) {
        info->nodes[i].kernel = graph->plan->graph.nodes[i]->kernel;
        info->nodes[i].reason = graph->plan->graph.nodes[i]->reason;
    }
    uint64_t end = wnn_nanoseconds();
    info->info.compileNanoseconds = info->compiled - info->begin;
    info->info.lowerNanoseconds = end - info->compiled;
    info->info.buildNanoseconds = end - info->begin;
    log_graph(graph);
}

void wnn_graph_info_free(WNNGraph graph)
{
    wnn_string_pool_unref(graph->info.strings);
    graph->info.strings = NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// The public side
// ---------------------------------------------------------------------------------------------------------------

static WNNStringView text_of(const char *text)
{
    return (WNNStringView){text ? text : "", text ? strlen(text) : 0};
}

WNNStatus wnnGraphGetInfo(WNNGraph graph, WNNGraphInfo *info)
{
    struct error error = {0};
    if (!graph)
        return WNNStatus_TypeError;
    WNNGraph last = graph->late ? wnn_late_last(graph) : NULL;
    if (wnn_check_outputs(info, 1, sizeof *info, "graph info", &error))
        *info = (last ? last : graph)->info.info;
    if (last)
        wnn_graph_unref(last);
    return wnn_context_report(graph->context, &error);
}

WNNStatus wnnGraphGetNodes(WNNGraph graph, size_t capacity, WNNNodeInfo *nodes, size_t *count)
{
    struct error error = {0};
    if (count)
        *count = 0;
    if (!graph)
        return WNNStatus_TypeError;
    if (!wnn_check_outputs(nodes, nodes ? capacity : 0, sizeof *nodes, "node info", &error))
        return wnn_context_report(graph->context, &error);
    WNNGraph last = graph->late ? wnn_late_last(graph) : NULL;
    const struct graph_info *info = &(last ? last : graph)->info;
    size_t node_count = (size_t)info->info.nodeCount;
    if (count)
        *count = node_count;
    for (size_t i = 0; nodes && i < node_count && i < capacity; i++) {
        const struct node_record *record = &info->nodes[i];
        nodes[i] =
            (WNNNodeInfo){.label = wnn_string_view(record->label),
                          .operation = text_of(wnn_ops[record->op].name),
                          .kernel = text_of(record->kernel ? record->kernel : graph->context->backend->name),
                          .reason = text_of(record->reason),
                          .bytes = record->bytes,
                          .operations = record->operations};
    }
    if (last)
        wnn_graph_unref(last);
    return WNNStatus_Success;
}
