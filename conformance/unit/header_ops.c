// SPDX-License-Identifier: Apache-2.0
//
// <webnn/ops.h> compiles alone, as C and as C++, and each of its INIT macros initializes its struct.

#include <webnn/ops.h>

int main(void)
{
    const WNNActivationList v0 = WNN_ACTIVATION_LIST_INIT;
    const WNNOperatorOptions v1 = WNN_OPERATOR_OPTIONS_INIT;
    const WNNArgMinMaxOptions v2 = WNN_ARG_MIN_MAX_OPTIONS_INIT;
    const WNNBatchNormalizationOptions v3 = WNN_BATCH_NORMALIZATION_OPTIONS_INIT;
    const WNNClampOptions v4 = WNN_CLAMP_OPTIONS_INIT;
    const WNNConv2dOptions v5 = WNN_CONV2D_OPTIONS_INIT;
    const WNNConvTranspose2dOptions v6 = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    const WNNCumulativeSumOptions v7 = WNN_CUMULATIVE_SUM_OPTIONS_INIT;
    const WNNEluOptions v8 = WNN_ELU_OPTIONS_INIT;
    const WNNGatherOptions v9 = WNN_GATHER_OPTIONS_INIT;
    const WNNGemmOptions v10 = WNN_GEMM_OPTIONS_INIT;
    const WNNGruOptions v11 = WNN_GRU_OPTIONS_INIT;
    const WNNGruCellOptions v12 = WNN_GRU_CELL_OPTIONS_INIT;
    const WNNHardSigmoidOptions v13 = WNN_HARD_SIGMOID_OPTIONS_INIT;
    const WNNInstanceNormalizationOptions v14 = WNN_INSTANCE_NORMALIZATION_OPTIONS_INIT;
    const WNNLayerNormalizationOptions v15 = WNN_LAYER_NORMALIZATION_OPTIONS_INIT;
    const WNNLeakyReluOptions v16 = WNN_LEAKY_RELU_OPTIONS_INIT;
    const WNNLinearOptions v17 = WNN_LINEAR_OPTIONS_INIT;
    const WNNLstmOptions v18 = WNN_LSTM_OPTIONS_INIT;
    const WNNLstmCellOptions v19 = WNN_LSTM_CELL_OPTIONS_INIT;
    const WNNPadOptions v20 = WNN_PAD_OPTIONS_INIT;
    const WNNPool2dOptions v21 = WNN_POOL2D_OPTIONS_INIT;
    const WNNReduceOptions v22 = WNN_REDUCE_OPTIONS_INIT;
    const WNNResample2dOptions v23 = WNN_RESAMPLE2D_OPTIONS_INIT;
    const WNNReverseOptions v24 = WNN_REVERSE_OPTIONS_INIT;
    const WNNScatterElementsOptions v25 = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;
    const WNNSliceOptions v26 = WNN_SLICE_OPTIONS_INIT;
    const WNNSoftplusOptions v27 = WNN_SOFTPLUS_OPTIONS_INIT;
    const WNNSplitOptions v28 = WNN_SPLIT_OPTIONS_INIT;
    const WNNTransposeOptions v29 = WNN_TRANSPOSE_OPTIONS_INIT;
    const WNNTriangularOptions v30 = WNN_TRIANGULAR_OPTIONS_INIT;
    const WNNArgMinMaxAxesOptions v31 = WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT;
    const WNNSqueezeOptions v32 = WNN_SQUEEZE_OPTIONS_INIT;
    const WNNReshapeTo2dOptions v33 = WNN_RESHAPE_TO_2D_OPTIONS_INIT;
    const WNNResample2dDynamicOptions v34 = WNN_RESAMPLE2D_DYNAMIC_OPTIONS_INIT;
    return !(sizeof v0 > 0 && sizeof v1 > 0 && sizeof v2 > 0 && sizeof v3 > 0 && sizeof v4 > 0 &&
             sizeof v5 > 0 && sizeof v6 > 0 && sizeof v7 > 0 && sizeof v8 > 0 && sizeof v9 > 0 &&
             sizeof v10 > 0 && sizeof v11 > 0 && sizeof v12 > 0 && sizeof v13 > 0 && sizeof v14 > 0 &&
             sizeof v15 > 0 && sizeof v16 > 0 && sizeof v17 > 0 && sizeof v18 > 0 && sizeof v19 > 0 &&
             sizeof v20 > 0 && sizeof v21 > 0 && sizeof v22 > 0 && sizeof v23 > 0 && sizeof v24 > 0 &&
             sizeof v25 > 0 && sizeof v26 > 0 && sizeof v27 > 0 && sizeof v28 > 0 && sizeof v29 > 0 &&
             sizeof v30 > 0 && sizeof v31 > 0 && sizeof v32 > 0 && sizeof v33 > 0 && sizeof v34 > 0);
}
