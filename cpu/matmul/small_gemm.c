// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/small_gemm.h"

#include "cpu/simd/lanes.h"

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAVE_SHUFFLE 1
#endif
#endif

typedef void (*tile_loop)(const float *weights, const float *x, size_t length, double *out,
                          size_t out_stride);

// 4 rows by `columns`, 1 by `columns`, 8 by 1, 1 by 1.
struct tiles {
    unsigned columns;
    tile_loop wide, wide_row, column, dot;
};

// The sums of the lanes of each.
static inline __attribute__((always_inline)) vector_any add_lanes(vector_any a, vector_any b, vector_any c,
                                                                  vector_any d)
{
#ifdef HAVE_SHUFFLE
    vector_any ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    vector_any cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
#else
    return (vector_any){(a[0] + a[2]) + (a[1] + a[3]), (b[0] + b[2]) + (b[1] + b[3]),
                        (c[0] + c[2]) + (c[1] + c[3]), (d[0] + d[2]) + (d[1] + d[3])};
#endif
}

// The sum of the quarters of a vector.
WNN_INLINE vector_any quarter_any(vector_any v)
{
    return v;
}

#if WNN_X86_64
WNN_INLINE WNN_TARGET_AVX2 vector_any quarter_avx2(vector_avx2 v)
{
    return (vector_any)_mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
}

WNN_INLINE WNN_TARGET_AVX512 vector_any quarter_avx512(vector_avx512 v)
{
    __m256 high = _mm512_extractf32x8_ps((__m512)v, 1);
    return quarter_avx2((vector_avx2)_mm256_add_ps(_mm512_castps512_ps256((__m512)v), high));
}
#endif

#define EXACT 0
#define LOOPS "cpu/matmul/small_gemm.inc"
#include "cpu/simd/each_isa.inc"
#undef EXACT

#define EXACT 1
#define LOOPS "cpu/matmul/small_gemm.inc"
#include "cpu/simd/each_isa.inc"
#undef EXACT

static void multiply(const struct tiles *tiles, const float *weights, size_t rows, const float *x,
                     size_t columns, size_t length, double *out, size_t out_stride)
{
    size_t wide = columns - columns % tiles->columns, row = 0;
    // Four rows stay in the first-level cache while they meet all columns.
    for (size_t step; row < rows && wide > 0; row += step) {
        step = rows - row < 4 ? 1 : 4;
        for (size_t column = 0; column < wide; column += tiles->columns)
            (step == 4 ? tiles->wide : tiles->wide_row)(weights + row * length, x + column * length, length,
                                                        out + column * out_stride + row, out_stride);
    }
    for (size_t column = wide; column < columns; column++) {
        for (size_t step, i = 0; i < rows; i += step) {
            step = rows - i < 8 ? 1 : 8;
            (step == 8 ? tiles->column : tiles->dot)(weights + i * length, x + column * length, length,
                                                     out + column * out_stride + i, out_stride);
        }
    }
}

void wnn_small_gemm(const float *weights, size_t rows, const float *x, size_t columns, size_t length,
                    double *out, size_t out_stride)
{
    const struct tiles *tiles =
        length <= WNN_SMALL_GEMM_EXACT ? WNN_BEST_ISA(&exact_tiles) : WNN_BEST_ISA(&float_tiles);
    multiply(tiles, weights, rows, x, columns, length, out, out_stride);
}

void wnn_small_gemm_floats(const float *weights, size_t rows, const float *x, size_t columns, size_t length,
                           double *out, size_t out_stride)
{
    multiply(WNN_BEST_ISA(&float_tiles), weights, rows, x, columns, length, out, out_stride);
}
