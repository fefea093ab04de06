// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/attention.h"
#include "cpu/simd/lanes.h"

#include <math.h>
#include <string.h>

#define SCORES 32768 // between looks at the interrupt

struct row {
    float *scores;
    const float *mask; // NULL: none; one number for all if the stride is 0
    size_t mask_stride;
    float scale, most; // of what was looked at
    double sum;
};

#define LOOPS "cpu/matmul/attention_softmax.inc"
#include "cpu/simd/each_isa.inc"

// A NaN is passed over where the greatest is looked for: it makes one of the sum, and so of everything.
struct attention_sum wnn_attention_weigh(const struct attention *a, float *scores, size_t count,
                                         float *buffer, size_t offset)
{
    const struct view *mask = &a->mask;
    struct row row = {
        .scores = scores, .mask_stride = mask->column != 0, .scale = a->scale, .most = -INFINITY};
    if (mask->tensor != NULL)
        row.mask = wnn_attention_load(mask, offset, mask->column != 0 ? mask->column : 1,
                                      mask->column != 0 ? count : 1, buffer);
    for (size_t i = 0, end; i < count && !wnn_interrupted(a->interrupt); i = end) {
        end = wnn_min(i + SCORES, count);
        WNN_BEST_ISA(scale_scores)(&row, i, end);
    }
    for (size_t i = 0, end; i < count && !wnn_interrupted(a->interrupt); i = end) {
        end = wnn_min(i + SCORES, count);
        WNN_BEST_ISA(raise_scores)(&row, i, end);
    }
    return (struct attention_sum){row.most, row.sum};
}
