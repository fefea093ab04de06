// SPDX-License-Identifier: Apache-2.0
//
// "-" in the place of a file that is written: standard output, where nothing else may be shown then.

#ifndef TOOLS_STANDARD_OUTPUT_H_
#define TOOLS_STANDARD_OUTPUT_H_

#include "lib/status.h"

#include <stdio.h>

// Opens a file for writing, or standard output for "-"; NULL and an error with the path in it otherwise.
FILE *create_or_standard(const char *path, struct error *error);
// The same for bytes that are no text: a terminal is refused.
FILE *create_binary(const char *path, struct error *error);

// Closes the file, or writes out what standard output has; false: not everything could be written.
bool close_or_standard(FILE *file, const char *path, struct error *error);

// Writes a file's bytes on standard output.
bool copy_to_standard(const char *path, struct error *error);

#endif
