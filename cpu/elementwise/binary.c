// SPDX-License-Identifier: Apache-2.0
//
// Operators of two inputs that look at single elements, which broadcast: arithmetic, comparisons, logic,
// prelu.

#include "cpu/elementwise/elementwise.h"
#include "cpu/elementwise/halves.h"
#include "cpu/simd/vmath.h"

#include <math.h>

// `expression` of a and b.
#define BINARY_BODY(name, In, Out, expression)                                                               \
    WNN_BODY name##_body(const void *left, const void *right, void *out, size_t count)                       \
    {                                                                                                        \
        const In *as = left, *bs = right;                                                                    \
        Out *ys = out;                                                                                       \
        WNN_INDEPENDENT                                                                                      \
        for (size_t i = 0; i < count; i++) {                                                                 \
            const In a = as[i], b = bs[i];                                                                   \
            ys[i] = (Out)(expression);                                                                       \
        }                                                                                                    \
    }
#define BINARY(name, In, Out, expression)                                                                    \
    BINARY_BODY(name, In, Out, expression)                                                                   \
    WNN_DISPATCH_256(name, (const void *left, const void *right, void *out, size_t count),                   \
                     (left, right, out, count))
#define BINARY_FLOAT(name, Out, expression)                                                                  \
    BINARY_BODY(name##_f32, float, Out, expression)                                                          \
    WNN_DISPATCH(name##_f32, (const void *left, const void *right, void *out, size_t count),                 \
                 (left, right, out, count))

// ---------------------------------------------------------------------------------------------------------------
// Loops
// ---------------------------------------------------------------------------------------------------------------

// Sums, differences and products wrap, so that they are the same bits with and without a sign; so is
// equality.
#define BINARY_BITS(type, Unsigned)                                                                          \
    BINARY(add_##type, Unsigned, Unsigned, a + b)                                                            \
    BINARY(sub_##type, Unsigned, Unsigned, a - b)                                                            \
    BINARY(mul_##type, Unsigned, Unsigned, a *b)                                                             \
    BINARY(equal_##type, Unsigned, uint8_t, a == b)                                                          \
    BINARY(not_equal_##type, Unsigned, uint8_t, a != b)

// By squaring, modulo 2^64.
static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if (exponent & 1)
            result *= base;
        base *= base;
    }
    return result;
}

// The inverse of a number other than 1 and -1 is 0, that of 0 too.
static uint64_t signed_power(int64_t base, int64_t exponent)
{
    if (exponent >= 0)
        return power((uint64_t)base, (uint64_t)exponent);
    if (base == -1)
        return exponent % 2 == 0 ? 1 : UINT64_MAX;
    return base == 1;
}

// Remainders by 0 are the dividend, as what division leaves of it; those by -1 are 0.
static int64_t floor_remainder(int64_t a, int64_t b)
{
    int64_t rest = b == 0 ? a : b == -1 ? 0 : a % b;
    return b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// Both are exact but for the sum, which is rounded once. A zero has the sign that other results would have.
static float floor_remainder_f32(float a, float b)
{
    float rest = fmodf(a, b);
    return rest == 0 ? copysignf(0, b) : (rest < 0) != (b < 0) ? rest + b : rest;
}

// Dividing by 0 leaves the dividend, and dividing by -1 negates, which wraps.
#define BINARY_SIGNED(type, Int, Unsigned)                                                                   \
    BINARY(div_##type, Int, Int, b == 0 ? a : b == -1 ? (Int)(0 - (Unsigned)a) : (Int)(a / b))               \
    BINARY(pow_##type, Int, Int, signed_power(a, b))                                                         \
    BINARY(modulus_floor_##type, Int, Int, floor_remainder(a, b))                                            \
    BINARY(modulus_truncate_##type, Int, Int, b == 0 ? a : b == -1 ? 0 : a % b)                              \
    BINARY(prelu_##type, Int, Int, a < 0 ? (Int)((Unsigned)a * (Unsigned)b) : a)                             \
    BINARY_ORDER(type, Int)
#define BINARY_UNSIGNED(type, Unsigned)                                                                      \
    BINARY(div_##type, Unsigned, Unsigned, b == 0 ? a : a / b)                                               \
    BINARY(pow_##type, Unsigned, Unsigned, power(a, b))                                                      \
    BINARY(modulus_##type, Unsigned, Unsigned, b == 0 ? a : a % b)                                           \
    BINARY_ORDER(type, Unsigned)                                                                             \
    BINARY_BITS(type, Unsigned)
#define BINARY_ORDER(type, Int)                                                                              \
    BINARY(max_##type, Int, Int, a > b ? a : b)                                                              \
    BINARY(min_##type, Int, Int, a < b ? a : b)                                                              \
    BINARY(greater_##type, Int, uint8_t, a > b)                                                              \
    BINARY(greater_or_equal_##type, Int, uint8_t, a >= b)

BINARY_SIGNED(i8, int8_t, uint8_t)
BINARY_SIGNED(i32, int32_t, uint32_t)
BINARY_SIGNED(i64, int64_t, uint64_t)
BINARY_UNSIGNED(u8, uint8_t)
BINARY_UNSIGNED(u32, uint32_t)
BINARY_UNSIGNED(u64, uint64_t)

BINARY_FLOAT(add, float, a + b)
BINARY_FLOAT(sub, float, a - b)
BINARY_FLOAT(mul, float, a *b)
BINARY_FLOAT(div, float, a / b)
BINARY_FLOAT(max, float, ((a > b) | (a != a)) ? a : b)
BINARY_FLOAT(min, float, ((a < b) | (a != a)) ? a : b)
BINARY_FLOAT(prelu, float, a < 0 ? a * b : a)
BINARY_FLOAT(modulus_floor, float, floor_remainder_f32(a, b))
BINARY_FLOAT(modulus_truncate, float, fmodf(a, b))
BINARY_FLOAT(equal, uint8_t, a == b)
BINARY_FLOAT(not_equal, uint8_t, a != b)
BINARY_FLOAT(greater, uint8_t, a > b)
BINARY_FLOAT(greater_or_equal, uint8_t, a >= b)

#define HALVES(name, function)                                                                               \
    static bool name##_halves(const uint16_t *left, const uint16_t *right, uint16_t *out, size_t count,      \
                              bool stream)                                                                   \
    {                                                                                                        \
        return wnn_cpu_halves(function, left, right, out, count, 0, 0, stream);                              \
    }

HALVES(add, HALVES_ADD)
HALVES(div, HALVES_DIV)
HALVES(max, HALVES_MAX)
HALVES(min, HALVES_MIN)
HALVES(mul, HALVES_MUL)
HALVES(prelu, HALVES_PRELU)
HALVES(sub, HALVES_SUB)

BINARY_FLOAT(square, float, ((void)b, a *a))
BINARY_FLOAT(cube, float, ((void)b, (double)a *(double)a *(double)a))

static void pow_f32(const void *left, const void *right, void *out, size_t count)
{
    wnn_vmath_pair(VMATH_POW, left, right, out, count);
}

BINARY(and_u8, uint8_t, uint8_t, (a != 0) & (b != 0))
BINARY(or_u8, uint8_t, uint8_t, (a | b) != 0)
BINARY(xor_u8, uint8_t, uint8_t, (a != 0) ^ (b != 0))

// ---------------------------------------------------------------------------------------------------------------
// The table
// ---------------------------------------------------------------------------------------------------------------

// float16 goes through the loop of float32.
struct binary {
    binary_loop loop[WNN_DATA_TYPE_COUNT];
    size_t grain;
    bool swapped;            // the loop takes the operands the other way round
    binary_half_loop halves; // of float16 as it lies in memory, or NULL
};

#define FLOAT(name) [WNNDataType_Float32] = name##_f32, [WNNDataType_Float16] = name##_f32
#define SIGNED(name)                                                                                         \
    [WNNDataType_Int32] = name##_i32, [WNNDataType_Int64] = name##_i64, [WNNDataType_Int8] = name##_i8
#define UNSIGNED(name)                                                                                       \
    [WNNDataType_Uint32] = name##_u32, [WNNDataType_Uint64] = name##_u64, [WNNDataType_Uint8] = name##_u8
#define BITS(name)                                                                                           \
    UNSIGNED(name), [WNNDataType_Int32] = name##_u32, [WNNDataType_Int64] = name##_u64,                      \
                    [WNNDataType_Int8] = name##_u8

static const struct binary add_row = {{FLOAT(add), BITS(add)}, WNN_GRAIN_CHEAP, false, add_halves};
static const struct binary sub_row = {{FLOAT(sub), BITS(sub)}, WNN_GRAIN_CHEAP, false, sub_halves};
static const struct binary mul_row = {{FLOAT(mul), BITS(mul)}, WNN_GRAIN_CHEAP, false, mul_halves};
static const struct binary div_row = {
    {FLOAT(div), SIGNED(div), UNSIGNED(div)}, WNN_GRAIN_CHEAP, false, div_halves};
static const struct binary max_row = {
    {FLOAT(max), SIGNED(max), UNSIGNED(max)}, WNN_GRAIN_CHEAP, false, max_halves};
static const struct binary min_row = {
    {FLOAT(min), SIGNED(min), UNSIGNED(min)}, WNN_GRAIN_CHEAP, false, min_halves};
static const struct binary pow_row = {{FLOAT(pow), SIGNED(pow), UNSIGNED(pow)}, WNN_GRAIN_COSTLY, false};
static const struct binary modulusFloor_row = {
    {FLOAT(modulus_floor), SIGNED(modulus_floor), UNSIGNED(modulus)}, WNN_GRAIN_COSTLY, false};
static const struct binary modulusTruncate_row = {
    {FLOAT(modulus_truncate), SIGNED(modulus_truncate), UNSIGNED(modulus)}, WNN_GRAIN_COSTLY, false};
static const struct binary prelu_row = {{FLOAT(prelu), SIGNED(prelu)}, WNN_GRAIN_CHEAP, false, prelu_halves};
static const struct binary equal_row = {{FLOAT(equal), BITS(equal)}, WNN_GRAIN_CHEAP, false};
static const struct binary notEqual_row = {{FLOAT(not_equal), BITS(not_equal)}, WNN_GRAIN_CHEAP, false};
static const struct binary greater_row = {
    {FLOAT(greater), SIGNED(greater), UNSIGNED(greater)}, WNN_GRAIN_CHEAP, false};
static const struct binary greaterOrEqual_row = {
    {FLOAT(greater_or_equal), SIGNED(greater_or_equal), UNSIGNED(greater_or_equal)}, WNN_GRAIN_CHEAP, false};
static const struct binary lesser_row = {
    {FLOAT(greater), SIGNED(greater), UNSIGNED(greater)}, WNN_GRAIN_CHEAP, true};
static const struct binary lesserOrEqual_row = {
    {FLOAT(greater_or_equal), SIGNED(greater_or_equal), UNSIGNED(greater_or_equal)}, WNN_GRAIN_CHEAP, true};
static const struct binary logicalAnd_row = {{[WNNDataType_Uint8] = and_u8}, WNN_GRAIN_CHEAP, false};
static const struct binary logicalOr_row = {{[WNNDataType_Uint8] = or_u8}, WNN_GRAIN_CHEAP, false};
static const struct binary logicalXor_row = {{[WNNDataType_Uint8] = xor_u8}, WNN_GRAIN_CHEAP, false};

static const struct binary *const operators[WNN_OP_COUNT] = {
#define OP(...)
#define OP_BINARY(id, ...) [WNN_OP_##id] = &id##_row,
#include "ops/ops.def"
};

// ---------------------------------------------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------------------------------------------

struct job {
    binary_loop loop;
    binary_half_loop halves; // or NULL
    struct view left, right;
    unsigned char *out;
    size_t out_size;
    bool non_temporal;
};

static void binary_piece(void *argument, size_t begin, size_t end)
{
    const struct job *job = argument;
    struct cursor left, right;
    struct chunk_room room;
    room.non_temporal = job->non_temporal;
    wnn_cpu_cursor_init(&left, &job->left);
    wnn_cpu_cursor_init(&right, &job->right);
    for (size_t i = begin, n; i < end; i += n) {
        n = end - i < WNN_CHUNK ? end - i : WNN_CHUNK;
        unsigned char *out = job->out + i * job->out_size;
        job->loop(wnn_cpu_cursor_read(&left, i, n), wnn_cpu_cursor_read(&right, i, n),
                  wnn_cpu_chunk_begin(&room, out), n);
        wnn_cpu_chunk_end(&room, out, n * job->out_size);
    }
    wnn_cpu_chunks_end(&room);
}

// float16 as it lies in memory.
static void halves_piece(void *argument, size_t begin, size_t end)
{
    const struct job *job = argument;
    struct cursor left, right;
    wnn_cpu_cursor_init(&left, &job->left);
    wnn_cpu_cursor_init(&right, &job->right);
    for (size_t i = begin, n; i < end; i += n) {
        n = end - i < WNN_HALVES_CHUNK ? end - i : WNN_HALVES_CHUNK;
        job->halves(wnn_cpu_cursor_read(&left, i, n), wnn_cpu_cursor_read(&right, i, n),
                    (uint16_t *)(void *)job->out + i, n, job->non_temporal);
    }
    if (job->non_temporal)
        wnn_nt_fence();
}

static void half_piece(void *argument, size_t begin, size_t end)
{
    const struct job *job = argument;
    struct cursor left, right;
    struct chunk_room room;
    _Alignas(64) float a[WNN_CHUNK], b[WNN_CHUNK];
    room.non_temporal = job->non_temporal;
    wnn_cpu_cursor_init(&left, &job->left);
    wnn_cpu_cursor_init(&right, &job->right);
    for (size_t i = begin, n; i < end; i += n) {
        n = end - i < WNN_CHUNK ? end - i : WNN_CHUNK;
        unsigned char *out = job->out + i * job->out_size;
        void *place = wnn_cpu_chunk_begin(&room, out);
        const uint16_t *x = wnn_cpu_cursor_read(&left, i, n), *y = wnn_cpu_cursor_read(&right, i, n);
        wnn_cpu_expect(&room, x + WNN_CHUNK, place, n);
        wnn_cpu_expect(&room, y + WNN_CHUNK, place, n);
        wnn_half_to_float_array(x, a, n);
        wnn_half_to_float_array(y, b, n);
        if (job->out_size == sizeof(uint16_t)) {
            job->loop(a, b, a, n);
            wnn_half_from_float_array(a, place, n);
        } else {
            job->loop(a, b, place, n);
        }
        wnn_cpu_chunk_end(&room, out, n * job->out_size);
    }
    wnn_cpu_chunks_end(&room);
}

// The same exponent for all: a power that is a product is rounded once, too.
static binary_loop power_loop(const struct tensor *exponent)
{
    float number = exponent->count == 1 ? wnn_cpu_first_float(exponent) : 0;
    return number == 2 ? square_f32 : number == 3 ? cube_f32 : pow_f32;
}

static void run_binary_step(const struct chunk_step *step, const void *const in[3], void *out, size_t count)
{
    step->loop.binary(in[0], in[1], out, count);
}

static void run_swapped_step(const struct chunk_step *step, const void *const in[3], void *out, size_t count)
{
    step->loop.binary(in[1], in[0], out, count);
}

static bool run_halves(const struct chunk_step *step, const uint16_t *const in[3], uint16_t *out,
                       size_t count, bool stream)
{
    return step->half_loop.binary(in[0], in[1], out, count, stream);
}

struct chunk_step wnn_cpu_binary_step(enum op op, WNNDataType type)
{
    const struct binary *binary = operators[op];
    binary_half_loop halves = type == WNNDataType_Float16 ? binary->halves : NULL;
    return (struct chunk_step){.run = binary->swapped ? run_swapped_step : run_binary_step,
                               .halves = halves ? run_halves : NULL,
                               .loop.binary = binary->loop[type],
                               .half_loop.binary = halves,
                               .grain = binary->grain};
}

struct chunk_step wnn_cpu_power_step(const struct tensor *exponent)
{
    return (struct chunk_step){
        .run = run_binary_step, .loop.binary = power_loop(exponent), .grain = WNN_GRAIN_COSTLY};
}

static void run_binary(const struct kernel_call *call)
{
    const struct binary *binary = operators[call->node->op];
    const struct tensor *out = call->out;
    if (out->count == 0)
        return;
    WNNDataType type = call->in[0].type;
    struct job job = {
        .loop = call->node->op == WNN_OP_pow && wnn_dtype_is_float(type) ? power_loop(&call->in[1])
                                                                         : binary->loop[type],
        .halves = binary->halves && binary->halves(NULL, NULL, NULL, 0, false) ? binary->halves : NULL,
        .out = out->data,
        .out_size = wnn_dtype_bits(out->type) / 8,
        .non_temporal = wnn_cpu_chunks_non_temporal(call, out),
    };
    wnn_cpu_view_init(&job.left, &call->in[binary->swapped], &out->shape);
    wnn_cpu_view_init(&job.right, &call->in[!binary->swapped], &out->shape);
    wnn_parallel_for(call->parallel, out->count, binary->grain,
                     type != WNNDataType_Float16 ? binary_piece
                     : job.halves                ? halves_piece
                                                 : half_piece,
                     &job);
}

const struct kernel wnn_cpu_binary = {.run = run_binary, .in_place = 3};
