// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/tensor.h"

#include <math.h>
#include <string.h>

static WNNUint32List list(uint32_t *to, const int64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (uint32_t)from[i];
    return (WNNUint32List){to, count};
}

// Walks the elements of a tensor in order: advances an index, from the last axis on.
static void advance(size_t rank, const int64_t *dims, int64_t *index)
{
    for (size_t i = rank; i-- > 0;) {
        if (++index[i] < dims[i])
            return;
        index[i] = 0;
    }
}

static void strides_of(const struct tensor *t, int64_t *strides)
{
    int64_t stride = 1;
    for (size_t i = t->rank; i-- > 0; stride *= t->dims[i])
        strides[i] = stride;
}

static void copy_known(struct tensor *to, int64_t i, const struct tensor *from, int64_t j)
{
    if (to->reals)
        to->reals[i] = from->reals[j];
    else
        to->ints[i] = from->ints[j];
}

// A tensor of other dimensions, of which element i is that of `t` at offset + sum of index * strides.
static struct tensor *rearrange(struct recording *r, struct tensor *t, size_t rank, const int64_t *dims,
                                const int64_t *strides, int64_t offset)
{
    struct tensor *result = make_known(r, t->type, rank, dims);
    int64_t index[MAX_RANK] = {0};
    for (int64_t i = 0; result && i < count_elements(result); i++, advance(rank, dims, index)) {
        int64_t from = offset;
        for (size_t k = 0; k < rank; k++)
            from += index[k] * strides[k];
        copy_known(result, i, t, from);
    }
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
    int64_t type = unaries[op].truth ? ONNX_BOOL : a->type;
    if (is_known(r, a)) {
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

// Strides of a tensor that is broadcast to a rank and dimensions.
static void strides_in(const struct tensor *t, size_t rank, int64_t *strides)
{
    int64_t own[MAX_RANK];
    strides_of(t, own);
    for (size_t i = 0; i < rank; i++) {
        bool there = i + t->rank >= rank && t->dims[i + t->rank - rank] != 1;
        strides[i] = there ? own[i + t->rank - rank] : 0;
    }
}

struct tensor *binary(struct recording *r, enum binary op, struct tensor *a, struct tensor *b)
{
    if (!a || !b || r->failed)
        return NULL;
    int64_t type = binaries[op].truth ? ONNX_BOOL : a->type, dims[MAX_RANK];
    size_t rank;
    if (!broadcast(r, a, b, &rank, dims))
        return NULL;
    if (a->type != b->type && op != POW)
        return fail(r, "operands of types %s and %s", type_name(a->type), type_name(b->type));
    if (is_known(r, a) && is_known(r, b)) {
        struct tensor *result = make_known(r, type, rank, dims);
        int64_t in_a[MAX_RANK], in_b[MAX_RANK], index[MAX_RANK] = {0};
        strides_in(a, rank, in_a);
        strides_in(b, rank, in_b);
        for (int64_t i = 0; result && i < count_elements(result); i++, advance(rank, dims, index)) {
            int64_t at_a = 0, at_b = 0, value = 0;
            for (size_t k = 0; k < rank; k++) {
                at_a += index[k] * in_a[k];
                at_b += index[k] * in_b[k];
            }
            if (a->ints && b->ints) {
                if (!compute_integer(r, op, a->ints[at_a], b->ints[at_b], &value))
                    return NULL;
                if (type == ONNX_INT64 || type == ONNX_UINT64)
                    result->ints[i] = value;
                else
                    set_known(result, i, (double)value);
            } else {
                set_known(result, i, compute_real(op, known_number(a, at_a), known_number(b, at_b)));
            }
        }
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

struct tensor *number_with(struct recording *r, enum binary op, double a, struct tensor *b)
{
    return b ? binary(r, op, make_number(r, b->type, a), b) : NULL;
}

struct tensor *choose(struct recording *r, struct tensor *condition, struct tensor *a, struct tensor *b)
{
    if (!condition || !a || !b || r->failed)
        return NULL;
    if (a->type != b->type)
        return fail(r, "operands of types %s and %s", type_name(a->type), type_name(b->type));
    if (is_known(r, condition) && is_known(r, a) && is_known(r, b)) {
        struct tensor shape = {0};
        if (!broadcast(r, a, b, &shape.rank, shape.dims))
            return NULL;
        size_t rank;
        int64_t dims[MAX_RANK], c_in[MAX_RANK], a_in[MAX_RANK], b_in[MAX_RANK], index[MAX_RANK] = {0};
        if (!broadcast(r, condition, &shape, &rank, dims))
            return NULL;
        struct tensor *result = make_known(r, a->type, rank, dims);
        strides_in(condition, rank, c_in);
        strides_in(a, rank, a_in);
        strides_in(b, rank, b_in);
        for (int64_t i = 0; result && i < count_elements(result); i++, advance(rank, dims, index)) {
            int64_t at_c = 0, at_a = 0, at_b = 0;
            for (size_t k = 0; k < rank; k++) {
                at_c += index[k] * c_in[k];
                at_a += index[k] * a_in[k];
                at_b += index[k] * b_in[k];
            }
            bool truth = known_number(condition, at_c) != 0;
            copy_known(result, i, truth ? a : b, truth ? at_a : at_b);
        }
        return result;
    }
    WNNOperand c = operand_of(r, condition), x = operand_of(r, a), y = operand_of(r, b);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return c && x && y ? make_operand(r, a->type, wnnGraphBuilderWhere(r->builder, c, x, y, &options)) : NULL;
}

struct tensor *clamp(struct recording *r, struct tensor *t, double low, double high)
{
    if (!t || r->failed)
        return NULL;
    if (is_known(r, t)) {
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

struct tensor *cast(struct recording *r, struct tensor *t, int64_t type)
{
    if (!t || r->failed || t->type == type)
        return t;
    if (is_known(r, t)) {
        struct tensor *result = make_known(r, type, t->rank, t->dims);
        for (int64_t i = 0; result && i < count_elements(t); i++)
            if (t->ints && result->ints && type == ONNX_INT64)
                result->ints[i] = t->ints[i];
            else
                set_known(result, i, known_number(t, i));
        return result;
    }
    WNNDataType to = operand_type(r, type);
    if (to == WNNDataType_Undefined)
        return fail(r, "WebNN has no type for %s", type_name(type));
    WNNOperand operand = operand_of(r, t);
    if (!operand)
        return NULL;
    WNNOperatorOptions options = {NULL, label_of(r)};
    if (type == ONNX_BOOL)
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
    if (product(dims, rank) != count_elements(t))
        return fail(r, "%lld elements cannot have a shape of %lld", (long long)count_elements(t),
                    (long long)product(dims, rank));
    if (rank == t->rank && (rank == 0 || memcmp(dims, t->dims, rank * sizeof *dims) == 0))
        return t;
    if (is_known(r, t) || (t->source && !t->operand)) {
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
        if (rank < t->rank || (t->dims[i] != 1 && t->dims[i] != dims[i + rank - t->rank]))
            return fail(r, "a size of %lld cannot be expanded", (long long)t->dims[i]);
    if (is_known(r, t) && product(dims, rank) <= 65536) {
        int64_t strides[MAX_RANK];
        strides_in(t, rank, strides);
        return rearrange(r, t, rank, dims, strides, 0);
    }
    uint32_t shape[MAX_RANK];
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return operand
               ? make_operand(r, t->type,
                              wnnGraphBuilderExpand(r->builder, operand, list(shape, dims, rank), &options))
               : NULL;
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
        int64_t step = steps ? steps[i] : 1, last = starts[i] + (sizes[i] - 1) * step;
        if (sizes[i] > 0 && (starts[i] < 0 || starts[i] >= t->dims[i] || last < 0 || last >= t->dims[i]))
            return fail(r, "a slice from %lld to %lld of a size of %lld", (long long)starts[i],
                        (long long)last, (long long)t->dims[i]);
        strides[i] = own[i] * step;
        offset += sizes[i] > 0 ? own[i] * starts[i] : 0;
        whole &= sizes[i] == t->dims[i] && step == 1;
        strided |= (step < 0 ? -step : step) != 1;
        if (step < 0 && sizes[i] > 1)
            reversed[reversed_count++] = (uint32_t)i;
        from[i] = step < 0 ? last : starts[i];
        spans[i] = sizes[i] > 0 ? (sizes[i] - 1) * (step < 0 ? -step : step) + 1 : 0;
        step_list[i] = (uint32_t)(step < 0 ? -step : step);
    }
    if (whole)
        return t;
    if (is_known(r, t) || product(sizes, t->rank) == 0)
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
    struct tensor **all = wnn_onnx_allocate(r->memory, count, sizeof *all);
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
            if (k != axis && t->dims[k] != tensors[0]->dims[k])
                return fail(r, "sizes %lld and %lld of axis %zu cannot be joined",
                            (long long)tensors[0]->dims[k], (long long)t->dims[k], k);
        if (i == 0)
            memcpy(dims, t->dims, sizeof dims);
        else
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
    WNNOperand *operands = wnn_onnx_allocate(r->memory, used, sizeof(WNNOperand));
    for (size_t i = 0; operands && i < used; i++)
        if (!(operands[i] = operand_of(r, all[i])))
            return NULL;
    WNNOperatorOptions options = {NULL, label_of(r)};
    return operands
               ? make_operand(r, all[0]->type,
                              wnnGraphBuilderConcat(r->builder, used, operands, (uint32_t)axis, &options))
               : fail(r, "there is not enough memory");
}

struct tensor *gather(struct recording *r, struct tensor *t, struct tensor *indices, size_t axis)
{
    if (!t || !indices || r->failed)
        return NULL;
    if (t->rank + indices->rank - 1 > MAX_RANK)
        return fail(r, "a tensor of rank %zu; more than %d are not supported", t->rank + indices->rank - 1,
                    MAX_RANK);
    if (!is_integer(indices->type))
        return fail(r, "indices of type %s", type_name(indices->type));
    if (is_known(r, indices) && (is_known(r, t) || count_elements(indices) == 1)) {
        int64_t size = t->dims[axis];
        for (int64_t i = 0; i < count_elements(indices); i++)
            if (indices->ints[i] < -size || indices->ints[i] >= size)
                return fail(r, "index %lld of a size of %lld", (long long)indices->ints[i], (long long)size);
        int64_t dims[MAX_RANK];
        for (size_t i = 0; i < t->rank + indices->rank - 1; i++)
            dims[i] = i < axis                   ? t->dims[i]
                      : i < axis + indices->rank ? indices->dims[i - axis]
                                                 : t->dims[i + 1 - indices->rank];
        if (!is_known(r, t)) { // one index: a slice
            int64_t at = indices->ints[0] < 0 ? indices->ints[0] + size : indices->ints[0];
            return reshape(r, slice_axis(r, t, axis, at, 1, 1), t->rank + indices->rank - 1, dims);
        }
        struct tensor *result = make_known(r, t->type, t->rank + indices->rank - 1, dims);
        int64_t outer = product(t->dims, axis), inner = product(t->dims + axis + 1, t->rank - axis - 1),
                at = 0;
        for (int64_t o = 0; result && o < outer; o++)
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
        sizes[i] = t->dims[i] - starts[i] + (after[i] < 0 ? after[i] : 0);
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
    int64_t index[MAX_RANK] = {0};
    for (int64_t i = 0; result && i < count_elements(t); i++, advance(t->rank, t->dims, index)) {
        int64_t at = 0;
        bool first = true;
        for (size_t k = 0; k < t->rank; k++) {
            at += index[k] * to[k];
            first &= to[k] != 0 || index[k] == 0 || t->dims[k] == 1;
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
    if (is_known(r, t) &&
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
    return operand ? make_operand(r, ONNX_INT64,
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
