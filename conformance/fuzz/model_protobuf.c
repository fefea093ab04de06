// SPDX-License-Identifier: Apache-2.0
//
// The reader of protocol buffers alone. Bytes are read as messages within messages by all functions, and
// nothing may lead out of them; or fields are made of them, which have to be read as what was written.

#include "conformance/fuzz/fuzz.h"
#include "conformance/fuzz/wire.h"
#include "tools/model/protobuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH   12
#define MAX_NUMBERS 40

unsigned long fuzz_built;

static volatile unsigned sink; // of what is looked at

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static bool is_within(struct bytes inner, struct bytes outer)
{
    return inner.size == 0 || (inner.data >= outer.data && inner.size <= outer.size &&
                               (size_t)(inner.data - outer.data) <= outer.size - inner.size);
}

// ---------------------------------------------------------------------------------------------------------------
// Any bytes
// ---------------------------------------------------------------------------------------------------------------

// As many numbers whatever the capacity is, and none is written behind it.
static void read_numbers(const struct protobuf_field *field)
{
    enum {
        CAPACITY = 3
    };
    size_t counts[CAPACITY + 1], real_counts[CAPACITY + 1];
    for (size_t capacity = 0; capacity <= CAPACITY; capacity++) {
        int64_t *numbers = malloc(capacity * sizeof *numbers + 1);
        float *reals = malloc(capacity * sizeof *reals + 1);
        struct protobuf reader = {0}, real_reader = {0};
        require(numbers && reals, "no memory");
        counts[capacity] = wnn_protobuf_numbers(&reader, field, capacity, numbers);
        real_counts[capacity] = wnn_protobuf_floats(&real_reader, field, capacity, reals);
        for (size_t i = 0; i < capacity && i < counts[capacity]; i++)
            sink = (unsigned)numbers[i];
        for (size_t i = 0; i < capacity && i < real_counts[capacity]; i++)
            sink = reals[i] > 0;
        require(counts[capacity] == counts[0] && real_counts[capacity] == real_counts[0],
                "a number of numbers that depends on the capacity");
        require(counts[capacity] == 0 || !reader.fault, "numbers of a faulty field");
        require(real_counts[capacity] == 0 || !real_reader.fault, "floats of a faulty field");
        require(counts[capacity] <= field->bytes.size + 1 && real_counts[capacity] <= field->bytes.size / 4,
                "more numbers than fit");
        free(numbers);
        free(reals);
    }
}

// What a field is not is a fault.
static void read_field(const struct protobuf_field *field)
{
    struct protobuf number = {0}, real = {0}, bytes = {0};
    sink = (unsigned)wnn_protobuf_number(&number, field);
    sink = wnn_protobuf_float(&real, field) > 0;
    struct bytes inner = wnn_protobuf_bytes(&bytes, field);
    require(!number.fault == (field->type == PROTOBUF_VARINT), "a number that is none");
    require(!real.fault == (field->type == PROTOBUF_32_BITS), "a float that is none");
    require(!bytes.fault == (field->type == PROTOBUF_BYTES), "bytes that are none");
    require(bytes.fault ? inner.size == 0 : inner.size == field->bytes.size, "other bytes");
    for (size_t i = 0; i < inner.size; i++)
        sink = inner.data[i];
    read_numbers(field);
}

// False: it is malformed.
static bool read_message(struct bytes message, unsigned depth)
{
    struct protobuf reader = {.left = message};
    struct protobuf_field field;
    while (wnn_protobuf_next(&reader, &field)) {
        require(field.number >= 1 && field.number <= 0x1FFFFFFF, "a number that there cannot be");
        require(is_within(field.bytes, message) && is_within(reader.left, message),
                "bytes that are not of the message");
        require(field.bytes.size + reader.left.size < message.size, "a field without a tag");
        read_field(&field);
        if (field.type == PROTOBUF_BYTES && depth < MAX_DEPTH)
            read_message(field.bytes, depth + 1);
    }
    require(reader.left.size == 0, "bytes that are left");
    const char *fault = reader.fault;
    require(!wnn_protobuf_next(&reader, &field) && reader.fault == fault, "a field after the end");
    return !fault;
}

static void read_any(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1); // no longer than it is, so that what leaves it is noticed
    require(copy != NULL, "no memory");
    if (size)
        memcpy(copy, data, size);
    fuzz_built += read_message((struct bytes){copy, size}, 0);
    free(copy);
}

// ---------------------------------------------------------------------------------------------------------------
// Fields that are known
// ---------------------------------------------------------------------------------------------------------------

static uint64_t take_number(struct edits *edits)
{
    uint64_t number = take(edits);
    for (unsigned more = take(edits) % 8; more > 0; more--)
        number = number << 8 | take(edits);
    return number;
}

static void make_field(struct wire_pool *pool, struct wire_message *message, struct edits *edits)
{
    int64_t numbers[MAX_NUMBERS];
    uint32_t number = 1 + (uint32_t)take_number(edits) % 0x1FFFFFFF;
    unsigned kind = take(edits) % 5;
    size_t count = take(edits) % MAX_NUMBERS;
    if (kind == 4) {
        for (size_t i = 0; i < count; i++)
            numbers[i] = (int64_t)take_number(edits);
        wire_add_numbers(pool, message, number, count, numbers, true);
    } else if (kind == 3) {
        count = count < edits->length ? count : edits->length;
        wire_add_bytes(pool, message, number, edits->bytes, count);
    } else {
        static const enum wire_form forms[] = {WIRE_NUMBER, WIRE_64_BITS, WIRE_32_BITS};
        uint64_t value = take_number(edits);
        *wire_insert(pool, message, message->count) = (struct wire_field){
            .number = number, .form = forms[kind], .value = kind == 2 ? (uint32_t)value : value};
    }
}

static void require_field(const struct wire_field *made, const struct protobuf_field *field)
{
    struct protobuf reader = {0};
    int64_t expected[MAX_NUMBERS], numbers[MAX_NUMBERS];
    require(field->number == made->number && (int)field->type == (int)made->form, "another field");
    if (made->form != WIRE_BYTES) {
        require(field->value == made->value, "another number");
        return;
    }
    require(field->bytes.size == made->size, "another length");
    require(made->size == 0 || memcmp(field->bytes.data, made->data, made->size) == 0, "other bytes");
    size_t count = wire_unpack(made->data, made->size, MAX_NUMBERS, expected);
    size_t found = wnn_protobuf_numbers(&reader, field, MAX_NUMBERS, numbers);
    for (size_t i = 0; !reader.fault && i < found && i < MAX_NUMBERS; i++)
        require(i < count && numbers[i] == expected[i], "other numbers");
}

static void read_known(const uint8_t *data, size_t size)
{
    struct wire_pool pool = {0};
    struct edits edits = {data, size};
    struct wire_message *message = wire_make(&pool, NULL);
    while (edits.length > 0)
        make_field(&pool, message, &edits);
    struct contents contents = wire_write(message);
    if (contents.data) {
        struct protobuf reader = {.left = {(const unsigned char *)contents.data, contents.size}};
        struct protobuf_field field;
        size_t count = 0;
        for (; wnn_protobuf_next(&reader, &field); count++) {
            require(count < message->count, "a field more");
            require_field(&message->fields[count], &field);
        }
        require(!reader.fault && count == message->count, "a good message is refused");
        fuzz_built++;
    }
    free(contents.data);
    wire_free(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] % 4 == 0)
        read_known(data + 1, size - 1);
    else if (size > 0)
        read_any(data + 1, size - 1);
    return 0;
}
