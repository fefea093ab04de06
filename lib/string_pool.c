// SPDX-License-Identifier: Apache-2.0
#include "lib/string_pool.h"

#include "lib/arena.h"

#include <string.h>

// How many entries of the table a search looks at, so that strings that were made to collide cost no more
// than others; they may then be kept twice.
#define PROBES      32
#define FIRST_TABLE 64

struct entry {
    const char *data; // NULL: free
    uint32_t length, hash;
};

struct string_pool {
    atomic_uint references;
    struct arena arena;
    uint64_t bytes;
    struct entry *entries;
    size_t count, size; // a power of two, or 0
};

struct string_pool *wnn_string_pool_create(struct allocator *allocator)
{
    struct string_pool *pool = wnn_allocate_zero(allocator, sizeof *pool);
    if (!pool)
        return NULL;
    atomic_init(&pool->references, 1);
    wnn_arena_init(&pool->arena, allocator);
    return pool;
}

struct string_pool *wnn_string_pool_ref(struct string_pool *pool)
{
    if (pool)
        atomic_fetch_add(&pool->references, 1);
    return pool;
}

void wnn_string_pool_unref(struct string_pool *pool)
{
    if (!pool || atomic_fetch_sub(&pool->references, 1) != 1)
        return;
    struct allocator *allocator = pool->arena.allocator;
    wnn_arena_free(&pool->arena);
    wnn_release(allocator, pool->entries);
    wnn_release(allocator, pool);
}

uint64_t wnn_string_pool_bytes(const struct string_pool *pool)
{
    return pool->bytes;
}

// Eight bytes at a time.
static uint32_t hash_of(struct string string)
{
    uint64_t hash = string.length, word;
    for (size_t i = 0; i < string.length; i += sizeof word) {
        size_t left = string.length - i;
        word = 0;
        memcpy(&word, string.data + i, left < sizeof word ? left : sizeof word);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    hash *= 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 32);
}

// Where the string stands or could stand; NULL: there is no place for it.
static struct entry *find(const struct string_pool *pool, struct string string, uint32_t hash)
{
    for (size_t i = 0; i < PROBES && pool->size > 0; i++) {
        struct entry *entry = &pool->entries[(hash + i) & (pool->size - 1)];
        if (!entry->data || (entry->hash == hash && entry->length == string.length &&
                             memcmp(entry->data, string.data, string.length) == 0))
            return entry;
    }
    return NULL;
}

static bool grow(struct string_pool *pool)
{
    struct string_pool larger = *pool;
    larger.size = pool->size > 0 ? 2 * pool->size : FIRST_TABLE;
    larger.entries = wnn_allocate_zero(pool->arena.allocator, larger.size * sizeof larger.entries[0]);
    if (!larger.entries)
        return false;
    for (size_t i = 0; i < pool->size; i++) {
        struct entry old = pool->entries[i], *entry = NULL;
        if (old.data)
            entry = find(&larger, (struct string){old.data, old.length}, old.hash);
        if (entry)
            *entry = old;
    }
    wnn_release(pool->arena.allocator, pool->entries);
    pool->entries = larger.entries;
    pool->size = larger.size;
    return true;
}

struct string wnn_string_pool_add(struct string_pool *pool, struct string string, uint64_t limit, bool *full)
{
    static const struct string none = {NULL, 0};
    uint32_t hash = hash_of(string);
    struct entry *entry = find(pool, string, hash);
    *full = false;
    if (entry && entry->data)
        return (struct string){entry->data, entry->length};
    *full = limit > 0 && (limit < pool->bytes || string.length >= limit - pool->bytes);
    if (*full || (pool->count >= pool->size / 2 && !grow(pool)))
        return none;
    struct string copy = wnn_string_copy(&pool->arena, string);
    if (!copy.data)
        return none;
    pool->bytes += string.length + 1;
    entry = string.length <= UINT32_MAX ? find(pool, string, hash) : NULL;
    if (entry) {
        *entry = (struct entry){copy.data, (uint32_t)copy.length, hash};
        pool->count++;
    }
    return copy;
}
