// SPDX-License-Identifier: Apache-2.0
//
// Executions that somebody watches: the profile of a graph, or an observer of the repository's own tools. The
// clock is read once a node, so that the times of the nodes add up to the execution's.

#include "runtime/context.h"
#include "runtime/internal.h"
#include "runtime/spin.h"

#include <string.h>

// Behind the nodes come the copies of outputs, in the order in which executions first make them.
struct profile {
    struct string_pool *strings; // where the labels lie
    size_t node_count, count;    // without the copies, with them
    WNNGraphProfile whole;
    WNNNodeProfile *nodes;
    uint64_t *ends; // of the nodes and copies in the execution that runs
    size_t *copied; // the outputs that it has copied; by number of the copy
};

struct timing {
    struct observer observer;     // first
    const struct observer *trace; // of the execution's nodes, or NULL
    const struct profile *profile;
    size_t done, copies;
    uint64_t device; // nanoseconds by its clock: of the nodes that are done, then of all
    bool by_device;  // the times of the nodes are on that clock
};

// One block: the profile and the arrays.
static struct profile *create_profile(WNNGraph graph)
{
    const struct graph *source = &graph->plan->graph;
    const struct graph_info *info = &graph->info;
    size_t most = source->node_count + source->output_count;
    struct profile *profile =
        wnn_allocate_zero(&graph->context->allocator,
                          sizeof *profile + most * (sizeof profile->nodes[0] + sizeof profile->ends[0] +
                                                    sizeof profile->copied[0]));
    if (!profile)
        return NULL;
    profile->strings = wnn_string_pool_ref(source->strings);
    profile->count = profile->node_count = source->node_count;
    profile->nodes = (WNNNodeProfile *)(profile + 1);
    profile->ends = (uint64_t *)(profile->nodes + most);
    profile->copied = (size_t *)(profile->ends + most);
    profile->whole.backend = info->info.backend;
    for (size_t i = 0; i < profile->count; i++) {
        const struct node *node = source->nodes[i];
        const struct node_record *record = &info->nodes[i];
        WNNNodeProfile *entry = &profile->nodes[i];
        const char *name = wnn_ops[node->op].name;
        const char *kernel = record->kernel ? record->kernel : graph->context->backend->name;
        entry->label = wnn_string_view(node->label);
        entry->operation = (WNNStringView){name, strlen(name)};
        entry->kernel = (WNNStringView){kernel, strlen(kernel)};
        entry->bytes = record->bytes;
        entry->operations = record->operations;
    }
    return profile;
}

// ---------------------------------------------------------------------------------------------------------------
// Executions
// ---------------------------------------------------------------------------------------------------------------

static void note_begin(const struct observer *observer, const struct node *node,
                       const struct operand_resolver *resolver)
{
    const struct observer *trace = ((const struct timing *)observer)->trace;
    trace->before(trace, node, resolver);
}

static void note_end(const struct observer *observer, const struct node *node,
                     const struct operand_resolver *resolver)
{
    struct timing *timing = (struct timing *)(uintptr_t)observer;
    if (timing->trace)
        timing->trace->after(timing->trace, node, resolver);
    if (timing->done < timing->profile->node_count)
        timing->profile->ends[timing->done] = wnn_nanoseconds();
    timing->done++;
}

static void note_copy(const struct observer *observer, size_t output, uint64_t nanoseconds)
{
    struct timing *timing = (struct timing *)(uintptr_t)observer;
    const struct profile *profile = timing->profile;
    timing->device += nanoseconds;
    timing->by_device = timing->by_device || nanoseconds > 0;
    profile->copied[timing->copies] = output;
    profile->ends[profile->node_count + timing->copies] =
        timing->by_device ? timing->device : wnn_nanoseconds();
    timing->copies++;
}

static void note_time(const struct observer *observer, const struct node *node, uint64_t nanoseconds)
{
    struct timing *timing = (struct timing *)(uintptr_t)observer;
    timing->by_device = true;
    if (!node) {
        timing->device = nanoseconds > timing->device ? nanoseconds : timing->device;
        return;
    }
    timing->device += nanoseconds;
    if (timing->done < timing->profile->node_count)
        timing->profile->ends[timing->done] = timing->device;
    timing->done++;
}

static void add(uint64_t *total, uint64_t *least, uint64_t *runs, uint64_t time)
{
    *total += time;
    if (*runs == 0 || time < *least)
        *least = time;
    ++*runs;
}

static void add_run(WNNNodeProfile *node, uint64_t origin, uint64_t begin, uint64_t end)
{
    node->lastBeginNanoseconds = origin + begin;
    node->lastNanoseconds = end - begin;
    add(&node->totalNanoseconds, &node->minNanoseconds, &node->runs, node->lastNanoseconds);
}

// The entry for copies of an output of that name, which is made if there is none.
static WNNNodeProfile *find_copy(struct profile *profile, const struct port *output)
{
    static const WNNStringView copy = {"copy", 4};
    WNNStringView label = wnn_string_view(output->name);
    size_t i = profile->node_count;
    while (i < profile->count && profile->nodes[i].label.data != label.data)
        i++;
    if (i == profile->count)
        profile->nodes[profile->count++] = (WNNNodeProfile){
            .label = label, .operation = copy, .kernel = copy, .bytes = 2 * (uint64_t)output->bytes};
    return &profile->nodes[i];
}

// Under the lock.
static void merge(const struct timing *timing, struct profile *profile, const struct port *outputs,
                  uint64_t begin, uint64_t end)
{
    WNNGraphProfile *whole = &profile->whole;
    uint64_t runs = whole->runs, origin = 0;
    add(&whole->totalNanoseconds, &whole->minNanoseconds, &whole->runs, end - begin);
    whole->lastBeginNanoseconds = begin;
    whole->lastNanoseconds = end - begin;
    // The clocks differ: the device is supposed to have ended just now.
    if (timing->by_device) {
        add(&whole->totalDeviceNanoseconds, &whole->minDeviceNanoseconds, &runs, timing->device);
        whole->lastDeviceNanoseconds = timing->device;
        origin = timing->device < end - begin ? end - timing->device : begin;
    }
    uint64_t before = timing->by_device ? 0 : begin;
    for (size_t i = 0; i < profile->node_count + timing->copies; i++) {
        size_t copy = i - profile->node_count;
        add_run(i < profile->node_count ? &profile->nodes[i]
                                        : find_copy(profile, &outputs[profile->copied[copy]]),
                origin, before, profile->ends[i]);
        before = profile->ends[i];
    }
}

// Under the lock.
static void clear(struct profile *profile)
{
    WNNGraphProfile *whole = &profile->whole;
    *whole = (WNNGraphProfile){.backend = whole->backend};
    profile->count = profile->node_count;
    for (size_t i = 0; i < profile->count; i++) {
        WNNNodeProfile *node = &profile->nodes[i];
        node->runs = node->totalNanoseconds = node->minNanoseconds = 0;
        node->lastBeginNanoseconds = node->lastNanoseconds = 0;
    }
}

bool wnn_profile_execute(WNNGraph graph, const struct bindings *bindings, struct error *error)
{
    WNNContext context = graph->context;
    const struct backend *backend = context->backend;
    struct queue *queue = &context->queue;
    struct bindings watched = *bindings;

    pthread_mutex_lock(&queue->lock);
    const struct observer *observer = graph->observer;
    struct profile *profile = graph->profile;
    uint64_t epoch = graph->profile_epoch;
    pthread_mutex_unlock(&queue->lock);
    if (!observer && !profile && (profile = create_profile(graph))) {
        pthread_mutex_lock(&queue->lock);
        graph->profile = profile;
        pthread_mutex_unlock(&queue->lock);
    }
    const struct observer *trace = bindings->observer;
    struct timing timing = {.observer = {.before = trace ? note_begin : NULL,
                                         .after = note_end,
                                         .timed = note_time,
                                         .copied = note_copy},
                            .trace = trace,
                            .profile = profile};
    watched.observer = observer ? observer : profile ? &timing.observer : trace;

    uint64_t begin = wnn_nanoseconds();
    bool done = backend->execute(context->state, graph->executable, &watched, error);
    uint64_t end = wnn_nanoseconds();
    if (!done || observer || !profile || timing.done != profile->node_count)
        return done;
    pthread_mutex_lock(&queue->lock);
    if (epoch == graph->profile_epoch)
        merge(&timing, profile, graph->outputs.ports, begin, end);
    pthread_mutex_unlock(&queue->lock);
    return true;
}

void wnn_profile_free(WNNGraph graph)
{
    if (graph->profile)
        wnn_string_pool_unref(graph->profile->strings);
    wnn_release(&graph->context->allocator, graph->profile);
}

void wnn_graph_watch(WNNGraph graph, const struct observer *observer)
{
    pthread_mutex_lock(&graph->context->queue.lock);
    graph->observer = observer;
    atomic_store(&graph->watched, observer || graph->profiling);
    pthread_mutex_unlock(&graph->context->queue.lock);
}

// ---------------------------------------------------------------------------------------------------------------
// The public side
// ---------------------------------------------------------------------------------------------------------------

static void set_profiling(WNNGraph graph, void *enabled)
{
    // What runs now belongs to neither side.
    graph->profile_epoch++;
    graph->profiling = *(const bool *)enabled;
    if (graph->profiling && graph->profile)
        clear(graph->profile);
    atomic_store(&graph->watched, graph->profiling || graph->observer);
}

void wnnGraphSetProfiling(WNNGraph graph, bool enabled)
{
    if (!graph || wnn_forked(graph->context->forks))
        return;
    pthread_mutex_lock(&graph->context->queue.lock);
    set_profiling(graph, &enabled);
    if (graph->late)
        wnn_late_for_each(graph, set_profiling, &enabled);
    pthread_mutex_unlock(&graph->context->queue.lock);
}

WNNStatus wnnGraphGetProfile(WNNGraph graph, WNNGraphProfile *profile, size_t capacity, WNNNodeProfile *nodes,
                             size_t *count)
{
    struct error error = {0};
    if (count)
        *count = 0;
    if (!graph)
        return WNNStatus_TypeError;
    if (!wnn_check_outputs(profile, profile != NULL, sizeof *profile, "profile", &error) ||
        !wnn_check_outputs(nodes, nodes ? capacity : 0, sizeof *nodes, "profile of a node", &error))
        return wnn_context_report(graph->context, &error);
    if (profile)
        *profile = (WNNGraphProfile){.backend = {"", 0}};
    if (wnn_forked(graph->context->forks)) {
        wnn_fail_forked(&error);
        return wnn_context_report(graph->context, &error);
    }
    WNNGraph last = graph->late ? wnn_late_last(graph) : NULL;
    pthread_mutex_lock(&graph->context->queue.lock);
    const struct profile *source = last ? last->profile : graph->profile;
    if (source && source->whole.runs > 0) {
        if (count)
            *count = source->count;
        if (profile)
            *profile = source->whole;
        if (nodes && capacity > 0)
            memcpy(nodes, source->nodes,
                   (capacity < source->count ? capacity : source->count) * sizeof *nodes);
    }
    pthread_mutex_unlock(&graph->context->queue.lock);
    if (last)
        wnn_graph_unref(last);
    return WNNStatus_Success;
}
