// SPDX-License-Identifier: Apache-2.0
//
// gather, gatherElements, gatherND.
#include "cpu/gather/indices.h"
#include "cpu/simd/non_temporal.h"
#include "cpu/simd/interleave.h"

#if WNN_X86_64
#include <immintrin.h>
#endif

enum {
    SOONER = 512,  // indices from now on that are asked for: the first cache is for what they choose from
    STRAIGHT = 64, // elements of a row that pay for going without places
    ENOUGH =
        1024, // bytes to store past the caches at a time: they leave the first cache to what is chosen from
    DIRECT = 256 // bytes of a block that is stored from where it is
};

// `count` blocks to choose from.
struct source {
    const char *from;
    size_t count;
    struct later later;
};

#if WNN_X86_64
// 16 elements from their places. Those of 1 and 2 bytes are a part of a word, which lies in one cache line,
// but for the `last` one: that ends where the last element does.
WNN_TARGET_AVX512 WNN_INLINE void gather_vector(char *to, const void *from, __m512i place, __m512i last,
                                                size_t bytes)
{
    const __m512i aligned = _mm512_set1_epi32(-(int)(sizeof(uint32_t) / bytes));
    __m512i word = _mm512_min_epu32(_mm512_and_si512(place, aligned), last);
    __m512i behind = _mm512_sub_epi32(place, word), values;
    if (bytes == 1) {
        values = _mm512_srlv_epi32(_mm512_i32gather_epi32(word, from, 1), _mm512_slli_epi32(behind, 3));
        _mm_storeu_si128((void *)to, _mm512_cvtepi32_epi8(values));
    } else if (bytes == 2) {
        values = _mm512_srlv_epi32(_mm512_i32gather_epi32(word, from, 2), _mm512_slli_epi32(behind, 4));
        _mm256_storeu_si256((void *)to, _mm512_cvtepi32_epi16(values));
    } else {
        _mm512_storeu_si512(to, _mm512_i32gather_epi32(word, from, 4));
    }
}

// Returns how many elements it has chosen.
WNN_TARGET_AVX512 static size_t gather_vectors(char *to, const struct source *source, const uint32_t *places,
                                               size_t count, size_t bytes)
{
    size_t i = 0, whole = sizeof(uint32_t) / bytes;
    if (source->count < whole)
        return 0;
    __m512i last = _mm512_set1_epi32((int)(source->count - whole));
    for (; i + 16 <= count; i += 16) {
        wnn_ask_for(source->later, i);
        wnn_ask_for(source->later, i + 8);
        gather_vector(to + i * bytes, source->from, _mm512_loadu_si512(places + i), last, bytes);
    }
    return i;
}
#endif

// Block i comes from place places[i]: `bytes` is a constant.
WNN_INLINE void gather_places(char *to, const struct source *source, const uint32_t *places, size_t count,
                              size_t bytes)
{
    const char *from = source->from;
    size_t i = 0;
#if WNN_X86_64
    if ((bytes == 1 || bytes == 2 || bytes == 4) && wnn_isa() == WNN_ISA_AVX512)
        i = gather_vectors(to, source, places, count, bytes);
#endif
    for (; bytes <= sizeof(uint64_t) && i + WNN_UNROLLED <= count; i += WNN_UNROLLED) {
        uint64_t values[WNN_UNROLLED];
        wnn_ask_for(source->later, i);
        for (size_t j = 0; j < WNN_UNROLLED; j++)
            memcpy(&values[j], from + places[i + j] * bytes, bytes);
        for (size_t j = 0; j < WNN_UNROLLED; j++)
            memcpy(to + (i + j) * bytes, &values[j], bytes);
    }
    for (; i < count; i++)
        wnn_copy_block(to + i * bytes, from + places[i] * bytes, bytes);
}

// Whether there is nothing to choose from, or nothing to choose: the output, if it has elements, becomes 0.
static bool nothing_to_gather(const struct kernel_call *call)
{
    const struct tensor *out = &call->out[0];
    if (call->in[0].count == 0 && out->count > 0)
        memset(out->data, 0, out->count * wnn_element_size(out));
    return call->in[0].count == 0 || out->count == 0;
}

// An output that is written from front to back: as it is made, or, if it is large, past the caches.
struct writer {
    char *to;
    bool non_temporal;
    size_t filled;
    char buffer[WNN_INDICES * sizeof(uint64_t)];
};

static void begin_writing(struct writer *w, char *to, const struct tensor *out)
{
    w->to = to;
    w->non_temporal = wnn_is_non_temporal(out->count * wnn_element_size(out));
    w->filled = 0;
}

static void write_out(struct writer *w)
{
    if (w->filled > 0)
        wnn_nt_store(w->to, w->buffer, w->filled);
    w->to += w->filled;
    w->filled = 0;
}

// Where the next `bytes`, no more than a buffer, are to be made.
WNN_INLINE char *room(struct writer *w, size_t bytes)
{
    if (!w->non_temporal)
        return (w->to += bytes) - bytes;
    if (w->filled > 0 && w->filled + bytes > ENOUGH)
        write_out(w);
    return w->buffer + (w->filled += bytes) - bytes;
}

WNN_INLINE void go_to(struct writer *w, char *to)
{
    if (w->to + w->filled == to)
        return;
    write_out(w);
    w->to = to;
}

static void end_writing(struct writer *w)
{
    write_out(w);
    if (w->non_temporal)
        wnn_nt_fence();
}

WNN_INLINE void write_blocks(struct writer *w, const struct source *source, const uint32_t *places,
                             size_t count, size_t bytes)
{
    if (w->non_temporal && bytes >= DIRECT) {
        for (size_t i = 0; i < count; i++, w->to += bytes)
            wnn_nt_store(w->to, source->from + places[i] * bytes, bytes);
        return;
    }
    size_t most = w->non_temporal ? sizeof w->buffer / bytes : count;
    for (size_t i = 0, n; i < count; i += n) {
        n = wnn_min(count - i, most);
        gather_places(room(w, n * bytes), source, places + i, n, bytes);
    }
}

// The input is [outer, size, inner bytes] and the output [outer, indices, inner bytes].
struct gather {
    const struct tensor *in, *indices, *out;
    size_t outer, size, inner;
};

enum {
    ROWS = 16,
    WOVEN = 2048,   // bytes of a row at most
    LOOKED_UP = 256 // elements of 1 or 2 bytes of one, likewise
};

#if WNN_X86_64
#define AVX512_VBMI __attribute__((target("avx512f,avx512bw,avx512vbmi")))

// A row of bytes is four vectors, from which 64 places choose at a time.
AVX512_VBMI static void look_up_8(char *to, const char *row, size_t size, const uint8_t *places, size_t count)
{
    __m512i table[LOOKED_UP / 64];
    for (size_t i = 0; i < LOOKED_UP / 64; i++)
        table[i] = i * 64 < size ? _mm512_maskz_loadu_epi8(wnn_first_bits(size - i * 64), row + i * 64)
                                 : _mm512_setzero_si512();
    for (size_t i = 0; i < count; i += 64) {
        __mmask64 some = wnn_first_bits(count - i);
        __m512i place = _mm512_maskz_loadu_epi8(some, places + i);
        __m512i low = _mm512_permutex2var_epi8(table[0], place, table[1]);
        __m512i high = _mm512_permutex2var_epi8(table[2], place, table[3]);
        _mm512_mask_storeu_epi8(to + i, some, _mm512_mask_blend_epi8(_mm512_movepi8_mask(place), low, high));
    }
}

// One of 16-bit elements is eight, from which 32 places do.
WNN_TARGET_AVX512 static void look_up_16(char *to, const char *row, size_t size, const uint16_t *places,
                                         size_t count)
{
    __m512i table[LOOKED_UP / 32];
    const __m512i quarter = _mm512_set1_epi16(64), half = _mm512_set1_epi16(128);
    for (size_t i = 0; i < LOOKED_UP / 32; i++)
        table[i] = i * 32 < size
                       ? _mm512_maskz_loadu_epi16((__mmask32)wnn_first_bits(size - i * 32), row + i * 64)
                       : _mm512_setzero_si512();
    for (size_t i = 0; i < count; i += 32) {
        __mmask32 some = (__mmask32)wnn_first_bits(count - i);
        __m512i place = _mm512_maskz_loadu_epi16(some, places + i), quarters[4];
        __mmask32 odd = _mm512_test_epi16_mask(place, quarter);
        for (size_t q = 0; q < 4; q++)
            quarters[q] = _mm512_permutex2var_epi16(table[2 * q], place, table[2 * q + 1]);
        __m512i low = _mm512_mask_blend_epi16(odd, quarters[0], quarters[1]);
        __m512i high = _mm512_mask_blend_epi16(odd, quarters[2], quarters[3]);
        _mm512_mask_storeu_epi16(to + i * 2, some,
                                 _mm512_mask_blend_epi16(_mm512_test_epi16_mask(place, half), low, high));
    }
}

static bool can_look_up(const struct gather *g, size_t bytes)
{
    return g->size <= LOOKED_UP &&
           ((bytes == 2 && wnn_isa() == WNN_ISA_AVX512) || (bytes == 1 && wnn_has_avx512_vbmi()));
}

WNN_INLINE void look_up_rows(const struct gather *g, struct writer *writer, size_t row, size_t last,
                             const uint32_t *valid, size_t first, size_t count, size_t bytes)
{
    union {
        uint8_t bytes[WNN_INDICES];
        uint16_t words[WNN_INDICES];
    } places;
    for (size_t i = 0; i < count; i++) {
        if (bytes == 1)
            places.bytes[i] = (uint8_t)valid[i];
        else
            places.words[i] = (uint16_t)valid[i];
    }
    for (; row < last; row++) {
        const char *from = (const char *)g->in->data + row * g->size * bytes;
        go_to(writer, (char *)g->out->data + (row * g->indices->count + first) * bytes);
        char *to = room(writer, count * bytes);
        if (bytes == 1)
            look_up_8(to, from, g->size, places.bytes, count);
        else
            look_up_16(to, from, g->size, places.words, count);
    }
}
#endif

// Bytes of WNN_WOVEN rows side by side: each index is followed but once for all of them.
static void gather_woven(const struct gather *g, size_t row, const uint32_t *valid, size_t first,
                         size_t count, bool non_temporal)
{
    char woven[WOVEN * WNN_WOVEN], chosen[WNN_INDICES * WNN_WOVEN];
    const struct source source = {woven, g->size, {NULL, 0}};
    size_t line = g->indices->count;
    wnn_interleave((const char *)g->in->data + row * g->size, (ptrdiff_t)g->size, woven, 1, WNN_WOVEN,
                   g->size);
    gather_places(chosen, &source, valid, count, WNN_WOVEN);
    wnn_deinterleave(chosen, (char *)g->out->data + row * line + first, (ptrdiff_t)line, 1, WNN_WOVEN, count,
                     non_temporal);
}

// Units are WNN_INDICES indices (or what is left of them) at ROWS places of `outer`.
WNN_INLINE void gather_runs_of(const struct gather *g, size_t begin, size_t end, size_t bytes)
{
    size_t count = g->indices->count, chunks = (count + WNN_INDICES - 1) / WNN_INDICES;
    struct writer writer;
    begin_writing(&writer, g->out->data, g->out);
    for (size_t unit = begin; unit < end; unit++) {
        uint32_t valid[WNN_INDICES];
        size_t first = unit % chunks * WNN_INDICES, n = wnn_min(count - first, WNN_INDICES);
        size_t row = unit / chunks * ROWS, last = wnn_min(g->outer, row + ROWS);
        wnn_load_indices(g->indices, first, n, g->size, valid);
#if WNN_X86_64
        if (can_look_up(g, bytes)) {
            look_up_rows(g, &writer, row, last, valid, first, n, bytes);
            continue;
        }
#endif
        bool interleaves = bytes == 1 && g->size <= WOVEN && n >= g->size / 2;
        for (; interleaves && row + WNN_WOVEN <= last; row += WNN_WOVEN)
            gather_woven(g, row, valid, first, n, writer.non_temporal);
        for (; row < last; row++) {
            struct source source = {(const char *)g->in->data + row * g->size * bytes, g->size, {NULL, 0}};
            go_to(&writer, (char *)g->out->data + (row * count + first) * bytes);
            write_blocks(&writer, &source, valid, n, bytes);
        }
    }
    end_writing(&writer);
}

static void gather_runs(void *argument, size_t begin, size_t end)
{
    const struct gather *g = argument;
    WNN_CALL_WITH_SIZE(gather_runs_of, g->inner, g, begin, end);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gather
static void run_gather(const struct kernel_call *call)
{
    const WNNGatherOptions *options = call->node->attrs;
    const struct tensor *in = &call->in[0];
    struct gather gather = {in,
                            &call->in[1],
                            &call->out[0],
                            wnn_shape_product(&in->shape, 0, options->axis),
                            in->shape.dim[options->axis],
                            wnn_shape_product(&in->shape, options->axis + 1, in->shape.rank) *
                                wnn_element_size(in)};
    if (nothing_to_gather(call))
        return;
    size_t chunks = (gather.indices->count + WNN_INDICES - 1) / WNN_INDICES,
           rows = (gather.outer + ROWS - 1) / ROWS;
    size_t work = gather.out->count * wnn_element_size(in) / (chunks * rows);
    wnn_parallel_for(call->parallel, chunks * rows, 32768 / (work + 1) + 1, gather_runs, &gather);
}

#if WNN_X86_64
// `count` neighbours in a row, straight from their indices of 32 bits. Returns how many it has chosen.
WNN_TARGET_AVX512 static size_t gather_neighbours(char *to, const struct source *source,
                                                  const struct elements *e, size_t first, size_t count,
                                                  size_t bytes)
{
    const char *indices = (const char *)e->indices->data + first * sizeof(int32_t);
    bool from_end = e->indices->type == WNNDataType_Int32;
    size_t i = 0, whole = sizeof(uint32_t) / bytes, outer = first / (e->steps * e->inner);
    if (source->count < whole)
        return 0;
    __m512i last = _mm512_set1_epi32((int)(source->count - whole));
    __m512i size = _mm512_set1_epi32((int)e->size), most = _mm512_set1_epi32((int)e->size - 1);
    __m512i least = _mm512_set1_epi32(-(int)e->size), line = _mm512_set1_epi32((int)e->inner);
    __m512i columns = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    columns = e->inner > 1 ? columns : _mm512_setzero_si512();
    size_t base = outer * e->size * e->inner + first % e->inner;
    for (; i + 16 <= count; i += 16) {
        wnn_ask_for(source->later, i);
        __m512i index = _mm512_loadu_si512(indices + i * sizeof(int32_t));
        __asm__ volatile("" : "+v"(index)); // others may write there: what was read is what is clamped
        if (from_end) {
            index = _mm512_min_epi32(_mm512_max_epi32(index, least), most);
            index = _mm512_mask_add_epi32(index, _mm512_movepi32_mask(index), index, size);
        } else {
            index = _mm512_min_epu32(index, most);
        }
        __m512i column = _mm512_add_epi32(columns, _mm512_set1_epi32((int)(base + (e->inner > 1 ? i : 0))));
        gather_vector(to + i * bytes, source->from, _mm512_add_epi32(_mm512_mullo_epi32(index, line), column),
                      last, bytes);
    }
    return i;
}
#endif

// Up to WNN_INDICES elements, of one row if `straight`.
WNN_INLINE void gather_some(const struct elements *e, char *to, size_t first, size_t count, size_t bytes)
{
    struct source source = {e->from, e->outer * e->size * e->inner,
                            wnn_indices_from(e->indices, first + e->ahead)};
    size_t done = 0;
#if WNN_X86_64
    if (e->straight > 0)
        done = gather_neighbours(to, &source, e, first, count, bytes);
#endif
    if (done == count)
        return;
    uint32_t places[WNN_INDICES];
    wnn_load_places(e, first + done, count - done, 0, places);
    gather_places(to + done * bytes, &source, places, count - done, bytes);
}

WNN_INLINE void gather_elements_of(const struct elements *e, size_t begin, size_t end, size_t bytes)
{
    struct writer writer;
    begin_writing(&writer, e->to + begin * bytes, e->out);
    for (size_t i = begin, n; i < end; i += n) {
        n = wnn_min(end - i, WNN_INDICES);
        if (e->straight > 0)
            n = wnn_min(n, e->straight - i % e->straight);
        gather_some(e, room(&writer, n * bytes), i, n, bytes);
    }
    end_writing(&writer);
}

static void gather_elements(void *argument, size_t begin, size_t end)
{
    const struct elements *e = argument;
    WNN_CALL_WITH_SIZE(gather_elements_of, e->bytes, e, begin, end);
}

#if WNN_X86_64
// Bytes along an axis that is not the last one: each element of a row comes from another line of the caches,
// of which the first one would hold but few, the more so as they are often a power of two apart. Where the
// indices of a tile name few rows, the tile's part of these is copied to where it fits.
struct tile {
    size_t first, origin; // the place of its first index, and that of its first column in row 0
    size_t steps, columns;
};

enum {
    COLUMNS = 64,        // of a tile, at most: a vector of bytes
    STEPS = 64,          // likewise
    GROUP = WNN_INDICES, // columns whose tiles come one after the other
    NAMED = 256          // rows that are copied, at most
};

struct named {
    size_t first, count; // rows; 0: there are too many, or an index is negative or too large
};

WNN_TARGET_AVX512 static struct named find_named(const struct elements *e, const struct tile *t)
{
    const char *indices = (const char *)e->indices->data + t->first * sizeof(uint32_t);
    __m512i least = _mm512_set1_epi32(-1), most = _mm512_setzero_si512();
    for (size_t s = 0; s < t->steps; s++, indices += e->inner * sizeof(uint32_t)) {
        for (size_t j = 0; j < t->columns; j += 16) {
            __mmask16 some = (__mmask16)wnn_first_bits(t->columns - j);
            __m512i index = _mm512_maskz_loadu_epi32(some, indices + j * sizeof(uint32_t));
            least = _mm512_mask_min_epu32(least, some, least, index);
            most = _mm512_max_epu32(most, index);
        }
    }
    size_t first = _mm512_reduce_min_epu32(least), last = _mm512_reduce_max_epu32(most);
    size_t count = last - first + 1;
    bool few = last < e->size && count <= NAMED && count <= t->steps * t->columns / 4;
    return (struct named){first, few ? count : 0};
}

WNN_TARGET_AVX512 static void gather_tile(const struct elements *e, const struct tile *t, struct named named,
                                          bool non_temporal)
{
    _Alignas(COLUMNS) char rows[NAMED * COLUMNS + sizeof(uint32_t)]; // words end behind the last byte
    const __m512i first = _mm512_set1_epi32((int)named.first), last = _mm512_set1_epi32((int)named.count - 1);
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __mmask64 taken = wnn_first_bits(t->columns);
    const char *from = e->from + named.first * e->inner + t->origin;
    for (size_t i = 0; i < named.count; i++)
        _mm512_store_si512(rows + i * COLUMNS, _mm512_maskz_loadu_epi8(taken, from + i * e->inner));
    for (size_t s = 0; s < t->steps; s++) {
        const uint32_t *indices = (const uint32_t *)e->indices->data + t->first + s * e->inner;
        char *to = e->to + t->first + s * e->inner;
        __m512i values[4];
        for (size_t k = 0; k < 4; k++) {
            // What the tile below needs comes near meanwhile.
            _mm_prefetch((const char *)(indices + STEPS * e->inner + k * 16), _MM_HINT_T1);
            __m512i index = _mm512_maskz_loadu_epi32((__mmask16)(taken >> k * 16), indices + k * 16);
            __asm__ volatile("" : "+v"(index)); // it may have changed: what was read is what is clamped
            index = _mm512_min_epu32(_mm512_sub_epi32(index, first), last);
            __m512i column = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)k * 16));
            __m512i place = _mm512_add_epi32(_mm512_mullo_epi32(index, _mm512_set1_epi32(COLUMNS)), column);
            values[k] = _mm512_and_si512(_mm512_i32gather_epi32(place, rows, 1), _mm512_set1_epi32(255));
        }
        __m512i line = _mm512_packus_epi16(_mm512_packus_epi32(values[0], values[1]),
                                           _mm512_packus_epi32(values[2], values[3]));
        line = _mm512_permutexvar_epi32(order, line);
        if (non_temporal && t->columns == COLUMNS && (uintptr_t)to % COLUMNS == 0)
            _mm512_stream_si512((void *)to, line);
        else
            _mm512_mask_storeu_epi8(to, taken, line);
    }
}

// Units are STEPS steps of GROUP columns, or what is left of them.
static void gather_tiles(void *argument, size_t begin, size_t end)
{
    const struct elements *e = argument;
    size_t groups = (e->inner + GROUP - 1) / GROUP, parts = (e->steps + STEPS - 1) / STEPS;
    struct writer writer;
    begin_writing(&writer, e->to, e->out);
    for (size_t unit = begin; unit < end; unit++) {
        size_t step = unit % parts * STEPS, steps = wnn_min(e->steps - step, STEPS);
        size_t column = unit / parts % groups * GROUP, last = wnn_min(e->inner, column + GROUP);
        size_t outer = unit / parts / groups;
        while (column < last) {
            struct tile tile = {(outer * e->steps + step) * e->inner + column,
                                outer * e->size * e->inner + column, steps, wnn_min(last - column, COLUMNS)};
            struct named named = find_named(e, &tile);
            if (named.count > 0)
                gather_tile(e, &tile, named, writer.non_temporal);
            else
                tile.columns = last - column; // those beside it are hardly different
            for (size_t s = 0; named.count == 0 && s < steps; s++) {
                size_t first = tile.first + s * e->inner;
                go_to(&writer, e->to + first);
                gather_some(e, room(&writer, tile.columns), first, tile.columns, 1);
            }
            column += tile.columns;
        }
    }
    end_writing(&writer);
}
#endif

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gatherelements
static void run_gather_elements(const struct kernel_call *call)
{
    const WNNGatherOptions *options = call->node->attrs;
    if (nothing_to_gather(call))
        return;
    struct elements elements = wnn_element_sides(&call->in[0], &call->in[1], options->axis, SOONER);
    elements.out = &call->out[0];
    elements.from = call->in[0].data;
    elements.to = call->out[0].data;
#if WNN_X86_64
    size_t row = elements.inner > 1 ? elements.inner : elements.steps;
    if (elements.bytes <= 4 && wnn_element_size(elements.indices) == 4 && row >= STRAIGHT &&
        wnn_isa() == WNN_ISA_AVX512)
        elements.straight = row;
    if (elements.straight > 0 && elements.bytes == 1 && elements.inner >= COLUMNS &&
        elements.size * elements.inner > WNN_NEAR) {
        size_t groups = (elements.inner + GROUP - 1) / GROUP, parts = (elements.steps + STEPS - 1) / STEPS;
        wnn_parallel_for(call->parallel, elements.outer * groups * parts, 1, gather_tiles, &elements);
        return;
    }
#endif
    wnn_parallel_for(call->parallel, call->out[0].count, wnn_blocks_grain(elements.bytes), gather_elements,
                     &elements);
}

WNN_INLINE void gather_blocks_of(const struct tuples *t, size_t begin, size_t end, size_t bytes)
{
    struct writer writer;
    struct source source = {t->from, wnn_shape_product(t->shape, 0, (unsigned)t->length), {NULL, 0}};
    begin_writing(&writer, t->to + begin * bytes, t->out);
    for (size_t i = begin, n; i < end; i += n) {
        uint32_t places[WNN_INDICES];
        n = wnn_min(end - i, WNN_INDICES);
        wnn_load_blocks(t, i, n, places);
        write_blocks(&writer, &source, places, n, bytes);
    }
    end_writing(&writer);
}

static void gather_blocks(void *argument, size_t begin, size_t end)
{
    const struct tuples *t = argument;
    WNN_CALL_WITH_SIZE(gather_blocks_of, t->bytes, t, begin, end);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-gathernd
static void run_gather_nd(const struct kernel_call *call)
{
    struct tuples tuples = wnn_tuple_sides(&call->in[0], &call->in[1]);
    if (nothing_to_gather(call))
        return;
    tuples.out = &call->out[0];
    tuples.from = call->in[0].data;
    tuples.to = call->out[0].data;
    wnn_parallel_for(call->parallel, tuples.count, wnn_blocks_grain(tuples.bytes), gather_blocks, &tuples);
}

const struct kernel wnn_cpu_gather = {.run = run_gather};
const struct kernel wnn_cpu_gatherElements = {.run = run_gather_elements};
const struct kernel wnn_cpu_gatherND = {.run = run_gather_nd};
