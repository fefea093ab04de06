// SPDX-License-Identifier: Apache-2.0
//
// Lowering and running a plan on the CPU: one step a node, in order, in one arena an executable.

#include "cpu/cpu.h"

#include "cpu/kernel.h"
#include "cpu/xnnpack.h"

#include <string.h>

enum { LOWER_NATIVE, LOWER_XNNPACK };

struct cpu {
    struct allocator *allocator;
    const struct parallel *parallel;
    bool strict_numerics;
};

// A node with the descriptors of its tensors; their memory is found at each run.
struct step {
    const struct node *node;
    struct tensor *in, *out;
    struct xnnpack_step *xnnpack;    // NULL: the operator's own kernel
};

struct executable {
    const struct plan *plan;
    struct arena records;
    struct step *steps;
    size_t step_count;
    char *memory;                    // plan->arena_bytes
    struct constant **aligned;       // by operand: a copy of lent bytes that are not aligned, or NULL
};

static bool create(const struct backend_options *options, void **state, struct error *error)
{
    struct cpu *cpu = wnn_allocate(options->allocator, sizeof *cpu);
    if (!cpu)
        return wnn_fail_memory(error);
    *cpu = (struct cpu){options->allocator, options->parallel, options->strict_numerics};
    *state = cpu;
    return true;
}

static void destroy(void *state)
{
    struct cpu *cpu = state;
    wnn_release(cpu->allocator, cpu);
}

static struct tensor describe(const struct operand *operand)
{
    if (!operand)
        return (struct tensor){0};
    return (struct tensor){NULL, operand->type.type, operand->type.shape, wnn_shape_elements(&operand->type.shape)};
}

static void run_serially(const struct parallel *parallel, size_t count, void (*task)(void *argument, size_t index),
                         void *argument)
{
    (void)parallel;
    for (size_t i = 0; i < count; i++)
        task(argument, i);
}

static bool evaluate(void *state, const struct node *node, const void *const *in, void *const *out)
{
    const struct cpu *cpu = state;
    const struct kernel *kernel = &wnn_cpu_kernels[node->op];
    size_t scratch_bytes = kernel->scratch ? kernel->scratch(node, 1) : 0;
    size_t tensors = (size_t)node->in_count + node->out_count;
    struct tensor *tensor = wnn_allocate(cpu->allocator, tensors * sizeof tensor[0]);
    void *scratch = scratch_bytes ? wnn_allocate(cpu->allocator, scratch_bytes) : NULL;
    bool enough = tensor && (scratch || !scratch_bytes);
    if (enough) {
        for (unsigned i = 0; i < node->in_count; i++) {
            tensor[i] = describe(node->in[i]);
            tensor[i].data = (void *)(uintptr_t)in[i];
        }
        for (unsigned i = 0; i < node->out_count; i++) {
            tensor[node->in_count + i] = describe(node->out[i]);
            tensor[node->in_count + i].data = out[i];
        }
        struct parallel serial = {run_serially, 1, NULL, NULL};
        struct kernel_call call = {node, tensor, tensor + node->in_count, scratch, &serial};
        kernel->run(&call);
        if (node->activation)
            wnn_cpu_activate(node->activation, &call.out[0], call.parallel);
    }
    wnn_release(cpu->allocator, scratch);
    wnn_release(cpu->allocator, tensor);
    return enough;
}

static void partition(void *state, struct graph *graph)
{
    const struct cpu *cpu = state;
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        const struct kernel *kernel = &wnn_cpu_kernels[node->op];
        node->lowering = !cpu->strict_numerics && wnn_xnnpack_accepts(node) ? LOWER_XNNPACK : LOWER_NATIVE;
        node->scratch_bytes = node->lowering == LOWER_XNNPACK ? wnn_xnnpack_scratch(node)
                              : kernel->scratch               ? kernel->scratch(node, cpu->parallel->threads)
                                                              : 0;
    }
}

static bool in_place(void *state, const struct node *node, unsigned input)
{
    (void)state;
    return node->lowering == LOWER_NATIVE && input < 32 && wnn_cpu_kernels[node->op].in_place >> input & 1 &&
           (node->op == WNN_OP_reshape ||
            wnn_shape_equal(&node->in[input]->type.shape, &node->out[0]->type.shape));
}

static void release(void *state, void *pointer)
{
    const struct cpu *cpu = state;
    struct executable *executable = pointer;
    for (size_t i = 0; i < executable->step_count; i++)
        wnn_xnnpack_destroy(executable->steps[i].xnnpack);
    for (size_t i = 0; executable->aligned && i < executable->plan->graph.operand_count; i++)
        wnn_constant_release(executable->aligned[i]);
    wnn_release(cpu->allocator, executable->memory);
    wnn_arena_free(&executable->records);
    wnn_release(cpu->allocator, executable);
}

static bool is_misaligned(const struct operand *operand)
{
    unsigned bytes = wnn_dtype_bits(operand->type.type) / 8;
    return bytes > 1 && (uintptr_t)operand->constant->data % bytes != 0;
}

// Kernels read typed elements, so that lent bytes at odd addresses are copied once.
static bool align_constants(const struct cpu *cpu, struct executable *executable, struct error *error)
{
    const struct graph *graph = &executable->plan->graph;
    executable->aligned =
        wnn_arena_allocate(&executable->records, graph->operand_count * sizeof executable->aligned[0]);
    if (!executable->aligned)
        return wnn_fail_memory(error);
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct operand *operand = graph->operands[i];
        if (!operand->constant || !is_misaligned(operand))
            continue;
        struct constant *copy = wnn_constant_create(cpu->allocator, operand->constant->bytes);
        if (!copy)
            return wnn_fail_memory(error);
        memcpy((void *)(uintptr_t)copy->data, operand->constant->data, copy->bytes);
        executable->aligned[i] = copy;
    }
    return true;
}

static bool lower_node(const struct cpu *cpu, struct executable *executable, const struct node *node,
                       struct error *error)
{
    struct arena *arena = &executable->records;
    struct step *step = &executable->steps[executable->step_count++];
    step->node = node;
    step->in = wnn_arena_allocate(arena, node->in_count * sizeof step->in[0]);
    step->out = wnn_arena_allocate(arena, node->out_count * sizeof step->out[0]);
    if (!step->in || !step->out)
        return wnn_fail_memory(error);
    for (unsigned i = 0; i < node->in_count; i++)
        step->in[i] = describe(node->in[i]);
    for (unsigned i = 0; i < node->out_count; i++)
        step->out[i] = describe(node->out[i]);
    return node->lowering != LOWER_XNNPACK ||
           wnn_xnnpack_create(node, cpu->allocator, cpu->parallel, &step->xnnpack, error);
}

static bool lower(void *state, const struct plan *plan, void **result, struct error *error)
{
    const struct cpu *cpu = state;
    struct executable *executable = wnn_allocate_zero(cpu->allocator, sizeof *executable);
    if (!executable)
        return wnn_fail_memory(error);
    executable->plan = plan;
    wnn_arena_init(&executable->records, cpu->allocator);
    executable->steps =
        wnn_arena_allocate(&executable->records, plan->graph.node_count * sizeof executable->steps[0]);
    executable->memory = wnn_allocate_zero(cpu->allocator, plan->arena_bytes);
    bool done = (executable->steps && executable->memory) || wnn_fail_memory(error);
    done = done && align_constants(cpu, executable, error);
    for (size_t i = 0; done && i < plan->graph.node_count; i++)
        done = lower_node(cpu, executable, plan->graph.nodes[i], error);
    if (done)
        *result = executable;
    else
        release(state, executable);
    return done;
}

// Where an operand lies in this run.
static void *locate(const struct executable *executable, const struct operand *operand,
                    const struct bindings *bindings)
{
    const struct placement *placement = &operand->placement;
    switch (placement->place) {
    case PLACE_INPUT:
        if (!placement->staged)
            return (void *)(uintptr_t)bindings->inputs[placement->slot];
        break;
    case PLACE_OUTPUT:
        if (bindings->outputs[placement->slot])
            return bindings->outputs[placement->slot];
        break;
    case PLACE_CONSTANT:
        return (void *)(uintptr_t)(executable->aligned[operand->index] ? executable->aligned[operand->index]->data
                                                                        : operand->constant->data);
    default:
        break;
    }
    return executable->memory + placement->offset;
}

static bool run_step(const struct cpu *cpu, const struct executable *executable, struct step *step,
                     const struct bindings *bindings, struct error *error)
{
    const struct node *node = step->node;
    for (unsigned i = 0; i < node->in_count; i++)
        if (node->in[i])
            step->in[i].data = locate(executable, node->in[i], bindings);
    for (unsigned i = 0; i < node->out_count; i++)
        step->out[i].data = locate(executable, node->out[i], bindings);
    struct kernel_call call = {node, step->in, step->out,
                               node->scratch_bytes ? executable->memory + node->scratch_offset : NULL, cpu->parallel};
    if (step->xnnpack)
        return wnn_xnnpack_run(step->xnnpack, &call) ||
               wnn_fail(error, WNNStatus_OperationError, "%s: XNNPACK failed", wnn_ops[node->op].name);
    wnn_cpu_kernels[node->op].run(&call);
    if (node->activation)
        wnn_cpu_activate(node->activation, &call.out[0], cpu->parallel);
    return true;
}

static bool execute(void *state, void *pointer, const struct bindings *bindings, struct error *error)
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
    bool done = true;
    for (size_t i = 0; done && i < executable->step_count; i++)
        done = run_step(cpu, executable, &executable->steps[i], bindings, error);
    // Outputs that are inputs or constants, or stand for another output too, are copied.
    for (size_t i = 0; i < graph->output_count; i++) {
        const struct operand *operand = graph->outputs[i].operand;
        void *to = bindings->outputs[i];
        size_t bytes = wnn_descriptor_bytes(&operand->type);
        if (to && !done)
            memset(to, 0, bytes);
        else if (to && locate(executable, operand, bindings) != to)
            memcpy(to, locate(executable, operand, bindings), bytes);
    }
    return done;
}

const struct backend wnn_backend_cpu = {
    .name = "cpu",
    .preferred_layout = WNNInputOperandLayout_NHWC,
    .preload = wnn_xnnpack_preload,
    .create = create,
    .destroy = destroy,
    .evaluate = evaluate,
    .partition = partition,
    .in_place = in_place,
    .lower = lower,
    .release = release,
    .execute = execute,
};
