// SPDX-License-Identifier: Apache-2.0
//
// Random graphs: convolutions and matrix products at the sizes at which kernels cut their loops, with strides
// that leave outputs without a tap, taps that are all outside of the input, and chains of element-wise
// operators around them.

#include "conformance/cross/generator.h"

#include <string.h>

enum {
    WORK = 1500000,        // multiplications of one operator
    WEIGHTS = 300000,      // elements of a filter or matrix
    CHAIN_ELEMENTS = 60000 // of what is made more of
};

static uint32_t at_most(uint32_t value, double most)
{
    return value <= most ? value : most < 1 ? 1 : (uint32_t)most;
}

// So that sums of many products stay numbers of float16.
static struct value *new_weights(struct random_graph *graph, WNNDataType type, struct shape shape,
                                 double terms)
{
    double most = terms > 64 ? 0.25 : 1;
    return wnn_random_new_within(graph, type, shape, -most, most);
}

static double sum_of(const struct value *x, double terms)
{
    return magnitude(x) * 1.01 * terms + 3;
}

// Some element-wise operators, one after the other; `axis` is that of channels.
static struct value *chain(struct random_graph *graph, struct value *x, unsigned axis)
{
    static const enum op unary[] = {WNN_OP_relu,  WNN_OP_abs,     WNN_OP_neg,       WNN_OP_tanh,
                                    WNN_OP_clamp, WNN_OP_sigmoid, WNN_OP_hardSwish, WNN_OP_identity};
    static const enum op binary[] = {WNN_OP_add, WNN_OP_add, WNN_OP_sub, WNN_OP_mul, WNN_OP_max, WNN_OP_min};
    for (unsigned count = below(graph, 4); count > 0 && x != NULL; count--) {
        double most = magnitude(x);
        const struct shape *shape = &x->type.shape;
        if (!fits(x, 4 * most + 4) || wnn_shape_elements(shape) > CHAIN_ELEMENTS)
            return x;
        if (chance(graph, 40)) {
            enum op op = unary[below(graph, sizeof unary / sizeof unary[0])];
            WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;
            options.minValue = wnnNumberFloat64(chance(graph, 50) ? 0 : -2);
            options.maxValue = wnnNumberFloat64(6);
            most = fmax(most, 6);
            x = wnn_random_emit(graph, op, 1, &x,
                                op == WNN_OP_clamp ? (const void *)&options : wnn_ops[op].defaults, -most,
                                most);
            continue;
        }
        struct shape other = *shape;
        unsigned kind = below(graph, 3);
        for (unsigned d = 0; d < other.rank && kind > 0; d++)
            other.dim[d] = kind == 1 && d == axis ? other.dim[d] : 1;
        struct value *pair[2] = {x, wnn_random_new(graph, x->type.type, other)};
        enum op op = binary[below(graph, sizeof binary / sizeof binary[0])];
        if (chance(graph, 30)) {
            pair[1] = x;
            pair[0] = wnn_random_new(graph, x->type.type, other);
        }
        most = op == WNN_OP_mul ? 2.01 * most : most + 2.01;
        x = wnn_random_emit(graph, op, 2, pair, wnn_ops[op].defaults, -most, most);
    }
    return x;
}

// ---------------------------------------------------------------------------------------------------------------
// Convolutions
// ---------------------------------------------------------------------------------------------------------------

struct layer {
    bool transposed, last;
    uint32_t batch, groups, inputs, outputs; // inputs and outputs: channels of a group
    uint32_t in[2], size[2], strides[2], dilations[2], padding[4], sizes[2], extra[2];
};

// 3 x 3 taps and whole vectors of channels, near the number of tiles at which filtering begins to pay.
static void make_filtered(struct random_graph *graph, struct layer *layer)
{
    layer->transposed = false;
    layer->last = true;
    layer->groups = 1;
    layer->inputs = 16 * (1 + below(graph, 5));
    layer->outputs = 16 * (1 + below(graph, 5));
    for (unsigned i = 0; i < 2; i++) {
        layer->in[i] = 6 + below(graph, 9);
        layer->size[i] = 3;
        layer->strides[i] = layer->dilations[i] = 1;
    }
}

// Taps so far from one another that a copy of what is between them would be too large.
static void make_far(struct random_graph *graph, struct layer *layer)
{
    layer->transposed = chance(graph, 30);
    layer->groups = 2 + below(graph, 3);
    layer->inputs = 1 + below(graph, 3);
    layer->outputs = 1 + below(graph, 7);
    for (unsigned i = 0; i < 2; i++) {
        layer->in[i] = 1 + below(graph, 4);
        layer->size[i] = 2;
        layer->strides[i] = 1 + below(graph, 3);
        layer->dilations[i] = 355 + below(graph, 20);
        // Some outputs are left. Those between the taps of a transposed convolution are cut off.
        layer->padding[2 * i] = layer->dilations[i] - below(graph, 3);
        layer->padding[2 * i + 1] = layer->transposed ? 0 : below(graph, 3);
    }
}

static void make_any(struct random_graph *graph, struct layer *layer)
{
    static const uint8_t groups[] = {1, 1, 1, 1, 2, 3, 16, 17, 64, 65};
    layer->groups = groups[below(graph, sizeof groups)];
    layer->inputs =
        chance(graph, 40) ? 1 + below(graph, 4) : wnn_random_edge(graph, chance(graph, 20) ? 4100 : 1100);
    layer->outputs = chance(graph, 40) ? 1 + below(graph, 4) : wnn_random_edge(graph, 140);
    if (layer->groups > 1 && chance(graph, 40)) { // depthwise
        layer->groups = wnn_random_edge(graph, 520);
        layer->inputs = layer->outputs = 1;
    }
    for (unsigned i = 0; i < 2; i++) {
        layer->in[i] = chance(graph, 70) ? 1 + below(graph, 6) : wnn_random_edge(graph, 36);
        layer->size[i] = chance(graph, 80) ? 1 + below(graph, 3) : 1 + below(graph, 12);
        layer->strides[i] = chance(graph, 40) ? 1 : 1 + below(graph, chance(graph, 10) ? 40 : 6);
        layer->dilations[i] = chance(graph, 60) ? 1 : 1 + below(graph, 6);
    }
}

// Whether the layer is legal and not too large, which it is made as far as possible.
static bool is_fit(struct random_graph *graph, struct layer *layer)
{
    double pixels = layer->batch, taps = (double)layer->size[0] * layer->size[1];
    for (unsigned i = 0; i < 2; i++) {
        uint32_t extent = (layer->size[i] - 1) * layer->dilations[i] + 1;
        uint32_t *padding = layer->padding + 2 * i, both = padding[0] + padding[1];
        if (layer->transposed) {
            uint32_t whole = (layer->in[i] - 1) * layer->strides[i] + extent;
            if (whole <= both)
                return false;
            layer->extra[i] = below(graph, layer->strides[i]);
            layer->sizes[i] = whole - both + layer->extra[i];
            pixels *= layer->sizes[i];
        } else {
            if (layer->in[i] + both < extent)
                padding[0] += extent - layer->in[i] - both;
            pixels *= (layer->in[i] + padding[0] + padding[1] - extent) / layer->strides[i] + 1;
        }
    }
    layer->inputs = at_most(layer->inputs, WEIGHTS / (taps * layer->groups));
    layer->outputs = at_most(layer->outputs, WEIGHTS / (taps * layer->groups * layer->inputs));
    layer->outputs = at_most(layer->outputs, 4 * WORK / (pixels * taps * layer->groups * layer->inputs));
    double outputs = pixels * layer->groups * layer->outputs;
    return outputs < WEIGHTS && outputs * taps * layer->inputs < 8.0 * WORK &&
           (double)layer->batch * layer->in[0] * layer->in[1] * layer->groups * layer->inputs < WEIGHTS;
}

static struct shape image_of(const struct layer *layer, uint32_t channels)
{
    if (layer->last)
        return (struct shape){4, {layer->batch, layer->in[0], layer->in[1], channels}};
    return (struct shape){4, {layer->batch, channels, layer->in[0], layer->in[1]}};
}

static struct shape permuted(const char *from, const uint32_t *sizes, const char *to)
{
    struct shape shape = {.rank = 4};
    for (unsigned d = 0; d < 4; d++)
        shape.dim[d] = sizes[strchr(from, to[d]) - from];
    return shape;
}

static struct value *convolve(struct random_graph *graph, struct layer *layer, struct value *x)
{
    static const char *const layouts[] = {"oihw", "hwio", "ohwi", "ihwo"};
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    unsigned layout = below(graph, 4);
    uint32_t outputs = layer->outputs * layer->groups;
    const uint32_t sizes[] = {outputs, layer->inputs, layer->size[0], layer->size[1]};
    double terms = (double)layer->inputs * layer->size[0] * layer->size[1], most = sum_of(x, terms);
    struct value *const operands[] = {
        x, new_weights(graph, x->type.type, permuted("oihw", sizes, layouts[layout]), terms)};
    options.filterLayout = (WNNConv2dFilterOperandLayout)(1 + layout);
    options.inputLayout = layer->last ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
    options.padding = (WNNUint32List){layer->padding, 4};
    options.strides = (WNNUint32List){layer->strides, 2};
    options.dilations = (WNNUint32List){layer->dilations, 2};
    options.groups = layer->groups;
    if (chance(graph, 60))
        options.bias = operand_of(wnn_random_new(graph, x->type.type, vector_of(outputs)));
    options.activation = wnn_random_activation(graph, 30);
    return wnn_random_emit(graph, WNN_OP_conv2d, 2, operands, &options, -most, most);
}

static struct value *convolve_transposed(struct random_graph *graph, struct layer *layer, struct value *x)
{
    static const char *const layouts[] = {"iohw", "hwoi", "ohwi"};
    WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    unsigned layout = below(graph, 3);
    const uint32_t sizes[] = {layer->inputs * layer->groups, layer->outputs, layer->size[0], layer->size[1]};
    double terms = (double)layer->inputs * layer->size[0] * layer->size[1], most = sum_of(x, terms);
    struct value *const operands[] = {
        x, new_weights(graph, x->type.type, permuted("iohw", sizes, layouts[layout]), terms)};
    options.filterLayout = (WNNConvTranspose2dFilterOperandLayout)(1 + layout);
    options.inputLayout = layer->last ? WNNInputOperandLayout_NHWC : WNNInputOperandLayout_NCHW;
    options.padding = (WNNUint32List){layer->padding, 4};
    options.strides = (WNNUint32List){layer->strides, 2};
    options.dilations = (WNNUint32List){layer->dilations, 2};
    options.groups = layer->groups;
    if (chance(graph, 50))
        options.outputSizes = (WNNUint32List){layer->sizes, 2};
    else
        options.outputPadding = (WNNUint32List){layer->extra, 2};
    if (chance(graph, 60))
        options.bias =
            operand_of(wnn_random_new(graph, x->type.type, vector_of(layer->outputs * layer->groups)));
    options.activation = wnn_random_activation(graph, 30);
    return wnn_random_emit(graph, WNN_OP_convTranspose2d, 2, operands, &options, -most, most);
}

void wnn_make_edge_convolution(struct random_graph *graph)
{
    struct layer layer = {.transposed = chance(graph, 40), .last = chance(graph, 60)};
    layer.batch = 1 + below(graph, 2);
    for (unsigned i = 0; i < 4; i++)
        layer.padding[i] = chance(graph, 60) ? 0 : below(graph, 4);
    unsigned kind = below(graph, 10);
    if (kind == 0)
        make_filtered(graph, &layer);
    else if (kind == 1)
        make_far(graph, &layer);
    else
        make_any(graph, &layer);
    if (!is_fit(graph, &layer))
        return;
    struct value *x =
        wnn_random_new(graph, wnn_random_type(graph, FLOATS), image_of(&layer, layer.groups * layer.inputs));
    unsigned axis = layer.last ? 3 : 1;
    if (chance(graph, 30))
        x = chain(graph, x, axis);
    double terms = (double)layer.inputs * layer.size[0] * layer.size[1];
    if (x == NULL || !fits(x, sum_of(x, terms > 64 ? terms / 4 : terms)))
        return;
    x = layer.transposed ? convolve_transposed(graph, &layer, x) : convolve(graph, &layer, x);
    chain(graph, x, axis);
}

// ---------------------------------------------------------------------------------------------------------------
// Products of matrices
// ---------------------------------------------------------------------------------------------------------------

static struct value *multiply(struct random_graph *graph, struct value *a, uint32_t columns)
{
    const struct shape *shape = &a->type.shape;
    struct shape b = {.rank = chance(graph, 50) ? 2 : shape->rank};
    uint32_t inner = shape->dim[shape->rank - 1];
    for (unsigned d = 0; d < b.rank; d++)
        b.dim[d] = chance(graph, 60) ? shape->dim[d] : 1;
    b.dim[b.rank - 2] = inner;
    b.dim[b.rank - 1] = columns;
    struct value *const operands[] = {a, new_weights(graph, a->type.type, b, inner)};
    double most = sum_of(a, inner);
    return wnn_random_emit(graph, WNN_OP_matmul, 2, operands, wnn_ops[WNN_OP_matmul].defaults, -most, most);
}

static struct value *multiply_and_add(struct random_graph *graph, struct value *a, uint32_t columns,
                                      bool turned)
{
    const uint32_t *dim = a->type.shape.dim;
    uint32_t rows = dim[turned], inner = dim[!turned];
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    options.aTranspose = turned;
    options.bTranspose = chance(graph, 50);
    struct shape b = {2, {options.bTranspose ? columns : inner, options.bTranspose ? inner : columns}};
    struct value *const operands[] = {a, new_weights(graph, a->type.type, b, inner)};
    if (chance(graph, 60)) {
        struct shape c = wnn_random_broadcastable(graph, &(struct shape){2, {rows, columns}});
        options.c = operand_of(wnn_random_new(graph, a->type.type, c));
    }
    if (chance(graph, 30))
        options.alpha = between(graph, -1, 1);
    double most = sum_of(a, inner);
    return wnn_random_emit(graph, WNN_OP_gemm, 2, operands, &options, -most, most);
}

void wnn_make_edge_product(struct random_graph *graph)
{
    if (chance(graph, 20)) {
        wnn_make_attention(graph);
        return;
    }
    bool gemm = chance(graph, 50), turned = gemm && chance(graph, 40);
    uint32_t batch = gemm ? 1 : 1 + below(graph, 3);
    uint32_t inner = wnn_random_edge(graph, chance(graph, 20) ? 4100 : 1100);
    uint32_t rows = chance(graph, 30) ? 1 : wnn_random_edge(graph, chance(graph, 20) ? 520 : 66);
    uint32_t columns = wnn_random_edge(graph, 1100);
    columns = at_most(columns, WEIGHTS / ((double)inner * batch));
    rows = at_most(rows, 4.0 * WORK / ((double)inner * columns * batch));
    struct shape shape = {2, {turned ? inner : rows, turned ? rows : inner}};
    if (!gemm && chance(graph, 60))
        shape = (struct shape){3, {batch, rows, inner}};
    struct value *a = wnn_random_new(graph, wnn_random_type(graph, FLOATS), shape);
    if (chance(graph, 30))
        a = chain(graph, a, shape.rank - 1);
    if (a == NULL || !fits(a, sum_of(a, inner > 64 ? inner / 4.0 : inner)))
        return;
    a = gemm ? multiply_and_add(graph, a, columns, turned) : multiply(graph, a, columns);
    chain(graph, a, shape.rank - 1);
}
