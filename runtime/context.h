// SPDX-License-Identifier: Apache-2.0
//
// What tests and tools of this repository can do beyond the public API.

#ifndef RUNTIME_CONTEXT_H_
#define RUNTIME_CONTEXT_H_

#include "compiler/compile.h"

// A context on any backend, whatever the descriptor's device type says.
WNNStatus wnn_create_context_on(const struct backend *backend, const WNNContextDescriptor *descriptor,
                                WNNContext *context);

// What the backend of the context computes on, "NVIDIA H200"; its own name where it does not say.
const char *wnn_context_device(WNNContext context);
// How many threads compute, this library's or the host's.
uint32_t wnn_context_threads(WNNContext context);
// Whether that takes denormal numbers for 0 when it computes.
bool wnn_context_flushes_denormals(WNNContext context);

// Passes to skip (bits of wnn_pass_names) and an observer for the graphs that the context builds from now on.
// Verifying is on in debug builds and can be turned on here.
void wnn_context_set_compile_options(WNNContext context, uint32_t skip, bool verify,
                                     void (*observe)(void *argument, const char *pass,
                                                     const struct graph *graph),
                                     void *observer);

// Compiles graphs of known sizes as specializations of others are, from now on, so that they give the same
// bits.
void wnn_context_set_sharing(WNNContext context, bool shares);

// Who is told what the passes say of their patterns, on the thread that builds; explain NULL: nobody.
void wnn_context_set_explainer(WNNContext context, struct explainer explainer);

// The plan of a built graph: valid while the graph is held and neither it nor its context is destroyed.
const struct plan *wnn_graph_plan(WNNGraph graph);

// Lets somebody watch the executions of a graph that begin from now on; NULL: nobody. The observer is called
// where they run and must live until the executions that it saw begin have ended. No profile is made
// meanwhile.
void wnn_graph_watch(WNNGraph graph, const struct observer *observer);

#endif
