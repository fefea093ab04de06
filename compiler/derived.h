// SPDX-License-Identifier: Apache-2.0
//
// What the plans of one recorded graph share, because it depends on constants and not on sizes: weights in
// the form that a kernel packs them in, and constants that folding has computed. Each is known by the node
// that it was made for the first time. What is in the set stays as long as anybody has the set. It belongs to
// who builds, but for giving back.
//
// And what graphs share of which the host says so (WNNSharedWeights), of one context or several: packed
// weights, of constants that have names, or are lent memory. These are in a set as long as somebody uses
// them, who also keeps that memory lent, so that its address means nothing else meanwhile. Such a set belongs
// to no graph and no context. Any thread.
//
// A set of a recorded graph may have part in one of the host's: what it has packed is there, and stays as
// long as the recorded graph. It knows again by pointers what the other has to identify.

#ifndef COMPILER_DERIVED_H_
#define COMPILER_DERIVED_H_

#include "lib/graph.h"
#include "lib/sha256.h"

struct derived;

// Packed weights of a set.
struct packed;

// Two keys are equal if the nodes have one operator, the same attributes, the same constants, and what else
// they read and make is of the same types; the fused expressions are applied at the same places.
struct derived_key {
    const struct node *node;
    const void *maker; // what makes it, a kernel for example
    uint64_t variant;  // what else it depends on, as that says
    bool complete;     // on attributes that are sizes and on the shapes of outputs too
    size_t bytes;
};

// Whether what is made of one serves the other.
bool wnn_derived_keys_equal(const struct derived_key *a, const struct derived_key *b);

// Of the constants of this graph, which has to outlive the set; `shared`: of the host's, that it has part in,
// or NULL. NULL: no memory.
struct derived *wnn_derived_create(struct allocator *allocator, const struct graph *recorded,
                                   struct derived *shared);
// Of the host's; `ended` is called when the last reference is given back, after which nobody uses the
// allocator.
struct derived *wnn_derived_create_shared(struct allocator *allocator, void (*ended)(void *argument),
                                          void *argument);
struct derived *wnn_derived_ref(struct derived *derived);
void wnn_derived_unref(struct derived *derived); // NULL is accepted

// Whether the constants that a node reads are those of the graph, or made of these, or so small that their
// bytes tell what they are: only then is there any use in asking for it.
bool wnn_derived_knows(const struct derived *derived, const struct node *node);

// Whether it is a set of the host's, or has part in one; and whether the plans of the former have to keep the
// origin of a constant, or, if there is none, its bytes, when they need them no more.
bool wnn_derived_is_shared(const struct derived *derived);
bool wnn_derived_has_part(const struct derived *derived);
bool wnn_derived_identifies(const struct constant *constant);

// Who a constant is in a set of the host's: equal digests are the same weights. False: nobody knows.
bool wnn_derived_identify(const struct constant *constant, unsigned char digest[WNN_SHA256_BYTES]);
// The set of the host's that it is, or has part in; or NULL.
struct derived *wnn_derived_host(struct derived *derived);

// The place of the weights that a node has packed, or will have, as a reference; *packed NULL: the set does
// not know the constants of the node. False: no memory.
bool wnn_derived_take(struct derived *derived, const struct derived_key *key, struct packed **packed);
// What has been packed, by anybody who has the place; NULL: nobody has yet.
const void *wnn_packed_memory(const struct packed *packed);
// Puts memory of that allocator there, which passes on, and is given back if somebody else has been faster.
// Returns what is there.
struct allocator *wnn_packed_allocator(const struct packed *packed);
const void *wnn_packed_fill(struct packed *packed, void *memory);
void wnn_packed_unref(struct packed *packed); // NULL is accepted

// What was added under an equal key, or NULL. In a set of the host's there are no constants.
struct constant *wnn_derived_constant(struct derived *derived, const struct derived_key *key);

// Adds a constant, which may be promised, unless there is no memory for it, or all that were added would have
// more bytes than those of the graph. Takes a reference, and gives one of what has to take its place: the
// same, or an equal one whose bytes are in the set of the host's that this one has part in.
struct constant *wnn_derived_add_constant(struct derived *derived, const struct derived_key *key,
                                          struct constant *constant);

// Constants as they are, in a set of the host's. A constant that lends the bytes that are there of an equal
// one, which may be promised; NULL: nobody has added them, or there is no memory. Both functions make it with
// the allocator, and it keeps the set.
struct constant *wnn_derived_find_bytes(struct derived *derived, struct allocator *allocator,
                                        struct constant *constant);
// The same with bytes that are there now: with what the constant has been lent, which nobody else has and
// passes on, or with a copy. NULL: no memory.
struct constant *wnn_derived_share_bytes(struct derived *derived, struct allocator *allocator,
                                         struct constant *constant, bool lent);
// Whether it is one of these.
bool wnn_derived_has_bytes(const struct constant *constant);

// What has been added so far.
struct derived_size {
    uint64_t packed_bytes, constant_bytes;
};
struct derived_size wnn_derived_size(struct derived *derived);

#endif
