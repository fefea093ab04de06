// SPDX-License-Identifier: Apache-2.0
//
// .npz files: archives of .npy arrays with names, as numpy.savez and numpy.savez_compressed write them.
// Arrays that are not compressed stay where they lie in the file.

#ifndef TOOLS_NPZ_H_
#define TOOLS_NPZ_H_

#include "tools/array.h"

struct npz_entry {
    struct string name;    // without ".npy"; not terminated, in the mapping
    uint64_t offset;       // of its header
    uint64_t packed, size; // bytes as they lie in the file, and uncompressed
    unsigned method;       // 0: not compressed, 8: deflate
    uint32_t checksum;
};

struct npz {
    char *path;
    struct mapping *mapping;
    struct npz_entry *entries;
    size_t count;
};

bool npz_recognize(const unsigned char *data, size_t size);

// Lists the arrays; NULL and an error otherwise. To be closed.
struct npz *npz_open(const char *path, struct error *error);
void npz_close(struct npz *archive); // NULL is accepted

// Reads one, with its checksum.
bool npz_read(const struct npz *archive, const struct npz_entry *entry, struct array *array,
              struct error *error);

#endif
