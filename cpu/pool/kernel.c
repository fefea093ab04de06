// SPDX-License-Identifier: Apache-2.0
//
// The loops over elements of averagePool2d, l2Pool2d and maxPool2d, for each instruction set.

#include "cpu/pool/pool.h"

#include <float.h>
#include <math.h>

// Those of windows that end in the row.
__attribute__((unused)) // where there are only plain kernels
WNN_INLINE const float *
find_factors(const struct slide *slide, size_t row)
{
    size_t low = row + 1 - slide->height, high = row + 1;
    low = low > slide->padding ? low : slide->padding;
    high = high < slide->padding + slide->size ? high : slide->padding + slide->size;
    return slide->factors[high > low ? high - low : 0];
}

WNN_INLINE size_t tap_at(const struct lines *lines, size_t tap)
{
    size_t at = tap * lines->step;
    return lines->stride > 0 ? at % lines->stride * lines->part + at / lines->stride : at;
}

// A maximum that a NaN never leaves again, in a form for which there are two instructions.
WNN_INLINE float maximum_float(float a, float b)
{
    float max = b > a ? b : a;
    return b == b ? max : b;
}

#define MAXIMUM_FLOAT(a, b)   maximum_float(a, b)
#define MAXIMUM_INTEGER(a, b) ((b) > (a) ? (b) : (a))
#define AS_IT_IS(x)           (x)
#define ONLY(a, f)            (a)
#define KEY_OF_HALF(x)        wnn_half_key(x, WNN_HALF_NAN_LAST)
#define HALF_OF_KEY(a, f)     wnn_half_of_key(a, WNN_HALF_NAN_LAST)

// In float64 sums are right: squares neither overflow nor vanish there.
#define ADD(a, b)      ((a) + (b))
#define WIDEN(x)       (double)(x)
#define WIDEN_HALF(x)  (double)wnn_half_to_float(x)
#define SQUARE(x)      (WIDEN(x) * WIDEN(x))
#define SQUARE_HALF(x) (WIDEN_HALF(x) * WIDEN_HALF(x))
#define TIMES(a, f)    (float)((double)(a) * (f))
#define ROOT(a, f)     root(a)

// In float32 they are made if there are few: of float32, where that is seen from the results, and of float16,
// the squares of which fit.
#define FEW_TAPS          64
#define FEW_HALVES        4096
#define MIN_SQUARED       0x1p-50f
#define SQUARE_FLOAT(x)   ((x) * (x))
#define TIMES_FLOAT(a, f) ((a) * (f))

// The square root of a sum of squares of float32, brought into the range where one of float32 is exact
// enough.
WNN_INLINE float root(double sum)
{
    bool great = sum > 0x1p100, small = sum < 0x1p-100;
    double scale = great ? 0x1p-200 : small ? 0x1p200 : 1, back = great ? 0x1p100 : small ? 0x1p-100 : 1;
    return (float)((double)sqrtf((float)(sum * scale)) * back);
}

// float16 are converted so many at a time.
#define HALF_LANES WNN_BAND_LANES
typedef float floats16 __attribute__((vector_size(HALF_LANES * sizeof(float))));
typedef int32_t ints16 __attribute__((vector_size(HALF_LANES * sizeof(int32_t))));

// Squares of float16 are exact in float32: added to in one rounding or after one, sums are the same.
WNN_INLINE void add_squares_any(floats16 *sum, const floats16 *x)
{
    *sum += *x * *x;
}

static void load_halves_any(floats16 *to, const uint16_t *from)
{
    wnn_half_to_float_array(from, (float *)to, HALF_LANES);
}

static void store_halves_any(uint16_t *to, const float *from)
{
    wnn_half_from_float_array(from, to, HALF_LANES);
}

WNN_INLINE void take_roots_any(float *sums, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sums[i] = sqrtf(sums[i]);
}

WNN_INLINE void take_half_roots_any(float *sums)
{
    take_roots_any(sums, HALF_LANES);
}

#if WNN_X86_64
#include <immintrin.h>

WNN_TARGET_AVX2 WNN_INLINE void add_squares_avx2(floats16 *sum, const floats16 *x)
{
    *sum += *x * *x;
}

WNN_TARGET_AVX512 WNN_INLINE void add_squares_avx512(floats16 *sum, const floats16 *x)
{
    __m512 value = _mm512_loadu_ps((const float *)x);
    _mm512_storeu_ps((float *)sum, _mm512_fmadd_ps(value, value, _mm512_loadu_ps((const float *)sum)));
}

WNN_TARGET_AVX2 WNN_INLINE void take_roots_avx2(float *sums, size_t count)
{
    for (size_t i = 0; i < count; i += 8)
        _mm256_storeu_ps(sums + i, _mm256_sqrt_ps(_mm256_loadu_ps(sums + i)));
}

WNN_TARGET_AVX2 WNN_INLINE void take_half_roots_avx2(float *sums)
{
    take_roots_avx2(sums, HALF_LANES);
}

// The instruction takes as long as all the rest: from an estimate and one step of Newton's, to a unit or so.
WNN_TARGET_AVX512 WNN_INLINE __m512 root_avx512(__m512 sum)
{
    __m512 inverse = _mm512_rsqrt14_ps(sum), half = _mm512_set1_ps(0.5f);
    __m512 root = _mm512_mul_ps(sum, inverse);
    __m512 rest = _mm512_fnmadd_ps(_mm512_mul_ps(inverse, half), root, half);
    __mmask16 own = _mm512_fpclass_ps_mask(sum, 0x9F); // NaN, zeros and infinities are their own
    return _mm512_mask_mov_ps(_mm512_fmadd_ps(root, rest, root), own, sum);
}

WNN_TARGET_AVX512 WNN_INLINE void take_roots_avx512(float *sums, size_t count)
{
    for (size_t i = 0; i < count; i += 16)
        _mm512_storeu_ps(sums + i, root_avx512(_mm512_loadu_ps(sums + i)));
}

// The estimate is exact to an eighth of a unit of float16.
WNN_TARGET_AVX512 WNN_INLINE __m512 half_root_avx512(__m512 sum)
{
    const __m512i own = _mm512_set1_epi32(1 << 8 | 1 << 20); // zeros and infinity
    return _mm512_fixupimm_ps(_mm512_mul_ps(sum, _mm512_rsqrt14_ps(sum)), sum, own, 0);
}

WNN_TARGET_AVX512 WNN_INLINE void take_half_roots_avx512(float *sums)
{
    _mm512_storeu_ps(sums, half_root_avx512(_mm512_loadu_ps(sums)));
}

WNN_TARGET_AVX2 static inline void load_halves_avx2(floats16 *to, const uint16_t *from)
{
    for (int i = 0; i < HALF_LANES; i += 8)
        _mm256_storeu_ps((float *)to + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
}

WNN_TARGET_AVX2 static inline void store_halves_avx2(uint16_t *to, const float *from)
{
    for (int i = 0; i < HALF_LANES; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
}

WNN_TARGET_AVX512 static inline void load_halves_avx512(floats16 *to, const uint16_t *from)
{
    _mm512_storeu_ps((float *)to, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from)));
}

WNN_TARGET_AVX512 static inline void store_halves_avx512(uint16_t *to, const float *from)
{
    _mm256_storeu_si256((__m256i *)(void *)to,
                        _mm512_cvtps_ph(_mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
}

#include "cpu/pool/slide.inc"
#endif

// Masks of the first n of a vector's lanes start n before the middle.
#define FIRST(Mask) static const Mask Mask##_first[128] = {[0 ... 63] = -1}
FIRST(int8_t);
FIRST(int16_t);
FIRST(int32_t);
FIRST(int64_t);

#define RUN_BYTES 256 // of sums that grow side by side

#define LOOPS "cpu/pool/kernel.inc"
#include "cpu/simd/each_isa.inc"

const struct loops *wnn_pool2d_loops(enum op op, WNNDataType type, uint64_t taps)
{
    bool mean = op == WNN_OP_averagePool2d;
    if (op != WNN_OP_maxPool2d && type == WNNDataType_Float16) {
        if (taps > FEW_HALVES)
            return mean ? &average_half_wide_any : &l2_half_wide_any;
        return mean ? WNN_BEST_ISA(&average_half) : WNN_BEST_ISA(&l2_half);
    }
    if (op != WNN_OP_maxPool2d && taps > FEW_TAPS)
        return mean ? WNN_BEST_ISA(&average) : WNN_BEST_ISA(&l2);
    if (op != WNN_OP_maxPool2d)
        return mean ? WNN_BEST_ISA(&average_few) : WNN_BEST_ISA(&l2_few);
    switch (type) {
    case WNNDataType_Int32:
        return WNN_BEST_ISA_256(&max_i32);
    case WNNDataType_Uint32:
        return WNN_BEST_ISA_256(&max_u32);
    case WNNDataType_Int64:
        return WNN_BEST_ISA_256(&max_i64);
    case WNNDataType_Uint64:
        return WNN_BEST_ISA_256(&max_u64);
    case WNNDataType_Int8:
        return WNN_BEST_ISA(&max_i8);
    case WNNDataType_Uint8:
        return WNN_BEST_ISA(&max_u8);
    case WNNDataType_Float16:
        return WNN_BEST_ISA(&max_half);
    default:
        return WNN_BEST_ISA(&max_float);
    }
}
