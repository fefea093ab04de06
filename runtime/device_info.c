// SPDX-License-Identifier: Apache-2.0
//
// The devices that there are, and the one that a context computes on.

#include "runtime/backends.h"
#include "runtime/internal.h"
#include "runtime/processor.h"

WNNStatus wnnEnumerateDevices(size_t capacity, WNNDeviceInfo *devices, size_t *count)
{
    struct error error = {0};
    const struct backend *backend = wnn_backend_for_device(WNNDeviceType_GPU);
    if (count)
        *count = 0;
    if (!devices)
        capacity = 0;
    if (!wnn_check_outputs(devices, capacity, sizeof *devices, "device info", &error))
        return error.status;
    size_t found = backend && backend->enumerate ? backend->enumerate(capacity, devices) : 0;
    if (count)
        *count = found;
    return WNNStatus_Success;
}

WNNStatus wnnContextGetDeviceInfo(WNNContext context, WNNDeviceInfo *info)
{
    struct error error = {0};
    if (!context)
        return WNNStatus_TypeError;
    if (!wnn_check_outputs(info, 1, sizeof *info, "device info", &error))
        return wnn_context_report(context, &error);
    WNNDeviceInfo found = {.deviceType = WNNDeviceType_CPU, .index = WNN_DEVICE_INDEX_UNKNOWN};
    const struct backend *backend = context->backend;
    if (backend->identify)
        backend->identify(context->state, &found);
    if (found.deviceType == WNNDeviceType_CPU)
        found.processorCount = wnn_processor_count();
    if (!found.name[0]) {
        struct text name = TEXT(found.name);
        wnn_text_add(&name, "%s", backend->name);
    }
    *info = found;
    return WNNStatus_Success;
}
