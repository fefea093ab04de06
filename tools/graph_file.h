// SPDX-License-Identifier: Apache-2.0
//
// Graph files: .webnn text with the weights in a .safetensors file, read into a builder and written back.
// Everything about operators comes from the operator table, so that a file can say exactly what the API can.

#ifndef TOOLS_GRAPH_FILE_H_
#define TOOLS_GRAPH_FILE_H_

#include "tools/graph_text.h"
#include "tools/model.h"

#include <stdio.h>

// Records the graph of a file. `weights` NULL: the file of the same name that ends in .safetensors. Its bytes
// are external to the library, not copied. Errors begin with "path:line:column: ".
bool graph_file_read(struct model *model, const char *path, const char *weights, struct error *error);

// Records one line of the nodes block (graph_call.c).
bool graph_call_record(struct model *model, const struct graph_text *text, struct arena *scratch,
                       const struct statement *statement, struct error *error);

// The key in the weights file of a constant that was read from one, or NULL. Valid as long as the model.
const char *graph_file_key(const struct constant *constant);

// The name nearest to `wanted` that `next` gives (NULL ends the names), if one is near enough to be
// meant.
const char *nearest_name(struct string wanted, const char *(*next)(void *argument), void *argument);

// Writes a model as a graph file (graph_write.c), and its weights too unless `weights` is NULL. Reading both
// back gives the same graph.
bool graph_file_write(const struct model *model, FILE *file, const char *weights, struct error *error);

#endif
