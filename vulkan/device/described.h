// SPDX-License-Identifier: Apache-2.0
//
// Devices as text: what shaders, the order of constants and the keys of code depend on. A device is opened
// from such text without being there, or any driver: shaders are made for it, and nothing runs.

#ifndef VULKAN_DESCRIBED_H_
#define VULKAN_DESCRIBED_H_

#include "vulkan/device/device.h"

// `compiler`: the version of that of GLSL.
void wnn_gpu_write_target(const struct gpu *gpu, const char *compiler, struct text *text);

// As wnn_gpu_open. Takes what the text says; whether it says the same is for the caller to compare.
// NotSupportedError: it cannot be that of a device.
bool wnn_gpu_open_described(struct gpu *gpu, const struct backend_options *options, struct string target,
                            struct error *error);

#endif
