// SPDX-License-Identifier: Apache-2.0
//
// What operators that gather and scatter share: how indices name places, the numbers of elements or blocks
// in the larger side, and what goes over many of them.
//
// Indices come from outside and may change while they are read: each is loaded once and made valid before
// use, here or by the vectors of gather.c that load their own. They name elements of a dimension of `size` (1
// or more): they are clamped to [-size, size - 1], and counted from the end if they are negative.

#ifndef CPU_INDICES_H_
#define CPU_INDICES_H_

#include "cpu/kernel.h"
#include "cpu/simd/runs.h"
#include "cpu/simd/isa.h"

enum {
    WNN_INDICES = 512, // at a time
    WNN_UNROLLED = 8,  // elements that are read before they are written, so that no load waits for a store
    WNN_NEAR = 16384   // bytes that stay in the first cache
};

// Up to WNN_INDICES of them, from number `first` on.
void wnn_load_indices(const struct tensor *indices, size_t first, size_t count, size_t size, uint32_t *valid);

// One side is [outer, size, inner], the indices and the other side are [outer, steps, inner].
struct elements {
    const struct tensor *indices, *out;
    const struct interrupt *interrupt; // of a scatter, or NULL
    const char *input;                 // NULL, or what a unit copies to the output before it scatters
    const char *from;
    char *to;
    size_t outer, size, steps, inner, bytes;
    size_t ahead;    // indices from those of a row to those of the row to ask for
    size_t columns;  // that a unit scatters to
    size_t straight; // elements of a row that are gathered without places; 0: with
};

// Of sides that have elements.
struct elements wnn_element_sides(const struct tensor *tensor, const struct tensor *indices, unsigned axis,
                                  size_t ahead);

// Where up to WNN_INDICES elements of the smaller side are in the larger one, counted from `origin`.
void wnn_load_places(const struct elements *e, size_t first, size_t count, size_t origin, uint32_t *places);

// Tuples of indices, each of which names a block of the larger side.
struct tuples {
    const struct tensor *indices, *out;
    const struct interrupt *interrupt; // of a scatter, or NULL
    const struct shape *shape;         // of the larger side
    const char *from;
    char *to;
    size_t length, count; // indices in a tuple, tuples
    size_t bytes;         // of a block
};

struct tuples wnn_tuple_sides(const struct tensor *tensor, const struct tensor *indices);

// The blocks that up to WNN_INDICES tuples name.
void wnn_load_blocks(const struct tuples *t, size_t first, size_t count, uint32_t *places);

static inline size_t wnn_element_size(const struct tensor *tensor)
{
    return wnn_dtype_bits(tensor->type) / 8;
}

// How many blocks one thread should move at least.
static inline size_t wnn_blocks_grain(size_t bytes)
{
    return 32768 / (bytes + 16) + 1;
}

// Indices that a pass over many of them needs soon, which the processor does not foresee while it follows
// those that it has; NULL: none.
struct later {
    const char *indices;
    size_t bytes; // of an index
};

static inline struct later wnn_indices_from(const struct tensor *indices, size_t i)
{
    size_t bytes = wnn_element_size(indices);
    return (struct later){(const char *)indices->data + i * bytes, bytes};
}

// 8 of them lie in one cache line, or in the end of one and the begin of the next, which is asked for then.
WNN_INLINE void wnn_ask_for(struct later later, size_t i)
{
    if (later.indices)
        __builtin_prefetch(later.indices + i * later.bytes);
}

// One element, or a block of them.
WNN_INLINE void wnn_copy_block(char *to, const char *from, size_t size)
{
    switch (size) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    case 16:
        memcpy(to, from, 16);
        break;
    case 32:
        memcpy(to, from, 32);
        break;
    default:
        wnn_copy_run(to, from, size);
        break;
    }
}

// Calls loop(..., bytes) with constants for the usual sizes of what is moved.
#define WNN_CALL_WITH_SIZE(loop, bytes, ...)                                                                 \
    do {                                                                                                     \
        switch (bytes) {                                                                                     \
        case 1:                                                                                              \
            loop(__VA_ARGS__, 1);                                                                            \
            break;                                                                                           \
        case 2:                                                                                              \
            loop(__VA_ARGS__, 2);                                                                            \
            break;                                                                                           \
        case 4:                                                                                              \
            loop(__VA_ARGS__, 4);                                                                            \
            break;                                                                                           \
        case 8:                                                                                              \
            loop(__VA_ARGS__, 8);                                                                            \
            break;                                                                                           \
        case 16:                                                                                             \
            loop(__VA_ARGS__, 16);                                                                           \
            break;                                                                                           \
        case 32:                                                                                             \
            loop(__VA_ARGS__, 32);                                                                           \
            break;                                                                                           \
        default:                                                                                             \
            loop(__VA_ARGS__, bytes);                                                                        \
            break;                                                                                           \
        }                                                                                                    \
    } while (0)

#endif
