// SPDX-License-Identifier: Apache-2.0
//
// Writing: what a builder holds, as webnn/reflection.h tells it.

#include "lib/dtype.h"
#include "tools/model/bounds.h"
#include "tools/model/webnn/safetensors.h"
#include "tools/model/webnn/recorder.h"

#include <webnn/reflection.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_INLINE ((size_t)64 << 10) // bytes of a constant that stand in the text

struct writer {
    WNNGraphBuilder builder;
    const WNNModelSaveDescriptor *descriptor;
    FILE *file;
    struct allocator allocator;
    struct arena arena;
    size_t operand_count;
    const char **names; // of operands, by index
    const char *const *keys;
    bool weights; // they are written, too
    struct safetensors_item *items;
    size_t item_count;
    struct error *error;
};

// ---------------------------------------------------------------------------------------------------------------
// Names
// ---------------------------------------------------------------------------------------------------------------

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_taken(const char *const *taken, size_t count, const char *name)
{
    return bsearch(&name, taken, count, sizeof *taken, by_text) != NULL;
}

static const char *copy_name(struct writer *writer, WNNStringView view)
{
    return wnn_string_copy(&writer->arena, wnn_string(view)).data;
}

// Whether it can be read again as it is.
static bool can_write(struct string name)
{
    return name.length > 0 && !memchr(name.data, 0, name.length) && wnn_string_is_utf8(name);
}

// Gives an operand a name unless it has one or the name cannot be written; false: the operand is not the
// builder's, or there is no memory.
static bool give_name(struct writer *writer, const WNNNamedOperand *named)
{
    size_t index = wnnOperandGetIndex(named->operand);
    WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
    if (wnnGraphBuilderGetOperand(writer->builder, index, &operand) || operand.operand != named->operand)
        return wnn_fail(writer->error, WNNStatus_TypeError, "save: an operand of another builder, or none");
    if (writer->names[index] || !can_write(wnn_string(named->name)))
        return true;
    writer->names[index] = copy_name(writer, named->name);
    return writer->names[index] || wnn_fail_memory(writer->error);
}

// Numbers for those that nobody named, which no name is.
static bool make_up_names(struct writer *writer)
{
    size_t count = 0, output_count = writer->descriptor->outputCount;
    const char **taken =
        wnn_arena_allocate(&writer->arena, (writer->operand_count + output_count + 1) * sizeof *taken);
    if (!taken)
        return wnn_fail_memory(writer->error);
    for (size_t i = 0; i < writer->operand_count; i++)
        if (writer->names[i])
            taken[count++] = writer->names[i];
    for (size_t i = 0; i < output_count; i++) {
        taken[count] = copy_name(writer, writer->descriptor->outputs[i].name);
        if (!taken[count++])
            return wnn_fail_memory(writer->error);
    }
    qsort(taken, count, sizeof *taken, by_text);
    for (size_t i = 0; i < writer->operand_count; i++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(writer->builder, i, &operand);
        char name[40];
        for (int underscores = 0; !writer->names[i] && underscores < 16; underscores++) {
            snprintf(name, sizeof name, "%.*s%c%zu", underscores, "________________",
                     operand.source == WNNOperandSource_Constant ? 'c' : 't', i);
            if (is_taken(taken, count, name) && underscores < 15)
                continue;
            writer->names[i] = copy_name(writer, (WNNStringView){name, strlen(name)});
            if (!writer->names[i])
                return wnn_fail_memory(writer->error);
        }
    }
    return true;
}

enum rank {
    IS_INPUT, // whose name is its own
    IS_OUTPUT,
    IS_OTHER
};

struct entry {
    const char *name;
    enum rank rank;
    size_t index;
};

static int by_name(const void *one, const void *other)
{
    const struct entry *a = one, *b = other;
    int order = strcmp(a->name, b->name);
    if (order == 0 && a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

// Operands of one name are told apart: all but the first of the lowest rank are numbered.
static bool drop_equal_names(struct writer *writer)
{
    const WNNModelSaveDescriptor *descriptor = writer->descriptor;
    struct entry *entries = wnn_arena_allocate(&writer->arena, (writer->operand_count + 1) * sizeof *entries);
    size_t count = 0;
    if (!entries)
        return wnn_fail_memory(writer->error);
    for (size_t i = 0; i < writer->operand_count; i++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(writer->builder, i, &operand);
        bool is_input = operand.source == WNNOperandSource_Input;
        entries[i] = (struct entry){writer->names[i], is_input ? IS_INPUT : IS_OTHER, i};
    }
    for (size_t i = 0; i < descriptor->outputCount; i++) {
        struct entry *entry = &entries[wnnOperandGetIndex(descriptor->outputs[i].operand)];
        entry->rank = entry->rank == IS_INPUT ? IS_INPUT : IS_OUTPUT;
    }
    for (size_t i = 0; i < writer->operand_count; i++)
        if (entries[i].name)
            entries[count++] = entries[i];
    qsort(entries, count, sizeof *entries, by_name);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(entries[i].name, entries[i - 1].name) != 0)
            continue;
        if (entries[i].rank == IS_INPUT)
            return wnn_fail(writer->error, WNNStatus_TypeError, "save: two inputs are called \"%.200s\"",
                            entries[i].name);
        writer->names[entries[i].index] = NULL;
    }
    return true;
}

// An output whose name is not its operand's is written as another name of it, which nothing else may have.
static bool check_outputs(struct writer *writer)
{
    const WNNModelSaveDescriptor *descriptor = writer->descriptor;
    const char **taken =
        wnn_arena_allocate(&writer->arena, (writer->operand_count + descriptor->outputCount) * sizeof *taken);
    if (!taken)
        return wnn_fail_memory(writer->error);
    memcpy(taken, writer->names, writer->operand_count * sizeof *taken);
    size_t count = writer->operand_count;
    for (size_t i = 0; i < descriptor->outputCount; i++) {
        const char *own = copy_name(writer, descriptor->outputs[i].name);
        if (!own)
            return wnn_fail_memory(writer->error);
        if (strcmp(own, writer->names[wnnOperandGetIndex(descriptor->outputs[i].operand)]) != 0)
            taken[count++] = own;
    }
    qsort(taken, count, sizeof *taken, by_text);
    for (size_t i = 1; i < count; i++)
        if (strcmp(taken[i], taken[i - 1]) == 0)
            return wnn_fail(writer->error, WNNStatus_TypeError,
                            "save: the name \"%.200s\" is that of an output and of something else", taken[i]);
    return true;
}

static bool check_name(struct writer *writer, const char *what, size_t number, WNNStringView name)
{
    static const WNNLimits usual = WNN_LIMITS_INIT; // of who reads it
    size_t length = wnn_string(name).length;
    if (!can_write(wnn_string(name)))
        return wnn_fail(writer->error, WNNStatus_TypeError,
                        "save: the name of %s %zu is empty, has a NUL in it or is not UTF-8", what, number);
    return length <= usual.maxStringLength ||
           wnn_fail(writer->error, WNNStatus_TypeError,
                    "save: the name of %s %zu has %zu bytes; expected at most %u", what, number, length,
                    usual.maxStringLength);
}

// As for building: every output has a name of its own.
static bool check_output_names(struct writer *writer)
{
    const WNNModelSaveDescriptor *descriptor = writer->descriptor;
    const char **names = wnn_arena_allocate(&writer->arena, descriptor->outputCount * sizeof *names);
    if (!names)
        return wnn_fail_memory(writer->error);
    for (size_t i = 0; i < descriptor->outputCount; i++) {
        if (!check_name(writer, "output", i, descriptor->outputs[i].name))
            return false;
        names[i] = copy_name(writer, descriptor->outputs[i].name);
        if (!names[i])
            return wnn_fail_memory(writer->error);
    }
    qsort(names, descriptor->outputCount, sizeof *names, by_text);
    for (size_t i = 1; i < descriptor->outputCount; i++)
        if (strcmp(names[i], names[i - 1]) == 0)
            return wnn_fail(writer->error, WNNStatus_TypeError, "save: two outputs are called \"%.200s\"",
                            names[i]);
    return true;
}

// Outputs have the first word, after inputs, whose names are theirs; then what people wrote if it can be,
// then a number.
static bool collect_names(struct writer *writer)
{
    const WNNModelSaveDescriptor *descriptor = writer->descriptor;
    writer->names = wnn_arena_allocate(&writer->arena, (writer->operand_count + 1) * sizeof *writer->names);
    if (!writer->names)
        return wnn_fail_memory(writer->error);
    memset(writer->names, 0, (writer->operand_count + 1) * sizeof *writer->names);
    if (!check_output_names(writer))
        return false;
    for (size_t i = 0, inputs = 0; i < writer->operand_count; i++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(writer->builder, i, &operand);
        WNNNamedOperand input = {operand.name, operand.operand};
        if (operand.source == WNNOperandSource_Input &&
            (!check_name(writer, "input", inputs++, operand.name) || !give_name(writer, &input)))
            return false;
    }
    for (size_t i = 0; i < descriptor->outputCount; i++)
        if (!give_name(writer, &descriptor->outputs[i]))
            return false;
    for (size_t i = 0; i < descriptor->nameCount; i++)
        if (!give_name(writer, &descriptor->names[i]))
            return false;
    return drop_equal_names(writer) && make_up_names(writer) && check_outputs(writer);
}

static void put_quoted(struct writer *writer, const char *string)
{
    const char *quoted = graph_text_quote(&writer->arena, (struct string){string, strlen(string)});
    if (quoted)
        fputs(quoted, writer->file);
    else
        wnn_fail_memory(writer->error);
}

static void put_name(struct writer *writer, const char *name)
{
    if (!graph_text_is_word((struct string){name, strlen(name)}) || strcmp(name, "null") == 0)
        put_quoted(writer, name);
    else
        fputs(name, writer->file);
}

static void put_operand(struct writer *writer, WNNOperand operand)
{
    put_name(writer, writer->names[wnnOperandGetIndex(operand)]);
}

// ---------------------------------------------------------------------------------------------------------------
// Attributes
// ---------------------------------------------------------------------------------------------------------------

static void put_real(struct writer *writer, double value)
{
    if (isnan(value) || isinf(value)) {
        fprintf(writer->file, "\"%s\"", isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        return;
    }
    // The shortest of the forms that reads back as the same number.
    char buffer[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buffer, sizeof buffer, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    fputs(buffer, writer->file);
}

static void put_number(struct writer *writer, WNNNumber number)
{
    if (number.type == WNNNumberType_Int64)
        fprintf(writer->file, "%lld", (long long)number.value.i64);
    else if (number.type == WNNNumberType_Uint64)
        fprintf(writer->file, "%llu", (unsigned long long)number.value.u64);
    else
        put_real(writer, number.value.f64);
}

static void put_attributes(struct writer *writer, const WNNOperatorCall *call, const char *separator);

static void put_activation(struct writer *writer, WNNActivation activation)
{
    WNNRecordedOperator recorded = WNN_RECORDED_OPERATOR_INIT;
    if (wnnGraphBuilderGetActivation(writer->builder, activation, &recorded)) {
        wnn_fail_memory(writer->error);
        return;
    }
    fputs(recorded.call.name.data, writer->file);
    if (recorded.call.attributeCount == 0)
        return;
    fputs("(", writer->file);
    put_attributes(writer, &recorded.call, "");
    fputs(")", writer->file);
}

static const char *enumerator_name(WNNStringView operation, WNNStringView name, int32_t value)
{
    uint32_t op = wnnFindOperator(operation);
    WNNAttributeInfo info = WNN_ATTRIBUTE_INFO_INIT;
    for (uint32_t i = 0; wnnGetAttributeInfo(op, i, &info) == WNNStatus_Success; i++)
        if (wnn_string_equal(wnn_string(info.name), wnn_string(name)))
            return info.enumerators[value - 1];
    return "";
}

static void put_value(struct writer *writer, const WNNOperatorCall *call, const WNNNamedAttribute *attribute)
{
    const WNNAttributeValue *of = &attribute->value;
    const char *separator = "";
    switch (of->type) {
    case WNNAttributeType_Uint32:
        fprintf(writer->file, "%u", (unsigned)of->value.u32);
        break;
    case WNNAttributeType_Int32:
        fprintf(writer->file, "%d", (int)of->value.i32);
        break;
    case WNNAttributeType_Bool:
        fputs(of->value.boolean ? "true" : "false", writer->file);
        break;
    case WNNAttributeType_Float64:
        put_real(writer, of->value.f64);
        break;
    case WNNAttributeType_Number:
        put_number(writer, of->value.number);
        break;
    case WNNAttributeType_Uint32List:
        fputs("[", writer->file);
        for (size_t i = 0; i < of->value.u32List.count; i++, separator = ", ")
            fprintf(writer->file, "%s%u", separator, (unsigned)of->value.u32List.data[i]);
        fputs("]", writer->file);
        break;
    case WNNAttributeType_Float32List:
        fputs("[", writer->file);
        for (size_t i = 0; i < of->value.f32List.count; i++, separator = ", ") {
            fputs(separator, writer->file);
            put_real(writer, (double)of->value.f32List.data[i]);
        }
        fputs("]", writer->file);
        break;
    case WNNAttributeType_DataType:
        fprintf(writer->file, "\"%s\"", wnn_dtype_name(of->value.dataType));
        break;
    case WNNAttributeType_Enumerator:
        fprintf(writer->file, "\"%s\"", enumerator_name(call->name, attribute->name, of->value.i32));
        break;
    case WNNAttributeType_Activation:
        put_activation(writer, of->value.activation);
        break;
    case WNNAttributeType_ActivationList:
        fputs("[", writer->file);
        for (size_t i = 0; i < of->value.activationList.count; i++, separator = ", ") {
            fputs(separator, writer->file);
            put_activation(writer, of->value.activationList.data[i]);
        }
        fputs("]", writer->file);
        break;
    case WNNAttributeType_Operand:
        put_operand(writer, of->value.operand);
        break;
    default:
        break;
    }
}

// Operands before the others, as people write them.
static void put_attributes(struct writer *writer, const WNNOperatorCall *call, const char *separator)
{
    for (int operands = 1; operands >= 0; operands--)
        for (size_t i = 0; i < call->attributeCount; i++) {
            const WNNNamedAttribute *attribute = &call->attributes[i];
            if ((attribute->value.type == WNNAttributeType_Operand) != operands)
                continue;
            fprintf(writer->file, "%s%s=", separator, attribute->name.data);
            put_value(writer, call, attribute);
            separator = ", ";
        }
}

// ---------------------------------------------------------------------------------------------------------------
// Blocks
// ---------------------------------------------------------------------------------------------------------------

static struct descriptor type_of(const WNNRecordedOperand *operand)
{
    struct descriptor type = {operand->dataType, {(unsigned)operand->shape.count, {0}}};
    memcpy(type.shape.dim, operand->shape.data, operand->shape.count * sizeof type.shape.dim[0]);
    return type;
}

static void put_declaration(struct writer *writer, const WNNRecordedOperand *operand)
{
    struct descriptor type = type_of(operand);
    fputs("    ", writer->file);
    put_operand(writer, operand->operand);
    fprintf(writer->file, ": %s%s", graph_text_dtype_name(type.type), SHAPE_TEXT(&type.shape));
}

static void write_inputs(struct writer *writer)
{
    fputs("  inputs {\n", writer->file);
    for (size_t i = 0; i < writer->operand_count; i++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(writer->builder, i, &operand);
        if (operand.source != WNNOperandSource_Input)
            continue;
        put_declaration(writer, &operand);
        fputs(";\n", writer->file);
    }
    fputs("  }\n", writer->file);
}

static bool put_bytes(struct writer *writer, const char *name, const WNNRecordedOperand *constant)
{
    if (constant->byteLength > MAX_INLINE)
        return wnn_fail(
            writer->error, WNNStatus_TypeError,
            "the constant %.200s has %zu bytes and no weights file; say with --weights-out where they go",
            name, constant->byteLength);
    fputs(" @bytes([", writer->file);
    for (size_t i = 0; i < constant->byteLength; i++)
        fprintf(writer->file, "%s%u", i ? ", " : "", ((const unsigned char *)constant->data)[i]);
    fputs("])", writer->file);
    return true;
}

static bool put_scalar(struct writer *writer, const WNNRecordedOperand *constant)
{
    if (constant->shape.count != 0 || wnn_dtype_bits(constant->dataType) == 4)
        return false;
    // Weights that are external have any alignment.
    uint64_t aligned = 0;
    memcpy(&aligned, constant->data, constant->byteLength);
    WNNNumber value = wnn_number_load(constant->dataType, &aligned, 0);
    if (value.type == WNNNumberType_Float64 && !isfinite(value.value.f64))
        return false;
    if (value.type == WNNNumberType_Float64)
        fprintf(writer->file, " @scalar(%.9g)", value.value.f64);
    else if (value.type == WNNNumberType_Uint64)
        fprintf(writer->file, " @scalar(%llu)", (unsigned long long)value.value.u64);
    else
        fprintf(writer->file, " @scalar(%lld)", (long long)value.value.i64);
    return true;
}

static bool write_constants(struct writer *writer)
{
    bool any = false;
    writer->items = wnn_arena_allocate(&writer->arena, (writer->operand_count + 1) * sizeof *writer->items);
    if (!writer->items)
        return wnn_fail_memory(writer->error);
    for (size_t i = 0; i < writer->operand_count; i++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(writer->builder, i, &operand);
        if (operand.source != WNNOperandSource_Constant)
            continue;
        fputs(any ? "" : "\n  consts {\n", writer->file);
        any = true;
        put_declaration(writer, &operand);
        const char *key = writer->weights ? writer->names[i] : writer->keys ? writer->keys[i] : NULL;
        if (put_scalar(writer, &operand)) {
            // It stands in the text.
        } else if (key) {
            fputs(" @weights(", writer->file);
            put_quoted(writer, key);
            fputs(")", writer->file);
            writer->items[writer->item_count++] =
                (struct safetensors_item){writer->names[i], type_of(&operand), operand.data};
        } else if (!put_bytes(writer, writer->names[i], &operand)) {
            return false;
        }
        fputs(";\n", writer->file);
    }
    if (any)
        fputs("  }\n", writer->file);
    return true;
}

static void put_call(struct writer *writer, const WNNRecordedOperator *node)
{
    const char *separator = "";
    fputs(node->outputCount > 1 ? "    [" : "    ", writer->file);
    for (size_t k = 0; k < node->outputCount; k++) {
        fputs(k ? ", " : "", writer->file);
        put_operand(writer, node->outputs[k]);
    }
    fprintf(writer->file, "%s = %s(", node->outputCount > 1 ? "]" : "", node->call.name.data);
    for (size_t k = 0; k < node->call.inputCount; k++, separator = ", ") {
        fputs(separator, writer->file);
        put_operand(writer, node->call.inputs[k]);
    }
    put_attributes(writer, &node->call, separator);
    fputs(");\n", writer->file);
}

static bool write_nodes(struct writer *writer)
{
    size_t count = wnnGraphBuilderGetOperatorCount(writer->builder);
    fputs("\n  nodes {\n", writer->file);
    for (size_t i = 0; i < count; i++) {
        WNNRecordedOperator node = WNN_RECORDED_OPERATOR_INIT;
        if (wnnGraphBuilderGetOperator(writer->builder, i, &node))
            return wnn_fail_memory(writer->error);
        put_call(writer, &node);
    }
    // An operand that is more than one output has a name for each.
    for (size_t i = 0; i < writer->descriptor->outputCount; i++) {
        const WNNNamedOperand *output = &writer->descriptor->outputs[i];
        const char *name = writer->names[wnnOperandGetIndex(output->operand)],
                   *own = copy_name(writer, output->name);
        if (!own)
            return wnn_fail_memory(writer->error);
        if (strcmp(name, own) == 0)
            continue;
        fputs("    ", writer->file);
        put_name(writer, own);
        fputs(" = ", writer->file);
        put_name(writer, name);
        fputs(";\n", writer->file);
    }
    fputs("  }\n", writer->file);
    return true;
}

// A file has numbers for sizes.
static bool check_sizes(struct writer *writer)
{
    for (size_t i = 0; i < writer->operand_count; i++) {
        WNNRecordedOperand operand = WNN_RECORDED_OPERAND_INIT;
        wnnGraphBuilderGetOperand(writer->builder, i, &operand);
        for (size_t d = 0; operand.source == WNNOperandSource_Input && d < operand.shape.count; d++)
            if (operand.shape.data[d] > WNN_MAX_DIMENSION)
                return wnn_fail(writer->error, WNNStatus_NotSupportedError,
                                "save: an input has sizes that are not known, for which .webnn has no form");
    }
    return true;
}

// What is too long to be read again is no use.
static bool check_length(struct writer *writer)
{
    off_t length = ftello(writer->file);
    return length <= (off_t)MAX_GRAPH_TEXT ||
           wnn_fail(writer->error, WNNStatus_NotSupportedError,
                    "save: the text of the graph has %lld bytes; no more than %zu are read",
                    (long long)length, MAX_GRAPH_TEXT);
}

static bool write_all(struct writer *writer, const char *weights)
{
    const WNNModelSaveDescriptor *descriptor = writer->descriptor;
    if (descriptor->outputCount == 0)
        return wnn_fail(writer->error, WNNStatus_TypeError, "save: there are no outputs");
    if (!check_sizes(writer) || !collect_names(writer))
        return false;
    const char *name = copy_name(writer, descriptor->name);
    if (!name)
        return wnn_fail_memory(writer->error);
    fputs("webnn_graph ", writer->file);
    put_quoted(writer, name[0] ? name : "graph");
    fputs(" v1 {\n", writer->file);
    write_inputs(writer);
    if (!write_constants(writer) || !write_nodes(writer))
        return false;
    fputs("\n  outputs {", writer->file);
    for (size_t i = 0; i < descriptor->outputCount; i++) {
        const char *output = copy_name(writer, descriptor->outputs[i].name);
        if (!output)
            return wnn_fail_memory(writer->error);
        fputs(" ", writer->file);
        put_name(writer, output);
        fputs(";", writer->file);
    }
    fputs(" }\n}\n", writer->file);
    return !writer->error->status &&
           (!weights || (check_length(writer) &&
                         safetensors_write(weights, writer->items, writer->item_count, writer->error)));
}

bool webnn_write(WNNGraphBuilder builder, const WNNModelSaveDescriptor *descriptor, FILE *file,
                 const char *weights, const char *const *keys, struct error *error)
{
    struct writer writer = {.builder = builder,
                            .descriptor = descriptor,
                            .file = file,
                            .operand_count = wnnGraphBuilderGetOperandCount(builder),
                            .keys = keys,
                            .weights = weights != NULL,
                            .error = error};
    wnn_allocator_init(&writer.allocator, NULL, 0);
    wnn_arena_init(&writer.arena, &writer.allocator);
    bool good = write_all(&writer, weights);
    wnn_arena_free(&writer.arena);
    return good;
}
