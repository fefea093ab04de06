// SPDX-License-Identifier: Apache-2.0
//
// Which operators of a model each node of its compiled graph computes: the compiler fuses several into one,
// replaces patterns, and adds nodes of its own.

#ifndef TOOLS_SOURCES_H_
#define TOOLS_SOURCES_H_

#include "tools/model.h"

// An operator of the model.
struct source {
    struct string label;     // as the model calls it; may be empty
    struct string operation; // its type
};

// The operators of one node, as indices, in the order in which they were recorded.
struct node_sources {
    const uint32_t *items;
    size_t count;
    bool added; // the compiler added the node; the operators are those of a node that reads its result
};

struct sources {
    struct allocator allocator;
    struct arena arena;
    struct source *items;
    size_t count;
    struct node_sources *nodes; // of the compiled graph, in the order of execution
    size_t node_count;
};

// `graph` is the last that was built of the model, which is not needed afterwards. To be freed.
void sources_find(struct sources *sources, const struct model *model, WNNGraph graph);
void sources_free(struct sources *sources); // of zeros too

// Whether two nodes compute the same operators.
bool sources_equal(const struct node_sources *a, const struct node_sources *b);

// "conv2d stem + relu stem/relu", as a terminal may show it: some operators at most, and how many others
// there are.
#define SOURCES_TEXT 1024
const char *sources_text(const struct sources *sources, const struct node_sources *node,
                         char buffer[SOURCES_TEXT]);
// "conv2d + relu": their types.
const char *sources_types(const struct sources *sources, const struct node_sources *node,
                          char buffer[SOURCES_TEXT]);

#endif
