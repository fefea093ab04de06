// SPDX-License-Identifier: Apache-2.0
//
// A file that is written beside the one whose place it takes when it is complete: that may be the one that
// weights are mapped from, and stays what it is for those who have it open.

#ifndef TOOLS_MODEL_OUTPUT_H_
#define TOOLS_MODEL_OUTPUT_H_

#include "lib/status.h"

#include <stdio.h>

struct output {
    FILE *file;
    const char *path; // the caller's
    char *temporary;  // NULL: a pipe, a device or a link, which is written itself
};

bool output_begin(struct output *output, const char *path, struct error *error);

// Closes it, and puts it in its place if it is `good`; returns whether that worked.
bool output_end(struct output *output, bool good, struct error *error);

#endif
