// SPDX-License-Identifier: Apache-2.0
//
// From a builder to a graph: https://www.w3.org/TR/webnn/#api-mlgraphbuilder-build. The caller's thread takes
// a copy of what the outputs depend on, the builder's thread compiles it.

#include "ops/bind.h"
#include "ops/shaping.h"
#include "ops/transcript.h"
#include "runtime/compile.h"
#include "runtime/context.h"
#include "runtime/graph_info.h"
#include "runtime/late.h"
#include "runtime/request.h"
#include "runtime/shared_weights.h"
#include "runtime/submit.h"
#include "runtime/trace.h"

// ---------------------------------------------------------------------------------------------------------------
// Builders
// ---------------------------------------------------------------------------------------------------------------

// A tensor that the builder keeps, so that it can be asked at build whether it was destroyed.
struct tensor_link {
    WNNTensor tensor;
    struct tensor_link *next;
};

static bool usable(void *host, struct error *error)
{
    return wnn_context_usable(((struct builder *)host)->context, error);
}

static uint32_t types(void *host, enum op op, const struct op_row *row)
{
    return wnn_supported_types(((struct builder *)host)->context->backend, op, row);
}

static bool share_tensor(void *host, WNNTensor tensor, struct descriptor *type, struct constant **constant,
                         struct error *error)
{
    struct builder *builder = host;
    static const char method[] = "constant";
    if (!tensor)
        return wnn_fail(error, WNNStatus_TypeError, "%s: no tensor was given", method);
    if (tensor->context != builder->context)
        return wnn_fail(error, WNNStatus_TypeError, "%s: the tensor belongs to another context", method);
    if (!tensor->is_constant)
        return wnn_fail(error, WNNStatus_TypeError, "%s: the tensor is not constant", method);
    struct tensor_link *link = wnn_allocate(&builder->context->allocator, sizeof *link);
    if (!link)
        return wnn_fail_memory(error);
    if (!wnn_tensor_begin_use(tensor)) {
        wnn_release(&builder->context->allocator, link);
        return wnn_fail(error, WNNStatus_TypeError, "%s: the tensor was destroyed", method);
    }
    *type = tensor->type;
    *constant = wnn_constant_ref(tensor->constant);
    wnn_tensor_end_use(tensor);
    wnn_tensor_ref(tensor);
    *link = (struct tensor_link){tensor, builder->tensors};
    builder->tensors = link;
    return true;
}

static const struct builder_host host = {usable, types, share_tensor};

void wnn_builder_begin(struct builder *builder, WNNContext context)
{
    *builder = (struct builder){.context = context};
    wnn_builder_init(&builder->impl, &context->allocator, &context->limits, &host, builder);
}

WNNStatus wnnContextCreateGraphBuilder(WNNContext context, WNNGraphBuilder *builder)
{
    if (builder)
        *builder = NULL;
    if (!context)
        return WNNStatus_TypeError;
    struct error error = {0};
    if (!builder) {
        wnn_fail(&error, WNNStatus_TypeError, "createGraphBuilder: no place for the builder");
    } else if (wnn_context_usable(context, &error) && wnn_take_object(context, &error)) {
        struct builder *made = wnn_allocate_zero(&context->allocator, sizeof *made);
        if (made) {
            wnn_context_ref(context);
            atomic_fetch_add(&context->builder_count, 1);
            wnn_builder_begin(made, context);
            *builder = &made->impl;
        } else {
            wnn_budget_give(context->budget, WNNResource_Objects, 1);
            wnn_fail_memory(&error);
        }
    }
    return wnn_context_report(context, &error);
}

void wnnGraphBuilderRelease(WNNGraphBuilder builder)
{
    if (!builder)
        return;
    struct builder *whole = (struct builder *)builder;
    WNNContext context = whole->context;
    wnn_builder_free(builder);
    for (struct tensor_link *link = whole->tensors, *next; link; link = next) {
        next = link->next;
        wnn_tensor_unref(link->tensor);
        wnn_release(&context->allocator, link);
    }
    wnn_release(&context->allocator, whole);
    atomic_fetch_sub(&context->builder_count, 1);
    wnn_budget_give(context->budget, WNNResource_Objects, 1);
    wnn_context_unref(context);
}

// ---------------------------------------------------------------------------------------------------------------
// Building
// ---------------------------------------------------------------------------------------------------------------

// A build that a program has asked for.
struct build_request {
    struct request request;
    struct graph graph;
    uint64_t limit; // nanoseconds that it may take; 0: any number
    bool compiled;  // the compiler took the graph
    bool savable, recompilable, weightless;
    WNNConstantSource source; // find NULL: none
    WNNSharedWeights shared;  // a reference, or NULL
    struct compile_settings settings;
};

bool wnn_tensor_is_alive(const void *origin)
{
    const struct WNNTensorImpl *tensor = origin;
    return !atomic_load(&tensor->destroyed);
}

// Before any pass sees it. What all sizes are compiled of is all there is to save, else it is asked for.
static bool keep_transcript(const struct compile_job *job, bool late, WNNGraph graph, struct error *error)
{
    if (!graph->transcript && (late ? graph->weightless : job->recompilable))
        graph->transcript = wnn_transcript_create(job->graph, job->weightless, error);
    return error->status == WNNStatus_Success;
}

// There will be nobody to ask when sizes come, or when what was recorded is saved.
static bool take_constants(const struct compile_job *job, bool late, struct error *error)
{
    if (late && job->shared)
        return wnn_share_constants(wnn_shared_weights_of(job->shared), job->resolver, job->graph, error);
    return !(late || job->recompilable) || !job->resolver->find ||
           wnn_resolve_all(job->resolver, job->graph, error);
}

static bool build_late(WNNContext context, const struct compile_job *job, WNNGraph graph, struct error *error)
{
    wnn_graph_info_begin(graph, job->graph, job->flow);
    wnn_graph_info_failed(graph); // no plan is made yet
    return (wnn_graph_has_shaping(job->graph) || wnn_graph_compile_recorded(context, job, error)) &&
           take_constants(job, true, error) && // that have been made
           wnn_graph_check_promises(graph, job, job->graph, error) &&
           wnn_late_create(graph, job->graph, job->settings, job->shared, error);
}

bool wnn_graph_build(WNNContext context, const struct compile_job *job, WNNGraph graph, struct error *error)
{
    bool late = wnn_graph_is_symbolic(job->graph);
    struct compile_job shared = *job;
    graph->savable = job->savable;
    graph->weightless = job->savable || job->weightless;
    if (!take_constants(job, late, error))
        return false;
    if (!job->loaded && !keep_transcript(job, late, graph, error))
        return false;
    if (late)
        return build_late(context, job, graph, error);
    if (job->settings->shares && !(shared.derived = wnn_derived_create(&context->allocator, job->graph,
                                                                       wnn_shared_weights_of(job->shared))))
        return wnn_fail_memory(error);
    bool done = wnn_graph_compile(context, &shared, graph, error);
    wnn_derived_unref(shared.derived);
    if (!done) {
        wnn_graph_info_failed(graph);
        return wnn_fail(error, WNNStatus_OperationError, "%s: the backend %s cannot build the graph",
                        job->loaded ? "load" : "build", context->backend->name);
    }
    wnn_graph_publish(graph);
    return true;
}

static bool build(WNNContext context, struct build_request *request, WNNGraph graph, struct error *error)
{
    const bool saves = request->savable || request->weightless;
    const struct resolver resolver = wnn_resolver_of(context, &request->source, &request->request, saves);
    const struct compile_job job = {.graph = &request->graph,
                                    .compiled = &request->compiled,
                                    .settings = &request->settings,
                                    .interrupt = &request->request.interrupt,
                                    .flow = request->request.callback.flow,
                                    .savable = request->savable,
                                    .recompilable = request->recompilable,
                                    .weightless = request->weightless,
                                    .may_lack = saves,
                                    .shared = request->shared,
                                    .resolver = &resolver};
    return wnn_graph_build(context, &job, graph, error);
}

static bool run_build(WNNContext context, struct request *base, struct error *error)
{
    struct build_request *request = (struct build_request *)base;
    if (!wnn_take_object(context, error))
        return true;
    wnn_request_begin(base, request->limit);
    WNNGraph graph = wnn_graph_create(context, &request->graph, error);
    return wnn_graph_hand_over(context, base, graph, graph && build(context, request, graph, error));
}

static void drop_build(WNNContext context, struct request *base)
{
    (void)context;
    struct build_request *request = (struct build_request *)base;
    if (!request->compiled)
        wnn_graph_free(&request->graph);
    wnnSharedWeightsRelease(request->shared);
}

static const struct request_kind build_kind = {
    .run = run_build, .drop = drop_build, .builds = true, .interruptible = true};

static struct build_request *prepare(struct builder *builder, size_t outputCount,
                                     const WNNNamedOperand *outputs, struct error *error)
{
    WNNContext context = builder->context;
    const struct error *earlier = &builder->impl.error;
    if (error->status != WNNStatus_Success || !wnn_context_usable(context, error))
        return NULL;
    if (earlier->status != WNNStatus_Success) {
        *error = *earlier;
        return NULL;
    }
    struct build_request *request = wnn_request_create(context, &build_kind, sizeof *request, error);
    if (!request)
        return NULL;
    pthread_mutex_lock(&context->queue.lock);
    request->settings = context->compile;
    pthread_mutex_unlock(&context->queue.lock);
    wnn_graph_init(&request->graph, &context->allocator);
    if (wnn_builder_snapshot(&builder->impl, outputCount, outputs, wnn_tensor_is_alive, &request->graph,
                             error))
        return request;
    wnn_fail(error, WNNStatus_UnknownError, "build: the graph cannot be copied");
    wnn_graph_free(&request->graph);
    wnn_request_free(context, request);
    return NULL;
}

#define CHAINS                                                                                               \
    (1u << WNNSType_TimeLimit | 1u << WNNSType_Savable | 1u << WNNSType_Recompilable |                       \
     1u << WNNSType_Weightless | 1u << WNNSType_ConstantSource | 1u << WNNSType_WeightSharing)

static void take_chain(WNNContext context, struct build_request *request, const WNNChainedStruct *chain)
{
    const WNNConstantSource *source = wnn_chained(chain, WNNSType_ConstantSource);
    request->recompilable = wnn_chained(chain, WNNSType_Recompilable) != NULL;
    request->savable = request->recompilable || wnn_chained(chain, WNNSType_Savable) != NULL;
    request->weightless = wnn_chained(chain, WNNSType_Weightless) && !request->savable;
    if (source)
        request->source = *source;
    request->limit = wnn_time_limit(chain, context->limits.maxBuildNanoseconds);
}

WNNFuture wnnGraphBuilderBuild(WNNGraphBuilder builder, size_t outputCount, const WNNNamedOperand *outputs,
                               WNNBuildCallbackInfo callbackInfo)
{
    struct callback callback = {.mode = callbackInfo.mode,
                                .build = callbackInfo.callback,
                                .userdata1 = callbackInfo.userdata1,
                                .userdata2 = callbackInfo.userdata2};
    if (!builder)
        return wnn_refuse_without_context(&callback);
    struct builder *whole = (struct builder *)builder;
    struct error error = {0};
    struct trace_call trace;
    wnn_trace_call(&trace, whole->context, "build", (WNNStringView){0});
    callback.flow = trace.flow;
    if (!callback.build)
        wnn_fail(&error, WNNStatus_TypeError, "build: there is no callback to take the graph");
    const WNNChainedStruct *chain = callbackInfo.nextInChain;
    wnn_check_callback(chain, CHAINS, &callback, &error);
    wnn_check_source(chain, "build", &error);
    WNNSharedWeights shared;
    wnn_take_sharing(chain, "build", &shared, &error);
    struct build_request *request = prepare(whole, outputCount, outputs, &error);
    if (request)
        take_chain(whole->context, request, chain);
    if (request)
        request->shared = shared;
    else
        wnnSharedWeightsRelease(shared);
    if (!callback.build)
        wnn_context_report(whole->context, &error);
    WNNFuture future = wnn_submit(whole->context, (struct request *)request, &callback, &error);
    wnn_trace_return(&trace);
    return future;
}
