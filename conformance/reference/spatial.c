// SPDX-License-Identifier: Apache-2.0
//
// Reference: operators on images: convolution, pooling, resampling.

#include "conformance/reference/kernels.h"

// An image of rank 4 in either layout.
struct image {
    const struct tensor *tensor;
    bool nhwc;
    size_t batches, channels, height, width;
};

static struct image image_of(const struct tensor *tensor, WNNInputOperandLayout layout)
{
    const uint32_t *dim = tensor->shape.dim;
    if (layout == WNNInputOperandLayout_NHWC)
        return (struct image){tensor, true, dim[0], dim[3], dim[1], dim[2]};
    return (struct image){tensor, false, dim[0], dim[1], dim[2], dim[3]};
}

static size_t pixel(const struct image *image, size_t n, size_t c, size_t y, size_t x)
{
    const size_t nchw[4] = {n, c, y, x}, nhwc[4] = {n, y, x, c};
    return index_at(image->tensor, image->nhwc ? nhwc : nchw);
}

static bool inside(const struct image *image, int64_t y, int64_t x)
{
    return y >= 0 && y < (int64_t)image->height && x >= 0 && x < (int64_t)image->width;
}

// A filter, with the position of its output channel, input channel, row and column in its shape: "oihw" and
// such.
struct filter {
    const struct tensor *tensor;
    unsigned o, i, h, w;
    size_t outputs, inputs, height, width;
};

static struct filter filter_of(const struct tensor *tensor, const char *layout)
{
    struct filter filter = {.tensor = tensor};
    filter.o = (unsigned)(strchr(layout, 'o') - layout);
    filter.i = (unsigned)(strchr(layout, 'i') - layout);
    filter.h = (unsigned)(strchr(layout, 'h') - layout);
    filter.w = (unsigned)(strchr(layout, 'w') - layout);
    filter.outputs = tensor->shape.dim[filter.o];
    filter.inputs = tensor->shape.dim[filter.i];
    filter.height = tensor->shape.dim[filter.h];
    filter.width = tensor->shape.dim[filter.w];
    return filter;
}

// All input channels of a tap, from the one on that is the first.
static struct line tap(const struct filter *filter, size_t o, size_t i, size_t y, size_t x)
{
    size_t at[WNN_MAX_RANK] = {0}, step = 1;
    at[filter->o] = o;
    at[filter->i] = i;
    at[filter->h] = y;
    at[filter->w] = x;
    for (unsigned d = filter->i + 1; d < filter->tensor->shape.rank; d++)
        step *= filter->tensor->shape.dim[d];
    return (struct line){filter->tensor, index_at(filter->tensor, at), step};
}

// Likewise of a pixel.
static struct line channels(const struct image *image, size_t n, size_t c, size_t y, size_t x)
{
    return (struct line){image->tensor, pixel(image, n, c, y, x),
                         image->nhwc ? 1 : image->height * image->width};
}

void wnn_reference_conv2d(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    static const char *const layouts[] = {"", "oihw", "hwio", "ohwi", "ihwo"};
    const WNNConv2dOptions *options = node->attrs;
    const uint32_t *padding = options->padding.data, *strides = options->strides.data,
                   *dilations = options->dilations.data;
    struct image input = image_of(&in[0], options->inputLayout), output = image_of(out, options->inputLayout);
    struct filter filter = filter_of(&in[1], layouts[options->filterLayout]);
    size_t group_outputs = filter.outputs / options->groups;

    for (size_t n = 0; n < output.batches; n++)
        for (size_t o = 0; o < output.channels; o++)
            for (size_t y = 0; y < output.height; y++)
                for (size_t x = 0; x < output.width; x++) {
                    double sum = in[2].data != NULL ? load(&in[2], o) : 0;
                    size_t channel = o / group_outputs * filter.inputs;
                    for (size_t h = 0; h < filter.height; h++)
                        for (size_t w = 0; w < filter.width; w++) {
                            int64_t from_y = (int64_t)(y * strides[0] + h * dilations[0]) - padding[0];
                            int64_t from_x = (int64_t)(x * strides[1] + w * dilations[1]) - padding[2];
                            if (inside(&input, from_y, from_x))
                                sum += sum_of_products(
                                    channels(&input, n, channel, (size_t)from_y, (size_t)from_x),
                                    tap(&filter, o, 0, h, w), filter.inputs);
                        }
                    store(out, pixel(&output, n, o, y, x), sum);
                }
}

// Each output element gathers the input elements whose steps reach it.
void wnn_reference_conv_transpose2d(const struct node *node, const struct tensor *in,
                                    const struct tensor *out)
{
    static const char *const layouts[] = {"", "iohw", "hwoi", "ohwi"};
    const WNNConvTranspose2dOptions *options = node->attrs;
    const uint32_t *padding = options->padding.data, *strides = options->strides.data,
                   *dilations = options->dilations.data;
    struct image input = image_of(&in[0], options->inputLayout), output = image_of(out, options->inputLayout);
    struct filter filter = filter_of(&in[1], layouts[options->filterLayout]);
    size_t inputs = filter.inputs / options->groups;

    for (size_t n = 0; n < output.batches; n++)
        for (size_t o = 0; o < output.channels; o++)
            for (size_t y = 0; y < output.height; y++)
                for (size_t x = 0; x < output.width; x++) {
                    double sum = in[2].data != NULL ? load(&in[2], o) : 0;
                    size_t first = o / filter.outputs * inputs;
                    for (size_t h = 0; h < filter.height; h++) {
                        // y = from_y * stride + h * dilation - padding
                        int64_t steps_y = (int64_t)(y + padding[0]) - (int64_t)(h * dilations[0]);
                        int64_t from_y = steps_y / strides[0];
                        if (steps_y % strides[0] != 0 || !inside(&input, from_y, 0))
                            continue;
                        for (size_t w = 0; w < filter.width; w++) {
                            int64_t steps_x = (int64_t)(x + padding[2]) - (int64_t)(w * dilations[1]);
                            int64_t from_x = steps_x / strides[1];
                            if (steps_x % strides[1] != 0 || !inside(&input, from_y, from_x))
                                continue;
                            sum += sum_of_products(channels(&input, n, first, (size_t)from_y, (size_t)from_x),
                                                   tap(&filter, o % filter.outputs, first, h, w), inputs);
                        }
                    }
                    store(out, pixel(&output, n, o, y, x), sum);
                }
}

// The elements of a window that are inside of the input are all that counts.
void wnn_reference_pool2d(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const WNNPool2dOptions *options = node->attrs;
    const uint32_t *padding = options->padding.data, *strides = options->strides.data,
                   *dilations = options->dilations.data, *window = options->windowDimensions.data;
    struct image input = image_of(in, options->layout), output = image_of(out, options->layout);

    for (size_t n = 0; n < output.batches; n++)
        for (size_t c = 0; c < output.channels; c++)
            for (size_t y = 0; y < output.height; y++)
                for (size_t x = 0; x < output.width; x++) {
                    double sum = 0, sum_of_squares = 0, greatest = -INFINITY;
                    __int128 greatest_integer = is_float(in) ? 0 : least_integer(in->type);
                    size_t count = 0, to = pixel(&output, n, c, y, x);
                    for (size_t h = 0; h < window[0]; h++)
                        for (size_t w = 0; w < window[1]; w++) {
                            int64_t from_y = (int64_t)(y * strides[0] + h * dilations[0]) - padding[0];
                            int64_t from_x = (int64_t)(x * strides[1] + w * dilations[1]) - padding[2];
                            if (!inside(&input, from_y, from_x))
                                continue;
                            size_t from = pixel(&input, n, c, (size_t)from_y, (size_t)from_x);
                            double value = load(in, from);
                            count++;
                            sum += value;
                            sum_of_squares += value * value;
                            if (isnan(value) || value > greatest)
                                greatest = value; // nothing is greater than a NaN
                            if (!is_float(in) && load_integer(in, from) > greatest_integer)
                                greatest_integer = load_integer(in, from);
                        }
                    if (!is_float(in))
                        store_integer(out, to, greatest_integer);
                    else if (node->op == WNN_OP_maxPool2d)
                        store(out, to, greatest);
                    else if (node->op == WNN_OP_averagePool2d)
                        store(out, to, count == 0 ? 0 : sum / (double)count);
                    else
                        store(out, to, sqrt(sum_of_squares));
                }
}

// Along one axis: the two elements that output element `to` lies between, and the share of the second.
// Element centres are at halves.
struct neighbours {
    size_t first, second;
    double share;
};

static struct neighbours linear_neighbours(size_t to, size_t input, size_t output)
{
    double at = ((double)to + 0.5) * (double)input / (double)output - 0.5;
    at = fmin(fmax(at, 0), (double)input - 1);
    size_t first = (size_t)at;
    return (struct neighbours){first, first + 1 < input ? first + 1 : first, at - (double)first};
}

// The nearest element, the lower of two: ceil((to + 0.5) * input / output - 1), in integers.
static struct neighbours nearest_neighbours(size_t to, size_t input, size_t output)
{
    size_t nearest = ((2 * to + 1) * input + 2 * output - 1) / (2 * output) - 1;
    return (struct neighbours){nearest, nearest, 0};
}

void wnn_reference_resample2d(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const WNNResample2dOptions *options = node->attrs;
    bool linear = options->mode == WNNInterpolationMode_Linear;
    const uint32_t *axes = options->axes.data;
    for (size_t i = 0; i < out->count; i++) {
        size_t at[WNN_MAX_RANK] = {0};
        struct neighbours along[2];
        coordinates_of(out, i, at);
        for (unsigned k = 0; k < 2; k++)
            along[k] = (linear ? linear_neighbours : nearest_neighbours)(at[axes[k]], in->shape.dim[axes[k]],
                                                                         out->shape.dim[axes[k]]);
        if (!linear) {
            at[axes[0]] = along[0].first;
            at[axes[1]] = along[1].first;
            copy_element(out, i, in, index_at(in, at));
            continue;
        }
        double sum = 0;
        for (unsigned corner = 0; corner < 4; corner++) {
            double weight = 1;
            for (unsigned k = 0; k < 2; k++) {
                bool second = corner >> k & 1;
                at[axes[k]] = second ? along[k].second : along[k].first;
                weight *= second ? along[k].share : 1 - along[k].share;
            }
            if (weight != 0)
                sum += weight * load(in, index_at(in, at));
        }
        store(out, i, sum);
    }
}
