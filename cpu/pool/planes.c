// SPDX-License-Identifier: Apache-2.0
//
// Small windows over planes: rows of the input are reduced along themselves, and then with one another, as
// long as windows need them.

#include "cpu/pool/pool.h"
#include "cpu/simd/runs.h"

#include <math.h>

#define SLID 1024 // bytes of results of small windows that are made together

// Which of `lanes` columns from one on are before another.
static uint64_t columns_before(size_t end, size_t from, size_t lanes)
{
    return wnn_first_bits(end < from ? 0 : wnn_min(end - from, lanes));
}

static void begin_strip(const struct pool *pool, const struct strip *strip, struct slide *slide)
{
    const size_t lanes = 64 / pool->loops->sum;
    slide->positions = strip->positions;
    slide->head = strip->head;
    slide->inside = strip->inside;
    const size_t columns = strip->positions * slide->stride / lanes + WNN_SLIDE_MORE;
    for (size_t k = 0; k < columns; k++) {
        slide->masks[k] = columns_before(strip->head + strip->inside, k * lanes, lanes) &
                          ~columns_before(strip->head, k * lanes, lanes);
        slide->none[k] = 0;
    }
    for (size_t i = 0; i < strip->positions && pool->loops->means; i++) {
        int64_t left, right;
        wnn_pool2d_clip(pool, 1, strip->x + i, &left, &right);
        double width = right > left ? (double)(right - left) : INFINITY;
        slide->factors[0][i] = 0;
        for (int rows = 1; rows <= WNN_SLIDE_HEIGHT; rows++)
            slide->factors[rows][i] = (float)(1 / (rows * width));
    }
}

// The rows of the plane that windows take in.
static struct lines find_rows(const struct pool *pool, const struct slide *slide, size_t y, size_t rows,
                              size_t *first)
{
    size_t low = y * slide->step, high = low + (rows - 1) * slide->step + slide->height;
    low = low > slide->padding ? low - slide->padding : 0;
    high = high > slide->padding ? high - slide->padding : 0;
    high = high < slide->size ? high : slide->size;
    *first = low < high ? low : 0;
    return (struct lines){
        .rows = low < high ? high - low : 0, .in_row = pool->in_y, .taps = 1, .count = slide->inside};
}

void wnn_pool2d_planes(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    const struct loops *loops = pool->loops;
    struct sink sink; // large
    struct slide slide;
    sink.to = NULL;
    sink.filled = 0;
    sink.non_temporal = pool->non_temporal;
    slide.size = (size_t)pool->size[0];
    slide.pitch = pool->in_y;
    slide.padding = (size_t)pool->padding[0];
    slide.height = (size_t)pool->window[0];
    slide.step = (size_t)pool->stride[0];
    slide.stride = (size_t)pool->stride[1];
    slide.width = (size_t)pool->window[1];
    wnn_pool2d_set_neutral(loops, (char *)slide.kept[WNN_SLIDE_KEPT], 1, 0,
                           (pool->positions + 15) / 16 * 64 / loops->sum);
    for (size_t x = 0; x < pool->out[1]; x += pool->positions) {
        struct strip strip = wnn_pool2d_strip(pool, 0, x);
        begin_strip(pool, &strip, &slide);
        for (size_t row = begin, rows; row < end; row += rows) {
            size_t line = row / pool->out[0], y = row % pool->out[0];
            rows = end - row < pool->out[0] - y ? end - row : pool->out[0] - y;
            rows = rows < pool->rows ? rows : pool->rows;
            const char *plane = pool->input + (line * pool->in_line + strip.first) * pool->element;
            if (row == begin || y == 0) {
                slide.plane = plane;
                slide.row = y * slide.step;
                slide.fresh = slide.height;
            }
            size_t count = rows * strip.positions;
            char *made = wnn_pool2d_take(&sink, pool->output + (row * pool->out_y + x) * pool->element,
                                         count * pool->element);
            loops->slide(&slide, made, rows);
            const struct lines lines = {.rows = rows, .out_row = strip.positions, .count = strip.positions};
            if (loops->exact && !loops->are_right((const float *)(void *)made, &lines, loops->least)) {
                size_t first;
                struct lines inputs = find_rows(pool, &slide, y, rows, &first);
                wnn_pool2d_mend(pool, &strip, row, &inputs,
                                (const float *)(const void *)plane + first * pool->in_y, &lines,
                                (float *)(void *)made);
            }
        }
    }
    wnn_pool2d_drain(&sink);
}

bool wnn_pool2d_planes_suits(struct pool *pool)
{
    if (pool->run > 1 || !pool->loops->slide || pool->stride[1] > WNN_SLIDE_STRIDE ||
        pool->dilation[0] != 1 || pool->dilation[1] != 1 || pool->window[0] > WNN_SLIDE_HEIGHT ||
        pool->window[1] < 2 || pool->window[1] > WNN_SLIDE_WIDTH || pool->stride[0] > pool->window[0])
        return false;
    pool->span = pool->window[1];
    pool->block = 1;
    pool->positions = pool->out[1] < WNN_POOL_POSITIONS ? pool->out[1] : WNN_POOL_POSITIONS;
    pool->rows = 1;
    if (pool->positions == pool->out[1])
        pool->rows += SLID / (pool->positions * pool->element);
    return true;
}
