// SPDX-License-Identifier: Apache-2.0
#include "vulkan/device/timeline.h"

#include <time.h>

bool wnn_timeline_open(struct gpu *gpu, struct error *error)
{
    if (gpu->can.timeline) {
        const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                                .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
        const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
        VkResult result = gpu->vk.CreateSemaphore(gpu->device, &info, NULL, &gpu->timeline);
        if (result != VK_SUCCESS) {
            gpu->timeline = VK_NULL_HANDLE;
            return wnn_gpu_fail(gpu, result, "vkCreateSemaphore", error);
        }
    }
    return true;
}

void wnn_timeline_close(struct gpu *gpu)
{
    gpu->vk.DestroySemaphore(gpu->device, gpu->timeline, NULL);
}

bool wnn_sync_point_create(struct gpu *gpu, struct sync_point *sync_point, struct error *error)
{
    *sync_point = (struct sync_point){0};
    if (gpu->timeline)
        return true;
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = gpu->vk.CreateFence(gpu->device, &info, NULL, &sync_point->fence);
    if (result == VK_SUCCESS)
        return true;
    sync_point->fence = VK_NULL_HANDLE; // whatever the driver says
    return wnn_gpu_fail(gpu, result, "vkCreateFence", error);
}

void wnn_sync_point_free(struct gpu *gpu, struct sync_point *sync_point)
{
    gpu->vk.DestroyFence(gpu->device, sync_point->fence, NULL);
    *sync_point = (struct sync_point){0};
}

static bool create_pool(struct gpu *gpu, struct command_pool *pool, struct error *error)
{
    const VkCommandPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = gpu->family};
    if (!wnn_sync_point_create(gpu, &pool->end, error))
        return false;
    VkResult result = gpu->vk.CreateCommandPool(gpu->device, &info, NULL, &pool->handle);
    if (result == VK_SUCCESS)
        return true;
    pool->handle = VK_NULL_HANDLE; // whatever the driver says
    wnn_sync_point_free(gpu, &pool->end);
    return wnn_gpu_fail(gpu, result, "vkCreateCommandPool", error);
}

bool wnn_command_pool_allocate(struct gpu *gpu, struct command_pool *pool, VkCommandBuffer *commands,
                               struct error *error)
{
    if (!pool->handle && !create_pool(gpu, pool, error))
        return false;
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = pool->handle,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    VkResult result = gpu->vk.AllocateCommandBuffers(gpu->device, &info, commands);
    if (result == VK_SUCCESS)
        return true;
    *commands = VK_NULL_HANDLE;
    return wnn_gpu_fail(gpu, result, "vkAllocateCommandBuffers", error);
}

void wnn_command_pool_free(struct gpu *gpu, struct command_pool *pool)
{
    gpu->vk.DestroyCommandPool(gpu->device, pool->handle, NULL);
    wnn_sync_point_free(gpu, &pool->end);
    pool->handle = VK_NULL_HANDLE;
}

static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

enum {
    MAX_POINTS = 17 // with the timeline's own
};

// vkQueueSubmit or vkQueueWaitIdle without anybody else in the queue.
static void lock_queue(struct gpu *gpu)
{
    pthread_mutex_lock(&gpu->lock);
    if (gpu->external.lockQueue)
        gpu->external.lockQueue(gpu->external.userdata);
}

static void unlock_queue(struct gpu *gpu)
{
    if (gpu->external.unlockQueue)
        gpu->external.unlockQueue(gpu->external.userdata);
    pthread_mutex_unlock(&gpu->lock);
}

// One submission: waits for what comes before it if it is the first, and signals if it is the last, of which
// the moment is the end.
static VkResult submit(struct gpu *gpu, const struct batch *batch, const WNNVulkanSync *waits,
                       const WNNVulkanSync *signals, struct sync_point *sync_point, bool last)
{
    VkSemaphore wait[MAX_POINTS], signal[MAX_POINTS];
    uint64_t wait_values[MAX_POINTS], signal_values[MAX_POINTS];
    VkPipelineStageFlags stages[MAX_POINTS];
    uint32_t wait_count = 0, signal_count = 0;
    for (size_t i = 0; waits && i < waits->waitCount; i++) {
        wait[wait_count] = (VkSemaphore)waits->waits[i].semaphore;
        stages[wait_count] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        wait_values[wait_count++] = waits->waits[i].value;
    }
    for (size_t i = 0; last && signals && i < signals->signalCount; i++) {
        signal[signal_count] = (VkSemaphore)signals->signals[i].semaphore;
        signal_values[signal_count++] = signals->signals[i].value;
    }
    lock_queue(gpu);
    if (gpu->timeline) {
        sync_point->count = gpu->submitted + 1;
        signal[signal_count] = gpu->timeline;
        signal_values[signal_count++] = sync_point->count;
    }
    const VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                  .waitSemaphoreValueCount = wait_count,
                                                  .pWaitSemaphoreValues = wait_values,
                                                  .signalSemaphoreValueCount = signal_count,
                                                  .pSignalSemaphoreValues = signal_values};
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                               .pNext = wait_count + signal_count > 0 ? &values : NULL,
                               .waitSemaphoreCount = wait_count,
                               .pWaitSemaphores = wait,
                               .pWaitDstStageMask = stages,
                               .commandBufferCount = batch->count,
                               .pCommandBuffers = batch->commands,
                               .signalSemaphoreCount = signal_count,
                               .pSignalSemaphores = signal};
    VkResult result = gpu->vk.QueueSubmit(gpu->queue, 1, &info, last ? sync_point->fence : VK_NULL_HANDLE);
    if (result == VK_SUCCESS && gpu->timeline)
        gpu->submitted = sync_point->count;
    unlock_queue(gpu);
    return result;
}

bool wnn_gpu_submit(struct gpu *gpu, const struct batch *batches, size_t count, const WNNVulkanSync *waits,
                    const WNNVulkanSync *signals, struct sync_point *sync_point, struct error *error)
{
    if (gpu->lost)
        return wnn_gpu_fail(gpu, VK_ERROR_DEVICE_LOST, "an earlier call", error);
    sync_point->begin = nanoseconds();
    for (size_t i = 0; i < count; i++) {
        VkResult result =
            submit(gpu, &batches[i], i == 0 ? waits : NULL, signals, sync_point, i + 1 == count);
        if (result == VK_SUCCESS)
            continue;
        wnn_gpu_fail(gpu, result, "vkQueueSubmit", error);
        // What was submitted before may run, and would use memory that is given to others.
        if (i > 0 && !gpu->lost)
            gpu->lost = (waits && waits->waitCount > 0) || !wnn_gpu_wait_idle(gpu);
        return false;
    }
    sync_point->ahead = count > 0;
    return true;
}

// To wake a thread takes longer than many an execution: the end is looked for without sleeping first, or,
// where the last execution was longer, for as long around the time when it is due.
#define LOOK_NANOSECONDS 50e3
// Of which nothing is known yet:
#define FIRST_LOOK_NANOSECONDS 2e6

// Whether the moment came while it was looked for; where the device is the processor, that is busy.
static bool look(struct gpu *gpu, const struct sync_point *sync_point)
{
    double end = nanoseconds() + (sync_point->length > 0 ? LOOK_NANOSECONDS : FIRST_LOOK_NANOSECONDS);
    uint64_t count = 0;
    do
        if (gpu->vk.GetSemaphoreCounterValue(gpu->device, gpu->timeline, &count) != VK_SUCCESS)
            return false;
    while (count < sync_point->count && nanoseconds() < end);
    return count >= sync_point->count;
}

// For longer no thread stays inside of the driver, so that the process can end.
#define SLICE_NANOSECONDS 50000000u

static VkResult wait_for_slice(struct gpu *gpu, const struct sync_point *sync_point, uint64_t slice)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &gpu->timeline,
                                      .pValues = &sync_point->count};
    return gpu->timeline ? gpu->vk.WaitSemaphores(gpu->device, &info, slice)
                         : gpu->vk.WaitForFences(gpu->device, 1, &sync_point->fence, VK_TRUE, slice);
}

static VkResult wait_in_slices(struct gpu *gpu, const struct sync_point *sync_point)
{
    VkResult result;
    while ((result = wait_for_slice(gpu, sync_point, SLICE_NANOSECONDS)) == VK_TIMEOUT)
        wnn_gate_pass(&gpu->gate);
    return result;
}

static VkResult wait_once(struct gpu *gpu, const struct sync_point *sync_point)
{
    if (!gpu->timeline) {
        VkResult result = wait_in_slices(gpu, sync_point);
        return result == VK_SUCCESS ? gpu->vk.ResetFences(gpu->device, 1, &sync_point->fence) : result;
    }
    if (gpu->can.type != VK_PHYSICAL_DEVICE_TYPE_CPU) {
        double due = sync_point->begin + sync_point->length - LOOK_NANOSECONDS / 2, left;
        while ((left = due - nanoseconds()) > LOOK_NANOSECONDS) {
            uint64_t slice = left < SLICE_NANOSECONDS ? (uint64_t)left : SLICE_NANOSECONDS;
            VkResult result = wait_for_slice(gpu, sync_point, slice);
            if (result != VK_TIMEOUT)
                return result;
            wnn_gate_pass(&gpu->gate);
        }
        if (look(gpu, sync_point))
            return VK_SUCCESS;
    }
    return wait_in_slices(gpu, sync_point);
}

bool wnn_gpu_wait(struct gpu *gpu, struct sync_point *sync_point, struct error *error)
{
    enum {
        TRIES = 4 // of what fails for want of memory while the device goes on
    };
    VkResult result = VK_SUCCESS;
    if (!sync_point->ahead)
        return true;
    sync_point->ahead = false;
    for (int i = 0; i < TRIES; i++)
        if ((result = wait_once(gpu, sync_point)) == VK_SUCCESS || result == VK_ERROR_DEVICE_LOST)
            break;
    sync_point->length = nanoseconds() - sync_point->begin;
    if (result == VK_SUCCESS)
        return true;
    gpu->lost = true;
    return wnn_gpu_fail(gpu, result, gpu->timeline ? "vkWaitSemaphores" : "vkWaitForFences", error);
}

// Without a lock while the device works, where semaphores count; the queue is idle also when they fail.
bool wnn_gpu_wait_idle(struct gpu *gpu)
{
    struct sync_point last = {0};
    pthread_mutex_lock(&gpu->lock);
    last.count = gpu->submitted;
    pthread_mutex_unlock(&gpu->lock);
    if (gpu->timeline && wait_in_slices(gpu, &last) == VK_SUCCESS)
        return true;
    lock_queue(gpu);
    VkResult result = gpu->vk.QueueWaitIdle(gpu->queue);
    unlock_queue(gpu);
    return result == VK_SUCCESS;
}

bool wnn_gpu_run_batches(struct gpu *gpu, struct command_pool *pool, const struct batch *batches,
                         size_t count, struct error *error)
{
    if (wnn_gpu_submit(gpu, batches, count, NULL, NULL, &pool->end, error) &&
        wnn_gpu_wait(gpu, &pool->end, error))
        return true;
    if (gpu->lost)
        wnn_gpu_wait_idle(gpu);
    return false;
}

bool wnn_gpu_run(struct gpu *gpu, struct command_pool *pool, VkCommandBuffer commands, struct error *error)
{
    return wnn_gpu_run_batches(gpu, pool, &(struct batch){&commands, 1}, 1, error);
}
