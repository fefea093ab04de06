// SPDX-License-Identifier: Apache-2.0
#include "runtime/request.h"

#include "runtime/trace.h"

#include <string.h>

static void *take_place(struct queue *queue)
{
    unsigned taken = atomic_load(&queue->places_taken);
    for (unsigned i = 0; i < QUEUE_PLACES; i++)
        if (!(taken >> i & 1) && !(atomic_fetch_or(&queue->places_taken, 1u << i) >> i & 1))
            return &queue->places[i];
    return NULL;
}

void *wnn_request_create(WNNContext context, const struct request_kind *kind, size_t size,
                         struct error *error)
{
    struct request *request = size <= QUEUE_PLACE_SIZE ? take_place(&context->queue) : NULL;
    if (!request && !(request = wnn_spare_take(&context->spare, &context->allocator, size))) {
        wnn_fail_memory(error);
        return NULL;
    }
    memset(request, 0, size);
    request->kind = kind;
    return request;
}

void wnn_request_free(WNNContext context, void *request)
{
    struct queue *queue = &context->queue;
    uintptr_t place = (uintptr_t)request - (uintptr_t)queue->places;
    if (place < sizeof queue->places)
        atomic_fetch_and(&queue->places_taken, ~(1u << place / sizeof queue->places[0]));
    else
        wnn_spare_give(&context->spare, &context->allocator, request);
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

void wnn_request_call_back(WNNContext context, const struct request *request)
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

void wnn_request_deliver(WNNContext context, struct request *request)
{
    struct queue *queue = &context->queue;
    bool spontaneous = request->callback.mode != WNNCallbackMode_WaitAnyOnly &&
                       request->callback.mode != WNNCallbackMode_AllowProcessEvents;
    struct spontaneous record;
    if (spontaneous)
        wnn_queue_enter_callback(queue, &record);
    request->state = REQUEST_DELIVERING;
    request->deliverer = pthread_self();
    pthread_mutex_unlock(&queue->lock);

    wnn_request_call_back(context, request);

    pthread_mutex_lock(&queue->lock);
    if (spontaneous)
        wnn_queue_leave_callback(queue, &record);
    wnn_queue_leave(queue, request);
    pthread_mutex_unlock(&queue->lock);
    free_request(context, request);
    pthread_mutex_lock(&queue->lock);
}

void wnn_request_set_result(WNNContext context, struct request *request, const struct error *error)
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

void wnn_request_conclude(WNNContext context, struct request *request, bool here)
{
    struct queue *queue = &context->queue;
    if (request->kind)
        request->kind->drop(context, request);

    const struct callback *callback = &request->callback;
    if (!callback->build && !callback->request)
        wnn_request_call_back(context, request);
    pthread_mutex_lock(&queue->lock);
    wnn_queue_leave_current(queue, request);
    if (!callback->build && !callback->request) {
        wnn_queue_leave(queue, request);
        pthread_mutex_unlock(&queue->lock);
        free_request(context, request);
        return;
    }
    if (callback->mode == WNNCallbackMode_AllowProcessEvents && !queue->closed) {
        request->state = REQUEST_DONE;
        wnn_requests_append(&queue->events, request);
        pthread_cond_broadcast(&queue->changed);
    } else if (callback->mode == WNNCallbackMode_WaitAnyOnly && !queue->closed) {
        request->state = REQUEST_DONE;
        wnn_requests_append(&queue->waits, request);
        pthread_cond_broadcast(&queue->changed);
    } else if (here || queue->ending) {
        wnn_request_deliver(context, request);
    } else {
        wnn_requests_append(&queue->cancelled, request);
        pthread_cond_signal(&queue->work);
    }
    pthread_mutex_unlock(&queue->lock);
}

void wnn_request_finish(WNNContext context, struct request *request, const struct error *error, bool here)
{
    wnn_request_set_result(context, request, error);
    wnn_request_conclude(context, request, here);
}
