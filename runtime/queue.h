// SPDX-License-Identifier: Apache-2.0
//
// The timeline of a context: requests in call order, a worker that runs them one at a time, and the delivery
// of results to callbacks in the three callback modes. Builds have a line and a thread of their own beside
// it, so that neither they nor executions wait for the other. A thread that waits takes the worker's place
// where it can: to hand a request to another thread and its result back takes longer than many a request.
// What a request does is in its kind; the queue knows nothing about graphs.
//
// Where a device does the work, a run only begins it: the request is in flight then, and the worker goes on
// with the next. Requests in flight land in the order of the timeline, on a second thread or on one that
// waits. What has ended while others before it fly waits for its turn, so that results come in call order.

#ifndef RUNTIME_QUEUE_H_
#define RUNTIME_QUEUE_H_

#include "lib/allocator.h"
#include "lib/interrupt.h"
#include "lib/status.h"

#include <pthread.h>
#include <stddef.h>

struct request;
struct request_list;

// All but `joins` are called without a lock, and once at most for a request that does not ask for more.
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
    bool interruptible; // its run and its landing ask for request->interrupt
    // (optional) Under the lock, quickly: whether it may run while these are in flight. NULL: not.
    bool (*joins)(struct request *request, const struct request_list *flying);
    // For a request whose run has set REQUEST_FLIES: waits for its end. As `run` otherwise.
    bool (*land)(WNNContext context, struct request *request, struct error *error);
};

// How a run has ended; for a run that succeeds to change.
enum request_course {
    REQUEST_ENDED,
    REQUEST_FLIES,
    REQUEST_AGAIN // to be run once more, when a request has landed
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
    enum request_course course;
    struct interrupt interrupt;
    bool failed; // ended by a failure that loses the context, while others before it fly
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
#define QUEUE_PLACE_SIZE 512

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t work;           // for the worker: something to run or to deliver, or the end
    pthread_cond_t changed;        // for those who wait: a request is done or complete
    pthread_cond_t flights;        // for who lands them: something to land, or the end
    pthread_cond_t build_work;     // for the builder: something to build, or the end
    struct request_list waiting;   // the timeline
    bool running;                  // one that was on it runs
    struct request *current;       // which one; NULL also while a thread has taken the timeline
    struct request_list builds;    // which are not on it
    struct request *building;      // the one that runs
    bool builder_busy;             // with that, its callback included
    struct request_list flying;    // and what is in flight of it
    atomic_uint flight_count;      // of them; grows only while `running`
    bool landing;                  // the first of them lands
    bool stalled;                  // nothing begins before it has
    bool grounded;                 // nothing will fly any more
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
void wnn_queue_free(WNNContext context);

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

// Checks what every callback info struct has, which may be followed by the structs of `chains`; a mode that
// does not exist makes the callback run inside of the call.
bool wnn_check_callback(const WNNChainedStruct *chain, uint32_t chains, struct callback *callback,
                        struct error *error);

// The smaller of the limit of a chained WNNTimeLimit, if there is one, and `limit`; 0: none.
uint64_t wnn_time_limit(const WNNChainedStruct *chain, uint64_t limit);

// Sets the deadline of a request that begins to run, unless it has one already: `limit` nanoseconds from now,
// 0: none.
void wnn_request_begin(struct request *request, uint64_t limit);

// Marks the context lost, unless it is already: requests that wait are taken off the timeline and can be
// ended with wnn_lose_end, which also calls the lost callback. Between the two the caller may end what it has
// in hand.
bool wnn_lose_begin(WNNContext context, WNNContextLostReason reason, const char *message,
                    struct request_list *cancelled);
void wnn_lose_end(WNNContext context, struct request_list *cancelled);

// Takes back what `matches`, as wnnContextCancel does: ends what waits, and interrupts what runs.
void wnn_queue_cancel(WNNContext context,
                      bool (*matches)(const struct request *request, const void *argument),
                      const void *argument, const char *message);

// The builder's loop; returns when the queue is ending and nothing is to be built.
void wnn_queue_build(WNNContext context);

// The worker's loop; returns when the queue is ending and nothing waits.
void wnn_queue_work(WNNContext context);

// The loop of the thread that lands requests, until wnn_queue_ground.
void wnn_queue_land(WNNContext context);
void wnn_queue_ground(WNNContext context);

// False inside of a spontaneous callback.
bool wnn_queue_may_wait(struct queue *queue);

// Delivers whatever has not been delivered, and everything that comes later where it arises.
void wnn_queue_close(WNNContext context);

#endif
