// SPDX-License-Identifier: Apache-2.0
//
// Functions of one float16, of which there are 65536: the results of all of them are a table. What takes
// longer to compute than to look up is computed once for each, by the loop of its operator or chain, for a
// tensor that has several times as many elements. The bits are the same.

#include "cpu/elementwise/elementwise.h"

enum {
    HALVES = WNN_TABLE_BYTES / sizeof(uint16_t),
    GROUP = 8, // of which a vector is made
};

typedef uint16_t group __attribute__((vector_size(GROUP * sizeof(uint16_t))));

struct lookup {
    const uint16_t *table, *in;
    uint16_t *out;
    bool non_temporal;
};

#if WNN_X86_64
#include <emmintrin.h>

static inline void stream(uint16_t *to, group results)
{
    _mm_stream_si128((__m128i *)(void *)to, (__m128i)results);
}
#else
static inline void stream(uint16_t *to, group results)
{
    memcpy(to, &results, sizeof results);
}
#endif

// Eight elements are read by two loads. Past the caches, if `y` is aligned for that.
static inline __attribute__((always_inline)) void look_up(const uint16_t *table, const uint16_t *x,
                                                          uint16_t *y, size_t count, const bool past)
{
#define FOUR(word)                                                                                           \
    table[(word)&0xFFFF], table[(word) >> 16 & 0xFFFF], table[(word) >> 32 & 0xFFFF], table[(word) >> 48]
    size_t i = 0;
    for (; i + GROUP <= count; i += GROUP) {
        uint64_t words[2];
        memcpy(words, x + i, sizeof words);
        group results = {FOUR(words[0]), FOUR(words[1])};
        if (past)
            stream(y + i, results);
        else
            memcpy(y + i, &results, sizeof results);
    }
    for (; i < count; i++)
        y[i] = table[x[i]];
#undef FOUR
}

static void look_up_piece(void *argument, size_t begin, size_t end)
{
    const struct lookup *lookup = argument;
    const uint16_t *table = lookup->table, *x = lookup->in + begin;
    uint16_t *y = lookup->out + begin;
    size_t count = end - begin, first = -(uintptr_t)y % sizeof(group) / sizeof *y;
    if (!lookup->non_temporal) {
        look_up(table, x, y, count, false);
        return;
    }
    first = first < count ? first : count;
    look_up(table, x, y, first, false);
    look_up(table, x + first, y + first, count - first, true);
    wnn_nt_fence();
}

struct tensor wnn_cpu_all_halves(void *table)
{
    uint16_t *halves = table;
    for (unsigned i = 0; i < HALVES; i++)
        halves[i] = (uint16_t)i;
    return (struct tensor){table, WNNDataType_Float16, {1, {HALVES}}, HALVES};
}

void wnn_cpu_look_up(const struct kernel_call *call, const struct tensor *in)
{
    struct lookup lookup = {call->scratch, in->data, call->out[0].data,
                            wnn_cpu_chunks_non_temporal(call, &call->out[0])};
    wnn_parallel_for(call->parallel, in->count, WNN_GRAIN_CHEAP, look_up_piece, &lookup);
}
