// SPDX-License-Identifier: Apache-2.0
//
// Memory of a device: which of its types suits which use, and buffers, each with a piece of memory of its
// own. Any thread, one at a time for a buffer.

#ifndef VULKAN_MEMORY_H_
#define VULKAN_MEMORY_H_

#include "vulkan/device/device.h"

// Asks what memory the physical device has, and whether the host can map what shaders work on. Needs to know
// its kind and whether it counts as minimal; `apart`: as in struct gpu_origin.
void wnn_gpu_read_memory(struct gpu *gpu, bool apart);

// A piece of device memory with a buffer on all of it.
struct buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    size_t bytes;
    uint64_t charged; // to the context's allocator
    void *mapped;     // NULL: not for the host
    bool coherent;    // mapped, and needs no flushes
    bool readable;    // mapped, and not only for writing
};

// The usage of buffers that shaders work on.
#define GPU_DEVICE_USAGE                                                                                     \
    (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

enum buffer_use {
    BUFFER_DEVICE,   // what shaders work on; mapped where memory is unified
    BUFFER_WRITABLE, // the same, mapped also where the host can only write well
    BUFFER_UPLOAD,   // the host writes, copies read
    BUFFER_READBACK, // the other way round
    BUFFER_EXCHANGE  // both ways
};

// The memory type for a use, among the bits of `types`; UINT32_MAX: none.
uint32_t wnn_gpu_memory_type(const struct gpu *gpu, uint32_t types, enum buffer_use use);

// OutOfMemory: there is not as much.
bool wnn_buffer_create(struct gpu *gpu, size_t bytes, enum buffer_use use, struct buffer *buffer,
                       struct error *error);
void wnn_buffer_free(struct gpu *gpu, struct buffer *buffer); // one of zeros is accepted

// Makes the host's writes of mapped memory visible to what is submitted next, or the device's to the host.
bool wnn_buffer_flush(struct gpu *gpu, const struct buffer *buffer, struct error *error);
bool wnn_buffer_invalidate(struct gpu *gpu, const struct buffer *buffer, struct error *error);

#endif
