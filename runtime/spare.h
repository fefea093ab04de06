// SPDX-License-Identifier: Apache-2.0
//
// Memory for the time of a call or of a request. A few blocks are kept for the next ones, while the context
// has graphs that can run, so that calls that are alike, however many inputs they have, allocate nothing. Any
// thread.

#ifndef RUNTIME_SPARE_H_
#define RUNTIME_SPARE_H_

#include "lib/allocator.h"

enum {
    SPARE_BLOCKS = 8,
    SPARE_SIZE = 65536 // what is longer is not kept
};

// Zeros: nothing is kept.
struct spare {
    _Atomic(void *) blocks[SPARE_BLOCKS];
};

// `size` bytes, not initialized; NULL: there are none.
void *wnn_spare_take(struct spare *spare, struct allocator *allocator, size_t size);

// Of wnn_spare_take; NULL is accepted.
void wnn_spare_give(struct spare *spare, struct allocator *allocator, void *memory);

void wnn_spare_free(struct spare *spare, struct allocator *allocator);

#endif
