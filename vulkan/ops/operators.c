// SPDX-License-Identifier: Apache-2.0
//
// The table: a line an operator.

#include "vulkan/ops/operators.h"

#define UNARY                                                                                                \
    {                                                                                                        \
        wnn_lower_step, NULL, ~0u, true                                                                      \
    }
#define BINARY                                                                                               \
    {                                                                                                        \
        wnn_lower_step, NULL, ~0u, true                                                                      \
    }
#define REDUCE                                                                                               \
    {                                                                                                        \
        wnn_lower_reduce, wnn_scratch_of_reduce, 0, true, wnn_fold_prepares                                  \
    }
#define MOVE(function)                                                                                       \
    {                                                                                                        \
        function, NULL, 0, false                                                                             \
    }
#define GATHER(function)                                                                                     \
    {                                                                                                        \
        function, NULL, 0, true, wnn_gather_prepares                                                         \
    }
#define POOL                                                                                                 \
    {                                                                                                        \
        wnn_lower_pool2d, wnn_scratch_of_pool2d, 0, true, wnn_pool_prepares                                  \
    }

const struct gpu_operator wnn_gpu_operators[WNN_OP_END] = {
    [WNN_OP_argMin] = {wnn_lower_arg_min_max, wnn_scratch_of_arg_min_max, 0, false, wnn_fold_prepares},
    [WNN_OP_argMax] = {wnn_lower_arg_min_max, wnn_scratch_of_arg_min_max, 0, false, wnn_fold_prepares},
    [WNN_OP_batchNormalization] = {wnn_lower_batch_normalization, NULL, 1, true},
    [WNN_OP_cast] = MOVE(wnn_lower_cast),
    [WNN_OP_clamp] = UNARY,
    [WNN_OP_concat] = {wnn_lower_concat, wnn_scratch_of_concat, 0, false},
    [WNN_OP_conv2d] = {wnn_lower_conv2d, wnn_scratch_of_conv2d, 0, true},
    [WNN_OP_convTranspose2d] = {wnn_lower_conv2d, wnn_scratch_of_conv2d, 0, true},
    [WNN_OP_cumulativeSum] = {wnn_lower_cumulative_sum, wnn_scratch_of_cumulative_sum, 0, false},
    [WNN_OP_add] = BINARY,
    [WNN_OP_sub] = BINARY,
    [WNN_OP_mul] = BINARY,
    [WNN_OP_div] = BINARY,
    [WNN_OP_max] = BINARY,
    [WNN_OP_min] = BINARY,
    [WNN_OP_pow] = BINARY,
    [WNN_OP_equal] = BINARY,
    [WNN_OP_notEqual] = BINARY,
    [WNN_OP_greater] = BINARY,
    [WNN_OP_greaterOrEqual] = BINARY,
    [WNN_OP_lesser] = BINARY,
    [WNN_OP_lesserOrEqual] = BINARY,
    [WNN_OP_logicalNot] = UNARY,
    [WNN_OP_logicalAnd] = BINARY,
    [WNN_OP_logicalOr] = BINARY,
    [WNN_OP_logicalXor] = BINARY,
    [WNN_OP_isNaN] = UNARY,
    [WNN_OP_isInfinite] = UNARY,
    [WNN_OP_abs] = UNARY,
    [WNN_OP_ceil] = UNARY,
    [WNN_OP_cos] = UNARY,
    [WNN_OP_erf] = UNARY,
    [WNN_OP_exp] = UNARY,
    [WNN_OP_floor] = UNARY,
    [WNN_OP_identity] = {wnn_lower_copy, NULL, 1, false},
    [WNN_OP_log] = UNARY,
    [WNN_OP_neg] = UNARY,
    [WNN_OP_reciprocal] = UNARY,
    [WNN_OP_roundEven] = UNARY,
    [WNN_OP_sign] = UNARY,
    [WNN_OP_sin] = UNARY,
    [WNN_OP_sqrt] = UNARY,
    [WNN_OP_tan] = UNARY,
    [WNN_OP_dequantizeLinear] = MOVE(wnn_lower_step),
    [WNN_OP_quantizeLinear] = MOVE(wnn_lower_step),
    [WNN_OP_elu] = UNARY,
    [WNN_OP_expand] = MOVE(wnn_lower_expand),
    [WNN_OP_gather] = GATHER(wnn_lower_gather),
    [WNN_OP_gatherElements] = GATHER(wnn_lower_gather_elements),
    [WNN_OP_gatherND] = GATHER(wnn_lower_gather_nd),
    [WNN_OP_gelu] = UNARY,
    [WNN_OP_gemm] = {wnn_lower_gemm, wnn_scratch_of_gemm, 0, true, wnn_product_prepares},
    [WNN_OP_gru] = {wnn_lower_recurrent, wnn_scratch_of_recurrent, 0, false},
    [WNN_OP_gruCell] = {wnn_lower_recurrent, wnn_scratch_of_recurrent, 0, false},
    [WNN_OP_hardSigmoid] = UNARY,
    [WNN_OP_hardSwish] = UNARY,
    [WNN_OP_instanceNormalization] = {wnn_lower_instance_normalization, wnn_scratch_of_normalization, 1, true,
                                      wnn_fold_prepares},
    [WNN_OP_layerNormalization] = {wnn_lower_layer_normalization, wnn_scratch_of_normalization, 1, true,
                                   wnn_fold_prepares},
    [WNN_OP_leakyRelu] = UNARY,
    [WNN_OP_linear] = UNARY,
    [WNN_OP_lstm] = {wnn_lower_recurrent, wnn_scratch_of_recurrent, 0, false},
    [WNN_OP_lstmCell] = {wnn_lower_recurrent, wnn_scratch_of_recurrent, 0, false},
    [WNN_OP_matmul] = {wnn_lower_matmul, wnn_scratch_of_matmul, 0, true, wnn_product_prepares},
    [WNN_OP_pad] = MOVE(wnn_lower_pad),
    [WNN_OP_averagePool2d] = POOL,
    [WNN_OP_l2Pool2d] = POOL,
    [WNN_OP_maxPool2d] = POOL,
    [WNN_OP_prelu] = BINARY,
    [WNN_OP_reduceL1] = REDUCE,
    [WNN_OP_reduceL2] = REDUCE,
    [WNN_OP_reduceLogSum] = REDUCE,
    [WNN_OP_reduceLogSumExp] = REDUCE,
    [WNN_OP_reduceMax] = REDUCE,
    [WNN_OP_reduceMean] = REDUCE,
    [WNN_OP_reduceMin] = REDUCE,
    [WNN_OP_reduceProduct] = REDUCE,
    [WNN_OP_reduceSum] = REDUCE,
    [WNN_OP_reduceSumSquare] = REDUCE,
    [WNN_OP_relu] = UNARY,
    [WNN_OP_resample2d] = {wnn_lower_resample2d, NULL, 0, true},
    [WNN_OP_reshape] = {wnn_lower_copy, NULL, 1, false},
    [WNN_OP_reverse] = MOVE(wnn_lower_reverse),
    [WNN_OP_scatterElements] = {wnn_lower_scatter_elements, wnn_scratch_of_scatter, 1, false},
    [WNN_OP_scatterND] = {wnn_lower_scatter_nd, wnn_scratch_of_scatter, 1, false},
    [WNN_OP_sigmoid] = UNARY,
    [WNN_OP_slice] = MOVE(wnn_lower_slice),
    [WNN_OP_softmax] = {wnn_lower_softmax, wnn_scratch_of_softmax, 1, true, wnn_fold_prepares},
    [WNN_OP_softplus] = UNARY,
    [WNN_OP_softsign] = UNARY,
    [WNN_OP_split] = MOVE(wnn_lower_split),
    [WNN_OP_tanh] = UNARY,
    [WNN_OP_tile] = MOVE(wnn_lower_tile),
    [WNN_OP_transpose] = MOVE(wnn_lower_transpose),
    [WNN_OP_triangular] = MOVE(wnn_lower_triangular),
    [WNN_OP_where] = {wnn_lower_where, NULL, 6, false},
    [WNN_OP_attention] = {wnn_lower_attention, wnn_scratch_of_attention, 0, false},
    [WNN_OP_elementwise] = MOVE(wnn_lower_elementwise),
};
