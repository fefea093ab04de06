// SPDX-License-Identifier: Apache-2.0
#include "tools/safetensors.h"

#include "tools/bounds.h"
#include "tools/memory.h"

#include <cjson/cJSON.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    size_t data_begin, data_size;
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
    tensor->name = must(strdup(name));
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
        !whole(cJSON_GetArrayItem(offsets, 0), reader->data_size, &begin) ||
        !whole(cJSON_GetArrayItem(offsets, 1), reader->data_size, &end) || begin > end)
        return FAIL("%s: tensor \"%.200s\" has data_offsets that are no range within the %zu bytes of data",
                    reader->path, name, reader->data_size);
    if (!wnn_multiply(elements, bits, &total) || total / 8 + (total % 8 != 0) != end - begin)
        return FAIL("%s: tensor \"%.200s\" takes %llu bytes in the file, which is not what its dtype %s and "
                    "shape need",
                    reader->path, name, (unsigned long long)(end - begin), tensor->dtype);
    tensor->begin = reader->data_begin + (size_t)begin;
    tensor->end = reader->data_begin + (size_t)end;
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct safetensor *)a)->name, ((const struct safetensor *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const struct safetensor *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin)
                                : (x->end > y->end) - (x->end < y->end);
}

static bool check_together(const struct reader *reader, struct safetensors *file)
{
    if (file->count == 0)
        return true;
    qsort(file->tensors, file->count, sizeof *file->tensors, by_place);
    for (size_t i = 1; i < file->count; i++)
        if (file->tensors[i].begin < file->tensors[i - 1].end)
            return FAIL("%s: tensors \"%.200s\" and \"%.200s\" overlap", reader->path,
                        file->tensors[i - 1].name, file->tensors[i].name);
    qsort(file->tensors, file->count, sizeof *file->tensors, by_name);
    for (size_t i = 1; i < file->count; i++)
        if (strcmp(file->tensors[i].name, file->tensors[i - 1].name) == 0)
            return FAIL("%s: two tensors are called \"%.200s\"", reader->path, file->tensors[i].name);
    return true;
}

static bool read_header(const struct reader *reader, const cJSON *header, struct safetensors *file)
{
    size_t capacity = 0;
    const cJSON *item;
    if (!cJSON_IsObject(header))
        return FAIL("%s: the header is not a JSON object", reader->path);
    cJSON_ArrayForEach(item, header)
    {
        if (item->string && strcmp(item->string, "__metadata__") == 0)
            continue;
        file->tensors = must_grow(file->tensors, file->count, &capacity, sizeof *file->tensors);
        struct safetensor *tensor = &file->tensors[file->count++];
        *tensor = (struct safetensor){.name = NULL};
        if (!read_tensor(reader, item, tensor))
            return false;
    }
    return check_together(reader, file);
}

static uint64_t header_length(const unsigned char *data)
{
    uint64_t length = 0;
    for (unsigned i = 8; i-- > 0;)
        length = length << 8 | data[i];
    return length;
}

// The JSON text of `length` bytes; NULL if it is none.
static cJSON *parse_header(const unsigned char *data, size_t length)
{
    // The parser wants to see the end of the text, and what follows the header is data.
    char *text = must_allocate(length + 1);
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
        good = good && whole(cJSON_GetArrayItem(offsets, 1), MAX_WEIGHTS_STREAM, &end);
        if (good && end > data_bytes)
            data_bytes = (size_t)end;
    }
    if (good)
        *extent = 8 + (size_t)length + data_bytes;
    cJSON_Delete(header);
    return *extent;
}

bool safetensors_open(const char *path, struct safetensors *file, struct error *error)
{
    size_t known = 0;
    const struct mapping_rule rule = {"weights", MAX_WEIGHTS_STREAM, false, stream_extent, &known};
    *file = (struct safetensors){mapping_open(path, &rule, error), NULL, 0};
    struct reader state = {path, error, 0, 0}, *reader = &state;
    if (!file->mapping)
        return false;
    const unsigned char *data = file->mapping->data;
    bool good = false;
    if (file->mapping->size < 8) {
        FAIL("%s: no safetensors file: it has %zu bytes, not even the 8 of a header's length", path,
             file->mapping->size);
        goto end;
    }
    uint64_t length = header_length(data);
    if (length > MAX_WEIGHTS_HEADER) {
        FAIL("%s: no safetensors file: a header of %llu bytes; it has %zu at most", path,
             (unsigned long long)length, MAX_WEIGHTS_HEADER);
        goto end;
    }
    if (length > file->mapping->size - 8) {
        FAIL("%s: no safetensors file: a header of %llu bytes in a file of %zu", path,
             (unsigned long long)length, file->mapping->size);
        goto end;
    }
    reader->data_begin = 8 + (size_t)length;
    reader->data_size = file->mapping->size - reader->data_begin;
    cJSON *header = parse_header(data + 8, (size_t)length);
    good = header ? read_header(reader, header, file) : FAIL("%s: the header is not JSON", path);
    cJSON_Delete(header);
end:
    if (!good)
        safetensors_close(file);
    return good;
}

void safetensors_close(struct safetensors *file)
{
    for (size_t i = 0; i < file->count; i++)
        free(file->tensors[i].name);
    free(file->tensors);
    mapping_unref(file->mapping);
    *file = (struct safetensors){NULL, NULL, 0};
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

static char *header_text(const struct safetensors_item *items, size_t count)
{
    cJSON *header = must(cJSON_CreateObject());
    size_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        const struct descriptor *type = &items[i].type;
        cJSON *item = must(cJSON_AddObjectToObject(header, items[i].name));
        // The format has no 4-bit types; the reader takes the bytes that hold them for what was declared.
        size_t bytes = wnn_descriptor_bytes(type);
        bool packed = wnn_dtype_bits(type->type) < 8;
        const char *dtype = "U8";
        for (size_t k = DTYPES; k-- > 0 && !packed;)
            if (dtypes[k].type == type->type)
                dtype = dtypes[k].name;
        must(cJSON_AddStringToObject(item, "dtype", dtype));
        cJSON *shape = must(cJSON_AddArrayToObject(item, "shape"));
        for (unsigned d = 0; d < type->shape.rank && !packed; d++)
            cJSON_AddItemToArray(shape, must(cJSON_CreateNumber(type->shape.dim[d])));
        if (packed)
            cJSON_AddItemToArray(shape, must(cJSON_CreateNumber((double)bytes)));
        cJSON *offsets = must(cJSON_AddArrayToObject(item, "data_offsets"));
        cJSON_AddItemToArray(offsets, must(cJSON_CreateNumber((double)begin)));
        begin += bytes;
        cJSON_AddItemToArray(offsets, must(cJSON_CreateNumber((double)begin)));
    }
    char *text = must(cJSON_PrintUnformatted(header));
    cJSON_Delete(header);
    return text;
}

// Where a file is written that takes the place of one that exists: that may be the one that the tensors'
// bytes are mapped from, and stays what it is for those who have it open. NULL: there is none, or it is a
// pipe or a link.
static char *name_beside(const char *path)
{
    struct stat status;
    char *name = NULL;
    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
        asprintf(&name, "%s.%ld.tmp", path, (long)getpid()) < 0)
        name = must(NULL);
    return name;
}

bool safetensors_write(const char *path, const struct safetensors_item *items, size_t count,
                       struct error *error)
{
    char *text = header_text(items, count);
    size_t length = strlen(text), padded = (length + 8 + 63) / 64 * 64 - 8;
    unsigned char prefix[8];
    for (unsigned i = 0; i < 8; i++)
        prefix[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    char *temporary = name_beside(path);
    FILE *file = fopen(temporary ? temporary : path, temporary ? "wbx" : "wb");
    bool good = file && fwrite(prefix, 8, 1, file) == 1 && fwrite(text, 1, length, file) == length;
    for (size_t i = length; good && i < padded; i++)
        good = fputc(' ', file) != EOF;
    for (size_t i = 0; good && i < count; i++) {
        size_t bytes = wnn_descriptor_bytes(&items[i].type);
        good = fwrite(items[i].data, 1, bytes, file) == bytes;
    }
    free(text);
    int reason = errno;
    if (file && fclose(file) != 0 && good) {
        good = false;
        reason = errno;
    }
    if (temporary && good && rename(temporary, path) != 0) {
        good = false;
        reason = errno;
    }
    if (temporary && file && !good)
        unlink(temporary);
    free(temporary);
    return good ? true : wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(reason));
}
