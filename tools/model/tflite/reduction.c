// SPDX-License-Identifier: Apache-2.0
#include "tools/model/tflite/call.h"

// The mean of an image is a pool, which is what kernels and layouts are for.
static struct tensor *average_image(struct recording *r, struct tensor *x, bool keep)
{
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.layout = WNNInputOperandLayout_NHWC;
    WNNOperand operand = operand_of(r, x);
    struct tensor *y =
        operand ? make_operand(r, x->type, wnnGraphBuilderAveragePool2d(r->builder, operand, &options))
                : NULL;
    const int64_t dims[] = {x->dims[0], x->dims[3]};
    return keep ? y : reshape(r, y, 2, dims);
}

static bool is_image(struct recording *r, struct tensor *x, size_t count, const size_t *axes)
{
    return x->rank == 4 && count == 2 && axes[0] + axes[1] == 3 && axes[0] * axes[1] == 2 &&
           is_real(x->type) && !is_known(r, x);
}

static struct tensor *mean(struct recording *r, struct tensor *x, size_t count, const size_t *axes, bool keep)
{
    double n = 1;
    for (size_t i = 0; i < count; i++)
        n *= (double)x->dims[axes[i]];
    if (is_image(r, x, count, axes))
        return average_image(r, x, keep);
    return is_real(x->type) ? reduce(r, MEAN, x, count, axes, keep)
                            : with_number(r, DIV, reduce(r, SUM, x, count, axes, keep), n);
}

// ANY and ALL are the largest and the least of truths.
void compose_reduce(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = real_at(c, 0);
    enum reduction op = (enum reduction)c->parameter;
    bool keep = option_bool(c, 0);
    size_t count, axes[MAX_RANK];
    if (!known_axes(c, 1, x, &count, axes))
        return;
    if (x->type == TYPE_BOOL)
        x = cast(r, x, TYPE_UINT8);
    if (x && op == MEAN)
        give(c, 0, mean(r, x, count, axes, keep));
    else
        give(c, 0, reduce(r, op, x, count, axes, keep));
}

// Parameter 1: the least.
void compose_arg(struct call *c)
{
    struct tensor *x = stored_at(c, 0);
    int64_t number;
    size_t axis;
    if (x && known_int(c, 1, "the axis", &number) && find_axis(c->r, number, x->rank, &axis))
        give(c, 0, arg_max(c->r, x, axis, c->parameter == 1, false));
}

void compose_cumulative_sum(struct call *c)
{
    struct tensor *x = real_at(c, 0);
    int64_t number;
    size_t axis;
    if (x && known_int(c, 1, "the axis", &number) && find_axis(c->r, number, x->rank, &axis))
        give(c, 0, cumulative_sum(c->r, x, axis, option_bool(c, 0), option_bool(c, 1)));
}
