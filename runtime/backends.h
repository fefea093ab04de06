// SPDX-License-Identifier: Apache-2.0
//
// The backends that this build has.

#ifndef RUNTIME_BACKENDS_H_
#define RUNTIME_BACKENDS_H_

#include "compiler/backend.h"

// By name ("cpu", "vulkan", "dummy"), or NULL.
const struct backend *wnn_backend_find(const char *name);

// The one for a device type, or NULL.
const struct backend *wnn_backend_for_device(WNNDeviceType type);

#endif
