// SPDX-License-Identifier: Apache-2.0
//
// Attention of groups of heads that share keys and values.
#include "tools/model/onnx/heads.h"

#include "tools/model/late.h"

#include <math.h>

struct group_query {
    struct tensor *query, *key, *value;   // [B, S, N, H]
    struct tensor *past_key, *past_value; // [B, N, P, H], or NULL
    int64_t batch, rows, heads, shared, size;
    struct cache cache;
};

static bool split_group_query(struct call *c, struct group_query *g)
{
    struct recording *r = c->r;
    struct tensor *q = needed(c, 0, "query"), *k = input(c, 1), *v = input(c, 2);
    g->heads = get_heads(c, "num_heads");
    g->shared = get_heads(c, "kv_num_heads");
    if (!is_float(r, q, "query") || !has_shape(r, q, "query", 3, (int64_t[]){-1, -1, -1}))
        return false;
    if (g->heads % g->shared)
        return fail(r, "%lld heads do not share %lld of key and value", (long long)g->heads,
                    (long long)g->shared);
    if (!k != !v)
        return fail(r, "key and value come together");
    g->batch = q->dims[0];
    g->rows = q->dims[1];
    if (!k) { // packed in the query
        struct tensor *all = split_heads(r, q, g->heads + 2 * g->shared);
        g->query = slice_axis(r, all, 2, 0, g->heads, 1);
        g->key = slice_axis(r, all, 2, g->heads, g->shared, 1);
        g->value = slice_axis(r, all, 2, g->heads + g->shared, g->shared, 1);
    } else {
        if (!has_shape(r, k, "key", 3, (int64_t[]){g->batch, g->rows, -1}) ||
            !has_shape(r, v, "value", 3, (int64_t[]){g->batch, g->rows, -1}))
            return false;
        g->query = split_heads(r, q, g->heads);
        g->key = split_heads(r, k, g->shared);
        g->value = split_heads(r, v, g->shared);
    }
    g->size = g->query ? g->query->dims[3] : 0;
    return !r->failed && has_shape(r, g->key, "key", 4, (int64_t[]){-1, -1, -1, g->size});
}

// seqlens_k is the length of all, without the last row. total_sequence_length is the largest of them, with
// it: if it is known, it tells whether the past is a buffer that new rows are put into.
static bool find_past(struct call *c, struct group_query *g)
{
    struct recording *r = c->r;
    struct tensor *lengths = needed(c, 5, "seqlens_k"), *all = input(c, 6);
    g->past_key = input(c, 3);
    g->past_value = input(c, 4);
    g->cache = (struct cache){.rows = g->rows, .total = g->rows};
    if (!is_index(r, lengths, "seqlens_k"))
        return false;
    if (lengths->rank < 1 || lengths->rank > 2 ||
        sizes_differ(size_product(r, lengths->dims, lengths->rank), g->batch))
        return fail(r, "seqlens_k does not have one length for each of the batch");
    if (!g->past_key != !g->past_value)
        return fail(r, "past_key and past_value come together");
    if (!g->past_key)
        return true;
    int64_t dims[] = {g->batch, g->shared, -1, g->size}, total = -1;
    if (!has_shape(r, g->past_key, "past_key", 4, dims))
        return false;
    g->cache.past = dims[2] = g->past_key->dims[2];
    dims[3] = g->value->dims[3];
    if (!has_shape(r, g->past_value, "past_value", 4, dims))
        return false;
    if (all && is_known(r, all) && count_elements(all) == 1)
        total = known_integer(all, 0);
    int64_t most = compute_size(r, ADD, g->cache.past, g->rows);
    if (total >= 0 && !has_late((int64_t[]){total, g->rows, g->cache.past}, 3) &&
        (total < g->rows || total > most))
        return fail(r, "total_sequence_length is %lld for %lld rows after %lld", (long long)total,
                    (long long)g->rows, (long long)g->cache.past);
    g->cache.total = total < 0 ? most : compute_size(r, MAX, total, g->cache.past);
    if (g->cache.past == 0)
        return true;
    lengths = cast(r, reshape(r, lengths, 1, &g->batch), ONNX_INT64);
    lengths = with_size(r, SUB, with_number(r, ADD, lengths, 1), g->rows);
    most = compute_size(r, SUB, g->cache.total, g->rows);
    g->cache.begin = total == g->rows ? make_filled(r, ONNX_INT64, 1, &g->batch, 0)
                                      : clamp_to_size(r, lengths, compute_size(r, ADD, most, 1));
    if (!is_late(g->cache.past) && common_number(r, g->cache.begin) == g->cache.past) // all of it
        g->cache.begin = NULL;
    return !r->failed;
}

// Row s sees the past that is there and the new rows up to its own; with a window, the last so many of them.
// NULL if nothing is hidden. [B, 1, S, T]
static struct tensor *known_mask(struct recording *r, const struct group_query *g, int64_t window)
{
    int64_t total = g->cache.total, type = g->query->type;
    bool any = false;
    struct tensor *mask = make_known(r, type, 4, (int64_t[]){g->batch, 1, g->rows, total});
    for (int64_t i = 0; mask && i < count_elements(mask); i++) {
        int64_t column = i % total, last = g->cache.begin->ints[i / total / g->rows] + i / total % g->rows;
        if (column > last || (window && column <= last - window)) {
            set_known(mask, i, lowest(type));
            any = true;
        }
    }
    return any ? mask : NULL;
}

// The same, when only the graph computes how much of the past there is.
static struct tensor *computed_mask(struct recording *r, const struct group_query *g, int64_t window)
{
    int64_t type = g->query->type;
    struct tensor *begin = reshape(r, forget(r, g->cache.begin), 4, (int64_t[]){g->batch, 1, 1, 1});
    struct tensor *column = range_at(r, 3, ONNX_INT64, 0, g->cache.total);
    struct tensor *last = binary(r, ADD, begin, range_at(r, 2, ONNX_INT64, 0, g->rows));
    struct tensor *visible = binary(r, LESSER_OR_EQUAL, column, last);
    if (window)
        visible =
            binary(r, AND, visible, binary(r, GREATER, column, with_number(r, SUB, last, (double)window)));
    return hide_unless(r, visible, type, lowest(type));
}

static struct tensor *group_mask(struct recording *r, const struct group_query *g, int64_t window)
{
    int64_t dims[] = {g->batch, 1, g->rows, g->cache.total};
    if (!g->cache.begin)
        return band_mask(r, g->query->type, g->rows, compute_size(r, SUB, g->cache.total, g->rows),
                         g->cache.total, window);
    if (product(dims, 4) <= LARGE_MASK && is_known(r, g->cache.begin) && !has_late_elements(g->cache.begin))
        return known_mask(r, g, window);
    return computed_mask(r, g, window);
}

static bool rotate_group(struct call *c, struct group_query *g)
{
    struct recording *r = c->r;
    struct tensor *cosine = needed(c, 7, "cos_cache"), *sine = needed(c, 8, "sin_cache"),
                  *positions = input(c, 9);
    int64_t type = g->query->type;
    bool neighbors = get_int(c, "rotary_interleaved", 0);
    if (!check_caches(r, cosine, sine))
        return false;
    if (positions && (!is_index(r, positions, "position_ids") ||
                      !has_shape(r, positions, "position_ids", 2, (int64_t[]){g->batch, g->rows})))
        return false;
    if (!positions && !is_late(g->rows) && cosine->dims[0] < g->rows)
        return fail(r, "there are more rows than angles");
    if (!positions && g->cache.begin)
        positions = positions_from(r, g->cache.begin, g->batch, g->rows);
    else if (!positions)
        positions = positions_from(r, make_size(r, ONNX_INT64, g->cache.past), 1, g->rows);
    cosine = angles_at(r, cosine, positions, 2, type);
    sine = angles_at(r, sine, positions, 2, type);
    g->query = rotate(r, g->query, cosine, sine, neighbors);
    g->key = rotate(r, g->key, cosine, sine, neighbors);
    return g->query && g->key;
}

static bool refuse_group(struct call *c)
{
    if (get_int(c, "kv_cache_bit_width", 0) > 0 || !has_text(c, "k_quant_type", "NONE", "NONE") ||
        !has_text(c, "v_quant_type", "NONE", "NONE"))
        return fail(c->r, "a quantized past is not supported");
    return true;
}

// A score of each head without a value: given, or 0 for a smooth softmax.
static struct tensor *find_sink(struct call *c, const struct group_query *g)
{
    struct tensor *sink = input(c, 11);
    int64_t type = g->query->type;
    if (sink)
        return has_shape(c->r, sink, "head_sink", 1, &g->heads) ? cast(c->r, sink, type) : NULL;
    return get_int(c, "smooth_softmax", 0) > 0 ? make_filled(c->r, type, 1, &g->heads, 0) : NULL;
}

// New rows follow as many of the past as seqlens_k and the query leave: what is behind them, in a past that
// is a buffer of the largest length, is hidden.
void record_group_query_attention(struct call *c)
{
    struct recording *r = c->r;
    struct group_query g = {0};
    int64_t window = get_int(c, "local_window_size", -1), shown = get_int(c, "qk_output", 0);
    struct weighting w = {.cap = get_float(c, "softcap", 0),
                          .shows = shown == 1   ? SHOW_VISIBLE
                                   : shown == 2 ? SHOW_WEIGHTS
                                                : SHOW_NOTHING};
    if (!refuse_group(c) || !split_group_query(c, &g) || !find_past(c, &g))
        return;
    if (window == 0 || window < -1 || !isfinite(w.cap) || w.cap < 0) {
        fail(r, "local_window_size or softcap is out of range");
        return;
    }
    if (window < 0 || window >= g.cache.total)
        window = 0;
    if (get_int(c, "do_rotary", 0) && !rotate_group(c, &g))
        return;
    struct tensor *key = extend(r, &g.cache, g.past_key, turn_heads(r, g.key), "past_key");
    struct tensor *value = extend(r, &g.cache, g.past_value, turn_heads(r, g.value), "past_value");
    struct tensor *bias = bias_mask(r, input(c, 10), g.batch, g.heads, g.rows, g.cache.total, g.query->type);
    w.scale = get_scale(c, g.size);
    w.mask = join_masks(r, group_mask(r, &g, window), bias);
    w.sink = find_sink(c, &g);
    set_output(c, 0, attend(r, g.query, key, value, &w));
    set_output(c, 1, key);
    set_output(c, 2, value);
    set_output(c, 3, w.shown);
}
