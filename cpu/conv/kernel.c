// SPDX-License-Identifier: Apache-2.0
//
// The vector loops of the convolutions, once for each instruction set, and the choice between them.

#include "cpu/conv/kernel.h"

#include "cpu/matmul/gemm.h"
#include "cpu/simd/variants.h"

// Loops over the vectors of a tile must disappear, so that the tile stays in registers.
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#if WNN_X86
#include <immintrin.h>

#define NEAREST                       _MM_FROUND_TO_NEAREST_INT
#define LOAD_256(p)                   _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE_256(p, v)               _mm256_storeu_si256((__m256i *)(void *)(p), v)
#define NAME(x)                       avx512_##x
#define TARGET                        __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define VECTOR                        __m512
#define LANES                         16
#define ROWS                          7
#define VECTORS                       4
#define ZERO()                        _mm512_setzero_ps()
#define LOAD(p)                       _mm512_loadu_ps(p)
#define STORE(p, v)                   _mm512_storeu_ps(p, v)
#define SPLAT(x)                      _mm512_set1_ps(x)
#define FMA(a, b, c)                  _mm512_fmadd_ps(a, b, c)
#define LEAST(a, b)                   _mm512_min_ps(a, b)
#define GREATEST(a, b)                _mm512_max_ps(a, b)
#define LOAD_HALVES(p)                _mm512_cvtph_ps(LOAD_256(p))
#define STORE_HALVES(p, v)            STORE_256(p, _mm512_cvtps_ph(v, NEAREST))
#define ROUND_HALVES(v)               _mm512_cvtph_ps(_mm512_cvtps_ph(v, NEAREST))
#define MASK                          __mmask16
#define MAKE_MASK(n)                  (__mmask16)((1u << (n)) - 1)
#define LOAD_PART(p, mask)            _mm512_maskz_loadu_ps(mask, p)
#define STORE_PART(p, v, mask)        _mm512_mask_storeu_ps(p, mask, v)
#define LOAD_HALVES_PART(p, mask)     _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(mask, p))
#define STORE_HALVES_PART(p, v, mask) _mm256_mask_storeu_epi16(p, mask, _mm512_cvtps_ph(v, NEAREST))
#include "cpu/conv/kernel.inc"

#define AVX2 __attribute__((target("avx2,fma,f16c")))

// The lanes of the mask, one by one.
static inline __attribute__((always_inline)) AVX2 __m128i load_some_halves(const uint16_t *from, __m256i mask)
{
    uint16_t lanes[8] = {0};
    unsigned count = (unsigned)__builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
    for (unsigned i = 0; i < count; i++)
        lanes[i] = from[i];
    return _mm_loadu_si128((const __m128i *)(const void *)lanes);
}

static inline __attribute__((always_inline)) AVX2 void store_some_halves(uint16_t *to, __m128i halves,
                                                                         __m256i mask)
{
    uint16_t lanes[8];
    unsigned count = (unsigned)__builtin_popcount((unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(mask)));
    _mm_storeu_si128((__m128i *)(void *)lanes, halves);
    for (unsigned i = 0; i < count; i++)
        to[i] = lanes[i];
}

#define LOAD_128(p)        _mm_loadu_si128((const __m128i *)(const void *)(p))
#define STORE_128(p, v)    _mm_storeu_si128((__m128i *)(void *)(p), v)
#define NAME(x)            avx2_##x
#define TARGET             AVX2
#define VECTOR             __m256
#define LANES              8
#define ROWS               6
#define VECTORS            2
#define ZERO()             _mm256_setzero_ps()
#define LOAD(p)            _mm256_loadu_ps(p)
#define STORE(p, v)        _mm256_storeu_ps(p, v)
#define SPLAT(x)           _mm256_set1_ps(x)
#define FMA(a, b, c)       _mm256_fmadd_ps(a, b, c)
#define LEAST(a, b)        _mm256_min_ps(a, b)
#define GREATEST(a, b)     _mm256_max_ps(a, b)
#define LOAD_HALVES(p)     _mm256_cvtph_ps(LOAD_128(p))
#define STORE_HALVES(p, v) STORE_128(p, _mm256_cvtps_ph(v, NEAREST))
#define ROUND_HALVES(v)    _mm256_cvtph_ps(_mm256_cvtps_ph(v, NEAREST))
#define MASK               __m256i
#define MAKE_MASK(n)                                                                                         \
    _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define LOAD_PART(p, mask)            _mm256_maskload_ps(p, mask)
#define STORE_PART(p, v, mask)        _mm256_maskstore_ps(p, mask, v)
#define LOAD_HALVES_PART(p, mask)     _mm256_cvtph_ps(load_some_halves(p, mask))
#define STORE_HALVES_PART(p, v, mask) store_some_halves(p, _mm256_cvtps_ph(v, NEAREST), mask)
#include "cpu/conv/kernel.inc"
#endif

#if defined(__aarch64__)
#include <arm_neon.h>
typedef float32x4_t base_vector;
#else
typedef wnn_quad base_vector;
#endif

static inline base_vector base_load_part(const float *from, size_t count)
{
    float lanes[4] = {0};
    base_vector vector;
    memcpy(lanes, from, count * sizeof lanes[0]);
    memcpy(&vector, lanes, sizeof vector);
    return vector;
}

static inline void base_store_part(float *to, base_vector vector, size_t count)
{
    if (count == 4)
        memcpy(to, &vector, sizeof vector);
    else
        memcpy(to, &vector, count * sizeof to[0]);
}

static inline base_vector base_load_halves(const uint16_t *from, size_t count)
{
    float lanes[4] = {0};
    base_vector vector;
    for (size_t i = 0; i < count; i++)
        lanes[i] = wnn_half_to_float(from[i]);
    memcpy(&vector, lanes, sizeof vector);
    return vector;
}

static inline void base_store_halves(uint16_t *to, base_vector vector, size_t count)
{
    float lanes[4];
    memcpy(lanes, &vector, sizeof vector);
    for (size_t i = 0; i < count; i++)
        to[i] = wnn_half_from_float(lanes[i]);
}

static inline base_vector base_round_halves(base_vector vector)
{
    uint16_t halves[4];
    base_store_halves(halves, vector, 4);
    return base_load_halves(halves, 4);
}

#if defined(__aarch64__)

#define NAME(x) base_##x
#define TARGET
#define VECTOR                        float32x4_t
#define LANES                         4
#define ROWS                          6
#define VECTORS                       4
#define ZERO()                        vdupq_n_f32(0)
#define LOAD(p)                       vld1q_f32(p)
#define STORE(p, v)                   vst1q_f32(p, v)
#define SPLAT(x)                      vdupq_n_f32(x)
#define FMA(a, b, c)                  vfmaq_f32(c, a, b)
#define LEAST(a, b)                   vbslq_f32(vcltq_f32(a, b), a, b)
#define GREATEST(a, b)                vbslq_f32(vcgtq_f32(a, b), a, b)
#define MASK                          size_t
#define MAKE_MASK(n)                  (n)
#define LOAD_PART(p, mask)            base_load_part(p, mask)
#define STORE_PART(p, v, mask)        base_store_part(p, v, mask)
#define LOAD_HALVES(p)                vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))
#define STORE_HALVES(p, v)            vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(v)))
#define ROUND_HALVES(v)               vcvt_f32_f16(vcvt_f16_f32(v))
#define LOAD_HALVES_PART(p, mask)     base_load_halves(p, mask)
#define STORE_HALVES_PART(p, v, mask) base_store_halves(p, v, mask)
#include "cpu/conv/kernel.inc"
#else
typedef int32_t base_mask __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) wnn_quad base_choose(base_mask first, wnn_quad a, wnn_quad b)
{
    return (wnn_quad)((first & (base_mask)a) | (~first & (base_mask)b));
}

#define NAME(x) base_##x
#define TARGET
#define VECTOR                        wnn_quad
#define LANES                         4
#define ROWS                          6
#define VECTORS                       2
#define ZERO()                        ((wnn_quad){0})
#define LOAD(p)                       wnn_quad_load(p)
#define STORE(p, v)                   wnn_quad_store(p, v)
#define SPLAT(x)                      ((wnn_quad){(x), (x), (x), (x)})
#define FMA(a, b, c)                  ((a) * (b) + (c))
#define LEAST(a, b)                   base_choose((a) < (b), a, b)
#define GREATEST(a, b)                base_choose((a) > (b), a, b)
#define MASK                          size_t
#define MAKE_MASK(n)                  (n)
#define LOAD_PART(p, mask)            base_load_part(p, mask)
#define STORE_PART(p, v, mask)        base_store_part(p, v, mask)
#define LOAD_HALVES(p)                base_load_halves(p, 4)
#define STORE_HALVES(p, v)            base_store_halves(p, v, 4)
#define ROUND_HALVES(v)               base_round_halves(v)
#define LOAD_HALVES_PART(p, mask)     base_load_halves(p, mask)
#define STORE_HALVES_PART(p, v, mask) base_store_halves(p, v, mask)
#include "cpu/conv/kernel.inc"
#endif

const struct conv_kernels *wnn_conv_kernels(void)
{
#if WNN_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return wnn_has_avx512() ? &avx512_kernels : &avx2_kernels;
#endif
    return &base_kernels;
}
