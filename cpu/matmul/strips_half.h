// SPDX-License-Identifier: Apache-2.0
//
// A matrix of float16 in the form that products of few rows read it in: groups of columns, term after term,
// so that whoever computes some columns reads memory in one stream.

#ifndef CPU_MATMUL_STRIPS_HALF_H_
#define CPU_MATMUL_STRIPS_HALF_H_

#include "cpu/matmul/gemm.h"

#define WNN_HALF_GROUP 64 // columns; the last group has as many as there are, filled up to WNN_HALF_UNIT
#define WNN_HALF_UNIT  32 // a line of memory
#define WNN_HALF_ROWS  4  // of the other matrix, at most

struct half_strips {
    size_t n, k;
    const uint16_t *packed;
};

size_t wnn_half_strips_bytes(size_t n, size_t k);

// Packs the groups [begin, end) of a matrix whose columns lie side by side, and whose terms are `stride`
// elements apart.
void wnn_half_strips_pack(const struct half_strips *strips, const uint16_t *from, size_t stride, size_t begin,
                          size_t end, uint16_t *packed);

// Rows of floats that are multiplied with strips, and where the sums of each group are.
struct half_rows {
    size_t m;
    const float *a;
    size_t row, term; // elements from one to the next
    float totals[WNN_HALF_ROWS * WNN_HALF_GROUP];
};

// totals[r * WNN_HALF_GROUP + j] += the products of row r with column j of a group over terms [begin, end);
// `column` and `count` are multiples of WNN_HALF_UNIT, and lie in one group.
void wnn_half_strips_multiply(const struct half_strips *strips, struct half_rows *rows, size_t column,
                              size_t count, size_t begin, size_t end);

#endif
