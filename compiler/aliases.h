// SPDX-License-Identifier: Apache-2.0
//
// Which inputs and outputs of a plan may lie in the same memory, so that an execution replaces what it was
// given: when each of them is read and written, in steps, of which node i is number i + 1.

#ifndef COMPILER_ALIASES_H_
#define COMPILER_ALIASES_H_

#include "compiler/backend.h"

// The inputs that a node reads which writes an output, and can do both in one place.
struct in_place_inputs {
    uint32_t *slots;
    size_t count;
};

struct aliases {
    uint32_t *last_read;   // by input; 0: nothing reads it, or what does is done before the first node
    uint32_t *first_write; // by output; what no node writes comes last
    struct in_place_inputs *in_place; // by output: of the first write, if that is the only one
};

// Finds them out, in an arena. The plan is complete, and the backend's state may be asked (backend.in_place).
// False: out of memory.
bool wnn_find_aliases(const struct backend *backend, void *state, const struct plan *plan,
                      struct arena *arena, struct aliases *aliases);

// Whether the output may lie exactly where the input lies, of as many bytes: no step reads the input once the
// output is being written, unless it may work in place.
bool wnn_may_alias(const struct aliases *aliases, size_t input, size_t output);

#endif
