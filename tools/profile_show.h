// SPDX-License-Identifier: Apache-2.0
//
// What the profile of a graph looks like: a table, JSON, a trace for chrome://tracing or ui.perfetto.dev.

#ifndef TOOLS_PROFILE_SHOW_H_
#define TOOLS_PROFILE_SHOW_H_

#include "lib/status.h"
#include "tools/sources.h"

#include <cjson/cJSON.h>

#include <stdio.h>

// What has been measured, with the graph as a whole, unless that is NULL; to be freed with free().
WNNNodeProfile *profile_nodes(WNNGraph graph, WNNGraphProfile *whole, size_t *count);

// Prints the operators of the model, those that take longest first, with what was fused together in one line
// and the nodes below it where there are several; and then the same by the types of operators.
void profile_print(WNNGraph graph, const struct sources *sources);

// Adds what profile_print shows: the array "profile" of one object a node, in the order of execution, and the
// arrays "profile_operators" and "profile_types", the longest first.
void profile_add_json(cJSON *object, WNNGraph graph, const struct sources *sources);

// A JSON array of complete events, one for each node of each execution and one for the execution.
struct trace {
    FILE *file; // NULL: no trace is written
    const char *path;
    uint64_t origin; // of the first event
    bool begun;
};
bool trace_open(struct trace *trace, const char *path, struct error *error); // "-": standard output
void trace_add(struct trace *trace, WNNGraph graph); // the last execution that was profiled
bool trace_close(struct trace *trace, struct error *error);

#endif
