// SPDX-License-Identifier: Apache-2.0
//
// Pipelines by the text of their shaders: what is equal is compiled once and shared by all graphs of a
// context. One thread at a time finds and compiles; beside it others may leave what they have.

#ifndef VULKAN_PIPELINE_H_
#define VULKAN_PIPELINE_H_

#include "vulkan/program/cache.h"
#include "vulkan/device/device.h"
#include "vulkan/program/glsl.h"

struct pipeline {
    struct pipeline *next; // in its bucket
    uint64_t hash;
    char *text;
    size_t length;
    const uint32_t *words; // SPIR-V that the text has been compiled to already, or NULL
    size_t word_count;
    unsigned buffers;  // of its layout
    unsigned users;    // executables; under the lock
    VkPipeline handle; // VK_NULL_HANDLE until it is compiled
    struct cache_key key;
    struct cache_entry entry; // what it was made of, for compiled graphs, once a build has kept that
    bool taken;               // while it is compiled
};

struct pipelines {
    struct gpu *gpu;
    const struct parallel *parallel;
    const struct interrupt *interrupt; // of the build that runs, or NULL
    void *library;
    const struct glsl_compiler *glsl;
    void *compiler;
    struct cache cache;
    pthread_mutex_t lock; // of the next
    struct pipeline **buckets;
    size_t bucket_count, idle;
};

// Opens the library with the compiler. NotSupportedError if there is none.
bool wnn_pipelines_open(struct pipelines *pipelines, struct gpu *gpu, const struct backend_options *options,
                        struct error *error);
void wnn_pipelines_close(struct pipelines *pipelines);

// The pipeline of that text, compiled or not, with one more user. NULL: out of memory.
struct pipeline *wnn_pipelines_find(struct pipelines *pipelines, const char *text, size_t length,
                                    unsigned buffers);
void wnn_pipelines_ref(struct pipelines *pipelines, struct pipeline *pipeline);   // one more
void wnn_pipelines_unref(struct pipelines *pipelines, struct pipeline *pipeline); // one less

// Compiles those of the list that are not yet, or whose entry is to be kept and is not yet; on all threads.
bool wnn_pipelines_compile(struct pipelines *pipelines, struct pipeline *const *list, size_t count, bool keep,
                           struct error *error);

#endif
