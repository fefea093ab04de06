// SPDX-License-Identifier: Apache-2.0
//
// Writing what a builder holds, as webnn/reflection.h tells it, in the format of webnn/serialize.h.

#include "ops/builder.h"
#include "ops/serial.h"
#include "ops/sink.h"

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
    struct piece *pieces;
    size_t piece_count, piece_capacity, record_count;
    uint64_t data_bytes;
    struct error *error;
};

// ---------------------------------------------------------------------------------------------------------------
// Pieces
// ---------------------------------------------------------------------------------------------------------------

static void put_type(struct sink *sink, const WNNRecordedOperand *operand)
{
    wnn_sink_kind(sink, operand->dataType, operand->shape.count);
    for (size_t i = 0; i < operand->shape.count; i++)
        wnn_sink_u32(sink, operand->shape.data[i]);
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
    put_type(&writer->sink, constant);
    writer->pieces = wnn_arena_grow(&writer->arena, writer->pieces, writer->piece_count,
                                    &writer->piece_capacity, sizeof *writer->pieces);
    if (!writer->pieces)
        return wnn_fail_memory(writer->error);
    writer->pieces[writer->piece_count++] = (struct piece){constant->data, constant->byteLength};
    writer->data_bytes += (constant->byteLength + (uint64_t)7) / 8 * 8;
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
        return put_constant_value(writer, constant);
    case WNNConstantForm_FileRange:
        wnn_sink_u32(&writer->sink, SERIAL_CONSTANT_FILE);
        put_type(&writer->sink, constant);
        wnn_sink_u64(&writer->sink, reference.file);
        wnn_sink_u64(&writer->sink, reference.offset);
        return true;
    case WNNConstantForm_Id:
        if (!reference.id || reference.idLength == 0 || reference.idLength > WNN_MAX_CONSTANT_ID)
            return refuse(writer, WNNStatus_TypeError, "the id of a constant has no bytes or more than 256");
        wnn_sink_u32(&writer->sink, SERIAL_CONSTANT_ID);
        put_type(&writer->sink, constant);
        wnn_sink_text(&writer->sink, (struct string){reference.id, reference.idLength});
        return true;
    default:
        return refuse(writer, WNNStatus_TypeError, "a constant has a form that does not exist");
    }
}

static bool put_source(struct writer *writer, const WNNRecordedOperand *operand)
{
    if (operand->source == WNNOperandSource_Constant)
        return put_constant(writer, operand);
    wnn_sink_u32(&writer->sink, SERIAL_INPUT);
    put_type(&writer->sink, operand);
    wnn_sink_text(&writer->sink, wnn_string(operand->name));
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

static bool put_attributes(struct writer *writer, const WNNOperatorCall *call);

static bool put_activation(struct writer *writer, WNNActivation activation)
{
    WNNRecordedOperator recorded = WNN_RECORDED_OPERATOR_INIT;
    if (wnnGraphBuilderGetActivation(writer->builder, activation, &recorded))
        return wnn_fail_memory(writer->error);
    wnn_sink_text(&writer->sink, wnn_string(recorded.call.name));
    return put_attributes(writer, &recorded.call);
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

static bool put_attributes(struct writer *writer, const WNNOperatorCall *call)
{
    wnn_sink_u32(&writer->sink, (uint32_t)call->attributeCount);
    for (size_t i = 0; i < call->attributeCount; i++) {
        wnn_sink_text(&writer->sink, wnn_string(call->attributes[i].name));
        wnn_sink_u32(&writer->sink, (uint32_t)call->attributes[i].value.type);
        if (!put_value(writer, &call->attributes[i].value))
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
    wnn_sink_u32(sink, SERIAL_OPERATOR);
    wnn_sink_text(sink, wnn_string(recorded.call.name));
    wnn_sink_text(sink, wnn_string(recorded.call.label));
    wnn_sink_u32(sink, (uint32_t)recorded.call.inputCount);
    for (size_t i = 0; i < recorded.call.inputCount; i++)
        put_operand(sink, recorded.call.inputs[i]);
    if (!put_attributes(writer, &recorded.call))
        return false;
    wnn_sink_u32(sink, (uint32_t)recorded.outputCount);
    for (size_t i = 0; i < recorded.outputCount; i++)
        wnn_sink_kind(sink, wnnOperandGetDataType(recorded.outputs[i]),
                      wnnOperandGetShape(recorded.outputs[i]).count);
    *result_count = recorded.outputCount;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// All of it
// ---------------------------------------------------------------------------------------------------------------

// The results of an operator follow one another among the operands.
static bool put_records(struct writer *writer)
{
    size_t count = wnnGraphBuilderGetOperandCount(writer->builder), operators = 0;
    for (size_t i = 0, step = 1; i < count && !writer->sink.full; i += step, writer->record_count++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(writer->builder, i, &operand);
        step = 1;
        if (!(operand.source == WNNOperandSource_Operator ? put_operator(writer, operators++, &step)
                                                          : put_source(writer, &operand)))
            return false;
    }
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
    if (writer->builder->graph.sizes.count)
        return refuse(writer, WNNStatus_NotSupportedError,
                      "version 1 of the format has no sizes that are not known");
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
