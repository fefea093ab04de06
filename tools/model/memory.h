// SPDX-License-Identifier: Apache-2.0
//
// Memory for what a file describes, freed at once. `limit` bounds it: a description can be many times larger
// than the file. So can be the work that it takes, which is counted here, and never less.

#ifndef TOOLS_MODEL_MEMORY_H_
#define TOOLS_MODEL_MEMORY_H_

#include <stddef.h>
#include <stdint.h>

struct model_memory {
    struct model_block *blocks;
    unsigned char *room; // of the block that small items are taken from
    size_t left;         // bytes of it
    size_t used, limit;  // of all blocks
    uint64_t work;       // fields that were read, elements that were computed
};

// A place to go back to.
struct model_mark {
    struct model_block *blocks;
    unsigned char *room;
    size_t left, used;
};

// `count` items of `size` bytes, filled with zeros; NULL: no memory, or above the limit. One item for none.
void *wnn_model_allocate(struct model_memory *memory, size_t count, size_t size);
struct model_mark wnn_model_mark(const struct model_memory *memory);
void wnn_model_rewind(struct model_memory *memory, struct model_mark mark); // frees what came after it
void wnn_model_free(struct model_memory *memory);

#endif
