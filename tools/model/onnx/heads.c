// SPDX-License-Identifier: Apache-2.0
#include "tools/model/onnx/heads.h"

#include "tools/model/late.h"

#include <float.h>
#include <math.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// Checks
// ---------------------------------------------------------------------------------------------------------------

bool has_shape(struct recording *r, const struct tensor *t, const char *name, size_t rank,
               const int64_t *dims)
{
    if (!t || r->failed)
        return false;
    if (t->rank != rank)
        return fail(r, "%s has rank %zu instead of %zu", name, t->rank, rank);
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] >= 0 && sizes_differ(dims[i], t->dims[i]))
            return fail(r, "%s has a size of %lld at axis %zu instead of %lld", name, (long long)t->dims[i],
                        i, (long long)dims[i]);
        if (t->dims[i] > LARGEST && !is_late(t->dims[i]))
            return fail(r, "%s has a size of %lld, which is too large", name, (long long)t->dims[i]);
    }
    return true;
}

bool has_type(struct recording *r, const struct tensor *t, const char *name, int64_t type)
{
    if (!t || r->failed)
        return false;
    return t->type == type ||
           fail(r, "%s is of type %s instead of %s", name, type_name(t->type), type_name(type));
}

bool is_index(struct recording *r, const struct tensor *t, const char *name)
{
    if (!t || r->failed)
        return false;
    return t->type == ONNX_INT32 || t->type == ONNX_INT64 ||
           fail(r, "%s is of type %s, not of int32 or int64", name, type_name(t->type));
}

int64_t get_heads(struct call *c, const char *name)
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

double get_scale(struct call *c, int64_t size)
{
    double scale = get_float(c, "scale", 0);
    if (!isfinite(scale))
        fail(c->r, "scale is not finite");
    if (scale == 0 && is_late(size))
        fail(c->r, "a head has a size that is not known");
    return scale == 0 && size > 0 ? 1 / sqrt((double)size) : scale;
}

bool refuse_input(struct call *c, size_t index, const char *name)
{
    if (!input(c, index))
        return true;
    return fail(c->r, "the input %s is not supported", name);
}

// ---------------------------------------------------------------------------------------------------------------
// Masks: tensors of rank 4 that are added to scores, [B or 1, N or 1, S or 1, T], or NULL
// ---------------------------------------------------------------------------------------------------------------

double lowest(int64_t type)
{
    return type == ONNX_FLOAT16 ? -65504 : -FLT_MAX;
}

struct tensor *join_masks(struct recording *r, struct tensor *a, struct tensor *b)
{
    return !a ? b : !b ? a : binary(r, ADD, a, b);
}

struct tensor *hide_unless(struct recording *r, struct tensor *visible, int64_t type, double value)
{
    return choose(r, visible, make_number(r, type, 0), make_number(r, type, value));
}

struct tensor *range_at(struct recording *r, size_t axis, int64_t type, int64_t start, int64_t count)
{
    int64_t dims[] = {1, 1, 1, 1};
    struct tensor *range = make_range(r, type, start, count, 1);
    dims[axis] = count;
    return reshape(r, range, 4, dims);
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

struct tensor *band_mask(struct recording *r, int64_t type, int64_t rows, int64_t past, int64_t total,
                         int64_t window)
{
    if (has_late((int64_t[]){rows, past, total}, 3))
        return computed_band(r, type, rows, past, total, window);
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

struct tensor *visible_columns(struct recording *r, struct tensor *begin, struct tensor *end, int64_t total)
{
    if (!end || r->failed)
        return NULL;
    int64_t dims[] = {end->dims[0], 1, 1, 1};
    struct tensor *column = range_at(r, 3, end->type, 0, total);
    struct tensor *visible = binary(r, LESSER, column, reshape(r, end, 4, dims));
    if (!begin)
        return visible;
    return binary(r, AND, visible, binary(r, GREATER_OR_EQUAL, column, reshape(r, begin, 4, dims)));
}

struct tensor *padding_mask(struct recording *r, struct tensor *mask, const char *name, int64_t batch,
                            int64_t rows, int64_t total, int64_t type, double value)
{
    if (!mask || r->failed)
        return NULL;
    if (mask->rank < 1 || mask->rank > 4)
        return fail(r, "%s of rank %zu is not supported", name, mask->rank);
    if (mask->rank == 1) {
        int64_t size = mask->dims[0], twice = compute_size(r, MUL, batch, 2),
                packed = compute_size(r, ADD, compute_size(r, MUL, batch, 3), 2);
        char shown[2][120];
        if (!is_index(r, mask, name))
            return NULL;
        if (size != batch && size != twice && size != packed)
            return fail(r, "%s has a size of %s for a batch of %s", name, late_name(r, size, shown[0]),
                        late_name(r, batch, shown[1]));
        struct tensor *begin = size == twice ? slice_axis(r, mask, 0, batch, batch, 1) : NULL;
        return hide_unless(r, visible_columns(r, begin, slice_axis(r, mask, 0, 0, batch, 1), total), type,
                           value);
    }
    if (mask->rank == 4) {
        if (!has_shape(r, mask, name, 4, (int64_t[]){batch, 1, -1, -1}))
            return NULL;
        for (size_t i = 2; i < 4; i++)
            if (!is_late(total) && mask->dims[i] < total)
                return fail(r, "%s has fewer rows or columns than %lld", name, (long long)total);
        mask = slice_axis(r, mask, 2, compute_size(r, SUB, total, rows), rows, 1);
        mask = slice_axis(r, mask, 3, 0, total, 1);
        return hide_unless(r, cast(r, mask, ONNX_BOOL), type, value);
    }
    if (!has_shape(r, mask, name, mask->rank,
                   mask->rank == 2 ? (int64_t[]){batch, total} : (int64_t[]){batch, rows, total}))
        return NULL;
    int64_t dims[] = {batch, 1, mask->rank == 3 ? rows : 1, total};
    return hide_unless(r, cast(r, reshape(r, mask, 4, dims), ONNX_BOOL), type, value);
}

struct tensor *bias_mask(struct recording *r, struct tensor *bias, int64_t batch, int64_t heads, int64_t rows,
                         int64_t total, int64_t type)
{
    const char *name = "attention_bias";
    if (!bias || !has_type(r, bias, name, type) ||
        !has_shape(r, bias, name, 4, (int64_t[]){-1, -1, rows, total}))
        return NULL;
    if ((bias->dims[0] != 1 && sizes_differ(bias->dims[0], batch)) ||
        (bias->dims[1] != 1 && sizes_differ(bias->dims[1], heads)))
        return fail(r, "attention_bias fits neither the batch nor the heads");
    return bias;
}

// ---------------------------------------------------------------------------------------------------------------
// Rotations
// ---------------------------------------------------------------------------------------------------------------

struct tensor *rotate(struct recording *r, struct tensor *x, struct tensor *cosine, struct tensor *sine,
                      bool neighbors)
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

bool check_caches(struct recording *r, struct tensor *cosine, struct tensor *sine)
{
    return is_float(r, cosine, "cos_cache") && has_shape(r, cosine, "cos_cache", 2, (int64_t[]){-1, -1}) &&
           has_type(r, sine, "sin_cache", cosine->type) && has_shape(r, sine, "sin_cache", 2, cosine->dims);
}

struct tensor *angles_at(struct recording *r, struct tensor *cache, struct tensor *positions, size_t axis,
                         int64_t type)
{
    return unsqueeze(r, cast(r, gather(r, cache, positions, 0), type), axis);
}

struct tensor *positions_from(struct recording *r, struct tensor *start, int64_t batch, int64_t rows)
{
    if (!start || r->failed)
        return NULL;
    struct tensor *range = reshape(r, make_range(r, start->type, 0, rows, 1), 2, (int64_t[]){1, rows});
    return binary(r, ADD, reshape(r, start, 2, (int64_t[]){batch, 1}), range);
}

// ---------------------------------------------------------------------------------------------------------------
// Attention
// ---------------------------------------------------------------------------------------------------------------

struct tensor *split_heads(struct recording *r, struct tensor *t, int64_t heads)
{
    if (!t || r->failed)
        return NULL;
    int64_t size = head_size(r, t->dims[2], heads);
    return reshape(r, t, 4, (int64_t[]){t->dims[0], t->dims[1], heads, size});
}

struct tensor *turn_heads(struct recording *r, struct tensor *t)
{
    return swap_axes(r, t, 1, 2);
}

int64_t common_number(struct recording *r, struct tensor *t)
{
    if (!is_known(r, t) || has_late_elements(t) || count_elements(t) < 1)
        return -1;
    for (int64_t i = 1; i < count_elements(t); i++)
        if (t->ints[i] != t->ints[0])
            return -1;
    return t->ints[0];
}

// Rows of the past up to `begin`, new ones, and the rest of the past.
static struct tensor *insert_rows(struct recording *r, const struct cache *a, struct tensor *past,
                                  struct tensor *t, int64_t begin)
{
    int64_t end = begin + a->rows, zeros[MAX_RANK] = {0}, more[MAX_RANK] = {0};
    struct tensor *parts[3];
    size_t count = 0;
    if (begin > 0)
        parts[count++] = slice_axis(r, past, 2, 0, begin, 1);
    parts[count++] = t;
    if (end < a->past)
        parts[count++] = slice_axis(r, past, 2, end, a->past - end, 1);
    t = concat(r, count, parts, 2);
    more[2] = t ? a->total - t->dims[2] : 0;
    return pad(r, t, zeros, more, WNNPaddingMode_Constant, 0);
}

// The same where each of the batch has its own number of rows, or only the graph knows it: rows are gathered
// from a table of all, [B * N * (past + rows), H].
static struct tensor *gather_rows(struct recording *r, const struct cache *a, struct tensor *past,
                                  struct tensor *t)
{
    if (!past || !t || r->failed)
        return NULL;
    int64_t batch = t->dims[0], heads = t->dims[1], each = compute_size(r, ADD, a->past, a->rows),
            lists = compute_size(r, MUL, batch, heads);
    struct tensor *all = concat(r, 2, (struct tensor *[]){past, t}, 2);
    struct tensor *column = range_at(r, 3, ONNX_INT64, 0, a->total);
    struct tensor *begin = reshape(r, a->begin, 4, (int64_t[]){a->begin->dims[0], 1, 1, 1});
    struct tensor *offset = binary(r, SUB, column, begin);
    struct tensor *is_new =
        binary(r, AND, with_number(r, GREATER_OR_EQUAL, offset, 0), with_size(r, LESSER, offset, a->rows));
    struct tensor *own = with_size(r, ADD, offset, a->past);
    own = choose(r, is_new, own, clamp_to_size(r, column, a->past));
    struct tensor *first =
        reshape(r, make_range(r, ONNX_INT64, 0, lists, each), 4, (int64_t[]){batch, heads, 1, 1});
    all = reshape(r, all, 2, (int64_t[]){compute_size(r, MUL, lists, each), t->dims[3]});
    struct tensor *index = reshape(r, binary(r, ADD, own, first), 3, (int64_t[]){batch, heads, a->total});
    return gather(r, all, index, 0);
}

struct tensor *extend(struct recording *r, const struct cache *a, struct tensor *past, struct tensor *t,
                      const char *name)
{
    if (!past || !t || r->failed)
        return t;
    if (!has_type(r, past, name, t->type) ||
        !has_shape(r, past, name, 4, (int64_t[]){t->dims[0], t->dims[1], a->past, t->dims[3]}))
        return NULL;
    if (!a->begin)
        return concat(r, 2, (struct tensor *[]){past, t}, 2);
    int64_t begin = has_late((int64_t[]){a->past, a->rows, a->total}, 3) ? -1 : common_number(r, a->begin);
    return begin >= 0 ? insert_rows(r, a, past, t, begin) : gather_rows(r, a, past, t);
}

// Softmax of the last axis with one column more, which is left out again.
static struct tensor *softmax_with_sink(struct recording *r, struct tensor *scores, struct tensor *sink)
{
    if (!sink || !scores || r->failed)
        return scores ? softmax(r, scores, scores->rank - 1) : NULL;
    size_t last = scores->rank - 1;
    int64_t dims[MAX_RANK], columns = scores->dims[last];
    memcpy(dims, scores->dims, sizeof dims);
    dims[0] = dims[last - 1] = dims[last] = 1;
    sink = reshape(r, sink, last + 1, dims);
    memcpy(dims, scores->dims, sizeof dims);
    dims[last] = 1;
    struct tensor *all = concat(r, 2, (struct tensor *[]){scores, expand(r, sink, last + 1, dims)}, last);
    return slice_axis(r, softmax(r, all, last), last, 0, columns, 1);
}

static void show(struct recording *r, struct weighting *w, enum shown shows, struct tensor *scores,
                 const int64_t *dims)
{
    if (w->shows != shows || !scores)
        return;
    if (shows == SHOW_VISIBLE)
        scores = choose(r, with_number(r, GREATER, scores, lowest(scores->type) / 2), scores,
                        make_number(r, scores->type, 0));
    w->shown = reshape(r, scores, 4, dims);
}

struct tensor *attend(struct recording *r, struct tensor *query, struct tensor *key, struct tensor *value,
                      struct weighting *w)
{
    if (!query || !key || !value || r->failed)
        return NULL;
    int64_t batch = query->dims[0], rows = query->dims[1], heads = query->dims[2], shared = key->dims[1];
    int64_t total = key->dims[2], out = heads * value->dims[3];
    struct tensor *mask = w->mask;
    if (!has_type(r, key, "key", query->type) || !has_type(r, value, "value", query->type) ||
        !has_shape(r, key, "key", 4, (int64_t[]){batch, -1, -1, query->dims[3]}) ||
        !has_shape(r, value, "value", 4, (int64_t[]){batch, shared, total, -1}))
        return NULL;
    if (shared < 1 || heads % shared)
        return fail(r, "%lld heads do not share %lld of key and value", (long long)heads, (long long)shared);
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
    int64_t whole[] = {batch, heads, rows, total};
    struct tensor *scores = matmul(r, query, swap_axes(r, key, rank - 2, rank - 1));
    if (w->scale != 1)
        scores = with_number(r, MUL, scores, w->scale);
    show(r, w, SHOW_PRODUCTS, scores, whole);
    if (w->cap > 0)
        scores = with_number(r, MUL, unary(r, TANH, with_number(r, DIV, scores, w->cap)), w->cap);
    show(r, w, SHOW_CAPPED, scores, whole);
    if (mask)
        scores = binary(r, ADD, scores, mask);
    show(r, w, SHOW_MASKED, scores, whole);
    show(r, w, SHOW_VISIBLE, scores, whole);
    struct tensor *weights = softmax_with_sink(r, scores, w->sink);
    show(r, w, SHOW_WEIGHTS, weights, whole);
    struct tensor *mixed = matmul(r, weights, value);
    mixed = rank == 4 ? turn_heads(r, mixed) : mixed ? transpose(r, mixed, (size_t[]){0, 3, 1, 2, 4}) : NULL;
    return reshape(r, mixed, 3, (int64_t[]){batch, rows, out});
}
