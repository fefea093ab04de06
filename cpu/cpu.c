// SPDX-License-Identifier: Apache-2.0
//
// Lowering and running a plan on the CPU: one step a node, in order, in one arena an executable.

#include "cpu/cpu.h"

#include "compiler/resolve.h"
#include "cpu/describe_target.h"
#include "cpu/identity.h"
#include "cpu/kernel.h"
#include "cpu/simd/isa.h"
#include "cpu/simd/non_temporal.h"
#include "cpu/xnnpack/xnnpack.h"
#include "ops/expression.h"

#include <string.h>

struct cpu {
    struct allocator *allocator;
    const struct parallel *parallel;
    bool strict_numerics, fast_numerics;
    const struct cpu_target *target;
    bool described; // somebody has named the target: nothing is executed
};

// A node with the descriptors of its tensors; their memory is found at each run.
struct step {
    const struct node *node;
    const struct kernel *kernel; // of the operator
    struct tensor *in, *out;
    struct activation activation; // that the kernel leaves to be applied; attrs NULL: none
    struct xnnpack_step *xnnpack; // NULL: the operator's own kernel
    const void *packed;           // weights, for the operator's own kernel, or NULL
    size_t packed_bytes;          // of those that are the step's own
    void *own;                    // these, or NULL
    struct allocator *allocator;  // of these
    struct packed *shared;        // or a reference to those of others
    bool shareable;               // others can have what it packs
    size_t joined;                // runs from this one on that are computed at once, at least 1
};

// An operand of a step that lies where the execution says.
struct port {
    struct tensor *tensor;
    const struct operand *operand;
};

struct executable {
    struct plan *plan;
    struct arena records;
    struct step *steps;
    size_t step_count;
    struct step **runs; // those of them that are no views
    size_t run_count;
    struct port *ports;
    size_t port_count;
    char *memory;                  // plan->arena_bytes, of its own but for
    struct workspace_block *block; // a reference, or NULL
    bool *written;                 // by output: for clear_outputs
    struct constant **aligned;     // by operand: a copy of external bytes that are not aligned, or NULL
    struct derived *derived;       // a reference, or NULL: nothing is shared
};

static bool create_cpu(const struct backend_options *options, void **state, struct error *error)
{
    bool described = options->target.length > 0;
    const struct cpu_target *target =
        described ? wnn_cpu_find_target(options->target, error) : wnn_cpu_this_processor();
    if (!target)
        return false;
    struct cpu *cpu = wnn_allocate(options->allocator, sizeof *cpu);
    if (!cpu)
        return wnn_fail_memory(error);
    *cpu = (struct cpu){.allocator = options->allocator,
                        .parallel = options->parallel,
                        .strict_numerics = options->strict_numerics,
                        .fast_numerics = options->fast_numerics,
                        .target = target,
                        .described = described};
    *state = cpu;
    return true;
}

static void destroy_cpu(void *state)
{
    struct cpu *cpu = state;
    wnn_release(cpu->allocator, cpu);
}

static const void *target_of(void *state)
{
    return ((const struct cpu *)state)->target;
}

static struct tensor describe_tensor(const struct operand *operand)
{
    if (!operand)
        return (struct tensor){0};
    return (struct tensor){NULL, operand->type.type, operand->type.shape,
                           wnn_shape_elements(&operand->type.shape)};
}

// The activation that is left to be applied when the kernel has run; attrs NULL: none.
static struct activation activation_after(const struct kernel *kernel, const struct node *node)
{
    const struct activation activation = wnn_epilogue(node).activation;
    bool left = activation.attrs && !(kernel->activates && kernel->activates(node));
    return left ? activation : (struct activation){0};
}

static void run_kernel(const struct kernel *kernel, const struct activation *after,
                       const struct kernel_call *call)
{
    kernel->run(call);
    if (after->attrs)
        wnn_cpu_activate(after, &call->out[0], call->parallel);
}

// Computes the node on this thread alone, with memory of its own where `in` and `out` have none.
static bool evaluate_node(const struct cpu *cpu, const struct node *node, const void *const *in,
                          void *const *out, const struct interrupt *interrupt)
{
    const struct kernel *kernel = wnn_cpu_kernel(node);
    size_t scratch_bytes = kernel->scratch ? kernel->scratch(node, 1) : 0;
    unsigned in_count = wnn_operand_count(node);
    size_t tensors = (size_t)in_count + node->out_count;
    struct tensor *tensor = wnn_allocate(cpu->allocator, tensors * sizeof tensor[0]);
    void *scratch = scratch_bytes ? wnn_allocate(cpu->allocator, scratch_bytes) : NULL;
    // Kernels of quantized operands know their weights only packed.
    size_t packed_bytes = wnn_is_quantized(node) && kernel->packed_bytes ? kernel->packed_bytes(node) : 0;
    void *packed = packed_bytes ? wnn_allocate(cpu->allocator, packed_bytes) : NULL;
    bool enough = tensor && (scratch || !scratch_bytes) && (packed || !packed_bytes);
    if (enough) {
        for (unsigned i = 0; i < in_count; i++) {
            tensor[i] = describe_tensor(node->in[i]);
            tensor[i].data = (void *)(uintptr_t)in[i];
        }
        for (unsigned i = 0; i < node->out_count; i++) {
            tensor[in_count + i] = describe_tensor(node->out[i]);
            tensor[in_count + i].data = out[i];
        }
        const struct parallel alone = wnn_parallel_alone(interrupt);
        struct kernel_call call = {node, tensor, tensor + in_count, scratch, &alone, NULL};
        if (packed)
            kernel->pack(&call, packed);
        call.packed = packed;
        const struct activation after = activation_after(kernel, node);
        run_kernel(kernel, &after, &call);
    }
    wnn_release(cpu->allocator, packed);
    wnn_release(cpu->allocator, scratch);
    wnn_release(cpu->allocator, tensor);
    return enough;
}

static bool evaluate(void *state, const struct node *node, const void *const *in, void *const *out,
                     bool portable, const struct interrupt *interrupt)
{
    struct node copy = *node;
    copy.target = portable ? wnn_cpu_any_processor() : wnn_cpu_this_processor();
    bool before = wnn_portable_numbers;
    wnn_portable_numbers = portable;
    bool done = evaluate_node(state, &copy, in, out, interrupt);
    wnn_portable_numbers = before;
    return done;
}

static bool can_fuse(void *state, const struct node *node)
{
    (void)state;
    const struct epilogue epilogue = wnn_epilogue(node);
    const struct kernel *kernel = wnn_cpu_kernels[node->op];
    if (epilogue.other)
        return false;
    if (wnn_is_quantized(node))
        return !epilogue.addend && wnn_cpu_accepts_quantized(node);
    return !epilogue.addend || (kernel->can_add_residual && kernel->can_add_residual(node));
}

// What is to compute the node; and why it is left to the kernel that can do everything, where the backend has
// another for its operator. XNNPACK packs weights for one size.
static void choose_lowering(const struct cpu *cpu, const struct kernel *kernel, struct node *node,
                            bool shares)
{
    const char *refusal = NULL;
    bool xnnpack = wnn_xnnpack_accepts(node, &refusal);
    if (xnnpack && shares && node->in_count > 1) {
        xnnpack = false;
        refusal = "plans for other sizes share its weights";
    }
    bool fast = kernel->fast && kernel->fast(node);
    bool rounds = cpu->fast_numerics && kernel->rounds && kernel->rounds(node);
    node->lowering = cpu->strict_numerics ? LOWER_NATIVE
                     : rounds             ? LOWER_ROUNDED
                     : xnnpack            ? LOWER_XNNPACK
                     : fast               ? LOWER_FAST
                                          : LOWER_NATIVE;
    node->reason = NULL;
    if (node->lowering == LOWER_NATIVE && !wnn_is_quantized(node))
        node->reason = xnnpack || fast ? "strictNumerics" : refusal;
}

// What the kernel needs for all threads, and for one, which the node has while the others rest.
static size_t native_scratch(const struct kernel *kernel, const struct node *node,
                             const struct parallel *parallel)
{
    size_t one = kernel->scratch ? kernel->scratch(node, 1) : 0;
    size_t all = kernel->scratch ? kernel->scratch(node, parallel->threads) : 0;
    return all > one ? all : one;
}

static bool partition(void *state, struct graph *graph, bool shares, struct error *error)
{
    const struct cpu *cpu = state;
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        const struct kernel *kernel = wnn_cpu_kernel(node);
        choose_lowering(cpu, kernel, node, shares);
        if (kernel->choose && node->lowering != LOWER_XNNPACK) {
            void *choice = wnn_arena_allocate(&graph->arena, kernel->choice_bytes);
            if (!choice)
                return wnn_fail_memory(error);
            kernel->choose(node, choice);
            node->choice = choice;
        }
        node->scratch_bytes = node->lowering == LOWER_XNNPACK ? wnn_xnnpack_scratch(node)
                                                              : native_scratch(kernel, node, cpu->parallel);
    }
    return true;
}

// Weights are packed to float32, but for matrices that are read as they are, once.
static bool wide_weights(void *state, const struct node *node)
{
    (void)state;
    return (node->op != WNN_OP_gemm && node->op != WNN_OP_matmul) || !wnn_cpu_matmul_reads_halves(node);
}

// What an operand has the elements of, in their order.
static const struct operand *source_of(const struct operand *operand)
{
    while (operand->producer && !operand->producer->fused &&
           (operand->producer->op == WNN_OP_reshape || operand->producer->op == WNN_OP_identity))
        operand = operand->producer->in[0];
    return operand;
}

static bool reads_constants(const struct node *node)
{
    for (unsigned i = 1; i < wnn_operand_count(node); i++)
        if (node->in[i] && !node->in[i]->constant)
            return false;
    return true;
}

static bool joins(void *state, const struct node *first, const struct node *node)
{
    (void)state;
    const struct kernel *kernel = wnn_cpu_kernel(first);
    return kernel->joins && wnn_cpu_kernel(node) == kernel && node->lowering == first->lowering &&
           node->lowering != LOWER_XNNPACK && source_of(node->in[0]) == source_of(first->in[0]) &&
           reads_constants(node) && kernel->joins(first, node);
}

static bool in_place(void *state, const struct node *node, unsigned input)
{
    (void)state;
    if (input >= node->in_count)
        return input == wnn_epilogue(node).addend;
    const struct kernel *kernel = wnn_cpu_kernel(node);
    return node->lowering != LOWER_XNNPACK && input < 32 && kernel->in_place >> input & 1 &&
           (!kernel->may_alias || kernel->may_alias(node, input)) &&
           (node->op == WNN_OP_reshape ||
            wnn_shape_equal(&node->in[input]->type.shape, &node->out[0]->type.shape));
}

static bool computes(enum op op)
{
    return wnn_cpu_kernels[op] != NULL;
}

static void release(void *state, void *pointer)
{
    const struct cpu *cpu = state;
    struct executable *executable = pointer;
    for (size_t i = 0; i < executable->step_count; i++) {
        wnn_xnnpack_destroy(executable->steps[i].xnnpack);
        wnn_release(executable->steps[i].allocator, executable->steps[i].own);
        wnn_packed_unref(executable->derived, executable->steps[i].shared);
    }
    wnn_derived_unref(executable->derived);
    for (size_t i = 0; executable->aligned && i < executable->plan->graph.operand_count; i++)
        wnn_constant_unref(executable->aligned[i]);
    if (executable->block)
        wnn_workspace_unref(executable->block);
    else
        wnn_release(cpu->allocator, executable->memory);
    wnn_arena_free(&executable->records);
    wnn_release(cpu->allocator, executable);
}

// ---------------------------------------------------------------------------------------------------------------
// Constants: a node's are looked at when it is lowered, and given up when the last node that has them no
// longer needs them, so that weights never exist twice for longer than it takes to pack one.
// ---------------------------------------------------------------------------------------------------------------

static bool is_misaligned(const struct operand *operand)
{
    unsigned bytes = wnn_dtype_bits(operand->type.type) / 8;
    return bytes > 1 && (uintptr_t)operand->constant->data % bytes != 0;
}

// Kernels read typed elements, so that external bytes at odd addresses are copied: once for all plans that
// share weights.
static bool align_constant(const struct cpu *cpu, struct executable *executable, const struct node *node,
                           unsigned input, struct error *error)
{
    static const char maker = 0;
    const struct operand *operand = node->in[input];
    if (!operand || !operand->constant || executable->aligned[operand->index] || !is_misaligned(operand))
        return true;
    struct derived *derived = executable->derived;
    const struct derived_key key = {
        .node = node, .maker = &maker, .variant = input, .bytes = operand->constant->bytes};
    bool shared = derived && wnn_derived_knows(derived, node);
    struct constant *copy = shared ? wnn_derived_constant(derived, &key) : NULL;
    executable->aligned[operand->index] = copy ? wnn_constant_ref(copy) : NULL;
    if (copy)
        return true;
    if (!(copy = wnn_constant_create(cpu->allocator, operand->constant->bytes)))
        return wnn_fail_memory(error);
    memcpy((void *)(uintptr_t)copy->data, operand->constant->data, copy->bytes);
    executable->aligned[operand->index] = copy;
    if (shared)
        wnn_derived_add_constant(derived, &key, copy);
    return true;
}

static void *constant_data(const struct executable *executable, const struct operand *operand)
{
    const struct constant *aligned = executable->aligned[operand->index];
    return (void *)(uintptr_t)(aligned ? aligned->data : operand->constant->data);
}

// What is left of where a constant can be had from when its bytes are given up: what the plan can be saved
// by, or who shares weights knows it by. A reference, or NULL.
static struct origin *keep_origin(const struct cpu *cpu, const struct executable *executable,
                                  const struct constant *constant)
{
    bool shared =
        wnn_derived_is_shared(executable->derived) && constant->origin && wnn_derived_identifies(constant);
    struct origin *origin = shared                      ? constant->origin
                            : executable->plan->savable ? wnn_kept_origin(constant)
                                                        : NULL;
    struct origin *stripped = wnn_strip_origin(cpu->allocator, origin);
    return stripped ? stripped : wnn_origin_ref(origin);
}

// The operand stays a constant, of as many bytes, of which there are none.
static bool drop_constant(const struct cpu *cpu, struct executable *executable, struct operand *operand,
                          struct error *error)
{
    const struct constant *constant = operand->constant;
    struct origin *origin = keep_origin(cpu, executable, constant);
    struct constant *empty = wnn_constant_promise(cpu->allocator, constant->bytes, origin);
    wnn_origin_unref(origin);
    if (!empty)
        return wnn_fail_memory(error);
    wnn_constant_unref(operand->constant);
    operand->constant = empty;
    wnn_constant_unref(executable->aligned[operand->index]);
    executable->aligned[operand->index] = NULL;
    return true;
}

// Counts nodes and outputs that read a constant, and drops those that nobody reads (folded ones, for
// example).
static bool count_readers(const struct cpu *cpu, struct executable *executable, struct error *error)
{
    struct graph *graph = &executable->plan->graph;
    wnn_graph_count_uses(graph);
    for (size_t i = 0; i < graph->operand_count; i++) {
        struct operand *operand = graph->operands[i];
        if (operand->constant && operand->uses == 0 && !drop_constant(cpu, executable, operand, error))
            return false;
    }
    return true;
}

// The inputs that a kernel packs, by bit.
static uint32_t weights_of(const struct node *node)
{
    uint32_t weights = wnn_cpu_kernel(node)->weights;
    return weights ? weights : 2;
}

// The inputs that a lowered node does not read, by bit. XNNPACK has copies of all weights and biases.
static uint32_t unread_inputs(const struct step *step)
{
    return step->xnnpack ? ~(uint32_t)1 : step->packed ? weights_of(step->node) : 0;
}

// What XNNPACK has made of weights cannot be saved, so that a plan that is to be keeps them; and the scales
// behind the operator's own inputs, since a kernel that has made a table of them wants to see them before it
// gets the table. What will be there again need not be kept, if the plan says so. Lent memory by which
// weights are known that others share stays lent.
static bool is_kept(const struct executable *executable, const struct step *step, unsigned input)
{
    const struct plan *plan = executable->plan;
    const struct constant *constant = step->node->in[input]->constant;
    if (wnn_derived_is_shared(executable->derived) && constant->external && !constant->origin)
        return true;
    return plan->savable && !(plan->weightless && wnn_kept_origin(constant)) &&
           (step->xnnpack || input >= step->node->in_count);
}

static bool drop_unread_constants(const struct cpu *cpu, struct executable *executable,
                                  const struct step *step, struct error *error)
{
    const struct node *node = step->node;
    uint32_t unread = unread_inputs(step);
    for (unsigned i = 0; i < wnn_operand_count(node) && i < 32; i++) {
        struct operand *operand = node->in[i];
        if (operand && operand->constant && unread >> i & 1 && !is_kept(executable, step, i) &&
            --operand->uses == 0 && !drop_constant(cpu, executable, operand, error))
            return false;
    }
    return true;
}

// ---------------------------------------------------------------------------------------------------------------
// Lowering
// ---------------------------------------------------------------------------------------------------------------

// Whether constants that came without data are only those that packed weights take the place of.
static bool has_data(const struct node *node, uint32_t unread, struct error *error)
{
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i] && node->in[i]->constant && !node->in[i]->constant->data &&
            node->in[i]->constant->bytes && !(i < 32 && unread >> i & 1))
            return wnn_fail(error, WNNStatus_TypeError, "%s needs a constant that is not there",
                            wnn_ops[node->op].name);
    return true;
}

// Weights that the plan was loaded with. Their numbers are as good as any: nothing in what kernels pack is a
// place or a count, and there are as many as the kernel would have packed.
static bool take_stored(struct step *step, size_t bytes, struct error *error)
{
    const struct stored_weights *stored = step->node->stored;
    if (stored->bytes != bytes)
        return wnn_fail(error, WNNStatus_TypeError, "%s has %llu bytes of packed weights; expected %zu",
                        wnn_ops[step->node->op].name, (unsigned long long)stored->bytes, bytes);
    step->packed = stored->data;
    step->packed_bytes = bytes;
    return true;
}

// The bytes that the node's own kernel packs; 0: it packs none.
static size_t packed_bytes(const struct step *step)
{
    const struct kernel *kernel = step->kernel;
    bool own = step->node->lowering != LOWER_XNNPACK && kernel->packed_bytes;
    return own ? kernel->packed_bytes(step->node) : 0;
}

static struct derived_key packed_key(const struct step *step, size_t bytes)
{
    struct derived_key key = {.node = step->node, .maker = step->kernel, .bytes = bytes};
    if (step->kernel->packed_variant)
        key.variant = step->kernel->packed_variant(step->node);
    return key;
}

static bool is_shared(const struct executable *executable, const struct node *node)
{
    return executable->derived && wnn_derived_knows(executable->derived, node);
}

// Packed weights that are there: the plan's own, or another plan's.
static bool find_packed(const struct executable *executable, struct step *step, struct error *error)
{
    size_t bytes = packed_bytes(step);
    if (bytes && step->node->stored)
        return take_stored(step, bytes, error);
    step->shareable = bytes && is_shared(executable, step->node);
    if (step->shareable) {
        struct derived_key key = packed_key(step, bytes);
        step->shared = wnn_derived_find_packed(executable->derived, &key);
        step->packed = step->shared ? wnn_packed_memory(step->shared) : NULL;
    }
    return true;
}

// Has the bytes of all that the node reads now or later, which is not what it has packed already.
static bool take_constants(const struct cpu *cpu, struct executable *executable, const struct step *step,
                           struct error *error)
{
    const struct node *node = step->node;
    uint32_t unread = step->packed ? weights_of(node) : 0;
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (!(i < 32 && unread >> i & 1) &&
            (!wnn_resolve_operand(executable->plan->resolver, node->in[i], error) ||
             !align_constant(cpu, executable, node, i, error)))
            return false;
    return has_data(node, unread, error);
}

// Lets others have what has been packed. What is in a set of the host's alone is not the context's memory.
static bool share_packed(struct executable *executable, struct step *step, size_t bytes, struct error *error)
{
    struct derived_key key = packed_key(step, bytes);
    step->shared = wnn_derived_add_packed(executable->derived, &key, step->own);
    if (!step->shared)
        return !wnn_derived_is_shared(executable->derived) || wnn_fail_memory(error);
    step->packed = wnn_packed_memory(step->shared);
    step->own = NULL;
    step->packed_bytes = 0;
    return true;
}

static bool pack(const struct cpu *cpu, const struct parallel *parallel, struct executable *executable,
                 struct step *step, struct error *error)
{
    const struct kernel *kernel = step->kernel;
    size_t bytes = packed_bytes(step);
    if (bytes == 0 || step->packed)
        return true;
    struct allocator *allocator =
        step->shareable ? wnn_derived_allocator(executable->derived) : cpu->allocator;
    // What is saved has no bytes that nobody has written.
    void *memory =
        executable->plan->savable ? wnn_allocate_zero(allocator, bytes) : wnn_allocate(allocator, bytes);
    if (!memory)
        return wnn_fail_memory(error);
    for (unsigned i = 0; i < wnn_operand_count(step->node); i++)
        if (step->node->in[i] && step->node->in[i]->constant)
            step->in[i].data = constant_data(executable, step->node->in[i]);
    struct kernel_call call = {step->node, step->in, step->out, NULL, parallel, NULL};
    kernel->pack(&call, memory);
    step->packed = step->own = memory;
    step->allocator = allocator;
    step->packed_bytes = bytes;
    return wnn_interrupt_check(parallel->interrupt, error) &&
           (!step->shareable || share_packed(executable, step, bytes, error));
}

static const char *kernel_name(const struct node *node)
{
    const struct kernel *kernel = wnn_cpu_kernel(node);
    return node->lowering == WNN_LOWER_VIEW  ? "view"
           : node->lowering == LOWER_XNNPACK ? "XNNPACK"
           : kernel->method                  ? kernel->method(node)
           : wnn_is_quantized(node)          ? "quantized"
                                             : "native";
}

static bool lower_node(const struct cpu *cpu, const struct parallel *parallel, struct executable *executable,
                       struct node *node, struct error *error)
{
    node->kernel = kernel_name(node);
    struct arena *arena = &executable->records;
    struct step *step = &executable->steps[executable->step_count++];
    step->node = node;
    step->kernel = wnn_cpu_kernel(node);
    step->activation = activation_after(step->kernel, node);
    step->in = wnn_arena_allocate(arena, wnn_operand_count(node) * sizeof step->in[0]);
    step->out = wnn_arena_allocate(arena, node->out_count * sizeof step->out[0]);
    if (!step->in || !step->out)
        return wnn_fail_memory(error);
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        step->in[i] = describe_tensor(node->in[i]);
    for (unsigned i = 0; i < node->out_count; i++)
        step->out[i] = describe_tensor(node->out[i]);
    bool done = find_packed(executable, step, error) && take_constants(cpu, executable, step, error);
    if (done && node->lowering == LOWER_XNNPACK)
        done = cpu->described || wnn_xnnpack_create(node, cpu->allocator, parallel, &step->xnnpack, error);
    else if (done)
        done = pack(cpu, parallel, executable, step, error);
    return done && drop_unread_constants(cpu, executable, step, error);
}

// Where an output is to be computed, or NULL: in the arena.
static char *output_memory(const struct bindings *bindings, size_t slot)
{
    return bindings->staged && bindings->staged[slot] ? NULL : bindings->outputs[slot];
}

// Where an operand lies in all runs, or in this one.
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
        if (output_memory(bindings, placement->slot))
            return output_memory(bindings, placement->slot) + placement->within;
        break;
    case PLACE_CONSTANT:
        return constant_data(executable, operand);
    default:
        break;
    }
    return executable->memory + placement->offset;
}

static void locate_tensor(struct executable *executable, struct tensor *tensor, const struct operand *operand)
{
    bool input = operand->placement.place == PLACE_INPUT && !operand->placement.staged;
    if (input || operand->placement.place == PLACE_OUTPUT)
        executable->ports[executable->port_count++] = (struct port){tensor, operand};
    else
        tensor->data = locate(executable, operand, NULL);
}

// What is not to be found out in every run: a network of small operators is soon through with each.
static bool prepare_runs(struct executable *executable, struct error *error)
{
    size_t tensors = 0;
    for (size_t i = 0; i < executable->step_count; i++)
        tensors += wnn_operand_count(executable->steps[i].node) + executable->steps[i].node->out_count;
    executable->runs =
        wnn_arena_allocate(&executable->records, executable->step_count * sizeof executable->runs[0]);
    executable->ports = wnn_arena_allocate(&executable->records, tensors * sizeof executable->ports[0]);
    if (!executable->runs || !executable->ports)
        return wnn_fail_memory(error);
    for (size_t i = 0; i < executable->step_count; i++) {
        struct step *step = &executable->steps[i];
        const struct node *node = step->node;
        if (node->lowering == WNN_LOWER_VIEW)
            continue;
        executable->runs[executable->run_count++] = step;
        for (unsigned j = 0; j < wnn_operand_count(node); j++)
            if (node->in[j])
                locate_tensor(executable, &step->in[j], node->in[j]);
        for (unsigned j = 0; j < node->out_count; j++)
            locate_tensor(executable, &step->out[j], node->out[j]);
    }
    for (size_t i = executable->run_count; i-- > 0;) {
        struct step *step = executable->runs[i];
        struct step *next = i + 1 < executable->run_count ? executable->runs[i + 1] : NULL;
        step->joined = next && next->joined < WNN_MAX_JOINED && step->kernel->run_joined &&
                               next->kernel == step->kernel && next->node->level == step->node->level
                           ? next->joined + 1
                           : 1;
    }
    return true;
}

static bool lower(void *state, struct plan *plan, void **result, struct error *error)
{
    const struct cpu *cpu = state;
    struct executable *executable = wnn_allocate_zero(cpu->allocator, sizeof *executable);
    if (!executable)
        return wnn_fail_memory(error);
    executable->plan = plan;
    executable->derived = plan->derived ? wnn_derived_ref(plan->derived) : NULL;
    struct arena *arena = &executable->records;
    wnn_arena_init(arena, cpu->allocator);
    executable->steps = wnn_arena_allocate(arena, plan->graph.node_count * sizeof executable->steps[0]);
    executable->aligned =
        wnn_arena_allocate(arena, plan->graph.operand_count * sizeof executable->aligned[0]);
    executable->written = wnn_arena_allocate(arena, plan->graph.output_count * sizeof executable->written[0]);
    bool done = (executable->steps && executable->aligned && executable->written) || wnn_fail_memory(error);
    struct parallel parallel = *cpu->parallel;
    parallel.interrupt = plan->interrupt;
    done = done && count_readers(cpu, executable, error);
    for (size_t i = 0; done && i < plan->graph.node_count; i++)
        done = lower_node(cpu, &parallel, executable, plan->graph.nodes[i], error);
    for (size_t i = 0; done && i < plan->graph.output_count; i++)
        done = wnn_resolve_operand(plan->resolver, plan->graph.outputs[i].operand, error);
    // Last, when constants have made room for it.
    if (done) {
        executable->block = plan->workspace ? wnn_workspace_take(plan->workspace, plan->arena_bytes) : NULL;
        executable->memory = executable->block ? executable->block->data
                             : plan->workspace ? NULL
                                               : wnn_allocate_zero(cpu->allocator, plan->arena_bytes);
        done = (executable->memory || wnn_fail_memory(error)) && prepare_runs(executable, error);
    }
    if (done)
        *result = executable;
    else
        release(state, executable);
    return done;
}

static void describe_target(void *state, struct text *text)
{
    wnn_cpu_describe_target(((const struct cpu *)state)->target, text);
}

static uint32_t packed_inputs(void *state, const struct node *node)
{
    (void)state;
    return weights_of(node);
}

static const void *packed_weights(const void *pointer, const struct node *node, uint64_t *bytes)
{
    const struct executable *executable = pointer;
    const struct step *step = &executable->steps[node->index];
    const struct kernel *kernel = step->kernel;
    *bytes = step->packed ? kernel->packed_bytes(node) : 0;
    return step->packed;
}

// Constants of which nobody needs the bytes any more have none.
static void measure(void *state, const void *pointer, struct executable_size *size)
{
    (void)state;
    const struct executable *executable = pointer;
    const struct graph *graph = &executable->plan->graph;
    *size = (struct executable_size){.execution = executable->plan->arena_bytes};
    for (size_t i = 0; i < graph->operand_count; i++) {
        const struct constant *constant = graph->operands[i]->constant, *aligned = executable->aligned[i];
        if (constant && constant->data)
            size->weights += constant->bytes;
        if (aligned)
            size->weights += aligned->bytes;
    }
    for (size_t i = 0; i < executable->step_count; i++) {
        const struct step *step = &executable->steps[i];
        size->weights += wnn_xnnpack_bytes(step->xnnpack) + step->packed_bytes;
    }
}

struct cpu_resolver {
    struct operand_resolver resolver; // first
    const struct executable *executable;
    const struct bindings *bindings;
};

static const void *locate_operand(const struct operand_resolver *resolver, const struct operand *operand)
{
    const struct cpu_resolver *whole = (const struct cpu_resolver *)resolver;
    return locate(whole->executable, operand, whole->bindings);
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
    run_kernel(step->kernel, &step->activation, &call);
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
        const void *from = to ? locate(executable, operand, bindings) : NULL;
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
    const struct observer *observer = bindings->observer;
    const struct cpu_resolver resolver = {{locate_operand}, executable, bindings};
    struct parallel parallel = *cpu->parallel;
    parallel.interrupt = bindings->interrupt;
    if (!wnn_interrupt_check(bindings->interrupt, error))
        return false;
    for (size_t i = 0; i < executable->port_count; i++)
        executable->ports[i].tensor->data = locate(executable, executable->ports[i].operand, bindings);
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

// Measured with one convolution and its transposes on a Xeon: 3x3 from 224x224x3 to 7x7x512 takes 0.4 to 0.7
// of the time that it takes with its channels second, 4x4 with stride 2, transposed, 0.6 to 0.9. One pixel at
// a time takes 0.6 to 1.2, groups of 16 channels 1.6.
static bool prefers_nhwc(const struct node *node, uint32_t groups)
{
    size_t pairs = (size_t)node->in[0]->type.shape.dim[1] * node->out[0]->type.shape.dim[1];
    return groups == 1 && wnn_shape_elements(&node->in[1]->type.shape) > pairs &&
           wnn_op_work((enum op)node->op, node->in, &node->out[0]->type, 1, node->attrs) > 1u << 22;
}

const struct backend wnn_backend_cpu = {
    .name = "cpu",
    .preferred_layout = WNNInputOperandLayout_NHWC,
    .views = true,
    .concat_in_place = true,
    .shows_operands = true,
    .preload = wnn_xnnpack_preload,
    .create = create_cpu,
    .destroy = destroy_cpu,
    .target = target_of,
    .takes_target = true,
    .can_fuse = can_fuse,
    .supports_quantized = true,
    .wide_weights = wide_weights,
    .prefers_nhwc = prefers_nhwc,
    .evaluate = evaluate,
    .computes = computes,
    .partition = partition,
    .in_place = in_place,
    .joins = joins,
    .identify = wnn_cpu_identify,
    .lower = lower,
    .release = release,
    .describe_target = describe_target,
    .packed_inputs = packed_inputs,
    .packed_weights = packed_weights,
    .resolves = true,
    .measure = measure,
    .execute = execute,
};
