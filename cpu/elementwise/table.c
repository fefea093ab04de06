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

// Eight elements are read by two loads.
static void look_up(const uint16_t *table, const uint16_t *x, uint16_t *y, size_t count)
{
#define FOUR(word)                                                                                           \
    table[(word)&0xFFFF], table[(word) >> 16 & 0xFFFF], table[(word) >> 32 & 0xFFFF], table[(word) >> 48]
    size_t i = 0;
    for (; i + GROUP <= count; i += GROUP) {
        uint64_t words[2];
        memcpy(words, x + i, sizeof words);
        group results = {FOUR(words[0]), FOUR(words[1])};
        memcpy(y + i, &results, sizeof results);
    }
    for (; i < count; i++)
        y[i] = table[x[i]];
#undef FOUR
}

static void look_up_piece(void *argument, size_t begin, size_t end)
{
    const struct lookup *lookup = argument;
    struct chunk_room room;
    room.non_temporal = lookup->non_temporal;
    for (size_t i = begin, n; i < end; i += n) {
        n = end - i < WNN_CHUNK ? end - i : WNN_CHUNK;
        look_up(lookup->table, lookup->in + i, wnn_cpu_chunk_begin(&room, lookup->out + i), n);
        wnn_cpu_chunk_end(&room, lookup->out + i, n * sizeof(uint16_t));
    }
    wnn_cpu_chunks_end(&room);
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
