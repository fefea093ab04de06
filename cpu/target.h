// SPDX-License-Identifier: Apache-2.0
//
// What graphs are compiled for: all of a processor that decides which kernel computes a node and how its
// weights lie. It is a value, and not what this processor has, since a graph may be compiled here for another
// one of the same architecture; and there is one for each of the few sorts that there are, so that the same
// graph gives the same bytes on all processors of a sort, whatever else they have. The number of threads
// decides nothing of what is stored.
//
// Who asks is a kernel whose weights are packed, by wnn_cpu_target(node). Loops that meet only what is alike
// for all targets are chosen by what this processor has (cpu/simd/isa.h).

#ifndef CPU_TARGET_H_
#define CPU_TARGET_H_

#include "lib/graph.h"
#include "lib/isa.h"

struct cpu_target {
    const char *instructions; // their names
    enum isa isa;
    // Products of bytes in vectors of 256 bits, of 512 bits (and in tiles, which read the same), of AArch64.
    bool avx_vnni, avx512_vnni, dot_product;
};

// The sort that this processor is of.
const struct cpu_target *wnn_cpu_this_processor(void);

// The sorts that it has all of, that one first; NULL: there are no more.
const struct cpu_target *wnn_cpu_runnable(unsigned number);

// The one that all processors of the architecture can stand for.
const struct cpu_target *wnn_cpu_any_processor(void);

// Those that this library compiles for, by number; NULL: there are no more.
const struct cpu_target *wnn_cpu_known_target(unsigned number);

// What a node is compiled for: the processor that it is on, unless its graph says otherwise.
static inline const struct cpu_target *wnn_cpu_target(const struct node *node)
{
    return node->target ? node->target : wnn_cpu_this_processor();
}

#endif
