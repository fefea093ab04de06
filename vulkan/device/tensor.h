// SPDX-License-Identifier: Apache-2.0
//
// Tensors in memory of the device: pieces of buffers, our own or the caller's. Executions work on them where
// they lie; the host reads and writes those that it cannot map through one piece of staging memory.

#ifndef VULKAN_TENSOR_H_
#define VULKAN_TENSOR_H_

#include "vulkan/device/memory.h"
#include "vulkan/device/timeline.h"

#include <pthread.h>

struct gpu_tensor {
    uint64_t number; // of no other tensor of the device, ever
    VkBuffer handle;
    VkDeviceSize size, offset; // of the buffer, and of the tensor in it
    VkBufferUsageFlags usage;
    size_t bytes;
    struct buffer buffer;     // our memory; zeros where it is the caller's
    bool awaits_zeros;        // nobody has written to it yet
    bool shared;              // belongs to VK_QUEUE_FAMILY_EXTERNAL while nothing of ours uses it,
    bool outside;             // and does now
    WNNVulkanBuffer external; // to be given back
    WNNVulkanMemory memory;   // of one that can be exported, but for the descriptor
};

// What moves bytes between the host and tensors that it cannot map.
struct transfers {
    bool open;
    pthread_mutex_t lock; // while the staging memory is made
    struct buffer staging;
    struct command_pool pool;
    VkCommandBuffer commands;
};
bool wnn_transfers_open(struct gpu *gpu, struct transfers *transfers, struct error *error);
void wnn_transfers_close(struct gpu *gpu, struct transfers *transfers); // one of zeros is accepted

// Any thread. TypeError, NotSupportedError: what the chain asks for; OutOfMemory.
bool wnn_gpu_tensor_create(struct gpu *gpu, struct transfers *transfers, size_t bytes,
                           const WNNChainedStruct *chain, struct gpu_tensor **tensor, struct error *error);
void wnn_gpu_tensor_free(struct gpu *gpu, struct gpu_tensor *tensor);

bool wnn_gpu_tensor_read(struct gpu *gpu, struct transfers *transfers, struct gpu_tensor *tensor, void *data,
                         struct error *error);
bool wnn_gpu_tensor_write(struct gpu *gpu, struct transfers *transfers, struct gpu_tensor *tensor,
                          const void *data, struct error *error);
bool wnn_gpu_tensor_export(struct gpu *gpu, struct transfers *transfers, struct gpu_tensor *tensor,
                           WNNVulkanMemory *memory, struct error *error);

bool wnn_gpu_tensor_buffer(struct gpu *gpu, struct transfers *transfers, struct gpu_tensor *tensor,
                           WNNVulkanBuffer *buffer, struct error *error);

// Whether shaders can work on it where it lies, which may be in anybody's buffer; if not, executions copy it.
bool wnn_gpu_tensor_binds(const struct gpu_tensor *tensor);

// Before others use tensors, executions among them, those get the zeros that they await (but not if all of
// them is `written` now), and what is shared is given to the other side. Whether that is still to be done:
bool wnn_gpu_tensor_waits(const struct gpu_tensor *tensor, bool written);
// Records it into a command buffer, which is made if it is none: behind all that was submitted before it, and
// before all that is submitted later, the host's reading included.
bool wnn_gpu_preparation_begin(struct gpu *gpu, struct command_pool *pool, VkCommandBuffer *commands,
                               struct error *error);
void wnn_gpu_prepare(struct gpu *gpu, VkCommandBuffer commands, struct gpu_tensor *tensor, bool written);
bool wnn_gpu_preparation_end(struct gpu *gpu, VkCommandBuffer commands, struct error *error);
// Recorded likewise, for an execution that is left in the middle: zeros for a tensor that it may have written
// to, and every tensor back to the other users of its memory.
void wnn_gpu_tensor_clear(struct gpu *gpu, VkCommandBuffer commands, const struct gpu_tensor *tensor);
void wnn_gpu_tensor_return(struct gpu *gpu, VkCommandBuffer commands, const struct gpu_tensor *tensor);
// When what needs it has been submitted.
void wnn_gpu_tensor_used(struct gpu_tensor *tensor);

#endif
