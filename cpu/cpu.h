// SPDX-License-Identifier: Apache-2.0
//
// The CPU backend: XNNPACK for the nodes that it computes well, kernels of our own for everything.

#ifndef CPU_CPU_H_
#define CPU_CPU_H_

#include "compiler/backend.h"

extern const struct backend wnn_backend_cpu;

#endif
