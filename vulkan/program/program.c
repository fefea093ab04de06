// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/program.h"

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
            wnn_pipelines_unref(program->pipelines, step->pipeline);
    wnn_buffer_free(gpu, &program->parameters);
    wnn_command_pool_free(gpu, &program->command_pool);
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

struct step *wnn_program_repeat(struct program *program, const struct step *step)
{
    struct step *copy = wnn_program_add(program, step->kind, step->node);
    if (!copy)
        return NULL;
    *copy = *step;
    copy->next = NULL;
    wnn_pipelines_ref(program->pipelines, copy->pipeline);
    return copy;
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

struct region wnn_program_counters(struct program *program, size_t count)
{
    struct region region = {program->counters, program->counter_bytes, count * sizeof(uint32_t)};
    program->counter_bytes += wnn_aligned(region.bytes);
    return region;
}

bool wnn_program_find_choice(const struct program *program, struct cache_choice *choice)
{
    const struct choice *kept = program->choices;
    while (kept && memcmp(&kept->choice.key, &choice->key, sizeof choice->key) != 0)
        kept = kept->next;
    if (kept)
        *choice = kept->choice;
    return kept != NULL;
}

bool wnn_program_keep_choice(struct program *program, const struct cache_choice *choice)
{
    struct choice *kept = wnn_arena_allocate(&program->records, sizeof *kept);
    if (!kept)
        return false;
    *kept = (struct choice){program->choices, *choice};
    program->choices = kept;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Finishing
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
    return wnn_pipelines_compile(program->pipelines, list, count, program->kept, error);
}

static bool upload_parameters(struct program *program, struct error *error)
{
    size_t bytes = program->word_count * sizeof program->words[0];
    if (bytes == 0)
        return true;
    if (!wnn_buffer_create(program->gpu, bytes, BUFFER_WRITABLE, &program->parameters, error))
        return false;
    const struct upload upload = {program->words, {&program->parameters, 0, bytes}};
    return wnn_gpu_upload(program->gpu, &program->command_pool, &upload, 1, error);
}

bool wnn_program_finish(struct program *program, struct error *error)
{
    if (!compile(program, error) || !upload_parameters(program, error))
        return false;
    for (struct step *step = program->first; step; step = step->next)
        if (step->has_parameters)
            step->bindings[step->parameter_binding].region.buffer = &program->parameters;
    wnn_program_estimate(program);
    return true;
}

struct access wnn_program_access(const struct program *program, const struct record_params *params,
                                 const struct binding *binding)
{
    const struct region *region = &binding->region;
    size_t variable = ((uintptr_t)region->buffer - (uintptr_t)program->variables) / sizeof *region->buffer;
    bool varies = region->buffer >= program->variables && variable < program->variable_count;
    const struct location location =
        varies ? params->locations[variable] : (struct location){region->buffer->handle, 0};
    size_t begin = location.offset + region->offset;
    return (struct access){location.handle, begin / 4 * 4, (begin + region->bytes + 3) / 4 * 4,
                           binding->writes};
}

bool wnn_access_conflicts(const struct access *a, const struct access *b)
{
    return (a->writes || b->writes) && a->buffer == b->buffer && a->begin < b->end && b->begin < a->end;
}

bool wnn_program_omits(const struct program *program, const struct record_params *params,
                       const struct step *step)
{
    if (step->kind != STEP_COPY)
        return false;
    struct access from = wnn_program_access(program, params, &step->bindings[0]),
                  to = wnn_program_access(program, params, &step->bindings[1]);
    return from.buffer == to.buffer && from.begin == to.begin;
}

static bool conflict(const struct program *program, const struct record_params *params, const struct step *a,
                     const struct step *b)
{
    for (unsigned i = 0; i < a->binding_count; i++)
        for (unsigned k = 0; k < b->binding_count; k++) {
            struct access one = wnn_program_access(program, params, &a->bindings[i]),
                          other = wnn_program_access(program, params, &b->bindings[k]);
            if (wnn_access_conflicts(&one, &other))
                return true;
        }
    return false;
}

bool wnn_program_check(const struct program *program, const struct record_params *params, struct error *error)
{
    for (const struct step *a = program->first; a; a = a->next)
        for (const struct step *b = a->next; b; b = b->next)
            if (b->barriers <= a->barriers && conflict(program, params, a, b) &&
                !wnn_program_omits(program, params, a) && !wnn_program_omits(program, params, b))
                return wnn_fail(error, WNNStatus_UnknownError,
                                "Vulkan: there is no barrier between %s and %s",
                                a->node ? wnn_ops[a->node->op].name : "a copy",
                                b->node ? wnn_ops[b->node->op].name : "a copy");
    return true;
}
