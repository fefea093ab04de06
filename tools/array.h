// SPDX-License-Identifier: Apache-2.0
//
// Tensors outside of the library: .npy files (as NumPy writes them) and raw ones.

#ifndef TOOLS_ARRAY_H_
#define TOOLS_ARRAY_H_

#include "lib/shape.h"
#include "lib/text.h"
#include "tools/model/mapping.h"

enum element_kind {
    ELEMENT_REAL,
    ELEMENT_INTEGER,
    ELEMENT_BOOL
};

// What the elements of a file can be: the types of operands and others.
struct element_type {
    const char *name; // NumPy's: "float64"
    WNNDataType type; // of operands; Undefined: no operand has it
    enum element_kind kind;
    bool is_signed;
    unsigned bits;
};

enum {
    ELEMENT_TYPES = 15
};
extern const struct element_type element_types[ELEMENT_TYPES];

// By what it is, or as which an operand has it; NULL: there is none.
const struct element_type *element_type_find(enum element_kind kind, bool is_signed, unsigned bits);
const struct element_type *element_type_of(WNNDataType type);
const struct element_type *element_type_named(const char *name);

// What a file holds, row-major and little-endian.
struct array {
    struct mapping *mapping;   // with the data, or NULL
    unsigned char *owned;      // the data, where the file has them in another order, or NULL
    const unsigned char *data; // of any alignment
    const struct element_type *element;
    struct shape shape; // may have sizes of 0
    size_t elements;
};

// The data are those of a file or lie in it, and `path` is for messages. The array keeps the mapping.
bool array_decode_npy(const char *path, struct mapping *file, const unsigned char *data, size_t size,
                      struct array *array, struct error *error);

// How long a .npy file is that begins like this, or how much of it tells; 0 if it is none (see mapping.h).
size_t array_npy_extent(const unsigned char *data, size_t size);
bool array_recognize_npy(const unsigned char *data, size_t size);
bool array_read_npy(const char *path, struct array *array, struct error *error); // "-": standard input
void array_close(struct array *array);

// The value of an operand as an array, which borrows the data and need not be closed.
struct array array_of(const struct descriptor *type, const void *data);

// The sizes and the number of elements, which may be 0; false: too many dimensions or elements.
bool array_set_shape(const char *path, struct array *array, size_t rank, const uint64_t *sizes,
                     struct error *error);

size_t array_bytes(const struct array *array);

// One element, in the kind of number that fits its type.
WNNNumber array_element(const struct array *array, size_t index);

// Writes a tensor as .npy, or as plain bytes if the name of the file ends otherwise; "-" is standard output,
// and gets a .npy. In a .npy, elements of 4 bits have a byte each.
bool array_write(const char *path, const struct descriptor *type, const void *data, struct error *error);

bool ends_with(const char *string, const char *ending);

#endif
