// SPDX-License-Identifier: Apache-2.0
//
// libwebnn on the caller's Vulkan device, and tensors whose memory others see too.
//
// What is here is chained to descriptors of webnn/webnn.h (nextInChain). Vulkan's headers are not needed: instances,
// devices and queues are pointers to the structs that those headers declare, so that a VkDevice is passed as it is; a
// VkBuffer or VkSemaphore is passed as uint64_t, which is what it is on some platforms and becomes by a cast on the
// others. Bits and structs are Vulkan's own.
//
// Tensors of a context on the device type GPU live in device memory, each as a piece of a VkBuffer. Dispatches read and
// write them there; only wnnContextReadTensor, wnnContextWriteTensor and wnnContextCompute move bytes between the device
// and the host.
//
// Who owns what a queue family may touch: a buffer of the caller's with VK_SHARING_MODE_EXCLUSIVE must belong to the
// context's queue family when a dispatch begins, and does when it ends. Memory that is imported or exported belongs to
// VK_QUEUE_FAMILY_EXTERNAL between executions: the library acquires it before and releases it after each use, and so must
// the other side. There are no images, and so no layouts.

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

// ---------------------------------------------------------------------------------------------------------------
// A context on the caller's device
// ---------------------------------------------------------------------------------------------------------------

// Chained to WNNContextDescriptor with device type GPU: the "webgpu" context of
// https://www.w3.org/TR/2024/CRD-webnn-20240415/#api-mlcontext. Graphs are built and dispatched as elsewhere;
// wnnContextCompute is refused with OperationError.
//
// The instance, the device and the queue stay the caller's, and must live until `ended` is called. That happens once, on
// any thread, when nothing of the library uses them any more: inside of wnnCreateContext if that fails, otherwise before
// the last wnnContextRelease returns (on a thread of the context that release does not wait, and `ended` comes later).
// What the library makes of them it destroys before. Handles of tensors and graphs may live on; they refer to nothing then.
//
// Threads: the library submits to the queue from threads of its own and from those that wait in wnnContextWaitAny. If
// anybody else uses the queue, the two lock functions must exclude them; they are called around every submission, from
// one thread at a time, and must not call the library. Without others they may be NULL. No other object of the caller's
// is used in a way that Vulkan wants synchronized.
typedef struct WNNVulkanDevice {
    WNNChainedStruct chain; // sType: WNNSType_VulkanDevice
    struct VkInstance_T *instance;
    struct VkPhysicalDevice_T *physicalDevice;
    struct VkDevice_T *device;
    struct VkQueue_T *queue;   // with compute
    uint32_t queueFamilyIndex; // of the queue
    uint32_t apiVersion;       // VkApplicationInfo::apiVersion of the instance, 1.1 at least

    // What the device was created with. Only what is listed is used; nothing has to be. Features are found in their own
    // structures or in VkPhysicalDeviceVulkan12Features. Of use are
    //   timelineSemaphore: for WNNVulkanSync, and to wait with less delay;
    //   VK_KHR_external_memory_fd: for WNNVulkanMemory and WNNVulkanExport;
    //   VK_KHR_cooperative_matrix with cooperativeMatrix, or VK_NV_cooperative_matrix with that, either with shaderFloat16
    //   and vulkanMemoryModel: float16 products on matrix units; and with VK_KHR_shader_bfloat16, shaderBFloat16Type and
    //   shaderBFloat16CooperativeMatrix float32 products too;
    //   VK_KHR_shader_integer_dot_product with shaderIntegerDotProduct: products of a row by weights of 4 bits.
    size_t enabledExtensionCount;
    const char *const *enabledExtensions;
    const struct VkPhysicalDeviceFeatures2 *enabledFeatures; // with its chain; NULL: none

    // vkGetInstanceProcAddr; NULL: that of the Vulkan loader.
    void (*(*getInstanceProcAddr)(struct VkInstance_T *instance, const char *name))(void);

    void (*lockQueue)(void *userdata), (*unlockQueue)(void *userdata); // both or none
    void (*ended)(void *userdata);                                     // may be NULL
    void *userdata;
} WNNVulkanDevice;
#define WNN_VULKAN_DEVICE_INIT                                                                                       \
    { { NULL, WNNSType_VulkanDevice }, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL }

// The device of a context, the library's own or the caller's: to find the same one elsewhere, or to make semaphores on it
// (VK_KHR_timeline_semaphore and VK_KHR_external_semaphore_fd are enabled where there are such). It lives as long as the
// context. NotSupportedError: a context without Vulkan. InvalidStateError: it is lost. TypeError: no
// place for the answer, a chained struct. Any thread.
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

// ---------------------------------------------------------------------------------------------------------------
// Tensors in the caller's buffers
// ---------------------------------------------------------------------------------------------------------------

// Chained to WNNTensorDescriptor: the tensor is the bytes of a VkBuffer of the context's device, from `offset` on. They
// keep what they hold. Dispatches and transfers of the library use them in the order of the context's timeline; who else
// does must take turns with it (WNNVulkanSync, or by waiting for the library's futures).
//
// Dispatches work on the bytes where they lie if the usage has VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, the offset is a multiple
// of 16, the size of the tensor one of 4, and an output overlaps no other tensor of the dispatch in the same buffer.
// Otherwise they copy them on the device, and the results are the same. Memory that is bound to several buffers is not
// noticed: of tensors in such, those that a dispatch writes must not overlap others.
//
// The buffer stays the caller's and must live until `release` is called, once, from any thread, when the tensor has been
// destroyed and no request needs it (inside of the creating call if that fails). `release` must not call the library.
// TypeError: no buffer, a piece that leaves it, an offset that is not a multiple of 4, a usage without
// VK_BUFFER_USAGE_TRANSFER_SRC_BIT and VK_BUFFER_USAGE_TRANSFER_DST_BIT.
typedef struct WNNVulkanBuffer {
    WNNChainedStruct chain; // sType: WNNSType_VulkanBuffer
    uint64_t buffer;        // VkBuffer, with memory bound to it
    uint64_t size;          // VkBufferCreateInfo::size
    uint64_t offset;        // of the tensor's first byte
    uint32_t usage;         // VkBufferCreateInfo::usage
    void (*release)(uint64_t buffer, void *userdata); // may be NULL
    void *userdata;
} WNNVulkanBuffer;
#define WNN_VULKAN_BUFFER_INIT { { NULL, WNNSType_VulkanBuffer }, 0, 0, 0, 0, NULL, NULL }

// Queues the opposite: *buffer gets the buffer in which a tensor lies, for use on the same device. It is the library's, is
// there until the tensor is destroyed, and has at least the usages of transfers and of storage buffers unless it came from
// the caller. `release` is NULL. `buffer` must not be touched until the callback; its chain must be set before, as its
// INIT macro does. Errors as for wnnContextReadTensor, but
// for the reading; TypeError also: a context without Vulkan, a constant tensor.
WNN_EXPORT WNNFuture wnnContextGetVulkanBuffer(WNNContext context, WNNTensor tensor, WNNVulkanBuffer *buffer,
                                               WNNRequestCallbackInfo callbackInfo);

// ---------------------------------------------------------------------------------------------------------------
// Memory that two devices share: VK_KHR_external_memory_fd
// ---------------------------------------------------------------------------------------------------------------

// A piece of memory by a file descriptor. Both sides must be the same device with the same driver (the two UUIDs of
// WNNVulkanHandles; another machine's memory does not become a tensor's by opaque descriptors) and must create a buffer
// on it at offset 0 that has the same size and the same usage.
typedef struct WNNVulkanMemory {
    WNNChainedStruct chain; // sType: WNNSType_VulkanMemory
    int fd;                 // VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
    bool dedicated;         // VkMemoryDedicatedAllocateInfo for the buffer
    uint32_t memoryTypeIndex;
    uint64_t allocationSize; // VkMemoryAllocateInfo::allocationSize
    uint64_t bufferSize;     // VkBufferCreateInfo::size
    uint32_t bufferUsage;    // VkBufferCreateInfo::usage
    uint64_t offset;         // of the tensor's first byte in the buffer
} WNNVulkanMemory;
#define WNN_VULKAN_MEMORY_INIT { { NULL, WNNSType_VulkanMemory }, -1, false, 0, 0, 0, 0, 0 }

// Chained to WNNTensorDescriptor, a WNNVulkanMemory makes the tensor of memory that another device exported. The bytes
// keep what they hold. The library takes the file descriptor if the call succeeds. NotSupportedError: the device cannot
// import. TypeError as for WNNVulkanBuffer. UnknownError, OutOfMemory: the driver refuses.
//
// A WNNVulkanExport makes a tensor (filled with zeros) of memory that can be exported. NotSupportedError: the device
// cannot. On a device of the caller's both need VK_KHR_external_memory_fd among its extensions.
typedef struct WNNVulkanExport {
    WNNChainedStruct chain; // sType: WNNSType_VulkanExport
} WNNVulkanExport;
#define WNN_VULKAN_EXPORT_INIT { { NULL, WNNSType_VulkanExport } }

// Chained to a WNNTensorDescriptor beside a WNNVulkanMemory: whose memory that is, by the UUIDs of the WNNVulkanHandles of the
// context that exported it. That of another device or driver is a NotSupportedError then, before the driver, which need not
// notice, is asked.
typedef struct WNNVulkanMemoryOwner {
    WNNChainedStruct chain; // sType: WNNSType_VulkanMemoryOwner
    uint8_t deviceUUID[16], driverUUID[16];
} WNNVulkanMemoryOwner;
#define WNN_VULKAN_MEMORY_OWNER_INIT { { NULL, WNNSType_VulkanMemoryOwner }, { 0 }, { 0 } }

// Queues the export of a tensor that was created with a WNNVulkanExport: *memory gets what another device needs to import
// it, with a new file descriptor that belongs to the caller, as does every further one. The memory lives as long as anybody
// has it imported. `memory` must not be touched until the callback, and its chain set before. Errors as for wnnContextReadTensor (not exportable).
WNN_EXPORT WNNFuture wnnContextExportVulkanMemory(WNNContext context, WNNTensor tensor, WNNVulkanMemory *memory,
                                                  WNNRequestCallbackInfo callbackInfo);

// ---------------------------------------------------------------------------------------------------------------
// Waiting and signalling
// ---------------------------------------------------------------------------------------------------------------

// A value of a timeline semaphore of the context's device.
typedef struct WNNVulkanTimelinePoint {
    uint64_t semaphore; // VkSemaphore
    uint64_t value;
} WNNVulkanTimelinePoint;
#define WNN_VULKAN_TIMELINE_POINT_INIT { 0, 0 }

// Chained to WNNDispatchDescriptor: the device waits for all of `waits` before it touches a tensor of the dispatch, and
// sets all of `signals` when it has finished. The arrays are copied. Later requests of the context wait too.
//
// The semaphores stay the caller's, and must live until the dispatch's callback. What signals the awaited values must
// come without the library's doing: a context cannot end before. If it goes through the same queue, it must have been
// submitted before the dispatch is asked for. A dispatch that fails, or is cancelled before it has begun, signals nothing;
// its callback says so. One that is stopped while it runs (Cancelled, too) signals when nothing of it runs any more and
// its outputs are zeros, so that what waits for it is not left waiting.
// TypeError: more than 16 of either, no semaphore. NotSupportedError: the device has no timeline semaphores, or they are
// not among the enabled features.
typedef struct WNNVulkanSync {
    WNNChainedStruct chain; // sType: WNNSType_VulkanSync
    size_t waitCount, signalCount;
    const WNNVulkanTimelinePoint *waits, *signals;
} WNNVulkanSync;
#define WNN_VULKAN_SYNC_INIT { { NULL, WNNSType_VulkanSync }, 0, 0, NULL, NULL }

#ifdef __cplusplus
}
#endif

#endif
