// SPDX-License-Identifier: Apache-2.0
#include "tools/model/late.h"
#include "tools/model/onnx/call.h"

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

// With the statistics of the batch, which are given too: those of all batches that this one changes, and,
// before operator set 14, its own.
static void use_batch_statistics(struct call *c, struct tensor *x, struct tensor **mean,
                                 struct tensor **variance)
{
    struct recording *r = c->r;
    size_t axes[MAX_RANK], count = 0;
    double momentum = get_float(c, "momentum", 0.9);
    struct tensor *now, *spread;
    for (size_t i = 0; i < x->rank; i++)
        if (i != 1)
            axes[count++] = i;
    moments(r, x, count, axes, &now, &spread);
    set_output(c, 1, mix(r, *mean, now, momentum));
    set_output(c, 2, mix(r, *variance, spread, momentum));
    *mean = reshape(r, now, 1, &x->dims[1]);
    *variance = reshape(r, spread, 1, &x->dims[1]);
    set_output(c, 3, *mean);
    set_output(c, 4, *variance);
}

// With statistics of each activation, [channels, ...], as operator sets before 9 may have them.
static struct tensor *normalize_activations(struct call *c, struct tensor *x, double epsilon)
{
    struct recording *r = c->r;
    struct tensor *root = unary(r, SQRT, with_number(r, ADD, input(c, 4), epsilon));
    struct tensor *scale = binary(r, DIV, input(c, 1), root);
    return binary(r, ADD, binary(r, MUL, binary(r, SUB, x, input(c, 3)), scale), input(c, 2));
}

void record_batch_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *mean = input(c, 3), *variance = input(c, 4);
    bool trains = c->version < 14 ? wants(c, 1) || wants(c, 2) || wants(c, 3) || wants(c, 4)
                                  : get_int(c, "training_mode", 0) != 0;
    double epsilon = get_float(c, "epsilon", 1e-5);
    if (x->rank < 2) {
        fail(r, "an input of rank %zu", x->rank);
        return;
    }
    if (c->version < 9 && !get_int(c, "spatial", 1)) {
        set_output(c, 0, normalize_activations(c, x, epsilon));
        return;
    }
    if (trains)
        use_batch_statistics(c, x, &mean, &variance);
    WNNBatchNormalizationOptions options = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
    options.label = label_of(r);
    options.scale = operand_of(r, cast(r, input(c, 1), x->type));
    options.bias = operand_of(r, cast(r, input(c, 2), x->type));
    options.axis = 1;
    options.epsilon = epsilon;
    WNNOperand a = operand_of(r, x), m = operand_of(r, cast(r, mean, x->type)),
               v = operand_of(r, cast(r, variance, x->type));
    if (a && m && v && !r->failed)
        set_output(
            c, 0, make_operand(r, x->type, wnnGraphBuilderBatchNormalization(r->builder, a, m, v, &options)));
}

// What is normalized, as float32 where the epsilon would be 0 as float16: a model means it for what is all
// the same, of which float16 would make NaN.
static struct tensor *widen(struct recording *r, struct tensor *x, double epsilon)
{
    bool vanishes = epsilon > 0 && epsilon < 0x1p-25;
    return x && x->type == ONNX_FLOAT16 && vanishes ? cast(r, x, ONNX_FLOAT) : x;
}

void record_instance_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    if (x->rank < 3) {
        fail(r, "an input of rank %zu", x->rank);
        return;
    }
    int64_t dims[4] = {x->dims[0], x->dims[1], x->rank == 4 ? 0 : size_product(r, x->dims + 2, x->rank - 2),
                       1};
    if (x->rank == 4)
        memcpy(dims, x->dims, sizeof dims);
    WNNInstanceNormalizationOptions options = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
    options.label = label_of(r);
    options.epsilon = get_float(c, "epsilon", 1e-5);
    options.scale = operand_of(r, widen(r, input(c, 1), options.epsilon));
    options.bias = operand_of(r, widen(r, input(c, 2), options.epsilon));
    struct tensor *wide = widen(r, reshape(r, x, 4, dims), options.epsilon);
    WNNOperand a = operand_of(r, wide);
    if (!a || r->failed)
        return;
    WNNOperand y = wnnGraphBuilderInstanceNormalization(r->builder, a, &options);
    set_output(c, 0, reshape(r, cast(r, make_operand(r, wide->type, y), x->type), x->rank, x->dims));
}

struct tensor *normalize(struct recording *r, struct tensor *x, size_t axis, struct tensor *scale,
                         struct tensor *bias, double epsilon)
{
    if (!x || r->failed)
        return NULL;
    size_t count = x->rank - axis;
    uint32_t axes[MAX_RANK];
    for (size_t i = 0; i < count; i++)
        axes[i] = (uint32_t)(axis + i);
    struct tensor *wide = widen(r, x, epsilon),
                  *more[2] = {widen(r, scale, epsilon), widen(r, bias, epsilon)};
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
    WNNOperand a = operand_of(r, wide);
    if (!a || r->failed)
        return NULL;
    WNNOperand y = wnnGraphBuilderLayerNormalization(r->builder, a, &options);
    return cast(r, make_operand(r, wide->type, y), x->type);
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

// Outputs 1 and 2: the mean, and the reciprocal of the deviation, as float32 at least.
static void set_moments(struct call *c, struct tensor *x, size_t axis, double epsilon)
{
    struct recording *r = c->r;
    struct tensor *mean, *variance;
    size_t axes[MAX_RANK], count = 0;
    for (size_t i = axis; i < x->rank; i++)
        axes[count++] = i;
    x = x->type == ONNX_FLOAT16 || x->type == ONNX_BFLOAT16 ? cast(r, x, ONNX_FLOAT) : x;
    moments(r, x, count, axes, &mean, &variance);
    set_output(c, 1, mean);
    set_output(c, 2, unary(r, RECIPROCAL, unary(r, SQRT, with_number(r, ADD, variance, epsilon))));
}

// Parameter 1: without means.
void record_layer_normalization(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0);
    size_t axis;
    double epsilon = get_float(c, "epsilon", 1e-5);
    if (!find_axis(r, get_int(c, "axis", -1), x->rank, &axis))
        return;
    if (c->parameter) {
        struct tensor *inverse = NULL;
        set_output(c, 0, normalize_root(r, x, axis, input(c, 1), epsilon, &inverse));
        set_output(c, 1, inverse);
        return;
    }
    set_output(c, 0, normalize(r, x, axis, input(c, 1), input(c, 2), epsilon));
    if (wants(c, 1) || wants(c, 2))
        set_moments(c, x, axis, epsilon);
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
    struct tensor *inverse = NULL;
    set_output(c, 0,
               c->parameter ? normalize_root(r, sum, sum->rank - 1, input(c, 2), epsilon, &inverse)
                            : normalize(r, sum, sum->rank - 1, input(c, 2), input(c, 3), epsilon));
    set_output(c, 3, sum);
    if (c->parameter)
        set_output(c, 2, inverse);
    else if (wants(c, 1) || wants(c, 2))
        set_moments(c, sum, sum->rank - 1, epsilon);
}

// Groups of channels, which are the second axis; scale and bias have a number a channel or a group.
static struct tensor *normalize_groups(struct recording *r, struct tensor *x, int64_t groups,
                                       struct tensor *scale, struct tensor *bias, double epsilon)
{
    if (!x || r->failed)
        return NULL;
    if (x->rank < 3 || groups < 1 || is_late(x->dims[1]) || x->dims[1] % groups || count_elements(x) == 0)
        return fail(r, "%lld groups of channels", (long long)groups);
    const int64_t dims[] = {
        compute_size(r, MUL, x->dims[0], groups),
        compute_size(r, MUL, x->dims[1] / groups, size_product(r, x->dims + 2, x->rank - 2))};
    struct tensor *more[2] = {scale, bias},
                  *y = reshape(r, normalize(r, reshape(r, x, 2, dims), 1, NULL, NULL, epsilon), x->rank,
                               x->dims);
    for (size_t i = 0; i < 2; i++) {
        if (more[i]->rank != 1 || (more[i]->dims[0] != groups && more[i]->dims[0] != x->dims[1]))
            return fail(r, "a scale or bias of other channels");
        if (more[i]->dims[0] == groups && groups != x->dims[1]) { // a number a group, up to operator set 20
            const int64_t one[] = {groups, 1}, each[] = {groups, x->dims[1] / groups};
            more[i] = reshape(r, expand(r, reshape(r, more[i], 2, one), 2, each), 1, &x->dims[1]);
        }
        y = binary(r, i ? ADD : MUL, y, along_channels(r, more[i], x->rank));
    }
    return y;
}

void record_group_normalization(struct call *c)
{
    set_output(c, 0,
               normalize_groups(c->r, input(c, 0), get_int(c, "num_groups", 0), input(c, 1), input(c, 2),
                                get_float(c, "epsilon", 1e-5)));
}

// What is added to an image with channels last: an image, or a number for each channel of each image.
static struct tensor *skip_of(struct recording *r, struct tensor *skip, size_t rank)
{
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    if (!skip || skip->rank != 2 || rank < 3)
        return skip;
    dims[0] = skip->dims[0];
    dims[rank - 1] = skip->dims[1];
    return reshape(r, skip, rank, dims);
}

// Of com.microsoft. Parameter 1: after an addition, which is given too.
void record_group_norm(struct call *c)
{
    struct recording *r = c->r;
    struct tensor *x = input(c, 0), *scale = input(c, 1), *bias = input(c, 2);
    int64_t activation = get_int(c, "activation", 0);
    bool last = get_int(c, "channels_last", 1) != 0;
    if (c->parameter) {
        x = binary(r, ADD, x, skip_of(r, input(c, 3), x->rank));
        x = input(c, 4) ? binary(r, ADD, x, input(c, 4)) : x;
        set_output(c, 1, x);
    }
    if (activation < 0 || activation > 1) {
        fail(r, "activation is %lld", (long long)activation);
        return;
    }
    struct tensor *y = normalize_groups(r, last ? channels_second(r, x) : x, get_int(c, "groups", 0),
                                        cast(r, scale, x ? x->type : 0), cast(r, bias, x ? x->type : 0),
                                        get_float(c, "epsilon", 1e-5));
    y = last ? channels_last(r, y) : y;
    set_output(c, 0, activation ? binary(r, MUL, y, unary(r, SIGMOID, y)) : y);
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
    int64_t flat[] = {x->dims[0], 1, x->dims[1], size_product(r, x->dims + 2, x->rank - 2)};
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

enum softmax_kind {
    SOFTMAX,
    LOG_SOFTMAX,
    HARDMAX // 1 at the first largest, 0 elsewhere
};

static struct tensor *apply_softmax(struct recording *r, enum softmax_kind kind, struct tensor *t, size_t at)
{
    if (!t || kind == SOFTMAX)
        return t ? softmax(r, t, at) : NULL;
    if (kind == LOG_SOFTMAX) {
        t = binary(r, SUB, t, reduce_axis(r, MAXIMUM, t, at));
        return binary(r, SUB, t, unary(r, LOG, reduce_axis(r, SUM, unary(r, EXP, t), at)));
    }
    int64_t dims[MAX_RANK] = {1, 1, 1, 1, 1, 1, 1, 1};
    dims[at] = t->dims[at];
    struct tensor *range = reshape(r, make_range(r, ONNX_INT64, 0, t->dims[at], 1), t->rank, dims);
    return cast(r, binary(r, EQUAL, range, arg_max(r, t, at, false, true)), t->type);
}

static struct tensor *softmax_over(struct recording *r, enum softmax_kind kind, struct tensor *x,
                                   int64_t given, bool flattens)
{
    size_t axis;
    if (!x || !find_axis(r, given, x->rank, &axis))
        return NULL;
    if (!flattens || axis + 1 == x->rank)
        return apply_softmax(r, kind, x, axis);
    const int64_t flat[] = {size_product(r, x->dims, axis), size_product(r, x->dims + axis, x->rank - axis)};
    return reshape(r, apply_softmax(r, kind, reshape(r, x, 2, flat), 1), x->rank, x->dims);
}

struct tensor *softmax_from(struct recording *r, struct tensor *x, int64_t axis, bool flattens)
{
    return softmax_over(r, SOFTMAX, x, axis, flattens);
}

void record_softmax(struct call *c)
{
    bool flattens = c->version < 13;
    set_output(c, 0,
               softmax_over(c->r, (enum softmax_kind)c->parameter, input(c, 0),
                            get_int(c, "axis", flattens ? 1 : -1), flattens));
}

void record_bias_softmax(struct call *c)
{
    struct tensor *sum = binary(c->r, ADD, input(c, 0), input(c, 1));
    set_output(c, 0, softmax_over(c->r, SOFTMAX, sum, get_int(c, "axis", 1), true));
}
