// SPDX-License-Identifier: Apache-2.0
//
// What the profile of a graph looks like: a table, JSON, a trace for chrome://tracing or ui.perfetto.dev.

#ifndef TOOLS_PROFILE_SHOW_H_
#define TOOLS_PROFILE_SHOW_H_

#include "lib/status.h"

#include <cjson/cJSON.h>

#include <stdio.h>

// What has been measured, with the graph as a whole, unless that is NULL; to be freed with free().
WNNNodeProfile *profile_nodes(WNNGraph graph, WNNGraphProfile *whole, size_t *count);

// Prints the nodes, those that take longest first.
void profile_print(WNNGraph graph);

// An array of one object a node, in the order of execution.
cJSON *profile_json(WNNGraph graph);

// A JSON array of complete events, one for each node of each execution and one for the execution.
struct trace {
    FILE *file; // NULL: no trace is written
    const char *path;
    uint64_t origin; // of the first event
    bool begun;
};
bool trace_open(struct trace *trace, const char *path, struct error *error);
void trace_add(struct trace *trace, WNNGraph graph); // the last execution that was profiled
bool trace_close(struct trace *trace, struct error *error);

#endif
