// SPDX-License-Identifier: Apache-2.0
#include "model/onnx/call.h"

#include <string.h>

// A vector along axis 1.
static struct tensor *along_channels(struct recording *r, struct tensor *t, size_t rank)
{
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (t && rank > 1)
        dims[1] = count_elements(t);
    return reshape(r, t, rank > 1 ? rank : 1, rank > 1 ? dims : &(int64_t){t ? count_elements(t) : 0});
}

// Mean and variance over axes, which stay.
static void moments(struct recording *r, struct tensor *x, size_t count, const size_t *axes,
                    struct tensor **mean, struct tensor **variance)
{
    *mean = reduce(r, MEAN, x, count, axes, true);
    struct tensor *distance = binary(r, SUB, x, *mean);
    *variance = reduce(r, MEAN, binary(r, MUL, distance, distance), count, axes, true);
}

static struct tensor *mix(struct recording *r, struct tensor *old, struct tensor *now, double momentum)
{
    now = now && old ? reshape(r, now, old->rank, old->dims) : NULL;
    return binary(r, ADD, with_number(r, MUL, old, momentum),
                  with_number(r, MUL, cast(r, now, old ? old->type : 0), 1 - momentum));
}

void record_batch_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *mean = input(c, 3), *variance = input(c, 4);
    if (x->rank < 2) {
        fail(r, "an input of rank %zu", x->rank);
        return;
    }
    if (get_int(c, "training_mode", 0)) {
        size_t axes[MAX_RANK], count = 0;
        double momentum = get_float(c, "momentum", 0.9);
        for (size_t i = 0; i < x->rank; i++)
            if (i != 1)
                axes[count++] = i;
        struct tensor *now, *spread;
        moments(r, x, count, axes, &now, &spread);
        set_output(c, 1, mix(r, mean, now, momentum));
        set_output(c, 2, mix(r, variance, spread, momentum));
        mean = reshape(r, now, 1, &x->dims[1]);
        variance = reshape(r, spread, 1, &x->dims[1]);
    } else if (wants(c, 1) || wants(c, 3)) {
        fail(r, "its statistics are for training");
        return;
    }
    WNNBatchNormalizationOptions options = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
    options.label = label_of(r);
    options.scale = operand_of(r, cast(r, input(c, 1), x->type));
    options.bias = operand_of(r, cast(r, input(c, 2), x->type));
    options.axis = 1;
    options.epsilon = get_float(c, "epsilon", 1e-5);
    WNNOperand a = operand_of(r, x), m = operand_of(r, cast(r, mean, x->type)),
               v = operand_of(r, cast(r, variance, x->type));
    if (a && m && v && !r->failed)
        set_output(
            c, 0, make_operand(r, x->type, wnnGraphBuilderBatchNormalization(r->builder, a, m, v, &options)));
}

void record_instance_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    if (x->rank < 3) {
        fail(r, "an input of rank %zu", x->rank);
        return;
    }
    int64_t dims[4] = {x->dims[0], x->dims[1], product(x->dims + 2, x->rank - 2), 1};
    if (x->rank == 4)
        memcpy(dims, x->dims, sizeof dims);
    WNNInstanceNormalizationOptions options = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
    options.label = label_of(r);
    options.scale = operand_of(r, input(c, 1));
    options.bias = operand_of(r, input(c, 2));
    options.epsilon = get_float(c, "epsilon", 1e-5);
    WNNOperand a = operand_of(r, reshape(r, x, 4, dims));
    if (a && !r->failed)
        set_output(
            c, 0,
            reshape(r,
                    make_operand(r, x->type, wnnGraphBuilderInstanceNormalization(r->builder, a, &options)),
                    x->rank, x->dims));
}

// Over the axes from `axis` on; scale and bias of their shape, or NULL.
static struct tensor *normalize(struct recording *r, struct tensor *x, size_t axis, struct tensor *scale,
                                struct tensor *bias, double epsilon)
{
    if (!x || r->failed)
        return NULL;
    size_t count = x->rank - axis;
    uint32_t axes[MAX_RANK];
    for (size_t i = 0; i < count; i++)
        axes[i] = (uint32_t)(axis + i);
    struct tensor *more[2] = {scale, bias};
    for (size_t i = 0; i < 2; i++)
        if (more[i] &&
            (more[i]->rank != count || memcmp(more[i]->dims, x->dims + axis, count * sizeof x->dims[0])))
            more[i] = expand(r, more[i], count, x->dims + axis);
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    options.label = label_of(r);
    options.axes = (WNNUint32List){axes, count};
    options.epsilon = epsilon;
    options.scale = more[0] ? operand_of(r, more[0]) : NULL;
    options.bias = more[1] ? operand_of(r, more[1]) : NULL;
    WNNOperand a = operand_of(r, x);
    return a && !r->failed
               ? make_operand(r, x->type, wnnGraphBuilderLayerNormalization(r->builder, a, &options))
               : NULL;
}

// x / sqrt(mean(x^2) + epsilon) * scale; gives the divisor's reciprocal if `inverse` is not NULL.
static struct tensor *normalize_root(struct recording *r, struct tensor *x, size_t axis, struct tensor *scale,
                                     double epsilon, struct tensor **inverse)
{
    size_t axes[MAX_RANK], count = 0;
    for (size_t i = axis; x && i < x->rank; i++)
        axes[count++] = i;
    struct tensor *mean = reduce(r, MEAN, binary(r, MUL, x, x), count, axes, true);
    struct tensor *root = unary(r, SQRT, with_number(r, ADD, mean, epsilon));
    if (inverse)
        *inverse = unary(r, RECIPROCAL, root);
    struct tensor *y = binary(r, DIV, x, root);
    return scale ? binary(r, MUL, y, scale) : y;
}

// Parameter 1: without means.
void record_layer_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *mean, *variance;
    size_t axis, axes[MAX_RANK], count = 0;
    double epsilon = get_float(c, "epsilon", 1e-5);
    if (!find_axis(r, get_int(c, "axis", -1), x->rank, &axis))
        return;
    for (size_t i = axis; i < x->rank; i++)
        axes[count++] = i;
    if (c->parameter) {
        struct tensor *inverse = NULL;
        set_output(c, 0, normalize_root(r, x, axis, input(c, 1), epsilon, &inverse));
        set_output(c, 1, inverse);
        return;
    }
    set_output(c, 0, normalize(r, x, axis, input(c, 1), input(c, 2), epsilon));
    if (wants(c, 1) || wants(c, 2)) {
        moments(r, x, count, axes, &mean, &variance);
        set_output(c, 1, mean);
        set_output(c, 2, unary(r, RECIPROCAL, unary(r, SQRT, with_number(r, ADD, variance, epsilon))));
    }
}

// Parameter 1: without means. Inputs: input, skip, gamma, then beta (unless 1) and bias.
void record_skip_layer_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *sum = binary(r, ADD, input(c, 0), input(c, 1)), *bias = input(c, c->parameter ? 3 : 4);
    double epsilon = get_float(c, "epsilon", 1e-12);
    sum = bias ? binary(r, ADD, sum, bias) : sum;
    if (!sum || sum->rank < 1)
        return;
    if (wants(c, 1) || wants(c, 2)) {
        fail(r, "its statistics are for training");
        return;
    }
    set_output(c, 0,
               c->parameter ? normalize_root(r, sum, sum->rank - 1, input(c, 2), epsilon, NULL)
                            : normalize(r, sum, sum->rank - 1, input(c, 2), input(c, 3), epsilon));
    set_output(c, 3, sum);
}

void record_group_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *scale = input(c, 1), *bias = input(c, 2);
    int64_t groups = get_int(c, "num_groups", 0);
    if (x->rank < 3 || groups < 1 || x->dims[1] % groups) {
        fail(r, "%lld groups of channels", (long long)groups);
        return;
    }
    const int64_t dims[] = {x->dims[0] * groups, count_elements(x) / (x->dims[0] * groups)};
    struct tensor *y =
        reshape(r, normalize(r, reshape(r, x, 2, dims), 1, NULL, NULL, get_float(c, "epsilon", 1e-5)),
                x->rank, x->dims);
    struct tensor *more[2] = {scale, bias};
    for (size_t i = 0; i < 2; i++) {
        if (more[i]->rank != 1 || (more[i]->dims[0] != groups && more[i]->dims[0] != x->dims[1])) {
            fail(r, "a scale or bias of other channels");
            return;
        }
        if (more[i]->dims[0] == groups && groups != x->dims[1]) { // a number a group, up to operator set 20
            const int64_t one[] = {groups, 1}, each[] = {groups, x->dims[1] / groups};
            more[i] = reshape(r, expand(r, reshape(r, more[i], 2, one), 2, each), 1, &x->dims[1]);
        }
        y = binary(r, i ? ADD : MUL, y, along_channels(r, more[i], x->rank));
    }
    set_output(c, 0, y);
}

void record_mean_variance_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *mean, *variance;
    static int64_t usual[] = {0, 2, 3};
    size_t count, axes[MAX_RANK];
    int64_t *numbers = get_ints(c, "axes", &count);
    if (!numbers) {
        numbers = usual;
        count = 3;
    }
    if (count > MAX_RANK) {
        fail(r, "%zu axes", count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (!find_axis(r, numbers[i], x->rank, &axes[i]))
            return;
    moments(r, x, count, axes, &mean, &variance);
    set_output(c, 0,
               binary(r, DIV, binary(r, SUB, x, mean), with_number(r, ADD, unary(r, SQRT, variance), 1e-9)));
}

void record_lp_normalization(struct call *c)
{
    struct tensor *x = input(c, 0);
    size_t axis;
    if (find_axis(c->r, get_int(c, "axis", -1), x->rank, &axis))
        set_output(c, 0, binary(c->r, DIV, x, reduce_axis(c->r, get_int(c, "p", 2) == 1 ? L1 : L2, x, axis)));
}

// Sums of squares of neighboring channels are a pool over them.
void record_lrn(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    int64_t size = get_int(c, "size", 0);
    double alpha = get_float(c, "alpha", 0.0001), beta = get_float(c, "beta", 0.75),
           bias = get_float(c, "bias", 1);
    if (x->rank < 3 || size < 1 || size > 65536) {
        fail(r, "%lld channels of a tensor of rank %zu", (long long)size, x->rank);
        return;
    }
    int64_t before[4] = {0, 0, (size - 1) / 2, 0}, after[4] = {0, 0, size / 2, 0};
    int64_t flat[] = {x->dims[0], 1, x->dims[1], product(x->dims + 2, x->rank - 2)};
    struct tensor *squares =
        pad(r, reshape(r, binary(r, MUL, x, x), 4, flat), before, after, WNNPaddingMode_Constant, 0);
    uint32_t window[] = {(uint32_t)size, 1};
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    options.label = label_of(r);
    options.windowDimensions = (WNNUint32List){window, 2};
    WNNOperand operand = operand_of(r, squares);
    if (!operand)
        return;
    struct tensor *mean =
        make_operand(r, x->type, wnnGraphBuilderAveragePool2d(r->builder, operand, &options));
    mean = reshape(r, mean, x->rank, x->dims);
    struct tensor *base = with_number(r, ADD, with_number(r, MUL, mean, alpha), bias);
    set_output(c, 0, binary(r, DIV, x, with_number(r, POW, base, beta)));
}

// Parameter 1: the logarithm, 2: 1 at the first largest, 0 elsewhere.
void record_softmax(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *t = x;
    size_t axis, at;
    if (!find_axis(r, get_int(c, "axis", c->version < 13 ? 1 : -1), x->rank, &axis))
        return;
    at = axis;
    if (c->version < 13) { // over all axes from there on
        const int64_t flat[] = {product(x->dims, axis), product(x->dims + axis, x->rank - axis)};
        t = axis + 1 == x->rank ? x : reshape(r, x, 2, flat);
        at = axis + 1 == x->rank ? axis : 1;
    }
    if (!t)
        return;
    if (c->parameter == 0) {
        t = softmax(r, t, at);
    } else if (c->parameter == 1) {
        t = binary(r, SUB, t, reduce_axis(r, MAXIMUM, t, at));
        t = binary(r, SUB, t, unary(r, LOG, reduce_axis(r, SUM, unary(r, EXP, t), at)));
    } else {
        int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
        dims[at] = t->dims[at];
        struct tensor *range = reshape(r, make_range(r, ONNX_INT64, 0, t->dims[at], 1), t->rank, dims);
        t = cast(r, binary(r, EQUAL, range, arg_max(r, t, at, false, true)), x->type);
    }
    set_output(c, 0, reshape(r, t, x->rank, x->dims));
}
