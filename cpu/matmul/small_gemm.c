// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/small_gemm.h"

#include "lib/isa.h"

#include <stdbool.h>
#include <string.h>

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

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

// Vectors that the compiler makes instructions for itself.
typedef float quad __attribute__((vector_size(16)));
typedef double pair __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) quad load_quad(const float *from)
{
    quad vector;
    memcpy(&vector, from, sizeof vector);
    return vector;
}

// The sums of the lanes of each.
static inline __attribute__((always_inline)) quad add_lanes(quad a, quad b, quad c, quad d)
{
#ifdef HAVE_SHUFFLE
    quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5) + __builtin_shufflevector(a, b, 2, 6, 3, 7);
    quad cd = __builtin_shufflevector(c, d, 0, 4, 1, 5) + __builtin_shufflevector(c, d, 2, 6, 3, 7);
    return __builtin_shufflevector(ab, cd, 0, 1, 4, 5) + __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
#else
    return (quad){(a[0] + a[2]) + (a[1] + a[3]), (b[0] + b[2]) + (b[1] + b[3]), (c[0] + c[2]) + (c[1] + c[3]),
                  (d[0] + d[2]) + (d[1] + d[3])};
#endif
}

#if WNN_X86
#include <immintrin.h>

static inline __attribute__((always_inline, target("avx2,fma"))) quad quad_of_256(__m256 v)
{
    return (quad)_mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
}

static inline __attribute__((always_inline, target("avx512f,avx2,fma"))) quad quad_of_512(__m512 v)
{
    __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
    return quad_of_256(_mm256_add_ps(_mm512_castps512_ps256(v), high));
}

#define NAME(x)      avx512_##x
#define TARGET       __attribute__((target("avx512f,avx2,fma")))
#define VECTOR       __m512
#define LANES        16
#define QUAD(v)      quad_of_512(v)
#define LOAD(p)      _mm512_loadu_ps(p)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define COLUMNS      4
#include "cpu/matmul/small_gemm.inc"

#define NAME(x)      avx512_exact_##x
#define TARGET       __attribute__((target("avx512f,avx2,fma")))
#define VECTOR       __m512d
#define LANES        8
#define LOAD(p)      _mm512_cvtps_pd(_mm256_loadu_ps(p))
#define FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define COLUMNS      4
#include "cpu/matmul/small_gemm.inc"

#define NAME(x)      avx2_##x
#define TARGET       __attribute__((target("avx2,fma")))
#define VECTOR       __m256
#define LANES        8
#define QUAD(v)      quad_of_256(v)
#define LOAD(p)      _mm256_loadu_ps(p)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define COLUMNS      2
#include "cpu/matmul/small_gemm.inc"

#define NAME(x)      avx2_exact_##x
#define TARGET       __attribute__((target("avx2,fma")))
#define VECTOR       __m256d
#define LANES        4
#define LOAD(p)      _mm256_cvtps_pd(_mm_loadu_ps(p))
#define FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define COLUMNS      2
#include "cpu/matmul/small_gemm.inc"
#endif

#define NAME(x) base_##x
#define TARGET
#define VECTOR       quad
#define LANES        4
#define QUAD(v)      (v)
#define LOAD(p)      load_quad(p)
#define FMA(a, b, c) ((a) * (b) + (c))
#define COLUMNS      2
#include "cpu/matmul/small_gemm.inc"

#define NAME(x) base_exact_##x
#define TARGET
#define VECTOR       pair
#define LANES        2
#define LOAD(p)      ((pair){(double)(p)[0], (double)(p)[1]})
#define FMA(a, b, c) ((a) * (b) + (c))
#define COLUMNS      2
#include "cpu/matmul/small_gemm.inc"

static const struct tiles *best_tiles(size_t length)
{
    bool exact = length <= WNN_DOTS_EXACT;
#if WNN_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        if (__builtin_cpu_supports("avx512f"))
            return exact ? &avx512_exact_tiles : &avx512_tiles;
        return exact ? &avx2_exact_tiles : &avx2_tiles;
    }
#endif
    return exact ? &base_exact_tiles : &base_tiles;
}

void wnn_dots(const float *weights, size_t rows, const float *x, size_t columns, size_t length, double *out,
              size_t out_stride)
{
    const struct tiles *tiles = best_tiles(length);
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
