// SPDX-License-Identifier: Apache-2.0
//
// Images in shaders.

#ifndef VULKAN_IMAGE_H_
#define VULKAN_IMAGE_H_

#include "ops/geometry.h"
#include "vulkan/program/shader.h"

// Declares the sizes of images, and the steps of the first; and how a window moves over it.
void wnn_shader_images(struct shader *shader, const struct image *in, const struct image *out);
void wnn_shader_windows(struct shader *shader, const uint32_t *padding, const uint32_t *strides,
                        const uint32_t *dilations);

#endif
