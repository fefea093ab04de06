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
    if (result == VK_SUCCESS)
        return true;
    moment->fence = VK_NULL_HANDLE; // whatever the driver says
    return wnn_gpu_fail(gpu, result, "vkCreateFence", error);
}

void wnn_moment_free(struct gpu *gpu, struct moment *moment)
{
    gpu->vk.DestroyFence(gpu->device, moment->fence, NULL);
    *moment = (struct moment){0};
}

static double nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

enum {
    MOST_POINTS = 17 // with the timeline's own
};

// One submission: waits for what comes before it if it is the first, and signals if it is the last.
static VkResult submit(struct gpu *gpu, const struct batch *batch, const WNNVulkanSync *waits,
                       const WNNVulkanSync *signals, struct moment *moment)
{
    VkSemaphore wait[MOST_POINTS], signal[MOST_POINTS];
    uint64_t wait_values[MOST_POINTS], signal_values[MOST_POINTS];
    VkPipelineStageFlags stages[MOST_POINTS];
    uint32_t wait_count = 0, signal_count = 0;
    for (size_t i = 0; waits && i < waits->waitCount; i++) {
        wait[wait_count] = (VkSemaphore)waits->waits[i].semaphore;
        stages[wait_count] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
        wait_values[wait_count++] = waits->waits[i].value;
    }
    for (size_t i = 0; signals && i < signals->signalCount; i++) {
        signal[signal_count] = (VkSemaphore)signals->signals[i].semaphore;
        signal_values[signal_count++] = signals->signals[i].value;
    }
    pthread_mutex_lock(&gpu->lock);
    if (moment && gpu->timeline) {
        gpu->submitted = moment->count = gpu->submitted + 1;
        signal[signal_count] = gpu->timeline;
        signal_values[signal_count++] = moment->count;
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
    if (gpu->lent.lockQueue)
        gpu->lent.lockQueue(gpu->lent.userdata);
    VkResult result = gpu->vk.QueueSubmit(gpu->queue, 1, &info, moment ? moment->fence : VK_NULL_HANDLE);
    if (gpu->lent.unlockQueue)
        gpu->lent.unlockQueue(gpu->lent.userdata);
    pthread_mutex_unlock(&gpu->lock);
    return result;
}

bool wnn_gpu_settle(struct gpu *gpu)
{
    pthread_mutex_lock(&gpu->lock);
    if (gpu->lent.lockQueue)
        gpu->lent.lockQueue(gpu->lent.userdata);
    VkResult result = gpu->vk.QueueWaitIdle(gpu->queue);
    if (gpu->lent.unlockQueue)
        gpu->lent.unlockQueue(gpu->lent.userdata);
    pthread_mutex_unlock(&gpu->lock);
    return result == VK_SUCCESS;
}

bool wnn_gpu_submit(struct gpu *gpu, const struct batch *batches, size_t count, const WNNVulkanSync *waits,
                    const WNNVulkanSync *signals, struct moment *moment, struct error *error)
{
    if (gpu->lost)
        return wnn_gpu_fail(gpu, VK_ERROR_DEVICE_LOST, "an earlier call", error);
    moment->begin = nanoseconds();
    for (size_t i = 0; i < count; i++) {
        bool last = i + 1 == count;
        VkResult result =
            submit(gpu, &batches[i], i == 0 ? waits : NULL, last ? signals : NULL, last ? moment : NULL);
        if (result == VK_SUCCESS)
            continue;
        wnn_gpu_fail(gpu, result, "vkQueueSubmit", error);
        // What was submitted before may run, and would use memory that is given to others.
        if (i > 0 && !gpu->lost)
            gpu->lost = (waits && waits->waitCount > 0) || !wnn_gpu_settle(gpu);
        return false;
    }
    moment->ahead = count > 0;
    return true;
}

// To wake a thread takes longer than many an execution: the end is looked for without sleeping first, or,
// where the last execution was longer, for as long around the time when it is due.
#define LOOK_NANOSECONDS 50e3

// Whether the moment came while it was looked for; where the device is the processor, that is busy.
static bool look(struct gpu *gpu, const struct moment *moment)
{
    double end = nanoseconds() + LOOK_NANOSECONDS;
    uint64_t count = 0;
    do
        if (gpu->vk.GetSemaphoreCounterValue(gpu->device, gpu->timeline, &count) != VK_SUCCESS)
            return false;
    while (count < moment->count && nanoseconds() < end);
    return count >= moment->count;
}

// For longer no thread stays inside of the driver, so that the process can end.
#define SLICE_NANOSECONDS 50000000u

static VkResult wait_for_slice(struct gpu *gpu, const struct moment *moment, const VkSemaphoreWaitInfo *info)
{
    return gpu->timeline ? gpu->vk.WaitSemaphores(gpu->device, info, SLICE_NANOSECONDS)
                         : gpu->vk.WaitForFences(gpu->device, 1, &moment->fence, VK_TRUE, SLICE_NANOSECONDS);
}

static VkResult wait_in_slices(struct gpu *gpu, const struct moment *moment, const VkSemaphoreWaitInfo *info)
{
    VkResult result;
    while ((result = wait_for_slice(gpu, moment, info)) == VK_TIMEOUT)
        wnn_gate_pass(&gpu->gate);
    return result;
}

static VkResult wait_once(struct gpu *gpu, const struct moment *moment)
{
    const VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                      .semaphoreCount = 1,
                                      .pSemaphores = &gpu->timeline,
                                      .pValues = &moment->count};
    if (!gpu->timeline) {
        VkResult result = wait_in_slices(gpu, moment, &info);
        return result == VK_SUCCESS ? gpu->vk.ResetFences(gpu->device, 1, &moment->fence) : result;
    }
    if (gpu->can.type != VK_PHYSICAL_DEVICE_TYPE_CPU) {
        double due = moment->begin + moment->length - LOOK_NANOSECONDS / 2, left;
        while ((left = due - nanoseconds()) > LOOK_NANOSECONDS) {
            uint64_t slice = left < SLICE_NANOSECONDS ? (uint64_t)left : SLICE_NANOSECONDS;
            VkResult result = gpu->vk.WaitSemaphores(gpu->device, &info, slice);
            if (result != VK_TIMEOUT)
                return result;
            wnn_gate_pass(&gpu->gate);
        }
        if (look(gpu, moment))
            return VK_SUCCESS;
    }
    return wait_in_slices(gpu, moment, &info);
}

bool wnn_gpu_wait(struct gpu *gpu, struct moment *moment, struct error *error)
{
    enum {
        TRIES = 4 // of what fails for want of memory while the device goes on
    };
    VkResult result = VK_SUCCESS;
    if (!moment->ahead)
        return true;
    moment->ahead = false;
    for (int i = 0; i < TRIES; i++)
        if ((result = wait_once(gpu, moment)) == VK_SUCCESS || result == VK_ERROR_DEVICE_LOST)
            break;
    moment->length = nanoseconds() - moment->begin;
    if (result == VK_SUCCESS)
        return true;
    gpu->lost = true;
    return wnn_gpu_fail(gpu, result, gpu->timeline ? "vkWaitSemaphores" : "vkWaitForFences", error);
}

bool wnn_gpu_run_batches(struct gpu *gpu, const struct batch *batches, size_t count, struct error *error)
{
    if (wnn_gpu_submit(gpu, batches, count, NULL, NULL, &gpu->own, error) &&
        wnn_gpu_wait(gpu, &gpu->own, error))
        return true;
    if (gpu->lost)
        wnn_gpu_settle(gpu);
    return false;
}

bool wnn_gpu_run(struct gpu *gpu, VkCommandBuffer commands, struct error *error)
{
    return wnn_gpu_run_batches(gpu, &(struct batch){&commands, 1}, 1, error);
}
