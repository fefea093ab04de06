// SPDX-License-Identifier: Apache-2.0
#include "vulkan/device/tensor.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STAGING ((size_t)4 << 20)

#define COPIED (VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

// ---------------------------------------------------------------------------------------------------------------
// Turns
// ---------------------------------------------------------------------------------------------------------------

enum {
    ON_DEVICE = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
    DEVICE_WRITES = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
    DEVICE_READS = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT,
    COPIES = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT
};

static void order(struct gpu *gpu, VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
                  VkPipelineStageFlags to, VkAccessFlags used)
{
    const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = written, .dstAccessMask = used};
    gpu->vk.CmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, NULL, 0, NULL);
}

bool wnn_gpu_preparation_begin(struct gpu *gpu, struct command_pool *pool, VkCommandBuffer *commands,
                               struct error *error)
{
    if (!*commands && !wnn_command_pool_allocate(gpu, pool, commands, error))
        return false;
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkResult result = gpu->vk.BeginCommandBuffer(*commands, &info);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkBeginCommandBuffer", error);
    order(gpu, *commands, ON_DEVICE, DEVICE_WRITES, VK_PIPELINE_STAGE_TRANSFER_BIT, COPIES);
    return true;
}

bool wnn_gpu_preparation_end(struct gpu *gpu, VkCommandBuffer commands, struct error *error)
{
    order(gpu, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
          ON_DEVICE | VK_PIPELINE_STAGE_HOST_BIT, DEVICE_READS | DEVICE_WRITES | VK_ACCESS_HOST_READ_BIT);
    VkResult result = gpu->vk.EndCommandBuffer(commands);
    return result == VK_SUCCESS || wnn_gpu_fail(gpu, result, "vkEndCommandBuffer", error);
}

// Takes a tensor from the other users of its memory, or gives it to them.
static void hand_over(struct gpu *gpu, VkCommandBuffer commands, const struct gpu_tensor *tensor, bool out)
{
    const VkBufferMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
        .srcAccessMask = out ? COPIES : 0,
        .dstAccessMask = out ? 0 : COPIES,
        .srcQueueFamilyIndex = out ? gpu->family : VK_QUEUE_FAMILY_EXTERNAL,
        .dstQueueFamilyIndex = out ? VK_QUEUE_FAMILY_EXTERNAL : gpu->family,
        .buffer = tensor->handle,
        .size = VK_WHOLE_SIZE};
    gpu->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0,
                               NULL, 1, &barrier, 0, NULL);
}

// The zeros that a tensor holds until it is written.
static void give_zeros(struct gpu *gpu, VkCommandBuffer commands, const struct gpu_tensor *tensor)
{
    gpu->vk.CmdFillBuffer(commands, tensor->handle, 0, VK_WHOLE_SIZE, 0);
    order(gpu, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
          VK_PIPELINE_STAGE_TRANSFER_BIT, COPIES);
}

bool wnn_gpu_tensor_waits(const struct gpu_tensor *tensor, bool written)
{
    return (tensor->awaits_zeros && !written) || tensor->outside != tensor->shared;
}

void wnn_gpu_prepare(struct gpu *gpu, VkCommandBuffer commands, struct gpu_tensor *tensor, bool written)
{
    if (tensor->awaits_zeros && !written)
        give_zeros(gpu, commands, tensor);
    if (tensor->shared && !tensor->outside)
        hand_over(gpu, commands, tensor, true);
}

void wnn_gpu_tensor_used(struct gpu_tensor *tensor)
{
    tensor->awaits_zeros = false;
    tensor->outside = tensor->shared;
}

// ---------------------------------------------------------------------------------------------------------------
// Creation
// ---------------------------------------------------------------------------------------------------------------

// At least a word: no buffer is empty.
static size_t room_of(size_t bytes)
{
    return bytes ? (bytes + 3) / 4 * 4 : 4;
}

// Shaders read quads, and write whole words, which may be more than the tensor where it is not alone.
bool wnn_gpu_tensor_binds(const struct gpu_tensor *tensor)
{
    return tensor->usage & VK_BUFFER_USAGE_STORAGE_BUFFER_BIT && tensor->offset % GPU_QUAD == 0 &&
           (tensor->bytes % 4 == 0 || (!tensor->external.buffer && tensor->size == room_of(tensor->bytes)));
}

void wnn_gpu_tensor_clear(struct gpu *gpu, VkCommandBuffer commands, const struct gpu_tensor *tensor)
{
    bool alone = !tensor->external.buffer && tensor->size == room_of(tensor->bytes);
    if (tensor->bytes && (alone || wnn_gpu_tensor_binds(tensor))) // others get their bytes at the end only
        gpu->vk.CmdFillBuffer(commands, tensor->handle, tensor->offset, room_of(tensor->bytes), 0);
}

void wnn_gpu_tensor_return(struct gpu *gpu, VkCommandBuffer commands, const struct gpu_tensor *tensor)
{
    if (tensor->shared)
        hand_over(gpu, commands, tensor, true);
}

static bool check_piece(const char *what, uint64_t size, uint64_t offset, uint32_t usage, size_t bytes,
                        struct error *error)
{
    if (size == 0 || offset % 4 != 0 || offset > size || size - offset < bytes)
        return wnn_fail(error, WNNStatus_TypeError,
                        "createTensor: %s has %llu bytes; the tensor's %zu cannot begin at %llu", what,
                        (unsigned long long)size, bytes, (unsigned long long)offset);
    return (usage & COPIED) == COPIED ||
           wnn_fail(error, WNNStatus_TypeError, "createTensor: %s cannot be copied from and to (usage 0x%x)",
                    what, (unsigned)usage);
}

static bool lend(struct gpu_tensor *tensor, const WNNVulkanBuffer *external, struct error *error)
{
    if (!external->buffer)
        return wnn_fail(error, WNNStatus_TypeError, "createTensor: no buffer was given");
    if (!check_piece("the buffer", external->size, external->offset, external->usage, tensor->bytes, error))
        return false;
    tensor->handle = (VkBuffer)external->buffer;
    tensor->offset = external->offset;
    tensor->size = external->size;
    tensor->usage = external->usage;
    tensor->external = *external;
    return true;
}

static bool allocate(struct gpu *gpu, struct gpu_tensor *tensor, struct error *error)
{
    struct buffer *buffer = &tensor->buffer;
    if (!wnn_buffer_create(gpu, room_of(tensor->bytes), BUFFER_WRITABLE, buffer, error))
        return false;
    tensor->handle = buffer->handle;
    tensor->size = buffer->bytes;
    tensor->usage = GPU_DEVICE_USAGE;
    tensor->awaits_zeros = !buffer->readable;
    if (!buffer->readable)
        return true;
    memset(buffer->mapped, 0, buffer->bytes);
    return wnn_buffer_flush(gpu, buffer, error);
}

// ---------------------------------------------------------------------------------------------------------------
// Memory that others see too
// ---------------------------------------------------------------------------------------------------------------

#define OPAQUE VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT

static bool create_shared_buffer(struct gpu *gpu, struct gpu_tensor *tensor,
                                 VkExternalMemoryFeatureFlags needed, struct error *error)
{
    const VkPhysicalDeviceExternalBufferInfo question = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO,
        .usage = tensor->memory.bufferUsage,
        .handleType = OPAQUE};
    VkExternalBufferProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    if (gpu->can.shares_memory)
        gpu->vk.GetPhysicalDeviceExternalBufferProperties(gpu->physical, &question, &answer);
    VkExternalMemoryFeatureFlags can = answer.externalMemoryProperties.externalMemoryFeatures;
    if ((can & needed) != needed)
        return wnn_fail(error, WNNStatus_NotSupportedError, "createTensor: the device cannot %s memory",
                        needed & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT ? "import" : "export");
    if (needed & VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT)
        tensor->memory.dedicated = can & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = OPAQUE};
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                     .pNext = &external,
                                     .size = tensor->memory.bufferSize,
                                     .usage = tensor->memory.bufferUsage,
                                     .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
    VkResult result = gpu->vk.CreateBuffer(gpu->device, &info, NULL, &tensor->buffer.handle);
    if (result != VK_SUCCESS) {
        tensor->buffer.handle = VK_NULL_HANDLE;
        return wnn_gpu_fail(gpu, result, "vkCreateBuffer", error);
    }
    tensor->handle = tensor->buffer.handle;
    tensor->size = tensor->memory.bufferSize;
    tensor->usage = tensor->memory.bufferUsage;
    tensor->shared = true;
    return true;
}

// `source` says where the memory comes from or goes to.
static bool bind_shared(struct gpu *gpu, struct gpu_tensor *tensor, const void *source, struct error *error)
{
    struct buffer *buffer = &tensor->buffer;
    const VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .pNext = source, .buffer = buffer->handle};
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                       .pNext = tensor->memory.dedicated ? &dedicated : source,
                                       .allocationSize = tensor->memory.allocationSize,
                                       .memoryTypeIndex = tensor->memory.memoryTypeIndex};
    VkResult result = gpu->vk.AllocateMemory(gpu->device, &info, NULL, &buffer->memory);
    if (result != VK_SUCCESS) {
        buffer->memory = VK_NULL_HANDLE;
        return wnn_gpu_fail(gpu, result, "vkAllocateMemory", error);
    }
    result = gpu->vk.BindBufferMemory(gpu->device, buffer->handle, buffer->memory, 0);
    return result == VK_SUCCESS || wnn_gpu_fail(gpu, result, "vkBindBufferMemory", error);
}

static bool allocate_for_export(struct gpu *gpu, struct gpu_tensor *tensor, struct error *error)
{
    WNNVulkanMemory *memory = &tensor->memory;
    *memory = (WNNVulkanMemory)WNN_VULKAN_MEMORY_INIT;
    memory->bufferSize = room_of(tensor->bytes);
    memory->bufferUsage = GPU_DEVICE_USAGE;
    if (!create_shared_buffer(gpu, tensor, VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT, error))
        return false;
    VkMemoryRequirements needs;
    gpu->vk.GetBufferMemoryRequirements(gpu->device, tensor->handle, &needs);
    memory->allocationSize = needs.size;
    memory->memoryTypeIndex = wnn_gpu_memory_type(gpu, needs.memoryTypeBits, BUFFER_DEVICE);
    if (memory->memoryTypeIndex == UINT32_MAX || needs.size > gpu->can.allocation ||
        !wnn_charge(gpu->allocator, WNNResource_DeviceMemory, needs.size))
        return wnn_fail(error, WNNStatus_OutOfMemory, "createTensor: there are no %llu bytes on the device",
                        (unsigned long long)needs.size);
    tensor->buffer.charged = needs.size;
    tensor->awaits_zeros = true;
    const VkExportMemoryAllocateInfo target = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                               .handleTypes = OPAQUE};
    return bind_shared(gpu, tensor, &target, error);
}

static bool check_uuid(const char *what, const uint8_t has[VK_UUID_SIZE],
                       const uint8_t expected[VK_UUID_SIZE], struct error *error)
{
    char digits[2][2 * VK_UUID_SIZE + 1];
    if (memcmp(has, expected, VK_UUID_SIZE) == 0)
        return true;
    for (size_t i = 0; i < VK_UUID_SIZE; i++) {
        snprintf(digits[0] + 2 * i, 3, "%02x", has[i]);
        snprintf(digits[1] + 2 * i, 3, "%02x", expected[i]);
    }
    return wnn_fail(error, WNNStatus_NotSupportedError,
                    "createTensor: the memory is of the %s %s; expected that of this context, %s", what,
                    digits[0], digits[1]);
}

static bool check_owner(const struct gpu *gpu, const WNNVulkanMemoryOwner *owner, struct error *error)
{
    WNNVulkanHandles here;
    wnn_gpu_handles(gpu, &here);
    return check_uuid("device", owner->deviceUUID, here.deviceUUID, error) &&
           check_uuid("driver", owner->driverUUID, here.driverUUID, error);
}

// The driver takes the copy of the descriptor, unless it refuses.
static bool import_memory(struct gpu *gpu, struct gpu_tensor *tensor, const WNNVulkanMemory *memory,
                          const WNNVulkanMemoryOwner *owner, struct error *error)
{
    if (owner && !check_owner(gpu, owner, error))
        return false;
    if (!check_piece("the memory", memory->bufferSize, memory->offset, memory->bufferUsage, tensor->bytes,
                     error))
        return false;
    if (memory->fd < 0 || memory->memoryTypeIndex >= gpu->memory.memoryTypeCount)
        return wnn_fail(error, WNNStatus_TypeError, "createTensor: the memory has descriptor %d and type %u",
                        memory->fd, memory->memoryTypeIndex);
    tensor->memory = *memory;
    tensor->offset = memory->offset;
    tensor->outside = true;
    if (!create_shared_buffer(gpu, tensor, VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT, error))
        return false;
    VkMemoryRequirements needs;
    gpu->vk.GetBufferMemoryRequirements(gpu->device, tensor->handle, &needs);
    if (needs.size > memory->allocationSize || !(needs.memoryTypeBits >> memory->memoryTypeIndex & 1))
        return wnn_fail(
            error, WNNStatus_TypeError,
            "createTensor: the memory has %llu bytes of type %u; the buffer needs %llu of types 0x%x",
            (unsigned long long)memory->allocationSize, memory->memoryTypeIndex,
            (unsigned long long)needs.size, (unsigned)needs.memoryTypeBits);
    VkImportMemoryFdInfoKHR source = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .handleType = OPAQUE, .fd = dup(memory->fd)};
    if (source.fd < 0)
        return wnn_fail(error, WNNStatus_TypeError, "createTensor: the descriptor %d is not open",
                        memory->fd);
    if (bind_shared(gpu, tensor, &source, error)) {
        close(memory->fd);
        return true;
    }
    if (!tensor->buffer.memory)
        close(source.fd);
    return false;
}

// Before the first tensor that needs it, so that reading and writing do not fail for want of memory.
static bool make_staging(struct gpu *gpu, struct transfers *transfers, struct error *error)
{
    pthread_mutex_lock(&transfers->lock);
    bool made = transfers->staging.handle ||
                wnn_buffer_create(gpu, STAGING, BUFFER_EXCHANGE, &transfers->staging, error);
    pthread_mutex_unlock(&transfers->lock);
    return made;
}

bool wnn_gpu_tensor_create(struct gpu *gpu, struct transfers *transfers, size_t bytes,
                           const WNNChainedStruct *chain, struct gpu_tensor **result, struct error *error)
{
    struct gpu_tensor *tensor = wnn_allocate_zero(gpu->allocator, sizeof *tensor);
    if (!tensor)
        return wnn_fail_memory(error);
    tensor->bytes = bytes;
    tensor->number = atomic_fetch_add(&gpu->tensors, 1);
    const WNNVulkanBuffer *buffer = wnn_chained(chain, WNNSType_VulkanBuffer);
    const WNNVulkanMemory *memory = wnn_chained(chain, WNNSType_VulkanMemory);
    bool done;
    if (!chain)
        done =
            allocate(gpu, tensor, error) && (tensor->buffer.readable || make_staging(gpu, transfers, error));
    else // what is external is taken last, as it is not to be kept on failure
        done = make_staging(gpu, transfers, error) &&
               (buffer   ? lend(tensor, buffer, error)
                : memory ? import_memory(gpu, tensor, memory, wnn_chained(chain, WNNSType_VulkanMemoryOwner),
                                         error)
                         : allocate_for_export(gpu, tensor, error));
    if (done) {
        *result = tensor;
    } else {
        tensor->external.release = NULL;
        wnn_gpu_tensor_free(gpu, tensor);
    }
    return done;
}

void wnn_gpu_tensor_free(struct gpu *gpu, struct gpu_tensor *tensor)
{
    wnn_buffer_free(gpu, &tensor->buffer);
    if (tensor->external.release)
        tensor->external.release(tensor->external.buffer, tensor->external.userdata);
    wnn_release(gpu->allocator, tensor);
}

// ---------------------------------------------------------------------------------------------------------------
// Reading and writing
// ---------------------------------------------------------------------------------------------------------------

bool wnn_transfers_open(struct gpu *gpu, struct transfers *transfers, struct error *error)
{
    pthread_mutex_init(&transfers->lock, NULL);
    transfers->open = true;
    return wnn_gpu_preparation_begin(gpu, &transfers->pool, &transfers->commands, error) &&
           wnn_gpu_preparation_end(gpu, transfers->commands, error);
}

void wnn_transfers_close(struct gpu *gpu, struct transfers *transfers)
{
    if (!transfers->open)
        return;
    wnn_command_pool_free(gpu, &transfers->pool);
    wnn_buffer_free(gpu, &transfers->staging);
    pthread_mutex_destroy(&transfers->lock);
}

// A copy between a tensor and the staging memory.
static bool move_piece(struct gpu *gpu, struct transfers *transfers, struct gpu_tensor *tensor, size_t at,
                       size_t bytes, bool write, struct error *error)
{
    VkBuffer staging = transfers->staging.handle;
    if (!wnn_gpu_preparation_begin(gpu, &transfers->pool, &transfers->commands, error))
        return false;
    if (tensor->outside)
        hand_over(gpu, transfers->commands, tensor, false);
    if (tensor->awaits_zeros && !(write && bytes == tensor->bytes))
        give_zeros(gpu, transfers->commands, tensor);
    const VkBufferCopy copy = {write ? 0 : tensor->offset + at, write ? tensor->offset + at : 0, bytes};
    gpu->vk.CmdCopyBuffer(transfers->commands, write ? staging : tensor->handle,
                          write ? tensor->handle : staging, 1, &copy);
    if (tensor->shared)
        hand_over(gpu, transfers->commands, tensor, true);
    if (!wnn_gpu_preparation_end(gpu, transfers->commands, error) ||
        !wnn_gpu_run(gpu, &transfers->pool, transfers->commands, error))
        return false;
    wnn_gpu_tensor_used(tensor);
    return true;
}

bool wnn_gpu_tensor_read(struct gpu *gpu, struct transfers *transfers, struct gpu_tensor *tensor, void *data,
                         struct error *error)
{
    if (tensor->buffer.readable) {
        if (!wnn_buffer_invalidate(gpu, &tensor->buffer, error))
            return false;
        memcpy(data, tensor->buffer.mapped, tensor->bytes);
        return true;
    }
    for (size_t at = 0, bytes; at < tensor->bytes; at += bytes) {
        bytes = tensor->bytes - at < STAGING ? tensor->bytes - at : STAGING;
        if (!move_piece(gpu, transfers, tensor, at, bytes, false, error) ||
            !wnn_buffer_invalidate(gpu, &transfers->staging, error))
            return false;
        memcpy((char *)data + at, transfers->staging.mapped, bytes);
    }
    return true;
}

bool wnn_gpu_tensor_write(struct gpu *gpu, struct transfers *transfers, struct gpu_tensor *tensor,
                          const void *data, struct error *error)
{
    if (tensor->buffer.mapped) {
        memcpy(tensor->buffer.mapped, data, tensor->bytes);
        tensor->awaits_zeros = false;
        return wnn_buffer_flush(gpu, &tensor->buffer, error);
    }
    for (size_t at = 0, bytes; at < tensor->bytes; at += bytes) {
        bytes = tensor->bytes - at < STAGING ? tensor->bytes - at : STAGING;
        memcpy(transfers->staging.mapped, (const char *)data + at, bytes);
        if (!wnn_buffer_flush(gpu, &transfers->staging, error) ||
            !move_piece(gpu, transfers, tensor, at, bytes, true, error))
            return false;
    }
    return true;
}

static bool wait_until_written(struct gpu *gpu, struct transfers *transfers, struct gpu_tensor *tensor,
                               struct error *error)
{
    if (!wnn_gpu_tensor_waits(tensor, false))
        return true;
    if (!wnn_gpu_preparation_begin(gpu, &transfers->pool, &transfers->commands, error))
        return false;
    wnn_gpu_prepare(gpu, transfers->commands, tensor, false);
    if (!wnn_gpu_preparation_end(gpu, transfers->commands, error) ||
        !wnn_gpu_run(gpu, &transfers->pool, transfers->commands, error))
        return false;
    wnn_gpu_tensor_used(tensor);
    return true;
}

bool wnn_gpu_tensor_buffer(struct gpu *gpu, struct transfers *transfers, struct gpu_tensor *tensor,
                           WNNVulkanBuffer *buffer, struct error *error)
{
    if (!wait_until_written(gpu, transfers, tensor, error))
        return false;
    *buffer = (WNNVulkanBuffer)WNN_VULKAN_BUFFER_INIT;
    buffer->buffer = (uint64_t)tensor->handle;
    buffer->offset = tensor->offset;
    buffer->size = tensor->size;
    buffer->usage = tensor->usage;
    return true;
}

bool wnn_gpu_tensor_export(struct gpu *gpu, struct transfers *transfers, struct gpu_tensor *tensor,
                           WNNVulkanMemory *memory, struct error *error)
{
    if (!wait_until_written(gpu, transfers, tensor, error))
        return false;
    const VkMemoryGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR,
                                       .memory = tensor->buffer.memory,
                                       .handleType = OPAQUE};
    int fd = -1;
    VkResult result = gpu->vk.GetMemoryFdKHR(gpu->device, &info, &fd);
    if (result != VK_SUCCESS) {
        // The memory is as it was: whoever asked is told, and the context goes on.
        wnn_gpu_fail(gpu, result, "vkGetMemoryFdKHR", error);
        return result != VK_ERROR_DEVICE_LOST;
    }
    *memory = tensor->memory;
    memory->fd = fd;
    return true;
}
