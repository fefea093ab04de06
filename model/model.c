// SPDX-License-Identifier: Apache-2.0
#include <webnn/model.h>

#include "lib/status.h"
#include "lib/text.h"
#include "model/mapping.h"
#include "model/onnx/call.h"
#include "model/onnx/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILES 64 // of external data of one model

// Files that operands were lent from: one reference of the model, one of each operand.
struct store {
    atomic_size_t references;
    struct mapping *files[MAX_FILES + 1]; // the model's own is the first, unless it was given as memory
    char *paths[MAX_FILES + 1];
    size_t file_count;
    WNNModelDescriptor memory; // `release` is called for it
};

struct WNNModelImpl {
    struct store *store;
    char *path;
    bool copy;
    struct onnx_file file;
    WNNModelInfo info;
    WNNModelValue *inputs, *outputs;
    size_t input_count, output_count;
    WNNModelMetadata *metadata;
    WNNModelOperator *operators;
    size_t operator_count;
};

// ---------------------------------------------------------------------------------------------------------------
// Files
// ---------------------------------------------------------------------------------------------------------------

static void ref_store(void *userdata)
{
    struct store *store = userdata;
    atomic_fetch_add_explicit(&store->references, 1, memory_order_relaxed);
}

static void unref_store(struct store *store)
{
    if (atomic_fetch_sub_explicit(&store->references, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < store->file_count; i++) {
        mapping_unref(store->files[i]);
        free(store->paths[i]);
    }
    const WNNModelDescriptor *memory = &store->memory;
    if (memory->release)
        memory->release(memory->data, memory->byteLength, memory->userdata1, memory->userdata2);
    free(store);
}

static void release_lent(const void *data, size_t size, void *userdata, void *unused)
{
    (void)data, (void)size, (void)unused;
    unref_store(userdata);
}

// The bytes of an open file; opens it if it is not. NULL and an error otherwise.
static struct mapping *open_file(struct store *store, const char *path, bool copy, struct error *error)
{
    struct mapping_rule rule = {.what = "a model", .most = SIZE_MAX / 4, .copy = copy};
    for (size_t i = 0; i < store->file_count; i++)
        if (strcmp(store->paths[i], path) == 0)
            return store->files[i];
    if (store->file_count > MAX_FILES) {
        wnn_fail(error, WNNStatus_TypeError, "more than %d files of external data", MAX_FILES);
        return NULL;
    }
    char *kept = strdup(path);
    struct mapping *file = kept ? mapping_open(path, &rule, error) : NULL;
    if (!kept)
        wnn_fail_memory(error);
    if (!file) {
        free(kept);
        return NULL;
    }
    store->files[store->file_count] = file;
    store->paths[store->file_count++] = kept;
    return file;
}

// External data lie in the model's folder or below: a name that leads elsewhere is refused.
static bool is_below(struct bytes location)
{
    if (location.size == 0 || location.size > 4096 || location.data[0] == '/' ||
        memchr(location.data, 0, location.size))
        return false;
    for (size_t i = 0; i + 1 < location.size; i++)
        if ((i == 0 || location.data[i - 1] == '/') && location.data[i] == '.' &&
            location.data[i + 1] == '.' && (i + 2 == location.size || location.data[i + 2] == '/'))
            return false;
    return true;
}

static struct bytes find_external(void *userdata, const struct onnx_tensor *tensor, const char **fault)
{
    static _Thread_local struct error error;
    struct WNNModelImpl *model = userdata;
    error = (struct error){WNNStatus_Success, ""};
    if (!is_below(tensor->location)) {
        *fault = "its file is not in the folder of the model";
        return (struct bytes){0};
    }
    const char *slash = strrchr(model->path, '/');
    size_t folder = slash ? (size_t)(slash - model->path) + 1 : 0;
    char *path = calloc(1, folder + tensor->location.size + 1);
    if (!path) {
        *fault = "there is not enough memory";
        return (struct bytes){0};
    }
    memcpy(path, model->path, folder);
    memcpy(path + folder, tensor->location.data, tensor->location.size);
    struct mapping *file = open_file(model->store, path, model->copy, &error);
    free(path);
    if (!file) {
        *fault = error.message;
        return (struct bytes){0};
    }
    size_t left = tensor->offset <= file->size ? file->size - tensor->offset : 0;
    if (tensor->offset > file->size || tensor->length > left) {
        *fault = "its file is shorter than that";
        return (struct bytes){0};
    }
    return (struct bytes){file->data + tensor->offset, tensor->length ? (size_t)tensor->length : left};
}

// ---------------------------------------------------------------------------------------------------------------
// Description
// ---------------------------------------------------------------------------------------------------------------

static WNNStringView view_of(struct bytes text)
{
    return (WNNStringView){(const char *)text.data, text.size};
}

static bool is_constant(const struct onnx_graph *graph, struct bytes name)
{
    for (size_t i = 0; i < graph->initializer_count; i++)
        if (same_text(graph->initializers[i].name, name))
            return true;
    return false;
}

static bool describe_value(struct WNNModelImpl *model, const struct onnx_value *from, WNNModelValue *to)
{
    struct recording narrow = {.narrow = true};
    const char *name = type_name(from->type);
    WNNModelDimension *dimensions = wnn_onnx_allocate(&model->file.memory, from->rank, sizeof *dimensions);
    for (size_t i = 0; dimensions && i < from->rank; i++) {
        dimensions[i].name = view_of(from->dims[i].param);
        dimensions[i].size =
            from->dims[i].known && from->dims[i].value > 0 ? (uint64_t)from->dims[i].value : 0;
    }
    *to = (WNNModelValue){view_of(from->name), {name, strlen(name)}, operand_type(&narrow, from->type),
                          from->has_shape,     from->rank,           dimensions};
    return dimensions != NULL;
}

// How many nodes there are of each operator. Graphs have few different ones.
static bool count_operators(struct WNNModelImpl *model)
{
    const struct onnx_graph *graph = &model->file.graph;
    model->operators = wnn_onnx_allocate(&model->file.memory, graph->node_count, sizeof *model->operators);
    for (size_t i = 0; model->operators && i < graph->node_count; i++) {
        const struct onnx_node *node = &graph->nodes[i];
        size_t at = 0;
        for (; at < model->operator_count; at++) {
            const WNNModelOperator *op = &model->operators[at];
            if (same_text((struct bytes){(const unsigned char *)op->name.data, op->name.length},
                          node->operation) &&
                same_text((struct bytes){(const unsigned char *)op->domain.data, op->domain.length},
                          node->domain))
                break;
        }
        if (at == model->operator_count)
            model->operators[model->operator_count++] =
                (WNNModelOperator){view_of(node->domain), view_of(node->operation), 0,
                                   wnn_onnx_operator(node->domain, node->operation) != NULL};
        model->operators[at].count++;
    }
    return model->operators != NULL;
}

static uint64_t stored_bytes(const struct onnx_tensor *tensor)
{
    return tensor->external ? tensor->length : tensor->raw.size ? tensor->raw.size : tensor->message.size;
}

static bool describe(struct WNNModelImpl *model)
{
    struct onnx_file *file = &model->file;
    const struct onnx_graph *graph = &file->graph;
    model->inputs = wnn_onnx_allocate(&file->memory, graph->input_count, sizeof *model->inputs);
    model->outputs = wnn_onnx_allocate(&file->memory, graph->output_count, sizeof *model->outputs);
    model->metadata = wnn_onnx_allocate(&file->memory, file->metadata_count, sizeof *model->metadata);
    bool good = model->inputs && model->outputs && model->metadata && count_operators(model);
    for (size_t i = 0; good && i < graph->input_count; i++)
        if (!is_constant(graph, graph->inputs[i].name))
            good = describe_value(model, &graph->inputs[i], &model->inputs[model->input_count++]);
    for (size_t i = 0; good && i < graph->output_count; i++)
        good = describe_value(model, &graph->outputs[i], &model->outputs[model->output_count++]);
    for (size_t i = 0; good && i < file->metadata_count; i++)
        model->metadata[i] =
            (WNNModelMetadata){view_of(file->metadata[i].key), view_of(file->metadata[i].value)};
    model->info = (WNNModelInfo){NULL,
                                 WNNModelFormat_ONNX,
                                 view_of(graph->name),
                                 view_of(file->producer),
                                 view_of(file->producer_version),
                                 (uint64_t)file->ir_version,
                                 graph->node_count,
                                 0};
    for (size_t i = 0; i < graph->initializer_count; i++)
        model->info.weightBytes += stored_bytes(&graph->initializers[i]);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Entry points
// ---------------------------------------------------------------------------------------------------------------

static WNNStatus finish(const struct error *error, size_t capacity, char *message)
{
    if (capacity)
        snprintf(message, capacity, "%s", error->message);
    return error->status;
}

static bool open_model(struct WNNModelImpl *model, const WNNModelDescriptor *descriptor, struct error *error)
{
    struct string path = wnn_string(descriptor->path);
    model->store = calloc(1, sizeof *model->store);
    if (!model->store)
        return wnn_fail_memory(error);
    atomic_init(&model->store->references, 1);
    model->store->memory = *descriptor;
    model->copy = descriptor->copy;
    model->path = calloc(1, path.length + 1);
    if (!model->path)
        return wnn_fail_memory(error);
    memcpy(model->path, path.data ? path.data : "", path.length);
    struct bytes bytes = {descriptor->data, descriptor->byteLength};
    if (!descriptor->data) {
        struct mapping *file = open_file(model->store, model->path, model->copy, error);
        if (!file)
            return false;
        bytes = (struct bytes){file->data, file->size};
    }
    if (!wnn_onnx_recognize(bytes))
        return wnn_fail(error, WNNStatus_TypeError,
                        "%.500s: its format is not known; models of ONNX are read", model->path);
    uint64_t most = descriptor->maxMemoryBytes ? descriptor->maxMemoryBytes : UINT64_C(1) << 30;
    const char *fault = wnn_onnx_open(bytes, (size_t)(most < SIZE_MAX ? most : SIZE_MAX), &model->file);
    if (fault)
        return wnn_fail(error, WNNStatus_TypeError, "%.500s: %s", model->path, fault);
    return describe(model) || wnn_fail_memory(error);
}

WNNStatus wnnModelOpen(const WNNModelDescriptor *descriptor, WNNModel *model, size_t capacity, char *message)
{
    struct error error = {WNNStatus_Success, ""};
    if (model)
        *model = NULL;
    if (!model || !descriptor || (!descriptor->data && descriptor->byteLength) ||
        (!descriptor->data && descriptor->release)) {
        wnn_fail(&error, WNNStatus_TypeError,
                 "model: no descriptor, no place for the result, or bytes that are NULL");
    } else if (wnn_check_chain(descriptor->nextInChain, 0, "model", &error)) {
        struct WNNModelImpl *made = calloc(1, sizeof *made);
        if (!made)
            wnn_fail_memory(&error);
        else if (open_model(made, descriptor, &error))
            *model = made;
        else
            wnnModelRelease(made);
    }
    return finish(&error, capacity, message);
}

void wnnModelRelease(WNNModel model)
{
    if (!model)
        return;
    wnn_onnx_close(&model->file);
    if (model->store)
        unref_store(model->store);
    free(model->path);
    free(model);
}

WNNStatus wnnModelGetInfo(WNNModel model, WNNModelInfo *info)
{
    if (!model || !info || info->nextInChain)
        return WNNStatus_TypeError;
    *info = model->info;
    return WNNStatus_Success;
}

#define ARRAY(model, count, items, item_count)                                                               \
    if (count)                                                                                               \
        *(count) = (model) ? (model)->item_count : 0;                                                        \
    return (model) ? (model)->items : NULL

const WNNModelValue *wnnModelGetInputs(WNNModel model, size_t *count)
{
    ARRAY(model, count, inputs, input_count);
}

const WNNModelValue *wnnModelGetOutputs(WNNModel model, size_t *count)
{
    ARRAY(model, count, outputs, output_count);
}

const WNNModelMetadata *wnnModelGetMetadata(WNNModel model, size_t *count)
{
    ARRAY(model, count, metadata, file.metadata_count);
}

const WNNModelOperator *wnnModelGetOperators(WNNModel model, size_t *count)
{
    ARRAY(model, count, operators, operator_count);
}

static struct bytes bytes_of(WNNStringView view)
{
    struct string text = wnn_string(view);
    return (struct bytes){(const unsigned char *)text.data, text.length};
}

// What the caller says, as the recorder takes it; false: no memory.
static bool read_options(struct onnx_memory *memory, const WNNModelRecordOptions *options,
                         struct onnx_record *to)
{
    struct onnx_dimension_value *values = wnn_onnx_allocate(memory, options->dimensionCount, sizeof *values);
    struct onnx_known_input *known = wnn_onnx_allocate(memory, options->inputCount, sizeof *known);
    for (size_t i = 0; values && i < options->dimensionCount; i++)
        values[i] = (struct onnx_dimension_value){bytes_of(options->dimensions[i].name),
                                                  options->dimensions[i].value};
    for (size_t i = 0; known && i < options->inputCount; i++) {
        const WNNModelInputValue *from = &options->inputs[i];
        bool has_shape = from->shape.count != WNN_LIST_ABSENT;
        size_t rank = has_shape ? from->shape.count : 0;
        int64_t *dims = wnn_onnx_allocate(memory, rank, sizeof *dims);
        if (!dims)
            return false;
        for (size_t k = 0; k < rank; k++)
            dims[k] = from->shape.data[k];
        known[i] = (struct onnx_known_input){
            bytes_of(from->name), has_shape, rank, dims, {from->data, from->byteLength}};
    }
    to->dimensions = values;
    to->dimension_count = options->dimensionCount;
    to->known = known;
    to->known_count = options->inputCount;
    to->narrow = options->narrow;
    return values && known;
}

// Each line of what went wrong, after the path.
static void write_errors(const char *path, const char *errors, size_t capacity, char *message)
{
    size_t length = 0;
    for (const char *line = errors, *end; *line && length + 1 < capacity; line = end) {
        size_t size = strcspn(line, "\n");
        end = line + size + (line[size] != 0);
        int more = snprintf(message + length, capacity - length, "%s%s: %.*s", length ? "\n" : "", path,
                            (int)size, line);
        length += more > 0 ? (size_t)more : 0;
    }
}

WNNStatus wnnModelRecord(WNNModel model, WNNGraphBuilder builder, const WNNModelRecordOptions *options,
                         size_t capacity, WNNNamedOperand *outputs, size_t *count, size_t message_capacity,
                         char *message)
{
    static const WNNModelRecordOptions usual = WNN_MODEL_RECORD_OPTIONS_INIT;
    struct error error = {WNNStatus_Success, ""};
    struct onnx_memory memory = {.limit = SIZE_MAX / 4};
    size_t recorded = 0, error_size = message_capacity > 4096 ? message_capacity : 4096;
    if (count)
        *count = 0;
    if (message_capacity)
        message[0] = 0;
    options = options ? options : &usual;
    if (!model || !builder || (capacity && !outputs)) {
        wnn_fail(&error, WNNStatus_TypeError, "model: there is no model, no builder or no place for outputs");
        return finish(&error, message_capacity, message);
    }
    if (!wnn_check_chain(options->nextInChain, 0, "model", &error))
        return finish(&error, message_capacity, message);
    struct onnx_record record = {.builder = builder,
                                 .external = find_external,
                                 .lend = ref_store,
                                 .release = release_lent,
                                 .userdata = model,
                                 .lent = model->store,
                                 .errors = calloc(1, error_size),
                                 .error_size = error_size};
    if (!record.errors || !read_options(&memory, options, &record))
        wnn_fail_memory(&error);
    else if (!wnn_onnx_record(&model->file, &record, capacity, outputs, &recorded)) {
        error.status = WNNStatus_NotSupportedError;
        if (message_capacity)
            write_errors(model->path, record.errors, message_capacity, message);
    }
    free(record.errors);
    wnn_onnx_free(&memory);
    if (count)
        *count = error.status ? 0 : model->output_count;
    return error.message[0] ? finish(&error, message_capacity, message) : error.status;
}
