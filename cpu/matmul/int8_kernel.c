// SPDX-License-Identifier: Apache-2.0
//
// The vector loops below products of 8-bit integers, once for each instruction set, and the choice between
// them.

#include "cpu/matmul/int8.h"

#include "cpu/elementwise/elementwise.h"

// Loops over the vectors of a tile must disappear, so that the tile stays in registers.
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#if WNN_X86_64
#include <cpuid.h>
#include <immintrin.h>

static inline int32_t load_group(const void *from)
{
    int32_t group;
    memcpy(&group, from, sizeof group);
    return group;
}

// ---------------------------------------------------------------------------------------------------------------
// AVX-512 with VNNI
// ---------------------------------------------------------------------------------------------------------------

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma")))

#define NAME(x)                 x##_64
#define LANES                   16
#define INTS                    __m512i
#define FLOATS                  __m512
#define OP(x)                   _mm512_##x
#define LOAD(p)                 _mm512_loadu_si512(p)
#define LOAD_BYTES(mask, p)     _mm512_maskz_loadu_epi8((__mmask64)(mask), p)
#define STORE_BYTES(p, mask, v) _mm512_mask_storeu_epi8(p, (__mmask64)(mask), v)
#define XOR(a, b)               _mm512_xor_si512(a, b)
#include "cpu/matmul/int8_depthwise.inc"

#define NAME(x)                 x##_32
#define LANES                   8
#define INTS                    __m256i
#define FLOATS                  __m256
#define OP(x)                   _mm256_##x
#define LOAD(p)                 _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define LOAD_BYTES(mask, p)     _mm256_maskz_loadu_epi8((__mmask32)(mask), p)
#define STORE_BYTES(p, mask, v) _mm256_mask_storeu_epi8(p, (__mmask32)(mask), v)
#define XOR(a, b)               _mm256_xor_si256(a, b)
#include "cpu/matmul/int8_depthwise.inc"

#define NAME(x)                 x##_16
#define LANES                   4
#define INTS                    __m128i
#define FLOATS                  __m128
#define OP(x)                   _mm_##x
#define LOAD(p)                 _mm_loadu_si128((const __m128i *)(const void *)(p))
#define LOAD_BYTES(mask, p)     _mm_maskz_loadu_epi8((__mmask16)(mask), p)
#define STORE_BYTES(p, mask, v) _mm_mask_storeu_epi8(p, (__mmask16)(mask), v)
#define XOR(a, b)               _mm_xor_si128(a, b)
#include "cpu/matmul/int8_depthwise.inc"

static void depthwise_avx512(const struct int8_depthwise *work, const uint8_t *const *pixels, size_t count,
                             uint8_t *out)
{
    const int8_t *weights = work->weights;
    for (size_t at = 0, width; at < work->channels; at += width) {
        width = wnn_int8_depthwise_width(work->channels - at);
        (width == 64   ? depthwise_64
         : width == 32 ? depthwise_32
                       : depthwise_16)(work, pixels, count, at, weights, out);
        weights += width * work->columns * work->groups * 4;
    }
}

// Sums to floats, both vectors of a row.
static inline __attribute__((always_inline)) AVX512 void
finish_floats(__m512i sum[8][2], int height, const struct int8_finish *finish, char *c, size_t ldc)
{
    // Pairs of lanes of 128 bits, as wnn_int8_column_order took them apart.
    const __m512i halves[2] = {_mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11),
                               _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15)};
    __m512 low = _mm512_set1_ps(finish->low), high = _mm512_set1_ps(finish->high), scale[2], offset[2];
    UNROLL
    for (int v = 0; v < 2; v++) {
        scale[v] = _mm512_loadu_ps(finish->scale + 16 * v);
        offset[v] = _mm512_loadu_ps(finish->offset + 16 * v);
    }
    UNROLL
    for (int r = 0; r < height; r++, c += ldc) {
        __m512d value[2];
        UNROLL
        for (int v = 0; v < 2; v++) {
            __m512 product = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[r][v]), scale[v], offset[v]);
            value[v] = _mm512_castps_pd(_mm512_min_ps(_mm512_max_ps(product, low), high));
        }
        UNROLL
        for (int v = 0; v < 2; v++)
            _mm512_storeu_pd(c + 64 * v, _mm512_permutex2var_pd(value[0], halves[v], value[1]));
    }
}

// How sums become bytes. Only the upper bound is one of floats: conversion of what is too small, and packing,
// saturate. Signed bytes differ from unsigned ones by 128 until the last step.
struct to_bytes {
    __m512 high, scale[2], offset[2];
    __m512i zero, least, flip;
};

static inline __attribute__((always_inline)) AVX512 __m512i pack_row(const __m512i sum[2],
                                                                     const struct to_bytes *to)
{
    __m512i rounded[2];
    UNROLL
    for (int v = 0; v < 2; v++) {
        __m512 value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[v]), to->scale[v], to->offset[v]);
        rounded[v] = _mm512_cvtps_epi32(_mm512_min_ps(value, to->high));
    }
    return _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), to->zero);
}

// Two rows at a time.
static inline __attribute__((always_inline)) AVX512 void
finish_bytes(__m512i sum[8][2], int height, const struct int8_finish *finish, char *c, size_t ldc)
{
    int shift = finish->is_signed ? 128 : 0;
    struct to_bytes to = {.high = _mm512_set1_ps(finish->high),
                          .zero = _mm512_set1_epi16((short)(finish->zero + shift)),
                          .least = _mm512_set1_epi8((char)((int)finish->low + finish->zero + shift)),
                          .flip = _mm512_set1_epi8((char)shift)};
    __m512i rows = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    UNROLL
    for (int v = 0; v < 2; v++) {
        to.scale[v] = _mm512_loadu_ps(finish->scale + 16 * v);
        to.offset[v] = _mm512_loadu_ps(finish->offset + 16 * v);
    }
    UNROLL
    for (int r = 0; r < height; r += 2, c += 2 * ldc) {
        __m512i first = pack_row(sum[r], &to), second = height > 1 ? pack_row(sum[r + 1], &to) : first;
        __m512i bytes = _mm512_max_epu8(_mm512_packus_epi16(first, second), to.least);
        bytes = _mm512_permutexvar_epi64(rows, _mm512_xor_si512(bytes, to.flip));
        _mm256_storeu_si256((__m256i *)(void *)c, _mm512_castsi512_si256(bytes));
        if (height > 1)
            _mm256_storeu_si256((__m256i *)(void *)(c + ldc), _mm512_extracti64x4_epi64(bytes, 1));
    }
}

static inline __attribute__((always_inline)) AVX512 void
finish_avx512(__m512i sum[8][2], int height, const struct int8_finish *finish, char *c, size_t ldc)
{
    if (finish->bytes)
        finish_bytes(sum, height, finish, c, ldc);
    else
        finish_floats(sum, height, finish, c, ldc);
}

#define NAME(x)              avx512_##x
#define TARGET               AVX512
#define MR                   8
#define LANES                16
#define SIZE                 1
#define INTS                 __m512i
#define FLOATS               __m512
#define LOAD(p)              _mm512_loadu_si512(p)
#define SPLAT(i)             _mm512_set1_epi32(i)
#define SPLAT_GROUP(p)       _mm512_set1_epi32(load_group(p))
#define ADD(a, b)            _mm512_add_epi32(a, b)
#define DOT(sum, a, b, flip) ((flip) ? _mm512_dpbusd_epi32(sum, b, a) : _mm512_dpbusd_epi32(sum, a, b))
#define TO_FLOAT(i)          _mm512_cvtepi32_ps(i)
#define ROUND(f)             _mm512_cvtps_epi32(f)
#define LOAD_FLOATS(p)       _mm512_loadu_ps(p)
#define STORE_FLOATS(p, f)   _mm512_storeu_ps(p, f)
#define SPLAT_FLOAT(x)       _mm512_set1_ps(x)
#define FMA(a, b, c)         _mm512_fmadd_ps(a, b, c)
#define LEAST(a, b)          _mm512_min_ps(a, b)
#define GREATEST(a, b)       _mm512_max_ps(a, b)
#define STORE_BYTES(p, i)    _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8(i))
#define DEPTHWISE            depthwise_avx512
#define FINISH               finish_avx512
#include "cpu/matmul/int8_kernel.inc"

// ---------------------------------------------------------------------------------------------------------------
// AVX2, with and without VNNI
// ---------------------------------------------------------------------------------------------------------------

static inline __attribute__((always_inline, target("avx2"))) void store_bytes_avx2(void *to, __m256i values)
{
    __m256i order = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12,
                                     -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i bytes = _mm256_shuffle_epi8(values, order);
    int32_t low = _mm256_extract_epi32(bytes, 0), high = _mm256_extract_epi32(bytes, 4);
    memcpy(to, &low, sizeof low);
    memcpy((char *)to + sizeof low, &high, sizeof high);
}

#define INTS               __m256i
#define FLOATS             __m256
#define LOAD(p)            _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define SPLAT(i)           _mm256_set1_epi32(i)
#define SPLAT_GROUP(p)     _mm256_set1_epi32(load_group(p))
#define ADD(a, b)          _mm256_add_epi32(a, b)
#define TO_FLOAT(i)        _mm256_cvtepi32_ps(i)
#define ROUND(f)           _mm256_cvtps_epi32(f)
#define LOAD_FLOATS(p)     _mm256_loadu_ps(p)
#define STORE_FLOATS(p, f) _mm256_storeu_ps(p, f)
#define SPLAT_FLOAT(x)     _mm256_set1_ps(x)
#define FMA(a, b, c)       _mm256_fmadd_ps(a, b, c)
#define LEAST(a, b)        _mm256_min_ps(a, b)
#define GREATEST(a, b)     _mm256_max_ps(a, b)
#define STORE_BYTES(p, i)  store_bytes_avx2(p, i)
#define NAME(x)            avxvnni_##x
#define TARGET             __attribute__((target("avxvnni,avx2,fma")))
#define MR                 4
#define LANES              8
#define SIZE               1
#define DOT(sum, a, b, flip)                                                                                 \
    ((flip) ? _mm256_dpbusd_avx_epi32(sum, b, a) : _mm256_dpbusd_avx_epi32(sum, a, b))
#include "cpu/matmul/int8_kernel.inc"

#define INTS                 __m256i
#define FLOATS               __m256
#define LOAD(p)              _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define SPLAT(i)             _mm256_set1_epi32(i)
#define SPLAT_GROUP(p)       _mm256_set1_epi32(load_group(p))
#define ADD(a, b)            _mm256_add_epi32(a, b)
#define TO_FLOAT(i)          _mm256_cvtepi32_ps(i)
#define ROUND(f)             _mm256_cvtps_epi32(f)
#define LOAD_FLOATS(p)       _mm256_loadu_ps(p)
#define STORE_FLOATS(p, f)   _mm256_storeu_ps(p, f)
#define SPLAT_FLOAT(x)       _mm256_set1_ps(x)
#define FMA(a, b, c)         _mm256_fmadd_ps(a, b, c)
#define LEAST(a, b)          _mm256_min_ps(a, b)
#define GREATEST(a, b)       _mm256_max_ps(a, b)
#define STORE_BYTES(p, i)    store_bytes_avx2(p, i)
#define NAME(x)              avx2_##x
#define TARGET               __attribute__((target("avx2,fma")))
#define MR                   4
#define LANES                8
#define SIZE                 2
#define DOT(sum, a, b, flip) _mm256_add_epi32(sum, _mm256_madd_epi16(a, b))
#include "cpu/matmul/int8_kernel.inc"
#endif

// ---------------------------------------------------------------------------------------------------------------
// Any processor
// ---------------------------------------------------------------------------------------------------------------

typedef int32_t base_ints __attribute__((vector_size(16)));
typedef float base_floats __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) base_ints base_load(const void *from)
{
    base_ints vector;
    memcpy(&vector, from, sizeof vector);
    return vector;
}

static inline __attribute__((always_inline)) base_ints base_splat_group(const void *from)
{
    int32_t group;
    memcpy(&group, from, sizeof group);
    return (base_ints){group, group, group, group};
}

// The two halves of each lane. Sums wrap, as the instructions that this stands for do.
static inline __attribute__((always_inline)) base_ints base_dot(base_ints sum, base_ints a, base_ints b)
{
#if WNN_X86_64
    return (base_ints)_mm_add_epi32((__m128i)sum, _mm_madd_epi16((__m128i)a, (__m128i)b));
#else
    typedef uint32_t wraps __attribute__((vector_size(16)));
    base_ints low = (base_ints)((wraps)a << 16) >> 16, low_b = (base_ints)((wraps)b << 16) >> 16;
    return (base_ints)((wraps)sum + (wraps)(low * low_b) + (wraps)((a >> 16) * (b >> 16)));
#endif
}

static inline __attribute__((always_inline)) base_ints base_add(base_ints a, base_ints b)
{
    typedef uint32_t wraps __attribute__((vector_size(16)));
    return (base_ints)((wraps)a + (wraps)b);
}

static inline __attribute__((always_inline)) base_floats base_choose(base_ints first, base_floats a,
                                                                     base_floats b)
{
    return (base_floats)((first & (base_ints)a) | (~first & (base_ints)b));
}

static inline __attribute__((always_inline)) base_floats base_to_float(base_ints i)
{
    return (base_floats){(float)i[0], (float)i[1], (float)i[2], (float)i[3]};
}

// The values are in the range of 9-bit integers.
static inline __attribute__((always_inline)) base_ints base_round(base_floats f)
{
    return (base_ints){(int32_t)wnn_cpu_round_even(f[0]), (int32_t)wnn_cpu_round_even(f[1]),
                       (int32_t)wnn_cpu_round_even(f[2]), (int32_t)wnn_cpu_round_even(f[3])};
}

static inline __attribute__((always_inline)) base_floats base_load_floats(const float *from)
{
    base_floats vector;
    memcpy(&vector, from, sizeof vector);
    return vector;
}

static inline __attribute__((always_inline)) void base_store_bytes(char *to, base_ints values)
{
    for (int i = 0; i < 4; i++)
        to[i] = (char)values[i];
}

#define NAME(x) base_##x
#define TARGET
#define MR                   4
#define LANES                4
#define SIZE                 2
#define INTS                 base_ints
#define FLOATS               base_floats
#define LOAD(p)              base_load(p)
#define SPLAT(i)             ((base_ints){(i), (i), (i), (i)})
#define SPLAT_GROUP(p)       base_splat_group(p)
#define ADD(a, b)            base_add(a, b)
#define DOT(sum, a, b, flip) base_dot(sum, a, b)
#define TO_FLOAT(i)          base_to_float(i)
#define ROUND(f)             base_round(f)
#define LOAD_FLOATS(p)       base_load_floats(p)
#define STORE_FLOATS(p, f)   memcpy(p, &(f), sizeof(f))
#define SPLAT_FLOAT(x)       ((base_floats){(x), (x), (x), (x)})
#define FMA(a, b, c)         ((a) * (b) + (c))
#define LEAST(a, b)          base_choose((a) < (b), a, b)
#define GREATEST(a, b)       base_choose((a) > (b), a, b)
#define STORE_BYTES(p, i)    base_store_bytes(p, i)
#include "cpu/matmul/int8_kernel.inc"

#if WNN_X86_64
// Not every compiler knows its name.
static bool has_avx_vnni(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && eax >> 4 & 1;
}
#endif

const struct int8_kernels *wnn_int8_kernel_set(unsigned number)
{
#if WNN_X86_64
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    if (avx512 && __builtin_cpu_supports("avx512vnni") && number-- == 0)
        return &avx512_kernels;
    if (avx2 && has_avx_vnni() && number-- == 0)
        return &avxvnni_kernels;
    if (avx2 && number-- == 0)
        return &avx2_kernels;
#endif
    return number == 0 ? &base_kernels : NULL;
}

const struct int8_kernels *wnn_int8_kernels(void)
{
    return wnn_int8_kernel_set(0);
}
