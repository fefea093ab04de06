// SPDX-License-Identifier: Apache-2.0
//
// A plan: an optimized graph whose operands have places and whose nodes a backend has looked at.

#ifndef COMPILER_PLAN_H_
#define COMPILER_PLAN_H_

#include "compiler/derived.h"
#include "compiler/workspace.h"
#include "lib/interrupt.h"

struct resolver;

struct plan {
    struct graph graph;
    size_t arena_bytes;     // of one execution, WNN_SLACK included; offsets are multiples of WNN_ALIGNMENT
    size_t unaliased_bytes; // what it would be if no two operands shared memory
    const struct interrupt *interrupt; // of the build, while the plan is lowered; or NULL
    bool savable; // constants of nodes whose packed weights cannot be stored keep their data
    // While it is lowered: what plans of one recorded graph, or those that the host says, have in common; or
    // NULL.
    struct derived *derived;
    struct workspace *workspace;
    // Who has the bytes of constants that are promised, while the plan is lowered; or NULL.
    const struct resolver *resolver;
    bool weightless; // only savable without the bytes of constants that have an origin, which are given up
};

#endif
