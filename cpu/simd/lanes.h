// SPDX-License-Identifier: Apache-2.0
//
// Vectors of float32 for each ISA (isa.h); portable ones have 16 bytes, and every compiler knows them. The
// loops that are written with them stand in .inc files that each_isa.inc includes for each ISA. Vectors are
// added, subtracted, multiplied and divided with C's operators; the rest is here.
// clang-format off
//   LANES                       floats of a vector; vectors of doubles have half of them
//   load, store                 LANES floats
//   stream                      the same as store, past the caches; `to` is aligned to a vector
//   load_half, store_half       the same as float16, which is rounded to once
//   load_bfloat                 LANES floats of bfloat16
//   round_half                  to what float16 holds
//   load_some ...               the first `count` lanes only, at most all; the others are those of `rest`
//   stream_halves               2 * LANES floats as float16, past the caches; `to` is aligned to a vector
//   load_doubles, store_doubles LANES / 2 floats, which are doubles in registers
//   narrow                      LANES doubles of two vectors as floats
//   broadcast, broadcast_double the same number in each lane
//   fma, fma_doubles            a * b + c; rounded once if the ISA can
//   select                      `yes` where bits are set, else `no`
//   min, max                    b if it is less, or greater, else a: NaN of b is passed over, that of a stays
//   max_lane, sum, sum_doubles  of the lanes
//   sum_each                    of the lanes of each of LANES vectors, side by side
//   scale_by_pow2               p * 2^n for integral n from -300 to 128, even where the result is denormal
//   any_within, all_within      whether a lane is above one number and below another, or all of them are
// clang-format on

#ifndef CPU_LANES_H_
#define CPU_LANES_H_

#include "cpu/simd/isa.h"
#include "lib/half.h"

#include <stdint.h>
#include <string.h>
#if defined(__aarch64__)
#include <arm_neon.h>
#elif WNN_X86_64
#include <immintrin.h>
#endif

enum {
    LANES_any = 4,
    LANES_MAX = 16 // a multiple of the lanes of every ISA
};
typedef float vector_any __attribute__((vector_size(16)));
typedef double doubles_any __attribute__((vector_size(16)));
typedef int32_t ints_any __attribute__((vector_size(16)));
typedef uint32_t uints_any __attribute__((vector_size(16))); // sums of bits wrap around

WNN_INLINE vector_any load_any(const float *from)
{
    vector_any v;
    memcpy(&v, from, sizeof v);
    return v;
}

WNN_INLINE void store_any(float *to, vector_any v)
{
    memcpy(to, &v, sizeof v);
}

WNN_INLINE void stream_any(float *to, vector_any v)
{
#if WNN_X86_64
    _mm_stream_ps(to, (__m128)v);
#else
    store_any(to, v);
#endif
}

#if defined(__aarch64__)
WNN_INLINE vector_any load_half_any(const uint16_t *from)
{
    return (vector_any)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from)));
}

WNN_INLINE void store_half_any(uint16_t *to, vector_any v)
{
    vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)v)));
}

WNN_INLINE vector_any fma_any(vector_any a, vector_any b, vector_any c)
{
    return (vector_any)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}

WNN_INLINE doubles_any fma_doubles_any(doubles_any a, doubles_any b, doubles_any c)
{
    return (doubles_any)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
// As lib/half.h has them, without branches: this is in every loop over float16.
WNN_INLINE vector_any load_half_any(const uint16_t *from)
{
    const uints_any least = {113 << 23, 113 << 23, 113 << 23, 113 << 23}; // 2^-14, the least that is normal
    uints_any half = {from[0], from[1], from[2], from[3]};
    uints_any magnitude = (half & 0x7FFF) << 13;
    uints_any denormal = (uints_any)((vector_any)(magnitude + least) - (vector_any)least);
    uints_any is_denormal = (uints_any)(magnitude < 1 << 23);
    uints_any is_special = (uints_any)(magnitude >= 0x1F << 23);
    uints_any normal = magnitude + (112 << 23) + (is_special & 112 << 23);
    return (vector_any)((half & 0x8000) << 16 | (is_denormal & denormal) | (~is_denormal & normal));
}

WNN_INLINE void store_half_any(uint16_t *to, vector_any v)
{
    const vector_any middle = {0.5f, 0.5f, 0.5f, 0.5f}; // its unit is the least float16
    uints_any bits = (uints_any)v, magnitude = bits & 0x7FFFFFFF;
    uints_any denormal = (uints_any)((vector_any)magnitude + middle) - (uints_any)middle;
    uints_any normal = (magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13;
    uints_any is_denormal = (uints_any)(magnitude < 0x38800000),
              is_great = (uints_any)(magnitude >= 0x477FF000);
    uints_any is_nan = (uints_any)(magnitude > 0x7F800000);
    uints_any half = (is_denormal & denormal) | (~is_denormal & ~is_great & normal) | (is_great & 0x7C00) |
                     (is_nan & (0x200 | (magnitude >> 13 & 0x1FF)));
    half |= bits >> 16 & 0x8000;
    uint16_t halves[LANES_any]; // `to` may be where floats were
    for (int i = 0; i < LANES_any; i++)
        halves[i] = (uint16_t)half[i];
    memcpy(to, halves, sizeof halves);
}

WNN_INLINE vector_any fma_any(vector_any a, vector_any b, vector_any c)
{
    return a * b + c;
}

WNN_INLINE doubles_any fma_doubles_any(doubles_any a, doubles_any b, doubles_any c)
{
    return a * b + c;
}
#endif

WNN_INLINE void stream_halves_any(uint16_t *to, vector_any v, vector_any next)
{
    float halves[LANES_any]; // as its bits
    store_half_any((uint16_t *)(void *)halves, v);
    store_half_any((uint16_t *)(void *)halves + LANES_any, next);
    stream_any((float *)(void *)to, load_any(halves));
}

WNN_INLINE vector_any narrow_any(doubles_any low, doubles_any high)
{
    return (vector_any){(float)low[0], (float)low[1], (float)high[0], (float)high[1]};
}

WNN_INLINE vector_any round_half_any(vector_any v)
{
    uint16_t halves[LANES_any];
    store_half_any(halves, v);
    return load_half_any(halves);
}

WNN_INLINE vector_any load_bfloat_any(const uint16_t *from)
{
    return (vector_any)((uints_any){from[0], from[1], from[2], from[3]} << 16);
}

WNN_INLINE vector_any load_some_any(const float *from, size_t count, float rest)
{
    vector_any v = {rest, rest, rest, rest};
    memcpy(&v, from, count * sizeof *from);
    return v;
}

WNN_INLINE void store_some_any(float *to, size_t count, vector_any v)
{
    if (count == LANES_any) // a call of memcpy would be felt
        store_any(to, v);
    else
        memcpy(to, &v, count * sizeof *to);
}

WNN_INLINE vector_any load_some_half_any(const uint16_t *from, size_t count, float rest)
{
    uint16_t halves[LANES_any] = {0};
    memcpy(halves, from, count * sizeof *from);
    vector_any v = load_half_any(halves);
    for (size_t i = count; i < LANES_any; i++)
        v[i] = rest;
    return v;
}

WNN_INLINE void store_some_half_any(uint16_t *to, size_t count, vector_any v)
{
    uint16_t halves[LANES_any];
    store_half_any(halves, v);
    memcpy(to, halves, count * sizeof *to);
}

WNN_INLINE doubles_any load_doubles_any(const float *from)
{
    return (doubles_any){(double)from[0], (double)from[1]};
}

WNN_INLINE void store_doubles_any(float *to, doubles_any v)
{
    to[0] = (float)v[0];
    to[1] = (float)v[1];
}

WNN_INLINE vector_any broadcast_any(float x)
{
    return (vector_any){x, x, x, x};
}

WNN_INLINE doubles_any broadcast_double_any(double x)
{
    return (doubles_any){x, x};
}

WNN_INLINE vector_any select_any(ints_any where, vector_any yes, vector_any no)
{
    return (vector_any)(((ints_any)yes & where) | ((ints_any)no & ~where));
}

WNN_INLINE vector_any min_any(vector_any a, vector_any b)
{
    return select_any(b < a, b, a);
}

WNN_INLINE vector_any max_any(vector_any a, vector_any b)
{
    return select_any(b > a, b, a);
}

WNN_INLINE float max_lane_any(vector_any v)
{
    float a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
}

WNN_INLINE float sum_any(vector_any v)
{
    return (v[0] + v[2]) + (v[1] + v[3]);
}

WNN_INLINE vector_any sum_each_any(const vector_any *v)
{
    return (vector_any){sum_any(v[0]), sum_any(v[1]), sum_any(v[2]), sum_any(v[3])};
}

WNN_INLINE double sum_doubles_any(doubles_any v)
{
    return v[0] + v[1];
}

WNN_INLINE vector_any shifted_any(vector_any v, const int by)
{
    return by == 1 ? (vector_any){0, v[0], v[1], v[2]} : (vector_any){0, 0, v[0], v[1]};
}

WNN_INLINE doubles_any shifted_doubles_any(doubles_any v, const int by)
{
    (void)by;
    return (doubles_any){0, v[0]};
}

WNN_INLINE vector_any turned_any(vector_any v)
{
    return (vector_any){v[3], v[2], v[1], v[0]};
}

WNN_INLINE doubles_any turned_doubles_any(doubles_any v)
{
    return (doubles_any){v[1], v[0]};
}

WNN_INLINE float last_any(vector_any v)
{
    return v[3];
}

WNN_INLINE doubles_any last_doubles_any(doubles_any v)
{
    return (doubles_any){v[1], v[1]};
}

// In two factors, of which neither is denormal.
WNN_INLINE vector_any scale_by_pow2_any(vector_any p, vector_any n)
{
    ints_any power = (ints_any)(n + 0x1.8p23f) - 0x4B400000, half = power >> 1;
    return p * (vector_any)((half + 127) << 23) * (vector_any)((power - half + 127) << 23);
}

WNN_INLINE bool any_within_any(vector_any v, float above, float below)
{
    ints_any within = (v > above) & (v < below);
    return (within[0] | within[1] | within[2] | within[3]) != 0;
}

WNN_INLINE bool all_within_any(vector_any v, float above, float below)
{
    ints_any within = (v > above) & (v < below);
    return (within[0] & within[1] & within[2] & within[3]) != 0;
}

#if WNN_X86_64

// ---------------------------------------------------------------------------------------------------------------

#define INLINE WNN_INLINE WNN_TARGET_AVX2

enum {
    LANES_avx2 = 8
};
typedef float vector_avx2 __attribute__((vector_size(32)));
typedef double doubles_avx2 __attribute__((vector_size(32)));
typedef int32_t ints_avx2 __attribute__((vector_size(32)));
typedef uint32_t uints_avx2 __attribute__((vector_size(32))); // sums of bits wrap around

INLINE vector_avx2 load_avx2(const float *from)
{
    return (vector_avx2)_mm256_loadu_ps(from);
}

INLINE void store_avx2(float *to, vector_avx2 v)
{
    _mm256_storeu_ps(to, (__m256)v);
}

INLINE void stream_avx2(float *to, vector_avx2 v)
{
    _mm256_stream_ps(to, (__m256)v);
}

INLINE vector_avx2 load_half_avx2(const uint16_t *from)
{
    return (vector_avx2)_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)from));
}

INLINE vector_avx2 load_bfloat_avx2(const uint16_t *from)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
    return (vector_avx2)_mm256_slli_epi32(wide, 16);
}

INLINE void store_half_avx2(uint16_t *to, vector_avx2 v)
{
    _mm_storeu_si128((__m128i *)(void *)to, _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}

INLINE void stream_halves_avx2(uint16_t *to, vector_avx2 v, vector_avx2 next)
{
    __m128i low = _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT);
    __m128i high = _mm256_cvtps_ph((__m256)next, _MM_FROUND_TO_NEAREST_INT);
    _mm256_stream_si256((__m256i *)(void *)to, _mm256_set_m128i(high, low));
}

INLINE vector_avx2 narrow_avx2(doubles_avx2 low, doubles_avx2 high)
{
    return (vector_avx2)_mm256_set_m128(_mm256_cvtpd_ps((__m256d)high), _mm256_cvtpd_ps((__m256d)low));
}

INLINE vector_avx2 round_half_avx2(vector_avx2 v)
{
    return (vector_avx2)_mm256_cvtph_ps(_mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT));
}

INLINE __m256i first_lanes_avx2(size_t count)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INLINE vector_avx2 load_some_avx2(const float *from, size_t count, float rest)
{
    __m256i first = first_lanes_avx2(count);
    __m256 some = _mm256_maskload_ps(from, first);
    return (vector_avx2)_mm256_blendv_ps(_mm256_set1_ps(rest), some, _mm256_castsi256_ps(first));
}

INLINE void store_some_avx2(float *to, size_t count, vector_avx2 v)
{
    _mm256_maskstore_ps(to, first_lanes_avx2(count), (__m256)v);
}

INLINE vector_avx2 load_some_half_avx2(const uint16_t *from, size_t count, float rest)
{
    if (count >= LANES_avx2)
        return load_half_avx2(from);
    uint16_t halves[LANES_avx2] = {0};
    float lanes[LANES_avx2];
    memcpy(halves, from, count * sizeof *from);
    store_avx2(lanes, load_half_avx2(halves));
    for (size_t i = count; i < LANES_avx2; i++)
        lanes[i] = rest;
    return load_avx2(lanes);
}

INLINE void store_some_half_avx2(uint16_t *to, size_t count, vector_avx2 v)
{
    if (count >= LANES_avx2) {
        store_half_avx2(to, v);
        return;
    }
    uint16_t halves[LANES_avx2];
    store_half_avx2(halves, v);
    memcpy(to, halves, count * sizeof *to);
}

INLINE doubles_avx2 load_doubles_avx2(const float *from)
{
    return (doubles_avx2)_mm256_cvtps_pd(_mm_loadu_ps(from));
}

INLINE void store_doubles_avx2(float *to, doubles_avx2 v)
{
    _mm_storeu_ps(to, _mm256_cvtpd_ps((__m256d)v));
}

INLINE vector_avx2 broadcast_avx2(float x)
{
    return (vector_avx2)_mm256_set1_ps(x);
}

INLINE doubles_avx2 broadcast_double_avx2(double x)
{
    return (doubles_avx2)_mm256_set1_pd(x);
}

INLINE vector_avx2 fma_avx2(vector_avx2 a, vector_avx2 b, vector_avx2 c)
{
    return (vector_avx2)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

INLINE doubles_avx2 fma_doubles_avx2(doubles_avx2 a, doubles_avx2 b, doubles_avx2 c)
{
    return (doubles_avx2)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}

INLINE vector_avx2 select_avx2(ints_avx2 where, vector_avx2 yes, vector_avx2 no)
{
    return (vector_avx2)(((ints_avx2)yes & where) | ((ints_avx2)no & ~where));
}

INLINE vector_avx2 min_avx2(vector_avx2 a, vector_avx2 b)
{
    return (vector_avx2)_mm256_min_ps((__m256)b, (__m256)a);
}

INLINE vector_avx2 max_avx2(vector_avx2 a, vector_avx2 b)
{
    return (vector_avx2)_mm256_max_ps((__m256)b, (__m256)a);
}

INLINE float max_lane_avx2(vector_avx2 v)
{
    __m128 four = _mm_max_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    four = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(four, _mm_movehdup_ps(four)));
}

INLINE float sum_avx2(vector_avx2 v)
{
    __m128 four = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
    four = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

INLINE vector_avx2 sum_each_avx2(const vector_avx2 *v)
{
    __m256 a[8];
    for (int i = 0; i < 8; i++)
        a[i] = (__m256)v[i];
    for (int i = 0; i < 4; i++)
        a[i] = _mm256_unpacklo_ps(a[2 * i], a[2 * i + 1]) + _mm256_unpackhi_ps(a[2 * i], a[2 * i + 1]);
    for (int i = 0; i < 2; i++) {
        __m256d even = (__m256d)a[2 * i], odd = (__m256d)a[2 * i + 1];
        a[i] = (__m256)_mm256_unpacklo_pd(even, odd) + (__m256)_mm256_unpackhi_pd(even, odd);
    }
    return (vector_avx2)(_mm256_permute2f128_ps(a[0], a[1], 0x20) + _mm256_permute2f128_ps(a[0], a[1], 0x31));
}

INLINE double sum_doubles_avx2(doubles_avx2 v)
{
    __m128d two = _mm_add_pd(_mm256_castpd256_pd128((__m256d)v), _mm256_extractf128_pd((__m256d)v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

INLINE vector_avx2 shifted_avx2(vector_avx2 v, const int by)
{
    const __m256 none = _mm256_setzero_ps();
    __m256 one = _mm256_permutevar8x32_ps((__m256)v, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6));
    __m256 two = (__m256)_mm256_permute4x64_pd((__m256d)v, 0x90);
    return by == 1   ? (vector_avx2)_mm256_blend_ps(one, none, 0x01)
           : by == 2 ? (vector_avx2)_mm256_blend_ps(two, none, 0x03)
                     : (vector_avx2)_mm256_permute2f128_ps((__m256)v, (__m256)v, 0x08);
}

INLINE doubles_avx2 shifted_doubles_avx2(doubles_avx2 v, const int by)
{
    __m256d one = _mm256_permute4x64_pd((__m256d)v, 0x90);
    return by == 1 ? (doubles_avx2)_mm256_blend_pd(one, _mm256_setzero_pd(), 0x01)
                   : (doubles_avx2)_mm256_permute2f128_pd((__m256d)v, (__m256d)v, 0x08);
}

INLINE vector_avx2 turned_avx2(vector_avx2 v)
{
    return (vector_avx2)_mm256_permutevar8x32_ps((__m256)v, _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0));
}

INLINE doubles_avx2 turned_doubles_avx2(doubles_avx2 v)
{
    return (doubles_avx2)_mm256_permute4x64_pd((__m256d)v, 0x1B);
}

INLINE float last_avx2(vector_avx2 v)
{
    return v[7];
}

INLINE doubles_avx2 last_doubles_avx2(doubles_avx2 v)
{
    return (doubles_avx2)_mm256_permute4x64_pd((__m256d)v, 0xFF);
}

INLINE vector_avx2 scale_by_pow2_avx2(vector_avx2 p, vector_avx2 n)
{
    __m256i power = _mm256_cvtps_epi32((__m256)n), half = _mm256_srai_epi32(power, 1);
    __m256i one = _mm256_set1_epi32(127), first = _mm256_slli_epi32(_mm256_add_epi32(half, one), 23);
    __m256i second = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(power, half), one), 23);
    return p * (vector_avx2)first * (vector_avx2)second;
}

INLINE bool any_within_avx2(vector_avx2 v, float above, float below)
{
    __m256 over = _mm256_cmp_ps((__m256)v, _mm256_set1_ps(above), _CMP_GT_OQ);
    __m256 under = _mm256_cmp_ps((__m256)v, _mm256_set1_ps(below), _CMP_LT_OQ);
    return _mm256_movemask_ps(_mm256_and_ps(over, under)) != 0;
}

INLINE bool all_within_avx2(vector_avx2 v, float above, float below)
{
    __m256 over = _mm256_cmp_ps((__m256)v, _mm256_set1_ps(above), _CMP_GT_OQ);
    __m256 under = _mm256_cmp_ps((__m256)v, _mm256_set1_ps(below), _CMP_LT_OQ);
    return _mm256_movemask_ps(_mm256_and_ps(over, under)) == 0xFF;
}

#undef INLINE

// ---------------------------------------------------------------------------------------------------------------

#define INLINE WNN_INLINE WNN_TARGET_AVX512

enum {
    LANES_avx512 = 16
};
typedef float vector_avx512 __attribute__((vector_size(64)));
typedef double doubles_avx512 __attribute__((vector_size(64)));
typedef int32_t ints_avx512 __attribute__((vector_size(64)));
typedef uint32_t uints_avx512 __attribute__((vector_size(64))); // sums of bits wrap around

INLINE __mmask16 first_lanes_avx512(size_t count)
{
    return (__mmask16)((1u << count) - 1);
}

INLINE vector_avx512 load_avx512(const float *from)
{
    return (vector_avx512)_mm512_loadu_ps(from);
}

INLINE void store_avx512(float *to, vector_avx512 v)
{
    _mm512_storeu_ps(to, (__m512)v);
}

INLINE void stream_avx512(float *to, vector_avx512 v)
{
    _mm512_stream_ps(to, (__m512)v);
}

INLINE vector_avx512 load_half_avx512(const uint16_t *from)
{
    return (vector_avx512)_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from));
}

INLINE vector_avx512 load_bfloat_avx512(const uint16_t *from)
{
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)from));
    return (vector_avx512)_mm512_slli_epi32(wide, 16);
}

INLINE void store_half_avx512(uint16_t *to, vector_avx512 v)
{
    _mm256_storeu_si256((__m256i *)(void *)to, _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
}

INLINE void stream_halves_avx512(uint16_t *to, vector_avx512 v, vector_avx512 next)
{
    __m256i low = _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT);
    __m256i high = _mm512_cvtps_ph((__m512)next, _MM_FROUND_TO_NEAREST_INT);
    _mm512_stream_si512((void *)to, _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}

INLINE vector_avx512 narrow_avx512(doubles_avx512 low, doubles_avx512 high)
{
    return (vector_avx512)_mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps((__m512d)low)),
                                             _mm512_cvtpd_ps((__m512d)high), 1);
}

INLINE vector_avx512 round_half_avx512(vector_avx512 v)
{
    return (vector_avx512)_mm512_cvtph_ps(_mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
}

INLINE vector_avx512 load_some_avx512(const float *from, size_t count, float rest)
{
    return (vector_avx512)_mm512_mask_loadu_ps(_mm512_set1_ps(rest), first_lanes_avx512(count), from);
}

INLINE void store_some_avx512(float *to, size_t count, vector_avx512 v)
{
    _mm512_mask_storeu_ps(to, first_lanes_avx512(count), (__m512)v);
}

INLINE vector_avx512 load_some_half_avx512(const uint16_t *from, size_t count, float rest)
{
    __m256i halves = _mm256_maskz_loadu_epi16(first_lanes_avx512(count), from);
    return (vector_avx512)_mm512_mask_cvtph_ps(_mm512_set1_ps(rest), first_lanes_avx512(count), halves);
}

INLINE void store_some_half_avx512(uint16_t *to, size_t count, vector_avx512 v)
{
    _mm256_mask_storeu_epi16(to, first_lanes_avx512(count),
                             _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT));
}

INLINE doubles_avx512 load_doubles_avx512(const float *from)
{
    return (doubles_avx512)_mm512_cvtps_pd(_mm256_loadu_ps(from));
}

INLINE void store_doubles_avx512(float *to, doubles_avx512 v)
{
    _mm256_storeu_ps(to, _mm512_cvtpd_ps((__m512d)v));
}

INLINE vector_avx512 broadcast_avx512(float x)
{
    return (vector_avx512)_mm512_set1_ps(x);
}

INLINE doubles_avx512 broadcast_double_avx512(double x)
{
    return (doubles_avx512)_mm512_set1_pd(x);
}

INLINE vector_avx512 fma_avx512(vector_avx512 a, vector_avx512 b, vector_avx512 c)
{
    return (vector_avx512)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

INLINE doubles_avx512 fma_doubles_avx512(doubles_avx512 a, doubles_avx512 b, doubles_avx512 c)
{
    return (doubles_avx512)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}

INLINE vector_avx512 select_avx512(ints_avx512 where, vector_avx512 yes, vector_avx512 no)
{
    return (vector_avx512)(((ints_avx512)yes & where) | ((ints_avx512)no & ~where));
}

INLINE vector_avx512 min_avx512(vector_avx512 a, vector_avx512 b)
{
    return (vector_avx512)_mm512_min_ps((__m512)b, (__m512)a);
}

INLINE vector_avx512 max_avx512(vector_avx512 a, vector_avx512 b)
{
    return (vector_avx512)_mm512_max_ps((__m512)b, (__m512)a);
}

INLINE float max_lane_avx512(vector_avx512 v)
{
    __m512 folded = _mm512_shuffle_f32x4((__m512)v, (__m512)v, 0x4E);
    return max_lane_avx2((vector_avx2)_mm512_castps512_ps256(_mm512_max_ps((__m512)v, folded)));
}

INLINE float sum_avx512(vector_avx512 v)
{
    __m512 folded = _mm512_shuffle_f32x4((__m512)v, (__m512)v, 0x4E);
    return sum_avx2((vector_avx2)_mm512_castps512_ps256(_mm512_add_ps((__m512)v, folded)));
}

INLINE vector_avx512 sum_each_avx512(const vector_avx512 *v)
{
    __m512 a[16];
    for (int i = 0; i < 16; i++)
        a[i] = (__m512)v[i];
    for (int i = 0; i < 8; i++)
        a[i] = _mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]) + _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
    for (int i = 0; i < 4; i++) {
        __m512d even = (__m512d)a[2 * i], odd = (__m512d)a[2 * i + 1];
        a[i] = (__m512)_mm512_unpacklo_pd(even, odd) + (__m512)_mm512_unpackhi_pd(even, odd);
    }
    for (int left = 2; left > 0; left /= 2)
        for (int i = 0; i < left; i++)
            a[i] = _mm512_shuffle_f32x4(a[2 * i], a[2 * i + 1], 0x88) +
                   _mm512_shuffle_f32x4(a[2 * i], a[2 * i + 1], 0xDD);
    return (vector_avx512)a[0];
}

INLINE double sum_doubles_avx512(doubles_avx512 v)
{
    __m512d folded = _mm512_shuffle_f64x2((__m512d)v, (__m512d)v, 0x4E);
    return sum_doubles_avx2((doubles_avx2)_mm512_castpd512_pd256(_mm512_add_pd((__m512d)v, folded)));
}

INLINE vector_avx512 shifted_avx512(vector_avx512 v, const int by)
{
    const __m512i none = _mm512_setzero_si512();
    return by == 1   ? (vector_avx512)_mm512_alignr_epi32((__m512i)v, none, 15)
           : by == 2 ? (vector_avx512)_mm512_alignr_epi32((__m512i)v, none, 14)
           : by == 4 ? (vector_avx512)_mm512_alignr_epi32((__m512i)v, none, 12)
                     : (vector_avx512)_mm512_alignr_epi32((__m512i)v, none, 8);
}

INLINE doubles_avx512 shifted_doubles_avx512(doubles_avx512 v, const int by)
{
    const __m512i none = _mm512_setzero_si512();
    return by == 1   ? (doubles_avx512)_mm512_alignr_epi64((__m512i)v, none, 7)
           : by == 2 ? (doubles_avx512)_mm512_alignr_epi64((__m512i)v, none, 6)
                     : (doubles_avx512)_mm512_alignr_epi64((__m512i)v, none, 4);
}

INLINE vector_avx512 turned_avx512(vector_avx512 v)
{
    const __m512i order = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return (vector_avx512)_mm512_permutexvar_ps(order, (__m512)v);
}

INLINE doubles_avx512 turned_doubles_avx512(doubles_avx512 v)
{
    return (doubles_avx512)_mm512_permutexvar_pd(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), (__m512d)v);
}

INLINE float last_avx512(vector_avx512 v)
{
    return v[15];
}

INLINE doubles_avx512 last_doubles_avx512(doubles_avx512 v)
{
    return (doubles_avx512)_mm512_permutexvar_pd(_mm512_set1_epi64(7), (__m512d)v);
}

INLINE vector_avx512 scale_by_pow2_avx512(vector_avx512 p, vector_avx512 n)
{
    return (vector_avx512)_mm512_scalef_ps((__m512)p, (__m512)n);
}

INLINE bool any_within_avx512(vector_avx512 v, float above, float below)
{
    __mmask16 over = _mm512_cmp_ps_mask((__m512)v, _mm512_set1_ps(above), _CMP_GT_OQ);
    return _mm512_mask_cmp_ps_mask(over, (__m512)v, _mm512_set1_ps(below), _CMP_LT_OQ) != 0;
}

INLINE bool all_within_avx512(vector_avx512 v, float above, float below)
{
    __mmask16 over = _mm512_cmp_ps_mask((__m512)v, _mm512_set1_ps(above), _CMP_GT_OQ);
    return _mm512_mask_cmp_ps_mask(over, (__m512)v, _mm512_set1_ps(below), _CMP_LT_OQ) == 0xFFFF;
}

#undef INLINE

#endif

#endif
