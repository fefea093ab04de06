// SPDX-License-Identifier: Apache-2.0
//
// scatterElements, scatterND: the input is copied to the output, unless they are the same memory, and updates
// are written over it.
#include "cpu/gather/indices.h"
#include "cpu/simd/non_temporal.h"

enum {
    AHEAD = 2048,   // indices from now on that are asked for
    SOON = 32,      // and places that are far
    CACHED = 262144 // bytes that stay near the processor
};

// Element i of elements that lie in words, as the lowest bits.
WNN_INLINE uint64_t from_words(const uint64_t *words, size_t i, size_t bytes)
{
    return words[i * bytes / sizeof *words] >> i * bytes % sizeof *words * 8;
}

// Block i goes to place places[i]. Blocks are `line` bytes apart, of which `bytes`, a constant, are copied.
// If there are duplicates the last one stays. Of places that are `far`, some more can be read than `count`.
// What is small is read as words: loads of single elements would often wait for stores whose addresses end in
// the same bits.
WNN_INLINE void scatter_places(char *to, const char *from, const uint32_t *places, size_t count,
                               struct later later, bool far, size_t line, size_t bytes)
{
    const bool in_words = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    const bool packed = in_words && line == bytes && sizeof(uint64_t) % bytes == 0;
    size_t i = 0;
    for (; bytes <= sizeof(uint64_t) && i + WNN_UNROLLED <= count; i += WNN_UNROLLED) {
        uint64_t values[WNN_UNROLLED], words[WNN_UNROLLED], at[WNN_UNROLLED / 2];
        wnn_ask_for(later, i);
        for (size_t j = 0; far && j < WNN_UNROLLED; j++)
            __builtin_prefetch(to + places[i + j + SOON] * line, 1);
        for (size_t j = 0; j < WNN_UNROLLED / 2; j++)
            memcpy(&at[j], places + i + 2 * j, sizeof at[j]);
        for (size_t j = 0; packed && j < bytes; j++)
            memcpy(&words[j], from + i * bytes + j * sizeof words[j], sizeof words[j]);
        for (size_t j = 0; j < WNN_UNROLLED; j++) {
            if (packed)
                values[j] = from_words(words, j, bytes);
            else
                memcpy(&values[j], from + (i + j) * line, bytes);
        }
        for (size_t j = 0; j < WNN_UNROLLED; j++) {
            uint32_t place = in_words ? (uint32_t)from_words(at, j, sizeof place) : places[i + j];
            memcpy(to + place * line, &values[j], bytes);
        }
    }
    for (; i < count; i++)
        wnn_copy_block(to + places[i] * line, from + i * line, bytes);
}

struct bytes {
    const char *from;
    char *to;
    bool non_temporal;
};

static void copy_range(void *argument, size_t begin, size_t end)
{
    const struct bytes *bytes = argument;
    if (bytes->non_temporal) {
        wnn_nt_store(bytes->to + begin, bytes->from + begin, end - begin);
        wnn_nt_fence();
    } else {
        memcpy(bytes->to + begin, bytes->from + begin, end - begin);
    }
}

static void copy_input(const struct kernel_call *call)
{
    size_t count = call->in[0].count * wnn_element_size(&call->in[0]);
    struct bytes bytes = {call->in[0].data, call->out[0].data, wnn_is_non_temporal(count)};
    if (bytes.from != bytes.to)
        wnn_parallel_for(call->parallel, count, 131072, copy_range, &bytes);
}

// The updates [first, end) of the larger side's elements from `origin` on, which `to` points to.
WNN_INLINE void scatter_range(const struct elements *e, char *to, size_t origin, size_t first, size_t end,
                              bool far, size_t bytes)
{
    uint32_t places[WNN_INDICES + SOON];
    for (size_t n; first < end && !wnn_interrupted(e->interrupt); first += n) {
        n = wnn_min(end - first, WNN_INDICES);
        wnn_load_places(e, first, n, origin, places);
        memset(places + n, 0, SOON * sizeof *places);
        scatter_places(to, e->from + first * bytes, places, n, wnn_indices_from(e->indices, first + e->ahead),
                       far, bytes, bytes);
    }
}

// Units are places of `outer`: as many at a time as a buffer holds.
WNN_INLINE void scatter_slabs_of(const struct elements *e, size_t begin, size_t end, size_t bytes)
{
    char buffer[WNN_NEAR];
    size_t slab = e->size * e->inner * bytes, updates = e->steps * e->inner;
    size_t most = slab <= WNN_NEAR ? WNN_NEAR / slab : 1;
    bool non_temporal = e->input && slab <= WNN_NEAR && wnn_is_non_temporal(e->out->count * bytes);
    for (size_t n; begin < end; begin += n) {
        n = wnn_min(end - begin, most);
        char *to = non_temporal ? buffer : e->to + begin * slab;
        if (e->input)
            memcpy(to, e->input + begin * slab, n * slab);
        scatter_range(e, to, begin * e->size * e->inner, begin * updates, (begin + n) * updates, false,
                      bytes);
        if (non_temporal)
            wnn_nt_store(e->to + begin * slab, to, n * slab);
    }
    if (non_temporal)
        wnn_nt_fence();
}

// Units are some columns of a place of `outer`: no other unit writes to them, so that the last update of an
// element is the one that stays.
WNN_INLINE void scatter_columns_of(const struct elements *e, size_t begin, size_t end, size_t bytes)
{
    size_t blocks = (e->inner + e->columns - 1) / e->columns, rows = blocks > 1 ? 1 : e->steps;
    for (size_t unit = begin; unit < end; unit++) {
        size_t row = unit / blocks * e->steps, column = unit % blocks * e->columns;
        size_t width = wnn_min(e->inner - column, e->columns);
        for (size_t step = 0; step < e->steps; step += rows) {
            size_t first = (row + step) * e->inner + column;
            scatter_range(e, e->to, 0, first, first + rows * width, true, bytes);
        }
    }
}

static void scatter_slabs(void *argument, size_t begin, size_t end)
{
    const struct elements *e = argument;
    WNN_CALL_WITH_SIZE(scatter_slabs_of, e->bytes, e, begin, end);
}

static void scatter_columns(void *argument, size_t begin, size_t end)
{
    const struct elements *e = argument;
    WNN_CALL_WITH_SIZE(scatter_columns_of, e->bytes, e, begin, end);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-scatterelements
static void run_scatter_elements(const struct kernel_call *call)
{
    const WNNScatterElementsOptions *options = call->node->attrs;
    const struct tensor *out = &call->out[0];
    if (out->count == 0)
        return;
    struct elements elements = wnn_element_sides(out, &call->in[1], options->axis, AHEAD);
    elements.out = out;
    elements.interrupt = call->parallel->interrupt;
    elements.from = call->in[2].data;
    elements.to = out->data;
    size_t slab = elements.size * elements.inner * elements.bytes;
    size_t work = elements.steps * elements.inner * elements.bytes;
    if (slab <= CACHED) {
        elements.input = call->in[0].data != out->data ? call->in[0].data : NULL;
        wnn_parallel_for(call->parallel, elements.outer, wnn_blocks_grain(slab + work), scatter_slabs,
                         &elements);
        return;
    }
    // Long rows, but something to do for each thread.
    size_t blocks = 0;
    for (elements.columns = 2 * WNN_INDICES;
         elements.columns > 64 && elements.outer * blocks < call->parallel->threads;) {
        elements.columns /= 2;
        blocks = (elements.inner + elements.columns - 1) / elements.columns;
    }
    copy_input(call);
    wnn_parallel_for(call->parallel, elements.outer * blocks, wnn_blocks_grain(work / blocks),
                     scatter_columns, &elements);
}

// Bytes [begin, end) of all blocks, in the order of the updates: the last one stays.
static void scatter_blocks(void *argument, size_t begin, size_t end)
{
    const struct tuples *t = argument;
    const struct later none = {NULL, 0};
    for (size_t i = 0, n; i < t->count && !wnn_interrupted(t->interrupt); i += n) {
        uint32_t places[WNN_INDICES];
        n = wnn_min(t->count - i, WNN_INDICES);
        wnn_load_blocks(t, i, n, places);
        WNN_CALL_WITH_SIZE(scatter_places, end - begin, t->to + begin, t->from + i * t->bytes + begin, places,
                           n, none, false, t->bytes);
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-scatternd
static void run_scatter_nd(const struct kernel_call *call)
{
    struct tuples tuples = wnn_tuple_sides(&call->in[0], &call->in[1]);
    tuples.interrupt = call->parallel->interrupt;
    if (call->out[0].count == 0)
        return;
    copy_input(call);
    tuples.from = call->in[2].data;
    tuples.to = call->out[0].data;
    // Indices that change between the readings of two threads could tear a block, but not leave the tensor.
    wnn_parallel_for(call->parallel, tuples.bytes, 4096, scatter_blocks, &tuples);
}

const struct kernel wnn_cpu_scatterElements = {.run = run_scatter_elements, .in_place = 1};
const struct kernel wnn_cpu_scatterND = {.run = run_scatter_nd, .in_place = 1};
