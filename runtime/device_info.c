// SPDX-License-Identifier: Apache-2.0
//
// What a context computes on.

#include "runtime/internal.h"

void wnnContextGetDeviceInfo(WNNContext context, WNNDeviceInfo *info)
{
    if (!info)
        return;
    WNNDeviceInfo found = {.deviceType = WNNDeviceType_CPU, .index = WNN_DEVICE_INDEX_UNKNOWN};
    const struct backend *backend = context ? context->backend : NULL;
    if (backend && backend->identify)
        backend->identify(context->state, &found);
    if (backend && found.deviceType == WNNDeviceType_CPU)
        found.processorCount = wnn_processor_count();
    if (backend && !found.name[0]) {
        struct text name = TEXT(found.name);
        wnn_text_add(&name, "%s", backend->name);
    }
    found.nextInChain = info->nextInChain;
    *info = found;
}
