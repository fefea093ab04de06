// SPDX-License-Identifier: Apache-2.0
//
// Models in files by way of serialized graphs: serialized-models FILE...
//
// Each model is recorded, written, and recorded again by another builder, with weights that stay where they
// are. The bytes of the second are those of the first, they are a small part of the weights, and both graphs
// compute the same bits.

#include "conformance/serialized.h"
#include "conformance/unit/require.h"

#include <webnn/model.h>

#define MAX_OUTPUTS 64

static WNNContext context;

static WNNStringView view(const char *text)
{
    return (WNNStringView){text, WNN_STRLEN};
}

static size_t count_elements(const WNNOperandDescriptor *descriptor)
{
    size_t count = 1;
    for (size_t i = 0; i < descriptor->shape.count; i++)
        count *= descriptor->shape.data[i];
    return count;
}

// Room for what the descriptors say, of 8 bytes an element, more than which none has.
static WNNNamedBuffer *make_buffers(WNNContext of, const WNNNamedDescriptor *list, size_t count)
{
    WNNNamedBuffer *buffers = calloc(count + 1, sizeof *buffers);
    for (size_t i = 0; i < count; i++) {
        WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
        WNNTensor tensor;
        descriptor.dataType = list[i].descriptor.dataType;
        descriptor.shape = list[i].descriptor.shape;
        REQUIRE_EQUAL_INT(wnnContextCreateTensor(of, &descriptor, &tensor), WNNStatus_Success);
        buffers[i] = (WNNNamedBuffer){list[i].name, calloc(count_elements(&list[i].descriptor) + 1, 8),
                                      wnnTensorGetByteLength(tensor), descriptor.dataType};
        wnnTensorRelease(tensor);
        REQUIRE(buffers[i].data);
    }
    return buffers;
}

static void free_buffers(WNNNamedBuffer *buffers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(buffers[i].data);
    free(buffers);
}

// Small numbers, the same every time.
static void fill(const WNNNamedBuffer *buffer)
{
    unsigned state = 1;
    float *values = buffer->data;
    if (buffer->dataType == WNNDataType_Float32)
        for (size_t i = 0; i < buffer->byteLength / sizeof *values;
             i++, state = state * 1664525u + 1013904223u)
            values[i] = (float)(state >> 16) / 32768.0f - 1.0f;
}

// The outputs of a graph for inputs that depend on nothing else; to be freed.
static WNNNamedBuffer *compute(WNNGraph graph, size_t *output_count)
{
    char message[1024] = "";
    size_t input_count;
    const WNNNamedDescriptor *in = wnnGraphGetInputs(graph, &input_count),
                             *out = wnnGraphGetOutputs(graph, output_count);
    WNNNamedBuffer *inputs = make_buffers(context, in, input_count),
                   *outputs = make_buffers(context, out, *output_count);
    for (size_t i = 0; i < input_count; i++)
        fill(&inputs[i]);
    WNNComputeDescriptor descriptor = {
        NULL, WNN_STRING_VIEW_INIT, graph, input_count, *output_count, inputs, outputs};
    wnnContextComputeSync(context, &descriptor, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    free_buffers(inputs, input_count);
    return outputs;
}

static WNNNamedBuffer *build_and_compute(WNNGraphBuilder builder, size_t count,
                                         const WNNNamedOperand *outputs)
{
    char message[1024] = "";
    WNNGraph graph;
    size_t result_count;
    wnnGraphBuilderBuildSync(builder, count, outputs, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    WNNNamedBuffer *results = compute(graph, &result_count);
    REQUIRE_EQUAL_INT(result_count, count);
    wnnGraphRelease(graph);
    return results;
}

static void check_sizes(WNNGraphBuilder builder, size_t count, const WNNNamedOperand *outputs)
{
    struct serialized bytes = {0};
    uint64_t weights = 0;
    for (size_t i = 0; i < wnnGraphBuilderGetOperandCount(builder); i++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(builder, i, &operand);
        weights += operand.byteLength;
    }
    REQUIRE_EQUAL_INT(wnn_serialize(builder, count, outputs, true, &bytes, 0, NULL), WNNStatus_Success);
    printf("  %zu operators, %llu bytes of weights: %zu bytes\n", wnnGraphBuilderGetOperatorCount(builder),
           (unsigned long long)weights, bytes.size);
    REQUIRE(bytes.size < 1024 + 256 * wnnGraphBuilderGetOperandCount(builder));
    free(bytes.data);
}

static void test_model(const char *path)
{
    char message[4096] = "";
    WNNNamedOperand outputs[MAX_OUTPUTS];
    WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
    WNNDeserializedGraph read;
    WNNGraphBuilder from, to;
    WNNModel model;
    size_t count = 0;
    file.path = view(path);
    wnnModelOpen(&file, &model, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE(!wnnContextCreateGraphBuilder(context, &from) && !wnnContextCreateGraphBuilder(context, &to));
    wnnModelRecord(model, from, NULL, MAX_OUTPUTS, outputs, &count, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    REQUIRE(count <= MAX_OUTPUTS);
    const char *problem =
        wnn_serialize_across(from, count, outputs, true, to, &read, sizeof message, message);
    REQUIRE_EQUAL_STR(problem ? problem : "", "");
    check_sizes(from, count, outputs);
    WNNNamedBuffer *expected = build_and_compute(from, count, outputs),
                   *results = build_and_compute(to, read.outputCount, read.outputs);
    for (size_t i = 0; i < count; i++) {
        REQUIRE_EQUAL_INT(results[i].byteLength, expected[i].byteLength);
        REQUIRE(memcmp(results[i].data, expected[i].data, expected[i].byteLength) == 0);
    }
    free_buffers(expected, count);
    free_buffers(results, count);
    wnnGraphBuilderRelease(to);
    wnnGraphBuilderRelease(from);
    wnnModelRelease(model);
}

int main(int argc, char **argv)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    descriptor.threadCount = 1;
    cases_begin(1, argv);
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    for (int i = 1; i < argc; i++) {
        puts(argv[i]);
        CASE_AS(argv[i], test_model(argv[i]));
    }
    wnnContextRelease(context);
    return cases_end();
}
