// SPDX-License-Identifier: Apache-2.0
#include "lib/sha256.h"

#include "lib/isa.h"

#include <string.h>

#if WNN_X86_64
#include <cpuid.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <stdbool.h>
#endif

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

static void add_block_plain(uint32_t state[8], const unsigned char block[64])
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

static void add_blocks_plain(uint32_t state[8], const unsigned char *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_block_plain(state, blocks + 64 * i);
}

#if WNN_X86_64
// Not every compiler knows its name. The instruction that asks takes long on a virtual machine.
static bool has_instructions(void)
{
    static atomic_int answer; // 0 while it is not known, 1: no, 2: yes
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == 0) {
        unsigned eax, ebx, ecx, edx;
        bool has = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ebx >> 29 & 1;
        known = has && WNN_CPU_HAS("sse4.1") && WNN_CPU_HAS("ssse3") ? 2 : 1;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == 2;
}

// The processor's instructions do two rounds at once, on the words f, e, b, a and h, g, d, c from the least
// lane on, and take the sums of words and constants from the two least lanes.
__attribute__((target("sha,sse4.1,ssse3"))) static void
add_blocks_x86(uint32_t state[8], const unsigned char *blocks, size_t count)
{
    const __m128i big_endian = _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    const __m128i *memory = (const __m128i *)(const void *)state;
    __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(memory), 0xB1),
            efgh = _mm_shuffle_epi32(_mm_loadu_si128(memory + 1), 0x1B),
            abef = _mm_alignr_epi8(badc, efgh, 8), cdgh = _mm_blend_epi16(efgh, badc, 0xF0);
    for (; count > 0; count--, blocks += 64) {
        const __m128i before_abef = abef, before_cdgh = cdgh;
        __m128i words[4];
        for (int i = 0; i < 4; i++)
            words[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(blocks + 16 * i)),
                                        big_endian);
        for (int i = 0; i < 16; i++) {
            __m128i sums =
                _mm_add_epi32(words[0], _mm_loadu_si128((const __m128i *)(const void *)(constants + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sums);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sums, 0x0E));
            // The four words that come 16 later.
            __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(words[0], words[1]),
                                         _mm_alignr_epi8(words[3], words[2], 4));
            next = _mm_sha256msg2_epu32(next, words[3]);
            words[0] = words[1];
            words[1] = words[2];
            words[2] = words[3];
            words[3] = next;
        }
        abef = _mm_add_epi32(abef, before_abef);
        cdgh = _mm_add_epi32(cdgh, before_cdgh);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1B), dchg = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}
#endif

static void add_blocks(uint32_t state[8], const unsigned char *blocks, size_t count)
{
#if WNN_X86_64
    if (has_instructions()) {
        add_blocks_x86(state, blocks, count);
        return;
    }
#endif
    add_blocks_plain(state, blocks, count);
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
            size_t count = bytes / sizeof hash->block;
            add_blocks(hash->state, from, count);
            from += count * sizeof hash->block;
            bytes -= count * sizeof hash->block;
            continue;
        }
        size_t piece = bytes < sizeof hash->block - used ? bytes : sizeof hash->block - used;
        memcpy(hash->block + used, from, piece);
        from += piece;
        bytes -= piece;
        used += piece;
        if (used < sizeof hash->block)
            break;
        add_blocks(hash->state, hash->block, 1);
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
