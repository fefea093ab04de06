// SPDX-License-Identifier: Apache-2.0
//
// Validation of the operators along axes: reductions, argMin and argMax in both forms, cumulativeSum, softmax
// in both forms.

#include "conformance/unit/validation.h"

static const struct {
    const char *name;
    WNNOperand (*call)(WNNGraphBuilder builder, WNNOperand input, const WNNReduceOptions *options);
} reductions[] = {
    {"reduceL1", wnnGraphBuilderReduceL1},         {"reduceL2", wnnGraphBuilderReduceL2},
    {"reduceLogSum", wnnGraphBuilderReduceLogSum}, {"reduceLogSumExp", wnnGraphBuilderReduceLogSumExp},
    {"reduceMax", wnnGraphBuilderReduceMax},       {"reduceMean", wnnGraphBuilderReduceMean},
    {"reduceMin", wnnGraphBuilderReduceMin},       {"reduceProduct", wnnGraphBuilderReduceProduct},
    {"reduceSum", wnnGraphBuilderReduceSum},       {"reduceSumSquare", wnnGraphBuilderReduceSumSquare},
};

static void test_reductions(void)
{
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        WNNReduceOptions o = WNN_REDUCE_OPTIONS_INIT;
        WNNOperand x = F32(2, 3, 4);
#define REDUCE(x) reductions[i].call(b, x, &o)
        ACCEPTS(reductions[i].call(b, x, NULL), Float32, EMPTY);
        ACCEPTS(REDUCE(SCALAR(Float16)), Float16, EMPTY);
        o.axes = EMPTY;
        ACCEPTS(REDUCE(x), Float32, LIST(2, 3, 4));
        o.axes = LIST(2, 0);
        ACCEPTS(REDUCE(x), Float32, LIST(3));
        o.keepDimensions = true;
        ACCEPTS(REDUCE(x), Float32, LIST(1, 3, 1));
        o.axes = ABSENT;
        ACCEPTS(REDUCE(x), Float32, LIST(1, 1, 1));
        char message[96];
        o.axes = LIST(0, 3);
        snprintf(message, sizeof message, "%s: axes[1] is 3; input [2, 3, 4] has rank 3", reductions[i].name);
        REFUSES(REDUCE(x), message);
        o.axes = LIST(0, 1, 0);
        snprintf(message, sizeof message, "%s: axes[2] repeats axis 0", reductions[i].name);
        REFUSES(REDUCE(x), message);
        o.axes = LIST(0);
        snprintf(message, sizeof message, "%s: axes[0] is 0; input [] has rank 0", reductions[i].name);
        REFUSES(REDUCE(SCALAR(Float32)), message);
    }
}

static void test_arg(void)
{
    WNNArgMinMaxOptions o = WNN_ARG_MIN_MAX_OPTIONS_INIT;
    WNNOperand x = F32(2, 3, 4);
    ACCEPTS(wnnGraphBuilderArgMin(b, x, 1, NULL), Int32, LIST(2, 4));
    ACCEPTS(wnnGraphBuilderArgMax(b, U8(3), 0, NULL), Int32, EMPTY);
    ACCEPTS(wnnGraphBuilderArgMax(b, I8(BIG), 0, NULL), Int32, EMPTY);
    o.keepDimensions = true;
    o.outputDataType = WNNDataType_Int64;
    ACCEPTS(wnnGraphBuilderArgMax(b, x, 2, &o), Int64, LIST(2, 3, 1));
    o.outputDataType = WNNDataType_Uint32;
    REFUSES(wnnGraphBuilderArgMax(b, x, 2, &o), "argMax: outputDataType is uint32; expected int32 or int64");
    o.outputDataType = WNNDataType_Undefined;
    REFUSES(wnnGraphBuilderArgMin(b, x, 2, &o), "argMin: outputDataType is 0, which is not a data type");
    REFUSES(wnnGraphBuilderArgMin(b, x, 3, NULL), "argMin: axis is 3; input [2, 3, 4] has rank 3");
    REFUSES(wnnGraphBuilderArgMin(b, SCALAR(Float32), 0, NULL),
            "argMin: input has shape [] of rank 0; expected rank 1 to 8");
}

static void test_arg_axes(void)
{
    WNNArgMinMaxAxesOptions o = WNN_ARG_MIN_MAX_AXES_OPTIONS_INIT;
    WNNOperand x = F32(2, 3, 4);
    ACCEPTS(wnnGraphBuilderArgMinAxes(b, x, NULL), Int64, EMPTY);
    o.axes = EMPTY;
    ACCEPTS(wnnGraphBuilderArgMinAxes(b, x, &o), Int64, LIST(2, 3, 4));
    o.axes = LIST(2, 0);
    o.keepDimensions = true;
    ACCEPTS(wnnGraphBuilderArgMaxAxes(b, x, &o), Int64, LIST(1, 3, 1));
    o.axes = LIST(3);
    REFUSES(wnnGraphBuilderArgMaxAxes(b, x, &o), "argMaxAxes: axes[0] is 3; input [2, 3, 4] has rank 3");
    o.axes = LIST(1, 1);
    REFUSES(wnnGraphBuilderArgMinAxes(b, x, &o), "argMinAxes: axes[1] repeats axis 1");
}

static void test_cumulative_sum(void)
{
    ACCEPTS(wnnGraphBuilderCumulativeSum(b, I32(2, 3), 1, NULL), Int32, LIST(2, 3));
    REFUSES(wnnGraphBuilderCumulativeSum(b, F32(2, 3), 2, NULL),
            "cumulativeSum: axis is 2; input [2, 3] has rank 2");
    REFUSES(
        wnnGraphBuilderCumulativeSum(b, I8(2), 0, NULL),
        "cumulativeSum: input has data type int8; expected float32, float16, int32, uint32, int64 or uint64");
}

static void test_softmax(void)
{
    ACCEPTS(wnnGraphBuilderSoftmax(b, F16(2), 0, NULL), Float16, LIST(2));
    ACCEPTS(wnnGraphBuilderSoftmax(b, F32(2, 3, 4), 1, NULL), Float32, LIST(2, 3, 4));
    ACCEPTS(wnnGraphBuilderSoftmax2d(b, F32(2, 3), NULL), Float32, LIST(2, 3));
    REFUSES(wnnGraphBuilderSoftmax(b, F32(2, 3), 2, NULL), "softmax: axis is 2; input [2, 3] has rank 2");
    REFUSES(wnnGraphBuilderSoftmax2d(b, F32(2, 3, 4), NULL),
            "softmax2d: input has shape [2, 3, 4] of rank 3; expected rank 2");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_reductions());
    CASE(test_arg());
    CASE(test_arg_axes());
    CASE(test_cumulative_sum());
    CASE(test_softmax());
    end();
    return cases_end();
}
