// SPDX-License-Identifier: Apache-2.0
#include "conformance/unit/onnx_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

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
    return cases_end();
}
