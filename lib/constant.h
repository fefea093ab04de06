// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a constant: immutable, counted, shared by builders, graphs and plans. Any thread.

#ifndef LIB_CONSTANT_H_
#define LIB_CONSTANT_H_

#include "lib/allocator.h"

struct graph;

// Where the bytes of a constant can be had from again: what the caller calls them, or the one node that makes
// them of constants which have an origin or are there. Immutable, counted; any thread.
struct origin {
    atomic_uint references;
    unsigned depth; // of origins above each other, at least 1
    struct allocator *allocator;
    size_t bytes;  // of the constant
    uint64_t held; // bytes that it keeps in memory, since they can be had from nowhere
    uint64_t work; // that it takes to make it and what it is made of (ops/work.c), saturating
    // Of one that a node has made (compiler/resolve.h): a graph of constants and that node, and which output
    // it is; or NULL.
    struct graph *made;
    void (*free_made)(struct allocator *allocator, struct graph *made);
    uint16_t output;
    bool asks;  // the caller has to be asked for some of it
    bool holds; // bytes, besides, that could be had otherwise
    // Of one that the caller has named: a range of a file, or, with a length, an id.
    uint32_t id_length;
    uint64_t file, offset;
    unsigned char id[];
};

struct constant {
    atomic_uint references;
    struct allocator *allocator;
    const void
        *data; // aligned to WNN_ALIGNMENT and padded by WNN_SLACK unless it is external; NULL: not there
    size_t bytes;
    bool is_record; // without room for bytes
    bool external;  // any alignment, no slack
    // Of bytes that are somebody else's: called at the end, if it is there.
    struct {
        void (*release)(const void *data, size_t bytes, void *userdata1, void *userdata2);
        void *userdata1, *userdata2;
    } loan;
    struct origin *origin; // a reference, or NULL: the bytes are only here
};

// Bytes of its own, not initialized, to be written before anybody else sees them; NULL when memory runs out.
struct constant *wnn_constant_create(struct allocator *allocator, size_t bytes);
struct constant *wnn_constant_lend(struct allocator *allocator, const WNNExternalBytes *loan);
// One without its bytes. `origin`, of which it takes a reference, may be NULL.
struct constant *wnn_constant_promise(struct allocator *allocator, size_t bytes, struct origin *origin);
struct constant *wnn_constant_ref(struct constant *constant);
void wnn_constant_unref(struct constant *constant); // NULL is accepted

// Whether its bytes are there.
static inline bool wnn_constant_has_bytes(const struct constant *constant)
{
    return constant && (constant->data || constant->bytes == 0);
}

// Whether its bytes are missing, and nobody knows where they can be had.
static inline bool wnn_constant_is_lost(const struct constant *constant)
{
    return constant && !constant->data && constant->bytes && !constant->origin;
}

// Whether its bytes are missing, but can be had.
static inline bool wnn_constant_is_promised(const struct constant *constant)
{
    return constant && !constant->data && constant->bytes && constant->origin;
}

// A name of the caller's: a range of a file, or, with a length, an id, which is copied. NULL when memory runs
// out.
struct origin *wnn_origin_name(struct allocator *allocator, size_t bytes, uint64_t file, uint64_t offset,
                               const void *id, size_t id_length);
struct origin *wnn_origin_ref(struct origin *origin); // NULL is accepted
void wnn_origin_unref(struct origin *origin);         // NULL is accepted

#endif
