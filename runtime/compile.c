// SPDX-License-Identifier: Apache-2.0
#include "runtime/compile.h"

#include "runtime/context.h"
#include "runtime/graph_info.h"

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

bool wnn_graph_compile(WNNContext context, const struct compile_job *job, WNNGraph graph, struct error *error)
{
    struct plan *plan = wnn_allocate_zero(&context->allocator, sizeof *plan);
    if (!plan)
        return wnn_fail_memory(error);
    const struct compile_options options = {.backend = context->backend,
                                            .state = context->state,
                                            .allocator = &context->allocator,
                                            .interrupt = job->interrupt,
                                            .skip = job->settings->skip,
                                            .strict = context->strict_numerics,
                                            .verify = job->settings->verify,
                                            .observe = job->settings->observe,
                                            .observer = job->settings->observer,
                                            .packings = job->packings};
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
    plan->packings = NULL;
    graph->plan = plan;
    graph->executable = executable;
    wnn_graph_info_lowered(graph);
    return true;
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
