// SPDX-License-Identifier: Apache-2.0
//
// Running an executable.

#include "cpu/executable.h"

#include "cpu/simd/non_temporal.h"

#include <string.h>

static char *output_memory(const struct bindings *bindings, size_t slot)
{
    return bindings->staged && bindings->staged[slot] ? NULL : bindings->outputs[slot];
}

// Where an operand lies in all runs, or in this one.
void *wnn_cpu_locate(const struct executable *executable, const struct operand *operand,
                     const struct bindings *bindings)
{
    const struct placement *placement = &operand->placement;
    switch (placement->place) {
    case PLACE_INPUT:
        if (!placement->staged)
            return (void *)(uintptr_t)bindings->inputs[placement->slot];
        break;
    case PLACE_OUTPUT:
        if (output_memory(bindings, placement->slot))
            return output_memory(bindings, placement->slot) + placement->within;
        break;
    case PLACE_CONSTANT:
        return wnn_cpu_constant_data(executable, operand);
    default:
        break;
    }
    return executable->memory + placement->offset;
}

struct cpu_resolver {
    struct operand_resolver resolver; // first
    const struct executable *executable;
    const struct bindings *bindings;
};

static const void *locate_operand(const struct operand_resolver *resolver, const struct operand *operand)
{
    const struct cpu_resolver *whole = (const struct cpu_resolver *)resolver;
    return wnn_cpu_locate(whole->executable, operand, whole->bindings);
}

static struct kernel_call call_of(const struct parallel *parallel, const struct executable *executable,
                                  const struct step *step)
{
    const struct node *node = step->node;
    return (struct kernel_call){
        node,      step->in,
        step->out, node->scratch_bytes ? executable->memory + node->scratch_offset : NULL,
        parallel,  step->packed};
}

static bool run_step(const struct parallel *parallel, const struct executable *executable, struct step *step,
                     struct error *error)
{
    const struct node *node = step->node;
    if (node->lowering == WNN_LOWER_VIEW)
        return true;
    bool rests = parallel->rests && parallel->rests(parallel);
    const struct parallel alone = wnn_parallel_alone(parallel->interrupt);
    struct kernel_call call = call_of(rests ? &alone : parallel, executable, step);
    if (step->xnnpack)
        return (wnn_xnnpack_run(step->xnnpack, &call) ||
                wnn_fail(error, WNNStatus_OperationError, "%s: XNNPACK failed", wnn_ops[node->op].name)) &&
               wnn_interrupt_check(parallel->interrupt, error);
    wnn_cpu_run_kernel(step->kernel, &step->activation, &call);
    return wnn_interrupt_check(parallel->interrupt, error);
}

static bool run_joined(const struct parallel *parallel, const struct executable *executable,
                       struct step *const *steps, size_t count, struct error *error)
{
    bool rests = parallel->rests && parallel->rests(parallel);
    const struct parallel alone = wnn_parallel_alone(parallel->interrupt);
    struct kernel_call calls[WNN_MAX_JOINED];
    for (size_t i = 0; i < count; i++)
        calls[i] = call_of(rests ? &alone : parallel, executable, steps[i]);
    steps[0]->kernel->run_joined(calls, count);
    for (size_t i = 0; i < count; i++)
        if (steps[i]->activation.attrs)
            wnn_cpu_activate(&steps[i]->activation, &calls[i].out[0], calls[i].parallel);
    return wnn_interrupt_check(parallel->interrupt, error);
}

// 64-byte lines from `memory` on.
static void clear_lines(void *memory, size_t begin, size_t end)
{
    wnn_nt_fill((char *)memory + begin * 64, &(uint64_t){0}, 1, (end - begin) * 64);
    wnn_nt_fence();
}

// Stopping should not take longer than need be: past the caches, on all threads.
static void clear(const struct parallel *parallel, void *memory, size_t bytes)
{
    size_t lines = wnn_is_non_temporal(bytes) ? bytes / 64 : 0;
    wnn_parallel_for(parallel, lines, 2048, clear_lines, memory);
    memset((char *)memory + lines * 64, 0, bytes - lines * 64);
}

struct copying {
    char *to;
    const char *from;
};

static void copy_lines(void *argument, size_t begin, size_t end)
{
    const struct copying *copying = argument;
    wnn_nt_store(copying->to + begin * 64, copying->from + begin * 64, (end - begin) * 64);
    wnn_nt_fence();
}

static void copy(const struct parallel *parallel, void *to, const void *from, size_t bytes)
{
    struct copying copying = {to, from};
    size_t lines = wnn_is_non_temporal(bytes) ? bytes / 64 : 0;
    wnn_parallel_for(parallel, lines, 2048, copy_lines, &copying);
    memcpy((char *)to + lines * 64, (const char *)from + lines * 64, bytes - lines * 64);
}

// Outputs that are constants, stand for another output too, or are staged.
static void copy_outputs(const struct parallel *parallel, const struct executable *executable,
                         const struct bindings *bindings)
{
    const struct graph *graph = &executable->plan->graph;
    const struct observer *observer = bindings->observer;
    for (size_t i = 0; i < graph->output_count; i++) {
        const struct operand *operand = graph->outputs[i].operand;
        void *to = bindings->outputs[i];
        const void *from = to ? wnn_cpu_locate(executable, operand, bindings) : NULL;
        if (from == to)
            continue;
        copy(parallel, to, from, wnn_descriptor_bytes(&operand->type));
        if (observer && observer->copied)
            observer->copied(observer, i, 0);
    }
}

// After a failure in the last of `count` steps: fills the outputs that these have written to with zeros.
static void clear_outputs(const struct cpu *cpu, const struct executable *executable,
                          const struct bindings *bindings, size_t count)
{
    const struct graph *graph = &executable->plan->graph;
    memset(executable->written, 0, graph->output_count);
    for (size_t i = 0; i < count; i++) {
        const struct node *node = executable->steps[i].node;
        for (unsigned j = 0; j < node->out_count; j++)
            if (node->out[j]->placement.place == PLACE_OUTPUT)
                executable->written[node->out[j]->placement.slot] = true;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        if (executable->written[i] && output_memory(bindings, i))
            clear(cpu->parallel, output_memory(bindings, i),
                  wnn_descriptor_bytes(&graph->outputs[i].operand->type));
}

bool wnn_cpu_execute(void *state, void *pointer, const struct bindings *bindings, struct error *error)
{
    const struct cpu *cpu = state;
    const struct executable *executable = pointer;
    const struct graph *graph = &executable->plan->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        const struct operand *operand = graph->inputs[i].operand;
        if (operand->placement.staged)
            memcpy(executable->memory + operand->placement.offset, bindings->inputs[i],
                   wnn_descriptor_bytes(&operand->type));
    }
    const struct observer *observer = bindings->observer;
    const struct cpu_resolver resolver = {{locate_operand}, executable, bindings};
    struct parallel parallel = *cpu->parallel;
    parallel.interrupt = bindings->interrupt;
    if (!wnn_interrupt_check(bindings->interrupt, error))
        return false;
    for (size_t i = 0; i < executable->port_count; i++)
        executable->ports[i].tensor->data =
            wnn_cpu_locate(executable, executable->ports[i].operand, bindings);
    // Who watches sees views too, and one node after the other.
    bool done = true;
    size_t count = 0, all = observer ? executable->step_count : executable->run_count;
    while (done && count < all) {
        struct step *step = observer ? &executable->steps[count] : executable->runs[count];
        size_t joined = observer ? 1 : step->joined;
        if (parallel.pause)
            parallel.pause(&parallel);
        if (observer && observer->before)
            observer->before(observer, step->node, &resolver.resolver);
        done = joined > 1 ? run_joined(&parallel, executable, executable->runs + count, joined, error)
                          : run_step(&parallel, executable, step, error);
        count += joined;
        if (observer && observer->after && done)
            observer->after(observer, step->node, &resolver.resolver);
    }
    if (!done) {
        clear_outputs(cpu, executable, bindings,
                      observer ? count : (size_t)(executable->runs[count - 1] - executable->steps) + 1);
        return false;
    }
    copy_outputs(cpu->parallel, executable, bindings);
    return true;
}
