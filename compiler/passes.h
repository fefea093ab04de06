// SPDX-License-Identifier: Apache-2.0
//
// The passes of the compiler; compile.c is their order. Each leaves a graph that wnn_verify accepts, and
// takes time that is linear in its size but for logarithms. False: `error` says why, and the graph is only
// good for being freed.

#ifndef COMPILER_PASSES_H_
#define COMPILER_PASSES_H_

#include "compiler/backend.h"
#include "compiler/derived.h"
#include "compiler/explain.h"

struct pass_context {
    const struct backend *backend;
    void *state;
    struct allocator *allocator;
    struct error *error;
    const struct interrupt *interrupt; // of the build, or NULL
    struct derived *derived;           // that other plans have part in, or NULL
    bool strict;                       // numbers come out as the separate operators give them
    bool portable;                     // what is computed of constants is to be stored (backend.evaluate)
    const struct explainer *explainer; // or NULL
    bool keep_quantized;               // weights are not to be folded to floats yet
    // No pass looks at numbers of constants with more bytes any more, but at scales and zero points.
    uint64_t lazy_bytes;
    // What folding may still do, in all of its runs, and how many bytes more there may be of what it has
    // made.
    uint64_t fold_work, fold_bytes;
};

// Whether output 0 of a node may lie where an operand does, everywhere that the node reads it. The backend
// has `in_place`.
static inline bool wnn_may_overwrite(const struct pass_context *context, const struct node *node,
                                     const struct operand *operand)
{
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i] == operand && !context->backend->in_place(context->state, node, i))
            return false;
    return true;
}

// prune.c: drops the nodes that no output depends on, and the operands (constants) that nothing uses.
bool wnn_prune(struct pass_context *context, struct graph *graph);

// remove_empty.c
bool wnn_remove_empty(struct pass_context *context, struct graph *graph);

// trim_filters.c: cuts taps off that meet nothing but padding.
bool wnn_trim_filters(struct pass_context *context, struct graph *graph);

// What folding may do and make at most, for a graph with constants of so many bytes: in proportion to them,
// and something in any case.
#define WNN_FOLD_WORK(constant_bytes)  ((UINT64_C(1) << 29) + 64 * (uint64_t)(constant_bytes))
#define WNN_FOLD_BYTES(constant_bytes) ((UINT64_C(1) << 26) + 8 * (uint64_t)(constant_bytes))

// fold_constants.c: computes nodes that depend on constants only, unless that would make much more memory of
// little, or take longer than the context's budget.
bool wnn_fold_constants(struct pass_context *context, struct graph *graph);

// canonicalize.c: removes nodes that change nothing, joins chains of reshapes and of transposes.
bool wnn_canonicalize(struct pass_context *context, struct graph *graph);

// eliminate_common.c: computes the same thing once.
bool wnn_eliminate_common(struct pass_context *context, struct graph *graph);

// recognize.c: replaces what the specification writes for an operator by the operator.
bool wnn_recognize(struct pass_context *context, struct graph *graph);

// fuse_padding.c: lets convolutions pad by themselves.
bool wnn_fuse_padding(struct pass_context *context, struct graph *graph);

// fold_batch_normalization.c: multiplies factors and offsets per channel into weights and biases.
bool wnn_fold_batch_normalization(struct pass_context *context, struct graph *graph);

// merge_branches.c: makes one convolution of sums of convolutions of one tensor.
bool wnn_merge_branches(struct pass_context *context, struct graph *graph);

// split_products.c: computes the parts of a product that are used apart one by one.
bool wnn_split_products(struct pass_context *context, struct graph *graph);

// join_products.c: computes what attention reads of one input at once.
bool wnn_join_products(struct pass_context *context, struct graph *graph);

// fuse_attention.c: replaces the products and the softmax between them by one operator.
bool wnn_fuse_attention(struct pass_context *context, struct graph *graph);

// fuse_rotary.c: replaces what turns the halves of a tensor by angles by one operator.
bool wnn_fuse_rotary(struct pass_context *context, struct graph *graph);

// group_rows.c: multiplies by a matrix once what meets repetitions of it.
bool wnn_group_rows(struct pass_context *context, struct graph *graph);

// find_bands.c: finds the masks of attention that nobody needs to read.
bool wnn_find_bands(struct pass_context *context, struct graph *graph);

// find_attended.c: finds which keys the rows of a mask attend to before attention reads them.
bool wnn_find_attended(struct pass_context *context, struct graph *graph);

// expand_powers.c: multiplies where squares and cubes are asked for.
bool wnn_expand_powers(struct pass_context *context, struct graph *graph);

// fuse_bias.c: lets products of matrices add a row by themselves.
bool wnn_fuse_bias(struct pass_context *context, struct graph *graph);

// assign_slices.c: writes one part of a tensor rather than joining it with the others.
bool wnn_assign_slices(struct pass_context *context, struct graph *graph);

// unfold_patches.c: makes products of matrices of convolutions whose windows are side by side, and conv2d of
// convTranspose2d.
bool wnn_unfold_patches(struct pass_context *context, struct graph *graph);

// hoist_elementwise.c: computes elements before they are moved, so that what moves them can be joined.
bool wnn_hoist_elementwise(struct pass_context *context, struct graph *graph);

// choose_layout.c: turns images so that their channels come where the backend wants them.
bool wnn_choose_layout(struct pass_context *context, struct graph *graph);

// join_transposes.c: moves elements once where a reshape is between two transposes.
bool wnn_join_transposes(struct pass_context *context, struct graph *graph);

// fuse_residual.c: lets nodes add something to their results by themselves.
bool wnn_fuse_residual(struct pass_context *context, struct graph *graph);

// fuse_activations.c: hangs an activation on the node whose only use it is. Whether an operator that makes
// elements of that type can have one.
bool wnn_fuse_activations(struct pass_context *context, struct graph *graph);
bool wnn_may_activate(enum op op, WNNDataType type);

// sink_dequantize.c: moves integers around rather than the floats that are made of them.
bool wnn_sink_dequantize(struct pass_context *context, struct graph *graph);

// fuse_quantized.c: lets operators read and write quantized operands.
bool wnn_fuse_quantized(struct pass_context *context, struct graph *graph);

// fuse_elementwise.c: joins operators of single elements into one loop.
bool wnn_fuse_elementwise(struct pass_context *context, struct graph *graph);

// attach_chains.c: lets nodes compute operators of single elements as they read and write.
bool wnn_attach_chains(struct pass_context *context, struct graph *graph);

// copy_inputs.c: lets a node compute each output that is an input.
bool wnn_copy_inputs(struct pass_context *context, struct graph *graph);

// order_reads.c: puts what reads an input before the node that can write an output over it.
bool wnn_order_reads(struct pass_context *context, struct graph *graph);

// order_levels.c: puts nodes that do not wait for one another beside each other.
bool wnn_order_levels(struct pass_context *context, struct graph *graph);

// plan_memory.c: gives every operand a place. The arena's size goes to the plan.
bool wnn_plan_memory(struct pass_context *context, struct plan *plan);

#endif
