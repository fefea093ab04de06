// SPDX-License-Identifier: Apache-2.0
//
// Validation that does not depend on the operator: inputs, constants, limits, labels, enumerators, lists,
// activations, operands of other builders, NULL, a lost context.

#include "conformance/unit/validation.h"

#include <math.h>

static const uint32_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
static const WNNChainedStruct chain = {NULL, 77};

static WNNOperandDescriptor describe(WNNDataType type, WNNUint32List shape)
{
    return (WNNOperandDescriptor){NULL, type, shape};
}

// An input of any name and descriptor.
static WNNOperand input(WNNStringView name, WNNDataType type, WNNUint32List shape)
{
    WNNOperandDescriptor descriptor = describe(type, shape);
    return wnnGraphBuilderInput(b, name, &descriptor);
}
#define INPUT(type, ...) input(view("in"), WNNDataType_##type, __VA_ARGS__)

static void test_inputs(void)
{
    ACCEPTS(INPUT(Float32, EMPTY), Float32, EMPTY);
    ACCEPTS(INPUT(Float16, LIST(1, 2, 3, 4, 5, 6, 7, 8)), Float16, LIST(1, 2, 3, 4, 5, 6, 7, 8));
    ACCEPTS(INPUT(Int8, LIST(BIG)), Int8, LIST(BIG));
    ACCEPTS(INPUT(Uint8, LIST(1, 1, BIG, 1)), Uint8, LIST(1, 1, BIG, 1));
    ACCEPTS(INPUT(Int4, LIST(3)), Int4, LIST(3));
    ACCEPTS(INPUT(Uint4, LIST(BIG)), Uint4, LIST(BIG));
    ACCEPTS(input((WNNStringView){"a\0b", 3}, WNNDataType_Int8, LIST(1)), Int8, LIST(1));
    ACCEPTS(input(view("\u7D4C\u8DEF\U0001F600"), WNNDataType_Int8, LIST(1)), Int8, LIST(1));

    REFUSES(input(view(""), WNNDataType_Int8, EMPTY), "the name of an input is empty");
    REFUSES(input((WNNStringView){NULL, 0}, WNNDataType_Int8, EMPTY), "the name of an input is empty");
    REFUSES(input((WNNStringView)WNN_STRING_VIEW_INIT, WNNDataType_Int8, EMPTY),
            "the name of an input is empty");
    REFUSES(input((WNNStringView){NULL, 3}, WNNDataType_Int8, EMPTY),
            "the name of an input has 3 bytes but no data");
    REFUSES(input(view("\xC0\x80"), WNNDataType_Int8, EMPTY),
            "the name of an input is not well-formed UTF-8");
    REFUSES(input(view("\xED\xA0\x80"), WNNDataType_Int8, EMPTY),
            "the name of an input is not well-formed UTF-8");
    REFUSES(input(view("\xF4\x90\x80\x80"), WNNDataType_Int8, EMPTY),
            "the name of an input is not well-formed UTF-8");
    REFUSES(input((WNNStringView){"\xE4\xBD", 2}, WNNDataType_Int8, EMPTY),
            "the name of an input is not well-formed UTF-8");
    char *name = malloc(65537);
    REQUIRE(name);
    memset(name, 'n', 65537);
    ACCEPTS(input((WNNStringView){name, 65536}, WNNDataType_Int8, LIST(1)), Int8, LIST(1));
    REFUSES(input((WNNStringView){name, 65537}, WNNDataType_Int8, EMPTY),
            "the name of an input has 65537 bytes; expected at most 65536");
    free(name);

    REFUSES(wnnGraphBuilderInput(b, view("in"), NULL), "input \"in\" has no descriptor");
    WNNOperandDescriptor chained = describe(WNNDataType_Int8, EMPTY);
    chained.nextInChain = &chain;
    REFUSES(
        wnnGraphBuilderInput(b, view("in"), &chained),
        "input \"in\": nextInChain holds a struct of type 77, which means nothing there or is there twice");
    REFUSES(INPUT(Undefined, EMPTY), "input \"in\" has data type 0, which does not exist");
    REFUSES(input(view("in"), (WNNDataType)11, EMPTY), "input \"in\" has data type 11, which does not exist");
    REFUSES(input(view("in"), (WNNDataType)-1, EMPTY), "input \"in\" has data type -1, which does not exist");
    REFUSES(INPUT(Int8, ABSENT), "input \"in\" has no shape");
    REFUSES(INPUT(Int8, ((WNNUint32List){nine, 9})), "input \"in\" has rank 9; expected at most 8");
    REFUSES(INPUT(Int8, ((WNNUint32List){NULL, 2})), "input \"in\" has rank 2 but no dimensions");
    REFUSES(INPUT(Int8, LIST(1, 0)),
            "input \"in\" has shape [1, 0]; expected each dimension to be 1 to 2147483647");
    REFUSES(INPUT(Int8, LIST(0x80000000u)),
            "input \"in\" has shape [2147483648]; expected each dimension to be 1 to 2147483647");
    REFUSES(INPUT(Int8, LIST(BIG, 2)),
            "input \"in\" has shape [2147483647, 2]; expected at most 2147483647 elements");
    REFUSES(INPUT(Int8, LIST(BIG, BIG, BIG, BIG, BIG, BIG, BIG, BIG)),
            "input \"in\" has shape [2147483647, 2147483647, 2147483647, 2147483647, 2147483647, 2147483647, "
            "2147483647, "
            "2147483647]; expected at most 2147483647 elements");
    REFUSES(INPUT(Float16, LIST(0x40000000u)),
            "input \"in\" of float16 [1073741824] has 2147483648 bytes; expected at most 2147483647");
    // What a name could do to a terminal or a page.
    REFUSES(input(view("\x1B[2J\u202Eevil\u2066\x7F\n"), WNNDataType_Int8, LIST(0)),
            "input \"\\u{1B}[2J\\u{202E}evil\\u{2066}\\u{7F}\\u{A}\" has shape [0]; expected each dimension "
            "to be 1 to "
            "2147483647");
    REFUSES(input((WNNStringView){"a\0b", 3}, WNNDataType_Int8, LIST(0)),
            "input \"a\\u{0}b\" has shape [0]; expected each dimension to be 1 to 2147483647");
    REFUSES(input(view("0123456789012345678901234567890123456789012345678901234567890123456789"),
                  WNNDataType_Int8, LIST(0)),
            "input \"0123456789012345678901234567890123456789012345678901234567890123...\" has shape [0]; "
            "expected each "
            "dimension to be 1 to 2147483647");
}

// ---------------------------------------------------------------------------------------------------------------
// Constants
// ---------------------------------------------------------------------------------------------------------------

static WNNOperand constant(WNNDataType type, WNNUint32List shape, const void *data, size_t bytes)
{
    WNNOperandDescriptor descriptor = describe(type, shape);
    return wnnGraphBuilderConstant(b, &descriptor, data, bytes);
}
#define CONSTANT(type, shape, data, bytes) constant(WNNDataType_##type, shape, data, bytes)

static int released;

static void release(const void *data, size_t bytes, void *userdata1, void *userdata2)
{
    REQUIRE(data == userdata1 && bytes == *(const size_t *)userdata2);
    released++;
}

static void test_constants(void)
{
    static const char data[64];
    ACCEPTS(CONSTANT(Float32, LIST(2, 3), data, 24), Float32, LIST(2, 3));
    ACCEPTS(CONSTANT(Int64, EMPTY, data, 8), Int64, EMPTY);
    ACCEPTS(CONSTANT(Uint4, LIST(3, 3), data, 5), Uint4, LIST(3, 3));
    ACCEPTS(CONSTANT(Int4, LIST(1), data, 1), Int4, LIST(1));
    ACCEPTS(CONSTANT(Float16, LIST(3), data + 1, 6), Float16, LIST(3));
    REFUSES(CONSTANT(Float32, LIST(2, 3), data, 23), "constant has 23 bytes; expected 24 (float32 [2, 3])");
    REFUSES(CONSTANT(Uint4, LIST(3, 3), data, 4), "constant has 4 bytes; expected 5 (uint4 [3, 3])");
    REFUSES(CONSTANT(Int8, EMPTY, data, 0), "constant has 0 bytes; expected 1 (int8 [])");
    REFUSES(CONSTANT(Float32, LIST(2), NULL, 8), "constant has no data");
    REFUSES(CONSTANT(Float32, LIST(0), data, 0),
            "constant has shape [0]; expected each dimension to be 1 to 2147483647");
    REFUSES(wnnGraphBuilderConstant(b, NULL, data, 1), "constant has no descriptor");

    static size_t bytes = 8;
    WNNExternalBytes loan = {NULL, data, bytes, release, (void *)(uintptr_t)data, &bytes};
    WNNOperandDescriptor eight = describe(WNNDataType_Uint8, LIST(8)),
                         nothing = describe(WNNDataType_Uint8, LIST(7));
    ACCEPTS(wnnGraphBuilderExternalConstant(b, &eight, &loan), Uint8, LIST(8));
    REQUIRE_EQUAL_INT(released, 0);
    REFUSES(wnnGraphBuilderExternalConstant(b, &nothing, &loan),
            "constant has 8 bytes; expected 7 (uint8 [7])");
    REQUIRE_EQUAL_INT(released, 1);
    REFUSES(wnnGraphBuilderExternalConstant(b, NULL, &loan), "constant has no descriptor");
    loan.nextInChain = &chain;
    REFUSES(
        wnnGraphBuilderExternalConstant(b, &eight, &loan),
        "external bytes: nextInChain holds a struct of type 77, which means nothing there or is there twice");
    REQUIRE_EQUAL_INT(released, 3);
    REFUSES(wnnGraphBuilderExternalConstant(b, &eight, NULL), "constant has no external bytes");
    loan = (WNNExternalBytes)WNN_EXTERNAL_BYTES_INIT;
    loan.byteLength = 8;
    REFUSES(wnnGraphBuilderExternalConstant(b, &eight, &loan), "constant has no data");
}

static void test_scalars(void)
{
    const WNNNumber none = WNN_NUMBER_INIT, seven = wnnNumberInt64(7);
    for (int type = WNNDataType_Float32; type <= WNNDataType_Uint8; type++)
        require_accepted(wnnGraphBuilderScalarConstant(b, (WNNDataType)type, seven), "scalar",
                         (WNNDataType)type, EMPTY, __LINE__);
    ACCEPTS(wnnGraphBuilderScalarConstant(b, WNNDataType_Int8, wnnNumberFloat64(NAN)), Int8, EMPTY);
    ACCEPTS(wnnGraphBuilderScalarConstant(b, WNNDataType_Float32, wnnNumberFloat64(-INFINITY)), Float32,
            EMPTY);
    REFUSES(wnnGraphBuilderScalarConstant(b, WNNDataType_Int4, seven),
            "scalar constant has data type int4; expected one of 8 bits or more");
    REFUSES(wnnGraphBuilderScalarConstant(b, WNNDataType_Undefined, seven),
            "scalar constant has data type undefined; expected one of 8 bits or more");
    REFUSES(wnnGraphBuilderScalarConstant(b, (WNNDataType)1000, seven),
            "scalar constant has data type unknown; expected one of 8 bits or more");
    REFUSES(wnnGraphBuilderScalarConstant(b, WNNDataType_Int8, none), "scalar constant has no value");
    REFUSES(wnnGraphBuilderScalarConstant(b, WNNDataType_Int8, ((WNNNumber){(WNNNumberType)4, {0}})),
            "scalar constant has no value");
}

#define RANGE(from, to, by, type) wnnGraphBuilderRangeConstant(b, from, to, by, WNNDataType_##type)
#define I                         wnnNumberInt64
#define U                         wnnNumberUint64
#define F                         wnnNumberFloat64

static void test_ranges(void)
{
    ACCEPTS(RANGE(I(0), I(10), I(3), Int32), Int32, LIST(4));
    ACCEPTS(RANGE(I(0), I(9), I(3), Uint8), Uint8, LIST(3));
    ACCEPTS(RANGE(F(0), F(1), F(0.25), Float16), Float16, LIST(4));
    ACCEPTS(RANGE(F(1), F(0), F(-0.3), Float32), Float32, LIST(4));
    ACCEPTS(RANGE(I(5), I(-5), I(-10), Int8), Int8, LIST(1));
    ACCEPTS(RANGE(F(0), I(3), U(2), Int64), Int64, LIST(2));
    // Exact where doubles are not.
    ACCEPTS(RANGE(I(INT64_MAX - 2), I(INT64_MAX), I(1), Int64), Int64, LIST(2));
    ACCEPTS(RANGE(U(UINT64_MAX - 2), U(UINT64_MAX), I(1), Uint64), Uint64, LIST(2));
    ACCEPTS(RANGE(I(INT64_MIN), U(UINT64_MAX), I(INT64_MAX), Int64), Int64, LIST(4));
    REFUSES(RANGE(F(NAN), I(1), I(1), Int8), "range constant: start is not a finite number");
    REFUSES(RANGE(I(0), F(INFINITY), I(1), Int8), "range constant: end is not a finite number");
    REFUSES(RANGE(I(0), I(1), ((WNNNumber)WNN_NUMBER_INIT), Int8),
            "range constant: step is not a finite number");
    REFUSES(RANGE(I(0), I(1), I(0), Int8),
            "range constant from 0 to 1 in steps of 0; expected 1 to 2147483647 elements");
    REFUSES(RANGE(I(0), I(1), I(-1), Int8),
            "range constant from 0 to 1 in steps of -1; expected 1 to 2147483647 elements");
    REFUSES(RANGE(I(1), I(1), I(1), Int8),
            "range constant from 1 to 1 in steps of 1; expected 1 to 2147483647 elements");
    REFUSES(RANGE(F(0), F(1e10), F(1), Int8),
            "range constant from 0 to 1e+10 in steps of 1; expected 1 to 2147483647 elements");
    REFUSES(RANGE(F(-1e308), F(1e308), F(1), Int8),
            "range constant from -1e+308 to 1e+308 in steps of 1; expected 1 to 2147483647 elements");
    REFUSES(
        RANGE(I(INT64_MIN), I(INT64_MAX), I(1), Int8),
        "range constant from -9.22337e+18 to 9.22337e+18 in steps of 1; expected 1 to 2147483647 elements");
    REFUSES(RANGE(I(0), I(1), I(1), Uint4),
            "range constant has data type uint4; expected one of 8 bits or more");
    REFUSES(RANGE(I(0), I(0x20000000), I(1), Int32),
            "range constant of int32 [536870912] has 2147483648 bytes; expected at most 2147483647");
}

static void test_tensors(void)
{
    static const float data[6];
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = LIST(2, 3);
    WNNTensor tensor, plain;
    REQUIRE_EQUAL_INT(wnnContextCreateConstantTensor(context, &descriptor, data, sizeof data, &tensor),
                      WNNStatus_Success);
    REQUIRE_EQUAL_INT(wnnContextCreateTensor(context, &descriptor, &plain), WNNStatus_Success);
    ACCEPTS(wnnGraphBuilderTensorConstant(b, tensor), Float32, LIST(2, 3));
    REFUSES(wnnGraphBuilderTensorConstant(b, NULL), "constant: no tensor was given");
    REFUSES(wnnGraphBuilderTensorConstant(b, plain), "constant: the tensor is not constant");
    wnnTensorDestroy(tensor);
    REFUSES(wnnGraphBuilderTensorConstant(b, tensor), "constant: the tensor was destroyed");
    wnnTensorRelease(tensor);
    wnnTensorRelease(plain);
}

// ---------------------------------------------------------------------------------------------------------------
// Options of any operator
// ---------------------------------------------------------------------------------------------------------------

static WNNOperatorOptions labelled(const char *label)
{
    return (WNNOperatorOptions){NULL, view(label)};
}

static void test_options(void)
{
    WNNOperand x = F32(2), y = F32(3);
    WNNOperatorOptions o = labelled("block3/add");
    REFUSES(wnnGraphBuilderAdd(b, x, y, &o),
            "add \"block3/add\": a [2] and b [3] cannot be broadcast together");
    o = labelled("a\u202Eb\u200F\uFEFF\u2069\xC2\x85"
                 "c\td");
    REFUSES(wnnGraphBuilderAdd(b, x, y, &o), "add \"a\\u{202E}b\\u{200F}\\u{FEFF}\\u{2069}\\u{85}c\\u{9}d\": "
                                             "a [2] and b [3] cannot be broadcast together");
    o = labelled("\u5C42");
    REFUSES(wnnGraphBuilderAdd(b, x, y, &o), "add \"\u5C42\": a [2] and b [3] cannot be broadcast together");
    o.label = (WNNStringView){"x\0y", 3};
    REFUSES(wnnGraphBuilderAdd(b, x, y, &o),
            "add \"x\\u{0}y\": a [2] and b [3] cannot be broadcast together");
    o.label = (WNNStringView){"\x80", 1};
    REFUSES(wnnGraphBuilderAdd(b, x, x, &o), "add: label is not well-formed UTF-8");
    o.label = (WNNStringView){NULL, 5};
    REFUSES(wnnGraphBuilderAdd(b, x, x, &o), "add: label has 5 bytes but no data");
    o = labelled("l");
    o.nextInChain = &chain;
    REFUSES(wnnGraphBuilderAdd(b, x, x, &o),
            "add \"l\": the options have a chained struct of unknown type 77");
    WNNSoftplusOptions softplus = WNN_SOFTPLUS_OPTIONS_INIT;
    softplus.nextInChain = &chain;
    REFUSES(wnnGraphBuilderActivationSoftplus(b, &softplus),
            "softplus: the options have a chained struct of unknown type 77");
    // The copy is the builder's own.
    char text[] = "mine";
    uint32_t axes[] = {0};
    WNNReduceOptions reduce = WNN_REDUCE_OPTIONS_INIT;
    reduce.label = view(text);
    reduce.axes = (WNNUint32List){axes, 1};
    ACCEPTS(wnnGraphBuilderReduceSum(b, x, &reduce), Float32, EMPTY);
    memset(text, 'x', 4);
    axes[0] = 99;
    reduce.axes = (WNNUint32List){NULL, 1};
    REFUSES(wnnGraphBuilderReduceSum(b, x, &reduce), "reduceSum \"xxxx\": axes has 1 items but no data");
}

static void test_activations(void)
{
    WNNGraphBuilder own = b, other;
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &other), WNNStatus_Success);
    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    b = other;
    WNNActivation foreign = wnnGraphBuilderActivationTanh(b, NULL);
    WNNActivationList list = {(WNNActivation[]){foreign, foreign}, 2};
    b = own;
    conv.activation = foreign;
    WNNOperand image = F32(1, 1, 1, 1);
    REFUSES(wnnGraphBuilderConv2d(b, image, image, &conv),
            "conv2d: activation has an activation of another builder");
    WNNGruCellOptions gru = WNN_GRU_CELL_OPTIONS_INIT;
    gru.activations = list;
    WNNOperand one = F32(1, 1), three = F32(3, 1);
    REFUSES(wnnGraphBuilderGruCell(b, one, three, three, one, 1, &gru),
            "gruCell: activations has an activation of another builder");
    wnnGraphBuilderRelease(other);

    WNNClampOptions clamp = WNN_CLAMP_OPTIONS_INIT;
    clamp.minValue = F(2);
    clamp.maxValue = F(1);
    REFUSES(wnnGraphBuilderActivationClamp(b, &clamp), "clamp: minValue 2 is above maxValue 1");
    WNNEluOptions elu = WNN_ELU_OPTIONS_INIT;
    elu.alpha = NAN;
    REFUSES(wnnGraphBuilderActivationElu(b, &elu), "elu: alpha is nan; expected a finite number");
    // Legal where it was made, illegal in the type it is used with.
    WNNSoftplusOptions softplus = WNN_SOFTPLUS_OPTIONS_INIT;
    softplus.steepness = 1e-30;
    conv.activation = wnnGraphBuilderActivationSoftplus(b, &softplus);
    ACCEPTS(wnnGraphBuilderConv2d(b, image, image, &conv), Float32, LIST(1, 1, 1, 1));
    WNNOperand half = F16(1, 1, 1, 1);
    REFUSES(wnnGraphBuilderConv2d(b, half, half, &conv),
            "softplus: steepness is 1e-30; expected a number that is not 0 in float16");
    const WNNActivation all[] = {
        wnnGraphBuilderActivationClamp(b, NULL),
        wnnGraphBuilderActivationElu(b, NULL),
        wnnGraphBuilderActivationGelu(b, NULL),
        wnnGraphBuilderActivationHardSigmoid(b, NULL),
        wnnGraphBuilderActivationHardSwish(b, NULL),
        wnnGraphBuilderActivationLeakyRelu(b, NULL),
        wnnGraphBuilderActivationLinear(b, NULL),
        wnnGraphBuilderActivationRelu(b, NULL),
        wnnGraphBuilderActivationSigmoid(b, NULL),
        wnnGraphBuilderActivationSoftplus(b, NULL),
        wnnGraphBuilderActivationSoftsign(b, NULL),
        wnnGraphBuilderActivationTanh(b, NULL),
        wnnGraphBuilderActivationSoftmax(b, &(WNNOperatorOptions){NULL, {"rows", 4}}),
    };
    // Each may be used many times; softmax only where there are rows.
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        gru.activations = (WNNActivationList){(WNNActivation[]){all[i], all[i]}, 2};
        ACCEPTS(wnnGraphBuilderGruCell(b, one, three, three, one, 1, &gru), Float32, LIST(1, 1));
        conv.activation = all[i];
        if (i + 1 < sizeof all / sizeof *all)
            ACCEPTS(wnnGraphBuilderConv2d(b, image, image, &conv), Float32, LIST(1, 1, 1, 1));
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Limits
// ---------------------------------------------------------------------------------------------------------------

static void test_limits(void)
{
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.maxTensorByteLength = 100;
    limits.maxConstantBytes = 16;
    limits.maxStringLength = 4;
    limits.maxWindowSize = 3;
    limits.maxStride = 2;
    limits.maxDilation = 2;
    begin(&limits);
    static const char data[100];
    ACCEPTS(F32(25), Float32, LIST(25));
    REFUSES(INPUT(Float32, LIST(26)), "input \"in\" of float32 [26] has 104 bytes; expected at most 100");
    REFUSES(wnnGraphBuilderCast(b, I8(26), WNNDataType_Float32, NULL),
            "cast: output of float32 [26] has 104 bytes; expected at most 100");
    REFUSES(input(view("12345"), WNNDataType_Int8, EMPTY),
            "the name of an input has 5 bytes; expected at most 4");
    WNNOperatorOptions o = labelled("12345");
    REFUSES(wnnGraphBuilderRelu(b, F32(1), &o), "relu: label has 5 bytes; expected at most 4");

    ACCEPTS(CONSTANT(Int8, LIST(10), data, 10), Int8, LIST(10));
    REFUSES_AS(OutOfMemory, CONSTANT(Int8, LIST(7), data, 7),
               "constant of 7 bytes; the builder's constants may have 16 in all");
    ACCEPTS(CONSTANT(Int8, LIST(5), data, 5), Int8, LIST(5));
    REFUSES_AS(OutOfMemory, wnnGraphBuilderScalarConstant(b, WNNDataType_Float16, I(1)),
               "constant of 2 bytes; the builder's constants may have 16 in all");
    REFUSES_AS(OutOfMemory, RANGE(I(0), I(2), I(1), Int8),
               "constant of 2 bytes; the builder's constants may have 16 in all");
    ACCEPTS(wnnGraphBuilderScalarConstant(b, WNNDataType_Int8, I(1)), Int8, EMPTY);

    WNNConv2dOptions conv = WNN_CONV2D_OPTIONS_INIT;
    WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
    WNNOperand image = I8(1, 1, 10, 10), floats = F16(1, 1, 7, 7);
    ACCEPTS(wnnGraphBuilderConv2d(b, floats, F16(1, 1, 3, 3), NULL), Float16, LIST(1, 1, 5, 5));
    REFUSES(wnnGraphBuilderConv2d(b, floats, F16(1, 1, 4, 1), NULL),
            "conv2d: the window is 4 by 1; expected at most 3 each");
    REFUSES(wnnGraphBuilderConvTranspose2d(b, floats, F16(1, 1, 1, 4), NULL),
            "convTranspose2d: the window is 1 by 4; expected at most 3 each");
    conv.strides = LIST(2, 3);
    REFUSES(wnnGraphBuilderConv2d(b, floats, floats, &conv), "conv2d: strides[1] is 3; expected at most 2");
    conv.strides = ABSENT;
    conv.dilations = LIST(3, 2);
    REFUSES(wnnGraphBuilderConv2d(b, floats, floats, &conv), "conv2d: dilations[0] is 3; expected at most 2");
    REFUSES(wnnGraphBuilderMaxPool2d(b, image, NULL),
            "maxPool2d: windowDimensions[0] is 10; expected at most 3");
    pool.windowDimensions = LIST(3, 3);
    ACCEPTS(wnnGraphBuilderMaxPool2d(b, image, &pool), Int8, LIST(1, 1, 8, 8));
    end();

    // Names and labels together, each with the byte that ends it; equal ones count once.
    limits = (WNNLimits){0};
    limits.maxTotalStringBytes = 13; // "in" is the name of inputs here
    begin(&limits);
    ACCEPTS(input(view("abcd"), WNNDataType_Float32, EMPTY), Float32, EMPTY);
    o = labelled("efgh");
    ACCEPTS(wnnGraphBuilderRelu(b, F32(1), &o), Float32, LIST(1));
    REFUSES_AS(OutOfMemory, input(view("i"), WNNDataType_Float32, EMPTY),
               "the name of an input has 1 bytes; the builder's names and labels may have 13 in all");
    ACCEPTS(wnnGraphBuilderRelu(b, F32(1), &o), Float32, LIST(1));
    o = labelled("abcd");
    ACCEPTS(wnnGraphBuilderSin(b, F32(1), &o), Float32, LIST(1));
    o = labelled("j");
    REFUSES_AS(OutOfMemory, wnnGraphBuilderSin(b, F32(1), &o),
               "the label of sin has 1 bytes; the builder's names and labels may have 13 in all");
    end();

    limits = (WNNLimits){0};
    limits.maxOperatorWork = 1000;
    begin(&limits);
    const uint32_t ten[] = {10, 10};
    WNNUint32List square = {ten, 2};
#define SQUARE operand(WNNDataType_Float32, square)
    ACCEPTS(wnnGraphBuilderMatmul(b, SQUARE, SQUARE, NULL), Float32, LIST(10, 10));
    REFUSES(wnnGraphBuilderMatmul(b, SQUARE, F32(10, 11), NULL),
            "matmul: takes 1100 multiply-adds; expected at most 1000");
    REFUSES(wnnGraphBuilderGemm(b, F32(11, 10), SQUARE, NULL),
            "gemm: takes 1100 multiply-adds; expected at most 1000");
    REFUSES(wnnGraphBuilderRelu(b, F32(1001), NULL), "relu: takes 1001 multiply-adds; expected at most 1000");
    REFUSES(wnnGraphBuilderReduceSum(b, F32(1001), NULL),
            "reduceSum: takes 1001 multiply-adds; expected at most 1000");
    REFUSES(wnnGraphBuilderConv2d(b, F32(1, 2, 12, 12), F32(1, 2, 3, 3), NULL),
            "conv2d: takes 1800 multiply-adds; expected at most 1000");
    REFUSES(wnnGraphBuilderConvTranspose2d(b, F32(1, 2, 10, 10), F32(2, 1, 3, 3), NULL),
            "convTranspose2d: takes 2592 multiply-adds; expected at most 1000");
    // Outputs that no tap reaches are written too, and outputs meet taps outside of the input.
    WNNConvTranspose2dOptions transposed = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    transposed.strides = transposed.outputSizes = LIST(40, 50);
    REFUSES(wnnGraphBuilderConvTranspose2d(b, F32(1, 1, 1, 1), F32(1, 1, 1, 1), &transposed),
            "convTranspose2d: takes 2000 multiply-adds; expected at most 1000");
    REFUSES(wnnGraphBuilderConvTranspose2d(b, F32(1, 1, 1, 1), F32(1, 1, 10, 10), NULL),
            "convTranspose2d: takes 10000 multiply-adds; expected at most 1000");
    REFUSES(
        wnnGraphBuilderScatterElements(b, F32(1), operand(WNNDataType_Int32, LIST(1001)), F32(1001), NULL),
        "scatterElements: takes 1001 multiply-adds; expected at most 1000");
    REFUSES(wnnGraphBuilderScatterND(b, F32(1, 1), operand(WNNDataType_Int32, LIST(501, 2)), F32(501), NULL),
            "scatterND: takes 1002 multiply-adds; expected at most 1000");
    REFUSES(wnnGraphBuilderGatherND(b, F32(1, 1), operand(WNNDataType_Int32, LIST(501, 2)), NULL),
            "gatherND: takes 1002 multiply-adds; expected at most 1000");
    REFUSES(wnnGraphBuilderMaxPool2d(b, F32(1, 1, 40, 40), NULL),
            "maxPool2d: takes 1600 multiply-adds; expected at most 1000");
    WNNOperand out[3];
    REFUSES(wnnGraphBuilderGru(b, F32(10, 2, 3), F32(1, 12, 3), F32(1, 12, 4), 10, 4, NULL, out),
            "gru: takes 1680 multiply-adds; expected at most 1000");
    REFUSES(
        wnnGraphBuilderLstmCell(b, F32(10, 3), F32(16, 3), F32(16, 4), F32(10, 4), F32(10, 4), 4, NULL, out),
        "lstmCell: takes 1120 multiply-adds; expected at most 1000");
    end();

    limits = (WNNLimits){0};
    limits.maxOperands = 3;
    begin(&limits);
    WNNOperand x = F32(2);
    ACCEPTS(wnnGraphBuilderRelu(b, x, NULL), Float32, LIST(2));
    REFUSES_AS(OutOfMemory, wnnGraphBuilderSplit(b, x, 2, NULL, 2, out),
               "the builder has its limit of 3 operands");
    ACCEPTS(wnnGraphBuilderRelu(b, x, NULL), Float32, LIST(2));
    REFUSES_AS(OutOfMemory, wnnGraphBuilderRelu(b, x, NULL), "the builder has its limit of 3 operands");
    REFUSES_AS(OutOfMemory, INPUT(Int8, EMPTY), "the builder has its limit of 3 operands");
    REFUSES_AS(OutOfMemory, CONSTANT(Int8, LIST(1), data, 1), "the builder has its limit of 3 operands");
    REFUSES_AS(OutOfMemory, wnnGraphBuilderScalarConstant(b, WNNDataType_Int8, I(1)),
               "the builder has its limit of 3 operands");
    REFUSES_AS(OutOfMemory, RANGE(I(0), I(2), I(1), Int8), "the builder has its limit of 3 operands");
    end();

    limits = (WNNLimits){0};
    limits.maxOperators = 1;
    begin(&limits);
    x = F32(1, 1, 1, 1);
    conv = (WNNConv2dOptions)WNN_CONV2D_OPTIONS_INIT;
    conv.activation = wnnGraphBuilderActivationRelu(b, NULL);
    REFUSES_AS(OutOfMemory, wnnGraphBuilderConv2d(b, x, x, &conv),
               "the builder has its limit of 1 operators");
    ACCEPTS(wnnGraphBuilderRelu(b, x, NULL), Float32,
            LIST(1, 1, 1, 1)); // the convolution left nothing behind
    REFUSES_AS(OutOfMemory, wnnGraphBuilderRelu(b, x, NULL), "the builder has its limit of 1 operators");
    end();
}

// A context whose backend lacks some types.
static uint32_t few_types(enum op op, const struct op_row *row)
{
    (void)row;
    return op == WNN_OP_add ? F32 | F16 : UINT32_MAX;
}

static void test_backend_types(void)
{
    struct backend backend = *wnn_backend_find("dummy");
    backend.types = few_types;
    begin_on(&backend, NULL);
    WNNOperand x = I32(2);
    REFUSES(wnnGraphBuilderAdd(b, x, x, NULL),
            "add: a has data type int32; this context supports float32 or float16");
    ACCEPTS(wnnGraphBuilderSub(b, x, x, NULL), Int32, LIST(2));
    end();
}

// ---------------------------------------------------------------------------------------------------------------
// Whose operand, which builder
// ---------------------------------------------------------------------------------------------------------------

static void test_foreign(void)
{
    begin(NULL);
    WNNGraphBuilder own = b, other;
    REQUIRE_EQUAL_INT(wnnContextCreateGraphBuilder(context, &other), WNNStatus_Success);
    b = other;
    WNNOperand foreign = F32(2, 2);
    b = own;
    WNNOperand x = F32(2, 2);
    REFUSES(wnnGraphBuilderAdd(b, x, foreign, NULL), "add: b is an operand of another builder");
    WNNGemmOptions gemm = WNN_GEMM_OPTIONS_INIT;
    gemm.c = foreign;
    REFUSES(wnnGraphBuilderGemm(b, x, x, &gemm), "gemm: c is an operand of another builder");
    REFUSES(wnnGraphBuilderConcat(b, 2, (WNNOperand[]){x, foreign}, 0, NULL),
            "concat: inputs is an operand of another builder");
    REFUSES(wnnGraphBuilderConcat(b, 2, (WNNOperand[]){x, NULL}, 0, NULL), "concat: inputs is NULL");
    REFUSES(wnnGraphBuilderWhere(b, x, NULL, x, NULL), "where: trueValue is NULL");
    wnnGraphBuilderRelease(other);

    // The first error stays; what follows from it adds none.
    REQUIRE(!wnnGraphBuilderAdd(b, x, NULL, NULL));
    REQUIRE(!wnnGraphBuilderRelu(b, NULL, NULL));
    REQUIRE(!wnnGraphBuilderReshape(b, x, LIST(3), NULL));
    WNNError error;
    wnnGraphBuilderGetError(b, &error);
    REQUIRE_EQUAL_VIEW(error.message, "add: b is NULL");
    REQUIRE(wnnGraphBuilderRelu(b, x, NULL));
    wnnGraphBuilderClearError(b);
    wnnGraphBuilderGetError(b, &error);
    REQUIRE_EQUAL_INT(error.status, WNNStatus_Success);
    REQUIRE_EQUAL_VIEW(error.message, "");
    end();
}

static void test_no_builder(void)
{
    WNNOperandDescriptor descriptor = describe(WNNDataType_Int8, EMPTY);
    WNNExternalBytes loan = WNN_EXTERNAL_BYTES_INIT;
    WNNOperand out[3] = {(WNNOperand)&descriptor};
    REQUIRE(!wnnGraphBuilderInput(NULL, view("x"), &descriptor));
    REQUIRE(!wnnGraphBuilderConstant(NULL, &descriptor, "", 1));
    REQUIRE(!wnnGraphBuilderExternalConstant(NULL, &descriptor, &loan));
    REQUIRE(!wnnGraphBuilderExternalConstant(NULL, &descriptor, NULL));
    REQUIRE(!wnnGraphBuilderScalarConstant(NULL, WNNDataType_Int8, I(1)));
    REQUIRE(!wnnGraphBuilderRangeConstant(NULL, I(0), I(1), I(1), WNNDataType_Int8));
    REQUIRE(!wnnGraphBuilderTensorConstant(NULL, NULL));
    REQUIRE(!wnnGraphBuilderAdd(NULL, NULL, NULL, NULL));
    REQUIRE(!wnnGraphBuilderActivationRelu(NULL, NULL));
    REQUIRE_EQUAL_INT(wnnGraphBuilderSplit(NULL, NULL, 3, NULL, 3, out), 0);
    REQUIRE(!out[0]);
    wnnGraphBuilderClearError(NULL);
    WNNError error;
    wnnGraphBuilderGetError(NULL, &error);
    REQUIRE_EQUAL_INT(error.status, WNNStatus_TypeError);
    REQUIRE_EQUAL_VIEW(error.message, "there is no builder");
    REQUIRE_EQUAL_INT(wnnOperandGetDataType(NULL), WNNDataType_Undefined);
    REQUIRE_EQUAL_INT(wnnOperandGetShape(NULL).count, 0);
}

static void test_lost_context(void)
{
    begin(NULL);
    static const float data[1];
    WNNTensorDescriptor descriptor = WNN_TENSOR_DESCRIPTOR_INIT;
    descriptor.dataType = WNNDataType_Float32;
    descriptor.shape = EMPTY;
    WNNTensor tensor;
    REQUIRE_EQUAL_INT(wnnContextCreateConstantTensor(context, &descriptor, data, sizeof data, &tensor),
                      WNNStatus_Success);
    WNNOperand x = F32(1);
    wnnContextDestroy(context);
    wnnGraphBuilderAdd(b, x, x, NULL);
    WNNError error;
    wnnGraphBuilderGetError(b, &error);
    REQUIRE_EQUAL_INT(error.status, WNNStatus_InvalidStateError);
    char lost[128];
    snprintf(lost, sizeof lost, "%.*s", (int)error.message.length, error.message.data);
    REQUIRE_CONTAINS(lost, "the context is lost");
    wnnGraphBuilderClearError(b);
    REFUSES_AS(InvalidStateError, wnnGraphBuilderAdd(b, x, x, NULL), lost);
    REFUSES_AS(InvalidStateError, wnnGraphBuilderInput(b, view(""), NULL), lost);
    REFUSES_AS(InvalidStateError, wnnGraphBuilderConstant(b, NULL, NULL, 0), lost);
    REFUSES_AS(InvalidStateError, wnnGraphBuilderExternalConstant(b, NULL, NULL), lost);
    REFUSES_AS(InvalidStateError, wnnGraphBuilderScalarConstant(b, WNNDataType_Int4, I(1)), lost);
    REFUSES_AS(InvalidStateError, RANGE(I(0), I(0), I(0), Int4), lost);
    REFUSES_AS(InvalidStateError, wnnGraphBuilderActivationRelu(b, NULL), lost);
    // https://www.w3.org/TR/webnn/#api-mlgraphbuilder-constant-tensor looks at the tensor first: it went with
    // the context.
    REQUIRE(!wnnGraphBuilderTensorConstant(b, tensor));
    wnnTensorRelease(tensor);
    end();
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_inputs());
    CASE(test_constants());
    CASE(test_scalars());
    CASE(test_ranges());
    CASE(test_tensors());
    CASE(test_options());
    CASE(test_activations());
    end();
    REQUIRE(!cases_complete() || released == 4);
    CASE(test_limits());
    CASE(test_backend_types());
    CASE(test_foreign());
    CASE(test_no_builder());
    CASE(test_lost_context());
    return cases_end();
}
