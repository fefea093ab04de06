// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/tile_search.h"

#include "lib/log.h"

#include <math.h>
#include <string.h>

enum {
    ROUNDS = 5,              // of all ways by turns
    BLOCK_BYTES = 1 << 20,   // of numbers, again and again
    MAX_BYTES = 256 << 20,   // that a search may take of the device
    COUNTERS_BYTES = 1 << 16 // of work groups that are done
};

static const double worth = 0.98, // of the time of what was expected, or less
    enough = 1e8;                 // nanoseconds of the device, after which what is known has to do

void wnn_search_tell(struct search *search, uint64_t number)
{
    for (unsigned i = 0; i < 2 && search->word_count < SEARCH_WORDS; i++)
        search->words[search->word_count++] = (uint32_t)(number >> (32 * i));
}

// ---------------------------------------------------------------------------------------------------------------
// Running ways
// ---------------------------------------------------------------------------------------------------------------

// What they all run on.
struct ground {
    struct buffer buffer, counters;
    size_t scratch_offset;
};

struct trial {
    struct program program;
    struct recording recording;
    double least; // nanoseconds
};

// Of either sign, from 0.5 up to 1.
static void fill(uint32_t *words, size_t count, WNNDataType type)
{
    uint32_t state = 1, base = type == WNNDataType_Float16 ? 0x38003800 : 0x3F000000,
             random = type == WNNDataType_Float16 ? 0x83FF83FF : 0x807FFFFF;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525 + 1013904223;
        words[i] = base | ((state ^ state >> 15) & random);
    }
}

static bool upload(struct gpu *gpu, struct command_pool *pool, const struct ground *ground, WNNDataType type,
                   struct error *error)
{
    struct upload uploads[MAX_BYTES / BLOCK_BYTES + 2];
    size_t count = 0, bytes = ground->buffer.bytes;
    uint32_t *block = wnn_allocate(gpu->allocator, BLOCK_BYTES),
             *zeros = wnn_allocate_zero(gpu->allocator, COUNTERS_BYTES);
    bool done = block && zeros;
    if (done) {
        fill(block, BLOCK_BYTES / sizeof block[0], type);
        for (size_t at = 0; at < bytes; at += BLOCK_BYTES)
            uploads[count++] = (struct upload){
                block, {&ground->buffer, at, bytes - at < BLOCK_BYTES ? bytes - at : BLOCK_BYTES}};
        uploads[count++] = (struct upload){zeros, {&ground->counters, 0, COUNTERS_BYTES}};
        done = wnn_gpu_upload(gpu, pool, uploads, count, error);
    }
    wnn_release(gpu->allocator, block);
    wnn_release(gpu->allocator, zeros);
    return done;
}

// Room for tensors and scratch memory, which is taken.
static bool make_ground(struct search *search, struct ground *ground, struct error *error)
{
    struct gpu *gpu = search->lowering->gpu;
    size_t at = 0, scratch = search->lowering->scratch.bytes;
    for (unsigned i = 0; i < search->tensor_count && at <= MAX_BYTES; i++) {
        struct region *region = &search->tensors[i]->region;
        *region = (struct region){&ground->buffer, at, region->bytes};
        at += region->bytes <= MAX_BYTES ? wnn_aligned(region->bytes) : MAX_BYTES + 1;
    }
    ground->scratch_offset = at;
    return at <= MAX_BYTES && scratch <= MAX_BYTES - at &&
           wnn_buffer_create(gpu, at + wnn_aligned(scratch), BUFFER_WRITABLE, &ground->buffer, error) &&
           wnn_buffer_create(gpu, COUNTERS_BYTES, BUFFER_WRITABLE, &ground->counters, error);
}

static bool lower(const struct search *search, size_t way, const struct ground *ground, struct trial *trial,
                  struct error *error)
{
    struct lowering lowering = *search->lowering;
    lowering.program = &trial->program;
    lowering.fused = NULL;
    lowering.error = error;
    lowering.scratch = (struct region){&ground->buffer, ground->scratch_offset, lowering.scratch.bytes};
    trial->program.counters = &ground->counters;
    search->lower(&lowering, search->what, way);
    return !lowering.failed && trial->program.counter_bytes <= ground->counters.bytes;
}

// All shaders at once. They are not for the host's cache, which gets that of the way that is taken.
static bool compile(const struct search *search, struct trial *trials, struct error *error)
{
    struct pipelines *pipelines = search->lowering->program->pipelines;
    struct pipeline *list[4 * SEARCH_WAYS];
    size_t count = 0;
    for (size_t i = 0; i < search->ways; i++)
        for (const struct step *step = trials[i].program.first; step; step = step->next)
            if (step->pipeline && count < sizeof list / sizeof list[0])
                list[count++] = step->pipeline;
    const WNNCache *host = pipelines->cache.host;
    pipelines->cache.host = NULL;
    bool done = wnn_pipelines_compile(pipelines, list, count, false, error);
    for (size_t i = 0; done && i < search->ways; i++)
        done = wnn_program_finish(&trials[i].program, error);
    pipelines->cache.host = host;
    return done;
}

static bool run(struct gpu *gpu, struct trial *trial, struct error *error)
{
    struct recording *recording = &trial->recording;
    for (size_t i = 0; i < recording->count; i++)
        recording->batches[i] = (struct batch){&recording->commands[i], 1};
    return wnn_gpu_run_batches(gpu, &trial->program.command_pool, recording->batches, recording->count,
                               error);
}

// Runs it until it is cut into submissions by what is measured, as it is in use, and no more by what was
// estimated: a cut costs more than what ways differ by.
static bool settle(struct gpu *gpu, struct trial *trial, struct error *error)
{
    static const struct record_params params = {.timestamps = TIMESTAMPS_SUBMISSIONS};
    unsigned version;
    do {
        version = trial->program.version;
        if (!wnn_program_record(&trial->program, &params, &trial->recording, error) ||
            !run(gpu, trial, error))
            return false;
        wnn_program_learn(&trial->program, &trial->recording, 0);
        wnn_recording_free(&trial->recording);
    } while (trial->program.version != version);
    return trial->program.settled;
}

static bool time_of(struct gpu *gpu, struct trial *trial, double *time, struct error *error)
{
    return trial->recording.timestamp_count == 2 && run(gpu, trial, error) &&
           wnn_recording_times(&trial->recording, time);
}

static bool run_all(const struct search *search, const struct ground *ground, struct trial *trials,
                    struct error *error)
{
    struct gpu *gpu = search->lowering->gpu;
    const struct record_params params = {.timestamps = TIMESTAMPS_WHOLE};
    const struct interrupt *interrupt = search->lowering->program->pipelines->interrupt;
    if (!upload(gpu, &trials[0].program.command_pool, ground, search->tensors[0]->type, error))
        return false;
    for (size_t i = 0; i < search->ways; i++)
        if (!wnn_interrupt_check(interrupt, error) || !settle(gpu, &trials[i], error) ||
            !wnn_program_record(&trials[i].program, &params, &trials[i].recording, error))
            return false;
    double time, spent = 0;
    for (size_t i = 0; i < search->ways; i++)
        trials[i].least = INFINITY;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < search->ways && spent < enough; i++, spent += time) {
            if (!wnn_interrupt_check(interrupt, error) || !time_of(gpu, &trials[i], &time, error))
                return false;
            trials[i].least = fmin(trials[i].least, time);
        }
    return true;
}

static size_t best_of(const struct search *search, const struct trial *trials)
{
    size_t best = 0;
    for (size_t i = 1; i < search->ways; i++)
        if (trials[i].least < trials[best].least)
            best = i;
    return trials[best].least <= worth * trials[0].least ? best : 0;
}

// False: it cannot be said.
static bool measure(struct search *search, size_t *way)
{
    const struct lowering *lowering = search->lowering;
    struct gpu *gpu = lowering->gpu;
    struct error error = {0};
    struct ground ground = {.scratch_offset = 0};
    struct trial *trials = wnn_allocate_zero(gpu->allocator, search->ways * sizeof trials[0]);
    if (!trials)
        return false;
    for (size_t i = 0; i < search->ways; i++)
        wnn_program_init(&trials[i].program, gpu, lowering->program->pipelines);
    bool done = make_ground(search, &ground, &error);
    for (size_t i = 0; done && i < search->ways; i++)
        done = lower(search, i, &ground, &trials[i], &error);
    done = done && compile(search, trials, &error) && run_all(search, &ground, trials, &error);
    if (done) {
        *way = best_of(search, trials);
        wnn_log(lowering->program->pipelines->cache.log, Verbose,
                "of %zu ways, number %zu takes %.1f us, the first %.1f us", search->ways, *way + 1,
                trials[*way].least / 1000, trials[0].least / 1000);
    }
    for (size_t i = 0; i < search->ways; i++) {
        wnn_recording_free(&trials[i].recording);
        wnn_program_free(&trials[i].program);
    }
    wnn_buffer_free(gpu, &ground.buffer);
    wnn_buffer_free(gpu, &ground.counters);
    wnn_release(gpu->allocator, trials);
    return done;
}

// ---------------------------------------------------------------------------------------------------------------
// Answers
// ---------------------------------------------------------------------------------------------------------------

size_t wnn_search(struct search *search)
{
    const struct lowering *lowering = search->lowering;
    struct program *program = lowering->program;
    const struct cache *cache = &program->pipelines->cache;
    size_t way = 0;
    if (!program->searches || search->ways < 2 || search->word_count == SEARCH_WORDS)
        return 0;
    struct cache_choice choice = {
        wnn_cache_key(cache, (const char *)search->words, search->word_count * sizeof search->words[0]), {0}};
    if (wnn_program_find_choice(program, &choice) && wnn_cache_check_choice(&choice, search->ways, &way))
        return way;
    if (!wnn_cache_load_choice(cache, &choice, search->ways, &way)) {
        // Code that is brought is that of the first, if nothing else is said.
        if (!cache->host || cache->code_count > 0 || lowering->gpu->is_described ||
            lowering->gpu->can.clock_bits == 0 || !measure(search, &way))
            return 0;
        wnn_cache_make_choice(way, &choice);
        wnn_cache_store_choice(cache, &choice);
    }
    // What is saved without its answer would be loaded as another.
    return wnn_program_keep_choice(program, &choice) ? way : 0;
}
