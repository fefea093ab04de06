// SPDX-License-Identifier: Apache-2.0
//
// Mistakes that models of ONNX can have, and what their messages are made of:
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto3

#ifndef CONFORMANCE_FUZZ_ONNX_EDIT_H_
#define CONFORMANCE_FUZZ_ONNX_EDIT_H_

#include "conformance/fuzz/wire.h"

extern const struct wire_kind onnx_model, onnx_graph, onnx_node, onnx_attribute, onnx_tensor, onnx_value,
    onnx_pair, onnx_opset;
extern const struct wire_kind onnx_type, onnx_tensor_type, onnx_shape, onnx_dimension;

// Operators of the table, in its order.
struct onnx_operator_name {
    const char *domain, *name;
};
extern const struct onnx_operator_name onnx_operators[];
extern const size_t onnx_operator_count;

// Makes one mistake: numbers, texts and lists become others, messages are repeated, left out and put
// elsewhere.
void onnx_spoil(struct wire_pool *pool, struct wire_message *model, struct edits *edits);

#endif
