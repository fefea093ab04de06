// SPDX-License-Identifier: Apache-2.0
//
// Kernels for several instruction sets (lib/isa.h) from one source, and dispatch by ISA. What is called name
// has the variants name_any, name_avx2 and name_avx512:
//   loops over vectors that are written out (lanes.h) stand in a file that each_isa.inc includes for each;
//   what a macro defines is defined for each by WNN_FOR_EACH_ISA(DEFINE, ...);
//   a plain loop that the compiler vectorizes gets its variants by WNN_VARIANTS.
// WNN_BEST_ISA(name) is the variant for this processor, and WNN_FOR_ISA(isa, name) that for an ISA. AVX-512
// would gain little where memory is the limit, and make the library half as large again: such loops have no
// variant for it, and stand in the macros of which the names end in 256.

#ifndef CPU_ISA_H_
#define CPU_ISA_H_

#include "lib/isa.h"

#include <stdbool.h>
#include <stddef.h>

// clang inlines the calls of a flattened function, but not theirs.
#define WNN_INLINE static inline __attribute__((always_inline))

// Loops over the vectors of a tile must disappear, so that the tile stays in registers.
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

// DEFINE(isa, TARGET, ...) for each.
#define WNN_NO_TARGET
#if WNN_X86_64
#define WNN_FOR_EACH_ISA_256(DEFINE, ...)                                                                    \
    DEFINE(any, WNN_NO_TARGET, __VA_ARGS__) DEFINE(avx2, WNN_TARGET_AVX2, __VA_ARGS__)
#define WNN_FOR_EACH_ISA(DEFINE, ...)                                                                        \
    WNN_FOR_EACH_ISA_256(DEFINE, __VA_ARGS__) DEFINE(avx512, WNN_TARGET_AVX512, __VA_ARGS__)
#define WNN_FOR_ISA_256(isa, name) ((isa) >= WNN_ISA_AVX2 ? name##_avx2 : name##_any)
#define WNN_FOR_ISA(isa, name)                                                                               \
    ((isa) == WNN_ISA_AVX512 ? name##_avx512 : (isa) == WNN_ISA_AVX2 ? name##_avx2 : name##_any)
#else
#define WNN_FOR_EACH_ISA_256(DEFINE, ...) DEFINE(any, WNN_NO_TARGET, __VA_ARGS__)
#define WNN_FOR_EACH_ISA(DEFINE, ...)     DEFINE(any, WNN_NO_TARGET, __VA_ARGS__)
#define WNN_FOR_ISA_256(isa, name)        ((void)(isa), name##_any)
#define WNN_FOR_ISA(isa, name)            ((void)(isa), name##_any)
#endif
#define WNN_BEST_ISA_256(name) WNN_FOR_ISA_256(wnn_isa_of_numbers(), name)
#define WNN_BEST_ISA(name)     WNN_FOR_ISA(wnn_isa_of_numbers(), name)

// Set on a thread while it computes constants of a graph that is compiled: sums have another order, and
// products another rounding, in each ISA, and what is compiled must not depend on where that happens.
extern _Thread_local bool wnn_portable_numbers;

static inline enum isa wnn_isa_of_numbers(void)
{
    return wnn_portable_numbers ? WNN_ISA_ANY : wnn_isa();
}

// Stands behind a function that wnn_parallel_for may call. What it calls is compiled along with it, if it is
// in the same file or header.
typedef void (*wnn_loop_body)(void *argument, size_t begin, size_t end);
#define WNN_VARIANT(isa, TARGET, body)                                                                       \
    TARGET __attribute__((flatten)) static void body##_##isa(void *argument, size_t begin, size_t end)       \
    {                                                                                                        \
        body(argument, begin, end);                                                                          \
    }
#define WNN_VARIANTS_256(body)                                                                               \
    static const wnn_loop_body body##_any = body;                                                            \
    WNN_VARIANT_AVX2(body)
#define WNN_VARIANTS(body)                                                                                   \
    WNN_VARIANTS_256(body)                                                                                   \
    WNN_VARIANT_AVX512(body)
#if WNN_X86_64
#define WNN_VARIANT_AVX2(body)   WNN_VARIANT(avx2, WNN_TARGET_AVX2, body)
#define WNN_VARIANT_AVX512(body) WNN_VARIANT(avx512, WNN_TARGET_AVX512, body)
#else
#define WNN_VARIANT_AVX2(body)
#define WNN_VARIANT_AVX512(body)
#endif

// WNN_BODY stands before the function name_body, of which WNN_DISPATCH makes the function `name`: the variant
// of it for this processor.
#define WNN_BODY WNN_INLINE void
#define WNN_CALL_BODY(isa, TARGET, name, parameters, arguments)                                              \
    TARGET static void name##_##isa parameters                                                               \
    {                                                                                                        \
        name##_body arguments;                                                                               \
    }
#if WNN_X86_64
#define WNN_DISPATCH_256(name, parameters, arguments)                                                        \
    WNN_CALL_BODY(avx2, WNN_TARGET_AVX2, name, parameters, arguments)                                        \
    static void name parameters                                                                              \
    {                                                                                                        \
        if (wnn_isa() >= WNN_ISA_AVX2)                                                                       \
            name##_avx2 arguments;                                                                           \
        else                                                                                                 \
            name##_body arguments;                                                                           \
    }
#define WNN_DISPATCH(name, parameters, arguments)                                                            \
    WNN_CALL_BODY(avx2, WNN_TARGET_AVX2, name, parameters, arguments)                                        \
    WNN_CALL_BODY(avx512, WNN_TARGET_AVX512, name, parameters, arguments)                                    \
    static void name parameters                                                                              \
    {                                                                                                        \
        if (wnn_isa() == WNN_ISA_AVX512)                                                                     \
            name##_avx512 arguments;                                                                         \
        else if (wnn_isa() >= WNN_ISA_AVX2)                                                                  \
            name##_avx2 arguments;                                                                           \
        else                                                                                                 \
            name##_body arguments;                                                                           \
    }
#else
#define WNN_DISPATCH_256(name, parameters, arguments)                                                        \
    static void name parameters                                                                              \
    {                                                                                                        \
        name##_body arguments;                                                                               \
    }
#define WNN_DISPATCH(name, parameters, arguments) WNN_DISPATCH_256(name, parameters, arguments)
#endif

// Extensions of this processor that few kernels have variants for.
static inline bool wnn_has_avx512_vnni(void)
{
    return wnn_isa() == WNN_ISA_AVX512 && !wnn_isa_limit.alone && WNN_CPU_HAS("avx512vnni");
}

static inline bool wnn_has_avx512_vbmi(void)
{
    return wnn_isa() == WNN_ISA_AVX512 && !wnn_isa_limit.alone && WNN_CPU_HAS("avx512vbmi");
}

bool wnn_has_avx_vnni(void);
bool wnn_has_dot_product(void); // of AArch64

// Stands before a loop whose iterations do not depend on one another, although its arrays may be the same
// memory: the output in place of an input, element by element.
#ifdef __clang__
#define WNN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" // loops that call functions stay as they are
#else
#define WNN_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
