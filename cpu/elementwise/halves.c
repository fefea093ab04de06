// SPDX-License-Identifier: Apache-2.0
#include "cpu/elementwise/halves.h"

#include "cpu/simd/lanes.h"
#include "cpu/simd/non_temporal.h"

enum {
    TOGETHER = 4, // vectors that are computed at once, an even number
};

struct loops {
    void (*loop[HALVES_COUNT])(const uint16_t *xs, const uint16_t *ys, uint16_t *out, size_t count,
                               float alpha, float beta, bool stream);
};

#define LOOPS "cpu/elementwise/halves.inc"
#include "cpu/simd/each_isa.inc"

bool wnn_cpu_has_halves(void)
{
    return WNN_BEST_ISA(&loops)->loop[0] != NULL;
}

void wnn_cpu_halves(enum halves function, const uint16_t *x, const uint16_t *y, uint16_t *out, size_t count,
                    float alpha, float beta, bool stream)
{
    const struct loops *best = WNN_BEST_ISA(&loops);
    // Those before a line begins are stored as others are.
    size_t before = stream ? -(uintptr_t)out % WNN_LINE / sizeof *out : 0;
    before = before < count ? before : count;
    if (before > 0)
        best->loop[function](x, y, out, before, alpha, beta, false);
    best->loop[function](x + before, y ? y + before : NULL, out + before, count - before, alpha, beta,
                         stream);
}
