// SPDX-License-Identifier: Apache-2.0
//
// Reading flatbuffers where they lie, for TensorFlow Lite: nothing is copied or allocated. The encoding:
// https://flatbuffers.dev/internals
//
//     struct flatbuffer buffer = {bytes, NULL};
//     struct flatbuffer_table model = wnn_flatbuffer_root(&buffer);
//     int64_t version = wnn_flatbuffer_number(&model, 0, FLATBUFFER_UINT32, 0);
//     struct flatbuffer_vector graphs = wnn_flatbuffer_vector(&model, 2, 4);
//     for (size_t i = 0; i < graphs.count; i++) graph = wnn_flatbuffer_item(&graphs, i);
//     if (buffer.fault) ...
//
// Input is not trusted: no byte outside of the buffer is read, whatever it says, and nothing has to be
// aligned. What lies outside, or is not left of an excerpt, is a fault, and reads as if it were left out.
// Offsets lead forward only, so no table can be within itself; but several may be one, and a reader has to
// limit what it makes of them.
//
// Fields are numbered from 0 in the order of the schema; a union takes two, its type and its value. A field
// that is left out is its default, an empty text, an empty vector, or a table in which every field is left
// out.

#ifndef TOOLS_MODEL_FLATBUFFER_H_
#define TOOLS_MODEL_FLATBUFFER_H_

#include "tools/model/excerpt.h"

struct flatbuffer {
    struct bytes bytes;
    const char *fault;             // the first one, static text; NULL: none yet
    const struct excerpt *excerpt; // of these bytes, which is read in their place; or NULL
    struct excerpt_piece piece;    // of it, that was read last
};

enum flatbuffer_type {
    FLATBUFFER_INT8,
    FLATBUFFER_UINT8, // booleans too
    FLATBUFFER_INT16,
    FLATBUFFER_UINT16,
    FLATBUFFER_INT32,
    FLATBUFFER_UINT32,
    FLATBUFFER_INT64,
    FLATBUFFER_UINT64 // given as if it were signed
};

struct flatbuffer_table {
    struct flatbuffer *buffer;
    size_t at;     // 0: left out
    size_t vtable; // where it says where fields are
    size_t size;   // in bytes, of what may be a field
    size_t count;  // of fields it can say that of
};

struct flatbuffer_vector {
    struct flatbuffer *buffer;
    size_t at, count;
};

// Whether a flatbuffer has a file identifier, of four letters.
bool wnn_flatbuffer_is(struct bytes bytes, const char *identifier);

struct flatbuffer_table wnn_flatbuffer_root(struct flatbuffer *buffer);

bool wnn_flatbuffer_has(const struct flatbuffer_table *table, unsigned field);
int64_t wnn_flatbuffer_number(const struct flatbuffer_table *table, unsigned field, enum flatbuffer_type type,
                              int64_t otherwise);
float wnn_flatbuffer_float(const struct flatbuffer_table *table, unsigned field, float otherwise);
struct flatbuffer_table wnn_flatbuffer_table(const struct flatbuffer_table *table, unsigned field);

// A vector with items of 1, 2, 4 or 8 bytes; those of tables have 4. Bytes are also texts, which do not end
// with 0.
struct flatbuffer_vector wnn_flatbuffer_vector(const struct flatbuffer_table *table, unsigned field,
                                               unsigned item_bytes);
struct bytes wnn_flatbuffer_bytes(const struct flatbuffer_table *table, unsigned field);

// Bytes that need not be left of an excerpt: they are in the file then.
struct bytes wnn_flatbuffer_data(const struct flatbuffer_table *table, unsigned field);
// The same of a part of the buffer, which is in it.
struct bytes wnn_flatbuffer_part(struct flatbuffer *buffer, size_t at, size_t size);
// Whether such bytes are left, and nobody writes to them.
bool wnn_flatbuffer_keeps(const struct flatbuffer *buffer, struct bytes data);

// An item of a vector that was read with items of that size. Beyond its count it is 0, or a table left out.
int64_t wnn_flatbuffer_number_at(const struct flatbuffer_vector *vector, enum flatbuffer_type type, size_t i);
float wnn_flatbuffer_float_at(const struct flatbuffer_vector *vector, size_t i);
struct flatbuffer_table wnn_flatbuffer_item(const struct flatbuffer_vector *vector, size_t i);

#endif
