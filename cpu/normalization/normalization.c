// SPDX-License-Identifier: Apache-2.0
//
// (x - mean) / sqrt(variance + epsilon) * scale + bias, in double (of float16 partly in float32) and rounded
// once, or as if the mean were 0. Instance and layer normalization differ in which dimensions the statistics
// are of, and in which of them scale and bias follow; batch normalization is given the statistics.
#include "cpu/elementwise/elementwise.h"
#include "cpu/simd/lanes.h"
#include "cpu/simd/non_temporal.h"
#include "cpu/reduce/iterator.h"
#include "ops/geometry.h"

#include <math.h>

enum {
    BLOCK = 4096,      // elements of a column whose moments are summed up at a time
    RUNS = 8,          // columns that are taken together, at most
    AHEAD = 2048,      // bytes that are fetched before they are read
    AHEAD_ROWS = 8,    // likewise rows
    ROWS_AHEAD = 8192, // likewise bytes of short rows
    STRIP = 64,        // columns that few are made into, whose sums fit into registers
    PART = 1024,       // scales and biases that are converted at a time
    KEPT = 4096,       // those that are converted once
    MAX_COLUMNS = WNN_PIECE,
};

// Units that lie one behind the other, each in one piece, with a scale and a bias for each element (NULL:
// none). The mean is 0 unless they are centered.
struct rows {
    size_t length;
    double epsilon;
    bool centered;
    const float *scales, *biases;
};

// Loops over rows of `width` columns, `stride` elements from row to row. width is at most MAX_COLUMNS.
struct loops {
    // The sums of the differences of each column from shift[j], and of their squares.
    void (*moments)(const void *x, size_t stride, size_t rows, size_t width, const float *shift, double *sums,
                    double *squares);
    // Of a single column. What is read next is behind it, and what is written next at `y`, unless that is
    // NULL.
    void (*run_moments)(const void *x, void *y, size_t count, float shift, double *sum, double *square);

    // The output may be the input. y = (x - mean[j]) * factor[j] + bias[j]. What lies `ahead` bytes behind x
    // is fetched.
    void (*columns)(void *y, const void *x, size_t stride, size_t rows, size_t width, const double *mean,
                    const double *factor, const double *bias, size_t ahead, bool non_temporal);

    // y[i] = (x[i] - mean) * factor + bias, or, if scales are not NULL, * factor * scales[i] + biases[i]
    // What lies `ahead` bytes behind x is fetched. `stream` stores past the caches, if y is aligned to a
    // line.
    void (*run)(void *y, const void *x, size_t count, double mean, double factor, double bias,
                const float *scales, const float *biases, size_t ahead);
    void (*stream)(void *y, const void *x, size_t count, double mean, double factor, double bias,
                   const float *scales, const float *biases, size_t ahead);

    // Up to RUNS of them. `stream` stores past the caches, if y and all rows are aligned to a line.
    void (*rows)(const struct rows *rows, void *y, const void *x, size_t count, bool stream);
};

#define LOOPS "cpu/normalization/normalization.inc"
#include "cpu/simd/each_isa.inc"

// Where results go. What is read next is fetched meanwhile.
struct target {
    const struct loops *loops;
    size_t size; // bytes of an element
    bool non_temporal;
};

static void put_run(const struct target *target, char *y, const char *x, size_t count, double mean,
                    double factor, double bias, const float *scales, const float *biases, size_t ahead)
{
    size_t size = target->size, streamed = 0, head = -(uintptr_t)y % WNN_LINE / size;
    if (target->non_temporal && count > head)
        streamed = (count - head) * size / WNN_LINE * WNN_LINE / size;
    if (streamed == 0 || head > 0)
        target->loops->run(y, x, streamed == 0 ? count : head, mean, factor, bias, scales, biases, ahead);
    if (streamed == 0)
        return;
    size_t ends[] = {head, head + streamed};
    target->loops->stream(y + head * size, x + head * size, streamed, mean, factor, bias,
                          scales ? scales + head : NULL, biases ? biases + head : NULL, ahead);
    if (ends[1] < count)
        target->loops->run(y + ends[1] * size, x + ends[1] * size, count - ends[1], mean, factor, bias,
                           scales ? scales + ends[1] : NULL, biases ? biases + ends[1] : NULL, ahead);
}

static struct target make_target(const struct tensor *out)
{
    size_t size = wnn_dtype_bits(out->type) / 8;
    return (struct target){.loops = &WNN_BEST_ISA(loops)[out->type == WNNDataType_Float16],
                           .size = size,
                           .non_temporal = wnn_is_non_temporal(out->count * size)};
}

// ---------------------------------------------------------------------------------------------------------------
// Instance and layer normalization
// ---------------------------------------------------------------------------------------------------------------

struct normalize {
    const struct tensor *in, *out, *scale, *bias;
    struct target target;
    double epsilon;
    bool half;
    bool centered; // around the mean; else around 0
    struct reduction_iterator iterator;
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

// Of one column: the sum of the elements that there have been, and that of their squared distances from their
// mean, or from 0.
struct moments {
    double total, squares;
};

// Adds `rows` elements to `before`, of whose differences from `shift` the sums have been taken. That is one
// of them, so that the sum of squares is at most as many times the one of distances from the mean as there
// are rows, and the difference has enough digits.
static inline void join(struct moments *moments, double before, double rows, double shift, double sum,
                        double square)
{
    double mean = shift + sum / rows, own = square - sum * (sum / rows);
    double distance = before > 0 ? mean - moments->total / before : 0;
    moments->total += shift * rows + sum;
    moments->squares += (own < 0 ? 0 : own) + distance * distance * (before * rows / (before + rows));
}

// How many rows may be taken as one of up to `most` columns, since they lie side by side.
static size_t rows_together(const struct reduction_iterator *iterator, size_t width, size_t most)
{
    return width == iterator->columns && width < most ? most / width : 1;
}

// The most rows, up to so many, that together are whole lines of either type, if any are.
static size_t whole_lines(size_t width, size_t together)
{
    for (size_t rows = together; rows > 0; rows--)
        if (width * rows % (WNN_LINE / sizeof(uint16_t)) == 0)
            return rows;
    return together;
}

static void repeat(double *values, size_t width, size_t times)
{
    for (size_t i = width; i < width * times; i++)
        values[i] = values[i - width];
}

// Adds a piece of one column.
static void join_run(const struct normalize *n, const struct piece *piece, size_t before,
                     struct moments *moments)
{
    for (size_t row = 0, rows; row < piece->rows; row += rows) {
        size_t offset = piece->offset + row;
        float buffer;
        double sum, square;
        rows = wnn_min(piece->rows - row, BLOCK);
        float shift = n->centered ? *load(n->in, offset, 1, 1, &buffer) : 0;
        char *y = n->target.non_temporal ? NULL : (char *)n->out->data + offset * n->target.size;
        n->target.loops->run_moments((const char *)n->in->data + offset * n->target.size, y, rows, shift,
                                     &sum, &square);
        if (n->centered)
            join(moments, (double)(before + row), (double)rows, (double)shift, sum, square);
        else
            moments->squares += square;
    }
}

static void join_rows(const struct normalize *n, const struct piece *piece, size_t before,
                      struct moments *moments)
{
    float shift[MAX_COLUMNS];
    double sums[MAX_COLUMNS], squares[MAX_COLUMNS], more[2][MAX_COLUMNS];
    size_t width = piece->width, columns = n->iterator.columns;
    for (size_t row = 0, rows; row < piece->rows; row += rows) {
        size_t offset = piece->offset + row * columns;
        const char *x = (const char *)n->in->data + offset * n->target.size;
        rows = wnn_min(piece->rows - row, 4 * BLOCK / width);
        size_t together = wnn_min(rows_together(&n->iterator, width, STRIP), rows), all = width * together;
        size_t rest = rows % together * width;
        if (n->centered)
            memmove(shift, load(n->in, offset, 1, width, shift), width * sizeof *shift);
        else
            memset(shift, 0, width * sizeof *shift);
        for (size_t i = width; i < all; i++)
            shift[i] = shift[i - width];
        n->target.loops->moments(x, columns * together, rows / together, all, shift, sums, squares);
        if (rest > 0)
            n->target.loops->moments(x + (rows * width - rest) * n->target.size, 0, 1, rest, shift, more[0],
                                     more[1]);
        for (size_t i = 0; i < rest; i++) {
            sums[i] += more[0][i];
            squares[i] += more[1][i];
        }
        for (size_t i = width; i < all; i += width) {
            for (size_t j = 0; j < width; j++) {
                sums[j] += sums[i + j];
                squares[j] += squares[i + j];
            }
        }
        for (size_t j = 0; j < width && n->centered; j++)
            join(&moments[j], (double)(before + row), (double)rows, (double)shift[j], sums[j], squares[j]);
        for (size_t j = 0; j < width && !n->centered; j++)
            moments[j].squares += squares[j];
    }
}

// Scales and biases in float32, where they are the same for many units.
struct kept {
    float scale[KEPT], bias[KEPT];
};

// A run of a single column.
static void apply_run(const struct normalize *n, const struct piece *piece, const struct kept *kept,
                      double mean, double factor, size_t ahead)
{
    static const float none[PART];
    float scales[PART], biases[PART];
    size_t step = n->iterator.row_parameter;
    char *y = (char *)n->out->data + piece->offset * n->target.size;
    const char *x = (const char *)n->in->data + piece->offset * n->target.size;
    if (step == 0 || (!n->scale->data && !n->bias->data)) {
        const float *scale = load(n->scale, piece->parameter, 1, 1, scales);
        const float *bias = load(n->bias, piece->parameter, 1, 1, biases);
        put_run(&n->target, y, x, piece->rows, mean, scale ? factor * (double)*scale : factor,
                bias ? (double)*bias : 0, NULL, NULL, ahead);
        return;
    }
    for (size_t i = 0, count; i < piece->rows; i += count) {
        count = wnn_min(piece->rows - i, PART);
        size_t at = i * n->target.size, parameter = piece->parameter + i * step;
        const float *scale =
            kept && n->scale->data ? kept->scale + parameter : load(n->scale, parameter, step, count, scales);
        const float *bias =
            kept && n->bias->data ? kept->bias + parameter : load(n->bias, parameter, step, count, biases);
        for (size_t j = 0; j < count && !scale; j++)
            scales[j] = 1;
        put_run(&n->target, y + at, x + at, count, mean, factor, 0, scale ? scale : scales,
                bias ? bias : none, ahead);
    }
}

// Rows of several columns. Scale and bias may differ from row to row.
static void apply_rows(const struct normalize *n, const struct piece *piece, const double *mean,
                       const double *factor)
{
    float buffer[WNN_ITERATOR_WIDTH];
    double means[MAX_COLUMNS], factors[MAX_COLUMNS], biases[MAX_COLUMNS];
    size_t width = piece->width, columns = n->iterator.columns, step = n->iterator.column_parameter;
    bool differ = n->iterator.row_parameter != 0;
    size_t together = differ ? 1 : wnn_min(rows_together(&n->iterator, width, MAX_COLUMNS), piece->rows);
    // The next unit lies behind this one, or beside it.
    size_t ahead = width == columns ? n->iterator.reduced * columns * n->target.size : width * n->target.size;
    together = whole_lines(width, together);
    memcpy(means, mean, width * sizeof *means);
    repeat(means, width, together);
    for (size_t row = 0; row < (differ ? piece->rows : 1); row++) {
        size_t parameter = piece->parameter + row * n->iterator.row_parameter,
               rows = differ ? 1 : piece->rows;
        const float *scale = load(n->scale, parameter, step, width, buffer);
        for (size_t j = 0; j < width; j++)
            factors[j] = scale ? factor[j] * (double)scale[j] : factor[j];
        const float *bias = load(n->bias, parameter, step, width, buffer);
        for (size_t j = 0; j < width; j++)
            biases[j] = bias ? (double)bias[j] : 0;
        repeat(factors, width, together);
        repeat(biases, width, together);
        size_t at = (piece->offset + row * columns) * n->target.size, rest = rows % together * width;
        char *y = (char *)n->out->data + at;
        const char *x = (const char *)n->in->data + at;
        n->target.loops->columns(y, x, columns * together, rows / together, width * together, means, factors,
                                 biases, ahead, n->target.non_temporal);
        if (rest > 0) {
            size_t done = (rows * width - rest) * n->target.size;
            n->target.loops->columns(y + done, x + done, 0, 1, rest, means, factors, biases, ahead,
                                     n->target.non_temporal);
        }
    }
}

// Makes a mean and a factor of the moments of each column.
static void average(const struct normalize *n, const struct moments *moments, size_t count, double *mean,
                    double *factor)
{
    double reduced = (double)n->iterator.reduced;
    for (size_t j = 0; j < count; j++) {
        mean[j] = moments[j].total / reduced;
        factor[j] = 1 / sqrt(moments[j].squares / reduced + n->epsilon);
    }
}

// Scales and biases of a row in float32, or NULL of what there is not.
static const float *keep(const struct tensor *tensor, size_t count, float absent, float *room)
{
    if (tensor->data)
        return load(tensor, 0, 1, count, room);
    for (size_t i = 0; i < count; i++)
        room[i] = absent;
    return room;
}

// Units that lie one behind the other, each in one piece, with a scale and a bias for each element or none.
static bool are_plain_rows(const struct normalize *n)
{
    const struct reduction_iterator *iterator = &n->iterator;
    const struct iterator_loop *kept = &iterator->kept;
    bool scaled = n->scale->data || n->bias->data;
    return iterator->outer.rank == 0 && iterator->rows <= KEPT &&
           (kept->rank == 0 || (kept->rank == 1 && kept->stride[0] == iterator->rows)) &&
           (!scaled || (iterator->row_parameter == 1 && (kept->rank == 0 || kept->parameter[0] == 0)));
}

// A few together, so that nothing waits for the factor of a short one.
static void normalize_rows(void *argument, size_t begin, size_t end)
{
    const struct normalize *n = argument;
    size_t length = n->iterator.rows, bytes = length * n->target.size;
    size_t most = wnn_min(BLOCK / length + 1, RUNS);
    float room[2][KEPT];
    _Alignas(WNN_LINE) char block[2 * BLOCK * sizeof(float)];
    bool scaled = n->scale->data || n->bias->data;
    const struct rows rows = {.length = length,
                              .epsilon = n->epsilon,
                              .centered = n->centered,
                              .scales = scaled ? keep(n->scale, length, 1, room[0]) : NULL,
                              .biases = scaled ? keep(n->bias, length, 0, room[1]) : NULL};
    for (size_t row = begin, count; row < end; row += count) {
        const char *x = (const char *)n->in->data + row * bytes;
        char *y = (char *)n->out->data + row * bytes;
        count = wnn_min(end - row, most);
        bool stream = n->target.non_temporal && wnn_is_line(y) && bytes % WNN_LINE == 0,
             apart = n->target.non_temporal && !stream;
        n->target.loops->rows(&rows, apart ? block : y, x, count, stream);
        if (apart)
            wnn_nt_store(y, block, count * bytes);
    }
    if (n->target.non_temporal)
        wnn_nt_fence();
}
_Static_assert(KEPT <= BLOCK, "a row more than a block has room");

// Other units of one column.
static void normalize_runs(void *argument, size_t begin, size_t end)
{
    const struct normalize *n = argument;
    const struct reduction_iterator *iterator = &n->iterator;
    struct kept room, *kept = NULL;
    if (n->half && iterator->outer.rank == 0 && iterator->row_parameter == 1 && iterator->rows <= KEPT) {
        kept = &room;
        if (n->scale->data)
            wnn_half_to_float_array(n->scale->data, room.scale, iterator->rows);
        if (n->bias->data)
            wnn_half_to_float_array(n->bias->data, room.bias, iterator->rows);
    }
    size_t most = wnn_min(BLOCK / iterator->reduced + 1, RUNS);
    for (size_t unit = begin, count; unit < end; unit += count) {
        struct moments moments[RUNS] = {{0}};
        double mean[RUNS], factor[RUNS];
        struct piece piece;
        count = wnn_min(end - unit, most);
        for (size_t i = 0; i < count; i++) {
            wnn_iterator_start_rows(&piece, iterator, unit + i, 0, iterator->reduced);
            while (wnn_iterator_next(&piece))
                join_run(n, &piece, piece.position, &moments[i]);
        }
        average(n, moments, count, mean, factor);
        for (size_t i = 0; i < count; i++) {
            wnn_iterator_start_rows(&piece, iterator, unit + i, 0, iterator->reduced);
            while (wnn_iterator_next(&piece))
                apply_run(n, &piece, kept, mean[i], factor[i], count * iterator->reduced * n->target.size);
        }
    }
    if (n->target.non_temporal)
        wnn_nt_fence();
}

static void normalize_columns(void *argument, size_t begin, size_t end)
{
    const struct normalize *n = argument;
    const struct reduction_iterator *iterator = &n->iterator;
    for (size_t unit = begin; unit < end; unit++) {
        struct moments moments[WNN_ITERATOR_WIDTH];
        double mean[WNN_ITERATOR_WIDTH], factor[WNN_ITERATOR_WIDTH];
        struct piece piece;
        wnn_iterator_start_rows(&piece, iterator, unit, 0, iterator->reduced);
        memset(moments, 0, piece.width * sizeof *moments);
        while (wnn_iterator_next(&piece))
            join_rows(n, &piece, piece.position, moments);
        average(n, moments, piece.width, mean, factor);
        wnn_iterator_start_rows(&piece, iterator, unit, 0, iterator->reduced);
        while (wnn_iterator_next(&piece))
            apply_rows(n, &piece, mean, factor);
    }
    if (n->target.non_temporal)
        wnn_nt_fence();
}

// Of elements that are their own means: 0, or NaN of what is not finite.
static void single_units(void *argument, size_t begin, size_t end)
{
    const struct normalize *n = argument;
    double values[WNN_PIECE], scale = 1, bias = 0;
    if (n->scale->data)
        wnn_load_doubles(n->scale, 0, 1, &scale);
    if (n->bias->data)
        wnn_load_doubles(n->bias, 0, 1, &bias);
    for (size_t i = begin; i < end; i += WNN_PIECE) {
        size_t count = end - i < WNN_PIECE ? end - i : WNN_PIECE;
        wnn_load_doubles(n->in, i, count, values);
        for (size_t j = 0; j < count; j++)
            values[j] = (values[j] - values[j]) / sqrt(n->epsilon) * scale + bias;
        wnn_store_doubles(values, n->out, i, count);
    }
}
WNN_VARIANTS_256(single_units)

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-instancenorm
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-layernorm
static void normalize(const struct kernel_call *call)
{
    static const struct tensor none;
    const struct reduction_axes axes = wnn_node_reduction_axes(call->node);
    bool centered = call->node->op != WNN_OP_rmsNormalization;
    struct normalize n = {.in = &call->in[0],
                          .out = &call->out[0],
                          .scale = &call->in[1],
                          .bias = centered ? &call->in[2] : &none,
                          .centered = centered,
                          .target = make_target(&call->out[0]),
                          .epsilon = axes.epsilon,
                          .half = call->in[0].type == WNNDataType_Float16};
    if (axes.mask == 0) {
        wnn_parallel_for(call->parallel, n.out->count, 65536, WNN_BEST_ISA_256(single_units), &n);
        return;
    }
    wnn_iterator_init(&n.iterator, &n.in->shape, axes.mask, axes.parameter);
    n.iterator.interrupt = call->parallel->interrupt;
    wnn_parallel_for(call->parallel, n.iterator.units, wnn_iterator_grain(&n.iterator),
                     n.iterator.columns > 1 ? normalize_columns
                     : are_plain_rows(&n)   ? normalize_rows
                                            : normalize_runs,
                     &n);
}

// ---------------------------------------------------------------------------------------------------------------
// Batch normalization
// ---------------------------------------------------------------------------------------------------------------

// The input is [outer, channels, inner]. A unit is a channel's elements in one place of `outer` or, if
// `inner` is 1, some channels' in some rows, of which `together` are taken as one.
struct batch {
    const struct tensor *in, *out, *mean, *variance, *scale, *bias;
    struct target target;
    size_t outer, channels, inner, blocks, together, rows;
    double epsilon;
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
    bool rows = b->inner == 1;
    for (size_t unit = begin; unit < end; unit++) {
        size_t channel = unit % b->blocks * (rows ? WNN_PIECE : 1), place = unit / b->blocks;
        size_t count = rows ? wnn_min(b->channels - channel, WNN_PIECE) : 1;
        load_channels(b->mean, channel, count, 0, mean);
        load_channels(b->variance, channel, count, 1, factor);
        load_channels(b->scale, channel, count, 1, scale);
        load_channels(b->bias, channel, count, 0, bias);
        for (size_t j = 0; j < count; j++)
            factor[j] = scale[j] / sqrt(factor[j] + b->epsilon);
        size_t first =
            rows ? place * b->rows * b->channels + channel : (place * b->channels + channel) * b->inner;
        const char *x = (const char *)b->in->data + first * b->target.size;
        char *y = (char *)b->out->data + first * b->target.size;
        if (!rows) {
            put_run(&b->target, y, x, b->inner, mean[0], factor[0], bias[0], NULL, NULL, AHEAD);
            continue;
        }
        size_t there = wnn_min(b->outer - place * b->rows, b->rows), rest = there % b->together * count;
        repeat(mean, count, b->together);
        repeat(factor, count, b->together);
        repeat(bias, count, b->together);
        b->target.loops->columns(y, x, b->channels * b->together, there / b->together, count * b->together,
                                 mean, factor, bias, AHEAD, b->target.non_temporal);
        if (rest > 0) {
            size_t done = (there * count - rest) * b->target.size;
            b->target.loops->columns(y + done, x + done, 0, 1, rest, mean, factor, bias, AHEAD,
                                     b->target.non_temporal);
        }
    }
    if (b->target.non_temporal)
        wnn_nt_fence();
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-batchnorm
static void run_batch_normalization(const struct kernel_call *call)
{
    const WNNBatchNormalizationOptions *options = call->node->attrs;
    const struct tensor *in = call->in;
    struct batch b = {.in = &in[0],
                      .out = &call->out[0],
                      .mean = &in[1],
                      .variance = &in[2],
                      .scale = &in[3],
                      .bias = &in[4],
                      .target = make_target(&call->out[0]),
                      .outer = 1,
                      .channels = 1,
                      .inner = 1,
                      .epsilon = options->epsilon};
    for (unsigned d = 0; d < in[0].shape.rank; d++)
        *(d < options->axis ? &b.outer : d == options->axis ? &b.channels : &b.inner) *= in[0].shape.dim[d];
    if (in[0].count == 0)
        return;
    size_t units, work;
    if (b.inner == 1) {
        b.together = whole_lines(b.channels, b.channels < WNN_PIECE ? WNN_PIECE / b.channels : 1);
        b.rows = b.together * 32;
        b.blocks = (b.channels + WNN_PIECE - 1) / WNN_PIECE;
        units = (b.outer + b.rows - 1) / b.rows * b.blocks;
        work = b.rows * wnn_min(b.channels, WNN_PIECE);
    } else {
        b.blocks = b.channels;
        units = b.outer * b.channels;
        work = b.inner;
    }
    wnn_parallel_for(call->parallel, units, 16384 / work + 1, batch_units, &b);
}

const struct kernel wnn_cpu_batchNormalization = {.run = run_batch_normalization, .in_place = 1};
const struct kernel wnn_cpu_instanceNormalization = {.run = normalize, .in_place = 1};
const struct kernel wnn_cpu_layerNormalization = {.run = normalize, .in_place = 1};
const struct kernel wnn_cpu_rmsNormalization = {.run = normalize, .in_place = 1};
