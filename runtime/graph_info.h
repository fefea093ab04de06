// SPDX-License-Identifier: Apache-2.0
//
// What a built graph tells about itself (wnnGraphGetInfo, wnnGraphGetNodes): noted while it is built, and
// kept when its executable is gone.

#ifndef RUNTIME_GRAPH_INFO_H_
#define RUNTIME_GRAPH_INFO_H_

#include "compiler/plan.h"
#include "lib/status.h"
#include "lib/string_pool.h"

struct graph_info {
    WNNGraphInfo info;
    struct node_record {
        uint16_t op; // enum op
        struct string label;
        const char *kernel, *reason; // static text, or NULL
        uint64_t bytes, operations;  // of one execution
    } * nodes;                       // info.nodeCount; in the graph's arena
    struct string_pool *strings;     // where the labels lie
    uint64_t begin, compiled;        // CLOCK_MONOTONIC
    const char *part;                // of the build, in a trace; NULL: none has begun
};

// Of a build, in this order. The graph has its context, arena and backend.
// `id`: of the graph, for a trace.
void wnn_graph_info_begin(WNNGraph graph, const struct graph *recorded, uint64_t id);
bool wnn_graph_info_compiled(WNNGraph graph, const struct plan *plan, struct error *error);
void wnn_graph_info_lowered(WNNGraph graph); // which has its plan and executable
void wnn_graph_info_failed(WNNGraph graph);  // instead of what has not been called yet

void wnn_graph_info_free(WNNGraph graph);

#endif
