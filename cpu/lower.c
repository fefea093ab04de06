// SPDX-License-Identifier: Apache-2.0
//
// Packing weights, giving up what nobody reads any more, and finding out what need not be found in every run.

#include "cpu/executable.h"

#include "compiler/resolve.h"

#include <string.h>

void wnn_cpu_release(void *state, void *pointer)
{
    const struct cpu *cpu = state;
    struct executable *executable = pointer;
    for (size_t i = 0; i < executable->step_count; i++) {
        wnn_xnnpack_destroy(executable->steps[i].xnnpack);
        wnn_release(executable->steps[i].allocator, executable->steps[i].own);
        wnn_packed_unref(executable->steps[i].shared);
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
    executable->aligned[operand->index] = shared ? wnn_derived_add_constant(derived, &key, copy) : copy;
    return true;
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
        if (node->in[i] && node->in[i]->constant && !wnn_constant_has_bytes(node->in[i]->constant) &&
            !(i < 32 && unread >> i & 1))
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

// Packed weights of the plan's own, or their place among those that other plans have too. All are found
// before any constant gets its bytes, since who it is may be told by what promises them.
static bool find_packed(const struct executable *executable, struct step *step, struct error *error)
{
    size_t bytes = packed_bytes(step);
    if (bytes && step->node->stored)
        return take_stored(step, bytes, error);
    if (!bytes || !executable->derived)
        return true;
    struct derived_key key = packed_key(step, bytes);
    return wnn_derived_take(executable->derived, &key, &step->shared) || wnn_fail_memory(error);
}

// The constant by which the plan's own packed weights are looked for; NULL: there is none, or other plans
// have the weights too, whose set finds them, or they are saved, which is done node by node.
static const struct operand *packed_operand(const struct executable *executable, const struct step *step)
{
    uint32_t weights = weights_of(step->node);
    bool own = packed_bytes(step) && !executable->derived && !executable->plan->savable;
    for (unsigned i = 0; own && i < wnn_operand_count(step->node) && i < 32; i++)
        if (weights >> i & 1 && step->node->in[i] && step->node->in[i]->constant)
            return step->node->in[i];
    return NULL;
}

// What a step before has packed of the same constants, as of layers that share weights; or NULL.
static const void *packed_before(const struct executable *executable, const struct step *step)
{
    enum {
        MAX_PACKERS = 8 // that are looked at
    };
    const struct operand *operand = packed_operand(executable, step);
    const struct step *packer = operand ? executable->packers[operand->index] : NULL;
    if (!packer)
        return NULL;
    const struct derived_key key = packed_key(step, packed_bytes(step));
    for (unsigned i = 0; packer && i < MAX_PACKERS; i++, packer = packer->packer) {
        const struct derived_key other = packed_key(packer, packer->packed_bytes);
        if (wnn_derived_keys_equal(&other, &key))
            return packer->packed;
    }
    return NULL;
}

// The bytes of a promised constant, for one who will read them: once for all plans that share weights.
static struct constant *resolve_to_keep(const struct executable *executable, const struct node *node,
                                        unsigned input, struct error *error)
{
    static const char maker = 0;
    const struct operand *operand = node->in[input];
    const struct resolver *resolver = executable->plan->resolver;
    struct derived *derived = executable->derived;
    const struct derived_key key = {
        .node = node, .maker = &maker, .variant = input, .bytes = operand->constant->bytes};
    if (wnn_derived_is_shared(derived))
        return wnn_resolve_shared(derived, resolver, operand, error);
    bool shared = derived && wnn_derived_knows(derived, node);
    struct constant *constant = shared ? wnn_derived_constant(derived, &key) : NULL;
    if (constant)
        return wnn_constant_ref(constant);
    constant = wnn_resolve(resolver, operand->constant, error);
    return constant && shared ? wnn_derived_add_constant(derived, &key, constant) : constant;
}

static bool resolve_constant(const struct executable *executable, const struct node *node, unsigned input,
                             bool packs, struct error *error)
{
    struct operand *operand = node->in[input];
    if (!operand || !wnn_constant_is_promised(operand->constant))
        return true;
    struct constant *constant = packs ? wnn_resolve(executable->plan->resolver, operand->constant, error)
                                      : resolve_to_keep(executable, node, input, error);
    if (!constant)
        return false;
    wnn_constant_unref(operand->constant);
    operand->constant = constant;
    return true;
}

// Has the bytes of all that the node reads now or later, which is not what has been packed already.
static bool take_constants(const struct cpu *cpu, struct executable *executable, const struct step *step,
                           struct error *error)
{
    const struct node *node = step->node;
    bool packs = node->lowering == LOWER_XNNPACK || packed_bytes(step);
    uint32_t weights = weights_of(node), unread = step->packed ? weights : 0;
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (!(i < 32 && unread >> i & 1) &&
            (!resolve_constant(executable, node, i, packs && i < 32 && weights >> i & 1, error) ||
             !align_constant(cpu, executable, node, i, error)))
            return false;
    return has_data(node, unread, error);
}

static bool pack(const struct cpu *cpu, const struct parallel *parallel, struct executable *executable,
                 struct step *step, struct error *error)
{
    const struct kernel *kernel = step->kernel;
    size_t bytes = packed_bytes(step);
    if (bytes == 0 || step->packed)
        return true;
    struct allocator *allocator = step->shared ? wnn_packed_allocator(step->shared) : cpu->allocator;
    // What is saved, or may be by others, has no bytes that nobody has written.
    bool clean = executable->plan->savable || wnn_derived_has_part(executable->derived);
    void *memory = clean ? wnn_allocate_zero(allocator, bytes) : wnn_allocate(allocator, bytes);
    if (!memory)
        return wnn_fail_memory(error);
    for (unsigned i = 0; i < wnn_operand_count(step->node); i++)
        if (step->node->in[i] && step->node->in[i]->constant)
            step->in[i].data = wnn_cpu_constant_data(executable, step->node->in[i]);
    struct kernel_call call = {step->node, step->in, step->out, NULL, parallel, NULL};
    kernel->pack(&call, memory);
    step->packed = step->own = memory;
    step->allocator = allocator;
    step->packed_bytes = bytes;
    const struct operand *operand = packed_operand(executable, step);
    if (operand) {
        step->packer = executable->packers[operand->index];
        executable->packers[operand->index] = step;
    }
    if (!wnn_interrupt_check(parallel->interrupt, error))
        return false;
    if (step->shared) {
        step->packed = wnn_packed_fill(step->shared, memory);
        step->own = NULL;
        step->packed_bytes = 0;
    }
    return true;
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

static bool begin_step(struct executable *executable, struct node *node, struct error *error)
{
    node->kernel = kernel_name(node);
    struct arena *arena = &executable->records;
    struct step *step = &executable->steps[executable->step_count++];
    step->node = node;
    step->kernel = wnn_cpu_kernel(node);
    step->activation = wnn_cpu_activation_after(step->kernel, node);
    step->in = wnn_arena_allocate(arena, wnn_operand_count(node) * sizeof step->in[0]);
    step->out = wnn_arena_allocate(arena, node->out_count * sizeof step->out[0]);
    if (!step->in || !step->out)
        return wnn_fail_memory(error);
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        step->in[i] = wnn_cpu_describe_tensor(node->in[i]);
    for (unsigned i = 0; i < node->out_count; i++)
        step->out[i] = wnn_cpu_describe_tensor(node->out[i]);
    return find_packed(executable, step, error);
}

static bool lower_step(const struct cpu *cpu, const struct parallel *parallel, struct executable *executable,
                       struct step *step, struct error *error)
{
    const struct node *node = step->node;
    if (step->shared)
        step->packed = wnn_packed_memory(step->shared);
    else if (!step->packed)
        step->packed = packed_before(executable, step);
    bool done = take_constants(cpu, executable, step, error);
    if (done && node->lowering == LOWER_XNNPACK)
        done = cpu->described || wnn_xnnpack_create(node, cpu->allocator, parallel, &step->xnnpack, error);
    else if (done)
        done = pack(cpu, parallel, executable, step, error);
    return done && drop_unread_constants(cpu, executable, step, error);
}

// Where an output is to be computed, or NULL: in the arena.
static void locate_tensor(struct executable *executable, struct tensor *tensor, const struct operand *operand)
{
    bool input = operand->placement.place == PLACE_INPUT && !operand->placement.staged;
    if (input || operand->placement.place == PLACE_OUTPUT)
        executable->ports[executable->port_count++] = (struct port){tensor, operand};
    else
        tensor->data = wnn_cpu_locate(executable, operand, NULL);
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

bool wnn_cpu_lower(void *state, struct plan *plan, void **result, struct error *error)
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
    executable->packers =
        wnn_arena_allocate(arena, plan->graph.operand_count * sizeof executable->packers[0]);
    executable->written = wnn_arena_allocate(arena, plan->graph.output_count * sizeof executable->written[0]);
    bool done = (executable->steps && executable->aligned && executable->packers && executable->written) ||
                wnn_fail_memory(error);
    struct parallel parallel = *cpu->parallel;
    parallel.interrupt = plan->interrupt;
    done = done && count_readers(cpu, executable, error);
    for (size_t i = 0; done && i < plan->graph.node_count; i++)
        done = begin_step(executable, plan->graph.nodes[i], error);
    for (size_t i = 0; done && i < executable->step_count; i++)
        done = lower_step(cpu, &parallel, executable, &executable->steps[i], error);
    for (size_t i = 0; done && i < plan->graph.output_count; i++)
        done = wnn_resolve_operand(plan->resolver, plan->graph.outputs[i].operand, error);
    // Last, when constants have made room for it.
    if (done) {
        executable->block = plan->workspace ? wnn_workspace_take(plan->workspace, plan->arena_bytes) : NULL;
        executable->memory = executable->block ? executable->block->data
                             : plan->workspace
                                 ? NULL
                                 : wnn_parallel_zeros(&parallel, cpu->allocator, plan->arena_bytes);
        done = (executable->memory || wnn_fail_memory(error)) && prepare_runs(executable, error);
    }
    if (done)
        *result = executable;
    else
        wnn_cpu_release(state, executable);
    return done;
}

uint32_t wnn_cpu_packed_inputs(void *state, const struct node *node)
{
    (void)state;
    return weights_of(node);
}

const void *wnn_cpu_packed_weights(const void *pointer, const struct node *node, uint64_t *bytes)
{
    const struct executable *executable = pointer;
    const struct step *step = &executable->steps[node->index];
    const struct kernel *kernel = step->kernel;
    *bytes = step->packed ? kernel->packed_bytes(node) : 0;
    return step->packed;
}

// Constants of which nobody needs the bytes any more have none.
void wnn_cpu_measure(void *state, const void *pointer, struct executable_size *size)
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
