// SPDX-License-Identifier: Apache-2.0
#include "tools/model/known.h"

#include <math.h>

#define MAX_TABLE MAX_RANK // floats of the file, as scales of axes are: others are cast by the graph

typedef WNNOperand (*entry_unary)(WNNGraphBuilder builder, WNNOperand a, const WNNOperatorOptions *options);
typedef WNNOperand (*entry_binary)(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                   const WNNOperatorOptions *options);

static double sign_of(double x)
{
    return isnan(x) ? x : (double)((x > 0) - (x < 0));
}

static double reciprocal_of(double x)
{
    return 1 / x;
}

static double negative_of(double x)
{
    return -x;
}

static double relu_of(double x)
{
    return x > 0 || isnan(x) ? x : 0;
}

static double sigmoid_of(double x)
{
    return 1 / (1 + exp(-x));
}

static double softsign_of(double x)
{
    return x / (1 + fabs(x));
}

static double gelu_of(double x)
{
    return x / 2 * (1 + erf(x / sqrt(2)));
}

static double hard_swish_of(double x)
{
    return x * fmax(0, fmin(1, x / 6 + 0.5));
}

static double is_nan_of(double x)
{
    return isnan(x);
}

static double is_infinite_of(double x)
{
    return isinf(x);
}

static double not_of(double x)
{
    return x == 0;
}

static WNNOperand softplus(WNNGraphBuilder builder, WNNOperand a, const WNNOperatorOptions *options)
{
    WNNSoftplusOptions softplus_options = WNN_SOFTPLUS_OPTIONS_INIT;
    softplus_options.label = options->label;
    return wnnGraphBuilderSoftplus(builder, a, &softplus_options);
}

static double softplus_of(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static const struct {
    entry_unary record;
    double (*compute)(double);
    bool truth; // the result is a boolean
} unaries[] = {
    [ABS] = {wnnGraphBuilderAbs, fabs, false},
    [CEIL] = {wnnGraphBuilderCeil, ceil, false},
    [COS] = {wnnGraphBuilderCos, cos, false},
    [ERF] = {wnnGraphBuilderErf, erf, false},
    [EXP] = {wnnGraphBuilderExp, exp, false},
    [FLOOR] = {wnnGraphBuilderFloor, floor, false},
    [LOG] = {wnnGraphBuilderLog, log, false},
    [NEG] = {wnnGraphBuilderNeg, negative_of, false},
    [RECIPROCAL] = {wnnGraphBuilderReciprocal, reciprocal_of, false},
    [ROUND] = {wnnGraphBuilderRoundEven, nearbyint, false},
    [SIGN] = {wnnGraphBuilderSign, sign_of, false},
    [SIN] = {wnnGraphBuilderSin, sin, false},
    [SQRT] = {wnnGraphBuilderSqrt, sqrt, false},
    [TAN] = {wnnGraphBuilderTan, tan, false},
    [TANH] = {wnnGraphBuilderTanh, tanh, false},
    [SIGMOID] = {wnnGraphBuilderSigmoid, sigmoid_of, false},
    [RELU] = {wnnGraphBuilderRelu, relu_of, false},
    [SOFTPLUS] = {softplus, softplus_of, false},
    [SOFTSIGN] = {wnnGraphBuilderSoftsign, softsign_of, false},
    [GELU] = {wnnGraphBuilderGelu, gelu_of, false},
    [HARD_SWISH] = {wnnGraphBuilderHardSwish, hard_swish_of, false},
    [IS_NAN] = {wnnGraphBuilderIsNaN, is_nan_of, true},
    [IS_INFINITE] = {wnnGraphBuilderIsInfinite, is_infinite_of, true},
    [NOT] = {wnnGraphBuilderLogicalNot, not_of, true},
};

struct tensor *unary(struct recording *r, enum unary op, struct tensor *a)
{
    if (!a || r->failed)
        return NULL;
    int64_t type = unaries[op].truth ? TYPE_BOOL : a->type;
    if (is_known(r, a) && !has_late_elements(a)) {
        struct tensor *result = make_known(r, type, a->rank, a->dims);
        for (int64_t i = 0; result && i < count_elements(a); i++)
            if (a->ints && op == NEG)
                result->ints[i] = (int64_t)(0 - (uint64_t)a->ints[i]);
            else if (a->ints && op == ABS)
                result->ints[i] = a->ints[i] < 0 ? (int64_t)(0 - (uint64_t)a->ints[i]) : a->ints[i];
            else
                set_known(result, i, unaries[op].compute(known_number(a, i)));
        return result;
    }
    WNNOperand operand = operand_of(r, a);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return operand ? make_operand(r, type, unaries[op].record(r->builder, operand, &options)) : NULL;
}

static const struct {
    entry_binary record;
    bool truth;
} binaries[] = {
    [ADD] = {wnnGraphBuilderAdd, false},        [SUB] = {wnnGraphBuilderSub, false},
    [MUL] = {wnnGraphBuilderMul, false},        [DIV] = {wnnGraphBuilderDiv, false},
    [MAX] = {wnnGraphBuilderMax, false},        [MIN] = {wnnGraphBuilderMin, false},
    [POW] = {wnnGraphBuilderPow, false},        [EQUAL] = {wnnGraphBuilderEqual, true},
    [GREATER] = {wnnGraphBuilderGreater, true}, [GREATER_OR_EQUAL] = {wnnGraphBuilderGreaterOrEqual, true},
    [LESSER] = {wnnGraphBuilderLesser, true},   [LESSER_OR_EQUAL] = {wnnGraphBuilderLesserOrEqual, true},
    [AND] = {wnnGraphBuilderLogicalAnd, true},  [OR] = {wnnGraphBuilderLogicalOr, true},
    [XOR] = {wnnGraphBuilderLogicalXor, true},
};

static double compute_real(enum binary op, double a, double b)
{
    switch (op) {
    case ADD:
        return a + b;
    case SUB:
        return a - b;
    case MUL:
        return a * b;
    case DIV:
        return a / b;
    case MAX:
        return isnan(a) || isnan(b) ? NAN : fmax(a, b);
    case MIN:
        return isnan(a) || isnan(b) ? NAN : fmin(a, b);
    case POW:
        return pow(a, b);
    case EQUAL:
        return a == b;
    case GREATER:
        return a > b;
    case GREATER_OR_EQUAL:
        return a >= b;
    case LESSER:
        return a < b;
    case LESSER_OR_EQUAL:
        return a <= b;
    case AND:
        return a != 0 && b != 0;
    case OR:
        return a != 0 || b != 0;
    case XOR:
        return (a != 0) != (b != 0);
    }
    return 0;
}

static bool compute_integer(struct recording *r, enum binary op, int64_t a, int64_t b, int64_t *result)
{
    switch (op) {
    case ADD:
        *result = (int64_t)((uint64_t)a + (uint64_t)b);
        return true;
    case SUB:
        *result = (int64_t)((uint64_t)a - (uint64_t)b);
        return true;
    case MUL:
        *result = (int64_t)((uint64_t)a * (uint64_t)b);
        return true;
    case DIV:
        if (b == 0)
            return fail(r, "a division of integers by zero");
        *result = b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
        return true;
    case MAX:
        *result = a > b ? a : b;
        return true;
    case MIN:
        *result = a < b ? a : b;
        return true;
    case POW:
        *result = to_integer(pow((double)a, (double)b));
        return true;
    case EQUAL:
        *result = a == b;
        return true;
    case GREATER:
        *result = a > b;
        return true;
    case GREATER_OR_EQUAL:
        *result = a >= b;
        return true;
    case LESSER:
        *result = a < b;
        return true;
    case LESSER_OR_EQUAL:
        *result = a <= b;
        return true;
    default:
        *result = (int64_t)compute_real(op, (double)a, (double)b);
        return true;
    }
}

// Numbers of uint64, which int64 holds as bits.
static bool compute_unsigned(struct recording *r, enum binary op, int64_t first, int64_t second,
                             int64_t *result)
{
    uint64_t a = (uint64_t)first, b = (uint64_t)second;
    switch (op) {
    case DIV:
        if (b == 0)
            return fail(r, "a division of integers by zero");
        *result = (int64_t)(a / b);
        return true;
    case MAX:
        *result = (int64_t)(a > b ? a : b);
        return true;
    case MIN:
        *result = (int64_t)(a < b ? a : b);
        return true;
    case GREATER:
        *result = a > b;
        return true;
    case GREATER_OR_EQUAL:
        *result = a >= b;
        return true;
    case LESSER:
        *result = a < b;
        return true;
    case LESSER_OR_EQUAL:
        *result = a <= b;
        return true;
    default:
        return compute_integer(r, op, first, second, result);
    }
}

// Two known tensors into one of the dimensions that they are broadcast to. NULL: an error, or the result is
// not certain because of late sizes.
static struct tensor *binary_known(struct recording *r, enum binary op, const struct tensor *a,
                                   const struct tensor *b, struct tensor *result)
{
    if (!result || ((!a->ints || !b->ints) && (has_late_elements(a) || has_late_elements(b))))
        return NULL;
    struct nd_iterator n = iterate_known(result->rank, result->dims, 2, (const struct tensor *[]){a, b});
    for (int64_t i = 0; i < count_elements(result); i++, advance_known(&n)) {
        int64_t value = 0;
        if (!a->ints || !b->ints)
            set_known(result, i, compute_real(op, known_number(a, n.at[0]), known_number(b, n.at[1])));
        else if (is_late(a->ints[n.at[0]]) || is_late(b->ints[n.at[1]])) {
            if (!compute_late(r, op, a->ints[n.at[0]], b->ints[n.at[1]], &result->ints[i]))
                return NULL;
        } else if (!(a->type == TYPE_UINT64 ? compute_unsigned : compute_integer)(r, op, a->ints[n.at[0]],
                                                                                  b->ints[n.at[1]], &value))
            return NULL;
        else if (result->type == TYPE_INT64 || result->type == TYPE_UINT64)
            result->ints[i] = value;
        else
            set_known(result, i, (double)value);
    }
    return result;
}

struct tensor *binary(struct recording *r, enum binary op, struct tensor *a, struct tensor *b)
{
    if (!a || !b || r->failed)
        return NULL;
    int64_t type = binaries[op].truth ? TYPE_BOOL : a->type, dims[MAX_RANK];
    size_t rank;
    if (!broadcast(r, a, b, &rank, dims))
        return NULL;
    if (a->type != b->type && op != POW)
        return fail(r, "operands of types %s and %s", type_name(a->type), type_name(b->type));
    if (is_known(r, a) && is_known(r, b) && is_computed(r, type, rank, dims)) {
        struct tensor *result = binary_known(r, op, a, b, make_known(r, type, rank, dims));
        if (result)
            return result;
    }
    if (r->failed)
        return NULL;
    WNNOperand x = operand_of(r, a), y = operand_of(r, b);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return x && y ? make_operand(r, type, binaries[op].record(r->builder, x, y, &options)) : NULL;
}

struct tensor *with_number(struct recording *r, enum binary op, struct tensor *a, double b)
{
    return a ? binary(r, op, a, make_number(r, a->type, b)) : NULL;
}

struct tensor *with_size(struct recording *r, enum binary op, struct tensor *a, int64_t b)
{
    return a ? binary(r, op, a, make_size(r, a->type, b)) : NULL;
}

struct tensor *number_with(struct recording *r, enum binary op, double a, struct tensor *b)
{
    return b ? binary(r, op, make_number(r, b->type, a), b) : NULL;
}

static struct tensor *choose_known(struct recording *r, struct tensor *condition, struct tensor *a,
                                   struct tensor *b, size_t rank, const int64_t *dims)
{
    struct tensor *result = make_known(r, a->type, rank, dims);
    struct nd_iterator n = iterate_known(rank, dims, 3, (const struct tensor *[]){condition, a, b});
    for (int64_t i = 0; result && i < count_elements(result); i++, advance_known(&n)) {
        bool truth = known_number(condition, n.at[0]) != 0;
        copy_known(result, i, truth ? a : b, n.at[truth ? 1 : 2]);
    }
    return result;
}

struct tensor *choose(struct recording *r, struct tensor *condition, struct tensor *a, struct tensor *b)
{
    if (!condition || !a || !b || r->failed)
        return NULL;
    if (a->type != b->type)
        return fail(r, "operands of types %s and %s", type_name(a->type), type_name(b->type));
    struct tensor shape = {0};
    size_t rank;
    int64_t dims[MAX_RANK];
    if (is_known(r, condition) && is_known(r, a) && is_known(r, b)) {
        if (!broadcast(r, a, b, &shape.rank, shape.dims) || !broadcast(r, condition, &shape, &rank, dims))
            return NULL;
        if (is_computed(r, a->type, rank, dims))
            return choose_known(r, condition, a, b, rank, dims);
    }
    WNNOperand c = operand_of(r, condition), x = operand_of(r, a), y = operand_of(r, b);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return c && x && y ? make_operand(r, a->type, wnnGraphBuilderWhere(r->builder, c, x, y, &options)) : NULL;
}

struct tensor *clamp_to_size(struct recording *r, struct tensor *t, int64_t size)
{
    if (!is_late(size))
        return clamp(r, t, 0, (double)(size - 1));
    // Of a size of 0 nothing is taken, but where is computed: as a number, which may be negative, and no
    // size.
    struct tensor *count = t ? forget(r, make_size(r, t->type, size)) : NULL;
    return with_number(r, MAX, binary(r, MIN, t, with_number(r, SUB, count, 1)), 0);
}

struct tensor *clamp(struct recording *r, struct tensor *t, double low, double high)
{
    if (!t || r->failed)
        return NULL;
    if (is_known(r, t) && !has_late_elements(t)) {
        struct tensor *result = make_known(r, t->type, t->rank, t->dims);
        for (int64_t i = 0; result && i < count_elements(t); i++) {
            double x = known_number(t, i);
            set_known(result, i, isnan(x) ? x : fmin(fmax(x, low), high));
        }
        return result;
    }
    WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;
    options.label = label_of(r);
    if (low > -INFINITY)
        options.minValue = (WNNNumber){WNNNumberType_Float64, {.f64 = low}};
    if (high < INFINITY)
        options.maxValue = (WNNNumber){WNNNumberType_Float64, {.f64 = high}};
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, wnnGraphBuilderClamp(r->builder, operand, &options)) : NULL;
}

struct tensor *elu(struct recording *r, struct tensor *t, double alpha)
{
    WNNEluOptions options = WNN_ELU_OPTIONS_INIT;
    options.label = label_of(r);
    options.alpha = alpha;
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, wnnGraphBuilderElu(r->builder, operand, &options)) : NULL;
}

struct tensor *leaky_relu(struct recording *r, struct tensor *t, double alpha)
{
    WNNLeakyReluOptions options = WNN_LEAKY_RELU_OPTIONS_INIT;
    options.label = label_of(r);
    options.alpha = alpha;
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, wnnGraphBuilderLeakyRelu(r->builder, operand, &options)) : NULL;
}

struct tensor *hard_sigmoid(struct recording *r, struct tensor *t, double alpha, double beta)
{
    WNNHardSigmoidOptions options = WNN_HARD_SIGMOID_OPTIONS_INIT;
    options.label = label_of(r);
    options.alpha = alpha;
    options.beta = beta;
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, wnnGraphBuilderHardSigmoid(r->builder, operand, &options))
                   : NULL;
}

struct tensor *gelu_tanh(struct recording *r, struct tensor *t)
{
    struct tensor *cube = binary(r, MUL, t, with_number(r, MUL, binary(r, MUL, t, t), 0.044715));
    struct tensor *x = unary(r, TANH, with_number(r, MUL, binary(r, ADD, t, cube), sqrt(2 / acos(-1))));
    return binary(r, MUL, with_number(r, MUL, t, 0.5), with_number(r, ADD, x, 1));
}

// Halved twice, atan(x) = 2 atan(x / (1 + sqrt(1 +
// x^2))), then a series.
struct tensor *arc_tangent(struct recording *r, struct tensor *t)
{
    for (int i = 0; i < 2; i++) {
        struct tensor *root = unary(r, SQRT, with_number(r, ADD, binary(r, MUL, t, t), 1));
        t = binary(r, DIV, t, with_number(r, ADD, root, 1));
    }
    struct tensor *square = binary(r, MUL, t, t), *sum = with_number(r, MUL, square, 0);
    for (int n = 15; n >= 1; n -= 2)
        sum = with_number(r, ADD, n == 15 ? sum : binary(r, MUL, sum, square), (n % 4 == 1 ? 1.0 : -1.0) / n);
    return with_number(r, MUL, binary(r, MUL, sum, t), 4);
}

// Whether floats of the file are weights rather than a table: those are left to the compiler, which widens
// them without numbers of 8 bytes in between.
static bool is_weights(const struct recording *r, const struct tensor *t, int64_t to)
{
    return t->source && !t->ints && !t->reals && is_real(t->type) && is_real(to) &&
           operand_type(r, t->type) != WNNDataType_Undefined &&
           operand_type(r, to) != WNNDataType_Undefined && count_elements(t) > MAX_TABLE;
}

struct tensor *cast(struct recording *r, struct tensor *t, int64_t type)
{
    if (!t || r->failed || t->type == type)
        return t;
    if (!is_weights(r, t, type) && is_known(r, t) &&
        ((is_integer(type) && element_bits(type) >= 32) || !has_late_elements(t))) {
        struct tensor *result = make_known(r, type, t->rank, t->dims);
        for (int64_t i = 0; result && i < count_elements(t); i++)
            if (t->ints && result->ints && (type == TYPE_INT64 || is_late(t->ints[i])))
                result->ints[i] = t->ints[i];
            else
                set_known(result, i, known_number(t, i));
        return result;
    }
    WNNDataType to = operand_type(r, type);
    if (to == WNNDataType_Undefined)
        return fail(r, "WebNN has no type for %s%s", type_name(type),
                    is_narrowed(type) ? ", and narrowing was not asked for" : "");
    WNNOperand operand = operand_of(r, t);
    if (!operand)
        return NULL;
    WNNOperatorOptions options = {NULL, label_of(r)};
    if (type == TYPE_BOOL)
        return unary(r, NOT, binary(r, EQUAL, t, make_number(r, t->type, 0)));
    if (wnnOperandGetDataType(operand) == to) {
        struct tensor *same = make_tensor(r, type, t->rank, t->dims);
        if (same) {
            same->operand = operand;
            same->is_input = t->is_input;
        }
        return same;
    }
    return make_operand(r, type, wnnGraphBuilderCast(r->builder, operand, to, &options));
}
