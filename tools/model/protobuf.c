// SPDX-License-Identifier: Apache-2.0
#include "tools/model/protobuf.h"

#include <string.h>

static bool fail(struct protobuf *reader, const char *fault)
{
    if (!reader->fault)
        reader->fault = fault;
    reader->left.size = 0;
    return false;
}

// Takes the next `size` bytes.
static bool take(struct protobuf *reader, uint64_t size, struct bytes *bytes)
{
    if (size > reader->left.size)
        return fail(reader, "a field ends behind its message");
    *bytes = (struct bytes){reader->left.data, (size_t)size};
    reader->left.data += (size_t)size;
    reader->left.size -= (size_t)size;
    return true;
}

// Seven bits a byte, the lowest first; the highest bit says that more follow.
static bool take_varint(struct protobuf *reader, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < 10; i++) {
        struct bytes byte;
        if (!take(reader, 1, &byte))
            return false;
        uint64_t bits = byte.data[0] & 0x7Fu;
        if (i == 9 && bits > 1)
            break;
        *value |= bits << 7 * i;
        if (byte.data[0] < 0x80)
            return true;
    }
    return fail(reader, "a number has more than 64 bits");
}

static void count_work(const struct protobuf *reader, size_t count)
{
    if (reader->work)
        *reader->work += count;
}

static uint64_t little_endian(struct bytes bytes)
{
    uint64_t value = 0;
    for (size_t i = bytes.size; i-- > 0;)
        value = value << 8 | bytes.data[i];
    return value;
}

bool wnn_protobuf_next(struct protobuf *reader, struct protobuf_field *field)
{
    uint64_t tag, size;
    *field = (struct protobuf_field){0};
    count_work(reader, 1);
    if (reader->left.size == 0 || !take_varint(reader, &tag))
        return false;
    if (tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF)
        return fail(reader, "a field has a number that there cannot be");
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum protobuf_type)(tag & 7);
    switch (tag & 7) {
    case PROTOBUF_VARINT:
        return take_varint(reader, &field->value);
    case PROTOBUF_64_BITS:
    case PROTOBUF_32_BITS:
        if (!take(reader, field->type == PROTOBUF_64_BITS ? 8 : 4, &field->bytes))
            return false;
        field->value = little_endian(field->bytes);
        return true;
    case PROTOBUF_BYTES:
        return take_varint(reader, &size) && take(reader, size, &field->bytes);
    default:
        return fail(reader, "a field is of a type that there is not");
    }
}

uint64_t wnn_protobuf_number(struct protobuf *reader, const struct protobuf_field *field)
{
    if (field->type == PROTOBUF_VARINT)
        return field->value;
    return fail(reader, "a field that should be a whole number is not");
}

static float float_of(uint64_t value)
{
    uint32_t bits = (uint32_t)value;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

float wnn_protobuf_float(struct protobuf *reader, const struct protobuf_field *field)
{
    if (field->type == PROTOBUF_32_BITS)
        return float_of(field->value);
    fail(reader, "a field that should be a float is not");
    return 0;
}

struct bytes wnn_protobuf_bytes(struct protobuf *reader, const struct protobuf_field *field)
{
    if (field->type == PROTOBUF_BYTES)
        return field->bytes;
    fail(reader, "a field that should be text or a message is not");
    return (struct bytes){NULL, 0};
}

size_t wnn_protobuf_numbers(struct protobuf *reader, const struct protobuf_field *field, size_t capacity,
                            int64_t *numbers)
{
    struct protobuf packed = {.left = field->bytes};
    uint64_t value = field->value;
    size_t count = 0;
    if (field->type == PROTOBUF_VARINT) {
        if (capacity > 0)
            numbers[0] = (int64_t)value;
        return 1;
    }
    if (field->type != PROTOBUF_BYTES)
        return fail(reader, "a field that should be whole numbers is not");
    for (; packed.left.size > 0 && take_varint(&packed, &value); count++)
        if (count < capacity)
            numbers[count] = (int64_t)value;
    count_work(reader, count / 8);
    return packed.fault ? (size_t)fail(reader, packed.fault) : count;
}

size_t wnn_protobuf_floats(struct protobuf *reader, const struct protobuf_field *field, size_t capacity,
                           float *numbers)
{
    if ((field->type != PROTOBUF_BYTES && field->type != PROTOBUF_32_BITS) || field->bytes.size % 4 != 0)
        return fail(reader, "a field that should be floats is not");
    size_t count = field->bytes.size / 4;
    count_work(reader, count / 8);
    for (size_t i = 0; i < count && i < capacity; i++)
        numbers[i] = float_of(little_endian((struct bytes){field->bytes.data + 4 * i, 4}));
    return count;
}
