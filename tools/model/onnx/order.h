// SPDX-License-Identifier: Apache-2.0
//
// The order of the nodes of a graph. ONNX wants what a node reads to be made before it; tools that insert
// nodes, as those do that convert to float16, put them at the end.

#ifndef TOOLS_MODEL_ONNX_ORDER_H_
#define TOOLS_MODEL_ONNX_ORDER_H_

#include "tools/model/memory.h"
#include "tools/model/onnx/file.h"

// Moves nodes behind those that make what they, or graphs within them, read, and leaves what is in order
// already as it is; so are all if they wait for one another in a circle. False: there is not enough memory.
bool wnn_onnx_order(struct model_memory *memory, struct onnx_graph *graph);

// The same of all graphs of a file but those within nodes.
bool wnn_onnx_order_file(struct model_memory *memory, struct onnx_file *file);

#endif
