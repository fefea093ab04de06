// SPDX-License-Identifier: Apache-2.0
//
// .webnn as a format of models, saving, and what a model in files promises.

#include "conformance/unit/require.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <webnn/model.h>
#include <webnn/ops.h>
#include <webnn/reflection.h>

static WNNContext context;
static char message[4096];

static WNNStringView view(const char *text)
{
    return (WNNStringView){text, WNN_STRLEN};
}

static bool equals(WNNStringView text, const char *expected)
{
    size_t length = text.length == WNN_STRLEN ? strlen(text.data) : text.length;
    return length == strlen(expected) && memcmp(text.data, expected, length) == 0;
}

static WNNGraphBuilder make_builder(void)
{
    WNNGraphBuilder builder = NULL;
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &builder), WNNStatus_Success);
    return builder;
}

static WNNModel open_text(const char *text)
{
    WNNModel model;
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    descriptor.path = view("some/test.webnn");
    descriptor.data = text;
    descriptor.byteLength = strlen(text);
    WNNStatus status = wnnModelOpen(&descriptor, &model, sizeof message, message);
    if (status)
        fprintf(stderr, "%s\n", message);
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
    return model;
}

static void compute(WNNGraph graph, const char *input, const float *x, size_t x_count, const char *output,
                    float *y, size_t y_count)
{
    WNNNamedBuffer in = {view(input), (void *)(uintptr_t)x, x_count * sizeof *x, WNNDataType_Float32};
    WNNNamedBuffer out = {view(output), y, y_count * sizeof *y, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.graph = graph;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &in;
    descriptor.outputs = &out;
    WNNStatus status = wnnContextComputeSync(context, &descriptor, sizeof message, message);
    if (status)
        fprintf(stderr, "%s\n", message);
    REQUIRE_EQUAL_INT(status, WNNStatus_Success);
}

// ---------------------------------------------------------------------------------------------------------------
// Folders of files
// ---------------------------------------------------------------------------------------------------------------

static char folder[64];
static char path_buffers[32][160]; // of the last paths

static const char *path_of(const char *name)
{
    static unsigned next;
    char *path = path_buffers[next++ % 32];
    snprintf(path, sizeof path_buffers[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

// One float32 tensor of two elements.
static void write_weights(const char *name, const char *tensor, float a, float b)
{
    char header[256];
    unsigned char bytes[300];
    snprintf(header, sizeof header, "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
             tensor);
    uint64_t length = strlen(header);
    float values[2] = {a, b};
    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, length);
    memcpy(bytes + 8 + length, values, 8);
    write_file(name, bytes, 16 + (size_t)length);
}

static void remove_folder(void)
{
    char command[160];
    snprintf(command, sizeof command, "rm -r %s", folder);
    REQUIRE(system(command) == 0);
}

static void make_folder(void)
{
    strcpy(folder, "/tmp/wnn_model_XXXXXX");
    REQUIRE(mkdtemp(folder));
}

// ---------------------------------------------------------------------------------------------------------------
// Cases
// ---------------------------------------------------------------------------------------------------------------

static const char affine[] = "// y = clamp(2x + b)\n"
                             "webnn_graph \"affine\" v2 {\n"
                             "  inputs { x: f32[2]; }\n"
                             "  consts { two: f32[] @scalar(2); b: f32[2] @bytes([0,0,128,63,0,0,0,64]); }\n"
                             "  nodes { product = mul(x, two); y = add(product, b) + clamp(maxValue=6); }\n"
                             "  outputs { y; }\n"
                             "}\n";

static void describe(void)
{
    WNNModel model = open_text(affine);
    WNNModelInfo info = WNN_MODEL_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnModelGetInfo(model, &info), WNNStatus_Success);
    REQUIRE(info.format == WNNModelFormat_WebNN && equals(info.name, "affine") && info.formatVersion == 2);
    REQUIRE(info.nodeCount == 3 && info.weightBytes == 0);
    size_t count;
    const WNNModelValue *inputs = wnnModelGetInputs(model, &count);
    REQUIRE(count == 1 && equals(inputs->name, "x") && equals(inputs->typeName, "float32"));
    REQUIRE(inputs->dataType == WNNDataType_Float32 && inputs->hasShape && inputs->rank == 1 &&
            inputs->dimensions[0].size == 2 && inputs->dimensions[0].name.length == 0);
    const WNNModelValue *outputs = wnnModelGetOutputs(model, &count);
    REQUIRE(count == 1 && equals(outputs->name, "y"));
    const WNNModelOperator *operators = wnnModelGetOperators(model, &count);
    REQUIRE(count == 3 && equals(operators[0].name, "mul") && operators[0].count == 1 &&
            operators[0].supported);
    wnnModelGetMetadata(model, &count);
    REQUIRE(count == 0);
    wnnModelRelease(model);
}

// What reading takes grows with the text, however it is cut into blocks.
static void read_many_blocks(void)
{
    enum {
        BLOCKS = 20000
    };
    size_t size = 64 + 40 * BLOCKS, at = 0, count;
    char *text = malloc(size);
    REQUIRE(text);
    at += (size_t)snprintf(text, size, "webnn_graph \"many\" v1 {\n");
    for (int i = 0; i < BLOCKS; i++)
        at += (size_t)snprintf(text + at, size - at, "inputs { x%d: f32[1]; }\n", i);
    snprintf(text + at, size - at, "nodes { y = relu(x0); } outputs { y; } }\n");
    WNNModel model = open_text(text);
    wnnModelGetInputs(model, &count);
    REQUIRE_EQUAL_INT(count, BLOCKS);
    wnnModelRelease(model);
    free(text);
}

// -0 has a sign, which only floats keep.
static void read_negative_zero(void)
{
    static const char zeros[] = "webnn_graph \"zeros\" v1 {\n"
                                "  inputs { x: f32[1]; }\n"
                                "  consts { f: f32[1] @scalar(-0); i: i32[1] @scalar(-0); }\n"
                                "  nodes { y = div(x, f); z = mul(x, cast(i, dataType=f32)); }\n"
                                "  outputs { y; z; }\n"
                                "}\n";
    WNNModel model = open_text(zeros);
    WNNGraphBuilder builder = make_builder();
    WNNNamedOperand outputs[2];
    WNNGraph graph;
    REQUIRE_EQUAL_INT(wnnModelRecord(model, builder, NULL, 2, outputs, NULL, sizeof message, message),
                      WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(builder, 2, outputs, &graph, sizeof message, message),
                      WNNStatus_Success);
    float one = 1, y, z;
    compute(graph, "x", &one, 1, "y", &y, 1);
    compute(graph, "x", &one, 1, "z", &z, 1);
    REQUIRE(y == -INFINITY && z == 0 && !signbit(z));
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    wnnModelRelease(model);
}

static void count_name(const WNNModelNamedValue *value, void *seen, void *unused)
{
    (void)unused;
    char *list = seen;
    REQUIRE(value->operand);
    snprintf(list + strlen(list), 200 - strlen(list), "%.*s ",
             (int)(value->name.length == WNN_STRLEN ? strlen(value->name.data) : value->name.length),
             value->name.data);
}

// Operators of the program's before and after the model, and names of what is in it.
static void put_between(void)
{
    WNNModel model = open_text(affine);
    WNNGraphBuilder builder = make_builder();
    const uint32_t two = 2;
    WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {&two, 1}};
    WNNOperand given = wnnGraphBuilderInput(builder, view("given"), &type);
    WNNModelInputValue input = WNN_MODEL_INPUT_VALUE_INIT;
    input.name = view("x");
    input.operand = wnnGraphBuilderAbs(builder, given, NULL);
    char names[200] = "";
    WNNModelRecordOptions options = WNN_MODEL_RECORD_OPTIONS_INIT;
    options.inputCount = 1;
    options.inputs = &input;
    options.onName = count_name;
    options.userdata1 = names;
    WNNNamedOperand y;
    size_t count;
    REQUIRE_EQUAL_INT(wnnModelRecord(model, builder, &options, 1, &y, &count, sizeof message, message),
                      WNNStatus_Success);
    REQUIRE(count == 1 && equals(y.name, "y"));
    REQUIRE_EQUAL_STR(names, "x two b product y before 0 y ");
    WNNNamedOperand output = {view("result"), wnnGraphBuilderNeg(builder, y.operand, NULL)};
    WNNGraph graph;
    REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(builder, 1, &output, &graph, sizeof message, message),
                      WNNStatus_Success);
    wnnGraphBuilderRelease(builder);
    wnnModelRelease(model);
    float x[2] = {-1, 3}, result[2];
    compute(graph, "given", x, 2, "result", result, 2);
    REQUIRE(result[0] == -3 && result[1] == -6);
    wnnGraphRelease(graph);

    // Of another shape or type it is refused.
    model = open_text(affine);
    builder = make_builder();
    const uint32_t three = 3;
    type.shape.data = &three;
    input.operand = wnnGraphBuilderInput(builder, view("given"), &type);
    REQUIRE_EQUAL_INT(wnnModelRecord(model, builder, &options, 1, &y, &count, sizeof message, message),
                      WNNStatus_NotSupportedError);
    REQUIRE(strstr(message, "some/test.webnn:3:12: the operand for the input x is not of its type, f32[2]"));
    wnnGraphBuilderRelease(builder);
    wnnModelRelease(model);
}

// All that is wrong is told at once, each with its place, and what follows from it is not.
static void tell_all_errors(void)
{
    WNNModel model = open_text("webnn_graph \"wrong\" v1 {\n"
                               "  inputs { x: f32[2]; }\n"
                               "  nodes {\n"
                               "    a = rellu(x);\n"
                               "    b = add(a, x);\n"
                               "    c = reshape(x, newShape=[3]);\n"
                               "    d = relu(c);\n"
                               "    e = relu(nothing);\n"
                               "    f = relu(x);\n"
                               "  }\n"
                               "  outputs { b; f; f; }\n"
                               "}\n");
    WNNGraphBuilder builder = make_builder();
    WNNNamedOperand outputs[2];
    REQUIRE_EQUAL_INT(wnnModelRecord(model, builder, NULL, 2, outputs, NULL, sizeof message, message),
                      WNNStatus_NotSupportedError);
    unsigned lines = 1;
    for (const char *c = message; *c; c++)
        lines += *c == '\n';
    REQUIRE_EQUAL_INT(lines, 4);
    REQUIRE(strstr(message, "some/test.webnn:4:9: there is no operator rellu; did you mean relu?"));
    REQUIRE(strstr(message, "some/test.webnn:6:9: reshape"));
    REQUIRE(strstr(message, "some/test.webnn:8:14: nothing is called nothing"));
    REQUIRE(strstr(message, "some/test.webnn:11:19: f is an output already"));
    wnnGraphBuilderRelease(builder);
    wnnModelRelease(model);

    // What is no text of the format is told with its place when it is opened.
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    descriptor.path = view("broken.webnn");
    descriptor.data = "webnn_graph \"a\" v1 {\n  inputs [ }";
    descriptor.byteLength = strlen(descriptor.data);
    REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_TypeError);
    REQUIRE(strncmp(message, "broken.webnn:2:10: ", 19) == 0);
}

static void save_and_read(void)
{
    make_folder();
    WNNGraphBuilder builder = make_builder();
    const uint32_t shape[2] = {2, 3}, big[1] = {20000};
    static float weights[20000];
    for (size_t i = 0; i < 20000; i++)
        weights[i] = (float)i;
    WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {shape, 2}};
    WNNOperandDescriptor large = {NULL, WNNDataType_Float32, {big, 1}};
    WNNOperand x = wnnGraphBuilderInput(builder, view("an input"), &type);
    WNNOperand c = wnnGraphBuilderConstant(builder, &large, weights, sizeof weights);
    const uint32_t starts[1] = {7}, sizes[1] = {3};
    WNNOperand part =
        wnnGraphBuilderSlice(builder, c, (WNNUint32List){starts, 1}, (WNNUint32List){sizes, 1}, NULL);
    WNNOperand sum = wnnGraphBuilderAdd(builder, x, part, NULL);
    WNNNamedOperand outputs[] = {{view("sum"), sum}, {view("again"), sum}};
    // The second name is that of an output, which keeps it.
    WNNNamedOperand names[] = {{view("weights / all"), c}, {view("sum"), part}};
    WNNModelSaveDescriptor descriptor = WNN_MODEL_SAVE_DESCRIPTOR_INIT;
    descriptor.path = view(path_of("saved.webnn"));
    descriptor.name = view("saved \"graph\"");
    descriptor.outputCount = 2;
    descriptor.outputs = outputs;
    descriptor.nameCount = 2;
    descriptor.names = names;
    REQUIRE_EQUAL_INT(wnnModelSave(builder, &descriptor, sizeof message, message), WNNStatus_Success);

    WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
    file.path = descriptor.path;
    WNNModel model;
    REQUIRE_EQUAL_INT(wnnModelOpen(&file, &model, sizeof message, message), WNNStatus_Success);
    WNNModelInfo info = WNN_MODEL_INFO_INIT;
    wnnModelGetInfo(model, &info);
    REQUIRE(equals(info.name, "saved \"graph\"") && info.weightBytes == sizeof weights);
    wnnModelRelease(model);

    WNNGraph graph;
    REQUIRE_EQUAL_INT(wnnModelBuildSync(&file, context, NULL, &graph, sizeof message, message),
                      WNNStatus_Success);
    float in[6] = {1, 2, 3, 4, 5, 6}, out[2][6];
    WNNNamedBuffer input = {view("an input"), in, sizeof in, WNNDataType_Float32};
    WNNNamedBuffer results[] = {{view("sum"), out[0], sizeof out[0], WNNDataType_Float32},
                                {view("again"), out[1], sizeof out[1], WNNDataType_Float32}};
    WNNComputeDescriptor execution = WNN_COMPUTE_DESCRIPTOR_INIT;
    execution.graph = graph;
    execution.inputCount = 1;
    execution.inputs = &input;
    execution.outputCount = 2;
    execution.outputs = results;
    REQUIRE_EQUAL_INT(wnnContextComputeSync(context, &execution, sizeof message, message), WNNStatus_Success);
    for (size_t i = 0; i < 6; i++)
        REQUIRE(out[0][i] == in[i] + (float)(7 + i % 3) && out[1][i] == out[0][i]);
    wnnGraphRelease(graph);

    // What cannot be saved is refused, and nothing is left behind.
    outputs[1].name = view("an input");
    REQUIRE_EQUAL_INT(wnnModelSave(builder, &descriptor, sizeof message, message), WNNStatus_TypeError);
    REQUIRE(strstr(message, "\"an input\""));
    descriptor.outputCount = 0;
    REQUIRE_EQUAL_INT(wnnModelSave(builder, &descriptor, sizeof message, message), WNNStatus_TypeError);
    descriptor.outputCount = 1;
    descriptor.path = view("/no/such/folder/x.webnn");
    REQUIRE_EQUAL_INT(wnnModelSave(builder, &descriptor, sizeof message, message), WNNStatus_UnknownError);
    WNNGraphBuilder other = make_builder();
    descriptor.path = view(path_of("other.webnn"));
    REQUIRE_EQUAL_INT(wnnModelSave(other, &descriptor, sizeof message, message), WNNStatus_TypeError);
    REQUIRE(access(path_of("other.webnn"), F_OK) != 0);
    REQUIRE_EQUAL_INT(wnnModelSave(NULL, &descriptor, sizeof message, message), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnModelSave(builder, NULL, sizeof message, message), WNNStatus_TypeError);
    wnnGraphBuilderRelease(other);
    wnnGraphBuilderRelease(builder);
    remove_folder();
}

static void save_unknown_sizes(void)
{
    make_folder();
    WNNGraphBuilder builder = make_builder();
    WNNDimension dimension = WNN_DIMENSION_INIT;
    dimension.name = view("n");
    WNNNamedDimensions named = {{NULL, WNNSType_NamedDimensions}, 1, &dimension};
    WNNOperandDescriptor type = {&named.chain, WNNDataType_Float32, {(const uint32_t[]){0}, 1}};
    WNNNamedOperand y = {view("y"),
                         wnnGraphBuilderNeg(builder, wnnGraphBuilderInput(builder, view("x"), &type), NULL)};
    WNNModelSaveDescriptor descriptor = WNN_MODEL_SAVE_DESCRIPTOR_INIT;
    descriptor.path = view(path_of("saved.webnn"));
    descriptor.outputCount = 1;
    descriptor.outputs = &y;
    REQUIRE_EQUAL_INT(wnnModelSave(builder, &descriptor, sizeof message, message),
                      WNNStatus_NotSupportedError);
    REQUIRE(strstr(message, "sizes that are not known"));
    wnnGraphBuilderRelease(builder);
    remove_folder();
}

// A graph may have only one of them, but a file says what both are.
static void save_two_inputs_of_a_name(void)
{
    make_folder();
    WNNGraphBuilder builder = make_builder();
    static const uint32_t shape[1] = {2};
    WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {shape, 1}};
    wnnGraphBuilderInput(builder, view("x"), &type);
    WNNNamedOperand y = {view("y"),
                         wnnGraphBuilderNeg(builder, wnnGraphBuilderInput(builder, view("x"), &type), NULL)};
    WNNModelSaveDescriptor descriptor = WNN_MODEL_SAVE_DESCRIPTOR_INIT;
    descriptor.path = view(path_of("saved.webnn"));
    descriptor.outputCount = 1;
    descriptor.outputs = &y;
    REQUIRE_EQUAL_INT(wnnModelSave(builder, &descriptor, sizeof message, message), WNNStatus_TypeError);
    REQUIRE(strstr(message, "two inputs are called \"x\""));
    wnnGraphBuilderRelease(builder);
    remove_folder();
}

static WNNStatus save_as(WNNGraphBuilder builder, size_t output_count, const WNNNamedOperand *outputs,
                         const WNNNamedOperand *name)
{
    WNNModelSaveDescriptor descriptor = WNN_MODEL_SAVE_DESCRIPTOR_INIT;
    descriptor.path = view(path_of("saved.webnn"));
    descriptor.outputCount = output_count;
    descriptor.outputs = outputs;
    descriptor.nameCount = name ? 1 : 0;
    descriptor.names = name;
    return wnnModelSave(builder, &descriptor, sizeof message, message);
}

// What would read back as something else is refused; a name that is only for people is left out.
static void save_names(void)
{
    static const uint32_t shape[1] = {2};
    static const WNNStringView wrong[] = {{"", 0}, {"\0a", 2}, {"a\0", 2}, {"\xff", 1}};
    WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {shape, 1}};
    make_folder();
    WNNGraphBuilder builder = make_builder();
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &type), y = wnnGraphBuilderNeg(builder, x, NULL);
    WNNOperand z = wnnGraphBuilderAbs(builder, y, NULL);
    WNNNamedOperand outputs[] = {{view("z"), z}, {view("y"), y}, {view("z"), z}}, name = {view(""), y};
    REQUIRE_EQUAL_INT(save_as(builder, 3, outputs, NULL), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "save: two outputs are called \"z\"");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
        WNNGraph graph;
        outputs[1].name = name.name = wrong[i];
        REQUIRE_EQUAL_INT(save_as(builder, 2, outputs, NULL), WNNStatus_TypeError);
        REQUIRE_EQUAL_STR(message, "save: the name of output 1 is empty, has a NUL in it or is not UTF-8");
        REQUIRE_EQUAL_INT(save_as(builder, 1, outputs, &name), WNNStatus_Success);
        file.path = view(path_of("saved.webnn"));
        REQUIRE_EQUAL_INT(wnnModelBuildSync(&file, context, NULL, &graph, sizeof message, message),
                          WNNStatus_Success);
        wnnGraphRelease(graph);
    }
    x = wnnGraphBuilderInput(builder, (WNNStringView){"x\0", 2}, &type);
    outputs[0].operand = wnnGraphBuilderNeg(builder, x, NULL);
    REQUIRE_EQUAL_INT(save_as(builder, 1, outputs, NULL), WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "save: the name of input 1 is empty, has a NUL in it or is not UTF-8");
    wnnGraphBuilderRelease(builder);
    remove_folder();
}

// Names of results may be longer than labels may be, whose beginnings they are.
static void save_long_name(void)
{
    static const uint32_t shape[1] = {2};
    static const WNNLimits limits = {.maxStringLength = 2000};
    static char letters[3000];
    WNNContextDescriptor limited = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {shape, 1}};
    WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
    WNNContext strict;
    WNNGraph graph;
    make_folder();
    letters[0] = 'a';
    for (size_t i = 1; i + 1 < sizeof letters; i += 2)
        memcpy(letters + i, "\xC3\xA4", 2);
    limited.limits = &limits;
    REQUIRE_EQUAL_INT(wnnCreateContext(&limited, &strict), WNNStatus_Success);
    WNNGraphBuilder builder = make_builder();
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &type), y = wnnGraphBuilderNeg(builder, x, NULL);
    WNNNamedOperand output = {view("z"), wnnGraphBuilderAbs(builder, y, NULL)},
                    name = {{letters, sizeof letters - 1}, y};
    REQUIRE_EQUAL_INT(save_as(builder, 1, &output, &name), WNNStatus_Success);
    file.path = view(path_of("saved.webnn"));
    WNNStatus status = wnnModelBuildSync(&file, strict, NULL, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(status ? message : "", "");
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(strict);
    remove_folder();
}

// What could not be read again is not written; a file of that name stays what it was.
static void save_too_much(void)
{
    enum {
        COUNT = 1100,
        LENGTH = 65536
    };
    static const uint32_t shape[1] = {2};
    static char letters[LENGTH + 1];
    static const float numbers[2] = {1, 2};
    WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {shape, 1}};
    WNNModelSaveDescriptor descriptor = WNN_MODEL_SAVE_DESCRIPTOR_INIT;
    WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
    WNNNamedOperand *names = calloc(COUNT, sizeof *names), output = {view("y"), NULL};
    WNNGraph graph;
    REQUIRE(names);
    make_folder();
    memset(letters, 'a', sizeof letters);
    for (int constants = 0; constants < 2; constants++) {
        WNNGraphBuilder builder = make_builder();
        WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &type);
        output.operand = wnnGraphBuilderNeg(builder, x, NULL);
        output.name = (WNNStringView){letters, LENGTH + 1};
        REQUIRE_EQUAL_INT(save_as(builder, 1, &output, NULL), WNNStatus_TypeError);
        REQUIRE_EQUAL_STR(message, "save: the name of output 0 has 65537 bytes; expected at most 65536");
        output.name.length = LENGTH;
        REQUIRE_EQUAL_INT(save_as(builder, 1, &output, NULL), WNNStatus_Success);
        output.name = view("y");
        size_t count = constants ? 300 : COUNT;
        for (size_t i = 0; i < count; i++) {
            char *name = malloc(LENGTH);
            REQUIRE(name);
            memset(name, 'a', LENGTH);
            name[0] = (char)('a' + i % 26);
            name[1] = (char)('a' + i / 26 % 26);
            name[2] = (char)('a' + i / 676);
            names[i].name = (WNNStringView){name, LENGTH};
            names[i].operand = constants ? wnnGraphBuilderConstant(builder, &type, numbers, sizeof numbers)
                                         : wnnGraphBuilderAbs(builder, output.operand, NULL);
            output.operand = constants ? wnnGraphBuilderAdd(builder, output.operand, names[i].operand, NULL)
                                       : names[i].operand;
        }
        descriptor.path = view(path_of("saved.webnn"));
        descriptor.outputs = &output;
        descriptor.outputCount = 1;
        descriptor.names = names;
        descriptor.nameCount = count;
        REQUIRE_EQUAL_INT(wnnModelSave(builder, &descriptor, sizeof message, message),
                          WNNStatus_NotSupportedError);
        REQUIRE(strstr(message, constants ? "saved.safetensors: the header has "
                                          : "save: the text of the graph has "));
        REQUIRE(strstr(message,
                       constants ? "; no more than 16777216 are read" : "; no more than 67108864 are read"));
        file.path = view(path_of("saved.webnn"));
        REQUIRE_EQUAL_INT(wnnModelBuildSync(&file, context, NULL, &graph, sizeof message, message),
                          WNNStatus_Success);
        wnnGraphRelease(graph);
        wnnGraphBuilderRelease(builder);
        for (size_t i = 0; i < count; i++)
            free((char *)(uintptr_t)names[i].name.data);
    }
    free(names);
    remove_folder();
}

// Weights in several files, and in one that the program names.
static void find_weights(void)
{
    static const char text[] = "webnn_graph \"sharded\" v1 {\n"
                               "  inputs { x: f32[2]; }\n"
                               "  consts { a: f32[2] @weights(\"first\"); b: f32[2] @weights(\"second\"); }\n"
                               "  nodes { p = mul(x, a); y = add(p, b); }\n"
                               "  outputs { y; }\n"
                               "}\n";
    make_folder();
    write_text("m.webnn", text);
    WNNGraph graph;
    WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
    file.path = view(path_of("m.webnn"));
    REQUIRE(wnnModelBuildSync(&file, context, NULL, &graph, sizeof message, message) && !graph);
    REQUIRE(strstr(message, "m.webnn:3:23: no weights: ") && strstr(message, "m.safetensors: No such file"));

    write_weights("m-1.safetensors", "first", 2, 3);
    write_weights("m-2.safetensors", "second", 10, 20);
    write_text("m.safetensors.index.json", "{\"metadata\": {}, \"weight_map\": {\"first\": "
                                           "\"m-1.safetensors\", \"second\": \"m-2.safetensors\"}}");
    // Mapped and read; the second time with bytes behind the tensors of a file.
    for (int i = 0; i < 4; i++) {
        float x[2] = {1, 1}, y[2];
        FILE *longer = i == 2 ? fopen(path_of("m-1.safetensors"), "ab") : NULL;
        REQUIRE(i != 2 || (longer && fputc('x', longer) != EOF && fclose(longer) == 0));
        file.path = view(path_of("m.webnn"));
        file.copy = i % 2;
        REQUIRE_EQUAL_INT(wnnModelBuildSync(&file, context, NULL, &graph, sizeof message, message),
                          WNNStatus_Success);
        compute(graph, "x", x, 2, "y", y, 2);
        REQUIRE(y[0] == 12 && y[1] == 23);
        wnnGraphRelease(graph);
    }

    // One of the shards named by the program lacks a tensor.
    char part[160];
    snprintf(part, sizeof part, "%s/m-1.safetensors", folder);
    file.weightsPath = view(part);
    REQUIRE(wnnModelBuildSync(&file, context, NULL, &graph, sizeof message, message));
    REQUIRE(strstr(message, "has no tensor \"second\""));

    // Lists that lead out of the folder, or nowhere, or are none.
    file.weightsPath = (WNNStringView)WNN_STRING_VIEW_INIT;
    static const struct {
        const char *list, *says;
    } wrong[] = {{"{\"weight_map\": {\"first\": \"../m-1.safetensors\"}}", "not in the folder"},
                 {"{\"weight_map\": {\"first\": \"none.safetensors\"}}", "No such file"},
                 {"{\"weight_map\": {\"first\": 3}}", "in no file"},
                 {"{\"weight_map\": 3}", "no list"},
                 {"{", "no list"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_text("m.safetensors.index.json", wrong[i].list);
        REQUIRE(wnnModelBuildSync(&file, context, NULL, &graph, sizeof message, message));
        REQUIRE(strstr(message, wrong[i].says));
    }
    remove_folder();
}

static void name_foreign_formats(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } files[] = {{"GGUF\3\0\0\0", 8, "GGUF"},
                 {"PK\3\4\24\0\0\0", 8, "PyTorch"},
                 {"version https://git-lfs.github.com/spec/v1\n", 43, "Git LFS"},
                 {"\20\0\0\0\0\0\0\0{\"w\":1}", 15, "safetensors"},
                 {"", 0, "empty"},
                 {"hello", 5, "not known"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        WNNModel model;
        WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
        descriptor.path = view("file");
        descriptor.data = files[i].bytes;
        descriptor.byteLength = files[i].size;
        REQUIRE_EQUAL_INT(wnnModelOpen(&descriptor, &model, sizeof message, message), WNNStatus_TypeError);
        REQUIRE(!model && strncmp(message, "file: ", 6) == 0);
        REQUIRE(strstr(message, files[i].says));
    }
}

// A mapped file that is made shorter: zeros, and an error for who asks. A copy stays what it was.
static void guard_files(void)
{
    static const char text[] = "webnn_graph \"large\" v1 {\n"
                               "  inputs { x: f32[2]; }\n"
                               "  consts { w: f32[2] @weights(\"w\"); }\n"
                               "  nodes { y = add(x, w); }\n"
                               "  outputs { y; }\n"
                               "}\n";
    make_folder();
    write_text("g.webnn", text);
    write_weights("g.safetensors", "w", 5, 6);
    wnnModelGuardFiles();
    wnnModelGuardFiles();
    REQUIRE_EQUAL_INT(wnnModelCheckFiles(sizeof message, message), WNNStatus_Success);
    for (int copy = 1; copy >= 0; copy--) {
        WNNModelDescriptor file = WNN_MODEL_DESCRIPTOR_INIT;
        file.path = view(path_of("g.webnn"));
        file.copy = copy;
        WNNModel model;
        WNNGraphBuilder builder = make_builder();
        WNNNamedOperand y;
        write_weights("g.safetensors", "w", 5, 6);
        REQUIRE_EQUAL_INT(wnnModelOpen(&file, &model, sizeof message, message), WNNStatus_Success);
        REQUIRE_EQUAL_INT(wnnModelRecord(model, builder, NULL, 1, &y, NULL, sizeof message, message),
                          WNNStatus_Success);
        REQUIRE(truncate(path_of("g.safetensors"), 0) == 0);
        WNNGraph graph;
        REQUIRE_EQUAL_INT(wnnGraphBuilderBuildSync(builder, 1, &y, &graph, sizeof message, message),
                          WNNStatus_Success);
        float x[2] = {1, 1}, result[2];
        compute(graph, "x", x, 2, "y", result, 2);
        REQUIRE(result[0] == (copy ? 6 : 1) && result[1] == (copy ? 7 : 1));
        REQUIRE_EQUAL_INT(wnnModelCheckFiles(sizeof message, message),
                          copy ? WNNStatus_Success : WNNStatus_UnknownError);
        REQUIRE(copy || strstr(message, "g.safetensors changed"));
        wnnGraphRelease(graph);
        wnnGraphBuilderRelease(builder);
        wnnModelRelease(model);
    }
    remove_folder();
}

// What has been recorded is told as the calls that record it again.
static void tell_what_is_recorded(void)
{
    WNNGraphBuilder builder = make_builder(), again = make_builder();
    const uint32_t shape[4] = {1, 4, 4, 2}, filter_shape[4] = {3, 3, 3, 2};
    float filter[54] = {0};
    WNNOperandDescriptor type = {NULL, WNNDataType_Float32, {shape, 4}};
    WNNOperandDescriptor filter_type = {NULL, WNNDataType_Float32, {filter_shape, 4}};
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &type);
    WNNOperand w = wnnGraphBuilderConstant(builder, &filter_type, filter, sizeof filter);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.label = view("a convolution");
    options.inputLayout = WNNInputOperandLayout_NHWC;
    options.filterLayout = WNNConv2dFilterOperandLayout_OHWI;
    WNNOperand y = wnnGraphBuilderConv2d(builder, x, w, &options);
    REQUIRE(y);
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperandCount(builder), 3);
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperatorCount(builder), 1);
    WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperand(builder, wnnOperandGetIndex(w), &operand), WNNStatus_Success);
    REQUIRE(operand.source == WNNOperandSource_Constant && operand.byteLength == sizeof filter &&
            operand.operand == w && operand.shape.count == 4 && operand.shape.data[3] == 2);
    operand = (WNNRecordedOperand)WNN_RECORDED_OPERAND_INIT;
    wnnGraphBuilderGetOperand(builder, wnnOperandGetIndex(x), &operand);
    REQUIRE(operand.source == WNNOperandSource_Input && equals(operand.name, "x") && !operand.data);
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperand(builder, 3, &operand), WNNStatus_TypeError);
    WNNRecordedOperator recorded = WNN_RECORDED_OPERATOR_INIT;
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperator(builder, 0, &recorded), WNNStatus_Success);
    REQUIRE(equals(recorded.call.name, "conv2d") && equals(recorded.call.label, "a convolution"));
    REQUIRE(recorded.call.inputCount == 2 && recorded.call.inputs[0] == x && recorded.outputCount == 1 &&
            recorded.outputs[0] == y);
    WNNOperand inputs[2] = {wnnGraphBuilderInput(again, view("x"), &type),
                            wnnGraphBuilderConstant(again, &filter_type, filter, sizeof filter)};
    recorded.call.inputs = inputs;
    WNNOperand output;
    REQUIRE_EQUAL_INT(wnnGraphBuilderCall(again, &recorded.call, 1, &output), 1);
    WNNUint32List a = wnnOperandGetShape(y), b = wnnOperandGetShape(output);
    REQUIRE(a.count == b.count && memcmp(a.data, b.data, a.count * sizeof *a.data) == 0);
    recorded = (WNNRecordedOperator)WNN_RECORDED_OPERATOR_INIT;
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetOperator(builder, 1, &recorded), WNNStatus_TypeError);
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetActivation(builder, NULL, &recorded), WNNStatus_TypeError);
    REQUIRE(wnnOperandGetIndex(NULL) == SIZE_MAX && wnnGraphBuilderGetOperandCount(NULL) == 0);
    wnnGraphBuilderRelease(again);
    wnnGraphBuilderRelease(builder);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    CASE(guard_files()); // first: a file that others change while it is mapped is remembered
    CASE(describe());
    CASE(read_many_blocks());
    CASE(read_negative_zero());
    CASE(put_between());
    CASE(tell_all_errors());
    CASE(save_and_read());
    CASE(save_two_inputs_of_a_name());
    CASE(save_unknown_sizes());
    CASE(save_names());
    CASE(save_long_name());
    CASE(save_too_much());
    CASE(find_weights());
    CASE(name_foreign_formats());
    CASE(tell_what_is_recorded());
    wnnContextRelease(context);
    return cases_end();
}
