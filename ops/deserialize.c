// SPDX-License-Identifier: Apache-2.0
//
// Reading serialized graphs: what the bytes say is handed to the public functions, one record after the
// other, and they check it. Here only the format is checked.

#include "ops/builder.h"
#include "ops/serial.h"
#include "ops/serial_sizes.h"

#include <webnn/serialize.h>

#include <string.h>

struct reader {
    WNNGraphBuilder builder;
    const WNNDeserializeDescriptor *descriptor;
    struct cursor records, data; // data: of constants by value
    struct arena arena;          // of the call that is put together
    struct size_reader sizes;
    bool late; // there are sizes that are not known
    uint32_t record_count, output_count;
    WNNOperand *operands; // of the builder's arena
    uint32_t operand_count, operand_capacity;
    uint32_t record; // which it is
};

#define FAIL(reader, ...)                                                                                    \
    wnn_fail(&(reader)->builder->error, WNNStatus_TypeError, "serialized graph: " __VA_ARGS__)

static bool check_cursor(struct reader *reader, const struct cursor *cursor)
{
    return !cursor->problem || FAIL(reader, "byte %zu: %s", cursor->place, cursor->problem);
}

static void *allocate(struct reader *reader, size_t count, size_t size)
{
    void *memory = wnn_arena_allocate(&reader->arena, (count + 1) * size);
    if (!memory)
        wnn_fail_memory(&reader->builder->error);
    return memory;
}

// ---------------------------------------------------------------------------------------------------------------
// Pieces
// ---------------------------------------------------------------------------------------------------------------

struct kind { // of an operand: what a result tells
    WNNDataType type;
    unsigned rank;
    bool unranked;
};

static struct kind take_kind(struct cursor *cursor, uint32_t flags)
{
    uint32_t word = wnn_cursor_u32(cursor);
    if (word & ~flags & 0xFFFF0000)
        wnn_cursor_fail(cursor, "an operand has flags that do not exist");
    return (struct kind){(WNNDataType)(word & 0xFF), word >> 8 & 0xFF, word & SERIAL_UNRANKED};
}

// A number, or what stands for a size in its place.
static uint32_t take_size(struct reader *reader, uint32_t number)
{
    return reader->late ? wnn_size_reader_take(&reader->sizes, &reader->records, number) : number;
}

static WNNOperandDescriptor take_type(struct reader *reader, uint32_t dims[WNN_MAX_RANK])
{
    struct cursor *cursor = &reader->records;
    struct kind kind = take_kind(cursor, 0);
    if (kind.rank > WNN_MAX_RANK)
        wnn_cursor_fail(cursor, "an operand has a rank of more than 8");
    for (unsigned i = 0; i < kind.rank && !cursor->problem; i++)
        dims[i] = take_size(reader, wnn_cursor_u32(cursor));
    return (WNNOperandDescriptor){NULL, kind.type, {dims, kind.rank}};
}

static WNNOperand take_operand(struct reader *reader)
{
    uint32_t index = wnn_cursor_u32(&reader->records);
    if (index < reader->operand_count)
        return reader->operands[index];
    wnn_cursor_fail(&reader->records, "there is no such operand before this record");
    return NULL;
}

// The operand of a record that makes one; NULL: the builder refused it.
static bool add_operand(struct reader *reader, WNNOperand operand)
{
    if (!operand)
        return false;
    if (reader->operand_count == reader->operand_capacity)
        return FAIL(reader, "its records make more operands than the %u of its header",
                    reader->operand_capacity);
    reader->operands[reader->operand_count++] = operand;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs and constants
// ---------------------------------------------------------------------------------------------------------------

static bool read_input(struct reader *reader)
{
    uint32_t dims[WNN_MAX_RANK];
    WNNOperandDescriptor descriptor = take_type(reader, dims);
    WNNStringView name = wnn_cursor_text(&reader->records);
    return check_cursor(reader, &reader->records) &&
           add_operand(reader, wnnGraphBuilderInput(reader->builder, name, &descriptor));
}

static WNNDimension take_dimension(struct cursor *cursor)
{
    WNNDimension dimension = {.name = wnn_cursor_text(cursor)};
    uint32_t unknown = wnn_cursor_u32(cursor);
    dimension.isUnknown = unknown;
    dimension.minSize = wnn_cursor_u32(cursor);
    dimension.maxSize = wnn_cursor_u32(cursor);
    if (unknown > 1)
        wnn_cursor_fail(cursor, "a dimension is neither known nor not");
    return dimension;
}

// Dimensions that have neither a name nor are unknown have the size of the type.
static bool read_late_input(struct reader *reader)
{
    uint32_t dims[WNN_MAX_RANK];
    WNNDimension dimensions[WNN_MAX_RANK];
    WNNOperandDescriptor descriptor = take_type(reader, dims);
    WNNStringView name = wnn_cursor_text(&reader->records);
    if (!check_cursor(reader, &reader->records))
        return false;
    for (size_t i = 0; i < descriptor.shape.count; i++) {
        dimensions[i] = take_dimension(&reader->records);
        if ((dimensions[i].isUnknown || wnn_string(dimensions[i].name).length) && dims[i])
            wnn_cursor_fail(&reader->records, "a dimension has a name and a size");
    }
    const WNNNamedDimensions named = {{NULL, WNNSType_NamedDimensions}, descriptor.shape.count, dimensions};
    descriptor.nextInChain = &named.chain;
    return check_cursor(reader, &reader->records) &&
           add_operand(reader, wnnGraphBuilderInput(reader->builder, name, &descriptor));
}

// Checks the descriptor of a constant, whose bytes are counted by it.
static bool take_constant(struct reader *reader, uint32_t dims[WNN_MAX_RANK],
                          WNNOperandDescriptor *descriptor, struct descriptor *type)
{
    *descriptor = take_type(reader, dims);
    return check_cursor(reader, &reader->records) &&
           wnn_check_descriptor(&reader->builder->limits, NULL, "constant", descriptor->dataType,
                                descriptor->shape, type, &reader->builder->error);
}

static bool read_value_constant(struct reader *reader)
{
    uint32_t dims[WNN_MAX_RANK];
    WNNOperandDescriptor descriptor;
    struct descriptor type;
    if (!take_constant(reader, dims, &descriptor, &type))
        return false;
    size_t size = wnn_descriptor_bytes(&type);
    const unsigned char *bytes = wnn_cursor_bytes(&reader->data, size, 8);
    return check_cursor(reader, &reader->data) &&
           add_operand(reader, wnnGraphBuilderConstant(reader->builder, &descriptor, bytes, size));
}

// What the host has found is a constant of this builder that is what the record says.
static bool check_found(struct reader *reader, WNNOperand handle, const struct descriptor *type)
{
    const struct operand *operand = wnn_operand(handle);
    if (!operand)
        return FAIL(reader, "record %u: there is no such constant", reader->record);
    if (operand->graph != &reader->builder->graph || !operand->constant)
        return FAIL(reader, "record %u: what was found is no constant of this builder", reader->record);
    return (operand->type.type == type->type && wnn_shape_equal(&operand->type.shape, &type->shape)) ||
           FAIL(reader, "record %u: the constant that was found is %s %s; expected %s %s", reader->record,
                wnn_dtype_name(operand->type.type), SHAPE_TEXT(&operand->type.shape),
                wnn_dtype_name(type->type), SHAPE_TEXT(&type->shape));
}

static bool read_found_constant(struct reader *reader, enum serial_record kind)
{
    uint32_t dims[WNN_MAX_RANK];
    struct cursor *cursor = &reader->records;
    const WNNDeserializeDescriptor *from = reader->descriptor;
    WNNOperandDescriptor descriptor;
    struct descriptor type;
    WNNConstantReference reference = WNN_CONSTANT_REFERENCE_INIT;
    if (!take_constant(reader, dims, &descriptor, &type))
        return false;
    if (kind == SERIAL_CONSTANT_FILE) {
        reference.form = WNNConstantForm_FileRange;
        reference.file = wnn_cursor_u64(cursor);
        reference.offset = wnn_cursor_u64(cursor);
    } else {
        WNNStringView id = wnn_cursor_text(cursor);
        reference.form = WNNConstantForm_Id;
        reference.id = id.data;
        reference.idLength = id.length;
        if (id.length == 0 || id.length > WNN_MAX_CONSTANT_ID)
            wnn_cursor_fail(cursor, "the id of a constant has no bytes or more than 256");
    }
    if (!check_cursor(reader, cursor))
        return false;
    if (!from->find)
        return FAIL(reader, "record %u: only constants by value are accepted here", reader->record);
    WNNOperand operand =
        from->find(reader->builder, &descriptor, &reference, from->userdata1, from->userdata2);
    return check_found(reader, operand, &type) && add_operand(reader, operand);
}

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

enum { // the fewest bytes of an item of a list
    OPERAND_BYTES = 4,
    ATTRIBUTE_BYTES = 12,
    ACTIVATION_BYTES = 8
};

static bool take_attributes(struct reader *reader, bool of_activation, WNNOperatorCall *call);

static bool take_activation(struct reader *reader, WNNActivation *activation)
{
    WNNOperatorCall call = WNN_OPERATOR_CALL_INIT;
    call.name = wnn_cursor_text(&reader->records);
    if (!take_attributes(reader, true, &call) || !check_cursor(reader, &reader->records))
        return false;
    *activation = wnnGraphBuilderCallActivation(reader->builder, &call);
    return *activation != NULL;
}

static bool take_activations(struct reader *reader, WNNActivationList *list)
{
    uint32_t count = wnn_cursor_count(&reader->records, ACTIVATION_BYTES);
    WNNActivation *items = allocate(reader, count, sizeof *items);
    *list = (WNNActivationList){items, count};
    for (uint32_t i = 0; items && i < count; i++)
        if (!take_activation(reader, &items[i]))
            return false;
    return items != NULL;
}

static bool take_u32s(struct reader *reader, WNNUint32List *list)
{
    uint32_t count = wnn_cursor_count(&reader->records, sizeof *list->data);
    uint32_t *items = allocate(reader, count, sizeof *items);
    for (uint32_t i = 0; items && i < count; i++)
        items[i] = wnn_cursor_u32(&reader->records);
    *list = (WNNUint32List){items, count};
    return items != NULL;
}

static bool take_f32s(struct reader *reader, WNNFloat32List *list)
{
    WNNUint32List bits;
    if (!take_u32s(reader, &bits))
        return false;
    float *items = allocate(reader, bits.count, sizeof *items);
    if (items && bits.count)
        memcpy(items, bits.data, bits.count * sizeof *items);
    *list = (WNNFloat32List){items, bits.count};
    return items != NULL;
}

static WNNNumber take_number(struct cursor *cursor)
{
    WNNNumber number = WNN_NUMBER_INIT;
    number.type = (WNNNumberType)wnn_cursor_u32(cursor);
    uint64_t bits = wnn_cursor_u64(cursor);
    memcpy(&number.value, &bits, sizeof bits);
    return number;
}

static bool take_value(struct reader *reader, WNNAttributeValue *value)
{
    struct cursor *cursor = &reader->records;
    uint32_t flag;
    switch (value->type) {
    case WNNAttributeType_Uint32:
        value->value.u32 = wnn_cursor_u32(cursor);
        return true;
    case WNNAttributeType_Int32:
    case WNNAttributeType_Enumerator:
        value->value.i32 = (int32_t)wnn_cursor_u32(cursor);
        return true;
    case WNNAttributeType_Bool:
        flag = wnn_cursor_u32(cursor);
        value->value.boolean = flag;
        if (flag > 1)
            wnn_cursor_fail(cursor, "a boolean is neither 0 nor 1");
        return true;
    case WNNAttributeType_Float64:
        value->value.f64 = wnn_cursor_f64(cursor);
        return true;
    case WNNAttributeType_Number:
        value->value.number = take_number(cursor);
        return true;
    case WNNAttributeType_Uint32List:
        return take_u32s(reader, &value->value.u32List);
    case WNNAttributeType_Float32List:
        return take_f32s(reader, &value->value.f32List);
    case WNNAttributeType_DataType:
        value->value.dataType = (WNNDataType)wnn_cursor_u32(cursor);
        return true;
    case WNNAttributeType_Activation:
        return take_activation(reader, &value->value.activation);
    case WNNAttributeType_ActivationList:
        return take_activations(reader, &value->value.activationList);
    case WNNAttributeType_Operand:
        value->value.operand = take_operand(reader);
        return true;
    default:
        wnn_cursor_fail(cursor, "an attribute has a type that does not exist");
        return true;
    }
}

// False: an error of the builder. What is wrong with the bytes is told by the cursor.
static bool take_attributes(struct reader *reader, bool of_activation, WNNOperatorCall *call)
{
    struct cursor *cursor = &reader->records;
    uint32_t count = wnn_cursor_count(cursor, ATTRIBUTE_BYTES);
    WNNNamedAttribute *attributes = allocate(reader, count, sizeof *attributes);
    call->attributes = attributes;
    call->attributeCount = count;
    for (uint32_t i = 0; attributes && i < count && !cursor->problem; i++) {
        attributes[i].name = wnn_cursor_text(cursor);
        WNNAttributeType type = (WNNAttributeType)wnn_cursor_u32(cursor);
        if (of_activation && (type == WNNAttributeType_Activation || type == WNNAttributeType_ActivationList))
            wnn_cursor_fail(cursor, "an activation has an activation");
        attributes[i].value.type = type;
        if (!cursor->problem && !take_value(reader, &attributes[i].value))
            return false;
    }
    return attributes != NULL;
}

static bool take_inputs(struct reader *reader, WNNOperatorCall *call)
{
    uint32_t count = wnn_cursor_count(&reader->records, OPERAND_BYTES);
    WNNOperand *inputs = allocate(reader, count, sizeof *inputs);
    for (uint32_t i = 0; inputs && i < count; i++)
        inputs[i] = take_operand(reader);
    call->inputs = inputs;
    call->inputCount = count;
    return inputs != NULL;
}

// The numbers of attributes that are sizes, as the table says, in the place of those that stand for them.
static void find_sizes(struct reader *reader, const WNNOperatorCall *call)
{
    enum op op = wnn_op_find(wnn_string(call->name));
    for (size_t i = 0; op != WNN_OP_COUNT && i < call->attributeCount; i++) {
        WNNAttributeValue *value = (WNNAttributeValue *)(uintptr_t)&call->attributes[i].value;
        const struct op_row *row =
            wnn_op_attr_row(&wnn_ops[op], wnn_string(call->attributes[i].name), (int)value->type - 1);
        if (!row || !wnn_op_row_is_size(row))
            continue;
        if (value->type == WNNAttributeType_Uint32)
            value->value.u32 = take_size(reader, value->value.u32);
        uint32_t *items = (uint32_t *)(uintptr_t)value->value.u32List.data;
        for (size_t k = 0; value->type == WNNAttributeType_Uint32List && k < value->value.u32List.count; k++)
            items[k] = take_size(reader, items[k]);
    }
}

static bool check_result(struct reader *reader, const WNNOperatorCall *call, uint32_t index, struct kind kind,
                         WNNOperand result)
{
    const struct operand *operand = wnn_operand(result);
    const struct descriptor *type = &operand->type;
    if (operand->unranked != kind.unranked)
        return FAIL(reader, "record %u: the rank of result %u of %.*s is%s known; expected that it is%s",
                    reader->record, index, (int)call->name.length, call->name.data,
                    operand->unranked ? " not" : "", kind.unranked ? " not" : "");
    return (type->type == kind.type && type->shape.rank == kind.rank) ||
           FAIL(reader, "record %u: result %u of %.*s is %s of rank %u; expected %s of rank %u",
                reader->record, index, (int)call->name.length, call->name.data, wnn_dtype_name(type->type),
                type->shape.rank, wnn_dtype_name(kind.type), kind.rank);
}

// Records the call and appends its results, which are those that the record tells.
static bool record(struct reader *reader, const WNNOperatorCall *call, uint32_t count,
                   const struct kind *kinds)
{
    if (count > reader->operand_capacity - reader->operand_count)
        return FAIL(reader, "its records make more operands than the %u of its header",
                    reader->operand_capacity);
    WNNOperand *results = reader->operands + reader->operand_count;
    size_t made = wnnGraphBuilderCall(reader->builder, call, count, results);
    if (made == 0)
        return false;
    if (made != count)
        return FAIL(reader, "record %u: %.*s has %zu results; expected %u", reader->record,
                    (int)call->name.length, call->name.data, made, count);
    for (uint32_t i = 0; i < count; i++)
        if (!check_result(reader, call, i, kinds[i], results[i]))
            return false;
    reader->operand_count += count;
    return true;
}

static bool read_operator(struct reader *reader)
{
    struct cursor *cursor = &reader->records;
    WNNOperatorCall call = WNN_OPERATOR_CALL_INIT;
    call.name = wnn_cursor_text(cursor);
    call.label = wnn_cursor_text(cursor);
    if (!take_inputs(reader, &call) || !take_attributes(reader, false, &call))
        return false;
    uint32_t count = wnn_cursor_count(cursor, OPERAND_BYTES);
    struct kind *kinds = allocate(reader, count, sizeof *kinds);
    for (uint32_t i = 0; kinds && i < count; i++)
        kinds[i] = take_kind(cursor, reader->late ? SERIAL_UNRANKED : 0);
    if (reader->late && kinds && !cursor->problem)
        find_sizes(reader, &call);
    return kinds && check_cursor(reader, cursor) && record(reader, &call, count, kinds);
}

// ---------------------------------------------------------------------------------------------------------------
// All of it
// ---------------------------------------------------------------------------------------------------------------

static bool read_size(struct reader *reader)
{
    return wnn_size_reader_record(&reader->sizes, reader->builder, reader->operands, reader->operand_count,
                                  &reader->records) &&
           check_cursor(reader, &reader->records);
}

static bool read_record(struct reader *reader)
{
    uint32_t kind = wnn_cursor_u32(&reader->records);
    if (reader->late && kind == SERIAL_SIZE)
        return read_size(reader);
    if (reader->late && kind == SERIAL_LATE_INPUT)
        return read_late_input(reader);
    switch (kind) {
    case SERIAL_INPUT:
        return read_input(reader);
    case SERIAL_CONSTANT_VALUE:
        return read_value_constant(reader);
    case SERIAL_CONSTANT_FILE:
    case SERIAL_CONSTANT_ID:
        return read_found_constant(reader, (enum serial_record)kind);
    case SERIAL_OPERATOR:
        return read_operator(reader);
    default:
        wnn_cursor_fail(&reader->records, "a record is of a kind that does not exist");
        return check_cursor(reader, &reader->records);
    }
}

// Each record and each output takes 4 bytes or more, and so does each operand that records make: what the
// header counts is bounded by what is there.
static bool read_header(struct reader *reader)
{
    const WNNDeserializeDescriptor *from = reader->descriptor;
    struct cursor header = {.data = from->data, .size = from->byteLength};
    const unsigned char *magic = wnn_cursor_bytes(&header, 8, 4);
    if (!magic || memcmp(magic, SERIAL_MAGIC, 8) != 0)
        return FAIL(reader, "%zu bytes that do not begin as one", from->byteLength);
    uint32_t version = wnn_cursor_u32(&header), features = wnn_cursor_u32(&header);
    if (version != SERIAL_VERSION && !header.problem)
        return FAIL(reader, "it has version %u of the format; this library reads version %d", version,
                    SERIAL_VERSION);
    if (features & ~(uint32_t)SERIAL_LATE)
        return FAIL(reader, "it needs features 0x%x, which this library does not have", features);
    reader->late = features & SERIAL_LATE;
    reader->record_count = wnn_cursor_u32(&header);
    reader->operand_capacity = wnn_cursor_u32(&header);
    reader->output_count = wnn_cursor_u32(&header);
    if (wnn_cursor_u32(&header))
        wnn_cursor_fail(&header, "bytes that stand for nothing are not zero");
    uint64_t record_bytes = wnn_cursor_u64(&header), data_bytes = wnn_cursor_u64(&header);
    if (!check_cursor(reader, &header))
        return false;
    size_t rest = header.size - header.at;
    if (record_bytes > rest || data_bytes != rest - record_bytes || record_bytes % 8)
        return FAIL(reader, "it has %zu bytes, but not as many as its header says", from->byteLength);
    uint64_t words = record_bytes / 4;
    if (reader->record_count > words || reader->operand_capacity > words || reader->output_count > words)
        return FAIL(reader, "its header counts more than its records have room for");
    reader->records =
        (struct cursor){.data = header.data, .size = header.at + (size_t)record_bytes, .at = header.at};
    reader->data = (struct cursor){.data = header.data, .size = header.size, .at = reader->records.size};
    return true;
}

static bool read_records(struct reader *reader)
{
    reader->operands = wnn_arena_allocate(&reader->builder->graph.arena,
                                          (reader->operand_capacity + (size_t)1) * sizeof *reader->operands);
    if (!reader->operands)
        return wnn_fail_memory(&reader->builder->error);
    struct arena_mark mark = wnn_arena_mark(&reader->arena);
    for (; reader->record < reader->record_count; reader->record++) {
        if (!read_record(reader))
            return false;
        wnn_arena_rewind(&reader->arena, mark);
    }
    return reader->operand_count == reader->operand_capacity ||
           FAIL(reader, "its records make %u operands; expected the %u of its header", reader->operand_count,
                reader->operand_capacity);
}

static bool read_outputs(struct reader *reader, WNNDeserializedGraph *graph)
{
    struct WNNGraphBuilderImpl *builder = reader->builder;
    struct cursor *cursor = &reader->records;
    WNNNamedOperand *outputs =
        wnn_arena_allocate(&builder->graph.arena, (reader->output_count + (size_t)1) * sizeof *outputs);
    if (!outputs)
        return wnn_fail_memory(&builder->error);
    for (uint32_t i = 0; i < reader->output_count; i++) {
        static const char what[] = "the name of an output";
        WNNStringView name = wnn_cursor_text(cursor);
        outputs[i].operand = take_operand(reader);
        struct string kept = wnn_string(name);
        if (!check_cursor(reader, cursor) ||
            !wnn_check_string(&builder->limits, what, name, &builder->error) ||
            !wnn_builder_keep_string(builder, what, &kept))
            return false;
        outputs[i].name = wnn_string_view(kept);
    }
    graph->outputs = outputs;
    graph->outputCount = reader->output_count;
    return true;
}

// Nothing is left over but zeros.
static bool check_ends(struct reader *reader)
{
    struct cursor *records = &reader->records, *data = &reader->data;
    if (records->at % 8 && wnn_cursor_u32(records))
        wnn_cursor_fail(records, "bytes that stand for nothing are not zero");
    if (records->at != records->size)
        wnn_cursor_fail(records, "there are more bytes than records and outputs");
    if (data->at != data->size)
        wnn_cursor_fail(data, "there are more data than constants");
    return check_cursor(reader, records) && check_cursor(reader, data);
}

static bool read_all(struct reader *reader, WNNDeserializedGraph *graph)
{
    if (!read_header(reader) || !read_records(reader) || !read_outputs(reader, graph) || !check_ends(reader))
        return false;
    graph->operands = reader->operands;
    graph->operandCount = reader->operand_count;
    return true;
}

WNNStatus wnnGraphBuilderDeserialize(WNNGraphBuilder builder, const WNNDeserializeDescriptor *descriptor,
                                     WNNDeserializedGraph *graph)
{
    if (!builder)
        return WNNStatus_TypeError;
    struct error *error = &builder->error;
    if (error->status != WNNStatus_Success ||
        !wnn_check_outputs(graph, 1, sizeof *graph, "deserialized graph", error))
        return error->status;
    *graph = (WNNDeserializedGraph)WNN_DESERIALIZED_GRAPH_INIT;
    struct reader reader = {.builder = builder, .descriptor = descriptor};
    if (!descriptor || (!descriptor->data && descriptor->byteLength)) {
        FAIL(&reader, "there are no bytes");
        return error->status;
    }
    if (!wnn_check_chain(descriptor->nextInChain, 0, "deserialize descriptor", error))
        return error->status;
    wnn_arena_init(&reader.arena, builder->graph.arena.allocator);
    wnn_arena_init(&reader.sizes.arena, builder->graph.arena.allocator);
    bool done = read_all(&reader, graph);
    wnn_arena_free(&reader.arena);
    wnn_arena_free(&reader.sizes.arena);
    if (!done)
        *graph = (WNNDeserializedGraph)WNN_DESERIALIZED_GRAPH_INIT;
    return error->status;
}
