// SPDX-License-Identifier: Apache-2.0
//
// What a word on the command line names: a file or a built-in architecture.

#ifndef TOOLS_LOAD_H_
#define TOOLS_LOAD_H_

#include "tools/model.h"

// Reads a .webnn file, with `weights` or the .safetensors beside it, or makes a built-in architecture. The
// model has begun; it must be ended on failure too.
bool model_load(struct model *model, const char *what, const char *weights, struct error *error);

#endif
