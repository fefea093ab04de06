// SPDX-License-Identifier: Apache-2.0
//
// Random graphs: what the compiler would make fewer operators of, spelled out as programs spell it.

#include "conformance/cross/generator.h"

#include "lib/half.h"

#include <string.h>

static struct value *one(struct random_graph *graph, enum op op, struct value *x, const void *attrs)
{
    return wnn_random_emit(graph, op, 1, &x, attrs ? attrs : wnn_ops[op].defaults, -2, 2);
}

static struct value *two(struct random_graph *graph, enum op op, struct value *a, struct value *b)
{
    struct value *const both[2] = {a, b};
    return wnn_random_emit(graph, op, 2, both, wnn_ops[op].defaults, -2, 2);
}

// The same with the operands the other way round, sometimes.
static struct value *either(struct random_graph *graph, enum op op, struct value *a, struct value *b)
{
    return chance(graph, 50) ? two(graph, op, a, b) : two(graph, op, b, a);
}

static struct value *number(struct random_graph *graph, WNNDataType type, double value)
{
    struct descriptor scalar = {type, {.rank = 0}};
    float single = (float)value;
    uint16_t half = wnn_half_from_float(single);
    return wnn_random_add_constant(graph, &scalar,
                                   type == WNNDataType_Float16 ? (const void *)&half : &single);
}

static struct value *some_floats(struct random_graph *graph, unsigned min_rank)
{
    return wnn_random_pick(graph, any_of(FLOATS, min_rank, 4));
}

// x / 2 (1 + erf(x / sqrt 2)), in one of its orders; or by tanh.
static struct value *gelu(struct random_graph *graph, struct value *x)
{
    WNNDataType type = x->type.type;
    struct value *part, *whole = number(graph, type, 1), *half = number(graph, type, 0.5);
    if (chance(graph, 30)) {
        struct value *cube = chance(graph, 50) ? two(graph, WNN_OP_pow, x, number(graph, type, 3))
                                               : two(graph, WNN_OP_mul, two(graph, WNN_OP_mul, x, x), x);
        cube = either(graph, WNN_OP_mul, cube, number(graph, type, 0.044715));
        part = one(graph, WNN_OP_tanh,
                   either(graph, WNN_OP_mul, two(graph, WNN_OP_add, x, cube),
                          number(graph, type, 0.7978845608028654)),
                   NULL);
    } else {
        part = chance(graph, 50) ? two(graph, WNN_OP_div, x, number(graph, type, 1.4142135623730951))
                                 : either(graph, WNN_OP_mul, x, number(graph, type, 0.7071067811865476));
        part = one(graph, WNN_OP_erf, part, NULL);
    }
    part = either(graph, WNN_OP_add, part, whole);
    switch (below(graph, 3)) {
    case 0:
        return either(graph, WNN_OP_mul, either(graph, WNN_OP_mul, x, half), part);
    case 1:
        return either(graph, WNN_OP_mul, x, either(graph, WNN_OP_mul, part, half));
    default:
        return either(graph, WNN_OP_mul, either(graph, WNN_OP_mul, x, part), half);
    }
}

static struct value *clamp(struct random_graph *graph, struct value *x, double least, double greatest)
{
    WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;
    options.minValue = wnnNumberFloat64(least);
    options.maxValue = wnnNumberFloat64(greatest);
    return one(graph, WNN_OP_clamp, x, &options);
}

static struct value *hard_swish(struct random_graph *graph, struct value *x)
{
    WNNDataType type = x->type.type;
    if (chance(graph, 30)) {
        WNNHardSigmoidOptions options = WNN_HARD_SIGMOID_OPTIONS_INIT;
        options.alpha = 1.0 / 6;
        options.beta = 0.5;
        return either(graph, WNN_OP_mul, x, one(graph, WNN_OP_hardSigmoid, x, &options));
    }
    struct value *part = either(graph, WNN_OP_add, x, number(graph, type, 3));
    if (chance(graph, 50))
        part = clamp(graph, part, 0, 6);
    else
        part = either(graph, WNN_OP_min, either(graph, WNN_OP_max, part, number(graph, type, 0)),
                      number(graph, type, 6));
    if (chance(graph, 50))
        return two(graph, WNN_OP_div, either(graph, WNN_OP_mul, x, part), number(graph, type, 6));
    return either(graph, WNN_OP_mul, x, either(graph, WNN_OP_mul, part, number(graph, type, 1.0 / 6)));
}

static struct value *reduce(struct random_graph *graph, enum op op, struct value *x, uint32_t axis)
{
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = (WNNUint32List){&axis, 1};
    options.keepDimensions = true;
    return one(graph, op, x, &options);
}

static struct value *softmax(struct random_graph *graph, struct value *x)
{
    uint32_t axis = below(graph, x->type.shape.rank);
    struct value *top = reduce(graph, WNN_OP_reduceMax, x, axis);
    struct value *power = one(graph, WNN_OP_exp, two(graph, WNN_OP_sub, x, top), NULL);
    return power ? two(graph, WNN_OP_div, power, reduce(graph, WNN_OP_reduceSum, power, axis)) : NULL;
}

// layerNormalization, or without taking the mean away.
static struct value *normalize(struct random_graph *graph, struct value *x)
{
    WNNDataType type = x->type.type;
    uint32_t axis = x->type.shape.rank - 1, size = x->type.shape.dim[axis];
    struct value *centred = x, *square;
    if (chance(graph, 70))
        centred = two(graph, WNN_OP_sub, x, reduce(graph, WNN_OP_reduceMean, x, axis));
    square = chance(graph, 50) ? two(graph, WNN_OP_pow, centred, number(graph, type, 2))
                               : two(graph, WNN_OP_mul, centred, centred);
    if (!square)
        return NULL;
    struct value *spread =
        either(graph, WNN_OP_add, reduce(graph, WNN_OP_reduceMean, square, axis), number(graph, type, 1e-5));
    spread = chance(graph, 50) ? one(graph, WNN_OP_sqrt, spread, NULL)
                               : two(graph, WNN_OP_pow, spread, number(graph, type, 0.5));
    struct value *result = two(graph, WNN_OP_div, centred, spread);
    if (chance(graph, 60))
        result = either(graph, WNN_OP_mul, result, wnn_random_new_constant(graph, type, vector_of(size)));
    if (chance(graph, 60))
        result = either(graph, WNN_OP_add, result, wnn_random_new_constant(graph, type, vector_of(size)));
    return result;
}

static struct value *activate(struct random_graph *graph, struct value *x)
{
    static const enum op ops[] = {WNN_OP_relu,        WNN_OP_sigmoid,   WNN_OP_tanh, WNN_OP_leakyRelu,
                                  WNN_OP_hardSigmoid, WNN_OP_hardSwish, WNN_OP_gelu, WNN_OP_elu,
                                  WNN_OP_linear,      WNN_OP_softsign,  WNN_OP_abs,  WNN_OP_neg};
    if (!x || chance(graph, 25))
        return x;
    if (chance(graph, 20))
        return clamp(graph, x, 0, 6);
    return one(graph, ops[below(graph, sizeof ops / sizeof ops[0])], x, NULL);
}

// A vector that broadcasts along all dimensions but one.
static struct shape along(unsigned rank, unsigned axis, uint32_t size)
{
    struct shape shape = {.rank = rank - axis};
    for (unsigned i = 0; i < shape.rank; i++)
        shape.dim[i] = i ? 1 : size;
    return shape;
}

// Factors and offsets of channels: batchNormalization, or one by one.
static struct value *scale_channels(struct random_graph *graph, struct value *x, unsigned axis)
{
    if (!x)
        return NULL;
    uint32_t size = x->type.shape.dim[axis];
    WNNDataType type = x->type.type;
    struct shape row = along(x->type.shape.rank, axis, size);
    if (chance(graph, 60)) {
        WNNBatchNormalizationOptions options = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
        struct value *const operands[3] = {x, wnn_random_new_constant(graph, type, vector_of(size)),
                                           wnn_random_new_constant(graph, type, vector_of(size))};
        options.axis = axis;
        if (chance(graph, 60))
            options.scale = operand_of(wnn_random_new_constant(graph, type, vector_of(size)));
        if (chance(graph, 60))
            options.bias = operand_of(wnn_random_new_constant(graph, type, vector_of(size)));
        return wnn_random_emit(graph, WNN_OP_batchNormalization, 3, operands, &options, -2, 2);
    }
    if (chance(graph, 70))
        x = either(graph, WNN_OP_mul, x, wnn_random_new_constant(graph, type, row));
    if (chance(graph, 70))
        x = two(graph, chance(graph, 70) ? WNN_OP_add : WNN_OP_sub, x,
                wnn_random_new_constant(graph, type, row));
    return x;
}

static struct value *pad(struct random_graph *graph, struct value *x, bool last)
{
    uint32_t before[4] = {0}, after[4] = {0};
    for (unsigned i = 0; i < 2; i++) {
        before[i + (last ? 1 : 2)] = below(graph, 3);
        after[i + (last ? 1 : 2)] = below(graph, 3);
    }
    struct pad_attrs attrs = {WNN_PAD_OPTIONS_INIT, {before, 4}, {after, 4}};
    return wnn_random_emit(graph, WNN_OP_pad, 1, &x, &attrs, -2, 2);
}

// conv2d or convTranspose2d between a pad, factors, offsets, a residual and an activation.
static struct value *convolve(struct random_graph *graph)
{
    bool last = chance(graph, 50), transposed = chance(graph, 15);
    WNNDataType type = wnn_random_type(graph, FLOATS);
    uint32_t channels = 1 + below(graph, 20), outputs = 1 + below(graph, 20), size = 1 + below(graph, 3);
    uint32_t groups = !transposed && chance(graph, 25) ? channels : 1, height = 3 + below(graph, 6);
    if (groups > 1)
        outputs = channels;
    struct shape image = {4, {1, channels, height, height}},
                 filter = {4, {outputs, channels / groups, size, size}};
    if (last)
        image = (struct shape){4, {1, height, height, channels}};
    if (transposed)
        filter = (struct shape){4, {channels, outputs, size, size}};
    struct value *x = wnn_random_new(graph, type, image);
    if (x && !transposed && chance(graph, 40))
        x = pad(graph, x, last);
    struct value *const operands[2] = {x, wnn_random_new_constant(graph, type, filter)};
    WNNOperand bias =
        chance(graph, 40) ? operand_of(wnn_random_new_constant(graph, type, vector_of(outputs))) : NULL;
    uint32_t padding[4] = {0}, strides[2] = {1 + chance(graph, 30), 1 + chance(graph, 30)};
    for (unsigned i = 0; i < 4; i++)
        padding[i] = chance(graph, 30) ? below(graph, size) : 0;
    if (transposed) {
        WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
        options.bias = bias;
        options.strides = (WNNUint32List){strides, 2};
        options.inputLayout = last ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
        x = wnn_random_emit(graph, WNN_OP_convTranspose2d, 2, operands, &options, -2, 2);
    } else {
        WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
        options.bias = bias;
        options.groups = groups;
        options.strides = (WNNUint32List){strides, 2};
        options.padding = (WNNUint32List){padding, 4};
        options.inputLayout = last ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
        x = wnn_random_emit(graph, WNN_OP_conv2d, 2, operands, &options, -2, 2);
    }
    if (chance(graph, 60))
        x = scale_channels(graph, x, last ? 3 : 1);
    if (x && chance(graph, 40))
        x = either(graph, WNN_OP_add, x, wnn_random_new(graph, type, x->type.shape));
    return activate(graph, x);
}

static struct value *multiply(struct random_graph *graph)
{
    struct value *a = some_floats(graph, 2);
    if (!a)
        return NULL;
    const struct shape *shape = &a->type.shape;
    WNNDataType type = a->type.type;
    uint32_t columns = 1 + below(graph, 24);
    struct shape right = {2, {shape->dim[shape->rank - 1], columns}};
    struct value *b = wnn_random_new(graph, type, right), *x;
    if (shape->rank == 2 && chance(graph, 40))
        x = two(graph, WNN_OP_gemm, a, b);
    else
        x = two(graph, WNN_OP_matmul, a, b);
    if (!x)
        return NULL;
    if (chance(graph, 40))
        x = scale_channels(graph, x, x->type.shape.rank - 1);
    else if (chance(graph, 70))
        x = either(graph, WNN_OP_add, x,
                   wnn_random_new(graph, type,
                                  chance(graph, 60) ? vector_of(columns)
                                                    : wnn_random_broadcastable(graph, &x->type.shape)));
    return chance(graph, 20) && x ? gelu(graph, x) : activate(graph, x);
}

// Operators of single elements, of one another and of new operands.
static struct value *chain(struct random_graph *graph)
{
    static const enum op binary[] = {WNN_OP_add, WNN_OP_sub, WNN_OP_mul, WNN_OP_mul,
                                     WNN_OP_div, WNN_OP_max, WNN_OP_min, WNN_OP_prelu};
    struct value *x = some_floats(graph, 0), *before = x;
    for (unsigned i = 2 + below(graph, 5); x && i > 0; i--) {
        struct value *last = x;
        if (chance(graph, 35)) {
            x = activate(graph, x);
        } else {
            struct value *other =
                chance(graph, 40) && wnn_shape_equal(&before->type.shape, &x->type.shape)
                    ? before
                    : wnn_random_new(graph, x->type.type, wnn_random_broadcastable(graph, &x->type.shape));
            enum op op = binary[below(graph, sizeof binary / sizeof binary[0])];
            x = op == WNN_OP_prelu ? two(graph, op, x, other) : either(graph, op, x, other);
        }
        before = last;
    }
    return x;
}

static struct value *move(struct random_graph *graph)
{
    struct value *x = some_floats(graph, 2);
    if (!x)
        return NULL;
    uint32_t order[WNN_MAX_RANK];
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    unsigned rank = x->type.shape.rank;
    for (unsigned i = 0; i < rank; i++)
        order[i] = (i + 1) % rank;
    options.permutation = (WNNUint32List){order, rank};
    x = one(graph, WNN_OP_transpose, x, &options);
    x = activate(graph, x);
    return x && chance(graph, 50) ? one(graph, WNN_OP_neg, one(graph, WNN_OP_neg, x, NULL), NULL) : x;
}

void wnn_make_fusable(struct random_graph *graph)
{
    struct value *x;
    switch (below(graph, 12)) {
    case 0:
    case 1:
    case 2:
        convolve(graph);
        return;
    case 3:
    case 4:
        multiply(graph);
        return;
    case 5:
        wnn_make_attention(graph);
        return;
    case 6:
        chain(graph);
        return;
    case 7:
        move(graph);
        return;
    default:
        x = some_floats(graph, 1);
        if (!x)
            return;
        switch (below(graph, 5)) {
        case 0:
            gelu(graph, x);
            return;
        case 1:
            hard_swish(graph, x);
            return;
        case 2:
            softmax(graph, x);
            return;
        case 3:
            normalize(graph, x);
            return;
        default:
            scale_channels(graph, x, below(graph, x->type.shape.rank));
        }
    }
}
