// SPDX-License-Identifier: Apache-2.0
#include "runtime/late.h"

#include "ops/bind.h"
#include "ops/builder.h"
#include "runtime/compile.h"
#include "runtime/context.h"
#include "runtime/request.h"
#include "runtime/shared_weights.h"
#include "runtime/spin.h"
#include "runtime/submit.h"
#include "runtime/worker.h"

#include <string.h>

#define LOOK_NANOSECONDS 1000000u // how often who waits looks whether it is to stop
#define SPIN_NANOSECONDS 400000u  // before it sleeps

struct specialization {
    struct specialization *next;
    WNNGraph graph; // a reference
    uint64_t bytes; // once it is compiled
    uint32_t sizes[];
};

struct late {
    struct graph recorded; // does not change
    // What specializations share, for who builds (queue.builder_busy).
    struct derived *derived;
    WNNSharedWeights shared; // with others, or NULL; a reference
    struct workspace workspace;
    struct compile_settings settings;
    // Under the queue's lock.
    struct specialization *first; // used last
    atomic_bool specialized;      // once at least: what is shared is there; any thread reads it
};

bool wnn_late_create(WNNGraph graph, struct graph *recorded, const struct compile_settings *settings,
                     WNNSharedWeights shared, struct error *error)
{
    struct late *late = wnn_allocate_zero(&graph->context->allocator, sizeof *late);
    if (!late)
        return wnn_fail_memory(error);
    late->derived = wnn_derived_create(&graph->context->allocator, recorded, wnn_shared_weights_of(shared));
    if (!late->derived) {
        wnn_release(&graph->context->allocator, late);
        return wnn_fail_memory(error);
    }
    late->shared = shared;
    wnnSharedWeightsAddRef(shared);
    late->workspace.allocator = &graph->context->allocator;
    atomic_init(&late->specialized, false);
    late->settings = *settings;
    late->recorded = *recorded;
    *recorded = (struct graph){0};
    for (size_t i = 0; i < late->recorded.operand_count; i++)
        late->recorded.operands[i]->graph = &late->recorded;
    graph->late = late;
    return true;
}

static void free_list(struct allocator *allocator, struct specialization *list)
{
    for (struct specialization *next; list; list = next) {
        next = list->next;
        wnn_graph_unref(list->graph);
        wnn_release(allocator, list);
    }
}

// Takes all specializations off, for their last references to be given back without the lock.
static struct specialization *take_all(WNNGraph graph)
{
    struct queue *queue = &graph->context->queue;
    pthread_mutex_lock(&queue->lock);
    struct specialization *list = graph->late->first;
    graph->late->first = NULL;
    pthread_mutex_unlock(&queue->lock);
    return list;
}

void wnn_late_destroy(WNNGraph graph)
{
    free_list(&graph->context->allocator, take_all(graph));
}

void wnn_late_free(WNNGraph graph)
{
    wnn_late_destroy(graph);
    wnn_derived_unref(graph->late->derived);
    wnnSharedWeightsRelease(graph->late->shared);
    wnn_workspace_unref(graph->late->workspace.last);
    wnn_graph_free(&graph->late->recorded);
    wnn_release(&graph->context->allocator, graph->late);
}

// ---------------------------------------------------------------------------------------------------------------
// Compiling
// ---------------------------------------------------------------------------------------------------------------

struct specialize_request {
    struct request request;
    struct graph graph; // bound
    bool compiled;      // the compiler took it
    WNNGraph to, from;  // references
};

// Tells who waits how it has ended; `error` NULL: well.
static void tell(WNNGraph graph, const struct error *error)
{
    struct queue *queue = &graph->context->queue;
    pthread_mutex_lock(&queue->lock);
    if (graph->form == FORM_WAITS) {
        graph->form = error ? FORM_FAILED : FORM_READY;
        if (error)
            graph->fault = *error;
    }
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

// Under the lock: takes off what is too much, but never what was used last.
static struct specialization *take_surplus(const WNNLimits *limits, struct late *late)
{
    struct specialization *surplus = NULL;
    uint64_t bytes = 0;
    size_t count = 0;
    for (struct specialization **at = &late->first, *item; (item = *at);) {
        count++;
        bytes += item->bytes;
        bool fits = (limits->maxSpecializations == 0 || count <= limits->maxSpecializations) &&
                    (limits->maxSpecializationBytes == 0 || bytes <= limits->maxSpecializationBytes);
        if (fits || item == late->first) {
            at = &item->next;
        } else {
            *at = item->next;
            item->next = surplus;
            surplus = item;
            bytes -= item->bytes;
            count--;
        }
    }
    return surplus;
}

// Counts the bytes of what has been compiled, and takes off what is too much then.
static struct specialization *weigh(WNNGraph graph, WNNGraph specialization)
{
    struct queue *queue = &graph->context->queue;
    const WNNGraphInfo *info = &specialization->info.info;
    pthread_mutex_lock(&queue->lock);
    for (struct specialization *item = graph->late->first; item; item = item->next)
        if (item->graph == specialization)
            item->bytes = info->weightBytes + info->executionBytes;
    atomic_store(&graph->late->specialized, true);
    struct specialization *surplus = take_surplus(&graph->context->limits, graph->late);
    pthread_mutex_unlock(&queue->lock);
    return surplus;
}

// What failed is tried again when its sizes come again.
static void forget(WNNGraph graph, WNNGraph specialization)
{
    struct queue *queue = &graph->context->queue;
    struct specialization *found = NULL;
    pthread_mutex_lock(&queue->lock);
    for (struct specialization **at = &graph->late->first; *at; at = &(*at)->next)
        if ((*at)->graph == specialization) {
            found = *at;
            *at = found->next;
            found->next = NULL;
            break;
        }
    pthread_mutex_unlock(&queue->lock);
    free_list(&graph->context->allocator, found);
}

static bool run_specialize(WNNContext context, struct request *base, struct error *error)
{
    struct specialize_request *request = (struct specialize_request *)base;
    WNNGraph graph = request->to;
    wnn_request_begin(base, context->limits.maxBuildNanoseconds);
    static const WNNConstantSource nobody = WNN_CONSTANT_SOURCE_INIT;
    const struct resolver resolver = wnn_resolver_of(context, &nobody, base, false);
    const struct compile_job job = {.graph = &request->graph,
                                    .compiled = &request->compiled,
                                    .settings = &request->from->late->settings,
                                    .derived = request->from->late->derived,
                                    .shared = request->from->late->shared,
                                    .workspace = &request->from->late->workspace,
                                    .flow = request->from->info.info.id,
                                    .weightless = request->from->weightless && context->backend->code,
                                    .resolver = &resolver,
                                    .interrupt = &base->interrupt};
    struct error fault = {0};
    if (wnn_graph_compile(context, &job, graph, &fault)) {
        graph->info.info.recordedOperators = request->from->info.info.recordedOperators;
        wnn_graph_publish(graph);
        struct specialization *surplus = weigh(request->from, graph);
        tell(graph, NULL);
        free_list(&context->allocator, surplus); // nobody waits for that
        return true;
    }
    wnn_fail(&fault, WNNStatus_OperationError, "the backend %s cannot build the graph",
             context->backend->name);
    forget(request->from, graph);
    tell(graph, &fault);
    *error = fault; // executions have been told; why a context is lost is told by the queue
    return !context->backend->lost || !context->backend->lost(context->state);
}

static void drop_specialize(WNNContext context, struct request *base)
{
    struct specialize_request *request = (struct specialize_request *)base;
    struct error fault = {0};
    (void)context;
    if (!request->compiled)
        wnn_graph_free(&request->graph);
    wnn_fail(&fault, WNNStatus_Cancelled, "cancelled before the graph was compiled for its sizes");
    tell(request->to, &fault); // unless it has run
    wnn_graph_unref(request->to);
    wnn_graph_unref(request->from);
}

// The first one of a graph, which packs weights, and those of a device, which may compile shaders, are the
// builder's: whoever waits for them is to be told that its own request is cancelled.
static const struct request_kind specialize_kind = {
    .run = run_specialize, .drop = drop_specialize, .builds = true, .interruptible = true};

// All others take less time than to wake the builder.
static const struct request_kind respecialize_kind = {
    .run = run_specialize, .drop = drop_specialize, .builds = true, .awaited = true, .interruptible = true};

static const struct request_kind *kind_for(WNNGraph graph)
{
    bool here = !graph->context->backend->submit && atomic_load(&graph->late->specialized);
    return here ? &respecialize_kind : &specialize_kind;
}

// Compiles it, if it is one that who waits for it is to compile, and nobody builds.
static void compile_here(WNNGraph graph)
{
    struct queue *queue = &graph->context->queue;
    pthread_mutex_lock(&queue->lock);
    struct request *request = queue->builder_busy ? NULL : queue->builds.first;
    while (request &&
           (request->kind != &respecialize_kind || ((const struct specialize_request *)request)->to != graph))
        request = request->next;
    if (request)
        wnn_queue_build_here(graph->context, request);
    pthread_mutex_unlock(&queue->lock);
}

bool wnn_late_wait(WNNGraph graph, const struct interrupt *interrupt, struct error *error)
{
    struct queue *queue = &graph->context->queue;
    bool good = true;
    if (atomic_load(&graph->form) == FORM_WAITS)
        compile_here(graph);
    // It usually takes less time than to sleep and be woken, twice.
    struct spin spin = {.length = SPIN_NANOSECONDS};
    while (atomic_load(&graph->form) == FORM_WAITS && wnn_spin(&spin)) {
    }
    pthread_mutex_lock(&queue->lock);
    while (graph->form == FORM_WAITS && good) {
        struct timespec deadline;
        wnn_deadline_after(LOOK_NANOSECONDS, &deadline);
        pthread_cond_timedwait(&queue->changed, &queue->lock, &deadline);
        pthread_mutex_unlock(&queue->lock);
        good = wnn_interrupt_check(interrupt, error);
        pthread_mutex_lock(&queue->lock);
    }
    if (good && graph->form == FORM_FAILED)
        good = wnn_fail(error, graph->fault.status, "%s", graph->fault.message);
    pthread_mutex_unlock(&queue->lock);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Finding
// ---------------------------------------------------------------------------------------------------------------

// Under the lock: the one of these sizes, which becomes the first; NULL: none.
static struct specialization *find(struct late *late, const uint32_t *sizes)
{
    size_t bytes = late->recorded.sizes.count * sizeof sizes[0];
    for (struct specialization **at = &late->first, *item; (item = *at); at = &item->next)
        if (memcmp(item->sizes, sizes, bytes) == 0) {
            *at = item->next;
            item->next = late->first;
            late->first = item;
            return item;
        }
    return NULL;
}

static WNNGraph find_graph(WNNGraph graph, const uint32_t *sizes)
{
    struct queue *queue = &graph->context->queue;
    pthread_mutex_lock(&queue->lock);
    const struct specialization *item = find(graph->late, sizes);
    WNNGraph found = item ? item->graph : NULL;
    if (found)
        wnn_graph_ref(found);
    pthread_mutex_unlock(&queue->lock);
    return found; // the item may be gone
}

static struct specialize_request *prepare(WNNGraph graph, const uint32_t *sizes, struct error *error)
{
    WNNContext context = graph->context;
    struct specialize_request *request = wnn_request_create(context, kind_for(graph), sizeof *request, error);
    if (!request)
        return NULL;
    wnn_graph_init(&request->graph, &context->allocator);
    request->to = wnn_bind_graph(&graph->late->recorded, &context->limits, sizes, &request->graph, error)
                      ? wnn_graph_create(context, &request->graph, error)
                      : NULL;
    if (request->to) {
        request->graph.code = graph->late->recorded.code;
        request->graph.code_count = graph->late->recorded.code_count;
        atomic_init(&request->to->form, FORM_WAITS);
        request->to->parent = graph;
        wnn_graph_ref(graph);
        request->from = graph;
        return request;
    }
    wnn_graph_free(&request->graph);
    wnn_request_free(context, request);
    return NULL;
}

// Binds and begins to compile it. If two threads do that at once for the same sizes, there are two for a
// time.
static WNNGraph add(WNNGraph graph, const uint32_t *sizes, struct error *error)
{
    WNNContext context = graph->context;
    struct late *late = graph->late;
    size_t bytes = late->recorded.sizes.count * sizeof sizes[0];
    struct specialization *item = wnn_allocate_zero(&context->allocator, sizeof *item + bytes);
    struct specialize_request *request = item ? prepare(graph, sizes, error) : NULL;
    if (!request) {
        wnn_release(&context->allocator, item);
        wnn_fail_memory(error);
        return NULL;
    }
    WNNGraph made = request->to;
    memcpy(item->sizes, sizes, bytes);
    item->graph = made;
    wnn_graph_ref(made); // the list's
    wnn_graph_ref(made); // the caller's
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    item->next = late->first;
    late->first = item;
    made->profiling = graph->profiling;
    atomic_store(&made->watched, graph->profiling);
    pthread_mutex_unlock(&queue->lock);
    if (wnn_submit_silently(context, &request->request, error))
        return made;
    forget(graph, made);
    wnn_graph_unref(made);
    return NULL;
}

WNNGraph wnn_late_specialize(WNNGraph graph, const struct shape *shapes, struct error *error)
{
    WNNContext context = graph->context;
    const struct graph *recorded = &graph->late->recorded;
    uint32_t few[32], *sizes = few;
    size_t count = recorded->sizes.count;
    if (count > sizeof few / sizeof few[0] &&
        !(sizes = wnn_spare_take(&context->spare, &context->allocator, count * sizeof sizes[0]))) {
        wnn_fail_memory(error);
        return NULL;
    }
    WNNGraph found = NULL;
    if (wnn_bind_sizes(recorded, shapes, sizes, error) && !(found = find_graph(graph, sizes)))
        found = add(graph, sizes, error);
    if (sizes != few)
        wnn_spare_give(&context->spare, &context->allocator, sizes);
    return found;
}

WNNGraph wnn_late_last(WNNGraph graph)
{
    struct queue *queue = &graph->context->queue;
    pthread_mutex_lock(&queue->lock);
    WNNGraph last = graph->late->first && graph->late->first->graph->form == FORM_READY
                        ? graph->late->first->graph
                        : NULL;
    if (last)
        wnn_graph_ref(last);
    pthread_mutex_unlock(&queue->lock);
    return last;
}

void wnn_late_give_up(WNNGraph specialization)
{
    if (atomic_load(&specialization->form) == FORM_WAITS)
        wnn_queue_tell_builder(specialization->context);
}

void wnn_late_for_each(WNNGraph graph, void (*visit)(WNNGraph specialization, void *argument), void *argument)
{
    for (struct specialization *item = graph->late->first; item; item = item->next)
        visit(item->graph, argument);
}

WNNGraph *wnn_late_ready(WNNGraph graph, size_t *count)
{
    struct queue *queue = &graph->context->queue;
    size_t all = 0;
    *count = 0;
    pthread_mutex_lock(&queue->lock);
    for (const struct specialization *item = graph->late->first; item; item = item->next)
        all++;
    WNNGraph *ready = wnn_allocate(&graph->context->allocator, (all + 1) * sizeof *ready);
    for (const struct specialization *item = graph->late->first; ready && item; item = item->next) {
        if (item->graph->form != FORM_READY)
            continue;
        wnn_graph_ref(item->graph);
        ready[(*count)++] = item->graph;
    }
    pthread_mutex_unlock(&queue->lock);
    return ready;
}

struct derived_size wnn_late_derived(WNNGraph graph)
{
    return wnn_derived_size(graph->late->derived);
}

bool wnn_late_describe(WNNGraph graph, uint32_t size, WNNDimension *dimension)
{
    return wnn_describe_size(&graph->late->recorded.sizes, size, dimension);
}

bool wnn_late_outputs(WNNGraph graph, const struct shape *shapes, struct descriptor *outputs,
                      struct error *error)
{
    struct allocator *allocator = &graph->context->allocator;
    const struct graph *recorded = &graph->late->recorded;
    uint32_t *sizes = wnn_allocate(allocator, recorded->sizes.count * sizeof sizes[0]);
    if (!sizes)
        return wnn_fail_memory(error);
    struct graph bound;
    wnn_graph_init(&bound, allocator);
    bool good = wnn_bind_sizes(recorded, shapes, sizes, error) &&
                wnn_bind_graph(recorded, &graph->context->limits, sizes, &bound, error);
    for (size_t i = 0; good && i < bound.output_count; i++)
        outputs[i] = bound.outputs[i].operand->type;
    wnn_graph_free(&bound);
    wnn_release(allocator, sizes);
    return good;
}
