// SPDX-License-Identifier: Apache-2.0
//
// How the kernels that reduce dimensions go over a tensor, whatever its rank and type.
//
// Neighbouring dimensions that are treated alike are merged. If the last dimension that is left is kept, its
// elements are the columns, else there is one column; the dimension above (the last one, if there is one
// column) gives the rows. A unit is up to WNN_ITERATOR_WIDTH columns at one place of the other kept
// dimensions, with everything that is reduced into them. Units are independent, and how a unit is summed up
// does not depend on the others: the threads share out units. A unit is read in pieces that fit in a buffer
// on the stack, or in place.

#ifndef CPU_REDUCE_ITERATOR_H_
#define CPU_REDUCE_ITERATOR_H_

#include "cpu/kernel.h"
#include "cpu/simd/isa.h"

#include <math.h>

#define WNN_ITERATOR_WIDTH 256
#define WNN_PIECE          512 // elements of a piece, at most, unless it is read in place

struct iterator_loop {
    unsigned rank;
    // Inner to outer; strides in elements.
    size_t dim[WNN_MAX_RANK], stride[WNN_MAX_RANK], parameter[WNN_MAX_RANK];
};

struct reduction_iterator {
    size_t units, reduced; // reduced: the number of elements that become one
    size_t columns, rows, blocks;
    size_t row_parameter, column_parameter;
    struct iterator_loop kept, outer;  // without the columns, without the rows
    const struct interrupt *interrupt; // of the execution: the pieces end early; or NULL
};

struct piece {
    const struct reduction_iterator *iterator;
    // Of the unit: the first element of the output, as if the reduced dimensions were gone.
    size_t output, width;
    // Of the piece: the first element of the input and of the parameters, the number of rows (each of `width`
    // elements that follow one another, as the rows do unless they are read in place: then they are
    // iterator->columns apart), the position of the first row among the reduced elements.
    size_t offset, parameter, rows, position;
    // Where the iterator is.
    size_t row, at, parameter_at, left;
    bool in_place;
    unsigned pieces; // that there were
    size_t index[WNN_MAX_RANK];
};

// `reduced` has bit d set if dimension d is. `parameter`: the strides of tensors that are read beside the
// input (scale and bias), or NULL.
void wnn_iterator_init(struct reduction_iterator *iterator, const struct shape *shape, uint32_t reduced,
                       const size_t parameter[WNN_MAX_RANK]);

// Puts the piece before the first one of a unit.
void wnn_iterator_start(struct piece *piece, const struct reduction_iterator *iterator, size_t unit);

// The same for rows [first, first + count) of the reduced elements, to be read in place: pieces are as long
// as possible, but of no more than some million elements.
void wnn_iterator_start_rows(struct piece *piece, const struct reduction_iterator *iterator, size_t unit,
                             size_t first, size_t count);
bool wnn_iterator_next(struct piece *piece);

// How many units one thread should take at least.
size_t wnn_iterator_grain(const struct reduction_iterator *iterator);

// ---------------------------------------------------------------------------------------------------------------
// At most WNN_PIECE elements of a float type from `offset` on, as double. Stores round once.
// ---------------------------------------------------------------------------------------------------------------

WNN_INLINE void wnn_load_doubles(const struct tensor *tensor, size_t offset, size_t count, double *values)
{
    if (tensor->type == WNNDataType_Float32) {
        const float *data = (const float *)tensor->data + offset;
        for (size_t i = 0; i < count; i++)
            values[i] = (double)data[i];
    } else {
        float floats[WNN_PIECE];
        wnn_half_to_float_array((const uint16_t *)tensor->data + offset, floats, count);
        for (size_t i = 0; i < count; i++)
            values[i] = (double)floats[i];
    }
}

// The float32 that float16 rounding cannot tell from the value: rounded to odd, so that rounding again is
// harmless.
WNN_INLINE float wnn_narrow(double value)
{
    float near = (float)value;
    double back = (double)near;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    bits = (bits - (uint32_t)(fabs(back) > fabs(value))) | (uint32_t)(back != value);
    memcpy(&near, &bits, sizeof near);
    return near;
}

WNN_INLINE void wnn_store_doubles(const double *values, const struct tensor *tensor, size_t offset,
                                  size_t count)
{
    if (tensor->type == WNNDataType_Float32) {
        float *data = (float *)tensor->data + offset;
        for (size_t i = 0; i < count; i++)
            data[i] = (float)values[i];
    } else {
        float floats[WNN_PIECE];
        for (size_t i = 0; i < count; i++)
            floats[i] = wnn_narrow(values[i]);
        wnn_half_from_float_array(floats, (uint16_t *)tensor->data + offset, count);
    }
}

#endif
