// SPDX-License-Identifier: Apache-2.0
//
#include "cpu/simd/interleave.h"

#include "cpu/simd/isa.h"
#include "cpu/simd/runs.h"

#include <stdint.h>

enum {
    VECTOR = 16, // bytes
};

// Plain loops, of which compilers make shuffles; steps are constants, and elements lie at any address.
#define DEFINE_INTERLEAVE(set, TARGET, bits)                                                                 \
    TARGET static void interleave_##bits##_##set(const char *from, ptrdiff_t from_stride, char *to,          \
                                                 size_t rows, size_t count)                                  \
    {                                                                                                        \
        typedef uint##bits##_t __attribute__((may_alias, aligned(1))) element;                               \
        size_t last = rows - 1;                                                                              \
        const element *restrict a = (const void *)from;                                                      \
        const element *restrict b = (const void *)(from + from_stride);                                      \
        const element *restrict c = (const void *)(from + (ptrdiff_t)(last < 2 ? last : 2) * from_stride);   \
        const element *restrict d = (const void *)(from + (ptrdiff_t)last * from_stride);                    \
        element *restrict y = (void *)to;                                                                    \
        if (rows == 2) {                                                                                     \
            for (size_t i = 0; i < count; i++) {                                                             \
                y[2 * i] = a[i];                                                                             \
                y[2 * i + 1] = b[i];                                                                         \
            }                                                                                                \
        } else if (rows == 3) {                                                                              \
            for (size_t i = 0; i < count; i++) {                                                             \
                y[3 * i] = a[i];                                                                             \
                y[3 * i + 1] = b[i];                                                                         \
                y[3 * i + 2] = c[i];                                                                         \
            }                                                                                                \
        } else {                                                                                             \
            for (size_t i = 0; i < count; i++) {                                                             \
                y[4 * i] = a[i];                                                                             \
                y[4 * i + 1] = b[i];                                                                         \
                y[4 * i + 2] = c[i];                                                                         \
                y[4 * i + 3] = d[i];                                                                         \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    TARGET static void take_##bits##_##set(const char *from, ptrdiff_t step, char *to, size_t count)         \
    {                                                                                                        \
        typedef uint##bits##_t __attribute__((may_alias, aligned(1))) element;                               \
        const element *restrict x = (const void *)from;                                                      \
        element *restrict y = (void *)to;                                                                    \
        if (step == -1) {                                                                                    \
            for (ptrdiff_t i = 0; i < (ptrdiff_t)count; i++)                                                 \
                y[i] = x[-i];                                                                                \
        } else if (step == 2) {                                                                              \
            for (size_t i = 0; i < count; i++)                                                               \
                y[i] = x[2 * i];                                                                             \
        } else if (step == 3) {                                                                              \
            for (size_t i = 0; i < count; i++)                                                               \
                y[i] = x[3 * i];                                                                             \
        } else {                                                                                             \
            for (size_t i = 0; i < count; i++)                                                               \
                y[i] = x[4 * i];                                                                             \
        }                                                                                                    \
    }
WNN_FOR_EACH_ISA(DEFINE_INTERLEAVE, 8)
WNN_FOR_EACH_ISA(DEFINE_INTERLEAVE, 16)
WNN_FOR_EACH_ISA(DEFINE_INTERLEAVE, 32)

#if WNN_X86_64
#define BROADCAST_256(from) _mm256_broadcastsi128_si256(from)
#define BROADCAST_512(from) _mm512_broadcast_i32x4(from)
#define OR_256(a, b)        _mm256_or_si256(a, b)
#define OR_512(a, b)        _mm512_or_si512(a, b)

// For each byte of 16 of a row, the place of the one that comes there in each 16 of the source; a zero comes
// for one that is in others.
struct shuffles {
    __m128i of_row[WNN_WOVEN][WNN_WOVEN];
};

static void find_shuffles(struct shuffles *shuffles, size_t rows, size_t size)
{
    memset(shuffles, 0x80, sizeof *shuffles);
    for (size_t row = 0; row < rows; row++) {
        uint8_t *bytes = (void *)shuffles->of_row[row];
        for (size_t at = 0, source = row * size; at < VECTOR; source += (rows - 1) * size) {
            for (size_t byte = 0; byte < size; byte++, at++, source++)
                bytes[source / VECTOR * VECTOR + at] = source % VECTOR;
        }
    }
}

// All of a vector of each row, of `count` bytes, come from as many vectors that lie side by side. Returns the
// bytes that are done.
#define DEFINE_DEINTERLEAVE(set, TARGET, width)                                                              \
    TARGET WNN_INLINE size_t deinterleave_rows_##set(const char *from, char *to, ptrdiff_t to_stride,        \
                                                     const struct shuffles *shuffles, size_t rows,           \
                                                     size_t count, bool non_temporal)                        \
    {                                                                                                        \
        size_t done = 0;                                                                                     \
        for (; done + (width) / 8 <= count; done += (width) / 8, from += rows * (width) / 8) {               \
            __m##width##i in[WNN_WOVEN];                                                                     \
            for (size_t i = 0; i < rows; i++)                                                                \
                in[i] = WNN_LOAD_##width(from + i * VECTOR, rows * VECTOR);                                  \
            for (size_t row = 0; row < rows; row++) {                                                        \
                const __m128i *of_row = shuffles->of_row[row];                                               \
                __m##width##i out = _mm##width##_shuffle_epi8(in[0], BROADCAST_##width(of_row[0]));          \
                for (size_t i = 1; i < rows; i++)                                                            \
                    out = OR_##width(out, _mm##width##_shuffle_epi8(in[i], BROADCAST_##width(of_row[i])));   \
                char *y = to + (ptrdiff_t)row * to_stride + done;                                            \
                if (non_temporal)                                                                            \
                    _mm##width##_stream_si##width((void *)y, out);                                           \
                else                                                                                         \
                    memcpy(y, &out, sizeof out);                                                             \
            }                                                                                                \
        }                                                                                                    \
        return done;                                                                                         \
    }                                                                                                        \
    TARGET static size_t deinterleave_##set(const char *from, char *to, ptrdiff_t to_stride, size_t size,    \
                                            size_t rows, size_t count, bool non_temporal)                    \
    {                                                                                                        \
        struct shuffles shuffles;                                                                            \
        find_shuffles(&shuffles, rows, size);                                                                \
        switch (rows) { /* a constant of the loops */                                                        \
        case 2:                                                                                              \
            return deinterleave_rows_##set(from, to, to_stride, &shuffles, 2, count * size, non_temporal) /  \
                   size;                                                                                     \
        case 3:                                                                                              \
            return deinterleave_rows_##set(from, to, to_stride, &shuffles, 3, count * size, non_temporal) /  \
                   size;                                                                                     \
        default:                                                                                             \
            return deinterleave_rows_##set(from, to, to_stride, &shuffles, 4, count * size, non_temporal) /  \
                   size;                                                                                     \
        }                                                                                                    \
    }
DEFINE_DEINTERLEAVE(avx2, WNN_TARGET_AVX2, 256)
DEFINE_DEINTERLEAVE(avx512, WNN_TARGET_AVX512, 512)
#endif

struct weaving {
    void (*interleave)(const char *from, ptrdiff_t from_stride, char *to, size_t rows, size_t count);
    void (*take)(const char *from, ptrdiff_t step, char *to, size_t count);
};

#define INTERLEAVES(set, TARGET, name)                                                                       \
    static const struct weaving name##_##set[] = {{interleave_8_##set, take_8_##set},                        \
                                                  {interleave_16_##set, take_16_##set},                      \
                                                  {interleave_32_##set, take_32_##set}};
WNN_FOR_EACH_ISA(INTERLEAVES, interleaves)

static const struct weaving *find_weaving(size_t size)
{
    return WNN_BEST_ISA(interleaves) + size / 2;
}

void wnn_interleave(const char *from, ptrdiff_t from_stride, char *to, size_t size, size_t rows, size_t count)
{
    find_weaving(size)->interleave(from, from_stride, to, rows, count);
}

void wnn_take(const char *from, ptrdiff_t step, char *to, size_t size, size_t count)
{
    find_weaving(size)->take(from, step, to, count);
}

#if WNN_X86_64
// Rows that are no longer than a vector: each vector of the source gives several by the same shuffles as any
// other. Returns the rows that are done.
WNN_TARGET_AVX2 static size_t repeat_vectors(const char *from, char *to, size_t size, size_t count,
                                             size_t times)
{
    __m128i shuffles[VECTOR];
    for (size_t i = 0, at = 0; i < VECTOR; i += size) {
        for (size_t j = 0; j < times; j++) {
            for (size_t byte = 0; byte < size; byte++)
                ((uint8_t *)shuffles)[at++] = (uint8_t)(i + byte);
        }
    }
    size_t done = 0, step = VECTOR / size;
    for (; done + step <= count; done += step, from += VECTOR) {
        __m128i values = WNN_LOAD_128(from);
        for (size_t i = 0; i < times; i++, to += VECTOR)
            _mm_storeu_si128((void *)to, _mm_shuffle_epi8(values, shuffles[i]));
    }
    return done;
}
#endif

void wnn_deinterleave(const char *from, char *to, ptrdiff_t to_stride, size_t size, size_t rows, size_t count,
                      bool non_temporal)
{
    size_t done = 0;
#if WNN_X86_64
    // Whole lines only.
    non_temporal &= (uintptr_t)to % 64 == 0 && to_stride % 64 == 0;
    if (wnn_isa() == WNN_ISA_AVX512)
        done = deinterleave_avx512(from, to, to_stride, size, rows, count, non_temporal);
    else if (wnn_isa() >= WNN_ISA_AVX2)
        done = deinterleave_avx2(from, to, to_stride, size, rows, count, non_temporal);
#else
    (void)non_temporal;
#endif
    from += done * rows * size;
    to += done * size;
    for (size_t row = 0; row < rows; row++)
        wnn_take(from + row * size, (ptrdiff_t)rows, to + (ptrdiff_t)row * to_stride, size, count - done);
}

// Rows of `times` elements each. Short ones that follow one another are written with what comes behind them,
// as long as there is room for it.
enum {
    WIDTH_any = 16, // bytes
    WIDTH_avx2 = 32
};
#define DEFINE_REPEAT(set, TARGET, bits)                                                                     \
    TARGET static void repeat_##bits##_##set(const char *from, ptrdiff_t from_stride, char *to,              \
                                             ptrdiff_t to_stride, size_t rows, size_t times)                 \
    {                                                                                                        \
        typedef uint##bits##_t wide __attribute__((vector_size(WIDTH_##set)));                               \
        size_t bytes = times * ((bits) / 8), over = 0;                                                       \
        if (bytes <= WIDTH_##set && to_stride == (ptrdiff_t)bytes && rows * bytes >= WIDTH_##set)            \
            over = rows - (WIDTH_##set - 1) / bytes;                                                         \
        for (size_t row = 0; row < over; row++, from += from_stride, to += bytes) {                          \
            uint##bits##_t value;                                                                            \
            memcpy(&value, from, sizeof value);                                                              \
            wide values = (wide){0} + value;                                                                 \
            memcpy(to, &values, WIDTH_##set);                                                                \
        }                                                                                                    \
        for (size_t row = over; row < rows; row++, from += from_stride, to += to_stride) {                   \
            uint##bits##_t value;                                                                            \
            memcpy(&value, from, sizeof value);                                                              \
            wide values = (wide){0} + value;                                                                 \
            if (bytes < WIDTH_##set) {                                                                       \
                wnn_fill_run(to, (const char *)&values, bytes);                                              \
                continue;                                                                                    \
            }                                                                                                \
            for (size_t i = 0; i + WIDTH_##set < bytes; i += WIDTH_##set)                                    \
                memcpy(to + i, &values, WIDTH_##set);                                                        \
            memcpy(to + bytes - WIDTH_##set, &values, WIDTH_##set);                                          \
        }                                                                                                    \
    }
WNN_FOR_EACH_ISA_256(DEFINE_REPEAT, 8)
WNN_FOR_EACH_ISA_256(DEFINE_REPEAT, 16)
WNN_FOR_EACH_ISA_256(DEFINE_REPEAT, 32)
WNN_FOR_EACH_ISA_256(DEFINE_REPEAT, 64)

typedef void (*repeat_loop)(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride,
                            size_t rows, size_t times);
#define REPEATS(set, TARGET, name)                                                                           \
    static const repeat_loop name##_##set[] = {repeat_8_##set, repeat_16_##set, repeat_32_##set,             \
                                               repeat_64_##set};
WNN_FOR_EACH_ISA_256(REPEATS, repeats)

void wnn_repeat(const char *from, ptrdiff_t from_stride, char *to, ptrdiff_t to_stride, size_t size,
                size_t rows, size_t times)
{
    if (size == VECTOR) {
        for (size_t row = 0; row < rows; row++, from += from_stride, to += to_stride)
            wnn_fill_run(to, from, times * size);
        return;
    }
    size_t done = 0;
#if WNN_X86_64
    size_t bytes = times * size;
    if (bytes <= VECTOR && from_stride == (ptrdiff_t)size && to_stride == (ptrdiff_t)bytes &&
        wnn_isa() >= WNN_ISA_AVX2)
        done = repeat_vectors(from, to, size, rows, times);
#endif
    WNN_BEST_ISA_256(repeats)
    [__builtin_ctz((unsigned)size)](from + (ptrdiff_t)done * from_stride, from_stride,
                                    to + (ptrdiff_t)done * to_stride, to_stride, rows - done, times);
}
