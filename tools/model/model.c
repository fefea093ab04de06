// SPDX-License-Identifier: Apache-2.0
#include <webnn/model.h>

#include "lib/text.h"
#include "tools/model/foreign.h"
#include "tools/model/format.h"
#include "tools/model/mapping.h"
#include "tools/model/output.h"
#include "tools/model/webnn/recorder.h"

#include <stdio.h>
#include <stdlib.h>

// Those that are sure of themselves come first.
static const struct model_format *const formats[] = {&wnn_format_tflite, &wnn_format_onnx, &wnn_format_webnn};
#define FORMAT_COUNT (sizeof formats / sizeof formats[0])
#define ENOUGH       ((size_t)64) // bytes that tell the format

struct WNNModelImpl {
    struct model_source *source;
    const struct model_format *format;
    struct model_memory memory;
    size_t record_limit;
    struct model_description description;
    void *opened; // what the format made of the file, in `memory`
};

// ---------------------------------------------------------------------------------------------------------------
// Opening
// ---------------------------------------------------------------------------------------------------------------

static bool equal(WNNStringView a, WNNStringView b)
{
    return wnn_string_equal(wnn_string(a), wnn_string(b));
}

static size_t hash(size_t h, WNNStringView view)
{
    struct string text = wnn_string(view);
    for (size_t i = 0; i < text.length; i++)
        h = (h ^ (unsigned char)text.data[i]) * 1099511628211U;
    return h ^ h >> 29;
}

// The slot of an operator, or one that is 0: there is none yet.
static size_t *find_slot(const struct model_description *description, WNNStringView domain,
                         WNNStringView name)
{
    size_t count = 2 * description->operator_capacity, at = hash(hash(0, name), domain) % count;
    for (; description->slots[at]; at = at + 1 < count ? at + 1 : 0) {
        const WNNModelOperator *found = &description->operators[description->slots[at] - 1];
        if (equal(found->name, name) && equal(found->domain, domain))
            break;
    }
    return &description->slots[at];
}

// Models have many nodes, and of few operators.
static bool grow_operators(struct model_memory *memory, struct model_description *description)
{
    enum {
        FIRST = 16
    };
    size_t capacity = description->operator_capacity ? 2 * description->operator_capacity : FIRST;
    WNNModelOperator *operators = wnn_model_allocate(memory, capacity, sizeof *operators);
    size_t *slots = wnn_model_allocate(memory, 2 * capacity, sizeof *slots);
    if (!operators || !slots)
        return false;
    if (description->operator_count)
        memcpy(operators, description->operators, description->operator_count * sizeof *operators);
    description->operators = operators;
    description->operator_capacity = capacity;
    description->slots = slots;
    for (size_t i = 0; i < description->operator_count; i++)
        *find_slot(description, operators[i].domain, operators[i].name) = i + 1;
    return true;
}

bool wnn_model_count_operator(struct model_memory *memory, struct model_description *description,
                              WNNStringView domain, WNNStringView name, bool supported)
{
    if (description->operator_count == description->operator_capacity && !grow_operators(memory, description))
        return false;
    size_t *slot = find_slot(description, domain, name);
    if (*slot == 0) {
        description->operators[description->operator_count] = (WNNModelOperator){domain, name, 0, supported};
        *slot = ++description->operator_count;
    }
    description->operators[*slot - 1].count++;
    return true;
}

// Names of formats, for a message.
static void list_formats(struct text *text)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        wnn_text_add(text, "%s%s", i == 0 ? "" : i + 1 < FORMAT_COUNT ? ", " : " and ", formats[i]->name);
}

static const struct model_format *find_format(struct bytes bytes)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (formats[i]->recognize(bytes))
            return formats[i];
    return NULL;
}

static const struct model_format *find_by_ending(const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        const char *ending = formats[i]->ending;
        if (ending && length >= strlen(ending) && strcmp(path + length - strlen(ending), ending) == 0)
            return formats[i];
    }
    return NULL;
}

size_t wnn_model_extent(const unsigned char *data, size_t size, void *unused)
{
    (void)unused;
    if (size < ENOUGH)
        return ENOUGH;
    const struct model_format *format = find_format((struct bytes){data, size});
    return !format ? 0 : format->most ? format->most : SIZE_MAX;
}

static size_t limit_of(const WNNModelDescriptor *descriptor, uint64_t otherwise)
{
    uint64_t limit = descriptor->maxMemoryBytes ? descriptor->maxMemoryBytes : otherwise;
    return (size_t)(limit < SIZE_MAX / 2 ? limit : SIZE_MAX / 2);
}

static bool open_model(struct WNNModelImpl *model, const WNNModelDescriptor *descriptor, struct error *error)
{
    struct error fault = {WNNStatus_Success, ""};
    model->memory.limit = limit_of(descriptor, UINT64_C(1) << 30);
    model->record_limit = limit_of(descriptor, UINT64_C(1) << 32);
    model->source = wnn_source_open(descriptor, wnn_model_extent, error);
    if (!model->source)
        return false;
    model->format = find_format(model->source->bytes);
    if (!model->format)
        model->format = find_by_ending(model->source->path);
    if (!model->format) {
        char names[200];
        struct text text = TEXT(names);
        list_formats(&text);
        const char *foreign = wnn_model_foreign(model->source->bytes);
        return wnn_fail(error, WNNStatus_TypeError, "%.500s: its format is not %s%s; models of %s are read",
                        model->source->path, foreign ? "read: it is " : "known", foreign ? foreign : "",
                        names);
    }
    if (model->format->copy_description && !model->format->copy_description(model->source, error))
        return false;
    model->opened = model->format->open(model->source, &model->memory, &model->description, &fault);
    bool named = strncmp(fault.message, model->source->path, strlen(model->source->path)) == 0;
    return model->opened || wnn_fail(error, fault.status, "%.500s%s%s", named ? "" : model->source->path,
                                     named ? "" : ": ", fault.message);
}

// What a terminal might obey, names of a file for example, stands in the message as escapes.
static WNNStatus finish(const struct error *error, size_t capacity, char *message)
{
    struct text text = {message, capacity, 0};
    if (capacity) {
        message[0] = 0;
        wnn_text_add_quoted(&text, wnn_string(wnn_error_message(error)), sizeof error->message);
    }
    return error->status;
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
    if (model->opened && model->format->close)
        model->format->close(model->opened);
    wnn_model_free(&model->memory);
    wnn_source_unref(model->source);
    free(model);
}

// ---------------------------------------------------------------------------------------------------------------
// What is in it
// ---------------------------------------------------------------------------------------------------------------

WNNStatus wnnModelGetInfo(WNNModel model, WNNModelInfo *info)
{
    if (!model || !info || info->nextInChain)
        return WNNStatus_TypeError;
    *info = model->description.info;
    return WNNStatus_Success;
}

#define ARRAY(model, count, items, item_count)                                                               \
    if (count)                                                                                               \
        *(count) = (model) ? (model)->description.item_count : 0;                                            \
    return (model) ? (model)->description.items : NULL

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
    ARRAY(model, count, metadata, metadata_count);
}

const WNNModelOperator *wnnModelGetOperators(WNNModel model, size_t *count)
{
    ARRAY(model, count, operators, operator_count);
}

// ---------------------------------------------------------------------------------------------------------------
// Recording
// ---------------------------------------------------------------------------------------------------------------

WNNStatus wnnModelRecord(WNNModel model, WNNGraphBuilder builder, const WNNModelRecordOptions *options,
                         size_t capacity, WNNNamedOperand *outputs, size_t *count, size_t message_capacity,
                         char *message)
{
    static const WNNModelRecordOptions usual = WNN_MODEL_RECORD_OPTIONS_INIT;
    struct error error = {WNNStatus_Success, ""};
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
    struct model_record record = {.builder = builder,
                                  .source = model->source,
                                  .options = options,
                                  .errors = {model->source->path, message, message_capacity, 0, 0},
                                  .memory_limit = model->record_limit,
                                  .capacity = capacity,
                                  .outputs = outputs};
    if (!model->format->record(model->opened, &record))
        return WNNStatus_NotSupportedError;
    if (count)
        *count = model->description.output_count;
    return WNNStatus_Success;
}

WNNStatus wnnModelBuildSync(const WNNModelDescriptor *descriptor, WNNContext context,
                            const WNNModelRecordOptions *record, WNNGraph *graph, size_t capacity,
                            char *message)
{
    WNNModel model = NULL;
    WNNGraphBuilder builder = NULL;
    WNNNamedOperand *outputs = NULL;
    size_t count = 0;
    if (graph)
        *graph = NULL;
    WNNStatus status = graph ? wnnModelOpen(descriptor, &model, capacity, message) : WNNStatus_TypeError;
    if (!graph && capacity)
        snprintf(message, capacity, "model: there is no place for the graph");
    if (model) {
        status = wnnContextCreateGraphBuilder(context, &builder);
        wnnModelGetOutputs(model, &count);
        outputs = calloc(count + 1, sizeof *outputs);
        if (!status && !outputs)
            status = WNNStatus_OutOfMemory;
        if (status && capacity)
            snprintf(message, capacity, "%.500s: the graph builder could not be made", model->source->path);
    }
    if (!status)
        status = wnnModelRecord(model, builder, record, count, outputs, NULL, capacity, message);
    if (!status)
        status = wnnGraphBuilderBuildSync(builder, count, outputs, graph, capacity, message);
    free(outputs);
    wnnGraphBuilderRelease(builder);
    wnnModelRelease(model);
    return status;
}

// ---------------------------------------------------------------------------------------------------------------
// Files that change
// ---------------------------------------------------------------------------------------------------------------

void wnnModelGuardFiles(void)
{
    mapping_guard();
}

WNNStatus wnnModelCheckFiles(size_t capacity, char *message)
{
    struct error error = {WNNStatus_Success, ""};
    mapping_check(&error);
    return finish(&error, capacity, message);
}

// ---------------------------------------------------------------------------------------------------------------
// Saving
// ---------------------------------------------------------------------------------------------------------------

static bool save(WNNGraphBuilder builder, const WNNModelSaveDescriptor *descriptor, const char *path,
                 const char *weights, struct error *error)
{
    struct output output;
    return output_begin(&output, path, error) &&
           output_end(&output, webnn_write(builder, descriptor, output.file, weights, NULL, error), error);
}

WNNStatus wnnModelSave(WNNGraphBuilder builder, const WNNModelSaveDescriptor *descriptor, size_t capacity,
                       char *message)
{
    struct error error = {WNNStatus_Success, ""};
    if (!builder || !descriptor || (descriptor->outputCount && !descriptor->outputs) ||
        (descriptor->nameCount && !descriptor->names)) {
        wnn_fail(&error, WNNStatus_TypeError,
                 "save: there is no builder, no descriptor, or an array is NULL");
    } else if (wnn_check_chain(descriptor->nextInChain, 0, "save", &error)) {
        char *path = wnn_source_copy_path(descriptor->path),
             *weights = wnn_source_copy_path(descriptor->weightsPath);
        char *found = path && weights ? webnn_weights_beside(path) : NULL;
        if (found)
            save(builder, descriptor, path, weights[0] ? weights : found, &error);
        else
            wnn_fail_memory(&error);
        free(path);
        free(weights);
        free(found);
    }
    return finish(&error, capacity, message);
}
