// SPDX-License-Identifier: Apache-2.0
//
// Weights in .safetensors files: eight bytes with the length of a JSON header, the header, which gives each
// tensor a data type, a shape and a range of bytes, and the bytes. A file may come from anywhere: nothing in
// it is believed before it has been checked.

#ifndef TOOLS_SAFETENSORS_H_
#define TOOLS_SAFETENSORS_H_

#include "lib/shape.h"
#include "model/mapping.h"

#include <stdio.h>

struct safetensor {
    char *name;
    char dtype[8];      // as in the file: "F32"
    WNNDataType type;   // Undefined: one that this library does not have
    struct shape shape; // rank WNN_MAX_RANK + 1: more dimensions than this library has
    size_t begin, end;  // in the file; of any alignment
};

struct safetensors {
    struct mapping *mapping;
    struct safetensor *tensors; // sorted by name
    size_t count;
};

// Maps a file and checks its header: TypeError if it breaks a rule of the format.
bool safetensors_open(const char *path, struct safetensors *file, struct error *error);
void safetensors_close(struct safetensors *file); // external bytes stay as long as they are needed

const struct safetensor *safetensors_find(const struct safetensors *file, const char *name);

// Writing: first all descriptors, then the same tensors' bytes in the same order.
struct safetensors_item {
    const char *name;
    struct descriptor type;
    const void *data;
};
bool safetensors_write(const char *path, const struct safetensors_item *items, size_t count,
                       struct error *error);

#endif
