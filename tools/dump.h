// SPDX-License-Identifier: Apache-2.0
//
// `webnn run --dump`: values of nodes, inputs and constants as .npy files in a folder.

#ifndef TOOLS_DUMP_H_
#define TOOLS_DUMP_H_

#include "tools/subject.h"
#include "tools/node_values.h"

struct dump_options {
    const char **names; // or "all": every input and every output of a node
    size_t count, capacity;
    const char *folder;
};

struct dump_item {
    struct string name;
    const struct operand *operand;
    char *path;
    struct run_port *port; // of the graph; NULL: it is a constant
};

struct dump {
    struct node_values values;
    struct dump_item *items;
    size_t count, capacity;
    bool *taken;         // by operand: it is among the items
    size_t output_count; // of the graph, before those of the dump
};

// Finds what is to be written, and makes outputs of the model of it. Nothing is done if no names are given.
bool dump_begin(struct dump *dump, const struct dump_options *options, struct model *model,
                struct error *error);
void dump_end(struct dump *dump); // before the model; of one that has not begun, too, if it is zero

// Lets the graph's inputs and outputs go to their files.
void dump_connect(struct dump *dump, struct subject *subject);

// Writes the files, after the last of several values; and tells which they are.
bool dump_write(const struct dump *dump, size_t items, struct error *error);
void dump_show(const struct dump *dump);

#endif
