// SPDX-License-Identifier: Apache-2.0
#include "vulkan/device/device.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Errors
// ---------------------------------------------------------------------------------------------------------------

static const char *result_name(VkResult result)
{
    switch (result) {
#define NAME(name)                                                                                           \
    case name:                                                                                               \
        return #name
        NAME(VK_ERROR_OUT_OF_HOST_MEMORY);
        NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY);
        NAME(VK_ERROR_INITIALIZATION_FAILED);
        NAME(VK_ERROR_DEVICE_LOST);
        NAME(VK_ERROR_MEMORY_MAP_FAILED);
        NAME(VK_ERROR_LAYER_NOT_PRESENT);
        NAME(VK_ERROR_EXTENSION_NOT_PRESENT);
        NAME(VK_ERROR_FEATURE_NOT_PRESENT);
        NAME(VK_ERROR_INCOMPATIBLE_DRIVER);
        NAME(VK_ERROR_TOO_MANY_OBJECTS);
        NAME(VK_ERROR_FRAGMENTED_POOL);
        NAME(VK_ERROR_OUT_OF_POOL_MEMORY);
        NAME(VK_ERROR_INVALID_SHADER_NV);
        NAME(VK_TIMEOUT);
#undef NAME
    default:
        return "an unknown error";
    }
}

bool wnn_gpu_fail(struct gpu *gpu, VkResult result, const char *what, struct error *error)
{
    WNNStatus status = WNNStatus_UnknownError;
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
        result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL ||
        result == VK_ERROR_TOO_MANY_OBJECTS || result == VK_ERROR_MEMORY_MAP_FAILED)
        status = WNNStatus_OutOfMemory;
    if (result == VK_ERROR_INITIALIZATION_FAILED || result == VK_ERROR_INCOMPATIBLE_DRIVER ||
        result == VK_ERROR_LAYER_NOT_PRESENT || result == VK_ERROR_EXTENSION_NOT_PRESENT ||
        result == VK_ERROR_FEATURE_NOT_PRESENT)
        status = WNNStatus_NotSupportedError;
    if (result == VK_ERROR_DEVICE_LOST)
        gpu->lost = true;
    if (gpu->gone)
        return wnn_fail(error, status, "Vulkan: the process ends, and the device is gone (%s)", what);
    return wnn_fail(error, status, "Vulkan: %s gives %s (%d)", what, result_name(result), (int)result);
}

// ---------------------------------------------------------------------------------------------------------------
// Extensions and features
// ---------------------------------------------------------------------------------------------------------------

// The list is the caller's to release; NULL: there is none.
static VkExtensionProperties *list_all(const struct gpu *gpu, list_extensions list, uint32_t *count)
{
    *count = 0;
    VkResult result = list(gpu, count, NULL);
    VkExtensionProperties *all =
        result == VK_SUCCESS ? wnn_allocate(gpu->allocator, *count * sizeof all[0]) : NULL;
    if (all)
        result = list(gpu, count, all);
    if (!all || (result != VK_SUCCESS && result != VK_INCOMPLETE))
        *count = 0;
    return all;
}

static bool contains(const VkExtensionProperties *all, uint32_t count, const char *name)
{
    bool found = false;
    for (uint32_t i = 0; !found && i < count; i++)
        found = strcmp(all[i].extensionName, name) == 0;
    return found;
}

bool wnn_gpu_find_extension(const struct gpu *gpu, list_extensions list, const char *name)
{
    uint32_t count;
    VkExtensionProperties *all = list_all(gpu, list, &count);
    bool found = contains(all, count, name);
    wnn_release(gpu->allocator, all);
    return found;
}

static VkResult list_of_device(const struct gpu *gpu, uint32_t *count, VkExtensionProperties *all)
{
    return gpu->vk.EnumerateDeviceExtensionProperties(gpu->physical, NULL, count, all);
}

bool wnn_gpu_has_extension(struct gpu *gpu, const char *name)
{
    bool found = false;
    for (size_t i = 0; gpu->is_external && !found && i < gpu->external.enabledExtensionCount; i++)
        found = strcmp(gpu->external.enabledExtensions[i], name) == 0;
    if (gpu->is_external)
        return found;
    if (!gpu->extensions || gpu->listed != gpu->physical) {
        wnn_release(gpu->allocator, gpu->extensions);
        gpu->extensions = list_all(gpu, list_of_device, &gpu->extension_count);
        gpu->listed = gpu->physical;
    }
    return contains(gpu->extensions, gpu->extension_count, name);
}

// Structures of features, which are lists of booleans, as far as anybody asks for them: how many booleans,
// and where the first of them is in the structure that has those of Vulkan 1.2, in the same order; 0: not
// there.
struct feature_list {
    VkStructureType type;
    size_t count, place;
};
#define LIST(type, count, member)                                                                            \
    {                                                                                                        \
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type##_FEATURES, count,                                          \
            offsetof(VkPhysicalDeviceVulkan12Features, member)                                               \
    }
static const struct feature_list feature_lists[] = {
    LIST(TIMELINE_SEMAPHORE, 1, timelineSemaphore),
    LIST(SHADER_FLOAT16_INT8, 2, shaderFloat16),
    LIST(VULKAN_MEMORY_MODEL, 3, vulkanMemoryModel),
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES, 1, 0},
    {VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_NV, 2, 0},
    {(VkStructureType)GPU_TYPE_MATRIX_FEATURES, 2, 0},
    {(VkStructureType)GPU_TYPE_BFLOAT16_FEATURES, 3, 0}};

// Takes from the caller's features what they have of a structure.
static void read_enabled(const VkBaseInStructure *enabled, VkBaseOutStructure *asked)
{
    const struct feature_list *list = feature_lists;
    while (list < feature_lists + sizeof feature_lists / sizeof *list && list->type != asked->sType)
        list++;
    assert(list < feature_lists + sizeof feature_lists / sizeof *list);
    for (; enabled; enabled = enabled->pNext) {
        const char *from = (const char *)enabled;
        if (enabled->sType == list->type)
            from += sizeof *enabled;
        else if (enabled->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES && list->place)
            from += list->place;
        else
            continue;
        memcpy(asked + 1, from, list->count * sizeof(VkBool32));
        return;
    }
}

void wnn_gpu_get_features(const struct gpu *gpu, VkPhysicalDeviceFeatures2 *features)
{
    if (!gpu->is_external)
        gpu->vk.GetPhysicalDeviceFeatures2(gpu->physical, features);
    for (VkBaseOutStructure *asked = features->pNext; gpu->is_external && asked; asked = asked->pNext)
        read_enabled((const VkBaseInStructure *)gpu->external.enabledFeatures, asked);
}

void wnn_gpu_handles(const struct gpu *gpu, WNNVulkanHandles *handles)
{
    VkPhysicalDeviceIDProperties id = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &id};
    gpu->vk.GetPhysicalDeviceProperties2(gpu->physical, &properties);
    *handles = (WNNVulkanHandles){.instance = gpu->instance,
                                  .physicalDevice = gpu->physical,
                                  .device = gpu->device,
                                  .queueFamilyIndex = gpu->family};
    memcpy(handles->deviceUUID, id.deviceUUID, sizeof handles->deviceUUID);
    memcpy(handles->driverUUID, id.driverUUID, sizeof handles->driverUUID);
}

// ---------------------------------------------------------------------------------------------------------------
// Layouts
// ---------------------------------------------------------------------------------------------------------------

// With a word of push constants a buffer, and the parameters.
bool wnn_gpu_make_layouts(struct gpu *gpu, uint32_t buffers, struct error *error)
{
    buffers = wnn_gpu_layout(gpu, buffers);
    if (gpu->layouts[buffers])
        return true;
    VkDescriptorSetLayoutBinding bindings[GPU_BUFFERS];
    for (uint32_t i = 0; i < GPU_BUFFERS; i++)
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i,
                                                     .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                                     .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    const VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                 .bindingCount = buffers,
                                                 .pBindings = bindings};
    VkResult result = VK_SUCCESS;
    if (!gpu->set_layouts[buffers])
        result = gpu->vk.CreateDescriptorSetLayout(gpu->device, &set, NULL, &gpu->set_layouts[buffers]);
    if (result != VK_SUCCESS) {
        gpu->set_layouts[buffers] = VK_NULL_HANDLE;
        return wnn_gpu_fail(gpu, result, "vkCreateDescriptorSetLayout", error);
    }
    const VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                       (GPU_BUFFERS + gpu->can.max_push_constants) *
                                           (uint32_t)sizeof(uint32_t)};
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                               .setLayoutCount = 1,
                                               .pSetLayouts = &gpu->set_layouts[buffers],
                                               .pushConstantRangeCount = 1,
                                               .pPushConstantRanges = &range};
    result = gpu->vk.CreatePipelineLayout(gpu->device, &layout, NULL, &gpu->layouts[buffers]);
    if (result == VK_SUCCESS)
        return true;
    gpu->layouts[buffers] = VK_NULL_HANDLE;
    return wnn_gpu_fail(gpu, result, "vkCreatePipelineLayout", error);
}
