// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4), for names of things that somebody may want to confuse.

#ifndef LIB_SHA256_H_
#define LIB_SHA256_H_

#include <stddef.h>
#include <stdint.h>

#define WNN_SHA256_BYTES 32

struct sha256 {
    uint32_t state[8];
    uint64_t length; // bytes so far
    unsigned char block[64];
};

void wnn_sha256_begin(struct sha256 *hash);
void wnn_sha256_add(struct sha256 *hash, const void *data, size_t bytes);
void wnn_sha256_end(struct sha256 *hash, unsigned char digest[WNN_SHA256_BYTES]);

#endif
