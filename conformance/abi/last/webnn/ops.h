// SPDX-License-Identifier: Apache-2.0
#ifndef WEBNN_OPS_H_
#define WEBNN_OPS_H_

#include <webnn/webnn.h>

#ifdef __cplusplus
extern "C" {
#endif

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

typedef enum WNNPaddingMode {
    WNNPaddingMode_Constant = 1,
    WNNPaddingMode_Edge = 2,
    WNNPaddingMode_Reflection = 3,
    WNNPaddingMode_Symmetric = 4,
    WNNPaddingMode_Force32 = 0x7FFFFFFF
} WNNPaddingMode;

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

typedef enum WNNGruWeightLayout {
    WNNGruWeightLayout_ZRN = 1,
    WNNGruWeightLayout_RZN = 2,
    WNNGruWeightLayout_Force32 = 0x7FFFFFFF
} WNNGruWeightLayout;

typedef enum WNNLstmWeightLayout {
    WNNLstmWeightLayout_IOFG = 1,
    WNNLstmWeightLayout_IFGO = 2,
    WNNLstmWeightLayout_Force32 = 0x7FFFFFFF
} WNNLstmWeightLayout;

typedef struct WNNActivationList {
    const WNNActivation *data;
    size_t count;
} WNNActivationList;
#define WNN_ACTIVATION_LIST_INIT { NULL, 0 }

typedef struct WNNOperatorOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
} WNNOperatorOptions;
#define WNN_OPERATOR_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT }

typedef struct WNNArgMinMaxOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    bool keepDimensions;
    WNNDataType outputDataType;
} WNNArgMinMaxOptions;
#define WNN_ARG_MIN_MAX_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, false, WNNDataType_Int32 }

typedef struct WNNBatchNormalizationOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand scale;
    WNNOperand bias;
    uint32_t axis;
    double epsilon;
    WNNActivation activation;
} WNNBatchNormalizationOptions;
#define WNN_BATCH_NORMALIZATION_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, 1, 1e-5, NULL }

typedef struct WNNClampOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNNumber minValue;
    WNNNumber maxValue;
} WNNClampOptions;
#define WNN_CLAMP_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_NUMBER_INIT, WNN_NUMBER_INIT }

typedef struct WNNConv2dOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List padding;
    WNNUint32List strides;
    WNNUint32List dilations;
    uint32_t groups;
    WNNInputOperandLayout inputLayout;
    WNNConv2dFilterOperandLayout filterLayout;
    WNNOperand bias;
    WNNActivation activation;
} WNNConv2dOptions;
#define WNN_CONV2D_OPTIONS_INIT                                                                                      \
    { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT, 1,               \
      WNNInputOperandLayout_NCHW, WNNConv2dFilterOperandLayout_OIHW, NULL, NULL }

typedef struct WNNConvTranspose2dOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List padding;
    WNNUint32List strides;
    WNNUint32List dilations;
    WNNUint32List outputPadding;
    WNNUint32List outputSizes;
    uint32_t groups;
    WNNInputOperandLayout inputLayout;
    WNNConvTranspose2dFilterOperandLayout filterLayout;
    WNNOperand bias;
    WNNActivation activation;
} WNNConvTranspose2dOptions;
#define WNN_CONV_TRANSPOSE2D_OPTIONS_INIT                                                                            \
    { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT,                  \
      WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT, 1, WNNInputOperandLayout_NCHW,                                     \
      WNNConvTranspose2dFilterOperandLayout_IOHW, NULL, NULL }

typedef struct WNNCumulativeSumOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    bool exclusive;
    bool reversed;
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
    WNNOperand c;
    double alpha;
    double beta;
    bool aTranspose;
    bool bTranspose;
} WNNGemmOptions;
#define WNN_GEMM_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, NULL, 1.0, 1.0, false, false }

typedef struct WNNGruOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand bias;
    WNNOperand recurrentBias;
    WNNOperand initialHiddenState;
    bool resetAfter;
    bool returnSequence;
    WNNRecurrentNetworkDirection direction;
    WNNGruWeightLayout layout;
    WNNActivationList activations;
} WNNGruOptions;
#define WNN_GRU_OPTIONS_INIT                                                                                         \
    { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, NULL, true, false, WNNRecurrentNetworkDirection_Forward,               \
      WNNGruWeightLayout_ZRN, WNN_ACTIVATION_LIST_INIT }

typedef struct WNNGruCellOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand bias;
    WNNOperand recurrentBias;
    bool resetAfter;
    WNNGruWeightLayout layout;
    WNNActivationList activations;
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
    WNNOperand scale;
    WNNOperand bias;
    double epsilon;
    WNNInputOperandLayout layout;
} WNNInstanceNormalizationOptions;
#define WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT                                                                      \
    { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, 1e-5, WNNInputOperandLayout_NCHW }

typedef struct WNNLayerNormalizationOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand scale;
    WNNOperand bias;
    WNNUint32List axes;
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
    WNNOperand bias;
    WNNOperand recurrentBias;
    WNNOperand peepholeWeight;
    WNNOperand initialHiddenState;
    WNNOperand initialCellState;
    bool returnSequence;
    WNNRecurrentNetworkDirection direction;
    WNNLstmWeightLayout layout;
    WNNActivationList activations;
} WNNLstmOptions;
#define WNN_LSTM_OPTIONS_INIT                                                                                        \
    { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, NULL, NULL, NULL, false, WNNRecurrentNetworkDirection_Forward,         \
      WNNLstmWeightLayout_IOFG, WNN_ACTIVATION_LIST_INIT }

typedef struct WNNLstmCellOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNOperand bias;
    WNNOperand recurrentBias;
    WNNOperand peepholeWeight;
    WNNLstmWeightLayout layout;
    WNNActivationList activations;
} WNNLstmCellOptions;
#define WNN_LSTM_CELL_OPTIONS_INIT                                                                                   \
    { NULL, WNN_STRING_VIEW_INIT, NULL, NULL, NULL, WNNLstmWeightLayout_IOFG, WNN_ACTIVATION_LIST_INIT }

typedef struct WNNPadOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNPaddingMode mode;
    WNNNumber value;
} WNNPadOptions;
#define WNN_PAD_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNNPaddingMode_Constant, WNN_NUMBER_INIT }

typedef struct WNNPool2dOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List windowDimensions;
    WNNUint32List padding;
    WNNUint32List strides;
    WNNUint32List dilations;
    WNNInputOperandLayout layout;
    WNNRoundingType roundingType;
    WNNUint32List outputSizes;
} WNNPool2dOptions;
#define WNN_POOL2D_OPTIONS_INIT                                                                                      \
    { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT,                  \
      WNN_UINT32_LIST_INIT, WNNInputOperandLayout_NCHW, WNNRoundingType_Floor, WNN_UINT32_LIST_INIT }

typedef struct WNNReduceOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List axes;
    bool keepDimensions;
} WNNReduceOptions;
#define WNN_REDUCE_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, false }

typedef struct WNNResample2dOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNInterpolationMode mode;
    WNNFloat32List scales;
    WNNUint32List sizes;
    WNNUint32List axes;
} WNNResample2dOptions;
#define WNN_RESAMPLE2D_OPTIONS_INIT                                                                                  \
    { NULL, WNN_STRING_VIEW_INIT, WNNInterpolationMode_NearestNeighbor, WNN_FLOAT32_LIST_INIT,                       \
      WNN_UINT32_LIST_INIT, WNN_UINT32_LIST_INIT }

typedef struct WNNReverseOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List axes;
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
    WNNUint32List strides;
} WNNSliceOptions;
#define WNN_SLICE_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT }

typedef struct WNNSoftplusOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    double steepness;
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
    WNNUint32List permutation;
} WNNTransposeOptions;
#define WNN_TRANSPOSE_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT }

typedef struct WNNTriangularOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    bool upper;
    int32_t diagonal;
} WNNTriangularOptions;
#define WNN_TRIANGULAR_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, true, 0 }

WNN_EXPORT WNNOperand wnnGraphBuilderArgMin(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                            const WNNArgMinMaxOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderArgMax(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                            const WNNArgMinMaxOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderBatchNormalization(WNNGraphBuilder builder, WNNOperand input,
                                                        WNNOperand mean, WNNOperand variance,
                                                        const WNNBatchNormalizationOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderCast(WNNGraphBuilder builder, WNNOperand input, WNNDataType dataType,
                                          const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderClamp(WNNGraphBuilder builder, WNNOperand input,
                                           const WNNClampOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderConcat(WNNGraphBuilder builder, size_t inputCount,
                                            const WNNOperand *inputs, uint32_t axis,
                                            const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderConv2d(WNNGraphBuilder builder, WNNOperand input, WNNOperand filter,
                                            const WNNConv2dOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderConvTranspose2d(WNNGraphBuilder builder, WNNOperand input,
                                                     WNNOperand filter,
                                                     const WNNConvTranspose2dOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderCumulativeSum(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                                   const WNNCumulativeSumOptions *options);

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

WNN_EXPORT WNNOperand wnnGraphBuilderLogicalNot(WNNGraphBuilder builder, WNNOperand a,
                                                const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderLogicalAnd(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                                const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderLogicalOr(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                               const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderLogicalXor(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                                const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderIsNaN(WNNGraphBuilder builder, WNNOperand a,
                                           const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderIsInfinite(WNNGraphBuilder builder, WNNOperand a,
                                                const WNNOperatorOptions *options);

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

WNN_EXPORT WNNOperand wnnGraphBuilderDequantizeLinear(WNNGraphBuilder builder, WNNOperand input,
                                                      WNNOperand scale, WNNOperand zeroPoint,
                                                      const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderQuantizeLinear(WNNGraphBuilder builder, WNNOperand input,
                                                    WNNOperand scale, WNNOperand zeroPoint,
                                                    const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderElu(WNNGraphBuilder builder, WNNOperand input,
                                         const WNNEluOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderExpand(WNNGraphBuilder builder, WNNOperand input, WNNUint32List newShape,
                                            const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderGather(WNNGraphBuilder builder, WNNOperand input, WNNOperand indices,
                                            const WNNGatherOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderGatherElements(WNNGraphBuilder builder, WNNOperand input,
                                                    WNNOperand indices, const WNNGatherOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderGatherND(WNNGraphBuilder builder, WNNOperand input, WNNOperand indices,
                                              const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderGelu(WNNGraphBuilder builder, WNNOperand input,
                                          const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderGemm(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                          const WNNGemmOptions *options);

WNN_EXPORT size_t wnnGraphBuilderGru(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                                     WNNOperand recurrentWeight, uint32_t steps, uint32_t hiddenSize,
                                     const WNNGruOptions *options, WNNOperand outputs[2]);

WNN_EXPORT WNNOperand wnnGraphBuilderGruCell(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                                             WNNOperand recurrentWeight, WNNOperand hiddenState,
                                             uint32_t hiddenSize, const WNNGruCellOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderHardSigmoid(WNNGraphBuilder builder, WNNOperand input,
                                                 const WNNHardSigmoidOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderHardSwish(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderInstanceNormalization(WNNGraphBuilder builder, WNNOperand input,
                                                           const WNNInstanceNormalizationOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderLayerNormalization(WNNGraphBuilder builder, WNNOperand input,
                                                        const WNNLayerNormalizationOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderLeakyRelu(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNLeakyReluOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderLinear(WNNGraphBuilder builder, WNNOperand input,
                                            const WNNLinearOptions *options);

WNN_EXPORT size_t wnnGraphBuilderLstm(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                                      WNNOperand recurrentWeight, uint32_t steps, uint32_t hiddenSize,
                                      const WNNLstmOptions *options, WNNOperand outputs[3]);

WNN_EXPORT size_t wnnGraphBuilderLstmCell(WNNGraphBuilder builder, WNNOperand input, WNNOperand weight,
                                          WNNOperand recurrentWeight, WNNOperand hiddenState, WNNOperand cellState,
                                          uint32_t hiddenSize, const WNNLstmCellOptions *options,
                                          WNNOperand outputs[2]);

WNN_EXPORT WNNOperand wnnGraphBuilderMatmul(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                            const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderPad(WNNGraphBuilder builder, WNNOperand input,
                                         WNNUint32List beginningPadding, WNNUint32List endingPadding,
                                         const WNNPadOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderAveragePool2d(WNNGraphBuilder builder, WNNOperand input,
                                                   const WNNPool2dOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderL2Pool2d(WNNGraphBuilder builder, WNNOperand input,
                                              const WNNPool2dOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderMaxPool2d(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNPool2dOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderPrelu(WNNGraphBuilder builder, WNNOperand input, WNNOperand slope,
                                           const WNNOperatorOptions *options);

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

WNN_EXPORT WNNOperand wnnGraphBuilderRelu(WNNGraphBuilder builder, WNNOperand input,
                                          const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderResample2d(WNNGraphBuilder builder, WNNOperand input,
                                                const WNNResample2dOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderReshape(WNNGraphBuilder builder, WNNOperand input,
                                             WNNUint32List newShape, const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderReverse(WNNGraphBuilder builder, WNNOperand input,
                                             const WNNReverseOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderScatterElements(WNNGraphBuilder builder, WNNOperand input,
                                                     WNNOperand indices, WNNOperand updates,
                                                     const WNNScatterElementsOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderScatterND(WNNGraphBuilder builder, WNNOperand input, WNNOperand indices,
                                               WNNOperand updates, const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderSigmoid(WNNGraphBuilder builder, WNNOperand input,
                                             const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderSlice(WNNGraphBuilder builder, WNNOperand input, WNNUint32List starts,
                                           WNNUint32List sizes, const WNNSliceOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderSoftmax(WNNGraphBuilder builder, WNNOperand input, uint32_t axis,
                                             const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderSoftplus(WNNGraphBuilder builder, WNNOperand input,
                                              const WNNSoftplusOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderSoftsign(WNNGraphBuilder builder, WNNOperand input,
                                              const WNNOperatorOptions *options);

WNN_EXPORT size_t wnnGraphBuilderSplit(WNNGraphBuilder builder, WNNOperand input, uint32_t splits,
                                       const WNNSplitOptions *options, size_t capacity, WNNOperand *outputs);
WNN_EXPORT size_t wnnGraphBuilderSplitSizes(WNNGraphBuilder builder, WNNOperand input, WNNUint32List splits,
                                            const WNNSplitOptions *options, size_t capacity,
                                            WNNOperand *outputs);

WNN_EXPORT WNNOperand wnnGraphBuilderTanh(WNNGraphBuilder builder, WNNOperand input,
                                          const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderTile(WNNGraphBuilder builder, WNNOperand input,
                                          WNNUint32List repetitions, const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderTranspose(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNTransposeOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderTriangular(WNNGraphBuilder builder, WNNOperand input,
                                                const WNNTriangularOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderWhere(WNNGraphBuilder builder, WNNOperand condition,
                                           WNNOperand trueValue, WNNOperand falseValue,
                                           const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderModulusFloor(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                                  const WNNOperatorOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderModulusTruncate(WNNGraphBuilder builder, WNNOperand a, WNNOperand b,
                                                     const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderShape(WNNGraphBuilder builder, WNNOperand input,
                                           const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderRange(WNNGraphBuilder builder, WNNOperand start, WNNOperand limit,
                                           WNNOperand delta, const WNNOperatorOptions *options);

typedef struct WNNSqueezeOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List axes;
} WNNSqueezeOptions;
#define WNN_SQUEEZE_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT }

WNN_EXPORT WNNOperand wnnGraphBuilderSqueeze(WNNGraphBuilder builder, WNNOperand input,
                                             const WNNSqueezeOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderUnsqueeze(WNNGraphBuilder builder, WNNOperand input, WNNUint32List axes,
                                               const WNNOperatorOptions *options);

typedef struct WNNReshapeTo2dOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    uint32_t axis;
} WNNReshapeTo2dOptions;
#define WNN_RESHAPE_TO_2D_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, 1 }

WNN_EXPORT WNNOperand wnnGraphBuilderReshapeTo2d(WNNGraphBuilder builder, WNNOperand input,
                                                 const WNNReshapeTo2dOptions *options);

typedef struct WNNResample2dDynamicOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNInterpolationMode mode;
    WNNFloat32List scales;
    WNNOperand sizes;
    WNNUint32List axes;
} WNNResample2dDynamicOptions;
#define WNN_RESAMPLE2D_DYNAMIC_OPTIONS_INIT                                                                          \
    { NULL, WNN_STRING_VIEW_INIT, WNNInterpolationMode_NearestNeighbor, WNN_FLOAT32_LIST_INIT, NULL,                 \
      WNN_UINT32_LIST_INIT }

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

WNN_EXPORT size_t wnnGraphBuilderSplitDynamic(WNNGraphBuilder builder, WNNOperand input, WNNOperand splits,
                                              const WNNSplitOptions *options, size_t capacity,
                                              WNNOperand *outputs);
WNN_EXPORT WNNOperand wnnGraphBuilderTileDynamic(WNNGraphBuilder builder, WNNOperand input,
                                                 WNNOperand repetitions, const WNNOperatorOptions *options);

typedef struct WNNArgMinMaxAxesOptions {
    const WNNChainedStruct *nextInChain;
    WNNStringView label;
    WNNUint32List axes;
    bool keepDimensions;
    bool selectLastIndex;
} WNNArgMinMaxAxesOptions;
#define WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT { NULL, WNN_STRING_VIEW_INIT, WNN_UINT32_LIST_INIT, false, false }

WNN_EXPORT WNNOperand wnnGraphBuilderArgMinAxes(WNNGraphBuilder builder, WNNOperand input,
                                                const WNNArgMinMaxAxesOptions *options);
WNN_EXPORT WNNOperand wnnGraphBuilderArgMaxAxes(WNNGraphBuilder builder, WNNOperand input,
                                                const WNNArgMinMaxAxesOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderNot(WNNGraphBuilder builder, WNNOperand a, const WNNOperatorOptions *options);

WNN_EXPORT WNNOperand wnnGraphBuilderSoftmax2d(WNNGraphBuilder builder, WNNOperand input,
                                               const WNNOperatorOptions *options);

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
