// SPDX-License-Identifier: Apache-2.0
//
// Images: tensors of rank 4, in either layout.

#ifndef VULKAN_IMAGE_H_
#define VULKAN_IMAGE_H_

#include "vulkan/program/shader.h"

struct image {
    bool nhwc;
    uint32_t batches, channels, height, width;
    uint32_t n, c, y, x; // steps of elements
};

struct image wnn_image_of(const struct shape *shape, WNNInputOperandLayout layout);

// Declares their sizes, and the steps of the first; and how a window moves over it.
void wnn_shader_images(struct shader *shader, const struct image *in, const struct image *out);
void wnn_shader_windows(struct shader *shader, const uint32_t *padding, const uint32_t *strides,
                        const uint32_t *dilations);

#endif
