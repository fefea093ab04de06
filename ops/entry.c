// SPDX-License-Identifier: Apache-2.0
//
// The public functions of webnn/ops.h. Those with one to three operands and options come from the operator
// table; the others pack their arguments into the attributes struct of ops/op.h.

#include "ops/op.h"

static WNNOperand call_one(WNNGraphBuilder builder, enum op op, size_t count, const WNNOperand *operands,
                           const void *attrs)
{
    WNNOperand output = NULL;
    wnn_builder_call(builder, op, count, operands, attrs, 1, &output);
    return output;
}

#define OP1(class, id, method, options_type, ...)                                                            \
    WNNOperand wnnGraphBuilder##method(WNNGraphBuilder builder, WNNOperand a,                                \
                                       const WNN##options_type##Options *options)                            \
    {                                                                                                        \
        return call_one(builder, WNN_OP_##id, 1, &a, options);                                               \
    }
#define OP2(class, id, method, options_type, ...)                                                            \
    WNNOperand wnnGraphBuilder##method(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,                  \
                                       const WNN##options_type##Options *options)                            \
    {                                                                                                        \
        return call_one(builder, WNN_OP_##id, 2, (WNNOperand[]){a, b}, options);                             \
    }
#define OP3(class, id, method, options_type, ...)                                                            \
    WNNOperand wnnGraphBuilder##method(WNNGraphBuilder builder, WNNOperand a, WNNOperand b, WNNOperand c,    \
                                       const WNN##options_type##Options *options)                            \
    {                                                                                                        \
        return call_one(builder, WNN_OP_##id, 3, (WNNOperand[]){a, b, c}, options);                          \
    }
#define OPX(...)
#include "ops/ops.def"

static WNNOperand arg_min_max(WNNGraphBuilder builder, enum op op, WNNOperand input, uint32_t axis,
                              const WNNArgMinMaxOptions *options)
{
    struct arg_min_max_attrs attrs = {.options = WNN_ARG_MIN_MAX_OPTIONS_INIT, .axis = axis};
    if (options)
        attrs.options = *options;
    return call_one(builder, op, 1, &input, &attrs);
}

WNNOperand wnnGraphBuilderArgMin(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                 const WNNArgMinMaxOptions *options)
{
    return arg_min_max(builder, WNN_OP_argMin, input, axis, options);
}

WNNOperand wnnGraphBuilderArgMax(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                 const WNNArgMinMaxOptions *options)
{
    return arg_min_max(builder, WNN_OP_argMax, input, axis, options);
}

WNNOperand wnnGraphBuilderCast(WNNGraphBuilder builder, WNNOperand input, WNNDataType dataType,
                               const WNNOperatorOptions *options)
{
    struct cast_attrs attrs = {.options = WNN_OPERATOR_OPTIONS_INIT, .dataType = dataType};
    if (options)
        attrs.options = *options;
    return call_one(builder, WNN_OP_cast, 1, &input, &attrs);
}

WNNOperand wnnGraphBuilderConcat(WNNGraphBuilder builder, size_t inputCount, const WNNOperand *inputs,
                                 uint32_t axis, const WNNOperatorOptions *options)
{
    struct concat_attrs attrs = {.options = WNN_OPERATOR_OPTIONS_INIT, .axis = axis};
    if (options)
        attrs.options = *options;
    return call_one(builder, WNN_OP_concat, inputs ? inputCount : 0, inputs, &attrs);
}

WNNOperand wnnGraphBuilderCumulativeSum(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                        const WNNCumulativeSumOptions *options)
{
    struct cumulative_sum_attrs attrs = {.options = WNN_CUMULATIVE_SUM_OPTIONS_INIT, .axis = axis};
    if (options)
        attrs.options = *options;
    return call_one(builder, WNN_OP_cumulativeSum, 1, &input, &attrs);
}

static WNNOperand with_shape(WNNGraphBuilder builder, enum op op, WNNOperand input, WNNUint32List shape,
                             const WNNOperatorOptions *options)
{
    struct expand_attrs attrs = {.options = WNN_OPERATOR_OPTIONS_INIT, .newShape = shape};
    if (options)
        attrs.options = *options;
    return call_one(builder, op, 1, &input, &attrs);
}

WNNOperand wnnGraphBuilderExpand(WNNGraphBuilder builder, WNNOperand input, WNNUint32List newShape,
                                 const WNNOperatorOptions *options)
{
    return with_shape(builder, WNN_OP_expand, input, newShape, options);
}

WNNOperand wnnGraphBuilderReshape(WNNGraphBuilder builder, WNNOperand input, WNNUint32List newShape,
                                  const WNNOperatorOptions *options)
{
    return with_shape(builder, WNN_OP_reshape, input, newShape, options);
}

size_t wnnGraphBuilderGru(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                          WNNOperand recurrentWeight, uint32_t steps, uint32_t hiddenSize,
                          const WNNGruOptions *options, WNNOperand outputs[2])
{
    struct gru_attrs attrs = {.options = WNN_GRU_OPTIONS_INIT, .steps = steps, .hiddenSize = hiddenSize};
    if (options)
        attrs.options = *options;
    return wnn_builder_call(builder, WNN_OP_gru, 3, (WNNOperand[]){input, weight, recurrentWeight}, &attrs, 2,
                            outputs);
}

WNNOperand wnnGraphBuilderGruCell(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                                  WNNOperand recurrentWeight, WNNOperand hiddenState, uint32_t hiddenSize,
                                  const WNNGruCellOptions *options)
{
    struct gru_cell_attrs attrs = {.options = WNN_GRU_CELL_OPTIONS_INIT, .hiddenSize = hiddenSize};
    if (options)
        attrs.options = *options;
    return call_one(builder, WNN_OP_gruCell, 4, (WNNOperand[]){input, weight, recurrentWeight, hiddenState},
                    &attrs);
}

size_t wnnGraphBuilderLstm(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                           WNNOperand recurrentWeight, uint32_t steps, uint32_t hiddenSize,
                           const WNNLstmOptions *options, WNNOperand outputs[3])
{
    struct lstm_attrs attrs = {.options = WNN_LSTM_OPTIONS_INIT, .steps = steps, .hiddenSize = hiddenSize};
    if (options)
        attrs.options = *options;
    return wnn_builder_call(builder, WNN_OP_lstm, 3, (WNNOperand[]){input, weight, recurrentWeight}, &attrs,
                            3, outputs);
}

size_t wnnGraphBuilderLstmCell(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                               WNNOperand recurrentWeight, WNNOperand hiddenState, WNNOperand cellState,
                               uint32_t hiddenSize, const WNNLstmCellOptions *options, WNNOperand outputs[2])
{
    struct lstm_cell_attrs attrs = {.options = WNN_LSTM_CELL_OPTIONS_INIT, .hiddenSize = hiddenSize};
    if (options)
        attrs.options = *options;
    return wnn_builder_call(builder, WNN_OP_lstmCell, 5,
                            (WNNOperand[]){input, weight, recurrentWeight, hiddenState, cellState}, &attrs, 2,
                            outputs);
}

WNNOperand wnnGraphBuilderPad(WNNGraphBuilder builder, WNNOperand input, WNNUint32List beginningPadding,
                              WNNUint32List endingPadding, const WNNPadOptions *options)
{
    struct pad_attrs attrs = {.options = WNN_PAD_OPTIONS_INIT,
                              .beginningPadding = beginningPadding,
                              .endingPadding = endingPadding};
    if (options)
        attrs.options = *options;
    return call_one(builder, WNN_OP_pad, 1, &input, &attrs);
}

WNNOperand wnnGraphBuilderSlice(WNNGraphBuilder builder, WNNOperand input, WNNUint32List starts,
                                WNNUint32List sizes, const WNNSliceOptions *options)
{
    struct slice_attrs attrs = {.options = WNN_SLICE_OPTIONS_INIT, .starts = starts, .sizes = sizes};
    if (options)
        attrs.options = *options;
    return call_one(builder, WNN_OP_slice, 1, &input, &attrs);
}

WNNOperand wnnGraphBuilderSoftmax(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                  const WNNOperatorOptions *options)
{
    struct softmax_attrs attrs = {.options = WNN_OPERATOR_OPTIONS_INIT, .axis = axis};
    if (options)
        attrs.options = *options;
    return call_one(builder, WNN_OP_softmax, 1, &input, &attrs);
}

static size_t split(WNNGraphBuilder builder, WNNOperand input, struct split_attrs *attrs,
                    const WNNSplitOptions *options, size_t capacity, WNNOperand *outputs)
{
    attrs->options = (WNNSplitOptions)WNN_SPLIT_OPTIONS_INIT;
    if (options)
        attrs->options = *options;
    return wnn_builder_call(builder, WNN_OP_split, 1, &input, attrs, outputs ? capacity : 0, outputs);
}

size_t wnnGraphBuilderSplit(WNNGraphBuilder builder, WNNOperand input, uint32_t splits,
                            const WNNSplitOptions *options, size_t capacity, WNNOperand *outputs)
{
    struct split_attrs attrs = {.count = splits, .sizes = WNN_UINT32_LIST_INIT};
    return split(builder, input, &attrs, options, capacity, outputs);
}

size_t wnnGraphBuilderSplitSizes(WNNGraphBuilder builder, WNNOperand input, WNNUint32List splits,
                                 const WNNSplitOptions *options, size_t capacity, WNNOperand *outputs)
{
    struct split_attrs attrs = {.sizes = splits};
    return split(builder, input, &attrs, options, capacity, outputs);
}

size_t wnnGraphBuilderSplitDynamic(WNNGraphBuilder builder, WNNOperand input, WNNOperand splits,
                                   const WNNSplitOptions *options, size_t capacity, WNNOperand *outputs)
{
    return wnn_builder_call(builder, WNN_OP_splitDynamic, 2, (WNNOperand[]){input, splits}, options,
                            outputs ? capacity : 0, outputs);
}

WNNOperand wnnGraphBuilderTile(WNNGraphBuilder builder, WNNOperand input, WNNUint32List repetitions,
                               const WNNOperatorOptions *options)
{
    struct tile_attrs attrs = {.options = WNN_OPERATOR_OPTIONS_INIT, .repetitions = repetitions};
    if (options)
        attrs.options = *options;
    return call_one(builder, WNN_OP_tile, 1, &input, &attrs);
}

WNNOperand wnnGraphBuilderUnsqueeze(WNNGraphBuilder builder, WNNOperand input, WNNUint32List axes,
                                    const WNNOperatorOptions *options)
{
    struct unsqueeze_attrs attrs = {.options = WNN_OPERATOR_OPTIONS_INIT, .axes = axes};
    if (options)
        attrs.options = *options;
    return call_one(builder, WNN_OP_unsqueeze, 1, &input, &attrs);
}

WNNOperand wnnGraphBuilderNot(WNNGraphBuilder builder, WNNOperand a, const WNNOperatorOptions *options)
{
    return wnnGraphBuilderLogicalNot(builder, a, options);
}

#define OP(...)
#define OP_ACTIVATION(id, method, options_type, ...)                                                         \
    WNNActivation wnnGraphBuilderActivation##method(WNNGraphBuilder builder,                                 \
                                                    const WNN##options_type##Options *options)               \
    {                                                                                                        \
        return wnn_builder_activation(builder, WNN_OP_##id, options);                                        \
    }
#include "ops/ops.def"

// The operator's attributes have an axis, the options of the activation do not.
WNNActivation wnnGraphBuilderActivationSoftmax(WNNGraphBuilder builder, const WNNOperatorOptions *options)
{
    struct softmax_attrs attrs = {.options = WNN_OPERATOR_OPTIONS_INIT};
    if (options)
        attrs.options = *options;
    return wnn_builder_activation(builder, WNN_OP_softmax, &attrs);
}
