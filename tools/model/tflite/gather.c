// SPDX-License-Identifier: Apache-2.0
//
// What elements are taken from and put to by indices.
#include "tools/model/tflite/call.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TABLE ((int64_t)1 << 24) // elements of a table that says which index is which

// ---------------------------------------------------------------------------------------------------------------
// Gathering
// ---------------------------------------------------------------------------------------------------------------

// Indices of each batch with those of the batches before them: of [b0, ..., i...] into a tensor whose first
// `batch` axes and `axis` are one.
static struct tensor *add_batches(struct recording *r, struct tensor *indices, const struct tensor *x,
                                  size_t batch, int64_t size)
{
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1}, count = product(x->dims, batch);
    if (!indices)
        return NULL;
    memcpy(dims, x->dims, batch * sizeof *dims);
    struct tensor *first = make_range(r, TYPE_INT64, 0, count, size);
    return binary(r, ADD, cast(r, indices, TYPE_INT64), reshape(r, first, indices->rank, dims));
}

// The first axes of x and of the indices are the same batches: with the axis behind them they become one.
static struct tensor *gather_batches(struct recording *r, struct tensor *x, struct tensor *indices,
                                     size_t axis, size_t batch)
{
    for (size_t i = 0; i < batch; i++)
        if (i >= indices->rank || x->dims[i] != indices->dims[i])
            return fail(r, "batches of other sizes");
    int64_t size = x->dims[axis], flat[MAX_RANK];
    size_t order[MAX_RANK], at = 0, before = axis - batch, count = indices->rank - batch;
    // The axis comes behind the batches.
    for (size_t i = 0; i < x->rank; i++)
        order[i] = i < batch || i > axis ? i : i == batch ? axis : i - 1;
    struct tensor *rows = transpose(r, x, order);
    if (!rows)
        return NULL;
    flat[at++] = product(rows->dims, batch + 1);
    for (size_t i = batch + 1; i < rows->rank; i++)
        flat[at++] = rows->dims[i];
    struct tensor *y = gather(r, reshape(r, rows, at, flat), add_batches(r, indices, x, batch, size), 0);
    // Of [batches, indices, before, after], what was before the axis comes before the indices.
    for (size_t i = 0; y && i < y->rank; i++)
        order[i] = i < batch || i >= batch + before + count ? i : i < batch + before ? i + count : i - before;
    return transpose(r, y, order);
}

void compose_gather(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = moved_at(c, 0), *indices = stored_at(c, 1);
    int64_t batch = option_int(c, 1, 0);
    size_t axis;
    if (!x || !indices)
        return;
    batch += batch < 0 ? (int64_t)indices->rank : 0;
    if (!find_axis(r, option_int(c, 0, 0), x->rank, &axis))
        return;
    if (batch < 0 || batch > (int64_t)axis || batch > (int64_t)indices->rank) {
        fail(r, "%lld axes of batches before axis %zu", (long long)batch, axis);
        return;
    }
    if (indices->type != TYPE_INT32 && indices->type != TYPE_INT64)
        indices = cast(r, indices, TYPE_INT32);
    if (indices)
        give(c, 0, batch ? gather_batches(r, x, indices, axis, (size_t)batch) : gather(r, x, indices, axis));
}

void compose_gather_nd(struct call *c)
{
    struct tensor *x = moved_at(c, 0), *indices = stored_at(c, 1);
    if (indices && indices->type != TYPE_INT32 && indices->type != TYPE_INT64)
        indices = cast(c->r, indices, TYPE_INT32);
    give(c, 0, gather_nd(c->r, x, indices));
}

// Rows of a table. Of one that is quantized by rows, the rows that are taken have their scales.
void compose_embedding_lookup(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *ids = stored_at(c, 0), *table = stored_at(c, 1);
    const struct tflite_tensor *about = c->inputs[1]->about;
    if (!ids || !table)
        return;
    struct tensor *rows = gather(r, table, ids, 0);
    if (!rows || !is_quantized_tensor(about) || is_quantized_alike(about, c->outputs[0]->about)) {
        give(c, 0, rows);
        return;
    }
    if (about->scales.count == 1) {
        give(c, 0, dequantized(r, about, rows));
        return;
    }
    int64_t count = (int64_t)about->scales.count, dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (about->axis != 0 || count != table->dims[0] || about->is_custom) {
        fail(r, "a table that is quantized by others than rows");
        return;
    }
    struct tensor *scale = make_known(r, TYPE_FLOAT32, 1, &count),
                  *zero = make_known(r, TYPE_FLOAT32, 1, &count);
    for (int64_t i = 0; scale && zero && i < count; i++) {
        scale->reals[i] = scale_at(about, (size_t)i);
        zero->reals[i] = (double)zero_at(about, (size_t)i);
    }
    memcpy(dims, ids->dims, ids->rank * sizeof *dims);
    scale = reshape(r, gather(r, scale, ids, 0), rows->rank, dims);
    zero = reshape(r, gather(r, zero, ids, 0), rows->rank, dims);
    give(c, 0, binary(r, MUL, binary(r, SUB, cast(r, rows, TYPE_FLOAT32), zero), scale));
}

// ---------------------------------------------------------------------------------------------------------------
// Scattering
// ---------------------------------------------------------------------------------------------------------------

struct tensor *one_hot(struct recording *r, struct tensor *indices, int64_t n, int64_t type)
{
    struct tensor *range = make_range(r, TYPE_INT64, 0, n, 1);
    struct tensor *column = unsqueeze(r, cast(r, indices, TYPE_INT64), indices ? indices->rank : 0);
    return cast(r, binary(r, EQUAL, column, range), type);
}

// Positions, in a tensor of some dimensions, that rows of indices name: [count, depth] to [count].
static struct tensor *flat_positions(struct recording *r, struct tensor *indices, const int64_t *dims)
{
    struct tensor *sum = NULL;
    int64_t depth = indices->dims[1];
    for (int64_t k = 0; k < depth && !r->failed; k++) {
        struct tensor *part = squeeze(r, slice_axis(r, indices, 1, k, 1, 1), 1);
        part = with_number(r, MUL, cast(r, part, TYPE_INT64),
                           (double)product(dims + k + 1, (size_t)(depth - k - 1)));
        sum = sum ? binary(r, ADD, sum, part) : part;
    }
    return sum;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

// Whether known positions are all different.
static bool are_distinct(struct recording *r, const struct tensor *positions)
{
    int64_t count = count_elements(positions);
    int64_t *sorted = wnn_model_allocate(r->memory, (size_t)count, sizeof *sorted);
    if (!sorted)
        return false;
    memcpy(sorted, positions->ints, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    for (int64_t i = 1; i < count; i++)
        if (sorted[i] == sorted[i - 1])
            return false;
    return true;
}

// The sum of updates [count, inner] for each of n positions, as a product with a table.
static struct tensor *add_updates(struct recording *r, struct tensor *positions, struct tensor *updates,
                                  int64_t n)
{
    int64_t type = updates->type;
    if (product((int64_t[]){updates->dims[0], n}, 2) > MAX_TABLE)
        return fail(r, "%lld updates of %lld positions, which may meet", (long long)updates->dims[0],
                    (long long)n);
    struct tensor *table = swap_axes(r, one_hot(r, positions, n, TYPE_FLOAT32), 0, 1);
    // float32 is exact for integers below 2^24.
    return cast(r, matmul(r, table, cast(r, updates, TYPE_FLOAT32)), type);
}

// Updates that meet are added.
void compose_scatter_nd(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *indices = stored_at(c, 0), *updates = moved_at(c, 1);
    int64_t dims[MAX_RANK], flat[2], matrix[2];
    size_t rank;
    if (!indices || !updates || !known_ints(c, 2, "the shape", MAX_RANK, &rank, dims))
        return;
    int64_t depth = indices->rank ? indices->dims[indices->rank - 1] : 0;
    if (depth < 1 || depth > (int64_t)rank || count_elements(indices) == 0) {
        fail(r, "indices of %lld axes of a tensor of rank %zu", (long long)depth, rank);
        return;
    }
    flat[0] = matrix[0] = count_elements(indices) / depth;
    flat[1] = depth;
    int64_t n = product(dims, (size_t)depth);
    matrix[1] = product(dims + depth, rank - (size_t)depth);
    struct tensor *rows = reshape(r, indices, 2, flat), *zero = make_number(r, updates->type, 0);
    struct tensor *positions = rows ? flat_positions(r, rows, dims) : NULL;
    if (positions && is_known(r, positions) && are_distinct(r, positions)) {
        give(c, 0, scatter_nd(r, expand(r, zero, rank, dims), indices, updates));
        return;
    }
    updates = reshape(r, updates, 2, matrix);
    if (positions && updates)
        give(c, 0, reshape(r, add_updates(r, positions, updates, n), rank, dims));
}

// Sums, products or extremes of the rows that have the same id: of each segment all rows are looked at, and
// those of others are as if they were not there.
static struct tensor *reduce_segments(struct call *c, struct tensor *x, struct tensor *ids, int64_t n)
{
    struct recording *r = c->r;
    enum reduction op = (enum reduction)c->parameter;
    int64_t rows = x->dims[0], inner = product(x->dims + 1, x->rank - 1);
    struct type_limits limits = limits_of(x->type);
    double none = op == SUM ? 0 : op == PRODUCT ? 1 : op == MAXIMUM ? limits.low : limits.high;
    if (is_real(x->type) && (op == MAXIMUM || op == MINIMUM)) // the largest number there is
        none = op == MAXIMUM ? -3.4028234663852886e38 : 3.4028234663852886e38;
    if (product((int64_t[]){n, rows, inner}, 3) > MAX_TABLE)
        return fail(r, "%lld segments of %lld elements", (long long)n, (long long)(rows * inner));
    const int64_t flat[] = {1, rows, inner}, table[] = {n, rows, 1};
    struct tensor *mine = reshape(r, swap_axes(r, one_hot(r, ids, n, TYPE_BOOL), 0, 1), 3, table);
    struct tensor *all = choose(r, mine, reshape(r, x, 3, flat), make_number(r, x->type, none));
    return reduce(r, op, all, 1, &(size_t){1}, false);
}

// SEGMENT_SUM knows its ids, of which the last one is the largest; others are told how many there are.
void compose_segment(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0), *ids = stored_at(c, 1);
    int64_t n, dims[MAX_RANK];
    if (!x || !ids)
        return;
    if (ids->rank != 1 || x->rank < 1 || ids->dims[0] != x->dims[0] || ids->dims[0] == 0) {
        fail(r, "ids of rank %zu for a tensor of rank %zu", ids->rank, x->rank);
        return;
    }
    if (has_input(c, 2)) {
        if (!known_int(c, 2, "the number of segments", &n))
            return;
    } else {
        if (!require_known(r, ids, "the ids, on which the shape of the result depends,"))
            return;
        n = known_integer(ids, ids->dims[0] - 1) + 1;
    }
    if (n < 1 || n > LARGEST) {
        fail(r, "%lld segments", (long long)n);
        return;
    }
    memcpy(dims, x->dims, sizeof dims);
    dims[0] = n;
    give(c, 0, reshape(r, reduce_segments(c, x, ids, n), x->rank, dims));
}

// ---------------------------------------------------------------------------------------------------------------
// Others
// ---------------------------------------------------------------------------------------------------------------

void compose_one_hot(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *indices = stored_at(c, 0), *on = stored_at(c, 2), *off = stored_at(c, 3);
    int64_t depth, dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    size_t axis;
    if (!indices || !on || !off || !known_int(c, 1, "the depth", &depth) ||
        !find_axis(r, option_int(c, 0, 0), indices->rank + 1, &axis))
        return;
    if (depth < 1 || indices->rank >= MAX_RANK || count_elements(on) != 1 || count_elements(off) != 1) {
        fail(r, "a depth of %lld for indices of rank %zu", (long long)depth, indices->rank);
        return;
    }
    dims[axis] = depth;
    struct tensor *range = reshape(r, make_range(r, TYPE_INT64, 0, depth, 1), indices->rank + 1, dims);
    struct tensor *hot = binary(r, EQUAL, unsqueeze(r, cast(r, indices, TYPE_INT64), axis), range);
    give(c, 0, choose(r, hot, reshape(r, on, 0, NULL), reshape(r, off, 0, NULL)));
}

void compose_top_k(struct call *c)
{
    struct tensor *x = moved_at(c, 0), *values, *places;
    int64_t k;
    if (!x || !known_int(c, 1, "the number of them", &k))
        return;
    if (x->rank < 1)
        fail(c->r, "the largest of a tensor of rank 0");
    else if (top_k(c->r, x, x->rank - 1, k, false, &values, &places)) {
        give(c, 0, values);
        give(c, 1, places);
    }
}
