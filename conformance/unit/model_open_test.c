// SPDX-License-Identifier: Apache-2.0
#include "conformance/unit/require.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
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

// Of external data.
static void put_entry(struct writer *tensor, const char *key, const char *value)
{
    struct writer entry = {0};
    put_text(&entry, 1, key);
    put_text(&entry, 2, value);
    put_message(tensor, 13, &entry);
}

// w[3] = 10, 20, 30; in the file or, with a location, in another one, behind an offset if there is one.
static void put_weights(struct writer *graph, const char *location, const char *offset)
{
    static const float numbers[] = {10, 20, 30};
    struct writer tensor = {0};
    put_number(&tensor, 1, 3);
    put_number(&tensor, 2, 1);
    put_text(&tensor, 8, "w");
    if (location) {
        put_entry(&tensor, "location", location);
        if (offset)
            put_entry(&tensor, "offset", offset);
        if (offset)
            put_entry(&tensor, "length", "12");
        put_number(&tensor, 14, 1);
    } else {
        put_bytes(&tensor, 9, numbers, sizeof numbers);
    }
    put_message(graph, 5, &tensor);
}

// `field`: of a model or a function.
static void put_opset(struct writer *to, unsigned field, unsigned version)
{
    struct writer opset = {0};
    put_number(&opset, 2, version);
    put_message(to, field, &opset);
}

static void finish_model_of(struct writer *model, const struct writer *graph, unsigned ir, unsigned opset)
{
    put_number(model, 1, ir);
    put_text(model, 2, "test");
    put_message(model, 7, graph);
    put_opset(model, 8, opset);
}

static void finish_model(struct writer *model, const struct writer *graph)
{
    finish_model_of(model, graph, 8, 17);
}

// y[n, 3] = relu(x[n, 3] + w)
static struct writer make_model_at(const char *location, const char *offset)
{
    struct writer graph = {0}, model = {0};
    put_node(&graph, "Add", "sum", "x", "w", "t");
    put_node(&graph, "Relu", "positive", "t", NULL, "y");
    put_text(&graph, 2, "small");
    put_weights(&graph, location, offset);
    put_value(&graph, 11, "x", 2, (int[]){-1, 3});
    put_value(&graph, 12, "y", 2, (int[]){-1, 3});
    finish_model(&model, &graph);
    return model;
}

static struct writer make_model(const char *location)
{
    return make_model_at(location, NULL);
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
    put_node(&graph, "Multinomial", "second", "b", NULL, "c"); // of what cannot be recorded
    put_value(&graph, 11, "x", 1, (int[]){3});
    put_value(&graph, 12, "b", 1, (int[]){3});
    finish_model(&bytes, &graph);
    WNNModel model = open_bytes(&bytes, "odd.onnx");
    struct lab lab = begin();
    WNNNamedOperand output;
    REQUIRE_EQUAL_INT(record(model, &lab, 0, &output), WNNStatus_NotSupportedError);
    REQUIRE_EQUAL_STR(message,
                      "odd.onnx: node \"first\" (Frobnicate): the operator is not supported\n"
                      "odd.onnx: node \"second\" (Multinomial): the operator is not supported: WebNN has no "
                      "random numbers");
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

// Weights behind 2 and 4 GiB of a file that has nothing else: offsets are not cut to 31 or 32 bits, and what
// lies behind the end is refused.
static void distant_external_data(void)
{
    static const float numbers[] = {10, 20, 30};
    static const struct {
        uint64_t offset;
        const char *text;
    } places[] = {{UINT64_C(2147483652), "2147483652"}, {UINT64_C(4294967360), "4294967360"}};
    char folder[] = "/tmp/model-XXXXXX", path[256];
    REQUIRE(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/weights.bin", folder);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    REQUIRE(file >= 0);
    bool fits = ftruncate(file, (off_t)(places[1].offset + sizeof numbers)) == 0;
    if (!fits)
        printf("skipped: no file of more than 4 GiB here\n");
    for (size_t i = 0; fits && i < 2; i++) {
        REQUIRE(pwrite(file, numbers, sizeof numbers, (off_t)places[i].offset) == (ssize_t)sizeof numbers);
        struct writer bytes = make_model_at("weights.bin", places[i].text);
        write_file(folder, "model.onnx", bytes.bytes, bytes.size);
        compute_with(open_file(folder));
    }
    struct lab lab = begin();
    WNNNamedOperand output;
    struct writer bytes = make_model_at("weights.bin", "4294967364"); // its last number lies behind the end
    write_file(folder, "model.onnx", bytes.bytes, bytes.size);
    WNNModel model = open_file(folder);
    REQUIRE_EQUAL_INT(record(model, &lab, 2, &output), WNNStatus_NotSupportedError);
    REQUIRE(strstr(message, "the external data of \"w\": "));
    end(&lab);
    wnnModelRelease(model);
    close(file);
    char command[300];
    snprintf(command, sizeof command, "rm -r %s", folder);
    REQUIRE_EQUAL_INT(system(command), 0);
}

static void write_over(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "r+b");
    REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

// What a mapped file says of a model is what it said when it was opened.
static void changed_after_opening(void)
{
    static unsigned char other[4096];
    char folder[] = "/tmp/model-XXXXXX", path[256];
    REQUIRE(mkdtemp(folder));
    struct writer bytes = make_model(NULL);
    write_file(folder, "model.onnx", bytes.bytes, bytes.size);
    WNNModel model = open_file(folder);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    memset(other, 0xFF, sizeof other);
    write_over(path, other, bytes.size);
    compute_with(model);
    REQUIRE_EQUAL_INT(unlink(path) + rmdir(folder), 0);
}

// Somebody writes to the file all the time: an error or a graph, never more.
static void changed_while_opening(void)
{
    char folder[] = "/tmp/model-XXXXXX", path[256];
    REQUIRE(mkdtemp(folder));
    struct writer bytes = make_model(NULL);
    write_file(folder, "model.onnx", bytes.bytes, bytes.size);
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    pid_t other = fork();
    if (other == 0) {
        int file = open(path, O_WRONLY);
        size_t at = 0;
        for (unsigned i = 0, state = 1;; i++) { // a wrong byte, then the right one
            state = state * 1664525 + 1013904223;
            at = i % 2 ? at : (state >> 8) % bytes.size;
            unsigned char byte = bytes.bytes[at];
            if (i % 2 == 0)
                byte = (unsigned char)(i % 8 ? byte + 1u : state >> 24);
            if (pwrite(file, &byte, 1, (off_t)at) != 1)
                _exit(1);
        }
    }
    struct lab lab = begin();
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    descriptor.path.data = path;
    int opened = 0;
    for (int i = 0; i < 2000; i++) {
        WNNModel model;
        WNNNamedOperand output;
        if (wnnModelOpen(&descriptor, &model, sizeof message, message) == WNNStatus_Success) {
            opened++;
            record(model, &lab, 2, &output);
        }
        wnnModelRelease(model);
        wnnGraphBuilderRelease(lab.builder);
        REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(lab.context, &lab.builder), WNNStatus_Success);
        if (i % 16 == 0)
            write_over(path, bytes.bytes, bytes.size);
    }
    REQUIRE(opened > 0);
    end(&lab);
    REQUIRE(kill(other, SIGKILL) == 0 && waitpid(other, NULL, 0) == other);
    REQUIRE_EQUAL_INT(unlink(path) + rmdir(folder), 0);
}

static void refuse_other_files(void)
{
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModel model;
    descriptor.path.data = "text";
    descriptor.data = "hello";
    descriptor.byteLength = 5;
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message,
                      "text: its format is not known; models of TensorFlow Lite, ONNX and .webnn are read");
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

// ---------------------------------------------------------------------------------------------------------------
// What fuzzing found
// ---------------------------------------------------------------------------------------------------------------

// An initializer, whose elements stand in a field of its type, as they lie in memory.
static void put_initializer(struct writer *graph, const char *name, unsigned type, size_t rank,
                            const int64_t *dims, unsigned field, const void *data, size_t size)
{
    struct writer tensor = {0};
    for (size_t i = 0; i < rank; i++)
        put_number(&tensor, 1, (uint64_t)dims[i]);
    put_number(&tensor, 2, type);
    put_text(&tensor, 8, name);
    put_bytes(&tensor, field, data, size);
    put_message(graph, 5, &tensor);
}

enum {
    FLOAT = 1,
    INT64 = 7,
    BOOL = 9,
    DOUBLE = 11
};
enum {
    RAW = 9,
    DOUBLES = 10
};

static void put_integers(struct writer *graph, const char *name, size_t count, const int64_t *numbers)
{
    put_initializer(graph, name, INT64, 1, &(int64_t){(int64_t)count}, RAW, numbers, count * sizeof *numbers);
}

// Records a graph that has no inputs, with float64 as float32.
static WNNStatus record_graph(const struct writer *graph, struct writer *bytes, WNNModel *model,
                              struct lab *lab, WNNNamedOperand *output)
{
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    options.narrow = true;
    *bytes = (struct writer){0};
    finish_model(bytes, graph);
    *model = open_bytes(bytes, "m");
    *lab = begin();
    return wnnModelRecord(*model, lab->builder, &options, 1, output, NULL, sizeof message, message);
}

static void require_refused(const struct writer *graph, const char *expected)
{
    struct lab lab;
    struct writer bytes;
    WNNModel model;
    WNNNamedOperand output;
    REQUIRE_EQUAL_INT(record_graph(graph, &bytes, &model, &lab, &output), WNNStatus_NotSupportedError);
    REQUIRE_EQUAL_STR(message, expected);
    end(&lab);
    wnnModelRelease(model);
}

// The output y has these elements.
static void require_computed(const struct writer *graph, size_t count, const float *expected)
{
    struct lab lab;
    struct writer bytes;
    WNNModel model;
    WNNNamedOperand output;
    WNNGraph made;
    float y[16];
    WNNNamedBuffer out = {{"y", 1}, y, count * sizeof *y, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    REQUIRE_EQUAL_INT(record_graph(graph, &bytes, &model, &lab, &output), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(lab.builder, 1, &output, &made, sizeof message, message),
                      WNNStatus_Success);
    descriptor.graph = made;
    descriptor.outputs = &out;
    descriptor.outputCount = 1;
    REQUIRE_EQUAL_INT(wnnContextComputeSync(lab.context, &descriptor, sizeof message, message),
                      WNNStatus_Success);
    for (size_t i = 0; i < count; i++)
        REQUIRE(y[i] == expected[i]);
    wnnGraphRelease(made);
    end(&lab);
    wnnModelRelease(model);
}

static void float64_by_fields(void)
{
    static const double numbers[] = {1, 2, 3};
    struct writer graph = {0};
    put_initializer(&graph, "w", DOUBLE, 1, (int64_t[]){3}, DOUBLES, numbers, sizeof numbers);
    put_node(&graph, "Identity", "same", "w", NULL, "y");
    put_value(&graph, 12, "y", 1, (int[]){3});
    require_computed(&graph, 3, (float[]){1, 2, 3});
}

// Of images that are no operand.
static void grid_of_strings(void)
{
    static const float grid[2] = {0};
    struct writer graph = {0};
    put_initializer(&graph, "x", 30, 4, (int64_t[]){1, 1, 1, 1}, RAW, grid, 4);
    put_initializer(&graph, "g", FLOAT, 4, (int64_t[]){1, 1, 1, 2}, RAW, grid, sizeof grid);
    put_node(&graph, "GridSample", "sample", "x", "g", "y");
    put_value(&graph, 12, "y", 1, (int[]){1});
    require_refused(&graph, "m: node \"sample\" (GridSample): a constant of type an unknown type");
    graph = (struct writer){0}; // and a grid that is none
    put_initializer(&graph, "x", FLOAT, 4, (int64_t[]){1, 1, 1, 1}, RAW, grid, 4);
    put_initializer(&graph, "g", 30, 4, (int64_t[]){1, 1, 1, 2}, RAW, grid, sizeof grid);
    put_node(&graph, "GridSample", "sample", "x", "g", "y");
    put_value(&graph, 12, "y", 1, (int[]){1});
    require_refused(&graph, "m: node \"sample\" (GridSample): a constant of type an unknown type");
}

static void put_empty(struct writer *graph, const char *name, size_t rank, const int64_t *dims)
{
    put_initializer(graph, name, FLOAT, rank, dims, RAW, "", 0);
}

// Sizes whose sums and products are no int64, also of tensors without elements.
static void huge_sizes(void)
{
    struct writer graph = {0};
    put_empty(&graph, "a", 2, (int64_t[]){INT64_MAX, 1});
    put_node(&graph, "Concat", "join", "a", "a", "y");
    put_value(&graph, 12, "y", 1, (int[]){1});
    require_refused(&graph, "m: a dimension of size 9223372036854775807");
    graph = (struct writer){0};
    put_empty(&graph, "a", 4, (int64_t[]){0, INT32_MAX, INT32_MAX, INT32_MAX});
    put_node(&graph, "Transpose", "turn", "a", NULL, "y");
    put_value(&graph, 12, "y", 1, (int[]){1});
    require_refused(&graph, "m: a tensor of more elements than can be counted");
}

// A batch of none, which need not be given, goes through a network, and what is made of it joins the rest.
static void sizes_of_zero(void)
{
    static const float w[6] = {1, 2, 3, 4, 5, 6}, rows[2] = {7, 8};
    struct writer graph = {0}, bytes;
    struct lab lab;
    WNNModel model;
    WNNNamedOperand output;
    WNNGraph made;
    put_value(&graph, 11, "x", 2, (int[]){0, 3});
    put_initializer(&graph, "w", FLOAT, 2, (int64_t[]){3, 2}, RAW, w, sizeof w);
    put_initializer(&graph, "rows", FLOAT, 2, (int64_t[]){1, 2}, RAW, rows, sizeof rows);
    put_node(&graph, "MatMul", "multiply", "x", "w", "p");
    put_node(&graph, "Relu", "cut", "p", NULL, "q");
    put_node(&graph, "ReduceSum", "add", "q", NULL, "s");
    put_node(&graph, "Add", "join", "rows", "s", "y");
    put_value(&graph, 12, "y", 1, (int[]){1});
    REQUIRE_EQUAL_INT(record_graph(&graph, &bytes, &model, &lab, &output), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(lab.builder, 1, &output, &made, sizeof message, message),
                      WNNStatus_Success);
    float y[2] = {0};
    const WNNNamedBuffer out = {{"y", 1}, y, sizeof y, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.graph = made;
    descriptor.outputCount = 1;
    descriptor.outputs = &out;
    WNNStatus status = wnnContextComputeSync(lab.context, &descriptor, sizeof message, message);
    REQUIRE_EQUAL_STR(status ? message : "", "");
    REQUIRE(y[0] == 7 && y[1] == 8);
    wnnGraphRelease(made);
    end(&lab);
    wnnModelRelease(model);
}

// Nothing is done for each of many rows that are empty.
static void many_empty_rows(void)
{
    struct writer graph = {0};
    put_empty(&graph, "a", 2, (int64_t[]){INT32_MAX, 0});
    put_integers(&graph, "none", 0, NULL);
    put_integers(&graph, "zero", 1, (int64_t[]){0});
    for (int i = 0; i < 60; i++) {
        static const char *const operators[] = {"EyeLike", "Gather", "TopK"}, *const indices[] = {
                                                                                  NULL, "none", "zero"};
        struct writer node = {0}, axis = {0};
        put_text(&node, 1, "a");
        if (indices[i % 3])
            put_text(&node, 1, indices[i % 3]);
        put_text(&node, 2, "y");
        put_text(&node, 4, operators[i % 3]);
        put_text(&axis, 1, "axis");
        put_number(&axis, 3, 1);
        put_message(&node, 5, &axis);
        put_message(&graph, 1, &node);
    }
    put_value(&graph, 12, "y", 1, (int[]){1});
    require_computed(&graph, 0, NULL);
}

// A node of x[dims], which is computed, and of operands that are told; with an attribute of text unless NULL.
static struct writer make_empty(const char *operation, size_t rank, const int *dims,
                                const char *const *others, const char *name, const char *text)
{
    struct writer graph = {0}, node = {0}, attribute = {0};
    put_value(&graph, 11, "given", rank, dims);
    put_node(&graph, "Relu", "cut", "given", NULL, "x");
    for (put_text(&node, 1, "x"); *others; others++)
        put_text(&node, 1, *others);
    put_text(&node, 2, "y");
    put_text(&node, 3, "n");
    put_text(&node, 4, operation);
    if (name) {
        put_text(&attribute, 1, name);
        put_text(&attribute, 4, text);
        put_message(&node, 5, &attribute);
    }
    put_message(&graph, 1, &node);
    put_value(&graph, 12, "y", 1, (int[]){1});
    return graph;
}

// What elements are shared by, or sizes compared with, may be 0.
static void divide_by_zero(void)
{
    static const float update = 1;
    static const char *const scattered[] = {"i", "u", NULL}, *const ordered[] = {"k", NULL},
                             *const attended[] = {"none", "none", NULL},
                             *const resized[] = {"", "", "sizes", NULL};
    struct writer graph = make_empty("ScatterElements", 2, (int[]){0, 1}, scattered, "reduction", "add");
    put_initializer(&graph, "u", FLOAT, 2, (int64_t[]){1, 1}, RAW, &update, sizeof update);
    put_initializer(&graph, "i", INT64, 2, (int64_t[]){1, 1}, RAW, (int64_t[]){0}, sizeof(int64_t));
    require_refused(&graph, "m: node \"n\" (ScatterElements): index 0 of a size of 0");
    graph = make_empty("TopK", 2, (int[]){0, 3}, ordered, NULL, NULL);
    put_integers(&graph, "k", 1, (int64_t[]){2});
    require_computed(&graph, 0, NULL);
    graph = make_empty("Attention", 4, (int[]){1, 2, 3, 4}, attended, NULL, NULL);
    put_empty(&graph, "none", 4, (int64_t[]){1, 0, 3, 4});
    require_refused(&graph,
                    "m: node \"n\" (Attention): 2 heads do not share 0 of key and value, or operands that "
                    "do not come together");
    graph = make_empty("Resize", 4, (int[]){1, 1, 0, 3}, resized, NULL, NULL);
    put_integers(&graph, "sizes", 4, (int64_t[]){1, 1, 2, 3});
    require_refused(&graph, "m: node \"n\" (Resize): the input has a dimension of size 0");
}

// A loop whose condition alone ends it: its number of trips is left out.
static void loop_without_number(void)
{
    static const float one = 1;
    struct writer graph = {0}, body = {0}, node = {0}, attribute = {0};
    put_initializer(&graph, "truth", BOOL, 0, NULL, RAW, "\1", 1);
    put_initializer(&graph, "x", FLOAT, 0, NULL, RAW, &one, sizeof one);
    put_integers(&graph, "limit", 1, (int64_t[]){2});
    put_node(&body, "Less", "below", "trip", "limit", "again");
    put_node(&body, "Add", "double", "v", "v", "w");
    put_value(&body, 11, "trip", 0, NULL);
    put_value(&body, 11, "condition", 0, NULL);
    put_value(&body, 11, "v", 0, NULL);
    put_value(&body, 12, "again", 0, NULL);
    put_value(&body, 12, "w", 0, NULL);
    put_text(&node, 1, "");
    put_text(&node, 1, "truth");
    put_text(&node, 1, "x");
    put_text(&node, 2, "y");
    put_text(&node, 4, "Loop");
    put_text(&attribute, 1, "body");
    put_message(&attribute, 6, &body);
    put_message(&node, 5, &attribute);
    put_message(&graph, 1, &node);
    put_value(&graph, 12, "y", 0, NULL);
    require_computed(&graph, 1, (float[]){8});
}

// What is known while recording takes memory, which has the model's limit.
static void little_memory(void)
{
    struct writer graph = {0}, bytes = {0};
    put_integers(&graph, "n", 1, (int64_t[]){1 << 20});
    put_node(&graph, "HannWindow", "window", "n", NULL, "y");
    put_value(&graph, 12, "y", 1, (int[]){1 << 20});
    finish_model(&bytes, &graph);
    for (int i = 0; i < 2; i++) {
        WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
        WNNModel model;
        struct lab lab = begin();
        WNNNamedOperand output;
        descriptor.path.data = "m";
        descriptor.data = bytes.bytes;
        descriptor.byteLength = bytes.size;
        descriptor.maxMemoryBytes = i ? 1 << 20 : 32 << 20;
        REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_Success);
        REQUIRE_EQUAL_INT(wnnModelRecord(model, lab.builder, NULL, 1, &output, NULL, sizeof message, message),
                          i ? WNNStatus_NotSupportedError : WNNStatus_Success);
        if (i)
            REQUIRE_EQUAL_STR(message, "m: node \"window\" (HannWindow): there is not enough memory");
        end(&lab);
        wnnModelRelease(model);
    }
}

// Whatever memory there is, an error has a message: of the first node, which takes most, or of the second.
static void messages_of_memory(void)
{
    static const float one = 1;
    struct writer graph = {0}, bytes = {0}, node = {0}, attribute = {0}, value = {0};
    WNNStatus status = WNNStatus_OutOfMemory;
    put_integers(&graph, "n", 1, (int64_t[]){400});
    put_node(&graph, "HannWindow", "window", "n", NULL, "w");
    put_integers(&graph, "none", 1, (int64_t[]){0});
    put_text(&node, 1, "none");
    put_text(&node, 2, "y");
    put_text(&node, 4, "ConstantOfShape");
    put_number(&value, 1, 1);
    put_number(&value, 2, FLOAT);
    put_bytes(&value, RAW, &one, sizeof one);
    put_text(&attribute, 1, "value");
    put_message(&attribute, 5, &value);
    put_message(&node, 5, &attribute);
    put_message(&graph, 1, &node);
    put_value(&graph, 12, "y", 1, (int[]){0});
    finish_model(&bytes, &graph);
    for (uint64_t limit = 100; status != WNNStatus_Success; limit += 8) {
        WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
        WNNModel model;
        struct lab lab = begin();
        WNNNamedOperand output;
        descriptor.path.data = "m";
        descriptor.data = bytes.bytes;
        descriptor.byteLength = bytes.size;
        descriptor.maxMemoryBytes = limit;
        status = wnnModelOpen(&descriptor, &model, sizeof message, message);
        if (status == WNNStatus_Success)
            status = record(model, &lab, 2, &output);
        REQUIRE(status == WNNStatus_Success ||
                (strncmp(message, "m: ", 3) == 0 && strstr(message, "memory")));
        REQUIRE(limit < 100000);
        end(&lab);
        wnnModelRelease(model);
    }
}

static void two_inputs_of_a_name(void)
{
    struct writer graph = {0};
    put_node(&graph, "Neg", "n", "x", NULL, "y");
    put_value(&graph, 11, "x", 1, (int[]){3});
    put_value(&graph, 11, "x", 1, (int[]){3});
    put_value(&graph, 12, "y", 1, (int[]){3});
    require_refused(&graph, "m: two inputs are called \"x\"");
}

static void count_name(const WNNModelNamedValue *value, void *count, void *unused)
{
    (void)unused;
    REQUIRE(value->operand && value->name.length == 1 && value->weight.length == 0);
    ++*(size_t *)count;
}

// Also text that is empty carries a length.
static void told_names(void)
{
    struct writer bytes = make_model(NULL);
    WNNModel model = open_bytes(&bytes, "small.onnx");
    struct lab lab = begin();
    WNNModelDimensionValue dimension = {{"n", 1}, 2};
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    size_t count = 0;
    options.dimensions = &dimension;
    options.dimensionCount = 1;
    options.onName = count_name;
    options.userdata1 = &count;
    REQUIRE_EQUAL_INT(wnnModelRecord(model, lab.builder, &options, 0, NULL, NULL, sizeof message, message),
                      WNNStatus_Success);
    REQUIRE_EQUAL_INT(count, 4); // x, w, t and y
    end(&lab);
    wnnModelRelease(model);
}

// A message with one text of four letters, and nothing else, as field `field` of what it is in.
static unsigned char *put_letters(unsigned char *to, unsigned field, unsigned inner, unsigned number)
{
    *to++ = (unsigned char)(field << 3 | 2);
    *to++ = 6;
    *to++ = (unsigned char)(inner << 3 | 2);
    *to++ = 4;
    for (int i = 0; i < 4; i++, number /= 26)
        *to++ = (unsigned char)('a' + number % 26);
    return to;
}

// As many names as there may be are found in the time that reading them takes.
static void many_names(void)
{
    enum {
        COUNT = 100000
    };
    unsigned char *bytes = malloc(COUNT * 3 * 8 + 16), *to = bytes + 8;
    REQUIRE(bytes);
    memcpy(bytes, "\x08\x08\x3A", 3);
    for (unsigned i = 0; i < COUNT; i++) {
        to = put_letters(to, 1, 4, i);                      // a node, its operator
        to = put_letters(to, 5, 8, i);                      // an initializer, its name
        to = put_letters(to, 11, 1, i % 2 ? i : i + COUNT); // an input, its name
    }
    size_t size = (size_t)(to - bytes) - 8;
    for (int i = 0; i < 5; i++)
        bytes[3 + i] = (unsigned char)(size >> 7 * i) | (i < 4 ? 128 : 0);
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModel model;
    size_t count;
    descriptor.data = bytes;
    descriptor.byteLength = (size_t)(to - bytes);
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_Success);
    wnnModelGetInputs(model, &count);
    REQUIRE_EQUAL_INT(count, COUNT / 2);
    wnnModelGetOperators(model, &count);
    REQUIRE_EQUAL_INT(count, COUNT);
    wnnModelRelease(model);
    free(bytes);
}

static void many_operator_sets(void)
{
    struct writer bytes = make_model(NULL);
    for (int i = 0; i < 300; i++)
        put_text(&bytes, 8, "");
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    WNNModel model;
    descriptor.path.data = "m";
    descriptor.data = bytes.bytes;
    descriptor.byteLength = bytes.size;
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "m: the file imports more than 256 operator sets");
}

// y[3] = F(x[3]), of function F.
static void put_call(struct writer *graph, const char *function, const char *overload)
{
    struct writer node = {0};
    put_text(&node, 1, "x");
    put_text(&node, 2, "y");
    put_text(&node, 3, "n");
    put_text(&node, 4, function);
    put_text(&node, 7, "own");
    put_text(&node, 8, overload);
    put_message(graph, 1, &node);
    put_value(graph, 11, "x", 1, (int[]){3});
    put_value(graph, 12, "y", 1, (int[]){3});
}

// own.F of a model, which applies an operator.
static void put_function(struct writer *model, const char *overload, const char *operation, unsigned opset)
{
    struct writer function = {0}, node = {0};
    put_text(&function, 1, "F");
    put_text(&function, 4, "a");
    put_text(&function, 5, "b");
    put_text(&node, 1, "a");
    put_text(&node, 2, "b");
    put_text(&node, 4, operation);
    put_message(&function, 7, &node);
    put_opset(&function, 9, opset);
    put_text(&function, 10, "own");
    put_text(&function, 13, overload);
    put_message(model, 25, &function);
}

// NULL: it is recorded.
static void require_outcome(const struct writer *bytes, const char *expected)
{
    WNNModel model = open_bytes(bytes, "m");
    struct lab lab = begin();
    WNNNamedOperand output;
    REQUIRE_EQUAL_INT(record(model, &lab, 0, &output),
                      expected ? WNNStatus_NotSupportedError : WNNStatus_Success);
    REQUIRE_EQUAL_STR(message, expected ? expected : "");
    end(&lab);
    wnnModelRelease(model);
}

// What newer versions of the format, of the operators and of functions changed is not read as what it was.
static void newer_versions(void)
{
    static const struct {
        unsigned ir, opset;
        const char *expected;
    } versions[] = {
        {14, 27, NULL},
        {15, 27, "m: the file is of version 15 of ONNX's format (IR); those up to 14 are known"},
        {14, 28, "m: operator set 28 of ai.onnx is imported; those up to 27 are known"},
    };
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        struct writer graph = {0}, bytes = {0};
        put_node(&graph, "Relu", "n", "x", NULL, "y");
        put_value(&graph, 11, "x", 1, (int[]){3});
        put_value(&graph, 12, "y", 1, (int[]){3});
        finish_model_of(&bytes, &graph, versions[i].ir, versions[i].opset);
        require_outcome(&bytes, versions[i].expected);
    }
    struct writer graph = {0}, bytes = {0};
    put_call(&graph, "F", "");
    finish_model(&bytes, &graph);
    put_function(&bytes, "", "Relu", 28);
    require_outcome(&bytes,
                    "m: node \"n\" (F): operator set 28 of ai.onnx is imported; those up to 27 are known");
}

// Functions of one name are told apart by their overloads.
static void overloads(void)
{
    for (int i = 0; i < 2; i++) {
        struct writer graph = {0}, bytes = {0};
        put_call(&graph, "F", i ? "two" : "one");
        finish_model_of(&bytes, &graph, 10, 21);
        put_function(&bytes, "one", "Relu", 21);
        put_function(&bytes, "two", "Frobnicate", 21);
        require_outcome(&bytes, i ? "m: node \"b\" (Frobnicate): the operator is not supported\n"
                                    "m: node \"n\" (F): a node of its function cannot be recorded"
                                  : NULL);
    }
}

// A definition of a known operator set that an operator here does not have.
static void attention_windows(void)
{
    for (int i = 0; i < 2; i++) {
        struct writer graph = {0}, bytes = {0}, node = {0}, attribute = {0};
        for (int k = 0; k < 3; k++)
            put_text(&node, 1, "x");
        put_text(&node, 2, "y");
        put_text(&node, 3, "n");
        put_text(&node, 4, "Attention");
        put_text(&attribute, 1, "left_window_size");
        put_number(&attribute, 3, i ? 2 : UINT64_MAX); // -1: none
        put_message(&node, 5, &attribute);
        put_message(&graph, 1, &node);
        put_value(&graph, 11, "x", 4, (int[]){1, 2, 4, 8});
        put_value(&graph, 12, "y", 4, (int[]){1, 2, 4, 8});
        finish_model_of(&bytes, &graph, 13, 25);
        require_outcome(&bytes, i ? "m: node \"n\" (Attention): left_window_size and right_window_size, of "
                                    "operator set 25, are not supported"
                                  : NULL);
    }
}

// Text of a file does not reach a message as it is.
static void control_characters(void)
{
    struct writer graph = {0}, tensor = {0}, entry = {0}, node = {0}, attribute = {0};
    put_text(&entry, 1, "location");
    put_text(&entry, 2, "nowhere");
    put_number(&tensor, 1, 3);
    put_number(&tensor, 2, 1);
    put_text(&tensor, 8, "a\x1b[31m\nb");
    put_message(&tensor, 13, &entry);
    put_number(&tensor, 14, 1);
    put_message(&graph, 5, &tensor);
    put_node(&graph, "Relu", "n", "a\x1b[31m\nb", NULL, "y");
    put_value(&graph, 12, "y", 1, (int[]){3});
    require_refused(
        &graph,
        "m: node \"n\" (Relu): the external data of \"a?[31m?b\": nowhere: No such file or directory");

    static const float zeros[1] = {0};
    graph = (struct writer){0};
    put_initializer(&graph, "x", FLOAT, 3, (int64_t[]){1, 1, 1}, RAW, zeros, 4);
    for (int i = 0; i < 3; i++)
        put_text(&node, 1, "x");
    put_text(&node, 2, "y");
    put_text(&node, 3, "n");
    put_text(&node, 4, "RNN");
    put_text(&attribute, 1, "activations");
    put_text(&attribute, 9, "\x1b[31m");
    put_message(&node, 5, &attribute);
    put_message(&graph, 1, &node);
    put_value(&graph, 12, "y", 1, (int[]){3});
    require_refused(&graph, "m: node \"n\" (RNN): an activation \"?[31m\"");
}

// Updates that do not meet are put in at once, those that meet one after the other; indices are integers.
static void scatter_updates(void)
{
    static const float x[3] = {1, 2, 3}, updates[2] = {10, 20};
    for (int i = 0; i < 3; i++) {
        struct writer graph = {0}, node = {0}, attribute = {0};
        put_initializer(&graph, "x", FLOAT, 1, (int64_t[]){3}, RAW, x, sizeof x);
        put_initializer(&graph, "u", FLOAT, 1, (int64_t[]){2}, RAW, updates, sizeof updates);
        put_integers(&graph, "s", 2, (int64_t[]){1025, 1});
        if (i == 2)
            put_node(&graph, "ConstantOfShape", "zeros", "s", NULL, "i");
        else
            put_initializer(&graph, "i", INT64, 2, (int64_t[]){2, 1}, RAW, (int64_t[]){-1, i ? 2 : 0}, 16);
        put_text(&node, 1, "x");
        put_text(&node, 1, "i");
        put_text(&node, 1, "u");
        put_text(&node, 2, "y");
        put_text(&node, 3, "n");
        put_text(&node, 4, "ScatterND");
        put_text(&attribute, 1, "reduction");
        put_text(&attribute, 4, "add");
        put_message(&node, 5, &attribute);
        put_message(&graph, 1, &node);
        put_value(&graph, 12, "y", 1, (int[]){3});
        if (i < 2)
            require_computed(&graph, 3, i ? (float[]){1, 2, 33} : (float[]){21, 2, 13});
        else
            require_refused(&graph, "m: node \"n\" (ScatterND): 2 elements cannot have a shape of 1025");
    }
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
    CASE(distant_external_data());
    CASE(changed_after_opening());
    CASE(changed_while_opening());
    CASE(refuse_other_files());
    CASE(damaged());
    CASE(float64_by_fields());
    CASE(grid_of_strings());
    CASE(huge_sizes());
    CASE(sizes_of_zero());
    CASE(many_empty_rows());
    CASE(divide_by_zero());
    CASE(loop_without_number());
    CASE(little_memory());
    CASE(messages_of_memory());
    CASE(told_names());
    CASE(two_inputs_of_a_name());
    CASE(many_names());
    CASE(many_operator_sets());
    CASE(newer_versions());
    CASE(overloads());
    CASE(attention_windows());
    CASE(control_characters());
    CASE(scatter_updates());
    return cases_end();
}
