// SPDX-License-Identifier: Apache-2.0
//
// What is known of the elements of operands before anything is executed: those of small constants, of shapes,
// and of what operators compute of them. So an operand can say which sizes another operator makes
// (ops/shaping.c), while a graph is recorded as far as sizes are known then, and again when all are.

#ifndef OPS_VALUES_H_
#define OPS_VALUES_H_

#include "ops/op.h"

// Elements of one operand. Floats are scales of axes; more are weights.
#define WNN_MAX_VALUES 64
#define WNN_MAX_REALS  WNN_MAX_RANK

// An element: a number of the operand's data type, or what it is as an amount of sizes. Neither: only known
// sizes will tell.
struct value {
    WNNNumber number; // WNNNumberType_Undefined: not known yet
    const struct amount *amount;
};

struct values {
    size_t count;
    const struct value *items; // NULL: it is not even known how many there are, or nothing is known of them
};

// What is known of the elements of an operand; *values is NULL if they depend on data, or are too many.
// False: no memory.
bool wnn_values_of(struct op_call *call, const struct operand *operand, const struct values **values);

// Computes those of a call's outputs, which have been inferred, into call->values. False: no memory.
bool wnn_values_infer(struct op_call *call);

// Lets the outputs of a node have these, if they are not NULL. False: no memory.
bool wnn_keep_values(struct node *node, const struct values *values);

#endif
