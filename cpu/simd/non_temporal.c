// SPDX-License-Identifier: Apache-2.0
#include "cpu/simd/non_temporal.h"

#include "cpu/simd/isa.h"

#include <stdint.h>
#include <string.h>

#define LINE 64

#if WNN_X86_64
#include <immintrin.h>

// Whole lines; `to` is aligned to one, `from` advances by `step` bytes a line.
static void stream_lines(char *to, const char *from, size_t step, size_t lines)
{
    for (size_t i = 0; i < lines; i++, to += LINE, from += step) {
        for (size_t j = 0; j < LINE; j += 16)
            _mm_stream_si128((__m128i *)(void *)(to + j), _mm_loadu_si128((const void *)(from + j)));
    }
}

WNN_TARGET_AVX512 static void stream_lines_avx512(char *to, const char *from, size_t step, size_t lines)
{
    for (size_t i = 0; i < lines; i++, to += LINE, from += step)
        _mm512_stream_si512((void *)to, _mm512_loadu_si512(from));
}

static void lines(char *to, const char *from, size_t step, size_t count)
{
    if (wnn_isa() == WNN_ISA_AVX512)
        stream_lines_avx512(to, from, step, count);
    else
        stream_lines(to, from, step, count);
}

void wnn_nt_fence(void)
{
    _mm_sfence();
}
#else
static void lines(char *to, const char *from, size_t step, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * LINE, from + i * step, LINE);
}

void wnn_nt_fence(void) {}
#endif

void wnn_nt_store(void *to, const void *from, size_t bytes)
{
    size_t head = -(uintptr_t)to % LINE;
    if (bytes < head + LINE) {
        memcpy(to, from, bytes);
        return;
    }
    size_t whole = (bytes - head) / LINE, done = head + whole * LINE;
    if (head > 0) // calls of memcpy for nothing would be felt in short rows
        memcpy(to, from, head);
    lines((char *)to + head, (const char *)from + head, LINE, whole);
    if (bytes > done)
        memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

void wnn_nt_fill(void *to, const void *value, size_t size, size_t bytes)
{
    char line[LINE];
    memcpy(line, value, size);
    switch (size) { // a vector each
    case 1:
        memset(line, line[0], LINE);
        break;
    case 2:
        for (size_t i = 2; i < LINE; i += 2)
            memcpy(line + i, line, 2);
        break;
    case 4:
        for (size_t i = 4; i < LINE; i += 4)
            memcpy(line + i, line, 4);
        break;
    default:
        for (size_t i = 8; i < LINE; i += 8)
            memcpy(line + i, line, 8);
        break;
    }
    size_t head = -(uintptr_t)to % LINE;
    if (head > bytes)
        head = bytes;
    size_t whole = (bytes - head) / LINE, done = head + whole * LINE;
    memcpy(to, line, head);
    lines((char *)to + head, line, 0, whole);
    memcpy((char *)to + done, line, bytes - done);
}
