// SPDX-License-Identifier: Apache-2.0
#include "tools/model/memory.h"

#include <stdlib.h>

struct model_block {
    struct model_block *before;
    max_align_t bytes[];
};

void *wnn_model_allocate(struct model_memory *memory, size_t count, size_t size)
{
    size_t left = memory->limit - memory->used;
    if (count > (left > sizeof(struct model_block) ? left - sizeof(struct model_block) : 0) / size)
        return NULL;
    size_t bytes = sizeof(struct model_block) + (count ? count : 1) * size;
    struct model_block *block = calloc(1, bytes);
    if (!block)
        return NULL;
    block->before = memory->last;
    memory->last = block;
    memory->used += bytes < left ? bytes : left;
    return block->bytes;
}

void wnn_model_free(struct model_memory *memory)
{
    for (struct model_block *block = memory->last, *before; block; block = before) {
        before = block->before;
        free(block);
    }
    memory->last = NULL;
    memory->used = 0;
}
