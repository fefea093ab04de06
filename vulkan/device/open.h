// SPDX-License-Identifier: Apache-2.0
//
// Opening a device: the library, the instance, which of the devices, and what it can do.

#ifndef VULKAN_DEVICE_OPEN_H_
#define VULKAN_DEVICE_OPEN_H_

#include "vulkan/device/device.h"

// How a device is opened.
struct gpu_origin {
    PFN_vkGetInstanceProcAddr get; // NULL: the loader's
    bool minimal;                  // tests: as if there were nothing beyond the minimum
    bool apart;                    // tests: as if the device had memory of its own, which the host can map
    double budget;                 // tests: instead of GPU_BUDGET; 0: that
    bool matrices;                 // tests: all products on matrix units, emulated where there are none
    bool hides_places;             // tests: capabilities.hides_places
    struct string target;          // a device that is described; empty: one that is there
};

// Opens the library. NotSupportedError if there is none. Any thread.
bool wnn_gpu_load(void **library, struct error *error);

// NotSupportedError: no library, no device that will do. What has been opened is closed on failure. The
// thread is inside of the gate then, as it has to be for closing.
bool wnn_gpu_open(struct gpu *gpu, const struct backend_options *options, const struct gpu_origin *origin,
                  struct error *error);
void wnn_gpu_close(struct gpu *gpu);

// The devices, whether they will do or not, in the order of the driver: up to `capacity` are filled in, the
// number of all of them is returned. Any thread.
size_t wnn_gpu_enumerate(size_t capacity, WNNDeviceInfo *infos);

#endif
