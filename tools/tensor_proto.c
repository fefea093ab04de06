// SPDX-License-Identifier: Apache-2.0
//
// Field numbers are those of onnx.proto3, https://github.com/onnx/onnx/blob/main/onnx

#include "tools/tensor_proto.h"

#include "tools/bounds.h"
#include "tools/model/onnx/file.h"
#include "tools/model/protobuf.h"

#include <stdlib.h>
#include <string.h>

enum {
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    INT64_DATA = 7,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11
};

// What elements are called, and the field that has them where there are no raw data.
static const struct {
    const char *name;
    uint32_t field;
} types[] = {
    [ONNX_FLOAT] = {"float32", FLOAT_DATA},     [ONNX_UINT8] = {"uint8", INT32_DATA},
    [ONNX_INT8] = {"int8", INT32_DATA},         [ONNX_UINT16] = {"uint16", INT32_DATA},
    [ONNX_INT16] = {"int16", INT32_DATA},       [ONNX_INT32] = {"int32", INT32_DATA},
    [ONNX_INT64] = {"int64", INT64_DATA},       [ONNX_BOOL] = {"bool", INT32_DATA},
    [ONNX_FLOAT16] = {"float16", INT32_DATA},   [ONNX_DOUBLE] = {"float64", DOUBLE_DATA},
    [ONNX_UINT32] = {"uint32", UINT64_DATA},    [ONNX_UINT64] = {"uint64", UINT64_DATA},
    [ONNX_UINT4] = {"uint4", INT32_DATA},       [ONNX_INT4] = {"int4", INT32_DATA},
    [ONNX_BFLOAT16] = {"bfloat16", INT32_DATA},
};

bool is_tensor_proto(const char *path)
{
    return ends_with(path, ".pb");
}

size_t tensor_proto_extent(const unsigned char *data, size_t size)
{
    enum {
        LEAST_TAG = 8 // of field 1
    };
    if (size == 0)
        return 1;
    return data[0] < LEAST_TAG ? 0 : MAX_DATA_STREAM;
}

// Stores the numbers of one field behind `done` others. Returns how many there are then, which may be too
// many.
static size_t store_numbers(struct protobuf *reader, const struct protobuf_field *field, unsigned unit,
                            unsigned char *data, size_t capacity, size_t done)
{
    size_t count = wnn_protobuf_numbers(reader, field, 0, NULL);
    int64_t *numbers = reader->fault || count > capacity - done ? NULL : calloc(count + 1, sizeof *numbers);
    if (!numbers)
        return capacity + 1;
    wnn_protobuf_numbers(reader, field, count, numbers);
    for (size_t i = 0; i < count; i++)
        memcpy(data + (done + i) * unit, &numbers[i], unit);
    free(numbers);
    return done + count;
}

// Numbers of fixed size: packed into one field, or one a field.
static size_t store_fixed(const struct protobuf_field *field, unsigned unit, unsigned char *data,
                          size_t capacity, size_t done)
{
    size_t count = field->bytes.size / unit;
    if (field->type == PROTOBUF_VARINT || field->bytes.size % unit || count > capacity - done)
        return capacity + 1;
    memcpy(data + done * unit, field->bytes.data, field->bytes.size);
    return done + count;
}

// Makes the data of the fields in which numbers stand by type.
static bool read_numbers(const struct onnx_tensor *tensor, uint32_t wanted, struct array *array)
{
    unsigned unit = array->element->bits < 8 ? 1 : array->element->bits / 8;
    size_t bytes = array_bytes(array), capacity = bytes / unit, done = 0;
    // A number has a byte at least.
    array->owned = capacity <= tensor->message.size ? malloc(bytes + 1) : NULL;
    array->data = array->owned;
    struct protobuf reader = {.left = tensor->message};
    for (struct protobuf_field field;
         array->owned && done <= capacity && wnn_protobuf_next(&reader, &field);) {
        if (field.number != wanted)
            continue;
        done = wanted == FLOAT_DATA || wanted == DOUBLE_DATA
                   ? store_fixed(&field, unit, array->owned, capacity, done)
                   : store_numbers(&reader, &field, unit, array->owned, capacity, done);
    }
    return array->owned && !reader.fault && done == capacity;
}

static bool read_array(const char *path, const struct onnx_tensor *tensor, struct array *array,
                       struct error *error)
{
    bool known = tensor->type > 0 && tensor->type < (int64_t)(sizeof types / sizeof *types) &&
                 types[tensor->type].name;
    if (!known)
        return wnn_fail(error, WNNStatus_TypeError, "%s: no tensor of numbers (its type is %lld)", path,
                        (long long)tensor->type);
    if (tensor->external)
        return wnn_fail(error, WNNStatus_TypeError, "%s: its data are in another file, which is not read",
                        path);
    uint64_t sizes[WNN_MAX_RANK] = {0};
    for (size_t i = 0; i < tensor->rank && i < WNN_MAX_RANK; i++)
        sizes[i] = (uint64_t)tensor->dims[i];
    array->element = element_type_named(types[tensor->type].name);
    if (!array_set_shape(path, array, tensor->rank, sizes, error))
        return false;
    array->data = tensor->raw.data;
    bool good = tensor->raw.size > 0 || array->elements == 0
                    ? tensor->raw.size == array_bytes(array)
                    : read_numbers(tensor, types[tensor->type].field, array);
    return good || wnn_fail(error, WNNStatus_TypeError, "%s: it has not the data for %s%s", path,
                            array->element->name, SHAPE_TEXT(&array->shape));
}

bool tensor_proto_decode(const char *path, struct mapping *file, struct array *array, struct string *name,
                         struct error *error)
{
    struct onnx_tensor tensor;
    const char *fault = wnn_onnx_tensor(NULL, (struct bytes){file->data, file->size}, &tensor);
    *array = (struct array){.mapping = mapping_ref(file)};
    bool good = fault ? wnn_fail(error, WNNStatus_TypeError, "%s: no tensor of ONNX: %s", path, fault)
                      : read_array(path, &tensor, array, error);
    if (good && name)
        *name = (struct string){tensor.name.size ? (const char *)tensor.name.data : "", tensor.name.size};
    if (!good)
        array_close(array);
    return good;
}
