// SPDX-License-Identifier: Apache-2.0
#include "cpu/target.h"

#include "cpu/simd/isa.h"

// The plainest first.
static const struct cpu_target targets[] = {
#if WNN_X86_64
    {.instructions = "portable"},
    {.instructions = "AVX2", .isa = WNN_ISA_AVX2},
    {.instructions = "AVX2 AVX-VNNI", .isa = WNN_ISA_AVX2, .avx_vnni = true},
    {.instructions = "AVX-512", .isa = WNN_ISA_AVX512},
    {.instructions = "AVX-512 AVX-512-VNNI", .isa = WNN_ISA_AVX512, .avx512_vnni = true},
#elif defined(__aarch64__) && !defined(WNN_PLAIN)
    {.instructions = "NEON"},
    {.instructions = "NEON dot-product", .dot_product = true},
#else
    {.instructions = "portable"},
#endif
};

enum {
    TARGETS = sizeof targets / sizeof targets[0]
};

// Whether this processor has all that the target has.
static bool runs(const struct cpu_target *target)
{
    return target->isa <= wnn_isa() && (!target->avx_vnni || wnn_has_avx_vnni()) &&
           (!target->avx512_vnni || wnn_has_avx512_vnni()) && (!target->dot_product || wnn_has_dot_product());
}

const struct cpu_target *wnn_cpu_runnable(unsigned number)
{
    for (size_t i = TARGETS; i-- > 0;)
        if (runs(&targets[i]) && number-- == 0)
            return &targets[i];
    return NULL;
}

const struct cpu_target *wnn_cpu_this_processor(void)
{
    return wnn_cpu_runnable(0);
}

const struct cpu_target *wnn_cpu_any_processor(void)
{
    return &targets[0];
}

const struct cpu_target *wnn_cpu_known_target(unsigned number)
{
    return number < TARGETS ? &targets[number] : NULL;
}
