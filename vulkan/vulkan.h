// SPDX-License-Identifier: Apache-2.0
#ifndef VULKAN_VULKAN_H_
#define VULKAN_VULKAN_H_

#include "compiler/backend.h"

// Every operator as compute pipelines on the best device that Vulkan offers.
extern const struct backend wnn_backend_vulkan;

// A state of the backend on a device that is opened so (vulkan/device/open.h): for tests.
struct gpu_origin;
bool wnn_vulkan_create(const struct backend_options *options, const struct gpu_origin *origin, void **state,
                       struct error *error);

#endif
