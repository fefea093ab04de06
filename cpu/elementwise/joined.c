// SPDX-License-Identifier: Apache-2.0
//
// Steps of a chain that one loop in registers computes, to the same bits: x * sigmoid(x), that times another
// value, and GELU by tanh in the forms that converters write. The last of the steps is found first, and what
// it is computed of from there on.

#include "cpu/elementwise/elementwise.h"

struct reading {
    const struct elementwise_step *steps;
    const struct tensor *in;
    unsigned input_count, last;
};

// The step that makes a value, if it is of that operator and of as many elements in the same order.
static const struct elementwise_step *made_by(const struct reading *reading, unsigned value, enum op op)
{
    if (value < reading->input_count)
        return NULL;
    const struct elementwise_step *step = &reading->steps[value - reading->input_count];
    bool same = wnn_shape_equal(&step->type.shape, &reading->steps[reading->last].type.shape);
    return step->op == op && same ? step : NULL;
}

static bool is_number(const struct reading *reading, unsigned value, float *number)
{
    const struct tensor *tensor = &reading->in[value];
    if (value >= reading->input_count || tensor->count != 1 || !wnn_dtype_is_float(tensor->type))
        return false;
    *number = wnn_cpu_first_float(tensor);
    return true;
}

// Whether a value is what the operator makes of two others; `turn` is which of them is the first.
static bool is_made(const struct reading *reading, unsigned value, enum op op, int turn, unsigned *first,
                    unsigned *second)
{
    const struct elementwise_step *step = made_by(reading, value, op);
    if (!step)
        return false;
    *first = step->in[turn];
    *second = step->in[!turn];
    return true;
}

// Whether it is something with a number.
static bool is_made_with(const struct reading *reading, unsigned value, enum op op, unsigned *other,
                         float *number)
{
    unsigned with;
    return (is_made(reading, value, op, 0, other, &with) && is_number(reading, with, number)) ||
           (is_made(reading, value, op, 1, other, &with) && is_number(reading, with, number));
}

static bool is_silu(const struct reading *reading, unsigned value, unsigned *x)
{
    for (int turn = 0; turn < 2; turn++) {
        unsigned factor;
        if (!is_made(reading, value, WNN_OP_mul, turn, x, &factor))
            return false;
        const struct elementwise_step *sigmoid = made_by(reading, factor, WNN_OP_sigmoid);
        if (sigmoid && sigmoid->in[0] == *x)
            return true;
    }
    return false;
}

static bool is_square(const struct reading *reading, unsigned value, unsigned x)
{
    unsigned a, b;
    return is_made(reading, value, WNN_OP_mul, 0, &a, &b) && a == x && b == x;
}

// A multiple of x^3.
static bool is_cubic(const struct reading *reading, unsigned value, unsigned x, struct vmath_chain *chain)
{
    unsigned a, b, square;
    float exponent;
    for (int turn = 0; turn < 2; turn++) {
        if (is_made(reading, value, WNN_OP_mul, turn, &a, &b) && a == x &&
            is_made_with(reading, b, WNN_OP_mul, &square, &chain->cubic) && is_square(reading, square, x)) {
            chain->cube = VMATH_CUBE_LAST;
            return true;
        }
    }
    if (!is_made_with(reading, value, WNN_OP_mul, &a, &chain->cubic))
        return false;
    const struct elementwise_step *power = made_by(reading, a, WNN_OP_pow);
    chain->cube = power ? VMATH_CUBE_POWER : VMATH_CUBE_FIRST;
    if (power)
        return power->in[0] == x && is_number(reading, power->in[1], &exponent) && exponent == 3;
    for (int turn = 0; turn < 2; turn++)
        if (is_made(reading, a, WNN_OP_mul, turn, &b, &square) && b == x && is_square(reading, square, x))
            return true;
    return false;
}

// 1 + tanh(outer * (x + cubic * x^3))
static bool is_one_and_tanh(const struct reading *reading, unsigned value, unsigned x,
                            struct vmath_chain *chain)
{
    unsigned tanh_of_it, sum, a, b;
    float one;
    if (!is_made_with(reading, value, WNN_OP_add, &tanh_of_it, &one) || one != 1)
        return false;
    const struct elementwise_step *step = made_by(reading, tanh_of_it, WNN_OP_tanh);
    if (!step || !is_made_with(reading, step->in[0], WNN_OP_mul, &sum, &chain->outer))
        return false;
    for (int turn = 0; turn < 2; turn++)
        if (is_made(reading, sum, WNN_OP_add, turn, &a, &b) && a == x && is_cubic(reading, b, x, chain))
            return true;
    return false;
}

// Half of x times something, which may stand in any place.
static bool is_gelu_by_tanh(const struct reading *reading, unsigned value, unsigned *x,
                            struct vmath_chain *chain)
{
    unsigned a, b;
    float half;
    chain->early = 0.5f;
    chain->late = 1;
    for (int turn = 0; turn < 2; turn++) {
        if (!is_made(reading, value, WNN_OP_mul, turn, &a, &b))
            return false;
        if (is_made_with(reading, a, WNN_OP_mul, x, &half) && half == 0.5f &&
            is_one_and_tanh(reading, b, *x, chain))
            return true;
        *x = b;
        if (is_made_with(reading, a, WNN_OP_mul, &a, &half) && half == 0.5f &&
            is_one_and_tanh(reading, a, *x, chain))
            return true;
    }
    if (!is_made_with(reading, value, WNN_OP_mul, &a, &half) || half != 0.5f)
        return false;
    chain->early = 1;
    chain->late = 0.5f;
    for (int turn = 0; turn < 2; turn++)
        if (is_made(reading, a, WNN_OP_mul, turn, x, &b) && is_one_and_tanh(reading, b, *x, chain))
            return true;
    return false;
}

static bool is_silu_times(const struct reading *reading, unsigned value, unsigned *x, unsigned *y)
{
    unsigned silu;
    for (int turn = 0; turn < 2; turn++)
        if (is_made(reading, value, WNN_OP_mul, turn, &silu, y) && is_silu(reading, silu, x))
            return true;
    return false;
}

// The steps that `value` is computed of from the values in[], as bits.
static uint32_t steps_from(const struct reading *reading, unsigned value, const uint8_t in[2])
{
    if (value < reading->input_count || value == in[0] || value == in[1])
        return 0;
    const struct elementwise_step *step = &reading->steps[value - reading->input_count];
    uint32_t steps = (uint32_t)1 << (value - reading->input_count);
    for (unsigned i = 0; i < step->in_count; i++)
        steps |= steps_from(reading, step->in[i], in);
    return steps;
}

// Whether nothing needs the results of the steps but these steps themselves and the last one.
static bool are_inner(const struct reading *reading, uint32_t steps, unsigned step_count)
{
    for (unsigned i = 0; i < step_count; i++) {
        const struct elementwise_step *step = &reading->steps[i];
        bool inner = steps >> i & 1;
        if (inner && i != reading->last && step->output != WNN_NO_OUTPUT)
            return false;
        for (unsigned j = 0; j < step->in_count && !inner; j++)
            if (step->in[j] >= reading->input_count && step->in[j] != reading->input_count + reading->last &&
                steps >> (step->in[j] - reading->input_count) & 1)
                return false;
    }
    return true;
}

static void run_joined(const struct chunk_step *step, const void *const in[3], void *out, size_t count)
{
    wnn_vmath_chain(&step->chain, in[0], in[1], out, count, false);
}

static void stream_joined(const struct chunk_step *step, const void *const in[3], void *out, size_t count)
{
    wnn_vmath_chain(&step->chain, in[0], in[1], out, count, true);
}

static bool run_halves(const struct chunk_step *step, const uint16_t *const in[3], uint16_t *out,
                       size_t count, bool stream)
{
    struct vmath_chain chain = step->chain;
    chain.packed = true;
    if (count > 0)
        wnn_vmath_chain(&chain, in[0], in[1], out, count, stream);
    return true;
}

bool wnn_cpu_join_steps(const struct elementwise_attrs *attrs, const struct tensor *in, unsigned input_count,
                        unsigned last, struct joined_steps *joined)
{
    const struct reading reading = {attrs->steps, in, input_count, last};
    WNNDataType type = attrs->steps[last].type.type;
    unsigned value = input_count + last, x, y;
    struct vmath_chain chain = {.half = type == WNNDataType_Float16};
    if (type != WNNDataType_Float32 && type != WNNDataType_Float16)
        return false;
    if (is_silu_times(&reading, value, &x, &y))
        chain.form = VMATH_CHAIN_SILU_TIMES;
    else if (is_silu(&reading, value, &x))
        chain.form = VMATH_CHAIN_SILU;
    else if (is_gelu_by_tanh(&reading, value, &x, &chain))
        chain.form = VMATH_CHAIN_GELU_BY_TANH;
    else
        return false;
    joined->in_count = chain.form == VMATH_CHAIN_SILU_TIMES ? 2 : 1;
    joined->in[0] = (uint8_t)x;
    joined->in[1] = (uint8_t)(joined->in_count == 2 ? y : x);
    joined->steps = steps_from(&reading, value, joined->in);
    joined->loop = (struct chunk_step){.run = run_joined,
                                       .stream = stream_joined,
                                       .halves = chain.form == VMATH_CHAIN_GELU_BY_TANH ? NULL : run_halves,
                                       .chain = chain,
                                       .grain = WNN_GRAIN_COSTLY};
    return are_inner(&reading, joined->steps, attrs->count);
}
