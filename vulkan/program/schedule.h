// SPDX-License-Identifier: Apache-2.0
//
// The order in which the steps of a program are recorded.

#ifndef VULKAN_SCHEDULE_H_
#define VULKAN_SCHEDULE_H_

#include "vulkan/program/program.h"

struct slot {
    struct step *step;
    size_t position; // in the program
    size_t level;    // steps of one level may run at the same time
};

// All steps, level by level, but for those that are left out (wnn_program_omits), if not `in_order`. On a
// level no step touches bytes that another one writes; of steps that do, the first of the program is on a
// lower level than the second. `in_order`: the order is the program's. NULL: out of memory.
struct slot *wnn_program_schedule(const struct program *program, const struct record_params *params,
                                  bool in_order, struct arena *arena, size_t *count);

#endif
