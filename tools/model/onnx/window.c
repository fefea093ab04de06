// SPDX-License-Identifier: Apache-2.0
#include "tools/model/onnx/window.h"

#include "tools/model/late.h"

int64_t within(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

int find_text(const struct call *c, const char *name, size_t count, const char *const *texts)
{
    for (size_t i = 0; i < count; i++)
        if (has_text(c, name, texts[i], texts[0]))
            return (int)i;
    fail(c->r, "%s has a value that ONNX does not know", name);
    return 0;
}

enum automatic find_automatic(const struct call *c)
{
    static const char *const texts[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    return (enum automatic)find_text(c, "auto_pad", 4, texts);
}

bool read_numbers(const struct call *c, const char *name, size_t count, int64_t least, int64_t otherwise,
                  int64_t *values)
{
    size_t given = 0;
    const int64_t *numbers = get_ints(c, name, &given);
    if (c->r->failed)
        return false;
    if (given && (!numbers || given != count))
        return fail(c->r, "%s has %zu numbers, not %zu", name, given, count);
    for (size_t i = 0; i < count; i++) {
        values[i] = given ? numbers[i] : otherwise;
        if (given && (values[i] < least || values[i] > LARGEST))
            return fail(c->r, "%s has a number of %lld", name, (long long)values[i]);
    }
    return true;
}

bool check_sizes(struct recording *r, const struct tensor *t, const char *what, size_t least, size_t most)
{
    if (!t || r->failed)
        return r->failed ? false : fail(r, "%s is missing", what) != NULL;
    if (t->rank < least || t->rank > most)
        return fail(r, "%s has a rank of %zu, not %zu to %zu", what, t->rank, least, most);
    for (size_t i = 0; i < t->rank; i++)
        if (!is_late(t->dims[i]) && (t->dims[i] < 1 || t->dims[i] > LARGEST))
            return fail(r, "%s has a dimension of size %lld", what, (long long)t->dims[i]);
    return true;
}

bool check_known_sizes(struct recording *r, const struct tensor *t, const char *what, size_t least,
                       size_t most)
{
    return check_sizes(r, t, what, least, most) &&
           (knows_shape(t) || fail(r, "%s has a size that is not known", what));
}

int64_t extent(const struct window *w, size_t i)
{
    return (w->kernel[i] - 1) * w->dilations[i] + 1;
}

bool read_window(const struct call *c, const struct tensor *x, const int64_t *kernel, struct window *w)
{
    *w = (struct window){.count = x->rank - 2};
    if (!read_numbers(c, "kernel_shape", w->count, 1, 0, w->kernel) ||
        !read_numbers(c, "strides", w->count, 1, 1, w->strides) ||
        !read_numbers(c, "dilations", w->count, 1, 1, w->dilations))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        if (kernel && w->kernel[i] && w->kernel[i] != kernel[i])
            return fail(c->r, "kernel_shape is %lld where the weights have %lld", (long long)w->kernel[i],
                        (long long)kernel[i]);
        w->kernel[i] = kernel ? kernel[i] : w->kernel[i];
        if (w->kernel[i] == 0)
            return fail(c->r, "kernel_shape is missing");
        if (extent(w, i) > LARGEST)
            return fail(c->r, "a window of %lld elements", (long long)extent(w, i));
    }
    return true;
}

// The same for a size that is not known: what is missing at the end of the last window that begins in it.
static void pad_late(struct recording *r, struct window *w, size_t i, int64_t size, bool more_before)
{
    struct tensor *n = forget(r, make_size(r, ONNX_INT64, size));
    struct tensor *last = with_number(r, DIV, with_number(r, SUB, n, 1), (double)w->strides[i]);
    struct tensor *end =
        with_number(r, ADD, with_number(r, MUL, last, (double)w->strides[i]), (double)extent(w, i));
    struct tensor *total = with_number(r, MAX, binary(r, SUB, end, n), 0);
    struct tensor *less = with_number(r, DIV, total, 2), *more = binary(r, SUB, total, less);
    w->before[i] = settle(r, more_before ? more : less);
    w->after[i] = settle(r, more_before ? less : more);
}

// As much padding as makes the output ceil(input / stride) large.
static void pad_same(struct recording *r, struct window *w, size_t i, int64_t size, bool more_before)
{
    if (is_late(size) && w->strides[i] != 1) {
        pad_late(r, w, i, size, more_before);
        return;
    }
    size = is_late(size) ? 1 : size; // which makes no difference to strides of 1
    int64_t steps = (size - 1) / w->strides[i], total = steps * w->strides[i] + extent(w, i) - size;
    total = total < 0 ? 0 : total;
    w->before[i] = more_before ? total - total / 2 : total / 2;
    w->after[i] = total - w->before[i];
}

bool read_pads(const struct call *c, const struct tensor *x, struct window *w)
{
    enum automatic automatic = find_automatic(c);
    int64_t pads[6] = {0};
    if (automatic == NOTSET && !read_numbers(c, "pads", 2 * w->count, 0, 0, pads))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        w->before[i] = pads[i];
        w->after[i] = pads[w->count + i];
        if (automatic == SAME_UPPER || automatic == SAME_LOWER)
            pad_same(c->r, w, i, x->dims[2 + i], automatic == SAME_LOWER);
        if (!is_late(x->dims[2 + i]) && x->dims[2 + i] + w->before[i] + w->after[i] < extent(w, i))
            return fail(c->r, "a window of %lld elements on a size of %lld with padding",
                        (long long)extent(w, i), (long long)(x->dims[2 + i] + w->before[i] + w->after[i]));
    }
    return !c->r->failed;
}

int64_t count_windows(struct recording *r, const struct tensor *x, const struct window *w, size_t i)
{
    int64_t padded = compute_size(r, ADD, compute_size(r, ADD, x->dims[2 + i], w->before[i]), w->after[i]);
    int64_t span = compute_size(r, SUB, padded, extent(w, i));
    return compute_size(r, ADD, compute_size(r, DIV, span, w->strides[i]), 1);
}

struct tensor *take_padding(struct recording *r, struct tensor *x, struct window *w, bool all, double value)
{
    int64_t before[MAX_RANK] = {0}, after[MAX_RANK] = {0};
    for (size_t i = 0; i < w->count; i++)
        if (all || is_late(w->before[i]) || is_late(w->after[i])) {
            before[2 + i] = w->before[i];
            after[2 + i] = w->after[i];
            w->before[i] = w->after[i] = 0;
        }
    return pad(r, x, before, after, WNNPaddingMode_Constant, value);
}

struct window last_two(const struct window *w)
{
    struct window plane = {2, {1, 1}, {1, 1}, {1, 1}, {0}, {0}, w->rounds_up};
    for (size_t i = w->count > 2 ? w->count - 2 : 0; i < w->count; i++) {
        size_t to = i + 2 - w->count;
        plane.kernel[to] = w->kernel[i];
        plane.strides[to] = w->strides[i];
        plane.dilations[to] = w->dilations[i];
        plane.before[to] = w->before[i];
        plane.after[to] = w->after[i];
    }
    return plane;
}

struct plane_lists lists_of(const struct window *w)
{
    struct plane_lists lists;
    for (size_t i = 0; i < 2; i++) {
        lists.kernel[i] = (uint32_t)w->kernel[i];
        lists.strides[i] = (uint32_t)w->strides[i];
        lists.dilations[i] = (uint32_t)w->dilations[i];
        lists.padding[2 * i] = (uint32_t)w->before[i];
        lists.padding[2 * i + 1] = (uint32_t)w->after[i];
    }
    return lists;
}
