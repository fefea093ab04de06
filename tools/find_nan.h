// SPDX-License-Identifier: Apache-2.0
//
// Where NaN and infinities come from: the constants and inputs that hold some, the first node that hands on
// those of a constant, and the first that has one in an output and neither in its operands. Of a NaN a kernel
// may make an infinity, and the other way round.

#ifndef TOOLS_FIND_NAN_H_
#define TOOLS_FIND_NAN_H_

#include "runtime/context.h"
#include "tools/node_values.h"
#include "tools/subject.h"

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
    // Of a backend that shows no operands: what the nodes of the model compute, as further outputs.
    bool exposes;
    struct node_values values;
    const void **places; // by operand of the model: its elements, or NULL
    size_t place_count, first_output;
    bool
        *constants; // by operand of the graph that is watched, or of the model: it holds a NaN or an infinity
    size_t constant_count;
    bool watched; // there was a node
    // Of the node that runs: a constant, or another operand, holds a NaN or an infinity.
    bool given_constant, given;
    const struct operand *input[NAN_KINDS]; // of the graph, the first that holds any; NULL: none
    struct nan_scan input_scan[NAN_KINDS];
    struct nan_sighting entry[NAN_KINDS]; // where those of constants come in
    struct nan_sighting made[NAN_KINDS];  // of operands that have none
};

// The graph that the session builds of the model next is the one. Where the backend shows operands, constants
// are looked at while they are compiled, since they may be packed and gone afterwards; the passes that fuse
// element-wise operators and compute with constants are left out, and the numbers are the same. Elsewhere all
// that nodes compute becomes outputs of the model, so that nodes are computed one by one.
void nan_finder_prepare(struct nan_finder *finder, struct session *session, struct model *model);

// Watches the executions of a graph until nan_finder_end, which prints what was found; false: there was no
// node. The graph is held meanwhile, and no execution may run at the end.
void nan_finder_begin(struct nan_finder *finder, const struct model *model, const struct subject *subject);
// To be called after each execution.
void nan_finder_look(struct nan_finder *finder);
bool nan_finder_end(struct nan_finder *finder, const struct model *model, struct error *error);
void nan_finder_free(struct nan_finder *finder);

#endif
