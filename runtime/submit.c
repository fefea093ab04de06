// SPDX-License-Identifier: Apache-2.0
#include "runtime/submit.h"

#include "runtime/fork.h"
#include "runtime/request.h"
#include "runtime/trace.h"

#include <string.h>

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

// Under the lock: whether what comes has to wait for others of the timeline.
static bool is_busy(const struct queue *queue)
{
    return queue->running || queue->waiting.first || queue->in_flight.first;
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
        wnn_requests_append(&queue->builds, request);
        if (!request->kind->awaited || is_busy(queue))
            *tell = &queue->build_work;
        return true;
    }
    if (!queue->expects_waiters || is_busy(queue) || !wnn_request_runs_anywhere(request))
        *tell = &queue->work;
    wnn_requests_append(&queue->waiting, request);
    return true;
}

// The answer to a request that was not taken.
static WNNFuture refuse(WNNContext context, struct request *request, const struct callback *callback,
                        const struct error *error)
{
    struct queue *queue = &context->queue;
    struct error none = {0};
    if (!request)
        request = wnn_request_create(context, NULL, sizeof *request, &none);
    pthread_mutex_lock(&queue->lock);
    wnn_queue_grow(queue, &context->allocator);
    if (!request && !queue->emergency_used) {
        queue->emergency_used = true;
        request = &queue->emergency;
        memset(request, 0, sizeof *request);
    }
    if (request) {
        request->callback = *callback;
        request->state = REQUEST_RUNNING;
        wnn_queue_enter(queue, request);
        WNNFuture future = {request->id};
        pthread_mutex_unlock(&queue->lock);
        wnn_request_finish(context, request, error, true);
        return future;
    }
    WNNFuture future = {queue->first_id + queue->count++};
    struct spontaneous record;
    wnn_queue_enter_callback(queue, &record);
    pthread_mutex_unlock(&queue->lock);
    struct request answer = {
        .callback = *callback, .status = error->status, .message = wnn_error_message(error)};
    wnn_request_call_back(context, &answer);
    pthread_mutex_lock(&queue->lock);
    wnn_queue_leave_callback(queue, &record);
    pthread_mutex_unlock(&queue->lock);
    return future;
}

static WNNFuture answer_here(const struct callback *callback, const struct error *error)
{
    struct request answer = {
        .callback = *callback, .status = error->status, .message = wnn_error_message(error)};
    wnn_request_call_back(NULL, &answer);
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
    wnn_context_ref(context); // the callback may release it
    if (error->status == WNNStatus_Success) {
        request->callback = *callback;
        pthread_mutex_lock(&queue->lock);
        wnn_queue_grow(queue, &context->allocator);
        if (push(queue, request, &tell, error)) {
            wnn_queue_enter(queue, request);
            future.id = request->id;
        }
        pthread_mutex_unlock(&queue->lock);
    }
    // Not under the lock, which would be the first thing that the other thread has to wait for.
    if (tell)
        pthread_cond_signal(tell);
    if (error->status != WNNStatus_Success)
        future = refuse(context, request, callback, error);
    wnn_context_unref(context);
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

void wnn_queue_tell_builder(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    if (queue->builds.first)
        pthread_cond_signal(&queue->build_work);
    pthread_mutex_unlock(&queue->lock);
}

bool wnn_queue_take(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    bool rests = !queue->lost && !is_busy(queue);
    queue->running |= rests;
    pthread_mutex_unlock(&queue->lock);
    return rests;
}

void wnn_queue_give(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    queue->running = false;
    wnn_queue_go_on(queue);
    pthread_mutex_unlock(&queue->lock);
}
