// SPDX-License-Identifier: Apache-2.0
#ifndef VULKAN_VULKAN_H_
#define VULKAN_VULKAN_H_

#include "compiler/backend.h"

// Every operator as compute pipelines on the best device that Vulkan offers.
extern const struct backend wnn_backend_vulkan;

// The same for tests: uses nothing that a device may lack, writes all shapes into the shaders, and moves
// every byte through staging memory.
extern const struct backend wnn_backend_vulkan_minimal;
// Tests: all products on matrix units, emulated ones if need be.
extern const struct backend wnn_backend_vulkan_matrices;

// A state of either backend on a device that is opened so (vulkan/device/device.h): for tests.
struct gpu_origin;
bool wnn_vulkan_create(const struct backend_options *options, const struct gpu_origin *origin, void **state,
                       struct error *error);

#endif
