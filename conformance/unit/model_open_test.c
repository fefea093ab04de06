// SPDX-License-Identifier: Apache-2.0
#include "conformance/unit/require.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <webnn/model.h>
#include <webnn/ops.h>

// ---------------------------------------------------------------------------------------------------------------
// A model, written as protocol buffers are
// ---------------------------------------------------------------------------------------------------------------

struct writer {
    unsigned char bytes[4096];
    size_t size;
};

static void put_byte(struct writer *w, unsigned byte)
{
    REQUIRE(w->size < sizeof w->bytes);
    w->bytes[w->size++] = (unsigned char)byte;
}

static void put_varint(struct writer *w, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        put_byte(w, (unsigned)(value & 127) | 128);
    put_byte(w, (unsigned)value);
}

static void put_number(struct writer *w, unsigned field, uint64_t value)
{
    put_varint(w, field << 3);
    put_varint(w, value);
}

static void put_bytes(struct writer *w, unsigned field, const void *data, size_t size)
{
    put_varint(w, field << 3 | 2);
    put_varint(w, size);
    for (size_t i = 0; i < size; i++)
        put_byte(w, ((const unsigned char *)data)[i]);
}

static void put_text(struct writer *w, unsigned field, const char *text)
{
    put_bytes(w, field, text, strlen(text));
}

static void put_message(struct writer *w, unsigned field, const struct writer *message)
{
    put_bytes(w, field, message->bytes, message->size);
}

// A float32 tensor; sizes below 0 have the name "n".
static void put_value(struct writer *graph, unsigned field, const char *name, size_t rank, const int *dims)
{
    struct writer shape = {0}, tensor = {0}, type = {0}, value = {0};
    for (size_t i = 0; i < rank; i++) {
        struct writer dim = {0};
        if (dims[i] < 0)
            put_text(&dim, 2, "n");
        else
            put_number(&dim, 1, (uint64_t)dims[i]);
        put_message(&shape, 1, &dim);
    }
    put_number(&tensor, 1, 1);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &type);
    put_message(graph, field, &value);
}

static void put_node(struct writer *graph, const char *operation, const char *name, const char *a,
                     const char *b, const char *to)
{
    struct writer node = {0};
    put_text(&node, 1, a);
    if (b)
        put_text(&node, 1, b);
    put_text(&node, 2, to);
    put_text(&node, 3, name);
    put_text(&node, 4, operation);
    put_message(graph, 1, &node);
}

// w[3] = 10, 20, 30; in the file or, with a location, in another one.
static void put_weights(struct writer *graph, const char *location)
{
    static const float numbers[] = {10, 20, 30};
    struct writer tensor = {0};
    put_number(&tensor, 1, 3);
    put_number(&tensor, 2, 1);
    put_text(&tensor, 8, "w");
    if (location) {
        struct writer entry = {0};
        put_text(&entry, 1, "location");
        put_text(&entry, 2, location);
        put_message(&tensor, 13, &entry);
        put_number(&tensor, 14, 1);
    } else {
        put_bytes(&tensor, 9, numbers, sizeof numbers);
    }
    put_message(graph, 5, &tensor);
}

static void finish_model(struct writer *model, const struct writer *graph)
{
    struct writer opset = {0};
    put_number(model, 1, 8);
    put_text(model, 2, "test");
    put_message(model, 7, graph);
    put_number(&opset, 2, 17);
    put_message(model, 8, &opset);
}

// y[n, 3] = relu(x[n, 3] + w)
static struct writer make_model(const char *location)
{
    struct writer graph = {0}, model = {0};
    put_node(&graph, "Add", "sum", "x", "w", "t");
    put_node(&graph, "Relu", "positive", "t", NULL, "y");
    put_text(&graph, 2, "small");
    put_weights(&graph, location);
    put_value(&graph, 11, "x", 2, (int[]){-1, 3});
    put_value(&graph, 12, "y", 2, (int[]){-1, 3});
    finish_model(&model, &graph);
    return model;
}

// ---------------------------------------------------------------------------------------------------------------
// Opening and recording
// ---------------------------------------------------------------------------------------------------------------

static char message[1024];

static WNNModel open_bytes(const struct writer *bytes, const char *path)
{
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModel model;
    descriptor.path.data = path;
    descriptor.data = bytes->bytes;
    descriptor.byteLength = bytes->size;
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_Success);
    return model;
}

static bool is(WNNStringView view, const char *text)
{
    return view.length == strlen(text) && memcmp(view.data, text, view.length) == 0;
}

static void describe(void)
{
    struct writer bytes = make_model(NULL);
    WNNModel model = open_bytes(&bytes, "small.onnx");
    WNNModelInfo info = WNN_MODEL_INFO_INIT;
    size_t count;
    REQUIRE_EQUAL_INT(wnnModelGetInfo(model, &info), WNNStatus_Success);
    REQUIRE(is(info.name, "small") && is(info.producer, "test"));
    REQUIRE_EQUAL_INT(info.nodeCount, 2);
    REQUIRE_EQUAL_INT(info.weightBytes, 12);
    const WNNModelValue *inputs = wnnModelGetInputs(model, &count);
    REQUIRE_EQUAL_INT(count, 1);
    REQUIRE(is(inputs[0].name, "x") && is(inputs[0].typeName, "float32") && inputs[0].hasShape);
    REQUIRE_EQUAL_INT(inputs[0].rank, 2);
    REQUIRE(is(inputs[0].dimensions[0].name, "n") && inputs[0].dimensions[0].size == 0);
    REQUIRE_EQUAL_INT(inputs[0].dimensions[1].size, 3);
    const WNNModelOperator *operators = wnnModelGetOperators(model, &count);
    REQUIRE_EQUAL_INT(count, 2);
    REQUIRE(is(operators[1].name, "Relu") && operators[1].supported && operators[1].count == 1);
    REQUIRE(is(wnnModelGetOutputs(model, &count)[0].name, "y"));
    wnnModelRelease(model);
}

struct lab {
    WNNContext context;
    WNNGraphBuilder builder;
};

static struct lab begin(void)
{
    struct lab lab;
    REQUIRE_EQUAL_INT(wnnCreateContext(NULL, &lab.context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(lab.context, &lab.builder), WNNStatus_Success);
    return lab;
}

static void end(struct lab *lab)
{
    wnnGraphBuilderRelease(lab->builder);
    wnnContextRelease(lab->context);
}

static WNNStatus record(WNNModel model, struct lab *lab, uint32_t n, WNNNamedOperand *output)
{
    WNNModelDimensionValue dimension = {{"n", 1}, n};
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    options.dimensions = &dimension;
    options.dimensionCount = n > 0;
    size_t count;
    return wnnModelRecord(model, lab->builder, &options, 1, output, &count, sizeof message, message);
}

// With an operator of the program's behind it, after the model was released.
static void compute_with(WNNModel model)
{
    struct lab lab = begin();
    WNNNamedOperand output;
    REQUIRE_EQUAL_INT(record(model, &lab, 2, &output), WNNStatus_Success);
    REQUIRE(is(output.name, "y"));
    WNNNamedOperand negative = {{"z", 1}, wnnGraphBuilderNeg(lab.builder, output.operand, NULL)};
    wnnModelRelease(model);
    WNNGraph graph;
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(lab.builder, 1, &negative, &graph, sizeof message, message),
                      WNNStatus_Success);
    float x[] = {-100, 1, 2, 3, 4, 5}, z[6];
    WNNNamedBuffer in = {{"x", 1}, x, sizeof x, WNNDataType_Float32},
                   out = {{"z", 1}, z, sizeof z, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputs = &in;
    descriptor.outputs = &out;
    descriptor.inputCount = descriptor.outputCount = 1;
    REQUIRE_EQUAL_INT(wnnContextComputeSync(lab.context, &descriptor, sizeof message, message),
                      WNNStatus_Success);
    static const float expected[] = {0, -21, -32, -13, -24, -35};
    for (int i = 0; i < 6; i++)
        REQUIRE(z[i] == expected[i]);
    wnnGraphRelease(graph);
    end(&lab);
}

static void compute(void)
{
    static struct writer bytes; // lent to the graph
    bytes = make_model(NULL);
    compute_with(open_bytes(&bytes, "small.onnx"));
}

static void open_dimension(void)
{
    struct writer bytes = make_model(NULL);
    WNNModel model = open_bytes(&bytes, "small.onnx");
    struct lab lab = begin();
    WNNNamedOperand output;
    REQUIRE_EQUAL_INT(record(model, &lab, 0, &output), WNNStatus_NotSupportedError);
    REQUIRE_EQUAL_STR(message, "small.onnx: dimension 0 of input \"x\" is \"n\", which has no value");
    end(&lab);
    wnnModelRelease(model);
}

static void all_unsupported(void)
{
    struct writer graph = {0}, bytes = {0};
    put_node(&graph, "Frobnicate", "first", "x", NULL, "a");
    put_node(&graph, "Relu", "between", "a", NULL, "b");
    put_node(&graph, "Unique", "second", "x", NULL, "c");
    put_value(&graph, 11, "x", 1, (int[]){3});
    put_value(&graph, 12, "b", 1, (int[]){3});
    finish_model(&bytes, &graph);
    WNNModel model = open_bytes(&bytes, "odd.onnx");
    struct lab lab = begin();
    WNNNamedOperand output;
    REQUIRE_EQUAL_INT(record(model, &lab, 0, &output), WNNStatus_NotSupportedError);
    REQUIRE_EQUAL_STR(message,
                      "odd.onnx: node \"first\" (Frobnicate): the operator is not supported\n"
                      "odd.onnx: node \"second\" (Unique): the operator is not supported: how many elements "
                      "remain depends on what they are");
    end(&lab);
    wnnModelRelease(model);
}

// y = max(x) > m2 ? relu(x) : -x, of which the graph computes the condition.
static struct writer make_choice(void)
{
    static const char *const names[] = {"then_branch", "else_branch"}, *const operators[] = {"Relu", "Neg"};
    struct writer graph = {0}, node = {0}, model = {0};
    put_node(&graph, "ReduceMax", "largest", "x", NULL, "m");
    put_node(&graph, "Greater", "condition", "m", "m2", "c");
    put_text(&node, 1, "c");
    put_text(&node, 2, "y");
    put_text(&node, 3, "choice");
    put_text(&node, 4, "If");
    for (int i = 0; i < 2; i++) {
        struct writer branch = {0}, attribute = {0};
        put_node(&branch, operators[i], operators[i], "x", NULL, "b");
        put_value(&branch, 12, "b", 1, (int[]){3});
        put_text(&attribute, 1, names[i]);
        put_message(&attribute, 6, &branch);
        put_number(&attribute, 20, 5);
        put_message(&node, 5, &attribute);
    }
    put_message(&graph, 1, &node);
    put_value(&graph, 11, "x", 1, (int[]){3});
    put_value(&graph, 11, "m2", 1, (int[]){1});
    put_value(&graph, 12, "y", 1, (int[]){3});
    finish_model(&model, &graph);
    return model;
}

static void computed_condition(void)
{
    struct writer bytes = make_choice();
    WNNModel model = open_bytes(&bytes, "choice.onnx");
    struct lab lab = begin();
    WNNNamedOperand output;
    REQUIRE_EQUAL_INT(record(model, &lab, 0, &output), WNNStatus_Success);
    WNNGraph graph;
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(lab.builder, 1, &output, &graph, sizeof message, message),
                      WNNStatus_Success);
    for (int i = 0; i < 2; i++) {
        float x[] = {-1, 2, 3}, limit = i ? 5 : 0, y[3];
        WNNNamedBuffer in[] = {{{"x", 1}, x, sizeof x, WNNDataType_Float32},
                               {{"m2", 2}, &limit, sizeof limit, WNNDataType_Float32}};
        WNNNamedBuffer out = {{"y", 1}, y, sizeof y, WNNDataType_Float32};
        WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
        descriptor.graph = graph;
        descriptor.inputs = in;
        descriptor.inputCount = 2;
        descriptor.outputs = &out;
        descriptor.outputCount = 1;
        REQUIRE_EQUAL_INT(wnnContextComputeSync(lab.context, &descriptor, sizeof message, message),
                          WNNStatus_Success);
        for (int k = 0; k < 3; k++)
            REQUIRE(y[k] == (i ? -x[k] : k ? x[k] : 0));
    }
    wnnGraphRelease(graph);
    end(&lab);
    wnnModelRelease(model);
}

static void write_file(const char *folder, const char *name, const void *data, size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static WNNModel open_file(const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModel model = NULL;
    descriptor.path.data = path;
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_Success);
    return model;
}

static void external_data(void)
{
    static const float numbers[] = {10, 20, 30};
    char folder[] = "/tmp/model-XXXXXX";
    REQUIRE(mkdtemp(folder));
    struct writer bytes = make_model("weights.bin");
    write_file(folder, "model.onnx", bytes.bytes, bytes.size);
    WNNModel model = open_file(folder);
    struct lab lab = begin();
    WNNNamedOperand output;
    REQUIRE_EQUAL_INT(record(model, &lab, 2, &output), WNNStatus_NotSupportedError);
    REQUIRE(strstr(message, "weights.bin: No such file"));
    end(&lab);
    write_file(folder, "weights.bin", numbers, sizeof numbers);
    compute_with(model);

    bytes = make_model("../weights.bin");
    write_file(folder, "model.onnx", bytes.bytes, bytes.size);
    model = open_file(folder);
    lab = begin();
    REQUIRE_EQUAL_INT(record(model, &lab, 2, &output), WNNStatus_NotSupportedError);
    REQUIRE(strstr(message, "its file is not in the folder of the model"));
    end(&lab);
    wnnModelRelease(model);
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", folder);
    REQUIRE_EQUAL_INT(system(command), 0);
}

static void refuse_other_files(void)
{
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModel model;
    descriptor.path.data = "text";
    descriptor.data = "hello";
    descriptor.byteLength = 5;
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "text: its format is not known; models of ONNX are read");
    REQUIRE(!model);
    descriptor = (WNNModelDescriptor)WNN_MODEL_DESCRIPTOR_INIT;
    descriptor.path.data = "/no/such/file";
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_UnknownError);
    REQUIRE(strstr(message, "/no/such/file: No such file"));
    REQUIRE_EQUAL_INT(wnnModelOpen(NULL, &model, 0, NULL), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, NULL, 0, NULL), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnModelRecord(NULL, NULL, NULL, 0, NULL, NULL, 0, NULL), WNNStatus_TypeError);
    wnnModelRelease(NULL);
}

// Cut and changed everywhere: an error or a graph, never more.
static void damaged(void)
{
    struct writer whole = make_model(NULL);
    struct lab lab = begin();
    for (size_t i = 0; i < whole.size * 3; i++) {
        struct writer bytes = whole;
        if (i < whole.size)
            bytes.size = i;
        else
            bytes.bytes[i % whole.size] ^= (unsigned char)(i < 2 * whole.size ? 0xFF : 1 + i % 7);
        unsigned char *exact = malloc(bytes.size + 1);
        REQUIRE(exact);
        memcpy(exact, bytes.bytes, bytes.size);
        WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
        descriptor.data = exact;
        descriptor.byteLength = bytes.size;
        WNNModel model;
        WNNNamedOperand outputs[4];
        if (wnnModelOpen(&descriptor, &model, sizeof message, message) == WNNStatus_Success) {
            WNNGraphBuilder builder;
            REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(lab.context, &builder), WNNStatus_Success);
            wnnModelRecord(model, builder, NULL, 4, outputs, NULL, sizeof message, message);
            wnnGraphBuilderRelease(builder);
        }
        wnnModelRelease(model);
        free(exact);
    }
    end(&lab);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(describe());
    CASE(compute());
    CASE(open_dimension());
    CASE(all_unsupported());
    CASE(computed_condition());
    CASE(external_data());
    CASE(refuse_other_files());
    CASE(damaged());
    return cases_end();
}
