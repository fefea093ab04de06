// SPDX-License-Identifier: Apache-2.0
//
// Operators that order elements. What is known is sorted while recording. Otherwise the largest are found
// by counting, for each element, those that come before it, or by a sorting network where that would take
// too many comparisons.
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <math.h>
#include <string.h>

#define MAX_COMPARISONS ((int64_t)1 << 18) // of each element with each other one
#define MAX_FOUND       64                 // that are found one after the other
#define MAX_SORTED      ((int64_t)1 << 26) // elements of an axis

// ---------------------------------------------------------------------------------------------------------------
// Known tensors
// ---------------------------------------------------------------------------------------------------------------

// Slices of a known tensor along an axis: element j of slice i is at
// (j / inner * size + i) * inner + j % inner, of `width` elements.
struct slices {
    const struct tensor *t;
    int64_t size, inner, width;
    bool largest; // first
};

static struct slices slices_of(const struct tensor *t, size_t axis)
{
    int64_t size = t->dims[axis], inner = product(t->dims + axis + 1, t->rank - axis - 1);
    return (struct slices){.t = t, .size = size, .inner = inner, .width = product(t->dims, axis) * inner};
}

static int64_t place_in(const struct slices *s, int64_t slice, int64_t j)
{
    return (j / s->inner * s->size + slice) * s->inner + j % s->inner;
}

// Whether element a is less than element b: -1, greater: 1, neither: 0.
static int compare_elements(const struct tensor *t, int64_t a, int64_t b)
{
    if (t->reals)
        return (t->reals[a] > t->reals[b]) - (t->reals[a] < t->reals[b]);
    if (t->type == ONNX_UINT64)
        return ((uint64_t)t->ints[a] > (uint64_t)t->ints[b]) - ((uint64_t)t->ints[a] < (uint64_t)t->ints[b]);
    return (t->ints[a] > t->ints[b]) - (t->ints[a] < t->ints[b]);
}

static int compare_slices(const struct slices *s, int64_t a, int64_t b)
{
    int order = 0;
    for (int64_t j = 0; j < s->width && order == 0; j++)
        order = compare_elements(s->t, place_in(s, a, j), place_in(s, b, j));
    return s->largest ? -order : order;
}

// Sorts indices of slices; those that are equal keep their order. `spare` has room for as many.
static void sort_slices(const struct slices *s, int64_t *order, int64_t *spare, int64_t count)
{
    if (count < 2)
        return;
    int64_t half = count / 2, a = 0, b = half, at = 0;
    sort_slices(s, order, spare, half);
    sort_slices(s, order + half, spare + half, count - half);
    while (a < half || b < count)
        spare[at++] =
            b >= count || (a < half && compare_slices(s, order[a], order[b]) <= 0) ? order[a++] : order[b++];
    memcpy(order, spare, (size_t)count * sizeof *order);
}

static bool allocate_orders(struct recording *r, int64_t count, int64_t **order, int64_t **spare)
{
    *order = wnn_model_allocate(r->memory, (size_t)count, sizeof **order);
    *spare = wnn_model_allocate(r->memory, (size_t)count, sizeof **spare);
    return (*order && *spare) || fail(r, "there is not enough memory");
}

// A view of one row along the axis, so that the rows are sorted one by one.
static void sort_row(const struct slices *all, int64_t row, int64_t *order, int64_t *spare)
{
    struct tensor one = *all->t;
    int64_t first = place_in(all, 0, row);
    one.ints = one.ints ? one.ints + first : NULL;
    one.reals = one.reals ? one.reals + first : NULL;
    struct slices s = {
        .t = &one, .size = all->size, .inner = all->inner, .width = 1, .largest = all->largest};
    for (int64_t i = 0; i < all->size; i++)
        order[i] = i;
    sort_slices(&s, order, spare, all->size);
}

static void set_top_known(struct call *c, struct tensor *x, size_t axis, int64_t k, bool largest)
{
    struct recording *r = c->r;
    struct slices s = slices_of(x, axis);
    int64_t dims[MAX_RANK], *order, *spare;
    s.largest = largest;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = k;
    struct tensor *values = make_known(r, x->type, x->rank, dims),
                  *places = make_known(r, ONNX_INT64, x->rank, dims);
    if (!values || !places || !wnn_model_work(r, (uint64_t)count_elements(x)) ||
        !allocate_orders(r, s.size, &order, &spare))
        return;
    struct slices to = slices_of(places, axis);
    for (int64_t row = 0; k > 0 && row < s.width; row++) {
        sort_row(&s, row, order, spare);
        for (int64_t i = 0; i < k; i++) {
            int64_t at = place_in(&to, i, row), from = place_in(&s, order[i], row);
            places->ints[at] = order[i];
            if (values->reals)
                values->reals[at] = x->reals[from];
            else
                values->ints[at] = x->ints[from];
        }
    }
    set_output(c, 0, values);
    set_output(c, 1, places);
}

// ---------------------------------------------------------------------------------------------------------------
// The largest of computed elements, [rows, size] with what comes first of equals first
// ---------------------------------------------------------------------------------------------------------------

// Whether a comes before b.
static struct tensor *is_before(struct recording *r, bool largest, struct tensor *a, struct tensor *at_a,
                                struct tensor *b, struct tensor *at_b)
{
    struct tensor *tie = binary(r, AND, binary(r, EQUAL, a, b), binary(r, LESSER, at_a, at_b));
    return binary(r, OR, binary(r, largest ? GREATER : LESSER, a, b), tie);
}

// Indices of all in order, from how many come before each.
static struct tensor *order_by_counting(struct recording *r, struct tensor *x, bool largest)
{
    int64_t rows = x->dims[0], size = x->dims[1];
    struct tensor *range = make_range(r, ONNX_INT32, 0, size, 1);
    struct tensor *before = is_before(r, largest, unsqueeze(r, x, 1), unsqueeze(r, range, 0),
                                      unsqueeze(r, x, 2), reshape(r, range, 2, (int64_t[]){size, 1}));
    struct tensor *count = reduce(r, SUM, cast(r, before, ONNX_INT32), 1, (size_t[]){2}, false);
    struct tensor *places = expand(r, range, 2, (int64_t[]){rows, size});
    WNNScatterElementsOptions options = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
    options.label = label_of(r);
    options.axis = 1;
    WNNOperand a = operand_of(r, places), b = operand_of(r, count);
    return a && b ? make_operand(r, ONNX_INT32, wnnGraphBuilderScatterElements(r->builder, a, b, a, &options))
                  : NULL;
}

// Elements with their indices, [rows, blocks, width].
struct pairs {
    struct tensor *value, *index;
};

static struct tensor *part_of(struct recording *r, struct tensor *t, bool second, bool reversed)
{
    if (!t || r->failed)
        return NULL;
    int64_t half = t->dims[2] / 2, first = second ? half : 0;
    return slice_axis(r, t, 2, reversed ? first + half - 1 : first, half, reversed ? -1 : 1);
}

static struct pairs select_pairs(struct recording *r, struct tensor *condition, struct pairs a,
                                 struct pairs b)
{
    return (struct pairs){choose(r, condition, a.value, b.value), choose(r, condition, a.index, b.index)};
}

static struct tensor *join_halves(struct recording *r, struct tensor *a, struct tensor *b, bool reversed)
{
    if (reversed && b)
        b = slice_axis(r, b, 2, b->dims[2] - 1, b->dims[2], -1);
    return concat(r, 2, (struct tensor *[]){a, b}, 2);
}

static void reshape_pairs(struct recording *r, struct pairs *p, int64_t blocks, int64_t width)
{
    if (!p->value || !p->index || r->failed)
        return;
    int64_t dims[] = {p->value->dims[0], blocks, width};
    p->value = reshape(r, p->value, 3, dims);
    p->index = reshape(r, p->index, 3, dims);
}

// Of each block, the elements of one half are compared with those of the other: in the same order, or, if
// `flipped`, in reverse. What comes before goes to the first half, and is all that is kept if `halved`.
static void exchange(struct recording *r, struct pairs *p, bool largest, bool flipped, bool halved)
{
    struct pairs a = {part_of(r, p->value, false, false), part_of(r, p->index, false, false)},
                 b = {part_of(r, p->value, true, flipped), part_of(r, p->index, true, flipped)};
    struct tensor *before = is_before(r, largest, a.value, a.index, b.value, b.index);
    struct pairs first = select_pairs(r, before, a, b);
    if (halved) {
        *p = first;
        return;
    }
    struct pairs last = select_pairs(r, before, b, a);
    p->value = join_halves(r, first.value, last.value, flipped);
    p->index = join_halves(r, first.index, last.index, flipped);
}

// Sorts blocks whose halves are so ordered that one comparison of each pair parts them (bitonic sequences),
// from a distance of `width` / 2 on.
static void merge(struct recording *r, struct pairs *p, bool largest, int64_t count, int64_t width)
{
    for (; width > 1 && !r->failed; width /= 2) {
        reshape_pairs(r, p, count / width, width);
        exchange(r, p, largest, false, false);
    }
}

// [rows, count] of what comes last of all numbers of a type.
static struct tensor *make_last(struct recording *r, int64_t type, bool largest, int64_t rows, int64_t count)
{
    WNNDataType operand = operand_type(r, type);
    bool is_long = operand == WNNDataType_Int64 || operand == WNNDataType_Uint64;
    unsigned bits = is_long ? 64 : operand == WNNDataType_Int8 || operand == WNNDataType_Uint8 ? 8 : 32;
    uint64_t all = UINT64_MAX >> (64 - bits), high = is_signed(type) ? all >> 1 : all;
    struct tensor *t = make_filled(r, type, 2, (int64_t[]){1, count}, largest ? -INFINITY : INFINITY);
    for (int64_t i = 0; t && t->ints && i < count; i++)
        t->ints[i] = (int64_t)(!largest ? high : is_signed(type) ? ~high : 0);
    return expand(r, t, 2, (int64_t[]){rows, count});
}

// Indices of the first `k`: blocks of the next power of two are sorted, then pairs of them joined, of which
// the better half is kept. K. E. Batcher, Sorting networks and their applications, 1968.
static struct tensor *order_by_network(struct recording *r, struct tensor *x, int64_t k, bool largest)
{
    int64_t rows = x->dims[0], size = x->dims[1], width = 1, blocks = 1;
    while (width < k)
        width *= 2;
    while (blocks * width < size)
        blocks *= 2;
    int64_t count = blocks * width;
    struct tensor *padding = make_last(r, x->type, largest, rows, count - size);
    struct pairs p = {concat(r, 2, (struct tensor *[]){x, padding}, 1),
                      expand(r, make_range(r, ONNX_INT32, 0, count, 1), 2, (int64_t[]){rows, count})};
    for (int64_t w = 2; w <= width && !r->failed; w *= 2) {
        reshape_pairs(r, &p, count / w, w);
        exchange(r, &p, largest, true, false);
        merge(r, &p, largest, count, w / 2);
    }
    for (; blocks > 1 && !r->failed; blocks /= 2) {
        reshape_pairs(r, &p, blocks / 2, 2 * width);
        exchange(r, &p, largest, true, true);
        merge(r, &p, largest, blocks / 2 * width, width);
    }
    return reshape(r, p.index, 2, (int64_t[]){rows, width});
}

void record_top_k(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *number = input(c, 1);
    bool largest = get_int(c, "largest", 1) != 0;
    size_t axis;
    if (!find_axis(r, get_int(c, "axis", -1), x->rank, &axis) ||
        (number && (!require_sizes(r, number, "the number of them") || count_elements(number) != 1)))
        return;
    int64_t k = number ? known_integer(number, 0) : get_int(c, "k", 0), size = x->dims[axis];
    if (k < 0 || (!is_late(k) && k > size) || (!is_late(size) && size > MAX_SORTED)) {
        fail(r, "the %lld largest of %lld", (long long)k, (long long)size);
        return;
    }
    if (k == 0 || (is_known(r, x) && !has_late_elements(x))) {
        x = k ? x : slice_axis(r, x, axis, 0, 0, 1);
        if (x)
            set_top_known(c, x, axis, k, largest);
        return;
    }
    if (k == 1 && is_real(x->type)) {
        struct tensor *place = arg_max(r, x, axis, !largest, true);
        set_output(c, 0, gather_elements(r, x, place, axis));
        set_output(c, 1, place);
        return;
    }
    if (is_late(size) && k <= MAX_FOUND) {
        struct tensor *values, *places;
        if (top_k(r, x, axis, k, !largest, &values, &places)) {
            set_output(c, 0, values);
            set_output(c, 1, places);
        }
        return;
    }
    size_t last = x->rank - 1;
    x = swap_axes(r, x, axis, last);
    if (!x)
        return;
    int64_t rows = size_product(r, x->dims, last), dims[MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[last] = k;
    x = reshape(r, x, 2, (int64_t[]){rows, size});
    if (!x)
        return;
    bool few =
        is_late(size) || product((int64_t[]){size, size, is_late(rows) ? 1 : rows}, 3) <= MAX_COMPARISONS;
    struct tensor *places = few ? order_by_counting(r, x, largest) : order_by_network(r, x, k, largest);
    places = slice_axis(r, places, 1, 0, k, 1);
    struct tensor *values = gather_elements(r, x, places, 1);
    set_output(c, 0, swap_axes(r, reshape(r, values, last + 1, dims), axis, last));
    set_output(c, 1, swap_axes(r, cast(r, reshape(r, places, last + 1, dims), ONNX_INT64), axis, last));
}

// ---------------------------------------------------------------------------------------------------------------
// Different elements
// ---------------------------------------------------------------------------------------------------------------

// What Unique gives: slices in order, each with its first place, and for each slice which one it is.
struct distinct {
    int64_t count, *first, *which, *times;
};

static bool find_distinct(struct recording *r, const struct slices *s, bool sorted, struct distinct *d)
{
    int64_t *order, *spare;
    if (!wnn_model_work(r, (uint64_t)count_elements(s->t)))
        return false;
    d->first = wnn_model_allocate(r->memory, (size_t)s->size, sizeof *d->first);
    d->which = wnn_model_allocate(r->memory, (size_t)s->size, sizeof *d->which);
    d->times = wnn_model_allocate(r->memory, (size_t)s->size, sizeof *d->times);
    if (!d->first || !d->which || !d->times || !allocate_orders(r, s->size, &order, &spare))
        return fail(r, "there is not enough memory");
    for (int64_t i = 0; i < s->size; i++)
        order[i] = i;
    sort_slices(s, order, spare, s->size);
    for (int64_t i = 0; i < s->size; i++) {
        bool again = i > 0 && compare_slices(s, order[i - 1], order[i]) == 0;
        d->count += !again;
        d->which[order[i]] = d->count - 1;
        d->times[d->count - 1]++;
        if (!again)
            d->first[d->count - 1] = order[i];
    }
    if (sorted)
        return true;
    // In the order of their first places: `order` becomes the new number of each.
    int64_t next = 0;
    for (int64_t i = 0; i < s->size; i++)
        if (d->first[d->which[i]] == i)
            order[d->which[i]] = next++;
    for (int64_t i = 0; i < s->size; i++)
        d->which[i] = order[d->which[i]];
    memcpy(spare, d->times, (size_t)d->count * sizeof *spare);
    for (int64_t i = 0; i < d->count; i++)
        d->times[order[i]] = spare[i];
    memcpy(spare, d->first, (size_t)d->count * sizeof *spare);
    for (int64_t i = 0; i < d->count; i++)
        d->first[order[i]] = spare[i];
    return true;
}

// Parameter 1: of com.microsoft, in the order of first places, which it does not give.
void record_unique(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t axis = 0, next = c->parameter ? 1 : 2;
    if (!require_known(r, x, "the tensor, on which the shape of the result depends,"))
        return;
    if (!has_attribute(c, "axis"))
        x = reshape(r, x, 1, &(int64_t){count_elements(x)});
    if (!x || !find_axis(r, get_int(c, "axis", 0), x->rank, &axis))
        return;
    struct slices s = slices_of(x, axis);
    struct distinct d = {0};
    if (!find_distinct(r, &s, !c->parameter && get_int(c, "sorted", 1) != 0, &d))
        return;
    set_output(c, 0, gather(r, x, make_ints(r, (size_t)d.count, d.first), axis));
    if (!c->parameter)
        set_output(c, 1, make_ints(r, (size_t)d.count, d.first));
    set_output(c, next, make_ints(r, (size_t)s.size, d.which));
    set_output(c, next + 1, make_ints(r, (size_t)d.count, d.times));
}
