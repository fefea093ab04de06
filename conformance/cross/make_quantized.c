// SPDX-License-Identifier: Apache-2.0
//
// Random graphs: operators between dequantizeLinear and quantizeLinear, as quantized networks have them.
// Scales are powers of two and biases multiples of them, so that sums are exact and every implementation
// rounds the same number.

#include "conformance/cross/generator.h"

#include "lib/half.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STEPS   1024
#define MAX_WEIGHTS 60000 // of a tap

// A constant of powers of two.
static struct value *random_scales(struct random_graph *graph, WNNDataType type, const struct shape *shape)
{
    float steps[MAX_STEPS];
    uint16_t halves[MAX_STEPS];
    size_t count = wnn_shape_elements(shape);
    if (count > MAX_STEPS)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        steps[i] = ldexpf(1, -1 - (int)below(graph, 5));
        halves[i] = wnn_half_from_float(steps[i]);
    }
    bool half = type == WNNDataType_Float16;
    return wnn_random_add_constant(graph, &(struct descriptor){type, *shape}, half ? (void *)halves : steps);
}

// One zero point for all.
static struct value *random_zeros(struct random_graph *graph, WNNDataType type, const struct shape *shape)
{
    int32_t zeros[MAX_STEPS];
    size_t count = wnn_shape_elements(shape), bits = wnn_dtype_bits(type);
    uint32_t zero = chance(graph, 50) ? 0 : below(graph, 16);
    if (count > MAX_STEPS)
        return NULL;
    if (bits == 8 && chance(graph, 30))
        zero = 128;
    memset(zeros, bits == 4 ? (int)((zero & 0xF) * 0x11) : (int)zero, sizeof zeros);
    for (size_t i = 0; i < count && bits == 32; i++)
        zeros[i] = (int32_t)zero;
    return wnn_random_add_constant(graph, &(struct descriptor){type, *shape}, zeros);
}

static struct shape ones(unsigned rank)
{
    struct shape shape = {.rank = rank};
    for (unsigned d = 0; d < rank; d++)
        shape.dim[d] = 1;
    return shape;
}

// The scale has the shape of the zero point.
static struct value *dequantize_with(struct random_graph *graph, struct value *x, WNNDataType type,
                                     struct value *zero)
{
    if (x == NULL || zero == NULL)
        return NULL;
    struct value *const operands[] = {x, random_scales(graph, type, &zero->type.shape), zero};
    double most = wnn_dtype_bits(x->type.type) == 32 ? 1000 : 200;
    struct value *result = wnn_random_emit(graph, WNN_OP_dequantizeLinear, 3, operands,
                                           wnn_ops[WNN_OP_dequantizeLinear].defaults, -most, most);
    if (result != NULL)
        result->exact = true;
    return result;
}

// The scale and zero point have the shape `blocks`.
static struct value *dequantize(struct random_graph *graph, struct value *x, WNNDataType type,
                                const struct shape *blocks)
{
    return x ? dequantize_with(graph, x, type, random_zeros(graph, x->type.type, blocks)) : NULL;
}

// Weights by the shape; a scale for each item of dimension `axis`, or one.
static struct value *weights(struct random_graph *graph, WNNDataType type, struct shape shape, unsigned axis)
{
    struct shape blocks = ones(shape.rank);
    if (chance(graph, 60))
        blocks.dim[axis] = shape.dim[axis];
    struct value *x =
        wnn_random_new_constant(graph, chance(graph, 70) ? WNNDataType_Int8 : WNNDataType_Uint8, shape);
    return dequantize(graph, x, type, &blocks);
}

static struct value *bias(struct random_graph *graph, WNNDataType type, uint32_t count)
{
    struct shape shape = vector_of(count), blocks = ones(1);
    return chance(graph, 50)
               ? dequantize(graph, wnn_random_new_constant(graph, WNNDataType_Int32, shape), type, &blocks)
               : NULL;
}

static struct value *convolve(struct random_graph *graph, struct value *x)
{
    static const uint8_t axis[] = {0, 3, 0, 3},
                         orders[4][4] = {{0, 1, 2, 3}, {2, 3, 1, 0}, {0, 2, 3, 1}, {1, 2, 3, 0}};
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    uint32_t strides[2], dilations[2], padding[4], size[2];
    bool last = chance(graph, 60);
    const uint32_t *dim = x->type.shape.dim;
    uint32_t channels = dim[last ? 3 : 1], groups = 1, outputs;
    if (chance(graph, 50))
        groups = chance(graph, 70) && channels > 0 ? channels : channels % 2 == 0 ? 2 : 1;
    outputs = groups * (groups == channels && chance(graph, 70) ? 1 : wnn_random_size(graph));
    if (outputs > groups && (size_t)outputs * (channels / groups) > MAX_WEIGHTS)
        outputs = groups;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t in = dim[(last ? 1 : 2) + i];
        strides[i] = 1 + below(graph, graph->edges ? 5 : 2);
        dilations[i] = chance(graph, 80) ? 1 : 2;
        padding[2 * i] = below(graph, 2);
        padding[2 * i + 1] = below(graph, 2);
        size[i] = 1 + below(graph, 3);
        if (graph->edges && chance(graph, 10)) { // a depthwise kernel has 256 taps
            size[i] = 15 + below(graph, 3);
            padding[2 * i] = below(graph, 17);
        }
        while (size[i] > 1 && (size[i] - 1) * dilations[i] + 1 > in + padding[2 * i] + padding[2 * i + 1])
            size[i]--;
    }
    options.strides = (WNNUint32List){strides, 2};
    options.dilations = (WNNUint32List){dilations, 2};
    options.padding = (WNNUint32List){padding, 4};
    options.groups = groups;
    options.inputLayout = last ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
    unsigned layout = below(graph, 4);
    options.filterLayout = (WNNConv2dFilterOperandLayout)(1 + layout);
    const uint32_t oihw[4] = {outputs, channels / groups, size[0], size[1]};
    struct shape filter = {.rank = 4};
    for (unsigned i = 0; i < 4; i++)
        filter.dim[i] = oihw[orders[layout][i]];
    struct value *const operands[] = {x, weights(graph, x->type.type, filter, axis[layout])};
    options.bias = operand_of(bias(graph, x->type.type, outputs));
    return wnn_random_emit(graph, WNN_OP_conv2d, 2, operands, &options, -1e9, 1e9);
}

static struct value *multiply(struct random_graph *graph, struct value *x)
{
    const struct shape *shape = &x->type.shape;
    uint32_t inner = shape->dim[shape->rank - 1], columns = wnn_random_size(graph);
    if (graph->edges)
        columns = wnn_random_edge(graph, 1 + MAX_WEIGHTS / inner);
    if (columns > MAX_STEPS)
        columns = MAX_STEPS;
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    bool gemm = shape->rank == 2 && chance(graph, 60);
    options.bTranspose = gemm && chance(graph, 50);
    struct shape b = {2, {options.bTranspose ? columns : inner, options.bTranspose ? inner : columns}};
    struct value *const operands[] = {x, weights(graph, x->type.type, b, options.bTranspose ? 0 : 1)};
    if (!gemm)
        return wnn_random_emit(graph, WNN_OP_matmul, 2, operands, wnn_ops[WNN_OP_matmul].defaults, -1e9, 1e9);
    options.c = operand_of(bias(graph, x->type.type, columns));
    return wnn_random_emit(graph, WNN_OP_gemm, 2, operands, &options, -1e9, 1e9);
}

static struct value *combine(struct random_graph *graph, struct value *x)
{
    static const enum op ops[] = {WNN_OP_add, WNN_OP_add, WNN_OP_sub, WNN_OP_mul, WNN_OP_max, WNN_OP_min};
    enum op op = ops[below(graph, 6)];
    struct shape shape = chance(graph, 60) ? x->type.shape : wnn_random_broadcastable(graph, &x->type.shape);
    struct shape blocks = ones(shape.rank);
    struct value *y = wnn_random_new(graph, chance(graph, 50) ? WNNDataType_Int8 : WNNDataType_Uint8, shape);
    struct value *const operands[] = {x, dequantize(graph, y, x->type.type, &blocks)};
    return wnn_random_emit(graph, op, 2, operands, wnn_ops[op].defaults, -4e4, 4e4);
}

static struct value *pool(struct random_graph *graph, struct value *x, bool *rounds)
{
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    uint32_t window[2], padding[4], strides[2] = {1 + below(graph, 2), 1 + below(graph, 2)};
    enum op op = chance(graph, 60) ? WNN_OP_averagePool2d : WNN_OP_maxPool2d;
    bool last = chance(graph, 60);
    options.layout = last ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t in = x->type.shape.dim[(last ? 1 : 2) + i];
        window[i] = 1 + below(graph, in < 3 ? in : 3);
        padding[2 * i] = below(graph, window[i]);
        padding[2 * i + 1] = below(graph, window[i]);
    }
    if (chance(graph, 70)) {
        options.windowDimensions = (WNNUint32List){window, 2};
        options.padding = (WNNUint32List){padding, 4};
        options.strides = (WNNUint32List){strides, 2};
    }
    *rounds = op == WNN_OP_averagePool2d;
    return wnn_random_emit(graph, op, 1, &x, &options, x->low, x->high);
}

static struct value *move(struct random_graph *graph, struct value *x)
{
    uint32_t permutation[WNN_MAX_RANK];
    unsigned rank = x->type.shape.rank;
    if (chance(graph, 50)) {
        uint32_t first = x->type.shape.dim[0];
        uint32_t flat[2] = {first, first ? (uint32_t)(wnn_shape_elements(&x->type.shape) / first) : 0};
        struct expand_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, {flat, 2}};
        return wnn_random_emit(graph, WNN_OP_reshape, 1, &x, &attrs, x->low, x->high);
    }
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    for (unsigned i = 0; i < rank; i++)
        permutation[i] = (i + 1) % rank;
    options.permutation = (WNNUint32List){permutation, rank};
    return wnn_random_emit(graph, WNN_OP_transpose, 1, &x, &options, x->low, x->high);
}

static struct value *activate(struct random_graph *graph, struct value *x, bool *rounds)
{
    WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;
    options.minValue = wnnNumberFloat64(chance(graph, 50) ? 0 : -2);
    options.maxValue = wnnNumberFloat64(6);
    if (chance(graph, 40))
        return wnn_random_emit(graph, WNN_OP_relu, 1, &x, wnn_ops[WNN_OP_relu].defaults, 0, x->high);
    if (chance(graph, 70))
        return wnn_random_emit(graph, WNN_OP_clamp, 1, &x, &options, -2, 6);
    *rounds = true;
    enum op op = chance(graph, 50) ? WNN_OP_sigmoid : WNN_OP_hardSwish;
    return wnn_random_emit(graph, op, 1, &x, wnn_ops[op].defaults, -1, x->high);
}

void wnn_make_quantized(struct random_graph *graph)
{
    unsigned rank = chance(graph, 65) ? 4 : 2 + below(graph, 2);
    struct wish wish = any_of(U8 | I8, rank, rank);
    wish.exact = true;
    WNNDataType type = chance(graph, 85) ? WNNDataType_Float32 : WNNDataType_Float16;
    struct shape blocks = ones(rank);
    struct value *bytes = wnn_random_pick(graph, wish), *x;
    if (bytes != NULL && chance(graph, 30)) // a zero point that is not constant
        x = dequantize_with(graph, bytes, type, wnn_random_new(graph, bytes->type.type, blocks));
    else
        x = dequantize(graph, bytes, type, &blocks);
    bool rounds = type == WNNDataType_Float16; // sums may be more than it holds
    unsigned kind = below(graph, 10);
    if (x == NULL || wnn_shape_elements(&x->type.shape) > graph->most_elements)
        return;
    if (kind < 5)
        x = rank == 4 ? convolve(graph, x) : multiply(graph, x);
    else if (kind < 7)
        x = combine(graph, x);
    else if (kind < 8 && rank == 4)
        x = pool(graph, x, &rounds);
    if (x != NULL && chance(graph, 40))
        x = activate(graph, x, &rounds);
    if (x != NULL && chance(graph, 25))
        x = move(graph, x);
    if (x == NULL || chance(graph, 15))
        return;
    blocks = ones(x->type.shape.rank);
    WNNDataType to = chance(graph, 50) ? WNNDataType_Int8 : WNNDataType_Uint8;
    struct value *const operands[] = {x, random_scales(graph, type, &blocks),
                                      random_zeros(graph, to, &blocks)};
    struct value *result = wnn_random_emit(graph, WNN_OP_quantizeLinear, 3, operands,
                                           wnn_ops[WNN_OP_quantizeLinear].defaults, 0, 255);
    if (result != NULL) {
        result->rounded = rounds;
        result->exact = !rounds;
    }
}

// Products with weights of few bits, in blocks of one scale each.
void wnn_make_packed_weights(struct random_graph *graph)
{
    static const WNNDataType types[] = {WNNDataType_Int4, WNNDataType_Uint4, WNNDataType_Int8,
                                        WNNDataType_Uint8};
    struct wish wish = any_of(FLOATS, 2, 3);
    struct value *x = wnn_random_pick(graph, wish);
    if (x == NULL)
        return;
    const struct shape *shape = &x->type.shape;
    uint32_t inner = shape->dim[shape->rank - 1], columns = chance(graph, 50) ? wnn_random_size(graph) : 64;
    if (graph->edges)
        columns = wnn_random_edge(graph, 1 + MAX_WEIGHTS / inner);
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    bool gemm = shape->rank == 2 && chance(graph, 50);
    options.bTranspose = gemm && chance(graph, 50);
    bool transpose = !gemm && chance(graph, 40), turned = transpose || options.bTranspose;
    struct shape b = {2, {turned ? columns : inner, turned ? inner : columns}}, blocks = b;
    for (unsigned i = 0; i < 2; i++)
        if (chance(graph, 60))
            blocks.dim[i] = b.dim[i] % 2 == 0 && chance(graph, 60) ? b.dim[i] / 2 : 1;
    double most = magnitude(x) * 128 * inner;
    if (!fits(x, most))
        return;
    // Several matrices meet the same rows, mostly in the same form.
    unsigned products = chance(graph, 60) ? 1 : 2 + below(graph, 3);
    WNNDataType type = types[below(graph, 4)];
    for (unsigned i = 0; i < products; i++) {
        struct value *w = dequantize(graph, wnn_random_new_constant(graph, type, b), x->type.type, &blocks);
        if (w != NULL && transpose)
            w = wnn_random_emit(
                graph, WNN_OP_transpose, 1, &w,
                &(WNNTransposeOptions){.label = WNN_STRING_VIEW_INIT, .permutation = {(uint32_t[]){1, 0}, 2}},
                w->low, w->high);
        struct value *const operands[] = {x, w};
        if (gemm)
            wnn_random_emit(graph, WNN_OP_gemm, 2, operands, &options, -most, most);
        else
            wnn_random_emit(graph, WNN_OP_matmul, 2, operands, wnn_ops[WNN_OP_matmul].defaults, -most, most);
        if (chance(graph, 20))
            type = types[below(graph, 4)];
    }
}
