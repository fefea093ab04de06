// SPDX-License-Identifier: Apache-2.0
//
// The architectures as their authors describe them, batch 1, channels last: MobileNet (Howard et al. 2017),
// MobileNetV2 (Sandler et al. 2018), ResNet-50 with the stride on the 3x3 convolution (He et al. 2015), one
// encoder layer of BERT-base (Devlin et al. 2018) on 128 tokens, and recurrent layers.

#include "tools/bench_models.h"

#include "tools/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A network while it is recorded. The builder remembers the first error.
struct net {
    struct model *model;
    WNNGraphBuilder builder;
    uint64_t seed;
    // Of a quantized network: every result is quantized and dequantized, weights are constants of int8, one
    // scale an output channel, biases of int32. The scale is that of the last result.
    bool quantized;
    float scale;
};

enum activation_kind {
    PLAIN,
    RELU,
    RELU6
};

float random_number(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (float)(*state >> 40) / (float)(1 << 23) - 1;
}

static WNNOperandDescriptor describe(const struct net *net, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = net->model->type;
    descriptor.shape = (WNNUint32List){dims, rank};
    return descriptor;
}

static WNNOperand input(struct net *net, const char *name, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = describe(net, dims, rank);
    WNNOperand operand = wnnGraphBuilderInput(net->builder, (WNNStringView){name, WNN_STRLEN}, &descriptor);
    if (operand)
        model_add_name(net->model, (struct string){name, strlen(name)}, operand);
    return operand;
}

static void free_loan(const void *data, size_t size, void *memory, void *unused)
{
    (void)data;
    (void)size;
    (void)unused;
    free(memory);
}

// Random numbers in [middle - range, middle + range), external to the library like the weights of a file.
static WNNOperand weights_around(struct net *net, const uint32_t *dims, size_t rank, float middle,
                                 float range)
{
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    WNNOperandDescriptor descriptor = describe(net, dims, rank);
    size_t size = wnn_dtype_bytes(descriptor.dataType, count);
    void *data = must_allocate_line(size); // where they lie would make a difference of half the time
    for (size_t i = 0; i < count; i++) {
        float value = middle + range * random_number(&net->seed);
        WNNNumber number = wnn_number_convert(wnnNumberFloat64((double)value), descriptor.dataType);
        wnn_number_store(number, descriptor.dataType, data, i);
    }
    WNNExternalBytes bytes = {.data = data, .byteLength = size, .release = free_loan, .userdata1 = data};
    return wnnGraphBuilderExternalConstant(net->builder, &descriptor, &bytes);
}

static WNNOperand weights(struct net *net, const uint32_t *dims, size_t rank, float range)
{
    return weights_around(net, dims, rank, 0, range);
}

// These numbers, in the network's data type.
static WNNOperand numbers(struct net *net, const uint32_t *dims, size_t rank, const float *values,
                          size_t count)
{
    WNNOperandDescriptor descriptor = describe(net, dims, rank);
    size_t size = wnn_dtype_bytes(descriptor.dataType, count);
    void *data = must_allocate(size);
    for (size_t i = 0; i < count; i++)
        wnn_number_store(wnn_number_convert(wnnNumberFloat64((double)values[i]), descriptor.dataType),
                         descriptor.dataType, data, i);
    WNNOperand operand = wnnGraphBuilderConstant(net->builder, &descriptor, data, size);
    free(data);
    return operand;
}

// The same numbers, quantized by a scale for each item of dimension `axis`: int8, or int32 for biases.
static WNNOperand quantized_weights(struct net *net, WNNDataType type, const uint32_t *dims, size_t rank,
                                    size_t axis, float scale, float range)
{
    size_t size = type == WNNDataType_Int8 ? 1 : sizeof(int32_t), count = 1;
    uint32_t scales[4] = {1, 1, 1, 1};
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    scales[axis] = dims[axis];
    char *data = must_allocate_line(count * size), *zeros = must_allocate(dims[axis] * size);
    float *steps = must_allocate(dims[axis] * sizeof *steps);
    memset(zeros, 0, dims[axis] * size);
    for (size_t i = 0; i < dims[axis]; i++)
        steps[i] = scale * (1 + 0.5f * random_number(&net->seed));
    for (size_t i = 0; i < count; i++) {
        int32_t value = (int32_t)lrintf(range * random_number(&net->seed) / scale);
        memcpy(data + i * size, &value, size); // the low byte comes first
    }
    WNNOperandDescriptor descriptor = {NULL, type, {dims, rank}},
                         zero_descriptor = {NULL, type, {scales, rank}};
    WNNExternalBytes bytes = {
        .data = data, .byteLength = count * size, .release = free_loan, .userdata1 = data};
    WNNOperand weight = wnnGraphBuilderExternalConstant(net->builder, &descriptor, &bytes);
    WNNOperand step = numbers(net, scales, rank, steps, dims[axis]);
    WNNOperand zero = wnnGraphBuilderConstant(net->builder, &zero_descriptor, zeros, dims[axis] * size);
    free(steps);
    free(zeros);
    return wnnGraphBuilderDequantizeLinear(net->builder, weight, step, zero, NULL);
}

// What exporters write behind every operator of a quantized network.
static WNNOperand requantize(struct net *net, WNNOperand x, float scale, uint8_t zero)
{
    if (!net->quantized)
        return x;
    static const uint32_t ones[4] = {1, 1, 1, 1};
    size_t rank = wnnOperandGetShape(x).count;
    WNNOperandDescriptor zero_descriptor = {NULL, WNNDataType_Uint8, {ones, rank}};
    WNNOperand step = numbers(net, ones, rank, &scale, 1);
    WNNOperand point = wnnGraphBuilderConstant(net->builder, &zero_descriptor, &zero, 1);
    net->scale = scale;
    x = wnnGraphBuilderQuantizeLinear(net->builder, x, step, point, NULL);
    return wnnGraphBuilderDequantizeLinear(net->builder, x, step, point, NULL);
}

#define INPUT(name, ...)                                                                                     \
    input(net, (name), (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))
#define WEIGHTS(range, ...)                                                                                  \
    weights(net, (const uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),      \
            (range))

// A dimension of an operand; 1 after an error, so that recording can go on.
static uint32_t dimension(WNNOperand operand, size_t index)
{
    WNNUint32List shape = wnnOperandGetShape(operand);
    return operand && index < shape.count ? shape.data[index] : 1;
}

static WNNOperand activate(struct net *net, WNNOperand x, enum activation_kind activation)
{
    if (activation == RELU)
        return wnnGraphBuilderRelu(net->builder, x, NULL);
    if (activation == PLAIN)
        return x;
    WNNClampOptions options = WNN_CLAMP_OPTIONS_INIT;
    options.minValue = wnnNumberFloat64(0);
    options.maxValue = wnnNumberFloat64(6);
    return wnnGraphBuilderClamp(net->builder, x, &options);
}

// Padding so that the result has size / stride pixels, rounded up; the odd one at the end.
static void same_padding(uint32_t size, uint32_t kernel, uint32_t stride, uint32_t padding[2])
{
    uint32_t covered = ((size + stride - 1) / stride - 1) * stride + kernel,
             all = covered > size ? covered - size : 0;
    padding[0] = all / 2;
    padding[1] = all - all / 2;
}

// groups 1, or as many as x has channels. `edge` is the padding on every side, or SAME_SIZE.
#define SAME_SIZE 0xFFu
static WNNOperand convolve(struct net *net, WNNOperand x, uint32_t channels, uint32_t kernel, uint32_t stride,
                           uint32_t edge, uint32_t groups, enum activation_kind activation)
{
    uint32_t in = dimension(x, 3) / groups;
    uint32_t padding[4] = {edge, edge, edge, edge}, strides[2] = {stride, stride};
    if (edge == SAME_SIZE) {
        same_padding(dimension(x, 1), kernel, stride, padding);
        same_padding(dimension(x, 2), kernel, stride, padding + 2);
    }
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.padding = (WNNUint32List){padding, 4};
    options.strides = (WNNUint32List){strides, 2};
    options.groups = groups;
    options.inputLayout = WNNInputOperandLayout_NHWC;
    float range = sqrtf((activation == PLAIN ? 3.0f : 6.0f) / (float)(kernel * kernel * in));
    bool depthwise = groups > 1 && in == 1;
    options.filterLayout = depthwise ? WNNConv2dFilterOperandLayout_IHWO : WNNConv2dFilterOperandLayout_OHWI;
    const uint32_t shapes[2][4] = {{channels, kernel, kernel, in}, {1, kernel, kernel, channels}};
    WNNOperand filter;
    if (net->quantized) {
        filter = quantized_weights(net, WNNDataType_Int8, shapes[depthwise], 4, depthwise ? 3 : 0,
                                   range / 127, range);
        options.bias =
            quantized_weights(net, WNNDataType_Int32, &channels, 1, 0, net->scale * range / 127, 0.1f);
    } else {
        filter = weights(net, shapes[depthwise], 4, range);
        options.bias = WEIGHTS(0.1f, channels);
    }
    x = activate(net, wnnGraphBuilderConv2d(net->builder, x, filter, &options), activation);
    return activation == RELU6 ? requantize(net, x, 6.0f / 255, 0) : requantize(net, x, 0.04f, 128);
}

static bool finish(struct net *net, WNNOperand output, struct error *error)
{
    if (!output)
        return model_builder_error(net->model, error);
    model_add_output(net->model, STRING("output"), output);
    return true;
}

// Average of each channel, a fully connected layer, softmax.
static bool classify(struct net *net, WNNOperand x, uint32_t classes, struct error *error)
{
    uint32_t channels = dimension(x, 3), flat[2] = {1, channels};
    WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
    pool.layout = WNNInputOperandLayout_NHWC;
    x = requantize(net, wnnGraphBuilderAveragePool2d(net->builder, x, &pool), 6.0f / 255, 0);
    x = wnnGraphBuilderReshape(net->builder, x, (WNNUint32List){flat, 2}, NULL);
    x = requantize(net, x, 6.0f / 255, 0);
    WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;
    gemm.bTranspose = true;
    const uint32_t shape[2] = {classes, channels};
    WNNOperand filter;
    if (net->quantized) {
        gemm.c = quantized_weights(net, WNNDataType_Int32, &classes, 1, 0, net->scale * 0.05f / 127, 0.05f);
        filter = quantized_weights(net, WNNDataType_Int8, shape, 2, 0, 0.05f / 127, 0.05f);
    } else {
        gemm.c = WEIGHTS(0.05f, classes);
        filter = weights(net, shape, 2, 0.05f);
    }
    x = requantize(net, wnnGraphBuilderGemm(net->builder, x, filter, &gemm), 0.05f, 128);
    return finish(net, wnnGraphBuilderSoftmax(net->builder, x, 1, NULL), error);
}

static bool mobilenet_v1(struct net *net, const char *sizes, struct error *error)
{
    static const struct {
        uint32_t channels, stride;
    } blocks[] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                  {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
    (void)sizes;
    WNNOperand x = INPUT("input", 1, 224, 224, 3);
    x = convolve(net, x, 32, 3, 2, SAME_SIZE, 1, RELU6);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        uint32_t channels = dimension(x, 3);
        x = convolve(net, x, channels, 3, blocks[i].stride, SAME_SIZE, channels, RELU6);
        x = convolve(net, x, blocks[i].channels, 1, 1, 0, 1, RELU6);
    }
    return classify(net, x, 1000, error);
}

static bool mobilenet_v2(struct net *net, const char *sizes, struct error *error)
{
    static const struct {
        uint32_t expansion, channels, repeats, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    (void)sizes;
    WNNOperand x = requantize(net, INPUT("input", 1, 224, 224, 3), 1.0f / 128, 128);
    x = convolve(net, x, 32, 3, 2, 1, 1, RELU6);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        for (uint32_t k = 0; k < stages[i].repeats; k++) {
            WNNOperand before = x;
            uint32_t in = dimension(x, 3), wide = in * stages[i].expansion, stride = k ? 1 : stages[i].stride;
            if (stages[i].expansion > 1)
                x = convolve(net, x, wide, 1, 1, 0, 1, RELU6);
            x = convolve(net, x, wide, 3, stride, 1, wide, RELU6);
            x = convolve(net, x, stages[i].channels, 1, 1, 0, 1, PLAIN);
            if (stride == 1 && in == stages[i].channels)
                x = requantize(net, wnnGraphBuilderAdd(net->builder, before, x, NULL), 0.05f, 128);
        }
    }
    return classify(net, convolve(net, x, 1280, 1, 1, 0, 1, RELU6), 1000, error);
}

static bool mobilenet_v2_int8(struct net *net, const char *sizes, struct error *error)
{
    net->quantized = true;
    return mobilenet_v2(net, sizes, error);
}

static bool resnet50(struct net *net, const char *sizes, struct error *error)
{
    static const struct {
        uint32_t channels, blocks, stride;
    } stages[] = {{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}};
    static const uint32_t window[2] = {3, 3}, strides[2] = {2, 2}, padding[4] = {1, 1, 1, 1};
    (void)sizes;
    WNNOperand x = convolve(net, INPUT("input", 1, 224, 224, 3), 64, 7, 2, 3, 1, RELU);
    WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
    pool.layout = WNNInputOperandLayout_NHWC;
    pool.windowDimensions = (WNNUint32List){window, 2};
    pool.strides = (WNNUint32List){strides, 2};
    pool.padding = (WNNUint32List){padding, 4};
    x = wnnGraphBuilderMaxPool2d(net->builder, x, &pool);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        for (uint32_t k = 0; k < stages[i].blocks; k++) {
            uint32_t channels = stages[i].channels, stride = k ? 1 : stages[i].stride;
            WNNOperand y = convolve(net, x, channels, 1, 1, 0, 1, RELU);
            y = convolve(net, y, channels, 3, stride, 1, 1, RELU);
            y = convolve(net, y, 4 * channels, 1, 1, 0, 1, PLAIN);
            if (k == 0)
                x = convolve(net, x, 4 * channels, 1, stride, 0, 1, PLAIN);
            x = activate(net, wnnGraphBuilderAdd(net->builder, y, x, NULL), RELU);
        }
    }
    return classify(net, x, 1000, error);
}

// x W + b.
static WNNOperand project(struct net *net, WNNOperand x, uint32_t from, uint32_t to)
{
    x = wnnGraphBuilderMatmul(net->builder, x, WEIGHTS(0.05f, from, to), NULL);
    return wnnGraphBuilderAdd(net->builder, x, WEIGHTS(0.05f, to), NULL);
}

// [1, tokens, heads * size] to [1, heads, tokens, size], or with the last two exchanged.
static WNNOperand split_heads(struct net *net, WNNOperand x, bool transposed)
{
    static const uint32_t shape[4] = {1, 128, 12, 64}, straight[4] = {0, 2, 1, 3}, crossed[4] = {0, 2, 3, 1};
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){transposed ? crossed : straight, 4};
    x = wnnGraphBuilderReshape(net->builder, x, (WNNUint32List){shape, 4}, NULL);
    return wnnGraphBuilderTranspose(net->builder, x, &options);
}

static WNNOperand normalize(struct net *net, WNNOperand x, uint32_t size)
{
    static const uint32_t axes[1] = {2};
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    options.axes = (WNNUint32List){axes, 1};
    options.epsilon = 1e-12;
    options.scale = weights_around(net, &size, 1, 1, 0.05f);
    options.bias = WEIGHTS(0.05f, size);
    return wnnGraphBuilderLayerNormalization(net->builder, x, &options);
}

static bool bert_layer(struct net *net, const char *sizes, struct error *error)
{
    enum {
        TOKENS = 128,
        WIDTH = 768,
        INNER = 3072
    };
    static const uint32_t joined[3] = {1, TOKENS, WIDTH}, back[4] = {0, 2, 1, 3};
    (void)sizes;
    WNNGraphBuilder builder = net->builder;
    WNNOperand x = INPUT("input", 1, TOKENS, WIDTH);
    WNNOperand q = split_heads(net, project(net, x, WIDTH, WIDTH), false);
    WNNOperand k = split_heads(net, project(net, x, WIDTH, WIDTH), true);
    WNNOperand v = split_heads(net, project(net, x, WIDTH, WIDTH), false);
    WNNOperand scale = wnnGraphBuilderScalarConstant(builder, net->model->type, wnnNumberFloat64(0.125));
    WNNOperand scores = wnnGraphBuilderMul(builder, wnnGraphBuilderMatmul(builder, q, k, NULL), scale, NULL);
    WNNOperand mixed =
        wnnGraphBuilderMatmul(builder, wnnGraphBuilderSoftmax(builder, scores, 3, NULL), v, NULL);
    WNNTransposeOptions transpose = WNN_TRANSPOSE_OPTIONS_INIT;
    transpose.permutation = (WNNUint32List){back, 4};
    mixed = wnnGraphBuilderTranspose(builder, mixed, &transpose);
    mixed = wnnGraphBuilderReshape(builder, mixed, (WNNUint32List){joined, 3}, NULL);
    mixed = project(net, mixed, WIDTH, WIDTH);
    x = normalize(net, wnnGraphBuilderAdd(builder, x, mixed, NULL), WIDTH);
    WNNOperand inner = wnnGraphBuilderGelu(builder, project(net, x, WIDTH, INNER), NULL);
    x = wnnGraphBuilderAdd(builder, x, project(net, inner, INNER, WIDTH), NULL);
    return finish(net, normalize(net, x, WIDTH), error);
}

enum {
    STEPS = 32,
    HIDDEN = 256
};

static bool gru(struct net *net, const char *sizes, struct error *error)
{
    (void)sizes;
    WNNOperand outputs[2] = {NULL, NULL}, x = INPUT("input", STEPS, 1, HIDDEN);
    WNNGruOptions options = WNN_GRU_OPTIONS_INIT;
    options.resetAfter = false;
    options.bias = WEIGHTS(0.06f, 1, 3 * HIDDEN);
    options.recurrentBias = WEIGHTS(0.06f, 1, 3 * HIDDEN);
    options.returnSequence = true;
    WNNOperand weight = WEIGHTS(0.06f, 1, 3 * HIDDEN, HIDDEN);
    WNNOperand recurrent = WEIGHTS(0.06f, 1, 3 * HIDDEN, HIDDEN);
    size_t count = wnnGraphBuilderGru(net->builder, x, weight, recurrent, STEPS, HIDDEN, &options, outputs);
    return finish(net, count ? outputs[1] : NULL, error);
}

static bool lstm(struct net *net, const char *sizes, struct error *error)
{
    (void)sizes;
    WNNOperand outputs[3] = {NULL, NULL, NULL}, x = INPUT("input", STEPS, 1, HIDDEN);
    WNNLstmOptions options = WNN_LSTM_OPTIONS_INIT;
    options.bias = WEIGHTS(0.06f, 1, 4 * HIDDEN);
    options.recurrentBias = WEIGHTS(0.06f, 1, 4 * HIDDEN);
    options.returnSequence = true;
    WNNOperand weight = WEIGHTS(0.06f, 1, 4 * HIDDEN, HIDDEN);
    WNNOperand recurrent = WEIGHTS(0.06f, 1, 4 * HIDDEN, HIDDEN);
    size_t count = wnnGraphBuilderLstm(net->builder, x, weight, recurrent, STEPS, HIDDEN, &options, outputs);
    return finish(net, count ? outputs[2] : NULL, error);
}

// ---------------------------------------------------------------------------------------------------------------
// Single operators
// ---------------------------------------------------------------------------------------------------------------

// "8x3x224" to numbers; returns how many, 0 if it is something else.
static size_t parse_sizes(const char *text, uint32_t sizes[WNN_MAX_RANK])
{
    for (size_t count = 0; count < WNN_MAX_RANK;) {
        char *end;
        unsigned long size = strtoul(text, &end, 10);
        if (end == text || *text == '-' || size == 0 || size > 1u << 20)
            return 0;
        sizes[count++] = (uint32_t)size;
        if (*end == '\0')
            return count;
        if (*end != 'x')
            return 0;
        text = end + 1;
    }
    return 0;
}

static bool matmul(struct net *net, const char *text, struct error *error)
{
    uint32_t size[WNN_MAX_RANK];
    if (parse_sizes(text, size) != 3)
        return wnn_fail(error, WNNStatus_TypeError,
                        "matmul:%s: expected rows, depth and columns: 512x512x512", text);
    WNNOperand a = INPUT("input", size[0], size[1]);
    return finish(net, wnnGraphBuilderMatmul(net->builder, a, WEIGHTS(0.1f, size[1], size[2]), NULL), error);
}

// An input [1, heads, tokens, depth], each head of it for several that read it.
static WNNOperand shared_heads(struct net *net, const char *name, uint32_t heads, uint32_t times,
                               uint32_t tokens, uint32_t depth)
{
    const uint32_t apart[5] = {1, heads, 1, tokens, depth}, repeated[5] = {1, heads, times, tokens, depth},
                   joined[4] = {1, heads * times, tokens, depth};
    WNNOperand x = INPUT(name, 1, heads, tokens, depth);
    if (times == 1)
        return x;
    x = wnnGraphBuilderReshape(net->builder, x, (WNNUint32List){apart, 5}, NULL);
    x = wnnGraphBuilderExpand(net->builder, x, (WNNUint32List){repeated, 5}, NULL);
    return wnnGraphBuilderReshape(net->builder, x, (WNNUint32List){joined, 4}, NULL);
}

static bool attention(struct net *net, const char *text, struct error *error)
{
    static const uint32_t exchanged[4] = {0, 1, 3, 2};
    uint32_t size[WNN_MAX_RANK];
    size_t count = parse_sizes(text, size);
    if (count < 3 || count > 5 || (count == 5 && size[0] % size[4]))
        return wnn_fail(
            error, WNNStatus_TypeError,
            "attention:%s: expected heads, keys, depth, and perhaps rows of the query and how many heads "
            "keys and values have: 16x4096x64x4096x16",
            text);
    uint32_t heads = size[0], keys = size[1], depth = size[2], rows = count > 3 ? size[3] : keys,
             shared = count > 4 ? size[4] : heads;
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){exchanged, 4};
    WNNGraphBuilder b = net->builder;
    WNNOperand q = INPUT("query", 1, heads, rows, depth);
    WNNOperand k = shared_heads(net, "key", shared, heads / shared, keys, depth);
    WNNOperand v = shared_heads(net, "value", shared, heads / shared, keys, depth);
    const float scale = 1 / sqrtf((float)depth);
    WNNOperand scores = wnnGraphBuilderMatmul(b, q, wnnGraphBuilderTranspose(b, k, &options), NULL);
    scores = wnnGraphBuilderMul(b, scores, numbers(net, NULL, 0, &scale, 1), NULL);
    return finish(net, wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 3, NULL), v, NULL), error);
}

// Random bytes, external.
static WNNOperand bytes_of(struct net *net, WNNDataType type, const uint32_t *dims, size_t rank)
{
    size_t count = 1;
    for (size_t i = 0; i < rank; i++)
        count *= dims[i];
    count = wnn_dtype_bytes(type, count);
    unsigned char *data = must_allocate_line(count);
    for (size_t i = 0; i < count; i++)
        data[i] = (unsigned char)(128 * (random_number(&net->seed) + 1));
    WNNOperandDescriptor descriptor = {NULL, type, {dims, rank}};
    WNNExternalBytes bytes = {.data = data, .byteLength = count, .release = free_loan, .userdata1 = data};
    return wnnGraphBuilderExternalConstant(net->builder, &descriptor, &bytes);
}

// As exporters of language models write a layer: the matrix transposed, a scale and a zero point for 32 terms
// of a column.
static bool matmul_uint4(struct net *net, const char *text, struct error *error)
{
    enum {
        BLOCK = 32
    };
    static const uint32_t permutation[2] = {1, 0};
    uint32_t size[WNN_MAX_RANK];
    if (parse_sizes(text, size) != 3 || size[1] % BLOCK)
        return wnn_fail(error, WNNStatus_TypeError,
                        "matmul_uint4:%s: expected rows, depth (a multiple of %d) and columns: 1x4096x4096",
                        text, BLOCK);
    const uint32_t parts[3] = {size[2], size[1] / BLOCK, BLOCK}, scales[3] = {size[2], size[1] / BLOCK, 1},
                   whole[2] = {size[2], size[1]};
    WNNOperand a = INPUT("input", size[0], size[1]);
    WNNOperand matrix = bytes_of(net, WNNDataType_Uint4, parts, 3),
               zero = bytes_of(net, WNNDataType_Uint4, scales, 3);
    WNNOperand x = wnnGraphBuilderDequantizeLinear(net->builder, matrix,
                                                   weights_around(net, scales, 3, 0.01f, 0.005f), zero, NULL);
    x = wnnGraphBuilderReshape(net->builder, x, (WNNUint32List){whole, 2}, NULL);
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){permutation, 2};
    x = wnnGraphBuilderTranspose(net->builder, x, &options);
    return finish(net, wnnGraphBuilderMatmul(net->builder, a, x, NULL), error);
}

static bool conv2d(struct net *net, const char *text, struct error *error)
{
    uint32_t size[WNN_MAX_RANK];
    size_t count = parse_sizes(text, size);
    uint32_t kernel = count > 4 ? size[4] : 3, stride = count > 5 ? size[5] : 1,
             groups = count > 6 ? size[6] : 1;
    if (count < 4 || count > 7 || kernel > 255 || size[2] % groups || size[3] % groups)
        return wnn_fail(
            error, WNNStatus_TypeError,
            "conv2d:%s: expected height, width, channels in and out, and perhaps kernel, stride and "
            "groups: 56x56x64x128x3x1x1",
            text);
    WNNOperand x = INPUT("input", 1, size[0], size[1], size[2]);
    return finish(net, convolve(net, x, size[3], kernel, stride, kernel / 2, groups, PLAIN), error);
}

// Any operator that needs nothing but operands of one shape, or an axis, which is the last.
static bool element_wise(struct net *net, const char *word, struct error *error)
{
    const char *colon = strchr(word, ':');
    enum op op = wnn_op_find((struct string){word, (size_t)(colon - word)});
    uint32_t size[WNN_MAX_RANK], inputs = 0;
    size_t rank = parse_sizes(colon + 1, size);
    if (op == WNN_OP_COUNT || rank == 0)
        return wnn_fail(error, WNNStatus_TypeError,
                        "%s: expected an operator and a shape, as in relu:1x64x56x56", word);
    const struct op_info *info = &wnn_ops[op];
    WNNOperand operands[4];
    for (const struct op_row *row = info->rows; row->name; row++)
        if (row->kind == ROW_INPUT && inputs < 4)
            operands[inputs++] = input(net, row->name, size, rank);
    void *attrs = must(wnn_arena_copy(&net->model->arena, info->defaults, info->attrs_size));
    for (const struct op_row *row = info->rows; row->name; row++)
        if (row->kind == ROW_ATTRIBUTE && row->attr == ATTR_u32 && wnn_op_argument_rows(info) == 1)
            memcpy((char *)attrs + row->offset, &(uint32_t){(uint32_t)rank - 1}, sizeof(uint32_t));
    if (wnn_op_argument_rows(info) > 1 || inputs == 0)
        return wnn_fail(error, WNNStatus_TypeError, "%s: %s needs more than a shape; write a graph file",
                        word, info->name);
    WNNOperand output = NULL;
    wnn_builder_call(net->builder, op, inputs, operands, attrs, 1, &output);
    return finish(net, output, error);
}

static bool copy(struct net *net, const char *text, struct error *error)
{
    uint32_t size[WNN_MAX_RANK];
    size_t rank = parse_sizes(text, size);
    if (rank == 0)
        return wnn_fail(error, WNNStatus_TypeError, "copy:%s: expected a shape: 1024x1024x256", text);
    // No compiler takes it for a copy, and it costs no more than one.
    return finish(net, wnnGraphBuilderAbs(net->builder, input(net, "input", size, rank), NULL), error);
}

// Operators that nothing can be fused to.
static bool chain(struct net *net, const char *text, struct error *error)
{
    char *end;
    unsigned long length = strtoul(text, &end, 10);
    if (end == text || *end || *text == '-' || length == 0 || length > 10000)
        return wnn_fail(error, WNNStatus_TypeError, "chain:%s: expected a number from 1 to 10000", text);
    WNNOperand x = INPUT("input", 16, 16);
    for (unsigned long i = 0; i < length; i++) {
        WNNTriangularOptions options = WNN_TRIANGULAR_OPTIONS_INIT;
        options.upper = i % 2;
        x = wnnGraphBuilderTriangular(net->builder, x, &options);
    }
    return finish(net, x, error);
}

const struct bench_model bench_models[] = {
    {"mobilenet_v1", "MobileNet 1.0 224", mobilenet_v1},
    {"mobilenet_v2", "MobileNetV2 1.0 224", mobilenet_v2},
    {"mobilenet_v2_int8", "MobileNetV2 1.0 224 in 8 bits, as quantizeLinear and dequantizeLinear",
     mobilenet_v2_int8},
    {"resnet50", "ResNet-50", resnet50},
    {"bert_layer", "an encoder layer of BERT-base, 128 tokens", bert_layer},
    {"gru", "a GRU, 32 steps, 256 hidden", gru},
    {"lstm", "an LSTM, 32 steps, 256 hidden", lstm},
    {"matmul:", "matmul:MxKxN, the second matrix constant", matmul},
    {"matmul_uint4:", "matmul_uint4:MxKxN, the second matrix of 4 bits in blocks of 32", matmul_uint4},
    {"attention:",
     "attention:HEADSxKEYSxDEPTH[xROWS[xSHARED]], as many rows and heads of keys as not said otherwise",
     attention},
    {"conv2d:", "conv2d:HxWxINxOUT[xKERNEL[xSTRIDE[xGROUPS]]], channels last", conv2d},
    {"copy:", "copy:SHAPE, each element read and written once", copy},
    {"chain:", "chain:N, N small operators, each of which needs the one before", chain},
    {":", "OPERATOR:SHAPE, an element-wise operator, softmax or the like: add:1x64x56x56", element_wise},
    {NULL, NULL, NULL},
};

const struct bench_model *bench_model_find(const char *word)
{
    for (const struct bench_model *bench = bench_models; bench->name; bench++) {
        size_t length = strlen(bench->name);
        bool prefix = bench->name[length - 1] == ':';
        if (prefix && length > 1 ? strncmp(word, bench->name, length) == 0 : strcmp(word, bench->name) == 0)
            return bench;
        const char *colon = strchr(word, ':');
        if (length == 1 && colon &&
            wnn_op_find((struct string){word, (size_t)(colon - word)}) != WNN_OP_COUNT)
            return bench;
    }
    return NULL;
}

bool bench_model_build(const struct bench_model *bench, const char *word, struct model *model,
                       struct error *error)
{
    struct net net = {model, model->builder, 88172645463325252u, false, 1};
    size_t length = strlen(bench->name);
    bool prefix = bench->name[length - 1] == ':' && length > 1;
    model->name = wnn_string_copy(&model->arena, (struct string){word, strlen(word)});
    must((void *)(uintptr_t)model->name.data);
    return bench->build(&net, prefix ? word + length : word, error);
}
