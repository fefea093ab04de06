// SPDX-License-Identifier: Apache-2.0
//
// Every word of a line changes a lane of its own by a bijection of 64 bits, so that a change within one line
// of bytes, or any that leaves one lane alone different, is always seen.

#include "lib/checksum.h"

#include <string.h>

enum {
    LANES = WNN_CHECKSUM_LINE / 8,
    CHUNK_LINES = WNN_CHECKSUM_CHUNK / WNN_CHECKSUM_LINE,
    TOGETHER = 256 // chunks that threads have part in
};

#define FACTOR UINT64_C(0x9E3779B97F4A7C15) // odd

static uint64_t load(const unsigned char *bytes)
{
    uint64_t word = 0;
    for (unsigned i = 8; i-- > 0;)
        word = word << 8 | bytes[i];
    return word;
}

static inline uint64_t mix(uint64_t lane, uint64_t word)
{
    lane = (lane ^ word) * FACTOR;
    return lane ^ lane >> 32;
}

static void begin_chunk(struct checksum *checksum)
{
    for (unsigned i = 0; i < LANES; i++)
        checksum->lanes[i] = i + 1;
    checksum->lines = 0;
}

static uint64_t end_chunk(const struct checksum *checksum)
{
    uint64_t sum = mix(0, checksum->lines);
    for (unsigned i = 0; i < LANES; i++)
        sum = mix(sum, checksum->lanes[i]);
    return sum;
}

void wnn_checksum_begin(struct checksum *checksum)
{
    checksum->sum = 0;
    begin_chunk(checksum);
}

static void add_lines(struct checksum *checksum, const unsigned char *bytes, size_t count)
{
    uint64_t lanes[LANES];
    memcpy(lanes, checksum->lanes, sizeof lanes);
    for (size_t line = 0; line < count; line++, bytes += WNN_CHECKSUM_LINE)
        for (unsigned i = 0; i < LANES; i++)
            lanes[i] = mix(lanes[i], load(bytes + 8 * i));
    memcpy(checksum->lanes, lanes, sizeof lanes);
    checksum->lines += count;
}

// No more than the chunk has room for; zeros take the place of what the last line lacks.
static void add_part(struct checksum *checksum, const unsigned char *bytes, size_t count)
{
    unsigned char last[WNN_CHECKSUM_LINE] = {0};
    size_t rest = count % WNN_CHECKSUM_LINE;
    add_lines(checksum, bytes, count / WNN_CHECKSUM_LINE);
    if (rest == 0)
        return;
    memcpy(last, bytes + (count - rest), rest);
    add_lines(checksum, last, 1);
}

void wnn_checksum_add(struct checksum *checksum, const void *data, size_t bytes)
{
    const unsigned char *from = data;
    for (size_t some; bytes; bytes -= some, from += some) {
        size_t room = (CHUNK_LINES - (size_t)checksum->lines) * WNN_CHECKSUM_LINE;
        some = bytes < room ? bytes : room;
        add_part(checksum, from, some);
        if (checksum->lines < CHUNK_LINES)
            continue;
        checksum->sum = mix(checksum->sum, end_chunk(checksum));
        begin_chunk(checksum);
    }
}

uint64_t wnn_checksum_end(const struct checksum *checksum)
{
    return checksum->lines ? mix(checksum->sum, end_chunk(checksum)) : checksum->sum;
}

// ---------------------------------------------------------------------------------------------------------------
// On several threads
// ---------------------------------------------------------------------------------------------------------------

struct chunks {
    const unsigned char *data;
    size_t bytes;
    uint64_t *sums;
};

static void add_chunks(void *argument, size_t begin, size_t end)
{
    const struct chunks *chunks = argument;
    for (size_t i = begin; i < end; i++) {
        size_t at = i * WNN_CHECKSUM_CHUNK, left = chunks->bytes - at;
        struct checksum one;
        begin_chunk(&one);
        add_part(&one, chunks->data + at, left < WNN_CHECKSUM_CHUNK ? left : WNN_CHECKSUM_CHUNK);
        chunks->sums[i] = end_chunk(&one);
    }
}

uint64_t wnn_checksum(const struct parallel *parallel, const void *data, size_t bytes)
{
    uint64_t sums[TOGETHER], sum = 0;
    for (size_t at = 0, some; at < bytes; at += some) {
        some = bytes - at < TOGETHER * WNN_CHECKSUM_CHUNK ? bytes - at : TOGETHER * WNN_CHECKSUM_CHUNK;
        size_t count = (some + WNN_CHECKSUM_CHUNK - 1) / WNN_CHECKSUM_CHUNK;
        struct chunks chunks = {(const unsigned char *)data + at, some, sums};
        memset(sums, 0, sizeof sums); // what an interrupt leaves out
        wnn_parallel_for(parallel, count, 1, add_chunks, &chunks);
        for (size_t i = 0; i < count; i++)
            sum = mix(sum, sums[i]);
    }
    return sum;
}
