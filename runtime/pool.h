// SPDX-License-Identifier: Apache-2.0
//
// A pool of compute threads. The thread that has work works too, takes its items from a counter that all
// share, and waits for nobody who has not begun: threads that the system does not run cost nothing. Between
// two loops threads look for work for some microseconds, then they sleep. Where they are slower than the
// caller alone, because others hold the processors, they stay away for some milliseconds.

#ifndef RUNTIME_POOL_H_
#define RUNTIME_POOL_H_

#include "lib/allocator.h"

#include <stdbool.h>

struct pool;

// A pool in which `threads` (at least 2) can work at once, the caller among them; NULL when it cannot be
// made. The threads receive no signals.
struct pool *wnn_thread_pool_create(struct allocator *allocator, unsigned threads);

// Not while a loop runs. NULL is accepted.
void wnn_thread_pool_destroy(struct pool *pool);

// Runs task(argument, index) for every index in [0, count) and returns when all are done. Any thread, tasks
// included: while one loop runs, another is run by its caller alone.
void wnn_thread_pool_run(struct pool *pool, size_t count, void (*task)(void *argument, size_t index),
                         void *argument);

// Whether its threads rest, because they would be slower than the caller alone: loops need not be cut. Any
// thread.
bool wnn_thread_pool_rests(const struct pool *pool);

#endif
