// SPDX-License-Identifier: Apache-2.0
//
// What the methods of computing the windows of averagePool2d, l2Pool2d and maxPool2d have in common: the
// geometry, the loops over elements (kernel.c), and how results get to the output. pool.c chooses a
// method. Internal.

#ifndef CPU_POOL_H_
#define CPU_POOL_H_

#include "cpu/kernel.h"
#include "cpu/simd/isa.h"
#include "cpu/simd/non_temporal.h"

#define WNN_POOL_ROOM      16384 // bytes of sums that are worked on at a time
#define WNN_POOL_GATHERED  4096  // bytes of results that are written together
#define WNN_POOL_POSITIONS 1024  // windows beside one another, at most
#define WNN_POOL_SLACK     192   // elements behind those that count

struct pool {
    const struct loops *loops;
    const char *input;
    char *output;
    size_t element;                                                 // bytes
    size_t count;                                                   // elements of the input
    int64_t size[2], window[2], stride[2], dilation[2], padding[2]; // height, width
    size_t out[2];
    // One line is a run of `run` elements that are pooled alike: the channels of a pixel, or one
    // element.
    size_t lines, run;
    size_t in_line, in_y, in_x;
    size_t out_line, out_y, out_x;
    // How many elements of a run, and how many windows beside one another, are pooled together; how many sums
    // there is room for.
    size_t block, positions, room;
    size_t rows, pitch; // rows that are pooled together, and sums between them
    int64_t span;       // of a window along the width
    bool non_temporal;
};

// The taps of a window along one axis that lie inside of the input: [*begin, *end), and the coordinate of tap
// 0.
WNN_INLINE int64_t wnn_pool2d_clip(const struct pool *pool, unsigned axis, size_t position, int64_t *begin,
                                   int64_t *end)
{
    int64_t first = (int64_t)position * pool->stride[axis] - pool->padding[axis], step = pool->dilation[axis];
    *begin = first < 0 ? -first : 0;
    *end = first < pool->size[axis] ? pool->size[axis] - first : 0;
    if (step > 1) {
        *begin = (*begin + step - 1) / step;
        *end = (*end + step - 1) / step;
    }
    if (*end > pool->window[axis])
        *end = pool->window[axis];
    if (*begin > *end)
        *begin = *end;
    return first;
}

// Some columns of the output, of some elements of each run, and the columns of the input below them: padding,
// input and padding.
struct strip {
    size_t channel, block, x, positions;
    size_t first, head, inside, tail; // columns
};

// Columns of windows from x on, and elements of a run from channel on: `positions` and `block` of them, at
// most.
static inline struct strip wnn_pool2d_strip(const struct pool *pool, size_t channel, size_t x)
{
    struct strip strip = {.channel = channel, .x = x};
    strip.block = pool->run - channel < pool->block ? pool->run - channel : pool->block;
    strip.positions = pool->out[1] - x < pool->positions ? pool->out[1] - x : pool->positions;
    // Input columns [first, first + length), of which [low, high) are inside.
    int64_t first = (int64_t)x * pool->stride[1] - pool->padding[1], size = pool->size[1];
    int64_t length = (int64_t)(strip.positions - 1) * pool->stride[1] + pool->span;
    int64_t low = first < 0 ? -first : 0, high = size - first < length ? size - first : length;
    low = low < length ? low : length;
    high = high > low ? high : low;
    strip.first = high > low ? (size_t)(first + low) : 0;
    strip.head = (size_t)low;
    strip.inside = (size_t)(high - low);
    strip.tail = (size_t)(length - high);
    return strip;
}

// ---------------------------------------------------------------------------------------------------------------
// The loops over elements
// ---------------------------------------------------------------------------------------------------------------

// Rows of `count` elements, each made of `taps` rows of elements, `step` apart, of which the first is at the
// row.
struct lines {
    size_t rows, out_row, in_row; // strides in elements
    size_t step, taps, count;
    size_t stride, part; // if not 0: element i is at i / stride of part i % stride
    bool whole; // what lies behind a row may be read, and is made neutral, as far as the last vector goes
};

// Windows over a plane, up to 3 high and 2 or 3 wide, each 1 or 2 beside another: rows of the input that have
// been reduced along themselves are kept until windows need them no more.
#define WNN_SLIDE_HEIGHT  3
#define WNN_SLIDE_WIDTH   3
#define WNN_SLIDE_STRIDE  2
#define WNN_SLIDE_KEPT    4
#define WNN_SLIDE_PITCH   (WNN_POOL_POSITIONS + 336) // so that rows are not at the same place of pages
#define WNN_SLIDE_MORE    4 // vectors of columns, besides those that results begin in
#define WNN_SLIDE_COLUMNS (WNN_SLIDE_STRIDE * WNN_POOL_POSITIONS / 16 + WNN_SLIDE_MORE)

struct slide {
    const char *plane;            // its first column that windows take in
    size_t size, pitch;           // rows of the plane, and elements from one to the next
    size_t padding, height, step; // rows above it, of windows and from one window to the next
    size_t row, fresh;            // the next to be reduced, from the padding on; what is wanting for results
    size_t positions, stride, width; // columns of results, from one window to the next and of windows
    size_t head, inside;             // columns of padding and of the plane
    uint64_t masks[WNN_SLIDE_COLUMNS], none[WNN_SLIDE_COLUMNS];   // what of a vector of columns is inside
    float factors[WNN_SLIDE_HEIGHT + 1][WNN_POOL_POSITIONS + 16]; // of windows with so many rows inside
    _Alignas(64) float kept[WNN_SLIDE_KEPT + 1][WNN_SLIDE_PITCH]; // and a row of padding
};

// Windows over pixels, up to 3 high and 2 or 3 wide, side by side and one below another: some rows of results
// are made together, so that rows of the input that they share are converted and added up for all of them.
#define WNN_BAND_ROWS     4
#define WNN_BAND_INPUTS   (WNN_BAND_ROWS + WNN_SLIDE_HEIGHT - 1)
#define WNN_BAND_CHANNELS 256 // most that are made together
#define WNN_BAND_LANES    16  // channels of a vector

struct band {
    size_t height, width; // of windows
    size_t count;         // channels
    const uint16_t *in[WNN_BAND_INPUTS];
    uint16_t *out[WNN_BAND_ROWS];
    float factors[WNN_BAND_ROWS];
    // By vectors of channels and rows of results: the last column of what windows reduce, and the one before
    // added to it.
    _Alignas(64) float kept[WNN_BAND_CHANNELS / WNN_BAND_LANES][WNN_BAND_ROWS][2][WNN_BAND_LANES];
    _Alignas(64) uint16_t made[WNN_BAND_ROWS][WNN_BAND_CHANNELS];
};

// Inputs become sums, and these sums of more, and results.
struct loops {
    size_t sum;   // bytes
    size_t lanes; // elements of a vector: results are made so many at a time

    // out[r * out_row + i] = the reduction over t < taps of in[r * in_row + t * step + i], where `in` are
    // inputs or sums, and of what is there if `more`.
    void (*inputs)(void *out, const void *in, const struct lines *lines, bool more);
    void (*sums)(void *out, const void *in, const struct lines *lines, bool more);

    // Folds a run of sums and what is in `sum`.
    void (*run)(void *sum, const void *sums, size_t count);

    // out[phase * part + i] = in[i * stride + phase], which makes windows that are `stride` apart neighbours.
    void (*split)(void *out, const void *in, size_t stride, size_t phases, size_t part, size_t count);

    // out[r * out_row + i] = the result of the reduction over t < taps of element i + t * step of row r. For
    // `means`, 1 / the number of elements of a sum is factors[i], if it changes `along` the rows, or else
    // factors[r]. What lies behind a row is overwritten as far as the last vector goes.
    void (*results)(void *out, const void *in, const struct lines *lines, const void *factors, bool along);
    bool means, single; // single: factors are float, not double

    // (optional) The next rows of results of a plane. Writes a whole number of vectors.
    void (*slide)(struct slide *slide, void *out, size_t rows);

    // (optional) Takes in a pixel of each row of a band, and makes the results of windows that end there if
    // `out`. The channels are a whole number of vectors.
    void (*band)(struct band *band, bool out);

    // (optional) Results that are not between `least` and the greatest number may have come from sums that
    // were out of range; those of `exact` are right. are_right: whether all are between them.
    const struct loops *exact;
    float least;
    bool (*are_right)(const float *results, const struct lines *lines, float least);
};

// Those of an operator that suit the processor.
const struct loops *wnn_pool2d_loops(enum op op, WNNDataType type, uint64_t taps);

// Room for sums.
union line {
    _Alignas(64) double doubles[WNN_POOL_ROOM / sizeof(double) + WNN_POOL_SLACK];
    char bytes[1];
};

// No elements reduced.
static inline void wnn_pool2d_set_neutral(const struct loops *loops, char *sums, size_t rows, size_t row,
                                          size_t count)
{
    static const double nothing[1];
    loops->sums(sums, nothing, &(struct lines){.rows = rows, .out_row = row, .count = count}, false);
}

// ---------------------------------------------------------------------------------------------------------------
// Results on their way to the output
// ---------------------------------------------------------------------------------------------------------------

// What is contiguous is gathered.
struct sink {
    char *to;
    size_t filled;
    bool non_temporal;
    double bytes[WNN_POOL_ROOM / sizeof(double) + WNN_POOL_SLACK / sizeof(double)];
};

// Straight to its place.
static inline void wnn_pool2d_put(const struct sink *sink, char *to, const char *from, size_t bytes)
{
    if (sink->non_temporal)
        wnn_nt_store(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

static inline void wnn_pool2d_flush(struct sink *sink)
{
    if (sink->filled > 0)
        wnn_pool2d_put(sink, sink->to, (char *)sink->bytes, sink->filled);
    sink->filled = 0;
}

// Where to make what becomes `bytes` bytes at `to`.
static inline char *wnn_pool2d_take(struct sink *sink, char *to, size_t bytes)
{
    if (sink->filled == 0 || sink->to + sink->filled != to || sink->filled + bytes > WNN_POOL_GATHERED) {
        wnn_pool2d_flush(sink);
        sink->to = to;
    }
    sink->filled += bytes;
    return (char *)sink->bytes + sink->filled - bytes;
}

// The end of a part of the work.
static inline void wnn_pool2d_drain(struct sink *sink)
{
    wnn_pool2d_flush(sink);
    if (sink->non_temporal)
        wnn_nt_fence();
}

// ---------------------------------------------------------------------------------------------------------------
// The methods
// ---------------------------------------------------------------------------------------------------------------

// Whether a method suits; if so, it has written to `pool` how much it makes together. Then rows of all lines
// from `begin` to `end` are made.
bool wnn_pool2d_dense_suits(struct pool *pool);
void wnn_pool2d_dense(void *pool, size_t begin, size_t end);
bool wnn_pool2d_planes_suits(struct pool *pool);
void wnn_pool2d_planes(void *pool, size_t begin, size_t end);

// The same by bands of rows, of which a line has so many.
bool wnn_pool2d_pixels_suits(struct pool *pool);
size_t wnn_pool2d_pixels_bands(const struct pool *pool);
void wnn_pool2d_pixels(void *pool, size_t begin, size_t end);

// Suits all, with block set.
void wnn_pool2d_sparse(void *pool, size_t begin, size_t end);

// Makes results anew that loops->are_right finds wrong: those of `lines` in `results`, of windows from `row`
// of all lines and the strip's x on, which were made of `inputs` at `from`. Rows of `lines` are rows of
// windows if pool->run is 1, or else windows beside one another.
void wnn_pool2d_mend(const struct pool *pool, const struct strip *strip, size_t row,
                     const struct lines *inputs, const float *from, const struct lines *lines,
                     float *results);

#endif
