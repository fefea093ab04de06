// SPDX-License-Identifier: Apache-2.0
#include "runtime/cancel.h"

#include "runtime/request.h"
#include "runtime/trace.h"

#include <string.h>

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
        wnn_requests_detach(request);
        request->state = REQUEST_RUNNING;
        wnn_requests_append(cancelled, request);
    }
}

// Under the lock: takes what matches off the lines, and interrupts what runs.
static void stop_matches(struct queue *queue,
                         bool (*matches)(const struct request *request, const void *argument),
                         const void *argument, struct request_list *cancelled)
{
    take_matches(&queue->waiting, matches, argument, cancelled);
    take_matches(&queue->builds, matches, argument, cancelled);
    for (struct request *request = queue->in_flight.first; request; request = request->next)
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

void wnn_tell_lost(WNNContext context)
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
        wnn_queue_enter_callback(queue, &record);
    pthread_mutex_unlock(&queue->lock);
    info->callback(queue->lost_reason, (WNNStringView){queue->lost_message, strlen(queue->lost_message)},
                   info->userdata1, info->userdata2);
    pthread_mutex_lock(&queue->lock);
    if (spontaneous)
        wnn_queue_leave_callback(queue, &record);
}

void wnn_lose_end(WNNContext context, struct request_list *cancelled)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    if (context->lost_callback.mode == WNNCallbackMode_AllowSpontaneous)
        wnn_tell_lost(context);
    pthread_mutex_unlock(&queue->lock);
    struct request *request;
    while ((request = wnn_requests_take(cancelled))) {
        struct error error = {0};
        wnn_fail(&error, WNNStatus_Cancelled, "cancelled: %s", queue->lost_message);
        wnn_request_finish(context, request, &error, true);
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
    while ((request = wnn_requests_take(&cancelled))) {
        struct error error = {0};
        wnn_fail(&error, WNNStatus_Cancelled, "%s", message);
        wnn_request_finish(context, request, &error, false);
    }
}

void wnn_queue_close(WNNContext context)
{
    struct queue *queue = &context->queue;
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    wnn_tell_lost(context);
    struct request *request;
    while ((request = wnn_requests_take(&queue->events)) || (request = wnn_requests_take(&queue->waits)))
        wnn_request_deliver(context, request);
    pthread_mutex_unlock(&queue->lock);
}
