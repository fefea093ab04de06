// SPDX-License-Identifier: Apache-2.0
//
// What contexts of a program may have together, and tell of themselves: memory that is counted, a thread
// pool, a budget and traces. What does not hold ends the process.

#ifndef CONFORMANCE_FUZZ_SHARED_H_
#define CONFORMANCE_FUZZ_SHARED_H_

#include "conformance/fuzz/recorder.h"

#include <pthread.h>
#include <stdatomic.h>

_Noreturn void fuzz_fail(const char *what);

struct heap {
    atomic_llong bytes, blocks;
    atomic_long until_failure; // allocations; 0: none fails
};
WNNAllocator fuzz_allocator(struct heap *heap);
bool fuzz_heap_is_empty(const struct heap *heap);

struct shared {
    struct heap heap;    // of thread pools
    WNNThreadPool pool;  // or NULL
    WNNBudget budget;    // or NULL
    WNNResources limits; // of the budget
};

// Makes what the bytes say; contexts keep what they use of it.
void fuzz_share(struct shared *shared, struct bytes *bytes);

// Gives the pool up, which contexts may use still, and makes another one.
void fuzz_renew_pool(struct shared *shared, uint8_t byte);

// Whether contexts of the budget may be refused something.
bool fuzz_is_limited(const struct shared *shared);

// Nothing is over its limit. Any thread.
void fuzz_check_budget(const struct shared *shared);

// When everything else has been released: nothing is left, neither of pools nor in the budget.
void fuzz_unshare(struct shared *shared);

// The events of one context: each flow begins once and ends once, and slices of a thread are nested.
struct trace_log {
    WNNTrace trace; // to be chained to the context's descriptor
    pthread_mutex_t lock;
    size_t count;
    struct trace_flow {
        uint64_t id;
        bool ended;
    } flows[4096];
};
void fuzz_trace_begin(struct trace_log *log, bool nodes);
void fuzz_trace_end(struct trace_log *log); // when the context is gone

#endif
