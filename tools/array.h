// SPDX-License-Identifier: Apache-2.0
//
// Tensors outside of the library: .npy files (as NumPy writes them, C order, little-endian) and raw ones.

#ifndef TOOLS_ARRAY_H_
#define TOOLS_ARRAY_H_

#include "lib/shape.h"
#include "lib/text.h"
#include "model/mapping.h"

// What a file holds, still in its mapping.
struct array {
    struct mapping *mapping;
    const unsigned char *data; // of any alignment
    WNNDataType type;          // Undefined if float64
    bool float64;
    struct shape shape; // may have sizes of 0
    size_t elements;
};

// `path` is for messages. The array keeps the mapping.
bool array_decode_npy(const char *path, struct mapping *file, struct array *array, struct error *error);

// How long a .npy file is that begins like this, or how much of it tells; 0 if it is none (see mapping.h).
size_t array_npy_extent(const unsigned char *data, size_t size);
bool array_read_npy(const char *path, struct array *array, struct error *error);
void array_close(struct array *array);

// One element, in the kind of number that fits its type.
WNNNumber array_element(const struct array *array, size_t index);

// Writes a tensor as .npy, or as plain bytes if the name of the file ends otherwise.
bool array_write(const char *path, const struct descriptor *type, const void *data, struct error *error);

bool ends_with(const char *string, const char *ending);

#endif
