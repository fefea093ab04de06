// SPDX-License-Identifier: Apache-2.0
//
// What operators of attention share: heads, masks, the past of keys and values, rotations, and attention
// itself.
//
// Sizes are named as B: batch, N: heads, S: rows of the query, P: rows of the past, T: rows of key and value
// with the past, H: a head.

#ifndef TOOLS_MODEL_ONNX_HEADS_H_
#define TOOLS_MODEL_ONNX_HEADS_H_

#include "tools/model/onnx/call.h"

#define LARGE_MASK ((int64_t)1 << 18) // elements; larger ones are not computed while recording
#define LARGEST    ((int64_t)1 << 28) // of sizes and of counts in attributes, whose products fit 64 bits

// ---------------------------------------------------------------------------------------------------------------
// Checks
// ---------------------------------------------------------------------------------------------------------------

// Each gives an error unless it is so. Sizes of -1 fit any.
bool has_shape(struct recording *r, const struct tensor *t, const char *name, size_t rank,
               const int64_t *dims);
bool has_type(struct recording *r, const struct tensor *t, const char *name, int64_t type);
bool is_index(struct recording *r, const struct tensor *t, const char *name);
// An attribute that counts heads; 0: an error.
int64_t get_heads(struct call *c, const char *name);
double get_scale(struct call *c, int64_t size);
bool refuse_input(struct call *c, size_t index, const char *name);

// ---------------------------------------------------------------------------------------------------------------
// Masks: tensors of rank 4 that are added to scores, [B or 1, N or 1, S or 1, T], or NULL
// ---------------------------------------------------------------------------------------------------------------

double lowest(int64_t type);
// Columns from some on, up to others: each [B], of which the first may be NULL.
struct tensor *visible_columns(struct recording *r, struct tensor *begin, struct tensor *end, int64_t total);
struct tensor *join_masks(struct recording *r, struct tensor *a, struct tensor *b);
struct tensor *hide_unless(struct recording *r, struct tensor *visible, int64_t type, double value);
// Numbers along an axis of rank 4.
struct tensor *range_at(struct recording *r, size_t axis, int64_t type, int64_t start, int64_t count);
// Row s sees columns up to past + s; with a window (0: none), the last so many of them. NULL if that is all.
struct tensor *band_mask(struct recording *r, int64_t type, int64_t rows, int64_t past, int64_t total,
                         int64_t window);
// Of rank 1: lengths [B]; ends and then beginnings, [2 * B]; or lengths and what packed rows begin at,
// [3 * B + 2]. Otherwise [B, T], [B, S, T] or [B, 1, at least T, at least T], where 0 hides.
struct tensor *padding_mask(struct recording *r, struct tensor *mask, const char *name, int64_t batch,
                            int64_t rows, int64_t total, int64_t type, double value);
struct tensor *bias_mask(struct recording *r, struct tensor *bias, int64_t batch, int64_t heads, int64_t rows,
                         int64_t total, int64_t type);

// ---------------------------------------------------------------------------------------------------------------
// Rotations
// ---------------------------------------------------------------------------------------------------------------

// Turns pairs of the last axis of x, of rank 4, by angles whose cosines and sines are broadcast to it. Pairs
// are neighbors, or lie half of what is turned apart; what follows them stays.
struct tensor *rotate(struct recording *r, struct tensor *x, struct tensor *cosine, struct tensor *sine,
                      bool neighbors);
bool check_caches(struct recording *r, struct tensor *cosine, struct tensor *sine);
// Rows of a cache at positions [B or 1, S], with an axis for heads: of size 1, at axis 1 or 2.
struct tensor *angles_at(struct recording *r, struct tensor *cache, struct tensor *positions, size_t axis,
                         int64_t type);
// start + 0, 1, ... of [B or 1, S]
struct tensor *positions_from(struct recording *r, struct tensor *start, int64_t batch, int64_t rows);

// ---------------------------------------------------------------------------------------------------------------
// Attention
// ---------------------------------------------------------------------------------------------------------------

// [B, S, N * H] as [B, S, N, H]
struct tensor *split_heads(struct recording *r, struct tensor *t, int64_t heads);
// [B, S, N, H] as [B, N, S, H], and back
struct tensor *turn_heads(struct recording *r, struct tensor *t);

// Where new rows come among those of a past, whose buffer may have more of them than there are.
struct cache {
    int64_t past, rows, total; // of the buffer, new ones, and of both together
    // How many of the past there are, [B] or [1] of int64, which what follows takes the place of; NULL: all.
    struct tensor *begin;
};

// The one number that all known elements are; -1: they are others.
int64_t common_number(struct recording *r, struct tensor *t);
// The past with new rows; `past` may be NULL. [B, N, rows, H]
struct tensor *extend(struct recording *r, const struct cache *a, struct tensor *past, struct tensor *t,
                      const char *name);

// What of the scores is an output, too: products, with a cap, those that are visible (0 elsewhere), with the
// mask, or the weights.
enum shown {
    SHOW_NOTHING,
    SHOW_PRODUCTS,
    SHOW_CAPPED,
    SHOW_VISIBLE,
    SHOW_MASKED,
    SHOW_WEIGHTS
};

// How scores become weights.
struct weighting {
    struct tensor *mask; // added to them, or NULL
    double scale, cap;   // cap 0: none
    // A score of each head that takes its share and has no value, [N]; NULL: none.
    struct tensor *sink;
    enum shown shows;
    struct tensor *shown; // [B, N, S, T]
};

// Query [B, S, N, H], key [B, N / groups, T, H], value [B, N / groups, T, Hv]; result [B, S, N * Hv]. Query
// heads that share a key get an axis of their own, at which key and value are broadcast.
struct tensor *attend(struct recording *r, struct tensor *query, struct tensor *key, struct tensor *value,
                      struct weighting *w);

#endif
