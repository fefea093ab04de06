// SPDX-License-Identifier: Apache-2.0
//
// Reading: the blocks of a file in order. Inputs and constants here, operators in call.c.

#include "tools/model/webnn/recorder.h"

#include "tools/model/bounds.h"
#include "tools/model/format.h"
#include "tools/model/webnn/safetensors.h"

#include <webnn/reflection.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ERRORS 1000 // that are told of one file

// An opened file.
struct webnn_file {
    struct allocator allocator;
    struct arena arena; // of the text's tree
    struct graph_text text;
    struct safetensors weights;
    char *weights_path;
    bool tried;
    struct error fault; // why the weights could not be opened
    bool told;          // which is said once
};

// ---------------------------------------------------------------------------------------------------------------
// Names
// ---------------------------------------------------------------------------------------------------------------

#define LONGEST_NAME 63

// How many letters must be put in, left out, replaced or exchanged with their neighbours to make one name of
// another; large and small letters are the same.
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][LONGEST_NAME + 1], *before = rows[0], *last = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t *oldest = before;
        before = last;
        last = row;
        row = oldest;
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t best = last[j - 1] + ((a[i - 1] | 0x20) != (b[j - 1] | 0x20));
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return row[b_length];
}

const char *webnn_nearest_name(struct string wanted, const char *(*next)(void *argument), void *argument)
{
    const char *best = NULL, *name;
    size_t best_distance = 2 + wanted.length / 4;
    while ((name = next(argument))) {
        size_t length = strlen(name);
        if (length > LONGEST_NAME || wanted.length > LONGEST_NAME)
            continue;
        size_t far = distance(wanted.data, wanted.length, name, length);
        if (far < best_distance || (far == best_distance && best && length == wanted.length)) {
            best_distance = far;
            best = name;
        }
    }
    return best;
}

static size_t hash(struct string name)
{
    uint64_t value = 14695981039346656037u;
    for (size_t i = 0; i < name.length; i++)
        value = (value ^ (unsigned char)name.data[i]) * 1099511628211u;
    return (size_t)(value ^ value >> 32);
}

struct webnn_name *webnn_find_name(const struct webnn_recorder *recorder, struct string name)
{
    struct webnn_name *found = recorder->buckets[hash(name) % recorder->bucket_count];
    while (found && !wnn_string_equal(found->name, name))
        found = found->next;
    return found;
}

bool webnn_add_name(struct webnn_recorder *recorder, const struct text_name *name, WNNOperand operand,
                    struct string key, struct error *error)
{
    if (webnn_find_name(recorder, name->name))
        return graph_text_fail(recorder->text, name->place, error, "%.200s is defined already",
                               name->name.data);
    struct webnn_name **bucket = &recorder->buckets[hash(name->name) % recorder->bucket_count];
    struct webnn_name *added = &recorder->names[recorder->name_count++];
    *added = (struct webnn_name){.name = name->name, .operand = operand, .key = key, .next = *bucket};
    *bucket = added;
    return true;
}

// Room for every name that the file has.
static bool begin_names(struct webnn_recorder *recorder, struct error *error)
{
    const struct graph_text *text = recorder->text;
    size_t count = text->input_count + text->constant_count;
    for (size_t i = 0; i < text->statement_count; i++)
        count += text->statements[i].target_count;
    recorder->bucket_count = count * 2 + 1;
    recorder->names = wnn_arena_allocate(recorder->arena, (count + 1) * sizeof *recorder->names);
    recorder->buckets =
        wnn_arena_allocate(recorder->arena, recorder->bucket_count * sizeof(struct webnn_name *));
    if (!recorder->names || !recorder->buckets)
        return wnn_fail_memory(error);
    memset(recorder->buckets, 0, recorder->bucket_count * sizeof(struct webnn_name *));
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs and constants
// ---------------------------------------------------------------------------------------------------------------

static WNNOperandDescriptor public_descriptor(const struct descriptor *type)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type->type;
    descriptor.shape = (WNNUint32List){type->shape.dim, type->shape.rank};
    return descriptor;
}

bool webnn_fail_builder(const struct webnn_recorder *recorder, struct place place, struct error *error)
{
    WNNError fault;
    wnnGraphBuilderGetError(recorder->builder, &fault);
    struct string message = wnn_string(fault.message);
    graph_text_fail(recorder->text, place, error, "%.*s", (int)message.length, message.data);
    wnnGraphBuilderClearError(recorder->builder);
    return false;
}

// What the caller says of an input; NULL: nothing.
static const WNNModelInputValue *find_given(const WNNModelRecordOptions *options, struct string name)
{
    for (size_t i = 0; i < options->inputCount; i++)
        if (wnn_string_equal(wnn_string(options->inputs[i].name), name))
            return &options->inputs[i];
    return NULL;
}

static bool is_shape(WNNUint32List list, const struct shape *shape)
{
    return list.count == shape->rank && memcmp(list.data, shape->dim, list.count * sizeof list.data[0]) == 0;
}

static bool read_input(struct webnn_recorder *recorder, const WNNModelRecordOptions *options,
                       const struct declaration *input, struct error *error)
{
    const struct graph_text *text = recorder->text;
    const WNNModelInputValue *given = find_given(options, input->name.name);
    WNNOperandDescriptor descriptor = public_descriptor(&input->type);
    WNNOperand operand = NULL;
    if (given && given->shape.count != WNN_LIST_ABSENT && !is_shape(given->shape, &input->type.shape))
        return graph_text_fail(text, input->name.place, error, "the shape of the input %.200s is %s",
                               input->name.name.data, SHAPE_TEXT(&input->type.shape));
    if (given && given->operand) {
        if (wnnOperandGetDataType(given->operand) != input->type.type ||
            !is_shape(wnnOperandGetShape(given->operand), &input->type.shape))
            return graph_text_fail(text, input->name.place, error,
                                   "the operand for the input %.200s is not of its type, %s%s",
                                   input->name.name.data, graph_text_dtype_name(input->type.type),
                                   SHAPE_TEXT(&input->type.shape));
        operand = given->operand;
    } else if (given && given->data) {
        operand = wnnGraphBuilderConstant(recorder->builder, &descriptor, given->data, given->byteLength);
    } else {
        operand = wnnGraphBuilderInput(recorder->builder, wnn_string_view(input->name.name), &descriptor);
    }
    if (!operand)
        webnn_fail_builder(recorder, input->name.place, error);
    return webnn_add_name(recorder, &input->name, operand, STRING(""), error) && operand;
}

static bool same_shape(const struct descriptor *declared, const struct safetensor *tensor)
{
    return declared->type == tensor->type && wnn_shape_equal(&declared->shape, &tensor->shape);
}

// Whether these are the bytes that hold 4-bit weights, for which the format has no type.
static bool is_packed(const struct declaration *constant, const struct safetensor *tensor)
{
    size_t elements;
    return wnn_dtype_bits(constant->type.type) == 4 && tensor->type == WNNDataType_Uint8 &&
           wnn_shape_count(&constant->type.shape, &elements) &&
           wnn_dtype_bytes(constant->type.type, elements) == tensor->bytes.size;
}

char *webnn_weights_beside(const char *path)
{
    static const char ending[] = ".webnn", weights[] = ".safetensors";
    size_t length = strlen(path), cut = sizeof ending - 1;
    if (length >= cut && strcmp(path + length - cut, ending) == 0)
        length -= cut;
    char *result = calloc(1, length + sizeof weights);
    if (result) {
        memcpy(result, path, length);
        memcpy(result + length, weights, sizeof weights);
    }
    return result;
}

// Whether weights may lie beside it: what is in memory has a path of the program's choice, which is that of a
// file only if it looks like one.
static bool has_place(const struct model_source *source)
{
    size_t length = strlen(source->path), ending = strlen(wnn_format_webnn.ending);
    return !source->memory.data ||
           (length >= ending && strcmp(source->path + length - ending, wnn_format_webnn.ending) == 0);
}

// The path of the weights, or of the list of their files where that is what there is; NULL: no memory.
static char *find_weights(const struct model_source *source)
{
    static const char index[] = ".index.json";
    char *path = source->weights_path[0] ? strdup(source->weights_path) : webnn_weights_beside(source->path);
    if (!path || source->weights_path[0] || access(path, F_OK) == 0)
        return path;
    size_t length = strlen(path);
    char *list = calloc(1, length + sizeof index);
    if (!list)
        return path;
    memcpy(list, path, length);
    memcpy(list + length, index, sizeof index);
    bool found = access(list, F_OK) == 0;
    free(found ? path : list);
    return found ? list : path;
}

// Once, for the first constant that is there.
static bool open_weights(struct webnn_file *file, struct model_source *source)
{
    if (!file->tried) {
        file->tried = true;
        bool known = source->weights_path[0] || has_place(source);
        file->weights_path = known ? find_weights(source) : NULL;
        if (!known)
            wnn_fail(&file->fault, WNNStatus_UnknownError, "their file has to be named");
        else if (!file->weights_path)
            wnn_fail_memory(&file->fault);
        else
            safetensors_open(&file->weights, source, file->weights_path, &file->fault);
    }
    return !file->fault.status;
}

static WNNOperand lend(struct webnn_recorder *recorder, struct webnn_file *file, struct model_source *source,
                       const struct declaration *constant, struct error *error)
{
    if (!open_weights(file, source)) {
        if (!file->told)
            graph_text_fail(recorder->text, constant->source_place, error, "no weights: %s",
                            file->fault.message);
        file->told = true;
        return NULL;
    }
    const struct safetensor *tensor = safetensors_find(&file->weights, constant->key.data);
    if (!tensor) {
        graph_text_fail(recorder->text, constant->source_place, error, "%s has no tensor \"%.200s\"",
                        file->weights_path, constant->key.data);
        return NULL;
    }
    if (!same_shape(&constant->type, tensor) && !is_packed(constant, tensor)) {
        graph_text_fail(recorder->text, constant->source_place, error,
                        "%.200s is declared as %s%s; %s has \"%.200s\" as %s%s", constant->name.name.data,
                        graph_text_dtype_name(constant->type.type), SHAPE_TEXT(&constant->type.shape),
                        tensor->path, tensor->name, tensor->dtype,
                        tensor->shape.rank > WNN_MAX_RANK ? " of too many dimensions"
                                                          : SHAPE_TEXT(&tensor->shape));
        return NULL;
    }
    WNNOperandDescriptor descriptor = public_descriptor(&constant->type);
    struct source_name name;
    WNNExternalBytes bytes = wnn_source_lend(source, tensor->bytes, &name);
    return wnnGraphBuilderExternalConstant(recorder->builder, &descriptor, &bytes);
}

// `filled`: the bytes of all constants that were made so.
static WNNOperand fill(struct webnn_recorder *recorder, const struct declaration *constant, size_t *filled,
                       struct error *error)
{
    const struct descriptor *type = &constant->type;
    size_t elements = 0;
    if (type->shape.rank == 0 && wnn_dtype_bits(type->type) != 4)
        return wnnGraphBuilderScalarConstant(recorder->builder, type->type, constant->scalar);
    bool good = wnn_shape_count(&type->shape, &elements);
    size_t bytes = good ? wnn_dtype_bytes(type->type, elements) : SIZE_MAX;
    if (bytes > MAX_FILLED - *filled) {
        graph_text_fail(recorder->text, constant->source_place, error,
                        "constants of one number each are longer than %zu bytes, the most that are made",
                        MAX_FILLED);
        return NULL;
    }
    *filled += bytes;
    void *data = calloc(bytes + 1, 1);
    if (!data) {
        wnn_fail_memory(error);
        return NULL;
    }
    WNNOperandDescriptor descriptor = public_descriptor(type);
    WNNNumber value = wnn_number_convert(constant->scalar, type->type);
    for (size_t i = 0; i < elements; i++)
        wnn_number_store(value, type->type, data, i);
    WNNOperand operand = wnnGraphBuilderConstant(recorder->builder, &descriptor, data, bytes);
    free(data);
    return operand;
}

static bool read_constant(struct webnn_recorder *recorder, struct webnn_file *file,
                          struct model_source *source, const struct declaration *constant, size_t *filled,
                          struct error *error)
{
    WNNOperand operand;
    struct string key = STRING("");
    if (constant->source == FROM_WEIGHTS) {
        operand = lend(recorder, file, source, constant, error);
        key = constant->key;
    } else if (constant->source == FROM_SCALAR) {
        operand = fill(recorder, constant, filled, error);
    } else {
        WNNOperandDescriptor descriptor = public_descriptor(&constant->type);
        operand = wnnGraphBuilderConstant(recorder->builder, &descriptor,
                                          constant->bytes ? constant->bytes : (const unsigned char *)"",
                                          constant->byte_count);
    }
    if (!operand && !error->status && !(constant->source == FROM_WEIGHTS && file->told))
        webnn_fail_builder(recorder, constant->name.place, error);
    return webnn_add_name(recorder, &constant->name, operand, key, error) && operand;
}

// ---------------------------------------------------------------------------------------------------------------
// The format
// ---------------------------------------------------------------------------------------------------------------

static bool is_webnn(struct bytes bytes)
{
    static const char word[] = "webnn_graph";
    for (size_t i = 0; i < bytes.size; i++) {
        unsigned char c = bytes.data[i];
        if (c == '#' || (c == '/' && i + 1 < bytes.size && bytes.data[i + 1] == '/')) {
            while (i < bytes.size && bytes.data[i] != '\n')
                i++;
            if (i >= bytes.size)
                return true; // a comment that is longer than what is seen
        } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            return bytes.size - i >= sizeof word - 1 && memcmp(bytes.data + i, word, sizeof word - 1) == 0;
        }
    }
    return false;
}

static bool describe_type(struct model_memory *memory, const struct text_name *name,
                          const struct descriptor *type, WNNModelValue *to)
{
    WNNModelDimension *dimensions = wnn_model_allocate(memory, type->shape.rank, sizeof *dimensions);
    for (size_t i = 0; dimensions && i < type->shape.rank; i++)
        dimensions[i] = (WNNModelDimension){{"", 0}, type->shape.dim[i]};
    const char *of = wnn_dtype_name(type->type);
    *to = (WNNModelValue){
        wnn_string_view(name->name), {of, strlen(of)}, type->type, true, type->shape.rank, dimensions};
    return dimensions != NULL;
}

static bool count_operator(struct model_memory *memory, struct model_description *description,
                           const struct value *value)
{
    WNNStringView name = wnn_string_view(value->text);
    return value->kind != VALUE_CALL ||
           wnn_model_count_operator(memory, description, (WNNStringView){"", 0}, name,
                                    wnnFindOperator(name) != WNN_INDEX_NONE);
}

static bool describe(const struct graph_text *text, struct model_memory *memory, struct model_description *to)
{
    to->inputs = wnn_model_allocate(memory, text->input_count, sizeof *to->inputs);
    to->outputs = wnn_model_allocate(memory, text->output_count, sizeof *to->outputs);
    to->metadata = wnn_model_allocate(memory, 0, sizeof *to->metadata);
    bool good = to->inputs && to->outputs && to->metadata;
    for (size_t i = 0; good && i < text->input_count; i++)
        good = describe_type(memory, &text->inputs[i].name, &text->inputs[i].type,
                             &to->inputs[to->input_count++]);
    for (size_t i = 0; good && i < text->output_count; i++) // types are known once they are recorded
        to->outputs[to->output_count++] = (WNNModelValue){.name = wnn_string_view(text->outputs[i].name)};
    for (size_t i = 0; good && i < text->statement_count; i++)
        good = count_operator(memory, to, &text->statements[i].value);
    to->info = (WNNModelInfo){.format = WNNModelFormat_WebNN,
                              .name = wnn_string_view(text->name),
                              .formatVersion = text->version,
                              .nodeCount = text->statement_count};
    for (size_t i = 0; i < text->constant_count; i++) {
        size_t elements;
        const struct descriptor *type = &text->constants[i].type;
        if (text->constants[i].source == FROM_WEIGHTS && wnn_shape_count(&type->shape, &elements))
            to->info.weightBytes += wnn_dtype_bytes(type->type, elements);
    }
    return good;
}

static void *open_webnn(struct model_source *source, struct model_memory *memory,
                        struct model_description *description, struct error *error)
{
    struct webnn_file *file = wnn_model_allocate(memory, 1, sizeof *file);
    if (!file) {
        wnn_fail_memory(error);
        return NULL;
    }
    wnn_allocator_init(&file->allocator, NULL, memory->limit);
    wnn_arena_init(&file->arena, &file->allocator);
    bool good = source->bytes.size <= MAX_GRAPH_TEXT ||
                wnn_fail(error, WNNStatus_TypeError,
                         "%.500s is longer than %zu bytes, the most that are read of a graph file",
                         source->path, MAX_GRAPH_TEXT);
    good = good && graph_text_parse(source->path, source->bytes.data, source->bytes.size, &file->arena,
                                    &file->text, error);
    if (good && !describe(&file->text, memory, description))
        good = wnn_fail_memory(error);
    if (good)
        return file;
    wnn_arena_free(&file->arena);
    return NULL;
}

static void close_webnn(void *opened)
{
    struct webnn_file *file = opened;
    safetensors_close(&file->weights);
    free(file->weights_path);
    wnn_arena_free(&file->arena);
}

// Keeps an error for the caller; false: there have been enough.
static bool tell(struct model_record *record, struct error *error)
{
    if (error->status)
        wnn_model_add_error(&record->errors, (struct bytes){0}, (struct bytes){0}, error->message);
    *error = (struct error){WNNStatus_Success, ""};
    return record->errors.count < MAX_ERRORS;
}

static bool read_blocks(struct webnn_recorder *recorder, struct webnn_file *file, struct model_record *record)
{
    const struct graph_text *text = recorder->text;
    struct error error = {WNNStatus_Success, ""};
    size_t filled = 0;
    if (!begin_names(recorder, &error))
        return tell(record, &error), false;
    for (size_t i = 0; i < text->input_count; i++)
        if (!read_input(recorder, record->options, &text->inputs[i], &error) && !tell(record, &error))
            return false;
    for (size_t i = 0; i < text->constant_count; i++)
        if (!read_constant(recorder, file, record->source, &text->constants[i], &filled, &error) &&
            !tell(record, &error))
            return false;
    for (size_t i = 0; i < text->statement_count; i++)
        if (!webnn_record_call(recorder, &text->statements[i], &error) && !tell(record, &error))
            return false;
    if (text->output_count == 0) {
        graph_text_fail(text, (struct place){1, 1}, &error, "the graph has no outputs");
        tell(record, &error);
    }
    for (size_t i = 0; i < text->output_count; i++) {
        const struct text_name *output = &text->outputs[i];
        struct webnn_name *name = webnn_find_name(recorder, output->name);
        if (!name || name->is_output) {
            graph_text_fail(text, output->place, &error,
                            name ? "%.200s is an output already" : "nothing is called %.200s",
                            output->name.data);
            if (!tell(record, &error))
                return false;
            continue;
        }
        name->is_output = true;
        if (i < record->capacity)
            record->outputs[i] = (WNNNamedOperand){wnn_string_view(output->name), name->operand};
    }
    return record->errors.count == 0;
}

static bool record_webnn(void *opened, struct model_record *record)
{
    struct webnn_file *file = opened;
    const WNNModelRecordOptions *options = record->options;
    struct arena arena;
    wnn_arena_init(&arena, &file->allocator);
    file->told = false;
    record->errors.path = NULL; // it stands before line and column
    struct webnn_recorder recorder = {.builder = record->builder, .text = &file->text, .arena = &arena};
    bool good = read_blocks(&recorder, file, record);
    for (size_t i = 0; good && options->onName && i < recorder.name_count; i++) {
        const struct webnn_name *name = &recorder.names[i];
        WNNModelNamedValue value = {wnn_string_view(name->name), name->operand, wnn_string_view(name->key)};
        options->onName(&value, options->userdata1, options->userdata2);
    }
    wnn_arena_free(&arena);
    return good;
}

const struct model_format wnn_format_webnn = {.format = WNNModelFormat_WebNN,
                                              .name = ".webnn",
                                              .ending = ".webnn",
                                              .most = MAX_GRAPH_TEXT,
                                              .recognize = is_webnn,
                                              .open = open_webnn,
                                              .record = record_webnn,
                                              .close = close_webnn};
