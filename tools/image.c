// SPDX-License-Identifier: Apache-2.0
//
// From pixels to tensors.

#include "tools/image.h"

#include "tools/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void image_free(struct image *image)
{
    free(image->pixels);
    *image = (struct image){0, 0, 0, NULL};
}

bool image_layout_guess(const struct shape *shape, const struct pixel_rule *rule, struct image_layout *layout)
{
    const uint32_t *dim = shape->dim;
    unsigned rank = shape->rank;
    if (rank == 4 && dim[0] == 1) {
        dim++;
        rank--;
    }
    if (rank == 3) {
        bool first = dim[0] == 1 || dim[0] == 3, last = dim[2] == 1 || dim[2] == 3;
        if (rule->layout == LAYOUT_NHWC)
            first = false;
        if (rule->layout == LAYOUT_NCHW)
            last = false;
        if (first)
            *layout = (struct image_layout){dim[2], dim[1], dim[0], 1, dim[2], (size_t)dim[1] * dim[2]};
        else if (last)
            *layout = (struct image_layout){dim[1], dim[0], dim[2], dim[2], (size_t)dim[1] * dim[2], 1};
        return first || last;
    }
    if (rank != 2)
        return false;
    uint32_t height = dim[0], width = dim[1];
    if (height == 1) { // a flattened square
        height = (uint32_t)lround(sqrt((double)dim[1]));
        width = height;
        if ((uint64_t)height * height != dim[1])
            return false;
    }
    *layout = (struct image_layout){width, height, 1, 1, width, 0};
    return true;
}

WNNNumber image_number(const struct pixel_rule *rule, WNNDataType type, double pixel, unsigned channel)
{
    if (rule->invert)
        pixel = 255 - pixel;
    if (!wnn_dtype_is_float(type))
        return wnn_number_convert(wnnNumberFloat64(pixel), type);
    return wnn_number_convert(
        wnnNumberFloat64((pixel * rule->scale - rule->mean[channel]) / rule->deviation[channel]), type);
}

// One line of `count` pixels, `stride` apart, to `wanted` pixels: a triangle that is as wide as a source
// pixel, or as a pixel of the result if that is wider.
static void resize_line(const float *from, unsigned count, size_t stride, float *to, unsigned wanted,
                        size_t to_stride)
{
    double scale = (double)count / wanted, support = scale > 1 ? scale : 1;
    for (unsigned i = 0; i < wanted; i++) {
        double centre = (i + 0.5) * scale - 0.5, sum = 0, weights = 0;
        long low = (long)ceil(centre - support), high = (long)floor(centre + support);
        for (long k = low; k <= high; k++) {
            double weight = 1 - fabs((double)k - centre) / support;
            if (weight <= 0 || k < 0 || k >= (long)count)
                continue;
            sum += weight * (double)from[(size_t)k * stride];
            weights += weight;
        }
        to[i * to_stride] =
            (float)(weights > 0 ? sum / weights : (double)from[centre < 0 ? 0 : (count - 1) * stride]);
    }
}

// height * width * channels values.
static float *resize(const struct image *image, unsigned width, unsigned height)
{
    size_t channels = image->channels, row = (size_t)image->width * channels, line = (size_t)width * channels;
    float *source = must_allocate(row * sizeof *source);
    float *wide = must_allocate(image->height * line * sizeof *wide);
    float *result = must_allocate(height * line * sizeof *result);
    for (size_t y = 0; y < image->height; y++) {
        for (size_t x = 0; x < row; x++)
            source[x] = image->pixels[y * row + x];
        for (size_t c = 0; c < channels; c++)
            resize_line(source + c, image->width, channels, wide + y * line + c, width, channels);
    }
    for (size_t x = 0; x < line; x++)
        resize_line(wide + x, image->height, line, result + x, height, line);
    free(source);
    free(wide);
    return result;
}

struct image image_resize(const struct image *image, unsigned width, unsigned height)
{
    struct image result = {width, height, image->channels, NULL};
    size_t count = (size_t)width * height * image->channels;
    float *values = resize(image, width, height);
    result.pixels = must_allocate(count);
    for (size_t i = 0; i < count; i++)
        result.pixels[i] = (unsigned char)lrintf(fminf(fmaxf(values[i], 0), 255));
    free(values);
    return result;
}

bool image_to_tensor(const struct image *image, const struct pixel_rule *rule, const struct descriptor *type,
                     void *data, struct error *error)
{
    struct image_layout layout;
    if (!image_layout_guess(&type->shape, rule, &layout))
        return wnn_fail(error, WNNStatus_TypeError,
                        "an input of shape %s is not an image (1 or 3 channels, first or last)",
                        SHAPE_TEXT(&type->shape));
    float *values = resize(image, layout.width, layout.height);
    for (unsigned y = 0; y < layout.height; y++)
        for (unsigned x = 0; x < layout.width; x++)
            for (unsigned c = 0; c < layout.channels; c++) {
                const float *pixel = values + ((size_t)y * layout.width + x) * image->channels;
                double value = (double)pixel[image->channels == 3 ? c : 0];
                if (layout.channels == 1 && image->channels == 3) // luminance, ITU-R BT.601
                    value = 0.299 * (double)pixel[0] + 0.587 * (double)pixel[1] + 0.114 * (double)pixel[2];
                wnn_number_store(image_number(rule, type->type, value, c), type->type, data,
                                 y * layout.y_stride + x * layout.x_stride + c * layout.channel_stride);
            }
    free(values);
    return true;
}
