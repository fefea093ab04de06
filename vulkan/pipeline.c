// SPDX-License-Identifier: Apache-2.0
#include "vulkan/pipeline.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 1024,
    MOST_IDLE = 1024 // pipelines that nobody uses at present
};

bool wnn_glsl_load(void **library, struct error *error)
{
    static const char name[] = "libwebnn-glsl.so.0";
    *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    return *library || wnn_fail(error, WNNStatus_NotSupportedError,
                                "Vulkan needs %s, which compiles shaders and is not there", name);
}

bool wnn_pipelines_open(struct pipelines *pipelines, struct gpu *gpu, const struct parallel *parallel,
                        struct error *error)
{
    *pipelines = (struct pipelines){.gpu = gpu, .parallel = parallel, .bucket_count = BUCKETS};
    bool opened = wnn_glsl_load(&pipelines->library, error);
    if (opened) {
        pipelines->glsl = dlsym(pipelines->library, GLSL_SYMBOL);
        pipelines->compiler = pipelines->glsl ? pipelines->glsl->create() : NULL;
        pipelines->buckets = wnn_allocate_zero(gpu->allocator, BUCKETS * sizeof pipelines->buckets[0]);
        opened = (pipelines->compiler && pipelines->buckets) || wnn_fail_memory(error);
    }
    if (!opened)
        wnn_pipelines_close(pipelines);
    return opened;
}

static void destroy(struct pipelines *pipelines, struct pipeline *pipeline)
{
    struct gpu *gpu = pipelines->gpu;
    gpu->vk.DestroyPipeline(gpu->device, pipeline->handle, NULL);
    wnn_release(gpu->allocator, pipeline->text);
    wnn_release(gpu->allocator, pipeline);
    pipelines->count--;
}

void wnn_pipelines_close(struct pipelines *pipelines)
{
    if (!pipelines->gpu)
        return;
    for (size_t i = 0; pipelines->buckets && i < pipelines->bucket_count; i++)
        for (struct pipeline *next, *pipeline = pipelines->buckets[i]; pipeline; pipeline = next) {
            next = pipeline->next;
            destroy(pipelines, pipeline);
        }
    wnn_release(pipelines->gpu->allocator, pipelines->buckets);
    if (pipelines->compiler)
        pipelines->glsl->destroy(pipelines->compiler);
    if (pipelines->library)
        dlclose(pipelines->library);
    *pipelines = (struct pipelines){0};
}

static uint64_t hash_of(const char *text, size_t length)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001B3u;
    return hash;
}

struct pipeline *wnn_pipelines_find(struct pipelines *pipelines, const char *text, size_t length,
                                    unsigned buffers)
{
    struct allocator *allocator = pipelines->gpu->allocator;
    uint64_t hash = hash_of(text, length);
    struct pipeline **bucket = &pipelines->buckets[hash % pipelines->bucket_count];
    for (struct pipeline *pipeline = *bucket; pipeline; pipeline = pipeline->next) {
        if (pipeline->hash != hash || pipeline->length != length || memcmp(pipeline->text, text, length) != 0)
            continue;
        pipelines->idle -= pipeline->users++ == 0;
        return pipeline;
    }
    struct pipeline *pipeline = wnn_allocate_zero(allocator, sizeof *pipeline);
    char *copy = wnn_allocate(allocator, length);
    if (!pipeline || !copy) {
        wnn_release(allocator, pipeline);
        wnn_release(allocator, copy);
        return NULL;
    }
    memcpy(copy, text, length);
    *pipeline = (struct pipeline){
        .next = *bucket, .hash = hash, .text = copy, .length = length, .buffers = buffers, .users = 1};
    *bucket = pipeline;
    pipelines->count++;
    return pipeline;
}

// Drops every pipeline without users.
static void clean(struct pipelines *pipelines)
{
    for (size_t i = 0; i < pipelines->bucket_count; i++)
        for (struct pipeline **place = &pipelines->buckets[i]; *place;) {
            struct pipeline *pipeline = *place;
            if (pipeline->users > 0) {
                place = &pipeline->next;
                continue;
            }
            *place = pipeline->next;
            destroy(pipelines, pipeline);
        }
    pipelines->idle = 0;
}

void wnn_pipelines_leave(struct pipelines *pipelines, struct pipeline *pipeline)
{
    pipelines->idle += --pipeline->users == 0;
    if (pipelines->idle > MOST_IDLE)
        clean(pipelines);
}

// ---------------------------------------------------------------------------------------------------------------
// Compiling
// ---------------------------------------------------------------------------------------------------------------

static bool create(struct gpu *gpu, struct pipeline *pipeline, const struct glsl_result *spirv,
                   struct error *error)
{
    VkShaderModule module;
    const VkShaderModuleCreateInfo module_info = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                                  .codeSize = spirv->count * sizeof spirv->words[0],
                                                  .pCode = spirv->words};
    VkResult result = gpu->vk.CreateShaderModule(gpu->device, &module_info, NULL, &module);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkCreateShaderModule", error);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main"},
        .layout = gpu->layouts[pipeline->buffers]};
    result = gpu->vk.CreateComputePipelines(gpu->device, gpu->cache, 1, &info, NULL, &pipeline->handle);
    gpu->vk.DestroyShaderModule(gpu->device, module, NULL);
    if (result == VK_SUCCESS)
        return true;
    pipeline->handle = VK_NULL_HANDLE;
    return wnn_gpu_fail(gpu, result, "vkCreateComputePipelines", error);
}

struct job {
    struct pipelines *pipelines;
    struct pipeline **list;
    struct error *errors;
};

static void compile(void *argument, size_t index)
{
    const struct job *job = argument;
    const struct pipelines *pipelines = job->pipelines;
    struct pipeline *pipeline = job->list[index];
    struct error *error = &job->errors[index];
    struct glsl_result spirv =
        pipelines->glsl->compile(pipelines->compiler, pipeline->text, pipeline->length);
    if (spirv.words)
        create(pipelines->gpu, pipeline, &spirv, error);
    else
        wnn_fail(error, WNNStatus_OperationError, "a shader does not compile: %s", spirv.message);
    pipelines->glsl->release(&spirv);
}

bool wnn_pipelines_compile(struct pipelines *pipelines, struct pipeline *const *list, size_t count,
                           struct error *error)
{
    struct allocator *allocator = pipelines->gpu->allocator;
    struct job job = {.pipelines = pipelines,
                      .list = wnn_allocate(allocator, count * sizeof job.list[0]),
                      .errors = wnn_allocate_zero(allocator, count * sizeof job.errors[0])};
    bool done = (job.list && job.errors) || wnn_fail_memory(error);
    size_t missing = 0;
    for (size_t i = 0; done && i < count; i++) {
        if (list[i]->handle || list[i]->error)
            continue;
        list[i]->error = &job.errors[missing];
        job.list[missing++] = list[i];
    }
    if (missing > 0)
        pipelines->parallel->run(pipelines->parallel, missing, compile, &job);
    for (size_t i = 0; i < missing; i++) {
        job.list[i]->error = NULL;
        if (done && job.errors[i].status != WNNStatus_Success) {
            *error = job.errors[i];
            done = false;
        }
    }
    wnn_release(allocator, job.list);
    wnn_release(allocator, job.errors);
    return done;
}
