// SPDX-License-Identifier: Apache-2.0
//
// Recording: everything about a call that does not depend on which operator it is.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder

#include "ops/builder.h"

#include "ops/attrs.h"
#include "ops/range.h"
#include "ops/unranked.h"
#include "ops/values.h"

#include <webnn/serialize.h>

#include <math.h>
#include <string.h>

#define MAX_TENSORS 8192 // https://www.w3.org/TR/webnn/#valid-tensor-count
#define MAX_OUTPUTS 3    // of an operator without a list of them
#define FEW         12   // operands, as any operator has that takes no list

void wnn_builder_init(struct WNNGraphBuilderImpl *builder, struct allocator *allocator,
                      const WNNLimits *limits, const struct builder_host *host, void *context)
{
    *builder = (struct WNNGraphBuilderImpl){.limits = *limits, .host = host, .context = context};
    wnn_graph_init(&builder->graph, allocator);
    builder->graph.in_builder = true;
    wnn_arena_init(&builder->told, allocator);
    wnn_arena_init(&builder->told_activation, allocator);
}

void wnn_builder_free(struct WNNGraphBuilderImpl *builder)
{
    wnn_arena_free(&builder->told);
    wnn_arena_free(&builder->told_activation);
    wnn_graph_free(&builder->graph);
}

void wnnGraphBuilderGetError(WNNGraphBuilder builder, WNNError *error)
{
    static const struct error no_builder = {WNNStatus_TypeError, "there is no builder"};
    const struct error *from = builder ? &builder->error : &no_builder;
    if (!error)
        return;
    *error = (WNNError){from->status, wnn_error_message(from)};
}

void wnnGraphBuilderClearError(WNNGraphBuilder builder)
{
    if (!builder)
        return;
    builder->error.status = WNNStatus_Success;
    builder->error.message[0] = 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Limits
// ---------------------------------------------------------------------------------------------------------------

// Whether the builder takes one more operand of `count`, and one more operator.
static bool check_room(struct WNNGraphBuilderImpl *builder, size_t operands, size_t nodes,
                       struct error *error)
{
    const WNNLimits *limits = &builder->limits;
    if (limits->maxOperands && builder->graph.operand_count + operands > limits->maxOperands)
        return wnn_fail(error, WNNStatus_OutOfMemory, "the builder has its limit of %u operands",
                        limits->maxOperands);
    if (limits->maxOperators && builder->graph.node_count + nodes > limits->maxOperators)
        return wnn_fail(error, WNNStatus_OutOfMemory, "the builder has its limit of %u operators",
                        limits->maxOperators);
    return true;
}

bool wnn_builder_keep_string(struct WNNGraphBuilderImpl *builder, const char *what, struct string *string)
{
    struct graph *graph = &builder->graph;
    bool full = false;
    if (string->length == 0) {
        *string = STRING("");
        return true;
    }
    if (!graph->strings)
        graph->strings = wnn_string_pool_create(graph->arena.allocator);
    struct string kept = {NULL, 0};
    if (graph->strings)
        kept = wnn_string_pool_add(graph->strings, *string, builder->limits.maxTotalStringBytes, &full);
    if (full)
        return wnn_fail(&builder->error, WNNStatus_OutOfMemory,
                        "%s has %zu bytes; the builder's names and labels may have %llu in all", what,
                        string->length, (unsigned long long)builder->limits.maxTotalStringBytes);
    if (!kept.data)
        return wnn_fail_memory(&builder->error);
    *string = kept;
    return true;
}

static bool keep_label(struct WNNGraphBuilderImpl *builder, const struct op_call *call)
{
    WNNOperatorOptions *head = call->attrs;
    struct string label = wnn_string(head->label);
    char buffer[64];
    struct text what = TEXT(buffer);
    wnn_text_add(&what, "the label of %s", call->info->name);
    if (!wnn_builder_keep_string(builder, buffer, &label))
        return false;
    head->label = wnn_string_view(label);
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs and constants
// ---------------------------------------------------------------------------------------------------------------

static bool check_usable(struct WNNGraphBuilderImpl *builder)
{
    return builder && builder->host->usable(builder->context, &builder->error);
}

// The first steps of everything that takes a descriptor; `symbolic`: its dimensions may have names.
static bool check_call(WNNGraphBuilder builder, const char *what, const WNNOperandDescriptor *descriptor,
                       bool symbolic, struct descriptor *type)
{
    uint32_t sizes[WNN_MAX_RANK];
    if (!check_usable(builder))
        return false;
    if (!descriptor)
        return wnn_fail(&builder->error, WNNStatus_TypeError, "%s has no descriptor", what);
    WNNUint32List shape = descriptor->shape;
    if (!wnn_check_chain(descriptor->nextInChain, symbolic ? 1u << WNNSType_NamedDimensions : 0, what,
                         &builder->error))
        return false;
    const WNNNamedDimensions *names = wnn_chained(descriptor->nextInChain, WNNSType_NamedDimensions);
    if (names && !wnn_name_dimensions(builder, what, names, shape, sizes))
        return false;
    if (names && shape.count <= WNN_MAX_RANK && shape.data)
        shape.data = sizes;
    return wnn_check_descriptor(&builder->limits, symbolic ? &builder->graph.sizes : NULL, what,
                                descriptor->dataType, shape, type, &builder->error) &&
           check_room(builder, 1, 0, &builder->error);
}

WNNOperand wnnGraphBuilderInput(WNNGraphBuilder builder, WNNStringView name,
                                const WNNOperandDescriptor *descriptor)
{
    if (!check_usable(builder))
        return NULL;
    struct error *error = &builder->error;
    if (!wnn_check_string(&builder->limits, "the name of an input", name, error))
        return NULL;
    struct string string = wnn_string(name);
    if (string.length == 0) {
        wnn_fail(error, WNNStatus_TypeError, "the name of an input is empty");
        return NULL;
    }
    char buffer[WNN_LABEL_TEXT + 16];
    struct text what = TEXT(buffer);
    wnn_text_add(&what, "input \"");
    wnn_text_add_quoted(&what, string, WNN_LABEL_TEXT / 2);
    wnn_text_add(&what, "\"");
    struct descriptor type;
    size_t size_count = builder->graph.sizes.count;
    if (!check_call(builder, buffer, descriptor, true, &type) ||
        !wnn_builder_keep_string(builder, "the name of an input", &string)) {
        wnn_sizes_rewind(&builder->graph.sizes, size_count);
        return NULL;
    }
    struct operand *operand = wnn_graph_add_operand(&builder->graph, &type);
    if (!operand) {
        wnn_fail_memory(error);
        return NULL;
    }
    operand->input = true;
    const WNNNamedDimensions *names = wnn_chained(descriptor->nextInChain, WNNSType_NamedDimensions);
    struct operand_details *details = wnn_graph_detail(operand);
    if (!details || (names && !(details->named = wnn_named_bounds(builder, names)))) {
        wnn_fail_memory(error);
        return NULL;
    }
    details->name = string;
    return (WNNOperand)operand;
}

// Adds a constant; its reference passes on.
static struct operand *add_constant(WNNGraphBuilder builder, const struct descriptor *type,
                                    struct constant *constant)
{
    struct operand *operand = constant ? wnn_graph_add_constant(&builder->graph, type, constant) : NULL;
    if (!operand)
        wnn_fail_memory(&builder->error);
    return operand;
}

static bool check_constant_bytes(WNNGraphBuilder builder, size_t bytes)
{
    uint64_t most = builder->limits.maxConstantBytes, sum;
    if (most && (!wnn_add(builder->graph.constant_bytes, bytes, &sum) || sum > most))
        return wnn_fail(&builder->error, WNNStatus_OutOfMemory,
                        "constant of %zu bytes; the builder's constants may have %llu in all", bytes,
                        (unsigned long long)most);
    return true;
}

static bool check_length(WNNGraphBuilder builder, const struct descriptor *type, size_t byte_length)
{
    if (byte_length != wnn_descriptor_bytes(type))
        return wnn_fail(&builder->error, WNNStatus_TypeError, "constant has %zu bytes; expected %zu (%s %s)",
                        byte_length, wnn_descriptor_bytes(type), wnn_dtype_name(type->type),
                        SHAPE_TEXT(&type->shape));
    return check_constant_bytes(builder, byte_length);
}

static bool check_bytes(WNNGraphBuilder builder, const struct descriptor *type, const void *data,
                        size_t byte_length)
{
    if (!check_length(builder, type, byte_length))
        return false;
    return data || byte_length == 0 || wnn_fail(&builder->error, WNNStatus_TypeError, "constant has no data");
}

WNNOperand wnnGraphBuilderConstant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                   const void *data, size_t byteLength)
{
    struct descriptor type;
    if (!check_call(builder, "constant", descriptor, false, &type) ||
        !check_bytes(builder, &type, data, byteLength))
        return NULL;
    struct constant *constant = wnn_constant_create(builder->graph.arena.allocator, byteLength);
    if (constant && byteLength)
        memcpy((void *)constant->data, data, byteLength);
    return (WNNOperand)add_constant(builder, &type, constant);
}

WNNOperand wnn_builder_share_constant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                      struct constant *constant)
{
    struct descriptor type;
    if (!check_call(builder, "constant", descriptor, false, &type) ||
        !check_length(builder, &type, constant->bytes))
        return NULL;
    return (WNNOperand)add_constant(builder, &type, wnn_constant_ref(constant));
}

static bool check_reference(WNNGraphBuilder builder, const WNNConstantReference *reference)
{
    if (!wnn_check_chain(reference->nextInChain, 0, "constant reference", &builder->error))
        return false;
    if (reference->form != WNNConstantForm_FileRange && reference->form != WNNConstantForm_Id)
        return wnn_fail(&builder->error, WNNStatus_TypeError,
                        "constant has a reference of form %d; expected a range of a file or an id",
                        (int)reference->form);
    if (reference->form == WNNConstantForm_Id &&
        (!reference->id || reference->idLength == 0 || reference->idLength > WNN_MAX_CONSTANT_ID))
        return wnn_fail(&builder->error, WNNStatus_TypeError,
                        "constant has an id of %zu bytes; expected 1 to %d",
                        reference->id ? reference->idLength : 0, WNN_MAX_CONSTANT_ID);
    return true;
}

// A reference that has been checked.
static struct origin *create_origin(WNNGraphBuilder builder, const WNNConstantReference *reference,
                                    size_t bytes)
{
    bool id = reference->form == WNNConstantForm_Id;
    struct origin *origin =
        wnn_origin_name(builder->graph.arena.allocator, bytes, id ? 0 : reference->file,
                        id ? 0 : reference->offset, reference->id, id ? reference->idLength : 0);
    if (!origin)
        wnn_fail_memory(&builder->error);
    return origin;
}

static struct operand *lend_constant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                     const WNNExternalBytes *bytes)
{
    struct descriptor type;
    if (!check_call(builder, "constant", descriptor, false, &type))
        return NULL;
    if (!wnn_check_chain(bytes->nextInChain, 1u << WNNSType_NamedBytes, "external bytes", &builder->error))
        return NULL;
    const WNNNamedBytes *named = wnn_chained(bytes->nextInChain, WNNSType_NamedBytes);
    if ((named && !check_reference(builder, &named->reference)) ||
        !check_bytes(builder, &type, bytes->data, bytes->byteLength))
        return NULL;
    struct origin *origin = named ? create_origin(builder, &named->reference, bytes->byteLength) : NULL;
    if (named && !origin)
        return NULL;
    WNNExternalBytes loan = *bytes;
    loan.nextInChain = NULL;
    loan.release = NULL; // until the operand exists, the caller of this function gives the bytes back
    struct constant *constant = wnn_constant_lend(builder->graph.arena.allocator, &loan);
    if (constant)
        constant->origin = wnn_origin_ref(origin);
    struct operand *operand = add_constant(builder, &type, constant);
    if (operand)
        constant->loan.release = bytes->release;
    wnn_origin_unref(origin);
    return operand;
}

WNNOperand wnnGraphBuilderPromisedConstant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                           const WNNConstantReference *reference)
{
    struct descriptor type;
    if (!check_call(builder, "constant", descriptor, false, &type))
        return NULL;
    if (!reference) {
        wnn_fail(&builder->error, WNNStatus_TypeError, "promised constant has no reference");
        return NULL;
    }
    size_t bytes = wnn_descriptor_bytes(&type);
    if (!check_reference(builder, reference) || !check_constant_bytes(builder, bytes))
        return NULL;
    struct origin *origin = create_origin(builder, reference, bytes);
    if (!origin)
        return NULL;
    struct constant *constant = wnn_constant_promise(builder->graph.arena.allocator, bytes, origin);
    wnn_origin_unref(origin);
    return (WNNOperand)add_constant(builder, &type, constant);
}

WNNOperand wnnGraphBuilderExternalConstant(WNNGraphBuilder builder, const WNNOperandDescriptor *descriptor,
                                           const WNNExternalBytes *bytes)
{
    if (!bytes) {
        if (check_usable(builder))
            wnn_fail(&builder->error, WNNStatus_TypeError, "constant has no external bytes");
        return NULL;
    }
    struct operand *operand = lend_constant(builder, descriptor, bytes);
    if (!operand && bytes->release)
        bytes->release(bytes->data, bytes->byteLength, bytes->userdata1, bytes->userdata2);
    return (WNNOperand)operand;
}

static bool check_scalar_type(WNNGraphBuilder builder, const char *what, WNNDataType type)
{
    if (!wnn_dtype_valid(type) || wnn_dtype_bits(type) == 4)
        return wnn_fail(&builder->error, WNNStatus_TypeError,
                        "%s has data type %s; expected one of 8 bits or more", what, wnn_dtype_name(type));
    return true;
}

WNNOperand wnnGraphBuilderScalarConstant(WNNGraphBuilder builder, WNNDataType dataType, WNNNumber value)
{
    if (!check_usable(builder) || !check_scalar_type(builder, "scalar constant", dataType))
        return NULL;
    if (value.type < WNNNumberType_Int64 || value.type > WNNNumberType_Float64) {
        wnn_fail(&builder->error, WNNStatus_TypeError, "scalar constant has no value");
        return NULL;
    }
    struct descriptor type = {.type = dataType};
    if (!check_room(builder, 1, 0, &builder->error) ||
        !check_constant_bytes(builder, wnn_descriptor_bytes(&type)))
        return NULL;
    struct constant *constant =
        wnn_constant_create(builder->graph.arena.allocator, wnn_descriptor_bytes(&type));
    if (constant)
        wnn_number_store(wnn_number_convert(value, dataType), dataType, (void *)constant->data, 0);
    return (WNNOperand)add_constant(builder, &type, constant);
}

WNNOperand wnnGraphBuilderRangeConstant(WNNGraphBuilder builder, WNNNumber start, WNNNumber end,
                                        WNNNumber step, WNNDataType dataType)
{
    if (!check_usable(builder) || !check_scalar_type(builder, "range constant", dataType))
        return NULL;
    const WNNNumber numbers[] = {start, end, step};
    for (unsigned i = 0; i < 3; i++)
        if (numbers[i].type < WNNNumberType_Int64 || numbers[i].type > WNNNumberType_Float64 ||
            !isfinite(wnn_number_double(numbers[i]))) {
            wnn_fail(&builder->error, WNNStatus_TypeError, "range constant: %s is not a finite number",
                     i == 0   ? "start"
                     : i == 1 ? "end"
                              : "step");
            return NULL;
        }
    double by = wnn_number_double(step);
    struct descriptor type = {.type = dataType, .shape = {.rank = 1}};
    uint32_t least = wnn_min_dimension(&builder->limits);
    if (by == 0 || !wnn_range_count(start, end, step, least, &type.shape.dim[0])) {
        wnn_fail(&builder->error, WNNStatus_TypeError,
                 "range constant from %g to %g in steps of %g; expected %u to 2147483647 elements",
                 wnn_number_double(start), wnn_number_double(end), by, least);
        return NULL;
    }
    if (!wnn_check_limits(&builder->limits, NULL, "range constant", &type, &builder->error) ||
        !check_room(builder, 1, 0, &builder->error) ||
        !check_constant_bytes(builder, wnn_descriptor_bytes(&type)))
        return NULL;
    struct constant *constant =
        wnn_constant_create(builder->graph.arena.allocator, wnn_descriptor_bytes(&type));
    for (uint32_t i = 0; constant && i < type.shape.dim[0]; i++)
        wnn_number_store(wnn_number_convert(wnn_range_item(start, step, i), dataType), dataType,
                         (void *)constant->data, i);
    return (WNNOperand)add_constant(builder, &type, constant);
}

WNNOperand wnnGraphBuilderTensorConstant(WNNGraphBuilder builder, WNNTensor tensor)
{
    struct descriptor type;
    struct constant *constant;
    // The builder is tested last: https://www.w3.org/TR/webnn/#api-mlgraphbuilder-constant-tensor
    if (!builder || !builder->host->tensor(builder->context, tensor, &type, &constant, &builder->error))
        return NULL;
    if (!check_usable(builder) || !check_room(builder, 1, 0, &builder->error) ||
        !check_constant_bytes(builder, constant->bytes)) {
        wnn_constant_unref(constant);
        return NULL;
    }
    struct operand *operand = add_constant(builder, &type, constant);
    struct operand_details *details = operand ? wnn_graph_detail(operand) : NULL;
    if (operand && !details)
        wnn_fail_memory(&builder->error);
    if (!details)
        return NULL;
    details->origin = tensor;
    return (WNNOperand)operand;
}

WNNDataType wnnOperandGetDataType(WNNOperand operand)
{
    return operand ? wnn_operand(operand)->type.type : WNNDataType_Undefined;
}

WNNUint32List wnnOperandGetShape(WNNOperand operand)
{
    if (!operand)
        return (WNNUint32List){NULL, 0};
    const struct shape *shape = &wnn_operand(operand)->type.shape;
    return (WNNUint32List){wnn_operand(operand)->unranked ? NULL : shape->dim, shape->rank};
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

// Puts the operands in table order into `in`: the positional ones, then those of the options.
static bool collect_operands(struct WNNGraphBuilderImpl *builder, struct op_call *call, size_t count,
                             const WNNOperand *operands, struct operand **in)
{
    size_t next = 0, index = 0;
    for (const struct op_row *row = call->info->rows; row->name; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        size_t items = row->kind == ROW_INPUT_LIST ? count : 1;
        for (size_t i = 0; i < items; i++, index++) {
            if (row->kind == ROW_OPTIONAL_INPUT) {
                WNNOperand handle;
                memcpy(&handle, (const char *)call->attrs + row->offset, sizeof handle);
                in[index] = wnn_operand(handle);
                if (!handle)
                    continue;
            } else {
                in[index] = next < count ? wnn_operand(operands[next]) : NULL;
                next++;
                if (!in[index] && builder->error.status != WNNStatus_Success)
                    return false;
                if (!in[index])
                    return wnn_op_fail(call, "%s is NULL", row->name);
            }
            if (in[index]->graph != &builder->graph)
                return wnn_op_fail(call, "%s is an operand of another builder", row->name);
        }
    }
    return true;
}

static const struct op_row *output_row(const struct op_info *info, unsigned index)
{
    for (const struct op_row *row = info->rows; row->name; row++) {
        if (row->kind == ROW_OUTPUT_LIST)
            return row;
        if ((row->kind == ROW_OUTPUT || row->kind == ROW_OPTIONAL_OUTPUT) && index-- == 0)
            return row;
    }
    return NULL;
}

static bool gives_list(const struct op_info *info)
{
    const struct op_row *row = output_row(info, 0);
    return row && row->kind == ROW_OUTPUT_LIST;
}

static bool is_certainly_empty(const struct op_call *call, const struct shape *shape)
{
    bool empty = false;
    for (unsigned i = 0; i < shape->rank; i++)
        empty |= wnn_size_range(call->sizes, shape->dim[i]).max == 0;
    return empty;
}

static bool may_be_empty(const struct op_call *call, const struct shape *shape)
{
    bool empty = false;
    for (unsigned i = 0; i < shape->rank; i++)
        empty |= wnn_size_range(call->sizes, shape->dim[i]).min <= 0;
    return empty;
}

// That elements are made of some, or are what the table says can be made of none.
static bool check_emptiness(struct op_call *call)
{
    const struct descriptor *some = NULL;
    for (unsigned i = 0; i < call->out_count && !some; i++)
        if (!may_be_empty(call, &call->out[i].shape))
            some = &call->out[i];
    if (!some)
        return true;
    unsigned index = 0;
    for (const struct op_row *row = call->info->rows; row->name; row++) {
        if (!wnn_op_row_is_input(row))
            continue;
        unsigned end = row->kind == ROW_INPUT_LIST ? call->in_count : index + 1;
        for (; index < end; index++) {
            const struct operand *in = call->in[index];
            if (in && is_certainly_empty(call, &in->type.shape) && !row->may_be_empty)
                return wnn_op_fail(call, "%s %s has no elements; expected some, to make a result %s of",
                                   row->name, SHAPE_OF(call, &in->type.shape), SHAPE_OF(call, &some->shape));
        }
    }
    return true;
}

static bool is_symbolic(const struct op_call *call)
{
    bool symbolic = false;
    for (unsigned i = 0; call->sizes && i < call->out_count; i++)
        symbolic |= wnn_shape_is_symbolic(call->sizes, &call->out[i].shape);
    for (unsigned i = 0; call->sizes && i < call->in_count; i++)
        symbolic |= call->in[i] && wnn_shape_is_symbolic(call->sizes, &call->in[i]->type.shape);
    return symbolic;
}

// What the specification leaves to the implementation: sizes of results,
// https://www.w3.org/TR/webnn/#mloperanddescriptor-check-dimensions
bool wnn_op_check_outputs(struct op_call *call)
{
    if (call->unranked)
        return true; // when it is known
    for (unsigned i = 0; i < call->out_count; i++) {
        struct error error = {0};
        const struct op_row *row = output_row(call->info, i);
        if (!wnn_check_limits(call->limits, call->sizes, row ? row->name : "output", &call->out[i], &error))
            return wnn_op_fail(call, "%s", error.message);
    }
    if (!check_emptiness(call))
        return false;
    uint64_t work =
        is_symbolic(call) ? 0 : wnn_op_work(call->op, call->in, call->out, call->out_count, call->attrs);
    if (call->limits->maxOperatorWork && work > call->limits->maxOperatorWork)
        return wnn_op_fail(call, "takes %llu multiply-adds; expected at most %llu", (unsigned long long)work,
                           (unsigned long long)call->limits->maxOperatorWork);
    return true;
}

static struct node *append_node(struct WNNGraphBuilderImpl *builder, const struct op_call *call)
{
    struct node *node =
        wnn_graph_add_node(&builder->graph, (uint16_t)call->op, call->in_count, call->out_count, call->out);
    if (!node) {
        wnn_fail_memory(&builder->error);
        return NULL;
    }
    if (call->in_count)
        memcpy(node->in, call->in, call->in_count * sizeof node->in[0]);
    node->attrs = call->attrs;
    node->label = wnn_string(((const WNNOperatorOptions *)call->attrs)->label);
    if (!wnn_keep_values(node, call->values)) {
        wnn_fail_memory(&builder->error);
        return NULL;
    }
    for (unsigned i = 0; i < call->out_count; i++)
        node->out[i]->unranked = call->unranked >> (gives_list(call->info) ? 0 : i) & 1;
    return node;
}

// The activation option of an operator, taken out of its attributes: it becomes a node of its own.
static const struct activation *take_activation(const struct op_call *call)
{
    for (const struct op_row *row = call->info->rows; row->name; row++) {
        if (row->kind != ROW_ATTRIBUTE || row->attr != ATTR_activation)
            continue;
        WNNActivation handle, none = NULL;
        memcpy(&handle, (char *)call->attrs + row->offset, sizeof handle);
        memcpy((char *)call->attrs + row->offset, &none, sizeof none);
        return wnn_activation(handle);
    }
    return NULL;
}

static bool check_operands(struct op_call *call, void *context)
{
    struct WNNGraphBuilderImpl *builder = context;
    return wnn_op_check_operands(call, builder->host->types, builder->context);
}

static bool infer(struct WNNGraphBuilderImpl *builder, struct op_call *call)
{
    call->out_capacity = call->out ? MAX_OUTPUTS : MAX_TENSORS;
    call->out_count = 1;
    if (wnn_has_unranked(call->in, call->in_count))
        return wnn_infer_unranked(call, check_operands, builder);
    return check_operands(call, builder) && call->info->infer(call) && wnn_values_infer(call);
}

// Everything of a call up to, and not including, the change of the graph. There is room for FEW operands.
static bool check_and_infer(struct WNNGraphBuilderImpl *builder, struct op_call *call, struct operand **few,
                            size_t count, const WNNOperand *operands, const void *attrs)
{
    WNNOperatorOptions no_label = WNN_OPERATOR_OPTIONS_INIT;
    call->attrs = &no_label;
    const struct op_row *first = call->info->rows;
    if (first->kind == ROW_INPUT_LIST && (count == 0 || count > MAX_TENSORS))
        return wnn_op_fail(call, "got %zu operands; expected 1 to %d", count, MAX_TENSORS);
    size_t in_count = wnn_op_input_rows(call->info) + (first->kind == ROW_INPUT_LIST ? count - 1 : 0);
    struct operand **in = few;
    if (in_count > FEW && !(in = wnn_arena_allocate(&builder->graph.arena, in_count * sizeof in[0])))
        return wnn_fail_memory(call->error);
    call->in = in;
    call->in_count = (unsigned)in_count;
    if (!wnn_attrs_take(call, &builder->graph, attrs) ||
        !collect_operands(builder, call, count, operands, in) || !infer(builder, call))
        return false;
    if (builder->graph.sizes.exhausted)
        return wnn_op_fail(call, "more than %d sizes that are not known, or no memory for them",
                           WNN_MAX_SIZES);
    return wnn_op_check_outputs(call) && check_room(builder, call->out_count, 1, call->error);
}

// Whether the activation can follow the operator, so that a call that fails leaves no node of the two.
static bool check_fused(struct WNNGraphBuilderImpl *builder, struct op_call *call,
                        const struct activation *activation)
{
    struct activation complete;
    if (activation->op == WNN_OP_softmax && call->out[0].shape.rank != 2)
        return wnn_op_fail(call, "activation softmax on an output of shape %s; expected rank 2",
                           SHAPE_TEXT(&call->out[0].shape));
    return wnn_activation_complete(call, activation, call->out[0].type, &complete) &&
           check_room(builder, 2, 2, call->error);
}

size_t wnn_builder_call(WNNGraphBuilder builder, enum op op, size_t operand_count, const WNNOperand *operands,
                        const void *attrs, size_t capacity, WNNOperand *outputs)
{
    if (!outputs)
        capacity = 0;
    for (size_t i = 0; i < capacity; i++)
        outputs[i] = NULL;
    if (!check_usable(builder))
        return 0;
    struct arena_mark mark = wnn_arena_mark(&builder->graph.arena);
    struct size_table *sizes = &builder->graph.sizes;
    size_t size_count = sizes->count;
    struct operand *few[FEW] = {NULL};
    struct descriptor results[MAX_OUTPUTS] = {{0}};
    struct op_call call = {.op = op,
                           .info = &wnn_ops[op],
                           .out = gives_list(&wnn_ops[op]) ? NULL : results, // a list makes room itself
                           .arena = &builder->graph.arena,
                           .sizes = size_count ? sizes : NULL,
                           .limits = &builder->limits,
                           .error = &builder->error};
    // A failing call leaves no trace; what an earlier error hides is not reported, but still fails.
    bool done = check_and_infer(builder, &call, few, operand_count, operands, attrs);
    if (done && call.out_count > capacity)
        done = wnn_op_fail(&call, "has %u outputs; there is room for %zu", call.out_count, capacity);
    const struct activation *activation = done ? take_activation(&call) : NULL;
    if (!done || (activation && !check_fused(builder, &call, activation)) || !keep_label(builder, &call)) {
        wnn_sizes_rewind(sizes, size_count);
        wnn_arena_rewind(&builder->graph.arena, mark);
        return 0;
    }
    struct node *node = append_node(builder, &call);
    if (!node)
        return 0;
    if (activation) {
        void *copy = wnn_op_copy_attrs(&builder->graph.arena, (enum op)activation->op, activation->attrs);
        if (!copy) {
            wnn_fail_memory(&builder->error);
            return 0;
        }
        ((WNNOperatorOptions *)copy)->label = wnn_string_view(node->label);
        WNNOperand input = (WNNOperand)node->out[0];
        return wnn_builder_call(builder, (enum op)activation->op, 1, &input, copy, capacity, outputs);
    }
    for (unsigned i = 0; i < node->out_count; i++)
        outputs[i] = (WNNOperand)node->out[i];
    return node->out_count;
}

// ---------------------------------------------------------------------------------------------------------------
// Activations
// ---------------------------------------------------------------------------------------------------------------

WNNActivation wnn_builder_activation(WNNGraphBuilder builder, enum op op, const void *attrs)
{
    if (!check_usable(builder))
        return NULL;
    struct arena_mark mark = wnn_arena_mark(&builder->graph.arena);
    WNNOperatorOptions no_label = WNN_OPERATOR_OPTIONS_INIT;
    struct op_call call = {.op = op,
                           .info = &wnn_ops[op],
                           .attrs = &no_label,
                           .arena = &builder->graph.arena,
                           .limits = &builder->limits,
                           .error = &builder->error};
    struct activation *activation = wnn_arena_allocate(&builder->graph.arena, sizeof *activation), complete;
    if (!activation)
        wnn_fail_memory(&builder->error);
    else if (wnn_attrs_take(&call, &builder->graph, attrs)) {
        *activation = (struct activation){&builder->graph, (uint16_t)op, call.attrs};
        if (op == WNN_OP_softmax) // an activation works along the last of two dimensions
            ((struct softmax_attrs *)call.attrs)->axis = 1;
        if (wnn_activation_complete(&call, activation, WNNDataType_Float32, &complete) &&
            keep_label(builder, &call))
            return (WNNActivation)activation;
    }
    wnn_arena_rewind(&builder->graph.arena, mark);
    return NULL;
}
