// SPDX-License-Identifier: Apache-2.0
#include "runtime/queue.h"

#include <string.h>
#include <time.h>

static struct request **bucket_of(struct queue *queue, uint64_t id)
{
    return &queue->buckets[id & (queue->bucket_count - 1)];
}

struct request *wnn_queue_find(struct queue *queue, uint64_t id)
{
    struct request *request = *bucket_of(queue, id);
    while (request && request->id != id)
        request = request->next_in_bucket;
    return request;
}

bool wnn_queue_has_id(const struct queue *queue, uint64_t id)
{
    return id - queue->first_id < queue->count;
}

void wnn_queue_grow(struct queue *queue, struct allocator *allocator)
{
    size_t count = queue->bucket_count * 2;
    if (queue->pending < queue->bucket_count)
        return;
    pthread_mutex_unlock(&queue->lock);
    struct request **buckets = wnn_allocate_zero(allocator, count * sizeof *buckets), **old = NULL;
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
    wnn_release(allocator, old);
    pthread_mutex_lock(&queue->lock);
}

void wnn_queue_enter(struct queue *queue, struct request *request)
{
    request->id = queue->first_id + queue->count++;
    struct request **bucket = bucket_of(queue, request->id);
    request->next_in_bucket = *bucket;
    *bucket = request;
    queue->pending++;
}

void wnn_queue_leave(struct queue *queue, struct request *request)
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

void wnn_queue_leave_current(struct queue *queue, const struct request *request)
{
    if (queue->current == request)
        queue->current = NULL;
    if (queue->building == request)
        queue->building = NULL;
}

bool wnn_queue_on_callback(const struct queue *queue)
{
    for (const struct spontaneous *s = queue->spontaneous; s; s = s->next)
        if (pthread_equal(s->thread, pthread_self()))
            return true;
    return false;
}

void wnn_queue_enter_callback(struct queue *queue, struct spontaneous *record)
{
    record->thread = pthread_self();
    record->next = queue->spontaneous;
    queue->spontaneous = record;
}

void wnn_queue_leave_callback(struct queue *queue, struct spontaneous *record)
{
    struct spontaneous **place = &queue->spontaneous;
    while (*place != record)
        place = &(*place)->next;
    *place = record->next;
}

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

void wnn_queue_free(struct queue *queue, struct allocator *allocator)
{
    if (queue->buckets != queue->few_buckets)
        wnn_release(allocator, queue->buckets);
    pthread_mutex_destroy(&queue->lock);
    pthread_cond_destroy(&queue->build_work);
    pthread_cond_destroy(&queue->work);
    pthread_cond_destroy(&queue->changed);
    pthread_cond_destroy(&queue->flights);
}

bool wnn_request_runs_anywhere(const struct request *request)
{
    const struct callback *callback = &request->callback;
    return request->kind->anywhere &&
           (callback->mode != WNNCallbackMode_AllowSpontaneous || (!callback->request && !callback->build));
}

bool wnn_queue_may_begin(const struct queue *queue)
{
    struct request *request = queue->waiting.first;
    if (queue->running || !request)
        return false;
    return !queue->in_flight.first ||
           (!queue->stalled && atomic_load(&queue->flight_count) < QUEUE_FLIGHTS &&
            request->kind->can_overlap && request->kind->can_overlap(request, &queue->in_flight));
}

// Whether the first of the timeline is an executable that is to be released, and the worker comes for it by
// itself: to be woken it would hold up what runs next.
static bool may_wait(const struct queue *queue)
{
    return queue->expects_waiters && !queue->waiting.first->kind->drop;
}

void wnn_queue_go_on(struct queue *queue)
{
    if (queue->in_flight.first && !queue->retiring && !wnn_request_runs_anywhere(queue->in_flight.first))
        pthread_cond_signal(&queue->flights);
    if ((queue->waiting.first && !may_wait(queue)) || queue->ending)
        pthread_cond_signal(&queue->work);
    // Others that wait could take over too.
    pthread_cond_broadcast(&queue->changed);
}

void wnn_queue_dispose(struct queue *queue, struct request *request)
{
    wnn_requests_append(&queue->waiting, request);
    if (!may_wait(queue))
        pthread_cond_signal(&queue->work);
}

bool wnn_queue_may_wait(struct queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    bool may = !wnn_queue_on_callback(queue);
    pthread_mutex_unlock(&queue->lock);
    return may;
}

bool wnn_deadline_after(uint64_t nanoseconds, struct timespec *deadline)
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
