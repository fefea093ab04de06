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

void wnn_shader_function(struct shader *shader, const char *prefix, enum op op, const void *attrs,
                         WNNDataType type, char *expression, size_t size)
{
    static const char *const plain[WNN_OP_COUNT] = {
        [WNN_OP_abs] = "magnitude(x)",
        [WNN_OP_ceil] = "ceil_of(x)",
        [WNN_OP_cos] = "sine_of(x, 1)",
        [WNN_OP_erf] = "erf_of(x)",
        [WNN_OP_exp] = "exp_of(x)",
        [WNN_OP_floor] = "floor_of(x)",
        [WNN_OP_gelu] = "gelu_of(x)",
        [WNN_OP_hardSwish] = "hard_swish_of(x)",
        [WNN_OP_identity] = "x",
        [WNN_OP_log] = "log_of(x)",
        [WNN_OP_neg] = "neg(x)",
        [WNN_OP_reciprocal] = "quotient(1.0, x)",
        [WNN_OP_relu] = "relu_of(x)",
        [WNN_OP_roundEven] = "roundEven(x)",
        [WNN_OP_sigmoid] = "sigmoid_of(x)",
        [WNN_OP_sign] = "sign_of(x)",
        [WNN_OP_sin] = "sine_of(x, 0)",
        [WNN_OP_softsign] = "softsign_of(x)",
        [WNN_OP_sqrt] = "sqrt_of(x)",
        [WNN_OP_tan] = "tan_of(x)",
        [WNN_OP_tanh] = "tanh_of(x)",
    };
    // Where the result is to be float16: float16 numbers are never denormal floats.
    static const char *const halves[WNN_OP_COUNT] = {
        [WNN_OP_cos] = "sine_half(x, 1)",
        [WNN_OP_erf] = "erf_half(x)",
        [WNN_OP_exp] = "exp_half(x)",
        [WNN_OP_gelu] = "gelu_half(x)",
        [WNN_OP_hardSwish] = "hard_swish_half(x)",
        [WNN_OP_log] = "log_half(x)",
        [WNN_OP_reciprocal] = "1.0 / x",
        [WNN_OP_relu] = "kept_nan(x, x < 0.0 ? 0.0 : x)",
        [WNN_OP_sigmoid] = "sigmoid_half(x)",
        [WNN_OP_sin] = "sine_half(x, 0)",
        [WNN_OP_softsign] = "softsign_half(x)",
        [WNN_OP_sqrt] = "sqrt_half(x)",
        [WNN_OP_tan] = "tan_half(x)",
        [WNN_OP_tanh] = "tanh_half(x)",
    };
    bool half = type == WNNDataType_Float16;
    char a[64], b[64];
    switch (op) {
    case WNN_OP_clamp: {
        const WNNClampOptions *options = attrs;
        float_constant(shader, prefix, "LEAST", bound(options->minValue, -INFINITY), type, a);
        float_constant(shader, prefix, "GREATEST", bound(options->maxValue, INFINITY), type, b);
        snprintf(expression, size, half ? "within_half(x, %s, %s)" : "within(x, %s, %s)", a, b);
        break;
    }
    case WNN_OP_elu:
        float_constant(shader, prefix, "ALPHA", ((const WNNEluOptions *)attrs)->alpha, type, a);
        snprintf(expression, size, half ? "elu_half(x, %s)" : "elu_of(x, %s)", a);
        break;
    case WNN_OP_hardSigmoid:
        float_constant(shader, prefix, "ALPHA", ((const WNNHardSigmoidOptions *)attrs)->alpha, type, a);
        float_constant(shader, prefix, "BETA", ((const WNNHardSigmoidOptions *)attrs)->beta, type, b);
        snprintf(expression, size,
                 half ? "within_half(linear_half(x, %s, %s), 0.0, 1.0)"
                      : "within(linear_of(x, %s, %s), 0.0, 1.0)",
                 a, b);
        break;
    case WNN_OP_leakyRelu:
        float_constant(shader, prefix, "ALPHA", ((const WNNLeakyReluOptions *)attrs)->alpha, type, a);
        snprintf(expression, size, half ? "x < 0.0 ? x * %s : x" : "prelu_of(x, %s)", a);
        break;
    case WNN_OP_linear:
        float_constant(shader, prefix, "ALPHA", ((const WNNLinearOptions *)attrs)->alpha, type, a);
        float_constant(shader, prefix, "BETA", ((const WNNLinearOptions *)attrs)->beta, type, b);
        snprintf(expression, size, half ? "linear_half(x, %s, %s)" : "linear_of(x, %s, %s)", a, b);
        break;
    case WNN_OP_softplus:
        float_constant(shader, prefix, "ALPHA", ((const WNNSoftplusOptions *)attrs)->steepness, type, a);
        snprintf(expression, size, half ? "softplus_half(x, %s)" : "softplus_of(x, %s)", a);
        break;
    default:
        snprintf(expression, size, "%s", half && halves[op] ? halves[op] : plain[op] ? plain[op] : "x");
        break;
    }
}
