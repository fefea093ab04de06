// SPDX-License-Identifier: Apache-2.0
#include "runtime/trace.h"

#include <string.h>

#define CATEGORY      "webnn"
#define NODE_CATEGORY "webnn.node"

static WNNStringView text_of(const char *text)
{
    return (WNNStringView){text, strlen(text)};
}

static void send(const WNNTrace *trace, const WNNTraceEvent *event)
{
    WNNTraceEvent whole = *event;
    if (!whole.label.data)
        whole.label = (WNNStringView){"", 0};
    trace->event(&whole, trace->userdata1, trace->userdata2);
}

static void send_end(const WNNTrace *trace, const char *category, const char *name)
{
    send(trace,
         &(WNNTraceEvent){.phase = WNNTracePhase_End, .category = text_of(category), .name = text_of(name)});
}

// ---------------------------------------------------------------------------------------------------------------
// Calls and requests
// ---------------------------------------------------------------------------------------------------------------

void wnn_trace_call_begin(struct trace_call *call, WNNContext context, const char *name, WNNStringView label)
{
    call->flow = atomic_fetch_add(&context->trace_flows, 1);
    call->name = name;
    call->trace = context->trace;
    // What has bytes at no address is about to be refused.
    struct string text = label.data ? wnn_string(label) : STRING("");
    send(&call->trace, &(WNNTraceEvent){.phase = WNNTracePhase_Begin,
                                        .flow = WNNTraceFlow_Begin,
                                        .category = text_of(CATEGORY),
                                        .name = text_of(name),
                                        .label = wnn_string_view(text),
                                        .flowId = call->flow});
}

void wnn_trace_call_end(const struct trace_call *call)
{
    send_end(&call->trace, CATEGORY, call->name);
}

static WNNTraceEvent begin_of(const char *name, const struct request *request)
{
    WNNTraceEvent event = {
        .phase = WNNTracePhase_Begin, .category = text_of(CATEGORY), .name = text_of(name)};
    if (request && request->callback.flow) {
        event.flow = WNNTraceFlow_Step;
        event.flowId = request->callback.flow;
        event.label = request->label;
        event.graphId = request->graph_id;
    }
    return event;
}

void wnn_trace_slice_begin(WNNContext context, const char *name, const struct request *request)
{
    const WNNTraceEvent event = begin_of(name, request);
    send(&context->trace, &event);
}

void wnn_trace_slice_end(WNNContext context, const char *name)
{
    send_end(&context->trace, CATEGORY, name);
}

void wnn_trace_complete_begin(WNNContext context, const struct request *request)
{
    WNNTraceEvent event = begin_of("complete", request);
    event.status = request->status;
    if (event.flowId)
        event.flow = WNNTraceFlow_End;
    if (request->graph)
        event.graphId = request->graph->info.info.id;
    send(&context->trace, &event);
}

void wnn_trace_complete_call(const struct trace_call *call, WNNStatus status)
{
    if (!call->flow)
        return;
    send(&call->trace, &(WNNTraceEvent){.phase = WNNTracePhase_Begin,
                                        .flow = WNNTraceFlow_End,
                                        .category = text_of(CATEGORY),
                                        .name = text_of("complete"),
                                        .flowId = call->flow,
                                        .status = status});
    send_end(&call->trace, CATEGORY, "complete");
}

void wnn_trace_lost(WNNContext context)
{
    if (context->trace.event)
        send(&context->trace, &(WNNTraceEvent){.phase = WNNTracePhase_Instant,
                                               .category = text_of(CATEGORY),
                                               .name = text_of("lost"),
                                               .label = text_of(context->queue.lost_message)});
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes
// ---------------------------------------------------------------------------------------------------------------

static void begin_node(const struct observer *observer, const struct node *node,
                       const struct operand_resolver *resolver)
{
    struct trace_nodes *nodes = (struct trace_nodes *)(uintptr_t)observer;
    (void)resolver;
    if (node->lowering == WNN_LOWER_VIEW)
        return;
    nodes->open = node;
    send(&nodes->context->trace, &(WNNTraceEvent){.phase = WNNTracePhase_Begin,
                                                  .category = text_of(NODE_CATEGORY),
                                                  .name = text_of(wnn_ops[node->op].name),
                                                  .label = wnn_string_view(node->label)});
}

static void end_node(const struct observer *observer, const struct node *node,
                     const struct operand_resolver *resolver)
{
    (void)node;
    (void)resolver;
    wnn_trace_nodes_end((struct trace_nodes *)(uintptr_t)observer);
}

const struct observer *wnn_trace_nodes(struct trace_nodes *nodes, WNNContext context)
{
    nodes->open = NULL;
    if (!context->trace.event || !context->trace.includeNodes)
        return NULL;
    nodes->observer = (struct observer){.before = begin_node, .after = end_node};
    nodes->context = context;
    return &nodes->observer;
}

void wnn_trace_nodes_end(struct trace_nodes *nodes)
{
    if (nodes->open)
        send_end(&nodes->context->trace, NODE_CATEGORY, wnn_ops[nodes->open->op].name);
    nodes->open = NULL;
}
