// SPDX-License-Identifier: Apache-2.0
//
// averagePool2d, l2Pool2d and maxPool2d. Windows are intersected with the input; a window outside of it gives
// 0, or for the maximum the lowest value of the type.
//
// Windows beside one another are made in two steps: rows are folded into one, with padding around it, and
// this along itself; or small windows over planes the other way round, along the rows first. Windows so long
// that this does not pay, or alone, are made one by one; one over all of the input is a reduction.

#include "cpu/kernel.h"
#include "cpu/runs.h"
#include "cpu/stream.h"
#include "cpu/variants.h"

#include <float.h>
#include <math.h>

#define WNN_POOL_ROOM      16384 // bytes of sums that are worked on at a time
#define WNN_POOL_BATCH     2048  // bytes of rows that are folded before their windows are
#define WNN_POOL_GATHERED  4096  // bytes of results that are written together
#define WNN_POOL_SLID      1024  // bytes of results of small windows that are made together
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
    // One line is a run of `run` elements that are pooled in the same way: the channels of a pixel, or one
    // element.
    size_t lines, run;
    size_t in_line, in_y, in_x;
    size_t out_line, out_y, out_x;
    // How many elements of a run, and how many windows beside one another, are pooled together; how many sums
    // there is room for.
    size_t block, positions, room;
    size_t rows, pitch; // rows that are pooled together, and sums between them
    int64_t span;       // of a window along the width
    bool streams;
};

// The taps of a window along one axis that lie inside of the input: [*begin, *end), and the coordinate of tap
// 0.
WNN_INLINE int64_t clip(const struct pool *pool, unsigned axis, size_t position, int64_t *begin, int64_t *end)
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
// been folded along themselves are kept until windows need them no more.
#define SLIDE_HEIGHT  3
#define SLIDE_WIDTH   3
#define SLIDE_STRIDE  2
#define SLIDE_KEPT    4
#define SLIDE_PITCH   (WNN_POOL_POSITIONS + 336) // so that rows are not at the same place of pages
#define SLIDE_MORE    4                          // vectors of columns, besides those that results begin in
#define SLIDE_COLUMNS (SLIDE_STRIDE * WNN_POOL_POSITIONS / 16 + SLIDE_MORE)

struct slide {
    const char *plane;            // its first column that windows take in
    size_t size, pitch;           // rows of the plane, and elements from one to the next
    size_t padding, height, step; // rows above it, of windows and from one window to the next
    size_t row, fresh;            // the next to be folded, from the padding on; what is wanting for results
    size_t positions, stride, width; // columns of results, from one window to the next and of windows
    size_t head, inside;             // columns of padding and of the plane
    uint64_t masks[SLIDE_COLUMNS], none[SLIDE_COLUMNS];       // what of a vector of columns is inside
    float factors[SLIDE_HEIGHT + 1][WNN_POOL_POSITIONS + 16]; // of windows with so many rows inside
    _Alignas(64) float kept[SLIDE_KEPT + 1][SLIDE_PITCH];     // and a row of padding
};

// Windows over pixels, up to 3 high and 2 or 3 wide, side by side and one below another: some rows of results
// are made together, so that rows of the input that they share are converted and added up for all of them.
#define BAND_ROWS     4
#define BAND_INPUTS   (BAND_ROWS + SLIDE_HEIGHT - 1)
#define BAND_CHANNELS 256   // most that are made together
#define BAND_FEWEST   64    // as many as make a pixel's work worth while
#define BAND_ELEMENTS 16384 // of a row that are made before the rows below, which need some inputs again
#define BAND_AHEAD    2     // columns: what lies there is fetched meanwhile

struct band {
    size_t height, width; // of windows
    size_t count;         // channels
    const uint16_t *in[BAND_INPUTS];
    uint16_t *out[BAND_ROWS];
    float factors[BAND_ROWS];
    // By vectors of channels and rows of results: the last column of what windows fold, and the one before
    // added to it.
    _Alignas(64) float kept[BAND_CHANNELS / 16][BAND_ROWS][2][16];
    _Alignas(64) uint16_t made[BAND_ROWS][BAND_CHANNELS];
};

// Those of windows that end in the row.
WNN_INLINE const float *find_factors(const struct slide *slide, size_t row)
{
    size_t low = row + 1 - slide->height, high = row + 1;
    low = low > slide->padding ? low : slide->padding;
    high = high < slide->padding + slide->size ? high : slide->padding + slide->size;
    return slide->factors[high > low ? high - low : 0];
}

WNN_INLINE size_t tap_at(const struct lines *lines, size_t tap)
{
    size_t at = tap * lines->step;
    return lines->stride > 0 ? at % lines->stride * lines->part + at / lines->stride : at;
}

// Inputs become sums, and these sums of more, and results.
struct loops {
    size_t sum;   // bytes
    size_t lanes; // elements of a vector: results are made so many at a time

    // out[r * out_row + i] = the fold over t < taps of in[r * in_row + t * step + i], where `in` are inputs
    // or sums, and of what is there if `more`.
    void (*inputs)(void *out, const void *in, const struct lines *lines, bool more);
    void (*sums)(void *out, const void *in, const struct lines *lines, bool more);

    // Folds a run of sums and what is in `sum`.
    void (*run)(void *sum, const void *sums, size_t count);

    // out[phase * part + i] = in[i * stride + phase], which makes windows that are `stride` apart neighbours.
    void (*split)(void *out, const void *in, size_t stride, size_t phases, size_t part, size_t count);

    // out[r * out_row + i] = the result of the fold over t < taps of element i + t * step of row r. For
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

// A maximum that a NaN never leaves again, in a form for which there are two instructions.
WNN_INLINE float maximum_float(float a, float b)
{
    float larger = b > a ? b : a;
    return b == b ? larger : b;
}

#define MAXIMUM_FLOAT(a, b)   maximum_float(a, b)
#define MAXIMUM_INTEGER(a, b) ((b) > (a) ? (b) : (a))
#define AS_IT_IS(x)           (x)
#define ONLY(a, f)            (a)
#define KEY_OF_HALF(x)        wnn_half_key(x, WNN_HALF_NAN_LAST)
#define HALF_OF_KEY(a, f)     wnn_half_of_key(a, WNN_HALF_NAN_LAST)

// In float64 sums are right: squares neither overflow nor vanish there.
#define ADD(a, b)      ((a) + (b))
#define WIDEN(x)       (double)(x)
#define WIDEN_HALF(x)  (double)wnn_half_to_float(x)
#define SQUARE(x)      (WIDEN(x) * WIDEN(x))
#define SQUARE_HALF(x) (WIDEN_HALF(x) * WIDEN_HALF(x))
#define TIMES(a, f)    (float)((double)(a) * (f))
#define ROOT(a, f)     root(a)

// In float32 they are made if there are few: of float32, where that is seen from the results, and of float16,
// the squares of which fit.
#define FEW_TAPS          64
#define FEW_HALVES        4096
#define LEAST_SQUARED     0x1p-50f
#define SQUARE_FLOAT(x)   ((x) * (x))
#define TIMES_FLOAT(a, f) ((a) * (f))

// The square root of a sum of squares of float32, brought into the range where one of float32 is exact
// enough.
WNN_INLINE float root(double sum)
{
    bool great = sum > 0x1p100, small = sum < 0x1p-100;
    double scale = great ? 0x1p-200 : small ? 0x1p200 : 1, back = great ? 0x1p100 : small ? 0x1p-100 : 1;
    return (float)((double)sqrtf((float)(sum * scale)) * back);
}

// float16 are converted so many at a time.
#define HALF_LANES 16
typedef float floats16 __attribute__((vector_size(HALF_LANES * sizeof(float))));
typedef int32_t ints16 __attribute__((vector_size(HALF_LANES * sizeof(int32_t))));

// Squares of float16 are exact in float32: added to in one rounding or after one, sums are the same.
WNN_INLINE void add_squares(floats16 *sum, const floats16 *x)
{
    *sum += *x * *x;
}

static void load_halves(floats16 *to, const uint16_t *from)
{
    wnn_half_to_float_array(from, (float *)to, HALF_LANES);
}

static void store_halves(uint16_t *to, const float *from)
{
    wnn_half_from_float_array(from, to, HALF_LANES);
}

WNN_INLINE void take_roots(float *sums, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sums[i] = sqrtf(sums[i]);
}

WNN_INLINE void take_half_roots(float *sums)
{
    take_roots(sums, HALF_LANES);
}

#if defined(__x86_64__)
#include <immintrin.h>

WNN_AVX2 WNN_INLINE void add_squares_avx2(floats16 *sum, const floats16 *x)
{
    *sum += *x * *x;
}

WNN_AVX512 WNN_INLINE void add_squares_avx512(floats16 *sum, const floats16 *x)
{
    __m512 value = _mm512_loadu_ps((const float *)x);
    _mm512_storeu_ps((float *)sum, _mm512_fmadd_ps(value, value, _mm512_loadu_ps((const float *)sum)));
}

WNN_AVX2 WNN_INLINE void take_roots_avx2(float *sums, size_t count)
{
    for (size_t i = 0; i < count; i += 8)
        _mm256_storeu_ps(sums + i, _mm256_sqrt_ps(_mm256_loadu_ps(sums + i)));
}

WNN_AVX2 WNN_INLINE void take_half_roots_avx2(float *sums)
{
    take_roots_avx2(sums, HALF_LANES);
}

// The instruction takes as long as all the rest: from an estimate and one step of Newton's, to a unit or so.
WNN_AVX512 WNN_INLINE __m512 root_avx512(__m512 sum)
{
    __m512 inverse = _mm512_rsqrt14_ps(sum), half = _mm512_set1_ps(0.5f);
    __m512 root = _mm512_mul_ps(sum, inverse);
    __m512 rest = _mm512_fnmadd_ps(_mm512_mul_ps(inverse, half), root, half);
    __mmask16 own = _mm512_fpclass_ps_mask(sum, 0x9F); // NaN, zeros and infinities are their own
    return _mm512_mask_mov_ps(_mm512_fmadd_ps(root, rest, root), own, sum);
}

WNN_AVX512 WNN_INLINE void take_roots_avx512(float *sums, size_t count)
{
    for (size_t i = 0; i < count; i += 16)
        _mm512_storeu_ps(sums + i, root_avx512(_mm512_loadu_ps(sums + i)));
}

// The estimate is exact to an eighth of a unit of float16.
WNN_AVX512 WNN_INLINE __m512 half_root_avx512(__m512 sum)
{
    const __m512i own = _mm512_set1_epi32(1 << 8 | 1 << 20); // zeros and infinity
    return _mm512_fixupimm_ps(_mm512_mul_ps(sum, _mm512_rsqrt14_ps(sum)), sum, own, 0);
}

WNN_AVX512 WNN_INLINE void take_half_roots_avx512(float *sums)
{
    _mm512_storeu_ps(sums, half_root_avx512(_mm512_loadu_ps(sums)));
}

WNN_AVX2 static inline void load_halves_avx2(floats16 *to, const uint16_t *from)
{
    for (int i = 0; i < HALF_LANES; i += 8)
        _mm256_storeu_ps((float *)to + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(from + i))));
}

WNN_AVX2 static inline void store_halves_avx2(uint16_t *to, const float *from)
{
    for (int i = 0; i < HALF_LANES; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
}

WNN_AVX512 static inline void load_halves_avx512(floats16 *to, const uint16_t *from)
{
    _mm512_storeu_ps((float *)to, _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)from)));
}

WNN_AVX512 static inline void store_halves_avx512(uint16_t *to, const float *from)
{
    _mm256_storeu_si256((__m256i *)(void *)to,
                        _mm512_cvtps_ph(_mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
}

#include "cpu/pool_slide.inc"
#endif

// Masks of the first n of a vector's lanes start n before the middle.
#define FIRST(Mask) static const Mask Mask##_first[128] = {[0 ... 63] = -1}
FIRST(int8_t);
FIRST(int16_t);
FIRST(int32_t);
FIRST(int64_t);

#define RUN_BYTES 256 // of sums that grow side by side

#define SET(x) x
#define TARGET
#define VECTOR   32
#define INTEGERS 1
#define WIDE     1
#define SLIDE(x) NULL
#include "cpu/pool_kernel.inc"

#if defined(__x86_64__)
#define SET(x)   x##_avx2
#define TARGET   WNN_AVX2
#define VECTOR   32
#define INTEGERS 1
#define WIDE     0
#define SLIDE(x) NULL
#include "cpu/pool_kernel.inc"

#define SET(x)   x##_avx512
#define TARGET   WNN_AVX512
#define VECTOR   64
#define INTEGERS 0
#define WIDE     0
#define SLIDE(x) x##_slide
#include "cpu/pool_kernel.inc"

#define BEST(x)       (__builtin_cpu_supports("avx2") ? &x##_avx2 : &x)
#define BEST_FLOAT(x) (wnn_has_avx512() ? &x##_avx512 : BEST(x))
#else
#define BEST(x)       (&x)
#define BEST_FLOAT(x) (&x)
#endif

static const struct loops *find_loops(enum op op, WNNDataType type, uint64_t taps)
{
    bool mean = op == WNN_OP_averagePool2d;
    if (op != WNN_OP_maxPool2d && type == WNNDataType_Float16) {
        if (taps > FEW_HALVES)
            return mean ? &average_half_wide : &l2_half_wide;
        return mean ? BEST_FLOAT(average_half) : BEST_FLOAT(l2_half);
    }
    if (op != WNN_OP_maxPool2d && taps > FEW_TAPS)
        return mean ? BEST_FLOAT(average) : BEST_FLOAT(l2);
    if (op != WNN_OP_maxPool2d)
        return mean ? BEST_FLOAT(average_few) : BEST_FLOAT(l2_few);
    switch (type) {
    case WNNDataType_Int32:
        return BEST(max_i32);
    case WNNDataType_Uint32:
        return BEST(max_u32);
    case WNNDataType_Int64:
        return BEST(max_i64);
    case WNNDataType_Uint64:
        return BEST(max_u64);
    case WNNDataType_Int8:
        return BEST_FLOAT(max_i8);
    case WNNDataType_Uint8:
        return BEST_FLOAT(max_u8);
    case WNNDataType_Float16:
        return BEST_FLOAT(max_half);
    default:
        return BEST_FLOAT(max_float);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Results on their way to the output
// ---------------------------------------------------------------------------------------------------------------

// What is contiguous is gathered.
struct sink {
    char *to;
    size_t filled;
    bool streams;
    double bytes[WNN_POOL_ROOM / sizeof(double) + WNN_POOL_SLACK / sizeof(double)];
};

static void put(const struct sink *sink, char *to, const char *from, size_t bytes)
{
    if (sink->streams)
        wnn_stream(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

static void flush(struct sink *sink)
{
    if (sink->filled > 0)
        put(sink, sink->to, (char *)sink->bytes, sink->filled);
    sink->filled = 0;
}

// Where to make what becomes `bytes` bytes at `to`.
static char *take(struct sink *sink, char *to, size_t bytes)
{
    if (sink->filled == 0 || sink->to + sink->filled != to || sink->filled + bytes > WNN_POOL_GATHERED) {
        flush(sink);
        sink->to = to;
    }
    sink->filled += bytes;
    return (char *)sink->bytes + sink->filled - bytes;
}

static void drain(struct sink *sink)
{
    flush(sink);
    if (sink->streams)
        wnn_stream_end();
}

// ---------------------------------------------------------------------------------------------------------------
// One window after another
// ---------------------------------------------------------------------------------------------------------------

// Room for sums.
union line {
    _Alignas(64) double doubles[WNN_POOL_ROOM / sizeof(double) + WNN_POOL_SLACK];
    char bytes[1];
};

// No elements folded.
static void set_neutral(const struct loops *loops, char *sums, size_t rows, size_t row, size_t count)
{
    static const double nothing[1];
    loops->sums(sums, nothing, &(struct lines){.rows = rows, .out_row = row, .count = count}, false);
}

// `block` results of window `x` of a row, as many as there is room for sums. Writes a whole number of
// vectors.
static void fold_window(const struct pool *pool, const struct loops *loops, size_t row, size_t x,
                        size_t channel, size_t block, char *out)
{
    union line sums, folded;
    size_t line = row / pool->out[0], most = WNN_POOL_ROOM / loops->sum / block;
    int64_t top, bottom, left, right;
    int64_t first_y = clip(pool, 0, row % pool->out[0], &top, &bottom);
    int64_t first_x = clip(pool, 1, x, &left, &right);
    size_t step_y = (size_t)pool->dilation[0] * pool->in_y, height = (size_t)(bottom - top);
    size_t step_x = (size_t)pool->dilation[1] * pool->in_x, width = (size_t)(right - left);
    size_t number = height * width;
    set_neutral(loops, folded.bytes, 1, 0, block);
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
            loops->run(folded.bytes, sums.bytes, taps);
        else
            loops->sums(folded.bytes, sums.bytes, &(struct lines){1, 0, 0, block, taps, block, 0, 0, false},
                        true);
    }
    const double factor = number > 0 ? 1 / (double)number : 0;
    const float single = (float)factor;
    const void *factors = loops->single ? (const void *)&single : (const void *)&factor;
    loops->results(out, folded.bytes, &(struct lines){1, 0, 0, 0, 1, block, 0, 0, true}, factors, false);
}

static void pool_sparse(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    struct sink sink;
    sink.to = NULL;
    sink.filled = 0;
    sink.streams = pool->streams;
    for (size_t row = begin; row < end; row++) {
        char *to = pool->output + row * pool->out_y * pool->element;
        for (size_t x = 0; x < pool->out[1]; x++) {
            for (size_t channel = 0, block; channel < pool->run; channel += block) {
                block = pool->run - channel < pool->block ? pool->run - channel : pool->block;
                char *out =
                    take(&sink, to + (x * pool->run + channel) * pool->element, block * pool->element);
                fold_window(pool, pool->loops, row, x, channel, block, out);
            }
        }
    }
    drain(&sink);
}

// ---------------------------------------------------------------------------------------------------------------
// Windows that overlap or lie close to one another
// ---------------------------------------------------------------------------------------------------------------

// Some columns of the output, of some elements of each run, and the columns of the input below them: padding,
// input and padding.
struct strip {
    size_t channel, block, x, positions;
    size_t first, head, inside, tail; // columns
};

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

static struct strip make_strip(const struct pool *pool, size_t channel, size_t x)
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
        set_neutral(pool->loops, bench->sums.bytes, pool->rows, pool->pitch, strip->head * block);
        set_neutral(pool->loops, bench->sums.bytes + (strip->head + strip->inside) * block * sum, pool->rows,
                    pool->pitch, strip->tail * block);
    }
    for (size_t i = 0; !same && pool->loops->means && i < strip->positions; i++) {
        int64_t left, right;
        clip(pool, 1, strip->x + i, &left, &right);
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

static bool has_tiny(const float *x, size_t count)
{
    uint32_t least, bits;
    const float limit = LEAST_SQUARED;
    memcpy(&least, &limit, sizeof least);
    bool tiny = false;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, x + i, sizeof bits);
        tiny |= (bits & INT32_MAX) - 1 < least - 1;
    }
    return tiny;
}

// Makes results anew that are not right. Small ones are, if they come from zeros only.
static void mend(const struct pool *pool, const struct strip *strip, size_t row, const struct lines *inputs,
                 const float *from, const struct lines *lines, float *results)
{
    const struct loops *loops = pool->loops;
    bool tiny = false;
    for (size_t r = 0; r < inputs->rows; r++) {
        for (size_t t = 0; loops->least > 0 && t < inputs->taps; t++)
            tiny |= has_tiny(from + r * inputs->in_row + t * inputs->step, inputs->count);
    }
    for (size_t r = 0; r < lines->rows; r++, results += lines->out_row) {
        for (size_t i = 0; i < lines->count; i++) {
            if (fabsf(results[i]) <= FLT_MAX && (results[i] >= loops->least || !tiny))
                continue;
            float made[WNN_POOL_SLACK];
            if (pool->run == 1)
                fold_window(pool, loops->exact, row + r, strip->x + i, 0, 1, (char *)made);
            else
                fold_window(pool, loops->exact, row, strip->x + r, strip->channel + i, 1, (char *)made);
            results[i] = made[0];
        }
    }
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
        for (size_t i = 0; !pool->streams && i < rows * strip->positions * pool->element; i += 64)
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
    int64_t top, bottom, first_y = clip(pool, 0, y, &top, &bottom);
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
    bool direct = pool->run > 1 && block % loops->lanes == 0 && !pool->streams;
    fetch_next(pool, strip, &inputs, rows, offset, to);
    char *made = direct ? to : take(&bench->sink, to, count * bytes);
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
        mend(pool, strip, row, &inputs, (const float *)(const void *)from, &lines, (float *)(void *)made);
    if (scattered && !direct) {
        for (size_t i = 0; i < count; i++)
            put(&bench->sink, to + i * pool->out_x * pool->element, made + i * bytes, bytes);
        bench->sink.filled = 0;
    }
}

static void pool_dense(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    struct bench bench; // large: most of it is written before it is read, or does not matter
    bench.sink.to = NULL;
    bench.sink.filled = 0;
    bench.sink.streams = pool->streams;
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
                    struct strip strip = make_strip(pool, channel, x);
                    pool_strip(pool, &strip, row, rows, &bench);
                }
            }
        }
    }
    drain(&bench.sink);
}

// ---------------------------------------------------------------------------------------------------------------
// Small windows over planes
// ---------------------------------------------------------------------------------------------------------------

// Which of `lanes` columns from one on are before another.
static uint64_t columns_before(size_t end, size_t from, size_t lanes)
{
    return wnn_first_bits(end < from ? 0 : wnn_smaller(end - from, lanes));
}

static void begin_strip(const struct pool *pool, const struct strip *strip, struct slide *slide)
{
    const size_t lanes = 64 / pool->loops->sum;
    slide->positions = strip->positions;
    slide->head = strip->head;
    slide->inside = strip->inside;
    const size_t columns = strip->positions * slide->stride / lanes + SLIDE_MORE;
    for (size_t k = 0; k < columns; k++) {
        slide->masks[k] = columns_before(strip->head + strip->inside, k * lanes, lanes) &
                          ~columns_before(strip->head, k * lanes, lanes);
        slide->none[k] = 0;
    }
    for (size_t i = 0; i < strip->positions && pool->loops->means; i++) {
        int64_t left, right;
        clip(pool, 1, strip->x + i, &left, &right);
        double width = right > left ? (double)(right - left) : INFINITY;
        slide->factors[0][i] = 0;
        for (int rows = 1; rows <= SLIDE_HEIGHT; rows++)
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

static void pool_planes(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    const struct loops *loops = pool->loops;
    struct sink sink; // large
    struct slide slide;
    sink.to = NULL;
    sink.filled = 0;
    sink.streams = pool->streams;
    slide.size = (size_t)pool->size[0];
    slide.pitch = pool->in_y;
    slide.padding = (size_t)pool->padding[0];
    slide.height = (size_t)pool->window[0];
    slide.step = (size_t)pool->stride[0];
    slide.stride = (size_t)pool->stride[1];
    slide.width = (size_t)pool->window[1];
    set_neutral(loops, (char *)slide.kept[SLIDE_KEPT], 1, 0, (pool->positions + 15) / 16 * 64 / loops->sum);
    for (size_t x = 0; x < pool->out[1]; x += pool->positions) {
        struct strip strip = make_strip(pool, 0, x);
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
            char *made =
                take(&sink, pool->output + (row * pool->out_y + x) * pool->element, count * pool->element);
            loops->slide(&slide, made, rows);
            const struct lines lines = {.rows = rows, .out_row = strip.positions, .count = strip.positions};
            if (loops->exact && !loops->are_right((const float *)(void *)made, &lines, loops->least)) {
                size_t first;
                struct lines inputs = find_rows(pool, &slide, y, rows, &first);
                mend(pool, &strip, row, &inputs, (const float *)(const void *)plane + first * pool->in_y,
                     &lines, (float *)(void *)made);
            }
        }
    }
    drain(&sink);
}

// ---------------------------------------------------------------------------------------------------------------
// Small windows over pixels
// ---------------------------------------------------------------------------------------------------------------

// From row y of results on.
static void pool_band(const struct pool *pool, const struct strip *strip, size_t line, size_t y,
                      struct band *band)
{
    static const uint16_t zeros[BAND_CHANNELS];
    const size_t inputs = BAND_ROWS + band->height - 1, before = band->width - 1, bytes = strip->block * 2;
    const size_t rows = pool->out[0] - y < BAND_ROWS ? pool->out[0] - y : BAND_ROWS;
    const uint16_t *from = (const uint16_t *)(const void *)pool->input + line * pool->in_line +
                           strip->first * pool->in_x + strip->channel;
    uint16_t *to = (uint16_t *)(void *)pool->output + (line * pool->out[0] + y) * pool->out_y +
                   strip->x * pool->out_x + strip->channel;
    const uint16_t *in[BAND_INPUTS];
    int64_t heights[BAND_ROWS];
    for (size_t t = 0; t < inputs; t++) {
        size_t row = y + t - (size_t)pool->padding[0];
        in[t] = row < (size_t)pool->size[0] ? from + row * pool->in_y : NULL;
    }
    for (size_t r = 0; r < BAND_ROWS; r++) {
        int64_t top, bottom;
        clip(pool, 0, y + r, &top, &bottom);
        heights[r] = bottom - top;
    }
    band->count = strip->block;
    memset(band->kept, 0, strip->block / HALF_LANES * sizeof band->kept[0]);
    for (size_t column = 0; column < strip->positions + before; column++) {
        const size_t inside = column - strip->head, x = column - before;
        for (size_t t = 0; t < inputs; t++) {
            bool there = in[t] && inside < strip->inside;
            band->in[t] = there ? in[t] + inside * pool->in_x : zeros;
            if (there && inside + BAND_AHEAD < strip->inside) {
                const char *ahead = (const char *)(band->in[t] + BAND_AHEAD * pool->in_x);
                for (size_t i = 0; i < bytes; i += 64)
                    __builtin_prefetch(ahead + i, 0, 2);
            }
        }
        if (column < before) {
            pool->loops->band(band, false);
            continue;
        }
        int64_t left, right;
        clip(pool, 1, strip->x + x, &left, &right);
        for (size_t r = 0; r < BAND_ROWS; r++) {
            int64_t number = heights[r] * (right - left);
            band->factors[r] = number > 0 ? (float)(1 / (double)number) : 0;
            bool direct = r < rows && !pool->streams;
            band->out[r] = direct ? to + r * pool->out_y + x * pool->out_x : band->made[r];
        }
        pool->loops->band(band, true);
        for (size_t r = 0; pool->streams && r < rows; r++)
            wnn_stream(to + r * pool->out_y + x * pool->out_x, band->made[r], bytes);
    }
}

static size_t count_bands(const struct pool *pool)
{
    return (pool->out[0] + BAND_ROWS - 1) / BAND_ROWS;
}

static void pool_bands(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    const size_t bands = count_bands(pool);
    struct band band; // large
    band.height = (size_t)pool->window[0];
    band.width = (size_t)pool->window[1];
    for (size_t channel = 0; channel < pool->run; channel += pool->block) {
        for (size_t x = 0; x < pool->out[1]; x += pool->positions) {
            const struct strip strip = make_strip(pool, channel, x);
            for (size_t i = begin; i < end; i++)
                pool_band(pool, &strip, i / bands, i % bands * BAND_ROWS, &band);
        }
    }
    if (pool->streams)
        wnn_stream_end();
}

// ---------------------------------------------------------------------------------------------------------------
// How windows are made
// ---------------------------------------------------------------------------------------------------------------

// One window over all of the input, whatever is beyond it.
static bool is_global(const struct pool *pool)
{
    for (unsigned axis = 0; axis < 2; axis++) {
        // Taps that are not neighbours may pass by the only element, too.
        int64_t step = pool->dilation[axis], first = pool->padding[axis] / step;
        if (pool->out[axis] != 1 || (step != 1 && pool->size[axis] != 1) || pool->padding[axis] % step != 0 ||
            pool->window[axis] - first < pool->size[axis])
            return false;
    }
    return true;
}

static void reduce(const struct kernel_call *call, bool last)
{
    static const enum op ops[WNN_OP_COUNT] = {[WNN_OP_averagePool2d] = WNN_OP_reduceMean,
                                              [WNN_OP_l2Pool2d] = WNN_OP_reduceL2,
                                              [WNN_OP_maxPool2d] = WNN_OP_reduceMax};
    uint32_t axes[2] = {last ? 1 : 2, last ? 2 : 3};
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = (WNNUint32List){axes, 2};
    options.keepDimensions = true;
    struct node node = *call->node;
    node.op = ops[node.op];
    node.attrs = &options;
    struct kernel_call reduction = *call;
    reduction.node = &node;
    wnn_cpu_reduce(&reduction);
}

// How much is pooled together, if a row of windows fits: long enough runs for vectors, and few columns that
// are folded for two strips.
static bool make_dense(struct pool *pool)
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
        pool->rows = WNN_POOL_BATCH / (pool->pitch * pool->loops->sum) + 1;
        size_t most = pool->room / pool->pitch;
        pool->rows = pool->rows < most ? pool->rows : most > 0 ? most : 1;
    }
    return true;
}

static bool make_slides(struct pool *pool)
{
    if (pool->run > 1 || !pool->loops->slide || pool->stride[1] > SLIDE_STRIDE || pool->dilation[0] != 1 ||
        pool->dilation[1] != 1 || pool->window[0] > SLIDE_HEIGHT || pool->window[1] < 2 ||
        pool->window[1] > SLIDE_WIDTH || pool->stride[0] > pool->window[0])
        return false;
    pool->span = pool->window[1];
    pool->block = 1;
    pool->positions = pool->out[1] < WNN_POOL_POSITIONS ? pool->out[1] : WNN_POOL_POSITIONS;
    pool->rows = 1;
    if (pool->positions == pool->out[1])
        pool->rows += WNN_POOL_SLID / (pool->positions * pool->element);
    return true;
}

static bool make_bands(struct pool *pool)
{
    for (unsigned axis = 0; axis < 2; axis++) {
        if (pool->stride[axis] != 1 || pool->dilation[axis] != 1 || pool->window[axis] < 2 ||
            pool->window[axis] > SLIDE_WIDTH)
            return false;
    }
    if (!pool->loops->band || pool->run < BAND_FEWEST || pool->run % HALF_LANES != 0)
        return false;
    pool->span = pool->window[1];
    pool->block = pool->run < BAND_CHANNELS ? pool->run : BAND_CHANNELS;
    pool->positions = BAND_ELEMENTS / pool->block;
    return true;
}

void wnn_cpu_pool2d(const struct kernel_call *call)
{
    const WNNPool2dOptions *options = call->node->attrs;
    const uint32_t *in = call->in[0].shape.dim, *out = call->out[0].shape.dim;
    bool last = options->layout == WNNInputOperandLayout_NHWC;
    unsigned y = last ? 1 : 2, x = last ? 2 : 3;
    size_t channels = in[last ? 3 : 1];
    if (call->out[0].count == 0)
        return;

    struct pool pool = {
        .element = wnn_dtype_bits(call->in[0].type) / 8,
        .input = call->in[0].data,
        .output = call->out[0].data,
        .count = call->in[0].count,
        .lines = last ? in[0] : in[0] * channels,
        .run = last ? channels : 1,
    };
    for (unsigned axis = 0; axis < 2; axis++) {
        pool.size[axis] = in[y + axis];
        pool.out[axis] = out[y + axis];
        pool.window[axis] = options->windowDimensions.data[axis];
        pool.stride[axis] = options->strides.data[axis];
        pool.dilation[axis] = options->dilations.data[axis];
        pool.padding[axis] = options->padding.data[2 * axis];
    }
    if (is_global(&pool)) {
        reduce(call, last);
        return;
    }
    pool.loops = find_loops((enum op)call->node->op, call->in[0].type,
                            (uint64_t)pool.window[0] * (uint64_t)pool.window[1]);
    pool.in_x = pool.out_x = pool.run;
    pool.in_y = in[x] * pool.in_x;
    pool.out_y = out[x] * pool.out_x;
    pool.in_line = in[y] * pool.in_y;
    pool.out_line = out[y] * pool.out_y;
    pool.streams = wnn_streams(call->out[0].count * pool.element);
    pool.room = WNN_POOL_ROOM / pool.loops->sum;
    bool slides = make_slides(&pool), bands = make_bands(&pool);
    bool dense = !slides && !bands && make_dense(&pool);
    if (!slides && !bands && !dense) {
        if (pool.loops->exact)
            pool.loops = pool.loops->exact;
        pool.room = WNN_POOL_ROOM / pool.loops->sum;
        pool.block = pool.run < pool.room ? pool.run : pool.room;
    }

    uint64_t taps = (uint64_t)pool.window[0] * (uint64_t)pool.window[1];
    size_t work = pool.out_y * (size_t)(taps < 16384 ? taps : 16384);
    if (bands) // always the same rows together, for the sums to be so
        wnn_parallel_for(call->parallel, pool.lines * count_bands(&pool), 1 + 2048 / (work + 1), pool_bands,
                         &pool);
    else
        wnn_parallel_for(call->parallel, pool.lines * pool.out[0], 1 + 8192 / (work + 1),
                         slides  ? pool_planes
                         : dense ? pool_dense
                                 : pool_sparse,
                         &pool);
}
