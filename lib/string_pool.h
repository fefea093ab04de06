// SPDX-License-Identifier: Apache-2.0
//
// Strings that never change, kept once for everybody who has a reference to the pool: the labels and names of
// a builder, of the copies that it builds from, and of their plans. One thread at a time adds; what has been
// added is read, and references are given up, on any thread.

#ifndef LIB_STRING_POOL_H_
#define LIB_STRING_POOL_H_

#include "lib/allocator.h"
#include "lib/text.h"

struct string_pool;

struct string_pool *wnn_string_pool_create(struct allocator *allocator); // one reference, or NULL
struct string_pool *wnn_string_pool_ref(struct string_pool *pool);       // NULL is accepted, as below
void wnn_string_pool_unref(struct string_pool *pool);

// The string as the pool has it, followed by a NUL; one that is equal is found in nearly all cases, and else
// it is copied. data NULL: memory runs out, or (*full) the pool would have more than `limit` bytes, 0: no
// limit.
struct string wnn_string_pool_add(struct string_pool *pool, struct string string, uint64_t limit, bool *full);

// The bytes of all strings, their NULs included.
uint64_t wnn_string_pool_bytes(const struct string_pool *pool);

#endif
