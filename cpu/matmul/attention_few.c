// SPDX-License-Identifier: Apache-2.0
//
// Attention of few rows of Q: K and V are read once, where they lie, for all rows of the heads that share
// them. One row after the other would wait for memory, so that the work is cut into blocks of keys, rows of
// scores, and columns of V, each of which is done for all heads before the next.

#include "cpu/matmul/attention.h"
#include "cpu/matmul/small_gemm.h"
#include "cpu/simd/lanes.h"

enum {
    FEW_ROWS = 8,  // are not few any more
    KEYS = 64,     // of a block, at most
    BUFFER = 8192, // floats of a block of keys that are float16, or lie apart
    TOGETHER = 16, // rows whose scores are made together
    COLUMNS = 64,  // of V that a part has, at most; and at least a line of memory
    SOON = 4096,   // bytes before they are needed, keys and values are fetched
    PIECE = 256,   // elements that are fetched together
    WORK = 1 << 16 // multiply-adds that are worth a thread
};

// out[r][c] += the sum of left[r][k] * right[k][c]
struct sums {
    const float *left;
    const void *right;
    bool halves; // right is float16
    float *out;
    size_t rows, columns, terms;
    size_t left_stride, right_stride, out_stride;
};

#define LOOPS "cpu/matmul/attention_few.inc"
#include "cpu/simd/each_isa.inc"

static void add_sums(const struct sums *sums)
{
    WNN_BEST_ISA(sum_rows)(sums);
}

// The work, and where its scratch memory lies: for each row its query, scores, mask, result and factor.
struct few {
    const struct attention *a;
    size_t share;            // heads that share keys and values
    size_t groups, rows;     // of heads that do, and rows of all heads of a group
    size_t keys, key_blocks; // of a block, and how many
    size_t width, parts;     // columns of a part of the values, and how many
    float *query, *scores, *mask, *out, *factors;
    size_t stride; // of scores and mask
};

bool wnn_attention_is_few(const struct attention *a)
{
    bool keys = a->key.row == 1 || a->depth == 1 || a->key.column == 1;
    return a->rows < FEW_ROWS && a->columns > 0 && a->depth > 0 && a->depth <= BUFFER / 8 && keys &&
           (a->value.column == 1 || a->width == 1);
}

static struct few describe(const struct attention *a, unsigned threads)
{
    struct few f = {.a = a, .share = 1, .stride = wnn_attention_padded(a->columns)};
    for (unsigned d = a->heads.rank; d-- > 0 && a->key.head[d] == 0 && a->value.head[d] == 0;)
        f.share *= a->heads.dim[d];
    f.groups = a->head_count / f.share;
    f.rows = f.share * a->rows;
    f.keys = wnn_min(KEYS, BUFFER / a->depth);
    f.key_blocks = (a->columns + f.keys - 1) / f.keys;
    f.width = COLUMNS;
    size_t line = 64 / (wnn_dtype_bits(a->value.tensor->type) / 8);
    while (threads > 1 && f.width > line &&
           f.groups * ((a->width + f.width - 1) / f.width) < 4 * (size_t)threads)
        f.width /= 2;
    f.parts = (a->width + f.width - 1) / f.width;
    size_t all = a->head_count * a->rows;
    f.query = a->scratch;
    f.scores = f.query + wnn_attention_padded(all * a->depth);
    f.mask = f.scores + all * f.stride;
    f.out = f.mask + all * f.stride;
    f.factors = f.out + all * wnn_attention_padded(a->width);
    return f;
}

size_t wnn_attention_few_floats(const struct attention *a)
{
    size_t all = a->head_count * a->rows;
    return wnn_attention_padded(all * a->depth) +
           all * (2 * wnn_attention_padded(a->columns) + wnn_attention_padded(a->width)) +
           wnn_attention_padded(all);
}

// Where a row of all heads lies in a view.
static size_t row_offset(const struct attention *a, const struct view *view, size_t row)
{
    return wnn_attention_offset(a, view, row / a->rows) + row % a->rows * view->row;
}

static const void *element(const struct view *view, size_t offset)
{
    return (const char *)view->tensor->data + offset * (wnn_dtype_bits(view->tensor->type) / 8);
}

static void widen(const uint16_t *from, size_t count, float *to)
{
    for (size_t i = 0, some; i < count; i += some) {
        some = wnn_min(PIECE, count - i);
        for (size_t j = 0; j < some; j += 64 / sizeof *from)
            __builtin_prefetch((const void *)((uintptr_t)(from + i + j) + SOON), 0, 3);
        wnn_half_to_float_array(from + i, to + i, some);
    }
}

// Keys that lie one behind the other: in place if they do and are float32, otherwise in the buffer.
static const float *take_keys(const struct attention *a, size_t offset, size_t count, float *buffer)
{
    size_t step = a->key.column;
    const void *from = element(&a->key, offset);
    bool floats = a->key.tensor->type == WNNDataType_Float32, whole = step == a->depth || count == 1;
    if (floats && whole)
        return from;
    size_t rows = whole ? 1 : count, columns = whole ? count * a->depth : a->depth;
    for (size_t r = 0; r < rows; r++) {
        float *to = buffer + r * columns;
        if (floats)
            memcpy(to, (const float *)from + r * step, columns * sizeof *to);
        else
            widen((const uint16_t *)from + r * step, columns, to);
    }
    return buffer;
}

// The dot products of some keys, each of which lies in one piece, and all rows.
static void dot_keys(const struct few *f, size_t group, size_t first, size_t count)
{
    const struct attention *a = f->a;
    float buffer[BUFFER];
    double sums[KEYS * TOGETHER];
    size_t offset = wnn_attention_offset(a, &a->key, group * f->share) + first * a->key.column;
    const float *keys = take_keys(a, offset, count, buffer);
    for (size_t row = 0, rows; row < f->rows; row += rows) {
        rows = wnn_min(TOGETHER, f->rows - row);
        size_t all = group * f->rows + row;
        wnn_small_gemm_floats(keys, count, f->query + all * a->depth, rows, a->depth, sums, KEYS);
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < count; k++)
                f->scores[(all + r) * f->stride + first + k] = (float)sums[r * KEYS + k];
    }
}

// The same where a term of all keys lies in one piece.
static void add_keys(const struct few *f, size_t group, size_t first, size_t count)
{
    const struct attention *a = f->a;
    size_t offset = wnn_attention_offset(a, &a->key, group * f->share) + first, row = group * f->rows;
    struct sums sums = {.right = element(&a->key, offset),
                        .halves = a->key.tensor->type == WNNDataType_Float16,
                        .left = f->query + row * a->depth,
                        .out = f->scores + row * f->stride + first,
                        .rows = f->rows,
                        .columns = count,
                        .terms = a->depth,
                        .left_stride = a->depth,
                        .right_stride = a->key.row,
                        .out_stride = f->stride};
    for (size_t r = 0; r < f->rows; r++)
        memset(sums.out + r * f->stride, 0, count * sizeof *sums.out);
    add_sums(&sums);
}

static void make_scores(void *argument, size_t begin, size_t end)
{
    const struct few *f = argument;
    for (size_t i = begin; i < end; i++) {
        size_t first = i % f->key_blocks * f->keys, count = wnn_min(f->keys, f->a->columns - first);
        bool apart = f->a->key.row == 1 || f->a->depth == 1;
        (apart ? dot_keys : add_keys)(f, i / f->key_blocks, first, count);
    }
}

static void make_weights(void *argument, size_t begin, size_t end)
{
    const struct few *f = argument;
    for (size_t i = begin; i < end; i++) {
        size_t offset = f->a->mask.tensor != NULL ? row_offset(f->a, &f->a->mask, i) : 0;
        f->factors[i] =
            wnn_attention_softmax(f->a, f->scores + i * f->stride, f->mask + i * f->stride, offset);
    }
}

static void mix_values(void *argument, size_t begin, size_t end)
{
    const struct few *f = argument;
    const struct attention *a = f->a;
    size_t out_stride = wnn_attention_padded(a->width);
    for (size_t i = begin; i < end; i++) {
        size_t group = i / f->parts, column = i % f->parts * f->width, row = group * f->rows;
        size_t offset = wnn_attention_offset(a, &a->value, group * f->share) + column * a->value.column;
        struct sums sums = {.halves = a->value.tensor->type == WNNDataType_Float16,
                            .out = f->out + row * out_stride + column,
                            .rows = f->rows,
                            .columns = wnn_min(f->width, a->width - column),
                            .left_stride = f->stride,
                            .right_stride = a->value.row,
                            .out_stride = out_stride};
        for (size_t r = 0; r < f->rows; r++)
            memset(sums.out + r * out_stride, 0, sums.columns * sizeof *sums.out);
        for (size_t key = 0; key < a->columns && !wnn_interrupted(a->interrupt); key += KEYS) {
            sums.terms = wnn_min(KEYS, a->columns - key);
            sums.left = f->scores + row * f->stride + key;
            sums.right = element(&a->value, offset + key * a->value.row);
            add_sums(&sums);
        }
        for (size_t r = 0; r < f->rows; r++) {
            float *values = sums.out + r * out_stride;
            for (size_t j = 0; j < sums.columns; j++)
                values[j] *= f->factors[row + r];
            wnn_attention_store(&a->out, row_offset(a, &a->out, row + r) + column * a->out.column,
                                a->out.column, values, sums.columns);
        }
    }
}

void wnn_attention_run_few(const struct attention *a, const struct parallel *parallel)
{
    struct few f = describe(a, parallel->threads);
    size_t all = a->head_count * a->rows;
    for (size_t i = 0; i < all; i++) {
        float *to = f.query + i * a->depth;
        const float *row =
            wnn_attention_load(&a->query, row_offset(a, &a->query, i), a->query.column, a->depth, to);
        if (row != to)
            memcpy(to, row, a->depth * sizeof *to);
    }
    wnn_parallel_for(parallel, f.groups * f.key_blocks, 1 + WORK / (f.keys * f.rows * a->depth), make_scores,
                     &f);
    wnn_parallel_for(parallel, all, 1 + WORK / 16 / a->columns, make_weights, &f);
    wnn_parallel_for(parallel, f.groups * f.parts, 1 + WORK / (a->columns * f.rows * f.width), mix_values,
                     &f);
}
