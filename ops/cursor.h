// SPDX-License-Identifier: Apache-2.0
//
// Reading bytes of unknown origin: little-endian numbers, multiples of 4 bytes. The first problem stays; from
// then on everything that is taken is 0 or empty, so that one look at the end of a piece is enough.

#ifndef OPS_CURSOR_H_
#define OPS_CURSOR_H_

#include <webnn/webnn.h>

struct cursor {
    const unsigned char *data;
    size_t size, at;
    const char *problem; // static text, or NULL
    size_t place;        // of the problem
};

// Notes a problem at the last thing taken, unless there is one already.
void wnn_cursor_fail(struct cursor *cursor, const char *problem);

uint32_t wnn_cursor_u32(struct cursor *cursor);
uint64_t wnn_cursor_u64(struct cursor *cursor);
double wnn_cursor_f64(struct cursor *cursor);

// The next `size` bytes and the zeros up to a multiple of `alignment`; NULL if they are not there.
const unsigned char *wnn_cursor_bytes(struct cursor *cursor, uint64_t size, unsigned alignment);

// Text, where it stands; no NUL follows it.
WNNStringView wnn_cursor_text(struct cursor *cursor);

// The number of items of a list, each of which takes at least `least` bytes of what is left.
uint32_t wnn_cursor_count(struct cursor *cursor, size_t least);

#endif
