// SPDX-License-Identifier: Apache-2.0
//
// Random graphs: element-wise operators, and those between data types.

#include "conformance/cross/generator.h"

#include <string.h>

void wnn_make_unary(struct random_graph *graph, enum op op)
{
    union {
        WNNOperatorOptions none;
        WNNEluOptions elu;
        WNNHardSigmoidOptions hard_sigmoid;
        WNNLeakyReluOptions leaky;
        WNNLinearOptions linear;
        WNNSoftplusOptions softplus;
        WNNClampOptions clamp;
    } attrs;
    memcpy(&attrs, wnn_ops[op].defaults, wnn_ops[op].attrs_size);
    struct wish wish = any_of(first_types(op), 0, WNN_MAX_RANK);
    switch (op) {
    case WNN_OP_ceil:
    case WNN_OP_floor:
    case WNN_OP_roundEven:
    case WNN_OP_sign:
    case WNN_OP_isNaN:
    case WNN_OP_isInfinite:
        wish.exact = true;
        break;
    case WNN_OP_log:
    case WNN_OP_sqrt:
    case WNN_OP_reciprocal:
        wish.low = 0.2;
        break;
    case WNN_OP_tan:
        wish.low = -1.3;
        wish.high = 1.3;
        break;
    case WNN_OP_exp:
        wish.low = wish.low < -6 ? -6 : wish.low;
        wish.high = 6;
        break;
    default:
        break;
    }
    struct value *x = wnn_random_pick(graph, wish);
    if (x == NULL)
        return;
    double low = x->low, high = x->high, most = magnitude(x);
    switch (op) {
    case WNN_OP_abs:
        low = low > 0 ? low : 0;
        high = most;
        break;
    case WNN_OP_cos:
    case WNN_OP_sin:
    case WNN_OP_erf:
    case WNN_OP_tanh:
    case WNN_OP_softsign:
    case WNN_OP_sign:
        low = -1;
        high = 1;
        break;
    case WNN_OP_sigmoid:
    case WNN_OP_hardSigmoid:
        low = 0;
        high = 1;
        break;
    case WNN_OP_exp:
        low = exp(low) * 0.99;
        high = exp(high) * 1.01;
        break;
    case WNN_OP_log:
        low = -2;
        high = fabs(log(high)) + 0.1;
        break;
    case WNN_OP_sqrt:
        low = 0.99 * sqrt(low);
        high = 1.01 * sqrt(high);
        break;
    case WNN_OP_reciprocal:
        high = 1.01 / x->low;
        low = 0.99 / x->high;
        break;
    case WNN_OP_tan:
        low = -4;
        high = 4;
        break;
    case WNN_OP_relu:
        low = low > 0 ? low : 0;
        high = high > 0 ? high : 0;
        break;
    case WNN_OP_elu:
        attrs.elu.alpha = between(graph, 0.1, 2);
        low = -3;
        high = fmax(high, 1);
        break;
    case WNN_OP_leakyRelu:
        attrs.leaky.alpha = between(graph, -0.5, 0.5);
        low = -most;
        high = most;
        break;
    case WNN_OP_linear:
        attrs.linear.alpha = between(graph, -2, 2);
        attrs.linear.beta = between(graph, -2, 2);
        high = 2 * most + 2;
        low = -high;
        break;
    case WNN_OP_softplus:
        attrs.softplus.steepness = chance(graph, 50) ? 1 : between(graph, 0.5, 2);
        low = 0;
        high = most + 2;
        break;
    case WNN_OP_clamp:
        if (chance(graph, 80))
            attrs.clamp.minValue = wnnNumberFloat64(floor(between(graph, -3, 1)));
        if (chance(graph, 80))
            attrs.clamp.maxValue = wnnNumberFloat64(ceil(between(graph, 1.5, 6)));
        low = fmin(low, 1);
        high = fmax(high, 1);
        if (attrs.clamp.minValue.type != WNNNumberType_Undefined)
            high = fmax(high, attrs.clamp.minValue.value.f64);
        if (attrs.clamp.maxValue.type != WNNNumberType_Undefined)
            low = fmin(low, attrs.clamp.maxValue.value.f64);
        break;
    case WNN_OP_neg:
        low = -x->high;
        high = -x->low;
        break;
    case WNN_OP_identity:
        break;
    default: // gelu, hardSwish, ceil, floor, roundEven and others that grow by at most one
        low = -most - 1;
        high = most + 1;
    }
    wnn_random_emit(graph, op, 1, &x, &attrs, low, high);
}

// A value that broadcasts with x and has its type.
static struct value *partner(struct random_graph *graph, const struct value *x, bool exact, double low,
                             double high)
{
    struct shape shared;
    struct value *found = NULL;
    unsigned seen = 0;
    for (size_t i = 0; i < graph->value_count; i++) {
        struct value *value = &graph->values[i];
        struct wish wish = {1u << x->type.type, 0, WNN_MAX_RANK, exact, low, high};
        if (wnn_random_suits(value, &wish) &&
            wnn_shape_broadcast(&x->type.shape, &value->type.shape, &shared) &&
            wnn_shape_elements(&shared) <= 2 * graph->most_elements && below(graph, ++seen) == 0)
            found = value;
    }
    if (found != NULL && chance(graph, 70))
        return found;
    return wnn_random_new_within(graph, x->type.type, wnn_random_broadcastable(graph, &x->type.shape),
                                 fmax(low, -2), fmin(high, low > 0 ? 4 : 2));
}

void wnn_make_binary(struct random_graph *graph, enum op op)
{
    bool modulus = op == WNN_OP_modulusFloor || op == WNN_OP_modulusTruncate;
    bool compares = wnn_ops[op].infer == wnn_infer_comparison || modulus; // which jump
    struct wish wish = any_of(first_types(op), 0, WNN_MAX_RANK);
    wish.exact = compares;
    if (op == WNN_OP_pow) {
        wish.low = 0.2;
        wish.high = 4;
    }
    struct value *a = wnn_random_pick(graph, wish);
    if (a == NULL)
        return;
    double low = op == WNN_OP_div || modulus ? 0.2
                 : op == WNN_OP_pow          ? -3
                                             : -MOST,
           high = op == WNN_OP_pow ? 3 : MOST;
    struct value *b = partner(graph, a, compares, low, high);
    if (b == NULL)
        return;
    double x = magnitude(a), y = magnitude(b), most = x + y;
    if (op == WNN_OP_mul || op == WNN_OP_prelu)
        most = x * fmax(y, 1);
    else if (op == WNN_OP_div)
        most = x / 0.19;
    else if (op == WNN_OP_pow)
        most = 150;
    else if (op == WNN_OP_max || op == WNN_OP_min || modulus)
        most = fmax(x, y);
    struct value *const operands[] = {a, b};
    if (wnn_dtype_is_float(a->type.type) && !fits(a, most))
        return;
    wnn_random_emit(graph, op, 2, operands, wnn_ops[op].defaults, -most, most);
}

void wnn_make_cast(struct random_graph *graph)
{
    struct cast_attrs attrs = {.options = WNN_OPERATOR_OPTIONS_INIT,
                               .dataType = wnn_random_type(graph, FLOATS | INTEGERS)};
    struct wish wish = any_of(FLOATS | INTEGERS, 0, WNN_MAX_RANK);
    wish.exact = !wnn_dtype_is_float(attrs.dataType);
    struct value *x = wnn_random_pick(graph, wish);
    if (x == NULL)
        return;
    double most = magnitude(x);
    if (!wnn_dtype_is_float(x->type.type))
        most = wnn_dtype_bits(x->type.type) == 8 ? 256 : 1e20;
    wnn_random_emit(graph, WNN_OP_cast, 1, &x, &attrs, -most, most);
}

void wnn_make_where(struct random_graph *graph)
{
    struct value *condition = wnn_random_pick(graph, (struct wish){U8, 0, WNN_MAX_RANK, true, -MOST, MOST});
    if (condition == NULL)
        return;
    struct value *a = wnn_random_new(graph, wnn_random_type(graph, FLOATS | INTEGERS),
                                     wnn_random_broadcastable(graph, &condition->type.shape));
    struct value *b = a != NULL ? partner(graph, a, false, -MOST, MOST) : NULL;
    struct shape values, all;
    struct value *const operands[] = {condition, a, b};
    if (b == NULL || !wnn_shape_broadcast(&a->type.shape, &b->type.shape, &values) ||
        !wnn_shape_broadcast(&values, &condition->type.shape, &all) ||
        wnn_shape_elements(&all) > 4 * graph->most_elements)
        return;
    wnn_random_emit(graph, WNN_OP_where, 3, operands, wnn_ops[WNN_OP_where].defaults, fmin(a->low, b->low),
                    fmax(a->high, b->high));
}

// Scales that are powers of two keep quantization exact.
void wnn_make_quantize(struct random_graph *graph, enum op op)
{
    bool quantize = op == WNN_OP_quantizeLinear;
    struct wish wish = any_of(quantize ? FLOATS : U8 | I8 | U32 | I32 | U4 | I4, 0, WNN_MAX_RANK);
    wish.exact = quantize;
    struct value *x = wnn_random_pick(graph, wish);
    if (x == NULL)
        return;
    struct shape shape = x->type.shape;
    for (unsigned d = 0; d < shape.rank; d++)
        if (chance(graph, 60))
            shape.dim[d] = chance(graph, 50) && shape.dim[d] % 2 == 0 ? shape.dim[d] / 2 : 1;
    double scale = ldexp(1, -1 - (int)below(graph, 6));
    WNNDataType scale_type = quantize ? x->type.type : wnn_random_type(graph, FLOATS);
    WNNDataType zero_type = quantize ? wnn_random_type(graph, U8 | I8 | U32 | I32 | U4 | I4) : x->type.type;
    struct value *s = wnn_random_new_within(graph, scale_type, shape, scale, scale),
                 *zero = wnn_random_new(graph, zero_type, shape);
    struct value *const operands[] = {x, s, zero};
    double most = wnn_dtype_bits(x->type.type) <= 8 ? 512 * scale : 1e11;
    struct value *result = s != NULL && zero != NULL
                               ? wnn_random_emit(graph, op, 3, operands, wnn_ops[op].defaults, -most, most)
                               : NULL;
    if (result != NULL && quantize) {
        result->rounded = false;
        result->exact = true;
    }
}
