// SPDX-License-Identifier: Apache-2.0
//
// An allocator that counts its blocks, and of which one allocation can fail, for a test of its own.

#ifndef CONFORMANCE_UNIT_FAILING_ALLOCATOR_H_
#define CONFORMANCE_UNIT_FAILING_ALLOCATOR_H_

#include "conformance/unit/runtime_fixture.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// until_failure: the allocation of that number from now on fails; 0: none does.
static atomic_long blocks, until_failure;

static inline void *allocate_or_fail(size_t size, size_t alignment, void *userdata)
{
    void *memory;
    (void)userdata;
    if (atomic_load(&until_failure) > 0 && atomic_fetch_sub(&until_failure, 1) == 1)
        return NULL;
    if (posix_memalign(&memory, alignment < sizeof memory ? sizeof memory : alignment, size))
        return NULL;
    memset(memory, 0xCD, size);
    atomic_fetch_add(&blocks, 1);
    return memory;
}

static inline void release_counted(void *memory, size_t size, size_t alignment, void *userdata)
{
    (void)size;
    (void)alignment;
    (void)userdata;
    atomic_fetch_sub(&blocks, 1);
    free(memory);
}

static const WNNAllocator failing_allocator = {NULL, allocate_or_fail, release_counted, NULL};

// Of a context that has been released, whose threads may still be giving back what they have.
static inline void require_no_blocks(void)
{
    for (int i = 0; i < 5000 && atomic_load(&blocks); i++)
        sleep_milliseconds(1);
    REQUIRE_EQUAL_INT(atomic_load(&blocks), 0);
}

#endif
