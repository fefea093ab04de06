// SPDX-License-Identifier: Apache-2.0
//
// Nodes of stored plans. Everything that recording checks of a call is checked here of a node, by the same
// functions, and what passes and backends settle between them when they fuse is settled anew.

#include "compiler/load.h"
#include "compiler/rewrite.h"
#include "ops/attrs.h"
#include "ops/check.h"
#include "ops/expression.h"

#include <string.h>

enum {
    MAX_OPERANDS = 8192,
    MAX_EXPRESSIONS = 33, // at 32 inputs and the output
    MAX_OUTPUTS = 3,      // of an operator without a list of them
    // The fewest bytes of an item of a list.
    NUMBER_BYTES = 4,
    STEP_BYTES = 16,
    EXPRESSION_BYTES = 16,
    ACTIVATION_BYTES = 4
};

// A node before it is one.
struct draft {
    enum op op;
    const struct op_info *info;
    struct string label;
    void *attrs;
    unsigned in_count;
    struct operand **in;   // padded with NULL for the rows of the operator
    struct operand **seen; // the same as the operator sees them
    struct {
        struct expression *expression;
        struct operand **in;
        uint32_t turn; // in which it was fused
    } fused[MAX_EXPRESSIONS];
    unsigned fused_count;
    uint32_t weights;
};

static uint32_t types_of(void *context, enum op op, const struct op_row *row)
{
    return wnn_supported_types(context, op, row);
}

static void *allocate(struct reader *reader, size_t count, size_t size)
{
    void *items = wnn_arena_allocate(&reader->arena, (count + !count) * size);
    if (!items)
        wnn_fail_memory(reader->error);
    return items;
}

// ---------------------------------------------------------------------------------------------------------------
// Operators and attributes
// ---------------------------------------------------------------------------------------------------------------

// Those that the compiler makes have names here too; those about shapes are in no plan.
static bool take_op(struct reader *reader, enum op *op)
{
    struct string name = wnn_string(wnn_cursor_text(&reader->head));
    for (unsigned i = 0; i < WNN_OP_END; i++) {
        const struct op_info *info = &wnn_ops[i];
        if (!info->name || strlen(info->name) != name.length ||
            memcmp(info->name, name.data, name.length) != 0)
            continue;
        *op = (enum op)i;
        if (info->class < CLASS_SHAPING || i == WNN_OP_argMinAxes || i == WNN_OP_argMaxAxes)
            return true;
    }
    return wnn_load_check(reader) &&
           FAIL(reader, "node %zu is of an operator that plans do not have", reader->graph->node_count);
}

static bool take_attrs(struct reader *reader, enum op op, bool of_activation, void *attrs);

static bool take_list(struct reader *reader, char *at)
{
    struct cursor *cursor = &reader->head;
    WNNUint32List list = {NULL, WNN_LIST_ABSENT}; // that of floats has the same layout
    struct cursor before = *cursor;
    if (wnn_cursor_u32(cursor) != STORED_NONE) {
        *cursor = before;
        list.count = wnn_cursor_count(cursor, NUMBER_BYTES);
        uint32_t *items = allocate(reader, list.count, sizeof *items);
        if (!items)
            return false;
        for (size_t i = 0; i < list.count; i++)
            items[i] = wnn_cursor_u32(cursor);
        list.data = items;
    }
    memcpy(at, &list, sizeof list);
    return true;
}

// As recording checks those of an activation; the operator that has it completes them.
static const void *take_activation_attrs(struct reader *reader, enum op op)
{
    WNNOperatorOptions no_label = WNN_OPERATOR_OPTIONS_INIT;
    struct error inner = {0};
    struct op_call call = {.op = op,
                           .info = &wnn_ops[op],
                           .attrs = &no_label,
                           .arena = &reader->arena,
                           .limits = reader->load->limits,
                           .error = &inner};
    void *attrs = wnn_arena_copy(&reader->arena, wnn_ops[op].defaults, wnn_ops[op].attrs_size);
    if (!attrs)
        wnn_fail_memory(reader->error);
    if (!attrs || !take_attrs(reader, op, true, attrs))
        return NULL;
    if (wnn_attrs_take(&call, NULL, attrs))
        return call.attrs;
    wnn_fail(reader->error, inner.status, "load: %s", inner.message);
    return NULL;
}

static bool take_activations(struct reader *reader, char *at)
{
    uint32_t count = wnn_cursor_count(&reader->head, ACTIVATION_BYTES);
    WNNActivation *items = allocate(reader, count, sizeof *items);
    WNNActivationList list = {items, count};
    for (uint32_t i = 0; items && i < count; i++) {
        struct activation *activation = allocate(reader, 1, sizeof *activation);
        enum op op;
        if (!activation || !take_op(reader, &op))
            return false;
        if (!wnn_op_is_activation(op))
            return FAIL(reader, "%s is no activation", wnn_ops[op].name);
        const void *attrs = take_activation_attrs(reader, op);
        if (!attrs)
            return false;
        *activation = (struct activation){NULL, (uint16_t)op, attrs};
        items[i] = (WNNActivation)activation;
    }
    memcpy(at, &list, sizeof list);
    return items != NULL;
}

static bool take_attr(struct reader *reader, const struct op_row *row, char *at)
{
    struct cursor *cursor = &reader->head;
    uint32_t word;
    bool flag;
    double number;
    WNNNumber typed = WNN_NUMBER_INIT;
    uint64_t bits;
    switch (row->attr) {
    case ATTR_activation: // is a node of its own, or fused
        return true;
    case ATTR_u32s:
    case ATTR_f32s:
        return take_list(reader, at);
    case ATTR_activations:
        return take_activations(reader, at);
    case ATTR_bool:
        word = wnn_cursor_u32(cursor);
        if (word > 1)
            wnn_cursor_fail(cursor, "a boolean is neither 0 nor 1");
        flag = word;
        memcpy(at, &flag, sizeof flag);
        return true;
    case ATTR_f64:
        number = wnn_cursor_f64(cursor);
        memcpy(at, &number, sizeof number);
        return true;
    case ATTR_number:
        typed.type = (WNNNumberType)wnn_cursor_u32(cursor);
        bits = wnn_cursor_u64(cursor);
        memcpy(&typed.value, &bits, sizeof bits);
        memcpy(at, &typed, sizeof typed);
        return true;
    case ATTR_u32:
    case ATTR_i32:
    case ATTR_dtype:
    case ATTR_enum:
        break;
    }
    word = wnn_cursor_u32(cursor);
    memcpy(at, &word, sizeof word);
    return true;
}

// Activations have no activations.
static bool take_attrs(struct reader *reader, enum op op, bool of_activation, void *attrs)
{
    const struct op_info *info = &wnn_ops[op];
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (row->kind != ROW_ATTRIBUTE || !wnn_op_row_is_first(info, row))
            continue;
        if (of_activation && row->attr == ATTR_activations)
            return FAIL(reader, "an activation has an activation");
        if (!take_attr(reader, row, (char *)attrs + row->offset))
            return false;
    }
    return wnn_load_check(reader);
}

static void *take_new_attrs(struct reader *reader, enum op op)
{
    const struct op_info *info = &wnn_ops[op];
    void *attrs = wnn_arena_copy(&reader->arena, info->defaults, info->attrs_size);
    if (!attrs)
        wnn_fail_memory(reader->error);
    return attrs && take_attrs(reader, op, false, attrs) ? attrs : NULL;
}

// What recording does: attributes by themselves, operands by the table, and inference, which completes the
// attributes.
static bool infer(struct reader *reader, struct op_call *call, const void *attrs)
{
    WNNOperatorOptions no_label = WNN_OPERATOR_OPTIONS_INIT;
    struct error inner = {0};
    call->info = &wnn_ops[call->op];
    call->arena = &reader->graph->arena;
    call->limits = reader->load->limits;
    call->error = &inner;
    call->attrs = &no_label;
    if (wnn_attrs_take(call, NULL, attrs) &&
        wnn_op_check_operands(call, types_of, (void *)(uintptr_t)reader->load->backend) &&
        call->info->infer(call))
        return true;
    return wnn_fail(reader->error, inner.status, "load: %s", inner.message);
}

// ---------------------------------------------------------------------------------------------------------------
// Steps
// ---------------------------------------------------------------------------------------------------------------

// A draft of a step that infers to the type that it has.
static bool take_step(struct reader *reader, struct operand *values, unsigned value_count,
                      struct elementwise_step *step)
{
    struct cursor *cursor = &reader->head;
    enum op op;
    struct operand *in[3] = {NULL};
    if (!take_op(reader, &op))
        return false;
    if (!wnn_op_is_elementwise(op))
        return FAIL(reader, "%s is not of single elements", wnn_ops[op].name);
    *step =
        (struct elementwise_step){.op = (uint16_t)op, .in_count = (uint8_t)wnn_op_input_rows(&wnn_ops[op])};
    if (wnn_cursor_count(cursor, NUMBER_BYTES) != step->in_count || step->in_count > 3)
        wnn_cursor_fail(cursor, "a step has the wrong number of operands");
    for (unsigned i = 0; i < step->in_count && !cursor->problem; i++) {
        uint32_t value = wnn_cursor_u32(cursor);
        if (value >= value_count)
            wnn_cursor_fail(cursor, "a step reads what no step before it has made");
        step->in[i] = (uint8_t)value;
        in[i] = &values[value < value_count ? value : 0];
    }
    uint32_t output = wnn_cursor_u32(cursor);
    if (output != STORED_NONE && output >= WNN_ELEMENTWISE_OUTPUTS)
        wnn_cursor_fail(cursor, "a step makes an output of which there are none");
    step->output = output == STORED_NONE ? WNN_NO_OUTPUT : (uint8_t)output;
    if (!wnn_load_check(reader) || !wnn_load_type(reader, "a step", &step->type))
        return false;
    const void *attrs = take_new_attrs(reader, op);
    struct descriptor out = {0};
    struct op_call call = {
        .op = op, .in = in, .in_count = step->in_count, .out = &out, .out_count = 1, .out_capacity = 1};
    if (!attrs || !infer(reader, &call, attrs))
        return false;
    if (call.out_count != 1 || !wnn_descriptor_equal(&call.out[0], &step->type))
        return FAIL(reader, "a step is not of the type that %s makes", wnn_ops[op].name);
    step->attrs = call.attrs;
    values[value_count].type = step->type;
    return true;
}

// Steps on `in_count` values, behind which there is room for their results. *outputs: how many there are,
// which are those from 0 on.
static const struct elementwise_step *take_steps(struct reader *reader, struct operand *values,
                                                 unsigned in_count, unsigned *count, unsigned *outputs)
{
    uint32_t step_count = wnn_cursor_count(&reader->head, STEP_BYTES), made = 0;
    if (step_count == 0 || step_count > WNN_ELEMENTWISE_STEPS || in_count > WNN_ELEMENTWISE_INPUTS)
        wnn_cursor_fail(&reader->head, "there are too many steps or operands, or none");
    if (!wnn_load_check(reader))
        return NULL;
    struct elementwise_step *steps = wnn_arena_allocate(&reader->graph->arena, step_count * sizeof steps[0]);
    if (!steps) {
        wnn_fail_memory(reader->error);
        return NULL;
    }
    *outputs = 0;
    for (unsigned i = 0; i < step_count; i++) {
        if (!take_step(reader, values, in_count + i, &steps[i]))
            return NULL;
        if (steps[i].output == WNN_NO_OUTPUT)
            continue;
        if (made >> steps[i].output & 1) {
            FAIL(reader, "two steps make one output");
            return NULL;
        }
        made |= 1u << steps[i].output;
        ++*outputs;
    }
    if (made == 0 || made != (1u << *outputs) - 1) {
        FAIL(reader, "the outputs of steps are not those from the first to the last");
        return NULL;
    }
    *count = step_count;
    return steps;
}

// ---------------------------------------------------------------------------------------------------------------
// Parts of a node
// ---------------------------------------------------------------------------------------------------------------

// A list of operands; those that are absent are NULL if `optional`. There is room for `least`.
static struct operand **take_operands(struct reader *reader, bool optional, unsigned least, unsigned *count)
{
    struct cursor *cursor = &reader->head;
    *count = wnn_cursor_count(cursor, NUMBER_BYTES);
    if (*count > MAX_OPERANDS)
        wnn_cursor_fail(cursor, "a node has more than 8192 operands");
    if (!wnn_load_check(reader))
        return NULL;
    struct operand **operands = allocate(reader, *count > least ? *count : least, sizeof operands[0]);
    for (unsigned i = 0; operands && i < *count; i++) {
        uint32_t number = wnn_cursor_u32(cursor);
        operands[i] = number == STORED_NONE && optional ? NULL : wnn_load_operand(reader, number);
    }
    return operands && wnn_load_check(reader) ? operands : NULL;
}

// Of the operators that only the compiler makes, the mask and the attended keys of attention and the scale of
// rmsNormalization may be absent.
static bool may_be_absent(enum op op, const struct op_row *row, unsigned index)
{
    return wnn_op_row_is_optional(row) || (op == WNN_OP_attention && index >= 3) ||
           (op == WNN_OP_rmsNormalization && index == 1);
}

static bool take_inputs(struct reader *reader, struct draft *draft)
{
    unsigned rows = wnn_op_input_rows(draft->info), index = 0;
    bool list = draft->info->rows->kind == ROW_INPUT_LIST;
    draft->in = take_operands(reader, true, rows, &draft->in_count);
    if (!draft->in)
        return false;
    if (list ? draft->in_count < rows : draft->in_count > rows)
        return FAIL(reader, "node %zu, %s, has %u operands", reader->graph->node_count, draft->info->name,
                    draft->in_count);
    unsigned all = list ? draft->in_count : rows;
    for (const struct op_row *row = draft->info->rows; row->name; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        unsigned end = row->kind == ROW_INPUT_LIST ? draft->in_count : index + 1;
        for (; index < end; index++)
            if (!draft->in[index] && !may_be_absent(draft->op, row, index))
                return FAIL(reader, "node %zu, %s, lacks its %s", reader->graph->node_count,
                            draft->info->name, row->name);
    }
    draft->seen = allocate(reader, all, sizeof draft->seen[0]);
    struct operand *seen = allocate(reader, all, sizeof *seen);
    if (!draft->seen || !seen)
        return false;
    for (unsigned i = 0; i < all; i++) {
        if (draft->in[i])
            seen[i] = *draft->in[i];
        draft->seen[i] = draft->in[i] ? &seen[i] : NULL;
    }
    return true;
}

// Of an expression at an input the operator sees what it makes. `result`: of that at the output, what the
// operator makes; NULL: it is at an input.
static bool take_expression(struct reader *reader, struct draft *draft, uint32_t count,
                            const struct descriptor *result)
{
    struct cursor *cursor = &reader->head;
    struct expression *fused = wnn_arena_allocate(&reader->graph->arena, sizeof *fused);
    struct operand *values =
        allocate(reader, WNN_ELEMENTWISE_INPUTS + WNN_ELEMENTWISE_STEPS + 1, sizeof *values);
    unsigned at = draft->fused_count, outputs;
    if (!fused || !values)
        return wnn_fail_memory(reader->error);
    fused->at = wnn_cursor_u32(cursor);
    uint32_t turn = wnn_cursor_u32(cursor);
    for (unsigned i = 0; i < at; i++)
        if (draft->fused[i].expression->at == fused->at || draft->fused[i].turn == turn)
            wnn_cursor_fail(cursor, "two expressions are fused at one place or in one turn");
    if (turn >= count)
        wnn_cursor_fail(cursor, "an expression is fused behind the last");
    if (result ? fused->at != WNN_AT_OUTPUT : fused->at >= draft->in_count || !draft->in[fused->at])
        wnn_cursor_fail(cursor, "an expression is fused where nothing is");
    if (!wnn_load_check(reader) || !wnn_load_type(reader, "what an expression is of", &values[0].type))
        return false;
    // Steps may see a result in another shape of as many elements.
    const struct descriptor *of = result ? result : &draft->in[fused->at]->type;
    const struct shape *shape = &values[0].type.shape;
    if (values[0].type.type != of->type ||
        (result ? wnn_shape_elements(shape) != wnn_shape_elements(&of->shape)
                : !wnn_shape_equal(shape, &of->shape)))
        return FAIL(reader, "an expression is of another type than what it is fused with");
    struct operand **in = take_operands(reader, false, 0, &fused->operand_count);
    if (!in)
        return false;
    if (fused->operand_count >= WNN_ELEMENTWISE_INPUTS)
        return FAIL(reader, "an expression has too many operands");
    for (unsigned i = 0; i < fused->operand_count; i++)
        values[i + 1] = *in[i];
    fused->steps = take_steps(reader, values, fused->operand_count + 1, &fused->count, &outputs);
    if (!fused->steps)
        return false;
    const struct elementwise_step *last = &fused->steps[fused->count - 1];
    if (outputs != 1 || last->output != 0 || !wnn_shape_equal(&last->type.shape, shape))
        return FAIL(reader, "an expression makes something else than its last step, or of another shape");
    fused->from = of->type;
    draft->fused[at].expression = fused;
    draft->fused[at].in = in;
    draft->fused[at].turn = turn;
    draft->fused_count++;
    if (!result)
        draft->seen[fused->at]->type.type = last->type.type;
    return true;
}

// Constant weights and biases of float16 nodes may be float32, if the backend agrees (wnn_load_admit).
static void see_wide(struct draft *draft)
{
    if ((draft->op != WNN_OP_conv2d && draft->op != WNN_OP_convTranspose2d && draft->op != WNN_OP_gemm &&
         draft->op != WNN_OP_matmul) ||
        draft->seen[0]->type.type != WNNDataType_Float16)
        return;
    for (unsigned i = 1; i < draft->in_count && i < 3; i++)
        if (draft->in[i] && draft->in[i]->constant && draft->seen[i]->type.type == WNNDataType_Float32)
            draft->seen[i]->type.type = WNNDataType_Float16;
}

// ---------------------------------------------------------------------------------------------------------------
// The node
// ---------------------------------------------------------------------------------------------------------------

static bool take_chain(struct reader *reader, struct draft *draft)
{
    struct elementwise_attrs *attrs = draft->attrs;
    struct operand *values = allocate(reader, WNN_ELEMENTWISE_INPUTS + WNN_ELEMENTWISE_STEPS, sizeof *values);
    unsigned outputs;
    if (!values)
        return false;
    for (unsigned i = 0; i < draft->in_count && i < WNN_ELEMENTWISE_INPUTS; i++)
        values[i] = *draft->in[i];
    attrs->steps = take_steps(reader, values, draft->in_count, &attrs->count, &outputs);
    return attrs->steps != NULL;
}

static struct node *append(struct reader *reader, const struct draft *draft, const struct op_call *call,
                           const struct descriptor *types)
{
    unsigned total = draft->in_count;
    for (unsigned i = 0; i < draft->fused_count; i++)
        total += draft->fused[i].expression->operand_count;
    struct node *node = wnn_graph_add_node(reader->graph, (uint16_t)call->op, total, call->out_count, types);
    if (!node) {
        wnn_fail_memory(reader->error);
        return NULL;
    }
    node->label = draft->label;
    node->attrs = call->attrs;
    node->in_count = draft->in_count;
    memcpy(node->in, draft->in, draft->in_count * sizeof node->in[0]);
    unsigned first = draft->in_count;
    for (unsigned turn = 0; turn < draft->fused_count; turn++) {
        unsigned i = 0;
        while (draft->fused[i].turn != turn)
            i++;
        struct expression *fused = draft->fused[i].expression;
        fused->first = first;
        fused->next = node->fused;
        node->fused = fused;
        if (fused->operand_count)
            memcpy(node->in + first, draft->fused[i].in, fused->operand_count * sizeof node->in[0]);
        first += fused->operand_count;
    }
    if (draft->weights != STORED_NONE)
        node->stored = &reader->blobs[draft->weights];
    return node;
}

// The operator by itself, between what is fused at its inputs and at its output.
static bool infer_node(struct reader *reader, const struct draft *draft, struct op_call *call)
{
    bool list = false;
    for (const struct op_row *row = draft->info->rows; row->name; row++)
        list |= row->kind == ROW_OUTPUT_LIST;
    unsigned rows = wnn_op_input_rows(draft->info);
    *call = (struct op_call){.op = draft->op,
                             .in = draft->seen,
                             .in_count = draft->in_count > rows ? draft->in_count : rows,
                             .out_count = 1,
                             .out_capacity = list ? MAX_OPERANDS : MAX_OUTPUTS};
    call->out = list ? NULL : allocate(reader, MAX_OUTPUTS, sizeof call->out[0]);
    if ((!call->out && !list) || !infer(reader, call, draft->attrs))
        return false;
    struct error inner = {0};
    call->error = &inner;
    return wnn_op_check_outputs(call) || wnn_fail(reader->error, inner.status, "load: %s", inner.message);
}

// Whether the next expression is that at the output.
static bool is_at_output(const struct reader *reader)
{
    struct cursor ahead = reader->head;
    return wnn_cursor_u32(&ahead) == WNN_AT_OUTPUT;
}

static bool read_node(struct reader *reader, struct draft *draft)
{
    struct cursor *cursor = &reader->head;
    struct op_call call;
    if (!take_op(reader, &draft->op))
        return false;
    draft->info = &wnn_ops[draft->op];
    if (!wnn_load_string(reader, "a label", &draft->label) || !take_inputs(reader, draft))
        return false;
    draft->attrs = take_new_attrs(reader, draft->op);
    if (!draft->attrs)
        return false;
    ((WNNOperatorOptions *)draft->attrs)->label = wnn_string_view(draft->label);
    if (draft->op == WNN_OP_elementwise && !take_chain(reader, draft))
        return false;
    uint32_t count = wnn_cursor_count(cursor, EXPRESSION_BYTES);
    if (count > MAX_EXPRESSIONS)
        wnn_cursor_fail(cursor, "a node has too many expressions fused");
    if (!wnn_load_check(reader))
        return false;
    if (count && (draft->in_count < wnn_op_input_rows(draft->info) || draft->in_count >= MAX_EXPRESSIONS))
        return FAIL(reader, "expressions are fused with a node of %u operands", draft->in_count);
    // Those at inputs say what the operator sees, and that says what the one at the output is of, which is
    // the last.
    while (draft->fused_count < count && !is_at_output(reader))
        if (!take_expression(reader, draft, count, NULL))
            return false;
    see_wide(draft);
    if (!infer_node(reader, draft, &call))
        return false;
    struct descriptor *types = wnn_arena_copy(&reader->arena, call.out, call.out_count * sizeof types[0]);
    if (!types)
        return wnn_fail_memory(reader->error);
    if (draft->fused_count < count) {
        if (call.out_count != 1 || draft->fused_count + 1 != count)
            return FAIL(reader, "an expression is fused with several outputs, or behind the output");
        if (!take_expression(reader, draft, count, &types[0]))
            return false;
        const struct expression *fused = draft->fused[count - 1].expression;
        types[0].type = fused->steps[fused->count - 1].type.type;
    }
    draft->weights = wnn_cursor_u32(cursor);
    if (draft->weights != STORED_NONE && draft->weights >= reader->blob_count)
        wnn_cursor_fail(cursor, "a node has weights that are not there");
    for (unsigned i = 0; i < call.out_count && wnn_load_check(reader); i++)
        if (!wnn_check_limits(reader->load->limits, NULL, "load: a result", &types[i], reader->error))
            return false;
    return wnn_load_check(reader) && append(reader, draft, &call, types);
}

bool wnn_load_node(struct reader *reader)
{
    struct arena_mark mark = wnn_arena_mark(&reader->arena);
    struct draft *draft = allocate(reader, 1, sizeof *draft);
    bool done = draft && read_node(reader, draft);
    wnn_arena_rewind(&reader->arena, mark);
    return done;
}

// ---------------------------------------------------------------------------------------------------------------
// What the backend has to agree to
// ---------------------------------------------------------------------------------------------------------------

// As fuse_quantized.c has it.
static bool is_scale(const struct node *node, const struct expression *fused, unsigned at,
                     enum scale_use least)
{
    const struct operand *scale = node->in[at], *zero_point = node->in[at + 1];
    return (fused->at == WNN_AT_OUTPUT
                ? wnn_rewrite_scale_use(scale, zero_point)
                : wnn_rewrite_input_scale_use(node, fused->at, scale, zero_point)) >= least;
}

// The chain that a backend without chains takes at an input or the output: what fuse_residual.c,
// fuse_activations.c and fuse_quantized.c make of one.
static bool is_plain_fusion(const struct backend *backend, const struct node *node)
{
    const struct epilogue epilogue = wnn_epilogue(node);
    const struct expression *output = wnn_fused(node, WNN_AT_OUTPUT);
    WNNDataType from = output ? output->from : node->out[0]->type.type;
    bool is_product = node->op == WNN_OP_gemm || node->op == WNN_OP_matmul, integers = epilogue.scale;
    if (epilogue.other || (epilogue.activation.attrs && !wnn_may_activate((enum op)node->op, from)))
        return false;
    if (epilogue.addend &&
        (node->in[epilogue.addend]->type.type != from ||
         !wnn_shape_equal(&node->in[epilogue.addend]->type.shape, &node->out[0]->type.shape)))
        return false;
    bool reads = false; // integers, without which none are written
    for (const struct expression *fused = node->fused; fused; fused = fused->next) {
        integers |= fused->at != WNN_AT_OUTPUT && fused->at != 1;
        reads |= fused->at != WNN_AT_OUTPUT;
    }
    if (epilogue.scale && !reads)
        return false;
    for (const struct expression *fused = node->fused; fused; fused = fused->next) {
        unsigned scale = fused->at == WNN_AT_OUTPUT ? epilogue.scale : wnn_prologue_scale(node, fused->at);
        if (fused->at == WNN_AT_OUTPUT && !scale)
            continue;
        bool weights = fused->at == 1 && is_product && node->in[1]->constant && !integers;
        if (!scale || !(backend->supports_quantized || (weights && backend->quantized_weights)) ||
            !is_scale(node, fused, scale, weights ? SCALE_OF_WEIGHTS : SCALE_BOTH_WAYS))
            return false;
    }
    return true;
}

static bool has_wide_weights(const struct node *node)
{
    if (node->in_count == 0 || !node->in[0] || wnn_fused(node, 0) ||
        node->in[0]->type.type != WNNDataType_Float16)
        return false;
    bool wide = false;
    for (unsigned i = 1; i < node->in_count && i < 3; i++)
        wide |= node->in[i] && node->in[i]->type.type == WNNDataType_Float32;
    return wide && wnn_ops[node->op].class >= CLASS_CONVOLUTION && wnn_ops[node->op].class <= CLASS_PRODUCT;
}

static uint32_t packed_inputs(const struct load *load, const struct node *node)
{
    return load->backend->packed_inputs ? load->backend->packed_inputs(load->state, node) : 0;
}

// Constants without data are only those that nothing reads but lower(), which finds out what it has instead.
static bool has_data(struct reader *reader, const struct node *node)
{
    const struct load *load = reader->load;
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        const struct constant *constant = node->in[i] ? node->in[i]->constant : NULL;
        if (wnn_constant_is_lost(constant) &&
            (i >= node->in_count || i >= 32 || !(packed_inputs(load, node) >> i & 1)))
            return false;
    }
    return true;
}

// Whether the backend would have let the passes fuse all that is. One that takes chains was asked about each,
// with what was there before it and the output as it was then; what others take is plain enough to be asked
// about at once.
static bool can_fuse(const struct load *load, struct node *node)
{
    if (!load->backend->fuses_chains)
        return is_plain_fusion(load->backend, node) && load->backend->can_fuse &&
               load->backend->can_fuse(load->state, node);
    const struct expression *all = node->fused, *output = wnn_fused(node, WNN_AT_OUTPUT);
    WNNDataType made = node->out_count ? node->out[0]->type.type : WNNDataType_Undefined;
    bool can = load->backend->can_fuse != NULL;
    for (; can && node->fused; node->fused = node->fused->next) {
        if (output && !wnn_fused(node, WNN_AT_OUTPUT))
            node->out[0]->type.type = output->from;
        can = load->backend->can_fuse(load->state, node);
    }
    node->fused = all;
    if (output)
        node->out[0]->type.type = made;
    return can;
}

// What has no elements ends before nodes (compiler/remove_empty.c).
static bool has_empty(const struct node *node)
{
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i] && wnn_shape_is_empty(&node->in[i]->type.shape))
            return true;
    for (unsigned i = 0; i < node->out_count; i++)
        if (wnn_shape_is_empty(&node->out[i]->type.shape))
            return true;
    return false;
}

bool wnn_load_admit(struct reader *reader, struct node *node)
{
    const struct backend *backend = reader->load->backend;
    void *state = reader->load->state;
    const char *name = wnn_ops[node->op].name;
    if (node->op >= WNN_OP_COUNT && !(backend->computes && backend->computes((enum op)node->op)))
        return FAIL(reader, "the backend does not compute %s", name);
    if (has_empty(node))
        return FAIL(reader, "%s takes or makes an operand without elements", name);
    if (!has_data(reader, node))
        return FAIL(reader, "a constant that %s reads is not there", name);
    if (node->fused && !can_fuse(reader->load, node))
        return FAIL(reader, "the backend does not compute %s with what is fused", name);
    if (has_wide_weights(node) && !(backend->wide_weights && backend->wide_weights(state, node)))
        return FAIL(reader, "the backend does not compute %s with float32 weights", name);
    return true;
}
