// SPDX-License-Identifier: Apache-2.0

#include "conformance/cross/generate.h"

#include "conformance/tolerance.h"
#include "lib/half.h"
#include "ops/builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ELEMENTS 700
#define MOST         24.0 // the magnitude up to which values are used further
#define NO_LIMIT     INFINITY

enum {
    FLOATS = F32 | F16,
    INTEGERS = I32 | U32 | I64 | U64 | I8 | U8,
    INDICES = I32 | U32 | I64
};

// ---------------------------------------------------------------------------------------------------------------
// Chance
// ---------------------------------------------------------------------------------------------------------------

static uint64_t draw(struct random_graph *graph)
{
    uint64_t x = graph->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static uint32_t below(struct random_graph *graph, uint32_t end)
{
    return (uint32_t)(draw(graph) % end);
}

static bool chance(struct random_graph *graph, unsigned percent)
{
    return below(graph, 100) < percent;
}

static double between(struct random_graph *graph, double low, double high)
{
    return low + (high - low) * ((double)(draw(graph) >> 11) * 0x1p-53);
}

static uint32_t random_size(struct random_graph *graph)
{
    static const uint8_t sizes[] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 13, 16, 17, 33};
    return sizes[below(graph, sizeof sizes)];
}

static struct shape random_shape(struct random_graph *graph, unsigned min_rank, unsigned max_rank)
{
    struct shape shape = {.rank = min_rank};
    if (max_rank > 5)
        max_rank = min_rank > 5 ? min_rank : 5;
    if (max_rank > min_rank)
        shape.rank += below(graph, max_rank - min_rank + 1);
    size_t elements = 1;
    for (unsigned d = 0; d < shape.rank; d++) {
        shape.dim[d] = random_size(graph);
        if (elements * shape.dim[d] > MAX_ELEMENTS)
            shape.dim[d] = 1 + below(graph, 2);
        elements *= shape.dim[d];
    }
    return shape;
}

static WNNDataType random_type(struct random_graph *graph, uint32_t types)
{
    if (types & FLOATS && chance(graph, 70))
        return types & F16 && (chance(graph, 30) || !(types & F32)) ? WNNDataType_Float16
                                                                    : WNNDataType_Float32;
    for (;;) {
        unsigned type = 1 + below(graph, WNN_DATA_TYPE_COUNT - 1);
        if (types >> type & 1)
            return (WNNDataType)type;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Values
// ---------------------------------------------------------------------------------------------------------------

static double random_float(struct random_graph *graph, double low, double high)
{
    static const double nice[] = {0, 1, -1, 0.5, -0.5, 2, -2};
    double value = nice[below(graph, 7)];
    return chance(graph, 15) && value >= low && value <= high ? value : between(graph, low, high);
}

static uint64_t random_integer(struct random_graph *graph)
{
    static const uint64_t edges[] = {INT8_MAX,  (uint64_t)INT8_MIN,  UINT8_MAX,
                                     INT32_MAX, (uint64_t)INT32_MIN, UINT32_MAX,
                                     INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX};
    if (chance(graph, 6))
        return edges[below(graph, sizeof edges / sizeof edges[0])];
    return chance(graph, 10) ? draw(graph) : (uint64_t)((int64_t)below(graph, 24) - 8);
}

static void fill(struct random_graph *graph, struct random_input *input, double low, double high)
{
    size_t count = wnn_shape_elements(&input->type.shape);
    for (size_t i = 0; i < count; i++) {
        float value = 0;
        uint64_t integer = 0;
        if (wnn_dtype_is_float(input->type.type))
            value = (float)random_float(graph, low, high);
        else
            integer = random_integer(graph);
        uint16_t half = wnn_half_from_float(value);
        unsigned char *bytes = input->data;
        switch (input->type.type) {
        case WNNDataType_Float32:
            memcpy(bytes + 4 * i, &value, 4);
            break;
        case WNNDataType_Float16:
            memcpy(bytes + 2 * i, &half, 2);
            break;
        case WNNDataType_Int4:
        case WNNDataType_Uint4:
            bytes[i / 2] |= (unsigned char)((integer & 0xF) << (i % 2 * 4));
            break;
        default: {
            size_t size = wnn_dtype_bits(input->type.type) / 8;
            memcpy(bytes + size * i, &integer, size); // little-endian: the low bits
        }
        }
    }
}

static struct value *add_value(struct random_graph *graph, WNNOperand operand, double low, double high,
                               bool exact)
{
    if (operand == NULL)
        graph->refused = true;
    if (graph->refused || graph->value_count == MAX_VALUES)
        return NULL;
    struct value *value = &graph->values[graph->value_count++];
    *value = (struct value){
        .operand = operand, .type = wnn_operand(operand)->type, .low = low, .high = high, .exact = exact};
    return value;
}

// A new constant or input with random elements, floats between low and high.
static struct value *fresh_in(struct random_graph *graph, WNNDataType type, struct shape shape, double low,
                              double high)
{
    if (graph->input_count == MAX_VALUES || graph->refused)
        return NULL;
    struct random_input *input = &graph->inputs[graph->input_count++];
    input->type = (struct descriptor){type, shape};
    input->bytes = wnn_descriptor_bytes(&input->type);
    input->data = calloc(input->bytes + 1, 1);
    if (input->data == NULL)
        return NULL;
    snprintf(input->name, sizeof input->name, "x%zu", graph->input_count - 1);
    fill(graph, input, low, high);
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){shape.dim, shape.rank};
    WNNOperand operand =
        chance(graph, 50)
            ? wnnGraphBuilderConstant(graph->builder, &descriptor, input->data, input->bytes)
            : wnnGraphBuilderInput(graph->builder, (WNNStringView){input->name, WNN_STRLEN}, &descriptor);
    // Rounding to float16 may pass the ends.
    return add_value(graph, operand, low - 1e-3 * fabs(low), high + 1e-3 * fabs(high), true);
}

static struct value *fresh(struct random_graph *graph, WNNDataType type, struct shape shape)
{
    return fresh_in(graph, type, shape, -2, 2);
}

static double magnitude(const struct value *value)
{
    return fmax(fabs(value->low), fabs(value->high));
}

// What an operand must be like.
struct wish {
    uint32_t types;
    unsigned min_rank, max_rank;
    bool exact;
    double low, high; // floats must be within
};

static bool suits(const struct value *value, const struct wish *wish)
{
    const struct shape *shape = &value->type.shape;
    return wish->types >> value->type.type & 1 && shape->rank >= wish->min_rank &&
           shape->rank <= wish->max_rank && !value->rounded && (value->exact || !wish->exact) &&
           (!wnn_dtype_is_float(value->type.type) || (value->low >= wish->low && value->high <= wish->high));
}

// A value that there is already, mostly, or a new one.
static struct value *pick(struct random_graph *graph, struct wish wish)
{
    struct value *found = NULL;
    uint32_t seen = 0;
    if (chance(graph, 80))
        for (size_t i = 0; i < graph->value_count; i++)
            if (suits(&graph->values[i], &wish)) {
                seen += 1 + (uint32_t)(i * 2 / graph->value_count); // later ones rather than earlier ones
                if (below(graph, seen) < 2)
                    found = &graph->values[i];
            }
    if (found != NULL)
        return found;
    return fresh_in(graph, random_type(graph, wish.types), random_shape(graph, wish.min_rank, wish.max_rank),
                    fmax(wish.low, -2), fmin(wish.high, wish.low > 0 ? 4 : 2));
}

static struct wish any_of(uint32_t types, unsigned min_rank, unsigned max_rank)
{
    return (struct wish){types, min_rank, max_rank, false, -MOST, MOST};
}

// Marks the operands of a node as used; returns whether all are exact.
static bool use_operands(struct random_graph *graph, const struct node *node)
{
    bool exact = true;
    for (size_t k = 0; k < graph->value_count; k++)
        for (unsigned i = 0; i < node->in_count; i++)
            if (graph->values[k].operand == (WNNOperand)node->in[i]) {
                graph->values[k].used = true;
                exact &= graph->values[k].exact;
            }
    return exact;
}

// Records an operator. Its results are in [low, high]. Returns the first, or NULL.
static struct value *emit(struct random_graph *graph, enum op op, unsigned count, struct value *const *values,
                          const void *attrs, double low, double high)
{
    WNNOperand operands[MAX_VALUES], outputs[16];
    bool exact = true;
    for (unsigned i = 0; i < count; i++) {
        if (values[i] == NULL)
            return NULL;
        operands[i] = values[i]->operand;
    }
    if (graph->value_count + 16 > MAX_VALUES)
        return NULL;
    const struct graph *recorded = &graph->builder->graph;
    size_t node_count = recorded->node_count;
    size_t output_count = wnn_builder_call(graph->builder, op, count, operands, attrs, 16, outputs);
    if (output_count == 0) {
        graph->refused = true;
        return NULL;
    }
    graph->uses[op]++;
    double tolerance = 0;
    for (; node_count < recorded->node_count; node_count++) { // an activation is a node of its own
        const struct node *node = recorded->nodes[node_count];
        tolerance += wnn_node_tolerance(node).value;
        exact &= use_operands(graph, node);
    }
    exact &= tolerance == 0;
    struct value *first = NULL;
    for (size_t i = 0; i < output_count; i++) {
        struct value *value = add_value(graph, outputs[i], low, high, exact);
        if (value != NULL && !wnn_dtype_is_float(value->type.type) && tolerance > 0)
            value->rounded = true;
        first = first != NULL ? first : value;
    }
    return first;
}

// The greatest magnitude that a result may have.
static bool fits(const struct value *value, double most)
{
    return value != NULL && most < (value->type.type == WNNDataType_Float16 ? 2e4 : 1e9);
}

// ---------------------------------------------------------------------------------------------------------------
// Element-wise operators
// ---------------------------------------------------------------------------------------------------------------

static uint32_t first_types(enum op op)
{
    return wnn_ops[op].rows[0].types;
}

static void make_unary(struct random_graph *graph, enum op op)
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
    struct wish wish = any_of(first_types(op), 0, 5);
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
    struct value *x = pick(graph, wish);
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
    emit(graph, op, 1, &x, &attrs, low, high);
}

// A shape that broadcasts with `shape`.
static struct shape broadcastable(struct random_graph *graph, const struct shape *shape)
{
    struct shape result = *shape;
    unsigned dropped = chance(graph, 40) && shape->rank > 0 ? below(graph, shape->rank + 1) : 0;
    result.rank = shape->rank - dropped;
    for (unsigned d = 0; d < result.rank; d++) {
        result.dim[d] = shape->dim[d + dropped];
        if (chance(graph, 20))
            result.dim[d] = 1;
    }
    return result;
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
        struct wish wish = {1u << x->type.type, 0, 5, exact, low, high};
        if (suits(value, &wish) && wnn_shape_broadcast(&x->type.shape, &value->type.shape, &shared) &&
            wnn_shape_elements(&shared) <= 2 * MAX_ELEMENTS && below(graph, ++seen) == 0)
            found = value;
    }
    if (found != NULL && chance(graph, 70))
        return found;
    return fresh_in(graph, x->type.type, broadcastable(graph, &x->type.shape), fmax(low, -2),
                    fmin(high, low > 0 ? 4 : 2));
}

static void make_binary(struct random_graph *graph, enum op op)
{
    bool compares = wnn_ops[op].infer == wnn_infer_comparison;
    struct wish wish = any_of(first_types(op), 0, 5);
    wish.exact = compares;
    if (op == WNN_OP_pow) {
        wish.low = 0.2;
        wish.high = 4;
    }
    struct value *a = pick(graph, wish);
    if (a == NULL)
        return;
    double low = op == WNN_OP_div ? 0.2 : op == WNN_OP_pow ? -3 : -MOST, high = op == WNN_OP_pow ? 3 : MOST;
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
    else if (op == WNN_OP_max || op == WNN_OP_min)
        most = fmax(x, y);
    struct value *const operands[] = {a, b};
    if (wnn_dtype_is_float(a->type.type) && !fits(a, most))
        return;
    emit(graph, op, 2, operands, wnn_ops[op].defaults, -most, most);
}

static void make_cast(struct random_graph *graph)
{
    struct cast_attrs attrs = {.options = WNN_OPERATOR_OPTIONS_INIT,
                               .dataType = random_type(graph, FLOATS | INTEGERS)};
    struct wish wish = any_of(FLOATS | INTEGERS, 0, 5);
    wish.exact = !wnn_dtype_is_float(attrs.dataType);
    struct value *x = pick(graph, wish);
    if (x == NULL)
        return;
    double most = magnitude(x);
    if (!wnn_dtype_is_float(x->type.type))
        most = wnn_dtype_bits(x->type.type) == 8 ? 256 : 1e20;
    emit(graph, WNN_OP_cast, 1, &x, &attrs, -most, most);
}

static void make_where(struct random_graph *graph)
{
    struct value *condition = pick(graph, (struct wish){U8, 0, 4, true, -MOST, MOST});
    if (condition == NULL)
        return;
    struct value *a =
        fresh(graph, random_type(graph, FLOATS | INTEGERS), broadcastable(graph, &condition->type.shape));
    struct value *b = a != NULL ? partner(graph, a, false, -MOST, MOST) : NULL;
    struct shape values, all;
    struct value *const operands[] = {condition, a, b};
    if (b == NULL || !wnn_shape_broadcast(&a->type.shape, &b->type.shape, &values) ||
        !wnn_shape_broadcast(&values, &condition->type.shape, &all) ||
        wnn_shape_elements(&all) > 4 * MAX_ELEMENTS)
        return;
    emit(graph, WNN_OP_where, 3, operands, wnn_ops[WNN_OP_where].defaults, fmin(a->low, b->low),
         fmax(a->high, b->high));
}

// Scales that are powers of two keep quantisation exact.
static void make_quantize(struct random_graph *graph, enum op op)
{
    bool quantize = op == WNN_OP_quantizeLinear;
    struct wish wish = any_of(quantize ? FLOATS : U8 | I8 | U32 | I32 | U4 | I4, 0, 4);
    wish.exact = quantize;
    struct value *x = pick(graph, wish);
    if (x == NULL)
        return;
    struct shape shape = x->type.shape;
    for (unsigned d = 0; d < shape.rank; d++)
        if (chance(graph, 60))
            shape.dim[d] = chance(graph, 50) && shape.dim[d] % 2 == 0 ? shape.dim[d] / 2 : 1;
    double scale = ldexp(1, -1 - (int)below(graph, 6));
    WNNDataType scale_type = quantize ? x->type.type : random_type(graph, FLOATS);
    WNNDataType zero_type = quantize ? random_type(graph, U8 | I8 | U32 | I32 | U4 | I4) : x->type.type;
    struct value *s = fresh_in(graph, scale_type, shape, scale, scale),
                 *zero = fresh(graph, zero_type, shape);
    struct value *const operands[] = {x, s, zero};
    double most = wnn_dtype_bits(x->type.type) <= 8 ? 512 * scale : 1e11;
    struct value *result =
        s != NULL && zero != NULL ? emit(graph, op, 3, operands, wnn_ops[op].defaults, -most, most) : NULL;
    if (result != NULL && quantize) {
        result->rounded = false;
        result->exact = true;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Movement
// ---------------------------------------------------------------------------------------------------------------

static void make_movement(struct random_graph *graph, enum op op)
{
    uint32_t list[3][WNN_MAX_RANK];
    struct value *x =
        pick(graph, (struct wish){FLOATS | INTEGERS, op == WNN_OP_triangular ? 2 : op == WNN_OP_split, 5,
                                  false, -NO_LIMIT, NO_LIMIT});
    if (x == NULL)
        return;
    const struct shape *shape = &x->type.shape;
    unsigned rank = shape->rank;
    size_t elements = wnn_shape_elements(shape);
    double low = fmin(x->low, 0), high = fmax(x->high, 0); // zeros may come in
    switch (op) {
    case WNN_OP_expand: {
        struct expand_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, {list[0], rank}};
        unsigned more = rank < 5 ? below(graph, 2) : 0;
        attrs.newShape.count += more;
        for (unsigned d = 0; d < rank + more; d++) {
            list[0][d] = d < more ? 1 + below(graph, 3) : shape->dim[d - more];
            if (d >= more && list[0][d] == 1)
                list[0][d] = 1 + below(graph, 4);
            elements *= d < more ? list[0][d] : list[0][d] / shape->dim[d - more];
        }
        if (elements <= 2 * MAX_ELEMENTS)
            emit(graph, op, 1, &x, &attrs, x->low, x->high);
        return;
    }
    case WNN_OP_reshape: {
        struct expand_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, {list[0], 1 + below(graph, 5)}};
        size_t rest = elements;
        for (size_t d = 0; d < attrs.newShape.count; d++) {
            uint32_t size = 1;
            for (unsigned tries = 0; tries < 4; tries++) {
                uint32_t candidate = 1 + below(graph, 9);
                if (rest % candidate == 0)
                    size = candidate;
            }
            list[0][d] = d + 1 == attrs.newShape.count ? (uint32_t)rest : size;
            rest /= size;
        }
        emit(graph, op, 1, &x, &attrs, x->low, x->high);
        return;
    }
    case WNN_OP_reverse: {
        WNNReverseOptions options = WNN_REVERSE_OPTIONS_INIT;
        if (chance(graph, 70)) {
            options.axes = (WNNUint32List){list[0], 0};
            for (unsigned d = rank; d-- > 0;)
                if (chance(graph, 50))
                    list[0][options.axes.count++] = d;
        }
        emit(graph, op, 1, &x, &options, x->low, x->high);
        return;
    }
    case WNN_OP_slice: {
        struct slice_attrs attrs = {WNN_SLICE_OPTIONS_INIT, {list[0], rank}, {list[1], rank}};
        if (chance(graph, 50))
            attrs.options.strides = (WNNUint32List){list[2], rank};
        for (unsigned d = 0; d < rank; d++) {
            list[0][d] = below(graph, shape->dim[d]);
            list[1][d] = 1 + below(graph, shape->dim[d] - list[0][d]);
            list[2][d] = 1 + below(graph, 3);
        }
        emit(graph, op, 1, &x, &attrs, x->low, x->high);
        return;
    }
    case WNN_OP_split: {
        struct split_attrs attrs = {.options = WNN_SPLIT_OPTIONS_INIT, .sizes = WNN_UINT32_LIST_INIT};
        attrs.options.axis = below(graph, rank);
        uint32_t size = shape->dim[attrs.options.axis], first = 1 + below(graph, size);
        attrs.count = size <= 8 && chance(graph, 30) ? size : 1;
        if (chance(graph, 60)) {
            attrs.sizes = (WNNUint32List){list[0], first < size ? 2 : 1};
            list[0][0] = first;
            list[0][1] = size - first;
        }
        emit(graph, op, 1, &x, &attrs, x->low, x->high);
        return;
    }
    case WNN_OP_tile: {
        struct tile_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, {list[0], rank}};
        for (unsigned d = 0; d < rank; d++) {
            list[0][d] = chance(graph, 30) ? 2 + below(graph, 2) : 1;
            elements *= list[0][d];
        }
        if (elements <= 3 * MAX_ELEMENTS)
            emit(graph, op, 1, &x, &attrs, x->low, x->high);
        return;
    }
    case WNN_OP_transpose: {
        WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
        if (chance(graph, 80)) {
            options.permutation = (WNNUint32List){list[0], rank};
            for (unsigned d = 0; d < rank; d++) {
                unsigned other = below(graph, d + 1);
                list[0][d] = list[0][other];
                list[0][other] = d;
            }
        }
        emit(graph, op, 1, &x, &options, x->low, x->high);
        return;
    }
    case WNN_OP_triangular: {
        WNNTriangularOptions options = WNN_TRIANGULAR_OPTIONS_INIT;
        options.upper = chance(graph, 50);
        options.diagonal = (int32_t)below(graph, 7) - 3;
        emit(graph, op, 1, &x, &options, low, high);
        return;
    }
    default: { // pad
        struct pad_attrs attrs = {WNN_PAD_OPTIONS_INIT, {list[0], rank}, {list[1], rank}};
        attrs.options.mode = (WNNPaddingMode)(1 + below(graph, 4));
        if (chance(graph, 50))
            attrs.options.value = wnnNumberFloat64(floor(between(graph, -2, 3)));
        elements = 1;
        for (unsigned d = 0; d < rank; d++) {
            uint32_t most =
                attrs.options.mode == WNNPaddingMode_Reflection ? shape->dim[d] - 1 : shape->dim[d];
            list[0][d] = below(graph, (most < 3 ? most : 3) + 1);
            list[1][d] = below(graph, (most < 3 ? most : 3) + 1);
            elements *= shape->dim[d] + list[0][d] + list[1][d];
        }
        if (elements <= 5 * MAX_ELEMENTS)
            emit(graph, op, 1, &x, &attrs, fmin(low, -2), fmax(high, 2));
    }
    }
}

static void make_concat(struct random_graph *graph)
{
    struct value *parts[4];
    parts[0] = pick(graph, (struct wish){FLOATS | INTEGERS, 1, 5, false, -NO_LIMIT, NO_LIMIT});
    if (parts[0] == NULL)
        return;
    unsigned count = 1 + below(graph, 4), filled = 1;
    struct shape shape = parts[0]->type.shape;
    struct concat_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, below(graph, shape.rank)};
    for (size_t i = 0; i < graph->value_count && filled < count; i++) {
        struct value *value = &graph->values[i];
        struct shape other = value->type.shape;
        if (value->rounded || value->type.type != parts[0]->type.type || other.rank != shape.rank)
            continue;
        other.dim[attrs.axis] = shape.dim[attrs.axis];
        if (wnn_shape_equal(&other, &shape))
            parts[filled++] = value;
    }
    while (filled < count) {
        shape.dim[attrs.axis] = 1 + below(graph, 3);
        parts[filled] = fresh(graph, parts[0]->type.type, shape);
        if (parts[filled++] == NULL)
            return;
    }
    double low = parts[0]->low, high = parts[0]->high;
    for (unsigned i = 1; i < count; i++) {
        low = fmin(low, parts[i]->low);
        high = fmax(high, parts[i]->high);
    }
    emit(graph, WNN_OP_concat, count, parts, &attrs, low, high);
}

static void make_gather(struct random_graph *graph, enum op op)
{
    struct value *operands[3] = {pick(graph, any_of(FLOATS | INTEGERS, 1, 4))};
    struct value *x = operands[0];
    if (x == NULL)
        return;
    struct shape shape = x->type.shape, updates = {0};
    WNNGatherOptions options = WNN_GATHER_OPTIONS_INIT;
    WNNScatterElementsOptions scatter = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
    WNNOperatorOptions none = WNN_OPERATOR_OPTIONS_INIT;
    const void *attrs = &options;
    options.axis = scatter.axis = below(graph, shape.rank);
    bool scatters = op == WNN_OP_scatterElements || op == WNN_OP_scatterND;
    if (op == WNN_OP_gather) {
        operands[1] = pick(graph, (struct wish){INDICES, 0, 5 - shape.rank, true, -MOST, MOST});
    } else if (op == WNN_OP_gatherElements || op == WNN_OP_scatterElements) {
        struct shape indices = shape;
        indices.dim[options.axis] = 1 + below(graph, 5);
        updates = indices;
        operands[1] = fresh(graph, random_type(graph, INDICES), indices);
        attrs = op == WNN_OP_gatherElements ? (const void *)&options : &scatter;
    } else {
        unsigned given = 1 + below(graph, shape.rank);
        struct shape indices = random_shape(graph, 0, 2);
        updates = indices;
        indices.dim[indices.rank++] = given;
        wnn_shape_append(&updates, shape.dim + given, shape.rank - given);
        operands[1] = fresh(graph, random_type(graph, INDICES), indices);
        attrs = &none;
    }
    if (operands[1] == NULL ||
        (op == WNN_OP_gather &&
         wnn_shape_elements(&operands[1]->type.shape) * wnn_shape_elements(&shape) > 8 * MAX_ELEMENTS))
        return;
    if (scatters) {
        if (wnn_shape_elements(&updates) > 4 * MAX_ELEMENTS)
            return;
        operands[2] = fresh(graph, x->type.type, updates);
    }
    emit(graph, op, scatters ? 3 : 2, operands, attrs, fmin(x->low, -2.1), fmax(x->high, 2.1));
}

// ---------------------------------------------------------------------------------------------------------------
// Reductions and normalisations
// ---------------------------------------------------------------------------------------------------------------

// A random subset of the dimensions; the number of elements that it joins is in *members.
static WNNUint32List random_axes(struct random_graph *graph, const struct shape *shape, uint32_t *data,
                                 double *members)
{
    WNNUint32List axes = {data, 0};
    *members = 1;
    for (unsigned d = shape->rank; d-- > 0;)
        if (chance(graph, 50)) {
            data[axes.count++] = d;
            *members *= shape->dim[d];
        }
    return axes;
}

static void make_reduction(struct random_graph *graph, enum op op)
{
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    uint32_t data[WNN_MAX_RANK];
    double members;
    bool logarithm = op == WNN_OP_reduceLogSum;
    struct wish wish = any_of(first_types(op), 0, 5);
    wish.low = logarithm ? 0.2 : wish.low;
    struct value *x = pick(graph, wish);
    if (x == NULL)
        return;
    options.axes = random_axes(graph, &x->type.shape, data, &members);
    if (chance(graph, 20)) {
        options.axes = (WNNUint32List)WNN_UINT32_LIST_INIT;
        members = (double)wnn_shape_elements(&x->type.shape);
    }
    options.keepDimensions = chance(graph, 50);
    double most = magnitude(x) + log(members) + 3;
    if (op == WNN_OP_reduceSum || op == WNN_OP_reduceL1)
        most = members * magnitude(x);
    else if (op == WNN_OP_reduceSumSquare || op == WNN_OP_reduceL2)
        most = members * magnitude(x) * magnitude(x);
    else if (op == WNN_OP_reduceProduct)
        most = members > 24 ? NO_LIMIT : pow(fmax(magnitude(x), 1), members);
    if (wnn_dtype_is_float(x->type.type) && !fits(x, most))
        return;
    emit(graph, op, 1, &x, &options, op == WNN_OP_reduceMin || op == WNN_OP_reduceMax ? x->low : -most, most);
}

static void make_arg(struct random_graph *graph, enum op op)
{
    struct value *x = pick(graph, (struct wish){FLOATS | INTEGERS, 1, 5, true, -NO_LIMIT, NO_LIMIT});
    if (x == NULL)
        return;
    if (op == WNN_OP_argMin || op == WNN_OP_argMax) {
        struct arg_min_max_attrs attrs = {.options = WNN_ARG_MIN_MAX_OPTIONS_INIT,
                                          .axes = WNN_UINT32_LIST_INIT};
        attrs.axis = below(graph, x->type.shape.rank);
        attrs.options.keepDimensions = chance(graph, 50);
        attrs.options.outputDataType = chance(graph, 50) ? WNNDataType_Int64 : WNNDataType_Int32;
        emit(graph, op, 1, &x, &attrs, 0, 0);
        return;
    }
    WNNArgMinMaxAxesOptions options = WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT;
    uint32_t data[WNN_MAX_RANK];
    double members;
    if (chance(graph, 70))
        options.axes = random_axes(graph, &x->type.shape, data, &members);
    options.keepDimensions = chance(graph, 50);
    options.selectLastIndex = chance(graph, 50);
    emit(graph, op, 1, &x, &options, 0, 0);
}

// cumulativeSum, softmax
static void make_along_axis(struct random_graph *graph, enum op op)
{
    bool flat = op == WNN_OP_softmax2d;
    struct value *x = pick(graph, any_of(first_types(op), flat ? 2 : 1, flat ? 2 : 5));
    if (x == NULL)
        return;
    uint32_t axis = below(graph, x->type.shape.rank);
    if (op == WNN_OP_cumulativeSum) {
        struct cumulative_sum_attrs attrs = {WNN_CUMULATIVE_SUM_OPTIONS_INIT, axis};
        attrs.options.exclusive = chance(graph, 50);
        attrs.options.reversed = chance(graph, 50);
        double most = magnitude(x) * x->type.shape.dim[axis];
        if (!wnn_dtype_is_float(x->type.type) || fits(x, most))
            emit(graph, op, 1, &x, &attrs, -most, most);
        return;
    }
    struct softmax_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, axis};
    emit(graph, op, 1, &x, flat ? (const void *)&attrs.options : &attrs, 0, 1);
}

static WNNOperand operand_of(const struct value *value)
{
    return value != NULL ? value->operand : NULL;
}

static struct shape vector_of(uint32_t size)
{
    return (struct shape){1, {size}};
}

// An activation without parameters, sometimes.
static WNNActivation random_activation(struct random_graph *graph, unsigned percent)
{
    static const enum op ops[] = {WNN_OP_relu,      WNN_OP_sigmoid, WNN_OP_tanh,        WNN_OP_softsign,
                                  WNN_OP_hardSwish, WNN_OP_elu,     WNN_OP_hardSigmoid, WNN_OP_leakyRelu,
                                  WNN_OP_softplus,  WNN_OP_linear,  WNN_OP_gelu,        WNN_OP_clamp};
    enum op op = ops[below(graph, sizeof ops / sizeof ops[0])];
    if (!chance(graph, percent))
        return NULL;
    if (op == WNN_OP_clamp) {
        WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;
        options.minValue = wnnNumberFloat64(0);
        options.maxValue = wnnNumberFloat64(6);
        return wnn_builder_activation(graph->builder, op, &options);
    }
    return wnn_builder_activation(graph->builder, op, wnn_ops[op].defaults);
}

static void make_normalization(struct random_graph *graph, enum op op)
{
    bool instance = op == WNN_OP_instanceNormalization, batch = op == WNN_OP_batchNormalization;
    struct value *x = pick(graph, any_of(FLOATS, instance ? 4 : batch, instance ? 4 : 5));
    if (x == NULL)
        return;
    const struct shape *shape = &x->type.shape;
    WNNDataType type = x->type.type;
    if (batch) {
        WNNBatchNormalizationOptions options = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
        options.axis = below(graph, shape->rank);
        struct shape channels = vector_of(shape->dim[options.axis]);
        struct value *operands[] = {x, fresh(graph, type, channels),
                                    fresh_in(graph, type, channels, 0.25, 4)};
        if (chance(graph, 60))
            options.scale = operand_of(fresh(graph, type, channels));
        if (chance(graph, 60))
            options.bias = operand_of(fresh(graph, type, channels));
        options.activation = random_activation(graph, 30);
        double most = 6 * (magnitude(x) + 2) + 3;
        emit(graph, op, 3, operands, &options, -most, most);
        return;
    }
    double most = 2.1 * sqrt((double)wnn_shape_elements(shape)) + 3;
    if (instance) {
        WNNInstanceNormalizationOptions options = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
        options.layout = (WNNInputOperandLayout)(1 + below(graph, 2));
        options.epsilon = 0.01;
        struct shape channels = vector_of(shape->dim[options.layout == WNNInputOperandLayout_NHWC ? 3 : 1]);
        if (chance(graph, 60))
            options.scale = operand_of(fresh(graph, type, channels));
        if (chance(graph, 60))
            options.bias = operand_of(fresh(graph, type, channels));
        emit(graph, op, 1, &x, &options, -most, most);
        return;
    }
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    uint32_t data[WNN_MAX_RANK];
    double members;
    options.epsilon = 0.01;
    options.axes = random_axes(graph, shape, data, &members);
    struct shape joined = {.rank = (unsigned)options.axes.count};
    for (unsigned d = 0; d < joined.rank; d++)
        joined.dim[d] = shape->dim[data[d]];
    if (chance(graph, 60))
        options.scale = operand_of(fresh(graph, type, joined));
    if (chance(graph, 60))
        options.bias = operand_of(fresh(graph, type, joined));
    emit(graph, op, 1, &x, &options, -most, most);
}

// ---------------------------------------------------------------------------------------------------------------
// Images
// ---------------------------------------------------------------------------------------------------------------

static struct shape random_image(struct random_graph *graph)
{
    struct shape shape = {
        4, {1 + below(graph, 2), 1 + below(graph, 8), 1 + below(graph, 9), 1 + below(graph, 9)}};
    return shape;
}

static struct value *pick_image(struct random_graph *graph, uint32_t types, double most)
{
    for (size_t i = graph->value_count; i-- > 0;) {
        struct wish wish = {types, 4, 4, false, -most, most};
        if (suits(&graph->values[i], &wish) && chance(graph, 50))
            return &graph->values[i];
    }
    return fresh(graph, random_type(graph, types), random_image(graph));
}

// The padding, strides and dilations that convolutions and pools have in common.
struct window {
    uint32_t padding[4], strides[2], dilations[2], size[2];
};

static struct window random_window(struct random_graph *graph)
{
    struct window window;
    for (unsigned i = 0; i < 2; i++) {
        window.size[i] = 1 + below(graph, 3);
        window.strides[i] = chance(graph, 60) ? 1 : 1 + below(graph, 3);
        window.dilations[i] = chance(graph, 70) ? 1 : 1 + below(graph, 2);
        window.padding[2 * i] = chance(graph, 50) ? 0 : below(graph, 3);
        window.padding[2 * i + 1] = chance(graph, 50) ? 0 : below(graph, 3);
    }
    return window;
}

static bool window_fits(const struct window *window, const uint32_t *sizes)
{
    for (unsigned i = 0; i < 2; i++)
        if (sizes[i] + window->padding[2 * i] + window->padding[2 * i + 1] <
            (window->size[i] - 1) * window->dilations[i] + 1)
            return false;
    return true;
}

static struct shape permuted(const char *from, const uint32_t *sizes, const char *to)
{
    struct shape shape = {.rank = 4};
    for (unsigned d = 0; d < 4; d++)
        shape.dim[d] = sizes[strchr(from, to[d]) - from];
    return shape;
}

static void make_convolution(struct random_graph *graph, enum op op)
{
    static const char *const layouts[] = {"oihw", "hwio", "ohwi", "ihwo"};
    static const char *const transposed_layouts[] = {"iohw", "hwoi", "ohwi"};
    struct value *operands[2] = {pick_image(graph, FLOATS, 8)};
    struct value *x = operands[0];
    if (x == NULL)
        return;
    bool nhwc = chance(graph, 50), transposed = op == WNN_OP_convTranspose2d;
    const uint32_t *dim = x->type.shape.dim;
    uint32_t channels = dim[nhwc ? 3 : 1], groups = 1;
    struct window window = random_window(graph);
    if (chance(graph, 40))
        groups = chance(graph, 50) ? channels : channels % 2 == 0 ? 2 : 1;
    uint32_t per_group = 1 + below(graph, 4);
    if (channels > 33 || !window_fits(&window, dim + (nhwc ? 1 : 2)))
        return;
    uint32_t outputs = per_group * groups;
    WNNUint32List padding = {window.padding, 4}, strides = {window.strides, 2},
                  dilations = {window.dilations, 2};
    struct value *bias = chance(graph, 50) ? fresh(graph, x->type.type, vector_of(outputs)) : NULL;
    double most = magnitude(x) * 2 * 9 * channels + 2;
    WNNInputOperandLayout layout = nhwc ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
    if (transposed) {
        WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
        options.filterLayout = (WNNConvTranspose2dFilterOperandLayout)(1 + below(graph, 3));
        const uint32_t sizes[] = {channels, per_group, window.size[0], window.size[1]};
        operands[1] =
            fresh(graph, x->type.type, permuted("iohw", sizes, transposed_layouts[options.filterLayout - 1]));
        for (unsigned i = 0; i < 2; i++) {
            uint32_t full = (dim[(nhwc ? 1 : 2) + i] - 1) * window.strides[i] +
                            (window.size[i] - 1) * window.dilations[i] + 1;
            if (full <= window.padding[2 * i] + window.padding[2 * i + 1])
                window.padding[2 * i] = window.padding[2 * i + 1] = 0;
        }
        uint32_t extra[2] = {below(graph, window.strides[0]), below(graph, window.strides[1])};
        options.outputPadding = (WNNUint32List){extra, 2};
        options.padding = padding;
        options.strides = strides;
        options.dilations = dilations;
        options.groups = groups;
        options.inputLayout = layout;
        options.bias = operand_of(bias);
        options.activation = random_activation(graph, 30);
        emit(graph, op, 2, operands, &options, -most, most);
        return;
    }
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.filterLayout = (WNNConv2dFilterOperandLayout)(1 + below(graph, 4));
    const uint32_t sizes[] = {outputs, channels / groups, window.size[0], window.size[1]};
    operands[1] = fresh(graph, x->type.type, permuted("oihw", sizes, layouts[options.filterLayout - 1]));
    options.padding = padding;
    options.strides = strides;
    options.dilations = dilations;
    options.groups = groups;
    options.inputLayout = layout;
    options.bias = operand_of(bias);
    options.activation = random_activation(graph, 30);
    emit(graph, op, 2, operands, &options, -most, most);
}

static void make_pool(struct random_graph *graph, enum op op)
{
    struct value *x = pick_image(graph, first_types(op), MOST);
    struct window window = random_window(graph);
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    if (x == NULL)
        return;
    options.layout = (WNNInputOperandLayout)(1 + below(graph, 2));
    if (!window_fits(&window, x->type.shape.dim + (options.layout == WNNInputOperandLayout_NHWC ? 1 : 2)))
        return;
    bool global = chance(graph, 20);
    if (!global) {
        options.windowDimensions = (WNNUint32List){window.size, 2};
        options.padding = (WNNUint32List){window.padding, 4};
        options.strides = (WNNUint32List){window.strides, 2};
        options.dilations = (WNNUint32List){window.dilations, 2};
        options.roundingType = (WNNRoundingType)(1 + below(graph, 2));
    }
    double most = op == WNN_OP_l2Pool2d ? magnitude(x) * sqrt((double)wnn_shape_elements(&x->type.shape))
                                        : magnitude(x);
    // The maximum of a window without elements is infinite.
    if (op == WNN_OP_maxPool2d && !global)
        most = NO_LIMIT;
    emit(graph, op, 1, &x, &options, -most, most);
}

static void make_resample(struct random_graph *graph)
{
    struct value *x = pick_image(graph, FLOATS | U8 | I8, MOST);
    WNNResample2dOptions options = WNN_RESAMPLE2D_OPTIONS_INIT;
    uint32_t axes[2], sizes[2];
    float scales[2];
    if (x == NULL)
        return;
    size_t elements = wnn_shape_elements(&x->type.shape);
    axes[0] = below(graph, 4);
    axes[1] = (axes[0] + 1 + below(graph, 3)) % 4;
    if (chance(graph, 60)) { // the usual ones
        axes[0] = chance(graph, 50) ? 2 : 1;
        axes[1] = axes[0] + 1;
    }
    for (unsigned i = 0; i < 2; i++) {
        sizes[i] = 1 + below(graph, 9);
        scales[i] = (float)(1 + below(graph, 3));
        elements = elements / x->type.shape.dim[axes[i]] * (sizes[i] > 27 ? sizes[i] : 27);
    }
    if (elements > 60 * MAX_ELEMENTS)
        return;
    options.mode = (WNNInterpolationMode)(1 + below(graph, 2));
    options.axes = (WNNUint32List){axes, 2};
    if (chance(graph, 50))
        options.sizes = (WNNUint32List){sizes, 2};
    else
        options.scales = (WNNFloat32List){scales, 2};
    emit(graph, WNN_OP_resample2d, 1, &x, &options, x->low, x->high);
}

// ---------------------------------------------------------------------------------------------------------------
// Matrices and recurrent networks
// ---------------------------------------------------------------------------------------------------------------

static void make_gemm(struct random_graph *graph)
{
    struct value *operands[2] = {pick(graph, any_of(FLOATS, 2, 2))};
    struct value *a = operands[0];
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    if (a == NULL || !fits(a, magnitude(a) * 33 * 8))
        return;
    options.aTranspose = chance(graph, 40);
    options.bTranspose = chance(graph, 40);
    uint32_t rows = a->type.shape.dim[options.aTranspose ? 1 : 0],
             inner = a->type.shape.dim[options.aTranspose ? 0 : 1];
    uint32_t columns = random_size(graph);
    struct shape b = {2, {options.bTranspose ? columns : inner, options.bTranspose ? inner : columns}};
    operands[1] = fresh(graph, a->type.type, b);
    if (chance(graph, 50))
        options.alpha = between(graph, -2, 2);
    if (chance(graph, 60)) {
        struct shape c = broadcastable(graph, &(struct shape){2, {rows, columns}});
        options.c = operand_of(fresh(graph, a->type.type, c));
        options.beta = chance(graph, 50) ? 1 : between(graph, -2, 2);
    }
    double most = magnitude(a) * 4.2 * inner + 5;
    emit(graph, WNN_OP_gemm, 2, operands, &options, -most, most);
}

static void make_matmul(struct random_graph *graph)
{
    struct value *operands[2] = {pick(graph, any_of(FLOATS, 2, 5))};
    struct value *a = operands[0];
    if (a == NULL || !fits(a, magnitude(a) * 33 * 4))
        return;
    struct shape b = broadcastable(graph, &(struct shape){0, {0}});
    const struct shape *shape = &a->type.shape;
    if (chance(graph, 60)) {
        struct shape batches = *shape;
        batches.rank -= 2;
        b = broadcastable(graph, &batches);
    }
    b.dim[b.rank++] = shape->dim[shape->rank - 1];
    b.dim[b.rank++] = random_size(graph);
    operands[1] = fresh(graph, a->type.type, b);
    double most = magnitude(a) * 2.1 * shape->dim[shape->rank - 1];
    emit(graph, WNN_OP_matmul, 2, operands, wnn_ops[WNN_OP_matmul].defaults, -most, most);
}

static struct shape shape_of(unsigned rank, uint32_t a, uint32_t b, uint32_t c)
{
    return (struct shape){rank, {a, b, c}};
}

static void make_recurrent(struct random_graph *graph, enum op op)
{
    bool cell = op == WNN_OP_gruCell || op == WNN_OP_lstmCell,
         lstm = op == WNN_OP_lstm || op == WNN_OP_lstmCell;
    uint32_t steps = cell ? 1 : 1 + below(graph, 4), batch = 1 + below(graph, 3), size = 1 + below(graph, 5),
             hidden = 1 + below(graph, 6), blocks = lstm ? 4 : 3;
    WNNRecurrentNetworkDirection direction = (WNNRecurrentNetworkDirection)(1 + below(graph, 3));
    uint32_t directions = !cell && direction == WNNRecurrentNetworkDirection_Both ? 2 : 1;
    WNNDataType type = random_type(graph, FLOATS);
    unsigned first = cell ? 1 : 0; // cells have no leading dimension
    const struct shape shapes[] = {
        shape_of(3, steps, batch, size),
        shape_of(3, directions, blocks * hidden, size),
        shape_of(3, directions, blocks * hidden, hidden),
        shape_of(3, directions, batch, hidden),      // states
        shape_of(2, directions, blocks * hidden, 0), // biases
        shape_of(2, directions, 3 * hidden, 0),      // peepholes
    };
    struct value *values[9] = {
        NULL}; // input, weight, recurrent weight, hidden, cell, bias, recurrent bias, peephole
    static const unsigned kinds[] = {0, 1, 2, 3, 3, 4, 4, 5};
    for (unsigned i = 0; i < 8; i++) {
        struct shape shape = shapes[kinds[i]];
        if (first == 1) {
            memmove(shape.dim, shape.dim + 1, (shape.rank - 1) * sizeof shape.dim[0]);
            shape.rank--;
        }
        if (i < 3 || (cell && i < (lstm ? 5u : 4u)) || chance(graph, 50))
            values[i] = fresh_in(graph, type, shape, -1, 1);
    }
    WNNActivation chosen[3];
    WNNActivationList activations = WNN_ACTIVATION_LIST_INIT;
    if (chance(graph, 40)) {
        static const enum op ops[] = {WNN_OP_sigmoid, WNN_OP_tanh, WNN_OP_softsign, WNN_OP_hardSigmoid};
        activations = (WNNActivationList){chosen, lstm ? 3 : 2};
        for (unsigned i = 0; i < activations.count; i++) {
            enum op activation = ops[below(graph, 4)];
            chosen[i] = wnn_builder_activation(graph->builder, activation, wnn_ops[activation].defaults);
        }
    }
    WNNOperand bias = operand_of(values[5]), recurrent_bias = operand_of(values[6]),
               peephole = operand_of(values[7]);
    bool reset_after = chance(graph, 50), sequence = chance(graph, 50);
    WNNGruWeightLayout gru_layout = (WNNGruWeightLayout)(1 + below(graph, 2));
    WNNLstmWeightLayout lstm_layout = (WNNLstmWeightLayout)(1 + below(graph, 2));
    double most = steps + 2.0;
    if (op == WNN_OP_gru) {
        struct gru_attrs attrs = {{NULL, WNN_STRING_VIEW_INIT, bias, recurrent_bias, operand_of(values[3]),
                                   reset_after, sequence, direction, gru_layout, activations},
                                  steps,
                                  hidden};
        emit(graph, op, 3, values, &attrs, -most, most);
    } else if (op == WNN_OP_gruCell) {
        struct gru_cell_attrs attrs = {
            {NULL, WNN_STRING_VIEW_INIT, bias, recurrent_bias, reset_after, gru_layout, activations}, hidden};
        emit(graph, op, 4, values, &attrs, -most, most);
    } else if (op == WNN_OP_lstm) {
        struct lstm_attrs attrs = {{NULL, WNN_STRING_VIEW_INIT, bias, recurrent_bias, peephole,
                                    operand_of(values[3]), operand_of(values[4]), sequence, direction,
                                    lstm_layout, activations},
                                   steps,
                                   hidden};
        emit(graph, op, 3, values, &attrs, -most, most);
    } else {
        struct lstm_cell_attrs attrs = {
            {NULL, WNN_STRING_VIEW_INIT, bias, recurrent_bias, peephole, lstm_layout, activations}, hidden};
        emit(graph, op, 5, values, &attrs, -most, most);
    }
}

// ---------------------------------------------------------------------------------------------------------------

static void make(struct random_graph *graph, enum op op)
{
    switch (op) {
    case WNN_OP_argMin:
    case WNN_OP_argMax:
    case WNN_OP_argMinAxes:
    case WNN_OP_argMaxAxes:
        make_arg(graph, op);
        return;
    case WNN_OP_batchNormalization:
    case WNN_OP_instanceNormalization:
    case WNN_OP_layerNormalization:
        make_normalization(graph, op);
        return;
    case WNN_OP_cast:
        make_cast(graph);
        return;
    case WNN_OP_concat:
        make_concat(graph);
        return;
    case WNN_OP_conv2d:
    case WNN_OP_convTranspose2d:
        make_convolution(graph, op);
        return;
    case WNN_OP_cumulativeSum:
    case WNN_OP_softmax:
    case WNN_OP_softmax2d:
        make_along_axis(graph, op);
        return;
    case WNN_OP_quantizeLinear:
    case WNN_OP_dequantizeLinear:
        make_quantize(graph, op);
        return;
    case WNN_OP_expand:
    case WNN_OP_reshape:
    case WNN_OP_reverse:
    case WNN_OP_slice:
    case WNN_OP_split:
    case WNN_OP_tile:
    case WNN_OP_transpose:
    case WNN_OP_triangular:
    case WNN_OP_pad:
        make_movement(graph, op);
        return;
    case WNN_OP_gather:
    case WNN_OP_gatherElements:
    case WNN_OP_gatherND:
    case WNN_OP_scatterElements:
    case WNN_OP_scatterND:
        make_gather(graph, op);
        return;
    case WNN_OP_gemm:
        make_gemm(graph);
        return;
    case WNN_OP_gru:
    case WNN_OP_gruCell:
    case WNN_OP_lstm:
    case WNN_OP_lstmCell:
        make_recurrent(graph, op);
        return;
    case WNN_OP_matmul:
        make_matmul(graph);
        return;
    case WNN_OP_averagePool2d:
    case WNN_OP_l2Pool2d:
    case WNN_OP_maxPool2d:
        make_pool(graph, op);
        return;
    case WNN_OP_resample2d:
        make_resample(graph);
        return;
    case WNN_OP_where:
        make_where(graph);
        return;
    default:
        if (wnn_ops[op].infer == wnn_infer_reduce)
            make_reduction(graph, op);
        else if (wnn_ops[op].infer == wnn_infer_binary || wnn_ops[op].infer == wnn_infer_comparison)
            make_binary(graph, op);
        else
            make_unary(graph, op);
    }
}

void wnn_random_graph(uint64_t seed, WNNGraphBuilder builder, struct random_graph *graph)
{
    *graph = (struct random_graph){.random = seed, .builder = builder};
    unsigned operators = 3 + below(graph, 10), made = 0;
    for (unsigned tries = 0; made < operators && tries < 4 * operators && !graph->refused; tries++) {
        size_t before = graph->value_count;
        size_t inputs = graph->input_count;
        make(graph, (enum op)below(graph, WNN_OP_COUNT));
        made += graph->value_count - before > graph->input_count - inputs;
    }
    for (size_t i = 0; i < graph->value_count && !graph->refused; i++) {
        const struct value *value = &graph->values[i];
        const struct operand *operand = wnn_operand(value->operand);
        if (operand->producer == NULL || (value->used && !chance(graph, 10)))
            continue;
        struct random_output *output = &graph->outputs[graph->output_count++];
        snprintf(output->name, sizeof output->name, "y%zu", i);
        output->value = value;
    }
}

void wnn_random_graph_free(struct random_graph *graph)
{
    for (size_t i = 0; i < graph->input_count; i++)
        free(graph->inputs[i].data);
}
