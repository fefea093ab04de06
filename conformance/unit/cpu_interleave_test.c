// SPDX-License-Identifier: Apache-2.0
//
// Elements that are transposed, woven, thinned out and repeated: every element of the result, no byte around
// it, and nothing is read that does not belong to the source, which ends where its memory does.
#include "conformance/unit/require.h"
#include "cpu/simd/non_temporal.h"
#include "cpu/movement/transpose.h"
#include "cpu/simd/interleave.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    AROUND = 64,
    UNTOUCHED = 0xee
};

struct memory {
    unsigned char *from, *to;
    size_t to_bytes;
};

// `gap` bytes behind each row of the result; what is around and between rows stays as it is.
static struct memory begin(size_t from_bytes, size_t to_bytes)
{
    struct memory memory = {malloc(from_bytes + 1),
                            aligned_alloc(64, (AROUND + to_bytes + AROUND + 63) / 64 * 64), to_bytes};
    REQUIRE(memory.from && memory.to);
    memory.from++; // elements lie anywhere
    for (size_t i = 0; i < from_bytes; i++)
        memory.from[i] = (unsigned char)((i * 2654435761u >> 9) % UNTOUCHED);
    memset(memory.to, UNTOUCHED, AROUND + to_bytes + AROUND);
    return memory;
}

// Element `to` of the result, counted from its begin in bytes, is element `from` of the source.
static void expect(struct memory *memory, size_t to, size_t from, size_t size)
{
    REQUIRE(memcmp(memory->to + AROUND + to, memory->from + from, size) == 0);
    memset(memory->to + AROUND + to, UNTOUCHED, size);
}

static void end(struct memory *memory)
{
    for (size_t i = 0; i < AROUND + memory->to_bytes + AROUND; i++)
        REQUIRE(memory->to[i] == UNTOUCHED);
    free(memory->from - 1);
    free(memory->to);
}

static void test_transpose(size_t size, size_t rows, size_t columns, size_t gap)
{
    size_t from_stride = rows * size + gap, to_stride = columns * size + gap;
    struct memory m = begin(columns * from_stride - gap, rows * to_stride);
    wnn_transpose((char *)m.from, (ptrdiff_t)from_stride, (char *)m.to + AROUND, (ptrdiff_t)to_stride, size,
                  rows, columns);
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < columns; c++)
            expect(&m, r * to_stride + c * size, c * from_stride + r * size, size);
    }
    end(&m);
}

static void test_interleave(size_t size, size_t rows, size_t count)
{
    size_t stride = (count + 3) * size;
    struct memory m = begin((rows - 1) * stride + count * size, rows * count * size);
    wnn_interleave((char *)m.from, (ptrdiff_t)stride, (char *)m.to + AROUND, size, rows, count);
    for (size_t i = 0; i < rows * count; i++)
        expect(&m, i * size, i % rows * stride + i / rows * size, size);
    end(&m);

    for (int streams = 0; streams < 2; streams++) {
        m = begin(rows * count * size, (rows - 1) * stride + count * size);
        wnn_deinterleave((char *)m.from, (char *)m.to + AROUND, (ptrdiff_t)stride, size, rows, count,
                         streams);
        wnn_nt_fence();
        for (size_t i = 0; i < rows * count; i++)
            expect(&m, i % rows * stride + i / rows * size, i * size, size);
        end(&m);
    }
}

static void test_take(size_t size, ptrdiff_t step, size_t count)
{
    size_t last = step < 0 ? count - 1 : (count - 1) * (size_t)step;
    struct memory m = begin((last + 1) * size, count * size);
    wnn_take((char *)m.from + (step < 0 ? last * size : 0), step, (char *)m.to + AROUND, size, count);
    for (size_t i = 0; i < count; i++)
        expect(&m, i * size, (step < 0 ? last - i : i * (size_t)step) * size, size);
    end(&m);
}

static void test_repeat(size_t size, size_t rows, size_t times, size_t gap)
{
    size_t to_stride = times * size + gap;
    for (size_t from_stride = size; from_stride <= 2 * size; from_stride += size) {
        struct memory m = begin((rows - 1) * from_stride + size, rows * to_stride);
        wnn_repeat((char *)m.from, (ptrdiff_t)from_stride, (char *)m.to + AROUND, (ptrdiff_t)to_stride, size,
                   rows, times);
        for (size_t i = 0; i < rows * times; i++)
            expect(&m, i / times * to_stride + i % times * size, i / times * from_stride, size);
        end(&m);
    }
}

static const size_t counts[] = {1,  2,  3,  5,  7,  8,  13,  16,  17,  31, 32,
                                33, 61, 63, 64, 65, 67, 127, 130, 253, 259};

enum {
    COUNTS = sizeof counts / sizeof counts[0]
};

static void test_repeats(size_t size)
{
    for (size_t i = 0; i < COUNTS; i++)
        for (size_t times = 1; times < 80; times += times < 20 ? 1 : 7) {
            test_repeat(size, counts[i], times, 0);
            test_repeat(size, counts[i], times, size);
        }
}

static void test_transposes(size_t size)
{
    for (size_t i = 0; i < COUNTS; i++)
        for (size_t j = 0; j < COUNTS; j++)
            test_transpose(size, counts[i], counts[j], size * (j % 3));
}

static void test_rows(size_t size)
{
    for (size_t i = 0; i < COUNTS; i++) {
        for (size_t rows = 2; rows <= WNN_WOVEN; rows++) {
            test_interleave(size, rows, counts[i]);
            test_take(size, (ptrdiff_t)rows, counts[i]);
        }
        test_take(size, -1, counts[i]);
    }
}

int main(int argc, char **argv)
{
    cases_begin(argc, argv);
    for (size_t size = 1; size <= 16; size *= 2)
        CASE_AS(case_name("repeat elements of %zu bytes", size), test_repeats(size));
    for (size_t size = 1; size <= 8; size *= 2)
        CASE_AS(case_name("transpose elements of %zu bytes", size), test_transposes(size));
    for (size_t size = 1; size <= 4; size *= 2)
        CASE_AS(case_name("interleave elements of %zu bytes", size), test_rows(size));
    return cases_end();
}
