// SPDX-License-Identifier: Apache-2.0
#include "tools/model/flatbuffer.h"

#include <string.h>

static const unsigned char sizes[] = {
    [FLATBUFFER_INT8] = 1,  [FLATBUFFER_UINT8] = 1,  [FLATBUFFER_INT16] = 2, [FLATBUFFER_UINT16] = 2,
    [FLATBUFFER_INT32] = 4, [FLATBUFFER_UINT32] = 4, [FLATBUFFER_INT64] = 8, [FLATBUFFER_UINT64] = 8};

// Whether `size` bytes from `at` on are in the buffer; else a fault.
static bool check(struct flatbuffer *buffer, size_t at, uint64_t size, const char *fault)
{
    if (at <= buffer->bytes.size && size <= buffer->bytes.size - at)
        return true;
    if (!buffer->fault)
        buffer->fault = fault;
    return false;
}

// Bytes that are in the buffer; NULL: they are not left of it.
static const unsigned char *find_bytes(struct flatbuffer *buffer, size_t at, size_t size)
{
    if (!buffer->excerpt)
        return buffer->bytes.data + at;
    return wnn_excerpt_find(buffer->excerpt, at, size, &buffer->piece);
}

// The same of what describes something: a fault, if they are not.
static const unsigned char *require_bytes(struct flatbuffer *buffer, size_t at, size_t size)
{
    const unsigned char *data = find_bytes(buffer, at, size);
    if (!data && !buffer->fault)
        buffer->fault = "what describes the model lies in data of a tensor";
    return data;
}

// Little endian.
static uint64_t load(struct flatbuffer *buffer, size_t at, unsigned size)
{
    const unsigned char *data = require_bytes(buffer, at, size);
    uint64_t value = 0;
    for (unsigned i = size; data && i-- > 0;)
        value = value << 8 | data[i];
    return value;
}

static int64_t load_number(struct flatbuffer *buffer, size_t at, enum flatbuffer_type type)
{
    uint64_t value = load(buffer, at, sizes[type]);
    switch (type) {
    case FLATBUFFER_INT8:
        return (int8_t)value;
    case FLATBUFFER_INT16:
        return (int16_t)value;
    case FLATBUFFER_INT32:
        return (int32_t)value;
    default:
        return (int64_t)value;
    }
}

static float load_float(struct flatbuffer *buffer, size_t at)
{
    uint32_t bits = (uint32_t)load(buffer, at, 4);
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

// Where the offset at `at` leads, which is forward; 0: a fault.
static size_t follow(struct flatbuffer *buffer, size_t at, const char *fault)
{
    if (!check(buffer, at, 4, fault))
        return 0;
    uint64_t offset = load(buffer, at, 4);
    if (!check(buffer, at, offset ? offset : UINT64_MAX, fault))
        return 0;
    return at + (size_t)offset;
}

static struct flatbuffer_table open_table(struct flatbuffer *buffer, size_t at)
{
    static const char fault[] = "a table is not in the file";
    struct flatbuffer_table none = {.buffer = buffer}, table = {.buffer = buffer, .at = at};
    if (at == 0 || !check(buffer, at, 4, fault))
        return none;
    // The vtable may lie before or behind: its size, that of the table, then where each field is, or 0.
    int64_t vtable = (int64_t)at - load_number(buffer, at, FLATBUFFER_INT32);
    if (!check(buffer, vtable < 0 ? SIZE_MAX : (size_t)vtable, 4, fault))
        return none;
    size_t bytes = load(buffer, (size_t)vtable, 2);
    table.vtable = (size_t)vtable;
    table.size = load(buffer, table.vtable + 2, 2);
    table.count = bytes < 4 ? 0 : (bytes - 4) / 2;
    if (!check(buffer, table.vtable, bytes < 4 ? UINT64_MAX : bytes, fault) ||
        !check(buffer, at, table.size < 4 ? UINT64_MAX : table.size, fault))
        return none;
    return table;
}

bool wnn_flatbuffer_is(struct bytes bytes, const char *identifier)
{
    return bytes.size >= 8 && memcmp(bytes.data + 4, identifier, 4) == 0;
}

struct flatbuffer_table wnn_flatbuffer_root(struct flatbuffer *buffer)
{
    return open_table(buffer, follow(buffer, 0, "the file is shorter than its beginning says"));
}

// Where a field of `size` bytes is; 0: left out, or a fault.
static size_t find(const struct flatbuffer_table *table, unsigned field, size_t size)
{
    if (table->at == 0 || field >= table->count)
        return 0;
    size_t offset = load(table->buffer, table->vtable + 4 + 2 * (size_t)field, 2);
    if (offset == 0)
        return 0;
    if (offset < 4 || offset + size > table->size) {
        check(table->buffer, table->buffer->bytes.size, 1, "a field is not in its table");
        return 0;
    }
    return table->at + offset;
}

bool wnn_flatbuffer_has(const struct flatbuffer_table *table, unsigned field)
{
    return find(table, field, 1) != 0;
}

int64_t wnn_flatbuffer_number(const struct flatbuffer_table *table, unsigned field, enum flatbuffer_type type,
                              int64_t otherwise)
{
    size_t at = find(table, field, sizes[type]);
    return at ? load_number(table->buffer, at, type) : otherwise;
}

float wnn_flatbuffer_float(const struct flatbuffer_table *table, unsigned field, float otherwise)
{
    size_t at = find(table, field, 4);
    return at ? load_float(table->buffer, at) : otherwise;
}

struct flatbuffer_table wnn_flatbuffer_table(const struct flatbuffer_table *table, unsigned field)
{
    size_t at = find(table, field, 4);
    return open_table(table->buffer, at ? follow(table->buffer, at, "a table is not in the file") : 0);
}

// Its items follow their number.
struct flatbuffer_vector wnn_flatbuffer_vector(const struct flatbuffer_table *table, unsigned field,
                                               unsigned item_bytes)
{
    static const char fault[] = "a vector is not in the file";
    struct flatbuffer *buffer = table->buffer;
    struct flatbuffer_vector none = {.buffer = buffer};
    size_t at = find(table, field, 4), start = at ? follow(buffer, at, fault) : 0;
    if (start == 0 || !check(buffer, start, 4, fault))
        return none;
    uint64_t count = load(buffer, start, 4);
    if (!check(buffer, start + 4, count * item_bytes, fault))
        return none;
    return (struct flatbuffer_vector){buffer, start + 4, (size_t)count};
}

struct bytes wnn_flatbuffer_bytes(const struct flatbuffer_table *table, unsigned field)
{
    struct flatbuffer_vector vector = wnn_flatbuffer_vector(table, field, 1);
    const unsigned char *data = vector.count ? require_bytes(vector.buffer, vector.at, vector.count) : NULL;
    return (struct bytes){data, data ? vector.count : 0};
}

struct bytes wnn_flatbuffer_data(const struct flatbuffer_table *table, unsigned field)
{
    struct flatbuffer_vector vector = wnn_flatbuffer_vector(table, field, 1);
    return vector.count ? wnn_flatbuffer_part(vector.buffer, vector.at, vector.count)
                        : (struct bytes){NULL, 0};
}

struct bytes wnn_flatbuffer_part(struct flatbuffer *buffer, size_t at, size_t size)
{
    const unsigned char *left = size ? find_bytes(buffer, at, size) : NULL;
    return (struct bytes){left ? left : buffer->bytes.data + at, size};
}

bool wnn_flatbuffer_keeps(const struct flatbuffer *buffer, struct bytes data)
{
    if (!buffer->excerpt || data.size == 0)
        return true;
    struct bytes left = buffer->excerpt->left;
    uintptr_t begin = (uintptr_t)left.data, at = (uintptr_t)data.data;
    return at >= begin && at - begin < left.size;
}

int64_t wnn_flatbuffer_number_at(const struct flatbuffer_vector *vector, enum flatbuffer_type type, size_t i)
{
    return i < vector->count ? load_number(vector->buffer, vector->at + i * sizes[type], type) : 0;
}

float wnn_flatbuffer_float_at(const struct flatbuffer_vector *vector, size_t i)
{
    return i < vector->count ? load_float(vector->buffer, vector->at + i * 4) : 0;
}

struct flatbuffer_table wnn_flatbuffer_item(const struct flatbuffer_vector *vector, size_t i)
{
    if (i >= vector->count)
        return (struct flatbuffer_table){.buffer = vector->buffer};
    return open_table(vector->buffer,
                      follow(vector->buffer, vector->at + 4 * i, "a table is not in the file"));
}
