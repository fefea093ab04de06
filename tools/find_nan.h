// SPDX-License-Identifier: Apache-2.0
//
// Where NaN and infinities come from: the constants and inputs that hold some, the first node that hands on
// those of a constant, and the first that has one in an output and neither in its operands. Of a NaN a kernel
// may make an infinity, and the other way round.

#ifndef TOOLS_FIND_NAN_H_
#define TOOLS_FIND_NAN_H_

#include "runtime/context.h"
#include "tools/model.h"

enum nan_kind {
    NOT_A_NUMBER,
    INFINITE,
    NAN_KINDS
};

// What some elements hold: how many of each kind, and the first.
struct nan_scan {
    size_t count[NAN_KINDS], first[NAN_KINDS];
};

// An output of a node.
struct nan_sighting {
    bool found;
    const struct node *node;
    unsigned output;
    size_t element;
    double value;
};

struct nan_finder {
    struct observer observer; // first
    WNNGraph graph;
    bool *constants; // of the compiled graph, by operand: it holds a NaN or an infinity
    size_t constant_count;
    bool watched; // the backend told of a node
    // Of the node that runs: a constant, or another operand, holds a NaN or an infinity.
    bool given_constant, given;
    const struct operand *input[NAN_KINDS]; // of the graph, the first that holds any; NULL: none
    struct nan_scan input_scan[NAN_KINDS];
    struct nan_sighting entry[NAN_KINDS]; // where those of constants come in
    struct nan_sighting made[NAN_KINDS];  // of operands that have none
};

// The graph that the context builds next is the one: constants are looked at while they are compiled, since
// they may be packed and gone afterwards. The passes that fuse element-wise operators and compute with
// constants are left out; the numbers are the same.
void nan_finder_prepare(struct nan_finder *finder, WNNContext context);

// Watches the executions of a graph until nan_finder_end, which prints what was found; false: no node could
// be watched. The graph is held meanwhile, and no execution may run at the end. It is the last that was built
// of the model.
void nan_finder_begin(struct nan_finder *finder, WNNGraph graph);
bool nan_finder_end(struct nan_finder *finder, const struct model *model, struct error *error);
void nan_finder_free(struct nan_finder *finder);

#endif
