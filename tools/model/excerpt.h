// SPDX-License-Identifier: Apache-2.0
//
// What is left of a file's bytes without some runs of them: one behind the other, so that it takes no more
// memory than what is left. Places are those in the file.

#ifndef TOOLS_MODEL_EXCERPT_H_
#define TOOLS_MODEL_EXCERPT_H_

#include "tools/model/bytes.h"

#include <stdbool.h>

// Runs of bytes that are left out, in any order before they are.
struct byte_runs {
    struct byte_run {
        size_t begin, end;
        size_t left; // bytes that are left before it
    } * items;
    size_t count, capacity;
    bool failed; // there was no memory for one
};

struct excerpt {
    struct bytes file; // all of it, where anybody may write to it
    struct bytes left;
    struct byte_runs runs; // in order, none beside another; none: nothing is left out
    unsigned char *own;    // `left`, or NULL: it is the file
};

// Adds a run of a file's bytes, or what of it is worth to be left out.
void wnn_add_run(struct byte_runs *runs, struct bytes file, struct bytes run);

// A file without runs, which become the excerpt's; false: no memory.
bool wnn_excerpt_make(struct excerpt *excerpt, struct bytes file, struct byte_runs runs);
void wnn_excerpt_free(struct excerpt *excerpt);

// What is left of a file between two runs: the bytes [begin, end).
struct excerpt_piece {
    size_t begin, end;
    const unsigned char *data;
};

// The piece with a byte of the file; an empty one: it is not left.
struct excerpt_piece wnn_excerpt_piece(const struct excerpt *excerpt, size_t at);

// Bytes of the file, at least one, where they are left, one behind the other; NULL: some are not. `last` is
// the piece of the bytes before, which are often close to these.
static inline const unsigned char *wnn_excerpt_find(const struct excerpt *excerpt, size_t at, size_t size,
                                                    struct excerpt_piece *last)
{
    if (at < last->begin || at >= last->end)
        *last = wnn_excerpt_piece(excerpt, at);
    return at < last->end && size <= last->end - at ? last->data + (at - last->begin) : NULL;
}

#endif
