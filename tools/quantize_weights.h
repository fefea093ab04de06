// SPDX-License-Identifier: Apache-2.0
//
// The weights of a model in fewer bits. A constant of floats that products, convolutions, recurrent networks
// and look-ups read becomes
//   float16   numbers that cast makes float32 again
//   int8      dequantizeLinear of integers from -127 to 127 whose zero points are 0, one scale for each
//   output
//             channel, or for each block of the terms that are summed
//   uint4     dequantizeLinear of integers from 0 to 15, a scale and a zero point for each block
// Blocks have as many elements as are asked for, or from half to four times as many, where that does not
// divide the number of terms: scales divide shapes in WebNN. Where no such number divides it either, and for
// tables, since gather takes no 4-bit integers, uint4 is int8 with a scale for each channel or row.
//
// Where the rows of a table are looked up, integers and scales are, and those rows alone become floats.

#ifndef TOOLS_QUANTIZE_WEIGHTS_H_
#define TOOLS_QUANTIZE_WEIGHTS_H_

#include "tools/model.h"

struct weights_form {
    WNNDataType type;    // Float16, Int8 or Uint4; Undefined: weights stay what they are
    uint32_t block;      // elements; 0: one scale for all terms of a channel
    size_t min_elements; // smaller constants stay what they are
};

// What became of one constant.
struct converted_constant {
    const struct operand *operand; // of the model that it was of
    const char *name;              // there, or NULL
    const struct node *reader;     // there, the first one
    struct descriptor type;        // as it is stored now
    struct shape scale;            // the shape of the scales; rank 0: there are none
    size_t bytes;                  // as it is stored now, with scales and zero points
    const char *stored_name;       // of its numbers in the model that has been made; NULL: it is what it was
    char reason[64];               // why it is not what was asked for; "" otherwise
};

struct conversion {
    struct converted_constant *constants; // those that outputs depend on
    size_t constant_count;
};

// Records `from` in `to`, which has begun, is empty, and has to be ended before `from` is. The conversion is
// to be freed in any case, and refers to both models.
bool quantize_weights(const struct model *from, const struct weights_form *form, struct model *to,
                      struct conversion *conversion, struct error *error);
void conversion_free(struct conversion *conversion);

#endif
