// SPDX-License-Identifier: Apache-2.0
//
// Cuts a person out of a picture: cut_out [--gpu] MODEL PICTURE OUTPUT
//
// MODEL is the network of the npm package @mediapipe/selfie_segmentation, in TensorFlow Lite: of a picture in
// a fixed size it says for every pixel how likely that belongs to a person. OUTPUT is a PNG: the picture,
// transparent where nobody is.

#include "tools/examples/network.h"
#include "tools/examples/picture.h"

#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>

// What the network says of a picture.
struct mask {
    uint32_t width, height;
    float *likely; // 0 to 1, row after row
};

// The picture in the size of the network's input, 1 x height x width x 3, with numbers from 0 to 1.
static float *make_input(const struct picture *picture, uint32_t width, uint32_t height)
{
    struct rectangle all = {0, 0, (float)picture->width, (float)picture->height};
    float *pixels = picture_resize(picture, all, width, height);
    for (size_t i = 0; pixels && i < (size_t)width * height * 3; i++)
        pixels[i] /= 255;
    return pixels;
}

static bool find_person(struct network *network, const struct picture *picture, struct mask *mask)
{
    // The sizes are the model's: only it knows whether it is the one for portraits or that for landscapes.
    size_t count;
    const WNNModelValue *input = wnnModelGetInputs(network->model, &count);
    if (count != 1 || input->rank != 4 || input->dimensions[1].size == 0 || input->dimensions[2].size == 0 ||
        input->dimensions[3].size != 3) {
        complain("%s: expected one input of 1 x height x width x 3", network->path);
        return false;
    }
    *mask = (struct mask){(uint32_t)input->dimensions[2].size, (uint32_t)input->dimensions[1].size, NULL};
    float *pixels = make_input(picture, mask->width, mask->height);
    if (!pixels)
        return false;
    WNNUint32List shape;
    mask->likely = network_apply(network, (uint32_t[]){1, mask->height, mask->width, 3}, pixels, &shape);
    free(pixels);
    if (!mask->likely)
        return false;
    if (shape.count == 4 && shape.data[1] == mask->height && shape.data[2] == mask->width &&
        shape.data[3] == 1)
        return true;
    complain("%s: expected one output of 1 x height x width x 1", network->path);
    return false;
}

// The mask at a place of the picture, interpolated, as an opacity from 0 to 255.
static unsigned char get_opacity(const struct mask *mask, float x, float y)
{
    x = fminf(fmaxf(x - 0.5f, 0), (float)(mask->width - 1));
    y = fminf(fmaxf(y - 0.5f, 0), (float)(mask->height - 1));
    uint32_t left = (uint32_t)x, top = (uint32_t)y, right = left + (left + 1 < mask->width),
             bottom = top + (top + 1 < mask->height);
    const float *upper = mask->likely + (size_t)top * mask->width,
                *lower = mask->likely + (size_t)bottom * mask->width;
    float across = x - (float)left, down = y - (float)top,
          likely = (upper[left] * (1 - across) + upper[right] * across) * (1 - down) +
                   (lower[left] * (1 - across) + lower[right] * across) * down;
    return (unsigned char)(fminf(fmaxf(likely, 0), 1) * 255 + 0.5f);
}

static bool write_cut_out(const char *path, const struct picture *picture, const struct mask *mask)
{
    size_t width = picture->width, height = picture->height;
    unsigned char *pixels = malloc(width * height * 4);
    if (!pixels) {
        complain("out of memory");
        return false;
    }
    float x_scale = (float)mask->width / (float)width, y_scale = (float)mask->height / (float)height;
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            const unsigned char *from = picture->pixels + (y * width + x) * 3;
            unsigned char *to = pixels + (y * width + x) * 4;
            for (int c = 0; c < 3; c++)
                to[c] = from[c];
            to[3] = get_opacity(mask, ((float)x + 0.5f) * x_scale, ((float)y + 0.5f) * y_scale);
        }
    png_image png = {.version = PNG_IMAGE_VERSION,
                     .width = picture->width,
                     .height = picture->height,
                     .format = PNG_FORMAT_RGBA};
    bool good = png_image_write_to_file(&png, path, 0, pixels, 0, NULL);
    if (!good)
        complain("%s: %s", path, png.message);
    free(pixels);
    return good;
}

int main(int argc, char **argv)
{
    struct network network = {.path = NULL};
    struct picture picture = {0, 0, NULL};
    struct mask mask = {0, 0, NULL};
    WNNContext context = open_context(&argc, &argv);
    if (argc != 4) {
        complain("usage: cut_out [--gpu] MODEL PICTURE OUTPUT");
        wnnContextRelease(context);
        return 2;
    }
    bool good = context && network_open(&network, context, argv[1]) && picture_read(argv[2], &picture) &&
                find_person(&network, &picture, &mask) && write_cut_out(argv[3], &picture, &mask);
    free(mask.likely);
    picture_free(&picture);
    network_close(&network);
    wnnContextRelease(context);
    return good ? 0 : 1;
}
