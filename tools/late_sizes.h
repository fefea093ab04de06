// SPDX-License-Identifier: Apache-2.0
//
// Sizes for a compiled graph that runs at many: --shape, the arrays for its inputs, --dim.

#ifndef TOOLS_LATE_SIZES_H_
#define TOOLS_LATE_SIZES_H_

#include "tools/load.h"

// The ports of a graph at the sizes that it is to run at.
struct late_sizes {
    WNNNamedShape *shapes; // of all inputs
    WNNNamedDescriptor *inputs, *outputs;
    size_t input_count, output_count;
    uint32_t *dims; // of all of them
    WNNInputShapes chain;
};

// Whether there are sizes of the graph that are not known.
bool late_sizes_has(WNNGraph graph);

// Finds them; a message says which are missing. NULL options: none are given.
struct late_sizes *late_sizes_find(WNNGraph graph, const struct load_options *options, struct error *error);
void late_sizes_free(struct late_sizes *sizes); // NULL is accepted

#endif
