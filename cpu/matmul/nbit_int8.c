// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/nbit.h"

#define INT8_ROWS 64 // that meet a group of strips before it is left for the next, at most

struct int8_product {
    const struct nbit_product *product;
    const struct strip_int8_kernels *kernels;
    const struct interrupt *interrupt;
    size_t tile, tiles; // rows of a tile; how many there are
    size_t in_part;     // rows, whole tiles
    struct strip_int8_rows rows;
};

// Whatever the height of tiles is.
size_t wnn_nbit_int8_scratch(const struct nbit_product *product)
{
    size_t rows = wnn_round_up(product->m, WNN_STRIP_MAX_TILE), runs = wnn_strip_runs(&product->strips);
    return wnn_aligned(rows * wnn_strip_int8_row_bytes(&product->strips)) +
           wnn_aligned(rows * runs * sizeof(float)) + wnn_aligned(rows * runs * sizeof(int32_t)) +
           wnn_aligned(rows * sizeof(bool));
}

static void round_tiles(void *argument, size_t begin, size_t end)
{
    const struct int8_product *p = argument;
    const struct nbit_product *product = p->product;
    wnn_strip_int8_prepare(p->kernels, &product->strips, product->a, product->m, begin, end, &p->rows);
}

// Pieces [begin, end): some tiles, times a group of strips.
static void multiply_tiles(void *argument, size_t begin, size_t end)
{
    const struct int8_product *p = argument;
    const struct nbit_product *product = p->product;
    const size_t strips = (product->n + WNN_STRIP - 1) / WNN_STRIP;
    const size_t parts = (product->m + p->in_part - 1) / p->in_part;
    _Alignas(64) float totals[INT8_ROWS * WNN_STRIP_GROUP * WNN_STRIP];
    struct tile_file file;
    file.config.palette = 0;
    for (size_t piece = begin; piece < end && !wnn_interrupted(p->interrupt); piece++) {
        size_t strip = piece / parts * WNN_STRIP_GROUP, count = wnn_min(WNN_STRIP_GROUP, strips - strip);
        size_t column = strip * WNN_STRIP, columns = wnn_min(count * WNN_STRIP, product->n - column);
        size_t row = piece % parts * p->in_part, rows = wnn_min(p->in_part, product->m - row);
        wnn_strip_int8_multiply(p->kernels, &file, &product->strips, &p->rows, row, (unsigned)rows, strip,
                                count, totals);
        for (size_t i = 0; i < rows; i++) {
            float *c = product->c + (row + i) * product->n + column;
            memcpy(c, totals + i * WNN_STRIP_GROUP * WNN_STRIP, columns * sizeof *c);
            wnn_gemm_scale_values(&product->scale, c, row + i, column, columns);
        }
    }
    wnn_strip_int8_end(p->kernels, &file);
}

bool wnn_nbit_run_int8(const struct nbit_product *product, const struct parallel *parallel,
                       struct scratch scratch)
{
    const struct strips *strips = &product->strips;
    struct int8_product p = {.product = product,
                             .kernels = wnn_strip_int8_on_tiles(product->int8_kernels, strips, product->m),
                             .interrupt = parallel->interrupt};
    p.tile = wnn_strip_int8_tile(p.kernels);
    p.tiles = (product->m + p.tile - 1) / p.tile;
    size_t rows = p.tiles * p.tile, runs = wnn_strip_runs(strips);
    p.rows.x = wnn_scratch_take(&scratch, rows * wnn_strip_int8_row_bytes(strips));
    p.rows.scales = wnn_scratch_take(&scratch, rows * runs * sizeof *p.rows.scales);
    p.rows.starts = wnn_scratch_take(&scratch, rows * runs * sizeof *p.rows.starts);
    p.rows.extreme = wnn_scratch_take(&scratch, p.tiles * sizeof *p.rows.extreme);
    memset(p.rows.extreme, 0, p.tiles * sizeof *p.rows.extreme);
    wnn_parallel_for(parallel, p.tiles, 1 + 8192 / (p.tile * product->k), round_tiles, &p);
    for (size_t i = 0; i < p.tiles; i++)
        if (p.rows.extreme[i])
            return false;
    size_t groups = (product->n + WNN_STRIP * WNN_STRIP_GROUP - 1) / (WNN_STRIP * WNN_STRIP_GROUP);
    p.in_part = INT8_ROWS;
    while (p.in_part > WNN_STRIP_MAX_TILE && parallel->threads > 1 &&
           groups * ((product->m + p.in_part - 1) / p.in_part) < 4 * (size_t)parallel->threads)
        p.in_part /= 2;
    wnn_parallel_for(parallel, groups * ((product->m + p.in_part - 1) / p.in_part),
                     1 + (1 << 14) / (p.in_part * product->k), multiply_tiles, &p);
    return true;
}
