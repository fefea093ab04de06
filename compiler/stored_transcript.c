// SPDX-License-Identifier: Apache-2.0
//
// What was recorded, behind the data of a stored graph: webnn/compiled.h says byte by byte what it is. It is
// read by other versions of the library too, which know no more of the file than where it is.

#include "compiler/stored.h"

#include "lib/checksum.h"
#include "lib/sha256.h"

#include <string.h>

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

static bool has_names(const struct transcript *transcript, const uint64_t *places)
{
    for (size_t i = 0; i < transcript->constant_count; i++)
        if (!places[i])
            return true;
    return false;
}

void wnn_store_transcript(const struct transcript *transcript, const uint64_t *places, struct sink *sink)
{
    size_t begin = sink->size;
    wnn_sink_u32(sink,
                 has_names(transcript, places) ? STORED_NAMED_TRANSCRIPT_VERSION : STORED_TRANSCRIPT_VERSION);
    wnn_sink_u32(sink, (uint32_t)transcript->constant_count);
    wnn_sink_u64(sink, transcript->size);
    wnn_sink_add(sink, STORED_TRANSCRIPT_BYTES - 16);
    for (size_t i = 0; i < transcript->constant_count; i++) {
        wnn_sink_u64(sink, places[i]);
        wnn_sink_u64(sink, transcript->constants[i]->bytes);
        wnn_sink_u64(sink, places[i] ? checksum_of(transcript->constants[i]) : 0);
    }
    unsigned char *bytes = wnn_sink_add(sink, transcript->size);
    if (bytes)
        memcpy(bytes, transcript->bytes, transcript->size);
    for (size_t i = 0; i < transcript->constant_count; i++)
        if (!places[i])
            wnn_store_name(transcript->constants[i]->origin, sink);
    wnn_sink_add(sink, wnn_aligned(sink->size - begin) - (sink->size - begin));
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

struct reading {
    const struct load *load;
    uint64_t end; // of the data: where what was recorded begins
    bool check;   // the checksums of constants
    bool has_names;
    struct cursor places, names; // of constants
    struct error *error;
};

// With the bytes that kernels may read behind it.
static struct constant *read_bytes(const struct reading *reading, uint64_t at, uint64_t bytes, uint64_t sum)
{
    const struct load *load = reading->load;
    uint64_t next;
    if (at == 0 || at % WNN_ALIGNMENT || !wnn_stored_next(at, bytes, &next) || next > reading->end) {
        FAIL(reading->error, "a constant that was recorded lies where it cannot");
        return NULL;
    }
    const char *data = (const char *)load->source->data + at;
    size_t lines = wnn_aligned((size_t)bytes);
    if (reading->check && !load->skip_data_check && wnn_checksum(load->parallel, data, lines) != sum) {
        FAIL(reading->error, "it is damaged: a constant that was recorded has another checksum than it says");
        return NULL;
    }
    return wnn_load_slice(load, load->source->allocator, data, (size_t)bytes);
}

static struct constant *read_promise(struct reading *reading, uint64_t bytes, uint64_t sum)
{
    struct allocator *allocator = reading->load->source->allocator;
    if (sum)
        FAIL(reading->error, "bytes that stand for nothing are not zero");
    struct origin *origin = sum ? NULL : wnn_load_name(&reading->names, allocator, (size_t)bytes);
    if (reading->names.problem)
        FAIL(reading->error, "byte %zu of what was recorded: %s", reading->names.place,
             reading->names.problem);
    struct constant *constant = origin ? wnn_constant_promise(allocator, (size_t)bytes, origin) : NULL;
    wnn_origin_unref(origin);
    return constant;
}

// NULL: the error says why.
static struct constant *read_constant(struct reading *reading)
{
    uint64_t at = wnn_cursor_u64(&reading->places), bytes = wnn_cursor_u64(&reading->places),
             sum = wnn_cursor_u64(&reading->places);
    struct constant *constant = at == 0 && reading->has_names ? read_promise(reading, bytes, sum)
                                                              : read_bytes(reading, at, bytes, sum);
    if (!constant)
        wnn_fail_memory(reading->error); // unless something else is wrong
    return constant;
}

// Zeros up to a multiple of the alignment.
static bool check_end(const struct cursor *cursor, struct error *error)
{
    if (cursor->size - cursor->at >= WNN_ALIGNMENT)
        return FAIL(error, "what was recorded has another length than it says");
    for (size_t i = cursor->at; i < cursor->size; i++)
        if (cursor->data[i])
            return FAIL(error, "bytes that stand for nothing are not zero");
    return true;
}

static bool read_version(struct cursor *cursor, bool *has_names, struct error *error)
{
    uint32_t version = wnn_cursor_u32(cursor);
    *has_names = version == STORED_NAMED_TRANSCRIPT_VERSION;
    return *has_names || version == STORED_TRANSCRIPT_VERSION ||
           wnn_fail(error, WNNStatus_NotSupportedError,
                    "load: what was recorded has version %u; this library reads versions %d and %d", version,
                    STORED_TRANSCRIPT_VERSION, STORED_NAMED_TRANSCRIPT_VERSION);
}

static struct transcript *read_all(struct reading *reading)
{
    struct cursor *cursor = &reading->places;
    if (!read_version(cursor, &reading->has_names, reading->error))
        return NULL;
    uint32_t count = wnn_cursor_u32(cursor);
    uint64_t size = wnn_cursor_u64(cursor), zero = wnn_cursor_u64(cursor) | wnn_cursor_u64(cursor);
    uint64_t rest = cursor->size - STORED_TRANSCRIPT_BYTES;
    if (zero || cursor->size % WNN_ALIGNMENT || count > rest / STORED_PLACE_BYTES ||
        size > rest - (uint64_t)count * STORED_PLACE_BYTES) {
        FAIL(reading->error, "what was recorded has another length than it says");
        return NULL;
    }
    struct transcript *transcript =
        wnn_transcript_allocate(reading->load->source->allocator, (size_t)size, count);
    if (!transcript) {
        wnn_fail_memory(reading->error);
        return NULL;
    }
    cursor->at = STORED_TRANSCRIPT_BYTES;
    size_t begin = cursor->at + (size_t)count * STORED_PLACE_BYTES;
    memcpy(transcript->bytes, cursor->data + begin, (size_t)size);
    reading->names = *cursor;
    reading->names.at = begin + (size_t)size;
    bool done = true;
    for (uint32_t i = 0; done && i < count; i++)
        done = (transcript->constants[i] = read_constant(reading)) != NULL;
    if (done && check_end(&reading->names, reading->error))
        return transcript;
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
    struct reading reading = {
        .load = load, .end = at, .check = check, .places = {.data = copy, .size = size}, .error = error};
    if (!check_digest(copy, size))
        FAIL(error, "it is damaged: what was recorded has another digest than it says");
    else
        transcript = read_all(&reading);
    wnn_release(source->allocator, copy);
    return transcript;
}
