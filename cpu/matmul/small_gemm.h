// SPDX-License-Identifier: Apache-2.0
//
// Products of a matrix by its rows, for matrices that are not worth packing: each element is a dot product of
// two rows that lie in memory as they are.

#ifndef CPU_MATMUL_SMALL_GEMM_H_
#define CPU_MATMUL_SMALL_GEMM_H_

#include <stddef.h>

// Up to so many terms are multiplied and summed in double; of more, the sums of a few dozen lanes are
// float32.
#define WNN_SMALL_GEMM_EXACT 64

// out[j * out_stride + i] = the dot product of the `length` floats at weights + i * length and at x + j *
// length, for i < rows and j < columns. The bits of an element depend on its two rows only.
void wnn_small_gemm(const float *weights, size_t rows, const float *x, size_t columns, size_t length,
                    double *out, size_t out_stride);

// The same with sums of float32, however few the terms are.
void wnn_small_gemm_floats(const float *weights, size_t rows, const float *x, size_t columns, size_t length,
                           double *out, size_t out_stride);

#endif
