// SPDX-License-Identifier: Apache-2.0
//
// The only file that names the backends.

#include "runtime/backends.h"

#include "cpu/cpu.h"
#if defined(WNN_HAVE_VULKAN) && WNN_HAVE_VULKAN
#include "vulkan/vulkan.h"
#endif

#include <string.h>

static const struct {
    const struct backend *backend;
    int device; // a WNNDeviceType, or 0
} backends[] = {
    {&wnn_backend_cpu, WNNDeviceType_CPU},
#if defined(WNN_HAVE_VULKAN) && WNN_HAVE_VULKAN
    {&wnn_backend_vulkan, WNNDeviceType_GPU},
#endif
    {&wnn_backend_dummy, 0},
};

const struct backend *wnn_backend_find(const char *name)
{
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(backends[i].backend->name, name) == 0)
            return backends[i].backend;
    return NULL;
}

const struct backend *wnn_backend_for_device(WNNDeviceType type)
{
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (backends[i].device == (int)type)
            return backends[i].backend;
    return NULL;
}
