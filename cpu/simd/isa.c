// SPDX-License-Identifier: Apache-2.0
#include "cpu/simd/isa.h"

_Thread_local bool wnn_portable_numbers;

#if defined(__aarch64__)
#include <sys/auxv.h>

#define HWCAP_DOT_PRODUCT (1ul << 20)

bool wnn_has_dot_product(void)
{
    return getauxval(AT_HWCAP) & HWCAP_DOT_PRODUCT;
}
#else
bool wnn_has_dot_product(void)
{
    return false;
}
#endif

#if WNN_X86_64
#include <cpuid.h>
#include <stdatomic.h>

// Not every compiler knows its name. The instruction that asks takes long on a virtual machine.
bool wnn_has_avx_vnni(void)
{
    static atomic_int answer; // 0 while it is not known, 1: no, 2: yes
    int known = atomic_load_explicit(&answer, memory_order_relaxed);
    if (known == 0) {
        unsigned eax, ebx, ecx, edx;
        bool has = __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && eax >> 4 & 1;
        known = has && wnn_isa() >= WNN_ISA_AVX2 && !wnn_isa_limit.alone ? 2 : 1;
        atomic_store_explicit(&answer, known, memory_order_relaxed);
    }
    return known == 2;
}
#else
bool wnn_has_avx_vnni(void)
{
    return false;
}
#endif
