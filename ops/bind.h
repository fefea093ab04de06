// SPDX-License-Identifier: Apache-2.0
//
// A recorded graph at sizes that have come to be known: names get values from the shapes of inputs, and all
// operators are inferred again.

#ifndef OPS_BIND_H_
#define OPS_BIND_H_

#include "ops/op.h"

// Whether an input has a size that is not known.
bool wnn_graph_is_symbolic(const struct graph *graph);

// Computes all sizes of the graph's table from the shapes of its inputs, by slot. False, and a TypeError:
// they contradict each other or what was recorded.
bool wnn_bind_sizes(const struct graph *recorded, const struct shape *shapes, uint32_t *values,
                    struct error *error);

// Copies the graph with those sizes into `bound`, which has been initialized; TypeError: an operator refuses
// them; OperationError: they are too much work; OutOfMemory. `recorded` is not changed, so that several
// threads may do that.
bool wnn_bind_graph(const struct graph *recorded, const WNNLimits *limits, const uint32_t *values,
                    struct graph *bound, struct error *error);

// Does that with a graph of which all sizes are known, and puts the result in its place: operators about
// shapes (ops/shaping.h) make way for others. Operands of `source` that link to operands of the graph link to
// those that take their places.
bool wnn_settle_graph(struct graph *graph, const WNNLimits *limits, const struct graph *source,
                      struct error *error);

#endif
