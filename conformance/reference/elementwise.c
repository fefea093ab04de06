// SPDX-License-Identifier: Apache-2.0
//
// Reference: operators that compute each element from the elements at the same place.

#include "conformance/reference/kernels.h"

// ---------------------------------------------------------------------------------------------------------------
// Functions of one number
// ---------------------------------------------------------------------------------------------------------------

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double limited(double x, double least, double greatest)
{
    return x < least ? least : x > greatest ? greatest : x;
}

// A bound that is not given, or NaN, is none.
static double bound_or(WNNNumber bound, double none)
{
    double value = bound.type == WNNNumberType_Undefined ? NAN : wnn_number_double(bound);
    return isnan(value) ? none : value;
}

double wnn_reference_function(enum op op, const void *attrs, WNNDataType type, double x)
{
    switch (op) {
    case WNN_OP_abs:
        return fabs(x);
    case WNN_OP_ceil:
        return ceil(x);
    case WNN_OP_clamp: {
        const WNNClampOptions *options = attrs;
        return limited(x, wnn_round_to_dtype(bound_or(options->minValue, -INFINITY), type),
                       wnn_round_to_dtype(bound_or(options->maxValue, INFINITY), type));
    }
    case WNN_OP_cos:
        return cos(x);
    case WNN_OP_elu: {
        const WNNEluOptions *options = attrs;
        return x < 0 ? wnn_round_to_dtype(options->alpha, type) * expm1(x) : x;
    }
    case WNN_OP_erf:
        return erf(x);
    case WNN_OP_exp:
        return exp(x);
    case WNN_OP_floor:
        return floor(x);
    case WNN_OP_gelu:
        return x == -INFINITY ? 0 : 0.5 * x * erfc(-x / sqrt(2)); // 1 + erf(z) is erfc(-z)
    case WNN_OP_hardSigmoid: {
        const WNNHardSigmoidOptions *options = attrs;
        double alpha = wnn_round_to_dtype(options->alpha, type),
               beta = wnn_round_to_dtype(options->beta, type);
        return limited(alpha * x + beta, 0, 1);
    }
    case WNN_OP_hardSwish:
        return x * limited(x + 3, 0, 6) / 6;
    case WNN_OP_leakyRelu: {
        const WNNLeakyReluOptions *options = attrs;
        return x < 0 ? wnn_round_to_dtype(options->alpha, type) * x : x;
    }
    case WNN_OP_linear: {
        const WNNLinearOptions *options = attrs;
        return wnn_round_to_dtype(options->alpha, type) * x + wnn_round_to_dtype(options->beta, type);
    }
    case WNN_OP_log:
        return log(x);
    case WNN_OP_neg:
        return -x;
    case WNN_OP_reciprocal:
        return 1 / x;
    case WNN_OP_relu:
        return x < 0 ? 0 : x;
    case WNN_OP_roundEven:
        return rint(x);
    case WNN_OP_sigmoid:
        return sigmoid(x);
    case WNN_OP_sign:
        return x > 0 ? 1 : x < 0 ? -1 : 0;
    case WNN_OP_sin:
        return sin(x);
    case WNN_OP_softplus: {
        const WNNSoftplusOptions *options = attrs;
        double steepness = wnn_round_to_dtype(options->steepness, type), y = steepness * x;
        return ((y > 0 ? y : 0) + (isnan(y) ? y : log1p(exp(-fabs(y))))) / steepness;
    }
    case WNN_OP_softsign:
        return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
    case WNN_OP_sqrt:
        return sqrt(x);
    case WNN_OP_tan:
        return tan(x);
    case WNN_OP_tanh:
        return tanh(x);
    default:
        return x;
    }
}

// abs, neg, relu and sign of integers.
static __int128 integer_function(enum op op, __int128 x)
{
    switch (op) {
    case WNN_OP_abs:
        return x < 0 ? -x : x;
    case WNN_OP_neg:
        return -x;
    case WNN_OP_relu:
        return x < 0 ? 0 : x;
    case WNN_OP_sign:
        return (x > 0) - (x < 0);
    default:
        return x;
    }
}

void wnn_reference_unary(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    for (size_t i = 0; i < out->count; i++) {
        if (is_float(out))
            store(out, i, wnn_reference_function((enum op)node->op, node->attrs, out->type, load(in, i)));
        else
            store_integer(out, i, integer_function((enum op)node->op, load_integer(in, i)));
    }
}

void wnn_reference_clamp(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const WNNClampOptions *options = node->attrs;
    if (is_float(out)) {
        wnn_reference_unary(node, in, out);
        return;
    }
    bool is_unsigned = !is_signed(out->type);
    __int128 least = is_unsigned ? (__int128)options->minValue.value.u64 : options->minValue.value.i64;
    __int128 greatest = is_unsigned ? (__int128)options->maxValue.value.u64 : options->maxValue.value.i64;
    for (size_t i = 0; i < out->count; i++) {
        __int128 x = load_integer(in, i);
        store_integer(out, i, x < least ? least : x > greatest ? greatest : x);
    }
}

void wnn_reference_activate_row(const struct activation *activation, WNNDataType type, double *row,
                                size_t count)
{
    if (activation->op != WNN_OP_softmax && activation->op != WNN_OP_softmax2d) {
        for (size_t i = 0; i < count; i++)
            row[i] = wnn_reference_function((enum op)activation->op, activation->attrs, type, row[i]);
        return;
    }
    double greatest = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        greatest = row[i] > greatest ? row[i] : greatest;
    for (size_t i = 0; i < count; i++)
        sum += row[i] = exp(row[i] - greatest);
    for (size_t i = 0; i < count; i++)
        row[i] /= sum;
}

void wnn_reference_activate(const struct activation *activation, const struct tensor *tensor)
{
    if (activation->op == WNN_OP_softmax || activation->op == WNN_OP_softmax2d) {
        struct softmax_attrs attrs = {.axis = 1};
        struct node node = {.op = WNN_OP_softmax, .attrs = &attrs};
        wnn_reference_softmax(&node, tensor, tensor);
        return;
    }
    for (size_t i = 0; i < tensor->count; i++)
        store(tensor, i,
              wnn_reference_function((enum op)activation->op, activation->attrs, tensor->type,
                                     load(tensor, i)));
}

// ---------------------------------------------------------------------------------------------------------------
// Functions of two numbers
// ---------------------------------------------------------------------------------------------------------------

// Between 0 and b, as Python's % is.
static double floor_modulus(double a, double b)
{
    double rest = fmod(a, b);
    if (rest == 0)
        return copysign(0, b);
    return (rest < 0) == (b < 0) ? rest : rest + b;
}

static double float_binary(enum op op, double a, double b)
{
    switch (op) {
    case WNN_OP_add:
        return a + b;
    case WNN_OP_sub:
        return a - b;
    case WNN_OP_mul:
        return a * b;
    case WNN_OP_div:
        return a / b;
    case WNN_OP_max:
        return isnan(a) || isnan(b) ? NAN : a > b ? a : b;
    case WNN_OP_min:
        return isnan(a) || isnan(b) ? NAN : a < b ? a : b;
    case WNN_OP_pow:
        return pow(a, b);
    case WNN_OP_modulusTruncate:
        return fmod(a, b);
    case WNN_OP_modulusFloor:
        return floor_modulus(a, b);
    default: // prelu
        return a < 0 ? a * b : a;
    }
}

// a^b modulo 2^64.
static uint64_t integer_power(__int128 a, __int128 b)
{
    if (b < 0)
        return a == 1 ? 1 : a == -1 ? (b % 2 == 0 ? 1 : UINT64_MAX) : 0;
    uint64_t result = 1, power = (uint64_t)a;
    for (; b > 0; b >>= 1) {
        if (b & 1)
            result *= power;
        power *= power;
    }
    return result;
}

static __int128 integer_binary(enum op op, __int128 a, __int128 b)
{
    switch (op) {
    case WNN_OP_add:
        return a + b;
    case WNN_OP_sub:
        return a - b;
    case WNN_OP_mul:
        return (uint64_t)a * (uint64_t)b;
    case WNN_OP_div: // the least value by -1 is one more than the greatest, which is stored as the least
        return b == 0 ? a : a / b;
    case WNN_OP_max:
        return a > b ? a : b;
    case WNN_OP_min:
        return a < b ? a : b;
    case WNN_OP_pow:
        return integer_power(a, b);
    case WNN_OP_modulusTruncate:
        return b == 0 ? a : a % b;
    case WNN_OP_modulusFloor:
        return b == 0 ? a : (a % b + b) % b;
    default: // prelu
        return a < 0 ? (__int128)((uint64_t)a * (uint64_t)b) : a;
    }
}

void wnn_reference_binary(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    for (size_t i = 0; i < out->count; i++) {
        size_t a = broadcast_index(&in[0], out, i), b = broadcast_index(&in[1], out, i);
        if (is_float(out))
            store(out, i, float_binary((enum op)node->op, load(&in[0], a), load(&in[1], b)));
        else
            store_integer(
                out, i, integer_binary((enum op)node->op, load_integer(&in[0], a), load_integer(&in[1], b)));
    }
}

// `less`, `equal`: how a compares with b; neither, nor `greater`, if one is NaN.
static bool compare(enum op op, bool less, bool equal, bool greater)
{
    switch (op) {
    case WNN_OP_equal:
        return equal;
    case WNN_OP_notEqual:
        return !equal;
    case WNN_OP_greater:
        return greater;
    case WNN_OP_greaterOrEqual:
        return greater || equal;
    case WNN_OP_lesser:
        return less;
    default: // lesserOrEqual
        return less || equal;
    }
}

void wnn_reference_comparison(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    enum op op = (enum op)node->op;
    for (size_t i = 0; i < out->count; i++) {
        size_t ia = broadcast_index(&in[0], out, i), ib = broadcast_index(&in[1], out, i);
        bool result;
        if (is_float(&in[0])) {
            double a = load(&in[0], ia), b = load(&in[1], ib);
            result = compare(op, a<b, a == b, a> b);
        } else {
            __int128 a = load_integer(&in[0], ia), b = load_integer(&in[1], ib);
            switch (op) {
            case WNN_OP_logicalAnd:
                result = a != 0 && b != 0;
                break;
            case WNN_OP_logicalOr:
                result = a != 0 || b != 0;
                break;
            case WNN_OP_logicalXor:
                result = (a != 0) != (b != 0);
                break;
            default:
                result = compare(op, a<b, a == b, a> b);
            }
        }
        store_integer(out, i, result);
    }
}

// logicalNot, isNaN, isInfinite.
void wnn_reference_test(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    for (size_t i = 0; i < out->count; i++) {
        double x = load(in, i);
        store_integer(out, i,
                      node->op == WNN_OP_isNaN        ? isnan(x) != 0
                      : node->op == WNN_OP_isInfinite ? isinf(x) != 0
                                                      : x == 0);
    }
}

void wnn_reference_where(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    (void)node;
    for (size_t i = 0; i < out->count; i++) {
        const struct tensor *chosen =
            load_integer(&in[0], broadcast_index(&in[0], out, i)) != 0 ? &in[1] : &in[2];
        copy_element(out, i, chosen, broadcast_index(chosen, out, i));
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Between data types
// ---------------------------------------------------------------------------------------------------------------

void wnn_reference_cast(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    (void)node;
    for (size_t i = 0; i < out->count; i++) {
        if (is_float(in) && is_float(out)) {
            store(out, i, load(in, i));
        } else if (is_float(in)) {
            store_saturated(out, i, integer_of(trunc(load(in, i))));
        } else if (out->type == WNNDataType_Float32) {
            store(out, i, (float)load_integer(in, i)); // not by way of double, which would round twice
        } else if (out->type == WNNDataType_Float16) {
            store(out, i, load(in, i)); // integers that double rounds are far beyond 65504
        } else {
            store_integer(out, i, load_integer(in, i));
        }
    }
}

// The element of scale and zero point that serves element `index`: each of theirs serves a block.
static size_t block_index(const struct tensor *scale, const struct tensor *tensor, size_t index)
{
    size_t at[WNN_MAX_RANK] = {0};
    coordinates_of(tensor, index, at);
    for (unsigned d = 0; d < tensor->shape.rank; d++)
        at[d] /= tensor->shape.dim[d] / scale->shape.dim[d];
    return index_at(scale, at);
}

void wnn_reference_quantize(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    (void)node;
    for (size_t i = 0; i < out->count; i++) {
        size_t block = block_index(&in[1], out, i);
        __int128 steps = integer_of(rint(load(&in[0], i) / load(&in[1], block)));
        store_saturated(out, i, steps + load_integer(&in[2], block));
    }
}

void wnn_reference_dequantize(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    (void)node;
    for (size_t i = 0; i < out->count; i++) {
        size_t block = block_index(&in[1], out, i);
        store(out, i, (double)(load_integer(&in[0], i) - load_integer(&in[2], block)) * load(&in[1], block));
    }
}
