// SPDX-License-Identifier: Apache-2.0
//
// Pools and resizing.
#include "tools/model/resize.h"
#include "tools/model/tflite/window.h"

#define MAX_RESIZED 65536 // pixels of an axis

typedef WNNOperand (*entry_pool)(WNNGraphBuilder builder, WNNOperand input, const WNNPool2dOptions *options);

static struct tensor *pool(struct call *c, entry_pool entry, struct tensor *x)
{
    struct recording *r = c->r;
    struct window w = {.count = 2,
                       .kernel = {option_int(c, 4, 0), option_int(c, 3, 0)},
                       .strides = {option_int(c, 2, 0), option_int(c, 1, 0)},
                       .dilations = {1, 1}};
    if (!x || r->failed)
        return NULL;
    if (x->rank != 4)
        return fail(r, "a pool of a tensor of rank %zu", x->rank);
    if (!place_window(r, &w, option_enum(c, 0) == 0, x->dims + 1))
        return NULL;
    struct plane_lists lists = window_lists(&w);
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.layout = WNNInputOperandLayout_NHWC;
    options.windowDimensions = (WNNUint32List){lists.kernel, 2};
    options.padding = (WNNUint32List){lists.padding, 4};
    options.strides = (WNNUint32List){lists.strides, 2};
    WNNOperand operand = operand_of(r, x);
    return operand ? make_operand(r, x->type, entry(r->builder, operand, &options)) : NULL;
}

// Padding counts for nothing. Parameter 1: the root of the mean of squares.
void compose_average_pool(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0);
    if (c->parameter)
        x = binary(r, MUL, x, x);
    struct tensor *y = pool(c, wnnGraphBuilderAveragePool2d, x);
    give(c, 0, activate_output(c, c->parameter ? unary(r, SQRT, y) : y, option_enum(c, 5)));
}

void compose_max_pool(struct call *c)
{
    struct tensor *y = pool(c, wnnGraphBuilderMaxPool2d, real_at(c, 0));
    give(c, 0, activate_output(c, y, option_enum(c, 5)));
}

static struct resize_axis resized_axis(int64_t from, int64_t to)
{
    return (struct resize_axis){.from = from,
                                .to = to,
                                .scale = (double)to / (double)from,
                                .over = (double)from,
                                .under = (double)to,
                                .width = (double)to};
}

// Parameter 1: to the nearest, which is below unless corners are aligned or pixels are taken by their
// centers.
void compose_resize(struct call *c)
{
    struct recording *r = c->r;
    unsigned align = c->parameter ? 0 : 2;
    bool corners = option_bool(c, align), centers = option_bool(c, align + 1), nearest = c->parameter == 1;
    struct tensor *x = nearest ? moved_at(c, 0) : real_at(c, 0);
    int64_t sizes[2];
    size_t count;
    if (!x || !known_ints(c, 1, "the size", 2, &count, sizes))
        return;
    bool good = x->rank == 4 && count == 2;
    for (size_t i = 0; good && i < 2; i++)
        good =
            sizes[i] >= 1 && sizes[i] <= MAX_RESIZED && x->dims[1 + i] >= 1 && x->dims[1 + i] <= MAX_RESIZED;
    if (!good) {
        fail(r, "a tensor of rank %zu is resized to %lld by %lld; up to %d is supported", x->rank,
             (long long)(count ? sizes[0] : 0), (long long)(count == 2 ? sizes[1] : 0), MAX_RESIZED);
        return;
    }
    struct resize z = {.mode = nearest ? NEAREST : LINEAR,
                       .coordinates = corners              ? ALIGN_CORNERS
                                      : centers && nearest ? HALF_PIXEL_FOR_NEAREST
                                      : centers            ? HALF_PIXEL
                                                           : ASYMMETRIC,
                       .rounding = corners ? PREFER_CEIL : ROUND_FLOOR};
    for (size_t i = 0; i < 4; i++)
        z.axes[i] = resized_axis(x->dims[i], i == 1 || i == 2 ? sizes[i - 1] : x->dims[i]);
    give(c, 0, resize(r, &z, x));
}
