// SPDX-License-Identifier: Apache-2.0
//
// Plans as bytes: webnn/compiled.h says byte by byte what they are.

#ifndef COMPILER_STORED_H_
#define COMPILER_STORED_H_

#include "compiler/resolve.h"
#include "ops/cursor.h"
#include "ops/sink.h"
#include "ops/transcript.h"

#define STORED_MAGIC "WNNBUILT"

enum {
    STORED_VERSION = 4,
    STORED_STRICT = 1, // flags: of strictNumerics;
    STORED_LATE = 2,   // of sizes that are not known, so that there is no plan, but what was recorded
    STORED_HEADER_BYTES = 96,
    STORED_CHECKSUM_AT = 40,
    STORED_TRANSCRIPT_AT = 48,
    STORED_DIGEST_AT = 64,
    // What was recorded, where the head says that it begins, in every version from 4 on.
    STORED_TRANSCRIPT_VERSION = 1,
    STORED_NAMED_TRANSCRIPT_VERSION = 2, // with constants that have names in the place of their bytes
    STORED_TRANSCRIPT_DIGEST_AT = 32,
    STORED_TRANSCRIPT_BYTES = 64, // of its header
    STORED_PLACE_BYTES = 24,      // of a constant
    STORED_ARRANGED = 1,          // of a constant: operand->arranged
    STORED_ORIGIN = 2,            // likewise: where its bytes can be had from stands in their place
    STORED_MADE = 4,              // of an origin: beside WNNConstantForm_FileRange and Id
    STORED_LIBRARY_TEXT = 64,     // bytes of the library's name
    STORED_TARGET_TEXT = 512      // bytes of what a backend says of its target
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

// A plan that has been lowered, and kept what it needs (plan.savable), or what was recorded, or both; or, to
// be stored without weights, constants that are promised, and no executable. What `write` returns other than
// Success ends it.
struct store {
    const struct backend *backend;
    void *state;
    const struct plan *plan;        // NULL: of a graph with sizes that are not known, which has several
    const void *executable;         // of the plan
    const void *const *executables; // without a plan: those of which the code is stored
    size_t executable_count;
    const struct transcript *transcript; // NULL: none
    struct allocator *allocator;
    bool strict;
    bool weightless; // without the bytes of constants that have an origin, and what has been packed of them
    WNNWriteCallback write;
    void *userdata1, *userdata2;
};
bool wnn_store_plan(const struct store *store, struct error *error);

// What the beginning of a stored plan says. The text lies in it.
struct stored_head {
    bool strict, late;
    WNNStringView library, backend, target;
    uint64_t data_at;       // where the head ends and data begin
    uint64_t data_end;      // and where these end
    uint64_t transcript_at; // where it begins that was recorded; 0: it is not there
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
    bool recompile; // what was recorded will do, where another library wrote it, or for another target
    bool vouched;   // the host says that they are what wnn_store_plan has written, so that code is to be run
    // Who has the bytes of constants that have none here; find NULL: nobody. Those that are looked at while
    // the graph is checked are had then, the others stay promised.
    const struct resolver *resolver;
};
// What else has been read.
struct loaded {
    struct transcript *transcript; // the caller's; NULL: none
    bool late;                     // the graph has no more than code: it is to be built of the transcript
    bool recompile;                // likewise, and nothing at all, since it was stored for somebody else
};
// Reads what is stored into an empty graph that the passes have nothing more to do with, whose constants and
// packed weights lie in `source`, of which it takes a reference. The graph is legal whatever the bytes are:
// what is wrong with them is an error, or makes other numbers; what was recorded is checked by who records it
// again. TypeError: the bytes; NotSupportedError: of another library, target or kind of numbers, unless
// `loaded` says that it is to be recompiled; the errors of limits; OutOfMemory.
bool wnn_load_graph(const struct load *load, struct graph *graph, struct loaded *loaded, struct error *error);

// ---------------------------------------------------------------------------------------------------------------
// What was recorded. stored_transcript.c
// ---------------------------------------------------------------------------------------------------------------

// Adds it. Where its constants lie, in their order, from the beginning of all bytes; 0: what is stored of one
// is its name.
void wnn_store_transcript(const struct transcript *transcript, const uint64_t *places, struct sink *sink);

// Reads it where the first bytes of the source say that it is, if they are of a version that has one;
// `check`: the constants too are compared with what is said of them. NULL: it is none (TypeError), or there
// is no memory.
struct transcript *wnn_load_transcript(const struct load *load, uint64_t at, bool check, struct error *error);

// Where that is; 0: nowhere. Of the first STORED_HEADER_BYTES bytes, of any version.
uint64_t wnn_stored_transcript_at(const unsigned char *header);

// The name of a constant: its form, and what that says. Reading it checks the form.
void wnn_store_name(const struct origin *origin, struct sink *sink);
// NULL: `cursor` says what is wrong, or there is no memory. `bytes`: of the constant.
struct origin *wnn_load_name(struct cursor *cursor, struct allocator *allocator, size_t bytes);

// A part of the source, which it has a reference to; NULL: no memory.
struct constant *wnn_load_slice(const struct load *load, struct allocator *allocator, const void *data,
                                size_t bytes);

#endif
