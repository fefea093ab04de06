// SPDX-License-Identifier: Apache-2.0
//
// From bytes to a graph: as a build, whose passes have run elsewhere.

#include "compiler/stored.h"
#include "ops/bind.h"
#include "runtime/compile.h"
#include "runtime/graph_info.h"
#include "runtime/request.h"
#include "runtime/shared_weights.h"
#include "runtime/submit.h"
#include "runtime/trace.h"

#include <webnn/compiled.h>

struct load_request {
    struct request request;
    struct graph graph;
    struct constant *source; // the bytes that are lent
    bool compiled;           // the compiler took the graph
    uint64_t limit;          // nanoseconds that it may take; 0: any number
    WNNAuthenticateCallback authenticate;
    void *userdata1, *userdata2;
    bool skip_data_check, recompile;
    struct loaded loaded;
    WNNConstantSource constants; // find NULL: nobody has any
    WNNSharedWeights shared;     // a reference, or NULL
    struct compile_settings settings;
};

static bool authenticate(const struct load_request *request, struct error *error)
{
    if (!request->authenticate)
        return true;
    WNNStatus status = request->authenticate(request->source->data, request->source->bytes,
                                             request->userdata1, request->userdata2);
    return status == WNNStatus_Success ||
           wnn_fail(error, status, "load: the host did not authenticate the bytes");
}

static bool read_graph(WNNContext context, struct load_request *request, struct error *error)
{
    const struct resolver resolver = wnn_resolver_of(context, &request->constants, &request->request, true);
    const struct load load = {.backend = context->backend,
                              .state = context->state,
                              .limits = &context->limits,
                              .source = request->source,
                              .parallel = &context->parallel,
                              .strict = context->strict_numerics,
                              .skip_data_check = request->skip_data_check,
                              .recompile = request->recompile,
                              .vouched = request->authenticate != NULL,
                              .resolver = &resolver};
    return authenticate(request, error) && wnn_load_graph(&load, &request->graph, &request->loaded, error);
}

// Code that came with a graph is for all that is compiled of it.
static bool take_code(const struct graph *from, struct graph *to, struct error *error)
{
    if (from->code_count == 0)
        return true;
    to->code = wnn_arena_copy(&to->arena, from->code, from->code_count * sizeof *to->code);
    to->code_count = to->code ? from->code_count : 0;
    to->source = wnn_constant_ref(from->source);
    return to->code || wnn_fail_memory(error);
}

// Who is asked for bytes while it is recorded again, and what was wrong with them.
struct asked {
    const struct resolver *resolver;
    struct error *error;
};

static struct constant *resolve(void *asked, const struct constant *promised)
{
    const struct asked *of = asked;
    return wnn_resolve(of->resolver, promised, of->error);
}

// Records again what was recorded, with all checks of calls, in the place of what was loaded.
static bool replay(WNNContext context, struct load_request *request, struct error *error)
{
    struct builder builder;
    struct graph graph;
    WNNDeserializedGraph recorded = WNN_DESERIALIZED_GRAPH_INIT;
    const struct resolver resolver = wnn_resolver_of(context, &request->constants, &request->request, true);
    struct asked asked = {&resolver, error};
    wnn_graph_init(&graph, &context->allocator);
    wnn_builder_begin(&builder, context);
    wnn_transcript_replay(request->loaded.transcript, resolve, &asked, &builder.impl, &recorded);
    bool done = error->status == WNNStatus_Success &&
                wnn_builder_snapshot(&builder.impl, recorded.outputCount, recorded.outputs,
                                     wnn_tensor_is_alive, &graph, error);
    done = done && (!request->loaded.late || wnn_graph_is_symbolic(&graph) ||
                    wnn_fail(error, WNNStatus_TypeError, "load: all sizes of what was recorded are known"));
    done = done && take_code(&request->graph, &graph, error);
    if (done) {
        struct graph loaded = request->graph;
        request->graph = graph;
        graph = loaded;
        for (size_t i = 0; i < request->graph.operand_count; i++)
            request->graph.operands[i]->graph = &request->graph;
    }
    wnn_graph_free(&graph);
    wnn_builder_free(&builder.impl);
    return done;
}

// Whether it was saved without bytes that constants have elsewhere, and will only be saved so.
static bool has_origins(const struct graph *graph)
{
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->constant && graph->operands[i]->constant->origin)
            return true;
    return false;
}

static bool compile(WNNContext context, struct load_request *request, WNNGraph graph, struct error *error)
{
    const struct resolver resolver = wnn_resolver_of(context, &request->constants, &request->request, true);
    bool builds = request->loaded.late || request->loaded.recompile, whole = !has_origins(&request->graph);
    const struct compile_job job = {.graph = &request->graph,
                                    .compiled = &request->compiled,
                                    .settings = &request->settings,
                                    .interrupt = &request->request.interrupt,
                                    .flow = request->request.callback.flow,
                                    .savable = whole,
                                    .weightless = !whole,
                                    .resolver = &resolver,
                                    .shared = request->shared,
                                    .loaded = !builds};
    graph->transcript = request->loaded.transcript;
    request->loaded.transcript = NULL;
    graph->recompiled = request->loaded.recompile;
    return wnn_graph_build(context, &job, graph, error);
}

static bool read_all(WNNContext context, struct load_request *request, struct error *error)
{
    return read_graph(context, request, error) &&
           (!(request->loaded.late || request->loaded.recompile) || replay(context, request, error));
}

static bool run_load(WNNContext context, struct request *base, struct error *error)
{
    struct load_request *request = (struct load_request *)base;
    if (!wnn_take_object(context, error))
        return true;
    wnn_request_begin(base, request->limit);
    WNNGraph graph =
        read_all(context, request, error) ? wnn_graph_create(context, &request->graph, error) : NULL;
    return wnn_graph_hand_over(context, base, graph, graph && compile(context, request, graph, error));
}

static void drop_load(WNNContext context, struct request *base)
{
    (void)context;
    struct load_request *request = (struct load_request *)base;
    if (!request->compiled)
        wnn_graph_free(&request->graph);
    wnn_transcript_free(request->loaded.transcript);
    wnn_constant_unref(request->source);
    wnnSharedWeightsRelease(request->shared);
}

static const struct request_kind load_kind = {
    .run = run_load, .drop = drop_load, .builds = true, .interruptible = true};

#define LOAD_CHAINS                                                                                          \
    (1u << WNNSType_Recompilable | 1u << WNNSType_ConstantSource | 1u << WNNSType_WeightSharing)

// The bytes are the request's from here on, also if there is none.
static struct load_request *prepare(WNNContext context, const WNNLoadGraphDescriptor *descriptor,
                                    struct error *error)
{
    const WNNExternalBytes *bytes = &descriptor->bytes;
    struct load_request *request = NULL;
    WNNSharedWeights shared = NULL;
    if (error->status == WNNStatus_Success && wnn_context_usable(context, error) &&
        wnn_check_chain(descriptor->nextInChain, LOAD_CHAINS, "load graph descriptor", error) &&
        wnn_check_source(descriptor->nextInChain, "load", error) &&
        wnn_take_sharing(descriptor->nextInChain, "load", &shared, error) &&
        wnn_check_chain(bytes->nextInChain, 0, "external bytes", error) &&
        (bytes->data || wnn_fail(error, WNNStatus_TypeError, "load: there are no bytes")))
        request = wnn_request_create(context, &load_kind, sizeof *request, error);
    struct constant *source = request ? wnn_constant_lend(&context->allocator, bytes) : NULL;
    if (!source) {
        if (request) {
            wnn_request_free(context, request);
            wnn_fail_memory(error);
        }
        wnnSharedWeightsRelease(shared);
        if (bytes->release)
            bytes->release(bytes->data, bytes->byteLength, bytes->userdata1, bytes->userdata2);
        return NULL;
    }
    request->source = source;
    request->shared = shared;
    const WNNConstantSource *constants = wnn_chained(descriptor->nextInChain, WNNSType_ConstantSource);
    if (constants)
        request->constants = *constants;
    request->authenticate = descriptor->authenticate;
    request->userdata1 = descriptor->userdata1;
    request->userdata2 = descriptor->userdata2;
    request->skip_data_check = descriptor->skipDataCheck;
    request->recompile = wnn_chained(descriptor->nextInChain, WNNSType_Recompilable) != NULL;
    pthread_mutex_lock(&context->queue.lock);
    request->settings = context->compile;
    pthread_mutex_unlock(&context->queue.lock);
    wnn_graph_init(&request->graph, &context->allocator);
    return request;
}

WNNFuture wnnContextLoadGraph(WNNContext context, const WNNLoadGraphDescriptor *descriptor,
                              WNNBuildCallbackInfo callbackInfo)
{
    struct callback callback = {.mode = callbackInfo.mode,
                                .build = callbackInfo.callback,
                                .userdata1 = callbackInfo.userdata1,
                                .userdata2 = callbackInfo.userdata2};
    const WNNExternalBytes *bytes = descriptor ? &descriptor->bytes : NULL;
    if (!context) {
        if (bytes && bytes->release)
            bytes->release(bytes->data, bytes->byteLength, bytes->userdata1, bytes->userdata2);
        return wnn_refuse_without_context(&callback);
    }
    struct error error = {0};
    struct trace_call trace;
    wnn_trace_call(&trace, context, "loadGraph", (WNNStringView){0});
    callback.flow = trace.flow;
    if (!callback.build)
        wnn_fail(&error, WNNStatus_TypeError, "load: there is no callback to take the graph");
    wnn_check_callback(callbackInfo.nextInChain, 1u << WNNSType_TimeLimit, &callback, &error);
    struct load_request *request = NULL;
    if (descriptor)
        request = prepare(context, descriptor, &error);
    else
        wnn_fail(&error, WNNStatus_TypeError, "load: there is no descriptor");
    if (request)
        request->limit = wnn_time_limit(callbackInfo.nextInChain, context->limits.maxBuildNanoseconds);
    if (!callback.build)
        wnn_context_report(context, &error);
    WNNFuture future = wnn_submit(context, (struct request *)request, &callback, &error);
    wnn_trace_return(&trace);
    return future;
}

bool wnnGraphIsRecompiled(WNNGraph graph)
{
    return graph && graph->recompiled;
}

WNNStatus wnnGetCompiledGraphInfo(const void *data, size_t byteLength, WNNCompiledGraphInfo *info)
{
    struct error error = {0};
    struct stored_head head;
    if (!wnn_check_outputs(info, 1, sizeof *info, "compiled graph info", &error))
        return error.status;
    *info = (WNNCompiledGraphInfo)WNN_COMPILED_GRAPH_INFO_INIT;
    if (!data)
        return WNNStatus_TypeError;
    if (!wnn_stored_read_head(data, byteLength, &head, &error))
        return error.status;
    info->library = head.library;
    info->backend = head.backend;
    info->target = head.target;
    info->strictNumerics = head.strict;
    info->headBytes = head.data_at;
    info->dataBytes = head.data_end - head.data_at;
    return WNNStatus_Success;
}
