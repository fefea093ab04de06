// SPDX-License-Identifier: Apache-2.0
//
// The .npy format: a magic number, two bytes of version, the length of a header, and the header, a Python
// dictionary of three entries; https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

#include "tools/array.h"

#include "tools/bounds.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *descr;
    WNNDataType type;
} dtypes[] = {
    {"<f4", WNNDataType_Float32},   {"<f2", WNNDataType_Float16}, {"<i4", WNNDataType_Int32},
    {"<u4", WNNDataType_Uint32},    {"<i8", WNNDataType_Int64},   {"<u8", WNNDataType_Uint64},
    {"|i1", WNNDataType_Int8},      {"|u1", WNNDataType_Uint8},   {"|b1", WNNDataType_Uint8},
    {"<f8", WNNDataType_Undefined},
};
#define DTYPES (sizeof dtypes / sizeof *dtypes)

bool ends_with(const char *string, const char *ending)
{
    size_t length = strlen(string), cut = strlen(ending);
    return length >= cut && strcasecmp(string + length - cut, ending) == 0;
}

// What follows 'key': in the header, or NULL.
static const char *entry(const char *header, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s'", key);
    const char *at = strstr(header, quoted);
    if (!at)
        return NULL;
    at += strlen(quoted);
    while (*at == ' ' || *at == ':')
        at++;
    return at;
}

static bool read_header(const char *path, const char *header, struct array *array, struct error *error)
{
    const char *descr = entry(header, "descr"), *order = entry(header, "fortran_order"),
               *shape = entry(header, "shape");
    if (!descr || !order || !shape || *descr != '\'' || *shape != '(')
        return wnn_fail(error, WNNStatus_TypeError, "%s: not a .npy file of plain numbers", path);
    size_t found = DTYPES;
    for (size_t i = 0; i < DTYPES; i++)
        if (strncmp(descr + 1, dtypes[i].descr, 3) == 0 && descr[4] == '\'')
            found = i;
    if (found == DTYPES)
        return wnn_fail(error, WNNStatus_TypeError, "%s: elements of type %.10s cannot be read", path, descr);
    array->type = dtypes[found].type;
    array->float64 = array->type == WNNDataType_Undefined;
    array->elements = 1;
    for (const char *at = shape + 1; *at && *at != ')';) {
        if (!isdigit((unsigned char)*at)) {
            at++;
            continue;
        }
        char *end;
        errno = 0;
        unsigned long long size = strtoull(at, &end, 10);
        uint64_t elements;
        at = end;
        if (errno || size > WNN_MAX_DIMENSION || array->shape.rank == WNN_MAX_RANK ||
            !wnn_multiply(array->elements, size, &elements) || elements > WNN_MAX_DIMENSION)
            return wnn_fail(error, WNNStatus_TypeError, "%s: its shape is too large", path);
        array->shape.dim[array->shape.rank++] = (uint32_t)size;
        array->elements = (size_t)elements;
    }
    if (strncmp(order, "False", 5) != 0 && array->shape.rank > 1)
        return wnn_fail(error, WNNStatus_TypeError,
                        "%s: in Fortran order; save it with numpy.ascontiguousarray", path);
    return true;
}

#define MAX_HEADER 65536

// Where the header begins and how long it is, of at least 12 bytes. False: this is no .npy file.
static bool find_header(const unsigned char *data, size_t *start, size_t *length)
{
    if (memcmp(data, "\x93NUMPY", 6) != 0)
        return false;
    *start = data[6] == 1 ? 10 : 12;
    *length = (size_t)data[8] | (size_t)data[9] << 8;
    if (*start == 12)
        *length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    return *length < MAX_HEADER;
}

// The header is copied first, so that it stays what it is while it is read.
static bool read_copy(const char *path, const unsigned char *text, size_t length, struct array *array,
                      struct error *error)
{
    char header[MAX_HEADER];
    memcpy(header, text, length);
    header[length] = '\0';
    return read_header(path, header, array, error);
}

static size_t array_bytes(const struct array *array)
{
    return array->elements * (array->float64 ? 8 : wnn_dtype_bits(array->type) / 8);
}

size_t array_npy_extent(const unsigned char *data, size_t size)
{
    size_t start, length;
    struct array array = {.data = NULL};
    struct error error = {WNNStatus_Success, ""};
    if (size < 12)
        return 12;
    if (!find_header(data, &start, &length))
        return 0;
    if (size < start + length)
        return start + length;
    return read_copy("", data + start, length, &array, &error) ? start + length + array_bytes(&array) : 0;
}

bool array_decode_npy(const char *path, struct mapping *file, struct array *array, struct error *error)
{
    *array = (struct array){.mapping = mapping_ref(file)};
    const unsigned char *data = array->mapping->data;
    size_t size = array->mapping->size, start = 0, length = 0;
    bool good = size >= 12 && find_header(data, &start, &length) && length <= size - start
                    ? read_copy(path, data + start, length, array, error)
                    : wnn_fail(error, WNNStatus_TypeError, "%s: not a .npy file", path);
    array->data = data + start + length;
    if (good && array_bytes(array) != size - start - length)
        good = wnn_fail(error, WNNStatus_TypeError, "%s: %zu elements were announced, the file is %s", path,
                        array->elements, array_bytes(array) > size - start - length ? "shorter" : "longer");
    if (!good)
        array_close(array);
    return good;
}

static size_t npy_extent(const unsigned char *data, size_t size, void *unused)
{
    (void)unused;
    return array_npy_extent(data, size);
}

bool array_read_npy(const char *path, struct array *array, struct error *error)
{
    static const struct mapping_rule rule = {"an array", MAX_DATA_STREAM, false, npy_extent, NULL};
    struct mapping *file = mapping_open(path, &rule, error);
    bool good = file && array_decode_npy(path, file, array, error);
    mapping_unref(file);
    return good;
}

void array_close(struct array *array)
{
    mapping_unref(array->mapping);
    *array = (struct array){.data = NULL};
}

WNNNumber array_element(const struct array *array, size_t index)
{
    uint64_t aligned = 0;
    size_t unit = array->float64 ? 8 : wnn_dtype_bits(array->type) / 8;
    memcpy(&aligned, array->data + index * unit, unit);
    if (!array->float64)
        return wnn_number_load(array->type, &aligned, 0);
    double value;
    memcpy(&value, &aligned, sizeof value);
    return wnnNumberFloat64(value);
}

static bool write_header(FILE *file, const struct descriptor *type)
{
    const char *descr = "|u1"; // of the 4-bit types, the bytes that hold them
    for (size_t i = DTYPES; i-- > 0;)
        if (dtypes[i].type == type->type && strcmp(dtypes[i].descr, "|b1") != 0)
            descr = dtypes[i].descr;
    char header[512];
    struct text text = TEXT(header);
    header[0] = '\0';
    wnn_text_add(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    if (wnn_dtype_bits(type->type) < 8)
        wnn_text_add(&text, "%zu,", wnn_descriptor_bytes(type));
    else
        for (unsigned i = 0; i < type->shape.rank; i++)
            wnn_text_add(&text,
                         i + 1 < type->shape.rank ? "%u, "
                         : type->shape.rank == 1  ? "%u,"
                                                  : "%u",
                         type->shape.dim[i]);
    wnn_text_add(&text, "), }");
    while ((10 + text.length + 1) % 64)
        wnn_text_add(&text, " ");
    wnn_text_add(&text, "\n");
    const unsigned char prefix[10] = {
        0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)text.length, (unsigned char)(text.length >> 8)};
    return fwrite(prefix, sizeof prefix, 1, file) == 1 && fwrite(header, 1, text.length, file) == text.length;
}

bool array_write(const char *path, const struct descriptor *type, const void *data, struct error *error)
{
    size_t bytes = wnn_descriptor_bytes(type);
    FILE *file = fopen(path, "wb");
    bool good = file && (!ends_with(path, ".npy") || write_header(file, type)) &&
                fwrite(data, 1, bytes, file) == bytes;
    int reason = errno;
    if (file && fclose(file) != 0 && good) {
        good = false;
        reason = errno;
    }
    return good ? true : wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(reason));
}
