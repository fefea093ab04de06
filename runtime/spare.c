// SPDX-License-Identifier: Apache-2.0
#include "runtime/spare.h"

// What lies before the memory of a block; as long as the alignment.
struct header {
    _Alignas(WNN_ALIGNMENT) size_t size;
};

// Puts a block where none is kept. False: everywhere is one.
static bool keep(struct spare *spare, void *block)
{
    for (unsigned i = 0; i < SPARE_BLOCKS; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&spare->blocks[i], &none, block))
            return true;
    }
    return false;
}

void *wnn_spare_take(struct spare *spare, struct allocator *allocator, size_t size)
{
    for (unsigned i = 0; i < SPARE_BLOCKS; i++) {
        struct header *block = atomic_exchange(&spare->blocks[i], NULL);
        if (block && block->size >= size)
            return block + 1;
        if (block && !keep(spare, block))
            wnn_release(allocator, block);
    }
    if (size > SIZE_MAX - sizeof(struct header) - WNN_ALIGNMENT)
        return NULL;
    struct header *block = wnn_allocate(allocator, sizeof *block + wnn_aligned(size));
    if (!block)
        return NULL;
    block->size = wnn_aligned(size);
    return block + 1;
}

void wnn_spare_give(struct spare *spare, struct allocator *allocator, void *memory)
{
    struct header *block = memory ? (struct header *)memory - 1 : NULL;
    if (!block)
        return;
    if (block->size <= SPARE_SIZE && keep(spare, block))
        return;
    // What has come last is what comes next.
    if (block->size <= SPARE_SIZE)
        block = atomic_exchange(&spare->blocks[0], block);
    wnn_release(allocator, block);
}

void wnn_spare_free(struct spare *spare, struct allocator *allocator)
{
    for (unsigned i = 0; i < SPARE_BLOCKS; i++)
        wnn_release(allocator, atomic_exchange(&spare->blocks[i], NULL));
}
