// SPDX-License-Identifier: Apache-2.0
//
// Operators of one input that look at single elements, and the same functions as fused activations.

#include "cpu/elementwise/elementwise.h"
#include "cpu/elementwise/halves.h"
#include "cpu/matmul/gemm.h"
#include "cpu/simd/vmath.h"

#include <math.h>

// `expression` of x and the constants c.
#define UNARY_BODY(name, In, Out, expression)                                                                \
    WNN_BODY name##_body(const void *in, void *out, size_t count, const struct unary_constants *constants)   \
    {                                                                                                        \
        const struct unary_constants c = *constants;                                                         \
        const In *xs = in;                                                                                   \
        Out *ys = out;                                                                                       \
        (void)c;                                                                                             \
        WNN_INDEPENDENT                                                                                      \
        for (size_t i = 0; i < count; i++) {                                                                 \
            const In x = xs[i];                                                                              \
            ys[i] = (Out)(expression);                                                                       \
        }                                                                                                    \
    }
#define UNARY(name, In, Out, expression)                                                                     \
    UNARY_BODY(name, In, Out, expression)                                                                    \
    WNN_DISPATCH_256(name,                                                                                   \
                     (const void *in, void *out, size_t count, const struct unary_constants *constants),     \
                     (in, out, count, constants))
#define UNARY_FLOAT(name, Out, expression)                                                                   \
    UNARY_BODY(name##_f32, float, Out, expression)                                                           \
    WNN_DISPATCH(name##_f32,                                                                                 \
                 (const void *in, void *out, size_t count, const struct unary_constants *constants),         \
                 (in, out, count, constants))

// ---------------------------------------------------------------------------------------------------------------
// float32
// ---------------------------------------------------------------------------------------------------------------

static inline float clamped(float x, float least, float greatest)
{
    float y = x < least ? least : x;
    return y > greatest ? greatest : y;
}

static inline float rounded_down(float x)
{
    float nearest = wnn_cpu_round_even(x);
    return nearest - (nearest > x ? 1.0f : 0.0f);
}

// alpha * x + beta with one rounding: the product has no more than 48 bits.
static inline float linear(float x, float alpha, float beta)
{
    return (float)((double)alpha * (double)x + (double)beta);
}

// x / 6, rounded correctly, of 0 and what is not below 2^-100: no such quotient is nearer to the middle of
// two float32 than a sixth of their distance. The differences of near numbers, and so the rest, are exact.
static inline float sixth(float x)
{
    float quotient = x * (1.0f / 6.0f), rest = x - 4.0f * quotient - 2.0f * quotient;
    return quotient + rest * (1.0f / 6.0f);
}

static inline float softsign(float x)
{
    return fabsf(x) == INFINITY ? copysignf(1.0f, x) : x / (1.0f + fabsf(x));
}

UNARY_FLOAT(abs, float, fabsf(x))
UNARY_FLOAT(ceil, float, -rounded_down(-x))
UNARY_FLOAT(clamp, float, clamped(x, c.alpha, c.beta))
UNARY_FLOAT(floor, float, rounded_down(x))
UNARY_FLOAT(hard_swish, float, x *sixth(clamped(x + 3.0f, 0.0f, 6.0f)))
UNARY_FLOAT(is_infinite, uint8_t, fabsf(x) == INFINITY)
UNARY_FLOAT(is_nan, uint8_t, x != x)
UNARY_FLOAT(leaky_relu, float, x < 0 ? c.alpha * x : x)
UNARY_FLOAT(linear, float, linear(x, c.alpha, c.beta))
UNARY_FLOAT(neg, float, -x)
UNARY_FLOAT(reciprocal, float, 1.0f / x)
UNARY_FLOAT(relu, float, x < 0 ? 0.0f : x)
UNARY_FLOAT(round_even, float, wnn_cpu_round_even(x))
UNARY_FLOAT(sign, float, (x > 0) - (x < 0))
UNARY_FLOAT(softsign, float, softsign(x))
UNARY_FLOAT(sqrt, float, sqrtf(x))

// In two loops, since compilers do badly with conditions behind a conversion.
static void hard_sigmoid_f32(const void *in, void *out, size_t count, const struct unary_constants *constants)
{
    const struct unary_constants bounds = {.alpha = 0.0f, .beta = 1.0f};
    const float *x = in;
    float *y = out;
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < WNN_CHUNK ? count - i : WNN_CHUNK;
        linear_f32(x + i, y + i, n, constants);
        clamp_f32(y + i, y + i, n, &bounds);
    }
}

#define LOOP(name, way, function)                                                                            \
    static void name(const void *in, void *out, size_t count, const struct unary_constants *constants)       \
    {                                                                                                        \
        way(function, in, out, count, constants->alpha);                                                     \
    }
#define FUNCTION(name, function)                                                                             \
    LOOP(name, wnn_vmath, function)                                                                          \
    LOOP(name##_stream, wnn_vmath_stream, function)                                                          \
    static bool name##_halves(const uint16_t *in, uint16_t *out, size_t count,                               \
                              const struct unary_constants *constants, bool stream)                          \
    {                                                                                                        \
        return wnn_vmath_halves(function, in, out, count, constants->alpha, stream);                         \
    }

FUNCTION(cos_f32, VMATH_COS)
FUNCTION(elu_f32, VMATH_ELU)
FUNCTION(erf_f32, VMATH_ERF)
FUNCTION(exp_f32, VMATH_EXP)
FUNCTION(gelu_f32, VMATH_GELU)
FUNCTION(log_f32, VMATH_LOG)
FUNCTION(sigmoid_f32, VMATH_SIGMOID)
FUNCTION(sin_f32, VMATH_SIN)
FUNCTION(softplus_f32, constants->alpha == 1 ? VMATH_SOFTPLUS_ONE : VMATH_SOFTPLUS)
FUNCTION(tan_f32, VMATH_TAN)
FUNCTION(tanh_f32, VMATH_TANH)

// ---------------------------------------------------------------------------------------------------------------
// float16
// ---------------------------------------------------------------------------------------------------------------

#define HALVES(name, function)                                                                               \
    static bool name##_halves(const uint16_t *in, uint16_t *out, size_t count,                               \
                              const struct unary_constants *constants, bool stream)                          \
    {                                                                                                        \
        return wnn_cpu_halves(function, in, NULL, out, count, constants->alpha, constants->beta, stream);    \
    }

HALVES(abs, HALVES_ABS)
HALVES(clamp, HALVES_CLAMP)
HALVES(hard_sigmoid, HALVES_HARD_SIGMOID)
HALVES(hard_swish, HALVES_HARD_SWISH)
HALVES(leaky_relu, HALVES_LEAKY_RELU)
HALVES(linear, HALVES_LINEAR)
HALVES(neg, HALVES_NEG)
HALVES(reciprocal, HALVES_RECIPROCAL)
HALVES(relu, HALVES_RELU)

// ---------------------------------------------------------------------------------------------------------------
// Integers
// ---------------------------------------------------------------------------------------------------------------

UNARY(logical_not_u8, uint8_t, uint8_t, x == 0)

// Negation wraps, for which it has to be unsigned.
#define UNARY_SIGNED(type, Int, Unsigned)                                                                    \
    UNARY(abs_##type, Int, Int, x < 0 ? (Int)(0 - (Unsigned)x) : x)                                          \
    UNARY(clamp_##type, Int, Int,                                                                            \
          x<c.least.value.i64 ? c.least.value.i64 : x> c.greatest.value.i64 ? c.greatest.value.i64 : x)      \
    UNARY(neg_##type, Int, Int, 0 - (Unsigned)x)                                                             \
    UNARY(relu_##type, Int, Int, x < 0 ? 0 : x)                                                              \
    UNARY(sign_##type, Int, Int, (x > 0) - (x < 0))
#define UNARY_UNSIGNED(type, Int)                                                                            \
    UNARY(clamp_##type, Int, Int,                                                                            \
          x<c.least.value.u64 ? c.least.value.u64 : x> c.greatest.value.u64 ? c.greatest.value.u64 : x)

UNARY_SIGNED(i8, int8_t, uint8_t)
UNARY_SIGNED(i32, int32_t, uint32_t)
UNARY_SIGNED(i64, int64_t, uint64_t)
UNARY_UNSIGNED(u8, uint8_t)
UNARY_UNSIGNED(u32, uint32_t)
UNARY_UNSIGNED(u64, uint64_t)

// ---------------------------------------------------------------------------------------------------------------
// The table
// ---------------------------------------------------------------------------------------------------------------

// Where a table of all float16 is faster: a lookup takes 0.3 ns with AVX2 and 0.6 ns on a Xeon that has
// AVX-512.
enum slow {
    SLOW_NOWHERE,
    SLOW_IN_256_BITS, // and less
    SLOW,
};

// float16 goes through the loop of float32.
struct unary {
    unary_loop loop[WNN_DATA_TYPE_COUNT];
    size_t grain;
    unary_loop stream; // of float32, past the caches; or NULL
    unary_half_loop
        halves; // of float16 as it lies in memory, or NULL; for 0 elements it says if there is one
    enum slow slow;
};

#define FLOAT(name) [WNNDataType_Float32] = name##_f32, [WNNDataType_Float16] = name##_f32
#define SIGNED(name)                                                                                         \
    [WNNDataType_Int32] = name##_i32, [WNNDataType_Int64] = name##_i64, [WNNDataType_Int8] = name##_i8
#define UNSIGNED(name)                                                                                       \
    [WNNDataType_Uint32] = name##_u32, [WNNDataType_Uint64] = name##_u64, [WNNDataType_Uint8] = name##_u8

#define CHEAP_ROW(name)          WNN_GRAIN_CHEAP, NULL, name##_halves
#define FUNCTION_ROW(name, slow) {FLOAT(name)}, WNN_GRAIN_COSTLY, name##_f32_stream, name##_f32_halves, slow

static const struct unary abs_row = {{FLOAT(abs), SIGNED(abs)}, CHEAP_ROW(abs)};
static const struct unary ceil_row = {{FLOAT(ceil)}, WNN_GRAIN_CHEAP};
static const struct unary clamp_row = {{FLOAT(clamp), SIGNED(clamp), UNSIGNED(clamp)}, CHEAP_ROW(clamp)};
static const struct unary cos_row = {FUNCTION_ROW(cos, SLOW)};
static const struct unary elu_row = {FUNCTION_ROW(elu, SLOW_IN_256_BITS)};
static const struct unary erf_row = {FUNCTION_ROW(erf, SLOW_IN_256_BITS)};
static const struct unary exp_row = {FUNCTION_ROW(exp, SLOW_NOWHERE)};
static const struct unary floor_row = {{FLOAT(floor)}, WNN_GRAIN_CHEAP};
static const struct unary gelu_row = {FUNCTION_ROW(gelu, SLOW_IN_256_BITS)};
static const struct unary hardSigmoid_row = {{FLOAT(hard_sigmoid)}, CHEAP_ROW(hard_sigmoid)};
static const struct unary hardSwish_row = {{FLOAT(hard_swish)}, CHEAP_ROW(hard_swish)};
static const struct unary isInfinite_row = {{FLOAT(is_infinite)}, WNN_GRAIN_CHEAP};
static const struct unary isNaN_row = {{FLOAT(is_nan)}, WNN_GRAIN_CHEAP};
static const struct unary leakyRelu_row = {{FLOAT(leaky_relu)}, CHEAP_ROW(leaky_relu)};
static const struct unary linear_row = {{FLOAT(linear)}, CHEAP_ROW(linear)};
static const struct unary log_row = {FUNCTION_ROW(log, SLOW_IN_256_BITS)};
static const struct unary logicalNot_row = {{[WNNDataType_Uint8] = logical_not_u8}, WNN_GRAIN_CHEAP};
static const struct unary neg_row = {{FLOAT(neg), SIGNED(neg)}, CHEAP_ROW(neg)};
static const struct unary reciprocal_row = {{FLOAT(reciprocal)}, CHEAP_ROW(reciprocal)};
static const struct unary relu_row = {{FLOAT(relu), SIGNED(relu)}, CHEAP_ROW(relu)};
static const struct unary roundEven_row = {{FLOAT(round_even)}, WNN_GRAIN_CHEAP};
static const struct unary sigmoid_row = {FUNCTION_ROW(sigmoid, SLOW_IN_256_BITS)};
static const struct unary sign_row = {{FLOAT(sign), SIGNED(sign)}, WNN_GRAIN_CHEAP};
static const struct unary sin_row = {FUNCTION_ROW(sin, SLOW)};
static const struct unary softplus_row = {FUNCTION_ROW(softplus, SLOW_IN_256_BITS)};
static const struct unary softsign_row = {{FLOAT(softsign)}, WNN_GRAIN_CHEAP};
static const struct unary sqrt_row = {{FLOAT(sqrt)}, WNN_GRAIN_CHEAP};
static const struct unary tan_row = {FUNCTION_ROW(tan, SLOW)};
static const struct unary tanh_row = {FUNCTION_ROW(tanh, SLOW_IN_256_BITS)};

static const struct unary *const operators[WNN_OP_COUNT] = {
#define OP(...)
#define OP_UNARY(id, ...) [WNN_OP_##id] = &id##_row,
#define OP_ACTIVATION     OP_UNARY
#include "ops/ops.def"
};

// A bound that is not given, or NaN, is none.
static WNNNumber bound(WNNNumber number, double none, WNNDataType type)
{
    if (number.type == WNNNumberType_Undefined ||
        (number.type == WNNNumberType_Float64 && isnan(number.value.f64)))
        number = wnnNumberFloat64(none);
    return wnn_number_convert(number, type);
}

// The attributes of a node have been rounded to its type, those of an activation were made before there was
// one.
static struct unary_constants read_constants(unsigned op, const void *attrs, WNNDataType type)
{
    struct unary_constants constants = {0};
    double alpha = 0, beta = 0;
    switch (op) {
    case WNN_OP_clamp: {
        const WNNClampOptions *options = attrs;
        constants.least = bound(options->minValue, -INFINITY, type);
        constants.greatest = bound(options->maxValue, INFINITY, type);
        alpha = wnn_number_double(constants.least);
        beta = wnn_number_double(constants.greatest);
        break;
    }
    case WNN_OP_elu:
        alpha = ((const WNNEluOptions *)attrs)->alpha;
        break;
    case WNN_OP_hardSigmoid:
        alpha = ((const WNNHardSigmoidOptions *)attrs)->alpha;
        beta = ((const WNNHardSigmoidOptions *)attrs)->beta;
        break;
    case WNN_OP_leakyRelu:
        alpha = ((const WNNLeakyReluOptions *)attrs)->alpha;
        break;
    case WNN_OP_linear:
        alpha = ((const WNNLinearOptions *)attrs)->alpha;
        beta = ((const WNNLinearOptions *)attrs)->beta;
        break;
    case WNN_OP_softplus:
        alpha = ((const WNNSoftplusOptions *)attrs)->steepness;
        break;
    default:
        break;
    }
    if (wnn_dtype_is_float(type)) {
        constants.alpha = (float)wnn_round_to_dtype(alpha, type);
        constants.beta = (float)wnn_round_to_dtype(beta, type);
    }
    return constants;
}

// ---------------------------------------------------------------------------------------------------------------
// Running
// ---------------------------------------------------------------------------------------------------------------

struct job {
    unary_loop loop, stream;
    unary_half_loop halves;
    struct unary_constants constants;
    const unsigned char *in;
    unsigned char *out;
    size_t in_size, out_size;
    bool half_in, half_out, non_temporal;
};

static void unary_piece(void *argument, size_t begin, size_t end)
{
    const struct job *job = argument;
    struct chunk_room room;
    _Alignas(64) float values[WNN_CHUNK];
    if (job->non_temporal && job->stream) {
        job->stream(job->in + begin * job->in_size, job->out + begin * job->out_size, end - begin,
                    &job->constants);
        wnn_nt_fence();
        return;
    }
    room.non_temporal = job->non_temporal;
    if (job->halves &&
        job->halves((const uint16_t *)(const void *)job->in + begin, (uint16_t *)(void *)job->out + begin,
                    end - begin, &job->constants, job->non_temporal)) {
        wnn_cpu_chunks_end(&room);
        return;
    }
    size_t most = job->half_in || room.non_temporal ? WNN_CHUNK : end - begin;
    for (size_t i = begin, n; i < end; i += n) {
        n = end - i < most ? end - i : most;
        const unsigned char *in = job->in + i * job->in_size;
        unsigned char *out = job->out + i * job->out_size;
        void *place = wnn_cpu_chunk_begin(&room, out);
        if (job->half_in) {
            wnn_cpu_expect(&room, in + WNN_CHUNK * job->in_size, place, n);
            wnn_half_to_float_array((const uint16_t *)(const void *)in, values, n);
            job->loop(values, job->half_out ? (void *)values : place, n, &job->constants);
            if (job->half_out)
                wnn_half_from_float_array(values, place, n);
        } else {
            job->loop(in, place, n, &job->constants);
        }
        wnn_cpu_chunk_end(&room, out, n * job->out_size);
    }
    wnn_cpu_chunks_end(&room);
}

static void apply(unsigned op, const void *attrs, const struct tensor *in, const struct tensor *out,
                  const struct parallel *parallel)
{
    struct job job = {
        .loop = operators[op]->loop[in->type],
        .stream = in->type == WNNDataType_Float32 ? operators[op]->stream : NULL,
        .halves = in->type == WNNDataType_Float16 ? operators[op]->halves : NULL,
        .constants = read_constants(op, attrs, in->type),
        .in = in->data,
        .out = out->data,
        .in_size = wnn_dtype_bits(in->type) / 8,
        .out_size = wnn_dtype_bits(out->type) / 8,
        .half_in = in->type == WNNDataType_Float16,
        .half_out = out->type == WNNDataType_Float16,
        .non_temporal =
            in->data != out->data && wnn_is_non_temporal(out->count * (wnn_dtype_bits(out->type) / 8)),
    };
    wnn_parallel_for(parallel, out->count, operators[op]->grain, unary_piece, &job);
}

static void run_unary_step(const struct chunk_step *step, const void *const in[3], void *out, size_t count)
{
    step->loop.unary(in[0], out, count, &step->constants);
}

static bool run_halves(const struct chunk_step *step, const uint16_t *const in[3], uint16_t *out,
                       size_t count, bool stream)
{
    return step->half_loop.unary(in[0], out, count, &step->constants, stream);
}

struct chunk_step wnn_cpu_unary_step(enum op op, const void *attrs, WNNDataType type)
{
    unary_half_loop halves = type == WNNDataType_Float16 ? operators[op]->halves : NULL;
    return (struct chunk_step){.run = run_unary_step,
                               .halves = halves ? run_halves : NULL,
                               .loop.unary = operators[op]->loop[type],
                               .half_loop.unary = halves,
                               .constants = read_constants(op, attrs, type),
                               .grain = operators[op]->grain};
}

bool wnn_cpu_is_slow_unary(enum op op, const struct cpu_target *target)
{
    const enum slow least = target->isa == WNN_ISA_AVX512 ? SLOW : SLOW_IN_256_BITS;
    return operators[op] && operators[op]->slow >= least;
}

static bool is_tabled(const struct node *node)
{
    return wnn_cpu_is_slow_unary((enum op)node->op, wnn_cpu_target(node)) &&
           wnn_cpu_fills_table(node->in[0], node->out[0]);
}

static size_t unary_scratch(const struct node *node, unsigned threads)
{
    (void)threads;
    return is_tabled(node) ? WNN_TABLE_BYTES : 0;
}

static void run_unary(const struct kernel_call *call)
{
    const struct node *node = call->node;
    if (is_tabled(node)) {
        struct tensor all = wnn_cpu_all_halves(call->scratch);
        apply(node->op, node->attrs, &all, &all, call->parallel);
        wnn_cpu_look_up(call, &call->in[0]);
    } else {
        apply(node->op, node->attrs, call->in, call->out, call->parallel);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Activations
// ---------------------------------------------------------------------------------------------------------------

void wnn_cpu_activate(const struct activation *activation, const struct tensor *tensor,
                      const struct parallel *parallel)
{
    apply(activation->op, activation->attrs, tensor, tensor, parallel);
}

void wnn_cpu_activate_floats(const struct activation *activation, float *values, size_t count, size_t row)
{
    if (activation->op == WNN_OP_softmax) {
        struct tensor tensor = {.data = values, .type = WNNDataType_Float32, .count = count};
        wnn_cpu_softmax_rows(&tensor, row, &wnn_serial);
        return;
    }
    struct unary_constants constants = read_constants(activation->op, activation->attrs, WNNDataType_Float32);
    operators[activation->op]->loop[WNNDataType_Float32](values, values, count, &constants);
}

const struct kernel wnn_cpu_unary = {.run = run_unary, .scratch = unary_scratch, .in_place = 1};
