// SPDX-License-Identifier: Apache-2.0
#ifndef VULKAN_NORMALIZATION_H_
#define VULKAN_NORMALIZATION_H_

#include "vulkan/shader.h"

// What softmax is of: elements times a scale, plus a mask that broadcasts to them.
struct softmax_input {
    double scale;
    const struct tensor *mask; // NULL: none
};

// softmax of that along the last axis, in place; scratch memory as for wnn_lower_last_softmax.
void wnn_lower_softmax_of(struct lowering *lowering, const struct tensor *tensor,
                          const struct softmax_input *input);

#endif
