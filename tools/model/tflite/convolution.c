// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of TensorFlow Lite, whose images have their channels last. WebNN has them for two spatial
// axes; with three, the depth is taken apart.
#include "tools/model/tflite/window.h"

#include <string.h>

#define MAX_PARTS 1024 // operators that one may become because of the depth of its filter

// ---------------------------------------------------------------------------------------------------------------
// Windows
// ---------------------------------------------------------------------------------------------------------------

enum {
    PADDING_SAME,
    PADDING_VALID
};

int64_t window_extent(const struct window *w, size_t i)
{
    return (w->kernel[i] - 1) * w->dilations[i] + 1;
}

bool place_window(struct recording *r, struct window *w, bool same, const int64_t *in)
{
    for (size_t i = 0; i < w->count; i++) {
        if (w->kernel[i] < 1 || w->strides[i] < 1 || w->dilations[i] < 1 || in[i] < 1 ||
            window_extent(w, i) > LARGEST)
            return fail(r, "a window of %lld with strides of %lld and dilations of %lld on a size of %lld",
                        (long long)w->kernel[i], (long long)w->strides[i], (long long)w->dilations[i],
                        (long long)in[i]);
        int64_t steps = (in[i] - 1) / w->strides[i];
        int64_t total = same ? steps * w->strides[i] + window_extent(w, i) - in[i] : 0;
        total = total < 0 ? 0 : total;
        w->before[i] = total / 2;
        w->after[i] = total - total / 2;
        if (in[i] + total < window_extent(w, i))
            return fail(r, "a window of %lld elements on a size of %lld", (long long)window_extent(w, i),
                        (long long)in[i]);
    }
    return true;
}

struct plane_lists window_lists(const struct window *w)
{
    struct plane_lists lists;
    for (size_t i = 0; i < 2; i++) {
        size_t from = w->count - 2 + i;
        lists.kernel[i] = (uint32_t)w->kernel[from];
        lists.strides[i] = (uint32_t)w->strides[from];
        lists.dilations[i] = (uint32_t)w->dilations[from];
        lists.padding[2 * i] = (uint32_t)w->before[from];
        lists.padding[2 * i + 1] = (uint32_t)w->after[from];
    }
    return lists;
}

static bool check_ranks(struct recording *r, const struct tensor *x, const struct tensor *filter,
                        const struct tensor *bias, size_t rank, int64_t channels)
{
    if (!x || !filter || r->failed)
        return false;
    if (x->rank != rank || filter->rank != rank)
        return fail(r, "an input of rank %zu and weights of rank %zu, not %zu", x->rank, filter->rank, rank);
    if (bias && (bias->rank != 1 || bias->dims[0] != channels))
        return fail(r, "a bias that does not have %lld elements", (long long)channels);
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// CONV_2D and DEPTHWISE_CONV_2D
// ---------------------------------------------------------------------------------------------------------------

static struct tensor *conv_2d(struct recording *r, struct tensor *x, struct tensor *filter,
                              struct tensor *bias, const struct window *w, int64_t groups,
                              WNNConv2dFilterOperandLayout layout)
{
    struct plane_lists lists = window_lists(w);
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.padding = (WNNUint32List){lists.padding, 4};
    options.strides = (WNNUint32List){lists.strides, 2};
    options.dilations = (WNNUint32List){lists.dilations, 2};
    options.groups = (uint32_t)groups;
    options.inputLayout = WNNInputOperandLayout_NHWC;
    options.filterLayout = layout;
    WNNOperand a = operand_of(r, x), b = operand_of(r, filter);
    options.bias = bias ? operand_of(r, bias) : NULL;
    if (!a || !b || r->failed)
        return NULL;
    return make_operand(r, x->type, wnnGraphBuilderConv2d(r->builder, a, b, &options));
}

// Parameter 1: each channel of the input has its own filters; weights are [1, height, width, channels of the
// output]. Otherwise [channels of the output, height, width, channels of a group].
void compose_conv(struct call *c)
{
    struct recording *r = c->r;
    bool depthwise = c->parameter == 1;
    struct tensor *x = real_at(c, 0), *filter = real_at(c, 1), *bias = bias_at(c, 2, 0, 1);
    unsigned activation = depthwise ? 4 : 3, dilation = depthwise ? 5 : 4;
    if (!filter || !check_ranks(r, x, filter, bias, 4, filter->dims[depthwise ? 3 : 0]))
        return;
    struct window w = {.count = 2,
                       .kernel = {filter->dims[1], filter->dims[2]},
                       .strides = {option_int(c, 2, 0), option_int(c, 1, 0)},
                       .dilations = {option_int(c, dilation + 1, 1), option_int(c, dilation, 1)}};
    int64_t in = filter->dims[3], groups = depthwise ? x->dims[3] : in > 0 ? x->dims[3] / in : 0;
    if (groups < 1 || (depthwise ? in % groups : groups * in != x->dims[3]) ||
        (depthwise ? filter->dims[0] != 1 : filter->dims[0] % groups != 0)) {
        fail(r, "%lld channels with weights of %lld to %lld", (long long)x->dims[3],
             (long long)(depthwise ? filter->dims[0] : in), (long long)(depthwise ? in : filter->dims[0]));
        return;
    }
    if (!place_window(r, &w, option_enum(c, 0) == PADDING_SAME, x->dims + 1))
        return;
    WNNConv2dFilterOperandLayout layout =
        depthwise ? WNNConv2dFilterOperandLayout_IHWO : WNNConv2dFilterOperandLayout_OHWI;
    struct tensor *y = conv_2d(r, x, filter, bias, &w, groups, layout);
    give(c, 0, activate_output(c, y, option_enum(c, activation)));
}

// ---------------------------------------------------------------------------------------------------------------
// TRANSPOSE_CONV
// ---------------------------------------------------------------------------------------------------------------

// What is taken away from the whole result, (in - 1) * stride + extent, so that it has the sizes `out`: as a
// convolution of those would be padded. `after` less than 0 adds zeros.
static bool place_crop(struct recording *r, struct window *w, bool same, const int64_t *in,
                       const int64_t *out)
{
    struct window reverse = *w;
    if (!place_window(r, &reverse, same, out))
        return false;
    for (size_t i = 0; i < w->count; i++) {
        int64_t full = (in[i] - 1) * w->strides[i] + window_extent(w, i);
        w->before[i] = reverse.before[i];
        w->after[i] = full - w->before[i] - out[i];
        if (w->before[i] >= full || out[i] - full > LARGEST)
            return fail(r, "an output of size %lld of an input of size %lld", (long long)out[i],
                        (long long)in[i]);
    }
    return true;
}

// Numbers added to each channel of [..., channels].
static struct tensor *add_bias(struct recording *r, struct tensor *t, struct tensor *bias)
{
    return bias ? binary(r, ADD, t, bias) : t;
}

static struct tensor *conv_transpose_2d(struct recording *r, struct tensor *x, struct tensor *filter,
                                        struct tensor *bias, const struct window *w,
                                        WNNConvTranspose2dFilterOperandLayout layout)
{
    struct window cropped = *w;
    uint32_t output_padding[2];
    int64_t none[4] = {0}, extra[4] = {0};
    for (size_t i = 0; i < 2; i++) {
        size_t k = w->count - 2 + i;
        // Up to a stride is WebNN's outputPadding.
        int64_t more = w->after[k] < 0 ? -w->after[k] : 0, part = w->strides[k] - 1;
        cropped.after[k] = w->after[k] < 0 ? 0 : w->after[k];
        output_padding[i] = (uint32_t)(more < part ? more : part);
        extra[1 + i] = more - output_padding[i];
    }
    bool apart = extra[1] || extra[2]; // the bias belongs to what is added as well
    struct plane_lists lists = window_lists(&cropped);
    WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.padding = (WNNUint32List){lists.padding, 4};
    options.strides = (WNNUint32List){lists.strides, 2};
    options.outputPadding = (WNNUint32List){output_padding, 2};
    options.inputLayout = WNNInputOperandLayout_NHWC;
    options.filterLayout = layout;
    WNNOperand a = operand_of(r, x), b = operand_of(r, filter);
    options.bias = bias && !apart ? operand_of(r, bias) : NULL;
    if (!a || !b || r->failed)
        return NULL;
    struct tensor *y = make_operand(r, x->type, wnnGraphBuilderConvTranspose2d(r->builder, a, b, &options));
    return apart ? add_bias(r, pad(r, y, none, extra, WNNPaddingMode_Constant, 0), bias) : y;
}

// Weights are [channels of the output, height, width, channels of the input].
static struct tensor *transpose_conv(struct recording *r, struct tensor *x, struct tensor *filter,
                                     struct tensor *bias, const int64_t *strides, bool same,
                                     const int64_t *out)
{
    if (!filter || !check_ranks(r, x, filter, bias, 4, filter->dims[0]))
        return NULL;
    struct window w = {.count = 2,
                       .kernel = {filter->dims[1], filter->dims[2]},
                       .strides = {strides[0], strides[1]},
                       .dilations = {1, 1}};
    if (filter->dims[3] != x->dims[3])
        return fail(r, "%lld channels with weights for %lld", (long long)x->dims[3],
                    (long long)filter->dims[3]);
    if (!place_crop(r, &w, same, x->dims + 1, out))
        return NULL;
    return conv_transpose_2d(r, x, filter, bias, &w, WNNConvTranspose2dFilterOperandLayout_OHWI);
}

// The shape of the result is the first input, or what the file says of it where that is computed.
static bool find_result(struct call *c, size_t rank, int64_t *dims)
{
    struct tensor *shape = stored_at(c, 0);
    int64_t all[MAX_RANK];
    size_t count;
    if (!shape)
        return false;
    if ((is_known(c->r, shape) || !static_shape(c, 0, &count, all)) &&
        !known_ints(c, 0, "the shape of the result", MAX_RANK, &count, all))
        return false;
    if (count != rank)
        return fail(c->r, "a result of rank %zu, not %zu", count, rank);
    memcpy(dims, all, rank * sizeof *dims);
    return true;
}

void compose_transpose_conv(struct call *c)
{
    struct tensor *filter = real_at(c, 1), *x = real_at(c, 2), *bias = bias_at(c, 3, 2, 1);
    const int64_t strides[] = {option_int(c, 2, 0), option_int(c, 1, 0)};
    int64_t dims[4];
    if (!x || !filter || !find_result(c, 4, dims))
        return;
    struct tensor *y =
        transpose_conv(c->r, x, filter, bias, strides, option_enum(c, 0) == PADDING_SAME, dims + 1);
    give(c, 0, activate_output(c, y, option_enum(c, 3)));
}

// A number of the structure in the memory of a program that custom options hold.
static int64_t custom_int(const struct call *c, size_t index)
{
    struct bytes options = c->node->custom_options;
    uint32_t value = 0;
    for (size_t i = 0; i < 4 && 4 * index + i < options.size; i++)
        value |= (uint32_t)options.data[4 * index + i] << 8 * i;
    return (int32_t)value;
}

// Convolution2DTransposeBias of MediaPipe. Its options are TfLiteTransposeConvParams: padding, 1 same or 2
// valid, and strides of width and height.
// https://github.com/google-ai-edge/mediapipe/tree/master/mediapipe/util/tflite/operations
void compose_transpose_conv_bias(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0), *filter = real_at(c, 1), *bias = real_at(c, 2);
    int64_t padding = custom_int(c, 0), strides[] = {custom_int(c, 2), custom_int(c, 1)}, out[2];
    if (!x || !filter || x->rank != 4 || filter->rank != 4 || (padding != 1 && padding != 2) ||
        c->node->custom_options.size < 12) {
        fail(r, "weights or options that are not those of a transposed convolution");
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        int64_t stride = strides[i] > 0 ? strides[i] : 1, last = x->dims[1 + i] - 1;
        int64_t less = padding == 1 ? filter->dims[1 + i] - last % stride - 1 : 0;
        out[i] = last * stride + filter->dims[1 + i] - (less > 0 ? less : 0);
    }
    give(c, 0, transpose_conv(r, x, filter, bias, strides, padding == 1, out));
}

// ---------------------------------------------------------------------------------------------------------------
// Volumes: planes of [batch * depth, height, width, channels]
// ---------------------------------------------------------------------------------------------------------------

static struct tensor *merge_depth(struct recording *r, struct tensor *t)
{
    if (!t)
        return NULL;
    return reshape(r, t, 4, (int64_t[]){t->dims[0] * t->dims[1], t->dims[2], t->dims[3], t->dims[4]});
}

static struct tensor *split_depth(struct recording *r, struct tensor *t, int64_t n, int64_t depth)
{
    if (!t)
        return NULL;
    return reshape(r, t, 5, (int64_t[]){n, depth, t->dims[1], t->dims[2], t->dims[3]});
}

// Zeros before and after the depth; less than none takes planes away.
static struct tensor *pad_depth(struct recording *r, struct tensor *t, int64_t before, int64_t after)
{
    int64_t all_before[5] = {0, before}, all_after[5] = {0, after};
    return pad(r, t, all_before, all_after, WNNPaddingMode_Constant, 0);
}

// Strides and dilations of the options, which name depth, width, height.
static bool read_volume(struct call *c, const struct tensor *filter, struct window *w)
{
    *w = (struct window){.count = 3,
                         .kernel = {filter->dims[0], filter->dims[1], filter->dims[2]},
                         .strides = {option_int(c, 1, 0), option_int(c, 3, 0), option_int(c, 2, 0)},
                         .dilations = {option_int(c, 5, 1), option_int(c, 7, 1), option_int(c, 6, 1)}};
    return w->kernel[0] <= MAX_PARTS || fail(c->r, "a filter of depth %lld; more than %d is not supported",
                                             (long long)w->kernel[0], MAX_PARTS);
}

// Weights are [depth, height, width, channels of the input, of the output]. The sum over the depth of the
// filter of convolutions of planes.
void compose_conv_3d(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0), *filter = real_at(c, 1), *bias = bias_at(c, 2, 0, 1), *sum = NULL;
    struct window w;
    if (!filter || !check_ranks(r, x, filter, bias, 5, filter->dims[4]) || !read_volume(c, filter, &w) ||
        !place_window(r, &w, option_enum(c, 0) == PADDING_SAME, x->dims + 1))
        return;
    int64_t in = filter->dims[3], groups = in > 0 ? x->dims[4] / in : 0;
    if (groups < 1 || groups * in != x->dims[4]) {
        fail(r, "%lld channels with weights for %lld", (long long)x->dims[4], (long long)in);
        return;
    }
    int64_t depth = (x->dims[1] + w.before[0] + w.after[0] - window_extent(&w, 0)) / w.strides[0] + 1;
    struct tensor *planes = pad_depth(r, x, w.before[0], w.after[0]);
    for (int64_t k = 0; k < w.kernel[0] && !r->failed; k++) {
        struct tensor *part = slice_axis(r, planes, 1, k * w.dilations[0], depth, w.strides[0]);
        struct tensor *kernel = squeeze(r, slice_axis(r, filter, 0, k, 1, 1), 0);
        part = conv_2d(r, merge_depth(r, part), kernel, k ? NULL : bias, &w, groups,
                       WNNConv2dFilterOperandLayout_HWIO);
        sum = k ? binary(r, ADD, sum, part) : part;
    }
    give(c, 0, activate_output(c, split_depth(r, sum, x->dims[0], depth), option_enum(c, 4)));
}

// stride - 1 planes of zeros between those that there are, and behind the last.
static struct tensor *spread_depth(struct recording *r, struct tensor *t, int64_t stride)
{
    int64_t none[6] = {0}, more[6] = {0, 0, stride - 1};
    if (!t || stride == 1)
        return t;
    const int64_t dims[] = {t->dims[0], t->dims[1] * stride, t->dims[2], t->dims[3], t->dims[4]};
    return reshape(r, pad(r, unsqueeze(r, t, 2), none, more, WNNPaddingMode_Constant, 0), 5, dims);
}

// Weights are [depth, height, width, channels of the output, of the input]. The sum over the depth of the
// filter of transposed convolutions of planes, each moved to where it belongs.
void compose_conv_3d_transpose(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *filter = real_at(c, 1), *x = real_at(c, 2), *bias = bias_at(c, 3, 2, 1), *sum = NULL;
    struct window w;
    int64_t dims[5];
    if (!filter || !check_ranks(r, x, filter, bias, 5, filter->dims[3]) || !find_result(c, 5, dims) ||
        !read_volume(c, filter, &w))
        return;
    if (filter->dims[4] != x->dims[4] || product(w.dilations, 3) != 1) {
        fail(r, "%lld channels with weights for %lld, or dilations", (long long)x->dims[4],
             (long long)filter->dims[4]);
        return;
    }
    if (!place_crop(r, &w, option_enum(c, 0) == PADDING_SAME, x->dims + 1, dims + 1))
        return;
    for (int64_t k = 0; k < w.kernel[0] && !r->failed; k++) {
        struct tensor *kernel = squeeze(r, slice_axis(r, filter, 0, k, 1, 1), 0);
        struct tensor *part = conv_transpose_2d(r, merge_depth(r, x), kernel, NULL, &w,
                                                WNNConvTranspose2dFilterOperandLayout_HWOI);
        part = spread_depth(r, split_depth(r, part, x->dims[0], x->dims[1]), w.strides[0]);
        // The planes behind the last are those that make it as deep as the whole result, or too deep.
        int64_t deep = x->dims[1] * w.strides[0], whole = (x->dims[1] - 1) * w.strides[0] + w.kernel[0];
        part = pad_depth(r, part, k, whole - k - deep);
        sum = k ? binary(r, ADD, sum, part) : part;
    }
    sum = pad_depth(r, sum, -w.before[0], -w.after[0]);
    give(c, 0, activate_output(c, add_bias(r, sum, bias), option_enum(c, 4)));
}
