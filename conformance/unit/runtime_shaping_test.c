// SPDX-License-Identifier: Apache-2.0
//
// Operators about shapes in graphs that run: with sizes that are known when they are recorded, and late.

#include "conformance/unit/runtime_fixture.h"

static WNNContext context;
static WNNGraphBuilder b;
static char message[1024];

static void begin(void)
{
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &b), WNNStatus_Success);
}

static void end(void)
{
    wnnGraphBuilderRelease(b);
    wnnContextRelease(context);
}

// An input of float32: a dimension is a number of one digit, or a name.
static WNNOperand input(const char *name, size_t rank, const char *const *dimensions)
{
    uint32_t shape[4] = {0};
    WNNDimension named[4];
    WNNNamedDimensions all = WNN_NAMED_DIMENSIONS_INIT;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    for (size_t i = 0; i < rank; i++) {
        named[i] = (WNNDimension)WNN_DIMENSION_INIT;
        if (dimensions[i][0] >= '0' && dimensions[i][0] <= '9')
            shape[i] = (uint32_t)(dimensions[i][0] - '0');
        else
            named[i].name = view(dimensions[i]);
    }
    all.dimensionCount = rank;
    all.dimensions = named;
    descriptor.nextInChain = &all.chain;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){shape, rank};
    return wnnGraphBuilderInput(b, view(name), &descriptor);
}
#define INPUT(name, ...)                                                                                     \
    input(name, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

static WNNOperand numbers(size_t count, const int32_t *items)
{
    uint32_t size = (uint32_t)count;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Int32;
    descriptor.shape = (WNNUint32List){&size, 1};
    return wnnGraphBuilderConstant(b, &descriptor, items, count * sizeof *items);
}
#define NUMBERS(...)                                                                                         \
    numbers(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t), (const int32_t[]){__VA_ARGS__})

// The sizes of an operand as int32, and one of them, of rank 1.
static WNNOperand sizes_of(WNNOperand x)
{
    return wnnGraphBuilderCast(b, wnnGraphBuilderShape(b, x, NULL), WNNDataType_Int32, NULL);
}

static WNNOperand size_of(WNNOperand x, uint32_t dimension)
{
    return wnnGraphBuilderSlice(b, sizes_of(x), LIST(dimension), LIST(1), NULL);
}

static WNNOperand join(WNNOperand x, WNNOperand y)
{
    return wnnGraphBuilderConcat(b, 2, (WNNOperand[]){x, y}, 0, NULL);
}

static WNNGraph build(WNNOperand output)
{
    WNNGraph graph = NULL;
    WNNNamedOperand named = {view("y"), output};
    wnnGraphBuilderBuildSync(b, 1, &named, &graph, sizeof message, message);
    REQUIRE_EQUAL_STR(message, "");
    return graph;
}

static float data[2][4096], result[8192];
static WNNOutputShape made;

// Computes on inputs x and z of these shapes into `result`; false: `message` says why not.
static bool compute(WNNGraph graph, size_t count, const WNNUint32List *shapes)
{
    static const char names[][2] = {"x", "z"};
    WNNNamedShape named[2];
    WNNNamedBuffer inputs[2];
    for (size_t i = 0; i < count; i++) {
        size_t elements = 1;
        for (size_t d = 0; d < shapes[i].count; d++)
            elements *= shapes[i].data[d];
        named[i] = (WNNNamedShape){view(names[i]), shapes[i]};
        inputs[i] = (WNNNamedBuffer){view(names[i]), data[i], elements * 4, WNNDataType_Float32};
        for (size_t k = 0; k < elements; k++)
            data[i][k] = (float)(k % 97) + 1;
    }
    made = (WNNOutputShape)WNN_OUTPUT_SHAPE_INIT;
    if (wnnGraphComputeShapes(graph, count, named, 1, &made, sizeof message, message))
        return false;
    WNNNamedBuffer output = {view("y"), result, made.byteLength, made.dataType};
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
    REQUIRE_EQUAL_INT(wnnContextComputeSync(context, &descriptor, sizeof message, message),
                      WNNStatus_Success);
    return true;
}

static void require_shape(size_t rank, const uint32_t *sizes)
{
    REQUIRE_EQUAL_INT(made.rank, rank);
    for (size_t i = 0; i < rank; i++)
        REQUIRE_EQUAL_INT(made.dimensions[i], sizes[i]);
}
#define REQUIRE_SHAPE(...)                                                                                   \
    require_shape(sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (const uint32_t[]){__VA_ARGS__})

// A graph whose sizes are known has all its inputs, also those of which only the shape counts.
static void test_known(void)
{
    begin();
    WNNOperand x = INPUT("x", "2", "6"), z = INPUT("z", "3", "4");
    WNNGraph graph = build(wnnGraphBuilderReshapeDynamic(b, x, wnnGraphBuilderShape(b, z, NULL), NULL));
    size_t count;
    wnnGraphGetInputs(graph, &count);
    REQUIRE_EQUAL_INT(count, 2);
    REQUIRE(compute(graph, 2, (WNNUint32List[]){LIST(2, 6), LIST(3, 4)}));
    REQUIRE_SHAPE(3, 4);
    for (unsigned i = 0; i < 12; i++)
        REQUIRE(result[i] == data[0][i]);
    wnnGraphRelease(graph);
    graph = build(wnnGraphBuilderShape(b, x, NULL));
    REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(2, 6)}));
    REQUIRE_SHAPE(2);
    REQUIRE(memcmp(result, (const uint32_t[]){2, 6}, 8) == 0);
    wnnGraphRelease(graph);
    end();
}

// Rows up to the next multiple of 8, as the draft's explainer does it, with what is computed late used as
// data too.
static void test_padding(void)
{
    begin();
    WNNOperand x = INPUT("x", "n", "3");
    WNNOperand more =
        wnnGraphBuilderModulusFloor(b, wnnGraphBuilderNeg(b, size_of(x, 0), NULL), NUMBERS(8), NULL);
    WNNOperand padded = wnnGraphBuilderPadDynamic(b, x, NUMBERS(0, 0), join(more, NUMBERS(0)), NULL);
    WNNOperand blocks = join(wnnGraphBuilderDiv(b, size_of(padded, 0), NUMBERS(8), NULL), NUMBERS(8, 3));
    WNNOperand y = wnnGraphBuilderAdd(
        b, wnnGraphBuilderReshapeDynamic(b, padded, blocks, NULL),
        wnnGraphBuilderCast(b, wnnGraphBuilderReduceSum(b, sizes_of(x), NULL), WNNDataType_Float32, NULL),
        NULL);
    WNNGraph graph = build(y);
    for (uint32_t rows = 1; rows < 40; rows += 5) {
        REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(rows, 3)}));
        REQUIRE_SHAPE((rows + 7) / 8, 8, 3);
        for (uint32_t i = 0; i < (rows + 7) / 8 * 24; i++)
            REQUIRE(result[i] == (i < rows * 3 ? data[0][i] : 0) + (float)(rows + 3));
    }
    wnnGraphRelease(graph);
    end();
}

// The -1 of other frameworks, as an operand that holds one, and sizes that only binding tells in a list.
static void test_choices(void)
{
    begin();
    WNNOperand x = INPUT("x", "n", "m"), wanted = join(size_of(INPUT("z", "k"), 0), NUMBERS(-1));
    WNNOperand left_out = wnnGraphBuilderEqual(b, wanted, NUMBERS(-1), NULL);
    WNNOperand total = wnnGraphBuilderReduceProduct(b, sizes_of(x), NULL);
    WNNOperand known =
        wnnGraphBuilderReduceProduct(b, wnnGraphBuilderWhere(b, left_out, NUMBERS(1), wanted, NULL), NULL);
    WNNOperand shape =
        wnnGraphBuilderWhere(b, left_out, wnnGraphBuilderDiv(b, total, known, NULL), wanted, NULL);
    WNNOperand y = wnnGraphBuilderReshapeDynamic(b, x, shape, NULL);
    WNNUint32List sizes = wnnOperandGetShape(y);
    REQUIRE_EQUAL_INT(sizes.count, 2);
    uint32_t columns[] = {1, wnnGraphBuilderComputeSize(b, WNNSizeOperator_Multiply, sizes.data[1], 2)};
    WNNOperand row =
        wnnGraphBuilderSlice(b, y, LIST(0, 0), (WNNUint32List){(uint32_t[]){1, sizes.data[1]}, 2}, NULL);
    WNNOperand twice = wnnGraphBuilderConcat(b, 2, (WNNOperand[]){row, row}, 1, NULL);
    WNNGraph graph = build(wnnGraphBuilderReshape(b, twice, (WNNUint32List){columns, 2}, NULL));
    REQUIRE(compute(graph, 2, (WNNUint32List[]){LIST(4, 6), LIST(3)}));
    REQUIRE_SHAPE(1, 16);
    for (uint32_t i = 0; i < 16; i++)
        REQUIRE(result[i] == data[0][i % 8]);
    REQUIRE(compute(graph, 2, (WNNUint32List[]){LIST(5, 2), LIST(5)}));
    REQUIRE_SHAPE(1, 4);
    REQUIRE(!compute(graph, 2, (WNNUint32List[]){LIST(5, 2), LIST(3)}));
    REQUIRE_EQUAL_STR(message,
                      "computeShapes: reshapeDynamic: newShape [3, 3] does not have the 10 elements of "
                      "input [5, 2]");
    wnnGraphRelease(graph);
    end();
}

static void test_range(void)
{
    begin();
    WNNOperand x = INPUT("x", "n");
    WNNOperand n = wnnGraphBuilderReshape(b, wnnGraphBuilderCast(b, size_of(x, 0), WNNDataType_Float32, NULL),
                                          (WNNUint32List){NULL, 0}, NULL);
    WNNOperand zero = wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberInt64(0)),
               one = wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberInt64(1));
    WNNOperand places = wnnGraphBuilderRange(b, zero, n, one, NULL);
    WNNGraph graph = build(wnnGraphBuilderAdd(b, x, places, NULL));
    for (uint32_t size = 1; size < 300; size += 77) {
        REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(size)}));
        for (uint32_t i = 0; i < size; i++)
            REQUIRE(result[i] == data[0][i] + (float)i);
    }
    wnnGraphRelease(graph);
    end();
}

// A size that only one operator tells is known also where nothing else needs that operator.
static void test_told_apart(void)
{
    begin();
    WNNOperand x = INPUT("x", "n"),
               one = wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberInt64(1));
    WNNOperand rest = wnnGraphBuilderModulusFloor(b, size_of(x, 0), NUMBERS(4), NULL);
    WNNUint32List told = wnnOperandGetShape(wnnGraphBuilderExpandDynamic(b, one, rest, NULL));
    uint32_t more = wnnGraphBuilderComputeSize(b, WNNSizeOperator_Add, told.data[0], 1);
    // Another one, which depends on the first, and of which a sum is used.
    WNNOperand many = wnnGraphBuilderExpand(b, one, (WNNUint32List){&more, 1}, NULL);
    rest = wnnGraphBuilderModulusFloor(b, size_of(many, 0), NUMBERS(3), NULL);
    told = wnnOperandGetShape(wnnGraphBuilderExpandDynamic(b, one, rest, NULL));
    more = wnnGraphBuilderComputeSize(b, WNNSizeOperator_Add, told.data[0], 2);
    WNNGraph graph = build(wnnGraphBuilderPad(b, x, LIST(0), (WNNUint32List){&more, 1}, NULL));
    for (uint32_t size = 1; size < 9; size++) {
        REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(size)}));
        REQUIRE_SHAPE(size + (size % 4 + 1) % 3 + 2);
    }
    wnnGraphRelease(graph);
    end();
}

static void require_error(const char *expected)
{
    WNNError error;
    wnnGraphBuilderGetError(b, &error);
    REQUIRE_EQUAL_VIEW(error.message, expected);
    wnnGraphBuilderClearError(b);
}

static void require_numbers(size_t count, float factor)
{
    REQUIRE_EQUAL_INT(made.byteLength, count * 4);
    for (size_t i = 0; i < count; i++)
        REQUIRE(result[i] == factor * data[0][i]);
}

static bool has_rank(WNNOperand operand)
{
    return wnnOperandGetShape(operand).data != NULL;
}

// What squeeze leaves of dimensions that may be 1 or not, through operators of all ranks.
static void test_squeezed(void)
{
    begin();
    WNNOperand x = INPUT("x", "n", "1", "m");
    WNNOperand y = wnnGraphBuilderSqueeze(b, x, NULL);
    REQUIRE(y && !has_rank(y) && wnnOperandGetShape(y).count == 0);
    WNNOperand twice = wnnGraphBuilderAdd(b, wnnGraphBuilderRelu(b, y, NULL), y, NULL);
    REQUIRE(!has_rank(twice));
    WNNOperand sum = wnnGraphBuilderReduceSum(b, twice, NULL); // of rank 0, which is known
    REQUIRE(has_rank(sum) && wnnOperandGetShape(sum).count == 0);
    WNNOperand rows = wnnGraphBuilderReshapeTo2d(b, twice, NULL);
    REQUIRE_EQUAL_INT(wnnOperandGetShape(rows).count, 2);
    WNNGraph graph = build(twice), total = build(sum);
    size_t count;
    REQUIRE(wnnGraphGetOutputs(graph, &count)->descriptor.shape.data == NULL);
    REQUIRE(wnnGraphGetOutputs(total, &count)->descriptor.shape.data != NULL);
    for (uint32_t n = 1; n < 4; n++)
        for (uint32_t m = 1; m < 4; m++) {
            REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(n, 1, m)}));
            const uint32_t sizes[] = {n > 1 ? n : m, m};
            require_shape((n > 1) + (m > 1), sizes);
            require_numbers(n * m, 2);
            REQUIRE(compute(total, 1, (WNNUint32List[]){LIST(n, 1, m)}));
            require_shape(0, NULL);
        }
    wnnGraphRelease(graph);
    wnnGraphRelease(total);
    end();
}

// As many sizes as there are: the rank is a number of items.
static void test_counted(void)
{
    begin();
    WNNOperand x = INPUT("x", "n", "m"),
               shape = wnnGraphBuilderShape(b, wnnGraphBuilderSqueeze(b, x, NULL), NULL);
    REQUIRE_EQUAL_INT(wnnOperandGetShape(shape).count, 1);
    WNNReshapeTo2dOptions whole = WNN_RESHAPE_TO_2D_OPTIONS_INIT;
    whole.axis = 0;
    WNNOperand flat = wnnGraphBuilderReshapeTo2d(b, x, &whole);
    WNNOperand y = wnnGraphBuilderReshapeDynamic(b, flat, shape, NULL);
    REQUIRE(y && !has_rank(y));
    WNNGraph graph = build(wnnGraphBuilderTranspose(b, wnnGraphBuilderTranspose(b, y, NULL), NULL));
    for (uint32_t n = 1; n < 4; n++) {
        REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(n, 3)}));
        require_shape(1 + (n > 1), (const uint32_t[]){n > 1 ? n : 3, 3});
        require_numbers(n * 3, 1);
    }
    wnnGraphRelease(graph);
    // A list for each dimension of something that has a rank: of other sizes.
    WNNOperand zeros = wnnGraphBuilderSub(b, shape, shape, NULL);
    WNNOperand sliced = wnnGraphBuilderSliceDynamic(b, x, zeros, shape, NULL);
    REQUIRE_EQUAL_INT(wnnOperandGetShape(sliced).count, 2);
    graph = build(sliced);
    REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(2, 3)}));
    REQUIRE_SHAPE(2, 3);
    REQUIRE(!compute(graph, 1, (WNNUint32List[]){LIST(1, 3)})); // one size of two
    wnnGraphRelease(graph);
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplitDynamic(b, x, shape, NULL, 0, NULL), 0);
    require_error("splitDynamic: splits has ? items; expected a known number, that of the results");
    end();
}

// What coordinates of an unknown number of items select.
static void test_selected(void)
{
    begin();
    WNNOperand x = INPUT("x", "3", "4"),
               places = wnnGraphBuilderCast(b, INPUT("z", "2", "k"), WNNDataType_Int32, NULL);
    places = wnnGraphBuilderMin(b, places, NUMBERS(0), NULL);
    WNNGraph graph = build(wnnGraphBuilderGatherND(b, x, places, NULL));
    REQUIRE(compute(graph, 2, (WNNUint32List[]){LIST(3, 4), LIST(2, 1)}));
    REQUIRE_SHAPE(2, 4);
    for (unsigned i = 0; i < 8; i++)
        REQUIRE(result[i] == data[0][i % 4]);
    REQUIRE(compute(graph, 2, (WNNUint32List[]){LIST(3, 4), LIST(2, 2)}));
    REQUIRE_SHAPE(2);
    REQUIRE(!compute(graph, 2, (WNNUint32List[]){LIST(3, 4), LIST(2, 3)}));
    wnnGraphRelease(graph);
    WNNOperand updates = wnnGraphBuilderGatherND(b, x, places, NULL),
               y = wnnGraphBuilderScatterND(b, x, places, updates, NULL);
    REQUIRE_EQUAL_INT(wnnOperandGetShape(y).count, 2);
    graph = build(y);
    for (uint32_t k = 1; k < 3; k++) {
        REQUIRE(compute(graph, 2, (WNNUint32List[]){LIST(3, 4), LIST(2, k)}));
        require_numbers(12, 1);
    }
    wnnGraphRelease(graph);
    end();
}

// What is wrong whatever the rank is refused at the call, and what may be wrong when it is known.
static void test_wrong_ranks(void)
{
    begin();
    WNNOperand x = wnnGraphBuilderSqueeze(b, INPUT("x", "n", "m"), NULL),
               three = numbers(3, (const int32_t[]){1, 2, 3});
    wnnGraphBuilderLogicalNot(b, x, NULL);
    require_error("logicalNot: a has data type float32; expected uint8");
    wnnGraphBuilderMatmul(b, wnnGraphBuilderCast(b, three, WNNDataType_Float32, NULL), x, NULL);
    require_error("matmul: a has shape [3] of rank 1; expected rank 2 to 8");
    WNNTransposeOptions transposed = WNN_TRANSPOSE_OPTIONS_INIT;
    transposed.permutation = LIST(1, 0);
    WNNOperand y = wnnGraphBuilderTranspose(b, x, &transposed);
    REQUIRE_EQUAL_INT(wnnOperandGetShape(y).count, 2); // by its permutation
    transposed.permutation = LIST(1, 1);
    wnnGraphBuilderTranspose(b, x, &transposed);
    require_error("transpose: permutation has 2 items; expected 8, and no other rank fits");
    WNNGraph graph = build(y);
    REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(2, 3)}));
    REQUIRE_SHAPE(3, 2);
    REQUIRE(!compute(graph, 1, (WNNUint32List[]){LIST(1, 3)}));
    REQUIRE_EQUAL_STR(message, "computeShapes: transpose: permutation has 2 items; expected 1");
    wnnGraphRelease(graph);
    // Results of a list, and operands of one.
    WNNOperand halves[2];
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(b, x, 2, NULL, 2, halves), 2);
    REQUIRE(!has_rank(halves[0]) && !has_rank(halves[1]));
    graph = build(wnnGraphBuilderConcat(b, 2, (WNNOperand[]){halves[1], halves[0]}, 0, NULL));
    REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(4, 1)}));
    REQUIRE_SHAPE(4);
    REQUIRE(result[0] == data[0][2] && result[3] == data[0][1]);
    REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(2, 5)}));
    REQUIRE_SHAPE(2, 5);
    REQUIRE(!compute(graph, 1, (WNNUint32List[]){LIST(3, 5)}));
    wnnGraphRelease(graph);
    WNNOperand many[12];
    for (unsigned i = 0; i < 12; i++)
        many[i] = i % 4 == 3 ? many[i - 1] : wnnGraphBuilderNeg(b, x, NULL);
    graph = build(wnnGraphBuilderConcat(b, 12, many, 0, NULL));
    REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(1, 2)}));
    REQUIRE_SHAPE(24);
    REQUIRE(result[23] == -data[0][1]);
    wnnGraphRelease(graph);
    end();
}

// What may be wrong is found when sizes are known.
static void test_refusals(void)
{
    begin();
    WNNSqueezeOptions squeeze = WNN_SQUEEZE_OPTIONS_INIT;
    squeeze.axes = LIST(0);
    squeeze.label = view("front");
    WNNOperand x = INPUT("x", "n", "m");
    WNNGraph graph = build(wnnGraphBuilderSqueeze(b, x, &squeeze));
    REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(1, 5)}));
    REQUIRE_SHAPE(5);
    REQUIRE(!compute(graph, 1, (WNNUint32List[]){LIST(2, 5)}));
    REQUIRE_EQUAL_STR(message,
                      "computeShapes: squeeze \"front\": dimension 0 of input [2, 5] has size 2; expected 1");
    wnnGraphRelease(graph);
    WNNOperand less = wnnGraphBuilderSub(b, sizes_of(x), NUMBERS(3, 0), NULL);
    graph = build(wnnGraphBuilderSliceDynamic(b, x, NUMBERS(1, 0), less, NULL));
    REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(7, 2)}));
    REQUIRE_SHAPE(4, 2);
    REQUIRE(result[0] == data[0][2]);
    REQUIRE(!compute(graph, 1, (WNNUint32List[]){LIST(2, 2)}));
    REQUIRE_EQUAL_STR(message, "computeShapes: sliceDynamic: sizes[0] is -1; expected 0 to 2147483647");
    wnnGraphRelease(graph);
    end();
}

// What takes the place of these operators is all that is compiled.
static void test_kernels(void)
{
    begin();
    WNNOperand x = INPUT("x", "n", "4");
    WNNOperand y = wnnGraphBuilderExpandDynamic(b, wnnGraphBuilderUnsqueeze(b, x, LIST(0), NULL),
                                                join(NUMBERS(2), sizes_of(x)), NULL);
    WNNGraph graph = build(y);
    REQUIRE(compute(graph, 1, (WNNUint32List[]){LIST(3, 4)}));
    REQUIRE_SHAPE(2, 3, 4);
    for (uint32_t i = 0; i < 24; i++)
        REQUIRE(result[i] == data[0][i % 12]);
    WNNGraphInfo info = WNN_GRAPH_INFO_INIT;
    REQUIRE_EQUAL_INT(wnnGraphGetInfo(graph, &info), WNNStatus_Success);
    REQUIRE(info.nodeCount <= 2); // reshape and expand
    wnnGraphRelease(graph);
    end();
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_known());
    CASE(test_padding());
    CASE(test_choices());
    CASE(test_range());
    CASE(test_told_apart());
    CASE(test_squeezed());
    CASE(test_counted());
    CASE(test_selected());
    CASE(test_wrong_ranks());
    CASE(test_refusals());
    CASE(test_kernels());
    return cases_end();
}
