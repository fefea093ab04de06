// SPDX-License-Identifier: Apache-2.0
//
// webnn/reflection.h: what has been recorded, as the calls that record it again.

#include "ops/attrs.h"
#include "ops/builder.h"

#include <webnn/reflection.h>

#include <string.h>

static WNNStringView text_of(const char *text)
{
    return (WNNStringView){text, strlen(text)};
}

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

size_t wnnGraphBuilderGetOperandCount(WNNGraphBuilder builder)
{
    return builder ? builder->graph.operand_count : 0;
}

size_t wnnOperandGetIndex(WNNOperand operand)
{
    return operand ? wnn_operand(operand)->index : SIZE_MAX;
}

WNNStatus wnnGraphBuilderGetOperand(WNNGraphBuilder builder, size_t index, WNNRecordedOperand *operand)
{
    struct error error = {0};
    if (index >= wnnGraphBuilderGetOperandCount(builder) ||
        !wnn_check_outputs(operand, 1, sizeof *operand, "recorded operand", &error))
        return WNNStatus_TypeError;
    const struct operand *from = builder->graph.operands[index];
    *operand = (WNNRecordedOperand){.operand = (WNNOperand)from,
                                    .source = from->input      ? WNNOperandSource_Input
                                              : from->producer ? WNNOperandSource_Operator
                                                               : WNNOperandSource_Constant,
                                    .name = wnn_string_view(wnn_operand_name(from)),
                                    .dataType = from->type.type,
                                    .shape = wnnOperandGetShape((WNNOperand)from)};
    if (from->constant) {
        operand->data = from->constant->data;
        operand->byteLength = from->constant->bytes;
    }
    return WNNStatus_Success;
}

// ---------------------------------------------------------------------------------------------------------------
// Attributes
// ---------------------------------------------------------------------------------------------------------------

static WNNAttributeValue value_of(const struct op_row *row, const void *attrs)
{
    WNNAttributeValue value = WNN_ATTRIBUTE_VALUE_INIT;
    value.type = (WNNAttributeType)(row->attr + 1); // as reflection.c asserts
    memcpy(&value.value, (const char *)attrs + row->offset, wnn_attr_bytes(row->attr));
    if (row->attr == ATTR_f64)
        value.value.f64 = wnn_attr_given(value.value.f64);
    return value;
}

// Room for the attributes, and for `extra` more; NULL: no memory.
static WNNNamedAttribute *tell_attributes(struct arena *arena, enum op op, const void *attrs, size_t extra,
                                          size_t *count)
{
    const struct op_info *info = &wnn_ops[op];
    size_t rows = 0;
    while (info->rows[rows].name)
        rows++;
    WNNNamedAttribute *told = wnn_arena_allocate(arena, (rows + extra + 1) * sizeof *told);
    *count = 0;
    for (const struct op_row *row = info->rows; told && row->name; row++)
        if (row->kind == ROW_ATTRIBUTE && wnn_attr_is_told(info, row, attrs))
            told[(*count)++] =
                (WNNNamedAttribute){text_of(row->name), value_of(wnn_attr_telling_row(info, row), attrs)};
    return told;
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

static WNNAttributeValue operand_value(struct operand *operand)
{
    WNNAttributeValue value = WNN_ATTRIBUTE_VALUE_INIT;
    value.type = WNNAttributeType_Operand;
    value.value.operand = (WNNOperand)operand;
    return value;
}

static bool tell_operator(struct arena *arena, const struct node *node, WNNRecordedOperator *to)
{
    WNNArgMinMaxAxesOptions *axes = wnn_arena_allocate(arena, sizeof *axes);
    WNNOperand *operands =
        wnn_arena_allocate(arena, (node->in_count + node->out_count + 1) * sizeof *operands);
    const void *attrs;
    if (!axes || !operands)
        return false;
    enum op op = wnn_op_form((enum op)node->op, node->attrs, axes, &attrs);
    size_t attribute_count, input_count = 0;
    WNNNamedAttribute *attributes = tell_attributes(arena, op, attrs, node->in_count, &attribute_count);
    if (!attributes)
        return false;
    unsigned index = 0;
    for (const struct op_row *row = wnn_ops[op].rows; row->name; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        unsigned end = row->kind == ROW_INPUT_LIST ? node->in_count : index + 1;
        for (; index < end; index++)
            if (row->kind != ROW_OPTIONAL_INPUT)
                operands[input_count++] = (WNNOperand)node->in[index];
            else if (node->in[index])
                attributes[attribute_count++] =
                    (WNNNamedAttribute){text_of(row->name), operand_value(node->in[index])};
    }
    for (unsigned i = 0; i < node->out_count; i++)
        operands[input_count + i] = (WNNOperand)node->out[i];
    *to = (WNNRecordedOperator){.call = {NULL, wnn_string_view(node->label), text_of(wnn_ops[op].name),
                                         input_count, operands, attribute_count, attributes},
                                .outputCount = node->out_count,
                                .outputs = operands + input_count};
    return true;
}

size_t wnnGraphBuilderGetOperatorCount(WNNGraphBuilder builder)
{
    return builder ? builder->graph.node_count : 0;
}

WNNStatus wnnGraphBuilderGetOperator(WNNGraphBuilder builder, size_t index, WNNRecordedOperator *recorded)
{
    struct error error = {0};
    if (index >= wnnGraphBuilderGetOperatorCount(builder) ||
        !wnn_check_outputs(recorded, 1, sizeof *recorded, "recorded operator", &error))
        return WNNStatus_TypeError;
    wnn_arena_free(&builder->told);
    return tell_operator(&builder->told, builder->graph.nodes[index], recorded) ? WNNStatus_Success
                                                                                : WNNStatus_OutOfMemory;
}

WNNStatus wnnGraphBuilderGetActivation(WNNGraphBuilder builder, WNNActivation activation,
                                       WNNRecordedOperator *recorded)
{
    struct error error = {0};
    const struct activation *from = wnn_activation(activation);
    if (!builder || !from || (from->graph && from->graph != &builder->graph) || // an operator's has none
        !wnn_check_outputs(recorded, 1, sizeof *recorded, "recorded activation", &error))
        return WNNStatus_TypeError;
    wnn_arena_free(&builder->told_activation);
    size_t count = 0;
    WNNNamedAttribute *attributes = NULL;
    if (from->op != WNN_OP_softmax) {
        attributes = tell_attributes(&builder->told_activation, (enum op)from->op, from->attrs, 0, &count);
        if (!attributes)
            return WNNStatus_OutOfMemory;
    }
    *recorded = (WNNRecordedOperator){
        .call = {NULL, WNN_STRING_VIEW_INIT, text_of(wnn_ops[from->op].name), 0, NULL, count, attributes}};
    return WNNStatus_Success;
}
