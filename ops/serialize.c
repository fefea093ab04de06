// SPDX-License-Identifier: Apache-2.0
//
// Writing what a builder holds, as webnn/reflection.h tells it, in the format of webnn/serialize.h.

#include "ops/builder.h"
#include "ops/serial.h"
#include "ops/serial_sizes.h"

#include <webnn/serialize.h>

#include <string.h>

struct piece { // of the data
    const void *bytes;
    size_t size;
};

struct writer {
    WNNGraphBuilder builder;
    const WNNSerializeDescriptor *descriptor;
    struct arena arena;
    struct sink sink; // header, records and outputs
    struct size_writer sizes;
    bool late; // there is what only a reader of late sizes knows
    struct piece *pieces;
    size_t piece_count, piece_capacity, record_count;
    uint64_t data_bytes;
    struct error *error;
};

// ---------------------------------------------------------------------------------------------------------------
// Pieces
// ---------------------------------------------------------------------------------------------------------------

static void put_type(struct writer *writer, const WNNRecordedOperand *operand)
{
    wnn_sink_kind(&writer->sink, operand->dataType, operand->shape.count);
    for (size_t i = 0; i < operand->shape.count; i++)
        wnn_sink_u32(&writer->sink, wnn_size_writer_number(&writer->sizes, operand->shape.data[i]));
}

static void put_operand(struct sink *sink, WNNOperand operand)
{
    wnn_sink_u32(sink, (uint32_t)wnnOperandGetIndex(operand));
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs and constants
// ---------------------------------------------------------------------------------------------------------------

static bool refuse(struct writer *writer, WNNStatus status, const char *why)
{
    return wnn_fail(writer->error, status, "serialize: %s", why);
}

static bool put_constant_value(struct writer *writer, const WNNRecordedOperand *constant)
{
    wnn_sink_u32(&writer->sink, SERIAL_CONSTANT_VALUE);
    put_type(writer, constant);
    writer->pieces = wnn_arena_grow(&writer->arena, writer->pieces, writer->piece_count,
                                    &writer->piece_capacity, sizeof *writer->pieces);
    if (!writer->pieces)
        return wnn_fail_memory(writer->error);
    writer->pieces[writer->piece_count++] = (struct piece){constant->data, constant->byteLength};
    writer->data_bytes += (constant->byteLength + (uint64_t)7) / 8 * 8;
    return true;
}

// By the reference that it was recorded with.
static bool put_promise(struct writer *writer, const WNNRecordedOperand *constant)
{
    struct sink *sink = &writer->sink;
    const struct origin *origin = wnn_operand(constant->operand)->constant->origin;
    wnn_sink_u32(sink, origin->id_length ? SERIAL_CONSTANT_ID : SERIAL_CONSTANT_FILE);
    put_type(writer, constant);
    if (origin->id_length) {
        wnn_sink_text(sink, (struct string){(const char *)origin->id, origin->id_length});
    } else {
        wnn_sink_u64(sink, origin->file);
        wnn_sink_u64(sink, origin->offset);
    }
    return true;
}

static bool put_constant(struct writer *writer, const WNNRecordedOperand *constant)
{
    const WNNSerializeDescriptor *to = writer->descriptor;
    WNNConstantReference reference = WNN_CONSTANT_REFERENCE_INIT;
    WNNStatus status =
        to->refer ? to->refer(constant, &reference, to->userdata1, to->userdata2) : WNNStatus_Success;
    if (status != WNNStatus_Success)
        return refuse(writer, status, "a constant was refused");
    if (!wnn_check_chain(reference.nextInChain, 0, "constant reference", writer->error))
        return false;
    switch (reference.form) {
    case WNNConstantForm_Value:
        return wnn_constant_has_bytes(wnn_operand(constant->operand)->constant)
                   ? put_constant_value(writer, constant)
                   : put_promise(writer, constant);
    case WNNConstantForm_FileRange:
        wnn_sink_u32(&writer->sink, SERIAL_CONSTANT_FILE);
        put_type(writer, constant);
        wnn_sink_u64(&writer->sink, reference.file);
        wnn_sink_u64(&writer->sink, reference.offset);
        return true;
    case WNNConstantForm_Id:
        if (!reference.id || reference.idLength == 0 || reference.idLength > WNN_MAX_CONSTANT_ID)
            return refuse(writer, WNNStatus_TypeError, "the id of a constant has no bytes or more than 256");
        wnn_sink_u32(&writer->sink, SERIAL_CONSTANT_ID);
        put_type(writer, constant);
        wnn_sink_text(&writer->sink, (struct string){reference.id, reference.idLength});
        return true;
    default:
        return refuse(writer, WNNStatus_TypeError, "a constant has a form that does not exist");
    }
}

static bool is_named(const struct operand *operand, unsigned dimension)
{
    const struct bounds *named = wnn_details(operand)->named;
    return named && named[dimension].min <= named[dimension].max;
}

// The type of an input with zeros where dimensions have names, its own name, and those.
static void put_named_input(struct writer *writer, const struct operand *operand)
{
    struct sink *sink = &writer->sink;
    const struct shape *shape = &operand->type.shape;
    wnn_sink_u32(sink, SERIAL_LATE_INPUT);
    wnn_sink_kind(sink, operand->type.type, shape->rank);
    for (unsigned i = 0; i < shape->rank; i++)
        wnn_sink_u32(sink, is_named(operand, i) ? 0 : wnn_size_writer_number(&writer->sizes, shape->dim[i]));
    wnn_sink_text(sink, wnn_operand_name(operand));
    for (unsigned i = 0; i < shape->rank; i++) {
        struct string name = STRING("");
        bool named = is_named(operand, i);
        if (named)
            name = writer->builder->graph.sizes.items[shape->dim[i] & ~WNN_SYMBOLIC].name;
        wnn_sink_text(sink, name);
        wnn_sink_u32(sink, named && name.length == 0);
        wnn_sink_u32(sink, named ? (uint32_t)wnn_details(operand)->named[i].min : 0);
        wnn_sink_u32(sink, named ? (uint32_t)wnn_details(operand)->named[i].max : 0);
    }
}

static bool put_input(struct writer *writer, const WNNRecordedOperand *recorded)
{
    const struct operand *operand = wnn_operand(recorded->operand);
    bool named = false;
    for (unsigned i = 0; i < operand->type.shape.rank; i++) {
        named |= is_named(operand, i);
        if (!is_named(operand, i) && !wnn_size_writer_add(&writer->sizes, operand->type.shape.dim[i]))
            return refuse(writer, WNNStatus_NotSupportedError,
                          "an input has a size that no operand before it has, nor any computation of such");
    }
    writer->late |= named;
    if (named) {
        put_named_input(writer, operand);
        return true;
    }
    wnn_sink_u32(&writer->sink, SERIAL_INPUT);
    put_type(writer, recorded);
    wnn_sink_text(&writer->sink, wnn_operand_name(operand));
    return true;
}

static bool put_source(struct writer *writer, const WNNRecordedOperand *operand)
{
    return operand->source == WNNOperandSource_Constant ? put_constant(writer, operand)
                                                        : put_input(writer, operand);
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

static bool put_attributes(struct writer *writer, const WNNOperatorCall *call, uint64_t told);

static bool put_activation(struct writer *writer, WNNActivation activation)
{
    WNNRecordedOperator recorded = WNN_RECORDED_OPERATOR_INIT;
    if (wnnGraphBuilderGetActivation(writer->builder, activation, &recorded))
        return wnn_fail_memory(writer->error);
    wnn_sink_text(&writer->sink, wnn_string(recorded.call.name));
    return put_attributes(writer, &recorded.call, UINT64_MAX);
}

static bool put_activations(struct writer *writer, WNNActivationList list)
{
    wnn_sink_u32(&writer->sink, (uint32_t)list.count);
    for (size_t i = 0; i < list.count; i++)
        if (!put_activation(writer, list.data[i]))
            return false;
    return true;
}

static bool put_value(struct writer *writer, const WNNAttributeValue *value)
{
    struct sink *sink = &writer->sink;
    uint64_t bits;
    switch (value->type) {
    case WNNAttributeType_Uint32:
        wnn_sink_u32(sink, value->value.u32);
        return true;
    case WNNAttributeType_Int32:
    case WNNAttributeType_Enumerator:
        wnn_sink_u32(sink, (uint32_t)value->value.i32);
        return true;
    case WNNAttributeType_Bool:
        wnn_sink_u32(sink, value->value.boolean);
        return true;
    case WNNAttributeType_Float64:
        wnn_sink_f64(sink, value->value.f64);
        return true;
    case WNNAttributeType_Number:
        memcpy(&bits, &value->value.number.value, sizeof bits);
        wnn_sink_u32(sink, (uint32_t)value->value.number.type);
        wnn_sink_u64(sink, bits);
        return true;
    case WNNAttributeType_Uint32List:
        wnn_sink_words(sink, value->value.u32List.data, value->value.u32List.count);
        return true;
    case WNNAttributeType_Float32List:
        wnn_sink_words(sink, value->value.f32List.data, value->value.f32List.count);
        return true;
    case WNNAttributeType_DataType:
        wnn_sink_u32(sink, (uint32_t)value->value.dataType);
        return true;
    case WNNAttributeType_Activation:
        return put_activation(writer, value->value.activation);
    case WNNAttributeType_ActivationList:
        return put_activations(writer, value->value.activationList);
    case WNNAttributeType_Operand:
        put_operand(sink, value->value.operand);
        return true;
    default:
        return refuse(writer, WNNStatus_UnknownError, "an attribute of a type that has no bytes");
    }
}

// The numbers of attributes that are sizes, as the table says.
static WNNUint32List sizes_of(const WNNOperatorCall *call, const WNNNamedAttribute *attribute)
{
    enum op op = wnn_op_find(wnn_string(call->name));
    const WNNAttributeValue *value = &attribute->value;
    const struct op_row *row =
        op == WNN_OP_COUNT ? NULL
                           : wnn_op_attr_row(&wnn_ops[op], wnn_string(attribute->name), (int)value->type - 1);
    if (!row || !wnn_op_row_is_size(row))
        return (WNNUint32List){NULL, 0};
    return value->type == WNNAttributeType_Uint32 ? (WNNUint32List){&value->value.u32, 1}
                                                  : value->value.u32List;
}

static bool is_own_size(const WNNRecordedOperator *recorded, const WNNNamedAttribute *attribute,
                        uint32_t size)
{
    const struct op_info *info = &wnn_ops[wnn_op_find(wnn_string(recorded->call.name))];
    if (wnn_op_attr_row(info, wnn_string(attribute->name), (int)attribute->value.type - 1)->argument)
        return false;
    for (size_t i = 0; i < recorded->outputCount; i++) {
        const struct shape *shape = &wnn_operand(recorded->outputs[i])->type.shape;
        for (unsigned d = 0; d < shape->rank; d++)
            if (shape->dim[d] == size)
                return true;
    }
    return false;
}

// Adds the sizes in an attribute; false: it is not to be told, since it is what inference makes of its
// absence (outputSizes), or cannot be, which is an error.
static bool add_sizes_of(struct writer *writer, const WNNRecordedOperator *recorded, size_t attribute)
{
    const WNNOperatorCall *call = &recorded->call;
    WNNUint32List sizes = sizes_of(call, &call->attributes[attribute]);
    for (size_t k = 0; k < sizes.count; k++) {
        if (wnn_size_writer_add(&writer->sizes, sizes.data[k]))
            continue;
        return is_own_size(recorded, &call->attributes[attribute], sizes.data[k])
                   ? false
                   : wnn_fail(writer->error, WNNStatus_NotSupportedError,
                              "serialize: %s has a size in %s that no operand before it has, nor any "
                              "computation of such",
                              call->name.data, call->attributes[attribute].name.data);
    }
    return true;
}

// The attributes that are to be told, by bit.
static uint64_t add_sizes(struct writer *writer, const WNNRecordedOperator *recorded)
{
    uint64_t told = UINT64_MAX;
    for (size_t i = 0; writer->sizes.sizes->count && i < recorded->call.attributeCount && i < 64; i++)
        if (!add_sizes_of(writer, recorded, i))
            told &= ~(UINT64_C(1) << i);
    return told;
}

// False: there are none, and the value is one as any other.
static bool put_sizes(struct writer *writer, const WNNOperatorCall *call, const WNNNamedAttribute *attribute)
{
    WNNUint32List sizes = {NULL, 0};
    if (writer->sizes.sizes->count)
        sizes = sizes_of(call, attribute);
    if (sizes.count && attribute->value.type == WNNAttributeType_Uint32List)
        wnn_sink_u32(&writer->sink, (uint32_t)sizes.count);
    for (size_t i = 0; i < sizes.count; i++)
        wnn_sink_u32(&writer->sink, wnn_size_writer_number(&writer->sizes, sizes.data[i]));
    return sizes.count > 0;
}

static bool put_attributes(struct writer *writer, const WNNOperatorCall *call, uint64_t told)
{
    uint32_t count = 0;
    for (size_t i = 0; i < call->attributeCount; i++)
        count += i >= 64 || told >> i & 1;
    wnn_sink_u32(&writer->sink, count);
    for (size_t i = 0; i < call->attributeCount; i++) {
        if (i < 64 && !(told >> i & 1))
            continue;
        wnn_sink_text(&writer->sink, wnn_string(call->attributes[i].name));
        wnn_sink_u32(&writer->sink, (uint32_t)call->attributes[i].value.type);
        if (!put_sizes(writer, call, &call->attributes[i]) && !put_value(writer, &call->attributes[i].value))
            return false;
    }
    return true;
}

static bool put_operator(struct writer *writer, size_t index, size_t *result_count)
{
    struct sink *sink = &writer->sink;
    WNNRecordedOperator recorded = WNN_RECORDED_OPERATOR_INIT;
    if (wnnGraphBuilderGetOperator(writer->builder, index, &recorded))
        return wnn_fail_memory(writer->error);
    uint64_t told = add_sizes(writer, &recorded);
    if (writer->error->status != WNNStatus_Success)
        return false;
    wnn_sink_u32(sink, SERIAL_OPERATOR);
    wnn_sink_text(sink, wnn_string(recorded.call.name));
    wnn_sink_text(sink, wnn_string(recorded.call.label));
    wnn_sink_u32(sink, (uint32_t)recorded.call.inputCount);
    for (size_t i = 0; i < recorded.call.inputCount; i++)
        put_operand(sink, recorded.call.inputs[i]);
    if (!put_attributes(writer, &recorded.call, told))
        return false;
    wnn_sink_u32(sink, (uint32_t)recorded.outputCount);
    for (size_t i = 0; i < recorded.outputCount; i++) {
        const struct operand *result = wnn_operand(recorded.outputs[i]);
        wnn_sink_u32(sink, (uint32_t)result->type.type | result->type.shape.rank << 8 |
                               (result->unranked ? SERIAL_UNRANKED : 0));
        writer->late |= result->unranked;
    }
    *result_count = recorded.outputCount;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// All of it
// ---------------------------------------------------------------------------------------------------------------

// The results of an operator follow one another among the operands.
static bool put_records(struct writer *writer)
{
    const struct graph *graph = &writer->builder->graph;
    size_t count = graph->operand_count, operators = 0;
    if (!wnn_size_writer_begin(&writer->sizes, &graph->sizes, &writer->arena, &writer->sink))
        return wnn_fail_memory(writer->error);
    for (size_t i = 0, step = 1; i < count && !writer->sink.full; i += step, writer->record_count++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(writer->builder, i, &operand);
        step = 1;
        if (!(operand.source == WNNOperandSource_Operator ? put_operator(writer, operators++, &step)
                                                          : put_source(writer, &operand)))
            return false;
        for (size_t k = i; k < i + step; k++)
            wnn_size_writer_see(&writer->sizes, graph->operands[k]);
    }
    writer->late |= writer->sizes.count > 0;
    writer->record_count += writer->sizes.count;
    return true;
}

static bool put_outputs(struct writer *writer)
{
    const WNNSerializeDescriptor *from = writer->descriptor;
    for (size_t i = 0; i < from->outputCount; i++) {
        const WNNNamedOperand *output = &from->outputs[i];
        if (!wnn_check_string(&writer->builder->limits, "the name of an output", output->name, writer->error))
            return false;
        if (wnn_string(output->name).length == 0)
            return refuse(writer, WNNStatus_TypeError, "the name of an output is empty");
        if (!output->operand || wnn_operand(output->operand)->graph != &writer->builder->graph)
            return refuse(writer, WNNStatus_TypeError, "an output is NULL or an operand of another builder");
        wnn_sink_text(&writer->sink, wnn_string(output->name));
        put_operand(&writer->sink, output->operand);
    }
    if (writer->sink.size % 8)
        wnn_sink_u32(&writer->sink, 0);
    return true;
}

static void fill_header(struct writer *writer)
{
    unsigned char *header = writer->sink.bytes;
    memcpy(header, SERIAL_MAGIC, 8);
    wnn_store_u32(header + 8, SERIAL_VERSION);
    wnn_store_u32(header + 12, writer->late ? SERIAL_LATE : 0);
    wnn_store_u32(header + 16, (uint32_t)writer->record_count);
    wnn_store_u32(header + 20, (uint32_t)wnnGraphBuilderGetOperandCount(writer->builder));
    wnn_store_u32(header + 24, (uint32_t)writer->descriptor->outputCount);
    wnn_store_u64(header + 32, writer->sink.size - SERIAL_HEADER_BYTES);
    wnn_store_u64(header + 40, writer->data_bytes);
}

static bool hand_out(struct writer *writer, const void *bytes, size_t size, uint64_t *rest)
{
    const WNNSerializeDescriptor *to = writer->descriptor;
    if (size == 0)
        return true;
    *rest -= size;
    WNNStatus status = to->write(bytes, size, *rest, to->userdata1, to->userdata2);
    return status == WNNStatus_Success || refuse(writer, status, "the bytes could not be written");
}

static bool hand_out_all(struct writer *writer)
{
    static const char zeros[8];
    uint64_t rest = writer->sink.size + writer->data_bytes;
    if (!hand_out(writer, writer->sink.bytes, writer->sink.size, &rest))
        return false;
    for (size_t i = 0; i < writer->piece_count; i++) {
        size_t size = writer->pieces[i].size;
        if (!hand_out(writer, writer->pieces[i].bytes, size, &rest) ||
            !hand_out(writer, zeros, (8 - size % 8) % 8, &rest))
            return false;
    }
    return true;
}

static bool check_arguments(struct writer *writer)
{
    const WNNSerializeDescriptor *descriptor = writer->descriptor;
    if (writer->builder->error.status != WNNStatus_Success) {
        *writer->error = writer->builder->error;
        return false;
    }
    if (!descriptor)
        return refuse(writer, WNNStatus_TypeError, "there is no descriptor");
    if (!wnn_check_chain(descriptor->nextInChain, 0, "serialize descriptor", writer->error))
        return false;
    if (!descriptor->write || (descriptor->outputCount && !descriptor->outputs) ||
        descriptor->outputCount > UINT32_MAX)
        return refuse(writer, WNNStatus_TypeError,
                      "nothing takes the bytes, or there are no outputs where some are said to be");
    return true;
}

static bool write_all(struct writer *writer)
{
    if (!check_arguments(writer))
        return false;
    wnn_sink_add(&writer->sink, SERIAL_HEADER_BYTES);
    if (!put_records(writer) || !put_outputs(writer))
        return false;
    if (writer->sink.full)
        return wnn_fail_memory(writer->error);
    fill_header(writer);
    return hand_out_all(writer);
}

WNNStatus wnnGraphBuilderSerialize(WNNGraphBuilder builder, const WNNSerializeDescriptor *descriptor,
                                   size_t capacity, char *message)
{
    struct error error = {0};
    struct writer writer = {.builder = builder, .descriptor = descriptor, .error = &error};
    if (!builder) {
        refuse(&writer, WNNStatus_TypeError, "there is no builder");
    } else {
        wnn_arena_init(&writer.arena, builder->graph.arena.allocator);
        writer.sink.arena = &writer.arena;
        write_all(&writer);
        wnn_arena_free(&writer.arena);
    }
    if (message && capacity) {
        struct text text = {message, capacity, 0};
        message[0] = '\0';
        wnn_text_add(&text, "%s", error.message);
    }
    return error.status;
}
