// SPDX-License-Identifier: Apache-2.0
//
// Few rows that meet strips (strips.h) in integers, and are not rounded more than floats are: the terms of a
// run are integers of 31 bits times a power of two. Their bytes, each with a sign, are four rows of integers
// of 8 bits, for which processors have sums of four products (strips_int8.h), and what these add up to is
// exact.

#ifndef CPU_MATMUL_STRIPS_FIXED_H_
#define CPU_MATMUL_STRIPS_FIXED_H_

#include "cpu/matmul/strips.h"

#define WNN_STRIP_FIXED_ROWS 2                           // at most
#define WNN_STRIP_FIXED_WORD (WNN_STRIP_FIXED_ROWS * 16) // bytes of four terms of all rows

// Words are of four terms; runs and words count over all blocks of a row.
struct strip_fixed_rows {
    size_t m;
    int8_t *x;     // [word][WNN_STRIP_FIXED_ROWS][byte, the lowest first][4]
    float *units;  // [run][WNN_STRIP_FIXED_ROWS]: what one is worth
    int32_t *sums; // likewise [2]: the sums of the lower halves of all integers, and of the upper ones
};

// False: rows are such that something that counts would be lost.
bool wnn_strip_fixed_prepare(const struct strips *strips, const float *rows,
                             const struct strip_fixed_rows *to);

#endif
