// SPDX-License-Identifier: Apache-2.0
//
// Arrays with names: of .npz archives, of folders with .npy files or with ONNX's test data, and of single
// files. They are listed first, and read one by one when they are wanted.

#ifndef TOOLS_ARRAY_SET_H_
#define TOOLS_ARRAY_SET_H_

#include "tools/npz.h"

// What an array can be the value of.
enum array_role {
    ROLE_ANY,
    ROLE_INPUT, // input_0.pb
    ROLE_OUTPUT
};

struct named_array {
    char *name;                    // may be empty, of ONNX's
    char *path;                    // of its file; NULL: it is in an archive
    const struct npz *archive;     // NULL: it is in a file
    const struct npz_entry *entry; // of the archive
    enum array_role role;
    size_t number; // of ONNX's: among the inputs or outputs
};

struct array_set {
    struct named_array *items;
    size_t count, capacity;
    struct npz **archives;
    size_t archive_count, archive_capacity;
};

// Whether something has several arrays: a folder, or a file that is called like an archive.
bool array_set_recognize(const char *path);

// Adds all arrays of an archive or a folder, of which there must be one.
bool array_set_add_all(struct array_set *set, const char *path, struct error *error);
// Adds a .npy or .pb file as the value of something.
void array_set_add_file(struct array_set *set, struct string name, const char *path);
void array_set_free(struct array_set *set);

// The array for each of some names, which differ: that of the name, or if numbers count, too, the one that
// has its number. NULL: there is none.
void array_set_match(const struct array_set *set, enum array_role role, bool numbers, size_t count,
                     const struct string *names, const struct named_array **found);

bool named_array_read(const struct named_array *named, struct array *array, struct error *error);

// Where it comes from, for messages; to be freed.
char *named_array_place(const struct named_array *named);

#endif
