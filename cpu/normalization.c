// SPDX-License-Identifier: Apache-2.0
//
// (x - mean) / sqrt(variance + epsilon) * scale + bias, in double and rounded once. Instance and layer
// normalization differ in which dimensions the statistics are of, and in which of them scale and bias follow;
// batch normalization is given the statistics.
#include "cpu/walk.h"

struct normalize {
    const struct tensor *in, *out, *scale, *bias;
    double epsilon;
    struct walk walk;
};

// The elements of scale or bias that belong to the elements of a piece; `absent` if there is no such tensor.
static void load_parameters(const struct tensor *tensor, const struct piece *piece, double absent,
                            double *values)
{
    const struct walk *walk = piece->walk;
    size_t rows = piece->rows, width = piece->width, count = rows * width;
    size_t row_step = walk->row_parameter, column_step = walk->column_parameter;
    if (!tensor->data) {
        for (size_t i = 0; i < count; i++)
            values[i] = absent;
    } else if (width == 1 && row_step == 1) {
        wnn_load_doubles(tensor, piece->parameter, count, values);
    } else if (width == 1 && row_step == 0) {
        wnn_load_doubles(tensor, piece->parameter, 1, values);
        for (size_t i = 1; i < count; i++)
            values[i] = values[0];
    } else {
        for (size_t r = 0; r < rows; r++) {
            double *row = values + r * width;
            size_t first = piece->parameter + r * row_step;
            if (column_step == 1) {
                wnn_load_doubles(tensor, first, width, row);
                continue;
            }
            for (size_t j = 0; j < width; j++) {
                if (j == 0 || column_step != 0)
                    wnn_load_doubles(tensor, first + j * column_step, 1, &row[j]);
                else
                    row[j] = row[0];
            }
        }
    }
}

enum {
    LANES = 16
};

// Adds values, or the squares of their distances from `middle`, to one sum a column. A single column has
// LANES sums, and as many copies of `middle`.
static inline __attribute__((always_inline)) void add_rows(double *sums, const double *middle, size_t lanes,
                                                           const double *values, size_t count, bool squares)
{
    for (size_t i = 0; i < count; i += lanes) {
        size_t width = lanes < count - i ? lanes : count - i;
        for (size_t j = 0; j < width; j++) {
            double x = values[i + j], distance = x - middle[j];
            sums[j] += squares ? distance * distance : x;
        }
    }
}

static void add(double *sums, const double *middle, size_t lanes, const double *values, size_t count,
                bool squares)
{
    size_t whole = count - count % LANES;
    if (lanes == LANES && squares) {
        add_rows(sums, middle, LANES, values, whole, true);
        add_rows(sums, middle, LANES, values + whole, count - whole, true);
    } else if (lanes == LANES) {
        add_rows(sums, middle, LANES, values, whole, false);
        add_rows(sums, middle, LANES, values + whole, count - whole, false);
    } else if (squares) {
        add_rows(sums, middle, lanes, values, count, true);
    } else {
        add_rows(sums, middle, lanes, values, count, false);
    }
}

// The mean of each column of a unit, of its values or of their squared distances from `middle`.
static void average(const struct normalize *n, size_t unit, const double *middle, bool squares, double *means)
{
    struct piece piece;
    double values[WNN_PIECE];
    wnn_walk_start(&piece, &n->walk, unit);
    size_t lanes = piece.width == 1 ? LANES : piece.width;
    for (size_t j = 0; j < lanes; j++)
        means[j] = 0;
    while (wnn_walk_next(&piece)) {
        size_t count = piece.rows * piece.width;
        wnn_load_doubles(n->in, piece.offset, count, values);
        add(means, middle, lanes, values, count, squares);
    }
    if (piece.width == 1) {
        for (size_t half = LANES / 2; half > 0; half /= 2) {
            for (size_t j = 0; j < half; j++)
                means[j] += means[j + half];
        }
        for (size_t j = 1; j < LANES; j++)
            means[j] = means[0];
    }
    for (size_t j = 0; j < lanes; j++)
        means[j] /= (double)n->walk.reduced;
}

// values = (values - mean) * factor * scale + bias, mean and factor by column
static void apply(double *values, const double *mean, const double *factor, const double *scale,
                  const double *bias, size_t rows, size_t width)
{
    if (width == 1) {
        double m = mean[0], f = factor[0];
        for (size_t i = 0; i < rows; i++)
            values[i] = (values[i] - m) * f * scale[i] + bias[i];
        return;
    }
    for (size_t r = 0; r < rows; r++) {
        for (size_t j = 0; j < width; j++) {
            size_t i = r * width + j;
            values[i] = (values[i] - mean[j]) * factor[j] * scale[i] + bias[i];
        }
    }
}

static void normalize_units(void *argument, size_t begin, size_t end)
{
    const struct normalize *n = argument;
    for (size_t unit = begin; unit < end; unit++) {
        double mean[WNN_WALK_WIDTH] = {0}, factor[WNN_WALK_WIDTH];
        double values[WNN_PIECE], scale[WNN_PIECE], bias[WNN_PIECE];
        average(n, unit, mean, false, mean);
        average(n, unit, mean, true, factor);
        struct piece piece;
        wnn_walk_start(&piece, &n->walk, unit);
        for (size_t j = 0; j < piece.width; j++)
            factor[j] = 1 / sqrt(factor[j] + n->epsilon);
        while (wnn_walk_next(&piece)) {
            size_t count = piece.rows * piece.width;
            wnn_load_doubles(n->in, piece.offset, count, values);
            load_parameters(n->scale, &piece, 1, scale);
            load_parameters(n->bias, &piece, 0, bias);
            apply(values, mean, factor, scale, bias, piece.rows, piece.width);
            wnn_store_doubles(values, n->out, piece.offset, count);
        }
    }
}
WNN_VARIANTS(normalize_units)

static void normalize(const struct kernel_call *call, double epsilon, uint32_t reduced,
                      const size_t parameter[WNN_MAX_RANK])
{
    struct normalize n = {&call->in[0], &call->out[0], &call->in[1], &call->in[2], epsilon, {0}};
    wnn_walk_init(&n.walk, &n.in->shape, reduced, parameter);
    wnn_parallel_for(call->parallel, n.walk.units, wnn_walk_grain(&n.walk), WNN_BEST(normalize_units), &n);
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
        struct normalize n = {&call->in[0], &call->out[0], &call->in[1], &call->in[2], 0, {0}};
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

// The input is [outer, channels, inner]. A unit is a channel's elements in one place of `outer` or, if
// `inner` is 1, some channels' in ROWS places.
struct batch {
    const struct tensor *in, *out, *mean, *variance, *scale, *bias;
    size_t outer, channels, inner, blocks;
    double epsilon;
};

enum {
    ROWS = 32
};

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
    double mean[WNN_PIECE], factor[WNN_PIECE], scale[WNN_PIECE], bias[WNN_PIECE], values[WNN_PIECE];
    size_t width = b->inner == 1 ? WNN_PIECE : 1;
    for (size_t unit = begin; unit < end; unit++) {
        size_t channel = unit % b->blocks * width, place = unit / b->blocks;
        size_t count = b->channels - channel < width ? b->channels - channel : width;
        load_channels(b->mean, channel, count, 0, mean);
        load_channels(b->variance, channel, count, 1, factor);
        load_channels(b->scale, channel, count, 1, scale);
        load_channels(b->bias, channel, count, 0, bias);
        for (size_t j = 0; j < count; j++)
            factor[j] = 1 / sqrt(factor[j] + b->epsilon);
        if (b->inner == 1) {
            size_t last = (place + 1) * ROWS < b->outer ? (place + 1) * ROWS : b->outer;
            for (size_t row = place * ROWS; row < last; row++) {
                size_t offset = row * b->channels + channel;
                wnn_load_doubles(b->in, offset, count, values);
                for (size_t j = 0; j < count; j++)
                    values[j] = (values[j] - mean[j]) * factor[j] * scale[j] + bias[j];
                wnn_store_doubles(values, b->out, offset, count);
            }
            continue;
        }
        for (size_t i = 0, length; i < b->inner; i += length) {
            length = b->inner - i < WNN_PIECE ? b->inner - i : WNN_PIECE;
            size_t offset = (place * b->channels + channel) * b->inner + i;
            wnn_load_doubles(b->in, offset, length, values);
            for (size_t k = 0; k < length; k++)
                values[k] = (values[k] - mean[0]) * factor[0] * scale[0] + bias[0];
            wnn_store_doubles(values, b->out, offset, length);
        }
    }
}
WNN_VARIANTS(batch_units)

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-batchnorm
void wnn_cpu_batch_normalization(const struct kernel_call *call)
{
    const WNNBatchNormalizationOptions *options = call->node->attrs;
    const struct tensor *in = call->in;
    struct batch b = {&in[0], &call->out[0], &in[1], &in[2], &in[3], &in[4], 1, 1, 1, 1, options->epsilon};
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
    wnn_parallel_for(call->parallel, units, 16384 / work + 1, WNN_BEST(batch_units), &b);
}
