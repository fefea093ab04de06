// SPDX-License-Identifier: Apache-2.0
//
// Pools of ONNX, of one to three spatial axes.
#include "tools/model/late.h"
#include "tools/model/onnx/window.h"

#include <math.h>
#include <string.h>

enum pool {
    POOL_MAX,
    POOL_AVERAGE,
    POOL_LP
};

typedef WNNOperand (*entry_pool)(WNNGraphBuilder builder, WNNOperand input, const WNNPool2dOptions *options);

static const entry_pool pools[] = {
    [POOL_MAX] = wnnGraphBuilderMaxPool2d,
    [POOL_AVERAGE] = wnnGraphBuilderAveragePool2d,
    [POOL_LP] = wnnGraphBuilderL2Pool2d,
};

static struct tensor *pool_2d(struct recording *r, enum pool op, struct tensor *x, const struct window *w)
{
    struct plane_lists lists = lists_of(w);
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    if (w->rounds_up)
        options.roundingType = WNNRoundingType_Ceil;
    options.label = label_of(r);
    options.windowDimensions = (WNNUint32List){lists.kernel, 2};
    options.padding = (WNNUint32List){lists.padding, 4};
    options.strides = (WNNUint32List){lists.strides, 2};
    options.dilations = (WNNUint32List){lists.dilations, 2};
    WNNOperand operand = operand_of(r, x);
    return operand ? make_operand(r, x->type, pools[op](r->builder, operand, &options)) : NULL;
}

// All of them can be taken over height and width first, then over the depth, because windows are boxes and
// what is padding in one is so along a whole axis.
static struct tensor *pool_3d(struct recording *r, enum pool op, struct tensor *x, const struct window *w)
{
    struct window plane = last_two(w), depth = {2,
                                                {w->kernel[0], 1},
                                                {w->strides[0], 1},
                                                {w->dilations[0], 1},
                                                {w->before[0], 0},
                                                {w->after[0], 0},
                                                w->rounds_up};
    int64_t n = x->dims[0], channels = x->dims[1];
    int64_t folded[4] = {n, compute_size(r, MUL, channels, x->dims[2]), x->dims[3], x->dims[4]};
    struct tensor *y = pool_2d(r, op, reshape(r, x, 4, folded), &plane);
    if (!y)
        return NULL;
    int64_t height = y->dims[2], width = y->dims[3];
    const int64_t lines[] = {n, channels, x->dims[2], compute_size(r, MUL, height, width)};
    y = pool_2d(r, op, reshape(r, y, 4, lines), &depth);
    return y ? reshape(r, y, 5, (int64_t[]){n, channels, y->dims[2], height, width}) : NULL;
}

static struct tensor *pool(struct recording *r, enum pool op, struct tensor *x, const struct window *w)
{
    struct window plane = last_two(w);
    if (!x || r->failed)
        return NULL;
    if (x->rank == 5)
        return pool_3d(r, op, x, w);
    if (x->rank == 4)
        return pool_2d(r, op, x, &plane);
    return squeeze(r, pool_2d(r, op, unsqueeze(r, x, 2), &plane), 2);
}

// What the last window reaches after the input: the windows are as many as begin before the padding at the
// end, and reach into what is left of the padding, rounded up.
static int64_t late_end(struct recording *r, const struct tensor *x, const struct window *w, size_t i)
{
    double stride = (double)w->strides[i];
    struct tensor *begins =
        with_size(r, ADD, forget(r, make_size(r, ONNX_INT64, x->dims[2 + i])), w->before[i]);
    struct tensor *span = with_number(r, ADD, begins, (double)(w->after[i] - extent(w, i)));
    struct tensor *last = with_number(r, DIV, with_number(r, ADD, span, stride - 1), stride);
    struct tensor *most = with_number(r, DIV, with_number(r, SUB, begins, 1), stride);
    last = with_number(r, ADD, with_number(r, MUL, binary(r, MIN, last, most), stride), (double)extent(w, i));
    return settle(r, with_number(r, MAX, binary(r, SUB, last, begins), 0));
}

// Makes the padding at the end what the last window reaches, so that rounding down gives the number of
// windows that ONNX wants. Padding counts for nothing in WebNN, so nothing else changes.
//
// Of a size that is not known, WebNN counts the windows, which are the same if none can begin in the padding
// at the end; otherwise, and where padding counts, that is computed. `exactly`: always.
static void fit_windows(struct recording *r, const struct tensor *x, struct window *w, bool ceiling,
                        bool exactly)
{
    bool late = !knows_shape(x);
    for (size_t i = 0; i < w->count; i++)
        exactly |= w->strides[i] + w->after[i] > extent(w, i);
    w->rounds_up = late && ceiling && !exactly;
    for (size_t i = 0; i < w->count; i++) {
        if (late && ceiling && exactly && w->strides[i] > 1)
            w->after[i] = late_end(r, x, w, i);
        if (late)
            continue;
        int64_t size = x->dims[2 + i], stride = w->strides[i], windows = count_windows(r, x, w, i);
        int64_t span = size + w->before[i] + w->after[i] - extent(w, i);
        if (ceiling && span % stride && windows * stride < size + w->before[i])
            windows++;
        int64_t after = (windows - 1) * stride + extent(w, i) - size - w->before[i];
        w->after[i] = after < 0 ? 0 : after;
    }
}

// Turns padding into zeros of the input, at the end at most `most`; the rest stays padding.
static struct tensor *pad_window(struct recording *r, struct tensor *x, struct window *w, const int64_t *most)
{
    int64_t before[MAX_RANK] = {0}, after[MAX_RANK] = {0};
    for (size_t i = 0; i < w->count; i++) {
        before[2 + i] = w->before[i];
        after[2 + i] = most ? within(w->after[i], 0, most[i]) : w->after[i];
        w->before[i] = 0;
        w->after[i] -= after[2 + i];
    }
    return pad(r, x, before, after, WNNPaddingMode_Constant, 0);
}

// The root of the sum of powers. Sums are averages of windows without padding, times their size.
static struct tensor *pool_lp(struct call *c, struct tensor *x, struct window *w)
{
    struct recording *r = c->r;
    int64_t p = get_int(c, "p", 2);
    if (p < 1 || p > LARGEST)
        return fail(r, "p is %lld", (long long)p);
    if (p == 2)
        return pool(r, POOL_LP, x, w);
    x = unary(r, ABS, x);
    if (p != 1)
        x = with_number(r, POW, x, (double)p);
    x = pad_window(r, x, w, NULL);
    x = with_number(r, MUL, pool(r, POOL_AVERAGE, x, w), (double)product(w->kernel, w->count));
    return p == 1 ? x : with_number(r, POW, x, 1 / (double)p);
}

// Where element k of each window lies in the input: indices in one channel, [1, 1, windows...].
static struct tensor *window_positions(struct recording *r, const struct tensor *x, const struct window *w,
                                       const int64_t *k, const int64_t *windows, bool columns)
{
    struct tensor *position = NULL;
    for (size_t j = 0; j < w->count; j++) {
        size_t i = columns ? w->count - 1 - j : j;
        int64_t dims[5] = {1, 1, 1, 1, 1}, size = x->dims[2 + i];
        dims[2 + i] = windows[i];
        struct tensor *at = make_range(r, ONNX_INT64, k[i] * w->dilations[i], windows[i], w->strides[i]);
        at = with_size(r, SUB, is_late(w->before[i]) ? forget(r, at) : at, w->before[i]);
        at = reshape(r, clamp_to_size(r, at, size), 2 + w->count, dims);
        position = position ? binary(r, ADD, with_size(r, MUL, position, size), at) : at;
    }
    return position;
}

// Indices in the whole tensor of [n, c, ...] indices in one channel.
static struct tensor *add_channels(struct recording *r, const struct tensor *x, struct tensor *positions)
{
    int64_t dims[MAX_RANK] = {x->dims[0], x->dims[1], 1, 1, 1},
            size = size_product(r, x->dims + 2, x->rank - 2);
    struct tensor *channels =
        make_range(r, ONNX_INT64, 0, compute_size(r, MUL, x->dims[0], x->dims[1]), size);
    return binary(r, ADD, positions, reshape(r, channels, x->rank, dims));
}

// Of the elements at the same place of every window, one place after another, the largest is kept and where
// it is.
static struct tensor *max_indices(struct call *c, struct tensor *x, const struct window *w)
{
    struct recording *r = c->r;
    bool columns = get_int(c, "storage_order", 0) != 0;
    int64_t count = product(w->kernel, w->count), before[5] = {0}, after[5] = {0}, windows[3], k[3] = {0};
    if (count > MAX_PARTS)
        return fail(r, "indices for a window of %lld elements; more than %d are not supported",
                    (long long)count, MAX_PARTS);
    if (!is_real(x->type) && x->type != ONNX_INT8 && x->type != ONNX_UINT8)
        return fail(r, "indices for a pool of %s", type_name(x->type));
    for (size_t i = 0; i < w->count; i++) {
        windows[i] = count_windows(r, x, w, i);
        before[2 + i] = w->before[i];
        after[2 + i] = w->after[i];
    }
    double lowest = is_real(x->type) ? -INFINITY : x->type == ONNX_INT8 ? -128 : 0;
    struct tensor *padded = pad(r, x, before, after, WNNPaddingMode_Constant, lowest), *best = NULL,
                  *where = NULL;
    for (int64_t e = 0; e < count && !r->failed; e++) {
        int64_t starts[5] = {0}, sizes[5] = {x->dims[0], x->dims[1]}, steps[5] = {1, 1}, rest = e;
        for (size_t i = w->count; i-- > 0; rest /= w->kernel[i]) {
            k[i] = rest % w->kernel[i];
            starts[2 + i] = k[i] * w->dilations[i];
            sizes[2 + i] = windows[i];
            steps[2 + i] = w->strides[i];
        }
        struct tensor *value = slice(r, padded, starts, sizes, steps);
        struct tensor *position = window_positions(r, x, w, k, windows, columns);
        if (e > 0) {
            struct tensor *more = binary(r, GREATER, value, best);
            value = choose(r, more, value, best);
            position = choose(r, more, position, where);
        }
        best = value;
        where = position;
    }
    return add_channels(r, x, where);
}

// With padding of which some is late, and all becomes elements. Those of averages are divided by the share of
// a window that counts: the input, and of the padding as much as is given at the end.
static struct tensor *pool_late(struct call *c, enum pool op, struct tensor *x, const struct window *w,
                                const int64_t *counted)
{
    struct recording *r = c->r;
    struct window plain = *w, shares = *w;
    double lowest = is_real(x->type) ? -INFINITY : x->type == ONNX_INT8 ? -128 : 0;
    struct tensor *all = take_padding(r, x, &plain, true, op == POOL_MAX ? lowest : 0);
    if (op != POOL_AVERAGE)
        return op == POOL_LP ? pool_lp(c, all, &plain) : pool(r, op, all, &plain);
    struct tensor *ones = make_filled(r, x->type, x->rank, x->dims, 1);
    if (counted) {
        int64_t before[MAX_RANK] = {0}, after[MAX_RANK] = {0};
        for (size_t i = 0; i < w->count; i++) {
            before[2 + i] = w->before[i];
            after[2 + i] = counted[i];
            struct tensor *beyond = forget(r, make_size(r, ONNX_INT64, w->after[i]));
            beyond = with_number(r, MAX, with_size(r, SUB, beyond, counted[i]), 0);
            shares.before[i] = 0;
            shares.after[i] = w->after[i] == counted[i] ? 0 : settle(r, beyond);
        }
        ones = pad(r, ones, before, after, WNNPaddingMode_Constant, 1);
    }
    ones = take_padding(r, ones, &shares, true, 0);
    return binary(r, DIV, pool(r, op, all, &plain), pool(r, op, ones, &plain));
}

// The pool of a node's attributes; `indices` gets where the largest of windows are, unless it is NULL.
static struct tensor *pool_windows(struct call *c, enum pool op, struct tensor *x, struct tensor **indices)
{
    struct window w;
    if (!check_sizes(c->r, x, "the input", 3, 5) || !read_window(c, x, NULL, &w) || !read_pads(c, x, &w))
        return NULL;
    bool counts = op == POOL_AVERAGE && get_int(c, "count_include_pad", 0);
    int64_t after[3] = {w.after[0], w.after[1], w.after[2]};
    fit_windows(c->r, x, &w, get_int(c, "ceil_mode", 0) != 0 && find_automatic(c) == NOTSET,
                op == POOL_LP || counts || indices);
    if (indices)
        *indices = max_indices(c, x, &w);
    // What rounding up adds to the padding never counts.
    if (has_late(w.before, w.count) || has_late(w.after, w.count))
        return pool_late(c, op, x, &w, counts ? after : NULL);
    if (counts)
        x = pad_window(c->r, x, &w, after);
    return op == POOL_LP ? pool_lp(c, x, &w) : pool(c->r, op, x, &w);
}

struct tensor *average_windows(struct call *c, struct tensor *x)
{
    return pool_windows(c, POOL_AVERAGE, x, NULL);
}

void record_pool(struct call *c)
{
    struct tensor *indices = NULL;
    bool shown = c->parameter == POOL_MAX && wants(c, 1);
    set_output(c, 0, pool_windows(c, (enum pool)c->parameter, input(c, 0), shown ? &indices : NULL));
    set_output(c, 1, indices);
}

void record_nhwc_max_pool(struct call *c)
{
    struct tensor *x = channels_second(c->r, input(c, 0));
    set_output(c, 0, channels_last(c->r, pool_windows(c, POOL_MAX, x, NULL)));
}

// Where the largest of windows were; indices count the elements of what was pooled, to whose shape zeros may
// be added.
void record_max_unpool(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *indices = input(c, 1);
    struct window w;
    int64_t pads[6], dims[5], more[5] = {0}, none[5] = {0};
    if (!check_sizes(r, x, "the input", 3, 5) || !read_window(c, x, NULL, &w) ||
        !read_numbers(c, "pads", 2 * w.count, 0, 0, pads))
        return;
    bool fits = indices->rank == x->rank;
    for (size_t i = 0; fits && i < x->rank; i++)
        fits = !sizes_differ(indices->dims[i], x->dims[i]);
    if (!fits) {
        fail(r, "indices of another shape than the input");
        return;
    }
    memcpy(dims, x->dims, 2 * sizeof *dims);
    for (size_t i = 0; i < w.count; i++) {
        int64_t size = compute_size(r, MUL, compute_size(r, SUB, x->dims[2 + i], 1), w.strides[i]);
        size = compute_size(r, ADD, size, w.kernel[i]);
        dims[2 + i] = compute_size(r, SUB, size, pads[i] + pads[w.count + i]);
        if (dims[2 + i] < 1 || (dims[2 + i] > LARGEST && !is_late(dims[2 + i]))) {
            fail(r, "an output of size %lld", (long long)dims[2 + i]);
            return;
        }
    }
    int64_t count = size_product(r, x->dims, x->rank), total = size_product(r, dims, x->rank);
    struct tensor *zeros = expand(r, make_number(r, x->type, 0), 1, &total);
    WNNScatterElementsOptions options = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
    options.label = label_of(r);
    WNNOperand a = operand_of(r, zeros), b = operand_of(r, reshape(r, indices, 1, &count)),
               u = operand_of(r, reshape(r, x, 1, &count));
    if (!a || !b || !u)
        return;
    x = make_operand(r, x->type, wnnGraphBuilderScatterElements(r->builder, a, b, u, &options));
    x = reshape(r, x, 2 + w.count, dims);
    size_t given;
    int64_t *shape;
    if (input(c, 2) && get_list(c, 2, "output_shape", &given, &shape)) {
        for (size_t i = 0; i < 2 + w.count && given == 2 + w.count; i++)
            more[i] =
                compute_size(r, SUB, is_late(shape[i]) ? shape[i] : within(shape[i], 0, LARGEST), dims[i]);
        x = pad(r, x, none, more, WNNPaddingMode_Constant, 0);
    }
    set_output(c, 0, x);
}

static struct tensor *average_all(struct recording *r, struct tensor *x)
{
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    options.label = label_of(r);
    WNNOperand operand = operand_of(r, x);
    return operand ? make_operand(r, x->type, wnnGraphBuilderAveragePool2d(r->builder, operand, &options))
                   : NULL;
}

void record_global_pool(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    if (!check_sizes(r, x, "the input", 3, MAX_RANK))
        return;
    size_t axes[MAX_RANK], count = x->rank - 2;
    for (size_t i = 0; i < count; i++)
        axes[i] = 2 + i;
    enum reduction op = (enum reduction)c->parameter;
    int64_t p = op == L2 ? get_int(c, "p", 2) : 2;
    if (p < 1 || p > LARGEST) {
        fail(r, "p is %lld", (long long)p);
        return;
    }
    if (x->rank == 4 && op == MEAN && !is_known(r, x)) // an image: a pool is what kernels and layouts are for
        x = average_all(r, x);
    else if (p == 2)
        x = reduce(r, op, x, count, axes, true);
    else if (p == 1)
        x = reduce(r, L1, x, count, axes, true);
    else
        x = with_number(r, POW,
                        reduce(r, SUM, with_number(r, POW, unary(r, ABS, x), (double)p), count, axes, true),
                        1 / (double)p);
    set_output(c, 0, x);
}
