// SPDX-License-Identifier: Apache-2.0
//
// Boxes around the text of a picture.

#ifndef TOOLS_EXAMPLES_BOXES_H_
#define TOOLS_EXAMPLES_BOXES_H_

#include "tools/examples/picture.h"

#include <stddef.h>

struct boxes {
    struct rectangle *items; // of the picture; the caller frees it
    size_t count;
};

// Boxes around what is text in a map that says how likely each place of the picture is text, from 0 to 1. The
// map is used up. Says on standard error why it fails; there may be items to free even then.
bool boxes_find(float *map, uint32_t width, uint32_t height, const struct picture *picture,
                struct boxes *boxes);

#endif
