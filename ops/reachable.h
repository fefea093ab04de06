// SPDX-License-Identifier: Apache-2.0
//
// What outputs depend on.

#ifndef OPS_REACHABLE_H_
#define OPS_REACHABLE_H_

#include "lib/graph.h"

#include <webnn/webnn.h>

// Marks it: the mark of an operand is its link to itself, the links of others are NULL. An input counts among
// it also where only its sizes matter, unless another input that does tells them; so does a node that alone
// tells a size that others have. False: there is no memory.
bool wnn_mark_reachable(struct graph *graph, size_t count, const WNNNamedOperand *outputs);

#endif
