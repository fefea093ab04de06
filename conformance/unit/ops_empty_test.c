// SPDX-License-Identifier: Apache-2.0
//
// Validation of operands without elements, in a context that accepts them. What there is to be made of them
// is in conformance/vectors/empty.json.

#include "conformance/unit/validation.h"

static WNNReduceOptions reduce(WNNUint32List axes)
{
    WNNReduceOptions options = WNN_REDUCE_OPTIONS_INIT;
    options.axes = axes;
    return options;
}

static void test_reductions(void)
{
    WNNReduceOptions rows = reduce(LIST(1)), none = reduce(EMPTY);
    REFUSES(wnnGraphBuilderReduceMax(b, F32(2, 0), NULL),
            "reduceMax: input [2, 0] has no elements; expected some, to make a result [] of");
    REFUSES(wnnGraphBuilderReduceMin(b, F32(2, 0), &rows),
            "reduceMin: input [2, 0] has no elements; expected some, to make a result [2] of");
    REFUSES(wnnGraphBuilderReduceMean(b, F32(0), NULL),
            "reduceMean: input [0] has no elements; expected some, to make a result [] of");
    REFUSES(wnnGraphBuilderArgMax(b, F32(2, 0), 1, NULL),
            "argMax: input [2, 0] has no elements; expected some, to make a result [2] of");
    ACCEPTS(wnnGraphBuilderReduceMax(b, F32(0, 3), &rows), Float32, LIST(0));
    ACCEPTS(wnnGraphBuilderReduceMean(b, F32(2, 0), &none), Float32, LIST(2, 0));
    ACCEPTS(wnnGraphBuilderArgMin(b, F32(0, 3), 1, NULL), Int32, LIST(0));
    ACCEPTS(wnnGraphBuilderReduceSum(b, F32(2, 0), NULL), Float32, EMPTY);
    ACCEPTS(wnnGraphBuilderReduceProduct(b, I32(2, 0), &rows), Int32, LIST(2));
    ACCEPTS(wnnGraphBuilderReduceLogSumExp(b, F16(2, 0), &rows), Float16, LIST(2));
}

static void test_images(void)
{
    REFUSES(wnnGraphBuilderConv2d(b, F32(1, 2, 4, 4), F32(3, 2, 0, 1), NULL),
            "conv2d: the window is 0 by 1; expected at least 1 each");
    REFUSES(wnnGraphBuilderConv2d(b, F32(1, 2, 0, 4), F32(3, 2, 1, 1), NULL),
            "conv2d: filter height 1 with dilation 1 does not fit into input height 0 with padding 0 and 0");
    ACCEPTS(wnnGraphBuilderConv2d(b, F32(0, 2, 4, 4), F32(3, 2, 3, 3), NULL), Float32, LIST(0, 3, 2, 2));
    ACCEPTS(wnnGraphBuilderConv2d(b, F32(1, 0, 4, 4), F32(3, 0, 3, 3), NULL), Float32, LIST(1, 3, 2, 2));
    ACCEPTS(wnnGraphBuilderConv2d(b, F32(1, 2, 4, 4), F32(0, 2, 3, 3), NULL), Float32, LIST(1, 0, 2, 2));
    REFUSES(wnnGraphBuilderConvTranspose2d(b, F32(1, 2, 4, 0), F32(2, 3, 1, 1), NULL),
            "convTranspose2d: input [1, 2, 4, 0] has no pixels");
    ACCEPTS(wnnGraphBuilderConvTranspose2d(b, F32(1, 0, 4, 4), F32(0, 3, 1, 1), NULL), Float32,
            LIST(1, 3, 4, 4));
    WNNPool2dOptions pool = WNN_POOL2D_OPTIONS_INIT;
    pool.windowDimensions = LIST(2, 2);
    pool.padding = LIST(1, 1, 0, 0);
    REFUSES(wnnGraphBuilderMaxPool2d(b, F32(1, 1, 0, 4), NULL),
            "maxPool2d: windowDimensions[0] is 0; expected at least 1");
    REFUSES(
        wnnGraphBuilderAveragePool2d(b, F32(1, 1, 0, 4), &pool),
        "averagePool2d: input [1, 1, 0, 4] has no elements; expected some, to make a result [1, 1, 1, 3] of");
    ACCEPTS(wnnGraphBuilderL2Pool2d(b, F32(1, 1, 0, 4), &pool), Float32, LIST(1, 1, 1, 3));
    ACCEPTS(wnnGraphBuilderMaxPool2d(b, F32(1, 0, 2, 4), &pool), Float32, LIST(1, 0, 3, 3));
    WNNResample2dOptions resample = WNN_RESAMPLE2D_OPTIONS_INIT;
    resample.sizes = LIST(0, 4);
    ACCEPTS(wnnGraphBuilderResample2d(b, F32(1, 1, 2, 2), &resample), Float32, LIST(1, 1, 0, 4));
    resample.sizes = LIST(2, 4);
    REFUSES(
        wnnGraphBuilderResample2d(b, F32(1, 1, 0, 2), &resample),
        "resample2d: input [1, 1, 0, 2] has no elements; expected some, to make a result [1, 1, 2, 4] of");
    resample = (WNNResample2dOptions)WNN_RESAMPLE2D_OPTIONS_INIT;
    resample.scales = (WNNFloat32List){(float[]){0.5f, 2}, 2};
    ACCEPTS(wnnGraphBuilderResample2d(b, F32(1, 1, 1, 0), &resample), Float32, LIST(1, 1, 0, 0));
}

static void test_movement(void)
{
    WNNPadOptions pad = WNN_PAD_OPTIONS_INIT;
    ACCEPTS(wnnGraphBuilderPad(b, F32(0, 2), LIST(1, 0), LIST(0, 0), &pad), Float32, LIST(1, 2));
    pad.mode = WNNPaddingMode_Edge;
    REFUSES(wnnGraphBuilderPad(b, F32(0, 2), LIST(1, 0), LIST(0, 0), &pad),
            "pad: padding 1 of dimension 0; edge padding needs a size of at least 1");
    ACCEPTS(wnnGraphBuilderPad(b, F32(0, 2), LIST(0, 1), LIST(0, 1), &pad), Float32, LIST(0, 4));
    pad.mode = WNNPaddingMode_Reflection;
    REFUSES(wnnGraphBuilderPad(b, F32(0, 2), LIST(0, 0), LIST(1, 0), &pad),
            "pad: padding 1 of dimension 0; reflection needs less than its size 0");
    ACCEPTS(wnnGraphBuilderPad(b, F32(0, 2), LIST(0, 1), LIST(0, 1), &pad), Float32, LIST(0, 4));
    pad.mode = WNNPaddingMode_Symmetric;
    REFUSES(wnnGraphBuilderPad(b, F32(0, 2), LIST(0, 0), LIST(1, 0), &pad),
            "pad: padding 1 of dimension 0; symmetric padding needs at most its size 0");
    ACCEPTS(wnnGraphBuilderSlice(b, F32(3, 2), LIST(3, 0), LIST(0, 2), NULL), Float32, LIST(0, 2));
    ACCEPTS(wnnGraphBuilderTile(b, F32(3, 2), LIST(2, 0), NULL), Float32, LIST(6, 0));
    ACCEPTS(wnnGraphBuilderExpand(b, F32(3, 1), LIST(3, 0), NULL), Float32, LIST(3, 0));
    REFUSES(wnnGraphBuilderExpand(b, F32(0), LIST(2), NULL),
            "expand: input [0] cannot be broadcast to newShape [2]");
    REFUSES(wnnGraphBuilderReshape(b, F32(0), EMPTY, NULL),
            "reshape: newShape [] does not have the 0 elements of input [0]");
    WNNOperand pieces[] = {F32(2, 0), F32(2, 3)};
    ACCEPTS(wnnGraphBuilderConcat(b, 2, pieces, 1, NULL), Float32, LIST(2, 3));
    ACCEPTS(wnnGraphBuilderAdd(b, F32(2, 0), F32(1), NULL), Float32, LIST(2, 0));
    REFUSES(wnnGraphBuilderAdd(b, F32(0), F32(2), NULL), "add: a [0] and b [2] cannot be broadcast together");
}

static void test_gathers(void)
{
    REFUSES(wnnGraphBuilderGather(b, F32(0, 3), I32(2), NULL),
            "gather: input [0, 3] has no elements; expected some, to make a result [2, 3] of");
    ACCEPTS(wnnGraphBuilderGather(b, F32(0, 3), I32(0), NULL), Float32, LIST(0, 3));
    ACCEPTS(wnnGraphBuilderGather(b, F32(3, 2), I32(0, 4), NULL), Float32, LIST(0, 4, 2));
    REFUSES(wnnGraphBuilderGatherElements(b, F32(0), I32(2), NULL),
            "gatherElements: input [0] has no elements; expected some, to make a result [2] of");
    REFUSES(wnnGraphBuilderGatherND(b, F32(0, 3), I32(2, 1), NULL),
            "gatherND: input [0, 3] has no elements; expected some, to make a result [2, 3] of");
    ACCEPTS(wnnGraphBuilderGatherND(b, F32(4, 3), I32(2, 0), NULL), Float32, LIST(2, 4, 3));
    ACCEPTS(wnnGraphBuilderScatterND(b, F32(4, 3), I32(0, 1), F32(0, 3), NULL), Float32, LIST(4, 3));
    ACCEPTS(wnnGraphBuilderScatterND(b, F32(4, 3), I32(2, 0), F32(2, 4, 3), NULL), Float32, LIST(4, 3));
    ACCEPTS(wnnGraphBuilderScatterElements(b, F32(4, 3), I32(0, 3), F32(0, 3), NULL), Float32, LIST(4, 3));
}

static void test_networks(void)
{
    WNNOperand out[3];
    REQUIRE_EQUAL_INT(wnnGraphBuilderGru(b, F32(0, 2, 3), F32(1, 12, 3), F32(1, 12, 4), 0, 4, NULL, out), 1);
    ACCEPTS(out[0], Float32, LIST(1, 2, 4));
    REFUSES(wnnGraphBuilderGru(b, F32(0, 2, 3), F32(1, 12, 3), F32(1, 12, 4), 1, 4, NULL, out),
            "gru: steps is 1; expected 0, the first dimension of input [0, 2, 3]");
    REQUIRE_EQUAL_INT(wnnGraphBuilderLstm(b, F32(5, 2, 3), F32(1, 0, 3), F32(1, 0, 0), 5, 0, NULL, out), 2);
    ACCEPTS(out[1], Float32, LIST(1, 2, 0));
    ACCEPTS(wnnGraphBuilderGruCell(b, F32(2, 0), F32(12, 0), F32(12, 4), F32(2, 4), 4, NULL), Float32,
            LIST(2, 4));
}

static void test_quantization(void)
{
    ACCEPTS(wnnGraphBuilderQuantizeLinear(b, F32(2, 0), F32(1, 3), I8(1, 3), NULL), Int8, LIST(2, 0));
    REFUSES(wnnGraphBuilderQuantizeLinear(b, F32(2), F32(0), I8(0), NULL),
            "quantizeLinear: scale [0] does not divide input [2]: dimension 0");
}

static void test_sources(void)
{
    ACCEPTS(F32(0, BIG), Float32, LIST(0, BIG));
    WNNOperandDescriptor strides = {NULL, WNNDataType_Float32,
                                    LIST(2, 0, BIG)}; // which are products of sizes
    REFUSES(wnnGraphBuilderInput(b, view("in"), &strides),
            "input \"in\" has shape [2, 0, 2147483647]; expected at most 2147483647 elements");
    ACCEPTS(wnnGraphBuilderRangeConstant(b, wnnNumberInt64(5), wnnNumberInt64(2), wnnNumberInt64(1),
                                         WNNDataType_Int32),
            Int32, LIST(0));
    ACCEPTS(wnnGraphBuilderRangeConstant(b, wnnNumberFloat64(1), wnnNumberFloat64(1), wnnNumberFloat64(-0.5),
                                         WNNDataType_Float16),
            Float16, LIST(0));
    REFUSES(wnnGraphBuilderRangeConstant(b, wnnNumberInt64(5), wnnNumberInt64(2), wnnNumberInt64(0),
                                         WNNDataType_Int32),
            "range constant from 5 to 2 in steps of 0; expected 0 to 2147483647 elements");
    const WNNOperandDescriptor type = {NULL, WNNDataType_Float32, LIST(2, 0)};
    ACCEPTS(wnnGraphBuilderConstant(b, &type, NULL, 0), Float32, LIST(2, 0));
    REFUSES(wnnGraphBuilderConstant(b, &type, "", 1), "constant has 1 bytes; expected 0 (float32 [2, 0])");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNLimits limits = WNN_LIMITS_INIT;
    begin(&limits);
    CASE(test_reductions());
    CASE(test_images());
    CASE(test_movement());
    CASE(test_gathers());
    CASE(test_networks());
    CASE(test_quantization());
    CASE(test_sources());
    end();
    return cases_end();
}
