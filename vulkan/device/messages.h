// SPDX-License-Identifier: Apache-2.0
//
// What the loader, layers and drivers have to say (VK_EXT_debug_utils), for the host's log.

#ifndef VULKAN_MESSAGES_H_
#define VULKAN_MESSAGES_H_

#include "vulkan/device/device.h"

// Whether the instance that is about to be created should have the extension. `info` goes to its pNext then,
// for what is said while it is created and destroyed.
bool wnn_messages_prepare(struct gpu *gpu, VkDebugUtilsMessengerCreateInfoEXT *info);

// For what is said between: without success there is less to read, and nothing else.
void wnn_messages_open(struct gpu *gpu, const VkDebugUtilsMessengerCreateInfoEXT *info);
void wnn_messages_close(struct gpu *gpu);

#endif
