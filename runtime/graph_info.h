// SPDX-License-Identifier: Apache-2.0
//
// What a built graph tells about itself (wnnGraphGetInfo, wnnGraphGetNodes): noted while it is built, and
// kept when its executable is gone.

#ifndef RUNTIME_GRAPH_INFO_H_
#define RUNTIME_GRAPH_INFO_H_

#include "runtime/internal.h"

// Of a build, in this order. The graph has its context, arena and backend.
// `id`: of the graph, for a trace.
void wnn_graph_info_begin(WNNGraph graph, const struct graph *recorded, uint64_t id);
bool wnn_graph_info_compiled(WNNGraph graph, const struct plan *plan, struct error *error);
void wnn_graph_info_lowered(WNNGraph graph); // which has its plan and executable
void wnn_graph_info_failed(WNNGraph graph);  // instead of what has not been called yet

void wnn_graph_info_free(WNNGraph graph);

#endif
