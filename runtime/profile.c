// SPDX-License-Identifier: Apache-2.0
//
// Executions that somebody watches: the profile of a graph, or an watcher of the repository's own tools. The
// clock is read once a node, so that the times of the nodes add up to the execution's.

#include "runtime/internal.h"
#include "runtime/spin.h"

#include <string.h>

struct profile {
    struct string_pool *strings; // where the labels lie
    size_t count;
    WNNGraphProfile whole;
    WNNNodeProfile *nodes;
    uint64_t *ends; // of the nodes in the execution that runs
};

struct timing {
    struct watcher watcher; // first
    const struct profile *profile;
    size_t done;
    uint64_t device; // nanoseconds by its clock: of the nodes that are done, then of all
    bool by_device;  // the times of the nodes are on that clock
};

// ---------------------------------------------------------------------------------------------------------------
// What a node is
// ---------------------------------------------------------------------------------------------------------------

// `reader`: by operand, 1 + the number of the last node by which it was counted.
static uint64_t node_bytes(const struct node *node, uint32_t *reader)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < node->in_count; i++) {
        const struct operand *in = node->in[i];
        if (!in || reader[in->index] == node->index + 1)
            continue;
        reader[in->index] = node->index + 1;
        bytes += wnn_descriptor_bytes(&in->type);
    }
    for (unsigned i = 0; i < node->out_count; i++)
        bytes += wnn_descriptor_bytes(&node->out[i]->type);
    return bytes;
}

static bool multiplies_and_adds(uint16_t op)
{
    switch (op) {
    case WNN_OP_conv2d:
    case WNN_OP_convTranspose2d:
    case WNN_OP_gemm:
    case WNN_OP_gru:
    case WNN_OP_gruCell:
    case WNN_OP_lstm:
    case WNN_OP_lstmCell:
    case WNN_OP_matmul:
        return true;
    default:
        return false;
    }
}

// `types` has room for the outputs of the node.
static uint64_t node_operations(const struct node *node, struct descriptor *types)
{
    for (unsigned i = 0; i < node->out_count; i++)
        types[i] = node->out[i]->type;
    uint64_t work = wnn_op_work((enum op)node->op, node->in, types, node->out_count, node->attrs);
    if (multiplies_and_adds(node->op))
        work = work <= UINT64_MAX / 2 ? 2 * work : UINT64_MAX;
    uint64_t activated = node->activation ? wnn_shape_elements(&types[0].shape) : 0;
    return work <= UINT64_MAX - activated ? work + activated : UINT64_MAX;
}

// One block: the profile and the arrays.
static struct profile *create(WNNContext context, const struct plan *plan)
{
    const struct graph *graph = &plan->graph;
    size_t outputs = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        outputs = graph->nodes[i]->out_count > outputs ? graph->nodes[i]->out_count : outputs;
    struct profile *profile = wnn_allocate_zero(
        &context->allocator,
        sizeof *profile + graph->node_count * (sizeof profile->nodes[0] + sizeof profile->ends[0]));
    struct descriptor *types = wnn_allocate(&context->allocator, outputs * sizeof *types);
    uint32_t *reader = wnn_allocate_zero(&context->allocator, graph->operand_count * sizeof *reader);
    if (!profile || !types || !reader) {
        wnn_release(&context->allocator, profile);
        wnn_release(&context->allocator, types);
        wnn_release(&context->allocator, reader);
        return NULL;
    }
    profile->strings = wnn_string_pool_ref(graph->strings);
    profile->count = graph->node_count;
    profile->nodes = (WNNNodeProfile *)(profile + 1);
    profile->ends = (uint64_t *)(profile->nodes + profile->count);
    const struct backend *backend = context->backend;
    profile->whole.backend = (WNNStringView){backend->name, strlen(backend->name)};
    for (size_t i = 0; i < profile->count; i++) {
        const struct node *node = graph->nodes[i];
        WNNNodeProfile *entry = &profile->nodes[i];
        const char *name = wnn_ops[node->op].name;
        const char *kernel = backend->kernel ? backend->kernel(node) : backend->name;
        entry->label = wnn_string_view(node->label);
        entry->operation = (WNNStringView){name, strlen(name)};
        entry->kernel = (WNNStringView){kernel, strlen(kernel)};
        entry->bytes = node_bytes(node, reader);
        entry->operations = node_operations(node, types);
    }
    wnn_release(&context->allocator, reader);
    wnn_release(&context->allocator, types);
    return profile;
}

// ---------------------------------------------------------------------------------------------------------------
// Executions
// ---------------------------------------------------------------------------------------------------------------

static void note_end(const struct watcher *watcher, const struct node *node, const struct sight *sight)
{
    struct timing *timing = (struct timing *)(uintptr_t)watcher;
    (void)node;
    (void)sight;
    if (timing->done < timing->profile->count)
        timing->profile->ends[timing->done] = wnn_nanoseconds();
    timing->done++;
}

static void note_time(const struct watcher *watcher, const struct node *node, uint64_t nanoseconds)
{
    struct timing *timing = (struct timing *)(uintptr_t)watcher;
    timing->by_device = true;
    if (!node) {
        timing->device = nanoseconds > timing->device ? nanoseconds : timing->device;
        return;
    }
    timing->device += nanoseconds;
    if (timing->done < timing->profile->count)
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

// Under the lock.
static void merge(const struct timing *timing, struct profile *profile, uint64_t begin, uint64_t end)
{
    WNNGraphProfile *whole = &profile->whole;
    uint64_t runs = whole->runs, origin = 0;
    add(&whole->totalNanoseconds, &whole->leastNanoseconds, &whole->runs, end - begin);
    whole->lastBegin = begin;
    whole->lastNanoseconds = end - begin;
    // The clocks differ: the device is supposed to have ended just now.
    if (timing->by_device) {
        add(&whole->totalDeviceNanoseconds, &whole->leastDeviceNanoseconds, &runs, timing->device);
        whole->lastDeviceNanoseconds = timing->device;
        origin = timing->device < end - begin ? end - timing->device : begin;
    }
    for (size_t i = 0; i < profile->count; i++) {
        WNNNodeProfile *node = &profile->nodes[i];
        uint64_t before = i > 0 ? profile->ends[i - 1] : timing->by_device ? 0 : begin;
        node->lastBegin = origin + before;
        node->lastNanoseconds = profile->ends[i] - before;
        add(&node->totalNanoseconds, &node->leastNanoseconds, &node->runs, node->lastNanoseconds);
    }
}

// Under the lock.
static void clear(struct profile *profile)
{
    WNNGraphProfile *whole = &profile->whole;
    *whole = (WNNGraphProfile){.backend = whole->backend};
    for (size_t i = 0; i < profile->count; i++) {
        WNNNodeProfile *node = &profile->nodes[i];
        node->runs = node->totalNanoseconds = node->leastNanoseconds = 0;
        node->lastBegin = node->lastNanoseconds = 0;
    }
}

bool wnn_profile_execute(WNNGraph graph, const struct bindings *bindings, struct error *error)
{
    WNNContext context = graph->context;
    const struct backend *backend = context->backend;
    struct queue *queue = &context->queue;
    struct bindings watched = *bindings;

    pthread_mutex_lock(&queue->lock);
    const struct watcher *watcher = graph->watcher;
    struct profile *profile = graph->profile;
    uint64_t epoch = graph->profile_epoch;
    pthread_mutex_unlock(&queue->lock);
    if (!watcher && !profile && (profile = create(context, graph->plan))) {
        pthread_mutex_lock(&queue->lock);
        graph->profile = profile;
        pthread_mutex_unlock(&queue->lock);
    }
    struct timing timing = {{NULL, note_end, note_time, false}, profile, 0, 0, false};
    watched.watcher = watcher ? watcher : profile ? &timing.watcher : NULL;

    uint64_t begin = wnn_nanoseconds();
    bool done = backend->execute(context->state, graph->executable, &watched, error);
    uint64_t end = wnn_nanoseconds();
    if (!done || watcher || !profile || timing.done != profile->count)
        return done;
    pthread_mutex_lock(&queue->lock);
    if (epoch == graph->profile_epoch)
        merge(&timing, profile, begin, end);
    pthread_mutex_unlock(&queue->lock);
    return true;
}

void wnn_profile_free(WNNGraph graph)
{
    if (graph->profile)
        wnn_string_pool_unref(graph->profile->strings);
    wnn_release(&graph->context->allocator, graph->profile);
}

void wnn_graph_watch(WNNGraph graph, const struct watcher *watcher)
{
    pthread_mutex_lock(&graph->context->queue.lock);
    graph->watcher = watcher;
    atomic_store(&graph->watched, watcher || graph->profiling);
    pthread_mutex_unlock(&graph->context->queue.lock);
}

// ---------------------------------------------------------------------------------------------------------------
// The public side
// ---------------------------------------------------------------------------------------------------------------

void wnnGraphSetProfiling(WNNGraph graph, bool enabled)
{
    if (!graph)
        return;
    pthread_mutex_lock(&graph->context->queue.lock);
    // What runs now belongs to neither side.
    graph->profile_epoch++;
    if (enabled && graph->profile)
        clear(graph->profile);
    graph->profiling = enabled;
    atomic_store(&graph->watched, enabled || graph->watcher);
    pthread_mutex_unlock(&graph->context->queue.lock);
}

size_t wnnGraphGetProfile(WNNGraph graph, WNNGraphProfile *profile, size_t capacity, WNNNodeProfile *nodes)
{
    if (profile)
        *profile = (WNNGraphProfile){.backend = {"", 0}};
    if (!graph)
        return 0;
    size_t count = 0;
    pthread_mutex_lock(&graph->context->queue.lock);
    const struct profile *source = graph->profile;
    if (source && source->whole.runs > 0) {
        count = source->count;
        if (profile)
            *profile = source->whole;
        if (nodes && capacity > 0)
            memcpy(nodes, source->nodes, (capacity < count ? capacity : count) * sizeof *nodes);
    }
    pthread_mutex_unlock(&graph->context->queue.lock);
    return count;
}
