// SPDX-License-Identifier: Apache-2.0
//
// Inference of operators that work element by element.

#include "ops/op.h"

#include <math.h>

// The type and shape of the first operand.
static bool same(struct op_call *call)
{
    call->out[0] = call->in[0]->type;
    return true;
}

static void round_attr(struct op_call *call, double *value)
{
    *value = wnn_round_to_dtype(*value, call->in[0]->type.type);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-unary
bool wnn_infer_same(struct op_call *call)
{
    return same(call);
}

// logicalNot, isNaN, isInfinite. https://www.w3.org/TR/webnn/#api-mlgraphbuilder-logical
bool wnn_infer_test(struct op_call *call)
{
    call->out[0] = (struct descriptor){WNNDataType_Uint8, call->in[0]->type.shape};
    return true;
}

static bool broadcast(struct op_call *call, unsigned first, unsigned second, struct shape *result)
{
    const struct shape *a = &call->in[first]->type.shape, *b = &call->in[second]->type.shape;
    if (!wnn_sizes_broadcast(call->sizes, a, b, result))
        return wnn_op_fail(call, "%s %s and %s %s cannot be broadcast together", call->info->rows[first].name,
                           SHAPE_OF(call, a), call->info->rows[second].name, SHAPE_OF(call, b));
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-binary; prelu too
bool wnn_infer_binary(struct op_call *call)
{
    call->out[0].type = call->in[0]->type.type;
    return broadcast(call, 0, 1, &call->out[0].shape);
}

// Comparisons and the logical operators of two operands.
bool wnn_infer_comparison(struct op_call *call)
{
    call->out[0].type = WNNDataType_Uint8;
    return broadcast(call, 0, 1, &call->out[0].shape);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-where
bool wnn_infer_where(struct op_call *call)
{
    struct shape values;
    const struct shape *condition = &call->in[0]->type.shape;
    if (!broadcast(call, 1, 2, &values))
        return false;
    call->out[0].type = call->in[1]->type.type;
    if (!wnn_sizes_broadcast(call->sizes, condition, &values, &call->out[0].shape))
        return wnn_op_fail(call, "condition %s and the values %s cannot be broadcast together",
                           SHAPE_OF(call, condition), SHAPE_OF(call, &values));
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-cast
bool wnn_infer_cast(struct op_call *call)
{
    const struct cast_attrs *attrs = call->attrs;
    if (wnn_dtype_bits(attrs->dataType) < 8)
        return wnn_op_fail(call, "dataType is %s; expected a type of 8 bits or more",
                           wnn_dtype_name(attrs->dataType));
    call->out[0] = (struct descriptor){attrs->dataType, call->in[0]->type.shape};
    return true;
}

static bool is_absent(WNNNumber bound)
{
    return bound.type == WNNNumberType_Undefined ||
           (bound.type == WNNNumberType_Float64 && isnan(bound.value.f64));
}

static bool is_above(WNNNumber a, WNNNumber b)
{
    if (a.type == WNNNumberType_Int64)
        return a.value.i64 > b.value.i64;
    if (a.type == WNNNumberType_Uint64)
        return a.value.u64 > b.value.u64;
    return a.value.f64 > b.value.f64;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-clamp
bool wnn_infer_clamp(struct op_call *call)
{
    WNNClampOptions *options = call->attrs;
    WNNDataType type = call->in[0]->type.type;
    double low = is_absent(options->minValue) ? -INFINITY : wnn_number_double(options->minValue);
    double high = is_absent(options->maxValue) ? INFINITY : wnn_number_double(options->maxValue);
    options->minValue = wnn_number_convert(
        is_absent(options->minValue) ? wnnNumberFloat64(-INFINITY) : options->minValue, type);
    options->maxValue = wnn_number_convert(
        is_absent(options->maxValue) ? wnnNumberFloat64(INFINITY) : options->maxValue, type);
    if (is_above(options->minValue, options->maxValue))
        return wnn_op_fail(call, "minValue %g is above maxValue %g", low, high);
    return same(call);
}

bool wnn_infer_elu(struct op_call *call)
{
    round_attr(call, &((WNNEluOptions *)call->attrs)->alpha);
    return same(call);
}

bool wnn_infer_leakyRelu(struct op_call *call)
{
    round_attr(call, &((WNNLeakyReluOptions *)call->attrs)->alpha);
    return same(call);
}

bool wnn_infer_hardSigmoid(struct op_call *call)
{
    WNNHardSigmoidOptions *options = call->attrs;
    round_attr(call, &options->alpha);
    round_attr(call, &options->beta);
    return same(call);
}

bool wnn_infer_linear(struct op_call *call)
{
    WNNLinearOptions *options = call->attrs;
    round_attr(call, &options->alpha);
    round_attr(call, &options->beta);
    return same(call);
}

// The steepness is of 2024: https://www.w3.org/TR/2024/CRD-webnn-20240415/#api-mlgraphbuilder-softplus-method
bool wnn_infer_softplus(struct op_call *call)
{
    WNNSoftplusOptions *options = call->attrs;
    double steepness = options->steepness;
    round_attr(call, &options->steepness);
    if (options->steepness == 0)
        return wnn_op_fail(call, "steepness is %g; expected a number that is not 0 in %s", steepness,
                           wnn_dtype_name(call->in[0]->type.type));
    return same(call);
}

static bool certainly_indivisible(const struct op_call *call, uint32_t size, uint32_t blocks)
{
    if (wnn_size_is_symbolic(call->sizes, blocks))
        return false;
    struct amount amount = wnn_amount(call->sizes, size);
    return blocks ? wnn_amount_indivisible(&amount, blocks) : wnn_sizes_differ(call->sizes, size, 0);
}

// The steps that quantizeLinear and dequantizeLinear share: scale and zeroPoint are blocks of input.
static bool check_blocks(struct op_call *call)
{
    const struct shape *input = &call->in[0]->type.shape, *scale = &call->in[1]->type.shape,
                       *zero = &call->in[2]->type.shape;
    if (scale->rank != input->rank)
        return wnn_op_fail(call, "scale %s has rank %u; expected %u, the rank of input %s",
                           SHAPE_OF(call, scale), scale->rank, input->rank, SHAPE_OF(call, input));
    if (wnn_shapes_differ(call->sizes, scale, zero))
        return wnn_op_fail(call, "zeroPoint has shape %s; expected %s, the shape of scale",
                           SHAPE_OF(call, zero), SHAPE_OF(call, scale));
    for (unsigned i = 0; i < input->rank; i++)
        if (certainly_indivisible(call, input->dim[i], scale->dim[i]))
            return wnn_op_fail(call, "scale %s does not divide input %s: dimension %u", SHAPE_OF(call, scale),
                               SHAPE_OF(call, input), i);
    return true;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-dequantizelinear
bool wnn_infer_dequantizeLinear(struct op_call *call)
{
    call->out[0] = (struct descriptor){call->in[1]->type.type, call->in[0]->type.shape};
    return check_blocks(call);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-quantizelinear
bool wnn_infer_quantizeLinear(struct op_call *call)
{
    call->out[0] = (struct descriptor){call->in[2]->type.type, call->in[0]->type.shape};
    return check_blocks(call);
}

// Each step by the rules of its operator.
static bool infer_step(struct op_call *outer, const struct elementwise_step *step,
                       const struct operand *values, unsigned value_count, struct descriptor *result)
{
    struct operand *in[3];
    if (!wnn_op_is_elementwise((enum op)step->op) || step->in_count > 3)
        return wnn_op_fail(outer, "%s has no place in it", wnn_ops[step->op].name);
    for (unsigned i = 0; i < step->in_count; i++) {
        if (step->in[i] >= value_count)
            return wnn_op_fail(outer, "%s takes value %u of %u", wnn_ops[step->op].name, step->in[i],
                               value_count);
        in[i] = (struct operand *)(uintptr_t)&values[step->in[i]];
    }
    struct op_call call = *outer;
    call.op = (enum op)step->op;
    call.info = &wnn_ops[step->op];
    call.in = in;
    call.in_count = step->in_count;
    call.attrs = wnn_op_copy_attrs(outer->arena, call.op, step->attrs);
    call.out = result;
    call.out_count = call.out_capacity = 1;
    if (!call.attrs)
        return wnn_fail_memory(outer->error);
    return call.info->infer(&call);
}

bool wnn_infer_elementwise(struct op_call *call)
{
    const struct elementwise_attrs *attrs = call->attrs;
    struct operand values[WNN_ELEMENTWISE_INPUTS + WNN_ELEMENTWISE_STEPS];
    struct descriptor *outputs = wnn_arena_allocate(call->arena, WNN_ELEMENTWISE_OUTPUTS * sizeof outputs[0]);
    if (!outputs)
        return wnn_fail_memory(call->error);
    if (call->in_count > WNN_ELEMENTWISE_INPUTS || attrs->count == 0 || attrs->count > WNN_ELEMENTWISE_STEPS)
        return wnn_op_fail(call, "%u operands and %u steps", call->in_count, attrs->count);
    for (unsigned i = 0; i < call->in_count; i++)
        values[i].type = call->in[i]->type;
    call->out = outputs;
    call->out_count = 0;
    size_t elements = wnn_shape_elements(&attrs->steps[0].type.shape);
    for (unsigned i = 0; i < attrs->count; i++) {
        const struct elementwise_step *step = &attrs->steps[i];
        struct operand *value = &values[call->in_count + i];
        value->type = (struct descriptor){0};
        if (!infer_step(call, step, values, call->in_count + i, &value->type))
            return false;
        if (!wnn_descriptor_equal(&value->type, &step->type) ||
            wnn_shape_elements(&step->type.shape) != elements)
            return wnn_op_fail(call, "step %u is not what %s infers", i, wnn_ops[step->op].name);
        if (step->output == WNN_NO_OUTPUT)
            continue;
        if (step->output >= WNN_ELEMENTWISE_OUTPUTS)
            return wnn_op_fail(call, "output %u", step->output);
        outputs[step->output] = step->type;
        call->out_count++;
    }
    return true;
}

// Whether cosines or sines broadcast to the input, or to a half of it.
static bool fits_rotation(const struct shape *shape, const struct shape *input, uint32_t axis)
{
    struct shape half = *input;
    half.dim[axis] /= 2;
    return wnn_shape_broadcast_to(shape, input) || wnn_shape_broadcast_to(shape, &half);
}

bool wnn_infer_rotaryEmbedding(struct op_call *call)
{
    uint32_t axis = ((const struct rotary_embedding_attrs *)call->attrs)->axis;
    const struct shape *input = &call->in[0]->type.shape;
    if (call->in_count != 3)
        return wnn_op_fail(call, "expected input, cosines and sines");
    if (axis >= input->rank || input->dim[axis] % 2 != 0)
        return wnn_op_fail(call, "input %s has no halves along axis %u", SHAPE_OF(call, input), axis);
    for (unsigned i = 1; i < 3; i++)
        if (!fits_rotation(&call->in[i]->type.shape, input, axis))
            return wnn_op_fail(call, "%s %s cannot be broadcast to input %s, or to a half of it",
                               i == 1 ? "cosines" : "sines", SHAPE_OF(call, &call->in[i]->type.shape),
                               SHAPE_OF(call, input));
    call->out[0] = call->in[0]->type;
    return true;
}
