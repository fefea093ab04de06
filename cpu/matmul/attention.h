// SPDX-License-Identifier: Apache-2.0
//
// What the ways to compute attention share: attention.c packs keys and values, and attention_few.c reads them
// as they lie, for rows of Q that are too few to pay for that.

#ifndef CPU_MATMUL_ATTENTION_H_
#define CPU_MATMUL_ATTENTION_H_

#include "cpu/matmul/gemm.h"

// Matrices in a tensor, one for each head: strides of elements.
struct view {
    const struct tensor *tensor;
    size_t head[WNN_MAX_RANK], row, column;
};

struct attention {
    const struct float_kernels *kernels;      // of the products
    struct view query, key, value, mask, out; // mask.tensor NULL: none
    struct shape heads;                       // the leading dimensions
    size_t head_count, rows, columns, depth, width;
    float scale;
    bool zero_nan; // rows whose softmax is NaN give zeros
    const struct interrupt *interrupt;
    size_t parts;        // of the rows of a head
    size_t slots, block; // parts of the work that have scratch memory, rows at a time
    float *scratch;
};

// Floats of scratch memory, so that what follows is aligned and can be read in whole vectors.
static inline size_t wnn_attention_padded(size_t floats)
{
    const size_t unit = WNN_ALIGNMENT / sizeof(float);
    return (floats + unit - 1) / unit * unit;
}

// Where the matrix of a head begins.
size_t wnn_attention_offset(const struct attention *a, const struct view *view, size_t head);

// `count` elements from `offset` on: in place, or in `buffer`.
const float *wnn_attention_load(const struct view *view, size_t offset, size_t stride, size_t count,
                                float *buffer);
void wnn_attention_store(const struct view *view, size_t offset, size_t stride, const float *values,
                         size_t count);

// attention_softmax.c: a row of scores becomes exp(scores * scale + mask), but for a factor that all have;
// `mask` is room for as many floats, `offset` where the mask of the row lies. Returns what they are to be
// multiplied with.
float wnn_attention_softmax(const struct attention *a, float *scores, float *mask, size_t offset);

// Whether attention_few.c computes it, with how many floats of scratch memory.
bool wnn_attention_is_few(const struct attention *a);
size_t wnn_attention_few_floats(const struct attention *a);
void wnn_attention_run_few(const struct attention *a, const struct parallel *parallel);

#endif
