// SPDX-License-Identifier: Apache-2.0
#ifndef VULKAN_OPS_ROTARY_H_
#define VULKAN_OPS_ROTARY_H_

#include "vulkan/program/shader.h"

// rotated_at(i): element i of what a rotaryEmbedding makes that is deferred.
void wnn_shader_rotated(struct shader *shader, const struct deferred *deferred);

#endif
