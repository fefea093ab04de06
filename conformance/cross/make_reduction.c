// SPDX-License-Identifier: Apache-2.0
//
// Random graphs: reductions and normalizations.

#include "conformance/cross/generator.h"

// A random subset of the dimensions; the number of elements that it joins is in *members.
static WNNUint32List random_axes(struct random_graph *graph, const struct shape *shape, uint32_t *data,
                                 double *members)
{
    WNNUint32List axes = {data, 0};
    *members = 1;
    for (unsigned d = shape->rank; d-- > 0;)
        if (chance(graph, 50)) {
            data[axes.count++] = d;
            *members *= shape->dim[d];
        }
    return axes;
}

void wnn_make_reduction(struct random_graph *graph, enum op op)
{
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    uint32_t data[WNN_MAX_RANK];
    double members;
    bool logarithm = op == WNN_OP_reduceLogSum;
    struct wish wish = any_of(first_types(op), 0, WNN_MAX_RANK);
    wish.low = logarithm ? 0.2 : wish.low;
    struct value *x = wnn_random_pick(graph, wish);
    if (x == NULL)
        return;
    options.axes = random_axes(graph, &x->type.shape, data, &members);
    if (chance(graph, 20)) {
        options.axes = (WNNUint32List)WNN_UINT32_LIST_INIT;
        members = (double)wnn_shape_elements(&x->type.shape);
    }
    options.keepDimensions = chance(graph, 50);
    double most = magnitude(x) + log(members) + 3;
    if (op == WNN_OP_reduceSum || op == WNN_OP_reduceL1)
        most = members * magnitude(x);
    else if (op == WNN_OP_reduceSumSquare || op == WNN_OP_reduceL2)
        most = members * magnitude(x) * magnitude(x);
    else if (op == WNN_OP_reduceProduct)
        most = members > 24 ? NO_LIMIT : pow(fmax(magnitude(x), 1), members);
    if (members == 0)
        most = logarithm || op == WNN_OP_reduceLogSumExp ? NO_LIMIT : 1;
    else if (wnn_dtype_is_float(x->type.type) && !fits(x, most))
        return;
    wnn_random_emit(graph, op, 1, &x, &options,
                    op == WNN_OP_reduceMin || op == WNN_OP_reduceMax ? x->low : -most, most);
}

void wnn_make_arg(struct random_graph *graph, enum op op)
{
    struct value *x =
        wnn_random_pick(graph, (struct wish){FLOATS | INTEGERS, 1, WNN_MAX_RANK, true, -NO_LIMIT, NO_LIMIT});
    if (x == NULL)
        return;
    if (op == WNN_OP_argMin || op == WNN_OP_argMax) {
        struct arg_min_max_attrs attrs = {.options = WNN_ARG_MIN_MAX_OPTIONS_INIT,
                                          .axes = WNN_UINT32_LIST_INIT};
        attrs.axis = below(graph, x->type.shape.rank);
        attrs.options.keepDimensions = chance(graph, 50);
        attrs.options.outputDataType = chance(graph, 50) ? WNNDataType_Int64 : WNNDataType_Int32;
        wnn_random_emit(graph, op, 1, &x, &attrs, 0, 0);
        return;
    }
    WNNArgMinMaxAxesOptions options = WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT;
    uint32_t data[WNN_MAX_RANK];
    double members;
    if (chance(graph, 70))
        options.axes = random_axes(graph, &x->type.shape, data, &members);
    options.keepDimensions = chance(graph, 50);
    options.selectLastIndex = chance(graph, 50);
    wnn_random_emit(graph, op, 1, &x, &options, 0, 0);
}

// cumulativeSum, softmax
void wnn_make_along_axis(struct random_graph *graph, enum op op)
{
    bool flat = op == WNN_OP_softmax2d;
    struct value *x = wnn_random_pick(graph, any_of(first_types(op), flat ? 2 : 1, flat ? 2 : WNN_MAX_RANK));
    if (x == NULL)
        return;
    uint32_t axis = below(graph, x->type.shape.rank);
    if (op == WNN_OP_cumulativeSum) {
        struct cumulative_sum_attrs attrs = {WNN_CUMULATIVE_SUM_OPTIONS_INIT, axis};
        attrs.options.exclusive = chance(graph, 50);
        attrs.options.reversed = chance(graph, 50);
        double most = magnitude(x) * x->type.shape.dim[axis];
        if (!wnn_dtype_is_float(x->type.type) || fits(x, most))
            wnn_random_emit(graph, op, 1, &x, &attrs, -most, most);
        return;
    }
    struct softmax_attrs attrs = {WNN_OPERATOR_OPTIONS_INIT, axis};
    wnn_random_emit(graph, op, 1, &x, flat ? (const void *)&attrs.options : &attrs, 0, 1);
}

void wnn_make_normalization(struct random_graph *graph, enum op op)
{
    bool instance = op == WNN_OP_instanceNormalization, batch = op == WNN_OP_batchNormalization;
    struct value *x =
        wnn_random_pick(graph, any_of(FLOATS, instance ? 4 : batch, instance ? 4 : WNN_MAX_RANK));
    if (x == NULL)
        return;
    const struct shape *shape = &x->type.shape;
    WNNDataType type = x->type.type;
    if (batch) {
        WNNBatchNormalizationOptions options = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
        options.axis = below(graph, shape->rank);
        struct shape channels = vector_of(shape->dim[options.axis]);
        struct value *operands[] = {x, wnn_random_new(graph, type, channels),
                                    wnn_random_new_within(graph, type, channels, 0.25, 4)};
        if (chance(graph, 60))
            options.scale = operand_of(wnn_random_new(graph, type, channels));
        if (chance(graph, 60))
            options.bias = operand_of(wnn_random_new(graph, type, channels));
        options.activation = wnn_random_activation(graph, 30);
        double most = 6 * (magnitude(x) + 2) + 3;
        wnn_random_emit(graph, op, 3, operands, &options, -most, most);
        return;
    }
    double most = 2.1 * sqrt((double)wnn_shape_elements(shape)) + 3;
    if (instance) {
        WNNInstanceNormalizationOptions options = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
        options.layout = (WNNInputOperandLayout)(1 + below(graph, 2));
        options.epsilon = 0.01;
        struct shape channels = vector_of(shape->dim[options.layout == WNNInputOperandLayout_NHWC ? 3 : 1]);
        if (chance(graph, 60))
            options.scale = operand_of(wnn_random_new(graph, type, channels));
        if (chance(graph, 60))
            options.bias = operand_of(wnn_random_new(graph, type, channels));
        wnn_random_emit(graph, op, 1, &x, &options, -most, most);
        return;
    }
    WNNLayerNormalizationOptions options = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    uint32_t data[WNN_MAX_RANK];
    double members;
    options.epsilon = 0.01;
    options.axes = random_axes(graph, shape, data, &members);
    struct shape joined = {.rank = (unsigned)options.axes.count};
    for (unsigned d = 0; d < joined.rank; d++)
        joined.dim[d] = shape->dim[data[d]];
    if (chance(graph, 60))
        options.scale = operand_of(wnn_random_new(graph, type, joined));
    if (chance(graph, 60))
        options.bias = operand_of(wnn_random_new(graph, type, joined));
    wnn_random_emit(graph, op, 1, &x, &options, -most, most);
}
