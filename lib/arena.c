// SPDX-License-Identifier: Apache-2.0
#include "lib/arena.h"

#include <stdalign.h>
#include <string.h>

#define FIRST_BLOCK 1024u
// Larger ones would be pages of their own, which the system clears each time.
#define LARGEST_BLOCK (8u * 1024)

// A sanitizer watches the end of each packed record, which has nothing between it and the next otherwise.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(WATCHED)
#include <sanitizer/asan_interface.h>
#define GAP ((size_t)16)
#else
#define GAP                                       ((size_t)0)
#define ASAN_POISON_MEMORY_REGION(memory, size)   ((void)(memory))
#define ASAN_UNPOISON_MEMORY_REGION(memory, size) ((void)(memory))
#endif

struct arena_block {
    struct arena_block *previous;
    size_t capacity;
    alignas(max_align_t) char data[];
};

void wnn_arena_init(struct arena *arena, struct allocator *allocator)
{
    *arena = (struct arena){allocator, NULL, 0};
}

void wnn_arena_free(struct arena *arena)
{
    wnn_arena_rewind(arena, (struct arena_mark){NULL, 0});
}

static bool add_block(struct arena *arena, size_t size)
{
    size_t capacity = arena->last ? arena->last->capacity * 2 : FIRST_BLOCK;
    if (capacity > LARGEST_BLOCK)
        capacity = LARGEST_BLOCK;
    if (capacity < size)
        capacity = size;
    struct arena_block *block = wnn_allocate(arena->allocator, sizeof *block + capacity);
    if (!block)
        return false;
    block->previous = arena->last;
    block->capacity = capacity;
    arena->last = block;
    arena->used = 0;
    return true;
}

// With so many bytes behind them that nobody may touch.
static void *allocate(struct arena *arena, size_t size, size_t alignment, size_t gap)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + alignment - 1) / alignment * alignment;
    size_t begin = (arena->used + alignment - 1) / alignment * alignment;
    if (!arena->last || begin > arena->last->capacity || arena->last->capacity - begin < size + gap) {
        if (!add_block(arena, size + gap))
            return NULL;
        begin = 0;
    }
    char *memory = arena->last->data + begin;
    arena->used = begin + size + gap;
    ASAN_UNPOISON_MEMORY_REGION(memory, size);
    ASAN_POISON_MEMORY_REGION(memory + size, gap);
    return memset(memory, 0, size);
}

void *wnn_arena_allocate(struct arena *arena, size_t size)
{
    return allocate(arena, size, alignof(max_align_t), 0);
}

void *wnn_arena_allocate_packed(struct arena *arena, size_t size)
{
    return allocate(arena, size, alignof(uint64_t), GAP);
}

void *wnn_arena_copy(struct arena *arena, const void *data, size_t size)
{
    void *memory = wnn_arena_allocate(arena, size);
    if (memory && size)
        memcpy(memory, data, size);
    return memory;
}

void *wnn_arena_copy_packed(struct arena *arena, const void *data, size_t size)
{
    void *memory = wnn_arena_allocate_packed(arena, size);
    if (memory && size)
        memcpy(memory, data, size);
    return memory;
}

struct arena_mark wnn_arena_mark(const struct arena *arena)
{
    return (struct arena_mark){arena->last, arena->used};
}

void wnn_arena_rewind(struct arena *arena, struct arena_mark mark)
{
    while (arena->last != mark.last) {
        struct arena_block *previous = arena->last->previous;
        wnn_release(arena->allocator, arena->last);
        arena->last = previous;
    }
    arena->used = mark.used;
}

void *wnn_arena_grow(struct arena *arena, void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? *capacity * 2 : 8;
    void *grown = wnn_arena_allocate(arena, wanted * size);
    if (!grown)
        return NULL;
    if (count)
        memcpy(grown, items, count * size);
    *capacity = wanted;
    return grown;
}
