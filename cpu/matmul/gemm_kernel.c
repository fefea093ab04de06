// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/gemm.h"
#include "cpu/simd/lanes.h"

#define SOON  8 // terms before they are needed, B is fetched into the first-level cache
#define AHEAD WNN_GEMM_AHEAD

#define ROWS_AT_ONCE 8    // that are added to one
#define AHEAD_BYTES  8192 // of rows that lie side by side

#define LOOPS "cpu/matmul/gemm_kernel.inc"
#include "cpu/simd/each_isa.inc"

const struct float_kernels *wnn_float_kernels(void)
{
    return WNN_BEST_ISA(&kernels);
}

const struct float_kernels *wnn_float_kernels_of(enum isa isa)
{
    return WNN_FOR_ISA(isa, &kernels);
}
