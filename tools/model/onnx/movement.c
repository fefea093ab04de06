// SPDX-License-Identifier: Apache-2.0
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

#include <stdlib.h>
#include <string.h>

void record_identity(struct call *c)
{
    set_output(c, 0, input(c, 0));
}

void record_dropout(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *ratio = input(c, 1), *training = input(c, 2);
    bool drops = training && require_known(r, training, "training_mode") && known_number(training, 0) != 0;
    if (drops && ratio && is_known(r, ratio) && known_number(ratio, 0) == 0)
        drops = false;
    if (drops)
        fail(r, "elements are dropped at random, which is for training");
    set_output(c, 0, x);
    if (wants(c, 1)) // of the type of the input, before operator set 10
        set_output(c, 1, make_filled(r, c->version < 10 ? x->type : ONNX_BOOL, x->rank, x->dims, 1));
}

// What is left of the elements of x for the dimension that a shape leaves open. Sizes that are in both are
// not divided by, so that they need not be known.
static int64_t rest_of(struct recording *r, const struct tensor *x, size_t count, const int64_t *dims,
                       size_t open)
{
    int64_t left[MAX_RANK], known = 1;
    size_t left_count = x->rank;
    memcpy(left, x->dims, sizeof left);
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < left_count && left[k] != dims[i])
            k++;
        if (i == open)
            continue;
        if (k < left_count)
            left[k] = left[--left_count];
        else
            known = compute_size(r, MUL, known, dims[i]);
    }
    return known ? compute_size(r, DIV, size_product(r, left, left_count), known) : 0;
}

void record_reshape(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t count;
    int64_t *numbers, dims[MAX_RANK], rest = -1, total = 1;
    bool late = !knows_shape(x);
    if (!get_list(c, 1, "shape", &count, &numbers) || count > MAX_RANK) {
        fail(r, "a shape of %zu dimensions", count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        dims[i] = numbers[i] == 0 && !get_int(c, "allowzero", 0) && i < x->rank ? x->dims[i] : numbers[i];
        if (dims[i] < 0) {
            if (dims[i] < -1 || rest >= 0) {
                fail(r, "a shape with %s", rest >= 0 ? "more than one -1" : "a negative dimension");
                return;
            }
            rest = (int64_t)i;
        } else if (is_late(dims[i])) {
            late = true;
        } else if (__builtin_mul_overflow(total, dims[i], &total)) {
            fail(r, "a shape of too many elements");
            return;
        }
    }
    if (rest >= 0 && late)
        dims[rest] = rest_of(r, x, count, dims, (size_t)rest);
    else if (rest >= 0)
        dims[rest] = total ? count_elements(x) / total : 0;
    set_output(c, 0, reshape(r, x, count, dims));
}

void record_flatten(struct call *c)
{
    struct tensor *x = input(c, 0);
    int64_t axis = get_int(c, "axis", 1);
    axis += axis < 0 ? (int64_t)x->rank : 0;
    if (axis < 0 || axis > (int64_t)x->rank) {
        fail(c->r, "axis %lld of a tensor of rank %zu", (long long)axis, x->rank);
        return;
    }
    int64_t dims[2] = {size_product(c->r, x->dims, (size_t)axis),
                       size_product(c->r, x->dims + axis, x->rank - (size_t)axis)};
    set_output(c, 0, reshape(c->r, x, 2, dims));
}

void record_squeeze(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t count, rank = 0, axis;
    int64_t *axes, dims[MAX_RANK];
    bool gone[MAX_RANK] = {false}, given = get_list(c, 1, "axes", &count, &axes);
    if (r->failed)
        return;
    for (size_t i = 0; i < count; i++) {
        if (!find_axis(r, axes[i], x->rank, &axis))
            return;
        if (sizes_differ(x->dims[axis], 1)) {
            fail(r, "axis %zu has a size of %lld, not 1", axis, (long long)x->dims[axis]);
            return;
        }
        gone[axis] = true;
    }
    for (size_t i = 0; i < x->rank; i++) {
        if (!given && is_late(x->dims[i])) {
            fail(r, "whether the size of axis %zu is 1 is not known; give the axes", i);
            return;
        }
        if (given ? !gone[i] : x->dims[i] != 1)
            dims[rank++] = x->dims[i];
    }
    set_output(c, 0, reshape(r, x, rank, dims));
}

void record_unsqueeze(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t count, axis, at = 0;
    int64_t *axes, dims[MAX_RANK];
    bool added[MAX_RANK] = {false};
    if (!get_list(c, 1, "axes", &count, &axes) || x->rank + count > MAX_RANK) {
        fail(r, "%zu axes are added to a tensor of rank %zu", count, x->rank);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!find_axis(r, axes[i], x->rank + count, &axis))
            return;
        if (added[axis]) {
            fail(r, "axis %zu is added twice", axis);
            return;
        }
        added[axis] = true;
    }
    for (size_t i = 0; i < x->rank + count; i++)
        dims[i] = added[i] ? 1 : x->dims[at++];
    set_output(c, 0, reshape(r, x, x->rank + count, dims));
}

// A new axis of size 1 at a place that is an input.
void record_expand_dims(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *place = input(c, 1);
    size_t axis;
    if (require_known(r, place, "the axis") && count_elements(place) == 1 &&
        find_axis(r, known_integer(place, 0), x->rank + 1, &axis))
        set_output(c, 0, unsqueeze(r, x, axis));
}

struct tensor *window_places(struct recording *r, int64_t length, int64_t size, int64_t step)
{
    int64_t count = compute_size(r, ADD, compute_size(r, DIV, compute_size(r, SUB, length, size), step), 1);
    struct tensor *first = make_range(r, ONNX_INT64, 0, count, step);
    return binary(r, ADD, first ? unsqueeze(r, first, 1) : NULL, make_range(r, ONNX_INT64, 0, size, 1));
}

// Windows of an axis, which become a new last axis.
void record_unfold(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    int64_t size = get_int(c, "size", 0), step = get_int(c, "step", 1);
    size_t axis, order[MAX_RANK];
    if (!find_axis(r, get_int(c, "dim", -1), x->rank, &axis))
        return;
    if (size < 1 || step < 1 || size > x->dims[axis]) {
        fail(r, "windows of %lld of a size of %lld", (long long)size, (long long)x->dims[axis]);
        return;
    }
    x = gather(r, x, window_places(r, x->dims[axis], size, step), axis);
    for (size_t i = 0; x && i < x->rank; i++)
        order[i] = i + 1 == x->rank ? axis + 1 : i <= axis ? i : i + 1;
    set_output(c, 0, transpose(r, x, order));
}

void record_transpose(struct call *c)
{
    struct tensor *x = input(c, 0);
    size_t count, permutation[MAX_RANK];
    int64_t *axes = get_ints(c, "perm", &count);
    bool used[MAX_RANK] = {false};
    if (axes && count != x->rank) {
        fail(c->r, "a permutation of %zu axes of a tensor of rank %zu", count, x->rank);
        return;
    }
    for (size_t i = 0; i < x->rank; i++) {
        permutation[i] = axes ? (size_t)axes[i] : x->rank - 1 - i;
        if (permutation[i] >= x->rank || used[permutation[i]]) {
            fail(c->r, "its axes are no permutation");
            return;
        }
        used[permutation[i]] = true;
    }
    set_output(c, 0, transpose(c->r, x, permutation));
}

struct tensor *channels_last(struct recording *r, struct tensor *t)
{
    size_t order[MAX_RANK] = {0};
    if (!t || t->rank < 2)
        return t ? fail(r, "a tensor of rank %zu without channels", t->rank) : NULL;
    for (size_t i = 1; i < t->rank; i++)
        order[i] = i + 1 < t->rank ? i + 1 : 1;
    return transpose(r, t, order);
}

struct tensor *channels_second(struct recording *r, struct tensor *t)
{
    size_t order[MAX_RANK] = {0};
    if (!t || t->rank < 2)
        return t ? fail(r, "a tensor of rank %zu without channels", t->rank) : NULL;
    for (size_t i = 1; i < t->rank; i++)
        order[i] = i > 1 ? i - 1 : t->rank - 1;
    return transpose(r, t, order);
}

void record_concat(struct call *c)
{
    size_t axis;
    for (size_t i = 0; i < c->input_count; i++)
        if (!input(c, i)) {
            fail(c->r, "input %zu is missing", i);
            return;
        }
    if (find_axis(c->r, get_int(c, "axis", 1), input(c, 0)->rank, &axis))
        set_output(c, 0, concat(c->r, c->input_count, c->inputs, axis));
}

void record_split(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t axis, count, parts = c->output_count;
    int64_t *sizes, at = 0;
    if (!find_axis(r, get_int(c, "axis", 0), x->rank, &axis) || parts == 0)
        return;
    bool given = get_list(c, 1, "split", &count, &sizes);
    if (r->failed)
        return;
    if (given && count != parts) {
        fail(r, "%zu sizes for %zu outputs", count, parts);
        return;
    }
    int64_t size = compute_size(r, ADD, x->dims[axis], (int64_t)parts - 1);
    size = compute_size(r, DIV, size, (int64_t)parts);
    for (size_t i = 0; i < parts && !r->failed; i++) {
        int64_t left = compute_size(r, SUB, x->dims[axis], at);
        bool last = i + 1 == parts, late = is_late(left) || is_late(size);
        int64_t now = given ? sizes[i] : last || (!late && size > left) ? left : size;
        if (now < 0 || (!is_late(now) && !late && now > left)) {
            fail(r, "parts of %lld of a size of %lld", (long long)now, (long long)x->dims[axis]);
            return;
        }
        set_output(c, i, slice_axis(r, x, axis, at, now, 1));
        at = compute_size(r, ADD, at, now);
    }
}

static int64_t limit(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

// An end of a slice that may count from the end of an axis, or be beyond it. One that is late has to be
// within, which is checked when it is known.
static int64_t find_end(struct recording *r, int64_t end, int64_t size, bool backwards)
{
    if (is_late(end))
        return end;
    end = limit(end, -INT32_MAX, INT32_MAX);
    if (end < 0)
        return compute_size(r, SUB, size, backwards ? -end : compute_size(r, MIN, size, -end));
    return compute_size(r, MIN, backwards ? compute_size(r, SUB, size, 1) : size, end);
}

// How far it is from the start of a slice to its end, which backwards may be before the first element.
static int64_t find_span(struct recording *r, int64_t start, int64_t end, int64_t size, bool backwards)
{
    if (!backwards)
        return compute_size(r, SUB, find_end(r, end, size, false), start);
    if (end >= 0)
        return compute_size(r, SUB, start, find_end(r, end, size, true));
    int64_t all = compute_size(r, ADD, start, 1);
    if (end < -INT32_MAX)
        return all;
    return compute_size(r, MIN, compute_size(r, SUB, compute_size(r, ADD, start, -end), size), all);
}

void record_slice(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t count, end_count, axis_count, step_count;
    int64_t *starts, *ends, *axes, *steps, first[MAX_RANK] = {0}, sizes[MAX_RANK], step_of[MAX_RANK];
    for (size_t i = 0; i < x->rank; i++) {
        sizes[i] = x->dims[i];
        step_of[i] = 1;
    }
    if (!get_list(c, 1, "starts", &count, &starts) || !get_list(c, 2, "ends", &end_count, &ends) ||
        count != end_count) {
        fail(r, "starts and ends are not as many");
        return;
    }
    bool has_axes = get_list(c, 3, "axes", &axis_count, &axes),
         has_steps = get_list(c, 4, "steps", &step_count, &steps);
    if (r->failed)
        return;
    if ((has_axes && axis_count != count) || (has_steps && step_count != count)) {
        fail(r, "starts, axes and steps are not as many");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t axis;
        int64_t step = has_steps ? steps[i] : 1;
        if (!find_axis(r, has_axes ? axes[i] : (int64_t)i, x->rank, &axis))
            return;
        if (step == 0 || step == INT64_MIN) {
            fail(r, "a step of %lld", (long long)step);
            return;
        }
        int64_t size = x->dims[axis], width = step < 0 ? -step : step, start, span;
        if (is_late(size) || is_late(starts[i]) || is_late(ends[i])) {
            start = find_end(r, starts[i], size, step < 0);
            span = find_span(r, start, ends[i], size, step < 0);
        } else {
            int64_t end = ends[i] < 0 ? ends[i] + size : ends[i];
            start = limit(starts[i] < 0 ? starts[i] + size : starts[i], 0, step < 0 ? size - 1 : size);
            end = limit(end, step < 0 ? -1 : 0, size);
            span = step < 0 ? start - end : end - start;
        }
        first[axis] = start;
        sizes[axis] = span > 0 ? compute_size(r, DIV, compute_size(r, ADD, span, width - 1), width) : 0;
        step_of[axis] = sizes[axis] > 1 ? step : 1;
    }
    set_output(c, 0, slice(r, x, first, sizes, step_of));
}

void record_expand(struct call *c)
{
    struct recording *r = c->r;
    struct tensor shape = {0};
    size_t count, rank;
    int64_t *numbers, dims[MAX_RANK];
    if (!get_list(c, 1, "shape", &count, &numbers) || count > MAX_RANK) {
        fail(r, "a shape of %zu dimensions", count);
        return;
    }
    shape.rank = count;
    for (size_t i = 0; i < count; i++) // -1: as it is, as exporters write
        shape.dims[i] = numbers[i] < 0 ? 1 : numbers[i];
    if (broadcast(r, input(c, 0), &shape, &rank, dims))
        set_output(c, 0, expand(r, input(c, 0), rank, dims));
}

void record_tile(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t count;
    int64_t *numbers;
    if (!get_list(c, 1, "repeats", &count, &numbers) || count != x->rank) {
        fail(r, "%zu repetitions of a tensor of rank %zu", count, x->rank);
        return;
    }
    set_output(c, 0, tile(r, x, numbers));
}

// Axes of which some are of sizes that are not known, in a circle.
static struct tensor *wrap_late(struct recording *r, struct tensor *x, const int64_t *before,
                                const int64_t *after)
{
    for (size_t axis = 0; x && axis < x->rank; axis++) {
        if (before[axis] == 0 && after[axis] == 0)
            continue;
        if (before[axis] < 0 || after[axis] < 0)
            return fail(r, "padding that takes away of a size that is not known");
        int64_t size = x->dims[axis], more = compute_size(r, ADD, before[axis], after[axis]);
        struct tensor *place = make_range(r, ONNX_INT64, 0, compute_size(r, ADD, size, more), 1);
        // So many whole circles later that none is negative.
        struct tensor *skipped = with_size(r, MUL, forget(r, make_size(r, ONNX_INT64, size)), before[axis]);
        place = binary(r, ADD, place, with_size(r, SUB, skipped, before[axis]));
        struct tensor *circles = with_size(r, MUL, with_size(r, DIV, place, size), size);
        x = gather(r, x, binary(r, SUB, place, circles), axis);
    }
    return x;
}

// `times` of an axis in a circle, or at most its size minus one reflected: by indices, which know no bounds.
static struct tensor *pad_by_indices(struct recording *r, struct tensor *x, const int64_t *before,
                                     const int64_t *after, bool wrap)
{
    for (size_t i = 0; x && i < x->rank; i++)
        if ((before[i] || after[i]) && has_late((int64_t[]){x->dims[i], before[i], after[i]}, 3))
            return wrap ? wrap_late(r, x, before, after)
                        : pad(r, x, before, after, WNNPaddingMode_Reflection, 0);
    for (size_t axis = 0; x && axis < x->rank; axis++) {
        if (before[axis] == 0 && after[axis] == 0) // also where its size is not known
            continue;
        int64_t size = x->dims[axis], total = size + before[axis] + after[axis],
                period = wrap ? size : 2 * size - 2;
        if (total < 0 || size == 0)
            return fail(r, "padding of nothing");
        struct tensor *indices = make_known(r, ONNX_INT64, 1, &total);
        for (int64_t i = 0; indices && i < total; i++) {
            int64_t at = period ? (i - before[axis]) % period : 0;
            at += at < 0 ? period : 0;
            indices->ints[i] = at < size ? at : period - at;
        }
        x = gather(r, x, indices, axis);
    }
    return x;
}

void record_pad(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *value = input(c, 2);
    size_t count, axis_count;
    int64_t *numbers, *axes, before[MAX_RANK] = {0}, after[MAX_RANK] = {0};
    if (!get_list(c, 1, "pads", &count, &numbers) && !get_list(c, 1, "paddings", &count, &numbers)) {
        fail(r, "there are no pads");
        return;
    }
    bool has_axes = input(c, 3) && get_list(c, 3, "axes", &axis_count, &axes);
    size_t padded = has_axes ? axis_count : x->rank;
    if (r->failed || count != 2 * padded) {
        fail(r, "%zu pads of a tensor of rank %zu", count, x->rank);
        return;
    }
    for (size_t i = 0; i < padded; i++) {
        size_t axis;
        if (!find_axis(r, has_axes ? axes[i] : (int64_t)i, x->rank, &axis))
            return;
        before[axis] = numbers[i];
        after[axis] = numbers[padded + i];
        if ((!is_late(before[axis]) && llabs(before[axis]) > INT32_MAX) ||
            (!is_late(after[axis]) && llabs(after[axis]) > INT32_MAX)) {
            fail(r, "padding of %lld and %lld", (long long)before[axis], (long long)after[axis]);
            return;
        }
    }
    double filling = get_float(c, "value", 0);
    if (value) {
        if (!require_known(r, value, "the value to pad with") || count_elements(value) != 1)
            return;
        filling = known_number(value, 0);
    }
    if (has_text(c, "mode", "reflect", "constant") || has_text(c, "mode", "wrap", "constant"))
        set_output(c, 0, pad_by_indices(r, x, before, after, has_text(c, "mode", "wrap", "constant")));
    else
        set_output(
            c, 0,
            pad(r, x, before, after,
                has_text(c, "mode", "edge", "constant") ? WNNPaddingMode_Edge : WNNPaddingMode_Constant,
                filling));
}

// One axis of CenterCropPad where a size is not known: the elements are taken by indices, and those of places
// that there are none for are zeros.
static struct tensor *crop_or_pad(struct recording *r, struct tensor *x, size_t axis, int64_t size)
{
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    dims[axis] = size;
    struct tensor *own = forget(r, make_size(r, ONNX_INT64, x->dims[axis])), *more;
    more = with_number(r, DIV, binary(r, SUB, make_size(r, ONNX_INT64, size), own), 2);
    struct tensor *place = binary(r, SUB, make_range(r, ONNX_INT64, 0, size, 1), more);
    struct tensor *inside =
        binary(r, AND, with_number(r, GREATER_OR_EQUAL, place, 0), binary(r, LESSER, place, own));
    place = clamp_to_size(r, place, x->dims[axis]);
    return choose(r, reshape(r, inside, x->rank, dims), gather(r, x, place, axis),
                  make_number(r, x->type, 0));
}

// Takes away or adds zeros at both ends, at the second one more where the number is odd.
void record_center_crop_pad(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t count, axis_count;
    int64_t *sizes, *axes = get_ints(c, "axes", &axis_count), before[MAX_RANK] = {0}, after[MAX_RANK] = {0};
    if (!get_list(c, 1, "shape", &count, &sizes) || count != (axes ? axis_count : x->rank)) {
        fail(r, "%zu sizes for a tensor of rank %zu", count, x->rank);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t axis;
        if (!find_axis(r, axes ? axes[i] : (int64_t)i, x->rank, &axis))
            return;
        if (sizes[i] < 0 || (sizes[i] > INT32_MAX && !is_late(sizes[i]))) {
            fail(r, "a size of %lld", (long long)sizes[i]);
            return;
        }
        if (is_late(sizes[i]) || is_late(x->dims[axis])) {
            x = crop_or_pad(r, x, axis, sizes[i]);
        } else {
            before[axis] = (sizes[i] - x->dims[axis]) / 2;
            after[axis] = sizes[i] - x->dims[axis] - before[axis];
        }
        if (!x)
            return;
    }
    set_output(c, 0, pad(r, x, before, after, WNNPaddingMode_Constant, 0));
}

// Rows of an axis that are replaced, from an index on for each of the batch, which may begin again at its
// end.
void record_tensor_scatter(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *past = input(c, 0), *update = input(c, 1), *first = input(c, 2);
    bool circular = has_text(c, "mode", "circular", "linear");
    size_t axis;
    if (!find_axis(r, get_int(c, "axis", -2), past->rank, &axis))
        return;
    if (axis == 0 || update->rank != past->rank || update->dims[axis] < 1 ||
        (!is_late(past->dims[axis]) && !is_late(update->dims[axis]) &&
         update->dims[axis] > past->dims[axis]) ||
        (first && (first->rank != 1 || sizes_differ(first->dims[0], past->dims[0])))) {
        fail(r, "an update that does not fit, or one of axis 0");
        return;
    }
    int64_t size = past->dims[axis], rows = update->dims[axis], along[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1},
            batch[MAX_RANK] = {past->dims[0], 1, 1, 1, 1, 1, 1, 1};
    along[axis] = size;
    struct tensor *place = reshape(r, make_range(r, ONNX_INT64, 0, size, 1), past->rank, along);
    if (first)
        place = binary(r, SUB, place, reshape(r, cast(r, first, ONNX_INT64), past->rank, batch));
    if (circular) // 0 to size - 1 again
        place = choose(r, with_number(r, LESSER, place, 0), with_size(r, ADD, place, size), place);
    struct tensor *is_new =
        binary(r, AND, with_number(r, GREATER_OR_EQUAL, place, 0), with_size(r, LESSER, place, rows));
    place = expand(r, clamp_to_size(r, place, rows), past->rank, past->dims);
    set_output(c, 0, choose(r, is_new, gather_elements(r, update, place, axis), past));
}

void record_depth_to_space(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    int64_t b = get_int(c, "blocksize", 0);
    if (x->rank != 4 || b < 1 || b > 65536 || is_late(x->dims[1]) || x->dims[1] % (b * b)) {
        fail(r, "blocks of %lld of %lld channels, rank %zu", (long long)b,
             (long long)(x->rank > 1 ? x->dims[1] : 0), x->rank);
        return;
    }
    int64_t n = x->dims[0], depth = x->dims[1] / (b * b), h = x->dims[2], w = x->dims[3];
    bool columns = has_text(c, "mode", "CRD", "DCR");
    const int64_t cut[2][6] = {{n, b, b, depth, h, w}, {n, depth, b, b, h, w}},
                  whole[] = {n, depth, compute_size(r, MUL, h, b), compute_size(r, MUL, w, b)};
    static const size_t orders[2][6] = {{0, 3, 4, 1, 5, 2}, {0, 1, 4, 2, 5, 3}};
    set_output(c, 0, reshape(r, transpose(r, reshape(r, x, 6, cut[columns]), orders[columns]), 4, whole));
}

void record_space_to_depth(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    int64_t b = get_int(c, "blocksize", 0);
    bool fits = x->rank == 4 && b >= 1 && b <= 65536;
    for (size_t i = 2; fits && i < 4; i++) // of a late size the builder finds out
        fits = is_late(x->dims[i]) || x->dims[i] % b == 0;
    if (!fits) {
        fail(r, "blocks of %lld of a tensor of rank %zu", (long long)b, x->rank);
        return;
    }
    int64_t n = x->dims[0], d = x->dims[1], h = compute_size(r, DIV, x->dims[2], b),
            w = compute_size(r, DIV, x->dims[3], b);
    const int64_t cut[] = {n, d, h, b, w, b}, whole[] = {n, compute_size(r, MUL, d, b * b), h, w};
    static const size_t order[] = {0, 3, 5, 1, 2, 4};
    set_output(c, 0, reshape(r, transpose(r, reshape(r, x, 6, cut), order), 4, whole));
}

void record_trilu(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *k = input(c, 1);
    int64_t diagonal = 0;
    if (x->rank < 2) {
        fail(r, "a tensor of rank %zu has no triangle", x->rank);
        return;
    }
    if (k) {
        if (!require_known(r, k, "k") || count_elements(k) != 1)
            return;
        diagonal = limit(known_integer(k, 0), -1000000000, 1000000000);
    }
    if (count_elements(x) == 0) {
        set_output(c, 0, x);
        return;
    }
    if (is_known(r, x) && !has_late_elements(x)) {
        struct tensor *result = make_known(r, x->type, x->rank, x->dims);
        int64_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
        bool upper = get_int(c, "upper", 1) != 0;
        for (int64_t i = 0; result && i < count_elements(x); i++) {
            int64_t distance = i % columns - i / columns % rows;
            if (upper ? distance >= diagonal : distance <= diagonal)
                set_known(result, i, known_number(x, i));
        }
        set_output(c, 0, result);
        return;
    }
    WNNTriangularOptions options = WNN_TRIANGULAR_OPTIONS_INIT;
    options.label = label_of(r);
    options.upper = get_int(c, "upper", 1) != 0;
    options.diagonal = (int32_t)diagonal;
    WNNOperand operand = operand_of(r, x);
    if (operand)
        set_output(c, 0, make_operand(r, x->type, wnnGraphBuilderTriangular(r->builder, operand, &options)));
}

void record_reverse_sequence(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t batch, time;
    if (find_axis(r, get_int(c, "batch_axis", 1), x->rank, &batch) &&
        find_axis(r, get_int(c, "time_axis", 0), x->rank, &time))
        set_output(c, 0, reverse_sequence(r, x, input(c, 1), batch, time));
}
