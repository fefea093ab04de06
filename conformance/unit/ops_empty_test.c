// SPDX-License-Identifier: Apache-2.0
//
// Validation of operands without elements, in a context that accepts them.

#include "conformance/unit/validation.h"

static void test_undefined(void)
{
    REFUSES(wnnGraphBuilderReduceMax(b, F32(2, 0), NULL),
            "reduceMax: an input of shape [2, 0] has no elements, and what reduceMax would be of none is not "
            "defined");
    ACCEPTS(wnnGraphBuilderReduceSum(b, F32(2, 0), NULL), Float32, EMPTY);
    REFUSES(
        wnnGraphBuilderArgMax(b, F32(2, 0), 1, NULL),
        "argMax: an input of shape [2, 0] has no elements, and what argMax would be of none is not defined");
}

static void test_convolution(void)
{
    REFUSES(wnnGraphBuilderConv2d(b, F32(1, 2, 4, 4), F32(3, 2, 0, 1), NULL),
            "conv2d: the window is 0 by 1; expected at least 1 each");
    ACCEPTS(wnnGraphBuilderConv2d(b, F32(0, 2, 4, 4), F32(3, 2, 3, 3), NULL), Float32, LIST(0, 3, 2, 2));
    REFUSES(wnnGraphBuilderConvTranspose2d(b, F32(1, 2, 4, 0), F32(2, 3, 1, 1), NULL),
            "convTranspose2d: input [1, 2, 4, 0] has no pixels");
    ACCEPTS(wnnGraphBuilderConvTranspose2d(b, F32(1, 0, 4, 4), F32(0, 3, 1, 1), NULL), Float32,
            LIST(1, 3, 4, 4));
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    WNNLimits limits = WNN_LIMITS_INIT;
    limits.acceptEmptyTensors = true;
    begin(&limits);
    CASE(test_undefined());
    CASE(test_convolution());
    end();
    return cases_end();
}
