// SPDX-License-Identifier: Apache-2.0
//
// Built graphs as bytes: the plan that is alive is what is written.

#include "compiler/stored.h"
#include "runtime/late.h"
#include "runtime/request.h"
#include "runtime/submit.h"
#include "runtime/trace.h"

#include <webnn/compiled.h>

// On the worker, which is who releases executables.
struct save_request {
    struct request request;
    WNNGraph graph; // a reference
    bool weightless;
    WNNWriteCallback write;
    void *userdata1, *userdata2;
};

// What was recorded, with the code of those sizes that it has been compiled for.
static void save_late(WNNGraph graph, struct store *store, struct error *error)
{
    size_t count;
    WNNGraph *ready = wnn_late_ready(graph, &count);
    const void **executables = wnn_allocate(store->allocator, (count + 1) * sizeof *executables);
    if (ready && executables) {
        for (size_t i = 0; i < count; i++)
            if (ready[i]->executable)
                executables[store->executable_count++] = ready[i]->executable;
        store->executables = executables;
        wnn_store_plan(store, error);
    } else {
        wnn_fail_memory(error);
    }
    for (size_t i = 0; ready && i < count; i++)
        wnn_graph_unref(ready[i]);
    wnn_release(store->allocator, ready);
    wnn_release(store->allocator, executables);
}

static bool run_save(WNNContext context, struct request *base, struct error *error)
{
    const struct save_request *request = (const struct save_request *)base;
    WNNGraph graph = request->graph;
    if (graph->late ? atomic_load(&graph->destroyed) : !graph->plan) {
        wnn_fail(error, WNNStatus_InvalidStateError, "save: the graph was destroyed");
        return true;
    }
    struct store store = {.backend = context->backend,
                          .state = context->state,
                          .plan = graph->plan,
                          .executable = graph->executable,
                          .transcript = graph->transcript,
                          .allocator = &context->allocator,
                          .strict = context->strict_numerics,
                          .weightless = request->weightless,
                          .write = request->write,
                          .userdata1 = request->userdata1,
                          .userdata2 = request->userdata2};
    if (graph->late)
        save_late(graph, &store, error);
    else
        wnn_store_plan(&store, error);
    return true;
}

static void drop_save(WNNContext context, struct request *base)
{
    (void)context;
    wnn_graph_unref(((struct save_request *)base)->graph);
}

static const struct request_kind save_kind = {.run = run_save, .drop = drop_save};

static bool is_weightless(const WNNSaveGraphDescriptor *descriptor)
{
    return wnn_chained(descriptor->nextInChain, WNNSType_Weightless) != NULL;
}

static bool check(WNNGraph graph, const WNNSaveGraphDescriptor *descriptor, struct error *error)
{
    if (error->status != WNNStatus_Success || !wnn_context_usable(graph->context, error))
        return false;
    if (!descriptor)
        return wnn_fail(error, WNNStatus_TypeError, "save: there is no descriptor");
    if (!wnn_check_chain(descriptor->nextInChain, 1u << WNNSType_Weightless, "save graph descriptor", error))
        return false;
    if (!descriptor->write)
        return wnn_fail(error, WNNStatus_TypeError, "save: nothing takes the bytes");
    if (atomic_load(&graph->destroyed))
        return wnn_fail(error, WNNStatus_InvalidStateError, "save: the graph was destroyed");
    if (!graph->context->backend->describe_target)
        return wnn_fail(error, WNNStatus_NotSupportedError, "save: the backend %s does not save graphs",
                        graph->context->backend->name);
    bool weightless = is_weightless(descriptor);
    if (graph->weightless && !weightless && (!graph->savable || graph->promised))
        return wnn_fail(error, WNNStatus_InvalidStateError,
                        "save: the graph has no bytes of its constants; it can be saved as WNNWeightless");
    return (weightless ? graph->weightless : graph->savable) ||
           wnn_fail(error, WNNStatus_InvalidStateError, "save: the graph was not built as WNNSavable");
}

WNNFuture wnnGraphSave(WNNGraph graph, const WNNSaveGraphDescriptor *descriptor,
                       WNNRequestCallbackInfo callbackInfo)
{
    struct callback callback = wnn_request_callback(&callbackInfo);
    if (!graph)
        return wnn_refuse_without_context(&callback);
    WNNContext context = graph->context;
    struct error error = {0};
    struct trace_call trace;
    wnn_trace_call(&trace, context, "saveGraph", (WNNStringView){0});
    callback.flow = trace.flow;
    wnn_check_callback(callbackInfo.nextInChain, 0, &callback, &error);
    struct save_request *request = NULL;
    if (check(graph, descriptor, &error) &&
        (request = wnn_request_create(context, &save_kind, sizeof *request, &error))) {
        wnn_graph_ref(graph);
        request->graph = graph;
        request->weightless = is_weightless(descriptor);
        request->write = descriptor->write;
        request->userdata1 = descriptor->userdata1;
        request->userdata2 = descriptor->userdata2;
    }
    WNNFuture future = wnn_submit(context, (struct request *)request, &callback, &error);
    wnn_trace_return(&trace);
    return future;
}
