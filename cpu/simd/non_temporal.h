// SPDX-License-Identifier: Apache-2.0
//
// Stores past the caches, for outputs so large that nothing of them would still be there when the next node
// reads them. An ordinary store reads the line that it changes; half of what a copy moves is then moved for
// nothing. A kernel makes a row or a block in memory that the first cache holds and stores it to its place:
// whole lines, in order, at about twice the speed.
//
//     if (wnn_is_non_temporal(out_bytes)) {
//         for (each row) { make(row, buffer); wnn_nt_store(to, buffer, sizeof_row); }
//         wnn_nt_fence();
//     }

#ifndef CPU_SIMD_NON_TEMPORAL_H_
#define CPU_SIMD_NON_TEMPORAL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// From this size on a tensor leaves the caches before it has been written whole: more than the share that a
// processor has of most last caches. Tests are built with less.
#ifndef WNN_NON_TEMPORAL_BYTES
#define WNN_NON_TEMPORAL_BYTES ((size_t)16 << 20)
#endif

#define WNN_LINE 64

// Whether a loop of whole vectors may store past the caches by itself (lanes.h, stream), which takes less
// than a row in between.
static inline bool wnn_is_line(const void *to)
{
    return (uintptr_t)to % WNN_LINE == 0;
}

// Of `count` elements from `to` on how many are before the next line.
static inline size_t wnn_before_line(const void *to, size_t element_bytes, size_t count)
{
    size_t before = -(uintptr_t)to % WNN_LINE / element_bytes;
    return before < count ? before : count;
}

static inline bool wnn_is_non_temporal(size_t bytes)
{
    return bytes >= WNN_NON_TEMPORAL_BYTES;
}

// As memcpy; best where `to` goes on where the last call's ended, and where `from` is in the first cache.
void wnn_nt_store(void *to, const void *from, size_t bytes);

// `bytes` of `value` repeated; `size`, 1, 2, 4 or 8, divides bytes, and `to` is aligned to it.
void wnn_nt_fill(void *to, const void *value, size_t size, size_t bytes);

// Before another thread may read what this one has stored: the last thing that a part of a loop does.
void wnn_nt_fence(void);

#endif
