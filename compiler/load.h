// SPDX-License-Identifier: Apache-2.0
//
// What the two halves of reading a stored plan share: load.c has the file, load_node.c what the passes have
// made of nodes.

#ifndef COMPILER_LOAD_H_
#define COMPILER_LOAD_H_

#include "compiler/stored.h"
#include "ops/cursor.h"

struct reader {
    const struct load *load;
    struct graph *graph; // operands have the numbers that they have in the file
    struct arena arena;  // of one node
    struct cursor head;  // a copy that nobody else can change
    struct stored_weights *blobs;
    size_t blob_count, node_count;
    bool late;           // there is no plan
    uint32_t made_count; // nodes of constants that are made of others
    uint64_t made_work;
    struct error *error;
};

#define FAIL(reader, ...) wnn_fail((reader)->error, WNNStatus_TypeError, "load: " __VA_ARGS__)

// Fails if the cursor has a problem.
bool wnn_load_check(struct reader *reader);

// A number of the file that stands for an operand that exists; NULL: there is none, and the cursor has a
// problem.
struct operand *wnn_load_operand(struct reader *reader, uint32_t number);

// A data type and a shape within the limits; `what` has it. False: an error.
bool wnn_load_type(struct reader *reader, const char *what, struct descriptor *type);

// A name or label, kept by the graph.
bool wnn_load_string(struct reader *reader, const char *what, struct string *string);

// Appends the next node, with everything inferred that can be.
bool wnn_load_node(struct reader *reader);

// Whether the backend does all that is asked of it for this node, when the graph is complete.
bool wnn_load_admit(struct reader *reader, struct node *node);

#endif
