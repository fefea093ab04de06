// SPDX-License-Identifier: Apache-2.0
#include "ops/sink.h"

#include <string.h>

unsigned char *wnn_sink_add(struct sink *sink, size_t size)
{
    if (size > sink->capacity - sink->size) {
        size_t capacity = sink->capacity * 2 + size + 4096;
        unsigned char *grown = wnn_arena_allocate(sink->arena, capacity);
        if (!grown) {
            sink->full = true;
            return NULL;
        }
        if (sink->size)
            memcpy(grown, sink->bytes, sink->size);
        sink->bytes = grown;
        sink->capacity = capacity;
    }
    sink->size += size;
    return sink->bytes + sink->size - size;
}

void wnn_store_u32(unsigned char *to, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

void wnn_store_u64(unsigned char *to, uint64_t value)
{
    wnn_store_u32(to, (uint32_t)value);
    wnn_store_u32(to + 4, (uint32_t)(value >> 32));
}

void wnn_sink_u32(struct sink *sink, uint32_t value)
{
    unsigned char *to = wnn_sink_add(sink, 4);
    if (to)
        wnn_store_u32(to, value);
}

void wnn_sink_u64(struct sink *sink, uint64_t value)
{
    unsigned char *to = wnn_sink_add(sink, 8);
    if (to)
        wnn_store_u64(to, value);
}

void wnn_sink_f64(struct sink *sink, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    wnn_sink_u64(sink, bits);
}

void wnn_sink_text(struct sink *sink, struct string text)
{
    if (text.length > UINT32_MAX) { // where labels have no limit
        sink->full = true;
        return;
    }
    wnn_sink_u32(sink, (uint32_t)text.length);
    unsigned char *to = wnn_sink_add(sink, (text.length + 3) / 4 * 4);
    if (to && text.length)
        memcpy(to, text.data, text.length);
}

void wnn_sink_words(struct sink *sink, const void *items, size_t count)
{
    wnn_sink_u32(sink, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)items + i * sizeof bits, sizeof bits);
        wnn_sink_u32(sink, bits);
    }
}

void wnn_sink_kind(struct sink *sink, WNNDataType type, size_t rank)
{
    wnn_sink_u32(sink, (uint32_t)type | (uint32_t)rank << 8);
}
