// SPDX-License-Identifier: Apache-2.0
//
// The processor and its threads, whatever runs on them.

#ifndef RUNTIME_PROCESSOR_H_
#define RUNTIME_PROCESSOR_H_

#include "lib/allocator.h"

// More threads than this never help, and a number from outside must not exhaust the process.
#define MAX_THREADS 1024u

// That this process may run on.
uint32_t wnn_processor_count(void);

// Rounding to nearest, denormals as they are, no traps.
void wnn_floating_point_default(void);

// With as many threads, or NULL.
void *wnn_pthreadpool_create(struct allocator *allocator, uint32_t threads);

#endif
