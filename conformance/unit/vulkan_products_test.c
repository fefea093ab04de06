// SPDX-License-Identifier: Apache-2.0
//
// Products and convolutions of sizes at which the backends take blocks, tiles, slices and splits, none of
// them whole multiples of anything. Elements are small whole numbers, so that sums are exact in any order and
// must equal those of the reference bit for bit. Vulkan is left out where it has no device.

#include "conformance/backends.h"
#include "conformance/reference/reference.h"
#include "conformance/unit/differential_fixture.h"
#include "cpu/cpu.h"

enum kind {
    MATMUL,
    GEMM,
    CONV2D,
    CONV_TRANSPOSE2D
};

enum {
    OIHW = WNNConv2dFilterOperandLayout_OIHW,
    HWIO = WNNConv2dFilterOperandLayout_HWIO,
    OHWI = WNNConv2dFilterOperandLayout_OHWI,
    IHWO = WNNConv2dFilterOperandLayout_IHWO
};

#define SINGLE WNNDataType_Float32
#define HALF   WNNDataType_Float16

// What is left out is nothing, or 1.
struct product_case {
    const char *name;
    enum kind kind;
    WNNDataType type;
    uint32_t a[5], b[5], c[3], out[5]; // shapes, ended by 0; c: of gemm, or the bias; out: of the addend
    bool a_transpose, b_transpose, relu;
    float alpha, beta;
    uint32_t groups, filter, strides[2], dilations[2], padding[4];
    bool b_input;
};

static const struct product_case cases[] = {
    // Tiles of every size, quads and single elements.
    {"whole tiles", MATMUL, SINGLE, {128, 48}, {48, 256}},
    {"odd rows", MATMUL, SINGLE, {131, 36}, {36, 132}},
    {"odd everything", MATMUL, SINGLE, {131, 37}, {37, 133}},
    {"odd everything, float16", MATMUL, HALF, {131, 37}, {37, 133}},
    {"even columns, float16", MATMUL, HALF, {67, 40}, {40, 70}, .relu = true},
    // Constants whose columns no load can take by several, as the words of a language model.
    {"words", MATMUL, SINGLE, {67, 96}, {96, 1003}, .relu = true},
    {"words, float16", MATMUL, HALF, {67, 96}, {96, 1003}},
    {"words, a row of float16", MATMUL, HALF, {1, 96}, {96, 1003}},
    {"words, with everything",
     GEMM,
     HALF,
     {24, 64},
     {64, 1102},
     {1102},
     {24, 1102},
     false,
     false,
     true,
     0.5f,
     2},
    {"few columns", MATMUL, SINGLE, {300, 64}, {64, 5}},
    {"a row", MATMUL, SINGLE, {1, 515}, {515, 261}},
    {"rows", MATMUL, SINGLE, {3, 516}, {516, 260}},
    {"rows, float16", MATMUL, HALF, {2, 130}, {130, 516}},
    // Slices, and splits: partial sums go through scratch memory.
    {"long", MATMUL, SINGLE, {9, 4099}, {4099, 11}},
    {"long, float16", MATMUL, HALF, {17, 2048}, {2048, 24}},
    {"long, with everything",
     GEMM,
     SINGLE,
     {33, 1030},
     {1030, 34},
     {34},
     {33, 34},
     false,
     false,
     true,
     0.5f,
     2},
    // Threads share rows, or columns; matrices that come with each run are packed, a panel or a block at a
    // time.
    {"wide", MATMUL, SINGLE, {37, 517}, {517, 1163}},
    {"tall", MATMUL, SINGLE, {1163, 261}, {261, 147}},
    {"wide, both vary", MATMUL, SINGLE, {37, 517}, {517, 1163}, .b_input = true, .relu = true},
    {"tall, both vary", MATMUL, SINGLE, {603, 261}, {261, 1100}, .b_input = true},
    {"a transposed, both vary",
     GEMM,
     SINGLE,
     {290, 41},
     {290, 500},
     {500},
     .a_transpose = true,
     .b_input = true,
     .alpha = 1,
     .beta = 1},
    // Matrices by matrices, of which some are shared.
    {"matrices", MATMUL, SINGLE, {3, 65, 40}, {3, 40, 36}, {0}, {3, 65, 36}},
    {"shared b", MATMUL, SINGLE, {3, 35, 40}, {40, 36}},
    {"shared a", MATMUL, SINGLE, {35, 40}, {3, 40, 38}},
    {"crossed", MATMUL, SINGLE, {2, 1, 35, 40}, {3, 40, 36}},
    // gemm, every way round.
    {"a transposed", GEMM, SINGLE, {70, 68}, {70, 72}, {68, 72}, {0}, true, false, false, 1, 1},
    {"b transposed", GEMM, SINGLE, {68, 70}, {75, 70}, {75}, {0}, false, true, true, 2, 1},
    {"both transposed", GEMM, SINGLE, {64, 66}, {71, 64}, {66, 1}, {66, 71}, true, true, false, 1, 0.5f},
    {"both transposed, float16", GEMM, HALF, {64, 65}, {71, 64}, {1}, {65, 71}, true, true, true, 1, 0.5f},
    // Convolutions: gathered or as they are, filters in each layout.
    {"1x1",
     CONV2D,
     SINGLE,
     {2, 13, 11, 32},
     {40, 1, 1, 32},
     {40},
     {2, 13, 11, 40},
     .relu = true,
     .filter = OHWI},
    {"1x1 in steps",
     CONV2D,
     SINGLE,
     {1, 13, 11, 32},
     {36, 1, 1, 32},
     {36},
     .strides = {2, 2},
     .filter = OHWI},
    {"3x3 ohwi",
     CONV2D,
     SINGLE,
     {1, 13, 17, 12},
     {36, 3, 3, 12},
     {36},
     .padding = {1, 1, 1, 1},
     .filter = OHWI},
    {"3x3 hwio",
     CONV2D,
     SINGLE,
     {1, 13, 17, 12},
     {3, 3, 12, 36},
     {36},
     .padding = {1, 1, 1, 1},
     .filter = HWIO},
    {"3x3 oihw",
     CONV2D,
     SINGLE,
     {1, 13, 17, 12},
     {36, 12, 3, 3},
     {36},
     .padding = {0, 1, 2, 0},
     .filter = OIHW},
    {"3x3 ihwo",
     CONV2D,
     SINGLE,
     {1, 13, 17, 12},
     {12, 3, 3, 36},
     {36},
     .padding = {1, 1, 1, 1},
     .filter = IHWO},
    {"3 channels",
     CONV2D,
     SINGLE,
     {1, 33, 35, 3},
     {20, 7, 7, 3},
     {20},
     .strides = {2, 2},
     .padding = {3, 3, 3, 3},
     .filter = OHWI},
    {"dilated",
     CONV2D,
     SINGLE,
     {1, 19, 23, 8},
     {35, 3, 5, 8},
     .dilations = {2, 3},
     .padding = {2, 1, 4, 3},
     .filter = OHWI},
    {"groups",
     CONV2D,
     SINGLE,
     {2, 12, 14, 48},
     {60, 3, 3, 16},
     {60},
     .groups = 3,
     .padding = {1, 1, 1, 1},
     .filter = OHWI},
    {"groups hwio",
     CONV2D,
     SINGLE,
     {1, 12, 14, 48},
     {3, 3, 16, 57},
     .groups = 3,
     .padding = {1, 1, 1, 1},
     .filter = HWIO},
    {"groups, float16", CONV2D, HALF, {1, 12, 14, 20}, {34, 3, 3, 10}, {34}, .groups = 2, .filter = OHWI},
    {"long 3x3",
     CONV2D,
     SINGLE,
     {1, 5, 5, 260},
     {36, 3, 3, 260},
     {36},
     {1, 5, 5, 36},
     .relu = true,
     .padding = {1, 1, 1, 1},
     .filter = OHWI},
    {"float16", CONV2D, HALF, {1, 13, 11, 16}, {33, 3, 3, 16}, {33}, .padding = {1, 1, 1, 1}, .filter = OHWI},
    {"transposed",
     CONV_TRANSPOSE2D,
     SINGLE,
     {1, 9, 11, 16},
     {20, 3, 3, 16},
     {20},
     .strides = {2, 3},
     .padding = {1, 0, 1, 1},
     .filter = 3},
    {"transposed hwoi",
     CONV_TRANSPOSE2D,
     SINGLE,
     {2, 9, 7, 12},
     {2, 4, 18, 12},
     .dilations = {2, 1},
     .filter = 2},
    {"transposed, groups",
     CONV_TRANSPOSE2D,
     SINGLE,
     {1, 9, 11, 32},
     {12, 3, 3, 32},
     {24},
     .groups = 2,
     .strides = {2, 1},
     .filter = 3},
    // A filter for each channel.
    {"depthwise",
     CONV2D,
     SINGLE,
     {2, 15, 17, 36},
     {1, 3, 3, 36},
     {36},
     {2, 15, 17, 36},
     .relu = true,
     .groups = 36,
     .padding = {1, 1, 1, 1},
     .filter = IHWO},
    {"depthwise in steps",
     CONV2D,
     SINGLE,
     {1, 31, 33, 32},
     {32, 1, 5, 5},
     {32},
     .groups = 32,
     .strides = {2, 2},
     .padding = {2, 1, 2, 1},
     .filter = OIHW},
    {"depthwise dilated",
     CONV2D,
     SINGLE,
     {1, 31, 33, 32},
     {3, 4, 1, 32},
     .groups = 32,
     .dilations = {3, 2},
     .padding = {1, 2, 3, 4},
     .filter = HWIO},
    {"depthwise, float16",
     CONV2D,
     HALF,
     {1, 23, 21, 36},
     {1, 3, 3, 36},
     {36},
     .groups = 36,
     .padding = {1, 1, 1, 1},
     .filter = IHWO},
    // Groups of few channels.
    {"small groups",
     CONV2D,
     SINGLE,
     {2, 13, 15, 32},
     {32, 4, 3, 3},
     {32},
     {2, 13, 15, 32},
     .relu = true,
     .groups = 8,
     .padding = {1, 1, 1, 1},
     .filter = OIHW},
    {"small groups, float16",
     CONV2D,
     HALF,
     {1, 21, 19, 24},
     {24, 3, 3, 4},
     {24},
     .groups = 6,
     .strides = {1, 2},
     .filter = OHWI},
    {"several channels of one",
     CONV2D,
     SINGLE,
     {1, 17, 19, 15},
     {30, 1, 3, 3},
     {30},
     .groups = 15,
     .filter = OIHW},
    {"several channels of one, float16",
     CONV2D,
     HALF,
     {1, 33, 35, 9},
     {18, 1, 5, 3},
     .groups = 9,
     .dilations = {2, 1},
     .filter = OIHW},
    {"odd groups",
     CONV2D,
     SINGLE,
     {1, 19, 23, 15},
     {3, 3, 3, 15},
     {15},
     .groups = 5,
     .padding = {2, 1, 0, 1},
     .filter = HWIO},
};

static WNNUint32List list_of(const uint32_t *values, size_t most)
{
    size_t count = 0;
    while (count < most && values[count])
        count++;
    return (WNNUint32List){values, count};
}

static size_t count_of(WNNUint32List shape)
{
    size_t count = 1;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    return count;
}

// Whole numbers from -2 to 2 that nothing in the sizes repeats with.
static void fill(void *data, WNNDataType type, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        float value = (float)(int)(seed >> 24) / 64;
        value = (float)((int)value - 2 + (int)(seed >> 23 & 1));
        if (type == WNNDataType_Float16)
            ((uint16_t *)data)[i] = wnn_half_from_float(value);
        else
            ((float *)data)[i] = value;
    }
}

static size_t size_of(WNNDataType type)
{
    return type == WNNDataType_Float16 ? 2 : 4;
}

struct recording {
    WNNGraphBuilder builder;
    const struct product_case *test;
    size_t inputs;
    WNNNamedBuffer buffers[3];
};

static WNNOperand add_operand(struct recording *recording, const uint32_t *dims, bool constant)
{
    static const char *const names[] = {"a", "b", "c"};
    WNNDataType type = recording->test->type;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type;
    descriptor.shape = list_of(dims, 5);
    size_t count = count_of(descriptor.shape), bytes = count * size_of(type);
    void *data = malloc(bytes);
    REQUIRE(data);
    fill(data, type, count, dims[0] * 31 + (uint32_t)recording->inputs);
    if (constant) {
        WNNOperand operand = wnnGraphBuilderConstant(recording->builder, &descriptor, data, bytes);
        free(data);
        return operand;
    }
    WNNStringView name = view(names[recording->inputs]);
    recording->buffers[recording->inputs++] = (WNNNamedBuffer){name, data, bytes, type};
    return wnnGraphBuilderInput(recording->builder, name, &descriptor);
}

static WNNUint32List pair_of(const uint32_t pair[2])
{
    return pair[0] ? (WNNUint32List){pair, 2} : (WNNUint32List)WNN_UINT32_LIST_INIT;
}

static WNNOperand record(struct recording *recording)
{
    const struct product_case *test = recording->test;
    WNNGraphBuilder builder = recording->builder;
    WNNOperand a = add_operand(recording, test->a, false),
               b = add_operand(recording, test->b, !test->b_input),
               c = test->c[0] ? add_operand(recording, test->c, true) : NULL, result;
    if (test->kind == MATMUL) {
        result = wnnGraphBuilderMatmul(builder, a, b, NULL);
    } else if (test->kind == GEMM) {
        WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
        options.c = c;
        options.alpha = test->alpha;
        options.beta = test->beta;
        options.aTranspose = test->a_transpose;
        options.bTranspose = test->b_transpose;
        result = wnnGraphBuilderGemm(builder, a, b, &options);
    } else if (test->kind == CONV2D) {
        WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
        options.inputLayout = WNNInputOperandLayout_NHWC;
        options.filterLayout = (WNNConv2dFilterOperandLayout)test->filter;
        options.groups = test->groups ? test->groups : 1;
        options.strides = pair_of(test->strides);
        options.dilations = pair_of(test->dilations);
        options.padding = (WNNUint32List){test->padding, 4};
        options.bias = c;
        result = wnnGraphBuilderConv2d(builder, a, b, &options);
    } else {
        WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
        options.inputLayout = WNNInputOperandLayout_NHWC;
        options.filterLayout = (WNNConvTranspose2dFilterOperandLayout)test->filter;
        options.groups = test->groups ? test->groups : 1;
        options.strides = pair_of(test->strides);
        options.dilations = pair_of(test->dilations);
        options.padding = (WNNUint32List){test->padding, 4};
        options.bias = c;
        result = wnnGraphBuilderConvTranspose2d(builder, a, b, &options);
    }
    if (test->out[0])
        result = wnnGraphBuilderAdd(builder, result, add_operand(recording, test->out, false), NULL);
    return test->relu ? wnnGraphBuilderRelu(builder, result, NULL) : result;
}

// The result, allocated.
static void *compute(WNNContext context, const struct product_case *test, size_t *bytes)
{
    struct recording recording = {create_builder(context), test, 0, {{.name = {NULL, 0}}}};
    WNNNamedOperand named = {view("out"), record(&recording)};
    WNNGraph graph = build_outputs(context, recording.builder, 1, &named);
    *bytes = count_of(wnnOperandGetShape(named.operand)) * size_of(test->type);
    WNNNamedBuffer output = {view("out"), calloc(1, *bytes), *bytes, test->type};
    REQUIRE(output.data);
    compute_buffers(context, graph, recording.inputs, recording.buffers, 1, &output);
    for (size_t i = 0; i < recording.inputs; i++)
        free(recording.buffers[i].data);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(recording.builder);
    return output.data;
}

static double element(const void *data, WNNDataType type, size_t i)
{
    return type == WNNDataType_Float16 ? (double)wnn_half_to_float(((const uint16_t *)data)[i])
                                       : (double)((const float *)data)[i];
}

static void test_product(const struct product_case *subject, WNNContext reference, WNNContext context)
{
    size_t expected_bytes, bytes;
    void *expected = compute(reference, subject, &expected_bytes), *got = compute(context, subject, &bytes);
    REQUIRE_EQUAL_INT(bytes, expected_bytes);
    for (size_t e = 0; e < bytes / size_of(subject->type); e++)
        if (element(got, subject->type, e) != element(expected, subject->type, e)) {
            fprintf(stderr, "element %zu is %g; expected %g\n", e, element(got, subject->type, e),
                    element(expected, subject->type, e));
            case_fail();
        }
    free(got);
    free(expected);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    const struct backend *const backends[] = {&wnn_backend_cpu, &wnn_backend_vulkan, vulkan_minimal()};
    WNNContext reference = create_on(&wnn_backend_reference);
    REQUIRE(reference);
    for (int i = 0; i < 3; i++) {
        WNNContext context = create_on(backends[i]);
        if (!context) {
            REQUIRE(i > 0);
            fprintf(stderr, "there is no Vulkan device\n");
            break;
        }
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++)
            CASE_AS(case_name("%s on %s", cases[k].name, backends[i]->name),
                    test_product(&cases[k], reference, context));
        wnnContextRelease(context);
    }
    wnnContextRelease(reference);
    return cases_end();
}
