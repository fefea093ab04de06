// SPDX-License-Identifier: Apache-2.0
//
// argMin and argMax. A minimum is looked for as the maximum of the negated values, so that there is one
// search.
#include "cpu/walk.h"

struct search {
    const struct tensor *in, *out;
    bool min, last;
    struct walk walk;
};

enum {
    LANES = 64
};

// The best of each column so far, and where it is among the reduced elements; -1: nowhere, all are NaN.
#define DEFINE_SEARCH(name, type, LOWEST)                                                                    \
    /* One column: the best of the piece first, which is quick, then where it is. */                         \
    static void name##_run(const type *values, const struct piece *piece, bool last, type *best,             \
                           int64_t *where)                                                                   \
    {                                                                                                        \
        type most = LOWEST;                                                                                  \
        size_t count = piece->rows, at;                                                                      \
        type lanes[LANES];                                                                                   \
        for (size_t j = 0; j < LANES; j++)                                                                   \
            lanes[j] = LOWEST;                                                                               \
        for (at = 0; at + LANES <= count; at += LANES) {                                                     \
            for (size_t j = 0; j < LANES; j++)                                                               \
                lanes[j] = values[at + j] > lanes[j] ? values[at + j] : lanes[j];                            \
        }                                                                                                    \
        for (size_t j = 0; j < LANES; j++)                                                                   \
            most = lanes[j] > most ? lanes[j] : most;                                                        \
        for (; at < count; at++)                                                                             \
            most = values[at] > most ? values[at] : most;                                                    \
        if (!(most > *best || (most == *best && (last || *where < 0))))                                      \
            return;                                                                                          \
        if (last) {                                                                                          \
            for (at = count; at > 0 && !(values[at - 1] == most); at--)                                      \
                ;                                                                                            \
            if (at == 0)                                                                                     \
                return;                                                                                      \
            at--;                                                                                            \
        } else {                                                                                             \
            for (at = 0; at < count && !(values[at] == most); at++)                                          \
                ;                                                                                            \
            if (at == count)                                                                                 \
                return;                                                                                      \
        }                                                                                                    \
        *best = most;                                                                                        \
        *where = (int64_t)(piece->position + at);                                                            \
    }                                                                                                        \
    static void name##_rows(const type *restrict values, const struct piece *piece, bool last,               \
                            type *restrict best, int64_t *restrict where)                                    \
    {                                                                                                        \
        for (size_t r = 0; r < piece->rows; r++, values += piece->width) {                                   \
            int64_t position = (int64_t)(piece->position + r);                                               \
            for (size_t j = 0; j < piece->width; j++) {                                                      \
                int64_t old = where[j];                                                                      \
                type x = values[j], b = best[j];                                                             \
                bool better = (x > b) | ((x == b) & (last | (old < 0)));                                     \
                best[j] = better ? x : b;                                                                    \
                where[j] = better ? position : old;                                                          \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    static void name(const struct search *search, struct piece *piece, int64_t *where)                       \
    {                                                                                                        \
        type values[WNN_PIECE], best[WNN_WALK_WIDTH];                                                        \
        for (size_t j = 0; j < piece->width; j++) {                                                          \
            best[j] = LOWEST;                                                                                \
            where[j] = -1;                                                                                   \
        }                                                                                                    \
        while (wnn_walk_next(piece)) {                                                                       \
            name##_load(search, piece, values);                                                              \
            (piece->width == 1 ? name##_run : name##_rows)(values, piece, search->last, best, where);        \
        }                                                                                                    \
    }

static void search_doubles_load(const struct search *search, const struct piece *piece, double *values)
{
    size_t count = piece->rows * piece->width;
    wnn_load_doubles(search->in, piece->offset, count, values);
    for (size_t i = 0; search->min && i < count; i++)
        values[i] = -values[i];
}

static void search_integers_load(const struct search *search, const struct piece *piece, int64_t *values)
{
    size_t count = piece->rows * piece->width;
    wnn_load_integers(search->in, piece->offset, count, values);
    // ~ turns the order around without overflow; without its highest bit flipped, uint64_t is not in order.
    uint64_t change =
        (search->min ? UINT64_MAX : 0) ^ (search->in->type == WNNDataType_Uint64 ? 1ull << 63 : 0);
    for (size_t i = 0; i < count; i++)
        values[i] = (int64_t)((uint64_t)values[i] ^ change);
}

DEFINE_SEARCH(search_doubles, double, -INFINITY)
DEFINE_SEARCH(search_integers, int64_t, INT64_MIN)

static void search_units(void *argument, size_t begin, size_t end)
{
    const struct search *search = argument;
    bool floats = wnn_dtype_is_float(search->in->type);
    for (size_t unit = begin; unit < end; unit++) {
        struct piece piece;
        int64_t where[WNN_WALK_WIDTH];
        wnn_walk_start(&piece, &search->walk, unit);
        (floats ? search_doubles : search_integers)(search, &piece, where);
        for (size_t j = 0; j < piece.width; j++)
            where[j] = where[j] < 0 ? 0 : where[j];
        wnn_store_integers(where, search->out, piece.output, piece.width);
    }
}
WNN_VARIANTS(search_units)

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-argminmax
void wnn_cpu_arg_min_max(const struct kernel_call *call)
{
    const struct arg_min_max_attrs *attrs = call->node->attrs;
    struct search search = {
        &call->in[0], &call->out[0], call->node->op == WNN_OP_argMin, attrs->selectLastIndex, {0}};
    uint32_t mask = 0;
    for (size_t i = 0; i < attrs->axes.count; i++)
        mask |= 1u << attrs->axes.data[i];
    wnn_walk_init(&search.walk, &call->in[0].shape, mask, NULL);
    wnn_parallel_for(call->parallel, search.walk.units, wnn_walk_grain(&search.walk), WNN_BEST(search_units),
                     &search);
}
