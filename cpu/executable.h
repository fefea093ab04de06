// SPDX-License-Identifier: Apache-2.0
//
// What the CPU backend makes of a plan: one step a node, in one arena. cpu.c chooses what computes each node,
// lower.c packs weights and finds memory, execute.c runs the steps in their order. Internal.

#ifndef CPU_EXECUTABLE_H_
#define CPU_EXECUTABLE_H_

#include "compiler/backend.h"
#include "cpu/kernel.h"
#include "cpu/target.h"
#include "cpu/xnnpack/xnnpack.h"
#include "ops/expression.h"

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
    struct packed *shared;        // or a reference to their place, which others have too
    const struct step *packer;    // the one before that has packed the same constant, or NULL
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
    const struct step **packers;   // by operand: the last step that has packed it, or NULL
    struct derived *derived;       // a reference, or NULL: nothing is shared with other plans
};

static inline struct tensor wnn_cpu_describe_tensor(const struct operand *operand)
{
    if (!operand)
        return (struct tensor){0};
    return (struct tensor){NULL, operand->type.type, operand->type.shape,
                           wnn_shape_elements(&operand->type.shape)};
}

// The activation that is left to be applied when the kernel has run; attrs NULL: none.
static inline struct activation wnn_cpu_activation_after(const struct kernel *kernel, const struct node *node)
{
    const struct activation activation = wnn_epilogue(node).activation;
    bool left = activation.attrs && !(kernel->activates && kernel->activates(node));
    return left ? activation : (struct activation){0};
}

static inline void wnn_cpu_run_kernel(const struct kernel *kernel, const struct activation *after,
                                      const struct kernel_call *call)
{
    kernel->run(call);
    if (after->attrs)
        wnn_cpu_activate(after, &call->out[0], call->parallel);
}

// The bytes of a constant, aligned.
static inline void *wnn_cpu_constant_data(const struct executable *executable, const struct operand *operand)
{
    const struct constant *aligned = executable->aligned[operand->index];
    return (void *)(uintptr_t)(aligned ? aligned->data : operand->constant->data);
}

// Where an operand lies in all runs, or in this one. execute.c
void *wnn_cpu_locate(const struct executable *executable, const struct operand *operand,
                     const struct bindings *bindings);

// As struct backend has them.
bool wnn_cpu_lower(void *state, struct plan *plan, void **result, struct error *error);
void wnn_cpu_release(void *state, void *executable);
uint32_t wnn_cpu_packed_inputs(void *state, const struct node *node);
const void *wnn_cpu_packed_weights(const void *executable, const struct node *node, uint64_t *bytes);
void wnn_cpu_measure(void *state, const void *executable, struct executable_size *size);
bool wnn_cpu_execute(void *state, void *executable, const struct bindings *bindings, struct error *error);

#endif
