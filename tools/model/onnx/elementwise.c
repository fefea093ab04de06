// SPDX-License-Identifier: Apache-2.0
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <float.h>
#include <math.h>

// ---------------------------------------------------------------------------------------------------------------
// One operand
// ---------------------------------------------------------------------------------------------------------------

void record_unary(struct call *c)
{
    set_output(c, 0, unary(c->r, (enum unary)c->parameter, input(c, 0)));
}

void record_is_inf(struct call *c)
{
    struct recording *r = c->r;
    bool negative = get_int(c, "detect_negative", 1), positive = get_int(c, "detect_positive", 1);
    struct tensor *x = input(c, 0), *infinite = unary(r, IS_INFINITE, x);
    if (!negative && !positive)
        infinite = x ? make_filled(r, ONNX_BOOL, x->rank, x->dims, 0) : NULL;
    else if (!negative || !positive)
        infinite = binary(r, AND, infinite, with_number(r, positive ? GREATER : LESSER, x, 0));
    set_output(c, 0, infinite);
}

void record_elu(struct call *c)
{
    set_output(c, 0, elu(c->r, input(c, 0), get_float(c, "alpha", 1)));
}

void record_leaky_relu(struct call *c)
{
    set_output(c, 0, leaky_relu(c->r, input(c, 0), get_float(c, "alpha", 0.01)));
}

void record_hard_sigmoid(struct call *c)
{
    set_output(c, 0, hard_sigmoid(c->r, input(c, 0), get_float(c, "alpha", 0.2), get_float(c, "beta", 0.5)));
}

// scale * (x > 0 ? x : alpha * (exp(x / beta) - 1))
static struct tensor *exponential_unit(struct recording *r, struct tensor *x, double alpha, double beta,
                                       double scale)
{
    struct tensor *low = with_number(r, MIN, x, 0);
    struct tensor *e = with_number(r, SUB, unary(r, EXP, with_number(r, DIV, low, beta)), 1);
    struct tensor *sum = binary(r, ADD, unary(r, RELU, x), with_number(r, MUL, e, alpha));
    return scale == 1 ? sum : with_number(r, MUL, sum, scale);
}

void record_selu(struct call *c)
{
    set_output(c, 0,
               exponential_unit(c->r, input(c, 0), get_float(c, "alpha", 1.67326319217681884765625), 1,
                                get_float(c, "gamma", 1.05070102214813232421875)));
}

void record_celu(struct call *c)
{
    double alpha = get_float(c, "alpha", 1);
    set_output(c, 0, exponential_unit(c->r, input(c, 0), alpha, alpha, 1));
}

void record_thresholded_relu(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    set_output(
        c, 0, choose(r, with_number(r, GREATER, x, get_float(c, "alpha", 1)), x, make_number(r, x->type, 0)));
}

void record_shrink(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *zero = make_number(r, x->type, 0);
    double bias = get_float(c, "bias", 0), lambda = get_float(c, "lambd", 0.5);
    struct tensor *low = choose(r, with_number(r, LESSER, x, -lambda), with_number(r, ADD, x, bias), zero);
    set_output(c, 0, choose(r, with_number(r, GREATER, x, lambda), with_number(r, SUB, x, bias), low));
}

void record_mish(struct call *c)
{
    struct tensor *x = input(c, 0);
    set_output(c, 0, binary(c->r, MUL, x, unary(c->r, TANH, unary(c->r, SOFTPLUS, x))));
}

// Parameter 1: FastGelu, 2: BiasGelu.
void record_gelu(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *bias = input(c, 1);
    if (c->parameter && bias)
        x = binary(r, ADD, x, bias);
    if (c->parameter != 1 && !has_text(c, "approximate", "tanh", "none")) {
        set_output(c, 0, unary(r, GELU, x));
        return;
    }
    set_output(c, 0, gelu_tanh(r, x));
}

// x + bias + what else there is.
void record_bias_add(struct call *c)
{
    struct tensor *sum = binary(c->r, ADD, input(c, 0), input(c, 1));
    set_output(c, 0, input(c, 2) ? binary(c->r, ADD, sum, input(c, 2)) : sum);
}

// The first half of the last axis, times gelu of the second one.
void record_bias_split_gelu(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = binary(r, ADD, input(c, 0), input(c, 1));
    size_t last = x ? x->rank - 1 : 0;
    if (!x || x->rank < 1 || x->dims[last] % 2) {
        fail(r, "a last axis without halves");
        return;
    }
    int64_t half = x->dims[last] / 2;
    struct tensor *gate = unary(r, GELU, slice_axis(r, x, last, half, half, 1));
    set_output(c, 0, binary(r, MUL, slice_axis(r, x, last, 0, half, 1), gate));
}

// ---------------------------------------------------------------------------------------------------------------
// Activations of fused operators
// ---------------------------------------------------------------------------------------------------------------

enum fused {
    FUSED_NONE,
    FUSED_RELU,
    FUSED_TANH,
    FUSED_SIGMOID,
    FUSED_SOFTPLUS,
    FUSED_SOFTSIGN,
    FUSED_LEAKY_RELU,
    FUSED_ELU,
    FUSED_HARD_SIGMOID,
    FUSED_CLIP
};

static const struct {
    const char *name;
    size_t count;     // of parameters
    double values[2]; // where they are left out
} fused[] = {
    [FUSED_NONE] = {"", 0, {0}},
    [FUSED_RELU] = {"Relu", 0, {0}},
    [FUSED_TANH] = {"Tanh", 0, {0}},
    [FUSED_SIGMOID] = {"Sigmoid", 0, {0}},
    [FUSED_SOFTPLUS] = {"Softplus", 0, {0}},
    [FUSED_SOFTSIGN] = {"Softsign", 0, {0}},
    [FUSED_LEAKY_RELU] = {"LeakyRelu", 1, {0.01}},
    [FUSED_ELU] = {"Elu", 1, {1}},
    [FUSED_HARD_SIGMOID] = {"HardSigmoid", 2, {0.2, 0.5}},
    [FUSED_CLIP] = {"Clip", 2, {-FLT_MAX, FLT_MAX}},
};

// Parameters are a list, or attributes of their own.
static bool read_fused(struct call *c, enum fused *which, double *values)
{
    size_t count;
    const float *list = get_floats(c, "activation_params", &count);
    for (*which = FUSED_NONE; *which <= FUSED_CLIP; (*which)++)
        if (has_text(c, "activation", fused[*which].name, ""))
            break;
    if (*which > FUSED_CLIP)
        return fail(c->r, "an activation that is not supported");
    if (list && count != fused[*which].count)
        return fail(c->r, "%s with %zu activation_params, not %zu", fused[*which].name, count,
                    fused[*which].count);
    values[0] = get_float(c, "activation_alpha", fused[*which].values[0]);
    values[1] = get_float(c, "activation_beta", fused[*which].values[1]);
    for (size_t i = 0; i < fused[*which].count; i++) {
        values[i] = list ? list[i] : values[i];
        if (isnan(values[i]) || (*which != FUSED_CLIP && isinf(values[i])))
            return fail(c->r, "parameters of an activation that are not finite");
    }
    return *which != FUSED_CLIP || values[0] <= values[1] ||
           fail(c->r, "Clip to a least value above the largest");
}

struct tensor *activate(struct call *c, struct tensor *t)
{
    struct recording *r = c->r;
    enum fused which;
    double values[2];
    if (!t || !read_fused(c, &which, values))
        return NULL;
    switch (which) {
    case FUSED_NONE:
        return t;
    case FUSED_RELU:
        return unary(r, RELU, t);
    case FUSED_TANH:
        return unary(r, TANH, t);
    case FUSED_SIGMOID:
        return unary(r, SIGMOID, t);
    case FUSED_SOFTPLUS:
        return unary(r, SOFTPLUS, t);
    case FUSED_SOFTSIGN:
        return unary(r, SOFTSIGN, t);
    case FUSED_LEAKY_RELU:
        return leaky_relu(r, t, values[0]);
    case FUSED_ELU:
        return elu(r, t, values[0]);
    case FUSED_HARD_SIGMOID:
        return hard_sigmoid(r, t, values[0], values[1]);
    case FUSED_CLIP:
        return clamp(r, t, values[0], values[1]);
    }
    return NULL;
}

static struct tensor *swish(struct recording *r, struct tensor *x, double alpha)
{
    return binary(r, MUL, x, unary(r, SIGMOID, alpha == 1 ? x : with_number(r, MUL, x, alpha)));
}

void record_quick_gelu(struct call *c)
{
    set_output(c, 0, swish(c->r, input(c, 0), get_float(c, "alpha", 1.702)));
}

void record_swish(struct call *c)
{
    set_output(c, 0, swish(c->r, input(c, 0), get_float(c, "alpha", 1)));
}

static struct tensor *arc_sine(struct recording *r, struct tensor *x)
{
    struct tensor *cosine = unary(r, SQRT, number_with(r, SUB, 1, binary(r, MUL, x, x)));
    return with_number(r, MUL, arc_tangent(r, binary(r, DIV, x, with_number(r, ADD, cosine, 1))), 2);
}

void record_arc(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    double quarter = acos(0);
    if (c->parameter == 0) {
        set_output(c, 0, arc_sine(r, x));
    } else if (c->parameter == 1) {
        // By the half of the angle, which is exact where the sine is close to 1.
        struct tensor *share = number_with(r, SUB, 0.5, with_number(r, MUL, unary(r, ABS, x), 0.5));
        struct tensor *angle = with_number(r, MUL, arc_sine(r, unary(r, SQRT, share)), 2);
        set_output(c, 0,
                   choose(r, with_number(r, LESSER, x, 0), number_with(r, SUB, 2 * quarter, angle), angle));
    } else {
        struct tensor *large = with_number(r, GREATER, unary(r, ABS, x), 1);
        struct tensor *t = arc_tangent(r, choose(r, large, unary(r, RECIPROCAL, x), x));
        struct tensor *turned = binary(r, SUB, with_number(r, MUL, unary(r, SIGN, x), quarter), t);
        set_output(c, 0, choose(r, large, turned, t));
    }
}

void record_hyperbolic(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *square = binary(r, MUL, x, x), *y;
    struct tensor *e = unary(r, EXP, x), *inverse = unary(r, EXP, unary(r, NEG, x)),
                  *magnitude = unary(r, ABS, x);
    switch (c->parameter) {
    case 0: // close to zero the difference would lose digits
        y = with_number(r, ADD, with_number(r, MUL, square, 1.0 / 5040), 1.0 / 120);
        y = with_number(r, ADD, binary(r, MUL, y, square), 1.0 / 6);
        y = binary(r, ADD, x, binary(r, MUL, binary(r, MUL, y, square), x));
        y = choose(r, with_number(r, LESSER, magnitude, 1), y,
                   with_number(r, MUL, binary(r, SUB, e, inverse), 0.5));
        break;
    case 1:
        y = with_number(r, MUL, binary(r, ADD, e, inverse), 0.5);
        break;
    case 2:
        y = unary(r, LOG, binary(r, ADD, magnitude, unary(r, SQRT, with_number(r, ADD, square, 1))));
        y = binary(r, MUL, unary(r, SIGN, x), y);
        break;
    case 3:
        y = unary(r, LOG, binary(r, ADD, x, unary(r, SQRT, with_number(r, SUB, square, 1))));
        break;
    default:
        y = unary(r, LOG, binary(r, DIV, with_number(r, ADD, x, 1), number_with(r, SUB, 1, x)));
        y = with_number(r, MUL, y, 0.5);
    }
    set_output(c, 0, y);
}

void record_clip(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *low = input(c, 1), *high = input(c, 2);
    bool constant = (!low || (is_known(r, low) && !has_late_elements(low))) &&
                    (!high || (is_known(r, high) && !has_late_elements(high)));
    if (r->failed)
        return;
    if ((low && count_elements(low) != 1) || (high && count_elements(high) != 1)) {
        fail(r, "bounds that are no numbers");
        return;
    }
    double least = low ? (constant ? known_number(low, 0) : 0) : get_float(c, "min", -INFINITY);
    double most = high ? (constant ? known_number(high, 0) : 0) : get_float(c, "max", INFINITY);
    if (constant && least <= most) {
        set_output(c, 0, clamp(r, x, least, most));
        return;
    }
    x = low ? binary(r, MAX, x, low) : x;
    set_output(c, 0, high ? binary(r, MIN, x, high) : x);
}

void record_cast(struct call *c)
{
    struct tensor *x = input(c, 0);
    int64_t type = c->parameter ? input(c, 1)->type : get_int(c, "to", 0);
    if (x->type == ONNX_STRING || type == ONNX_STRING)
        fail(c->r, "WebNN has no strings");
    else
        set_output(c, 0, cast(c->r, x, type));
}

// ---------------------------------------------------------------------------------------------------------------
// Two and more
// ---------------------------------------------------------------------------------------------------------------

// Operator sets before 7 broadcast where an attribute says so, from an axis on.
static struct tensor *align(struct call *c, struct tensor *a, struct tensor *b)
{
    if (c->version >= 7 || !a || !b || !has_attribute(c, "axis") || b->rank >= a->rank)
        return b;
    int64_t axis = get_int(c, "axis", 0), dims[MAX_RANK];
    if (axis < 0)
        axis += (int64_t)a->rank;
    size_t rank = a->rank - (size_t)axis;
    if (axis < 0 || axis > (int64_t)a->rank || rank < b->rank)
        return fail(c->r, "axis %lld of a tensor of rank %zu", (long long)axis, a->rank);
    for (size_t i = 0; i < rank; i++)
        dims[i] = i < b->rank ? b->dims[i] : 1;
    return reshape(c->r, b, rank, dims);
}

void record_binary(struct call *c)
{
    set_output(c, 0,
               binary(c->r, (enum binary)c->parameter, input(c, 0), align(c, input(c, 0), input(c, 1))));
}

void record_pow(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = input(c, 0), *b = align(c, a, input(c, 1));
    if (a && b && a->type != b->type) {
        if (is_integer(a->type) && is_real(b->type)) { // computed in floats, given as the base's type
            set_output(c, 0, cast(r, binary(r, POW, cast(r, a, b->type), b), a->type));
            return;
        }
        b = cast(r, b, a->type);
    }
    if (b && is_known(r, b) && b->reals && count_elements(b) == 1 && b->reals[0] == 2 && b->rank <= a->rank)
        set_output(c, 0, binary(r, MUL, a, a));
    else
        set_output(c, 0, binary(r, POW, a, b));
}

void record_variadic(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *sum = input(c, 0);
    enum binary op = c->parameter == DIV ? ADD : (enum binary)c->parameter;
    for (size_t i = 1; i < c->input_count; i++)
        sum = binary(r, op, sum, input(c, i));
    set_output(c, 0, c->parameter == DIV ? with_number(r, DIV, sum, (double)c->input_count) : sum);
}

// Towards zero.
static struct tensor *truncate(struct recording *r, struct tensor *x)
{
    return binary(r, MUL, unary(r, SIGN, x), unary(r, FLOOR, unary(r, ABS, x)));
}

void record_mod(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = input(c, 0), *b = input(c, 1), *quotient = binary(r, DIV, a, b);
    bool like_dividend = get_int(c, "fmod", 0);
    if (!a || !b || r->failed)
        return;
    if (is_real(a->type)) {
        quotient = like_dividend ? truncate(r, quotient) : unary(r, FLOOR, quotient);
        set_output(c, 0, binary(r, SUB, a, binary(r, MUL, quotient, b)));
        return;
    }
    struct tensor *rest = binary(r, SUB, a, binary(r, MUL, quotient, b));
    if (!like_dividend && is_signed(a->type)) { // the divisor's sign
        struct tensor *other = binary(r, XOR, with_number(r, LESSER, rest, 0), with_number(r, LESSER, b, 0));
        struct tensor *wrong = binary(r, AND, other, unary(r, NOT, with_number(r, EQUAL, rest, 0)));
        rest = choose(r, wrong, binary(r, ADD, rest, b), rest);
    }
    set_output(c, 0, rest);
}

static int64_t bits_of(int64_t type)
{
    bool is_byte = type == ONNX_INT8 || type == ONNX_UINT8,
         is_short = type == ONNX_INT16 || type == ONNX_UINT16;
    return is_byte ? 8 : is_short ? 16 : type == ONNX_INT32 || type == ONNX_UINT32 ? 32 : 64;
}

// By powers of two, which a table holds: what is shifted out wraps, or is divided away.
void record_bit_shift(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *by = input(c, 1);
    bool left = has_text(c, "direction", "LEFT", "");
    if (!is_integer(x->type) || is_signed(x->type) || by->type != x->type) {
        fail(r, "shifts of %s by %s", type_name(x->type), type_name(by->type));
        return;
    }
    int64_t bits = bits_of(x->type);
    struct tensor *table = make_known(r, x->type, 1, &bits);
    for (int64_t i = 0; table && i < bits; i++)
        table->ints[i] = (int64_t)(UINT64_C(1) << i);
    struct tensor *power = gather(r, table, cast(r, by, ONNX_INT64), 0);
    struct tensor *y = binary(r, left ? MUL : DIV, x, power);
    if (bits == 16) // whose operand is wider, and does not wrap
        y = binary(r, SUB, y, with_number(r, MUL, with_number(r, DIV, y, 65536), 65536));
    set_output(c, 0, y);
}

static int64_t combine_bits(enum binary op, int64_t a, int64_t b)
{
    return op == AND ? a & b : op == OR ? a | b : a ^ b;
}

// The lowest byte of what is left of numbers that are not negative, which is divided away.
static struct tensor *take_byte(struct recording *r, struct tensor **left)
{
    struct tensor *rest = with_number(r, DIV, *left, 256);
    struct tensor *byte = binary(r, SUB, *left, with_number(r, MUL, rest, 256));
    *left = rest;
    return cast(r, byte, ONNX_INT32);
}

// The sign as the number that it stands for is taken away, and given back as a truth.
static struct tensor *take_sign(struct recording *r, struct tensor **x, struct tensor *least)
{
    struct tensor *negative = with_number(r, LESSER, *x, 0);
    *x = choose(r, negative, binary(r, SUB, *x, least), *x);
    return negative;
}

// Byte after byte, by a table of all pairs.
static struct tensor *combine_bytes(struct recording *r, enum binary op, struct tensor *a, struct tensor *b)
{
    int64_t type = a->type, bits = bits_of(type), pairs = 65536;
    struct tensor *table = make_known(r, ONNX_UINT8, 1, &pairs), *sum = NULL, *sign = NULL;
    for (int64_t i = 0; table && i < pairs; i++)
        table->ints[i] = combine_bits(op, i / 256, i % 256);
    int64_t wide = bits == 8 ? ONNX_INT32 : type;
    struct tensor *least = make_number(r, wide, -ldexp(1, (int)bits - 1));
    a = cast(r, a, wide);
    b = cast(r, b, wide);
    if (is_signed(type)) {
        sign = take_sign(r, &a, least);
        sign = binary(r, op, sign, take_sign(r, &b, least));
    }
    for (int64_t i = 0; i < bits; i += 8) {
        struct tensor *index = with_number(r, MUL, take_byte(r, &a), 256);
        struct tensor *byte = gather(r, table, binary(r, ADD, index, take_byte(r, &b)), 0);
        byte = with_number(r, MUL, cast(r, byte, wide), ldexp(1, (int)i));
        sum = sum ? binary(r, ADD, sum, byte) : byte;
    }
    return cast(r, sign ? choose(r, sign, binary(r, ADD, sum, least), sum) : sum, type);
}

void record_bitwise(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *a = input(c, 0), *b = input(c, 1);
    if (!is_integer(a->type) || a->type != b->type)
        fail(r, "operands of types %s and %s", type_name(a->type), type_name(b->type));
    else
        set_output(c, 0, combine_bytes(r, (enum binary)c->parameter, a, b));
}

void record_bitwise_not(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *ones = make_number(r, x->type, -1);
    if (!is_integer(x->type)) {
        fail(r, "an operand of type %s", type_name(x->type));
        return;
    }
    if (ones && !is_signed(x->type))
        ones->ints[0] = (int64_t)(UINT64_MAX >> (64 - bits_of(x->type)));
    set_output(c, 0, binary(r, SUB, ones, x));
}

void record_prelu(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *slope = input(c, 1);
    // A slope a channel, from the time before broadcasting.
    if (slope->rank == 1 && x->rank > 2 && c->version < 7 &&
        (slope->dims[0] == x->dims[1] || is_late(slope->dims[0]) || is_late(x->dims[1]))) {
        int64_t dims[MAX_RANK] = {slope->dims[0], 1, 1, 1, 1, 1, 1, 1};
        slope = reshape(r, slope, x->rank - 1, dims);
    }
    WNNOperand a = operand_of(r, x), b = operand_of(r, slope);
    WNNOperatorOptions options = {NULL, label_of(r)};
    if (a && b)
        set_output(c, 0, make_operand(r, x->type, wnnGraphBuilderPrelu(r->builder, a, b, &options)));
}

void record_where(struct call *c)
{
    set_output(c, 0, choose(c->r, input(c, 0), input(c, 1), input(c, 2)));
}
