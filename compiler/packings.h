// SPDX-License-Identifier: Apache-2.0
//
// Packed weights that the plans of one recorded graph share. What is in the set stays as long as anybody has
// the set. References may be taken and given back on any thread, the rest is the builder's.

#ifndef COMPILER_PACKINGS_H_
#define COMPILER_PACKINGS_H_

#include "lib/graph.h"

struct packings;

// What a packed form depends on.
struct packing_key {
    const void *kernel;
    uint64_t variant; // as the kernel says
    const struct constant *weights;
    struct descriptor type; // of the weights
    size_t bytes;
};

// Only forms of the constants of this graph are shared, which has to outlive the set; NULL: no memory.
struct packings *wnn_packings_create(struct allocator *allocator, const struct graph *recorded);
struct packings *wnn_packings_ref(struct packings *packings);
void wnn_packings_unref(struct packings *packings); // NULL is accepted

// Whether forms of these weights are shared.
bool wnn_packings_take(const struct packings *packings, const struct constant *weights);

// The form with that key, or NULL.
void *wnn_packings_find(const struct packings *packings, const struct packing_key *key);

// Adds a form, which passes on if there is memory for it; false: it stays the caller's.
bool wnn_packings_add(struct packings *packings, const struct packing_key *key, void *packed);

#endif
