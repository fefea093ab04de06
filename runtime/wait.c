// SPDX-License-Identifier: Apache-2.0
//
// Waiting for requests, and taking them back: the calls of the API.

#include "runtime/cancel.h"
#include "runtime/fork.h"
#include "runtime/internal.h"
#include "runtime/request.h"
#include "runtime/worker.h"

#include <fenv.h>

// Under the lock, which it leaves to run callbacks: whether one of the futures is complete.
static bool look(WNNContext context, size_t count, WNNFutureWaitInfo *futures)
{
    struct queue *queue = &context->queue;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        struct request *request = wnn_queue_find(queue, futures[i].future.id);
        if (!request) {
            futures[i].completed = true;
        } else if (request->state == REQUEST_DONE) {
            wnn_requests_detach(request);
            wnn_request_deliver(context, request);
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
    wnn_queue_go_on(queue);
}

// Under the lock.
static void wait_for_change(struct queue *queue)
{
    queue->waits_seen += queue->running;
    pthread_cond_wait(&queue->changed, &queue->lock);
}

static WNNWaitStatus wait_any(WNNContext context, size_t count, WNNFutureWaitInfo *futures, uint64_t timeout)
{
    struct queue *queue = &context->queue;
    if (timeout != 0 && wnn_queue_on_callback(queue))
        return WNNWaitStatus_Error;
    for (size_t i = 0; i < count; i++)
        if (!wnn_queue_has_id(queue, futures[i].future.id))
            return WNNWaitStatus_Error;
    struct timespec deadline;
    bool timed = wnn_deadline_after(timeout, &deadline), expired = timeout == 0;
    for (;;) {
        wnn_tell_lost(context);
        if (look(context, count, futures))
            return WNNWaitStatus_Success;
        if (expired)
            return WNNWaitStatus_TimedOut;
        if (!timed && wnn_queue_may_begin(queue) && wnn_request_runs_anywhere(queue->waiting.first))
            work_here(context, wnn_queue_run_first);
        else if (!timed && queue->in_flight.first && !queue->retiring &&
                 wnn_request_runs_anywhere(queue->in_flight.first))
            work_here(context, wnn_queue_retire_first);
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
    wnn_context_ref(context);
    pthread_mutex_lock(&context->queue.lock);
    WNNWaitStatus status = wait_any(context, futureCount, futures, timeoutNanoseconds);
    // What this thread has begun and does not wait for.
    if (context->queue.in_flight.first && !context->queue.retiring)
        pthread_cond_signal(&context->queue.flights);
    pthread_mutex_unlock(&context->queue.lock);
    wnn_context_unref(context);
    return status;
}

void wnnContextProcessEvents(WNNContext context)
{
    if (!context || wnn_forked(context->forks))
        return;
    struct queue *queue = &context->queue;
    wnn_context_ref(context);
    pthread_mutex_lock(&queue->lock);
    wnn_tell_lost(context);
    // What the callbacks add is for the next call.
    size_t count = 0;
    for (const struct request *request = queue->events.first; request; request = request->next)
        count++;
    struct request *request;
    while (count-- > 0 && (request = wnn_requests_take(&queue->events)))
        wnn_request_deliver(context, request);
    pthread_mutex_unlock(&queue->lock);
    wnn_context_unref(context);
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
    if (!wnn_queue_has_id(queue, future.id)) {
        wnn_fail(&error, WNNStatus_TypeError, "cancel: the context has no future %llu",
                 (unsigned long long)future.id);
    } else if (!(request = wnn_queue_find(queue, future.id)) || request->state == REQUEST_DONE ||
               request->state == REQUEST_DELIVERING) {
        wnn_fail(&error, WNNStatus_InvalidStateError, "cancel: the request has ended");
    } else if (request->state == REQUEST_QUEUED) {
        wnn_requests_detach(request);
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
    wnn_context_ref(context);
    wnn_fail(&error, WNNStatus_Cancelled, "cancelled by wnnContextCancel");
    wnn_request_finish(context, request, &error, false);
    wnn_context_unref(context);
    return WNNStatus_Success;
}
