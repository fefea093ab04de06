// SPDX-License-Identifier: Apache-2.0
#include "tools/model/flatbuffer.h"

#include "conformance/unit/flatbuffer_writer.h"

// Lies at the end of memory of its own, so that a sanitizer sees what reads behind it; and is not aligned.
struct buffer {
    unsigned char *memory;
    struct flatbuffer flatbuffer;
};

static struct buffer buffer_of(const unsigned char *bytes, size_t size)
{
    struct buffer buffer = {malloc(size + 1), {{NULL, 0}, NULL}};
    REQUIRE(buffer.memory);
    memcpy(buffer.memory + 1, bytes, size);
    buffer.flatbuffer.bytes = (struct bytes){buffer.memory + 1, size};
    return buffer;
}

// A number, one that is left out, bytes, numbers, tables, and a table.
static struct writer make(void)
{
    struct writer w = {.size = 8};
    memcpy(w.bytes + 4, "TEST", 4);
    size_t root = TABLE(&w, 0, -5, ABSENT, REFERENCE, REFERENCE, REFERENCE, REFERENCE, 0x3FC00000);
    put_data(&w, root + 8, "text", 4);
    VECTOR(&w, root + 12, 1, -2, 3);
    size_t items = put_vector(&w, root + 16, 2, NULL);
    TABLE(&w, items, 7);
    TABLE(&w, items + 4, 8, 9);
    TABLE(&w, root + 20, 10);
    return w;
}

static void read_all(void)
{
    struct writer w = make();
    struct buffer buffer = buffer_of(w.bytes, w.size);
    struct flatbuffer *f = &buffer.flatbuffer;
    struct flatbuffer_table root = wnn_flatbuffer_root(f);
    REQUIRE(wnn_flatbuffer_is(f->bytes, "TEST") && !wnn_flatbuffer_is(f->bytes, "TFL3"));
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&root, 0, FLATBUFFER_INT32, 1), -5);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&root, 0, FLATBUFFER_INT8, 1), -5);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&root, 0, FLATBUFFER_UINT8, 1), 251);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&root, 0, FLATBUFFER_INT16, 1), -5);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&root, 0, FLATBUFFER_UINT16, 1), 65531);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&root, 0, FLATBUFFER_UINT32, 1), 4294967291);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&root, 1, FLATBUFFER_INT32, 42), 42);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&root, 99, FLATBUFFER_INT32, 43), 43);
    REQUIRE(wnn_flatbuffer_has(&root, 0) && !wnn_flatbuffer_has(&root, 1) && !wnn_flatbuffer_has(&root, 99));
    REQUIRE(wnn_flatbuffer_float(&root, 6, 0) == 1.5f && wnn_flatbuffer_float(&root, 1, 2) == 2);
    struct bytes text = wnn_flatbuffer_bytes(&root, 2);
    REQUIRE(text.size == 4 && memcmp(text.data, "text", 4) == 0);
    REQUIRE(wnn_flatbuffer_bytes(&root, 1).size == 0);
    struct flatbuffer_vector numbers = wnn_flatbuffer_vector(&root, 3, 4);
    REQUIRE_EQUAL_INT(numbers.count, 3);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number_at(&numbers, FLATBUFFER_INT32, 1), -2);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number_at(&numbers, FLATBUFFER_INT32, 3), 0);
    struct flatbuffer_vector tables = wnn_flatbuffer_vector(&root, 4, 4);
    struct flatbuffer_table item = wnn_flatbuffer_item(&tables, 1);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&item, 1, FLATBUFFER_INT32, 0), 9);
    item = wnn_flatbuffer_item(&tables, 2);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&item, 0, FLATBUFFER_INT32, 6), 6);
    item = wnn_flatbuffer_table(&root, 5);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_number(&item, 0, FLATBUFFER_INT32, 0), 10);
    item = wnn_flatbuffer_table(&root, 1); // of a table that is left out everything is
    REQUIRE(item.at == 0 && wnn_flatbuffer_vector(&item, 0, 4).count == 0 && !f->fault);
    free(buffer.memory);
}

// Reads all that a buffer may hold, whatever it says.
static void read_any(struct flatbuffer *f)
{
    struct flatbuffer_table root = wnn_flatbuffer_root(f);
    int64_t sum = 0;
    for (unsigned i = 0; i < 8; i++) {
        struct flatbuffer_vector vector = wnn_flatbuffer_vector(&root, i, 4),
                                 longs = wnn_flatbuffer_vector(&root, i, 8);
        struct flatbuffer_table table = wnn_flatbuffer_table(&root, i),
                                item = wnn_flatbuffer_item(&vector, 0);
        struct bytes bytes = wnn_flatbuffer_bytes(&root, i);
        for (size_t k = 0; k < vector.count; k++)
            sum += wnn_flatbuffer_number_at(&vector, FLATBUFFER_INT32, k);
        for (size_t k = 0; k < longs.count; k++)
            sum ^= wnn_flatbuffer_number_at(&longs, FLATBUFFER_UINT64, k);
        for (size_t k = 0; k < bytes.size; k++)
            sum += bytes.data[k];
        sum += wnn_flatbuffer_number(&table, i, FLATBUFFER_INT16, 0) +
               wnn_flatbuffer_number(&item, i, FLATBUFFER_UINT8, 0);
        sum ^= wnn_flatbuffer_number(&root, i, FLATBUFFER_UINT64, 0);
        sum += wnn_flatbuffer_float(&root, i, 0) > 0;
    }
    REQUIRE(sum != 0x123456789ABCDEF0); // it is used
}

static void every_length(void)
{
    struct writer w = make();
    for (size_t size = 0; size < w.size; size++) {
        struct buffer buffer = buffer_of(w.bytes, size);
        read_any(&buffer.flatbuffer);
        REQUIRE(buffer.flatbuffer.fault);
        free(buffer.memory);
    }
}

static void every_byte(void)
{
    static const unsigned char values[] = {0, 1, 2, 4, 0x7F, 0x80, 0xFE, 0xFF};
    struct writer w = make();
    for (size_t i = 0; i < w.size; i++)
        for (size_t k = 0; k < sizeof values; k++) {
            struct buffer buffer = buffer_of(w.bytes, w.size);
            buffer.memory[1 + i] = values[k];
            read_any(&buffer.flatbuffer);
            free(buffer.memory);
        }
}

static void faults(void)
{
    struct writer w = make();
    size_t table = w.bytes[0];
    struct {
        size_t at;
        uint32_t word;
        const char *fault;
    } cases[] = {
        {0, 0, "the file is shorter than its beginning says"},
        {0, 0xFFFFFFF0, "the file is shorter than its beginning says"},
        {table, 0x7FFFFFFF, "a table is not in the file"},
        {table, 0x80000000, "a table is not in the file"},
        {table + 4 + 12, 0xFFFFFFFF, "a vector is not in the file"},
        {table + 4 + 20, 0, "a table is not in the file"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct writer broken = w;
        put_word(&broken, cases[i].at, cases[i].word);
        struct buffer buffer = buffer_of(broken.bytes, broken.size);
        struct flatbuffer_table root = wnn_flatbuffer_root(&buffer.flatbuffer);
        wnn_flatbuffer_vector(&root, 3, 4);
        wnn_flatbuffer_table(&root, 5);
        REQUIRE(buffer.flatbuffer.fault);
        REQUIRE_EQUAL_STR(buffer.flatbuffer.fault, cases[i].fault);
        free(buffer.memory);
    }
}

// As many items as there are bytes in the address space.
static void too_many(void)
{
    struct writer w = make();
    size_t slot = w.bytes[0] + 4u + 12, vector = slot + w.bytes[slot];
    put_word(&w, vector, 0xFFFFFFFF);
    struct buffer buffer = buffer_of(w.bytes, w.size);
    struct flatbuffer_table root = wnn_flatbuffer_root(&buffer.flatbuffer);
    REQUIRE_EQUAL_INT(wnn_flatbuffer_vector(&root, 3, 8).count, 0);
    REQUIRE_EQUAL_STR(buffer.flatbuffer.fault, "a vector is not in the file");
    free(buffer.memory);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(read_all());
    CASE(every_length());
    CASE(every_byte());
    CASE(faults());
    CASE(too_many());
    return cases_end();
}
