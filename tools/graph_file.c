// SPDX-License-Identifier: Apache-2.0
//
// Reading: the blocks of a file in order. Inputs and constants here, operators in graph_call.c.

#include "tools/graph_file.h"

#include "tools/bounds.h"
#include "tools/memory.h"
#include "tools/safetensors.h"

#include <stdlib.h>
#include <string.h>

struct weights_file {
    const char *path;
    struct safetensors file;
    bool open, tried;
    struct error error; // why it could not be opened
};

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

const char *nearest_name(struct string wanted, const char *(*next)(void *argument), void *argument)
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

static WNNOperandDescriptor public_descriptor(const struct descriptor *type)
{
    WNNOperandDescriptor descriptor = WNN_OPERAND_DESCRIPTOR_INIT;
    descriptor.dataType = type->type;
    descriptor.shape = (WNNUint32List){type->shape.dim, type->shape.rank};
    return descriptor;
}

// Puts the place in the file in front of what the builder says.
static bool fail_builder(struct model *model, const struct graph_text *text, struct place place,
                         struct error *error)
{
    struct error builder = {WNNStatus_Success, ""};
    model_builder_error(model, &builder);
    return graph_text_fail(text, place, error, "%s", builder.message);
}

static bool bind(struct model *model, const struct graph_text *text, const struct text_name *name,
                 WNNOperand operand, struct error *error)
{
    if (!operand)
        return fail_builder(model, text, name->place, error);
    if (model_add_name(model, name->name, operand))
        return true;
    return graph_text_fail(text, name->place, error, "%.200s is defined already", name->name.data);
}

static bool read_inputs(struct model *model, const struct graph_text *text, struct error *error)
{
    for (size_t i = 0; i < text->input_count; i++) {
        const struct declaration *input = &text->inputs[i];
        WNNOperandDescriptor descriptor = public_descriptor(&input->type);
        WNNOperand operand =
            wnnGraphBuilderInput(model->builder, wnn_string_view(input->name.name), &descriptor);
        if (!bind(model, text, &input->name, operand, error))
            return false;
    }
    return true;
}

static void release_loan(const void *data, size_t size, void *mapping, void *key)
{
    (void)data;
    (void)size;
    (void)key;
    mapping_unref(mapping);
}

const char *graph_file_key(const struct constant *constant)
{
    return constant->external && constant->loan.release == release_loan ? constant->loan.userdata2 : NULL;
}

static bool same_shape(const struct descriptor *declared, const struct safetensor *tensor)
{
    return declared->type == tensor->type && wnn_shape_equal(&declared->shape, &tensor->shape);
}

// Whether these are the bytes that hold 4-bit weights, for which the format has no type.
static bool packed_bytes(const struct declaration *constant, const struct safetensor *tensor)
{
    size_t elements;
    return wnn_dtype_bits(constant->type.type) == 4 && tensor->type == WNNDataType_Uint8 &&
           wnn_shape_count(&constant->type.shape, &elements) &&
           wnn_dtype_bytes(constant->type.type, elements) == tensor->end - tensor->begin;
}

static WNNOperand lend(struct model *model, const struct graph_text *text, const struct declaration *constant,
                       struct weights_file *weights, struct error *error)
{
    if (!weights->tried) {
        weights->tried = true;
        weights->open = safetensors_open(weights->path, &weights->file, &weights->error);
    }
    if (!weights->open) {
        graph_text_fail(text, constant->source_place, error, "no weights: %s", weights->error.message);
        return NULL;
    }
    const struct safetensor *tensor = safetensors_find(&weights->file, constant->key.data);
    if (!tensor) {
        graph_text_fail(text, constant->source_place, error, "%s has no tensor \"%.200s\"", weights->path,
                        constant->key.data);
        return NULL;
    }
    if (!same_shape(&constant->type, tensor) && !packed_bytes(constant, tensor)) {
        graph_text_fail(
            text, constant->source_place, error, "%.200s is declared as %s%s; %s has \"%.200s\" as %s%s",
            constant->name.name.data, graph_text_dtype_name(constant->type.type),
            SHAPE_TEXT(&constant->type.shape), weights->path, tensor->name, tensor->dtype,
            tensor->shape.rank > WNN_MAX_RANK ? " of too many dimensions" : SHAPE_TEXT(&tensor->shape));
        return NULL;
    }
    WNNOperandDescriptor descriptor = public_descriptor(&constant->type);
    struct mapping *mapping = mapping_ref(weights->file.mapping);
    struct string key = wnn_string_copy(&model->arena, constant->key);
    WNNExternalBytes bytes = {
        .data = mapping->data + tensor->begin,
        .byteLength = tensor->end - tensor->begin,
        .release = release_loan,
        .userdata1 = mapping,
        .userdata2 = must((void *)(uintptr_t)key.data),
    };
    return wnnGraphBuilderExternalConstant(model->builder, &descriptor, &bytes);
}

// `filled`: the bytes of all constants that were made so.
static WNNOperand fill(struct model *model, const struct graph_text *text, const struct declaration *constant,
                       size_t *filled, struct error *error)
{
    const struct descriptor *type = &constant->type;
    size_t elements = 0;
    if (type->shape.rank == 0 && wnn_dtype_bits(type->type) != 4)
        return wnnGraphBuilderScalarConstant(model->builder, type->type, constant->scalar);
    WNNOperandDescriptor descriptor = public_descriptor(type);
    // The builder says what is wrong with a type, before there are so many bytes of it.
    struct error ignored = {WNNStatus_Success, ""};
    bool good = wnn_check_limits(&model->builder->limits, "", type, &ignored) &&
                wnn_shape_count(&type->shape, &elements) && elements > 0;
    size_t bytes = good ? wnn_dtype_bytes(type->type, elements) : 0;
    if (bytes > MAX_FILLED - *filled) {
        graph_text_fail(text, constant->source_place, error,
                        "constants of one number each are longer than %zu bytes, the most that are made",
                        MAX_FILLED);
        return NULL;
    }
    *filled += bytes;
    void *data = must_allocate(bytes);
    WNNNumber value = wnn_number_convert(constant->scalar, type->type);
    for (size_t i = 0; good && i < elements; i++)
        wnn_number_store(value, type->type, data, i);
    WNNOperand operand = wnnGraphBuilderConstant(model->builder, &descriptor, data, bytes);
    free(data);
    return operand;
}

static bool read_constants(struct model *model, const struct graph_text *text, struct weights_file *weights,
                           struct error *error)
{
    size_t filled = 0;
    for (size_t i = 0; i < text->constant_count; i++) {
        const struct declaration *constant = &text->constants[i];
        WNNOperand operand;
        if (constant->source == FROM_WEIGHTS) {
            operand = lend(model, text, constant, weights, error);
        } else if (constant->source == FROM_SCALAR) {
            operand = fill(model, text, constant, &filled, error);
        } else {
            WNNOperandDescriptor descriptor = public_descriptor(&constant->type);
            operand = wnnGraphBuilderConstant(model->builder, &descriptor,
                                              constant->bytes ? constant->bytes : (const unsigned char *)"",
                                              constant->byte_count);
        }
        if (error->status || !bind(model, text, &constant->name, operand, error))
            return false;
    }
    return true;
}

static bool read_outputs(struct model *model, const struct graph_text *text, struct error *error)
{
    if (text->output_count == 0)
        return graph_text_fail(text, (struct place){1, 1}, error, "the graph has no outputs");
    for (size_t i = 0; i < text->output_count; i++) {
        const struct text_name *output = &text->outputs[i];
        WNNOperand operand = model_find(model, output->name);
        if (!operand)
            return graph_text_fail(text, output->place, error, "nothing is called %.200s", output->name.data);
        model_add_output(model, output->name, operand);
    }
    return true;
}

// "dir/name.webnn" to "dir/name.safetensors".
static char *beside(const char *path)
{
    static const char ending[] = ".webnn", weights[] = ".safetensors";
    size_t length = strlen(path), cut = sizeof ending - 1;
    if (length >= cut && strcmp(path + length - cut, ending) == 0)
        length -= cut;
    char *result = must_allocate(length + sizeof weights);
    memcpy(result, path, length);
    memcpy(result + length, weights, sizeof weights);
    return result;
}

bool graph_file_read(struct model *model, const char *path, const char *weights, struct error *error)
{
    static const struct mapping_rule rule = {.what = "a graph file", .most = MAX_GRAPH_TEXT, .copy = true};
    struct mapping *mapping = mapping_open(path, &rule, error);
    if (!mapping)
        return false;
    struct arena arena;
    wnn_arena_init(&arena, &model->allocator);
    char *found = weights ? NULL : beside(path);
    struct weights_file file = {.path = weights ? weights : found};
    struct graph_text text;
    bool good = graph_text_parse(path, mapping->data, mapping->size, &arena, &text, error);
    mapping_unref(mapping);
    good = good && read_inputs(model, &text, error) && read_constants(model, &text, &file, error);
    for (size_t i = 0; good && i < text.statement_count; i++)
        good = graph_call_record(model, &text, &arena, &text.statements[i], error);
    good = good && read_outputs(model, &text, error);
    if (good) {
        model->name = wnn_string_copy(&model->arena, text.name);
        must((void *)(uintptr_t)model->name.data);
    }
    if (file.open)
        safetensors_close(&file.file);
    free(found);
    wnn_arena_free(&arena);
    return good;
}
