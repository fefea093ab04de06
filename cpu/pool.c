// SPDX-License-Identifier: Apache-2.0
//
// averagePool2d, l2Pool2d and maxPool2d. Windows are intersected with the input; a window outside of it gives
// 0, or for the maximum the lowest value of the type.

#include "cpu/kernel.h"
#include "cpu/runs.h"
#include "cpu/variants.h"

#include <math.h>

#define WNN_POOL_ROOM      16384 // bytes of sums that are worked on at a time
#define WNN_POOL_BATCH     2048  // bytes of rows that are folded before their windows are
#define WNN_POOL_POSITIONS 1024  // windows beside one another, at most
#define WNN_POOL_SLACK     64    // elements behind those that count

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
    int64_t span; // of a window along the width
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
};

// Inputs become sums, and these sums of more, and results.
struct loops {
    size_t input, sum, result; // bytes

    // out[r * out_row + i] = the fold over t < taps of in[r * in_row + t * step + i], where `in` are inputs
    // or sums, and of what is there if `more`.
    void (*inputs)(void *out, const void *in, const struct lines *lines, bool more);
    void (*sums)(void *out, const void *in, const struct lines *lines, bool more);

    // out[i] = the fold over t < taps of in[i * stride + t * step]: windows along a row of single elements.
    void (*windows)(void *out, const void *in, size_t step, size_t taps, size_t stride, size_t count);

    // Folds a run of sums and what is in `sum`.
    void (*run)(void *sum, const void *sums, size_t count);

    // (optional: sums are results) Rows of results. 1 / the number of elements of a sum is factors[i], if it
    // changes `along` the rows, or else factors[r].
    void (*finish)(void *results, const void *sums, const struct lines *lines, const double *factors,
                   bool along);
};

// A maximum that a NaN never leaves again.
#define MAXIMUM_FLOAT(a, b)   ((b) != (b) ? (b) : (b) > (a) ? (b) : (a))
#define MAXIMUM_INTEGER(a, b) ((b) > (a) ? (b) : (a))
#define AS_IT_IS(x)           (x)

// Sums are kept in float64: squares neither overflow nor vanish there.
#define ADD(a, b)   ((a) + (b))
#define WIDEN(x)    (double)(x)
#define SQUARE(x)   ((double)(x) * (double)(x))
#define TIMES(a, f) (float)((a) * (f))
#define ROOT(a, f)  root(a)

// Those of float16 in float32, where the squares fit, if there are not too many. factors are rounded.
#define HALF_TAPS        4096
#define SQUARE_HALF(x)   ((x) * (x))
#define TIMES_HALF(a, f) ((a) * (f))
#define ROOT_HALF(a, f)  ((void)(f), sqrtf(a))

// The square root of a sum of squares of float32, brought into the range where one of float32 is exact
// enough.
WNN_INLINE float root(double sum)
{
    bool great = sum > 0x1p100, small = sum < 0x1p-100;
    double scale = great ? 0x1p-200 : small ? 0x1p200 : 1, back = great ? 0x1p100 : small ? 0x1p-100 : 1;
    return (float)((double)sqrtf((float)(sum * scale)) * back);
}

// They are converted so many at a time; sums are followed by as many as that takes.
#define HALF_LANES 16
typedef float floats16 __attribute__((vector_size(HALF_LANES * sizeof(float))));

static void load_halves(floats16 *to, const uint16_t *from)
{
    wnn_half_to_float_array(from, (float *)to, HALF_LANES);
}

static void store_halves(uint16_t *to, const float *from)
{
    wnn_half_from_float_array(from, to, HALF_LANES);
}

#if defined(__x86_64__)
#include <immintrin.h>

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
#endif

#define KEY_OF_HALF(x) wnn_half_key(x, WNN_HALF_NAN_LAST)

#define RUN_BYTES 256 // of sums that grow side by side

#define SET(x) x
#define TARGET
#define INTEGERS 1
#include "cpu/pool_kernel.inc"

#if defined(__x86_64__)
#define SET(x)   x##_avx2
#define TARGET   WNN_AVX2
#define INTEGERS 1
#include "cpu/pool_kernel.inc"

#define SET(x)   x##_avx512
#define TARGET   WNN_AVX512
#define INTEGERS 0
#include "cpu/pool_kernel.inc"

#define BEST(x)       (__builtin_cpu_supports("avx2") ? &x##_avx2 : &x)
#define BEST_FLOAT(x) (wnn_has_avx512() ? &x##_avx512 : BEST(x))
#else
#define BEST(x)       (&x)
#define BEST_FLOAT(x) (&x)
#endif

static const struct loops *find_loops(enum op op, WNNDataType type, bool few)
{
    if (type == WNNDataType_Float16 && op == WNN_OP_maxPool2d)
        return BEST_FLOAT(max_half);
    if (type == WNNDataType_Float16 && few)
        return op == WNN_OP_averagePool2d ? BEST_FLOAT(average_half) : BEST_FLOAT(l2_half);
    if (op == WNN_OP_averagePool2d)
        return BEST_FLOAT(average);
    if (op == WNN_OP_l2Pool2d)
        return BEST_FLOAT(l2);
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
        return BEST(max_i8);
    case WNNDataType_Uint8:
        return BEST(max_u8);
    default:
        return BEST_FLOAT(max_float);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Windows
// ---------------------------------------------------------------------------------------------------------------

// Room for sums.
union line {
    double doubles[WNN_POOL_ROOM / sizeof(double) + WNN_POOL_SLACK];
    char bytes[1];
};

// Rows of results from element `to` of the output on. lines->out_row is that of the output.
static void store(const struct pool *pool, const void *sums, const struct lines *lines, const double *factors,
                  bool along, size_t to)
{
    const struct loops *loops = pool->loops;
    char *out = pool->output + to * pool->element;
    if (loops->finish) {
        loops->finish(out, sums, lines, factors, along);
    } else {
        for (size_t r = 0; r < lines->rows; r++)
            wnn_copy_run(out + r * lines->out_row * pool->element,
                         (const char *)sums + r * lines->in_row * pool->element,
                         lines->count * pool->element);
    }
}

static void set_neutral(const struct pool *pool, char *sums, size_t rows, size_t row, size_t count)
{
    static const double nothing[1];
    pool->loops->sums(sums, nothing, &(struct lines){.rows = rows, .out_row = row, .count = count}, false);
}

// Some columns of the output, of some elements of each run, and the columns of the input below them: padding,
// input and padding.
struct strip {
    size_t channel, block, x, positions;
    size_t first, head, inside, tail; // columns
    size_t rows, pitch;               // of sums that there is room for, and between them
    size_t lanes;                     // elements of a row are folded in so many at a time
};

static struct strip make_strip(const struct pool *pool, size_t channel, size_t x)
{
    struct strip strip = {.channel = channel, .x = x, .rows = 1, .lanes = 1};
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
    if (pool->run == 1) {
        // Several rows, each a whole number of vectors and of windows.
        size_t lanes = 64 / pool->element, stride = (size_t)pool->stride[1];
        size_t whole = (strip.inside + lanes - 1) / lanes * lanes + strip.head;
        size_t pitch = whole > (size_t)length ? whole : (size_t)length;
        pitch = (pitch + stride - 1) / stride * stride;
        if (pitch <= pool->room / 2) {
            strip.rows = pool->room / pitch;
            strip.pitch = pitch;
            strip.lanes = lanes;
            size_t most = WNN_POOL_BATCH / (pitch * pool->element) + 1;
            strip.rows = strip.rows < most ? strip.rows : most;
        }
    }
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

// Windows that overlap or lie close to one another: rows are folded into one, with the padding around it, and
// this along itself.
static void pool_strip(const struct pool *pool, const struct strip *strip, size_t begin, size_t end)
{
    const struct loops *loops = pool->loops;
    union line sums = {{0}}, results, neutral;
    double factors[WNN_POOL_POSITIONS + HALF_LANES] = {0};
    size_t block = strip->block, positions = strip->positions, height = SIZE_MAX;
    size_t width = (size_t)pool->window[1], stride = (size_t)pool->stride[1],
           dilation = (size_t)pool->dilation[1];
    set_neutral(pool, neutral.bytes, 1, 0, strip->tail * block);
    char *inside = sums.bytes + strip->head * block * loops->sum;
    set_neutral(pool, sums.bytes, strip->rows, strip->pitch, strip->head * block);
    set_neutral(pool, inside, strip->rows, strip->pitch, (strip->inside + strip->tail) * block);
    for (size_t row = begin, rows; row < end; row += rows) {
        size_t line = row / pool->out[0], y = row % pool->out[0];
        int64_t top, bottom, left, right;
        int64_t first_y = clip(pool, 0, y, &top, &bottom);
        rows = end - row < pool->out[0] - y ? end - row : pool->out[0] - y;
        rows = count_alike(pool, y, rows < strip->rows ? rows : strip->rows);

        struct lines lines = {.rows = rows,
                              .out_row = strip->pitch,
                              .in_row = (size_t)pool->stride[0] * pool->in_y,
                              .step = (size_t)pool->dilation[0] * pool->in_y,
                              .taps = (size_t)(bottom - top),
                              .count = strip->inside * block};
        size_t to = line * pool->out_line + y * pool->out_y + strip->x * pool->out_x + strip->channel;
        for (size_t i = 0; strip->lanes > 1 && i < rows * pool->out_y * pool->element; i += 64)
            __builtin_prefetch(pool->output + to * pool->element + i, 1);
        size_t offset = line * pool->in_line + strip->first * pool->in_x + strip->channel;
        if (lines.taps > 0)
            offset += (size_t)(first_y + top * pool->dilation[0]) * pool->in_y;
        if (block < pool->run) {
            lines.rows = strip->inside;
            lines.out_row = lines.count = block;
            lines.in_row = pool->in_x;
        } else if (lines.taps > 0 && lines.count > 0) {
            // Whole vectors reach into what comes next, and into the padding.
            size_t whole = (lines.count + strip->lanes - 1) / strip->lanes * strip->lanes;
            size_t last = offset + (rows - 1) * lines.in_row + (lines.taps - 1) * lines.step;
            if (last + whole <= pool->count)
                lines.count = whole;
        }
        if (strip->inside > 0)
            loops->inputs(inside, pool->input + offset * pool->element, &lines, false);
        for (size_t r = 0; strip->lanes > 1 && r < rows; r++)
            wnn_copy_run(inside + (r * strip->pitch + strip->inside) * loops->sum, neutral.bytes,
                         strip->tail * loops->sum);

        if ((size_t)(bottom - top) != height && loops->finish) {
            height = (size_t)(bottom - top);
            for (size_t i = 0; i < positions; i++) {
                clip(pool, 1, strip->x + i, &left, &right);
                size_t number = height * (size_t)(right - left);
                factors[i] = number > 0 ? 1 / (double)number : 0;
            }
        }
        if (pool->run == 1) {
            size_t count = (rows - 1) * (strip->pitch / stride) + positions;
            if (stride <= WNN_POOL_SLACK / 16)
                count = (count + 15) / 16 * 16;
            loops->windows(results.bytes, sums.bytes, dilation, width, stride, count);
            lines = (struct lines){rows, pool->out_y, strip->pitch / stride, 0, 0, positions};
            store(pool, results.bytes, &lines, factors, true, to);
        } else {
            char *out = loops->finish ? results.bytes : pool->output + to * pool->element;
            lines = (struct lines){
                positions, loops->finish ? block : pool->run, stride * block, dilation * block, width, block};
            loops->sums(out, sums.bytes, &lines, false);
            lines = (struct lines){positions, pool->run, block, 0, 0, block};
            if (loops->finish)
                store(pool, out, &lines, factors, false, to);
        }
    }
}

static void pool_dense(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    for (size_t channel = 0; channel < pool->run; channel += pool->block) {
        for (size_t x = 0; x < pool->out[1]; x += pool->positions) {
            struct strip strip = make_strip(pool, channel, x);
            pool_strip(pool, &strip, begin, end);
        }
    }
}

// Windows of any size, one after another.
static void pool_sparse(void *argument, size_t begin, size_t end)
{
    const struct pool *pool = argument;
    const struct loops *loops = pool->loops;
    union line sums, results;
    for (size_t row = begin; row < end; row++) {
        size_t line = row / pool->out[0], y = row % pool->out[0];
        int64_t top, bottom, left, right;
        int64_t first_y = clip(pool, 0, y, &top, &bottom);
        size_t step_y = (size_t)pool->dilation[0] * pool->in_y, height = (size_t)(bottom - top);
        for (size_t x = 0; x < pool->out[1]; x++) {
            int64_t first_x = clip(pool, 1, x, &left, &right);
            size_t step_x = (size_t)pool->dilation[1] * pool->in_x, width = (size_t)(right - left);
            size_t number = height * width;
            double factors[HALF_LANES] = {number > 0 ? 1 / (double)number : 0};
            for (size_t channel = 0, block; channel < pool->run; channel += block) {
                block = pool->run - channel < pool->block ? pool->run - channel : pool->block;
                size_t most = pool->room / block;
                size_t to = line * pool->out_line + y * pool->out_y + x * pool->out_x + channel;
                char *folded = loops->finish ? results.bytes : pool->output + to * pool->element;
                set_neutral(pool, folded, 1, 0, block);
                for (size_t tap = 0, taps; number > 0 && tap < width; tap += taps) {
                    taps = width - tap < most ? width - tap : most;
                    size_t offset = line * pool->in_line + channel +
                                    (size_t)(first_y + top * pool->dilation[0]) * pool->in_y +
                                    (size_t)(first_x + left * pool->dilation[1]) * pool->in_x + tap * step_x;
                    struct lines lines = {step_x == block ? 1 : taps,
                                          block,
                                          step_x,
                                          step_y,
                                          height,
                                          step_x == block ? taps * block : block};
                    loops->inputs(sums.bytes, pool->input + offset * pool->element, &lines, false);
                    if (block == 1)
                        loops->run(folded, sums.bytes, taps);
                    else
                        loops->sums(folded, sums.bytes, &(struct lines){1, 0, 0, block, taps, block}, true);
                }
                if (loops->finish)
                    store(pool, folded, &(struct lines){1, block, block, 0, 0, block}, factors, false, to);
            }
        }
    }
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
    pool.loops = find_loops((enum op)call->node->op, call->in[0].type,
                            pool.window[0] <= HALF_TAPS && pool.window[0] * pool.window[1] <= HALF_TAPS);
    pool.in_x = pool.out_x = pool.run;
    pool.in_y = in[x] * pool.in_x;
    pool.out_y = out[x] * pool.out_x;
    pool.in_line = in[y] * pool.in_y;
    pool.out_line = out[y] * pool.out_y;

    pool.room = WNN_POOL_ROOM / pool.loops->sum;
    int64_t room = (int64_t)pool.room;
    bool dense = pool.window[1] <= room && pool.dilation[1] <= room && pool.out[1] > 1;
    pool.span = dense ? (pool.window[1] - 1) * pool.dilation[1] + 1 : 0;
    dense &= pool.span <= room / 4;
    if (dense) {
        // Long enough runs for vectors, and few columns that are folded for two blocks of windows.
        size_t whole =
            (size_t)pool.span + 3 * (size_t)(pool.stride[1] < pool.span ? pool.stride[1] : pool.span);
        pool.block = pool.run < 16 ? pool.run : pool.room / whole;
        pool.block = pool.block < pool.run ? pool.block : pool.run;
        if (pool.block < pool.run)
            pool.block -= pool.block % (pool.block > 64 ? 64 : pool.block > 16 ? 16 : 1);
        dense = pool.block >= (pool.run < 16 ? pool.run : 16);
    }
    if (dense) {
        size_t columns = pool.room / pool.block - (size_t)pool.span;
        pool.positions = 1 + columns / (size_t)pool.stride[1];
        pool.positions = pool.positions < WNN_POOL_POSITIONS ? pool.positions : WNN_POOL_POSITIONS;
    } else {
        pool.block = pool.run < pool.room ? pool.run : pool.room;
        // All of a plane that is contiguous is one row.
        if (pool.run == 1 && pool.out[0] == 1 && pool.out[1] == 1 && pool.padding[0] == 0 &&
            pool.padding[1] == 0 && pool.window[0] == pool.size[0] && pool.window[1] == pool.size[1] &&
            pool.dilation[0] == 1 && pool.dilation[1] == 1) {
            pool.size[1] = pool.window[1] = pool.size[0] * pool.size[1];
            pool.size[0] = pool.window[0] = 1;
            pool.in_y = in[y] * pool.in_y;
        }
    }

    size_t taps = (size_t)pool.window[0] * (size_t)pool.window[1];
    size_t work = pool.out_y * (taps < 16384 ? taps : 16384);
    wnn_parallel_for(call->parallel, pool.lines * pool.out[0], 1 + 8192 / (work + 1),
                     dense ? pool_dense : pool_sparse, &pool);
}
