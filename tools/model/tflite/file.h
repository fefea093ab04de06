// SPDX-License-Identifier: Apache-2.0
//
// A TensorFlow Lite file as it is written: subgraphs, operators, tensors, with everything where it lies in
// the file, and nothing understood yet. Operators and tensors are read when they are needed: there are many.
// The numbers of fields are those of schema.fbs, version 3,
// https://github.com/tensorflow/tensorflow/blob/master/tensorflow/compiler/mlir/lite/schema/schema.fbs

#ifndef TOOLS_MODEL_TFLITE_FILE_H_
#define TOOLS_MODEL_TFLITE_FILE_H_

#include "tools/model/flatbuffer.h"
#include "tools/model/memory.h"

enum tflite_type {
    TFLITE_FLOAT32,
    TFLITE_FLOAT16,
    TFLITE_INT32,
    TFLITE_UINT8,
    TFLITE_INT64,
    TFLITE_STRING,
    TFLITE_BOOL,
    TFLITE_INT16,
    TFLITE_COMPLEX64,
    TFLITE_INT8,
    TFLITE_FLOAT64,
    TFLITE_COMPLEX128,
    TFLITE_UINT64,
    TFLITE_RESOURCE,
    TFLITE_VARIANT,
    TFLITE_UINT32,
    TFLITE_UINT16,
    TFLITE_INT4,
    TFLITE_BFLOAT16,
    TFLITE_INT2,
    TFLITE_UINT4,
    TFLITE_FLOAT8E4M3FN,
    TFLITE_FLOAT8E5M2
};

#define TFLITE_CUSTOM    32  // the operator that custom_code names
#define TFLITE_OPERATORS 208 // builtin operators that there are numbers for

struct tflite_tensor {
    struct bytes name;
    int64_t type;                              // enum element_type
    struct flatbuffer_vector shape, signature; // of int32; signature: empty, or with -1 where sizes are open
    bool has_rank;                             // also where the shape is empty
    bool is_variable;                          // kept from one invocation to the next
    struct bytes data;                         // of a constant, else empty
    struct flatbuffer_vector scales;           // of float32: none, one, or one for each index of an axis
    struct flatbuffer_vector zeros;            // of int64: as many, or one, or none
    int64_t axis;
    bool is_custom;                   // quantized in a way that the scales do not say
    struct flatbuffer_table sparsity; // left out: dense
};

struct tflite_operator {
    int64_t builtin;
    struct bytes custom_name;
    int64_t version;
    struct flatbuffer_vector inputs, outputs; // of int32: tensors of the subgraph; -1: left out
    struct flatbuffer_table options, options2;
    struct bytes custom_options;
};

// In whose operators and tensors nothing is malformed.
struct tflite_subgraph {
    struct bytes name;
    struct flatbuffer_vector tensors, operators;
    struct flatbuffer_vector inputs, outputs; // of int32: tensors, which there are
};

struct tflite_file {
    struct flatbuffer buffer;
    struct flatbuffer_table model;
    int64_t version;
    struct bytes description;
    struct tflite_subgraph *subgraphs; // at least one: the first is the model
    size_t subgraph_count;
    size_t item_count; // tensors and operators of all
    uint64_t weight_bytes;
};

// Whether the bytes begin as such a file does.
bool wnn_tflite_recognize(struct bytes bytes);

// Tells the data of tensors, which wnn_tflite_open() does not read (wnn_source_make_excerpt).
void wnn_tflite_find_weights(struct bytes bytes, struct byte_runs *runs);

// Reads a file, or where it is not NULL an excerpt of it. Both have to stay where they are, as has the
// memory. NULL, or what is wrong with it, as static text.
const char *wnn_tflite_open(struct bytes bytes, const struct excerpt *excerpt, struct model_memory *memory,
                            struct tflite_file *file);

// A tensor or operator of a subgraph, which there is.
void wnn_tflite_tensor(struct tflite_file *file, const struct tflite_subgraph *graph, size_t index,
                       struct tflite_tensor *tensor);
void wnn_tflite_operator(struct tflite_file *file, const struct tflite_subgraph *graph, size_t index,
                         struct tflite_operator *node);
struct bytes wnn_tflite_tensor_name(const struct tflite_subgraph *graph,
                                    size_t index); // empty: there is none

// The data of a buffer of the model: in it, or behind it in the file. Empty: there are none, or a fault.
struct bytes wnn_tflite_buffer(struct tflite_file *file, int64_t index);

#endif
