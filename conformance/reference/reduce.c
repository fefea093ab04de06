// SPDX-License-Identifier: Apache-2.0
//
// Reference: operators that look at all elements along some axes: reductions, running sums, normalizations.

#include "conformance/reference/kernels.h"

// ---------------------------------------------------------------------------------------------------------------
// Reductions
// ---------------------------------------------------------------------------------------------------------------

static double float_reduction(enum op op, const struct grouping *grouping, size_t group)
{
    double sum = 0, sum_of_magnitudes = 0, sum_of_squares = 0, product = 1;
    double greatest = -INFINITY, least = INFINITY, sum_of_exponentials = 0;
    bool nan = false;
    for (size_t k = 0; k < grouping->members; k++) {
        double x = load(grouping->tensor, member_of(grouping, group, k));
        nan |= isnan(x) != 0;
        sum += x;
        sum_of_magnitudes += fabs(x);
        sum_of_squares += x * x;
        product *= x;
        greatest = x > greatest ? x : greatest;
        least = x < least ? x : least;
    }
    switch (op) {
    case WNN_OP_reduceL1:
        return sum_of_magnitudes;
    case WNN_OP_reduceL2:
        return sqrt(sum_of_squares);
    case WNN_OP_reduceLogSum:
        return log(sum);
    case WNN_OP_reduceLogSumExp:
        if (nan || isinf(greatest))
            return nan ? NAN : greatest;
        for (size_t k = 0; k < grouping->members; k++)
            sum_of_exponentials += exp(load(grouping->tensor, member_of(grouping, group, k)) - greatest);
        return greatest + log(sum_of_exponentials);
    case WNN_OP_reduceMax:
        return nan ? NAN : greatest;
    case WNN_OP_reduceMean:
        return sum / (double)grouping->members;
    case WNN_OP_reduceMin:
        return nan ? NAN : least;
    case WNN_OP_reduceProduct:
        return product;
    case WNN_OP_reduceSum:
        return sum;
    default: // reduceSumSquare
        return sum_of_squares;
    }
}

// Sums and products are taken modulo 2^64, of which the output keeps the low bits.
static __int128 integer_reduction(enum op op, const struct grouping *grouping, size_t group)
{
    WNNDataType type = grouping->tensor->type;
    uint64_t sum = 0, sum_of_magnitudes = 0, sum_of_squares = 0, product = 1;
    __int128 greatest = least_integer(type), least = greatest_integer(type);
    for (size_t k = 0; k < grouping->members; k++) {
        __int128 x = load_integer(grouping->tensor, member_of(grouping, group, k));
        sum += (uint64_t)x;
        sum_of_magnitudes += (uint64_t)(x < 0 ? -x : x);
        sum_of_squares += (uint64_t)x * (uint64_t)x;
        product *= (uint64_t)x;
        greatest = x > greatest ? x : greatest;
        least = x < least ? x : least;
    }
    switch (op) {
    case WNN_OP_reduceL1:
        return sum_of_magnitudes;
    case WNN_OP_reduceMax:
        return greatest;
    case WNN_OP_reduceMin:
        return least;
    case WNN_OP_reduceProduct:
        return product;
    case WNN_OP_reduceSum:
        return sum;
    default: // reduceSumSquare
        return sum_of_squares;
    }
}

void wnn_reference_reduce(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const WNNReduceOptions *options = node->attrs;
    struct grouping grouping = group_along(in, options->axes.data, options->axes.count);
    for (size_t i = 0; i < grouping.groups; i++) {
        if (is_float(in))
            store(out, i, float_reduction((enum op)node->op, &grouping, i));
        else
            store_integer(out, i, integer_reduction((enum op)node->op, &grouping, i));
    }
}

void wnn_reference_arg_min_max(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct arg_min_max_attrs *attrs = node->attrs;
    struct grouping grouping = group_along(in, attrs->axes.data, attrs->axes.count);
    for (size_t i = 0; i < grouping.groups; i++) {
        size_t best = 0;
        bool found = false;
        for (size_t k = 0; k < grouping.members; k++) {
            size_t candidate = member_of(&grouping, i, k), holder = member_of(&grouping, i, best);
            int order = 0; // of the candidate to the best so far
            if (is_float(in)) {
                double a = load(in, candidate), b = load(in, holder);
                if (isnan(a))
                    continue;
                order = (a > b) - (a < b);
            } else {
                __int128 a = load_integer(in, candidate), b = load_integer(in, holder);
                order = (a > b) - (a < b);
            }
            if (node->op == WNN_OP_argMin)
                order = -order;
            if (!found || order > 0 || (order == 0 && attrs->selectLastIndex))
                best = k;
            found = true;
        }
        store_integer(out, i, (__int128)best);
    }
}

void wnn_reference_cumulative_sum(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct cumulative_sum_attrs *attrs = node->attrs;
    struct grouping grouping = group_along(in, &attrs->axis, 1);
    for (size_t i = 0; i < grouping.groups; i++) {
        double sum = 0;
        uint64_t integer_sum = 0;
        for (size_t k = 0; k < grouping.members; k++) {
            size_t at = member_of(&grouping, i, attrs->options.reversed ? grouping.members - 1 - k : k);
            double before = sum;
            uint64_t integer_before = integer_sum;
            if (is_float(in)) {
                sum += load(in, at);
                store(out, at, attrs->options.exclusive ? before : sum);
            } else {
                integer_sum += (uint64_t)load_integer(in, at);
                store_integer(out, at, attrs->options.exclusive ? integer_before : integer_sum);
            }
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Normalizations
// ---------------------------------------------------------------------------------------------------------------

void wnn_reference_softmax(const struct node *node, const struct tensor *in, const struct tensor *out)
{
    const struct softmax_attrs *attrs = node->attrs;
    struct grouping grouping = group_along(in, &attrs->axis, 1);
    for (size_t i = 0; i < grouping.groups; i++) {
        double greatest = -INFINITY, sum = 0;
        for (size_t k = 0; k < grouping.members; k++)
            greatest = fmax(greatest, load(in, member_of(&grouping, i, k)));
        for (size_t k = 0; k < grouping.members; k++)
            sum += exp(load(in, member_of(&grouping, i, k)) - greatest);
        for (size_t k = 0; k < grouping.members; k++) {
            size_t at = member_of(&grouping, i, k);
            store(out, at, exp(load(in, at) - greatest) / sum);
        }
    }
}

// (x - mean) / sqrt(variance + epsilon) * scale + bias with element `index` of scale and bias, where given.
static double normalized(double x, double mean, double variance, double epsilon, const struct tensor *scale,
                         const struct tensor *bias, size_t index)
{
    double y = (x - mean) / sqrt(variance + epsilon);
    if (scale->data != NULL)
        y *= load(scale, index);
    if (bias->data != NULL)
        y += load(bias, index);
    return y;
}

void wnn_reference_batch_normalization(const struct node *node, const struct tensor *in,
                                       const struct tensor *out)
{
    const WNNBatchNormalizationOptions *options = node->attrs;
    for (size_t i = 0; i < out->count; i++) {
        size_t at[WNN_MAX_RANK] = {0};
        coordinates_of(out, i, at);
        size_t channel = at[options->axis];
        store(out, i,
              normalized(load(&in[0], i), load(&in[1], channel), load(&in[2], channel), options->epsilon,
                         &in[3], &in[4], channel));
    }
}

static double mean_of(const struct grouping *grouping, size_t group)
{
    double sum = 0;
    for (size_t k = 0; k < grouping->members; k++)
        sum += load(grouping->tensor, member_of(grouping, group, k));
    return sum / (double)grouping->members;
}

static double variance_of(const struct grouping *grouping, size_t group, double mean)
{
    double sum = 0;
    for (size_t k = 0; k < grouping->members; k++) {
        double difference = load(grouping->tensor, member_of(grouping, group, k)) - mean;
        sum += difference * difference;
    }
    return sum / (double)grouping->members;
}

void wnn_reference_instance_normalization(const struct node *node, const struct tensor *in,
                                          const struct tensor *out)
{
    const WNNInstanceNormalizationOptions *options = node->attrs;
    bool nhwc = options->layout == WNNInputOperandLayout_NHWC;
    const uint32_t axes[2] = {nhwc ? 1 : 2, nhwc ? 2 : 3};
    struct grouping grouping = group_along(&in[0], axes, 2);
    size_t channels = in[0].shape.dim[nhwc ? 3 : 1];
    for (size_t i = 0; i < grouping.groups; i++) {
        double mean = mean_of(&grouping, i), variance = variance_of(&grouping, i, mean);
        for (size_t k = 0; k < grouping.members; k++) {
            size_t at = member_of(&grouping, i, k);
            store(
                out, at,
                normalized(load(&in[0], at), mean, variance, options->epsilon, &in[1], &in[2], i % channels));
        }
    }
}

void wnn_reference_layer_normalization(const struct node *node, const struct tensor *in,
                                       const struct tensor *out)
{
    const WNNLayerNormalizationOptions *options = node->attrs;
    struct grouping grouping = group_along(&in[0], options->axes.data, options->axes.count);
    for (size_t i = 0; i < grouping.groups; i++) {
        double mean = mean_of(&grouping, i), variance = variance_of(&grouping, i, mean);
        for (size_t k = 0; k < grouping.members; k++) {
            size_t at = member_of(&grouping, i, k);
            store(out, at, normalized(load(&in[0], at), mean, variance, options->epsilon, &in[1], &in[2], k));
        }
    }
}
