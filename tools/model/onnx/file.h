// SPDX-License-Identifier: Apache-2.0
//
// An ONNX file as it is written: graphs, nodes, attributes, tensors, with everything where it lies in the
// file, and nothing understood yet. Field numbers are those of onnx.proto3,
// https://github.com/onnx/onnx/blob/main/onnx

#ifndef TOOLS_MODEL_ONNX_FILE_H_
#define TOOLS_MODEL_ONNX_FILE_H_

#include "tools/model/bytes.h"
#include "tools/model/memory.h"

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
    ONNX_INT4,
    ONNX_FLOAT4E2M1,
    ONNX_FLOAT8E8M0,
    ONNX_UINT2,
    ONNX_INT2,
    // What is no tensor.
    ONNX_SEQUENCE = 64,
    ONNX_NOTHING, // an optional value that is not there; only while recording
    ONNX_OPTIONAL,
    ONNX_MAP,
    ONNX_SPARSE,
    ONNX_OPAQUE
};

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
    int64_t type; // enum onnx_type
    bool has_shape;
    struct onnx_dimension *dims;
    size_t rank;
};

enum {
    ONNX_DIMS = 8, // that are told of a tensor, whatever its rank is
    ONNX_FEW = 8   // names of a node for which there is room in it
};

struct onnx_tensor {
    struct bytes name;
    int64_t type;
    int64_t dims[ONNX_DIMS];
    size_t rank;
    struct bytes raw;     // data as it lies in memory, little endian, or empty
    bool left_out;        // the data are in the file that this one describes (wnn_onnx_describe)
    struct bytes message; // where numbers stand in fields by type otherwise
    bool external;        // the data are in another file
    struct bytes location;
    uint64_t offset, length; // in that file; length 0: to its end, of another file
};

struct onnx_attribute {
    struct bytes name;
    int64_t type; // AttributeProto.AttributeType, or 0 in old files
    float f;
    int64_t i;
    struct bytes s, tensor, graph; // messages
    struct bytes reference;        // in a function: which attribute of its node this one is, or empty
    struct bytes message;          // where lists stand
};

struct onnx_node {
    struct bytes name, operation, domain;
    struct bytes overload;             // which function of that name, or empty
    struct onnx_names inputs, outputs; // an empty name: an optional one that is left out
    struct bytes message;              // where attributes stand
    struct bytes few[ONNX_FEW];
};

// Nodes and initializers are messages, in which nothing is malformed: there are many, and each is read when
// it is needed.
struct onnx_graph {
    struct bytes name;
    struct bytes *nodes, *initializers;
    struct onnx_value *inputs, *outputs;
    size_t node_count, initializer_count, input_count, output_count;
    size_t made_count; // outputs of nodes
};

struct onnx_opset {
    struct bytes domain; // empty: ai.onnx
    int64_t version;
};

struct onnx_pair {
    struct bytes key, value;
};

// An operator that the file itself describes, by nodes.
struct onnx_function {
    struct bytes name, domain, overload;
    struct onnx_names inputs, outputs;
    struct onnx_graph graph; // of which only nodes are there
    struct onnx_opset *opsets;
    size_t opset_count;
    struct bytes message; // where the attributes stand that a node has that has none of their names
};

struct onnx_file {
    int64_t ir_version;
    struct bytes producer, producer_version;
    struct onnx_opset *opsets;
    size_t opset_count;
    struct onnx_pair *metadata;
    size_t metadata_count;
    struct onnx_function *functions;
    size_t function_count;
    const struct onnx_function **places; // a table of them, by name
    size_t place_mask;
    struct onnx_graph graph;
};

// The function of the file that a node is; NULL if there is none.
const struct onnx_function *wnn_onnx_function(const struct onnx_file *file, const struct onnx_node *node);

// Whether the bytes may be an ONNX file: they begin as one.
bool wnn_onnx_recognize(struct bytes bytes);

// Writes a file without the elements of its tensors, which wnn_onnx_open() does not read, but with where in
// the file they are, whoever changes it meanwhile (wnn_source_write_description).
struct description;
void wnn_onnx_describe(struct bytes bytes, struct description *to);

// Reads a file, which has to stay where it is, as has the memory. NULL, or what is wrong with it, as static
// text.
const char *wnn_onnx_open(struct bytes bytes, struct model_memory *memory, struct onnx_file *file);

// A node, which has to stay where it is; no memory is needed for ONNX_FEW names.
const char *wnn_onnx_node(struct model_memory *memory, struct bytes message, struct onnx_node *node);
// The operator of a node, without its domain.
struct bytes wnn_onnx_operation(struct bytes node);

// An attribute of a node, or what a function says that it is otherwise; false: it is not there. `memory`
// counts the work, as a node may be asked often; NULL: nothing does.
bool wnn_onnx_node_attribute(struct model_memory *memory, const struct onnx_node *node, struct bytes name,
                             struct onnx_attribute *to);
bool wnn_onnx_default_attribute(struct model_memory *memory, const struct onnx_function *function,
                                struct bytes name, struct onnx_attribute *to);

// A graph or tensor that an attribute holds. NULL, or a fault. A tensor takes no memory, which counts the
// work.
const char *wnn_onnx_graph(struct model_memory *memory, struct bytes message, struct onnx_graph *graph);
const char *wnn_onnx_tensor(struct model_memory *memory, struct bytes message, struct onnx_tensor *tensor);

#endif
