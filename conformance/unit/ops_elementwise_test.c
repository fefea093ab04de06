// SPDX-License-Identifier: Apache-2.0
//
// Validation of the operators that work element by element.

#include "conformance/unit/validation.h"

typedef WNNOperand (*binary)(WNNGraphBuilder builder, WNNOperand x, WNNOperand y,
                             const WNNOperatorOptions *options);

static const struct {
    const char *name;
    binary call;
    bool logical;  // of uint8
    bool compares; // the result is uint8
} binaries[] = {
    {"add", wnnGraphBuilderAdd, false, false},
    {"sub", wnnGraphBuilderSub, false, false},
    {"mul", wnnGraphBuilderMul, false, false},
    {"div", wnnGraphBuilderDiv, false, false},
    {"max", wnnGraphBuilderMax, false, false},
    {"min", wnnGraphBuilderMin, false, false},
    {"pow", wnnGraphBuilderPow, false, false},
    {"modulusFloor", wnnGraphBuilderModulusFloor, false, false},
    {"modulusTruncate", wnnGraphBuilderModulusTruncate, false, false},
    {"equal", wnnGraphBuilderEqual, false, true},
    {"notEqual", wnnGraphBuilderNotEqual, false, true},
    {"greater", wnnGraphBuilderGreater, false, true},
    {"greaterOrEqual", wnnGraphBuilderGreaterOrEqual, false, true},
    {"lesser", wnnGraphBuilderLesser, false, true},
    {"lesserOrEqual", wnnGraphBuilderLesserOrEqual, false, true},
    {"logicalAnd", wnnGraphBuilderLogicalAnd, true, true},
    {"logicalOr", wnnGraphBuilderLogicalOr, true, true},
    {"logicalXor", wnnGraphBuilderLogicalXor, true, true},
};

static void test_binary(void)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++) {
        binary call = binaries[i].call;
        WNNDataType in = binaries[i].logical ? WNNDataType_Uint8 : WNNDataType_Float32;
        WNNDataType out = binaries[i].compares ? WNNDataType_Uint8 : in;
        const struct {
            WNNUint32List a, b, result;
        } shapes[] = {
            {EMPTY, EMPTY, EMPTY},
            {EMPTY, LIST(2, 3), LIST(2, 3)},
            {LIST(2, 3), EMPTY, LIST(2, 3)},
            {LIST(2, 3), LIST(3), LIST(2, 3)},
            {LIST(2, 1), LIST(1, 3), LIST(2, 3)},
            {LIST(4, 1, 3), LIST(2, 1), LIST(4, 2, 3)},
            {LIST(1, 2, 1, 2, 1, 2, 1, 2), LIST(3, 1, 3, 1, 3, 1, 3, 1), LIST(3, 2, 3, 2, 3, 2, 3, 2)},
        };
        for (size_t j = 0; j < sizeof shapes / sizeof *shapes; j++)
            require_accepted(call(b, operand(in, shapes[j].a), operand(in, shapes[j].b), NULL),
                             binaries[i].name, out, shapes[j].result, __LINE__);
        char message[128];
        snprintf(message, sizeof message, "%s: a [2, 3] and b [2, 4] cannot be broadcast together",
                 binaries[i].name);
        REFUSES(call(b, operand(in, LIST(2, 3)), operand(in, LIST(2, 4)), NULL), message);
        snprintf(message, sizeof message, "%s: a [3, 2] and b [3] cannot be broadcast together",
                 binaries[i].name);
        REFUSES(call(b, operand(in, LIST(3, 2)), operand(in, LIST(3)), NULL), message);
        snprintf(message, sizeof message,
                 "%s: output has shape [65536, 65536]; expected at most 2147483647 elements",
                 binaries[i].name);
        REFUSES(call(b, operand(in, LIST(65536, 1)), operand(in, LIST(1, 65536)), NULL), message);
    }
    ACCEPTS(wnnGraphBuilderNot(b, U8(2), NULL), Uint8, LIST(2));
    ACCEPTS(wnnGraphBuilderAdd(b, I8(BIG), SCALAR(Int8), NULL), Int8, LIST(BIG));
}

static void test_prelu(void)
{
    ACCEPTS(wnnGraphBuilderPrelu(b, F32(2, 3), F32(3), NULL), Float32, LIST(2, 3));
    ACCEPTS(wnnGraphBuilderPrelu(b, F32(3), F32(2, 1), NULL), Float32, LIST(2, 3));
    ACCEPTS(wnnGraphBuilderPrelu(b, I32(3), SCALAR(Int32), NULL), Int32, LIST(3));
    REFUSES(wnnGraphBuilderPrelu(b, F32(2, 3), F32(2), NULL),
            "prelu: input [2, 3] and slope [2] cannot be broadcast together");
    REFUSES(wnnGraphBuilderPrelu(b, F32(2), F16(2), NULL),
            "prelu: slope has data type float16; expected float32, the type of input");
}

static void test_where(void)
{
    ACCEPTS(wnnGraphBuilderWhere(b, U8(2, 1), F32(3), SCALAR(Float32), NULL), Float32, LIST(2, 3));
    ACCEPTS(wnnGraphBuilderWhere(b, U8(4, 2, 3), F32(3), F32(2, 1), NULL), Float32, LIST(4, 2, 3));
    ACCEPTS(wnnGraphBuilderWhere(b, SCALAR(Uint8), SCALAR(Int64), SCALAR(Int64), NULL), Int64, EMPTY);
    REFUSES(wnnGraphBuilderWhere(b, U8(2), F32(2), F32(3), NULL),
            "where: trueValue [2] and falseValue [3] cannot be broadcast together");
    REFUSES(wnnGraphBuilderWhere(b, U8(4), F32(2, 3), F32(3), NULL),
            "where: condition [4] and the values [2, 3] cannot be broadcast together");
    REFUSES(wnnGraphBuilderWhere(b, F32(2), F32(2), F32(2), NULL),
            "where: condition has data type float32; expected uint8");
    REFUSES(wnnGraphBuilderWhere(b, U8(2), F32(2), F16(2), NULL),
            "where: falseValue has data type float16; expected float32, the type of trueValue");
}

static void test_cast(void)
{
    ACCEPTS(wnnGraphBuilderCast(b, F32(2, 3), WNNDataType_Int8, NULL), Int8, LIST(2, 3));
    ACCEPTS(wnnGraphBuilderCast(b, SCALAR(Uint64), WNNDataType_Float16, NULL), Float16, EMPTY);
    REFUSES(wnnGraphBuilderCast(b, F32(1), WNNDataType_Int4, NULL),
            "cast: dataType is int4; expected a type of 8 bits or more");
    REFUSES(wnnGraphBuilderCast(b, F32(1), WNNDataType_Uint4, NULL),
            "cast: dataType is uint4; expected a type of 8 bits or more");
    REFUSES(wnnGraphBuilderCast(b, F32(1), WNNDataType_Undefined, NULL),
            "cast: dataType is 0, which is not a data type");
    REFUSES(wnnGraphBuilderCast(b, F32(1), (WNNDataType)11, NULL),
            "cast: dataType is 11, which is not a data type");
    REFUSES(wnnGraphBuilderCast(b, IN(Int4, 2), WNNDataType_Int8, NULL),
            "cast: input has data type int4; expected float32, float16, int32, uint32, int64, uint64, int8 "
            "or uint8");
    // The size of a result in bytes counts, not only that of the input.
    REFUSES(wnnGraphBuilderCast(b, I8(BIG), WNNDataType_Int64, NULL),
            "cast: output of int64 [2147483647] has 17179869176 bytes; expected at most 2147483647");
}

static const WNNClampOptions clamp_defaults = WNN_CLAMP_OPTIONS_INIT;
static WNNClampOptions clamp_options;
#define CLAMP(input, low, high)                                                                              \
    (clamp_options = clamp_defaults, clamp_options.minValue = (low), clamp_options.maxValue = (high),        \
     wnnGraphBuilderClamp(b, (input), &clamp_options))

static void test_clamp(void)
{
    const WNNNumber none = WNN_NUMBER_INIT;
    ACCEPTS(wnnGraphBuilderClamp(b, F32(2), NULL), Float32, LIST(2));
    ACCEPTS(CLAMP(SCALAR(Uint64), none, none), Uint64, EMPTY);
    ACCEPTS(CLAMP(F32(2), wnnNumberFloat64(1), wnnNumberInt64(1)), Float32, LIST(2));
    ACCEPTS(CLAMP(F32(2), wnnNumberFloat64(INFINITY), none), Float32, LIST(2));
    ACCEPTS(CLAMP(F32(2), wnnNumberFloat64(NAN), wnnNumberFloat64(-INFINITY)), Float32, LIST(2));
    ACCEPTS(CLAMP(F32(2), wnnNumberFloat64(5), wnnNumberFloat64(NAN)), Float32, LIST(2));
    // Bounds are compared after their conversion.
    ACCEPTS(CLAMP(I32(2), wnnNumberFloat64(3.7), wnnNumberFloat64(3.2)), Int32, LIST(2));
    ACCEPTS(CLAMP(U8(2), wnnNumberInt64(-1), wnnNumberInt64(-2)), Uint8, LIST(2));
    ACCEPTS(CLAMP(IN(Uint64, 2), wnnNumberUint64(UINT64_MAX), none), Uint64, LIST(2));
    REFUSES(CLAMP(F32(2), wnnNumberFloat64(1), wnnNumberFloat64(0.5)),
            "clamp: minValue 1 is above maxValue 0.5");
    REFUSES(CLAMP(I32(2), wnnNumberInt64(2), wnnNumberInt64(1)), "clamp: minValue 2 is above maxValue 1");
    REFUSES(CLAMP(IN(Uint64, 2), wnnNumberUint64(UINT64_MAX), wnnNumberUint64(UINT64_MAX - 1)),
            "clamp: minValue 1.84467e+19 is above maxValue 1.84467e+19");
    REFUSES(CLAMP(F32(2), wnnNumberInt64(0), ((WNNNumber){(WNNNumberType)4, {0}})),
            "clamp: maxValue has number type 4, which does not exist");
    REFUSES(CLAMP(F32(2), ((WNNNumber){(WNNNumberType)-1, {0}}), none),
            "clamp: minValue has number type -1, which does not exist");
}

// One option number of each operator that has some: it must be finite.
static void test_numbers(void)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const char *const words[] = {"nan", "inf", "-inf"};
    for (unsigned i = 0; i < 3; i++) {
        WNNEluOptions elu = WNN_ELU_OPTIONS_INIT;
        WNNLeakyReluOptions leaky = WNN_LEAKY_RELU_OPTIONS_INIT;
        WNNHardSigmoidOptions hard = WNN_HARD_SIGMOID_OPTIONS_INIT;
        WNNLinearOptions linear = WNN_LINEAR_OPTIONS_INIT;
        WNNSoftplusOptions softplus = WNN_SOFTPLUS_OPTIONS_INIT;
        elu.alpha = leaky.alpha = hard.beta = linear.alpha = softplus.steepness = bad[i];
        WNNOperand x = F32(2);
        char message[96];
        snprintf(message, sizeof message, "elu: alpha is %s; expected a finite number", words[i]);
        REFUSES(wnnGraphBuilderElu(b, x, &elu), message);
        snprintf(message, sizeof message, "leakyRelu: alpha is %s; expected a finite number", words[i]);
        REFUSES(wnnGraphBuilderLeakyRelu(b, x, &leaky), message);
        snprintf(message, sizeof message, "hardSigmoid: beta is %s; expected a finite number", words[i]);
        REFUSES(wnnGraphBuilderHardSigmoid(b, x, &hard), message);
        snprintf(message, sizeof message, "linear: alpha is %s; expected a finite number", words[i]);
        REFUSES(wnnGraphBuilderLinear(b, x, &linear), message);
        snprintf(message, sizeof message, "softplus: steepness is %s; expected a finite number", words[i]);
        REFUSES(wnnGraphBuilderSoftplus(b, x, &softplus), message);
    }
    WNNSoftplusOptions softplus = WNN_SOFTPLUS_OPTIONS_INIT;
    softplus.steepness = 0;
    REFUSES(wnnGraphBuilderSoftplus(b, F32(2), &softplus),
            "softplus: steepness is 0; expected a number that is not 0 in float32");
    softplus.steepness = 1e-30; // not 0 until it is rounded
    ACCEPTS(wnnGraphBuilderSoftplus(b, F32(2), &softplus), Float32, LIST(2));
    REFUSES(wnnGraphBuilderSoftplus(b, F16(2), &softplus),
            "softplus: steepness is 1e-30; expected a number that is not 0 in float16");
    softplus.steepness = -2;
    ACCEPTS(wnnGraphBuilderSoftplus(b, F32(2), &softplus), Float32, LIST(2));
}

static void test_quantize(void)
{
    WNNOperand x = F32(4, 6);
    ACCEPTS(wnnGraphBuilderQuantizeLinear(b, x, F32(1, 1), I8(1, 1), NULL), Int8, LIST(4, 6));
    ACCEPTS(wnnGraphBuilderQuantizeLinear(b, x, F32(2, 3), IN(Uint4, 2, 3), NULL), Uint4, LIST(4, 6));
    ACCEPTS(wnnGraphBuilderQuantizeLinear(b, SCALAR(Float16), SCALAR(Float16), SCALAR(Int32), NULL), Int32,
            EMPTY);
    ACCEPTS(wnnGraphBuilderDequantizeLinear(b, IN(Int4, 3, 5), F16(3, 1), IN(Int4, 3, 1), NULL), Float16,
            LIST(3, 5));
    REFUSES(wnnGraphBuilderQuantizeLinear(b, x, F32(6), I8(6), NULL),
            "quantizeLinear: scale [6] has rank 1; expected 2, the rank of input [4, 6]");
    REFUSES(wnnGraphBuilderQuantizeLinear(b, x, F32(4, 1), I8(1, 1), NULL),
            "quantizeLinear: zeroPoint has shape [1, 1]; expected [4, 1], the shape of scale");
    REFUSES(wnnGraphBuilderQuantizeLinear(b, x, F32(4, 1), I8(4), NULL),
            "quantizeLinear: zeroPoint has shape [4]; expected [4, 1], the shape of scale");
    REFUSES(wnnGraphBuilderQuantizeLinear(b, x, F32(2, 4), I8(2, 4), NULL),
            "quantizeLinear: scale [2, 4] does not divide input [4, 6]: dimension 1");
    REFUSES(wnnGraphBuilderQuantizeLinear(b, x, F32(8, 6), I8(8, 6), NULL),
            "quantizeLinear: scale [8, 6] does not divide input [4, 6]: dimension 0");
    REFUSES(wnnGraphBuilderDequantizeLinear(b, U8(2), F32(2, 1), U8(2, 1), NULL),
            "dequantizeLinear: scale [2, 1] has rank 2; expected 1, the rank of input [2]");
    REFUSES(wnnGraphBuilderDequantizeLinear(b, U8(2), F32(2), I8(2), NULL),
            "dequantizeLinear: zeroPoint has data type int8; expected uint8, the type of input");
    REFUSES(
        wnnGraphBuilderDequantizeLinear(b, IN(Int64, 2), F32(2), IN(Int64, 2), NULL),
        "dequantizeLinear: input has data type int64; expected int32, uint32, int8, uint8, int4 or uint4");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_binary());
    CASE(test_prelu());
    CASE(test_where());
    CASE(test_cast());
    CASE(test_clamp());
    CASE(test_numbers());
    CASE(test_quantize());
    end();
    return cases_end();
}
