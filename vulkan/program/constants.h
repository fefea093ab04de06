// SPDX-License-Identifier: Apache-2.0
//
// The constants of an executable: where on the device they lie, and how they get there, one after the other.

#ifndef VULKAN_CONSTANTS_H_
#define VULKAN_CONSTANTS_H_

#include "vulkan/program/execution.h"

// Gives all constants that are used regions, and uploads those that are not there yet. Each is given up then,
// unless its bytes are a result or are to be saved; what is promised is had when its turn comes, so that
// never more than one has been had and not given back.
bool wnn_constants_load(struct shared_constants *shared, struct executable *executable, struct error *error);

#endif
