// SPDX-License-Identifier: Apache-2.0
//
// Matrices of 4 or 8-bit integers, with a scale and a zero point for each block of terms of a column, in the
// form that products read them in: strips of columns, which few rows meet as integers, in registers, and many
// rows as panels of floats.

#ifndef CPU_MATMUL_STRIPS_H_
#define CPU_MATMUL_STRIPS_H_

#include "cpu/matmul/gemm.h"
#include "cpu/simd/isa.h"

#include <stdint.h>
#include <string.h>

#define WNN_STRIP        16   // columns
#define WNN_STRIP_GROUP  4    // strips that lie side by side, block for block
#define WNN_STRIP_UNIT   64   // bytes of a strip that lie together: of 8 terms of 4 bits, or 4 of 8
#define WNN_STRIP_OCTETS 4    // those terms
#define WNN_STRIP_ROWS   8    // of the other matrix that are few, at most
#define WNN_STRIP_SOON   4096 // bytes before they are needed, integers are fetched: about what memory takes

// 4-bit integers are stored as 0 to 15, with 8 more than they are if they have a sign, and 8-bit ones as -128
// to 127, with 128 less than they are if they have none; zero points likewise, as bytes. The blocks of a
// group follow one another; each has the scales of all strips, their zero points, and the integers strip by
// strip: a byte a term for 8 bits, or of 8 terms together a word a column, the first in the lowest bits.
// Columns and terms that there are not are zeros.
enum strip_scales {
    WNN_SCALES_FLOAT32,
    WNN_SCALES_FLOAT16,
    WNN_SCALES_BFLOAT16
};

struct strips {
    size_t n, k;
    size_t block; // terms that share a scale, which k is a multiple of
    bool nibbles; // 4 bits
    enum strip_scales scales;
    bool zeros; // there are zero points; otherwise all are 8, or 0 for 8-bit integers
    const unsigned char *packed;
};

// LANES scales as floats; NAME(x) is what lanes.h calls x for an ISA.
#define WNN_LOAD_SCALES(NAME, strips, from)                                                                  \
    ((strips)->scales == WNN_SCALES_FLOAT16    ? NAME(load_half)((const uint16_t *)(const void *)(from))     \
     : (strips)->scales == WNN_SCALES_BFLOAT16 ? NAME(load_bfloat)((const uint16_t *)(const void *)(from))   \
                                               : NAME(load)((const float *)(const void *)(from)))

// Where the parts of a block are.
struct strip_block {
    size_t terms;                   // with what fills up words
    size_t scales, zeros, integers; // bytes of one strip
};
struct strip_block wnn_strip_block(const struct strips *strips);

// Where rows become integers (strips_int8.h, strips_fixed.h), runs of a block share a scale; words are of
// four terms.
#define WNN_STRIP_RUN 32 // terms, at most
static inline size_t wnn_strip_block_runs(const struct strip_block *block)
{
    return (block->terms + WNN_STRIP_RUN - 1) / WNN_STRIP_RUN;
}
size_t wnn_strip_runs(const struct strips *strips); // of a row, over all blocks
size_t wnn_strip_words(const struct strips *strips);

// The largest size of a run, as its bits, which have the order of sizes, NaN last.
WNN_INLINE int32_t wnn_strip_largest(const float from[WNN_STRIP_RUN])
{
    int32_t most = 0;
    for (unsigned i = 0; i < WNN_STRIP_RUN; i++) {
        int32_t size;
        memcpy(&size, from + i, sizeof size);
        size &= INT32_MAX;
        most = size > most ? size : most;
    }
    return most;
}

size_t wnn_strips_bytes(const struct strips *strips);

// Where the group of a strip lies, and how many strips it has.
const unsigned char *wnn_strip_group(const struct strips *strips, size_t strip, size_t *in_group);

// Where a column of a block has its scale, its zero point (if there are any), and its integers, in units that
// are `stride` bytes apart.
struct strip_column {
    unsigned char *scale, *zero, *integers;
    size_t stride;
};
struct strip_column wnn_strip_column(const struct strips *strips, unsigned char *packed, size_t column,
                                     size_t block);

// Numbers between these can be scaled by powers of 2 as the loops do it.
#define WNN_STRIP_LEAST 0x1p-90f
#define WNN_STRIP_MOST  0x1p100f

// Rows of floats, at most WNN_STRIP_ROWS, that are multiplied with strips.
struct strip_rows {
    size_t m;
    float *x;     // [m][wnn_strip_terms()]: in the order of the integers, as the loops want them
    float *sums;  // [m][blocks]
    bool extreme; // some are not finite, or so large or small that only floats serve
};
size_t wnn_strip_terms(const struct strips *strips);
void wnn_strip_prepare(const struct strips *strips, const float *rows, struct strip_rows *to);

// totals[r * WNN_STRIP_GROUP * WNN_STRIP + j] += the products of row r with column j of `count` strips from
// `strip` on, which lie in one group, over the blocks [begin, end).
void wnn_strips_multiply(const struct strips *strips, const struct strip_rows *rows, size_t strip,
                         size_t count, size_t begin, size_t end, float *totals);

// What dequantizeLinear makes of terms [k, k + length) of `width` columns from `column` on, both multiples of
// the lanes of wnn_float_kernels: `width` floats a term, zeros where there are no columns.
void wnn_strips_panel(const struct strips *strips, size_t k, size_t length, size_t column, unsigned width,
                      float *to);

#endif
