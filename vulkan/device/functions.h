// SPDX-License-Identifier: Apache-2.0
//
// Vulkan's functions, from a library that is opened at run time: nothing links to it.

#ifndef VULKAN_FUNCTIONS_H_
#define VULKAN_FUNCTIONS_H_

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h> // vulkan.h would be our own

// What vkGetInstanceProcAddr finds without an instance, with one, and what a device has.
#define VK_GLOBAL_FUNCTIONS(F)                                                                               \
    F(CreateInstance)                                                                                        \
    F(EnumerateInstanceVersion)

#define VK_INSTANCE_FUNCTIONS(F)                                                                             \
    F(CreateDevice)                                                                                          \
    F(DestroyInstance)                                                                                       \
    F(EnumerateDeviceExtensionProperties)                                                                    \
    F(EnumeratePhysicalDevices)                                                                              \
    F(GetDeviceProcAddr)                                                                                     \
    F(GetPhysicalDeviceExternalBufferProperties)                                                             \
    F(GetPhysicalDeviceFeatures2)                                                                            \
    F(GetPhysicalDeviceMemoryProperties)                                                                     \
    F(GetPhysicalDeviceProperties2)                                                                          \
    F(GetPhysicalDeviceQueueFamilyProperties)

#define VK_DEVICE_FUNCTIONS(F)                                                                               \
    F(AllocateCommandBuffers)                                                                                \
    F(AllocateDescriptorSets)                                                                                \
    F(AllocateMemory)                                                                                        \
    F(BeginCommandBuffer)                                                                                    \
    F(BindBufferMemory)                                                                                      \
    F(CmdBindDescriptorSets)                                                                                 \
    F(CmdBindPipeline)                                                                                       \
    F(CmdCopyBuffer)                                                                                         \
    F(CmdDispatch)                                                                                           \
    F(CmdDispatchBase)                                                                                       \
    F(CmdFillBuffer)                                                                                         \
    F(CmdPipelineBarrier)                                                                                    \
    F(CmdPushConstants)                                                                                      \
    F(CmdResetQueryPool)                                                                                     \
    F(CmdWriteTimestamp)                                                                                     \
    F(CreateBuffer)                                                                                          \
    F(CreateCommandPool)                                                                                     \
    F(CreateComputePipelines)                                                                                \
    F(CreateDescriptorPool)                                                                                  \
    F(CreateDescriptorSetLayout)                                                                             \
    F(CreateFence)                                                                                           \
    F(CreatePipelineCache)                                                                                   \
    F(CreatePipelineLayout)                                                                                  \
    F(CreateQueryPool)                                                                                       \
    F(CreateSemaphore)                                                                                       \
    F(CreateShaderModule)                                                                                    \
    F(DestroyBuffer)                                                                                         \
    F(DestroyCommandPool)                                                                                    \
    F(DestroyDescriptorPool)                                                                                 \
    F(DestroyDescriptorSetLayout)                                                                            \
    F(DestroyDevice)                                                                                         \
    F(DestroyFence)                                                                                          \
    F(DestroyPipeline)                                                                                       \
    F(DestroyPipelineCache)                                                                                  \
    F(DestroyPipelineLayout)                                                                                 \
    F(DestroyQueryPool)                                                                                      \
    F(DestroySemaphore)                                                                                      \
    F(DestroyShaderModule)                                                                                   \
    F(DeviceWaitIdle)                                                                                        \
    F(EndCommandBuffer)                                                                                      \
    F(FlushMappedMemoryRanges)                                                                               \
    F(FreeCommandBuffers)                                                                                    \
    F(FreeMemory)                                                                                            \
    F(GetBufferMemoryRequirements)                                                                           \
    F(GetDeviceQueue)                                                                                        \
    F(GetQueryPoolResults)                                                                                   \
    F(GetPipelineCacheData)                                                                                  \
    F(InvalidateMappedMemoryRanges)                                                                          \
    F(MapMemory)                                                                                             \
    F(QueueSubmit)                                                                                           \
    F(QueueWaitIdle)                                                                                         \
    F(ResetFences)                                                                                           \
    F(UpdateDescriptorSets)                                                                                  \
    F(WaitForFences)

// Of devices whose semaphores count; with KHR behind the name where that is an extension.
#define VK_TIMELINE_FUNCTIONS(F)                                                                             \
    F(GetSemaphoreCounterValue)                                                                              \
    F(WaitSemaphores)

// Of devices that share memory.
#define VK_SHARING_FUNCTIONS(F) F(GetMemoryFdKHR)

#define VK_ALL_FUNCTIONS(F)                                                                                  \
    VK_GLOBAL_FUNCTIONS(F)                                                                                   \
    VK_INSTANCE_FUNCTIONS(F)                                                                                 \
    VK_DEVICE_FUNCTIONS(F)                                                                                   \
    VK_TIMELINE_FUNCTIONS(F)                                                                                 \
    VK_SHARING_FUNCTIONS(F)

struct vk_functions {
#define F(name) PFN_vk##name name;
    VK_ALL_FUNCTIONS(F)
#undef F
};

#endif
