// SPDX-License-Identifier: Apache-2.0
//
// What happens to a node when its images [N, C, H, W] are turned to [N, H, W, C].

#ifndef COMPILER_LAYOUT_RULES_H_
#define COMPILER_LAYOUT_RULES_H_

#include "compiler/rewrite.h"

enum layout_role {
    LAYOUT_FIXED,   // stays as it is
    LAYOUT_CARRIER, // does as well with turned images as with others
    LAYOUT_ANCHOR,  // has its channels second, where the backend wants them last
};

// wnn_layout_axis[a] is where dimension a of an image is after it has been turned; dimension i of a turned
// image is dimension wnn_layout_permutation[i] of the image.
extern const uint32_t wnn_layout_axis[4], wnn_layout_permutation[4];

enum layout_role wnn_layout_role(const struct node *node);

// Whether input i, output i of a node that is turned are turned. Inputs of element-wise operators broadcast,
// and can have less than four dimensions.
bool wnn_layout_turns_input(const struct node *node, unsigned i);
bool wnn_layout_turns_output(const struct node *node, unsigned i);

// Rewrites the attributes. False: out of memory.
bool wnn_layout_turn_attrs(struct graph *graph, struct node *node);

#endif
