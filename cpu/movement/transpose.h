// SPDX-License-Identifier: Apache-2.0
//
// A matrix of elements of 1, 2, 4 or 8 bytes that is transposed.

#ifndef CPU_TRANSPOSE_H_
#define CPU_TRANSPOSE_H_

#include <stddef.h>

// `rows` x `columns` elements of the destination. Those of a row lie side by side there; those of a column
// lie side by side in the source. The strides are bytes: from a column to the next in the source, and from a
// row to the next in the destination.
void wnn_transpose(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride, size_t size,
                   size_t rows, size_t columns);

#endif
