// SPDX-License-Identifier: Apache-2.0
//
// What pipelines are made of, kept beyond the life of a context: by the host (WNNCache), and in compiled
// graphs. An entry is the SPIR-V of one shader and the driver's data of its pipeline. It is found by a digest
// of the shader's text, the compiler's version and the driver; it is checked as if a stranger had written it,
// so that one that is lost, cut off or damaged costs time and nothing else.

#ifndef VULKAN_CACHE_H_
#define VULKAN_CACHE_H_

#include "lib/graph.h"
#include "lib/sha256.h"
#include "vulkan/device/functions.h"

// Entries that are larger are not taken, nor offered.
#define GPU_CACHE_ENTRY ((size_t)64 << 20)

// What an entry depends on besides the text.
struct cache_identity {
    uint32_t vendor, device, driver_version, api_version;
    uint8_t uuid[VK_UUID_SIZE]; // pipelineCacheUUID
    const char *compiler;       // its version
};

// Loads and stores while a context is opened and while it builds, one at a time.
struct cache {
    struct allocator *allocator;
    const WNNCache *host; // NULL: nothing is kept
    const WNNLog *log;
    struct cache_identity identity;
    const struct stored_code *code; // entries of the graph that is built now, which are looked at first
    size_t code_count;
};

struct cache_key {
    unsigned char bytes[WNN_SHA256_BYTES];
};

struct cache_entry {
    void *memory; // NULL: there is none
    size_t bytes;
    bool vouched; // it is the graph's, whose bytes have been checked already if the host wants that
    // Of an entry that has been checked.
    const uint32_t *words; // SPIR-V
    size_t word_count;
    const void *data; // the driver's; NULL: none, or of another driver
    size_t data_bytes;
};

struct cache_key wnn_cache_key(const struct cache *cache, const char *text, size_t length);

// Takes an entry of the graph's, or asks the host for one, which is not checked yet. False: they have none
// that could be one.
bool wnn_cache_load(const struct cache *cache, const struct cache_key *key, struct cache_entry *entry);

// Whether it is what has been stored under the key; fills in the rest of the entry. Any thread.
bool wnn_cache_check(const struct cache *cache, const struct cache_key *key, struct cache_entry *entry);

// Makes an entry. False: no memory, or larger than entries may be. Any thread.
bool wnn_cache_make(const struct cache *cache, const struct cache_key *key, const uint32_t *words,
                    size_t word_count, const void *data, size_t data_bytes, struct cache_entry *entry);

// Offers it to the host.
void wnn_cache_store(const struct cache *cache, const struct cache_key *key, const struct cache_entry *entry);

void wnn_cache_drop(const struct cache *cache, struct cache_entry *entry); // one of zeros is accepted

// An answer to a question that only the device can answer: one of some ways. It is an entry like others.
#define CACHE_CHOICE_BYTES 56
struct cache_choice {
    struct cache_key key; // of all that the question depends on
    unsigned char bytes[CACHE_CHOICE_BYTES];
};

// Makes the answer; offers it to the host.
void wnn_cache_make_choice(size_t way, struct cache_choice *choice);
void wnn_cache_store_choice(const struct cache *cache, const struct cache_choice *choice);

// Whether the bytes are an answer to the question, one of `ways`.
bool wnn_cache_check_choice(const struct cache_choice *choice, size_t ways, size_t *way);

// Takes the answer of the graph, whose code it is about, if there is any, and otherwise asks the host.
bool wnn_cache_load_choice(const struct cache *cache, struct cache_choice *choice, size_t ways, size_t *way);

#endif
