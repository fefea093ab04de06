// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/strips_int8.h"

#include "cpu/matmul/int8_tiles.h"
#include "cpu/simd/lanes.h"

#include <math.h>

#define MAX_VECTORS 4 // of the strips that are met at once

#define MIN_TILE_ROWS 8 // are worth tiles of the processor
#define MIN_DOT_ROWS  2 // sums of four products: one row is limited by how fast its weights are read,
#define MIN_PAIR_ROWS 8 // or sums of two

// What one call of a loop is about: strips of one group, from one on, and rows of one tile.
struct strip_int8_part {
    const struct strips *strips;
    struct strip_block block;
    const unsigned char *group;
    size_t in_group, first; // strips
    size_t blocks;
    const int8_t *x;
    const float *scales;
    const int32_t *starts;
};

typedef void (*strip_int8_loop)(const struct strip_int8_part *part, float *totals);

struct strip_int8_kernels {
    unsigned tile;                      // rows that lie together
    int middle;                         // what is added to integers of 8 bits before they are multiplied
    unsigned height;                    // rows at once, at most
    unsigned strips;                    // at once, at most 2
    strip_int8_loop single[4], pair[4]; // of 1, 2, 4 and 8 rows

    // Rows of four bytes each: how many at once, and for 1 and 2 of them, one strip, and all of a group.
    unsigned fixed_rows;
    bool fixed_octets; // or only nibbles
    strip_int8_loop fixed[WNN_STRIP_FIXED_ROWS], fixed_group[WNN_STRIP_FIXED_ROWS];

    // (instead) All rows from the first of a tile on, and some strips; runs lie as rows of tiles then.
    void (*multiply)(struct tile_file *file, struct strip_int8_part *part, unsigned height, size_t count,
                     float *totals);
    enum tiles tiles;
};

// ---------------------------------------------------------------------------------------------------------------
// Loops
// ---------------------------------------------------------------------------------------------------------------

// Without instructions for sums of four products, two bytes make a 16-bit sum, which is not to saturate:
// nibbles are summed so over a run, octets are made positive, and rows take their sign.
_Static_assert(WNN_STRIP_RUN / 2 * 15 * 127 <= INT16_MAX, "a run of nibbles fits in 16 bits");

#if WNN_X86_64
typedef uint32_t words_avx2 __attribute__((vector_size(32)));
typedef uint32_t words_avx512 __attribute__((vector_size(64)));

#define AVX512_VNNI __attribute__((target(WNN_AVX512_FEATURES ",avx512vnni")))
#define AVX_VNNI    __attribute__((target(WNN_AVX2_FEATURES ",avxvnni")))

WNN_INLINE AVX512_VNNI words_avx512 dot_avx512(words_avx512 sum, words_avx512 a, words_avx512 b)
{
    return (words_avx512)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)a, (__m512i)b);
}

WNN_INLINE AVX512_VNNI words_avx512 turn_octets_avx512(const unsigned char *from)
{
    const __m512i columns = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i bytes =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
    __m512i terms = _mm512_permutexvar_epi32(columns, _mm512_loadu_si512(from));
    return (words_avx512)_mm512_shuffle_epi8(terms, bytes);
}

WNN_INLINE AVX512_VNNI void octets_avx512(const unsigned char *from, words_avx512 *to)
{
    *to = turn_octets_avx512(from) ^ UINT32_C(0x80808080);
}

#define NAME(x)                x##_avx512
#define OWN(x)                 avx512_vnni_##x
#define ISA                    512
#define TARGET                 AVX512_VNNI
#define MIDDLE                 128
#define HEIGHT                 8
#define STRIPS                 2
#define FIXED                  2
#define DOT_NIBBLES(sum, a, b) dot_avx512(sum, a, b)
#define DOT_OCTETS(sum, a, b)  dot_avx512(sum, a, b)
#define FINISH_NIBBLES(sum)    (sum)
#define OCTETS                 octets_avx512
#include "cpu/matmul/strips_int8.inc"

// Scales and zero points of a block of a strip. Nibbles less their zero points are bytes; octets are not, and
// the zero points are numbers of 16 bits that have 0 beside them, since what they are multiplied with, the
// sum of a run, has no more bits.
struct tile_steps {
    vector_avx512 scale;
    __m512i zero;
};

_Static_assert(WNN_STRIP_RUN * 127 <= INT16_MAX, "the sum of a run fits in 16 bits");

WNN_INLINE AVX512_VNNI struct tile_steps load_tile_steps(const struct strip_int8_part *part,
                                                         const unsigned char *block, const bool nibbles)
{
    const unsigned char *scales = block + part->first * part->block.scales;
    const unsigned char *zeros =
        block + part->in_group * part->block.scales + part->first * part->block.zeros;
    struct tile_steps steps = {.zero = nibbles ? _mm512_set1_epi8(8) : _mm512_setzero_si512()};
#define NAME(x) x##_avx512
    steps.scale = WNN_LOAD_SCALES(NAME, part->strips, scales);
#undef NAME
    if (part->strips->zeros) {
        __m512i zero = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)zeros));
        steps.zero = nibbles ? _mm512_mullo_epi32(zero, _mm512_set1_epi32(0x01010101))
                             : _mm512_and_si512(zero, _mm512_set1_epi32(UINT16_MAX));
    }
    return steps;
}

// What tiles read of a strip.
struct tile_run {
    words_avx512 words[WNN_STRIP_RUN / 4];
    struct tile_steps steps;
};

enum {
    TILE_STRIP_RUNS = 8 // that are unpacked together, and stay in the first cache
};

#define OWN(x)  emulated_##x
#define TILE(x) EMULATED_##x
#define TILES   WNN_TILES_EMULATED
#define TARGET  AVX512_VNNI
#include "cpu/matmul/strips_int8_tiles.inc"

#define OWN(x)  amx_##x
#define TILE(x) AMX_##x
#define TILES   WNN_TILES_AMX
#define TARGET  __attribute__((target(WNN_AVX512_FEATURES ",avx512vnni," WNN_AMX_FEATURES)))
#include "cpu/matmul/strips_int8_tiles.inc"

WNN_INLINE AVX_VNNI words_avx2 dot_avx_vnni(words_avx2 sum, words_avx2 a, words_avx2 b)
{
    return (words_avx2)_mm256_dpbusd_avx_epi32((__m256i)sum, (__m256i)a, (__m256i)b);
}

// Bytes of 16 columns for each of four terms.
WNN_INLINE WNN_TARGET_AVX2 void octets_avx2(const unsigned char *from, words_avx2 *to)
{
    __m128i term[4], pair[4];
    for (int i = 0; i < 4; i++)
        term[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + 16 * i));
    for (int i = 0; i < 2; i++) {
        pair[2 * i] = _mm_unpacklo_epi8(term[2 * i], term[2 * i + 1]);
        pair[2 * i + 1] = _mm_unpackhi_epi8(term[2 * i], term[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++)
        to[i] = (words_avx2)_mm256_set_m128i(_mm_unpackhi_epi16(pair[i], pair[i + 2]),
                                             _mm_unpacklo_epi16(pair[i], pair[i + 2]));
}

WNN_INLINE WNN_TARGET_AVX2 void unsigned_octets_avx2(const unsigned char *from, words_avx2 *to)
{
    octets_avx2(from, to);
    for (int i = 0; i < 2; i++)
        to[i] ^= UINT32_C(0x80808080);
}

#define NAME(x)                x##_avx2
#define OWN(x)                 avx_vnni_##x
#define ISA                    256
#define TARGET                 AVX_VNNI
#define MIDDLE                 128
#define HEIGHT                 4
#define STRIPS                 1
#define FIXED                  1
#define DOT_NIBBLES(sum, a, b) dot_avx_vnni(sum, a, b)
#define DOT_OCTETS(sum, a, b)  dot_avx_vnni(sum, a, b)
#define FINISH_NIBBLES(sum)    (sum)
#define OCTETS                 unsigned_octets_avx2
#include "cpu/matmul/strips_int8.inc"

WNN_INLINE WNN_TARGET_AVX2 words_avx2 dot_nibbles_avx2(words_avx2 sum, words_avx2 a, words_avx2 b)
{
    return (words_avx2)_mm256_add_epi16((__m256i)sum, _mm256_maddubs_epi16((__m256i)a, (__m256i)b));
}

WNN_INLINE WNN_TARGET_AVX2 words_avx2 finish_nibbles_avx2(words_avx2 sum)
{
    return (words_avx2)_mm256_madd_epi16((__m256i)sum, _mm256_set1_epi16(1));
}

WNN_INLINE WNN_TARGET_AVX2 words_avx2 dot_octets_avx2(words_avx2 sum, words_avx2 a, words_avx2 b)
{
    __m256i size = _mm256_abs_epi8((__m256i)a), right = _mm256_sign_epi8((__m256i)b, (__m256i)a);
    return sum + finish_nibbles_avx2((words_avx2)_mm256_maddubs_epi16(size, right));
}

#define NAME(x)        x##_avx2
#define OWN(x)         avx2_##x
#define ISA            256
#define TARGET         WNN_TARGET_AVX2
#define MIDDLE         0
#define HEIGHT         4
#define STRIPS         1
#define FIXED          0
#define DOT_NIBBLES    dot_nibbles_avx2
#define DOT_OCTETS     dot_octets_avx2
#define FINISH_NIBBLES finish_nibbles_avx2
#define OCTETS         octets_avx2
#include "cpu/matmul/strips_int8.inc"

#elif defined(__aarch64__) && !defined(WNN_PLAIN)
typedef uint32_t words_any __attribute__((vector_size(16)));

#ifdef __clang__
#define DOT_PRODUCT __attribute__((target("dotprod")))
#else
#define DOT_PRODUCT __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

WNN_INLINE DOT_PRODUCT words_any dot_neon(words_any sum, words_any a, words_any b)
{
    return (words_any)vdotq_s32((int32x4_t)sum, (int8x16_t)a, (int8x16_t)b);
}

WNN_INLINE DOT_PRODUCT void octets_neon(const unsigned char *from, words_any *to)
{
    uint8x16_t term[4], pair[4];
    for (int i = 0; i < 4; i++)
        term[i] = vld1q_u8(from + 16 * i);
    for (int i = 0; i < 2; i++) {
        pair[2 * i] = vzip1q_u8(term[2 * i], term[2 * i + 1]);
        pair[2 * i + 1] = vzip2q_u8(term[2 * i], term[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        uint16x8_t low = vreinterpretq_u16_u8(pair[i]), high = vreinterpretq_u16_u8(pair[i + 2]);
        to[2 * i] = (words_any)vzip1q_u16(low, high);
        to[2 * i + 1] = (words_any)vzip2q_u16(low, high);
    }
}

#define NAME(x)             x##_any
#define OWN(x)              neon_##x
#define ISA                 128
#define TARGET              DOT_PRODUCT
#define MIDDLE              0
#define HEIGHT              4
#define STRIPS              1
#define FIXED               1
#define DOT_NIBBLES         dot_neon
#define DOT_OCTETS          dot_neon
#define FINISH_NIBBLES(sum) (sum)
#define OCTETS              octets_neon
#include "cpu/matmul/strips_int8.inc"
#endif

const struct strip_int8_kernels *wnn_strip_int8_kernels(const struct cpu_target *target)
{
#if WNN_X86_64
    if (target->avx512_vnni)
        return &avx512_vnni_kernels;
    if (target->avx_vnni)
        return &avx_vnni_kernels;
    if (target->isa >= WNN_ISA_AVX2)
        return &avx2_kernels;
#elif defined(__aarch64__) && !defined(WNN_PLAIN)
    if (target->dot_product)
        return &neon_kernels;
#endif
    (void)target;
    return NULL;
}

bool wnn_strip_int8_is_faster(const struct strip_int8_kernels *kernels, size_t m)
{
#if WNN_X86_64
    if (kernels == &avx2_kernels)
        return m >= MIN_PAIR_ROWS;
#endif
    return kernels && m >= MIN_DOT_ROWS;
}

// Runs that are mostly of fewer terms would leave tiles empty.
static bool fill_tiles(const struct strips *strips)
{
    size_t terms = wnn_strip_block(strips).terms;
    return wnn_round_up(terms, WNN_STRIP_RUN) * 3 <= terms * 4;
}

const struct strip_int8_kernels *wnn_strip_int8_on_tiles(const struct strip_int8_kernels *kernels,
                                                         const struct strips *strips, size_t m)
{
#if WNN_X86_64
    enum tiles tiles = WNN_TILES_NONE;
    if (kernels == &avx512_vnni_kernels && m >= MIN_TILE_ROWS && fill_tiles(strips))
        tiles = wnn_tiles();
    return tiles == WNN_TILES_AMX ? &amx_kernels : tiles == WNN_TILES_EMULATED ? &emulated_kernels : kernels;
#else
    (void)strips;
    (void)m;
    return kernels;
#endif
}

unsigned wnn_strip_int8_tile(const struct strip_int8_kernels *kernels)
{
    return kernels->tile;
}

static const unsigned char *group_of(const struct strips *strips, size_t strip, struct strip_int8_part *part)
{
    part->first = strip % WNN_STRIP_GROUP;
    return wnn_strip_group(strips, strip, &part->in_group);
}

static void multiply_on_tiles(const struct strip_int8_kernels *kernels, struct tile_file *file,
                              struct strip_int8_part *part, unsigned height, size_t count, float *totals)
{
    wnn_int8_tile_loops(kernels->tiles)
        ->configure_alike(file, wnn_min(height, WNN_TILE_ROWS), WNN_STRIP_RUN / 4);
    kernels->multiply(file, part, height, count, totals);
}

// Rows of one tile from `row` on.
static void multiply_on_vectors(const struct strip_int8_kernels *kernels, struct strip_int8_part *part,
                                const struct strip_int8_rows *rows, size_t row, unsigned height, size_t count,
                                float *totals)
{
    const size_t runs = wnn_strip_runs(part->strips), words = wnn_strip_words(part->strips);
    const size_t first = part->first, stride = WNN_STRIP_GROUP * WNN_STRIP, tile = row / WNN_STRIP_TILE;
    for (unsigned done = 0, step; done < height; done += step) {
        unsigned left = wnn_min(height - done, kernels->height);
        unsigned kind = left >= 8 ? 3 : left >= 4 ? 2 : left >= 2 ? 1 : 0;
        step = 1u << kind;
        part->x = rows->x + (tile * words * WNN_STRIP_TILE + done) * 4;
        part->scales = rows->scales + tile * runs * WNN_STRIP_TILE + done;
        part->starts = rows->starts + tile * runs * WNN_STRIP_TILE + done;
        for (size_t i = 0, some; i < count; i += some) {
            some = wnn_min(kernels->strips, count - i);
            part->first = first + i;
            (some == 2 ? kernels->pair : kernels->single)[kind](part, totals + done * stride + i * WNN_STRIP);
        }
    }
    part->first = first;
}

void wnn_strip_int8_multiply(const struct strip_int8_kernels *kernels, struct tile_file *file,
                             const struct strips *strips, const struct strip_int8_rows *rows, size_t row,
                             unsigned height, size_t strip, size_t count, float *totals)
{
    const size_t stride = WNN_STRIP_GROUP * WNN_STRIP, first_run = row * wnn_strip_runs(strips);
    struct strip_int8_part part = {.strips = strips,
                                   .block = wnn_strip_block(strips),
                                   .blocks = strips->k / strips->block,
                                   .x = rows->x + first_run * WNN_STRIP_RUN,
                                   .scales = rows->scales + first_run,
                                   .starts = rows->starts + first_run};
    part.group = group_of(strips, strip, &part);
    memset(totals, 0, wnn_round_up(height, kernels->tile) * stride * sizeof *totals);
    if (kernels->multiply) {
        multiply_on_tiles(kernels, file, &part, height, count, totals);
        return;
    }
    for (unsigned done = 0; done < height; done += kernels->tile)
        multiply_on_vectors(kernels, &part, rows, row + done, wnn_min(height - done, kernels->tile), count,
                            totals + done * stride);
}

unsigned wnn_strip_fixed_most(const struct strip_int8_kernels *kernels, const struct strips *strips)
{
    return kernels && (strips->nibbles || kernels->fixed_octets) ? kernels->fixed_rows : 0;
}

void wnn_strip_fixed_multiply(const struct strip_int8_kernels *kernels, const struct strips *strips,
                              const struct strip_fixed_rows *rows, size_t strip, size_t count, size_t begin,
                              size_t end, float *totals)
{
    const size_t blocks = strips->k / strips->block, kind = rows->m - 1;
    const size_t words = wnn_strip_words(strips) / blocks, runs = wnn_strip_runs(strips) / blocks;
    struct strip_int8_part part = {.strips = strips, .block = wnn_strip_block(strips), .blocks = end - begin};
    part.group = group_of(strips, strip, &part);
    part.group += begin * part.in_group * (part.block.scales + part.block.zeros + part.block.integers);
    part.x = rows->x + begin * words * WNN_STRIP_FIXED_WORD;
    part.scales = rows->units + begin * runs * WNN_STRIP_FIXED_ROWS;
    part.starts = rows->sums + begin * runs * WNN_STRIP_FIXED_ROWS * 2;
    for (size_t i = 0, some; i < count; i += some, part.first += some) {
        some = count == WNN_STRIP_GROUP ? count : 1;
        (some > 1 ? kernels->fixed_group : kernels->fixed)[kind](&part, totals + i * WNN_STRIP);
    }
}

void wnn_strip_int8_end(const struct strip_int8_kernels *kernels, struct tile_file *file)
{
    if (kernels->tiles != WNN_TILES_NONE)
        wnn_int8_tile_loops(kernels->tiles)->release(file);
}

// ---------------------------------------------------------------------------------------------------------------
// Rows
// ---------------------------------------------------------------------------------------------------------------

size_t wnn_strip_int8_row_bytes(const struct strips *strips)
{
    return fill_tiles(strips) ? wnn_strip_runs(strips) * WNN_STRIP_RUN : wnn_strip_terms(strips);
}

struct preparation {
    const struct strips *strips;
    int middle;
    unsigned tile;
    bool whole_runs; // as rows of tiles
    const float *rows;
    size_t m, terms, words, runs; // of a row
    size_t block_terms;
    const struct strip_int8_rows *to;
};

// A number from -2^22 to 2^22 that is added to this is rounded to even, and stands in the lowest bits.
#define ROUNDS 0x1.8p23f

// Rounds `count` numbers, returns their sum, modulo 2^32 of what is extreme, and whether that is so by
// *extreme.
WNN_INLINE uint32_t round_run(const float *from, size_t count, int8_t to[WNN_STRIP_RUN], float *scale,
                              bool *extreme)
{
    float rest[WNN_STRIP_RUN], largest, inverse;
    int32_t most, zero;
    uint32_t sum = 0;
    if (count < WNN_STRIP_RUN) {
        memset(rest, 0, sizeof rest);
        memcpy(rest, from, count * sizeof *rest);
        from = rest;
    }
    most = wnn_strip_largest(from);
    memcpy(&largest, &most, sizeof largest);
    *extreme |= most != 0 && !(largest >= WNN_STRIP_LEAST && largest <= WNN_STRIP_MOST);
    *scale = largest * (1 / 127.0f);
    inverse = most != 0 ? 127 / largest : 0;
    memcpy(&zero, &(float){ROUNDS}, sizeof zero);
    for (unsigned i = 0; i < WNN_STRIP_RUN; i++) {
        float moved = from[i] * inverse + ROUNDS;
        int32_t bits;
        memcpy(&bits, &moved, sizeof bits);
        bits -= zero;
        sum += (uint32_t)bits;
        to[i] = (int8_t)bits;
    }
    return sum;
}

typedef int8_t half_run __attribute__((vector_size(WNN_STRIP_RUN / 2)));

// Two words are of eight terms: those with an even number, and the others.
WNN_INLINE void part_terms(int8_t values[WNN_STRIP_RUN])
{
    for (unsigned i = 0; i < 2; i++) {
        half_run half;
        memcpy(&half, values + i * sizeof half, sizeof half);
        half = __builtin_shufflevector(half, half, 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
        memcpy(values + i * sizeof half, &half, sizeof half);
    }
}

// Bytes may be anything that pointers lead to, so that what the loops go by is theirs. Whether the row is
// extreme.
WNN_INLINE bool prepare_row(const struct preparation p, const bool nibbles, const bool whole_runs, size_t row)
{
    const size_t height = whole_runs ? WNN_TILE_ROWS : WNN_STRIP_TILE, tile = row / height,
                 lane = row % height;
    const size_t k = p.strips->k, block = p.strips->block, first = tile * p.runs * height + lane;
    const int32_t zero = p.strips->zeros ? 1 : nibbles ? 8 : p.middle;
    const float *from = p.rows + row * k;
    int8_t *x = p.to->x + (whole_runs ? first * WNN_STRIP_RUN : (tile * p.words * height + lane) * 4);
    int8_t values[WNN_STRIP_RUN];
    float *scale = p.to->scales + first;
    int32_t *start = p.to->starts + first;
    bool extreme = false;
    for (const float *end = from + k; from < end; from += block)
        for (size_t t = 0, terms; t < p.block_terms; t += terms) {
            terms = wnn_min(WNN_STRIP_RUN, p.block_terms - t);
            uint32_t sum = round_run(from + t, wnn_min(terms, block - t), values, scale, &extreme);
            *start = (int32_t)(0 - sum * (uint32_t)zero);
            scale += height;
            start += height;
            if (nibbles)
                part_terms(values);
            if (whole_runs) {
                memcpy(x, values, sizeof values);
                x += height * sizeof values;
                continue;
            }
            for (size_t i = 0; i < terms; i += 4, x += 4 * height)
                memcpy(x, values + i, 4);
        }
    return extreme;
}

// Rows of a tile that there are not.
static void clear_row(const struct preparation *p, size_t row)
{
    size_t first = row / p->tile * p->runs * p->tile + row % p->tile;
    for (size_t i = 0; i < p->runs; i++) {
        p->to->scales[first + i * p->tile] = 0;
        p->to->starts[first + i * p->tile] = 0;
    }
}

// Tiles [begin, end).
static void prepare_tiles(void *argument, size_t begin, size_t end)
{
    const struct preparation p = *(const struct preparation *)argument;
    for (size_t row = begin * p.tile; row < wnn_min(p.m, end * p.tile); row++) {
        bool *extreme = &p.to->extreme[row / p.tile], nibbles = p.strips->nibbles;
        bool is = p.whole_runs ? nibbles ? prepare_row(p, true, true, row) : prepare_row(p, false, true, row)
                  : nibbles ? prepare_row(p, true, false, row)
                               : prepare_row(p, false, false, row);
        *extreme = is || (row % p.tile != 0 && *extreme);
    }
    for (size_t row = p.m; row < end * p.tile && p.whole_runs; row++)
        clear_row(&p, row);
}
WNN_VARIANTS_256(prepare_tiles)

void wnn_strip_int8_prepare(const struct strip_int8_kernels *kernels, const struct strips *strips,
                            const float *rows, size_t m, size_t begin, size_t end,
                            const struct strip_int8_rows *to)
{
    struct preparation preparation = {.strips = strips,
                                      .middle = kernels->middle,
                                      .tile = kernels->tile,
                                      .whole_runs = kernels->multiply != NULL,
                                      .rows = rows,
                                      .m = m,
                                      .words = wnn_strip_words(strips),
                                      .runs = wnn_strip_runs(strips),
                                      .block_terms = wnn_strip_block(strips).terms,
                                      .to = to};
    WNN_BEST_ISA_256(prepare_tiles)(&preparation, begin, end);
}
