// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile.h"

#include "runtime/context.h"
#include "runtime/graph_info.h"
#include "runtime/request.h"
#include "runtime/shared_weights.h"

WNNGraph wnn_graph_create(WNNContext context, const struct graph *source, struct error *error)
{
    WNNGraph graph = wnn_allocate_zero(&context->allocator, sizeof *graph);
    if (!graph) {
        wnn_fail_memory(error);
        return NULL;
    }
    wnn_context_ref(context);
    graph->work = source->work;
    graph->context = context;
    atomic_init(&graph->handles, 1);
    atomic_init(&graph->references, 1);
    atomic_init(&graph->destroyed, false);
    atomic_init(&graph->watched, false);
    wnn_arena_init(&graph->arena, &context->allocator);
    if (wnn_graph_describe(graph, source, error))
        return graph;
    wnn_graph_unref(graph);
    return NULL;
}

bool wnn_check_source(const WNNChainedStruct *chain, const char *what, struct error *error)
{
    if (error->status != WNNStatus_Success) // the chain may be anything
        return false;
    const WNNConstantSource *source = wnn_chained(chain, WNNSType_ConstantSource);
    return !source || source->find ||
           wnn_fail(error, WNNStatus_TypeError, "%s: the source of constants has no callback", what);
}

struct resolver wnn_resolver_of(WNNContext context, const WNNConstantSource *source,
                                const struct request *request, bool portable)
{
    return (struct resolver){.find = source->find,
                             .userdata1 = source->userdata1,
                             .userdata2 = source->userdata2,
                             .backend = context->backend,
                             .state = context->state,
                             .allocator = &context->allocator,
                             .portable = portable,
                             .interrupt = &request->interrupt};
}

static struct compile_options options_of(WNNContext context, const struct compile_job *job)
{
    return (struct compile_options){.backend = context->backend,
                                    .state = context->state,
                                    .allocator = &context->allocator,
                                    .interrupt = job->interrupt,
                                    .skip = job->settings->skip,
                                    .strict = context->strict_numerics,
                                    .verify = job->settings->verify,
                                    .observe = job->settings->observe,
                                    .observer = job->settings->observer,
                                    .explainer = job->settings->explainer,
                                    .savable = job->savable || job->weightless,
                                    .portable = job->savable || job->weightless,
                                    .weightless = job->weightless,
                                    .resolver = job->resolver,
                                    .loaded = job->loaded,
                                    .derived = job->derived,
                                    .shared = wnn_shared_weights_of(job->shared),
                                    .workspace = job->workspace};
}

bool wnn_graph_compile_recorded(WNNContext context, const struct compile_job *job, struct error *error)
{
    struct compile_options options = options_of(context, job);
    options.verify = false;   // of graphs whose sizes are known
    options.portable = false; // what is stored is the graph as it was recorded
    return wnn_compile_recorded(&options, job->graph, error);
}

bool wnn_graph_check_promises(WNNGraph graph, const struct compile_job *job, const struct graph *compiled,
                              struct error *error)
{
    const struct operand *promised = job->resolver->find ? NULL : wnn_find_promised(compiled);
    graph->promised = promised && job->may_lack;
    return !promised || job->may_lack || wnn_resolve(NULL, promised->constant, error);
}

bool wnn_graph_compile(WNNContext context, const struct compile_job *job, WNNGraph graph, struct error *error)
{
    struct plan *plan = wnn_allocate_zero(&context->allocator, sizeof *plan);
    if (!plan)
        return wnn_fail_memory(error);
    const struct compile_options options = options_of(context, job);
    wnn_graph_info_begin(graph, job->graph, job->flow);
    *job->compiled = true;
    if (!wnn_compile(&options, job->graph, plan, error)) {
        wnn_release(&context->allocator, plan);
        return false;
    }
    void *executable = NULL;
    if (!wnn_graph_info_compiled(graph, plan, error) ||
        (!wnn_find_aliases(context->backend, context->state, plan, &graph->arena, &graph->aliases) &&
         !wnn_fail_memory(error)) ||
        !wnn_graph_check_promises(graph, job, &plan->graph, error) ||
        (!graph->promised && !context->backend->lower(context->state, plan, &executable, error))) {
        wnn_plan_free(plan);
        wnn_release(&context->allocator, plan);
        return false;
    }
    plan->interrupt = NULL;
    plan->derived = NULL;
    plan->workspace = NULL;
    plan->resolver = NULL;
    graph->plan = plan;
    graph->executable = executable;
    wnn_graph_info_lowered(graph);
    return true;
}

bool wnn_graph_hand_over(WNNContext context, struct request *request, WNNGraph graph, bool made)
{
    if (made) {
        atomic_fetch_add(&context->graph_count, 1);
        request->graph = graph;
        return true;
    }
    if (graph)
        wnn_graph_unref(graph);
    wnn_budget_give(context->budget, WNNResource_Objects, 1);
    return !context->backend->lost || !context->backend->lost(context->state);
}

void wnn_graph_publish(WNNGraph graph)
{
    struct queue *queue = &graph->context->queue;
    pthread_mutex_lock(&queue->lock);
    graph->next = graph->context->graphs;
    if (graph->next)
        graph->next->previous = graph;
    graph->context->graphs = graph;
    pthread_mutex_unlock(&queue->lock);
}
