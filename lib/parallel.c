// SPDX-License-Identifier: Apache-2.0
#include "lib/parallel.h"

#include <string.h>

// A piece is computed in slices of so many grains, between which it is asked whether to stop: about a
// millisecond. Where the grain is 1, one item may take longer than a grain should, and each is a slice.
#define SLICE_GRAINS 64

struct pieces {
    void (*body)(void *argument, size_t begin, size_t end);
    void *argument;
    size_t count, pieces, slice;
    const struct interrupt *interrupt;
};

static void run_slices(const struct pieces *p, size_t begin, size_t end)
{
    for (; end - begin > p->slice; begin += p->slice) {
        if (wnn_interrupted(p->interrupt))
            return;
        p->body(p->argument, begin, begin + p->slice);
    }
    if (!wnn_interrupted(p->interrupt))
        p->body(p->argument, begin, end);
}

static void run_piece(void *argument, size_t index)
{
    const struct pieces *p = argument;
    // The first `rest` pieces are one longer.
    size_t size = p->count / p->pieces, rest = p->count % p->pieces;
    size_t begin = index * size + (index < rest ? index : rest);
    run_slices(p, begin, begin + size + (index < rest));
}

void wnn_parallel_for(const struct parallel *parallel, size_t count, size_t grain,
                      void (*body)(void *argument, size_t begin, size_t end), void *argument)
{
    if (count == 0)
        return;
    size_t pieces = count / (grain ? grain : 1),
           most = parallel->threads == 1 ? 1 : (size_t)parallel->threads * 4;
    if (pieces > most)
        pieces = most;
    struct pieces state = {body, argument, count, pieces, SIZE_MAX, parallel->interrupt};
    if (parallel->interrupt)
        state.slice = grain <= 1 ? 1 : grain > SIZE_MAX / SLICE_GRAINS ? SIZE_MAX : grain * SLICE_GRAINS;
    if (pieces <= 1)
        run_slices(&state, 0, count);
    else
        parallel->run(parallel, pieces, run_piece, &state);
}

struct tasks {
    void (*task)(void *argument, size_t index);
    void *argument;
    const struct interrupt *interrupt;
};

static void run_task(void *argument, size_t index)
{
    const struct tasks *tasks = argument;
    if (!wnn_interrupted(tasks->interrupt))
        tasks->task(tasks->argument, index);
}

void wnn_parallel_run(const struct parallel *parallel, size_t count,
                      void (*task)(void *argument, size_t index), void *argument)
{
    struct tasks tasks = {task, argument, parallel->interrupt};
    parallel->run(parallel, count, run_task, &tasks);
}

static void run_serially(const struct parallel *parallel, size_t count,
                         void (*task)(void *argument, size_t index), void *argument)
{
    (void)parallel;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

const struct parallel wnn_serial = {.run = run_serially, .threads = 1};

struct parallel wnn_parallel_alone(const struct interrupt *interrupt)
{
    return (struct parallel){.run = run_serially, .threads = 1, .interrupt = interrupt};
}

#define ZEROS ((size_t)256 << 10) // bytes of a piece

struct zeros {
    char *memory;
    size_t size;
};

static void make_zeros(void *argument, size_t begin, size_t end)
{
    const struct zeros *zeros = argument;
    size_t from = begin * ZEROS, to = end * ZEROS < zeros->size ? end * ZEROS : zeros->size;
    wnn_populate(zeros->memory + from, to - from);
    memset(zeros->memory + from, 0, to - from);
}

void *wnn_parallel_zeros(const struct parallel *parallel, struct allocator *allocator, size_t size)
{
    struct parallel all = *parallel;
    struct zeros zeros = {wnn_allocate_bare(allocator, size), size + WNN_SLACK};
    all.interrupt = NULL;
    if (zeros.memory)
        wnn_parallel_for(&all, zeros.size / ZEROS + 1, 1, make_zeros, &zeros);
    return zeros.memory;
}
