// SPDX-License-Identifier: Apache-2.0
//
// Which tiles a product on matrix units is computed in, and in how many splits: what takes the least time on
// an H100 or H200, where all tiles have been measured.

#ifndef VULKAN_OPS_COOPERATIVE_TILES_H_
#define VULKAN_OPS_COOPERATIVE_TILES_H_

#include "vulkan/ops/product.h"

enum {
    COOPERATIVE_TILES = 13,      // that there are for a type, at most
    COOPERATIVE_PIECES = 3,      // bfloat16 that add up to a float32
    COOPERATIVE_PROCESSORS = 132 // of an H100 or H200
};

// What a work group makes at once, the share of a subgroup of it, and how many share that along k. How long
// it takes on an H100 or H200, in microseconds: around the steps along k, once and for each work group that a
// processor has after another; a step, if a processor has nothing else to do; and if it has enough.
struct cooperative_tile {
    uint32_t m, n, k, subgroup_m, subgroup_n, slices;
    float start, round, step, busy;
    uint32_t least_bytes; // of a matrix that as many rows meet as a tile has; 0: for any product
    uint32_t together;    // work groups that a processor has at once, where that makes rounds of them; or 0
    bool no_pixels;       // of which it has not been measured
};

struct cooperative_schedule {
    struct cooperative_tile tile;
    uint32_t splits, split; // of so many inner indices each
    bool sums_inside; // of splits: by the work group of a tile that is done last, not by another dispatch
    uint32_t tiles_m, tiles_n;
};

// What a product is computed with, and beside.
struct cooperative_operands {
    bool half, paired; // paired: with another product
    bool a_turned, b_turned;
    bool pixels;    // a, which are found for each step
    bool quantized; // b, of which little is read then
    bool counts;    // work groups can tell whether they are done last
    bool reads;     // what is fused with it reads as much as there are results
    double beside;  // microseconds of the device that what runs at the same time takes
};

uint32_t wnn_cooperative_subgroups(const struct cooperative_tile *tile);

// How many quads of what splits have left an invocation reads at once: no more registers than it has anyway.
uint32_t wnn_cooperative_reads(const struct cooperative_tile *tile);

// Microseconds that the device takes for so many multiplications in tiles that suit it.
double wnn_cooperative_time(uint64_t work, bool half);

// How many work groups may share a tile of a product of float16, if the device has matrix units: what scratch
// memory is planned for, whatever the device.
uint32_t wnn_cooperative_splits(const struct product *product);

// Tiles in the splits that suit them, what takes the least time first, and none that takes much more; returns
// how many, `capacity` of them at most.
size_t wnn_cooperative_candidates(const struct capabilities *can, const struct product *product,
                                  const struct cooperative_operands *with, size_t scratch,
                                  struct cooperative_schedule *list, size_t capacity);

// What takes the least time, in no more splits than scratch memory has room for; of paired products, whose
// columns are those of both, in none. False: no tile fits the device.
bool wnn_cooperative_choose(const struct capabilities *can, const struct product *product,
                            const struct cooperative_operands *with, size_t scratch,
                            struct cooperative_schedule *schedule);

#endif
