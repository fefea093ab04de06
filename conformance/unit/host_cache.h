// SPDX-License-Identifier: Apache-2.0
//
// A host's cache in memory, for tests of what is kept there.

#ifndef CONFORMANCE_UNIT_HOST_CACHE_H_
#define CONFORMANCE_UNIT_HOST_CACHE_H_

#include "conformance/unit/runtime_fixture.h"

enum {
    MAX_ENTRIES = 64
};

struct host {
    struct {
        unsigned char key[32];
        void *data;
        size_t bytes;
    } entries[MAX_ENTRIES];
    size_t count, loads, hits, stores;
    size_t first_answer, second_answer; // instead of the size, unless 0
};

static inline size_t host_load(const void *key, size_t length, void *data, size_t capacity, void *userdata)
{
    struct host *host = userdata;
    REQUIRE_EQUAL_INT(length, 32);
    REQUIRE(data || capacity == 0);
    host->loads += data == NULL;
    for (size_t i = 0; i < host->count; i++) {
        if (memcmp(host->entries[i].key, key, length) != 0)
            continue;
        size_t bytes = host->entries[i].bytes;
        if (data && bytes <= capacity) {
            memcpy(data, host->entries[i].data, bytes);
            host->hits++;
        }
        size_t answer = data ? host->second_answer : host->first_answer;
        return answer ? answer : bytes;
    }
    return 0;
}

static inline void host_store(const void *key, size_t length, const void *data, size_t bytes, void *userdata)
{
    struct host *host = userdata;
    size_t i = 0;
    REQUIRE_EQUAL_INT(length, 32);
    REQUIRE(bytes > 0);
    while (i < host->count && memcmp(host->entries[i].key, key, length) != 0)
        i++;
    REQUIRE(i < MAX_ENTRIES);
    host->count += i == host->count;
    memcpy(host->entries[i].key, key, length);
    host->entries[i].data = realloc(host->entries[i].data, bytes);
    REQUIRE(host->entries[i].data);
    memcpy(host->entries[i].data, data, bytes);
    host->entries[i].bytes = bytes;
    host->stores++;
}

static inline void host_forget(struct host *host)
{
    for (size_t i = 0; i < host->count; i++)
        free(host->entries[i].data);
    *host = (struct host){.count = 0};
}

#endif
