// SPDX-License-Identifier: Apache-2.0
//
// Memory of the program itself. A tool that has no memory left can do nothing but say so and end.

#ifndef TOOLS_MEMORY_H_
#define TOOLS_MEMORY_H_

#include <stddef.h>

// Returns its argument; NULL ends the program with exit code 1.
void *must(void *memory);

// `size` zeroed bytes, at least one; to be freed with free(). The second begin a line of the caches.
void *must_allocate(size_t size);
void *must_allocate_line(size_t size);

// Grows a malloc'ed array so that it has room for `count + 1` items of `size` bytes.
void *must_grow(void *items, size_t count, size_t *capacity, size_t size);

#endif
