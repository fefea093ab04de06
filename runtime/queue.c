// SPDX-License-Identifier: Apache-2.0
//
// Lock order: a timeline has one lock, queue->lock; no other lock is taken and no function of the caller, the
// backend or the allocator is called while it is held.

#include "runtime/internal.h"
#include "runtime/trace.h"

#include <string.h>
#include <time.h>

// Where threads wait for their requests, they can run them, and to wake the worker for each would disturb
// them. It looks now and then instead, until nothing has come for a time.
#define LOOK_NANOSECONDS 1000000u
#define LOOKS            2

// ---------------------------------------------------------------------------------------------------------------
// Lists and the table; under the lock
// ---------------------------------------------------------------------------------------------------------------

static void append(struct request_list *list, struct request *request)
{
    request->next = NULL;
    request->previous = list->last;
    request->list = list;
    *(list->last ? &list->last->next : &list->first) = request;
    list->last = request;
}

static void detach(struct request *request)
{
    struct request_list *list = request->list;
    *(request->previous ? &request->previous->next : &list->first) = request->next;
    *(request->next ? &request->next->previous : &list->last) = request->previous;
    request->next = request->previous = NULL;
    request->list = NULL;
}

static struct request *take_first(struct request_list *list)
{
    struct request *request = list->first;
    if (request)
        detach(request);
    return request;
}

static struct request **bucket_of(struct queue *queue, uint64_t id)
{
    return &queue->buckets[id & (queue->bucket_count - 1)];
}

static struct request *find(struct queue *queue, uint64_t id)
{
    struct request *request = *bucket_of(queue, id);
    while (request && request->id != id)
        request = request->next_in_bucket;
    return request;
}

static bool id_exists(const struct queue *queue, uint64_t id)
{
    return id - queue->first_id < queue->count;
}

// Doubles the table when there is a request a bucket; without memory for that, requests are found more
// slowly. The lock is left to allocate.
static void grow(WNNContext context)
{
    struct queue *queue = &context->queue;
    size_t count = queue->bucket_count * 2;
    if (queue->pending < queue->bucket_count)
        return;
    pthread_mutex_unlock(&queue->lock);
    struct request **buckets = wnn_allocate_zero(&context->allocator, count * sizeof *buckets), **old = NULL;
    pthread_mutex_lock(&queue->lock);
    if (buckets && queue->bucket_count * 2 == count) {
        old = queue->buckets;
        queue->buckets = buckets;
        queue->bucket_count = count;
        for (size_t i = 0; i < count / 2; i++)
            for (struct request *request = old[i], *next; request; request = next) {
                next = request->next_in_bucket;
                request->next_in_bucket = *bucket_of(queue, request->id);
                *bucket_of(queue, request->id) = request;
            }
    } else {
        old = buckets;
    }
    if (!old || old == queue->few_buckets)
        return;
    pthread_mutex_unlock(&queue->lock);
    wnn_release(&context->allocator, old);
    pthread_mutex_lock(&queue->lock);
}

static void enter(struct queue *queue, struct request *request)
{
    request->id = queue->first_id + queue->count++;
    struct request **bucket = bucket_of(queue, request->id);
    request->next_in_bucket = *bucket;
    *bucket = request;
    queue->pending++;
}

static void leave(struct queue *queue, struct request *request)
{
    if (request->id == 0)
        return;
    struct request **place = bucket_of(queue, request->id);
    while (*place != request)
        place = &(*place)->next_in_bucket;
    *place = request->next_in_bucket;
    queue->pending--;
    pthread_cond_broadcast(&queue->changed);
}

// It runs no more, and may be gone soon.
static void leave_current(struct queue *queue, const struct request *request)
{
    if (queue->current == request)
        queue->current = NULL;
    if (queue->building == request)
        queue->building = NULL;
}

static bool on_spontaneous_callback(const struct queue *queue)
{
    for (const struct spontaneous *s = queue->spontaneous; s; s = s->next)
        if (pthread_equal(s->thread, pthread_self()))
            return true;
    return false;
}

static void enter_spontaneous(struct queue *queue, struct spontaneous *record)
{
    record->thread = pthread_self();
    record->next = queue->spontaneous;
    queue->spontaneous = record;
}

static void leave_spontaneous(struct queue *queue, struct spontaneous *record)
{
    struct spontaneous **place = &queue->spontaneous;
    while (*place != record)
        place = &(*place)->next;
    *place = record->next;
}

// ---------------------------------------------------------------------------------------------------------------
// The end of a request; without the lock
// ---------------------------------------------------------------------------------------------------------------

static void *take_place(struct queue *queue)
{
    unsigned taken = atomic_load(&queue->places_taken);
    for (unsigned i = 0; i < QUEUE_PLACES; i++)
        if (!(taken >> i & 1) && !(atomic_fetch_or(&queue->places_taken, 1u << i) >> i & 1))
            return &queue->places[i];
    return NULL;
}

void wnn_request_free(WNNContext context, void *request)
{
    struct queue *queue = &context->queue;
    uintptr_t place = (uintptr_t)request - (uintptr_t)queue->places;
    if (place < sizeof queue->places)
        atomic_fetch_and(&queue->places_taken, ~(1u << place / sizeof queue->places[0]));
    else
        wnn_release(&context->allocator, request);
}

static void free_request(WNNContext context, struct request *request)
{
    wnn_release(&context->allocator, request->message_memory);
    if (request == &context->queue.emergency) {
        pthread_mutex_lock(&context->queue.lock);
        context->queue.emergency_used = false;
        pthread_mutex_unlock(&context->queue.lock);
    } else {
        wnn_request_free(context, request);
    }
}

// Context NULL: there is none.
static void call_back(WNNContext context, const struct request *request)
{
    const struct callback *callback = &request->callback;
    wnn_trace_complete(context, request);
    if (callback->build)
        callback->build(request->status, request->graph, request->message, callback->userdata1,
                        callback->userdata2);
    else if (callback->request)
        callback->request(request->status, request->message, callback->userdata1, callback->userdata2);
    wnn_trace_completed(context);
}

// Runs the callback of a request in state DELIVERING, which ends it. The lock is held before and after, not
// within.
static void deliver(WNNContext context, struct request *request)
{
    struct queue *queue = &context->queue;
    bool spontaneous = request->callback.mode != WNNCallbackMode_WaitAnyOnly &&
                       request->callback.mode != WNNCallbackMode_AllowProcessEvents;
    struct spontaneous record;
    if (spontaneous)
        enter_spontaneous(queue, &record);
    request->state = REQUEST_DELIVERING;
    request->deliverer = pthread_self();
    pthread_mutex_unlock(&queue->lock);

    call_back(context, request);

    pthread_mutex_lock(&queue->lock);
    if (spontaneous)
        leave_spontaneous(queue, &record);
    leave(queue, request);
    pthread_mutex_unlock(&queue->lock);
    free_request(context, request);
    pthread_mutex_lock(&queue->lock);
}

static void set_result(WNNContext context, struct request *request, const struct error *error)
{
    request->status = error->status;
    request->message = (WNNStringView){"", 0};
    if (error->status == WNNStatus_Success)
        return;
    WNNStringView message = wnn_error_message(error);
    char *copy = message.length ? wnn_allocate(&context->allocator, message.length + 1) : NULL;
    if (copy) {
        memcpy(copy, message.data, message.length + 1);
        request->message_memory = copy;
        request->message = (WNNStringView){copy, message.length};
    } else {
        request->message = wnnStatusName(error->status);
    }
}

// Ends a request in state RUNNING that has its result: drops what it refers to, and sees that the callback
// runs. `here` says that a spontaneous one may run in this call; otherwise it is the worker's.
static void conclude(WNNContext context, struct request *request, bool here)
{
    struct queue *queue = &context->queue;
    if (request->kind)
        request->kind->drop(context, request);

    const struct callback *callback = &request->callback;
    if (!callback->build && !callback->request)
        call_back(context, request);
    pthread_mutex_lock(&queue->lock);
    leave_current(queue, request);
    if (!callback->build && !callback->request) {
        leave(queue, request);
        pthread_mutex_unlock(&queue->lock);
        free_request(context, request);
        return;
    }
    if (callback->mode == WNNCallbackMode_AllowProcessEvents && !queue->closed) {
        request->state = REQUEST_DONE;
        append(&queue->events, request);
        pthread_cond_broadcast(&queue->changed);
    } else if (callback->mode == WNNCallbackMode_WaitAnyOnly && !queue->closed) {
        request->state = REQUEST_DONE;
        append(&queue->waits, request);
        pthread_cond_broadcast(&queue->changed);
    } else if (here || queue->ending) {
        deliver(context, request);
    } else {
        append(&queue->cancelled, request);
        pthread_cond_signal(&queue->work);
    }
    pthread_mutex_unlock(&queue->lock);
}

static void finish(WNNContext context, struct request *request, const struct error *error, bool here)
{
    set_result(context, request, error);
    conclude(context, request, here);
}

// ---------------------------------------------------------------------------------------------------------------
// Taking requests
// ---------------------------------------------------------------------------------------------------------------

bool wnn_queue_init(struct queue *queue, uint64_t first_id)
{
    pthread_cond_t *const conditions[] = {&queue->changed, &queue->work, &queue->build_work, &queue->flights};
    size_t made = 0, count = sizeof conditions / sizeof conditions[0];
    queue->first_id = first_id;
    queue->buckets = queue->few_buckets;
    queue->bucket_count = QUEUE_BUCKETS;
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    while (made < count && pthread_cond_init(conditions[made], &attributes) == 0)
        made++;
    pthread_condattr_destroy(&attributes);
    if (made == count && pthread_mutex_init(&queue->lock, NULL) == 0)
        return true;
    while (made > 0)
        pthread_cond_destroy(conditions[--made]);
    return false;
}

void wnn_queue_free(WNNContext context)
{
    struct queue *queue = &context->queue;
    if (queue->buckets != queue->few_buckets)
        wnn_release(&context->allocator, queue->buckets);
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->build_work);
    pthread_cond_destroy(&queue->work);
    pthread_cond_destroy(&queue->changed);
    pthread_cond_destroy(&queue->flights);
}

void *wnn_request_create(WNNContext context, const struct request_kind *kind, size_t size,
                         struct error *error)
{
    struct request *request = size <= QUEUE_PLACE_SIZE ? take_place(&context->queue) : NULL;
    if (request)
        memset(request, 0, size);
    else if (!(request = wnn_allocate_zero(&context->allocator, size)))
        wnn_fail_memory(error);
    if (request)
        request->kind = kind;
    return request;
}

bool wnn_check_callback(const WNNChainedStruct *chain, uint32_t chains, struct callback *callback,
                        struct error *error)
{
    if (callback->mode < WNNCallbackMode_WaitAnyOnly || callback->mode > WNNCallbackMode_AllowSpontaneous) {
        wnn_fail(error, WNNStatus_TypeError, "callback mode %d does not exist", (int)callback->mode);
        callback->mode = WNNCallbackMode_AllowSpontaneous;
        return false;
    }
    return wnn_check_chain(chain, chains, "callback info", error);
}

uint64_t wnn_time_limit(const WNNChainedStruct *chain, uint64_t limit)
{
    const WNNTimeLimit *own = wnn_chained(chain, WNNSType_TimeLimit);
    return own && own->nanoseconds != 0 && (limit == 0 || own->nanoseconds < limit) ? own->nanoseconds
                                                                                    : limit;
}

void wnn_request_begin(struct request *request, uint64_t limit)
{
    if (limit == 0 || request->interrupt.deadline != 0)
        return;
    uint64_t now = wnn_nanoseconds();
    request->interrupt.deadline = limit < UINT64_MAX - now ? now + limit : 0;
}

static bool fail_lost(struct queue *queue, struct error *error)
{
    return wnn_fail(error, WNNStatus_InvalidStateError, "the context is lost: %s", queue->lost_message);
}

// Whether a thread that waits may run the request. A spontaneous callback is the worker's.
static bool may_run_anywhere(const struct request *request)
{
    const struct callback *callback = &request->callback;
    return request->kind->anywhere &&
           (callback->mode != WNNCallbackMode_AllowSpontaneous || (!callback->request && !callback->build));
}

// Under the lock: puts it on the timeline, or a build in the line of builds, unless the context is lost.
// *tell: who is to be told then, or NULL.
static bool push(struct queue *queue, struct request *request, pthread_cond_t **tell, struct error *error)
{
    if (queue->lost)
        return fail_lost(queue, error);
    if (queue->max_pending > 0 && queue->pending >= queue->max_pending)
        return wnn_fail(error, WNNStatus_OutOfMemory,
                        "%llu requests are pending; the context accepts no more",
                        (unsigned long long)queue->pending);
    request->state = REQUEST_QUEUED;
    if (request->kind->builds) {
        append(&queue->builds, request);
        *tell = &queue->build_work;
        return true;
    }
    if (!queue->expects_waiters || queue->running || queue->waiting.first || queue->flying.first ||
        !may_run_anywhere(request))
        *tell = &queue->work;
    append(&queue->waiting, request);
    return true;
}

// The answer to a request that was not taken.
static WNNFuture refuse(WNNContext context, struct request *request, const struct callback *callback,
                        const struct error *error)
{
    struct queue *queue = &context->queue;
    if (!request)
        request = wnn_allocate_zero(&context->allocator, sizeof *request);
    pthread_mutex_lock(&queue->lock);
    grow(context);
    if (!request && !queue->emergency_used) {
        queue->emergency_used = true;
        request = &queue->emergency;
        memset(request, 0, sizeof *request);
    }
    if (request) {
        request->callback = *callback;
        request->state = REQUEST_RUNNING;
        enter(queue, request);
        WNNFuture future = {request->id};
        pthread_mutex_unlock(&queue->lock);
        finish(context, request, error, true);
        return future;
    }
    WNNFuture future = {queue->first_id + queue->count++};
    struct spontaneous record;
    enter_spontaneous(queue, &record);
    pthread_mutex_unlock(&queue->lock);
    struct request answer = {
        .callback = *callback, .status = error->status, .message = wnn_error_message(error)};
    call_back(context, &answer);
    pthread_mutex_lock(&queue->lock);
    leave_spontaneous(queue, &record);
    pthread_mutex_unlock(&queue->lock);
    return future;
}

static WNNFuture answer_here(const struct callback *callback, const struct error *error)
{
    struct request answer = {
        .callback = *callback, .status = error->status, .message = wnn_error_message(error)};
    call_back(NULL, &answer);
    return (WNNFuture){0};
}

WNNFuture wnn_refuse_without_context(const struct callback *callback)
{
    struct error error = {0};
    wnn_fail(&error, WNNStatus_TypeError, "no context or builder was given");
    return answer_here(callback, &error);
}

WNNFuture wnn_submit(WNNContext context, struct request *request, const struct callback *callback,
                     struct error *error)
{
    struct queue *queue = &context->queue;
    WNNFuture future = {0};
    pthread_cond_t *tell = NULL;
    if (wnn_forked(context->forks)) {
        wnn_fail_forked(error);
        return answer_here(callback, error);
    }
    wnn_context_hold(context); // the callback may release it
    if (error->status == WNNStatus_Success) {
        request->callback = *callback;
        pthread_mutex_lock(&queue->lock);
        grow(context);
        if (push(queue, request, &tell, error)) {
            enter(queue, request);
            future.id = request->id;
        }
        pthread_mutex_unlock(&queue->lock);
    }
    // Not under the lock, which would be the first thing that the other thread has to wait for.
    if (tell)
        pthread_cond_signal(tell);
    if (error->status != WNNStatus_Success)
        future = refuse(context, request, callback, error);
    wnn_context_drop(context);
    return future;
}

bool wnn_submit_silently(WNNContext context, struct request *request, struct error *error)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    pthread_cond_t *tell = NULL;
    bool taken = push(queue, request, &tell, error);
    if (tell)
        pthread_cond_signal(tell);
    pthread_mutex_unlock(&queue->lock);
    if (taken)
        return true;
    request->kind->drop(context, request);
    wnn_request_free(context, request);
    return false;
}

void wnn_queue_dispose(struct queue *queue, struct request *request)
{
    append(&queue->waiting, request);
    pthread_cond_signal(&queue->work);
}

// ---------------------------------------------------------------------------------------------------------------
// The worker
// ---------------------------------------------------------------------------------------------------------------

// Why a request has failed that loses the context.
static WNNContextLostReason reason_of(WNNContext context)
{
    const struct backend *backend = context->backend;
    return backend->lost && backend->lost(context->state) ? WNNContextLostReason_DeviceLost
                                                          : WNNContextLostReason_Failed;
}

// The end of a request that has run or landed and has its result; `good` says that the context goes on.
static void end(WNNContext context, struct request *request, bool good)
{
    struct request_list cancelled = {NULL, NULL};
    bool lost = !good && wnn_lose_begin(context, reason_of(context), request->message.data, &cancelled);
    conclude(context, request, true);
    if (lost)
        wnn_lose_end(context, &cancelled);
}

// Puts a request back, first of the timeline, until one in flight has landed. False (and `error`): the
// context was lost meanwhile, and what waited was cancelled.
static bool put_back(struct queue *queue, struct request *request, struct error *error)
{
    pthread_mutex_lock(&queue->lock);
    bool lost = queue->lost;
    if (lost) {
        wnn_fail(error, WNNStatus_Cancelled, "cancelled: %s", queue->lost_message);
    } else {
        leave_current(queue, request);
        request->state = REQUEST_QUEUED;
        request->previous = NULL;
        request->list = &queue->waiting;
        request->next = queue->waiting.first;
        *(request->next ? &request->next->previous : &queue->waiting.last) = request;
        queue->waiting.first = request;
        queue->stalled = queue->flying.first != NULL;
    }
    pthread_mutex_unlock(&queue->lock);
    return !lost;
}

// Puts a request among those in flight: because it is, or because others are that come before it.
static void take_off(WNNContext context, struct request *request)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    leave_current(queue, request);
    append(&queue->flying, request);
    atomic_fetch_add(&queue->flight_count, 1);
    pthread_mutex_unlock(&queue->lock);
}

// Says of a request that was interrupted why.
static void explain_interrupt(struct queue *queue, const struct request *request, struct error *error)
{
    if (error->status != WNNStatus_Cancelled || !atomic_load(&request->interrupt.raised))
        return;
    pthread_mutex_lock(&queue->lock);
    if (queue->lost) {
        *error = (struct error){0};
        wnn_fail(error, WNNStatus_Cancelled, "cancelled while it ran: %s", queue->lost_message);
    }
    pthread_mutex_unlock(&queue->lock);
}

static void run(WNNContext context, struct request *request)
{
    struct queue *queue = &context->queue;
    struct error error = {0};
    wnn_floating_point_default();
    if (!request->kind->drop) {
        wnn_trace_begin(context, "releaseGraph", NULL);
        request->kind->run(context, request, &error);
        wnn_trace_end(context, "releaseGraph");
        return;
    }
    request->course = REQUEST_ENDED;
    wnn_trace_begin(context, "run", request);
    bool good = request->kind->run(context, request, &error);
    wnn_trace_end(context, "run");
    if (!good)
        request->course = REQUEST_ENDED;
    if (request->course == REQUEST_AGAIN && put_back(queue, request, &error))
        return;
    if (request->course == REQUEST_FLIES) {
        take_off(context, request);
    } else {
        explain_interrupt(queue, request, &error);
        set_result(context, request, &error);
        request->failed = !good;
        if (atomic_load_explicit(&queue->flight_count, memory_order_relaxed) > 0)
            take_off(context, request);
        else
            end(context, request, good);
    }
}

// Under the lock.
static bool may_begin(const struct queue *queue)
{
    struct request *request = queue->waiting.first;
    if (queue->running || !request)
        return false;
    return !queue->flying.first || (!queue->stalled && atomic_load(&queue->flight_count) < QUEUE_FLIGHTS &&
                                    request->kind->joins && request->kind->joins(request, &queue->flying));
}

// Under the lock, which it leaves: runs the first request of the timeline. Nothing else of it runs.
static void run_first(WNNContext context)
{
    struct queue *queue = &context->queue;
    struct request *request = take_first(&queue->waiting);
    request->state = REQUEST_RUNNING;
    queue->running = true;
    queue->current = request->kind->drop ? request : NULL; // others may be gone when they have run
    pthread_mutex_unlock(&queue->lock);
    run(context, request);
    pthread_mutex_lock(&queue->lock);
    queue->running = false;
    if (queue->ending) // likewise
        pthread_cond_broadcast(&queue->changed);
}

bool wnn_queue_take(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    bool rests = !queue->lost && !queue->running && !queue->waiting.first && !queue->flying.first;
    queue->running |= rests;
    pthread_mutex_unlock(&queue->lock);
    return rests;
}

// Under the lock, after a request was run by a thread that is not the worker: tells who can go on.
static void go_on(struct queue *queue)
{
    if (queue->flying.first && !queue->landing && !may_run_anywhere(queue->flying.first))
        pthread_cond_signal(&queue->flights);
    if (queue->waiting.first || queue->ending)
        pthread_cond_signal(&queue->work);
    // Others that wait could take over too.
    pthread_cond_broadcast(&queue->changed);
}

void wnn_queue_give(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    queue->running = false;
    go_on(queue);
    pthread_mutex_unlock(&queue->lock);
}

// ---------------------------------------------------------------------------------------------------------------
// Landing
// ---------------------------------------------------------------------------------------------------------------

// Under the lock, which it leaves: waits for the first request in flight, and ends it. No other lands.
static void land_first(WNNContext context)
{
    struct queue *queue = &context->queue;
    struct request *request = queue->flying.first;
    queue->landing = true;
    pthread_mutex_unlock(&queue->lock);
    bool good = !request->failed;
    if (request->course == REQUEST_FLIES) {
        struct error error = {0};
        wnn_trace_begin(context, "wait", request);
        good = request->kind->land(context, request, &error);
        wnn_trace_end(context, "wait");
        explain_interrupt(queue, request, &error);
        set_result(context, request, &error);
    }
    pthread_mutex_lock(&queue->lock);
    detach(request);
    queue->stalled = false;
    if (queue->waiting.first)
        pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    end(context, request, good);
    pthread_mutex_lock(&queue->lock);
    // Only now: what runs meanwhile is to be told of after it.
    atomic_fetch_sub(&queue->flight_count, 1);
    queue->landing = false;
    if (queue->waiting.first || queue->ending)
        pthread_cond_signal(&queue->work);
    if (queue->ending) // a callback on another thread may wait for this
        pthread_cond_broadcast(&queue->changed);
}

void wnn_queue_land(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    while (!queue->grounded) {
        if (queue->flying.first && !queue->landing)
            land_first(context);
        else
            pthread_cond_wait(&queue->flights, &queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
}

void wnn_queue_ground(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    queue->grounded = true;
    pthread_cond_signal(&queue->flights);
    pthread_mutex_unlock(&queue->lock);
}

// ---------------------------------------------------------------------------------------------------------------
// The worker's loop
// ---------------------------------------------------------------------------------------------------------------

// CLOCK_MONOTONIC; false: so late that it never comes.
static bool deadline_after(uint64_t nanoseconds, struct timespec *deadline)
{
    if (nanoseconds > (uint64_t)INT64_MAX)
        return false;
    clock_gettime(CLOCK_MONOTONIC, deadline);
    deadline->tv_sec += (time_t)(nanoseconds / 1000000000);
    deadline->tv_nsec += (long)(nanoseconds % 1000000000);
    if (deadline->tv_nsec >= 1000000000) {
        deadline->tv_nsec -= 1000000000;
        deadline->tv_sec++;
    }
    return true;
}

// Under the lock: leaves what is first of the timeline to threads that waited lately, if there were any. They
// take it before the worker could, or it takes it when it looks. Where something flies, nobody waits for
// that.
static bool leave_to_waiters(struct queue *queue, uint64_t seen)
{
    if (queue->waits_seen == seen || queue->flying.first || !may_run_anywhere(queue->waiting.first))
        return false;
    pthread_cond_broadcast(&queue->changed);
    return true;
}

// Under the lock: the worker has nothing to do. `seen` and `looks` are its own.
static void rest(struct queue *queue, uint64_t *seen, unsigned *looks)
{
    if (*seen != queue->waits_seen)
        *looks = LOOKS;
    *seen = queue->waits_seen;
    if (*looks == 0) {
        pthread_cond_wait(&queue->work, &queue->lock);
        return;
    }
    --*looks;
    struct timespec deadline;
    deadline_after(LOOK_NANOSECONDS, &deadline);
    queue->expects_waiters = true;
    pthread_cond_timedwait(&queue->work, &queue->lock, &deadline);
    queue->expects_waiters = false;
}

static void run_first_and_tell(WNNContext context)
{
    struct queue *queue = &context->queue;
    run_first(context);
    if (queue->flying.first && !queue->landing)
        pthread_cond_signal(&queue->flights);
}

void wnn_queue_build(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        struct request *request = take_first(&queue->builds);
        if (request) {
            request->state = REQUEST_RUNNING;
            queue->building = request;
            queue->builder_busy = true;
            pthread_mutex_unlock(&queue->lock);
            struct error error = {0};
            wnn_floating_point_default();
            wnn_trace_begin(context, "run", request);
            bool good = request->kind->run(context, request, &error);
            wnn_trace_end(context, "run");
            explain_interrupt(queue, request, &error);
            set_result(context, request, &error);
            end(context, request, good);
            pthread_mutex_lock(&queue->lock);
            queue->builder_busy = false;
            pthread_cond_broadcast(&queue->changed);
        } else if (queue->ending) {
            break;
        } else {
            pthread_cond_wait(&queue->build_work, &queue->lock);
        }
    }
    pthread_mutex_unlock(&queue->lock);
}

void wnn_queue_work(WNNContext context)
{
    struct queue *queue = &context->queue;
    uint64_t seen = 0;
    unsigned looks = 0;
    pthread_mutex_lock(&queue->lock);
    for (;;) {
        struct request *request;
        if ((request = take_first(&queue->cancelled)))
            deliver(context, request);
        else if (may_begin(queue) && !leave_to_waiters(queue, seen))
            run_first_and_tell(context);
        else if (queue->ending && !queue->running && !queue->landing && !queue->flying.first &&
                 !queue->waiting.first)
            break;
        else
            rest(queue, &seen, &looks);
    }
    pthread_mutex_unlock(&queue->lock);
}

// ---------------------------------------------------------------------------------------------------------------
// Losing the context
// ---------------------------------------------------------------------------------------------------------------

// Moves what matches from a line to `cancelled`.
static void take_matches(struct request_list *list,
                         bool (*matches)(const struct request *request, const void *argument),
                         const void *argument, struct request_list *cancelled)
{
    struct request *next;
    for (struct request *request = list->first; request; request = next) {
        next = request->next;
        if (!request->kind->drop || !matches(request, argument))
            continue;
        detach(request);
        request->state = REQUEST_RUNNING;
        append(cancelled, request);
    }
}

// Under the lock: takes what matches off the lines, and interrupts what runs.
static void stop_matches(struct queue *queue,
                         bool (*matches)(const struct request *request, const void *argument),
                         const void *argument, struct request_list *cancelled)
{
    take_matches(&queue->waiting, matches, argument, cancelled);
    take_matches(&queue->builds, matches, argument, cancelled);
    for (struct request *request = queue->flying.first; request; request = request->next)
        if (matches(request, argument))
            wnn_interrupt_raise(&request->interrupt);
    if (queue->current && matches(queue->current, argument))
        wnn_interrupt_raise(&queue->current->interrupt);
    if (queue->building && matches(queue->building, argument))
        wnn_interrupt_raise(&queue->building->interrupt);
}

static bool matches_all(const struct request *request, const void *argument)
{
    (void)request, (void)argument;
    return true;
}

bool wnn_lose_begin(WNNContext context, WNNContextLostReason reason, const char *message,
                    struct request_list *cancelled)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    bool first = !queue->lost;
    if (first) {
        queue->lost = true;
        queue->lost_reason = reason;
        struct text text = TEXT(queue->lost_message);
        wnn_text_add(&text, "%s", message);
        stop_matches(queue, matches_all, NULL, cancelled);
        queue->lost_callback = LOST_WAITS;
    }
    pthread_mutex_unlock(&queue->lock);
    if (first) {
        wnn_trace_lost(context);
        if (reason != WNNContextLostReason_Destroyed && reason != WNNContextLostReason_Released)
            wnn_log(&context->log, Error, "the context is lost: %s", message);
    }
    return first;
}

// Under the lock, which it leaves: calls the lost callback if it has not been called.
static void tell_lost(WNNContext context)
{
    struct queue *queue = &context->queue;
    if (queue->lost_callback != LOST_WAITS)
        return;
    queue->lost_callback = LOST_TOLD;
    const WNNContextLostCallbackInfo *info = &context->lost_callback;
    if (!info->callback)
        return;
    struct spontaneous record;
    bool spontaneous = info->mode == WNNCallbackMode_AllowSpontaneous;
    if (spontaneous)
        enter_spontaneous(queue, &record);
    pthread_mutex_unlock(&queue->lock);
    info->callback(queue->lost_reason, (WNNStringView){queue->lost_message, strlen(queue->lost_message)},
                   info->userdata1, info->userdata2);
    pthread_mutex_lock(&queue->lock);
    if (spontaneous)
        leave_spontaneous(queue, &record);
}

void wnn_lose_end(WNNContext context, struct request_list *cancelled)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    if (context->lost_callback.mode == WNNCallbackMode_AllowSpontaneous)
        tell_lost(context);
    pthread_mutex_unlock(&queue->lock);
    struct request *request;
    while ((request = take_first(cancelled))) {
        struct error error = {0};
        wnn_fail(&error, WNNStatus_Cancelled, "cancelled: %s", queue->lost_message);
        finish(context, request, &error, true);
    }
}

void wnn_queue_cancel(WNNContext context,
                      bool (*matches)(const struct request *request, const void *argument),
                      const void *argument, const char *message)
{
    struct queue *queue = &context->queue;
    struct request_list cancelled = {NULL, NULL};
    pthread_mutex_lock(&queue->lock);
    stop_matches(queue, matches, argument, &cancelled);
    pthread_mutex_unlock(&queue->lock);
    struct request *request;
    while ((request = take_first(&cancelled))) {
        struct error error = {0};
        wnn_fail(&error, WNNStatus_Cancelled, "%s", message);
        finish(context, request, &error, false);
    }
}

void wnn_queue_close(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    tell_lost(context);
    struct request *request;
    while ((request = take_first(&queue->events)) || (request = take_first(&queue->waits)))
        deliver(context, request);
    pthread_mutex_unlock(&queue->lock);
}

// ---------------------------------------------------------------------------------------------------------------
// Waiting
// ---------------------------------------------------------------------------------------------------------------

// Under the lock, which it leaves to run callbacks: whether one of the futures is complete.
static bool look(WNNContext context, size_t count, WNNFutureWaitInfo *futures)
{
    struct queue *queue = &context->queue;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        struct request *request = find(queue, futures[i].future.id);
        if (!request) {
            futures[i].completed = true;
        } else if (request->state == REQUEST_DONE) {
            detach(request);
            deliver(context, request);
            futures[i].completed = true;
        } else {
            // To wait for one's own callback would be to wait for ever.
            futures[i].completed =
                request->state == REQUEST_DELIVERING && pthread_equal(request->deliverer, pthread_self());
        }
        found = found || futures[i].completed;
    }
    return found;
}

// Under the lock, which it leaves: does the work of another thread, `run_first` or `land_first`, and tells
// the worker when it can go on.
static void work_here(WNNContext context, void (*work)(WNNContext context))
{
    struct queue *queue = &context->queue;
    fenv_t environment;
    fegetenv(&environment);
    queue->waits_seen++;
    work(context);
    fesetenv(&environment);
    go_on(queue);
}

// Under the lock.
static void wait_for_change(struct queue *queue)
{
    queue->waits_seen += queue->running;
    pthread_cond_wait(&queue->changed, &queue->lock);
}

bool wnn_queue_may_wait(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool may = !on_spontaneous_callback(queue);
    pthread_mutex_unlock(&queue->lock);
    return may;
}

static WNNWaitStatus wait_any(WNNContext context, size_t count, WNNFutureWaitInfo *futures, uint64_t timeout)
{
    struct queue *queue = &context->queue;
    if (timeout != 0 && on_spontaneous_callback(queue))
        return WNNWaitStatus_Error;
    for (size_t i = 0; i < count; i++)
        if (!id_exists(queue, futures[i].future.id))
            return WNNWaitStatus_Error;
    struct timespec deadline;
    bool timed = deadline_after(timeout, &deadline), expired = timeout == 0;
    for (;;) {
        tell_lost(context);
        if (look(context, count, futures))
            return WNNWaitStatus_Success;
        if (expired)
            return WNNWaitStatus_TimedOut;
        if (!timed && may_begin(queue) && may_run_anywhere(queue->waiting.first))
            work_here(context, run_first);
        else if (!timed && queue->flying.first && !queue->landing && may_run_anywhere(queue->flying.first))
            work_here(context, land_first);
        else if (timed)
            expired = pthread_cond_timedwait(&queue->changed, &queue->lock, &deadline) != 0;
        else
            wait_for_change(queue);
    }
}

WNNWaitStatus wnnContextWaitAny(WNNContext context, size_t futureCount, WNNFutureWaitInfo *futures,
                                uint64_t timeoutNanoseconds)
{
    if (!context || futureCount == 0 || !futures || wnn_forked(context->forks))
        return WNNWaitStatus_Error;
    for (size_t i = 0; i < futureCount; i++)
        futures[i].completed = false;
    wnn_context_hold(context);
    pthread_mutex_lock(&context->queue.lock);
    WNNWaitStatus status = wait_any(context, futureCount, futures, timeoutNanoseconds);
    // What this thread has begun and does not wait for.
    if (context->queue.flying.first && !context->queue.landing)
        pthread_cond_signal(&context->queue.flights);
    pthread_mutex_unlock(&context->queue.lock);
    wnn_context_drop(context);
    return status;
}

void wnnContextProcessEvents(WNNContext context)
{
    if (!context || wnn_forked(context->forks))
        return;
    struct queue *queue = &context->queue;
    wnn_context_hold(context);
    pthread_mutex_lock(&queue->lock);
    tell_lost(context);
    // What the callbacks add is for the next call.
    size_t count = 0;
    for (const struct request *request = queue->events.first; request; request = request->next)
        count++;
    struct request *request;
    while (count-- > 0 && (request = take_first(&queue->events)))
        deliver(context, request);
    pthread_mutex_unlock(&queue->lock);
    wnn_context_drop(context);
}

WNNStatus wnnContextCancel(WNNContext context, WNNFuture future)
{
    if (!context)
        return WNNStatus_TypeError;
    struct queue *queue = &context->queue;
    struct error error = {0};
    struct request *request = NULL;
    if (wnn_forked(context->forks)) {
        wnn_fail_forked(&error);
        return wnn_context_report(context, &error);
    }
    pthread_mutex_lock(&queue->lock);
    if (!id_exists(queue, future.id)) {
        wnn_fail(&error, WNNStatus_TypeError, "cancel: the context has no future %llu",
                 (unsigned long long)future.id);
    } else if (!(request = find(queue, future.id)) || request->state == REQUEST_DONE ||
               request->state == REQUEST_DELIVERING) {
        wnn_fail(&error, WNNStatus_InvalidStateError, "cancel: the request has ended");
    } else if (request->state == REQUEST_QUEUED) {
        detach(request);
        request->state = REQUEST_RUNNING;
    } else if (request->kind && request->kind->interruptible) {
        wnn_interrupt_raise(&request->interrupt);
        request = NULL;
    } else {
        wnn_fail(&error, WNNStatus_InvalidStateError, "cancel: the request runs already");
    }
    pthread_mutex_unlock(&queue->lock);
    if (error.status != WNNStatus_Success)
        return wnn_context_report(context, &error);
    if (!request)
        return WNNStatus_Success;
    wnn_context_hold(context);
    wnn_fail(&error, WNNStatus_Cancelled, "cancelled by wnnContextCancel");
    finish(context, request, &error, false);
    wnn_context_drop(context);
    return WNNStatus_Success;
}
