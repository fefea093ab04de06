// SPDX-License-Identifier: Apache-2.0

#include "conformance/call.h"

#include "conformance/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// One call while its arguments are collected.
struct arguments {
    WNNGraphBuilder builder;
    const struct scope *scope;
    struct arena *arena;
    const struct op_info *info;
    char *attrs;
    WNNOperand *operands;
    size_t operand_count;
    struct text *message;
};

bool wnn_scope_add(struct scope *scope, const char *name, WNNOperand operand)
{
    if (scope->count == scope->capacity) {
        size_t capacity = scope->capacity * 2 + 16;
        struct scope_entry *entries = realloc(scope->entries, capacity * sizeof *entries);
        if (entries == NULL)
            return false;
        scope->entries = entries;
        scope->capacity = capacity;
    }
    scope->entries[scope->count++] = (struct scope_entry){name, operand};
    return true;
}

bool wnn_scope_find(const struct scope *scope, const char *name, WNNOperand *operand)
{
    for (size_t i = scope->count; name != NULL && i-- > 0;)
        if (strcmp(scope->entries[i].name, name) == 0) {
            *operand = scope->entries[i].operand;
            return true;
        }
    return false;
}

void wnn_scope_free(struct scope *scope)
{
    free(scope->entries);
    *scope = (struct scope){0};
}

static struct string string_of(const char *text)
{
    return (struct string){text, strlen(text)};
}

static enum call_result unknown(const struct arguments *arguments, const char *what, const char *name)
{
    wnn_text_add(arguments->message, "%s has no %s \"%s\"", arguments->info->name, what,
                 name != NULL ? name : "");
    return CALL_UNKNOWN;
}

static enum call_result no_value(const struct arguments *arguments, const char *name)
{
    wnn_text_add(arguments->message, "%s: the value of %s has no counterpart in C", arguments->info->name,
                 name);
    return CALL_NO_VALUE;
}

// ---------------------------------------------------------------------------------------------------------------
// Attributes
// ---------------------------------------------------------------------------------------------------------------

// An integer within [least, greatest].
static bool whole(const cJSON *json, double least, double greatest, double *value)
{
    WNNNumber number;
    if (!wnn_json_number(json, &number))
        return false;
    *value = wnn_number_double(number);
    return *value >= least && *value <= greatest && *value == floor(*value);
}

static bool read_u32s(struct arena *arena, const cJSON *json, WNNUint32List *list)
{
    uint32_t *data = wnn_arena_allocate(arena, ((size_t)cJSON_GetArraySize(json) + 1) * sizeof *data);
    const cJSON *item;
    double value;
    if (data == NULL || !cJSON_IsArray(json))
        return false;
    *list = (WNNUint32List){data, 0};
    cJSON_ArrayForEach(item, json)
    {
        if (!whole(item, 0, UINT32_MAX, &value))
            return false;
        data[list->count++] = (uint32_t)value;
    }
    return true;
}

static bool read_f32s(struct arena *arena, const cJSON *json, WNNFloat32List *list)
{
    float *data = wnn_arena_allocate(arena, ((size_t)cJSON_GetArraySize(json) + 1) * sizeof *data);
    const cJSON *item;
    WNNNumber value;
    if (data == NULL || !cJSON_IsArray(json))
        return false;
    *list = (WNNFloat32List){data, 0};
    cJSON_ArrayForEach(item, json)
    {
        if (!wnn_json_number(item, &value))
            return false;
        data[list->count++] = (float)wnn_number_double(value);
    }
    return true;
}

static enum call_result set_attributes(struct arguments *arguments, const cJSON *attributes);

// "relu", or {"name": "elu", "alpha": 2}.
static enum call_result read_activation(const struct arguments *arguments, const cJSON *json,
                                        WNNActivation *activation)
{
    const char *name = cJSON_IsString(json) ? json->valuestring : wnn_json_string(json, "name");
    enum op op = name != NULL ? wnn_op_find(string_of(name)) : WNN_OP_COUNT;
    if (op == WNN_OP_COUNT || !wnn_op_is_activation(op))
        return unknown(arguments, "activation", name);
    struct arguments inner = *arguments;
    inner.info = &wnn_ops[op];
    inner.attrs = wnn_arena_copy(arguments->arena, inner.info->defaults, inner.info->attrs_size);
    if (inner.attrs == NULL)
        return no_value(arguments, name);
    if (cJSON_IsObject(json)) {
        enum call_result result = set_attributes(&inner, json);
        if (result != CALL_DONE)
            return result;
    }
    *activation = wnn_builder_activation(arguments->builder, op, inner.attrs);
    return *activation != NULL ? CALL_DONE : CALL_REFUSED;
}

static enum call_result read_activations(const struct arguments *arguments, const cJSON *json,
                                         WNNActivationList *list)
{
    size_t count = (size_t)cJSON_GetArraySize(json);
    WNNActivation *data = wnn_arena_allocate(arguments->arena, (count + 1) * sizeof *data);
    const cJSON *item;
    if (data == NULL || !cJSON_IsArray(json))
        return no_value(arguments, "activations");
    *list = (WNNActivationList){data, 0};
    cJSON_ArrayForEach(item, json)
    {
        enum call_result result = read_activation(arguments, item, &data[list->count++]);
        if (result != CALL_DONE)
            return result;
    }
    return CALL_DONE;
}

static enum call_result set_enumerator(const struct arguments *arguments, const struct op_row *row,
                                       const cJSON *json)
{
    const char *name = cJSON_GetStringValue(json);
    for (uint32_t i = 0; name != NULL && row->names[i] != NULL; i++)
        if (strcmp(row->names[i], name) == 0) {
            uint32_t value = i + 1;
            memcpy(arguments->attrs + row->offset, &value, sizeof value);
            return CALL_DONE;
        }
    return no_value(arguments, row->name);
}

static enum call_result set_attribute(struct arguments *arguments, const struct op_row *row,
                                      const cJSON *json)
{
    union {
        uint32_t u32;
        int32_t i32;
        bool boolean;
        double f64;
        WNNNumber number;
        WNNUint32List u32s;
        WNNFloat32List f32s;
        WNNActivation activation;
        WNNActivationList activations;
    } value;
    size_t size = 0;
    double integer;
    enum call_result result = CALL_DONE;
    switch (row->attr) {
    case ATTR_u32:
        if (whole(json, 0, UINT32_MAX, &integer)) {
            value.u32 = (uint32_t)integer;
            size = sizeof value.u32;
        }
        break;
    case ATTR_i32:
        if (whole(json, INT32_MIN, INT32_MAX, &integer)) {
            value.i32 = (int32_t)integer;
            size = sizeof value.i32;
        }
        break;
    case ATTR_bool:
        if (cJSON_IsBool(json) || cJSON_IsNumber(json)) {
            value.boolean = cJSON_IsTrue(json) || (cJSON_IsNumber(json) && json->valuedouble != 0);
            size = sizeof value.boolean;
        }
        break;
    case ATTR_f64: {
        WNNNumber number;
        if (wnn_json_number(json, &number)) {
            value.f64 = wnn_number_double(number);
            size = sizeof value.f64;
        }
        break;
    }
    case ATTR_number:
        size = wnn_json_number(json, &value.number) ? sizeof value.number : 0;
        break;
    case ATTR_u32s:
        size = read_u32s(arguments->arena, json, &value.u32s) ? sizeof value.u32s : 0;
        break;
    case ATTR_f32s:
        size = read_f32s(arguments->arena, json, &value.f32s) ? sizeof value.f32s : 0;
        break;
    case ATTR_dtype:
        value.u32 = (uint32_t)wnn_vector_type(cJSON_GetStringValue(json));
        size = value.u32 != WNNDataType_Undefined ? sizeof value.u32 : 0;
        break;
    case ATTR_enum:
        return set_enumerator(arguments, row, json);
    case ATTR_activation:
        result = read_activation(arguments, json, &value.activation);
        size = sizeof value.activation;
        break;
    case ATTR_activations:
        result = read_activations(arguments, json, &value.activations);
        size = sizeof value.activations;
        break;
    }
    if (result != CALL_DONE)
        return result;
    if (size == 0)
        return no_value(arguments, row->name);
    memcpy(arguments->attrs + row->offset, &value, size);
    return CALL_DONE;
}

static enum call_result set_attributes(struct arguments *arguments, const cJSON *attributes)
{
    const cJSON *json;
    cJSON_ArrayForEach(json, attributes)
    {
        if (attributes->child == json && strcmp(json->string, "name") == 0)
            continue; // of an activation
        const struct op_row *row = wnn_op_attr_row(arguments->info, string_of(json->string), -1);
        if (row != NULL && row->attr == ATTR_u32 && cJSON_IsArray(json))
            row = wnn_op_attr_row(arguments->info, string_of(json->string), ATTR_u32s);
        if (row == NULL)
            return unknown(arguments, "attribute", json->string);
        enum call_result result = set_attribute(arguments, row, json);
        if (result != CALL_DONE)
            return result;
    }
    return CALL_DONE;
}

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

static enum call_result set_operand_list(struct arguments *arguments, const cJSON *names)
{
    size_t count = (size_t)cJSON_GetArraySize(names);
    const cJSON *name;
    arguments->operand_count = 0;
    arguments->operands = wnn_arena_allocate(arguments->arena, (count + 1) * sizeof *arguments->operands);
    if (arguments->operands == NULL)
        return no_value(arguments, names->string);
    cJSON_ArrayForEach(name, names)
    {
        if (!wnn_scope_find(arguments->scope, cJSON_GetStringValue(name),
                            &arguments->operands[arguments->operand_count++]))
            return unknown(arguments, "operand", cJSON_GetStringValue(name));
    }
    return CALL_DONE;
}

static enum call_result set_operands(struct arguments *arguments, const cJSON *operands)
{
    const cJSON *json;
    unsigned positions = 0;
    for (const struct op_row *row = arguments->info->rows; row->name != NULL; row++)
        positions += row->kind == ROW_INPUT;
    arguments->operands = wnn_arena_allocate(arguments->arena, (positions + 1) * sizeof *arguments->operands);
    arguments->operand_count = positions;
    if (arguments->operands == NULL)
        return no_value(arguments, "operands");
    cJSON_ArrayForEach(json, operands)
    {
        unsigned position;
        WNNOperand operand;
        const struct op_row *row = wnn_op_operand_row(arguments->info, string_of(json->string), &position);
        if (row == NULL)
            return unknown(arguments, "operand", json->string);
        if (row->kind == ROW_INPUT_LIST) {
            enum call_result result = set_operand_list(arguments, json);
            if (result != CALL_DONE)
                return result;
            continue;
        }
        if (!wnn_scope_find(arguments->scope, cJSON_GetStringValue(json), &operand))
            return unknown(arguments, "operand named", cJSON_GetStringValue(json));
        if (row->kind == ROW_INPUT)
            arguments->operands[position] = operand;
        else
            memcpy(arguments->attrs + row->offset, &operand, sizeof operand);
    }
    return CALL_DONE;
}

// ---------------------------------------------------------------------------------------------------------------

// The operator of that name and form: argMin, argMax and softmax have one with an axis and one of 2024.
static enum op find_op(const char *name, const cJSON *attributes)
{
    static const struct {
        enum op with_axis, without_axis;
    } forms[] = {
        {WNN_OP_argMin, WNN_OP_argMinAxes},
        {WNN_OP_argMax, WNN_OP_argMaxAxes},
        {WNN_OP_softmax, WNN_OP_softmax2d},
    };
    enum op op = name != NULL ? wnn_op_find(string_of(name)) : WNN_OP_COUNT;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (op == forms[i].with_axis && !cJSON_HasObjectItem(attributes, "axis"))
            op = forms[i].without_axis;
    return op;
}

enum call_result wnn_call_json(WNNGraphBuilder builder, const cJSON *operator, unsigned index,
                               const struct scope *scope, struct arena *arena, size_t capacity,
                               WNNOperand *outputs, size_t *count, struct text *message)
{
    const cJSON *attributes = cJSON_GetObjectItemCaseSensitive(operator, "attributes");
    const char *name = wnn_json_string(operator, "name");
    enum op op = find_op(name, attributes);
    *count = 0;
    if (op == WNN_OP_COUNT) {
        wnn_text_add(message, "there is no operator \"%s\"", name != NULL ? name : "");
        return CALL_UNKNOWN;
    }
    struct arguments arguments = {
        .builder = builder,
        .scope = scope,
        .arena = arena,
        .info = &wnn_ops[op],
        .attrs = wnn_arena_copy(arena, wnn_ops[op].defaults, wnn_ops[op].attrs_size),
        .message = message,
    };
    char label[64];
    struct text label_text = TEXT(label);
    if (arguments.attrs == NULL)
        return no_value(&arguments, "attributes");
    wnn_text_add(&label_text, "%s#%u", name, index);
    ((WNNOperatorOptions *)(void *)arguments.attrs)->label = (WNNStringView){label, label_text.length};

    enum call_result result = set_attributes(&arguments, attributes);
    if (result == CALL_DONE)
        result = set_operands(&arguments, cJSON_GetObjectItemCaseSensitive(operator, "operands"));
    if (result != CALL_DONE)
        return result;
    *count = wnn_builder_call(builder, op, arguments.operand_count, arguments.operands, arguments.attrs,
                              capacity, outputs);
    return *count != 0 ? CALL_DONE : CALL_REFUSED;
}
