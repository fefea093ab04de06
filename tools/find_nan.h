// SPDX-License-Identifier: Apache-2.0
//
// Where a NaN or an infinity first appears: the first node that has one in an output and neither in its
// operands, constants included. Of a NaN a kernel may make an infinity, and the other way round.

#ifndef TOOLS_FIND_NAN_H_
#define TOOLS_FIND_NAN_H_

#include "runtime/context.h"
#include "tools/model.h"

struct sighting {
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
    bool given;               // of the node that runs: an operand holds a NaN or an infinity
    struct sighting input[2]; // the first NaN, the first infinity that an input of the graph has
    const struct operand *input_of[2];
    bool watched;             // the backend told of a node
    struct sighting first[2]; // of a NaN, of an infinity
};

// The graph that the context builds next is the one: constants are looked at while they are compiled, since
// they may be packed and gone afterwards. The pass that fuses element-wise operators is left out; the numbers
// are the same.
void nan_finder_prepare(struct nan_finder *finder, WNNContext context);

// Watches the executions of a graph until nan_finder_end, which prints what was found; false: no node could
// be watched. The graph is held meanwhile, and no execution may run at the end. `model` has the constants'
// names.
void nan_finder_begin(struct nan_finder *finder, WNNGraph graph);
bool nan_finder_end(struct nan_finder *finder, const struct model *model, struct error *error);
void nan_finder_free(struct nan_finder *finder);

#endif
