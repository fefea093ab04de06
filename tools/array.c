// SPDX-License-Identifier: Apache-2.0
//
// The .npy format: a magic number, two bytes of version, the length of a header, and the header, a Python
// dictionary of three entries; https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

#include "tools/array.h"

#include "tools/bounds.h"
#include "tools/standard_input.h"
#include "tools/standard_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

const struct element_type element_types[ELEMENT_TYPES] = {
    {"float32", WNNDataType_Float32, ELEMENT_REAL, true, 32},
    {"float16", WNNDataType_Float16, ELEMENT_REAL, true, 16},
    {"float64", WNNDataType_Undefined, ELEMENT_REAL, true, 64},
    {"bfloat16", WNNDataType_Undefined, ELEMENT_REAL, true, 16},
    {"int32", WNNDataType_Int32, ELEMENT_INTEGER, true, 32},
    {"uint32", WNNDataType_Uint32, ELEMENT_INTEGER, false, 32},
    {"int64", WNNDataType_Int64, ELEMENT_INTEGER, true, 64},
    {"uint64", WNNDataType_Uint64, ELEMENT_INTEGER, false, 64},
    {"int8", WNNDataType_Int8, ELEMENT_INTEGER, true, 8},
    {"uint8", WNNDataType_Uint8, ELEMENT_INTEGER, false, 8},
    {"int16", WNNDataType_Undefined, ELEMENT_INTEGER, true, 16},
    {"uint16", WNNDataType_Undefined, ELEMENT_INTEGER, false, 16},
    {"int4", WNNDataType_Int4, ELEMENT_INTEGER, true, 4},
    {"uint4", WNNDataType_Uint4, ELEMENT_INTEGER, false, 4},
    {"bool", WNNDataType_Undefined, ELEMENT_BOOL, false, 8},
};

bool ends_with(const char *string, const char *ending)
{
    size_t length = strlen(string), cut = strlen(ending);
    return length >= cut && strcasecmp(string + length - cut, ending) == 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Elements
// ---------------------------------------------------------------------------------------------------------------

// float16, which NumPy has too, is the first of its size.
const struct element_type *element_type_find(enum element_kind kind, bool is_signed, unsigned bits)
{
    for (size_t i = 0; i < ELEMENT_TYPES; i++)
        if (element_types[i].kind == kind && element_types[i].is_signed == is_signed &&
            element_types[i].bits == bits)
            return &element_types[i];
    return NULL;
}

const struct element_type *element_type_of(WNNDataType type)
{
    for (size_t i = 0; i < ELEMENT_TYPES; i++)
        if (element_types[i].type == type && type != WNNDataType_Undefined)
            return &element_types[i];
    return NULL;
}

const struct element_type *element_type_named(const char *name)
{
    for (size_t i = 0; i < ELEMENT_TYPES; i++)
        if (strcmp(element_types[i].name, name) == 0)
            return &element_types[i];
    return NULL;
}

size_t array_bytes(const struct array *array)
{
    return (array->elements * array->element->bits + 7) / 8;
}

struct array array_of(const struct descriptor *type, const void *data)
{
    return (struct array){.data = data,
                          .element = element_type_of(type->type),
                          .shape = type->shape,
                          .elements = wnn_shape_elements(&type->shape)};
}

bool array_set_shape(const char *path, struct array *array, size_t rank, const uint64_t *sizes,
                     struct error *error)
{
    if (rank > WNN_MAX_RANK)
        return wnn_fail(error, WNNStatus_TypeError, "%s: an array of %zu dimensions; %d are the most", path,
                        rank, WNN_MAX_RANK);
    uint64_t elements = 1;
    array->shape.rank = (unsigned)rank;
    for (size_t i = 0; i < rank; i++) {
        if (sizes[i] > WNN_MAX_DIMENSION || !wnn_multiply(elements, sizes[i], &elements) ||
            elements > WNN_MAX_DIMENSION)
            return wnn_fail(error, WNNStatus_TypeError,
                            "%s: its shape is too large: %u elements are the most", path, WNN_MAX_DIMENSION);
        array->shape.dim[i] = (uint32_t)sizes[i];
    }
    array->elements = (size_t)elements;
    return true;
}

WNNNumber array_element(const struct array *array, size_t index)
{
    const struct element_type *element = array->element;
    if (element->bits == 4)
        return wnn_number_load(element->type, array->data, index);
    uint64_t bits = 0;
    memcpy(&bits, array->data + index * (element->bits / 8), element->bits / 8);
    if (element->type != WNNDataType_Undefined)
        return wnn_number_load(element->type, &bits, 0);
    if (element->kind == ELEMENT_BOOL)
        return wnnNumberUint64(bits != 0);
    if (element->kind == ELEMENT_INTEGER)
        return element->is_signed ? wnnNumberInt64((int16_t)bits) : wnnNumberUint64(bits);
    double real;
    float single;
    uint32_t high = (uint32_t)bits << 16; // of a bfloat16, which is half of a float
    memcpy(&real, &bits, sizeof real);
    memcpy(&single, &high, sizeof single);
    return wnnNumberFloat64(element->bits == 64 ? real : (double)single);
}

// ---------------------------------------------------------------------------------------------------------------
// Headers
// ---------------------------------------------------------------------------------------------------------------

#define MAX_HEADER     65536
#define MAX_TUPLE_SIZE 64 // sizes that are counted, to tell how many there are

struct header {
    struct string descr;
    bool has_order, fortran, big_endian;
    bool has_shape;
    uint64_t sizes[MAX_TUPLE_SIZE];
    size_t rank;
};

static void skip_spaces(const char **at)
{
    *at += strspn(*at, " \t\r\n");
}

static bool skip(const char **at, char wanted)
{
    skip_spaces(at);
    if (**at != wanted)
        return false;
    (*at)++;
    return true;
}

// Text in quotes of either kind, without escapes.
static bool read_quoted(const char **at, struct string *text)
{
    skip_spaces(at);
    char quote = **at;
    const char *end = quote == '\'' || quote == '"' ? strchr(*at + 1, quote) : NULL;
    if (!end)
        return false;
    *text = (struct string){*at + 1, (size_t)(end - *at - 1)};
    *at = end + 1;
    return true;
}

static bool read_word(const char **at, const char *word)
{
    skip_spaces(at);
    if (strncmp(*at, word, strlen(word)) != 0)
        return false;
    *at += strlen(word);
    return true;
}

// "(2, 3)", "(2,)" or "()"; numbers may end with the L of Python 2.
static bool read_tuple(const char **at, struct header *header)
{
    header->has_shape = skip(at, '(');
    while (header->has_shape && !skip(at, ')')) {
        char *end;
        if (**at < '0' || **at > '9')
            return false;
        errno = 0;
        uint64_t size = strtoull(*at, &end, 10);
        *at = *end == 'L' ? end + 1 : end;
        if (header->rank < MAX_TUPLE_SIZE)
            header->sizes[header->rank] = errno ? UINT64_MAX : size;
        header->rank += header->rank < MAX_TUPLE_SIZE;
        skip_spaces(at);
        if (**at != ')' && !skip(at, ','))
            return false;
    }
    return header->has_shape;
}

static bool read_entry(const char **at, struct header *header)
{
    struct string key;
    if (!read_quoted(at, &key) || !skip(at, ':'))
        return false;
    if (wnn_string_equal(key, STRING("descr")))
        return read_quoted(at, &header->descr);
    if (wnn_string_equal(key, STRING("shape")) && !header->has_shape)
        return read_tuple(at, header);
    header->has_order = wnn_string_equal(key, STRING("fortran_order"));
    header->fortran = header->has_order && read_word(at, "True");
    return header->has_order && (header->fortran || read_word(at, "False"));
}

// The dictionary. False: it is none, or of elements that consist of others.
static bool read_dictionary(const char *text, struct header *header)
{
    const char *at = text;
    if (!skip(&at, '{'))
        return false;
    while (!skip(&at, '}'))
        if (!read_entry(&at, header) || (!skip(&at, ',') && *at != '}'))
            return false;
    skip_spaces(&at);
    return *at == '\0' && header->descr.length && header->has_order && header->has_shape;
}

// "<f4": the order of bytes, the kind, and the size in bytes.
static const struct element_type *find_element(struct header *header)
{
    static const struct {
        char code;
        enum element_kind kind;
        bool is_signed;
    } kinds[] = {{'f', ELEMENT_REAL, true},
                 {'i', ELEMENT_INTEGER, true},
                 {'u', ELEMENT_INTEGER, false},
                 {'b', ELEMENT_BOOL, false}};
    struct string descr = header->descr;
    if (descr.length && strchr("<>=|", descr.data[0])) {
        header->big_endian = descr.data[0] == '>';
        descr = (struct string){descr.data + 1, descr.length - 1};
    }
    if (descr.length != 2 || descr.data[1] < '1' || descr.data[1] > '8')
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].code == descr.data[0])
            return element_type_find(kinds[i].kind, kinds[i].is_signed, (unsigned)(descr.data[1] - '0') * 8);
    return NULL;
}

static bool read_header(const char *path, const char *text, struct header *header, struct array *array,
                        struct error *error)
{
    *header = (struct header){.descr = STRING("")};
    if (!read_dictionary(text, header))
        return wnn_fail(error, WNNStatus_TypeError, "%s: not a .npy file of plain numbers", path);
    array->element = find_element(header);
    if (!array->element)
        return wnn_fail(error, WNNStatus_TypeError, "%s: elements of type '%.*s' cannot be read", path,
                        (int)(header->descr.length < 20 ? header->descr.length : 20), header->descr.data);
    return array_set_shape(path, array, header->rank, header->sizes, error);
}

// Where the header begins and how long it is, of at least 12 bytes. False: this is no .npy file.
static bool find_header(const unsigned char *data, size_t *start, size_t *length)
{
    if (memcmp(data, "\x93NUMPY", 6) != 0 || data[6] < 1 || data[6] > 3)
        return false;
    *start = data[6] == 1 ? 10 : 12;
    *length = (size_t)data[8] | (size_t)data[9] << 8;
    if (*start == 12)
        *length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    return *length < MAX_HEADER;
}

// The header is copied first, so that it stays what it is while it is read.
static bool read_copy(const char *path, const unsigned char *text, size_t length, struct header *header,
                      struct array *array, struct error *error)
{
    char copy[MAX_HEADER];
    memcpy(copy, text, length);
    copy[length] = '\0';
    return read_header(path, copy, header, array, error);
}

size_t array_npy_extent(const unsigned char *data, size_t size)
{
    size_t start, length;
    struct header header;
    struct array array = {.data = NULL};
    struct error error = {WNNStatus_Success, ""};
    if (size < 12)
        return 12;
    if (!find_header(data, &start, &length))
        return 0;
    if (size < start + length)
        return start + length;
    return read_copy("", data + start, length, &header, &array, &error) ? start + length + array_bytes(&array)
                                                                        : 0;
}

bool array_recognize_npy(const unsigned char *data, size_t size)
{
    return size >= 6 && memcmp(data, "\x93NUMPY", 6) == 0;
}

// ---------------------------------------------------------------------------------------------------------------
// Files
// ---------------------------------------------------------------------------------------------------------------

// Puts elements that lie column by column, or with their high byte first, in the usual order.
static bool reorder(struct array *array, const struct header *header, struct error *error)
{
    size_t unit = array->element->bits / 8, strides[WNN_MAX_RANK] = {0}, index[WNN_MAX_RANK] = {0}, from = 0;
    unsigned rank = array->shape.rank;
    if ((!header->fortran || rank < 2) && (!header->big_endian || unit == 1))
        return true;
    array->owned = malloc(array_bytes(array) + 1);
    if (!array->owned)
        return wnn_fail_memory(error);
    wnn_shape_strides(&array->shape, strides);
    for (unsigned i = 0; header->fortran && i < rank; i++)
        strides[i] = wnn_shape_product(&array->shape, 0, i);
    for (size_t i = 0; i < array->elements; i++) {
        for (size_t k = 0; k < unit; k++)
            array->owned[i * unit + k] = array->data[from * unit + (header->big_endian ? unit - 1 - k : k)];
        for (unsigned d = rank; d-- > 0;) {
            from += strides[d];
            if (++index[d] < array->shape.dim[d])
                break;
            from -= strides[d] * index[d];
            index[d] = 0;
        }
    }
    array->data = array->owned;
    return true;
}

bool array_decode_npy(const char *path, struct mapping *file, const unsigned char *data, size_t size,
                      struct array *array, struct error *error)
{
    struct header header;
    size_t start = 0, length = 0;
    *array = (struct array){.mapping = mapping_ref(file)};
    bool good = size >= 12 && find_header(data, &start, &length) && length <= size - start
                    ? read_copy(path, data + start, length, &header, array, error)
                    : wnn_fail(error, WNNStatus_TypeError, "%s: not a .npy file", path);
    size_t left = size - start - length;
    array->data = data + start + length;
    if (good && array_bytes(array) != left)
        good = wnn_fail(error, WNNStatus_TypeError, "%s: %zu elements were announced, the file is %s", path,
                        array->elements, array_bytes(array) > left ? "shorter" : "longer");
    good = good && reorder(array, &header, error);
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
    struct mapping *file = open_or_standard(path, &rule, error);
    bool good = file && array_decode_npy(path, file, file->data, file->size, array, error);
    mapping_unref(file);
    return good;
}

void array_close(struct array *array)
{
    mapping_unref(array->mapping);
    free(array->owned);
    *array = (struct array){.data = NULL};
}

static bool write_header(FILE *file, const struct descriptor *type)
{
    const struct element_type *element = element_type_of(type->type);
    unsigned bytes = element->bits < 8 ? 1 : element->bits / 8;
    char code = element->kind == ELEMENT_REAL ? 'f' : element->is_signed ? 'i' : 'u', header[512] = "";
    struct text text = TEXT(header);
    wnn_text_add(&text, "{'descr': '%c%c%u', 'fortran_order': False, 'shape': (", bytes == 1 ? '|' : '<',
                 code, bytes);
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

// Elements of 4 bits, as bytes.
static bool write_halves(FILE *file, const struct descriptor *type, const void *data)
{
    struct array array = array_of(type, data);
    bool good = true;
    for (size_t i = 0; good && i < array.elements; i++)
        good = fputc((int)wnn_number_double(array_element(&array, i)) & 0xFF, file) != EOF;
    return good;
}

static bool write_array(FILE *file, bool npy, const struct descriptor *type, const void *data)
{
    size_t bytes = wnn_descriptor_bytes(type);
    if (npy && !write_header(file, type))
        return false;
    if (npy && wnn_dtype_bits(type->type) == 4)
        return write_halves(file, type, data);
    return bytes == 0 || fwrite(data, 1, bytes, file) == bytes;
}

static bool write_standard(const struct descriptor *type, const void *data, struct error *error)
{
    FILE *file = create_binary("-", error);
    if (!file)
        return false;
    write_array(file, true, type, data);
    return close_or_standard(file, "-", error);
}

bool array_write(const char *path, const struct descriptor *type, const void *data, struct error *error)
{
    if (is_standard(path))
        return write_standard(type, data, error);
    FILE *file = fopen(path, "wb");
    bool good = file && write_array(file, ends_with(path, ".npy"), type, data);
    int reason = errno;
    if (file && fclose(file) != 0 && good) {
        good = false;
        reason = errno;
    }
    return good ? true : wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(reason));
}
