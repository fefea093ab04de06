// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/upload.h"

#include <string.h>

#define MIN_STAGING   ((uint64_t)1 << 20)
#define MAX_STAGING   ((uint64_t)64 << 20)
#define STAGING_PARTS 32
#define GRAIN         ((size_t)256 << 10) // of what a thread copies at once

void wnn_uploads_begin(struct uploads *uploads, struct gpu *gpu, struct command_pool *pool, uint64_t total)
{
    uint64_t staging = total / STAGING_PARTS < MIN_STAGING   ? MIN_STAGING
                       : total / STAGING_PARTS > MAX_STAGING ? MAX_STAGING
                                                             : total / STAGING_PARTS;
    *uploads = (struct uploads){.gpu = gpu, .pool = pool, .slots = UPLOAD_SLOTS};
    uploads->slot_bytes = (size_t)staging / UPLOAD_SLOTS;
    if (total <= staging) {
        uploads->slots = 1;
        uploads->slot_bytes = total ? (size_t)total : 1;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// What the host copies
// ---------------------------------------------------------------------------------------------------------------

struct copy {
    unsigned char *to;
    const unsigned char *from;
    size_t bytes;
};

static void copy_some(void *argument, size_t index)
{
    const struct copy *copy = argument;
    size_t begin = index * GRAIN, bytes = copy->bytes - begin < GRAIN ? copy->bytes - begin : GRAIN;
    memcpy(copy->to + begin, copy->from + begin, bytes);
}

static void copy_all(const struct gpu *gpu, void *to, const void *from, size_t bytes)
{
    struct copy copy = {to, from, bytes};
    if (bytes > GRAIN)
        gpu->parallel->run(gpu->parallel, (bytes + GRAIN - 1) / GRAIN, copy_some, &copy);
    else
        copy_some(&copy, 0);
}

static bool flush(struct uploads *uploads, const struct buffer *next, struct error *error)
{
    const struct buffer *written = uploads->written;
    uploads->written = next;
    return !written || written == next || wnn_buffer_flush(uploads->gpu, written, error);
}

// ---------------------------------------------------------------------------------------------------------------
// The ring
// ---------------------------------------------------------------------------------------------------------------

static unsigned char *slot_memory(const struct uploads *uploads)
{
    return (unsigned char *)uploads->staging.mapped + uploads->filled * uploads->slot_bytes;
}

static bool make_ring(struct uploads *uploads, struct error *error)
{
    struct gpu *gpu = uploads->gpu;
    size_t bytes = uploads->slots * uploads->slot_bytes;
    for (unsigned i = 0; i < uploads->slots; i++)
        if (!wnn_command_pool_allocate(gpu, uploads->pool, &uploads->slot[i].commands, error) ||
            !wnn_sync_point_create(gpu, &uploads->slot[i].end, error))
            return false;
    return wnn_buffer_create(gpu, bytes, BUFFER_UPLOAD, &uploads->staging, error);
}

// Begins to fill a slot, when what it had before is where it belongs.
static bool begin_slot(struct uploads *uploads, struct error *error)
{
    struct gpu *gpu = uploads->gpu;
    struct upload_slot *slot = &uploads->slot[uploads->filled];
    if (!uploads->staging.handle && !make_ring(uploads, error))
        return false;
    if (!wnn_gpu_wait(gpu, &slot->end, error))
        return false;
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkResult result = gpu->vk.BeginCommandBuffer(slot->commands, &info);
    return result == VK_SUCCESS || wnn_gpu_fail(gpu, result, "vkBeginCommandBuffer", error);
}

static bool submit_slot(struct uploads *uploads, struct error *error)
{
    struct gpu *gpu = uploads->gpu;
    struct upload_slot *slot = &uploads->slot[uploads->filled];
    const struct batch batch = {&slot->commands, 1};
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask =
                                         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT};
    if (!wnn_buffer_flush(gpu, &uploads->staging, error))
        return false;
    gpu->vk.CmdPipelineBarrier(slot->commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                               VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1,
                               &barrier, 0, NULL, 0, NULL);
    VkResult result = gpu->vk.EndCommandBuffer(slot->commands);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkEndCommandBuffer", error);
    uploads->used = 0;
    uploads->filled = (uploads->filled + 1) % uploads->slots;
    return wnn_gpu_submit(gpu, &batch, 1, NULL, NULL, &slot->end, error);
}

static bool stage(struct uploads *uploads, const unsigned char *data, struct region to, struct error *error)
{
    struct gpu *gpu = uploads->gpu;
    for (size_t at = 0, bytes; at < to.bytes; at += bytes) {
        if (uploads->used == 0 && !begin_slot(uploads, error))
            return false;
        size_t room = uploads->slot_bytes - uploads->used;
        bytes = to.bytes - at < room ? to.bytes - at : room;
        copy_all(gpu, slot_memory(uploads) + uploads->used, data + at, bytes);
        const VkBufferCopy copy = {uploads->filled * uploads->slot_bytes + uploads->used, to.offset + at,
                                   bytes};
        gpu->vk.CmdCopyBuffer(uploads->slot[uploads->filled].commands, uploads->staging.handle,
                              to.buffer->handle, 1, &copy);
        uploads->used += bytes;
        if (uploads->used == uploads->slot_bytes && !submit_slot(uploads, error))
            return false;
    }
    return true;
}

bool wnn_uploads_add(struct uploads *uploads, const void *data, struct region to, struct error *error)
{
    if (uploads->gpu->is_described || to.bytes == 0)
        return true;
    if (!to.buffer->mapped)
        return stage(uploads, data, to, error);
    copy_all(uploads->gpu, (unsigned char *)to.buffer->mapped + to.offset, data, to.bytes);
    return flush(uploads, to.buffer, error);
}

// Until nothing reads the staging memory any more.
static bool wait_for_ring(struct uploads *uploads, struct error *error)
{
    struct gpu *gpu = uploads->gpu;
    bool done = true;
    for (unsigned i = 0; i < uploads->slots; i++)
        done = wnn_gpu_wait(gpu, &uploads->slot[i].end, error) && done;
    if (!done)
        wnn_gpu_wait_idle(gpu);
    return done;
}

bool wnn_uploads_end(struct uploads *uploads, bool done, struct error *error)
{
    struct gpu *gpu = uploads->gpu;
    done = done && flush(uploads, NULL, error) && (uploads->used == 0 || submit_slot(uploads, error));
    done = wait_for_ring(uploads, error) && done;
    for (unsigned i = 0; i < uploads->slots; i++) {
        struct upload_slot *slot = &uploads->slot[i];
        if (slot->commands)
            gpu->vk.FreeCommandBuffers(gpu->device, uploads->pool->handle, 1, &slot->commands);
        wnn_sync_point_free(gpu, &slot->end);
    }
    wnn_buffer_free(gpu, &uploads->staging);
    return done;
}

bool wnn_gpu_upload(struct gpu *gpu, struct command_pool *pool, const struct upload *list, size_t count,
                    struct error *error)
{
    struct uploads uploads;
    uint64_t total = 0;
    bool done = true;
    for (size_t i = 0; i < count; i++)
        total += list[i].to.bytes;
    wnn_uploads_begin(&uploads, gpu, pool, total);
    for (size_t i = 0; done && i < count; i++)
        done = wnn_uploads_add(&uploads, list[i].data, list[i].to, error);
    return wnn_uploads_end(&uploads, done, error);
}
