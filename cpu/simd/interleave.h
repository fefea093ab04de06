// SPDX-License-Identifier: Apache-2.0
//
// Rows of elements of 1, 2 or 4 bytes that are put among one another and back, thinned out and repeated.

#ifndef CPU_INTERLEAVE_H_
#define CPU_INTERLEAVE_H_

#include <stdbool.h>
#include <stddef.h>

enum {
    WNN_WOVEN = 4 // rows at most
};

// `count` elements of each of 2 to WNN_WOVEN rows, from_stride bytes apart, side by side: a0 b0 c0 a1 b1 c1
// ...
void wnn_interleave(const char *from, ptrdiff_t from_stride, char *to, size_t size, size_t rows,
                    size_t count);

// The other way. What lies on whole lines may be stored past the caches (cpu/simd/non_temporal.h), which the
// caller ends.
void wnn_deinterleave(const char *from, char *to, ptrdiff_t to_stride, size_t size, size_t rows, size_t count,
                      bool non_temporal);

// Every step-th of the elements from `from` on, `count` of them, side by side. The step is 2 to WNN_WOVEN, or
// -1.
void wnn_take(const char *from, ptrdiff_t step, char *to, size_t size, size_t count);

// Elements of 1, 2, 4, 8 or 16 bytes, one for each row, repeated as often as a row is long.
void wnn_repeat(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride, size_t size,
                size_t rows, size_t times);

#endif
