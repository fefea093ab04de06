// SPDX-License-Identifier: Apache-2.0
//
// The test that a device passes before it is used: one dispatch with known answers, which also says what its
// arithmetic does beyond what all devices promise. Its shader is compiled while the library is built, where
// that can run what it compiles.

#ifndef VULKAN_PROBE_H_
#define VULKAN_PROBE_H_

#include "vulkan/program/shader.h"

enum {
    PROBE_COUNT = 128,
    PROBE_IN = 4 * PROBE_COUNT, // floats
    PROBE_OUT = 8 * PROBE_COUNT // words
};

void wnn_probe_fill(float in[PROBE_IN]);

// The dispatch: input 0 to output 0.
void wnn_lower_probe(struct lowering *lowering);

// What came out says what the device can do; false: it computes wrong numbers.
bool wnn_probe_read(const float in[PROBE_IN], const uint32_t out[PROBE_OUT], struct capabilities *can,
                    bool *flushes_denormals);

#endif
