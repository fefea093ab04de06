// SPDX-License-Identifier: Apache-2.0
#include "conformance/bench/late_networks.h"

#include "conformance/compiled.h"
#include "tools/bench_models.h"
#include "tools/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OUTPUTS   1024
#define MAX_POSITIONS 4096

struct net {
    WNNGraphBuilder builder;
    struct late_weights *weights;
    size_t weight; // the next
    uint64_t seed;
    WNNNamedOperand outputs[MAX_OUTPUTS];
    char names[MAX_OUTPUTS][32];
    size_t count;
};

#define LIST(...)                                                                                            \
    (WNNUint32List)                                                                                          \
    {                                                                                                        \
        (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)                      \
    }

static WNNStringView view(const char *text)
{
    return (WNNStringView){text, WNN_STRLEN};
}

void late_weights_free(struct late_weights *weights)
{
    for (size_t i = 0; i < weights->count; i++)
        free(weights->items[i]);
    free(weights->items);
    *weights = (struct late_weights){0};
}

static WNNOperand lend(struct net *net, WNNUint32List shape, float middle, float range)
{
    size_t count = 1;
    struct late_weights *weights = net->weights;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    if (net->weight == weights->count) {
        weights->items =
            must_grow(weights->items, weights->count, &weights->capacity, sizeof weights->items[0]);
        float *values = must_allocate_line(count * sizeof *values);
        for (size_t i = 0; i < count; i++)
            values[i] = middle + range * random_number(&net->seed);
        weights->items[weights->count++] = values;
    }
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, shape};
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    bytes.data = weights->items[net->weight++];
    bytes.byteLength = count * sizeof(float);
    return wnnGraphBuilderExternalConstant(net->builder, &descriptor, &bytes);
}

static WNNOperand matrix(struct net *net, uint32_t from, uint32_t to)
{
    return lend(net, LIST(from, to), 0, sqrtf(3.0f / (float)from));
}

static WNNOperand scalar(struct net *net, WNNDataType type, double value)
{
    return wnnGraphBuilderScalarConstant(net->builder, type, wnnNumberFloat64(value));
}

static WNNOperand permute(struct net *net, WNNOperand x, WNNUint32List permutation)
{
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = permutation;
    return wnnGraphBuilderTranspose(net->builder, x, &options);
}

static WNNOperand reshape(struct net *net, WNNOperand x, WNNUint32List shape)
{
    return wnnGraphBuilderReshape(net->builder, x, shape, NULL);
}

static uint32_t size_of(WNNOperand x, unsigned dimension)
{
    WNNUint32List shape = wnnOperandGetShape(x);
    return dimension < shape.count ? shape.data[dimension] : 0;
}

// An input; dimension `late` of it, if it has size 0, gets that name.
static WNNOperand input(struct net *net, const char *name, WNNDataType type, WNNUint32List shape,
                        unsigned late, const char *dimension)
{
    WNNDimension dimensions[WNN_MAX_RANK];
    for (size_t i = 0; i < shape.count; i++)
        dimensions[i] = (WNNDimension)WNN_DIMENSION_INIT;
    dimensions[late].name = view(dimension);
    dimensions[late].minSize = 0;
    WNNNamedDimensions named = WNN_NAMED_DIMENSIONS_INIT;
    named.dimensionCount = shape.count;
    named.dimensions = dimensions;
    WNNOperandDescriptor descriptor = {shape.data[late] ? NULL : &named.chain, type, shape};
    return wnnGraphBuilderInput(net->builder, view(name), &descriptor);
}

static void output(struct net *net, const char *name, WNNOperand operand)
{
    snprintf(net->names[net->count], sizeof net->names[0], "%s", name);
    net->outputs[net->count] = (WNNNamedOperand){view(net->names[net->count]), operand};
    net->count++;
}

static WNNGraph build(WNNContext context, struct net *net, bool savable, size_t capacity, char *message)
{
    WNNGraph graph = NULL;
    if (savable)
        wnn_build_savable(context, net->builder, net->count, net->outputs, &graph, capacity, message);
    else
        wnnGraphBuilderBuildSync(net->builder, net->count, net->outputs, &graph, capacity, message);
    wnnGraphBuilderRelease(net->builder);
    free(net);
    return graph;
}

static struct net *begin(WNNContext context, struct late_weights *weights)
{
    struct net *net = must_allocate(sizeof *net);
    net->weights = weights;
    net->seed = 88172645463325252u;
    if (wnnContextCreateGraphBuilder(context, &net->builder)) {
        free(net);
        return NULL;
    }
    return net;
}

// ---------------------------------------------------------------------------------------------------------------
// The decoder
// ---------------------------------------------------------------------------------------------------------------

// What all layers of it share.
struct shared {
    const struct late_decoder *of;
    uint32_t width;
    WNNOperand slots, mask; // with caches of a known size
};

static WNNOperand normalize(struct net *net, WNNOperand x, uint32_t width)
{
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    options.axes = LIST(2);
    options.scale = lend(net, LIST(width), 1, 0.1f);
    return wnnGraphBuilderLayerNormalization(net->builder, x, &options);
}

static WNNOperand project(struct net *net, WNNOperand x, uint32_t from, uint32_t to)
{
    return wnnGraphBuilderMatmul(net->builder, x, matrix(net, from, to), NULL);
}

static WNNOperand split_heads(struct net *net, WNNOperand x, uint32_t heads)
{
    return permute(net, reshape(net, x, LIST(1, 1, heads, LATE_HEAD)), LIST(0, 2, 1, 3));
}

// A cache with a new row in it, for each head that reads it.
static WNNOperand remember(struct net *net, const struct shared *shared, const char *kind, unsigned layer,
                           WNNOperand row)
{
    WNNGraphBuilder b = net->builder;
    uint32_t heads = shared->of->heads, pairs = shared->of->pairs;
    char past[32], present[32];
    snprintf(past, sizeof past, "past_%s_%u", kind, layer);
    snprintf(present, sizeof present, "present_%s_%u", kind, layer);
    WNNOperand cache =
        input(net, past, WNNDataType_Float32, LIST(1, pairs, shared->of->rows, LATE_HEAD), 2, "past");
    cache = shared->of->rows ? wnnGraphBuilderScatterND(b, cache, shared->slots, row, NULL)
                             : wnnGraphBuilderConcat(b, 2, (WNNOperand[]){cache, row}, 2, NULL);
    output(net, present, cache);
    if (heads == pairs)
        return cache;
    uint32_t rows = size_of(cache, 2);
    cache = reshape(net, cache, LIST(1, pairs, 1, rows, LATE_HEAD));
    cache = wnnGraphBuilderExpand(b, cache, LIST(1, pairs, heads / pairs, rows, LATE_HEAD), NULL);
    return reshape(net, cache, LIST(1, heads, rows, LATE_HEAD));
}

static WNNOperand attend(struct net *net, const struct shared *shared, WNNOperand x, unsigned layer)
{
    WNNGraphBuilder b = net->builder;
    uint32_t width = shared->width, kept = shared->of->pairs * LATE_HEAD;
    WNNOperand q = split_heads(net, project(net, x, width, width), shared->of->heads);
    WNNOperand k = split_heads(net, project(net, x, width, kept), shared->of->pairs);
    WNNOperand v = split_heads(net, project(net, x, width, kept), shared->of->pairs);
    k = permute(net, remember(net, shared, "key", layer, k), LIST(0, 1, 3, 2));
    v = remember(net, shared, "value", layer, v);
    WNNOperand eight = scalar(net, WNNDataType_Float32, 8);
    WNNOperand scores = wnnGraphBuilderDiv(b, wnnGraphBuilderMatmul(b, q, k, NULL), eight, NULL);
    if (shared->of->rows)
        scores = wnnGraphBuilderAdd(b, scores, shared->mask, NULL);
    scores = wnnGraphBuilderSoftmax(b, scores, 3, NULL);
    x = permute(net, wnnGraphBuilderMatmul(b, scores, v, NULL), LIST(0, 2, 1, 3));
    return project(net, reshape(net, x, LIST(1, 1, width)), width, width);
}

static WNNOperand feed_forward(struct net *net, WNNOperand x, uint32_t width, uint32_t inner)
{
    WNNGraphBuilder b = net->builder;
    WNNOperand gate = project(net, x, width, inner), up = project(net, x, width, inner);
    gate = wnnGraphBuilderMul(b, gate, wnnGraphBuilderSigmoid(b, gate, NULL), NULL);
    return project(net, wnnGraphBuilderMul(b, gate, up, NULL), inner, width);
}

static WNNOperand numbers_below(struct net *net, uint32_t count)
{
    return wnnGraphBuilderRangeConstant(net->builder, wnnNumberInt64(0), wnnNumberInt64(count),
                                        wnnNumberInt64(1), WNNDataType_Int32);
}

// Where the new row goes in each cache, and which rows come before it.
static void place_rows(struct net *net, struct shared *shared, WNNOperand position)
{
    WNNGraphBuilder b = net->builder;
    uint32_t pairs = shared->of->pairs, rows = shared->of->rows;
    WNNOperand heads = reshape(net, numbers_below(net, pairs), LIST(1, pairs, 1, 1));
    WNNOperand keys = reshape(net, numbers_below(net, rows), LIST(1, 1, 1, rows));
    WNNOperand first =
        wnnGraphBuilderExpand(b, scalar(net, WNNDataType_Int32, 0), LIST(1, pairs, 1, 1), NULL);
    position = reshape(net, position, LIST(1, 1, 1, 1));
    WNNOperand place = wnnGraphBuilderExpand(b, position, LIST(1, pairs, 1, 1), NULL);
    shared->slots = wnnGraphBuilderConcat(b, 3, (WNNOperand[]){first, heads, place}, 3, NULL);
    shared->mask = wnnGraphBuilderWhere(b, wnnGraphBuilderLesserOrEqual(b, keys, position, NULL),
                                        scalar(net, WNNDataType_Float32, 0),
                                        scalar(net, WNNDataType_Float32, -65504), NULL);
}

WNNGraph late_decoder_build(WNNContext context, const struct late_decoder *decoder,
                            struct late_weights *weights, size_t capacity, char *message)
{
    struct net *net = begin(context, weights);
    if (!net)
        return NULL;
    struct shared shared = {.of = decoder, .width = decoder->heads * LATE_HEAD};
    WNNGraphBuilder b = net->builder;
    WNNOperand token = input(net, "token", WNNDataType_Int32, LIST(1, 1), 0, "");
    WNNOperand position = input(net, "position", WNNDataType_Int32, LIST(1, 1), 0, "");
    if (decoder->rows)
        place_rows(net, &shared, position);
    WNNOperand words = lend(net, LIST(decoder->vocabulary, shared.width), 0, 1);
    WNNOperand places = lend(net, LIST(MAX_POSITIONS, shared.width), 0, 1);
    WNNOperand x = wnnGraphBuilderAdd(b, wnnGraphBuilderGather(b, words, token, NULL),
                                      wnnGraphBuilderGather(b, places, position, NULL), NULL);
    for (unsigned layer = 0; layer < decoder->layers; layer++) {
        x = wnnGraphBuilderAdd(b, x, attend(net, &shared, normalize(net, x, shared.width), layer), NULL);
        x = wnnGraphBuilderAdd(
            b, x, feed_forward(net, normalize(net, x, shared.width), shared.width, decoder->inner), NULL);
    }
    x = project(net, normalize(net, x, shared.width), shared.width, decoder->vocabulary);
    output(net, "next", wnnGraphBuilderArgMax(b, x, 2, NULL));
    return build(context, net, decoder->savable, capacity, message);
}

// ---------------------------------------------------------------------------------------------------------------
// The reader
// ---------------------------------------------------------------------------------------------------------------

// A convolution of 3x3, with the strides of its rows and columns; groups of one channel if `depthwise`.
static WNNOperand convolve(struct net *net, WNNOperand x, uint32_t to, WNNUint32List strides, bool depthwise)
{
    uint32_t from = size_of(x, 1);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.padding = LIST(1, 1, 1, 1);
    options.strides = strides;
    options.groups = depthwise ? from : 1;
    uint32_t inputs = depthwise ? 1 : from;
    WNNOperand filter = lend(net, LIST(to, inputs, 3, 3), 0, sqrtf(3.0f / (float)(9 * inputs)));
    options.bias = lend(net, LIST(to), 0, 0.1f);
    return wnnGraphBuilderConv2d(net->builder, x, filter, &options);
}

static WNNOperand pointwise(struct net *net, WNNOperand x, uint32_t to)
{
    uint32_t from = size_of(x, 1);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.bias = lend(net, LIST(to), 0, 0.1f);
    return wnnGraphBuilderConv2d(net->builder, x,
                                 lend(net, LIST(to, from, 1, 1), 0, sqrtf(3.0f / (float)from)), &options);
}

static WNNOperand block(struct net *net, WNNOperand x, uint32_t to, WNNUint32List strides)
{
    WNNGraphBuilder b = net->builder;
    x = wnnGraphBuilderHardSwish(b, convolve(net, x, size_of(x, 1), strides, true), NULL);
    return wnnGraphBuilderHardSwish(b, pointwise(net, x, to), NULL);
}

// Both directions of each step; [steps, 1, features] to [steps, 1, 2 * hidden].
static WNNOperand recur(struct net *net, WNNOperand x, uint32_t features, uint32_t hidden)
{
    WNNLstmOptions options = WNN_LSTM_OPTIONS_INIT;
    options.returnSequence = true;
    options.direction = WNNRecurrentNetworkDirection_Both;
    float range = 1 / sqrtf((float)hidden);
    options.bias = lend(net, LIST(2, 4 * hidden), 0, range);
    options.recurrentBias = lend(net, LIST(2, 4 * hidden), 0, range);
    WNNOperand weight = lend(net, LIST(2, 4 * hidden, features), 0, range);
    WNNOperand recurrent = lend(net, LIST(2, 4 * hidden, hidden), 0, range);
    WNNOperand outputs[3] = {NULL};
    uint32_t steps = size_of(x, 0);
    wnnGraphBuilderLstm(net->builder, x, weight, recurrent, steps, hidden, &options, outputs);
    x = permute(net, outputs[2], LIST(0, 2, 1, 3)); // [steps, directions, 1, hidden]
    return reshape(net, x, LIST(steps, 1, 2 * hidden));
}

WNNGraph late_reader_build(WNNContext context, const struct late_reader *reader, struct late_weights *weights,
                           size_t capacity, char *message)
{
    enum {
        FEATURES = 256,
        HIDDEN = 96
    };
    struct net *net = begin(context, weights);
    if (!net)
        return NULL;
    WNNGraphBuilder b = net->builder;
    WNNOperand x = input(net, "image", WNNDataType_Float32, LIST(1, 3, 32, reader->width), 3, "width");
    x = wnnGraphBuilderRelu(b, convolve(net, x, 32, LIST(2, 2), false), NULL);
    x = block(net, x, 64, LIST(1, 1));
    x = block(net, x, 128, LIST(2, 2));
    x = wnnGraphBuilderRelu(b, convolve(net, x, 128, LIST(1, 1), false), NULL);
    x = block(net, x, 192, LIST(2, 1));
    x = block(net, x, FEATURES, LIST(2, 1));
    WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
    pool.windowDimensions = LIST(2, 1);
    pool.strides = LIST(2, 1);
    x = wnnGraphBuilderMaxPool2d(b, x, &pool); // [1, FEATURES, 1, steps]
    uint32_t steps = size_of(x, 3);
    x = permute(net, reshape(net, x, LIST(1, FEATURES, steps)), LIST(2, 0, 1));
    x = recur(net, x, FEATURES, HIDDEN);
    x = recur(net, x, 2 * HIDDEN, HIDDEN);
    x = wnnGraphBuilderAdd(b, project(net, x, 2 * HIDDEN, reader->classes),
                           lend(net, LIST(reader->classes), 0, 1), NULL);
    output(net, "scores", wnnGraphBuilderSoftmax(b, x, 2, NULL));
    return build(context, net, false, capacity, message);
}
