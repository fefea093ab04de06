// SPDX-License-Identifier: Apache-2.0
//
// Memory types are chosen by lists of wishes; what is allocated is charged to the context, and mapped as long
// as it lives where the host may see it.

#include "vulkan/device/memory.h"

static uint32_t find_memory(const struct gpu *gpu, uint32_t types, VkMemoryPropertyFlags flags)
{
    for (uint32_t i = 0; i < gpu->memory.memoryTypeCount; i++)
        if (types >> i & 1 && (gpu->memory.memoryTypes[i].propertyFlags & flags) == flags)
            return i;
    return UINT32_MAX;
}

void wnn_gpu_read_memory(struct gpu *gpu, bool apart)
{
    struct capabilities *can = &gpu->can;
    const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                mapped = local | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
    gpu->vk.GetPhysicalDeviceMemoryProperties(gpu->physical, &gpu->memory);
    can->unified = !can->minimal && !apart && can->type != VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU &&
                   find_memory(gpu, UINT32_MAX, mapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != UINT32_MAX;
    // Not where a small window is all that the host sees.
    uint32_t best = find_memory(gpu, UINT32_MAX, local),
             window = find_memory(gpu, UINT32_MAX, mapped | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    can->host_visible_vram =
        !can->minimal && !can->unified && window != UINT32_MAX &&
        gpu->memory.memoryTypes[window].heapIndex == gpu->memory.memoryTypes[best].heapIndex;
}

// The wishes come before what is necessary.
uint32_t wnn_gpu_memory_type(const struct gpu *gpu, uint32_t types, enum buffer_use use)
{
    enum {
        LOCAL = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
        VISIBLE = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
        COHERENT = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
        CACHED = VK_MEMORY_PROPERTY_HOST_CACHED_BIT
    };
    static const VkMemoryPropertyFlags wishes[][4] = {
        [BUFFER_DEVICE] = {LOCAL, 0, 0, 0},
        [BUFFER_WRITABLE] = {LOCAL, 0, 0, 0},
        [BUFFER_UPLOAD] = {VISIBLE | COHERENT, VISIBLE, VISIBLE, VISIBLE},
        [BUFFER_READBACK] = {VISIBLE | COHERENT | CACHED, VISIBLE | CACHED, VISIBLE | COHERENT, VISIBLE},
        [BUFFER_EXCHANGE] = {VISIBLE | COHERENT | CACHED, VISIBLE | CACHED, VISIBLE | COHERENT, VISIBLE},
    };
    static const VkMemoryPropertyFlags unified[4] = {LOCAL | VISIBLE | CACHED | COHERENT,
                                                     LOCAL | VISIBLE | CACHED, LOCAL, 0};
    bool for_device = use == BUFFER_DEVICE || use == BUFFER_WRITABLE;
    const VkMemoryPropertyFlags *wish = for_device && gpu->can.unified ? unified : wishes[use];
    if (gpu->can.host_visible_vram && (use == BUFFER_UPLOAD || use == BUFFER_WRITABLE)) {
        uint32_t type = find_memory(gpu, types, LOCAL | VISIBLE | COHERENT);
        if (type != UINT32_MAX)
            return type;
    }
    for (unsigned i = 0; i < 4; i++) {
        uint32_t type = find_memory(gpu, types, wish[i]);
        if (type != UINT32_MAX)
            return type;
    }
    return UINT32_MAX;
}

static bool allocate(struct gpu *gpu, enum buffer_use use, struct buffer *buffer, struct error *error)
{
    VkMemoryRequirements needs;
    gpu->vk.GetBufferMemoryRequirements(gpu->device, buffer->handle, &needs);
    uint32_t type = wnn_gpu_memory_type(gpu, needs.memoryTypeBits, use);
    if (type == UINT32_MAX || needs.size > gpu->can.allocation)
        return wnn_fail(error, WNNStatus_OutOfMemory, "Vulkan: the device has no piece of %llu bytes",
                        (unsigned long long)needs.size);
    if (!wnn_charge(gpu->allocator, WNNResource_DeviceMemory, needs.size))
        return wnn_fail(error, WNNStatus_OutOfMemory,
                        "%llu bytes on the device are more than the limit of the context leaves",
                        (unsigned long long)needs.size);
    buffer->charged = needs.size;
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .allocationSize = needs.size,
                                       .memoryTypeIndex = type};
    VkResult result = gpu->vk.AllocateMemory(gpu->device, &info, NULL, &buffer->memory);
    if (result != VK_SUCCESS) {
        buffer->memory = VK_NULL_HANDLE;
        return wnn_gpu_fail(gpu, result, "vkAllocateMemory", error);
    }
    result = gpu->vk.BindBufferMemory(gpu->device, buffer->handle, buffer->memory, 0);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkBindBufferMemory", error);
    VkMemoryPropertyFlags flags = gpu->memory.memoryTypes[type].propertyFlags;
    bool hidden = use == BUFFER_DEVICE || (use == BUFFER_WRITABLE && !gpu->can.host_visible_vram);
    if ((hidden && !gpu->can.unified) || !(flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT))
        return true;
    buffer->coherent = flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    buffer->readable =
        flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT && (use != BUFFER_WRITABLE || gpu->can.unified);
    result = gpu->vk.MapMemory(gpu->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &buffer->mapped);
    if (result != VK_SUCCESS) {
        buffer->mapped = NULL;
        return wnn_gpu_fail(gpu, result, "vkMapMemory", error);
    }
    return true;
}

bool wnn_buffer_create(struct gpu *gpu, size_t bytes, enum buffer_use use, struct buffer *buffer,
                       struct error *error)
{
    static const VkBufferUsageFlags usages[] = {
        [BUFFER_DEVICE] = GPU_DEVICE_USAGE,
        [BUFFER_WRITABLE] = GPU_DEVICE_USAGE,
        [BUFFER_UPLOAD] = VK_BUFFER_USAGE_TRANSFER_SRC_BIT,
        [BUFFER_READBACK] = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
        [BUFFER_EXCHANGE] = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
    };
    *buffer = (struct buffer){.bytes = bytes};
    if (gpu->is_described)
        return true;
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .size = bytes ? bytes : 1, // of constants without elements; 0 is invalid
                                     .usage = usages[use],
                                     .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    VkResult result = gpu->vk.CreateBuffer(gpu->device, &info, NULL, &buffer->handle);
    if (result != VK_SUCCESS) {
        buffer->handle = VK_NULL_HANDLE;
        return wnn_gpu_fail(gpu, result, "vkCreateBuffer", error);
    }
    if (allocate(gpu, use, buffer, error))
        return true;
    wnn_buffer_free(gpu, buffer);
    return false;
}

void wnn_buffer_free(struct gpu *gpu, struct buffer *buffer)
{
    gpu->vk.DestroyBuffer(gpu->device, buffer->handle, NULL);
    gpu->vk.FreeMemory(gpu->device, buffer->memory, NULL); // unmaps it
    wnn_discharge(gpu->allocator, WNNResource_DeviceMemory, buffer->charged);
    *buffer = (struct buffer){0};
}

// Calls a function for all of a buffer that the host and the device do not see alike.
static bool tell_whole(struct gpu *gpu, const struct buffer *buffer, PFN_vkFlushMappedMemoryRanges tell,
                       const char *name, struct error *error)
{
    if (!buffer->mapped || buffer->coherent)
        return true;
    const VkMappedMemoryRange range = {
        .sType = VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE, .memory = buffer->memory, .size = VK_WHOLE_SIZE};
    VkResult result = tell(gpu->device, 1, &range);
    return result == VK_SUCCESS || wnn_gpu_fail(gpu, result, name, error);
}

bool wnn_buffer_flush(struct gpu *gpu, const struct buffer *buffer, struct error *error)
{
    return tell_whole(gpu, buffer, gpu->vk.FlushMappedMemoryRanges, "vkFlushMappedMemoryRanges", error);
}

bool wnn_buffer_invalidate(struct gpu *gpu, const struct buffer *buffer, struct error *error)
{
    return tell_whole(gpu, buffer, gpu->vk.InvalidateMappedMemoryRanges, "vkInvalidateMappedMemoryRanges",
                      error);
}
