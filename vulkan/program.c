// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program.h"

#include "ops/op.h"

#include <string.h>

void wnn_program_init(struct program *program, struct gpu *gpu, struct pipelines *pipelines)
{
    *program = (struct program){.gpu = gpu, .pipelines = pipelines};
    wnn_arena_init(&program->records, gpu->allocator);
    wnn_arena_init(&program->texts, gpu->allocator);
    program->last = &program->first;
}

void wnn_program_free(struct program *program)
{
    struct gpu *gpu = program->gpu;
    for (const struct step *step = program->first; step; step = step->next)
        if (step->pipeline)
            wnn_pipelines_leave(program->pipelines, step->pipeline);
    wnn_buffer_free(gpu, &program->parameters);
    wnn_arena_free(&program->records);
    wnn_arena_free(&program->texts);
}

struct step *wnn_program_add(struct program *program, enum step_kind kind, const struct node *node)
{
    struct step *step = wnn_arena_allocate(&program->records, sizeof *step);
    if (!step)
        return NULL;
    step->kind = kind;
    step->node = node;
    *program->last = step;
    program->last = &step->next;
    program->steps++;
    program->dispatches += kind == STEP_DISPATCH;
    return step;
}

uint32_t wnn_program_parameters(struct program *program, const uint32_t *words, size_t count)
{
    uint32_t first = (uint32_t)program->word_count;
    if (program->word_count + count > UINT32_MAX / sizeof(uint32_t))
        return UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        uint32_t *grown = wnn_arena_grow(&program->records, program->words, program->word_count,
                                         &program->word_capacity, sizeof program->words[0]);
        if (!grown)
            return UINT32_MAX;
        program->words = grown;
        program->words[program->word_count++] = words[i];
    }
    return first;
}

// ---------------------------------------------------------------------------------------------------------------
// Hazards: what has been read and written since the last barrier
// ---------------------------------------------------------------------------------------------------------------

struct access {
    const struct buffer *buffer;
    size_t begin, end;
    bool writes;
};

enum {
    MOST_ACCESSES = 256 // a barrier comes when there is room for no more
};

struct hazards {
    struct access accesses[MOST_ACCESSES];
    size_t count;
    bool copied, dispatched; // since the last barrier
};

// The words that a step touches: shaders read and write whole ones.
static struct access access_of(const struct binding *binding)
{
    const struct region *region = &binding->region;
    return (struct access){region->buffer, region->offset / 4 * 4,
                           (region->offset + region->bytes + 3) / 4 * 4, binding->writes};
}

static bool conflicts(const struct hazards *hazards, const struct step *step)
{
    for (unsigned i = 0; i < step->binding_count; i++) {
        struct access access = access_of(&step->bindings[i]);
        for (size_t k = 0; k < hazards->count; k++) {
            const struct access *before = &hazards->accesses[k];
            if (before->buffer == access.buffer && (before->writes || access.writes) &&
                before->begin < access.end && access.begin < before->end)
                return true;
        }
    }
    return hazards->count + step->binding_count > MOST_ACCESSES;
}

static void note(struct hazards *hazards, const struct step *step)
{
    for (unsigned i = 0; i < step->binding_count; i++)
        hazards->accesses[hazards->count++] = access_of(&step->bindings[i]);
    *(step->kind == STEP_DISPATCH ? &hazards->dispatched : &hazards->copied) = true;
}

// Everything before the barrier comes before everything behind it.
static void add_barrier(struct recording *recording, struct hazards *hazards, bool to_host)
{
    const struct gpu *gpu = recording->gpu;
    VkPipelineStageFlags from = 0;
    VkAccessFlags written = 0;
    if (hazards->dispatched) {
        from |= VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
        written |= VK_ACCESS_SHADER_WRITE_BIT;
    }
    if (hazards->copied) {
        from |= VK_PIPELINE_STAGE_TRANSFER_BIT;
        written |= VK_ACCESS_TRANSFER_WRITE_BIT;
    }
    if (from == 0)
        return;
    const VkPipelineStageFlags device = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkAccessFlags any = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                              VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = written,
                                     .dstAccessMask = to_host ? VK_ACCESS_HOST_READ_BIT : any};
    gpu->vk.CmdPipelineBarrier(recording->commands, from, to_host ? VK_PIPELINE_STAGE_HOST_BIT : device, 0, 1,
                               &barrier, 0, NULL, 0, NULL);
    hazards->count = 0;
    hazards->copied = hazards->dispatched = false;
    recording->barriers++;
}

// ---------------------------------------------------------------------------------------------------------------
// Recording
// ---------------------------------------------------------------------------------------------------------------

static bool compile(struct program *program, struct error *error)
{
    struct pipeline **list =
        wnn_arena_allocate(&program->records, (program->dispatches + 1) * sizeof list[0]);
    if (!list)
        return wnn_fail_memory(error);
    size_t count = 0;
    for (const struct step *step = program->first; step; step = step->next)
        if (step->pipeline)
            list[count++] = step->pipeline;
    return wnn_pipelines_compile(program->pipelines, list, count, error);
}

static bool upload_parameters(struct program *program, struct error *error)
{
    size_t bytes = program->word_count * sizeof program->words[0];
    if (bytes == 0)
        return true;
    if (!wnn_buffer_create(program->gpu, bytes, BUFFER_DEVICE, &program->parameters, error))
        return false;
    const struct upload upload = {program->words, {&program->parameters, 0, bytes}};
    return wnn_gpu_upload(program->gpu, &upload, 1, error);
}

bool wnn_program_finish(struct program *program, struct error *error)
{
    if (!compile(program, error) || !upload_parameters(program, error))
        return false;
    for (struct step *step = program->first; step; step = step->next)
        if (step->has_parameters)
            step->bindings[0].region = (struct region){&program->parameters, 0, program->parameters.bytes};
    return true;
}

// What a recording is made with.
struct recorder {
    const struct program *program;
    struct recording *recording;
    const struct replacement *replacements;
    size_t replacement_count;
    struct hazards hazards;
};

static VkBuffer handle_of(const struct recorder *recorder, const struct buffer *buffer)
{
    for (size_t i = 0; i < recorder->replacement_count; i++)
        if (recorder->replacements[i].from == buffer)
            return recorder->replacements[i].to->handle;
    return buffer->handle;
}

static bool create_pool(const struct program *program, struct recording *recording, struct error *error)
{
    struct gpu *gpu = program->gpu;
    if (program->dispatches == 0)
        return true;
    uint32_t buffers = 0;
    for (const struct step *step = program->first; step; step = step->next)
        buffers += step->kind == STEP_DISPATCH ? step->binding_count : 0;
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers};
    const VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = (uint32_t)program->dispatches,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    VkResult result = gpu->vk.CreateDescriptorPool(gpu->device, &info, NULL, &recording->pool);
    return result == VK_SUCCESS || wnn_gpu_fail(gpu, result, "vkCreateDescriptorPool", error);
}

static bool record_dispatch(struct recorder *recorder, const struct step *step, struct error *error)
{
    struct gpu *gpu = recorder->program->gpu;
    VkCommandBuffer commands = recorder->recording->commands;
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = recorder->recording->pool,
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &gpu->set_layouts[step->binding_count]};
    VkDescriptorSet set;
    VkResult result = gpu->vk.AllocateDescriptorSets(gpu->device, &info, &set);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkAllocateDescriptorSets", error);
    VkDescriptorBufferInfo buffers[GPU_BUFFERS];
    VkWriteDescriptorSet writes[GPU_BUFFERS];
    uint32_t first_words[GPU_BUFFERS] = {0};
    for (unsigned i = 0; i < step->binding_count; i++) {
        struct access access = access_of(&step->bindings[i]);
        size_t begin = access.begin / gpu->can.storage_alignment * gpu->can.storage_alignment;
        buffers[i] = (VkDescriptorBufferInfo){handle_of(recorder, access.buffer), begin, access.end - begin};
        first_words[i] = (uint32_t)((access.begin - begin) / 4);
        if (i == 0 && step->has_parameters)
            first_words[i] = step->parameters;
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &buffers[i]};
    }
    gpu->vk.UpdateDescriptorSets(gpu->device, step->binding_count, writes, 0, NULL);
    VkPipelineLayout layout = gpu->layouts[step->binding_count];
    gpu->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, step->pipeline->handle);
    gpu->vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    gpu->vk.CmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof first_words,
                             first_words);
    gpu->vk.CmdDispatch(commands, step->groups[0], step->groups[1], step->groups[2]);
    return true;
}

static bool record_step(struct recorder *recorder, const struct step *step, struct error *error)
{
    const struct gpu *gpu = recorder->program->gpu;
    VkCommandBuffer commands = recorder->recording->commands;
    const struct region *from = &step->bindings[0].region, *to = &step->bindings[1].region;
    switch (step->kind) {
    case STEP_COPY: {
        const VkBufferCopy copy = {from->offset, to->offset, to->bytes};
        gpu->vk.CmdCopyBuffer(commands, handle_of(recorder, from->buffer), handle_of(recorder, to->buffer), 1,
                              &copy);
        return true;
    }
    case STEP_FILL:
        gpu->vk.CmdFillBuffer(commands, handle_of(recorder, from->buffer), from->offset,
                              (from->bytes + 3) / 4 * 4, 0);
        return true;
    default:
        return record_dispatch(recorder, step, error);
    }
}

static bool begin(struct gpu *gpu, VkCommandBuffer *commands, bool once, struct error *error)
{
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = gpu->commands,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    VkResult result = gpu->vk.AllocateCommandBuffers(gpu->device, &info, commands);
    if (result != VK_SUCCESS) {
        *commands = VK_NULL_HANDLE;
        return wnn_gpu_fail(gpu, result, "vkAllocateCommandBuffers", error);
    }
    const VkCommandBufferBeginInfo begin_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                                 .flags =
                                                     once ? VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT : 0};
    result = gpu->vk.BeginCommandBuffer(*commands, &begin_info);
    return result == VK_SUCCESS || wnn_gpu_fail(gpu, result, "vkBeginCommandBuffer", error);
}

static bool end(struct gpu *gpu, VkCommandBuffer commands, struct error *error)
{
    VkResult result = gpu->vk.EndCommandBuffer(commands);
    return result == VK_SUCCESS || wnn_gpu_fail(gpu, result, "vkEndCommandBuffer", error);
}

// Between any two steps that touch the same bytes, one of them to write, there must be a barrier.
static bool record_steps(struct recorder *recorder, struct error *error)
{
    struct recording *recording = recorder->recording;
    for (struct step *step = recorder->program->first; step; step = step->next) {
        if (conflicts(&recorder->hazards, step))
            add_barrier(recording, &recorder->hazards, false);
        note(&recorder->hazards, step);
        step->barriers = recording->barriers;
        if (!record_step(recorder, step, error))
            return false;
    }
    add_barrier(recording, &recorder->hazards, true);
    return true;
}

bool wnn_program_record(struct program *program, const struct replacement *replacements, size_t count,
                        struct recording *recording, struct error *error)
{
    struct gpu *gpu = program->gpu;
    *recording = (struct recording){.gpu = gpu};
    if (!create_pool(program, recording, error) || !begin(gpu, &recording->commands, false, error))
        return false;
    struct recorder *recorder = wnn_allocate_zero(gpu->allocator, sizeof *recorder);
    if (!recorder)
        return wnn_fail_memory(error);
    recorder->program = program;
    recorder->recording = recording;
    recorder->replacements = replacements;
    recorder->replacement_count = count;
    bool done = record_steps(recorder, error);
    wnn_release(gpu->allocator, recorder);
#ifdef NDEBUG
    bool check = gpu->can.minimal;
#else
    bool check = true;
#endif
    return done && end(gpu, recording->commands, error) && (!check || wnn_program_check(program, error));
}

void wnn_recording_free(struct recording *recording)
{
    struct gpu *gpu = recording->gpu;
    if (!gpu)
        return;
    if (recording->commands)
        gpu->vk.FreeCommandBuffers(gpu->device, gpu->commands, 1, &recording->commands);
    gpu->vk.DestroyDescriptorPool(gpu->device, recording->pool, NULL);
    *recording = (struct recording){0};
}

static bool overlap(const struct binding *a, const struct binding *b)
{
    return (a->writes || b->writes) && a->region.buffer == b->region.buffer &&
           a->region.offset / 4 < (b->region.offset + b->region.bytes + 3) / 4 &&
           b->region.offset / 4 < (a->region.offset + a->region.bytes + 3) / 4;
}

bool wnn_program_check(const struct program *program, struct error *error)
{
    for (const struct step *a = program->first; a; a = a->next)
        for (const struct step *b = a->next; b && b->barriers == a->barriers; b = b->next)
            for (unsigned i = 0; i < a->binding_count; i++)
                for (unsigned k = 0; k < b->binding_count; k++)
                    if (overlap(&a->bindings[i], &b->bindings[k]))
                        return wnn_fail(error, WNNStatus_UnknownError,
                                        "Vulkan: there is no barrier between %s and %s",
                                        a->node ? wnn_ops[a->node->op].name : "a copy",
                                        b->node ? wnn_ops[b->node->op].name : "a copy");
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Uploading
// ---------------------------------------------------------------------------------------------------------------

#define STAGING ((size_t)64 << 20)

static bool copy_pieces(struct gpu *gpu, VkCommandBuffer commands, const struct buffer *staging,
                        const VkBufferCopy *copies, const VkBuffer *to, size_t count, struct error *error)
{
    if (!wnn_buffer_flush(gpu, staging, error))
        return false;
    const VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                           .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkResult result = gpu->vk.BeginCommandBuffer(commands, &info);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkBeginCommandBuffer", error);
    for (size_t i = 0; i < count; i++)
        gpu->vk.CmdCopyBuffer(commands, staging->handle, to[i], 1, &copies[i]);
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask =
                                         VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT};
    gpu->vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                               VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 1,
                               &barrier, 0, NULL, 0, NULL);
    return end(gpu, commands, error) && wnn_gpu_run(gpu, commands, error);
}

static bool upload_staged(struct gpu *gpu, const struct upload *uploads, size_t count, size_t total,
                          struct error *error)
{
    enum {
        MOST_COPIES = 256
    };
    VkBufferCopy copies[MOST_COPIES];
    VkBuffer to[MOST_COPIES];
    size_t pieces = 0, used = 0;
    struct buffer staging = {0};
    VkCommandBuffer commands = VK_NULL_HANDLE;
    const VkCommandBufferAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                              .commandPool = gpu->commands,
                                              .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                              .commandBufferCount = 1};
    VkResult result = gpu->vk.AllocateCommandBuffers(gpu->device, &info, &commands);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkAllocateCommandBuffers", error);
    bool done = wnn_buffer_create(gpu, total < STAGING ? total : STAGING, BUFFER_UPLOAD, &staging, error);
    for (size_t i = 0; done && i < count; i++) {
        const struct upload *upload = &uploads[i];
        for (size_t at = 0, bytes; done && at < upload->to.bytes; at += bytes) {
            if (used == staging.bytes || pieces == MOST_COPIES) {
                done = copy_pieces(gpu, commands, &staging, copies, to, pieces, error);
                pieces = used = 0;
            }
            bytes =
                upload->to.bytes - at < staging.bytes - used ? upload->to.bytes - at : staging.bytes - used;
            memcpy((char *)staging.mapped + used, (const char *)upload->data + at, bytes);
            copies[pieces] = (VkBufferCopy){used, upload->to.offset + at, bytes};
            to[pieces++] = upload->to.buffer->handle;
            used += bytes;
        }
    }
    if (done && pieces > 0)
        done = copy_pieces(gpu, commands, &staging, copies, to, pieces, error);
    gpu->vk.FreeCommandBuffers(gpu->device, gpu->commands, 1, &commands);
    wnn_buffer_free(gpu, &staging);
    return done;
}

bool wnn_gpu_upload(struct gpu *gpu, const struct upload *uploads, size_t count, struct error *error)
{
    size_t staged = 0;
    for (size_t i = 0; i < count; i++) {
        const struct region *to = &uploads[i].to;
        if (to->buffer->mapped) {
            memcpy((char *)to->buffer->mapped + to->offset, uploads[i].data, to->bytes);
            if (!wnn_buffer_flush(gpu, to->buffer, error))
                return false;
        } else {
            staged += to->bytes;
        }
    }
    return staged == 0 || upload_staged(gpu, uploads, count, staged, error);
}
