// SPDX-License-Identifier: Apache-2.0
//
// Inputs and outputs of a model as operands of the builder.

#ifndef TOOLS_MODEL_INPUTS_H_
#define TOOLS_MODEL_INPUTS_H_

#include "tools/model/tensor.h"

struct model_dimension {
    int64_t size;      // less than 0: symbolic
    struct bytes name; // of one that is symbolic, or empty
    int64_t usual;     // of one that is symbolic, where the options give none; less than 1: they have to
};

// An input as the model describes it.
struct model_input {
    struct bytes name;
    int64_t type; // enum element_type
    bool has_shape;
    size_t rank;
    const struct model_dimension *dims;
};

// An input of the builder, or a constant where the options give its elements; sizes that the model leaves
// open are those of the options, or stay names where the recording allows it. NULL: an error.
struct tensor *make_input(struct recording *r, const WNNModelRecordOptions *options,
                          const struct model_input *input);

// The operand of an output, which is one of its own: never an input, a constant, or another output. NULL: an
// error.
WNNOperand output_operand(struct recording *r, struct tensor *t);

#endif
