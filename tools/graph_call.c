// SPDX-License-Identifier: Apache-2.0
//
// From the text of a call to wnn_builder_call, by the operator table alone: operands and attributes are
// matched with its rows by position or by name.

#include "tools/graph_file.h"

#include "tools/memory.h"

#include <stdlib.h>
#include <string.h>

// A call while it is put together.
struct call {
    struct model *model;
    const struct graph_text *text;
    struct arena *arena;
    struct error *error;
    const struct value *value;
    enum op op;
    const struct op_info *info;
    unsigned char *attrs;
    bool given[64];       // by row: an operand or attribute that has its value
    bool named[64];       // by row: a required operand whose name stands before it
    WNNOperand *operands; // the positional ones
    size_t operand_count, operand_capacity;
};

#define FAIL(place, ...) graph_text_fail(call->text, (place), call->error, __VA_ARGS__)

static bool set_attribute(struct call *call, const struct op_row *row, const struct value *value);
static bool make_operand(const struct call *outer, const struct value *value, WNNOperand *operand);

// ---------------------------------------------------------------------------------------------------------------
// Names
// ---------------------------------------------------------------------------------------------------------------

struct name_list {
    unsigned next;
    const struct call *call;
};

static const char *next_operator(void *argument)
{
    struct name_list *list = argument;
    return list->next < WNN_OP_COUNT ? wnn_ops[list->next++].name : NULL;
}

static const char *next_row(void *argument)
{
    struct name_list *list = argument;
    const struct op_row *rows = list->call->info->rows;
    while (rows[list->next].name) {
        const struct op_row *row = &rows[list->next++];
        if (row->kind == ROW_ATTRIBUTE || row->kind == ROW_INPUT || row->kind == ROW_OPTIONAL_INPUT)
            return row->name;
    }
    return NULL;
}

static const char *next_operand(void *argument)
{
    struct name_list *list = argument;
    const struct model *model = list->call->model;
    return list->next < model->name_count ? model->names[list->next++].name.data : NULL;
}

// ", did you mean relu?", or nothing.
static const char *suggestion(const struct call *call, struct string wanted, const char *(*next)(void *),
                              char buffer[96])
{
    struct name_list list = {0, call};
    const char *name = nearest_name(wanted, next, &list);
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
        return FAIL(value->place, "%s expects an operand here", call->info->name);
    *operand = model_find(call->model, value->text);
    if (!*operand)
        return FAIL(value->place, "nothing is called %.200s%s", value->text.data,
                    SUGGEST(value->text, next_operand));
    return true;
}

static bool add_operand(struct call *call, const struct value *value)
{
    WNNOperand operand;
    if (!find_operand(call, value, &operand))
        return false;
    call->operands = must(wnn_arena_grow(call->arena, call->operands, call->operand_count,
                                         &call->operand_capacity, sizeof operand));
    call->operands[call->operand_count++] = operand;
    return true;
}

// The operands that stand first: as many as the operator has, or for concat a list, or all that come. Returns
// through *used how many arguments they take.
static bool take_operands(struct call *call, size_t *used)
{
    const struct argument *arguments = call->value->arguments;
    size_t count = call->value->argument_count, at = 0;
    for (const struct op_row *row = call->info->rows; row->name; row++) {
        if (row->kind != ROW_INPUT && row->kind != ROW_INPUT_LIST)
            continue;
        const struct value *value = NULL;
        if (at < count && arguments[at].name.length == 0) {
            value = &arguments[at++].value;
        } else {
            for (size_t i = at; i < count; i++)
                if (arguments[i].name.length && strcmp(arguments[i].name.data, row->name) == 0)
                    value = &arguments[i].value;
            call->named[row - call->info->rows] = value != NULL;
        }
        if (!value)
            return FAIL(call->value->place, "%s misses its operand %s", call->info->name, row->name);
        call->given[row - call->info->rows] = true;
        if (row->kind == ROW_INPUT_LIST && value->kind == VALUE_LIST) {
            for (size_t i = 0; i < value->item_count; i++)
                if (!add_operand(call, &value->items[i]))
                    return false;
            continue;
        }
        if (!add_operand(call, value))
            return false;
        while (row->kind == ROW_INPUT_LIST && at < count && arguments[at].name.length == 0 &&
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

static bool whole_number(struct call *call, const struct op_row *row, const struct value *value, int64_t low,
                         int64_t high, int64_t *result)
{
    WNNNumber number;
    if (!graph_text_number(value, &number) || number.type != WNNNumberType_Int64 || number.value.i64 < low ||
        number.value.i64 > high)
        return FAIL(value->place, "%s of %s is a whole number from %lld to %lld", row->name, call->info->name,
                    (long long)low, (long long)high);
    *result = number.value.i64;
    return true;
}

static bool set_list(struct call *call, const struct op_row *row, const struct value *value,
                     unsigned char *place)
{
    if (value->kind != VALUE_LIST)
        return FAIL(value->place, "%s of %s is a list: [1, 2]", row->name, call->info->name);
    if (row->attr == ATTR_u32s) {
        uint32_t *data = must(wnn_arena_allocate(call->arena, (value->item_count + 1) * sizeof *data));
        for (size_t i = 0; i < value->item_count; i++) {
            int64_t number = 0;
            if (!whole_number(call, row, &value->items[i], 0, UINT32_MAX, &number))
                return false;
            data[i] = (uint32_t)number;
        }
        *(WNNUint32List *)(void *)place = (WNNUint32List){data, value->item_count};
        return true;
    }
    float *data = must(wnn_arena_allocate(call->arena, (value->item_count + 1) * sizeof *data));
    for (size_t i = 0; i < value->item_count; i++) {
        WNNNumber number;
        if (!graph_text_number(&value->items[i], &number))
            return FAIL(value->items[i].place, "%s of %s is a list of numbers", row->name, call->info->name);
        data[i] = (float)wnn_round_to_dtype(wnn_number_double(number), WNNDataType_Float32);
    }
    *(WNNFloat32List *)(void *)place = (WNNFloat32List){data, value->item_count};
    return true;
}

static bool set_enum(struct call *call, const struct op_row *row, const struct value *value,
                     unsigned char *place)
{
    char choices[256];
    struct text text = TEXT(choices);
    choices[0] = '\0';
    for (int i = 0; row->names[i]; i++) {
        if (is_name(value) && strcmp(row->names[i], value->text.data) == 0) {
            *(uint32_t *)(void *)place = (uint32_t)i + 1;
            return true;
        }
        wnn_text_add(&text, "%s\"%s\"", i == 0 ? "" : row->names[i + 1] ? ", " : " or ", row->names[i]);
    }
    return FAIL(value->place, "%s of %s is %s", row->name, call->info->name, choices);
}

static WNNActivation make_activation(struct call *outer, const struct value *value)
{
    struct call inner = *outer, *call = &inner;
    call->value = value;
    call->op = wnn_op_find(value->text);
    if ((!is_name(value) && value->kind != VALUE_CALL) || call->op == WNN_OP_COUNT ||
        !wnn_op_is_activation(call->op)) {
        FAIL(value->place,
             "%.200s is not an activation: relu, sigmoid, clamp(minValue=0, maxValue=6) and so on",
             value->text.data ? value->text.data : "this");
        return NULL;
    }
    call->info = &wnn_ops[call->op];
    call->attrs = must(wnn_arena_copy(call->arena, call->info->defaults, call->info->attrs_size));
    for (size_t i = 0; i < value->argument_count; i++) {
        const struct argument *argument = &value->arguments[i];
        const struct op_row *row = wnn_op_attr_row(call->info, argument->name, -1);
        if (!row) {
            FAIL(argument->place, "the activation %s has no option %.200s%s", call->info->name,
                 argument->name.data, SUGGEST(argument->name, next_row));
            return NULL;
        }
        if (!set_attribute(call, row, &argument->value))
            return NULL;
    }
    WNNActivation activation = wnn_builder_activation(call->model->builder, call->op, call->attrs);
    if (!activation) {
        struct error builder = {WNNStatus_Success, ""};
        model_builder_error(call->model, &builder);
        FAIL(value->place, "%s", builder.message);
    }
    return activation;
}

static bool set_activations(struct call *call, const struct value *value, WNNActivationList *list)
{
    if (value->kind != VALUE_LIST)
        return FAIL(value->place, "activations is a list: [sigmoid, tanh]");
    WNNActivation *data = must(wnn_arena_allocate(call->arena, (value->item_count + 1) * sizeof *data));
    for (size_t i = 0; i < value->item_count; i++) {
        data[i] = make_activation(call, &value->items[i]);
        if (!data[i])
            return false;
    }
    *list = (WNNActivationList){data, value->item_count};
    return true;
}

static bool set_attribute(struct call *call, const struct op_row *row, const struct value *value)
{
    void *place = call->attrs + row->offset;
    WNNNumber number = WNN_NUMBER_INIT;
    int64_t integer = 0;
    switch (row->attr) {
    case ATTR_u32:
        if (!whole_number(call, row, value, 0, UINT32_MAX, &integer))
            return false;
        *(uint32_t *)place = (uint32_t)integer;
        return true;
    case ATTR_i32:
        if (!whole_number(call, row, value, INT32_MIN, INT32_MAX, &integer))
            return false;
        *(int32_t *)place = (int32_t)integer;
        return true;
    case ATTR_bool:
        if (value->kind != VALUE_WORD ||
            (strcmp(value->text.data, "true") != 0 && strcmp(value->text.data, "false") != 0))
            return FAIL(value->place, "%s of %s is true or false", row->name, call->info->name);
        *(bool *)place = value->text.data[0] == 't';
        return true;
    case ATTR_f64:
    case ATTR_number:
        if (!graph_text_number(value, &number))
            return FAIL(value->place, "%s of %s is a number", row->name, call->info->name);
        if (row->attr == ATTR_f64)
            *(double *)place = wnn_number_double(number);
        else
            *(WNNNumber *)place = number;
        return true;
    case ATTR_u32s:
    case ATTR_f32s:
        return set_list(call, row, value, place);
    case ATTR_dtype:
        *(WNNDataType *)place = is_name(value) ? graph_text_dtype(value->text) : WNNDataType_Undefined;
        if (*(WNNDataType *)place == WNNDataType_Undefined)
            return FAIL(value->place, "%s of %s is a data type: \"float32\", \"int8\" and so on", row->name,
                        call->info->name);
        return true;
    case ATTR_enum:
        return set_enum(call, row, value, place);
    case ATTR_activation: {
        WNNActivation activation = make_activation(call, value);
        *(WNNActivation *)place = activation;
        return activation != NULL;
    }
    case ATTR_activations:
        return set_activations(call, value, place);
    }
    return false;
}

// Of rows that share a name (a number or a list of them), the one that the value fits.
static const struct op_row *fitting_row(const struct op_info *info, struct string name,
                                        const struct value *value)
{
    const struct op_row *row = wnn_op_attr_row(info, name, value->kind == VALUE_LIST ? ATTR_u32s : ATTR_u32);
    return row ? row : wnn_op_attr_row(info, name, -1);
}

static bool same_argument(const struct op_row *a, const struct op_row *b)
{
    return a->offset == b->offset || strcmp(a->name, b->name) == 0;
}

// Marks a row, and those that mean the same, as given; false if it was.
static bool mark_given(struct call *call, const struct op_row *row)
{
    bool fresh = !call->given[row - call->info->rows];
    for (const struct op_row *other = call->info->rows; other->name; other++)
        if (other == row ||
            (other->kind == ROW_ATTRIBUTE && row->kind == ROW_ATTRIBUTE && same_argument(row, other)))
            call->given[other - call->info->rows] = true;
    return fresh;
}

static bool take_named(struct call *call, const struct argument *argument)
{
    unsigned index;
    const struct op_row *row = wnn_op_operand_row(call->info, argument->name, &index);
    bool null = argument->value.kind == VALUE_WORD && strcmp(argument->value.text.data, "null") == 0;
    if (row && row->kind != ROW_OPTIONAL_INPUT) {
        bool *named = &call->named[row - call->info->rows];
        bool first = *named;
        *named = false;
        return first ? true : FAIL(argument->place, "%s is given twice", row->name);
    }
    if (!row)
        row = fitting_row(call->info, argument->name, &argument->value);
    if (!row && strcmp(argument->name.data, "to") == 0) // what converters from ONNX write for cast
        row = wnn_op_attr_row(call->info, STRING("dataType"), ATTR_dtype);
    if (!row && strcmp(argument->name.data, "label") == 0 && argument->value.kind == VALUE_STRING)
        return true;
    if (!row)
        return FAIL(argument->place, "%s has no option %.200s%s", call->info->name, argument->name.data,
                    SUGGEST(argument->name, next_row));
    if (!mark_given(call, row))
        return FAIL(argument->place, "%s is given twice", row->name);
    if (null)
        return true;
    if (row->kind == ROW_ATTRIBUTE)
        return set_attribute(call, row, &argument->value);
    return find_operand(call, &argument->value, (WNNOperand *)(void *)(call->attrs + row->offset));
}

// The first optional operand that has not been given, or NULL.
static const struct op_row *next_optional(const struct call *call)
{
    for (const struct op_row *row = call->info->rows; row->name; row++)
        if (row->kind == ROW_OPTIONAL_INPUT && !call->given[row - call->info->rows])
            return row;
    return NULL;
}

// What stands behind the operands without a name: optional operands and arguments, each in the order of the
// table.
static bool take_positional(struct call *call, const struct argument *argument)
{
    const struct op_row *row = is_name(&argument->value) ? next_optional(call) : NULL;
    if (row) {
        mark_given(call, row);
        return find_operand(call, &argument->value, (WNNOperand *)(void *)(call->attrs + row->offset));
    }
    row = call->info->rows;
    while (row->name && row->kind != ROW_ATTRIBUTE)
        row++;
    for (unsigned i = 0; i < wnn_op_argument_rows(call->info); i++) {
        if (call->given[row + i - call->info->rows])
            continue;
        const struct op_row *fitting =
            fitting_row(call->info, (struct string){row[i].name, strlen(row[i].name)}, &argument->value);
        mark_given(call, fitting);
        return set_attribute(call, fitting, &argument->value);
    }
    return FAIL(argument->place, "%s has no further argument without a name", call->info->name);
}

// ---------------------------------------------------------------------------------------------------------------
// The call
// ---------------------------------------------------------------------------------------------------------------

// The forms of 2024 have one name with today's and differ in their arguments.
static enum op form_of(enum op op, const struct value *value)
{
    static const struct {
        enum op today, form;
    } forms[] = {{WNN_OP_argMin, WNN_OP_argMinAxes},
                 {WNN_OP_argMax, WNN_OP_argMaxAxes},
                 {WNN_OP_softmax, WNN_OP_softmax2d}};
    for (size_t i = 0; i < value->argument_count; i++) {
        const struct argument *argument = &value->arguments[i];
        if (argument->name.length ? strcmp(argument->name.data, "axis") == 0 : i > 0)
            return op;
    }
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (op == forms[i].today)
            return forms[i].form;
    return op;
}

static bool check_complete(struct call *call)
{
    const struct op_row *row = call->info->rows;
    while (row->name && row->kind != ROW_ATTRIBUTE)
        row++;
    for (unsigned i = 0; i < wnn_op_argument_rows(call->info); i++)
        if (!call->given[row + i - call->info->rows])
            return FAIL(call->value->place, "%s misses %s", call->info->name, row[i].name);
    return true;
}

// Records the call; its results are called `label` in messages.
static bool record(struct call *call, struct string label, size_t capacity, WNNOperand *outputs,
                   size_t *count)
{
    const struct value *value = call->value;
    call->op = wnn_op_find(value->text);
    if (call->op == WNN_OP_COUNT)
        return FAIL(value->place, "there is no operator %.200s%s", value->text.data,
                    SUGGEST(value->text, next_operator));
    call->op = form_of(call->op, value);
    call->info = &wnn_ops[call->op];
    call->attrs = must(wnn_arena_copy(call->arena, call->info->defaults, call->info->attrs_size));
    size_t used = 0;
    if (!take_operands(call, &used))
        return false;
    for (size_t i = used; i < value->argument_count; i++) {
        const struct argument *argument = &value->arguments[i];
        if (!(argument->name.length ? take_named(call, argument) : take_positional(call, argument)))
            return false;
    }
    if (!check_complete(call))
        return false;

    // Every attributes struct begins with an options struct, which begins like this one.
    ((WNNOperatorOptions *)(void *)call->attrs)->label = wnn_string_view(label);
    *count = wnn_builder_call(call->model->builder, call->op, call->operand_count, call->operands,
                              call->attrs, capacity, outputs);
    if (*count > 0)
        return true;
    struct error builder = {WNNStatus_Success, ""};
    model_builder_error(call->model, &builder);
    return FAIL(value->place, "%s", builder.message);
}

static struct call begin_call(const struct call *like, const struct value *value)
{
    return (struct call){
        .model = like->model, .text = like->text, .arena = like->arena, .error = like->error, .value = value};
}

// A call that stands where an operand is expected. The parser has limited how deep such calls may lie.
static bool make_operand(const struct call *outer, const struct value *value, WNNOperand *operand)
{
    struct call inner = begin_call(outer, value), *call = &inner;
    WNNOperand outputs[8];
    size_t count;
    if (!record(call, value->text, sizeof outputs / sizeof outputs[0], outputs, &count))
        return false;
    if (count != 1)
        return FAIL(value->place, "%s has %zu results, and cannot stand for one operand", call->info->name,
                    count);
    *operand = outputs[0];
    return true;
}

static bool record_statement(struct call *call, const struct statement *statement)
{
    size_t capacity = statement->target_count + 8, count;
    WNNOperand *outputs = must(wnn_arena_allocate(call->arena, capacity * sizeof *outputs));
    if (!record(call, statement->targets[0].name, capacity, outputs, &count))
        return false;
    if (count != statement->target_count)
        return FAIL(statement->targets[0].place, "%s has %zu result%s here, but %zu name%s", call->info->name,
                    count, count == 1 ? "" : "s", statement->target_count,
                    statement->target_count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++)
        if (!model_add_name(call->model, statement->targets[i].name, outputs[i]))
            return FAIL(statement->targets[i].place, "%.200s is defined already",
                        statement->targets[i].name.data);
    return true;
}

bool graph_call_record(struct model *model, const struct graph_text *text, struct arena *scratch,
                       const struct statement *statement, struct error *error)
{
    const struct value *value = &statement->value;
    struct call state = {.model = model, .text = text, .arena = scratch, .error = error, .value = value};
    struct call *call = &state;
    if (value->kind != VALUE_WORD)
        return record_statement(call, statement);
    WNNOperand operand = model_find(model, value->text);
    if (!operand)
        return FAIL(value->place, "nothing is called %.200s%s", value->text.data,
                    SUGGEST(value->text, next_operand));
    return statement->target_count == 1 && model_add_name(model, statement->targets[0].name, operand)
               ? true
               : FAIL(statement->targets[0].place, "%.200s is defined already",
                      statement->targets[0].name.data);
}
