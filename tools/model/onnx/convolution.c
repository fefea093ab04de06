// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of ONNX. WebNN has them for two spatial axes: with one, a height of 1 is put before it; with
// three, the depth is taken apart.
#include "tools/model/onnx/window.h"

#include "tools/model/late.h"

#include <string.h>

// [n, d, c, h, w] as [n * d, c, h, w], and back.
static struct tensor *merge_depth(struct recording *r, struct tensor *t)
{
    if (!t)
        return NULL;
    return reshape(
        r, t, 4,
        (int64_t[]){compute_size(r, MUL, t->dims[0], t->dims[1]), t->dims[2], t->dims[3], t->dims[4]});
}

static struct tensor *split_depth(struct recording *r, struct tensor *t, int64_t n, int64_t d)
{
    if (!t)
        return NULL;
    return reshape(r, t, 5, (int64_t[]){n, d, t->dims[1], t->dims[2], t->dims[3]});
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
    int64_t depth = count_windows(r, x, w, 0);
    struct tensor *slices = swap_axes(r, pad_axis(r, x, 2, w->before[0], w->after[0]), 1, 2), *sum = NULL;
    for (int64_t k = 0; k < w->kernel[0] && !r->failed; k++) {
        struct tensor *part = slice_axis(r, slices, 1, k * w->dilations[0], depth, w->strides[0]);
        struct tensor *kernel = squeeze(r, slice_axis(r, filter, 2, k, 1, 1), 2);
        part = conv_2d(r, merge_depth(r, part), kernel, k ? NULL : bias, &plane, groups);
        sum = k ? binary(r, ADD, sum, part) : part;
    }
    return swap_axes(r, split_depth(r, sum, x->dims[0], depth), 1, 2);
}

struct tensor *convolve(struct call *c, struct tensor *x, struct tensor *w, struct tensor *bias)
{
    struct recording *r = c->r;
    struct window window;
    int64_t groups;
    if (!check_sizes(r, x, "the input", 3, 5) || !check_known_sizes(r, w, "the filter", 3, 5) ||
        !check_filter(c, x, w, bias, w->dims[0]) || !find_groups(c, &groups))
        return NULL;
    if (is_late(x->dims[1]))
        return fail(r, "the input has channels that are not known");
    if (x->dims[1] != w->dims[1] * groups || w->dims[0] % groups)
        return fail(r, "%lld channels in %lld groups with weights for %lld to %lld", (long long)x->dims[1],
                    (long long)groups, (long long)w->dims[1], (long long)w->dims[0]);
    if (!read_window(c, x, w->dims + 2, &window) || !read_pads(c, x, &window) || !check_depth(r, &window))
        return NULL;
    x = take_padding(r, x, &window, false, 0);
    if (!x)
        return NULL;
    if (x->rank == 5)
        return conv_3d(r, x, w, bias, &window, groups);
    struct window plane = last_two(&window);
    if (x->rank == 4)
        return conv_2d(r, x, w, bias, &plane, groups);
    return squeeze(r, conv_2d(r, unsqueeze(r, x, 2), unsqueeze(r, w, 2), bias, &plane, groups), 2);
}

// Parameter 1: with an addend and an activation.
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

// Of images with channels last. Parameter 0: weights have their channels last, too; 1: they have not, and
// there is an activation.
void record_nhwc_conv(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *w = c->parameter ? input(c, 1) : channels_second(r, input(c, 1));
    struct tensor *y = w ? convolve(c, channels_second(r, input(c, 0)), w, input(c, 2)) : NULL;
    y = channels_last(r, y);
    if (input(c, 3))
        y = binary(r, ADD, y, input(c, 3));
    set_output(c, 0, c->parameter ? activate(c, y) : y);
}

// ---------------------------------------------------------------------------------------------------------------
// Transposed convolution
// ---------------------------------------------------------------------------------------------------------------

// An attribute, or, with parameter 1, an input.
static bool read_crop_pads(struct call *c, const struct window *w, int64_t *pads)
{
    size_t count;
    int64_t *given;
    if (c->parameter == 0 || !input(c, 2))
        return read_numbers(c, "pads", 2 * w->count, 0, 0, pads);
    if (!get_list(c, 2, "pads", &count, &given) || count != 2 * w->count)
        return fail(c->r, "%zu pads of %zu axes", count, w->count);
    for (size_t i = 0; i < count; i++)
        if ((pads[i] = given[i]) < 0 || given[i] > LARGEST)
            return fail(c->r, "padding of %lld", (long long)given[i]);
    return true;
}

// What is taken away from the whole result, [0, (in - 1) * stride + extent): `after` less than 0 adds zeros.
static bool read_crop(struct call *c, const struct tensor *x, struct window *w)
{
    enum automatic automatic = find_automatic(c);
    int64_t pads[6] = {0}, more[3], shape[3];
    if ((automatic == NOTSET && !read_crop_pads(c, w, pads)) ||
        !read_numbers(c, "output_padding", w->count, 0, 0, more) ||
        !read_numbers(c, "output_shape", w->count, 1, 0, shape))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        bool late = is_late(x->dims[2 + i]), same = automatic == SAME_UPPER || automatic == SAME_LOWER;
        int64_t full = late ? 0 : (x->dims[2 + i] - 1) * w->strides[i] + extent(w, i), total = 0;
        if (full > LARGEST)
            return fail(c->r, "an output of size %lld", (long long)full);
        if (late && shape[i])
            return fail(c->r, "output_shape %lld of a size that is not known", (long long)shape[i]);
        if (shape[i])
            total = full + more[i] - shape[i];
        else if (same) // of any size, stride times as large
            total = extent(w, i) - w->strides[i] + more[i];
        bool cut = shape[i] || same;
        w->before[i] = !cut ? pads[i] : total < 0 ? 0 : total / 2;
        if (total > 0 && automatic != SAME_UPPER)
            w->before[i] = total - total / 2;
        w->after[i] = (cut ? total - w->before[i] : pads[w->count + i]) - more[i];
        int64_t size = full - w->before[i] - w->after[i];
        if (!late && (size < 1 || size > LARGEST))
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
        output_padding[i] = (uint32_t)within(more, 0, w->strides[i] - 1);
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
    int64_t dims[5] = {t->dims[0], compute_size(r, MUL, t->dims[1], stride), t->dims[2], t->dims[3],
                       t->dims[4]};
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
        part = spread(r, split_depth(r, part, x->dims[0], x->dims[2]), w->strides[0]);
        part = pad_axis(r, part, 1, k * w->dilations[0], (w->kernel[0] - 1 - k) * w->dilations[0]);
        sum = k ? binary(r, ADD, sum, part) : part;
    }
    return add_bias(r, swap_axes(r, pad_axis(r, sum, 1, -w->before[0], -w->after[0]), 1, 2), bias);
}

// Of any number of spatial axes.
static struct tensor *transpose_conv(struct recording *r, struct tensor *x, struct tensor *filter,
                                     struct tensor *bias, const struct window *w, int64_t groups)
{
    struct window plane = last_two(w);
    if (!x || !filter || r->failed)
        return NULL;
    if (x->rank == 5)
        return conv_transpose_3d(r, x, filter, bias, w, groups);
    if (x->rank == 4)
        return conv_transpose_2d(r, x, filter, bias, &plane, groups);
    return squeeze(r, conv_transpose_2d(r, unsqueeze(r, x, 2), unsqueeze(r, filter, 2), bias, &plane, groups),
                   2);
}

// Parameter 1: pads are an input before the bias.
void record_conv_transpose(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *filter = input(c, 1), *bias = input(c, c->parameter ? 3 : 2);
    struct window w;
    int64_t groups;
    if (!check_sizes(r, x, "the input", 3, 5) || !check_known_sizes(r, filter, "the filter", 3, 5) ||
        !find_groups(c, &groups) || !check_filter(c, x, filter, bias, filter->dims[1] * groups))
        return;
    if (is_late(x->dims[1])) {
        fail(r, "the input has channels that are not known");
        return;
    }
    if (x->dims[1] != filter->dims[0] || x->dims[1] % groups) {
        fail(r, "%lld channels in %lld groups with weights for %lld", (long long)x->dims[1],
             (long long)groups, (long long)filter->dims[0]);
        return;
    }
    if (read_window(c, x, filter->dims + 2, &w) && read_crop(c, x, &w) && check_depth(r, &w))
        set_output(c, 0, transpose_conv(r, x, filter, bias, &w, groups));
}

// [channels * kernel, 1, kernel...]: each element of a window to its place.
static struct tensor *placing_filter(struct recording *r, int64_t type, int64_t channels,
                                     const struct window *w)
{
    int64_t count = product(w->kernel, w->count), dims[5] = {channels * count, 1};
    memcpy(dims + 2, w->kernel, w->count * sizeof *dims);
    struct tensor *filter = make_known(r, type, 2 + w->count, dims);
    for (int64_t i = 0; filter && i < channels * count; i++)
        set_known(filter, i * count + i % count, 1);
    return filter;
}

// The windows of Col2Im: `sizes` of the image, where after[] is what is taken away of all that they reach.
static bool read_blocks(struct call *c, struct window *w, int64_t *sizes, int64_t *blocks)
{
    size_t count = 0, kernel_count = 0;
    int64_t *image, *kernel, pads[6];
    if (!get_list(c, 1, "image_shape", &count, &image) ||
        !get_list(c, 2, "block_shape", &kernel_count, &kernel) || count < 1 || count > 3 ||
        kernel_count != count)
        return fail(c->r, "images of %zu axes with blocks of %zu; 1 to 3 are supported", count, kernel_count);
    *w = (struct window){.count = count};
    if (!read_numbers(c, "strides", count, 1, 1, w->strides) ||
        !read_numbers(c, "dilations", count, 1, 1, w->dilations) ||
        !read_numbers(c, "pads", 2 * count, 0, 0, pads))
        return false;
    for (size_t i = 0; i < count; i++) {
        w->kernel[i] = kernel[i];
        w->before[i] = pads[i];
        sizes[i] = image[i];
        if (image[i] < 1 || image[i] > LARGEST || kernel[i] < 1 || kernel[i] > MAX_PARTS)
            return fail(c->r, "an image of %lld with blocks of %lld", (long long)image[i],
                        (long long)kernel[i]);
        int64_t room = image[i] + pads[i] + pads[count + i] - extent(w, i);
        if (room < 0)
            return fail(c->r, "a block that does not fit the image");
        blocks[i] = room / w->strides[i] + 1;
        w->after[i] = (blocks[i] - 1) * w->strides[i] + extent(w, i) - pads[i] - image[i];
    }
    return check_depth(c->r, w);
}

// Adds blocks of columns where they overlap, as a transposed convolution does.
void record_col_to_im(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    struct window w;
    int64_t sizes[3], dims[5];
    if (!is_float(r, x, "the input") || !read_blocks(c, &w, sizes, dims + 2))
        return;
    int64_t count = product(w.kernel, w.count);
    if (x->rank != 3 || count > MAX_PARTS * MAX_PARTS || is_late(x->dims[1]) || x->dims[1] % count ||
        sizes_differ(x->dims[2], product(dims + 2, w.count))) {
        fail(r, "columns that do not fit blocks of %lld elements", (long long)count);
        return;
    }
    memcpy(dims, x->dims, 2 * sizeof *dims);
    int64_t channels = x->dims[1] / count;
    struct tensor *filter = placing_filter(r, x->type, channels, &w);
    set_output(c, 0, transpose_conv(r, reshape(r, x, 2 + w.count, dims), filter, NULL, &w, channels));
}
