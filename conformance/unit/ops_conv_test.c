// SPDX-License-Identifier: Apache-2.0
//
// Validation of conv2d, convTranspose2d, the pools and resample2d.

#include "conformance/unit/validation.h"

static const WNNConv2dOptions conv2d_defaults = WNN_CONV2D_OPTIONS_INIT;
static const WNNConvTranspose2dOptions transpose_defaults = WNN_CONV_TRANSPOSE2D_OPTIONS_INIT;
static const WNNPool2dOptions pool_defaults = WNN_POOL2D_OPTIONS_INIT;
static const WNNResample2dOptions resample_defaults = WNN_RESAMPLE2D_OPTIONS_INIT;
static WNNConv2dOptions conv;
static WNNConvTranspose2dOptions trans;
static WNNPool2dOptions pool;
static WNNResample2dOptions res;

// One call with options: CONV(input, filter, conv.groups = 2, conv.strides = LIST(1, 1)).
#define CONV(x, w, ...) (conv = conv2d_defaults, __VA_ARGS__, wnnGraphBuilderConv2d(b, x, w, &conv))
#define TRANS(x, w, ...)                                                                                     \
    (trans = transpose_defaults, __VA_ARGS__, wnnGraphBuilderConvTranspose2d(b, x, w, &trans))
#define POOL(x, ...) (pool = pool_defaults, __VA_ARGS__, wnnGraphBuilderMaxPool2d(b, x, &pool))
#define RES(x, ...)  (res = resample_defaults, __VA_ARGS__, wnnGraphBuilderResample2d(b, x, &res))

#define SCALES(...)                                                                                          \
    ((WNNFloat32List){(const float[]){__VA_ARGS__}, sizeof((const float[]){__VA_ARGS__}) / sizeof(float)})

static void test_conv2d_accepts(void)
{
    WNNOperand x = F32(1, 4, 5, 6), w = F32(8, 4, 3, 2);
    ACCEPTS(wnnGraphBuilderConv2d(b, x, w, NULL), Float32, LIST(1, 8, 3, 5));
    ACCEPTS(CONV(x, w, conv.padding = LIST(1, 2, 3, 4)), Float32, LIST(1, 8, 6, 12));
    ACCEPTS(CONV(x, w, conv.strides = LIST(2, 3)), Float32, LIST(1, 8, 2, 2));
    ACCEPTS(CONV(x, w, conv.dilations = LIST(2, 5)), Float32, LIST(1, 8, 1, 1));
    ACCEPTS(CONV(x, F32(8, 1, 3, 2), conv.groups = 4), Float32, LIST(1, 8, 3, 5));
    ACCEPTS(CONV(x, w, conv.bias = F32(8)), Float32, LIST(1, 8, 3, 5));
    ACCEPTS(CONV(x, F32(3, 2, 4, 8), conv.filterLayout = WNNConv2dFilterOperandLayout_HWIO), Float32,
            LIST(1, 8, 3, 5));
    ACCEPTS(CONV(x, F32(8, 3, 2, 4), conv.filterLayout = WNNConv2dFilterOperandLayout_OHWI), Float32,
            LIST(1, 8, 3, 5));
    ACCEPTS(CONV(x, F32(4, 3, 2, 8), conv.filterLayout = WNNConv2dFilterOperandLayout_IHWO), Float32,
            LIST(1, 8, 3, 5));
    ACCEPTS(CONV(F16(1, 5, 6, 4), F16(8, 4, 3, 2), conv.inputLayout = WNNInputOperandLayout_NHWC), Float16,
            LIST(1, 3, 5, 8));
    ACCEPTS(CONV(x, w, conv.activation = wnnGraphBuilderActivationRelu(b, NULL)), Float32, LIST(1, 8, 3, 5));
    // The window as large as the padded input; strides larger than what is left.
    ACCEPTS(CONV(x, F32(8, 4, 5, 6), conv.strides = LIST(0xFFFFFFFFu, 7)), Float32, LIST(1, 8, 1, 1));
}

static void test_conv2d_refuses(void)
{
    WNNOperand x = F32(1, 4, 5, 6), w = F32(8, 4, 3, 2);
    REFUSES(CONV(x, w, conv.padding = LIST(1, 2, 3)), "conv2d: padding has 3 items; expected 4");
    REFUSES(CONV(x, w, conv.padding = EMPTY), "conv2d: padding has 0 items; expected 4");
    REFUSES(CONV(x, w, conv.strides = LIST(1, 2, 3)), "conv2d: strides has 3 items; expected 2");
    REFUSES(CONV(x, w, conv.strides = LIST(1, 0)), "conv2d: strides[1] is 0; expected at least 1");
    REFUSES(CONV(x, w, conv.dilations = LIST(1)), "conv2d: dilations has 1 items; expected 2");
    REFUSES(CONV(x, w, conv.dilations = LIST(0, 1)), "conv2d: dilations[0] is 0; expected at least 1");
    REFUSES(CONV(x, w, conv.groups = 0), "conv2d: groups is 0; expected at least 1");
    REFUSES(
        CONV(x, w, conv.groups = 3),
        "conv2d: filter [8, 4, 3, 2] has 4 input channels; expected 4 / 3 (input [1, 4, 5, 6], groups 3)");
    REFUSES(
        CONV(x, w, conv.groups = 2),
        "conv2d: filter [8, 4, 3, 2] has 4 input channels; expected 4 / 2 (input [1, 4, 5, 6], groups 2)");
    REFUSES(CONV(x, F32(6, 1, 3, 2), conv.groups = 4),
            "conv2d: filter [6, 1, 3, 2] has 6 output channels; expected a multiple of groups 4");
    REFUSES(CONV(x, w, conv.bias = F32(4)), "conv2d: bias has shape [4]; expected [8], the output channels");
    REFUSES(CONV(x, w, conv.bias = F16(8)),
            "conv2d: bias has data type float16; expected float32, the type of input");
    REFUSES(CONV(x, w, conv.bias = F32(1, 8)), "conv2d: bias has shape [1, 8] of rank 2; expected rank 1");
    REFUSES(CONV(x, F32(8, 4, 6, 2), conv.groups = 1),
            "conv2d: filter height 6 with dilation 1 does not fit into input height 5 with padding 0 and 0");
    REFUSES(CONV(x, w, conv.dilations = LIST(1, 6)),
            "conv2d: filter width 2 with dilation 6 does not fit into input width 6 with padding 0 and 0");
    REFUSES(CONV(x, w, conv.dilations = LIST(0xFFFFFFFFu, 1), conv.padding = LIST(1, 1, 0, 0)),
            "conv2d: filter height 3 with dilation 4294967295 does not fit into input height 5 with padding "
            "1 and 1");
    REFUSES(CONV(x, w, conv.padding = LIST(0xFFFFFFFFu, 0xFFFFFFFFu, 0, 0)),
            "conv2d: input [1, 4, 5, 6] with padding [4294967295, 4294967295, 0, 0] is larger than a tensor "
            "may be");
    REFUSES(CONV(x, w, conv.padding = LIST(0, 0, BIG, 0)),
            "conv2d: input [1, 4, 5, 6] with padding [0, 0, 2147483647, 0] is larger than a tensor may be");
    REFUSES(CONV(x, w, conv.padding = LIST(40000, 0, 40000, 0)),
            "conv2d: input [1, 4, 5, 6] with padding [40000, 0, 40000, 0] is larger than a tensor may be");
    REFUSES(CONV(x, w, conv.inputLayout = (WNNInputOperandLayout)3),
            "conv2d: inputLayout is 3; expected an enumerator from 1 to 2");
    REFUSES(CONV(x, w, conv.filterLayout = (WNNConv2dFilterOperandLayout)0),
            "conv2d: filterLayout is 0; expected an enumerator from 1 to 4");
    REFUSES(CONV(x, w, conv.activation = wnnGraphBuilderActivationSoftmax(b, NULL)),
            "conv2d: activation softmax on an output of shape [1, 8, 3, 5]; expected rank 2");
    REFUSES(wnnGraphBuilderConv2d(b, F32(4, 5, 6), w, NULL),
            "conv2d: input has shape [4, 5, 6] of rank 3; expected rank 4");
    REFUSES(
        wnnGraphBuilderConv2d(b, F32(1, 1, 20000, 20000), F32(3, 1, 1, 1), NULL),
        "conv2d: output of float32 [1, 3, 20000, 20000] has 4800000000 bytes; expected at most 2147483647");
}

static void test_trans_accepts(void)
{
    WNNOperand x = F32(1, 4, 5, 6), w = F32(4, 3, 3, 2);
    ACCEPTS(wnnGraphBuilderConvTranspose2d(b, x, w, NULL), Float32, LIST(1, 3, 7, 7));
    ACCEPTS(TRANS(x, w, trans.groups = 2), Float32, LIST(1, 6, 7, 7));
    ACCEPTS(TRANS(x, w, trans.strides = LIST(2, 3)), Float32, LIST(1, 3, 11, 17));
    ACCEPTS(TRANS(x, w, trans.dilations = LIST(2, 3)), Float32, LIST(1, 3, 9, 9));
    ACCEPTS(TRANS(x, w, trans.padding = LIST(1, 2, 3, 3)), Float32, LIST(1, 3, 4, 1));
    ACCEPTS(TRANS(x, w, trans.strides = LIST(2, 3), trans.outputPadding = LIST(1, 2)), Float32,
            LIST(1, 3, 12, 19));
    // outputSizes: from what is computed to less than a stride above it; outputPadding no longer counts.
    ACCEPTS(TRANS(x, w, trans.strides = LIST(2, 3), trans.outputSizes = LIST(11, 17)), Float32,
            LIST(1, 3, 11, 17));
    ACCEPTS(TRANS(x, w, trans.strides = LIST(2, 3), trans.outputSizes = LIST(12, 19)), Float32,
            LIST(1, 3, 12, 19));
    ACCEPTS(TRANS(x, w, trans.outputPadding = LIST(9, 9), trans.outputSizes = LIST(7, 7)), Float32,
            LIST(1, 3, 7, 7));
    ACCEPTS(TRANS(x, F32(3, 2, 3, 4), trans.filterLayout = WNNConvTranspose2dFilterOperandLayout_HWOI),
            Float32, LIST(1, 3, 7, 7));
    ACCEPTS(TRANS(x, F32(3, 3, 2, 4), trans.filterLayout = WNNConvTranspose2dFilterOperandLayout_OHWI),
            Float32, LIST(1, 3, 7, 7));
    ACCEPTS(TRANS(F32(1, 5, 6, 4), w, trans.inputLayout = WNNInputOperandLayout_NHWC, trans.bias = F32(3)),
            Float32, LIST(1, 7, 7, 3));
    // A size computed as 0 is made legal by outputSizes.
    ACCEPTS(TRANS(F32(1, 1, 1, 1), F32(1, 1, 1, 1), trans.padding = LIST(1, 0, 0, 0),
                  trans.strides = LIST(2, 2), trans.outputSizes = LIST(1, 1)),
            Float32, LIST(1, 1, 1, 1));
}

static void test_trans_refuses(void)
{
    WNNOperand x = F32(1, 4, 5, 6), w = F32(4, 3, 3, 2);
    REFUSES(TRANS(x, w, trans.padding = LIST(1)), "convTranspose2d: padding has 1 items; expected 4");
    REFUSES(TRANS(x, w, trans.strides = LIST(1)), "convTranspose2d: strides has 1 items; expected 2");
    REFUSES(TRANS(x, w, trans.strides = LIST(0, 1)), "convTranspose2d: strides[0] is 0; expected at least 1");
    REFUSES(TRANS(x, w, trans.dilations = LIST(1)), "convTranspose2d: dilations has 1 items; expected 2");
    REFUSES(TRANS(x, w, trans.dilations = LIST(1, 0)),
            "convTranspose2d: dilations[1] is 0; expected at least 1");
    REFUSES(TRANS(x, w, trans.outputPadding = LIST(0)),
            "convTranspose2d: outputPadding has 1 items; expected 2");
    REFUSES(TRANS(x, w, trans.outputSizes = LIST(7)), "convTranspose2d: outputSizes has 1 items; expected 2");
    REFUSES(TRANS(x, w, trans.outputPadding = LIST(0, 1)),
            "convTranspose2d: outputPadding[1] is 1; expected less than the stride 1");
    REFUSES(TRANS(x, w, trans.groups = 0), "convTranspose2d: groups is 0; expected at least 1");
    REFUSES(wnnGraphBuilderConvTranspose2d(b, x, F32(3, 4, 3, 2), NULL),
            "convTranspose2d: filter [3, 4, 3, 2] has 3 input channels; expected 4 (input [1, 4, 5, 6])");
    REFUSES(TRANS(x, w, trans.groups = 3),
            "convTranspose2d: input [1, 4, 5, 6] has 4 channels; expected a multiple of groups 3");
    REFUSES(TRANS(I8(1, 1, 1, 1), I8(1, 1, 1, 1), trans.groups = 1),
            "convTranspose2d: input has data type int8; expected float32 or float16");
    REFUSES(TRANS(x, w, trans.bias = F32(4)),
            "convTranspose2d: bias has shape [4]; expected [3], the output channels");
    REFUSES(TRANS(x, w, trans.groups = 2, trans.bias = F32(3)),
            "convTranspose2d: bias has shape [3]; expected [6], the output channels");
    REFUSES(TRANS(x, w, trans.outputSizes = LIST(6, 7)),
            "convTranspose2d: output height is 6; expected 7 to 7");
    REFUSES(TRANS(x, w, trans.outputSizes = LIST(7, 8)),
            "convTranspose2d: output width is 8; expected 7 to 7");
    REFUSES(TRANS(x, w, trans.strides = LIST(2, 3), trans.outputSizes = LIST(12, 20)),
            "convTranspose2d: output width is 20; expected 17 to 19");
    REFUSES(TRANS(x, w, trans.padding = LIST(4, 4, 0, 0)),
            "convTranspose2d: the output height would be -1; expected 1 to 2147483647");
    REFUSES(TRANS(x, w, trans.padding = LIST(0, 0, 0xFFFFFFFFu, 0xFFFFFFFFu)),
            "convTranspose2d: the output width would be -8589934583; expected 1 to 2147483647");
    REFUSES(TRANS(x, w, trans.strides = LIST(1u << 29, 1), trans.padding = LIST(1u << 30, 1u << 30, 0, 0)),
            "convTranspose2d: the output height without padding would be 2147483651; expected at most "
            "2147483647");
    REFUSES(TRANS(x, w, trans.strides = LIST(0xFFFFFFFFu, 1)),
            "convTranspose2d: the output height would be 17179869183; expected 1 to 2147483647");
    REFUSES(TRANS(x, w, trans.filterLayout = (WNNConvTranspose2dFilterOperandLayout)4),
            "convTranspose2d: filterLayout is 4; expected an enumerator from 1 to 3");
    REFUSES(TRANS(x, w, trans.activation = wnnGraphBuilderActivationSoftmax(b, NULL)),
            "convTranspose2d: activation softmax on an output of shape [1, 3, 7, 7]; expected rank 2");
}

static void test_pool_accepts(void)
{
    WNNOperand x = F32(1, 3, 7, 8);
    ACCEPTS(wnnGraphBuilderAveragePool2d(b, x, NULL), Float32, LIST(1, 3, 1, 1));
    ACCEPTS(wnnGraphBuilderL2Pool2d(b, x, NULL), Float32, LIST(1, 3, 1, 1));
    ACCEPTS(POOL(F32(1, 7, 8, 3), pool.layout = WNNInputOperandLayout_NHWC), Float32, LIST(1, 1, 1, 3));
    ACCEPTS(POOL(U8(1, 3, 7, 8), pool.windowDimensions = LIST(2, 3)), Uint8, LIST(1, 3, 6, 6));
    ACCEPTS(POOL(x, pool.windowDimensions = LIST(3, 3), pool.padding = LIST(1, 1, 1, 1)), Float32,
            LIST(1, 3, 7, 8));
    ACCEPTS(POOL(x, pool.windowDimensions = LIST(2, 2), pool.dilations = LIST(3, 4)), Float32,
            LIST(1, 3, 4, 4));
    // 7 and 8 in windows of 2 every 2: 3 or 4 high, 4 wide.
    ACCEPTS(POOL(x, pool.windowDimensions = LIST(2, 2), pool.strides = LIST(2, 2)), Float32,
            LIST(1, 3, 3, 4));
    ACCEPTS(POOL(x, pool.windowDimensions = LIST(2, 2), pool.strides = LIST(2, 2),
                 pool.roundingType = WNNRoundingType_Ceil),
            Float32, LIST(1, 3, 4, 4));
    // outputSizes may be either, whatever the rounding, and goes together with padding.
    ACCEPTS(
        POOL(x, pool.windowDimensions = LIST(2, 2), pool.strides = LIST(2, 2), pool.outputSizes = LIST(3, 4)),
        Float32, LIST(1, 3, 3, 4));
    ACCEPTS(
        POOL(x, pool.windowDimensions = LIST(2, 2), pool.strides = LIST(2, 2), pool.outputSizes = LIST(4, 4)),
        Float32, LIST(1, 3, 4, 4));
    ACCEPTS(POOL(x, pool.windowDimensions = LIST(2, 2), pool.padding = LIST(1, 1, 1, 1),
                 pool.strides = LIST(2, 2), pool.outputSizes = LIST(4, 5)),
            Float32, LIST(1, 3, 4, 5));
    // A window that is too large by less than a stride fits once it is rounded up.
    ACCEPTS(POOL(x, pool.windowDimensions = LIST(9, 8), pool.strides = LIST(3, 1),
                 pool.roundingType = WNNRoundingType_Ceil),
            Float32, LIST(1, 3, 1, 1));
    ACCEPTS(
        POOL(x, pool.windowDimensions = LIST(9, 8), pool.strides = LIST(3, 1), pool.outputSizes = LIST(1, 1)),
        Float32, LIST(1, 3, 1, 1));
}

static void test_pool_refuses(void)
{
    WNNOperand x = F32(1, 3, 7, 8);
    REFUSES(wnnGraphBuilderAveragePool2d(b, I8(1, 1, 1, 1), NULL),
            "averagePool2d: input has data type int8; expected float32 or float16");
    REFUSES(wnnGraphBuilderL2Pool2d(b, I8(1, 1, 1, 1), NULL),
            "l2Pool2d: input has data type int8; expected float32 or float16");
    REFUSES(POOL(x, pool.windowDimensions = LIST(2)), "maxPool2d: windowDimensions has 1 items; expected 2");
    REFUSES(POOL(x, pool.windowDimensions = LIST(2, 0)),
            "maxPool2d: windowDimensions[1] is 0; expected at least 1");
    REFUSES(POOL(x, pool.padding = LIST(2)), "maxPool2d: padding has 1 items; expected 4");
    REFUSES(POOL(x, pool.strides = LIST(2)), "maxPool2d: strides has 1 items; expected 2");
    REFUSES(POOL(x, pool.strides = LIST(0, 2)), "maxPool2d: strides[0] is 0; expected at least 1");
    REFUSES(POOL(x, pool.dilations = LIST(2)), "maxPool2d: dilations has 1 items; expected 2");
    REFUSES(POOL(x, pool.dilations = LIST(2, 0)), "maxPool2d: dilations[1] is 0; expected at least 1");
    REFUSES(POOL(x, pool.outputSizes = LIST(2)), "maxPool2d: outputSizes has 1 items; expected 2");
    REFUSES(POOL(x, pool.layout = (WNNInputOperandLayout)-1),
            "maxPool2d: layout is -1; expected an enumerator from 1 to 2");
    REFUSES(POOL(x, pool.roundingType = (WNNRoundingType)3),
            "maxPool2d: roundingType is 3; expected an enumerator from 1 to 2");
    REFUSES(
        POOL(x, pool.windowDimensions = LIST(2, 2), pool.strides = LIST(2, 3), pool.outputSizes = LIST(4, 4)),
        "maxPool2d: outputSizes is [4, 4]; expected [3, 3] or [4, 3]");
    REFUSES(
        POOL(x, pool.windowDimensions = LIST(2, 2), pool.strides = LIST(4, 5), pool.outputSizes = LIST(2, 3)),
        "maxPool2d: outputSizes is [2, 3]; expected [2, 2] or [3, 3]");
    REFUSES(
        POOL(x, pool.windowDimensions = LIST(8, 8)),
        "maxPool2d: window height 8 with dilation 1 does not fit into input height 7 with padding 0 and 0");
    REFUSES(
        POOL(x, pool.windowDimensions = LIST(1, 2), pool.dilations = LIST(1, 10), pool.strides = LIST(1, 3)),
        "maxPool2d: window width 2 with dilation 10 does not fit into input width 8 with padding 0 and 0");
    REFUSES(POOL(x, pool.windowDimensions = LIST(9, 8), pool.strides = LIST(3, 1)),
            "maxPool2d: window [9, 8] with dilations [1, 1] does not fit into the padded input [1, 3, 7, 8]");
    REFUSES(
        POOL(x, pool.windowDimensions = LIST(9, 8), pool.strides = LIST(3, 1), pool.outputSizes = LIST(0, 1)),
        "maxPool2d: window [9, 8] with dilations [1, 1] does not fit into the padded input [1, 3, 7, 8]");
    REFUSES(
        POOL(x, pool.windowDimensions = LIST(9, 8), pool.strides = LIST(2, 1),
             pool.roundingType = WNNRoundingType_Ceil),
        "maxPool2d: window height 9 with dilation 1 does not fit into input height 7 with padding 0 and 0");
    REFUSES(POOL(x, pool.windowDimensions = LIST(0xFFFFFFFFu, 0xFFFFFFFFu),
                 pool.dilations = LIST(0xFFFFFFFFu, 0xFFFFFFFFu)),
            "maxPool2d: window height 4294967295 with dilation 4294967295 does not fit into input height 7 "
            "with padding "
            "0 and 0");
    REFUSES(
        POOL(x, pool.windowDimensions = LIST(1, 1), pool.padding = LIST(BIG, 0, 0, 0)),
        "maxPool2d: input [1, 3, 7, 8] with padding [2147483647, 0, 0, 0] is larger than a tensor may be");
}

static void test_resample(void)
{
    WNNOperand x = F32(2, 3, 4, 5);
    ACCEPTS(wnnGraphBuilderResample2d(b, x, NULL), Float32, LIST(2, 3, 4, 5));
    ACCEPTS(RES(x, res.scales = SCALES(2, 0.5f)), Float32, LIST(2, 3, 8, 2));
    ACCEPTS(RES(x, res.sizes = LIST(7, 9)), Float32, LIST(2, 3, 7, 9));
    ACCEPTS(RES(x, res.sizes = LIST(7, 9), res.scales = SCALES(2, 2)), Float32, LIST(2, 3, 7, 9));
    ACCEPTS(RES(x, res.sizes = LIST(7, 9), res.axes = LIST(3, 1)), Float32, LIST(2, 9, 4, 7));
    ACCEPTS(RES(U8(2, 3, 4, 5), res.scales = SCALES(1.3f, 2.5f), res.axes = LIST(0, 1)), Uint8,
            LIST(2, 7, 4, 5));
    REFUSES(RES(x, res.scales = SCALES(1)), "resample2d: scales has 1 items; expected 2");
    REFUSES(RES(x, res.scales = SCALES(1, 0)), "resample2d: scales[1] is 0; expected more than 0");
    REFUSES(RES(x, res.scales = SCALES(-1, 1)), "resample2d: scales[0] is -1; expected more than 0");
    REFUSES(RES(x, res.scales = SCALES(1, INFINITY)),
            "resample2d: scales[1] is inf; expected a finite number");
    REFUSES(RES(x, res.scales = SCALES(NAN, 1)), "resample2d: scales[0] is nan; expected a finite number");
    REFUSES(RES(x, res.scales = ((WNNFloat32List){NULL, 2})), "resample2d: scales has 2 items but no data");
    REFUSES(RES(x, res.sizes = LIST(1)), "resample2d: sizes has 1 items; expected 2");
    REFUSES(RES(x, res.sizes = LIST(1, 0)), "resample2d: sizes[1] is 0; expected at least 1");
    REFUSES(RES(x, res.axes = LIST(1, 2, 3)), "resample2d: axes has 3 items; expected 2");
    REFUSES(RES(x, res.axes = EMPTY), "resample2d: axes has 0 items; expected 2");
    REFUSES(RES(x, res.axes = LIST(1, 4)), "resample2d: axes[1] is 4; input [2, 3, 4, 5] has rank 4");
    REFUSES(RES(x, res.axes = LIST(1, 1)), "resample2d: axes[1] repeats axis 1");
    REFUSES(RES(x, res.scales = SCALES(0.2f, 1)),
            "resample2d: dimension 2 of 4 scaled by 0.2 would be 0; expected 1 to 2147483647");
    REFUSES(RES(x, res.scales = SCALES(1, 1e30f)),
            "resample2d: dimension 3 of 5 scaled by 1e+30 would be 5e+30; expected 1 to 2147483647");
    REFUSES(
        RES(x, res.sizes = LIST(0xFFFFFFFFu, 1)),
        "resample2d: output has shape [2, 3, 4294967295, 1]; expected each dimension to be 1 to 2147483647");
    REFUSES(RES(x, res.sizes = LIST(65536, 65536)),
            "resample2d: output has shape [2, 3, 65536, 65536]; expected at most 2147483647 elements");
    REFUSES(RES(x, res.mode = (WNNInterpolationMode)3),
            "resample2d: mode is 3; expected an enumerator from 1 to 2");
    REFUSES(wnnGraphBuilderResample2d(b, F32(4, 5), NULL),
            "resample2d: input has shape [4, 5] of rank 2; expected rank 4");
}

// Sizes that only come about without a limit on bytes.
static void test_unlimited(void)
{
    WNNOperand tall = F16(1, 1, BIG, 1);
    ACCEPTS(TRANS(F16(1, 4, 1, 1), F16(4, BIG / 4, 1, 1), trans.groups = 4), Float16,
            LIST(1, BIG / 4 * 4, 1, 1));
    REFUSES(TRANS(tall, tall, trans.strides = LIST(0xFFFFFFFFu, 1), trans.dilations = LIST(0xFFFFFFFFu, 1)),
            "convTranspose2d: the output height would be 4611686018427387903; expected 1 to 2147483647");
    REFUSES(TRANS(tall, tall, trans.strides = LIST(0xFFFFFFFFu, 1), trans.dilations = LIST(0xFFFFFFFFu, 1),
                  trans.outputSizes = LIST(5, 1)),
            "convTranspose2d: output height is 5; expected 4611686018427387903 to 4611686022722355197");
    ACCEPTS(POOL(I8(1, 1, BIG, 1), pool.windowDimensions = LIST(1, 1)), Int8, LIST(1, 1, BIG, 1));
    ACCEPTS(wnnGraphBuilderConv2d(b, tall, tall, NULL), Float16, LIST(1, 1, 1, 1));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_conv2d_accepts());
    CASE(test_conv2d_refuses());
    CASE(test_trans_accepts());
    CASE(test_trans_refuses());
    CASE(test_pool_accepts());
    CASE(test_pool_refuses());
    CASE(test_resample());
    end();
    begin(&(WNNLimits){0});
    CASE(test_unlimited());
    end();
    return cases_end();
}
