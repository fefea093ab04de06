// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile.h"

#include "runtime/context.h"
#include "runtime/graph_info.h"
#include "runtime/request.h"

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
                                    .savable = job->savable,
                                    .loaded = job->loaded,
                                    .derived = job->derived,
                                    .workspace = job->workspace};
}

bool wnn_graph_compile_recorded(WNNContext context, const struct compile_job *job, struct error *error)
{
    struct compile_options options = options_of(context, job);
    options.verify = false; // of graphs whose sizes are known
    return wnn_compile_recorded(&options, job->graph, error);
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
        !context->backend->lower(context->state, plan, &executable, error)) {
        wnn_plan_free(plan);
        wnn_release(&context->allocator, plan);
        return false;
    }
    plan->interrupt = NULL;
    plan->derived = NULL;
    plan->workspace = NULL;
    graph->plan = plan;
    graph->savable = job->savable;
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
