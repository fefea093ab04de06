// SPDX-License-Identifier: Apache-2.0
#include "lib/half.h"

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx,f16c"))) static size_t to_float_f16c(const uint16_t *halves, float *values,
                                                                size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(values + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(halves + i))));
    return i;
}

__attribute__((target("avx,f16c"))) static size_t from_float_f16c(const float *values, uint16_t *halves,
                                                                  size_t count)
{
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(halves + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
    return i;
}

// Every processor with AVX2 has these conversions too; not every compiler knows how to ask for them by name.
static int has_f16c(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
static size_t to_float_f16c(const uint16_t *halves, float *values, size_t count)
{
    (void)halves, (void)values, (void)count;
    return 0;
}

static size_t from_float_f16c(const float *values, uint16_t *halves, size_t count)
{
    (void)values, (void)halves, (void)count;
    return 0;
}

static int has_f16c(void)
{
    return 0;
}
#endif

void wnn_half_to_float_array(const uint16_t *halves, float *values, size_t count)
{
    size_t i = has_f16c() ? to_float_f16c(halves, values, count) : 0;
    for (; i < count; i++)
        values[i] = wnn_half_to_float(halves[i]);
}

void wnn_half_from_float_array(const float *values, uint16_t *halves, size_t count)
{
    size_t i = has_f16c() ? from_float_f16c(values, halves, count) : 0;
    for (; i < count; i++)
        halves[i] = wnn_half_from_float(values[i]);
}
