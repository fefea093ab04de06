// SPDX-License-Identifier: Apache-2.0
//
// Operands as the vector files describe them: data type, shape, and elements in JSON.

#ifndef CONFORMANCE_VECTOR_H_
#define CONFORMANCE_VECTOR_H_

#include "lib/text.h"

#include <cjson/cJSON.h>

// More dimensions than any operand may have, so that files can ask for too many.
#define VECTOR_MAX_RANK 16

struct vector {
    WNNDataType type; // Undefined if the file names none that exists
    uint32_t dims[VECTOR_MAX_RANK];
    size_t rank;
    size_t count, bytes; // SIZE_MAX if they are too large for this machine
    void *data;          // the elements; NULL if they were not asked for
};

// Reads {"dataType", "shape"} and, if `with_data`, "data" or "fill" (or the exact "bits" or "fillBits").
// Returns false and says why if the file is wrong or memory runs out. Frees with wnn_vector_free, also after
// a failure.
bool wnn_vector_read(const cJSON *json, bool with_data, struct vector *vector, struct text *message);
void wnn_vector_free(struct vector *vector);

// Gives a vector without data elements that are 0; false when memory runs out.
bool wnn_vector_fill_zero(struct vector *vector);

// Points into `vector`.
WNNOperandDescriptor wnn_vector_descriptor(const struct vector *vector);

// Undefined if there is none of that name.
WNNDataType wnn_vector_type(const char *name);

// A JSON number, or one of "NaN", "Infinity" and "-Infinity", or an integer in a string; false for anything
// else.
bool wnn_json_number(const cJSON *json, WNNNumber *number);

// The string that a member holds, or NULL.
const char *wnn_json_string(const cJSON *object, const char *member);

#endif
