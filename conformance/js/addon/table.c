// SPDX-License-Identifier: Apache-2.0
//
// What JavaScript learns of the operators: the operator table, and a context's limits.

#include "conformance/js/addon/addon.h"

static const char *const row_kinds[] = {
    [ROW_INPUT] = "input",         [ROW_INPUT_LIST] = "inputs",      [ROW_OPTIONAL_INPUT] = "option",
    [ROW_OUTPUT] = "output",       [ROW_OPTIONAL_OUTPUT] = "output", [ROW_OUTPUT_LIST] = "outputs",
    [ROW_ATTRIBUTE] = "attribute",
};

static const char *const attr_kinds[] = {
    [ATTR_u32] = "u32",
    [ATTR_i32] = "i32",
    [ATTR_bool] = "bool",
    [ATTR_f64] = "f64",
    [ATTR_number] = "number",
    [ATTR_u32s] = "u32s",
    [ATTR_f32s] = "f32s",
    [ATTR_dtype] = "dataType",
    [ATTR_enum] = "enum",
    [ATTR_activation] = "activation",
    [ATTR_activations] = "activations",
};

static bool set_attribute(napi_env env, napi_value object, const struct op_row *row)
{
    napi_value names;
    if (!wnn_js_set(env, object, "type", wnn_js_string(env, attr_kinds[row->attr])) ||
        !wnn_js_set_bool(env, object, "argument", row->argument) ||
        !wnn_js_set_u32(env, object, "place", row->offset))
        return false;
    if (!row->names)
        return true;
    if (!wnn_js_ok(env, napi_create_array(env, &names)))
        return false;
    for (uint32_t i = 0; row->names[i]; i++)
        if (!wnn_js_ok(env, napi_set_element(env, names, i, wnn_js_string(env, row->names[i]))))
            return false;
    return wnn_js_set(env, object, "values", names);
}

static napi_value rows_of(napi_env env, const struct op_row *rows)
{
    napi_value array, object;
    if (!wnn_js_ok(env, napi_create_array(env, &array)))
        return NULL;
    for (uint32_t i = 0; rows[i].name; i++)
        if (!wnn_js_ok(env, napi_create_object(env, &object)) ||
            !wnn_js_set(env, object, "name", wnn_js_string(env, rows[i].name)) ||
            !wnn_js_set(env, object, "kind", wnn_js_string(env, row_kinds[rows[i].kind])) ||
            !(rows[i].kind != ROW_ATTRIBUTE || set_attribute(env, object, &rows[i])) ||
            !wnn_js_ok(env, napi_set_element(env, array, i, object)))
            return NULL;
    return array;
}

// [{name, rows: [{name, kind, type, argument, place, values}], activation}], by the numbers that `operator`
// takes. Two rows with one place are two names or types of one thing.
napi_value wnn_js_operators(napi_env env)
{
    napi_value operators, object;
    if (!wnn_js_ok(env, napi_create_array(env, &operators)))
        return NULL;
    for (uint32_t op = 0; op < WNN_OP_COUNT; op++)
        if (!wnn_js_ok(env, napi_create_object(env, &object)) ||
            !wnn_js_set(env, object, "name", wnn_js_string(env, wnn_ops[op].name)) ||
            !wnn_js_set(env, object, "rows", rows_of(env, wnn_ops[op].rows)) ||
            !wnn_js_set_bool(env, object, "activation", wnn_op_is_activation((enum op)op)) ||
            !wnn_js_ok(env, napi_set_element(env, operators, op, object)))
            return NULL;
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
    WNNOpSupportLimits limits;
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
