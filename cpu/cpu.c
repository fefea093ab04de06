// SPDX-License-Identifier: Apache-2.0
//
// What the CPU backend computes, and which kernel computes it.

#include "cpu/cpu.h"

#include "cpu/describe_target.h"
#include "cpu/executable.h"
#include "cpu/identity.h"
#include "cpu/simd/isa.h"
#include "cpu/simd/tiles.h"
#include "ops/geometry.h"

#include <string.h>

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

static bool preload(struct error *error)
{
    wnn_tiles();
    return wnn_xnnpack_preload(error);
}

static const void *target_of(void *state)
{
    return ((const struct cpu *)state)->target;
}

// Computes the node on this thread alone, with memory of its own where `in` and `out` have none.
static bool evaluate_node(const struct cpu *cpu, const struct node *node, const void *const *in,
                          void *const *out, const struct interrupt *interrupt)
{
    const struct kernel *kernel = wnn_cpu_kernel(node);
    size_t scratch_bytes = wnn_kernel_scratch(kernel, node, 1);
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
            tensor[i] = wnn_cpu_describe_tensor(node->in[i]);
            tensor[i].data = (void *)(uintptr_t)in[i];
        }
        for (unsigned i = 0; i < node->out_count; i++) {
            tensor[in_count + i] = wnn_cpu_describe_tensor(node->out[i]);
            tensor[in_count + i].data = out[i];
        }
        const struct parallel alone = wnn_parallel_alone(interrupt);
        struct kernel_call call = {node, tensor, tensor + in_count, scratch, &alone, NULL};
        if (packed)
            kernel->pack(&call, packed);
        call.packed = packed;
        const struct activation after = wnn_cpu_activation_after(kernel, node);
        wnn_cpu_run_kernel(kernel, &after, &call);
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
    size_t one = wnn_kernel_scratch(kernel, node, 1);
    size_t all = wnn_kernel_scratch(kernel, node, parallel->threads);
    return all > one ? all : one;
}

static bool partition(void *state, struct plan *plan, struct error *error)
{
    const struct cpu *cpu = state;
    struct graph *graph = &plan->graph;
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        const struct kernel *kernel = wnn_cpu_kernel(node);
        choose_lowering(cpu, kernel, node, plan->derived != NULL);
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

static bool resolves(void *state)
{
    (void)state;
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
    while (operand->producer && !operand->producer->fused && wnn_op_hands_on((enum op)operand->producer->op))
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

static void describe_target(void *state, struct text *text)
{
    wnn_cpu_describe_target(((const struct cpu *)state)->target, text);
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

// Sums of images that are pooled whole are sums of rows or of columns, both of which are fast; maxima of
// short rows are not.
static bool any_layout(const struct node *node)
{
    return (node->op == WNN_OP_averagePool2d || node->op == WNN_OP_l2Pool2d) && wnn_node_pooling(node).global;
}

const struct backend wnn_backend_cpu = {
    .name = "cpu",
    .preferred_layout = WNNInputOperandLayout_NHWC,
    .views = true,
    .concat_in_place = true,
    .shows_operands = true,
    .preload = preload,
    .create = create_cpu,
    .destroy = destroy_cpu,
    .target = target_of,
    .takes_target = true,
    .can_fuse = can_fuse,
    .supports_quantized = true,
    .wide_weights = wide_weights,
    .prefers_nhwc = prefers_nhwc,
    .any_layout = any_layout,
    .evaluate = evaluate,
    .computes = computes,
    .partition = partition,
    .in_place = in_place,
    .joins = joins,
    .identify = wnn_cpu_identify,
    .lower = wnn_cpu_lower,
    .release = wnn_cpu_release,
    .describe_target = describe_target,
    .packed_inputs = wnn_cpu_packed_inputs,
    .packed_weights = wnn_cpu_packed_weights,
    .resolves = resolves,
    .measure = wnn_cpu_measure,
    .execute = wnn_cpu_execute,
};
