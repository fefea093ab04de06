// SPDX-License-Identifier: Apache-2.0
//
// What the expressions that are fused with a node (struct expression) amount to, for backends that have
// kernels for some and not for all.

#ifndef OPS_EXPRESSION_H_
#define OPS_EXPRESSION_H_

#include "ops/op.h"

// An epilogue that is at most an addition, an activation and quantizeLinear, in this order.
struct epilogue {
    unsigned addend;              // in node.in: what is added; 0: nothing
    struct activation activation; // attrs NULL: none
    unsigned scale;               // in node.in: of quantizeLinear, the zero point is behind it; 0: none
    bool other;                   // it is something else
};
struct epilogue wnn_epilogue(const struct node *node);

// Where the scale of the dequantizeLinear that input i goes through stands in node.in; the zero point is
// behind it. 0: it goes through nothing, or something else.
unsigned wnn_prologue_scale(const struct node *node, unsigned i);

// Whether anything is fused at an input, or quantizeLinear at the output.
bool wnn_is_quantized(const struct node *node);

#endif
