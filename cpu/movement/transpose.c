// SPDX-License-Identifier: Apache-2.0
#include "cpu/movement/transpose.h"

#include "cpu/simd/runs.h"
#include "cpu/simd/isa.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    LINE = 64,  // bytes that are best read and written together
    VECTOR = 16 // bytes
};

// Each transpose_`size` takes LINE bytes of as many columns as a line has elements, with from_stride and
// to_stride bytes between them; small_`size` the same of VECTOR bytes. What goes to a line is put together
// first: lines that are far from one another leave no room for each other in caches.
typedef void (*transpose_block)(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride);

// ---------------------------------------------------------------------------------------------------------------
// For any processor
// ---------------------------------------------------------------------------------------------------------------

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

#define DEFINE_TRANSPOSE(size)                                                                               \
    static void small_##size(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride)         \
    {                                                                                                        \
        vector##size rows[VECTOR / (size)];                                                                  \
        UNROLL                                                                                               \
        for (int i = 0; i < VECTOR / (size); i++)                                                            \
            memcpy(&rows[i], from + i * from_stride, VECTOR);                                                \
        TRANSPOSE(size, rows)                                                                                \
        UNROLL                                                                                               \
        for (int i = 0; i < VECTOR / (size); i++)                                                            \
            memcpy(to + i * to_stride, &rows[i], VECTOR);                                                    \
    }                                                                                                        \
    static void transpose_##size##_any(const char *from, ptrdiff_t from_stride, char *to,                    \
                                       ptrdiff_t to_stride)                                                  \
    {                                                                                                        \
        enum {                                                                                               \
            SIDE = VECTOR / (size)                                                                           \
        };                                                                                                   \
        for (ptrdiff_t row = 0; row < LINE; row += VECTOR, to += SIDE * to_stride) {                         \
            char lines[SIDE * LINE];                                                                         \
            for (ptrdiff_t column = 0; column < LINE / (size); column += SIDE)                               \
                small_##size(from + column * from_stride + row, from_stride, lines + column * (size), LINE); \
            for (int i = 0; i < SIDE; i++)                                                                   \
                memcpy(to + i * to_stride, lines + i * LINE, LINE);                                          \
        }                                                                                                    \
    }
DEFINE_TRANSPOSE(1)
DEFINE_TRANSPOSE(2)
DEFINE_TRANSPOSE(4)
DEFINE_TRANSPOSE(8)

// ---------------------------------------------------------------------------------------------------------------
// With longer vectors
// ---------------------------------------------------------------------------------------------------------------

#if WNN_X86_64
// The same for 2 or 4 times as many columns at a time: each 16 bytes of a vector are on their own.
#define DEFINE_TRANSPOSE_WIDE(set, TARGET, width, size, bits)                                                \
    TARGET static void transpose_##size##_##set(const char *from, ptrdiff_t from_stride, char *to,           \
                                                ptrdiff_t to_stride)                                         \
    {                                                                                                        \
        enum {                                                                                               \
            SIDE = VECTOR / (size),                                                                          \
            LANES = (width) / 8 / VECTOR,                                                                    \
            PARTS = LINE / VECTOR / LANES                                                                    \
        };                                                                                                   \
        for (ptrdiff_t row = 0; row < LINE; row += VECTOR) {                                                 \
            __m##width##i lines[SIDE][PARTS];                                                                \
            for (int part = 0; part < PARTS; part++) {                                                       \
                const char *x = from + part * LANES * SIDE * from_stride + row;                              \
                __m##width##i rows[SIDE], mixed[SIDE];                                                       \
                UNROLL                                                                                       \
                for (int i = 0; i < SIDE; i++)                                                               \
                    rows[i] = WNN_LOAD_##width(x + i * from_stride, SIDE * from_stride);                     \
                UNROLL                                                                                       \
                for (int round = 1; round < SIDE; round *= 2) {                                              \
                    UNROLL                                                                                   \
                    for (int i = 0; i < SIDE / 2; i++) {                                                     \
                        mixed[2 * i] = _mm##width##_unpacklo_epi##bits(rows[i], rows[i + SIDE / 2]);         \
                        mixed[2 * i + 1] = _mm##width##_unpackhi_epi##bits(rows[i], rows[i + SIDE / 2]);     \
                    }                                                                                        \
                    UNROLL                                                                                   \
                    for (int i = 0; i < SIDE; i++)                                                           \
                        rows[i] = mixed[i];                                                                  \
                }                                                                                            \
                UNROLL                                                                                       \
                for (int i = 0; i < SIDE; i++)                                                               \
                    lines[i][part] = rows[i];                                                                \
            }                                                                                                \
            UNROLL                                                                                           \
            for (int i = 0; i < SIDE; i++, to += to_stride)                                                  \
                memcpy(to, lines[i], LINE);                                                                  \
        }                                                                                                    \
    }
#define DEFINE_TRANSPOSES_WIDE(set, TARGET, width)                                                           \
    DEFINE_TRANSPOSE_WIDE(set, TARGET, width, 1, 8)                                                          \
    DEFINE_TRANSPOSE_WIDE(set, TARGET, width, 2, 16)                                                         \
    DEFINE_TRANSPOSE_WIDE(set, TARGET, width, 4, 32)                                                         \
    DEFINE_TRANSPOSE_WIDE(set, TARGET, width, 8, 64)
DEFINE_TRANSPOSES_WIDE(avx2, WNN_TARGET_AVX2, 256)
DEFINE_TRANSPOSES_WIDE(avx512, WNN_TARGET_AVX512, 512)
#endif

#define BLOCKS(name, set)                                                                                    \
    static const transpose_block name##_blocks##set[] = {name##_1##set, name##_2##set, name##_4##set,        \
                                                         name##_8##set}
BLOCKS(small, );
BLOCKS(transpose, _any);
#if WNN_X86_64
BLOCKS(transpose, _avx2);
BLOCKS(transpose, _avx512);
#endif

// ---------------------------------------------------------------------------------------------------------------
// Any size
// ---------------------------------------------------------------------------------------------------------------

// Where the next block begins: the last one of several ends where the matrix does, and overlaps another.
static size_t next_block(size_t at, size_t side, size_t count)
{
    return at + side < count && count < at + 2 * side ? count - side : at + side;
}

void wnn_transpose(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride, size_t size,
                   size_t rows, size_t columns)
{
    unsigned log = (unsigned)__builtin_ctz((unsigned)size);
    bool lines = rows >= LINE / size && columns >= LINE / size;
    transpose_block block = (lines ? WNN_BEST_ISA(transpose_blocks) : small_blocks)[log];
    size_t side = (lines ? LINE : VECTOR) / size;
    size_t height = rows < side ? rows : side, width = columns < side ? columns : side;
    bool far = lines && rows * (size_t)to_stride > 262144; // lines of the destination are not in a cache
    for (size_t c = 0; c < columns; c = next_block(c, side, columns)) {
        for (size_t r = 0; r < rows; r = next_block(r, side, rows)) {
            const char *x = from + (ptrdiff_t)c * from_stride + r * size;
            char *y = to + (ptrdiff_t)r * to_stride + c * size;
            if (width == side && height == side) {
                for (ptrdiff_t i = 0; far && i < (ptrdiff_t)side && r + 2 * side <= rows; i++)
                    __builtin_prefetch(y + ((ptrdiff_t)side + i) * to_stride, 1);
                block(x, from_stride, y, to_stride);
                continue;
            }
            // The block is small.
            char in[VECTOR * VECTOR] = {0}, out[VECTOR * VECTOR];
            for (size_t i = 0; i < width; i++)
                wnn_copy_run(in + i * VECTOR, x + (ptrdiff_t)i * from_stride, height * size);
            block(in, VECTOR, out, VECTOR);
            for (size_t i = 0; i < height; i++)
                wnn_copy_run(y + (ptrdiff_t)i * to_stride, out + i * VECTOR, width * size);
        }
    }
}
