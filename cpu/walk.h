// SPDX-License-Identifier: Apache-2.0
//
// How the kernels that reduce dimensions go over a tensor, whatever its rank and type.
//
// Neighbouring dimensions that are treated alike are merged. If the last dimension that is left is kept, its
// elements are the columns, else there is one column; the dimension above (the last one, if there is one
// column) gives the rows. A unit is up to WNN_WALK_WIDTH columns at one place of the other kept dimensions,
// with everything that is reduced into them. Units are independent, and how a unit is summed up does not
// depend on the others: the threads share out units. A unit is read in pieces that fit in a buffer on the
// stack, as double or int64_t.

#ifndef CPU_WALK_H_
#define CPU_WALK_H_

#include "cpu/kernel.h"

#define WNN_WALK_WIDTH 128
#define WNN_PIECE      256 // elements of a piece, at most

struct walk_loop {
    unsigned rank;
    // Inner to outer; strides in elements.
    size_t dim[WNN_MAX_RANK], stride[WNN_MAX_RANK], parameter[WNN_MAX_RANK];
};

struct walk {
    size_t units, reduced; // reduced: the number of elements that become one
    size_t columns, rows, blocks;
    size_t row_parameter, column_parameter;
    struct walk_loop kept, outer; // without the columns, without the rows
};

struct piece {
    const struct walk *walk;
    // Of the unit: the first element of the output, as if the reduced dimensions were gone.
    size_t output, width;
    // Of the piece: the first element of the input and of the parameters, the number of rows (each of `width`
    // elements that follow one another, as the rows do), the position of the first row among the reduced
    // elements.
    size_t offset, parameter, rows, position;
    // Where the walk is.
    size_t row, at, parameter_at, left;
    size_t index[WNN_MAX_RANK];
};

// `reduced` has bit d set if dimension d is. `parameter`: the strides of tensors that are read beside the
// input (scale and bias), or NULL.
void wnn_walk_init(struct walk *walk, const struct shape *shape, uint32_t reduced,
                   const size_t parameter[WNN_MAX_RANK]);

// Puts the piece before the first one of a unit.
void wnn_walk_start(struct piece *piece, const struct walk *walk, size_t unit);
bool wnn_walk_next(struct piece *piece);

// How many units one thread should take at least.
size_t wnn_walk_grain(const struct walk *walk);

// At most WNN_PIECE elements from `offset` on. Floats as double, integers as int64_t (uint64_t by its bits).
// Stores round once, and keep the low bits of integers.
void wnn_load_doubles(const struct tensor *tensor, size_t offset, size_t count, double *values);
void wnn_store_doubles(const double *values, const struct tensor *tensor, size_t offset, size_t count);
void wnn_load_integers(const struct tensor *tensor, size_t offset, size_t count, int64_t *values);
void wnn_store_integers(const int64_t *values, const struct tensor *tensor, size_t offset, size_t count);

#endif
