// SPDX-License-Identifier: Apache-2.0
#include "tools/model/memory.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Of pointers and numbers of 64 bits: nothing has more.
#define ALIGNMENT alignof(int64_t)

#define FIRST_BYTES ((size_t)1024)

// Small items share blocks of so many bytes at most, but where a sanitizer watches the ends of each.
#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define WATCHED 1
#endif
#endif
#ifdef WATCHED
static const size_t shared_bytes = 0;
#else
static const size_t shared_bytes = 8192;
#endif

struct model_block {
    struct model_block *before;
    max_align_t bytes[];
};

// Memory that is zero, unless it is to be shared and used again.
static unsigned char *add_block(struct model_memory *memory, size_t bytes, bool shared)
{
    struct model_block *block = shared ? malloc(sizeof *block + bytes) : calloc(1, sizeof *block + bytes);
    if (!block)
        return NULL;
    block->before = memory->blocks;
    memory->blocks = block;
    memory->used += sizeof *block + bytes;
    return (unsigned char *)block->bytes;
}

// As large as all there is, so that no more than half of it is ever empty.
static size_t block_size(const struct model_memory *memory, size_t bytes)
{
    size_t size = FIRST_BYTES;
    while (size < shared_bytes && (size < memory->used || size < bytes))
        size *= 2;
    return size;
}

void *wnn_model_allocate(struct model_memory *memory, size_t count, size_t size)
{
    const size_t most = memory->limit - memory->used, alignment = ALIGNMENT;
    size_t left = most > sizeof(struct model_block) ? most - sizeof(struct model_block) : 0;
    count = count ? count : 1;
    if (count > (SIZE_MAX - alignment) / size)
        return NULL;
    size_t bytes = (count * size + alignment - 1) / alignment * alignment;
    if (bytes > memory->left && bytes <= left && bytes < shared_bytes / 4) {
        size_t shared = block_size(memory, bytes);
        shared = left < shared ? left / alignment * alignment : shared;
        memory->room = add_block(memory, shared, true);
        memory->left = memory->room ? shared : 0;
    }
    if (bytes > memory->left)
        return bytes <= left && bytes >= shared_bytes / 4 ? add_block(memory, bytes, false) : NULL;
    unsigned char *item = memory->room;
    memory->room += bytes;
    memory->left -= bytes;
    return memset(item, 0, bytes);
}

struct model_mark wnn_model_mark(const struct model_memory *memory)
{
    return (struct model_mark){memory->blocks, memory->room, memory->left, memory->used};
}

void wnn_model_rewind(struct model_memory *memory, struct model_mark mark)
{
    while (memory->blocks != mark.blocks) {
        struct model_block *before = memory->blocks->before;
        free(memory->blocks);
        memory->blocks = before;
    }
    memory->room = mark.room;
    memory->left = mark.left;
    memory->used = mark.used;
}

void wnn_model_free(struct model_memory *memory)
{
    wnn_model_rewind(memory, (struct model_mark){NULL, NULL, 0, 0});
}
