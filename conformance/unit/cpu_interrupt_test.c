// SPDX-License-Identifier: Apache-2.0
//
// What runs long can be stopped: executions of operators of every family, in every kernel that they have, and
// builds, by cancelling the request, the graph, or by destroying the context, and by limits of time. Each is
// stopped within some milliseconds, its outputs are untouched or zeros, and the context goes on.

#include "conformance/unit/runtime_fixture.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

// From the cancellation to the callback, in milliseconds that the process had a processor for each of its
// threads, so that it does not matter what else the machine does. Sanitizers get more time.
// To that comes what the outputs take that are filled with zeros.
#define MAX_MILLISECONDS      (SANITIZED ? 200 : 20)
#define BYTES_PER_MILLISECOND 4e6
#define TRIES                 8

// ---------------------------------------------------------------------------------------------------------------
// Operands
// ---------------------------------------------------------------------------------------------------------------

static WNNOperandDescriptor describe(WNNDataType type, const uint32_t *dims, size_t rank)
{
    return (WNNOperandDescriptor){NULL, type, {dims, rank}};
}

static size_t bytes_of(const WNNOperandDescriptor *descriptor)
{
    static const unsigned char sizes[] = {0, 4, 2, 4, 4, 8, 8, 1, 1};
    size_t bytes = sizes[descriptor->dataType];
    for (size_t i = 0; i < descriptor->shape.count; i++)
        bytes *= descriptor->shape.data[i];
    return bytes;
}

static WNNOperand input(WNNGraphBuilder b, WNNDataType type, const uint32_t *dims, size_t rank)
{
    static char names[8][2] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static unsigned next;
    WNNOperandDescriptor descriptor = describe(type, dims, rank);
    return wnnGraphBuilderInput(b, view(names[next++ % 8]), &descriptor);
}

static void free_bytes(const void *data, size_t length, void *unused1, void *unused2)
{
    (void)length, (void)unused1, (void)unused2;
    free((void *)(uintptr_t)data);
}

static WNNOperand constant(WNNGraphBuilder b, WNNDataType type, const uint32_t *dims, size_t rank)
{
    WNNOperandDescriptor descriptor = describe(type, dims, rank);
    WNNExternalBytes bytes = WNN_EXTERNAL_BYTES_INIT;
    bytes.byteLength = bytes_of(&descriptor);
    bytes.data = calloc(1, bytes.byteLength);
    bytes.release = free_bytes;
    REQUIRE(bytes.data);
    return wnnGraphBuilderExternalConstant(b, &descriptor, &bytes);
}

#define F32 WNNDataType_Float32
#define F16 WNNDataType_Float16
#define U8  WNNDataType_Uint8
#define I32 WNNDataType_Int32

// ---------------------------------------------------------------------------------------------------------------
// Nodes that take long
// ---------------------------------------------------------------------------------------------------------------

#define MAKER(name) static WNNOperand name(WNNGraphBuilder b)

static WNNOperand convolve(WNNGraphBuilder b, WNNOperand x, WNNInputOperandLayout layout, WNNOperand filter,
                           WNNConv2dFilterOperandLayout filter_layout, uint32_t groups, uint32_t padding)
{
    WNNConv2dOptions options = WNN_CONV2D_OPTIONS_INIT;
    options.inputLayout = layout;
    options.filterLayout = filter_layout;
    options.groups = groups;
    options.padding = LIST(padding, padding, padding, padding);
    return wnnGraphBuilderConv2d(b, x, filter, &options);
}

#define NCHW           WNNInputOperandLayout_NCHW
#define NHWC           WNNInputOperandLayout_NHWC
#define FILTER(layout) WNNConv2dFilterOperandLayout_##layout

MAKER(conv_nchw)
{
    return convolve(b, input(b, F32, DIMS(1, 128, 256, 256)), NCHW, constant(b, F32, DIMS(512, 128, 5, 5)),
                    FILTER(OIHW), 1, 0);
}

MAKER(conv_nhwc)
{
    return convolve(b, input(b, F32, DIMS(1, 256, 256, 128)), NHWC, constant(b, F32, DIMS(512, 5, 5, 128)),
                    FILTER(OHWI), 1, 0);
}

MAKER(conv_runtime_filter)
{
    return convolve(b, input(b, F32, DIMS(1, 256, 256, 128)), NHWC, input(b, F32, DIMS(5, 5, 128, 512)),
                    FILTER(HWIO), 1, 0);
}

MAKER(conv_winograd)
{
    return convolve(b, input(b, F32, DIMS(8, 128, 256, 256)), NCHW, constant(b, F32, DIMS(128, 128, 3, 3)),
                    FILTER(OIHW), 1, 1);
}

MAKER(conv_half)
{
    return convolve(b, input(b, F16, DIMS(1, 128, 256, 256)), NCHW, constant(b, F16, DIMS(512, 128, 5, 5)),
                    FILTER(OIHW), 1, 0);
}

MAKER(conv_depthwise)
{
    return convolve(b, input(b, F32, DIMS(1, 128, 512, 512)), NCHW, constant(b, F32, DIMS(128, 1, 31, 31)),
                    FILTER(OIHW), 128, 0);
}

MAKER(conv_depthwise_nhwc)
{
    return convolve(b, input(b, F32, DIMS(1, 512, 512, 128)), NHWC, constant(b, F32, DIMS(1, 31, 31, 128)),
                    FILTER(IHWO), 128, 0);
}

MAKER(conv_groups)
{
    return convolve(b, input(b, F32, DIMS(1, 512, 256, 256)), NCHW, input(b, F32, DIMS(512, 128, 5, 5)),
                    FILTER(OIHW), 4, 0);
}

MAKER(conv_one_pixel) // few windows, each enormous
{
    return convolve(b, input(b, F32, DIMS(1, 64, 800, 800)), NCHW, input(b, F32, DIMS(2, 64, 790, 790)),
                    FILTER(OIHW), 1, 0);
}

MAKER(conv_transpose)
{
    WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    options.strides = LIST(2, 2);
    return wnnGraphBuilderConvTranspose2d(b, input(b, F32, DIMS(1, 128, 128, 128)),
                                          input(b, F32, DIMS(128, 256, 9, 9)), &options);
}

MAKER(conv_transpose_depthwise)
{
    WNNConvTranspose2dOptions options = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
    options.groups = 128;
    return wnnGraphBuilderConvTranspose2d(b, input(b, F32, DIMS(1, 128, 256, 256)),
                                          constant(b, F32, DIMS(128, 1, 31, 31)), &options);
}

MAKER(matmul)
{
    return wnnGraphBuilderMatmul(b, input(b, F32, DIMS(4096, 4096)), input(b, F32, DIMS(4096, 4096)), NULL);
}

MAKER(matmul_half)
{
    return wnnGraphBuilderMatmul(b, input(b, F16, DIMS(4096, 4096)), input(b, F16, DIMS(4096, 4096)), NULL);
}

MAKER(matmul_constant)
{
    return wnnGraphBuilderMatmul(b, input(b, F32, DIMS(8192, 2048)), constant(b, F32, DIMS(2048, 4096)),
                                 NULL);
}

MAKER(matmul_batched)
{
    return wnnGraphBuilderMatmul(b, input(b, F32, DIMS(3, 2048, 2048)), input(b, F32, DIMS(3, 2048, 2048)),
                                 NULL);
}

MAKER(matmul_many_small)
{
    return wnnGraphBuilderMatmul(b, input(b, F32, DIMS(65536, 16, 16)), input(b, F32, DIMS(65536, 16, 48)),
                                 NULL);
}

#define TERMS (1u << 26)
MAKER(matmul_one_product) // of two vectors
{
    return wnnGraphBuilderMatmul(b, input(b, F32, DIMS(1, TERMS)), input(b, F32, DIMS(TERMS, 1)), NULL);
}

MAKER(matmul_one_product_half)
{
    return wnnGraphBuilderMatmul(b, input(b, F16, DIMS(1, TERMS)), input(b, F16, DIMS(TERMS, 1)), NULL);
}

MAKER(matmul_one_product_half_constant)
{
    return wnnGraphBuilderMatmul(b, input(b, F16, DIMS(1, TERMS)), constant(b, F16, DIMS(TERMS, 1)), NULL);
}

MAKER(matmul_one_product_int8)
{
    WNNOperand one = constant(b, F32, DIMS(1, 1)), zero = constant(b, U8, DIMS(1, 1));
    WNNOperand x = wnnGraphBuilderDequantizeLinear(b, input(b, U8, DIMS(1, 2 * TERMS)), one, zero, NULL);
    WNNOperand w = wnnGraphBuilderDequantizeLinear(b, constant(b, U8, DIMS(2 * TERMS, 1)), one, zero, NULL);
    return wnnGraphBuilderQuantizeLinear(b, wnnGraphBuilderMatmul(b, x, w, NULL), one, zero, NULL);
}

// A row by quantized weights.
static WNNOperand dequantized(WNNGraphBuilder b, uint32_t terms, uint32_t columns, bool transposed)
{
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    options.bTranspose = transposed;
    WNNOperand one = constant(b, F32, DIMS(1, 1)), zero = constant(b, U8, DIMS(1, 1));
    WNNOperand weights =
        transposed ? constant(b, U8, DIMS(columns, terms)) : constant(b, U8, DIMS(terms, columns));
    return wnnGraphBuilderGemm(b, input(b, F32, DIMS(1, terms)),
                               wnnGraphBuilderDequantizeLinear(b, weights, one, zero, NULL), &options);
}

MAKER(dequantized_one_product)
{
    return dequantized(b, 2 * TERMS, 1, false);
}
MAKER(dequantized_columns)
{
    return dequantized(b, TERMS / 64, 64, false);
}
MAKER(dequantized_rows)
{
    return dequantized(b, TERMS / 4, 8, true);
}

MAKER(matmul_rows) // of a matrix of few columns, which are added up
{
    return wnnGraphBuilderMatmul(b, input(b, F32, DIMS(1, TERMS / 64)), input(b, F32, DIMS(TERMS / 64, 64)),
                                 NULL);
}

MAKER(gemm_rows) // that lie in memory as they are
{
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    options.bTranspose = true;
    return wnnGraphBuilderGemm(b, input(b, F32, DIMS(2, TERMS / 4)), input(b, F32, DIMS(3, TERMS / 4)),
                               &options);
}

MAKER(gemm_rows_half)
{
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    options.bTranspose = true;
    return wnnGraphBuilderGemm(b, input(b, F16, DIMS(1, TERMS / 4)), constant(b, F16, DIMS(3, TERMS / 4)),
                               &options);
}

MAKER(gemm)
{
    WNNGemmOptions options = WNN_GEMM_OPTIONS_INIT;
    options.aTranspose = options.bTranspose = true;
    return wnnGraphBuilderGemm(b, input(b, F32, DIMS(2048, 4096)), input(b, F32, DIMS(4096, 2048)), &options);
}

MAKER(attention)
{
    WNNTransposeOptions options = WNN_TRANSPOSE_OPTIONS_INIT;
    options.permutation = LIST(0, 1, 3, 2);
    WNNOperand q = input(b, F32, DIMS(1, 4, 4096, 64)), k = input(b, F32, DIMS(1, 4, 4096, 64)),
               v = input(b, F32, DIMS(1, 4, 4096, 64));
    WNNOperand scores = wnnGraphBuilderMatmul(b, q, wnnGraphBuilderTranspose(b, k, &options), NULL);
    return wnnGraphBuilderMatmul(b, wnnGraphBuilderSoftmax(b, scores, 3, NULL), v, NULL);
}

MAKER(dequantized_product)
{
    WNNOperand weights = constant(b, U8, DIMS(2048, 4096)), scale = constant(b, F32, DIMS(1, 4096)),
               zero = constant(b, U8, DIMS(1, 4096));
    return wnnGraphBuilderMatmul(b, input(b, F32, DIMS(4096, 2048)),
                                 wnnGraphBuilderDequantizeLinear(b, weights, scale, zero, NULL), NULL);
}

MAKER(conv_int8)
{
    WNNOperand one = constant(b, F32, DIMS(1, 1, 1, 1)), zero = constant(b, U8, DIMS(1, 1, 1, 1));
    WNNOperand x = wnnGraphBuilderDequantizeLinear(b, input(b, U8, DIMS(1, 128, 384, 384)), one, zero, NULL);
    WNNOperand w = wnnGraphBuilderDequantizeLinear(b, constant(b, U8, DIMS(512, 128, 5, 5)), one, zero, NULL);
    return wnnGraphBuilderQuantizeLinear(b, wnnGraphBuilderConv2d(b, x, w, NULL), one, zero, NULL);
}

MAKER(lstm)
{
    WNNLstmOptions options = WNN_LSTM_OPTIONS_INIT;
    WNNOperand outputs[3] = {NULL};
    wnnGraphBuilderLstm(b, input(b, F32, DIMS(2000, 1, 512)), constant(b, F32, DIMS(1, 2048, 512)),
                        constant(b, F32, DIMS(1, 2048, 512)), 2000, 512, &options, outputs);
    return outputs[0];
}

MAKER(gru_wide) // one step that takes long
{
    WNNGruOptions options = WNN_GRU_OPTIONS_INIT;
    WNNOperand outputs[2] = {NULL};
    wnnGraphBuilderGru(b, input(b, F32, DIMS(2, 2048, 1024)), constant(b, F32, DIMS(1, 3072, 1024)),
                       constant(b, F32, DIMS(1, 3072, 1024)), 2, 1024, &options, outputs);
    return outputs[0];
}

MAKER(lstm_cell)
{
    WNNLstmCellOptions options = WNN_LSTM_CELL_OPTIONS_INIT;
    WNNOperand outputs[2] = {NULL};
    wnnGraphBuilderLstmCell(b, input(b, F32, DIMS(4096, 1024)), constant(b, F32, DIMS(4096, 1024)),
                            constant(b, F32, DIMS(4096, 1024)), input(b, F32, DIMS(4096, 1024)),
                            input(b, F32, DIMS(4096, 1024)), 1024, &options, outputs);
    return outputs[0];
}

static WNNOperand pool(WNNGraphBuilder b, WNNDataType type, uint32_t size, uint32_t window, uint32_t dilation,
                       WNNOperand (*method)(WNNGraphBuilder, WNNOperand, const WNNPool2dOptions *))
{
    WNNPool2dOptions options = WNN_POOL2D_OPTIONS_INIT;
    options.windowDimensions = LIST(window, window);
    options.dilations = LIST(dilation, dilation);
    return method(b, input(b, type, DIMS(1, 64, size, size)), &options);
}

MAKER(average_pool)
{
    return pool(b, F32, 1024, 256, 1, wnnGraphBuilderAveragePool2d);
}
MAKER(average_pool_dilated)
{
    return pool(b, F32, 512, 80, 3, wnnGraphBuilderAveragePool2d);
}
MAKER(max_pool)
{
    return pool(b, F32, 1024, 256, 1, wnnGraphBuilderMaxPool2d);
}
MAKER(max_pool_bytes)
{
    return pool(b, U8, 1024, 128, 2, wnnGraphBuilderMaxPool2d);
}
MAKER(l2_pool_half)
{
    return pool(b, F16, 1024, 64, 2, wnnGraphBuilderL2Pool2d);
}

MAKER(resample)
{
    WNNResample2dOptions options = WNN_RESAMPLE2D_OPTIONS_INIT;
    options.mode = WNNInterpolationMode_Linear;
    options.sizes = LIST(8191, 8191);
    return wnnGraphBuilderResample2d(b, input(b, F16, DIMS(1, 2, 1000, 1000)), &options);
}

MAKER(resample_xnnpack)
{
    WNNResample2dOptions options = WNN_RESAMPLE2D_OPTIONS_INIT;
    options.mode = WNNInterpolationMode_Linear;
    options.sizes = LIST(4096, 4096);
    return wnnGraphBuilderResample2d(b, input(b, F32, DIMS(1, 4, 1024, 1024)), &options);
}

#define LARGE DIMS(64, 1 << 20)
MAKER(unary)
{
    return wnnGraphBuilderSin(b, input(b, F32, LARGE), NULL);
}
MAKER(binary)
{
    return wnnGraphBuilderPow(b, input(b, F16, LARGE), input(b, F16, LARGE), NULL);
}
MAKER(integer_power)
{
    return wnnGraphBuilderPow(b, input(b, I32, LARGE), input(b, I32, LARGE), NULL);
}
MAKER(cast)
{
    return wnnGraphBuilderCast(b, input(b, F16, LARGE), U8, NULL);
}
MAKER(softmax)
{
    return wnnGraphBuilderSoftmax(b, input(b, F16, LARGE), 1, NULL);
}
MAKER(softmax_one_row)
{
    return wnnGraphBuilderSoftmax(b, input(b, F16, DIMS(1 << 27)), 0, NULL);
}
MAKER(softmax_first)
{
    return wnnGraphBuilderSoftmax(b, input(b, F16, LARGE), 0, NULL);
}
MAKER(layer_normalization)
{
    return wnnGraphBuilderLayerNormalization(b, input(b, F16, DIMS(2, 32, 1 << 20)), NULL);
}
MAKER(instance_normalization)
{
    return wnnGraphBuilderInstanceNormalization(b, input(b, F16, DIMS(1, 4, 4096, 4096)), NULL);
}
MAKER(transpose)
{
    return wnnGraphBuilderTranspose(b, input(b, U8, DIMS(11000, 16001)), NULL);
}
MAKER(reduce_all)
{
    return wnnGraphBuilderReduceLogSumExp(b, input(b, F16, DIMS(1 << 27)), NULL);
}
MAKER(reduce_rows)
{
    return wnnGraphBuilderReduceL2(b, input(b, F16, DIMS(3, 1 << 26)), NULL);
}
MAKER(reduce_sum)
{
    return wnnGraphBuilderReduceSum(b, input(b, F32, DIMS(1 << 28)), NULL);
}
MAKER(reduce_sum_half)
{
    return wnnGraphBuilderReduceSum(b, input(b, F16, DIMS(1 << 28)), NULL);
}
MAKER(reduce_sum_integers)
{
    return wnnGraphBuilderReduceSum(b, input(b, I32, DIMS(1 << 28)), NULL);
}
MAKER(reduce_product)
{
    return wnnGraphBuilderReduceProduct(b, input(b, F32, DIMS(1 << 28)), NULL);
}
MAKER(arg_max)
{
    WNNArgMinMaxOptions options = WNN_ARG_MIN_MAX_OPTIONS_INIT;
    return wnnGraphBuilderArgMax(b, input(b, U8, DIMS(1 << 28)), 0, &options);
}
MAKER(cumulative_sum)
{
    return wnnGraphBuilderCumulativeSum(b, input(b, F32, DIMS(1 << 26)), 0, NULL);
}
MAKER(cumulative_sum_half)
{
    return wnnGraphBuilderCumulativeSum(b, input(b, F16, DIMS(1 << 26)), 0, NULL);
}
MAKER(cumulative_sum_integers)
{
    return wnnGraphBuilderCumulativeSum(b, input(b, I32, DIMS(1 << 25)), 0, NULL);
}
MAKER(gather)
{
    return wnnGraphBuilderGather(b, input(b, F32, DIMS(1 << 20)), input(b, I32, DIMS(1 << 26)), NULL);
}
MAKER(gather_elements)
{
    return wnnGraphBuilderGatherElements(b, input(b, U8, DIMS(8192, 8192)), input(b, I32, DIMS(8192, 8192)),
                                         NULL);
}
MAKER(scatter_elements)
{
    return wnnGraphBuilderScatterElements(b, input(b, F32, DIMS(8192, 8192)), input(b, I32, DIMS(8192, 8192)),
                                          input(b, F32, DIMS(8192, 8192)), NULL);
}
MAKER(scatter_nd)
{
    return wnnGraphBuilderScatterND(b, input(b, U8, DIMS(1 << 26)), input(b, I32, DIMS(1 << 25, 1)),
                                    input(b, U8, DIMS(1 << 25)), NULL);
}
MAKER(tile)
{
    return wnnGraphBuilderTile(b, input(b, U8, DIMS(100, 1000)), LIST(50, 60), NULL);
}
MAKER(pad)
{
    return wnnGraphBuilderPad(b, input(b, U8, DIMS(1000, 1000)), LIST(9000, 9000), LIST(9000, 9000), NULL);
}
MAKER(triangular)
{
    return wnnGraphBuilderTriangular(b, input(b, U8, DIMS(16000, 16000)), NULL);
}
MAKER(reverse)
{
    return wnnGraphBuilderReverse(b, input(b, U8, DIMS(1 << 28)), NULL);
}
MAKER(where)
{
    return wnnGraphBuilderWhere(b, input(b, U8, DIMS(1 << 27)), input(b, U8, DIMS(1 << 27)),
                                input(b, U8, DIMS(1 << 27)), NULL);
}
MAKER(dequantize)
{
    return wnnGraphBuilderDequantizeLinear(b, input(b, U8, DIMS(4096, 20000)),
                                           constant(b, F32, DIMS(4096, 1)), constant(b, U8, DIMS(4096, 1)),
                                           NULL);
}
MAKER(quantize)
{
    return wnnGraphBuilderQuantizeLinear(b, input(b, F32, DIMS(4096, 20000)), constant(b, F32, DIMS(4096, 1)),
                                         constant(b, U8, DIMS(4096, 1)), NULL);
}
MAKER(chain)
{
    WNNOperand x = input(b, F32, LARGE), y = input(b, F32, LARGE);
    return wnnGraphBuilderTanh(
        b, wnnGraphBuilderMul(b, wnnGraphBuilderSigmoid(b, wnnGraphBuilderAdd(b, x, y, NULL), NULL), x, NULL),
        NULL);
}
MAKER(concat)
{
    WNNOperand x = input(b, U8, DIMS(16, 1 << 23)), both[2] = {x, x};
    return wnnGraphBuilderConcat(b, 2, both, 1, NULL);
}

static const struct subject {
    const char *name;
    WNNOperand (*make)(WNNGraphBuilder builder);
} subjects[] = {
#define SUBJECT(name)                                                                                        \
    {                                                                                                        \
#name, name                                                                                          \
    }
    SUBJECT(conv_nchw),
    SUBJECT(conv_nhwc),
    SUBJECT(conv_runtime_filter),
    SUBJECT(conv_winograd),
    SUBJECT(conv_half),
    SUBJECT(conv_depthwise),
    SUBJECT(conv_depthwise_nhwc),
    SUBJECT(conv_groups),
    SUBJECT(conv_one_pixel),
    SUBJECT(conv_transpose),
    SUBJECT(conv_transpose_depthwise),
    SUBJECT(matmul),
    SUBJECT(matmul_half),
    SUBJECT(matmul_constant),
    SUBJECT(matmul_batched),
    SUBJECT(matmul_many_small),
    SUBJECT(matmul_one_product),
    SUBJECT(matmul_one_product_half),
    SUBJECT(matmul_one_product_half_constant),
    SUBJECT(matmul_one_product_int8),
    SUBJECT(dequantized_one_product),
    SUBJECT(dequantized_columns),
    SUBJECT(dequantized_rows),
    SUBJECT(matmul_rows),
    SUBJECT(gemm_rows),
    SUBJECT(gemm_rows_half),
    SUBJECT(gemm),
    SUBJECT(attention),
    SUBJECT(dequantized_product),
    SUBJECT(conv_int8),
    SUBJECT(lstm),
    SUBJECT(gru_wide),
    SUBJECT(lstm_cell),
    SUBJECT(average_pool),
    SUBJECT(average_pool_dilated),
    SUBJECT(max_pool),
    SUBJECT(max_pool_bytes),
    SUBJECT(l2_pool_half),
    SUBJECT(resample),
    SUBJECT(resample_xnnpack),
    SUBJECT(unary),
    SUBJECT(binary),
    SUBJECT(integer_power),
    SUBJECT(cast),
    SUBJECT(softmax),
    SUBJECT(softmax_first),
    SUBJECT(softmax_one_row),
    SUBJECT(layer_normalization),
    SUBJECT(instance_normalization),
    SUBJECT(transpose),
    SUBJECT(reduce_all),
    SUBJECT(reduce_rows),
    SUBJECT(reduce_sum),
    SUBJECT(reduce_sum_half),
    SUBJECT(reduce_sum_integers),
    SUBJECT(reduce_product),
    SUBJECT(arg_max),
    SUBJECT(cumulative_sum),
    SUBJECT(cumulative_sum_half),
    SUBJECT(cumulative_sum_integers),
    SUBJECT(gather),
    SUBJECT(gather_elements),
    SUBJECT(scatter_elements),
    SUBJECT(scatter_nd),
    SUBJECT(tile),
    SUBJECT(pad),
    SUBJECT(triangular),
    SUBJECT(reverse),
    SUBJECT(where),
    SUBJECT(dequantize),
    SUBJECT(quantize),
    SUBJECT(chain),
    SUBJECT(concat),
};

// ---------------------------------------------------------------------------------------------------------------
// Stopping them
// ---------------------------------------------------------------------------------------------------------------

// The memory of an execution of a graph with one output.
struct execution {
    WNNNamedBuffer inputs[8], output;
    size_t input_count;
    struct answer answer;
};

static void prepare(struct execution *e, WNNGraph graph)
{
    *e = (struct execution){0};
    const WNNNamedDescriptor *ports = wnnGraphGetInputs(graph, &e->input_count);
    REQUIRE(e->input_count <= 8);
    for (size_t i = 0; i < e->input_count; i++) {
        size_t bytes = bytes_of(&ports[i].descriptor);
        e->inputs[i] = (WNNNamedBuffer){ports[i].name, calloc(1, bytes), bytes, WNNDataType_Undefined};
        REQUIRE(e->inputs[i].data);
    }
    size_t count;
    ports = wnnGraphGetOutputs(graph, &count);
    REQUIRE_EQUAL_INT(count, 1);
    size_t bytes = bytes_of(&ports[0].descriptor);
    e->output = (WNNNamedBuffer){ports[0].name, malloc(bytes), bytes, WNNDataType_Undefined};
    REQUIRE(e->output.data);
}

static void finish(struct execution *e)
{
    for (size_t i = 0; i < e->input_count; i++)
        free(e->inputs[i].data);
    free(e->output.data);
}

static void require_untouched_or_zero(const struct execution *e)
{
    const unsigned char *bytes = e->output.data;
    REQUIRE(bytes[0] == 0xA5 || bytes[0] == 0);
    // Whether each byte is as the one before: there are hundreds of megabytes.
    if (memcmp(bytes, bytes + 1, e->output.byteLength - 1) == 0)
        return;
    for (size_t i = 0; i < e->output.byteLength; i++)
        if (bytes[i] != bytes[0])
            REQUIRE_EQUAL_INT(bytes[i], bytes[0]);
}

// Milliseconds that stopping took; negative: the execution had ended.
static double stop_once(WNNContext context, WNNGraph graph, struct execution *e, uint32_t threads, long after)
{
    e->answer = (struct answer){0};
    memset(e->output.data, 0xA5, e->output.byteLength);
    WNNFuture future = start_compute(context, graph, e->input_count, e->inputs, 1, &e->output,
                                     tell(&e->answer, WNNCallbackMode_AllowSpontaneous));
    sleep_milliseconds(after);
    double begin = processor_seconds();
    bool ended = wnnContextCancel(context, future) != WNNStatus_Success;
    wait_for(context, future);
    double milliseconds = (processor_seconds() - begin) * 1e3 / threads;
    REQUIRE_EQUAL_INT(e->answer.calls, 1);
    if (ended || e->answer.status == WNNStatus_Success)
        return -1;
    REQUIRE_EQUAL_INT(e->answer.status, WNNStatus_Cancelled);
    require_untouched_or_zero(e);
    return milliseconds;
}

static WNNContext create(uint32_t threads, bool strict, struct answer *error)
{
    WNNContextDescriptor descriptor = describe_context(error, NULL);
    descriptor.threadCount = threads;
    descriptor.strictNumerics = strict;
    WNNContext context;
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
    return context;
}

static void test_stop(const struct subject *subject, uint32_t threads, bool strict)
{
    struct answer error = {0};
    WNNContext context = create(threads, strict, &error);
    WNNGraphBuilder builder = create_builder(context);
    WNNNamedOperand output = {view("y"), subject->make(builder)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    struct execution e;
    prepare(&e, graph);
    double best = 1e9, worst = 0,
           most = MAX_MILLISECONDS + (double)e.output.byteLength / BYTES_PER_MILLISECOND;
    int stopped = 0;
    for (int i = 0; i < TRIES && (stopped < 2 || best > most); i++) {
        double time = stop_once(context, graph, &e, threads, 15 + 5 * i);
        if (time < 0)
            continue;
        stopped++;
        best = time < best ? time : best;
        worst = time > worst ? time : worst;
    }
    bool slow = stopped > 0 && best > most;
    printf("%-26s %u thread%s%s: ", subject->name, threads, threads > 1 ? "s" : "", strict ? ", strict" : "");
    if (stopped)
        printf("stopped %d times, %.1f to %.1f ms%s\n", stopped, best, worst, slow ? "  TOO SLOW" : "");
    else
        puts("was too quick");
    fflush(stdout);
    finish(&e);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
    REQUIRE(!slow);
}

// ---------------------------------------------------------------------------------------------------------------
// Other ways
// ---------------------------------------------------------------------------------------------------------------

// All executions of a graph, and nothing else; the graph goes on.
static void test_graph(void)
{
    WNNContext context = create(1, false, NULL);
    WNNGraphBuilder builder = create_builder(context);
    WNNNamedOperand output = {view("y"), matmul(builder)};
    WNNGraph graph = build_outputs(context, builder, 1, &output), other = build_chain(context, 1, 4);
    wnnGraphBuilderRelease(builder);
    struct execution running, waiting;
    prepare(&running, graph);
    prepare(&waiting, graph);
    struct answer last = {0};
    float x[4] = {1, 2, 3, 4}, y[4];
    WNNFuture first = start_compute(context, graph, running.input_count, running.inputs, 1, &running.output,
                                    tell(&running.answer, WNNCallbackMode_WaitAnyOnly));
    WNNFuture second = start_compute(context, graph, waiting.input_count, waiting.inputs, 1, &waiting.output,
                                     tell(&waiting.answer, WNNCallbackMode_WaitAnyOnly));
    WNNFuture third = compute_chain(context, other, x, y, 4, tell(&last, WNNCallbackMode_WaitAnyOnly));
    sleep_milliseconds(20);
    wnnGraphCancel(graph);
    wait_for(context, first);
    wait_for(context, second);
    wait_for(context, third);
    REQUIRE_EQUAL_INT(running.answer.status, WNNStatus_Cancelled);
    REQUIRE_EQUAL_INT(waiting.answer.status, WNNStatus_Cancelled);
    REQUIRE_EQUAL_STR(waiting.answer.message, "cancelled by wnnGraphCancel");
    REQUIRE_EQUAL_INT(last.status, WNNStatus_Success);
    REQUIRE_EQUAL_FLOAT(y[3], 8);
    wnnGraphCancel(NULL);
    finish(&running);
    finish(&waiting);
    wnnGraphRelease(graph);
    wnnGraphRelease(other);
    wnnContextRelease(context);
}

// Of the context, and of one execution; the smaller counts.
static void test_time_limits(void)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNLimits limits = WNN_LIMITS_INIT;
    descriptor.threadCount = 1;
    descriptor.limits = &limits;
    for (int chained = 0; chained < 2; chained++) {
        limits.maxExecutionNanoseconds = chained ? 3600u * 1000000000ull : 20000000;
        WNNContext context;
        REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &context), WNNStatus_Success);
        WNNGraphBuilder builder = create_builder(context);
        WNNNamedOperand output = {view("y"), matmul(builder)};
        WNNGraph graph = build_outputs(context, builder, 1, &output);
        wnnGraphBuilderRelease(builder);
        struct execution e;
        prepare(&e, graph);
        WNNTimeLimit limit = WNN_TIME_LIMIT_INIT;
        limit.nanoseconds = 20000000;
        WNNComputeDescriptor compute = WNN_COMPUTE_DESCRIPTOR_INIT;
        compute.nextInChain = chained ? &limit.chain : NULL;
        compute.graph = graph;
        compute.inputCount = e.input_count;
        compute.inputs = e.inputs;
        compute.outputCount = 1;
        compute.outputs = &e.output;
        wait_for(context, wnnContextCompute(context, &compute, tell(&e.answer, WNNCallbackMode_WaitAnyOnly)));
        REQUIRE_EQUAL_INT(e.answer.status, WNNStatus_Cancelled);
        REQUIRE_EQUAL_STR(e.answer.message, "its time limit passed");
        finish(&e);
        wnnGraphRelease(graph);
        wnnContextRelease(context);
    }
}

// A build runs beside an execution, and has a time limit of its own.
static void test_builds(void)
{
    WNNContextDescriptor descriptor = describe_context(NULL, NULL);
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.maxBuildNanoseconds = 1;
    descriptor.limits = &limits;
    WNNContext limited, context = create(1, false, NULL);
    REQUIRE_EQUAL_INT(wnnCreateContext(&descriptor, &limited), WNNStatus_Success);
    WNNGraphBuilder builder = create_builder(limited);
    struct answer built = {0};
    wait_for(limited,
             start_build(builder, "y", wnnGraphBuilderTanh(builder, add_input(builder, "x", 1, 1), NULL),
                         &built, WNNCallbackMode_WaitAnyOnly));
    REQUIRE_EQUAL_INT(built.status, WNNStatus_Cancelled);
    REQUIRE(!built.graph);
    wnnGraphBuilderRelease(builder);
    wnnContextRelease(limited);

    builder = create_builder(context);
    WNNNamedOperand output = {view("y"), matmul(builder)};
    WNNGraph graph = build_outputs(context, builder, 1, &output);
    wnnGraphBuilderRelease(builder);
    struct execution e;
    prepare(&e, graph);
    WNNFuture future = start_compute(context, graph, e.input_count, e.inputs, 1, &e.output,
                                     tell(&e.answer, WNNCallbackMode_WaitAnyOnly));
    sleep_milliseconds(20); // or this thread would run it while it waits
    WNNGraph beside = build_chain(context, 3, 4);
    REQUIRE_EQUAL_INT(wnnContextCancel(context, future), WNNStatus_Success);
    wait_for(context, future);
    REQUIRE_EQUAL_INT(e.answer.status, WNNStatus_Cancelled); // it was still running
    finish(&e);
    wnnGraphRelease(beside);
    wnnGraphRelease(graph);
    wnnContextRelease(context);
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    CASE(test_graph());
    CASE(test_time_limits());
    CASE(test_builds());
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        for (uint32_t threads = SANITIZED ? 2 : 1; threads <= 2; threads++) // sanitizers are slow
            CASE_AS(case_name("%s, %u threads", subjects[i].name, threads),
                    test_stop(&subjects[i], threads, threads == 2 && i % 2));
    return cases_end();
}
