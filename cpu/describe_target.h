// SPDX-License-Identifier: Apache-2.0
//
// Targets (target.h) in words.

#ifndef CPU_DESCRIBE_TARGET_H_
#define CPU_DESCRIBE_TARGET_H_

#include "cpu/target.h"
#include "lib/status.h"
#include "lib/text.h"

// What a compiled graph says that it is for: architecture, instructions, and the library that shares the
// work.
void wnn_cpu_describe_target(const struct cpu_target *target, struct text *text);

// The target of which that is the description. NULL (and NotSupportedError): this library does not compile
// for it.
const struct cpu_target *wnn_cpu_find_target(struct string description, struct error *error);

#endif
