// SPDX-License-Identifier: Apache-2.0
//
// A run of bytes of a file, or of its text, which does not end with 0.

#ifndef TOOLS_MODEL_BYTES_H_
#define TOOLS_MODEL_BYTES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
    const unsigned char *data;
    size_t size;
};

static inline bool same_text(struct bytes a, struct bytes b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool is_text(struct bytes text, const char *expected)
{
    return same_text(text, (struct bytes){(const unsigned char *)expected, strlen(expected)});
}

// For tables of names.
static inline size_t hash_text(struct bytes text)
{
    size_t h = (size_t)14695981039346656037U;
    for (size_t i = 0; i < text.size; i++)
        h = (h ^ text.data[i]) * (size_t)1099511628211U;
    return h ^ h >> 29;
}

#endif
