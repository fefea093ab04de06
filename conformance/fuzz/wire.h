// SPDX-License-Identifier: Apache-2.0
//
// Messages of protocol buffers as trees, for fuzzers of what reads them: a tree is made or parsed, changed at
// any place, and written again with lengths that are right. Shares nothing with the reader that is tested.

#ifndef CONFORMANCE_FUZZ_WIRE_H_
#define CONFORMANCE_FUZZ_WIRE_H_

#include "conformance/fuzz/edit.h"

// What a field holds that is written as bytes.
enum wire_leaf {
    WIRE_OPAQUE,
    WIRE_TEXT,
    WIRE_NUMBERS, // packed varints
    WIRE_FLOATS,  // packed
    WIRE_DOUBLES, // packed
    WIRE_INNER    // a message
};

// What is known of a message: its fields, up to one with number 0.
struct wire_kind {
    const char *name;
    struct wire_rule {
        uint32_t number;
        enum wire_leaf leaf;
        const struct wire_kind *inner;
    } rules[16];
};

enum wire_form {
    WIRE_NUMBER = 0,
    WIRE_64_BITS = 1,
    WIRE_BYTES = 2,
    WIRE_32_BITS = 5,
    WIRE_MESSAGE = 8 // written as bytes
};

struct wire_field {
    uint32_t number;
    enum wire_form form;
    uint64_t value;
    const char *data; // of WIRE_BYTES
    size_t size;
    struct wire_message *message; // may be that of other fields too, but not one that it is in
};

struct wire_message {
    const struct wire_kind *kind; // NULL: nothing is known of it
    struct wire_field *fields;
    size_t count, capacity;
};

// Memory of trees, freed at once. Ends the process if there is none.
struct wire_pool {
    struct wire_block *last;
    size_t left;
};
void *wire_allocate(struct wire_pool *pool, size_t size);
void wire_free(struct wire_pool *pool);

struct wire_message *wire_make(struct wire_pool *pool, const struct wire_kind *kind);
// NULL: malformed. What is malformed within stays bytes.
struct wire_message *wire_parse(struct wire_pool *pool, const struct wire_kind *kind, const char *data,
                                size_t size);
// A copy that shares no message; NULL: it would have more than `limit` fields.
struct wire_message *wire_copy(struct wire_pool *pool, const struct wire_message *message, size_t limit);

// How long it is when it is written, or more than MAX_EDITED.
size_t wire_size(const struct wire_message *message);
// data NULL: longer than MAX_EDITED.
struct contents wire_write(const struct wire_message *message);

// A place for a field, before index `at`; what it points to lasts until the message gets another one.
struct wire_field *wire_insert(struct wire_pool *pool, struct wire_message *message, size_t at);
void wire_remove(struct wire_message *message, size_t at);

// At the end. Text and bytes are copied.
void wire_add_number(struct wire_pool *pool, struct wire_message *message, uint32_t number, uint64_t value);
void wire_add_float(struct wire_pool *pool, struct wire_message *message, uint32_t number, float value);
void wire_add_bytes(struct wire_pool *pool, struct wire_message *message, uint32_t number, const void *data,
                    size_t size);
void wire_add_text(struct wire_pool *pool, struct wire_message *message, uint32_t number, const char *text);
struct wire_message *wire_add_message(struct wire_pool *pool, struct wire_message *message, uint32_t number,
                                      const struct wire_kind *kind);
// Packed, or a field for each.
void wire_add_numbers(struct wire_pool *pool, struct wire_message *message, uint32_t number, size_t count,
                      const int64_t *numbers, bool packed);

// What is known of a field; WIRE_OPAQUE and NULL if that is nothing.
struct wire_rule wire_rule_of(const struct wire_message *message, uint32_t number);
// The first field with a number, or NULL.
struct wire_field *wire_find(const struct wire_message *message, uint32_t number);

// Numbers of packed varints, as far as there are whole ones, up to `capacity`. Returns how many.
size_t wire_unpack(const char *data, size_t size, size_t capacity, int64_t *numbers);
// The other way; the result lies in the pool.
const char *wire_pack(struct wire_pool *pool, size_t count, const int64_t *numbers, size_t *size);

#endif
