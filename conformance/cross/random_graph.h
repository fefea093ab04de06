// SPDX-License-Identifier: Apache-2.0
//
// A random graph: what is on its builder, and what is known of the values.

#ifndef CONFORMANCE_CROSS_RANDOM_GRAPH_H_
#define CONFORMANCE_CROSS_RANDOM_GRAPH_H_

#include "ops/op.h"

#define MAX_VALUES 256

// An operand, with what is known of its elements.
struct value {
    WNNOperand operand;
    struct descriptor type;
    double low, high; // of floats
    bool exact;       // every implementation gets the same bits
    bool rounded;     // an integer that may be off by one; not used any further
    bool used;
};

// What may be in a graph.
struct random_kind {
    bool flushed; // no denormal numbers: devices may take them for 0
    bool small;   // no large operands: they are written down
    bool hostile; // floats are anything, whatever operators they reach, and much of it can be fused
    bool edges;   // sizes are those at which kernels cut their loops, as they are now and then otherwise
};

struct random_graph {
    uint64_t random; // the state of the generator
    WNNGraphBuilder builder;
    struct value values[MAX_VALUES];
    size_t value_count;
    struct random_input {
        char name[16];
        struct descriptor type;
        void *data;
        size_t bytes;
    } inputs[MAX_VALUES];
    size_t input_count;
    struct random_output {
        char name[16];
        const struct value *value;
    } outputs[MAX_VALUES];
    size_t output_count;
    size_t most_elements; // of a new operand, or so; what is made of it has some times as many
    unsigned most_rank;   // likewise
    struct random_kind kind;
    bool empty;                  // sizes may be 0
    bool edges;                  // sizes are those at which kernels cut their loops
    bool special;                // floats include NaN, infinities and such; all operators are exact ones
    unsigned uses[WNN_OP_COUNT]; // how often each operator was recorded
    enum op dynamic;             // by which operator its sibling is to be recorded; WNN_OP_COUNT: as it is
    bool refused;                // the builder has an error: a mistake of this generator, or of the builder
};

// The operator that does what `op` does with sizes that are operands, or WNN_OP_COUNT; its attributes, but
// for operands, made of those of `op`; and the list that an input of it has there. False: none.
enum op wnn_random_dynamic_form(enum op op);
void wnn_random_dynamic_attrs(enum op form, const void *attrs, void *into);
bool wnn_random_dynamic_list(enum op form, const struct op_row *row, const void *attrs, WNNUint32List *list);

#endif
