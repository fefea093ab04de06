// SPDX-License-Identifier: Apache-2.0
//
// Writes flatbuffers: a table, then what it refers to, each from a slot of what refers to it. All fields have
// four bytes, of which smaller ones are the first.

#ifndef CONFORMANCE_UNIT_FLATBUFFER_WRITER_H_
#define CONFORMANCE_UNIT_FLATBUFFER_WRITER_H_

#include "conformance/unit/require.h"

#include <limits.h>

struct writer {
    unsigned char bytes[1 << 16]; // conformance/fuzz makes up to about 40,000
    size_t size;
};

#define ABSENT    LONG_MAX       // a field that is left out
#define REFERENCE (LONG_MAX - 1) // a field that refers to what is written later

static inline void put_word(struct writer *w, size_t at, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        w->bytes[at + (size_t)i] = (unsigned char)(word >> 8 * i);
}

static inline size_t reserve(struct writer *w, size_t size)
{
    size_t at = (w->size + 3) / 4 * 4;
    REQUIRE(at + size <= sizeof w->bytes);
    memset(w->bytes + w->size, 0, at + size - w->size);
    w->size = at + size;
    return at;
}

static inline void refer(struct writer *w, size_t slot, size_t at)
{
    put_word(w, slot, (uint32_t)(at - slot));
}

// The first slot of a table with fields.
static inline size_t put_table(struct writer *w, size_t slot, size_t count, const long *fields)
{
    size_t vtable = reserve(w, 4 + 2 * count), table = reserve(w, 4 + 4 * count);
    put_word(w, vtable, (uint32_t)(4 + 2 * count) | (uint32_t)(4 + 4 * count) << 16);
    put_word(w, table, (uint32_t)(table - vtable));
    for (size_t i = 0; i < count; i++) {
        w->bytes[vtable + 4 + 2 * i] = fields[i] == ABSENT ? 0 : (unsigned char)(4 + 4 * i);
        put_word(w, table + 4 + 4 * i, fields[i] >= REFERENCE ? 0 : (uint32_t)fields[i]);
    }
    refer(w, slot, table);
    return table + 4;
}
#define TABLE(w, slot, ...)                                                                                  \
    put_table(w, slot, sizeof((long[]){__VA_ARGS__}) / sizeof(long), (long[]){__VA_ARGS__})

// The first item of a vector of `count` items of four bytes; `items` may be NULL for what is referred to.
static inline size_t put_vector(struct writer *w, size_t slot, size_t count, const int32_t *items)
{
    size_t at = reserve(w, 4 + 4 * count);
    put_word(w, at, (uint32_t)count);
    for (size_t i = 0; items && i < count; i++)
        put_word(w, at + 4 + 4 * i, (uint32_t)items[i]);
    refer(w, slot, at);
    return at + 4;
}
#define VECTOR(w, slot, ...)                                                                                 \
    put_vector(w, slot, sizeof((int32_t[]){__VA_ARGS__}) / 4, (int32_t[]){__VA_ARGS__})

static inline void put_data(struct writer *w, size_t slot, const void *data, size_t size)
{
    size_t at = reserve(w, 4 + size);
    put_word(w, at, (uint32_t)size);
    if (size)
        memcpy(w->bytes + at + 4, data, size);
    refer(w, slot, at);
}

#endif
