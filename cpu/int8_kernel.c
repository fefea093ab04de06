// SPDX-License-Identifier: Apache-2.0
//
// The vector loops below products of 8-bit integers, once for each instruction set, and the choice between
// them.

#include "cpu/int8.h"

#include "cpu/elementwise.h"

// Loops over the vectors of a tile must disappear, so that the tile stays in registers.
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#if defined(__x86_64__)
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

// Four bytes of four taps each, side by side.
static inline __attribute__((always_inline)) AVX512 void interleave(const __m512i tap[4], __m512i group[4])
{
    __m512i low01 = _mm512_unpacklo_epi8(tap[0], tap[1]), high01 = _mm512_unpackhi_epi8(tap[0], tap[1]);
    __m512i low23 = _mm512_unpacklo_epi8(tap[2], tap[3]), high23 = _mm512_unpackhi_epi8(tap[2], tap[3]);
    group[0] = _mm512_unpacklo_epi16(low01, low23);
    group[1] = _mm512_unpackhi_epi16(low01, low23);
    group[2] = _mm512_unpacklo_epi16(high01, high23);
    group[3] = _mm512_unpackhi_epi16(high01, high23);
}

// 64 channels at a time. Interleaving leaves them in an order that packing the results undoes.
static AVX512 void depthwise_avx512(const uint8_t *const *taps, size_t groups, size_t channels, bool flip,
                                    const int8_t *weights, const struct int8_finish *finish, uint8_t *out)
{
    __m512 low = _mm512_set1_ps(finish->low), high = _mm512_set1_ps(finish->high);
    __m512i zero = _mm512_set1_epi16((short)finish->zero), change = _mm512_set1_epi8(flip ? (char)0x80 : 0);
    for (size_t at = 0; at < channels; at += 64) {
        size_t left = channels - at;
        __mmask64 mask = left < 64 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
        __m512i sum[4], group[4], tap[4];
        UNROLL
        for (int v = 0; v < 4; v++)
            sum[v] = _mm512_loadu_si512(finish->start + at + 16 * v);
        for (size_t g = 0; g < groups; g++, weights += 256) {
            UNROLL
            for (int t = 0; t < 4; t++)
                tap[t] = _mm512_xor_si512(_mm512_maskz_loadu_epi8(mask, taps[4 * g + t] + at), change);
            interleave(tap, group);
            UNROLL
            for (int v = 0; v < 4; v++)
                sum[v] = _mm512_dpbusd_epi32(sum[v], group[v], _mm512_loadu_si512(weights + 64 * v));
        }
        UNROLL
        for (int v = 0; v < 4; v++) {
            __m512 scale = _mm512_loadu_ps(finish->scale + at + 16 * v),
                   offset = _mm512_loadu_ps(finish->offset + at + 16 * v);
            __m512 value = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[v]), scale, offset);
            sum[v] = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_max_ps(value, low), high));
        }
        __m512i first = _mm512_add_epi16(_mm512_packs_epi32(sum[0], sum[1]), zero);
        __m512i second = _mm512_add_epi16(_mm512_packs_epi32(sum[2], sum[3]), zero);
        __m512i result =
            finish->is_signed ? _mm512_packs_epi16(first, second) : _mm512_packus_epi16(first, second);
        _mm512_mask_storeu_epi8(out + at, mask, result);
    }
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
#include "cpu/int8_kernel.inc"

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
#include "cpu/int8_kernel.inc"

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
#include "cpu/int8_kernel.inc"
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
#if defined(__x86_64__)
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
#include "cpu/int8_kernel.inc"

#if defined(__x86_64__)
// Not every compiler knows its name.
static bool has_avx_vnni(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && eax >> 4 & 1;
}
#endif

const struct int8_kernels *wnn_int8_kernel_set(unsigned number)
{
#if defined(__x86_64__)
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
