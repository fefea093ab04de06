// SPDX-License-Identifier: Apache-2.0
//
// Threads that contexts share (WNNThreadPool): compute threads for their loops, spare threads for what each
// of them needs a thread for, and turns, so that no more contexts compute at once than there are processors
// for.

#ifndef RUNTIME_THREAD_POOL_H_
#define RUNTIME_THREAD_POOL_H_

#include "lib/status.h"

#include <pthread.h>

// A thread of a context: one of its own, or a spare one of a pool.
struct thread {
    pthread_t id;
    struct spare *spare; // NULL: its own
};

// Runs function(argument) on a spare thread of the pool, or on a new one if there is none; `pool` may be
// NULL. The thread receives no signals. False: `error` says what the system refuses.
bool wnn_thread_start(WNNThreadPool pool, struct thread *thread, void *(*function)(void *argument),
                      void *argument, struct error *error);

// One of the two, once. Joining waits until the function has returned.
void wnn_thread_join(struct thread *thread);
void wnn_thread_detach(struct thread *thread);

bool wnn_thread_is_current(const struct thread *thread);

// Fails with what the system says of a thread that it does not make: NotSupportedError if the process may
// not, else OutOfMemory.
bool wnn_fail_thread(struct error *error, int code);

// The same of `count` compute threads that could not be started.
bool wnn_fail_threads(struct error *error, uint32_t count);

// What a context may use of the pool: its compute threads (NULL: one thread), and how many work at a loop.
struct pool *wnn_thread_pool_compute(WNNThreadPool pool);
uint32_t wnn_thread_pool_threads(WNNThreadPool pool);

// The pthreadpool_t of the pool, NULL: one thread.
void *wnn_thread_pool_pthreadpool(WNNThreadPool pool);

// Turns. A context begins one before it computes, which waits while others compute on all processors: those
// of higher priority come first, of one priority in the order in which they came, and nobody waits for longer
// than some ten milliseconds for a node that takes long. Between two nodes it offers the rest of its turn to
// who waits.
void wnn_turn_begin(WNNThreadPool pool, WNNPriority priority);
void wnn_turn_offer(WNNThreadPool pool, WNNPriority priority);
void wnn_turn_end(WNNThreadPool pool);

// Whether only one context computes, which may use all threads.
bool wnn_turn_is_alone(WNNThreadPool pool);

// Whether it is the pool of a parent process, and has no threads in this one.
bool wnn_thread_pool_forked(WNNThreadPool pool);

void wnn_thread_pool_ref(WNNThreadPool pool);
void wnn_thread_pool_unref(WNNThreadPool pool);

#endif
