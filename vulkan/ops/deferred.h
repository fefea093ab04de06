// SPDX-License-Identifier: Apache-2.0
//
// Nodes that those compute which read what they make, since a dispatch more would take longer: normalizations
// of a few short rows, by products of these; rotary embeddings, by what scatters them; and products, by
// others of the same rows with which they are joined element by element.

#ifndef VULKAN_OPS_DEFERRED_H_
#define VULKAN_OPS_DEFERRED_H_

#include "vulkan/program/shader.h"

// Before memory is planned and after weights are arranged: which nodes may be computed so (node->deferred).
void wnn_defer_nodes(const struct gpu *gpu, struct graph *graph);

// When memory is planned: which of them are; no others are deferred then.
void wnn_settle_deferred(const struct gpu *gpu, struct graph *graph);

// The node whose output, perhaps under other shapes, an operand is, if it is deferred and memory is planned;
// or NULL.
const struct node *wnn_deferred_node(const struct operand *operand);

#endif
