// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of 3 x 3 taps by Winograd's minimal filtering F(2 x 2, 3 x 3): 16 multiplications instead of
// 36 for each tile of 2 x 2 outputs and pair of channels. The filter's taps become 16 matrices [inputs,
// outputs] when it is packed; tiles of 4 x 4 inputs become rows of 16 matrices [tiles, inputs]; the 16
// products become outputs. Tiles are taken in bands that stay in the second-level cache.
//
// Sums are no less exact than those of the direct kernels, since fewer numbers are added one after the other,
// but an infinity may become NaN, also beside the pixels that see it: strictNumerics keeps convolutions off
// it.

#include "cpu/conv/conv.h"
#include "cpu/conv/kernel.h"
#include "cpu/simd/lanes.h"

#include <math.h>

enum {
    POINTS = 16,              // elements of a transformed tile
    MIN_CHANNELS = 32,        // below which the transformations cost as much as they save
    MIN_TILES = 24,           // below which reading the filter, which is larger, costs more
    BAND_FLOATS = 256 * 1024, // of a band's transformed tiles and products, in the second-level cache
    LARGE_FLOATS = 2 << 20,   // the same, in the next one
    CHANNEL_UNIT = 16,        // channels are multiples of the longest vectors
};

static bool is_plain(const struct conv_axis *axis)
{
    return axis->taps == 3 && axis->tap == 0 && axis->tap_step == 1 && axis->offset_step == 1 &&
           axis->step == 1 && axis->out == 0 && axis->out_step == 1;
}

static size_t tiles_along(const struct conv_axis *axis)
{
    return (axis->count + 1) / 2;
}

static size_t tile_count(const struct conv *conv)
{
    return conv->batch * tiles_along(&conv->y) * tiles_along(&conv->x);
}

bool wnn_conv_winograd_suits(const struct conv *conv)
{
    return conv->channels_last && conv->groups == 1 && is_plain(&conv->y) && is_plain(&conv->x) &&
           conv->inputs >= MIN_CHANNELS && conv->outputs >= MIN_CHANNELS &&
           conv->inputs % CHANNEL_UNIT == 0 && conv->outputs % CHANNEL_UNIT == 0 &&
           tile_count(conv) >= MIN_TILES;
}

// ---------------------------------------------------------------------------------------------------------------
// The filter
// ---------------------------------------------------------------------------------------------------------------

size_t wnn_conv_winograd_floats(const struct conv *conv)
{
    size_t lanes = conv->kernels->lanes;
    return POINTS * conv->inputs * ((conv->outputs + lanes - 1) / lanes * lanes);
}

struct packing {
    const struct conv *conv;
    float *to;
};

enum {
    MAX_LANES = 16
};
typedef float lane_floats[MAX_LANES];

// G g, for three taps of a number of output channels, `step` apart.
static void expand(const lane_floats *g, size_t step, lane_floats *to, size_t to_step)
{
    for (size_t lane = 0; lane < MAX_LANES; lane++) {
        float first = g[0][lane], last = g[2 * step][lane];
        float sum = 0.5f * (first + last), middle = 0.5f * g[step][lane];
        to[0][lane] = first;
        to[to_step][lane] = sum + middle;
        to[2 * to_step][lane] = sum - middle;
        to[3 * to_step][lane] = last;
    }
}

static void read_taps(const struct conv *conv, size_t at, size_t lanes, float *taps)
{
    for (size_t lane = 0; lane < lanes; lane++, at += conv->filter_out)
        taps[lane] = conv->filter_halves ? wnn_half_to_float(conv->filter_halves[at]) : conv->filter[at];
}

// Items are vectors of output channels.
static void pack_vectors(void *argument, size_t begin, size_t end)
{
    const struct packing *packing = argument;
    const struct conv *conv = packing->conv;
    const struct conv_kernels *kernels = conv->kernels;
    size_t point_floats = wnn_conv_winograd_floats(conv) / POINTS, padded = point_floats / conv->inputs;
    for (size_t vector = begin; vector < end; vector++) {
        lane_floats taps[9] = {0}, rows[12], points[POINTS];
        size_t o = vector * kernels->lanes, width = kernels->lanes * kernels->vectors;
        size_t first = o / width * width, columns = wnn_min(width, padded - first);
        for (size_t i = 0; i < conv->inputs; i++) {
            for (size_t tap = 0; tap < 9; tap++)
                read_taps(conv,
                          o * conv->filter_out + i * conv->filter_in + tap / 3 * conv->filter_y +
                              tap % 3 * conv->filter_x,
                          wnn_min(kernels->lanes, conv->outputs - o), taps[tap]);
            for (size_t x = 0; x < 3; x++)
                expand(taps + x, 3, rows + x, 3);
            for (size_t y = 0; y < 4; y++)
                expand(rows + 3 * y, 1, points + 4 * y, 1);
            float *to = packing->to + first * conv->inputs + i * columns + (o - first);
            for (size_t point = 0; point < POINTS; point++)
                memcpy(to + point * point_floats, points[point], kernels->lanes * sizeof *to);
        }
    }
}

void wnn_conv_winograd_pack(const struct conv *conv, const struct parallel *parallel, float *packed)
{
    size_t lanes = conv->kernels->lanes;
    struct packing packing = {conv, packed};
    wnn_parallel_for(parallel, (conv->outputs + lanes - 1) / lanes, 1 + 1024 / conv->inputs, pack_vectors,
                     &packing);
}

// ---------------------------------------------------------------------------------------------------------------
// A band of tiles
// ---------------------------------------------------------------------------------------------------------------

// Tiles [first, first + count) of all tiles of all images, row by row.
struct band {
    const struct conv *conv;
    size_t first, count;
    float *points;   // by point, tile and input channel
    float *products; // by point, tile and output channel
};

struct place {
    size_t image, y, x; // of the first output
};

static struct place place_of(const struct conv *conv, size_t tile)
{
    size_t across = tiles_along(&conv->x), down = tiles_along(&conv->y);
    return (struct place){tile / across / down, tile / across % down * 2, tile % across * 2};
}

// The transformations.
struct transforms {
    void (*inputs)(const struct band *band);
    void (*outputs)(const struct band *band);
};

#define LOOPS "cpu/conv/winograd.inc"
#include "cpu/simd/each_isa.inc"

static void multiply(const struct band *band)
{
    const struct conv *conv = band->conv;
    const struct conv_kernels *kernels = conv->kernels;
    size_t width = kernels->lanes * kernels->vectors, point_floats = wnn_conv_winograd_floats(conv) / POINTS;
    size_t whole = band->count / kernels->rows, rest = band->count % kernels->rows;
    for (size_t point = 0; point < POINTS; point++) {
        const float *points = band->points + point * band->count * conv->inputs;
        float *products = band->products + point * band->count * conv->outputs;
        for (size_t column = 0; column < conv->outputs; column += width) {
            size_t columns = wnn_min(width, conv->outputs - column);
            size_t vectors = (columns + kernels->lanes - 1) / kernels->lanes;
            const float *rows[WNN_CONV_MAX_ROWS];
            struct conv_tile tile = {
                .rows = rows,
                .segments = 1,
                .length = conv->inputs,
                .filter = conv->packed + point * point_floats + column * conv->inputs,
                .out = products + column,
                .out_stride = conv->outputs,
                .tail = (unsigned)(columns - (vectors - 1) * kernels->lanes),
                .count = whole,
                .in_step = kernels->rows * conv->inputs,
            };
            tile.ahead = (uintptr_t)(tile.filter + vectors * kernels->lanes * conv->inputs);
            tile.ahead_step = vectors * kernels->lanes * sizeof(float) / (whole + 1) + 1;
            for (size_t r = 0; r < kernels->rows; r++)
                rows[r] = points + r * conv->inputs;
            if (whole > 0)
                kernels->tile[vectors - 1][kernels->rows](&tile);
            // The last rows by the tallest tiles that fit.
            tile.count = 1;
            for (size_t done = whole * kernels->rows, left = rest, height; left > 0;
                 done += height, left -= height) {
                for (height = left; kernels->tile[vectors - 1][height] == NULL;)
                    height--;
                for (size_t r = 0; r < height; r++)
                    rows[r] = points + (done + r) * conv->inputs;
                tile.out = products + done * conv->outputs + column;
                kernels->tile[vectors - 1][height](&tile);
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// The whole
// ---------------------------------------------------------------------------------------------------------------

struct bands {
    const struct conv *conv;
    size_t tiles, count, each; // bands, and tiles of one
    size_t items;              // which take bands in turn, each with scratch memory of its own
    float *scratch;
};

// A multiple of the tiles that are multiplied together.
static size_t tiles_of(const struct conv *conv, size_t floats)
{
    size_t rows = conv->kernels->rows;
    size_t most = floats / (POINTS * (conv->inputs + conv->outputs)) / rows * rows;
    return most > 0 ? most : rows;
}

// Tiles of a band, at most. Each band reads the whole filter; if that is many times as large, fewer bands are
// better, whose tiles are written and read again in a slower cache.
static size_t max_tiles(const struct conv *conv)
{
    double tiles = (double)tile_count(conv), filter = (double)conv->inputs * (double)conv->outputs;
    size_t few = tiles_of(conv, BAND_FLOATS), many = tiles_of(conv, LARGE_FLOATS);
    double again = 2 * tiles * (double)(conv->inputs + conv->outputs);
    return filter * ceil(tiles / (double)few) > filter * ceil(tiles / (double)many) + again ? many : few;
}

static size_t max_items(unsigned threads)
{
    return threads == 1 ? 1 : 2 * (size_t)threads;
}

static struct bands cut(const struct conv *conv, unsigned threads)
{
    struct bands bands = {.conv = conv, .tiles = tile_count(conv)};
    size_t rows = conv->kernels->rows, most = max_tiles(conv);
    bands.count = (bands.tiles + most - 1) / most;
    if (bands.count < 4 * (size_t)threads) // as many for each thread
        bands.count = (bands.count + threads - 1) / threads * threads;
    bands.each = ((bands.tiles + bands.count - 1) / bands.count + rows - 1) / rows * rows;
    bands.count = (bands.tiles + bands.each - 1) / bands.each;
    bands.items = wnn_min(bands.count, max_items(threads));
    return bands;
}

static size_t band_floats(const struct bands *bands)
{
    return bands->each * POINTS * (bands->conv->inputs + bands->conv->outputs);
}

size_t wnn_conv_winograd_scratch(const struct conv *conv, unsigned threads)
{
    size_t rows = conv->kernels->rows, tiles = (tile_count(conv) + rows - 1) / rows * rows;
    struct bands bands = {.conv = conv, .each = wnn_min(max_tiles(conv), tiles)};
    return wnn_aligned(max_items(threads) * band_floats(&bands) * sizeof(float));
}

static void run_item(void *argument, size_t item)
{
    const struct bands *bands = argument;
    const struct transforms *transforms = WNN_BEST_ISA(&transforms);
    float *scratch = bands->scratch + item * band_floats(bands);
    for (size_t i = bands->count * item / bands->items; i < bands->count * (item + 1) / bands->items; i++) {
        if (wnn_interrupted(bands->conv->interrupt))
            return;
        struct band band = {
            .conv = bands->conv,
            .first = i * bands->each,
            .count = wnn_min(bands->each, bands->tiles - i * bands->each),
            .points = scratch,
        };
        band.products = scratch + POINTS * band.count * bands->conv->inputs;
        transforms->inputs(&band);
        multiply(&band);
        transforms->outputs(&band);
    }
}

void wnn_conv_winograd(const struct conv *conv, const struct parallel *parallel, float *scratch)
{
    struct bands bands = cut(conv, parallel->threads);
    bands.scratch = scratch;
    if (bands.items == 1)
        run_item(&bands, 0);
    else
        wnn_parallel_run(parallel, bands.items, run_item, &bands);
}
