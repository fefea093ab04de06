// SPDX-License-Identifier: Apache-2.0
#include "tools/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *must(void *memory)
{
    if (!memory) {
        fputs("webnn: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void *must_allocate(size_t size)
{
    return must(calloc(size ? size : 1, 1));
}

void *must_allocate_line(size_t size)
{
    enum {
        LINE = 64
    };
    size_t lines = size / LINE + 1;
    return memset(must(aligned_alloc(LINE, lines * LINE)), 0, lines * LINE);
}

void *must_grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? *capacity * 2 : 8;
    items = must(wanted > (size_t)-1 / size ? NULL : realloc(items, wanted * size));
    *capacity = wanted;
    return items;
}
