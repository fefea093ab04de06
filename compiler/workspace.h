// SPDX-License-Identifier: Apache-2.0
//
// Memory for executions of several plans of which one runs at a time: what lies between inputs and outputs,
// and scratch. It grows with what the plans need, so that another of about the same size takes none.

#ifndef COMPILER_WORKSPACE_H_
#define COMPILER_WORKSPACE_H_

#include "lib/allocator.h"

// A block of memory, counted. Any thread.
struct workspace_block {
    atomic_uint references;
    struct allocator *allocator;
    size_t bytes;
    char *data; // aligned to WNN_ALIGNMENT
};

// Of the builder.
struct workspace {
    struct allocator *allocator;
    struct workspace_block *last; // a reference, or NULL
};

// A reference to a block of so many bytes at least; NULL: no memory. Those who have got a smaller one keep
// it.
struct workspace_block *wnn_workspace_take(struct workspace *workspace, size_t bytes);
void wnn_workspace_unref(struct workspace_block *block); // NULL is accepted

#endif
