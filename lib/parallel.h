// SPDX-License-Identifier: Apache-2.0
//
// Splitting a loop over the threads of a context. The threads are the runtime's; kernels see this.

#ifndef LIB_PARALLEL_H_
#define LIB_PARALLEL_H_

#include "lib/allocator.h"
#include "lib/interrupt.h"

#include <stdbool.h>
#include <stddef.h>

// Runs task(argument, index) for every index in [0, count), in any order and on any threads, and returns when
// all are done.
struct parallel {
    void (*run)(const struct parallel *parallel, size_t count, void (*task)(void *argument, size_t index),
                void *argument);
    unsigned threads;                  // how many tasks can make progress at once, at least 1
    void *pthreadpool;                 // a pthreadpool_t with as many threads that is there already, or NULL
    const void *host;                  // the runtime's
    const struct interrupt *interrupt; // of what runs now, or NULL
    // (optional) Makes that pthreadpool_t when it is first needed, or returns the one that it made; NULL:
    // there is none to be had. Any thread.
    void *(*make_pthreadpool)(const struct parallel *parallel);
    // (optional) Called between nodes: lets others have the processor who wait for it.
    void (*pause)(const struct parallel *parallel);
    // (optional) Whether the caller does better alone for some milliseconds. Any thread.
    bool (*rests)(const struct parallel *parallel);
};

// The pthreadpool_t for libraries that want one, or NULL: one thread. It is no part of `run`.
static inline void *wnn_parallel_pthreadpool(const struct parallel *parallel)
{
    if (parallel->pthreadpool || !parallel->make_pthreadpool)
        return parallel->pthreadpool;
    return parallel->make_pthreadpool(parallel);
}

// Calls body(argument, begin, end) for pieces that cover [0, count), in which it may matter to nothing how
// long they are. A piece is at least `grain` long, which should take some ten microseconds, unless there is
// only one; it is cut again where there is an interrupt, which may come between two. How a loop is cut
// depends on count, grain and the number of threads only. A count of 0 does nothing.
void wnn_parallel_for(const struct parallel *parallel, size_t count, size_t grain,
                      void (*body)(void *argument, size_t begin, size_t end), void *argument);

// As parallel->run, but leaves out what has not begun when there is an interrupt.
void wnn_parallel_run(const struct parallel *parallel, size_t count,
                      void (*task)(void *argument, size_t index), void *argument);

// wnn_allocate_zero for memory of megabytes: each thread makes the pages of its part.
void *wnn_parallel_zeros(const struct parallel *parallel, struct allocator *allocator, size_t size);

// The calling thread alone, for what is a part of a parallel loop already.
extern const struct parallel wnn_serial;

// Likewise; `interrupt` may be NULL.
struct parallel wnn_parallel_alone(const struct interrupt *interrupt);

#endif
