// SPDX-License-Identifier: Apache-2.0
#include "conformance/fuzz/shared.h"

#include "conformance/unit/require.h"

void fuzz_fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    abort();
}

// ---------------------------------------------------------------------------------------------------------------
// Memory
// ---------------------------------------------------------------------------------------------------------------

static void *allocate(size_t size, size_t alignment, void *userdata)
{
    struct heap *heap = userdata;
    if (atomic_load(&heap->until_failure) > 0 && atomic_fetch_sub(&heap->until_failure, 1) == 1)
        return NULL;
    void *memory = NULL;
    if (size == 0 ||
        posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) != 0)
        return NULL;
    memset(memory, 0x7E, size < 4096 ? size : 4096); // who reads what it has not written gets something else
    atomic_fetch_add(&heap->bytes, (long long)size);
    atomic_fetch_add(&heap->blocks, 1);
    return memory;
}

static void release(void *memory, size_t size, size_t alignment, void *userdata)
{
    struct heap *heap = userdata;
    (void)alignment;
    if (!memory)
        fuzz_fail("NULL is given back");
    atomic_fetch_sub(&heap->bytes, (long long)size);
    atomic_fetch_sub(&heap->blocks, 1);
    free(memory);
}

WNNAllocator fuzz_allocator(struct heap *heap)
{
    return (WNNAllocator){NULL, allocate, release, heap};
}

bool fuzz_heap_is_empty(const struct heap *heap)
{
    return atomic_load(&heap->blocks) == 0 && atomic_load(&heap->bytes) == 0;
}

// ---------------------------------------------------------------------------------------------------------------
// A budget and a pool
// ---------------------------------------------------------------------------------------------------------------

static void on_threshold(WNNResource resource, uint64_t amount, void *shared, void *unused)
{
    (void)unused;
    const WNNResources *limits = &((const struct shared *)shared)->limits;
    const uint64_t most[] = {
        0, limits->hostBytes, limits->deviceBytes, limits->threads, limits->objects, limits->work};
    if (resource < WNNResource_HostMemory || resource > WNNResource_Work || amount > most[resource] ||
        amount < most[resource] / 2)
        fuzz_fail("a threshold is told that is none");
}

void fuzz_share(struct shared *shared, struct bytes *bytes)
{
    static const uint64_t memory[] = {0, 1 << 20, 8 << 20, 64 << 20}, objects[] = {0, 3, 9, 30},
                          work[] = {0, 1 << 10, 1 << 16, 1 << 22}, threads[] = {0, 3, 6, 12};
    uint8_t byte = take(bytes), more = take(bytes);
    WNNBudgetDescriptor descriptor = WNN_BUDGET_DESCRIPTOR_INIT;
    if (more % 4 > 0) { // else there is a budget without limits, which counts
        shared->limits.hostBytes = memory[byte & 3];
        shared->limits.objects = objects[byte >> 2 & 3];
        shared->limits.work = work[byte >> 4 & 3];
        shared->limits.threads = threads[byte >> 6 & 3];
    }
    descriptor.limits = shared->limits;
    descriptor.thresholds.hostBytes = (shared->limits.hostBytes + 1) / 2;
    descriptor.thresholds.objects = (shared->limits.objects + 1) / 2;
    descriptor.callback = more & 4 ? on_threshold : NULL;
    descriptor.userdata1 = shared;
    if (wnnCreateBudget(&descriptor, &shared->budget) != WNNStatus_Success)
        fuzz_fail("a budget cannot be made");
    fuzz_renew_pool(shared, take(bytes));
}

void fuzz_renew_pool(struct shared *shared, uint8_t byte)
{
    const WNNAllocator allocator = fuzz_allocator(&shared->heap);
    WNNThreadPoolDescriptor descriptor = WNN_THREAD_POOL_DESCRIPTOR_INIT;
    wnnThreadPoolRelease(shared->pool);
    shared->pool = NULL;
    descriptor.computeThreads = THREAD_SANITIZED ? 1 : 1 + byte % 3;
    descriptor.spareThreads = byte / 3 % 7;
    descriptor.allocator = &allocator;
    if (byte < 224 && wnnCreateThreadPool(&descriptor, &shared->pool) != WNNStatus_Success)
        fuzz_fail("a thread pool cannot be made");
}

bool fuzz_is_limited(const struct shared *shared)
{
    const WNNResources *limits = &shared->limits;
    return limits->hostBytes || limits->objects || limits->work || limits->threads;
}

static bool is_within(uint64_t amount, uint64_t limit)
{
    return limit == 0 || amount <= limit;
}

void fuzz_check_budget(const struct shared *shared)
{
    const WNNResources *limits = &shared->limits;
    WNNResources now = WNN_RESOURCES_INIT, peak = WNN_RESOURCES_INIT;
    wnnBudgetAddRef(shared->budget);
    wnnBudgetGetResources(shared->budget, &now, &peak);
    wnnBudgetRelease(shared->budget);
    if (!is_within(peak.hostBytes, limits->hostBytes) || !is_within(peak.objects, limits->objects) ||
        !is_within(peak.work, limits->work) || !is_within(peak.threads, limits->threads))
        fuzz_fail("contexts have more than their budget");
}

void fuzz_unshare(struct shared *shared)
{
    WNNResources left = WNN_RESOURCES_INIT;
    fuzz_check_budget(shared);
    wnnBudgetGetResources(shared->budget, &left, NULL);
    if (left.hostBytes || left.deviceBytes || left.threads || left.objects || left.work) {
        fprintf(stderr, "%llu bytes, %llu on a device, %llu threads, %llu objects, %llu of work: ",
                (unsigned long long)left.hostBytes, (unsigned long long)left.deviceBytes,
                (unsigned long long)left.threads, (unsigned long long)left.objects,
                (unsigned long long)left.work);
        fuzz_fail("a budget is not empty when all is released");
    }
    wnnBudgetRelease(shared->budget);
    wnnThreadPoolRelease(shared->pool);
    if (!fuzz_heap_is_empty(&shared->heap))
        fuzz_fail("a thread pool leaves memory");
}

// ---------------------------------------------------------------------------------------------------------------
// Traces
// ---------------------------------------------------------------------------------------------------------------

// The open slices of a thread, of all contexts.
static _Thread_local struct {
    const char *names[32];
    unsigned depth;
} slices;

static void follow_slice(const WNNTraceEvent *event)
{
    if (event->phase == WNNTracePhase_Begin) {
        if (slices.depth == sizeof slices.names / sizeof slices.names[0])
            fuzz_fail("slices of a thread do not end");
        slices.names[slices.depth++] = event->name.data;
    } else if (event->phase == WNNTracePhase_End) {
        if (slices.depth == 0 || strcmp(slices.names[--slices.depth], event->name.data) != 0)
            fuzz_fail("a slice ends that has not begun last");
    }
}

static struct trace_flow *find_flow(struct trace_log *log, uint64_t id)
{
    for (size_t i = log->count; i-- > 0;)
        if (log->flows[i].id == id)
            return &log->flows[i];
    return NULL;
}

static void follow_flow(struct trace_log *log, const WNNTraceEvent *event)
{
    struct trace_flow *flow = find_flow(log, event->flowId);
    if (event->flow != WNNTraceFlow_Begin) {
        if (!flow || flow->ended)
            fuzz_fail("a flow goes on that has not begun, or has ended");
        flow->ended = event->flow == WNNTraceFlow_End;
        return;
    }
    if (flow || log->count == sizeof log->flows / sizeof log->flows[0])
        fuzz_fail("a flow begins twice, or there are too many");
    log->flows[log->count++] = (struct trace_flow){event->flowId, false};
}

static void on_event(const WNNTraceEvent *event, void *log, void *unused)
{
    (void)unused;
    if (!event->name.data || !event->category.data || !event->label.data ||
        (event->flow == WNNTraceFlow_None) != (event->flowId == 0) || event->status > WNNStatus_Cancelled)
        fuzz_fail("an event that says nothing");
    follow_slice(event);
    if (event->flow == WNNTraceFlow_None)
        return;
    pthread_mutex_lock(&((struct trace_log *)log)->lock);
    follow_flow(log, event);
    pthread_mutex_unlock(&((struct trace_log *)log)->lock);
}

void fuzz_trace_begin(struct trace_log *log, bool nodes)
{
    log->trace = (WNNTrace)WNN_TRACE_INIT;
    log->trace.event = on_event;
    log->trace.userdata1 = log;
    log->trace.includeNodes = nodes;
    log->count = 0;
    pthread_mutex_init(&log->lock, NULL);
}

void fuzz_trace_end(struct trace_log *log)
{
    if (!log->trace.event)
        return;
    for (size_t i = 0; i < log->count; i++)
        if (!log->flows[i].ended)
            fuzz_fail("a flow does not end");
    if (slices.depth > 0)
        fuzz_fail("a slice does not end");
    pthread_mutex_destroy(&log->lock);
}
