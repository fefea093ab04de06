// SPDX-License-Identifier: Apache-2.0
//
// Windows of a pool that overlap or lie close to one another: rows are reduced into one, with padding around
// it, and this along itself.

#include "cpu/pool/pool.h"

#include <math.h>

#define BATCH 2048 // bytes of rows that are reduced before their windows are

union factors {
    double doubles[WNN_POOL_POSITIONS + WNN_POOL_SLACK];
    float floats[WNN_POOL_POSITIONS + WNN_POOL_SLACK];
};

// What the strips of a part of the rows share.
struct bench {
    struct sink sink;
    union line sums, parts;
    size_t channel, x; // of the strip whose padding is in `sums`
    size_t height;     // of the windows that `factors` are of
    double widths[WNN_POOL_POSITIONS];
    union factors factors;
};

// How many of the rows of a line from y on are alike, at most `most`.
static size_t count_alike(const struct pool *pool, size_t y, size_t most)
{
    int64_t stride = pool->stride[0], reach = (pool->window[0] - 1) * pool->dilation[0];
    int64_t first = (int64_t)y * stride - pool->padding[0], left = pool->size[0] - 1 - reach - first;
    if (first < 0 || left < 0)
        return 1;
    size_t rows = (size_t)(left / stride) + 1;
    return rows < most ? rows : most;
}

// Padding around the sums, and what windows of so many rows of the input are divided by.
static void prepare(const struct pool *pool, const struct strip *strip, size_t height, struct bench *bench)
{
    bool same = bench->x == strip->x && bench->channel == strip->channel;
    if (!same) {
        size_t block = strip->block, sum = pool->loops->sum;
        wnn_pool2d_set_neutral(pool->loops, bench->sums.bytes, pool->rows, pool->pitch, strip->head * block);
        wnn_pool2d_set_neutral(pool->loops, bench->sums.bytes + (strip->head + strip->inside) * block * sum,
                               pool->rows, pool->pitch, strip->tail * block);
    }
    for (size_t i = 0; !same && pool->loops->means && i < strip->positions; i++) {
        int64_t left, right;
        wnn_pool2d_clip(pool, 1, strip->x + i, &left, &right);
        bench->widths[i] = right > left ? (double)(right - left) : INFINITY;
    }
    if (pool->loops->means && (!same || bench->height != height)) {
        double rows = height > 0 ? (double)height : INFINITY;
        for (size_t i = 0; !pool->loops->single && i < strip->positions; i++)
            bench->factors.doubles[i] = 1 / (rows * bench->widths[i]);
        for (size_t i = 0; pool->loops->single && i < strip->positions; i++)
            bench->factors.floats[i] = (float)(1 / (rows * bench->widths[i]));
    }
    bench->x = strip->x;
    bench->channel = strip->channel;
    bench->height = height;
}

// Fetches what the next rows need, and where their results go, before this one's windows are made: processors
// do not foresee it while the same rows are gone over again.
static void fetch_next(const struct pool *pool, const struct strip *strip, const struct lines *inputs,
                       size_t rows, size_t offset, const char *to)
{
    size_t block = strip->block, next = offset + pool->in_y;
    if (inputs->taps > 0)
        next += (inputs->taps - 1) * inputs->step;
    if (block == pool->run)
        next += (rows - 1) * inputs->in_row;
    size_t length = rows * (size_t)pool->stride[0] * pool->in_y;
    if (next >= pool->count || pool->count - next < length)
        return;
    const char *from = pool->input + next * pool->element;
    if (pool->run == 1) {
        for (size_t i = 0; i < length * pool->element; i += 64)
            __builtin_prefetch(from + i, 0, 3);
        for (size_t i = 0; !pool->non_temporal && i < rows * strip->positions * pool->element; i += 64)
            __builtin_prefetch(to + i, 1);
        return;
    }
    // More than the first cache holds, besides all that is worked on.
    for (int64_t row = 0; row < pool->stride[0]; row++) {
        for (size_t x = 0; x < strip->inside; x++) {
            for (size_t i = 0; i < block * pool->element; i += 64)
                __builtin_prefetch(from + x * pool->in_x * pool->element + i, 0, 2);
        }
        from += pool->in_y * pool->element;
    }
}

// Rows that are alike.
static void pool_strip(const struct pool *pool, const struct strip *strip, size_t row, size_t rows,
                       struct bench *bench)
{
    const struct loops *loops = pool->loops;
    size_t line = row / pool->out[0], y = row % pool->out[0], block = strip->block;
    int64_t top, bottom, first_y = wnn_pool2d_clip(pool, 0, y, &top, &bottom);
    struct lines lines, inputs = {.rows = rows,
                                  .out_row = pool->pitch,
                                  .in_row = (size_t)pool->stride[0] * pool->in_y,
                                  .step = (size_t)pool->dilation[0] * pool->in_y,
                                  .taps = (size_t)(bottom - top),
                                  .count = strip->inside * block};
    size_t offset = line * pool->in_line + strip->first * pool->in_x + strip->channel;
    if (inputs.taps > 0)
        offset += (size_t)(first_y + top * pool->dilation[0]) * pool->in_y;
    if (block < pool->run) {
        inputs.rows = strip->inside;
        inputs.out_row = inputs.count = block;
        inputs.in_row = pool->in_x;
    }
    if (strip->inside > 0 && inputs.taps > 0) {
        size_t last = offset + (inputs.rows - 1) * inputs.in_row + (inputs.taps - 1) * inputs.step;
        inputs.whole = last + (inputs.count + loops->lanes - 1) / loops->lanes * loops->lanes <= pool->count;
    }
    prepare(pool, strip, inputs.taps, bench);
    const char *from = pool->input + offset * pool->element;
    if (strip->inside > 0)
        loops->inputs(bench->sums.bytes + strip->head * block * loops->sum, from, &inputs, false);

    char *to = pool->output + (row * pool->out_y + strip->x * pool->out_x + strip->channel) * pool->element;
    size_t bytes = block * pool->element, count = rows * strip->positions;
    bool scattered = block < pool->run;
    bool direct = pool->run > 1 && block % loops->lanes == 0 && !pool->non_temporal;
    fetch_next(pool, strip, &inputs, rows, offset, to);
    char *made = direct ? to : wnn_pool2d_take(&bench->sink, to, count * bytes);
    const char *sums = bench->sums.bytes;
    size_t stride = (size_t)pool->stride[1], dilation = (size_t)pool->dilation[1];
    lines = (struct lines){.taps = (size_t)pool->window[1], .out_row = strip->positions * block};
    if (pool->run == 1) {
        lines.rows = rows;
        lines.in_row = pool->pitch;
        lines.step = dilation;
        lines.count = strip->positions;
        if (stride > 1) {
            size_t span = (size_t)pool->span, length = (strip->positions - 1) * stride + span;
            size_t all = rows > 1 ? rows * (pool->pitch / stride) : (length + stride - 1) / stride;
            lines.in_row = pool->pitch / stride;
            lines.stride = stride;
            lines.part = stride > 2 ? all : (all + 63) / 64 * 64;
            loops->split(bench->parts.bytes, sums, stride, stride < span ? stride : span, lines.part, all);
            sums = bench->parts.bytes;
        }
    } else {
        lines.rows = strip->positions;
        lines.out_row = direct ? pool->run : block;
        lines.count = block;
        lines.in_row = stride * block;
        lines.step = dilation * block;
    }
    loops->results(made, sums, &lines, &bench->factors, pool->run == 1);
    if (loops->exact && !loops->are_right((const float *)(const void *)made, &lines, loops->least))
        wnn_pool2d_mend(pool, strip, row, &inputs, (const float *)(const void *)from, &lines,
                        (float *)(void *)made);
    if (scattered && !direct) {
        for (size_t i = 0; i < count; i++)
            wnn_pool2d_put(&bench->sink, to + i * pool->out_x * pool->element, made + i * bytes, bytes);
        bench->sink.filled = 0;
    }
}

void wnn_pool2d_dense(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    struct bench bench; // large: most of it is written before it is read, or does not matter
    bench.sink.to = NULL;
    bench.sink.filled = 0;
    bench.sink.non_temporal = pool->non_temporal;
    bench.x = bench.channel = bench.height = SIZE_MAX;
    // Strips of pixels go down, so that their rows stay in a near cache from one window to the next.
    size_t across = pool->run > 1 ? pool->positions : pool->out[1];
    for (size_t channel = 0; channel < pool->run; channel += pool->block) {
        for (size_t left = 0; left < pool->out[1]; left += across) {
            size_t right = pool->out[1] - left < across ? pool->out[1] : left + across;
            for (size_t row = begin, rows; row < end; row += rows) {
                size_t y = row % pool->out[0];
                rows = end - row < pool->out[0] - y ? end - row : pool->out[0] - y;
                rows = count_alike(pool, y, rows < pool->rows ? rows : pool->rows);
                for (size_t x = left; x < right; x += pool->positions) {
                    struct strip strip = wnn_pool2d_strip(pool, channel, x);
                    pool_strip(pool, &strip, row, rows, &bench);
                }
            }
        }
    }
    wnn_pool2d_drain(&bench.sink);
}

// How much is pooled together, if a row of windows fits: long enough runs for vectors, and few columns that
// are reduced for two strips.
bool wnn_pool2d_dense_suits(struct pool *pool)
{
    int64_t room = (int64_t)pool->room;
    if (pool->window[1] > room || pool->dilation[1] > room || pool->out[1] == 1)
        return false;
    pool->span = (pool->window[1] - 1) * pool->dilation[1] + 1;
    if (pool->span > room / 4)
        return false;
    size_t span = (size_t)pool->span, stride = (size_t)pool->stride[1];
    size_t shared = stride < span ? span - stride : 0;
    pool->block = pool->run < 16 ? pool->run : pool->room / (span + 7 * shared);
    if (pool->block < pool->run)
        pool->block -= pool->block % (pool->block > 64 ? 64 : pool->block > 16 ? 16 : 1);
    else
        pool->block = pool->run;
    if (pool->block < (pool->run < 16 ? pool->run : 16))
        return false;
    size_t columns = pool->room / pool->block - span;
    if (pool->run == 1) // the last windows take in whole strides
        columns -= stride < span ? stride : span;
    pool->positions = 1 + columns / stride;
    pool->positions = pool->positions < WNN_POOL_POSITIONS ? pool->positions : WNN_POOL_POSITIONS;
    pool->rows = 1;
    if (pool->run == 1 && pool->positions >= pool->out[1]) {
        size_t lanes = pool->loops->lanes, padding = (size_t)pool->padding[1];
        size_t length = (pool->out[1] - 1) * stride + span;
        size_t whole = ((size_t)pool->size[1] + lanes - 1) / lanes * lanes + padding;
        pool->pitch = ((whole > length ? whole : length) + stride - 1) / stride * stride;
        pool->rows = BATCH / (pool->pitch * pool->loops->sum) + 1;
        size_t most = pool->room / pool->pitch;
        pool->rows = pool->rows < most ? pool->rows : most > 0 ? most : 1;
    }
    return true;
}
