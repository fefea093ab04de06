// SPDX-License-Identifier: Apache-2.0
//
// Where two sides part: the values of all nodes are computed on both, as outputs of graphs of their own, and
// compared in order.

#ifndef TOOLS_COMPARE_NODES_H_
#define TOOLS_COMPARE_NODES_H_

#include "tools/array_set.h"
#include "tools/difference.h"
#include "tools/side.h"

#include <cjson/cJSON.h>

// A value that both sides have.
struct node_pair {
    const struct node_value *value, *other; // other NULL: an array is expected instead
    const struct named_array *expected;
    struct difference difference;
    bool compared;
};

struct node_comparison {
    struct side *side, *other; // borrowed; `other` NULL: arrays are expected
    struct node_values values, other_values;
    struct node_pair *pairs; // in the order in which `side` computes them
    size_t count;
    size_t compared;               // of them, which is all before `first` or all
    const struct node_pair *first; // that is beyond tolerance; NULL: none
    bool done;
};

// Compares what the sides make of the inputs that they have now, or with the arrays' value `item`; all values
// or those up to the first that parts.
bool compare_nodes(struct node_comparison *comparison, struct side *side, struct side *other,
                   const struct array_set *expected, size_t item, const struct tolerances *tolerances,
                   bool all, struct error *error);
void compare_nodes_end(struct node_comparison *comparison); // before the sides close

void compare_nodes_show(const struct node_comparison *comparison, bool all, bool outputs_part);
cJSON *compare_nodes_json(const struct node_comparison *comparison, bool all);

#endif
