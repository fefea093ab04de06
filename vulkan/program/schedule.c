// SPDX-License-Identifier: Apache-2.0
//
// Which steps of a program may run at the same time, by what they read and write: the fewest levels, so that
// a recording has the fewest barriers.

#include "vulkan/program/schedule.h"

#include <stdlib.h>

// How far back steps are compared; what is farther away is finished before.
#define WINDOW 256

struct scheduler {
    struct slot *slots;
    struct access *accesses; // of all steps
    size_t *first;           // by slot: its accesses, which end where the next one's begin
};

static bool conflicts(const struct scheduler *scheduler, size_t a, size_t b)
{
    for (size_t i = scheduler->first[a]; i < scheduler->first[a + 1]; i++)
        for (size_t k = scheduler->first[b]; k < scheduler->first[b + 1]; k++)
            if (wnn_access_conflicts(&scheduler->accesses[i], &scheduler->accesses[k]))
                return true;
    return false;
}

// Submissions follow each other, and so do copies from the host, nodes, and copies to the host.
static bool begins_part(const struct step *before, const struct step *step)
{
    return step->submission != before->submission || !step->node != !before->node;
}

static void set_levels(struct scheduler *scheduler, size_t count, bool in_order)
{
    struct slot *slots = scheduler->slots;
    size_t least = 0, highest = 0; // of the part; so far
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (in_order || begins_part(slots[i - 1].step, slots[i].step)))
            least = highest;
        if (i > WINDOW && slots[i - WINDOW - 1].level >= least)
            least = slots[i - WINDOW - 1].level + 1;
        size_t level = least;
        for (size_t k = i; k-- > 0 && i - k <= WINDOW && level <= highest;)
            if (slots[k].level >= level && conflicts(scheduler, i, k))
                level = slots[k].level + 1;
        slots[i].level = level;
        highest = level > highest ? level : highest;
    }
}

static int compare_slots(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;
    return x->level != y->level ? (x->level > y->level) - (x->level < y->level)
                                : (x->position > y->position) - (x->position < y->position);
}

struct slot *wnn_program_schedule(const struct program *program, const struct record_params *params,
                                  bool in_order, struct arena *arena, size_t *count)
{
    size_t steps = 0, accesses = 0;
    for (const struct step *step = program->first; step; step = step->next) {
        steps++;
        accesses += step->binding_count;
    }
    struct scheduler scheduler = {
        .slots = wnn_arena_allocate(arena, (steps + 1) * sizeof scheduler.slots[0]),
        .accesses = wnn_arena_allocate(arena, (accesses + 1) * sizeof scheduler.accesses[0]),
        .first = wnn_arena_allocate(arena, (steps + 1) * sizeof scheduler.first[0])};
    if (!scheduler.slots || !scheduler.accesses || !scheduler.first)
        return NULL;
    *count = accesses = 0;
    for (struct step *step = program->first; step; step = step->next) {
        if (!in_order && wnn_program_omits(program, params, step))
            continue;
        scheduler.first[*count] = accesses;
        for (unsigned i = 0; i < step->binding_count; i++)
            scheduler.accesses[accesses++] = wnn_program_access(program, params, &step->bindings[i]);
        scheduler.slots[*count] = (struct slot){step, *count, 0};
        ++*count;
    }
    scheduler.first[*count] = accesses;
    set_levels(&scheduler, *count, in_order);
    qsort(scheduler.slots, *count, sizeof scheduler.slots[0], compare_slots);
    return scheduler.slots;
}
