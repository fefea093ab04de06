// SPDX-License-Identifier: Apache-2.0
//
// Single tensors in files of ONNX, as the test data of models are: input_0.pb. Nothing in such a file says
// what it is, so that its name has to.

#ifndef TOOLS_TENSOR_PROTO_H_
#define TOOLS_TENSOR_PROTO_H_

#include "tools/array.h"

// The array keeps the mapping. `name`, which may be NULL, gets the tensor's own name, in the mapping.
bool tensor_proto_decode(const char *path, struct mapping *file, struct array *array, struct string *name,
                         struct error *error);

// How long such a file may be that begins like this (see mapping.h).
size_t tensor_proto_extent(const unsigned char *data, size_t size);

// The name of a file for one.
bool is_tensor_proto(const char *path);

#endif
