// SPDX-License-Identifier: Apache-2.0
#ifndef VULKAN_NORMALIZATION_H_
#define VULKAN_NORMALIZATION_H_

#include "vulkan/program/shader.h"

// What softmax is of: elements times a scale, plus a mask that broadcasts to them.
struct softmax_input {
    double scale;
    const struct tensor *mask; // NULL: none
    bool zero_nan;             // results that are NaN are zeros
};

// softmax of that along the last axis, in place; scratch memory for so many rows of so many members.
void wnn_lower_softmax_of(struct lowering *lowering, const struct tensor *tensor,
                          const struct softmax_input *input);
size_t wnn_scratch_of_softmax_of(size_t rows, size_t members);

#endif
