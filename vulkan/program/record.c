// SPDX-License-Identifier: Apache-2.0
//
// Recording a program: barriers, cuts between submissions, stamps of the device's clock.

#include "vulkan/program/schedule.h"

#include <assert.h>
#include <string.h>

// What a recording is made with.
struct recorder {
    struct program *program;
    const struct record_params *params;
    struct recording *recording;
    const struct slot *slots; // all steps
    size_t slot_count;
    VkCommandBuffer commands; // of the current submission
    bool copies;              // not all steps are dispatches
    bool copied, dispatched;  // since the last barrier, which reaches back into earlier submissions
};

static struct access access_of(const struct recorder *recorder, const struct binding *binding)
{
    return wnn_program_access(recorder->program, recorder->params, binding);
}

// ---------------------------------------------------------------------------------------------------------------
// Barriers
// ---------------------------------------------------------------------------------------------------------------

// Stages of the device, and accesses in them.
struct scope {
    VkPipelineStageFlags stages;
    VkAccessFlags reads, writes;
};

static struct scope scope_of(bool dispatches, bool copies)
{
    struct scope scope = {0};
    if (dispatches)
        scope = (struct scope){VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_READ_BIT,
                               VK_ACCESS_SHADER_WRITE_BIT};
    if (copies) {
        scope.stages |= VK_PIPELINE_STAGE_TRANSFER_BIT;
        scope.reads |= VK_ACCESS_TRANSFER_READ_BIT;
        scope.writes |= VK_ACCESS_TRANSFER_WRITE_BIT;
    }
    return scope;
}

// What all of the recording may do.
static struct scope whole_scope(const struct recorder *recorder)
{
    return scope_of(recorder->program->dispatches > 0 || !recorder->copies, recorder->copies);
}

static void order(const struct recorder *recorder, struct scope from, struct scope to)
{
    const struct gpu *gpu = recorder->program->gpu;
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = from.writes,
                                     .dstAccessMask = to.reads | to.writes};
    gpu->vk.CmdPipelineBarrier(recorder->commands, from.stages, to.stages, 0, 1, &barrier, 0, NULL, 0, NULL);
}

// Everything before the barrier comes before everything behind it.
static void add_barrier(struct recorder *recorder)
{
    order(recorder, scope_of(recorder->dispatched, recorder->copied), whole_scope(recorder));
    recorder->copied = recorder->dispatched = false;
    recorder->recording->barriers++;
}

// Takes the foreign buffers from the other users of their memory, or gives them back.
static void hand_over(const struct recorder *recorder, bool back)
{
    const struct gpu *gpu = recorder->program->gpu;
    struct scope scope = whole_scope(recorder);
    for (size_t i = 0; i < recorder->params->foreign_count; i++) {
        const VkBufferMemoryBarrier barrier = {
            .sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
            .srcAccessMask = back ? scope.writes : 0,
            .dstAccessMask = back ? 0 : scope.reads | scope.writes,
            .srcQueueFamilyIndex = back ? gpu->family : VK_QUEUE_FAMILY_EXTERNAL,
            .dstQueueFamilyIndex = back ? VK_QUEUE_FAMILY_EXTERNAL : gpu->family,
            .buffer = recorder->params->foreign[i],
            .size = VK_WHOLE_SIZE};
        gpu->vk.CmdPipelineBarrier(recorder->commands, scope.stages, scope.stages, 0, 0, NULL, 1, &barrier, 0,
                                   NULL);
    }
}

// Follows what was submitted before, of which nothing else is known.
static void enter(const struct recorder *recorder)
{
    if (recorder->params->ordered)
        order(recorder, scope_of(true, true), whole_scope(recorder));
    hand_over(recorder, false);
}

// Lets the host and what is submitted later see the results.
static void leave(const struct recorder *recorder)
{
    struct scope to = {VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT, 0}, device = scope_of(true, true);
    hand_over(recorder, true);
    if (recorder->params->ordered) {
        to.stages |= device.stages;
        to.reads |= device.reads;
        to.writes |= device.writes;
    }
    order(recorder, whole_scope(recorder), to);
}

// ---------------------------------------------------------------------------------------------------------------
// Steps
// ---------------------------------------------------------------------------------------------------------------

static bool create_pool(const struct program *program, struct recording *recording, struct error *error)
{
    struct gpu *gpu = program->gpu;
    if (program->dispatches == 0)
        return true;
    uint32_t buffers = 0;
    for (const struct step *step = program->first; step; step = step->next)
        buffers += step->kind == STEP_DISPATCH ? wnn_gpu_layout(gpu, step->binding_count) : 0;
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers};
    const VkDescriptorPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                             .maxSets = (uint32_t)program->dispatches,
                                             .poolSizeCount = 1,
                                             .pPoolSizes = &size};
    VkResult result = gpu->vk.CreateDescriptorPool(gpu->device, &info, NULL, &recording->pool);
    if (result == VK_SUCCESS)
        return true;
    recording->pool = VK_NULL_HANDLE; // whatever the driver says
    return wnn_gpu_fail(gpu, result, "vkCreateDescriptorPool", error);
}

// Push constants of a dispatch: where what it is bound to begins, if that is not known, and its parameters
// behind that. As few as can be, since fetching them comes before all that a shader does.
struct pushed {
    uint32_t words[GPU_BUFFERS + GPU_PUSHED], count;
};

// Binds what a dispatch needs.
static bool write_descriptors(struct recorder *recorder, const struct step *step, VkDescriptorSet *set,
                              struct pushed *pushed, struct error *error)
{
    struct gpu *gpu = recorder->program->gpu;
    uint32_t layout = wnn_gpu_layout(gpu, step->binding_count);
    const VkDescriptorSetAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                              .descriptorPool = recorder->recording->pool,
                                              .descriptorSetCount = 1,
                                              .pSetLayouts = &gpu->set_layouts[layout]};
    VkResult result = gpu->vk.AllocateDescriptorSets(gpu->device, &info, set);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkAllocateDescriptorSets", error);
    VkDescriptorBufferInfo buffers[GPU_BUFFERS];
    VkWriteDescriptorSet writes[GPU_BUFFERS];
    for (unsigned i = 0; i < step->binding_count; i++) {
        struct access access = access_of(recorder, &step->bindings[i]);
        size_t begin = access.begin / gpu->can.storage_alignment * gpu->can.storage_alignment;
        buffers[i] = (VkDescriptorBufferInfo){access.buffer, begin, access.end - begin};
        assert(step->has_bases || access.begin == begin ||
               (i == step->parameter_binding && step->has_parameters)); // it reads none
        if (step->has_bases)
            pushed->words[pushed->count++] = (uint32_t)((access.begin - begin) / 4);
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                           .dstSet = *set,
                                           .dstBinding = i,
                                           .descriptorCount = 1,
                                           .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                           .pBufferInfo = &buffers[i]};
    }
    gpu->vk.UpdateDescriptorSets(gpu->device, step->binding_count, writes, 0, NULL);
    memcpy(pushed->words + pushed->count, step->pushed, step->pushed_count * sizeof step->pushed[0]);
    pushed->count += step->pushed_count;
    return true;
}

// The dimension along which a dispatch can be cut. Shaders that reduce a long row of work groups count
// y * gl_NumWorkGroups.x + x, so that x stays whole unless it is all there is.
static unsigned cut_dimension(const struct step *step)
{
    return step->groups[2] > 1 ? 2 : step->groups[1] > 1 ? 1 : 0;
}

// One of the parts of a dispatch.
static void record_part(struct recorder *recorder, const struct step *step, VkDescriptorSet set,
                        const struct pushed *pushed, uint32_t part)
{
    const struct gpu *gpu = recorder->program->gpu;
    VkPipelineLayout layout = gpu->layouts[wnn_gpu_layout(gpu, step->binding_count)];
    VkCommandBuffer commands = recorder->commands;
    unsigned cut = cut_dimension(step);
    uint32_t first[3] = {0}, groups[3] = {step->groups[0], step->groups[1], step->groups[2]};
    first[cut] = (uint32_t)((uint64_t)groups[cut] * part / step->parts);
    groups[cut] = (uint32_t)((uint64_t)groups[cut] * (part + 1) / step->parts) - first[cut];
    gpu->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, step->pipeline->handle);
    gpu->vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0, NULL);
    if (pushed->count > 0)
        gpu->vk.CmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 pushed->count * (uint32_t)sizeof pushed->words[0], pushed->words);
    if (step->parts > 1)
        gpu->vk.CmdDispatchBase(commands, first[0], first[1], first[2], groups[0], groups[1], groups[2]);
    else
        gpu->vk.CmdDispatch(commands, groups[0], groups[1], groups[2]);
}

static void stamp(struct recorder *recorder)
{
    const struct gpu *gpu = recorder->program->gpu;
    struct recording *recording = recorder->recording;
    if (recording->timestamp_count < recording->stamp_capacity)
        gpu->vk.CmdWriteTimestamp(recorder->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                                  recording->queries, recording->timestamp_count++);
}

// ---------------------------------------------------------------------------------------------------------------
// Submissions
// ---------------------------------------------------------------------------------------------------------------

static bool end_submission(struct recorder *recorder, struct error *error)
{
    struct gpu *gpu = recorder->program->gpu;
    if (recorder->recording->timestamps == TIMESTAMPS_SUBMISSIONS)
        stamp(recorder);
    VkResult result = gpu->vk.EndCommandBuffer(recorder->commands);
    return result == VK_SUCCESS || wnn_gpu_fail(gpu, result, "vkEndCommandBuffer", error);
}

// Ends the submission before it, if there is one.
static bool begin_submission(struct recorder *recorder, struct error *error)
{
    struct gpu *gpu = recorder->program->gpu;
    struct recording *recording = recorder->recording;
    bool first = recording->count == 0;
    if (!first && !end_submission(recorder, error))
        return false;
    if (!wnn_command_pool_allocate(gpu, &recorder->program->command_pool,
                                   &recording->commands[recording->count], error))
        return false;
    recorder->commands = recording->commands[recording->count++];
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VkResult result = gpu->vk.BeginCommandBuffer(recorder->commands, &begin);
    if (result != VK_SUCCESS)
        return wnn_gpu_fail(gpu, result, "vkBeginCommandBuffer", error);
    if (first && recording->queries)
        gpu->vk.CmdResetQueryPool(recorder->commands, recording->queries, 0, recording->stamp_capacity);
    if (recording->timestamps == TIMESTAMPS_SUBMISSIONS)
        stamp(recorder);
    return true;
}

static bool record_dispatch(struct recorder *recorder, const struct step *step, struct error *error)
{
    VkDescriptorSet set;
    struct pushed pushed = {.count = 0};
    if (!write_descriptors(recorder, step, &set, &pushed, error))
        return false;
    for (uint32_t part = 0; part < step->parts; part++) {
        if (part > 0 && !begin_submission(recorder, error))
            return false;
        record_part(recorder, step, set, &pushed, part);
    }
    return true;
}

static bool record_step(struct recorder *recorder, const struct step *step, struct error *error)
{
    const struct gpu *gpu = recorder->program->gpu;
    const struct access first = access_of(recorder, &step->bindings[0]);
    switch (step->kind) {
    case STEP_COPY: {
        const struct access to = access_of(recorder, &step->bindings[1]);
        if (wnn_program_omits(recorder->program, recorder->params, step))
            return true;
        const VkBufferCopy copy = {first.begin, to.begin, step->bindings[1].region.bytes};
        gpu->vk.CmdCopyBuffer(recorder->commands, first.buffer, to.buffer, 1, &copy);
        return true;
    }
    case STEP_FILL:
        gpu->vk.CmdFillBuffer(recorder->commands, first.buffer, first.begin, first.end - first.begin, 0);
        return true;
    default:
        return record_dispatch(recorder, step, error);
    }
}

// What a step is timed as a part of: a node, or itself. NULL: nothing.
static const void *timed_part(const struct step *step)
{
    return step->node ? (const void *)step->node : step->output ? step : NULL;
}

static void stamp_end(struct recorder *recorder, const struct step *step)
{
    struct recording *recording = recorder->recording;
    stamp(recorder);
    if (recording->timestamps == TIMESTAMPS_NODES && step->output)
        recording->copied[recording->copy_count++] = step->output - 1;
}

// Between any two levels there is a barrier.
static bool record_steps(struct recorder *recorder, struct error *error)
{
    struct recording *recording = recorder->recording;
    size_t level = 0;
    bool begun = false;
    if (!begin_submission(recorder, error))
        return false;
    enter(recorder);
    for (size_t i = 0; i < recorder->slot_count; i++) {
        struct step *step = recorder->slots[i].step;
        if (step->submission >= recording->count && !begin_submission(recorder, error))
            return false;
        const void *part = timed_part(step),
                   *next = i + 1 < recorder->slot_count ? timed_part(recorder->slots[i + 1].step) : NULL;
        if (part && !begun && recording->timestamps >= TIMESTAMPS_NODES)
            stamp(recorder);
        begun = begun || part;
        if (recorder->slots[i].level > level)
            add_barrier(recorder);
        level = recorder->slots[i].level;
        *(step->kind == STEP_DISPATCH ? &recorder->dispatched : &recorder->copied) = true;
        step->barriers = recording->barriers;
        if (!record_step(recorder, step, error))
            return false;
        if (part && (recording->timestamps == TIMESTAMPS_WHOLE ? !next : part != next) &&
            recording->timestamps >= TIMESTAMPS_NODES)
            stamp_end(recorder, step);
    }
    leave(recorder);
    return end_submission(recorder, error);
}

// Room for everything that recording makes, with so many copies of outputs.
static bool prepare(struct program *program, struct recording *recording, size_t copies, struct error *error)
{
    enum {
        MAX_MEASURED = 512 // submissions
    };
    struct gpu *gpu = program->gpu;
    recording->capacity = program->submissions + 1;
    recording->commands =
        wnn_allocate_zero(gpu->allocator, recording->capacity * sizeof recording->commands[0]);
    recording->batches =
        wnn_allocate(gpu->allocator, (recording->capacity + 1) * sizeof recording->batches[0]);
    if (copies > 0)
        recording->copied = wnn_allocate(gpu->allocator, copies * sizeof recording->copied[0]);
    if (!recording->commands || !recording->batches || (copies > 0 && !recording->copied))
        return wnn_fail_memory(error);
    size_t timestamps = recording->timestamps == TIMESTAMPS_SUBMISSIONS ? 2 * recording->capacity
                                                                        : program->steps + copies + 1;
    if (recording->timestamps == TIMESTAMPS_SUBMISSIONS && timestamps > 2 * MAX_MEASURED)
        timestamps = 2 * MAX_MEASURED;
    if (recording->timestamps == TIMESTAMPS_NONE || gpu->can.clock_bits == 0)
        return create_pool(program, recording, error);
    recording->stamp_capacity = (uint32_t)timestamps;
    const VkQueryPoolCreateInfo info = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
                                        .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                        .queryCount = recording->stamp_capacity};
    VkResult result = gpu->vk.CreateQueryPool(gpu->device, &info, NULL, &recording->queries);
    if (result != VK_SUCCESS) {
        recording->queries = VK_NULL_HANDLE;
        return wnn_gpu_fail(gpu, result, "vkCreateQueryPool", error);
    }
    return create_pool(program, recording, error);
}

static bool record(struct program *program, const struct record_params *params, struct recording *recording,
                   struct error *error)
{
    struct gpu *gpu = program->gpu;
    struct recorder recorder = {.program = program, .params = params, .recording = recording};
    struct arena arena;
    wnn_arena_init(&arena, gpu->allocator);
    // The end of each node can only be noted if its steps stay together.
    recorder.slots = wnn_program_schedule(program, params, recording->timestamps == TIMESTAMPS_NODES, &arena,
                                          &recorder.slot_count);
    for (const struct step *step = program->first; step; step = step->next)
        recorder.copies |= step->kind != STEP_DISPATCH;
    bool done = recorder.slots ? record_steps(&recorder, error) : wnn_fail_memory(error);
    wnn_arena_free(&arena);
#ifdef NDEBUG
    bool check = gpu->can.minimal;
#else
    bool check = true;
#endif
    return done && (!check || wnn_program_check(program, params, error));
}

bool wnn_program_record(struct program *program, const struct record_params *params,
                        struct recording *recording, struct error *error)
{
    *recording =
        (struct recording){.program = program, .timestamps = params->timestamps, .version = program->version};
    wnn_program_cut(program);
    size_t copies = 0;
    for (const struct step *step = params->after; step; step = step->next)
        copies += step->output != 0;
    if (!prepare(program, recording, copies, error))
        return false;
    // The copies are steps of the program while it is recorded.
    struct step *first = program->first, *head = params->before, **end = &head;
    while (*end)
        end = &(*end)->next;
    *end = first;
    if (first)
        end = program->last;
    *end = params->after;
    program->first = head;
    bool done = record(program, params, recording, error);
    program->first = first;
    if (first)
        *program->last = NULL;
    return done;
}

void wnn_recording_free(struct recording *recording)
{
    if (!recording->program)
        return;
    struct gpu *gpu = recording->program->gpu;
    if (recording->count > 0)
        gpu->vk.FreeCommandBuffers(gpu->device, recording->program->command_pool.handle,
                                   (uint32_t)recording->count, recording->commands);
    wnn_release(gpu->allocator, recording->commands);
    wnn_release(gpu->allocator, recording->batches);
    wnn_release(gpu->allocator, recording->copied);
    gpu->vk.DestroyDescriptorPool(gpu->device, recording->pool, NULL);
    gpu->vk.DestroyQueryPool(gpu->device, recording->queries, NULL);
    *recording = (struct recording){0};
}

bool wnn_recording_times(const struct recording *recording, double *times)
{
    struct gpu *gpu = recording->program->gpu;
    uint32_t count = recording->timestamp_count,
             pairs = recording->timestamps == TIMESTAMPS_SUBMISSIONS ? 2 : 1;
    uint64_t *timestamps = count > 1 ? wnn_allocate(gpu->allocator, count * sizeof timestamps[0]) : NULL;
    if (!timestamps)
        return false;
    VkResult result =
        gpu->vk.GetQueryPoolResults(gpu->device, recording->queries, 0, count, count * sizeof timestamps[0],
                                    timestamps, sizeof timestamps[0], VK_QUERY_RESULT_64_BIT);
    for (uint32_t i = 0; result == VK_SUCCESS && i + 1 < count; i += pairs) {
        uint64_t ticks = (timestamps[i + 1] - timestamps[i]) & (UINT64_MAX >> (64 - gpu->can.clock_bits));
        times[i / pairs] = (double)ticks * (double)gpu->can.clock_period;
    }
    wnn_release(gpu->allocator, timestamps);
    return result == VK_SUCCESS;
}
