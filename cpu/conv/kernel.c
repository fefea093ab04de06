// SPDX-License-Identifier: Apache-2.0
#include "cpu/conv/kernel.h"

#include "cpu/simd/lanes.h"

#define LOOPS "cpu/conv/kernel.inc"
#include "cpu/simd/each_isa.inc"

const struct conv_kernels *wnn_conv_kernels(void)
{
    return WNN_BEST_ISA(&kernels);
}

const struct conv_kernels *wnn_conv_kernels_of(enum isa isa)
{
    return WNN_FOR_ISA(isa, &kernels);
}
