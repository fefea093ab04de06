// SPDX-License-Identifier: Apache-2.0
//
// Operators of the draft of dynamic shapes that are about shapes. They are recorded as they are; when all
// sizes are known, their siblings (wnn_op_sibling) take their places, so that only inference knows them.

#ifndef OPS_SHAPING_H_
#define OPS_SHAPING_H_

#include "ops/op.h"

// Whether the graph has any of them.
bool wnn_graph_has_shaping(const struct graph *graph);

// Whether a call may look at the elements of a constant of so many bytes, which may be sizes, or tell some.
bool wnn_may_tell_sizes(WNNDataType type, size_t bytes);

// The elements that shape() or range() computes, in a call that has been inferred with known sizes, as a
// constant; NULL: no memory.
struct constant *wnn_shaping_constant(struct op_call *call);

#endif
