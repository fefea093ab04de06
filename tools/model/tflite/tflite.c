// SPDX-License-Identifier: Apache-2.0
//
// TensorFlow Lite as a format of models.

#include "lib/text.h"
#include "tools/model/format.h"
#include "tools/model/tflite/call.h"
#include "tools/model/tflite/record.h"

#include <stdio.h>

static WNNStringView view_of(struct bytes text)
{
    return (WNNStringView){(const char *)text.data, text.size};
}

// Text in the model's memory; empty: there is not enough.
static WNNStringView copy_text(struct model_memory *memory, const char *text)
{
    size_t length = strlen(text);
    char *copy = wnn_model_allocate(memory, length + 1, 1);
    if (copy)
        memcpy(copy, text, length);
    return (WNNStringView){copy ? copy : "", copy ? length : 0};
}

// ---------------------------------------------------------------------------------------------------------------
// Inputs and outputs
// ---------------------------------------------------------------------------------------------------------------

static struct tflite_tensor tensor_at(struct tflite_file *file, const struct flatbuffer_vector *tensors,
                                      size_t i)
{
    struct tflite_tensor tensor;
    int64_t index = wnn_flatbuffer_number_at(tensors, FLATBUFFER_INT32, i);
    wnn_tflite_tensor(file, &file->subgraphs[0], (size_t)index, &tensor);
    return tensor;
}

// The name of a tensor, or one that says which input or output it is.
static WNNStringView name_of(struct model_memory *memory, const struct tflite_tensor *tensor,
                             const char *kind, size_t index)
{
    char made[40];
    if (tensor->name.size)
        return view_of(tensor->name);
    snprintf(made, sizeof made, "%s_%zu", kind, index);
    return copy_text(memory, made);
}

static bool describe_value(struct model_memory *memory, const struct tflite_tensor *from, WNNStringView name,
                           WNNModelValue *to)
{
    struct recording narrow = {.narrow = true};
    const char *type = type_name(from->type);
    size_t rank = from->shape.count;
    WNNModelDimension *dimensions = wnn_model_allocate(memory, rank, sizeof *dimensions);
    for (size_t i = 0; dimensions && i < rank; i++) {
        int64_t size = wnn_flatbuffer_number_at(&from->shape, FLATBUFFER_INT32, i);
        bool open = wnn_flatbuffer_number_at(&from->signature, FLATBUFFER_INT32, i) < 0;
        dimensions[i] = (WNNModelDimension){WNN_STRING_VIEW_INIT, open || size < 0 ? 0 : (uint64_t)size};
        dimensions[i].name = (WNNStringView){"", 0};
    }
    *to = (WNNModelValue){name,      {type, strlen(type)}, operand_type(&narrow, from->type), true, rank,
                          dimensions};
    return dimensions != NULL;
}

static bool describe_values(struct tflite_model *model, struct model_memory *memory,
                            struct model_description *to)
{
    const struct tflite_subgraph *graph = &model->file.subgraphs[0];
    bool good = true;
    for (size_t i = 0; good && i < graph->inputs.count; i++) {
        struct tflite_tensor tensor = tensor_at(&model->file, &graph->inputs, i);
        model->input_names[i] = name_of(memory, &tensor, "input", i);
        if (!tensor.data.size)
            good = describe_value(memory, &tensor, model->input_names[i], &to->inputs[to->input_count++]);
    }
    for (size_t i = 0; good && i < graph->outputs.count; i++) {
        struct tflite_tensor tensor = tensor_at(&model->file, &graph->outputs, i);
        model->output_names[i] = name_of(memory, &tensor, "output", i);
        good = describe_value(memory, &tensor, model->output_names[i], &to->outputs[to->output_count++]);
    }
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Metadata
// ---------------------------------------------------------------------------------------------------------------

// Texts are padded with zeros.
static bool is_printable(struct bytes *bytes)
{
    while (bytes->size && bytes->data[bytes->size - 1] == 0)
        bytes->size--;
    for (size_t i = 0; i < bytes->size; i++)
        if ((bytes->data[i] < ' ' && bytes->data[i] != '\n' && bytes->data[i] != '\t') ||
            bytes->data[i] == 0x7F)
            return false;
    return true;
}

// A text, or how many bytes there are of something else.
static WNNStringView value_of(const struct tflite_file *file, struct model_memory *memory, struct bytes bytes)
{
    char made[40];
    struct bytes text = bytes;
    if (wnn_flatbuffer_keeps(&file->buffer, bytes) && is_printable(&text))
        return view_of(text);
    snprintf(made, sizeof made, "%zu bytes", bytes.size);
    return copy_text(memory, made);
}

// "image = serving_default_image:0, ...": what tensors are called by a signature.
static void list_tensors(struct text *text, const struct tflite_subgraph *graph,
                         const struct flatbuffer_table *signature, unsigned field)
{
    struct flatbuffer_vector maps = wnn_flatbuffer_vector(signature, field, 4);
    char name[120], tensor[120];
    for (size_t i = 0; i < maps.count && i < 64; i++) {
        struct flatbuffer_table map = wnn_flatbuffer_item(&maps, i);
        uint64_t index = (uint64_t)wnn_flatbuffer_number(&map, 1, FLATBUFFER_UINT32, 0);
        wnn_model_print(name, sizeof name, wnn_flatbuffer_bytes(&map, 0));
        wnn_model_print(tensor, sizeof tensor, wnn_tflite_tensor_name(graph, (size_t)index));
        wnn_text_add(text, "%s%s = %s", i ? ", " : "", name, tensor);
    }
}

static void describe_signature(struct tflite_model *model, struct model_memory *memory,
                               const struct flatbuffer_table *signature, WNNModelMetadata *to)
{
    const struct tflite_file *file = &model->file;
    uint64_t index = (uint64_t)wnn_flatbuffer_number(signature, 4, FLATBUFFER_UINT32, 0);
    const struct tflite_subgraph *graph = &file->subgraphs[index < file->subgraph_count ? index : 0];
    char key[160], name[120], value[2000];
    struct text text = TEXT(value);
    wnn_model_print(name, sizeof name, wnn_flatbuffer_bytes(signature, 2));
    snprintf(key, sizeof key, "signature %s", name);
    list_tensors(&text, graph, signature, 0);
    wnn_text_add(&text, " -> ");
    list_tensors(&text, graph, signature, 1);
    *to = (WNNModelMetadata){copy_text(memory, key), copy_text(memory, value)};
}

// False: there is not enough memory.
static bool describe_metadata(struct tflite_model *model, struct model_memory *memory,
                              struct model_description *to)
{
    struct tflite_file *file = &model->file;
    struct flatbuffer_vector metadata = wnn_flatbuffer_vector(&file->model, 6, 4),
                             signatures = wnn_flatbuffer_vector(&file->model, 7, 4);
    to->metadata = wnn_model_allocate(memory, metadata.count + signatures.count + 1, sizeof *to->metadata);
    if (!to->metadata)
        return false;
    if (file->description.size)
        to->metadata[to->metadata_count++] =
            (WNNModelMetadata){copy_text(memory, "description"), view_of(file->description)};
    for (size_t i = 0; i < metadata.count && !file->buffer.fault; i++) {
        struct flatbuffer_table item = wnn_flatbuffer_item(&metadata, i);
        struct bytes name = wnn_flatbuffer_bytes(&item, 0);
        struct bytes data = wnn_tflite_buffer(file, wnn_flatbuffer_number(&item, 1, FLATBUFFER_UINT32, 0));
        to->metadata[to->metadata_count++] = (WNNModelMetadata){view_of(name), value_of(file, memory, data)};
    }
    for (size_t i = 0; i < signatures.count && !file->buffer.fault; i++) {
        struct flatbuffer_table item = wnn_flatbuffer_item(&signatures, i);
        describe_signature(model, memory, &item, &to->metadata[to->metadata_count++]);
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// The format
// ---------------------------------------------------------------------------------------------------------------

static bool describe(struct tflite_model *model, struct model_memory *memory, struct model_description *to)
{
    struct tflite_file *file = &model->file;
    const struct tflite_subgraph *graph = &file->subgraphs[0];
    model->input_names = wnn_model_allocate(memory, graph->inputs.count, sizeof(WNNStringView));
    model->output_names = wnn_model_allocate(memory, graph->outputs.count, sizeof(WNNStringView));
    to->inputs = wnn_model_allocate(memory, graph->inputs.count, sizeof *to->inputs);
    to->outputs = wnn_model_allocate(memory, graph->outputs.count, sizeof *to->outputs);
    if (!model->input_names || !model->output_names || !to->inputs || !to->outputs ||
        !describe_values(model, memory, to) || !describe_metadata(model, memory, to))
        return false;
    for (size_t i = 0; i < graph->operators.count; i++) {
        struct tflite_operator node;
        wnn_tflite_operator(file, graph, i, &node);
        WNNStringView domain = {"custom", node.builtin == TFLITE_CUSTOM ? 6 : 0};
        if (!wnn_model_count_operator(memory, to, domain, view_of(wnn_tflite_name(&node)),
                                      wnn_tflite_find(&node) != NULL))
            return false;
    }
    to->info = (WNNModelInfo){.format = WNNModelFormat_TensorFlowLite,
                              .name = view_of(graph->name),
                              .producer = {"", 0},
                              .producerVersion = {"", 0},
                              .formatVersion = (uint64_t)file->version,
                              .nodeCount = graph->operators.count,
                              .weightBytes = file->weight_bytes};
    return true;
}

static void *open_tflite(struct model_source *source, struct model_memory *memory,
                         struct model_description *description, struct error *error)
{
    struct tflite_model *model = wnn_model_allocate(memory, 1, sizeof *model);
    const struct excerpt *excerpt = source->excerpt.own ? &source->excerpt : NULL;
    const char *fault =
        model ? wnn_tflite_open(excerpt ? excerpt->file : source->bytes, excerpt, memory, &model->file)
              : NULL;
    bool good = model && !fault && describe(model, memory, description);
    if (model && !fault)
        fault = model->file.buffer.fault;
    if (fault)
        return wnn_fail(error, WNNStatus_TypeError, "%.500s: %s", source->path, fault), NULL;
    return good ? model : (wnn_fail_memory(error), NULL);
}

static bool copy_description(struct model_source *source, struct error *error)
{
    return wnn_source_make_excerpt(source, wnn_tflite_find_weights, error);
}

const struct model_format wnn_format_tflite = {.format = WNNModelFormat_TensorFlowLite,
                                               .name = "TensorFlow Lite",
                                               .recognize = wnn_tflite_recognize,
                                               .copy_description = copy_description,
                                               .open = open_tflite,
                                               .record = wnn_tflite_record};
