// SPDX-License-Identifier: Apache-2.0
//
// Floats to integers with scales, which dequantizeLinear makes floats again.

#ifndef TOOLS_QUANTIZE_NUMBERS_H_
#define TOOLS_QUANTIZE_NUMBERS_H_

#include "lib/shape.h"

// A tensor of float32 or float16 and rank 1 or more.
struct numbers {
    const void *data; // of any alignment
    struct descriptor type;
};

// The greatest magnitude; infinity if a number is not finite.
double numbers_magnitude(const struct numbers *numbers);

// As float16, to be freed with free().
void *numbers_to_float16(const struct numbers *numbers);

// All three are to be freed with free(). Zero points have the type of the integers.
struct integers {
    void *data, *scales, *zero_points;
};

// To int8, with zero points of 0, or to uint4. `scale` is the shape of the scales, which divides that of the
// numbers; they are of `scale_type`, float32 or float16, and above 0. All numbers are finite.
struct integers quantize_numbers(const struct numbers *numbers, WNNDataType type, const struct shape *scale,
                                 WNNDataType scale_type);

#endif
