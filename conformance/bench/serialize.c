// SPDX-License-Identifier: Apache-2.0
//
// What a recorded graph costs as a message: BERT-base as converters from PyTorch write it, with normalization
// and gelu in single operators, whose weights are ranges of a file. Times are the best of many, of the whole
// and of one operator: recording by calls for comparison, writing, and reading, which records again.
//
// --check fails if a bar is missed: 2 ms for writing and reading together, 2 us an operator for each of the
// two.

#include "conformance/clock.h"

#include <webnn/ops.h>
#include <webnn/serialize.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOKENS = 128,
    WIDTH = 768,
    INNER = 3072,
    LAYERS = 12,
    ROUNDS = 200
};

static char weights[4]; // what constants are said to begin with; nothing reads them
static unsigned label_number;

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "webnn-bench-serialize: %s\n", what);
    exit(1);
}

// ---------------------------------------------------------------------------------------------------------------
// The network
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand lend(WNNGraphBuilder b, const WNNOperandDescriptor *descriptor)
{
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    bytes.data = weights;
    bytes.byteLength = sizeof(float);
    for (size_t i = 0; i < descriptor->shape.count; i++)
        bytes.byteLength *= descriptor->shape.data[i];
    return wnnGraphBuilderExternalConstant(b, descriptor, &bytes);
}

static WNNOperand weight(WNNGraphBuilder b, size_t rank, uint32_t first, uint32_t second)
{
    const uint32_t dims[2] = {first, second};
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, {dims, rank}};
    return lend(b, &descriptor);
}

static WNNOperand scalar(WNNGraphBuilder b, double value)
{
    return wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberFloat64(value));
}

// Options with a label such as converters write.
static const WNNOperatorOptions *say(const char *what)
{
    static char text[96];
    static WNNOperatorOptions options = WNN_OPERATOR_OPTIONS_INIT;
    snprintf(text, sizeof text, "/bert/encoder/layer.%u/%s", label_number++ / 60, what);
    options.label = (WNNStringView){text, WNN_STRLEN};
    return &options;
}

static WNNOperand project(WNNGraphBuilder b, WNNOperand x, uint32_t from, uint32_t to)
{
    x = wnnGraphBuilderMatmul(b, x, weight(b, 2, from, to), say("MatMul"));
    return wnnGraphBuilderAdd(b, x, weight(b, 1, to, 0), say("Add"));
}

static WNNOperand heads(WNNGraphBuilder b, WNNOperand x, const uint32_t permutation[4])
{
    static const uint32_t shape[4] = {1, TOKENS, 12, 64};
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = (WNNUint32List){permutation, 4};
    options.label = say("Transpose")->label;
    x = wnnGraphBuilderReshape(b, x, (WNNUint32List){shape, 4}, say("Reshape"));
    options.label = say("Transpose")->label;
    return wnnGraphBuilderTranspose(b, x, &options);
}

static WNNOperand normalize(WNNGraphBuilder b, WNNOperand x)
{
    static const uint32_t axes[1] = {2};
    WNNReduceOptions mean = WNN_REDUCE_OPTIONS_INIT;
    mean.axes = (WNNUint32List){axes, 1};
    mean.keepDimensions = true;
    mean.label = say("ReduceMean")->label;
    x = wnnGraphBuilderSub(b, x, wnnGraphBuilderReduceMean(b, x, &mean), say("Sub"));
    WNNOperand square = wnnGraphBuilderPow(b, x, scalar(b, 2), say("Pow"));
    mean.label = say("ReduceMean")->label;
    WNNOperand variance = wnnGraphBuilderReduceMean(b, square, &mean);
    variance = wnnGraphBuilderAdd(b, variance, scalar(b, 1e-12), say("Add"));
    x = wnnGraphBuilderDiv(b, x, wnnGraphBuilderSqrt(b, variance, say("Sqrt")), say("Div"));
    x = wnnGraphBuilderMul(b, x, weight(b, 1, WIDTH, 0), say("Mul"));
    return wnnGraphBuilderAdd(b, x, weight(b, 1, WIDTH, 0), say("Add"));
}

static WNNOperand gelu(WNNGraphBuilder b, WNNOperand x)
{
    WNNOperand y = wnnGraphBuilderDiv(b, x, scalar(b, 1.41421356), say("Div"));
    y = wnnGraphBuilderAdd(b, wnnGraphBuilderErf(b, y, say("Erf")), scalar(b, 1), say("Add"));
    y = wnnGraphBuilderMul(b, x, y, say("Mul"));
    return wnnGraphBuilderMul(b, y, scalar(b, 0.5), say("Mul"));
}

static WNNOperand encode(WNNGraphBuilder b, WNNOperand x, WNNOperand mask)
{
    static const uint32_t straight[4] = {0, 2, 1, 3}, crossed[4] = {0, 2, 3, 1},
                          joined[3] = {1, TOKENS, WIDTH};
    WNNOperand q = heads(b, project(b, x, WIDTH, WIDTH), straight);
    WNNOperand k = heads(b, project(b, x, WIDTH, WIDTH), crossed);
    WNNOperand v = heads(b, project(b, x, WIDTH, WIDTH), straight);
    WNNOperand scores =
        wnnGraphBuilderDiv(b, wnnGraphBuilderMatmul(b, q, k, say("MatMul")), scalar(b, 8), say("Div"));
    scores = wnnGraphBuilderAdd(b, scores, mask, say("Add"));
    WNNOperand mixed =
        wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 3, say("Softmax")), v, say("MatMul"));
    WNNTransposeOptions transpose = WNN_TRANSPOSE_OPTIONS_INIT;
    transpose.permutation = (WNNUint32List){straight, 4};
    mixed = wnnGraphBuilderTranspose(b, mixed, &transpose);
    mixed = wnnGraphBuilderReshape(b, mixed, (WNNUint32List){joined, 3}, say("Reshape"));
    x = normalize(b, wnnGraphBuilderAdd(b, x, project(b, mixed, WIDTH, WIDTH), say("Add")));
    WNNOperand inner = project(b, gelu(b, project(b, x, WIDTH, INNER)), INNER, WIDTH);
    return normalize(b, wnnGraphBuilderAdd(b, x, inner, say("Add")));
}

static WNNOperand record(WNNGraphBuilder b)
{
    const uint32_t ids[2] = {1, TOKENS}, broadcast[4] = {1, 1, 1, TOKENS};
    WNNOperandDescriptor tokens = {NULL, WNNDataType_Int32, {ids, 2}},
                         masked = {NULL, WNNDataType_Float32, {broadcast, 4}};
    label_number = 0;
    WNNOperand input = wnnGraphBuilderInput(b, (WNNStringView){"input_ids", WNN_STRLEN}, &tokens);
    WNNOperand types = wnnGraphBuilderInput(b, (WNNStringView){"token_type_ids", WNN_STRLEN}, &tokens);
    WNNOperand mask = wnnGraphBuilderInput(b, (WNNStringView){"attention_mask", WNN_STRLEN}, &masked);
    WNNOperand x = wnnGraphBuilderGather(b, weight(b, 2, 30522, WIDTH), input, NULL);
    x = wnnGraphBuilderAdd(b, x, wnnGraphBuilderGather(b, weight(b, 2, 2, WIDTH), types, NULL), say("Add"));
    x = normalize(b, wnnGraphBuilderAdd(b, x, weight(b, 2, TOKENS, WIDTH), say("Add")));
    mask = wnnGraphBuilderMul(b, wnnGraphBuilderSub(b, scalar(b, 1), mask, say("Sub")), scalar(b, -1e9),
                              say("Mul"));
    for (int i = 0; i < LAYERS; i++)
        x = encode(b, x, mask);
    return x;
}

// ---------------------------------------------------------------------------------------------------------------
// The message
// ---------------------------------------------------------------------------------------------------------------

static struct {
    unsigned char bytes[1 << 20];
    size_t size;
} written;

static WNNStatus refer(const WNNRecordedOperand *constant, WNNConstantReference *reference, void *userdata1,
                       void *userdata2)
{
    (void)userdata1;
    (void)userdata2;
    if (constant->data != weights)
        return WNNStatus_Success;
    reference->form = WNNConstantForm_FileRange;
    reference->offset = wnnOperandGetIndex(constant->operand);
    return WNNStatus_Success;
}

static WNNStatus keep(const void *data, size_t size, uint64_t rest, void *userdata1, void *userdata2)
{
    (void)userdata1;
    (void)userdata2;
    if (written.size + size + rest > sizeof written.bytes)
        return WNNStatus_OutOfMemory;
    memcpy(written.bytes + written.size, data, size);
    written.size += size;
    return WNNStatus_Success;
}

static WNNOperand find(WNNGraphBuilder b, const WNNOperandDescriptor *descriptor,
                       const WNNConstantReference *reference, void *userdata1, void *userdata2)
{
    (void)reference;
    (void)userdata1;
    (void)userdata2;
    return lend(b, descriptor);
}

struct times {
    double first, best; // seconds
};

static void note(struct times *times, double begin)
{
    double time = now_seconds() - begin;
    if (times->first == 0)
        times->first = times->best = time;
    if (time < times->best)
        times->best = time;
}

static void show(const char *what, const struct times *times, size_t operators)
{
    printf("%-18s %6.3f ms  %5.2f us an operator; the first time %6.3f ms\n", what, times->best * 1e3,
           times->best * 1e6 / (double)operators, times->first * 1e3);
}

int main(int argc, char **argv)
{
    bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
    struct times recording = {0}, writing = {0}, reading = {0};
    size_t operators = 0;
    WNNContextDescriptor describe = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    describe.threadCount = 1;
    must(!wnnCreateContext(&describe, &context), "no context");
    for (int i = 0; i < ROUNDS; i++) {
        WNNGraphBuilder from = NULL, to = NULL;
        must(!wnnContextCreateGraphBuilder(context, &from) && !wnnContextCreateGraphBuilder(context, &to),
             "no builder");
        double begin = now_seconds();
        WNNNamedOperand output = {{"last_hidden_state", WNN_STRLEN}, record(from)};
        note(&recording, begin);
        must(output.operand, "the graph was not recorded");
        operators = wnnGraphBuilderGetOperatorCount(from);
        WNNSerializeDescriptor out = {NULL, 1, &output, refer, keep, NULL, NULL};
        written.size = 0;
        begin = now_seconds();
        must(!wnnGraphBuilderSerialize(from, &out, 0, NULL), "not written");
        note(&writing, begin);
        WNNDeserializeDescriptor in = {NULL, written.bytes, written.size, find, NULL, NULL};
        WNNDeserializedGraph graph = WNN_DESERIALIZED_GRAPH_INIT;
        begin = now_seconds();
        must(!wnnGraphBuilderDeserialize(to, &in, &graph), "not read");
        note(&reading, begin);
        wnnGraphBuilderRelease(from);
        wnnGraphBuilderRelease(to);
    }
    wnnContextRelease(context);
    printf("%zu operators, %zu bytes\n", operators, written.size);
    show("recording by calls", &recording, operators);
    show("writing", &writing, operators);
    show("reading", &reading, operators);
    double each = 2e-6 * (double)operators;
    bool good = writing.best + reading.best <= 2e-3 && writing.best <= each && reading.best <= each;
    return check && !good;
}
