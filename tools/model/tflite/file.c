// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tflite/file.h"

#include "tools/model/source.h"
#include "tools/model/tensor.h"

static const char no_memory[] = "the file needs more memory than there is for it";

static const char *set_fault(struct tflite_file *file, const char *fault)
{
    if (!file->buffer.fault)
        file->buffer.fault = fault;
    return file->buffer.fault;
}

bool wnn_tflite_recognize(struct bytes bytes)
{
    return wnn_flatbuffer_is(bytes, "TFL3");
}

struct bytes wnn_tflite_buffer(struct tflite_file *file, int64_t index)
{
    struct flatbuffer_vector buffers = wnn_flatbuffer_vector(&file->model, 4, 4);
    if (index < 0 || (uint64_t)index >= buffers.count) {
        set_fault(file, "a tensor has data that are not in the file");
        return (struct bytes){NULL, 0};
    }
    struct flatbuffer_table buffer = wnn_flatbuffer_item(&buffers, (size_t)index);
    uint64_t offset = (uint64_t)wnn_flatbuffer_number(&buffer, 1, FLATBUFFER_UINT64, 0);
    uint64_t size = (uint64_t)wnn_flatbuffer_number(&buffer, 2, FLATBUFFER_UINT64, 0);
    if (offset <= 1) // in the flatbuffer
        return wnn_flatbuffer_data(&buffer, 0);
    struct bytes bytes = file->buffer.bytes;
    if (offset > bytes.size || size > bytes.size - offset) {
        set_fault(file, "the file is shorter than its data");
        return (struct bytes){NULL, 0};
    }
    return wnn_flatbuffer_part(&file->buffer, (size_t)offset, (size_t)size);
}

// Tensors and operators of all subgraphs, of which several may be one. Weights of others are not looked for,
// and a file that has more is refused.
#define MAX_ITEMS 1000000u

void wnn_tflite_find_weights(struct bytes bytes, struct byte_runs *runs)
{
    struct tflite_file file = {.buffer = {bytes, NULL}};
    file.model = wnn_flatbuffer_root(&file.buffer);
    struct flatbuffer_vector graphs = wnn_flatbuffer_vector(&file.model, 2, 4);
    unsigned left = MAX_ITEMS;
    for (size_t i = 0; i < graphs.count && left && !file.buffer.fault; i++) {
        left--;
        struct flatbuffer_table graph = wnn_flatbuffer_item(&graphs, i);
        struct flatbuffer_vector tensors = wnn_flatbuffer_vector(&graph, 0, 4);
        for (size_t k = 0; k < tensors.count && left && !file.buffer.fault; k++, left--) {
            struct flatbuffer_table tensor = wnn_flatbuffer_item(&tensors, k);
            int64_t buffer = wnn_flatbuffer_number(&tensor, 2, FLATBUFFER_UINT32, 0);
            if (buffer)
                wnn_add_run(runs, bytes, wnn_tflite_buffer(&file, buffer));
        }
    }
}

static int64_t element_type(int64_t type)
{
    static const int64_t types[] = {
        [TFLITE_FLOAT32] = TYPE_FLOAT32,
        [TFLITE_FLOAT16] = TYPE_FLOAT16,
        [TFLITE_INT32] = TYPE_INT32,
        [TFLITE_UINT8] = TYPE_UINT8,
        [TFLITE_INT64] = TYPE_INT64,
        [TFLITE_STRING] = TYPE_STRING,
        [TFLITE_BOOL] = TYPE_BOOL,
        [TFLITE_INT16] = TYPE_INT16,
        [TFLITE_COMPLEX64] = TYPE_COMPLEX64,
        [TFLITE_INT8] = TYPE_INT8,
        [TFLITE_FLOAT64] = TYPE_FLOAT64,
        [TFLITE_COMPLEX128] = TYPE_COMPLEX128,
        [TFLITE_UINT64] = TYPE_UINT64,
        [TFLITE_RESOURCE] = TYPE_UNDEFINED,
        [TFLITE_VARIANT] = TYPE_UNDEFINED,
        [TFLITE_UINT32] = TYPE_UINT32,
        [TFLITE_UINT16] = TYPE_UINT16,
        [TFLITE_INT4] = TYPE_INT4,
        [TFLITE_BFLOAT16] = TYPE_BFLOAT16,
        [TFLITE_INT2] = TYPE_UNDEFINED,
        [TFLITE_UINT4] = TYPE_UINT4,
        [TFLITE_FLOAT8E4M3FN] = TYPE_FLOAT8E4M3FN,
        [TFLITE_FLOAT8E5M2] = TYPE_FLOAT8E5M2,
    };
    return type >= 0 && type < (int64_t)(sizeof types / sizeof types[0]) ? types[type] : TYPE_UNDEFINED;
}

static void read_quantization(struct tflite_tensor *tensor, const struct flatbuffer_table *from)
{
    tensor->scales = wnn_flatbuffer_vector(from, 2, 4);
    tensor->zeros = wnn_flatbuffer_vector(from, 3, 8);
    tensor->is_custom = wnn_flatbuffer_number(from, 4, FLATBUFFER_UINT8, 0) != 0;
    tensor->axis = wnn_flatbuffer_number(from, 6, FLATBUFFER_INT32, 0);
}

void wnn_tflite_tensor(struct tflite_file *file, const struct tflite_subgraph *graph, size_t index,
                       struct tflite_tensor *tensor)
{
    struct flatbuffer_table from = wnn_flatbuffer_item(&graph->tensors, index);
    struct flatbuffer_table quantization = wnn_flatbuffer_table(&from, 4);
    *tensor = (struct tflite_tensor){.name = wnn_flatbuffer_bytes(&from, 3)};
    tensor->shape = wnn_flatbuffer_vector(&from, 0, 4);
    tensor->type = element_type(wnn_flatbuffer_number(&from, 1, FLATBUFFER_INT8, 0));
    int64_t buffer = wnn_flatbuffer_number(&from, 2, FLATBUFFER_UINT32, 0);
    if (buffer) // the first one is that of tensors without data
        tensor->data = wnn_tflite_buffer(file, buffer);
    read_quantization(tensor, &quantization);
    tensor->is_variable = wnn_flatbuffer_number(&from, 5, FLATBUFFER_UINT8, 0) != 0;
    tensor->sparsity = wnn_flatbuffer_table(&from, 6);
    tensor->signature = wnn_flatbuffer_vector(&from, 7, 4);
    tensor->has_rank = tensor->shape.count || wnn_flatbuffer_number(&from, 8, FLATBUFFER_UINT8, 0) != 0;
    if (tensor->signature.count != tensor->shape.count)
        tensor->signature.count = 0;
}

struct bytes wnn_tflite_tensor_name(const struct tflite_subgraph *graph, size_t index)
{
    struct flatbuffer_table from = wnn_flatbuffer_item(&graph->tensors, index);
    return wnn_flatbuffer_bytes(&from, 3);
}

// Data of a buffer that several tensors may share, which `is_counted` says of each, count once.
static void count_weights(struct tflite_file *file, const struct flatbuffer_table *tensor, bool *is_counted)
{
    int64_t buffer = wnn_flatbuffer_number(tensor, 2, FLATBUFFER_UINT32, 0);
    struct bytes data = buffer ? wnn_tflite_buffer(file, buffer) : (struct bytes){NULL, 0};
    if (!buffer || file->buffer.fault || is_counted[buffer])
        return;
    is_counted[buffer] = true;
    file->weight_bytes += data.size;
}

// Numbers of operators were bytes once, and larger ones stand in a field of their own.
static int64_t builtin_of(const struct flatbuffer_table *code)
{
    int64_t old = wnn_flatbuffer_number(code, 0, FLATBUFFER_INT8, 0);
    int64_t now = wnn_flatbuffer_number(code, 3, FLATBUFFER_INT32, 0);
    return now > old ? now : old;
}

void wnn_tflite_operator(struct tflite_file *file, const struct tflite_subgraph *graph, size_t index,
                         struct tflite_operator *node)
{
    struct flatbuffer_table from = wnn_flatbuffer_item(&graph->operators, index);
    struct flatbuffer_vector codes = wnn_flatbuffer_vector(&file->model, 1, 4);
    uint64_t kind = (uint64_t)wnn_flatbuffer_number(&from, 0, FLATBUFFER_UINT32, 0);
    *node = (struct tflite_operator){.builtin = -1};
    if (kind >= codes.count) {
        set_fault(file, "an operator has a number that there is not");
        return;
    }
    struct flatbuffer_table code = wnn_flatbuffer_item(&codes, (size_t)kind);
    node->builtin = builtin_of(&code);
    node->custom_name = wnn_flatbuffer_bytes(&code, 1);
    node->version = wnn_flatbuffer_number(&code, 2, FLATBUFFER_INT32, 1);
    node->inputs = wnn_flatbuffer_vector(&from, 1, 4);
    node->outputs = wnn_flatbuffer_vector(&from, 2, 4);
    node->options = wnn_flatbuffer_table(&from, 4);
    node->custom_options = wnn_flatbuffer_bytes(&from, 5);
    node->options2 = wnn_flatbuffer_table(&from, 12);
}

static void check_tensors(struct tflite_file *file, const struct tflite_subgraph *graph,
                          const struct flatbuffer_vector *tensors)
{
    for (size_t i = 0; i < tensors->count; i++) {
        int64_t index = wnn_flatbuffer_number_at(tensors, FLATBUFFER_INT32, i);
        if (index < 0 || (uint64_t)index >= graph->tensors.count)
            set_fault(file, "an input or output is a tensor that there is not");
    }
}

// All of it is read once, to find what is malformed.
static void read_subgraph(struct tflite_file *file, const struct flatbuffer_table *from, bool *is_counted,
                          struct tflite_subgraph *graph)
{
    graph->tensors = wnn_flatbuffer_vector(from, 0, 4);
    graph->operators = wnn_flatbuffer_vector(from, 3, 4);
    graph->inputs = wnn_flatbuffer_vector(from, 1, 4);
    graph->outputs = wnn_flatbuffer_vector(from, 2, 4);
    graph->name = wnn_flatbuffer_bytes(from, 4);
    file->item_count += graph->tensors.count + graph->operators.count;
    if (file->item_count > MAX_ITEMS)
        set_fault(file, "the file has more than a million tensors and operators");
    for (size_t i = 0; i < graph->tensors.count && !file->buffer.fault; i++) {
        struct tflite_tensor tensor;
        struct flatbuffer_table item = wnn_flatbuffer_item(&graph->tensors, i);
        wnn_tflite_tensor(file, graph, i, &tensor);
        count_weights(file, &item, is_counted);
    }
    for (size_t i = 0; i < graph->operators.count && !file->buffer.fault; i++) {
        struct tflite_operator node;
        wnn_tflite_operator(file, graph, i, &node);
    }
    check_tensors(file, graph, &graph->inputs);
    check_tensors(file, graph, &graph->outputs);
}

const char *wnn_tflite_open(struct bytes bytes, const struct excerpt *excerpt, struct model_memory *memory,
                            struct tflite_file *file)
{
    *file = (struct tflite_file){.buffer = {.bytes = bytes, .excerpt = excerpt}};
    file->model = wnn_flatbuffer_root(&file->buffer);
    file->version = wnn_flatbuffer_number(&file->model, 0, FLATBUFFER_UINT32, 0);
    file->description = wnn_flatbuffer_bytes(&file->model, 3);
    struct flatbuffer_vector graphs = wnn_flatbuffer_vector(&file->model, 2, 4),
                             buffers = wnn_flatbuffer_vector(&file->model, 4, 4);
    if (file->buffer.fault)
        return file->buffer.fault;
    if (file->version != 3)
        return "its schema is of another version than 3";
    if (graphs.count == 0)
        return "the file has no graph";
    file->subgraphs = wnn_model_allocate(memory, graphs.count, sizeof file->subgraphs[0]);
    struct model_memory own = {.limit = memory->limit - memory->used};
    bool *is_counted = wnn_model_allocate(&own, buffers.count, sizeof is_counted[0]);
    file->subgraph_count = graphs.count;
    for (size_t i = 0; i < graphs.count && file->subgraphs && is_counted && !file->buffer.fault; i++) {
        struct flatbuffer_table item = wnn_flatbuffer_item(&graphs, i);
        read_subgraph(file, &item, is_counted, &file->subgraphs[i]);
    }
    wnn_model_free(&own);
    return file->subgraphs && is_counted ? file->buffer.fault : no_memory;
}
