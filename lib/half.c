// SPDX-License-Identifier: Apache-2.0
#include "lib/half.h"

#include "lib/isa.h"

// Whole arrays without branches, for compilers to make vector code of.
static void to_float(const uint16_t *restrict halves, float *restrict values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t magnitude = halves[i] & 0x7FFFu, sign = (uint32_t)(halves[i] & 0x8000u) << 16;
        uint32_t normal = (magnitude << 13) + (magnitude >= 0x7C00u ? 224u << 23 : 112u << 23), small;
        float multiple = (float)(int32_t)magnitude * 0x1p-24f;
        memcpy(&small, &multiple, sizeof small);
        uint32_t bits = (magnitude < 0x400u ? small : normal) | sign;
        memcpy(&values[i], &bits, sizeof bits);
    }
}

static void from_float(const float *restrict values, uint16_t *restrict halves, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits, small;
        memcpy(&bits, &values[i], sizeof bits);
        uint32_t magnitude = bits & 0x7FFFFFFFu, sign = bits >> 16 & 0x8000u;
        uint32_t normal = (magnitude - 0x38000000u + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
        // Added to a half, a number below 2^-14 is rounded to a multiple of 2^-24.
        float size, sum;
        memcpy(&size, &magnitude, sizeof size);
        sum = size + 0.5f;
        memcpy(&small, &sum, sizeof small);
        uint32_t half = magnitude < 0x38800000u ? small - 0x3F000000u : normal;
        half = magnitude >= 0x477FF000u ? 0x7C00u : half; // rounds to 2^16 or above
        half = magnitude > 0x7F800000u ? 0x7E00u | (magnitude >> 13 & 0x1FFu) : half;
        halves[i] = (uint16_t)(half | sign);
    }
}

static void round_each(float *values, size_t count)
{
    uint16_t halves[64];
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < 64 ? count - i : 64;
        from_float(values + i, halves, n);
        to_float(halves, values + i, n);
    }
}

#if WNN_X86_64
#include <immintrin.h>

WNN_TARGET_AVX2 static void to_float_avx2(const uint16_t *halves, float *values, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(values + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(halves + i))));
    for (; i < count; i++)
        values[i] = _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(halves[i])));
}

WNN_TARGET_AVX2 static void from_float_avx2(const float *values, uint16_t *halves, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(halves + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < count; i++) {
        __m128i half = _mm_cvtps_ph(_mm_set_ss(values[i]), _MM_FROUND_TO_NEAREST_INT);
        halves[i] = (uint16_t)_mm_extract_epi16(half, 0);
    }
}

WNN_TARGET_AVX512 static void to_float_avx512(const uint16_t *halves, float *values, size_t count)
{
    size_t i = 0;
    for (; i + 32 <= count; i += 32) {
        __m512i both = _mm512_loadu_si512(halves + i);
        _mm512_storeu_ps(values + i, _mm512_cvtph_ps(_mm512_castsi512_si256(both)));
        _mm512_storeu_ps(values + i + 16, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(both, 1)));
    }
    for (; i < count; i += 16) {
        __mmask16 mask = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : (__mmask16)0xFFFF;
        __m256i some = _mm256_maskz_loadu_epi16(mask, halves + i);
        _mm512_mask_storeu_ps(values + i, mask, _mm512_cvtph_ps(some));
    }
}

WNN_TARGET_AVX512 static void from_float_avx512(const float *values, uint16_t *halves, size_t count)
{
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        _mm256_storeu_si256((__m256i *)(void *)(halves + i),
                            _mm512_cvtps_ph(_mm512_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
    if (i < count) {
        __mmask16 mask = (__mmask16)((1u << (count - i)) - 1);
        __m512 some = _mm512_maskz_loadu_ps(mask, values + i);
        _mm256_mask_storeu_epi16(halves + i, mask, _mm512_cvtps_ph(some, _MM_FROUND_TO_NEAREST_INT));
    }
}

WNN_TARGET_AVX2 static void round_each_avx2(float *values, size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT);
        _mm256_storeu_ps(values + i, _mm256_cvtph_ps(halves));
    }
    for (; i < count; i++) {
        __m128i half = _mm_cvtps_ph(_mm_set_ss(values[i]), _MM_FROUND_TO_NEAREST_INT);
        values[i] = _mm_cvtss_f32(_mm_cvtph_ps(half));
    }
}

WNN_TARGET_AVX512 static void round_each_avx512(float *values, size_t count)
{
    for (size_t i = 0; i < count; i += 16) {
        __mmask16 mask = count - i < 16 ? (__mmask16)((1u << (count - i)) - 1) : (__mmask16)0xFFFF;
        __m256i halves = _mm512_cvtps_ph(_mm512_maskz_loadu_ps(mask, values + i), _MM_FROUND_TO_NEAREST_INT);
        _mm512_mask_storeu_ps(values + i, mask, _mm512_cvtph_ps(halves));
    }
}

void wnn_half_to_float_array(const uint16_t *halves, float *values, size_t count)
{
    if (wnn_isa() == WNN_ISA_AVX512)
        to_float_avx512(halves, values, count);
    else if (wnn_isa() >= WNN_ISA_AVX2)
        to_float_avx2(halves, values, count);
    else
        to_float(halves, values, count);
}

void wnn_half_from_float_array(const float *values, uint16_t *halves, size_t count)
{
    if (wnn_isa() == WNN_ISA_AVX512)
        from_float_avx512(values, halves, count);
    else if (wnn_isa() >= WNN_ISA_AVX2)
        from_float_avx2(values, halves, count);
    else
        from_float(values, halves, count);
}

void wnn_half_round_array(float *values, size_t count)
{
    if (wnn_isa() == WNN_ISA_AVX512)
        round_each_avx512(values, count);
    else if (wnn_isa() >= WNN_ISA_AVX2)
        round_each_avx2(values, count);
    else
        round_each(values, count);
}
#else
void wnn_half_to_float_array(const uint16_t *halves, float *values, size_t count)
{
    to_float(halves, values, count);
}

void wnn_half_from_float_array(const float *values, uint16_t *halves, size_t count)
{
    from_float(values, halves, count);
}

void wnn_half_round_array(float *values, size_t count)
{
    round_each(values, count);
}
#endif
