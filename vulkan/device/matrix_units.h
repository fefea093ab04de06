// SPDX-License-Identifier: Apache-2.0
//
// The matrix units of a device: their sizes, and what its creation has to ask for.

#ifndef VULKAN_DEVICE_MATRIX_UNITS_H_
#define VULKAN_DEVICE_MATRIX_UNITS_H_

#include "vulkan/device/device.h"

#define COOPERATIVE_EXTENSIONS 2

// What the creation of a device asks for.
struct cooperative_features {
    const void *chain; // for VkDeviceCreateInfo; NULL: nothing
    const char *extensions[COOPERATIVE_EXTENSIONS];
    uint32_t extension_count;
    struct { // as in VkBaseInStructure; not in headers as old as Debian's
        VkStructureType type;
        void *next;
        VkBool32 cooperative, robust;
    } matrices;
    struct {
        VkStructureType type;
        void *next;
        VkBool32 bfloat16, dot_product, cooperative;
    } bfloat16;
    VkPhysicalDeviceShaderFloat16Int8Features half;
    VkPhysicalDeviceVulkanMemoryModelFeatures memory;
};

// Finds out what the physical device has, notes it in the capabilities, and what has to be asked for.
void wnn_cooperative_query(struct gpu *gpu, struct cooperative_features *features);

// Tests: makes every product that can be one of these, on a device without matrix units by emulated ones.
void wnn_cooperative_emulate(struct gpu *gpu);

#endif
