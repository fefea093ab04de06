// SPDX-License-Identifier: Apache-2.0
//
// What element-wise kernels share. They work on chunks: at most WNN_CHUNK consecutive elements of the output,
// together with the elements of every operand that belong to them, side by side in memory whatever the
// operand's shape. Hence each inner loop exists once, without strides, for the compiler to vectorise.

#ifndef CPU_ELEMENTWISE_H_
#define CPU_ELEMENTWISE_H_

#include "cpu/kernel.h"

#define WNN_CHUNK 512

// Elements that are worth a thread: for a loop that only moves and adds, and for one that calls a function.
#define WNN_GRAIN_CHEAP  16384
#define WNN_GRAIN_COSTLY 2048

// Stands before a loop whose iterations do not depend on one another, although its arrays may be the same
// memory: the output in place of an input, element by element. clang has no form of it that is silent where a
// loop calls functions.
#ifdef __clang__
#define WNN_INDEPENDENT
#else
#define WNN_INDEPENDENT _Pragma("GCC ivdep")
#endif

// A tensor read as if it had another shape, in which an element may stand several times: where the sizes
// differ, each index is repeated size / own size times. A broadcast dimension (of size 1, or missing in
// front) is the special case of one block, the blocks of quantised tensors the general one.
struct view {
    const unsigned char *data;
    WNNDataType type;
    unsigned rank;                   // at least 1
    size_t dim[2 * WNN_MAX_RANK];    // from the last dimension on; neighbours that act as one are one
    size_t stride[2 * WNN_MAX_RANK]; // in elements; the first is 0 or 1
};

// No size of `from` is 0.
void wnn_cpu_view_init(struct view *view, const struct tensor *from, const struct shape *to);

// One thread's way through a view. About 4 KiB.
struct cursor {
    const struct view *view;
    size_t filled, offset; // that many elements of the buffer repeat the one at this offset
    _Alignas(64) unsigned char buffer[WNN_CHUNK * sizeof(uint64_t)];
};

void wnn_cpu_cursor_init(struct cursor *cursor, const struct view *view);

// Elements [index, index + count) of the shape that is viewed, one after another: in the tensor's own memory
// or in the cursor's. Elements of 4-bit types become int8 or uint8. count is at most WNN_CHUNK.
const void *wnn_cpu_cursor_read(struct cursor *cursor, size_t index, size_t count);

// The same for float types, as float32: `floats` (WNN_CHUNK of them) is used for float16.
const float *wnn_cpu_cursor_read_floats(struct cursor *cursor, size_t index, size_t count, float *floats);

// x, or 0 where |x| is 2^23 or more and x has no fraction, or is NaN: what fits an int32. In bits, because a
// condition on floats becomes a branch that keeps the compiler from vectorising.
static inline float wnn_cpu_with_fraction(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits &= 0 - (uint32_t)((bits & 0x7FFFFFFFu) < 0x4B000000u);
    memcpy(&x, &bits, sizeof x);
    return x;
}

// The integral value nearest to x, the even one of two; NaN and infinities as they are. In this form, and not
// rintf, since it vectorises everywhere and leaves the rounding mode out.
static inline float wnn_cpu_round_even(float x)
{
    float small = wnn_cpu_with_fraction(x);
    int32_t whole = (int32_t)small, odd = whole & 1;
    float rest = small - (float)whole;
    whole += (rest > 0.5f) | ((rest == 0.5f) & odd);
    whole -= (rest < -0.5f) | ((rest == -0.5f) & odd);
    return __builtin_copysignf((float)whole + (x - small), x);
}

#endif
