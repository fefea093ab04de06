// SPDX-License-Identifier: Apache-2.0
#include "lib/sha256.h"

#include <string.h>

static const uint32_t constants[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2};

static uint32_t turn(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

static void add_block(uint32_t state[8], const unsigned char block[64])
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (turn(w[i - 15], 7) ^ turn(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (turn(w[i - 2], 17) ^ turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t one = v[7] + (turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[i] + w[i];
        uint32_t two = (turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void wnn_sha256_begin(struct sha256 *hash)
{
    *hash = (struct sha256){.state = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C,
                                      0x1F83D9AB, 0x5BE0CD19}};
}

void wnn_sha256_add(struct sha256 *hash, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    size_t used = hash->length % sizeof hash->block;
    hash->length += bytes;
    while (bytes > 0) {
        if (used == 0 && bytes >= sizeof hash->block) {
            add_block(hash->state, from);
            from += sizeof hash->block;
            bytes -= sizeof hash->block;
            continue;
        }
        size_t piece = bytes < sizeof hash->block - used ? bytes : sizeof hash->block - used;
        memcpy(hash->block + used, from, piece);
        from += piece;
        bytes -= piece;
        used += piece;
        if (used < sizeof hash->block)
            break;
        add_block(hash->state, hash->block);
        used = 0;
    }
}

void wnn_sha256_end(struct sha256 *hash, unsigned char digest[WNN_SHA256_BYTES])
{
    static const unsigned char padding[64] = {0x80};
    uint64_t bits = hash->length * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    wnn_sha256_add(hash, padding, 1 + (119 - hash->length % 64) % 64);
    wnn_sha256_add(hash, length, sizeof length);
    for (int i = 0; i < 32; i++)
        digest[i] = (unsigned char)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}
