// SPDX-License-Identifier: Apache-2.0
//
// The vector loops below the matrix product, once for each instruction set, and the choice between them.

#include "cpu/matmul/gemm.h"

// Loops over the vectors of a tile must disappear, so that the tile stays in registers.
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#define SOON  8 // terms before they are needed, B is fetched into the first-level cache
#define AHEAD WNN_GEMM_AHEAD

#if WNN_X86
#include <immintrin.h>

#define NAME(x)              avx512_##x
#define TARGET               __attribute__((target("avx512f,avx2,fma")))
#define VECTOR               __m512
#define LANES                16
#define MR                   8
#define NR                   3
#define ZERO()               _mm512_setzero_ps()
#define LOAD(p)              _mm512_loadu_ps(p)
#define STORE(p, v)          _mm512_storeu_ps(p, v)
#define SPLAT(x)             _mm512_set1_ps(x)
#define FMA(a, b, c)         _mm512_fmadd_ps(a, b, c)
#define LEAST(a, b)          _mm512_min_ps(a, b)
#define GREATEST(a, b)       _mm512_max_ps(a, b)
#define DOUBLES              __m512d
#define LOAD_DOUBLES(p)      _mm512_loadu_pd(p)
#define WIDEN(p)             _mm512_cvtps_pd(_mm256_loadu_ps(p))
#define FMA_DOUBLES(a, b, c) _mm512_fmadd_pd(a, b, c)
#include "cpu/matmul/gemm_kernel.inc"

#define NAME(x)              avx2_##x
#define TARGET               __attribute__((target("avx2,fma")))
#define VECTOR               __m256
#define LANES                8
#define MR                   6
#define NR                   2
#define ZERO()               _mm256_setzero_ps()
#define LOAD(p)              _mm256_loadu_ps(p)
#define STORE(p, v)          _mm256_storeu_ps(p, v)
#define SPLAT(x)             _mm256_set1_ps(x)
#define FMA(a, b, c)         _mm256_fmadd_ps(a, b, c)
#define LEAST(a, b)          _mm256_min_ps(a, b)
#define GREATEST(a, b)       _mm256_max_ps(a, b)
#define DOUBLES              __m256d
#define LOAD_DOUBLES(p)      _mm256_loadu_pd(p)
#define WIDEN(p)             _mm256_cvtps_pd(_mm_loadu_ps(p))
#define FMA_DOUBLES(a, b, c) _mm256_fmadd_pd(a, b, c)
#include "cpu/matmul/gemm_kernel.inc"
#endif

#if defined(__aarch64__)
#include <arm_neon.h>

#define NAME(x) base_##x
#define TARGET
#define VECTOR               float32x4_t
#define LANES                4
#define MR                   8
#define NR                   2
#define ZERO()               vdupq_n_f32(0)
#define LOAD(p)              vld1q_f32(p)
#define STORE(p, v)          vst1q_f32(p, v)
#define SPLAT(x)             vdupq_n_f32(x)
#define FMA(a, b, c)         vfmaq_f32(c, a, b)
#define LEAST(a, b)          vbslq_f32(vcltq_f32(a, b), a, b)
#define GREATEST(a, b)       vbslq_f32(vcgtq_f32(a, b), a, b)
#define DOUBLES              float64x2_t
#define LOAD_DOUBLES(p)      vld1q_f64(p)
#define WIDEN(p)             vcvt_f64_f32(vld1_f32(p))
#define FMA_DOUBLES(a, b, c) vfmaq_f64(c, a, b)
#include "cpu/matmul/gemm_kernel.inc"
#else
typedef double base_doubles __attribute__((vector_size(16)));
typedef int32_t base_mask __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) wnn_quad base_choose(base_mask first, wnn_quad a, wnn_quad b)
{
    return (wnn_quad)((first & (base_mask)a) | (~first & (base_mask)b));
}

static inline __attribute__((always_inline)) base_doubles base_load_doubles(const double *from)
{
    base_doubles vector;
    memcpy(&vector, from, sizeof vector);
    return vector;
}

#define NAME(x) base_##x
#define TARGET
#define VECTOR               wnn_quad
#define LANES                4
#define MR                   6
#define NR                   2
#define ZERO()               ((wnn_quad){0})
#define LOAD(p)              wnn_quad_load(p)
#define STORE(p, v)          wnn_quad_store(p, v)
#define SPLAT(x)             ((wnn_quad){(x), (x), (x), (x)})
#define FMA(a, b, c)         ((a) * (b) + (c))
#define LEAST(a, b)          base_choose((a) < (b), a, b)
#define GREATEST(a, b)       base_choose((a) > (b), a, b)
#define DOUBLES              base_doubles
#define LOAD_DOUBLES(p)      base_load_doubles(p)
#define WIDEN(p)             ((base_doubles){(p)[0], (p)[1]})
#define FMA_DOUBLES(a, b, c) ((a) * (b) + (c))
#include "cpu/matmul/gemm_kernel.inc"
#endif

const struct float_kernels *wnn_float_kernels(void)
{
#if WNN_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return __builtin_cpu_supports("avx512f") ? &avx512_kernels : &avx2_kernels;
#endif
    return &base_kernels;
}
