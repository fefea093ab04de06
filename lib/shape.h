// SPDX-License-Identifier: Apache-2.0
//
// Shapes and descriptors, and all arithmetic on sizes that can overflow. Nothing else in the library
// multiplies dimensions of unchecked shapes; a valid shape has at most 2^31-1 elements, so that 64-bit
// offsets into it are safe.

#ifndef LIB_SHAPE_H_
#define LIB_SHAPE_H_

#include "lib/dtype.h"

#define WNN_MAX_DIMENSION 0x7FFFFFFFu

struct shape {
    unsigned rank;
    uint32_t dim[WNN_MAX_RANK];
};

// https://www.w3.org/TR/webnn/#dictdef-mloperanddescriptor
struct descriptor {
    WNNDataType type;
    struct shape shape;
};

bool wnn_shape_equal(const struct shape *a, const struct shape *b);

// The number of elements of a valid shape; 1 for rank 0. And of its dimensions [begin, end) alone.
size_t wnn_shape_elements(const struct shape *shape);
size_t wnn_shape_product(const struct shape *shape, unsigned begin, unsigned end);

// Whether there are no elements: a dimension is 0.
bool wnn_shape_is_empty(const struct shape *shape);

// The same as far as 64 bits go: false on overflow or beyond 2^31-1.
bool wnn_shape_count(const struct shape *shape, size_t *elements);

// Appends dimensions; false (and rank WNN_MAX_RANK + 1) when the rank would exceed the maximum.
bool wnn_shape_append(struct shape *shape, const uint32_t *dims, unsigned count);

// Row-major strides in elements.
void wnn_shape_strides(const struct shape *shape, size_t strides[WNN_MAX_RANK]);

// The same for those who step backwards too.
void wnn_shape_steps(const struct shape *shape, int64_t steps[WNN_MAX_RANK]);

// Strides in elements for reading `from` as if it had the shape `to`, to which it broadcasts: 0 where it
// repeats.
void wnn_shape_broadcast_strides(const struct shape *from, const struct shape *to,
                                 size_t strides[WNN_MAX_RANK]);

// https://www.w3.org/TR/webnn/#bidirectionally-broadcast and #unidirectionally-broadcast: false if they do
// not go together.
bool wnn_shape_broadcast(const struct shape *a, const struct shape *b, struct shape *result);
bool wnn_shape_broadcast_to(const struct shape *from, const struct shape *to);

size_t wnn_descriptor_bytes(const struct descriptor *descriptor);
bool wnn_descriptor_equal(const struct descriptor *a, const struct descriptor *b);

// "[1, 3, 224, 224]"
#define WNN_SHAPE_TEXT 112
const char *wnn_shape_text(const struct shape *shape, char buffer[WNN_SHAPE_TEXT]);
#define SHAPE_TEXT(shape) wnn_shape_text((shape), (char[WNN_SHAPE_TEXT]){0})

static inline size_t wnn_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Checked unsigned arithmetic: false on overflow of 64 bits.
static inline bool wnn_add(uint64_t a, uint64_t b, uint64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline bool wnn_multiply(uint64_t a, uint64_t b, uint64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

#endif
