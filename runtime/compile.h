// SPDX-License-Identifier: Apache-2.0
//
// From a recorded graph to one that runs: what builds (build.c) and specializations (late.c) have in common.

#ifndef RUNTIME_COMPILE_H_
#define RUNTIME_COMPILE_H_

#include "runtime/internal.h"

struct compile_job {
    struct graph *graph; // which the compiler takes over
    bool *compiled;      // set when it does
    const struct compile_settings *settings;
    const struct interrupt *interrupt;
    uint64_t flow;             // of the build in a trace, or 0
    struct packings *packings; // that it shares with others, or NULL
};

// A graph without an executable, with the ports of `source`; NULL: no memory.
WNNGraph wnn_graph_create(WNNContext context, const struct graph *source, struct error *error);

// Gives it a plan and an executable, on the builder's thread.
bool wnn_graph_compile(WNNContext context, const struct compile_job *job, WNNGraph graph,
                       struct error *error);

// Lets the context know that there is an executable to be released.
void wnn_graph_publish(WNNGraph graph);

#endif
