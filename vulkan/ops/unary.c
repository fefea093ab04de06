// SPDX-License-Identifier: Apache-2.0
//
// Operators of one operand, and activations, as expressions in GLSL.

#include "vulkan/program/shader.h"

#include <math.h>
#include <stdio.h>

static void float_constant(struct shader *shader, const char *prefix, const char *name, double value,
                           WNNDataType type, char text[64])
{
    snprintf(text, 64, "%s_%s", prefix, name);
    wnn_shader_float(shader, text, wnn_round_to_dtype(value, type));
}

// A bound that is not given, or NaN, is none.
static double bound(WNNNumber number, double none)
{
    double value = number.type == WNNNumberType_Undefined ? none : wnn_number_double(number);
    return isnan(value) ? none : value;
}

// In x and the constants of the attributes, which stand where the text has %s.
struct function {
    const char *text;
    const char *half; // where the result is to be float16, which is never a denormal float; or NULL
};

static const struct function abs_row = {"magnitude(x)", NULL};
static const struct function ceil_row = {"ceil_of(x)", NULL};
static const struct function clamp_row = {"within(x, %s, %s)", "within_half(x, %s, %s)"};
static const struct function cos_row = {"sine_of(x, 1)", "sine_half(x, 1)"};
static const struct function elu_row = {"elu_of(x, %s)", "elu_half(x, %s)"};
static const struct function erf_row = {"erf_of(x)", "erf_half(x)"};
static const struct function exp_row = {"exp_of(x)", "exp_half(x)"};
static const struct function floor_row = {"floor_of(x)", NULL};
static const struct function gelu_row = {"gelu_of(x)", "gelu_half(x)"};
static const struct function hardSigmoid_row = {"within(linear_of(x, %s, %s), 0.0, 1.0)",
                                                "within_half(linear_half(x, %s, %s), 0.0, 1.0)"};
static const struct function hardSwish_row = {"hard_swish_of(x)", "hard_swish_half(x)"};
static const struct function isInfinite_row = {"uint(is_inf(x))", NULL};
static const struct function isNaN_row = {"uint(is_nan(x))", NULL};
static const struct function leakyRelu_row = {"prelu_of(x, %s)", "x < 0.0 ? x * %s : x"};
static const struct function linear_row = {"linear_of(x, %s, %s)", "linear_half(x, %s, %s)"};
static const struct function log_row = {"log_of(x)", "log_half(x)"};
static const struct function logicalNot_row = {"uint(x == 0u)", NULL};
static const struct function neg_row = {"neg(x)", NULL};
static const struct function reciprocal_row = {"quotient(1.0, x)", "1.0 / x"};
static const struct function relu_row = {"relu_of(x)", "kept_nan(x, x < 0.0 ? 0.0 : x)"};
static const struct function roundEven_row = {"roundEven(x)", NULL};
static const struct function sigmoid_row = {"sigmoid_of(x)", "sigmoid_half(x)"};
static const struct function sign_row = {"sign_of(x)", NULL};
static const struct function sin_row = {"sine_of(x, 0)", "sine_half(x, 0)"};
static const struct function softplus_row = {"softplus_of(x, %s)", "softplus_half(x, %s)"};
static const struct function softsign_row = {"softsign_of(x)", "softsign_half(x)"};
static const struct function sqrt_row = {"sqrt_of(x)", "sqrt_half(x)"};
static const struct function tan_row = {"tan_of(x)", "tan_half(x)"};
static const struct function tanh_row = {"tanh_of(x)", "tanh_half(x)"};

static const struct function *const functions[WNN_OP_COUNT] = {
#define OP(...)
#define OP_UNARY(id, ...) [WNN_OP_##id] = &id##_row,
#define OP_ACTIVATION     OP_UNARY
#include "ops/ops.def"
};

void wnn_shader_function(struct shader *shader, const char *prefix, enum op op, const void *attrs,
                         WNNDataType type, char *expression, size_t size)
{
    char a[64] = "", b[64] = "";
    switch (op) {
    case WNN_OP_clamp:
        float_constant(shader, prefix, "LEAST", bound(((const WNNClampOptions *)attrs)->minValue, -INFINITY),
                       type, a);
        float_constant(shader, prefix, "GREATEST",
                       bound(((const WNNClampOptions *)attrs)->maxValue, INFINITY), type, b);
        break;
    case WNN_OP_elu:
        float_constant(shader, prefix, "ALPHA", ((const WNNEluOptions *)attrs)->alpha, type, a);
        break;
    case WNN_OP_hardSigmoid:
        float_constant(shader, prefix, "ALPHA", ((const WNNHardSigmoidOptions *)attrs)->alpha, type, a);
        float_constant(shader, prefix, "BETA", ((const WNNHardSigmoidOptions *)attrs)->beta, type, b);
        break;
    case WNN_OP_leakyRelu:
        float_constant(shader, prefix, "ALPHA", ((const WNNLeakyReluOptions *)attrs)->alpha, type, a);
        break;
    case WNN_OP_linear:
        float_constant(shader, prefix, "ALPHA", ((const WNNLinearOptions *)attrs)->alpha, type, a);
        float_constant(shader, prefix, "BETA", ((const WNNLinearOptions *)attrs)->beta, type, b);
        break;
    case WNN_OP_softplus:
        float_constant(shader, prefix, "ALPHA", ((const WNNSoftplusOptions *)attrs)->steepness, type, a);
        break;
    default:
        break;
    }
    const struct function *function = functions[op];
    bool half = type == WNNDataType_Float16 && function->half;
    snprintf(expression, size, half ? function->half : function->text, a, b);
}
