// SPDX-License-Identifier: Apache-2.0
//
// The node that the compiler makes of operators of single elements which make something of one another, for
// tests and benchmarks that call kernels directly.

#ifndef CONFORMANCE_CHAIN_H_
#define CONFORMANCE_CHAIN_H_

#include "ops/op.h"

struct chain {
    struct node node; // elementwise
    struct operand *in[WNN_ELEMENTWISE_INPUTS], *out[WNN_ELEMENTWISE_STEPS];
    struct operand *results[WNN_ELEMENTWISE_STEPS]; // of the steps
    struct elementwise_attrs attrs;
    struct elementwise_step steps[WNN_ELEMENTWISE_STEPS];
};

// A constant without dimensions, of float32 or float16.
WNNOperand make_scalar(WNNGraphBuilder builder, WNNDataType type, double value);

// Of everything that `result` is computed of. The chain is not to be moved.
void make_chain(struct chain *chain, struct operand *result);

// Makes what a step computes another output.
void add_output(struct chain *chain, struct operand *result);

#endif
