// SPDX-License-Identifier: Apache-2.0
//
// How fast a language model runs: the sizes of SmolLM 135M, random weights, recorded as ONNX Runtime's WebNN
// provider records it. Matrices are dequantizeLinear of blocks of 32, reshape and transpose in front of
// matmul; normalizations, rotary embedding and attention of grouped queries are single operators; the caches
// of keys and values are scattered into, and lie where they lay.
//
// Milliseconds of one run, the least; with --vs=COMMAND another program takes turns (peers/llamacpp.mjs).

#include "conformance/clock.h"
#include "lib/half.h"
#include "tools/bench_models.h"
#include "tools/bench_peer.h"
#include "tools/memory.h"
#include "tools/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HIDDEN = 576,
    HEADS = 9,
    PAIRS = 3, // of keys and values
    HEAD = 64,
    INNER = 1536,
    CONTEXT = 256,
    BLOCK = 32
};

static const char usage[] =
    "usage: webnn-bench-llama [--weights=float32|float16|int8|uint4] [--half] [--fast] [--tokens=N] "
    "[--threads=N]\n"
    "           [--layers=N] [--vocabulary=N] [--time=SECONDS] [--rounds=N] [--vs=COMMAND] [--profile]\n"
    "           [--backend=cpu|gpu]\n"
    "  --backend on a GPU tokens and caches are tensors\n"
    "  --fast    rows that meet quantized weights are rounded to 8 bits\n"
    "  --half    float16 between operators, as it is with float16 weights\n"
    "  --profile what the kinds of nodes take of that\n";

struct options {
    char weights[16], vs[1024], backend[16];
    bool half, fast, profile;
    unsigned tokens, threads, layers, vocabulary, rounds;
    double seconds;
};

struct net {
    WNNGraphBuilder builder;
    const struct options *options;
    WNNDataType type; // between operators
    uint64_t seed;
    WNNOperand positions;          // [tokens], int32
    WNNOperand cosines, sines;     // [1, 1, tokens, HEAD / 2]
    WNNOperand slots, mask;        // where keys are scattered to; what is added to scores
    WNNNamedOperand outputs[1024]; // logits and caches
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

// ---------------------------------------------------------------------------------------------------------------
// Constants
// ---------------------------------------------------------------------------------------------------------------

static size_t elements(WNNUint32List shape)
{
    size_t count = 1;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    return count;
}

static void free_loan(const void *data, size_t size, void *memory, void *unused)
{
    (void)data, (void)size, (void)unused;
    free(memory);
}

static WNNOperand lend(struct net *net, WNNDataType type, WNNUint32List shape, void *data)
{
    WNNOperandDescriptor descriptor = {NULL, type, shape};
    WNNExternalBytes bytes = {.data = data,
                              .byteLength = wnn_dtype_bytes(type, elements(shape)),
                              .release = free_loan,
                              .userdata1 = data};
    return wnnGraphBuilderExternalConstant(net->builder, &descriptor, &bytes);
}

// Random numbers in [middle - range, middle + range).
static WNNOperand numbers(struct net *net, WNNUint32List shape, float middle, float range)
{
    size_t count = elements(shape);
    float *values = must_allocate_line(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = middle + range * random_number(&net->seed);
    if (net->type == WNNDataType_Float16) {
        uint16_t *halves = must_allocate_line(count * sizeof *halves);
        wnn_half_from_float_array(values, halves, count);
        free(values);
        return lend(net, net->type, shape, halves);
    }
    return lend(net, net->type, shape, values);
}

static WNNOperand bytes(struct net *net, WNNDataType type, WNNUint32List shape)
{
    size_t count = wnn_dtype_bytes(type, elements(shape));
    unsigned char *data = must_allocate_line(count);
    for (size_t i = 0; i < count; i++)
        data[i] = (unsigned char)(128 * (random_number(&net->seed) + 1));
    return lend(net, type, shape, data);
}

static WNNOperand scalar(struct net *net, double value)
{
    return wnnGraphBuilderScalarConstant(net->builder, net->type, wnnNumberFloat64(value));
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

// ---------------------------------------------------------------------------------------------------------------
// Layers
// ---------------------------------------------------------------------------------------------------------------

// Scales are of either sign, as those of a quantizer that gives the largest number of a block the integer of
// the largest size.
static WNNOperand matrix(struct net *net, uint32_t from, uint32_t to)
{
    const char *form = net->options->weights;
    float range = sqrtf(3.0f / (float)from);
    if (form[0] == 'f')
        return numbers(net, LIST(from, to), 0, range);
    bool wide = strcmp(form, "int8") == 0;
    WNNDataType type = wide ? WNNDataType_Int8 : WNNDataType_Uint4;
    WNNUint32List blocks = LIST(to, from / BLOCK, 1);
    WNNOperand integers = bytes(net, type, LIST(to, from / BLOCK, BLOCK));
    WNNOperand zeros;
    if (wide) {
        void *none = must_allocate_line(elements(blocks));
        memset(none, 0, elements(blocks));
        zeros = lend(net, type, blocks, none);
    } else {
        zeros = bytes(net, type, blocks);
    }
    WNNOperand scales = numbers(net, blocks, 0, range / (wide ? 80 : 5));
    WNNOperand x = wnnGraphBuilderDequantizeLinear(net->builder, integers, scales, zeros, NULL);
    return permute(net, reshape(net, x, LIST(to, from)), LIST(1, 0));
}

static WNNOperand project(struct net *net, WNNOperand x, uint32_t from, uint32_t to)
{
    return wnnGraphBuilderMatmul(net->builder, x, matrix(net, from, to), NULL);
}

// x / sqrt(mean(x * x) + epsilon) * scale, in float32.
static WNNOperand normalize(struct net *net, WNNOperand x)
{
    WNNGraphBuilder b = net->builder;
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = LIST(2);
    options.keepDimensions = true;
    WNNOperand wide = wnnGraphBuilderCast(b, x, WNNDataType_Float32, NULL);
    WNNOperand two = wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberFloat64(2));
    WNNOperand epsilon = wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberFloat64(1e-5));
    WNNOperand mean = wnnGraphBuilderReduceMean(b, wnnGraphBuilderPow(b, wide, two, NULL), &options);
    WNNOperand root = wnnGraphBuilderSqrt(b, wnnGraphBuilderAdd(b, mean, epsilon, NULL), NULL);
    WNNOperand narrow = wnnGraphBuilderCast(b, wnnGraphBuilderDiv(b, wide, root, NULL), net->type, NULL);
    return wnnGraphBuilderMul(b, numbers(net, LIST(HIDDEN), 1, 0.1f), narrow, NULL);
}

// [1, tokens, heads * HEAD] to [1, heads, tokens, HEAD].
static WNNOperand split_heads(struct net *net, WNNOperand x, uint32_t heads)
{
    return permute(net, reshape(net, x, LIST(1, net->options->tokens, heads, HEAD)), LIST(0, 2, 1, 3));
}

static WNNOperand rotate(struct net *net, WNNOperand x)
{
    WNNGraphBuilder b = net->builder;
    WNNSplitOptions options = WNN_SPLIT_OPTIONS_INIT;
    WNNOperand half[2] = {NULL, NULL};
    options.axis = 3;
    if (!wnnGraphBuilderSplit(b, x, 2, &options, 2, half))
        return NULL;
    WNNOperand turned[2] = {wnnGraphBuilderSub(b, wnnGraphBuilderMul(b, half[0], net->cosines, NULL),
                                               wnnGraphBuilderMul(b, half[1], net->sines, NULL), NULL),
                            wnnGraphBuilderAdd(b, wnnGraphBuilderMul(b, half[0], net->sines, NULL),
                                               wnnGraphBuilderMul(b, half[1], net->cosines, NULL), NULL)};
    return wnnGraphBuilderConcat(b, 2, turned, 3, NULL);
}

// A cache with new rows in it, which is an output; for each head that reads it.
static WNNOperand remember(struct net *net, const char *kind, unsigned layer, WNNOperand rows)
{
    WNNGraphBuilder b = net->builder;
    char past[32], present[32];
    snprintf(past, sizeof past, "past_%s_%u", kind, layer);
    snprintf(present, sizeof present, "present_%s_%u", kind, layer);
    WNNOperandDescriptor descriptor = {NULL, net->type, LIST(1, PAIRS, CONTEXT, HEAD)};
    WNNOperand before = wnnGraphBuilderInput(b, view(past), &descriptor);
    WNNOperand cache = wnnGraphBuilderScatterND(b, before, net->slots, rows, NULL);
    net->outputs[net->count++] = (WNNNamedOperand){.name = view(must(strdup(present))), .operand = cache};
    cache = reshape(net, cache, LIST(1, PAIRS, 1, CONTEXT, HEAD));
    cache = wnnGraphBuilderExpand(b, cache, LIST(1, PAIRS, HEADS / PAIRS, CONTEXT, HEAD), NULL);
    return reshape(net, cache, LIST(1, HEADS, CONTEXT, HEAD));
}

static WNNOperand attend(struct net *net, WNNOperand x, unsigned layer)
{
    WNNGraphBuilder b = net->builder;
    WNNOperand q = rotate(net, split_heads(net, project(net, x, HIDDEN, HIDDEN), HEADS));
    WNNOperand k = rotate(net, split_heads(net, project(net, x, HIDDEN, PAIRS * HEAD), PAIRS));
    WNNOperand v = split_heads(net, project(net, x, HIDDEN, PAIRS * HEAD), PAIRS);
    k = permute(net, remember(net, "key", layer, k), LIST(0, 1, 3, 2));
    v = remember(net, "value", layer, v);
    WNNOperand scores = wnnGraphBuilderDiv(b, wnnGraphBuilderMatmul(b, q, k, NULL), scalar(net, 8), NULL);
    scores = wnnGraphBuilderSoftmax(b, wnnGraphBuilderAdd(b, scores, net->mask, NULL), 3, NULL);
    x = permute(net, wnnGraphBuilderMatmul(b, scores, v, NULL), LIST(0, 2, 1, 3));
    return project(net, reshape(net, x, LIST(1, net->options->tokens, HIDDEN)), HIDDEN, HIDDEN);
}

static WNNOperand feed_forward(struct net *net, WNNOperand x)
{
    WNNGraphBuilder b = net->builder;
    WNNOperand gate = project(net, x, HIDDEN, INNER), up = project(net, x, HIDDEN, INNER);
    gate = wnnGraphBuilderMul(b, gate, wnnGraphBuilderSigmoid(b, gate, NULL), NULL);
    return project(net, wnnGraphBuilderMul(b, gate, up, NULL), INNER, HIDDEN);
}

// ---------------------------------------------------------------------------------------------------------------
// The network
// ---------------------------------------------------------------------------------------------------------------

// What all layers share: angles, the places of the new rows, and which keys come before a token.
static void prepare(struct net *net)
{
    WNNGraphBuilder b = net->builder;
    uint32_t tokens = net->options->tokens;
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Int32, LIST(tokens)};
    net->positions = wnnGraphBuilderInput(b, view("positions"), &descriptor);

    float *tables[2];
    for (int t = 0; t < 2; t++) {
        tables[t] = must_allocate_line(CONTEXT * HEAD / 2 * sizeof(float));
        for (int i = 0; i < CONTEXT * HEAD / 2; i++) {
            double angle = i / (HEAD / 2) * pow(10000, -(double)(i % (HEAD / 2)) / (HEAD / 2));
            tables[t][i] = (float)(t ? sin(angle) : cos(angle));
        }
        WNNOperand table = lend(net, WNNDataType_Float32, LIST(CONTEXT, HEAD / 2), tables[t]);
        table =
            wnnGraphBuilderCast(b, wnnGraphBuilderGather(b, table, net->positions, NULL), net->type, NULL);
        table = reshape(net, table, LIST(1, 1, tokens, HEAD / 2));
        *(t ? &net->sines : &net->cosines) = table;
    }

    int32_t *heads = must_allocate_line((size_t)PAIRS * tokens * 2 * sizeof *heads);
    for (uint32_t i = 0; i < PAIRS * tokens; i++) {
        heads[2 * i] = 0;
        heads[2 * i + 1] = (int32_t)(i / tokens);
    }
    WNNOperand where[2] = {lend(net, WNNDataType_Int32, LIST(1, PAIRS, tokens, 2), heads),
                           wnnGraphBuilderExpand(b, reshape(net, net->positions, LIST(1, 1, tokens, 1)),
                                                 LIST(1, PAIRS, tokens, 1), NULL)};
    net->slots = wnnGraphBuilderConcat(b, 2, where, 3, NULL);

    int32_t *ones = must_allocate_line(CONTEXT * sizeof *ones);
    for (int i = 0; i < CONTEXT; i++)
        ones[i] = 1;
    WNNCumulativeSumOptions options = WNN_CUMULATIVE_SUM_OPTIONS_INIT;
    options.exclusive = true;
    WNNOperand keys = wnnGraphBuilderCumulativeSum(
        b, lend(net, WNNDataType_Int32, LIST(1, 1, 1, CONTEXT), ones), 3, &options);
    WNNOperand seen =
        wnnGraphBuilderLesserOrEqual(b, keys, reshape(net, net->positions, LIST(1, 1, tokens, 1)), NULL);
    net->mask = wnnGraphBuilderWhere(b, seen, scalar(net, 0), scalar(net, -65504), NULL);
}

static void record(struct net *net)
{
    WNNGraphBuilder b = net->builder;
    const struct options *options = net->options;
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Int32, LIST(1, options->tokens)};
    WNNOperand ids = wnnGraphBuilderInput(b, view("tokens"), &descriptor);
    prepare(net);
    WNNOperand x = wnnGraphBuilderGather(b, numbers(net, LIST(options->vocabulary, HIDDEN), 0, 1), ids, NULL);
    for (unsigned layer = 0; layer < options->layers; layer++) {
        x = wnnGraphBuilderAdd(b, x, attend(net, normalize(net, x), layer), NULL);
        x = wnnGraphBuilderAdd(b, x, feed_forward(net, normalize(net, x)), NULL);
    }
    x = wnnGraphBuilderSlice(b, x, LIST(0, options->tokens - 1, 0), LIST(1, 1, HIDDEN), NULL);
    x = project(net, normalize(net, x), HIDDEN, options->vocabulary);
    net->outputs[net->count++] = (WNNNamedOperand){.name = view(must(strdup("logits"))), .operand = x};
}

static WNNGraph build(struct session *session, const struct options *options, char *message, size_t size)
{
    struct net net = {.options = options,
                      .type = options->half ? WNNDataType_Float16 : WNNDataType_Float32,
                      .seed = 88172645463325252u};
    WNNGraph graph = NULL;
    if (wnnContextCreateGraphBuilder(session->context, &net.builder))
        return NULL;
    record(&net);
    wnnGraphBuilderBuildSync(net.builder, net.count, net.outputs, &graph, size, message);
    for (size_t i = 0; i < net.count; i++)
        free((void *)(uintptr_t)net.outputs[i].name.data);
    wnnGraphBuilderRelease(net.builder);
    return graph;
}

// ---------------------------------------------------------------------------------------------------------------
// Runs
// ---------------------------------------------------------------------------------------------------------------

struct buffers {
    size_t input_count, output_count;
    WNNNamedBuffer *inputs, *outputs;
    WNNNamedTensor *in, *out; // the same as tensors of the context; NULL: these are used
};

static WNNNamedBuffer *allocate_buffers(const WNNNamedDescriptor *list, size_t count)
{
    WNNNamedBuffer *buffers = must_allocate(count * sizeof *buffers);
    for (size_t i = 0; i < count; i++) {
        size_t size = wnn_dtype_bytes(list[i].descriptor.dataType, elements(list[i].descriptor.shape));
        void *data = must_allocate_line(size);
        memset(data, 0, size);
        buffers[i] = (WNNNamedBuffer){list[i].name, data, size, list[i].descriptor.dataType};
    }
    return buffers;
}

// Tokens that follow one another at the beginning; caches lie where they are read.
static struct buffers make_buffers(WNNGraph graph, const struct options *options)
{
    struct buffers buffers = {0};
    const WNNNamedDescriptor *in = wnnGraphGetInputs(graph, &buffers.input_count);
    buffers.inputs = allocate_buffers(in, buffers.input_count);
    const WNNNamedDescriptor *out = wnnGraphGetOutputs(graph, &buffers.output_count);
    buffers.outputs = allocate_buffers(out, buffers.output_count);
    for (size_t i = 0; i < buffers.input_count; i++) {
        WNNNamedBuffer *input = &buffers.inputs[i];
        for (unsigned t = 0; t < options->tokens && input->dataType == WNNDataType_Int32; t++)
            ((int32_t *)input->data)[t] =
                (int32_t)(input->name.data[0] == 'p' ? t : (t * 7919 + 1) % options->vocabulary);
        for (size_t j = 0; j < buffers.output_count; j++) {
            const char *past = input->name.data, *present = buffers.outputs[j].name.data;
            if (strncmp(past, "past", 4) == 0 && strncmp(present, "present", 7) == 0 &&
                input->name.length - 4 == buffers.outputs[j].name.length - 7 &&
                memcmp(past + 4, present + 7, input->name.length - 4) == 0) {
                free(input->data);
                input->data = buffers.outputs[j].data;
            }
        }
    }
    return buffers;
}

static WNNTensor make_tensor(WNNContext context, const WNNNamedDescriptor *port, const WNNNamedBuffer *buffer)
{
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    WNNTensor tensor = NULL;
    descriptor.dataType = port->descriptor.dataType;
    descriptor.shape = port->descriptor.shape;
    descriptor.writable = true;
    wnnContextCreateTensor(context, &descriptor, &tensor);
    wnnContextWriteTensor(context, must(tensor), buffer->data, buffer->byteLength);
    return tensor;
}

// Tensors in the place of buffers; one for those that are one.
static void make_tensors(WNNContext context, WNNGraph graph, struct buffers *buffers)
{
    size_t count;
    const WNNNamedDescriptor *ports = wnnGraphGetOutputs(graph, &count);
    buffers->out = must_allocate(count * sizeof *buffers->out);
    for (size_t i = 0; i < count; i++)
        buffers->out[i] =
            (WNNNamedTensor){ports[i].name, make_tensor(context, &ports[i], &buffers->outputs[i])};
    ports = wnnGraphGetInputs(graph, &count);
    buffers->in = must_allocate(count * sizeof *buffers->in);
    for (size_t i = 0; i < count; i++) {
        buffers->in[i] = (WNNNamedTensor){ports[i].name, NULL};
        for (size_t k = 0; k < buffers->output_count; k++)
            if (buffers->outputs[k].data == buffers->inputs[i].data)
                buffers->in[i].tensor = buffers->out[k].tensor;
        if (!buffers->in[i].tensor)
            buffers->in[i].tensor = make_tensor(context, &ports[i], &buffers->inputs[i]);
    }
}

static bool run_once(struct session *session, WNNGraph graph, const struct buffers *buffers,
                     struct error *error)
{
    if (!buffers->in)
        return session_compute(session, graph, buffers->input_count, buffers->inputs, buffers->output_count,
                               buffers->outputs, error);
    WNNFuture future = session_begin_dispatch(session, graph, buffers->input_count, buffers->in,
                                              buffers->output_count, buffers->out, error);
    return session_await(session, future, error);
}

static bool run(struct session *session, WNNGraph graph, const struct buffers *buffers, double seconds,
                double *least)
{
    struct error error = {WNNStatus_Success, ""};
    double begin = now_seconds();
    for (int i = 0; i < 3 || now_seconds() - begin < seconds; i++) {
        double before = now_seconds();
        if (!run_once(session, graph, buffers, &error))
            return fprintf(stderr, "%s\n", error.message), false;
        *least = fmin(*least, now_seconds() - before);
    }
    return true;
}

static bool same(WNNStringView a, WNNStringView b)
{
    return a.length == b.length && memcmp(a.data, b.data, a.length) == 0;
}

// The nodes of one operator and kernel together, from the first of them.
static void print_kind(const WNNNodeProfile *nodes, size_t first, size_t count)
{
    uint64_t nanoseconds = 0, size = 0;
    unsigned number = 0;
    for (size_t i = 0; i < count; i++) {
        if (!same(nodes[i].operation, nodes[first].operation) || !same(nodes[i].kernel, nodes[first].kernel))
            continue;
        if (i < first)
            return;
        nanoseconds += nodes[i].minNanoseconds;
        size += nodes[i].bytes;
        number++;
    }
    printf("%8.3f ms %4u x %.*s, %.*s: %.1f GB/s\n", (double)nanoseconds * 1e-6, number,
           (int)nodes[first].operation.length, nodes[first].operation.data, (int)nodes[first].kernel.length,
           nodes[first].kernel.data, (double)size / (double)nanoseconds);
}

static void print_profile(WNNGraph graph)
{
    size_t count = 0;
    if (wnnGraphGetProfile(graph, NULL, 0, NULL, &count))
        return;
    WNNNodeProfile *nodes = must_allocate(count * sizeof *nodes);
    for (size_t i = 0; i < count; i++)
        nodes[i] = (WNNNodeProfile)WNN_NODE_PROFILE_INIT;
    if (!wnnGraphGetProfile(graph, NULL, count, nodes, &count))
        for (size_t i = 0; i < count; i++)
            print_kind(nodes, i, count);
    free(nodes);
}

static int measure(struct session *session, const struct options *options)
{
    char message[512] = "";
    double begin = now_seconds(), least = INFINITY;
    WNNGraph graph = build(session, options, message, sizeof message);
    if (!graph)
        return fprintf(stderr, "%s\n", message), 1;
    double built = now_seconds() - begin;
    struct buffers buffers = make_buffers(graph, options);
    if (strcmp(options->backend, "gpu") == 0)
        make_tensors(session->context, graph, &buffers);
    struct peer_result peer = {.name = ""};
    struct error error = {WNNStatus_Success, ""};
    bool good = true;
    for (unsigned i = 0; good && i < options->rounds; i++) {
        good = run(session, graph, &buffers, options->seconds, &least);
        if (good && options->vs[0] && !peer_run(options->vs, "llama", options->threads, &peer, &error))
            good = fprintf(stderr, "%s\n", error.message) < 0;
    }
    printf("llama %-8s %-7s %3u tokens, %2u threads: built in %5.2f s, %8.3f ms", options->weights,
           options->half ? "float16" : "float32", options->tokens, options->threads, built, least * 1e3);
    if (peer.found)
        printf(", %s %8.3f ms, ratio %.2f", peer.name, peer.least * 1e3, least / peer.least);
    printf("%s\n", options->vs[0] && !peer.found ? ", no peer" : "");
    if (options->profile) {
        double unused = INFINITY;
        wnnGraphSetProfiling(graph, true);
        good = run(session, graph, &buffers, options->seconds, &unused) && good;
        print_profile(graph);
    }
    wnnGraphRelease(graph);
    return !good;
}

static bool parse(struct options *options, const char *word)
{
    options->half |= strcmp(word, "--half") == 0;
    options->fast |= strcmp(word, "--fast") == 0;
    options->profile |= strcmp(word, "--profile") == 0;
    return strcmp(word, "--half") == 0 || strcmp(word, "--fast") == 0 || strcmp(word, "--profile") == 0 ||
           sscanf(word, "--weights=%15s", options->weights) == 1 ||
           sscanf(word, "--vs=%1023[^\n]", options->vs) == 1 ||
           sscanf(word, "--backend=%15s", options->backend) == 1 ||
           sscanf(word, "--tokens=%u", &options->tokens) == 1 ||
           sscanf(word, "--threads=%u", &options->threads) == 1 ||
           sscanf(word, "--layers=%u", &options->layers) == 1 ||
           sscanf(word, "--vocabulary=%u", &options->vocabulary) == 1 ||
           sscanf(word, "--rounds=%u", &options->rounds) == 1 ||
           sscanf(word, "--time=%lf", &options->seconds) == 1;
}

int main(int argc, char **argv)
{
    static const char *const forms[] = {"float32", "float16", "int8", "uint4"};
    struct options options = {"uint4", "", "cpu", false, false, false, 1, 1, 30, 49152, 1, 1};
    struct session_options settings = SESSION_OPTIONS_INIT;
    struct session session;
    struct error error = {WNNStatus_Success, ""};
    bool known = false;
    for (int i = 1; i < argc; i++)
        if (!parse(&options, argv[i]))
            return fputs(usage, stderr), 2;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        known |= strcmp(options.weights, forms[i]) == 0;
    if (!known || options.tokens == 0 || options.tokens > CONTEXT || options.layers > 256)
        return fputs(usage, stderr), 2;
    options.half |= strcmp(options.weights, "float16") == 0;
    char number[16];
    snprintf(number, sizeof number, "%u", options.tokens);
    setenv("LLAMA_WEIGHTS", options.weights, 1);
    setenv("LLAMA_TOKENS", number, 1);
    setenv("LLAMA_BACKEND", options.backend, 1);
    settings.threads = options.threads;
    settings.backend = options.backend;
    settings.fast = options.fast;
    if (!session_open(&session, &settings, &error))
        return fprintf(stderr, "%s\n", error.message), 1;
    int code = measure(&session, &options);
    session_close(&session);
    return code;
}
