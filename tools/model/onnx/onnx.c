// SPDX-License-Identifier: Apache-2.0
//
// ONNX as a format of models.

#include "tools/model/format.h"
#include "tools/model/onnx/call.h"
#include "tools/model/onnx/order.h"
#include "tools/model/onnx/record.h"

#include <stdlib.h>
#include <string.h>

static WNNStringView view_of(struct bytes text)
{
    return (WNNStringView){(const char *)text.data, text.size};
}

static int compare_names(const void *one, const void *other)
{
    const struct bytes *a = one, *b = other;
    size_t shared = a->size < b->size ? a->size : b->size;
    int order = shared ? memcmp(a->data, b->data, shared) : 0;
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

// The names of the initializers in order, to be freed; NULL: no memory.
static struct bytes *sort_constants(const struct onnx_graph *graph)
{
    struct bytes *names = calloc(graph->initializer_count + 1, sizeof *names);
    for (size_t i = 0; names && i < graph->initializer_count; i++) {
        struct onnx_tensor tensor;
        wnn_onnx_tensor(NULL, graph->initializers[i], &tensor);
        names[i] = tensor.name;
    }
    if (names)
        qsort(names, graph->initializer_count, sizeof *names, compare_names);
    return names;
}

static bool describe_value(struct model_memory *memory, const struct onnx_value *from, WNNModelValue *to)
{
    struct recording narrow = {.narrow = true};
    const char *name = type_name(from->type);
    WNNModelDimension *dimensions = wnn_model_allocate(memory, from->rank, sizeof *dimensions);
    for (size_t i = 0; dimensions && i < from->rank; i++) {
        dimensions[i].name = view_of(from->dims[i].param);
        dimensions[i].size =
            from->dims[i].known && from->dims[i].value > 0 ? (uint64_t)from->dims[i].value : 0;
    }
    *to = (WNNModelValue){view_of(from->name), {name, strlen(name)}, operand_type(&narrow, from->type),
                          from->has_shape,     from->rank,           dimensions};
    return dimensions != NULL;
}

// What is malformed is found when it is recorded.
static uint64_t stored_bytes(struct bytes message)
{
    struct onnx_tensor tensor;
    return wnn_onnx_tensor(NULL, message, &tensor) ? 0
           : tensor.external || tensor.left_out    ? tensor.length
           : tensor.raw.size                       ? tensor.raw.size
                                                   : message.size;
}

// Of a node that is a constant.
static uint64_t constant_bytes(const struct onnx_node *node)
{
    struct bytes value = {(const unsigned char *)"value", 5};
    struct onnx_attribute attribute;
    return is_text(node->operation, "Constant") && wnn_onnx_node_attribute(NULL, node, value, &attribute) &&
                   attribute.tensor.size
               ? stored_bytes(attribute.tensor)
               : 0;
}

static bool describe_node(const struct onnx_file *file, struct model_memory *memory, struct bytes message,
                          struct model_description *to)
{
    struct onnx_node node;
    struct model_memory own = {.limit = memory->limit - memory->used};
    bool good = !wnn_onnx_node(&own, message, &node) &&
                wnn_model_count_operator(memory, to, view_of(node.domain), view_of(node.operation),
                                         wnn_onnx_operator(node.domain, node.operation) != NULL ||
                                             wnn_onnx_function(file, &node) != NULL);
    to->info.weightBytes += good ? constant_bytes(&node) : 0;
    wnn_model_free(&own);
    return good;
}

static bool describe(const struct onnx_file *file, struct model_memory *memory, struct model_description *to)
{
    const struct onnx_graph *graph = &file->graph;
    to->inputs = wnn_model_allocate(memory, graph->input_count, sizeof *to->inputs);
    to->outputs = wnn_model_allocate(memory, graph->output_count, sizeof *to->outputs);
    to->metadata = wnn_model_allocate(memory, file->metadata_count, sizeof *to->metadata);
    struct bytes *constants = sort_constants(graph);
    bool good = to->inputs && to->outputs && to->metadata && constants;
    for (size_t i = 0; good && i < graph->input_count; i++)
        if (!bsearch(&graph->inputs[i].name, constants, graph->initializer_count, sizeof *constants,
                     compare_names))
            good = describe_value(memory, &graph->inputs[i], &to->inputs[to->input_count++]);
    for (size_t i = 0; good && i < graph->output_count; i++)
        good = describe_value(memory, &graph->outputs[i], &to->outputs[to->output_count++]);
    for (size_t i = 0; good && i < file->metadata_count; i++)
        to->metadata[to->metadata_count++] =
            (WNNModelMetadata){view_of(file->metadata[i].key), view_of(file->metadata[i].value)};
    free(constants);
    to->info = (WNNModelInfo){NULL,
                              WNNModelFormat_ONNX,
                              view_of(graph->name),
                              view_of(file->producer),
                              view_of(file->producer_version),
                              (uint64_t)file->ir_version,
                              graph->node_count,
                              0};
    for (size_t i = 0; i < graph->initializer_count; i++)
        to->info.weightBytes += stored_bytes(graph->initializers[i]);
    for (size_t i = 0; good && i < graph->node_count; i++)
        good = describe_node(file, memory, graph->nodes[i], to);
    return good;
}

static void *open_onnx(struct model_source *source, struct model_memory *memory,
                       struct model_description *description, struct error *error)
{
    struct onnx_file *file = wnn_model_allocate(memory, 1, sizeof *file);
    const char *fault = file ? wnn_onnx_open(source->bytes, memory, file) : NULL;
    if (fault)
        return wnn_fail(error, WNNStatus_TypeError, "%.500s: %s", source->path, fault), NULL;
    if (!file || !wnn_onnx_order_file(memory, file) || !describe(file, memory, description))
        return wnn_fail(error, WNNStatus_OutOfMemory, "%.500s: there is not enough memory", source->path),
               NULL;
    return file;
}

static bool copy_description(struct model_source *source, struct error *error)
{
    return wnn_source_write_description(source, wnn_onnx_describe, error);
}

const struct model_format wnn_format_onnx = {.format = WNNModelFormat_ONNX,
                                             .name = "ONNX",
                                             .recognize = wnn_onnx_recognize,
                                             .copy_description = copy_description,
                                             .open = open_onnx,
                                             .record = wnn_onnx_record};
