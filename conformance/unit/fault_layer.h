// SPDX-License-Identifier: Apache-2.0
//
// Vulkan as a driver that fails: functions that count calls, refuse the one that they are told to, and know
// what has been created and not destroyed. For struct gpu_origin.get. What it does not wrap goes to the
// loader's function. One context at a time: they share what the driver takes long to make.

#ifndef CONFORMANCE_UNIT_FAULT_LAYER_H_
#define CONFORMANCE_UNIT_FAULT_LAYER_H_

#include "vulkan/device/functions.h"

#include <stdbool.h>
#include <stddef.h>

// Before anything else; false: there is no loader.
bool fault_begin(void);
void fault_end(void);

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL fault_get(VkInstance instance, const char *name);

// From now on, call number `call` (from 1) of those that may fail with `result` does, and all after it if so
// wished. A lost device stays lost: every later call that may say so does.
void fault_arm(unsigned call, VkResult result, bool and_after);

// Lets no more fail; returns the name of the function that did, or NULL.
const char *fault_disarm(void);

// A function that cannot be found; NULL: all can be.
void fault_hide(const char *name);

// Whether a function cannot fail, or is one that the layer lets fail.
bool fault_knows(const char *name);

// From now on floating-point numbers are subtracted where a shader adds them, or not any more.
void fault_subtract(bool on);

// The most bytes at one time since it was last asked for, of buffers that no shader works on: what is on its
// way from or to the host.
uint64_t fault_staging(void);

// From the next device on the driver has an exit handler, as real ones do: whoever is inside of a function of
// it then, or calls one later, ends the process with this status. Contexts share nothing then.
#define FAULT_LATE 3
void fault_watch_exit(void);

// How often buffers have been filled.
unsigned fault_fills(void);

// How many barriers let dispatches wait for dispatches.
unsigned fault_barriers(void);

// Objects that live; `lasting` are those that stay with a context (pipelines and what they are made with).
// Mistakes are objects destroyed twice, or of a device that was destroyed before them.
struct fault_objects {
    unsigned lasting, others, mistakes;
};
struct fault_objects fault_objects(void);
void fault_print_objects(void);

#endif
