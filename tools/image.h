// SPDX-License-Identifier: Apache-2.0
//
// Images: PNG, JPEG, PGM and PPM files as 8-bit pixels, and how they become the input of a network.

#ifndef TOOLS_IMAGE_H_
#define TOOLS_IMAGE_H_

#include "lib/shape.h"
#include "tools/model/mapping.h"

struct image {
    unsigned width, height, channels; // 1 (grey) or 3 (red, green, blue)
    unsigned char *pixels;            // row after row, channels together
};

// Whether a file begins like an image that can be read.
bool image_recognize(const unsigned char *data, size_t size);

// `path` is for messages.
bool image_decode(const char *path, const struct mapping *file, struct image *image, struct error *error);
void image_free(struct image *image);

// How pixels become numbers: ((255 - p if inverted) * scale - mean) / deviation, by channel.
struct pixel_rule {
    double scale;
    double mean[3], deviation[3];
    bool invert;
    enum {
        LAYOUT_GUESSED,
        LAYOUT_NCHW,
        LAYOUT_NHWC
    } layout;
};
#define PIXEL_RULE_INIT                                                                                      \
    {                                                                                                        \
        1.0 / 255, {0, 0, 0}, {1, 1, 1}, false, LAYOUT_GUESSED                                               \
    }

// Where height, width and channels of an input lie, in elements.
struct image_layout {
    unsigned width, height, channels;
    size_t x_stride, y_stride, channel_stride;
};

// Guesses the layout of a shape: [1, C, H, W], [1, H, W, C], [C, H, W], [H, W, C], [H, W] or [1, H * H].
bool image_layout_guess(const struct shape *shape, const struct pixel_rule *rule,
                        struct image_layout *layout);

// One pixel value from 0 to 255 as an element of an input.
WNNNumber image_number(const struct pixel_rule *rule, WNNDataType type, double pixel, unsigned channel);

// Resizes (bilinear, averaging when it gets smaller), converts between grey and colour, and writes a whole
// input.
bool image_to_tensor(const struct image *image, const struct pixel_rule *rule, const struct descriptor *type,
                     void *data, struct error *error);

// A copy of other size; `pixels` NULL: out of memory.
struct image image_resize(const struct image *image, unsigned width, unsigned height);

#endif
