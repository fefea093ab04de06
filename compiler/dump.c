// SPDX-License-Identifier: Apache-2.0
//
// Graphs as text and as DOT.

#include "compiler/compile.h"
#include "ops/geometry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LINE 16384 // longer lists are cut off

static void add_number(struct text *text, double value)
{
    if (isnan(value) || isinf(value)) {
        wnn_text_add(text, "\"%s\"", isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        return;
    }
    // The shortest of the forms that reads back as the same number.
    char buffer[32];
    for (int digits = 6; digits <= 17; digits++) {
        struct text number = TEXT(buffer);
        wnn_text_add(&number, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    wnn_text_add(text, "%s", buffer);
}

static void add_mlnumber(struct text *text, WNNNumber number)
{
    if (number.type == WNNNumberType_Int64)
        wnn_text_add(text, "%lld", (long long)number.value.i64);
    else if (number.type == WNNNumberType_Uint64)
        wnn_text_add(text, "%llu", (unsigned long long)number.value.u64);
    else
        add_number(text, number.value.f64);
}

static void add_attributes(enum op op, const void *attrs, const char *separator, struct text *text);

static void add_activation(struct text *text, const struct activation *activation)
{
    wnn_text_add(text, "%s", wnn_ops[activation->op].name);
    char buffer[256] = "";
    struct text inner = TEXT(buffer);
    if (activation->op != WNN_OP_softmax)
        add_attributes((enum op)activation->op, activation->attrs, "", &inner);
    if (inner.length)
        wnn_text_add(text, "(%s)", buffer);
}

static void add_value(const struct op_row *row, const char *at, struct text *text)
{
    switch (row->attr) {
    case ATTR_u32: {
        uint32_t value;
        memcpy(&value, at, sizeof value);
        wnn_text_add(text, "%u", value);
        break;
    }
    case ATTR_i32: {
        int32_t value;
        memcpy(&value, at, sizeof value);
        wnn_text_add(text, "%d", (int)value);
        break;
    }
    case ATTR_bool:
        wnn_text_add(text, "%s", *(const bool *)(const void *)at ? "true" : "false");
        break;
    case ATTR_f64: {
        double value;
        memcpy(&value, at, sizeof value);
        add_number(text, wnn_attr_given(value));
        break;
    }
    case ATTR_number: {
        WNNNumber number;
        memcpy(&number, at, sizeof number);
        add_mlnumber(text, number);
        break;
    }
    case ATTR_u32s: {
        WNNUint32List list;
        memcpy(&list, at, sizeof list);
        wnn_text_add(text, "[");
        for (size_t i = 0; i < list.count; i++)
            wnn_text_add(text, "%s%u", i ? ", " : "", list.data[i]);
        wnn_text_add(text, "]");
        break;
    }
    case ATTR_f32s: {
        WNNFloat32List list;
        memcpy(&list, at, sizeof list);
        wnn_text_add(text, "[");
        for (size_t i = 0; i < list.count; i++) {
            wnn_text_add(text, "%s", i ? ", " : "");
            add_number(text, (double)list.data[i]);
        }
        wnn_text_add(text, "]");
        break;
    }
    case ATTR_dtype: {
        WNNDataType type;
        memcpy(&type, at, sizeof type);
        wnn_text_add(text, "\"%s\"", wnn_dtype_name(type));
        break;
    }
    case ATTR_enum: {
        int32_t value;
        memcpy(&value, at, sizeof value);
        wnn_text_add(text, "\"%s\"", row->names[value - 1]);
        break;
    }
    case ATTR_activation: {
        WNNActivation handle;
        memcpy(&handle, at, sizeof handle);
        add_activation(text, wnn_activation(handle));
        break;
    }
    case ATTR_activations: {
        WNNActivationList list;
        memcpy(&list, at, sizeof list);
        wnn_text_add(text, "[");
        for (size_t i = 0; i < list.count; i++) {
            wnn_text_add(text, "%s", i ? ", " : "");
            add_activation(text, wnn_activation(list.data[i]));
        }
        wnn_text_add(text, "]");
        break;
    }
    }
}

static void add_attributes(enum op op, const void *attrs, const char *separator, struct text *text)
{
    const struct op_info *info = &wnn_ops[op];
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (row->kind != ROW_ATTRIBUTE || !wnn_attr_is_told(info, row, attrs))
            continue;
        const struct op_row *telling = wnn_attr_telling_row(info, row);
        wnn_text_add(text, "%s%s=", separator, row->name);
        add_value(telling, (const char *)attrs + telling->offset, text);
        separator = ", ";
    }
}

// The forms of 2024 of argMin and argMax say more than the operator's rows do.
static void add_arg_axes(const struct node *node, const char *separator, struct text *text)
{
    const struct arg_min_max_attrs *attrs = node->attrs;
    if (attrs->axes.count == 1 && !attrs->selectLastIndex) {
        add_attributes((enum op)node->op, attrs, separator, text);
        return;
    }
    wnn_text_add(text, "%saxes=[", separator);
    for (size_t i = 0; i < attrs->axes.count; i++)
        wnn_text_add(text, "%s%u", i ? ", " : "", attrs->axes.data[i]);
    wnn_text_add(text, "]%s%s", attrs->options.keepDimensions ? ", keepDimensions=true" : "",
                 attrs->selectLastIndex ? ", selectLastIndex=true" : "");
}

typedef void (*write_name)(void *argument, const struct operand *operand, struct text *text);

// Whether each step takes what the one before made, and operands behind that: then one call stands in the
// other, or behind it.
static bool is_pipeline(const struct node *node, const struct expression *fused)
{
    const struct shape *shape = &fused->steps[fused->count - 1].type.shape;
    if (fused->at == WNN_AT_OUTPUT && !wnn_shape_equal(shape, &node->out[0]->type.shape))
        return false;
    for (unsigned i = 0; i < fused->count; i++) {
        const struct elementwise_step *step = &fused->steps[i];
        if (step->in[0] != (i ? fused->operand_count + i : 0))
            return false;
        for (unsigned j = 1; j < step->in_count; j++)
            if (step->in[j] == 0 || step->in[j] > fused->operand_count)
                return false;
    }
    return true;
}

// Whether all that is fused is; if not, a node is written as statements in braces.
static bool is_one_statement(const struct node *node)
{
    for (const struct expression *fused = node->fused; fused; fused = fused->next)
        if (!is_pipeline(node, fused))
            return false;
    return true;
}

// The operands of a step of a pipeline, but for the first, and its attributes.
static void add_arguments(const struct node *node, const struct expression *fused, unsigned step,
                          const char *separator, write_name name, void *argument, struct text *text)
{
    const struct elementwise_step *call = &fused->steps[step];
    for (unsigned i = 1; i < call->in_count; i++, separator = ", ") {
        wnn_text_add(text, "%s", separator);
        name(argument, node->in[fused->first + call->in[i] - 1], text);
    }
    add_attributes((enum op)call->op, call->attrs, separator, text);
}

// "cast(dequantizeLinear(x, s, z), dataType=...)": the first `count` steps of what is fused at an input.
static void add_nested(const struct node *node, const struct expression *fused, unsigned count,
                       write_name name, void *argument, struct text *text)
{
    if (count == 0) {
        name(argument, node->in[fused->at], text);
        return;
    }
    wnn_text_add(text, "%s(", wnn_ops[fused->steps[count - 1].op].name);
    add_nested(node, fused, count - 1, name, argument, text);
    add_arguments(node, fused, count - 1, ", ", name, argument, text);
    wnn_text_add(text, ")");
}

// " + add(r) + relu": what is fused at the output.
static void add_behind(const struct node *node, const struct expression *fused, write_name name,
                       void *argument, struct text *text)
{
    for (unsigned i = 0; i < fused->count; i++) {
        char buffer[1024] = "";
        struct text inner = TEXT(buffer);
        add_arguments(node, fused, i, "", name, argument, &inner);
        wnn_text_add(text, inner.length ? " + %s(%s)" : " + %s", wnn_ops[fused->steps[i].op].name, buffer);
    }
}

// "t9.1": a step of a node that makes t9. Of those that are fused with it, the steps of inputs come first,
// then the operator, then those of its result, the last of which is the node's.
static void add_step_name(const struct node *node, unsigned step, struct text *text)
{
    wnn_text_add(text, "t%u.%u", node->out[0]->index, step);
}

// The steps that are fused at inputs before those of `end`; NULL: all of them.
static unsigned steps_before(const struct node *node, const struct expression *end)
{
    unsigned count = 0;
    for (const struct expression *f = node->fused; f && f != end; f = f->next)
        if (f->at != WNN_AT_OUTPUT)
            count += f->count;
    return count;
}

static void add_input(const struct node *node, unsigned i, write_name name, void *argument, struct text *text)
{
    const struct expression *fused = wnn_fused(node, i);
    if (!fused)
        name(argument, node->in[i], text);
    else if (is_one_statement(node))
        add_nested(node, fused, fused->count, name, argument, text);
    else
        add_step_name(node, steps_before(node, fused->next) - 1, text);
}

void wnn_dump_call(const struct node *node,
                   void (*name)(void *argument, const struct operand *operand, struct text *text),
                   void *argument, struct text *text)
{
    const struct op_info *info = &wnn_ops[node->op];
    wnn_text_add(text, "%s(", info->name);
    const char *separator = "";
    unsigned index = 0;
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        unsigned end = row->kind == ROW_INPUT_LIST ? node->in_count : index + 1;
        for (; index < end; index++) {
            if (!node->in[index])
                continue;
            wnn_text_add(text, "%s", separator);
            if (row->kind == ROW_OPTIONAL_INPUT)
                wnn_text_add(text, "%s=", row->name);
            add_input(node, index, name, argument, text);
            separator = ", ";
        }
    }
    if (node->op == WNN_OP_argMin || node->op == WNN_OP_argMax)
        add_arg_axes(node, separator, text);
    else
        add_attributes((enum op)node->op, node->attrs, separator, text);
    wnn_text_add(text, ")");
    const struct expression *fused = wnn_fused(node, WNN_AT_OUTPUT);
    if (fused && is_one_statement(node))
        add_behind(node, fused, name, argument, text);
}

// Whether a name of an input needs quotes: if it is no word, or might be a name that the dump makes.
static bool is_plain_name(struct string name)
{
    const char *data = name.data;
    bool made = name.length > 1 && (data[0] == 'c' || data[0] == 't') && data[1] >= '0' && data[1] <= '9';
    if (name.length == 0 || made || (data[0] >= '0' && data[0] <= '9') || data[0] == '.')
        return false;
    for (size_t i = 0; i < name.length; i++) {
        char c = data[i];
        if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.')
            return false;
    }
    return true;
}

static void add_name(void *argument, const struct operand *operand, struct text *text)
{
    struct string name = wnn_operand_name(operand);
    (void)argument;
    if (!operand->input)
        wnn_text_add(text, "%s%u", operand->constant ? "c" : "t", operand->index);
    else if (is_plain_name(name))
        wnn_text_add_quoted(text, name, 64);
    else {
        wnn_text_add(text, "\"");
        wnn_text_add_quoted(text, name, 64);
        wnn_text_add(text, "\"");
    }
}

static void add_type(const struct descriptor *type, struct text *text)
{
    wnn_text_add(text, "%s%s", wnn_dtype_name(type->type), SHAPE_TEXT(&type->shape));
}

static void add_place(const struct placement *placement, struct text *text)
{
    switch (placement->place) {
    case PLACE_ARENA:
        wnn_text_add(text, " @%zu", placement->offset);
        break;
    case PLACE_OUTPUT:
        wnn_text_add(text, placement->within ? " @output %u + %zu" : " @output %u", placement->slot,
                     placement->within);
        break;
    default:
        break;
    }
}

static void flush(const struct text_sink *sink, struct text *text)
{
    sink->write(sink->argument, text->data, text->length);
    text->length = 0;
    text->data[0] = 0;
}

static void add_outputs(const struct node *node, struct text *text)
{
    wnn_text_add(text, node->out_count == 1 ? "" : "[");
    for (unsigned i = 0; i < node->out_count; i++) {
        wnn_text_add(text, "%s", i ? ", " : "");
        add_name(NULL, node->out[i], text);
    }
    wnn_text_add(text, node->out_count == 1 ? "" : "]");
}

// "t9.1": what step 1 of the node that makes t9 makes.
static void add_value_name(const struct node *node, unsigned value, struct text *text)
{
    const struct elementwise_attrs *attrs = node->attrs;
    if (value < node->in_count) {
        add_name(NULL, node->in[value], text);
        return;
    }
    unsigned step = value - node->in_count, output = attrs->steps[step].output;
    if (output != WNN_NO_OUTPUT)
        add_name(NULL, node->out[output], text);
    else
        add_step_name(node, step, text);
}

// The statements of an elementwise node in braces.
static void add_steps(const struct node *node, struct text *text)
{
    const struct elementwise_attrs *attrs = node->attrs;
    wnn_text_add(text, "{ ");
    for (unsigned i = 0; i < attrs->count; i++) {
        const struct elementwise_step *step = &attrs->steps[i];
        add_value_name(node, node->in_count + i, text);
        wnn_text_add(text, " = %s(", wnn_ops[step->op].name);
        for (unsigned j = 0; j < step->in_count; j++) {
            wnn_text_add(text, "%s", j ? ", " : "");
            add_value_name(node, step->in[j], text);
        }
        add_attributes((enum op)step->op, step->attrs, ", ", text);
        wnn_text_add(text, "); ");
    }
    wnn_text_add(text, "}");
}

// "t9.1 = ": the next step of the node that makes t9.
static unsigned add_step(const struct node *node, unsigned *count, struct text *text)
{
    wnn_text_add(text, "t%u.%u = ", node->out[0]->index, *count);
    return (*count)++;
}

static void add_new_shape(const struct shape *shape, struct text *text)
{
    wnn_text_add(text, ", newShape=[");
    for (unsigned i = 0; i < shape->rank; i++)
        wnn_text_add(text, "%s%u", i ? ", " : "", shape->dim[i]);
    wnn_text_add(text, "]); ");
}

// The statements of what is fused; the first has number `number`. Steps that see a result in another shape
// stand between reshapes.
static void add_fused(const struct node *node, const struct expression *fused, unsigned number,
                      struct text *text)
{
    const struct shape *shape = &fused->steps[fused->count - 1].type.shape;
    bool output = fused->at == WNN_AT_OUTPUT,
         reshaped = output && !wnn_shape_equal(shape, &node->out[0]->type.shape);
    if (reshaped) {
        add_step_name(node, number, text);
        wnn_text_add(text, " = reshape(");
        add_step_name(node, number - 1, text);
        add_new_shape(shape, text);
    }
    number += reshaped;
    for (unsigned i = 0; i < fused->count; i++) {
        const struct elementwise_step *step = &fused->steps[i];
        if (output && !reshaped && i + 1 == fused->count)
            add_name(NULL, node->out[0], text);
        else
            add_step_name(node, number + i, text);
        wnn_text_add(text, " = %s(", wnn_ops[step->op].name);
        for (unsigned j = 0; j < step->in_count; j++) {
            unsigned value = step->in[j];
            wnn_text_add(text, "%s", j ? ", " : "");
            if (value > fused->operand_count)
                add_step_name(node, number + value - fused->operand_count - 1, text);
            else if (value == 0 && output)
                add_step_name(node, number - 1, text);
            else
                add_name(NULL, node->in[value ? fused->first + value - 1 : fused->at], text);
        }
        add_attributes((enum op)step->op, step->attrs, ", ", text);
        wnn_text_add(text, "); ");
    }
    if (reshaped) {
        add_name(NULL, node->out[0], text);
        wnn_text_add(text, " = reshape(");
        add_step_name(node, number + fused->count - 1, text);
        add_new_shape(&node->out[0]->type.shape, text);
    }
}

// A node and what is fused with it, as statements in braces.
static void add_statements(const struct node *node, struct text *text)
{
    const struct expression *output = wnn_fused(node, WNN_AT_OUTPUT);
    wnn_text_add(text, "{ ");
    for (const struct expression *f = node->fused; f; f = f->next)
        if (f != output)
            add_fused(node, f, steps_before(node, f), text);
    if (output)
        add_step_name(node, steps_before(node, NULL), text);
    else
        add_outputs(node, text);
    wnn_text_add(text, " = ");
    wnn_dump_call(node, add_name, NULL, text);
    wnn_text_add(text, "; ");
    if (output)
        add_fused(node, output, steps_before(node, NULL) + 1, text);
    wnn_text_add(text, "}");
}

static bool is_in_order(WNNUint32List permutation)
{
    for (size_t i = 0; i < permutation.count; i++)
        if (permutation.data[i] != i)
            return false;
    return true;
}

static void add_permutation(WNNUint32List permutation, struct text *text)
{
    for (size_t i = 0; i < permutation.count; i++)
        wnn_text_add(text, "%s%u", i ? ", " : ", permutation=[", permutation.data[i]);
    wnn_text_add(text, "]); ");
}

// A step that calls an operator with what another step makes, up to the comma or parenthesis.
static unsigned add_step_of(const struct node *node, unsigned *count, const char *call, unsigned step,
                            struct text *text)
{
    unsigned made = add_step(node, count, text);
    wnn_text_add(text, "%s(", call);
    add_step_name(node, step, text);
    return made;
}

// An input in the order of a permutation, by name; `step` is where it was transposed, if it was.
static void add_ordered_input(const struct node *node, unsigned input, WNNUint32List order, unsigned step,
                              struct text *text)
{
    if (is_in_order(order))
        add_name(NULL, node->in[input], text);
    else
        add_step_name(node, step, text);
}

// A call with input 0, up to the comma.
static void add_call(const struct node *node, const char *call, struct text *text)
{
    wnn_text_add(text, "%s(", call);
    add_name(NULL, node->in[0], text);
}

// What rmsNormalization does, in braces.
static void add_rms_normalization(const struct node *node, struct text *text)
{
    const struct rms_normalization_attrs *attrs = node->attrs;
    wnn_text_add(text, "{ ");
    unsigned count = 0, square = add_step(node, &count, text);
    add_call(node, "mul", text);
    wnn_text_add(text, ", ");
    add_name(NULL, node->in[0], text);
    wnn_text_add(text, "); ");
    unsigned mean = add_step_of(node, &count, "reduceMean", square, text);
    for (size_t i = 0; i < attrs->axes.count; i++)
        wnn_text_add(text, "%s%u", i ? ", " : ", axes=[", attrs->axes.data[i]);
    wnn_text_add(text, "], keepDimensions=true); ");
    unsigned sum = add_step_of(node, &count, "linear", mean, text);
    wnn_text_add(text, ", alpha=1, beta=");
    add_number(text, attrs->epsilon);
    wnn_text_add(text, "); ");
    unsigned root = add_step_of(node, &count, "sqrt", sum, text);
    wnn_text_add(text, "); ");
    if (node->in[1]) {
        unsigned result = add_step(node, &count, text);
        add_call(node, "div", text);
        wnn_text_add(text, ", ");
        add_step_name(node, root, text);
        wnn_text_add(text, "); ");
        add_outputs(node, text);
        wnn_text_add(text, " = mul(");
        add_step_name(node, result, text);
        wnn_text_add(text, ", ");
        add_name(NULL, node->in[1], text);
    } else {
        add_outputs(node, text);
        wnn_text_add(text, " = ");
        add_call(node, "div", text);
        wnn_text_add(text, ", ");
        add_step_name(node, root, text);
    }
    wnn_text_add(text, "); }");
}

static unsigned add_cast_of(const struct node *node, unsigned *count, unsigned step, WNNDataType type,
                            struct text *text)
{
    unsigned cast = add_step_of(node, count, "cast", step, text);
    wnn_text_add(text, ", dataType=\"%s\"); ", wnn_dtype_name(type));
    return cast;
}

// What an attention does, in braces.
static void add_attention(const struct node *node, struct text *text)
{
    const struct attention_attrs *attrs = node->attrs;
    const WNNUint32List orders[3] = {attrs->queryPermutation, attrs->keyPermutation, attrs->valuePermutation};
    unsigned count = 0, turned[3] = {0};
    wnn_text_add(text, "{ ");
    for (unsigned i = 0; i < 3; i++) {
        if (is_in_order(orders[i]))
            continue;
        turned[i] = add_step(node, &count, text);
        wnn_text_add(text, "transpose(");
        add_name(NULL, node->in[i], text);
        add_permutation(orders[i], text);
    }
    unsigned scores = add_step(node, &count, text);
    wnn_text_add(text, "matmul(");
    add_ordered_input(node, 0, orders[0], turned[0], text);
    wnn_text_add(text, ", ");
    add_ordered_input(node, 1, orders[1], turned[1], text);
    wnn_text_add(text, "); ");
    if (attrs->scale != 1) {
        scores = add_step_of(node, &count, "linear", scores, text);
        wnn_text_add(text, ", alpha=");
        add_number(text, attrs->scale);
        wnn_text_add(text, "); ");
    }
    WNNDataType type = node->out[0]->type.type, wide = node->in[3] ? node->in[3]->type.type : type;
    if (wide != type)
        scores = add_cast_of(node, &count, scores, wide, text);
    if (node->in[3]) {
        scores = add_step_of(node, &count, "add", scores, text);
        wnn_text_add(text, ", ");
        add_name(NULL, node->in[3], text);
        wnn_text_add(text, "); ");
    }
    scores = add_step_of(node, &count, "softmax", scores, text);
    wnn_text_add(text, ", axis=%zu); ", attrs->queryPermutation.count - 1);
    if (wide != type)
        scores = add_cast_of(node, &count, scores, type, text);
    if (attrs->zeroNan) {
        unsigned weights = scores, is_nan = add_step_of(node, &count, "isNaN", weights, text);
        wnn_text_add(text, "); ");
        unsigned rest = add_step_of(node, &count, "logicalNot", is_nan, text);
        wnn_text_add(text, "); ");
        unsigned zeros = add_cast_of(node, &count, rest, type, text);
        scores = add_step_of(node, &count, "where", is_nan, text);
        wnn_text_add(text, ", ");
        add_step_name(node, zeros, text);
        wnn_text_add(text, ", ");
        add_step_name(node, weights, text);
        wnn_text_add(text, "); ");
    }
    bool straight = is_in_order(attrs->outputPermutation);
    unsigned mixed = straight ? 0 : add_step(node, &count, text);
    if (straight) {
        add_name(NULL, node->out[0], text);
        wnn_text_add(text, " = ");
    }
    wnn_text_add(text, "matmul(");
    add_step_name(node, scores, text);
    wnn_text_add(text, ", ");
    add_ordered_input(node, 2, orders[2], turned[2], text);
    wnn_text_add(text, "); ");
    if (!straight) {
        add_name(NULL, node->out[0], text);
        wnn_text_add(text, " = transpose(");
        add_step_name(node, mixed, text);
        add_permutation(attrs->outputPermutation, text);
    }
    wnn_text_add(text, "}");
}

// A step that calls an operator with what a step makes and an input.
static unsigned add_step_with(const struct node *node, unsigned *count, const char *call, unsigned step,
                              unsigned input, struct text *text)
{
    unsigned made = add_step_of(node, count, call, step, text);
    wnn_text_add(text, ", ");
    add_name(NULL, node->in[input], text);
    wnn_text_add(text, "); ");
    return made;
}

// What rotaryEmbedding does, in braces. Cosines and sines are of one half, or of all.
static void add_rotary_embedding(const struct node *node, struct text *text)
{
    uint32_t axis = ((const struct rotary_embedding_attrs *)node->attrs)->axis;
    const struct rotation r = wnn_node_rotation(node);
    unsigned count = 2;
    wnn_text_add(text, "{ [");
    add_step_name(node, 0, text);
    wnn_text_add(text, ", ");
    add_step_name(node, 1, text);
    wnn_text_add(text, "] = split(");
    add_name(NULL, node->in[0], text);
    wnn_text_add(text, ", splits=2, axis=%u); ", axis);
    if (r.far[1] || r.far[2]) {
        unsigned crossed = add_step_of(node, &count, "neg", 1, text);
        wnn_text_add(text, "); ");
        unsigned joined = add_step_of(node, &count, "concat", crossed, text);
        wnn_text_add(text, ", ");
        add_step_name(node, 0, text);
        wnn_text_add(text, ", axis=%u); ", axis);
        unsigned sines = add_step_with(node, &count, "mul", joined, 2, text);
        unsigned cosines = add_step(node, &count, text);
        add_call(node, "mul", text);
        wnn_text_add(text, ", ");
        add_name(NULL, node->in[1], text);
        wnn_text_add(text, "); ");
        add_outputs(node, text);
        wnn_text_add(text, " = add(");
        add_step_name(node, cosines, text);
        wnn_text_add(text, ", ");
        add_step_name(node, sines, text);
        wnn_text_add(text, "); }");
        return;
    }
    unsigned halves[2];
    for (unsigned i = 0; i < 2; i++) {
        unsigned straight = add_step_with(node, &count, "mul", i, 1, text),
                 crossed = add_step_with(node, &count, "mul", 1 - i, 2, text);
        halves[i] = add_step_of(node, &count, i ? "add" : "sub", straight, text);
        wnn_text_add(text, ", ");
        add_step_name(node, crossed, text);
        wnn_text_add(text, "); ");
    }
    add_outputs(node, text);
    wnn_text_add(text, " = concat(");
    add_step_name(node, halves[0], text);
    wnn_text_add(text, ", ");
    add_step_name(node, halves[1], text);
    wnn_text_add(text, ", axis=%u); }", axis);
}

static void add_kernel(const struct node *node, const struct text_sink *sink, struct text *text)
{
    if (node->lowering == WNN_LOWER_VIEW)
        wnn_text_add(text, " view");
    else if (sink->kernels && node->kernel)
        wnn_text_add(text, node->reason ? " by %s (%s)" : " by %s", node->kernel, node->reason);
}

void wnn_dump_text(const struct graph *graph, const struct text_sink *sink)
{
    char buffer[LINE] = "";
    struct text text = TEXT(buffer);
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (operand->producer)
            continue;
        wnn_text_add(&text, "%s ", operand->input ? "input" : "const");
        add_name(NULL, operand, &text);
        wnn_text_add(&text, ": ");
        add_type(&operand->type, &text);
        wnn_text_add(&text, ";\n");
        flush(sink, &text);
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        if (node->op == WNN_OP_elementwise) {
            add_steps(node, &text);
        } else if (!is_one_statement(node)) {
            add_statements(node, &text);
        } else if (node->op == WNN_OP_attention && !node->fused) {
            add_attention(node, &text);
        } else if (node->op == WNN_OP_rmsNormalization && !node->fused) {
            add_rms_normalization(node, &text);
        } else if (node->op == WNN_OP_rotaryEmbedding && !node->fused) {
            add_rotary_embedding(node, &text);
        } else {
            // Attention is written out without them.
            wnn_text_add(&text, "%s", node->op == WNN_OP_attendedKeys ? "// " : "");
            add_outputs(node, &text);
            wnn_text_add(&text, " = ");
            wnn_dump_call(node, add_name, NULL, &text);
            wnn_text_add(&text, ";");
        }
        wnn_text_add(&text, " // ");
        for (unsigned j = 0; j < node->out_count; j++) {
            wnn_text_add(&text, "%s", j ? ", " : "");
            if (node->op == WNN_OP_elementwise && node->out_count > 1) { // which do not stand in this order
                add_name(NULL, node->out[j], &text);
                wnn_text_add(&text, ": ");
            }
            add_type(&node->out[j]->type, &text);
            if (!graph->in_builder)
                add_place(&node->out[j]->placement, &text);
        }
        if (!graph->in_builder)
            add_kernel(node, sink, &text);
        if (node->label.length) {
            wnn_text_add(&text, " \"");
            wnn_text_add_quoted(&text, node->label, 64);
            wnn_text_add(&text, "\"");
        }
        wnn_text_add(&text, "\n");
        flush(sink, &text);
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        wnn_text_add(&text, "output \"");
        wnn_text_add_quoted(&text, graph->outputs[i].name, 64);
        wnn_text_add(&text, "\" = ");
        add_name(NULL, graph->outputs[i].operand, &text);
        wnn_text_add(&text, ";\n");
        flush(sink, &text);
    }
}

// A name inside of a DOT string, in which Graphviz would take &#27; for a character.
static void add_escaped(struct string name, struct text *text)
{
    char buffer[512] = "";
    struct text plain = TEXT(buffer);
    wnn_text_add_quoted(&plain, name, 64);
    for (const char *at = buffer; *at; at++)
        if (*at == '&')
            wnn_text_add(text, "&amp;");
        else
            wnn_text_add(text, *at == '"' || *at == '\\' ? "\\%c" : "%c", *at);
}

// "(dequantizeLinear) + relu": what is fused at inputs, and at the output.
static void add_fused_names(const struct node *node, struct text *text)
{
    const char *separator = "(";
    for (unsigned i = 0; i < node->in_count; i++) {
        const struct expression *fused = wnn_fused(node, i);
        for (unsigned j = 0; fused && j < fused->count; j++, separator = ", ")
            wnn_text_add(text, "%s%s", separator, wnn_ops[fused->steps[j].op].name);
    }
    wnn_text_add(text, separator[0] == ',' ? ")" : "");
    const struct expression *fused = wnn_fused(node, WNN_AT_OUTPUT);
    for (unsigned j = 0; fused && j < fused->count; j++)
        wnn_text_add(text, " + %s", wnn_ops[fused->steps[j].op].name);
}

void wnn_dump_dot(const struct graph *graph, const struct text_sink *sink)
{
    char buffer[LINE] = "";
    struct text text = TEXT(buffer);
    wnn_text_add(&text, "digraph webnn {\n  node [shape=box, fontname=\"sans-serif\"];\n");
    flush(sink, &text);
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (!operand->input)
            continue;
        wnn_text_add(&text, "  o%u [shape=ellipse, label=\"", operand->index);
        add_escaped(wnn_operand_name(operand), &text);
        wnn_text_add(&text, "\\n");
        add_type(&operand->type, &text);
        wnn_text_add(&text, "\"];\n");
        flush(sink, &text);
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        const struct elementwise_attrs *chain = node->op == WNN_OP_elementwise ? node->attrs : NULL;
        wnn_text_add(&text, "  n%u [label=\"%s", node->index, chain ? "" : wnn_ops[node->op].name);
        for (unsigned j = 0; chain && j < chain->count; j++)
            wnn_text_add(&text, "%s%s", j ? ", " : "", wnn_ops[chain->steps[j].op].name);
        add_fused_names(node, &text);
        if (node->label.length) {
            wnn_text_add(&text, "\\n");
            add_escaped(node->label, &text);
        }
        wnn_text_add(&text, "\\n");
        add_type(&node->out[0]->type, &text);
        wnn_text_add(&text, "\"];\n");
        for (unsigned j = 0; j < wnn_operand_count(node); j++) {
            const struct operand *in = node->in[j];
            if (in && in->producer)
                wnn_text_add(&text, "  n%u -> n%u;\n", in->producer->index, node->index);
            else if (in && in->input)
                wnn_text_add(&text, "  o%u -> n%u;\n", in->index, node->index);
        }
        flush(sink, &text);
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        const struct operand *operand = graph->outputs[i].operand;
        wnn_text_add(&text, "  r%zu [shape=ellipse, label=\"", i);
        add_escaped(graph->outputs[i].name, &text);
        wnn_text_add(&text, "\"];\n");
        if (operand->producer)
            wnn_text_add(&text, "  n%u -> r%zu;\n", operand->producer->index, i);
        else
            wnn_text_add(&text, "  o%u -> r%zu;\n", operand->index, i);
        flush(sink, &text);
    }
    wnn_text_add(&text, "}\n");
    flush(sink, &text);
}
