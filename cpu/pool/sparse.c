// SPDX-License-Identifier: Apache-2.0
//
// Windows of a pool one after another: those that are too far apart, too long or too few for anything else,
// and those that another method has not made right.

#include "cpu/pool/pool.h"

#include <float.h>
#include <math.h>

// `block` results of window `x` of a row, as many as there is room for sums. Writes a whole number of
// vectors.
static void reduce_window(const struct pool *pool, const struct loops *loops, size_t row, size_t x,
                          size_t channel, size_t block, char *out)
{
    union line sums, reduced;
    size_t line = row / pool->out[0], most = WNN_POOL_ROOM / loops->sum / block;
    int64_t top, bottom, left, right;
    int64_t first_y = wnn_pool2d_clip(pool, 0, row % pool->out[0], &top, &bottom);
    int64_t first_x = wnn_pool2d_clip(pool, 1, x, &left, &right);
    size_t step_y = (size_t)pool->dilation[0] * pool->in_y, height = (size_t)(bottom - top);
    size_t step_x = (size_t)pool->dilation[1] * pool->in_x, width = (size_t)(right - left);
    size_t number = height * width;
    wnn_pool2d_set_neutral(loops, reduced.bytes, 1, 0, block);
    for (size_t tap = 0, taps; number > 0 && tap < width; tap += taps) {
        taps = width - tap < most ? width - tap : most;
        size_t offset = line * pool->in_line + channel +
                        (size_t)(first_y + top * pool->dilation[0]) * pool->in_y +
                        (size_t)(first_x + left * pool->dilation[1]) * pool->in_x + tap * step_x;
        struct lines lines = {taps, block, step_x, step_y, height, block, 0, 0, false};
        if (step_x == block) {
            lines.rows = 1;
            lines.count = taps * block;
        }
        loops->inputs(sums.bytes, pool->input + offset * pool->element, &lines, false);
        if (block == 1)
            loops->run(reduced.bytes, sums.bytes, taps);
        else
            loops->sums(reduced.bytes, sums.bytes, &(struct lines){1, 0, 0, block, taps, block, 0, 0, false},
                        true);
    }
    const double factor = number > 0 ? 1 / (double)number : 0;
    const float single = (float)factor;
    const void *factors = loops->single ? (const void *)&single : (const void *)&factor;
    loops->results(out, reduced.bytes, &(struct lines){1, 0, 0, 0, 1, block, 0, 0, true}, factors, false);
}

void wnn_pool2d_sparse(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    struct sink sink;
    sink.to = NULL;
    sink.filled = 0;
    sink.non_temporal = pool->non_temporal;
    for (size_t row = begin; row < end; row++) {
        char *to = pool->output + row * pool->out_y * pool->element;
        for (size_t x = 0; x < pool->out[1]; x++) {
            for (size_t channel = 0, block; channel < pool->run; channel += block) {
                block = pool->run - channel < pool->block ? pool->run - channel : pool->block;
                char *out = wnn_pool2d_take(&sink, to + (x * pool->run + channel) * pool->element,
                                            block * pool->element);
                reduce_window(pool, pool->loops, row, x, channel, block, out);
            }
        }
    }
    wnn_pool2d_drain(&sink);
}

// Whether there are numbers below the limit, other than zeros.
static bool has_tiny(const float *x, size_t count, float limit)
{
    uint32_t least, bits;
    memcpy(&least, &limit, sizeof least);
    bool tiny = false;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, x + i, sizeof bits);
        tiny |= (bits & INT32_MAX) - 1 < least - 1;
    }
    return tiny;
}

// Small results are right if they come from zeros only.
void wnn_pool2d_mend(const struct pool *pool, const struct strip *strip, size_t row,
                     const struct lines *inputs, const float *from, const struct lines *lines, float *results)
{
    const struct loops *loops = pool->loops;
    bool tiny = false;
    for (size_t r = 0; r < inputs->rows; r++) {
        for (size_t t = 0; loops->least > 0 && t < inputs->taps; t++)
            tiny |= has_tiny(from + r * inputs->in_row + t * inputs->step, inputs->count, loops->least);
    }
    for (size_t r = 0; r < lines->rows; r++, results += lines->out_row) {
        for (size_t i = 0; i < lines->count; i++) {
            if (fabsf(results[i]) <= FLT_MAX && (results[i] >= loops->least || !tiny))
                continue;
            float made[WNN_POOL_SLACK];
            if (pool->run == 1)
                reduce_window(pool, loops->exact, row + r, strip->x + i, 0, 1, (char *)made);
            else
                reduce_window(pool, loops->exact, row, strip->x + r, strip->channel + i, 1, (char *)made);
            results[i] = made[0];
        }
    }
}
