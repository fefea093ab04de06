// SPDX-License-Identifier: Apache-2.0
//
// What the plans of one recorded graph share, because it depends on constants and not on sizes: weights in
// the form that a kernel packs them in, and constants that folding has computed. Each is known by the node
// that it was made for the first time. What is in the set stays as long as anybody has the set. References
// may be taken and given back on any thread, the rest is the builder's.

#ifndef COMPILER_DERIVED_H_
#define COMPILER_DERIVED_H_

#include "lib/graph.h"

struct derived;

// Two keys are equal if the nodes have one operator, the same attributes, the same constants, and what else
// they read and make is of the same types; the fused expressions are applied at the same places.
struct derived_key {
    const struct node *node;
    const void *maker; // what makes it, a kernel for example
    uint64_t variant;  // what else it depends on, as that says
    bool complete;     // on attributes that are sizes and on the shapes of outputs too
    size_t bytes;
};

// Of the constants of this graph, which has to outlive the set; NULL: no memory.
struct derived *wnn_derived_create(struct allocator *allocator, const struct graph *recorded);
struct derived *wnn_derived_ref(struct derived *derived);
void wnn_derived_unref(struct derived *derived); // NULL is accepted

// Whether the constants that a node reads are those of the graph, or made of these, or so small that their
// bytes tell what they are: only then is there any use in asking for it.
bool wnn_derived_knows(const struct derived *derived, const struct node *node);

// What was added under an equal key, or NULL.
void *wnn_derived_packed(const struct derived *derived, const struct derived_key *key);
struct constant *wnn_derived_constant(const struct derived *derived, const struct derived_key *key);

// Adds memory of the allocator, which passes on if there is memory for it; false: it stays the caller's.
bool wnn_derived_add_packed(struct derived *derived, const struct derived_key *key, void *packed);

// Adds a reference to a constant, unless there is no memory for it, or all that were added would have more
// bytes than those of the graph.
void wnn_derived_add_constant(struct derived *derived, const struct derived_key *key,
                              struct constant *constant);

// What has been added so far.
struct derived_size {
    uint64_t packed_bytes, constant_bytes;
};
struct derived_size wnn_derived_size(const struct derived *derived);

#endif
