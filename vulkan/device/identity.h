// SPDX-License-Identifier: Apache-2.0
//
// Who a device is: the ids, names and versions of its vendor and its driver, and what they mean.

#ifndef VULKAN_IDENTITY_H_
#define VULKAN_IDENTITY_H_

#include "vulkan/device/device.h"

enum {
    GPU_VENDOR_NVIDIA = 0x10DE
};

// Fills in what the physical device says of itself. Not `usable`, `index`, `deviceType` and `nextInChain`,
// which are left as they are; all else must be zero.
void wnn_gpu_identify(struct gpu *gpu, VkPhysicalDevice physical, WNNDeviceInfo *info);

// The name of a vendor by its PCI or Khronos id: static text, or NULL.
const char *wnn_gpu_vendor_name(uint32_t vendor);

// Writes the version of a driver as its vendor counts. `driver` is a VkDriverId, 0 where that is not known.
void wnn_gpu_driver_version(uint32_t vendor, uint32_t driver, uint32_t version, struct text *text);

#endif
