// SPDX-License-Identifier: Apache-2.0
#include "tools/model/late.h"
#include "tools/model/tensor.h"

#include <math.h>
#include <string.h>

#define MAX_TABLE MAX_RANK // floats of the file, as scales of axes are: others are cast by the graph

static WNNUint32List list(uint32_t *to, const int64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = size_number(from[i]);
    return (WNNUint32List){to, count};
}

static void strides_of(const struct tensor *t, int64_t *strides)
{
    uint64_t stride = 1; // of late sizes it means nothing, and nobody asks
    for (size_t i = t->rank; i-- > 0; stride *= (uint64_t)t->dims[i])
        strides[i] = (int64_t)stride;
}

static void copy_known(struct tensor *to, int64_t i, const struct tensor *from, int64_t j)
{
    if (to->reals)
        to->reals[i] = from->reals[j];
    else
        to->ints[i] = from->ints[j];
}

// The elements of a shape in order, and where those of up to three tensors that belong to them are.
struct nd_iterator {
    size_t rank, count;
    const int64_t *dims;
    int64_t index[MAX_RANK], strides[3][MAX_RANK], at[3];
};

static void advance(struct nd_iterator *n)
{
    for (size_t i = n->rank; i-- > 0;) {
        bool ends = ++n->index[i] >= n->dims[i];
        for (size_t k = 0; k < n->count; k++)
            n->at[k] += n->strides[k][i] * (ends ? 1 - n->dims[i] : 1);
        if (!ends)
            return;
        n->index[i] = 0;
    }
}

// Strides of a tensor that is broadcast to a rank and dimensions.
static void broadcast_strides(const struct tensor *t, size_t rank, int64_t *strides)
{
    int64_t own[MAX_RANK];
    strides_of(t, own);
    for (size_t i = 0; i < rank; i++) {
        size_t axis = i + t->rank - rank; // of the tensor, if it has one there
        strides[i] = i + t->rank >= rank && t->dims[axis] != 1 ? own[axis] : 0;
    }
}

// Begins at the first element of a shape that tensors are broadcast to.
static struct nd_iterator iterate(size_t rank, const int64_t *dims, size_t count,
                                  const struct tensor *const *tensors)
{
    struct nd_iterator n = {.rank = rank, .count = count, .dims = dims};
    for (size_t k = 0; k < count; k++)
        broadcast_strides(tensors[k], rank, n.strides[k]);
    return n;
}

// A tensor of other dimensions, of which element i is that of `t` at offset + sum of index * strides.
static struct tensor *rearrange(struct recording *r, struct tensor *t, size_t rank, const int64_t *dims,
                                const int64_t *strides, int64_t offset)
{
    struct tensor *result = make_known(r, t->type, rank, dims);
    struct nd_iterator n = {.rank = rank, .count = 1, .dims = dims, .at = {offset}};
    for (size_t k = 0; k < rank; k++)
        n.strides[0][k] = strides[k];
    for (int64_t i = 0; result && i < count_elements(result); i++, advance(&n))
        copy_known(result, i, t, n.at[0]);
    return result;
}

// ---------------------------------------------------------------------------------------------------------------
// Elementwise
// ---------------------------------------------------------------------------------------------------------------

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
    struct nd_iterator n = iterate(result->rank, result->dims, 2, (const struct tensor *[]){a, b});
    for (int64_t i = 0; i < count_elements(result); i++, advance(&n)) {
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
    struct nd_iterator n = iterate(rank, dims, 3, (const struct tensor *[]){condition, a, b});
    for (int64_t i = 0; result && i < count_elements(result); i++, advance(&n)) {
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

// ---------------------------------------------------------------------------------------------------------------
// Movement
// ---------------------------------------------------------------------------------------------------------------

struct tensor *reshape(struct recording *r, struct tensor *t, size_t rank, const int64_t *dims)
{
    if (!t || r->failed)
        return NULL;
    if (rank > MAX_RANK)
        return fail(r, "a tensor of rank %zu; more than %d are not supported", rank, MAX_RANK);
    bool late = has_late(dims, rank) || !knows_shape(t);
    if (!late && product(dims, rank) != count_elements(t))
        return fail(r, "%lld elements cannot have a shape of %lld", (long long)count_elements(t),
                    (long long)product(dims, rank));
    if (rank == t->rank && (rank == 0 || memcmp(dims, t->dims, rank * sizeof *dims) == 0))
        return t;
    if (!late && (is_known(r, t) || (t->source && !t->operand))) {
        struct tensor *result = make_tensor(r, t->type, rank, dims);
        if (result) {
            result->ints = t->ints;
            result->reals = t->reals;
            result->source = t->source; // the bytes are the same
        }
        return result;
    }
    uint32_t shape[MAX_RANK];
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return operand
               ? make_operand(r, t->type,
                              wnnGraphBuilderReshape(r->builder, operand, list(shape, dims, rank), &options))
               : NULL;
}

struct tensor *unsqueeze(struct recording *r, struct tensor *t, size_t axis)
{
    if (!t || r->failed)
        return NULL;
    if (t->rank >= MAX_RANK)
        return fail(r, "a tensor of rank %zu; more than %d are not supported", t->rank + 1, MAX_RANK);
    int64_t dims[MAX_RANK];
    for (size_t i = 0; i <= t->rank; i++)
        dims[i] = i == axis ? 1 : t->dims[i - (i > axis)];
    return reshape(r, t, t->rank + 1, dims);
}

struct tensor *squeeze(struct recording *r, struct tensor *t, size_t axis)
{
    if (!t || r->failed)
        return NULL;
    int64_t dims[MAX_RANK];
    for (size_t i = 0; i + 1 < t->rank; i++)
        dims[i] = t->dims[i + (i >= axis)];
    return reshape(r, t, t->rank - 1, dims);
}

struct tensor *transpose(struct recording *r, struct tensor *t, const size_t *permutation)
{
    if (!t || r->failed)
        return NULL;
    int64_t dims[MAX_RANK], own[MAX_RANK], strides[MAX_RANK];
    uint32_t order[MAX_RANK];
    bool same = true;
    strides_of(t, own);
    for (size_t i = 0; i < t->rank; i++) {
        dims[i] = t->dims[permutation[i]];
        strides[i] = own[permutation[i]];
        order[i] = (uint32_t)permutation[i];
        same &= permutation[i] == i;
    }
    if (same)
        return t;
    if (is_known(r, t))
        return rearrange(r, t, t->rank, dims, strides, 0);
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.label = label_of(r);
    options.permutation = (WNNUint32List){order, t->rank};
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, wnnGraphBuilderTranspose(r->builder, operand, &options)) : NULL;
}

struct tensor *swap_axes(struct recording *r, struct tensor *t, size_t a, size_t b)
{
    size_t permutation[MAX_RANK];
    for (size_t i = 0; t && i < t->rank; i++)
        permutation[i] = i == a ? b : i == b ? a : i;
    return transpose(r, t, permutation);
}

struct tensor *expand(struct recording *r, struct tensor *t, size_t rank, const int64_t *dims)
{
    if (!t || r->failed)
        return NULL;
    if (rank == t->rank && (rank == 0 || memcmp(dims, t->dims, rank * sizeof *dims) == 0))
        return t;
    for (size_t i = 0; i < t->rank; i++)
        if (rank < t->rank || (t->dims[i] != 1 && t->dims[i] != dims[i + rank - t->rank] &&
                               !is_late(t->dims[i]) && !is_late(dims[i + rank - t->rank])))
            return fail(r, "a size of %lld cannot be expanded", (long long)t->dims[i]);
    if (is_known(r, t) && !has_late(dims, rank) && is_computed(r, t->type, rank, dims)) {
        int64_t strides[MAX_RANK];
        broadcast_strides(t, rank, strides);
        return rearrange(r, t, rank, dims, strides, 0);
    }
    uint32_t shape[MAX_RANK];
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, label_of(r)};
    struct tensor *result =
        operand ? make_operand(r, t->type,
                               wnnGraphBuilderExpand(r->builder, operand, list(shape, dims, rank), &options))
                : NULL;
    if (result && is_known(r, t) && count_elements(t) == 1)
        result->every = t;
    return result;
}

struct tensor *slice(struct recording *r, struct tensor *t, const int64_t *starts, const int64_t *sizes,
                     const int64_t *steps)
{
    if (!t || r->failed)
        return NULL;
    int64_t own[MAX_RANK], strides[MAX_RANK], offset = 0, from[MAX_RANK], spans[MAX_RANK];
    uint32_t start_list[MAX_RANK], size_list[MAX_RANK], step_list[MAX_RANK], reversed[MAX_RANK];
    size_t reversed_count = 0;
    bool whole = true, strided = false;
    strides_of(t, own);
    for (size_t i = 0; i < t->rank; i++) {
        int64_t step = steps ? steps[i] : 1, width = step < 0 ? -step : step;
        int64_t span = compute_size(r, MUL, compute_size(r, SUB, sizes[i], 1), width);
        int64_t last = compute_size(r, step < 0 ? SUB : ADD, starts[i], span);
        bool known = !is_late(starts[i]) && !is_late(last) && !is_late(t->dims[i]);
        if (known && sizes[i] > 0 &&
            (starts[i] < 0 || starts[i] >= t->dims[i] || last < 0 || last >= t->dims[i]))
            return fail(r, "a slice from %lld to %lld of a size of %lld", (long long)starts[i],
                        (long long)last, (long long)t->dims[i]);
        strides[i] = known ? own[i] * step : 0;
        offset += known && sizes[i] > 0 ? own[i] * starts[i] : 0;
        whole &= sizes[i] == t->dims[i] && step == 1;
        strided |= width != 1;
        if (step < 0 && sizes[i] > 1)
            reversed[reversed_count++] = (uint32_t)i;
        from[i] = step < 0 ? last : starts[i];
        spans[i] = sizes[i] > 0 ? compute_size(r, ADD, span, 1) : 0;
        step_list[i] = (uint32_t)width;
    }
    if (r->failed)
        return NULL;
    if (whole)
        return t;
    if (!has_late(starts, t->rank) && !has_late(sizes, t->rank) &&
        (is_known(r, t) || product(sizes, t->rank) == 0))
        return is_known(r, t) ? rearrange(r, t, t->rank, sizes, strides, offset)
                              : make_known(r, t->type, t->rank, sizes);
    WNNSliceOptions options = WNN_SLICE_OPTIONS_INIT;
    options.label = label_of(r);
    if (strided)
        options.strides = (WNNUint32List){step_list, t->rank};
    WNNOperand operand = operand_of(r, t);
    if (!operand)
        return NULL;
    struct tensor *result =
        make_operand(r, t->type,
                     wnnGraphBuilderSlice(r->builder, operand, list(start_list, from, t->rank),
                                          list(size_list, spans, t->rank), &options));
    if (!result || reversed_count == 0)
        return result;
    WNNReverseOptions reverse = WNN_REVERSE_OPTIONS_INIT;
    reverse.label = label_of(r);
    reverse.axes = (WNNUint32List){reversed, reversed_count};
    return make_operand(r, t->type, wnnGraphBuilderReverse(r->builder, result->operand, &reverse));
}

struct tensor *slice_axis(struct recording *r, struct tensor *t, size_t axis, int64_t start, int64_t size,
                          int64_t step)
{
    if (!t || r->failed)
        return NULL;
    int64_t starts[MAX_RANK] = {0}, sizes[MAX_RANK], steps[MAX_RANK];
    for (size_t i = 0; i < t->rank; i++) {
        sizes[i] = i == axis ? size : t->dims[i];
        steps[i] = i == axis ? step : 1;
    }
    starts[axis] = start;
    return slice(r, t, starts, sizes, steps);
}

struct tensor *concat(struct recording *r, size_t count, struct tensor *const *tensors, size_t axis)
{
    bool known = true;
    size_t used = 0;
    struct tensor **all = wnn_model_allocate(r->memory, count, sizeof *all);
    int64_t dims[MAX_RANK] = {0};
    if (!all)
        return fail(r, "there is not enough memory");
    for (size_t i = 0; i < count; i++) {
        struct tensor *t = tensors[i];
        if (!t || r->failed)
            return NULL;
        if (t->rank != tensors[0]->rank || t->type != tensors[0]->type)
            return fail(r, "operands of other ranks or types cannot be joined");
        for (size_t k = 0; k < t->rank; k++)
            if (k != axis && t->dims[k] != tensors[0]->dims[k] && !is_late(t->dims[k]) &&
                !is_late(tensors[0]->dims[k]))
                return fail(r, "sizes %lld and %lld of axis %zu cannot be joined",
                            (long long)tensors[0]->dims[k], (long long)t->dims[k], k);
        if (i == 0)
            memcpy(dims, t->dims, sizeof dims);
        else if (!is_late(dims[axis]) && !is_late(t->dims[axis]))
            dims[axis] += t->dims[axis];
        if (count_elements(t) > 0 || (i + 1 == count && used == 0))
            all[used++] = t;
        known = known && is_known(r, t);
    }
    if (used == 1)
        return all[0];
    if (known) {
        struct tensor *result = make_known(r, all[0]->type, all[0]->rank, dims);
        int64_t outer = product(dims, axis), inner = product(dims + axis + 1, all[0]->rank - axis - 1),
                at = 0;
        for (int64_t o = 0; result && o < outer; o++)
            for (size_t k = 0; k < used; k++)
                for (int64_t i = 0, n = all[k]->dims[axis] * inner; i < n; i++) {
                    if (at >= count_elements(result))
                        return fail(r, "operands of other shapes cannot be joined");
                    copy_known(result, at++, all[k], o * n + i);
                }
        return result;
    }
    WNNOperand *operands = wnn_model_allocate(r->memory, used, sizeof(WNNOperand));
    for (size_t i = 0; operands && i < used; i++)
        if (!(operands[i] = operand_of(r, all[i])))
            return NULL;
    if (!operands)
        return fail(r, "there is not enough memory");
    WNNOperatorOptions options = {NULL, label_of(r)};
    struct tensor *result = make_operand(
        r, all[0]->type, wnnGraphBuilderConcat(r->builder, used, operands, (uint32_t)axis, &options));
    if (result && result->rank == 1) {
        result->items = all;
        result->item_count = used;
    }
    return result;
}

struct tensor *gather(struct recording *r, struct tensor *t, struct tensor *indices, size_t axis)
{
    if (!t || !indices || r->failed)
        return NULL;
    if (axis >= t->rank)
        return fail(r, "axis %zu of a tensor of rank %zu", axis, t->rank);
    if (t->rank + indices->rank - 1 > MAX_RANK)
        return fail(r, "a tensor of rank %zu; more than %d are not supported", t->rank + indices->rank - 1,
                    MAX_RANK);
    if (!is_integer(indices->type))
        return fail(r, "indices of type %s", type_name(indices->type));
    if (is_known(r, indices) && !has_late_elements(indices) &&
        (is_known(r, t) || count_elements(indices) == 1)) {
        int64_t size = t->dims[axis];
        for (int64_t i = 0; !is_late(size) && i < count_elements(indices); i++)
            if (indices->ints[i] < -size || indices->ints[i] >= size)
                return fail(r, "index %lld of a size of %lld", (long long)indices->ints[i], (long long)size);
        int64_t dims[MAX_RANK];
        for (size_t i = 0; i < t->rank + indices->rank - 1; i++)
            dims[i] = i < axis                   ? t->dims[i]
                      : i < axis + indices->rank ? indices->dims[i - axis]
                                                 : t->dims[i + 1 - indices->rank];
        if (!is_known(r, t)) { // one index: a slice
            int64_t at =
                indices->ints[0] < 0 ? compute_size(r, ADD, size, indices->ints[0]) : indices->ints[0];
            return reshape(r, slice_axis(r, t, axis, at, 1, 1), t->rank + indices->rank - 1, dims);
        }
        struct tensor *result = make_known(r, t->type, t->rank + indices->rank - 1, dims);
        int64_t outer = product(t->dims, axis), inner = product(t->dims + axis + 1, t->rank - axis - 1),
                at = 0, all = result ? count_elements(result) : 0;
        for (int64_t o = 0; at < all && o < outer; o++)
            for (int64_t k = 0; k < count_elements(indices); k++)
                for (int64_t i = 0; i < inner; i++) {
                    int64_t index = indices->ints[k] < 0 ? indices->ints[k] + size : indices->ints[k];
                    copy_known(result, at++, t, (o * size + index) * inner + i);
                }
        return result;
    }
    WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
    options.label = label_of(r);
    options.axis = (uint32_t)axis;
    WNNOperand x = operand_of(r, t), y = operand_of(r, indices);
    return x && y ? make_operand(r, t->type, wnnGraphBuilderGather(r->builder, x, y, &options)) : NULL;
}

struct tensor *gather_elements(struct recording *r, struct tensor *t, struct tensor *indices, size_t axis)
{
    WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
    options.label = label_of(r);
    options.axis = (uint32_t)axis;
    WNNOperand x = operand_of(r, t), y = operand_of(r, indices);
    return x && y ? make_operand(r, t->type, wnnGraphBuilderGatherElements(r->builder, x, y, &options))
                  : NULL;
}

struct tensor *pad(struct recording *r, struct tensor *t, const int64_t *before, const int64_t *after,
                   WNNPaddingMode mode, double value)
{
    if (!t || r->failed)
        return NULL;
    // Negative padding takes away.
    int64_t starts[MAX_RANK] = {0}, sizes[MAX_RANK] = {0}, add_before[MAX_RANK], add_after[MAX_RANK];
    bool any = false;
    for (size_t i = 0; i < t->rank; i++) {
        starts[i] = before[i] < 0 ? -before[i] : 0;
        sizes[i] =
            compute_size(r, SUB, compute_size(r, SUB, t->dims[i], starts[i]), after[i] < 0 ? -after[i] : 0);
        add_before[i] = before[i] > 0 ? before[i] : 0;
        add_after[i] = after[i] > 0 ? after[i] : 0;
        any |= add_before[i] || add_after[i];
        if (sizes[i] < 0)
            return fail(r, "padding takes away more than there is");
    }
    t = slice(r, t, starts, sizes, NULL);
    if (!t || !any)
        return t;
    uint32_t lists[2][MAX_RANK];
    WNNPadOptions options = WNN_PAD_OPTIONS_INIT;
    options.label = label_of(r);
    options.mode = mode;
    options.value = is_real(t->type) ? (WNNNumber){WNNNumberType_Float64, {.f64 = value}}
                                     : (WNNNumber){WNNNumberType_Int64, {.i64 = (int64_t)value}};
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type,
                                  wnnGraphBuilderPad(r->builder, operand, list(lists[0], add_before, t->rank),
                                                     list(lists[1], add_after, t->rank), &options))
                   : NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Reductions and products
// ---------------------------------------------------------------------------------------------------------------

typedef WNNOperand (*entry_reduce)(WNNGraphBuilder builder, WNNOperand input,
                                   const WNNReduceOptions *options);

static const entry_reduce reductions[] = {
    [SUM] = wnnGraphBuilderReduceSum,
    [MEAN] = wnnGraphBuilderReduceMean,
    [MAXIMUM] = wnnGraphBuilderReduceMax,
    [MINIMUM] = wnnGraphBuilderReduceMin,
    [PRODUCT] = wnnGraphBuilderReduceProduct,
    [L1] = wnnGraphBuilderReduceL1,
    [L2] = wnnGraphBuilderReduceL2,
    [LOG_SUM] = wnnGraphBuilderReduceLogSum,
    [LOG_SUM_EXP] = wnnGraphBuilderReduceLogSumExp,
    [SUM_SQUARE] = wnnGraphBuilderReduceSumSquare,
};

// Those that shapes are made with.
static struct tensor *reduce_known(struct recording *r, enum reduction op, struct tensor *t, size_t rank,
                                   const int64_t *dims, const int64_t *to)
{
    struct tensor *result = make_filled(r, t->type, rank, dims, op == PRODUCT ? 1 : 0);
    struct nd_iterator n = {.rank = t->rank, .count = 1, .dims = t->dims};
    for (size_t k = 0; k < t->rank; k++)
        n.strides[0][k] = to[k];
    for (int64_t i = 0; result && i < count_elements(t); i++, advance(&n)) {
        int64_t at = n.at[0];
        bool first = true;
        for (size_t k = 0; k < t->rank; k++)
            first &= to[k] != 0 || n.index[k] == 0 || t->dims[k] == 1;
        if (t->ints && has_late((int64_t[]){t->ints[i], result->ints[at]}, 2)) {
            result->ints[at] = compute_size(r, op == SUM ? ADD : MUL, result->ints[at], t->ints[i]);
            continue;
        }
        double value = known_number(t, i), old = known_number(result, at);
        if (op == SUM_SQUARE)
            value *= value;
        set_known(result, at,
                  op == PRODUCT                   ? old * value
                  : op == SUM || op == SUM_SQUARE ? old + value
                  : first                         ? value
                  : op == MAXIMUM                 ? fmax(old, value)
                                                  : fmin(old, value));
    }
    return result;
}

struct tensor *reduce(struct recording *r, enum reduction op, struct tensor *t, size_t count,
                      const size_t *axes, bool keep)
{
    if (!t || r->failed)
        return NULL;
    uint32_t axis_list[MAX_RANK];
    bool reduced[MAX_RANK] = {false};
    for (size_t i = 0; i < count; i++) {
        axis_list[i] = (uint32_t)axes[i];
        reduced[axes[i]] = true;
    }
    if (is_known(r, t) && (op == SUM || op == PRODUCT || !has_late_elements(t)) &&
        (op == SUM || op == PRODUCT || op == MAXIMUM || op == MINIMUM || op == SUM_SQUARE)) {
        int64_t dims[MAX_RANK], to[MAX_RANK], stride = 1;
        size_t rank = 0;
        for (size_t i = 0; i < t->rank; i++)
            if (keep || !reduced[i])
                dims[rank++] = reduced[i] ? 1 : t->dims[i];
        for (size_t i = t->rank; i-- > 0;) {
            to[i] = reduced[i] ? 0 : stride;
            stride *= reduced[i] ? 1 : t->dims[i];
        }
        return reduce_known(r, op, t, rank, dims, to);
    }
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.label = label_of(r);
    options.axes = (WNNUint32List){axis_list, count};
    options.keepDimensions = keep;
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, reductions[op](r->builder, operand, &options)) : NULL;
}

struct tensor *reduce_axis(struct recording *r, enum reduction op, struct tensor *t, size_t axis)
{
    return reduce(r, op, t, 1, &axis, true);
}

struct tensor *arg_max(struct recording *r, struct tensor *t, size_t axis, bool least, bool keep)
{
    WNNArgMinMaxOptions options = WNN_ARG_MIN_MAX_OPTIONS_INIT;
    options.label = label_of(r);
    options.keepDimensions = keep;
    options.outputDataType = WNNDataType_Int64;
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, TYPE_INT64,
                                  (least ? wnnGraphBuilderArgMin : wnnGraphBuilderArgMax)(
                                      r->builder, operand, (uint32_t)axis, &options))
                   : NULL;
}

struct tensor *matmul(struct recording *r, struct tensor *a, struct tensor *b)
{
    WNNOperand x = operand_of(r, a), y = operand_of(r, b);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return x && y ? make_operand(r, a->type, wnnGraphBuilderMatmul(r->builder, x, y, &options)) : NULL;
}

struct tensor *softmax(struct recording *r, struct tensor *t, size_t axis)
{
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return operand ? make_operand(r, t->type,
                                  wnnGraphBuilderSoftmax(r->builder, operand, (uint32_t)axis, &options))
                   : NULL;
}

struct tensor *cumulative_sum(struct recording *r, struct tensor *t, size_t axis, bool exclusive,
                              bool reversed)
{
    WNNCumulativeSumOptions options = WNN_CUMULATIVE_SUM_OPTIONS_INIT;
    options.label = label_of(r);
    options.exclusive = exclusive;
    options.reversed = reversed;
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type,
                                  wnnGraphBuilderCumulativeSum(r->builder, operand, (uint32_t)axis, &options))
                   : NULL;
}

struct tensor *range(struct recording *r, struct tensor *start, struct tensor *limit, struct tensor *step)
{
    WNNOperand a = operand_of(r, reshape(r, start, 0, NULL)), b = operand_of(r, reshape(r, limit, 0, NULL)),
               s = operand_of(r, reshape(r, step, 0, NULL));
    WNNOperatorOptions options = {NULL, label_of(r)};
    return a && b && s ? make_operand(r, start->type, wnnGraphBuilderRange(r->builder, a, b, s, &options))
                       : NULL;
}

struct tensor *late_range(struct recording *r, int64_t count)
{
    struct late_operands *late = find_late(r, count);
    r->kept_count += late && !late->range;
    if (late && !late->range)
        late->range = range(r, make_number(r, TYPE_INT64, 0), make_size(r, TYPE_INT64, count),
                            make_number(r, TYPE_INT64, 1));
    return late ? late->range : NULL;
}

struct tensor *log_softmax(struct recording *r, struct tensor *t, size_t axis)
{
    t = binary(r, SUB, t, reduce_axis(r, MAXIMUM, t, axis));
    return binary(r, SUB, t, unary(r, LOG, reduce_axis(r, SUM, unary(r, EXP, t), axis)));
}

// ---------------------------------------------------------------------------------------------------------------
// Indices
// ---------------------------------------------------------------------------------------------------------------

struct tensor *gather_nd(struct recording *r, struct tensor *t, struct tensor *indices)
{
    WNNOperand a = operand_of(r, t), b = operand_of(r, indices);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return a && b ? make_operand(r, t->type, wnnGraphBuilderGatherND(r->builder, a, b, &options)) : NULL;
}

// Known tensors: shapes that exporters put together.
static struct tensor *scatter_known(struct recording *r, struct tensor *t, struct tensor *indices,
                                    struct tensor *updates)
{
    int64_t depth = indices->dims[indices->rank - 1], count = depth ? count_elements(indices) / depth : 0;
    if (!is_integer(indices->type) || updates->type != t->type)
        return fail(r, "indices of type %s, updates of type %s", type_name(indices->type),
                    type_name(updates->type));
    if (depth > (int64_t)t->rank)
        return fail(r, "indices of %lld axes of a tensor of rank %zu", (long long)depth, t->rank);
    int64_t inner = product(t->dims + depth, t->rank - (size_t)depth);
    if (count_elements(updates) != count * inner)
        return fail(r, "%lld updates for %lld elements", (long long)count_elements(updates),
                    (long long)(count * inner));
    struct tensor *result = make_known(r, t->type, t->rank, t->dims);
    for (int64_t i = 0; result && i < count_elements(t); i++)
        copy_known(result, i, t, i);
    for (int64_t i = 0; result && i < count; i++) {
        int64_t at = 0;
        for (int64_t k = 0; k < depth; k++) {
            int64_t index = indices->ints[i * depth + k], size = t->dims[k];
            index += index < 0 ? size : 0;
            if (index < 0 || index >= size)
                return fail(r, "index %lld of a size of %lld", (long long)index, (long long)size);
            at = at * size + index;
        }
        for (int64_t k = 0; k < inner; k++)
            copy_known(result, at * inner + k, updates, i * inner + k);
    }
    return result;
}

struct tensor *scatter_nd(struct recording *r, struct tensor *t, struct tensor *indices,
                          struct tensor *updates)
{
    if (is_known(r, t) && is_known(r, indices) && !has_late_elements(indices) && is_known(r, updates) &&
        indices->rank > 0)
        return scatter_known(r, t, indices, updates);
    WNNOperand a = operand_of(r, t), b = operand_of(r, indices), u = operand_of(r, updates);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return a && b && u ? make_operand(r, t->type, wnnGraphBuilderScatterND(r->builder, a, b, u, &options))
                       : NULL;
}

struct tensor *tile(struct recording *r, struct tensor *t, const int64_t *repetitions)
{
    uint32_t times[MAX_RANK];
    if (!t || r->failed)
        return NULL;
    if (is_known(r, t) && !has_late(repetitions, t->rank)) { // one axis after the other
        for (size_t axis = 0; t && axis < t->rank && !r->failed; axis++) {
            int64_t each = repetitions[axis] < 0 ? 0 : repetitions[axis], size;
            if (__builtin_mul_overflow(t->dims[axis], each, &size))
                return fail(r, "%lld repetitions", (long long)each);
            struct tensor *indices = make_known(r, TYPE_INT64, 1, &size);
            for (int64_t i = 0; indices && i < size; i++)
                indices->ints[i] = i % t->dims[axis];
            t = each == 1 ? t : gather(r, t, indices, axis);
        }
        return t;
    }
    for (size_t i = 0; i < t->rank; i++)
        times[i] = repetitions[i] < 0 ? 0 : size_number(repetitions[i]);
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return operand ? make_operand(
                         r, t->type,
                         wnnGraphBuilderTile(r->builder, operand, (WNNUint32List){times, t->rank}, &options))
                   : NULL;
}

// As a gather of elements with indices that the lengths make.
struct tensor *reverse_sequence(struct recording *r, struct tensor *t, struct tensor *lengths, size_t batch,
                                size_t axis)
{
    if (!t || !lengths || r->failed)
        return NULL;
    if (batch == axis || lengths->rank != 1 || sizes_differ(lengths->dims[0], t->dims[batch]))
        return fail(r, "lengths of other sequences");
    int64_t steps[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1}, rows[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    steps[axis] = t->dims[axis];
    rows[batch] = t->dims[batch];
    struct tensor *time = reshape(r, make_range(r, TYPE_INT64, 0, t->dims[axis], 1), t->rank, steps);
    time = limit_known(r, time, count_elements(t));
    struct tensor *n = reshape(r, cast(r, lengths, TYPE_INT64), t->rank, rows);
    struct tensor *turned = binary(r, SUB, with_number(r, SUB, n, 1), time);
    struct tensor *indices = expand(r, choose(r, binary(r, LESSER, time, n), turned, time), t->rank, t->dims);
    return gather_elements(r, t, indices, axis);
}

#define MAX_TOP    64   // elements that are found one after the other
#define MAX_RANKED 2048 // elements of an axis that are compared with each other

// A number that no other element is beyond: put where an element has been taken.
static double worst_of(int64_t type, bool least)
{
    const struct type_limits limits = limits_of(type);
    return least ? limits.high : limits.low;
}

static struct tensor *scatter_elements(struct recording *r, struct tensor *t, struct tensor *indices,
                                       struct tensor *updates, size_t axis)
{
    WNNScatterElementsOptions options = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
    options.label = label_of(r);
    options.axis = (uint32_t)axis;
    WNNOperand a = operand_of(r, t), b = operand_of(r, indices), u = operand_of(r, updates);
    return a && b && u
               ? make_operand(r, t->type, wnnGraphBuilderScatterElements(r->builder, a, b, u, &options))
               : NULL;
}

// How many elements come before each one: those beyond it, and equal ones in front of it. That is its place
// in the order. [..., i, j] says whether j comes before i; the axis is the last.
static struct tensor *order_of(struct recording *r, struct tensor *t, bool least)
{
    int64_t n = t->dims[t->rank - 1];
    const int64_t square[] = {n, n};
    struct tensor *front = make_known(r, TYPE_BOOL, 2, square);
    for (int64_t i = 0; front && i < n * n; i++)
        front->ints[i] = i % n < i / n;
    struct tensor *self = unsqueeze(r, t, t->rank), *other = unsqueeze(r, t, t->rank - 1);
    struct tensor *before = binary(r, OR, binary(r, least ? LESSER : GREATER, other, self),
                                   binary(r, AND, binary(r, EQUAL, other, self), front));
    return reduce(r, SUM, cast(r, before, TYPE_INT32), 1, &(size_t){t->rank}, false);
}

static void top_by_order(struct recording *r, struct tensor *t, size_t axis, int64_t k, bool least,
                         struct tensor **values, struct tensor **places)
{
    size_t last = t->rank - 1;
    t = swap_axes(r, t, axis, last);
    if (!t)
        return;
    struct tensor *order = order_of(r, t, least);
    struct tensor *range = expand(r, make_range(r, TYPE_INT64, 0, t->dims[last], 1), t->rank, t->dims);
    struct tensor *sorted[] = {scatter_elements(r, t, order, t, last),
                               scatter_elements(r, range, order, range, last)};
    *values = swap_axes(r, slice_axis(r, sorted[0], last, 0, k, 1), axis, last);
    *places = swap_axes(r, slice_axis(r, sorted[1], last, 0, k, 1), axis, last);
}

// One after the other: the first that is equal to the best of those that have not been taken.
static void top_by_search(struct recording *r, struct tensor *t, size_t axis, int64_t k, bool least,
                          struct tensor **values, struct tensor **places)
{
    struct tensor *value[MAX_TOP], *place[MAX_TOP], *left = t, *taken = NULL;
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    dims[axis] = t->dims[axis];
    struct tensor *range = reshape(r, make_range(r, TYPE_INT64, 0, t->dims[axis], 1), t->rank, dims);
    for (int64_t i = 0; i < k && !r->failed; i++) {
        value[i] = reduce_axis(r, least ? MINIMUM : MAXIMUM, left, axis);
        struct tensor *best = binary(r, EQUAL, t, value[i]);
        best = taken ? binary(r, AND, best, unary(r, NOT, taken)) : best;
        place[i] = arg_max(r, cast(r, best, TYPE_INT32), axis, false, true);
        struct tensor *here = binary(r, EQUAL, range, place[i]);
        taken = taken ? binary(r, OR, taken, here) : here;
        if (i + 1 < k)
            left = choose(r, taken, make_number(r, t->type, worst_of(t->type, least)), t);
    }
    *values = r->failed ? NULL : concat(r, (size_t)k, value, axis);
    *places = r->failed ? NULL : concat(r, (size_t)k, place, axis);
}

bool top_k(struct recording *r, struct tensor *t, size_t axis, int64_t k, bool least, struct tensor **values,
           struct tensor **places)
{
    if (!t || r->failed)
        return false;
    int64_t n = t->dims[axis];
    if (k < 1 || k > n)
        return fail(r, "%lld of a size of %lld", (long long)k, (long long)n);
    if (k > MAX_TOP && n > MAX_RANKED)
        return fail(r, "%lld of a size of %lld; up to %d are supported, or sizes to %d", (long long)k,
                    (long long)n, MAX_TOP, MAX_RANKED);
    bool search = n > MAX_RANKED || (n > 256 && k <= MAX_TOP) || t->rank == MAX_RANK;
    (search ? top_by_search : top_by_order)(r, t, axis, k, least, values, places);
    return !r->failed;
}

// ---------------------------------------------------------------------------------------------------------------
// Quantization
// ---------------------------------------------------------------------------------------------------------------

typedef WNNOperand (*entry_quantize)(WNNGraphBuilder builder, WNNOperand input, WNNOperand scale,
                                     WNNOperand zero_point, const WNNOperatorOptions *options);

static struct tensor *call_quantize(struct recording *r, entry_quantize entry, struct tensor *t,
                                    struct tensor *scale, struct tensor *zero, int64_t type)
{
    WNNOperatorOptions options = {NULL, label_of(r)};
    WNNOperand a = operand_of(r, t), b = operand_of(r, scale), z = operand_of(r, zero);
    return a && b && z ? make_operand(r, type, entry(r->builder, a, b, z, &options)) : NULL;
}

struct tensor *quantize_linear(struct recording *r, struct tensor *t, struct tensor *scale,
                               struct tensor *zero, int64_t type)
{
    struct tensor *y = call_quantize(r, wnnGraphBuilderQuantizeLinear, t, scale, zero, type);
    // The operand is wider than the type.
    if (type == TYPE_UINT16)
        return clamp(r, y, 0, 65535);
    return type == TYPE_INT16 ? clamp(r, y, -32768, 32767) : y;
}

struct tensor *dequantize_linear(struct recording *r, struct tensor *t, struct tensor *scale,
                                 struct tensor *zero)
{
    return call_quantize(r, wnnGraphBuilderDequantizeLinear, t, scale, zero, scale ? scale->type : 0);
}
