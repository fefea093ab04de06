// SPDX-License-Identifier: Apache-2.0
//
// The operators that only move elements. Nearly all of them are one strided copy: a loop nest with a byte
// stride in the source and in the destination for each dimension, which may be 0 (repetition) or negative
// (reversal). Data types count by their size only.
#include "cpu/kernel.h"
#include "cpu/runs.h"
#include "cpu/variants.h"

enum {
    MOVE_RANK = 2 * WNN_MAX_RANK
}; // tile has two loops a dimension

struct loop {
    size_t count;
    ptrdiff_t from, to; // bytes
};

struct copy {
    const char *from;
    char *to;
    size_t size; // bytes that are moved at a time
    unsigned rank;
    struct loop loops[MOVE_RANK]; // outer to inner
};

static struct copy begin_copy(const struct tensor *in, const struct tensor *out)
{
    return (struct copy){.from = in->data, .to = out->data, .size = wnn_dtype_bits(out->type) / 8};
}

// Strides in elements.
static void add_loop(struct copy *copy, size_t count, ptrdiff_t from, ptrdiff_t to)
{
    ptrdiff_t size = (ptrdiff_t)copy->size;
    copy->loops[copy->rank++] = (struct loop){count, from * size, to * size};
}

// ---------------------------------------------------------------------------------------------------------------
// Blocks that are transposed
// ---------------------------------------------------------------------------------------------------------------

enum {
    LINE = 64,  // bytes that are best read and written together
    VECTOR = 16 // bytes
};

typedef uint8_t vector1 __attribute__((vector_size(VECTOR)));
typedef uint16_t vector2 __attribute__((vector_size(VECTOR)));
typedef uint32_t vector4 __attribute__((vector_size(VECTOR)));
typedef uint64_t vector8 __attribute__((vector_size(VECTOR)));

#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#endif
#endif
#ifdef SHUFFLE
// The elements of the first and of the second halves of two vectors, in turn.
#define LOW_1(a, b)  SHUFFLE(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_1(a, b) SHUFFLE(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define LOW_2(a, b)  SHUFFLE(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define HIGH_2(a, b) SHUFFLE(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define LOW_4(a, b)  SHUFFLE(a, b, 0, 4, 1, 5)
#define HIGH_4(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define LOW_8(a, b)  SHUFFLE(a, b, 0, 2)
#define HIGH_8(a, b) SHUFFLE(a, b, 1, 3)

// After as many rounds as it takes to come from two to all vectors, they are transposed.
#define TRANSPOSE(size, rows)                                                                                \
    for (int width = 1; width < VECTOR / (size); width *= 2) {                                               \
        vector##size mixed[VECTOR / (size)];                                                                 \
        UNROLL                                                                                               \
        for (int i = 0; i < VECTOR / (size) / 2; i++) {                                                      \
            mixed[2 * i] = LOW_##size(rows[i], rows[i + VECTOR / (size) / 2]);                               \
            mixed[2 * i + 1] = HIGH_##size(rows[i], rows[i + VECTOR / (size) / 2]);                          \
        }                                                                                                    \
        UNROLL                                                                                               \
        for (int i = 0; i < VECTOR / (size); i++)                                                            \
            rows[i] = mixed[i];                                                                              \
    }
#else
#define TRANSPOSE(size, rows)                                                                                \
    for (int i = 0; i < VECTOR / (size); i++) {                                                              \
        for (int j = 0; j < i; j++) {                                                                        \
            uint##size##_type value = rows[i][j];                                                            \
            rows[i][j] = rows[j][i];                                                                         \
            rows[j][i] = value;                                                                              \
        }                                                                                                    \
    }
typedef uint8_t uint1_type;
typedef uint16_t uint2_type;
typedef uint32_t uint4_type;
typedef uint64_t uint8_type;
#endif
#ifdef __clang__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

// LINE bytes of as many rows as a line has elements, with from_stride and to_stride bytes between them. What
// goes to a line is put together first: lines that are far from one another leave no room for each other in
// caches.
#define DEFINE_TRANSPOSE(size)                                                                               \
    static void transpose_##size(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride)     \
    {                                                                                                        \
        enum {                                                                                               \
            SIDE = VECTOR / (size)                                                                           \
        };                                                                                                   \
        for (ptrdiff_t column = 0; column < LINE; column += VECTOR, to += SIDE * to_stride) {                \
            char lines[SIDE * LINE];                                                                         \
            for (ptrdiff_t row = 0; row < LINE / (size); row += SIDE) {                                      \
                vector##size rows[SIDE];                                                                     \
                const char *x = from + row * from_stride + column;                                           \
                UNROLL                                                                                       \
                for (int i = 0; i < SIDE; i++)                                                               \
                    memcpy(&rows[i], x + i * from_stride, VECTOR);                                           \
                TRANSPOSE(size, rows)                                                                        \
                UNROLL                                                                                       \
                for (int i = 0; i < SIDE; i++)                                                               \
                    memcpy(lines + row * (size) + i * LINE, &rows[i], VECTOR);                               \
            }                                                                                                \
            for (int i = 0; i < SIDE; i++)                                                                   \
                memcpy(to + i * to_stride, lines + i * LINE, LINE);                                          \
        }                                                                                                    \
    }
DEFINE_TRANSPOSE(1)
DEFINE_TRANSPOSE(2)
DEFINE_TRANSPOSE(4)
DEFINE_TRANSPOSE(8)

typedef void (*transpose_block)(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride);

#if defined(__x86_64__)
#include <immintrin.h>

// The same for twice as many rows at a time, the second half of them in the upper halves of vectors.
#define LOW_AVX2(size, a, b)                                                                                 \
    ((size) == 1   ? _mm256_unpacklo_epi8(a, b)                                                              \
     : (size) == 2 ? _mm256_unpacklo_epi16(a, b)                                                             \
     : (size) == 4 ? _mm256_unpacklo_epi32(a, b)                                                             \
                   : _mm256_unpacklo_epi64(a, b))
#define HIGH_AVX2(size, a, b)                                                                                \
    ((size) == 1   ? _mm256_unpackhi_epi8(a, b)                                                              \
     : (size) == 2 ? _mm256_unpackhi_epi16(a, b)                                                             \
     : (size) == 4 ? _mm256_unpackhi_epi32(a, b)                                                             \
                   : _mm256_unpackhi_epi64(a, b))
#define LOAD_HALF(from) _mm_loadu_si128((const __m128i *)(const void *)(from))
#define DEFINE_TRANSPOSE_AVX2(size)                                                                          \
    WNN_AVX2 static void transpose_##size##_avx2(const char *from, ptrdiff_t from_stride, char *to,          \
                                                 ptrdiff_t to_stride)                                        \
    {                                                                                                        \
        enum {                                                                                               \
            SIDE = VECTOR / (size)                                                                           \
        };                                                                                                   \
        for (ptrdiff_t column = 0; column < LINE; column += VECTOR, to += SIDE * to_stride) {                \
            __m256i lines[SIDE][2];                                                                          \
            for (int half = 0; half < 2; half++) {                                                           \
                const char *x = from + half * 2 * SIDE * from_stride + column;                               \
                __m256i rows[SIDE], mixed[SIDE];                                                             \
                UNROLL                                                                                       \
                for (int i = 0; i < SIDE; i++)                                                               \
                    rows[i] =                                                                                \
                        _mm256_inserti128_si256(_mm256_castsi128_si256(LOAD_HALF(x + i * from_stride)),      \
                                                LOAD_HALF(x + (SIDE + i) * from_stride), 1);                 \
                UNROLL                                                                                       \
                for (int width = 1; width < SIDE; width *= 2) {                                              \
                    UNROLL                                                                                   \
                    for (int i = 0; i < SIDE / 2; i++) {                                                     \
                        mixed[2 * i] = LOW_AVX2(size, rows[i], rows[i + SIDE / 2]);                          \
                        mixed[2 * i + 1] = HIGH_AVX2(size, rows[i], rows[i + SIDE / 2]);                     \
                    }                                                                                        \
                    UNROLL                                                                                   \
                    for (int i = 0; i < SIDE; i++)                                                           \
                        rows[i] = mixed[i];                                                                  \
                }                                                                                            \
                UNROLL                                                                                       \
                for (int i = 0; i < SIDE; i++)                                                               \
                    lines[i][half] = rows[i];                                                                \
            }                                                                                                \
            char *y = to;                                                                                    \
            for (int i = 0; i < SIDE; i++, y += to_stride) {                                                 \
                _mm256_storeu_si256((__m256i *)(void *)y, lines[i][0]);                                      \
                _mm256_storeu_si256((__m256i *)(void *)(y + LINE / 2), lines[i][1]);                         \
            }                                                                                                \
        }                                                                                                    \
    }
DEFINE_TRANSPOSE_AVX2(1)
DEFINE_TRANSPOSE_AVX2(2)
DEFINE_TRANSPOSE_AVX2(4)
DEFINE_TRANSPOSE_AVX2(8)
#endif

static transpose_block find_transpose(unsigned log)
{
    static const transpose_block any[] = {transpose_1, transpose_2, transpose_4, transpose_8};
#if defined(__x86_64__)
    static const transpose_block avx2[] = {transpose_1_avx2, transpose_2_avx2, transpose_4_avx2,
                                           transpose_8_avx2};
    if (__builtin_cpu_supports("avx2"))
        return avx2[log];
#endif
    return any[log];
}

// Rows are side by side in the source, and columns in the destination.
static void transpose(const char *from, char *to, size_t size, struct loop rows, struct loop columns)
{
    transpose_block block = find_transpose((unsigned)__builtin_ctz((unsigned)size));
    size_t side = LINE / size;
    bool far = rows.count * (size_t)rows.to > 262144; // lines of the destination are not in a cache
    for (size_t c = 0; c < columns.count; c += side) {
        size_t width = columns.count - c < side ? columns.count - c : side;
        for (size_t r = 0; r < rows.count; r += side) {
            size_t height = rows.count - r < side ? rows.count - r : side;
            const char *x = from + (ptrdiff_t)c * columns.from + r * size;
            char *y = to + (ptrdiff_t)r * rows.to + c * size;
            if (width == side && height == side) {
                for (ptrdiff_t i = 0; far && i < (ptrdiff_t)side && r + 2 * side <= rows.count; i++)
                    __builtin_prefetch(y + ((ptrdiff_t)side + i) * rows.to, 1);
                block(x, columns.from, y, rows.to);
                continue;
            }
            char in[LINE * LINE] = {0}, out[LINE * LINE];
            for (size_t i = 0; i < width; i++)
                memcpy(in + i * LINE, x + (ptrdiff_t)i * columns.from, height * size);
            block(in, LINE, out, LINE);
            for (size_t i = 0; i < height; i++)
                memcpy(y + (ptrdiff_t)i * rows.to, out + i * LINE, width * size);
        }
    }
}

// ---------------------------------------------------------------------------------------------------------------
// The inner two loops
// ---------------------------------------------------------------------------------------------------------------

struct word16 {
    uint64_t words[2];
};

enum {
    BLOCK = 16
};

// Elements of a constant size through memcpy: the addresses need not be aligned.
//   move   in blocks, because one of the two sides may jump from line to line
//   take   columns side by side from every step-th element, one behind the other if it is -1
//   weave  a few columns, side by side, from rows
#define MOVE(type, to, from)                                                                                 \
    do {                                                                                                     \
        type value_;                                                                                         \
        memcpy(&value_, (from), sizeof value_);                                                              \
        memcpy((to), &value_, sizeof value_);                                                                \
    } while (0)
#define DEFINE_COPY(size, type)                                                                              \
    static void move_##size(const char *from, char *to, struct loop rows, struct loop columns)               \
    {                                                                                                        \
        for (size_t r0 = 0; r0 < rows.count; r0 += BLOCK) {                                                  \
            size_t height = rows.count - r0 < BLOCK ? rows.count - r0 : BLOCK;                               \
            for (size_t c0 = 0; c0 < columns.count; c0 += BLOCK) {                                           \
                size_t width = columns.count - c0 < BLOCK ? columns.count - c0 : BLOCK;                      \
                const char *x = from + (ptrdiff_t)r0 * rows.from + (ptrdiff_t)c0 * columns.from;             \
                char *y = to + (ptrdiff_t)r0 * rows.to + (ptrdiff_t)c0 * columns.to;                         \
                for (size_t r = 0; r < height; r++) {                                                        \
                    for (size_t c = 0; c < width; c++)                                                       \
                        MOVE(type, y + (ptrdiff_t)r * rows.to + (ptrdiff_t)c * columns.to,                   \
                             x + (ptrdiff_t)r * rows.from + (ptrdiff_t)c * columns.from);                    \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
#define DEFINE_VECTOR_COPY(set, TARGET, size, type)                                                          \
    TARGET static void take_##size##_##set(const char *from, char *to, struct loop rows,                     \
                                           struct loop columns)                                              \
    {                                                                                                        \
        for (size_t r = 0; r < rows.count; r++) {                                                            \
            const type *restrict x = (const void *)(from + (ptrdiff_t)r * rows.from);                        \
            type *restrict y = (void *)(to + (ptrdiff_t)r * rows.to);                                        \
            switch (columns.from / size) {                                                                   \
            case -1:                                                                                         \
                for (ptrdiff_t c = 0; c < (ptrdiff_t)columns.count; c++)                                     \
                    y[c] = x[-c];                                                                            \
                break;                                                                                       \
            case 2:                                                                                          \
                for (size_t c = 0; c < columns.count; c++)                                                   \
                    y[c] = x[2 * c];                                                                         \
                break;                                                                                       \
            case 3:                                                                                          \
                for (size_t c = 0; c < columns.count; c++)                                                   \
                    y[c] = x[3 * c];                                                                         \
                break;                                                                                       \
            default:                                                                                         \
                for (size_t c = 0; c < columns.count; c++)                                                   \
                    y[c] = x[4 * c];                                                                         \
                break;                                                                                       \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    TARGET static void weave_##size##_##set(const char *from, char *to, struct loop rows,                    \
                                            struct loop columns)                                             \
    {                                                                                                        \
        size_t last = columns.count - 1;                                                                     \
        const type *restrict a = (const void *)from;                                                         \
        const type *restrict b = (const void *)(from + columns.from);                                        \
        const type *restrict c = (const void *)(from + (ptrdiff_t)(last < 2 ? last : 2) * columns.from);     \
        const type *restrict d = (const void *)(from + (ptrdiff_t)last * columns.from);                      \
        type *restrict y = (void *)to;                                                                       \
        if (last == 1) {                                                                                     \
            for (size_t r = 0; r < rows.count; r++) {                                                        \
                y[2 * r] = a[r];                                                                             \
                y[2 * r + 1] = b[r];                                                                         \
            }                                                                                                \
        } else if (last == 2) {                                                                              \
            for (size_t r = 0; r < rows.count; r++) {                                                        \
                y[3 * r] = a[r];                                                                             \
                y[3 * r + 1] = b[r];                                                                         \
                y[3 * r + 2] = c[r];                                                                         \
            }                                                                                                \
        } else {                                                                                             \
            for (size_t r = 0; r < rows.count; r++) {                                                        \
                y[4 * r] = a[r];                                                                             \
                y[4 * r + 1] = b[r];                                                                         \
                y[4 * r + 2] = c[r];                                                                         \
                y[4 * r + 3] = d[r];                                                                         \
            }                                                                                                \
        }                                                                                                    \
    }
#define DEFINE_SET(set, TARGET)                                                                              \
    DEFINE_VECTOR_COPY(set, TARGET, 1, bits8)                                                                \
    DEFINE_VECTOR_COPY(set, TARGET, 2, bits16)                                                               \
    DEFINE_VECTOR_COPY(set, TARGET, 4, bits32)

// Elements of any type, wherever they lie.
typedef uint8_t bits8;
typedef uint16_t __attribute__((may_alias, aligned(1))) bits16;
typedef uint32_t __attribute__((may_alias, aligned(1))) bits32;

DEFINE_COPY(1, uint8_t)
DEFINE_COPY(2, uint16_t)
DEFINE_COPY(4, uint32_t)
DEFINE_COPY(8, uint64_t)
DEFINE_COPY(16, struct word16)
DEFINE_SET(any, )
#if defined(__x86_64__)
DEFINE_SET(avx2, WNN_AVX2)
DEFINE_SET(avx512, WNN_AVX512)
#endif

// Repetitions of what `pattern` has as often as it has room for.
WNN_INLINE void fill_run(char *to, vector1 pattern, size_t size)
{
    if (size < VECTOR) {
        wnn_copy_run(to, (const char *)&pattern, size);
        return;
    }
    size_t i = 0;
    for (; i + 4 * VECTOR <= size; i += 4 * VECTOR) {
        for (size_t j = 0; j < 4; j++)
            memcpy(to + i + j * VECTOR, &pattern, VECTOR);
    }
    for (; i + VECTOR < size; i += VECTOR)
        memcpy(to + i, &pattern, VECTOR);
    memcpy(to + size - VECTOR, &pattern, VECTOR);
}

// Columns are repetitions. Short rows that follow one another are written with what comes behind them.
#define DEFINE_FILL(size, type)                                                                              \
    static void fill_##size(const char *from, char *to, struct loop rows, struct loop columns)               \
    {                                                                                                        \
        size_t bytes = columns.count * (size), r = 0;                                                        \
        bool close = bytes <= VECTOR && rows.to == (ptrdiff_t)bytes;                                         \
        for (; r < rows.count; r++) {                                                                        \
            type value;                                                                                      \
            memcpy(&value, from + (ptrdiff_t)r * rows.from, sizeof value);                                   \
            vector##size pattern = (vector##size){0} + value;                                                \
            if (close && (rows.count - r) * bytes >= VECTOR)                                                 \
                memcpy(to + r * bytes, &pattern, VECTOR);                                                    \
            else                                                                                             \
                fill_run(to + (ptrdiff_t)r * rows.to, (vector1)pattern, bytes);                              \
        }                                                                                                    \
    }
DEFINE_FILL(1, uint8_t)
DEFINE_FILL(2, uint16_t)
DEFINE_FILL(4, uint32_t)
DEFINE_FILL(8, uint64_t)

static void fill_16(const char *from, char *to, struct loop rows, struct loop columns)
{
    for (size_t r = 0; r < rows.count; r++) {
        vector1 pattern;
        memcpy(&pattern, from + (ptrdiff_t)r * rows.from, VECTOR);
        fill_run(to + (ptrdiff_t)r * rows.to, pattern, columns.count * VECTOR);
    }
}

typedef void (*copy_loop)(const char *from, char *to, struct loop rows, struct loop columns);

static copy_loop vector_copy(unsigned log, bool weave)
{
#define LOOPS(set)                                                                                           \
    {                                                                                                        \
        {take_1_##set, take_2_##set, take_4_##set},                                                          \
        {                                                                                                    \
            weave_1_##set, weave_2_##set, weave_4_##set                                                      \
        }                                                                                                    \
    }
    static const copy_loop any[2][3] = LOOPS(any);
#if defined(__x86_64__)
    static const copy_loop avx2[2][3] = LOOPS(avx2), avx512[2][3] = LOOPS(avx512);
    if (wnn_has_avx512())
        return avx512[weave][log];
    if (__builtin_cpu_supports("avx2"))
        return avx2[weave][log];
#endif
    return any[weave][log];
}

static void copy_runs(const char *from, char *to, size_t size, struct loop rows, struct loop columns)
{
    for (size_t r = 0; r < rows.count; r++) {
        for (size_t c = 0; c < columns.count; c++)
            wnn_copy_run(to + (ptrdiff_t)r * rows.to + (ptrdiff_t)c * columns.to,
                         from + (ptrdiff_t)r * rows.from + (ptrdiff_t)c * columns.from, size);
    }
}

static bool is_transposing(size_t size, struct loop rows, struct loop columns)
{
    return rows.from == (ptrdiff_t)size && columns.to == (ptrdiff_t)size && rows.count > 1 &&
           columns.count > 1;
}

static void copy_elements(const char *from, char *to, size_t size, struct loop rows, struct loop columns)
{
    static const copy_loop moves[] = {move_1, move_2, move_4, move_8, move_16};
    static const copy_loop fills[] = {fill_1, fill_2, fill_4, fill_8, fill_16};
    if ((size & (size - 1)) != 0 || size > 16) {
        copy_runs(from, to, size, rows, columns);
        return;
    }
    unsigned log = (unsigned)__builtin_ctz((unsigned)size);
    ptrdiff_t unit = (ptrdiff_t)size, step = columns.from / unit;
    bool dense = columns.to == unit, transposing = is_transposing(size, rows, columns) && log < 4;
    if (dense && columns.from == 0)
        fills[log](from, to, rows, columns);
    else if (transposing && columns.count <= 4 && rows.to == unit * (ptrdiff_t)columns.count && log < 3)
        vector_copy(log, true)(from, to, rows, columns);
    else if (dense && log < 3 && (step == -1 || (step >= 2 && step <= 4)) && columns.from == step * unit)
        vector_copy(log, false)(from, to, rows, columns);
    else if (transposing)
        transpose(from, to, size, rows, columns);
    else
        moves[log](from, to, rows, columns);
}

// ---------------------------------------------------------------------------------------------------------------
// The others
// ---------------------------------------------------------------------------------------------------------------

// How a prepared copy is cut: tiles of the inner two loops, for each combination of the outer ones.
struct tiles {
    const struct copy *copy;        // rank 2 or more
    size_t row_count, column_count; // of a tile
    size_t row_tiles, column_tiles;
};

static void copy_tiles(void *argument, size_t begin, size_t end)
{
    const struct tiles *tiles = argument;
    const struct copy *copy = tiles->copy;
    for (size_t tile = begin; tile < end; tile++) {
        struct loop rows = copy->loops[copy->rank - 2], columns = copy->loops[copy->rank - 1];
        size_t column = tile % tiles->column_tiles * tiles->column_count, rest = tile / tiles->column_tiles;
        size_t row = rest % tiles->row_tiles * tiles->row_count;
        rest /= tiles->row_tiles;
        ptrdiff_t from = (ptrdiff_t)row * rows.from + (ptrdiff_t)column * columns.from;
        ptrdiff_t to = (ptrdiff_t)row * rows.to + (ptrdiff_t)column * columns.to;
        for (unsigned d = copy->rank - 2; d-- > 0; rest /= copy->loops[d].count) {
            ptrdiff_t index = (ptrdiff_t)(rest % copy->loops[d].count);
            from += index * copy->loops[d].from;
            to += index * copy->loops[d].to;
        }
        rows.count = rows.count - row < tiles->row_count ? rows.count - row : tiles->row_count;
        columns.count =
            columns.count - column < tiles->column_count ? columns.count - column : tiles->column_count;
        copy_elements(copy->from + from, copy->to + to, copy->size, rows, columns);
    }
}

static size_t magnitude(ptrdiff_t stride)
{
    return (size_t)(stride < 0 ? -stride : stride);
}

// Fewer, longer loops, the inner two of which suit copy_elements. The order of the loops is free.
static void prepare_copy(struct copy *copy)
{
    unsigned rank = 0;
    for (unsigned d = 0; d < copy->rank; d++) {
        struct loop loop = copy->loops[d], *outer = rank ? &copy->loops[rank - 1] : NULL;
        if (loop.count == 1)
            continue;
        ptrdiff_t count = (ptrdiff_t)loop.count;
        if (outer && outer->from == loop.from * count && outer->to == loop.to * count)
            *outer = (struct loop){outer->count * loop.count, loop.from, loop.to};
        else
            copy->loops[rank++] = loop;
    }
    // A dense innermost loop becomes a larger element.
    if (rank && copy->loops[rank - 1].from == (ptrdiff_t)copy->size &&
        copy->loops[rank - 1].to == copy->loops[rank - 1].from)
        copy->size *= copy->loops[--rank].count;
    for (; rank < 2; rank++) {
        for (unsigned d = rank; d > 0; d--)
            copy->loops[d] = copy->loops[d - 1];
        copy->loops[0] = (struct loop){1, 0, 0};
    }
    // Columns are dense in the destination as far as possible, rows in the source.
    struct loop columns = copy->loops[rank - 1];
    if (columns.from != 0) {
        unsigned best = rank - 2;
        for (unsigned d = 0; d < rank - 1; d++) {
            const struct loop *loop = &copy->loops[d], *old = &copy->loops[best];
            if (old->count == 1 ||
                (loop->from != 0 && loop->count > 1 && magnitude(loop->from) < magnitude(old->from)))
                best = d;
        }
        if (magnitude(copy->loops[best].from) < magnitude(columns.from)) {
            struct loop rows = copy->loops[best];
            for (unsigned d = best; d + 2 < rank; d++)
                copy->loops[d] = copy->loops[d + 1];
            copy->loops[rank - 2] = rows;
        }
    }
    copy->rank = rank;
}

static void run_copy(struct copy *copy, const struct parallel *parallel)
{
    for (unsigned d = 0; d < copy->rank; d++) {
        if (copy->loops[d].count == 0)
            return;
    }
    prepare_copy(copy);
    // A copy that is one run is cut into several.
    enum {
        TILE = 32768
    };
    size_t tail = 0, rank = copy->rank;
    struct loop *rows = &copy->loops[rank - 2], *columns = &copy->loops[rank - 1];
    if (rank == 2 && rows->count * columns->count == 1 && copy->size > 2 * TILE) {
        tail = copy->size % TILE;
        *columns = (struct loop){copy->size / TILE, TILE, TILE};
        memcpy(copy->to + (copy->size - tail), copy->from + (copy->size - tail), tail);
        copy->size = TILE;
    }
    struct tiles tiles = {.copy = copy};
    size_t elements = copy->size < TILE ? TILE / copy->size : 1;
    if (columns->to == (ptrdiff_t)copy->size &&
        magnitude(rows->from) < magnitude(columns->from)) { // transposing
        tiles.row_count = columns->count <= 4 ? 2048 : copy->size < 8 ? 512 / copy->size : 64;
        tiles.column_count = rows->count <= 4 ? 2048 : 128;
    } else {
        tiles.column_count = columns->count < elements ? columns->count : elements;
        tiles.row_count = elements / tiles.column_count;
    }
    tiles.row_tiles = (rows->count + tiles.row_count - 1) / tiles.row_count;
    tiles.column_tiles = (columns->count + tiles.column_count - 1) / tiles.column_count;
    size_t units = tiles.row_tiles * tiles.column_tiles;
    for (unsigned d = 0; d + 2 < rank; d++)
        units *= copy->loops[d].count;
    size_t bytes = copy->size * (rows->count < tiles.row_count ? rows->count : tiles.row_count) *
                   (columns->count < tiles.column_count ? columns->count : tiles.column_count);
    wnn_parallel_for(parallel, units, 4 * TILE / bytes + 1, copy_tiles, &tiles);
}

// ---------------------------------------------------------------------------------------------------------------
// The operators
// ---------------------------------------------------------------------------------------------------------------

// Writes all of `out`, element [i] from element sum(i * strides) of the source.
static void gather_strided(const struct kernel_call *call, ptrdiff_t first,
                           const ptrdiff_t strides[WNN_MAX_RANK])
{
    const struct tensor *out = &call->out[0];
    struct copy copy = begin_copy(&call->in[0], out);
    size_t to[WNN_MAX_RANK];
    wnn_shape_strides(&out->shape, to);
    if (out->count == 0)
        return;
    copy.from += first * (ptrdiff_t)copy.size;
    for (unsigned d = 0; d < out->shape.rank; d++)
        add_loop(&copy, out->shape.dim[d], strides[d], (ptrdiff_t)to[d]);
    run_copy(&copy, call->parallel);
}

// Elements of one position of `axis`.
static size_t elements_after(const struct shape *shape, unsigned axis)
{
    size_t count = 1;
    for (unsigned d = axis + 1; d < shape->rank; d++)
        count *= shape->dim[d];
    return count;
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-concat
void wnn_cpu_concat(const struct kernel_call *call)
{
    const struct concat_attrs *attrs = call->node->attrs;
    const struct tensor *out = &call->out[0];
    size_t inner = elements_after(&out->shape, attrs->axis), line = inner * out->shape.dim[attrs->axis],
           at = 0;
    for (unsigned i = 0; i < call->node->in_count && out->count > 0; i++) {
        const struct tensor *in = &call->in[i];
        size_t run = inner * in->shape.dim[attrs->axis];
        struct copy copy = begin_copy(in, out);
        copy.to += at * copy.size;
        add_loop(&copy, out->count / line, (ptrdiff_t)run, (ptrdiff_t)line);
        add_loop(&copy, run, 1, 1);
        if (copy.from != copy.to) // it may have been computed where it belongs
            run_copy(&copy, call->parallel);
        at += run;
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-split
void wnn_cpu_split(const struct kernel_call *call)
{
    const struct split_attrs *attrs = call->node->attrs;
    const struct tensor *in = &call->in[0];
    unsigned axis = attrs->options.axis;
    size_t inner = elements_after(&in->shape, axis), line = inner * in->shape.dim[axis], at = 0;
    for (unsigned i = 0; i < call->node->out_count && in->count > 0; i++) {
        const struct tensor *out = &call->out[i];
        size_t run = inner * out->shape.dim[axis];
        struct copy copy = begin_copy(in, out);
        copy.from += at * copy.size;
        add_loop(&copy, in->count / line, (ptrdiff_t)line, (ptrdiff_t)run);
        add_loop(&copy, run, 1, 1);
        run_copy(&copy, call->parallel);
        at += run;
    }
}

void wnn_cpu_copy(const struct kernel_call *call)
{
    const struct tensor *in = &call->in[0], *out = &call->out[0];
    struct copy copy = {.from = in->data, .to = out->data, .size = 1};
    add_loop(&copy, wnn_dtype_bytes(in->type, in->count), 1, 1);
    if (copy.from != copy.to)
        run_copy(&copy, call->parallel);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-expand
void wnn_cpu_expand(const struct kernel_call *call)
{
    size_t from[WNN_MAX_RANK];
    ptrdiff_t strides[WNN_MAX_RANK] = {0};
    wnn_shape_broadcast_strides(&call->in[0].shape, &call->out[0].shape, from);
    for (unsigned d = 0; d < call->out[0].shape.rank; d++)
        strides[d] = (ptrdiff_t)from[d];
    gather_strided(call, 0, strides);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-reverse-method
void wnn_cpu_reverse(const struct kernel_call *call)
{
    const WNNReverseOptions *options = call->node->attrs;
    const struct shape *shape = &call->in[0].shape;
    size_t from[WNN_MAX_RANK];
    ptrdiff_t strides[WNN_MAX_RANK] = {0}, first = 0;
    wnn_shape_strides(shape, from);
    for (unsigned d = 0; d < shape->rank; d++)
        strides[d] = (ptrdiff_t)from[d];
    for (size_t i = 0; i < options->axes.count; i++) {
        uint32_t axis = options->axes.data[i];
        first += strides[axis] * ((ptrdiff_t)shape->dim[axis] - 1);
        strides[axis] = -strides[axis];
    }
    gather_strided(call, first, strides);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-slice
void wnn_cpu_slice(const struct kernel_call *call)
{
    const struct slice_attrs *attrs = call->node->attrs;
    const struct shape *shape = &call->in[0].shape;
    size_t from[WNN_MAX_RANK];
    ptrdiff_t strides[WNN_MAX_RANK] = {0}, first = 0;
    wnn_shape_strides(shape, from);
    for (unsigned d = 0; d < shape->rank; d++) {
        first += (ptrdiff_t)(attrs->starts.data[d] * from[d]);
        // A stride beyond the size is not taken, and may be anything.
        strides[d] =
            call->out[0].shape.dim[d] > 1 ? (ptrdiff_t)(attrs->options.strides.data[d] * from[d]) : 0;
    }
    gather_strided(call, first, strides);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-tile
void wnn_cpu_tile(const struct kernel_call *call)
{
    const struct tensor *in = &call->in[0], *out = &call->out[0];
    struct copy copy = begin_copy(in, out);
    size_t from[WNN_MAX_RANK], to[WNN_MAX_RANK];
    wnn_shape_strides(&in->shape, from);
    wnn_shape_strides(&out->shape, to);
    if (out->count == 0)
        return;
    for (unsigned d = 0; d < in->shape.rank; d++) {
        size_t size = in->shape.dim[d];
        add_loop(&copy, out->shape.dim[d] / size, 0, (ptrdiff_t)(to[d] * size));
        add_loop(&copy, size, (ptrdiff_t)from[d], (ptrdiff_t)to[d]);
    }
    run_copy(&copy, call->parallel);
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-transpose
void wnn_cpu_transpose(const struct kernel_call *call)
{
    const WNNTransposeOptions *options = call->node->attrs;
    size_t from[WNN_MAX_RANK];
    ptrdiff_t strides[WNN_MAX_RANK] = {0};
    wnn_shape_strides(&call->in[0].shape, from);
    for (unsigned d = 0; d < call->in[0].shape.rank; d++)
        strides[d] = (ptrdiff_t)from[options->permutation.data[d]];
    gather_strided(call, 0, strides);
}

// The output is made of rows of units: elements, or what lies behind the last dimension that is padded.
struct padding {
    size_t before, size, out, stride; // of the input: in rows
};

struct pad {
    WNNPaddingMode mode;
    const char *from;
    char *to;
    unsigned rank; // of what is outside of planes, which are [plane, width, unit]
    struct padding outer[WNN_MAX_RANK], plane;
    size_t head, width, out_width, unit; // of a row: units of padding, of the input, of the output; bytes
    vector1 pattern;                     // the constant
};

// Which one of `size` elements stands at a place of a padded dimension: SIZE_MAX is the constant.
static size_t padded(WNNPaddingMode mode, size_t at, size_t before, size_t size)
{
    if (at >= before && at - before < size)
        return at - before;
    size_t mirror = mode == WNNPaddingMode_Reflection ? 1 : 0;
    switch (mode) {
    case WNNPaddingMode_Edge:
        return at < before ? 0 : size - 1;
    case WNNPaddingMode_Reflection:
    case WNNPaddingMode_Symmetric:
        return at < before ? before - at - 1 + mirror : 2 * size - 1 - mirror - (at - before);
    default:
        return SIZE_MAX;
    }
}

// Units [begin, end) of a row, which are padding.
WNN_INLINE void pad_units(const struct pad *pad, const char *from, char *to, size_t begin, size_t end)
{
    if (pad->mode == WNNPaddingMode_Constant) {
        fill_run(to + begin * pad->unit, pad->pattern, (end - begin) * pad->unit);
        return;
    }
    for (size_t at = begin; at < end; at++)
        wnn_copy_run(to + at * pad->unit, from + padded(pad->mode, at, pad->head, pad->width) * pad->unit,
                     pad->unit);
}

// Rows of a plane of the output, which are made of those of the input from `from` on, or of the constant if
// it is NULL.
static void pad_plane(const struct pad *pad, const char *from, char *to, size_t begin, size_t end)
{
    size_t line = pad->width * pad->unit, out_line = pad->out_width * pad->unit;
    // Short rows are filled all at once, and then written to.
    bool filled = pad->mode == WNNPaddingMode_Constant && (!from || out_line <= 512);
    if (filled)
        fill_run(to, pad->pattern, (end - begin) * out_line);
    for (size_t y = begin; from && y < end; y++, to += out_line) {
        size_t source = padded(pad->mode, y, pad->plane.before, pad->plane.size);
        if (source == SIZE_MAX && !filled)
            fill_run(to, pad->pattern, out_line);
        if (source == SIZE_MAX)
            continue;
        const char *row = from + source * line;
        wnn_copy_run(to + pad->head * pad->unit, row, line);
        if (!filled) {
            pad_units(pad, row, to, 0, pad->head);
            pad_units(pad, row, to, pad->head + pad->width, pad->out_width);
        }
    }
}

// Items are rows of the output.
static void pad_rows(void *argument, size_t begin, size_t end)
{
    const struct pad *pad = argument;
    size_t height = pad->plane.out, row_bytes = pad->out_width * pad->unit;
    for (size_t row = begin, count; row < end; row += count) {
        size_t plane = row / height, y = row % height, offset = 0;
        bool inside = pad->width > 0 && pad->plane.size > 0;
        for (unsigned d = pad->rank; d-- > 0; plane /= pad->outer[d].out) {
            const struct padding *outer = &pad->outer[d];
            size_t source = padded(pad->mode, plane % outer->out, outer->before, outer->size);
            inside &= source != SIZE_MAX;
            offset += inside ? source * outer->stride : 0;
        }
        count = end - row < height - y ? end - row : height - y;
        const char *from = inside ? pad->from + offset * pad->width * pad->unit : NULL;
        pad_plane(pad, from, pad->to + row * row_bytes, y, y + count);
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-pad
void wnn_cpu_pad(const struct kernel_call *call)
{
    const struct pad_attrs *attrs = call->node->attrs;
    const struct tensor *in = &call->in[0], *out = &call->out[0];
    const uint32_t *before = attrs->beginningPadding.data;
    if (out->count == 0 || (in->count == 0 && attrs->options.mode != WNNPaddingMode_Constant))
        return;
    struct pad pad = {.mode = attrs->options.mode,
                      .from = in->data,
                      .to = out->data,
                      .rank = in->shape.rank,
                      .width = 1,
                      .out_width = 1,
                      .unit = wnn_dtype_bits(in->type) / 8};
    if (pad.mode == WNNPaddingMode_Constant) {
        uint64_t value = 0;
        wnn_number_store(attrs->options.value, in->type, &value, 0);
        for (size_t i = 0; i < VECTOR; i += pad.unit)
            memcpy((char *)&pad.pattern + i, &value, pad.unit);
    }
    for (; pad.rank > 0 && in->shape.dim[pad.rank - 1] == out->shape.dim[pad.rank - 1]; pad.rank--)
        pad.unit *= in->shape.dim[pad.rank - 1];
    if (pad.rank > 0) {
        pad.rank--;
        pad.head = before[pad.rank];
        pad.width = in->shape.dim[pad.rank];
        pad.out_width = out->shape.dim[pad.rank];
    }
    size_t stride = 1, rows = 1;
    for (unsigned d = pad.rank; d-- > 0;) {
        pad.outer[d] = (struct padding){before[d], in->shape.dim[d], out->shape.dim[d], stride};
        stride *= pad.outer[d].size;
        rows *= pad.outer[d].out;
    }
    pad.plane = (struct padding){0, 1, 1, 1};
    if (pad.rank > 0)
        pad.plane = pad.outer[--pad.rank];
    wnn_parallel_for(call->parallel, rows, 65536 / (pad.out_width * pad.unit) + 1, pad_rows, &pad);
}

struct triangle {
    const struct tensor *in, *out;
    size_t size, height, width;
    bool upper;
    int64_t diagonal;
};

static void triangle_rows(void *argument, size_t begin, size_t end)
{
    const struct triangle *t = argument;
    int64_t width = (int64_t)t->width;
    for (size_t row = begin; row < end; row++) {
        // Columns [first, last) are kept.
        int64_t edge = (int64_t)(row % t->height) + t->diagonal;
        int64_t first = t->upper ? edge : 0, last = t->upper ? width : edge + 1;
        first = first < 0 ? 0 : first > width ? width : first;
        last = last < first ? first : last > width ? width : last;
        const char *from = (const char *)t->in->data + row * t->width * t->size;
        char *to = (char *)t->out->data + row * t->width * t->size;
        size_t head = (size_t)first * t->size, kept = (size_t)(last - first) * t->size;
        memset(to, 0, head);
        if (from != to)
            memcpy(to + head, from + head, kept);
        memset(to + head + kept, 0, t->width * t->size - head - kept);
    }
}

// https://www.w3.org/TR/webnn/#api-mlgraphbuilder-triangular
void wnn_cpu_triangular(const struct kernel_call *call)
{
    const WNNTriangularOptions *options = call->node->attrs;
    const struct tensor *in = &call->in[0];
    unsigned rank = in->shape.rank;
    if (in->count == 0)
        return;
    struct triangle triangle = {in,
                                &call->out[0],
                                wnn_dtype_bits(in->type) / 8,
                                in->shape.dim[rank - 2],
                                in->shape.dim[rank - 1],
                                options->upper,
                                options->diagonal};
    size_t grain = 65536 / (triangle.width * triangle.size) + 1;
    wnn_parallel_for(call->parallel, in->count / triangle.width, grain, triangle_rows, &triangle);
}
