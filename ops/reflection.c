// SPDX-License-Identifier: Apache-2.0
//
// webnn/reflection.h: the operator table for everybody, and calls by name.

#include "ops/builder.h"

#include <webnn/reflection.h>

#include <string.h>

// The types of attributes are those of the table, from 1 on.
#define TYPE_OF(kind) ((WNNAttributeType)((kind) + 1))
_Static_assert(TYPE_OF(ATTR_u32) == WNNAttributeType_Uint32, "the first");
_Static_assert(TYPE_OF(ATTR_dtype) == WNNAttributeType_DataType, "one between");
_Static_assert(TYPE_OF(ATTR_activations) == WNNAttributeType_ActivationList, "the last");

static WNNStringView text_of(const char *text)
{
    return (WNNStringView){text, strlen(text)};
}

// ---------------------------------------------------------------------------------------------------------------
// What there is
// ---------------------------------------------------------------------------------------------------------------

// The how manieth row that is an attribute or, otherwise, an operand; NULL: there are fewer.
static const struct op_row *find_row(uint32_t op, uint32_t index, bool attribute)
{
    const struct op_row *row = op < WNN_OP_COUNT ? wnn_ops[op].rows : NULL;
    for (; row && row->name; row++)
        if ((row->kind == ROW_ATTRIBUTE) == attribute && index-- == 0)
            return row;
    return NULL;
}

size_t wnnGetOperatorCount(void)
{
    return WNN_OP_COUNT;
}

uint32_t wnnFindOperator(WNNStringView name)
{
    enum op op = name.data ? wnn_op_find(wnn_string(name)) : WNN_OP_COUNT;
    return op == WNN_OP_COUNT ? WNN_INDEX_NONE : op;
}

WNNStatus wnnGetOperatorInfo(uint32_t index, WNNOperatorInfo *info)
{
    struct error error = {0};
    if (index >= WNN_OP_COUNT || !wnn_check_outputs(info, 1, sizeof *info, "operator info", &error))
        return WNNStatus_TypeError;
    *info = (WNNOperatorInfo){.name = text_of(wnn_ops[index].name),
                              .isActivation = wnn_op_is_activation((enum op)index)};
    for (const struct op_row *row = wnn_ops[index].rows; row->name; row++)
        ++*(row->kind == ROW_ATTRIBUTE ? &info->attributeCount : &info->operandCount);
    return WNNStatus_Success;
}

WNNStatus wnnGetOperandInfo(uint32_t operatorIndex, uint32_t index, WNNOperandInfo *info)
{
    struct error error = {0};
    const struct op_row *row = find_row(operatorIndex, index, false);
    if (!row || !wnn_check_outputs(info, 1, sizeof *info, "operand info", &error))
        return WNNStatus_TypeError;
    bool same = row->types & WNN_SAME;
    *info = (WNNOperandInfo){.name = text_of(row->name),
                             .kind = row->kind == ROW_OPTIONAL_INPUT ? WNNOperandKind_Option
                                     : wnn_op_row_is_input(row)      ? WNNOperandKind_Input
                                                                     : WNNOperandKind_Output,
                             .isOptional = wnn_op_row_is_optional(row),
                             .isList = wnn_op_row_is_list(row),
                             .dataTypes = same ? 0 : row->types,
                             .typeOf = same ? row->types & ~WNN_SAME : WNN_INDEX_NONE,
                             .minRank = row->min_rank,
                             .maxRank = row->max_rank};
    return WNNStatus_Success;
}

static WNNAttributeValue default_of(const struct op_info *info, const struct op_row *row)
{
    WNNAttributeValue value = WNN_ATTRIBUTE_VALUE_INIT;
    if (row->argument)
        return value;
    value.type = TYPE_OF(row->attr);
    memcpy(&value.value, (const char *)info->defaults + row->offset, wnn_attr_bytes(row->attr));
    return value;
}

WNNStatus wnnGetAttributeInfo(uint32_t operatorIndex, uint32_t index, WNNAttributeInfo *info)
{
    struct error error = {0};
    const struct op_row *row = find_row(operatorIndex, index, true);
    if (!row || !wnn_check_outputs(info, 1, sizeof *info, "attribute info", &error))
        return WNNStatus_TypeError;
    uint32_t place = 0;
    while (find_row(operatorIndex, place, true)->offset != row->offset)
        place++;
    *info = (WNNAttributeInfo){.name = text_of(row->name),
                               .type = TYPE_OF(row->attr),
                               .isArgument = row->argument,
                               .place = place,
                               .defaultValue = default_of(&wnn_ops[operatorIndex], row),
                               .enumerators = row->names};
    while (row->names && row->names[info->enumeratorCount])
        info->enumeratorCount++;
    return WNNStatus_Success;
}

// ---------------------------------------------------------------------------------------------------------------
// Calling
// ---------------------------------------------------------------------------------------------------------------

// Room for the attributes of any operator.
union attributes {
    WNNOperatorOptions head; // with which all of them begin
    struct arg_min_max_attrs arg_min_max;
    struct gru_attrs gru;
    struct lstm_attrs lstm;
    struct lstm_cell_attrs lstm_cell;
    WNNArgMinMaxAxesOptions axes;
    WNNConvTranspose2dOptions conv_transpose2d;
    WNNPool2dOptions pool2d;
    WNNResample2dOptions resample2d;
};

#define OP(class, id, method, options, ...)                                                                  \
    _Static_assert(sizeof(WNN##options##Options) <= sizeof(union attributes), "attributes of " #id);
#define OPX(class, id, method, options, defaults, attrs, ...)                                                \
    _Static_assert(sizeof(struct attrs) <= sizeof(union attributes), "attributes of " #id);
#include "ops/ops.def"

// A call while it is put together. By row: what has been given.
struct call {
    struct WNNGraphBuilderImpl *builder;
    const struct op_info *info;
    union attributes attrs;
    bool given[32];
};

#define fail_call(call, ...) wnn_fail(&(call)->builder->error, WNNStatus_TypeError, __VA_ARGS__)

// The name as messages have it.
#define QUOTED_NAME 64
static const char *quoted(WNNStringView name, char buffer[QUOTED_NAME])
{
    struct text text = {buffer, QUOTED_NAME, 0};
    buffer[0] = '\0';
    wnn_text_add_quoted(&text, wnn_string(name), QUOTED_NAME - 4);
    return buffer;
}
#define QUOTED(name) quoted((name), (char[QUOTED_NAME]){0})

static bool is_row(const struct op_row *row, const WNNNamedAttribute *attribute)
{
    WNNAttributeType type = row->kind == ROW_OPTIONAL_INPUT ? WNNAttributeType_Operand
                            : row->kind == ROW_ATTRIBUTE    ? TYPE_OF(row->attr)
                                                            : WNNAttributeType_Undefined;
    return type == attribute->value.type && type != WNNAttributeType_Undefined &&
           wnn_string_equal(wnn_string(attribute->name), wnn_string(text_of(row->name)));
}

// Rows of one thing: by several names, or in several types.
static bool is_same(const struct op_row *a, const struct op_row *b)
{
    return a->kind == b->kind && (a->offset == b->offset || strcmp(a->name, b->name) == 0);
}

static bool is_given(const struct call *call, const struct op_row *wanted)
{
    const struct op_row *rows = call->info->rows;
    for (size_t i = 0; rows[i].name; i++)
        if (call->given[i] && is_same(&rows[i], wanted))
            return true;
    return false;
}

static bool set_attribute(struct call *call, const WNNNamedAttribute *attribute)
{
    const struct op_row *row = call->info->rows;
    if (!wnn_check_string(&call->builder->limits, "the name of an attribute", attribute->name,
                          &call->builder->error))
        return false;
    while (row->name && !is_row(row, attribute))
        row++;
    if (!row->name)
        return fail_call(call, "%s has no attribute \"%s\" of type %d", call->info->name,
                         QUOTED(attribute->name), (int)attribute->value.type);
    if (is_given(call, row))
        return fail_call(call, "%s has its attribute \"%s\" twice", call->info->name,
                         QUOTED(attribute->name));
    call->given[row - call->info->rows] = true;
    memcpy((char *)&call->attrs + row->offset, &attribute->value.value,
           row->kind == ROW_OPTIONAL_INPUT ? sizeof(WNNOperand) : wnn_attr_bytes(row->attr));
    return true;
}

static bool begin(struct call *call, WNNGraphBuilder builder, const WNNOperatorCall *from)
{
    *call = (struct call){.builder = builder};
    if (!from)
        return fail_call(call, "there is no call");
    if (!wnn_check_chain(from->nextInChain, 0, "operator call", &builder->error) ||
        !wnn_check_string(&builder->limits, "the name of an operator", from->name, &builder->error))
        return false;
    uint32_t op = wnnFindOperator(from->name);
    if (op == WNN_INDEX_NONE)
        return fail_call(call, "there is no operator \"%s\"", QUOTED(from->name));
    if ((from->inputCount && !from->inputs) || (from->attributeCount && !from->attributes))
        return fail_call(call, "%s has %zu inputs and %zu attributes, but not both are there",
                         wnn_ops[op].name, from->inputCount, from->attributeCount);
    call->info = &wnn_ops[op];
    memcpy(&call->attrs, call->info->defaults, call->info->attrs_size);
    call->attrs.head.label = from->label;
    for (size_t i = 0; i < from->attributeCount; i++)
        if (!set_attribute(call, &from->attributes[i]))
            return false;
    return true;
}

// The number of inputs, and that no argument is missing.
static bool check_arguments(struct call *call, size_t input_count)
{
    size_t expected = 0;
    bool any = false;
    for (const struct op_row *row = call->info->rows; row->name; row++) {
        expected += row->kind == ROW_INPUT;
        any |= row->kind == ROW_INPUT_LIST;
        if (row->argument && !is_given(call, row))
            return fail_call(call, "%s lacks its argument %s", call->info->name, row->name);
    }
    return any || input_count == expected ||
           fail_call(call, "%s has %zu inputs; expected %zu", call->info->name, input_count, expected);
}

size_t wnnGraphBuilderCall(WNNGraphBuilder builder, const WNNOperatorCall *call, size_t capacity,
                           WNNOperand *outputs)
{
    struct call made;
    for (size_t i = 0; outputs && i < capacity; i++)
        outputs[i] = NULL;
    if (!builder || !begin(&made, builder, call) || !check_arguments(&made, call->inputCount))
        return 0;
    return wnn_builder_call(builder, (enum op)(made.info - wnn_ops), call->inputCount, call->inputs,
                            &made.attrs, capacity, outputs);
}

WNNActivation wnnGraphBuilderCallActivation(WNNGraphBuilder builder, const WNNOperatorCall *call)
{
    struct call made;
    if (!builder || !begin(&made, builder, call))
        return NULL;
    enum op op = (enum op)(made.info - wnn_ops);
    if (!wnn_op_is_activation(op) || call->inputCount > 0) {
        fail_call(&made,
                  wnn_op_is_activation(op) ? "the activation %s has inputs" : "%s is not an activation",
                  made.info->name);
        return NULL;
    }
    return wnn_builder_activation(builder, op, &made.attrs);
}
