// SPDX-License-Identifier: Apache-2.0
#include "ops/values.h"

#include "ops/range.h"

#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide; // holds all 64-bit integers, their sums and differences

// One operator on values. All shapes are known.
struct evaluation {
    struct op_call *call;
    enum op op;
    const void *attrs;
    const struct values *const *in;
    struct value *out; // of all outputs, one after the other
    size_t count;
    WNNDataType type; // of the outputs
    bool exhausted;   // there is no memory
};

static const struct value late = {.number = {.type = WNNNumberType_Undefined}};

static bool is_number(const struct value *value)
{
    return value->number.type != WNNNumberType_Undefined;
}

static struct value value_of_number(WNNNumber number)
{
    return (struct value){.number = number};
}

// ---------------------------------------------------------------------------------------------------------------
// Numbers
// ---------------------------------------------------------------------------------------------------------------

static wide wide_of(WNNNumber number)
{
    return number.type == WNNNumberType_Int64 ? (wide)number.value.i64 : (wide)number.value.u64;
}

// The integer of a type with the lowest bits of another, as arithmetic wraps.
static WNNNumber wrapped(uint64_t bits, WNNDataType type)
{
    unsigned char bytes[8];
    wnn_number_store(wnnNumberUint64(bits), type, bytes, 0);
    return wnn_number_load(type, bytes, 0);
}

static double real_binary(enum op op, double a, double b)
{
    double rest;
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
        return isnan(a) || a > b ? a : b;
    case WNN_OP_min:
        return isnan(a) || a < b ? a : b;
    case WNN_OP_modulusTruncate:
        return fmod(a, b);
    default: // modulusFloor
        rest = fmod(a, b);
        return rest == 0 ? copysign(0, b) : (rest < 0) != (b < 0) ? rest + b : rest;
    }
}

// The lowest 64 bits.
static uint64_t whole_binary(enum op op, wide a, wide b)
{
    wide rest;
    switch (op) {
    case WNN_OP_add:
        return (uint64_t)(a + b);
    case WNN_OP_sub:
        return (uint64_t)(a - b);
    case WNN_OP_mul:
        return (uint64_t)a * (uint64_t)b;
    case WNN_OP_div:
        return (uint64_t)(b == 0 ? a : a / b);
    case WNN_OP_max:
        return (uint64_t)(a > b ? a : b);
    case WNN_OP_min:
        return (uint64_t)(a < b ? a : b);
    case WNN_OP_modulusTruncate:
        return (uint64_t)(b == 0 ? a : a % b);
    default: // modulusFloor
        rest = b == 0 ? a : a % b;
        return (uint64_t)(b != 0 && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
}

static WNNNumber number_binary(enum op op, WNNNumber a, WNNNumber b, WNNDataType type)
{
    if (wnn_dtype_is_float(type))
        return wnnNumberFloat64(
            wnn_round_to_dtype(real_binary(op, wnn_number_double(a), wnn_number_double(b)), type));
    return wrapped(whole_binary(op, wide_of(a), wide_of(b)), type);
}

static double real_unary(enum op op, double x)
{
    switch (op) {
    case WNN_OP_abs:
        return fabs(x);
    case WNN_OP_ceil:
        return ceil(x);
    case WNN_OP_floor:
        return floor(x);
    case WNN_OP_neg:
        return -x;
    case WNN_OP_reciprocal:
        return 1 / x;
    case WNN_OP_roundEven:
        return nearbyint(x);
    case WNN_OP_sign:
        return (x > 0) - (x < 0);
    default: // sqrt
        return sqrt(x);
    }
}

static WNNNumber number_unary(enum op op, WNNNumber x, WNNDataType type)
{
    if (wnn_dtype_is_float(type))
        return wnnNumberFloat64(wnn_round_to_dtype(real_unary(op, wnn_number_double(x)), type));
    wide value = wide_of(x);
    switch (op) {
    case WNN_OP_abs:
        return wrapped((uint64_t)(value < 0 ? -value : value), type);
    case WNN_OP_neg:
        return wrapped((uint64_t)-value, type);
    case WNN_OP_sign:
        return wrapped((uint64_t)(int64_t)((value > 0) - (value < 0)), type);
    default: // logicalNot
        return wrapped(value == 0, type);
    }
}

static WNNNumber number_cast(WNNNumber x, WNNDataType type)
{
    bool whole = x.type != WNNNumberType_Float64 && !wnn_dtype_is_float(type);
    return whole ? wrapped(x.value.u64, type) : wnn_number_convert(x, type);
}

// How a compares with b: the signs that a - b may have. None: one is NaN.
enum {
    BELOW = 1,
    SAME = 2,
    ABOVE = 4
};

static unsigned compare_numbers(WNNNumber a, WNNNumber b)
{
    if (a.type == WNNNumberType_Float64) {
        double x = a.value.f64, y = wnn_number_double(b);
        return isnan(x) || isnan(y) ? 0 : x < y ? BELOW : x > y ? ABOVE : SAME;
    }
    wide x = wide_of(a), y = wide_of(b);
    return x < y ? BELOW : x > y ? ABOVE : SAME;
}

// ---------------------------------------------------------------------------------------------------------------
// Amounts
// ---------------------------------------------------------------------------------------------------------------

static bool has_amount(const struct value *value, struct amount *amount)
{
    if (value->amount) {
        *amount = *value->amount;
        return true;
    }
    if (!is_number(value) || value->number.type == WNNNumberType_Float64)
        return false;
    wide number = wide_of(value->number);
    *amount = wnn_amount_number((int64_t)number);
    return number == amount->constant;
}

// The amount as a value. What the type cannot hold is not expected: sums and products wrap, and the values
// are computed again when sizes are known. Types that are too narrow for sizes have no amounts.
static struct value value_of_amount(struct evaluation *e, const struct amount *amount)
{
    if (amount->count == 0)
        return value_of_number(wrapped((uint64_t)amount->constant, e->type));
    struct value value = late;
    if (wnn_dtype_bits(e->type) >= 32 &&
        !(value.amount = wnn_arena_copy(e->call->arena, amount, sizeof *amount)))
        e->exhausted = true;
    return value;
}

// Whether what depends on the sign of an amount can be told.
static bool has_sign(const struct evaluation *e, WNNDataType type, const struct amount *amount)
{
    return wnn_dtype_is_signed(type) || wnn_amount_range(e->call->sizes, amount).min >= 0;
}

static struct bounds difference(struct evaluation *e, const struct amount *a, const struct amount *b)
{
    struct amount rest = wnn_amount_add(e->call->sizes, *a, wnn_amount_times(*b, -1));
    return wnn_amount_range(e->call->sizes, &rest);
}

// a / b or its remainder, of numbers of which the signs allow no doubt.
static bool divide(struct evaluation *e, const struct amount *a, const struct amount *b,
                   struct amount *result)
{
    struct size_table *sizes = e->call->sizes;
    if (b->count || b->constant < 1 || (wnn_amount_range(sizes, a).min < 0 && e->op != WNN_OP_modulusFloor))
        return false;
    *result = wnn_amount_divide(sizes, *a, b->constant);
    if (e->op != WNN_OP_div)
        *result = wnn_amount_add(sizes, *a, wnn_amount_times(*result, -b->constant));
    return true;
}

static struct value amount_binary(struct evaluation *e, const struct value *x, const struct value *y)
{
    struct amount a, b, result;
    if (!e->call->sizes || wnn_dtype_is_float(e->type) || !has_amount(x, &a) || !has_amount(y, &b))
        return late;
    struct bounds over = difference(e, &a, &b);
    bool signs = has_sign(e, e->type, &a) && has_sign(e, e->type, &b);
    if (!signs && e->op != WNN_OP_add && e->op != WNN_OP_sub && e->op != WNN_OP_mul)
        return late;
    switch (e->op) {
    case WNN_OP_add:
        result = wnn_amount_add(e->call->sizes, a, b);
        break;
    case WNN_OP_sub:
        result = wnn_amount_add(e->call->sizes, a, wnn_amount_times(b, -1));
        break;
    case WNN_OP_mul:
        result = wnn_amount_product(e->call->sizes, a, b);
        break;
    case WNN_OP_max:
        return over.min >= 0 ? *x : over.max <= 0 ? *y : late;
    case WNN_OP_min:
        return over.min >= 0 ? *y : over.max <= 0 ? *x : late;
    default:
        if (!divide(e, &a, &b, &result))
            return late;
    }
    return value_of_amount(e, &result);
}

static struct value binary(struct evaluation *e, const struct value *x, const struct value *y)
{
    if (is_number(x) && is_number(y))
        return value_of_number(number_binary(e->op, x->number, y->number, e->type));
    return amount_binary(e, x, y);
}

// The comparison's answer when a - b has one of these signs; -1: it depends on which.
static int answer(enum op op, unsigned signs)
{
    static const unsigned char holds[WNN_OP_COUNT] = {[WNN_OP_equal] = SAME,
                                                      [WNN_OP_notEqual] = BELOW | ABOVE,
                                                      [WNN_OP_greater] = ABOVE,
                                                      [WNN_OP_lesser] = BELOW,
                                                      [WNN_OP_greaterOrEqual] = ABOVE | SAME,
                                                      [WNN_OP_lesserOrEqual] = BELOW | SAME};
    if (signs == 0)
        return op == WNN_OP_notEqual;
    return (signs & ~holds[op]) == 0 ? 1 : (signs & holds[op]) == 0 ? 0 : -1;
}

static struct value comparison(struct evaluation *e, const struct value *x, const struct value *y)
{
    struct amount a, b;
    WNNDataType type = e->call->in[0]->type.type;
    int result = -1;
    if (is_number(x) && is_number(y)) {
        result = answer(e->op, compare_numbers(x->number, y->number));
    } else if (e->call->sizes && has_amount(x, &a) && has_amount(y, &b) && has_sign(e, type, &a) &&
               has_sign(e, type, &b)) {
        struct bounds over = difference(e, &a, &b);
        result = answer(e->op, (over.min < 0 ? BELOW : 0) | (over.min <= 0 && over.max >= 0 ? SAME : 0) |
                                   (over.max > 0 ? ABOVE : 0));
    }
    return result < 0 ? late : value_of_number(wrapped((uint64_t)result, e->type));
}

static struct value logic(struct evaluation *e, const struct value *x, const struct value *y)
{
    if (!is_number(x) || !is_number(y))
        return late;
    bool a = x->number.value.u64 != 0, b = y->number.value.u64 != 0;
    bool result = e->op == WNN_OP_logicalAnd ? a && b : e->op == WNN_OP_logicalOr ? a || b : a != b;
    return value_of_number(wrapped(result, e->type));
}

static struct value unary(struct evaluation *e, const struct value *x)
{
    struct amount amount;
    if (is_number(x))
        return value_of_number(number_unary(e->op, x->number, e->type));
    if (!has_amount(x, &amount))
        return late;
    if (e->op == WNN_OP_neg)
        amount = wnn_amount_times(amount, -1);
    else if (e->op != WNN_OP_abs || wnn_amount_range(e->call->sizes, &amount).min < 0)
        return late;
    return value_of_amount(e, &amount);
}

static struct value cast(struct evaluation *e, const struct value *x)
{
    struct amount amount;
    if (is_number(x))
        return value_of_number(number_cast(x->number, e->type));
    bool same = !wnn_dtype_is_float(e->type) && has_amount(x, &amount) &&
                has_sign(e, e->call->in[0]->type.type, &amount);
    return same ? value_of_amount(e, &amount) : late;
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

static const struct shape *shape_of(const struct evaluation *e, unsigned i)
{
    return &e->call->in[i]->type.shape;
}

static const struct shape *out_shape(const struct evaluation *e)
{
    return &e->call->out[0].shape;
}

// Where an element of a shape lies in what has these steps.
static size_t place_of(const struct shape *shape, size_t index, const int64_t *steps)
{
    int64_t place = 0;
    for (unsigned d = shape->rank; d-- > 0; index /= shape->dim[d])
        place += (int64_t)(index % shape->dim[d]) * steps[d];
    return (size_t)place;
}

// Operators of elements, which broadcast.
static bool evaluate_binary(struct evaluation *e)
{
    struct value (*function)(struct evaluation *, const struct value *, const struct value *) =
        wnn_ops[e->op].infer == wnn_infer_binary                                                ? binary
        : e->op == WNN_OP_logicalAnd || e->op == WNN_OP_logicalOr || e->op == WNN_OP_logicalXor ? logic
                                                                                                : comparison;
    size_t a[WNN_MAX_RANK], b[WNN_MAX_RANK];
    int64_t x[WNN_MAX_RANK], y[WNN_MAX_RANK];
    wnn_shape_broadcast_strides(shape_of(e, 0), out_shape(e), a);
    wnn_shape_broadcast_strides(shape_of(e, 1), out_shape(e), b);
    for (unsigned d = 0; d < out_shape(e)->rank; d++) {
        x[d] = (int64_t)a[d];
        y[d] = (int64_t)b[d];
    }
    for (size_t i = 0; i < e->count; i++)
        e->out[i] = function(e, &e->in[0]->items[place_of(out_shape(e), i, x)],
                             &e->in[1]->items[place_of(out_shape(e), i, y)]);
    return true;
}

static bool evaluate_unary(struct evaluation *e)
{
    for (size_t i = 0; i < e->count; i++)
        e->out[i] = e->op == WNN_OP_cast ? cast(e, &e->in[0]->items[i]) : unary(e, &e->in[0]->items[i]);
    return true;
}

static bool evaluate_where(struct evaluation *e)
{
    size_t strides[3][WNN_MAX_RANK];
    int64_t steps[3][WNN_MAX_RANK];
    for (unsigned k = 0; k < 3; k++) {
        wnn_shape_broadcast_strides(shape_of(e, k), out_shape(e), strides[k]);
        for (unsigned d = 0; d < out_shape(e)->rank; d++)
            steps[k][d] = (int64_t)strides[k][d];
    }
    for (size_t i = 0; i < e->count; i++) {
        const struct value *items[3];
        for (unsigned k = 0; k < 3; k++)
            items[k] = &e->in[k]->items[place_of(out_shape(e), i, steps[k])];
        e->out[i] = !is_number(items[0]) ? late : items[0]->number.value.u64 ? *items[1] : *items[2];
    }
    return true;
}

static bool evaluate_copy(struct evaluation *e)
{
    for (size_t i = 0; i < e->count; i++)
        e->out[i] = e->in[0]->items[i];
    return true;
}

// Parts of the outermost dimension lie one after the other.
static bool evaluate_split(struct evaluation *e)
{
    const struct split_attrs *attrs = e->attrs;
    return wnn_shape_product(shape_of(e, 0), 0, attrs->options.axis) == 1 && evaluate_copy(e);
}

static bool evaluate_steps(struct evaluation *e, const int64_t *steps, int64_t first)
{
    for (size_t i = 0; i < e->count; i++)
        e->out[i] = e->in[0]->items[(size_t)first + place_of(out_shape(e), i, steps)];
    return true;
}

static bool evaluate_expand(struct evaluation *e)
{
    size_t strides[WNN_MAX_RANK];
    int64_t steps[WNN_MAX_RANK];
    wnn_shape_broadcast_strides(shape_of(e, 0), out_shape(e), strides);
    for (unsigned d = 0; d < out_shape(e)->rank; d++)
        steps[d] = (int64_t)strides[d];
    return evaluate_steps(e, steps, 0);
}

static bool evaluate_slice(struct evaluation *e)
{
    const struct slice_attrs *attrs = e->attrs;
    int64_t steps[WNN_MAX_RANK], first = 0;
    wnn_shape_steps(shape_of(e, 0), steps);
    for (unsigned d = 0; d < out_shape(e)->rank; d++) {
        first += steps[d] * attrs->starts.data[d];
        steps[d] *= attrs->options.strides.data[d];
    }
    return evaluate_steps(e, steps, first);
}

static bool evaluate_reverse(struct evaluation *e)
{
    const WNNReverseOptions *options = e->attrs;
    int64_t steps[WNN_MAX_RANK], first = 0;
    wnn_shape_steps(shape_of(e, 0), steps);
    for (size_t i = 0; i < options->axes.count; i++) {
        uint32_t axis = options->axes.data[i];
        first += steps[axis] * (out_shape(e)->dim[axis] - (int64_t)1);
        steps[axis] = -steps[axis];
    }
    return evaluate_steps(e, steps, first);
}

static bool evaluate_transpose(struct evaluation *e)
{
    const WNNTransposeOptions *options = e->attrs;
    int64_t from[WNN_MAX_RANK], steps[WNN_MAX_RANK];
    wnn_shape_steps(shape_of(e, 0), from);
    for (unsigned d = 0; d < out_shape(e)->rank; d++)
        steps[d] = from[options->permutation.data[d]];
    return evaluate_steps(e, steps, 0);
}

static bool evaluate_tile(struct evaluation *e)
{
    const struct shape *from = shape_of(e, 0), *to = out_shape(e);
    int64_t steps[WNN_MAX_RANK];
    wnn_shape_steps(from, steps);
    for (size_t i = 0; i < e->count; i++) {
        size_t index = i, place = 0;
        for (unsigned d = to->rank; d-- > 0; index /= to->dim[d])
            place += index % to->dim[d] % from->dim[d] * (size_t)steps[d];
        e->out[i] = e->in[0]->items[place];
    }
    return true;
}

static bool evaluate_concat(struct evaluation *e)
{
    uint32_t axis = ((const struct concat_attrs *)e->attrs)->axis;
    const struct shape *to = out_shape(e);
    size_t row = wnn_shape_product(to, axis, to->rank), rows = wnn_shape_product(to, 0, axis), begin = 0;
    for (unsigned k = 0; k < e->call->in_count; k++) {
        size_t part = wnn_shape_product(shape_of(e, k), axis, to->rank);
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < part; j++)
                e->out[i * row + begin + j] = e->in[k]->items[i * part + j];
        begin += part;
    }
    return true;
}

static bool evaluate_gather(struct evaluation *e)
{
    const struct shape *from = shape_of(e, 0);
    uint32_t axis = ((const WNNGatherOptions *)e->attrs)->axis;
    size_t inner = wnn_shape_product(from, axis + 1, from->rank), indices = e->in[1]->count;
    int64_t size = from->dim[axis];
    for (size_t i = 0; i < e->count; i++) {
        const struct value *at = &e->in[1]->items[i / inner % indices];
        wide index = is_number(at) ? wide_of(at->number) : -1;
        index = index < 0 && is_number(at) ? index + size : index;
        index = index < 0 ? 0 : index >= size ? size - 1 : index; // as kernels do
        e->out[i] =
            is_number(at) && size > 0
                ? e->in[0]->items[(i / inner / indices * (size_t)size + (size_t)index) * inner + i % inner]
                : late;
    }
    return true;
}

static bool evaluate_reduction(struct evaluation *e)
{
    static const unsigned short steps_of[WNN_OP_COUNT] = {[WNN_OP_reduceSum] = WNN_OP_add,
                                                          [WNN_OP_reduceProduct] = WNN_OP_mul,
                                                          [WNN_OP_reduceMax] = WNN_OP_max,
                                                          [WNN_OP_reduceMin] = WNN_OP_min};
    const struct shape *from = shape_of(e, 0);
    const WNNReduceOptions *options = e->attrs;
    uint32_t reduced = 0;
    for (size_t i = 0; i < options->axes.count; i++)
        reduced |= 1u << options->axes.data[i];
    int64_t steps[WNN_MAX_RANK], step = 1;
    for (unsigned d = from->rank; d-- > 0;) {
        steps[d] = reduced & 1u << d ? 0 : step;
        step *= reduced & 1u << d ? 1 : from->dim[d];
    }
    struct evaluation each = *e;
    each.op = (enum op)steps_of[e->op];
    bool begun[WNN_MAX_VALUES] = {false};
    for (size_t i = 0; i < e->in[0]->count; i++) {
        size_t place = place_of(from, i, steps);
        const struct value *item = &e->in[0]->items[i];
        e->out[place] = begun[place] ? binary(&each, &e->out[place], item) : *item;
        begun[place] = true;
    }
    for (size_t i = 0; i < e->count; i++)
        if (!begun[i])
            e->out[i] =
                value_of_number(wnn_number_convert(wnnNumberInt64(e->op == WNN_OP_reduceProduct), e->type));
    return true;
}

static bool evaluate_shape(struct evaluation *e)
{
    for (size_t i = 0; i < e->count; i++) {
        struct amount size = wnn_amount(e->call->sizes, shape_of(e, 0)->dim[i]);
        e->out[i] = value_of_amount(e, &size);
    }
    return true;
}

static bool evaluate_range(struct evaluation *e)
{
    const struct value *start = &e->in[0]->items[0], *delta = &e->in[2]->items[0];
    for (size_t i = 0; i < e->count; i++)
        e->out[i] = is_number(start) && is_number(delta)
                        ? value_of_number(wnn_number_convert(
                              wnn_range_item(start->number, delta->number, (uint32_t)i), e->type))
                        : late;
    return true;
}

static bool (*const evaluators[WNN_OP_COUNT])(struct evaluation *e) = {
    [WNN_OP_abs] = evaluate_unary,
    [WNN_OP_add] = evaluate_binary,
    [WNN_OP_cast] = evaluate_unary,
    [WNN_OP_ceil] = evaluate_unary,
    [WNN_OP_concat] = evaluate_concat,
    [WNN_OP_div] = evaluate_binary,
    [WNN_OP_equal] = evaluate_binary,
    [WNN_OP_expand] = evaluate_expand,
    [WNN_OP_floor] = evaluate_unary,
    [WNN_OP_gather] = evaluate_gather,
    [WNN_OP_greater] = evaluate_binary,
    [WNN_OP_greaterOrEqual] = evaluate_binary,
    [WNN_OP_identity] = evaluate_copy,
    [WNN_OP_lesser] = evaluate_binary,
    [WNN_OP_lesserOrEqual] = evaluate_binary,
    [WNN_OP_logicalAnd] = evaluate_binary,
    [WNN_OP_logicalNot] = evaluate_unary,
    [WNN_OP_logicalOr] = evaluate_binary,
    [WNN_OP_logicalXor] = evaluate_binary,
    [WNN_OP_max] = evaluate_binary,
    [WNN_OP_min] = evaluate_binary,
    [WNN_OP_modulusFloor] = evaluate_binary,
    [WNN_OP_modulusTruncate] = evaluate_binary,
    [WNN_OP_mul] = evaluate_binary,
    [WNN_OP_neg] = evaluate_unary,
    [WNN_OP_notEqual] = evaluate_binary,
    [WNN_OP_range] = evaluate_range,
    [WNN_OP_reciprocal] = evaluate_unary,
    [WNN_OP_reduceMax] = evaluate_reduction,
    [WNN_OP_reduceMin] = evaluate_reduction,
    [WNN_OP_reduceProduct] = evaluate_reduction,
    [WNN_OP_reduceSum] = evaluate_reduction,
    [WNN_OP_reshape] = evaluate_copy,
    [WNN_OP_reverse] = evaluate_reverse,
    [WNN_OP_roundEven] = evaluate_unary,
    [WNN_OP_shape] = evaluate_shape,
    [WNN_OP_sign] = evaluate_unary,
    [WNN_OP_slice] = evaluate_slice,
    [WNN_OP_split] = evaluate_split,
    [WNN_OP_sqrt] = evaluate_unary,
    [WNN_OP_sub] = evaluate_binary,
    [WNN_OP_tile] = evaluate_tile,
    [WNN_OP_transpose] = evaluate_transpose,
    [WNN_OP_where] = evaluate_where,
};

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

static bool read_constant(struct op_call *call, const struct operand *operand, const struct values **read)
{
    size_t count = wnn_shape_elements(&operand->type.shape);
    struct value *items = wnn_arena_allocate(call->arena, (count + 1) * sizeof *items);
    struct values *values = wnn_arena_allocate(call->arena, sizeof *values);
    if (!items || !values)
        return wnn_fail_memory(call->error);
    for (size_t i = 0; i < count; i++)
        items[i] = value_of_number(wnn_number_load(operand->type.type, operand->constant->data, i));
    *values = (struct values){count, items};
    *read = values;
    return true;
}

static size_t max_values(WNNDataType type)
{
    return wnn_dtype_is_float(type) ? WNN_MAX_REALS : WNN_MAX_VALUES;
}

static bool is_small_constant(const struct operand *operand)
{
    return wnn_constant_has_bytes(operand->constant) &&
           wnn_shape_elements(&operand->type.shape) <= max_values(operand->type.type);
}

bool wnn_values_of(struct op_call *call, const struct operand *operand, const struct values **values)
{
    *values = wnn_details(operand)->values;
    return !is_small_constant(operand) || read_constant(call, operand, values);
}

// Whether elements that can be computed stand in all operands of a call; `in` may be NULL.
static bool read_operands(struct op_call *call, const struct values **in, bool *readable)
{
    for (unsigned i = 0; i < call->in_count; i++) {
        const struct operand *operand = call->in[i];
        *readable = operand && (wnn_details(operand)->values || is_small_constant(operand));
        if (*readable && in && !wnn_values_of(call, operand, &in[i]))
            return false;
        if (!*readable)
            return true;
    }
    return true;
}

// Whether the sizes of all operands and results are known, and few elements are computed.
static bool is_small(const struct op_call *call, const struct values *const *in, bool *known)
{
    size_t count = 0;
    *known = true;
    for (unsigned i = 0; i < call->in_count; i++)
        *known &= !wnn_shape_is_symbolic(call->sizes, &call->in[i]->type.shape) && (!in[i] || in[i]->items);
    for (unsigned i = 0; i < call->out_count; i++)
        *known &= !wnn_shape_is_symbolic(call->sizes, &call->out[i].shape);
    for (unsigned i = 0; *known && i < call->out_count; i++)
        count += wnn_shape_elements(&call->out[i].shape);
    return call->out_count == 0 || count <= max_values(call->out[0].type);
}

// The values of the outputs, for which there is room; `known`: as many as their shapes say.
static struct values *add_outputs(struct op_call *call, bool known, struct value **items)
{
    size_t count = 0;
    for (unsigned i = 0; known && i < call->out_count; i++)
        count += wnn_shape_elements(&call->out[i].shape);
    struct values *values = wnn_arena_allocate(call->arena, (call->out_count + 1) * sizeof *values);
    *items = wnn_arena_allocate(call->arena, (count + 1) * sizeof **items);
    if (!values || !*items)
        return NULL;
    for (size_t i = 0, first = 0; known && i < call->out_count; i++) {
        values[i] = (struct values){wnn_shape_elements(&call->out[i].shape), *items + first};
        first += values[i].count;
    }
    return values;
}

static size_t total(const struct op_call *call, const struct values *values)
{
    size_t count = 0;
    for (unsigned i = 0; i < call->out_count; i++)
        count += values[i].count;
    return count;
}

static bool evaluate(struct op_call *call, enum op op, const void *attrs)
{
    const struct values **in = wnn_arena_allocate(call->arena, (call->in_count + 1) * sizeof *in);
    bool readable = true, known = true;
    struct value *items;
    if (!in)
        return wnn_fail_memory(call->error);
    if (op != WNN_OP_shape && !read_operands(call, in, &readable))
        return false;
    if (!readable || (op != WNN_OP_shape && !is_small(call, in, &known)))
        return true;
    known &= attrs != NULL;
    struct values *values = add_outputs(call, known, &items);
    if (!values)
        return wnn_fail_memory(call->error);
    struct evaluation evaluation = {.call = call,
                                    .op = op,
                                    .attrs = attrs,
                                    .in = in,
                                    .out = items,
                                    .count = total(call, values),
                                    .type = call->out[0].type};
    if (!known || evaluators[op](&evaluation))
        call->values = values;
    return !evaluation.exhausted || wnn_fail_memory(call->error);
}

bool wnn_values_infer(struct op_call *call)
{
    enum op op = call->op < WNN_OP_COUNT && evaluators[call->op] ? call->op : wnn_op_sibling(call->op);
    bool readable = true;
    if (op >= WNN_OP_COUNT || !evaluators[op])
        return true;
    if (op != WNN_OP_shape)
        read_operands(call, NULL, &readable);
    return !readable || evaluate(call, op, op == call->op ? call->attrs : call->sibling_attrs);
}

bool wnn_keep_values(struct node *node, const struct values *values)
{
    for (unsigned i = 0; values && i < node->out_count; i++) {
        struct operand_details *details = wnn_graph_detail(node->out[i]);
        if (!details)
            return false;
        details->values = &values[i];
    }
    return true;
}
