// SPDX-License-Identifier: Apache-2.0
//
// Validation of the operators about shapes, and what is known of sizes that operands give.

#include "conformance/unit/validation.h"
#include "ops/builder.h"

#include <webnn/reflection.h>

#define GIVEN(type, ...)                                                                                     \
    given(WNNDataType_##type, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                      \
          (const int64_t[]){__VA_ARGS__})
#define SIZES(...) GIVEN(Int64, __VA_ARGS__)

// A constant of rank 1.
static WNNOperand given(WNNDataType type, size_t count, const int64_t *items)
{
    static unsigned char bytes[1 << 16];
    uint32_t size = (uint32_t)count;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){&size, 1};
    for (size_t i = 0; i < count; i++)
        wnn_number_store(wnn_number_convert(wnnNumberInt64(items[i]), type), type, bytes, i);
    return wnnGraphBuilderConstant(b, &descriptor, bytes, wnn_dtype_bytes(type, count));
}

static WNNOperand scalar(WNNDataType type, double value)
{
    return wnnGraphBuilderScalarConstant(b, type, wnnNumberFloat64(value));
}

// An input of float32 with dimensions by name, but for those that are numbers of one digit.
static WNNOperand named(size_t rank, const char *const *names)
{
    uint32_t shape[WNN_MAX_RANK] = {0};
    WNNDimension dimensions[WNN_MAX_RANK];
    for (size_t i = 0; i < rank; i++) {
        bool number = names[i][0] >= '0' && names[i][0] <= '9';
        dimensions[i] = (WNNDimension)WNN_DIMENSION_INIT;
        shape[i] = number ? (uint32_t)(names[i][0] - '0') : 0;
        if (!number)
            dimensions[i].name = view(names[i]);
    }
    WNNNamedDimensions all = WNN_NAMED_DIMENSIONS_INIT;
    all.dimensionCount = rank;
    all.dimensions = dimensions;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.nextInChain = &all.chain;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = (WNNUint32List){shape, rank};
    WNNOperand input = wnnGraphBuilderInput(b, view("x"), &descriptor);
    REQUIRE(input);
    return input;
}
#define NAMED(...)                                                                                           \
    named(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), (const char *[]){__VA_ARGS__})

// Requires that the sizes of an operand are told like that.
static void require_sizes(WNNOperand operand, const char *expected, int line)
{
    WNNError error;
    wnnGraphBuilderGetError(b, &error);
    if (!operand) {
        fprintf(stderr, "line %d: refused: \"%s\"\n", line, error.message.data);
        case_fail();
    }
    char text[WNN_SIZES_TEXT];
    wnn_sizes_text(&((struct WNNGraphBuilderImpl *)b)->graph.sizes, &wnn_operand(operand)->type.shape, text);
    if (strcmp(text, expected) != 0) {
        fprintf(stderr, "line %d: %s; expected %s\n", line, text, expected);
        case_fail();
    }
}
#define SIZES_ARE(operand, expected) require_sizes(operand, expected, __LINE__)

static WNNOperand binary(const char *name, WNNOperand x, WNNOperand y)
{
    WNNOperatorCall call = WNN_OPERATOR_CALL_INIT;
    WNNOperand inputs[] = {x, y}, output = NULL;
    call.name = view(name);
    call.inputCount = 2;
    call.inputs = inputs;
    wnnGraphBuilderCall(b, &call, 1, &output);
    return output;
}

// Elements [first, first + count) of an operand of rank 1.
static WNNOperand part(WNNOperand x, uint32_t first, uint32_t count)
{
    return wnnGraphBuilderSlice(b, x, LIST(first), LIST(count), NULL);
}

static WNNOperand join(WNNOperand x, WNNOperand y)
{
    return wnnGraphBuilderConcat(b, 2, (WNNOperand[]){x, y}, 0, NULL);
}

static WNNOperand as(WNNDataType type, WNNOperand x)
{
    return wnnGraphBuilderCast(b, x, type, NULL);
}

static WNNOperand reshape_to(WNNOperand x, WNNOperand shape)
{
    return wnnGraphBuilderReshapeDynamic(b, x, shape, NULL);
}

#define DATA                                                                                                 \
    " depends on the data of an input, or on an operator that is not computed while a graph is built; "      \
    "expected a constant, or what follows from shapes"

static void test_lists(void)
{
    ACCEPTS(wnnGraphBuilderReshapeDynamic(b, F32(2, 6), SIZES(3, 4), NULL), Float32, LIST(3, 4));
    ACCEPTS(wnnGraphBuilderReshapeDynamic(b, F32(4), GIVEN(Uint32, 2, 2), NULL), Float32, LIST(2, 2));
    ACCEPTS(wnnGraphBuilderExpandDynamic(b, F32(1, 3), GIVEN(Int32, 2, 4, 3), NULL), Float32, LIST(2, 4, 3));
    ACCEPTS(wnnGraphBuilderTileDynamic(b, F32(2, 3), SIZES(2, 1), NULL), Float32, LIST(4, 3));
    ACCEPTS(wnnGraphBuilderPadDynamic(b, F32(2), SIZES(1), SIZES(2), NULL), Float32, LIST(5));
    WNNSliceOptions strides = WNN_SLICE_OPTIONS_INIT;
    strides.strides = LIST(2);
    ACCEPTS(wnnGraphBuilderSliceDynamic(b, F32(9), SIZES(1), SIZES(5), &strides), Float32, LIST(3));
    WNNOperand parts[3];
    WNNSplitOptions axis = WNN_SPLIT_OPTIONS_INIT;
    axis.axis = 1;
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplitDynamic(b, F32(2, 6), SIZES(1, 2, 3), &axis, 3, parts), 3);
    ACCEPTS(parts[2], Float32, LIST(2, 3));
    WNNResample2dDynamicOptions resample = WNN_RESAMPLE2D_DYNAMIC_OPTIONS_INIT;
    ACCEPTS(wnnGraphBuilderResample2dDynamic(b, F32(1, 2, 3, 4), NULL), Float32, LIST(1, 2, 3, 4));
    resample.sizes = SIZES(6, 7);
    resample.axes = LIST(1, 2);
    ACCEPTS(wnnGraphBuilderResample2dDynamic(b, F32(1, 2, 3, 4), &resample), Float32, LIST(1, 6, 7, 4));

    // What is wrong is told as by the operator of the other name.
    REFUSES(wnnGraphBuilderReshapeDynamic(b, F32(2, 6), SIZES(3, 5), NULL),
            "reshapeDynamic: newShape [3, 5] does not have the 12 elements of input [2, 6]");
    REFUSES(wnnGraphBuilderExpandDynamic(b, F32(2), SIZES(3), NULL),
            "expandDynamic: input [2] cannot be broadcast to newShape [3]");
    REFUSES(wnnGraphBuilderTileDynamic(b, F32(2), SIZES(0), NULL),
            "tileDynamic: repetitions[0] is 0; expected at least 1");
    REFUSES(wnnGraphBuilderPadDynamic(b, F32(2), SIZES(1, 1), SIZES(1), NULL),
            "padDynamic: beginningPadding has 2 items; expected 1");
    REFUSES(wnnGraphBuilderSliceDynamic(b, F32(9), SIZES(5), SIZES(5), NULL),
            "sliceDynamic: starts[0] + sizes[0] is 10; dimension 0 of input [9] has size 9");
    REFUSES(wnnGraphBuilderSplitDynamic(b, F32(6), SIZES(1, 2), NULL, 3, parts),
            "splitDynamic: splits add up to 3; expected 6, dimension 0 of input [6]");
    REFUSES(wnnGraphBuilderSplitDynamic(b, F32(6), SIZES(1, 2, 3), NULL, 2, parts),
            "splitDynamic: has 3 outputs; there is room for 2");
    resample.sizes = SIZES(6);
    REFUSES(wnnGraphBuilderResample2dDynamic(b, F32(1, 2, 3, 4), &resample),
            "resample2dDynamic: sizes has 1 items; expected 2");

    // What is no list of sizes.
    REFUSES(reshape_to(F32(4), SIZES(-1, 2)), "reshapeDynamic: newShape[0] is -1; expected 0 to 2147483647");
    REFUSES(reshape_to(F32(4), SIZES(2, BIG + (int64_t)1)),
            "reshapeDynamic: newShape[1] is 2147483648; expected 0 to 2147483647");
    REFUSES(reshape_to(F32(4), IN(Int32, 2)), "reshapeDynamic: newShape" DATA);
    REFUSES(reshape_to(F32(4), part(IN(Int32, 4), 1, 2)), "reshapeDynamic: newShape" DATA);
    static int64_t many[8193];
    REFUSES(reshape_to(F32(4), given(WNNDataType_Int32, 8193, many)),
            "reshapeDynamic: newShape has 8193 items; expected at most 8192");
    for (size_t i = 0; i < 80; i++)
        many[i] = 1;
    WNNOperand splits[80];
    REQUIRE_EQUAL_INT(
        wnnGraphBuilderSplitDynamic(b, F32(80), given(WNNDataType_Int32, 80, many), NULL, 80, splits), 80);
    REFUSES(wnnGraphBuilderSplitDynamic(b, F32(80),
                                        wnnGraphBuilderIdentity(b, given(WNNDataType_Int32, 80, many), NULL),
                                        NULL, 80, splits),
            "splitDynamic: splits" DATA);
}

static void test_reshapes(void)
{
    WNNSqueezeOptions squeeze = WNN_SQUEEZE_OPTIONS_INIT;
    ACCEPTS(wnnGraphBuilderSqueeze(b, F32(1, 2, 1, 3), NULL), Float32, LIST(2, 3));
    ACCEPTS(wnnGraphBuilderSqueeze(b, F32(1, 1), NULL), Float32, EMPTY);
    squeeze.axes = LIST(2);
    ACCEPTS(wnnGraphBuilderSqueeze(b, F32(1, 2, 1, 3), &squeeze), Float32, LIST(1, 2, 3));
    squeeze.axes = EMPTY;
    ACCEPTS(wnnGraphBuilderSqueeze(b, F32(1, 2), &squeeze), Float32, LIST(1, 2));
    squeeze.axes = LIST(1);
    REFUSES(wnnGraphBuilderSqueeze(b, F32(1, 2), &squeeze),
            "squeeze: dimension 1 of input [1, 2] has size 2; expected 1");
    squeeze.axes = LIST(2);
    REFUSES(wnnGraphBuilderSqueeze(b, F32(1, 2), &squeeze), "squeeze: axes[0] is 2; input [1, 2] has rank 2");
    squeeze.axes = LIST(0, 0);
    REFUSES(wnnGraphBuilderSqueeze(b, F32(1, 2), &squeeze), "squeeze: axes[1] repeats axis 0");

    ACCEPTS(wnnGraphBuilderUnsqueeze(b, F32(2, 3), LIST(3, 0), NULL), Float32, LIST(1, 2, 3, 1));
    ACCEPTS(wnnGraphBuilderUnsqueeze(b, SCALAR(Int8), LIST(0), NULL), Int8, LIST(1));
    ACCEPTS(wnnGraphBuilderUnsqueeze(b, F32(2), EMPTY, NULL), Float32, LIST(2));
    REFUSES(wnnGraphBuilderUnsqueeze(b, F32(2), ABSENT, NULL), "unsqueeze: axes is absent");
    REFUSES(wnnGraphBuilderUnsqueeze(b, F32(2, 3), LIST(3), NULL),
            "unsqueeze: axes[0] is 3; the result has rank 3");
    REFUSES(wnnGraphBuilderUnsqueeze(b, F32(2), LIST(1, 1), NULL), "unsqueeze: axes[1] repeats axis 1");
    REFUSES(wnnGraphBuilderUnsqueeze(b, F32(2), LIST(0, 1, 2, 3, 4, 5, 6, 7), NULL),
            "unsqueeze: axes has 8 items; input [2] has rank 1, and results at most 8");

    WNNReshapeTo2dOptions matrix = WNN_RESHAPE_TO_2D_OPTIONS_INIT;
    ACCEPTS(wnnGraphBuilderReshapeTo2d(b, F32(2, 3, 4), NULL), Float32, LIST(2, 12));
    matrix.axis = 0;
    ACCEPTS(wnnGraphBuilderReshapeTo2d(b, F32(2, 3, 4), &matrix), Float32, LIST(1, 24));
    ACCEPTS(wnnGraphBuilderReshapeTo2d(b, SCALAR(Float32), &matrix), Float32, LIST(1, 1));
    matrix.axis = 3;
    ACCEPTS(wnnGraphBuilderReshapeTo2d(b, F32(2, 3, 4), &matrix), Float32, LIST(24, 1));
    REFUSES(wnnGraphBuilderReshapeTo2d(b, F32(2), &matrix), "reshapeTo2d: axis is 3; input [2] has rank 1");
}

static void test_empty_matrix(void)
{
    ACCEPTS(wnnGraphBuilderRange(b, scalar(WNNDataType_Int32, 5), scalar(WNNDataType_Int32, 1),
                                 scalar(WNNDataType_Int32, 2), NULL),
            Int32, LIST(0));
    ACCEPTS(wnnGraphBuilderReshapeDynamic(b, F32(0, 4), SIZES(2, 0), NULL), Float32, LIST(2, 0));
    ACCEPTS(wnnGraphBuilderShape(b, SCALAR(Int32), NULL), Uint32, LIST(0));
    ACCEPTS(reshape_to(F32(1), wnnGraphBuilderShape(b, SCALAR(Int32), NULL)), Float32, EMPTY);
    // The product of nothing is one, and the sum of nothing zero.
    WNNOperand none = wnnGraphBuilderShape(b, SCALAR(Int32), NULL), one[1];
    one[0] = wnnGraphBuilderReduceProduct(b, none, NULL);
    ACCEPTS(reshape_to(F32(1), wnnGraphBuilderUnsqueeze(b, one[0], LIST(0), NULL)), Float32, LIST(1));
    // Nothing is there to be gathered.
    WNNOperand index = GIVEN(Int32, 0);
    WNNOperand gathered = wnnGraphBuilderGather(b, as(WNNDataType_Uint32, none), index, NULL);
    REQUIRE(gathered == NULL || reshape_to(F32(1), gathered) == NULL);
}

static void test_range(void)
{
#define RANGE(type, start, limit, delta)                                                                     \
    wnnGraphBuilderRange(b, scalar(WNNDataType_##type, start), scalar(WNNDataType_##type, limit),            \
                         scalar(WNNDataType_##type, delta), NULL)
    ACCEPTS(RANGE(Int32, 2, 9, 3), Int32, LIST(3));
    ACCEPTS(RANGE(Float32, 1, 0, -0.25), Float32, LIST(4));
    ACCEPTS(RANGE(Uint8, 0, 3, 1), Uint8, LIST(3));
    REFUSES(RANGE(Int32, 2, 9, 0), "range: delta is 0");
    REFUSES(RANGE(Float32, INFINITY, 9, 1), "range: start is inf; expected a finite number");
    REFUSES(RANGE(Int32, 9, 2, 1), "range: from 9 to 2 in steps of 1; expected 1 to 2147483647 elements");
    REFUSES(wnnGraphBuilderRange(b, scalar(WNNDataType_Int32, 0), SCALAR(Int32), scalar(WNNDataType_Int32, 1),
                                 NULL),
            "range: limit" DATA);
    ACCEPTS(reshape_to(F32(6), RANGE(Int32, 1, 4, 1)), Float32, LIST(1, 2, 3));
}

// What is computed of known shapes: each operator by a size that comes out.
static void test_numbers(void)
{
    WNNOperand shape = wnnGraphBuilderShape(b, F32(6, 4), NULL), x = F32(1, 1);
    ACCEPTS(shape, Uint32, LIST(2));
    ACCEPTS(wnnGraphBuilderExpandDynamic(b, x, shape, NULL), Float32, LIST(6, 4));
#define EXPANDS(shape, ...)                                                                                  \
    ACCEPTS(wnnGraphBuilderExpandDynamic(b, x, shape, NULL), Float32, LIST(__VA_ARGS__))
    static const struct {
        const char *name;
        uint32_t sizes[2]; // of (6, 4) and (4, 3)
    } binaries[] = {{"add", {10, 7}}, {"sub", {2, 1}}, {"mul", {24, 12}},        {"div", {1, 1}},
                    {"max", {6, 4}},  {"min", {4, 3}}, {"modulusFloor", {2, 1}}, {"modulusTruncate", {2, 1}}};
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        EXPANDS(binary(binaries[i].name, shape, GIVEN(Uint32, 4, 3)), binaries[i].sizes[0],
                binaries[i].sizes[1]);
    WNNOperand whole = as(WNNDataType_Int32, shape), seven = GIVEN(Int32, -7, 5);
    EXPANDS(binary("sub", wnnGraphBuilderNeg(b, binary("div", seven, GIVEN(Int32, 2, -2)), NULL),
                   GIVEN(Int32, 1, 1)),
            2, 1);
    EXPANDS(binary("modulusFloor", seven, GIVEN(Int32, 4, 3)), 1, 2);
    EXPANDS(wnnGraphBuilderAbs(b, binary("modulusTruncate", seven, GIVEN(Int32, 4, 3)), NULL), 3, 2);
    EXPANDS(binary("modulusFloor", binary("add", whole, seven), GIVEN(Int32, 10, 10)), 9, 9);
    EXPANDS(binary("mul", wnnGraphBuilderSign(b, seven, NULL), GIVEN(Int32, -3, 2)), 3, 2);
    // Sums wrap, and a quotient by 0 is the dividend.
    EXPANDS(binary("sub", shape, GIVEN(Uint32, 4294967295, 4294967293)), 7, 7);
    EXPANDS(binary("div", shape, GIVEN(Uint32, 0, 2)), 6, 2);
    EXPANDS(binary("modulusTruncate", shape, GIVEN(Uint32, 0, 3)), 6, 1);

    // By way of floating-point numbers.
    WNNOperand real = as(WNNDataType_Float32, shape), half = GIVEN(Float32, 4, 4);
#define SIZE(x) as(WNNDataType_Int32, x)
    EXPANDS(SIZE(wnnGraphBuilderCeil(b, binary("div", real, half), NULL)), 2, 1);
    EXPANDS(SIZE(wnnGraphBuilderFloor(b, binary("div", real, half), NULL)), 1, 1);
    EXPANDS(SIZE(wnnGraphBuilderRoundEven(b, binary("div", real, half), NULL)), 2, 1);
    EXPANDS(SIZE(binary("mul", wnnGraphBuilderReciprocal(b, real, NULL), GIVEN(Float32, 12, 12))), 2, 3);
    EXPANDS(SIZE(wnnGraphBuilderSqrt(b, binary("add", real, GIVEN(Float32, 3, 5)), NULL)), 3, 3);
    EXPANDS(SIZE(wnnGraphBuilderAbs(b, wnnGraphBuilderNeg(b, real, NULL), NULL)), 6, 4);
    EXPANDS(
        SIZE(binary("mul", wnnGraphBuilderSign(b, real, NULL), binary("max", real, GIVEN(Float32, 5, 5)))), 6,
        5);
    EXPANDS(SIZE(binary("min", real, GIVEN(Float32, 5, 5))), 5, 4);
    EXPANDS(SIZE(binary("modulusFloor", wnnGraphBuilderNeg(b, real, NULL), GIVEN(Float32, 7, 5))), 1, 1);
    EXPANDS(SIZE(binary("modulusTruncate", real, GIVEN(Float32, -4, 5))), 2, 4);
}

static void test_choices(void)
{
    WNNOperand shape = wnnGraphBuilderShape(b, F32(6, 4), NULL), x = F32(1, 1), five = GIVEN(Uint32, 5, 4);
    static const struct {
        const char *name;
        bool answers[2]; // of (6, 4) and (5, 4)
    } comparisons[] = {{"equal", {false, true}},   {"notEqual", {true, false}},
                       {"greater", {true, false}}, {"greaterOrEqual", {true, true}},
                       {"lesser", {false, false}}, {"lesserOrEqual", {false, true}}};
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++) {
        WNNOperand condition = binary(comparisons[i].name, shape, five);
        EXPANDS(wnnGraphBuilderWhere(b, condition, GIVEN(Int32, 2, 2), GIVEN(Int32, 3, 3), NULL),
                comparisons[i].answers[0] ? 2 : 3, comparisons[i].answers[1] ? 2 : 3);
    }
    WNNOperand yes = GIVEN(Uint8, 1, 0), other = GIVEN(Uint8, 1, 1);
#define CHOOSES(condition, first, second)                                                                    \
    EXPANDS(wnnGraphBuilderWhere(b, condition, GIVEN(Int32, 2), GIVEN(Int32, 3), NULL), first, second)
    CHOOSES(binary("logicalAnd", yes, other), 2, 3);
    CHOOSES(binary("logicalOr", yes, GIVEN(Uint8, 0, 0)), 2, 3);
    CHOOSES(binary("logicalXor", yes, other), 3, 2);
    CHOOSES(wnnGraphBuilderLogicalNot(b, yes, NULL), 3, 2);
    WNNOperand unordered = GIVEN(Float32, 0);
    unordered = binary("modulusFloor", unordered, unordered); // NaN
    CHOOSES(binary("notEqual", unordered, GIVEN(Float32, 1, 2)), 2, 2);
    CHOOSES(binary("lesserOrEqual", unordered, GIVEN(Float32, 1, 2)), 3, 3);
}

static void test_movements(void)
{
    WNNOperand shape = wnnGraphBuilderShape(b, F32(6, 4), NULL), x = F32(1, 1);
    WNNGatherOptions last = WNN_GATHER_OPTIONS_INIT;
    EXPANDS(wnnGraphBuilderGather(b, shape, GIVEN(Int32, -1, 0), NULL), 4, 6);
    EXPANDS(wnnGraphBuilderGather(b, shape, GIVEN(Int32, 9, -9), NULL), 4, 6); // as kernels clamp them
    EXPANDS(wnnGraphBuilderReverse(b, shape, NULL), 4, 6);
    EXPANDS(join(part(shape, 1, 1), GIVEN(Uint32, 3)), 4, 3);
    EXPANDS(wnnGraphBuilderExpand(b, part(shape, 0, 1), LIST(2), NULL), 6, 6);
    EXPANDS(wnnGraphBuilderTile(b, part(shape, 1, 1), LIST(2), NULL), 4, 4);
    EXPANDS(wnnGraphBuilderTileDynamic(b, part(shape, 1, 1), SIZES(2), NULL), 4, 4);
    EXPANDS(wnnGraphBuilderSliceDynamic(b, shape, SIZES(0), SIZES(2), NULL), 6, 4);
    WNNOperand table = wnnGraphBuilderReshape(b,
                                              wnnGraphBuilderRange(b, scalar(WNNDataType_Int32, 1),
                                                                   scalar(WNNDataType_Int32, 7),
                                                                   scalar(WNNDataType_Int32, 1), NULL),
                                              LIST(2, 3), NULL); // 1 2 3, 4 5 6
#define ROW(x) wnnGraphBuilderReshape(b, x, LIST(2), NULL)
    WNNOperand turned = wnnGraphBuilderTranspose(b, table, NULL);
    EXPANDS(ROW(wnnGraphBuilderSlice(b, turned, LIST(1, 0), LIST(1, 2), NULL)), 2, 5);
    last.axis = 1;
    EXPANDS(ROW(wnnGraphBuilderGather(b, table, scalar(WNNDataType_Int32, 2), &last)), 3, 6);
    WNNReverseOptions columns = WNN_REVERSE_OPTIONS_INIT;
    columns.axes = LIST(1);
    WNNOperand mirrored = wnnGraphBuilderReverse(b, table, &columns), both[2];
    EXPANDS(ROW(wnnGraphBuilderSlice(b, mirrored, LIST(0, 0), LIST(1, 2), NULL)), 3, 2);
    EXPANDS(ROW(wnnGraphBuilderSlice(b, wnnGraphBuilderConcat(b, 2, (WNNOperand[]){table, mirrored}, 1, NULL),
                                     LIST(1, 2), LIST(1, 2), NULL)),
            6, 6);
    WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
    reduce.axes = LIST(1);
    EXPANDS(wnnGraphBuilderReduceSum(b, table, &reduce), 6, 15);
    EXPANDS(wnnGraphBuilderReduceProduct(b, table, &reduce), 6, 120);
    EXPANDS(wnnGraphBuilderReduceMax(b, table, &reduce), 3, 6);
    EXPANDS(wnnGraphBuilderReduceMin(b, table, &reduce), 1, 4);
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(b, shape, 2, NULL, 2, both), 2);
    EXPANDS(join(both[1], both[0]), 4, 6);
    WNNSplitOptions columns_of = WNN_SPLIT_OPTIONS_INIT;
    columns_of.axis = 1;
    WNNOperand parts[3];
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(b, table, 3, &columns_of, 3, parts), 3);
    REFUSES(wnnGraphBuilderExpandDynamic(b, x, ROW(parts[1]), NULL), "expandDynamic: newShape" DATA);
    WNNOperand one =
        wnnGraphBuilderUnsqueeze(b, wnnGraphBuilderSqueeze(b, part(shape, 1, 1), NULL), LIST(0), NULL);
    EXPANDS(join(one, one), 4, 4);
}

// Sizes that are not known keep their names.
static void test_names(void)
{
    WNNOperand x = NAMED("n", "8"), shape = wnnGraphBuilderShape(b, x, NULL);
    WNNOperand n = part(shape, 0, 1), c = part(shape, 1, 1), one = F32(1);
    SIZES_ARE(reshape_to(x, join(n, GIVEN(Uint32, 2, 4))), "[n, 2, 4]");
    SIZES_ARE(reshape_to(x, wnnGraphBuilderReverse(b, shape, NULL)), "[8, n]");
    SIZES_ARE(reshape_to(x, wnnGraphBuilderUnsqueeze(b, wnnGraphBuilderReduceProduct(b, shape, NULL), LIST(0),
                                                     NULL)),
              "[8 * n]");
#define IS(value, expected) SIZES_ARE(wnnGraphBuilderExpandDynamic(b, one, value, NULL), "[" expected "]")
    IS(binary("add", n, GIVEN(Uint32, 1)), "n + 1");
    IS(binary("sub", binary("add", n, n), n), "n");
    IS(binary("mul", n, c), "8 * n");
    IS(binary("div", binary("mul", n, c), GIVEN(Uint32, 4)), "2 * n");
    IS(binary("div", n, GIVEN(Uint32, 4)), "n / 4");
    IS(binary("div", c, n), "?");
    IS(binary("modulusTruncate", n, GIVEN(Uint32, 4)), "n - 4 * (n / 4)");
    IS(as(WNNDataType_Int64, binary("sub", n, GIVEN(Uint32, 4))), "?");
    IS(as(WNNDataType_Int32, as(WNNDataType_Float32, n)), "?");
    IS(wnnGraphBuilderAbs(b, as(WNNDataType_Int32, n), NULL), "n");
    IS(wnnGraphBuilderSign(b, as(WNNDataType_Int32, n), NULL), "?");
    IS(wnnGraphBuilderNeg(b, wnnGraphBuilderNeg(b, as(WNNDataType_Int64, n), NULL), NULL), "n");
    IS(as(WNNDataType_Int32, as(WNNDataType_Uint8, n)), "?");
    IS(binary("max", n, GIVEN(Uint32, 1)), "n");
    IS(binary("min", n, GIVEN(Uint32, 1)), "1");
    IS(binary("max", n, c), "?");
    IS(binary("max", binary("sub", n, GIVEN(Uint32, 2)), GIVEN(Uint32, 0)), "?"); // it may wrap
    IS(wnnGraphBuilderWhere(b, binary("equal", c, GIVEN(Uint32, 8)), n, c, NULL), "n");
    IS(wnnGraphBuilderWhere(b, binary("equal", n, c), n, c, NULL), "?");
    IS(wnnGraphBuilderWhere(b, binary("equal", n, GIVEN(Uint32, 0)), c, n, NULL), "n");
    IS(wnnGraphBuilderWhere(b, binary("lesserOrEqual", n, binary("add", n, c)), n, c, NULL), "n");
    IS(wnnGraphBuilderGather(b, shape, n, NULL), "?");
    // The length of a range.
    WNNOperand size = wnnGraphBuilderReshape(b, n, EMPTY, NULL), zero = scalar(WNNDataType_Uint32, 0),
               step = scalar(WNNDataType_Uint32, 1);
    SIZES_ARE(wnnGraphBuilderRange(b, zero, size, step, NULL), "[n]");
    SIZES_ARE(wnnGraphBuilderRange(b, zero, size, scalar(WNNDataType_Uint32, 3), NULL), "[(n + 2) / 3]");
    WNNOperand whole = as(WNNDataType_Int32, size), down = scalar(WNNDataType_Int32, -1);
    SIZES_ARE(wnnGraphBuilderRange(b, whole, scalar(WNNDataType_Int32, 0), down, NULL), "[n]");
    SIZES_ARE(
        wnnGraphBuilderRange(b, scalar(WNNDataType_Int32, 5), whole, scalar(WNNDataType_Int32, 1), NULL),
        "[?]");
    SIZES_ARE(wnnGraphBuilderRange(b, zero, step, size, NULL), "[?]");
    WNNOperand late = wnnGraphBuilderRange(b, as(WNNDataType_Float32, size), scalar(WNNDataType_Float32, 9),
                                           scalar(WNNDataType_Float32, 1), NULL);
    SIZES_ARE(late, "[?]");
    REQUIRE(!wnnOperandGetShape(reshape_to(one, as(WNNDataType_Int32, late))).data); // of any rank
    // What is certainly wrong is refused.
    REFUSES(reshape_to(x, join(n, GIVEN(Uint32, 7))),
            "reshapeDynamic: newShape [n, 7] does not have the 8 * n elements of input [n, 8]");
    REFUSES(reshape_to(x, wnnGraphBuilderNeg(b, as(WNNDataType_Int32, n), NULL)),
            "reshapeDynamic: newShape[0] is -n; expected 0 to 2147483647");
    WNNSqueezeOptions squeeze = WNN_SQUEEZE_OPTIONS_INIT;
    REQUIRE(!wnnOperandGetShape(wnnGraphBuilderSqueeze(b, x, NULL)).data); // n may be 1 or not
    WNNOperand squeezed = wnnGraphBuilderSqueeze(b, x, NULL);
    REFUSES(wnnGraphBuilderArgMaxAxes(b, squeezed, NULL),
            "argMaxAxes: has an operand of which the rank is not known, which this form is not for");
    REFUSES(reshape_to(x, as(WNNDataType_Int32, NAMED("n"))), "reshapeDynamic: newShape" DATA);
    uint32_t more = wnnGraphBuilderComputeSize(b, WNNSizeOperator_Add, wnnOperandGetShape(x).data[0], 8);
    WNNOperand many = wnnGraphBuilderExpand(b, n, (WNNUint32List){&more, 1}, NULL);
    REFUSES(reshape_to(x, many), "reshapeDynamic: newShape has n + 8 items; expected at most 8");
    squeeze.axes = LIST(0);
    SIZES_ARE(wnnGraphBuilderSqueeze(b, x, &squeeze), "[8]");
    SIZES_ARE(wnnGraphBuilderUnsqueeze(b, x, LIST(1), NULL), "[n, 1, 8]");
    SIZES_ARE(wnnGraphBuilderReshapeTo2d(b, NAMED("2", "n", "3", "m"), NULL), "[2, 3 * (n * m)]");
    WNNOperand padded = wnnGraphBuilderPadDynamic(b, x, GIVEN(Uint32, 0, 0), join(c, GIVEN(Uint32, 1)), NULL);
    SIZES_ARE(padded, "[n + 8, 9]");
    SIZES_ARE(wnnGraphBuilderSqueeze(b, padded, NULL), "[n + 8, 9]"); // certainly not 1
    WNNOperand halves[2];
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplitDynamic(
                          b, x, join(GIVEN(Uint32, 1), binary("sub", n, GIVEN(Uint32, 1))), NULL, 2, halves),
                      2);
    SIZES_ARE(halves[1], "[n - 1, 8]");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_lists());
    CASE(test_reshapes());
    CASE(test_range());
    CASE(test_numbers());
    CASE(test_choices());
    CASE(test_movements());
    CASE(test_names());
    end();
    WNNLimits limits = no_limits();
    limits.acceptEmptyTensors = true;
    begin(&limits);
    CASE(test_empty_matrix());
    end();
    return cases_end();
}
