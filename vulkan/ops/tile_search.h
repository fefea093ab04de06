// SPDX-License-Identifier: Apache-2.0
//
// A small search: which of some ways to compute a node takes the least time on the device that is there,
// found by running them on numbers of its own while a graph is built. Only for contexts with a cache, in
// which the answer is kept, for a device and driver; and in compiled graphs, whose code is that of the way.
// Without either, whenever something is in the way, and on processors that play a device: the first.

#ifndef VULKAN_OPS_TILE_SEARCH_H_
#define VULKAN_OPS_TILE_SEARCH_H_

#include "vulkan/program/shader.h"

enum {
    SEARCH_WAYS = 4,
    SEARCH_TENSORS = 3,
    SEARCH_WORDS = 256
};

// Of a node that reads and writes tensors of one type, float16 or float32.
struct search {
    const struct lowering *lowering;
    size_t ways; // the first one is to be expected to be the best
    // Appends the dispatches of a way to the lowering's program, with the tensors where they are then.
    void (*lower)(struct lowering *lowering, const void *what, size_t way);
    const void *what;
    struct tensor *tensors[SEARCH_TENSORS]; // copies: their regions are changed
    unsigned tensor_count;
    // All that tells it and its ways from others.
    uint32_t words[SEARCH_WORDS];
    size_t word_count;
};

// Appends a word; no more than there is room for.
void wnn_search_tell(struct search *search, uint64_t number);

// The way.
size_t wnn_search(struct search *search);

#endif
