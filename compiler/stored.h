// SPDX-License-Identifier: Apache-2.0
//
// Plans as bytes: webnn/compiled.h says byte by byte what they are.

#ifndef COMPILER_STORED_H_
#define COMPILER_STORED_H_

#include "compiler/backend.h"

#include <webnn/serialize.h>

#define STORED_MAGIC "WNNBUILT"

enum {
    STORED_VERSION = 4,
    STORED_STRICT = 1, // a flag: of strictNumerics
    STORED_HEADER_BYTES = 96,
    STORED_CHECKSUM_AT = 40,
    STORED_DIGEST_AT = 64,
    STORED_ARRANGED = 1,     // of a constant: operand->arranged
    STORED_TARGET_TEXT = 512 // bytes of what a backend says of its target
};
#define STORED_NONE UINT32_MAX // no operand, list or blob

// Where blob of `bytes` that begins at `offset` lets the next one begin. False: nowhere.
static inline bool wnn_stored_next(uint64_t offset, uint64_t bytes, uint64_t *next)
{
    uint64_t end;
    if (!wnn_add(offset, bytes, &end) || !wnn_add(end, WNN_SLACK + WNN_ALIGNMENT - 1, &end))
        return false;
    *next = end / WNN_ALIGNMENT * WNN_ALIGNMENT;
    return true;
}

// A digest of the sources that decide how weights lie and what code does; made by fingerprint.c.
extern const char wnn_fingerprint[];

// The library, as a stored plan names it: version and fingerprint.
void wnn_stored_library(struct text *text);

// A plan that has been lowered, and kept what it needs (plan.savable). What `write` returns other than
// Success ends it.
struct store {
    const struct backend *backend;
    void *state;
    const struct plan *plan;
    const void *executable;
    struct allocator *allocator;
    bool strict;
    WNNWriteCallback write;
    void *userdata1, *userdata2;
};
bool wnn_store_plan(const struct store *store, struct error *error);

// What the beginning of a stored plan says. The text lies in it.
struct stored_head {
    bool strict;
    WNNStringView library, backend, target;
    uint64_t data_at; // where the head ends and data begin
    uint64_t checksum;
    size_t graph_at; // in the head: what is behind the text
};
// TypeError: it is none, of another length than it says, or its head is damaged; NotSupportedError: of
// another version of the format. `data` may have any alignment.
bool wnn_stored_read_head(const void *data, size_t bytes, struct stored_head *head, struct error *error);

// Bytes from a stranger, who may have written anything, and who it is to run for.
struct load {
    const struct backend *backend;
    void *state;
    const WNNLimits *limits;
    struct constant *source; // the bytes
    const struct parallel *parallel;
    bool strict;
    bool skip_data_check;
    bool vouched; // the host says that they are what wnn_store_plan has written, so that code is to be run
};
// Reads what is stored into an empty graph that the passes have nothing more to do with, whose constants and
// packed weights lie in `source`, of which it takes a reference. The graph is legal whatever the bytes are:
// what is wrong with them is an error, or makes other numbers. TypeError: the bytes; NotSupportedError: of
// another library, target or kind of numbers; the errors of limits; OutOfMemory.
bool wnn_load_graph(const struct load *load, struct graph *graph, struct error *error);

#endif
