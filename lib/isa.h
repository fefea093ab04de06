// SPDX-License-Identifier: Apache-2.0
//
// The instruction sets (ISAs) that kernels are compiled for beside the portable one, and which of them the
// processor has. Everything that asks does it here.
//
// Under MemorySanitizer there are only portable kernels (WNN_PLAIN): it does not know what most vector
// instructions do with the lanes of a vector that lie behind the last element, and takes lanes that are
// computed and thrown away for mistakes. In the portable kernels it follows each lane until it decides
// something, so that slack behind tensors, rows and buffers may be read, and nothing has to be marked or
// cleared for it.

#ifndef LIB_ISA_H_
#define LIB_ISA_H_

#include <stdbool.h>

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define WNN_PLAIN 1
#endif
#endif

#if defined(__x86_64__) && !defined(WNN_PLAIN)
#define WNN_X86_64 1
#else
#define WNN_X86_64 0
#endif

// The compiler's run-time library asks the processor once, before main; this reads what it found.
#if WNN_X86_64
#define WNN_CPU_HAS(feature) (__builtin_cpu_supports(feature) != 0)
#else
#define WNN_CPU_HAS(feature) 0
#endif

// Each includes those before it.
enum isa {
    WNN_ISA_ANY,    // portable C, and NEON on AArch64
    WNN_ISA_AVX2,   // AVX2, FMA and F16C, which not every compiler knows by name and every such processor has
    WNN_ISA_AVX512, // AVX-512 F, BW, DQ and VL
};

// What is used of what the processor has. Only tests set it, before anything else, so that kernels for other
// processors run on this one.
extern struct isa_limit {
    enum isa best;
    bool alone; // none of the extensions that some processors have beside it
} wnn_isa_limit;

// The best that the processor has.
static inline enum isa wnn_isa(void)
{
    enum isa best = wnn_isa_limit.best;
    if (best < WNN_ISA_AVX2 || !WNN_CPU_HAS("avx2") || !WNN_CPU_HAS("fma"))
        return WNN_ISA_ANY;
    return best >= WNN_ISA_AVX512 && WNN_CPU_HAS("avx512f") && WNN_CPU_HAS("avx512bw") &&
                   WNN_CPU_HAS("avx512dq") && WNN_CPU_HAS("avx512vl")
               ? WNN_ISA_AVX512
               : WNN_ISA_AVX2;
}

// What a function is compiled for. No compiler contracts a product and a sum to one rounding by itself (gcc
// because of -std=c11), so that results do not depend on which variant of a plain loop runs.
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#if WNN_X86_64
#define WNN_AVX2_FEATURES   "avx2,fma,f16c"
#define WNN_AVX512_FEATURES WNN_AVX2_FEATURES ",avx512f,avx512bw,avx512dq,avx512vl"
#define WNN_TARGET_AVX2     __attribute__((target(WNN_AVX2_FEATURES)))
#ifdef __clang__
#define WNN_TARGET_AVX512 __attribute__((target(WNN_AVX512_FEATURES), min_vector_width(512)))
#else
#define WNN_TARGET_AVX512 __attribute__((target(WNN_AVX512_FEATURES ",prefer-vector-width=512")))
#endif
#endif

#endif
