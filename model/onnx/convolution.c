// SPDX-License-Identifier: Apache-2.0
//
// Convolutions, pools and resizing of ONNX. WebNN has them for two spatial axes: with one, a height of 1 is
// put before it; with three, the depth is taken apart.
#include "model/onnx/call.h"

#include <math.h>
#include <string.h>

#define LARGEST     INT32_MAX // of sizes and attributes, so that sums and products of two stay within int64
#define MAX_PARTS   1024      // operators that one node may become because of the size of its window
#define MAX_RESIZED (1 << 26) // positions that are computed for an axis

static int64_t least_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t within(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

// ---------------------------------------------------------------------------------------------------------------
// Attributes of windows
// ---------------------------------------------------------------------------------------------------------------

enum automatic {
    NOTSET,
    VALID,
    SAME_UPPER,
    SAME_LOWER
};

struct window {
    size_t count; // of spatial axes
    int64_t kernel[3], strides[3], dilations[3], before[3], after[3];
};

// Which of the texts an attribute is; the first one if it is left out.
static int find_text(const struct call *c, const char *name, size_t count, const char *const *texts)
{
    for (size_t i = 0; i < count; i++)
        if (has_text(c, name, texts[i], texts[0]))
            return (int)i;
    fail(c->r, "%s has a value that ONNX does not know", name);
    return 0;
}

static enum automatic find_automatic(const struct call *c)
{
    static const char *const texts[] = {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    return (enum automatic)find_text(c, "auto_pad", 4, texts);
}

// A list with a number for each axis, or all `otherwise`.
static bool read_numbers(const struct call *c, const char *name, size_t count, int64_t least,
                         int64_t otherwise, int64_t *values)
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

static bool check_sizes(struct recording *r, const struct tensor *t, const char *what, size_t least,
                        size_t most)
{
    if (!t || r->failed)
        return r->failed ? false : fail(r, "%s is missing", what) != NULL;
    if (t->rank < least || t->rank > most)
        return fail(r, "%s has a rank of %zu, not %zu to %zu", what, t->rank, least, most);
    for (size_t i = 0; i < t->rank; i++)
        if (t->dims[i] < 1 || t->dims[i] > LARGEST)
            return fail(r, "%s has a dimension of size %lld", what, (long long)t->dims[i]);
    return true;
}

// From the first to the last element of a window.
static int64_t extent(const struct window *w, size_t i)
{
    return (w->kernel[i] - 1) * w->dilations[i] + 1;
}

// `kernel`: the sizes that weights have, or NULL: they are an attribute.
static bool read_window(const struct call *c, const struct tensor *x, const int64_t *kernel, struct window *w)
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

// As much padding as makes the output ceil(input / stride) large.
static void pad_same(struct window *w, size_t i, int64_t size, bool more_before)
{
    int64_t steps = (size - 1) / w->strides[i], total = steps * w->strides[i] + extent(w, i) - size;
    total = total < 0 ? 0 : total;
    w->before[i] = more_before ? total - total / 2 : total / 2;
    w->after[i] = total - w->before[i];
}

static bool read_pads(const struct call *c, const struct tensor *x, struct window *w)
{
    enum automatic automatic = find_automatic(c);
    int64_t pads[6] = {0};
    if (automatic == NOTSET && !read_numbers(c, "pads", 2 * w->count, 0, 0, pads))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        w->before[i] = pads[i];
        w->after[i] = pads[w->count + i];
        if (automatic == SAME_UPPER || automatic == SAME_LOWER)
            pad_same(w, i, x->dims[2 + i], automatic == SAME_LOWER);
        if (x->dims[2 + i] + w->before[i] + w->after[i] < extent(w, i))
            return fail(c->r, "a window of %lld elements on a size of %lld with padding",
                        (long long)extent(w, i), (long long)(x->dims[2 + i] + w->before[i] + w->after[i]));
    }
    return !c->r->failed;
}

// How many windows fit.
static int64_t count_windows(const struct tensor *x, const struct window *w, size_t i)
{
    return (x->dims[2 + i] + w->before[i] + w->after[i] - extent(w, i)) / w->strides[i] + 1;
}

// The last two axes of a window; of a single axis, after one of size 1.
static struct window last_two(const struct window *w)
{
    struct window plane = {2, {1, 1}, {1, 1}, {1, 1}, {0}, {0}};
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

// Options of an operator on planes, as WebNN wants them.
struct plane_lists {
    uint32_t kernel[2], strides[2], dilations[2], padding[4];
};

static struct plane_lists lists_of(const struct window *w)
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

// [n, d, c, h, w] as [n * d, c, h, w], and back.
static struct tensor *merge_depth(struct recording *r, struct tensor *t)
{
    if (!t)
        return NULL;
    return reshape(r, t, 4, (int64_t[]){t->dims[0] * t->dims[1], t->dims[2], t->dims[3], t->dims[4]});
}

static struct tensor *split_depth(struct recording *r, struct tensor *t, int64_t n)
{
    if (!t)
        return NULL;
    return reshape(r, t, 5, (int64_t[]){n, t->dims[0] / n, t->dims[1], t->dims[2], t->dims[3]});
}

// Zeros before and after one axis; less than none takes elements away.
static struct tensor *pad_axis(struct recording *r, struct tensor *t, size_t axis, int64_t before,
                               int64_t after)
{
    int64_t all_before[MAX_RANK] = {0}, all_after[MAX_RANK] = {0};
    all_before[axis] = before;
    all_after[axis] = after;
    return pad(r, t, all_before, all_after, WNNPaddingMode_Constant, 0);
}

// [channels] added to [n, channels, ...].
static struct tensor *add_bias(struct recording *r, struct tensor *t, struct tensor *bias)
{
    if (!t || !bias)
        return t;
    int64_t dims[MAX_RANK] = {bias->dims[0], 1, 1, 1, 1, 1, 1, 1};
    return binary(r, ADD, t, reshape(r, bias, t->rank - 1, dims));
}

static bool check_depth(struct recording *r, const struct window *w)
{
    if (w->count == 3 && w->kernel[0] > MAX_PARTS)
        return fail(r, "a filter of depth %lld; more than %d is not supported", (long long)w->kernel[0],
                    MAX_PARTS);
    return true;
}

// What both kinds of convolution ask of their operands; `channels`: of the output.
static bool check_filter(const struct call *c, const struct tensor *x, const struct tensor *w,
                         const struct tensor *bias, int64_t channels)
{
    if (w->rank != x->rank)
        return fail(c->r, "weights of rank %zu for an input of rank %zu", w->rank, x->rank);
    if (w->type != x->type || (bias && bias->type != x->type))
        return fail(c->r, "an input, weights and a bias of different types");
    if (bias && (bias->rank != 1 || bias->dims[0] != channels))
        return fail(c->r, "a bias that does not have %lld elements", (long long)channels);
    return true;
}

static bool find_groups(const struct call *c, int64_t *groups)
{
    *groups = get_int(c, "group", 1);
    if (*groups < 1 || *groups > LARGEST)
        return fail(c->r, "group is %lld", (long long)*groups);
    return !c->r->failed;
}

// ---------------------------------------------------------------------------------------------------------------
// Convolution
// ---------------------------------------------------------------------------------------------------------------

static struct tensor *conv_2d(struct recording *r, struct tensor *x, struct tensor *filter,
                              struct tensor *bias, const struct window *w, int64_t groups)
{
    struct plane_lists lists = lists_of(w);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.padding = (WNNUint32List){lists.padding, 4};
    options.strides = (WNNUint32List){lists.strides, 2};
    options.dilations = (WNNUint32List){lists.dilations, 2};
    options.groups = (uint32_t)groups;
    WNNOperand a = operand_of(r, x), b = operand_of(r, filter);
    options.bias = bias ? operand_of(r, bias) : NULL;
    if (!a || !b || r->failed)
        return NULL;
    return make_operand(r, x->type, wnnGraphBuilderConv2d(r->builder, a, b, &options));
}

// The sum over the depth of the filter of convolutions of planes, the depth of the output being part of the
// batch.
static struct tensor *conv_3d(struct recording *r, struct tensor *x, struct tensor *filter,
                              struct tensor *bias, const struct window *w, int64_t groups)
{
    struct window plane = last_two(w);
    int64_t depth = count_windows(x, w, 0);
    struct tensor *slices = swap_axes(r, pad_axis(r, x, 2, w->before[0], w->after[0]), 1, 2), *sum = NULL;
    for (int64_t k = 0; k < w->kernel[0] && !r->failed; k++) {
        struct tensor *part = slice_axis(r, slices, 1, k * w->dilations[0], depth, w->strides[0]);
        struct tensor *kernel = squeeze(r, slice_axis(r, filter, 2, k, 1, 1), 2);
        part = conv_2d(r, merge_depth(r, part), kernel, k ? NULL : bias, &plane, groups);
        sum = k ? binary(r, ADD, sum, part) : part;
    }
    return swap_axes(r, split_depth(r, sum, x->dims[0]), 1, 2);
}

struct tensor *convolve(struct call *c, struct tensor *x, struct tensor *w, struct tensor *bias)
{
    struct recording *r = c->r;
    struct window window;
    int64_t groups;
    if (!check_sizes(r, x, "the input", 3, 5) || !check_sizes(r, w, "the filter", 3, 5) ||
        !check_filter(c, x, w, bias, w->dims[0]) || !find_groups(c, &groups))
        return NULL;
    if (x->dims[1] != w->dims[1] * groups || w->dims[0] % groups)
        return fail(r, "%lld channels in %lld groups with weights for %lld to %lld", (long long)x->dims[1],
                    (long long)groups, (long long)w->dims[1], (long long)w->dims[0]);
    if (!read_window(c, x, w->dims + 2, &window) || !read_pads(c, x, &window) || !check_depth(r, &window))
        return NULL;
    if (x->rank == 5)
        return conv_3d(r, x, w, bias, &window, groups);
    struct window plane = last_two(&window);
    if (x->rank == 4)
        return conv_2d(r, x, w, bias, &plane, groups);
    return squeeze(r, conv_2d(r, unsqueeze(r, x, 2), unsqueeze(r, w, 2), bias, &plane, groups), 2);
}

// The activation of FusedConv: an operator of its own, which the compiler puts where it belongs.
static struct tensor *activate(struct call *c, struct tensor *t)
{
    static const char *const names[] = {"", "Relu", "Tanh", "Sigmoid", "LeakyRelu", "Clip", "HardSigmoid"};
    static const size_t parameters[] = {0, 0, 0, 0, 1, 2, 2};
    int which = find_text(c, "activation", 7, names);
    size_t count = 0;
    const float *values = get_floats(c, "activation_params", &count);
    if (!t || c->r->failed)
        return NULL;
    if (parameters[which] && (!values || count != parameters[which]))
        return fail(c->r, "%s with %zu activation_params, not %zu", names[which], count, parameters[which]);
    for (size_t i = 0; i < parameters[which]; i++)
        if (isnan(values[i]) || (which != 5 && isinf(values[i])))
            return fail(c->r, "activation_params are not finite");
    if (which == 5 && values[0] > values[1])
        return fail(c->r, "Clip to a least value above the largest");
    switch (which) {
    case 1:
        return unary(c->r, RELU, t);
    case 2:
        return unary(c->r, TANH, t);
    case 3:
        return unary(c->r, SIGMOID, t);
    case 4:
        return leaky_relu(c->r, t, values[0]);
    case 5:
        return clamp(c->r, t, values[0], values[1]);
    case 6:
        return hard_sigmoid(c->r, t, values[0], values[1]);
    default:
        return t;
    }
}

void record_conv(struct call *c)
{
    struct tensor *result = convolve(c, input(c, 0), input(c, 1), input(c, 2));
    if (c->parameter == 1) {
        if (input(c, 3))
            result = binary(c->r, ADD, result, input(c, 3));
        result = activate(c, result);
    }
    set_output(c, 0, result);
}

// ---------------------------------------------------------------------------------------------------------------
// Transposed convolution
// ---------------------------------------------------------------------------------------------------------------

// What is taken away from the whole result, [0, (in - 1) * stride + extent): `after` less than 0 adds zeros.
static bool read_crop(const struct call *c, const struct tensor *x, struct window *w)
{
    enum automatic automatic = find_automatic(c);
    int64_t pads[6] = {0}, more[3], shape[3];
    if ((automatic == NOTSET && !read_numbers(c, "pads", 2 * w->count, 0, 0, pads)) ||
        !read_numbers(c, "output_padding", w->count, 0, 0, more) ||
        !read_numbers(c, "output_shape", w->count, 1, 0, shape))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        int64_t full = (x->dims[2 + i] - 1) * w->strides[i] + extent(w, i);
        if (full > LARGEST)
            return fail(c->r, "an output of size %lld", (long long)full);
        if (!shape[i] && (automatic == SAME_UPPER || automatic == SAME_LOWER))
            shape[i] = x->dims[2 + i] * w->strides[i];
        int64_t total = shape[i] ? full + more[i] - shape[i] : 0;
        w->before[i] = !shape[i] ? pads[i] : total < 0 ? 0 : total / 2;
        if (total > 0 && automatic != SAME_UPPER)
            w->before[i] = total - total / 2;
        w->after[i] = (shape[i] ? total - w->before[i] : pads[w->count + i]) - more[i];
        int64_t size = full - w->before[i] - w->after[i];
        if (size < 1 || size > LARGEST)
            return fail(c->r, "an output of size %lld", (long long)size);
    }
    return !c->r->failed;
}

static struct tensor *conv_transpose_2d(struct recording *r, struct tensor *x, struct tensor *filter,
                                        struct tensor *bias, const struct window *w, int64_t groups)
{
    struct window cropped = *w;
    uint32_t output_padding[2];
    int64_t none[4] = {0}, extra[4] = {0};
    for (size_t i = 0; i < 2; i++) {
        // Up to a stride is WebNN's outputPadding.
        int64_t more = w->after[i] < 0 ? -w->after[i] : 0;
        cropped.after[i] = w->after[i] < 0 ? 0 : w->after[i];
        output_padding[i] = (uint32_t)least_of(more, w->strides[i] - 1);
        extra[2 + i] = more - output_padding[i];
    }
    bool apart = extra[2] || extra[3]; // the bias belongs to what is added as well
    struct plane_lists lists = lists_of(&cropped);
    WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.padding = (WNNUint32List){lists.padding, 4};
    options.strides = (WNNUint32List){lists.strides, 2};
    options.dilations = (WNNUint32List){lists.dilations, 2};
    options.outputPadding = (WNNUint32List){output_padding, 2};
    options.groups = (uint32_t)groups;
    WNNOperand a = operand_of(r, x), b = operand_of(r, filter);
    options.bias = bias && !apart ? operand_of(r, bias) : NULL;
    if (!a || !b || r->failed)
        return NULL;
    struct tensor *y = make_operand(r, x->type, wnnGraphBuilderConvTranspose2d(r->builder, a, b, &options));
    return apart ? add_bias(r, pad(r, y, none, extra, WNNPaddingMode_Constant, 0), bias) : y;
}

// stride - 1 slices of zeros between those of axis 1.
static struct tensor *spread(struct recording *r, struct tensor *t, int64_t stride)
{
    if (!t || stride == 1 || t->dims[1] == 1)
        return t;
    int64_t dims[5] = {t->dims[0], t->dims[1] * stride, t->dims[2], t->dims[3], t->dims[4]};
    t = reshape(r, pad_axis(r, unsqueeze(r, t, 2), 2, 0, stride - 1), 5, dims);
    return pad_axis(r, t, 1, 0, 1 - stride);
}

// The sum over the depth of the filter of transposed convolutions of planes, each moved to where it belongs.
static struct tensor *conv_transpose_3d(struct recording *r, struct tensor *x, struct tensor *filter,
                                        struct tensor *bias, const struct window *w, int64_t groups)
{
    struct window plane = last_two(w);
    struct tensor *planes = merge_depth(r, swap_axes(r, x, 1, 2)), *sum = NULL;
    for (int64_t k = 0; k < w->kernel[0] && !r->failed; k++) {
        struct tensor *kernel = squeeze(r, slice_axis(r, filter, 2, k, 1, 1), 2);
        struct tensor *part = conv_transpose_2d(r, planes, kernel, NULL, &plane, groups);
        part = spread(r, split_depth(r, part, x->dims[0]), w->strides[0]);
        part = pad_axis(r, part, 1, k * w->dilations[0], (w->kernel[0] - 1 - k) * w->dilations[0]);
        sum = k ? binary(r, ADD, sum, part) : part;
    }
    return add_bias(r, swap_axes(r, pad_axis(r, sum, 1, -w->before[0], -w->after[0]), 1, 2), bias);
}

void record_conv_transpose(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *filter = input(c, 1), *bias = input(c, 2), *y;
    struct window w;
    int64_t groups;
    if (!check_sizes(r, x, "the input", 3, 5) || !check_sizes(r, filter, "the filter", 3, 5) ||
        !find_groups(c, &groups) || !check_filter(c, x, filter, bias, filter->dims[1] * groups))
        return;
    if (x->dims[1] != filter->dims[0] || x->dims[1] % groups) {
        fail(r, "%lld channels in %lld groups with weights for %lld", (long long)x->dims[1],
             (long long)groups, (long long)filter->dims[0]);
        return;
    }
    if (!read_window(c, x, filter->dims + 2, &w) || !read_crop(c, x, &w) || !check_depth(r, &w))
        return;
    struct window plane = last_two(&w);
    if (x->rank == 5)
        y = conv_transpose_3d(r, x, filter, bias, &w, groups);
    else if (x->rank == 4)
        y = conv_transpose_2d(r, x, filter, bias, &plane, groups);
    else
        y = squeeze(
            r, conv_transpose_2d(r, unsqueeze(r, x, 2), unsqueeze(r, filter, 2), bias, &plane, groups), 2);
    set_output(c, 0, y);
}

// ---------------------------------------------------------------------------------------------------------------
// Pools
// ---------------------------------------------------------------------------------------------------------------

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
                                                {w->after[0], 0}};
    int64_t n = x->dims[0], channels = x->dims[1];
    int64_t folded[4] = {n, channels * x->dims[2], x->dims[3], x->dims[4]};
    struct tensor *y = pool_2d(r, op, reshape(r, x, 4, folded), &plane);
    if (!y)
        return NULL;
    int64_t height = y->dims[2], width = y->dims[3];
    y = pool_2d(r, op, reshape(r, y, 4, (int64_t[]){n, channels, x->dims[2], height * width}), &depth);
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

// Makes the padding at the end what the last window reaches, so that rounding down gives the number of
// windows that ONNX wants. Padding counts for nothing in WebNN, so nothing else changes.
static void fit_windows(const struct tensor *x, struct window *w, bool ceiling)
{
    for (size_t i = 0; i < w->count; i++) {
        int64_t size = x->dims[2 + i], stride = w->strides[i], windows = count_windows(x, w, i);
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
        after[2 + i] = most ? least_of(w->after[i], most[i]) : w->after[i];
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
    int64_t dims[5] = {1, 1};
    memcpy(dims + 2, windows, w->count * sizeof *windows);
    struct tensor *positions = make_known(r, ONNX_INT64, 2 + w->count, dims);
    for (int64_t e = 0; positions && e < count_elements(positions); e++) {
        int64_t at[3], rest = e, position = 0;
        for (size_t i = w->count; i-- > 0; rest /= windows[i])
            at[i] = within(rest % windows[i] * w->strides[i] + k[i] * w->dilations[i] - w->before[i], 0,
                           x->dims[2 + i] - 1);
        for (size_t j = 0; j < w->count; j++) {
            size_t i = columns ? w->count - 1 - j : j;
            position = position * x->dims[2 + i] + at[i];
        }
        positions->ints[e] = position;
    }
    return positions;
}

// Indices in the whole tensor of [n, c, ...] indices in one channel.
static struct tensor *add_channels(struct recording *r, const struct tensor *x, struct tensor *positions)
{
    int64_t dims[MAX_RANK] = {x->dims[0], x->dims[1], 1, 1, 1}, size = product(x->dims + 2, x->rank - 2);
    struct tensor *channels = positions ? make_known(r, ONNX_INT64, x->rank, dims) : NULL;
    for (int64_t i = 0; channels && i < count_elements(channels); i++)
        channels->ints[i] = (int64_t)((uint64_t)i * (uint64_t)size);
    return binary(r, ADD, positions, channels);
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
        windows[i] = count_windows(x, w, i);
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

void record_pool(struct call *c)
{
    struct tensor *x = input(c, 0), *y;
    struct window w;
    if (!check_sizes(c->r, x, "the input", 3, 5) || !read_window(c, x, NULL, &w) || !read_pads(c, x, &w))
        return;
    int64_t after[3] = {w.after[0], w.after[1], w.after[2]};
    fit_windows(x, &w, get_int(c, "ceil_mode", 0) != 0 && find_automatic(c) == NOTSET);
    if (c->parameter == POOL_MAX && wants(c, 1))
        set_output(c, 1, max_indices(c, x, &w));
    // What rounding up adds to the padding never counts.
    if (c->parameter == POOL_AVERAGE && get_int(c, "count_include_pad", 0))
        x = pad_window(c->r, x, &w, after);
    y = c->parameter == POOL_LP ? pool_lp(c, x, &w) : pool(c->r, (enum pool)c->parameter, x, &w);
    set_output(c, 0, y);
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

// ---------------------------------------------------------------------------------------------------------------
// Resizing
// ---------------------------------------------------------------------------------------------------------------

enum interpolation {
    NEAREST,
    LINEAR,
    CUBIC
};
enum coordinates {
    HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP_AND_RESIZE,
    HALF_PIXEL_FOR_NEAREST
};
enum rounding {
    PREFER_FLOOR,
    PREFER_CEIL,
    ROUND_FLOOR,
    ROUND_CEIL
};
enum aspect {
    STRETCH,
    NOT_LARGER,
    NOT_SMALLER
};

struct resize {
    enum interpolation mode;
    enum coordinates coordinates;
    enum rounding rounding;
    bool antialias, exclude_outside, oldest; // oldest: operator set 10
    double cubic_a, extrapolation;
    struct resize_axis {
        int64_t from, to;   // sizes
        double scale;       // as given
        double over, under; // positions are those of the output * over / under
        double width;       // what the size would be if it were not whole
        double start, end;  // of the region of interest
    } axes[MAX_RANK];
};

static bool set_size(struct recording *r, struct resize_axis *axis, double size)
{
    if (!(size >= 1 && size <= MAX_RESIZED))
        return fail(r, "a size of %lld is resized to %g", (long long)axis->from, size);
    axis->to = (int64_t)size;
    return true;
}

static bool set_scale(struct recording *r, const struct resize *z, struct resize_axis *axis, double scale)
{
    if (!(scale > 0 && scale <= LARGEST))
        return fail(r, "a scale of %g", scale);
    axis->scale = axis->under = scale;
    axis->over = 1;
    axis->width = (double)axis->from * scale;
    // In float32, as scales are: 0.7 * 10 is 7.
    double size = axis->from < 1 << 20 ? (float)((float)axis->from * (float)scale) : axis->width;
    if (z->coordinates == CROP_AND_RESIZE)
        size = (float)(size * (axis->end - axis->start));
    return set_size(r, axis, floor(size));
}

static bool stretch(struct recording *r, struct resize_axis *axis, double size)
{
    if (!set_size(r, axis, size))
        return false;
    axis->over = (double)axis->from;
    axis->under = axis->width = (double)axis->to;
    axis->scale = axis->under / axis->over;
    return true;
}

// Numbers of an input, one for each axis that is resized. False: left out, or an error.
static bool read_input(struct call *c, size_t index, size_t count, const char *what, double *numbers)
{
    struct tensor *t = input(c, index);
    if (!t || c->r->failed || (t->rank == 1 && t->dims[0] == 0) || !require_known(c->r, t, what))
        return false;
    if (t->rank != 1 || t->dims[0] != (int64_t)count)
        return fail(c->r, "%s have a rank of %zu or are not %zu", what, t->rank, count);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = known_number(t, (int64_t)i);
        if (!isfinite(numbers[i]))
            return fail(c->r, "%s are not finite", what);
    }
    return true;
}

static bool read_scale_attribute(struct call *c, size_t count, double *numbers)
{
    size_t given = 0;
    const float *scales = get_floats(c, "scales", &given);
    if (c->r->failed || given == 0 || !scales)
        return false;
    if (given != count)
        return fail(c->r, "%zu scales, not %zu", given, count);
    for (size_t i = 0; i < count; i++)
        numbers[i] = scales[i];
    return true;
}

// The axes that are resized; 0: an error.
static size_t read_axes(struct call *c, const struct tensor *x, size_t *axes)
{
    bool used[MAX_RANK] = {false};
    size_t given = 0;
    const int64_t *numbers = get_ints(c, "axes", &given);
    if (c->r->failed)
        return 0;
    size_t count = given && numbers ? given : x->rank;
    if (count > x->rank)
        return fail(c->r, "%zu axes of a tensor of rank %zu", count, x->rank) != NULL;
    for (size_t i = 0; i < count; i++) {
        axes[i] = i;
        if (given && numbers && !find_axis(c->r, numbers[i], x->rank, &axes[i]))
            return 0;
        if (used[axes[i]])
            return fail(c->r, "axis %zu is given twice", axes[i]) != NULL;
        used[axes[i]] = true;
    }
    return count;
}

static bool read_sizes(struct call *c, struct resize *z, size_t count, const size_t *axes,
                       const double *sizes)
{
    static const char *const texts[] = {"stretch", "not_larger", "not_smaller"};
    enum aspect aspect = (enum aspect)find_text(c, "keep_aspect_ratio_policy", 3, texts);
    double scale = 0;
    for (size_t i = 0; i < count; i++) {
        double own = sizes[i] / (double)z->axes[axes[i]].from;
        if (i == 0 || (aspect == NOT_LARGER ? own < scale : own > scale))
            scale = own;
    }
    for (size_t i = 0; i < count && !c->r->failed; i++) {
        struct resize_axis *axis = &z->axes[axes[i]];
        if (aspect == STRETCH) {
            stretch(c->r, axis, sizes[i]);
        } else {
            axis->width = (double)axis->from * scale;
            axis->scale = axis->under = scale;
            axis->over = 1;
            set_size(c->r, axis, floor(axis->width + 0.5));
        }
    }
    return !c->r->failed;
}

static bool read_region(struct call *c, struct resize *z, size_t count, const size_t *axes)
{
    double region[2 * MAX_RANK];
    if (z->coordinates != CROP_AND_RESIZE)
        return true;
    if (z->antialias)
        return fail(c->r, "antialias with tf_crop_and_resize is not supported");
    if (!read_input(c, 1, 2 * count, "the region of interest", region))
        return c->r->failed ? false : fail(c->r, "tf_crop_and_resize without a region of interest") != NULL;
    for (size_t i = 0; i < count; i++) {
        z->axes[axes[i]].start = region[i];
        z->axes[axes[i]].end = region[count + i];
    }
    return true;
}

static void read_modes(struct call *c, struct resize *z, bool upsample)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const places[] = {"half_pixel",          "half_pixel_symmetric", "pytorch_half_pixel",
                                         "align_corners",       "asymmetric",           "tf_crop_and_resize",
                                         "tf_half_pixel_for_nn"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    *z = (struct resize){.mode = (enum interpolation)find_text(c, "mode", 3, modes)};
    z->coordinates = ASYMMETRIC;
    z->rounding = ROUND_FLOOR;
    z->oldest = !upsample && c->version <= 10;
    if (upsample || z->oldest)
        return;
    z->coordinates = (enum coordinates)find_text(c, "coordinate_transformation_mode", 7, places);
    z->rounding = (enum rounding)find_text(c, "nearest_mode", 4, roundings);
    z->antialias = get_int(c, "antialias", 0) != 0 && z->mode != NEAREST;
    z->exclude_outside = get_int(c, "exclude_outside", 0) != 0;
    z->cubic_a = get_float(c, "cubic_coeff_a", -0.75);
    z->extrapolation = get_float(c, "extrapolation_value", 0);
    if (!isfinite(z->cubic_a))
        fail(c->r, "cubic_coeff_a is not finite");
}

static bool read_resize(struct call *c, const struct tensor *x, struct resize *z, bool upsample)
{
    double scales[MAX_RANK], sizes[MAX_RANK];
    size_t axes[MAX_RANK];
    read_modes(c, z, upsample);
    for (size_t i = 0; i < x->rank; i++)
        z->axes[i] = (struct resize_axis){.from = x->dims[i],
                                          .to = x->dims[i],
                                          .scale = 1,
                                          .over = 1,
                                          .under = 1,
                                          .width = (double)x->dims[i],
                                          .end = 1};
    size_t count = read_axes(c, x, axes);
    bool older = upsample || z->oldest;
    if (count == 0 || c->r->failed || !read_region(c, z, count, axes))
        return false;
    bool scaled = read_input(c, older ? 1 : 2, count, "scales", scales) ||
                  (upsample && read_scale_attribute(c, count, scales));
    bool sized = !older && read_input(c, 3, count, "sizes", sizes);
    if (c->r->failed)
        return false;
    if (scaled == sized)
        return fail(c->r, "%s", scaled ? "both scales and sizes" : "neither scales nor sizes");
    for (size_t i = 0; scaled && i < count; i++)
        if (!set_scale(c->r, z, &z->axes[axes[i]], scales[i]))
            return false;
    return scaled || read_sizes(c, z, count, axes, sizes);
}

// Whether an axis is not as before.
static bool is_changed(const struct resize *z, size_t i)
{
    const struct resize_axis *axis = &z->axes[i];
    if (z->coordinates == CROP_AND_RESIZE)
        return axis->from != axis->to || axis->start != 0 || axis->end != 1;
    return axis->from != axis->to || axis->over != axis->under;
}

// Half a pixel off, as resample2d takes it.
static double half_pixel(const struct resize_axis *axis, int64_t x)
{
    return ((double)x + 0.5) * axis->over / axis->under - 0.5;
}

// Where an element of the output is in the input.
static double position_of(const struct resize *z, const struct resize_axis *axis, int64_t x)
{
    double last = (double)(axis->from - 1);
    switch (z->coordinates) {
    case HALF_PIXEL:
        return half_pixel(axis, x);
    case HALF_PIXEL_SYMMETRIC:
        return (double)axis->from / 2 * (1 - (double)axis->to / axis->width) + half_pixel(axis, x);
    case PYTORCH_HALF_PIXEL:
        return axis->to > 1 ? half_pixel(axis, x) : 0;
    case ALIGN_CORNERS:
        return axis->to > 1 ? (double)x * last / (axis->width - 1) : 0;
    case ASYMMETRIC:
        return (double)x * axis->over / axis->under;
    case HALF_PIXEL_FOR_NEAREST: // of operator set 11
        return half_pixel(axis, x) + 0.5;
    case CROP_AND_RESIZE:
        if (axis->to == 1)
            return (axis->start + axis->end) * last / 2;
        return (axis->start + (double)x * (axis->end - axis->start) / (double)(axis->to - 1)) * last;
    }
    return 0;
}

static bool is_outside(const struct resize *z, const struct resize_axis *axis, double at)
{
    return z->coordinates == CROP_AND_RESIZE && !(at >= 0 && at <= (double)(axis->from - 1));
}

// The element that is nearest to a position.
static int64_t nearest_to(const struct resize *z, const struct resize_axis *axis, double at)
{
    bool up = z->rounding == ROUND_CEIL || (z->oldest && axis->scale < 1);
    double nearest = up                            ? ceil(at)
                     : z->rounding == ROUND_FLOOR  ? floor(at)
                     : z->rounding == PREFER_FLOOR ? ceil(at - 0.5)
                                                   : floor(at + 0.5);
    double last = (double)(axis->from - 1);
    return (int64_t)(nearest > last ? last : nearest > 0 ? nearest : 0);
}

static double weight_of(const struct resize *z, double distance)
{
    double x = fabs(distance), a = z->cubic_a;
    if (z->mode == LINEAR)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

// A column of the matrix that an axis is multiplied with: what element `to` of the output takes of each one
// of the input. Beyond an edge is the edge, or nothing.
static void set_weights(const struct resize *z, const struct resize_axis *axis, double at, double *column)
{
    double shrink = z->antialias && axis->scale < 1 ? axis->scale : 1, sum = 0;
    // Far away from the input everything is its edge; and positions can be counted.
    double limit = 4 * ((double)axis->from + (double)axis->to);
    at = at < -limit ? -limit : at > limit ? limit : at;
    int64_t first = (int64_t)floor(-(z->mode == LINEAR ? 1 : 2) / shrink) + 1, base = (int64_t)ceil(at) - 1;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = base + first; i <= base + 1 - first; i++) {
            double weight = weight_of(z, ((double)i - at) * shrink);
            if (z->exclude_outside && (i < 0 || i >= axis->from))
                continue;
            if (pass == 0)
                sum += weight;
            else if (sum != 0)
                column[within(i, 0, axis->from - 1) * axis->to] += weight / sum;
        }
    if (sum == 0)
        column[within(base, 0, axis->from - 1) * axis->to] = 1;
}

static struct tensor *make_weights(struct recording *r, const struct resize *z,
                                   const struct resize_axis *axis, int64_t type)
{
    struct tensor *weights = make_known(r, type, 2, (int64_t[]){axis->from, axis->to});
    for (int64_t i = 0; weights && i < axis->to; i++) {
        double at = position_of(z, axis, i);
        if (!is_outside(z, axis, at))
            set_weights(z, axis, at, weights->reals + i);
    }
    return weights;
}

static struct tensor *make_nearest(struct recording *r, const struct resize *z,
                                   const struct resize_axis *axis)
{
    struct tensor *indices = make_known(r, ONNX_INT64, 1, &axis->to);
    for (int64_t i = 0; indices && i < axis->to; i++)
        indices->ints[i] = nearest_to(z, axis, position_of(z, axis, i));
    return indices;
}

// The last axis of a matrix is the one that is multiplied.
static struct tensor *multiply_axis(struct recording *r, struct tensor *t, size_t axis,
                                    struct tensor *weights)
{
    if (!t || !weights)
        return NULL;
    size_t last = t->rank - 1;
    t = swap_axes(r, t, axis, last);
    if (!t)
        return NULL;
    int64_t dims[MAX_RANK], matrix[2] = {product(t->dims, last), t->dims[last]};
    memcpy(dims, t->dims, t->rank * sizeof *dims);
    dims[last] = weights->dims[1];
    t = reshape(r, matmul(r, reshape(r, t, 2, matrix), weights), last + 1, dims);
    return swap_axes(r, t, axis, last);
}

// Outside of the region of interest is a value of its own.
static struct tensor *extrapolate(struct recording *r, const struct resize *z, struct tensor *t, size_t axis)
{
    if (!t || z->coordinates != CROP_AND_RESIZE)
        return t;
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    dims[axis] = z->axes[axis].to;
    struct tensor *outside = make_known(r, ONNX_BOOL, t->rank, dims);
    bool any = false;
    for (int64_t i = 0; outside && i < dims[axis]; i++) {
        outside->ints[i] = is_outside(z, &z->axes[axis], position_of(z, &z->axes[axis], i));
        any |= outside->ints[i] != 0;
    }
    return any ? choose(r, outside, make_number(r, t->type, z->extrapolation), t) : t;
}

// Whether resample2d does for an axis what ONNX asks for: repeats elements, or interpolates half a pixel off
// between sizes that are exactly the scale apart (as far as float32 can tell).
static bool is_resampled(const struct resize *z, const struct resize_axis *axis)
{
    int64_t times = axis->to / axis->from;
    if (z->coordinates == CROP_AND_RESIZE || (z->mode == NEAREST && axis->to % axis->from) ||
        (z->antialias && axis->scale < 1))
        return false;
    struct resize_axis exact = {.over = (double)axis->from, .under = (double)axis->to};
    for (int64_t i = 0; i < axis->to; i++) {
        double at = position_of(z, axis, i);
        if (z->mode == NEAREST ? nearest_to(z, axis, at) != i / times
                               : fabs(at - half_pixel(&exact, i)) > 1e-6 * (double)axis->from)
            return false;
    }
    return true;
}

// The first of two neighboring axes that resample2d can resize at once; 0: none.
static size_t find_resampled(struct recording *r, const struct resize *z, const struct tensor *t)
{
    WNNDataType type = operand_type(r, t->type);
    bool fits = type == WNNDataType_Float32 || type == WNNDataType_Float16 ||
                (z->mode == NEAREST && (type == WNNDataType_Int8 || type == WNNDataType_Uint8));
    bool changed[4] = {false};
    if (t->rank != 4 || z->mode == CUBIC || !fits)
        return 0;
    for (size_t i = 0; i < 4; i++) {
        changed[i] = is_changed(z, i);
        if (changed[i] && !is_resampled(z, &z->axes[i]))
            return 0;
    }
    if (changed[0] || (changed[1] && changed[3]))
        return 0;
    return changed[1] ? 1 : changed[2] || changed[3] ? 2 : 0;
}

static struct tensor *resample(struct recording *r, const struct resize *z, struct tensor *t, size_t first)
{
    uint32_t axes[2] = {(uint32_t)first, (uint32_t)first + 1};
    uint32_t sizes[2] = {(uint32_t)z->axes[first].to, (uint32_t)z->axes[first + 1].to};
    WNNResample2dOptions options = WNN_RESAMPLE2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.mode = z->mode == NEAREST ? WNNInterpolationMode_NearestNeighbor : WNNInterpolationMode_Linear;
    options.sizes = (WNNUint32List){sizes, 2};
    options.axes = (WNNUint32List){axes, 2};
    WNNOperand operand = operand_of(r, t);
    return operand ? make_operand(r, t->type, wnnGraphBuilderResample2d(r->builder, operand, &options))
                   : NULL;
}

// One axis after another.
static struct tensor *resize_axes(struct recording *r, const struct resize *z, struct tensor *t)
{
    size_t rank = t->rank;
    for (size_t i = 0; t && i < rank; i++) {
        if (!is_changed(z, i))
            continue;
        if (z->mode == NEAREST)
            t = gather(r, t, make_nearest(r, z, &z->axes[i]), i);
        else
            t = multiply_axis(r, t, i, make_weights(r, z, &z->axes[i], t->type));
        t = extrapolate(r, z, t, i);
    }
    return t;
}

void record_resize(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    struct resize z;
    if (!check_sizes(r, x, "the input", 1, MAX_RANK) || !read_resize(c, x, &z, c->parameter == 1))
        return;
    bool whole = z.mode != NEAREST && !is_real(x->type); // numbers that have to be rounded
    struct tensor *y = whole ? cast(r, x, ONNX_FLOAT) : x;
    size_t first = y ? find_resampled(r, &z, y) : 0;
    if (y)
        y = first ? resample(r, &z, y, first) : resize_axes(r, &z, y);
    set_output(c, 0, whole ? cast(r, unary(r, ROUND, y), x->type) : y);
}
