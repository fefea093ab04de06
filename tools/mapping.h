// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a file, mapped and counted, so that constants of a graph can be lent to the library without a
// copy. The pages are private: a file that is shortened while it is mapped is the one thing that this does
// not survive.

#ifndef TOOLS_MAPPING_H_
#define TOOLS_MAPPING_H_

#include "lib/status.h"

#include <stdatomic.h>

struct mapping {
    atomic_uint references;
    const unsigned char *data; // never NULL
    size_t size;
    bool mapped; // otherwise read into memory: a pipe, an empty file
};

// One reference for the caller; NULL and an error with the path in it otherwise.
struct mapping *mapping_open(const char *path, struct error *error);
struct mapping *mapping_share(struct mapping *mapping);
void mapping_release(struct mapping *mapping); // NULL is accepted; any thread

#endif
