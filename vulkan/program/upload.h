// SPDX-License-Identifier: Apache-2.0
//
// From host memory to regions of device memory: at once where that is mapped, otherwise through a ring of
// staging memory, the slots of which are copied on while the next ones are filled.

#ifndef VULKAN_UPLOAD_H_
#define VULKAN_UPLOAD_H_

#include "vulkan/device/memory.h"
#include "vulkan/device/timeline.h"

// A piece of a buffer.
struct region {
    const struct buffer *buffer;
    size_t offset, bytes;
};

enum {
    UPLOAD_SLOTS = 4
};

// Uploads of one command pool, one behind the other.
struct uploads {
    struct gpu *gpu;
    struct command_pool *pool;
    struct buffer staging;  // made when it is first needed
    unsigned slots, filled; // filled: the slot that is
    size_t slot_bytes, used;
    struct upload_slot {
        VkCommandBuffer commands;
        struct sync_point end;
    } slot[UPLOAD_SLOTS];
    const struct buffer *written; // mapped, and not flushed yet; or NULL
};

// `total`: bytes that will be uploaded, about, of which staging memory has one in 32 at most: or a MiB of
// fewer, and never more than 64 MiB.
void wnn_uploads_begin(struct uploads *uploads, struct gpu *gpu, struct command_pool *pool, uint64_t total);
// Takes the bytes of a region, which whoever has given them may give up then.
bool wnn_uploads_add(struct uploads *uploads, const void *data, struct region to, struct error *error);
// Waits until all is where it belongs. In any case, also if something has failed.
bool wnn_uploads_end(struct uploads *uploads, bool done, struct error *error);

// All of that for a list.
struct upload {
    const void *data;
    struct region to;
};
bool wnn_gpu_upload(struct gpu *gpu, struct command_pool *pool, const struct upload *list, size_t count,
                    struct error *error);

#endif
