// SPDX-License-Identifier: Apache-2.0
//
// resample2d: nearest and linear, along any two axes. Pixel centres are at halves; the scale of an axis is
// the quotient of its sizes.

#include "cpu/elementwise.h"
#include "cpu/runs.h"
#include "cpu/variants.h"

#include <math.h>

enum {
    POSITIONS = 128,  // of the last axis, whose neighbours are found once for many lines
    ROWS = 256,       // positions of the first one, likewise
    ROOM = 4096,      // elements of a line of the input, in float32
    BLOCK = ROOM / 4, // of a run
    TOGETHER = 8,     // lines
    VECTOR = 32,      // elements that are worked on together
    SLACK = 32        // and those behind them that do not count
};

struct resample {
    bool linear;
    WNNDataType type;
    size_t size; // bytes of an element
    const char *input;
    char *output;
    size_t count; // elements of the input
    // [outer, axis 0, middle, axis 1, run]: the two axes, in the order of the dimensions.
    size_t outer, middle, run;
    size_t in[2], out[2];
    size_t in_stride[2], in_outer; // elements
};

// The neighbours of an output element along an axis, and the part of the second one. They do not change along
// with the order in which elements are computed.
struct neighbours {
    size_t low, high;
    float weight;
};

// (position + 0.5) * in / out - 0.5 is (a / b) with integers a and b, of at most 64 bits; so are floor and
// remainder.
static struct neighbours find_neighbours(const struct resample *resample, unsigned axis, size_t position)
{
    int64_t in = (int64_t)resample->in[axis], out = (int64_t)resample->out[axis];
    int64_t twice = (2 * (int64_t)position + 1) * in - out, unit = 2 * out;
    if (twice <= 0)
        return (struct neighbours){0, 0, 0};
    int64_t low = twice / unit;
    if (low >= in - 1)
        return (struct neighbours){(size_t)in - 1, (size_t)in - 1, 0};
    return (struct neighbours){(size_t)low, (size_t)low + 1, (float)((double)(twice % unit) / (double)unit)};
}

// The smallest integer not below the coordinate minus a half: of two equally near elements the lower.
static size_t find_nearest(const struct resample *resample, unsigned axis, size_t position)
{
    int64_t in = (int64_t)resample->in[axis], out = (int64_t)resample->out[axis];
    int64_t twice = (2 * (int64_t)position + 1) * in - 2 * out, unit = 2 * out;
    int64_t nearest = twice <= 0 ? 0 : (twice + unit - 1) / unit;
    return (size_t)(nearest < in ? nearest : in - 1);
}

// A way through the lines of the output, which are [outer, axis 0, middle].
struct way {
    size_t line, outer, y, middle;
    bool known; // `of` has all positions of axis 0, as elements
    struct neighbours of[ROWS];
};

static struct neighbours find(const struct resample *resample, size_t y)
{
    struct neighbours of = {0, 0, 0};
    if (resample->linear)
        of = find_neighbours(resample, 0, y);
    else
        of.low = find_nearest(resample, 0, y);
    of.low *= resample->in_stride[0];
    of.high *= resample->in_stride[0];
    return of;
}

static void find_rows(const struct resample *resample, struct way *way)
{
    way->known = resample->out[0] <= ROWS;
    for (size_t y = 0; way->known && y < resample->out[0]; y++)
        way->of[y] = find(resample, y);
}

static void start(const struct resample *resample, struct way *way, size_t line)
{
    way->line = line;
    way->middle = line % resample->middle;
    way->y = line / resample->middle % resample->out[0];
    way->outer = line / resample->middle / resample->out[0];
}

static void next(const struct resample *resample, struct way *way)
{
    way->line++;
    if (++way->middle < resample->middle)
        return;
    way->middle = 0;
    if (++way->y < resample->out[0])
        return;
    way->y = 0;
    way->outer++;
}

// The lines of the input that are next to that of the output, as elements.
WNN_INLINE struct neighbours lines_below(const struct resample *resample, const struct way *way)
{
    struct neighbours y = way->known ? way->of[way->y] : find(resample, way->y);
    size_t line = way->outer * resample->in_outer + way->middle * resample->in[1] * resample->run;
    return (struct neighbours){line + y.low, line + y.high, y.weight};
}

// ---------------------------------------------------------------------------------------------------------------
// Nearest
// ---------------------------------------------------------------------------------------------------------------

#define PIECE 16 // bytes, of which a processor can put each where it likes

// Where runs of bytes at some positions come from; and, if neighbouring ones are close enough, the same for
// pieces.
struct picks {
    size_t count, offsets[POSITIONS];
    size_t pieces, at[POSITIONS], from[POSITIONS];
    uint8_t order[POSITIONS][PIECE];
};

static void find_pieces(struct picks *picks, size_t run, size_t line)
{
    size_t bytes = picks->count * run, pieces = (bytes + PIECE - 1) / PIECE, each = PIECE / run;
    picks->pieces = 0;
    if (run > PIECE / 2 || (run & (run - 1)) != 0 || bytes < PIECE || line < PIECE)
        return;
    for (size_t p = 0; p < pieces; p++) {
        // The last one ends where the others would not.
        size_t first = p + 1 < pieces ? p * each : picks->count - each, from = picks->offsets[first];
        from = from < line - PIECE ? from : line - PIECE;
        picks->at[p] = first * run;
        picks->from[p] = from;
        for (size_t i = 0; i < PIECE; i++) {
            size_t place = picks->offsets[first + i / run] + i % run - from;
            if (place >= PIECE)
                return;
            picks->order[p][i] = (uint8_t)place;
        }
    }
    picks->pieces = pieces;
}

#if defined(__x86_64__)
#include <immintrin.h>

WNN_AVX2 static void copy_pieces(const struct picks *picks, const char *line, char *to)
{
    for (size_t p = 0; p < picks->pieces; p++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(line + picks->from[p]));
        __m128i order = _mm_loadu_si128((const __m128i *)(const void *)picks->order[p]);
        _mm_storeu_si128((__m128i *)(void *)(to + picks->at[p]), _mm_shuffle_epi8(bytes, order));
    }
}
#endif

#define COPY_RUNS(bytes)                                                                                     \
    for (size_t i = 0; i < picks->count; i++)                                                                \
    memcpy(to + i * (bytes), line + picks->offsets[i], bytes)

static void copy_runs(const struct picks *picks, size_t run, const char *line, char *to)
{
#if defined(__x86_64__)
    if (picks->pieces > 0 && __builtin_cpu_supports("avx2")) {
        copy_pieces(picks, line, to);
        return;
    }
#endif
    switch (run) {
    case 1:
        COPY_RUNS(1);
        break;
    case 2:
        COPY_RUNS(2);
        break;
    case 4:
        COPY_RUNS(4);
        break;
    case 8:
        COPY_RUNS(8);
        break;
    case 16:
        COPY_RUNS(16);
        break;
    default:
        for (size_t i = 0; i < picks->count; i++)
            wnn_copy_run(to + i * run, line + picks->offsets[i], run);
        break;
    }
}

// Items are lines of the output.
static void nearest_lines(void *argument, size_t begin, size_t end)
{
    const struct resample *resample = argument;
    size_t run = resample->run * resample->size;
    struct picks picks;
    struct way way;
    find_rows(resample, &way);
    for (size_t x = 0; x < resample->out[1]; x += POSITIONS) {
        picks.count = resample->out[1] - x < POSITIONS ? resample->out[1] - x : POSITIONS;
        for (size_t i = 0; i < picks.count; i++)
            picks.offsets[i] = find_nearest(resample, 1, x + i) * run;
        find_pieces(&picks, run, resample->in[1] * run);
        for (start(resample, &way, begin); way.line < end; next(resample, &way)) {
            const char *line = resample->input + lines_below(resample, &way).low * resample->size;
            copy_runs(&picks, run, line, resample->output + (way.line * resample->out[1] + x) * run);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Linear: two lines of the input become one, and this is read between its elements
// ---------------------------------------------------------------------------------------------------------------

// Some positions of a line.
struct columns {
    size_t count, first, spanned; // positions; the first column of the input, and their number
    int32_t low[POSITIONS + SLACK], high[POSITIONS + SLACK]; // after the first column
    float weight[POSITIONS + SLACK];
    bool close; // every LANES_MOST positions, or less, are made of as many neighbouring columns
};

#define LANES_MOST 16

// `count` elements from `low` and from `high` on become float32, a mean of both. What does not count is not
// looked at: a weight of 0 would make a NaN of Inf. Whole vectors may be read and written.
#define BLEND(Type)                                                                                          \
    do {                                                                                                     \
        const Type *a = (const Type *)(const void *)resample->input + low;                                   \
        const Type *b = (const Type *)(const void *)resample->input + high;                                  \
        size_t last =                                                                                        \
            (low > high ? low : high) + whole <= resample->count ? whole : count / VECTOR * VECTOR;          \
        size_t i = 0;                                                                                        \
        for (; part == 0 && i < last; i += VECTOR)                                                           \
            for (size_t j = i; j < i + VECTOR; j++)                                                          \
                to[j] = (float)a[j];                                                                         \
        for (; i < last; i += VECTOR)                                                                        \
            for (size_t j = i; j < i + VECTOR; j++)                                                          \
                to[j] = (float)a[j] * rest + (float)b[j] * part;                                             \
        for (; i < count; i++)                                                                               \
            to[i] = part == 0 ? (float)a[i] : (float)a[i] * rest + (float)b[i] * part;                       \
    } while (0)

WNN_INLINE void blend_lines(const struct resample *resample, size_t low, size_t high, float part,
                            size_t count, float *restrict to)
{
    float rest = 1 - part, floats[ROOM];
    size_t whole = (count + VECTOR - 1) / VECTOR * VECTOR;
    switch (resample->type) {
    case WNNDataType_Float32:
        BLEND(float);
        break;
    case WNNDataType_Int8:
        BLEND(int8_t);
        break;
    case WNNDataType_Uint8:
        BLEND(uint8_t);
        break;
    default:
        wnn_half_to_float_array((const uint16_t *)(const void *)resample->input + low, to, count);
        if (part == 0)
            break;
        wnn_half_to_float_array((const uint16_t *)(const void *)resample->input + high, floats, count);
        for (size_t i = 0; i < count; i++)
            to[i] = to[i] * rest + floats[i] * part;
        break;
    }
}

// 8-bit results are means of values in range. There is slack behind the values.
WNN_INLINE void store(const struct resample *resample, size_t offset, size_t count, const float *values)
{
    char *to = resample->output + offset * resample->size;
    switch (resample->type) {
    case WNNDataType_Float32:
        wnn_copy_run(to, (const char *)values, count * sizeof *values);
        break;
    case WNNDataType_Float16:
        wnn_half_from_float_array(values, (uint16_t *)(void *)to, count);
        break;
    default:
        for (size_t i = 0; i < count; i += VECTOR) {
            char bytes[VECTOR];
            for (size_t j = 0; j < VECTOR; j++) {
                float shifted = values[i + j] + 0x1.8p23f; // rounds
                uint32_t bits;
                memcpy(&bits, &shifted, sizeof bits);
                bytes[j] = (char)bits;
            }
            wnn_copy_run(to + i, bytes, count - i < VECTOR ? count - i : VECTOR);
        }
        break;
    }
}

// Elements one by one, by places that compilers cannot see into: vectors would gather them, which is slower.
static void blend_elements(const struct columns *x, const float *line, float *to)
{
    for (size_t i = 0; i < x->count; i++) {
        size_t low = (size_t)x->low[i], high = (size_t)x->high[i];
        __asm__("" : "+r"(low), "+r"(high));
        float left = line[low], right = line[high], part = x->weight[i];
        float mean = left * (1 - part) + right * part;
        to[i] = part == 0 ? left : mean;
    }
}

#if defined(__x86_64__)
// Positions that are close: left and right neighbours are put in order from two loads.
WNN_AVX2 static void blend_close_avx2(const struct columns *x, const float *line, float *to)
{
    const __m256 one = _mm256_set1_ps(1);
    for (size_t i = 0; i < x->count; i += 8) {
        const float *from = line + x->low[i];
        __m256i order = _mm256_loadu_si256((const __m256i *)(const void *)(x->low + i));
        order = _mm256_sub_epi32(order, _mm256_set1_epi32(x->low[i]));
        __m256 left = _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), order);
        __m256 right = _mm256_permutevar8x32_ps(_mm256_loadu_ps(from + 1), order);
        __m256 part = _mm256_loadu_ps(x->weight + i);
        __m256 mean =
            _mm256_add_ps(_mm256_mul_ps(left, _mm256_sub_ps(one, part)), _mm256_mul_ps(right, part));
        __m256 alone = _mm256_cmp_ps(part, _mm256_setzero_ps(), _CMP_EQ_OQ);
        _mm256_storeu_ps(to + i, _mm256_blendv_ps(mean, left, alone));
    }
}

WNN_AVX512 static void blend_close_avx512(const struct columns *x, const float *line, float *to)
{
    const __m512 one = _mm512_set1_ps(1);
    for (size_t i = 0; i < x->count; i += 16) {
        const float *from = line + x->low[i];
        __m512i order = _mm512_sub_epi32(_mm512_loadu_si512(x->low + i), _mm512_set1_epi32(x->low[i]));
        __m512 left = _mm512_permutexvar_ps(order, _mm512_loadu_ps(from));
        __m512 right = _mm512_permutexvar_ps(order, _mm512_loadu_ps(from + 1));
        __m512 part = _mm512_loadu_ps(x->weight + i);
        __m512 mean =
            _mm512_add_ps(_mm512_mul_ps(left, _mm512_sub_ps(one, part)), _mm512_mul_ps(right, part));
        __mmask16 alone = _mm512_cmp_ps_mask(part, _mm512_setzero_ps(), _CMP_EQ_OQ);
        _mm512_storeu_ps(to + i, _mm512_mask_mov_ps(mean, alone, left));
    }
}
#endif

static void blend_columns(const struct columns *x, const float *line, float *to)
{
#if defined(__x86_64__)
    if (x->close && wnn_has_avx512()) {
        blend_close_avx512(x, line, to);
        return;
    }
    if (x->close && __builtin_cpu_supports("avx2")) {
        blend_close_avx2(x, line, to);
        return;
    }
#endif
    blend_elements(x, line, to);
}

static void find_columns(const struct resample *resample, size_t position, struct columns *x)
{
    size_t most = resample->out[1] - position < POSITIONS ? resample->out[1] - position : POSITIONS;
    x->first = find_neighbours(resample, 1, position).low;
    x->spanned = 0;
    x->close = true;
    size_t block = resample->run < BLOCK ? resample->run : BLOCK;
    for (x->count = 0; x->count < most; x->count++) {
        size_t i = x->count;
        struct neighbours of = find_neighbours(resample, 1, position + i);
        if ((of.high - x->first + 1) * block > ROOM)
            break;
        x->low[i] = (int32_t)(of.low - x->first);
        x->high[i] = (int32_t)(of.high - x->first);
        x->weight[i] = of.weight;
        x->spanned = of.high - x->first + 1;
        x->close &=
            x->low[i] - x->low[i / LANES_MOST * LANES_MOST] < LANES_MOST && x->low[i] - x->low[i / 8 * 8] < 8;
    }
    for (size_t i = x->count; i < x->count + LANES_MOST; i++) {
        x->low[i] = x->high[i] = x->low[x->count - 1];
        x->weight[i] = 0;
    }
}

// Elements [channel, channel + count) of the run at each position of a line of the output. `line` has those
// of the columns below.
WNN_INLINE void blend_runs(const struct resample *resample, const struct columns *x, size_t count,
                           const float *line, size_t to)
{
    for (size_t i = 0; i < x->count; i++) {
        const float *left = line + (size_t)x->low[i] * count, *right = line + (size_t)x->high[i] * count;
        float part = x->weight[i], rest = 1 - part, means[BLOCK];
        for (size_t j = 0; part != 0 && j < count; j++)
            means[j] = left[j] * rest + right[j] * part;
        store(resample, to + i * resample->run, count, part == 0 ? left : means);
    }
}

// Elements that stand alone, of several lines in turn, so that none is read while it is being written.
WNN_INLINE void linear_elements(const struct resample *resample, const struct columns *x, size_t position,
                                struct way *way, size_t end)
{
    float lines[ROOM + SLACK] = {0}, values[TOGETHER][POSITIONS + SLACK];
    size_t pitch = (x->spanned + VECTOR) / VECTOR * VECTOR, most = ROOM / pitch;
    most = most < 1 ? 1 : most > TOGETHER ? TOGETHER : most;
    while (way->line < end) {
        size_t count = 0, to = way->line * resample->out[1] + position;
        for (; way->line < end && count < most; count++, next(resample, way)) {
            struct neighbours y = lines_below(resample, way);
            blend_lines(resample, y.low + x->first, y.high + x->first, y.weight, x->spanned,
                        lines + count * pitch);
        }
        for (size_t i = 0; i < count; i++)
            blend_columns(x, lines + i * pitch, values[i]);
        for (size_t i = 0; i < count; i++)
            store(resample, to + i * resample->out[1], x->count, values[i]);
    }
}

// Runs of elements, in blocks of some of them.
WNN_INLINE void linear_runs(const struct resample *resample, const struct columns *x, size_t position,
                            struct way *way, size_t end)
{
    float line[ROOM + SLACK] = {0};
    size_t run = resample->run;
    for (; way->line < end; next(resample, way)) {
        struct neighbours y = lines_below(resample, way);
        size_t to = (way->line * resample->out[1] + position) * run;
        size_t low = y.low + x->first * run, high = y.high + x->first * run;
        if (run <= BLOCK) {
            blend_lines(resample, low, high, y.weight, x->spanned * run, line);
            blend_runs(resample, x, run, line, to);
            continue;
        }
        for (size_t channel = 0, block; channel < run; channel += block) {
            block = run - channel < BLOCK ? run - channel : BLOCK;
            for (size_t c = 0; c < x->spanned; c++)
                blend_lines(resample, low + channel + c * run, high + channel + c * run, y.weight, block,
                            line + c * block);
            blend_runs(resample, x, block, line, to + channel);
        }
    }
}

static void linear_lines(void *argument, size_t begin, size_t end)
{
    const struct resample *resample = argument;
    struct columns columns;
    struct way way;
    find_rows(resample, &way);
    for (size_t x = 0; x < resample->out[1]; x += columns.count) {
        find_columns(resample, x, &columns);
        start(resample, &way, begin);
        if (resample->run == 1)
            linear_elements(resample, &columns, x, &way, end);
        else
            linear_runs(resample, &columns, x, &way, end);
    }
}
WNN_VARIANTS(linear_lines)

void wnn_cpu_resample2d(const struct kernel_call *call)
{
    const WNNResample2dOptions *options = call->node->attrs;
    const uint32_t *in = call->in[0].shape.dim, *out = call->out[0].shape.dim;
    unsigned first = options->axes.data[0], second = options->axes.data[1];
    if (call->out[0].count == 0)
        return;
    if (first > second) {
        unsigned third = first;
        first = second;
        second = third;
    }

    struct resample resample = {
        .linear = options->mode == WNNInterpolationMode_Linear,
        .type = call->in[0].type,
        .size = wnn_dtype_bits(call->in[0].type) / 8,
        .input = call->in[0].data,
        .output = call->out[0].data,
        .count = call->in[0].count,
        .outer = 1,
        .middle = 1,
        .run = 1,
        .in = {in[first], in[second]},
        .out = {out[first], out[second]},
    };
    for (unsigned d = 0; d < call->in[0].shape.rank; d++) {
        if (d < first)
            resample.outer *= in[d];
        else if (d > first && d < second)
            resample.middle *= in[d];
        else if (d > second)
            resample.run *= in[d];
    }
    resample.in_stride[1] = resample.run;
    resample.in_stride[0] = resample.middle * resample.in[1] * resample.run;
    resample.in_outer = resample.in[0] * resample.in_stride[0];

    size_t work = resample.out[1] * resample.run;
    wnn_parallel_for(call->parallel, resample.outer * resample.out[0] * resample.middle, 1 + 8192 / work,
                     resample.linear ? WNN_BEST(linear_lines) : nearest_lines, &resample);
}
