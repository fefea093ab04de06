// SPDX-License-Identifier: Apache-2.0
#include "vulkan/program/constants.h"

#include "compiler/resolve.h"

#define PIECE ((uint64_t)1 << 30)

struct loading {
    struct gpu *gpu;
    struct executable *executable;
    struct uploads uploads;
    bool *is_output; // by operand
    bool *is_there;  // likewise: another graph has uploaded it
};

// ---------------------------------------------------------------------------------------------------------------
// Places
// ---------------------------------------------------------------------------------------------------------------

// Gives every constant that is used a region of a piece; returns the number of pieces, whose sizes go to
// `bytes`.
static size_t place_constants(struct executable *executable, size_t *bytes, uint64_t most)
{
    const struct graph *graph = &executable->plan->graph;
    size_t pieces = 0;
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (!operand->constant || operand->uses == 0)
            continue;
        size_t size = operand->constant->bytes;
        if (pieces == 0 || bytes[pieces - 1] + wnn_aligned(size) > most)
            bytes[pieces++] = 0;
        executable->regions[i] = (struct region){&executable->constants[pieces - 1], bytes[pieces - 1], size};
        bytes[pieces - 1] += wnn_aligned(size);
    }
    return pieces;
}

// In buffers of its own.
static bool place_own(struct gpu *gpu, struct executable *executable, uint64_t most, struct error *error)
{
    size_t operands = executable->plan->graph.operand_count;
    size_t *bytes = wnn_arena_allocate(&executable->records, operands * sizeof bytes[0]);
    executable->constants =
        wnn_arena_allocate(&executable->records, operands * sizeof executable->constants[0]);
    if (!bytes || !executable->constants)
        return wnn_fail_memory(error);
    size_t count = place_constants(executable, bytes, most);
    for (size_t i = 0; i < count; i++) {
        if (!wnn_buffer_create(gpu, bytes[i], BUFFER_WRITABLE, &executable->constants[i], error))
            return false;
        executable->constant_count++;
    }
    return true;
}

// In buffers that others have too. `values`: by operand.
static bool place_shared(struct shared_constants *shared, struct loading *loading, uint64_t most,
                         struct shared_constant *values, struct error *error)
{
    struct executable *executable = loading->executable;
    size_t operands = executable->plan->graph.operand_count;
    struct shared_holds *holds = &executable->shared;
    holds->pieces = wnn_arena_allocate(&executable->records, operands * sizeof holds->pieces[0]);
    holds->constants = wnn_arena_allocate(&executable->records, operands * sizeof holds->constants[0]);
    if (!holds->pieces || !holds->constants)
        return wnn_fail_memory(error);
    if (!wnn_shared_place(shared, executable->plan, most, executable->regions, values, holds, error))
        return false;
    for (size_t i = 0; i < operands; i++)
        loading->is_there[i] = !values[i].is_new;
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Bytes
// ---------------------------------------------------------------------------------------------------------------

// What stays of a constant on the host when the device has it: its bytes in the order in which they are
// saved, or only where they can be had from again. NULL: there is no memory.
static struct constant *without_bytes(const struct loading *loading, const struct operand *operand)
{
    struct allocator *allocator = loading->gpu->allocator;
    bool savable = loading->executable->plan->savable;
    struct origin *whole = savable ? wnn_arranged_origin(allocator, operand, operand->constant) : NULL,
                  *origin = wnn_strip_origin(allocator, whole);
    struct constant *constant = wnn_constant_promise(allocator, operand->constant->bytes, origin);
    wnn_origin_unref(origin);
    wnn_origin_unref(whole);
    return constant;
}

static bool keeps_bytes(const struct loading *loading, const struct operand *operand,
                        const struct constant *without)
{
    const struct plan *plan = loading->executable->plan;
    return loading->is_output[operand->index] ||
           (plan->savable && !(plan->weightless && wnn_kept_origin(without)));
}

// Has the bytes; uploads them, unless the device has them; and keeps them, or gives them back.
static bool load_bytes(struct loading *loading, const struct operand *operand, bool keeps,
                       struct constant **kept, struct error *error)
{
    const struct executable *executable = loading->executable;
    struct region to = executable->regions[operand->index];
    struct constant *with =
        wnn_with_bytes(loading->gpu, executable->plan->resolver, operand->constant, error);
    if (!with)
        return false;
    struct constant *whole = keeps ? wnn_arranged(loading->gpu->allocator, operand, with) : NULL;
    bool done = !keeps || whole || wnn_fail_memory(error);
    if (done && to.buffer && !loading->is_there[operand->index])
        done = whole ? wnn_uploads_add(&loading->uploads, whole->data, to, error)
                     : wnn_arrange(&loading->uploads, operand, with, to, error);
    wnn_constant_unref(with);
    if (whole) {
        wnn_constant_unref(*kept);
        *kept = whole;
    }
    return done;
}

static bool load(struct loading *loading, struct operand *operand, struct error *error)
{
    bool reads = operand->uses > 0 && !loading->is_there[operand->index];
    if (operand->uses == 0 && !wnn_constant_has_bytes(operand->constant))
        return true;
    struct constant *kept = without_bytes(loading, operand);
    if (!kept)
        return wnn_fail_memory(error);
    bool keeps = keeps_bytes(loading, operand, kept),
         done = (!reads && !keeps) || load_bytes(loading, operand, keeps, &kept, error);
    wnn_constant_unref(operand->constant);
    operand->constant = kept;
    operand->arrangement = ARRANGED_AS_IT_IS;
    return done;
}

static bool load_all(struct loading *loading, struct error *error)
{
    struct executable *executable = loading->executable;
    const struct graph *graph = &executable->plan->graph;
    uint64_t bytes = 0;
    bool done = true;
    for (size_t i = 0; i < graph->operand_count; i++)
        if (graph->operands[i]->constant && !loading->is_there[i])
            bytes += executable->regions[i].bytes;
    wnn_uploads_begin(&loading->uploads, loading->gpu, &executable->program.command_pool, bytes);
    for (size_t i = 0; done && i < graph->operand_count; i++)
        if (graph->operands[i]->constant)
            done = wnn_interrupt_check(executable->plan->interrupt, error) &&
                   load(loading, graph->operands[i], error);
    return wnn_uploads_end(&loading->uploads, done, error);
}

static bool place_and_load(struct shared_constants *shared, struct loading *loading, struct arena *arena,
                           struct error *error)
{
    struct executable *executable = loading->executable;
    struct graph *graph = &executable->plan->graph;
    uint64_t most = loading->gpu->can.allocation < PIECE ? loading->gpu->can.allocation : PIECE;
    struct shared_constant *values = NULL;
    loading->is_output = wnn_arena_allocate(arena, graph->operand_count * sizeof loading->is_output[0]);
    loading->is_there = wnn_arena_allocate(arena, graph->operand_count * sizeof loading->is_there[0]);
    if (!loading->is_output || !loading->is_there)
        return wnn_fail_memory(error);
    for (size_t i = 0; i < graph->output_count; i++)
        loading->is_output[graph->outputs[i].operand->index] = true;
    if (!graph->recorded && !wnn_derived_has_part(executable->plan->derived))
        return place_own(loading->gpu, executable, most, error) && load_all(loading, error);
    values = wnn_arena_allocate(arena, graph->operand_count * sizeof values[0]);
    if (!values)
        return wnn_fail_memory(error);
    return place_shared(shared, loading, most, values, error) && load_all(loading, error) &&
           wnn_shared_publish(shared, values, graph->operand_count, &executable->shared, error);
}

bool wnn_constants_load(struct shared_constants *shared, struct executable *executable, struct error *error)
{
    struct loading loading = {.gpu = shared->gpu, .executable = executable};
    struct arena arena;
    wnn_graph_count_uses(&executable->plan->graph);
    wnn_arena_init(&arena, shared->gpu->allocator);
    bool done = place_and_load(shared, &loading, &arena, error);
    wnn_arena_free(&arena);
    return done;
}
