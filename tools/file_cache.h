// SPDX-License-Identifier: Apache-2.0
//
// A directory as the cache of a context: a file for each entry, named by its key.

#ifndef TOOLS_FILE_CACHE_H_
#define TOOLS_FILE_CACHE_H_

#include <webnn/webnn.h>

// `directory` is made when the first entry is stored, and must live as long as the contexts that have the
// cache.
WNNCache file_cache(const char *directory);

#endif
