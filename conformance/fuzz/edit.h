// SPDX-License-Identifier: Apache-2.0
//
// Files that fuzzers of readers make and spoil: the bytes of an input say what is changed.

#ifndef CONFORMANCE_FUZZ_EDIT_H_
#define CONFORMANCE_FUZZ_EDIT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// To be freed with free(data), which has a NUL behind it.
struct contents {
    char *data;
    size_t size;
};

// What is left of an input.
struct edits {
    const uint8_t *bytes;
    size_t length;
};

// 0 when there are no more.
unsigned take(struct edits *edits);
unsigned take_long(struct edits *edits);

// Puts `length` bytes, `times` times, in the place of `cut` bytes; nothing if the result would be longer than
// MAX_EDITED.
#define MAX_EDITED ((size_t)1 << 20)
void replace(struct contents *bytes, size_t at, size_t cut, const char *with, size_t length, size_t times);

// One mistake that any file can have: bytes left out, repeated, set to what lengths are often wrong by; the
// end missing.
void spoil(struct contents *bytes, struct edits *edits);

// A file without a name, and its path.
struct file {
    int descriptor;
    char path[32];
};
struct file open_file(void);
void fill_file(const struct file *file, const struct contents *bytes);
struct contents read_file(const struct file *file);

// A folder of this process, for files that name each other. All files of it are gone, and it too, when the
// process ends by itself.
const char *folder_path(void);
// Writes a file of the folder.
void folder_write(const char *name, const struct contents *bytes);

// What one input may take. Ends the process with a message if it was more; `what` and the bytes are for that.
struct fuzz_budget {
    double begin; // seconds of the processor
};
void budget_begin(struct fuzz_budget *budget);
void budget_end(const struct fuzz_budget *budget, const char *what, const struct contents *bytes);

// Ends the process with a message, and shows the bytes.
void fail(const char *what, const struct contents *bytes);

#endif
