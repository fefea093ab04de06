// SPDX-License-Identifier: Apache-2.0
#include "tools/model/known.h"

struct tensor *gather_nd(struct recording *r, struct tensor *t, struct tensor *indices)
{
    WNNOperand a = operand_of(r, t), b = operand_of(r, indices);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return a && b ? make_operand(r, t->type, wnnGraphBuilderGatherND(r->builder, a, b, &options)) : NULL;
}

// Known tensors: shapes that exporters put together.
static struct tensor *scatter_known(struct recording *r, struct tensor *t, struct tensor *indices,
                                    struct tensor *updates)
{
    int64_t depth = indices->dims[indices->rank - 1], count = depth ? count_elements(indices) / depth : 0;
    if (!is_integer(indices->type) || updates->type != t->type)
        return fail(r, "indices of type %s, updates of type %s", type_name(indices->type),
                    type_name(updates->type));
    if (depth > (int64_t)t->rank)
        return fail(r, "indices of %lld axes of a tensor of rank %zu", (long long)depth, t->rank);
    int64_t inner = product(t->dims + depth, t->rank - (size_t)depth);
    if (count_elements(updates) != count * inner)
        return fail(r, "%lld updates for %lld elements", (long long)count_elements(updates),
                    (long long)(count * inner));
    struct tensor *result = make_known(r, t->type, t->rank, t->dims);
    for (int64_t i = 0; result && i < count_elements(t); i++)
        copy_known(result, i, t, i);
    for (int64_t i = 0; result && i < count; i++) {
        int64_t at = 0;
        for (int64_t k = 0; k < depth; k++) {
            int64_t index = indices->ints[i * depth + k], size = t->dims[k];
            index += index < 0 ? size : 0;
            if (index < 0 || index >= size)
                return fail(r, "index %lld of a size of %lld", (long long)index, (long long)size);
            at = at * size + index;
        }
        for (int64_t k = 0; k < inner; k++)
            copy_known(result, at * inner + k, updates, i * inner + k);
    }
    return result;
}

struct tensor *scatter_nd(struct recording *r, struct tensor *t, struct tensor *indices,
                          struct tensor *updates)
{
    if (is_known(r, t) && is_known(r, indices) && !has_late_elements(indices) && is_known(r, updates) &&
        indices->rank > 0)
        return scatter_known(r, t, indices, updates);
    WNNOperand a = operand_of(r, t), b = operand_of(r, indices), u = operand_of(r, updates);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return a && b && u ? make_operand(r, t->type, wnnGraphBuilderScatterND(r->builder, a, b, u, &options))
                       : NULL;
}

struct tensor *tile(struct recording *r, struct tensor *t, const int64_t *repetitions)
{
    uint32_t times[MAX_RANK];
    if (!t || r->failed)
        return NULL;
    if (is_known(r, t) && !has_late(repetitions, t->rank)) { // one axis after the other
        for (size_t axis = 0; t && axis < t->rank && !r->failed; axis++) {
            int64_t each = repetitions[axis] < 0 ? 0 : repetitions[axis], size;
            if (__builtin_mul_overflow(t->dims[axis], each, &size))
                return fail(r, "%lld repetitions", (long long)each);
            struct tensor *indices = make_known(r, TYPE_INT64, 1, &size);
            for (int64_t i = 0; indices && i < size; i++)
                indices->ints[i] = i % t->dims[axis];
            t = each == 1 ? t : gather(r, t, indices, axis);
        }
        return t;
    }
    for (size_t i = 0; i < t->rank; i++)
        times[i] = repetitions[i] < 0 ? 0 : size_number(repetitions[i]);
    WNNOperand operand = operand_of(r, t);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return operand ? make_operand(
                         r, t->type,
                         wnnGraphBuilderTile(r->builder, operand, (WNNUint32List){times, t->rank}, &options))
                   : NULL;
}

// As a gather of elements with indices that the lengths make.
struct tensor *reverse_sequence(struct recording *r, struct tensor *t, struct tensor *lengths, size_t batch,
                                size_t axis)
{
    if (!t || !lengths || r->failed)
        return NULL;
    if (batch == axis || lengths->rank != 1 || sizes_differ(lengths->dims[0], t->dims[batch]))
        return fail(r, "lengths of other sequences");
    int64_t steps[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1}, rows[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    steps[axis] = t->dims[axis];
    rows[batch] = t->dims[batch];
    struct tensor *time = reshape(r, make_range(r, TYPE_INT64, 0, t->dims[axis], 1), t->rank, steps);
    time = limit_known(r, time, count_elements(t));
    struct tensor *n = reshape(r, cast(r, lengths, TYPE_INT64), t->rank, rows);
    struct tensor *turned = binary(r, SUB, with_number(r, SUB, n, 1), time);
    struct tensor *indices = expand(r, choose(r, binary(r, LESSER, time, n), turned, time), t->rank, t->dims);
    return gather_elements(r, t, indices, axis);
}

#define MAX_TOP    64   // elements that are found one after the other
#define MAX_RANKED 2048 // elements of an axis that are compared with each other

// A number that no other element is beyond: put where an element has been taken.
static double worst_of(int64_t type, bool least)
{
    const struct type_limits limits = limits_of(type);
    return least ? limits.high : limits.low;
}

static struct tensor *scatter_elements(struct recording *r, struct tensor *t, struct tensor *indices,
                                       struct tensor *updates, size_t axis)
{
    WNNScatterElementsOptions options = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
    options.label = label_of(r);
    options.axis = (uint32_t)axis;
    WNNOperand a = operand_of(r, t), b = operand_of(r, indices), u = operand_of(r, updates);
    return a && b && u
               ? make_operand(r, t->type, wnnGraphBuilderScatterElements(r->builder, a, b, u, &options))
               : NULL;
}

// How many elements come before each one: those beyond it, and equal ones in front of it. That is its place
// in the order. [..., i, j] says whether j comes before i; the axis is the last.
static struct tensor *order_of(struct recording *r, struct tensor *t, bool least)
{
    int64_t n = t->dims[t->rank - 1];
    const int64_t square[] = {n, n};
    struct tensor *front = make_known(r, TYPE_BOOL, 2, square);
    for (int64_t i = 0; front && i < n * n; i++)
        front->ints[i] = i % n < i / n;
    struct tensor *self = unsqueeze(r, t, t->rank), *other = unsqueeze(r, t, t->rank - 1);
    struct tensor *before = binary(r, OR, binary(r, least ? LESSER : GREATER, other, self),
                                   binary(r, AND, binary(r, EQUAL, other, self), front));
    return reduce(r, SUM, cast(r, before, TYPE_INT32), 1, &(size_t){t->rank}, false);
}

static void top_by_order(struct recording *r, struct tensor *t, size_t axis, int64_t k, bool least,
                         struct tensor **values, struct tensor **places)
{
    size_t last = t->rank - 1;
    t = swap_axes(r, t, axis, last);
    if (!t)
        return;
    struct tensor *order = order_of(r, t, least);
    struct tensor *range = expand(r, make_range(r, TYPE_INT64, 0, t->dims[last], 1), t->rank, t->dims);
    struct tensor *sorted[] = {scatter_elements(r, t, order, t, last),
                               scatter_elements(r, range, order, range, last)};
    *values = swap_axes(r, slice_axis(r, sorted[0], last, 0, k, 1), axis, last);
    *places = swap_axes(r, slice_axis(r, sorted[1], last, 0, k, 1), axis, last);
}

// One after the other: the first that is equal to the best of what has not been taken.
static void top_by_search(struct recording *r, struct tensor *t, size_t axis, int64_t k, bool least,
                          struct tensor **values, struct tensor **places)
{
    struct tensor *value[MAX_TOP], *place[MAX_TOP], *left = t, *taken = NULL;
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    dims[axis] = t->dims[axis];
    struct tensor *range = reshape(r, make_range(r, TYPE_INT64, 0, t->dims[axis], 1), t->rank, dims);
    for (int64_t i = 0; i < k && !r->failed; i++) {
        value[i] = reduce_axis(r, least ? MINIMUM : MAXIMUM, left, axis);
        struct tensor *best = binary(r, EQUAL, t, value[i]);
        best = taken ? binary(r, AND, best, unary(r, NOT, taken)) : best;
        place[i] = arg_max(r, cast(r, best, TYPE_INT32), axis, false, true);
        struct tensor *here = binary(r, EQUAL, range, place[i]);
        taken = taken ? binary(r, OR, taken, here) : here;
        if (i + 1 < k)
            left = choose(r, taken, make_number(r, t->type, worst_of(t->type, least)), t);
    }
    *values = r->failed ? NULL : concat(r, (size_t)k, value, axis);
    *places = r->failed ? NULL : concat(r, (size_t)k, place, axis);
}

bool top_k(struct recording *r, struct tensor *t, size_t axis, int64_t k, bool least, struct tensor **values,
           struct tensor **places)
{
    if (!t || r->failed)
        return false;
    int64_t n = t->dims[axis];
    if (k < 1 || k > n)
        return fail(r, "%lld of a size of %lld", (long long)k, (long long)n);
    if (k > MAX_TOP && n > MAX_RANKED)
        return fail(r, "%lld of a size of %lld; up to %d are supported, or sizes to %d", (long long)k,
                    (long long)n, MAX_TOP, MAX_RANKED);
    bool search = n > MAX_RANKED || (n > 256 && k <= MAX_TOP) || t->rank == MAX_RANK;
    (search ? top_by_search : top_by_order)(r, t, axis, k, least, values, places);
    return !r->failed;
}
