// SPDX-License-Identifier: Apache-2.0
//
// The operators of the graph builder: option structs, then one method an operator, in the order of the specification.
//
// What holds for every method here
//
//   Result       The operand, or NULL after an error, which the builder keeps (wnnGraphBuilderGetError).
//   Options      NULL means the INIT values. `label` appears in every message about the operator.
//   Thread       The builder's.
//   Errors       All are TypeError unless the context is lost (InvalidStateError), memory or the builder's limits ran
//                out (OutOfMemory): an operand of another builder, a data type or rank outside of the table that
//                `webnn ops` prints and wnnContextGetOpSupportLimits returns, a result beyond the size limits, and the
//                rules in the comment.
//   Notation     T is the data type of the first operand. Shapes are written [N, C, H, W]. "broadcast" aligns shapes at
//                their last dimension, where equal sizes or a 1 on either side go together. Lists marked "absent"
//                distinguish { NULL, WNN_LIST_ABSENT } from a list of no items.
//   Empty        Dimensions may be 0, unless the limit acceptEmptyTensors is false. Results that have no elements either are
//                always defined. Of no elements a sum is 0, of products too (matmul, gemm, convolutions, recurrent networks
//                add what is beside it); a product is 1; the logarithm of a sum is -Infinity. concat, scatterElements,
//                scatterND and constant padding add to what there is. TypeError where elements would have to be made of
//                none in any other way: by reduceMax, reduceMin, reduceMean, argMax, argMin, averagePool2d, maxPool2d,
//                resample2d, the gathers.
//   Numbers      alpha, beta, epsilon and scales must be finite; they are rounded to T before use.

#ifndef WEBNN_OPS_H_
#define WEBNN_OPS_H_

#include <webnn/webnn.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---------------------------------------------------------------------------------------------------------------
// Enumerations
// ---------------------------------------------------------------------------------------------------------------

typedef enum WNNConv2dFilterOperandLayout {
    WNNConv2dFilterOperandLayout_OIHW = 1,
    WNNConv2dFilterOperandLayout_HWIO = 2,
    WNNConv2dFilterOperandLayout_OHWI = 3,
    WNNConv2dFilterOperandLayout_IHWO = 4,
    WNNConv2dFilterOperandLayout_Force32 = 0x7FFFFFFF
} WNNConv2dFilterOperandLayout;

typedef enum WNNConvTranspose2dFilterOperandLayout {
    WNNConvTranspose2dFilterOperandLayout_IOHW = 1,
    WNNConvTranspose2dFilterOperandLayout_HWOI = 2,
    WNNConvTranspose2dFilterOperandLayout_OHWI = 3,
    WNNConvTranspose2dFilterOperandLayout_Force32 = 0x7FFFFFFF
} WNNConvTranspose2dFilterOperandLayout;

typedef enum WNNInterpolationMode {
    WNNInterpolationMode_NearestNeighbor = 1,
    WNNInterpolationMode_Linear = 2,
    WNNInterpolationMode_Force32 = 0x7FFFFFFF
} WNNInterpolationMode;

// Reflection does not repeat the edge, symmetric does.
typedef enum WNNPaddingMode {
    WNNPaddingMode_Constant = 1,
    WNNPaddingMode_Edge = 2,
    WNNPaddingMode_Reflection = 3,
    WNNPaddingMode_Symmetric = 4,
    WNNPaddingMode_Force32 = 0x7FFFFFFF
} WNNPaddingMode;

// MLRoundingType; the newer text calls the option outputShapeRounding.
typedef enum WNNRoundingType {
    WNNRoundingType_Floor = 1,
    WNNRoundingType_Ceil = 2,
    WNNRoundingType_Force32 = 0x7FFFFFFF
} WNNRoundingType;

typedef enum WNNRecurrentNetworkDirection {
    WNNRecurrentNetworkDirection_Forward = 1,
    WNNRecurrentNetworkDirection_Backward = 2,
    WNNRecurrentNetworkDirection_Both = 3,
    WNNRecurrentNetworkDirection_Force32 = 0x7FFFFFFF
} WNNRecurrentNetworkDirection;

// Order of the update (z), reset (r) and new (n) gates in weights and biases.
typedef enum WNNGruWeightLayout {
    WNNGruWeightLayout_ZRN = 1,
    WNNGruWeightLayout_RZN = 2,
    WNNGruWeightLayout_Force32 = 0x7FFFFFFF
} WNNGruWeightLayout;

// Order of the input, output, forget and cell gates in weights and biases.
typedef enum WNNLstmWeightLayout {
    WNNLstmWeightLayout_IOFG = 1,
    WNNLstmWeightLayout_IFGO = 2,
    WNNLstmWeightLayout_Force32 = 0x7FFFFFFF
} WNNLstmWeightLayout;

// ---------------------------------------------------------------------------------------------------------------
// Options
// ---------------------------------------------------------------------------------------------------------------

// Activations for gru and lstm, in the order of the text; none: the defaults of the operator.
typedef struct WNNActivationList {
    const WNNActivation *data;
    size_t count;
} WNNActivationList;
#define WNN_ACTIVATION_LIST_INIT { NULL, 0 }

// For every operator that has no options of its own.
typedef struct WNNOperatorOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
} WNNOperatorOptions;
#define WNN_OPERATOR_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT }

typedef struct WNNArgMinMaxOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    bool keepDimensions;
    WNNDataType outputDataType; // Int32 or Int64
} WNNArgMinMaxOptions;
#define WNN_ARG_MIN_MAX_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, false, WNNDataType_Int32 }

typedef struct WNNBatchNormalizationOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand scale; // [C]; NULL: 1
    WNNOperand bias; // [C]; NULL: 0
    uint32_t axis;
    double epsilon;
    WNNActivation activation; // applied to the result
} WNNBatchNormalizationOptions;
#define WNN_BATCH_NORMALIZATION_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, 1, 1e-5, NULL }

typedef struct WNNClampOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNNumber minValue; // not given, or NaN: no bound
    WNNNumber maxValue; // not given, or NaN: no bound
} WNNClampOptions;
#define WNN_CLAMP_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_NUMBER_INIT, WNN_NUMBER_INIT }

typedef struct WNNConv2dOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List padding; // [top, bottom, left, right]; absent: zeros
    WNNUint32List strides; // [height, width]; absent: ones
    WNNUint32List dilations; // [height, width]; absent: ones
    uint32_t groups;
    WNNInputOperandLayout inputLayout; // of input and output
    WNNConv2dFilterOperandLayout filterLayout;
    WNNOperand bias; // [output channels]
    WNNActivation activation; // applied to the result
} WNNConv2dOptions;
#define WNN_CONV2D_OPTIONS_INIT                                                                                      \
    { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT, 1,               \
      WNNInputOperandLayout_NCHW, WNNConv2dFilterOperandLayout_OIHW, NULL, NULL }

typedef struct WNNConvTranspose2dOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List padding; // [top, bottom, left, right]; absent: zeros
    WNNUint32List strides; // [height, width]; absent: ones
    WNNUint32List dilations; // [height, width]; absent: ones
    WNNUint32List outputPadding; // [height, width]; absent: zeros
    WNNUint32List outputSizes; // [height, width]; absent: computed
    uint32_t groups;
    WNNInputOperandLayout inputLayout; // of input and output
    WNNConvTranspose2dFilterOperandLayout filterLayout;
    WNNOperand bias; // [output channels]
    WNNActivation activation; // applied to the result
} WNNConvTranspose2dOptions;
#define WNN_CONV_TRANSPOSE2D_OPTIONS_INIT                                                                            \
    { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT,                  \
      WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT, 1, WNNInputOperandLayout_NCHW,                                     \
      WNNConvTranspose2dFilterOperandLayout_IOHW, NULL, NULL }

typedef struct WNNCumulativeSumOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    bool exclusive; // element i sums those before it
    bool reversed; // from the end
} WNNCumulativeSumOptions;
#define WNN_CUMULATIVE_SUM_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, false, false }

typedef struct WNNEluOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    double alpha;
} WNNEluOptions;
#define WNN_ELU_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, 1.0 }

typedef struct WNNGatherOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    uint32_t axis;
} WNNGatherOptions;
#define WNN_GATHER_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, 0 }

typedef struct WNNGemmOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand c; // broadcast to [M, N]; NULL: none
    double alpha;
    double beta;
    bool aTranspose;
    bool bTranspose;
} WNNGemmOptions;
#define WNN_GEMM_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, NULL, 1.0, 1.0, false, false }

typedef struct WNNGruOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand bias; // [directions, 3 hiddenSize]; NULL: 0
    WNNOperand recurrentBias; // [directions, 3 hiddenSize]; NULL: 0
    WNNOperand initialHiddenState; // [directions, batch, hiddenSize]; NULL: 0
    bool resetAfter; // the reset gate after the matrix product
    bool returnSequence; // a second output with every step
    WNNRecurrentNetworkDirection direction;
    WNNGruWeightLayout layout;
    WNNActivationList activations; // none, or 2; none: sigmoid, tanh
} WNNGruOptions;
#define WNN_GRU_OPTIONS_INIT                                                                                         \
    { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, NULL, true, false, WNNRecurrentNetworkDirection_Forward,               \
      WNNGruWeightLayout_ZRN, WNN_ACTIVATION_LIST_INIT }

typedef struct WNNGruCellOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand bias; // [3 hiddenSize]; NULL: 0
    WNNOperand recurrentBias; // [3 hiddenSize]; NULL: 0
    bool resetAfter; // the reset gate after the matrix product
    WNNGruWeightLayout layout;
    WNNActivationList activations; // none, or 2; none: sigmoid, tanh
} WNNGruCellOptions;
#define WNN_GRU_CELL_OPTIONS_INIT                                                                                    \
    { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, true, WNNGruWeightLayout_ZRN, WNN_ACTIVATION_LIST_INIT }

typedef struct WNNHardSigmoidOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    double alpha;
    double beta;
} WNNHardSigmoidOptions;
#define WNN_HARD_SIGMOID_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, 0.2, 0.5 }

typedef struct WNNInstanceNormalizationOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand scale; // [C]; NULL: 1
    WNNOperand bias; // [C]; NULL: 0
    double epsilon;
    WNNInputOperandLayout layout;
} WNNInstanceNormalizationOptions;
#define WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT                                                                      \
    { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, 1e-5, WNNInputOperandLayout_NCHW }

typedef struct WNNLayerNormalizationOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand scale; // one size per axis, in the order of axes; NULL: 1
    WNNOperand bias; // one size per axis, in the order of axes; NULL: 0
    WNNUint32List axes; // absent: all but the first
    double epsilon;
} WNNLayerNormalizationOptions;
#define WNN_LAYER_NORMALIZATION_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, WNN_UINT32_LIST_INIT, 1e-5 }

typedef struct WNNLeakyReluOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    double alpha;
} WNNLeakyReluOptions;
#define WNN_LEAKY_RELU_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, 0.01 }

typedef struct WNNLinearOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    double alpha;
    double beta;
} WNNLinearOptions;
#define WNN_LINEAR_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, 1.0, 0.0 }

typedef struct WNNLstmOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand bias; // [directions, 4 hiddenSize]; NULL: 0
    WNNOperand recurrentBias; // [directions, 4 hiddenSize]; NULL: 0
    WNNOperand peepholeWeight; // [directions, 3 hiddenSize], gates i, o, f; NULL: none
    WNNOperand initialHiddenState; // [directions, batch, hiddenSize]; NULL: 0
    WNNOperand initialCellState; // [directions, batch, hiddenSize]; NULL: 0
    bool returnSequence; // a third output with every step
    WNNRecurrentNetworkDirection direction;
    WNNLstmWeightLayout layout;
    WNNActivationList activations; // none, or 3; none: sigmoid, tanh, tanh
} WNNLstmOptions;
#define WNN_LSTM_OPTIONS_INIT                                                                                        \
    { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, NULL, NULL, NULL, false, WNNRecurrentNetworkDirection_Forward,         \
      WNNLstmWeightLayout_IOFG, WNN_ACTIVATION_LIST_INIT }

typedef struct WNNLstmCellOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand bias; // [4 hiddenSize]; NULL: 0
    WNNOperand recurrentBias; // [4 hiddenSize]; NULL: 0
    WNNOperand peepholeWeight; // [3 hiddenSize], gates i, o, f; NULL: none
    WNNLstmWeightLayout layout;
    WNNActivationList activations; // none, or 3; none: sigmoid, tanh, tanh
} WNNLstmCellOptions;
#define WNN_LSTM_CELL_OPTIONS_INIT                                                                                   \
    { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, NULL, WNNLstmWeightLayout_IOFG, WNN_ACTIVATION_LIST_INIT }

typedef struct WNNPadOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNPaddingMode mode;
    WNNNumber value; // for Constant; not given: 0
} WNNPadOptions;
#define WNN_PAD_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNNPaddingMode_Constant, WNN_NUMBER_INIT }

typedef struct WNNPool2dOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List windowDimensions; // [height, width]; absent: all of the input
    WNNUint32List padding; // [top, bottom, left, right]; absent: zeros
    WNNUint32List strides; // [height, width]; absent: ones
    WNNUint32List dilations; // [height, width]; absent: ones
    WNNInputOperandLayout layout;
    WNNRoundingType roundingType;
    WNNUint32List outputSizes; // [height, width]; absent: computed
} WNNPool2dOptions;
#define WNN_POOL2D_OPTIONS_INIT                                                                                      \
    { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT,                  \
      WNN_UINT32_LIST_INIT, WNNInputOperandLayout_NCHW, WNNRoundingType_Floor, WNN_UINT32_LIST_INIT }

typedef struct WNNReduceOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List axes; // absent: all; empty: none
    bool keepDimensions; // reduced dimensions stay, with size 1
} WNNReduceOptions;
#define WNN_REDUCE_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, false }

typedef struct WNNResample2dOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNInterpolationMode mode;
    WNNFloat32List scales; // one per axis; absent: ones
    WNNUint32List sizes; // one per axis; wins over scales
    WNNUint32List axes; // two; absent: [2, 3]
} WNNResample2dOptions;
#define WNN_RESAMPLE2D_OPTIONS_INIT                                                                                  \
    { NULL, WNN_STRING_VIEW_INIT, WNNInterpolationMode_NearestNeighbor, WNN_FLOAT32_LIST_INIT,                       \
      WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT }

typedef struct WNNReverseOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List axes; // absent: all; empty: none
} WNNReverseOptions;
#define WNN_REVERSE_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT }

typedef struct WNNScatterElementsOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    uint32_t axis;
} WNNScatterElementsOptions;
#define WNN_SCATTER_ELEMENTS_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, 0 }

typedef struct WNNSliceOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List strides; // one per dimension; absent: ones
} WNNSliceOptions;
#define WNN_SLICE_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT }

typedef struct WNNSoftplusOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    double steepness; // finite, not 0
} WNNSoftplusOptions;
#define WNN_SOFTPLUS_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, 1.0 }

typedef struct WNNSplitOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    uint32_t axis;
} WNNSplitOptions;
#define WNN_SPLIT_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, 0 }

typedef struct WNNTransposeOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List permutation; // absent: reversed
} WNNTransposeOptions;
#define WNN_TRANSPOSE_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT }

typedef struct WNNTriangularOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    bool upper; // keep the upper part
    int32_t diagonal; // 0: the main one; positive: above it
} WNNTriangularOptions;
#define WNN_TRIANGULAR_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, true, 0 }

// ---------------------------------------------------------------------------------------------------------------
// Operators
// ---------------------------------------------------------------------------------------------------------------

// Index of the least or greatest element along one axis. Output: outputDataType, the reduced shape. NaN elements are
// passed over (index 0 if all are NaN); of equal elements the first is taken. The axis must be below the rank, its size
// within the range of outputDataType.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-argminmax
WNN_EXPORT WNNOperand wnnGraphBuilderArgMin(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                            const WNNArgMinMaxOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderArgMax(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                            const WNNArgMinMaxOptions *options);

// (input - mean) / sqrt(variance + epsilon) * scale + bias along `axis`; the other operands are [size of that axis].
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-batchnorm
WNN_EXPORT WNNOperand wnnGraphBuilderBatchNormalization(WNNGraphBuilder builder, WNNOperand input,
                                                        WNNOperand mean, WNNOperand variance,
                                                        const WNNBatchNormalizationOptions *options);

// Elements converted to another type: float to integer truncates and saturates (NaN: 0), integer to integer keeps the
// low bits, everything else rounds to nearest.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-cast
WNN_EXPORT WNNOperand wnnGraphBuilderCast(WNNGraphBuilder builder, WNNOperand input, WNNDataType dataType,
                                          const WNNOperatorOptions *options);

// Elements limited to [minValue, maxValue]. The bounds are converted to T; minValue must not be above maxValue.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-clamp
WNN_EXPORT WNNOperand wnnGraphBuilderClamp(WNNGraphBuilder builder, WNNOperand input,
                                           const WNNClampOptions *options);

// 1 to 8192 operands of one type, one after another along `axis`; all other sizes equal.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-concat
WNN_EXPORT WNNOperand wnnGraphBuilderConcat(WNNGraphBuilder builder, size_t inputCount,
                                            const WNNOperand *inputs, uint32_t axis,
                                            const WNNOperatorOptions *options);

// Convolution (the filter is not flipped) of a rank-4 input with zero padding. Output sizes are floor((input + padding -
// (filter - 1) * dilation - 1) / stride) + 1. Input channels = groups * filter input channels; groups divide the output
// channels; strides, dilations and groups are at least 1.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-conv2d
WNN_EXPORT WNNOperand wnnGraphBuilderConv2d(WNNGraphBuilder builder, WNNOperand input, WNNOperand filter,
                                            const WNNConv2dOptions *options);

// Transposed convolution. Output sizes are (input - 1) * stride + (filter - 1) * dilation + 1 - padding + outputPadding,
// with outputPadding below the stride, or outputSizes, less than one stride above what they would be without
// outputPadding. Input channels = filter input channels, divisible by groups; output channels = groups * filter output
// channels.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-convtranspose2d
WNN_EXPORT WNNOperand wnnGraphBuilderConvTranspose2d(WNNGraphBuilder builder, WNNOperand input,
                                                     WNNOperand filter,
                                                     const WNNConvTranspose2dOptions *options);

// Running sums along `axis`.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-cumulativesum
WNN_EXPORT WNNOperand wnnGraphBuilderCumulativeSum(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                                   const WNNCumulativeSumOptions *options);

// Element-wise arithmetic on operands of one type, with broadcasting. Integer division truncates toward zero.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-binary
WNN_EXPORT WNNOperand wnnGraphBuilderAdd(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderSub(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderMul(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderDiv(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderMax(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderMin(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderPow(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                         const WNNOperatorOptions *options);

// Element-wise comparison with broadcasting: uint8, 1 or 0. A comparison with NaN is 0, notEqual is 1.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-logical
WNN_EXPORT WNNOperand wnnGraphBuilderEqual(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                           const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderNotEqual(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                              const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderGreater(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                             const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderGreaterOrEqual(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                                    const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderLesser(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                            const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderLesserOrEqual(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                                   const WNNOperatorOptions *options);

// Logic on uint8, where everything but 0 is true; the result is 1 or 0.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-logical
WNN_EXPORT WNNOperand wnnGraphBuilderLogicalNot(WNNGraphBuilder builder, WNNOperand a,
                                                const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderLogicalAnd(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                                const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderLogicalOr(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                               const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderLogicalXor(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                                const WNNOperatorOptions *options);

// Tests of float elements: uint8, 1 or 0.
WNN_EXPORT WNNOperand wnnGraphBuilderIsNaN(WNNGraphBuilder builder, WNNOperand a,
                                           const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderIsInfinite(WNNGraphBuilder builder, WNNOperand a,
                                                const WNNOperatorOptions *options);

// Element-wise functions of one operand; type and shape of the input. roundEven rounds halves to the even neighbour,
// sign of NaN is 0.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-unary
WNN_EXPORT WNNOperand wnnGraphBuilderAbs(WNNGraphBuilder builder, WNNOperand input,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderCeil(WNNGraphBuilder builder, WNNOperand input,
                                          const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderCos(WNNGraphBuilder builder, WNNOperand input,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderErf(WNNGraphBuilder builder, WNNOperand input,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderExp(WNNGraphBuilder builder, WNNOperand input,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderFloor(WNNGraphBuilder builder, WNNOperand input,
                                           const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderIdentity(WNNGraphBuilder builder, WNNOperand input,
                                              const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderLog(WNNGraphBuilder builder, WNNOperand input,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderNeg(WNNGraphBuilder builder, WNNOperand input,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReciprocal(WNNGraphBuilder builder, WNNOperand input,
                                                const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderRoundEven(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderSign(WNNGraphBuilder builder, WNNOperand input,
                                          const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderSin(WNNGraphBuilder builder, WNNOperand input,
                                         const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderSqrt(WNNGraphBuilder builder, WNNOperand input,
                                          const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderTan(WNNGraphBuilder builder, WNNOperand input,
                                         const WNNOperatorOptions *options);

// (input - zeroPoint) * scale, of the type of scale. scale and zeroPoint have the rank of input and one shape, whose sizes
// divide those of input: each of their elements serves a block. zeroPoint has the type of input.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-dequantizelinear
WNN_EXPORT WNNOperand wnnGraphBuilderDequantizeLinear(WNNGraphBuilder builder, WNNOperand input,
                                                      WNNOperand scale, WNNOperand zeroPoint,
                                                      const WNNOperatorOptions *options);
// roundEven(input / scale) + zeroPoint, saturated to the type of zeroPoint, which is that of the output. Shapes as for
// dequantizeLinear; scale has the type of input.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-quantizelinear
WNN_EXPORT WNNOperand wnnGraphBuilderQuantizeLinear(WNNGraphBuilder builder, WNNOperand input,
                                                    WNNOperand scale, WNNOperand zeroPoint,
                                                    const WNNOperatorOptions *options);

// x, or alpha * (exp(x) - 1) below 0.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-elu
WNN_EXPORT WNNOperand wnnGraphBuilderElu(WNNGraphBuilder builder, WNNOperand input,
                                         const WNNEluOptions *options);

// Repeats size-1 (and missing leading) dimensions to fill newShape.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-expand
WNN_EXPORT WNNOperand wnnGraphBuilderExpand(WNNGraphBuilder builder, WNNOperand input, WNNUint32List newShape,
                                            const WNNOperatorOptions *options);

// Slices of input along `axis`, chosen by indices (int32, uint32 or int64). Output: input.shape[:axis] + indices.shape +
// input.shape[axis + 1:].
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gather
WNN_EXPORT WNNOperand wnnGraphBuilderGather(WNNGraphBuilder builder, WNNOperand input, WNNOperand indices,
                                            const WNNGatherOptions *options);

// output[i] = input[i with the coordinate of `axis` replaced by indices[i]]. Shapes equal except along `axis`.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gatherelements
WNN_EXPORT WNNOperand wnnGraphBuilderGatherElements(WNNGraphBuilder builder, WNNOperand input,
                                                    WNNOperand indices, const WNNGatherOptions *options);

// The last dimension of indices holds coordinates into the leading dimensions of input. Output: indices.shape[:-1] +
// input.shape[indices.shape[-1]:].
// Coordinates of no items are those of the whole input.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gathernd
WNN_EXPORT WNNOperand wnnGraphBuilderGatherND(WNNGraphBuilder builder, WNNOperand input, WNNOperand indices,
                                              const WNNOperatorOptions *options);

// 0.5 * x * (1 + erf(x / sqrt(2))).
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gelu-method
WNN_EXPORT WNNOperand wnnGraphBuilderGelu(WNNGraphBuilder builder, WNNOperand input,
                                          const WNNOperatorOptions *options);

// alpha * A * B + beta * C of rank-2 operands, each of A and B optionally transposed. Output: [M, N].
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gemm
WNN_EXPORT WNNOperand wnnGraphBuilderGemm(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                          const WNNGemmOptions *options);

// Gated recurrent unit over `steps` steps. input [steps, batch, inputSize], weight [directions, 3 hiddenSize, inputSize],
// recurrentWeight [directions, 3 hiddenSize, hiddenSize]; 2 directions for Both, else 1. outputs[0] is the last state
// [directions, batch, hiddenSize]; with returnSequence, outputs[1] is [steps, directions, batch, hiddenSize], each step
// at the time of its input. After 0 steps the state is the initial one. Returns the number of outputs, 0 after an error;
// outputs that are not there are NULL.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gru
WNN_EXPORT size_t wnnGraphBuilderGru(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                                     WNNOperand recurrentWeight, uint32_t steps, uint32_t hiddenSize,
                                     const WNNGruOptions *options, WNNOperand outputs[2]);

// One step: input [batch, inputSize], weight [3 hiddenSize, inputSize], recurrentWeight [3 hiddenSize, hiddenSize],
// hiddenState [batch, hiddenSize]. Output: the new hidden state.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-grucell
WNN_EXPORT WNNOperand wnnGraphBuilderGruCell(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                                             WNNOperand recurrentWeight, WNNOperand hiddenState,
                                             uint32_t hiddenSize, const WNNGruCellOptions *options);

// max(0, min(1, alpha * x + beta)).
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-hardsigmoid
WNN_EXPORT WNNOperand wnnGraphBuilderHardSigmoid(WNNGraphBuilder builder, WNNOperand input,
                                                 const WNNHardSigmoidOptions *options);

// x * max(0, min(6, x + 3)) / 6.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-hard-swish
WNN_EXPORT WNNOperand wnnGraphBuilderHardSwish(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNOperatorOptions *options);

// Each image and channel of a rank-4 input normalized over its height and width.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-instancenorm
WNN_EXPORT WNNOperand wnnGraphBuilderInstanceNormalization(WNNGraphBuilder builder, WNNOperand input,
                                                           const WNNInstanceNormalizationOptions *options);

// Normalized over `axes` together: (x - mean) / sqrt(variance + epsilon) * scale + bias.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-layernorm
WNN_EXPORT WNNOperand wnnGraphBuilderLayerNormalization(WNNGraphBuilder builder, WNNOperand input,
                                                        const WNNLayerNormalizationOptions *options);

// x, or alpha * x below 0.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-leakyrelu
WNN_EXPORT WNNOperand wnnGraphBuilderLeakyRelu(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNLeakyReluOptions *options);

// alpha * x + beta.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-linear
WNN_EXPORT WNNOperand wnnGraphBuilderLinear(WNNGraphBuilder builder, WNNOperand input,
                                            const WNNLinearOptions *options);

// Long short-term memory over `steps` steps. Shapes as for gru, with 4 hiddenSize rows. outputs[0] is the last hidden
// state, outputs[1] the last cell state, both [directions, batch, hiddenSize]; with returnSequence, outputs[2] is [steps,
// directions, batch, hiddenSize]. The peephole of the output gate looks at the old cell state. Returns the number of
// outputs, 0 after an error; outputs that are not there are NULL.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-lstm
WNN_EXPORT size_t wnnGraphBuilderLstm(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                                      WNNOperand recurrentWeight, uint32_t steps, uint32_t hiddenSize,
                                      const WNNLstmOptions *options, WNNOperand outputs[3]);

// One step, as gruCell with 4 hiddenSize rows; outputs[0] is the new hidden state, outputs[1] the new cell state. Returns
// 2, or 0 after an error.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-lstmcell
WNN_EXPORT size_t wnnGraphBuilderLstmCell(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                                          WNNOperand recurrentWeight, WNNOperand hiddenState, WNNOperand cellState,
                                          uint32_t hiddenSize, const WNNLstmCellOptions *options,
                                          WNNOperand outputs[2]);

// Matrix product of the last two dimensions; the others are broadcast. Rank 2 or more.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-matmul
WNN_EXPORT WNNOperand wnnGraphBuilderMatmul(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                            const WNNOperatorOptions *options);

// Adds elements before and after each dimension. Reflection needs paddings below the size, symmetric at most the size,
// edge a size of at least 1 where it pads.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-pad
WNN_EXPORT WNNOperand wnnGraphBuilderPad(WNNGraphBuilder builder, WNNOperand input,
                                         WNNUint32List beginningPadding, WNNUint32List endingPadding,
                                         const WNNPadOptions *options);

// Pooling of a rank-4 input. Padding counts for nothing: the average divides by the elements that are there, l2 is the
// root of the sum of squares. A window with no element gives the lowest value (maxPool2d) or 0. outputSizes must both be
// what rounding down gives, or both what rounding up gives.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-pool2d
WNN_EXPORT WNNOperand wnnGraphBuilderAveragePool2d(WNNGraphBuilder builder, WNNOperand input,
                                                   const WNNPool2dOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderL2Pool2d(WNNGraphBuilder builder, WNNOperand input,
                                              const WNNPool2dOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderMaxPool2d(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNPool2dOptions *options);

// x, or slope * x below 0, with broadcasting.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-prelu
WNN_EXPORT WNNOperand wnnGraphBuilderPrelu(WNNGraphBuilder builder, WNNOperand input, WNNOperand slope,
                                           const WNNOperatorOptions *options);

// Reductions over `axes`. With an empty list the function is applied to each element by itself. Of no elements L1, L2,
// sum and sumSquare are 0, the product is 1, logSum and logSumExp are -Infinity, and the others are not defined.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reduce
WNN_EXPORT WNNOperand wnnGraphBuilderReduceL1(WNNGraphBuilder builder, WNNOperand input,
                                              const WNNReduceOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReduceL2(WNNGraphBuilder builder, WNNOperand input,
                                              const WNNReduceOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReduceLogSum(WNNGraphBuilder builder, WNNOperand input,
                                                  const WNNReduceOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReduceLogSumExp(WNNGraphBuilder builder, WNNOperand input,
                                                     const WNNReduceOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReduceMax(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNReduceOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReduceMean(WNNGraphBuilder builder, WNNOperand input,
                                                const WNNReduceOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReduceMin(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNReduceOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReduceProduct(WNNGraphBuilder builder, WNNOperand input,
                                                   const WNNReduceOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReduceSum(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNReduceOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReduceSumSquare(WNNGraphBuilder builder, WNNOperand input,
                                                     const WNNReduceOptions *options);

// max(0, x).
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-relu-method
WNN_EXPORT WNNOperand wnnGraphBuilderRelu(WNNGraphBuilder builder, WNNOperand input,
                                          const WNNOperatorOptions *options);

// Resizes two dimensions of a rank-4 input: to sizes, or to floor(size * scale). Pixel centres are at halves; outside of
// the input its edge counts. Nearest takes the lower of two equally near elements.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-resample2d-method
WNN_EXPORT WNNOperand wnnGraphBuilderResample2d(WNNGraphBuilder builder, WNNOperand input,
                                                const WNNResample2dOptions *options);

// The same elements in another shape with as many of them.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reshape-method
WNN_EXPORT WNNOperand wnnGraphBuilderReshape(WNNGraphBuilder builder, WNNOperand input,
                                             WNNUint32List newShape, const WNNOperatorOptions *options);

// Elements in opposite order along `axes`.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reverse-method
WNN_EXPORT WNNOperand wnnGraphBuilderReverse(WNNGraphBuilder builder, WNNOperand input,
                                             const WNNReverseOptions *options);

// A copy of input in which [i with the coordinate of `axis` replaced by indices[i]] becomes updates[i]; of several
// updates of one element the last, in row-major order, stays.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-scatterelements
WNN_EXPORT WNNOperand wnnGraphBuilderScatterElements(WNNGraphBuilder builder, WNNOperand input,
                                                     WNNOperand indices, WNNOperand updates,
                                                     const WNNScatterElementsOptions *options);
// A copy of input in which the slices that the coordinates in the last dimension of indices name become those of
// updates, of shape indices.shape[:-1] + input.shape[indices.shape[-1]:]; of several updates of one element the last, in
// row-major order, stays. Coordinates of no items are those of the whole input.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-scatternd
WNN_EXPORT WNNOperand wnnGraphBuilderScatterND(WNNGraphBuilder builder, WNNOperand input, WNNOperand indices,
                                               WNNOperand updates, const WNNOperatorOptions *options);

// 1 / (1 + exp(-x)).
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-sigmoid-method
WNN_EXPORT WNNOperand wnnGraphBuilderSigmoid(WNNGraphBuilder builder, WNNOperand input,
                                             const WNNOperatorOptions *options);

// Elements starts[d], starts[d] + strides[d], ... below starts[d] + sizes[d], which must be within the input.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-slice
WNN_EXPORT WNNOperand wnnGraphBuilderSlice(WNNGraphBuilder builder, WNNOperand input, WNNUint32List starts,
                                           WNNUint32List sizes, const WNNSliceOptions *options);

// exp(x - max) / sum of these, along `axis`.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-softmax-method
WNN_EXPORT WNNOperand wnnGraphBuilderSoftmax(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                             const WNNOperatorOptions *options);

// log(1 + exp(steepness * x)) / steepness.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-softplus-method
WNN_EXPORT WNNOperand wnnGraphBuilderSoftplus(WNNGraphBuilder builder, WNNOperand input,
                                              const WNNSoftplusOptions *options);

// x / (1 + |x|).
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-softsign-method
WNN_EXPORT WNNOperand wnnGraphBuilderSoftsign(WNNGraphBuilder builder, WNNOperand input,
                                              const WNNOperatorOptions *options);

// Cuts the input along `axis` into `splits` equal parts, or into parts of the sizes of `splits`, which add up to the
// input's. `outputs` has room for `capacity` operands, at least as many as there are parts (at most 8192). Returns their
// number, 0 after an error.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-split
WNN_EXPORT size_t wnnGraphBuilderSplit(WNNGraphBuilder builder, WNNOperand input, uint32_t splits,
                                       const WNNSplitOptions *options, size_t capacity, WNNOperand *outputs);
WNN_EXPORT size_t wnnGraphBuilderSplitSizes(WNNGraphBuilder builder, WNNOperand input, WNNUint32List splits,
                                            const WNNSplitOptions *options, size_t capacity,
                                            WNNOperand *outputs);

// Hyperbolic tangent.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-tanh-method
WNN_EXPORT WNNOperand wnnGraphBuilderTanh(WNNGraphBuilder builder, WNNOperand input,
                                          const WNNOperatorOptions *options);

// The input repeated along each dimension, at least once.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-tile
WNN_EXPORT WNNOperand wnnGraphBuilderTile(WNNGraphBuilder builder, WNNOperand input,
                                          WNNUint32List repetitions, const WNNOperatorOptions *options);

// Dimension i of the output is dimension permutation[i] of the input.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-transpose
WNN_EXPORT WNNOperand wnnGraphBuilderTranspose(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNTransposeOptions *options);

// The upper or lower triangle of the last two dimensions; 0 elsewhere.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-triangular
WNN_EXPORT WNNOperand wnnGraphBuilderTriangular(WNNGraphBuilder builder, WNNOperand input,
                                                const WNNTriangularOptions *options);

// trueValue where the condition (uint8) is not 0, falseValue elsewhere; all three are broadcast.
// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-where
WNN_EXPORT WNNOperand wnnGraphBuilderWhere(WNNGraphBuilder builder, WNNOperand condition,
                                           WNNOperand trueValue, WNNOperand falseValue,
                                           const WNNOperatorOptions *options);

// ---------------------------------------------------------------------------------------------------------------
// Of the draft of dynamic shapes: https://github.com/webmachinelearning/webnn/pull/945 (of 2026-09)
//
// The working group has not agreed on these operators yet: they follow the draft of that month, and may change with it.
// ---------------------------------------------------------------------------------------------------------------

// The remainder a - b * q of element-wise division with broadcasting. q is the quotient rounded down for modulusFloor, whose
// results have the sign of b, and toward zero for modulusTruncate, whose results have the sign of a; so have zeros of
// floating-point types. Of integers a remainder by 0 is a, as div leaves a; of others NaN, as that of an infinite a. A finite
// a is its own remainder by infinity if they have the same sign, and by modulusTruncate; by modulusFloor it is that infinity
// if they do not.
WNN_EXPORT WNNOperand wnnGraphBuilderModulusFloor(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                                  const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderModulusTruncate(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                                     const WNNOperatorOptions *options);

// The sizes of the input's dimensions: uint32, of rank 1. The input's elements are not read, but it is an input of the graph.
WNN_EXPORT WNNOperand wnnGraphBuilderShape(WNNGraphBuilder builder, WNNOperand input,
                                           const WNNOperatorOptions *options);

// start, start + delta and so on up to, and without, limit, all three of rank 0: max(ceil((limit - start) / delta), 0)
// elements. delta is not 0, and the three follow from shapes as the sizes below do.
WNN_EXPORT WNNOperand wnnGraphBuilderRange(WNNGraphBuilder builder, WNNOperand start, WNNOperand limit,
                                           WNNOperand delta, const WNNOperatorOptions *options);

typedef struct WNNSqueezeOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List axes; // of size 1; absent: all that are, so that sizes that are not known may tell the rank of the result
} WNNSqueezeOptions;
#define WNN_SQUEEZE_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT }

// The input without dimensions of size 1.
WNN_EXPORT WNNOperand wnnGraphBuilderSqueeze(WNNGraphBuilder builder, WNNOperand input,
                                             const WNNSqueezeOptions *options);

// The input with more dimensions, of size 1; the axes, each once, are those of the result where they stand.
WNN_EXPORT WNNOperand wnnGraphBuilderUnsqueeze(WNNGraphBuilder builder, WNNOperand input, WNNUint32List axes,
                                               const WNNOperatorOptions *options);

typedef struct WNNReshapeTo2dOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    uint32_t axis; // the first dimension of the second group, up to the rank
} WNNReshapeTo2dOptions;
#define WNN_RESHAPE_TO_2D_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, 1 }

// The input as a matrix: the dimensions before the axis become one, and the others the other.
WNN_EXPORT WNNOperand wnnGraphBuilderReshapeTo2d(WNNGraphBuilder builder, WNNOperand input,
                                                 const WNNReshapeTo2dOptions *options);

typedef struct WNNResample2dDynamicOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNInterpolationMode mode;
    WNNFloat32List scales; // one per axis; absent: ones
    WNNOperand sizes; // one per axis; wins over scales; NULL: not given
    WNNUint32List axes; // two; absent: [2, 3]
} WNNResample2dDynamicOptions;
#define WNN_RESAMPLE2D_DYNAMIC_OPTIONS_INIT                                                                          \
    { NULL, WNN_STRING_VIEW_INIT, WNNInterpolationMode_NearestNeighbor, WNN_FLOAT32_LIST_INIT, NULL,                 \
      WNN_UINT32_LIST_INIT }

// The operators of the names without Dynamic, whose lists of sizes are operands: of rank 1 and int32, uint32 or int64. Their
// elements follow from constants and from what shape() returns, by operators that move or compute a few elements: cast,
// concat, expand, gather, identity, range, reshape, reverse, slice, split, squeeze, tile, transpose, unsqueeze and the
// Dynamic ones of these; abs, add, ceil, div, floor, the remainders, max, min, mul, neg, reciprocal, roundEven, sign, sqrt and
// sub; comparisons, logic and where; reduceMax, reduceMin, reduceProduct and reduceSum; up to 64 elements in between. What
// depends on data of inputs is refused. Where sizes are known late, so are these: what is wrong then is refused as by
// the operator of the other name, when shapes are computed or the graph runs.
WNN_EXPORT WNNOperand wnnGraphBuilderExpandDynamic(WNNGraphBuilder builder, WNNOperand input,
                                                   WNNOperand newShape, const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderPadDynamic(WNNGraphBuilder builder, WNNOperand input,
                                                WNNOperand beginningPadding, WNNOperand endingPadding,
                                                const WNNPadOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderResample2dDynamic(WNNGraphBuilder builder, WNNOperand input,
                                                       const WNNResample2dDynamicOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderReshapeDynamic(WNNGraphBuilder builder, WNNOperand input,
                                                    WNNOperand newShape, const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderSliceDynamic(WNNGraphBuilder builder, WNNOperand input,
                                                  WNNOperand starts, WNNOperand sizes,
                                                  const WNNSliceOptions *options);
// Returns the number of outputs, which is that of the elements of splits, or 0 after an error.
WNN_EXPORT size_t wnnGraphBuilderSplitDynamic(WNNGraphBuilder builder, WNNOperand input, WNNOperand splits,
                                              const WNNSplitOptions *options, size_t capacity,
                                              WNNOperand *outputs);
WNN_EXPORT WNNOperand wnnGraphBuilderTileDynamic(WNNGraphBuilder builder, WNNOperand input,
                                                 WNNOperand repetitions, const WNNOperatorOptions *options);

// ---------------------------------------------------------------------------------------------------------------
// Forms of 2024: https://www.w3.org/TR/2024/CRD-webnn-20240415/#api-mlgraphbuilder
//
// Operators that today's text has in another form, and its activations.
// ---------------------------------------------------------------------------------------------------------------

typedef struct WNNArgMinMaxAxesOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List axes; // absent: all
    bool keepDimensions;
    bool selectLastIndex; // of equal elements, the last
} WNNArgMinMaxAxesOptions;
#define WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, false, false }

// argMin and argMax over several axes at once; the index counts the reduced elements in row-major order. Output: int64.
// Repeated axes are refused.
WNN_EXPORT WNNOperand wnnGraphBuilderArgMinAxes(WNNGraphBuilder builder, WNNOperand input,
                                                const WNNArgMinMaxAxesOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderArgMaxAxes(WNNGraphBuilder builder, WNNOperand input,
                                                const WNNArgMinMaxAxesOptions *options);

// logicalNot by its former name.
WNN_EXPORT WNNOperand wnnGraphBuilderNot(WNNGraphBuilder builder, WNNOperand a, const WNNOperatorOptions *options);

// softmax of rank 2, along axis 1.
WNN_EXPORT WNNOperand wnnGraphBuilderSoftmax2d(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNOperatorOptions *options);

// Activations: functions to be applied to the result of conv2d, convTranspose2d and batchNormalization, or to the gates of
// gru and lstm. An activation may be used any number of times by the builder that made it. softmax fits only results of
// rank 2. The label of the options is not used. https://www.w3.org/TR/2024/CRD-webnn-20240415/#api-mlactivation
WNN_EXPORT WNNActivation wnnGraphBuilderActivationClamp(WNNGraphBuilder builder,
                                                        const WNNClampOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationElu(WNNGraphBuilder builder, const WNNEluOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationGelu(WNNGraphBuilder builder,
                                                       const WNNOperatorOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationHardSigmoid(WNNGraphBuilder builder,
                                                              const WNNHardSigmoidOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationHardSwish(WNNGraphBuilder builder,
                                                            const WNNOperatorOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationLeakyRelu(WNNGraphBuilder builder,
                                                            const WNNLeakyReluOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationLinear(WNNGraphBuilder builder,
                                                         const WNNLinearOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationRelu(WNNGraphBuilder builder,
                                                       const WNNOperatorOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationSigmoid(WNNGraphBuilder builder,
                                                          const WNNOperatorOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationSoftmax(WNNGraphBuilder builder,
                                                          const WNNOperatorOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationSoftplus(WNNGraphBuilder builder,
                                                           const WNNSoftplusOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationSoftsign(WNNGraphBuilder builder,
                                                           const WNNOperatorOptions *options);
WNN_EXPORT WNNActivation wnnGraphBuilderActivationTanh(WNNGraphBuilder builder,
                                                       const WNNOperatorOptions *options);

#ifdef __cplusplus
}
#endif

#endif
