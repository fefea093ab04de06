// SPDX-License-Identifier: Apache-2.0
#include "tools/model/excerpt.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RUNS  ((size_t)16384) // others are not left out
#define MIN_RUN   ((size_t)256)   // bytes; of less, what is kept to know them is more than what is saved
#define ALIGNMENT ((size_t)16)    // of runs: what is left is aligned as it was

void wnn_add_run(struct byte_runs *runs, struct bytes file, struct bytes run)
{
    enum {
        FIRST = 32
    };
    if (run.size < MIN_RUN || runs->count == MAX_RUNS)
        return;
    size_t begin = (size_t)(run.data - file.data), end = (begin + run.size) / ALIGNMENT * ALIGNMENT;
    begin = (begin + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (runs->count == runs->capacity) {
        size_t capacity = runs->capacity ? runs->capacity * 2 : FIRST;
        struct byte_run *grown = realloc(runs->items, capacity * sizeof *grown);
        runs->failed |= !grown;
        if (!grown)
            return;
        runs->items = grown;
        runs->capacity = capacity;
    }
    runs->items[runs->count++] = (struct byte_run){begin, end, 0};
}

static int by_begin(const void *a, const void *b)
{
    const struct byte_run *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

// Brings them in order; those that overlap become one.
static void merge_runs(struct byte_runs *runs)
{
    size_t count = 0;
    if (runs->count)
        qsort(runs->items, runs->count, sizeof runs->items[0], by_begin);
    for (size_t i = 0; i < runs->count; i++) {
        struct byte_run *last = count ? &runs->items[count - 1] : NULL;
        if (!last || runs->items[i].begin > last->end)
            runs->items[count++] = runs->items[i];
        else if (runs->items[i].end > last->end)
            last->end = runs->items[i].end;
    }
    runs->count = count;
}

// How many bytes are left.
static size_t count_left(struct byte_runs *runs, size_t size)
{
    size_t left_out = 0;
    for (size_t i = 0; i < runs->count; i++) {
        runs->items[i].left = runs->items[i].begin - left_out;
        left_out += runs->items[i].end - runs->items[i].begin;
    }
    return size - left_out;
}

bool wnn_excerpt_make(struct excerpt *excerpt, struct bytes file, struct byte_runs runs)
{
    merge_runs(&runs);
    size_t size = count_left(&runs, file.size);
    unsigned char *own = runs.failed ? NULL : malloc(size + !size);
    struct byte_run *fitting = runs.items ? realloc(runs.items, (runs.count + 1) * sizeof *fitting) : NULL;
    runs.items = fitting ? fitting : runs.items;
    *excerpt = (struct excerpt){file, {own, size}, runs, own};
    if (!own)
        return false;
    size_t begin = 0, to = 0;
    for (size_t i = 0; i <= runs.count; i++) {
        size_t end = i < runs.count ? runs.items[i].begin : file.size;
        memcpy(own + to, file.data + begin, end - begin);
        to += end - begin;
        begin = i < runs.count ? runs.items[i].end : end;
    }
    return true;
}

void wnn_excerpt_free(struct excerpt *excerpt)
{
    free(excerpt->own);
    free(excerpt->runs.items);
}

struct excerpt_piece wnn_excerpt_piece(const struct excerpt *excerpt, size_t at)
{
    const struct byte_runs *runs = &excerpt->runs;
    size_t low = 0, high = runs->count;
    while (low < high) { // the first that begins behind `at`
        size_t middle = low + (high - low) / 2;
        if (runs->items[middle].begin > at)
            high = middle;
        else
            low = middle + 1;
    }
    struct excerpt_piece piece = {0, low < runs->count ? runs->items[low].begin : excerpt->file.size,
                                  excerpt->left.data};
    if (low) {
        const struct byte_run *before = &runs->items[low - 1];
        piece.begin = before->end;
        piece.data += before->left;
    }
    return at >= piece.begin && at < piece.end ? piece : (struct excerpt_piece){0, 0, NULL};
}
