// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/pipeline.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 1024,
    MAX_IDLE = 1024 // pipelines that nobody uses at present
};

static bool load_compiler(void **library, struct error *error)
{
    static const char name[] = "libwebnn-glsl.so.0";
    *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return *library || wnn_fail(error, WNNStatus_NotSupportedError,
                                "Vulkan needs %s, which compiles shaders and is not there", name);
}

bool wnn_pipelines_open(struct pipelines *pipelines, struct gpu *gpu, const struct backend_options *options,
                        struct error *error)
{
    *pipelines = (struct pipelines){.gpu = gpu, .parallel = options->parallel, .bucket_count = BUCKETS};
    pthread_mutex_init(&pipelines->lock, NULL);
    bool opened = load_compiler(&pipelines->library, error);
    if (opened) {
        pipelines->glsl = dlsym(pipelines->library, GLSL_SYMBOL);
        pipelines->compiler = pipelines->glsl ? pipelines->glsl->create() : NULL;
        pipelines->buckets = wnn_allocate_zero(gpu->allocator, BUCKETS * sizeof pipelines->buckets[0]);
        opened = (pipelines->compiler && pipelines->buckets) || wnn_fail_memory(error);
    }
    if (opened) {
        const struct capabilities *can = &gpu->can;
        pipelines->cache = (struct cache){gpu->allocator,
                                          options->cache,
                                          options->log,
                                          {.vendor = can->vendor,
                                           .device = can->device,
                                           .driver_version = can->driver_version,
                                           .api_version = can->api_version,
                                           .compiler = pipelines->glsl->version},
                                          NULL,
                                          0};
        memcpy(pipelines->cache.identity.uuid, can->pipeline_cache, VK_UUID_SIZE);
    }
    if (!opened)
        wnn_pipelines_close(pipelines);
    return opened;
}

static void destroy_list(struct gpu *gpu, struct pipeline *pipeline)
{
    for (struct pipeline *next; pipeline; pipeline = next) {
        next = pipeline->next;
        gpu->vk.DestroyPipeline(gpu->device, pipeline->handle, NULL);
        wnn_release(gpu->allocator, pipeline->text);
        wnn_release(gpu->allocator, pipeline->entry.memory);
        wnn_release(gpu->allocator, pipeline);
    }
}

void wnn_pipelines_close(struct pipelines *pipelines)
{
    if (!pipelines->gpu)
        return;
    for (size_t i = 0; pipelines->buckets && i < pipelines->bucket_count; i++)
        destroy_list(pipelines->gpu, pipelines->buckets[i]);
    wnn_release(pipelines->gpu->allocator, pipelines->buckets);
    // At the end of the process the library has gone before.
    if (pipelines->compiler && !wnn_gate_closes())
        pipelines->glsl->destroy(pipelines->compiler);
    if (pipelines->library && !wnn_gate_closes())
        dlclose(pipelines->library);
    pthread_mutex_destroy(&pipelines->lock);
    *pipelines = (struct pipelines){0};
}

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001B3u;
    return hash;
}

void wnn_pipelines_ref(struct pipelines *pipelines, struct pipeline *pipeline)
{
    pthread_mutex_lock(&pipelines->lock);
    pipelines->idle -= pipeline->users++ == 0;
    pthread_mutex_unlock(&pipelines->lock);
}

struct pipeline *wnn_pipelines_find(struct pipelines *pipelines, const char *text, size_t length,
                                    unsigned buffers)
{
    struct allocator *allocator = pipelines->gpu->allocator;
    uint64_t hash = hash_of(text, length);
    struct pipeline **bucket = &pipelines->buckets[hash % pipelines->bucket_count], *pipeline;
    pthread_mutex_lock(&pipelines->lock);
    pipeline = *bucket;
    while (pipeline && (pipeline->hash != hash || pipeline->length != length ||
                        memcmp(pipeline->text, text, length) != 0))
        pipeline = pipeline->next;
    if (pipeline)
        pipelines->idle -= pipeline->users++ == 0;
    pthread_mutex_unlock(&pipelines->lock);
    if (pipeline)
        return pipeline;
    pipeline = wnn_allocate_zero(allocator, sizeof *pipeline);
    char *copy = wnn_allocate(allocator, length);
    if (!pipeline || !copy) {
        wnn_release(allocator, pipeline);
        wnn_release(allocator, copy);
        return NULL;
    }
    memcpy(copy, text, length);
    *pipeline =
        (struct pipeline){.hash = hash, .text = copy, .length = length, .buffers = buffers, .users = 1};
    pthread_mutex_lock(&pipelines->lock);
    pipeline->next = *bucket;
    *bucket = pipeline;
    pthread_mutex_unlock(&pipelines->lock);
    return pipeline;
}

// Under the lock: takes every pipeline without users out of the table; returns their list.
static struct pipeline *take_idle(struct pipelines *pipelines)
{
    struct pipeline *idle = NULL;
    for (size_t i = 0; i < pipelines->bucket_count; i++)
        for (struct pipeline **place = &pipelines->buckets[i]; *place;) {
            struct pipeline *pipeline = *place;
            if (pipeline->users > 0) {
                place = &pipeline->next;
                continue;
            }
            *place = pipeline->next;
            pipeline->next = idle;
            idle = pipeline;
        }
    pipelines->idle = 0;
    return idle;
}

void wnn_pipelines_unref(struct pipelines *pipelines, struct pipeline *pipeline)
{
    struct pipeline *idle = NULL;
    pthread_mutex_lock(&pipelines->lock);
    pipelines->idle += --pipeline->users == 0;
    if (pipelines->idle > MAX_IDLE)
        idle = take_idle(pipelines);
    pthread_mutex_unlock(&pipelines->lock);
    destroy_list(pipelines->gpu, idle);
}

// ---------------------------------------------------------------------------------------------------------------
// Compiling
// ---------------------------------------------------------------------------------------------------------------

// What becomes of one pipeline.
struct task {
    struct pipeline *pipeline;
    struct cache_key key;
    struct cache_entry entry; // that there was, or a new one
    bool made;                // it is new
    struct error error;
};

struct job {
    struct pipelines *pipelines;
    struct task *tasks;
    bool keep; // entries are wanted
};

// `cache` may be VK_NULL_HANDLE. Of a pipeline that there is already nothing is left but what the cache gets.
static bool create_pipeline(struct gpu *gpu, struct pipeline *pipeline, const uint32_t *words, size_t count,
                            VkPipelineCache cache, struct error *error)
{
    VkShaderModule module;
    VkPipeline handle;
    const VkShaderModuleCreateInfo module_info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                                  .codeSize = count * sizeof words[0],
                                                  .pCode = words};
    VkResult result = gpu->vk.CreateShaderModule(gpu->device, &module_info, NULL, &module);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkCreateShaderModule", error);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = VK_PIPELINE_CREATE_DISPATCH_BASE, // long dispatches are cut
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = gpu->layouts[wnn_gpu_layout(gpu, pipeline->buffers)]};
    result = gpu->vk.CreateComputePipelines(gpu->device, cache, 1, &info, NULL, &handle);
    gpu->vk.DestroyShaderModule(gpu->device, module, NULL);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkCreateComputePipelines", error);
    if (pipeline->handle)
        gpu->vk.DestroyPipeline(gpu->device, handle, NULL);
    else
        pipeline->handle = handle;
    return true;
}

// One of the driver's caches, for one pipeline, so that threads have nothing to share; VK_NULL_HANDLE: it is
// not to be had, and does without.
static VkPipelineCache create_cache(struct gpu *gpu, const void *data, size_t bytes)
{
    const VkPipelineCacheCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO,
                                            .initialDataSize = bytes,
                                            .pInitialData = data};
    VkPipelineCache cache;
    VkResult result = gpu->vk.CreatePipelineCache(gpu->device, &info, NULL, &cache);
    return result == VK_SUCCESS ? cache : VK_NULL_HANDLE;
}

// Makes the entry of a new pipeline, if the driver and the memory allow, in the place of one without data.
static void make_entry(const struct pipelines *pipelines, struct task *task, const uint32_t *words,
                       size_t count, VkPipelineCache cache)
{
    struct gpu *gpu = pipelines->gpu;
    size_t bytes = 0;
    void *data = NULL;
    if (cache && gpu->vk.GetPipelineCacheData(gpu->device, cache, &bytes, NULL) == VK_SUCCESS && bytes > 0 &&
        bytes <= GPU_CACHE_ENTRY) {
        data = wnn_allocate(gpu->allocator, bytes);
        if (!data)
            return;
        if (gpu->vk.GetPipelineCacheData(gpu->device, cache, &bytes, data) != VK_SUCCESS)
            bytes = 0;
    }
    struct cache_entry entry;
    if (wnn_cache_make(&pipelines->cache, &task->key, words, count, data, data ? bytes : 0, &entry)) {
        wnn_cache_drop(&pipelines->cache, &task->entry);
        task->entry = entry;
        task->made = true;
    }
    wnn_release(gpu->allocator, data);
}

static bool compile_words(const struct job *job, struct task *task, const uint32_t *words, size_t count)
{
    const struct pipelines *pipelines = job->pipelines;
    bool wanted = job->keep || pipelines->cache.host;
    struct gpu *gpu = pipelines->gpu;
    VkPipelineCache cache = wanted ? create_cache(gpu, NULL, 0) : VK_NULL_HANDLE;
    bool done = create_pipeline(gpu, task->pipeline, words, count, cache, &task->error);
    if (done && wanted)
        make_entry(pipelines, task, words, count, cache);
    gpu->vk.DestroyPipelineCache(gpu->device, cache, NULL);
    if (done && job->keep && !task->entry.memory)
        wnn_fail_memory(&task->error);
    return done;
}

static void compile_text(const struct job *job, struct task *task)
{
    const struct pipelines *pipelines = job->pipelines;
    const struct pipeline *pipeline = task->pipeline;
    struct glsl_result spirv = {.words = pipeline->words, .count = pipeline->word_count};
    if (!spirv.words)
        spirv = pipelines->glsl->compile(pipelines->compiler, pipeline->text, pipeline->length);
    if (spirv.words)
        compile_words(job, task, spirv.words, spirv.count);
    else
        wnn_fail(&task->error, WNNStatus_OperationError, "a shader does not compile: %s", spirv.message);
    pipelines->glsl->release(&spirv);
}

// Whether nothing speaks against one more shader: they take long.
static bool may_compile(const struct pipelines *pipelines, struct error *error)
{
    if (wnn_gate_closes())
        return wnn_gpu_fail(pipelines->gpu, VK_ERROR_DEVICE_LOST, "the process ends", error);
    return wnn_interrupt_check(pipelines->interrupt, error);
}

// False: the driver has to compile what there is, its SPIR-V or, if the entry is of no use, the text.
static bool compile_entry(const struct pipelines *pipelines, struct task *task)
{
    struct gpu *gpu = pipelines->gpu;
    struct cache_entry *entry = &task->entry;
    bool done = wnn_cache_check(&pipelines->cache, &task->key, entry);
    if (done && !entry->data)
        return false;
    if (done && !task->pipeline->handle) {
        VkPipelineCache cache = create_cache(gpu, entry->data, entry->data_bytes);
        struct error error = {0};
        done = create_pipeline(gpu, task->pipeline, entry->words, entry->word_count, cache, &error);
        gpu->vk.DestroyPipelineCache(gpu->device, cache, NULL);
        if (!done && gpu->lost) {
            task->error = error;
            done = true;
        }
    }
    if (!done)
        wnn_cache_drop(&pipelines->cache, entry);
    return done;
}

static void compile(void *argument, size_t index)
{
    const struct job *job = argument;
    struct task *task = &job->tasks[index];
    const struct cache_entry *entry = &task->entry;
    if (!may_compile(job->pipelines, &task->error) ||
        (entry->memory &&
         (compile_words(job, task, entry->words, entry->word_count) || job->pipelines->gpu->lost)))
        return;
    task->error = (struct error){0};
    wnn_cache_drop(&job->pipelines->cache, &task->entry);
    compile_text(job, task);
}

// Makes what the driver has data for; what is left comes first in the list, and is counted. One behind the
// other: a driver that has its data is quicker than threads are, which would wait for one another in it.
static size_t compile_entries(const struct job *job, size_t count)
{
    const struct cache *cache = &job->pipelines->cache;
    size_t left = 0;
    for (size_t i = 0; i < count; i++) {
        struct task *task = &job->tasks[i];
        bool done = false;
        if (cache->host || cache->code_count || job->keep)
            task->key = wnn_cache_key(cache, task->pipeline->text, task->pipeline->length);
        if ((cache->host || cache->code_count) && may_compile(job->pipelines, &task->error)) {
            done = wnn_cache_load(cache, &task->key, &task->entry) && compile_entry(job->pipelines, task);
        }
        if (!done) {
            struct task other = job->tasks[left];
            job->tasks[left++] = *task;
            *task = other;
        }
    }
    return left;
}

static void hand_out_entries(const struct job *job, size_t count)
{
    const struct cache *cache = &job->pipelines->cache;
    for (size_t i = 0; i < count; i++) {
        struct task *task = &job->tasks[i];
        if (task->made)
            wnn_cache_store(cache, &task->key, &task->entry);
        if (job->keep && task->entry.memory) {
            task->pipeline->key = task->key;
            task->pipeline->entry = task->entry;
        } else {
            wnn_cache_drop(cache, &task->entry);
        }
    }
}

static bool is_done(const struct pipeline *pipeline, bool keep)
{
    return pipeline->handle && (!keep || pipeline->entry.memory);
}

bool wnn_pipelines_compile(struct pipelines *pipelines, struct pipeline *const *list, size_t count, bool keep,
                           struct error *error)
{
    struct allocator *allocator = pipelines->gpu->allocator;
    size_t missing = 0;
    for (size_t i = 0; i < count; i++)
        missing += !is_done(list[i], keep);
    if (missing == 0)
        return true;
    struct job job = {pipelines, wnn_allocate_zero(allocator, missing * sizeof job.tasks[0]), keep};
    if (!job.tasks)
        return wnn_fail_memory(error);
    missing = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_done(list[i], keep) || list[i]->taken)
            continue;
        list[i]->taken = true;
        job.tasks[missing++].pipeline = list[i];
    }
    bool done = true;
    for (size_t i = 0; done && i < missing; i++)
        done = wnn_gpu_make_layouts(pipelines->gpu, job.tasks[i].pipeline->buffers, error);
    size_t left = done ? compile_entries(&job, missing) : 0;
    if (left > 0)
        pipelines->parallel->run(pipelines->parallel, left, compile, &job);
    wnn_gate_pass(&pipelines->gpu->gate);
    hand_out_entries(&job, missing);
    for (size_t i = 0; i < missing; i++) {
        job.tasks[i].pipeline->taken = false;
        if (done && job.tasks[i].error.status != WNNStatus_Success) {
            *error = job.tasks[i].error;
            done = false;
        }
    }
    wnn_release(allocator, job.tasks);
    return done;
}
