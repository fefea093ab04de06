// SPDX-License-Identifier: Apache-2.0
//
// What JavaScript learns of the operators: the operator table, and a context's limits.

#include "conformance/js/addon/addon.h"

static const char *kind_of(const WNNOperandInfo *info)
{
    switch (info->kind) {
    case WNNOperandKind_Input:
        return info->isList ? "inputs" : "input";
    case WNNOperandKind_Option:
        return "option";
    default:
        return info->isList ? "outputs" : "output";
    }
}

static const char *const types[] = {
    [WNNAttributeType_Uint32] = "u32",
    [WNNAttributeType_Int32] = "i32",
    [WNNAttributeType_Bool] = "bool",
    [WNNAttributeType_Float64] = "f64",
    [WNNAttributeType_Number] = "number",
    [WNNAttributeType_Uint32List] = "u32s",
    [WNNAttributeType_Float32List] = "f32s",
    [WNNAttributeType_DataType] = "dataType",
    [WNNAttributeType_Enumerator] = "enum",
    [WNNAttributeType_Activation] = "activation",
    [WNNAttributeType_ActivationList] = "activations",
};

static bool set_attribute(napi_env env, napi_value object, const WNNAttributeInfo *info)
{
    napi_value names;
    if (!wnn_js_set(env, object, "type", wnn_js_string(env, types[info->type])) ||
        !wnn_js_set_bool(env, object, "argument", info->isArgument) ||
        !wnn_js_set_u32(env, object, "place", info->place))
        return false;
    if (info->enumeratorCount == 0)
        return true;
    if (!wnn_js_ok(env, napi_create_array(env, &names)))
        return false;
    for (uint32_t i = 0; i < info->enumeratorCount; i++)
        if (!wnn_js_ok(env, napi_set_element(env, names, i, wnn_js_string(env, info->enumerators[i]))))
            return false;
    return wnn_js_set(env, object, "values", names);
}

static bool add_row(napi_env env, napi_value rows, uint32_t index, WNNStringView name, const char *kind,
                    napi_value *object)
{
    return wnn_js_ok(env, napi_create_object(env, object)) &&
           wnn_js_set(env, *object, "name", wnn_js_string_view(env, name)) &&
           wnn_js_set(env, *object, "kind", wnn_js_string(env, kind)) &&
           wnn_js_ok(env, napi_set_element(env, rows, index, *object));
}

// The operands, then the attributes.
static napi_value rows_of(napi_env env, uint32_t op, const WNNOperatorInfo *info)
{
    napi_value rows, object;
    uint32_t count = 0;
    if (!wnn_js_ok(env, napi_create_array(env, &rows)))
        return NULL;
    for (uint32_t i = 0; i < info->operandCount; i++) {
        WNNOperandInfo operand = WNN_OPERAND_INFO_INIT;
        wnnGetOperandInfo(op, i, &operand);
        if (!add_row(env, rows, count++, operand.name, kind_of(&operand), &object))
            return NULL;
    }
    for (uint32_t i = 0; i < info->attributeCount; i++) {
        WNNAttributeInfo attribute = WNN_ATTRIBUTE_INFO_INIT;
        wnnGetAttributeInfo(op, i, &attribute);
        if (!add_row(env, rows, count++, attribute.name, "attribute", &object) ||
            !set_attribute(env, object, &attribute))
            return NULL;
    }
    return rows;
}

// [{name, rows: [{name, kind, type, argument, place, values}], activation}], by the numbers that `operator`
// takes. Two rows with one place are two names or types of one thing.
napi_value wnn_js_operators(napi_env env)
{
    napi_value operators, object;
    if (!wnn_js_ok(env, napi_create_array(env, &operators)))
        return NULL;
    for (uint32_t op = 0; op < wnnGetOperatorCount(); op++) {
        WNNOperatorInfo info = WNN_OPERATOR_INFO_INIT;
        wnnGetOperatorInfo(op, &info);
        if (!wnn_js_ok(env, napi_create_object(env, &object)) ||
            !wnn_js_set(env, object, "name", wnn_js_string_view(env, info.name)) ||
            !wnn_js_set(env, object, "rows", rows_of(env, op, &info)) ||
            !wnn_js_set_bool(env, object, "activation", info.isActivation) ||
            !wnn_js_ok(env, napi_set_element(env, operators, op, object)))
            return NULL;
    }
    return operators;
}

static bool set_limits(napi_env env, napi_value object, WNNStringView name, const WNNTensorLimits *limits)
{
    napi_value entry, range;
    return wnn_js_ok(env, napi_create_object(env, &entry)) &&
           wnn_js_ok(env, napi_create_object(env, &range)) &&
           wnn_js_set_u32(env, range, "min", limits->minRank) &&
           wnn_js_set_u32(env, range, "max", limits->maxRank) &&
           wnn_js_set(env, entry, "dataTypes", wnn_js_types(env, limits->dataTypes)) &&
           wnn_js_set(env, entry, "rankRange", range) && wnn_js_set(env, object, name.data, entry);
}

static bool set_operator(napi_env env, napi_value object, const WNNOperatorLimits *operator)
{
    napi_value entry;
    if (!wnn_js_ok(env, napi_create_object(env, &entry)))
        return false;
    for (size_t i = 0; i < operator->operandCount; i++)
        if (!set_limits(env, entry, operator->operands[i].name, &operator->operands[i].limits))
            return false;
    return wnn_js_set(env, object, operator->name.data, entry);
}

// opSupportLimits(context)
napi_value wnn_js_op_support_limits(napi_env env, napi_callback_info info)
{
    napi_value argument, object;
    if (!wnn_js_arguments(env, info, 1, &argument))
        return NULL;
    struct handle *context = wnn_js_handle(env, argument, HANDLE_CONTEXT);
    if (!context || !wnn_js_ok(env, napi_create_object(env, &object)))
        return NULL;
    WNNOpSupportLimits limits = WNN_OP_SUPPORT_LIMITS_INIT;
    wnnContextGetOpSupportLimits(context->of.context, &limits);
    const char *layout = limits.preferredInputLayout == WNNInputOperandLayout_NHWC ? "nhwc" : "nchw";
    if (!wnn_js_set(env, object, "preferredInputLayout", wnn_js_string(env, layout)) ||
        !wnn_js_set_u32(env, object, "maxTensorByteLength", (double)limits.maxTensorByteLength) ||
        !set_limits(env, object, (WNNStringView){"input", 5}, &limits.input) ||
        !set_limits(env, object, (WNNStringView){"constant", 8}, &limits.constant) ||
        !set_limits(env, object, (WNNStringView){"output", 6}, &limits.output))
        return NULL;
    for (size_t i = 0; i < limits.operatorCount; i++)
        if (!set_operator(env, object, &limits.operators[i]))
            return NULL;
    return object;
}
