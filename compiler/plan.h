// SPDX-License-Identifier: Apache-2.0
//
// A plan: an optimized graph whose operands have places and whose nodes a backend has looked at.

#ifndef COMPILER_PLAN_H_
#define COMPILER_PLAN_H_

#include "compiler/derived.h"
#include "compiler/workspace.h"
#include "lib/interrupt.h"

struct plan {
    struct graph graph;
    size_t arena_bytes;     // of one execution, WNN_SLACK included; offsets are multiples of WNN_ALIGNMENT
    size_t unaliased_bytes; // what it would be if no two operands shared memory
    const struct interrupt *interrupt; // of the build, while the plan is lowered; or NULL
    bool savable; // constants of nodes whose packed weights cannot be stored keep their data
    // Of plans of one recorded graph, while they are lowered: what they have in common; or NULL.
    struct derived *derived;
    struct workspace *workspace;
};

#endif
