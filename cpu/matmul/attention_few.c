// SPDX-License-Identifier: Apache-2.0
//
// Attention of few rows of Q: K and V are read once, where they lie, for all rows of the heads that share
// them. Each block of keys is a part of the work, which leaves the sum of the values times weights that are
// made as though there were no other keys; then these are added up, as the greatest score of each block
// weighs them.

#include "cpu/matmul/attention.h"
#include "cpu/matmul/small_gemm.h"
#include "cpu/simd/lanes.h"

#include <math.h>

enum {
    FEW_ROWS = 8, // are not few any more
    KEYS = 64,    // whose scores are made together, at most, and the least of a block
    BLOCKS = 16,  // of all groups are enough: then there are more keys in each
    MOST_KEYS = 256,
    BUFFER = 8192, // floats of keys that are float16, or lie apart
    TOGETHER = 16, // rows whose scores are made together
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

// The work, and where its scratch memory lies.
struct few {
    const struct attention *a;
    size_t share;                   // heads that share keys and values
    size_t groups, rows;            // of heads that do, and rows of all heads of a group
    size_t first, keys, blocks;     // the first key of the first block, keys of a block, blocks
    size_t width;                   // of a row of sums
    struct attention_keys *keys_of; // [group]: that its rows attend to
    float *query, *scores;          // [row of all heads][depth], [group][block][row][key]
    float *mask;                    // [group][block][key]
    float *mixed;                   // [group][block][row][width]
    struct attention_sum *sums;     // [group][row][block]
};

bool wnn_attention_is_few(const struct attention *a)
{
    bool keys = a->key.row == 1 || a->depth == 1 || a->key.column == 1;
    return a->rows < FEW_ROWS && a->columns > 0 && a->depth > 0 && a->depth <= BUFFER / 8 && keys &&
           (a->value.column == 1 || a->width == 1);
}

static size_t keys_of_block(const struct few *f, size_t columns)
{
    size_t keys = KEYS;
    while (keys < MOST_KEYS && f->groups * ((columns + keys - 1) / keys) > BLOCKS)
        keys *= 2;
    return keys;
}

// Of a group that has so many keys, or fewer.
static size_t most_blocks(const struct few *f, size_t columns)
{
    size_t large = (columns + MOST_KEYS - 1) / MOST_KEYS, small = (columns + KEYS - 1) / KEYS;
    small = wnn_min(small, BLOCKS / f->groups);
    return large > small ? large : small;
}

static struct few describe(const struct attention *a)
{
    struct few f = {.a = a, .share = 1, .width = wnn_attention_padded(a->width)};
    for (unsigned d = a->heads.rank; d-- > 0 && a->key.head[d] == 0 && a->value.head[d] == 0;)
        f.share *= a->heads.dim[d];
    f.groups = a->head_count / f.share;
    f.rows = f.share * a->rows;
    return f;
}

static void *take(size_t *bytes, const void *memory, size_t count, size_t size)
{
    size_t begin = *bytes;
    *bytes += wnn_aligned(count * size);
    return memory ? (char *)(uintptr_t)memory + begin : NULL;
}

// Returns how much memory it takes.
static size_t place(struct few *f, void *memory)
{
    const struct attention *a = f->a;
    size_t bytes = 0, blocks = f->groups * most_blocks(f, a->columns),
           keys = f->groups * wnn_round_up(a->columns, MOST_KEYS);
    f->keys_of = take(&bytes, memory, f->groups, sizeof *f->keys_of);
    f->query = take(&bytes, memory, f->groups * f->rows * a->depth, sizeof *f->query);
    f->scores = take(&bytes, memory, f->rows * keys, sizeof *f->scores);
    f->mask = take(&bytes, memory, keys, sizeof *f->mask);
    f->mixed = take(&bytes, memory, blocks * f->rows * f->width, sizeof *f->mixed);
    f->sums = take(&bytes, memory, blocks * f->rows, sizeof *f->sums);
    return bytes;
}

size_t wnn_attention_few_bytes(const struct attention *a)
{
    struct few f = describe(a);
    return place(&f, NULL);
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

// The keys of a block that a group attends to, and what is computed of them.
struct block {
    size_t group, first, count;
    float *scores, *mask, *mixed; // [row][f->keys], [key], [row][f->width]
};

static struct block block_at(const struct few *f, size_t group, size_t index)
{
    struct attention_keys keys = f->keys_of[group];
    size_t at = group * f->blocks + index, begin = f->first + index * f->keys, end = begin + f->keys;
    begin = begin > keys.begin ? begin : keys.begin;
    end = wnn_min(end, keys.end);
    return (struct block){group,
                          begin,
                          begin < end ? end - begin : 0,
                          f->scores + at * f->rows * f->keys,
                          f->mask + at * f->keys,
                          f->mixed + at * f->rows * f->width};
}

// The dot products of all rows and of keys each of which lies in one piece.
static void dot_keys(const struct few *f, const struct block *block)
{
    const struct attention *a = f->a;
    float buffer[BUFFER];
    double sums[KEYS * TOGETHER];
    size_t offset = wnn_attention_offset(a, &a->key, block->group * f->share) + block->first * a->key.column;
    for (size_t first = 0, count; first < block->count; first += count) {
        count = wnn_min(wnn_min(KEYS, BUFFER / a->depth), block->count - first);
        const float *keys = take_keys(a, offset + first * a->key.column, count, buffer);
        for (size_t row = 0, rows; row < f->rows; row += rows) {
            rows = wnn_min(TOGETHER, f->rows - row);
            wnn_small_gemm_floats(keys, count, f->query + (block->group * f->rows + row) * a->depth, rows,
                                  a->depth, sums, KEYS);
            for (size_t r = 0; r < rows; r++)
                for (size_t k = 0; k < count; k++)
                    block->scores[(row + r) * f->keys + first + k] = (float)sums[r * KEYS + k];
        }
    }
}

// The same where a term of all keys lies in one piece.
static void add_keys(const struct few *f, const struct block *block)
{
    const struct attention *a = f->a;
    size_t offset = wnn_attention_offset(a, &a->key, block->group * f->share) + block->first;
    struct sums sums = {.right = element(&a->key, offset),
                        .halves = a->key.tensor->type == WNNDataType_Float16,
                        .left = f->query + block->group * f->rows * a->depth,
                        .out = block->scores,
                        .rows = f->rows,
                        .columns = block->count,
                        .terms = a->depth,
                        .left_stride = a->depth,
                        .right_stride = a->key.row,
                        .out_stride = f->keys};
    memset(block->scores, 0, f->rows * f->keys * sizeof *block->scores);
    add_sums(&sums);
}

static void mix_values(const struct few *f, const struct block *block)
{
    const struct attention *a = f->a;
    size_t offset = wnn_attention_offset(a, &a->value, block->group * f->share) + block->first * a->value.row;
    struct sums sums = {.halves = a->value.tensor->type == WNNDataType_Float16,
                        .out = block->mixed,
                        .rows = f->rows,
                        .columns = a->width,
                        .left_stride = f->keys,
                        .right_stride = a->value.row,
                        .out_stride = f->width};
    memset(block->mixed, 0, f->rows * f->width * sizeof *block->mixed);
    for (size_t key = 0; key < block->count; key += KEYS) {
        sums.terms = wnn_min(KEYS, block->count - key);
        sums.left = block->scores + key;
        sums.right = element(&a->value, offset + key * a->value.row);
        add_sums(&sums);
    }
}

static void attend_blocks(void *argument, size_t begin, size_t end)
{
    const struct few *f = argument;
    const struct attention *a = f->a;
    bool apart = a->key.row == 1 || a->depth == 1;
    for (size_t i = begin; i < end && !wnn_interrupted(a->interrupt); i++) {
        size_t index = i % f->blocks;
        struct block block = block_at(f, i / f->blocks, index);
        if (block.count == 0)
            continue;
        (apart ? dot_keys : add_keys)(f, &block);
        for (size_t r = 0; r < f->rows; r++) {
            size_t row = block.group * f->rows + r;
            size_t mask =
                a->mask.tensor ? wnn_attention_row(a, &a->mask, row) + block.first * a->mask.column : 0;
            f->sums[row * f->blocks + index] =
                wnn_attention_weigh(a, block.scores + r * f->keys, block.count, block.mask, mask);
        }
        mix_values(f, &block);
    }
}

// Adds up what the blocks have left of rows [begin, end) of all heads.
static void join_blocks(void *argument, size_t begin, size_t end)
{
    const struct few *f = argument;
    const struct attention *a = f->a;
    for (size_t row = begin; row < end && !wnn_interrupted(a->interrupt); row++) {
        const struct attention_sum *sums = f->sums + row * f->blocks;
        size_t group = row / f->rows, first = f->blocks, last = 0;
        float greatest = -INFINITY, *to = NULL;
        double sum = 0;
        for (size_t i = 0; i < f->blocks; i++) {
            struct block block = block_at(f, group, i);
            if (block.count == 0)
                continue;
            first = wnn_min(first, i);
            last = i;
            greatest = sums[i].greatest > greatest ? sums[i].greatest : greatest;
        }
        for (size_t i = first; i <= last; i++) {
            float *mixed = block_at(f, group, i).mixed + row % f->rows * f->width;
            // With one block it is 1, or NaN.
            float share = expf(sums[i].greatest - (greatest == -INFINITY ? 0 : greatest));
            sum += (double)share * sums[i].sum;
            for (size_t j = 0; j < a->width; j++)
                mixed[j] = mixed[j] * share + (to ? to[j] : 0);
            to = mixed;
        }
        bool is_zero = a->zero_nan && !(sum > 0);
        float factor = 1 / (float)sum;
        for (size_t j = 0; j < a->width; j++)
            to[j] = is_zero ? 0 : to[j] * factor;
        wnn_attention_store(&a->out, wnn_attention_row(a, &a->out, row), a->out.column, to, a->width);
    }
}

// Whether all heads have the same.
static bool shares_mask(const struct attention *a)
{
    bool shares = true;
    for (unsigned d = 0; d < a->heads.rank; d++)
        shares = shares && a->mask.head[d] == 0;
    return shares;
}

void wnn_attention_run_few(const struct attention *a, void *scratch, const struct parallel *parallel)
{
    struct few f = describe(a);
    size_t all = f.groups * f.rows, begin = a->columns, end = 0;
    place(&f, scratch);
    for (size_t i = 0; i < all; i++) {
        float *to = f.query + i * a->depth;
        const float *row =
            wnn_attention_load(&a->query, wnn_attention_row(a, &a->query, i), a->query.column, a->depth, to);
        if (row != to)
            memcpy(to, row, a->depth * sizeof *to);
    }
    for (size_t i = 0; i < f.groups; i++) {
        f.keys_of[i] = i > 0 && shares_mask(a) ? f.keys_of[0]
                                               : wnn_attention_keys(a, i * f.rows, (i + 1) * f.rows, f.mask);
        begin = wnn_min(begin, f.keys_of[i].begin);
        end = end > f.keys_of[i].end ? end : f.keys_of[i].end;
    }
    f.first = begin / KEYS * KEYS;
    f.keys = keys_of_block(&f, end - f.first);
    f.blocks = (end - f.first + f.keys - 1) / f.keys;
    size_t work = f.keys * f.rows * (a->depth + a->width);
    wnn_parallel_for(parallel, f.groups * f.blocks, 1 + WORK / work, attend_blocks, &f);
    wnn_parallel_for(parallel, all, 1 + WORK / 2 / (f.blocks * f.width), join_blocks, &f);
}
