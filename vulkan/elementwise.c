// SPDX-License-Identifier: Apache-2.0
//
// Operators whose output elements depend on the input elements at the same place: an expression each.

#include "vulkan/operators.h"

#include <stdio.h>
#include <string.h>

static bool is_float(const struct tensor *tensor)
{
    return wnn_dtype_is_float(tensor->type);
}

// Loads element i, by way of the map, into a variable of the input's name.
static void load(struct shader *shader, char *loads, size_t size, const char *name,
                 const struct tensor *tensor, enum form form, const struct shape *output)
{
    size_t length = strlen(loads);
    wnn_shader_broadcast(shader, name, &tensor->shape, output);
    wnn_shader_input(shader, name, tensor, form);
    const char *type = form == FORM_VALUE                   ? wnn_shader_type(tensor->type)
                       : wnn_dtype_bits(tensor->type) == 64 ? "uvec2"
                                                            : "uint";
    snprintf(loads + length, size - length, "%s %s = %s_at(%s_index(i)); ", type, name, name, name);
}

// ---------------------------------------------------------------------------------------------------------------
// One input
// ---------------------------------------------------------------------------------------------------------------

static void unary(struct lowering *lowering, enum op op, const void *attrs, const struct tensor *in,
                  const struct tensor *out, const struct epilogue *epilogue)
{
    struct shader shader;
    char loads[256] = "", value[256];
    wnn_shader_begin(&shader, lowering, "elementwise", out->count);
    load(&shader, loads, sizeof loads, "x", in, FORM_VALUE, &out->shape);
    wnn_shader_output(&shader, out, FORM_VALUE, epilogue);
    if (op == WNN_OP_clamp && !is_float(in)) {
        wnn_shader_value(&shader, "LEAST", in->type, ((const WNNClampOptions *)attrs)->minValue);
        wnn_shader_value(&shader, "GREATEST", in->type, ((const WNNClampOptions *)attrs)->maxValue);
        snprintf(value, sizeof value, "within(x, LEAST, GREATEST)");
    } else if (op == WNN_OP_isNaN) {
        snprintf(value, sizeof value, "uint(is_nan(x))");
    } else if (op == WNN_OP_isInfinite) {
        snprintf(value, sizeof value, "uint(is_inf(x))");
    } else if (op == WNN_OP_logicalNot) {
        snprintf(value, sizeof value, "uint(x == 0u)");
    } else {
        wnn_shader_function(&shader, "OWN", op, attrs, in->type, value, sizeof value);
    }
    wnn_shader_define(&shader, "LOADS", "%s", loads);
    wnn_shader_define(&shader, "VALUE", "%s", value);
    wnn_shader_end(&shader);
}

void wnn_lower_unary(struct lowering *lowering)
{
    const struct node *node = lowering->node;
    unary(lowering, (enum op)node->op, node->attrs, &lowering->in[0], &lowering->out[0], lowering->fused);
}

void wnn_lower_activation(struct lowering *lowering, const struct activation *activation,
                          const struct tensor *tensor)
{
    if (activation->op == WNN_OP_softmax || activation->op == WNN_OP_softmax2d)
        wnn_lower_last_softmax(lowering, tensor);
    else
        unary(lowering, (enum op)activation->op, activation->attrs, tensor, tensor, NULL);
}

// ---------------------------------------------------------------------------------------------------------------
// Several inputs
// ---------------------------------------------------------------------------------------------------------------

static const char *const binaries[WNN_OP_COUNT] = {
    [WNN_OP_add] = "add(a, b)",
    [WNN_OP_sub] = "sub(a, b)",
    [WNN_OP_mul] = "mul(a, b)",
    [WNN_OP_div] = "div(a, b)",
    [WNN_OP_max] = "greatest(a, b)",
    [WNN_OP_min] = "least(a, b)",
    [WNN_OP_pow] = "power(a, b)",
    [WNN_OP_prelu] = "prelu_of(a, b)",
    [WNN_OP_equal] = "uint(equal(a, b))",
    [WNN_OP_notEqual] = "uint(!equal(a, b))",
    [WNN_OP_greater] = "uint(less(b, a))",
    [WNN_OP_greaterOrEqual] = "uint(less(b, a) || equal(a, b))",
    [WNN_OP_lesser] = "uint(less(a, b))",
    [WNN_OP_lesserOrEqual] = "uint(less(a, b) || equal(a, b))",
    [WNN_OP_logicalAnd] = "uint(a != 0u && b != 0u)",
    [WNN_OP_logicalOr] = "uint(a != 0u || b != 0u)",
    [WNN_OP_logicalXor] = "uint((a != 0u) != (b != 0u))",
};

void wnn_lower_binary(struct lowering *lowering)
{
    const struct tensor *out = &lowering->out[0];
    struct shader shader;
    char loads[256] = "";
    wnn_shader_begin(&shader, lowering, "elementwise", out->count);
    load(&shader, loads, sizeof loads, "a", &lowering->in[0], FORM_VALUE, &out->shape);
    load(&shader, loads, sizeof loads, "b", &lowering->in[1], FORM_VALUE, &out->shape);
    wnn_shader_output(&shader, out, FORM_VALUE, lowering->fused);
    wnn_shader_define(&shader, "LOADS", "%s", loads);
    wnn_shader_define(&shader, "VALUE", "%s", binaries[lowering->node->op]);
    wnn_shader_end(&shader);
}

void wnn_lower_where(struct lowering *lowering)
{
    const struct tensor *out = &lowering->out[0];
    struct shader shader;
    char loads[256] = "";
    wnn_shader_begin(&shader, lowering, "elementwise", out->count);
    load(&shader, loads, sizeof loads, "c", &lowering->in[0], FORM_VALUE, &out->shape);
    load(&shader, loads, sizeof loads, "a", &lowering->in[1], FORM_BITS, &out->shape);
    load(&shader, loads, sizeof loads, "b", &lowering->in[2], FORM_BITS, &out->shape);
    wnn_shader_output(&shader, out, FORM_BITS, NULL);
    wnn_shader_define(&shader, "LOADS", "%s", loads);
    wnn_shader_define(&shader, "VALUE", "c != 0u ? a : b");
    wnn_shader_end(&shader);
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias, along one axis.
void wnn_lower_batch_normalization(struct lowering *lowering)
{
    const WNNBatchNormalizationOptions *options = lowering->node->attrs;
    static const char *const names[5] = {"x", "mean", "variance", "scale", "bias"};
    const struct tensor *out = &lowering->out[0];
    struct shader shader;
    char loads[512] = "";
    size_t length = 0;
    wnn_shader_begin(&shader, lowering, "elementwise", out->count);
    int64_t steps[WNN_MAX_RANK] = {0};
    steps[options->axis] = 1;
    wnn_shader_map(&shader, "axis", out->shape.rank, out->shape.dim, steps, 0);
    for (unsigned i = 0; i < 5; i++) {
        if (!lowering->in[i].region.buffer) {
            length += (size_t)snprintf(loads + length, sizeof loads - length, "float %s = %s; ", names[i],
                                       i == 3 ? "1.0" : "-0.0");
            continue;
        }
        wnn_shader_input(&shader, names[i], &lowering->in[i], FORM_VALUE);
        length += (size_t)snprintf(loads + length, sizeof loads - length, "float %s = %s_at(%s); ", names[i],
                                   names[i], i == 0 ? "i" : "axis_index(i)");
    }
    wnn_shader_output(&shader, out, FORM_VALUE, lowering->fused);
    wnn_shader_float(&shader, "EPSILON", options->epsilon);
    wnn_shader_define(&shader, "LOADS", "%s", loads);
    wnn_shader_define(&shader, "VALUE",
                      "normalised(x, vec4(mean, 0.0, inverse_root(sum2(vec2(variance, 0.0), vec2(EPSILON, "
                      "0.0)))), scale, bias)");
    wnn_shader_end(&shader);
}

// ---------------------------------------------------------------------------------------------------------------
// Between data types
// ---------------------------------------------------------------------------------------------------------------

static const char *conversion(WNNDataType type)
{
    switch (type) {
    case WNNDataType_Float32:
    case WNNDataType_Float16:
        return "float_of(x)";
    case WNNDataType_Int64:
        return "i64_of(x)";
    case WNNDataType_Uint64:
        return "u64_of(x)";
    case WNNDataType_Int32:
        return "int_of(x, -2147483648.0, 2147483648.0)";
    case WNNDataType_Int8:
        return "int_of(x, -128.0, 127.0)";
    case WNNDataType_Int4:
        return "int_of(x, -8.0, 7.0)";
    case WNNDataType_Uint32:
        return "uint_of(x, 4294967296.0)";
    case WNNDataType_Uint8:
        return "uint_of(x, 255.0)";
    default:
        return "uint_of(x, 15.0)";
    }
}

void wnn_lower_convert(struct lowering *lowering, const struct tensor *from, const struct tensor *to)
{
    struct shader shader;
    enum form form = from->type == to->type ? FORM_BITS : FORM_VALUE;
    wnn_shader_begin(&shader, lowering, "elementwise", to->count);
    wnn_shader_input(&shader, "x", from, form);
    wnn_shader_output(&shader, to, form, NULL);
    if (is_float(from) && !is_float(to) && wnn_dtype_bits(to->type) == 64)
        wnn_shader_text(&shader, "#define trunc64\n");
    wnn_shader_define(&shader, "LOADS", "%s x = x_at(i);",
                      form == FORM_VALUE                 ? wnn_shader_type(from->type)
                      : wnn_dtype_bits(from->type) == 64 ? "uvec2"
                                                         : "uint");
    wnn_shader_define(&shader, "VALUE", "%s", form == FORM_BITS ? "x" : conversion(to->type));
    wnn_shader_end(&shader);
}

void wnn_lower_cast(struct lowering *lowering)
{
    wnn_lower_convert(lowering, &lowering->in[0], &lowering->out[0]);
}

// scale and zero point have an element for each block of the tensor.
static void map_blocks(struct shader *shader, const struct shape *tensor, const struct shape *scale)
{
    uint32_t dims[2 * WNN_MAX_RANK];
    int64_t steps[2 * WNN_MAX_RANK];
    size_t strides[WNN_MAX_RANK];
    wnn_shape_strides(scale, strides);
    for (unsigned d = 0; d < tensor->rank; d++) {
        dims[2 * d] = scale->dim[d];
        dims[2 * d + 1] = tensor->dim[d] / scale->dim[d];
        steps[2 * d] = (int64_t)strides[d];
        steps[2 * d + 1] = 0;
    }
    wnn_shader_map(shader, "block", 2 * tensor->rank, dims, steps, 0);
}

// The bounds of a type as text, and whether sums with its zero points need more than 32 bits.
static bool bounds(WNNDataType type, const char **low, const char **high)
{
    switch (type) {
    case WNNDataType_Int4:
        *low = "-8.0", *high = "7.0";
        return false;
    case WNNDataType_Uint4:
        *low = "0.0", *high = "15.0";
        return false;
    case WNNDataType_Int8:
        *low = "-128.0", *high = "127.0";
        return false;
    case WNNDataType_Uint8:
        *low = "0.0", *high = "255.0";
        return false;
    case WNNDataType_Int32:
        *low = "I64(0x80000000u, ~0u)", *high = "I64(0x7FFFFFFFu, 0u)";
        return true;
    default:
        *low = "I64(0u, 0u)", *high = "I64(~0u, 0u)";
        return true;
    }
}

void wnn_lower_quantize(struct lowering *lowering)
{
    const struct tensor *in = lowering->in, *out = &lowering->out[0];
    const char *low, *high, *type = wnn_shader_type(out->type);
    bool wide = bounds(out->type, &low, &high);
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "elementwise", out->count);
    map_blocks(&shader, &in[0].shape, &in[1].shape);
    wnn_shader_input(&shader, "x", &in[0], FORM_VALUE);
    wnn_shader_input(&shader, "s", &in[1], FORM_VALUE);
    wnn_shader_input(&shader, "z", &in[2], FORM_VALUE);
    wnn_shader_output(&shader, out, FORM_VALUE, NULL);
    wnn_shader_define(
        &shader, "LOADS",
        "uint b = block_index(i); float y = roundEven(quotient(x_at(i), s_at(b))); if (is_nan(y)) y = 0.0;");
    if (wide) {
        wnn_shader_text(&shader, "#define trunc64\n");
        wnn_shader_define(&shader, "VALUE",
                          "%s(within(add(i64_of(within(y, -1e12, 1e12)), i64_of(z_at(b))), %s, %s).lo)", type,
                          low, high);
    } else {
        wnn_shader_define(&shader, "VALUE", "%s(within(y + float(z_at(b)), %s, %s))", type, low, high);
    }
    wnn_shader_end(&shader);
}

void wnn_lower_dequantize(struct lowering *lowering)
{
    const struct tensor *in = lowering->in, *out = &lowering->out[0];
    bool wide = wnn_dtype_bits(in[0].type) == 32;
    struct shader shader;
    wnn_shader_begin(&shader, lowering, "elementwise", out->count);
    map_blocks(&shader, &in[0].shape, &in[1].shape);
    wnn_shader_input(&shader, "x", &in[0], FORM_VALUE);
    wnn_shader_input(&shader, "s", &in[1], FORM_VALUE);
    wnn_shader_input(&shader, "z", &in[2], FORM_VALUE);
    wnn_shader_output(&shader, out, FORM_VALUE, NULL);
    wnn_shader_define(&shader, "LOADS", "uint b = block_index(i);");
    wnn_shader_define(&shader, "VALUE", "%s",
                      wide ? "dequantized(sub(i64_of(x_at(i)), i64_of(z_at(b))), s_at(b))"
                           : "mul(float(int(x_at(i)) - int(z_at(b))), s_at(b))");
    wnn_shader_end(&shader);
}
