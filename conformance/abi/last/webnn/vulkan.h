// SPDX-License-Identifier: Apache-2.0
#ifndef WEBNN_VULKAN_H_
#define WEBNN_VULKAN_H_

#include <webnn/webnn.h>

#ifdef __cplusplus
extern "C" {
#endif

struct VkInstance_T;
struct VkPhysicalDevice_T;
struct VkDevice_T;
struct VkQueue_T;
struct VkPhysicalDeviceFeatures2;

typedef struct WNNVulkanDevice {
    WNNChainedStruct chain;
    struct VkInstance_T *instance;
    struct VkPhysicalDevice_T *physicalDevice;
    struct VkDevice_T *device;
    struct VkQueue_T *queue;
    uint32_t queueFamilyIndex;
    uint32_t apiVersion;

    size_t enabledExtensionCount;
    const char *const *enabledExtensions;
    const struct VkPhysicalDeviceFeatures2 *enabledFeatures;

    void (*(*getInstanceProcAddr)(struct VkInstance_T *instance, const char *name))(void);

    void (*lockQueue)(void *userdata), (*unlockQueue)(void *userdata);
    void (*ended)(void *userdata);
    void *userdata;
} WNNVulkanDevice;
#define WNN_VULKAN_DEVICE_INIT                                                                                       \
    { { NULL, WNNSType_VulkanDevice }, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

typedef struct WNNVulkanHandles {
    WNNChainedStruct *nextInChain;
    struct VkInstance_T *instance;
    struct VkPhysicalDevice_T *physicalDevice;
    struct VkDevice_T *device;
    uint32_t queueFamilyIndex;
    uint8_t deviceUUID[16], driverUUID[16];
} WNNVulkanHandles;
#define WNN_VULKAN_HANDLES_INIT { NULL, NULL, NULL, NULL, 0, { 0 }, { 0 } }
WNN_EXPORT WNNStatus wnnContextGetVulkanHandles(WNNContext context, WNNVulkanHandles *handles);

typedef struct WNNVulkanBuffer {
    WNNChainedStruct chain;
    uint64_t buffer;
    uint64_t size;
    uint64_t offset;
    uint32_t usage;
    void (*release)(uint64_t buffer, void *userdata);
    void *userdata;
} WNNVulkanBuffer;
#define WNN_VULKAN_BUFFER_INIT { { NULL, WNNSType_VulkanBuffer }, 0, 0, 0, 0, NULL, NULL }

WNN_EXPORT WNNFuture wnnContextGetVulkanBuffer(WNNContext context, WNNTensor tensor, WNNVulkanBuffer *buffer,
                                               WNNRequestCallbackInfo callbackInfo);

typedef struct WNNVulkanMemory {
    WNNChainedStruct chain;
    int fd;
    bool dedicated;
    uint32_t memoryTypeIndex;
    uint64_t allocationSize;
    uint64_t bufferSize;
    uint32_t bufferUsage;
    uint64_t offset;
} WNNVulkanMemory;
#define WNN_VULKAN_MEMORY_INIT { { NULL, WNNSType_VulkanMemory }, -1, false, 0, 0, 0, 0, 0 }

typedef struct WNNVulkanExport {
    WNNChainedStruct chain;
} WNNVulkanExport;
#define WNN_VULKAN_EXPORT_INIT { { NULL, WNNSType_VulkanExport } }

WNN_EXPORT WNNFuture wnnContextExportVulkanMemory(WNNContext context, WNNTensor tensor, WNNVulkanMemory *memory,
                                                  WNNRequestCallbackInfo callbackInfo);

typedef struct WNNVulkanTimelinePoint {
    uint64_t semaphore;
    uint64_t value;
} WNNVulkanTimelinePoint;
#define WNN_VULKAN_TIMELINE_POINT_INIT { 0, 0 }

typedef struct WNNVulkanSync {
    WNNChainedStruct chain;
    size_t waitCount, signalCount;
    const WNNVulkanTimelinePoint *waits, *signals;
} WNNVulkanSync;
#define WNN_VULKAN_SYNC_INIT { { NULL, WNNSType_VulkanSync }, 0, 0, NULL, NULL }

#ifdef __cplusplus
}
#endif

#endif
