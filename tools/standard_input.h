// SPDX-License-Identifier: Apache-2.0
//
// "-" in the place of a file: standard input. It can be read only once, so its bytes are kept until the
// program ends: whoever asks again gets the same ones, and one model can be built twice.

#ifndef TOOLS_STANDARD_INPUT_H_
#define TOOLS_STANDARD_INPUT_H_

#include "tools/model/mapping.h"

#include <stddef.h>

bool is_standard(const char *path); // "-"

// mapping_open(), or standard input for "-", which is an error where it is the file of weights. Not for
// several threads.
struct mapping *open_or_standard(const char *path, const struct mapping_rule *rule, struct error *error);

// "-" as the file of weights, which the library opens by its path: a path by which standard input can be
// opened again and again, also by processes that are forked. NULL and an error if it cannot be read, or was
// opened by the above. Other paths are what they are.
const char *path_or_standard(const char *path, struct error *error);

#endif
