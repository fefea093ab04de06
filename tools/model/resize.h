// SPDX-License-Identifier: Apache-2.0
//
// Resizing of axes of a tensor, by every way that formats know to say where an element of the result lies
// among those of the input.

#ifndef TOOLS_MODEL_RESIZE_H_
#define TOOLS_MODEL_RESIZE_H_

#include "tools/model/tensor.h"

enum interpolation {
    NEAREST,
    LINEAR,
    CUBIC
};
enum coordinates {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP_AND_RESIZE,
    HALF_PIXEL_FOR_NEAREST
};
enum rounding {
    PREFER_FLOOR,
    PREFER_CEIL,
    ROUND_FLOOR,
    ROUND_CEIL
};
struct resize {
    enum interpolation mode;
    enum coordinates coordinates;
    enum rounding rounding;
    bool antialias, exclude_outside, oldest; // oldest: operator set 10 of ONNX
    double cubic_a, extrapolation;
    struct resize_axis {
        int64_t from, to;   // sizes
        double scale;       // as given
        double over, under; // positions are those of the output * over / under
        double width;       // what the size would be if it were not whole
        double start, end;  // of the region of interest
        bool by_scale; // of late sizes: positions are divided by the scale, not by what it makes of sizes
        struct tensor *late_scale; // by the graph, of rank 0 and float32; NULL: `scale`
    } axes[MAX_RANK];
};

// `x` with the sizes `to` of all its axes: resample2d where that does the same, else one axis after another
// by indices or as a product with weights. Integers are rounded.
struct tensor *resize(struct recording *r, const struct resize *z, struct tensor *x);

// The same where sizes are late, of which only from, to and by_scale are looked at, and the scale if that is
// so. Regions of interest, antialiasing and leaving out what is outside are not supported.
struct tensor *resize_late(struct recording *r, const struct resize *z, struct tensor *x);

#endif
