// SPDX-License-Identifier: Apache-2.0
//
// How long steps take, and where a program is cut so that no submission is longer than the device's budget.
// At first that is estimated from what the nodes have to do, and rather too long; what is long is measured
// when it runs.

#include "vulkan/program/program.h"

#include "ops/op.h"

// What a device does in a nanosecond, at the least: operations, bytes.
static void speed_of(const struct gpu *gpu, double *operations, double *bytes)
{
    switch (gpu->can.type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        *operations = 200;
        *bytes = 50;
        return;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        *operations = 1;
        *bytes = 1;
        return;
    default:
        *operations = 20;
        *bytes = 10;
        return;
    }
}

static double work_of(struct program *program, const struct node *node)
{
    struct arena_mark mark = wnn_arena_mark(&program->records);
    struct descriptor *types = wnn_arena_allocate(&program->records, node->out_count * sizeof types[0]);
    double work = 0;
    for (unsigned i = 0; types && i < node->out_count; i++)
        types[i] = node->out[i]->type;
    if (types)
        work = (double)wnn_op_work((enum op)node->op, node->in, types, node->out_count, node->attrs);
    wnn_arena_rewind(&program->records, mark);
    return work;
}

void wnn_program_estimate(struct program *program)
{
    double operations, bytes, work = 0, total = 0;
    const struct node *node = NULL;
    speed_of(program->gpu, &operations, &bytes);
    for (struct step *step = program->first; step; step = step->next) {
        // Any one of a node's steps may be that which does the work, unless they are known to share it.
        if (step->node && step->node != node)
            work = work_of(program, step->node);
        node = step->node;
        step->cost =
            step->kind == STEP_DISPATCH
                ? 2 * work / operations / (step->cooperating_dispatches ? step->cooperating_dispatches : 1)
                : 0;
        for (unsigned i = 0; i < step->binding_count; i++)
            step->cost += (double)step->bindings[i].region.bytes / bytes;
        total += step->cost;
    }
    program->measured = program->gpu->can.clock_bits > 0 && total > program->gpu->budget / 4;
}

// Submissions are made to take half of the budget.
static uint32_t parts_of(const struct step *step, double target)
{
    uint32_t most = step->groups[2] > 1   ? step->groups[2]
                    : step->groups[1] > 1 ? step->groups[1]
                                          : step->groups[0];
    if (step->kind != STEP_DISPATCH || most < 2 || step->cost <= target)
        return 1;
    double parts = target > 0 ? step->cost / target + 1 : 2;
    return parts < (double)most ? (uint32_t)parts : most;
}

void wnn_program_cut(struct program *program)
{
    double target = program->gpu->budget / 2, spent = 0;
    bool full = false;
    program->submissions = 0;
    for (struct step *step = program->first; step; step = step->next) {
        step->parts = parts_of(step, target);
        if (program->submissions == 0 || full || spent + step->cost > target) {
            program->submissions++;
            spent = 0;
        }
        step->submission = program->submissions - 1;
        program->submissions += step->parts - 1;
        spent += step->cost;
        full = step->parts > 1;
    }
}

// ---------------------------------------------------------------------------------------------------------------
// Learning
// ---------------------------------------------------------------------------------------------------------------

enum {
    MAX_VERSIONS = 4 // a dispatch that is one work group cannot be cut
};

static void correct(struct program *program, const double *times, size_t count)
{
    for (struct step *first = program->first, *step; first; first = step) {
        double estimated = 0, measured = 0;
        for (step = first; step && step->submission == first->submission; step = step->next)
            estimated += step->cost;
        if (first->submission + first->parts > count)
            return;
        for (uint32_t i = 0; i < first->parts; i++)
            measured += times[first->submission + i];
        for (struct step *s = first; s != step; s = s->next)
            s->cost *= estimated > 0 ? measured / estimated : 0;
    }
}

// How many submissions are good enough where so many would do: what another one takes is little beside half
// of a budget, but may be much beside all of a program that has one.
static size_t enough(size_t submissions)
{
    return submissions > 1 ? 2 * submissions : submissions;
}

void wnn_program_learn(struct program *program, const struct recording *recording, double nanoseconds)
{
    struct gpu *gpu = program->gpu;
    if (recording->version != program->version)
        return;
    if (recording->timestamps != TIMESTAMPS_SUBMISSIONS) {
        // Longer than it was thought to be; perhaps others were before it.
        if (!program->measured && gpu->can.clock_bits > 0 && nanoseconds > gpu->budget / 2) {
            program->measured = true;
            program->version++;
        }
        return;
    }
    if (program->settled)
        return;
    double *times = wnn_allocate(gpu->allocator, recording->count * sizeof times[0]), longest = 0;
    if (times && wnn_recording_times(recording, times)) {
        size_t count = recording->timestamp_count / 2;
        for (size_t i = 0; i < count; i++)
            longest = times[i] > longest ? times[i] : longest;
        correct(program, times, count);
        wnn_program_cut(program);
        bool good = longest <= gpu->budget && recording->count <= enough(program->submissions);
        program->settled = good || program->version >= MAX_VERSIONS;
        program->version += !program->settled;
    }
    wnn_release(gpu->allocator, times);
}
