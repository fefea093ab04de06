// SPDX-License-Identifier: Apache-2.0

#include "conformance/tolerance.h"

// What a tolerance grows with.
enum basis {
    NOTHING,
    AXIS,    // the size of the axis
    REDUCED, // the number of elements that become one
    FILTER,  // the elements of the filter that belong to one output channel
    INNER,   // the length of the sums of a matrix product
    WINDOW,  // the elements of the pooling window
};

#define BOTH(units)                                                                                          \
    {                                                                                                        \
        .float32 = (units), .float16 = (units)                                                               \
    }

// units + factor * basis for floats; operators that are not listed are exact, as are integers.
static const struct {
    double float32, float16;
    double factor;
    enum basis basis;
    double absolute32, absolute16; // where it is a difference; the units count inside of larger graphs
} limits[WNN_OP_COUNT] = {
    [WNN_OP_add] = BOTH(1),
    [WNN_OP_sub] = BOTH(1),
    [WNN_OP_mul] = BOTH(1),
    [WNN_OP_div] = BOTH(2),
    [WNN_OP_pow] = {.float32 = 32, .float16 = 2},
    [WNN_OP_modulusFloor] = BOTH(1),
    [WNN_OP_cast] = BOTH(1),
    [WNN_OP_sqrt] = BOTH(1),
    [WNN_OP_reciprocal] = BOTH(2),
    [WNN_OP_exp] = {.float32 = 32, .float16 = 1},
    [WNN_OP_cos] = {.float32 = 16, .float16 = 16, .absolute32 = 1.0 / 1024, .absolute16 = 1.0 / 512},
    [WNN_OP_sin] = {.float32 = 16, .float16 = 16, .absolute32 = 1.0 / 1024, .absolute16 = 1.0 / 512},
    [WNN_OP_tan] = {.float32 = 16, .float16 = 16, .absolute32 = 1.0 / 1024, .absolute16 = 1.0 / 512},
    [WNN_OP_erf] = {.float32 = 16, .float16 = 16, .absolute32 = 1.0 / 1024, .absolute16 = 1.0 / 512},
    [WNN_OP_tanh] = {.float32 = 16, .float16 = 16, .absolute32 = 1.0 / 1024, .absolute16 = 1.0 / 512},
    [WNN_OP_log] = {.float32 = 16, .float16 = 16, .absolute32 = 1.0 / 1024, .absolute16 = 1.0 / 1024},
    [WNN_OP_elu] = BOTH(18),
    [WNN_OP_gelu] = BOTH(18),
    [WNN_OP_softplus] = BOTH(18),
    [WNN_OP_hardSigmoid] = BOTH(2),
    [WNN_OP_linear] = BOTH(2),
    [WNN_OP_hardSwish] = BOTH(4),
    [WNN_OP_leakyRelu] = {.float32 = 1, .float16 = 2},
    [WNN_OP_prelu] = BOTH(1),
    [WNN_OP_sigmoid] = {.float32 = 34, .float16 = 10},
    [WNN_OP_softsign] = BOTH(3),
    [WNN_OP_softmax] = {.float32 = 3, .float16 = 3, .factor = 3, .basis = AXIS},
    [WNN_OP_softmax2d] = {.float32 = 3, .float16 = 3, .factor = 3, .basis = AXIS},
    [WNN_OP_batchNormalization] = BOTH(6),
    [WNN_OP_layerNormalization] = BOTH(14),
    [WNN_OP_instanceNormalization] = {.float32 = 840, .float16 = 8400},
    [WNN_OP_conv2d] = {.factor = 2, .basis = FILTER},
    [WNN_OP_convTranspose2d] = {.factor = 2, .basis = FILTER},
    [WNN_OP_gemm] = {.factor = 2, .basis = INNER},
    [WNN_OP_matmul] = {.factor = 2, .basis = INNER},
    [WNN_OP_averagePool2d] = {.float32 = 2, .float16 = 2, .factor = 1, .basis = WINDOW},
    [WNN_OP_l2Pool2d] = {.float32 = 2, .float16 = 2, .factor = 1, .basis = WINDOW},
    [WNN_OP_resample2dDynamic] = {.float32 = 84, .float16 = 10},
    [WNN_OP_resample2d] = {.float32 = 84, .float16 = 10},
    [WNN_OP_reduceSum] = {.factor = 1, .basis = REDUCED},
    [WNN_OP_reduceL1] = {.factor = 1, .basis = REDUCED},
    [WNN_OP_reduceProduct] = {.factor = 1, .basis = REDUCED},
    [WNN_OP_reduceSumSquare] = {.factor = 2, .basis = REDUCED},
    [WNN_OP_reduceMean] = {.float32 = 2, .float16 = 2, .factor = 1, .basis = REDUCED},
    [WNN_OP_reduceL2] = {.float32 = 2, .float16 = 2, .factor = 2, .basis = REDUCED},
    [WNN_OP_reduceLogSum] = {.float32 = 18, .float16 = 18, .factor = 1, .basis = REDUCED},
    [WNN_OP_reduceLogSumExp] = {.float32 = 18, .float16 = 18, .factor = 2, .basis = REDUCED},
    [WNN_OP_cumulativeSum] = {.float32 = -1, .float16 = -1, .factor = 1, .basis = AXIS},
    [WNN_OP_dequantizeLinear] = BOTH(1),
    [WNN_OP_gru] = BOTH(6),
    [WNN_OP_gruCell] = BOTH(3),
    [WNN_OP_lstm] = BOTH(3),
    [WNN_OP_lstmCell] = BOTH(1),
};

static double basis_of(const struct node *node, enum basis basis)
{
    const struct shape *input = &node->in[0]->type.shape;
    switch (basis) {
    case AXIS:
        return input
            ->dim[node->op == WNN_OP_softmax ? ((const struct softmax_attrs *)node->attrs)->axis
                                             : ((const struct cumulative_sum_attrs *)node->attrs)->axis];
    case REDUCED:
        return (double)wnn_shape_elements(input) / (double)wnn_shape_elements(&node->out[0]->type.shape);
    case FILTER: {
        const struct shape *filter = &node->in[1]->type.shape, *output = &node->out[0]->type.shape;
        if (node->op == WNN_OP_convTranspose2d) {
            const WNNConvTranspose2dOptions *options = node->attrs;
            uint32_t channels = output->dim[options->inputLayout == WNNInputOperandLayout_NHWC ? 3 : 1];
            return (double)wnn_shape_elements(filter) / channels;
        }
        const WNNConv2dOptions *options = node->attrs;
        uint32_t channels = output->dim[options->inputLayout == WNNInputOperandLayout_NHWC ? 3 : 1];
        return (double)wnn_shape_elements(filter) / channels;
    }
    case INNER:
        if (node->op == WNN_OP_gemm)
            return input->dim[((const WNNGemmOptions *)node->attrs)->aTranspose ? 0 : 1];
        return input->dim[input->rank - 1];
    case WINDOW: {
        const WNNPool2dOptions *options = node->attrs;
        return (double)options->windowDimensions.data[0] * options->windowDimensions.data[1];
    }
    default:
        return 0;
    }
}

static bool resamples(const struct node *node, WNNInterpolationMode mode)
{
    return (node->op == WNN_OP_resample2d && ((const WNNResample2dOptions *)node->attrs)->mode == mode) ||
           (node->op == WNN_OP_resample2dDynamic &&
            ((const WNNResample2dDynamicOptions *)node->attrs)->mode == mode);
}

// The units of one node, also for operators whose tolerance is a difference.
static double units_of(const struct node *node)
{
    WNNDataType type = node->out[0]->type.type;
    if (!wnn_dtype_is_float(type))
        return node->op == WNN_OP_quantizeLinear || resamples(node, WNNInterpolationMode_Linear) ? 1 : 0;
    double units = type == WNNDataType_Float32 ? limits[node->op].float32 : limits[node->op].float16;
    units += limits[node->op].factor * basis_of(node, limits[node->op].basis);
    if (node->op == WNN_OP_gemm) {
        const WNNGemmOptions *options = node->attrs;
        units += options->alpha != 1;
        if (node->in[2] != NULL)
            units += (options->beta != 0) + (options->beta != 1);
    }
    if (resamples(node, WNNInterpolationMode_NearestNeighbor))
        units = 0;
    return units > 0 ? units : 0;
}

bool wnn_op_is_exact(enum op op)
{
    return limits[op].float32 == 0 && limits[op].basis == NOTHING;
}

struct tolerance wnn_node_tolerance(const struct node *node)
{
    double absolute = 0;
    if (node->out[0]->type.type == WNNDataType_Float32)
        absolute = limits[node->op].absolute32;
    else if (node->out[0]->type.type == WNNDataType_Float16)
        absolute = limits[node->op].absolute16;
    return absolute > 0 ? (struct tolerance){true, absolute} : (struct tolerance){false, units_of(node)};
}

struct tolerance wnn_graph_tolerance(const struct graph *graph)
{
    struct tolerance sum = {false, 0};
    if (graph->node_count == 1)
        return wnn_node_tolerance(graph->nodes[0]);
    for (size_t i = 0; i < graph->node_count; i++)
        sum.value += units_of(graph->nodes[i]);
    return sum;
}
