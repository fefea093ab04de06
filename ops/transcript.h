// SPDX-License-Identifier: Apache-2.0
//
// What was recorded, kept beside what the compiler makes of it: the bytes of webnn/serialize.h, in which
// constants are known by their number (an id of 4 bytes), and the constants.

#ifndef OPS_TRANSCRIPT_H_
#define OPS_TRANSCRIPT_H_

#include "ops/builder.h"

#include <webnn/serialize.h>

struct transcript {
    struct allocator *allocator;
    unsigned char *bytes;
    size_t size;
    struct constant **constants; // references
    size_t constant_count;
};

// Of a copy of what a builder holds (wnn_builder_snapshot), which no pass has seen yet; NULL: `error` says
// why not. The same copy gives the same bytes. `weightless`: it keeps no bytes of constants that have a name.
struct transcript *wnn_transcript_create(struct graph *snapshot, bool weightless, struct error *error);

// One with room for so many bytes and constants, which are NULL; NULL: no memory.
struct transcript *wnn_transcript_allocate(struct allocator *allocator, size_t size, size_t constant_count);

void wnn_transcript_free(struct transcript *transcript); // NULL is accepted

// A promised constant with its bytes, as a reference; NULL: there are none.
typedef struct constant *wnn_resolve_constant(void *resolver, const struct constant *promised);

// Records it into a builder, with all checks and limits of calls. The status is that of the builder's error.
// `resolve` is asked for the promised constants that calls may look at, which may tell sizes; the others stay
// promised.
WNNStatus wnn_transcript_replay(const struct transcript *transcript, wnn_resolve_constant *resolve,
                                void *resolver, WNNGraphBuilder builder, WNNDeserializedGraph *graph);

#endif
