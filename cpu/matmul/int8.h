// SPDX-License-Identifier: Apache-2.0
//
// Products of 8-bit integers, summed in 32 bits: what quantized conv2d, gemm and matmul stand on. Internal to
// the kernels of the CPU backend.
//
// (a - a_zero) * (b - b_zero), summed over the terms, is exact: validation of a node (wnn_int8_accepts) keeps
// the number of terms below what 32 bits hold. Where the processor multiplies groups of four bytes of
// opposite signedness, zero points are taken care of by what the sums begin with; elsewhere the differences
// are multiplied as 16-bit numbers. One multiplication and addition by column in float32 then make a result
// of the sum, which is moved into a range and rounded to even if it is to be an integer. So a quantized
// result is what exact arithmetic would give, or next to it where that lies within about 2^-22 of its size
// from the middle between two.

#ifndef CPU_INT8_H_
#define CPU_INT8_H_

#include "cpu/kernel.h"

#define WNN_INT8_MAX_MR 8
#define WNN_INT8_MAX_NR 32

// ---------------------------------------------------------------------------------------------------------------
// Vector loops
// ---------------------------------------------------------------------------------------------------------------

// How sums become results, by column.
struct int8_finish {
    const int32_t *start; // what they begin with
    const float *scale, *offset;
    float low, high;       // of the result, or of what is rounded
    bool bytes, is_signed; // rounded, and `zero` is added; the type then
    int32_t zero;
};

// A tile: row r is the sum over segment s and i < groups of the products of group i at rows[s * mr + r] and
// row s * groups + i of b, each row of b having one group for each column, `width` of them. A group is four
// bytes or two 16-bit numbers, see struct int8_kernels. Starts with row_start[r] + finish->start[column]. c
// is of bytes or floats, with `ldc` bytes between the rows.
typedef void (*wnn_int8_tile)(const void *const *rows, size_t segments, size_t groups, const void *b,
                              const int32_t *row_start, const struct int8_finish *finish, void *c,
                              size_t ldc);

// A depthwise convolution whose weights are signed bytes. The pixel [column * 4 * groups + row]
// that it gets is that below `row` of the kernel's `columns`, of as many as make groups of four; the columns
// of a result begin `step` behind those of the one before. Weights are [block][column][group][channel][row %
// 4], where channels have the order of wnn_int8_depthwise_order, as they have in the arrays of `finish`,
// whose results are bytes.
struct int8_depthwise {
    size_t channels, columns, groups, step;
    bool flip; // pixels are changed by 128 first
    const int8_t *weights;
    struct int8_finish finish;
};

// What one instruction set does best.
struct int8_kernels {
    unsigned mr, lanes;
    // Bytes of an element as tiles read them: 1, then a and b have opposite signs (b is changed by 128 to
    // have it), or 2, then zero points are subtracted from both.
    unsigned size;
    // Columns of whole panels are in the order of wnn_int8_column_order, or as they come.
    bool ordered;
    // Tiles by [a is signed][vectors - 1][rows]; NULL means the next larger number of rows.
    wnn_int8_tile tile[2][2][WNN_INT8_MAX_MR + 1];

    // (optional, by vectors - 1) What a tile does with its sums, for `rows` rows that were summed elsewhere
    // (int8_tiles.h), from 0 on.
    void (*finish[2])(const int32_t sums[][WNN_INT8_MAX_NR], unsigned rows, const int32_t *row_start,
                      const struct int8_finish *finish, void *c, size_t ldc);

    // The sum of bytes; NULL unless size is 1.
    int32_t (*sum)(const void *bytes, size_t count, bool is_signed);

    // (optional) `count` results of a depthwise convolution that lie side by side, see struct int8_depthwise.
    void (*depthwise)(const struct int8_depthwise *work, const uint8_t *const *pixels, size_t count,
                      uint8_t *out);
};

const struct int8_kernels *wnn_int8_kernels(const struct cpu_target *target);

// Where column i of a panel of 32 stands if panels are ordered: packing the results undoes it.
static inline size_t wnn_int8_column_order(size_t i)
{
    return i % 8 / 4 * 16 + i / 8 * 4 + i % 4;
}

// Channels are cut into blocks of this many, those that are left.
static inline size_t wnn_int8_depthwise_width(size_t channels)
{
    return channels <= 16 ? 16 : channels <= 32 ? 32 : 64;
}

// Where channel i of a block of `width` stands among the numbers of the block.
static inline size_t wnn_int8_depthwise_order(size_t i, size_t width)
{
    return i % 16 / 4 * (width / 4) + i / 16 * 4 + i % 4;
}

// ---------------------------------------------------------------------------------------------------------------
// From nodes: what conv2d, gemm and matmul have in common
// ---------------------------------------------------------------------------------------------------------------

// A product as a node describes it: the sum of m * n dot products of k terms.
struct int8_layer {
    size_t columns;       // output channels, of all groups
    unsigned column_axis; // of the weights' shape
    struct operand *bias; // one number for each column, or one for all; NULL: none
    double alpha, beta;   // of the product, of the bias
    size_t terms;
};

// Whether types, scales, zero points, bias and activation are such that the product below can do it.
bool wnn_int8_accepts(const struct node *node, const struct int8_layer *layer);

// The numbers of a node that are not weights.
struct int8_numbers {
    WNNDataType a_type, b_type;
    int32_t a_zero, b_zero;
    bool computes_zero;        // a_zero is only known to a run; it is 1 until then
    struct int8_finish finish; // without arrays
};
struct int8_numbers wnn_int8_read(const struct node *node);

// The same of a run.
struct int8_numbers wnn_int8_read_run(const struct kernel_call *call);

// What is done to the sums of columns: read from a node that is accepted.
struct int8_scales {
    const struct operand *weights, *bias;
    size_t weight_step, bias_step; // 0: one number for all columns
    double product, beta, out;
};
struct int8_scales wnn_int8_scales(const struct node *node, const struct int8_layer *layer);
void wnn_int8_scale(const struct int8_scales *scales, size_t column, float *scale, float *offset);

// ---------------------------------------------------------------------------------------------------------------
// Product of matrices
// ---------------------------------------------------------------------------------------------------------------

// C [m, n] = A [m, k] * B [k, n], where A is only known to a function, and B is packed.
struct int8_gemm {
    const struct int8_kernels *kernels;
    struct int8_numbers numbers;
    size_t m, n, k;
    size_t unit;          // k, or a divisor of k: pieces of a row of A that lie side by side
    bool in_place;        // rows of A can be read where they are, each piece up to a multiple of 4 bytes
    bool copies;          // in_place, but `find` needs room for those that can not
    bool even;            // in_place, in one piece, and all rows are equally far apart
    const void *argument; // for the functions
    const struct interrupt *interrupt; // of the execution, or NULL

    // Sets pointers[s * mr + r] for r < count to piece s of row `row` + r of A. If `copies`, there is room
    // for mr rows, their pieces rounded up to 4 bytes.
    void (*find)(const struct int8_gemm *gemm, size_t row, unsigned count, const void **pointers,
                 uint8_t *room);

    // Copies row `row` of A, k bytes; used where rows are not read in place.
    void (*copy)(const struct int8_gemm *gemm, size_t row, uint8_t *to);

    // For packing: `count` terms of a column of B, from `term` on, and what is done to the sums of a column.
    void (*weights)(const struct int8_gemm *gemm, size_t term, size_t count, size_t column, uint8_t *to);
    void (*scale)(const struct int8_gemm *gemm, size_t column, float *scale, float *offset);

    const char *packed; // sums begin with what it says times a_zero, if that is computed
    char *c;
    size_t row_stride;    // in elements of C
    size_t column_stride; // 1, or where columns are not side by side
    // (optional) The offset of a row, instead of row * row_stride.
    size_t (*place)(const struct int8_gemm *gemm, size_t row);
};

// For `weights`: bytes that are `stride` apart.
static inline void wnn_int8_gather(const uint8_t *from, size_t stride, size_t count, uint8_t *to)
{
    if (stride == 1) {
        memcpy(to, from, count);
    } else {
        for (size_t i = 0; i < count; i++)
            to[i] = from[i * stride];
    }
}

// How many elements make 32 bits.
static inline size_t wnn_int8_group_terms(const struct int8_kernels *kernels)
{
    return 4 / kernels->size;
}

// Groups of a row of A in pieces of `unit` terms.
static inline size_t wnn_int8_group_count(const struct int8_kernels *kernels, size_t k, size_t unit)
{
    size_t terms = wnn_int8_group_terms(kernels);
    return k / unit * ((unit + terms - 1) / terms);
}

size_t wnn_int8_gemm_packed_bytes(const struct int8_kernels *kernels, size_t n, size_t k, size_t unit);

// Packs B; nothing of A and C is looked at, and this processor need not be the one that the kernels are for.
void wnn_int8_gemm_pack(const struct int8_gemm *gemm, const struct parallel *parallel, char *packed);

size_t wnn_int8_gemm_scratch(const struct int8_gemm *gemm, unsigned threads);
void wnn_int8_gemm_run(const struct int8_gemm *gemm, const struct parallel *parallel, char *scratch);

#endif
