// SPDX-License-Identifier: Apache-2.0
#include "tools/model/onnx/file.h"

#include "tools/model/protobuf.h"
#include "tools/model/source.h"

#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Messages. Each function reads the message `from` into what `to` points to, and returns a fault or NULL.
// ---------------------------------------------------------------------------------------------------------------

#define MAX_OPSETS        256 // each node looks for its own
#define MIN_WEIGHTS       256 // bytes that are worth being left out of a description
#define MAX_WEIGHTS_DEPTH 12  // of messages within messages: tensors of graphs within graphs within graphs

#define VARINT_BYTES 10
#define FAULT_BYTES  32 // of a field in which a fault is found

// Fields. The last two, which only descriptions have, tell where elements are that were left out.
#define NODE_OUTPUT        2
#define NODE_ATTRIBUTE     5
#define FUNCTION_ATTRIBUTE 11
#define TENSOR_OFFSET      0x1FFF0001
#define TENSOR_LENGTH      0x1FFF0002

typedef const char *(*read_message)(struct model_memory *memory, struct bytes from, void *to);

static const char no_memory[] = "the file needs more memory than there is for it";

// `memory` counts the work; NULL: nothing does.
static struct protobuf reader_of(struct model_memory *memory, struct bytes from)
{
    return (struct protobuf){.left = from, .work = memory ? &memory->work : NULL};
}

// How often a field is there.
static size_t count_fields(struct model_memory *memory, struct bytes from, uint32_t number)
{
    struct protobuf reader = reader_of(memory, from);
    size_t count = 0;
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        count += field.number == number;
    return count;
}

// All messages of a repeated field, as an array of items of `size` bytes. Does nothing after a fault.
static void *read_all(struct model_memory *memory, struct bytes from, uint32_t number, size_t size,
                      read_message read, size_t *count, const char **fault)
{
    struct protobuf reader = reader_of(memory, from);
    char *items = *fault ? NULL : wnn_model_allocate(memory, count_fields(memory, from, number), size);
    *count = 0;
    if (!items) {
        *fault = *fault ? *fault : no_memory;
        return NULL;
    }
    for (struct protobuf_field field; !*fault && wnn_protobuf_next(&reader, &field);) {
        if (field.number != number)
            continue;
        struct bytes message = wnn_protobuf_bytes(&reader, &field);
        *fault = reader.fault ? reader.fault : read(memory, message, items + size * *count);
        (*count)++;
    }
    *fault = *fault ? *fault : reader.fault;
    return items;
}

static const char *read_text(struct model_memory *memory, struct bytes from, void *to)
{
    (void)memory;
    *(struct bytes *)to = from;
    return NULL;
}

static struct onnx_names read_names(struct model_memory *memory, struct bytes from, uint32_t number,
                                    const char **fault)
{
    struct onnx_names names;
    names.items = read_all(memory, from, number, sizeof names.items[0], read_text, &names.count, fault);
    return names;
}

static const char *read_pair(struct model_memory *memory, struct bytes from, void *to)
{
    struct onnx_pair *pair = to;
    struct protobuf reader = reader_of(memory, from);
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        if (field.number == 1 || field.number == 2)
            *(field.number == 1 ? &pair->key : &pair->value) = wnn_protobuf_bytes(&reader, &field);
    return reader.fault;
}

static const char *read_opset(struct model_memory *memory, struct bytes from, void *to)
{
    struct onnx_opset *opset = to;
    struct protobuf reader = reader_of(memory, from);
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        if (field.number == 1)
            opset->domain = wnn_protobuf_bytes(&reader, &field);
        else if (field.number == 2)
            opset->version = (int64_t)wnn_protobuf_number(&reader, &field);
    return reader.fault;
}

// ---------------------------------------------------------------------------------------------------------------
// Tensors
// ---------------------------------------------------------------------------------------------------------------

// A whole number in digits, and nothing else.
static bool parse_number(struct bytes text, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.size; i++) {
        unsigned digit = text.data[i] - (unsigned)'0';
        if (digit > 9 || *number > (UINT64_MAX - digit) / 10)
            return false;
        *number = *number * 10 + digit;
    }
    return text.size > 0;
}

// Where external data are.
static const char *read_location(struct model_memory *memory, struct onnx_tensor *tensor, struct bytes from)
{
    struct onnx_pair pair = {0};
    const char *fault = read_pair(memory, from, &pair);
    if (fault)
        return fault;
    if (is_text(pair.key, "location"))
        tensor->location = pair.value;
    else if (is_text(pair.key, "offset") && !parse_number(pair.value, &tensor->offset))
        return "the offset of external data is no number";
    else if (is_text(pair.key, "length") && !parse_number(pair.value, &tensor->length))
        return "the length of external data is no number";
    return NULL;
}

const char *wnn_onnx_tensor(struct model_memory *memory, struct bytes message, struct onnx_tensor *tensor)
{
    struct protobuf reader = reader_of(memory, message);
    const char *fault = NULL;
    *tensor = (struct onnx_tensor){.message = message};
    for (struct protobuf_field field; !fault && wnn_protobuf_next(&reader, &field);) {
        size_t told = tensor->rank < ONNX_DIMS ? tensor->rank : ONNX_DIMS;
        switch (field.number) {
        case 1:
            tensor->rank += wnn_protobuf_numbers(&reader, &field, ONNX_DIMS - told, tensor->dims + told);
            break;
        case 2:
            tensor->type = (int64_t)wnn_protobuf_number(&reader, &field);
            break;
        case 8:
            tensor->name = wnn_protobuf_bytes(&reader, &field);
            break;
        case 9:
            tensor->raw = wnn_protobuf_bytes(&reader, &field);
            break;
        case 13:
            fault = read_location(memory, tensor, wnn_protobuf_bytes(&reader, &field));
            break;
        case 14:
            tensor->external = wnn_protobuf_number(&reader, &field) == 1;
            break;
        case TENSOR_OFFSET:
            tensor->offset = wnn_protobuf_number(&reader, &field);
            break;
        case TENSOR_LENGTH:
            tensor->length = wnn_protobuf_number(&reader, &field);
            tensor->left_out = true;
            break;
        default:
            break;
        }
    }
    return fault ? fault : reader.fault;
}

// A tensor that is read again when it is needed.
static const char *check_tensor(struct model_memory *memory, struct bytes from, void *to)
{
    struct onnx_tensor tensor;
    *(struct bytes *)to = from;
    return wnn_onnx_tensor(memory, from, &tensor);
}

// ---------------------------------------------------------------------------------------------------------------
// Values
// ---------------------------------------------------------------------------------------------------------------

static const char *read_dimension(struct model_memory *memory, struct bytes from, void *to)
{
    struct onnx_dimension *dimension = to;
    struct protobuf reader = reader_of(memory, from);
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        if (field.number == 1) {
            dimension->value = (int64_t)wnn_protobuf_number(&reader, &field);
            dimension->known = true;
        } else if (field.number == 2) {
            dimension->param = wnn_protobuf_bytes(&reader, &field);
            dimension->known = false;
        }
    return reader.fault;
}

static const char *read_tensor_type(struct model_memory *memory, struct bytes from, struct onnx_value *value)
{
    struct protobuf reader = reader_of(memory, from);
    const char *fault = NULL;
    for (struct protobuf_field field; !fault && wnn_protobuf_next(&reader, &field);)
        if (field.number == 1) {
            value->type = (int64_t)wnn_protobuf_number(&reader, &field);
        } else if (field.number == 2) {
            value->has_shape = true;
            value->dims = read_all(memory, wnn_protobuf_bytes(&reader, &field), 1, sizeof value->dims[0],
                                   read_dimension, &value->rank, &fault);
        }
    return fault ? fault : reader.fault;
}

// What a field of a type says that a value is; of tensors the type of elements stands further inside.
static int64_t kind_of_value(uint32_t field, int64_t otherwise)
{
    switch (field) {
    case 4:
        return ONNX_SEQUENCE;
    case 5:
        return ONNX_MAP;
    case 7:
        return ONNX_OPAQUE;
    case 8:
        return ONNX_SPARSE;
    case 9:
        return ONNX_OPTIONAL;
    default:
        return otherwise;
    }
}

static const char *read_value(struct model_memory *memory, struct bytes from, void *to)
{
    struct onnx_value *value = to;
    struct protobuf reader = reader_of(memory, from);
    const char *fault = NULL;
    for (struct protobuf_field field; !fault && wnn_protobuf_next(&reader, &field);)
        if (field.number == 1) {
            value->name = wnn_protobuf_bytes(&reader, &field);
        } else if (field.number == 2) { // the type
            struct protobuf type = reader_of(memory, wnn_protobuf_bytes(&reader, &field));
            for (struct protobuf_field kind; !fault && wnn_protobuf_next(&type, &kind);)
                if (kind.number == 1)
                    fault = read_tensor_type(memory, wnn_protobuf_bytes(&type, &kind), value);
                else
                    value->type = kind_of_value(kind.number, value->type);
            fault = fault ? fault : type.fault;
        }
    return fault ? fault : reader.fault;
}

// ---------------------------------------------------------------------------------------------------------------
// Nodes and graphs
// ---------------------------------------------------------------------------------------------------------------

static const char *read_attribute(struct model_memory *memory, struct bytes from,
                                  struct onnx_attribute *attribute)
{
    struct protobuf reader = reader_of(memory, from);
    *attribute = (struct onnx_attribute){.message = from};
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        switch (field.number) {
        case 1:
            attribute->name = wnn_protobuf_bytes(&reader, &field);
            break;
        case 2:
            attribute->f = wnn_protobuf_float(&reader, &field);
            break;
        case 3:
            attribute->i = (int64_t)wnn_protobuf_number(&reader, &field);
            break;
        case 4:
            attribute->s = wnn_protobuf_bytes(&reader, &field);
            break;
        case 5:
            attribute->tensor = wnn_protobuf_bytes(&reader, &field);
            break;
        case 6:
            attribute->graph = wnn_protobuf_bytes(&reader, &field);
            break;
        case 20:
            attribute->type = (int64_t)wnn_protobuf_number(&reader, &field);
            break;
        case 21:
            attribute->reference = wnn_protobuf_bytes(&reader, &field);
            break;
        default:
            break;
        }
    return reader.fault;
}

// Attributes are read when they are asked for: a graph has many, of which most are read once.
static const char *check_attributes(struct model_memory *memory, struct bytes message, uint32_t number)
{
    struct protobuf reader = reader_of(memory, message);
    const char *fault = NULL;
    for (struct protobuf_field field; !fault && wnn_protobuf_next(&reader, &field);) {
        struct onnx_attribute attribute;
        if (field.number != number)
            continue;
        struct bytes from = wnn_protobuf_bytes(&reader, &field);
        fault = reader.fault ? reader.fault : read_attribute(memory, from, &attribute);
    }
    return fault ? fault : reader.fault;
}

static bool find(struct model_memory *memory, struct bytes message, uint32_t number, struct bytes name,
                 struct onnx_attribute *to)
{
    struct protobuf reader = reader_of(memory, message);
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        if (field.number == number && !read_attribute(memory, wnn_protobuf_bytes(&reader, &field), to) &&
            same_text(to->name, name))
            return true;
    return false;
}

bool wnn_onnx_node_attribute(struct model_memory *memory, const struct onnx_node *node, struct bytes name,
                             struct onnx_attribute *to)
{
    return find(memory, node->message, NODE_ATTRIBUTE, name, to);
}

bool wnn_onnx_default_attribute(struct model_memory *memory, const struct onnx_function *function,
                                struct bytes name, struct onnx_attribute *to)
{
    return find(memory, function->message, FUNCTION_ATTRIBUTE, name, to);
}

// Inputs and outputs, for which there is room.
static const char *read_ends(struct model_memory *memory, struct onnx_node *node, struct bytes *room)
{
    struct protobuf reader = reader_of(memory, node->message);
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        if (field.number == 1)
            room[node->inputs.count++] = wnn_protobuf_bytes(&reader, &field);
    node->inputs.items = room;
    node->outputs.items = room += node->inputs.count;
    reader.left = reader.fault ? reader.left : node->message;
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        if (field.number == 2)
            room[node->outputs.count++] = wnn_protobuf_bytes(&reader, &field);
    return reader.fault;
}

const char *wnn_onnx_node(struct model_memory *memory, struct bytes message, struct onnx_node *node)
{
    struct protobuf reader = reader_of(memory, message);
    size_t names = 0;
    *node = (struct onnx_node){.message = message};
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        switch (field.number) {
        case 1:
        case 2:
            names++;
            break;
        case 3:
            node->name = wnn_protobuf_bytes(&reader, &field);
            break;
        case 4:
            node->operation = wnn_protobuf_bytes(&reader, &field);
            break;
        case 7:
            node->domain = wnn_protobuf_bytes(&reader, &field);
            break;
        case 8:
            node->overload = wnn_protobuf_bytes(&reader, &field);
            break;
        default:
            break;
        }
    struct bytes *room = names <= ONNX_FEW ? node->few : wnn_model_allocate(memory, names, sizeof *room);
    return reader.fault ? reader.fault : room ? read_ends(memory, node, room) : no_memory;
}

struct bytes wnn_onnx_operation(struct bytes node)
{
    struct protobuf reader = {.left = node};
    struct bytes operation = {NULL, 0};
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        if (field.number == 4)
            operation = wnn_protobuf_bytes(&reader, &field);
    return operation;
}

// A node that is read again when it is needed.
static const char *check_node(struct model_memory *memory, struct bytes from, void *to)
{
    struct onnx_node node;
    struct model_mark mark = wnn_model_mark(memory);
    const char *fault = wnn_onnx_node(memory, from, &node);
    wnn_model_rewind(memory, mark);
    *(struct bytes *)to = from;
    return fault ? fault : check_attributes(memory, from, NODE_ATTRIBUTE);
}

static void count_made(struct model_memory *memory, struct onnx_graph *graph)
{
    for (size_t i = 0; graph->nodes && i < graph->node_count; i++)
        graph->made_count += count_fields(memory, graph->nodes[i], NODE_OUTPUT);
}

const char *wnn_onnx_graph(struct model_memory *memory, struct bytes message, struct onnx_graph *graph)
{
    struct protobuf reader = reader_of(memory, message);
    *graph = (struct onnx_graph){0};
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        if (field.number == 2)
            graph->name = wnn_protobuf_bytes(&reader, &field);
    const char *fault = reader.fault;
    graph->nodes =
        read_all(memory, message, 1, sizeof graph->nodes[0], check_node, &graph->node_count, &fault);
    graph->initializers = read_all(memory, message, 5, sizeof graph->initializers[0], check_tensor,
                                   &graph->initializer_count, &fault);
    graph->inputs =
        read_all(memory, message, 11, sizeof graph->inputs[0], read_value, &graph->input_count, &fault);
    graph->outputs =
        read_all(memory, message, 12, sizeof graph->outputs[0], read_value, &graph->output_count, &fault);
    count_made(memory, graph);
    return fault;
}

static const char *read_function(struct model_memory *memory, struct bytes from, void *to)
{
    struct onnx_function *function = to;
    struct protobuf reader = reader_of(memory, from);
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        if (field.number == 1)
            function->name = wnn_protobuf_bytes(&reader, &field);
        else if (field.number == 10)
            function->domain = wnn_protobuf_bytes(&reader, &field);
        else if (field.number == 13)
            function->overload = wnn_protobuf_bytes(&reader, &field);
    const char *fault = reader.fault;
    function->inputs = read_names(memory, from, 4, &fault);
    function->outputs = read_names(memory, from, 5, &fault);
    function->graph.nodes = read_all(memory, from, 7, sizeof function->graph.nodes[0], check_node,
                                     &function->graph.node_count, &fault);
    function->opsets =
        read_all(memory, from, 9, sizeof function->opsets[0], read_opset, &function->opset_count, &fault);
    function->message = from;
    if (!fault && function->opset_count > MAX_OPSETS)
        fault = "a function imports more than 256 operator sets";
    count_made(memory, &function->graph);
    return fault ? fault : check_attributes(memory, from, FUNCTION_ATTRIBUTE);
}

// Where a function is in the table, or would be; of several that are called alike the first one is.
static const struct onnx_function **place_of(const struct onnx_file *file, struct bytes name,
                                             struct bytes domain, struct bytes overload)
{
    size_t at = hash_text(name) + 3 * hash_text(domain) + 5 * hash_text(overload);
    for (;; at++) {
        const struct onnx_function **place = &file->places[at & file->place_mask];
        if (!*place || (same_text((*place)->name, name) && same_text((*place)->domain, domain) &&
                        same_text((*place)->overload, overload)))
            return place;
    }
}

static bool index_functions(struct model_memory *memory, struct onnx_file *file)
{
    size_t places = 2;
    while (places < 2 * file->function_count)
        places *= 2;
    file->place_mask = places - 1;
    file->places = wnn_model_allocate(memory, places, sizeof(const struct onnx_function *));
    for (size_t i = 0; file->places && i < file->function_count; i++) {
        const struct onnx_function *function = &file->functions[i],
                                   **place =
                                       place_of(file, function->name, function->domain, function->overload);
        *place = *place ? *place : function;
    }
    return file->places != NULL;
}

const struct onnx_function *wnn_onnx_function(const struct onnx_file *file, const struct onnx_node *node)
{
    return *place_of(file, node->operation, node->domain, node->overload);
}

bool wnn_onnx_recognize(struct bytes bytes)
{
    struct protobuf reader = {.left = bytes};
    struct protobuf_field field;
    return wnn_protobuf_next(&reader, &field) && field.number == 1 && field.type == PROTOBUF_VARINT &&
           field.value >= 1 && field.value < 100;
}

enum kind {
    MODEL,
    GRAPH,
    FUNCTION,
    NODE,
    ATTRIBUTE,
    TENSOR
};

// Where tensors are in a message of a kind: which fields have which messages.
static const struct {
    enum kind kind, inner;
    uint32_t number;
} fields[] = {{MODEL, GRAPH, 7},       {MODEL, FUNCTION, 25}, {GRAPH, NODE, 1},       {GRAPH, TENSOR, 5},
              {FUNCTION, NODE, 7},     {NODE, ATTRIBUTE, 5},  {ATTRIBUTE, TENSOR, 5}, {ATTRIBUTE, GRAPH, 6},
              {ATTRIBUTE, TENSOR, 10}, {ATTRIBUTE, GRAPH, 11}};

// Fields that only people read: documents, metadata of nodes, shapes of values. Files have kilobytes a node.
static const struct {
    enum kind kind;
    uint32_t number;
} unread[] = {{MODEL, 6},     {MODEL, 20},  {GRAPH, 10},  {GRAPH, 13},    {GRAPH, 14},
              {GRAPH, 16},    {NODE, 6},    {NODE, 9},    {FUNCTION, 8},  {FUNCTION, 12},
              {FUNCTION, 14}, {TENSOR, 12}, {TENSOR, 16}, {ATTRIBUTE, 13}};

static bool is_unread(enum kind kind, const struct protobuf_field *field)
{
    bool found = false;
    for (size_t i = 0; i < sizeof unread / sizeof unread[0]; i++)
        found |= unread[i].kind == kind && unread[i].number == field->number;
    return found && field->type == PROTOBUF_BYTES;
}

static void put(struct description *to, const unsigned char *data, size_t size)
{
    unsigned char *place = wnn_description_add(to, size);
    if (place && size)
        memcpy(place, data, size);
}

static size_t varint(uint64_t value, unsigned char bytes[VARINT_BYTES])
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (unsigned char)(value | 0x80);
    bytes[size++] = (unsigned char)value;
    return size;
}

static void put_number(struct description *to, uint64_t value)
{
    unsigned char bytes[VARINT_BYTES];
    put(to, bytes, varint(value, bytes));
}

static void put_place(struct description *to, struct bytes file, struct bytes elements)
{
    put_number(to, (uint64_t)TENSOR_OFFSET << 3 | PROTOBUF_VARINT);
    put_number(to, (uint64_t)(elements.data - file.data));
    put_number(to, (uint64_t)TENSOR_LENGTH << 3 | PROTOBUF_VARINT);
    put_number(to, elements.size);
}

static bool has_tensors(enum kind kind, const struct protobuf_field *field, enum kind *inner)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (fields[i].kind == kind && fields[i].number == field->number) {
            *inner = fields[i].inner;
            return field->bytes.size >= MIN_WEIGHTS;
        }
    return false;
}

// What lies deeper is copied like what describes it. Of a malformed message as much is copied as shows that.
static void write_message(struct description *to, struct bytes file, struct bytes message, enum kind kind,
                          unsigned depth)
{
    struct protobuf reader = {.left = message};
    const unsigned char *begin = message.data;
    enum kind inner = kind;
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field); begin = reader.left.data) {
        if (is_unread(kind, &field))
            continue;
        if (kind == TENSOR && field.number == 9 && field.bytes.size >= MIN_WEIGHTS) {
            put_place(to, file, field.bytes);
        } else if (depth < MAX_WEIGHTS_DEPTH && has_tensors(kind, &field, &inner)) {
            put_number(to, (uint64_t)field.number << 3 | PROTOBUF_BYTES);
            size_t at = to->size;
            wnn_description_add(to, VARINT_BYTES);
            write_message(to, file, field.bytes, inner, depth + 1);
            if (to->failed)
                return;
            size_t size = to->size - at - VARINT_BYTES, digits = varint(size, to->data + at);
            memmove(to->data + at + digits, to->data + at + VARINT_BYTES, size);
            to->size = at + digits + size;
        } else {
            put(to, begin, (size_t)(reader.left.data - begin));
        }
    }
    size_t rest = (size_t)(message.data + message.size - begin);
    put(to, begin, rest < FAULT_BYTES ? rest : FAULT_BYTES);
}

void wnn_onnx_describe(struct bytes bytes, struct description *to)
{
    write_message(to, bytes, bytes, MODEL, 0);
}

const char *wnn_onnx_open(struct bytes bytes, struct model_memory *memory, struct onnx_file *file)
{
    struct protobuf reader = reader_of(memory, bytes);
    struct bytes graph = {NULL, 0};
    *file = (struct onnx_file){0};
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
        switch (field.number) {
        case 1:
            file->ir_version = (int64_t)wnn_protobuf_number(&reader, &field);
            break;
        case 2:
            file->producer = wnn_protobuf_bytes(&reader, &field);
            break;
        case 3:
            file->producer_version = wnn_protobuf_bytes(&reader, &field);
            break;
        case 7:
            graph = wnn_protobuf_bytes(&reader, &field);
            break;
        default:
            break;
        }
    const char *fault = reader.fault;
    if (!fault && !graph.data)
        fault = "the file has no graph: a message of protobuf, but no model of ONNX";
    file->opsets = read_all(memory, bytes, 8, sizeof file->opsets[0], read_opset, &file->opset_count, &fault);
    if (!fault && file->opset_count > MAX_OPSETS)
        fault = "the file imports more than 256 operator sets";
    file->metadata =
        read_all(memory, bytes, 14, sizeof file->metadata[0], read_pair, &file->metadata_count, &fault);
    file->functions =
        read_all(memory, bytes, 25, sizeof file->functions[0], read_function, &file->function_count, &fault);
    if (!fault && !index_functions(memory, file))
        fault = no_memory;
    return fault ? fault : wnn_onnx_graph(memory, graph, &file->graph);
}
