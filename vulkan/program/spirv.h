// SPDX-License-Identifier: Apache-2.0
//
// What the packaged GLSL compiler cannot say, put into its SPIR-V afterwards. GL_EXT_spirv_intrinsics
// declares any type by number, but only numbers may be arguments of types: where OpTypeCooperativeMatrixKHR
// wants the id of the type of its components, shaders write one of the numbers below.

#ifndef VULKAN_SPIRV_H_
#define VULKAN_SPIRV_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Greater than any id can be in a module that anybody writes.
#define SPIRV_FLOAT16  0x7F000016u
#define SPIRV_FLOAT32  0x7F000032u
#define SPIRV_BFLOAT16 0x7FB00016u

// Whether something is left to be completed. A module that is not well-formed has nothing.
bool wnn_spirv_incomplete(const uint32_t *words, size_t count);

// Copies a module to `out`, which has room for SPIRV_GROWTH words more; the numbers become the ids of types,
// which are declared before their first use. Returns the number of words; 0: the module is not well-formed.
#define SPIRV_GROWTH 16
size_t wnn_spirv_complete(const uint32_t *words, size_t count, uint32_t *out);

#endif
