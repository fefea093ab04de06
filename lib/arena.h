// SPDX-License-Identifier: Apache-2.0
//
// Memory that goes in one piece: a builder's, a graph's, a plan's records. One thread at a time.

#ifndef LIB_ARENA_H_
#define LIB_ARENA_H_

#include "lib/allocator.h"

struct arena_block;

struct arena {
    struct allocator *allocator;
    struct arena_block *last;
    size_t used; // bytes of the last block
};

// A place to go back to.
struct arena_mark {
    struct arena_block *last;
    size_t used;
};

void wnn_arena_init(struct arena *arena, struct allocator *allocator);
void wnn_arena_free(struct arena *arena);

// `size` bytes aligned for any type, filled with zeros; NULL when memory runs out.
void *wnn_arena_allocate(struct arena *arena, size_t size);
// The same, aligned for pointers and numbers of 64 bits, with nothing between it and another of that kind.
void *wnn_arena_allocate_packed(struct arena *arena, size_t size);
void *wnn_arena_copy(struct arena *arena, const void *data, size_t size);
void *wnn_arena_copy_packed(struct arena *arena, const void *data, size_t size);

struct arena_mark wnn_arena_mark(const struct arena *arena);
void wnn_arena_rewind(struct arena *arena, struct arena_mark mark);

// Makes room for one more item of `size` bytes in a growing array of pointers or records that lives in the
// arena. Returns the array, moved if need be, or NULL; *capacity is updated.
void *wnn_arena_grow(struct arena *arena, void *items, size_t count, size_t *capacity, size_t size);

#endif
