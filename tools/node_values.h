// SPDX-License-Identifier: Apache-2.0
//
// The values that the nodes of a model compute, as it was recorded, by name. Any of them can be made an
// output of the graph, on every backend: what the compiler would fuse across it is computed apart then.

#ifndef TOOLS_NODE_VALUES_H_
#define TOOLS_NODE_VALUES_H_

#include "tools/model.h"
#include "tools/name_table.h"

// An output of a node. Its name is the one that the model gives the operand, or the output that it is; else
// its label, with "~1", "~2" and so on where others have it, too, but for the last of them.
struct node_value {
    struct string name; // unique
    // The node's label, or without one the operator, with ".1" and so on for its further outputs. The nodes
    // that one of ONNX becomes have the same.
    struct string label;
    const struct node *node;
    const struct operand *operand;
    bool is_model_name; // otherwise the name is made of the label
    bool has_label;     // and no operator in its place
    size_t same;        // how many values have the label or operator
};

struct node_values {
    struct node_value *items; // in the order in which they are computed
    size_t count, capacity;
    struct name_table names, labels; // names have the numbers of values
    const struct node_value **last;  // of each label
    struct arena arena;              // of names
};

// The outputs of the nodes that the model's outputs depend on, to be freed before the model.
void node_values_collect(struct node_values *values, struct model *model);
void node_values_free(struct node_values *values); // of ones that were not collected, too, if they are zero

// NULL if there is none; of a label the last value.
const struct node_value *node_values_find(const struct node_values *values, struct string name);
const struct node_value *node_values_labelled(const struct node_values *values, struct string label);
const struct node_value *node_values_of(const struct node_values *values, const struct operand *operand);

#endif
