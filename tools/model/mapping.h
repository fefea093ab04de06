// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a file, mapped and counted, so that constants of a graph can be external to the library
// without a copy.
//
// A file belongs to everybody who may write to it, and a mapping does not change that: the bytes may become
// others at any time, and where the file has been made shorter, touching them raises SIGBUS, which would end
// the process. Reading files instead would be safe, but costs their size in memory and in time, so a regular
// file stays mapped, and a program that calls mapping_guard() survives: its handler puts zeros in the place
// of the bytes that are gone, in mappings of this file only, and mapping_check() tells afterwards that a file
// has changed. What was computed of it means nothing then, and the program is to fail. The library itself
// installs no handlers; a program that has not called mapping_guard() gets what it would get without this
// file.
//
// What is not a regular file, a pipe or a device, is read into memory, as far as its rule says.

#ifndef TOOLS_MODEL_MAPPING_H_
#define TOOLS_MODEL_MAPPING_H_

#include "lib/status.h"

#include <stdatomic.h>
#include <time.h>

struct mapping {
    atomic_uint references;
    const unsigned char *data; // never NULL
    size_t size;
    bool mapped; // otherwise read into memory: a pipe, a file without a size, one that is to be copied
    // Of a mapped one, for noticing changes:
    char *path;
    int file;
    struct timespec modified;
    unsigned guard; // its place in the handler's table
};

// How much of a file may be read.
struct mapping_rule {
    const char *what; // "a graph file", for the message about one that is longer
    size_t most;      // bytes of what is read into memory; one more is an error
    bool copy;        // reads a regular file into memory too: nobody can change it then
    // How long a file is that begins with these bytes, or how much of it must be seen to tell; NULL: `most`.
    // It is called again when there is more. 0: what has been read is enough to refuse it.
    size_t (*extent)(const unsigned char *data, size_t size, void *argument);
    void *argument;
};

// One reference for the caller; NULL and an error with the path in it otherwise.
struct mapping *mapping_open(const char *path, const struct mapping_rule *rule, struct error *error);
// The same of an open file, which is closed with the mapping or at once; `path` is for messages.
struct mapping *mapping_take(int file, const char *path, const struct mapping_rule *rule,
                             struct error *error);
struct mapping *mapping_ref(struct mapping *mapping);
void mapping_unref(struct mapping *mapping); // NULL is accepted; any thread

// Installs the handler of SIGBUS for the process. Call it once, before any file is opened and any thread
// made.
void mapping_guard(void);

// False, and an error: a file has changed while it was mapped, now or earlier.
bool mapping_check(struct error *error);

#endif
