// SPDX-License-Identifier: Apache-2.0
//
// The reader of flatbuffers alone. A buffer is made of the bytes, which has to be read as what was written;
// or such a buffer is spoilt, or the bytes are one as they are, and nothing may lead out of it.

#include "conformance/fuzz/edit.h"
#include "conformance/fuzz/fuzz.h"
#include "tools/model/flatbuffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH  4
#define MAX_FIELDS 6
#define MAX_ITEMS  6
#define MAX_TABLES 400  // of one buffer, each of which may be within many others
#define MAX_BYTES  8192 // of one that is made

unsigned long fuzz_built;

static volatile unsigned sink; // of what is looked at

static const unsigned char sizes[] = {1, 1, 2, 2, 4, 4, 8, 8}; // of enum flatbuffer_type

static void require(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

// ---------------------------------------------------------------------------------------------------------------
// Any bytes
// ---------------------------------------------------------------------------------------------------------------

static void require_within(const struct flatbuffer *buffer, size_t at, size_t size)
{
    require(at <= buffer->bytes.size && size <= buffer->bytes.size - at, "bytes that are not of the buffer");
}

static void read_items(const struct flatbuffer_vector *vector, unsigned item_bytes)
{
    struct flatbuffer *buffer = vector->buffer;
    const char *fault = buffer->fault;
    if (vector->count)
        require_within(buffer, vector->at, vector->count * item_bytes);
    for (int type = 0; type < 8; type++) {
        if (sizes[type] != item_bytes)
            continue;
        if (vector->count)
            sink = (unsigned)wnn_flatbuffer_number_at(vector, type, vector->count - 1);
        require(wnn_flatbuffer_number_at(vector, type, vector->count) == 0, "a number behind the last");
    }
    if (item_bytes == 4)
        require(wnn_flatbuffer_float_at(vector, SIZE_MAX / 8) == 0, "a float behind the last");
    require(buffer->fault == fault, "numbers of a good vector are a fault");
}

static void read_any_table(const struct flatbuffer_table *table, unsigned depth, unsigned *left);

static void read_field(const struct flatbuffer_table *table, unsigned field, unsigned depth, unsigned *left)
{
    struct flatbuffer *buffer = table->buffer;
    const char *fault = buffer->fault;
    bool has = wnn_flatbuffer_has(table, field);
    for (int type = 0; type < 8; type++) {
        int64_t number = wnn_flatbuffer_number(table, field, type, 77);
        require(has || number == 77, "a number of a field that is left out");
    }
    require(has || wnn_flatbuffer_float(table, field, 7) == 7, "a float of a field that is left out");
    struct bytes bytes = wnn_flatbuffer_bytes(table, field);
    for (size_t i = 0; i < bytes.size; i++)
        sink = bytes.data[i];
    for (unsigned size = 1; size <= 8; size *= 2) {
        struct flatbuffer_vector vector = wnn_flatbuffer_vector(table, field, size);
        require(has || vector.count == 0, "items of a field that is left out");
        read_items(&vector, size);
    }
    struct flatbuffer_table inner = wnn_flatbuffer_table(table, field);
    require(has || inner.at == 0, "a table of a field that is left out");
    require(inner.at == 0 || inner.at > table->at, "a table that is not behind the one that it is in");
    read_any_table(&inner, depth + 1, left);
    struct flatbuffer_vector tables = wnn_flatbuffer_vector(table, field, 4);
    for (size_t i = 0; i < tables.count && i < MAX_ITEMS; i++) {
        inner = wnn_flatbuffer_item(&tables, i);
        read_any_table(&inner, depth + 1, left);
    }
    require(wnn_flatbuffer_item(&tables, tables.count).at == 0, "a table behind the last");
    require(!fault || buffer->fault == fault, "another fault than the first one");
}

static void read_any_table(const struct flatbuffer_table *table, unsigned depth, unsigned *left)
{
    if (table->at == 0)
        require(!wnn_flatbuffer_has(table, 0), "a field of a table that is left out");
    else
        require_within(table->buffer, table->at, 4);
    if (table->at == 0 || depth > MAX_DEPTH || *left == 0)
        return;
    --*left;
    for (size_t i = 0; i <= table->count && i < MAX_FIELDS; i++)
        read_field(table, (unsigned)i, depth, left);
    require(!wnn_flatbuffer_has(table, (unsigned)table->count), "a field more than there are");
}

// No longer than it is, so that what leaves it is noticed.
static void read_any(const void *data, size_t size)
{
    unsigned left = MAX_TABLES;
    uint8_t *copy = malloc(size ? size : 1);
    require(copy != NULL, "no memory");
    if (size)
        memcpy(copy, data, size);
    struct flatbuffer buffer = {{copy, size}, NULL};
    sink = wnn_flatbuffer_is(buffer.bytes, "TFL3");
    struct flatbuffer_table root = wnn_flatbuffer_root(&buffer);
    read_any_table(&root, 0, &left);
    free(copy);
}

// ---------------------------------------------------------------------------------------------------------------
// Tables that are known. What is written and what is expected are made of the same bytes, in one order.
// ---------------------------------------------------------------------------------------------------------------

struct writer {
    unsigned char bytes[MAX_BYTES];
    size_t size;
    bool full;
};

enum kind {
    ABSENT,
    NUMBER,
    REAL,
    BYTES,
    NUMBERS,
    TABLE,
    TABLES,
    KINDS
};

struct field {
    enum kind kind;
    int type; // enum flatbuffer_type, of numbers
};

struct outline {
    struct field fields[MAX_FIELDS];
    unsigned count, gap;
    bool behind; // the vtable
};

static struct outline take_outline(struct edits *edits, unsigned depth)
{
    struct outline outline = {.count = take(edits) % (MAX_FIELDS + 1)};
    unsigned form = take(edits);
    outline.behind = form & 1;
    outline.gap = form >> 1 & 7; // so that nothing is aligned
    for (unsigned i = 0; i < outline.count; i++) {
        unsigned kind = take(edits), kinds = depth < MAX_DEPTH ? KINDS : TABLE;
        outline.fields[i] = (struct field){(enum kind)(kind % kinds), (int)(kind / kinds % 8)};
    }
    return outline;
}

static uint64_t take_bits(struct edits *edits, unsigned size)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < size; i++)
        bits = bits << 8 | take(edits);
    return bits;
}

// What those bits are as a number of a type.
static int64_t number_of(uint64_t bits, int type)
{
    unsigned unused = 64 - 8 * sizes[type];
    bits <<= unused;
    return type % 2 == 0 ? (int64_t)bits >> unused : (int64_t)(bits >> unused);
}

static size_t reserve(struct writer *w, size_t size)
{
    size_t at = w->size;
    if (size > MAX_BYTES - w->size) {
        w->full = true;
        return 0;
    }
    memset(w->bytes + at, 0, size);
    w->size += size;
    return at;
}

static void put(struct writer *w, size_t at, uint64_t bits, unsigned size)
{
    for (unsigned i = 0; i < size && !w->full; i++)
        w->bytes[at + i] = (unsigned char)(bits >> 8 * i);
}

// Lets the offset at `at` lead to the end of what there is.
static void refer(struct writer *w, size_t at)
{
    put(w, at, w->size - at, 4);
}

static unsigned bytes_of(const struct field *field)
{
    return field->kind == ABSENT ? 0 : field->kind == NUMBER ? sizes[field->type] : 4;
}

static void put_table(struct writer *w, size_t from, struct edits *edits, unsigned depth);

static void put_field(struct writer *w, size_t at, const struct field *field, struct edits *edits,
                      unsigned depth)
{
    unsigned size = sizes[field->type];
    if (field->kind == ABSENT || w->full)
        return;
    if (field->kind == NUMBER || field->kind == REAL) {
        put(w, at, take_bits(edits, bytes_of(field)), bytes_of(field));
    } else if (field->kind == TABLE) {
        put_table(w, at, edits, depth + 1);
    } else {
        size_t count = take(edits) % MAX_ITEMS;
        size = field->kind == BYTES ? 1 : field->kind == TABLES ? 4 : size;
        refer(w, at);
        at = reserve(w, 4 + count * size);
        put(w, at, count, 4);
        for (size_t i = 0; i < count && !w->full; i++)
            if (field->kind == TABLES)
                put_table(w, at + 4 + 4 * i, edits, depth + 1);
            else
                put(w, at + 4 + size * i, take_bits(edits, size), size);
    }
}

// Writes a table, and the offset at `from` that leads to it.
static void put_table(struct writer *w, size_t from, struct edits *edits, unsigned depth)
{
    struct outline outline = take_outline(edits, depth);
    size_t offsets[MAX_FIELDS], size = 4, head = 4 + 2 * (size_t)outline.count;
    for (unsigned i = 0; i < outline.count; i++) {
        offsets[i] = size;
        size += bytes_of(&outline.fields[i]);
    }
    reserve(w, outline.gap);
    size_t vtable = outline.behind ? 0 : reserve(w, head);
    refer(w, from);
    size_t at = reserve(w, size);
    vtable = outline.behind ? reserve(w, head) : vtable;
    put(w, at, (uint64_t)at - vtable, 4);
    put(w, vtable, head, 2);
    put(w, vtable + 2, size, 2);
    for (unsigned i = 0; i < outline.count; i++)
        if (outline.fields[i].kind != ABSENT)
            put(w, vtable + 4 + 2 * (size_t)i, offsets[i], 2);
    for (unsigned i = 0; i < outline.count && !w->full; i++)
        put_field(w, at + offsets[i], &outline.fields[i], edits, depth);
}

static void require_table(const struct flatbuffer_table *table, struct edits *edits, unsigned depth);

static void require_items(const struct flatbuffer_table *table, unsigned index, const struct field *field,
                          struct edits *edits, unsigned depth)
{
    unsigned size = field->kind == BYTES ? 1 : field->kind == TABLES ? 4 : sizes[field->type];
    size_t count = take(edits) % MAX_ITEMS;
    struct flatbuffer_vector vector = wnn_flatbuffer_vector(table, index, size);
    struct bytes bytes = wnn_flatbuffer_bytes(table, index);
    require(vector.count == count, "another number of items");
    require(field->kind != BYTES || bytes.size == count, "another number of bytes");
    for (size_t i = 0; i < count; i++) {
        if (field->kind == TABLES) {
            struct flatbuffer_table inner = wnn_flatbuffer_item(&vector, i);
            require_table(&inner, edits, depth + 1);
            continue;
        }
        uint64_t bits = take_bits(edits, size);
        if (field->kind == BYTES)
            require(bytes.data[i] == bits, "another byte");
        else
            require(wnn_flatbuffer_number_at(&vector, (enum flatbuffer_type)field->type, i) ==
                        number_of(bits, field->type),
                    "another item");
    }
}

static void require_field(const struct flatbuffer_table *table, unsigned index, const struct field *field,
                          struct edits *edits, unsigned depth)
{
    require(wnn_flatbuffer_has(table, index) == (field->kind != ABSENT), "a field that is there, or not");
    if (field->kind == NUMBER) {
        int64_t expected = number_of(take_bits(edits, bytes_of(field)), field->type);
        require(wnn_flatbuffer_number(table, index, (enum flatbuffer_type)field->type, ~expected) == expected,
                "another number");
    } else if (field->kind == REAL) {
        uint32_t bits = (uint32_t)take_bits(edits, 4), read;
        float number = wnn_flatbuffer_float(table, index, 0);
        memcpy(&read, &number, sizeof read);
        require(read == bits || number != number, "another float");
    } else if (field->kind == TABLE) {
        struct flatbuffer_table inner = wnn_flatbuffer_table(table, index);
        require_table(&inner, edits, depth + 1);
    } else if (field->kind != ABSENT) {
        require_items(table, index, field, edits, depth);
    }
}

static void require_table(const struct flatbuffer_table *table, struct edits *edits, unsigned depth)
{
    struct outline outline = take_outline(edits, depth);
    require(table->at != 0 && table->count == outline.count, "another number of fields");
    for (unsigned i = 0; i < outline.count; i++)
        require_field(table, i, &outline.fields[i], edits, depth);
}

static bool make(struct writer *w, struct edits edits)
{
    w->size = 0;
    w->full = false;
    reserve(w, 8);
    memcpy(w->bytes + 4, "TEST", 4);
    put_table(w, 0, &edits, 0);
    return !w->full;
}

static void read_known(struct edits edits)
{
    static struct writer w;
    if (!make(&w, edits))
        return;
    struct flatbuffer buffer = {{w.bytes, w.size}, NULL};
    require(wnn_flatbuffer_is(buffer.bytes, "TEST"), "another identifier");
    struct flatbuffer_table root = wnn_flatbuffer_root(&buffer);
    require_table(&root, &edits, 0);
    require(!buffer.fault, "a good buffer is refused");
    fuzz_built++;
    read_any(w.bytes, w.size);
}

static void read_spoilt(struct edits edits)
{
    static struct writer w;
    struct edits mistakes = {edits.bytes, edits.length / 4};
    struct edits rest = {edits.bytes + mistakes.length, edits.length - mistakes.length};
    if (!make(&w, rest))
        return;
    struct contents contents = {malloc(w.size + 1), w.size};
    require(contents.data != NULL, "no memory");
    memcpy(contents.data, w.bytes, w.size);
    contents.data[w.size] = 0;
    do
        spoil(&contents, &mistakes);
    while (mistakes.length > 0);
    read_any(contents.data, contents.size);
    free(contents.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct edits edits = {data + 1, size - 1};
    if (data[0] % 4 == 0)
        read_any(edits.bytes, edits.length);
    else if (data[0] % 4 == 1)
        read_known(edits);
    else
        read_spoilt(edits);
    return 0;
}
