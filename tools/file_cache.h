// SPDX-License-Identifier: Apache-2.0
//
// A directory as the cache of a context: a file for each entry, named by its key. What a device runs comes
// from there, so nobody else may write to it: it must belong to the user and be writable for nobody else, and
// no file in it is followed elsewhere. Whether an entry is what was stored, the library checks itself.

#ifndef TOOLS_FILE_CACHE_H_
#define TOOLS_FILE_CACHE_H_

#include "lib/status.h"

struct file_cache {
    int directory; // -1: none
};
#define FILE_CACHE_INIT                                                                                      \
    {                                                                                                        \
        -1                                                                                                   \
    }

// Opens a directory, or makes one that only its owner can enter. False: it cannot be trusted or made.
bool file_cache_open(struct file_cache *cache, const char *directory, struct error *error);
void file_cache_close(struct file_cache *cache); // after the contexts that have it

// The cache for a context; `cache` must live as long.
WNNCache file_cache(struct file_cache *cache);

#endif
