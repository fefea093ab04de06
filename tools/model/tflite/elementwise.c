// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tflite/call.h"

#include <math.h>

// ---------------------------------------------------------------------------------------------------------------
// One operand
// ---------------------------------------------------------------------------------------------------------------

void compose_unary(struct call *c)
{
    give(c, 0, unary(c->r, (enum unary)c->parameter, real_at(c, 0)));
}

void compose_rsqrt(struct call *c)
{
    give(c, 0, unary(c->r, RECIPROCAL, unary(c->r, SQRT, real_at(c, 0))));
}

void compose_square(struct call *c)
{
    struct tensor *x = real_at(c, 0);
    give(c, 0, binary(c->r, MUL, x, x));
}

void compose_elu(struct call *c)
{
    give(c, 0, elu(c->r, real_at(c, 0), 1));
}

void compose_gelu(struct call *c)
{
    struct tensor *x = real_at(c, 0);
    give(c, 0, option_bool(c, 0) ? gelu_tanh(c->r, x) : unary(c->r, GELU, x));
}

void compose_leaky_relu(struct call *c)
{
    give(c, 0, leaky_relu(c->r, real_at(c, 0), option_float(c, 0)));
}

void compose_prelu(struct call *c)
{
    struct tensor *t = real_at(c, 0);
    WNNOperand x = operand_of(c->r, t), slope = operand_of(c->r, real_at(c, 1));
    WNNOperatorOptions options = {NULL, label_of(c->r)};
    if (x && slope)
        give(c, 0, make_operand(c->r, t->type, wnnGraphBuilderPrelu(c->r->builder, x, slope, &options)));
}

void compose_clamp(struct call *c)
{
    give(c, 0, activate_output(c, real_at(c, 0), c->parameter));
}

void compose_relu_0_to_1(struct call *c)
{
    give(c, 0, clamp(c->r, real_at(c, 0), 0, 1));
}

void compose_cast(struct call *c)
{
    // The numbers that are stored, whatever they stand for.
    struct tensor *x = stored_at(c, 0);
    if (x)
        c->outputs[0]->stored = cast(c->r, x, given_type(c, 0));
}

// How many boundaries a number is not below.
void compose_bucketize(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = cast(r, stored_at(c, 0), TYPE_FLOAT32);
    struct flatbuffer_vector boundaries = wnn_flatbuffer_vector(&c->node->options, 0, 4);
    int64_t count = (int64_t)boundaries.count;
    if (!x || count < 1 || count > 65536) {
        fail(r, "%lld boundaries", (long long)count);
        return;
    }
    struct tensor *limits = make_known(r, TYPE_FLOAT32, 1, &count);
    for (int64_t i = 0; limits && i < count; i++)
        limits->reals[i] = (double)wnn_flatbuffer_float_at(&boundaries, (size_t)i);
    struct tensor *above = binary(r, GREATER_OR_EQUAL, unsqueeze(r, x, x->rank), limits);
    give(c, 0, reduce(r, SUM, cast(r, above, TYPE_INT32), 1, &(size_t){x->rank}, false));
}

// ---------------------------------------------------------------------------------------------------------------
// Two and more
// ---------------------------------------------------------------------------------------------------------------

void compose_binary(struct call *c)
{
    give(c, 0, binary(c->r, (enum binary)c->parameter, real_at(c, 0), real_at(c, 1)));
}

void compose_arithmetic(struct call *c)
{
    struct tensor *y = binary(c->r, (enum binary)c->parameter, real_at(c, 0), real_at(c, 1));
    give(c, 0, activate_output(c, y, option_enum(c, 0)));
}

void compose_add_n(struct call *c)
{
    struct tensor *sum = real_at(c, 0);
    for (size_t i = 1; i < c->input_count; i++)
        sum = binary(c->r, ADD, sum, real_at(c, i));
    give(c, 0, sum);
}

void compose_not_equal(struct call *c)
{
    give(c, 0, unary(c->r, NOT, binary(c->r, EQUAL, real_at(c, 0), real_at(c, 1))));
}

void compose_squared_difference(struct call *c)
{
    struct tensor *d = binary(c->r, SUB, real_at(c, 0), real_at(c, 1));
    give(c, 0, binary(c->r, MUL, d, d));
}

struct tensor *floor_div(struct recording *r, struct tensor *a, struct tensor *b)
{
    if (!a || !b || r->failed)
        return NULL;
    struct tensor *quotient = binary(r, DIV, a, b);
    if (is_real(a->type))
        return unary(r, FLOOR, quotient);
    if (!is_signed(a->type))
        return quotient;
    // Integers are divided towards zero: one too many where a rest has the other sign than the divisor.
    struct tensor *rest = binary(r, SUB, a, binary(r, MUL, quotient, b));
    struct tensor *other = binary(r, XOR, with_number(r, LESSER, rest, 0), with_number(r, LESSER, b, 0));
    struct tensor *above = binary(r, AND, other, unary(r, NOT, with_number(r, EQUAL, rest, 0)));
    return binary(r, SUB, quotient, cast(r, above, a->type));
}

void compose_floor_div(struct call *c)
{
    give(c, 0, floor_div(c->r, real_at(c, 0), real_at(c, 1)));
}

// The rest has the sign of the divisor.
void compose_floor_mod(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = real_at(c, 0), *b = real_at(c, 1);
    give(c, 0, binary(r, SUB, a, binary(r, MUL, floor_div(r, a, b), b)));
}

// The angle of (x, y): of the smaller by the larger, turned to where it belongs.
void compose_atan2(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *y = real_at(c, 0), *x = real_at(c, 1);
    struct tensor *height = unary(r, ABS, y), *width = unary(r, ABS, x);
    struct tensor *large = binary(r, MAX, height, width), *zero = with_number(r, EQUAL, large, 0);
    struct tensor *one = large ? make_number(r, large->type, 1) : NULL;
    struct tensor *ratio = binary(r, DIV, binary(r, MIN, height, width), choose(r, zero, one, large));
    struct tensor *angle = arc_tangent(r, ratio);
    double half = acos(-1);
    angle = choose(r, binary(r, GREATER, height, width), number_with(r, SUB, half / 2, angle), angle);
    angle = choose(r, with_number(r, LESSER, x, 0), number_with(r, SUB, half, angle), angle);
    give(c, 0, choose(r, with_number(r, LESSER, y, 0), unary(r, NEG, angle), angle));
}

// 2^i for each bit of a type, as int64, [bits]; the top one of signed numbers counts against the others.
static struct tensor *make_powers(struct recording *r, int64_t type, bool negative_top)
{
    int64_t bits = element_bits(type);
    if (!is_integer(type) || bits > 32)
        return fail(r, "bits of numbers of type %s", type_name(type));
    struct tensor *powers = make_known(r, TYPE_INT64, 1, &bits);
    for (int64_t i = 0; powers && i < bits; i++)
        powers->ints[i] = INT64_C(1) << i;
    if (powers && negative_top)
        powers->ints[bits - 1] *= -1;
    return powers;
}

// Each bit of x along a new last axis: whether it is odd, divided by its power of two.
static struct tensor *bits_of(struct recording *r, struct tensor *x, struct tensor *powers)
{
    struct tensor *all = cast(r, unsqueeze(r, x, x->rank), TYPE_INT64);
    struct tensor *shifted = floor_div(r, all, powers), *two = make_number(r, TYPE_INT64, 2);
    struct tensor *even = binary(r, MUL, floor_div(r, shifted, two), two);
    return unary(r, NOT, binary(r, EQUAL, shifted, even));
}

void compose_bitwise_xor(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = stored_at(c, 0), *b = stored_at(c, 1);
    if (!a || !b)
        return;
    struct tensor *powers = make_powers(r, a->type, false),
                  *values = make_powers(r, a->type, is_signed(a->type));
    struct tensor *bits = binary(r, XOR, bits_of(r, a, powers), bits_of(r, b, powers));
    struct tensor *sum = binary(r, MUL, cast(r, bits, TYPE_INT64), values);
    give(c, 0, sum ? reduce(r, SUM, sum, 1, &(size_t){sum->rank - 1}, false) : NULL);
}

// Shifts as divisions by powers of two; as many bits as there are, or more, count as one fewer, and fewer
// than none as none.
void compose_right_shift(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = stored_at(c, 0), *by = stored_at(c, 1);
    struct tensor *powers = x && by ? make_powers(r, x->type, false) : NULL;
    if (!powers)
        return;
    struct tensor *steps = clamp(r, cast(r, by, TYPE_INT64), 0, (double)(powers->dims[0] - 1));
    give(c, 0, floor_div(r, cast(r, x, TYPE_INT64), gather(r, powers, steps, 0)));
}

// A condition of rank 1 may choose among rows, or of rank 0 all; parameter 1: it is broadcast instead.
void compose_select(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *condition = stored_at(c, 0);
    const struct value *a = c->inputs[1], *b = c->inputs[2];
    bool alike = is_quantized_alike(a->about, b->about);
    struct tensor *x = alike ? moved_at(c, 1) : real_at(c, 1), *y = alike ? moved_at(c, 2) : real_at(c, 2);
    if (!condition || !x || !y)
        return;
    int64_t rows[MAX_RANK] = {condition->rank == 1 ? condition->dims[0] : 1, 1, 1, 1, 1, 1, 1, 1};
    if (c->parameter == 0 && condition->rank == 1 && x->rank > 1)
        condition = reshape(r, condition, x->rank, rows);
    give(c, 0, choose(r, condition, x, y));
}
