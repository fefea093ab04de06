// SPDX-License-Identifier: Apache-2.0
//
// Pictures in PNG and binary PPM files.

#ifndef TOOLS_EXAMPLES_PICTURE_H_
#define TOOLS_EXAMPLES_PICTURE_H_

#include <stdbool.h>
#include <stdint.h>

struct picture {
    uint32_t width, height;
    unsigned char *pixels; // red, green, blue, row after row
};

// Part of a picture, in pixels: left and top are in it, right and bottom are not.
struct rectangle {
    float left, top, right, bottom;
};

// Says on standard error why it fails. All zeros can be freed.
bool picture_read(const char *path, struct picture *picture);
void picture_free(struct picture *picture);

// A part in another size: width x height pixels of three numbers from 0 to 255, which the caller frees. What
// gets smaller is averaged, what gets larger is interpolated. NULL: out of memory.
float *picture_resize(const struct picture *picture, struct rectangle part, uint32_t width, uint32_t height);

#endif
