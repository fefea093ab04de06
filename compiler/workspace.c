// SPDX-License-Identifier: Apache-2.0
#include "compiler/workspace.h"

static struct workspace_block *create(struct allocator *allocator, size_t bytes)
{
    struct workspace_block *block = wnn_allocate_zero(allocator, sizeof *block);
    char *data = block ? wnn_allocate_zero(allocator, bytes) : NULL;
    if (!data) {
        wnn_release(allocator, block);
        return NULL;
    }
    atomic_init(&block->references, 1);
    block->allocator = allocator;
    block->bytes = bytes;
    block->data = data;
    return block;
}

struct workspace_block *wnn_workspace_take(struct workspace *workspace, size_t bytes)
{
    struct workspace_block *last = workspace->last;
    if (!last || last->bytes < bytes) {
        // With room for sizes that grow step by step, if there is any.
        size_t more = last ? last->bytes + last->bytes / 2 : 0;
        struct workspace_block *block = more > bytes ? create(workspace->allocator, more) : NULL;
        if (!block && !(block = create(workspace->allocator, bytes)))
            return NULL;
        workspace->last = block;
        wnn_workspace_unref(last);
    }
    atomic_fetch_add(&workspace->last->references, 1);
    return workspace->last;
}

void wnn_workspace_unref(struct workspace_block *block)
{
    if (!block || atomic_fetch_sub(&block->references, 1) != 1)
        return;
    wnn_release(block->allocator, block->data);
    wnn_release(block->allocator, block);
}
