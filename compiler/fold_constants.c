// SPDX-License-Identifier: Apache-2.0
//
// Requires: nodes in order. Guarantees: no node whose inputs are all constants is left, but for those that
// the backend cannot evaluate or whose outputs are much larger than their inputs, and for quantised weights
// while the compiler keeps them.

#include "compiler/passes.h"

#include <string.h>

// Outputs up to this size are folded whatever they come from.
#define SMALL (64u * 1024)

// Filters of convolutions, which meet every pixel, are better off as floats in any case.
static void mark_filters(const struct graph *graph, unsigned char *is_filter)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct node *node = graph->nodes[i];
        if ((node->op == WNN_OP_conv2d || node->op == WNN_OP_convTranspose2d) && !node->quantized)
            is_filter[node->in[1]->index] = 1;
    }
}

static bool worth_folding(const struct pass_context *context, const struct node *node,
                          const unsigned char *is_filter)
{
    if (context->keep_quantized && node->op == WNN_OP_dequantizeLinear &&
        wnn_dtype_bits(node->in[0]->type.type) <= 8)
        return false;
    uint64_t in = 0, out = 0;
    for (unsigned i = 0; i < node->in_count; i++) {
        if (!node->in[i])
            continue;
        if (!node->in[i]->constant)
            return false;
        in += node->in[i]->constant->bytes;
    }
    for (unsigned i = 0; i < node->out_count; i++)
        out += wnn_descriptor_bytes(&node->out[i]->type);
    // Weights that were quantised to be small stay small.
    uint64_t most = node->op == WNN_OP_dequantizeLinear ? 0 : 2 * in;
    return out <= SMALL || out <= most || is_filter[node->out[0]->index];
}

// Memory with the alignment and slack that kernels expect: the constant's own, or a copy of lent bytes.
static const void *readable(struct pass_context *context, struct constant *constant, struct constant **copy)
{
    *copy = NULL;
    if (!constant->lent)
        return constant->data;
    *copy = wnn_constant_create(context->allocator, constant->bytes);
    if (!*copy)
        return NULL;
    memcpy((void *)(*copy)->data, constant->data, constant->bytes);
    return (*copy)->data;
}

// Replaces the node by constants; *folded stays false if the backend would not compute it.
static bool fold(struct pass_context *context, struct graph *graph, struct node *node, bool *folded)
{
    struct arena_mark mark = wnn_arena_mark(&graph->arena);
    const void **in = wnn_arena_allocate(&graph->arena, node->in_count * sizeof in[0]);
    void **out = wnn_arena_allocate(&graph->arena, node->out_count * sizeof out[0]);
    struct constant **copies = wnn_arena_allocate(&graph->arena, node->in_count * sizeof copies[0]);
    struct constant **results = wnn_arena_allocate(&graph->arena, node->out_count * sizeof results[0]);
    bool enough = in && out && copies && results;
    for (unsigned i = 0; enough && i < node->in_count; i++)
        enough = !node->in[i] || (in[i] = readable(context, node->in[i]->constant, &copies[i]));
    for (unsigned i = 0; enough && i < node->out_count; i++) {
        results[i] = wnn_constant_create(context->allocator, wnn_descriptor_bytes(&node->out[i]->type));
        enough = results[i] != NULL;
        out[i] = enough ? (void *)results[i]->data : NULL;
    }
    *folded = enough && context->backend->evaluate(context->state, node, in, out, context->interrupt) &&
              !wnn_interrupted(context->interrupt);
    for (unsigned i = 0; copies && i < node->in_count; i++)
        wnn_constant_release(copies[i]);
    for (unsigned i = 0; results && i < node->out_count; i++) {
        if (*folded) {
            node->out[i]->constant = results[i];
            node->out[i]->producer = NULL;
            graph->constant_bytes += results[i]->bytes;
        } else {
            wnn_constant_release(results[i]);
        }
    }
    wnn_arena_rewind(&graph->arena, mark);
    return enough || wnn_fail_memory(context->error);
}

bool wnn_fold_constants(struct pass_context *context, struct graph *graph)
{
    if (!context->backend->evaluate)
        return true;
    unsigned char *drop = wnn_allocate_zero(context->allocator, graph->node_count);
    unsigned char *is_filter = wnn_allocate_zero(context->allocator, graph->operand_count);
    bool done = (drop && is_filter) || wnn_fail_memory(context->error);
    if (done)
        mark_filters(graph, is_filter);
    for (size_t i = 0; done && i < graph->node_count; i++) {
        bool folded = false;
        done = wnn_interrupt_check(context->interrupt, context->error);
        if (done && worth_folding(context, graph->nodes[i], is_filter))
            done = fold(context, graph, graph->nodes[i], &folded);
        drop[i] = folded;
    }
    if (done)
        wnn_graph_rewire(graph, drop);
    wnn_release(context->allocator, is_filter);
    wnn_release(context->allocator, drop);
    return done;
}
