// SPDX-License-Identifier: Apache-2.0
//
// Convolutions with the channels last as the product of pixels [m] and a packed filter [terms, n], without a
// copy of the pixels: a tile is told where the input of each of its pixels lies, tap by tap. The filter is
// packed in panels of as many output channels as a tile has, one behind the other, so that what comes next
// can be fetched from far away while the tiles of a block of pixels share what is near.

#include "cpu/conv/conv.h"

#include "cpu/conv/kernel.h"

#define CHUNK_TERMS  512                 // terms that are summed before the tile is stored
#define MAX_SEGMENTS 64                  // of a chunk
#define JOINED_LIMIT 16                  // input channels that had better be taken tap row by tap row
#define BLOCK_BYTES  ((size_t)256 << 10) // of input, which the tiles of a block share
#define BLOCK_TILES  8                   // and no less than that many
#define THREAD_TILES 8                   // for each thread, when threads share the pixels of a large filter
#define ITEM_WORK    ((size_t)1 << 17)   // multiplications that are worth a thread's attention

// What tiles point to where a tap is outside of the input.
static const float zeros[CHUNK_TERMS];

struct conv_product {
    const struct conv *conv;
    const struct conv_kernels *kernels;
    const float *input, *filter, *bias, *addend; // of the group
    float *output;
    const uint16_t *addend_halves; // as in struct conv
    uint16_t *output_halves;
    size_t m, n, terms, biases;
    size_t unit;  // terms that lie side by side in the input, before those of the next tap or row of taps
    bool joined;  // rows of taps
    bool scatter; // the rows of the output, or their pixels, do not lie side by side
    size_t tiles, panels;
    size_t inside_end; // the pixels of a row before this one have all taps of a row inside, or are first
    size_t tile_parts, panel_parts, block; // tiles of a block
    unsigned threads;
};

static unsigned panel_width(const struct conv_product *product)
{
    return product->kernels->lanes * product->kernels->vectors;
}

// ---------------------------------------------------------------------------------------------------------------
// Packing
// ---------------------------------------------------------------------------------------------------------------

size_t wnn_conv_product_floats(const struct conv *conv)
{
    return wnn_round_up(wnn_round_up(conv->outputs, conv->kernels->lanes) * wnn_conv_terms(conv),
                        WNN_ALIGNMENT / sizeof(float));
}

struct packing {
    const struct conv *conv;
    size_t group;
    float *to;
    const struct interrupt *interrupt;
};

// Where an output's filter lies.
static size_t filter_of(const struct conv *conv, size_t output)
{
    size_t outputs = conv->outputs / conv->joined;
    return output % outputs * conv->filter_out + output / outputs * conv->filter_x;
}

// The `count` outputs from `output` on, of the tap at `at`: a row of `width` for each input.
static void pack_tap(const struct conv *conv, size_t at, size_t output, unsigned count, float *to,
                     unsigned width)
{
    size_t from[WNN_CONV_MAX_PANEL];
    uint16_t halves[WNN_CONV_MAX_PANEL];
    if (conv->filter_halves == NULL && conv->joined == 1) {
        wnn_gemm_pack(conv->filter + at + output * conv->filter_out, conv->filter_out, conv->filter_in, count,
                      conv->inputs, to, width);
        return;
    }
    for (unsigned lane = 0; lane < count; lane++)
        from[lane] = at + filter_of(conv, output + lane);
    for (size_t i = 0; i < conv->inputs; i++, to += width) {
        for (unsigned lane = 0; conv->filter_halves != NULL && lane < count; lane++)
            halves[lane] = conv->filter_halves[from[lane] + i * conv->filter_in];
        if (conv->filter_halves != NULL)
            wnn_half_to_float_array(halves, to, count);
        for (unsigned lane = 0; conv->filter_halves == NULL && lane < count; lane++)
            to[lane] = conv->filter[from[lane] + i * conv->filter_in];
        memset(to + count, 0, (width - count) * sizeof *to);
    }
}

// Items are panels.
static void pack_panels(void *argument, size_t begin, size_t end)
{
    const struct packing *packing = argument;
    const struct conv *conv = packing->conv;
    const struct conv_kernels *kernels = conv->kernels;
    size_t width = kernels->lanes * kernels->vectors;
    for (size_t panel = begin; panel < end; panel++) {
        unsigned columns = (unsigned)wnn_min(width, conv->outputs - panel * width);
        unsigned padded = (unsigned)wnn_round_up(columns, kernels->lanes);
        float *to = packing->to + panel * width * wnn_conv_terms(conv);
        for (size_t tap = 0; tap < conv->y.taps * conv->x.taps; tap++, to += padded * conv->inputs) {
            if (wnn_interrupted(packing->interrupt))
                return;
            size_t ky = tap / conv->x.taps, kx = tap % conv->x.taps;
            size_t at = packing->group * conv->filter_group +
                        (conv->y.tap + ky * conv->y.tap_step) * conv->filter_y +
                        (conv->x.tap + kx * conv->x.tap_step) * conv->filter_x;
            pack_tap(conv, at, panel * width, columns, to, padded);
        }
    }
}

void wnn_conv_product_pack(const struct conv *conv, size_t group, const struct parallel *parallel,
                           float *packed)
{
    const struct conv_kernels *kernels = conv->kernels;
    size_t width = kernels->lanes * kernels->vectors;
    struct packing packing = {conv, group, packed, parallel->interrupt};
    wnn_parallel_for(parallel, (conv->outputs + width - 1) / width,
                     1 + 16384 / (width * wnn_conv_terms(conv)), pack_panels, &packing);
}

// ---------------------------------------------------------------------------------------------------------------
// Pixels
// ---------------------------------------------------------------------------------------------------------------

// Where the pixels of a tile begin: coordinates of the first tap, and offset in the input, which may be
// outside.
struct pixels {
    unsigned count;
    bool inside; // with all taps
    int64_t y[WNN_CONV_MAX_ROWS], x[WNN_CONV_MAX_ROWS], at[WNN_CONV_MAX_ROWS];
};

static bool all_taps_inside(const struct conv_axis *axis, int64_t first)
{
    int64_t last = first + ((int64_t)axis->taps - 1) * axis->offset_step;
    return first >= 0 && first < axis->in && last >= 0 && last < axis->in;
}

static void find_pixels(const struct conv_product *product, size_t row, unsigned count, struct pixels *pixels)
{
    const struct conv *conv = product->conv;
    size_t x = row % conv->x.count, y = row / conv->x.count % conv->y.count;
    size_t image = row / conv->x.count / conv->y.count;
    pixels->count = count;
    pixels->inside = true;
    for (unsigned r = 0; r < count; r++) {
        int64_t iy = conv->y.offset + (int64_t)y * conv->y.step,
                ix = conv->x.offset + (int64_t)x * conv->x.step;
        pixels->y[r] = iy;
        pixels->x[r] = ix;
        pixels->at[r] =
            (int64_t)(image * conv->in_image) + iy * (int64_t)conv->in_y + ix * (int64_t)conv->in_x;
        pixels->inside = pixels->inside && all_taps_inside(&conv->y, iy) && all_taps_inside(&conv->x, ix);
        if (++x == conv->x.count) {
            x = 0;
            if (++y == conv->y.count) {
                y = 0;
                image++;
            }
        }
    }
}

// A row of taps of a pixel of which some are outside.
static const float *copy_tap_row(const struct conv_product *product, const struct pixels *pixels, unsigned r,
                                 int64_t y, int64_t offset, float *to)
{
    const struct conv *conv = product->conv;
    int64_t first = pixels->x[r], taps = (int64_t)conv->x.taps;
    int64_t low = first < 0 ? -first : 0, high = conv->x.in - first < taps ? conv->x.in - first : taps;
    if (y < 0 || y >= conv->y.in || low >= high)
        return zeros;
    size_t inputs = conv->inputs;
    memset(to, 0, (size_t)low * inputs * sizeof *to);
    memcpy(to + (size_t)low * inputs, product->input + offset + low * (int64_t)inputs,
           (size_t)(high - low) * inputs * sizeof *to);
    memset(to + (size_t)high * inputs, 0, (size_t)(taps - high) * inputs * sizeof *to);
    return to;
}

// Terms of a product that are summed at a time: `segments` units, or one piece of a unit.
struct chunk {
    size_t term, segments, length;
};

static struct chunk chunk_at(const struct conv_product *product, size_t term)
{
    size_t unit = product->unit;
    struct chunk chunk = {.term = term};
    if (unit <= CHUNK_TERMS) {
        chunk.length = unit;
        chunk.segments = wnn_min(wnn_min(CHUNK_TERMS / unit, MAX_SEGMENTS), (product->terms - term) / unit);
    } else {
        size_t pieces = (unit + CHUNK_TERMS - 1) / CHUNK_TERMS;
        chunk.segments = 1;
        chunk.length = wnn_min((unit + pieces - 1) / pieces, unit - term % unit);
    }
    return chunk;
}

static size_t chunk_terms(const struct chunk *chunk)
{
    return chunk->segments * chunk->length;
}

// Sets pointers[s * rows + r] for all segments and r < count. `buffer` has room for rows * CHUNK_TERMS
// floats.
static void find_segments(const struct conv_product *product, const struct pixels *pixels,
                          const struct chunk *chunk, const float **pointers, float *buffer)
{
    const struct conv *conv = product->conv;
    unsigned rows = product->kernels->rows;
    size_t unit = chunk->term / product->unit, within = chunk->term % product->unit;
    size_t across = product->joined ? 1 : conv->x.taps, ky = unit / across, kx = unit % across;
    int64_t step_y = conv->y.offset_step, step_x = conv->x.offset_step;

    for (size_t s = 0; s < chunk->segments; s++, pointers += rows) {
        int64_t dy = (int64_t)ky * step_y, dx = (int64_t)kx * step_x;
        int64_t offset = dy * (int64_t)conv->in_y + dx * (int64_t)conv->in_x + (int64_t)within;
        if (pixels->inside) {
            for (unsigned r = 0; r < pixels->count; r++)
                pointers[r] = product->input + (pixels->at[r] + offset);
        } else if (product->joined) {
            for (unsigned r = 0; r < pixels->count; r++)
                pointers[r] = copy_tap_row(product, pixels, r, pixels->y[r] + dy, pixels->at[r] + offset,
                                           buffer + (s * rows + r) * product->unit);
        } else {
            for (unsigned r = 0; r < pixels->count; r++) {
                int64_t y = pixels->y[r] + dy, x = pixels->x[r] + dx;
                bool outside = y < 0 || y >= conv->y.in || x < 0 || x >= conv->x.in;
                pointers[r] = outside ? zeros : product->input + (pixels->at[r] + offset);
            }
        }
        if (++kx == across) {
            kx = 0;
            ky++;
        }
    }
}

static float *output_pixel(const struct conv_product *product, size_t row)
{
    const struct conv *conv = product->conv;
    if (!product->scatter)
        return product->output + row * conv->out_x;
    size_t x = row % conv->x.count, y = row / conv->x.count % conv->y.count;
    size_t image = row / conv->x.count / conv->y.count;
    return product->output + image * conv->out_image + (conv->y.out + y * conv->y.out_step) * conv->out_y +
           (conv->x.out + x * conv->x.out_step) * conv->out_x;
}

// ---------------------------------------------------------------------------------------------------------------
// Tiles
// ---------------------------------------------------------------------------------------------------------------

// Panels [panel, panel_end), for tiles [tile, tile_end).
struct range {
    size_t tile, tile_end, panel, panel_end;
};

// One chunk of one panel, for all tiles of a block.
struct step {
    const struct conv_product *product;
    struct chunk chunk;
    size_t column;
    unsigned columns, vectors;
    bool first, last;
    const float *filter, *bias, *addend;
    uintptr_t ahead;
    size_t ahead_step; // for each of the filter's rows, of all tiles together
};

static void move_into_range(float *sums, const float *range, unsigned count)
{
    for (unsigned j = 0; range != NULL && j < count; j++) {
        sums[j] = sums[j] < range[0] ? range[0] : sums[j];
        sums[j] = sums[j] > range[1] ? range[1] : sums[j];
    }
}

// The end of sums that become float16 numbers.
static void store_halves(const struct step *step, float *sums, size_t row)
{
    const struct conv_product *product = step->product;
    size_t place = row * product->conv->out_x + step->column;
    uint16_t *to = product->output_halves + place;
    if (product->addend_halves != NULL) {
        float addend[WNN_CONV_MAX_PANEL];
        uint16_t rounded[WNN_CONV_MAX_PANEL];
        wnn_half_from_float_array(sums, rounded, step->columns);
        wnn_half_to_float_array(rounded, sums, step->columns);
        wnn_half_to_float_array(product->addend_halves + place, addend, step->columns);
        for (unsigned j = 0; j < step->columns; j++)
            sums[j] += addend[j];
    }
    move_into_range(sums, product->conv->range, step->columns);
    wnn_half_from_float_array(sums, to, step->columns);
}

// Stores sums that cannot go to their places as they are.
static void store_tile(const struct step *step, float *sums, size_t width, size_t row, unsigned rows)
{
    const struct conv_product *product = step->product;
    for (unsigned r = 0; r < rows; r++, sums += width) {
        float *to = output_pixel(product, row + r) + step->column;
        const float *addend = step->first ? step->addend : to;
        if (step->first && addend != NULL)
            addend += (row + r) * product->conv->out_x;
        for (unsigned j = 0; addend != NULL && j < step->columns; j++)
            sums[j] += addend[j];
        if (step->last && product->output_halves != NULL) {
            store_halves(step, sums, row + r);
            continue;
        }
        if (step->last)
            move_into_range(sums, product->conv->range, step->columns);
        memcpy(to, sums, step->columns * sizeof *to);
    }
}

// Runs at least one tile, and those after it that lie in the same row of the output and have all taps inside,
// but not more than `most`; returns how many.
static size_t run_tiles(const struct step *step, size_t row, size_t most, uintptr_t ahead, size_t ahead_step)
{
    const struct conv_product *product = step->product;
    const struct conv *conv = product->conv;
    const struct conv_kernels *kernels = product->kernels;
    const float *pointers[MAX_SEGMENTS * WNN_CONV_MAX_ROWS];
    float buffer[CHUNK_TERMS * WNN_CONV_MAX_ROWS];
    float sums[WNN_CONV_MAX_ROWS * WNN_CONV_MAX_PANEL];
    unsigned rows = (unsigned)wnn_min(kernels->rows, product->m - row), height = rows;
    size_t width = step->vectors * kernels->lanes;
    while (kernels->tile[step->vectors - 1][height] == NULL)
        height++;
    struct conv_tile tile = {
        .rows = pointers,
        .segments = step->chunk.segments,
        .length = step->chunk.length,
        .filter = step->filter,
        .start = step->bias,
        .tail = step->columns - (step->vectors - 1) * kernels->lanes,
        .count = 1,
        .in_step = kernels->rows * (size_t)conv->x.step * conv->in_x,
        .ahead = ahead,
        .ahead_step = ahead_step,
    };
    struct pixels pixels;
    find_pixels(product, row, rows, &pixels);
    find_segments(product, &pixels, &step->chunk, pointers, buffer);
    for (size_t s = 0; height > rows && s < step->chunk.segments; s++)
        for (unsigned r = rows; r < height; r++)
            pointers[s * kernels->rows + r] = pointers[s * kernels->rows];
    size_t x = row % conv->x.count;
    if (pixels.inside && x + kernels->rows <= product->inside_end)
        tile.count = wnn_min(most, (product->inside_end - x) / kernels->rows);
    bool side_by_side = !product->scatter || (conv->x.out_step == 1 && x + rows <= conv->x.count);
    if (rows == height && side_by_side) {
        tile.out = output_pixel(product, row) + step->column;
        tile.out_stride = tile.addend_stride = conv->out_x;
        tile.addend = tile.out;
        if (step->first)
            tile.addend = step->addend != NULL ? step->addend + row * conv->out_x : NULL;
        tile.range = step->last ? conv->range : NULL;
        if (step->last && product->output_halves != NULL) {
            size_t place = row * conv->out_x + step->column;
            tile.halves = product->output_halves + place;
            tile.halves_stride = conv->out_x;
            if (product->addend_halves != NULL)
                tile.addend_halves = product->addend_halves + place;
        }
        kernels->tile[step->vectors - 1][height](&tile);
    } else {
        tile.count = 1;
        tile.out = sums;
        tile.out_stride = width;
        kernels->tile[step->vectors - 1][height](&tile);
        store_tile(step, sums, width, row, rows);
    }
    return tile.count;
}

// All tiles of a block take the chunk in turn, and each fetches its share of the next.
static void run_product_step(const struct step *step, const struct range *range)
{
    size_t rows = step->product->kernels->rows, ahead_step = 0;
    if (step->ahead_step > 0)
        ahead_step = (step->ahead_step - 1) / (range->tile_end - range->tile) + 1;
    uintptr_t ahead = step->ahead;
    for (size_t tile = range->tile, count; tile < range->tile_end; tile += count) {
        if (wnn_interrupted(step->product->conv->interrupt))
            return;
        count = run_tiles(step, tile * rows, range->tile_end - tile, ahead, ahead_step);
        ahead += ahead_step * chunk_terms(&step->chunk) * count;
    }
}

static void run_panel(const struct conv_product *product, const struct range *range, size_t panel,
                      const float *behind)
{
    const struct conv_kernels *kernels = product->kernels;
    size_t width = panel_width(product), column = panel * width;
    float bias[WNN_CONV_MAX_PANEL];
    struct step step = {
        .product = product,
        .column = column,
        .columns = (unsigned)wnn_min(width, product->n - column),
        .first = true,
        .filter = product->filter + column * product->terms,
        .addend = product->addend != NULL ? product->addend + column : NULL,
    };
    step.vectors = (step.columns + kernels->lanes - 1) / kernels->lanes;
    if (product->bias != NULL) {
        for (size_t j = 0; j < step.vectors * kernels->lanes; j++)
            bias[j] = j < step.columns ? product->bias[(column + j) % product->biases] : 0;
        step.bias = bias;
    }
    size_t row_floats = step.vectors * kernels->lanes;
    do {
        step.chunk = chunk_at(product, step.chunk.term);
        size_t terms = chunk_terms(&step.chunk);
        const float *next = step.filter + terms * row_floats;
        step.last = step.chunk.term + terms >= product->terms;
        if (step.last)
            next = behind;
        step.ahead = (uintptr_t)(next != NULL ? next : step.filter);
        step.ahead_step = next != NULL ? row_floats * sizeof(float) : 0;
        run_product_step(&step, range);
        step.filter += terms * row_floats;
        step.chunk.term += terms;
        step.first = false;
        step.bias = NULL;
    } while (!step.last);
}

// Items are parts of the panels, for parts of the tiles.
static struct range item_range(const struct conv_product *product, size_t item)
{
    size_t tiles = item % product->tile_parts, panels = item / product->tile_parts;
    return (struct range){
        product->tiles * tiles / product->tile_parts,
        product->tiles * (tiles + 1) / product->tile_parts,
        product->panels * panels / product->panel_parts,
        product->panels * (panels + 1) / product->panel_parts,
    };
}

static void run_item(void *argument, size_t item)
{
    const struct conv_product *product = argument;
    struct range all = item_range(product, item);
    size_t panel_floats = panel_width(product) * product->terms;
    const float *after = NULL;
    if (item + 1 < product->tile_parts * product->panel_parts)
        after = product->filter + item_range(product, item + 1).panel * panel_floats;
    for (size_t tile = all.tile; tile < all.tile_end; tile += product->block) {
        struct range range = all;
        range.tile = tile;
        range.tile_end = wnn_min(all.tile_end, tile + product->block);
        for (size_t panel = all.panel; panel < all.panel_end; panel++) {
            const float *behind = product->filter + (panel + 1) * panel_floats;
            if (wnn_interrupted(product->conv->interrupt))
                return;
            if (panel + 1 == all.panel_end)
                behind = range.tile_end < all.tile_end ? product->filter + all.panel * panel_floats : after;
            run_panel(product, &range, panel, behind);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// The whole
// ---------------------------------------------------------------------------------------------------------------

// Threads have a part of the pixels and the whole filter, so that what one has written it reads again in the
// next layer, unless there are so few pixels that the filter would have to come too fast.
static void cut_items(struct conv_product *product)
{
    const struct conv *conv = product->conv;
    size_t input = conv->batch * (size_t)(conv->y.in * conv->x.in) * conv->inputs;
    size_t work = product->m * product->n * (product->terms + 8) / ITEM_WORK;
    size_t items = product->threads == 1 ? 1 : wnn_min(4 * (size_t)product->threads, work > 0 ? work : 1);
    size_t *first = &product->tile_parts, *second = &product->panel_parts;
    size_t first_most = product->tiles, second_most = product->panels;
    if (product->tiles < THREAD_TILES * (size_t)product->threads && product->n * product->terms > input) {
        first = &product->panel_parts, second = &product->tile_parts;
        first_most = product->panels, second_most = product->tiles;
    }
    *first = wnn_min(items, first_most);
    *second = wnn_min((items + *first - 1) / *first, second_most);

    size_t bytes = input * sizeof(float) / product->tiles + 1;
    product->block = BLOCK_BYTES / bytes > BLOCK_TILES ? BLOCK_BYTES / bytes : BLOCK_TILES;
}

void wnn_conv_product(const struct conv *conv, size_t group, const struct parallel *parallel)
{
    struct conv_product product = {
        .conv = conv,
        .kernels = conv->kernels,
        .input = conv->input + group * conv->inputs,
        .filter = conv->packed + group * wnn_conv_product_floats(conv),
        .bias = conv->bias == NULL ? NULL : conv->bias + group * conv->outputs,
        .addend = conv->addend == NULL ? NULL : conv->addend + group * conv->outputs,
        .output = conv->output + group * conv->outputs,
        .addend_halves = conv->addend_halves == NULL ? NULL : conv->addend_halves + group * conv->outputs,
        .output_halves = conv->output_halves == NULL ? NULL : conv->output_halves + group * conv->outputs,
        .m = conv->batch * conv->y.count * conv->x.count,
        .n = conv->outputs,
        .biases = conv->outputs / conv->joined,
        .terms = wnn_conv_terms(conv),
        .scatter = conv->y.out_step > 1 || conv->x.out_step > 1,
        .threads = parallel->threads,
    };
    if (product.m == 0 || product.n == 0)
        return;
    product.unit = conv->inputs;
    if (conv->x.taps > 1 && conv->x.offset_step == 1 && conv->in_x == conv->inputs &&
        conv->inputs < JOINED_LIMIT && conv->x.taps * conv->inputs <= CHUNK_TERMS) {
        product.joined = true;
        product.unit *= conv->x.taps;
    }
    product.tiles = (product.m + product.kernels->rows - 1) / product.kernels->rows;
    product.panels = (product.n + panel_width(&product) - 1) / panel_width(&product);
    size_t begin;
    wnn_conv_inside(&conv->x, &begin, &product.inside_end);
    cut_items(&product);
    size_t items = product.tile_parts * product.panel_parts;
    if (items == 1)
        run_item(&product, 0);
    else
        wnn_parallel_run(parallel, items, run_item, &product);
}
