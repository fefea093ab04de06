// SPDX-License-Identifier: Apache-2.0
//
// The ZIP format as far as NumPy uses it: a directory at the end lists the entries, each of which has a
// header before its data. https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT

#include "tools/npz.h"

#include "tools/bounds.h"
#include "tools/memory.h"
#include "tools/model/bytes.h"
#include "tools/standard_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// Sizes of records, without what has variable length.
enum {
    LOCAL_HEADER = 30,
    DIRECTORY_ENTRY = 46,
    END_RECORD = 22,
    END_RECORD_64 = 56,
    LOCATOR_64 = 20,
    MAX_COMMENT = 0xFFFF
};

enum {
    STORED = 0,
    DEFLATED = 8
};

static uint64_t number(const unsigned char *data, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | data[i];
    return value;
}

static bool has_signature(const unsigned char *data, unsigned char third, unsigned char fourth)
{
    return data[0] == 'P' && data[1] == 'K' && data[2] == third && data[3] == fourth;
}

bool npz_recognize(const unsigned char *data, size_t size)
{
    // The second is an archive of nothing.
    return size >= 4 && (has_signature(data, 3, 4) || has_signature(data, 5, 6));
}

static bool fail_damaged(const char *path, struct error *error)
{
    return wnn_fail(error, WNNStatus_TypeError, "%s: a damaged archive", path);
}

// Where the list of entries begins, its bytes, and how many entries it has.
struct directory {
    uint64_t offset, bytes, count;
};

// The record that ends an archive, or its 64-bit form, which stands in front of it where numbers do not fit.
static bool find_directory(struct bytes file, struct directory *directory)
{
    size_t least = file.size > END_RECORD + MAX_COMMENT ? file.size - END_RECORD - MAX_COMMENT : 0, at;
    if (file.size < END_RECORD)
        return false;
    for (at = file.size - END_RECORD; !has_signature(file.data + at, 5, 6); at--)
        if (at == least)
            return false;
    const unsigned char *end = file.data + at;
    *directory = (struct directory){number(end + 16, 4), number(end + 12, 4), number(end + 10, 2)};
    if (at < LOCATOR_64 || !has_signature(end - LOCATOR_64, 6, 7))
        return true;
    uint64_t far = number(end - LOCATOR_64 + 8, 8);
    if (far > at || at - far < END_RECORD_64 || !has_signature(file.data + far, 6, 6))
        return false;
    end = file.data + far;
    *directory = (struct directory){number(end + 48, 8), number(end + 40, 8), number(end + 32, 8)};
    return true;
}

// Numbers that do not fit in 32 bits stand in an extra field instead, in this order.
static bool read_extra(const unsigned char *extra, size_t length, struct npz_entry *entry)
{
    uint64_t *wanted[] = {&entry->size, &entry->packed, &entry->offset};
    while (length >= 4) {
        size_t id = (size_t)number(extra, 2), bytes = (size_t)number(extra + 2, 2);
        if (bytes > length - 4)
            return false;
        const unsigned char *at = extra + 4, *end = at + bytes;
        for (size_t i = 0; id == 1 && i < sizeof wanted / sizeof *wanted; i++) {
            if (*wanted[i] != UINT32_MAX)
                continue;
            if (end - at < 8)
                return false;
            *wanted[i] = number(at, 8);
            at += 8;
        }
        extra = end;
        length -= 4 + bytes;
    }
    return true;
}

// One entry of the list; *at goes to the next. False: it is damaged.
static bool read_entry(struct bytes file, uint64_t *at, uint64_t end, struct npz_entry *entry)
{
    if (end - *at < DIRECTORY_ENTRY)
        return false;
    const unsigned char *data = file.data + *at;
    size_t name = (size_t)number(data + 28, 2), extra = (size_t)number(data + 30, 2),
           comment = (size_t)number(data + 32, 2);
    if (!has_signature(data, 1, 2) || end - *at - DIRECTORY_ENTRY < name + extra + comment)
        return false;
    *entry = (struct npz_entry){
        .name = {(const char *)data + DIRECTORY_ENTRY, name},
        .offset = number(data + 42, 4),
        .packed = number(data + 20, 4),
        .size = number(data + 24, 4),
        .method = number(data + 8, 2) & 1 ? ~0u : (unsigned)number(data + 10, 2), // encrypted: no method
        .checksum = (uint32_t)number(data + 16, 4),
    };
    *at += DIRECTORY_ENTRY + name + extra + comment;
    return read_extra(data + DIRECTORY_ENTRY + name, extra, entry);
}

static bool is_array(struct string *name)
{
    static const char ending[] = ".npy";
    size_t cut = sizeof ending - 1;
    if (name->length < cut || memcmp(name->data + name->length - cut, ending, cut) != 0)
        return false;
    name->length -= cut;
    return true;
}

static bool read_directory(struct npz *archive, struct error *error)
{
    struct bytes file = {archive->mapping->data, archive->mapping->size};
    struct directory directory;
    if (!find_directory(file, &directory) || directory.offset > file.size ||
        directory.bytes > file.size - directory.offset || directory.count > directory.bytes / DIRECTORY_ENTRY)
        return fail_damaged(archive->path, error);
    archive->entries = must_allocate((size_t)directory.count * sizeof *archive->entries);
    uint64_t at = directory.offset, end = at + directory.bytes;
    for (uint64_t i = 0; i < directory.count; i++) {
        struct npz_entry *entry = &archive->entries[archive->count];
        if (!read_entry(file, &at, end, entry))
            return fail_damaged(archive->path, error);
        archive->count += is_array(&entry->name);
    }
    return true;
}

// Its end tells how long it is.
static size_t npz_extent(const unsigned char *data, size_t size, void *unused)
{
    (void)unused;
    if (size < 4)
        return 4;
    return npz_recognize(data, size) ? MAX_DATA_STREAM : 0;
}

struct npz *npz_open(const char *path, struct error *error)
{
    static const struct mapping_rule rule = {"an archive", MAX_DATA_STREAM, false, npz_extent, NULL};
    struct mapping *mapping = open_or_standard(path, &rule, error);
    if (!mapping)
        return NULL;
    struct npz *archive = must_allocate(sizeof *archive);
    archive->mapping = mapping;
    archive->path = must(strdup(path));
    if (read_directory(archive, error))
        return archive;
    npz_close(archive);
    return NULL;
}

void npz_close(struct npz *archive)
{
    if (!archive)
        return;
    mapping_unref(archive->mapping);
    free(archive->entries);
    free(archive->path);
    free(archive);
}

// The bytes of an entry as they lie in the file. Its header repeats what the list says, and is as long as it
// says itself.
static bool find_bytes(const struct npz *archive, const struct npz_entry *entry, struct bytes *bytes)
{
    uint64_t size = archive->mapping->size, at = entry->offset;
    if (at > size || size - at < LOCAL_HEADER)
        return false;
    const unsigned char *header = archive->mapping->data + at;
    uint64_t skipped = LOCAL_HEADER + number(header + 26, 2) + number(header + 28, 2);
    if (!has_signature(header, 3, 4) || size - at < skipped || size - at - skipped < entry->packed)
        return false;
    *bytes = (struct bytes){header + skipped, (size_t)entry->packed};
    return true;
}

// Whether the bytes inflate to exactly `size` others.
static bool inflate_all(struct bytes from, unsigned char *data, size_t size)
{
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)from.data,
                       .avail_in = (uInt)from.size,
                       .next_out = data,
                       .avail_out = (uInt)size};
    // The format has no header of its own.
    bool good = inflateInit2(&stream, -MAX_WBITS) == Z_OK;
    good = good && inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    return good;
}

// What an entry has, in memory to be freed. No more than its size says.
static unsigned char *unpack(const char *path, const struct npz_entry *entry, struct bytes from,
                             struct error *error)
{
    enum {
        MAX_RATIO = 1032 // bytes that deflate can make of one
    };
    if (entry->size > MAX_UNPACKED || entry->packed > MAX_UNPACKED) {
        wnn_fail(error, WNNStatus_TypeError, "%s: %llu bytes are compressed; %zu are the most that are read",
                 path, (unsigned long long)entry->size, MAX_UNPACKED);
        return NULL;
    }
    unsigned char *data = entry->size / MAX_RATIO <= entry->packed ? malloc((size_t)entry->size + 1) : NULL;
    if (data && inflate_all(from, data, (size_t)entry->size))
        return data;
    free(data);
    fail_damaged(path, error);
    return NULL;
}

static uint32_t checksum_of(struct bytes bytes)
{
    return (uint32_t)crc32_z(0, bytes.data, bytes.size);
}

static bool read_array(const char *path, const struct npz *archive, const struct npz_entry *entry,
                       struct array *array, struct error *error)
{
    struct bytes bytes;
    if (!find_bytes(archive, entry, &bytes) || (entry->method == STORED && entry->size != entry->packed))
        return fail_damaged(path, error);
    if (entry->method != STORED && entry->method != DEFLATED)
        return wnn_fail(error, WNNStatus_TypeError, "%s: encrypted, or compressed in an unknown way", path);
    unsigned char *data = NULL;
    if (entry->method == DEFLATED) {
        data = unpack(path, entry, bytes, error);
        bytes = (struct bytes){data, (size_t)entry->size};
        if (!data)
            return false;
    }
    bool good = (checksum_of(bytes) == entry->checksum || fail_damaged(path, error)) &&
                array_decode_npy(path, archive->mapping, bytes.data, bytes.size, array, error);
    if (good && data && !array->owned)
        array->owned = data;
    else
        free(data);
    return good;
}

bool npz_read(const struct npz *archive, const struct npz_entry *entry, struct array *array,
              struct error *error)
{
    size_t size = strlen(archive->path) + entry->name.length + sizeof "[]";
    char *path = must_allocate(size);
    snprintf(path, size, "%s[%.*s]", archive->path, (int)entry->name.length, entry->name.data);
    bool good = read_array(path, archive, entry, array, error);
    free(path);
    return good;
}
