// SPDX-License-Identifier: Apache-2.0
#include "conformance/fuzz/wire.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK     65536 // bytes that are allocated at once
#define MAX_DEPTH 80

struct wire_block {
    struct wire_block *before;
    max_align_t bytes[];
};

void *wire_allocate(struct wire_pool *pool, size_t size)
{
    size = (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    if (size > pool->left) {
        size_t bytes = size > BLOCK ? size : BLOCK;
        struct wire_block *block = calloc(1, sizeof *block + bytes);
        if (!block)
            abort();
        block->before = pool->last;
        pool->last = block;
        pool->left = bytes;
    }
    pool->left -= size;
    return (char *)pool->last->bytes + pool->left;
}

void wire_free(struct wire_pool *pool)
{
    for (struct wire_block *block = pool->last, *before; block; block = before) {
        before = block->before;
        free(block);
    }
    *pool = (struct wire_pool){0};
}

static const char *copy_bytes(struct wire_pool *pool, const void *data, size_t size)
{
    char *copy = wire_allocate(pool, size ? size : 1);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

// ---------------------------------------------------------------------------------------------------------------
// Fields
// ---------------------------------------------------------------------------------------------------------------

struct wire_rule wire_rule_of(const struct wire_message *message, uint32_t number)
{
    const size_t count = sizeof message->kind->rules / sizeof message->kind->rules[0];
    for (size_t i = 0; message->kind && i < count; i++)
        if (message->kind->rules[i].number == number && number)
            return message->kind->rules[i];
    return (struct wire_rule){number, WIRE_OPAQUE, NULL};
}

struct wire_field *wire_find(const struct wire_message *message, uint32_t number)
{
    for (size_t i = 0; message && i < message->count; i++)
        if (message->fields[i].number == number)
            return &message->fields[i];
    return NULL;
}

struct wire_message *wire_make(struct wire_pool *pool, const struct wire_kind *kind)
{
    struct wire_message *message = wire_allocate(pool, sizeof *message);
    *message = (struct wire_message){.kind = kind};
    return message;
}

struct wire_field *wire_insert(struct wire_pool *pool, struct wire_message *message, size_t at)
{
    if (message->count == message->capacity) {
        size_t capacity = message->capacity ? message->capacity * 2 : 4;
        struct wire_field *fields = wire_allocate(pool, capacity * sizeof *fields);
        if (message->count)
            memcpy(fields, message->fields, message->count * sizeof *fields);
        message->fields = fields;
        message->capacity = capacity;
    }
    memmove(message->fields + at + 1, message->fields + at, (message->count - at) * sizeof *message->fields);
    message->count++;
    message->fields[at] = (struct wire_field){0};
    return &message->fields[at];
}

void wire_remove(struct wire_message *message, size_t at)
{
    message->count--;
    memmove(message->fields + at, message->fields + at + 1, (message->count - at) * sizeof *message->fields);
}

static struct wire_field *add(struct wire_pool *pool, struct wire_message *message, uint32_t number,
                              enum wire_form form)
{
    struct wire_field *field = wire_insert(pool, message, message->count);
    field->number = number;
    field->form = form;
    return field;
}

void wire_add_number(struct wire_pool *pool, struct wire_message *message, uint32_t number, uint64_t value)
{
    add(pool, message, number, WIRE_NUMBER)->value = value;
}

void wire_add_float(struct wire_pool *pool, struct wire_message *message, uint32_t number, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    add(pool, message, number, WIRE_32_BITS)->value = bits;
}

void wire_add_bytes(struct wire_pool *pool, struct wire_message *message, uint32_t number, const void *data,
                    size_t size)
{
    struct wire_field *field = add(pool, message, number, WIRE_BYTES);
    field->data = copy_bytes(pool, data, size);
    field->size = size;
}

void wire_add_text(struct wire_pool *pool, struct wire_message *message, uint32_t number, const char *text)
{
    wire_add_bytes(pool, message, number, text, strlen(text));
}

struct wire_message *wire_add_message(struct wire_pool *pool, struct wire_message *message, uint32_t number,
                                      const struct wire_kind *kind)
{
    return add(pool, message, number, WIRE_MESSAGE)->message = wire_make(pool, kind);
}

// ---------------------------------------------------------------------------------------------------------------
// Varints
// ---------------------------------------------------------------------------------------------------------------

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 128; value >>= 7)
        size++;
    return size;
}

static char *put_varint(char *to, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        *to++ = (char)(value | 128);
    *to++ = (char)value;
    return to;
}

static bool take_varint(const char **data, size_t *size, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < 10 && *size > 0; i++) {
        unsigned char byte = (unsigned char)**data;
        ++*data;
        --*size;
        *value |= (uint64_t)(byte & 127) << 7 * i;
        if (byte < 128)
            return i < 9 || byte < 2;
    }
    return false;
}

size_t wire_unpack(const char *data, size_t size, size_t capacity, int64_t *numbers)
{
    size_t count = 0;
    uint64_t value;
    while (count < capacity && size > 0 && take_varint(&data, &size, &value))
        numbers[count++] = (int64_t)value;
    return count;
}

const char *wire_pack(struct wire_pool *pool, size_t count, const int64_t *numbers, size_t *size)
{
    char *data = wire_allocate(pool, count * 10 + 1), *to = data;
    for (size_t i = 0; i < count; i++)
        to = put_varint(to, (uint64_t)numbers[i]);
    *size = (size_t)(to - data);
    return data;
}

void wire_add_numbers(struct wire_pool *pool, struct wire_message *message, uint32_t number, size_t count,
                      const int64_t *numbers, bool packed)
{
    for (size_t i = 0; !packed && i < count; i++)
        wire_add_number(pool, message, number, (uint64_t)numbers[i]);
    if (!packed)
        return;
    struct wire_field *field = add(pool, message, number, WIRE_BYTES);
    field->data = wire_pack(pool, count, numbers, &field->size);
}

// ---------------------------------------------------------------------------------------------------------------
// Parsing
// ---------------------------------------------------------------------------------------------------------------

static uint64_t little_endian(const char *data, size_t size)
{
    uint64_t value = 0;
    while (size-- > 0)
        value = value << 8 | (unsigned char)data[size];
    return value;
}

static struct wire_message *parse(struct wire_pool *pool, const struct wire_kind *kind, const char *data,
                                  size_t size, unsigned depth);

static bool parse_field(struct wire_pool *pool, struct wire_message *message, const char **data, size_t *size,
                        unsigned depth)
{
    uint64_t tag, length;
    if (!take_varint(data, size, &tag) || tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF)
        return false;
    struct wire_field field = {.number = (uint32_t)(tag >> 3), .form = (enum wire_form)(tag & 7)};
    switch (tag & 7) {
    case WIRE_NUMBER:
        if (!take_varint(data, size, &field.value))
            return false;
        length = 0;
        break;
    case WIRE_64_BITS:
    case WIRE_32_BITS:
        length = field.form == WIRE_64_BITS ? 8 : 4;
        if (length > *size)
            return false;
        field.value = little_endian(*data, (size_t)length);
        break;
    case WIRE_BYTES:
        if (!take_varint(data, size, &length) || length > *size)
            return false;
        break;
    default:
        return false;
    }
    const struct wire_rule rule = wire_rule_of(message, field.number);
    if (field.form == WIRE_BYTES && rule.leaf == WIRE_INNER)
        field.message = parse(pool, rule.inner, *data, (size_t)length, depth + 1);
    if (field.message) {
        field.form = WIRE_MESSAGE;
    } else if (field.form == WIRE_BYTES) {
        field.data = copy_bytes(pool, *data, (size_t)length);
        field.size = (size_t)length;
    }
    *wire_insert(pool, message, message->count) = field;
    *data += length;
    *size -= (size_t)length;
    return true;
}

static struct wire_message *parse(struct wire_pool *pool, const struct wire_kind *kind, const char *data,
                                  size_t size, unsigned depth)
{
    if (depth > MAX_DEPTH)
        return NULL;
    struct wire_message *message = wire_make(pool, kind);
    while (size > 0)
        if (!parse_field(pool, message, &data, &size, depth))
            return NULL;
    return message;
}

struct wire_message *wire_parse(struct wire_pool *pool, const struct wire_kind *kind, const char *data,
                                size_t size)
{
    return parse(pool, kind, data, size, 0);
}

static struct wire_message *copy(struct wire_pool *pool, const struct wire_message *from, size_t *left)
{
    if (from->count > *left)
        return NULL;
    *left -= from->count;
    struct wire_message *to = wire_make(pool, from->kind);
    for (size_t i = 0; i < from->count; i++) {
        struct wire_field field = from->fields[i];
        if (field.message && !(field.message = copy(pool, field.message, left)))
            return NULL;
        *wire_insert(pool, to, i) = field;
    }
    return to;
}

struct wire_message *wire_copy(struct wire_pool *pool, const struct wire_message *message, size_t limit)
{
    return copy(pool, message, &limit);
}

// ---------------------------------------------------------------------------------------------------------------
// Writing
// ---------------------------------------------------------------------------------------------------------------

static uint64_t tag_of(const struct wire_field *field)
{
    unsigned form = field->form == WIRE_MESSAGE ? WIRE_BYTES : field->form;
    return (uint64_t)field->number << 3 | form;
}

static size_t field_size(const struct wire_field *field)
{
    size_t inner = field->form == WIRE_MESSAGE ? wire_size(field->message) : field->size;
    size_t size = varint_size(tag_of(field));
    if (field->form == WIRE_NUMBER)
        return size + varint_size(field->value);
    if (field->form == WIRE_64_BITS || field->form == WIRE_32_BITS)
        return size + (field->form == WIRE_64_BITS ? 8 : 4);
    return size + varint_size(inner) + inner;
}

size_t wire_size(const struct wire_message *message)
{
    size_t size = 0;
    for (size_t i = 0; i < message->count && size <= MAX_EDITED; i++)
        size += field_size(&message->fields[i]);
    return size;
}

static char *write_message(char *to, const struct wire_message *message)
{
    for (size_t i = 0; i < message->count; i++) {
        const struct wire_field *field = &message->fields[i];
        to = put_varint(to, tag_of(field));
        switch (field->form) {
        case WIRE_NUMBER:
            to = put_varint(to, field->value);
            break;
        case WIRE_64_BITS:
        case WIRE_32_BITS:
            for (unsigned k = 0; k < (field->form == WIRE_64_BITS ? 8 : 4); k++)
                *to++ = (char)(field->value >> 8 * k);
            break;
        case WIRE_BYTES:
            to = put_varint(to, field->size);
            if (field->size)
                memcpy(to, field->data, field->size);
            to += field->size;
            break;
        case WIRE_MESSAGE:
            to = put_varint(to, wire_size(field->message));
            to = write_message(to, field->message);
            break;
        }
    }
    return to;
}

struct contents wire_write(const struct wire_message *message)
{
    size_t size = wire_size(message);
    if (size > MAX_EDITED)
        return (struct contents){NULL, 0};
    struct contents bytes = {malloc(size + 1), size};
    if (!bytes.data || write_message(bytes.data, message) != bytes.data + size)
        abort();
    bytes.data[size] = '\0';
    return bytes;
}
