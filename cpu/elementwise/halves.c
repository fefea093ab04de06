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

bool wnn_cpu_halves(enum halves function, const uint16_t *x, const uint16_t *y, uint16_t *out, size_t count,
                    float alpha, float beta, bool stream)
{
    void (*loop)(const uint16_t *, const uint16_t *, uint16_t *, size_t, float, float, bool) =
        WNN_BEST_ISA(&loops)->loop[function];
    if (!loop || count == 0)
        return loop != NULL;
    size_t before = stream ? wnn_before_line(out, sizeof *out, count) : 0; // is stored as others are
    if (before > 0)
        loop(x, y, out, before, alpha, beta, false);
    loop(x + before, y ? y + before : NULL, out + before, count - before, alpha, beta, stream);
    return true;
}
