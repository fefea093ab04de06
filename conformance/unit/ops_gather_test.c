// SPDX-License-Identifier: Apache-2.0
//
// Validation of the gather and scatter families.

#include "conformance/unit/validation.h"

static WNNGatherOptions gather = WNN_GATHER_OPTIONS_INIT;
static WNNScatterElementsOptions scatter = WNN_SCATTER_ELEMENTS_OPTIONS_INIT;

#define GATHER(x, i, on)          (gather.axis = (on), wnnGraphBuilderGather(b, x, i, &gather))
#define GATHER_ELEMENTS(x, i, on) (gather.axis = (on), wnnGraphBuilderGatherElements(b, x, i, &gather))
#define SCATTER_ELEMENTS(x, i, u, on)                                                                        \
    (scatter.axis = (on), wnnGraphBuilderScatterElements(b, x, i, u, &scatter))
#define ONES LIST(1, 1, 1, 1, 1, 1, 1, 1)

static void test_gather(void)
{
    ACCEPTS(wnnGraphBuilderGather(b, F32(4), SCALAR(Int32), NULL), Float32, EMPTY);
    ACCEPTS(GATHER(F32(2, 3, 4), I32(5, 6), 0), Float32, LIST(5, 6, 3, 4));
    ACCEPTS(GATHER(F32(2, 3, 4), IN(Uint32, 5, 6), 1), Float32, LIST(2, 5, 6, 4));
    ACCEPTS(GATHER(U8(2, 3, 4), IN(Int64, 5, 6), 2), Uint8, LIST(2, 3, 5, 6));
    ACCEPTS(GATHER(F32(2, 3, 4), SCALAR(Int32), 1), Float32, LIST(2, 4));
    ACCEPTS(GATHER(operand(WNNDataType_Float32, ONES), I32(7), 7), Float32, LIST(1, 1, 1, 1, 1, 1, 1, 7));
    REFUSES(GATHER(F32(2, 3), I32(5), 2), "gather: axis is 2; input [2, 3] has rank 2");
    REFUSES(GATHER(SCALAR(Float32), I32(5), 0), "gather: input has shape [] of rank 0; expected rank 1 to 8");
    REFUSES(GATHER(F32(2), F32(5), 0),
            "gather: indices has data type float32; expected int32, uint32 or int64");
    REFUSES(GATHER(operand(WNNDataType_Float32, ONES), I32(2, 2), 0),
            "gather: input [1, 1, 1, 1, 1, 1, 1, 1] and indices [2, 2] give an output of rank 9; expected at "
            "most 8");
    REFUSES(GATHER(I8(2, 65536), I32(65536), 0),
            "gather: output has shape [65536, 65536]; expected at most 2147483647 elements");
}

static void test_elements(void)
{
    ACCEPTS(GATHER_ELEMENTS(F32(3, 4), I32(7, 4), 0), Float32, LIST(7, 4));
    ACCEPTS(GATHER_ELEMENTS(F32(3, 4), I32(3, 1), 1), Float32, LIST(3, 1));
    REFUSES(GATHER_ELEMENTS(F32(3, 4), I32(3), 0),
            "gatherElements: indices [3] has rank 1; expected 2, the rank of input [3, 4]");
    REFUSES(GATHER_ELEMENTS(F32(3, 4), I32(3, 4), 2), "gatherElements: axis is 2; input [3, 4] has rank 2");
    REFUSES(GATHER_ELEMENTS(F32(3, 4), I32(3, 5), 0),
            "gatherElements: indices [3, 5] has size 5 in dimension 1; expected 4, that of input [3, 4]");
    ACCEPTS(SCATTER_ELEMENTS(F32(3, 4), I32(7, 4), F32(7, 4), 0), Float32, LIST(3, 4));
    REFUSES(SCATTER_ELEMENTS(F32(3, 4), I32(3), F32(3), 0),
            "scatterElements: indices [3] has rank 1; expected 2, the rank of input [3, 4]");
    REFUSES(SCATTER_ELEMENTS(F32(3, 4), I32(3, 4), F32(3, 4), 2),
            "scatterElements: axis is 2; input [3, 4] has rank 2");
    REFUSES(SCATTER_ELEMENTS(F32(3, 4), I32(2, 4), F32(2, 4), 1),
            "scatterElements: indices [2, 4] has size 2 in dimension 0; expected 3, that of input [3, 4]");
    REFUSES(SCATTER_ELEMENTS(F32(3, 4), I32(7, 4), F32(4, 7), 0),
            "scatterElements: updates has shape [4, 7]; expected [7, 4], the shape of indices");
    REFUSES(SCATTER_ELEMENTS(F32(3), I32(3), F16(3), 0),
            "scatterElements: updates has data type float16; expected float32, the type of input");
}

static void test_nd(void)
{
    ACCEPTS(wnnGraphBuilderGatherND(b, F32(2, 3), I32(2), NULL), Float32, EMPTY);
    ACCEPTS(wnnGraphBuilderGatherND(b, F32(2, 3, 4), I32(5, 6, 1), NULL), Float32, LIST(5, 6, 3, 4));
    ACCEPTS(wnnGraphBuilderGatherND(b, F32(2, 3, 4), I32(5, 3), NULL), Float32, LIST(5));
    REFUSES(
        wnnGraphBuilderGatherND(b, F32(2, 3), I32(5, 3), NULL),
        "gatherND: indices [5, 3] has coordinates of 3 items; expected at most 2, the rank of input [2, 3]");
    REFUSES(wnnGraphBuilderGatherND(b, operand(WNNDataType_Float32, ONES), I32(5, 6, 1), NULL),
            "gatherND: input [1, 1, 1, 1, 1, 1, 1, 1] and indices [5, 6, 1] select a shape of rank 9; "
            "expected at most "
            "8");
    REFUSES(wnnGraphBuilderGatherND(b, F32(2), SCALAR(Int32), NULL),
            "gatherND: indices has shape [] of rank 0; expected rank 1 to 8");
    ACCEPTS(wnnGraphBuilderScatterND(b, F32(2, 3), I32(2), SCALAR(Float32), NULL), Float32, LIST(2, 3));
    ACCEPTS(wnnGraphBuilderScatterND(b, F32(2, 3, 4), I32(5, 1), F32(5, 3, 4), NULL), Float32, LIST(2, 3, 4));
    REFUSES(
        wnnGraphBuilderScatterND(b, F32(2, 3), I32(5, 3), F32(5), NULL),
        "scatterND: indices [5, 3] has coordinates of 3 items; expected at most 2, the rank of input [2, 3]");
    REFUSES(wnnGraphBuilderScatterND(b, operand(WNNDataType_Float32, ONES), I32(1, 1, 1), F32(1), NULL),
            "scatterND: input [1, 1, 1, 1, 1, 1, 1, 1] and indices [1, 1, 1] select a shape of rank 9; "
            "expected at "
            "most 8");
    REFUSES(wnnGraphBuilderScatterND(b, F32(2, 3), I32(5, 1), F32(5, 2), NULL),
            "scatterND: updates has shape [5, 2]; expected [5, 3] (input [2, 3], indices [5, 1])");
    REFUSES(wnnGraphBuilderScatterND(b, F32(2), I32(5, 1), F16(5), NULL),
            "scatterND: updates has data type float16; expected float32, the type of input");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_gather());
    CASE(test_elements());
    CASE(test_nd());
    end();
    return cases_end();
}
