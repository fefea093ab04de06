// SPDX-License-Identifier: Apache-2.0
//
// What shaders that use the matrix units of the device are told of them.

#ifndef VULKAN_OPS_MATRIX_UNITS_H_
#define VULKAN_OPS_MATRIX_UNITS_H_

#include "vulkan/program/shader.h"

// Extensions, and as macros the kind of the units, the sizes and components of matrices, of float16 (`half`)
// or bfloat16, and of a subgroup; with them the text of matrices.comp.
void wnn_shader_matrices(struct shader *shader, bool half);

#endif
