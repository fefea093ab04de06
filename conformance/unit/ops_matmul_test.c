// SPDX-License-Identifier: Apache-2.0
//
// Validation of gemm and matmul.

#include "conformance/unit/validation.h"

static const WNNGemmOptions defaults = WNN_GEMM_OPTIONS_INIT;
static WNNGemmOptions o;
#define GEMM(x, y, ...) (o = defaults, __VA_ARGS__, wnnGraphBuilderGemm(b, x, y, &o))
#define MATMUL(x, y)    wnnGraphBuilderMatmul(b, x, y, NULL)

static void test_gemm(void)
{
    ACCEPTS(wnnGraphBuilderGemm(b, F32(2, 3), F32(3, 4), NULL), Float32, LIST(2, 4));
    ACCEPTS(GEMM(F32(3, 2), F32(3, 4), o.aTranspose = true), Float32, LIST(2, 4));
    ACCEPTS(GEMM(F32(2, 3), F32(4, 3), o.bTranspose = true), Float32, LIST(2, 4));
    ACCEPTS(GEMM(F16(3, 2), F16(4, 3), o.aTranspose = o.bTranspose = true), Float16, LIST(2, 4));
    ACCEPTS(GEMM(F32(2, 3), F32(3, 4), o.c = F32(2, 4)), Float32, LIST(2, 4));
    ACCEPTS(GEMM(F32(2, 3), F32(3, 4), o.c = F32(2, 1)), Float32, LIST(2, 4));
    ACCEPTS(GEMM(F32(2, 3), F32(3, 4), o.c = F32(4)), Float32, LIST(2, 4));
    ACCEPTS(GEMM(F32(2, 3), F32(3, 4), o.c = SCALAR(Float32)), Float32, LIST(2, 4));
    REFUSES(wnnGraphBuilderGemm(b, F32(2, 3), F32(4, 3), NULL),
            "gemm: a [2, 3] has 3 columns; expected 4, the rows of b [4, 3]");
    REFUSES(GEMM(F32(2, 3), F32(3, 4), o.aTranspose = true),
            "gemm: a [2, 3] transposed has 2 columns; expected 3, the rows of b [3, 4]");
    REFUSES(GEMM(F32(2, 3), F32(3, 4), o.bTranspose = true),
            "gemm: a [2, 3] has 3 columns; expected 4, the rows of b [3, 4] transposed");
    REFUSES(GEMM(F32(2, 3), F32(3, 4), o.c = F32(2)), "gemm: c [2] cannot be broadcast to [2, 4]");
    REFUSES(GEMM(F32(1, 3), F32(3, 1), o.c = F32(2, 1)), "gemm: c [2, 1] cannot be broadcast to [1, 1]");
    REFUSES(GEMM(F32(2, 3), F32(3, 4), o.c = F32(1, 2, 4)),
            "gemm: c has shape [1, 2, 4] of rank 3; expected rank 0 to 2");
    REFUSES(GEMM(F32(2, 3), F32(3, 4), o.c = F16(4)),
            "gemm: c has data type float16; expected float32, the type of a");
    REFUSES(wnnGraphBuilderGemm(b, F32(2, 3), F16(3, 4), NULL),
            "gemm: b has data type float16; expected float32, the type of a");
    REFUSES(wnnGraphBuilderGemm(b, F32(2, 3), F32(1, 3, 4), NULL),
            "gemm: b has shape [1, 3, 4] of rank 3; expected rank 2");
    REFUSES(GEMM(F32(2, 3), F32(3, 4), o.alpha = NAN), "gemm: alpha is nan; expected a finite number");
    REFUSES(GEMM(F32(2, 3), F32(3, 4), o.beta = INFINITY), "gemm: beta is inf; expected a finite number");
}

static void test_matmul(void)
{
    ACCEPTS(MATMUL(F32(2, 3), F32(3, 4)), Float32, LIST(2, 4));
    ACCEPTS(MATMUL(F32(5, 2, 3), F32(3, 4)), Float32, LIST(5, 2, 4));
    ACCEPTS(MATMUL(F32(2, 3), F32(5, 3, 4)), Float32, LIST(5, 2, 4));
    ACCEPTS(MATMUL(F16(5, 1, 2, 3), F16(6, 3, 4)), Float16, LIST(5, 6, 2, 4));
    ACCEPTS(MATMUL(F32(1, 1, 1, 1, 1, 1, 2, 3), F32(7, 1, 1, 1, 1, 1, 3, 4)), Float32,
            LIST(7, 1, 1, 1, 1, 1, 2, 4));
    REFUSES(MATMUL(F32(2, 3), F32(4, 3)), "matmul: a [2, 3] has 3 columns; expected 4, the rows of b [4, 3]");
    REFUSES(MATMUL(F32(2, 2, 3), F32(3, 3, 4)),
            "matmul: the batch dimensions [2] of a and [3] of b cannot be broadcast together");
    REFUSES(MATMUL(F32(3), F32(3, 4)), "matmul: a has shape [3] of rank 1; expected rank 2 to 8");
    REFUSES(MATMUL(F32(2, 3), F16(3, 4)), "matmul: b has data type float16; expected float32, the type of a");
    REFUSES(MATMUL(I32(2, 3), I32(3, 4)), "matmul: a has data type int32; expected float32 or float16");
    REFUSES(MATMUL(F32(65536, 1), F32(1, 65536)),
            "matmul: output has shape [65536, 65536]; expected at most 2147483647 elements");
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    begin(NULL);
    CASE(test_gemm());
    CASE(test_matmul());
    end();
    return cases_end();
}
