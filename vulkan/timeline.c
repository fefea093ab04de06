// SPDX-License-Identifier: Apache-2.0
#include "vulkan/timeline.h"

bool wnn_timeline_open(struct gpu *gpu, struct error *error)
{
    if (gpu->can.timeline) {
        const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                                .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
        const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
        VkResult result = gpu->vk.CreateSemaphore(gpu->device, &info, NULL, &gpu->timeline);
        if (result != VK_SUCCESS)
            return wnn_gpu_fail(gpu, result, "vkCreateSemaphore", error);
    }
    return wnn_moment_create(gpu, &gpu->own, error);
}

void wnn_timeline_close(struct gpu *gpu)
{
    wnn_moment_free(gpu, &gpu->own);
    gpu->vk.DestroySemaphore(gpu->device, gpu->timeline, NULL);
}

bool wnn_moment_create(struct gpu *gpu, struct moment *moment, struct error *error)
{
    *moment = (struct moment){0};
    if (gpu->timeline)
        return true;
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = gpu->vk.CreateFence(gpu->device, &info, NULL, &moment->fence);
    return result == VK_SUCCESS || wnn_gpu_fail(gpu, result, "vkCreateFence", error);
}

void wnn_moment_free(struct gpu *gpu, struct moment *moment)
{
    gpu->vk.DestroyFence(gpu->device, moment->fence, NULL);
    *moment = (struct moment){0};
}

static VkResult submit(struct gpu *gpu, VkCommandBuffer commands, struct moment *moment)
{
    const uint64_t count = gpu->submitted + 1;
    const VkTimelineSemaphoreSubmitInfo signal = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .signalSemaphoreValueCount = 1,
                                                  .pSignalSemaphoreValues = &count};
    VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &commands};
    if (moment && gpu->timeline) {
        info.pNext = &signal;
        info.signalSemaphoreCount = 1;
        info.pSignalSemaphores = &gpu->timeline;
        gpu->submitted = moment->count = count;
    }
    return gpu->vk.QueueSubmit(gpu->queue, 1, &info, moment ? moment->fence : VK_NULL_HANDLE);
}

bool wnn_gpu_submit(struct gpu *gpu, const VkCommandBuffer *commands, size_t count, struct moment *moment,
                    struct error *error)
{
    if (gpu->lost)
        return wnn_gpu_fail(gpu, VK_ERROR_DEVICE_LOST, "an earlier call", error);
    for (size_t i = 0; i < count; i++) {
        VkResult result = submit(gpu, commands[i], i + 1 == count ? moment : NULL);
        if (result == VK_SUCCESS)
            continue;
        // What was submitted before may run: nothing can be said about its memory.
        gpu->lost = gpu->lost || i > 0;
        return wnn_gpu_fail(gpu, result, "vkQueueSubmit", error);
    }
    moment->ahead = count > 0;
    return true;
}

bool wnn_gpu_wait(struct gpu *gpu, struct moment *moment, struct error *error)
{
    VkResult result = VK_SUCCESS;
    if (!moment->ahead)
        return true;
    moment->ahead = false;
    if (gpu->timeline) {
        const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                          .semaphoreCount = 1,
                                          .pSemaphores = &gpu->timeline,
                                          .pValues = &moment->count};
        result = gpu->vk.WaitSemaphores(gpu->device, &info, UINT64_MAX);
    } else {
        result = gpu->vk.WaitForFences(gpu->device, 1, &moment->fence, VK_TRUE, UINT64_MAX);
        if (result == VK_SUCCESS)
            result = gpu->vk.ResetFences(gpu->device, 1, &moment->fence);
    }
    if (result == VK_SUCCESS)
        return true;
    // What was submitted may still run.
    gpu->lost = true;
    return wnn_gpu_fail(gpu, result, gpu->timeline ? "vkWaitSemaphores" : "vkWaitForFences", error);
}

bool wnn_gpu_run(struct gpu *gpu, VkCommandBuffer commands, struct error *error)
{
    return wnn_gpu_submit(gpu, &commands, 1, &gpu->own, error) && wnn_gpu_wait(gpu, &gpu->own, error);
}
