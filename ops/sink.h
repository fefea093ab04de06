// SPDX-License-Identifier: Apache-2.0
//
// Writing little-endian numbers and text, as ops/cursor.h reads them, to bytes that grow in an arena. When
// memory has run out, nothing more is added, and `full` says so: one look at the end is enough.

#ifndef OPS_SINK_H_
#define OPS_SINK_H_

#include "lib/arena.h"
#include "lib/text.h"

struct sink {
    struct arena *arena;
    unsigned char *bytes;
    size_t size, capacity;
    bool full;
};

// The place for the next bytes, filled with zeros; NULL: there is none.
unsigned char *wnn_sink_add(struct sink *sink, size_t size);

void wnn_sink_u32(struct sink *sink, uint32_t value);
void wnn_sink_u64(struct sink *sink, uint64_t value);
void wnn_sink_f64(struct sink *sink, double value);

// The number of bytes, the bytes, and zeros up to a multiple of 4. More than 32 bits can count do not fit.
void wnn_sink_text(struct sink *sink, struct string text);

// The number of items of 32 bits each, and the items.
void wnn_sink_words(struct sink *sink, const void *items, size_t count);

// Data type, rank, and no flags.
void wnn_sink_kind(struct sink *sink, WNNDataType type, size_t rank);

// Numbers that stand where bytes were added before.
void wnn_store_u32(unsigned char *to, uint32_t value);
void wnn_store_u64(unsigned char *to, uint64_t value);

#endif
