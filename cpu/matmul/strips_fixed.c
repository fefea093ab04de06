// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/strips_fixed.h"

#include "cpu/simd/isa.h"

#include <stdint.h>
#include <string.h>

#define RUN  WNN_STRIP_RUN
#define ROWS WNN_STRIP_FIXED_ROWS

#define BITS 30 // integers are at most 2^BITS

// Sizes are at most 2^15 times the mean of the others of their run, so that these keep 16 bits, or stand
// alone.
#define MOST_UNEVEN 0x1p10f

// Three bytes of an integer take a sign, and carry into the next.
#define CARRIES 0x00808080u

// 2^(exponent - 127).
WNN_INLINE float power(uint32_t exponent)
{
    float value;
    memcpy(&value, &(uint32_t){exponent << 23}, sizeof value);
    return value;
}

// Whether the largest is finite, and not too far from the others.
WNN_INLINE bool is_even(const float from[RUN], float largest)
{
    float others[8] = {0}, as_large[8] = {0};
    for (unsigned i = 0; i < RUN; i += 8)
        for (unsigned j = 0; j < 8; j++) {
            float size = __builtin_fabsf(from[i + j]);
            others[j] += size < largest ? size : 0;
            as_large[j] += size < largest ? 0 : largest;
        }
    float sum = -largest;
    for (unsigned j = 0; j < 8; j++)
        sum += as_large[j];
    for (unsigned j = 0; j < 8; j++)
        sum += others[j];
    return largest >= WNN_STRIP_LEAST && largest <= WNN_STRIP_MOST &&
           (sum == 0 || sum * MOST_UNEVEN >= largest);
}

struct run {
    uint32_t bytes[RUN]; // of each term
    float unit;
    int32_t sums[2];
};

WNN_INLINE struct run fix_run(const float from[RUN], uint32_t exponent)
{
    struct run run = {.unit = power(exponent - BITS)};
    float scale = power(2 * 127 + BITS - exponent);
    uint32_t lower = 0, upper = 0;
    for (unsigned i = 0; i < RUN; i++) {
        uint32_t carried = (uint32_t)(int32_t)__builtin_rintf(from[i] * scale) + CARRIES;
        lower += carried & UINT16_MAX;
        upper += (uint32_t)((int32_t)carried >> 16);
        run.bytes[i] = carried ^ CARRIES;
    }
    run.sums[0] = (int32_t)(lower - RUN * (CARRIES & UINT16_MAX));
    run.sums[1] = (int32_t)(upper - RUN * (CARRIES >> 16));
    return run;
}

typedef uint32_t four_words __attribute__((vector_size(16)));
typedef uint8_t sixteen_bytes __attribute__((vector_size(16)));

// The bytes of four terms, which are words of one byte each.
WNN_INLINE void store_bytes(four_words terms, int8_t *to)
{
    sixteen_bytes bytes = (sixteen_bytes)terms;
    bytes = __builtin_shufflevector(bytes, bytes, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    memcpy(to, &bytes, sizeof bytes);
}

// Two words of nibbles are of eight terms: those with an even number, and the others.
WNN_INLINE void store_run(const uint32_t bytes[RUN], size_t terms, const bool nibbles, int8_t *x)
{
    for (size_t t = 0; t < terms; t += nibbles ? 8 : 4) {
        four_words first, second;
        memcpy(&first, bytes + t, sizeof first);
        if (nibbles) {
            memcpy(&second, bytes + t + 4, sizeof second);
            store_bytes(__builtin_shufflevector(first, second, 0, 2, 4, 6), x + t * WNN_STRIP_FIXED_WORD / 4);
            store_bytes(__builtin_shufflevector(first, second, 1, 3, 5, 7),
                        x + (t + 4) * WNN_STRIP_FIXED_WORD / 4);
        } else {
            store_bytes(first, x + t * WNN_STRIP_FIXED_WORD / 4);
        }
    }
}

struct preparation {
    const struct strips *strips;
    const float *rows;
    size_t block_terms;
    const struct strip_fixed_rows *to;
    bool fits;
};

WNN_INLINE bool prepare_row(const struct preparation p, size_t row, const bool nibbles)
{
    const float *from = p.rows + row * p.strips->k, *end = from + p.strips->k;
    int8_t *x = p.to->x + row * WNN_STRIP_FIXED_WORD / ROWS;
    float *unit = p.to->units + row;
    int32_t *sums = p.to->sums + 2 * row;
    for (; from < end; from += p.strips->block)
        for (size_t t = 0; t < p.block_terms; t += RUN, unit += ROWS, sums += 2 * ROWS) {
            size_t terms = wnn_min(RUN, p.block_terms - t), count = wnn_min(terms, p.strips->block - t);
            float rest[RUN] = {0};
            const float *values = from + t;
            if (count < RUN)
                values = memcpy(rest, values, count * sizeof *rest);
            int32_t most = wnn_strip_largest(values);
            float largest;
            memcpy(&largest, &most, sizeof largest);
            if (most != 0 && !is_even(values, largest))
                return false;
            struct run run = fix_run(values, most ? ((uint32_t)most >> 23) + 1 : 127);
            *unit = run.unit;
            memcpy(sums, run.sums, sizeof run.sums);
            store_run(run.bytes, terms, nibbles, x);
            x += terms / 4 * WNN_STRIP_FIXED_WORD;
        }
    return true;
}

// Rows [begin, end).
static void prepare_rows(void *argument, size_t begin, size_t end)
{
    struct preparation *p = argument;
    for (p->fits = true; begin < end && p->fits; begin++)
        p->fits = p->strips->nibbles ? prepare_row(*p, begin, true) : prepare_row(*p, begin, false);
}
WNN_VARIANTS_256(prepare_rows)

bool wnn_strip_fixed_prepare(const struct strips *strips, const float *rows,
                             const struct strip_fixed_rows *to)
{
    struct preparation p = {strips, rows, wnn_strip_block(strips).terms, to, false};
    WNN_BEST_ISA_256(prepare_rows)(&p, 0, to->m);
    return p.fits;
}
