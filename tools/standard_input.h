// SPDX-License-Identifier: Apache-2.0
//
// "-" in the place of a file: standard input. It can be read only once, so its bytes are kept until the
// program ends: whoever asks again gets the same ones, and one model can be built twice.

#ifndef TOOLS_STANDARD_INPUT_H_
#define TOOLS_STANDARD_INPUT_H_

#include "tools/model/mapping.h"

#include <stddef.h>

bool is_standard(const char *path); // "-"

// mapping_open(), or standard input for "-". Not for several threads.
struct mapping *open_or_standard(const char *path, const struct mapping_rule *rule, struct error *error);

#endif
