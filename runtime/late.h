// SPDX-License-Identifier: Apache-2.0
//
// Graphs with sizes that are not known before they run. Such a graph keeps what was recorded, and a few
// specializations: graphs of known sizes, each compiled when its sizes come for the first time, of which the
// one that was used least recently goes when there are too many. An execution is one of a specialization;
// nothing else of the runtime knows.

#ifndef RUNTIME_LATE_H_
#define RUNTIME_LATE_H_

#include "runtime/internal.h"

// Makes `graph` one of these, and takes `recorded` over; `shared`: with whom the host says that it shares
// weights, or NULL. False: no memory, and it is still the caller's.
bool wnn_late_create(WNNGraph graph, struct graph *recorded, const struct compile_settings *settings,
                     WNNSharedWeights shared, struct error *error);

// The specialization for inputs of these shapes, by slot, with a reference; NULL: `error` says why there is
// none. It may still have to be compiled: by the builder, or by who waits for it. Any thread.
WNNGraph wnn_late_specialize(WNNGraph graph, const struct shape *shapes, struct error *error);

// Nobody will wait for a specialization that was to be waited for. Any thread.
void wnn_late_give_up(WNNGraph specialization);

// What the specializations share, while none is being compiled.
struct derived_size wnn_late_derived(WNNGraph graph);

// What a size of the graph is; false: none.
bool wnn_late_describe(WNNGraph graph, uint32_t size, WNNDimension *dimension);

// Computes the descriptors of outputs, by slot, for inputs of these shapes.
bool wnn_late_outputs(WNNGraph graph, const struct shape *shapes, struct descriptor *outputs,
                      struct error *error);

// The specializations that have an executable, each with a reference, in memory of the context's allocator;
// NULL: there is none.
WNNGraph *wnn_late_ready(WNNGraph graph, size_t *count);

// Waits until a specialization has its executable. False: `error` says why it has none.
bool wnn_late_wait(WNNGraph specialization, const struct interrupt *interrupt, struct error *error);

#endif
