// SPDX-License-Identifier: Apache-2.0
#include "tools/examples/boxes.h"

#include "tools/examples/network.h"

#include <math.h>
#include <stdlib.h>

// Pixels that hang together, each likely to be text.
struct region {
    uint32_t left, top, right, bottom; // the last two are the last pixels in it
    size_t count;
    float sum; // of the likelihoods
};

// Takes the region around a pixel out of the map: its pixels become 0. `stack` has room for all pixels.
static struct region take_region(float *map, uint32_t width, uint32_t height, size_t start, float least,
                                 size_t *stack)
{
    uint32_t x = (uint32_t)(start % width), y = (uint32_t)(start / width);
    struct region region = {x, y, x, y, 1, map[start]};
    size_t depth = 1;
    stack[0] = start;
    map[start] = 0;
    while (depth > 0) {
        size_t at = stack[--depth];
        x = (uint32_t)(at % width), y = (uint32_t)(at / width);
        region.left = x < region.left ? x : region.left;
        region.right = x > region.right ? x : region.right;
        region.bottom = y > region.bottom ? y : region.bottom;
        region.top = y < region.top ? y : region.top;
        const size_t next[] = {x > 0 ? at - 1 : at, x + 1 < width ? at + 1 : at, y > 0 ? at - width : at,
                               y + 1 < height ? at + width : at};
        for (int i = 0; i < 4; i++)
            if (map[next[i]] > least) {
                region.sum += map[next[i]];
                region.count++;
                map[next[i]] = 0;
                stack[depth++] = next[i];
            }
    }
    return region;
}

// The network marks the middle of a text: a box is larger than its region, by the area times 1.5 over the
// perimeter. Scales are from the map to the picture.
static struct rectangle make_box(const struct region *region, float x_scale, float y_scale,
                                 const struct picture *picture)
{
    float width = (float)(region->right - region->left + 1),
          height = (float)(region->bottom - region->top + 1),
          margin = width * height * 1.8f / (2 * (width + height));
    return (struct rectangle){fmaxf(0, ((float)region->left - margin) * x_scale),
                              fmaxf(0, ((float)region->top - margin) * y_scale),
                              fminf((float)picture->width, ((float)region->right + 1 + margin) * x_scale),
                              fminf((float)picture->height, ((float)region->bottom + 1 + margin) * y_scale)};
}

bool boxes_find(float *map, uint32_t width, uint32_t height, const struct picture *picture,
                struct boxes *boxes)
{
    const float least = 0.3f, least_mean = 0.6f;
    const uint32_t least_side = 3;
    float x_scale = (float)picture->width / (float)width, y_scale = (float)picture->height / (float)height;
    size_t pixels = (size_t)width * height, *stack = malloc(pixels * sizeof *stack);
    // A region that counts has at least 3 pixels.
    boxes->items = malloc((pixels / 3 + 1) * sizeof *boxes->items);
    for (size_t i = 0; stack && boxes->items && i < pixels; i++) {
        if (!(map[i] > least))
            continue;
        struct region region = take_region(map, width, height, i, least, stack);
        if (region.right - region.left + 1 >= least_side && region.bottom - region.top + 1 >= least_side &&
            region.sum >= least_mean * (float)region.count)
            boxes->items[boxes->count++] = make_box(&region, x_scale, y_scale, picture);
    }
    bool good = stack && boxes->items;
    if (!good)
        complain("out of memory");
    free(stack);
    return good;
}
