// SPDX-License-Identifier: Apache-2.0
//
// What was recorded, behind the data of a stored graph: webnn/compiled.h says byte by byte what it is. It is
// read by other versions of the library too, which know no more of the file than where it is.

#include "compiler/stored.h"

#include "lib/checksum.h"
#include "lib/sha256.h"
#include "ops/cursor.h"

#include <string.h>

static uint64_t filled_bytes(const struct transcript *transcript)
{
    return STORED_TRANSCRIPT_BYTES + (uint64_t)transcript->constant_count * STORED_PLACE_BYTES +
           transcript->size;
}

uint64_t wnn_stored_transcript_bytes(const struct transcript *transcript)
{
    return (filled_bytes(transcript) + WNN_ALIGNMENT - 1) / WNN_ALIGNMENT * WNN_ALIGNMENT;
}

// ---------------------------------------------------------------------------------------------------------------
// Writing
// ---------------------------------------------------------------------------------------------------------------

// As if the zeros up to a whole line belonged to it.
static uint64_t checksum_of(const struct constant *constant)
{
    struct checksum checksum;
    wnn_checksum_begin(&checksum);
    wnn_checksum_add(&checksum, constant->data, constant->bytes);
    return wnn_checksum_end(&checksum);
}

void wnn_store_transcript(const struct transcript *transcript, const struct stored_place *places,
                          struct sink *sink)
{
    size_t begin = sink->size;
    wnn_sink_u32(sink, STORED_TRANSCRIPT_VERSION);
    wnn_sink_u32(sink, (uint32_t)transcript->constant_count);
    wnn_sink_u64(sink, transcript->size);
    wnn_sink_add(sink, STORED_TRANSCRIPT_BYTES - 16);
    for (size_t i = 0; i < transcript->constant_count; i++) {
        wnn_sink_u64(sink, places[i].at);
        wnn_sink_u64(sink, places[i].bytes);
        wnn_sink_u64(sink, checksum_of(transcript->constants[i]));
    }
    unsigned char *bytes = wnn_sink_add(sink, transcript->size);
    if (bytes)
        memcpy(bytes, transcript->bytes, transcript->size);
    wnn_sink_add(sink, (size_t)(wnn_stored_transcript_bytes(transcript) - filled_bytes(transcript)));
    if (sink->full)
        return;
    struct sha256 hash;
    wnn_sha256_begin(&hash);
    wnn_sha256_add(&hash, sink->bytes + begin, sink->size - begin);
    wnn_sha256_end(&hash, sink->bytes + begin + STORED_TRANSCRIPT_DIGEST_AT);
}

// ---------------------------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------------------------

#define FAIL(error, ...) wnn_fail(error, WNNStatus_TypeError, "load: " __VA_ARGS__)

uint64_t wnn_stored_transcript_at(const unsigned char *header)
{
    struct cursor cursor = {.data = header, .size = STORED_HEADER_BYTES, .at = 8};
    uint32_t version = wnn_cursor_u32(&cursor);
    cursor.at = STORED_TRANSCRIPT_AT;
    uint64_t at = wnn_cursor_u64(&cursor);
    return memcmp(header, STORED_MAGIC, 8) == 0 && version >= 4 ? at : 0;
}

static bool check_digest(unsigned char *copy, size_t size)
{
    unsigned char told[WNN_SHA256_BYTES], digest[WNN_SHA256_BYTES];
    struct sha256 hash;
    memcpy(told, copy + STORED_TRANSCRIPT_DIGEST_AT, sizeof told);
    memset(copy + STORED_TRANSCRIPT_DIGEST_AT, 0, sizeof told);
    wnn_sha256_begin(&hash);
    wnn_sha256_add(&hash, copy, size);
    wnn_sha256_end(&hash, digest);
    return memcmp(told, digest, sizeof told) == 0;
}

// One constant, which lies before what was recorded, with the bytes that kernels may read behind it.
static struct constant *read_place(const struct load *load, uint64_t end, bool check, struct cursor *cursor,
                                   struct error *error)
{
    uint64_t at = wnn_cursor_u64(cursor), bytes = wnn_cursor_u64(cursor), sum = wnn_cursor_u64(cursor), next;
    if (at % WNN_ALIGNMENT || !wnn_stored_next(at, bytes, &next) || next > end) {
        FAIL(error, "a constant that was recorded lies where it cannot");
        return NULL;
    }
    const char *data = (const char *)load->source->data + at;
    size_t lines = wnn_aligned((size_t)bytes);
    if (check && !load->skip_data_check && wnn_checksum(load->parallel, data, lines) != sum) {
        FAIL(error, "it is damaged: a constant that was recorded has another checksum than it says");
        return NULL;
    }
    struct constant *constant = wnn_load_slice(load, load->source->allocator, data, (size_t)bytes);
    if (!constant)
        wnn_fail_memory(error);
    return constant;
}

static struct transcript *read_all(const struct load *load, uint64_t at, bool check, struct cursor *cursor,
                                   struct error *error)
{
    uint32_t version = wnn_cursor_u32(cursor), count = wnn_cursor_u32(cursor);
    uint64_t size = wnn_cursor_u64(cursor), zero = wnn_cursor_u64(cursor) | wnn_cursor_u64(cursor);
    uint64_t rest = cursor->size - STORED_TRANSCRIPT_BYTES;
    if (version != STORED_TRANSCRIPT_VERSION) {
        wnn_fail(error, WNNStatus_NotSupportedError,
                 "load: what was recorded has version %u; this library reads version %d", version,
                 STORED_TRANSCRIPT_VERSION);
        return NULL;
    }
    if (zero || cursor->size % WNN_ALIGNMENT || count > rest / STORED_PLACE_BYTES ||
        size > rest - (uint64_t)count * STORED_PLACE_BYTES ||
        rest - (uint64_t)count * STORED_PLACE_BYTES - size >= WNN_ALIGNMENT) {
        FAIL(error, "what was recorded has another length than it says");
        return NULL;
    }
    struct transcript *transcript = wnn_transcript_allocate(load->source->allocator, (size_t)size, count);
    if (!transcript) {
        wnn_fail_memory(error);
        return NULL;
    }
    cursor->at = STORED_TRANSCRIPT_BYTES;
    bool done = true;
    for (uint32_t i = 0; done && i < count; i++)
        done = (transcript->constants[i] = read_place(load, at, check, cursor, error)) != NULL;
    for (size_t i = cursor->at + (size_t)size; done && i < cursor->size; i++)
        done = cursor->data[i] == 0 || FAIL(error, "bytes that stand for nothing are not zero");
    if (done) {
        memcpy(transcript->bytes, cursor->data + cursor->at, (size_t)size);
        return transcript;
    }
    wnn_transcript_free(transcript);
    return NULL;
}

struct transcript *wnn_load_transcript(const struct load *load, uint64_t at, bool check, struct error *error)
{
    const struct constant *source = load->source;
    struct transcript *transcript = NULL;
    if (at % WNN_ALIGNMENT || at < STORED_HEADER_BYTES || at > source->bytes ||
        source->bytes - at < STORED_TRANSCRIPT_BYTES) {
        FAIL(error, "what was recorded does not begin where it can");
        return NULL;
    }
    size_t size = source->bytes - (size_t)at;
    unsigned char *copy = wnn_allocate(source->allocator, size); // that nobody else can change
    if (!copy) {
        wnn_fail_memory(error);
        return NULL;
    }
    memcpy(copy, (const char *)source->data + at, size);
    struct cursor cursor = {.data = copy, .size = size};
    if (!check_digest(copy, size))
        FAIL(error, "it is damaged: what was recorded has another digest than it says");
    else
        transcript = read_all(load, at, check, &cursor, error);
    wnn_release(source->allocator, copy);
    return transcript;
}
