// SPDX-License-Identifier: Apache-2.0
#ifndef CPU_IDENTITY_H_
#define CPU_IDENTITY_H_

#include <webnn/webnn.h>

// backend.identify; the state is not looked at.
void wnn_cpu_identify(void *state, WNNDeviceInfo *info);

#endif
