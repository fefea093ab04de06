// SPDX-License-Identifier: Apache-2.0
//
// What cannot be recorded of a model: a line for each node, as many as fit.

#ifndef TOOLS_MODEL_ERRORS_H_
#define TOOLS_MODEL_ERRORS_H_

#include "tools/model/bytes.h"

struct model_errors {
    const char *path; // of the model, which each line begins with; NULL: none
    char *text;       // may be NULL if size is 0
    size_t size, length, count;
};

// `operation` empty: it is not of a node. What a terminal might obey in `fault`, line breaks too, becomes
// escapes.
void wnn_model_add_error(struct model_errors *errors, struct bytes name, struct bytes operation,
                         const char *fault);

// Text of a file for a message: what a terminal might obey becomes '?'.
void wnn_model_print(char *to, size_t size, struct bytes text);

#endif
