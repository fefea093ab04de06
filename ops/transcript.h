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
// why not. The same copy gives the same bytes.
struct transcript *wnn_transcript_create(struct graph *snapshot, struct error *error);

// One with room for so many bytes and constants, which are NULL; NULL: no memory.
struct transcript *wnn_transcript_allocate(struct allocator *allocator, size_t size, size_t constant_count);

void wnn_transcript_free(struct transcript *transcript); // NULL is accepted

// Records it into a builder, with all checks and limits of calls. The status is that of the builder's error.
WNNStatus wnn_transcript_replay(const struct transcript *transcript, WNNGraphBuilder builder,
                                WNNDeserializedGraph *graph);

#endif
