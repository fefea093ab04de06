// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: no node whose inputs are all constants is left, but for those that
// the backend cannot evaluate or whose outputs are much larger than their inputs, for quantized weights while
// the compiler keeps them, and for what exceeds the budget of the build: its work (as ops/work.c counts it,
// and the bytes of what is copied or made) and the bytes of what has been folded and is not read by folding
// alone. What is not folded is computed when the graph runs. What is made of constants that have an origin
// has one too; of promised ones it is promised. So is all that is large once no pass wants to see it, and is
// made when it is packed, for all of it not to be there at once.

#include "compiler/passes.h"
#include "compiler/resolve.h"

#include <string.h>

// Outputs up to this size are folded whatever they come from.
#define SMALL (64u * 1024)

static bool moves(const struct node *node)
{
    return wnn_ops[node->op].class == CLASS_COPY || node->op == WNN_OP_transpose ||
           node->op == WNN_OP_concat || node->op == WNN_OP_slice || node->op == WNN_OP_split;
}

// What is better off as floats in any case: filters of convolutions, which meet every pixel, and weights of
// recurrent operators, which meet every step; and what only lies elsewhere in them.
static void mark_weights(const struct graph *graph, unsigned char *is_weight)
{
    for (size_t i = graph->node_count; i-- > 0;) {
        const struct node *node = graph->nodes[i];
        enum op_class class = wnn_ops[node->op].class;
        bool moved = false;
        for (unsigned o = 0; o < node->out_count && moves(node); o++)
            moved |= is_weight[node->out[o]->index];
        unsigned first = moved ? 0 : 1, end = moved ? node->in_count : class == CLASS_RECURRENT ? 3 : 2;
        if (!moved && class != CLASS_CONVOLUTION && class != CLASS_RECURRENT)
            continue;
        for (unsigned k = first; k < end && k < node->in_count; k++)
            if (node->in[k] && !wnn_fused(node, k))
                is_weight[node->in[k]->index] = 1;
    }
}

// Those that passes look at however large they are.
static void mark_scales(const struct graph *graph, unsigned char *is_scale)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        bool scales = node->op == WNN_OP_dequantizeLinear || node->op == WNN_OP_quantizeLinear;
        for (unsigned j = 1; scales && j < node->in_count; j++)
            if (node->in[j])
                is_scale[node->in[j]->index] = 1;
    }
}

// Whether the outputs have sizes that are not known, in a graph that was recorded.
static bool is_late(const struct graph *graph, const struct node *node)
{
    for (unsigned i = 0; i < node->out_count; i++)
        if (wnn_shape_is_symbolic(&graph->sizes, &node->out[i]->type.shape))
            return true;
    return false;
}

// What it takes to compute the node here.
static uint64_t work_of(const struct node *node)
{
    uint64_t work = wnn_op_work((enum op)node->op, node->in, &node->out[0]->type, 1, node->attrs);
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i] && node->in[i]->constant->external)
            work += node->in[i]->constant->bytes;
    for (unsigned i = 0; i < node->out_count; i++)
        work += wnn_descriptor_bytes(&node->out[i]->type);
    return work;
}

static uint64_t bytes_made(const struct node *node)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < node->out_count; i++)
        bytes += wnn_descriptor_bytes(&node->out[i]->type);
    return bytes;
}

static bool worth_folding(const struct pass_context *context, const struct node *node,
                          const unsigned char *is_weight)
{
    if (context->keep_quantized && node->op == WNN_OP_dequantizeLinear &&
        wnn_dtype_bits(node->in[0]->type.type) <= 8)
        return false;
    uint64_t in = 0, out = bytes_made(node);
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        if (!node->in[i])
            continue;
        if (!node->in[i]->constant)
            return false;
        in += node->in[i]->constant->bytes;
    }
    // Weights that were quantized to be small stay small.
    uint64_t most = node->op == WNN_OP_dequantizeLinear ? 0 : 2 * in;
    return (out <= SMALL || out <= most || is_weight[node->out[0]->index]) && out <= context->fold_bytes &&
           work_of(node) <= context->fold_work;
}

// Memory with the alignment and slack that kernels expect: the constant's own, or a copy of external bytes.
static const void *readable(struct pass_context *context, struct constant *constant, struct constant **copy)
{
    *copy = NULL;
    if (!constant->external)
        return constant->data;
    *copy = wnn_constant_create(context->allocator, constant->bytes);
    if (!*copy)
        return NULL;
    memcpy((void *)(*copy)->data, constant->data, constant->bytes);
    return (*copy)->data;
}

// Gives up the constants that only nodes have read that are folded now. `made`: by operand, whether folding
// made it.
static void drop_inputs(struct pass_context *context, const struct node *node, const unsigned char *made)
{
    for (unsigned i = 0; i < wnn_operand_count(node); i++) {
        struct operand *in = node->in[i];
        if (!in || --in->uses > 0)
            continue;
        context->fold_bytes += made[in->index] ? in->constant->bytes : 0;
        wnn_constant_unref(in->constant);
        in->constant = NULL; // for prune to drop the operand
    }
}

// Output `output` of a node, computed for another plan.
static const char maker = 0;
static struct derived_key key_of(const struct node *node, unsigned output)
{
    return (struct derived_key){.node = node,
                                .maker = &maker,
                                .variant = output,
                                .complete = true,
                                .bytes = wnn_descriptor_bytes(&node->out[output]->type)};
}

// Whether plans of other sizes may have the same node.
static bool is_shared(const struct pass_context *context, const struct node *node)
{
    return context->derived && !node->fused && wnn_derived_knows(context->derived, node);
}

// Puts a constant, whose reference passes on, in the place of an output.
static void replace_output(struct pass_context *context, struct operand *output, struct constant *constant,
                           unsigned char *made)
{
    output->constant = constant;
    output->producer = NULL;
    context->fold_bytes -= constant->bytes;
    made[output->index] = 1;
}

// Does that with what was computed for another plan, if all outputs were.
static bool find_folded(struct pass_context *context, struct node *node, unsigned char *made)
{
    struct constant *found[4];
    if (node->out_count > sizeof found / sizeof found[0] || !is_shared(context, node))
        return false;
    for (unsigned i = 0; i < node->out_count; i++) {
        const struct derived_key key = key_of(node, i);
        if (!(found[i] = wnn_derived_constant(context->derived, &key)))
            return false;
    }
    for (unsigned i = 0; i < node->out_count; i++)
        replace_output(context, node->out[i], wnn_constant_ref(found[i]), made);
    drop_inputs(context, node, made);
    return true;
}

// Whether it is better made when somebody reads it.
static bool is_lazy(const struct pass_context *context, const struct node *node,
                    const unsigned char *is_scale)
{
    return node->out_count == 1 && bytes_made(node) > context->lazy_bytes && !is_scale[node->out[0]->index] &&
           wnn_can_have_origin(node);
}

// Whether all that the node reads is there.
static bool has_bytes(const struct node *node)
{
    for (unsigned i = 0; i < wnn_operand_count(node); i++)
        if (node->in[i] && !wnn_constant_has_bytes(node->in[i]->constant))
            return false;
    return true;
}

// Gives what has been made an origin where that is of use. False: there is no memory, or it would take too
// much to make it again.
static bool add_origins(const struct pass_context *context, const struct node *node, bool holds,
                        struct constant *const *results)
{
    if (!wnn_can_have_origin(node))
        return results[0]->data != NULL;
    for (unsigned i = 0; i < node->out_count; i++) {
        struct error error = {0};
        results[i]->origin = wnn_origin_of(context->allocator, node, i, holds, context->fold_work, &error);
        if (!results[i]->origin && (error.status != WNNStatus_Success || !results[i]->data))
            return false;
    }
    return true;
}

// Replaces the node by constants that will be there when those that it reads are. False: as below.
static bool promise(struct pass_context *context, struct graph *graph, struct node *node, unsigned char *made)
{
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    struct constant **results = wnn_arena_allocate(&graph->arena, node->out_count * sizeof results[0]);
    bool done = results != NULL;
    for (unsigned i = 0; done && i < node->out_count; i++) {
        results[i] =
            wnn_constant_promise(context->allocator, wnn_descriptor_bytes(&node->out[i]->type), NULL);
        done = results[i] != NULL;
    }
    done = done && add_origins(context, node, true, results);
    bool shared = is_shared(context, node);
    for (unsigned i = 0; results && i < node->out_count; i++) {
        const struct derived_key key = key_of(node, i);
        if (done && shared)
            results[i] = wnn_derived_add_constant(context->derived, &key, results[i]);
        if (done)
            replace_output(context, node->out[i], results[i], made);
        else
            wnn_constant_unref(results[i]);
    }
    wnn_arena_rewind(&graph->arena, mark);
    if (done)
        drop_inputs(context, node, made);
    return done;
}

// Replaces the node by constants and returns true, or false if there is no memory for that, or the backend
// would not compute it.
static bool fold(struct pass_context *context, struct graph *graph, struct node *node, unsigned char *made)
{
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    const void **in = wnn_arena_allocate(&graph->arena, wnn_operand_count(node) * sizeof in[0]);
    void **out = wnn_arena_allocate(&graph->arena, node->out_count * sizeof out[0]);
    struct constant **copies = wnn_arena_allocate(&graph->arena, wnn_operand_count(node) * sizeof copies[0]);
    struct constant **results = wnn_arena_allocate(&graph->arena, node->out_count * sizeof results[0]);
    bool enough = in && out && copies && results;
    for (unsigned i = 0; enough && i < wnn_operand_count(node); i++)
        enough = !node->in[i] || (in[i] = readable(context, node->in[i]->constant, &copies[i]));
    for (unsigned i = 0; enough && i < node->out_count; i++) {
        results[i] = wnn_constant_create(context->allocator, wnn_descriptor_bytes(&node->out[i]->type));
        enough = results[i] != NULL;
        out[i] = enough ? (void *)results[i]->data : NULL;
    }
    bool shared = is_shared(context, node);
    bool folded =
        enough &&
        context->backend->evaluate(context->state, node, in, out, context->portable, context->interrupt) &&
        !wnn_interrupted(context->interrupt) &&
        (!wnn_is_worth_origin(node) || add_origins(context, node, false, results));
    for (unsigned i = 0; copies && i < wnn_operand_count(node); i++)
        wnn_constant_unref(copies[i]);
    for (unsigned i = 0; results && i < node->out_count; i++) {
        const struct derived_key key = key_of(node, i);
        if (folded && shared)
            results[i] = wnn_derived_add_constant(context->derived, &key, results[i]);
        if (folded)
            replace_output(context, node->out[i], results[i], made);
        else
            wnn_constant_unref(results[i]);
    }
    wnn_arena_rewind(&graph->arena, mark);
    if (folded)
        drop_inputs(context, node, made);
    return folded;
}

bool wnn_fold_constants(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->evaluate)
        return true;
    unsigned char *drop = wnn_allocate_zero(context->allocator, graph->node_count);
    unsigned char *is_weight = wnn_allocate_zero(context->allocator, graph->operand_count);
    unsigned char *made = wnn_allocate_zero(context->allocator, graph->operand_count);
    unsigned char *is_scale = wnn_allocate_zero(context->allocator, graph->operand_count);
    bool done = (drop && is_weight && made && is_scale) || wnn_fail_memory(context->error), changed = false;
    if (done) {
        mark_weights(graph, is_weight);
        mark_scales(graph, is_scale);
        wnn_graph_count_uses(graph);
    }
    for (size_t i = 0; done && i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        if (is_late(graph, node) || !worth_folding(context, node, is_weight))
            continue;
        context->fold_work -= work_of(node);
        done = wnn_interrupt_check(context->interrupt, context->error);
        drop[i] = done && (find_folded(context, graph->nodes[i], made) ||
                           (has_bytes(node) && !is_lazy(context, node, is_scale) ? fold : promise)(
                               context, graph, graph->nodes[i], made));
        changed |= drop[i];
    }
    if (changed)
        wnn_graph_rewire(graph, drop);
    wnn_release(context->allocator, is_scale);
    wnn_release(context->allocator, made);
    wnn_release(context->allocator, is_weight);
    wnn_release(context->allocator, drop);
    return done && (!changed || wnn_prune(context, graph));
}
