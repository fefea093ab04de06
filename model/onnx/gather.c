// SPDX-License-Identifier: Apache-2.0
//
// What elements are taken from and put to by indices.
#include "model/onnx/call.h"

#include <math.h>
#include <string.h>

#define MAX_TOP 64 // of the largest that are found one after the other

void record_gather(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *indices = input(c, 1);
    size_t axis;
    if (!find_axis(r, get_int(c, "axis", 0), x->rank, &axis))
        return;
    set_output(c, 0, gather(r, x, indices, axis));
}

void record_gather_elements(struct call *c)
{
    size_t axis;
    if (find_axis(c->r, get_int(c, "axis", 0), input(c, 0)->rank, &axis))
        set_output(c, 0, gather_elements(c->r, input(c, 0), input(c, 1), axis));
}

// Batch dimensions are a dimension of indices more.
void record_gather_nd(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *indices = input(c, 1);
    int64_t batch = get_int(c, "batch_dims", 0);
    if (batch < 0 || batch >= (int64_t)indices->rank || batch >= (int64_t)x->rank) {
        fail(r, "%lld dimensions of batches", (long long)batch);
        return;
    }
    struct tensor *parts[MAX_RANK + 1];
    size_t count = 0;
    int64_t dims[MAX_RANK];
    memcpy(dims, indices->dims, sizeof dims);
    dims[indices->rank - 1] = 1;
    for (size_t i = 0; i < (size_t)batch; i++) {
        int64_t along[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
        along[i] = dims[i];
        struct tensor *range = make_range(r, indices->type, 0, dims[i], 1);
        parts[count++] = expand(r, reshape(r, range, indices->rank, along), indices->rank, dims);
    }
    parts[count++] = indices;
    if (batch)
        indices = concat(r, count, parts, indices->rank - 1);
    WNNOperand a = operand_of(r, x), b = operand_of(r, indices);
    WNNOperatorOptions options = {NULL, label_of(r)};
    if (a && b)
        set_output(c, 0, make_operand(r, x->type, wnnGraphBuilderGatherND(r->builder, a, b, &options)));
}

static void set_item(struct tensor *to, int64_t i, const struct tensor *from, int64_t j)
{
    if (to->reals)
        to->reals[i] = from->reals[j];
    else
        to->ints[i] = from->ints[j];
}

// Known tensors: shapes that exporters put together.
static struct tensor *scatter_known(struct recording *r, struct tensor *x, struct tensor *indices,
                                    struct tensor *updates)
{
    int64_t depth = indices->dims[indices->rank - 1], count = depth ? count_elements(indices) / depth : 0;
    if (!is_integer(indices->type) || updates->type != x->type)
        return fail(r, "indices of type %s, updates of type %s", type_name(indices->type),
                    type_name(updates->type));
    if (depth > (int64_t)x->rank)
        return fail(r, "indices of %lld axes of a tensor of rank %zu", (long long)depth, x->rank);
    int64_t inner = product(x->dims + depth, x->rank - (size_t)depth);
    if (count_elements(updates) != count * inner)
        return fail(r, "%lld updates for %lld elements", (long long)count_elements(updates),
                    (long long)(count * inner));
    struct tensor *result = make_known(r, x->type, x->rank, x->dims);
    for (int64_t i = 0; result && i < count_elements(x); i++)
        set_item(result, i, x, i);
    for (int64_t i = 0; result && i < count; i++) {
        int64_t at = 0;
        for (int64_t k = 0; k < depth; k++) {
            int64_t index = indices->ints[i * depth + k], size = x->dims[k];
            index += index < 0 ? size : 0;
            if (index < 0 || index >= size)
                return fail(r, "index %lld of a size of %lld", (long long)index, (long long)size);
            at = at * size + index;
        }
        for (int64_t k = 0; k < inner; k++)
            set_item(result, at * inner + k, updates, i * inner + k);
    }
    return result;
}

// Updates of which several meet at one element are joined by a matrix that says who meets whom.
static struct tensor *reduce_updates(struct call *c, struct tensor *old, struct tensor *updates)
{
    struct recording *r = c->r;
    if (has_text(c, "reduction", "add", "none"))
        return binary(r, ADD, old, updates);
    if (has_text(c, "reduction", "mul", "none"))
        return binary(r, MUL, old, updates);
    return binary(r, has_text(c, "reduction", "max", "none") ? MAX : MIN, old, updates);
}

// Whether no two indices are the same, along an axis for elements, or as wholes.
static bool are_distinct(struct tensor *indices, int64_t width, int64_t size)
{
    int64_t count = width ? count_elements(indices) / width : 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < i; k++) {
            bool same = true;
            for (int64_t j = 0; j < width && same; j++) {
                int64_t a = indices->ints[i * width + j], b = indices->ints[k * width + j];
                same = a == b || (size && a + (a < 0 ? size : 0) == b + (b < 0 ? size : 0));
            }
            if (same)
                return false;
        }
    return true;
}

void record_scatter_elements(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *indices = input(c, 1), *updates = input(c, 2);
    size_t axis;
    if (!find_axis(r, get_int(c, "axis", 0), x->rank, &axis))
        return;
    if (!has_text(c, "reduction", "none", "none")) {
        if (!require_known(r, indices, "an index of updates that are reduced"))
            return;
        // One row of updates after the other: no two of a row meet.
        int64_t rows = indices->rank == x->rank ? indices->dims[axis] : 0;
        for (int64_t i = 0; i < rows && x && !r->failed; i++) {
            struct tensor *at = slice_axis(r, indices, axis, i, 1, 1),
                          *row = slice_axis(r, updates, axis, i, 1, 1);
            row = reduce_updates(c, gather_elements(r, x, at, axis), row);
            WNNScatterElementsOptions options = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
            options.axis = (uint32_t)axis;
            WNNOperand a = operand_of(r, x), b = operand_of(r, at), u = operand_of(r, row);
            x = a && b && u
                    ? make_operand(r, x->type, wnnGraphBuilderScatterElements(r->builder, a, b, u, &options))
                    : NULL;
        }
        set_output(c, 0, x);
        return;
    }
    WNNScatterElementsOptions options = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
    options.label = label_of(r);
    options.axis = (uint32_t)axis;
    WNNOperand a = operand_of(r, x), b = operand_of(r, indices), u = operand_of(r, updates);
    if (a && b && u)
        set_output(c, 0,
                   make_operand(r, x->type, wnnGraphBuilderScatterElements(r->builder, a, b, u, &options)));
}

static struct tensor *scatter_nd(struct recording *r, struct tensor *x, struct tensor *indices,
                                 struct tensor *updates)
{
    WNNOperand a = operand_of(r, x), b = operand_of(r, indices), u = operand_of(r, updates);
    WNNOperatorOptions options = {NULL, label_of(r)};
    return a && b && u ? make_operand(r, x->type, wnnGraphBuilderScatterND(r->builder, a, b, u, &options))
                       : NULL;
}

void record_scatter_nd(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *indices = input(c, 1), *updates = input(c, 2);
    if (indices->rank < 1) {
        fail(r, "indices of rank 0");
        return;
    }
    if (has_text(c, "reduction", "none", "none")) {
        bool known = is_known(r, x) && is_known(r, indices) && is_known(r, updates);
        set_output(c, 0, known ? scatter_known(r, x, indices, updates) : scatter_nd(r, x, indices, updates));
        return;
    }
    if (!require_known(r, indices, "an index of updates that are reduced"))
        return;
    int64_t depth = indices->dims[indices->rank - 1], count = depth ? count_elements(indices) / depth : 0;
    if (count > 1024 && !are_distinct(indices, depth, 0)) {
        fail(r, "%lld updates that meet", (long long)count);
        return;
    }
    // One update after the other.
    int64_t flat[2] = {count, depth}, dims[MAX_RANK + 1] = {count};
    size_t inner = updates->rank - (indices->rank - 1);
    if (updates->rank < indices->rank - 1 || inner >= MAX_RANK) {
        fail(r, "updates of rank %zu", updates->rank);
        return;
    }
    memcpy(dims + 1, updates->dims + indices->rank - 1, inner * sizeof *dims);
    indices = reshape(r, indices, 2, flat);
    updates = reshape(r, updates, inner + 1, dims);
    for (int64_t i = 0; i < count && x && !r->failed; i++) {
        struct tensor *at = slice_axis(r, indices, 0, i, 1, 1), *one = slice_axis(r, updates, 0, i, 1, 1);
        WNNOperand a = operand_of(r, x), b = operand_of(r, at);
        WNNOperatorOptions options = {NULL, WNN_STRING_VIEW_INIT};
        struct tensor *old =
            a && b ? make_operand(r, x->type, wnnGraphBuilderGatherND(r->builder, a, b, &options)) : NULL;
        x = scatter_nd(r, x, at, reduce_updates(c, old, one));
    }
    set_output(c, 0, x);
}

void record_one_hot(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *indices = input(c, 0), *depth = input(c, 1), *values = input(c, 2);
    size_t axis;
    if (!require_known(r, depth, "the depth") || count_elements(depth) != 1 || values->rank != 1 ||
        values->dims[0] != 2) {
        fail(r, "a depth of several numbers, or values that are not two");
        return;
    }
    int64_t n = known_integer(depth, 0), dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (n < 1 || indices->rank >= MAX_RANK ||
        !find_axis(r, get_int(c, "axis", -1), indices->rank + 1, &axis)) {
        fail(r, "a depth of %lld", (long long)n);
        return;
    }
    dims[axis] = n;
    struct tensor *x = indices->type == ONNX_INT64 ? indices : cast(r, indices, ONNX_INT64);
    x = choose(r, with_number(r, LESSER, x, 0), with_number(r, ADD, x, (double)n), x);
    struct tensor *hot = binary(r, EQUAL, unsqueeze(r, x, axis),
                                reshape(r, make_range(r, ONNX_INT64, 0, n, 1), indices->rank + 1, dims));
    set_output(c, 0, choose(r, hot, slice_axis(r, values, 0, 1, 1, 1), slice_axis(r, values, 0, 0, 1, 1)));
}

void record_compress(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *condition = input(c, 1);
    size_t axis = 0;
    if (!require_known(r, condition, "the condition, on which the shape of the result depends,"))
        return;
    if (!find_attribute(c, "axis"))
        x = reshape(r, x, 1, &(int64_t){count_elements(x)});
    if (!x || !find_axis(r, get_int(c, "axis", 0), x->rank, &axis))
        return;
    int64_t kept = 0, at = 0, n = count_elements(condition);
    for (int64_t i = 0; i < n; i++)
        kept += known_number(condition, i) != 0;
    struct tensor *indices = make_known(r, ONNX_INT64, 1, &kept);
    for (int64_t i = 0; indices && i < n; i++)
        if (known_number(condition, i) != 0)
            indices->ints[at++] = i;
    if (n > x->dims[axis])
        fail(r, "a condition of %lld for a size of %lld", (long long)n, (long long)x->dims[axis]);
    set_output(c, 0, gather(r, x, indices, axis));
}

// Parameter 1: of scores, whose logarithm of softmax is taken first.
void record_likelihood_loss(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *target = input(c, 1), *weight = input(c, 2);
    if (x->rank < 2 || target->rank + 1 != x->rank) {
        fail(r, "targets of rank %zu for scores of rank %zu", target->rank, x->rank);
        return;
    }
    if (c->parameter) {
        struct tensor *low = binary(r, SUB, x, reduce_axis(r, MAXIMUM, x, 1));
        x = binary(r, SUB, low, unary(r, LOG, reduce_axis(r, SUM, unary(r, EXP, low), 1)));
        if (wants(c, 1))
            set_output(c, 1, x);
    }
    if (!x)
        return;
    int64_t classes = x->dims[1];
    struct tensor *label = unsqueeze(r, cast(r, target, ONNX_INT64), 1), *ignored = NULL;
    if (find_attribute(c, "ignore_index"))
        ignored = with_number(r, EQUAL, label, (double)get_int(c, "ignore_index", 0));
    struct tensor *index = clamp(r, label, 0, (double)(classes - 1));
    struct tensor *loss = unary(r, NEG, gather_elements(r, x, index, 1)), *share = NULL;
    if (weight)
        share = gather(r, weight, index, 0);
    if (ignored) {
        struct tensor *one = make_number(r, x->type, 1);
        share = choose(r, ignored, make_number(r, x->type, 0), share ? share : one);
        if (share && share->rank == 0)
            share = expand(r, share, label->rank, label->dims);
    }
    loss = share ? binary(r, MUL, loss, share) : loss;
    if (!loss)
        return;
    size_t axes[MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
    if (has_text(c, "reduction", "none", "mean"))
        loss = squeeze(r, loss, 1);
    else if (has_text(c, "reduction", "mean", "mean") && share)
        loss = binary(r, DIV, reduce(r, SUM, loss, loss->rank, axes, false),
                      reduce(r, SUM, share, share->rank, axes, false));
    else
        loss = reduce(r, has_text(c, "reduction", "sum", "mean") ? SUM : MEAN, loss, loss->rank, axes, false);
    set_output(c, 0, loss);
}

// The largest of an axis, one after the other: each is found, taken out, and its place lost.
void record_top_k(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *number = input(c, 1);
    bool largest = get_int(c, "largest", 1) != 0;
    size_t axis;
    if (!find_axis(r, get_int(c, "axis", -1), x->rank, &axis) ||
        (number && !require_known(r, number, "the number of them")))
        return;
    int64_t k = number ? known_integer(number, 0) : get_int(c, "k", 0), size = x->dims[axis];
    if (k < 1 || k > size || k > MAX_TOP) {
        fail(r, "the %lld largest of %lld; up to %d are supported", (long long)k, (long long)size, MAX_TOP);
        return;
    }
    struct tensor *values[MAX_TOP], *places[MAX_TOP], *left = x;
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    dims[axis] = size;
    struct tensor *range = reshape(r, make_range(r, ONNX_INT64, 0, size, 1), x->rank, dims);
    struct tensor *taken = NULL;
    for (int64_t i = 0; i < k && !r->failed; i++) {
        places[i] = arg_max(r, left, axis, !largest, true);
        values[i] = gather_elements(r, x, places[i], axis);
        struct tensor *here = binary(r, EQUAL, range, places[i]);
        taken = taken ? binary(r, OR, taken, here) : here;
        // What is taken becomes as bad as the worst that is left, so that a place is never found twice:
        // integers and infinities included, as ties go to the first that is not taken.
        if (i + 1 < k) {
            double worst = is_real(x->type) ? (largest ? -INFINITY : INFINITY) : 0;
            if (!is_real(x->type)) {
                fail(r, "the largest of %s", type_name(x->type));
                return;
            }
            left = choose(r, taken, make_number(r, x->type, worst), x);
        }
    }
    if (r->failed)
        return;
    set_output(c, 0, concat(r, (size_t)k, values, axis));
    set_output(c, 1, concat(r, (size_t)k, places, axis));
}

// ---------------------------------------------------------------------------------------------------------------
// Samples at the points of a grid
// ---------------------------------------------------------------------------------------------------------------

struct sampling {
    struct recording *r;
    struct tensor *flat; // [batch, height * width, channels]
    int64_t batch, channels, height, width, points;
    bool align, reflect, border;
};

// Where a point is among pixels.
static struct tensor *place(struct sampling *s, struct tensor *x, int64_t size)
{
    struct recording *r = s->r;
    double n = (double)size;
    return s->align
               ? with_number(r, MUL, with_number(r, ADD, x, 1), (n - 1) / 2)
               : with_number(r, MUL,
                             with_number(r, SUB, with_number(r, MUL, with_number(r, ADD, x, 1), n), 1), 0.5);
}

// Back into a range, as often as it takes.
static struct tensor *reflected(struct sampling *s, struct tensor *x, int64_t size)
{
    struct recording *r = s->r;
    double low = s->align ? 0 : -0.5, high = s->align ? (double)(size - 1) : (double)size - 0.5,
           span = high - low;
    if (span <= 0)
        return with_number(r, MUL, x, 0);
    struct tensor *d = unary(r, ABS, with_number(r, SUB, x, low));
    struct tensor *turns = unary(r, FLOOR, with_number(r, DIV, d, span));
    struct tensor *rest = binary(r, SUB, d, with_number(r, MUL, turns, span));
    struct tensor *half = with_number(r, MUL, turns, 0.5);
    struct tensor *even = binary(r, EQUAL, half, unary(r, FLOOR, half));
    return choose(r, even, with_number(r, ADD, rest, low), number_with(r, SUB, high, rest));
}

// The pixels at whole positions: [batch, points, channels].
static struct tensor *pixels(struct sampling *s, struct tensor *y, struct tensor *x)
{
    struct recording *r = s->r;
    if (s->reflect) {
        y = reflected(s, y, s->height);
        x = reflected(s, x, s->width);
    }
    struct tensor *in_y = clamp(r, y, 0, (double)(s->height - 1)),
                  *in_x = clamp(r, x, 0, (double)(s->width - 1));
    if (s->reflect) { // halves that rounding left
        in_y = unary(r, ROUND, in_y);
        in_x = unary(r, ROUND, in_x);
    }
    struct tensor *at = binary(r, ADD, with_number(r, MUL, in_y, (double)s->width), in_x);
    at = unsqueeze(r, cast(r, at, ONNX_INT64), 2);
    int64_t dims[3] = {s->batch, s->points, s->channels};
    struct tensor *all = gather_elements(r, s->flat, expand(r, at, 3, dims), 1);
    if (s->reflect || s->border)
        return all;
    struct tensor *inside = binary(r, AND, binary(r, EQUAL, y, in_y), binary(r, EQUAL, x, in_x));
    return binary(r, MUL, all, unsqueeze(r, cast(r, inside, s->flat->type), 2));
}

// Weights of the four pixels around a position at fraction t, with the constant -0.75 of cubic convolution.
static struct tensor *cubic(struct recording *r, struct tensor *t, int offset)
{
    const double a = -0.75;
    struct tensor *d = unary(r, ABS, with_number(r, SUB, t, offset));
    bool near = offset == 0 || offset == 1;
    const double k[2][4] = {{a, -5 * a, 8 * a, -4 * a}, {a + 2, -(a + 3), 0, 1}};
    struct tensor *sum = with_number(r, ADD, with_number(r, MUL, d, k[near][0]), k[near][1]);
    sum = with_number(r, ADD, binary(r, MUL, sum, d), k[near][2]);
    return with_number(r, ADD, binary(r, MUL, sum, d), k[near][3]);
}

static struct tensor *weight_of(struct recording *r, struct tensor *t, int offset, bool is_cubic)
{
    return is_cubic ? cubic(r, t, offset) : offset ? t : number_with(r, SUB, 1, t);
}

void record_grid_sample(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *grid = input(c, 1);
    if (x->rank != 4 || grid->rank != 4 || grid->dims[3] != 2 || grid->dims[0] != x->dims[0]) {
        fail(r, "a grid of rank %zu for images of rank %zu; images in two dimensions are supported",
             grid->rank, x->rank);
        return;
    }
    struct sampling s = {.r = r,
                         .batch = x->dims[0],
                         .channels = x->dims[1],
                         .height = x->dims[2],
                         .width = x->dims[3],
                         .points = grid->dims[1] * grid->dims[2],
                         .align = get_int(c, "align_corners", 0) != 0,
                         .reflect = has_text(c, "padding_mode", "reflection", "zeros"),
                         .border = has_text(c, "padding_mode", "border", "zeros")};
    const int64_t flat[] = {s.batch, s.channels, s.height * s.width}, points[] = {s.batch, s.points, 2};
    s.flat = swap_axes(r, reshape(r, x, 3, flat), 1, 2);
    grid = reshape(r, cast(r, grid, x->type), 3, points);
    struct tensor *px = place(&s, squeeze(r, slice_axis(r, grid, 2, 0, 1, 1), 2), s.width);
    struct tensor *py = place(&s, squeeze(r, slice_axis(r, grid, 2, 1, 1, 1), 2), s.height);
    bool nearest = has_text(c, "mode", "nearest", "linear"),
         is_cubic = has_text(c, "mode", "cubic", "linear") || has_text(c, "mode", "bicubic", "linear");
    struct tensor *sum = NULL;
    if (s.reflect && !is_cubic) {
        px = clamp(r, reflected(&s, px, s.width), 0, (double)(s.width - 1));
        py = clamp(r, reflected(&s, py, s.height), 0, (double)(s.height - 1));
    } else if (s.border && !is_cubic) {
        px = clamp(r, px, 0, (double)(s.width - 1));
        py = clamp(r, py, 0, (double)(s.height - 1));
    }
    if (nearest) {
        sum = pixels(&s, unary(r, ROUND, py), unary(r, ROUND, px));
    } else {
        struct tensor *x0 = unary(r, FLOOR, px), *y0 = unary(r, FLOOR, py);
        struct tensor *tx = binary(r, SUB, px, x0), *ty = binary(r, SUB, py, y0);
        for (int i = is_cubic ? -1 : 0; i <= (is_cubic ? 2 : 1); i++)
            for (int k = is_cubic ? -1 : 0; k <= (is_cubic ? 2 : 1); k++) {
                struct tensor *at = pixels(&s, with_number(r, ADD, y0, i), with_number(r, ADD, x0, k));
                struct tensor *weight =
                    binary(r, MUL, weight_of(r, ty, i, is_cubic), weight_of(r, tx, k, is_cubic));
                at = binary(r, MUL, at, weight ? unsqueeze(r, weight, 2) : NULL);
                sum = sum ? binary(r, ADD, sum, at) : at;
            }
    }
    const int64_t whole[] = {s.batch, s.channels, grid ? input(c, 1)->dims[1] : 0, input(c, 1)->dims[2]};
    set_output(c, 0, reshape(r, swap_axes(r, sum, 1, 2), 4, whole));
}
