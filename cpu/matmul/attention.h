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
    bool zero_nan;             // rows whose softmax is NaN give zeros
    size_t window, window_end; // of attention_attrs
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

// Where the matrix of a head begins, and a row, which count over all heads.
size_t wnn_attention_offset(const struct attention *a, const struct view *view, size_t head);
size_t wnn_attention_row(const struct attention *a, const struct view *view, size_t row);

// `count` elements from `offset` on: in place, or in `buffer`.
const float *wnn_attention_load(const struct view *view, size_t offset, size_t stride, size_t count,
                                float *buffer);
void wnn_attention_store(const struct view *view, size_t offset, size_t stride, const float *values,
                         size_t count);

// What is known of the weights of some keys, which are exp(score - greatest), or exp(score) if the greatest
// score is -INFINITY.
struct attention_sum {
    float greatest; // NaN is passed over
    double sum;
};

// attention_softmax.c: `count` scores of a row become weights of scores * scale + mask; `mask` is room for as
// many floats, `offset` where the mask of the first lies.
struct attention_sum wnn_attention_weigh(const struct attention *a, float *scores, size_t count, float *mask,
                                         size_t offset);

// Keys [begin, end).
struct attention_keys {
    size_t begin, end;
};

// attention_mask.c: the keys that rows [first, end), which count over all heads, attend to. The mask of all
// other keys is more than WNN_EXCLUDED_DISTANCE less than the greatest of each of these rows, so that these
// keys and their values are not read. `buffer` is room for a row of the mask.
struct attention_keys wnn_attention_keys(const struct attention *a, size_t first, size_t end, float *buffer);

// Whether attention_few.c computes it, with how many bytes of scratch memory.
bool wnn_attention_is_few(const struct attention *a);
size_t wnn_attention_few_bytes(const struct attention *a);
void wnn_attention_run_few(const struct attention *a, void *scratch, const struct parallel *parallel);

#endif
