// SPDX-License-Identifier: Apache-2.0
//
// Windows of convolutions and pools, of images [batch, height, width, channels] and volumes [batch, depth,
// height, width, channels].

#ifndef TOOLS_MODEL_TFLITE_WINDOW_H_
#define TOOLS_MODEL_TFLITE_WINDOW_H_

#include "tools/model/tflite/call.h"

// Of height and width; of a volume, depth comes first.
struct window {
    size_t count;
    int64_t kernel[3], strides[3], dilations[3], before[3], after[3];
};

// Checks its numbers, and sets the padding before and after each axis for an input of the sizes `in`: none,
// or as much as makes results of ceil(size / stride). False: an error.
bool place_window(struct recording *r, struct window *w, bool same, const int64_t *in);

// Options of an operator on images, as WebNN wants them.
struct plane_lists {
    uint32_t kernel[2], strides[2], dilations[2], padding[4];
};
struct plane_lists window_lists(const struct window *w);

// From the first to the last element of a window.
int64_t window_extent(const struct window *w, size_t i);

#endif
