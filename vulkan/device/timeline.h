// SPDX-License-Identifier: Apache-2.0
//
// The queue of a device: what is submitted to it ends in that order, and moments tell when: a moment is the
// end of a submission and of all before it. It counts on the device's timeline semaphore, or is a fence where
// there is none. Any thread may submit and wait, but only one at a time with the same moment or command pool.

#ifndef VULKAN_TIMELINE_H_
#define VULKAN_TIMELINE_H_

#include "vulkan/device/device.h"

bool wnn_timeline_open(struct gpu *gpu, struct error *error);
void wnn_timeline_close(struct gpu *gpu);

bool wnn_sync_point_create(struct gpu *gpu, struct sync_point *sync_point, struct error *error);
void wnn_sync_point_free(struct gpu *gpu, struct sync_point *sync_point); // one of zeros is accepted

// A command pool, and the end of what its owner ran last, both made when they are first needed; zeros until
// then. An executable has one, which its build uses and later its executions, and so do transfers.
struct command_pool {
    VkCommandPool handle;
    struct sync_point end;
};

bool wnn_command_pool_allocate(struct gpu *gpu, struct command_pool *pool, VkCommandBuffer *commands,
                               struct error *error);
void wnn_command_pool_free(struct gpu *gpu, struct command_pool *pool); // with all of its command buffers

// Command buffers that are submitted together.
struct batch {
    const VkCommandBuffer *commands;
    uint32_t count;
};

// Submits batches, one submission each; `moment` comes when the last has ended. On failure none
// of them runs any more, or the device counts as lost. `waits` and `signals` or NULL: what the first waits
// for and the last signals besides.
bool wnn_gpu_submit(struct gpu *gpu, const struct batch *batches, size_t count, const WNNVulkanSync *waits,
                    const WNNVulkanSync *signals, struct sync_point *sync_point, struct error *error);

// Waits for a moment that is ahead. When it fails the device counts as lost, and what was submitted may still
// run.
bool wnn_gpu_wait(struct gpu *gpu, struct sync_point *sync_point, struct error *error);

// Waits for everything that has been submitted, where nothing better can be done. False: it may still run.
bool wnn_gpu_wait_idle(struct gpu *gpu);

// Submits command buffers of the pool and waits; when it fails, nothing of it runs any more.
bool wnn_gpu_run_batches(struct gpu *gpu, struct command_pool *pool, const struct batch *batches,
                         size_t count, struct error *error);
bool wnn_gpu_run(struct gpu *gpu, struct command_pool *pool, VkCommandBuffer commands, struct error *error);

#endif
