// SPDX-License-Identifier: Apache-2.0
//
// The functions of the Vulkan backend against those of the C library in double: float16 for every number
// there is, float32 for numbers of every size; each function alone, and fused with a reduction, whose kernel
// drivers make other code of. Skipped where Vulkan has no device.

#include "conformance/unit/runtime_fixture.h"
#include "lib/half.h"

#include <math.h>

static double exact_gelu(double x)
{
    return isinf(x) ? (x > 0 ? x : -0.0) : x * erfc(-x * M_SQRT1_2) / 2;
}

static double exact_sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

#define STEEPNESS 1.75

static double exact_softplus(double x)
{
    return x > 700 ? x : log1p(exp(x));
}

static double exact_elu(double x)
{
    return x < 0 ? expm1(x) : x;
}

static double exact_hard_swish(double x)
{
    return x <= -3 ? x * 0 : x >= 3 ? x : x * (x + 3) / 6;
}

static double exact_softsign(double x)
{
    return isinf(x) ? copysign(1, x) : x / (1 + fabs(x));
}

static double exact_reciprocal(double x)
{
    return 1 / x;
}

// x / 2^-6, which may leave the range, x / 3, and 7 / x.
static double exact_multiple(double x)
{
    return x * 64;
}

static double exact_third(double x)
{
    return x / 3;
}

static double exact_share(double x)
{
    return 7 / x;
}

// x / 2^127, whose reciprocal is denormal; of float16 numbers x / 2^15.
static double exact_part(double x)
{
    return x / (fabs(x) > 65504 ? 0x1p127 : 0x1p15);
}

static double exact_steep_softplus(double x)
{
    return exact_softplus(STEEPNESS * x) / STEEPNESS;
}

// pow(x, 1.75) and pow(3, x).
static double exact_power(double x)
{
    return pow(x, 1.75);
}

static double exact_exponent(double x)
{
    return pow(3, x);
}

static WNNOperand number(WNNGraphBuilder builder, WNNDataType type, float value)
{
    WNNOperandDescriptor one = WNN_OPERAND_DESCRIPTOR_INIT;
    uint16_t half = wnn_half_from_float(value);
    one.dataType = type;
    return type == WNNDataType_Float16 ? wnnGraphBuilderConstant(builder, &one, &half, sizeof half)
                                       : wnnGraphBuilderConstant(builder, &one, &value, sizeof value);
}

#define UNARY(function, method)                                                                              \
    static WNNOperand function(WNNGraphBuilder builder, WNNOperand x, WNNDataType type)                      \
    {                                                                                                        \
        (void)type;                                                                                          \
        return wnnGraphBuilder##method(builder, x, NULL);                                                    \
    }
UNARY(make_cos, Cos)
UNARY(make_elu, Elu)
UNARY(make_erf, Erf)
UNARY(make_exp, Exp)
UNARY(make_gelu, Gelu)
UNARY(make_hard_swish, HardSwish)
UNARY(make_log, Log)
UNARY(make_reciprocal, Reciprocal)
UNARY(make_sigmoid, Sigmoid)
UNARY(make_sin, Sin)
UNARY(make_softplus, Softplus)
UNARY(make_softsign, Softsign)
UNARY(make_sqrt, Sqrt)
UNARY(make_tan, Tan)
UNARY(make_tanh, Tanh)
#undef UNARY

static WNNOperand make_multiple(WNNGraphBuilder builder, WNNOperand x, WNNDataType type)
{
    return wnnGraphBuilderDiv(builder, x, number(builder, type, 0x1p-6f), NULL);
}

static WNNOperand make_third(WNNGraphBuilder builder, WNNOperand x, WNNDataType type)
{
    return wnnGraphBuilderDiv(builder, x, number(builder, type, 3), NULL);
}

static WNNOperand make_share(WNNGraphBuilder builder, WNNOperand x, WNNDataType type)
{
    return wnnGraphBuilderDiv(builder, number(builder, type, 7), x, NULL);
}

static WNNOperand make_part(WNNGraphBuilder builder, WNNOperand x, WNNDataType type)
{
    float divisor = type == WNNDataType_Float16 ? 0x1p15f : 0x1p127f;
    return wnnGraphBuilderDiv(builder, x, number(builder, type, divisor), NULL);
}

static WNNOperand make_steep_softplus(WNNGraphBuilder builder, WNNOperand x, WNNDataType type)
{
    WNNSoftplusOptions options = WNN_SOFTPLUS_OPTIONS_INIT;
    (void)type;
    options.steepness = STEEPNESS;
    return wnnGraphBuilderSoftplus(builder, x, &options);
}

static WNNOperand make_power(WNNGraphBuilder builder, WNNOperand x, WNNDataType type)
{
    return wnnGraphBuilderPow(builder, x, number(builder, type, 1.75f), NULL);
}

static WNNOperand make_exponent(WNNGraphBuilder builder, WNNOperand x, WNNDataType type)
{
    return wnnGraphBuilderPow(builder, number(builder, type, 3), x, NULL);
}

// Units in the last place that results may differ by, and beyond and below which size of numbers float32 is
// not looked at.
static const struct function {
    const char *name;
    WNNOperand (*make)(WNNGraphBuilder builder, WNNOperand x, WNNDataType type);
    double (*exact)(double x);
    double units, half_units, most, least;
} functions[] = {
    {"cos", make_cos, cos, 8, 0.51, 1000},
    {"elu", make_elu, exact_elu, 3, 0.53, INFINITY},
    {"erf", make_erf, erf, 4, 0.54, INFINITY},
    {"exp", make_exp, exp, 1.5, 0.51, INFINITY},
    {"gelu", make_gelu, exact_gelu, 8, 0.53, 14},
    {"hardSwish", make_hard_swish, exact_hard_swish, 3, 0.51, INFINITY},
    {"log", make_log, log, 1.5, 0.51, INFINITY},
    {"x / 2^-6", make_multiple, exact_multiple, 0.5001, 0.51, INFINITY},
    {"x / 3", make_third, exact_third, 0.5001, 0.51, 1e29, 1e-29},
    {"7 / x", make_share, exact_share, 0.5001, 0.51, 1e29, 1e-29},
    {"x / 2^127", make_part, exact_part, 0.5001, 0.51, INFINITY, 65520},
    {"pow(x, 1.75)", make_power, exact_power, 3, 0.51, INFINITY},
    {"pow(3, x)", make_exponent, exact_exponent, 3, 0.51, INFINITY},
    {"reciprocal", make_reciprocal, exact_reciprocal, 2, 0.51, INFINITY},
    {"sigmoid", make_sigmoid, exact_sigmoid, 4, 0.51, 80},
    {"sin", make_sin, sin, 4, 0.51, 1000},
    {"softplus", make_softplus, exact_softplus, 3, 0.53, 80},
    {"softplus, steep", make_steep_softplus, exact_steep_softplus, 3, 0.53, 45},
    {"softsign", make_softsign, exact_softsign, 2, 0.51, INFINITY},
    {"sqrt", make_sqrt, sqrt, 1, 0.51, INFINITY},
    {"tan", make_tan, tan, 8, 0.51, 1000},
    {"tanh", make_tanh, tanh, 4, 0.51, INFINITY},
};

enum {
    NUMBERS = 1 << 16,
    FUSED = 1 << 9, // of which a kernel for few sums computes functions
};

// The distance of y from what is exact, in units of the last place there; NaN: one is NaN, the other is not.
static double units_between(double y, double exact, bool half)
{
    double most = half ? 65520 : 0x1.ffffffp127;
    int digits = half ? 11 : 24, lowest = half ? -13 : -125, exponent;
    if (isnan(exact))
        return isnan(y) ? 0 : NAN;
    if (fabs(exact) >= most)
        return isinf(y) && (y > 0) == (exact > 0) ? 0 : NAN;
    frexp(exact, &exponent);
    return fabs(y - exact) / ldexp(1, (exponent < lowest ? lowest : exponent) - digits);
}

// Whether float32 is looked at: devices may take denormal numbers for 0.
static bool is_fair(const struct function *function, double x, double exact)
{
    return fabs(x) >= fmax(0x1p-126, function->least) && fabs(x) <= function->most &&
           (fabs(exact) >= 0x1p-120 || isnan(exact)) && (fabs(exact) <= 0x1p120 || fabs(exact) >= 0x1p129);
}

static void test_function(WNNContext context, const struct function *function, WNNDataType type, bool reduces)
{
    static uint16_t halves[NUMBERS], half_results[NUMBERS];
    static float floats[NUMBERS], float_results[NUMBERS];
    bool half = type == WNNDataType_Float16;
    const uint32_t count = reduces ? FUSED : NUMBERS, step = NUMBERS / count;
    size_t size = half ? sizeof halves[0] : sizeof floats[0];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = i * step, bits = number * 65521;
        halves[i] = (uint16_t)number;
        memcpy(&floats[i], &bits, sizeof bits);
        if (isnan(floats[i]))
            floats[i] = (float)number / 1024 - 32;
    }
    WNNGraphBuilder builder = create_builder(context);
    const uint32_t shape[] = {count, 1}, last[] = {1};
    WNNReduceOptions mean = WNN_REDUCE_OPTIONS_INIT;
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type;
    descriptor.shape = (WNNUint32List){shape, 2};
    mean.axes = (WNNUint32List){last, 1};
    WNNOperand x = wnnGraphBuilderInput(builder, view("x"), &descriptor);
    x = reduces ? wnnGraphBuilderReduceMean(builder, x, &mean) : x;
    WNNNamedOperand output = {view("y"), function->make(builder, x, type)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    WNNNamedBuffer from = {view("x"), half ? (void *)halves : floats, count * size, type},
                   to = {view("y"), half ? (void *)half_results : float_results, count * size, type};
    compute_buffers(context, graph, 1, &from, 1, &to);
    double most = 0, limit = half ? function->half_units : function->units;
    for (uint32_t i = 0; i < count; i++) {
        double given = half ? wnn_half_to_float(halves[i]) : floats[i], in = reduces ? given + 0.0 : given,
               exact = function->exact(in), y = half ? wnn_half_to_float(half_results[i]) : float_results[i],
               units = units_between(y, exact, half);
        if (!half && !is_fair(function, in, exact))
            continue;
        if (!(units <= limit)) {
            fprintf(stderr, "%s of the %s %.9g is %.9g; expected %.9g: %.2f units away, %.2f allowed\n",
                    function->name, half ? "float16" : "float32", in, y, exact, units, limit);
            case_fail();
        }
        most = units > most ? units : most;
    }
    printf("%-14s %s%s: %.3f units\n", function->name, half ? "float16" : "float32", reduces ? ", fused" : "",
           most);
    wnnGraphRelease(graph);
    wnnGraphBuilderRelease(builder);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNContextDescriptor descriptor = WNN_CONTEXT_DESCRIPTOR_INIT;
    WNNContext context;
    descriptor.deviceType = WNNDeviceType_GPU;
    if (wnnCreateContext(&descriptor, &context) != WNNStatus_Success)
        return cases_skip("there is no device");
    for (size_t i = 0; i < 2 * sizeof functions / sizeof functions[0]; i++) {
        CASE(test_function(context, &functions[i / 2], WNNDataType_Float32, i % 2));
        CASE(test_function(context, &functions[i / 2], WNNDataType_Float16, i % 2));
    }
    wnnContextRelease(context);
    return cases_end();
}
