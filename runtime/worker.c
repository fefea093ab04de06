// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker.h"

#include "runtime/cancel.h"
#include "runtime/processor.h"
#include "runtime/request.h"
#include "runtime/trace.h"

#include <time.h>

// Where threads wait for their requests, they can run them, and to wake the worker for each would disturb
// them. It looks now and then instead, until nothing has come for a time.
#define LOOK_NANOSECONDS 1000000u
#define LOOKS            2

// Why a request has failed that loses the context.
static WNNContextLostReason reason_of(WNNContext context)
{
    const struct backend *backend = context->backend;
    return backend->lost && backend->lost(context->state) ? WNNContextLostReason_DeviceLost
                                                          : WNNContextLostReason_Failed;
}

// The end of a request that has run or been retired and has its result; `good` says that the context goes on.
static void end(WNNContext context, struct request *request, bool good)
{
    struct request_list cancelled = {NULL, NULL};
    bool lost = !good && wnn_lose_begin(context, reason_of(context), request->message.data, &cancelled);
    wnn_request_conclude(context, request, true);
    if (lost)
        wnn_lose_end(context, &cancelled);
}

// Puts a request back, first of the timeline, until one in flight has been retired. False (and `error`): the
// context was lost meanwhile, and what waited was cancelled.
static bool put_back(struct queue *queue, struct request *request, struct error *error)
{
    pthread_mutex_lock(&queue->lock);
    bool lost = queue->lost;
    if (lost) {
        wnn_fail(error, WNNStatus_Cancelled, "cancelled: %s", queue->lost_message);
    } else {
        wnn_queue_leave_current(queue, request);
        request->state = REQUEST_QUEUED;
        request->previous = NULL;
        request->list = &queue->waiting;
        request->next = queue->waiting.first;
        *(request->next ? &request->next->previous : &queue->waiting.last) = request;
        queue->waiting.first = request;
        queue->stalled = queue->in_flight.first != NULL;
    }
    pthread_mutex_unlock(&queue->lock);
    return !lost;
}

// Puts a request among those in flight: because it is, or because others are that come before it.
static void take_off(WNNContext context, struct request *request)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    wnn_queue_leave_current(queue, request);
    wnn_requests_append(&queue->in_flight, request);
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
    request->outcome = REQUEST_ENDED;
    wnn_trace_begin(context, "run", request);
    bool good = request->kind->run(context, request, &error);
    wnn_trace_end(context, "run");
    if (!good)
        request->outcome = REQUEST_ENDED;
    if (request->outcome == REQUEST_AGAIN && put_back(queue, request, &error))
        return;
    if (request->outcome == REQUEST_IN_FLIGHT) {
        take_off(context, request);
    } else {
        explain_interrupt(queue, request, &error);
        wnn_request_set_result(context, request, &error);
        request->failed = !good;
        if (atomic_load_explicit(&queue->flight_count, memory_order_relaxed) > 0)
            take_off(context, request);
        else
            end(context, request, good);
    }
}

void wnn_queue_run_first(WNNContext context)
{
    struct queue *queue = &context->queue;
    struct request *request = wnn_requests_take(&queue->waiting);
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

void wnn_queue_retire_first(WNNContext context)
{
    struct queue *queue = &context->queue;
    struct request *request = queue->in_flight.first;
    queue->retiring = true;
    pthread_mutex_unlock(&queue->lock);
    bool good = !request->failed;
    if (request->outcome == REQUEST_IN_FLIGHT) {
        struct error error = {0};
        wnn_trace_begin(context, "wait", request);
        good = request->kind->retire(context, request, &error);
        wnn_trace_end(context, "wait");
        explain_interrupt(queue, request, &error);
        wnn_request_set_result(context, request, &error);
    }
    pthread_mutex_lock(&queue->lock);
    wnn_requests_detach(request);
    queue->stalled = false;
    if (queue->waiting.first)
        pthread_cond_signal(&queue->work);
    pthread_mutex_unlock(&queue->lock);
    end(context, request, good);
    pthread_mutex_lock(&queue->lock);
    // Only now: what runs meanwhile is to be told of after it.
    atomic_fetch_sub(&queue->flight_count, 1);
    queue->retiring = false;
    if (queue->waiting.first || queue->ending)
        pthread_cond_signal(&queue->work);
    if (queue->ending) // a callback on another thread may wait for this
        pthread_cond_broadcast(&queue->changed);
}

void wnn_queue_retire(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    while (!queue->stopped) {
        if (queue->in_flight.first && !queue->retiring)
            wnn_queue_retire_first(context);
        else
            pthread_cond_wait(&queue->flights, &queue->lock);
    }
    pthread_mutex_unlock(&queue->lock);
}

void wnn_queue_stop(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    queue->stopped = true;
    pthread_cond_signal(&queue->flights);
    pthread_mutex_unlock(&queue->lock);
}

// Under the lock: leaves what is first of the timeline to threads that waited lately, if there were any. They
// take it before the worker could, or it takes it when it looks. Where something is in flight, nobody waits
// for that.
static bool leave_to_waiters(struct queue *queue, uint64_t seen)
{
    if (queue->waits_seen == seen || queue->in_flight.first ||
        !wnn_request_runs_anywhere(queue->waiting.first))
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
    wnn_deadline_after(LOOK_NANOSECONDS, &deadline);
    queue->expects_waiters = true;
    pthread_cond_timedwait(&queue->work, &queue->lock, &deadline);
    queue->expects_waiters = false;
}

static void run_first_and_tell(WNNContext context)
{
    struct queue *queue = &context->queue;
    wnn_queue_run_first(context);
    if (queue->in_flight.first && !queue->retiring)
        pthread_cond_signal(&queue->flights);
}

// Under the lock, which it leaves to build: nobody else does.
static void build(WNNContext context, struct request *request)
{
    struct queue *queue = &context->queue;
    wnn_requests_detach(request);
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
    wnn_request_set_result(context, request, &error);
    end(context, request, good);
    pthread_mutex_lock(&queue->lock);
    queue->builder_busy = false;
    pthread_cond_broadcast(&queue->changed);
}

void wnn_queue_build_here(WNNContext context, struct request *request)
{
    struct queue *queue = &context->queue;
    build(context, request);
    if (queue->builds.first || queue->ending)
        pthread_cond_signal(&queue->build_work);
}

void wnn_queue_build(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    while (!queue->ending || queue->builder_busy || queue->builds.first) {
        if (queue->builds.first && !queue->builder_busy)
            build(context, queue->builds.first);
        else
            pthread_cond_wait(&queue->build_work, &queue->lock);
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
        if ((request = wnn_requests_take(&queue->cancelled)))
            wnn_request_deliver(context, request);
        else if (wnn_queue_may_begin(queue) && !leave_to_waiters(queue, seen))
            run_first_and_tell(context);
        else if (queue->ending && !queue->running && !queue->retiring && !queue->in_flight.first &&
                 !queue->waiting.first)
            break;
        else
            rest(queue, &seen, &looks);
    }
    pthread_mutex_unlock(&queue->lock);
}
