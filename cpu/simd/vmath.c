// SPDX-License-Identifier: Apache-2.0
//
// The choice between instruction sets, and the way through an array in blocks that lie on the stack: the last
// one is filled up, so that each element goes through the same code.

#include "cpu/simd/vmath.h"

#include "cpu/simd/lanes.h"
#include "cpu/simd/non_temporal.h"
#include "cpu/simd/vmath_half_tables.h"
#include "cpu/simd/vmath_tables.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// Elements of a block, and what their number is a multiple of, so that none is left over by a loop over
// vectors.
enum {
    BLOCK = 128,
    GROUP = 16,
    LONGEST = 1 << 20, // a call of a loop
    LINE = 64,
    TOGETHER = 4, // vectors that take steps together, where that pays
    PART = 512,   // elements of a chain that is several loops
};

// Reducing an argument of sin, cos or tan beyond this needs more digits of pi.
#define TURN_LIMIT      0x1p20f
#define TURN_LIMIT_BITS 0x49800000u

struct loops {
    void (*floats[VMATH_COUNT])(const float *x, float *y, int count, double alpha, double inverse);
    void (*streams[VMATH_COUNT])(const float *x, float *y, int count); // or NULL; y is aligned to a line
    void (*halves[VMATH_COUNT])(const uint16_t *x, uint16_t *y, int count, float alpha,
                                bool stream); // likewise
    void (*pairs[VMATH_PAIR_COUNT])(float *restrict left, const float *restrict right, int count);
    void (*chain)(const struct vmath_chain *chain, const void *a, const void *b, void *y, int count,
                  bool stream);
    void (*doubles[VMATH_COUNT])(double *values, int count);
    bool near_only[VMATH_COUNT]; // `floats` are wrong beyond TURN_LIMIT
};

static inline __attribute__((always_inline)) uint64_t bits_from_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline __attribute__((always_inline)) double double_from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float turn_far(enum vmath function, float x)
{
    double wide = x;
    return (float)(function == VMATH_SIN ? sin(wide) : function == VMATH_COS ? cos(wide) : tan(wide));
}

#define LOOPS "cpu/simd/vmath.inc"
#include "cpu/simd/each_isa.inc"

static int whole_groups(size_t count)
{
    return (int)(count + GROUP - 1) / GROUP * GROUP;
}

// The elements of a block that are too large.
static void fix_turns(enum vmath function, const float *x, float *y, size_t count)
{
    uint32_t most = 0; // as bits, which are in the same order and have a maximum that vectorises
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7FFFFFFFu;
        most = bits > most ? bits : most;
    }
    for (size_t i = 0; most > TURN_LIMIT_BITS && i < count; i++) {
        if (fabsf(x[i]) > TURN_LIMIT)
            y[i] = turn_far(function, x[i]);
    }
}

// Whole groups lie where they are read and written. Blocks are for the rest, and for what is looked at again.
void wnn_vmath(enum vmath function, const float *x, float *y, size_t count, float alpha)
{
    const struct loops *best = WNN_BEST_ISA(&loops);
    void (*loop)(const float *, float *, int, double, double) = best->floats[function];
    bool turns = best->near_only[function];
    double inverse = 1 / (double)alpha;
    _Alignas(64) float block[BLOCK];
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < BLOCK ? count - i : BLOCK;
        if (!turns && n >= GROUP) {
            n = (count - i < LONGEST ? count - i : LONGEST) / GROUP * GROUP;
            loop(x + i, y + i, (int)n, (double)alpha, inverse);
            continue;
        }
        int whole = whole_groups(n);
        memcpy(block, x + i, n * sizeof *x);
        memset(block + n, 0, ((size_t)whole - n) * sizeof *block);
        loop(block, block, whole, (double)alpha, inverse);
        if (turns)
            fix_turns(function, x + i, block, n);
        memcpy(y + i, block, n * sizeof *y);
    }
}

void wnn_vmath_stream(enum vmath function, const float *x, float *y, size_t count, float alpha)
{
    void (*loop)(const float *, float *, int) = WNN_BEST_ISA(&loops)->streams[function];
    float block[4 * BLOCK];
    size_t first = wnn_before_line(y, sizeof *y, count), i = 0;
    if (loop && count >= first + GROUP) {
        wnn_vmath(function, x, y, first, alpha);
        i = first;
        for (size_t n; count - i >= GROUP; i += n) {
            n = (count - i < LONGEST ? count - i : LONGEST) / GROUP * GROUP;
            loop(x + i, y + i, (int)n);
        }
    }
    for (size_t n; i < count; i += n) {
        n = count - i < 4 * BLOCK ? count - i : 4 * BLOCK;
        wnn_vmath(function, x + i, block, n, alpha);
        wnn_nt_store(y + i, block, n * sizeof *y);
    }
}

// Fewer elements of float16 than a line and a group have.
static void run_few(void (*loop)(const uint16_t *, uint16_t *, int, float, bool), const uint16_t *x,
                    uint16_t *y, size_t count, float alpha)
{
    uint16_t block[LINE / sizeof *x + GROUP];
    int whole = whole_groups(count);
    memcpy(block, x, count * sizeof *x);
    memset(block + count, 0, ((size_t)whole - count) * sizeof *block);
    loop(block, block, whole, alpha, false);
    memcpy(y, block, count * sizeof *y);
}

bool wnn_vmath_halves(enum vmath function, const uint16_t *x, uint16_t *y, size_t count, float alpha,
                      bool stream)
{
    void (*loop)(const uint16_t *, uint16_t *, int, float, bool) = WNN_BEST_ISA(&loops)->halves[function];
    if (!loop || count == 0)
        return loop != NULL;
    size_t i = stream ? wnn_before_line(y, sizeof *y, count) : 0;
    run_few(loop, x, y, i, alpha);
    for (size_t n; count - i >= GROUP; i += n) {
        n = (count - i < LONGEST ? count - i : LONGEST) / GROUP * GROUP;
        loop(x + i, y + i, (int)n, alpha, stream);
    }
    run_few(loop, x + i, y + i, count - i, alpha);
    return true;
}

void wnn_vmath_pair(enum vmath_pair function, const float *a, const float *b, float *y, size_t count)
{
    void (*loop)(float *restrict, const float *restrict, int) = WNN_BEST_ISA(&loops)->pairs[function];
    _Alignas(64) float left[BLOCK], right[BLOCK];
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < BLOCK ? count - i : BLOCK;
        int whole = whole_groups(n);
        bool apart = y == b || n % GROUP != 0;
        float *values = apart ? left : y + i;
        const float *others = apart ? right : b + i;
        if (values != a + i)
            memcpy(values, a + i, n * sizeof *a);
        if (apart) {
            memcpy(right, b + i, n * sizeof *b);
            memset(left + n, 0, ((size_t)whole - n) * sizeof *left);
            memset(right + n, 0, ((size_t)whole - n) * sizeof *right);
        }
        loop(values, others, whole);
        if (apart)
            memcpy(y + i, left, n * sizeof *y);
    }
}

void wnn_vmath_chain(const struct vmath_chain *chain, const void *a, const void *b, void *y, size_t count,
                     bool stream)
{
    const struct loops *best = WNN_BEST_ISA(&loops);
    size_t size = chain->packed ? sizeof(uint16_t) : sizeof(float), rest = count % GROUP;
    size_t done = (count - rest) * size;
    bool streamed = stream && (uintptr_t)y % LINE == 0;
    for (size_t i = 0, n; i < count - rest; i += n) {
        n = count - rest - i < LONGEST ? count - rest - i : LONGEST;
        best->chain(chain, (const char *)a + i * size, b ? (const char *)b + i * size : NULL,
                    (char *)y + i * size, (int)n, streamed);
    }
    if (rest == 0)
        return;
    float block[3][GROUP] = {{0}};
    memcpy(block[0], (const char *)a + done, rest * size);
    if (b)
        memcpy(block[1], (const char *)b + done, rest * size);
    best->chain(chain, block[0], block[1], block[2], GROUP, false);
    memcpy((char *)y + done, block[2], rest * size);
}

void wnn_vmath_doubles(enum vmath function, double *values, size_t count)
{
    void (*loop)(double *, int) = WNN_BEST_ISA(&loops)->doubles[function];
    _Alignas(64) double block[BLOCK];
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < BLOCK ? count - i : BLOCK;
        int whole = whole_groups(n);
        memcpy(block, values + i, n * sizeof *values);
        memset(block + n, 0, ((size_t)whole - n) * sizeof *block);
        loop(block, whole);
        memcpy(values + i, block, n * sizeof *values);
    }
}
