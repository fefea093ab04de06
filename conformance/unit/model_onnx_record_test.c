// SPDX-License-Identifier: Apache-2.0
//
// What is recorded of graphs that files do not mean, most of which fuzzing has found.

#include "conformance/unit/onnx_fixture.h"

#include <stdio.h>
#include <stdlib.h>

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
