// SPDX-License-Identifier: Apache-2.0
//
// How far a result may be from the exact one: the limits of web-platform-tests, by operator. Vectors mostly
// bring their own; this is for those that do not, and for random graphs.

#ifndef CONFORMANCE_TOLERANCE_H_
#define CONFORMANCE_TOLERANCE_H_

#include "ops/op.h"

struct tolerance {
    bool
        absolute; // a difference; otherwise a number of units in the last place, of integers a difference too
    double value;
};

// Of one node of a complete graph, for its first output.
struct tolerance wnn_node_tolerance(const struct node *node);

// Whether an operator has but one right result, on whatever operands: it rounds nothing.
bool wnn_op_is_exact(enum op op);

// Of a whole graph: that of its node, or the sum of the units of all nodes.
struct tolerance wnn_graph_tolerance(const struct graph *graph);

#endif
