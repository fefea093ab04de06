// SPDX-License-Identifier: Apache-2.0
//
// How passes let a node compute operators of single elements along with its own (node.fused).

#ifndef COMPILER_FUSE_H_
#define COMPILER_FUSE_H_

#include "compiler/rewrite.h"
#include "ops/expression.h"

// What is to be fused, and where.
struct fusion {
    unsigned at;              // an input of the node that has nothing fused, or WNN_AT_OUTPUT
    const struct node *chain; // one operator of single elements with nothing fused, or WNN_OP_elementwise
    const struct operand *element; // the input of the chain that stands for the element
};

// Fuses all of it with a node, if the backend can compute that: *done. At the output it comes behind what is
// fused there. What the chain made, and who uses it, is left as it was. False: out of memory, and `error`
// says so.
bool wnn_fuse(struct pass_context *context, struct graph *graph, struct node *node, unsigned count,
              const struct fusion *fusions, bool *done);

// Gives the operator of a node `in_count` inputs, of which those that it had not are NULL, and moves the
// operands of what is fused behind them. False: out of memory.
bool wnn_fuse_widen(struct graph *graph, struct node *node, unsigned in_count);

#endif
