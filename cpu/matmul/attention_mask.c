// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/attention.h"
#include "cpu/simd/lanes.h"

#include <math.h>

// A row of the mask, and what is found of it.
struct mask_row {
    const float *numbers;
    size_t count;
    float greatest;             // NaN if one is
    float excluded;             // the greatest that excludes a key
    struct attention_keys keys; // between those that are excluded
};

#define LOOPS "cpu/matmul/attention_mask.inc"
#include "cpu/simd/each_isa.inc"

// The keys of a band that rows of one head attend to, or of several.
static struct attention_keys keys_of_band(const struct attention *a, size_t first, size_t end)
{
    bool one = first / a->rows == (end - 1) / a->rows;
    size_t least = (one ? first % a->rows : 0) + a->window_end,
           most = (one ? (end - 1) % a->rows : a->rows - 1) + a->window_end;
    return (struct attention_keys){least > a->window ? wnn_min(least - a->window, a->columns - 1) : 0,
                                   wnn_min(most, a->columns)};
}

struct attention_keys wnn_attention_keys(const struct attention *a, size_t first, size_t end, float *buffer)
{
    const struct view *mask = &a->mask;
    struct attention_keys all = {0, a->columns}, left = {a->columns, 0};
    if (mask->tensor == NULL || mask->column == 0)
        return all;
    if (a->window > 0)
        return keys_of_band(a, first, end);
    size_t before = SIZE_MAX;
    for (size_t i = first; i < end && (left.begin > 0 || left.end < a->columns); i++) {
        size_t offset = wnn_attention_row(a, mask, i);
        if (offset == before)
            continue;
        before = offset;
        struct mask_row row = {wnn_attention_load(mask, offset, mask->column, a->columns, buffer),
                               a->columns};
        WNN_BEST_ISA(find_greatest)(&row);
        if (!isfinite(row.greatest)) // rows that are all -INFINITY are NaN
            return all;
        row.excluded =
            nextafterf(row.greatest - (float)WNN_EXCLUDED_DISTANCE, -INFINITY); // not the greatest itself
        WNN_BEST_ISA(find_keys)(&row);
        left.begin = wnn_min(left.begin, row.keys.begin);
        left.end = left.end > row.keys.end ? left.end : row.keys.end;
    }
    return left;
}
