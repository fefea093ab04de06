// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a constant: immutable, counted, shared by builders, graphs and plans. Any thread.

#ifndef LIB_CONSTANT_H_
#define LIB_CONSTANT_H_

#include "lib/allocator.h"

struct constant {
    atomic_uint references;
    struct allocator *allocator;
    const void *data; // aligned to WNN_ALIGNMENT and padded by WNN_SLACK unless it is external
    size_t bytes;
    bool external; // any alignment, no slack
    WNNExternalBytes loan;
};

// Bytes of its own, not initialized, to be written before anybody else sees them; NULL when memory runs out.
struct constant *wnn_constant_create(struct allocator *allocator, size_t bytes);
struct constant *wnn_constant_lend(struct allocator *allocator, const WNNExternalBytes *loan);
struct constant *wnn_constant_ref(struct constant *constant);
void wnn_constant_unref(struct constant *constant); // NULL is accepted

#endif
