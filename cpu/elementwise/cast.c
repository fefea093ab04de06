// SPDX-License-Identifier: Apache-2.0
//
// cast: each of the types of 8 bits and more to each.

#include "cpu/elementwise/elementwise.h"

#define CAST_BODY(name, From, To, expression)                                                                \
    WNN_BODY name##_body(const void *in, void *out, size_t count)                                            \
    {                                                                                                        \
        const From *xs = in;                                                                                 \
        To *ys = out;                                                                                        \
        WNN_INDEPENDENT                                                                                      \
        for (size_t i = 0; i < count; i++) {                                                                 \
            const From x = xs[i];                                                                            \
            ys[i] = (To)(expression);                                                                        \
        }                                                                                                    \
    }
#define CAST(name, From, To, expression)                                                                     \
    CAST_BODY(name, From, To, expression)                                                                    \
    WNN_DISPATCH_256(name, (const void *in, void *out, size_t count), (in, out, count))
// For those that AVX-512 has instructions for, and AVX2 has not.
#define CAST_512(name, From, To, expression)                                                                 \
    CAST_BODY(name, From, To, expression)                                                                    \
    WNN_DISPATCH(name, (const void *in, void *out, size_t count), (in, out, count))

// Integers keep their low bits, or are extended by what the type they come from has above them. The sign of
// the resulting type makes no difference.
CAST(i8_to_32, int8_t, uint32_t, x)
CAST(i8_to_64, int8_t, uint64_t, x)
CAST(u8_to_32, uint8_t, uint32_t, x)
CAST(u8_to_64, uint8_t, uint64_t, x)
CAST(i32_to_64, int32_t, uint64_t, x)
CAST(u32_to_64, uint32_t, uint64_t, x)
CAST(any32_to_8, uint32_t, uint8_t, x)
CAST(any64_to_8, uint64_t, uint8_t, x)
CAST(any64_to_32, uint64_t, uint32_t, x)

CAST(i8_to_f32, int8_t, float, x)
CAST(u8_to_f32, uint8_t, float, x)
CAST(i32_to_f32, int32_t, float, x)
CAST(u32_to_f32, uint32_t, float, x)
CAST_512(i64_to_f32, int64_t, float, x)
CAST_512(u64_to_f32, uint64_t, float, x)

// On the way to float16, for which a rounded float32 would be rounded twice: from 65520 on everything is
// infinity there, and what is not is exact in float32.
#define HALF_LIMIT 131072
CAST(i32_to_half_range, int32_t, float, x > HALF_LIMIT ? HALF_LIMIT : x < -HALF_LIMIT ? -HALF_LIMIT : x)
CAST(u32_to_half_range, uint32_t, float, x > HALF_LIMIT ? HALF_LIMIT : x)
CAST(i64_to_half_range, int64_t, float, x > HALF_LIMIT ? HALF_LIMIT : x < -HALF_LIMIT ? -HALF_LIMIT : x)
CAST(u64_to_half_range, uint64_t, float, x > HALF_LIMIT ? HALF_LIMIT : x)

// Saturates; NaN becomes 0. `low` and `high` are powers of two or 0, so that they are exact: the lowest value
// of the type, and the one above its highest.
#define FROM_FLOAT(name, To, low, high, lowest, highest)                                                     \
    static inline To saturated_##name(float x)                                                               \
    {                                                                                                        \
        bool below = x < (low), above = x >= (high);                                                         \
        To inside = (To)((below | above | (x != x)) ? 0.0f : x);                                             \
        return below ? (lowest) : above ? (highest) : inside;                                                \
    }                                                                                                        \
    CAST_512(name, float, To, saturated_##name(x))

// Where the bounds are exact and an int32 holds them.
static inline int32_t clamped(float x, float least, float greatest)
{
    x = x != x ? 0.0f : x;
    x = x < least ? least : x;
    return (int32_t)(x > greatest ? greatest : x);
}

CAST_512(f32_to_i8, float, int8_t, clamped(x, INT8_MIN, INT8_MAX))
CAST_512(f32_to_u8, float, uint8_t, clamped(x, 0, UINT8_MAX))
FROM_FLOAT(f32_to_i32, int32_t, -2147483648.0f, 2147483648.0f, INT32_MIN, INT32_MAX)
FROM_FLOAT(f32_to_u32, uint32_t, 0.0f, 4294967296.0f, 0, UINT32_MAX)
FROM_FLOAT(f32_to_i64, int64_t, -9223372036854775808.0f, 9223372036854775808.0f, INT64_MIN, INT64_MAX)
FROM_FLOAT(f32_to_u64, uint64_t, 0.0f, 18446744073709551616.0f, 0, UINT64_MAX)

#define TO(type) [WNNDataType_##type]

// From row to column. float16 is float32 before and after; a pair that is not here has the same bits on both
// sides.
static const cast_loop loops[WNN_DATA_TYPE_COUNT][WNN_DATA_TYPE_COUNT] = {
    [WNNDataType_Float32] = {TO(Int8) = f32_to_i8, TO(Uint8) = f32_to_u8, TO(Int32) = f32_to_i32,
                             TO(Uint32) = f32_to_u32, TO(Int64) = f32_to_i64, TO(Uint64) = f32_to_u64},
    [WNNDataType_Int8] = {TO(Float32) = i8_to_f32, TO(Float16) = i8_to_f32, TO(Int32) = i8_to_32,
                          TO(Uint32) = i8_to_32, TO(Int64) = i8_to_64, TO(Uint64) = i8_to_64},
    [WNNDataType_Uint8] = {TO(Float32) = u8_to_f32, TO(Float16) = u8_to_f32, TO(Int32) = u8_to_32,
                           TO(Uint32) = u8_to_32, TO(Int64) = u8_to_64, TO(Uint64) = u8_to_64},
    [WNNDataType_Int32] = {TO(Float32) = i32_to_f32, TO(Float16) = i32_to_half_range, TO(Int8) = any32_to_8,
                           TO(Uint8) = any32_to_8, TO(Int64) = i32_to_64, TO(Uint64) = i32_to_64},
    [WNNDataType_Uint32] = {TO(Float32) = u32_to_f32, TO(Float16) = u32_to_half_range, TO(Int8) = any32_to_8,
                            TO(Uint8) = any32_to_8, TO(Int64) = u32_to_64, TO(Uint64) = u32_to_64},
    [WNNDataType_Int64] = {TO(Float32) = i64_to_f32, TO(Float16) = i64_to_half_range, TO(Int8) = any64_to_8,
                           TO(Uint8) = any64_to_8, TO(Int32) = any64_to_32, TO(Uint32) = any64_to_32},
    [WNNDataType_Uint64] = {TO(Float32) = u64_to_f32, TO(Float16) = u64_to_half_range, TO(Int8) = any64_to_8,
                            TO(Uint8) = any64_to_8, TO(Int32) = any64_to_32, TO(Uint32) = any64_to_32},
};

struct job {
    void (*convert)(const struct job *job, const void *in, void *out, size_t count);
    cast_loop loop; // NULL: the bits stay, or float16 alone is converted
    const unsigned char *in;
    unsigned char *out;
    size_t in_size, out_size;
    bool non_temporal;
};

static void convert(const struct job *job, const void *in, void *out, size_t count)
{
    if (job->loop)
        job->loop(in, out, count);
    else if (in != out)
        memcpy(out, in, count * job->in_size);
}

static void convert_from_half(const struct job *job, const void *in, void *out, size_t count)
{
    if (!job->loop) {
        wnn_half_to_float_array(in, out, count);
        return;
    }
    _Alignas(64) float values[WNN_CHUNK];
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < WNN_CHUNK ? count - i : WNN_CHUNK;
        wnn_half_to_float_array((const uint16_t *)in + i, values, n);
        job->loop(values, (unsigned char *)out + i * job->out_size, n);
    }
}

static void convert_to_half(const struct job *job, const void *in, void *out, size_t count)
{
    if (!job->loop) {
        wnn_half_from_float_array(in, out, count);
        return;
    }
    _Alignas(64) float values[WNN_CHUNK];
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < WNN_CHUNK ? count - i : WNN_CHUNK;
        job->loop((const unsigned char *)in + i * job->in_size, values, n);
        wnn_half_from_float_array(values, (uint16_t *)out + i, n);
    }
}

static void cast_piece(void *argument, size_t begin, size_t end)
{
    const struct job *job = argument;
    struct chunk_room room;
    room.non_temporal = job->non_temporal;
    size_t most = room.non_temporal ? WNN_CHUNK : end - begin;
    for (size_t i = begin, n; i < end; i += n) {
        n = end - i < most ? end - i : most;
        unsigned char *out = job->out + i * job->out_size;
        job->convert(job, job->in + i * job->in_size, wnn_cpu_chunk_begin(&room, out), n);
        wnn_cpu_chunk_end(&room, out, n * job->out_size);
    }
    wnn_cpu_chunks_end(&room);
}

static void run_cast_step(const struct chunk_step *step, const void *const in[3], void *out, size_t count)
{
    if (step->loop.cast)
        step->loop.cast(in[0], out, count);
    else
        memcpy(out, in[0], count * step->size);
}

struct chunk_step wnn_cpu_cast_step(WNNDataType from, WNNDataType to)
{
    return (struct chunk_step){.run = run_cast_step,
                               .loop.cast =
                                   loops[from == WNNDataType_Float16 ? WNNDataType_Float32 : from][to],
                               .size = wnn_cpu_chunk_size(to),
                               .grain = WNN_GRAIN_CHEAP};
}

static void run_cast(const struct kernel_call *call)
{
    const struct tensor *in = call->in, *out = call->out;
    bool half_in = in->type == WNNDataType_Float16, half_out = out->type == WNNDataType_Float16;
    struct job job = {
        .convert = half_in == half_out ? convert
                   : half_in           ? convert_from_half
                                       : convert_to_half,
        .loop = loops[half_in ? WNNDataType_Float32 : in->type][out->type],
        .in = in->data,
        .out = out->data,
        .in_size = wnn_dtype_bits(in->type) / 8,
        .out_size = wnn_dtype_bits(out->type) / 8,
        .non_temporal = wnn_cpu_chunks_non_temporal(call, call->out),
    };
    wnn_parallel_for(call->parallel, out->count, WNN_GRAIN_CHEAP, cast_piece, &job);
}

const struct kernel wnn_cpu_cast = {.run = run_cast, .in_place = 1};
