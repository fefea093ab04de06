// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a context: requests in call order, a worker that runs them one at a time, and the delivery
// of results to callbacks in the three callback modes. Builds have a line and a thread of their own beside
// it, so that neither they nor executions wait for the other. A thread that waits takes the worker's place
// where it can: to hand a request to another thread and its result back takes longer than many a request.
// What a request does is in its kind; the queue knows nothing about graphs.
//
// Where a device does the work, a run only begins it: the request is in flight then, and the worker goes on
// with the next. Requests in flight are retired in the order of the timeline, on a second thread or on one
// that waits. What has ended while others before it are in flight waits for its turn, so that
// results come in call order.

#ifndef RUNTIME_QUEUE_H_
#define RUNTIME_QUEUE_H_

#include "lib/allocator.h"
#include "lib/interrupt.h"
#include "lib/status.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

struct request;
struct request_list;

// All but `can_overlap` are called without a lock, and once at most for a request that does not ask for more.
struct request_kind {
    // One at a time, on the worker, or on any thread if it may; one build beside that, on the builder's
    // thread. Failing is said with `error`; false means that the context is lost by it.
    bool (*run)(WNNContext context, struct request *request, struct error *error);
    // Gives back what the request refers to, before the callback: after the run, or instead of it. NULL is
    // for the end of an executable: nobody waits for it, a lost context runs it too, and `run` disposes of
    // the request.
    void (*drop)(WNNContext context, struct request *request);
    // A thread that waits for this request, or for one behind it, may run it.
    bool anywhere;
    bool builds;        // it is a build
    bool awaited;       // a build that the run of a request to come makes, if nobody else has
    bool interruptible; // its run and its retirement ask for request->interrupt
    // (optional) Under the lock, quickly: whether it may run while these are in flight. NULL: not.
    bool (*can_overlap)(struct request *request, const struct request_list *in_flight);
    // For a request whose run has set REQUEST_IN_FLIGHT: waits for its end. As `run` otherwise.
    bool (*retire)(WNNContext context, struct request *request, struct error *error);
};

// How a run has ended; for a run that succeeds to change.
enum request_outcome {
    REQUEST_ENDED,
    REQUEST_IN_FLIGHT,
    REQUEST_AGAIN // to be run once more, when a request has been retired
};

// Whom to tell. `build` or `request` or neither.
struct callback {
    WNNCallbackMode mode;
    WNNBuildCallback build;
    WNNRequestCallback request;
    void *userdata1, *userdata2;
    uint64_t flow; // of the request in a trace (runtime/trace.h), or 0
};

static inline struct callback wnn_request_callback(const WNNRequestCallbackInfo *info)
{
    return (struct callback){.mode = info->mode,
                             .request = info->callback,
                             .userdata1 = info->userdata1,
                             .userdata2 = info->userdata2};
}

enum request_state {
    REQUEST_QUEUED,
    REQUEST_RUNNING,    // or in flight, or being cancelled
    REQUEST_DONE,       // its callback waits for a thread that may run it
    REQUEST_DELIVERING, // its callback runs, on the thread `deliverer`
};

// The first member of every kind's own struct. It is in one list at most, and in the table of ids until it is
// complete, which it is when its callback has returned or, without one, when it is done.
struct request {
    const struct request_kind *kind;
    struct request *next, *previous;
    struct request_list *list; // that it is in, or NULL
    struct request *next_in_bucket;
    uint64_t id; // 0: nobody waits for it, it cannot be cancelled, and it is not counted as pending
    enum request_state state;
    enum request_outcome outcome;
    struct interrupt interrupt;
    bool failed; // ended by a failure that loses the context, while others before it are in flight
    pthread_t deliverer;
    struct callback callback;
    WNNStatus status;
    WNNStringView message;
    void *message_memory; // or NULL: the message is static
    WNNGraph graph;       // the result of a build
    // For a trace, if there is one: of an execution. The label lies in the request's memory.
    WNNStringView label;
    uint64_t graph_id;
};

struct request_list {
    struct request *first, *last;
};

static inline void wnn_requests_append(struct request_list *list, struct request *request)
{
    request->next = NULL;
    request->previous = list->last;
    request->list = list;
    *(list->last ? &list->last->next : &list->first) = request;
    list->last = request;
}

static inline void wnn_requests_detach(struct request *request)
{
    struct request_list *list = request->list;
    *(request->previous ? &request->previous->next : &list->first) = request->next;
    *(request->next ? &request->next->previous : &list->last) = request->previous;
    request->next = request->previous = NULL;
    request->list = NULL;
}

static inline struct request *wnn_requests_take(struct request_list *list)
{
    struct request *request = list->first;
    if (request)
        wnn_requests_detach(request);
    return request;
}

// One spontaneous callback that runs now; on the stack of its thread.
struct spontaneous {
    pthread_t thread;
    struct spontaneous *next;
};

// Buckets of the table of ids at first. It grows with the requests that are pending.
#define QUEUE_BUCKETS 1024

// Requests in flight at a time.
#define QUEUE_FLIGHTS 8

// Places for requests that are small and few, as most are, so that they need no memory of the allocator.
#define QUEUE_PLACES     4
#define QUEUE_PLACE_SIZE 640

// Lock order: a timeline has one lock; no other lock is taken and no function of the caller, the backend or
// the allocator is called while it is held.
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t work;           // for the worker: something to run or to deliver, or the end
    pthread_cond_t changed;        // for those who wait: a request is done or complete
    pthread_cond_t flights;        // for who retires them: something in flight, or the end
    pthread_cond_t build_work;     // for the builder: something to build, or the end
    struct request_list waiting;   // the timeline
    bool running;                  // one that was on it runs
    struct request *current;       // which one; NULL also while a thread has taken the timeline
    struct request_list builds;    // which are not on it
    struct request *building;      // the one that runs
    bool builder_busy;             // with that, its callback included
    struct request_list in_flight; // what has left it and is not retired
    atomic_uint flight_count;      // of them; grows only while `running`
    bool retiring;                 // the first of them is being retired
    bool stalled;                  // nothing begins before it has
    bool stopped;                  // nothing will be in flight any more
    uint64_t waits_seen;           // how often a thread waited for what ran, or ran it itself
    bool expects_waiters;          // the worker looks by itself soon whether somebody has run what came
    struct request_list cancelled; // spontaneous ones that wnnContextCancel left to the worker
    struct request_list events;    // done, mode AllowProcessEvents
    struct request_list waits;     // done, mode WaitAnyOnly
    struct request **buckets;      // few_buckets, or memory of the allocator
    size_t bucket_count;           // a power of two
    struct request *few_buckets[QUEUE_BUCKETS];
    uint64_t first_id, count; // ids are first_id + [0, count)
    uint64_t pending;
    uint64_t max_pending; // 0: any number; does not change
    struct spontaneous *spontaneous;
    bool lost;
    bool ending; // the worker goes when nothing waits any more
    bool ended;  // the worker takes nothing any more
    bool closed; // nobody can wait any more: every callback runs where its result arises
    WNNContextLostReason lost_reason;
    char lost_message[WNN_MESSAGE_SIZE];
    enum {
        LOST_UNTOLD,
        LOST_WAITS,
        LOST_TOLD
    } lost_callback;
    struct request emergency; // for the answer to a request when there is no memory for a request
    bool emergency_used;
    atomic_uint places_taken; // by bit
    struct queue_place {
        _Alignas(max_align_t) char bytes[QUEUE_PLACE_SIZE];
    } places[QUEUE_PLACES];
};

bool wnn_queue_init(struct queue *queue, uint64_t first_id);
void wnn_queue_free(struct queue *queue, struct allocator *allocator);

// False inside of a spontaneous callback.
bool wnn_queue_may_wait(struct queue *queue);

// CLOCK_MONOTONIC; false: so late that it never comes.
bool wnn_deadline_after(uint64_t nanoseconds, struct timespec *deadline);

// What follows is called under the lock.

// Doubles the table when there is a request a bucket; without memory for that, requests are found more
// slowly. The lock is left to allocate.
void wnn_queue_grow(struct queue *queue, struct allocator *allocator);

// Gives a request its id, under which it is found until it leaves.
void wnn_queue_enter(struct queue *queue, struct request *request);
void wnn_queue_leave(struct queue *queue, struct request *request);
struct request *wnn_queue_find(struct queue *queue, uint64_t id);
bool wnn_queue_has_id(const struct queue *queue, uint64_t id); // now or earlier

// It runs no more, and may be gone soon.
void wnn_queue_leave_current(struct queue *queue, const struct request *request);

// Spontaneous callbacks: of this thread, and one that begins and ends on it.
bool wnn_queue_on_callback(const struct queue *queue);
void wnn_queue_enter_callback(struct queue *queue, struct spontaneous *record);
void wnn_queue_leave_callback(struct queue *queue, struct spontaneous *record);

// Whether a thread that waits may run the request. A spontaneous callback is the worker's.
bool wnn_request_runs_anywhere(const struct request *request);

// Whether the first request of the timeline may begin.
bool wnn_queue_may_begin(const struct queue *queue);

// After a request was run by a thread that is not the worker: tells who can go on.
void wnn_queue_go_on(struct queue *queue);

// Puts a request without `drop` on the timeline. Not after the end.
void wnn_queue_dispose(struct queue *queue, struct request *request);

#endif
