// SPDX-License-Identifier: Apache-2.0
//
// From a recorded graph to one that runs: what builds (build.c) and specializations (late.c) have in common.

#ifndef RUNTIME_COMPILE_H_
#define RUNTIME_COMPILE_H_

#include "compiler/resolve.h"
#include "runtime/internal.h"

struct compile_job {
    struct graph *graph; // which the compiler takes over
    bool *compiled;      // set when it does
    const struct compile_settings *settings;
    const struct interrupt *interrupt;
    uint64_t flow;     // of the build in a trace, or 0
    bool savable;      // what saving needs is kept
    bool recompilable; // what was recorded, too, of a graph that is built
    bool weightless;   // what saving needs is kept, but for the bytes of constants that have an origin
    bool may_lack;     // constants may stay promised, so that the graph can be saved but not run
    bool loaded;       // the graph has been through the passes
    // That it shares with others of its recorded graph, or NULL; and with whom the host says, or NULL.
    struct derived *derived;
    WNNSharedWeights shared;
    struct workspace *workspace;
    const struct resolver *resolver; // who has the bytes of promised constants; find NULL: nobody; never NULL
};

// What a host has chained: that it is complete, and who is asked while a request runs.
bool wnn_check_source(const WNNChainedStruct *chain, const char *what, struct error *error);
struct resolver wnn_resolver_of(WNNContext context, const WNNConstantSource *source,
                                const struct request *request, bool portable);

// A graph without an executable, with the ports of `source`; NULL: no memory.
WNNGraph wnn_graph_create(WNNContext context, const struct graph *source, struct error *error);

// What is done once to a graph with sizes that are not known, which stays the job's.
bool wnn_graph_compile_recorded(WNNContext context, const struct compile_job *job, struct error *error);

// Whether all constants of what has been compiled are there, or will be, or need not be: then the graph is
// one that can only be saved.
bool wnn_graph_check_promises(WNNGraph graph, const struct compile_job *job, const struct graph *compiled,
                              struct error *error);

// Gives it a plan and an executable. One at a time (queue.builder_busy).
bool wnn_graph_compile(WNNContext context, const struct compile_job *job, WNNGraph graph,
                       struct error *error);

// The graph becomes the request's if it was made, and is let go otherwise, as is what was taken for it.
// Returns whether the context goes on.
bool wnn_graph_hand_over(WNNContext context, struct request *request, WNNGraph graph, bool made);

// Lets the context know that there is an executable to be released.
void wnn_graph_publish(WNNGraph graph);

#endif
