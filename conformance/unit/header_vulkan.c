// SPDX-License-Identifier: Apache-2.0
//
// <webnn/vulkan.h> compiles alone, as C and as C++, without Vulkan's headers, and each of its INIT macros
// initializes its struct.

#include <webnn/vulkan.h>

int main(void)
{
    const WNNVulkanDevice v0 = WNN_VULKAN_DEVICE_INIT;
    const WNNVulkanBuffer v1 = WNN_VULKAN_BUFFER_INIT;
    const WNNVulkanMemory v2 = WNN_VULKAN_MEMORY_INIT;
    const WNNVulkanExport v3 = WNN_VULKAN_EXPORT_INIT;
    const WNNVulkanSync v4 = WNN_VULKAN_SYNC_INIT;
    const WNNVulkanHandles v5 = WNN_VULKAN_HANDLES_INIT;
    const WNNVulkanTimelinePoint v6 = WNN_VULKAN_TIMELINE_POINT_INIT;
    const WNNVulkanMemoryOwner v7 = WNN_VULKAN_MEMORY_OWNER_INIT;
    return !(v7.chain.sType == WNNSType_VulkanMemoryOwner && !v7.deviceUUID[0] && !v5.nextInChain &&
             !v6.semaphore && v0.chain.sType == WNNSType_VulkanDevice && !v0.userdata &&
             v1.chain.sType == WNNSType_VulkanBuffer && !v1.userdata &&
             v2.chain.sType == WNNSType_VulkanMemory && v2.fd == -1 &&
             v3.chain.sType == WNNSType_VulkanExport && v4.chain.sType == WNNSType_VulkanSync && !v4.signals);
}
