// SPDX-License-Identifier: Apache-2.0
//
// Convolutions with the channels first as products of output channels [m] and pixels [n], whose panels are
// made of the input as they are needed; terms are input channels, then taps.

#include "cpu/conv/conv.h"

// One image and one group.
struct part {
    const struct conv *conv;
    const float *input, *bias; // of the image and group
    size_t filter;             // offset of the group
    const float *rows;         // of the group, packed, or NULL
};

static void scatter_pixels(const struct gemm *gemm, size_t first, unsigned count, size_t *offsets)
{
    const struct conv *conv = ((const struct part *)gemm->argument)->conv;
    for (unsigned i = 0; i < count; i++) {
        size_t x = (first + i) % conv->x.count, y = (first + i) / conv->x.count;
        offsets[i] = (conv->y.out + y * conv->y.out_step) * conv->out_y +
                     (conv->x.out + x * conv->x.out_step) * conv->out_x;
    }
}

// The offset of a tap's elements in the filter.
static size_t filter_tap(const struct part *part, size_t ky, size_t kx)
{
    const struct conv *conv = part->conv;
    return part->filter + (conv->y.tap + ky * conv->y.tap_step) * conv->filter_y +
           (conv->x.tap + kx * conv->x.tap_step) * conv->filter_x;
}

bool wnn_conv_product_nchw_reads(const struct conv *conv)
{
    return (conv->x.taps == 1 || conv->filter_x * conv->x.tap_step == 1) &&
           (conv->y.taps == 1 || conv->filter_y * conv->y.tap_step == conv->x.taps) &&
           (conv->inputs == 1 || conv->filter_in == conv->y.taps * conv->x.taps);
}

// Terms [k, k + length) of an output channel, side by side.
static void copy_row(const struct part *part, size_t row, size_t k, size_t length, float *to)
{
    const struct conv *conv = part->conv;
    size_t from = filter_tap(part, 0, 0) + row * conv->filter_out, taps = conv->y.taps * conv->x.taps;
    size_t channel = k / taps, ky = k % taps / conv->x.taps, kx = k % conv->x.taps;
    for (size_t i = 0; i < length; i++) {
        size_t at = from + channel * conv->filter_in + ky * conv->y.tap_step * conv->filter_y +
                    kx * conv->x.tap_step * conv->filter_x;
        to[i] = conv->filter_halves != NULL ? wnn_half_to_float(conv->filter_halves[at]) : conv->filter[at];
        if (++kx == conv->x.taps) {
            kx = 0;
            if (++ky == conv->y.taps) {
                ky = 0;
                channel++;
            }
        }
    }
}

static void filter_rows(const struct gemm *gemm, size_t row, unsigned count, size_t k, size_t segments,
                        size_t length, unsigned mr, const float **pointers, float *buffer)
{
    const struct part *part = gemm->argument;
    const struct conv *conv = part->conv;
    bool contiguous = part->rows == NULL && wnn_conv_product_nchw_reads(conv);
    (void)segments;
    (void)mr;

    for (unsigned r = 0; r < count; r++) {
        if (part->rows != NULL) {
            pointers[r] = part->rows + (row + r) * gemm->k + k;
        } else if (contiguous) {
            pointers[r] = conv->filter + filter_tap(part, 0, 0) + (row + r) * conv->filter_out + k;
        } else {
            float *to = buffer + r * WNN_GEMM_KC;
            copy_row(part, row + r, k, length, to);
            pointers[r] = to;
        }
    }
}

// One tap of `count` neighbouring output elements, the first of which has input coordinate `first`; zeros
// outside.
static void copy_taps(const float *line, int64_t first, int64_t step, int64_t size, size_t count, float *to)
{
    if (step == 1 && first >= 0 && first + (int64_t)count <= size) {
        if (count == WNN_GEMM_MAX_NR) // what usually happens, without a call
            memcpy(to, line + first, WNN_GEMM_MAX_NR * sizeof *to);
        else
            memcpy(to, line + first, count * sizeof *to);
        return;
    }
    int64_t begin = first < 0 ? (step - 1 - first) / step : 0;
    int64_t end = first < size ? (size - 1 - first) / step + 1 : 0;
    size_t high = end < (int64_t)count ? (size_t)end : count;
    size_t low = begin < (int64_t)high ? (size_t)begin : high;
    for (size_t j = 0; j < low; j++)
        to[j] = 0;
    first += (int64_t)low * step;
    for (size_t j = low; j < high; j++, first += step)
        to[j] = line[first];
    for (size_t j = high; j < count; j++)
        to[j] = 0;
}

static void patch_panel(const struct gemm *gemm, size_t k, size_t length, size_t column, unsigned count,
                        float *panel, unsigned width)
{
    const struct part *part = gemm->argument;
    const struct conv *conv = part->conv;
    size_t taps = conv->y.taps * conv->x.taps;

    // Pieces of the panel's columns that belong to one row of the output.
    for (size_t lane = 0, lanes; lane < count; lane += lanes) {
        size_t x = (column + lane) % conv->x.count, y = (column + lane) / conv->x.count;
        lanes = wnn_min(conv->x.count - x, count - lane);
        int64_t first_y = conv->y.offset + (int64_t)y * conv->y.step;
        int64_t first_x = conv->x.offset + (int64_t)x * conv->x.step;
        size_t channel = k / taps, ky = k % taps / conv->x.taps, kx = k % conv->x.taps;
        float *to = panel + lane;
        for (size_t i = 0; i < length; i++, to += width) {
            int64_t iy = first_y + (int64_t)ky * conv->y.offset_step;
            if (iy < 0 || iy >= conv->y.in) {
                for (size_t j = 0; j < lanes; j++)
                    to[j] = 0;
            } else {
                copy_taps(part->input + channel * conv->in_channel + (size_t)iy * conv->in_y,
                          first_x + (int64_t)kx * conv->x.offset_step, conv->x.step, conv->x.in, lanes, to);
            }
            if (++kx == conv->x.taps) {
                kx = 0;
                if (++ky == conv->y.taps) {
                    ky = 0;
                    channel++;
                }
            }
        }
    }
    if (count < width) {
        for (size_t i = 0; i < length; i++)
            memset(panel + i * width + count, 0, (width - count) * sizeof *panel);
    }
}

static void add_bias_to_rows(const struct gemm *gemm, float *tile, unsigned width, size_t row, unsigned rows,
                             size_t column, unsigned columns)
{
    const float *bias = ((const struct part *)gemm->argument)->bias + row;
    (void)column;
    for (unsigned r = 0; r < rows; r++) {
        for (unsigned j = 0; j < columns; j++)
            tile[r * width + j] += bias[r];
    }
}

size_t wnn_conv_product_nchw_floats(const struct conv *conv)
{
    return wnn_round_up(conv->outputs * wnn_conv_terms(conv), WNN_ALIGNMENT / sizeof(float));
}

// Filters are packed before there is an input.
static struct part describe_part(const struct conv *conv, size_t image, size_t group)
{
    size_t first = image * conv->in_image + group * conv->inputs * conv->in_channel;
    return (struct part){
        .conv = conv,
        .input = conv->input == NULL ? NULL : conv->input + first,
        .filter = group * conv->filter_group,
        .bias = conv->bias == NULL ? NULL : conv->bias + group * conv->outputs,
        .rows = conv->packed == NULL ? NULL : conv->packed + group * wnn_conv_product_nchw_floats(conv),
    };
}

static struct gemm describe_gemm(const struct part *part)
{
    const struct conv *conv = part->conv;
    size_t pixels = conv->y.count * conv->x.count, terms = wnn_conv_terms(conv);
    struct gemm gemm = {
        .kernels = wnn_float_kernels(),
        .m = conv->outputs,
        .n = pixels,
        .k = terms,
        .unit = terms,
        .rows = filter_rows,
        .panel = patch_panel,
        .finish = part->bias == NULL ? NULL : add_bias_to_rows,
        .range = conv->range,
        .row_stride = conv->out_channel,
        .scatter_columns = true,
        .scatter = conv->y.out_step > 1 || conv->x.out_step > 1 ? scatter_pixels : NULL,
        .argument = part,
    };
    return gemm;
}

size_t wnn_conv_product_nchw_scratch(const struct conv *conv)
{
    return wnn_gemm_scratch(conv->y.count * conv->x.count, wnn_conv_terms(conv));
}

void wnn_conv_product_nchw(const struct conv *conv, size_t image, size_t group,
                           const struct parallel *parallel, float *scratch)
{
    struct part part = describe_part(conv, image, group);
    struct gemm gemm = describe_gemm(&part);
    gemm.c = conv->output + image * conv->out_image + group * conv->outputs * conv->out_channel;
    wnn_gemm_run(&gemm, parallel, scratch);
}

struct packing {
    const struct conv *conv;
    float *to;
};

// Items are output channels of one group after the other.
static void pack_rows(void *argument, size_t begin, size_t end)
{
    const struct packing *packing = argument;
    const struct conv *conv = packing->conv;
    size_t terms = wnn_conv_terms(conv);
    for (size_t i = begin; i < end; i++) {
        size_t group = i / conv->outputs, row = i % conv->outputs;
        struct part part = describe_part(conv, 0, group);
        copy_row(&part, row, 0, terms,
                 packing->to + group * wnn_conv_product_nchw_floats(conv) + row * terms);
    }
}

void wnn_conv_product_nchw_pack(const struct conv *conv, const struct parallel *parallel, float *packed)
{
    struct packing packing = {conv, packed};
    wnn_parallel_for(parallel, conv->groups * conv->outputs, 1 + 16384 / (wnn_conv_terms(conv) + 1),
                     pack_rows, &packing);
}
