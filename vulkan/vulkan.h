// SPDX-License-Identifier: Apache-2.0
#ifndef VULKAN_VULKAN_H_
#define VULKAN_VULKAN_H_

#include "compiler/backend.h"

// Every operator as compute pipelines on the best device that Vulkan offers.
extern const struct backend wnn_backend_vulkan;

// The same for tests: uses nothing that a device may lack, writes all shapes into the shaders, and moves
// every byte through staging memory.
extern const struct backend wnn_backend_vulkan_minimal;

#endif
