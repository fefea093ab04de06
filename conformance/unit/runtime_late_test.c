// SPDX-License-Identifier: Apache-2.0
//
// Graphs with sizes that are not known while they are recorded: what is refused when, what comes out at many
// sizes, how many specializations stay, several threads.

#include "conformance/backends.h"
#include "conformance/unit/runtime_fixture.h"
#include "runtime/late.h"

#include <math.h>

#define MAX_DIMENSIONS 4
#define MAX_FLOATS     4096

static const struct backend *backend;
static WNNContext context;
static WNNGraphBuilder builder;
static char message[1024];

static void begin_on(const struct backend *on, const WNNAllocator *allocator, uint32_t most, uint64_t bytes)
{
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.maxSpecializations = most;
    limits.maxSpecializationBytes = bytes;
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    descriptor.limits = &limits;
    descriptor.allocator = allocator;
    REQUIRE_EQUAL_INT(wnn_create_context_on(on, &descriptor, &context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &builder), WNNStatus_Success);
}

static void begin_with(uint32_t most, uint64_t bytes)
{
    begin_on(backend, NULL, most, bytes);
}

static void begin(uint32_t most)
{
    begin_with(most, 0);
}

static void end(void)
{
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(context);
}

// An input of float32; "n" is a dimension of that name, "?" one without, "3" one of size 3.
static WNNOperand input(const char *name, size_t rank, const char *const *dimensions)
{
    uint32_t shape[MAX_DIMENSIONS] = {0};
    WNNDimension named[MAX_DIMENSIONS];
    for (size_t i = 0; i < rank; i++) {
        char first = dimensions[i][0];
        named[i] = (WNNDimension)WNN_DIMENSION_INIT;
        if (first >= '0' && first <= '9')
            shape[i] = (uint32_t)(first - '0');
        else if (first == '?')
            named[i].isUnknown = true;
        else
            named[i].name = view(dimensions[i]);
    }
    WNNNamedDimensions dimensions_of = WNN_NAMED_DIMENSIONS_INIT;
    dimensions_of.dimensionCount = rank;
    dimensions_of.dimensions = named;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.nextInChain = &dimensions_of.chain;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){shape, rank};
    return wnnGraphBuilderInput(builder, view(name), &descriptor);
}
#define INPUT(name, ...)                                                                                     \
    input(name, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

static WNNOperand constant(uint32_t rows, uint32_t columns)
{
    static float values[MAX_FLOATS];
    uint32_t shape[] = {rows, columns};
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){shape, 2};
    for (uint32_t i = 0; i < rows * columns; i++)
        values[i] = (float)(i % 7) - 3;
    return wnnGraphBuilderConstant(builder, &descriptor, values, rows * columns * sizeof(float));
}

static WNNGraph build(WNNOperand output)
{
    WNNGraph graph = NULL;
    WNNNamedOperand named = {view("y"), output};
    wnnGraphBuilderBuildSync(builder, 1, &named, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    return graph;
}

static void require_error(const char *expected)
{
    WNNError error;
    wnnGraphBuilderGetError(builder, &error);
    REQUIRE_EQUAL_VIEW(error.message, expected);
    wnnGraphBuilderClearError(builder);
}

// Computes on inputs named a, b ... of these shapes; returns the number of floats, or 0 after an error.
static size_t compute(WNNGraph graph, size_t count, const WNNUint32List *shapes, const float *const *data,
                      float *result)
{
    static const char names[][2] = {"a", "b"};
    WNNNamedShape named[2];
    WNNNamedBuffer inputs[2];
    for (size_t i = 0; i < count; i++) {
        size_t elements = 1;
        for (size_t d = 0; d < shapes[i].count; d++)
            elements *= shapes[i].data[d];
        named[i] = (WNNNamedShape){view(names[i]), shapes[i]};
        inputs[i] = (WNNNamedBuffer){view(names[i]), (void *)(uintptr_t)data[i], elements * sizeof(float),
                                     WNNDataType_Float32};
    }
    char says[1024];
    WNNOutputShape shape = WNN_OUTPUT_SHAPE_INIT;
    WNNStatus status = wnnGraphComputeShapes(graph, count, named, 1, &shape, sizeof says, says);
    WNNNamedBuffer output = {view("y"), result, shape.byteLength, WNNDataType_Float32};
    WNNInputShapes given = WNN_INPUT_SHAPES_INIT;
    given.shapeCount = count;
    given.shapes = named;
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.nextInChain = &given.chain;
    descriptor.graph = graph;
    descriptor.inputCount = count;
    descriptor.inputs = inputs;
    descriptor.outputCount = 1;
    descriptor.outputs = &output;
    char computed[1024];
    REQUIRE_EQUAL_INT(wnnContextComputeSync(context, &descriptor, sizeof computed, computed), status);
    // The same is wrong for the same reason.
    const char *reason = strchr(says, ':'), *other = strchr(computed, ':');
    REQUIRE_EQUAL_STR(other ? other : "", reason ? reason : "");
    memcpy(message, computed, sizeof message);
    return status == WNNStatus_Success ? shape.byteLength / sizeof(float) : 0;
}
#define SHAPE(...)                                                                                           \
    ((WNNUint32List){(const uint32_t[]){__VA_ARGS__},                                                        \
                     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)})

static float number_values[MAX_FLOATS];

static void fill_numbers(void)
{
    for (size_t i = 0; i < MAX_FLOATS; i++)
        number_values[i] = (float)(i % 11) * 0.5f - 2;
}

static const float *numbers(void)
{
    return number_values;
}

// y = concat(a w, a w) at `rows` rows.
static void check_product(WNNGraph graph, uint32_t rows)
{
    const float *data = numbers();
    float result[MAX_FLOATS];
    REQUIRE_EQUAL_INT(compute(graph, 1, &SHAPE(rows, 4), &data, result), 2 * rows * 3);
    for (uint32_t i = 0; i < 2 * rows * 3; i++) {
        float sum = 0;
        for (uint32_t k = 0; k < 4; k++)
            sum += data[i / 3 % rows * 4 + k] * ((float)((k * 3 + i % 3) % 7) - 3);
        REQUIRE(result[i] == sum);
    }
}

static WNNOperand product(void)
{
    WNNOperand rows = wnnGraphBuilderMatmul(builder, INPUT("a", "n", "4"), constant(4, 3), NULL);
    return wnnGraphBuilderConcat(builder, 2, (WNNOperand[]){rows, rows}, 0, NULL);
}

static void test_sizes(void)
{
    begin(0);
    WNNOperand y = product();
    uint32_t doubled = wnnOperandGetShape(y).data[0];
    WNNDimension dimension;
    REQUIRE(doubled > 0x7FFFFFFF);
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetSize(builder, doubled, &dimension), WNNStatus_Success);
    REQUIRE(dimension.isUnknown && dimension.minSize == 2 && dimension.maxSize == 0x7FFFFFFF);
    uint32_t flat = wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Multiply, doubled, 3);
    WNNGraph graph = build(wnnGraphBuilderReshape(builder, y, (WNNUint32List){&flat, 1}, NULL));
    size_t count;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, &count);
    REQUIRE_EQUAL_INT(wnnGraphGetSize(graph, inputs[0].descriptor.shape.data[0], &dimension),
                      WNNStatus_Success);
    REQUIRE_EQUAL_VIEW(dimension.name, "n");
    for (uint32_t rows = 1; rows <= 40; rows += 3)
        check_product(graph, rows);
    check_product(graph, 4);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnGraphGetInfo(graph, &info), WNNStatus_Success);
    REQUIRE(info.nodeCount > 0);
    wnnGraphRelease(graph);
    end();
}

static void test_certainly_wrong(void)
{
    begin(0);
    WNNOperand a = INPUT("a", "n", "4"), b = INPUT("b", "m", "3");
    uint32_t n = wnnOperandGetShape(a).data[0];
    REQUIRE(wnnGraphBuilderMatmul(builder, a, b, NULL)); // m may be 4
    wnnGraphBuilderMatmul(builder, a, constant(3, 4), NULL);
    require_error("matmul: a [n, 4] has 4 columns; expected 3, the rows of b [3, 4]");
    wnnGraphBuilderReshape(builder, a, (WNNUint32List){(const uint32_t[]){n, 3}, 2}, NULL);
    require_error("reshape: newShape [n, 3] does not have the 4 * n elements of input [n, 4]");
    wnnGraphBuilderReshape(builder, a, SHAPE(6, 6), NULL);
    require_error("");
    wnnGraphBuilderSlice(builder, a, SHAPE(0, 2), (WNNUint32List){(const uint32_t[]){n, 3}, 2}, NULL);
    require_error("slice: starts[1] + sizes[1] is 5; dimension 1 of input [n, 4] has size 4");
    uint32_t more = wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Add, n, 1);
    wnnGraphBuilderSlice(builder, a, SHAPE(0, 0), (WNNUint32List){(const uint32_t[]){more, 4}, 2}, NULL);
    require_error("slice: starts[0] + sizes[0] is n + 1; dimension 0 of input [n, 4] has size n");
    wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Subtract, 3, 4);
    require_error("computeSize: the size would be -1; expected 0 to 2147483647");
    wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Divide, 3, 0);
    require_error("computeSize: the divisor is 0; expected a number");
    wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Divide, 3, n);
    require_error("computeSize: the divisor is not known; expected a number");
    wnnGraphBuilderComputeSize(builder, (WNNSizeOperator)9, 3, 4);
    require_error("computeSize: operator 9 does not exist");
    wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Add, 3, 0xFFFFFFFFu);
    require_error("computeSize: 4294967295 is not a size of this builder");
    WNNDimension dimension;
    REQUIRE_EQUAL_INT(wnnGraphBuilderGetSize(builder, 0xFFFFFFFFu, &dimension), WNNStatus_TypeError);
    end();
}

static void test_many_sizes(void)
{
    begin(0);
    WNNOperand a = INPUT("a", "n");
    uint32_t n = wnnOperandGetShape(a).data[0], size = n;
    for (uint32_t i = 1; i < WNN_MAX_SIZES && size; i++)
        size = wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Add, n, i);
    require_error("");
    wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Multiply, n, n);
    require_error("computeSize: more than 65536 sizes that are not known, or no memory for them");
    wnnGraphBuilderConcat(builder, 2, (WNNOperand[]){a, a}, 0, NULL);
    require_error("concat: more than 65536 sizes that are not known, or no memory for them");
    INPUT("b", "m");
    require_error("input \"b\": more than 65536 sizes that are not known, or no memory for them");
    // What needs no other goes on.
    wnnGraphRelease(build(wnnGraphBuilderAdd(builder, a, a, NULL)));
    end();
}

static void test_names(void)
{
    begin(0);
    WNNDimension dimension = WNN_DIMENSION_INIT;
    WNNNamedDimensions named = {{NULL, WNNSType_NamedDimensions}, 1, &dimension};
    WNNOperandDescriptor descriptor = {&named.chain, WNNDataType_Float32, SHAPE(2)};
    dimension.name = view("n");
    dimension.minSize = 3;
    dimension.maxSize = 2;
    wnnGraphBuilderInput(builder, view("a"), &descriptor);
    require_error("input \"a\": dimension 0 has a size from 3 to 2; expected at least one");
    dimension.maxSize = 5;
    wnnGraphBuilderInput(builder, view("a"), &descriptor);
    require_error("");
    dimension.minSize = dimension.maxSize = 6;
    wnnGraphBuilderInput(builder, view("b"), &descriptor);
    require_error("input \"b\": dimension 0 has a size from 6 to 6; no size that its name had before is one");
    dimension.isUnknown = true;
    wnnGraphBuilderInput(builder, view("b"), &descriptor);
    require_error("input \"b\": dimension 0 has a name, and is said to have none");
    named.dimensionCount = 2;
    wnnGraphBuilderInput(builder, view("b"), &descriptor);
    require_error("input \"b\" has rank 1 and 2 dimensions");
    dimension = (WNNDimension){{"\xff", 1}, false, 0, 9};
    named.dimensionCount = 1;
    wnnGraphBuilderInput(builder, view("b"), &descriptor);
    require_error("the name of a dimension is not well-formed UTF-8");
    wnnGraphBuilderConstant(builder, &descriptor, "12345678", 8);
    WNNError error;
    wnnGraphBuilderGetError(builder, &error);
    REQUIRE_EQUAL_INT(error.status, WNNStatus_TypeError);
    end();
}

// What recording cannot know is found at the sizes that come, and says as much.
static void test_maybe_wrong(void)
{
    begin(0);
    WNNOperand sum = wnnGraphBuilderAdd(builder, INPUT("a", "n"), INPUT("b", "m"), NULL);
    WNNGraph graph = build(sum);
    const float *data[] = {numbers(), numbers()};
    float result[MAX_FLOATS];
    REQUIRE_EQUAL_INT(compute(graph, 2, (WNNUint32List[]){SHAPE(3), SHAPE(3)}, data, result), 3);
    REQUIRE(result[2] == 2 * data[0][2]);
    REQUIRE_EQUAL_INT(compute(graph, 2, (WNNUint32List[]){SHAPE(1), SHAPE(5)}, data, result), 5);
    REQUIRE(result[4] == data[0][0] + data[0][4]);
    REQUIRE_EQUAL_INT(compute(graph, 2, (WNNUint32List[]){SHAPE(3), SHAPE(4)}, data, result), 0);
    REQUIRE_EQUAL_STR(message, "compute: add: a [3] and b [4] cannot be broadcast together");
    REQUIRE_EQUAL_INT(compute(graph, 2, (WNNUint32List[]){SHAPE(3), SHAPE(4, 1)}, data, result), 0);
    REQUIRE_EQUAL_STR(message, "compute: input \"b\" has rank 2; expected 1");
    wnnGraphRelease(graph);
    end();
}

static WNNOperand along_second(WNNOperand x, unsigned op)
{
    WNNArgMinMaxOptions least = WNN_ARG_MIN_MAX_OPTIONS_INIT;
    WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
    reduce.axes = SHAPE(1);
    WNNOperand y = op == 0   ? wnnGraphBuilderArgMin(builder, x, 1, &least)
                   : op == 1 ? wnnGraphBuilderArgMax(builder, x, 1, &least)
                   : op == 2 ? wnnGraphBuilderReduceSum(builder, x, &reduce)
                   : op == 3 ? wnnGraphBuilderSoftmax(builder, x, 1, NULL)
                             : wnnGraphBuilderCumulativeSum(builder, x, 1, NULL);
    return wnnGraphBuilderCast(builder, y, WNNDataType_Float32, NULL);
}

// An axis that recording took for one, since the rank was not known.
static void test_axis_of_no_rank(void)
{
    for (unsigned op = 0; op < 5; op++) {
        begin(0);
        WNNGraph graph = build(along_second(wnnGraphBuilderSqueeze(builder, INPUT("a", "n", "m"), NULL), op));
        const float *data[] = {numbers()};
        float result[MAX_FLOATS];
        REQUIRE_EQUAL_INT(compute(graph, 1, (WNNUint32List[]){SHAPE(2, 3)}, data, result), op < 3 ? 2 : 6);
        REQUIRE_EQUAL_INT(compute(graph, 1, (WNNUint32List[]){SHAPE(1, 3)}, data, result), 0);
        REQUIRE_CONTAINS(message, "is 1; input [3] has rank 1");
        wnnGraphRelease(graph);
        end();
    }
}

static void test_equal_names(void)
{
    begin(0);
    WNNOperand a = INPUT("a", "n", "2"), b = INPUT("b", "n", "1"),
               sum = wnnGraphBuilderAdd(builder, a, b, NULL);
    WNNGraph graph = build(sum);
    const float *data[] = {numbers(), numbers()};
    float result[MAX_FLOATS];
    REQUIRE_EQUAL_INT(compute(graph, 2, (WNNUint32List[]){SHAPE(3, 2), SHAPE(3, 1)}, data, result), 6);
    REQUIRE(result[5] == data[0][5] + data[0][2]);
    REQUIRE_EQUAL_INT(compute(graph, 2, (WNNUint32List[]){SHAPE(3, 2), SHAPE(1, 1)}, data, result), 0);
    REQUIRE_EQUAL_STR(message,
                      "compute: input \"b\" has size 1 in dimension 0; expected 3, which n is elsewhere");
    REQUIRE_EQUAL_INT(compute(graph, 2, (WNNUint32List[]){SHAPE(3, 3), SHAPE(3, 1)}, data, result), 0);
    REQUIRE_EQUAL_STR(message, "compute: input \"a\" has size 3 in dimension 1; expected 2");
    WNNNamedBuffer inputs[] = {{view("a"), (void *)(uintptr_t)data[0], 24, WNNDataType_Float32},
                               {view("b"), (void *)(uintptr_t)data[1], 12, WNNDataType_Float32}};
    WNNNamedBuffer output = {view("y"), result, 24, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = {NULL, WNN_STRING_VIEW_INIT, graph, 2, 1, inputs, &output};
    REQUIRE_EQUAL_INT(wnnContextComputeSync(context, &descriptor, sizeof message, message),
                      WNNStatus_TypeError);
    REQUIRE_EQUAL_STR(message, "compute: input \"a\" has sizes that are not known, and no shape");
    wnnGraphRelease(graph);
    end();
}

// A name has bounds, also where no operator minds.
static void test_bounds(void)
{
    begin(0);
    WNNDimension dimension = {view("n"), false, 2, 4};
    WNNNamedDimensions named = {{NULL, WNNSType_NamedDimensions}, 1, &dimension};
    WNNOperandDescriptor descriptor = {&named.chain, WNNDataType_Float32, SHAPE(0)};
    WNNGraph graph =
        build(wnnGraphBuilderNeg(builder, wnnGraphBuilderInput(builder, view("a"), &descriptor), NULL));
    const float *data = numbers();
    float result[MAX_FLOATS];
    REQUIRE_EQUAL_INT(compute(graph, 1, &SHAPE(2), &data, result), 2);
    REQUIRE_EQUAL_INT(compute(graph, 1, &SHAPE(4), &data, result), 4);
    REQUIRE_EQUAL_INT(compute(graph, 1, &SHAPE(1), &data, result), 0);
    REQUIRE_EQUAL_STR(message, "compute: input \"a\" has size 1 in dimension 0; expected n of 2 to 4");
    REQUIRE_EQUAL_INT(compute(graph, 1, &SHAPE(5), &data, result), 0);
    REQUIRE_EQUAL_STR(message, "compute: input \"a\" has size 5 in dimension 0; expected n of 2 to 4");
    wnnGraphRelease(graph);
    end();
}

static void test_unnamed(void)
{
    begin(0);
    WNNOperand a = INPUT("a", "?", "?");
    REQUIRE(wnnOperandGetShape(a).data[0] != wnnOperandGetShape(a).data[1]);
    WNNGraph graph = build(wnnGraphBuilderTranspose(builder, a, NULL));
    const float *data = numbers();
    float result[MAX_FLOATS];
    REQUIRE_EQUAL_INT(compute(graph, 1, &SHAPE(2, 3), &data, result), 6);
    REQUIRE(result[1] == data[3]);
    wnnGraphRelease(graph);
    end();
}

// Windows, scales and everything else that computes sizes.
static void test_images(void)
{
    begin(0);
    WNNOperand image = INPUT("a", "1", "2", "h", "w");
    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    conv.strides = SHAPE(2, 2);
    conv.padding = SHAPE(1, 1, 1, 1);
    WNNOperand filter = wnnGraphBuilderReshape(builder, constant(4, 18), SHAPE(4, 2, 3, 3), NULL);
    WNNOperand small = wnnGraphBuilderConv2d(builder, image, filter, &conv);
    WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
    WNNOperand whole = wnnGraphBuilderAveragePool2d(builder, small, &pool);
    REQUIRE_EQUAL_INT(wnnOperandGetShape(whole).data[2], 1);
    WNNResample2dOptions resample = WNN_RESAMPLE2D_OPTIONS_INIT;
    resample.sizes = (WNNUint32List){wnnOperandGetShape(image).data + 2, 2};
    WNNOperand large = wnnGraphBuilderResample2d(builder, small, &resample);
    WNNGraph graph = build(wnnGraphBuilderAdd(builder, large, whole, NULL));
    const float *data = numbers();
    static float late[MAX_FLOATS], known[MAX_FLOATS];
    static const uint32_t sizes[][2] = {{5, 7}, {8, 8}, {1, 3}, {16, 9}};
    for (unsigned i = 0; i < 4; i++) {
        size_t count = compute(graph, 1, &SHAPE(1, 2, sizes[i][0], sizes[i][1]), &data, late);
        REQUIRE_EQUAL_INT(count, 4 * sizes[i][0] * sizes[i][1]);
        // The same, recorded at this size.
        wnnGraphBuilderRelease(builder);
        REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &builder), WNNStatus_Success);
        WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, SHAPE(1, 2, sizes[i][0], sizes[i][1])};
        WNNOperand a = wnnGraphBuilderInput(builder, view("a"), &descriptor);
        filter = wnnGraphBuilderReshape(builder, constant(4, 18), SHAPE(4, 2, 3, 3), NULL);
        small = wnnGraphBuilderConv2d(builder, a, filter, &conv);
        resample.sizes = SHAPE(sizes[i][0], sizes[i][1]);
        large = wnnGraphBuilderResample2d(builder, small, &resample);
        WNNGraph other = build(
            wnnGraphBuilderAdd(builder, large, wnnGraphBuilderAveragePool2d(builder, small, &pool), NULL));
        REQUIRE_EQUAL_INT(compute(other, 1, &SHAPE(1, 2, sizes[i][0], sizes[i][1]), &data, known), count);
        REQUIRE(memcmp(late, known, count * sizeof(float)) == 0);
        wnnGraphRelease(other);
    }
    wnnGraphRelease(graph);
    end();
}

static void count_one(WNNGraph specialization, void *count)
{
    (void)specialization;
    ++*(unsigned *)count;
}

static unsigned count_specializations(WNNGraph graph)
{
    unsigned count = 0;
    pthread_mutex_lock(&context->queue.lock);
    wnn_late_for_each(graph, count_one, &count);
    pthread_mutex_unlock(&context->queue.lock);
    return count;
}

static void test_few_stay(void)
{
    begin(3);
    WNNGraph graph = build(product());
    REQUIRE_EQUAL_INT(count_specializations(graph), 0);
    for (uint32_t rows = 1; rows <= 20; rows++) {
        check_product(graph, rows);
        check_product(graph, 1); // used again and again, it stays
        REQUIRE(count_specializations(graph) <= 3);
    }
    wnnGraphDestroy(graph);
    REQUIRE_EQUAL_INT(count_specializations(graph), 0);
    const float *data = numbers();
    float result[MAX_FLOATS];
    WNNNamedShape shape = {view("a"), SHAPE(1, 4)};
    WNNOutputShape output = WNN_OUTPUT_SHAPE_INIT;
    (void)data, (void)result;
    REQUIRE_EQUAL_INT(wnnGraphComputeShapes(graph, 1, &shape, 1, &output, sizeof message, message),
                      WNNStatus_InvalidStateError);
    wnnGraphRelease(graph);
    end();
}

// Sizes that only inference knows, here of a convolution with a filter of any size, which as far as the names
// tell are below 0: in shapes, and in what attributes say.
static void test_differences(void)
{
    const float *data[] = {numbers(), numbers() + 1};
    float result[64];
    begin(0);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.strides = SHAPE(2, 1);
    WNNOperand y = wnnGraphBuilderConv2d(builder, INPUT("a", "1", "1", "n", "9"),
                                         INPUT("b", "1", "1", "m", "1"), &options);
    uint32_t times =
        wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Add, wnnOperandGetShape(y).data[2], 1);
    WNNOperand ones = wnnGraphBuilderTile(builder, constant(1, 1), SHAPE(2, times), NULL);
    WNNGraph graph =
        build(wnnGraphBuilderMul(builder, ones, wnnGraphBuilderReduceSum(builder, y, NULL), NULL));
    static const uint32_t sizes[][2] = {{7, 3}, {12, 2}, {5, 5}};
    for (size_t i = 0; i < 3; i++) {
        uint32_t n = sizes[i][0], m = sizes[i][1], steps = (n - m) / 2 + 1;
        WNNUint32List shapes[] = {SHAPE(1, 1, n, 9), SHAPE(1, 1, m, 1)};
        float sum = 0;
        for (uint32_t k = 0; k < steps * 9 * m; k++)
            sum += data[0][(k / 9 / m * 2 + k / 9 % m) * 9 + k % 9] * data[1][k / 9 % m];
        REQUIRE_EQUAL_INT(compute(graph, 2, shapes, data, result), 2 * (steps + 1));
        REQUIRE(fabsf(result[0] + 3 * sum) < 1e-3f);
    }
    wnnGraphRelease(graph);
    end();
}

// When it was compiled: no two at once.
static uint64_t id_of_last(WNNGraph graph)
{
    WNNGraph last = wnn_late_last(graph);
    REQUIRE(last);
    uint64_t id = last->info.begin;
    wnn_graph_unref(last);
    return id;
}

// What was used least recently goes first, and what stays is not compiled again.
static void test_last_used_stay(void)
{
    begin(3);
    WNNGraph graph = build(product());
    check_product(graph, 1);
    uint64_t first = id_of_last(graph);
    check_product(graph, 2);
    uint64_t second = id_of_last(graph);
    check_product(graph, 3);
    check_product(graph, 1);
    REQUIRE_EQUAL_INT(id_of_last(graph), first);
    check_product(graph, 4); // in the place of 2
    check_product(graph, 1);
    REQUIRE_EQUAL_INT(id_of_last(graph), first);
    check_product(graph, 2);
    REQUIRE(second != first && id_of_last(graph) != second);
    wnnGraphRelease(graph);
    end();
}

static void add_bytes(WNNGraph specialization, void *bytes)
{
    const WNNGraphInfo *info = &specialization->info.info;
    *(uint64_t *)bytes += info->weightBytes + info->executionBytes;
}

// As many stay as have so many bytes in all, and the last one in any case.
static void test_few_bytes(void)
{
    const uint64_t most = 8192;
    unsigned largest = 0;
    begin_with(0, most);
    WNNGraph graph = build(wnnGraphBuilderTanh(builder, product(), NULL));
    const float *data = numbers();
    float result[MAX_FLOATS];
    for (uint32_t rows = 1; rows <= 400; rows += rows < 20 ? 1 : 40) {
        uint64_t bytes = 0;
        REQUIRE(compute(graph, 1, &SHAPE(rows, 4), &data, result) > 0);
        unsigned count = count_specializations(graph);
        pthread_mutex_lock(&context->queue.lock);
        wnn_late_for_each(graph, add_bytes, &bytes);
        pthread_mutex_unlock(&context->queue.lock);
        REQUIRE(count == 1 || (count > 1 && bytes <= most));
        largest = count > largest ? count : largest;
    }
    REQUIRE(largest > 2);
    REQUIRE_EQUAL_INT(count_specializations(graph), 1);
    wnnGraphRelease(graph);
    end();
}

// Bytes that were lent at an odd address are copied once for all sizes.
static void test_aligned_once(void)
{
    static char bytes[40 * 48 * sizeof(float) + 1];
    static const float one = 1;
    float result[16 * 48];
    for (size_t i = 0; i < 40 * 48; i++)
        memcpy(bytes + 1 + i * sizeof one, &one, sizeof one);
    begin(8);
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, SHAPE(40, 48)};
    WNNExternalBytes external = {.data = bytes + 1, .byteLength = sizeof bytes - 1};
    WNNOperand weights = wnnGraphBuilderExternalConstant(builder, &descriptor, &external);
    WNNGraph graph = build(wnnGraphBuilderMatmul(builder, INPUT("a", "n", "m"), weights, NULL));
    const float *data = numbers();
    for (uint32_t rows = 1; rows < 5; rows++) {
        REQUIRE_EQUAL_INT(compute(graph, 1, &SHAPE(rows, 40), &data, result), rows * 48);
        REQUIRE_EQUAL_INT(wnn_late_derived(graph).constant_bytes, sizeof bytes - 1);
    }
    wnnGraphRelease(graph);
    end();
}

static WNNTensor create(WNNUint32List shape)
{
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    WNNTensor tensor = NULL;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.readable = descriptor.writable = true;
    descriptor.shape = shape;
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &tensor), WNNStatus_Success);
    return tensor;
}

// From tensor "a" to tensor "y"; `message` has what dispatch() says.
static void dispatch(WNNGraph graph, WNNTensor a, WNNTensor y)
{
    WNNNamedTensor from = {view("a"), a}, to = {view("y"), y};
    WNNDispatchDescriptor descriptor = {NULL, WNN_STRING_VIEW_INIT, graph, 1, 1, &from, &to};
    struct answer answer = {.calls = 0};
    wait_for(context, wnnContextDispatch(context, &descriptor, tell(&answer, WNNCallbackMode_WaitAnyOnly)));
    REQUIRE_EQUAL_INT(answer.calls, 1);
    memcpy(message, answer.message, sizeof answer.message);
}

// dispatch() finds the sizes in its tensors.
static void test_tensors(void)
{
    begin(0);
    WNNGraph graph = build(product());
    for (uint32_t rows = 1; rows < 4; rows++) {
        WNNTensor a = create(SHAPE(rows, 4)), y = create(SHAPE(2 * rows, 3));
        REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, a, numbers(), rows * 16), WNNStatus_Success);
        dispatch(graph, a, y);
        REQUIRE_EQUAL_STR(message, "");
        float got[18], sum = 0;
        REQUIRE_EQUAL_INT(wnnContextReadTensorSync(context, y, got, rows * 24, sizeof message, message),
                          WNNStatus_Success);
        for (uint32_t k = 0; k < 4; k++)
            sum += numbers()[k] * ((float)(k * 3 % 7) - 3);
        REQUIRE(got[0] == sum && got[rows * 3] == sum);
        wnnTensorRelease(a);
        wnnTensorRelease(y);
    }
    wnnGraphRelease(graph);
    end();
}

// An output has the shape that follows from those of the inputs, also in the place of one of them.
static void test_tensors_refused(void)
{
    begin(0);
    WNNGraph graph = build(wnnGraphBuilderMatmul(builder, INPUT("a", "n", "4"), constant(4, 3), NULL));
    WNNTensor a = create(SHAPE(2, 4)), y = create(SHAPE(3, 3)), wide = create(SHAPE(2, 5));
    REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, a, numbers(), 32), WNNStatus_Success);
    dispatch(graph, a, a);
    REQUIRE_EQUAL_STR(message,
                      "dispatch: output \"y\": the tensor is float32 [2, 4]; expected float32 [2, 3]");
    dispatch(graph, a, y);
    REQUIRE_EQUAL_STR(message,
                      "dispatch: output \"y\": the tensor is float32 [3, 3]; expected float32 [2, 3]");
    dispatch(graph, wide, y);
    REQUIRE_EQUAL_STR(message, "dispatch: input \"a\" has size 5 in dimension 1; expected 4");
    float got[8];
    REQUIRE_EQUAL_INT(wnnContextReadTensorSync(context, a, got, sizeof got, sizeof message, message),
                      WNNStatus_Success);
    REQUIRE(memcmp(got, numbers(), sizeof got) == 0);
    wnnTensorRelease(a);
    wnnTensorRelease(y);
    wnnTensorRelease(wide);
    wnnGraphRelease(graph);
    end();
}

static atomic_long allocations;

static void *allocate(size_t size, size_t alignment, void *unused)
{
    void *memory;
    (void)unused;
    atomic_fetch_add(&allocations, 1);
    return posix_memalign(&memory, alignment < sizeof(void *) ? sizeof(void *) : alignment, size) ? NULL
                                                                                                  : memory;
}

static void release(void *memory, size_t size, size_t alignment, void *unused)
{
    (void)size, (void)alignment, (void)unused;
    free(memory);
}

// Sizes that were there before take no memory.
static void test_steady(void)
{
    enum {
        SIZES = 3,
        FIRST = 8 // steps at each
    };
    static const WNNAllocator counting = {NULL, allocate, release, NULL};
    const struct backend *unhurried = find_backend("vulkan-unhurried");
    begin_on(backend->submit ? unhurried : backend, &counting, 4, 0);
    WNNGraph graph = build(product());
    WNNTensor a[SIZES], y[SIZES];
    for (uint32_t i = 0; i < SIZES; i++) {
        a[i] = create(SHAPE(1 + i, 4));
        y[i] = create(SHAPE(2 + 2 * i, 3));
        REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, a[i], numbers(), (1 + i) * 16), WNNStatus_Success);
    }
    long before = 0;
    for (int step = 0; step < 100; step++) {
        if (step == FIRST)
            before = atomic_load(&allocations);
        for (unsigned i = 0; i < SIZES; i++) {
            dispatch(graph, a[i], y[i]);
            REQUIRE_EQUAL_STR(message, "");
        }
    }
    REQUIRE_EQUAL_INT(atomic_load(&allocations), before);
    for (unsigned i = 0; i < SIZES; i++) {
        wnnTensorRelease(a[i]);
        wnnTensorRelease(y[i]);
    }
    wnnGraphRelease(graph);
    end();
}

// Specializations that may still have to be compiled when they are dispatched: in place, and not.
static void test_replaced(void)
{
    for (int copied = 0; copied < 2; copied++) {
        begin(0);
        WNNOperand a = INPUT("a", "n", "4");
        WNNGraph graph = build(copied ? wnnGraphBuilderMatmul(builder, a, constant(4, 4), NULL)
                                      : wnnGraphBuilderNeg(builder, a, NULL));
        for (uint32_t rows = 1; rows < 4; rows++) {
            WNNTensor state = create(SHAPE(rows, 4));
            REQUIRE_EQUAL_INT(wnnContextWriteTensor(context, state, numbers(), rows * 16), WNNStatus_Success);
            dispatch(graph, state, state);
            REQUIRE_EQUAL_STR(message, "");
            float got[12];
            REQUIRE_EQUAL_INT(
                wnnContextReadTensorSync(context, state, got, rows * 16, sizeof message, message),
                WNNStatus_Success);
            for (uint32_t i = 0; i < rows * 4; i++) {
                float sum = copied ? 0 : -numbers()[i];
                for (uint32_t k = 0; copied && k < 4; k++)
                    sum += numbers()[i / 4 * 4 + k] * ((float)((k * 4 + i % 4) % 7) - 3);
                REQUIRE(got[i] == sum);
            }
            wnnTensorRelease(state);
        }
        wnnGraphRelease(graph);
        end();
    }
}

static WNNOperand shaped(uint32_t count, WNNUint32List shape)
{
    return wnnGraphBuilderReshape(builder, constant(1, count), shape, NULL);
}

static WNNOperand bytes(WNNUint32List shape, int8_t first)
{
    static int8_t values[MAX_FLOATS];
    size_t count = 1;
    for (size_t i = 0; i < shape.count; i++)
        count *= shape.data[i];
    REQUIRE(count <= MAX_FLOATS);
    for (size_t i = 0; i < count; i++)
        values[i] = (int8_t)(first + (int)(i % 5));
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Int8, shape};
    return wnnGraphBuilderConstant(builder, &descriptor, values, count);
}

// What a quantized tensor stands for: scale 0.25, zero point 0.
static WNNOperand dequantize(WNNOperand x)
{
    size_t rank = wnnOperandGetShape(x).count;
    WNNUint32List ones = {(const uint32_t[]){1, 1, 1, 1}, rank};
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, ones},
                         zero = {NULL, WNNDataType_Int8, ones};
    return wnnGraphBuilderDequantizeLinear(
        builder, x, wnnGraphBuilderConstant(builder, &descriptor, &(float){0.25f}, sizeof(float)),
        wnnGraphBuilderConstant(builder, &zero, &(int8_t){0}, 1), NULL);
}

static WNNOperand quantize(WNNOperand x)
{
    WNNUint32List ones = {(const uint32_t[]){1, 1, 1, 1}, wnnOperandGetShape(x).count};
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, ones},
                         zero = {NULL, WNNDataType_Int8, ones};
    return wnnGraphBuilderQuantizeLinear(
        builder, x, wnnGraphBuilderConstant(builder, &descriptor, &(float){0.25f}, sizeof(float)),
        wnnGraphBuilderConstant(builder, &zero, &(int8_t){0}, 1), NULL);
}

// One of each kernel that packs weights, some of which are folded and turned before: of an image of any
// width.
static WNNOperand all_that_packs(void)
{
    WNNGraphBuilder b = builder;
    WNNOperand x = INPUT("a", "1", "8", "8", "w");
    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    conv.padding = SHAPE(1, 1, 1, 1);
    x = wnnGraphBuilderConv2d(b, x, shaped(16 * 8 * 9, SHAPE(16, 8, 3, 3)), &conv);
    WNNOperand variance = wnnGraphBuilderAbs(b, shaped(16, SHAPE(16)), NULL);
    x = wnnGraphBuilderBatchNormalization(
        b, x, shaped(16, SHAPE(16)), variance,
        &(WNNBatchNormalizationOptions)WNN_BATCH_NORMALIZATION_OPTIONS_INIT);
    x = wnnGraphBuilderRelu(b, wnnGraphBuilderConv2d(b, x, shaped(16 * 16 * 9, SHAPE(16, 16, 3, 3)), &conv),
                            NULL);
    conv.groups = 16;
    x = wnnGraphBuilderSigmoid(b, wnnGraphBuilderConv2d(b, x, shaped(16 * 9, SHAPE(16, 1, 3, 3)), &conv),
                               NULL);
    WNNConvTranspose2dOptions transposed = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    transposed.strides = SHAPE(2, 1);
    x = wnnGraphBuilderConvTranspose2d(b, x, shaped(16 * 8 * 4, SHAPE(16, 8, 2, 2)), &transposed);
    conv = (WNNConv2dOptions)WNN_CONV2D_OPTIONS_INIT;
    x = wnnGraphBuilderConv2d(b, dequantize(quantize(x)), dequantize(bytes(SHAPE(16, 8, 3, 3), -2)), &conv);
    x = dequantize(quantize(x));
    x = wnnGraphBuilderReduceMean(b, x, &(WNNReduceOptions){.axes = SHAPE(2), .keepDimensions = false});
    uint32_t steps = wnnOperandGetShape(x).data[2];
    x = wnnGraphBuilderTranspose(
        b, x, &(WNNTransposeOptions){NULL, WNN_STRING_VIEW_INIT, SHAPE(2, 0, 1)}); // [steps, 1, 16]
    WNNOperand out[3] = {NULL};
    WNNLstmOptions lstm = WNN_LSTM_OPTIONS_INIT;
    lstm.returnSequence = true;
    wnnGraphBuilderLstm(b, x, shaped(4 * 16 * 16, SHAPE(1, 64, 16)), shaped(4 * 16 * 16, SHAPE(1, 64, 16)),
                        steps, 16, &lstm, out);
    x = wnnGraphBuilderReshape(b, out[2], (WNNUint32List){(const uint32_t[]){steps, 1, 16}, 3}, NULL);
    WNNGruOptions gru = WNN_GRU_OPTIONS_INIT;
    gru.returnSequence = true;
    wnnGraphBuilderGru(b, x, shaped(3 * 32 * 16, SHAPE(1, 96, 16)), shaped(3 * 32 * 32, SHAPE(1, 96, 32)),
                       steps, 32, &gru, out);
    x = wnnGraphBuilderReshape(b, out[1], (WNNUint32List){(const uint32_t[]){steps, 32}, 2}, NULL);
    x = wnnGraphBuilderGemm(
        b, x, shaped(32 * 40, SHAPE(40, 32)),
        &(WNNGemmOptions){.c = shaped(40, SHAPE(40)), .alpha = 1, .beta = 1, .bTranspose = true});
    x = wnnGraphBuilderMatmul(b, x, shaped(40 * 48, SHAPE(40, 48)), NULL);
    x = wnnGraphBuilderMatmul(b, x, dequantize(bytes(SHAPE(48, 64), -2)), NULL);
    return wnnGraphBuilderMatmul(b, dequantize(quantize(x)), dequantize(bytes(SHAPE(64, 24), -1)), NULL);
}

// No weight is packed for a size that has been packed for another, and nothing is folded twice.
static void test_packed_once(void)
{
    static float image[1][8 * 8 * 128], result[128 * 24];
    const float *data = image[0];
    for (size_t i = 0; i < sizeof image[0] / sizeof(float); i++)
        image[0][i] = (float)(i * 7919 % 255) / 255 - 0.5f;
    begin(4);
    WNNGraph graph = build(all_that_packs());
    REQUIRE(compute(graph, 1, &SHAPE(1, 8, 8, 64), &data, result) > 0);
    struct derived_size first = wnn_late_derived(graph);
    REQUIRE(first.packed_bytes > 0);
    for (uint32_t width = 65; width < 85; width++) {
        REQUIRE(compute(graph, 1, &SHAPE(1, 8, 8, width), &data, result) > 0);
        struct derived_size now = wnn_late_derived(graph);
        REQUIRE_EQUAL_INT(now.packed_bytes, first.packed_bytes);
        REQUIRE_EQUAL_INT(now.constant_bytes, first.constant_bytes);
    }
    // Nothing else is: what a specialization has of its own are tables of 256 bytes.
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnGraphGetInfo(graph, &info), WNNStatus_Success);
    wnnGraphRelease(graph);
    end();
}

// Constants without elements, beside a size that is not known.
static void test_empty_constants(void)
{
    begin(0);
    WNNOperandDescriptor descriptor = {NULL, WNNDataType_Float32, SHAPE(0, 3)};
    WNNOperand nothing = wnnGraphBuilderConstant(builder, &descriptor, NULL, 0);
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    options.axes = SHAPE(1);
    WNNOperand more = wnnGraphBuilderLayerNormalization(builder, nothing, &options);
    WNNOperand sum = wnnGraphBuilderReduceSum(builder, more, NULL);
    WNNGraph graph = build(wnnGraphBuilderAdd(builder, INPUT("a", "n"), sum, NULL));
    const float *data = numbers();
    float result[4];
    REQUIRE_EQUAL_INT(compute(graph, 1, &SHAPE(4), &data, result), 4);
    REQUIRE(memcmp(result, data, sizeof result) == 0);
    wnnGraphRelease(graph);
    end();
}

static void *compute_some(void *graph)
{
    const float *data = numbers();
    float result[MAX_FLOATS];
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t rows = 1 + i * 7 % 9;
        WNNNamedShape shape = {view("a"), SHAPE(rows, 4)};
        WNNInputShapes shapes = {{NULL, WNNSType_InputShapes}, 1, &shape};
        WNNNamedBuffer from = {view("a"), (void *)(uintptr_t)data, rows * 16, WNNDataType_Float32},
                       to = {view("y"), result, rows * 24, WNNDataType_Float32};
        WNNComputeDescriptor descriptor = {&shapes.chain, WNN_STRING_VIEW_INIT, graph, 1, 1, &from, &to};
        char failure[256];
        WNNStatus status = wnnContextComputeSync(context, &descriptor, sizeof failure, failure);
        if (status != WNNStatus_Success) {
            fprintf(stderr, "%u rows: %s\n", (unsigned)rows, failure);
            return graph;
        }
    }
    return NULL;
}

// An input that nothing reads, but whose size outputs have.
static void test_size_of_input(void)
{
    begin(4);
    WNNOperand a = INPUT("a", "n", "m"), b = INPUT("b", "n");
    INPUT("c", "k");
    uint32_t n = wnnOperandGetShape(b).data[0], m = wnnOperandGetShape(a).data[1];
    uint32_t sizes[] = {wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Maximum, n, 2),
                        wnnGraphBuilderComputeSize(builder, WNNSizeOperator_Minimum, m, 3)};
    WNNGraph graph = build(wnnGraphBuilderExpand(builder, constant(1, 1), (WNNUint32List){sizes, 2}, NULL));
    size_t count;
    const WNNNamedDescriptor *inputs = wnnGraphGetInputs(graph, &count);
    REQUIRE_EQUAL_INT(count, 1); // which tells both sizes
    REQUIRE_EQUAL_VIEW(inputs[0].name, "a");
    float data[40] = {0}, result[MAX_FLOATS];
    const float *given = data;
    for (uint32_t rows = 1; rows < 5; rows++)
        for (uint32_t columns = 1; columns < 6; columns++) {
            WNNUint32List shape = {(uint32_t[]){rows, columns}, 2};
            REQUIRE_EQUAL_INT(compute(graph, 1, &shape, &given, result),
                              (rows > 2 ? rows : 2) * (columns < 3 ? columns : 3));
        }
    wnnGraphRelease(graph);
    end();
}

static void test_threads(void)
{
    begin(4);
    WNNGraph graph = build(product());
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++)
        REQUIRE_EQUAL_INT(pthread_create(&threads[i], NULL, compute_some, graph), 0);
    bool good = true;
    for (unsigned i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        good &= !failed;
    }
    REQUIRE(good);
    wnnGraphRelease(graph);
    end();
}

// Begins to compute the product of as many rows; into `bytes` bytes.
static WNNFuture begin_product(WNNGraph graph, uint32_t rows, float *result, size_t bytes)
{
    WNNNamedShape shape = {view("a"), SHAPE(rows, 4)};
    WNNInputShapes shapes = WNN_INPUT_SHAPES_INIT;
    shapes.shapeCount = 1;
    shapes.shapes = &shape;
    WNNNamedBuffer in = {view("a"), (void *)(uintptr_t)numbers(), rows * 4 * sizeof(float),
                         WNNDataType_Float32};
    WNNNamedBuffer out = {view("y"), result, bytes, WNNDataType_Float32};
    WNNComputeDescriptor descriptor = WNN_COMPUTE_DESCRIPTOR_INIT;
    descriptor.nextInChain = &shapes.chain;
    descriptor.graph = graph;
    descriptor.inputCount = descriptor.outputCount = 1;
    descriptor.inputs = &in;
    descriptor.outputs = &out;
    return wnnContextCompute(context, &descriptor,
                             (WNNRequestCallbackInfo){.mode = WNNCallbackMode_WaitAnyOnly});
}

// Whether the specialization that was used last comes to be compiled.
static bool is_compiled(WNNGraph graph)
{
    for (unsigned i = 0; i < 5000; i++) {
        WNNGraph last = wnn_late_last(graph);
        if (last) {
            wnn_graph_unref(last);
            return true;
        }
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return false;
}

// Whoever is to wait for a specialization compiles it: it is compiled also if that one does not come.
static void test_nobody_waits(void)
{
    float result[MAX_FLOATS];
    begin(50);
    WNNGraph graph = build(product());
    check_product(graph, 1);
    wait_for(context, begin_product(graph, 2, result, 4)); // too small
    REQUIRE_EQUAL_INT(count_specializations(graph), 2);
    REQUIRE(is_compiled(graph));
    for (uint32_t rows = 3; rows < 40; rows++) {
        WNNFuture future = begin_product(graph, rows, result, 2 * rows * 3 * sizeof(float));
        wnnContextCancel(context, future); // unless it runs already
        wait_for(context, future);
        REQUIRE_EQUAL_INT(count_specializations(graph), rows);
        REQUIRE(is_compiled(graph));
    }
    wnnGraphRelease(graph);
    end();
}

int main(int argc, char **argv)
{
    bool named = argc > 1 && find_backend(argv[1]);
    backend = find_backend(named ? argv[1] : "cpu");
    cases_begin(argc - named, argv + named);
    if (wnn_create_context_on(backend, NULL, &context) != WNNStatus_Success)
        return cases_skip("there is no device");
    wnnContextRelease(context);
    fill_numbers();
    CASE(test_sizes());
    CASE(test_certainly_wrong());
    CASE(test_many_sizes());
    CASE(test_names());
    CASE(test_maybe_wrong());
    CASE(test_axis_of_no_rank());
    CASE(test_equal_names());
    CASE(test_bounds());
    CASE(test_unnamed());
    CASE(test_images());
    CASE(test_few_stay());
    CASE(test_last_used_stay());
    CASE(test_differences());
    CASE(test_few_bytes());
    if (!backend->tensor_create) { // in the memory of the host
        CASE(test_aligned_once());
        CASE(test_packed_once());
    }
    CASE(test_empty_constants());
    CASE(test_tensors());
    CASE(test_tensors_refused());
    CASE(test_steady());
    CASE(test_replaced());
    CASE(test_size_of_input());
    CASE(test_threads());
    CASE(test_nobody_waits());
    return cases_end();
}
