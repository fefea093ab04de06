// SPDX-License-Identifier: Apache-2.0
//
// Every word of a line changes a lane of its own by a bijection of 64 bits, so that a change within one line
// of bytes, or any that leaves one lane alone different, is always seen.

#include "lib/checksum.h"

#include <string.h>

enum {
    LANES = WNN_CHECKSUM_LINE / 8
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

void wnn_checksum_begin(struct checksum *checksum)
{
    *checksum = (struct checksum){{0}, 0};
    for (unsigned i = 0; i < LANES; i++)
        checksum->lanes[i] = i + 1;
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

void wnn_checksum_add(struct checksum *checksum, const void *data, size_t bytes)
{
    unsigned char last[WNN_CHECKSUM_LINE] = {0};
    size_t count = bytes / WNN_CHECKSUM_LINE, rest = bytes % WNN_CHECKSUM_LINE;
    add_lines(checksum, data, count);
    if (rest == 0)
        return;
    memcpy(last, (const unsigned char *)data + count * WNN_CHECKSUM_LINE, rest);
    add_lines(checksum, last, 1);
}

uint64_t wnn_checksum_end(const struct checksum *checksum)
{
    uint64_t sum = mix(0, checksum->lines);
    for (unsigned i = 0; i < LANES; i++)
        sum = mix(sum, checksum->lanes[i]);
    return sum;
}
