// SPDX-License-Identifier: Apache-2.0
//
// Plain loops compiled for several instruction sets. WNN_VARIANTS(body) stands behind a function that
// wnn_parallel_for may call; WNN_BEST(body) is the variant of it for this processor. What the function calls
// is compiled along with it, if it is in the same file or header. No variant contracts a product and a sum to
// one rounding, so that results do not depend on which one runs. AVX-512 would gain little where memory is
// the limit, and make the library half as large again.

#ifndef CPU_VARIANTS_H_
#define CPU_VARIANTS_H_

#include "lib/isa.h"

#include <stddef.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

typedef void (*wnn_loop_body)(void *argument, size_t begin, size_t end);

// clang inlines the calls of a flattened function, but not theirs.
#define WNN_INLINE static inline __attribute__((always_inline))

#if WNN_X86_64
// The instruction sets, with vectors as long as they go. The second is worth its room only where arithmetic,
// and not memory, is the limit.
#define WNN_AVX2 __attribute__((target("avx2,f16c")))
#ifdef __clang__
#define WNN_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,f16c"), min_vector_width(512)))
#else
#define WNN_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,f16c,prefer-vector-width=512")))
#endif

static inline int wnn_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

#define WNN_VARIANTS(body) WNN_VARIANTS_(body)
#define WNN_BEST(body)     WNN_BEST_(body)
// The same with AVX-512, for loops that do so much with an element that memory is not the limit.
#define WNN_VARIANTS_512(body)                                                                               \
    WNN_VARIANTS_(body)                                                                                      \
    WNN_AVX512 __attribute__((flatten)) static void body##_avx512(void *argument, size_t begin, size_t end)  \
    {                                                                                                        \
        body(argument, begin, end);                                                                          \
    }
#define WNN_BEST_512(body) (wnn_has_avx512() ? body##_avx512 : WNN_BEST_(body))
#define WNN_BEST_(body)    (__builtin_cpu_supports("avx2") ? body##_avx2 : body)
#define WNN_VARIANTS_(body)                                                                                  \
    __attribute__((target("avx2"), flatten)) static void body##_avx2(void *argument, size_t begin,           \
                                                                     size_t end)                             \
    {                                                                                                        \
        body(argument, begin, end);                                                                          \
    }
#else
#define WNN_VARIANTS(body)
#define WNN_BEST(body) (body)
#define WNN_VARIANTS_512(body)
#define WNN_BEST_512(body) (body)
#endif

#endif
