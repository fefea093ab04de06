// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a context: requests in call order, a worker that runs them one at a time, and the delivery
// of results to callbacks in the three callback modes. A thread that waits takes the worker's place where it
// can: to hand a request to another thread and its result back takes longer than many a request. What a
// request does is in its kind; the queue knows nothing about graphs.

#ifndef RUNTIME_QUEUE_H_
#define RUNTIME_QUEUE_H_

#include "lib/allocator.h"
#include "lib/status.h"

#include <pthread.h>
#include <stddef.h>

struct request;

// Both functions are called once at most, without a lock.
struct request_kind {
    // One at a time, on the worker, or on any thread if it may. Failing is said with `error`; false means
    // that the context is lost by it.
    bool (*run)(WNNContext context, struct request *request, struct error *error);
    // Gives back what the request refers to, before the callback: after the run, or instead of it. NULL is
    // for the end of an executable: nobody waits for it, a lost context runs it too, and `run` disposes of
    // the request.
    void (*drop)(WNNContext context, struct request *request);
    // A thread that waits for this request, or for one behind it, may run it.
    bool anywhere;
};

// Whom to tell. `build` or `request` or neither.
struct callback {
    WNNCallbackMode mode;
    WNNBuildCallback build;
    WNNRequestCallback request;
    void *userdata1, *userdata2;
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
    REQUEST_RUNNING,    // or being cancelled: not in a list
    REQUEST_DONE,       // its callback waits for a thread that may run it
    REQUEST_DELIVERING, // its callback runs, on the thread `deliverer`
};

// The first member of every kind's own struct. It is in one list at most, and in the table of ids until it is
// complete, which it is when its callback has returned or, without one, when it is done.
struct request {
    const struct request_kind *kind;
    struct request *next, *previous;
    struct request *next_in_bucket;
    uint64_t id; // 0: nobody waits for it, it cannot be cancelled, and it is not counted as pending
    enum request_state state;
    pthread_t deliverer;
    struct callback callback;
    WNNStatus status;
    WNNStringView message;
    void *message_memory; // or NULL: the message is static
    WNNGraph graph;       // the result of a build
};

struct request_list {
    struct request *first, *last;
};

// One spontaneous callback that runs now; on the stack of its thread.
struct spontaneous {
    pthread_t thread;
    struct spontaneous *next;
};

#define QUEUE_BUCKETS 1024

// Places for requests that are small and few, as most are, so that they need no memory of the allocator.
#define QUEUE_PLACES     4
#define QUEUE_PLACE_SIZE 512

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t work;           // for the worker: something to run or to deliver, or the end
    pthread_cond_t changed;        // for those who wait: a request is done or complete
    struct request_list waiting;   // the timeline
    bool running;                  // one that was on it runs
    uint64_t run_by_waiters;       // how many threads that waited have run
    bool expects_waiters;          // the worker looks by itself soon whether somebody has run what came
    struct request_list cancelled; // spontaneous ones that wnnContextCancel left to the worker
    struct request_list events;    // done, mode AllowProcessEvents
    struct request_list waits;     // done, mode WaitAnyOnly
    struct request *buckets[QUEUE_BUCKETS];
    uint64_t first_id, count; // ids are first_id + [0, count)
    uint64_t pending;
    struct spontaneous *spontaneous;
    bool lost;
    bool ending; // the worker goes when nothing waits any more
    bool ended;  // the worker takes nothing any more
    bool closed; // nobody can wait any more: every callback runs where its result arises
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
void wnn_queue_free(struct queue *queue);

// `size` bytes that begin with a request, filled with zeros, or NULL (and `error`).
void *wnn_request_create(WNNContext context, const struct request_kind *kind, size_t size,
                         struct error *error);

// For a request that was not submitted.
void wnn_request_free(WNNContext context, void *request);

// Puts the request on the timeline, or refuses it at once: because `error` holds a status other than Success
// (the request may be NULL then), or because the context is lost. Takes the request. Never fails: where there
// is no memory for the answer, a spare request carries it, and where that is in use, the callback runs inside
// of this call whatever its mode.
WNNFuture wnn_submit(WNNContext context, struct request *request, const struct callback *callback,
                     struct error *error);

// The answer to a call that has no context: the callback runs inside of it.
WNNFuture wnn_refuse_without_context(const struct callback *callback);

// Puts a request without callback and future on the timeline. False (and `error`): the context is lost, and
// the request is gone.
bool wnn_submit_silently(WNNContext context, struct request *request, struct error *error);

// Takes the timeline for the thread that calls, so that what it does next is in order; nothing of it runs
// until the thread gives it back. False: something is on it, or the context is lost.
bool wnn_queue_take(WNNContext context);
void wnn_queue_give(WNNContext context);

// Under the lock: puts a request without `drop` on the timeline. Not after the end.
void wnn_queue_dispose(struct queue *queue, struct request *request);

// Checks what every callback info struct has; a mode that does not exist makes the callback run inside of the
// call.
bool wnn_check_callback(const WNNChainedStruct *chain, struct callback *callback, struct error *error);

// Marks the context lost, unless it is already: requests that wait are taken off the timeline and can be
// ended with wnn_lose_end, which also calls the lost callback. Between the two the caller may end what it has
// in hand.
bool wnn_lose_begin(WNNContext context, const char *message, struct request_list *cancelled);
void wnn_lose_end(WNNContext context, struct request_list *cancelled);

// The worker's loop; returns when the queue is ending and nothing waits.
void wnn_queue_work(WNNContext context);

// Delivers whatever has not been delivered, and everything that comes later where it arises.
void wnn_queue_close(WNNContext context);

#endif
