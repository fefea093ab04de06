// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/strips_half.h"

#include "cpu/simd/lanes.h"

#define SOON 4096 // bytes before they are needed, numbers are fetched: about what memory takes

// What one call of a loop is about: some columns and terms of one group.
struct half_part {
    const uint16_t *from;  // the first column of the first term
    size_t width, columns; // of the group; to be computed
    size_t terms;
    size_t row, term; // elements of the other matrix from one to the next
};

#define LOOPS "cpu/matmul/strips_half.inc"
#include "cpu/simd/each_isa.inc"

size_t wnn_half_strips_bytes(size_t n, size_t k)
{
    return wnn_round_up(n, WNN_HALF_UNIT) * k * sizeof(uint16_t);
}

static size_t group_width(const struct half_strips *strips, size_t group)
{
    return wnn_min(WNN_HALF_GROUP, wnn_round_up(strips->n, WNN_HALF_UNIT) - group * WNN_HALF_GROUP);
}

void wnn_half_strips_pack(const struct half_strips *strips, const uint16_t *from, size_t stride, size_t begin,
                          size_t end, uint16_t *packed)
{
    for (size_t t = 0; t < strips->k; t++)
        for (size_t group = begin; group < end; group++) {
            size_t column = group * WNN_HALF_GROUP, width = group_width(strips, group);
            size_t columns = wnn_min(width, strips->n - column);
            uint16_t *to = packed + column * strips->k + t * width;
            memcpy(to, from + t * stride + column, columns * sizeof *to);
            memset(to + columns, 0, (width - columns) * sizeof *to);
        }
}

void wnn_half_strips_multiply(const struct half_strips *strips, struct half_rows *rows, size_t column,
                              size_t count, size_t begin, size_t end)
{
    size_t group = column / WNN_HALF_GROUP, first = column % WNN_HALF_GROUP;
    struct half_part part = {.width = group_width(strips, group),
                             .columns = count,
                             .terms = end - begin,
                             .row = rows->row,
                             .term = rows->term};
    part.from = strips->packed + (column - first) * strips->k + begin * part.width + first;
    WNN_BEST_ISA(multiply_part)(&part, rows->a + begin * rows->term, rows->totals, rows->m);
}
