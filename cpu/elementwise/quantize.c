// SPDX-License-Identifier: Apache-2.0
//
// quantizeLinear and dequantizeLinear, with scales and zero points for each element or for blocks of them.

#include "cpu/elementwise/elementwise.h"
#include "cpu/simd/runs.h"

#if WNN_X86_64
#include <immintrin.h>
#endif

struct job {
    quantize_loop loop;
    struct view input, scale, zero;
    size_t count;
    unsigned char *out;
    WNNDataType type; // of the output
    bool non_temporal;
};

// ---------------------------------------------------------------------------------------------------------------
// quantizeLinear
// ---------------------------------------------------------------------------------------------------------------

// The sum of two integral numbers is exact in Sum wherever it matters, that is, before it has left the range
// of the result for good; as a floating-point type it takes infinities along. Compilers do badly with
// conditions in front of a conversion to a narrower type, hence the second loop. count is at most
// WNN_FLOATS_CHUNK.
#define QUANTIZE(name, Int, Sum, Wide, lowest, highest)                                                      \
    WNN_BODY quantize_##name##_body(const void *x, const float *scale, const void *zero, void *out,          \
                                    size_t count)                                                            \
    {                                                                                                        \
        const float *xs = x;                                                                                 \
        const Int *zs = zero;                                                                                \
        Int *ys = out;                                                                                       \
        Wide sums[WNN_FLOATS_CHUNK];                                                                         \
        for (size_t i = 0; i < count; i++) {                                                                 \
            float steps = wnn_cpu_round_even(xs[i] / scale[i]);                                              \
            Sum sum = (Sum)(steps != steps ? 0.0f : steps) + (Sum)zs[i];                                     \
            sum = sum < (Sum)(lowest) ? (Sum)(lowest) : sum;                                                 \
            sum = sum > (Sum)(highest) ? (Sum)(highest) : sum;                                               \
            sums[i] = (Wide)sum;                                                                             \
        }                                                                                                    \
        for (size_t i = 0; i < count; i++)                                                                   \
            ys[i] = (Int)sums[i];                                                                            \
    }                                                                                                        \
    WNN_DISPATCH_256(quantize_##name,                                                                        \
                     (const void *x, const float *scale, const void *zero, void *out, size_t count),         \
                     (x, scale, zero, out, count))

// For types of at most 8 bits, outside of which lies all that is beyond 1024. With AVX-512, which has
// instructions for all that is to be done with a quotient; returns whether the processor has it.
#if WNN_X86_64
#define AHEAD 2048 // bytes from what is read to what is fetched

WNN_TARGET_AVX512 static void quantize_small_avx512(const float *x, const float *scale, const uint8_t *zero,
                                                    uint8_t *out, size_t count, int lowest, int highest)
{
    for (size_t i = 0; i < count; i += 16) {
        __mmask16 some = (__mmask16)wnn_first_bits(count - i);
        _mm_prefetch((const char *)(x + i) + AHEAD, _MM_HINT_T0);
        __m128i bytes = _mm_maskz_loadu_epi8(some, zero + i);
        __m512i zeros = lowest < 0 ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
        __m512 steps = _mm512_div_ps(_mm512_maskz_loadu_ps(some, x + i),
                                     _mm512_mask_loadu_ps(_mm512_set1_ps(1), some, scale + i));
        steps = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(steps, steps, _CMP_ORD_Q), steps); // NaN: 0
        steps = _mm512_max_ps(_mm512_min_ps(steps, _mm512_set1_ps(1024)), _mm512_set1_ps(-1024));
        __m512i sums = _mm512_add_epi32(_mm512_cvtps_epi32(steps), zeros);
        sums = _mm512_min_epi32(sums, _mm512_set1_epi32(highest));
        sums = _mm512_max_epi32(sums, _mm512_set1_epi32(lowest));
        _mm_mask_storeu_epi8(out + i, some, _mm512_cvtepi32_epi8(sums));
    }
}

static bool quantize_small(const void *x, const float *scale, const void *zero, void *out, size_t count,
                           int lowest, int highest)
{
    if (wnn_isa() != WNN_ISA_AVX512)
        return false;
    quantize_small_avx512(x, scale, zero, out, count, lowest, highest);
    return true;
}
#else
static bool quantize_small(const void *x, const float *scale, const void *zero, void *out, size_t count,
                           int lowest, int highest)
{
    (void)x, (void)scale, (void)zero, (void)out, (void)count, (void)lowest, (void)highest;
    return false;
}
#endif

#define QUANTIZE_SMALL(name, Int, lowest, highest)                                                           \
    WNN_BODY quantize_##name##_plain_body(const void *x, const float *scale, const void *zero, void *out,    \
                                          size_t count)                                                      \
    {                                                                                                        \
        const float *xs = x;                                                                                 \
        const Int *zs = zero;                                                                                \
        Int *ys = out;                                                                                       \
        int32_t sums[WNN_FLOATS_CHUNK];                                                                      \
        for (size_t i = 0; i < count; i++) {                                                                 \
            int32_t sum = wnn_cpu_round_small(xs[i] / scale[i]) + zs[i];                                     \
            sum = sum < (lowest) ? (lowest) : sum;                                                           \
            sums[i] = sum > (highest) ? (highest) : sum;                                                     \
        }                                                                                                    \
        for (size_t i = 0; i < count; i++)                                                                   \
            ys[i] = (Int)sums[i];                                                                            \
    }                                                                                                        \
    WNN_DISPATCH_256(quantize_##name##_plain,                                                                \
                     (const void *x, const float *scale, const void *zero, void *out, size_t count),         \
                     (x, scale, zero, out, count))                                                           \
    static void quantize_##name(const void *x, const float *scale, const void *zero, void *out,              \
                                size_t count)                                                                \
    {                                                                                                        \
        if (!quantize_small(x, scale, zero, out, count, lowest, highest))                                    \
            quantize_##name##_plain(x, scale, zero, out, count);                                             \
    }

QUANTIZE_SMALL(i4, int8_t, -8, 7)
QUANTIZE_SMALL(u4, uint8_t, 0, 15)
QUANTIZE_SMALL(i8, int8_t, INT8_MIN, INT8_MAX)
QUANTIZE_SMALL(u8, uint8_t, 0, UINT8_MAX)
QUANTIZE(i32, int32_t, double, int32_t, INT32_MIN, INT32_MAX)
QUANTIZE(u32, uint32_t, double, uint32_t, 0, UINT32_MAX)

static const quantize_loop quantize_loops[WNN_DATA_TYPE_COUNT] = {
    [WNNDataType_Int4] = quantize_i4,   [WNNDataType_Uint4] = quantize_u4,
    [WNNDataType_Int8] = quantize_i8,   [WNNDataType_Uint8] = quantize_u8,
    [WNNDataType_Int32] = quantize_i32, [WNNDataType_Uint32] = quantize_u32,
};

// Writing an even element clears the other half, which is what the last byte of an odd number of elements
// holds.
void wnn_cpu_pack_pairs(const unsigned char *values, unsigned char *out, size_t index, size_t count)
{
    for (size_t i = 0; i < count; i++, index++) {
        unsigned value = values[i] & 0xFu;
        out[index / 2] = (unsigned char)(index % 2 == 0 ? value : (out[index / 2] & 0xFu) | value << 4);
    }
}

static void quantize_range(const struct job *job, size_t begin, size_t end)
{
    bool packed = wnn_dtype_bits(job->type) == 4;
    size_t size = packed ? 1 : wnn_dtype_bits(job->type) / 8;
    struct cursor input, scale, zero;
    float x[WNN_CHUNK], s[WNN_CHUNK];
    struct chunk_room room;
    room.non_temporal = job->non_temporal && !packed;
    wnn_cpu_cursor_init(&input, &job->input);
    wnn_cpu_cursor_init(&scale, &job->scale);
    wnn_cpu_cursor_init(&zero, &job->zero);
    for (size_t i = begin, n; i < end; i += n) {
        n = end - i < WNN_CHUNK ? end - i : WNN_CHUNK;
        unsigned char *out = job->out + i * size;
        job->loop(wnn_cpu_cursor_read_floats(&input, i, n, x), wnn_cpu_cursor_read_floats(&scale, i, n, s),
                  wnn_cpu_cursor_read(&zero, i, n), packed ? room.buffer : wnn_cpu_chunk_begin(&room, out),
                  n);
        if (packed)
            wnn_cpu_pack_pairs(room.buffer, job->out, i, n);
        else
            wnn_cpu_chunk_end(&room, out, n * size);
    }
    wnn_cpu_chunks_end(&room);
}

// Over pairs of elements, because two 4-bit ones share a byte.
static void quantize_piece(void *argument, size_t begin, size_t end)
{
    const struct job *job = argument;
    quantize_range(job, 2 * begin, 2 * end < job->count ? 2 * end : job->count);
}

static void run_quantize_linear(const struct kernel_call *call)
{
    const struct tensor *out = call->out;
    if (out->count == 0)
        return;
    struct job job = {
        .loop = quantize_loops[out->type],
        .count = out->count,
        .out = out->data,
        .type = out->type,
        .non_temporal = wnn_cpu_chunks_non_temporal(call, call->out),
    };
    wnn_cpu_view_init(&job.input, &call->in[0], &out->shape);
    wnn_cpu_view_init(&job.scale, &call->in[1], &out->shape);
    wnn_cpu_view_init(&job.zero, &call->in[2], &out->shape);
    wnn_parallel_for(call->parallel, (out->count + 1) / 2, WNN_GRAIN_CHEAP / 2, quantize_piece, &job);
}

// ---------------------------------------------------------------------------------------------------------------
// dequantizeLinear
// ---------------------------------------------------------------------------------------------------------------

// The difference is exact in Difference, and is rounded once.
#define DEQUANTIZE(name, Int, Difference)                                                                    \
    WNN_BODY dequantize_##name##_body(const void *x, const float *scale, const void *zero, void *out,        \
                                      size_t count)                                                          \
    {                                                                                                        \
        const Int *xs = x, *zs = zero;                                                                       \
        float *ys = out;                                                                                     \
        WNN_INDEPENDENT                                                                                      \
        for (size_t i = 0; i < count; i++)                                                                   \
            ys[i] = (float)((Difference)xs[i] - (Difference)zs[i]) * scale[i];                               \
    }                                                                                                        \
    WNN_DISPATCH_256(dequantize_##name,                                                                      \
                     (const void *x, const float *scale, const void *zero, void *out, size_t count),         \
                     (x, scale, zero, out, count))

DEQUANTIZE(i8, int8_t, int32_t)
DEQUANTIZE(u8, uint8_t, int32_t)
DEQUANTIZE(i32, int32_t, double)
DEQUANTIZE(u32, uint32_t, double)

static const quantize_loop dequantize_loops[WNN_DATA_TYPE_COUNT] = {
    [WNNDataType_Int4] = dequantize_i8,   [WNNDataType_Uint4] = dequantize_u8,
    [WNNDataType_Int8] = dequantize_i8,   [WNNDataType_Uint8] = dequantize_u8,
    [WNNDataType_Int32] = dequantize_i32, [WNNDataType_Uint32] = dequantize_u32,
};

static void dequantize_piece(void *argument, size_t begin, size_t end)
{
    const struct job *job = argument;
    struct cursor input, scale, zero;
    struct chunk_room room;
    float s[WNN_CHUNK];
    bool half = job->type == WNNDataType_Float16;
    size_t size = half ? sizeof(uint16_t) : sizeof(float);
    room.non_temporal = job->non_temporal;
    wnn_cpu_cursor_init(&input, &job->input);
    wnn_cpu_cursor_init(&scale, &job->scale);
    wnn_cpu_cursor_init(&zero, &job->zero);
    for (size_t i = begin, n; i < end; i += n) {
        n = end - i < WNN_CHUNK ? end - i : WNN_CHUNK;
        void *place = wnn_cpu_chunk_begin(&room, job->out + i * size);
        job->loop(wnn_cpu_cursor_read(&input, i, n), wnn_cpu_cursor_read_floats(&scale, i, n, s),
                  wnn_cpu_cursor_read(&zero, i, n), half ? s : place, n);
        if (half)
            wnn_half_from_float_array(s, place, n);
        wnn_cpu_chunk_end(&room, job->out + i * size, n * size);
    }
    wnn_cpu_chunks_end(&room);
}

static void run_dequantize_linear(const struct kernel_call *call)
{
    const struct tensor *out = call->out;
    if (out->count == 0)
        return;
    struct job job = {
        .loop = dequantize_loops[call->in[0].type],
        .count = out->count,
        .out = out->data,
        .type = out->type,
        .non_temporal = wnn_cpu_chunks_non_temporal(call, call->out),
    };
    wnn_cpu_view_init(&job.input, &call->in[0], &out->shape);
    wnn_cpu_view_init(&job.scale, &call->in[1], &out->shape);
    wnn_cpu_view_init(&job.zero, &call->in[2], &out->shape);
    wnn_parallel_for(call->parallel, out->count, WNN_GRAIN_CHEAP, dequantize_piece, &job);
}

// ---------------------------------------------------------------------------------------------------------------
// As steps of a chain
// ---------------------------------------------------------------------------------------------------------------

static void run_quantize_step(const struct chunk_step *step, const void *const in[3], void *out, size_t count)
{
    step->loop.quantize(in[0], in[1], in[2], out, count);
}

struct chunk_step wnn_cpu_quantize_step(WNNDataType to)
{
    return (struct chunk_step){
        .run = run_quantize_step, .loop.quantize = quantize_loops[to], .grain = WNN_GRAIN_CHEAP};
}

struct chunk_step wnn_cpu_dequantize_step(WNNDataType from)
{
    return (struct chunk_step){
        .run = run_quantize_step, .loop.quantize = dequantize_loops[from], .grain = WNN_GRAIN_CHEAP};
}

const struct kernel wnn_cpu_quantizeLinear = {.run = run_quantize_linear, .in_place = 7};
const struct kernel wnn_cpu_dequantizeLinear = {.run = run_dequantize_linear, .in_place = 7};
