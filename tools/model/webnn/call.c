// SPDX-License-Identifier: Apache-2.0
//
// From the text of a call to wnnGraphBuilderCall, by webnn/reflection.h alone: operands and attributes are
// matched with what the operator has, by position or by name.

#include "tools/model/webnn/recorder.h"

#include <webnn/reflection.h>

#include <string.h>

#define MAX_ROWS  40   // operands, or attributes, of an operator
#define MAX_LABEL 1024 // bytes

// What an operator has.
struct operator_rows {
    WNNOperatorInfo info;
    WNNOperandInfo operands[MAX_ROWS];
    WNNAttributeInfo attributes[MAX_ROWS];
};

// A call while it is put together.
struct call {
    struct webnn_recorder *recorder;
    struct error *error;
    const struct value *value;
    struct operator_rows *rows;
    bool given[MAX_ROWS]; // optional operands that have their value
    bool named[MAX_ROWS]; // required operands whose name stands before them
    bool is_attribute_given[MAX_ROWS];
    bool lacks_operand;   // one that could not be recorded
    WNNOperand *operands; // the required ones
    size_t operand_count, operand_capacity;
    WNNNamedAttribute attributes[MAX_ROWS];
    size_t attribute_count;
};

#define FAIL(place, ...) graph_text_fail(call->recorder->text, (place), call->error, __VA_ARGS__)

static bool add_attribute(struct call *call, const WNNAttributeInfo *info, const struct value *value);
static bool make_operand(struct call *outer, const struct value *value, WNNOperand *operand);

static bool is(WNNStringView name, struct string text)
{
    return wnn_string_equal(wnn_string(name), text);
}

static void *allocate(struct call *call, size_t size)
{
    void *memory = wnn_arena_allocate(call->recorder->arena, size);
    if (!memory)
        wnn_fail_memory(call->error);
    return memory;
}

// NULL: there is no such operator.
static struct operator_rows *find_rows(struct call *call, struct string name)
{
    uint32_t op = wnnFindOperator(wnn_string_view(name));
    struct operator_rows *rows = op == WNN_INDEX_NONE ? NULL : allocate(call, sizeof *rows);
    if (!rows)
        return NULL;
    *rows = (struct operator_rows){.info = WNN_OPERATOR_INFO_INIT};
    wnnGetOperatorInfo(op, &rows->info);
    for (uint32_t i = 0; i < rows->info.operandCount && i < MAX_ROWS; i++) {
        rows->operands[i] = (WNNOperandInfo)WNN_OPERAND_INFO_INIT;
        wnnGetOperandInfo(op, i, &rows->operands[i]);
    }
    for (uint32_t i = 0; i < rows->info.attributeCount && i < MAX_ROWS; i++) {
        rows->attributes[i] = (WNNAttributeInfo)WNN_ATTRIBUTE_INFO_INIT;
        wnnGetAttributeInfo(op, i, &rows->attributes[i]);
    }
    return rows;
}

// ---------------------------------------------------------------------------------------------------------------
// Names
// ---------------------------------------------------------------------------------------------------------------

struct name_list {
    size_t next;
    const struct call *call;
};

static const char *next_operator(void *argument)
{
    struct name_list *list = argument;
    WNNOperatorInfo info = WNN_OPERATOR_INFO_INIT;
    return wnnGetOperatorInfo((uint32_t)list->next++, &info) == WNNStatus_Success ? info.name.data : NULL;
}

static const char *next_row(void *argument)
{
    struct name_list *list = argument;
    const struct operator_rows *rows = list->call->rows;
    for (; list->next < rows->info.operandCount; list->next++)
        if (rows->operands[list->next].kind != WNNOperandKind_Output)
            return rows->operands[list->next++].name.data;
    size_t attribute = list->next++ - rows->info.operandCount;
    return attribute < rows->info.attributeCount ? rows->attributes[attribute].name.data : NULL;
}

static const char *next_operand(void *argument)
{
    struct name_list *list = argument;
    const struct webnn_recorder *recorder = list->call->recorder;
    return list->next < recorder->name_count ? recorder->names[list->next++].name.data : NULL;
}

// "; did you mean relu?", or nothing.
static const char *suggestion(const struct call *call, struct string wanted, const char *(*next)(void *),
                              char buffer[96])
{
    struct name_list list = {0, call};
    const char *name = webnn_nearest_name(wanted, next, &list);
    struct text text = {buffer, 96, 0};
    buffer[0] = '\0';
    if (name)
        wnn_text_add(&text, "; did you mean %s?", name);
    return buffer;
}

#define SUGGEST(wanted, next) suggestion(call, (wanted), (next), (char[96]){0})

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

static bool is_name(const struct value *value)
{
    return value->kind == VALUE_WORD || value->kind == VALUE_STRING;
}

static bool find_operand(struct call *call, const struct value *value, WNNOperand *operand)
{
    if (value->kind == VALUE_CALL)
        return make_operand(call, value, operand);
    if (!is_name(value))
        return FAIL(value->place, "%s expects an operand here", call->rows->info.name.data);
    const struct webnn_name *name = webnn_find_name(call->recorder, value->text);
    if (!name)
        return FAIL(value->place, "nothing is called %.200s%s", value->text.data,
                    SUGGEST(value->text, next_operand));
    *operand = name->operand;
    call->lacks_operand |= !name->operand;
    return true;
}

static bool add_operand(struct call *call, const struct value *value)
{
    WNNOperand operand;
    if (!find_operand(call, value, &operand))
        return false;
    call->operands = wnn_arena_grow(call->recorder->arena, call->operands, call->operand_count,
                                    &call->operand_capacity, sizeof operand);
    if (!call->operands)
        return wnn_fail_memory(call->error);
    call->operands[call->operand_count++] = operand;
    return true;
}

// The operands that stand first: as many as the operator has, or for concat a list, or all that come. Returns
// through *used how many arguments they take.
static bool take_operands(struct call *call, size_t *used)
{
    const struct argument *arguments = call->value->arguments;
    size_t count = call->value->argument_count, at = 0;
    for (size_t row = 0; row < call->rows->info.operandCount; row++) {
        const WNNOperandInfo *info = &call->rows->operands[row];
        if (info->kind != WNNOperandKind_Input)
            continue;
        const struct value *value = NULL;
        if (at < count && arguments[at].name.length == 0) {
            value = &arguments[at++].value;
        } else {
            for (size_t i = at; i < count; i++)
                if (arguments[i].name.length && is(info->name, arguments[i].name))
                    value = &arguments[i].value;
            call->named[row] = value != NULL;
        }
        if (!value)
            return FAIL(call->value->place, "%s misses its operand %s", call->rows->info.name.data,
                        info->name.data);
        if (info->isList && value->kind == VALUE_LIST) {
            for (size_t i = 0; i < value->item_count; i++)
                if (!add_operand(call, &value->items[i]))
                    return false;
            continue;
        }
        if (!add_operand(call, value))
            return false;
        while (info->isList && at < count && arguments[at].name.length == 0 &&
               (is_name(&arguments[at].value) || arguments[at].value.kind == VALUE_CALL))
            if (!add_operand(call, &arguments[at++].value))
                return false;
    }
    *used = at;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Attributes
// ---------------------------------------------------------------------------------------------------------------

static bool take_integer(struct call *call, const WNNAttributeInfo *info, const struct value *value,
                         int64_t low, int64_t high, int64_t *result)
{
    WNNNumber number;
    if (!graph_text_number(value, &number) || number.type != WNNNumberType_Int64 || number.value.i64 < low ||
        number.value.i64 > high)
        return FAIL(value->place, "%s of %s is a whole number from %lld to %lld", info->name.data,
                    call->rows->info.name.data, (long long)low, (long long)high);
    *result = number.value.i64;
    return true;
}

static bool take_list(struct call *call, const WNNAttributeInfo *info, const struct value *value,
                      WNNAttributeValue *to)
{
    if (value->kind != VALUE_LIST)
        return FAIL(value->place, "%s of %s is a list: [1, 2]", info->name.data, call->rows->info.name.data);
    if (info->type == WNNAttributeType_Uint32List) {
        uint32_t *data = allocate(call, (value->item_count + 1) * sizeof *data);
        for (size_t i = 0; data && i < value->item_count; i++) {
            int64_t number = 0;
            if (!take_integer(call, info, &value->items[i], 0, UINT32_MAX, &number))
                return false;
            data[i] = (uint32_t)number;
        }
        to->value.u32List = (WNNUint32List){data, value->item_count};
        return data != NULL;
    }
    float *data = allocate(call, (value->item_count + 1) * sizeof *data);
    for (size_t i = 0; data && i < value->item_count; i++) {
        WNNNumber number;
        if (!graph_text_number(&value->items[i], &number))
            return FAIL(value->items[i].place, "%s of %s is a list of numbers", info->name.data,
                        call->rows->info.name.data);
        data[i] = (float)wnn_round_to_dtype(wnn_number_double(number), WNNDataType_Float32);
    }
    to->value.f32List = (WNNFloat32List){data, value->item_count};
    return data != NULL;
}

static bool take_enumerator(struct call *call, const WNNAttributeInfo *info, const struct value *value,
                            WNNAttributeValue *to)
{
    char choices[256];
    struct text text = TEXT(choices);
    choices[0] = '\0';
    for (size_t i = 0; i < info->enumeratorCount; i++) {
        if (is_name(value) && strcmp(info->enumerators[i], value->text.data) == 0) {
            to->value.i32 = (int32_t)i + 1;
            return true;
        }
        wnn_text_add(&text, "%s\"%s\"",
                     i == 0                          ? ""
                     : i + 1 < info->enumeratorCount ? ", "
                                                     : " or ",
                     info->enumerators[i]);
    }
    return FAIL(value->place, "%s of %s is %s", info->name.data, call->rows->info.name.data, choices);
}

// The attribute of that name, or NULL. Several may share it: one of `type`, or of any if that is Undefined.
static const WNNAttributeInfo *find_attribute(const struct call *call, struct string name,
                                              WNNAttributeType type)
{
    for (size_t i = 0; i < call->rows->info.attributeCount; i++) {
        const WNNAttributeInfo *info = &call->rows->attributes[i];
        if (is(info->name, name) && (type == WNNAttributeType_Undefined || info->type == type))
            return info;
    }
    return NULL;
}

static WNNActivation make_activation(struct call *outer, const struct value *value)
{
    struct call *call = allocate(outer, sizeof *call);
    if (!call)
        return NULL;
    *call = (struct call){.recorder = outer->recorder, .error = outer->error, .value = value};
    bool named = is_name(value) || value->kind == VALUE_CALL;
    call->rows = named ? find_rows(call, value->text) : NULL;
    if (!call->rows || !call->rows->info.isActivation) {
        FAIL(value->place,
             "%.200s is not an activation: relu, sigmoid, clamp(minValue=0, maxValue=6) and so on",
             value->text.data ? value->text.data : "this");
        return NULL;
    }
    for (size_t i = 0; i < value->argument_count; i++) {
        const struct argument *argument = &value->arguments[i];
        const WNNAttributeInfo *info = find_attribute(call, argument->name, WNNAttributeType_Undefined);
        if (!info) {
            FAIL(argument->place, "the activation %s has no option %.200s%s", call->rows->info.name.data,
                 argument->name.data, SUGGEST(argument->name, next_row));
            return NULL;
        }
        if (!add_attribute(call, info, &argument->value))
            return NULL;
    }
    WNNOperatorCall say = WNN_OPERATOR_CALL_INIT;
    say.name = call->rows->info.name;
    say.attributeCount = call->attribute_count;
    say.attributes = call->attributes;
    WNNActivation activation = wnnGraphBuilderCallActivation(call->recorder->builder, &say);
    if (!activation)
        webnn_fail_builder(call->recorder, value->place, call->error);
    return activation;
}

static bool take_activations(struct call *call, const struct value *value, WNNActivationList *list)
{
    if (value->kind != VALUE_LIST)
        return FAIL(value->place, "activations is a list: [sigmoid, tanh]");
    WNNActivation *data = allocate(call, (value->item_count + 1) * sizeof *data);
    for (size_t i = 0; data && i < value->item_count; i++) {
        data[i] = make_activation(call, &value->items[i]);
        if (!data[i])
            return false;
    }
    *list = (WNNActivationList){data, value->item_count};
    return data != NULL;
}

static bool take_value(struct call *call, const WNNAttributeInfo *info, const struct value *value,
                       WNNAttributeValue *to)
{
    const char *of = call->rows->info.name.data;
    WNNNumber number = WNN_NUMBER_INIT;
    int64_t integer = 0;
    switch (info->type) {
    case WNNAttributeType_Uint32:
        if (!take_integer(call, info, value, 0, UINT32_MAX, &integer))
            return false;
        to->value.u32 = (uint32_t)integer;
        return true;
    case WNNAttributeType_Int32:
        if (!take_integer(call, info, value, INT32_MIN, INT32_MAX, &integer))
            return false;
        to->value.i32 = (int32_t)integer;
        return true;
    case WNNAttributeType_Bool:
        if (value->kind != VALUE_WORD ||
            (strcmp(value->text.data, "true") != 0 && strcmp(value->text.data, "false") != 0))
            return FAIL(value->place, "%s of %s is true or false", info->name.data, of);
        to->value.boolean = value->text.data[0] == 't';
        return true;
    case WNNAttributeType_Float64:
    case WNNAttributeType_Number:
        if (!graph_text_number(value, &number))
            return FAIL(value->place, "%s of %s is a number", info->name.data, of);
        if (info->type == WNNAttributeType_Float64)
            to->value.f64 = wnn_number_double(number);
        else
            to->value.number = number;
        return true;
    case WNNAttributeType_Uint32List:
    case WNNAttributeType_Float32List:
        return take_list(call, info, value, to);
    case WNNAttributeType_DataType:
        to->value.dataType = is_name(value) ? graph_text_dtype(value->text) : WNNDataType_Undefined;
        return to->value.dataType != WNNDataType_Undefined ||
               FAIL(value->place, "%s of %s is a data type: \"float32\", \"int8\" and so on", info->name.data,
                    of);
    case WNNAttributeType_Enumerator:
        return take_enumerator(call, info, value, to);
    case WNNAttributeType_Activation:
        to->value.activation = make_activation(call, value);
        return to->value.activation != NULL;
    case WNNAttributeType_ActivationList:
        return take_activations(call, value, &to->value.activationList);
    default:
        return FAIL(value->place, "%s of %s cannot be written", info->name.data, of);
    }
}

static bool add_attribute(struct call *call, const WNNAttributeInfo *info, const struct value *value)
{
    WNNNamedAttribute *attribute = &call->attributes[call->attribute_count++];
    *attribute = (WNNNamedAttribute){info->name, {info->type, {0}}};
    return take_value(call, info, value, &attribute->value);
}

// Of attributes that share a name (a number or a list of them), the one that the value fits.
static const WNNAttributeInfo *find_fitting(const struct call *call, struct string name,
                                            const struct value *value)
{
    const WNNAttributeInfo *info = find_attribute(
        call, name, value->kind == VALUE_LIST ? WNNAttributeType_Uint32List : WNNAttributeType_Uint32);
    return info ? info : find_attribute(call, name, WNNAttributeType_Undefined);
}

// Marks an attribute, and those that mean the same, as given; false if it was.
static bool mark_given(struct call *call, const WNNAttributeInfo *info)
{
    const WNNAttributeInfo *attributes = call->rows->attributes;
    bool fresh = !call->is_attribute_given[info - attributes];
    for (size_t i = 0; i < call->rows->info.attributeCount; i++)
        if (attributes[i].place == info->place || is(attributes[i].name, wnn_string(info->name)))
            call->is_attribute_given[i] = true;
    return fresh;
}

static bool give_operand(struct call *call, size_t row, const struct value *value)
{
    WNNNamedAttribute *attribute = &call->attributes[call->attribute_count++];
    *attribute = (WNNNamedAttribute){call->rows->operands[row].name, {WNNAttributeType_Operand, {0}}};
    return find_operand(call, value, &attribute->value.value.operand);
}

static bool is_null(const struct value *value)
{
    return value->kind == VALUE_WORD && strcmp(value->text.data, "null") == 0;
}

// An operand by its name; false in *found: there is none of that name.
static bool take_named_operand(struct call *call, const struct argument *argument, bool *found)
{
    *found = true;
    for (size_t row = 0; row < call->rows->info.operandCount; row++) {
        const WNNOperandInfo *info = &call->rows->operands[row];
        if (info->kind == WNNOperandKind_Output || !is(info->name, argument->name))
            continue;
        bool first = info->kind == WNNOperandKind_Input ? call->named[row] : !call->given[row];
        call->named[row] = false;
        call->given[row] = true;
        if (!first)
            return FAIL(argument->place, "%s is given twice", info->name.data);
        return info->kind == WNNOperandKind_Input || is_null(&argument->value) ||
               give_operand(call, row, &argument->value);
    }
    *found = false;
    return true;
}

static bool take_named(struct call *call, const struct argument *argument)
{
    bool found;
    if (!take_named_operand(call, argument, &found) || found)
        return found && !call->error->status;
    const WNNAttributeInfo *info = find_fitting(call, argument->name, &argument->value);
    if (!info && strcmp(argument->name.data, "to") == 0) // what converters from ONNX write for cast
        info = find_attribute(call, STRING("dataType"), WNNAttributeType_DataType);
    if (!info && strcmp(argument->name.data, "label") == 0 && argument->value.kind == VALUE_STRING)
        return true;
    if (!info)
        return FAIL(argument->place, "%s has no option %.200s%s", call->rows->info.name.data,
                    argument->name.data, SUGGEST(argument->name, next_row));
    if (!mark_given(call, info))
        return FAIL(argument->place, "%s is given twice", info->name.data);
    return is_null(&argument->value) || add_attribute(call, info, &argument->value);
}

// What stands behind the operands without a name: optional operands and arguments, each in the order of the
// table.
static bool take_positional(struct call *call, const struct argument *argument)
{
    const struct operator_rows *rows = call->rows;
    for (size_t row = 0; is_name(&argument->value) && row < rows->info.operandCount; row++)
        if (rows->operands[row].kind == WNNOperandKind_Option && !call->given[row]) {
            call->given[row] = true;
            return give_operand(call, row, &argument->value);
        }
    for (size_t i = 0; i < rows->info.attributeCount; i++) {
        if (!rows->attributes[i].isArgument || call->is_attribute_given[i])
            continue;
        const WNNAttributeInfo *fitting =
            find_fitting(call, wnn_string(rows->attributes[i].name), &argument->value);
        mark_given(call, fitting);
        return add_attribute(call, fitting, &argument->value);
    }
    return FAIL(argument->place, "%s has no further argument without a name", rows->info.name.data);
}

// ---------------------------------------------------------------------------------------------------------------
// The call
// ---------------------------------------------------------------------------------------------------------------

// The forms of 2024 have one name with today's and differ in their arguments.
static struct string form_of(const struct value *value)
{
    static const struct {
        const char *today;
        struct string form;
    } forms[] = {
        {"argMin", {"argMinAxes", 10}}, {"argMax", {"argMaxAxes", 10}}, {"softmax", {"softmax2d", 9}}};
    for (size_t i = 0; i < value->argument_count; i++) {
        const struct argument *argument = &value->arguments[i];
        if (argument->name.length ? strcmp(argument->name.data, "axis") == 0 : i > 0)
            return value->text;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strcmp(value->text.data, forms[i].today) == 0)
            return forms[i].form;
    return value->text;
}

static bool check_complete(struct call *call)
{
    for (size_t i = 0; i < call->rows->info.attributeCount; i++)
        if (call->rows->attributes[i].isArgument && !call->is_attribute_given[i])
            return FAIL(call->value->place, "%s misses %s", call->rows->info.name.data,
                        call->rows->attributes[i].name.data);
    return true;
}

// Names of results have any length, labels do not (WNNLimits.maxStringLength).
static WNNStringView label_of(struct string name)
{
    size_t length = name.length < MAX_LABEL ? name.length : MAX_LABEL;
    while (length < name.length && length > 0 && ((unsigned char)name.data[length] & 0xC0) == 0x80)
        length--;
    return (WNNStringView){name.data, length};
}

// Records the call; its results are called `name`, also in messages. False without an error: an operand is
// missing that could not be recorded.
static bool record(struct call *call, struct string name, size_t capacity, WNNOperand *outputs, size_t *count)
{
    const struct value *value = call->value;
    call->rows = find_rows(call, form_of(value));
    if (!call->rows)
        return FAIL(value->place, "there is no operator %.200s%s", value->text.data,
                    SUGGEST(value->text, next_operator));
    size_t used = 0;
    if (!take_operands(call, &used))
        return false;
    for (size_t i = used; i < value->argument_count; i++) {
        const struct argument *argument = &value->arguments[i];
        if (call->attribute_count == MAX_ROWS)
            return FAIL(argument->place, "%s has too many arguments", call->rows->info.name.data);
        if (!(argument->name.length ? take_named(call, argument) : take_positional(call, argument)))
            return false;
    }
    if (!check_complete(call) || call->lacks_operand)
        return false;
    WNNOperatorCall say = WNN_OPERATOR_CALL_INIT;
    say.label = label_of(name);
    say.name = call->rows->info.name;
    say.inputCount = call->operand_count;
    say.inputs = call->operands;
    say.attributeCount = call->attribute_count;
    say.attributes = call->attributes;
    *count = wnnGraphBuilderCall(call->recorder->builder, &say, capacity, outputs);
    return *count > 0 || webnn_fail_builder(call->recorder, value->place, call->error);
}

// A call that stands where an operand is expected. The parser has limited how deep such calls may lie.
static bool make_operand(struct call *outer, const struct value *value, WNNOperand *operand)
{
    WNNOperand outputs[8];
    size_t count;
    struct call *call = allocate(outer, sizeof *call);
    if (!call)
        return false;
    *call = (struct call){.recorder = outer->recorder, .error = outer->error, .value = value};
    *operand = NULL;
    if (!record(call, value->text, sizeof outputs / sizeof outputs[0], outputs, &count)) {
        outer->lacks_operand = true;
        return !call->error->status;
    }
    if (count != 1)
        return FAIL(value->place, "%s has %zu results, and cannot stand for one operand",
                    call->rows->info.name.data, count);
    *operand = outputs[0];
    return true;
}

bool webnn_record_call(struct webnn_recorder *recorder, const struct statement *statement,
                       struct error *error)
{
    struct call state = {.recorder = recorder, .error = error, .value = &statement->value}, *call = &state;
    struct arena_mark mark = wnn_arena_mark(recorder->arena); // names have their places already
    size_t capacity = statement->target_count + 8, count = 0;
    WNNOperand *outputs = allocate(call, capacity * sizeof *outputs);
    bool good = outputs != NULL;
    if (good && is_name(call->value)) { // another name
        WNNOperand operand = NULL;
        good = find_operand(call, call->value, &operand) && !call->lacks_operand;
        outputs[0] = operand;
        count = 1;
    } else {
        good = good && record(call, statement->targets[0].name, capacity, outputs, &count);
    }
    if (good && count != statement->target_count)
        good = FAIL(statement->targets[0].place, "%s has %zu result%s here, but %zu name%s",
                    call->value->text.data, count, count == 1 ? "" : "s", statement->target_count,
                    statement->target_count == 1 ? "" : "s");
    for (size_t i = 0; i < statement->target_count; i++) {
        struct error *place = good ? error : &(struct error){WNNStatus_Success, ""};
        if (!webnn_add_name(recorder, &statement->targets[i], good ? outputs[i] : NULL, STRING(""), place))
            good = false;
    }
    wnn_arena_rewind(recorder->arena, mark);
    return good;
}
