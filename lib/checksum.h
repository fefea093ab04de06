// SPDX-License-Identifier: Apache-2.0
//
// A number of 64 bits that tells bytes from damaged ones, as fast as memory is read. Whoever wants to can
// make other bytes of the same number: against him there is lib/sha256.h.

#ifndef LIB_CHECKSUM_H_
#define LIB_CHECKSUM_H_

#include "lib/parallel.h"

#include <stdint.h>

#define WNN_CHECKSUM_LINE  64                // bytes
#define WNN_CHECKSUM_CHUNK ((size_t)1 << 20) // bytes, each of which has a sum of its own

struct checksum {
    uint64_t lanes[WNN_CHECKSUM_LINE / 8]; // of the chunk that has begun
    uint64_t lines;                        // likewise
    uint64_t sum;                          // of the chunks before it
};

void wnn_checksum_begin(struct checksum *checksum);

// Adds whole lines; zeros take the place of the bytes that the last one lacks.
void wnn_checksum_add(struct checksum *checksum, const void *data, size_t bytes);

uint64_t wnn_checksum_end(const struct checksum *checksum);

// Of bytes that lie in one piece, on all threads.
uint64_t wnn_checksum(const struct parallel *parallel, const void *data, size_t bytes);

#endif
