// SPDX-License-Identifier: Apache-2.0
//
// Constants whose bytes come late: where they can be had from (lib/constant.h), and having them.

#ifndef COMPILER_RESOLVE_H_
#define COMPILER_RESOLVE_H_

#include "compiler/backend.h"

#include <webnn/compiled.h>

// Origins above each other, so that neither reading nor making them needs much stack.
#define WNN_MAX_ORIGIN_DEPTH 8

// Results of a node that makes some, each of which is made by itself.
#define WNN_MAX_ORIGIN_OUTPUTS 16

// Who has the bytes, and what it takes to make others of them.
struct resolver {
    WNNFindBytesCallback find; // NULL: nobody has any
    void *userdata1, *userdata2;
    const struct backend *backend;
    void *state;
    struct allocator *allocator;
    bool portable;                     // what is made is to be stored, or was (backend.evaluate)
    const struct interrupt *interrupt; // of the build, or NULL
};

// What the only node of a graph makes, which the origin takes over; NULL when memory runs out, and the graph
// is still the caller's.
struct origin *wnn_origin_make(struct allocator *allocator, size_t bytes, const struct graph *made,
                               unsigned output);

// The same origin, as a reference, without the bytes that it holds although they have an origin themselves;
// NULL: no memory, or there is no origin.
struct origin *wnn_strip_origin(struct allocator *allocator, struct origin *origin);

// The origin of a constant, if it is worth keeping when the bytes are given up: it holds few that can be had
// from nowhere. Or NULL.
struct origin *wnn_kept_origin(const struct constant *constant);

// Whether what a node makes can have an origin: all that it reads is constant, and there or promised; and
// whether some of it has an origin itself, so that it is worth having one.
bool wnn_can_have_origin(const struct node *node);
bool wnn_is_worth_origin(const struct node *node);

// The origin of one output of such a node, which takes more work than `most` only if the answer is NULL. NULL
// too: no memory, which `error` says. `holds`: with the bytes that are there, for them to be used soon.
struct origin *wnn_origin_of(struct allocator *allocator, const struct node *node, unsigned output,
                             bool holds, uint64_t most, struct error *error);

// The bytes of a constant that is promised: a new constant of the same origin, for the caller; NULL: the
// host has none, or others than are expected, or there is no memory.
struct constant *wnn_resolve(const struct resolver *resolver, const struct constant *constant,
                             struct error *error);

// Puts the bytes in their place, if they are promised. False: as above.
bool wnn_resolve_operand(const struct resolver *resolver, struct operand *operand, struct error *error);

// The same of all operands of a graph that somebody uses, or that are outputs. `resolver` NULL: says who is
// missing.
bool wnn_resolve_all(const struct resolver *resolver, struct graph *graph, struct error *error);

// The bytes of an operand that is promised, for the caller, as wnn_resolve: of a set of the host's, where
// they are then.
struct constant *wnn_resolve_shared(struct derived *set, const struct resolver *resolver,
                                    const struct operand *operand, struct error *error);

// Lets all constants of a graph that somebody uses have their bytes in a set of the host's, if these are
// memory of the context's, or are promised and the resolver knows who has them.
bool wnn_share_constants(struct derived *set, const struct resolver *resolver, struct graph *graph,
                         struct error *error);

// The first operand of a graph whose bytes the host has promised and not given; NULL: there is none.
const struct operand *wnn_find_promised(const struct graph *graph);

// What a caller calls a promised constant, in a message: "constant \"encoder.weight\"".
void wnn_name_promised(const struct constant *constant, struct text *text);

#endif
