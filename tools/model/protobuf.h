// SPDX-License-Identifier: Apache-2.0
//
// Reading protocol buffers where they lie, for ONNX: a message is a run of bytes, its fields are found one
// after the other, and nothing is copied or allocated. The encoding:
// https://protobuf.dev/programming-guides/encoding
//
//     struct protobuf reader = {bytes};
//     for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);)
//         if (field.number == 7) graph = wnn_protobuf_bytes(&reader, &field);
//     if (reader.fault) ...
//
// Input is not trusted: no byte outside of the message is read, whatever it says, and a message is malformed
// as a whole: after a fault there are no more fields.

#ifndef TOOLS_MODEL_PROTOBUF_H_
#define TOOLS_MODEL_PROTOBUF_H_

#include "tools/model/bytes.h"

enum protobuf_type {
    PROTOBUF_VARINT = 0,
    PROTOBUF_64_BITS = 1,
    PROTOBUF_BYTES = 2, // a string, a message, or repeated numbers without their tags
    PROTOBUF_32_BITS = 5
};

struct protobuf {
    struct bytes left;
    const char *fault; // static text; NULL: none yet
    uint64_t *work;    // counts fields that are read, and every eighth number of a list; NULL: nothing does
};

struct protobuf_field {
    uint32_t number;
    enum protobuf_type type;
    uint64_t value; // unless it is bytes; as unsigned
    struct bytes bytes;
};

// The next field; false: there is none, or `fault` says why it cannot be read. Unknown fields are for the
// caller to skip. Groups, which protocol buffers gave up long ago, are a fault.
bool wnn_protobuf_next(struct protobuf *reader, struct protobuf_field *field);

// What a field holds, which must have been written as that; else a fault, and 0 or nothing.
uint64_t wnn_protobuf_number(struct protobuf *reader, const struct protobuf_field *field);
float wnn_protobuf_float(struct protobuf *reader, const struct protobuf_field *field);
struct bytes wnn_protobuf_bytes(struct protobuf *reader, const struct protobuf_field *field);

// Repeated numbers come one a field, or packed into one: the numbers of a field, up to `capacity` of them.
// Returns how many there are, which may be more.
size_t wnn_protobuf_numbers(struct protobuf *reader, const struct protobuf_field *field, size_t capacity,
                            int64_t *numbers);
size_t wnn_protobuf_floats(struct protobuf *reader, const struct protobuf_field *field, size_t capacity,
                           float *numbers);

#endif
