// SPDX-License-Identifier: Apache-2.0
//
// Targets as files: what `webnn info --json` prints of a machine, one of its targets alone, or a file of
// `webnn compile`, whose target is taken.

#ifndef TOOLS_TARGET_FILE_H_
#define TOOLS_TARGET_FILE_H_

#include "lib/status.h"
#include "lib/text.h"

#include <cjson/cJSON.h>

struct target_file {
    char *backend, *target; // the names of a WNNTargetInfo; NULL: none
};

// Reads one. Of several targets that of `backend` is taken ("gpu" is vulkan), or the CPU's if that is NULL.
// False: there is none, it is of another backend or another library, or it is not understood.
bool target_file_read(struct target_file *file, const char *path, const char *backend, struct error *error);
void target_file_free(struct target_file *file);

// What a context compiles for, as the item "target" of an object; nothing where graphs cannot be saved.
void target_json_add(cJSON *object, WNNContext context);

#endif
