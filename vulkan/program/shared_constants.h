// SPDX-License-Identifier: Apache-2.0
//
// Constants in device memory that the specializations of a graph (graph.recorded) share, which know them by
// what was recorded; and graphs of which the host says so (compiler/derived.h), which know them by their
// bytes. They lie in pieces, each of which stays as long as an executable uses it, and what is known of its
// constants with it. The builder's thread adds, and any thread gives back what it holds.

#ifndef VULKAN_SHARED_CONSTANTS_H_
#define VULKAN_SHARED_CONSTANTS_H_

#include "compiler/plan.h"
#include "vulkan/program/program.h"

struct shared_piece {
    struct shared_piece *next;
    struct buffer buffer;
    unsigned users; // executables, and the build that runs
    bool reserved;  // for that
};

// What an executable holds: pieces, and constants that it knows by what was recorded. There is room for as
// many of each as the graph has operands.
struct shared_holds {
    struct shared_piece **pieces;
    size_t piece_count;
    struct shared_constant **constants;
    size_t constant_count;
};

// How the bytes of another constant have been put in order.
enum shared_form {
    SHARED_AS_IT_IS,
    SHARED_TRANSPOSED,
    SHARED_OHWI, // filters of conv2d
    SHARED_IHWO,
    SHARED_TRANSPOSED_OHWI // of convTranspose2d
};

struct shared_constants {
    struct gpu *gpu;
    pthread_mutex_t lock; // of the lists
    struct shared_constant *first;
    struct shared_piece *pieces;
};

void wnn_shared_open(struct shared_constants *shared, struct gpu *gpu);
void wnn_shared_close(struct shared_constants *shared); // one of zeros is accepted

// A reference to what stands for that form of a constant of the graph, which may have no data, since it is in
// device memory, where it stays until wnn_shared_purge. NULL: it has to be made.
struct constant *wnn_shared_find(struct shared_constants *shared, const struct constant *source,
                                 enum shared_form form);
// Notes what has been made, if `source` is a constant of what was recorded, which the next specialization has
// too; forgets nothing but that if memory runs out.
void wnn_shared_note(struct shared_constants *shared, const struct graph *graph, struct constant *source,
                     enum shared_form form, struct constant *made);
// At the end of a build: forgets what was noted for it and is nowhere, and reserves nothing.
void wnn_shared_purge(struct shared_constants *shared);

// Gives the constants that a plan's graph uses regions, uploads those that are not there, and adds to `holds`
// what is held then. `most`: bytes of a piece.
bool wnn_shared_place(struct shared_constants *shared, struct program *program, const struct plan *plan,
                      uint64_t most, struct region *regions, struct shared_holds *holds, struct error *error);
void wnn_shared_release(struct shared_constants *shared, const struct shared_holds *holds);

#endif
