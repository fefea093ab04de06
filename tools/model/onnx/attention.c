// SPDX-License-Identifier: Apache-2.0
//
// Attention whose heads each have keys and values of their own.
#include "tools/model/late.h"
#include "tools/model/onnx/heads.h"

// One of several that lie beside each other at an axis, without the axis.
static struct tensor *pick(struct recording *r, struct tensor *t, size_t axis, int64_t index)
{
    return t ? squeeze(r, slice_axis(r, t, axis, index, 1, 1), axis) : NULL;
}

// All of the past, or, with a number of its rows, so many of a buffer of which the rest stays.
static bool find_cache(struct call *c, struct cache *a, int64_t past, int64_t rows, size_t index)
{
    struct recording *r = c->r;
    struct tensor *number = input(c, index);
    *a = (struct cache){.past = past, .rows = rows, .total = compute_size(r, ADD, past, rows)};
    if (!number || past == 0)
        return !r->failed;
    if (!require_sizes(r, number, "past_sequence_length") || count_elements(number) != 1)
        return false;
    int64_t begin = known_integer(number, 0);
    int64_t end = compute_size(r, ADD, begin, rows);
    if (begin < 0 || (!is_late(end) && !is_late(past) && end > past))
        return fail(r, "past_sequence_length is %lld with %lld rows more, of %lld", (long long)begin,
                    (long long)rows, (long long)past);
    a->total = past;
    a->begin = make_ints(r, 1, &begin);
    return !r->failed;
}

// As many rows of a buffer as there are.
static struct tensor *filled_rows(struct recording *r, const struct cache *a, struct tensor *t)
{
    return a->begin && t ? slice_axis(r, t, 2, 0, compute_size(r, ADD, a->begin->ints[0], a->rows), 1) : t;
}

// Widths of query, key and value in the weights of Attention.
static bool get_widths(struct call *c, int64_t width, int64_t *widths)
{
    size_t count;
    int64_t *given = get_ints(c, "qkv_hidden_sizes", &count);
    if (count != 0 && count != 3)
        return fail(c->r, "qkv_hidden_sizes has %zu numbers instead of 3", count);
    int64_t left = width;
    for (size_t i = 0; i < 3; i++) {
        widths[i] = given && count ? given[i] : width / 3;
        if (widths[i] < 1 || widths[i] > left)
            return fail(c->r, "the weights do not have the sizes of query, key and value");
        left -= widths[i];
    }
    if (left != 0 || widths[0] != widths[1])
        return fail(c->r, "the weights do not have the sizes of query, key and value");
    return true;
}

// Key or value of the past of Attention, [2, B, N, P, H]
static struct tensor *past_of(struct recording *r, struct tensor *past, int64_t index)
{
    return past && has_shape(r, past, "past", 5, (int64_t[]){2, -1, -1, -1, -1}) ? pick(r, past, 0, index)
                                                                                 : NULL;
}

// Attention of query, key and value of some widths beside each other, [B, S, widths].
static void attend_to_parts(struct call *c, struct tensor *all, int64_t heads, const int64_t *widths,
                            struct tensor *mask_index, struct tensor *past, struct tensor *bias,
                            size_t past_length)
{
    struct recording *r = c->r;
    struct tensor *parts[3], *present[2];
    struct cache cache;
    for (int64_t i = 0, at = 0; i < 3; at += widths[i++])
        parts[i] = split_heads(r, slice_axis(r, all, 2, at, widths[i], 1), heads);
    if (!all ||
        !find_cache(c, &cache, past && past->rank == 5 ? past->dims[3] : 0, all->dims[1], past_length))
        return;
    for (int64_t i = 0; i < 2; i++)
        present[i] = extend(r, &cache, past_of(r, past, i), turn_heads(r, parts[1 + i]), "past");
    struct tensor *key = filled_rows(r, &cache, present[0]), *value = filled_rows(r, &cache, present[1]);
    if (!key || !value || r->failed)
        return;
    int64_t batch = all->dims[0], rows = all->dims[1], total = key->dims[2], type = all->type;
    struct weighting w = {.scale = get_scale(c, widths[0] / heads)};
    w.mask = padding_mask(r, mask_index, "mask_index", batch, rows, total, type,
                          get_float(c, "mask_filter_value", -10000));
    if (get_int(c, "unidirectional", 0))
        w.mask = join_masks(r, w.mask, band_mask(r, type, rows, compute_size(r, SUB, total, rows), total, 0));
    w.mask = join_masks(r, w.mask, bias_mask(r, bias, batch, heads, rows, total, type));
    set_output(c, 0, attend(r, parts[0], key, value, &w));
    if (!wants(c, 1))
        return;
    if (widths[1] != widths[2])
        fail(r, "present needs keys and values of one size");
    present[0] = unsqueeze(r, present[0], 0);
    present[1] = unsqueeze(r, present[1], 0);
    set_output(c, 1, concat(r, 2, present, 0));
}

void record_attention(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = needed(c, 0, "input"), *weights = needed(c, 1, "weights"), *bias = input(c, 2);
    int64_t heads = get_heads(c, "num_heads"), widths[3];
    if (!is_float(r, x, "input") || !has_shape(r, x, "input", 3, (int64_t[]){-1, -1, -1}) ||
        !has_type(r, weights, "weights", x->type) ||
        !has_shape(r, weights, "weights", 2, (int64_t[]){x->dims[2], -1}) ||
        !get_widths(c, weights->dims[1], widths))
        return;
    if (get_int(c, "do_rotary", 0)) {
        fail(r, "do_rotary is not supported");
        return;
    }
    if (bias && (!has_type(r, bias, "bias", x->type) || !has_shape(r, bias, "bias", 1, weights->dims + 1)))
        return;
    struct tensor *all = matmul(r, x, weights);
    if (bias)
        all = binary(r, ADD, all, bias);
    attend_to_parts(c, all, heads, widths, input(c, 3), input(c, 4), input(c, 5), 6);
}

// Of bytes, with scales and zero points that follow the mask.
void record_quantized_attention(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = dequantize(r, input(c, 0), input(c, 3), input(c, 6), 2, 0);
    struct tensor *weights = dequantize(r, input(c, 1), input(c, 4), input(c, 7), 1, 0);
    int64_t heads = get_heads(c, "num_heads"), widths[3];
    if (!has_shape(r, x, "input", 3, (int64_t[]){-1, -1, -1}) || !has_type(r, weights, "weights", x->type) ||
        !has_shape(r, weights, "weights", 2, (int64_t[]){x->dims[2], -1}) ||
        !get_widths(c, weights->dims[1], widths) || !has_shape(r, input(c, 2), "bias", 1, weights->dims + 1))
        return;
    struct tensor *all = binary(r, ADD, matmul(r, x, weights), input(c, 2));
    attend_to_parts(c, all, heads, widths, input(c, 5), input(c, 8), NULL, c->input_count);
}

// The bias of query, key or value, which follow each other, added to [B, rows, N, H].
static struct tensor *add_bias(struct recording *r, struct tensor *t, struct tensor *bias, int64_t start)
{
    if (!t || !bias || r->failed)
        return t;
    int64_t heads = t->dims[2], size = t->dims[3];
    struct tensor *part = slice_axis(r, bias, 0, start, heads * size, 1);
    return binary(r, ADD, t, reshape(r, part, 2, (int64_t[]){heads, size}));
}

// Query, key and value of MultiHeadAttention as [B, rows, N, H]; key and value of rank 4 as [B, N, rows, H].
static bool split_inputs(struct call *c, int64_t heads, struct tensor **query, struct tensor **key,
                         struct tensor **value)
{
    struct recording *r = c->r;
    struct tensor *q = needed(c, 0, "query"), *k = input(c, 1), *v = input(c, 2);
    if (!is_float(r, q, "query"))
        return false;
    if (q->rank == 5) {
        if (k || v || !has_shape(r, q, "query", 5, (int64_t[]){-1, -1, heads, 3, -1}))
            return fail(r, "a packed query comes with key or value");
        *query = pick(r, q, 3, 0);
        *key = pick(r, q, 3, 1);
        *value = pick(r, q, 3, 2);
        return !r->failed;
    }
    if (!has_shape(r, q, "query", 3, (int64_t[]){-1, -1, -1}))
        return false;
    *query = split_heads(r, q, heads);
    if (!k || r->failed)
        return fail(r, "there is no key");
    if (k->rank == 5) {
        if (v || !has_shape(r, k, "key", 5, (int64_t[]){q->dims[0], -1, heads, 2, -1}))
            return fail(r, "a packed key comes with a value");
        *key = pick(r, k, 3, 0);
        *value = pick(r, k, 3, 1);
        return !r->failed;
    }
    if (!v || v->rank != k->rank)
        return fail(r, "there is no value, or it has another rank than the key");
    *key = k;
    *value = v;
    if (k->rank == 4)
        return has_shape(r, k, "key", 4, (int64_t[]){q->dims[0], heads, -1, -1}) &&
               has_shape(r, v, "value", 4, (int64_t[]){q->dims[0], heads, k->dims[2], -1});
    if (!has_shape(r, k, "key", 3, (int64_t[]){q->dims[0], -1, -1}) ||
        !has_shape(r, v, "value", 3, (int64_t[]){q->dims[0], k->dims[1], -1}))
        return false;
    *key = split_heads(r, k, heads);
    *value = split_heads(r, v, heads);
    return !r->failed;
}

// Adds the bias, and brings key and value to [B, N, rows, H]. Those of rank 4 lie so and have had theirs.
static bool add_biases(struct recording *r, struct tensor *bias, bool turned, struct tensor **query,
                       struct tensor **key, struct tensor **value)
{
    int64_t heads = (*query)->dims[2], width = heads * (*query)->dims[3];
    if (bias && (!has_type(r, bias, "bias", (*query)->type) ||
                 !has_shape(r, bias, "bias", 1, (int64_t[]){2 * width + heads * (*value)->dims[3]})))
        return false;
    *query = add_bias(r, *query, bias, 0);
    if (!turned && (*key)->dims[3] * heads != width)
        return fail(r, "query and key have heads of other sizes");
    if (!turned) {
        *key = turn_heads(r, add_bias(r, *key, bias, width));
        *value = turn_heads(r, add_bias(r, *value, bias, 2 * width));
    }
    return !r->failed;
}

void record_multi_head_attention(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *query = NULL, *key = NULL, *value = NULL, *past_key = input(c, 6),
                  *past_value = input(c, 7);
    int64_t heads = get_heads(c, "num_heads");
    bool turned = input(c, 1) && input(c, 1)->rank == 4;
    struct cache cache;
    if (r->failed || !split_inputs(c, heads, &query, &key, &value) || !query || !key || !value ||
        !add_biases(r, input(c, 3), turned, &query, &key, &value) || !refuse_input(c, 9, "cache_indirection"))
        return;
    if (!past_key != !past_value) {
        fail(r, "past_key and past_value come together");
        return;
    }
    int64_t batch = query->dims[0], rows = query->dims[1], type = query->type, size = query->dims[3];
    if (!find_cache(c, &cache, past_key && past_key->rank == 4 ? past_key->dims[2] : 0, key->dims[2], 8))
        return;
    struct tensor *present[] = {extend(r, &cache, past_key, key, "past_key"),
                                extend(r, &cache, past_value, value, "past_value")};
    key = filled_rows(r, &cache, present[0]);
    value = filled_rows(r, &cache, present[1]);
    if (!key || !value || r->failed)
        return;
    int64_t total = key->dims[2];
    struct weighting w = {.scale = get_scale(c, size), .shows = wants(c, 3) ? SHOW_WEIGHTS : SHOW_NOTHING};
    w.mask = padding_mask(r, input(c, 4), "key_padding_mask", batch, rows, total, type,
                          get_float(c, "mask_filter_value", -10000));
    if (get_int(c, "unidirectional", 0))
        w.mask = join_masks(r, w.mask,
                            band_mask(r, type, rows, compute_size(r, SUB, total, cache.rows), total, 0));
    w.mask = join_masks(r, w.mask, bias_mask(r, input(c, 5), batch, heads, rows, total, type));
    set_output(c, 0, attend(r, query, key, value, &w));
    set_output(c, 1, present[0]);
    set_output(c, 2, present[1]);
    set_output(c, 3, w.shown);
}

// ---------------------------------------------------------------------------------------------------------------
// Attention of ONNX, from operator set 23 on
// ---------------------------------------------------------------------------------------------------------------

// [B, S, N * H] with so many heads, or [B, N, S, H], as [B, N, S, H]
static struct tensor *heads_first(struct call *c, struct tensor *t, const char *heads, const char *name)
{
    struct recording *r = c->r;
    if (!is_float(r, t, name))
        return NULL;
    if (t->rank == 4)
        return has_shape(r, t, name, 4, (int64_t[]){-1, -1, -1, -1}) ? t : NULL;
    if (!has_shape(r, t, name, 3, (int64_t[]){-1, -1, -1}))
        return NULL;
    return turn_heads(r, split_heads(r, t, get_heads(c, heads)));
}

// Of truths, where false hides, or of what is added; with all axes or less, of which the last may end before
// the columns that are hidden then.
static struct tensor *general_mask(struct recording *r, struct tensor *mask, int64_t total, int64_t type)
{
    int64_t dims[] = {1, 1, 1, 1}, zeros[4] = {0}, more[4] = {0};
    if (!mask || r->failed)
        return NULL;
    int64_t columns = mask->rank ? mask->dims[mask->rank - 1] : 0;
    if (mask->rank < 1 || mask->rank > 4 || (!is_late(columns) && !is_late(total) && columns > total))
        return fail(r, "a mask of rank %zu, or of more columns than %lld", mask->rank, (long long)total);
    for (size_t i = 0; i < mask->rank; i++)
        dims[4 - mask->rank + i] = mask->dims[i];
    more[3] = dims[3] == 1 ? 0 : compute_size(r, SUB, total, dims[3]);
    mask = reshape(r, mask, 4, dims);
    mask = mask && mask->type == ONNX_BOOL ? hide_unless(r, mask, type, lowest(type)) : cast(r, mask, type);
    return pad(r, mask, zeros, more, WNNPaddingMode_Constant, lowest(type));
}

// What a causal attention hides: row s sees columns up to past + s, or, with lengths [B], those before the
// end of its own row.
static struct tensor *causal_mask(struct recording *r, struct tensor *lengths, int64_t type, int64_t rows,
                                  int64_t past, int64_t total)
{
    if (!lengths)
        return band_mask(r, type, rows, past, total, 0);
    struct tensor *first = with_size(r, SUB, lengths, rows);
    struct tensor *last = range_at(r, 2, lengths->type, 0, rows),
                  *column = range_at(r, 3, lengths->type, 0, total);
    last = binary(r, ADD, last, first ? reshape(r, first, 4, (int64_t[]){lengths->dims[0], 1, 1, 1}) : NULL);
    return hide_unless(r, binary(r, LESSER_OR_EQUAL, column, last), type, lowest(type));
}

void record_plain_attention(struct call *c)
{
    static const enum shown modes[] = {SHOW_PRODUCTS, SHOW_CAPPED, SHOW_MASKED, SHOW_WEIGHTS};
    struct recording *r = c->r;
    struct tensor *q = heads_first(c, input(c, 0), "q_num_heads", "Q"),
                  *k = heads_first(c, input(c, 1), "kv_num_heads", "K"),
                  *v = heads_first(c, input(c, 2), "kv_num_heads", "V"), *lengths = input(c, 6);
    int64_t mode = get_int(c, "qk_matmul_output_mode", 0);
    if (get_int(c, "left_window_size", -1) >= 0 || get_int(c, "right_window_size", -1) >= 0) {
        fail(r, "left_window_size and right_window_size, of operator set 25, are not supported");
        return;
    }
    if (!q || !k || !v || r->failed)
        return;
    if (mode < 0 || mode > 3 || k->dims[1] < 1 || q->dims[1] % k->dims[1] || !input(c, 4) != !input(c, 5) ||
        (lengths && (!is_index(r, lengths, "nonpad_kv_seqlen") ||
                     !has_shape(r, lengths, "nonpad_kv_seqlen", 1, q->dims)))) {
        fail(r, "%lld heads do not share %lld of key and value, or operands that do not come together",
             (long long)q->dims[1], (long long)k->dims[1]);
        return;
    }
    int64_t past = input(c, 4) && input(c, 4)->rank == 4 ? input(c, 4)->dims[2] : 0, rows = q->dims[2],
            type = q->type;
    struct cache cache = {.past = past, .rows = k->dims[2], .total = compute_size(r, ADD, past, k->dims[2])};
    struct weighting w = {.scale = get_scale(c, q->dims[3]), .cap = get_float(c, "softcap", 0)};
    w.shows = wants(c, 3) ? modes[mode] : SHOW_NOTHING;
    k = extend(r, &cache, input(c, 4), k, "past_key");
    v = extend(r, &cache, input(c, 5), v, "past_value");
    w.mask = general_mask(r, input(c, 3), cache.total, type);
    if (lengths)
        w.mask = join_masks(
            r, w.mask, hide_unless(r, visible_columns(r, NULL, lengths, cache.total), type, lowest(type)));
    if (get_int(c, "is_causal", 0))
        w.mask = join_masks(r, w.mask, causal_mask(r, lengths, type, rows, past, cache.total));
    struct tensor *y = attend(r, turn_heads(r, q), k, v, &w);
    set_output(c, 0, input(c, 0)->rank == 3 ? y : turn_heads(r, split_heads(r, y, q->dims[1])));
    set_output(c, 1, k);
    set_output(c, 2, v);
    set_output(c, 3, w.shown);
}
