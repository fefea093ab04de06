// SPDX-License-Identifier: Apache-2.0
//
// Matrix units: what a device has of them, and products that use them. Of float16 with one rounding at the
// end; of float32 by pieces, at least as exact as sums of float32. Whoever cannot be served so gets false,
// and takes another way.

#ifndef VULKAN_COOPERATIVE_H_
#define VULKAN_COOPERATIVE_H_

#include "vulkan/ops/gemm.h"

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

// How many tiles there are for each type.
#define COOPERATIVE_TILES 4

// Appends the dispatches; false: nothing has been appended.
bool wnn_lower_cooperative(struct lowering *lowering, const struct product *product);

#endif
