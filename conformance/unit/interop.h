// SPDX-License-Identifier: Apache-2.0
//
// What the tests of webnn/vulkan.h have in common: a device of their own, tensors, a graph, and buffers that
// both sides see.

#ifndef CONFORMANCE_UNIT_INTEROP_H_
#define CONFORMANCE_UNIT_INTEROP_H_

#include "conformance/unit/runtime_fixture.h"
#include "vulkan/device/functions.h"

#include <webnn/vulkan.h>

// ---------------------------------------------------------------------------------------------------------------
// A device of the test's own
// ---------------------------------------------------------------------------------------------------------------

#define MORE_FUNCTIONS(F)                                                                                    \
    F(CreateSemaphore)                                                                                       \
    F(DestroySemaphore)                                                                                      \
    F(GetSemaphoreCounterValue)                                                                              \
    F(SignalSemaphore)                                                                                       \
    F(WaitSemaphores)

struct host {
    void *library;
    PFN_vkGetInstanceProcAddr get;
    struct vk_functions vk;
    struct {
#define F(name) PFN_vk##name name;
        MORE_FUNCTIONS(F)
#undef F
    } more;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue, external_queue; // the same if the family has but one
    VkCommandPool pool;
    uint32_t family;
    bool shares, shares_semaphores; // by file descriptors
    bool multiplies;                // by matrix units
    bool adds;                      // products of bytes
    const char *extensions[4];
    uint32_t extension_count;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline;
    VkPhysicalDeviceShaderFloat16Int8Features half;
    VkPhysicalDeviceVulkanMemoryModelFeatures model;
    VkPhysicalDeviceShaderIntegerDotProductFeatures dots;
    struct { // VkPhysicalDeviceCooperativeMatrixFeaturesKHR
        VkStructureType type;
        void *next;
        VkBool32 cooperative, robust;
    } matrices;
    VkPhysicalDeviceFeatures2 features;
    VkPhysicalDeviceMemoryProperties memory;
    pthread_mutex_t lock; // of the queue
    atomic_int locks, ended, released;
};

void must(VkResult result);

// False: there is no Vulkan, or nothing with semaphores that count.
bool open_host(struct host *host);
void close_host(struct host *host);

// The host's device for a context, which reports to the host, and counts its calls.
WNNVulkanDevice lend(struct host *host);
WNNContext create_on(const WNNVulkanDevice *external, struct answer *error);
WNNContext create_own(const struct backend *backend);

// What contexts on external devices have called, all together.
struct calls {
    atomic_int copies, recordings, matrices; // matrices: shaders that use matrix units
};
extern struct calls calls;

// ---------------------------------------------------------------------------------------------------------------
// Requests
// ---------------------------------------------------------------------------------------------------------------

WNNStatus try_tensor(WNNContext context, WNNDataType type, uint32_t count, const void *chain,
                     WNNTensor *tensor);
WNNTensor make_tensor(WNNContext context, WNNDataType type, uint32_t count, const void *chain);
void require_no_tensor(WNNContext context, struct answer *answer, const void *chain, WNNStatus status,
                       const char *message); // int32 of 10 elements
WNNVulkanMemory export_memory(WNNContext context, WNNTensor tensor);
void read_tensor(WNNContext context, WNNTensor tensor, void *data, size_t bytes);
void write_tensor(WNNContext context, WNNTensor tensor, const void *data, size_t bytes);

// y = x + x + 1, int32[count]; and if it is not alone one = 1, a constant output.
WNNGraph build_graph(WNNContext context, uint32_t count);
WNNGraph build_alone(WNNContext context, uint32_t count);
// `one` may be NULL.
WNNFuture start_dispatch(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y, WNNTensor one,
                         const void *chain, WNNRequestCallbackInfo info);
WNNFuture dispatch(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y, WNNTensor one);

// ---------------------------------------------------------------------------------------------------------------
// Tests of any context
// ---------------------------------------------------------------------------------------------------------------

// Every size is zero at first and keeps what is written, a word's pieces and several pieces of staging
// included.
void test_transfers(WNNContext context, const void *chain);
// Dispatches hand tensors to one another; nothing but the last result is read.
void test_chain(WNNContext context, uint32_t count);
// What a request needs lives until it has ended; then the memory is given back.
void test_destroying(WNNContext context);

// ---------------------------------------------------------------------------------------------------------------
// Frames
// ---------------------------------------------------------------------------------------------------------------

struct frame_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    uint64_t size;
    uint32_t usage;
};

#define COPIED (VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

struct frame_buffer create_buffer(struct host *host, uint64_t size, VkBufferUsageFlags usage);
void destroy_buffer(struct host *host, struct frame_buffer *buffer);
WNNVulkanBuffer wrap(struct host *host, const struct frame_buffer *buffer, uint64_t offset);

VkSemaphore create_semaphore(struct host *host);
void wait_semaphore(struct host *host, VkSemaphore semaphore, uint64_t value);

// Timeline semaphores that devices of one or several processes have in common, by descriptors, which an
// import takes. `device` is the host's or a context's.
bool can_share_semaphores(struct host *host);
VkSemaphore create_exported_semaphore(struct host *host, VkDevice device, int *fd);
VkSemaphore import_semaphore(struct host *host, VkDevice device, int fd);

VkCommandBuffer begin_commands(struct host *host);
// Submits what was recorded: waits for `wait` if that is not 0, signals `signal`.
void submit(struct host *host, VkCommandBuffer commands, VkSemaphore semaphore, uint64_t wait,
            uint64_t signal);
// Submits it and waits for its end.
void finish(struct host *host, VkCommandBuffer commands);

// Dispatches between two values of a semaphore.
void start_frame(WNNContext context, WNNGraph graph, WNNTensor x, WNNTensor y, WNNTensor one,
                 VkSemaphore semaphore, uint64_t ready, bool wait);

#endif
