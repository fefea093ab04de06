// SPDX-License-Identifier: Apache-2.0
//
// Products of floats with a constant matrix of 4 or 8-bit integers, with scales and zero points for blocks of
// it: what gemm_nbit.c makes of nodes, and the ways in which they are computed.

#ifndef CPU_MATMUL_NBIT_H_
#define CPU_MATMUL_NBIT_H_

#include "cpu/kernel.h"
#include "cpu/matmul/scale.h"
#include "cpu/matmul/strips.h"
#include "cpu/matmul/strips_int8.h"
#include "cpu/simd/isa.h"

enum {
    NBIT_FEW_ROWS = 4, // are not worth panels
    NBIT_PIECE = 256   // elements that are read at a time, at most
};

// The matrix [rows, length] as it lies in memory: rows are columns of B if it is transposed, else terms.
struct nbit_weights {
    const unsigned char *data, *zeros;
    WNNDataType type;
    const void *scales;
    bool half; // of the scales
    size_t rows, length;
    size_t row_block, block; // how many rows, and elements of a row, share a scale
    size_t scale_row;        // from the scales of a row to those of the next block of rows
};

struct nbit_product {
    struct nbit_weights weights;
    size_t m, n, k;
    const float *a;
    bool transposed; // terms lie side by side
    struct gemm_scale scale;
    float *c;
    bool packs;                                    // as strips
    bool rounds;                                   // rows, to integers
    const struct strip_int8_kernels *int8_kernels; // with `rounds`
    struct strips strips;
};

// Elements [first, first + count) of a tensor of integers.
WNN_INLINE void wnn_nbit_read(WNNDataType type, const unsigned char *data, size_t first, size_t count,
                              int16_t *to)
{
    if (type == WNNDataType_Int8) {
        for (size_t i = 0; i < count; i++)
            to[i] = (int8_t)data[first + i];
    } else if (type == WNNDataType_Uint8) {
        for (size_t i = 0; i < count; i++)
            to[i] = data[first + i];
    } else {
        int16_t sign = type == WNNDataType_Int4 ? 8 : 0;
        const unsigned char *pairs = data + first / 2;
        if (first % 2 && count) {
            *to++ = (int16_t)((*pairs++ >> 4 ^ sign) - sign);
            count--;
        }
        for (size_t i = 0; i < count / 2; i++) {
            to[2 * i] = (int16_t)(((pairs[i] & 0xF) ^ sign) - sign);
            to[2 * i + 1] = (int16_t)((pairs[i] >> 4 ^ sign) - sign);
        }
        if (count % 2)
            to[count - 1] = (int16_t)(((pairs[count / 2] & 0xF) ^ sign) - sign);
    }
}

// nbit_in_place.c: the matrix as it lies. Few rows meet numbers that become floats in registers; many rows
// meet panels of floats that are made of a block of the matrix at a time, or of its strips.
size_t wnn_nbit_few_scratch(const struct nbit_product *product);
void wnn_nbit_run_few(const struct nbit_product *product, const struct parallel *parallel,
                      struct scratch *scratch);
void wnn_nbit_run_panels(const struct nbit_product *product, const struct parallel *parallel,
                         struct scratch *scratch);

// nbit_strips.c: few rows and the matrix in strips (strips.h). Products of the same rows run together.
bool wnn_nbit_worth_strips(const struct strips *strips);
void wnn_nbit_pack(const struct nbit_product *product, const struct parallel *parallel, void *packed);
size_t wnn_nbit_strips_scratch(const struct nbit_product *product);
void wnn_nbit_run_strips(const struct nbit_product *products, size_t count, const struct parallel *parallel,
                         struct scratch *scratch);

// nbit_int8.c: rows that are rounded to integers, and strips (strips_int8.h). False, and nothing done: the
// rows are such that they cannot be rounded.
size_t wnn_nbit_int8_scratch(const struct nbit_product *product);
bool wnn_nbit_run_int8(const struct nbit_product *product, const struct parallel *parallel,
                       struct scratch scratch);

#endif
