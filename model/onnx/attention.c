// SPDX-License-Identifier: Apache-2.0
//
// Attention and what transformers have around it. All forms come down to `attend`, which records the
// operators in the order that the compiler's fusion of attentions looks for.
//
// Sizes are named as B: batch, N: heads, S: rows of the query, P: rows of the past, T: rows of key and value
// with the past, H: a head.

#include "model/onnx/call.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LARGE_MASK ((int64_t)1 << 18) // elements; larger ones are not computed while recording
#define LARGEST    ((int64_t)1 << 28) // of sizes and of counts in attributes, whose products fit 64 bits

// ---------------------------------------------------------------------------------------------------------------
// Checks
// ---------------------------------------------------------------------------------------------------------------

// Whether a tensor has a rank and sizes, of which -1 fits any.
static bool has_shape(struct recording *r, const struct tensor *t, const char *name, size_t rank,
                      const int64_t *dims)
{
    if (!t || r->failed)
        return false;
    if (t->rank != rank)
        return fail(r, "%s has rank %zu instead of %zu", name, t->rank, rank);
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] >= 0 && dims[i] != t->dims[i])
            return fail(r, "%s has a size of %lld at axis %zu instead of %lld", name, (long long)t->dims[i],
                        i, (long long)dims[i]);
        if (t->dims[i] > LARGEST)
            return fail(r, "%s has a size of %lld, which is too large", name, (long long)t->dims[i]);
    }
    return true;
}

static bool has_type(struct recording *r, const struct tensor *t, const char *name, int64_t type)
{
    if (!t || r->failed)
        return false;
    return t->type == type ||
           fail(r, "%s is of type %s instead of %s", name, type_name(t->type), type_name(type));
}

static bool is_index(struct recording *r, const struct tensor *t, const char *name)
{
    if (!t || r->failed)
        return false;
    return t->type == ONNX_INT32 || t->type == ONNX_INT64 ||
           fail(r, "%s is of type %s, not of int32 or int64", name, type_name(t->type));
}

// An attribute that counts heads; 0: an error.
static int64_t get_heads(struct call *c, const char *name)
{
    int64_t heads = get_int(c, name, 0);
    if (heads < 1 || heads > LARGEST)
        fail(c->r, "%s is %lld", name, (long long)heads);
    return c->r->failed ? 0 : heads;
}

// How large a head is; 0: an error.
static int64_t head_size(struct recording *r, int64_t hidden, int64_t heads)
{
    if (r->failed || heads < 1)
        return 0;
    if (hidden < heads || hidden % heads)
        fail(r, "%lld heads do not share a size of %lld", (long long)heads, (long long)hidden);
    return r->failed ? 0 : hidden / heads;
}

static double get_scale(struct call *c, int64_t size)
{
    double scale = get_float(c, "scale", 0);
    if (!isfinite(scale))
        fail(c->r, "scale is not finite");
    return scale == 0 && size > 0 ? 1 / sqrt((double)size) : scale;
}

static bool refuse_input(struct call *c, size_t index, const char *name)
{
    if (!input(c, index))
        return true;
    return fail(c->r, "the input %s is not supported", name);
}

// ---------------------------------------------------------------------------------------------------------------
// Masks: tensors of rank 4 that are added to scores, [B or 1, N or 1, S or 1, T], or NULL
// ---------------------------------------------------------------------------------------------------------------

static double lowest(int64_t type)
{
    return type == ONNX_FLOAT16 ? -65504 : -FLT_MAX;
}

static struct tensor *join_masks(struct recording *r, struct tensor *a, struct tensor *b)
{
    return !a ? b : !b ? a : binary(r, ADD, a, b);
}

static struct tensor *hide_unless(struct recording *r, struct tensor *visible, int64_t type, double value)
{
    return choose(r, visible, make_number(r, type, 0), make_number(r, type, value));
}

// A tensor whose elements are not to be computed with while recording, as too many would come of it.
static struct tensor *forget(struct recording *r, struct tensor *t)
{
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, operand) : NULL;
}

// Numbers along an axis of rank 4.
static struct tensor *range_at(struct recording *r, size_t axis, int64_t type, int64_t start, int64_t count)
{
    int64_t dims[] = {1, 1, 1, 1};
    dims[axis] = count;
    return reshape(r, make_range(r, type, start, count, 1), 4, dims);
}

// The mask of the band below, when it is large: the graph computes it.
static struct tensor *computed_band(struct recording *r, int64_t type, int64_t rows, int64_t past,
                                    int64_t total, int64_t window)
{
    struct tensor *row = forget(r, range_at(r, 2, ONNX_INT32, past, rows));
    struct tensor *column = range_at(r, 3, ONNX_INT32, 0, total);
    struct tensor *visible = binary(r, LESSER_OR_EQUAL, column, row);
    if (window)
        visible =
            binary(r, AND, visible, binary(r, GREATER, column, with_number(r, SUB, row, (double)window)));
    return hide_unless(r, visible, type, lowest(type));
}

// Row s sees columns up to past + s; with a window (0: none), the last so many of them. NULL if that is all.
static struct tensor *band_mask(struct recording *r, int64_t type, int64_t rows, int64_t past, int64_t total,
                                int64_t window)
{
    if (past + 1 >= total && (!window || window >= total))
        return NULL;
    int64_t dims[] = {1, 1, rows, total};
    if (product(dims, 4) > LARGE_MASK)
        return computed_band(r, type, rows, past, total, window);
    struct tensor *mask = make_known(r, type, 4, dims);
    for (int64_t s = 0; mask && s < rows; s++)
        for (int64_t j = 0; j < total; j++)
            if (j > past + s || (window && j <= past + s - window))
                set_known(mask, s * total + j, lowest(type));
    return mask;
}

// Of lengths [B], of [B, T] or of [B, S, T], where 0 hides.
static struct tensor *padding_mask(struct recording *r, struct tensor *mask, const char *name, int64_t batch,
                                   int64_t rows, int64_t total, int64_t type, double value)
{
    if (!mask || r->failed)
        return NULL;
    if (mask->rank == 1 && mask->dims[0] != batch)
        return fail(r, "%s of rank 1 is supported only with one length for each of the batch", name);
    if (mask->rank < 1 || mask->rank > 3)
        return fail(r, "%s of rank %zu is not supported", name, mask->rank);
    if (mask->rank > 1 &&
        !has_shape(r, mask, name, mask->rank,
                   mask->rank == 2 ? (int64_t[]){batch, total} : (int64_t[]){batch, rows, total}))
        return NULL;
    if (mask->rank == 1 && !is_index(r, mask, name))
        return NULL;
    if (mask->rank == 1) {
        struct tensor *column = range_at(r, 3, mask->type, 0, total);
        struct tensor *length = reshape(r, mask, 4, (int64_t[]){batch, 1, 1, 1});
        return hide_unless(r, binary(r, LESSER, column, length), type, value);
    }
    int64_t dims[] = {batch, 1, mask->rank == 3 ? rows : 1, total};
    return hide_unless(r, cast(r, reshape(r, mask, 4, dims), ONNX_BOOL), type, value);
}

static struct tensor *bias_mask(struct recording *r, struct tensor *bias, int64_t batch, int64_t heads,
                                int64_t rows, int64_t total, int64_t type)
{
    const char *name = "attention_bias";
    if (!bias || !has_type(r, bias, name, type) ||
        !has_shape(r, bias, name, 4, (int64_t[]){-1, -1, rows, total}))
        return NULL;
    if ((bias->dims[0] != 1 && bias->dims[0] != batch) || (bias->dims[1] != 1 && bias->dims[1] != heads))
        return fail(r, "attention_bias fits neither the batch nor the heads");
    return bias;
}

// ---------------------------------------------------------------------------------------------------------------
// Attention
// ---------------------------------------------------------------------------------------------------------------

// [B, S, N * H] as [B, S, N, H]
static struct tensor *split_heads(struct recording *r, struct tensor *t, int64_t heads)
{
    if (!t || r->failed)
        return NULL;
    int64_t size = head_size(r, t->dims[2], heads);
    return reshape(r, t, 4, (int64_t[]){t->dims[0], t->dims[1], heads, size});
}

// [B, S, N, H] as [B, N, S, H], and back
static struct tensor *turn_heads(struct recording *r, struct tensor *t)
{
    return swap_axes(r, t, 1, 2);
}

// One of several that lie beside each other at an axis, without the axis.
static struct tensor *pick(struct recording *r, struct tensor *t, size_t axis, int64_t index)
{
    return t ? squeeze(r, slice_axis(r, t, axis, index, 1, 1), axis) : NULL;
}

// The past and what follows it; `past` may be NULL. [B, N, rows, H]
static struct tensor *extend(struct recording *r, struct tensor *past, struct tensor *t, const char *name)
{
    if (!past || !t || r->failed)
        return t;
    if (!has_type(r, past, name, t->type) ||
        !has_shape(r, past, name, 4, (int64_t[]){t->dims[0], t->dims[1], -1, t->dims[3]}))
        return NULL;
    return concat(r, 2, (struct tensor *[]){past, t}, 2);
}

// Query [B, S, N, H], key [B, N / groups, T, H], value [B, N / groups, T, Hv]; result [B, S, N * Hv]. Query
// heads that share a key get an axis of their own, at which key and value are broadcast.
static struct tensor *attend(struct recording *r, struct tensor *query, struct tensor *key,
                             struct tensor *value, struct tensor *mask, double scale, double cap)
{
    if (!query || !key || !value || r->failed)
        return NULL;
    int64_t batch = query->dims[0], rows = query->dims[1], heads = query->dims[2], shared = key->dims[1];
    int64_t total = key->dims[2], out = heads * value->dims[3];
    if (!has_type(r, key, "key", query->type) || !has_type(r, value, "value", query->type) ||
        !has_shape(r, key, "key", 4, (int64_t[]){batch, -1, -1, query->dims[3]}) ||
        !has_shape(r, value, "value", 4, (int64_t[]){batch, shared, total, -1}))
        return NULL;
    if (shared == heads) {
        query = turn_heads(r, query);
    } else {
        int64_t groups = heads / shared;
        query = reshape(r, query, 5, (int64_t[]){batch, rows, shared, groups, query->dims[3]});
        query = transpose(r, query, (size_t[]){0, 2, 3, 1, 4});
        key = unsqueeze(r, key, 2);
        value = unsqueeze(r, value, 2);
        if (mask && mask->dims[1] == 1)
            mask = unsqueeze(r, mask, 2);
        else if (mask)
            mask =
                reshape(r, mask, 5, (int64_t[]){mask->dims[0], shared, groups, mask->dims[2], mask->dims[3]});
    }
    if (!query || !key || r->failed)
        return NULL;
    size_t rank = query->rank;
    struct tensor *scores = matmul(r, query, swap_axes(r, key, rank - 2, rank - 1));
    if (scale != 1)
        scores = with_number(r, MUL, scores, scale);
    if (cap > 0)
        scores = with_number(r, MUL, unary(r, TANH, with_number(r, DIV, scores, cap)), cap);
    if (mask)
        scores = binary(r, ADD, scores, mask);
    struct tensor *mixed = matmul(r, softmax(r, scores, rank - 1), value);
    mixed = rank == 4 ? turn_heads(r, mixed) : mixed ? transpose(r, mixed, (size_t[]){0, 3, 1, 2, 4}) : NULL;
    return reshape(r, mixed, 3, (int64_t[]){batch, rows, out});
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

void record_attention(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = needed(c, 0, "input"), *weights = needed(c, 1, "weights"), *bias = input(c, 2);
    int64_t heads = get_heads(c, "num_heads"), widths[3];
    if (!is_float(r, x, "input") || !has_shape(r, x, "input", 3, (int64_t[]){-1, -1, -1}) ||
        !has_type(r, weights, "weights", x->type) ||
        !has_shape(r, weights, "weights", 2, (int64_t[]){x->dims[2], -1}) ||
        !get_widths(c, weights->dims[1], widths) || !refuse_input(c, 6, "past_sequence_length"))
        return;
    if (get_int(c, "do_rotary", 0) || get_int(c, "past_present_share_buffer", 0)) {
        fail(r, "%s is not supported",
             get_int(c, "do_rotary", 0) ? "do_rotary" : "past_present_share_buffer");
        return;
    }
    if (bias && (!has_type(r, bias, "bias", x->type) || !has_shape(r, bias, "bias", 1, weights->dims + 1)))
        return;
    struct tensor *all = matmul(r, x, weights), *parts[3];
    if (bias)
        all = binary(r, ADD, all, bias);
    for (int64_t i = 0, at = 0; i < 3; at += widths[i++])
        parts[i] = split_heads(r, slice_axis(r, all, 2, at, widths[i], 1), heads);

    struct tensor *past = input(c, 4);
    struct tensor *key = extend(r, past_of(r, past, 0), turn_heads(r, parts[1]), "past");
    struct tensor *value = extend(r, past_of(r, past, 1), turn_heads(r, parts[2]), "past");
    if (!key || !value || r->failed)
        return;
    int64_t batch = x->dims[0], rows = x->dims[1], total = key->dims[2];
    struct tensor *mask = padding_mask(r, input(c, 3), "mask_index", batch, rows, total, x->type,
                                       get_float(c, "mask_filter_value", -10000));
    if (get_int(c, "unidirectional", 0))
        mask = join_masks(r, mask, band_mask(r, x->type, rows, total - rows, total, 0));
    mask = join_masks(r, mask, bias_mask(r, input(c, 5), batch, heads, rows, total, x->type));
    set_output(c, 0, attend(r, parts[0], key, value, mask, get_scale(c, widths[0] / heads), 0));
    if (!wants(c, 1))
        return;
    if (widths[1] != widths[2])
        fail(r, "present needs keys and values of one size");
    set_output(c, 1, concat(r, 2, (struct tensor *[]){unsqueeze(r, key, 0), unsqueeze(r, value, 0)}, 0));
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
    if (r->failed || !split_inputs(c, heads, &query, &key, &value) || !query || !key || !value ||
        !add_biases(r, input(c, 3), turned, &query, &key, &value) ||
        !refuse_input(c, 8, "past_sequence_length") || !refuse_input(c, 9, "cache_indirection"))
        return;
    if (wants(c, 3) || !past_key != !past_value || (past_key && turned)) {
        fail(r, wants(c, 3) ? "the output qk is not supported"
                : turned    ? "a past with key and value of rank 4 is not supported"
                            : "past_key and past_value come together");
        return;
    }
    int64_t batch = query->dims[0], rows = query->dims[1], type = query->type, size = query->dims[3];
    int64_t past = key->dims[2];
    key = extend(r, past_key, key, "past_key");
    value = extend(r, past_value, value, "past_value");
    if (!key || !value || r->failed)
        return;
    int64_t total = key->dims[2];
    past = total - past;
    struct tensor *mask = padding_mask(r, input(c, 4), "key_padding_mask", batch, rows, total, type,
                                       get_float(c, "mask_filter_value", -10000));
    if (get_int(c, "unidirectional", 0))
        mask = join_masks(r, mask, band_mask(r, type, rows, past, total, 0));
    mask = join_masks(r, mask, bias_mask(r, input(c, 5), batch, heads, rows, total, type));
    set_output(c, 0, attend(r, query, key, value, mask, get_scale(c, size), 0));
    set_output(c, 1, key);
    set_output(c, 2, value);
}

// ---------------------------------------------------------------------------------------------------------------
// Rotary embedding
// ---------------------------------------------------------------------------------------------------------------

// Turns pairs of the last axis of x, of rank 4, by angles whose cosines and sines are broadcast to it. Pairs
// are neighbors, or lie half of what is turned apart; what follows them stays.
static struct tensor *rotate(struct recording *r, struct tensor *x, struct tensor *cosine,
                             struct tensor *sine, bool neighbors)
{
    if (!x || !cosine || !sine || r->failed)
        return NULL;
    int64_t half = cosine->dims[3], size = x->dims[3];
    if (half < 1 || half > size / 2)
        return fail(r, "%lld angles for a head of size %lld", (long long)half, (long long)size);
    struct tensor *a = slice_axis(r, x, 3, 0, half, neighbors ? 2 : 1);
    struct tensor *b = slice_axis(r, x, 3, neighbors ? 1 : half, half, neighbors ? 2 : 1);
    struct tensor *left = binary(r, SUB, binary(r, MUL, a, cosine), binary(r, MUL, b, sine));
    struct tensor *right = binary(r, ADD, binary(r, MUL, b, cosine), binary(r, MUL, a, sine));
    struct tensor *turned;
    if (neighbors)
        turned =
            reshape(r, concat(r, 2, (struct tensor *[]){unsqueeze(r, left, 4), unsqueeze(r, right, 4)}, 4), 4,
                    (int64_t[]){x->dims[0], x->dims[1], x->dims[2], 2 * half});
    else
        turned = concat(r, 2, (struct tensor *[]){left, right}, 3);
    if (size == 2 * half)
        return turned;
    struct tensor *rest = slice_axis(r, x, 3, 2 * half, size - 2 * half, 1);
    return concat(r, 2, (struct tensor *[]){turned, rest}, 3);
}

static bool check_caches(struct recording *r, struct tensor *cosine, struct tensor *sine)
{
    return is_float(r, cosine, "cos_cache") && has_shape(r, cosine, "cos_cache", 2, (int64_t[]){-1, -1}) &&
           has_type(r, sine, "sin_cache", cosine->type) && has_shape(r, sine, "sin_cache", 2, cosine->dims);
}

// Rows of a cache at positions [B or 1, S], with an axis for heads: of size 1, at axis 1 or 2.
static struct tensor *angles_at(struct recording *r, struct tensor *cache, struct tensor *positions,
                                size_t axis, int64_t type)
{
    return unsqueeze(r, cast(r, gather(r, cache, positions, 0), type), axis);
}

// start + 0, 1, ... of [B or 1, S]
static struct tensor *positions_from(struct recording *r, struct tensor *start, int64_t batch, int64_t rows)
{
    if (!start || r->failed)
        return NULL;
    struct tensor *range = reshape(r, make_range(r, start->type, 0, rows, 1), 2, (int64_t[]){1, rows});
    return binary(r, ADD, reshape(r, start, 2, (int64_t[]){batch, 1}), range);
}

// The input of RotaryEmbedding as [B, S, N, H] or [B, N, S, H].
static struct tensor *rotary_heads(struct call *c, struct tensor *x, int64_t angles)
{
    struct recording *r = c->r;
    int64_t heads = get_int(c, "num_heads", 0), turned = get_int(c, "rotary_embedding_dim", 0);
    if (heads < 0 || heads > LARGEST || turned < 0 || turned > LARGEST)
        return fail(r, "num_heads or rotary_embedding_dim is out of range");
    if (turned > 0 && turned != 2 * angles)
        return fail(r, "rotary_embedding_dim is %lld, but there are %lld angles", (long long)turned,
                    (long long)angles);
    if (turned > 0 && heads == 0 && x->rank == 3)
        return fail(r, "rotary_embedding_dim needs num_heads");
    if (x->rank == 4)
        return heads == 0 || x->dims[1] == heads ? x : fail(r, "the input has other heads than num_heads");
    if (x->rank != 3)
        return fail(r, "an input of rank %zu", x->rank);
    if (heads == 0 && (angles < 1 || x->dims[2] % (2 * angles)))
        return fail(r, "%lld angles do not fit a size of %lld", (long long)angles, (long long)x->dims[2]);
    return split_heads(r, x, heads ? heads : x->dims[2] / (2 * angles));
}

void record_rotary_embedding(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = needed(c, 0, "input"), *positions = needed(c, 1, "position_ids");
    struct tensor *cosine = needed(c, 2, "cos_cache"), *sine = needed(c, 3, "sin_cache");
    if (!is_float(r, x, "input") || !is_index(r, positions, "position_ids") || !check_caches(r, cosine, sine))
        return;
    if (get_int(c, "is_packed_batching", 0) || get_float(c, "scale", 1) != 1) {
        fail(r, get_int(c, "is_packed_batching", 0) ? "is_packed_batching is not supported"
                                                    : "a scale other than 1 has no defined meaning");
        return;
    }
    struct tensor *heads = rotary_heads(c, x, cosine->dims[1]);
    if (!heads)
        return;
    size_t axis = x->rank == 4 ? 1 : 2; // of heads
    int64_t rows = heads->dims[3 - axis];
    if (positions->rank <= 1 && count_elements(positions) == 1)
        positions = positions_from(r, positions, 1, rows);
    else if (!has_shape(r, positions, "position_ids", 2, (int64_t[]){x->dims[0], rows}))
        return;
    struct tensor *turned =
        rotate(r, heads, angles_at(r, cosine, positions, axis, x->type),
               angles_at(r, sine, positions, axis, x->type), get_int(c, "interleaved", 0));
    set_output(c, 0, reshape(r, turned, x->rank, x->dims));
}

// ---------------------------------------------------------------------------------------------------------------
// Attention of groups of heads
// ---------------------------------------------------------------------------------------------------------------

struct group_query {
    struct tensor *query, *key, *value;   // [B, S, N, H]
    struct tensor *past_key, *past_value; // [B, N, P, H], or NULL
    int64_t batch, rows, heads, shared, size, past;
    struct tensor *begin; // [B]: how much of the past there is, of its P rows; NULL without a past
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

// seqlens_k is the length of all, without the last row; total_sequence_length says nothing more.
static bool find_past(struct call *c, struct group_query *g)
{
    struct recording *r = c->r;
    struct tensor *lengths = needed(c, 5, "seqlens_k");
    g->past_key = input(c, 3);
    g->past_value = input(c, 4);
    if (!is_index(r, lengths, "seqlens_k"))
        return false;
    if (count_elements(lengths) != g->batch || lengths->rank < 1 || lengths->rank > 2)
        return fail(r, "seqlens_k does not have one length for each of the batch");
    if (!g->past_key != !g->past_value)
        return fail(r, "past_key and past_value come together");
    if (!g->past_key)
        return true;
    int64_t dims[] = {g->batch, g->shared, -1, g->size};
    if (!has_shape(r, g->past_key, "past_key", 4, dims))
        return false;
    g->past = dims[2] = g->past_key->dims[2];
    dims[3] = g->value->dims[3];
    if (!has_shape(r, g->past_value, "past_value", 4, dims))
        return false;
    if (g->past == 0)
        return true;
    lengths = reshape(r, lengths, 1, &g->batch);
    g->begin = with_number(r, MAX, with_number(r, ADD, lengths, (double)(1 - g->rows)), 0);
    return g->begin != NULL;
}

// Row s sees the past that is there and the new rows up to its own; with a window, the last so many of them.
static bool is_hidden(int64_t column, int64_t row, int64_t past, int64_t begin, int64_t window)
{
    int64_t at = column < past ? column : begin + column - past;
    return at > begin + row || (column < past && column >= begin) || (window && at <= begin + row - window);
}

// NULL if nothing is hidden. [B, 1, S, past + S]
static struct tensor *known_mask(struct recording *r, const struct group_query *g, int64_t window)
{
    int64_t total = g->past + g->rows, type = g->query->type;
    bool any = false;
    struct tensor *mask = make_known(r, type, 4, (int64_t[]){g->batch, 1, g->rows, total});
    for (int64_t i = 0; mask && i < count_elements(mask); i++) {
        int64_t begin = g->begin->ints[i / total / g->rows];
        begin = begin < g->past ? begin : g->past;
        if (is_hidden(i % total, i / total % g->rows, g->past, begin, window)) {
            set_known(mask, i, lowest(type));
            any = true;
        }
    }
    return any ? mask : NULL;
}

// The mask of the past, when only the graph computes how much of it there is. [B, 1, S, past]
static struct tensor *computed_mask(struct recording *r, const struct group_query *g, int64_t window)
{
    int64_t type = g->query->type, index = g->begin->type;
    struct tensor *begin = reshape(r, forget(r, g->begin), 4, (int64_t[]){g->batch, 1, 1, 1});
    struct tensor *column = range_at(r, 3, index, 0, g->past), *visible = binary(r, LESSER, column, begin);
    if (window) {
        struct tensor *first = binary(r, ADD, begin, range_at(r, 2, index, -window, g->rows));
        visible = binary(r, AND, visible, binary(r, GREATER, column, first));
    }
    return expand(r, hide_unless(r, visible, type, lowest(type)), 4,
                  (int64_t[]){g->batch, 1, g->rows, g->past});
}

static struct tensor *group_mask(struct recording *r, const struct group_query *g, int64_t window)
{
    int64_t dims[] = {g->batch, 1, g->rows, g->past + g->rows};
    if (g->begin && product(dims, 4) <= LARGE_MASK && is_known(r, g->begin))
        return known_mask(r, g, window);
    struct tensor *recent = band_mask(r, g->query->type, g->rows, 0, g->rows, window);
    if (!g->begin)
        return recent;
    if (!recent)
        recent = make_number(r, g->query->type, 0);
    dims[3] = g->rows;
    return concat(r, 2, (struct tensor *[]){computed_mask(r, g, window), expand(r, recent, 4, dims)}, 3);
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
    if (!positions && cosine->dims[0] < g->rows)
        return fail(r, "there are more rows than angles");
    if (!positions && g->begin)
        positions = positions_from(r, g->begin, g->batch, g->rows);
    else if (!positions)
        positions = positions_from(r, make_number(r, ONNX_INT64, 0), 1, g->rows);
    cosine = angles_at(r, cosine, positions, 2, type);
    sine = angles_at(r, sine, positions, 2, type);
    g->query = rotate(r, g->query, cosine, sine, neighbors);
    g->key = rotate(r, g->key, cosine, sine, neighbors);
    return g->query && g->key;
}

static bool refuse_group(struct call *c)
{
    static const char *const switches[] = {"qk_output", "smooth_softmax", "kv_cache_bit_width"};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (get_int(c, switches[i], 0) > 0)
            return fail(c->r, "%s is not supported", switches[i]);
    if (!has_text(c, "k_quant_type", "NONE", "NONE") || !has_text(c, "v_quant_type", "NONE", "NONE"))
        return fail(c->r, "a quantized past is not supported");
    if (wants(c, 3))
        return fail(c->r, "the output output_qk is not supported");
    return refuse_input(c, 11, "head_sink");
}

// New rows follow all rows of the past, of which the first so many are there that seqlens_k and the query
// leave: the others are hidden, also where the past is a buffer of the largest length.
void record_group_query_attention(struct call *c)
{
    struct recording *r = c->r;
    struct group_query g = {0};
    int64_t window = get_int(c, "local_window_size", -1);
    double cap = get_float(c, "softcap", 0);
    if (!refuse_group(c) || !split_group_query(c, &g) || !find_past(c, &g))
        return;
    if (window == 0 || window < -1 || !isfinite(cap) || cap < 0) {
        fail(r, "local_window_size or softcap is out of range");
        return;
    }
    if (window < 0 || window >= g.past + g.rows)
        window = 0;
    if (get_int(c, "do_rotary", 0) && !rotate_group(c, &g))
        return;
    struct tensor *key = extend(r, g.past_key, turn_heads(r, g.key), "past_key");
    struct tensor *value = extend(r, g.past_value, turn_heads(r, g.value), "past_value");
    struct tensor *bias =
        bias_mask(r, input(c, 10), g.batch, g.heads, g.rows, g.past + g.rows, g.query->type);
    struct tensor *mask = join_masks(r, group_mask(r, &g, window), bias);
    set_output(c, 0, attend(r, g.query, key, value, mask, get_scale(c, g.size), cap));
    set_output(c, 1, key);
    set_output(c, 2, value);
}

// ---------------------------------------------------------------------------------------------------------------
// Embeddings
// ---------------------------------------------------------------------------------------------------------------

// Rows of a table [rows, width] at indices.
static struct tensor *look_up(struct recording *r, struct tensor *table, struct tensor *indices, int64_t type,
                              int64_t width, const char *name)
{
    if (!is_index(r, indices, "an index") || !has_type(r, table, name, type) ||
        !has_shape(r, table, name, 2, (int64_t[]){-1, width}))
        return NULL;
    return gather(r, table, indices, 0);
}

static struct tensor *embed(struct call *c, struct tensor *ids, struct tensor *words)
{
    struct recording *r = c->r;
    struct tensor *segments = input(c, 1), *table = input(c, 4), *positions = input(c, 8);
    int64_t rows = ids->dims[1], width = words->dims[1], type = words->type;
    if (positions && (positions->rank != 2 || positions->dims[1] != rows ||
                      (positions->dims[0] != 1 && positions->dims[0] != ids->dims[0])))
        return fail(r, "position_ids does not fit input_ids");
    struct tensor *places = needed(c, 3, "position_embedding");
    if (!places || (!positions && (places->rank != 2 || places->dims[0] < rows)))
        return fail(r, "there are more rows than embeddings of positions");
    if (!positions)
        positions = positions_from(r, make_number(r, ONNX_INT64, 0), 1, rows);
    struct tensor *sum = look_up(r, words, ids, type, width, "word_embedding");
    sum = binary(r, ADD, sum, look_up(r, places, positions, type, width, "position_embedding"));
    if (!segments)
        return sum;
    if (!table)
        return fail(r, "segment_ids without segment_embedding");
    if (!has_shape(r, segments, "segment_ids", 2, ids->dims))
        return NULL;
    return binary(r, ADD, sum, look_up(r, table, segments, type, width, "segment_embedding"));
}

static struct tensor *normalize_rows(struct recording *r, struct tensor *t, struct tensor *scale,
                                     struct tensor *bias, double epsilon)
{
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    WNNOperand x = operand_of(r, t);
    options.label = label_of(r);
    options.scale = operand_of(r, scale);
    options.bias = operand_of(r, bias);
    options.axes = (WNNUint32List){(uint32_t[]){2}, 1};
    options.epsilon = epsilon;
    return x && options.scale && options.bias
               ? make_operand(r, t->type, wnnGraphBuilderLayerNormalization(r->builder, x, &options))
               : NULL;
}

// How many of each row are not masked; zeros without a mask, as its readers expect.
static struct tensor *mask_lengths(struct recording *r, struct tensor *mask, const int64_t *dims)
{
    if (!mask)
        return make_known(r, ONNX_INT32, 1, dims);
    if (!is_index(r, mask, "mask") || !has_shape(r, mask, "mask", 2, dims))
        return NULL;
    return reduce(r, SUM, cast(r, mask, ONNX_INT32), 1, (size_t[]){1}, false);
}

void record_embed_layer_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *ids = needed(c, 0, "input_ids"), *words = needed(c, 2, "word_embedding");
    struct tensor *scale = needed(c, 5, "gamma"), *bias = needed(c, 6, "beta");
    if (!has_shape(r, ids, "input_ids", 2, (int64_t[]){-1, -1}) || !is_float(r, words, "word_embedding") ||
        !has_shape(r, words, "word_embedding", 2, (int64_t[]){-1, -1}) ||
        !has_type(r, scale, "gamma", words->type) || !has_shape(r, scale, "gamma", 1, words->dims + 1) ||
        !has_type(r, bias, "beta", words->type) || !has_shape(r, bias, "beta", 1, words->dims + 1))
        return;
    struct tensor *sum = embed(c, ids, words);
    set_output(c, 0, normalize_rows(r, sum, scale, bias, get_float(c, "epsilon", 1e-12)));
    if (wants(c, 1))
        set_output(c, 1, mask_lengths(r, input(c, 7), ids->dims));
    set_output(c, 2, sum);
}
