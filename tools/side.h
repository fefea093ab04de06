// SPDX-License-Identifier: Apache-2.0
//
// One side of `webnn compare`: a model on a backend, with everything that it needs to run.

#ifndef TOOLS_SIDE_H_
#define TOOLS_SIDE_H_

#include "tools/node_values.h"
#include "tools/subject.h"

struct side {
    const char *graph; // its file or name
    const struct session_options *options;
    uint32_t skip; // passes of the compiler that are left out, as bits
    struct session session;
    struct model model;
    WNNGraph built;
    struct subject subject; // of `built`
};

// Reads and builds it; must be closed on failure, too.
bool side_open(struct side *side, struct error *error);
void side_close(struct side *side); // of one that was not opened, too, if it is zero

// The model built once more, with other outputs and the values that the inputs have now.
struct probe {
    WNNGraph graph;
    struct subject subject;
};
bool probe_open(struct probe *probe, struct side *side, size_t count, const WNNNamedOperand *outputs,
                struct error *error);
void probe_close(struct probe *probe);

#endif
