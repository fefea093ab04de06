// SPDX-License-Identifier: Apache-2.0
#include "tools/model/webnn/safetensors.h"

#include "tools/model/bounds.h"
#include "tools/model/mapping.h"
#include "tools/model/output.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name;
    unsigned bits;
    WNNDataType type;
} dtypes[] = {
    {"F32", 32, WNNDataType_Float32},      {"F16", 16, WNNDataType_Float16},
    {"I32", 32, WNNDataType_Int32},        {"U32", 32, WNNDataType_Uint32},
    {"I64", 64, WNNDataType_Int64},        {"U64", 64, WNNDataType_Uint64},
    {"I8", 8, WNNDataType_Int8},           {"U8", 8, WNNDataType_Uint8},
    {"BOOL", 8, WNNDataType_Uint8},        {"F64", 64, WNNDataType_Undefined},
    {"BF16", 16, WNNDataType_Undefined},   {"I16", 16, WNNDataType_Undefined},
    {"U16", 16, WNNDataType_Undefined},    {"F8_E4M3", 8, WNNDataType_Undefined},
    {"F8_E5M2", 8, WNNDataType_Undefined},
};
#define DTYPES (sizeof dtypes / sizeof *dtypes)

// A JSON number that is a whole number from 0 to `highest`.
static bool whole(const cJSON *item, uint64_t highest, uint64_t *value)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > (double)highest ||
        item->valuedouble > 9007199254740992.0)
        return false;
    *value = (uint64_t)item->valuedouble;
    return (double)*value == item->valuedouble;
}

struct reader {
    const char *path;
    struct error *error;
    struct bytes data; // of all tensors
};

#define FAIL(...) wnn_fail(reader->error, WNNStatus_TypeError, __VA_ARGS__)

static bool read_shape(const struct reader *reader, const char *name, const cJSON *item, struct shape *shape,
                       uint64_t *elements)
{
    *elements = 1;
    if (!cJSON_IsArray(item))
        return FAIL("%s: tensor \"%.200s\" has no shape", reader->path, name);
    const cJSON *dimension;
    cJSON_ArrayForEach(dimension, item)
    {
        uint64_t size;
        if (!whole(dimension, UINT32_MAX, &size) || !wnn_multiply(*elements, size, elements))
            return FAIL("%s: tensor \"%.200s\" has an impossible shape", reader->path, name);
        if (shape->rank < WNN_MAX_RANK)
            shape->dim[shape->rank++] = (uint32_t)size;
        else
            shape->rank = WNN_MAX_RANK + 1;
    }
    return true;
}

static bool read_tensor(const struct reader *reader, const cJSON *item, struct safetensor *tensor)
{
    const char *name = item->string ? item->string : "";
    tensor->path = reader->path;
    tensor->name = strdup(name);
    if (!tensor->name)
        return wnn_fail_memory(reader->error);
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(item, "dtype");
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    if (!cJSON_IsObject(item) || !cJSON_IsString(dtype))
        return FAIL("%s: tensor \"%.200s\" has no dtype", reader->path, name);
    unsigned bits = 0;
    for (size_t i = 0; i < DTYPES; i++)
        if (strcmp(dtype->valuestring, dtypes[i].name) == 0) {
            bits = dtypes[i].bits;
            tensor->type = dtypes[i].type;
            strcpy(tensor->dtype, dtypes[i].name);
        }
    if (!bits)
        return FAIL("%s: tensor \"%.200s\" has the unknown dtype \"%.40s\"", reader->path, name,
                    dtype->valuestring);

    uint64_t elements, total, begin, end;
    if (!read_shape(reader, name, cJSON_GetObjectItemCaseSensitive(item, "shape"), &tensor->shape, &elements))
        return false;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !whole(cJSON_GetArrayItem(offsets, 0), reader->data.size, &begin) ||
        !whole(cJSON_GetArrayItem(offsets, 1), reader->data.size, &end) || begin > end)
        return FAIL("%s: tensor \"%.200s\" has data_offsets that are no range within the %zu bytes of data",
                    reader->path, name, reader->data.size);
    if (!wnn_multiply(elements, bits, &total) || total / 8 + (total % 8 != 0) != end - begin)
        return FAIL("%s: tensor \"%.200s\" takes %llu bytes in the file, which is not what its dtype %s and "
                    "shape need",
                    reader->path, name, (unsigned long long)(end - begin), tensor->dtype);
    tensor->bytes = (struct bytes){reader->data.data + begin, (size_t)(end - begin)};
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct safetensor *)a)->name, ((const struct safetensor *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const struct safetensor *x = a, *y = b;
    return x->bytes.data != y->bytes.data ? (x->bytes.data > y->bytes.data) - (x->bytes.data < y->bytes.data)
                                          : (x->bytes.size > y->bytes.size) - (x->bytes.size < y->bytes.size);
}

// Of the tensors of one file, which are the last ones.
static bool check_apart(const struct reader *reader, struct safetensor *tensors, size_t count)
{
    qsort(tensors, count, sizeof *tensors, by_place);
    for (size_t i = 1; i < count; i++)
        if (tensors[i].bytes.data < tensors[i - 1].bytes.data + tensors[i - 1].bytes.size)
            return FAIL("%s: tensors \"%.200s\" and \"%.200s\" overlap", reader->path, tensors[i - 1].name,
                        tensors[i].name);
    return true;
}

static bool check_names(const struct reader *reader, struct safetensors *file)
{
    qsort(file->tensors, file->count, sizeof *file->tensors, by_name);
    for (size_t i = 1; i < file->count; i++)
        if (strcmp(file->tensors[i].name, file->tensors[i - 1].name) == 0)
            return FAIL("%s: two tensors are called \"%.200s\"", reader->path, file->tensors[i].name);
    return true;
}

static bool grow(struct safetensors *file, struct error *error)
{
    size_t capacity = file->capacity ? file->capacity * 2 : 64;
    if (file->count < file->capacity)
        return true;
    struct safetensor *grown = realloc(file->tensors, capacity * sizeof *grown);
    if (!grown)
        return wnn_fail_memory(error);
    file->tensors = grown;
    file->capacity = capacity;
    return true;
}

static bool read_header(const struct reader *reader, const cJSON *header, struct safetensors *file)
{
    size_t before = file->count;
    const cJSON *item;
    if (!cJSON_IsObject(header))
        return FAIL("%s: the header is not a JSON object", reader->path);
    cJSON_ArrayForEach(item, header)
    {
        if (item->string && strcmp(item->string, "__metadata__") == 0)
            continue;
        if (!grow(file, reader->error))
            return false;
        struct safetensor *tensor = &file->tensors[file->count++];
        *tensor = (struct safetensor){.name = NULL};
        if (!read_tensor(reader, item, tensor))
            return false;
    }
    return file->count == 0 ||
           (check_apart(reader, file->tensors + before, file->count - before) && check_names(reader, file));
}

static uint64_t header_length(const unsigned char *data)
{
    uint64_t length = 0;
    for (unsigned i = 8; i-- > 0;)
        length = length << 8 | data[i];
    return length;
}

// The JSON text of `length` bytes; NULL if it is none, or there is no memory.
static cJSON *parse_header(const unsigned char *data, size_t length)
{
    // The parser wants to see the end of the text, and what follows the header is data.
    char *text = calloc(length + 1, 1);
    if (!text)
        return NULL;
    memcpy(text, data, length);
    cJSON *header = memchr(text, '\0', length) ? NULL : cJSON_ParseWithOpts(text, NULL, true);
    free(text);
    return header;
}

// How much comes through a pipe: the length of the header, the header, and what it says that there is.
static size_t stream_extent(const unsigned char *data, size_t size, void *known)
{
    size_t *extent = known, data_bytes = 0;
    if (size < 8)
        return 8;
    uint64_t length = header_length(data);
    if (length > MAX_WEIGHTS_HEADER)
        return 0;
    if (size < 8 + length)
        return 8 + (size_t)length;
    if (*extent)
        return *extent;
    cJSON *header = parse_header(data + 8, (size_t)length);
    bool good = header != NULL;
    const cJSON *item;
    cJSON_ArrayForEach(item, header)
    {
        uint64_t end;
        const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
        if (!offsets)
            continue;
        good = good && whole(cJSON_GetArrayItem(offsets, 1), MAX_MODEL_STREAM, &end);
        if (good && end > data_bytes)
            data_bytes = (size_t)end;
    }
    if (good)
        *extent = 8 + (size_t)length + data_bytes;
    cJSON_Delete(header);
    return *extent;
}

static bool read_file(struct safetensors *file, struct bytes bytes, const char *path, struct error *error)
{
    struct reader state = {path, error, {NULL, 0}}, *reader = &state;
    if (bytes.size < 8)
        return FAIL("%s: no safetensors file: it has %zu bytes, not even the 8 of a header's length", path,
                    bytes.size);
    uint64_t length = header_length(bytes.data);
    if (length > MAX_WEIGHTS_HEADER)
        return FAIL("%s: no safetensors file: a header of %llu bytes; it has %zu at most", path,
                    (unsigned long long)length, MAX_WEIGHTS_HEADER);
    if (length > bytes.size - 8)
        return FAIL("%s: no safetensors file: a header of %llu bytes in a file of %zu", path,
                    (unsigned long long)length, bytes.size);
    reader->data = (struct bytes){bytes.data + 8 + length, bytes.size - 8 - (size_t)length};
    cJSON *header = parse_header(bytes.data + 8, (size_t)length);
    bool good = header ? read_header(reader, header, file) : FAIL("%s: the header is not JSON", path);
    cJSON_Delete(header);
    return good;
}

// A list of files beside it: {"weight_map": {"tensor": "model-00001-of-00002.safetensors", ...}}
static bool read_index(struct safetensors *file, struct model_source *source, struct bytes bytes,
                       const char *path, struct error *error)
{
    struct reader state = {path, error, {NULL, 0}}, *reader = &state;
    cJSON *index = bytes.size <= MAX_WEIGHTS_HEADER ? parse_header(bytes.data, bytes.size) : NULL;
    const cJSON *map = cJSON_GetObjectItemCaseSensitive(index, "weight_map"), *item, *last = NULL;
    bool good = cJSON_IsObject(map) || FAIL("%s: no list of safetensors files", path);
    map = good ? map : NULL;
    cJSON_ArrayForEach(item, map)
    {
        const char *fault = NULL, *name = item->valuestring;
        if (last && name && strcmp(last->valuestring, name) == 0)
            continue; // of the file that was opened last
        if (!name) {
            good = FAIL("%s: a tensor is in no file", path);
            break;
        }
        const char *opened = NULL;
        bool is_new = false;
        const struct bytes file_name = {(const unsigned char *)name, strlen(name)};
        struct bytes part = wnn_source_find_beside(source, path, file_name, &opened, &is_new, &fault);
        last = item;
        if (fault)
            good = FAIL("%s: \"%.200s\": %s", path, name, fault);
        else if (is_new)
            good = read_file(file, part, opened, error);
        if (!good)
            break;
    }
    cJSON_Delete(index);
    return good;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), cut = strlen(ending);
    return length >= cut && strcmp(text + length - cut, ending) == 0;
}

bool safetensors_open(struct safetensors *file, struct model_source *source, const char *path,
                      struct error *error)
{
    size_t known = 0;
    bool is_list = ends_with(path, ".json");
    struct stat status;
    bool regular = stat(path, &status) == 0 && S_ISREG(status.st_mode);
    const struct mapping_rule rule = {"weights",
                                      is_list   ? MAX_WEIGHTS_HEADER
                                      : regular ? SIZE_MAX / 4
                                                : MAX_MODEL_STREAM,
                                      source->copy, is_list || regular ? NULL : stream_extent, &known};
    struct mapping *mapping = wnn_source_file(source, path, &rule, error);
    if (!mapping)
        return false;
    struct bytes bytes = {mapping->data, mapping->size};
    bool good = is_list ? read_index(file, source, bytes, path, error) : read_file(file, bytes, path, error);
    if (!good)
        safetensors_close(file);
    return good;
}

void safetensors_close(struct safetensors *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->tensors[i].name);
    free(file->tensors);
    *file = (struct safetensors){0};
}

const struct safetensor *safetensors_find(const struct safetensors *file, const char *name)
{
    for (size_t low = 0, high = file->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, file->tensors[middle].name);
        if (order == 0)
            return &file->tensors[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

// ---------------------------------------------------------------------------------------------------------------
// Writing
// ---------------------------------------------------------------------------------------------------------------

static bool add_number(cJSON *array, double value)
{
    cJSON *number = cJSON_CreateNumber(value);
    if (number && cJSON_AddItemToArray(array, number))
        return true;
    cJSON_Delete(number);
    return false;
}

// The format has no 4-bit types; the reader takes the bytes that hold them for what was declared.
static bool add_item(cJSON *header, const struct safetensors_item *from, size_t begin)
{
    const struct descriptor *type = &from->type;
    size_t bytes = wnn_descriptor_bytes(type);
    bool packed = wnn_dtype_bits(type->type) < 8;
    const char *dtype = "U8";
    for (size_t k = DTYPES; k-- > 0 && !packed;)
        if (dtypes[k].type == type->type)
            dtype = dtypes[k].name;
    cJSON *item = cJSON_AddObjectToObject(header, from->name);
    bool good = item && cJSON_AddStringToObject(item, "dtype", dtype);
    cJSON *shape = good ? cJSON_AddArrayToObject(item, "shape") : NULL;
    for (unsigned d = 0; shape && good && d < type->shape.rank && !packed; d++)
        good = add_number(shape, type->shape.dim[d]);
    if (shape && packed)
        good = add_number(shape, (double)bytes);
    cJSON *offsets = shape && good ? cJSON_AddArrayToObject(item, "data_offsets") : NULL;
    return offsets && add_number(offsets, (double)begin) && add_number(offsets, (double)(begin + bytes));
}

// NULL: no memory.
static char *header_text(const struct safetensors_item *items, size_t count)
{
    cJSON *header = cJSON_CreateObject();
    size_t begin = 0;
    bool good = header != NULL;
    for (size_t i = 0; good && i < count; i++) {
        good = add_item(header, &items[i], begin);
        begin += wnn_descriptor_bytes(&items[i].type);
    }
    char *text = good ? cJSON_PrintUnformatted(header) : NULL;
    cJSON_Delete(header);
    return text;
}

// With spaces behind it, so that what follows is aligned.
static size_t padded_length(const char *header)
{
    return (strlen(header) + 8 + 63) / 64 * 64 - 8;
}

static bool write_file(FILE *file, const char *header, const struct safetensors_item *items, size_t count)
{
    size_t length = strlen(header), padded = padded_length(header);
    unsigned char prefix[8];
    for (unsigned i = 0; i < 8; i++)
        prefix[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    bool good = fwrite(prefix, 8, 1, file) == 1 && fwrite(header, 1, length, file) == length;
    for (size_t i = length; good && i < padded; i++)
        good = fputc(' ', file) != EOF;
    for (size_t i = 0; good && i < count; i++) {
        size_t bytes = wnn_descriptor_bytes(&items[i].type);
        good = fwrite(items[i].data, 1, bytes, file) == bytes;
    }
    return good;
}

bool safetensors_write(const char *path, const struct safetensors_item *items, size_t count,
                       struct error *error)
{
    struct output output;
    char *header = header_text(items, count);
    if (!header)
        return wnn_fail_memory(error);
    bool good = padded_length(header) <= MAX_WEIGHTS_HEADER ||
                wnn_fail(error, WNNStatus_NotSupportedError,
                         "%s: the header has %zu bytes; no more than %zu are read", path,
                         padded_length(header), MAX_WEIGHTS_HEADER);
    good = good && output_begin(&output, path, error);
    if (good) {
        bool written = write_file(output.file, header, items, count) ||
                       wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
        good = output_end(&output, written, error);
    }
    cJSON_free(header);
    return good;
}
