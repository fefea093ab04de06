// SPDX-License-Identifier: Apache-2.0
//
// Small windows over pixels of float16: some rows of results at a time, column by column.

#include "cpu/pool/pool.h"

#define FEWEST   64    // as many as make a pixel's work worth while
#define ELEMENTS 16384 // of a row that are made before the rows below, which need some inputs again
#define AHEAD    2     // columns: what lies there is fetched meanwhile

// From row y of results on.
static void pool_band(const struct pool *pool, const struct strip *strip, size_t line, size_t y,
                      struct band *band)
{
    static const uint16_t zeros[WNN_BAND_CHANNELS];
    const size_t inputs = WNN_BAND_ROWS + band->height - 1, before = band->width - 1,
                 bytes = strip->block * 2;
    const size_t rows = pool->out[0] - y < WNN_BAND_ROWS ? pool->out[0] - y : WNN_BAND_ROWS;
    const uint16_t *from = (const uint16_t *)(const void *)pool->input + line * pool->in_line +
                           strip->first * pool->in_x + strip->channel;
    uint16_t *to = (uint16_t *)(void *)pool->output + (line * pool->out[0] + y) * pool->out_y +
                   strip->x * pool->out_x + strip->channel;
    const uint16_t *in[WNN_BAND_INPUTS];
    int64_t heights[WNN_BAND_ROWS];
    for (size_t t = 0; t < inputs; t++) {
        size_t row = y + t - (size_t)pool->padding[0];
        in[t] = row < (size_t)pool->size[0] ? from + row * pool->in_y : NULL;
    }
    for (size_t r = 0; r < WNN_BAND_ROWS; r++) {
        int64_t top, bottom;
        wnn_pool2d_clip(pool, 0, y + r, &top, &bottom);
        heights[r] = bottom - top;
    }
    band->count = strip->block;
    memset(band->kept, 0, strip->block / WNN_BAND_LANES * sizeof band->kept[0]);
    for (size_t column = 0; column < strip->positions + before; column++) {
        const size_t inside = column - strip->head, x = column - before;
        for (size_t t = 0; t < inputs; t++) {
            bool there = in[t] && inside < strip->inside;
            band->in[t] = there ? in[t] + inside * pool->in_x : zeros;
            if (there && inside + AHEAD < strip->inside) {
                const char *ahead = (const char *)(band->in[t] + AHEAD * pool->in_x);
                for (size_t i = 0; i < bytes; i += 64)
                    __builtin_prefetch(ahead + i, 0, 2);
            }
        }
        if (column < before) {
            pool->loops->band(band, false);
            continue;
        }
        int64_t left, right;
        wnn_pool2d_clip(pool, 1, strip->x + x, &left, &right);
        for (size_t r = 0; r < WNN_BAND_ROWS; r++) {
            int64_t number = heights[r] * (right - left);
            band->factors[r] = number > 0 ? (float)(1 / (double)number) : 0;
            bool direct = r < rows && !pool->non_temporal;
            band->out[r] = direct ? to + r * pool->out_y + x * pool->out_x : band->made[r];
        }
        pool->loops->band(band, true);
        for (size_t r = 0; pool->non_temporal && r < rows; r++)
            wnn_nt_store(to + r * pool->out_y + x * pool->out_x, band->made[r], bytes);
    }
}

size_t wnn_pool2d_pixels_bands(const struct pool *pool)
{
    return (pool->out[0] + WNN_BAND_ROWS - 1) / WNN_BAND_ROWS;
}

void wnn_pool2d_pixels(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    const size_t bands = wnn_pool2d_pixels_bands(pool);
    struct band band; // large
    band.height = (size_t)pool->window[0];
    band.width = (size_t)pool->window[1];
    for (size_t channel = 0; channel < pool->run; channel += pool->block) {
        for (size_t x = 0; x < pool->out[1]; x += pool->positions) {
            const struct strip strip = wnn_pool2d_strip(pool, channel, x);
            for (size_t i = begin; i < end; i++)
                pool_band(pool, &strip, i / bands, i % bands * WNN_BAND_ROWS, &band);
        }
    }
    if (pool->non_temporal)
        wnn_nt_fence();
}

bool wnn_pool2d_pixels_suits(struct pool *pool)
{
    for (unsigned axis = 0; axis < 2; axis++) {
        if (pool->stride[axis] != 1 || pool->dilation[axis] != 1 || pool->window[axis] < 2 ||
            pool->window[axis] > WNN_SLIDE_WIDTH)
            return false;
    }
    if (!pool->loops->band || pool->run < FEWEST || pool->run % WNN_BAND_LANES != 0)
        return false;
    pool->span = pool->window[1];
    pool->block = pool->run < WNN_BAND_CHANNELS ? pool->run : WNN_BAND_CHANNELS;
    pool->positions = ELEMENTS / pool->block;
    return true;
}
