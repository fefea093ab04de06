// SPDX-License-Identifier: Apache-2.0
#include "conformance/unit/require.h"
#include "tools/model/protobuf.h"

// Each message lies at the end of memory of its own, so that a sanitizer sees what reads behind it.
static struct protobuf reader_of(const char *text, size_t size)
{
    unsigned char *data = malloc(size ? size : 1);
    REQUIRE(data);
    memcpy(data, text, size);
    return (struct protobuf){.left = {data, size}};
}

#define READER(text) reader_of(text, sizeof text - 1)

static void test_fields(void)
{
    struct protobuf reader = READER("\x08\x96\x01"                                   // 1: 150
                                    "\x12\x07testing"                                // 2: text
                                    "\x1D\x00\x00\x80\x3F"                           // 3: 1.0f
                                    "\x21\x01\x02\x03\x04\x05\x06\x07\x88"           // 4: 64 bits
                                    "\xF8\xFF\xFF\xFF\x0F\x00"                       // 2^29 - 1: 0
                                    "\x28\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"); // 5: -1
    void *memory = (void *)(uintptr_t)reader.left.data;
    struct protobuf_field field;
    REQUIRE(wnn_protobuf_next(&reader, &field) && field.number == 1);
    REQUIRE(wnn_protobuf_number(&reader, &field) == 150);
    REQUIRE(wnn_protobuf_next(&reader, &field) && field.number == 2);
    struct bytes text = wnn_protobuf_bytes(&reader, &field);
    REQUIRE(text.size == 7 && memcmp(text.data, "testing", 7) == 0);
    REQUIRE(wnn_protobuf_next(&reader, &field) && field.number == 3);
    REQUIRE(wnn_protobuf_float(&reader, &field) == 1);
    REQUIRE(wnn_protobuf_next(&reader, &field) && field.number == 4);
    REQUIRE(field.type == PROTOBUF_64_BITS && field.value == 0x8807060504030201u);
    REQUIRE(wnn_protobuf_next(&reader, &field) && field.number == 0x1FFFFFFF && field.value == 0);
    REQUIRE(wnn_protobuf_next(&reader, &field) && field.number == 5);
    REQUIRE((int64_t)wnn_protobuf_number(&reader, &field) == -1);
    REQUIRE(!wnn_protobuf_next(&reader, &field) && !reader.fault);
    free(memory);
}

static void test_repeated(void)
{
    struct protobuf reader = READER("\x0A\x04\x01\xAC\x02\x03"                 // 1: 1, 300, 3
                                    "\x08\x05"                                 // 1: 5
                                    "\x12\x08\x00\x00\x80\x3F\x00\x00\x00\xC0" // 2: 1, -2
                                    "\x0A\x00");                               // 1: nothing
    void *memory = (void *)(uintptr_t)reader.left.data;
    struct protobuf_field field;
    int64_t numbers[2] = {0, 7};
    float floats[2];
    REQUIRE(wnn_protobuf_next(&reader, &field));
    REQUIRE(wnn_protobuf_numbers(&reader, &field, 1, numbers) == 3 && numbers[0] == 1 && numbers[1] == 7);
    REQUIRE(wnn_protobuf_numbers(&reader, &field, 2, numbers) == 3 && numbers[1] == 300);
    REQUIRE(wnn_protobuf_numbers(&reader, &field, 0, NULL) == 3);
    REQUIRE(wnn_protobuf_next(&reader, &field));
    REQUIRE(wnn_protobuf_numbers(&reader, &field, 2, numbers) == 1 && numbers[0] == 5);
    REQUIRE(wnn_protobuf_next(&reader, &field));
    REQUIRE(wnn_protobuf_floats(&reader, &field, 2, floats) == 2 && floats[0] == 1 && floats[1] == -2);
    REQUIRE(wnn_protobuf_next(&reader, &field));
    REQUIRE(wnn_protobuf_numbers(&reader, &field, 2, numbers) == 0 && !reader.fault);
    REQUIRE(!wnn_protobuf_next(&reader, &field) && !reader.fault);
    free(memory);
}

// Nothing of it can be read, and nothing after it.
static void test_malformed(const char *text, size_t size)
{
    struct protobuf reader = reader_of(text, size);
    void *memory = (void *)(uintptr_t)reader.left.data;
    struct protobuf_field field;
    REQUIRE(!wnn_protobuf_next(&reader, &field));
    REQUIRE(reader.fault);
    REQUIRE(!wnn_protobuf_next(&reader, &field));
    free(memory);
}

static void test_types(void)
{
    struct protobuf_field number = {.number = 1, .type = PROTOBUF_VARINT},
                          bytes = {.number = 1, .type = PROTOBUF_BYTES, .bytes = {(const void *)"\xFF", 1}};
    struct protobuf reader = {0};
    REQUIRE(wnn_protobuf_bytes(&reader, &number).size == 0 && reader.fault);
    reader = (struct protobuf){0};
    REQUIRE(wnn_protobuf_float(&reader, &number) == 0 && reader.fault);
    reader = (struct protobuf){0};
    REQUIRE(wnn_protobuf_number(&reader, &bytes) == 0 && reader.fault);
    reader = (struct protobuf){0};
    REQUIRE(wnn_protobuf_numbers(&reader, &bytes, 0, NULL) == 0 && reader.fault);
    reader = (struct protobuf){0};
    REQUIRE(wnn_protobuf_floats(&reader, &bytes, 0, NULL) == 0 && reader.fault);
}

// Whatever the bytes are, reading ends, and does not leave the message.
static void test_random(void)
{
    uint32_t state = 1;
    for (int round = 0; round < 20000; round++) {
        unsigned char text[24];
        size_t size = (size_t)round % (sizeof text + 1);
        for (size_t i = 0; i < size; i++) {
            state = state * 1664525 + 1013904223;
            text[i] = (unsigned char)(state >> 24 & (round % 3 ? 0xFF : 0x1F));
        }
        struct protobuf reader = reader_of((const char *)text, size);
        void *memory = (void *)(uintptr_t)reader.left.data;
        size_t fields = 0;
        int64_t numbers[4];
        float floats[4];
        for (struct protobuf_field field; wnn_protobuf_next(&reader, &field); fields++) {
            struct protobuf inner = {0};
            wnn_protobuf_numbers(&inner, &field, 4, numbers);
            wnn_protobuf_floats(&inner, &field, 4, floats);
        }
        REQUIRE(fields <= size / 2 && reader.left.size == 0);
        free(memory);
    }
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_fields());
    CASE(test_repeated());
#define MALFORMED(text) CASE_AS("malformed " #text, test_malformed(text, sizeof text - 1))
    MALFORMED("\x08");                                             // no value
    MALFORMED("\x08\x80");                                         // a value that does not end
    MALFORMED("\x80");                                             // a tag that does not end
    MALFORMED("\x00\x01");                                         // number 0
    MALFORMED("\x80\x80\x80\x80\x10\x01");                         // number 2^29
    MALFORMED("\x0B\x0C");                                         // a group
    MALFORMED("\x0E\x01");                                         // type 6
    MALFORMED("\x12\x02y");                                        // text that does not end
    MALFORMED("\x12\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");     // 2^64 - 1 bytes
    MALFORMED("\x1D\x01\x02\x03");                                 // 32 bits
    MALFORMED("\x21\x01\x02\x03\x04\x05\x06\x07");                 // 64 bits
    MALFORMED("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02");     // 65 bits
    MALFORMED("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x81\x00"); // 11 bytes
    CASE(test_types());
    CASE(test_random());
    return cases_end();
}
