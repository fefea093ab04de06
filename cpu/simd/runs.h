// SPDX-License-Identifier: Apache-2.0
//
// Short runs of bytes that are copied and filled in place of a call, and what else ends within a vector. Up
// to a few vectors are written, of which the last two may overlap.

#ifndef CPU_RUNS_H_
#define CPU_RUNS_H_

#include "lib/isa.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if WNN_X86_64
#include <immintrin.h>
#endif

#define WNN_COPY_ENDS(piece)                                                                                 \
    do {                                                                                                     \
        char first_[piece], last_[piece];                                                                    \
        memcpy(first_, from, piece);                                                                         \
        memcpy(last_, from + (size - (piece)), piece);                                                       \
        memcpy(to, first_, piece);                                                                           \
        memcpy(to + (size - (piece)), last_, piece);                                                         \
    } while (0)

// As memcpy.
static inline void wnn_copy_run(char *restrict to, const char *restrict from, size_t size)
{
    if (size > 1024) {
        memcpy(to, from, size);
    } else if (size >= 32) {
        for (size_t i = 0; i + 32 < size; i += 32)
            memcpy(to + i, from + i, 32);
        memcpy(to + size - 32, from + size - 32, 32);
    } else if (size >= 16) {
        WNN_COPY_ENDS(16);
    } else if (size >= 8) {
        WNN_COPY_ENDS(8);
    } else if (size >= 4) {
        WNN_COPY_ENDS(4);
    } else if (size > 0) {
        // The middle one is one of the other two, unless there are three.
        char first = from[0], middle = from[size / 2], last = from[size - 1];
        to[0] = first;
        to[size / 2] = middle;
        to[size - 1] = last;
    }
}

// Repetitions of the 16 bytes of `pattern`.
static inline void wnn_fill_run(char *restrict to, const char *restrict pattern, size_t size)
{
    if (size < 16) {
        wnn_copy_run(to, pattern, size);
        return;
    }
    for (size_t i = 0; i + 16 < size; i += 16)
        memcpy(to + i, pattern, 16);
    // The last one may overlap; whole elements fit between its begin and the size.
    memcpy(to + size - 16, pattern, 16);
}

// The bits of the first `count` of 64 elements, of all if there are more.
static inline uint64_t wnn_first_bits(size_t count)
{
    return count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
}

#if WNN_X86_64
// 16 bytes, or those of 2 or 4 places that are `step` bytes apart.
#define WNN_LOAD_128(from) _mm_loadu_si128((const void *)(from))
#define WNN_LOAD_256(from, step)                                                                             \
    _mm256_inserti128_si256(_mm256_castsi128_si256(WNN_LOAD_128(from)), WNN_LOAD_128((from) + (step)), 1)
#define WNN_LOAD_512(from, step)                                                                             \
    _mm512_inserti64x4(_mm512_castsi256_si512(WNN_LOAD_256(from, step)),                                     \
                       WNN_LOAD_256((from) + 2 * (step), step), 1)
#endif

#endif
