// SPDX-License-Identifier: Apache-2.0
//
// A number of 64 bits that tells bytes from damaged ones, as fast as memory is read. Whoever wants to can
// make other bytes of the same number: against him there is lib/sha256.h.

#ifndef LIB_CHECKSUM_H_
#define LIB_CHECKSUM_H_

#include <stddef.h>
#include <stdint.h>

#define WNN_CHECKSUM_LINE 64 // bytes

struct checksum {
    uint64_t lanes[WNN_CHECKSUM_LINE / 8];
    uint64_t lines;
};

void wnn_checksum_begin(struct checksum *checksum);

// Adds whole lines; zeros take the place of the bytes that the last one lacks.
void wnn_checksum_add(struct checksum *checksum, const void *data, size_t bytes);

uint64_t wnn_checksum_end(const struct checksum *checksum);

#endif
