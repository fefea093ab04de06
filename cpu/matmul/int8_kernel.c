// SPDX-License-Identifier: Apache-2.0
//
// The vector loops below products of 8-bit integers, once for each instruction set, and the choice between
// them.

#include "cpu/matmul/int8.h"

#include "cpu/elementwise/elementwise.h"
#include "cpu/simd/lanes.h"

// Sums wrap.
typedef uint32_t words_any __attribute__((vector_size(16)));

#if WNN_X86_64
typedef uint32_t words_avx2 __attribute__((vector_size(32)));
typedef uint32_t words_avx512 __attribute__((vector_size(64)));

// ---------------------------------------------------------------------------------------------------------------
// AVX-512 with VNNI
// ---------------------------------------------------------------------------------------------------------------

#define AVX512 __attribute__((target(WNN_AVX512_FEATURES ",avx512vnni")))

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
WNN_INLINE AVX512 void finish_floats(words_avx512 sum[8][2], int height, const struct int8_finish *finish,
                                     char *c, size_t ldc)
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
            __m512 product = _mm512_fmadd_ps(_mm512_cvtepi32_ps((__m512i)sum[r][v]), scale[v], offset[v]);
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

WNN_INLINE AVX512 __m512i pack_row(const words_avx512 sum[2], const struct to_bytes *to)
{
    __m512i rounded[2];
    UNROLL
    for (int v = 0; v < 2; v++) {
        __m512 value = _mm512_fmadd_ps(_mm512_cvtepi32_ps((__m512i)sum[v]), to->scale[v], to->offset[v]);
        rounded[v] = _mm512_cvtps_epi32(_mm512_min_ps(value, to->high));
    }
    return _mm512_adds_epi16(_mm512_packs_epi32(rounded[0], rounded[1]), to->zero);
}

// Two rows at a time.
WNN_INLINE AVX512 void finish_bytes(words_avx512 sum[8][2], int height, const struct int8_finish *finish,
                                    char *c, size_t ldc)
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

WNN_INLINE AVX512 void finish_avx512(words_avx512 sum[8][2], int height, const struct int8_finish *finish,
                                     char *c, size_t ldc)
{
    if (finish->bytes)
        finish_bytes(sum, height, finish, c, ldc);
    else
        finish_floats(sum, height, finish, c, ldc);
}

#define INLINE WNN_INLINE AVX512

INLINE vector_avx512 words_to_float_avx512(words_avx512 words)
{
    return (vector_avx512)_mm512_cvtepi32_ps((__m512i)words);
}

INLINE words_avx512 round_words_avx512(vector_avx512 values)
{
    return (words_avx512)_mm512_cvtps_epi32((__m512)values);
}

// The low bytes of all lanes.
INLINE void store_bytes_avx512(void *to, words_avx512 words)
{
    _mm_storeu_si128(to, _mm512_cvtepi32_epi8((__m512i)words));
}

INLINE words_avx512 dot_avx512(words_avx512 sum, words_avx512 a, words_avx512 b)
{
    return (words_avx512)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}
#undef INLINE

#define OWN(x)               avx512_vnni_##x
#define NAME(x)              x##_avx512
#define ISA                  512
#define TARGET               AVX512
#define MR                   8
#define SIZE                 1
#define DOT(sum, a, b, flip) ((flip) ? dot_avx512(sum, b, a) : dot_avx512(sum, a, b))
#define DEPTHWISE            depthwise_avx512
#define FINISH               finish_avx512
#include "cpu/matmul/int8_kernel.inc"

// ---------------------------------------------------------------------------------------------------------------
// AVX2, with and without VNNI
// ---------------------------------------------------------------------------------------------------------------

#define AVX_VNNI __attribute__((target(WNN_AVX2_FEATURES ",avxvnni")))
#define INLINE   WNN_INLINE WNN_TARGET_AVX2

INLINE vector_avx2 words_to_float_avx2(words_avx2 words)
{
    return (vector_avx2)_mm256_cvtepi32_ps((__m256i)words);
}

INLINE words_avx2 round_words_avx2(vector_avx2 values)
{
    return (words_avx2)_mm256_cvtps_epi32((__m256)values);
}

INLINE void store_bytes_avx2(void *to, words_avx2 words)
{
    __m256i order = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12,
                                     -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i bytes = _mm256_shuffle_epi8((__m256i)words, order);
    int32_t low = _mm256_extract_epi32(bytes, 0), high = _mm256_extract_epi32(bytes, 4);
    memcpy(to, &low, sizeof low);
    memcpy((char *)to + sizeof low, &high, sizeof high);
}

INLINE words_avx2 dot_avx2(words_avx2 sum, words_avx2 a, words_avx2 b)
{
    return sum + (words_avx2)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}
#undef INLINE

WNN_INLINE AVX_VNNI words_avx2 dot_avx_vnni(words_avx2 sum, words_avx2 a, words_avx2 b)
{
    return (words_avx2)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)b);
}

#define OWN(x)               avx_vnni_##x
#define NAME(x)              x##_avx2
#define ISA                  256
#define TARGET               AVX_VNNI
#define MR                   4
#define SIZE                 1
#define DOT(sum, a, b, flip) ((flip) ? dot_avx_vnni(sum, b, a) : dot_avx_vnni(sum, a, b))
#include "cpu/matmul/int8_kernel.inc"

#define OWN(x)               avx2_##x
#define NAME(x)              x##_avx2
#define ISA                  256
#define TARGET               WNN_TARGET_AVX2
#define MR                   4
#define SIZE                 2
#define DOT(sum, a, b, flip) dot_avx2(sum, a, b)
#include "cpu/matmul/int8_kernel.inc"
#endif

// ---------------------------------------------------------------------------------------------------------------
// Any processor
// ---------------------------------------------------------------------------------------------------------------

WNN_INLINE vector_any words_to_float_any(words_any words)
{
    ints_any ints = (ints_any)words;
    return (vector_any){(float)ints[0], (float)ints[1], (float)ints[2], (float)ints[3]};
}

// The values are in the range of 9-bit integers.
WNN_INLINE words_any round_words_any(vector_any f)
{
    return (words_any)(ints_any){(int32_t)wnn_cpu_round_even(f[0]), (int32_t)wnn_cpu_round_even(f[1]),
                                 (int32_t)wnn_cpu_round_even(f[2]), (int32_t)wnn_cpu_round_even(f[3])};
}

WNN_INLINE void store_bytes_any(char *to, words_any words)
{
    for (int i = 0; i < 4; i++)
        to[i] = (char)words[i];
}

// The two halves of each lane.
WNN_INLINE words_any dot_any(words_any sum, words_any a, words_any b)
{
#if WNN_X86_64
    return sum + (words_any)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
    ints_any low = (ints_any)(a << 16) >> 16, low_b = (ints_any)(b << 16) >> 16;
    return sum + (words_any)(low * low_b) + (words_any)(((ints_any)a >> 16) * ((ints_any)b >> 16));
#endif
}

#define OWN(x)  any_##x
#define NAME(x) x##_any
#define ISA     128
#define TARGET
#define MR                   4
#define SIZE                 2
#define DOT(sum, a, b, flip) dot_any(sum, a, b)
#include "cpu/matmul/int8_kernel.inc"

const struct int8_kernels *wnn_int8_kernels(const struct cpu_target *target)
{
#if WNN_X86_64
    if (target->avx512_vnni)
        return &avx512_vnni_kernels;
    if (target->avx_vnni)
        return &avx_vnni_kernels;
    if (target->isa >= WNN_ISA_AVX2)
        return &avx2_kernels;
#endif
    (void)target;
    return &any_kernels;
}
