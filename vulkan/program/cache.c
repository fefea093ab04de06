// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/cache.h"

#include "lib/log.h"

#include <string.h>

// An entry: this, the words of SPIR-V, the driver's data. Numbers are in the order of the machine, whose keys
// differ.
struct head {
    uint32_t magic, version;
    uint32_t word_count, data_bytes;
    unsigned char digest[WNN_SHA256_BYTES]; // of the key and of all of the entry but this
};

enum {
    MAGIC = 0x4E4E5756,
    VERSION = 2, // of entries, layouts, and what is done to SPIR-V after it was compiled
    SPIRV_MAGIC = 0x07230203,
    SPIRV_HEAD = 5, // words
    CHOICE_MAGIC = 0x43484F49
};

// An entry without a shader.
struct choice_entry {
    struct head head;
    uint32_t words[2]; // CHOICE_MAGIC, the way
};
_Static_assert(sizeof(struct choice_entry) == CACHE_CHOICE_BYTES, "choices are of a known size");

_Static_assert(sizeof(struct cache_key) == WNN_CODE_KEY, "keys of compiled graphs are those of the cache");

struct cache_key wnn_cache_key(const struct cache *cache, const char *text, size_t length)
{
    const struct cache_identity *identity = &cache->identity;
    const uint32_t numbers[] = {MAGIC,
                                VERSION,
                                sizeof(void *),
                                identity->vendor,
                                identity->device,
                                identity->driver_version,
                                identity->api_version,
                                (uint32_t)strlen(identity->compiler)};
    struct cache_key key;
    struct sha256 hash;
    wnn_sha256_begin(&hash);
    wnn_sha256_add(&hash, numbers, sizeof numbers);
    wnn_sha256_add(&hash, identity->uuid, sizeof identity->uuid);
    wnn_sha256_add(&hash, identity->compiler, strlen(identity->compiler));
    wnn_sha256_add(&hash, text, length);
    wnn_sha256_end(&hash, key.bytes);
    return key;
}

static void digest_of(const struct cache_key *key, const struct head *head, const void *body, size_t bytes,
                      unsigned char digest[WNN_SHA256_BYTES])
{
    struct sha256 hash;
    wnn_sha256_begin(&hash);
    wnn_sha256_add(&hash, key->bytes, sizeof key->bytes);
    wnn_sha256_add(&hash, head, offsetof(struct head, digest));
    wnn_sha256_add(&hash, body, bytes);
    wnn_sha256_end(&hash, digest);
}

// A copy of the one that the graph has, which nobody else can change.
static bool take_code(const struct cache *cache, const struct cache_key *key, struct cache_entry *entry)
{
    const struct stored_code *code = cache->code, *end = code ? code + cache->code_count : NULL;
    while (code < end && memcmp(code->key, key->bytes, sizeof key->bytes) != 0)
        code++;
    if (code == end || code->bytes < sizeof(struct head) || code->bytes > GPU_CACHE_ENTRY)
        return false;
    entry->memory = wnn_allocate(cache->allocator, (size_t)code->bytes);
    if (!entry->memory)
        return false;
    entry->bytes = (size_t)code->bytes;
    entry->vouched = true;
    memcpy(entry->memory, code->data, entry->bytes);
    return true;
}

bool wnn_cache_load(const struct cache *cache, const struct cache_key *key, struct cache_entry *entry)
{
    const WNNCache *host = cache->host;
    *entry = (struct cache_entry){0};
    if (take_code(cache, key, entry))
        return true;
    if (!host)
        return false;
    size_t bytes = host->load(key->bytes, sizeof key->bytes, NULL, 0, host->userdata);
    if (bytes < sizeof(struct head) || bytes > GPU_CACHE_ENTRY) {
        wnn_log(cache->log, Verbose, "the cache has no shader %02x%02x%02x%02x...", key->bytes[0],
                key->bytes[1], key->bytes[2], key->bytes[3]);
        return false;
    }
    void *memory = wnn_allocate(cache->allocator, bytes);
    // Somebody else may have changed it meanwhile.
    if (!memory || host->load(key->bytes, sizeof key->bytes, memory, bytes, host->userdata) != bytes) {
        wnn_release(cache->allocator, memory);
        return false;
    }
    *entry = (struct cache_entry){.memory = memory, .bytes = bytes};
    return true;
}

// Drivers may crash on data of others:
// https://docs.vulkan.org/spec/latest/chapters/pipelines.html#pipelines-cache-header
static bool is_ours(const struct cache_identity *identity, const unsigned char *data, size_t bytes)
{
    VkPipelineCacheHeaderVersionOne head;
    if (bytes < sizeof head)
        return false;
    memcpy(&head, data, sizeof head);
    return head.headerSize == sizeof head && head.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           head.vendorID == identity->vendor && head.deviceID == identity->device &&
           memcmp(head.pipelineCacheUUID, identity->uuid, VK_UUID_SIZE) == 0;
}

bool wnn_cache_check(const struct cache *cache, const struct cache_key *key, struct cache_entry *entry)
{
    struct head head;
    unsigned char digest[WNN_SHA256_BYTES];
    if (!entry->memory || entry->bytes < sizeof head)
        return false;
    memcpy(&head, entry->memory, sizeof head);
    const unsigned char *body = (const unsigned char *)entry->memory + sizeof head;
    size_t rest = entry->bytes - sizeof head;
    if (head.magic != MAGIC || head.version != VERSION || head.word_count < SPIRV_HEAD ||
        head.word_count > rest / sizeof(uint32_t) ||
        head.data_bytes != rest - head.word_count * sizeof(uint32_t))
        return false;
    if (!entry->vouched) {
        digest_of(key, &head, body, rest, digest);
        if (memcmp(digest, head.digest, sizeof digest) != 0)
            return false;
    }
    entry->words = (const uint32_t *)(const void *)body;
    entry->word_count = head.word_count;
    const unsigned char *data = body + head.word_count * sizeof(uint32_t);
    if (entry->words[0] != SPIRV_MAGIC)
        return false;
    bool ours = is_ours(&cache->identity, data, head.data_bytes);
    entry->data = ours ? data : NULL;
    entry->data_bytes = ours ? head.data_bytes : 0;
    return true;
}

bool wnn_cache_make(const struct cache *cache, const struct cache_key *key, const uint32_t *words,
                    size_t word_count, const void *data, size_t data_bytes, struct cache_entry *entry)
{
    struct head head = {MAGIC, VERSION, (uint32_t)word_count, (uint32_t)data_bytes, {0}};
    *entry = (struct cache_entry){0};
    if (word_count > GPU_CACHE_ENTRY / sizeof words[0] || data_bytes > GPU_CACHE_ENTRY)
        return false;
    size_t code = word_count * sizeof words[0], bytes = sizeof head + code + data_bytes;
    unsigned char *memory = bytes <= GPU_CACHE_ENTRY ? wnn_allocate(cache->allocator, bytes) : NULL;
    if (!memory)
        return false;
    memcpy(memory + sizeof head, words, code);
    if (data_bytes)
        memcpy(memory + sizeof head + code, data, data_bytes);
    digest_of(key, &head, memory + sizeof head, code + data_bytes, head.digest);
    memcpy(memory, &head, sizeof head);
    *entry = (struct cache_entry){.memory = memory, .bytes = bytes};
    return true;
}

void wnn_cache_store(const struct cache *cache, const struct cache_key *key, const struct cache_entry *entry)
{
    const WNNCache *host = cache->host;
    if (host && entry->memory)
        host->store(key->bytes, sizeof key->bytes, entry->memory, entry->bytes, host->userdata);
}

void wnn_cache_drop(const struct cache *cache, struct cache_entry *entry)
{
    wnn_release(cache->allocator, entry->memory);
    *entry = (struct cache_entry){0};
}

// ---------------------------------------------------------------------------------------------------------------
// Choices
// ---------------------------------------------------------------------------------------------------------------

void wnn_cache_make_choice(size_t way, struct cache_choice *choice)
{
    struct choice_entry entry = {{MAGIC, VERSION, 2, 0, {0}}, {CHOICE_MAGIC, (uint32_t)way}};
    digest_of(&choice->key, &entry.head, entry.words, sizeof entry.words, entry.head.digest);
    memcpy(choice->bytes, &entry, sizeof entry);
}

void wnn_cache_store_choice(const struct cache *cache, const struct cache_choice *choice)
{
    const WNNCache *host = cache->host;
    if (host)
        host->store(choice->key.bytes, sizeof choice->key.bytes, choice->bytes, sizeof choice->bytes,
                    host->userdata);
}

bool wnn_cache_check_choice(const struct cache_choice *choice, size_t ways, size_t *way)
{
    struct cache_choice right = {.key = choice->key};
    struct choice_entry entry;
    memcpy(&entry, choice->bytes, sizeof entry);
    wnn_cache_make_choice(entry.words[1], &right);
    *way = entry.words[1];
    return entry.words[1] < ways && memcmp(right.bytes, choice->bytes, sizeof right.bytes) == 0;
}

bool wnn_cache_load_choice(const struct cache *cache, struct cache_choice *choice, size_t ways, size_t *way)
{
    struct cache_entry entry = {0};
    bool found = cache->code_count > 0 ? take_code(cache, &choice->key, &entry)
                                       : wnn_cache_load(cache, &choice->key, &entry);
    if (found && entry.bytes == sizeof choice->bytes)
        memcpy(choice->bytes, entry.memory, sizeof choice->bytes);
    wnn_cache_drop(cache, &entry);
    return found && wnn_cache_check_choice(choice, ways, way);
}
