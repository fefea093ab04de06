// SPDX-License-Identifier: Apache-2.0
//
// Constants in device memory that graphs of a context share: the specializations of one (graph.recorded),
// which know them by what was recorded, and those that have part in a set of the host's (compiler/derived.h),
// which know them by their names or bytes. They lie in pieces, each of which stays as long as an executable
// uses it, and what is known of its constants with it. The builder's thread adds, and any thread gives back
// what it holds.

#ifndef VULKAN_SHARED_CONSTANTS_H_
#define VULKAN_SHARED_CONSTANTS_H_

#include "compiler/plan.h"
#include "lib/sha256.h"
#include "vulkan/program/arrangement.h"

struct shared_piece {
    struct shared_piece *next;
    struct buffer buffer;
    unsigned users; // executables
};

struct shared_constant {
    struct shared_constant *next;
    unsigned arrangement;
    struct constant *source; // one of what was recorded, by which it is known; or NULL
    unsigned users;          // of that: executables
    bool has_digest;         // by which it is known, too:
    struct derived *set;     // of its name in this set; NULL: of its bytes
    unsigned char digest[WNN_SHA256_BYTES];
    size_t bytes;
    struct shared_piece *piece; // NULL: what is known of it is known
    size_t offset;
    bool is_new; // it is to be uploaded
};

// What an executable holds: pieces, and constants that it knows by what was recorded. There is room for as
// many of each as the graph has operands.
struct shared_holds {
    struct shared_piece **pieces;
    size_t piece_count;
    struct shared_constant **constants;
    size_t constant_count;
};

struct shared_constants {
    struct gpu *gpu;
    pthread_mutex_t lock;          // of the lists
    struct shared_constant *first; // with references
    struct shared_piece *pieces;
};

void wnn_shared_open(struct shared_constants *shared, struct gpu *gpu);
void wnn_shared_close(struct shared_constants *shared); // one of zeros is accepted

// Gives the constants that a graph uses regions, and adds to `holds` what is held then. `values`, zeros at
// first, by operand: what is to be published, and uploaded before that if it is new. `most`: bytes of a
// piece.
bool wnn_shared_place(struct shared_constants *shared, const struct plan *plan, uint64_t most,
                      struct region *regions, struct shared_constant *values, struct shared_holds *holds,
                      struct error *error);
// Lets others find it.
bool wnn_shared_publish(struct shared_constants *shared, const struct shared_constant *values, size_t count,
                        struct shared_holds *holds, struct error *error);
void wnn_shared_release(struct shared_constants *shared, const struct shared_holds *holds);

#endif
