// SPDX-License-Identifier: Apache-2.0
//
// Children of fork(). They have the memory of a context or thread pool and none of its threads, and a lock
// may be held for ever by a thread that was not copied: whatever they ask of it is refused before a lock is
// taken.

#ifndef RUNTIME_FORK_H_
#define RUNTIME_FORK_H_

#include "lib/status.h"

#include <stdatomic.h>

// How often this process and its ancestors have forked. Global, as processes are: written by the child only,
// while it has one thread.
extern atomic_uint wnn_forks;

// Has forks counted from now on, and returns how many there have been. Any thread.
unsigned wnn_forks_begin(void);

// Whether what was made when there had been that many belongs to another process.
static inline bool wnn_forked(unsigned forks)
{
    return forks != atomic_load_explicit(&wnn_forks, memory_order_relaxed);
}

// Fails with InvalidStateError.
static inline bool wnn_fail_forked(struct error *error)
{
    return wnn_fail(error, WNNStatus_InvalidStateError,
                    "the process was forked: a child cannot use its parent's contexts or thread pools");
}

#endif
