// SPDX-License-Identifier: Apache-2.0
//
// Memory of one context: the host's allocator, a limit, and counters. Any thread.

#ifndef LIB_ALLOCATOR_H_
#define LIB_ALLOCATOR_H_

#include "lib/budget.h"

#include <stdatomic.h>

// What wnn_allocate aligns to, and by how much every block is longer than asked for, so that kernels that
// read whole vectors stay inside of it.
#define WNN_ALIGNMENT 64
#define WNN_SLACK     64

// Rounds up to a multiple of the alignment.
static inline size_t wnn_aligned(size_t bytes)
{
    return (bytes + WNN_ALIGNMENT - 1) / WNN_ALIGNMENT * WNN_ALIGNMENT;
}

struct allocator {
    WNNAllocator host;
    uint64_t limit; // bytes, 0: none
    atomic_uint_fast64_t now, peak;
    struct budget *budget; // that it shares with others, or NULL
};

// host NULL: the C library's.
void wnn_allocator_init(struct allocator *allocator, const WNNAllocator *host, uint64_t limit);

// `size` bytes, not initialized; NULL if there are none. A size of 0 is good for one byte.
void *wnn_allocate(struct allocator *allocator, size_t size);
void *wnn_allocate_zero(struct allocator *allocator, size_t size);
// Without the pages of large memory, which the others make at once, since writing to them is what comes next.
void *wnn_allocate_bare(struct allocator *allocator, size_t size);
// Makes the pages that lie in the memory as a whole. Where the system cannot do it, they come one by one.
void wnn_populate(void *memory, size_t size);

// The same for what no kernel reads: nothing is around it, it is aligned as the C library does it, and
// wnn_release_record, which has to be told the size, gives it back.
void *wnn_allocate_record(struct allocator *allocator, size_t size);
void wnn_release_record(struct allocator *allocator, void *record, size_t size);

// Counts bytes that something else has allocated on behalf of the context, on the host or a device; false if
// they are more than the limits leave.
bool wnn_charge(struct allocator *allocator, WNNResource memory, uint64_t bytes);
void wnn_discharge(struct allocator *allocator, WNNResource memory, uint64_t bytes);

// NULL is accepted.
void wnn_release(struct allocator *allocator, void *memory);

#endif
