// SPDX-License-Identifier: Apache-2.0
#include "lib/allocator.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// From this size on a block's pages are asked for at once: all of it will be written soon, and a page fault
// for each takes longer than to write the page.
#define POPULATED ((size_t)256 << 10)

// Pages of so many bytes, which whoever streams through weights waits for less often than for small ones:
// asked for where they are wholly in the memory, so that it becomes no larger, and small where the system has
// none.
#define HUGE_PAGE ((uintptr_t)2 << 20)

// Stands in front of every block that is no record, as long as the alignment so that the block stays aligned.
struct header {
    size_t total;
};
_Static_assert(sizeof(struct header) <= WNN_ALIGNMENT, "the header fits in front of a block");

// Of the pages of so many bytes that lie in the memory as a whole.
static void advise(void *memory, size_t size, uintptr_t page, int advice)
{
    uintptr_t begin = ((uintptr_t)memory + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)memory + size) / page * page;
    if (begin < end)
        madvise((void *)begin, end - begin, advice);
}

void wnn_populate(void *memory, size_t size)
{
#ifdef MADV_POPULATE_WRITE
    advise(memory, size, (uintptr_t)sysconf(_SC_PAGESIZE), MADV_POPULATE_WRITE);
#else
    (void)memory, (void)size;
#endif
}

// Aligned by hand, with what malloc gave in front: posix_memalign of glibc does not take the hole that a
// block of the same size has left, so that a heap of large blocks that come and go grows.
static void *allocate_block(size_t size, size_t alignment)
{
    if (alignment <= alignof(max_align_t))
        return malloc(size);
    char *given = size < SIZE_MAX / 2 ? malloc(size + sizeof(void *) + alignment) : NULL;
    if (!given)
        return NULL;
    size_t offset =
        sizeof(void *) + alignment - 1 - ((uintptr_t)given + sizeof(void *) + alignment - 1) % alignment;
    char *memory = given + offset;
    memcpy(memory - sizeof(void *), &given, sizeof(void *));
    advise(memory, size, HUGE_PAGE, MADV_HUGEPAGE);
    return memory;
}

static void *default_allocate(size_t size, size_t alignment, void *userdata)
{
    (void)userdata;
    void *memory = allocate_block(size, alignment);
    if (memory && size >= POPULATED)
        wnn_populate(memory, size);
    return memory;
}

static void default_release(void *memory, size_t size, size_t alignment, void *userdata)
{
    (void)size, (void)userdata;
    void *given = memory;
    if (alignment > alignof(max_align_t))
        memcpy(&given, (char *)memory - sizeof(void *), sizeof(void *));
    free(given);
}

void wnn_allocator_init(struct allocator *allocator, const WNNAllocator *host, uint64_t limit)
{
    allocator->host = host ? *host : (WNNAllocator){NULL, default_allocate, default_release, NULL};
    allocator->limit = limit;
    allocator->budget = NULL;
    atomic_init(&allocator->now, 0);
    atomic_init(&allocator->peak, 0);
}

// Adds to the bytes in use, which it returns in *now; false if that is more than a limit.
static bool add_bytes(struct allocator *allocator, WNNResource memory, uint64_t bytes, uint_fast64_t *now)
{
    *now = atomic_fetch_add(&allocator->now, bytes) + bytes;
    if ((allocator->limit == 0 || *now <= allocator->limit) &&
        wnn_budget_take(allocator->budget, memory, bytes))
        return true;
    atomic_fetch_sub(&allocator->now, bytes);
    return false;
}

bool wnn_charge(struct allocator *allocator, WNNResource memory, uint64_t bytes)
{
    uint_fast64_t now;
    if (!add_bytes(allocator, memory, bytes, &now))
        return false;
    wnn_raise_peak(&allocator->peak, now);
    return true;
}

void wnn_discharge(struct allocator *allocator, WNNResource memory, uint64_t bytes)
{
    atomic_fetch_sub(&allocator->now, bytes);
    wnn_budget_give(allocator->budget, memory, bytes);
}

// `bare`: whoever asks populates it.
static void *take(struct allocator *allocator, size_t size, size_t alignment, bool bare)
{
    uint_fast64_t now;
    if (!add_bytes(allocator, WNNResource_HostMemory, size, &now))
        return NULL;
    void *memory = bare && allocator->host.allocate == default_allocate
                       ? allocate_block(size, alignment)
                       : allocator->host.allocate(size, alignment, allocator->host.userdata);
    if (memory)
        wnn_raise_peak(&allocator->peak, now); // what has been there at once, not what was refused
    else
        wnn_discharge(allocator, WNNResource_HostMemory, size);
    return memory;
}

static void give_back(struct allocator *allocator, void *memory, size_t size, size_t alignment)
{
    allocator->host.release(memory, size, alignment, allocator->host.userdata);
    wnn_discharge(allocator, WNNResource_HostMemory, size);
}

// Behind a header that is as long as the alignment.
static void *allocate(struct allocator *allocator, size_t size, bool bare)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    size_t total = size + WNN_ALIGNMENT + WNN_SLACK;
    struct header *header = take(allocator, total, WNN_ALIGNMENT, bare);
    if (!header)
        return NULL;
    header->total = total;
    return (char *)header + WNN_ALIGNMENT;
}

void *wnn_allocate(struct allocator *allocator, size_t size)
{
    return allocate(allocator, size, false);
}

void *wnn_allocate_bare(struct allocator *allocator, size_t size)
{
    return allocate(allocator, size, true);
}

void *wnn_allocate_zero(struct allocator *allocator, size_t size)
{
    void *memory = wnn_allocate(allocator, size);
    if (memory)
        memset(memory, 0, size + WNN_SLACK);
    return memory;
}

void wnn_release(struct allocator *allocator, void *memory)
{
    if (!memory)
        return;
    struct header *header = (struct header *)((char *)memory - WNN_ALIGNMENT);
    give_back(allocator, header, header->total, WNN_ALIGNMENT);
}

void *wnn_allocate_record(struct allocator *allocator, size_t size)
{
    return size > SIZE_MAX / 2 ? NULL : take(allocator, size, alignof(max_align_t), false);
}

void wnn_release_record(struct allocator *allocator, void *record, size_t size)
{
    if (record)
        give_back(allocator, record, size, alignof(max_align_t));
}
