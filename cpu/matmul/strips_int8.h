// SPDX-License-Identifier: Apache-2.0
//
// Rows times strips (strips.h) in integers, which WNNNumerics_Fast allows: the terms of rows are rounded to
// integers of -127 to 127, in runs of a block that share a scale, so that none is off by more than the
// largest of its run over 254.

#ifndef CPU_MATMUL_STRIPS_INT8_H_
#define CPU_MATMUL_STRIPS_INT8_H_

#include "cpu/matmul/strips_fixed.h"
#include "cpu/simd/tiles.h"

#define WNN_STRIP_TILE     8  // rows that lie together, for vectors
#define WNN_STRIP_MAX_TILE 16 // and for tiles of the processor

// Rows as the loops want them. Words are of four terms; runs and words count over all blocks of a row. There
// are wnn_strip_int8_tile() rows in a tile.
struct strip_int8_rows {
    int8_t *x;       // [tile][word][row][4], or [tile][run][row][WNN_STRIP_RUN]
    float *scales;   // [tile][run][row]
    int32_t *starts; // likewise: what the sums of a run begin with, for lack of zero points
    bool *extreme;   // [tile]: some number is not finite, or so large or small that only floats serve
};

// What one instruction set does best.
struct strip_int8_kernels;

// The best of a target; NULL: it has none. And whether so many rows are faster by these than exactly.
const struct strip_int8_kernels *wnn_strip_int8_kernels(const struct cpu_target *target);
bool wnn_strip_int8_is_faster(const struct strip_int8_kernels *kernels, size_t m);

// Those that do the same for m rows by tiles (tiles.h), if this processor has some and is faster so; or the
// same.
const struct strip_int8_kernels *wnn_strip_int8_on_tiles(const struct strip_int8_kernels *kernels,
                                                         const struct strips *strips, size_t m);
unsigned wnn_strip_int8_tile(const struct strip_int8_kernels *kernels);

size_t wnn_strip_int8_row_bytes(const struct strips *strips); // of x, at most, whatever the kernels

// Rounds the tiles [begin, end) of the m rows.
void wnn_strip_int8_prepare(const struct strip_int8_kernels *kernels, const struct strips *strips,
                            const float *rows, size_t m, size_t begin, size_t end,
                            const struct strip_int8_rows *to);

// totals[r * WNN_STRIP_GROUP * WNN_STRIP + j] = the products of `height` rows, from `row` on, which is the
// first of a tile, with column j of `count` strips from `strip` on, which lie in one group. Strips are
// unpacked once for all these rows. More rows of `totals` are overwritten, up to whole tiles. The thread's
// tiles are none before the first such call, and wnn_strip_int8_end releases them.
void wnn_strip_int8_multiply(const struct strip_int8_kernels *kernels, struct tile_file *file,
                             const struct strips *strips, const struct strip_int8_rows *rows, size_t row,
                             unsigned height, size_t strip, size_t count, float *totals);
void wnn_strip_int8_end(const struct strip_int8_kernels *kernels, struct tile_file *file);

// The rows of strips_fixed.h: how many of them are faster by these kernels (NULL: none) than as floats, and
// their products, which are added to totals as wnn_strips_multiply does.
unsigned wnn_strip_fixed_most(const struct strip_int8_kernels *kernels, const struct strips *strips);
void wnn_strip_fixed_multiply(const struct strip_int8_kernels *kernels, const struct strips *strips,
                              const struct strip_fixed_rows *rows, size_t strip, size_t count, size_t begin,
                              size_t end, float *totals);

#endif
