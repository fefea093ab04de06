// SPDX-License-Identifier: Apache-2.0
//
// An ONNX file as it is written: graphs, nodes, attributes, tensors, with everything where it lies in the
// file, and nothing understood yet. Field numbers are those of onnx.proto3,
// https://github.com/onnx/onnx/blob/main/onnx

#ifndef MODEL_ONNX_FILE_H_
#define MODEL_ONNX_FILE_H_

#include "model/protobuf.h"

enum onnx_type {
    ONNX_UNDEFINED,
    ONNX_FLOAT,
    ONNX_UINT8,
    ONNX_INT8,
    ONNX_UINT16,
    ONNX_INT16,
    ONNX_INT32,
    ONNX_INT64,
    ONNX_STRING,
    ONNX_BOOL,
    ONNX_FLOAT16,
    ONNX_DOUBLE,
    ONNX_UINT32,
    ONNX_UINT64,
    ONNX_COMPLEX64,
    ONNX_COMPLEX128,
    ONNX_BFLOAT16,
    ONNX_FLOAT8E4M3FN,
    ONNX_FLOAT8E4M3FNUZ,
    ONNX_FLOAT8E5M2,
    ONNX_FLOAT8E5M2FNUZ,
    ONNX_UINT4,
    ONNX_INT4
};

bool is_text(struct bytes text, const char *expected);
bool same_text(struct bytes a, struct bytes b);

// Text of the file, UTF-8 as far as it tells the truth; it does not end with 0.
struct onnx_names {
    struct bytes *items;
    size_t count;
};

struct onnx_dimension {
    int64_t value;      // unless it is symbolic
    struct bytes param; // its name, or empty
    bool known;         // there is a value
};

struct onnx_value {
    struct bytes name;
    int64_t type; // enum onnx_type; ONNX_UNDEFINED: no tensor
    bool has_shape;
    struct onnx_dimension *dims;
    size_t rank;
};

struct onnx_tensor {
    struct bytes name;
    int64_t type;
    int64_t *dims;
    size_t rank;
    struct bytes raw;     // data as it lies in memory, little endian, or empty
    struct bytes message; // where numbers stand in fields by type otherwise
    bool external;        // the data are in another file
    struct bytes location;
    uint64_t offset, length; // in that file; length 0: to its end
};

struct onnx_attribute {
    struct bytes name;
    int64_t type; // AttributeProto.AttributeType, or 0 in old files
    float f;
    int64_t i;
    struct bytes s, tensor, graph; // messages
    struct bytes message;          // where lists stand
};

struct onnx_node {
    struct bytes name, operation, domain;
    struct onnx_names inputs, outputs; // an empty name: an optional one that is left out
    struct onnx_attribute *attributes;
    size_t attribute_count;
};

struct onnx_graph {
    struct bytes name;
    struct onnx_node *nodes;
    struct onnx_tensor *initializers;
    struct onnx_value *inputs, *outputs, *values; // values: of operands between nodes
    size_t node_count, initializer_count, input_count, output_count, value_count;
};

struct onnx_opset {
    struct bytes domain; // empty: ai.onnx
    int64_t version;
};

struct onnx_pair {
    struct bytes key, value;
};

// All that is made of a file is freed at once. `limit` bounds the bytes that it takes: what a file describes
// can be many times larger than the file.
struct onnx_memory {
    struct onnx_block *last;
    size_t used, limit;
};

// `count` items of `size` bytes, filled with zeros; NULL: no memory, or above the limit. One item for none.
void *wnn_onnx_allocate(struct onnx_memory *memory, size_t count, size_t size);
void wnn_onnx_free(struct onnx_memory *memory);

struct onnx_file {
    struct onnx_memory memory;
    int64_t ir_version;
    struct bytes producer, producer_version;
    struct onnx_opset *opsets;
    size_t opset_count;
    struct onnx_pair *metadata;
    size_t metadata_count;
    struct onnx_graph graph;
};

// Whether the bytes may be an ONNX file: they begin as one.
bool wnn_onnx_recognize(struct bytes bytes);

// Reads a file, which has to stay where it is. NULL, or what is wrong with it, as static text; to be freed
// either way.
const char *wnn_onnx_open(struct bytes bytes, size_t limit, struct onnx_file *file);
void wnn_onnx_close(struct onnx_file *file);

// A graph or tensor that an attribute holds. NULL, or a fault.
const char *wnn_onnx_graph(struct onnx_memory *memory, struct bytes message, struct onnx_graph *graph);
const char *wnn_onnx_tensor(struct onnx_memory *memory, struct bytes message, struct onnx_tensor *tensor);

#endif
