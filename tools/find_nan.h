// SPDX-License-Identifier: Apache-2.0
//
// Where a NaN or an infinity first appears: the first node that has one in an output and none in its inputs.

#ifndef TOOLS_FIND_NAN_H_
#define TOOLS_FIND_NAN_H_

#include "runtime/context.h"

struct sighting {
    bool found;
    const struct node *node;
    unsigned output;
    size_t element;
    double value;
};

struct nan_finder {
    struct watcher watcher; // first
    WNNGraph graph;
    bool given[2];            // of the node that runs: its inputs hold a NaN, an infinity
    bool entered[2];          // so do inputs of the graph, or constants
    bool watched;             // the backend told of a node
    struct sighting first[2]; // of a NaN, of an infinity
};

// Watches the executions of a graph until nan_finder_end, which prints what was found; false: no node could
// be watched. The graph is held meanwhile, and no execution may run at the end.
void nan_finder_begin(struct nan_finder *finder, WNNGraph graph);
bool nan_finder_end(struct nan_finder *finder, struct error *error);

#endif
