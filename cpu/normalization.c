// SPDX-License-Identifier: Apache-2.0
//
// (x - mean) / sqrt(variance + epsilon) * scale + bias, in double (of float16 partly in float32) and rounded
// once. Instance and layer
// normalization differ in which dimensions the statistics are of, and in which of them scale and bias follow;
// batch normalization is given the statistics.
#include "cpu/elementwise.h"
#include "cpu/walk.h"

enum {
    LANES = 64,   // sums of a single column
    BLOCK = 1024, // elements that are converted at a time
    RUN = 4096    // of a single column that are converted once
};

// ---------------------------------------------------------------------------------------------------------------
// The loops: rows of `width` float32 elements, `stride` from row to row
// ---------------------------------------------------------------------------------------------------------------

struct loops {
    // Adds to sums[j] the elements of column j, or the squares of their distances from middle[j].
    void (*add)(double *sums, size_t width, const float *x, size_t rows, size_t stride);
    void (*add_squares)(double *sums, const double *middle, size_t width, const float *x, size_t rows,
                        size_t stride);

    // The sum of LANES sums.
    double (*total)(const double *sums);

    // The output may be the input. y = (x - mean[j]) * factor[j] + bias[j]; rows of y are `out_stride` apart.
    void (*columns)(float *y, size_t out_stride, const float *x, size_t stride, size_t rows, size_t width,
                    const double *mean, const double *factor, const double *bias);

    // y[i] = (x[i] - mean) * factor + bias
    void (*line)(float *y, const float *x, size_t count, double mean, double factor, double bias);

    // y[i] = (x[i] - mean) * factor * scale[i] + bias[i]
    void (*run)(float *y, const float *x, size_t count, double mean, double factor, const float *scale,
                const float *bias);
};

// With arithmetic in Real: of what is float16 before and after, float32 does not lose anything.
#define DEFINE_LOOPS(set, TARGET, Real)                                                                      \
    TARGET static void add_##set(double *restrict sums, size_t width, const float *restrict x, size_t rows,  \
                                 size_t stride)                                                              \
    {                                                                                                        \
        for (; rows >= 4; rows -= 4, x += 4 * stride) {                                                      \
            const float *b = x + stride, *c = b + stride, *d = c + stride;                                   \
            for (size_t j = 0; j < width; j++)                                                               \
                sums[j] += (double)(((Real)x[j] + (Real)b[j]) + ((Real)c[j] + (Real)d[j]));                  \
        }                                                                                                    \
        for (; rows > 0; rows--, x += stride) {                                                              \
            for (size_t j = 0; j < width; j++)                                                               \
                sums[j] += (double)x[j];                                                                     \
        }                                                                                                    \
    }                                                                                                        \
    TARGET static void add_squares_##set(double *restrict sums, const double *restrict middle, size_t width, \
                                         const float *restrict x, size_t rows, size_t stride)                \
    {                                                                                                        \
        Real m[WNN_WALK_WIDTH];                                                                              \
        for (size_t j = 0; j < width; j++)                                                                   \
            m[j] = (Real)middle[j];                                                                          \
        for (; rows >= 2; rows -= 2, x += 2 * stride) {                                                      \
            const float *y = x + stride;                                                                     \
            for (size_t j = 0; j < width; j++) {                                                             \
                Real a = (Real)x[j] - m[j], b = (Real)y[j] - m[j];                                           \
                sums[j] += (double)(a * a + b * b);                                                          \
            }                                                                                                \
        }                                                                                                    \
        for (; rows > 0; rows--, x += stride) {                                                              \
            for (size_t j = 0; j < width; j++) {                                                             \
                Real a = (Real)x[j] - m[j];                                                                  \
                sums[j] += (double)(a * a);                                                                  \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    TARGET static double total_##set(const double *restrict sums)                                            \
    {                                                                                                        \
        double eight[8] = {0}, four[4];                                                                      \
        for (size_t i = 0; i < LANES; i += 8)                                                                \
            for (size_t j = 0; j < 8; j++)                                                                   \
                eight[j] += sums[i + j];                                                                     \
        for (size_t j = 0; j < 4; j++)                                                                       \
            four[j] = eight[j] + eight[j + 4];                                                               \
        return (four[0] + four[2]) + (four[1] + four[3]);                                                    \
    }                                                                                                        \
    TARGET static void columns_##set(float *y, size_t out_stride, const float *x, size_t stride,             \
                                     size_t rows, size_t width, const double *restrict mean,                 \
                                     const double *restrict factor, const double *restrict bias)             \
    {                                                                                                        \
        for (; rows > 0; rows--, x += stride, y += out_stride) {                                             \
            WNN_INDEPENDENT                                                                                  \
            for (size_t j = 0; j < width; j++)                                                               \
                y[j] = (float)(((double)x[j] - mean[j]) * factor[j] + bias[j]);                              \
        }                                                                                                    \
    }                                                                                                        \
    TARGET static void line_##set(float *y, const float *x, size_t count, double mean, double factor,        \
                                  double bias)                                                               \
    {                                                                                                        \
        Real m = (Real)mean, f = (Real)factor, b = (Real)bias;                                               \
        WNN_INDEPENDENT                                                                                      \
        for (size_t i = 0; i < count; i++)                                                                   \
            y[i] = (float)(((Real)x[i] - m) * f + b);                                                        \
    }                                                                                                        \
    TARGET static void run_##set(float *y, const float *x, size_t count, double mean, double factor,         \
                                 const float *scale, const float *bias)                                      \
    {                                                                                                        \
        Real m = (Real)mean, f = (Real)factor;                                                               \
        WNN_INDEPENDENT                                                                                      \
        for (size_t i = 0; i < count; i++)                                                                   \
            y[i] = (float)(((Real)x[i] - m) * f * (Real)scale[i] + (Real)bias[i]);                           \
    }                                                                                                        \
    static const struct loops loops_##set = {add_##set,     add_squares_##set, total_##set,                  \
                                             columns_##set, line_##set,        run_##set};

DEFINE_LOOPS(any, , double)
DEFINE_LOOPS(half_any, , float)
#if defined(__x86_64__)
DEFINE_LOOPS(avx2, WNN_AVX2, double)
DEFINE_LOOPS(half_avx2, WNN_AVX2, float)
DEFINE_LOOPS(avx512, WNN_AVX512, double)
DEFINE_LOOPS(half_avx512, WNN_AVX512, float)
#endif

static const struct loops *find_loops(WNNDataType type)
{
    bool half = type == WNNDataType_Float16;
#if defined(__x86_64__)
    if (wnn_has_avx512())
        return half ? &loops_half_avx512 : &loops_avx512;
    if (__builtin_cpu_supports("avx2"))
        return half ? &loops_half_avx2 : &loops_avx2;
#endif
    return half ? &loops_half_any : &loops_any;
}

// ---------------------------------------------------------------------------------------------------------------
// Instance and layer normalization
// ---------------------------------------------------------------------------------------------------------------

struct normalize {
    const struct tensor *in, *out, *scale, *bias;
    const struct loops *loops;
    double epsilon;
    bool half;
    struct walk walk;
};

// Elements of a float tensor from `first` on, `step` apart (0: the same one again), as float32: in the
// tensor's memory or in `buffer`. NULL if the tensor is absent.
static const float *load(const struct tensor *tensor, size_t first, size_t step, size_t count, float *buffer)
{
    if (!tensor->data)
        return NULL;
    const float *floats = (const float *)tensor->data + first;
    const uint16_t *halves = (const uint16_t *)tensor->data + first;
    bool half = tensor->type == WNNDataType_Float16;
    if (step == 1 && !half)
        return floats;
    if (step == 1)
        wnn_half_to_float_array(halves, buffer, count);
    for (size_t i = 0; step != 1 && i < count; i++)
        buffer[i] = half ? wnn_half_to_float(halves[i * step]) : floats[i * step];
    return buffer;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

// The rows of a piece, BLOCK elements of float16 at a time: `stride` is that of what is returned.
static const float *load_rows(const struct normalize *n, size_t offset, size_t width, size_t rows,
                              float *buffer, size_t *stride)
{
    if (!n->half)
        return (const float *)n->in->data + offset;
    const uint16_t *halves = (const uint16_t *)n->in->data + offset;
    for (size_t r = 0; *stride != width && r < rows; r++)
        wnn_half_to_float_array(halves + r * *stride, buffer + r * width, width);
    if (*stride == width)
        wnn_half_to_float_array(halves, buffer, rows * width);
    *stride = width;
    return buffer;
}

// The mean of each column of a unit, of its values or, if there is a `middle`, of their squared distances
// from it. A single column is cut into LANES, where that is possible, and so is its `middle`.
static void average(const struct normalize *n, size_t unit, const float *run, const double *middle,
                    double *means)
{
    const struct walk *walk = &n->walk;
    struct piece piece;
    float buffer[BLOCK];
    wnn_walk_start_rows(&piece, walk, unit, 0, walk->reduced);
    size_t lanes = piece.width == 1 ? LANES : piece.width, columns = piece.width == 1 ? 1 : walk->columns;
    for (size_t j = 0; j < lanes; j++)
        means[j] = 0;
    while (wnn_walk_next(&piece)) {
        for (size_t row = 0, rows; row < piece.rows; row += rows) {
            rows = n->half && !run ? smaller(piece.rows - row, BLOCK / piece.width) : piece.rows;
            size_t width = piece.width, stride = columns, count = rows, rest = 0;
            const float *x =
                run ? run + row : load_rows(n, piece.offset + row * columns, width, rows, buffer, &stride);
            if (width == 1) {
                count = rows / LANES;
                rest = rows % LANES;
                width = stride = LANES;
            }
            if (middle)
                n->loops->add_squares(means, middle, width, x, count, stride);
            else
                n->loops->add(means, width, x, count, stride);
            if (rest > 0 && middle)
                n->loops->add_squares(means, middle, rest, x + count * LANES, 1, 0);
            else if (rest > 0)
                n->loops->add(means, rest, x + count * LANES, 1, 0);
        }
    }
    if (piece.width == 1) {
        double mean = n->loops->total(means) / (double)walk->reduced;
        for (size_t j = 0; j < LANES; j++)
            means[j] = mean;
        return;
    }
    for (size_t j = 0; j < lanes; j++)
        means[j] /= (double)walk->reduced;
}

// What is the same for many units, in float32: the input of one, and scale and bias.
struct kept {
    float input[RUN], scale[RUN], bias[RUN];
};

// A run of a single column.
static void apply_run(const struct normalize *n, const struct piece *piece, const struct kept *kept,
                      double mean, double factor)
{
    float in[BLOCK], out[BLOCK], scales[BLOCK], biases[BLOCK];
    size_t step = n->walk.row_parameter;
    for (size_t i = 0, count; i < piece->rows; i += count) {
        count = smaller(piece->rows - i, BLOCK);
        size_t at = piece->offset + i, parameter = piece->parameter + i * step, stride = 1;
        float *y = n->half ? out : (float *)n->out->data + at;
        const float *x = kept ? kept->input + i : load_rows(n, at, 1, count, in, &stride);
        bool known = kept && step == 1;
        const float *scale = known && n->scale->data
                                 ? kept->scale + parameter
                                 : load(n->scale, parameter, step, step ? count : 1, scales);
        const float *bias = known && n->bias->data ? kept->bias + parameter
                                                   : load(n->bias, parameter, step, step ? count : 1, biases);
        if (step == 0 || (!scale && !bias)) {
            n->loops->line(y, x, count, mean, scale ? factor * (double)*scale : factor,
                           bias ? (double)*bias : 0);
        } else {
            for (size_t j = 0; j < count && !scale; j++)
                scales[j] = 1;
            for (size_t j = 0; j < count && !bias; j++)
                biases[j] = 0;
            n->loops->run(y, x, count, mean, factor, scale ? scale : scales, bias ? bias : biases);
        }
        if (n->half)
            wnn_half_from_float_array(out, (uint16_t *)n->out->data + at, count);
    }
}

// Rows of several columns. Scale and bias may differ from row to row.
static void apply_rows(const struct normalize *n, const struct piece *piece, const double *mean,
                       const double *factor)
{
    float in[BLOCK], out[BLOCK], buffer[WNN_WALK_WIDTH];
    double factors[WNN_WALK_WIDTH], biases[WNN_WALK_WIDTH];
    size_t width = piece->width, columns = n->walk.columns, step = n->walk.column_parameter;
    for (size_t row = 0, rows; row < piece->rows; row += rows) {
        rows = n->walk.row_parameter ? 1 : n->half ? smaller(piece->rows - row, BLOCK / width) : piece->rows;
        size_t at = piece->offset + row * columns, parameter = piece->parameter + row * n->walk.row_parameter;
        const float *scale = load(n->scale, parameter, step, width, buffer);
        for (size_t j = 0; j < width; j++)
            factors[j] = scale ? factor[j] * (double)scale[j] : factor[j];
        const float *bias = load(n->bias, parameter, step, width, buffer);
        for (size_t j = 0; j < width; j++)
            biases[j] = bias ? (double)bias[j] : 0;
        size_t stride = columns;
        const float *x = load_rows(n, at, width, rows, in, &stride);
        if (!n->half) {
            n->loops->columns((float *)n->out->data + at, columns, x, stride, rows, width, mean, factors,
                              biases);
            continue;
        }
        n->loops->columns(out, width, x, stride, rows, width, mean, factors, biases);
        for (size_t r = 0; r < rows; r++)
            wnn_half_from_float_array(out + r * width, (uint16_t *)n->out->data + at + r * columns, width);
    }
}

static void normalize_units(void *argument, size_t begin, size_t end)
{
    const struct normalize *n = argument;
    const struct walk *walk = &n->walk;
    struct kept room, *kept = NULL;
    if (n->half && walk->columns == 1 && walk->outer.rank == 0 && walk->rows <= RUN) {
        kept = &room;
        if (walk->row_parameter == 1 && n->scale->data)
            wnn_half_to_float_array(n->scale->data, room.scale, walk->rows);
        if (walk->row_parameter == 1 && n->bias->data)
            wnn_half_to_float_array(n->bias->data, room.bias, walk->rows);
    }
    for (size_t unit = begin; unit < end; unit++) {
        double mean[WNN_WALK_WIDTH], factor[WNN_WALK_WIDTH];
        struct piece piece;
        wnn_walk_start_rows(&piece, walk, unit, 0, walk->reduced);
        if (kept)
            wnn_half_to_float_array((const uint16_t *)n->in->data + piece.at, room.input, walk->rows);
        const float *run = kept ? room.input : NULL;
        average(n, unit, run, NULL, mean);
        average(n, unit, run, mean, factor);
        for (size_t j = 0; j < piece.width; j++)
            factor[j] = 1 / sqrt(factor[j] + n->epsilon);
        while (wnn_walk_next(&piece)) {
            if (piece.width == 1)
                apply_run(n, &piece, kept, mean[0], factor[0]);
            else
                apply_rows(n, &piece, mean, factor);
        }
    }
}

static void normalize(const struct kernel_call *call, double epsilon, uint32_t reduced,
                      const size_t parameter[WNN_MAX_RANK])
{
    struct normalize n = {&call->in[0],
                          &call->out[0],
                          &call->in[1],
                          &call->in[2],
                          find_loops(call->in[0].type),
                          epsilon,
                          call->in[0].type == WNNDataType_Float16,
                          {0}};
    wnn_walk_init(&n.walk, &n.in->shape, reduced, parameter);
    wnn_parallel_for(call->parallel, n.walk.units, wnn_walk_grain(&n.walk), normalize_units, &n);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-instancenorm
void wnn_cpu_instance_normalization(const struct kernel_call *call)
{
    const WNNInstanceNormalizationOptions *options = call->node->attrs;
    bool last = options->layout == WNNInputOperandLayout_NHWC;
    size_t parameter[WNN_MAX_RANK] = {0};
    parameter[last ? 3 : 1] = 1;
    normalize(call, options->epsilon, last ? 0x6u : 0xCu, parameter);
}

static void fill_units(void *argument, size_t begin, size_t end)
{
    const struct normalize *n = argument;
    double values[WNN_PIECE] = {0};
    if (n->bias->data)
        wnn_load_doubles(n->bias, 0, 1, values);
    for (size_t i = 1; i < WNN_PIECE; i++)
        values[i] = values[0];
    for (size_t i = begin; i < end; i += WNN_PIECE)
        wnn_store_doubles(values, n->out, i, end - i < WNN_PIECE ? end - i : WNN_PIECE);
}
WNN_VARIANTS(fill_units)

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-layernorm
void wnn_cpu_layer_normalization(const struct kernel_call *call)
{
    const WNNLayerNormalizationOptions *options = call->node->attrs;
    if (options->axes.count == 0) { // every element is its own mean
        struct normalize n = {.out = &call->out[0], .bias = &call->in[2]};
        wnn_parallel_for(call->parallel, n.out->count, 65536, WNN_BEST(fill_units), &n);
        return;
    }
    uint32_t reduced = 0;
    size_t parameter[WNN_MAX_RANK] = {0}, stride = 1;
    for (size_t i = options->axes.count; i-- > 0;) {
        uint32_t axis = options->axes.data[i];
        reduced |= 1u << axis;
        parameter[axis] = stride;
        stride *= call->in[0].shape.dim[axis];
    }
    normalize(call, options->epsilon, reduced, parameter);
}

// ---------------------------------------------------------------------------------------------------------------
// Batch normalization
// ---------------------------------------------------------------------------------------------------------------

// The input is [outer, channels, inner]. A unit is a channel's elements in one place of `outer` or, if
// `inner` is 1, some channels' in ROWS places.
struct batch {
    const struct tensor *in, *out, *mean, *variance, *scale, *bias;
    const struct loops *loops;
    size_t outer, channels, inner, blocks;
    double epsilon;
};

enum {
    ROWS = 32
};

// `count` elements of one tensor.
static void load_channels(const struct tensor *tensor, size_t first, size_t count, double absent,
                          double *values)
{
    if (tensor->data) {
        wnn_load_doubles(tensor, first, count, values);
    } else {
        for (size_t i = 0; i < count; i++)
            values[i] = absent;
    }
}

static void batch_units(void *argument, size_t begin, size_t end)
{
    const struct batch *b = argument;
    double mean[WNN_PIECE], factor[WNN_PIECE], scale[WNN_PIECE], bias[WNN_PIECE];
    float in[BLOCK], out[BLOCK];
    bool half = b->in->type == WNNDataType_Float16, rows = b->inner == 1;
    for (size_t unit = begin; unit < end; unit++) {
        size_t channel = unit % b->blocks * (rows ? WNN_PIECE : 1), place = unit / b->blocks;
        size_t count = rows ? smaller(b->channels - channel, WNN_PIECE) : 1;
        load_channels(b->mean, channel, count, 0, mean);
        load_channels(b->variance, channel, count, 1, factor);
        load_channels(b->scale, channel, count, 1, scale);
        load_channels(b->bias, channel, count, 0, bias);
        for (size_t j = 0; j < count; j++)
            factor[j] = scale[j] / sqrt(factor[j] + b->epsilon);
        // Runs of a channel, or rows.
        size_t runs = rows ? smaller(b->outer - place * ROWS, ROWS) : 1, length = rows ? count : b->inner;
        size_t first =
            rows ? place * ROWS * b->channels + channel : (place * b->channels + channel) * b->inner;
        for (size_t r = 0; r < runs; r++) {
            for (size_t i = 0, n; i < length; i += n) {
                n = half ? smaller(length - i, BLOCK) : length;
                size_t at = first + r * b->channels + i;
                const float *x = (const float *)b->in->data + at;
                float *y = (float *)b->out->data + at;
                if (half) {
                    wnn_half_to_float_array((const uint16_t *)b->in->data + at, in, n);
                    x = in;
                    y = out;
                }
                if (rows)
                    b->loops->columns(y, 0, x, 0, 1, n, mean + i, factor + i, bias + i);
                else
                    b->loops->line(y, x, n, mean[0], factor[0], bias[0]);
                if (half)
                    wnn_half_from_float_array(out, (uint16_t *)b->out->data + at, n);
            }
        }
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-batchnorm
void wnn_cpu_batch_normalization(const struct kernel_call *call)
{
    const WNNBatchNormalizationOptions *options = call->node->attrs;
    const struct tensor *in = call->in;
    struct batch b = {&in[0], &call->out[0],          &in[1], &in[2], &in[3],
                      &in[4], find_loops(in[0].type), 1,      1,      1,
                      1,      options->epsilon};
    for (unsigned d = 0; d < in[0].shape.rank; d++)
        *(d < options->axis ? &b.outer : d == options->axis ? &b.channels : &b.inner) *= in[0].shape.dim[d];
    if (in[0].count == 0)
        return;
    size_t units, work;
    if (b.inner == 1) {
        b.blocks = (b.channels + WNN_PIECE - 1) / WNN_PIECE;
        units = (b.outer + ROWS - 1) / ROWS * b.blocks;
        work = ROWS * (b.channels < WNN_PIECE ? b.channels : WNN_PIECE);
    } else {
        b.blocks = b.channels;
        units = b.outer * b.channels;
        work = b.inner;
    }
    wnn_parallel_for(call->parallel, units, 16384 / work + 1, batch_units, &b);
}
