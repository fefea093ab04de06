// SPDX-License-Identifier: Apache-2.0
#include "tools/examples/picture.h"

#include "tools/examples/network.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SIDE = 16384,
    MAX_PIXELS = 1 << 26
};

static bool make_room(const char *path, uint32_t width, uint32_t height, struct picture *picture)
{
    if (width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE || width > MAX_PIXELS / height) {
        complain("%s: %u x %u pixels are none, or too many", path, width, height);
        return false;
    }
    *picture = (struct picture){width, height, malloc((size_t)width * height * 3)};
    if (!picture->pixels)
        complain("%s: out of memory", path);
    return picture->pixels;
}

// What is transparent becomes white.
static bool read_png(const char *path, FILE *file, struct picture *picture)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    const png_color white = {255, 255, 255};
    bool good = png_image_begin_read_from_stdio(&png, file);
    png.format = PNG_FORMAT_RGB;
    if (good && !make_room(path, png.width, png.height, picture)) {
        png_image_free(&png);
        return false;
    }
    good = good && png_image_finish_read(&png, &white, picture->pixels, 0, NULL);
    if (!good)
        complain("%s: %s", path, png.message);
    return good;
}

// The next number of a header, past spaces and comments; 0 if there is none.
static uint32_t next_number(FILE *file)
{
    int c = getc(file);
    for (; isspace(c) || c == '#'; c = getc(file))
        if (c == '#')
            while (c != '\n' && c != EOF)
                c = getc(file);
    uint32_t number = 0;
    for (; isdigit(c); c = getc(file))
        number = number > MAX_SIDE ? number : number * 10 + (uint32_t)(c - '0');
    return number;
}

static bool read_ppm(const char *path, FILE *file, struct picture *picture)
{
    bool good = getc(file) == 'P' && getc(file) == '6';
    uint32_t width = good ? next_number(file) : 0, height = good ? next_number(file) : 0;
    if (!good || next_number(file) != 255) {
        complain("%s: neither a PNG nor a binary PPM of 8 bits", path);
        return false;
    }
    if (!make_room(path, width, height, picture))
        return false;
    good = fread(picture->pixels, (size_t)width * 3, height, file) == height;
    if (!good)
        complain("%s: the file ends before its last pixel", path);
    return good;
}

bool picture_read(const char *path, struct picture *picture)
{
    *picture = (struct picture){0, 0, NULL};
    FILE *file = fopen(path, "rb");
    int first = file ? getc(file) : EOF;
    if (first == EOF) {
        complain("%s: %s", path, file ? "the file is empty, or cannot be read" : strerror(errno));
        if (file)
            fclose(file);
        return false;
    }
    ungetc(first, file);
    bool good = first == 0x89 ? read_png(path, file, picture) : read_ppm(path, file, picture);
    fclose(file);
    if (!good)
        picture_free(picture);
    return good;
}

void picture_free(struct picture *picture)
{
    free(picture->pixels);
    picture->pixels = NULL;
}

static uint32_t clamp_index(float x, uint32_t size)
{
    return x <= 0 ? 0 : x >= (float)(size - 1) ? size - 1 : (uint32_t)x;
}

// Adds the colour at a place, by bilinear interpolation between the centers of pixels.
static void add_sample(const struct picture *picture, float x, float y, float weight, float color[3])
{
    x -= 0.5f, y -= 0.5f;
    uint32_t left = clamp_index(floorf(x), picture->width),
             right = clamp_index(floorf(x) + 1, picture->width),
             top = clamp_index(floorf(y), picture->height),
             bottom = clamp_index(floorf(y) + 1, picture->height);
    float across = x - floorf(x), down = y - floorf(y);
    const unsigned char *upper = picture->pixels + (size_t)top * picture->width * 3,
                        *lower = picture->pixels + (size_t)bottom * picture->width * 3;
    for (int c = 0; c < 3; c++) {
        float above = (float)upper[left * 3 + c] * (1 - across) + (float)upper[right * 3 + c] * across,
              below = (float)lower[left * 3 + c] * (1 - across) + (float)lower[right * 3 + c] * across;
        color[c] += weight * (above * (1 - down) + below * down);
    }
}

float *picture_resize(const struct picture *picture, struct rectangle part, uint32_t width, uint32_t height)
{
    float *result = calloc((size_t)width * height, 3 * sizeof *result);
    if (!result) {
        complain("out of memory");
        return NULL;
    }
    // Each new pixel is the mean of a grid of samples, about one for each old pixel that it covers.
    float wide = (part.right - part.left) / (float)width, tall = (part.bottom - part.top) / (float)height;
    int across = (int)fmaxf(1, ceilf(wide)), down = (int)fmaxf(1, ceilf(tall));
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++)
            for (int sample = 0; sample < across * down; sample++)
                add_sample(picture,
                           part.left + wide * ((float)x + ((float)(sample % across) + 0.5f) / (float)across),
                           part.top + tall * ((float)y + ((float)(sample / across) + 0.5f) / (float)down),
                           1.0f / (float)(across * down), result + ((size_t)y * width + x) * 3);
    return result;
}
