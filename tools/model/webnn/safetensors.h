// SPDX-License-Identifier: Apache-2.0
//
// Weights in .safetensors files: eight bytes with the length of a JSON header, the header, which gives each
// tensor a data type, a shape and a range of bytes, and the bytes. A file may come from anywhere: nothing in
// it is believed before it has been checked.

#ifndef TOOLS_MODEL_WEBNN_SAFETENSORS_H_
#define TOOLS_MODEL_WEBNN_SAFETENSORS_H_

#include "lib/shape.h"
#include "tools/model/source.h"

struct safetensor {
    const char *path; // of its file
    char *name;
    char dtype[8];      // as in the file: "F32"
    WNNDataType type;   // Undefined: one that this library does not have
    struct shape shape; // rank WNN_MAX_RANK + 1: more dimensions than this library has
    struct bytes bytes; // of any alignment; as long as the source
};

// The tensors of a file, or of several that are listed in a file like model.safetensors.index.json.
struct safetensors {
    struct safetensor *tensors; // sorted by name
    size_t count, capacity;
};

// Opens a file and checks its header: TypeError if it breaks a rule of the format. `path` lives as long as
// the tensors. Filled with zeros before.
bool safetensors_open(struct safetensors *file, struct model_source *source, const char *path,
                      struct error *error);
void safetensors_close(struct safetensors *file);

const struct safetensor *safetensors_find(const struct safetensors *file, const char *name);

// Writing: the header, then the tensors' bytes in the same order.
struct safetensors_item {
    const char *name;
    struct descriptor type;
    const void *data;
};
bool safetensors_write(const char *path, const struct safetensors_item *items, size_t count,
                       struct error *error);

#endif
