// SPDX-License-Identifier: Apache-2.0
//
// Rows times strips (strips.h) in integers, which WNNNumerics_Fast allows: the terms of rows are rounded to
// integers of -127 to 127, in runs of a block that share a scale, so that none is off by more than the
// largest of its run over 254.

#ifndef CPU_MATMUL_STRIPS_INT8_H_
#define CPU_MATMUL_STRIPS_INT8_H_

#include "cpu/matmul/strips.h"

#define WNN_STRIP_RUN  32 // terms that share a scale, at most
#define WNN_STRIP_TILE 8  // rows that lie together

// Rows as the loops want them. Words are of four terms; runs and words count over all blocks of a row.
struct strip_int8_rows {
    int8_t *x;       // [tile][word][WNN_STRIP_TILE][4]
    float *scales;   // [tile][run][WNN_STRIP_TILE]
    int32_t *starts; // likewise: what the sums of a run begin with, for lack of zero points
    bool *extreme;   // [tile]: some number is not finite, or so large or small that only floats serve
};

// What one instruction set does best.
struct strip_int8_kernels;

// The best of a target; NULL: it has none.
const struct strip_int8_kernels *wnn_strip_int8_kernels(const struct cpu_target *target);

size_t wnn_strip_int8_words(const struct strips *strips);
size_t wnn_strip_int8_runs(const struct strips *strips);

// Rounds the tiles [begin, end) of the m rows.
void wnn_strip_int8_prepare(const struct strip_int8_kernels *kernels, const struct strips *strips,
                            const float *rows, size_t m, size_t begin, size_t end,
                            const struct strip_int8_rows *to);

// totals[r * WNN_STRIP_GROUP * WNN_STRIP + j] = the products of the first `height` rows of a tile with column
// j of `count` strips from `strip` on, which lie in one group.
void wnn_strip_int8_multiply(const struct strip_int8_kernels *kernels, const struct strips *strips,
                             const struct strip_int8_rows *rows, size_t tile, unsigned height, size_t strip,
                             size_t count, float *totals);

#endif
