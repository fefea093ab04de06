// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of attention in tiles share.

#ifndef VULKAN_OPS_ATTENTION_TILES_H_
#define VULKAN_OPS_ATTENTION_TILES_H_

#include "vulkan/ops/attention.h"

enum attention_operand {
    QUERY,
    KEY,
    VALUE,
    MASK,
    ATTENDED,
    OUT,
    PARTIAL, // what a split leaves, one behind the other
    ATTENTION_OPERANDS
};

// Heads that meet the same keys and values are rows of one matrix: each element of these is read once for all
// of them.
struct attention_matrices {
    const struct attention *attention;
    unsigned rank, row_rank;
    uint32_t dims[WNN_MAX_RANK], row_dims[WNN_MAX_RANK];
    uint32_t count, rows;
    int64_t steps[ATTENTION_OPERANDS][WNN_MAX_RANK], row_steps[ATTENTION_OPERANDS][WNN_MAX_RANK];
    uint32_t columns[ATTENTION_OPERANDS]; // steps from one element of a row to the next; of keys and values:
                                          // of what the query has in a row, and of what the result has
    uint32_t lines[ATTENTION_OPERANDS];   // steps from one key to the next
};

// How a device computes it.
struct attention_schedule {
    enum attention_kernel {
        ATTENTION_FEW,   // rows
        ATTENTION_TILES, // of rows and keys
        ATTENTION_UNITS  // likewise, on matrix units
    } kernel;
    uint32_t tile_rows, tile_keys;     // of a work group, at a time
    uint32_t row_tiles, splits, split; // so many keys each
    bool partial;                      // the results go through scratch memory,
    bool joins_splits;                 // where the last split of a matrix takes them from
    const void *tile;                  // of ATTENTION_TILES
    uint32_t subgroup_rows;            // on matrix units
    // Of few rows: invocations of a work group, how many of these share a key, how many keys they read at a
    // time, how many join their results by shuffles, and rows of partial results in shared memory at once;
    // and whether keys are not to be split, however few work groups there are.
    uint32_t invocations, lanes, keys_at_once, joined, partial_rows;
    bool whole;
};

// attention_units.c. The schedule's kernel and its tiles; false: not on matrix units.
bool wnn_choose_attention_units(const struct gpu *gpu, const struct attention_matrices *m,
                                struct attention_schedule *schedule);
void wnn_describe_attention_units(struct shader *shader, const struct attention_matrices *m,
                                  const struct attention_schedule *schedule);

// Which elements of 16x16 numbers each of 32 invocations has, as a sum and as either operand: what attention
// and products of few rows take for known if it is (capabilities.known_places). Where it may be, the dispatch
// writes WNN_PLACES words to output 0, and these tell.
enum {
    WNN_PLACES = 32 * 24
};
bool wnn_may_know_places(const struct capabilities *can);
void wnn_lower_places(struct lowering *lowering);
bool wnn_are_places(const uint32_t places[WNN_PLACES]);
// Of a device that is described, which cannot be asked: what its vendor's devices say.
bool wnn_are_described_places(const struct capabilities *can);

// <name>_index(matrix) and <name>_row_index(m): where a matrix begins, and row m in it.
void wnn_map_attention(struct shader *shader, const char *name, const struct attention_matrices *m,
                       enum attention_operand operand);

// attention_tiles.c: the ranges of the rows of a work group.
void wnn_shader_join_ranges(struct shader *shader, const struct attention_matrices *m, uint32_t lanes);

// Whether steps of a tensor let it be accessed so many elements at a time, beside one another in rows of so
// many.
bool wnn_attention_divides(const struct attention_matrices *m, enum attention_operand operand,
                           uint32_t length, uint32_t unit);

#endif
