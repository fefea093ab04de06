// SPDX-License-Identifier: Apache-2.0
#include "ops/cursor.h"

#include <string.h>

static void fail_at(struct cursor *cursor, size_t place, const char *problem)
{
    if (cursor->problem)
        return;
    cursor->problem = problem;
    cursor->place = place;
}

void wnn_cursor_fail(struct cursor *cursor, const char *problem)
{
    fail_at(cursor, cursor->at - (cursor->at >= 4 ? 4 : 0), problem);
}

// NULL: there are fewer, or there was a problem.
static const unsigned char *take(struct cursor *cursor, uint64_t size)
{
    if (size > cursor->size - cursor->at)
        fail_at(cursor, cursor->at, "it ends too early");
    if (cursor->problem)
        return NULL;
    const unsigned char *bytes = cursor->data + cursor->at;
    cursor->at += (size_t)size;
    return bytes;
}

static uint32_t load_u32(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

uint32_t wnn_cursor_u32(struct cursor *cursor)
{
    const unsigned char *bytes = take(cursor, 4);
    return bytes ? load_u32(bytes) : 0;
}

uint64_t wnn_cursor_u64(struct cursor *cursor)
{
    const unsigned char *bytes = take(cursor, 8);
    return bytes ? load_u32(bytes) | (uint64_t)load_u32(bytes + 4) << 32 : 0;
}

double wnn_cursor_f64(struct cursor *cursor)
{
    uint64_t bits = wnn_cursor_u64(cursor);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

const unsigned char *wnn_cursor_bytes(struct cursor *cursor, uint64_t size, unsigned alignment)
{
    const unsigned char *bytes = take(cursor, size);
    unsigned zeros = (unsigned)(-size & (alignment - 1));
    const unsigned char *padding = take(cursor, zeros);
    for (unsigned i = 0; padding && i < zeros; i++)
        if (padding[i])
            wnn_cursor_fail(cursor, "bytes that stand for nothing are not zero");
    return cursor->problem ? NULL : bytes;
}

WNNStringView wnn_cursor_text(struct cursor *cursor)
{
    uint32_t length = wnn_cursor_u32(cursor);
    const unsigned char *text = wnn_cursor_bytes(cursor, length, 4);
    return text ? (WNNStringView){(const char *)text, length} : (WNNStringView){"", 0};
}

uint32_t wnn_cursor_count(struct cursor *cursor, size_t least)
{
    uint32_t count = wnn_cursor_u32(cursor);
    if (count <= (cursor->size - cursor->at) / least)
        return count;
    wnn_cursor_fail(cursor, "a list has more items than there are bytes for");
    return 0;
}
