// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/strips.h"

#include "cpu/simd/lanes.h"

#include <math.h>

#define OCTETS WNN_STRIP_OCTETS

// What one call of a loop is about: strips of one group, from one on.
struct strip_part {
    const struct strips *strips;
    struct strip_block block;
    const unsigned char *group;
    size_t in_group, first; // strips
    const float *x, *sums;  // of the first row
    size_t terms, blocks;   // of all of a row
    size_t begin, end;      // blocks
};

typedef void (*strip_loop)(const struct strip_part *part, float *totals);

struct strip_loops {
    struct loops_of_kind {
        size_t most[4];        // strips at once, for 1, 2, 4 and 8 rows
        strip_loop several[4]; // so many
        strip_loop single[4];
    } octets, nibbles;
    void (*panel)(const struct strip_part *part, size_t k, size_t length, size_t lane, unsigned width,
                  float *to);
};

struct strip_block wnn_strip_block(const struct strips *strips)
{
    size_t terms = wnn_round_up(strips->block, strips->nibbles ? 8 : OCTETS);
    size_t scale = strips->scales == WNN_SCALES_FLOAT32 ? sizeof(float) : sizeof(uint16_t);
    return (struct strip_block){terms, WNN_STRIP * scale, strips->zeros ? WNN_STRIP : 0,
                                WNN_STRIP * terms / (strips->nibbles ? 2 : 1)};
}

static size_t block_bytes(const struct strip_block *block)
{
    return block->scales + block->zeros + block->integers;
}

static size_t strip_count(const struct strips *strips)
{
    return (strips->n + WNN_STRIP - 1) / WNN_STRIP;
}

size_t wnn_strips_bytes(const struct strips *strips)
{
    struct strip_block block = wnn_strip_block(strips);
    return strip_count(strips) * (strips->k / strips->block) * block_bytes(&block);
}

size_t wnn_strip_terms(const struct strips *strips)
{
    return strips->k / strips->block * wnn_strip_block(strips).terms;
}

size_t wnn_strip_runs(const struct strips *strips)
{
    struct strip_block block = wnn_strip_block(strips);
    return strips->k / strips->block * wnn_strip_block_runs(&block);
}

size_t wnn_strip_words(const struct strips *strips)
{
    return wnn_strip_terms(strips) / 4;
}

// Where the group of a strip begins, and how many it has.
static size_t group_of(const struct strips *strips, const struct strip_block *block, size_t strip,
                       size_t *in_group)
{
    size_t first = strip / WNN_STRIP_GROUP * WNN_STRIP_GROUP;
    *in_group = wnn_min(WNN_STRIP_GROUP, strip_count(strips) - first);
    return first * (strips->k / strips->block) * block_bytes(block);
}

const unsigned char *wnn_strip_group(const struct strips *strips, size_t strip, size_t *in_group)
{
    struct strip_block block = wnn_strip_block(strips);
    return strips->packed + group_of(strips, &block, strip, in_group);
}

struct strip_column wnn_strip_column(const struct strips *strips, unsigned char *packed, size_t column,
                                     size_t index)
{
    struct strip_block block = wnn_strip_block(strips);
    size_t strip = column / WNN_STRIP, lane = column % WNN_STRIP, in_group;
    unsigned char *to = packed + group_of(strips, &block, strip, &in_group);
    size_t place = strip % WNN_STRIP_GROUP;
    to += index * in_group * block_bytes(&block);
    return (struct strip_column){to + place * block.scales + lane * (block.scales / WNN_STRIP),
                                 to + in_group * block.scales + place * block.zeros + lane,
                                 to + in_group * (block.scales + block.zeros) + place * WNN_STRIP_UNIT +
                                     lane * (strips->nibbles ? 4 : 1),
                                 in_group * WNN_STRIP_UNIT};
}

// ---------------------------------------------------------------------------------------------------------------
// Rows
// ---------------------------------------------------------------------------------------------------------------

// Term t of 8 is multiplied with its integer where it lies in the word, 2^(4 t) times as large; the last one
// is moved down, since it would be negative.
static const float places[8] = {1, 0x1p-4f, 0x1p-8f, 0x1p-12f, 0x1p-16f, 0x1p-20f, 0x1p-24f, 1};

static bool is_extreme(const float *values, size_t count)
{
    float largest = 0;
    bool is_nan = false;
    for (size_t i = 0; i < count; i++) {
        float size = fabsf(values[i]);
        largest = size > largest ? size : largest;
        is_nan |= size != size;
    }
    return is_nan || (largest != 0 && !(largest >= WNN_STRIP_LEAST && largest <= WNN_STRIP_MOST));
}

static void prepare_block(const struct strips *strips, size_t terms, const float *from, float *x, float *sum)
{
    float lanes[8] = {0};
    size_t whole = strips->block / 8 * 8;
    for (size_t i = 0; i < whole; i += 8)
        for (size_t t = 0; t < 8; t++)
            lanes[t] += from[i + t];
    for (size_t i = whole; i < strips->block; i++)
        lanes[0] += from[i];
    *sum = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    memcpy(x, from, strips->block * sizeof *x);
    memset(x + strips->block, 0, (terms - strips->block) * sizeof *x);
    for (size_t i = 0; strips->nibbles && i < terms; i += 8)
        for (size_t t = 0; t < 8; t++)
            x[i + t] *= places[t];
}

void wnn_strip_prepare(const struct strips *strips, const float *rows, struct strip_rows *to)
{
    size_t blocks = strips->k / strips->block, terms = wnn_strip_block(strips).terms;
    to->extreme = is_extreme(rows, to->m * strips->k);
    for (size_t i = 0; i < to->m * blocks; i++)
        prepare_block(strips, terms, rows + i * strips->block, to->x + i * terms, &to->sums[i]);
}

// ---------------------------------------------------------------------------------------------------------------
// Loops
// ---------------------------------------------------------------------------------------------------------------

// As many bytes with a sign as there are lanes. Compilers would take them one by one.
WNN_INLINE ints_any octets_any(const unsigned char *from)
{
#if defined(__aarch64__)
    int32_t bytes;
    memcpy(&bytes, from, sizeof bytes);
    return (ints_any)vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(bytes)))));
#elif WNN_X86_64
    int32_t bytes;
    memcpy(&bytes, from, sizeof bytes);
    __m128i wide = _mm_cvtsi32_si128(bytes);
    wide = _mm_unpacklo_epi8(wide, wide);
    return (ints_any)_mm_srai_epi32(_mm_unpacklo_epi16(wide, wide), 24);
#else
    return (ints_any){(int8_t)from[0], (int8_t)from[1], (int8_t)from[2], (int8_t)from[3]};
#endif
}

#if WNN_X86_64
WNN_INLINE WNN_TARGET_AVX2 ints_avx2 octets_avx2(const unsigned char *from)
{
    return (ints_avx2)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from));
}

WNN_INLINE WNN_TARGET_AVX512 ints_avx512 octets_avx512(const unsigned char *from)
{
    return (ints_avx512)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
}
#endif

#define LOOPS "cpu/matmul/strips.inc"
#include "cpu/simd/each_isa.inc"

static struct strip_part part_of(const struct strips *strips, size_t strip)
{
    struct strip_part part = {.strips = strips, .block = wnn_strip_block(strips)};
    part.group = strips->packed + group_of(strips, &part.block, strip, &part.in_group);
    part.first = strip % WNN_STRIP_GROUP;
    part.blocks = strips->k / strips->block;
    part.terms = part.blocks * part.block.terms;
    return part;
}

void wnn_strips_multiply(const struct strips *strips, const struct strip_rows *rows, size_t strip,
                         size_t count, size_t begin, size_t end, float *totals)
{
    const struct strip_loops *all = WNN_BEST_ISA(&strip_loops);
    const struct loops_of_kind *loops = strips->nibbles ? &all->nibbles : &all->octets;
    struct strip_part part = part_of(strips, strip);
    size_t first = part.first, stride = WNN_STRIP_GROUP * WNN_STRIP;
    part.begin = begin;
    part.end = end;
    for (size_t row = 0, step; row < rows->m; row += step) {
        unsigned kind = rows->m - row >= 8 ? 3 : rows->m - row >= 4 ? 2 : rows->m - row >= 2 ? 1 : 0;
        step = (size_t)1 << kind;
        part.x = rows->x + row * part.terms;
        part.sums = rows->sums + row * part.blocks;
        for (size_t i = 0, some; i < count; i += some) {
            bool several = count - i >= loops->most[kind];
            some = several ? loops->most[kind] : 1;
            part.first = first + i;
            (several ? loops->several : loops->single)[kind](&part, totals + row * stride + i * WNN_STRIP);
        }
    }
}

void wnn_strips_panel(const struct strips *strips, size_t k, size_t length, size_t column, unsigned width,
                      float *to)
{
    const struct strip_loops *loops = WNN_BEST_ISA(&strip_loops);
    unsigned lanes = wnn_float_kernels()->lanes;
    for (unsigned i = 0; i < width; i += lanes) {
        if (column + i >= wnn_round_up(strips->n, WNN_STRIP)) {
            for (size_t t = 0; t < length; t++)
                memset(to + t * width + i, 0, lanes * sizeof *to);
            continue;
        }
        struct strip_part part = part_of(strips, (column + i) / WNN_STRIP);
        loops->panel(&part, k, length, (column + i) % WNN_STRIP, width, to + i);
    }
}
