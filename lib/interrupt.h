// SPDX-License-Identifier: Apache-2.0
//
// How something that takes long is told to stop: an execution, or a build. Any thread raises an interrupt,
// the threads that work ask for it between pieces of some milliseconds, leave the rest undone, and fail with
// Cancelled.

#ifndef LIB_INTERRUPT_H_
#define LIB_INTERRUPT_H_

#include "lib/status.h"

#include <stdatomic.h>
#include <time.h>

struct interrupt {
    atomic_bool raised;
    uint64_t deadline; // nanoseconds on CLOCK_MONOTONIC; 0: none. Set before the work begins.
};

static inline void wnn_interrupt_init(struct interrupt *interrupt, uint64_t deadline)
{
    atomic_init(&interrupt->raised, false);
    interrupt->deadline = deadline;
}

static inline void wnn_interrupt_raise(struct interrupt *interrupt)
{
    atomic_store_explicit(&interrupt->raised, true, memory_order_relaxed);
}

// CLOCK_MONOTONIC.
static inline uint64_t wnn_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Whether the work is to stop. NULL: never. Reads a clock only where there is a deadline.
static inline bool wnn_interrupted(const struct interrupt *interrupt)
{
    return interrupt && (atomic_load_explicit(&interrupt->raised, memory_order_relaxed) ||
                         (interrupt->deadline != 0 && wnn_nanoseconds() >= interrupt->deadline));
}

// Fails with Cancelled if the work is to stop; otherwise true.
static inline bool wnn_interrupt_check(const struct interrupt *interrupt, struct error *error)
{
    if (!wnn_interrupted(interrupt))
        return true;
    return wnn_fail(error, WNNStatus_Cancelled,
                    atomic_load_explicit(&interrupt->raised, memory_order_relaxed) ? "stopped while it ran"
                                                                                   : "its time limit passed");
}

#endif
