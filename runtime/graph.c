// SPDX-License-Identifier: Apache-2.0
//
// Built graphs: their ports, their handles, and the end of their executables, which is the worker's business.
// An executable ends when the graph is destroyed, when nobody needs the graph any more, or with the worker,
// whichever comes first; requests that were queued before run before.

#include "ops/transcript.h"
#include "runtime/context.h"
#include "runtime/graph_info.h"
#include "runtime/internal.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Ports
// ---------------------------------------------------------------------------------------------------------------

static void sift(char *items, size_t root, size_t count, size_t size,
                 bool (*less)(const void *a, const void *b, const void *argument), const void *argument)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && less(items + child * size, items + (child + 1) * size, argument))
            child++;
        if (!less(items + root * size, items + child * size, argument))
            return;
        for (size_t i = 0; i < size; i++) {
            char byte = items[root * size + i];
            items[root * size + i] = items[child * size + i];
            items[child * size + i] = byte;
        }
    }
}

void wnn_sort(void *items, size_t count, size_t size,
              bool (*less)(const void *a, const void *b, const void *argument), const void *argument)
{
    char *bytes = items;
    for (size_t root = count / 2; root-- > 0;)
        sift(bytes, root, count, size, less, argument);
    for (size_t left = count; left-- > 1;) {
        for (size_t i = 0; i < size; i++) {
            char byte = bytes[i];
            bytes[i] = bytes[left * size + i];
            bytes[left * size + i] = byte;
        }
        sift(bytes, 0, left, size, less, argument);
    }
}

// Any total order will do; lengths first are quick to compare.
static int compare_names(struct string a, struct string b)
{
    if (a.length != b.length)
        return a.length < b.length ? -1 : 1;
    return a.length ? memcmp(a.data, b.data, a.length) : 0;
}

static bool name_less(const void *a, const void *b, const void *argument)
{
    const struct port *ports = argument;
    uint32_t left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return compare_names(ports[left].name, ports[right].name) < 0;
}

size_t wnn_port_find(const struct port_list *ports, struct string name, size_t guess)
{
    if (guess < ports->count && wnn_string_equal(ports->ports[guess].name, name))
        return guess;
    size_t low = 0, high = ports->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_names(ports->ports[ports->sorted[middle]].name, name);
        if (order == 0)
            return ports->sorted[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return ports->count;
}

static bool describe_ports(struct arena *arena, const struct size_table *sizes,
                           const struct graph_port *source, size_t count, struct port_list *list)
{
    list->ports = wnn_arena_allocate(arena, count * sizeof *list->ports);
    list->named = wnn_arena_allocate(arena, count * sizeof *list->named);
    list->sorted = wnn_arena_allocate(arena, count * sizeof *list->sorted);
    if (!list->ports || !list->named || !list->sorted)
        return false;
    list->count = count;
    for (size_t i = 0; i < count; i++) {
        struct port *port = &list->ports[i];
        port->name = wnn_string_copy(arena, source[i].name);
        if (!port->name.data)
            return false;
        port->type = source[i].operand->type;
        bool unranked = source[i].operand->unranked,
             known = !unranked && !wnn_shape_is_symbolic(sizes, &port->type.shape);
        port->bytes = known ? wnn_descriptor_bytes(&port->type) : 0;
        WNNNamedDescriptor *named = &list->named[i];
        named->name = wnn_string_view(port->name);
        named->descriptor =
            (WNNOperandDescriptor){.dataType = port->type.type,
                                   .shape = {unranked ? NULL : port->type.shape.dim, port->type.shape.rank}};
        list->sorted[i] = (uint32_t)i;
    }
    wnn_sort(list->sorted, count, sizeof *list->sorted, name_less, list->ports);
    return true;
}

bool wnn_graph_describe(WNNGraph graph, const struct graph *source, struct error *error)
{
    return (describe_ports(&graph->arena, &source->sizes, source->inputs, source->input_count,
                           &graph->inputs) &&
            describe_ports(&graph->arena, &source->sizes, source->outputs, source->output_count,
                           &graph->outputs)) ||
           wnn_fail_memory(error);
}

// ---------------------------------------------------------------------------------------------------------------
// Executables
// ---------------------------------------------------------------------------------------------------------------

// Under the lock, which it leaves to release the executable of a graph, if there is one. The graph may be
// gone when it returns.
static void release_executable(WNNGraph graph)
{
    WNNContext context = graph->context;
    void *executable = graph->executable;
    struct plan *plan = graph->plan;
    if (!plan)
        return;
    graph->executable = NULL;
    graph->plan = NULL;
    *(graph->previous ? &graph->previous->next : &context->graphs) = graph->next;
    if (graph->next)
        graph->next->previous = graph->previous;
    bool last = !context->graphs;
    pthread_mutex_unlock(&context->queue.lock);
    if (last)
        wnn_spare_free(&context->spare, &context->allocator);
    if (executable)
        context->backend->release(context->state, executable);
    wnn_plan_free(plan);
    wnn_release(&context->allocator, plan);
    pthread_mutex_lock(&context->queue.lock);
}

static bool run_dispose(WNNContext context, struct request *request, struct error *error)
{
    (void)error;
    WNNGraph graph = (WNNGraph)(void *)((char *)request - offsetof(struct WNNGraphImpl, dispose));
    pthread_mutex_lock(&context->queue.lock);
    release_executable(graph);
    pthread_mutex_unlock(&context->queue.lock);
    wnn_graph_unref(graph);
    return true;
}

static const struct request_kind dispose_kind = {.run = run_dispose, .anywhere = true};

// Takes a reference, if the worker still has something to do.
static bool dispose(WNNGraph graph)
{
    struct queue *queue = &graph->context->queue;
    if (wnn_forked(graph->context->forks))
        return true; // it stays as it is
    pthread_mutex_lock(&queue->lock);
    bool needed = graph->plan && !queue->ended;
    if (needed) {
        wnn_graph_ref(graph);
        graph->dispose.kind = &dispose_kind;
        wnn_queue_dispose(queue, &graph->dispose);
    }
    pthread_mutex_unlock(&queue->lock);
    return needed;
}

bool wnn_graphs_end(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    while (context->graphs)
        release_executable(context->graphs);
    queue->ended = !queue->waiting.first;
    bool ended = queue->ended;
    pthread_mutex_unlock(&queue->lock);
    return ended;
}

// ---------------------------------------------------------------------------------------------------------------
// Life
// ---------------------------------------------------------------------------------------------------------------

void wnn_graph_ref(WNNGraph graph)
{
    atomic_fetch_add(&graph->references, 1);
}

void wnn_graph_unref(WNNGraph graph)
{
    if (atomic_fetch_sub(&graph->references, 1) != 1 || dispose(graph))
        return;
    WNNContext context = graph->context;
    if (graph->late)
        wnn_late_free(graph);
    wnn_transcript_free(graph->transcript);
    wnn_profile_free(graph);
    wnn_graph_info_free(graph);
    wnn_arena_free(&graph->arena);
    wnn_release(&context->allocator, graph);
    wnn_context_unref(context);
}

void wnnGraphAddRef(WNNGraph graph)
{
    if (graph)
        atomic_fetch_add(&graph->handles, 1);
}

void wnnGraphRelease(WNNGraph graph)
{
    if (!graph || atomic_fetch_sub(&graph->handles, 1) != 1)
        return;
    atomic_fetch_sub(&graph->context->graph_count, 1);
    wnn_budget_give(graph->context->budget, WNNResource_Objects, 1);
    wnn_graph_unref(graph);
}

void wnnGraphDestroy(WNNGraph graph)
{
    if (!graph || atomic_exchange(&graph->destroyed, true))
        return;
    if (graph->late)
        wnn_late_destroy(graph);
    else
        dispose(graph);
}

static const WNNNamedDescriptor *list(const struct port_list *ports, size_t *count)
{
    if (count)
        *count = ports ? ports->count : 0;
    return ports ? ports->named : NULL;
}

const WNNNamedDescriptor *wnnGraphGetInputs(WNNGraph graph, size_t *count)
{
    return list(graph ? &graph->inputs : NULL, count);
}

const WNNNamedDescriptor *wnnGraphGetOutputs(WNNGraph graph, size_t *count)
{
    return list(graph ? &graph->outputs : NULL, count);
}

const struct plan *wnn_graph_plan(WNNGraph graph)
{
    return graph->plan;
}
