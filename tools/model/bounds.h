// SPDX-License-Identifier: Apache-2.0
//
// How much is read of what somebody else wrote.

#ifndef TOOLS_MODEL_BOUNDS_H_
#define TOOLS_MODEL_BOUNDS_H_

#include <stddef.h>

#define MAX_GRAPH_TEXT ((size_t)64 << 20) // bytes of a .webnn file
#define MAX_WEIGHTS_HEADER                                                                                   \
    ((size_t)16 << 20) // bytes of the JSON in a .safetensors file, or of a list of such files
#define MAX_MODEL_STREAM                                                                                     \
    ((size_t)1 << 30) // bytes of a model or weights from a pipe or device; a file may have any number
#define MAX_FILLED ((size_t)256 << 20) // bytes of constants that a graph file makes of one number

#endif
