// SPDX-License-Identifier: Apache-2.0
//
// Ends all work groups but the last of the SPLITS that a counter counts. What a split has written is there before it is
// counted, and what all have written before the last one reads it. It joins them in their order, so that it does not
// matter which one is last. `count` is a word of shared memory; the counter is zero again afterwards.

#define LEAVE_UNLESS_LAST(counter, count)                                                                            \
    memoryBarrierBuffer();                                                                                           \
    barrier();                                                                                                       \
    if (gl_LocalInvocationIndex == 0u)                                                                               \
        count = atomicAdd(counters_word(counter), 1u);                                                               \
    barrier();                                                                                                       \
    if (count + 1u != SPLITS)                                                                                        \
        return;                                                                                                      \
    if (gl_LocalInvocationIndex == 0u)                                                                               \
        counters_word(counter) = 0u;                                                                                 \
    memoryBarrierBuffer();
